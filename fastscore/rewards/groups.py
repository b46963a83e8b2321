"""Statistics of a prompt's rollouts and the advantages made from them: polars expressions over a column of rewards.

A table with a reward and its prompt a row comes in; the same rows go out with the group's statistics and each row's advantage.
A reward that is null is left out of its group and has no rank and no advantage; a row whose prompt is null is in no group and has
neither statistics nor advantage; nothing that comes out is ever NaN.

=========== =================================== ================== ================ =================================
advantage   formula, over a group's n rewards   all of one value   one row          epsilon
=========== =================================== ================== ================ =================================
``grpo``    (r - mean) / (std + epsilon)        0                  as below         trl 1e-4, verl 1e-6, nemo_rl 1e-6
``dr_grpo`` r - mean                            0                  as below         none
``rloo``    r - mean of the other n - 1         0                  as below         none
``maxrl``   (r - mean) / (mean + epsilon)       0                  as below         trl 1e-4, verl 1e-6, nemo_rl 1e-6
=========== =================================== ================== ================ =================================

A group of one row has no other to be compared with. ``trl`` gives 0 (a standard deviation of zeros). ``verl`` takes a mean of 0
and a standard deviation of 1, so the advantage is the reward itself (grpo: by 1 + epsilon; maxrl: by epsilon, which is as large
as it looks). ``nemo_rl`` makes the baseline the reward, so it is 0. Standard deviations have n - 1 below the line (``ddof`` 1).
``nemo_rl``'s grpo leaves a row out of its own baseline and standard deviation, and does not divide where that is 0; with
``leave_one_out=False`` both are the whole group's.

Sources: TRL ``trainer/grpo_trainer.py`` and ``trainer/rloo_trainer.py``; verl ``trainer/ppo/core_algos.py`` (GRPO with and
without ``norm_adv_by_std_in_grpo``, RLOO; MaxRL's authors' fork of it, arXiv 2602.02710); NeMo-RL ``algorithms/utils.py``
(`calculate_baseline_and_std_per_prompt`) and ``algorithms/grpo.py`` (`normalize_advantages_with_epsilon`). They compute in
float32, this in float64. For maxrl only its authors' code (``verl``) has been read; the others take the epsilon of their grpo.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeVar, get_args

import polars as pl

from fastscore.errors import ColumnTypeError, DataError, UnknownNameError, UsageError, did_you_mean

__all__ = [
    "ADVANTAGES",
    "FRAMEWORKS",
    "STATISTICS",
    "Advantage",
    "Framework",
    "add_groups",
    "advantage",
    "group_statistics",
    "refuse_inexact",
]

Advantage = Literal["grpo", "dr_grpo", "rloo", "maxrl"]
Framework = Literal["trl", "verl", "nemo_rl"]
ADVANTAGES: tuple[str, ...] = get_args(Advantage)
FRAMEWORKS: tuple[str, ...] = get_args(Framework)
#: The columns that `group_statistics` gives.
STATISTICS = ("group_size", "group_mean", "group_std", "group_best", "group_all_equal", "group_rank")
_EPSILON = {"trl": 1e-4, "verl": 1e-6, "nemo_rl": 1e-6}

Frame = TypeVar("Frame", pl.DataFrame, pl.LazyFrame)


def group_statistics(group: str | Sequence[str] = "prompt_id", reward: str = "reward", *, ddof: int = 1) -> list[pl.Expr]:
    """The statistics of each row's group.

    Parameters
    ----------
    group
        The column or columns that say which rows belong together.
    reward
        The column of rewards; null, NaN and infinite ones are left out.
    ddof
        What is taken from n below the line of the standard deviation.

    Returns
    -------
    list of polars.Expr
        ``group_size`` (rewards that are not null, uint32), ``group_mean``, ``group_std`` (null where fewer than ddof + 1),
        ``group_best``, ``group_all_equal`` (bool, decided on the rewards themselves; null where there is none) and
        ``group_rank`` (1 is the best; equal rewards share the lowest; null without a reward). All are null without a prompt.
    """
    keys, value = _keys(group), _value(reward)
    found = {
        "group_size": value.count(),
        "group_mean": _mean(value),
        "group_std": _std(value, ddof),
        "group_best": value.max(),
        "group_all_equal": value.min() == value.max(),
        "group_rank": value.rank("min", descending=True),
    }
    return [_within(expression, keys).alias(name) for name, expression in found.items()]


def advantage(
    kind: str,
    group: str | Sequence[str] = "prompt_id",
    reward: str = "reward",
    *,
    framework: str = "trl",
    epsilon: float | None = None,
    ddof: int = 1,
    leave_one_out: bool = True,
) -> pl.Expr:
    """The advantage of each row within its group, by a framework's own formula (the module's docstring has them all).

    Parameters
    ----------
    kind
        ``grpo``, ``dr_grpo``, ``rloo`` or ``maxrl``.
    group, reward
        As in `group_statistics`.
    framework
        ``trl``, ``verl`` or ``nemo_rl``: decides groups of one row, epsilon, and for grpo NeMo-RL's own baseline.
    epsilon
        Another epsilon than the framework's.
    ddof
        1, as all three frameworks have it, or 0.
    leave_one_out
        For ``nemo_rl``'s grpo: NeMo-RL's ``use_leave_one_out_baseline``, which is on in its configurations.

    Returns
    -------
    polars.Expr
        float64, null where the reward or the prompt is.

    Raises
    ------
    UnknownNameError
        There is no such advantage or framework.
    UsageError
        epsilon or ddof is not allowed.
    """
    if kind not in ADVANTAGES:
        raise UnknownNameError(f"advantage: there is no {kind!r}.{did_you_mean(kind, ADVANTAGES)}")
    if framework not in FRAMEWORKS:
        raise UnknownNameError(f"framework: there is no {framework!r}.{did_you_mean(framework, FRAMEWORKS)}")
    small = _EPSILON[framework] if epsilon is None else epsilon
    if isinstance(small, bool) or not isinstance(small, int | float) or not 0 < small < float("inf"):
        raise UsageError(f"epsilon: a positive number is allowed, got {epsilon!r}")
    if ddof not in (0, 1):
        raise UsageError(f"ddof: 0 or 1 is allowed, got {ddof!r}")
    value = _value(reward)
    mean, size = _mean(value), value.count()
    if kind == "grpo" and framework == "nemo_rl" and leave_one_out:
        found = _nemo_rl(value, ddof, small)
    elif kind == "grpo":
        found = (value - mean) / (_std(value, ddof) + small)
    elif kind == "dr_grpo":
        found = value - mean
    elif kind == "rloo":
        found = (value - mean) * size / (size - 1)
    else:
        found = (value - mean) / pl.when(mean + small != 0).then(mean + small)
    found = (
        pl.when(size == 1).then(_alone(value, kind, framework, small)).when(value.min() == value.max()).then(0.0).otherwise(found)
    )
    return _within(pl.when(value.is_not_null()).then(found), _keys(group)).alias("advantage")


def add_groups(
    frame: Frame,
    group: str | Sequence[str] = "prompt_id",
    *,
    reward: str = "reward",
    advantage_kind: str | None = "grpo",
    framework: str = "trl",
    epsilon: float | None = None,
    ddof: int = 1,
    leave_one_out: bool = True,
) -> Frame:
    """Add the group statistics and the advantage to a table of rewards; rows keep their order, a lazy frame stays lazy.

    Raises
    ------
    UnknownNameError
        A column, advantage or framework is unknown.
    ColumnTypeError
        The reward is no number, or a group column is a float.
    DataError
        A reward is NaN or infinite (found for tables only: a lazy frame is not read here, and leaves such a reward out like a
        null).
    """
    keys: list[str] = _keys(group)
    schema = frame.collect_schema()
    for name in (*keys, reward):
        if name not in schema:
            raise UnknownNameError(f"rewards: column {name!r} is not there.{did_you_mean(name, schema.names())}")
    if not schema[reward].is_numeric():
        raise ColumnTypeError(f"reward: a column of numbers is needed, {reward!r} is {schema[reward]}")
    refuse_inexact(schema, keys)
    if isinstance(frame, pl.DataFrame):
        _check(frame, reward)
    columns: list[pl.Expr] = []
    if advantage_kind is not None:
        options: dict[str, Any] = {"framework": framework, "epsilon": epsilon, "ddof": ddof, "leave_one_out": leave_one_out}
        columns.append(advantage(advantage_kind, keys, reward, **options))
    return frame.with_columns(*columns, *group_statistics(keys, reward, ddof=ddof))


def refuse_inexact(schema: Mapping[str, Any], keys: Sequence[str]) -> None:
    """Raise ColumnTypeError where a group column is a float or nested, which cannot name a prompt."""
    for name in keys:
        if schema[name].is_float() or schema[name].is_nested() or schema[name] == pl.Binary:
            why = ", a float is no exact key" if schema[name].is_float() else "; a prompt's own id, or its text, names it"
            raise ColumnTypeError(f"group: {name!r} is {schema[name]}; text or integer is allowed{why}")


def _check(frame: pl.DataFrame, reward: str) -> None:
    if frame.schema[reward].is_float():
        rows = frame.select((~pl.col(reward).is_finite()).arg_true()).to_series()
        if rows.len():
            found = f"{frame[reward][rows[0]]} in row {rows[0]} ({rows.len():,} in all)"
            raise DataError(f"reward: {reward!r} is {found}; finite numbers and null are allowed")


def _within(expression: pl.Expr, keys: list[str]) -> pl.Expr:
    """An expression over each group; null in the rows that have no prompt."""
    return pl.when(pl.all_horizontal(pl.col(keys).is_not_null())).then(expression.over(keys))


def _keys(group: str | Sequence[str]) -> list[str]:
    keys = [group] if isinstance(group, str) else list(group)
    if not keys:
        raise UsageError("group: at least one column is needed")
    return keys


def _value(reward: str) -> pl.Expr:
    number = pl.col(reward).cast(pl.Float64)
    return pl.when(number.is_finite()).then(number)


def _mean(value: pl.Expr) -> pl.Expr:
    """The mean; sorted first, so that the order of the rows does not change a bit of it."""
    return value.sort().mean()


def _std(value: pl.Expr, ddof: int) -> pl.Expr:
    return pl.when(value.min() == value.max()).then(pl.when(value.count() > ddof).then(0.0)).otherwise(value.sort().std(ddof))


def _alone(value: pl.Expr, kind: str, framework: str, epsilon: float) -> pl.Expr:
    """The advantage in a group of one reward."""
    if framework != "verl":
        return pl.lit(0.0)
    return value / {"grpo": 1 + epsilon, "maxrl": epsilon}.get(kind, 1.0)


def _nemo_rl(value: pl.Expr, ddof: int, epsilon: float) -> pl.Expr:
    """Baseline and standard deviation over the other rewards; a standard deviation of exactly 0 does not divide.

    With d a reward less the group's mean, the others' mean is the group's less d / (n - 1), and their squared deviations are the
    group's less d * d * n / (n - 1). The others are all equal where the group has two values and this row's is its only one.
    """
    size, away = value.count(), value - _mean(value)
    squares = (value.sort() - _mean(value)).pow(2).sum() - away * away * size / (size - 1)
    below = size - 1 - ddof
    lowest, highest = value.min(), value.max()
    two = (value == lowest).sum() + (value == highest).sum() == size
    own = pl.when(value == lowest).then((value == lowest).sum()).otherwise((value == highest).sum())
    equal = (size == 2) | (two & (own == 1))
    std = pl.when(equal | (below <= 0)).then(0.0).otherwise((squares.clip(0.0) / below).sqrt())
    apart = away * size / (size - 1)
    return pl.when(std > 0).then(apart / (std + epsilon)).otherwise(apart)

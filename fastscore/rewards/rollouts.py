"""Rewards of a table of rollouts in memory: tables or a file in, one table in input order out, with groups and advantages.

Read and align as scoring does, then `reward_table` batch by batch, then `grouped` once over the whole, which needs all rollouts
of a prompt; `summarize` says what came of it. Files that do not fit into memory go through `fastscore.rewards.files`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from fastscore.errors import UnknownNameError, UsageError, did_you_mean, no_column
from fastscore.pipeline import aligned_items, load, with_columns
from fastscore.rewards.batches import reward_batch
from fastscore.rewards.groups import add_groups
from fastscore.rewards.prompts import Prompts
from fastscore.rewards.rule import LengthUnit, NullPolicy, Recipes, RewardRule, reward_rule
from fastscore.rewards.totals import RewardTotals, summed
from fastscore.rewards.work import DEFAULT_GROUPS, flat, refuse_names, with_field
from fastscore.schema import Status
from fastscore.scoring import KEY_COLUMNS

if TYPE_CHECKING:
    from fastscore.formats import Loaded

__all__ = ["Rollouts", "grouped", "read_rollouts", "reward_table", "score_rollouts", "summarize"]


class Rollouts(NamedTuple):
    """Rollouts with their references: ``prediction``, ``references``, perhaps ``status``; the notes; and what names a prompt."""

    table: pa.Table
    notes: tuple[str, ...]
    group: tuple[str, ...]


def score_rollouts(
    rollouts: Any,
    references: Any = None,
    *,
    recipe: Recipes,
    extract: str | Sequence[str] | None = None,
    metric: str = "exact_match",
    weights: Sequence[float] | None = None,
    format_tags: str | Sequence[str] | None = None,
    format_weight: float = 1.0,
    min_length: int | None = None,
    max_length: int | None = None,
    length_unit: LengthUnit = "characters",
    null: NullPolicy = "null",
    group: str | Sequence[str] | None = None,
    advantage: str | None = "grpo",
    framework: str = "trl",
    epsilon: float | None = None,
    ddof: int = 1,
    leave_one_out: bool = True,
    prediction: str = "prediction",
    references_column: str = "references",
    keys: Sequence[str] | None = None,
    keep: Sequence[str] = (),
    normal_form: bool = False,
    threads: int | None = None,
) -> pa.Table:
    """Give every rollout its reward, its group's statistics and its advantage.

    Parameters
    ----------
    rollouts
        A path, or a table of any kind that `fastscore.score` takes, with a row a rollout; where the column of completions is a
        list, a row a prompt, which becomes a row for each completion (``sample_id`` from 0). A completion is text or a chat, a
        list of messages with role and content, whose last assistant's counts.
    references
        The same kinds, a row a question, joined by key; None: the rollouts have a column of them.
    recipe, extract, metric, weights, format_tags, format_weight, min_length, max_length, length_unit, null
        What a reward is, as `reward_rule` takes it.
    group
        Columns that name a prompt; by default prompt_id or question_id. Without one there are no groups.
    advantage, framework, epsilon, ddof, leave_one_out
        As in `fastscore.rewards.groups`; ``advantage=None`` leaves it out.
    prediction, references_column
        What the columns are called; a dot leads into a struct, as in ``generations.text``.
    keys
        The key columns of the join.
    keep
        Columns handed on besides the keys and the group.
    normal_form
        Whether to give the answers' normal forms.
    threads
        How many threads may work; None: all cores.

    Returns
    -------
    pyarrow.Table
        A row for each rollout in input order: keys, group and kept columns; what `reward_batch` gives; ``advantage`` and the
        group's statistics.

    Raises
    ------
    UsageError
        A parameter is wrong, or a column is absent or of a wrong type.
    DataError
        The data are wrong, or (``null="error"``) a row has no score.
    """
    rule = reward_rule(
        recipe,
        extract=extract,
        metric=metric,
        weights=weights,
        format_tags=format_tags,
        format_weight=format_weight,
        min_length=min_length,
        max_length=max_length,
        length_unit=length_unit,
        null=null,
    )
    columns: dict[str, Any] = {"prediction": prediction, "references_column": references_column, "keys": keys}
    read = read_rollouts(rollouts, references, group, **columns)
    table = reward_table(read.table, rule, keep=(*read.group, *keep), normal_form=normal_form, threads=threads)
    options: dict[str, Any] = {"framework": framework, "epsilon": epsilon, "ddof": ddof, "leave_one_out": leave_one_out}
    return grouped(table, read.group, advantage, **options)


def read_rollouts(
    rollouts: Any,
    references: Any = None,
    group: str | Sequence[str] | None = None,
    *,
    prediction: str = "prediction",
    references_column: str = "references",
    keys: Sequence[str] | None = None,
    format: str | None = None,
    references_format: str | None = None,
) -> Rollouts:
    """Bring rollouts and references to one table, a row a rollout; references that no rollout has are counted and left out.

    The completions and the references stand in it under their own names too, so that they can be handed on.
    """
    loaded = _flat(load(rollouts, "predictions", format), prediction)
    gold = None if references is None else load(references, "references", references_format)
    if gold is None:
        loaded = replace(loaded, table=with_field(loaded.table, references_column))
    loaded, gold = with_columns(loaded, gold, prediction, references_column)
    table, notes = aligned_items(replace(loaded, official=False), gold, keys)
    if gold is not None:
        table = table.filter(pc.not_equal(table.column("status"), int(Status.MISSING_PREDICTION)))
    for own, name in ((prediction, "prediction"), (references_column, "references")):
        if own not in table.column_names:
            table = table.append_column(own, table.column(name))
    if group is None:
        names = tuple(name for name in DEFAULT_GROUPS if name in table.column_names)[:1]
    else:
        names = (group,) if isinstance(group, str) else tuple(group)
    for name in names:
        if name not in table.column_names:
            raise UnknownNameError(f"group: column {name!r} is not there.{did_you_mean(name, table.column_names)}")
    return Rollouts(table, notes, names)


def reward_table(
    table: pa.Table, rule: RewardRule, *, keep: Sequence[str] = (), normal_form: bool = False, threads: int | None = None
) -> pa.Table:
    """Give every rollout of a table its reward, record batch by record batch."""
    kept = list(dict.fromkeys([*(k for k in KEY_COLUMNS if k in table.column_names), *keep]))
    refuse_names(kept, rule)
    batches = table.to_batches() or [pa.RecordBatch.from_pylist([], schema=table.schema)]
    return pa.Table.from_batches([reward_batch(b, rule, keep=kept, normal_form=normal_form, threads=threads) for b in batches])


def grouped(table: pa.Table, group: Sequence[str], advantage: str | None = "grpo", **options: Any) -> pa.Table:
    """Add advantages and group statistics to a table of rewards; nothing where there is no group."""
    if not group:
        return table
    wanted = [*dict.fromkeys(group), "reward"]
    frame = pl.DataFrame(pl.from_arrow(table.select(wanted)))
    added = add_groups(frame, list(dict.fromkeys(group)), advantage_kind=advantage, **options).drop(wanted)
    for name, column in zip(added.columns, added.to_arrow(compat_level=pl.CompatLevel.oldest()).columns, strict=True):
        table = table.append_column(name, column)
    return table


def summarize(
    table: pa.Table,
    rule: RewardRule,
    group: Sequence[str] = (),
    *,
    pass_at: Sequence[int] = (),
    best_at: Sequence[int] = (),
    maj_at: Sequence[int] = (),
) -> dict[str, Any]:
    """What came of it: counts, means (fractions, None of nothing), groups, and the sampling metrics with their standard errors.

    ``extraction_rate`` is of all rollouts; ``reward`` and the scores are means over the rollouts that have one, and
    ``reward_over_all`` is over all, with 0 where there is none. `table` is `score_rollouts`'s; `maj_at` needs its
    ``normal_form``. ``best@k`` is of f1, ``pass@k`` and ``maj@k`` are of exact_match, both of the first recipe; a rollout without
    a score is left out and counted.
    """
    totals = RewardTotals(summed(table.schema))
    totals.add(table)
    if group and "group_size" in table.column_names:
        totals.prompts = Prompts(tuple(dict.fromkeys(group)), tuple(pass_at), tuple(best_at), tuple(maj_at))
        wanted = dict.fromkeys([*totals.prompts.group, "group_size", "group_all_equal", *totals.prompts.columns])
        totals.prompts.add(pl.DataFrame(pl.from_arrow(table.select(list(wanted)))))
    elif pass_at or best_at or maj_at:
        raise UsageError("pass_at, best_at and maj_at need a group: name the column of prompts")
    return totals.summary(" + ".join(t.name for t in rule.terms), rule.signature)


def _flat(loaded: Loaded, prediction: str) -> Loaded:
    """A row for each completion, where the column of completions is a list of them."""
    table = with_field(loaded.table, prediction)
    if prediction not in table.column_names:
        raise no_column(prediction, "prediction", table.column_names)
    found = flat(table, prediction)
    empty = 0 if found.sizes is None else int((found.sizes == 0).sum())
    notes = (f"{empty:,} rows have no completion in {prediction!r}",) if empty else ()
    return replace(loaded, table=found.table, notes=(*loaded.notes, *notes))

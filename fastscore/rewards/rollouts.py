"""Rewards of a table of rollouts: files or tables in, one table in input order out, with rewards, groups and advantages.

Read and align as scoring does, then `reward_table` batch by batch, then `grouped` once over the whole, which needs all rollouts
of a prompt; `summarize` says what came of it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from fastscore.errors import ColumnTypeError, UnknownNameError, UsageError, did_you_mean
from fastscore.pipeline import aligned_items, load, with_columns
from fastscore.rewards.batches import reward_batch, status_counts
from fastscore.rewards.groups import add_groups
from fastscore.rewards.rule import LengthUnit, NullPolicy, Recipes, RewardRule, reward_rule
from fastscore.schema import WORD_METRICS, Status
from fastscore.scoring import KEY_COLUMNS

if TYPE_CHECKING:
    from fastscore.formats import Loaded

__all__ = ["Rollouts", "grouped", "read_rollouts", "reward_table", "score_rollouts", "summarize"]

#: What names a prompt, where nothing else is said.
_GROUPS = ("prompt_id", "question_id")


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
        list, a row a prompt, which becomes a row for each completion (``sample_id`` from 0).
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
        The data are wrong, a rollout has no prompt, or (``null="error"``) a row has no score.
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
    read = read_rollouts(rollouts, references, group, prediction=prediction, references_column=references_column, keys=keys)
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
    """Bring rollouts and references to one table, a row a rollout; references that no rollout has are counted and left out."""
    loaded = _flat(load(rollouts, "predictions", format), prediction)
    gold = None if references is None else load(references, "references", references_format)
    if gold is None:
        loaded = replace(loaded, table=_with_field(loaded.table, references_column))
    loaded, gold = with_columns(loaded, gold, prediction, references_column)
    table, notes = aligned_items(replace(loaded, official=False), gold, keys)
    if gold is not None:
        table = table.filter(pc.not_equal(table.column("status"), int(Status.MISSING_PREDICTION)))
    if group is None:
        names = tuple(name for name in _GROUPS if name in table.column_names)[:1]
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
    for name in kept:
        if name in (*WORD_METRICS, "answer", "extracted", "reward", "status"):
            raise UsageError(f"keep: {name!r} is the name of a column of rewards; rename the input's column first")
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

    `table` is `score_rollouts`'s; `maj_at` needs its ``normal_form``. ``best@k`` is of f1, ``pass@k`` and ``maj@k`` are of
    exact_match, both of the first recipe; a rollout without a score is left out and counted.
    """
    extracted = table.column("extracted")
    summary: dict[str, Any] = {
        "signature": rule.signature,
        "recipe": " + ".join(t.name for t in rule.terms),
        "rollouts": table.num_rows,
        **status_counts(table.column("status")),
        "extraction_rate": _mean(extracted.cast(pa.float64())),
        "rewarded": table.num_rows - table.column("reward").null_count,
        **{name: _mean(table.column(name)) for name in ("reward", *WORD_METRICS)},
    }
    for name in ("format", "length_ok"):
        if name in table.column_names:
            summary[name] = _mean(table.column(name).cast(pa.float64()))
    if group and "group_size" in table.column_names:
        summary["groups"] = _group_counts(table, group)
    if pass_at or best_at or maj_at:
        if not group:
            raise UsageError("pass_at, best_at and maj_at need a group: name the column of prompts")
        from fastscore.stats.sampling import sampling_metrics

        found = sampling_metrics(table, list(group), pass_at=pass_at, best_at=best_at, maj_at=maj_at)
        summary |= {"prompts": found.prompts, "samples_left_out": found.samples_left_out}
        summary |= {name: metric.to_dict() for name, metric in found.metrics.items()}
    return summary


def _group_counts(table: pa.Table, group: Sequence[str]) -> dict[str, int]:
    frame = pl.DataFrame(pl.from_arrow(table.select([*group, "group_size", "group_all_equal", "group_best"]))).unique(list(group))
    return {
        "count": frame.height,
        "one_row": frame.filter(pl.col("group_size") == 1).height,
        "no_reward": frame.filter(pl.col("group_size") == 0).height,
        "all_equal": frame.filter((pl.col("group_size") > 1) & pl.col("group_all_equal")).height,
    }


def _mean(column: pa.ChunkedArray) -> float | None:
    values = column.drop_null().to_numpy()
    return math.fsum(values) / values.size if values.size else None


def _with_field(table: pa.Table, path: str) -> pa.Table:
    """The table with the column that a path such as ``generations.text`` leads to, under that name."""
    head, *fields = path.split(".")
    if path in table.column_names or not fields or head not in table.column_names:
        return table
    column = table.column(head)
    for field in fields:
        known = [f.name for f in column.type] if pa.types.is_struct(column.type) else []
        if field not in known:
            raise UnknownNameError(f"column {path!r} is not in the table.{did_you_mean(field, known)}")
        column = pc.struct_field(column, field)
    return table.append_column(path, column)


def _flat(loaded: Loaded, prediction: str) -> Loaded:
    """A row for each completion, where the column of completions is a list of them."""
    table = _with_field(loaded.table, prediction)
    if prediction not in table.column_names:
        raise UnknownNameError(f"column {prediction!r} is not in the table.{did_you_mean(prediction, table.column_names)}")
    kind = table.schema.field(prediction).type
    if not (pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind)):
        return replace(loaded, table=table)
    inner = kind.value_type
    if not (pa.types.is_string(inner) or pa.types.is_large_string(inner) or pa.types.is_string_view(inner)):
        raise ColumnTypeError(f"{prediction}: completions as text, or lists of text, are needed, got {kind}")
    frame = pl.DataFrame(pl.from_arrow(table))
    size = pl.col(prediction).list.len()
    full = frame.filter(size > 0)
    numbered = {} if "sample_id" in frame.columns else {"sample_id": pl.int_ranges(size, dtype=pl.Int64)}
    flat = full.with_columns(**numbered).explode(prediction, *numbered)
    empty = frame.height - full.height
    notes = (f"{empty} rows have no completion in {prediction!r}",) if empty else ()
    return replace(loaded, table=flat.to_arrow(compat_level=pl.CompatLevel.oldest()), notes=(*loaded.notes, *notes))

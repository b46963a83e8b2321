"""Where two recipes disagree on the same items, by how much, and which part of a recipe is the cause.

Aligned items and two recipes come in; counts, mean differences, causes and examples go out. All scores are `score_batch`'s: a
cause is found by scoring the rows again with the first recipe in which one part is the second's.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from fastscore.arguments import thread_number, whole_number
from fastscore.arrow import foreign_errors, guarded, sound, table_of
from fastscore.errors import UsageError
from fastscore.recipes import Recipe, find_recipe
from fastscore.scoring import KEY_COLUMNS, score_batch, span_metrics
from fastscore.totals import Totals

if TYPE_CHECKING:
    from rich.console import RenderableType

__all__ = ["CAUSES", "Cause", "Differences", "Example", "differ"]

Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]
#: The kinds of cause: a name for people, and the parts of a recipe that are changed together.
CAUSES: Mapping[str, tuple[str, ...]] = {
    "answer": ("answer",),
    "unicode": ("unicode",),
    "invisible": ("invisible",),
    "quotes and dashes": ("fold_quotes_and_dashes",),
    "case": ("case",),
    "punctuation": ("punctuation", "punctuation_to"),
    "articles": ("articles", "articles_to", "articles_order"),
    "words": ("words",),
    "exact": ("exact",),
    "empty rule": ("empty",),
    "references rule": ("references",),
    "reference filter": ("reference_filter",),
    "whole answers": ("whole_answers",),
    "missing rule": ("missing",),
    "spans": ("spans",),
}
#: What rows are called that no single change explains.
TOGETHER = "only together"
_METRICS = ("exact_match", "f1")
#: The columns that are read; whatever else a table has is left alone.
_READ = ("prediction", "references", "status", "prediction_spans", "reference_spans", *KEY_COLUMNS)


@dataclass(frozen=True)
class Cause:
    """One kind of cause.

    Attributes
    ----------
    name
        A key of `CAUSES`, or ``only together``: no single change alters the row's score.
    first, second
        The two recipes' parts as text.
    rows
        Of the rows that differ, those whose score this change alone alters.
    sole
        Of these, the rows for which it is the only such change.
    """

    name: str
    first: str
    second: str
    rows: int
    sole: int


@dataclass(frozen=True)
class Example:
    """A row that differs: its number, keys and texts, the two recipes' scores, and the names of its causes."""

    row: int
    keys: dict[str, Any]
    prediction: str | None
    references: list[str | None] | None
    first: dict[str, float | None]
    second: dict[str, float | None]
    causes: tuple[str, ...]


@dataclass(frozen=True, repr=False)
class Differences:
    """How two recipes differ on the same items.

    Attributes
    ----------
    first, second
        The recipes' names; `signatures` are theirs.
    count
        Items that have a score by at least one of the two.
    rows
        Items whose scores differ, and `by_metric` for each metric.
    means
        For each metric the two means (fractions; None: no item has a score) and the second less the first.
    causes
        Most rows first.
    examples
        Largest differences first.
    """

    first: str
    second: str
    signatures: tuple[str, str]
    count: int
    rows: int
    by_metric: dict[str, int]
    means: dict[str, tuple[float | None, float | None, float | None]]
    causes: tuple[Cause, ...]
    examples: tuple[Example, ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        return asdict(self)

    def __rich__(self) -> RenderableType:
        from fastscore.differences_text import differences_text

        return differences_text(self)

    def __str__(self) -> str:
        from rich.console import Console

        console = Console(width=110, no_color=True, force_terminal=False, highlight=False)
        with console.capture() as capture:
            console.print(self)
        return capture.get().rstrip("\n")

    __repr__ = __str__


@guarded
def differ(
    items: pa.Table, first: str | Recipe, second: str | Recipe, *, examples: int = 5, threads: int | None = None
) -> Differences:
    """Compare two recipes on aligned items.

    Parameters
    ----------
    items
        Rows as for `fastscore.score_batch`: prediction, references, and if there keys, status and spans; a pyarrow table or
        batch, a polars frame, or anything with ``__arrow_c_stream__``.
    first, second
        The recipes.
    examples
        How many of the rows that differ most are wanted.
    threads
        How many threads may work; None: all cores.

    Raises
    ------
    UsageError
        The two recipes are one and the same rule, or `examples` is negative.
    UnknownNameError, ColumnTypeError, EncodingError
        As `fastscore.score_batch`.
    """
    one, two = find_recipe(first), find_recipe(second)
    examples, threads = whole_number(examples, "examples"), thread_number(threads)
    given, items = items, table_of(items, "items")
    if items is None:
        raise UsageError(f"items: a table of aligned items is allowed, got {type(given).__name__}")
    parts = differing_parts(one, two)
    if not parts:
        raise UsageError(f"recipes {one.name!r} and {two.name!r} have the same parts, so they differ nowhere")
    for column in ("prediction", "references"):
        if column not in items.column_names:
            raise UsageError(f"items: the column {column!r} is needed, got {', '.join(items.column_names)}")
    items = items.select([name for name in items.column_names if name in _READ])
    for name, column in zip(items.column_names, items.columns, strict=True):
        sound(column, f"items: column {name!r}")
    scored = [_scored(items, recipe, threads) for recipe in (one, two)]
    names = [*_METRICS, *(m for m in span_metrics(items.schema, one, 1) if m in scored[1].column_names)]
    values = [{m: _values(s, m) for m in names} for s in scored]
    unlike = {m: _unlike(values[0][m], values[1][m]) for m in names}
    rows = np.flatnonzero(np.logical_or.reduce([unlike[m] for m in names]))
    with foreign_errors("items: the rows that differ cannot be taken"):
        unlike_items = items.take(pa.array(rows))
    touched = _touched(unlike_items, one, two, {m: v[rows] for m, v in values[0].items()}, threads)
    shown = [_example(items, int(rows[k]), values, [p for p in parts if touched[p][k]]) for k in _worst(rows, values)[:examples]]
    return Differences(
        one.name,
        two.name,
        (one.signature, two.signature),
        int((~np.isnan(values[0]["f1"]) | ~np.isnan(values[1]["f1"])).sum()),
        int(rows.size),
        {m: int(unlike[m].sum()) for m in names},
        {m: _means(scored, m) for m in names},
        _causes(one, two, parts, touched),
        tuple(shown),
    )


def differing_parts(one: Recipe, two: Recipe) -> list[str]:
    """The kinds of cause in which two recipes differ, in the order of `CAUSES`."""
    return [name for name, parts in CAUSES.items() if any(getattr(one, p) != getattr(two, p) for p in parts)]


def _touched(items: pa.Table, one: Recipe, two: Recipe, before: dict[str, Floats], threads: int | None) -> dict[str, Bools]:
    """For each kind of cause, which items get another score when the first recipe takes that part from the second."""
    touched: dict[str, Bools] = {}
    for name in differing_parts(one, two):
        changed = replace(one, **{part: getattr(two, part) for part in CAUSES[name]})
        scored = _scored(items, changed, threads)
        there = [m for m in before if m in scored.column_names]
        touched[name] = np.logical_or.reduce([_unlike(before[m], _values(scored, m)) for m in there])
    return touched


def _causes(one: Recipe, two: Recipe, parts: list[str], touched: dict[str, Bools]) -> tuple[Cause, ...]:
    many = np.sum([touched[p] for p in parts], axis=0)
    found = [
        Cause(p, _shown(one, p), _shown(two, p), int(touched[p].sum()), int((touched[p] & (many == 1)).sum())) for p in parts
    ]
    alone = int((many == 0).sum())
    if alone:
        found.append(Cause(TOGETHER, "", "", alone, alone))
    return tuple(sorted(found, key=lambda c: -c.rows))


def _example(items: pa.Table, row: int, values: list[dict[str, Floats]], causes: list[str]) -> Example:
    item = items.slice(row, 1).to_pylist()[0]
    references = item["references"]
    first, second = ({m: None if np.isnan(v[row]) else float(v[row]) for m, v in side.items()} for side in values)
    return Example(
        row=row,
        keys={k: item[k] for k in KEY_COLUMNS if k in item},
        prediction=item["prediction"],
        references=[references] if isinstance(references, str) else references,
        first=first,
        second=second,
        causes=tuple(causes) or (TOGETHER,),
    )


def _worst(rows: npt.NDArray[np.int64], values: list[dict[str, Floats]]) -> list[int]:
    """Places in `rows`, the largest difference first, ties in input order; a score against none counts as 1."""
    size = np.zeros(rows.size)
    for m, before in values[0].items():
        one, two = before[rows], values[1][m][rows]
        size += np.where(np.isnan(one) != np.isnan(two), 1.0, np.nan_to_num(np.abs(one - two)))
    return [int(k) for k in np.argsort(-size, kind="stable")]


def _means(scored: list[pa.Table], metric: str) -> tuple[float | None, float | None, float | None]:
    means: list[float | None] = []
    for table in scored:
        totals = Totals((metric,))
        totals.add(table)
        means.append(totals.block()[metric])
    before, after = means
    return before, after, None if before is None or after is None else after - before


def _scored(items: pa.Table, recipe: Recipe, threads: int | None) -> pa.Table:
    batches = items.to_batches() or [pa.RecordBatch.from_pylist([], schema=items.schema)]
    return pa.Table.from_batches([score_batch(batch, recipe, threads=threads) for batch in batches])


def _values(scored: pa.Table, metric: str) -> Floats:
    """A metric's values; NaN where an item has no score."""
    return np.asarray(scored.column(metric).to_numpy(), dtype=np.float64)


def _unlike(one: Floats, two: Floats) -> Bools:
    return np.asarray((one != two) & ~(np.isnan(one) & np.isnan(two)), dtype=np.bool_)


def _shown(recipe: Recipe, cause: str) -> str:
    return ", ".join(str(getattr(recipe, part)) for part in CAUSES[cause])

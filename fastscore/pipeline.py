"""`score`: from files or tables to a `Result`. Read, align, score batch by batch, add up; rows keep their order throughout."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa

from fastscore.align import align
from fastscore.errors import ColumnTypeError, EncodingError, UnknownNameError, UsageError, did_you_mean
from fastscore.formats import Loaded, read_predictions, read_references
from fastscore.recipes import Recipe, resolve_recipe
from fastscore.result import Result
from fastscore.schema import WORD_METRICS
from fastscore.scoring import KEY_COLUMNS, score_batch, span_metrics, top_ns
from fastscore.text.normalize import not_utf8
from fastscore.totals import Totals

__all__ = ["REPORTED", "aligned_items", "load", "score", "score_items", "with_columns"]

Side = Literal["predictions", "references"]
#: Columns of the items that the official layouts and the groups of a report need, kept where they are there.
REPORTED = ("domain", "has_answer")


def score(
    predictions: Any,
    references: Any = None,
    *,
    recipe: str | Recipe,
    by: str | Sequence[str] | None = None,
    threads: int | None = None,
    top_n: int | Sequence[int] = 1,
    keep: Sequence[str] = (),
    prediction: str = "prediction",
    references_column: str = "references",
    keys: Sequence[str] | None = None,
    format: str | None = None,
    references_format: str | None = None,
) -> Result:
    """Score predictions against references.

    Parameters
    ----------
    predictions
        A path, a pyarrow Table or RecordBatch, a polars LazyFrame, or anything with ``__arrow_c_stream__`` (polars and pandas
        frames, DuckDB relations). Without `references` it has a column of references too.
    references
        The same kinds, one row a question; joined by key.
    recipe
        A name, a signature or a `Recipe`.
    by
        Columns whose values are reported as groups.
    threads
        How many threads may work; None: all cores of the affinity mask.
    top_n
        For which n the share of items with a hit among the first n spans is wanted; 1 always is.
    keep
        Columns to hand on to the items.
    prediction, references_column
        What the two columns are called.
    keys
        The key columns of the join; by default question_id and turn_id where the references have them.
    format, references_format
        Names of the formats of files, where the content should not be asked.

    Returns
    -------
    Result
        Items in the predictions' order, then references without a prediction; where both sides are an official JSON layout
        in the references' order, then predictions for unknown questions.

    Raises
    ------
    UsageError
        A parameter is wrong, or a column is absent or of a wrong type.
    DataError
        The data are wrong: keys twice, text that is not UTF-8, a file that is not of its format.
    """
    found, note = resolve_recipe(recipe)
    groups = (by,) if isinstance(by, str) else tuple(by or ())
    loaded = load(predictions, "predictions", format)
    gold = None if references is None else load(references, "references", references_format)
    loaded, gold = with_columns(loaded, gold, prediction, references_column)
    table, notes = aligned_items(loaded, gold, keys)
    notes = (*((note,) if note else ()), *notes)
    return score_items(table, found, by=groups, keep=keep, top_n=top_n, threads=threads, notes=notes)


def score_items(
    table: pa.Table,
    recipe: Recipe,
    *,
    by: Sequence[str] = (),
    keep: Sequence[str] = (),
    top_n: int | Sequence[int] = 1,
    threads: int | None = None,
    notes: Sequence[str] = (),
) -> Result:
    """Score a table of aligned items, record batch by record batch, and add it up."""
    top_ns(top_n)
    for column in by:
        if column not in table.column_names:
            raise UnknownNameError(f"by: column {column!r} is not there.{did_you_mean(column, table.column_names)}")
    kept = list(dict.fromkeys([*keep, *by, *(c for c in REPORTED if c in table.column_names)]))
    batches = table.to_batches() or [pa.RecordBatch.from_pylist([], schema=table.schema)]
    scored, row = [], 0
    for batch in batches:
        try:
            scored.append(score_batch(batch, recipe, keep=kept, top_n=top_n, threads=threads))
        except EncodingError as error:
            if error.row is None:
                raise
            raise not_utf8(error.column, row + error.row) from None
        row += batch.num_rows
    items = pa.Table.from_batches(scored)
    totals = Totals((*WORD_METRICS, *span_metrics(table.schema, recipe, top_n)), tuple(by))
    totals.add(items)
    return Result(items, totals.summary(recipe.name, recipe.signature), recipe.signature, totals, tuple(notes))


def aligned_items(
    predictions: Loaded, references: Loaded | None, keys: Sequence[str] | None = None
) -> tuple[pa.Table, tuple[str, ...]]:
    """One table of items, with ``status`` where the two sides were joined, and the notes of all steps.

    A status that the input has is not handed on: it is a column of item scores (`schema.ITEM_COLUMNS`), not of what is scored.
    """
    if references is None:
        _need(predictions.table, "predictions", "prediction")
        _need(predictions.table, "predictions", "references")
        table = predictions.table
        return table.drop_columns(["status"]) if "status" in table.column_names else table, predictions.notes
    _need(predictions.table, "predictions", "prediction")
    _need(references.table, "references", "references")
    order: Side = "references" if predictions.official and references.official else "predictions"
    aligned = align(predictions.table, references.table, keys=keys, order=order)
    return aligned.table, (*predictions.notes, *references.notes, *aligned.notes)


def with_columns(loaded: Loaded, gold: Loaded | None, prediction: str, references: str) -> tuple[Loaded, Loaded | None]:
    """Rename the columns of predictions and references to the names that the rest of the way uses."""
    if prediction != "prediction":
        loaded = replace(loaded, table=_renamed(loaded.table, prediction, "prediction"))
    if references != "references":
        if gold is None:
            loaded = replace(loaded, table=_renamed(loaded.table, references, "references"))
        else:
            gold = replace(gold, table=_renamed(gold.table, references, "references"))
    return loaded, gold


def load(source: Any, side: Side, format: str | None = None) -> Loaded:
    """Bring any kind of input to an Arrow table.

    Raises
    ------
    UsageError
        The input is of no kind that can be read.
    """
    if isinstance(source, (str, os.PathLike)):
        return (read_predictions if side == "predictions" else read_references)(Path(source), format)
    if isinstance(source, Loaded):
        return source
    if isinstance(source, pa.RecordBatch):
        source = pa.Table.from_batches([source])
    if not isinstance(source, pa.Table):
        source = _as_table(source, side)
    doubled = [name for name in dict.fromkeys(source.column_names) if source.column_names.count(name) > 1]
    if doubled:
        raise UsageError(f"{side}: the column name {doubled[0]!r} stands twice; rename one of them")
    keys = tuple(k for k in KEY_COLUMNS if k in source.column_names)
    return Loaded(source, "table", keys)


def _as_table(source: Any, side: Side) -> pa.Table:
    if (
        type(source).__module__.partition(".")[0] == "polars"
        and hasattr(source, "collect")
        and not hasattr(source, "__arrow_c_stream__")
    ):
        source = source.collect()
    if hasattr(source, "__arrow_c_stream__"):
        return pa.table(source)
    if isinstance(source, Iterable) and not isinstance(source, (str, bytes, dict)):
        rows = list(source)
        if rows and all(isinstance(r, dict) for r in rows):
            return _of_rows(rows, side)
    raise UsageError(
        f"{side}: a path, an Arrow table, or anything with __arrow_c_stream__ (polars, pandas, DuckDB) is allowed, "
        f"got {type(source).__name__}"
    )


def _of_rows(rows: list[dict[str, Any]], side: Side) -> pa.Table:
    """A table of dicts, with every key that any of them has; lone surrogates become U+FFFD."""
    names = list(dict.fromkeys(str(name) for row in rows for name in row))
    columns = {}
    for name in names:
        values = [_repaired(row.get(name)) for row in rows]
        try:
            columns[name] = pa.array(values)
        except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError) as error:
            raise ColumnTypeError(f"{side}: {name!r} must be of one type in all rows: {str(error).splitlines()[0]}") from None
    return pa.table(columns)


def _repaired(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    if isinstance(value, (list, tuple)):
        return [_repaired(v) for v in value]
    return value


def _renamed(table: pa.Table, old: str, new: str) -> pa.Table:
    if old not in table.column_names:
        raise UnknownNameError(f"column {old!r} is not in the table.{did_you_mean(old, table.column_names)}")
    names = [new if n == old else f"{n}_before" if n == new else n for n in table.column_names]
    return table.rename_columns(names)


def _need(table: pa.Table, side: Side, column: str) -> None:
    if column not in table.column_names:
        raise UnknownNameError(f"{side}: column {column!r} is not there.{did_you_mean(column, table.column_names)}")

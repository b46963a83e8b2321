"""`score`: from files or tables to a `Result`. Read, align, score batch by batch, add up; rows keep their order throughout."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal

import pyarrow as pa

from fastscore.align import align
from fastscore.arguments import column_name, column_names, is_path, optional_text, path_of, thread_number
from fastscore.arrow import foreign_errors, guarded, table_of
from fastscore.errors import EncodingError, UnknownNameError, did_you_mean, no_column
from fastscore.formats import Loaded, read_predictions, read_references
from fastscore.recipes import Recipe, resolve_recipe
from fastscore.result import Result
from fastscore.rows import table_of_rows
from fastscore.schema import WORD_METRICS
from fastscore.scoring import KEY_COLUMNS, score_batch, span_metrics, top_ns
from fastscore.text.normalize import not_utf8
from fastscore.totals import Totals

__all__ = ["REPORTED", "aligned_items", "load", "score", "score_items", "with_columns"]

Side = Literal["predictions", "references"]
#: Columns of the items that the official layouts and the groups of a report need, kept where they are there.
REPORTED = ("domain", "has_answer")


@guarded
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
        A path, a pyarrow Table or RecordBatch, a polars LazyFrame, anything with ``__arrow_c_stream__`` (polars and pandas
        frames, DuckDB relations) or ``__arrow_c_array__``, or rows as dicts. Without `references` it has a column of
        references too.
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
    groups, kept, join_by = column_names(by, "by"), column_names(keep, "keep"), column_names(keys, "keys")
    prediction, references_column = column_name(prediction, "prediction"), column_name(references_column, "references_column")
    workers = thread_number(threads)
    top_ns(top_n)
    loaded = load(predictions, "predictions", format)
    gold = None if references is None else load(references, "references", references_format)
    loaded, gold = with_columns(loaded, gold, prediction, references_column)
    table, notes = aligned_items(loaded, gold, join_by)
    notes = (*((note,) if note else ()), *notes)
    return score_items(table, found, by=groups, keep=kept, top_n=top_n, threads=workers, notes=notes)


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
        loaded = replace(loaded, table=_renamed(loaded.table, prediction, "prediction", "predictions"))
    if references != "references":
        if gold is None:
            loaded = replace(loaded, table=_renamed(loaded.table, references, "references", "predictions"))
        else:
            gold = replace(gold, table=_renamed(gold.table, references, "references", "references"))
    return loaded, gold


def load(source: Any, side: Side, format: str | None = None) -> Loaded:
    """Bring any kind of input to an Arrow table.

    Raises
    ------
    UsageError
        The input is of no kind that can be read.
    """
    if is_path(source):
        read = read_predictions if side == "predictions" else read_references
        given = optional_text(format, "format" if side == "predictions" else "references_format")
        with foreign_errors(f"{side}: the file cannot be read"):
            return read(path_of(source, side), given)
    if isinstance(source, Loaded):
        return source
    table = table_of(source, side)
    if table is None:
        table = table_of_rows(source, side)
    return Loaded(table, "table", tuple(k for k in KEY_COLUMNS if k in table.column_names))


def _renamed(table: pa.Table, old: str, new: str, side: Side) -> pa.Table:
    if old not in table.column_names:
        raise no_column(old, new, table.column_names, f"{side}: ")
    column = table.column(old)  # stays under its own name too, so that it can be kept
    names = [f"{n}_before" if n == new else n for n in table.column_names]
    return table.rename_columns(names).append_column(new, column)


def _need(table: pa.Table, side: Side, column: str) -> None:
    if column not in table.column_names:
        raise no_column(column, column, table.column_names, f"{side}: ")

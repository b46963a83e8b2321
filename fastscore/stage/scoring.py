"""One batch of a stage: filtered, its columns given the names that the rest uses, joined with the references, scored.

`Columns` says what the user calls things; `BatchScorer` is made once a run and may be called from several threads at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
import pyarrow as pa

from fastscore.align import KeyedReferences, no_key
from fastscore.errors import (
    ColumnTypeError,
    DataError,
    EncodingError,
    FastscoreError,
    UnknownNameError,
    UsageError,
    did_you_mean,
    no_column,
)
from fastscore.pipeline import REPORTED
from fastscore.recipes import Recipe
from fastscore.schema import Status
from fastscore.scoring import KEY_COLUMNS, score_batch, top_ns
from fastscore.text.normalize import not_utf8

__all__ = ["BatchScorer", "Columns", "chosen_rows", "one_batch"]

_SPANS = ("prediction_spans", "reference_spans")


@dataclass(frozen=True)
class Columns:
    """What the input's columns are called, and which of them the output gets beside the scores."""

    prediction: str = "prediction"
    references: str = "references"
    ids: tuple[str, ...] = ()
    keep: tuple[str, ...] = ()
    by: tuple[str, ...] = ()
    where: str | None = None

    def condition(self) -> pl.Expr | None:
        """The row filter, or None. Raises UsageError where it is no SQL expression."""
        if self.where is None:
            return None
        try:
            return pl.sql_expr(self.where)
        except (pl.exceptions.PolarsError, TypeError) as error:
            raise UsageError(f"where: {self.where!r} is not an SQL expression: {' '.join(str(error).split())[:200]}") from None

    def wanted(self, joined: bool) -> tuple[str, ...]:
        """The columns that must be read; those that are not there are told apart later."""
        condition = self.condition()
        roots = condition.meta.root_names() if condition is not None else []
        texts = [self.prediction] if joined else [self.prediction, self.references]
        return tuple(dict.fromkeys([*texts, *KEY_COLUMNS, *self.ids, *self.keep, *self.by, *_SPANS, *REPORTED, *roots]))


class BatchScorer:
    """Scores batches of predictions by one recipe.

    Parameters
    ----------
    recipe
        The rule.
    columns
        What the columns are called.
    gold
        The references by key, or None where each row has its own.
    top_n
        As in `score_batch`.
    """

    def __init__(
        self, recipe: Recipe, columns: Columns, gold: KeyedReferences | None = None, top_n: int | Sequence[int] = 1
    ) -> None:
        self.recipe, self.columns, self.gold, self.top_n = recipe, columns, gold, top_n
        self._condition = columns.condition()
        self.given: pa.Schema | None = None
        top_ns(top_n)

    def check_columns(self, source: str, names: Sequence[str]) -> None:
        """Raise UnknownNameError where a source with columns `names` lacks one that is needed."""
        columns, given = self.columns, list(names)
        if columns.prediction not in names:
            raise no_column(columns.prediction, "prediction", names, f"{source}: ")
        if self.gold is not None:
            given += self.gold.table.column_names
            for name in self.gold.keys:
                if name not in names:
                    raise no_key(name, names, self.gold.keys, f"{source}: predictions")
        elif columns.references not in names:
            raise no_column(columns.references, "references", names, f"{source}: ")
        roots = self._condition.meta.root_names() if self._condition is not None else ()
        for name in roots:
            if name not in names:
                raise UnknownNameError(f"{source}: where: column {name!r} is not there.{did_you_mean(name, names)}")
        for name in (*columns.ids, *columns.keep, *columns.by):
            if name not in given:
                raise UnknownNameError(f"{source}: column {name!r} is not there.{did_you_mean(name, given)}")

    def __call__(self, batch: pa.RecordBatch, name: str, first: int, threads: int | None = 1) -> pa.RecordBatch:
        """Item scores of a batch whose first row is row `first` of the source `name`.

        Raises
        ------
        EncodingError
            A text is not valid UTF-8; names source and row.
        UsageError
            A column is absent or of a wrong type.
        """
        rows = None
        if self._condition is not None:
            rows = chosen_rows(batch, self._condition, self.columns.where)
            batch = batch.take(pa.array(rows))
        try:
            return self.score(self._items(batch), threads)
        except EncodingError as error:
            if error.row is None:
                raise
            row = first + (error.row if rows is None else int(rows[error.row]))
            raise not_utf8(f"{name}: {error.column}", row) from None
        except (UnknownNameError, ColumnTypeError) as error:
            raise type(error)(f"{name}: {error}") from None

    def score(self, batch: pa.RecordBatch, threads: int | None = 1) -> pa.RecordBatch:
        """Item scores of a batch of items that are joined already."""
        columns = self.columns
        reported = (c for c in REPORTED if c in batch.schema.names)
        extra = [c for c in (*columns.ids, *columns.keep, *columns.by, *reported) if c not in KEY_COLUMNS]
        return score_batch(batch, self.recipe, keep=list(dict.fromkeys(extra)), top_n=self.top_n, threads=threads)

    def missing(self) -> pa.RecordBatch | None:
        """Item scores of the references that no prediction has met, or None where there are none."""
        if self.gold is None:
            return None
        rows = self.gold.missing()
        if not rows.size:
            return None
        table = self.gold.table.take(pa.array(rows))
        table = table.append_column("prediction", pa.nulls(rows.size, pa.string()))
        status = np.full(rows.size, int(Status.MISSING_PREDICTION), dtype=np.int8)
        table = table.append_column("status", pa.array(status))
        given = self.given if self.given is not None else pa.schema([])
        for column in (*KEY_COLUMNS, *self.columns.ids, *self.columns.keep, *self.columns.by, "prediction_spans"):
            known = column in given.names
            if column not in table.column_names and known:
                table = table.append_column(column, pa.nulls(rows.size, given.field(column).type))
            elif known and column in self.gold.keys:
                place, kind = table.column_names.index(column), given.field(column).type
                table = table.set_column(place, column, _like_key(table.column(column), kind, column))
        return self.score(one_batch(table))

    def _items(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        if "status" in batch.schema.names:
            batch = batch.drop_columns(["status"])
        batch = _renamed(batch, self.columns.prediction, "prediction")
        self.given = batch.schema
        if self.gold is None:
            return _renamed(batch, self.columns.references, "references")
        if "references" in batch.schema.names:
            batch = batch.drop_columns(["references"])
        return one_batch(self.gold.join(pa.Table.from_batches([batch])))


def chosen_rows(batch: pa.RecordBatch, condition: pl.Expr, where: str | None) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """The rows for which a condition holds. Raises UsageError where it is not true or false for each row by itself."""
    frame = pl.DataFrame(pl.from_arrow(pa.Table.from_batches([batch.select(list(dict.fromkeys(condition.meta.root_names())))])))
    try:
        kept = frame.select(condition.alias("kept"))["kept"]
    except pl.exceptions.PolarsError as error:
        raise UsageError(f"where: {where!r}: {' '.join(str(error).split())[:200]}") from None
    if kept.dtype != pl.Boolean or len(kept) != batch.num_rows:
        raise UsageError(f"where: {where!r} must be true or false for each row by itself, it gives {kept.dtype}")
    return np.flatnonzero(kept.fill_null(False).to_numpy())


def _like_key(column: pa.ChunkedArray, kind: pa.DataType, name: str) -> pa.ChunkedArray:
    """The references' keys in the type that the predictions' have."""
    try:
        return column.cast(pa.string()).cast(kind) if column.type != kind else column
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise DataError(
            f"references: a key {name!r} without a prediction cannot be written as {kind}, the predictions' type; "
            "give both sides text keys"
        ) from None


def _renamed(batch: pa.RecordBatch, old: str, new: str) -> pa.RecordBatch:
    if old not in batch.schema.names:
        raise UnknownNameError(f"column {old!r} is not there.{did_you_mean(old, batch.schema.names)}")
    if old == new:
        return batch
    column = batch.column(old)  # stays under its own name too, so that it can be kept
    names = [f"{n}_before" if n == new else n for n in batch.schema.names]
    return batch.rename_columns(names).append_column(new, column)


def one_batch(table: pa.Table) -> pa.RecordBatch:
    """A table of a batch's size as one batch."""
    batches = table.combine_chunks().to_batches()
    if len(batches) > 1:
        raise FastscoreError("a batch joined with its references has more than 2 GB of text in a column; give --memory less")
    return batches[0] if batches else pa.RecordBatch.from_pylist([], schema=table.schema)

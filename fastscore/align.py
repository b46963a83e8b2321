"""The keyed join: predictions and references in, one table of items out, no row lost and none moved.

Rows carry their number through every join and are sorted back by it. Keys are compared as text; a key that is null or empty
meets nothing. What has no partner keeps its row and says so in the status column.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import polars as pl
import pyarrow as pa

from fastscore.errors import ColumnTypeError, KeyMismatchError, UnknownNameError, UsageError, did_you_mean
from fastscore.schema import Status

__all__ = ["Aligned", "KeyedReferences", "align"]

_KEYS = ("question_id", "turn_id")
Order = Literal["predictions", "references"]


@dataclass(frozen=True)
class Aligned:
    """Aligned items: `table` has both sides' columns and ``status`` (int8 codes); `counts` and `notes` say what was found."""

    table: pa.Table
    counts: dict[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


class KeyedReferences:
    """References that are loaded once and joined to any number of prediction batches.

    Raises
    ------
    UnknownNameError
        A key column is absent.
    ColumnTypeError
        A key is of a type that cannot be compared exactly.
    KeyMismatchError
        A key is null or stands twice.
    """

    def __init__(self, references: pa.Table, keys: Sequence[str] | None = None) -> None:
        self.table = references
        self.keys = tuple(keys) if keys else tuple(k for k in _KEYS if k in references.column_names)
        if not self.keys:
            found = did_you_mean("question_id", references.column_names)
            raise UnknownNameError(f"references: a key column question_id is needed, or name the keys.{found}")
        frame = _key_frame(references, self.keys, "references")
        nulls = int(frame.select(pl.any_horizontal(pl.all().is_null()).sum()).item()) if frame.height else 0
        if nulls:
            raise KeyMismatchError(
                f"references: {nulls} rows have a null or empty {' or '.join(self.keys)}; every reference needs a key"
            )
        doubled = frame.filter(frame.is_duplicated()).unique(maintain_order=True)
        if doubled.height:
            first = "; ".join(", ".join(f"{k} {v!r}" for k, v in row.items()) for row in doubled.head(3).to_dicts())
            raise KeyMismatchError(f"references: {doubled.height} keys stand more than once: {first}; keep one row for each")
        self._frame = frame.with_row_index("reference_row")
        self._seen = np.zeros(references.num_rows, dtype=np.bool_)

    def rows_of(self, predictions: pa.Table) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        """For each prediction the row of its reference, -1 where there is none; in the predictions' order."""
        frame = _key_frame(predictions, self.keys, "predictions").with_row_index("row")
        joined = frame.join(self._frame, on=list(self.keys), how="left", nulls_equal=False).sort("row")
        if joined.height != predictions.num_rows:
            raise KeyMismatchError("references: a key stands more than once")
        rows = joined["reference_row"].cast(pl.Int64).fill_null(-1).to_numpy()
        self._seen[rows[rows >= 0]] = True
        return np.asarray(rows, dtype=np.int64)

    def join(self, predictions: pa.Table) -> pa.Table:
        """The predictions with their references' columns and ``status``, row for row."""
        rows = self.rows_of(predictions)
        status = np.where(rows < 0, int(Status.UNMATCHED_PREDICTION), int(Status.OK)).astype(np.int8)
        return _together(predictions, np.arange(rows.size), self.table, rows, self.keys, status)

    def missing(self) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        """Rows of references that no prediction has met so far."""
        return np.flatnonzero(~self._seen)


def align(
    predictions: pa.Table, references: pa.Table, *, keys: Sequence[str] | None = None, order: Order = "predictions"
) -> Aligned:
    """Join predictions with references by key.

    Parameters
    ----------
    predictions, references
        Tables with the key columns; several predictions may have one key, references may not.
    keys
        Key columns; by default those of question_id and turn_id that the references have.
    order
        ``predictions``: a row a prediction in its order, then a row for each reference without one. ``references``: a row a
        reference in its order (its predictions in theirs), then the predictions that met none.

    Raises
    ------
    UnknownNameError, ColumnTypeError, KeyMismatchError
        As `KeyedReferences`; UsageError for an unknown order.
    """
    if order not in ("predictions", "references"):
        raise UsageError(f"order: predictions or references is allowed, got {order!r}")
    keyed = KeyedReferences(references, keys)
    rows = keyed.rows_of(predictions)
    missing = keyed.missing()
    p_rows = np.concatenate([np.arange(rows.size), np.full(missing.size, -1)])
    r_rows = np.concatenate([rows, missing])
    if order == "references":
        rank = np.where(r_rows >= 0, r_rows, references.num_rows)
        picked = np.lexsort((p_rows, rank))
        p_rows, r_rows = p_rows[picked], r_rows[picked]
    status = np.full(p_rows.size, int(Status.OK), dtype=np.int8)
    status[p_rows < 0] = int(Status.MISSING_PREDICTION)
    status[r_rows < 0] = int(Status.UNMATCHED_PREDICTION)
    table = _together(predictions, p_rows, references, r_rows, keyed.keys, status)
    counts = {"missing_prediction": int(missing.size), "unmatched_prediction": int((rows < 0).sum())}
    notes: tuple[str, ...] = ()
    if counts["missing_prediction"]:
        notes += (f"{counts['missing_prediction']} references have no prediction",)
    if counts["unmatched_prediction"]:
        notes += (f"{counts['unmatched_prediction']} predictions are for unknown questions and are not scored",)
    return Aligned(table, counts, notes)


def _key_frame(table: pa.Table, keys: Sequence[str], side: str) -> pl.DataFrame:
    """The key columns as text; null where null or empty."""
    columns = []
    for key in keys:
        if key not in table.column_names:
            raise UnknownNameError(f"{side}: the key column {key!r} is not there.{did_you_mean(key, table.column_names)}")
        kind = table.schema.field(key).type
        value = kind.value_type if pa.types.is_dictionary(kind) else kind
        if pa.types.is_floating(value) or pa.types.is_boolean(value) or pa.types.is_nested(value) or pa.types.is_temporal(value):
            raise ColumnTypeError(
                f"{side}: key column {key!r} must be text or integer, got {kind}; a float cannot hold every id exactly"
            )
        series = pl.Series(key, pl.from_arrow(table.column(key))).cast(pl.String)
        columns.append(series.set(series == "", None))
    return pl.DataFrame(columns)


def _together(
    predictions: pa.Table,
    p_rows: np.ndarray[tuple[int], np.dtype[np.int64]],
    references: pa.Table,
    r_rows: np.ndarray[tuple[int], np.dtype[np.int64]],
    keys: Sequence[str],
    status: np.ndarray[tuple[int], np.dtype[np.int8]],
) -> pa.Table:
    """Take the rows of both sides and put their columns side by side; -1 takes a row of nulls."""
    columns: dict[str, pa.ChunkedArray] = {}
    left, right = _take(predictions, p_rows), _take(references, r_rows)
    for key in keys:
        columns[key] = _filled(left.column(key), right.column(key))
    for name in left.column_names:
        if name not in keys and name != "status":
            columns[f"{name}_prediction" if name in right.column_names else name] = left.column(name)
    for name in right.column_names:
        if name not in keys and name != "status":
            columns[name] = right.column(name)
    columns["status"] = pa.array(status)
    return pa.table(columns)


def _take(table: pa.Table, rows: np.ndarray[tuple[int], np.dtype[np.int64]]) -> pa.Table:
    if rows.size == table.num_rows and bool((rows == np.arange(rows.size)).all()):
        return table
    return table.take(pa.array(rows, mask=rows < 0))


def _filled(one: pa.ChunkedArray, other: pa.ChunkedArray) -> pa.ChunkedArray:
    """The first column where it is not null, else the second; as text where their types differ."""
    if one.null_count == 0:
        return one
    left, right = pl.Series(pl.from_arrow(one)), pl.Series(pl.from_arrow(other))
    if left.dtype != right.dtype:
        left, right = left.cast(pl.String), right.cast(pl.String)
    merged = left.to_frame("a").with_columns(right.alias("b")).select(pl.coalesce("a", "b"))
    return merged.to_arrow(compat_level=pl.CompatLevel.oldest()).column(0)

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
import pyarrow.compute as pc

from fastscore.arguments import column_names
from fastscore.arrow import foreign_errors, is_text, kind_of, refuse_doubled, sound, sound_layout, to_polars
from fastscore.errors import ColumnTypeError, EncodingError, KeyMismatchError, UnknownNameError, UsageError, did_you_mean
from fastscore.forks import refuse_lost_threads
from fastscore.formats.positions import count_misplaced
from fastscore.schema import Status

__all__ = ["Aligned", "KeyedReferences", "align", "missing_note", "nothing_joined_note", "unmatched_note"]

_KEYS = ("question_id", "turn_id")
#: Text beyond this many bytes cannot be taken together under 32-bit offsets.
_NARROW = 2**31 - 1
_MISPLACED = {
    "spans_outside_context": "predicted spans lie outside their context",
    "text_not_at_offset": "predictions are not the text at their offset in the context",
}
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
        _check_layout(references, "references")
        self.table = references
        self.keys = column_names(keys, "keys") or tuple(k for k in _KEYS if k in references.column_names)
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
        self._met = np.zeros(references.num_rows, dtype=np.int64)

    def rows_of(self, predictions: pa.Table) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        """For each prediction the row of its reference, -1 where there is none; in the predictions' order."""
        frame = _key_frame(predictions, self.keys, "predictions").with_row_index("row")
        joined = frame.join(self._frame, on=list(self.keys), how="left", nulls_equal=False).sort("row")
        if joined.height != predictions.num_rows:
            raise KeyMismatchError("references: a key stands more than once")
        rows = joined["reference_row"].cast(pl.Int64).fill_null(-1).to_numpy()
        np.add.at(self._met, rows[rows >= 0], 1)
        return np.asarray(rows, dtype=np.int64)

    def join(self, predictions: pa.Table) -> pa.Table:
        """The predictions with their references' columns and ``status``, row for row."""
        rows = self.rows_of(predictions)
        status = np.where(rows < 0, int(Status.UNMATCHED_PREDICTION), int(Status.OK)).astype(np.int8)
        return _together(predictions, np.arange(rows.size), self.table, rows, self.keys, status)

    def digest(self) -> str:
        """A fingerprint of the keys and the references, to tell whether two runs were given the same."""
        frame = pl.DataFrame(pl.from_arrow(self.table.select([*self.keys, "references"])))
        hashed = frame.select(pl.struct(pl.all()).hash(seed=0)).to_series()
        return f"{int(hashed.to_numpy().sum()) if frame.height else 0:016x}"

    def missing(self) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        """Rows of references that no prediction has met so far."""
        return np.flatnonzero(self._met == 0)

    def several_note(self) -> tuple[str, ...]:
        """What is said where references have met more than one prediction so far; nothing where none has."""
        several, most = int((self._met > 1).sum()), int(self._met.max(initial=0))
        if not several:
            return ()
        who = "1 question has" if several == 1 else f"{several:,} questions have"
        return (f"{who} several predictions (up to {most:,}); each counts",)


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
    _check_layout(predictions, "predictions")
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
    repeated = _repeated(predictions, keyed.keys)
    notes: tuple[str, ...] = keyed.several_note() if "sample_id" not in predictions.column_names else ()
    if repeated:
        counts["repeated_prediction"] = repeated
        notes = (f"predictions of the same {', '.join(keyed.keys)} and sample_id stand twice: {repeated:,}; each counts",)
    if predictions.num_rows and counts["unmatched_prediction"] == predictions.num_rows:
        notes = (nothing_joined_note(),)
    if counts["missing_prediction"]:
        notes += (missing_note(counts["missing_prediction"]),)
    if counts["unmatched_prediction"]:
        notes += (unmatched_note(counts["unmatched_prediction"]),)
    misplaced = count_misplaced(table) if _has_positions(table, predictions, references) else {}
    notes += tuple(f"{n} {_MISPLACED[name]}" for name, n in misplaced.items() if n)
    counts |= misplaced
    return Aligned(table, counts, notes)


def _has_positions(table: pa.Table, predictions: pa.Table, references: pa.Table) -> bool:
    """Whether items have texts, spans of whole numbers and contexts; these, which are read, are then checked in full."""
    read, types = ("prediction", "prediction_spans", "context"), pa.types
    if not set(read) <= set(table.column_names):
        return False
    kind = table.schema.field("prediction_spans").type
    spans = kind.value_type if types.is_list(kind) or types.is_large_list(kind) else None
    if spans is None or not types.is_struct(spans):
        return False
    fields = [f.type for f in spans if f.name in ("start", "end")]
    if len(fields) != 2 or not all(types.is_integer(f) for f in fields) or not is_text(table.schema.field("prediction").type):
        return False
    for side, given in (("predictions", predictions), ("references", references)):
        for name in set(read) & set(given.column_names):
            sound(given.column(name), f"{side}: column {name!r}")
    return True


def _check_layout(table: pa.Table, side: str) -> None:
    """Refuse a table whose rows cannot be taken: each column of it is moved, whether it has a role or not."""
    refuse_doubled(table.column_names, side)
    for name, column in zip(table.column_names, table.columns, strict=True):
        sound_layout(column, f"{side}: column {name!r}")


def _repeated(predictions: pa.Table, keys: Sequence[str]) -> int:
    """How many predictions have the keys and the sample_id of one before; 0 where there is no sample_id to tell."""
    if "sample_id" not in predictions.column_names:
        return 0
    frame = _key_frame(predictions, [*dict.fromkeys([*keys, "sample_id"])], "predictions")
    return frame.height - frame.n_unique()


def nothing_joined_note() -> str:
    """What is said where no prediction at all has met a reference."""
    return "no prediction's key is among the references'; is it the same data? (several files of predictions: name their folder)"


def missing_note(count: int) -> str:
    """What is said of references without a prediction."""
    return f"{count:,} references have no prediction" if count != 1 else "1 reference has no prediction"


def unmatched_note(count: int) -> str:
    """What is said of predictions without references."""
    if count == 1:
        return "1 prediction is for an unknown question and is not scored"
    return f"{count:,} predictions are for unknown questions and are not scored"


def no_key(key: str, names: Sequence[str], keys: Sequence[str], where: str) -> UnknownNameError:
    """The error for a key column that one side lacks; the other keys are no guess at what was meant."""
    others = [name for name in names if name not in keys]
    return UnknownNameError(
        f"{where}: the key column {key!r} is not there.{did_you_mean(key, others)} "
        f"Both sides need the key columns {', '.join(keys)}; --id NAME names others that both have."
    )


def _key_frame(table: pa.Table, keys: Sequence[str], side: str) -> pl.DataFrame:
    """The key columns as text; null where null or empty."""
    refuse_lost_threads()
    columns = []
    for key in keys:
        if key not in table.column_names:
            raise no_key(key, table.column_names, keys, side)
        column = table.column(key)
        sound(column, f"{side}: key column {key!r}")
        kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
        if _is_binary(kind):
            column = _decoded(column, key, side)
        elif not (is_text(kind) or pa.types.is_integer(kind) or pa.types.is_null(kind)):
            raise ColumnTypeError(
                f"{side}: key column {key!r} must be text or integer, got {kind_of(column.type)}; "
                "a float cannot hold every id exactly"
            )
        series = to_polars(column, f"{side}: key column {key!r}").alias(key).cast(pl.String)
        columns.append(series.set(series == "", None))
    return pl.DataFrame(columns)


def _is_binary(kind: pa.DataType) -> bool:
    types = pa.types
    return bool(
        types.is_binary(kind) or types.is_large_binary(kind) or types.is_binary_view(kind) or types.is_fixed_size_binary(kind)
    )


def _decoded(column: pa.ChunkedArray, key: str, side: str) -> pa.ChunkedArray:
    """A binary column as text."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    try:
        return pc.cast(pc.cast(column, pa.large_binary()), pa.large_string())
    except pa.ArrowInvalid:
        for row, value in enumerate(column.to_pylist()):
            try:
                (value or b"").decode()
            except UnicodeDecodeError:
                message = f"{side}: key column {key!r}: row {row} is not valid UTF-8; decode or repair that key first"
                raise EncodingError(message, key, row) from None
        raise


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
    kinds = [_takeable(f.type, c.nbytes > _NARROW) for f, c in zip(table.schema, table.columns, strict=True)]
    if kinds != table.schema.types:
        fields = [f.with_type(kind) for f, kind in zip(table.schema, kinds, strict=True)]
        table = table.cast(pa.schema(fields))
    with foreign_errors("the rows of the two sides cannot be put together"):
        return table.take(pa.array(rows, mask=rows < 0))


def _takeable(kind: pa.DataType, large: bool) -> pa.DataType:
    """A type of the same values that rows can be taken from: no text views, and 64-bit offsets where 32-bit ones are too small.

    List views stay: rows can be taken from them whatever they hold, and pyarrow 26 breaks their offsets in a cast.
    """
    types = pa.types
    if types.is_string_view(kind) or (large and types.is_string(kind)):
        return pa.large_string()
    if types.is_binary_view(kind) or (large and types.is_binary(kind)):
        return pa.large_binary()
    if types.is_list(kind) or types.is_large_list(kind):
        field = kind.value_field.with_type(_takeable(kind.value_type, large))
        return pa.list_(field) if types.is_list(kind) and not large else pa.large_list(field)
    if types.is_struct(kind):
        return pa.struct([f.with_type(_takeable(f.type, large)) for f in kind])
    return kind


def _filled(one: pa.ChunkedArray, other: pa.ChunkedArray) -> pa.ChunkedArray:
    """The first column where it is not null, else the second; as text where their types differ."""
    if one.null_count == 0:
        return one
    left, right = pl.Series(pl.from_arrow(one)), pl.Series(pl.from_arrow(other))
    if left.dtype != right.dtype:
        left, right = left.cast(pl.String), right.cast(pl.String)
    merged = left.to_frame("a").with_columns(right.alias("b")).select(pl.coalesce("a", "b"))
    return merged.to_arrow(compat_level=pl.CompatLevel.oldest()).column(0)

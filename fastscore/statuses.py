"""The status column: codes for the kernels, a dictionary of words for people, and the way between."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from fastscore.arrow import is_text, kind_of, sound
from fastscore.errors import ColumnTypeError, UnknownNameError, UsageError, did_you_mean
from fastscore.schema import Status

__all__ = ["status_array", "status_codes"]

_LABELS = pa.array([s.label for s in Status])


def status_codes(batch: pa.RecordBatch) -> npt.NDArray[np.uint8] | None:
    """The codes of a batch's status column, or None where it has none.

    Raises UnknownNameError where a status is not one of `schema.Status`, ColumnTypeError where the column holds neither codes
    nor text, UsageError where a code is null or there is none of that number, DataError where the column is broken.
    """
    if "status" not in batch.schema.names:
        return None
    column = batch.column("status")
    sound(column, "status")
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    if not (pa.types.is_integer(kind) or is_text(kind)):
        raise ColumnTypeError(f"status: text or codes from 0 to {len(Status) - 1} are allowed, got {kind_of(column.type)}")
    if pa.types.is_dictionary(column.type):
        column = column.dictionary.take(column.indices)
    if pa.types.is_integer(kind):
        if column.null_count:
            row = int(np.argmin(column.is_valid().to_numpy(zero_copy_only=False)))
            raise UsageError(f"status: codes from 0 to {len(Status) - 1} are allowed, row {row} is null")
        codes = column.to_numpy(zero_copy_only=False)
        if codes.size and (codes.min() < 0 or codes.max() >= len(Status)):
            raise UsageError(f"status: codes from 0 to {len(Status) - 1} are allowed, got {codes.min()} to {codes.max()}")
        return np.asarray(codes, dtype=np.uint8)
    found = pc.index_in(column.cast(pa.string()), value_set=_LABELS)
    if found.null_count:
        bad = column.filter(pc.is_null(found))[0].as_py()
        raise UnknownNameError(f"status: no status is called {bad!r}.{did_you_mean(str(bad), _LABELS.to_pylist())}")
    return np.asarray(found.to_numpy(zero_copy_only=False), dtype=np.uint8)


def status_array(codes: npt.NDArray[np.uint8]) -> pa.DictionaryArray:
    """Status codes as the dictionary column that item scores have."""
    return pa.DictionaryArray.from_arrays(pa.array(codes.astype(np.int8)), _LABELS)

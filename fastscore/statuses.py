"""The status column: codes for the kernels, a dictionary of words for people, and the way between."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from fastscore.errors import UnknownNameError, UsageError, did_you_mean
from fastscore.schema import Status

__all__ = ["status_array", "status_codes"]

_LABELS = pa.array([s.label for s in Status])


def status_codes(batch: pa.RecordBatch) -> npt.NDArray[np.uint8] | None:
    """The codes of a batch's status column, or None where it has none.

    Raises UnknownNameError where a status is not one of `schema.Status`.
    """
    if "status" not in batch.schema.names:
        return None
    column = batch.column("status")
    if pa.types.is_integer(column.type):
        codes = column.to_numpy(zero_copy_only=False)
        if codes.size and (codes.min() < 0 or codes.max() >= len(Status)):
            raise UsageError(f"status: codes from 0 to {len(Status) - 1} are allowed, got {codes.min()} to {codes.max()}")
        return np.asarray(codes, dtype=np.uint8)
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    found = pc.index_in(column.cast(pa.string()), value_set=_LABELS)
    if found.null_count:
        bad = column.filter(pc.is_null(found))[0].as_py()
        raise UnknownNameError(f"status: no status is called {bad!r}.{did_you_mean(str(bad), _LABELS.to_pylist())}")
    return np.asarray(found.to_numpy(zero_copy_only=False), dtype=np.uint8)


def status_array(codes: npt.NDArray[np.uint8]) -> pa.DictionaryArray:
    """Status codes as the dictionary column that item scores have."""
    return pa.DictionaryArray.from_arrays(pa.array(codes.astype(np.int8)), _LABELS)

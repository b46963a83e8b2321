"""Columns of document ids, and lists of them in any Arrow layout, brought to the one form that the kernels read.

An Arrow column comes in; `Ids` (bytes and offsets) or `ListColumn` (where each row's values begin and stop) goes out.
Integers are read as their decimal text; null ids become empty ones, which match nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from fastscore.arrow import first_line, is_text, kind_of, one_chunk
from fastscore.errors import ColumnTypeError, DataError, EncodingError
from fastscore.kernels import ids as kernels

__all__ = [
    "Ids",
    "Ints",
    "ListColumn",
    "joined_texts",
    "one_array",
    "plain_array",
    "read_ids",
    "read_list",
    "read_numbers",
    "text_buffers",
]

Ints = npt.NDArray[np.int64]
Bytes = npt.NDArray[np.uint8]


@dataclass(frozen=True)
class Ids:
    """A column of document ids: id i is ``data[offsets[i]:offsets[i + 1]]``, in UTF-8; `blank` of them are empty.

    `kind` is ``text`` or ``integer``, what the ids were before.
    """

    offsets: Ints
    data: Bytes
    kind: str
    blank: int

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def text(self, number: int) -> str:
        """The id of that number."""
        return self.data[self.offsets[number] : self.offsets[number + 1]].tobytes().decode("utf-8")


@dataclass(frozen=True)
class ListColumn:
    """Lists without holes: row i holds ``values[begin[i]:stop[i]]``; `present` is False where the row is null."""

    begin: Ints
    stop: Ints
    values: pa.Array
    present: npt.NDArray[np.bool_]


def one_array(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    """The column as one array; views of text, which Arrow cannot take rows of, become plain text, run ends are written out."""
    array = one_chunk(column)
    array = array.storage if isinstance(array, pa.ExtensionArray) else array
    array = pc.run_end_decode(array) if pa.types.is_run_end_encoded(array.type) else array
    return array.cast(pa.large_string()) if pa.types.is_string_view(array.type) else array


def plain_array(values: list[Any], name: str) -> pa.Array:
    """An Arrow array of Python values, text with 64-bit offsets.

    Raises
    ------
    ColumnTypeError
        The values are of different types.
    EncodingError
        A text holds half of a surrogate pair.
    """
    try:
        return one_array(pa.array(values, pa.large_string() if values and isinstance(values[0], str) else None))
    except UnicodeEncodeError as error:
        raise EncodingError(f"{name}: must be text that UTF-8 can hold, got {error.object!r}") from None
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        raise ColumnTypeError(f"{name}: must be of one type, text or integers below 2**63 ({first_line(error)})") from None


def joined_texts(lists: Iterable[Iterable[Any]], count: int) -> pa.Array | None:
    """An Arrow array of `count` texts that stand in several lists, none of which is empty; None where not all are plain text.

    A join and one pass over its bytes is sooner done than a conversion text by text. Texts with a zero character or half of a
    surrogate pair are not plain.
    """
    try:
        joined = "\0".join((*map("\0".join, lists), "\0" * 7)).encode()
    except (TypeError, UnicodeEncodeError):
        return None
    buffer = np.frombuffer(joined, dtype=np.uint8)
    offsets, data = np.empty(count + 1, dtype=np.int64), np.empty(len(buffer), dtype=np.uint8)
    kernels.cut_at_zeros(buffer, offsets, data)
    if offsets[0] != len(buffer) - 7:
        return None
    offsets[0] = 0
    return pa.LargeStringArray.from_buffers(count, pa.py_buffer(offsets), pa.py_buffer(data))


def text_buffers(array: pa.Array) -> tuple[Ints, Bytes]:
    """Offsets and bytes of a column that `read_ids` can read; nulls are empty."""
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    if not pa.types.is_large_string(array.type):
        array = array.cast(pa.large_string())
    if array.null_count:
        array = array.fill_null("")
    _, offsets, data = array.buffers()
    if not len(array):
        return np.zeros(1, dtype=np.int64), np.zeros(0, dtype=np.uint8)
    used = np.frombuffer(offsets, dtype=np.int64)[array.offset : array.offset + len(array) + 1]
    return used, np.frombuffer(data, dtype=np.uint8) if data is not None and data.size else np.zeros(0, dtype=np.uint8)


def read_ids(column: pa.Array | pa.ChunkedArray, name: str) -> Ids:
    """Read a column of ids of any text or integer type.

    Raises
    ------
    ColumnTypeError
        The column holds something else, such as floats.
    DataError
        Every id is null or empty.
    """
    array = one_array(column)
    kind = array.type.value_type if pa.types.is_dictionary(array.type) else array.type
    if not (is_text(kind) or pa.types.is_integer(kind) or pa.types.is_null(kind)):
        raise ColumnTypeError(f"{name}: document ids must be text or integers, got {kind_of(kind)}")
    offsets, data = text_buffers(array)
    blank = int(np.count_nonzero(offsets[1:] == offsets[:-1]))
    if blank and blank == len(array):
        raise DataError(f"{name}: all {blank} document ids are null or empty, which match nothing. Is this the right column?")
    return Ids(offsets, data, "integer" if pa.types.is_integer(kind) else "text", blank)


def read_list(column: pa.Array | pa.ChunkedArray, name: str) -> ListColumn:
    """Read a list column of any layout, sliced or not; values are copied only where the lists have holes or overlap.

    Raises
    ------
    ColumnTypeError
        The column is no list.
    """
    array = one_array(column)
    kind = array.type
    rows = len(array)
    if pa.types.is_null(kind):
        none = np.zeros(rows, dtype=np.int64)
        return ListColumn(none, none, pa.nulls(0), np.zeros(rows, dtype=np.bool_))
    if pa.types.is_fixed_size_list(kind):
        begin = (np.arange(rows, dtype=np.int64) + array.offset) * kind.list_size
        stop = begin + kind.list_size
    elif pa.types.is_list(kind) or pa.types.is_large_list(kind):
        offsets = array.offsets.to_numpy().astype(np.int64, copy=False)
        begin, stop = offsets[:-1], offsets[1:]
    elif pa.types.is_list_view(kind) or pa.types.is_large_list_view(kind):
        begin = array.offsets.to_numpy().astype(np.int64, copy=False)
        stop = begin + array.sizes.to_numpy()
    else:
        raise ColumnTypeError(f"{name}: must be a list column, got {kind_of(kind)}")
    present = array.is_valid().to_numpy(zero_copy_only=False) if array.null_count else np.ones(rows, dtype=np.bool_)
    if array.null_count:
        stop = np.where(present, stop, begin)
    return _without_holes(begin, stop, array.values, present)


def _without_holes(begin: Ints, stop: Ints, values: pa.Array, present: npt.NDArray[np.bool_]) -> ListColumn:
    if not len(begin):
        return ListColumn(begin, stop, values[:0], present)
    if np.array_equal(begin[1:], stop[:-1]):
        first = int(begin[0])
        values = values.slice(first, int(stop[-1]) - first)
        return ListColumn(begin - first if first else begin, stop - first if first else stop, values, present)
    values = one_array(values)
    sizes = stop - begin
    new_stop = np.cumsum(sizes)
    new_begin = new_stop - sizes
    taken = np.arange(int(new_stop[-1]), dtype=np.int64) + np.repeat(begin - new_begin, sizes)
    return ListColumn(new_begin, new_stop, values.take(pa.array(taken)), present)


def read_numbers(values: pa.Array, name: str, *, scores: bool, where: Callable[[int], str]) -> npt.NDArray[Any]:
    """Read scores as float64, or grades as int64.

    `where` says in words where an entry stands, such as ``row 3``.

    Raises
    ------
    ColumnTypeError
        The values are no numbers.
    DataError
        A value is null, NaN, or for a grade not whole.
    """
    kind = values.type
    allowed = "scores must be numbers" if scores else "relevance must be whole numbers"
    if not len(values):
        return np.zeros(0, dtype=np.float64 if scores else np.int64)
    if values.null_count:
        entry = int(np.argmin(values.is_valid().to_numpy(zero_copy_only=False)))
        raise DataError(f"{name}, {where(entry)}: {allowed}, got null")
    if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind)):
        raise ColumnTypeError(f"{name}: {allowed}, got {kind_of(kind)}")
    if pa.types.is_floating(kind):
        floats = np.asarray(values.to_numpy(zero_copy_only=False), dtype=np.float64)
        wrong = np.isnan(floats) if scores else (floats != np.floor(floats)) | (np.abs(floats) >= 2.0**63)
        if wrong.any():
            entry = int(np.argmax(wrong))
            raise DataError(f"{name}, {where(entry)}: {allowed}, got {float(floats[entry])}")
        return floats if scores else floats.astype(np.int64)
    try:
        whole = values.cast(pa.int64())
    except pa.ArrowInvalid as error:
        raise DataError(f"{name}: {allowed} that fit in int64 ({error})") from None
    numbers = np.asarray(whole.to_numpy(zero_copy_only=False))
    return numbers.astype(np.float64) if scores else numbers

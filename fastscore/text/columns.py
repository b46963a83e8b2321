"""Arrow text columns brought to one layout: bytes, where each text starts and ends in them, and which texts are null.

Every Arrow layout of text comes in (string, large_string, string_view, binary that holds UTF-8, dictionaries of these; lists of
them likewise); string and large_string are not copied. Offsets are checked here, once, so that kernels can trust them; whether
the bytes are valid UTF-8 is found out by the kernels, which decode every byte that is not ASCII.

For string, binary and lists the check is the cheap one, and it is enough: Arrow's `validate` (no row is read) holds every
buffer's size, the validity bitmap's too, against the number of rows, and `_offsets` holds every offset against its neighbour and
the last against the bytes, so each text and each list lies within its buffer. Dictionary indices and list views are compared
with the size of what they point into. Views of text and run ends go through Arrow's full validation.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from fastscore.arrow import foreign_errors, kind_of, sound_layout
from fastscore.errors import ColumnTypeError, DataError
from fastscore.kernels.offsets import ascending, widened

__all__ = ["ListColumn", "TextColumn", "list_column", "text_column", "validity"]

_NO_BYTES = np.zeros(0, dtype=np.uint8)
Ints = npt.NDArray[np.int64]


class TextColumn(NamedTuple):
    """`n` texts: text i is ``data[starts[i]:ends[i]]``; `valid` is None where none is null."""

    data: npt.NDArray[np.uint8]
    starts: Ints
    ends: Ints
    valid: npt.NDArray[np.bool_] | None

    def packed(self) -> bool:
        """Whether each text begins where the one before ends, as starts and ends that are one array of offsets show."""
        step = self.starts.itemsize
        one = self.starts.strides == self.ends.strides == (step,)
        return one and self.ends.ctypes.data == self.starts.ctypes.data + step


class ListColumn(NamedTuple):
    """`n` lists of texts: list i holds the texts ``starts[i]`` to ``ends[i]`` of `texts`, none of which is null.

    `places` gives each text's place in its own list as it was before null texts were left out, None where none was; `valid` says
    which lists are not null, None where all are.
    """

    texts: TextColumn
    starts: Ints
    ends: Ints
    places: Ints | None
    valid: npt.NDArray[np.bool_] | None = None


def text_column(array: pa.Array, name: str = "column") -> TextColumn:
    """Bring a text array to the one layout.

    Parameters
    ----------
    array
        string, large_string, string_view, binary types, dictionaries of these, or null.
    name
        What an error message calls the column.

    Raises
    ------
    ColumnTypeError
        The column holds no text.
    DataError
        The array's offsets decrease or point outside its bytes.
    """
    kind = array.type
    _check_buffers(array, name)
    if pa.types.is_null(kind):
        nothing = np.zeros(len(array), dtype=np.int64)
        return TextColumn(_NO_BYTES, nothing, nothing, np.zeros(len(array), dtype=np.bool_))
    if isinstance(array, pa.ExtensionArray):
        return text_column(array.storage, name)
    if pa.types.is_dictionary(kind):
        return _of_dictionary(array, name)
    if pa.types.is_run_end_encoded(kind):
        return text_column(_without_runs(array, name), name)
    if pa.types.is_string_view(kind) or pa.types.is_binary_view(kind):
        array = _without_views(array, name)
        kind = array.type
    elif pa.types.is_fixed_size_binary(kind):
        array = pc.cast(array, pa.large_binary())
        kind = array.type
    wide = pa.types.is_large_string(kind) or pa.types.is_large_binary(kind)
    if not (wide or pa.types.is_string(kind) or pa.types.is_binary(kind)):
        raise ColumnTypeError(
            f"{name}: a text column is needed (string in any Arrow layout, or UTF-8 binary), got {kind_of(kind)}"
        )
    _, offsets_buffer, data_buffer = array.buffers()
    data = np.frombuffer(data_buffer, dtype=np.uint8) if data_buffer is not None and data_buffer.size else _NO_BYTES
    offsets = _offsets(offsets_buffer, wide, array.offset, len(array), data.size, name)
    return TextColumn(data, offsets[:-1], offsets[1:], validity(array))


def list_column(array: pa.Array, name: str = "column") -> ListColumn:
    """Bring a column of lists of texts to the one layout; a plain text column is read as lists of one.

    A null list is an empty one, and null texts in a list are left out.

    Raises
    ------
    ColumnTypeError
        The column holds neither texts nor lists of texts.
    DataError
        The array's offsets decrease or point outside.
    """
    if isinstance(array, pa.ExtensionArray):
        return list_column(array.storage, name)
    kind = array.type
    _check_buffers(array, name)
    if pa.types.is_run_end_encoded(kind):
        return list_column(_without_runs(array, name), name)
    if pa.types.is_dictionary(kind) and _is_list(kind.value_type):
        inner = list_column(array.dictionary, name)
        picked, valid = _indices(array, name)
        starts, ends = inner.starts[picked], inner.ends[picked].copy()
        if valid is not None:
            ends[~valid] = starts[~valid]
        if inner.valid is not None:
            valid = inner.valid[picked] if valid is None else valid & inner.valid[picked]
        return ListColumn(inner.texts, starts, ends, inner.places, valid)
    if not _is_list(kind):
        texts = text_column(array, name)
        starts = np.arange(len(array), dtype=np.int64)
        return _without_nulls(texts, starts, starts + 1)._replace(valid=texts.valid)
    starts, ends, values = _list_bounds(array, name)
    valid = validity(array)
    if valid is not None:
        ends = np.where(valid, ends, starts)
    return _without_nulls(text_column(values, name), starts, ends)._replace(valid=valid)


def validity(array: pa.Array) -> npt.NDArray[np.bool_] | None:
    """Which entries are not null, or None where all are."""
    if array.null_count == 0:
        return None
    return np.asarray(pc.is_valid(array).to_numpy(zero_copy_only=False), dtype=np.bool_)


def _is_list(kind: pa.DataType) -> bool:
    types = pa.types
    return bool(
        types.is_list(kind)
        or types.is_large_list(kind)
        or types.is_fixed_size_list(kind)
        or types.is_list_view(kind)
        or types.is_large_list_view(kind)
    )


def _offsets(buffer: pa.Buffer | None, wide: bool, first: int, count: int, limit: int, name: str) -> Ints:
    """An array's `count + 1` offsets as int64, checked: not negative, not decreasing, within `limit`."""
    if buffer is None or buffer.size == 0:
        if count:
            raise DataError(f"{name}: the Arrow array has {count} rows but no offsets")
        return np.zeros(1, dtype=np.int64)
    width = 8 if wide else 4
    if buffer.size < (first + count + 1) * width:
        raise DataError(f"{name}: the Arrow array's offsets buffer is too short for {count} rows")
    raw = np.frombuffer(buffer, dtype=np.int64 if wide else np.int32, count=count + 1, offset=first * width)
    offsets: Ints = np.asarray(raw, dtype=np.int64) if wide else np.empty(count + 1, dtype=np.int64)
    rising = ascending(offsets) if wide else widened(raw, offsets)
    if offsets[0] < 0 or offsets[-1] > limit or not rising:
        bad = int(np.argmax(offsets[1:] < offsets[:-1])) if count else 0
        raise DataError(
            f"{name}: the Arrow array's offsets are broken near row {bad}: they decrease or point outside its {limit} bytes"
        )
    return offsets


def _indices(array: pa.DictionaryArray, name: str) -> tuple[Ints, npt.NDArray[np.bool_] | None]:
    """A dictionary array's indices, 0 where null, checked against its dictionary; and its validity."""
    valid = validity(array.indices)
    indices = array.indices
    if valid is not None:
        indices = pc.fill_null(indices, 0)
    picked = indices.to_numpy(zero_copy_only=False).astype(np.int64)
    size = len(array.dictionary)
    if valid is not None and size == 0:
        return np.zeros(len(array), dtype=np.int64), valid
    if picked.size and (picked.min() < 0 or picked.max() >= size):
        raise DataError(f"{name}: the Arrow dictionary has {size} values, an index points outside it")
    return picked, valid


def _of_dictionary(array: pa.DictionaryArray, name: str) -> TextColumn:
    values = text_column(array.dictionary, name)
    picked, valid = _indices(array, name)
    if not len(array.dictionary):
        nothing = np.zeros(len(array), dtype=np.int64)
        return TextColumn(values.data, nothing, nothing, valid)
    if values.valid is not None:
        valid = values.valid[picked] if valid is None else valid & values.valid[picked]
    return TextColumn(values.data, values.starts[picked], values.ends[picked], valid)


def _without_views(array: pa.Array, name: str) -> pa.Array:
    """A view array as large_string or large_binary; views that point outside their buffers are an error."""
    sound_layout(array, name)
    target = pa.large_string() if pa.types.is_string_view(array.type) else pa.large_binary()
    with foreign_errors(name):
        return pc.cast(array, target)


def _without_runs(array: pa.Array, name: str) -> pa.Array:
    """A run-end encoded array, written out."""
    sound_layout(array, name)
    with foreign_errors(name):
        return pc.run_end_decode(array)


def _check_buffers(array: pa.Array, name: str) -> None:
    """Hold the sizes of an array's buffers and its children's against its length, whatever its type; no row is read."""
    try:
        array.validate()
    except (pa.ArrowInvalid, pa.ArrowIndexError) as error:
        raise DataError(f"{name}: the Arrow array is broken: {str(error).splitlines()[0]}") from None


def _list_bounds(array: pa.Array, name: str) -> tuple[Ints, Ints, pa.Array]:
    """Where each list starts and ends in its values, and the values."""
    kind, count = array.type, len(array)
    if pa.types.is_fixed_size_list(kind):
        size = kind.list_size
        starts = np.arange(count, dtype=np.int64) * size
        return starts, starts + size, array.values.slice(array.offset * size, count * size)
    if pa.types.is_list_view(kind) or pa.types.is_large_list_view(kind):
        return _view_bounds(array, name)
    values = array.values
    offsets = _offsets(array.buffers()[1], pa.types.is_large_list(kind), array.offset, count, len(values), name)
    first, last = int(offsets[0]), int(offsets[-1])
    if last - first < len(values):  # a slice of a larger array: only its own texts are looked at
        values = values.slice(first, last - first)
        offsets = offsets - first
    return offsets[:-1], offsets[1:], values


def _view_bounds(array: pa.Array, name: str) -> tuple[Ints, Ints, pa.Array]:
    """As `_list_bounds`, for list views: an offset and a size each, in any order; what a null list points to is ignored."""
    starts = array.offsets.to_numpy(zero_copy_only=False).astype(np.int64)
    sizes = array.sizes.to_numpy(zero_copy_only=False).astype(np.int64)
    valid = validity(array)
    if valid is not None:
        starts[~valid] = 0
        sizes[~valid] = 0
    ends = starts + sizes
    if starts.size and (
        starts.min() < 0 or sizes.min() < 0 or starts.max() > len(array.values) or (sizes > len(array.values) - starts).any()
    ):
        raise DataError(f"{name}: the Arrow array's list views point outside its {len(array.values)} values")
    return starts, ends, array.values


def _without_nulls(texts: TextColumn, starts: Ints, ends: Ints) -> ListColumn:
    """Leave null texts out of the lists, remembering each text's place."""
    if texts.valid is None:
        return ListColumn(texts, starts, ends, None)
    kept = texts.valid
    before = np.concatenate(([0], np.cumsum(kept))).astype(np.int64)
    places = np.zeros(kept.size, dtype=np.int64)
    sizes = np.maximum(ends - starts, 0)
    owner_start = np.repeat(starts, sizes)
    inside = np.arange(owner_start.size, dtype=np.int64) - np.repeat(np.cumsum(sizes) - sizes, sizes) + owner_start
    places[inside] = inside - owner_start
    compact = TextColumn(texts.data, texts.starts[kept], texts.ends[kept], None)
    return ListColumn(compact, before[starts], before[ends], places[kept])

"""Arrow data that come from outside: whatever holds a table or a column is brought to pyarrow, and checked before it is read.

Arrow's own functions, polars and the kernels trust offsets, views, dictionary indices and UTF-8; an array that breaks its own
rules would end the process. So each column is checked once where it comes in, and a fault is a `DataError` that names it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

import numpy as np
import pyarrow as pa

from fastscore.errors import ColumnTypeError, DataError, EncodingError, FastscoreError, UsageError

if TYPE_CHECKING:
    import polars as pl

__all__ = [
    "check_sizes",
    "first_line",
    "foreign_errors",
    "guarded",
    "is_text",
    "kind_of",
    "one_chunk",
    "refuse_doubled",
    "sound",
    "sound_layout",
    "table_of",
    "to_polars",
]

P = ParamSpec("P")
R = TypeVar("R")
#: What a Python or Arrow object may raise while it hands its data over.
_FAULTS = (pa.ArrowInvalid, pa.ArrowIndexError, pa.ArrowNotImplementedError, pa.ArrowTypeError, pa.ArrowKeyError)
#: The first words of the packages whose errors are never let out as they are.
_LIBRARIES = ("pyarrow", "polars", "pyo3_runtime")


def sound(column: pa.Array | pa.ChunkedArray, name: str) -> None:
    """Check an array in full, every buffer and value that anything could read; O(rows).

    Offsets, views, list bounds and dictionary indices are Arrow's own full validation. Text is looked at as bytes by it, and is
    valid UTF-8 if no byte is above 0x7F; only where one is, each text is decoded. For ASCII keys that takes a fifth of the time.

    Raises
    ------
    EncodingError
        A text is not valid UTF-8; names the row where the column is text.
    DataError
        Anything else is broken; `name` is what the message calls the column.
    """
    row = 0
    for chunk in column.chunks if isinstance(column, pa.ChunkedArray) else (column,):
        if not pa.types.is_string_view(chunk.type):
            sound_layout(chunk, name)
        if _has_text(chunk.type) and not _is_ascii(chunk):
            _validated(chunk, name, row)
        row += len(chunk)


def sound_layout(column: pa.Array | pa.ChunkedArray, name: str) -> None:
    """As `sound`, but texts may be invalid UTF-8: enough for what moves texts and does not decode them. Raises DataError."""
    for chunk in column.chunks if isinstance(column, pa.ChunkedArray) else (column,):
        kind = _without_text(chunk.type)
        with foreign_errors(name):
            # Sizes of buffers are checked first; a view of the same buffers reads none of them.
            chunk.validate()
            seen = chunk if kind is chunk.type else chunk.view(kind)
        _validated(seen, name, 0)


def refuse_doubled(names: Iterable[str], side: str) -> None:
    """Raise UsageError where a column's name stands twice in a table."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise UsageError(f"{side}: the column name {name!r} stands twice; rename one of them")
        seen.add(name)


def check_sizes(table: pa.Table | pa.RecordBatch, side: str) -> None:
    """Hold every buffer's size against its column's length, and the columns' lengths against the table's; no row is read.

    Raises DataError, which names the column.
    """
    for name, column in zip(table.schema.names, table.columns, strict=True):
        with foreign_errors(f"{side}: column {name!r}: the Arrow array is broken"):
            column.validate()
    with foreign_errors(side):
        table.validate()


def table_of(source: Any, side: str) -> pa.Table | None:
    """A pyarrow table of whatever holds one, its columns' names each there once; None where the object holds none.

    Taken are pyarrow tables and record batches, polars frames (a LazyFrame is collected), and objects with
    ``__arrow_c_stream__``, ``__arrow_c_array__`` (of a struct) or ``__dataframe__``, the interchange of data frames.

    Raises
    ------
    ColumnTypeError
        The object says that it holds a table, and hands over none.
    DataError
        A LazyFrame cannot be collected; a buffer is shorter than its array says.
    UsageError
        Two columns have one name.
    """
    table = source
    if isinstance(source, pa.RecordBatch):
        table = pa.Table.from_batches([source])
    elif not isinstance(source, pa.Table):
        if _is_lazy(source):
            with foreign_errors(f"{side}: the LazyFrame cannot be collected"):
                source = source.collect()
        if isinstance(source, type) or not any(
            hasattr(source, way) for way in ("__arrow_c_stream__", "__arrow_c_array__", "__dataframe__")
        ):
            return None
        table = _handed_over(source, side)
    refuse_doubled(table.column_names, side)
    check_sizes(table, side)
    return table


def one_chunk(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    """A column as one array; a single chunk is handed on as it is, which Arrow's own way would copy."""
    if not isinstance(column, pa.ChunkedArray):
        return column
    if column.num_chunks == 1:
        return column.chunk(0)
    return pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)


def to_polars(column: pa.Array | pa.ChunkedArray, name: str) -> pl.Series:
    """A sound Arrow column as a polars Series. Raises ColumnTypeError where polars has no such type."""
    import polars as pl

    try:
        return pl.Series(name, pl.from_arrow(column))
    except (Exception, pl.exceptions.PanicException):
        raise ColumnTypeError(
            f"{name}: a column of this type cannot be compared or grouped, got {kind_of(column.type)}"
        ) from None


def is_text(kind: pa.DataType) -> bool:
    """Whether the type is one of Arrow's layouts of text."""
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def kind_of(kind: Any) -> str:
    """What a message calls a type: one line of bounded length."""
    text = " ".join(str(kind).split())
    return text if len(text) <= 160 else f"{text[:157]}..."


def first_line(error: BaseException) -> str:
    """The first line of a library's message, or the error's name where it has none."""
    return next(iter(str(error).strip().splitlines()), "")[:300] or type(error).__name__


@contextmanager
def foreign_errors(what: str) -> Iterator[None]:
    """Turn the errors of Arrow and polars, polars' panics too, into a DataError that begins with `what`."""
    try:
        yield
    except BaseException as error:
        if not _is_foreign(error):
            raise
        raise DataError(f"{what}: {first_line(error)}") from None


def guarded(function: Callable[P, R]) -> Callable[P, R]:
    """A public function from which no error of Arrow or polars escapes as it is: the last net, below the checks by name."""

    @functools.wraps(function)
    def call(*args: P.args, **options: P.kwargs) -> R:
        try:
            return function(*args, **options)
        except BaseException as error:
            if not _is_foreign(error):
                raise
            raise DataError(f"{function.__name__}: the data cannot be worked on: {first_line(error)}") from error

    return call


def _is_foreign(error: BaseException) -> bool:
    if isinstance(error, (FastscoreError, MemoryError, KeyboardInterrupt)):
        return False
    return any(kind.__module__.partition(".")[0] in _LIBRARIES for kind in type(error).__mro__)


def _is_lazy(source: Any) -> bool:
    polars = type(source).__module__.partition(".")[0] == "polars"
    return polars and hasattr(source, "collect") and hasattr(source, "collect_schema")


def _handed_over(source: Any, side: str) -> pa.Table:
    try:
        if hasattr(source, "__arrow_c_stream__"):
            return pa.table(source)
        if hasattr(source, "__arrow_c_array__"):
            return pa.Table.from_batches([pa.record_batch(source)])
        from pyarrow.interchange import from_dataframe

        return from_dataframe(source)
    except (FastscoreError, MemoryError):
        raise
    except BaseException as error:
        if not isinstance(error, Exception) and not _is_foreign(error):
            raise
        raise ColumnTypeError(
            f"{side}: {type(source).__name__} hands over no Arrow table with a column for each name: {first_line(error)}"
        ) from None


def _validated(array: pa.Array, name: str, row: int) -> None:
    try:
        array.validate(full=True)
    except _FAULTS as error:
        said = first_line(error)
        before, found, place = said.partition("Invalid UTF8 sequence at string index ")
        if found and not before and place.isdigit():
            row += int(place)
            raise EncodingError(f"{name}: row {row} is not valid UTF-8; decode or repair that text first", name, row) from None
        if found:
            raise EncodingError(f"{name}: a text is not valid UTF-8 ({said}); decode or repair it first", name) from None
        raise DataError(f"{name}: the Arrow array is broken: {said}") from None


def _without_text(kind: pa.DataType) -> pa.DataType:
    """The type of the same buffers in which text is mere bytes; the very same object where there is no text to see so."""
    types = pa.types
    if types.is_string(kind):
        return pa.binary()
    if types.is_large_string(kind):
        return pa.large_binary()
    if types.is_string_view(kind):
        return pa.binary_view()
    if not (types.is_list(kind) or types.is_large_list(kind)):
        return kind
    inner = _without_text(kind.value_type)
    if inner is kind.value_type or inner == kind.value_type:
        return kind
    field = kind.value_field.with_type(inner)
    return pa.list_(field) if types.is_list(kind) else pa.large_list(field)


def _has_text(kind: pa.DataType) -> bool:
    """Whether `_without_text` has kept UTF-8 from being looked at."""
    types = pa.types
    if types.is_list(kind) or types.is_large_list(kind):
        return _has_text(kind.value_type)
    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind))


def _is_ascii(array: pa.Array) -> bool:
    """Whether no byte of a text array is above 0x7F; False also where that is not quickly told, as of views."""
    while isinstance(array, (pa.ListArray, pa.LargeListArray)):
        array = array.values
    if pa.types.is_string_view(array.type):
        return False
    _, offsets, data = array.buffers()
    if not len(array) or data is None or not data.size:
        return True
    wide = pa.types.is_large_string(array.type)
    bounds = np.frombuffer(offsets, dtype=np.int64 if wide else np.int32)
    first, last = int(bounds[array.offset]), int(bounds[array.offset + len(array)])
    return bool(np.frombuffer(data, dtype=np.int8)[first:last].min(initial=0) >= 0)

"""The columnar string operation: a text column in, its normal form out, row for row, for a recipe.

`prepared` runs the steps that no kernel has (Unicode normalisation by polars; articles before a splitting into characters) and
hands on a text column and the tables for the rest.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa

from fastscore.arguments import text_list
from fastscore.arrow import first_line, guarded
from fastscore.errors import ColumnTypeError, EncodingError
from fastscore.kernels import columns as kernels
from fastscore.recipes import Recipe, find_recipe
from fastscore.rows import text_array
from fastscore.text.columns import TextColumn, text_column
from fastscore.text.tables import NormalForm, normal_form

__all__ = ["arrow_text", "changes_texts", "normalize", "normalized", "not_utf8", "prepared"]


@guarded
def normalize(column: pa.Array | pa.ChunkedArray | Sequence[str | None], recipe: str | Recipe) -> pa.Array | pa.ChunkedArray:
    """Return the normal form of every text of an Arrow column, nulls kept: words joined by one space.

    Parameters
    ----------
    column
        Text in any Arrow layout, `n` rows; a ChunkedArray gives a ChunkedArray. A column with ``__arrow_c_stream__`` or
        ``__arrow_c_array__`` (a polars or pandas Series) and a list or numpy array of texts are taken too.
    recipe
        A name or a `Recipe`; its ``answer`` step is not run.

    Returns
    -------
    pyarrow.Array
        large_string, `n` rows.

    Raises
    ------
    ColumnTypeError
        The column holds no text.
    EncodingError
        A text is not valid UTF-8; names the row.
    DataError
        The column's Arrow array is broken.
    """
    found = find_recipe(recipe)
    given = column if isinstance(column, (pa.Array, pa.ChunkedArray)) else _column_of(column)
    if not isinstance(given, pa.ChunkedArray):
        return arrow_text(normalized(text_column(given), found, "column"))
    chunks, row = [], 0
    for chunk in given.chunks:
        try:
            chunks.append(arrow_text(normalized(text_column(chunk), found, "column")))
        except EncodingError as error:
            raise not_utf8("column", row + (error.row or 0)) from None
        row += len(chunk)
    return pa.chunked_array(chunks, type=pa.large_string())


def _column_of(source: Any) -> pa.Array | pa.ChunkedArray:
    """The Arrow column that an object holds, or that its texts make."""
    if isinstance(source, (type, pa.Table, pa.RecordBatch)):
        raise ColumnTypeError(f"column: a column of text is allowed, got {type(source).__name__}; name one of its columns")
    for way, make in (("__arrow_c_stream__", pa.chunked_array), ("__arrow_c_array__", pa.array)):
        if hasattr(source, way):
            try:
                given = make(source)
            except (pa.ArrowException, TypeError, ValueError, AttributeError) as error:
                raise ColumnTypeError(
                    f"column: {type(source).__name__} hands over no Arrow column of text: {first_line(error)}"
                ) from None
            return given.combine_chunks() if isinstance(given, pa.ChunkedArray) and given.num_chunks == 1 else given
    if isinstance(source, (str, bytes, bytearray, Mapping)) or not isinstance(source, Iterable):
        raise ColumnTypeError(f"column: an Arrow column or a list of texts is allowed, got {type(source).__name__}")
    return text_array(text_list(source, "column"), "column")


def normalized(column: TextColumn, recipe: Recipe, name: str) -> TextColumn:
    """The normal form of a text column, as a text column; what lies under nulls is not looked at."""
    if column.valid is not None:
        column = column._replace(ends=np.where(column.valid, column.ends, column.starts))
    column, form = prepared(column, recipe, name)
    sizes = column.ends - column.starts
    longest = int(sizes.max()) if sizes.size else 0
    growth = 6 if recipe.words != "whitespace" else 3
    clean = np.empty(longest * growth + 160, dtype=np.uint8)
    out = np.empty(int(sizes.sum()) * growth + 64, dtype=np.uint8)
    offsets = np.zeros(sizes.size + 1, dtype=np.int64)
    words = clean.size // 2 + 2
    scratch = (
        *(np.empty(2 * words, dtype=np.uint64), np.empty(2, dtype=np.int64), np.zeros(2, dtype=np.int64)),
        *(np.empty(clean.size // 64 + 1, dtype=np.uint64), np.empty(clean.size // 64 + 1, dtype=np.int64)),
        *(np.empty(clean.size, dtype=np.int64), np.empty(4, dtype=np.int64)),
    )
    bad = kernels.normalize_rows(column.data, column.starts, column.ends, *form, clean, *scratch, out, offsets)
    if bad >= 0:
        raise not_utf8(name, bad)
    return TextColumn(out[: offsets[-1]], offsets[:-1], offsets[1:], column.valid)


def prepared(column: TextColumn, recipe: Recipe, name: str) -> tuple[TextColumn, NormalForm]:
    """Run the steps that come before the kernels' and return the column and the tables for what is left."""
    if recipe.unicode != "none":
        column = _unicode_normalized(column, recipe.unicode, name)
        recipe = dataclasses.replace(recipe, unicode="none")
    if recipe.words != "whitespace" and recipe.articles != "none":
        column = normalized(column, dataclasses.replace(recipe, words="whitespace"), name)
        recipe = Recipe(name=recipe.name, words=recipe.words)
    return column, normal_form(recipe)


def changes_texts(recipe: Recipe) -> bool:
    """Whether `prepared` may hand on other texts than it was given."""
    return recipe.unicode != "none" or (recipe.words != "whitespace" and recipe.articles != "none")


def arrow_text(column: TextColumn) -> pa.Array:
    """A text column as an Arrow large_string array; texts that do not lie one behind the other are copied together."""
    count = column.starts.size
    contiguous = count == 0 or bool(np.array_equal(column.starts[1:], column.ends[:-1]))
    if contiguous:
        offsets = np.append(column.starts, column.ends[-1:] if count else 0).astype(np.int64)
        data = column.data
    else:
        sizes = column.ends - column.starts
        offsets = np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)
        inside = np.arange(int(offsets[-1])) - np.repeat(offsets[:-1], sizes) + np.repeat(column.starts, sizes)
        data = column.data[inside]
    mask = None if column.valid is None else pa.array(column.valid).buffers()[1]
    return pa.Array.from_buffers(
        pa.large_string(), count, [mask, pa.py_buffer(offsets), pa.py_buffer(np.ascontiguousarray(data))]
    )


def not_utf8(name: str, row: int) -> EncodingError:
    """The error for a text that is not valid UTF-8."""
    return EncodingError(f"{name}: row {row} is not valid UTF-8; decode or repair that text first", name, row)


def _unicode_normalized(column: TextColumn, form: str, name: str) -> TextColumn:
    array = arrow_text(column)
    try:
        array.validate(full=True)
    except pa.ArrowInvalid:
        rows = (i for i in range(len(array)) if not _decodes(column, i))
        raise not_utf8(name, next(rows, 0)) from None
    series = pl.Series("text", pl.from_arrow(array)).str.normalize("NFC" if form == "nfc" else "NFKC")
    return text_column(series.to_arrow(), name)


def _decodes(column: TextColumn, row: int) -> bool:
    try:
        bytes(column.data[column.starts[row] : column.ends[row]]).decode()
    except UnicodeDecodeError:
        return False
    return True

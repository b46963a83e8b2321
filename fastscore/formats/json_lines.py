"""JSON Lines: bytes in, a polars frame out. Lines are cut at line feeds alone; what is not one table is an error with its line.

polars reads the file; msgspec then goes over the columns of text and of lists of text once more, because polars would turn a
list or an object that stands among texts into its JSON text, which would be scored.
"""

from __future__ import annotations

import io
import re
from typing import Any

import msgspec
import polars as pl

from fastscore.errors import DataError, FormatError
from fastscore.formats.json_text import not_utf8, repair_surrogates

__all__ = ["bad_line", "read_json_lines"]

_BLOCK = 1 << 22
_SCALAR = str | int | float | bool | None
#: Columns in which a number among texts is an error; in others it is read as its text.
_STRICT = ("prediction", "references")


def read_json_lines(data: bytes, name: str, first: int = 1) -> tuple[pl.DataFrame, int]:
    """Read JSON Lines; the frame, and how many lone surrogates became U+FFFD. `first` is the number of the data's first line.

    Raises
    ------
    FormatError
        A line is no JSON object, or a field is of another type than on other lines; names the line.
    EncodingError
        The file is not UTF-8; names the line.
    """
    data, repaired = repair_surrogates(data)
    try:
        frame = pl.read_ndjson(io.BytesIO(data), infer_schema_length=None)
    except (pl.exceptions.PolarsError, RuntimeError) as error:
        raise bad_line(name, data, error, first) from None
    _refuse_mixed(frame, data, name, first)
    return frame.with_columns(_plain(frame[c]) for c, kind in frame.schema.items() if kind == pl.Int128), repaired


def _plain(series: pl.Series) -> pl.Series:
    """Integers beyond 64 bits: unsigned where they fit, else as text."""
    least, most = series.min(), series.max()
    fits = least is not None and most is not None and int(str(least)) >= 0 and int(str(most)) < 2**64
    return series.cast(pl.UInt64 if fits else pl.String)


def _refuse_mixed(frame: pl.DataFrame, data: bytes, name: str, first: int) -> None:
    """Raise for the first line whose value in a column of text, or of lists of text, is of another kind."""
    fields: dict[str, Any] = {}
    for column, kind in frame.schema.items():
        scalar: Any = str | None if column in _STRICT else _SCALAR
        if kind == pl.String:
            fields[column] = scalar
        elif kind == pl.List(pl.String):
            fields[column] = list[scalar] | None
    if not fields:
        return
    names = {f"field_{i}": column for i, column in enumerate(fields)}
    layout = msgspec.defstruct("Row", [(n, fields[c], None) for n, c in names.items()], rename=names)
    decoder: msgspec.json.Decoder[Any] = msgspec.json.Decoder(layout)
    start = 0
    while start < len(data):
        end = data.find(b"\n", min(start + _BLOCK, len(data))) + 1 or len(data)
        try:
            decoder.decode_lines(data[start:end])
        except msgspec.DecodeError:
            raise _mixed_line(data[start:end], first + data.count(b"\n", 0, start), decoder, name) from None
        start = end


def _mixed_line(data: bytes, first: int, decoder: msgspec.json.Decoder[Any], name: str) -> DataError:
    for number, line in enumerate(data.split(b"\n"), first):
        try:
            if line.strip():
                decoder.decode(line)
        except msgspec.DecodeError as error:
            text, _, path = str(error).partition(" - at `$")
            kinds = re.sub("^Expected `(.*)`, got `(.*)`$", r"\2 here, \1 on other lines", text)
            return FormatError(f"{name}: line {number}: {path.strip('`.')} is {kinds}; write it alike on every line")
    return FormatError(f"{name}: lines {first} and on do not make a table")


def bad_line(name: str, data: bytes, error: Exception, first: int = 1) -> DataError:
    """The error for the first line that is no JSON object, or for lines that make no table; `first` is the first's number."""
    for number, line in enumerate(data.split(b"\n"), first):
        if not line.strip():
            continue
        try:
            value = msgspec.json.decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as wrong:
            return not_utf8(line, name, number) or FormatError(f"{name}: line {number} is not JSON: {wrong}")
        if not isinstance(value, dict):
            return FormatError(f"{name}: line {number} must be a JSON object, got {type(value).__name__}")
    return FormatError(f"{name}: the lines do not make a table: {str(error).splitlines()[0]}")

"""JSON Lines: bytes in, a polars frame out. Lines are cut at line feeds alone; what is not one table is an error with its line.

polars reads the file; msgspec then goes over the columns of text and of lists of text once more, because polars would turn a
list or an object that stands among texts into its JSON text, which would be scored.
"""

from __future__ import annotations

import io
import re
from collections.abc import Mapping
from typing import Any

import msgspec
import polars as pl

from fastscore.errors import DataError, FormatError
from fastscore.formats.json_text import not_utf8, repair_surrogates
from fastscore.formats.json_types import Types, names_within, plain_types, refuse_nul, types_of

__all__ = ["bad_line", "read_json_lines", "types_of_lines", "wide_bounds"]

_BLOCK = 1 << 22
_SCALAR = str | int | float | bool | None
#: Columns in which a number among texts is an error; in others it is read as its text.
_STRICT = ("prediction", "references")


def read_json_lines(
    data: bytes, name: str, first: int = 1, types: Types | None = None, plain: Types | None = None
) -> tuple[pl.DataFrame, int]:
    """Read JSON Lines; the frame, and how many lone surrogates became U+FFFD. `first` is the number of the data's first line.

    `types` and `plain` (what integers beyond 64 bits become) are those of the whole file, where the data are a piece of it;
    fields that are not in `types` are left out. None: those of the data, all fields.

    Raises
    ------
    FormatError
        A line is no JSON object, or a field is of another type than on other lines; names the line.
    EncodingError
        The file is not UTF-8; names the line.
    """
    data, repaired = repair_surrogates(data)
    try:
        types = types_of(data) if types is None else types
        refuse_nul(names_within(types), name)
        frame = _read(data, types)
    except msgspec.DecodeError:
        raise _first_fault(types or {}, data, name, first) from None
    except (pl.exceptions.PolarsError, RuntimeError) as error:
        raise bad_line(name, data, error, first) from None
    fault = _mixed(types, data, name, first)
    if fault is not None:
        raise fault
    return frame.cast(dict(plain_types(types, *wide_bounds(frame)) if plain is None else plain)), repaired  # type: ignore[arg-type]


def types_of_lines(data: bytes, name: str, first: int) -> Types:
    """The types of a piece of a file. Raises as `read_json_lines`."""
    data = repair_surrogates(data)[0]
    try:
        return types_of(data)
    except (pl.exceptions.PolarsError, RuntimeError) as error:
        raise bad_line(name, data, error, first) from None


def wide_bounds(frame: pl.DataFrame) -> tuple[dict[str, int], dict[str, int]]:
    """The least and the greatest value of each column of integers beyond 64 bits that has one."""
    wide = [name for name, kind in frame.schema.items() if kind == pl.Int128 and frame[name].null_count() < frame.height]
    bounds = [{n: int(str(getattr(frame[n], what)())) for n in wide} for what in ("min", "max")]
    return bounds[0], bounds[1]


def _read(data: bytes, types: Mapping[str, pl.DataType]) -> pl.DataFrame:
    """The fields of `types`; a field of lists of text may be a text on some lines, which is a list of one."""
    try:
        return pl.read_ndjson(io.BytesIO(data), schema=types)
    except pl.exceptions.SchemaError:
        if types.get("references") != pl.List(pl.String):
            raise
    rest = {name: kind for name, kind in types.items() if name != "references"}
    layout = msgspec.defstruct("Row", [("references", str | list[str | None] | None, None)])
    rows: list[Any] = msgspec.json.Decoder(layout).decode_lines(data)
    lists = [[row.references] if isinstance(row.references, str) else row.references for row in rows]
    series = pl.Series("references", lists, dtype=pl.List(pl.String))
    return (pl.read_ndjson(io.BytesIO(data), schema=rest) if rest else pl.DataFrame()).with_columns(series).select(list(types))


def _mixed(types: Mapping[str, pl.DataType], data: bytes, name: str, first: int) -> DataError | None:
    """The error for the first line whose value in a column of text, or of lists of text, is of another kind, if there is one.

    References may be lists of text on some lines and a single text on others.
    """
    fields: dict[str, Any] = {}
    for column, kind in types.items():
        scalar: Any = str | None if column in _STRICT else _SCALAR
        if kind == pl.String:
            fields[column] = scalar
        elif kind == pl.List(pl.String):
            fields[column] = str | list[scalar] | None if column == "references" else list[scalar] | None
    if not fields:
        return None
    names = {f"field_{i}": column for i, column in enumerate(fields)}
    layout = msgspec.defstruct("Row", [(n, fields[c], None) for n, c in names.items()], rename=names)
    decoder: msgspec.json.Decoder[Any] = msgspec.json.Decoder(layout)
    start = 0
    while start < len(data):
        end = data.find(b"\n", min(start + _BLOCK, len(data))) + 1 or len(data)
        try:
            decoder.decode_lines(data[start:end])
        except msgspec.DecodeError:
            return _mixed_line(data[start:end], first + data.count(b"\n", 0, start), decoder, name)
        start = end
    return None


def _first_fault(types: Mapping[str, pl.DataType], data: bytes, name: str, first: int) -> DataError:
    return _mixed(types, data, name, first) or FormatError(f"{name}: lines {first} and on do not make a table")


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

"""The types of JSON Lines: told from each piece of a file, then from all pieces together, as if the file had been one piece.

Bytes come in, polars types by field go out. What two pieces have in common is asked of polars too, by a small text with one
line for each piece, so that a file cut anywhere has the types that it has as a whole.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec
import polars as pl

from fastscore.errors import FormatError

__all__ = ["Types", "merged_types", "names_within", "plain_types", "refuse_nul", "types_of"]

Types = dict[str, pl.DataType]
#: The field that may be text on one line and a list of texts on another: a single reference is a list of one.
_EITHER = "references"
_VALUES: tuple[tuple[Any, Any], ...] = (
    (pl.Null, None),
    (pl.Boolean, True),
    (pl.Int64, 1),
    (pl.Float64, 1.5),
    (pl.String, "a"),
)


def refuse_nul(names: Iterable[str], name: str) -> None:
    """Raise FormatError where a column's name holds a NUL character, which Arrow's names cannot."""
    for column in names:
        if "\0" in column:
            raise FormatError(f"{name}: the column name {column!r} holds a NUL character; give it another name")


def names_within(types: Mapping[str, pl.DataType]) -> list[str]:
    """The names of all fields, those of objects within them too."""
    names = list(types)
    for kind in types.values():
        inner: Any = kind
        while isinstance(inner, pl.List):
            inner = inner.inner
        if isinstance(inner, pl.Struct):
            names += names_within(dict(inner))  # type: ignore[arg-type]
    return names


def types_of(data: bytes) -> Types:
    """The type of each field of a piece of whole lines, in the order in which the fields appear.

    Raises polars' error where a line is no object or the lines make no table.
    """
    types = dict(pl.scan_ndjson(io.BytesIO(data), infer_schema_length=None).collect_schema())
    if types.get(_EITHER) == pl.String and _has_lists(data):
        types[_EITHER] = pl.List(pl.String)
    return types


def merged_types(pieces: Iterable[Mapping[str, pl.DataType]]) -> Types:
    """The types of all pieces of a file together. Raises polars' error where a field has types that do not go together."""
    given = list(dict.fromkeys(tuple(piece.items()) for piece in pieces))
    if len(given) == 1:
        return dict(given[0])
    lines: list[bytes] = []
    lists = any(name == _EITHER and isinstance(kind, pl.List) for piece in given for name, kind in piece)
    for piece in given:
        row = {name: _value(kind) for name, kind in piece}
        if lists and isinstance(row.get(_EITHER), str):
            row[_EITHER] = [row[_EITHER]]
        lines.append(_json(row))
    return types_of(b"\n".join(lines) + b"\n")


def plain_types(types: Mapping[str, pl.DataType], least: Mapping[str, int], most: Mapping[str, int]) -> Types:
    """What fields with integers beyond 64 bits become, which Arrow has not: unsigned where all fit (`least` and `most` are the
    least and the greatest value by field), else text, as within lists and objects. Other fields are left out.
    """
    plain: Types = {}
    for name, kind in types.items():
        if kind == pl.Int128 and name in least and least[name] >= 0 and most[name] < 2**64:
            plain[name] = pl.UInt64()
        elif (text := _as_text(kind)) != kind:
            plain[name] = text
    return plain


def _as_text(kind: pl.DataType) -> pl.DataType:
    if isinstance(kind, pl.List):
        return pl.List(_as_text(kind.inner))  # type: ignore[arg-type]
    if isinstance(kind, pl.Struct):
        return pl.Struct({field.name: _as_text(field.dtype) for field in kind.fields})  # type: ignore[arg-type]
    return pl.String() if kind == pl.Int128 else kind


def _has_lists(data: bytes) -> bool:
    layout = msgspec.defstruct("Row", [("value", str | int | float | bool | None, None)], rename={"value": _EITHER})
    try:
        msgspec.json.Decoder(layout).decode_lines(data)
    except msgspec.ValidationError as error:
        return "got `array`" in str(error)
    except msgspec.DecodeError:
        pass
    return False


def _value(kind: pl.DataType) -> Any:
    """A value from which polars tells the type."""
    if isinstance(kind, pl.List):
        return [_value(kind.inner)]  # type: ignore[arg-type]
    if isinstance(kind, pl.Struct):
        return {field.name: _value(field.dtype) for field in kind.fields}  # type: ignore[arg-type]
    return next((value for known, value in _VALUES if kind == known), 2**70)


def _json(value: Any) -> bytes:
    import json

    return json.dumps(value).encode()

"""JSON Lines of a known shape: bytes in, typed records out, with the number of the line in every error."""

from __future__ import annotations

from typing import TypeVar

import msgspec

from fastscore.errors import FormatError
from fastscore.formats.json_text import repair_surrogates

__all__ = ["decode_lines"]

T = TypeVar("T")


def decode_lines(data: bytes, kind: type[T], name: str) -> tuple[list[T], int]:
    """Decode one record a line, empty lines left out; the records, and how many lone surrogates became U+FFFD.

    Raises
    ------
    FormatError
        A line is no JSON or of another shape; names the file, the line and the field.
    """
    data, repaired = repair_surrogates(data)
    decoder = msgspec.json.Decoder(kind)
    records: list[T] = []
    for number, line in enumerate(data.split(b"\n"), 1):
        if not line.strip():
            continue
        try:
            records.append(decoder.decode(line))
        except msgspec.ValidationError as error:
            text, _, path = str(error).partition(" - at `$")
            place = f" (at {path.rstrip('`').lstrip('.')})" if path.strip("`") else ""
            raise FormatError(f"{name}: line {number}: {text}{place}") from None
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise FormatError(f"{name}: line {number} is not JSON: {error}") from None
    return records, repaired

"""JSON files decoded into typed structures: bytes read once, lone surrogates repaired and counted, errors in one line.

A file comes in, a decoded value and the number of repairs go out; every way in which a file can be no JSON, or JSON of another
shape, becomes a `FormatError` that names the file and the place.
"""

from __future__ import annotations

import gzip
import re
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from fastscore.errors import FormatError, UsageError

__all__ = ["decode_json", "read_bytes", "repair_surrogates"]

T = TypeVar("T")
_ESCAPES = re.compile(rb"\\(?:u([0-9a-fA-F]{4})|.)", re.DOTALL)
_REPLACEMENT = b"\\ufffd"


def read_bytes(path: str | Path) -> bytes:
    """The bytes of a file (.gz is unpacked), without a byte order mark.

    Raises
    ------
    UsageError
        There is no such file, or it cannot be opened.
    FormatError
        The file is empty, or a broken .gz.
    """
    file = Path(path)
    try:
        if file.is_dir():
            raise UsageError(f"{file}: this is a folder; name a file")
        data = file.read_bytes()
        if data[:2] == b"\x1f\x8b":
            data = gzip.decompress(data)
    except FileNotFoundError:
        raise UsageError(f"{file}: there is no such file") from None
    except (gzip.BadGzipFile, EOFError) as error:
        raise FormatError(f"{file}: broken .gz ({error})") from None
    except OSError as error:
        raise UsageError(f"{file}: cannot be read ({error.strerror or error})") from None
    data = data.removeprefix(b"\xef\xbb\xbf")
    if not data.strip():
        raise FormatError(f"{file}: the file is empty")
    return data


def decode_json(data: bytes, kind: type[T], name: str) -> tuple[T, int]:
    """Decode JSON of a known shape; the value, and how many lone surrogates became U+FFFD.

    Raises
    ------
    FormatError
        Names the file and, where the shape is wrong, the field.
    """
    data, repaired = repair_surrogates(data)
    try:
        return msgspec.json.decode(data, type=kind), repaired
    except msgspec.ValidationError as error:
        raise FormatError(f"{name}: {_place(str(error))}") from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise FormatError(f"{name}: not JSON, or cut short: {error}") from None


def repair_surrogates(data: bytes) -> tuple[bytes, int]:
    """Replace escapes of lone surrogates, such as ``\\ud83d`` without its other half, by U+FFFD; and how many there were."""
    if not re.search(rb"\\u[dD][89a-fA-F]", data):
        return data, 0
    out: list[bytes] = []
    repaired, at, pending = 0, 0, None
    for found in _ESCAPES.finditer(data):
        code = int(found[1], 16) if found[1] else -1
        if pending is not None:
            if 0xDC00 <= code < 0xE000 and found.start() == pending[1]:
                pending = None
                continue
            out += [data[at : pending[0]], _REPLACEMENT]
            at, pending, repaired = pending[1], None, repaired + 1
        if 0xD800 <= code < 0xDC00:
            pending = found.span()
        elif 0xDC00 <= code < 0xE000:
            out += [data[at : found.start()], _REPLACEMENT]
            at, repaired = found.end(), repaired + 1
    if pending is not None:
        out += [data[at : pending[0]], _REPLACEMENT]
        at, repaired = pending[1], repaired + 1
    return b"".join([*out, data[at:]]), repaired


def _place(message: str) -> str:
    """msgspec's message with its path in words: "... at field data[3].answers"."""
    text, _, path = message.partition(" - at `$")
    return f"{text} (at {path.rstrip('`').lstrip('.') or 'the top'})" if path else text


def counted(repaired: int) -> tuple[tuple[str, ...], dict[str, Any]]:
    """The note and the count of repaired surrogates."""
    if not repaired:
        return (), {}
    return (f"{repaired} lone surrogates in the JSON were replaced by U+FFFD",), {"lone_surrogates": repaired}

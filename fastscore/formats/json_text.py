"""JSON files decoded into typed structures: bytes read once, lone surrogates repaired and counted, errors in one line.

A file comes in, a decoded value and the number of repairs go out; every way in which a file can be no JSON, or JSON of another
shape, becomes a `FormatError` that names the file and the place.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from fastscore.errors import EncodingError, FormatError
from fastscore.formats.files import read_whole

__all__ = ["counted", "decode_entries", "decode_json", "not_utf8", "read_bytes", "repair_surrogates", "twice_note"]

T = TypeVar("T")
_ESCAPES = re.compile(rb"\\(?:u([0-9a-fA-F]{4})|.)", re.DOTALL)
_REPLACEMENT = b"\\ufffd"


def read_bytes(path: str | Path) -> bytes:
    """The bytes of a file (gzip and zstd are unpacked, told from the content), without a byte order mark.

    Raises
    ------
    UsageError
        There is no such file, or it cannot be read.
    FormatError
        The file is empty, a broken .gz or .zst, or larger than memory takes (`files.read_whole`).
    """
    data = read_whole(path).removeprefix(b"\xef\xbb\xbf")
    if not data.strip():
        raise FormatError(f"{path}: the file is empty")
    return data


def decode_json(data: bytes, kind: type[T], name: str, layout: str = "") -> tuple[T, int]:
    """Decode JSON of a known shape; the value, and how many lone surrogates became U+FFFD.

    Raises
    ------
    FormatError
        Names the file and, where the shape is wrong, the field, what its object has, and the `layout` that is expected.
    """
    data, repaired = repair_surrogates(data)
    try:
        return msgspec.json.decode(data, type=kind), repaired
    except msgspec.ValidationError as error:
        expected = f"; {layout}" if layout else ""
        raise FormatError(f"{name}: {_place(str(error), _fields_at(data, str(error)))}{expected}") from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise _no_json(data, name, error) from None


def decode_entries(data: bytes, kind: Any, name: str, what: str = "question") -> tuple[dict[str, T], int, int]:
    """Decode a JSON object of entries of one kind by key; of entries with one key the last wins, as in Python's parser.

    Returns the entries in the file's order, how many more there were (their key stands twice), and how many lone surrogates
    became U+FFFD.

    Raises
    ------
    FormatError
        Names the file and, where the shape is wrong, the entry and the field.
    """
    data, repaired = repair_surrogates(data)
    try:
        raw = msgspec.json.decode(data, type=dict[_Key, msgspec.Raw], dec_hook=_key)
    except msgspec.ValidationError as error:
        raise FormatError(f"{name}: {_place(str(error))}") from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise _no_json(data, name, error) from None
    decoder = msgspec.json.Decoder(kind)
    entries: dict[str, T] = {}
    for key, text in raw.items():
        try:
            entries[key.text] = decoder.decode(text)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            known = None if isinstance(error, msgspec.ValidationError) else not_utf8(data, name)
            raise known or FormatError(f"{name}: {what} {key.text!r}: {_place(str(error))}") from None
    return entries, len(raw) - len(entries), repaired


class _Key:
    """A key of a JSON object that equals no other, so that one that stands twice is seen."""

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text


def _key(_: type, text: Any) -> _Key:
    return _Key(text)


def not_utf8(data: bytes, name: str, first: int = 1) -> EncodingError | None:
    """The error for text that is not UTF-8, with the line, where `first` is the first's number; None where it is UTF-8."""
    try:
        data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + first
        return EncodingError(f"{name}: line {line} is not UTF-8: byte 0x{data[error.start]:02x}; save the file as UTF-8")
    return None


def _no_json(data: bytes, name: str, error: Exception) -> FormatError | EncodingError:
    return not_utf8(data, name) or FormatError(f"{name}: not JSON, or cut short: {error}")


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


def _place(message: str, fields: str = "") -> str:
    """msgspec's message with its path in words: "... (at data[3].answers)"."""
    text, _, path = message.partition(" - at `$")
    return f"{text} (at {path.rstrip('`').lstrip('.') or 'the top'}{fields})" if path else f"{text}{fields}"


def _fields_at(data: bytes, message: str) -> str:
    """Which fields the object has that lacks one: ", which has a, b"; nothing where that is not the fault or cannot be told."""
    text, _, path = message.partition(" - at `$")
    if "missing required field" not in text:
        return ""
    try:
        found = msgspec.json.decode(data)
        for field, index in re.findall(r"\.([^.\[\]]+)|\[(\d+)\]", path.rstrip("`")):
            found = found[field] if field else found[int(index)]
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, LookupError, TypeError):
        return ""
    return f", which has {', '.join(map(str, list(found)[:8]))}" if isinstance(found, dict) and found else ""


def counted(repaired: int) -> tuple[tuple[str, ...], dict[str, Any]]:
    """The note and the count of repaired surrogates."""
    if not repaired:
        return (), {}
    return (f"{repaired} lone surrogates in the JSON were replaced by U+FFFD",), {"lone_surrogates": repaired}


def twice_note(count: int, of: str) -> str:
    """What is said of predictions that stand twice."""
    stand = "1 prediction stands" if count == 1 else f"{count:,} predictions stand"
    return f"{stand} twice for {'its' if count == 1 else 'their'} {of}; the last one counts"

"""Which format a file has, told from its first bytes and, for JSON, from its field names; gzip and zstd are looked into."""

from __future__ import annotations

import re
import zlib
from pathlib import Path

from fastscore.errors import FormatError, UnknownNameError, UsageError, did_you_mean
from fastscore.formats.files import check_file
from fastscore.formats.shapes import LAYOUTS, shape_of_lines, shape_of_list, shape_of_object

__all__ = ["FORMATS", "format_of"]

FORMATS = ("coqa", "squad", *LAYOUTS, "parquet", "arrow", "jsonl", "csv")
_HEAD = 1 << 16
_ALIASES = {
    "germanquad": "squad",
    "xquad": "squad",
    "mlqa": "squad",
    "nq": "nq-open",
    "nq_open": "nq-open",
    "lm_eval": "lm-eval",
    "lm-evaluation-harness": "lm-eval",
    "json-lines": "jsonl",
    "ndjson": "jsonl",
    "ipc": "arrow",
    "feather": "arrow",
}


def format_of(path: str | Path, format: str | None = None) -> str:
    """The format of a file: the one named, or the one that its content shows.

    Raises
    ------
    UnknownNameError
        No format has that name.
    UsageError
        There is no such file, or it is a pipe, a device or a socket.
    FormatError
        The file is empty, or its content is of no known format.
    """
    if format is not None:
        name = _ALIASES.get(format.lower(), format.lower())
        if name not in FORMATS:
            raise UnknownNameError(f"format: no format is called {format!r}.{did_you_mean(format, [*FORMATS, *_ALIASES])}")
        return name
    file = Path(path)
    check_file(file)
    try:
        with file.open("rb") as stream:
            head = stream.read(_HEAD)
    except OSError as error:
        raise UsageError(f"{file}: cannot be read ({error.strerror or error})") from None
    return _of_head(_unpacked(head, file), file)


def _unpacked(head: bytes, file: Path) -> bytes:
    """The first bytes of what was packed, as far as they can be had from the first bytes of the file."""
    if head.startswith(b"\x1f\x8b"):
        try:
            return zlib.decompressobj(31).decompress(head, _HEAD)
        except zlib.error as error:
            raise FormatError(f"{file}: broken .gz ({error})") from None
    if head.startswith(b"\x28\xb5\x2f\xfd"):
        import pyarrow as pa

        try:
            with file.open("rb") as source, pa.CompressedInputStream(source, "zstd") as stream:
                return bytes(stream.read(_HEAD))
        except (pa.ArrowInvalid, OSError) as error:
            raise FormatError(f"{file}: broken .zst ({str(error).splitlines()[0]})") from None
    return head


def _of_head(head: bytes, file: Path) -> str:
    text = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    if not text:
        raise FormatError(f"{file}: the file is empty")
    if head.startswith(b"PAR1"):
        return "parquet"
    if head.startswith((b"ARROW1", b"\xff\xff\xff\xff")):
        return "arrow"
    name = file.name.lower().removesuffix(".gz").removesuffix(".zst")
    if name.endswith((".jsonl", ".ndjson")):
        return shape_of_lines(text) or "jsonl"
    if name.endswith(".csv"):
        return "csv"
    if text.startswith(b"["):
        return shape_of_list(text) or "coqa"
    if text.startswith(b"{"):
        return _of_object(text)
    if b"," in text.split(b"\n", 1)[0] and b"\0" not in text:
        return "csv"
    if b"\t" in text.split(b"\n", 1)[0] and b"\0" not in text:
        raise FormatError(f"{file}: the columns are cut by tabs; save the file as .csv with commas between them")
    raise FormatError(f"{file}: the content is of no known format; name it with --format ({', '.join(FORMATS)})")


def _of_object(text: bytes) -> str:
    """JSON Lines where a second object follows the first line, or the only line has a table's columns; else one object."""
    first, _, rest = text.partition(b"\n")
    one_line = first.rstrip().endswith(b"}") and not re.search(rb'"data"\s*:\s*\[\s*\{', first)
    shape = shape_of_lines(first)
    if one_line and (rest.lstrip().startswith(b"{") or (not rest.strip() and (_is_row(first) or shape))):
        return shape or "jsonl"
    if found := shape_of_object(text):
        return found
    if re.search(rb'"data"\s*:\s*\[', text):
        return "squad" if re.search(rb'"(paragraphs|qas)"\s*:', text) else "coqa"
    return "squad"


def _is_row(line: bytes) -> bool:
    return re.search(rb'"(prediction|references|question_id)"\s*:', line) is not None

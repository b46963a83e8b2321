"""Which format a file has, told from its first bytes and, for JSON, from its field names."""

from __future__ import annotations

import re
from pathlib import Path

from fastscore.errors import FormatError, UnknownNameError, UsageError, did_you_mean

__all__ = ["FORMATS", "format_of"]

FORMATS = ("coqa", "squad", "parquet", "arrow", "jsonl", "csv")
_HEAD = 1 << 16
_ALIASES = {
    "germanquad": "squad",
    "xquad": "squad",
    "mlqa": "squad",
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
        There is no such file.
    FormatError
        The file is empty, or its content is of no known format.
    """
    if format is not None:
        name = _ALIASES.get(format.lower(), format.lower())
        if name not in FORMATS:
            raise UnknownNameError(f"format: no format is called {format!r}.{did_you_mean(format, FORMATS)}")
        return name
    file = Path(path)
    if file.is_dir():
        raise UsageError(f"{file}: this is a folder; name a file")
    try:
        with file.open("rb") as stream:
            head = stream.read(_HEAD)
    except FileNotFoundError:
        raise UsageError(f"{file}: there is no such file") from None
    except OSError as error:
        raise UsageError(f"{file}: cannot be read ({error.strerror or error})") from None
    return _of_head(head, file)


def _of_head(head: bytes, file: Path) -> str:
    if not head.strip():
        raise FormatError(f"{file}: the file is empty")
    if head.startswith(b"PAR1"):
        return "parquet"
    if head.startswith((b"ARROW1", b"\xff\xff\xff\xff")):
        return "arrow"
    name = file.name.lower().removesuffix(".gz").removesuffix(".zst")
    if name.endswith((".jsonl", ".ndjson")):
        return "jsonl"
    if name.endswith(".csv"):
        return "csv"
    text = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    if text.startswith(b"["):
        return "coqa"
    if text.startswith(b"{"):
        return _of_object(text)
    if b"," in text.split(b"\n", 1)[0]:
        return "csv"
    raise FormatError(f"{file}: the content is of no known format; name it with --format ({', '.join(FORMATS)})")


def _of_object(text: bytes) -> str:
    first, newline, rest = text.partition(b"\n")
    if (
        newline
        and first.rstrip().endswith(b"}")
        and (rest.lstrip().startswith(b"{") or not rest.strip())
        and b'"data"' not in first[:40]
    ):
        return "jsonl" if re.search(rb'"(prediction|references|question_id)"', first) else "squad"
    if re.search(rb'"data"\s*:\s*\[', text):
        return "squad" if re.search(rb'"(paragraphs|qas)"\s*:', text) else "coqa"
    return "squad"

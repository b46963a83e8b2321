"""TREC's files: runs (``query Q0 document rank score tag``) and qrels (``query 0 document relevance``), plain or gzipped.

A path comes in; a table with a row a document goes out, in the file's order: query_id, doc_id and score or relevance. Read
as trec_eval reads: fields stand apart by blanks or tabs, lines that are blank or start with ``#`` are comments, the rank
column is not looked at, and a run's lines may go on after the tag.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from fastscore.errors import EncodingError, FormatError
from fastscore.formats.files import read_whole
from fastscore.kernels import lines as kernels

__all__ = ["line_of", "read_qrels", "read_run"]

_RUN_LAYOUT = "query Q0 document rank score tag"
_QRELS_LAYOUT = "query 0 document relevance"
_ANY_NUMBER = 2**62


def read_run(path: str | Path) -> pa.Table:
    """Read a run: columns query_id, doc_id (large_string) and score (float64), a row a line that holds fields.

    Raises
    ------
    FormatError
        A line has fewer than six fields, or a score that is no number or NaN; the message names file and line.
    EncodingError
        The file is not UTF-8; the message names the line.
    """
    data, begin, end, line = _split(Path(path), (0, 2, 4), 6, _ANY_NUMBER, _RUN_LAYOUT)

    def refuse(row: int, text: str) -> FormatError:
        return FormatError(f"{path}, line {line[row]}: the score must be a number, got {text!r} ({_RUN_LAYOUT})")

    scores = _numbers(data, begin[2], end[2], pa.float64(), _as_score, refuse)
    wrong = np.isnan(scores)
    if wrong.any():
        raise refuse(int(np.argmax(wrong)), "nan")
    return pa.table({"query_id": _texts(data, begin[0], end[0]), "doc_id": _texts(data, begin[1], end[1]), "score": scores})


def read_qrels(path: str | Path) -> pa.Table:
    """Read judgements: columns query_id, doc_id (large_string) and relevance (int64), a row a line that holds fields.

    Raises
    ------
    FormatError
        A line has other than four fields, or a relevance that is no whole number; the message names file and line.
    EncodingError
        The file is not UTF-8; the message names the line.
    """
    data, begin, end, line = _split(Path(path), (0, 2, 3), 4, 4, _QRELS_LAYOUT)

    def refuse(row: int, text: str) -> FormatError:
        return FormatError(f"{path}, line {line[row]}: relevance must be a whole number, got {text!r} ({_QRELS_LAYOUT})")

    grades = _numbers(data, begin[2], end[2], pa.int64(), _as_grade, refuse)
    return pa.table({"query_id": _texts(data, begin[0], end[0]), "doc_id": _texts(data, begin[1], end[1]), "relevance": grades})


def line_of(path: str | Path, row: int) -> int:
    """The number, from 1, of the line that gave that row of a file which `read_run` or `read_qrels` could read."""
    *_, line = _split(Path(path), (0, 1, 2), 0, _ANY_NUMBER, "")
    return int(line[row])


def _split(path: Path, wanted: tuple[int, int, int], least: int, most: int, layout: str) -> tuple[Any, Any, Any, Any]:
    """The file's bytes, and for its lines with fields the beginnings and ends of the three wanted ones, and their numbers."""
    raw = _read(path)
    data = np.frombuffer(raw, dtype=np.uint8)
    count = np.zeros(3, dtype=np.int64)
    kernels.count_lines(data, count)
    rows = int(count[0])
    begin, end = np.empty((3, rows), dtype=np.int64), np.empty((3, rows), dtype=np.int64)
    line = np.empty(rows, dtype=np.int64)
    kernels.split_lines(data, np.array(wanted, dtype=np.int64), least, most, begin, end, line, count)
    if count[1]:
        fields = f"at least {least}" if most > least else str(least)
        raise FormatError(f"{path}, line {count[1]}: {fields} fields are needed ({layout}), got {count[2]}")
    rows = int(count[0])
    return data, begin[:, :rows], end[:, :rows], line[:rows]


def _read(path: Path) -> bytes:
    raw = read_whole(path).removeprefix(b"\xef\xbb\xbf")
    try:
        raw.decode("utf-8")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise EncodingError(f"{path}, line {line}: ids must be UTF-8, got byte 0x{raw[error.start]:02x}") from None
    if b"\0" in raw:
        line = raw.count(b"\n", 0, raw.index(b"\0")) + 1
        raise FormatError(f"{path}, line {line}: a NUL character may not stand in a TREC file; is this another format?")
    return raw


def _texts(data: Any, begin: Any, end: Any) -> pa.Array:
    offsets = np.zeros(len(begin) + 1, dtype=np.int64)
    np.cumsum(end - begin, out=offsets[1:])
    out = np.empty(int(offsets[-1]), dtype=np.uint8)
    kernels.copy_fields(data, np.ascontiguousarray(begin), offsets, out)
    return pa.LargeStringArray.from_buffers(len(begin), pa.py_buffer(offsets), pa.py_buffer(out))


def _numbers(
    data: Any, begin: Any, end: Any, kind: pa.DataType, parse: Callable[[str], Any], refuse: Callable[[int, str], FormatError]
) -> Any:
    """The fields as numbers: all at once where Arrow's reader takes them, else one by one, so that the first bad one is named."""
    texts = _texts(data, begin, end)
    try:
        return texts.cast(kind).to_numpy(zero_copy_only=False)
    except pa.ArrowInvalid:
        values = np.empty(len(texts), dtype=kind.to_pandas_dtype())
        for row, text in enumerate(texts.to_pylist()):
            try:
                values[row] = parse(text)
            except (ValueError, OverflowError):
                raise refuse(row, text) from None
        return values


def _as_score(text: str) -> float:
    if "_" in text or not text.isascii():
        raise ValueError(text)
    return float(text)


def _as_grade(text: str) -> int:
    if "_" in text or not text.isascii():
        raise ValueError(text)
    return int(text)

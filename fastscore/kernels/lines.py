"""Lines of fields set apart by white space, as TREC files have them: the bytes of a file in, the places of fields out."""

from __future__ import annotations

from typing import Any

from fastscore.kernels.ids import BYTES_IN, INT64_IN
from fastscore.kernels.jit import inner, kernel

__all__ = ["copy_fields", "count_lines", "split_lines"]

_NEWLINE, _HASH, _BLANK, _TAB, _RETURN = 10, 35, 32, 9, 13


@inner
def _is_blank(byte: int) -> bool:
    """C's isspace, but for the end of the line."""
    return byte == _BLANK or (_TAB <= byte <= _RETURN and byte != _NEWLINE)


@kernel(f"void({BYTES_IN}, int64[::1])")
def count_lines(data: Any, count: Any) -> None:
    """Set ``count[0]`` to the number of lines, a last one without an end included."""
    ends = 0
    for i in range(len(data)):
        ends += data[i] == _NEWLINE
    count[0] = ends + (1 if len(data) and data[len(data) - 1] != _NEWLINE else 0)


@kernel(f"void({BYTES_IN}, {INT64_IN}, int64, int64, int64[:, ::1], int64[:, ::1], int64[::1], int64[::1])")
def split_lines(data: Any, wanted: Any, least: int, most: int, begin: Any, end: Any, line: Any, result: Any) -> None:
    """Fill begin and end of the `wanted` fields (ascending, from 0) and the number (from 1) of each line that holds fields.

    Lines that are blank, or whose first field starts with ``#``, hold none. ``result[0]`` is set to the count of lines with
    fields; ``result[1]`` to the first line with fewer fields than `least` or more than `most`, and ``result[2]`` to how many
    it has, or ``result[1]`` to 0.
    """
    rows, number, at, size = 0, 0, 0, len(data)
    result[1] = 0
    while at < size:
        number += 1
        fields, taken = 0, 0
        comment = False
        while at < size and data[at] != _NEWLINE:
            if _is_blank(data[at]):
                at += 1
                continue
            first = at
            comment |= fields == 0 and data[at] == _HASH
            while at < size and data[at] != _NEWLINE and not _is_blank(data[at]):
                at += 1
            if taken < len(wanted) and wanted[taken] == fields:
                begin[taken, rows], end[taken, rows] = first, at
                taken += 1
            fields += 1
        at += 1
        if comment or fields == 0:
            continue
        if fields < least or fields > most:
            result[0], result[1], result[2] = rows, number, fields
            return
        line[rows] = number
        rows += 1
    result[0] = rows


@kernel(f"void({BYTES_IN}, {INT64_IN}, {INT64_IN}, uint8[::1])")
def copy_fields(data: Any, begin: Any, offsets: Any, out: Any) -> None:
    """Copy field i, which begins at ``begin[i]``, to ``out[offsets[i]:offsets[i + 1]]``."""
    for i in range(len(begin)):
        shift = begin[i] - offsets[i]
        for at in range(offsets[i], offsets[i + 1]):
            out[at] = data[at + shift]

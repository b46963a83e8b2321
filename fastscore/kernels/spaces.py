"""White space as Python has it, read from UTF-8 bytes: the 29 code points of `str.isspace`, at either end of a text."""

from __future__ import annotations

from typing import Any

from fastscore.kernels.jit import inlined, inner

__all__ = ["space_at", "strip"]


@inlined
def space_at(data: Any, at: int, end: int) -> int:
    """How many bytes the white space (`str.isspace`) that starts at `at` takes; 0 where none starts there."""
    byte = data[at]
    if byte <= 0x20:
        return 1 if byte == 0x20 or 9 <= byte <= 13 or byte >= 0x1C else 0
    if byte < 0xC2 or byte > 0xE3:
        return 0
    if byte == 0xC2:
        return 2 if at + 1 < end and (data[at + 1] == 0x85 or data[at + 1] == 0xA0) else 0
    if byte < 0xE1 or at + 2 >= end:
        return 0
    second, third = data[at + 1], data[at + 2]
    if byte == 0xE2:
        if second == 0x80:
            return 3 if 0x80 <= third <= 0x8A or third == 0xA8 or third == 0xA9 or third == 0xAF else 0
        return 3 if second == 0x81 and third == 0x9F else 0
    if third != 0x80:
        return 0
    return 3 if second == (0x9A if byte == 0xE1 else 0x80) else 0


@inner
def strip(data: Any, start: int, end: int) -> Any:
    """The bounds of a text without the white space around it."""
    while start < end:
        size = space_at(data, start, end)
        if size == 0:
            break
        start += size
    while start < end:
        size = 1
        while size < 3 and end - size > start and data[end - size] & 0xC0 == 0x80:
            size += 1
        if space_at(data, end - size, end) != size:
            break
        end -= size
    return start, end

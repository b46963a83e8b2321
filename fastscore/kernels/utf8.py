"""UTF-8 decoded and encoded one code point at a time; what is not valid is told apart, never read past."""

from __future__ import annotations

from typing import Any

from fastscore.kernels.jit import inlined

__all__ = ["decode", "encode"]


@inlined
def decode(data: Any, at: int, end: int) -> Any:
    """The code point that starts at `at`, and its length in bytes; length 0 where the bytes are not valid UTF-8."""
    first = int(data[at])
    if first < 0x80:
        return first, 1
    if first < 0xC2 or first > 0xF4:
        return 0, 0
    length = 2 if first < 0xE0 else 3 if first < 0xF0 else 4
    if at + length > end:
        return 0, 0
    if first < 0xE0:
        second = int(data[at + 1])
        return ((first & 0x1F) << 6 | second & 0x3F, 2) if second & 0xC0 == 0x80 else (0, 0)
    point = first & (0x7F >> length)
    for k in range(1, length):
        more = int(data[at + k])
        if more & 0xC0 != 0x80:
            return 0, 0
        point = point << 6 | more & 0x3F
    if length == 3 and (point < 0x800 or 0xD800 <= point < 0xE000):
        return 0, 0
    if length == 4 and (point < 0x10000 or point > 0x10FFFF):
        return 0, 0
    return point, length


@inlined
def encode(out: Any, at: int, point: int) -> int:
    """Write a code point; the position after it."""
    if point < 0x80:
        out[at] = point
        return at + 1
    if point < 0x800:
        out[at] = 0xC0 | point >> 6
        out[at + 1] = 0x80 | point & 0x3F
        return at + 2
    if point < 0x10000:
        out[at] = 0xE0 | point >> 12
        out[at + 1] = 0x80 | point >> 6 & 0x3F
        out[at + 2] = 0x80 | point & 0x3F
        return at + 3
    out[at] = 0xF0 | point >> 18
    out[at + 1] = 0x80 | point >> 12 & 0x3F
    out[at + 2] = 0x80 | point >> 6 & 0x3F
    out[at + 3] = 0x80 | point & 0x3F
    return at + 4

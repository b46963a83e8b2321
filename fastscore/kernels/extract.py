r"""Answers found in completions: the bounds of texts go in and are narrowed in place, without copying a byte.

Every entry works on the rows `low` to `high` and passes over rows that have failed before; where it finds nothing, it marks the
row in `failed` and leaves it empty. All of them are linear in the text, whatever it holds, and strip white space as `str.strip`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fastscore.kernels.jit import inlined, inner, kernel
from fastscore.kernels.spaces import space_at, strip
from fastscore.kernels.wide import equal_byte64, highest_bit, lowest_bit, lowest_bits

__all__ = [
    "copy_texts",
    "count_characters",
    "count_words",
    "narrow_to_box",
    "narrow_to_last_tag",
    "narrow_to_line",
    "narrow_to_rest",
    "tag_closed_once",
]

_BYTES = "Array(uint8, 1, 'C', readonly=True)"
_INTS = "Array(int64, 1, 'C', readonly=True)"
_NONE, _ONE = np.uint64(0), np.uint64(1)
_SEVEN_BITS = np.uint64(0x7F7F7F7F7F7F7F7F)
_OPEN, _CLOSE, _BACKSLASH, _NEWLINE, _BLANK = 0x7B, 0x7D, 0x5C, 0x0A, 0x20
_BOXED, _FBOX, _TEXT, _BOLD, _ROMAN, _MBOX = (
    np.frombuffer(b, dtype=np.uint8) for b in (b"\\boxed", b"\\fbox", b"\\text{", b"\\textbf{", b"\\mathrm{", b"\\mbox{")
)


@inlined
def _starts_with(data: Any, at: int, end: int, wanted: Any) -> bool:
    """Whether ``data[at:end]`` starts with the bytes `wanted`."""
    if at + wanted.size > end:
        return False
    for k in range(wanted.size):
        if data[at + k] != wanted[k]:
            return False
    return True


@inner
def _find(data: Any, at: int, end: int, wanted: Any) -> int:
    """Where `wanted` first occurs in ``data[at:end]``, or -1; 64 places at a time are told by its first and its last byte."""
    last = wanted.size - 1
    while at + last < end and at + last + 64 <= data.size:
        places = equal_byte64(data, at, wanted[0], 0) & equal_byte64(data, at + last, wanted[last], 0)
        places &= lowest_bits(min(64, end - at - last))
        while places != _NONE:
            place = at + lowest_bit(places)
            if _starts_with(data, place, end, wanted):
                return place
            places &= places - _ONE
        at += 64
    while at + last < end:
        if _starts_with(data, at, end, wanted):
            return at
        at += 1
    return -1


@inner
def _find_last(data: Any, start: int, end: int, wanted: Any) -> int:
    """Where `wanted` last occurs in ``data[start:end]``, or -1; 64 places at a time, from the end."""
    last = wanted.size - 1
    stop = end - last
    while stop > start and stop + last > data.size - 64:
        stop -= 1
        if _starts_with(data, stop, end, wanted):
            return stop
    while stop > start:
        low = max(start, stop - 64)
        places = equal_byte64(data, low, wanted[0], 0) & equal_byte64(data, low + last, wanted[last], 0)
        places &= lowest_bits(stop - low)
        while places != _NONE:
            place = highest_bit(places)
            if _starts_with(data, low + place, end, wanted):
                return low + place
            places &= lowest_bits(place)
        stop = low
    return -1


@inlined
def _keep(data: Any, first: int, last: int, row: int, starts: Any, ends: Any, failed: Any) -> None:
    """Narrow a row to its stripped text from `first` to `last`; `first` below 0 says that nothing was found."""
    if first < 0:
        failed[row] = 1
        ends[row] = starts[row]
    else:
        starts[row], ends[row] = strip(data, first, last)


@kernel(f"void({_BYTES}, int64[::1], int64[::1], {_BYTES}, {_BYTES}, uint8[::1], int64, int64)")
def narrow_to_last_tag(data: Any, starts: Any, ends: Any, opening: Any, closing: Any, failed: Any, low: int, high: int) -> None:
    """Narrow each text to the inside of the last `opening` ... `closing`, paired from left to right without overlap.

    These are the pairs of ``re.finditer("opening(.*?)closing", text, re.DOTALL)``.
    """
    for row in range(low, high):
        if failed[row]:
            continue
        first, last, at, end = -1, -1, starts[row], ends[row]
        while at < end:
            inside = _find(data, at, end, opening)
            if inside < 0:
                break
            inside += opening.size
            at = _find(data, inside, end, closing)
            if at < 0:
                break
            first, last = inside, at
            at += closing.size
        _keep(data, first, last, row, starts, ends, failed)


@kernel(f"void({_BYTES}, int64[::1], int64[::1], {_BYTES}, uint8[::1], int64, int64)")
def narrow_to_rest(data: Any, starts: Any, ends: Any, wanted: Any, failed: Any, low: int, high: int) -> None:
    """Narrow each text to what comes after the last occurrence of `wanted`."""
    for row in range(low, high):
        if failed[row]:
            continue
        at = _find_last(data, starts[row], ends[row], wanted)
        _keep(data, at + wanted.size if at >= 0 else -1, ends[row], row, starts, ends, failed)


@kernel(f"void({_BYTES}, int64[::1], int64[::1], boolean, uint8[::1], int64, int64)")
def narrow_to_line(data: Any, starts: Any, ends: Any, last: bool, failed: Any, low: int, high: int) -> None:
    """Narrow each stripped text to its first line, or its last; a text of white space has none."""
    for row in range(low, high):
        if failed[row]:
            continue
        start, end = strip(data, starts[row], ends[row])
        if last:
            at = end
            while at > start and data[at - 1] != _NEWLINE:
                at -= 1
            first = at
        else:
            first, at = start, start
            while at < end and data[at] != _NEWLINE:
                at += 1
            end = at
        _keep(data, first if start < end else -1, end, row, starts, ends, failed)


@inlined
def _is_escaped(data: Any, start: int, at: int) -> bool:
    """Whether an odd number of backslashes stands right before `at`."""
    k = at
    while k > start and data[k - 1] == _BACKSLASH:
        k -= 1
    return (at - k) & 1 == 1


@inlined
def _opens_box(data: Any, start: int, brace: int) -> bool:
    r"""Whether the brace is that of ``\boxed{`` or ``\fbox{``; blanks may stand before it."""
    at = brace
    while at > start and data[at - 1] == _BLANK:
        at -= 1
    boxed, fbox = at - _BOXED.size, at - _FBOX.size
    if boxed >= start and _starts_with(data, boxed, at, _BOXED):
        return True
    return fbox >= start and _starts_with(data, fbox, at, _FBOX)


@inner
def _last_box(data: Any, start: int, end: int) -> int:
    """The brace that opens the last box whose braces are balanced, or -1.

    From the end backwards: `lowest` is how far the depth of braces falls below its value here on the way to the end, so a box
    is closed where it falls by one.
    """
    lowest = 0
    for at in range(end - 1, start - 1, -1):
        if data[at] != _OPEN and data[at] != _CLOSE:
            continue
        if _is_escaped(data, start, at):
            continue
        if data[at] == _CLOSE:
            lowest -= 1
        else:
            if lowest < 0 and _opens_box(data, start, at):
                return at
            lowest = min(0, lowest + 1)
    return -1


@inner
def _closing_brace(data: Any, at: int, end: int) -> int:
    """The brace that closes the one before `at`; a backslash takes the byte after it along. `end` where there is none."""
    depth = 1
    while at < end:
        if data[at] == _BACKSLASH:
            at += 1
        elif data[at] == _OPEN:
            depth += 1
        elif data[at] == _CLOSE:
            depth -= 1
            if depth == 0:
                return at
        at += 1
    return end


@inner
def _unwrapped(data: Any, first: int, last: int) -> Any:
    r"""The bounds inside one ``\text{...}``, ``\textbf``, ``\mathrm`` or ``\mbox`` that takes up all of the text."""
    for wrapper in (_TEXT, _BOLD, _ROMAN, _MBOX):
        if _starts_with(data, first, last, wrapper):
            inside = first + wrapper.size
            if _closing_brace(data, inside, last) == last - 1:
                return inside, last - 1
    return first, last


@kernel(f"void({_BYTES}, int64[::1], int64[::1], uint8[::1], int64, int64)")
def narrow_to_box(data: Any, starts: Any, ends: Any, failed: Any, low: int, high: int) -> None:
    r"""Narrow each text to the inside of the last ``\boxed{...}`` or ``\fbox{...}`` whose braces are balanced."""
    for row in range(low, high):
        if failed[row]:
            continue
        brace = _last_box(data, starts[row], ends[row])
        first, last = brace, brace
        if brace >= 0:
            first, last = strip(data, brace + 1, _closing_brace(data, brace + 1, ends[row]))
            first, last = _unwrapped(data, first, last)
        _keep(data, first, last, row, starts, ends, failed)


@kernel(f"void({_BYTES}, {_INTS}, {_INTS}, {_BYTES}, {_BYTES}, int64[::1], uint8[::1], int64, int64)")
def tag_closed_once(
    data: Any, starts: Any, ends: Any, opening: Any, closing: Any, floor: Any, kept: Any, low: int, high: int
) -> None:
    """Unset ``kept[row]`` unless both tags stand in the text exactly once, in order and not before ``floor[row]``.

    ``floor[row]`` is then set to the end of the closing tag.
    """
    for row in range(low, high):
        if not kept[row]:
            continue
        end = ends[row]
        first = _find(data, starts[row], end, opening)
        last = _find(data, starts[row], end, closing)
        once = first >= floor[row] and last >= first + opening.size
        once = once and _find(data, first + 1, end, opening) < 0 and _find(data, last + 1, end, closing) < 0
        if once:
            floor[row] = last + closing.size
        else:
            kept[row] = 0


@kernel(f"void({_BYTES}, {_INTS}, {_INTS}, int64[::1], int64, int64)")
def count_characters(data: Any, starts: Any, ends: Any, out: Any, low: int, high: int) -> None:
    """The code points of each text."""
    for row in range(low, high):
        count = 0
        for at in range(starts[row], ends[row]):
            count += data[at] & 0xC0 != 0x80
        out[row] = count


@kernel(f"void({_BYTES}, {_INTS}, {_INTS}, int64[::1], int64, int64)")
def count_words(data: Any, starts: Any, ends: Any, out: Any, low: int, high: int) -> None:
    """The words of each text as `str.split` cuts them."""
    for row in range(low, high):
        count, inside, at, end = 0, False, starts[row], ends[row]
        while at < end:
            size = space_at(data, at, end)
            count += size == 0 and not inside
            inside = size == 0
            at += max(1, size)
        out[row] = count


@kernel(f"void({_BYTES}, {_INTS}, {_INTS}, uint8[::1])")
def copy_texts(data: Any, starts: Any, offsets: Any, out: Any) -> None:
    """Copy text i, which starts at ``starts[i]``, to ``out[offsets[i]:offsets[i + 1]]``."""
    for row in range(starts.size):
        shift = starts[row] - offsets[row]
        for at in range(offsets[row], offsets[row + 1]):
            out[at] = data[at + shift]

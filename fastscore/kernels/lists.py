"""Lists of texts: whether two are the same, and which texts of one are kept, the first of equal ones or by QuAC's vote."""

from __future__ import annotations

from typing import Any

import numpy as np

from fastscore.kernels.bits import HIGH_BITS, load64, mix64
from fastscore.kernels.jit import inlined, inner, kernel
from fastscore.kernels.wide import same_bytes

__all__ = ["first_of_equals", "first_of_equals_ascii", "same_list", "vote"]

_BYTES = "Array(uint8, 1, 'C', readonly=True)"
_INTS = "Array(int64, 1, 'C', readonly=True)"
#: Longer lists are not compared pair by pair.
_FEW = 32


@inlined
def same_list(data: Any, starts: Any, ends: Any, low: int, count: int, other: int, other_count: int, packed: bool) -> bool:
    """Whether two lists hold the same texts in the same order."""
    if count != other_count:
        return False
    if low == other or count == 0:
        return True
    if packed:
        shift = starts[low] - starts[other]
        moved = 0
        for k in range(count):
            moved |= ends[low + k] - ends[other + k] - shift
        if moved != 0:
            return False
        return same_bytes(data, starts[low], ends[low + count - 1], data, starts[other], ends[other + count - 1])
    unlike, gaps = 0, 0
    for k in range(count):
        unlike |= (ends[low + k] - starts[low + k]) ^ (ends[other + k] - starts[other + k])
        if k + 1 < count:
            gaps |= (ends[low + k] ^ starts[low + k + 1]) | (ends[other + k] ^ starts[other + k + 1])
    if unlike != 0:
        return False
    if gaps == 0:
        return same_bytes(data, starts[low], ends[low + count - 1], data, starts[other], ends[other + count - 1])
    for k in range(count):
        if not same_bytes(data, starts[low + k], ends[low + k], data, starts[other + k], ends[other + k]):
            return False
    return True


@inner
def _is_ascii(data: Any, start: int, end: int) -> bool:
    seen = np.uint64(0)
    while start + 8 <= end:
        seen |= load64(data, start)
        start += 8
    rest = 0
    while start < end:
        rest |= data[start]
        start += 1
    return seen & HIGH_BITS == np.uint64(0) and rest < 0x80


@inlined
def _lower(byte: int) -> int:
    return byte + 32 if 0x41 <= byte <= 0x5A else byte


@inner
def _same_but_for_case(data: Any, one: int, other: int, size: int) -> bool:
    for k in range(size):
        if _lower(data[one + k]) != _lower(data[other + k]):
            return False
    return True


@kernel(f"int64({_BYTES}, {_INTS}, {_INTS}, {_INTS}, {_INTS}, boolean, uint8[::1], uint8[::1])")
def first_of_equals_ascii(
    data: Any, starts: Any, ends: Any, l_starts: Any, l_ends: Any, packed: bool, kept: Any, open_rows: Any
) -> int:
    """Keep each list's texts that differ, but for the case of ASCII letters, from all before them in the list.

    Lists that hold other characters or very many texts are left open; returns how many. `packed` is as for `same_list`.
    """
    left = 0
    for row in range(l_starts.size):
        low, high = l_starts[row], l_ends[row]
        if row > 0:
            before = l_starts[row - 1]
            if same_list(data, starts, ends, low, high - low, before, l_ends[row - 1] - before, packed):
                open_rows[row] = open_rows[row - 1]
                left += open_rows[row]
                for k in range(high - low):
                    kept[low + k] = kept[before + k]
                continue
        plain = high - low <= _FEW
        text = low
        while plain and text < high:
            plain = _is_ascii(data, starts[text], ends[text])
            text += 1
        if not plain:
            open_rows[row] = 1
            left += 1
            continue
        for text in range(low, high):
            size, new = ends[text] - starts[text], 1
            for other in range(low, text):
                if ends[other] - starts[other] == size and _same_but_for_case(data, starts[text], starts[other], size):
                    new = 0
                    break
            kept[text] = new
    return left


@inner
def _slot_of(data: Any, start: int, end: int, mask: int) -> Any:
    key = np.uint64(end - start)
    while start + 8 <= end:
        key = mix64(key, load64(data, start))
        start += 8
    while start < end:
        key = mix64(key, np.uint64(data[start]))
        start += 1
    return np.int64(key >> np.uint64(20)) & mask


@kernel(f"void({_BYTES}, {_INTS}, {_INTS}, {_INTS}, {_INTS}, int64[::1], uint8[::1])")
def first_of_equals(data: Any, starts: Any, ends: Any, l_starts: Any, l_ends: Any, slots: Any, kept: Any) -> None:
    """Keep each list's texts that differ from all before them in the list.

    `slots` is scratch: a power of two, at least twice the texts of the longest list.
    """
    for row in range(l_starts.size):
        mask = 4
        while mask < 2 * (l_ends[row] - l_starts[row]):
            mask *= 2
        mask -= 1
        slots[: mask + 1] = -1
        for text in range(l_starts[row], l_ends[row]):
            slot = _slot_of(data, starts[text], ends[text], mask)
            while slots[slot] >= 0:
                other = slots[slot]
                if same_bytes(data, starts[text], ends[text], data, starts[other], ends[other]):
                    break
                slot = (slot + 1) & mask
            kept[text] = 1 if slots[slot] < 0 else 0
            if slots[slot] < 0:
                slots[slot] = text


@kernel(f"void({_BYTES}, {_INTS}, {_INTS}, uint8[::1])")
def vote(flags: Any, l_starts: Any, l_ends: Any, kept: Any) -> None:
    """Where at least half of a list's texts are flagged keep the first flagged one alone, else those that are not."""
    for row in range(l_starts.size):
        flagged = 0
        for text in range(l_starts[row], l_ends[row]):
            flagged += flags[text]
        won = 2 * flagged >= l_ends[row] - l_starts[row]
        first = True
        for text in range(l_starts[row], l_ends[row]):
            if flags[text] == 1:
                kept[text] = 1 if won and first else 0
                first = False
            else:
                kept[text] = 0 if won else 1

"""Which texts the next block of rows has: predictions to score, reference lists once each, and rows that repeat one before."""

from __future__ import annotations

from typing import Any

import numpy as np

from fastscore.kernels.bits import load64
from fastscore.kernels.jit import inlined, inner
from fastscore.kernels.layout import REPEAT_SLOT_BITS, STATUS_OK
from fastscore.kernels.lists import same_list
from fastscore.kernels.wide import ALL_BITS, equal64, lowest_bits, same_bytes

__all__ = ["plan_block"]

_SPREAD = np.uint64(0x9E3779B97F4A7C15)
#: The highest bits of a mixture are its slot in `recent`.
_SLOT_SHIFT = np.uint64(64 - REPEAT_SLOT_BITS)


@inlined
def _bytes_of(starts: Any, ends: Any, first: int, last: int, packed: bool) -> int:
    """The bytes of the texts `first` to `last`; `packed` says that each text begins where the one before ends."""
    if packed:
        return ends[last - 1] - starts[first] if last > first else 0
    size = 0
    for text in range(first, last):
        size += ends[text] - starts[text]
    return size


@inlined
def _repeat_of(data: Any, start: int, end: int, row: int, first: int, starts: Any, ends: Any, recent: Any) -> int:
    """The row from `first` on, of those that `recent` remembers, whose text has the same bytes, or -1; `row` is remembered.

    `recent` keeps one row a slot, found by a mixture of a text's length and first bytes; the bytes decide.
    """
    size = end - start
    if start + 64 > data.size:
        return -1
    head = load64(data, start) & (ALL_BITS >> np.uint64(64 - 8 * max(1, min(size, 8))))
    slot = np.int64(((head ^ np.uint64(size)) * _SPREAD) >> _SLOT_SHIFT)
    known = recent[slot] >= first
    other = max(recent[slot], first)
    at = starts[other]
    if size > 64:
        same = known and same_bytes(data, start, end, data, at, ends[other])
    else:
        alike = (equal64(data, start, data, min(at, start)) | ~lowest_bits(size)) == ALL_BITS
        same = known & (ends[other] - at == size) & (at <= start) & alike
    recent[slot] = other if same else row
    return other if same else -1


@inner
def plan_block(
    p_data: Any, p_starts: Any, p_ends: Any, r_data: Any, r_starts: Any, r_ends: Any, l_starts: Any, l_ends: Any,
    low: int, high: int, budget: Any, status: Any, runs: Any, p_chosen: Any, r_chosen: Any, repeats: Any, recent: Any, look: bool, packed: bool,
) -> Any:  # fmt: skip
    """Choose the texts of the next block; the row after it, and how many runs, predictions, reference texts and repeats it has.

    A run is rows in a row with the same list: ``runs[2 * k]`` is its first prediction and ``runs[2 * k + 1]`` its list's first text,
    `p_chosen` has the rows whose predictions are scored, `r_chosen` says which texts the lists have. With `look`, a row with the
    same list and the same prediction as one before in the run is a repeat: it and that row stand in `repeats`. `budget` has
    the most bytes, texts, references of a row and bytes of a prediction; -1 runs where the first row alone is beyond it.
    """
    size_limit, text_limit, list_limit, prediction_limit = budget[0], budget[1], budget[2], budget[3]
    size, texts, lists, chosen, again = 0, 0, 0, 0, 0
    row, run = low, low
    for k in range(recent.size):
        recent[k] = -1
    while row < high:
        first, last = l_starts[row], l_ends[row]
        length = p_ends[row] - p_starts[row]
        more = length
        repeated = False
        if row > low:
            before = l_starts[row - 1]
            repeated = same_list(r_data, r_starts, r_ends, first, last - first, before, l_ends[row - 1] - before, packed)
        fresh = 0
        if not repeated:
            fresh = last - first
            more += _bytes_of(r_starts, r_ends, first, last, packed)
        full = size + more > size_limit or row - low + texts + 1 + fresh > text_limit
        if full or last - first > list_limit or length > prediction_limit:
            if row == low:
                return row, -1, 0, 0, 0
            break
        size += more
        if not repeated:
            run = row
            runs[2 * lists], runs[2 * lists + 1] = chosen, texts
            lists += 1
            for text in range(first, last):
                r_chosen[texts] = text
                texts += 1
        same = -1
        scored = status[row] == STATUS_OK
        if look and scored:
            same = _repeat_of(p_data, p_starts[row], p_ends[row], row, run, p_starts, p_ends, recent)
        repeats[2 * again], repeats[2 * again + 1] = row, same
        again += 1 if same >= 0 else 0
        p_chosen[chosen] = row
        chosen += 1 if scored and same < 0 else 0
        row += 1
    runs[2 * lists] = chosen
    return row, lists, chosen, texts, again

"""Word overlap: how many words a prediction shares with each reference, counted as multisets.

Words stand in an open-addressed table of arrays (key, start, and two numbers a slot). Up to eight references of up to 255
words share one table, which counts each word in every reference at once, a byte for each; a prediction then looks each of its
words up once. Longer lists use a table of the prediction's words. Both are linear in the words, and equal keys of long words
are confirmed by their bytes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fastscore.kernels.cut import LONG_WORD, same_word
from fastscore.kernels.jit import inlined, inner

__all__ = ["build_lanes", "clear_slots", "count_lanes", "count_one_by_one", "table_mask"]

_ZERO = np.uint64(0)
_ONE = np.uint64(1)
_SPREAD = np.uint64(0x9E3779B97F4A7C15)
_LANES = np.uint64(0x0101010101010101)


@inlined
def table_mask(words: int) -> int:
    """One less than the slots for so many words: a power of two, at least twice as many."""
    slots = 16
    while slots < 2 * words:
        slots *= 2
    return slots - 1


@inlined
def clear_slots(slot_keys: Any, mask: int) -> None:
    """Empty the first ``mask + 1`` slots."""
    for slot in range(mask + 1):
        slot_keys[slot] = _ZERO


@inlined
def _find(clean: Any, key: Any, start: int, slot_keys: Any, slot_starts: Any, mask: int) -> int:
    """The slot of a word, or of the empty place where it would go."""
    slot = np.int64((key * _SPREAD) >> np.uint64(32)) & mask
    while True:
        found = slot_keys[slot]
        if found == _ZERO:
            return slot
        if found == key and (key & LONG_WORD == _ZERO or same_word(clean, slot_starts[slot], start)):
            return slot
        slot = (slot + 1) & mask


@inlined
def build_lanes(
    clean: Any, keys: Any, starts: Any, firsts: Any, low: int, high: int,
    slot_keys: Any, slot_starts: Any, slot_lanes: Any, slot_stamps: Any, mask: int,
) -> None:  # fmt: skip
    """Enter the words of texts `low` to `high`, at most eight: a slot's lanes count its word, a byte for each text."""
    for text in range(low, high):
        one = _ONE << np.uint64(8 * (text - low))
        for word in range(firsts[text], firsts[text + 1]):
            key = keys[word]
            slot = _find(clean, key, starts[word], slot_keys, slot_starts, mask)
            if slot_keys[slot] == _ZERO:
                slot_keys[slot] = key
                slot_starts[slot] = starts[word]
                slot_lanes[slot] = one
                slot_stamps[slot] = -1
            else:
                slot_lanes[slot] += one


@inlined
def count_lanes(
    clean: Any, keys: Any, starts: Any, first: int, last: int, stamp: int,
    slot_keys: Any, slot_starts: Any, slot_lanes: Any, slot_stamps: Any, slot_used: Any, mask: int,
) -> Any:  # fmt: skip
    """Shared words of one prediction with every text in the table, a byte for each; `stamp` is another for each prediction."""
    shared = _ZERO
    for word in range(first, last):
        key = keys[word]
        slot = _find(clean, key, starts[word], slot_keys, slot_starts, mask)
        if slot_keys[slot] == _ZERO:
            continue
        lanes = slot_lanes[slot]
        seen = 1
        if slot_stamps[slot] == stamp:
            seen = slot_used[slot] + 1
        slot_stamps[slot] = stamp
        slot_used[slot] = seen
        if seen == 1:
            low_bits = lanes & ~(_LANES << np.uint64(7))
            shared += ((low_bits + (_LANES * np.uint64(127))) | lanes) >> np.uint64(7) & _LANES
        else:
            shared += _at_least(lanes, seen)
    return shared


@inner
def _at_least(lanes: Any, seen: int) -> Any:
    """A one in each byte whose count in `lanes` is at least `seen`."""
    enough = _ZERO
    for lane in range(8):
        shift = np.uint64(8 * lane)
        if np.int64(lanes >> shift) & 255 >= seen:
            enough += _ONE << shift
    return enough


@inner
def count_one_by_one(
    clean: Any, keys: Any, starts: Any, firsts: Any, p: int, text: int, n: int, shared: Any,
    slot_keys: Any, slot_starts: Any, slot_counts: Any, slot_stamps: Any, slot_used: Any,
) -> None:  # fmt: skip
    """Fill ``shared[k]`` with the words that prediction `p` shares with reference text ``text + k``, for any sizes."""
    mask = table_mask(firsts[p + 1] - firsts[p])
    clear_slots(slot_keys, mask)
    for word in range(firsts[p], firsts[p + 1]):
        slot = _find(clean, keys[word], starts[word], slot_keys, slot_starts, mask)
        if slot_keys[slot] == _ZERO:
            slot_keys[slot] = keys[word]
            slot_starts[slot] = starts[word]
            slot_counts[slot] = _ZERO
            slot_stamps[slot] = -1
        slot_counts[slot] += _ONE
    for k in range(n):
        same = 0
        for word in range(firsts[text + k], firsts[text + k + 1]):
            slot = _find(clean, keys[word], starts[word], slot_keys, slot_starts, mask)
            if slot_keys[slot] == _ZERO:
                continue
            if slot_stamps[slot] != k:
                slot_stamps[slot] = k
                slot_used[slot] = 0
            slot_used[slot] += 1
            if slot_used[slot] <= np.int64(slot_counts[slot]):
                same += 1
        shared[k] = same

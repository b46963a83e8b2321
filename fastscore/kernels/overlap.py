"""Word overlap of any sizes: how many words a prediction shares with each reference, counted as multisets.

Words stand in an open-addressed table of four numbers a slot: the key's two, a count, and who last looked. Up to eight references
of up to 255 words in all share one table, which counts each word in every reference at once, a byte for each; a prediction then
looks each of its words up once. Longer lists use a table of the prediction's words. Both are linear in the words, and equal
keys of long words are confirmed by their bytes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fastscore.kernels.cut import LONG_WORD, same_key
from fastscore.kernels.jit import inlined, inner

__all__ = [
    "build_lanes",
    "clear_slots",
    "count_lanes",
    "count_one_by_one",
    "table_mask",
]

_ZERO = np.uint64(0)
_ONE = np.uint64(1)
_SPREAD = np.uint64(0x9E3779B97F4A7C15)
_SPREAD_TOO = np.uint64(0xC2B2AE3D27D4EB4F)
_LANES = np.uint64(0x0101010101010101)
_NOBODY = np.uint64(0xFFFFFFFFFFFFFFFF)
# A slot's fourth number: whose turn it was, and in the low bits how often its word came up in that turn.
_TURN = np.uint64(9)
_TIMES = np.uint64(511)


@inlined
def table_mask(words: int) -> int:
    """One less than the slots for so many words: a power of two, at least a quarter more than words."""
    slots = 16
    while slots < words + (words >> 2) + 1:
        slots *= 2
    return slots - 1


@inlined
def clear_slots(table: Any, mask: int) -> None:
    """Empty the first ``mask + 1`` slots: no key, no count."""
    for k in range(4 * (mask + 1)):
        table[k] = _ZERO


@inlined
def _find(clean: Any, low: Any, high: Any, table: Any, mask: int) -> Any:
    """Four times the slot of a word, or of the empty place where it would go; the usual end of the search is one branch."""
    mixed = low * _SPREAD
    if high & LONG_WORD == _ZERO:
        mixed ^= high * _SPREAD_TOO
    slot = np.int64(mixed >> np.uint64(32)) & mask
    while True:
        at = 4 * slot
        found = table[at + 1]
        if min((table[at] ^ low) | (found ^ high), found) == _ZERO:
            return at
        if high & found & LONG_WORD != _ZERO and same_key(clean, low, high, table[at], found):
            return at
        slot = (slot + 1) & mask


@inlined
def _enter(clean: Any, low: Any, high: Any, one: Any, table: Any, mask: int) -> None:
    """Add `one` to a word's count; a word that is not in the table goes there."""
    at = _find(clean, low, high, table, mask)
    table[at] = low
    table[at + 1] = high
    table[at + 2] += one
    table[at + 3] = _NOBODY


@inlined
def build_lanes(clean: Any, keys: Any, firsts: Any, low: int, high: int, table: Any, mask: int) -> None:
    """Enter the words of texts `low` to `high`, at most eight: a slot's lanes count its word, a byte for each text."""
    for text in range(low, high):
        one = _ONE << np.uint64(8 * (text - low))
        for word in range(firsts[text], firsts[text + 1]):
            _enter(clean, keys[2 * word], keys[2 * word + 1], one, table, mask)


@inlined
def count_lanes(clean: Any, keys: Any, first: int, last: int, turn: int, table: Any, mask: int) -> Any:
    """Shared words of one prediction with every text in the table, a byte for each; `turn` is another for each prediction."""
    shared = _ZERO
    mine = np.uint64(turn)
    for word in range(first, last):
        at = _find(clean, keys[2 * word], keys[2 * word + 1], table, mask)
        lanes = table[at + 2]
        last_look = table[at + 3]
        times = _ONE
        if last_look >> _TURN == mine:
            times = min((last_look & _TIMES) + _ONE, _TIMES)
        table[at + 3] = mine << _TURN | times
        if times == _ONE:
            low_bits = lanes & ~(_LANES << np.uint64(7))
            shared += ((low_bits + _LANES * np.uint64(127)) | lanes) >> np.uint64(7) & _LANES
        else:
            shared += _at_least(lanes, times)
    return shared


@inner
def _at_least(lanes: Any, times: Any) -> Any:
    """A one in each byte of `lanes` that is at least `times`."""
    enough = _ZERO
    for lane in range(8):
        shift = np.uint64(8 * lane)
        if (lanes >> shift) & np.uint64(255) >= times:
            enough += _ONE << shift
    return enough


@inner
def count_one_by_one(clean: Any, keys: Any, firsts: Any, p: int, text: int, n: int, shared: Any, table: Any, used: Any) -> None:
    """Fill ``shared[k]`` with the words that prediction `p` shares with reference text ``text + k``, for any sizes."""
    mask = table_mask(firsts[p + 1] - firsts[p])
    clear_slots(table, mask)
    for word in range(firsts[p], firsts[p + 1]):
        _enter(clean, keys[2 * word], keys[2 * word + 1], _ONE, table, mask)
    for k in range(n):
        same = 0
        for word in range(firsts[text + k], firsts[text + k + 1]):
            at = _find(clean, keys[2 * word], keys[2 * word + 1], table, mask)
            if table[at + 1] == _ZERO:
                continue
            before = used[at >> 2] if table[at + 3] == np.uint64(k) else 0
            table[at + 3] = np.uint64(k)
            used[at >> 2] = before + 1
            if before < np.int64(table[at + 2]):
                same += 1
        shared[k] = same

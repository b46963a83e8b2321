"""Reference lists of few words, as short answers have: a list is one mask of 64 bits, one for each word and one behind each text.

A list is described once, by `describe_list`, for all rows that have it. `share_words` then goes through the words of all their
predictions in one stream, each compared with eight reference words at once.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fastscore.kernels.compare import F1_TABLE_SIDE
from fastscore.kernels.cut import LONG_WORD, same_key
from fastscore.kernels.eights import equal_numbers8, split_keys8
from fastscore.kernels.jit import inlined, inner
from fastscore.kernels.wide import count_bits, lowest_bit, lowest_bits

__all__ = ["COUNTS", "FEW_PLACES", "LIST_NUMBERS", "MASKS", "describe_list", "share_words", "shared_by_mask"]

#: A list whose words and texts are at most so many has room in one mask.
FEW_PLACES = 64
# A list's numbers: the bits where texts start, the spare bits behind them, all words' bits, how many bits there are; each text's
# bits; how many words each text has; then both numbers of each word's key, at its bit.
_STARTS, _ENDS, _ROOM, _SIZE, MASKS = 0, 1, 2, 3, 4
COUNTS = MASKS + FEW_PLACES
_LOWS = COUNTS + FEW_PLACES
_HIGHS = _LOWS + FEW_PLACES + 16
LIST_NUMBERS = _HIGHS + FEW_PLACES + 16
_ZERO, _ONE = np.uint64(0), np.uint64(1)


@inlined
def describe_list(keys: Any, firsts: Any, low: int, high: int, numbers: Any) -> bool:
    """Fill the numbers of the list of texts `low` to `high`; whether each has fewer words than the table of F1 has."""
    starts, ends, room = _ZERO, _ZERO, _ZERO
    at, most = 0, 0
    for text in range(low, high):
        first = firsts[text]
        count = firsts[text + 1] - first
        mask = lowest_bits(count) << np.uint64(at)
        starts |= mask & (_ONE << np.uint64(at))
        room |= mask
        numbers[MASKS + text - low] = mask
        numbers[COUNTS + text - low] = np.uint64(count)
        split_keys8(keys, first, numbers, _LOWS + at, _HIGHS + at)
        for word in range(8, count, 8):
            split_keys8(keys, first + word, numbers, _LOWS + at + word, _HIGHS + at + word)
        at += count
        ends |= _ONE << np.uint64(at)
        at += 1
        most = max(most, count)
    numbers[_STARTS], numbers[_ENDS], numbers[_ROOM], numbers[_SIZE] = starts, ends, room, np.uint64(at)
    return most < F1_TABLE_SIDE


@inlined
def share_words(clean: Any, keys: Any, firsts: Any, low: int, high: int, numbers: Any, begins: Any, taken: Any) -> None:
    """Fill ``taken[w]``, for the words of predictions `low` to `high`, with the list's words shared by w and those before it.

    Each word of a prediction takes the first equal word of every text that none took before: a subtraction at each
    text's start, which the spare bit behind it keeps from the next, leaves the lowest bit of each.
    """
    first, last = firsts[low], firsts[high]
    for word in range(first, last):
        begins[word] = 0
    for text in range(low, high):
        begins[firsts[text]] = 1
    starts, ends, room, size = numbers[_STARTS], numbers[_ENDS], numbers[_ROOM], np.int64(numbers[_SIZE])
    used = ~room
    for word in range(first, last):
        key_low, key_high = keys[2 * word], keys[2 * word + 1]
        if key_high & LONG_WORD == _ZERO:
            found = _equal8(numbers, 0, key_low, key_high) | _equal8(numbers, 8, key_low, key_high) << np.uint64(8)
            for at in range(16, size, 8):
                found |= _equal8(numbers, at, key_low, key_high) << np.uint64(at)
        else:
            found = _find_long(clean, key_low, key_high, numbers)
        used = ~room if begins[word] else used
        free = found & ~used
        used |= free & ~((free | ends) - starts)
        taken[word] = used & room


@inlined
def shared_by_mask(taken: Any, numbers: Any, n: int, shared: Any) -> None:
    """Fill ``shared[k]`` with the words that were taken of each of the list's `n` texts."""
    for k in range(n):
        shared[k] = count_bits(taken & numbers[MASKS + k])


@inlined
def _equal8(numbers: Any, at: int, low: Any, high: Any) -> Any:
    return equal_numbers8(numbers, _LOWS + at, low) & equal_numbers8(numbers, _HIGHS + at, high)


@inner
def _find_long(clean: Any, low: Any, high: Any, numbers: Any) -> Any:
    """The bits of the list's words that are the same as a long word."""
    found, left = _ZERO, numbers[_ROOM]
    while left != _ZERO:
        at = lowest_bit(left)
        left &= left - _ONE
        if same_key(clean, low, high, numbers[_LOWS + at], numbers[_HIGHS + at]):
            found |= _ONE << np.uint64(at)
    return found

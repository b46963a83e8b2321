"""Word overlap: how many words a prediction shares with each reference, counted as multisets.

Two ways to the same numbers. Up to eight references of up to 255 words share one table of their words, whose entries count
each word in every reference at once, a byte for each; a prediction then looks each of its words up once. Longer lists use a
table of the prediction's words. Both are linear in the words; equal keys of long words are confirmed by their bytes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fastscore.kernels.cut import LONG_WORD, same_word
from fastscore.kernels.jit import inner

__all__ = ["build_lanes", "clear_table", "count_lanes", "count_shared", "find_word", "insert_word"]

_ZERO = np.uint64(0)
_SPREAD = np.uint64(0x9E3779B97F4A7C15)


@inner
def find_word(clean: Any, key: Any, start: int, table: Any, mask: int, words: Any, keys: Any, starts: Any) -> int:
    """The slot of a word, or of the empty place where it would go. A slot holds one more than a number into `words`."""
    slot = np.int64((key * _SPREAD) >> np.uint64(32)) & mask
    while table[slot] != 0:
        word = words[table[slot] - 1]
        if keys[word] == key and (key & LONG_WORD == _ZERO or same_word(clean, starts[word], start)):
            break
        slot = (slot + 1) & mask
    return slot


@inner
def insert_word(clean: Any, word: int, table: Any, mask: int, words: Any, count: int, keys: Any, starts: Any) -> Any:
    """Put a word into the table if it is new; its number in `words`, and how many there are now."""
    slot = find_word(clean, keys[word], starts[word], table, mask, words, keys, starts)
    if table[slot] == 0:
        words[count] = word
        count += 1
        table[slot] = count
    return table[slot] - 1, count


@inner
def clear_table(table: Any, mask: int) -> None:
    """Empty the first ``mask + 1`` slots."""
    for slot in range(mask + 1):
        table[slot] = 0


@inner
def build_lanes(clean: Any, firsts: Any, low: int, high: int, table: Any, mask: int, words: Any, lanes: Any, keys: Any, starts: Any) -> int:
    """Enter the words of texts `low` to `high`; ``lanes[w]`` counts word w, a byte for each text. How many distinct words."""
    count = 0
    for text in range(low, high):
        shift = np.uint64(8 * (text - low))
        for word in range(firsts[text], firsts[text + 1]):
            number, more = insert_word(clean, word, table, mask, words, count, keys, starts)
            if more > count:
                lanes[number] = _ZERO
                count = more
            lanes[number] += np.uint64(1) << shift
    return count


@inner
def count_lanes(clean: Any, first: int, last: int, table: Any, mask: int, words: Any, lanes: Any, used: Any, keys: Any, starts: Any) -> Any:
    """Shared words of a prediction with every reference, a byte for each. `used` is zero before and after."""
    shared = _ZERO
    for word in range(first, last):
        slot = find_word(clean, keys[word], starts[word], table, mask, words, keys, starts)
        if table[slot] == 0:
            continue
        number = table[slot] - 1
        used[number] += 1
        seen = used[number]
        counts = lanes[number]
        for lane in range(8):
            if np.int64(counts >> np.uint64(8 * lane)) & 255 >= seen:
                shared += np.uint64(1) << np.uint64(8 * lane)
    for word in range(first, last):
        slot = find_word(clean, keys[word], starts[word], table, mask, words, keys, starts)
        if table[slot] != 0:
            used[table[slot] - 1] = 0
    return shared


@inner
def count_shared(clean: Any, first: int, last: int, table: Any, mask: int, words: Any, counts: Any, used: Any, keys: Any, starts: Any) -> int:
    """Shared words of one reference with the prediction whose words are in the table. `used` is zero before and after."""
    shared = 0
    for word in range(first, last):
        slot = find_word(clean, keys[word], starts[word], table, mask, words, keys, starts)
        if table[slot] != 0:
            number = table[slot] - 1
            if used[number] < counts[number]:
                shared += 1
            used[number] += 1
    for word in range(first, last):
        slot = find_word(clean, keys[word], starts[word], table, mask, words, keys, starts)
        if table[slot] != 0:
            used[table[slot] - 1] = 0
    return shared

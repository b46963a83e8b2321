"""Words cut from clean text: each word gets a key of two numbers and the place where it starts.

A word of up to fifteen bytes is its own key: its bytes, and its length in the highest byte of the second number. A longer word's
key is a mixture of its bytes, marked by the highest bit; two such words are the same only if `same_word` says so.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fastscore.kernels.bits import load64, mix64
from fastscore.kernels.jit import inlined, inner
from fastscore.kernels.wide import blanks64, equal64, lowest_bit, lowest_bits

__all__ = ["ARTICLE_MULTIPLIER", "ARTICLE_SLOTS", "LONG_WORD", "article_slot", "cut_words", "same_key", "same_word", "word_key"]

LONG_WORD = np.uint64(1 << 63)
#: The articles' table has this many slots of two numbers; one more number behind them is the multiplier that spreads them.
ARTICLE_SLOTS = 64
ARTICLE_MULTIPLIER = 2 * ARTICLE_SLOTS
_ONE = np.uint64(1)
_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)


@inlined
def cut_words(clean: Any, at: int, end: int, keys: Any, starts: Any, count: Any, articles: Any) -> Any:
    """Append the words of ``clean[at:end]`` (a blank stands at `end`) that are no articles; the new number of words."""
    multiplier = articles[ARTICLE_MULTIPLIER]
    while at < end:
        blanks = blanks64(clean, at) & lowest_bits(end - at + 1)
        base = at
        if blanks == 0:
            stop = at + 64
            while clean[stop] != 0x20:
                stop += 1
            base = stop
            blanks = _ONE
        while blanks != 0:
            stop = base + lowest_bit(blanks)
            blanks &= blanks - _ONE
            if stop > at:
                low, high = word_key(clean, at, stop - at)
                slot = 2 * np.int64((low * multiplier) >> np.uint64(58))
                keys[2 * count] = low
                keys[2 * count + 1] = high
                starts[count] = at
                count += np.int64((articles[slot] ^ low) | (articles[slot + 1] ^ high) != np.uint64(0))
            at = stop + 1
    return count


@inlined
def word_key(clean: Any, at: int, length: int) -> Any:
    """The key of the word of `length` bytes, at least one, that starts at `at`."""
    if length > 15:
        return _mixed_key(clean, at, length)
    low_mask = _ALL >> np.uint64(64 - 8 * min(length, 8))
    high_mask = (_ONE << np.uint64(8 * max(length - 8, 0))) - _ONE
    return load64(clean, at) & low_mask, load64(clean, at + 8) & high_mask | np.uint64(length) << np.uint64(56)


@inner
def _mixed_key(clean: Any, at: int, length: int) -> Any:
    """The key of a word of more than fifteen bytes."""
    low = mix64(load64(clean, at), np.uint64(length))
    done = 8
    while done + 8 <= length:
        low = mix64(low, load64(clean, at + done))
        done += 8
    last = load64(clean, at + length - 8)
    return mix64(low, last), last | LONG_WORD


@inlined
def same_key(clean: Any, low: Any, high: Any, start: int, other_low: Any, other_high: Any, other_start: int) -> bool:
    """Whether two words are the same, given their keys and where they start."""
    if low != other_low or high != other_high:
        return False
    return bool(high & LONG_WORD == np.uint64(0) or same_word(clean, start, other_start))


@inner
def same_word(clean: Any, one: int, other: int) -> bool:
    """Whether the words that start at `one` and `other` have the same bytes."""
    while True:
        blanks = blanks64(clean, one)
        different = ~equal64(clean, one, clean, other)
        if blanks == 0:
            if different != 0:
                return False
            one += 64
            other += 64
            continue
        return bool(different & lowest_bits(lowest_bit(blanks) + 1) == 0)


def article_slot(low: int, multiplier: int) -> int:
    """The slot of an article in the articles' table, as `cut_words` finds it."""
    return ((low * multiplier) & 0xFFFFFFFFFFFFFFFF) >> 58

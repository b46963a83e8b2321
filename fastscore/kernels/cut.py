"""Words cut from clean text: each word gets a key and the place where it starts.

A word of up to seven bytes is its own key (its bytes, and its length in the highest byte). A longer word's key is a mixture of
its bytes with the highest bit set; two such words are the same only if `same_word` says so, whatever their keys.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fastscore.kernels.bits import load64, mix64
from fastscore.kernels.jit import inlined
from fastscore.kernels.wide import blanks64, equal64, lowest_bit, lowest_bits

__all__ = ["LONG_WORD", "cut_words", "same_word", "word_key"]

LONG_WORD = np.uint64(1 << 63)
_ONE = np.uint64(1)


@inlined
def cut_words(clean: Any, at: int, end: int, keys: Any, starts: Any, count: int, articles: Any) -> int:
    """Append the words of ``clean[at:end]`` (a blank stands at `end`) that are no articles; the new number of words."""
    while at < end:
        blanks = blanks64(clean, at) & lowest_bits(end - at + 1)
        if blanks == 0:
            length = 64
            while clean[at + length] != 0x20:
                length += 1
            keys[count] = word_key(clean, at, length)
            starts[count] = at
            count += 1
            at += length + 1
            continue
        base = at
        while blanks != 0:
            stop = base + lowest_bit(blanks)
            blanks &= blanks - _ONE
            if stop > at:
                key = word_key(clean, at, stop - at)
                kept = 1
                for k in range(articles.size):
                    if articles[k] == key:
                        kept = 0
                keys[count] = key
                starts[count] = at
                count += kept
            at = stop + 1
    return count


@inlined
def word_key(clean: Any, at: int, length: int) -> Any:
    """The key of the word of `length` bytes, at least one, that starts at `at`."""
    eight = load64(clean, at)
    if length < 8:
        return eight & ((_ONE << np.uint64(8 * length)) - _ONE) | np.uint64(length) << np.uint64(56)
    key = mix64(eight, np.uint64(length))
    done = 8
    while done + 8 <= length:
        key = mix64(key, load64(clean, at + done))
        done += 8
    return mix64(key, load64(clean, at + length - 8)) | LONG_WORD


@inlined
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

"""Words cut from clean text: each word gets a key and the place where it starts.

A word of up to seven bytes is its own key (its bytes, and its length in the highest byte). A longer word's key is a mixture of
its bytes with the highest bit set; two such words are the same only if `same_word` says so, whatever their keys.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fastscore.kernels.bits import BLANKS, HIGH_BITS, LOW_BITS, first_byte_of, load64, mix64
from fastscore.kernels.jit import inner

__all__ = ["LONG_WORD", "cut_words", "same_word"]

LONG_WORD = np.uint64(1 << 63)
_ONE = np.uint64(1)


@inner
def cut_words(clean: Any, at: int, end: int, keys: Any, starts: Any, count: int, articles: Any) -> int:
    """Append the words of ``clean[at:end]`` (a blank stands at `end`) that are no articles; the new number of words."""
    while at < end:
        eight = load64(clean, at)
        other = eight ^ BLANKS
        blanks = (other - LOW_BITS) & ~other & HIGH_BITS
        if blanks != 0:
            length = first_byte_of(blanks)
            if length == 0:
                at += 1
                continue
            key = eight & ((_ONE << np.uint64(8 * length)) - _ONE) | np.uint64(length) << np.uint64(56)
            kept = 1
            for k in range(articles.size):
                if articles[k] == key:
                    kept = 0
        else:
            key, length = _long_key(clean, at, eight)
            kept = 1
        keys[count] = key
        starts[count] = at
        count += kept
        at += length + 1
    return count


@inner
def _long_key(clean: Any, at: int, eight: Any) -> Any:
    """Key and length of a word of eight bytes or more, the first of which are `eight`."""
    key = mix64(eight, np.uint64(0))
    length = 8
    more = load64(clean, at + length)
    other = more ^ BLANKS
    blanks = (other - LOW_BITS) & ~other & HIGH_BITS
    while blanks == 0:
        key = mix64(key, more)
        length += 8
        more = load64(clean, at + length)
        other = more ^ BLANKS
        blanks = (other - LOW_BITS) & ~other & HIGH_BITS
    rest = first_byte_of(blanks)
    key = mix64(key, more & ((_ONE << np.uint64(8 * rest)) - _ONE))
    return mix64(key, np.uint64(length + rest)) | LONG_WORD, length + rest


@inner
def same_word(clean: Any, one: int, other: int) -> bool:
    """Whether the words that start at `one` and `other` have the same bytes."""
    while True:
        eight = load64(clean, one)
        against = load64(clean, other)
        gaps = eight ^ BLANKS
        blanks = (gaps - LOW_BITS) & ~gaps & HIGH_BITS
        if blanks != 0:
            length = first_byte_of(blanks) + 1
            if length == 8:
                return bool(eight == against)
            mask = (_ONE << np.uint64(8 * length)) - _ONE
            return bool((eight ^ against) & mask == 0)
        if eight != against:
            return False
        one += 8
        other += 8

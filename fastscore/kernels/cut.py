"""Words cut from clean text: each word gets a key of two numbers.

A word of up to fifteen bytes is its own key: its bytes, and its length in the highest byte of the second number. A longer word's
key is a mixture of its bytes, and the place where it stands with the highest bit set; two such words are the same only if their
bytes are, which `same_key` looks up. No score depends on the mixture.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fastscore.kernels.bits import load64, mix64, store64
from fastscore.kernels.jit import inlined, inner
from fastscore.kernels.wide import blanks64, count_bits, equal64, lowest_bit, lowest_bits

__all__ = [
    "ARTICLE_MULTIPLIER",
    "ARTICLE_SLOTS",
    "LENGTH",
    "LONG_WORD",
    "PLACE",
    "article_slot",
    "cut_texts",
    "join_texts",
    "same_key",
    "word_key",
]

LONG_WORD = np.uint64(1 << 63)
#: The bits of a long word's second number that say where it stands.
PLACE = np.uint64((1 << 63) - 1)
#: By how many bits a short word's length is shifted in its second number.
LENGTH = np.uint64(56)
#: The articles' table has this many slots of two numbers; one more number behind them is the multiplier that spreads them.
ARTICLE_SLOTS = 64
ARTICLE_MULTIPLIER = 2 * ARTICLE_SLOTS
_ZERO = np.uint64(0)
_ONE = np.uint64(1)
_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)


@inner
def cut_texts(
    clean: Any, total: int, bounds: Any, texts: int, keys: Any, firsts: Any, articles: Any, masks: Any, ranks: Any, counts: Any
) -> None:
    """Cut the `texts` clean texts that fill ``clean[:total]``, each with a blank behind it, into words that are no articles.

    Text t's words are ``firsts[t]`` to ``firsts[t + 1]``, its end blank stands at ``bounds[2 * t + 1]``. The buffer is read as one
    stream; ``counts`` notes the number of words at each blank, ``masks`` and ``ranks`` say which blank stands where.
    """
    multiplier = articles[ARTICLE_MULTIPLIER]
    count: Any = 0
    blank, at = 0, 0
    for base in range(0, total, 64):
        blanks = blanks64(clean, base) & lowest_bits(min(64, total - base))
        masks[base >> 6] = blanks
        ranks[base >> 6] = blank
        while blanks != _ZERO:
            stop = base + lowest_bit(blanks)
            blanks &= blanks - _ONE
            low, high = word_key(clean, at, stop - at)
            slot = 2 * np.int64((low * multiplier) >> np.uint64(58))
            keys[2 * count] = low
            keys[2 * count + 1] = high
            count += np.int64(((articles[slot] ^ low) | (articles[slot + 1] ^ high)) * (high >> LENGTH) != _ZERO)
            counts[blank] = count
            blank += 1
            at = stop + 1
    firsts[0] = 0
    for text in range(texts):
        end = bounds[2 * text + 1]
        firsts[text + 1] = counts[ranks[end >> 6] + count_bits(masks[end >> 6] & lowest_bits(end & 63))]


@inner
def join_texts(clean: Any, keys: Any, firsts: Any, texts: int, out: Any, to: Any, joins: Any) -> Any:
    """Write each text's words with one blank between them, from ``out[to]`` on: text t becomes ``out[joins[t]:joins[t + 1]]``.

    `out` must have room for the clean texts and 16 bytes more. Returns the position after.
    """
    joins[0] = to
    for text in range(texts):
        for word in range(firsts[text], firsts[text + 1]):
            if word > firsts[text]:
                out[to] = 0x20
                to += 1
            low, high = keys[2 * word], keys[2 * word + 1]
            if high & LONG_WORD != _ZERO:
                at = np.int64(high & PLACE)
                while clean[at] != 0x20:
                    out[to] = clean[at]
                    to += 1
                    at += 1
            else:
                store64(out, to, low)
                store64(out, to + 8, high)
                to += np.int64(high >> LENGTH)
        joins[text + 1] = to
    return to


@inlined
def word_key(clean: Any, at: int, length: int) -> Any:
    """The key of the word of `length` bytes that starts at `at`; a word of no bytes has a key of zeros."""
    if length > 15:
        return _mixed(clean, at, length), np.uint64(at) | LONG_WORD
    low_mask = _ALL >> np.uint64(64 - 8 * max(1, min(length, 8)))
    high_mask = (_ONE << np.uint64(8 * max(length - 8, 0))) - _ONE
    return load64(clean, at) & low_mask, load64(clean, at + 8) & high_mask | np.uint64(length) << LENGTH


@inner
def _mixed(clean: Any, at: int, length: int) -> Any:
    """A mixture of the bytes of a word of more than fifteen."""
    low = mix64(load64(clean, at), np.uint64(length))
    done = 8
    while done + 8 <= length:
        low = mix64(low, load64(clean, at + done))
        done += 8
    return mix64(low, load64(clean, at + length - 8))


@inlined
def same_key(clean: Any, low: Any, high: Any, other_low: Any, other_high: Any) -> bool:
    """Whether two words are the same, given their keys."""
    if low != other_low:
        return False
    if high == other_high:
        return True
    return bool(
        high & other_high & LONG_WORD != _ZERO and _same_bytes(clean, np.int64(high & PLACE), np.int64(other_high & PLACE))
    )


@inner
def _same_bytes(clean: Any, one: int, other: int) -> bool:
    """Whether the words that start at `one` and `other` have the same bytes."""
    while True:
        blanks = blanks64(clean, one)
        different = ~equal64(clean, one, clean, other)
        if blanks == _ZERO:
            if different != _ZERO:
                return False
            one += 64
            other += 64
            continue
        return bool(different & lowest_bits(lowest_bit(blanks) + 1) == _ZERO)


def article_slot(low: int, multiplier: int) -> int:
    """The slot of an article in the articles' table, as `cut_texts` finds it."""
    return ((low * multiplier) & 0xFFFFFFFFFFFFFFFF) >> 58

"""Rows of few words, as short answers are: a reference list of at most 32 words in all is one mask of two bits a word.

Each word of a prediction is compared with eight reference words at once. A list is described once, by `describe_list`, for all
rows that have it; `score_few` takes the rows in which no side of a pair has more than fifteen words.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fastscore.kernels.compare import F1_TABLE_SIDE, answers_as_a_whole, same_words
from fastscore.kernels.cut import LONG_WORD, same_key
from fastscore.kernels.jit import inlined, inner
from fastscore.kernels.layout import (
    LANES,
    MATCH_CONTAINS,
    MATCH_VERBATIM,
    RULE_CANNOT_ANSWER,
    RULE_LEAVE_ONE_OUT,
    RULE_MATCH,
    RULE_NON_EMPTY,
    RULE_YES_NO,
)
from fastscore.kernels.search import find_bytes
from fastscore.kernels.wide import count_bits, equal_keys8, lowest_bits, same_bytes

__all__ = ["FEW_WORDS", "LIST_NUMBERS", "describe_list", "score_few", "score_few_by_rules", "share_few", "shared_by_mask"]

#: A list of so many words has room in one mask: two bits a word, the second of them spare.
FEW_WORDS = 32
# A list's numbers: where texts start, the spare bits where they end, and for each of up to eight texts its bits and its words.
_STARTS, _ENDS, _MASKS, _COUNTS = 0, 1, 2, 2 + LANES
LIST_NUMBERS = 2 + 2 * LANES
_ZERO, _ONE = np.uint64(0), np.uint64(1)


@inner
def describe_list(firsts: Any, low: int, high: int, numbers: Any) -> bool:
    """Fill the numbers of the list of texts `low` to `high`, at most `FEW_WORDS` words; whether `score_few` takes it."""
    starts, ends = _ZERO, _ZERO
    base, short = firsts[low], high - low <= LANES
    for text in range(low, high):
        first, last = firsts[text] - base, firsts[text + 1] - base
        if last > first:
            starts |= _ONE << np.uint64(2 * first)
            ends |= _ONE << np.uint64(2 * last - 1)
        if text - low < LANES:
            numbers[_MASKS + text - low] = lowest_bits(2 * last) & ~lowest_bits(2 * first)
            numbers[_COUNTS + text - low] = np.uint64(last - first)
        short &= last - first < F1_TABLE_SIDE
    numbers[_STARTS], numbers[_ENDS] = starts, ends
    return short


@inlined
def share_few(clean: Any, keys: Any, first: int, last: int, base: int, count: int, numbers: Any) -> Any:
    """The reference words, of `count` from `base` on, that words `first` to `last` of a prediction share, as bits.

    Each word of the prediction takes the first equal word of every reference that none took before: a subtraction at each
    reference's start, which the spare bit at its end keeps from the next, leaves the lowest bit of each.
    """
    starts, ends = numbers[_STARTS], numbers[_ENDS]
    inside = lowest_bits(2 * count)
    used = _ZERO
    for word in range(first, last):
        low, high = keys[2 * word], keys[2 * word + 1]
        found = _ZERO
        if high & LONG_WORD == _ZERO:
            for group in range(0, count, 8):
                found |= equal_keys8(keys, 2 * (base + group), low, high) << np.uint64(2 * group)
        else:
            found = _find_long(clean, keys, low, high, base, count)
        free = found & inside & ~used
        used |= free & ~((free | ends) - starts)
    return used


@inner
def _find_long(clean: Any, keys: Any, low: Any, high: Any, base: int, count: int) -> Any:
    """The bits of the words, of `count` from `base` on, that are the same as a long word."""
    found = _ZERO
    for word in range(base, base + count):
        if same_key(clean, low, high, keys[2 * word], keys[2 * word + 1]):
            found |= _ONE << np.uint64(2 * (word - base))
    return found


@inlined
def shared_by_mask(taken: Any, firsts: Any, text: int, n: int, shared: Any) -> None:
    """Fill ``shared[k]`` with the words that were taken of reference text ``text + k``, for any number of texts."""
    at = 0
    for k in range(n):
        until = 2 * (firsts[text + k + 1] - firsts[text])
        shared[k] = count_bits(taken & lowest_bits(until) & ~lowest_bits(at))
        at = until


@inlined
def score_few(
    taken: Any, numbers: Any, n: int, p_first: int, p_count: int, firsts: Any, text: int, clean: Any, keys: Any, f1s: Any, f1_table: Any,
    leave_one_out: int, verbatim: bool, p_data: Any, p_start: int, p_end: int, r_data: Any, r_starts: Any, r_ends: Any, of: int,
) -> Any:  # fmt: skip
    """Exact match, F1, precision, recall and best reference of a prediction of 1 to 15 words, as `compare` has them.

    Only pairs with an F1 of 1 can match: then the words are compared in order, or, `verbatim`, the texts from `of` on.
    """
    row = p_count * F1_TABLE_SIDE
    best, best_f1, second = 0, -1.0, -1.0
    for k in range(n):
        same = count_bits(taken & numbers[_MASKS + k])
        value = f1_table[same * (F1_TABLE_SIDE * F1_TABLE_SIDE) + row + np.int64(numbers[_COUNTS + k])]
        second = max(second, min(value, best_f1))
        best = k if value > best_f1 else best
        best_f1 = max(value, best_f1)
        f1s[k] = value
    value, match, matching = best_f1, 0.0, 0
    if leave_one_out and n > 1:
        value = 0.0
        for k in range(n):
            value += second if k == best else best_f1
        value /= n
    if best_f1 == 1.0:
        for k in range(best, n):
            if f1s[k] == 1.0:
                if verbatim:
                    alike = same_bytes(p_data, p_start, p_end, r_data, r_starts[of + k], r_ends[of + k])
                else:
                    alike = same_words(clean, p_first, firsts[text + k], p_count, keys)
                if alike:
                    best = k if matching == 0 else best
                    matching += 1
                    if not leave_one_out:
                        break
        match = 1.0 if matching else 0.0
        if leave_one_out and n > 1 and matching == 1:
            match = (n - 1) / n
        return match, value, 1.0, 1.0, best
    same = count_bits(taken & numbers[_MASKS + best])
    expected = np.int64(numbers[_COUNTS + best])
    return match, value, same / p_count, same / (expected if expected else 1), best


@inlined
def score_few_by_rules(
    taken: Any, numbers: Any, n: int, p_first: int, p_count: int, firsts: Any, text: int, clean: Any, keys: Any, f1s: Any, f1_table: Any,
    rules: Any, row: int, of: int, p_whole: Any, r_whole: Any, r_kept: Any,
    p_data: Any, p_starts: Any, p_ends: Any, r_data: Any, r_starts: Any, r_ends: Any, joined: Any, joins: Any, p: int, fail: Any,
) -> Any:  # fmt: skip
    """As `score_few`, for recipes in which not all references count, some texts match as a whole alone, or a part matches."""
    kind, yes_no, one_word = rules[RULE_MATCH], rules[RULE_YES_NO], False
    if yes_no:
        one_word = answers_as_a_whole(p_first, p_count, keys)
    best, best_f1, second, used = 0, -1.0, -1.0, 0
    for k in range(n):
        words = np.int64(numbers[_COUNTS + k])
        f1s[k] = -1.0
        if (rules[RULE_NON_EMPTY] and words == 0) or (r_kept.size and not r_kept[of + k]):
            continue
        same = count_bits(taken & numbers[_MASKS + k])
        value = f1_table[(same * F1_TABLE_SIDE + p_count) * F1_TABLE_SIDE + words]
        if yes_no and 0.0 < value < 1.0 and (one_word or answers_as_a_whole(firsts[text + k], words, keys)):
            value = 0.0
        if rules[RULE_CANNOT_ANSWER] and r_whole[of + k]:
            value = 1.0 if p_whole[row] else 0.0
        second = max(second, min(value, best_f1))
        best = k if value > best_f1 else best
        best_f1 = max(value, best_f1)
        f1s[k] = value
        used += 1
    if used == 0:
        return 1.0 if kind == MATCH_CONTAINS else 0.0, 0.0, 0.0, 0.0, 0
    f1, leave_one_out = best_f1, rules[RULE_LEAVE_ONE_OUT] and used > 1
    if leave_one_out:
        f1 = 0.0
        for k in range(n):
            if f1s[k] >= 0.0:
                f1 += second if k == best else best_f1
        f1 /= used
    match, first = 0.0, best
    if best_f1 == 1.0 or kind == MATCH_CONTAINS:
        matching, tied = 0, True
        for k in range(n):
            if f1s[k] < (0.0 if kind == MATCH_CONTAINS else 1.0):
                continue
            if rules[RULE_CANNOT_ANSWER] and r_whole[of + k]:
                alike = p_whole[row] != 0
            elif kind == MATCH_CONTAINS:
                alike = find_bytes(joined, joins[p], joins[p + 1], joined, joins[text + k], joins[text + k + 1], fail)
            elif kind == MATCH_VERBATIM:
                alike = same_bytes(p_data, p_starts[row], p_ends[row], r_data, r_starts[of + k], r_ends[of + k])
            else:
                alike = same_words(clean, p_first, firsts[text + k], p_count, keys)
            if alike:
                matching += 1
                if tied and f1s[k] == best_f1:
                    first, tied = k, False
                    if not leave_one_out:
                        break
        match = 1.0 if matching else 0.0
        if leave_one_out and matching == 1:
            match = (used - 1) / used
    if best_f1 == 0.0 or best_f1 == 1.0:
        return match, f1, best_f1, best_f1, first
    same, words = count_bits(taken & numbers[_MASKS + first]), np.int64(numbers[_COUNTS + first])
    return match, f1, same / p_count, same / words, first

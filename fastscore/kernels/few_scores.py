"""Item scores of rows whose reference list has few words, from what `few.share_words` found.

`score_few` takes the rules by which all references count alike, without a branch that depends on the texts; it leaves the few
rows that need more. `score_few_by_rules` takes one such row, and every row of the other rules.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fastscore.kernels.compare import F1_TABLE_SIDE, answers_as_a_whole, same_words
from fastscore.kernels.eights import equal_words8
from fastscore.kernels.few import COUNTS, MASKS
from fastscore.kernels.jit import inlined
from fastscore.kernels.layout import (
    MATCH_CONTAINS,
    MATCH_VERBATIM,
    RULE_CANNOT_ANSWER,
    RULE_LEAVE_ONE_OUT,
    RULE_MATCH,
    RULE_NON_EMPTY,
    RULE_YES_NO,
)
from fastscore.kernels.search import find_bytes
from fastscore.kernels.wide import ALL_BITS, count_bits, equal64, lowest_bits, same_bytes

__all__ = ["score_few", "score_few_by_rules"]

_SQUARE = F1_TABLE_SIDE * F1_TABLE_SIDE


@inlined
def score_few(
    taken: Any, numbers: Any, n: int, low: int, high: int, rows: Any, firsts: Any, text: int, keys: Any, f1_table: Any, rules: Any,
    p_data: Any, p_starts: Any, p_ends: Any, r_data: Any, r_starts: Any, r_ends: Any, l_starts: Any,
    exact_match: Any, f1: Any, precision: Any, recall: Any, best_reference: Any, left: Any,
) -> int:  # fmt: skip
    """Score predictions `low` to `high` of one list, as `compare` has it; how many are left, and in `left` which.

    Left are those of no words or more than fifteen, and those that have all words of a reference but not word by word. With an
    F1 of 1 the words are compared in order, or, where the recipe matches verbatim, the texts.
    """
    verbatim, yes_no, leave_one_out = rules[RULE_MATCH] == MATCH_VERBATIM, rules[RULE_YES_NO], rules[RULE_LEAVE_ONE_OUT] and n > 1
    r_alone = yes_no and answers_as_a_whole(firsts[text], firsts[text + 1] - firsts[text], keys)
    lefts = 0
    for p in range(low, high):
        row, p_first = rows[p], firsts[p]
        p_count = firsts[p + 1] - p_first
        if not 0 < p_count < F1_TABLE_SIDE:
            left[lefts] = p
            lefts += 1
            continue
        mine = taken[p_first + p_count - 1]
        side = p_count * F1_TABLE_SIDE
        best, best_f1, second = 0, -1.0, -1.0
        for k in range(n):
            value = f1_table[count_bits(mine & numbers[MASKS + k]) * _SQUARE + side + np.int64(numbers[COUNTS + k])]
            second = max(second, min(value, best_f1))
            best = k if value > best_f1 else best
            best_f1 = max(value, best_f1)
        of = l_starts[row]
        if verbatim:
            alike = _same_texts(p_data, p_starts[row], p_ends[row], r_data, r_starts[of + best], r_ends[of + best])
        else:
            alike = _same_few_words(keys, p_first, firsts[text + best], p_count)
        whole = best_f1 == 1.0
        match = 1.0 if whole else 0.0
        value = best_f1
        if leave_one_out:
            value, matching = 0.0, 0
            for k in range(n):
                value += second if k == best else best_f1
                same = (numbers[COUNTS + k] == np.uint64(p_count)) & _same_few_words(keys, p_first, firsts[text + k], p_count)
                matching += 1 if same else 0
            value /= n
            match = (n - 1) / n if whole and matching == 1 else match
        same = count_bits(mine & numbers[MASKS + best])
        p_value, r_value = same / p_count, same / max(int(numbers[COUNTS + best]), 1)
        if yes_no and best_f1 < 1.0 and (r_alone or answers_as_a_whole(p_first, p_count, keys)):
            value, p_value, r_value = 0.0, 0.0, 0.0
        exact_match[row], f1[row], precision[row], recall[row], best_reference[row] = match, value, p_value, r_value, best
        left[lefts] = p
        lefts += 1 if whole and not alike else 0
    return lefts


@inlined
def _same_few_words(keys: Any, one: int, other: int, count: int) -> bool:
    """Whether up to eight words have the same keys in order; not so for long words, whose keys say where they stand."""
    return (count <= 8) & ((equal_words8(keys, one, other) | ~lowest_bits(2 * min(count, 8))) == ALL_BITS)


@inlined
def _same_texts(a: Any, at: int, a_end: int, b: Any, other: int, b_end: int) -> bool:
    """As `same_bytes`, in one comparison where the texts are short."""
    size = a_end - at
    if size > 64 or at + 64 > a.size or other + 64 > b.size:
        return same_bytes(a, at, a_end, b, other, b_end)
    return (b_end - other == size) & ((equal64(a, at, b, other) | ~lowest_bits(size)) == ALL_BITS)


@inlined
def score_few_by_rules(
    taken: Any, numbers: Any, n: int, p_first: int, p_count: int, firsts: Any, text: int, clean: Any, keys: Any, f1s: Any, f1_table: Any,
    rules: Any, row: int, of: int, p_whole: Any, r_whole: Any, r_kept: Any,
    p_data: Any, p_starts: Any, p_ends: Any, r_data: Any, r_starts: Any, r_ends: Any, joined: Any, joins: Any, p: int, fail: Any,
) -> Any:  # fmt: skip
    """Exact match, F1, precision, recall and best reference of a prediction of 1 to 15 words, as `compare` has them, by any rules.

    Those are recipes in which not all references count, some texts match as a whole alone, or a part matches.
    """
    kind, yes_no, one_word = rules[RULE_MATCH], rules[RULE_YES_NO], False
    if yes_no:
        one_word = answers_as_a_whole(p_first, p_count, keys)
    best, best_f1, second, used = 0, -1.0, -1.0, 0
    for k in range(n):
        words = np.int64(numbers[COUNTS + k])
        f1s[k] = -1.0
        if (rules[RULE_NON_EMPTY] and words == 0) or (r_kept.size and not r_kept[of + k]):
            continue
        same = count_bits(taken & numbers[MASKS + k])
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
    same, words = count_bits(taken & numbers[MASKS + first]), np.int64(numbers[COUNTS + first])
    return match, f1, same / p_count, same / words, first

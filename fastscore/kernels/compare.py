"""One prediction against its references: exact match and F1 of each pair, and their combination by the references rule."""

from __future__ import annotations

from typing import Any

import numpy as np

from fastscore.kernels.cut import same_key
from fastscore.kernels.jit import inlined, inner
from fastscore.kernels.layout import (
    MATCH_CONTAINS,
    MATCH_GIVEN,
    MATCH_VERBATIM,
    MATCH_WORDS,
    RULE_CANNOT_ANSWER,
    RULE_EMPTY_AGREES,
    RULE_FIRST,
    RULE_LEAVE_ONE_OUT,
    RULE_MATCH,
    RULE_NON_EMPTY,
    RULE_YES_NO,
)
from fastscore.kernels.search import find_bytes
from fastscore.kernels.wide import same_bytes

__all__ = ["F1_TABLE_SIDE", "answers_as_a_whole", "combine", "f1_of", "same_words", "score_pair", "score_row"]

#: F1 of pairs of fewer words than this on each side is looked up.
F1_TABLE_SIDE = 16
_YES = np.uint64(int.from_bytes(b"yes", "little"))
_NO = np.uint64(int.from_bytes(b"no", "little"))
_NOANSWER = np.uint64(int.from_bytes(b"noanswer", "little"))
_LENGTH = np.uint64(56)
#: A zero of the type of all counts: a literal would make the compiler compile what it is handed to once more.
_NONE = np.int64(0)


@inlined
def same_words(clean: Any, one: int, other: int, count: int, keys: Any) -> bool:
    """Whether `count` words from word `one` on equal those from word `other` on, in order."""
    for k in range(count):
        a, b = 2 * (one + k), 2 * (other + k)
        if not same_key(clean, keys[a], keys[a + 1], keys[b], keys[b + 1]):
            return False
    return True


@inlined
def f1_of(shared: int, predicted: int, expected: int, f1_table: Any) -> Any:
    """F1, in the order of operations of the published scripts; `f1_table` holds what this gives for few words."""
    if predicted < F1_TABLE_SIDE and expected < F1_TABLE_SIDE:
        return f1_table[(shared * F1_TABLE_SIDE + predicted) * F1_TABLE_SIDE + expected]
    if shared == 0:
        return 0.0
    precision = 1.0 * shared / predicted
    recall = 1.0 * shared / expected
    return (2 * precision * recall) / (precision + recall)


@inlined
def answers_as_a_whole(first: int, count: int, keys: Any) -> bool:
    """Whether the words are one of HotpotQA's yes, no and noanswer."""
    if count != 1:
        return False
    low, length = keys[2 * first], keys[2 * first + 1] >> _LENGTH
    yes_no = (low == _YES and length == np.uint64(3)) or (low == _NO and length == np.uint64(2))
    return bool(yes_no or (low == _NOANSWER and keys[2 * first + 1] == np.uint64(8) << _LENGTH))


@inlined
def score_pair(
    clean: Any,
    shared: int,
    p: int,
    p_count: int,
    r: int,
    r_count: int,
    keys: Any,
    f1_table: Any,
    empty_agrees: int,
    yes_no: int,
    match_wanted: bool,
) -> Any:
    """Exact match and F1 of the `p_count` prediction words from `p` on against the `r_count` reference words from `r` on.

    Where the match is not wanted, since one before decides, it is 0 for words that agree in number and kind.
    """
    if p_count == 0 or r_count == 0:
        match = 1.0 if p_count == r_count else 0.0
        f1 = match if empty_agrees else 0.0
    else:
        f1 = f1_of(shared, p_count, r_count, f1_table)
        match = 0.0
        if match_wanted and shared == p_count and shared == r_count and same_words(clean, p, r, r_count, keys):
            match = 1.0
    if yes_no and match == 0.0 and (answers_as_a_whole(p, p_count, keys) or answers_as_a_whole(r, r_count, keys)):
        f1 = 0.0
    return match, f1


@inlined
def combine(matches: Any, f1s: Any, n: int, leave_one_out: int) -> Any:
    """Exact match and F1 over `n` references by the references rule, and the index of the best reference."""
    best, best_match, best_f1 = 0, matches[0], f1s[0]
    second_match, second_f1 = -1.0, -1.0
    tie_match = matches[0]
    for k in range(1, n):
        match, f1 = matches[k], f1s[k]
        second_match = max(second_match, min(match, best_match))
        best_match = max(best_match, match)
        second_f1 = max(second_f1, min(f1, best_f1))
        better = f1 > best_f1 or (f1 == best_f1 and match > tie_match)
        best = k if better else best
        tie_match = match if better else tie_match
        best_f1 = max(best_f1, f1)
    if not leave_one_out or n == 1:
        return best_match, best_f1, best
    return _leave_one_out(matches, best_match, second_match, n), _leave_one_out(f1s, best_f1, second_f1, n), best


@inlined
def _leave_one_out(values: Any, best: float, second: float, n: int) -> float:
    """The mean over the n sets of n - 1 values of the best in each, summed in order from 0.0."""
    total = 0.0
    left = True
    for k in range(n):
        if left and values[k] == best:
            total += second
            left = False
        else:
            total += best
    return total / n


@inner
def score_row(
    given: Any, given_firsts: Any, rules: Any, row: int, p: int, p_first: int, p_count: int, n: int, text: int, plain: bool,
    p_data: Any, p_starts: Any, p_ends: Any, p_whole: Any, r_data: Any, r_starts: Any, r_ends: Any, r_whole: Any, r_kept: Any, of: int,
    clean: Any, keys: Any, firsts: Any, shared: Any, matches: Any, f1s: Any, places: Any, f1_table: Any, joined: Any, joins: Any, fail: Any,
) -> Any:  # fmt: skip
    """Exact match, F1, precision, recall and best reference of one row of any size, given the words it shares with each reference."""
    empty_agrees, yes_no, leave_one_out = rules[RULE_EMPTY_AGREES], rules[RULE_YES_NO], rules[RULE_LEAVE_ONE_OUT]
    non_empty, whole, kind, chosen = rules[RULE_NON_EMPTY], rules[RULE_CANNOT_ANSWER], rules[RULE_MATCH], r_kept.size > 0
    one_match_decides = plain and not leave_one_out and not yes_no
    used, match_wanted = 0, n >= 0
    for k in range(n):
        r_first = firsts[text + k]
        r_count = firsts[text + k + 1] - r_first
        if (non_empty and r_count == 0) or (chosen and not r_kept[of + k]):
            continue
        match, value = score_pair(
            clean, shared[k], p_first, p_count, r_first, r_count, keys, f1_table, empty_agrees, yes_no, match_wanted
        )
        if kind != MATCH_WORDS:
            if kind == MATCH_VERBATIM:
                same_texts = same_bytes(p_data, p_starts[row], p_ends[row], r_data, r_starts[of + k], r_ends[of + k])
            elif kind == MATCH_CONTAINS:
                same_texts = find_bytes(joined, joins[p], joins[p + 1], joined, joins[text + k], joins[text + k + 1], fail)
            else:
                same_texts = given[given_firsts[row] + k] != 0
            match = 1.0 if same_texts else 0.0
        if whole and r_whole[of + k]:
            match = 1.0 if p_whole[row] else 0.0
            value = match
        matches[used], f1s[used], places[used] = match, value, k
        match_wanted = match_wanted and (match == 0.0 or not one_match_decides)
        used += 1
    if used == 0:
        match, value = score_pair(
            clean, _NONE, p_first, p_count, p_first, _NONE, keys, f1_table, empty_agrees, yes_no, match_wanted
        )
        if kind != MATCH_WORDS:
            empty = given[given_firsts[row] + n] != 0 if kind == MATCH_GIVEN else p_starts[row] == p_ends[row]
            match = 1.0 if kind == MATCH_CONTAINS or empty else 0.0
        matches[0], f1s[0], places[0] = match, value, 0 if n else -1
        used = 1
    if rules[RULE_FIRST]:
        used = 1
    match, value, best = combine(matches, f1s, used, leave_one_out)
    place = places[best]
    p_value, r_value = f1s[best], f1s[best]
    if 0.0 < p_value < 1.0:
        p_value = shared[place] / p_count
        r_value = shared[place] / (firsts[text + place + 1] - firsts[text + place])
    return match, value, p_value, r_value, place

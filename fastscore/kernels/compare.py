"""One prediction against its references: exact match and F1 of each pair, and their combination by the references rule."""

from __future__ import annotations

from typing import Any

import numpy as np

from fastscore.kernels.cut import same_key
from fastscore.kernels.jit import inlined

__all__ = ["F1_TABLE_SIDE", "answers_as_a_whole", "combine", "f1_of", "same_words", "score_pair"]

#: F1 of pairs of fewer words than this on each side is looked up.
F1_TABLE_SIDE = 16
_YES = np.uint64(int.from_bytes(b"yes", "little"))
_NO = np.uint64(int.from_bytes(b"no", "little"))
_NOANSWER = np.uint64(int.from_bytes(b"noanswer", "little"))
_LENGTH = np.uint64(56)


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

"""One prediction against its references: exact match and F1 of each pair, and their combination by the references rule."""

from __future__ import annotations

from typing import Any

import numpy as np

from fastscore.kernels.bits import load64
from fastscore.kernels.cut import LONG_WORD, same_word
from fastscore.kernels.jit import inlined

__all__ = ["combine", "f1_of", "same_words", "score_pair"]

_YES = np.uint64(int.from_bytes(b"yes", "little") | 3 << 56)
_NO = np.uint64(int.from_bytes(b"no", "little") | 2 << 56)
_NOANSWER = np.uint64(int.from_bytes(b"noanswer", "little"))


@inlined
def same_words(clean: Any, one: int, other: int, count: int, keys: Any, starts: Any) -> bool:
    """Whether `count` words from word `one` on equal those from word `other` on, in order."""
    for k in range(count):
        key = keys[one + k]
        if key != keys[other + k]:
            return False
        if key & LONG_WORD != np.uint64(0) and not same_word(clean, starts[one + k], starts[other + k]):
            return False
    return True


@inlined
def f1_of(shared: int, predicted: int, expected: int) -> Any:
    """Precision, recall and F1, in the order of operations of the published scripts."""
    if shared == 0:
        return 0.0, 0.0, 0.0
    precision = 1.0 * shared / predicted
    recall = 1.0 * shared / expected
    return precision, recall, (2 * precision * recall) / (precision + recall)


@inlined
def _answers_as_a_whole(clean: Any, first: int, count: int, keys: Any, starts: Any) -> bool:
    """Whether the words are one of HotpotQA's yes, no and noanswer."""
    if count != 1:
        return False
    key = keys[first]
    if key & LONG_WORD == np.uint64(0):
        return bool(key == _YES or key == _NO)
    return bool(load64(clean, starts[first]) == _NOANSWER and clean[starts[first] + 8] == 0x20)


@inlined
def score_pair(clean: Any, shared: int, p: int, p_count: int, r: int, r_count: int, keys: Any, starts: Any, empty_agrees: int, yes_no: int) -> Any:
    """Exact match and F1 of the `p_count` prediction words from `p` on against the `r_count` reference words from `r` on."""
    if p_count == 0 or r_count == 0:
        match = 1.0 if p_count == r_count else 0.0
        f1 = match if empty_agrees else 0.0
    else:
        _, _, f1 = f1_of(shared, p_count, r_count)
        match = 0.0
        if shared == p_count and shared == r_count and same_words(clean, p, r, r_count, keys, starts):
            match = 1.0
    if yes_no and match == 0.0:
        whole = _answers_as_a_whole(clean, p, p_count, keys, starts) or _answers_as_a_whole(clean, r, r_count, keys, starts)
        if whole:
            f1 = 0.0
    return match, f1


@inlined
def combine(matches: Any, f1s: Any, n: int, leave_one_out: int) -> Any:
    """Exact match and F1 over `n` references by the references rule, and the index of the best reference."""
    best = 0
    best_match, second_match, second_f1 = matches[0], -1.0, -1.0
    for k in range(1, n):
        match = matches[k]
        if match > best_match:
            second_match = best_match
            best_match = match
        elif match > second_match:
            second_match = match
        if f1s[k] > f1s[best] or (f1s[k] == f1s[best] and match > matches[best]):
            second_f1 = max(second_f1, f1s[best])
            best = k
        elif f1s[k] > second_f1:
            second_f1 = f1s[k]
    if not leave_one_out or n == 1:
        return best_match, f1s[best], best
    total_match, total_f1 = 0.0, 0.0
    left_match = True
    for k in range(n):
        if left_match and matches[k] == best_match:
            total_match += second_match
            left_match = False
        else:
            total_match += best_match
        total_f1 += second_f1 if k == best else f1s[best]
    return total_match / n, total_f1 / n, best

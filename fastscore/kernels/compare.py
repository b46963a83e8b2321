"""One prediction against its references: exact match and F1 of each pair, and their combination by the references rule."""

from __future__ import annotations

from typing import Any

import numpy as np

from fastscore.kernels.bits import load64
from fastscore.kernels.cut import LONG_WORD, same_word
from fastscore.kernels.jit import inner
from fastscore.kernels.layout import (
    RULE_EMPTY_AGREES,
    RULE_FIRST,
    RULE_LEAVE_ONE_OUT,
    RULE_NON_EMPTY,
    RULE_YES_NO,
)

__all__ = ["combine", "f1_of", "same_words", "score_pair"]

_YES = np.uint64(int.from_bytes(b"yes", "little") | 3 << 56)
_NO = np.uint64(int.from_bytes(b"no", "little") | 2 << 56)
_NOANSWER = np.uint64(int.from_bytes(b"noanswer", "little"))


@inner
def same_words(clean: Any, one: int, other: int, count: int, keys: Any, starts: Any) -> bool:
    """Whether `count` words from word `one` on equal those from word `other` on, in order."""
    for k in range(count):
        key = keys[one + k]
        if key != keys[other + k]:
            return False
        if key & LONG_WORD != np.uint64(0) and not same_word(clean, starts[one + k], starts[other + k]):
            return False
    return True


@inner
def f1_of(shared: int, predicted: int, expected: int) -> Any:
    """Precision, recall and F1, in the order of operations of the published scripts."""
    if shared == 0:
        return 0.0, 0.0, 0.0
    precision = 1.0 * shared / predicted
    recall = 1.0 * shared / expected
    return precision, recall, (2 * precision * recall) / (precision + recall)


@inner
def _answers_as_a_whole(clean: Any, first: int, count: int, keys: Any, starts: Any) -> bool:
    """Whether the words are one of HotpotQA's yes, no and noanswer."""
    if count != 1:
        return False
    key = keys[first]
    if key & LONG_WORD == np.uint64(0):
        return bool(key == _YES or key == _NO)
    return bool(load64(clean, starts[first]) == _NOANSWER and clean[starts[first] + 8] == 0x20)


@inner
def score_pair(clean: Any, shared: int, p: int, np_: int, r: int, nr: int, keys: Any, starts: Any, rules: Any) -> Any:
    """Exact match, F1, precision and recall of prediction words ``p..p+np_`` against reference words ``r..r+nr``."""
    if np_ == 0 or nr == 0:
        match = 1.0 if np_ == nr else 0.0
        value = match if rules[RULE_EMPTY_AGREES] else 0.0
        precision, recall, f1 = value, value, value
    else:
        precision, recall, f1 = f1_of(shared, np_, nr)
        match = 0.0
        if shared == np_ and shared == nr and same_words(clean, p, r, nr, keys, starts):
            match = 1.0
    if rules[RULE_YES_NO] and match == 0.0:
        whole = _answers_as_a_whole(clean, p, np_, keys, starts) or _answers_as_a_whole(clean, r, nr, keys, starts)
        if whole:
            precision, recall, f1 = 0.0, 0.0, 0.0
    return match, f1, precision, recall


@inner
def combine(matches: Any, f1s: Any, n: int, rules: Any) -> Any:
    """Exact match and F1 over `n` references by the references rule, and the index of the best reference."""
    if rules[RULE_FIRST]:
        n = 1
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
    if not rules[RULE_LEAVE_ONE_OUT] or n == 1:
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

"""Positional scores of answer spans: rows of predicted and of reference ranges come in, one number a row goes out.

A row's spans lie in `start` and `end` from the row's `begin` to its `stop`; the bits of `valid`, from bit `bit` on, say
which of them are answers (an empty `valid`: all are). A span that is no answer overlaps nothing, whatever its offsets hold.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fastscore.kernels.jit import inner, kernel

__all__ = ["score_spans", "suspicious_spans", "unsound_row"]

_IN = "Array(int64, 1, 'C', readonly=True)"
_SPANS = f"{_IN}, {_IN}, {_IN}, {_IN}, Array(uint8, 1, 'C', readonly=True), int64"


@inner
def _is_answer(valid: Any, bit: int, span: int) -> bool:
    return len(valid) == 0 or (valid[(bit + span) >> 3] >> ((bit + span) & 7)) & 1 == 1


@inner
def _range_f1(same: int, length: int, ref_length: int) -> float:
    """F1 of two ranges that share `same` characters, more than none."""
    precision = same / length
    recall = same / ref_length
    return (2 * precision * recall) / (precision + recall)


@kernel(f"void({_SPANS}, {_SPANS}, {_IN}, int64, int64, int64, float64[::1], float64[::1], float64[:, ::1])")
def score_spans(
    p_begin: Any,
    p_stop: Any,
    p_start: Any,
    p_end: Any,
    p_valid: Any,
    p_bit: int,
    r_begin: Any,
    r_stop: Any,
    r_start: Any,
    r_end: Any,
    r_valid: Any,
    r_bit: int,
    top_n: Any,
    touching: int,
    lo: int,
    hi: int,
    exact: Any,
    f1: Any,
    top: Any,
) -> None:
    """Fill `exact`, `f1` (of the first span) and `top[i]` (a hit within ``top_n[i]`` spans) for rows `lo` to `hi`.

    `top_n` ascends; `touching` is 1 where spans that only touch count as overlapping, else 0.
    """
    longest = top_n[top_n.size - 1]
    for row in range(lo, hi):
        p, p_last = p_begin[row], min(p_stop[row], p_begin[row] + longest)
        r, r_last = r_begin[row], r_stop[row]
        equal, best, hit = 0.0, 0.0, longest
        if p < p_last and _is_answer(p_valid, p_bit, p):
            start, end = p_start[p], p_end[p]
            for ref in range(r, r_last):
                same = min(end, r_end[ref]) - max(start, r_start[ref])
                if same + touching > 0 and _is_answer(r_valid, r_bit, ref):
                    hit = 0
                    if same > 0:
                        best = max(best, _range_f1(same, end - start, r_end[ref] - r_start[ref]))
                if start == r_start[ref] and end == r_end[ref] and _is_answer(r_valid, r_bit, ref):
                    equal = 1.0
        exact[row] = equal
        f1[row] = best
        for span in range(p + 1, p_last):
            if hit < longest:
                break
            for ref in range(r, r_last):
                overlap = max(p_start[span], r_start[ref]) < min(p_end[span], r_end[ref]) + touching
                if overlap and _is_answer(r_valid, r_bit, ref) and _is_answer(p_valid, p_bit, span):
                    hit = span - p
                    break
        for i in range(len(top_n)):
            top[i, row] = 1.0 if hit < top_n[i] else 0.0


@kernel(f"void({_IN}, {_IN}, int64, int64, int64[::1])")
def suspicious_spans(start: Any, end: Any, lo: int, hi: int, found: Any) -> None:
    """Set ``found[0]`` to 1 if a span from `lo` to `hi`, answer or not, is negative or ends before it starts, else to 0."""
    starts, ends = start[lo:hi], end[lo:hi]
    sign = np.int64(0)
    for span in range(len(starts)):
        sign |= starts[span] | (ends[span] - starts[span])
    found[0] = sign < 0


@kernel(f"void({_SPANS}, int64, int64, int64[::1])")
def unsound_row(begin: Any, stop: Any, start: Any, end: Any, valid: Any, bit: int, lo: int, hi: int, found: Any) -> None:
    """Set ``found`` to the first row, and its span, whose answer is negative or ends before it starts, or its first to -1."""
    found[0] = -1
    for row in range(lo, hi):
        for span in range(begin[row], stop[row]):
            if (start[span] < 0 or end[span] < start[span]) and _is_answer(valid, bit, span):
                found[0] = row
                found[1] = span
                return

"""Measures of ranked lists: lists of ids and judged ids come in, one number a query and measure goes out.

A query's ranked documents are first looked up among its judged ones; a sieve of the ids' last bytes spares most of them the
look into the table. What remains is short: the ranks (from 0) and grades
of the judged documents that were retrieved, each once, and the positive grades in descending order. Measures read those.
"""

from __future__ import annotations

import math
from typing import Any

from fastscore.kernels.ids import ID_COLUMN, INT64_IN, find, hint, id_at, insert, reset, table_size
from fastscore.kernels.jit import inner, kernel

__all__ = ["ALL_RANKS", "KINDS", "SIEVE", "order_by_score", "score_rankings"]

SUCCESS, RECALL, PRECISION, MRR, MAP, NDCG, NDCG_EXP, R_PRECISION, BPREF, JUDGED = range(10)
KINDS = ("success", "recall", "precision", "mrr", "map", "ndcg", "ndcg_exp", "r_precision", "bpref", "judged")
ALL_RANKS = 2**62
SIEVE = 8  # entries of the sieve for each of the table


@inner
def _judge(
    begin: int,
    stop: int,
    order: Any,
    offsets: Any,
    data: Any,
    slots: Any,
    keys: Any,
    size: int,
    sieve: Any,
    q_offsets: Any,
    q_data: Any,
    grades: Any,
    ranks: Any,
    found: Any,
) -> Any:
    """Fill `ranks` and `found` with rank and grade of the judged documents in the list, each once; returns how many."""
    hits = 0
    for position in range(begin, stop):
        doc = id_at(order, position)
        if not sieve[hint(data, offsets[doc], offsets[doc + 1], SIEVE * size)] or offsets[doc] == offsets[doc + 1]:
            continue
        at = find(slots, keys, size, q_offsets, q_data, data, offsets[doc], offsets[doc + 1])
        if at < 0 or slots[at] < 0:
            continue
        ranks[hits] = position - begin
        found[hits] = grades[slots[at] - 1] if len(grades) else 1
        slots[at] = -slots[at]
        hits += 1
    return hits


@inner
def _sift(values: Any, root: int, size: int) -> None:
    while 2 * root + 1 < size:
        child = 2 * root + 1
        if child + 1 < size and values[child + 1] < values[child]:
            child += 1
        if values[root] <= values[child]:
            return
        values[root], values[child] = values[child], values[root]
        root = child


@inner
def _sort_descending(values: Any, size: int) -> None:
    """Sort the first `size` values in place (heap sort), at once where they are in order already."""
    in_order = True
    for i in range(1, size):
        in_order &= values[i] <= values[i - 1]
    if in_order:
        return
    for root in range(size // 2 - 1, -1, -1):
        _sift(values, root, size)
    for last in range(size - 1, 0, -1):
        values[0], values[last] = values[last], values[0]
        _sift(values, 0, last)


@inner
def _count(ranks: Any, found: Any, hits: int, cutoff: int, lowest: int) -> Any:
    """Documents of at least that grade among the first `cutoff`."""
    count = 0
    for i in range(hits):
        if ranks[i] >= cutoff:
            break
        count += found[i] >= lowest
    return count


@inner
def _reciprocal_rank(ranks: Any, found: Any, hits: int, cutoff: int, lowest: int) -> Any:
    for i in range(hits):
        if found[i] >= lowest:
            return 1.0 / (ranks[i] + 1) if ranks[i] < cutoff else 0.0
    return 0.0


@inner
def _average_precision(ranks: Any, found: Any, hits: int, cutoff: int, lowest: int, relevant: int) -> Any:
    total = 0.0
    so_far = 0
    for i in range(hits):
        if ranks[i] < cutoff and found[i] >= lowest:
            so_far += 1
            total += so_far / (ranks[i] + 1)
    return total / relevant


@inner
def _gain(grade: int, exponential: bool) -> Any:
    return math.ldexp(1.0, grade) - 1.0 if exponential else float(grade)


@inner
def _ndcg(ranks: Any, found: Any, hits: int, ideal: Any, ideals: int, cutoff: int, discounts: Any, exponential: bool) -> Any:
    """Gains over log2(rank + 1), over the same of the best possible order, both cut."""
    best = 0.0
    for i in range(min(ideals, cutoff)):
        best += _gain(ideal[i], exponential) / discounts[i]
    got = 0.0
    for i in range(hits):
        if ranks[i] < cutoff and found[i] > 0:
            got += _gain(found[i], exponential) / discounts[ranks[i]]
    return got / best if best > 0 else 0.0


@inner
def _bpref(found: Any, hits: int, lowest: int, relevant: int, others: int) -> Any:
    """Binary preference; a negative grade is a document that is in the pool but was not judged."""
    total = 0.0
    passed = 0
    for i in range(hits):
        if found[i] >= lowest:
            total += 1.0 - min(passed, relevant) / min(others, relevant) if passed > 0 else 1.0
        elif found[i] >= 0:
            passed += 1
    return total / relevant


@inner
def _measure(
    kind: int,
    cutoff: int,
    ranks: Any,
    found: Any,
    hits: int,
    ideal: Any,
    ideals: int,
    length: int,
    relevant: int,
    others: int,
    lowest: int,
    discounts: Any,
) -> Any:
    if kind == SUCCESS:
        return 1.0 if _count(ranks, found, hits, cutoff, lowest) > 0 else 0.0
    if kind == RECALL:
        return _count(ranks, found, hits, cutoff, lowest) / relevant
    if kind == PRECISION:
        return _count(ranks, found, hits, cutoff, lowest) / cutoff
    if kind == MRR:
        return _reciprocal_rank(ranks, found, hits, cutoff, lowest)
    if kind == MAP:
        return _average_precision(ranks, found, hits, cutoff, lowest, relevant)
    if kind in (NDCG, NDCG_EXP):
        return _ndcg(ranks, found, hits, ideal, ideals, cutoff, discounts, kind == NDCG_EXP)
    if kind == R_PRECISION:
        return _count(ranks, found, hits, relevant, lowest) / relevant
    if kind == BPREF:
        return _bpref(found, hits, lowest, relevant, others)
    shown = min(cutoff, length)
    return _count(ranks, found, hits, cutoff, -ALL_RANKS) / shown if shown > 0 else 0.0


@inner
def _collect(
    begin: int,
    stop: int,
    order: Any,
    offsets: Any,
    data: Any,
    grades: Any,
    lowest: int,
    slots: Any,
    keys: Any,
    size: int,
    sieve: Any,
    ideal: Any,
) -> tuple[int, int, int]:
    """Put the judged documents, each once, into the table and the sieve, and their positive grades into `ideal`.

    Returns how many are relevant, judged but not relevant, and of positive grade.
    """
    relevant, others, ideals = 0, 0, 0
    for position in range(begin, stop):
        number = id_at(order, position)
        if offsets[number] == offsets[number + 1] or insert(slots, keys, size, offsets, data, number) >= 0:
            continue
        sieve[hint(data, offsets[number], offsets[number + 1], SIEVE * size)] = 1
        grade = grades[number] if len(grades) else 1
        relevant += grade >= lowest
        others += 0 <= grade < lowest
        if grade > 0:
            ideal[ideals] = grade
            ideals += 1
    return relevant, others, ideals


@kernel(
    f"void({INT64_IN}, {INT64_IN}, {INT64_IN}, {ID_COLUMN}, {INT64_IN}, {INT64_IN}, {INT64_IN}, {ID_COLUMN}, {INT64_IN}, "
    f"{INT64_IN}, {INT64_IN}, Array(float64, 1, 'C', readonly=True), int64, int64, int64, int64, int64[::1], uint64[::1], "
    "uint8[::1], int64[:, ::1], float64[:, ::1], int64[::1])"
)
def score_rankings(
    begin: Any,
    stop: Any,
    order: Any,
    offsets: Any,
    data: Any,
    q_begin: Any,
    q_stop: Any,
    q_order: Any,
    q_offsets: Any,
    q_data: Any,
    grades: Any,
    kinds: Any,
    cutoffs: Any,
    discounts: Any,
    lowest: int,
    deepest: int,
    lo: int,
    hi: int,
    slots: Any,
    keys: Any,
    sieve: Any,
    scratch: Any,
    values: Any,
    relevant_documents: Any,
) -> None:
    """Fill ``values[measure, query]`` and the count of relevant documents for queries `lo` to `hi`.

    Empty `grades` mean that every judged document is of grade 1; a document of grade `lowest` or more is relevant. Values of
    a query without a relevant document are 0 and mean nothing. `slots`, `keys`, `sieve` and the three rows of `scratch` are
    working space: a table, `SIEVE` times its size, and room for as many numbers as the longest list of judged documents has.
    """
    ranks, found, ideal = scratch[0], scratch[1], scratch[2]
    for query in range(lo, hi):
        size = table_size(q_stop[query] - q_begin[query])
        reset(slots, size)
        reset(sieve, SIEVE * size)
        relevant, others, ideals = _collect(
            q_begin[query], q_stop[query], q_order, q_offsets, q_data, grades, lowest, slots, keys, size, sieve, ideal
        )
        relevant_documents[query] = relevant
        if relevant == 0:
            for m in range(len(kinds)):
                values[m, query] = 0.0
            continue
        _sort_descending(ideal, ideals)
        length = stop[query] - begin[query]
        last = begin[query] + min(length, deepest)
        hits = _judge(begin[query], last, order, offsets, data, slots, keys, size, sieve, q_offsets, q_data, grades, ranks, found)
        for m in range(len(kinds)):
            values[m, query] = _measure(
                kinds[m], cutoffs[m], ranks, found, hits, ideal, ideals, length, relevant, others, lowest, discounts
            )


@inner
def _after(score: float, doc: int, other_score: float, other: int, offsets: Any, data: Any) -> Any:
    """Whether the first document stands behind the second: lower score, or the same and a smaller id, compared as bytes."""
    if score != other_score:
        return score < other_score
    a, b = offsets[doc], offsets[other]
    shared = min(offsets[doc + 1] - a, offsets[other + 1] - b)
    for i in range(shared):
        if data[a + i] != data[b + i]:
            return data[a + i] < data[b + i]
    return offsets[doc + 1] - a < offsets[other + 1] - b


@inner
def _merge(score: Any, doc: Any, lo: int, mid: int, hi: int, score_out: Any, doc_out: Any, offsets: Any, data: Any) -> None:
    left, right = lo, mid
    for at in range(lo, hi):
        from_right = right < hi
        if from_right and left < mid:
            from_right = _after(score[left], doc[left], score[right], doc[right], offsets, data)
        source = right if from_right else left
        score_out[at], doc_out[at] = score[source], doc[source]
        if from_right:
            right += 1
        else:
            left += 1


@kernel(
    f"void({INT64_IN}, {INT64_IN}, {INT64_IN}, {ID_COLUMN}, Array(float64, 1, 'C', readonly=True), int64, int64, "
    "float64[:, ::1], int64[:, ::1], int64[::1])"
)
def order_by_score(
    begin: Any,
    stop: Any,
    order: Any,
    offsets: Any,
    data: Any,
    scores: Any,
    lo: int,
    hi: int,
    score_pair: Any,
    doc_pair: Any,
    ranked: Any,
) -> None:
    """Fill `ranked`, from a list's begin to its stop, with its ids' numbers in rank order: a merge sort of each list.

    Higher scores come first, and of equal scores the greater id. The two rows of `score_pair` and of `doc_pair` are working
    space as long as the longest list.
    """
    for row in range(lo, hi):
        first, size = begin[row], stop[row] - begin[row]
        in_order = True
        for i in range(size):
            doc_pair[0, i] = id_at(order, first + i)
            score_pair[0, i] = scores[doc_pair[0, i]]
            if in_order and i > 0:
                in_order = not _after(score_pair[0, i - 1], doc_pair[0, i - 1], score_pair[0, i], doc_pair[0, i], offsets, data)
        source, width = 0, 1
        while not in_order and width < size:
            for left in range(0, size, 2 * width):
                middle, right = min(left + width, size), min(left + 2 * width, size)
                _merge(
                    score_pair[source],
                    doc_pair[source],
                    left,
                    middle,
                    right,
                    score_pair[1 - source],
                    doc_pair[1 - source],
                    offsets,
                    data,
                )
            source, width = 1 - source, 2 * width
        for i in range(size):
            ranked[first + i] = doc_pair[source, i]

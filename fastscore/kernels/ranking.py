"""Measures of ranked lists: lists of ids and judged ids come in, one number a query and measure goes out.

A query's ranked documents are first looked up among its judged ones; a sieve of the ids' last bytes spares most of them the
look into the table. What remains is short: the ranks (from 0) and grades of the judged documents that were retrieved, each
once, and the positive grades in descending order. Measures read those. Lists that come with scores need not be sorted for
that: the rank of a document is the number of those before it.
"""

from __future__ import annotations

import math
from typing import Any

from fastscore.kernels.ids import FLOAT64_IN, ID_COLUMN, INT64_IN, SIEVE, find, hint, id_at, insert, reset, table_size
from fastscore.kernels.jit import inner, kernel
from fastscore.kernels.rank_order import places_to_ranks

__all__ = ["ALL_RANKS", "KINDS", "score_rankings"]

SUCCESS, RECALL, PRECISION, MRR, MAP, NDCG, NDCG_EXP, R_PRECISION, BPREF, JUDGED = range(10)
KINDS = ("success", "recall", "precision", "mrr", "map", "ndcg", "ndcg_exp", "r_precision", "bpref", "judged")
ALL_RANKS = 2**62


@inner
def _judge(
    begin: int,
    stop: int,
    order: Any,
    offsets: Any,
    data: Any,
    scores: Any,
    slots: Any,
    keys: Any,
    size: int,
    sieve: Any,
    q_offsets: Any,
    q_data: Any,
    grades: Any,
    places: Any,
    found: Any,
    slot_of: Any,
) -> Any:
    """Fill `places` (in the list) and `found` with place and grade of the judged documents in it, each once; returns how many.

    Of a document that stands there twice the place with the higher score counts, or the first.
    """
    hits = 0
    for position in range(begin, stop):
        doc = id_at(order, position)
        if not sieve[hint(data, offsets[doc], offsets[doc + 1], SIEVE * size)] or offsets[doc] == offsets[doc + 1]:
            continue
        at = find(slots, keys, size, q_offsets, q_data, data, offsets[doc], offsets[doc + 1])
        if at < 0:
            continue
        if slots[at] > 0:
            places[hits] = position - begin
            found[hits] = grades[slots[at] - 1] if len(grades) else 1
            slot_of[hits] = at
            slots[at] = -slots[at]
            hits += 1
        elif len(scores):
            hit = 0
            while slot_of[hit] != at:
                hit += 1
            if scores[doc] > scores[id_at(order, begin + places[hit])]:
                places[hit] = position - begin
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
    f"void({INT64_IN}, {INT64_IN}, {INT64_IN}, {ID_COLUMN}, {FLOAT64_IN}, {INT64_IN}, {INT64_IN}, {INT64_IN}, {ID_COLUMN}, "
    f"{INT64_IN}, {INT64_IN}, {INT64_IN}, {FLOAT64_IN}, int64, int64, int64, int64, int64[::1], uint64[::1], "
    "uint8[::1], int64[:, ::1], float64[:, ::1], int64[::1])"
)
def score_rankings(
    begin: Any,
    stop: Any,
    order: Any,
    offsets: Any,
    data: Any,
    scores: Any,
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

    Empty `scores` mean that the lists are in rank order, and empty `grades` that every judged document is of grade 1; one of
    grade `lowest` or more is relevant. Values of a query without a relevant document are 0 and mean nothing. `slots`, `keys`,
    `sieve` and the four rows of `scratch` are working space: a table, `SIEVE` times its size, and room for as many numbers as
    the longest list of judged documents has.
    """
    ranks, found, ideal, slot_of = scratch[0], scratch[1], scratch[2], scratch[3]
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
        first, last = begin[query], begin[query] + (length if len(scores) else min(length, deepest))
        hits = _judge(
            first, last, order, offsets, data, scores, slots, keys, size, sieve, q_offsets, q_data, grades, ranks, found, slot_of
        )
        if len(scores):
            places_to_ranks(first, last, order, offsets, data, scores, hits, ranks, found)
        for m in range(len(kinds)):
            values[m, query] = _measure(
                kinds[m], cutoffs[m], ranks, found, hits, ideal, ideals, length, relevant, others, lowest, discounts
            )

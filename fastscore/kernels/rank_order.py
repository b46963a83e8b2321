"""The order of documents with scores: higher scores first, and of equal ones the greater id, compared as bytes (trec_eval's).

Lists of ids and their scores come in. Either whole lists are sorted, or for a few documents of a list their ranks are counted,
which is sooner done than a sort.
"""

from __future__ import annotations

from typing import Any

from fastscore.kernels.ids import FLOAT64_IN, ID_COLUMN, INT64_IN, comes_after, id_at
from fastscore.kernels.jit import inner, kernel

__all__ = ["order_by_score", "places_to_ranks"]


@inner
def _before(place: int, begin: int, stop: int, order: Any, offsets: Any, data: Any, scores: Any) -> Any:
    """How many documents of the list have a higher score than the one at that place, or the same and a greater id."""
    doc = id_at(order, begin + place)
    score = scores[doc]
    higher, same = 0, 0
    if len(order):
        for position in range(begin, stop):
            higher += scores[order[position]] > score
            same += scores[order[position]] == score
    else:
        for other in range(begin, stop):
            higher += scores[other] > score
            same += scores[other] == score
    if same > 1:
        for position in range(begin, stop):
            other = id_at(order, position)
            if scores[other] == score:
                higher += comes_after(offsets, data, doc, other)
    return higher


@inner
def places_to_ranks(
    begin: int, stop: int, order: Any, offsets: Any, data: Any, scores: Any, hits: int, ranks: Any, found: Any
) -> None:
    """Turn places in the list into ranks, and bring them and `found` into the order of ranks (insertion sort)."""
    for i in range(hits):
        rank, grade = _before(ranks[i], begin, stop, order, offsets, data, scores), found[i]
        at = i
        while at > 0 and ranks[at - 1] > rank:
            ranks[at], found[at] = ranks[at - 1], found[at - 1]
            at -= 1
        ranks[at], found[at] = rank, grade


@inner
def _after(score: float, doc: int, other_score: float, other: int, offsets: Any, data: Any) -> Any:
    """Whether the first document stands behind the second: lower score, or the same and a smaller id, compared as bytes."""
    return score < other_score if score != other_score else comes_after(offsets, data, doc, other)


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
    f"void({INT64_IN}, {INT64_IN}, {INT64_IN}, {ID_COLUMN}, {FLOAT64_IN}, int64, int64, "
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

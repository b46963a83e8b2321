"""Retrieval measures of ranked document lists against judged ones.

Two `DocumentLists` of the same queries, list for list, come in; one float64 column a measure goes out, and how many
relevant documents each query has. Threads share the queries; no value depends on how many there are.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from fastscore.errors import ColumnTypeError, DataError, KeyMismatchError, UsageError
from fastscore.formats.ids import Ints
from fastscore.formats.lists import DocumentLists
from fastscore.kernels import ids as id_kernels
from fastscore.kernels import ranking as kernels
from fastscore.kernels.rank_order import order_by_score
from fastscore.metrics.measures import Measure

__all__ = ["RankingValues", "check_pairs", "in_rank_order", "over_queries", "score_lists"]

Floats = npt.NDArray[np.float64]

_SHARE = 2048  # queries that are worth a thread
_FEW = 64  # judged documents whose ranks are sooner counted than the whole list sorted
_NO_GRADES: Ints = np.zeros(0, dtype=np.int64)
_NO_SCORES: Floats = np.zeros(0, dtype=np.float64)
_HIGHEST_EXPONENT = 1000


@dataclass(frozen=True)
class RankingValues:
    """A float64 column a measure, and each query's number of relevant documents; where that is 0 values mean nothing."""

    columns: dict[str, Floats]
    relevant: Ints


def score_lists(
    ranked: DocumentLists, judged: DocumentLists, measures: Sequence[Measure], *, min_relevance: int = 1, threads: int = 1
) -> RankingValues:
    """Compute the measures of each list of `ranked` against the same list of `judged`.

    The ranked lists have scores, or are in rank order (see `in_rank_order`). A document that stands twice in a ranking uses up
    two ranks and counts once, one that is judged twice counts once, and null or empty ids match nothing. An absent list counts
    as an empty one. A document is relevant whose grade is `min_relevance` or more; grades of 0 or less gain nothing in ndcg,
    whatever `min_relevance` is, and negative grades are not judged for bpref (all as trec_eval).

    Raises
    ------
    UsageError
        The two sides have different numbers of lists.
    ColumnTypeError
        One side's ids are text, the other's integers.
    DataError
        A grade is too high for an exponential gain.
    """
    queries = len(ranked)
    if queries != len(judged):
        raise UsageError(f"{ranked.source} has {queries} lists and {judged.source} {len(judged)}: they must be as many")
    if len(ranked.ids) and len(judged.ids) and ranked.ids.kind != judged.ids.kind:
        raise ColumnTypeError(
            f"document ids are of type {ranked.ids.kind} in {ranked.source} and {judged.ids.kind} in {judged.source}; "
            "make them of one type"
        )
    if judged.longest > _FEW:
        ranked = in_rank_order(ranked, threads=threads)
    scores = _NO_SCORES if ranked.numbers is None else ranked.numbers
    kinds = np.array([kernels.KINDS.index(m.kind) for m in measures], dtype=np.int64)
    cutoffs = np.array([kernels.ALL_RANKS if m.cutoff is None else m.cutoff for m in measures], dtype=np.int64)
    grades = _grades(judged, measures)
    gained = [c for c, m in zip(cutoffs.tolist(), measures, strict=True) if m.kind.startswith("ndcg")]
    discounts = _discounts(_power_of_two(max(min(max(ranked.longest, judged.longest), max(gained, default=1)), 1)))
    deepest = kernels.ALL_RANKS if any(m.kind == "r_precision" for m in measures) else int(cutoffs.max())
    values = np.empty((len(measures), queries))
    relevant = np.empty(queries, dtype=np.int64)

    def score(lo: int, hi: int) -> None:
        slots, keys, sieve = _table(judged)
        scratch = np.empty((4, max(judged.longest, 1)), dtype=np.int64)
        kernels.score_rankings(
            *_lists(ranked), scores, *_lists(judged), grades, kinds, cutoffs, discounts, min_relevance, deepest, lo, hi, slots,
            keys, sieve, scratch, values, relevant,
        )  # fmt: skip

    over_queries(score, queries, threads)
    return RankingValues({m.name: values[i] for i, m in enumerate(measures)}, relevant)


def in_rank_order(ranked: DocumentLists, *, threads: int = 1) -> DocumentLists:
    """Order each list by score descending, ties by document id descending, compared as bytes; without scores leave it."""
    if ranked.numbers is None:
        return ranked
    scores = ranked.numbers
    order = np.empty(len(ranked.order) or len(ranked.ids), dtype=np.int64)

    def sort(lo: int, hi: int) -> None:
        longest = max(ranked.longest, 1)
        pairs = np.empty((2, longest)), np.empty((2, longest), dtype=np.int64)
        order_by_score(*_lists(ranked), scores, lo, hi, *pairs, order)

    over_queries(sort, len(ranked), threads)
    return replace(ranked, order=order, numbers=None)


def check_pairs(lists: DocumentLists, threads: int = 1) -> None:
    """Refuse a (query, document) pair that stands twice in a table with a row a document, or twice with different grades.

    Raises
    ------
    KeyMismatchError
        There is such a pair; the message names it.
    """
    if not lists.row_a_document and (lists.numbers is None or lists.numbers.dtype != np.int64):
        return
    grades = _NO_GRADES if lists.row_a_document or lists.numbers is None else lists.numbers
    bad: list[Ints] = []

    def check(lo: int, hi: int) -> None:
        found = np.full(3, -1, dtype=np.int64)
        id_kernels.duplicate_pair(*_lists(lists), grades, lo, hi, *_table(lists), found)
        if found[0] >= 0:
            bad.append(found)

    over_queries(check, len(lists), threads)
    if bad:
        query, first, second = min(found.tolist() for found in bad)
        where = f"{lists.place(first)} and {lists.place(second)}" if lists.row_a_document else "with different relevance"
        raise KeyMismatchError(
            f"{lists.source}: query {lists.queries[query].as_py()!r} has document {lists.ids.text(second)!r} twice ({where}); "
            "each (query, document) pair may stand there once"
        )


def _lists(lists: DocumentLists) -> tuple[Any, ...]:
    """What the kernels take of it."""
    return lists.begin, lists.stop, lists.order, lists.ids.offsets, lists.ids.data


def _table(lists: DocumentLists) -> tuple[Ints, npt.NDArray[np.uint64], npt.NDArray[np.uint8]]:
    """Working space for the longest list: slots and keys of a table, and a sieve."""
    size = _power_of_two(max(4 * lists.longest, 4))
    return np.empty(size, dtype=np.int64), np.empty(size, dtype=np.uint64), np.empty(id_kernels.SIEVE * size, dtype=np.uint8)


def _power_of_two(least: int) -> int:
    return 1 << (least - 1).bit_length()


@lru_cache(maxsize=8)
def _discounts(ranks: int) -> Floats:
    """log2(rank + 1) for ranks from 1 on, by the C library's log2, as trec_eval has it."""
    return np.array([math.log2(rank + 2) for rank in range(ranks)])


def _grades(judged: DocumentLists, measures: Sequence[Measure]) -> Ints:
    if judged.numbers is None:
        return _NO_GRADES
    if len(judged.numbers) and any(m.kind == "ndcg_exp" for m in measures) and judged.numbers.max() > _HIGHEST_EXPONENT:
        raise DataError(
            f"{judged.source}: ndcg_exp needs relevance of at most {_HIGHEST_EXPONENT} (its gain is 2**relevance - 1), "
            f"got {int(judged.numbers.max())}"
        )
    return judged.numbers


def over_queries(work: Callable[[int, int], None], queries: int, threads: int, least: int | None = None) -> None:
    """Call ``work(lo, hi)`` on ranges that cover the queries, each of at least `least` queries, in so many threads."""
    share = max(-(-queries // threads), least or _SHARE)
    if share >= queries:
        work(0, queries)
        return
    with ThreadPoolExecutor(threads) as pool:
        for task in [pool.submit(work, lo, min(lo + share, queries)) for lo in range(0, queries, share)]:
            task.result()

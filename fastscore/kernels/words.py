"""The word scorer's entry: rows of predictions and reference lists in, item scores filled.

Rows are taken in blocks that fit into the caches. In each block all texts are cleaned, then all are cut into words, then each
row is compared; a reference list that repeats the row before's is cleaned once. Scratch arrays come from the caller.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fastscore.kernels.clean import clean_text
from fastscore.kernels.compare import F1_TABLE_SIDE, score_row
from fastscore.kernels.cut import cut_texts, join_texts
from fastscore.kernels.few import FEW_PLACES, describe_list, share_words, shared_by_mask
from fastscore.kernels.few_scores import score_few, score_few_by_rules
from fastscore.kernels.jit import inlined, inner, kernel
from fastscore.kernels.layout import (
    LANE_WORDS,
    LANES,
    MATCH_CONTAINS,
    MATCH_GIVEN,
    MATCH_VERBATIM,
    MATCH_WORDS,
    RULE_CANNOT_ANSWER,
    RULE_DISTINCT,
    RULE_FIRST,
    RULE_LEAVE_ONE_OUT,
    RULE_MATCH,
    RULE_NON_EMPTY,
    RULE_YES_NO,
    STATUS_NO_REFERENCES,
)
from fastscore.kernels.overlap import build_lanes, clear_slots, count_lanes, count_one_by_one, table_mask
from fastscore.kernels.plan import plan_block

__all__ = ["score_rows"]

_BYTES = "Array(uint8, 1, 'C', readonly=True)"
_INTS = "Array(int64, 1, 'C', readonly=True)"
#: Repeats are looked for as long as one row of so many is one, and once more every so many blocks.
_RARE, _LOOK_AGAIN = 8, 32
#: A zero of the type of all counts: a literal would make the compiler compile what it is handed to once more.
_NO = np.int64(0)


@inner
def _clean_texts(
    data: Any, starts: Any, ends: Any, chosen: Any, count: int, clean: Any, at: int, bounds: Any, text: int, state: Any,
    simple: Any, blocks: Any, entries: Any, edge_articles: Any, options: Any, longer: Any,
) -> int:  # fmt: skip
    """Clean the chosen texts one behind the other as block texts from `text` on; the position after, or -1 - k for a bad one."""
    for k in range(count):
        place, source = 2 * (text + k), chosen[k]
        bounds[place] = at
        start, end = starts[source], ends[source]
        at = clean_text(data, start, end, clean, at, state, simple, blocks, entries, edge_articles, options, longer)
        if at < 0:
            return -1 - k
        bounds[place + 1] = at
        at += 1
    return at


@inlined
def _in_lanes(firsts: Any, text: int, n: int, words: int) -> bool:
    """Whether each of `n` texts, of so many words in all, has no more words than a lane counts."""
    if words > LANE_WORDS:
        for k in range(n):
            if firsts[text + k + 1] - firsts[text + k] > LANE_WORDS:
                return False
    return True


@inner
def _score_block(
    p_data: Any, p_starts: Any, p_ends: Any, p_whole: Any, r_data: Any, r_starts: Any, r_ends: Any, r_whole: Any, r_kept: Any, l_starts: Any, l_ends: Any,
    given: Any, given_firsts: Any, rules: Any, runs: Any, lists: int, rows: Any, predictions: int,
    status: Any, exact_match: Any, f1: Any, precision: Any, recall: Any, best_reference: Any,
    clean: Any, keys: Any, firsts: Any, slots: Any, slot_used: Any,
    shared: Any, matches: Any, f1s: Any, places: Any, f1_table: Any, numbers: Any, begins: Any, taken: Any, left: Any, joined: Any, joins: Any, fail: Any,
) -> None:  # fmt: skip
    """Compare each prediction of a prepared block with its references, combine, and fill its row's scores, run by run."""
    yes_no, leave_one_out, first_alone = rules[RULE_YES_NO], rules[RULE_LEAVE_ONE_OUT], rules[RULE_FIRST]
    non_empty, kind = rules[RULE_NON_EMPTY], rules[RULE_MATCH]
    plain = kind in (MATCH_WORDS, MATCH_VERBATIM) and not (non_empty or rules[RULE_CANNOT_ANSWER] or r_kept.size > 0)
    for run in range(lists):
        low, high = runs[2 * run], runs[2 * run + 2]
        if low == high:
            continue
        text = runs[2 * run + 1] + predictions
        n = l_ends[rows[low]] - l_starts[rows[low]]
        if n == 0 and not non_empty:
            for p in range(low, high):
                status[rows[p]] = STATUS_NO_REFERENCES
            continue
        words = firsts[text + n] - firsts[text]
        few, short = words + n <= FEW_PLACES, False
        if few:
            short = describe_list(keys, firsts, text, text + n, numbers) and n > 0 and (n == 1 or not first_alone)
            share_words(clean, keys, firsts, low, high, numbers, begins, taken)
        if short and plain and (n == 1 or not (yes_no or (leave_one_out and kind == MATCH_VERBATIM))):
            lefts = score_few(
                taken, numbers, n, low, high, rows, firsts, text, keys, f1_table, rules,
                p_data, p_starts, p_ends, r_data, r_starts, r_ends, l_starts,
                exact_match, f1, precision, recall, best_reference, left,
            )  # fmt: skip
        else:
            lefts = high - low
            for k in range(lefts):
                left[k] = low + k
        lanes = not few and n <= LANES and _in_lanes(firsts, text, n, words)
        mask = 0
        if lanes:
            mask = table_mask(words)
            clear_slots(slots, mask)
            build_lanes(clean, keys, firsts, text, text + n, slots, mask)
        by_rules = short and kind != MATCH_GIVEN
        for k in range(lefts):
            p = left[k]
            row, p_first = rows[p], firsts[p]
            p_count = firsts[p + 1] - p_first
            if by_rules and 0 < p_count < F1_TABLE_SIDE:
                exact_match[row], f1[row], precision[row], recall[row], best_reference[row] = score_few_by_rules(
                    taken[p_first + p_count - 1], numbers, n, p_first, p_count, firsts, text, clean, keys, f1s, f1_table,
                    rules, row, l_starts[row], p_whole, r_whole, r_kept,
                    p_data, p_starts, p_ends, r_data, r_starts, r_ends, joined, joins, p, fail,
                )  # fmt: skip
                continue
            if few:
                shared_by_mask(taken[p_first + p_count - 1] if p_count > 0 else np.uint64(0), numbers, n, shared)
            elif lanes:
                packed = count_lanes(clean, keys, p_first, p_first + p_count, row, slots, mask)
                if packed == 0 and plain and p_count > 0:
                    exact_match[row], f1[row], precision[row], recall[row], best_reference[row] = 0.0, 0.0, 0.0, 0.0, 0
                    continue
                for of in range(n):
                    shared[of] = (packed >> (8 * of)) & 255
            else:
                count_one_by_one(clean, keys, firsts, p, text, n, shared, slots, slot_used)
            exact_match[row], f1[row], precision[row], recall[row], best_reference[row] = score_row(
                given, given_firsts, rules, row, p, p_first, p_count, n, text, plain,
                p_data, p_starts, p_ends, p_whole, r_data, r_starts, r_ends, r_whole, r_kept, l_starts[row],
                clean, keys, firsts, shared, matches, f1s, places, f1_table, joined, joins, fail,
            )  # fmt: skip


@kernel(
    f"int64({_BYTES}, {_INTS}, {_INTS}, {_BYTES}, {_BYTES}, {_INTS}, {_INTS}, {_BYTES}, {_BYTES}, {_INTS}, {_INTS}, {_BYTES}, {_INTS}, boolean, "
    "uint32[::1], uint16[::1], uint32[::1], uint64[::1], uint64[::1], int64[::1], uint32[::1], int64[::1], int64, int64, int64[::1], "
    "uint8[::1], float64[::1], float64[::1], float64[::1], float64[::1], int32[::1], "
    "uint8[::1], uint64[::1], int64[::1], uint64[::1], int64[::1], int64[::1], int64[::1], int64[::1], int64[::1], int64[::1], int64[::1], "
    "int64[::1], int64[::1], "
    "uint64[::1], int64[::1], int64[::1], float64[::1], float64[::1], int64[::1], float64[::1], uint64[::1], "
    "uint8[::1], uint64[::1], int64[::1], uint8[::1], int64[::1])"
)
def score_rows(
    p_data: Any, p_starts: Any, p_ends: Any, p_whole: Any, r_data: Any, r_starts: Any, r_ends: Any, r_whole: Any, r_kept: Any, l_starts: Any, l_ends: Any,
    given: Any, given_firsts: Any, packed: bool,
    simple: Any, blocks: Any, entries: Any, articles: Any, edge_articles: Any, options: Any, longer: Any, rules: Any,
    low: int, high: int, budget: Any,
    status: Any, exact_match: Any, f1: Any, precision: Any, recall: Any, best_reference: Any,
    clean: Any, keys: Any, firsts: Any, masks: Any, ranks: Any, counts: Any, bounds: Any, runs: Any, p_chosen: Any, r_chosen: Any, state: Any, repeats: Any, recent: Any,
    slots: Any, slot_used: Any, shared: Any, matches: Any, f1s: Any, places: Any, f1_table: Any, numbers: Any,
    begins: Any, taken: Any, left: Any, joined: Any, fail: Any,
) -> int:  # fmt: skip
    """Score rows `low` to `high`; -1, or the row whose text is not valid UTF-8, or -2 less the row that needs more scratch."""
    row, block, look = low, 0, rules[RULE_DISTINCT] == 0
    while row < high:
        stop, lists, predictions, texts, again = plan_block(
            p_data, p_starts, p_ends, r_data, r_starts, r_ends, l_starts, l_ends,
            row, high, budget, status, runs, p_chosen, r_chosen, repeats, recent, look, packed,
        )  # fmt: skip
        if lists < 0:
            return -2 - row
        block += 1
        look = rules[RULE_DISTINCT] == 0 and (block % _LOOK_AGAIN == 0 or (look and again * _RARE >= stop - row))
        at = _clean_texts(
            p_data, p_starts, p_ends, p_chosen, predictions, clean, _NO, bounds, _NO, state,
            simple, blocks, entries, edge_articles, options, longer,
        )  # fmt: skip
        if at < 0:
            return p_chosen[-at - 1]
        at = _clean_texts(
            r_data, r_starts, r_ends, r_chosen, texts, clean, at, bounds, predictions, state,
            simple, blocks, entries, edge_articles, options, longer,
        )  # fmt: skip
        if at < 0:
            bad = row
            while l_ends[bad] <= r_chosen[-at - 1] or l_starts[bad] > r_chosen[-at - 1]:
                bad += 1
            return bad
        cut_texts(clean, at, bounds, predictions + texts, keys, firsts, articles, masks, ranks, counts)
        if rules[RULE_MATCH] == MATCH_CONTAINS:
            join_texts(clean, keys, firsts, predictions + texts, joined, 0, counts)
        _score_block(
            p_data, p_starts, p_ends, p_whole, r_data, r_starts, r_ends, r_whole, r_kept, l_starts, l_ends,
            given, given_firsts, rules, runs, lists, p_chosen, predictions,
            status, exact_match, f1, precision, recall, best_reference,
            clean, keys, firsts, slots, slot_used, shared, matches, f1s, places, f1_table, numbers, begins, taken, left, joined, counts, fail,
        )  # fmt: skip
        for k in range(again):
            here, same = repeats[2 * k], repeats[2 * k + 1]
            status[here], exact_match[here], f1[here] = status[same], exact_match[same], f1[same]
            precision[here], recall[here], best_reference[here] = precision[same], recall[same], best_reference[same]
        row = stop
    return -1

"""The word scorer's entry: rows of predictions and reference lists in, item scores filled.

Rows are taken in blocks that fit into the caches. In each block all texts are cleaned, then all are cut into words, then each
row is compared; a reference list that repeats the row before's is cleaned once. Scratch arrays come from the caller.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fastscore.kernels.bits import load64
from fastscore.kernels.clean import clean_text
from fastscore.kernels.compare import F1_TABLE_SIDE, combine, score_pair
from fastscore.kernels.cut import cut_texts, join_texts
from fastscore.kernels.few import FEW_PLACES, MASKS, describe_list, share_words
from fastscore.kernels.few_scores import score_few, score_few_by_rules
from fastscore.kernels.jit import inlined, inner, kernel
from fastscore.kernels.layout import (
    LANE_WORDS,
    LANES,
    MATCH_CONTAINS,
    MATCH_GIVEN,
    MATCH_VERBATIM,
    MATCH_WORDS,
    REPEAT_SLOT_BITS,
    RULE_CANNOT_ANSWER,
    RULE_DISTINCT,
    RULE_EMPTY_AGREES,
    RULE_FIRST,
    RULE_LEAVE_ONE_OUT,
    RULE_MATCH,
    RULE_NON_EMPTY,
    RULE_YES_NO,
    STATUS_NO_REFERENCES,
    STATUS_OK,
)
from fastscore.kernels.lists import same_list
from fastscore.kernels.overlap import build_lanes, clear_slots, count_lanes, count_one_by_one, table_mask
from fastscore.kernels.search import find_bytes
from fastscore.kernels.wide import ALL_BITS, count_bits, equal64, lowest_bits, same_bytes

__all__ = ["score_rows"]

_BYTES = "Array(uint8, 1, 'C', readonly=True)"
_INTS = "Array(int64, 1, 'C', readonly=True)"
_SPREAD = np.uint64(0x9E3779B97F4A7C15)
#: The highest bits of a mixture are its slot in `recent`.
_SLOT_SHIFT = np.uint64(64 - REPEAT_SLOT_BITS)
#: Repeats are looked for as long as one row of so many is one, and once more every so many blocks.
_RARE, _LOOK_AGAIN = 8, 32
#: A zero of the type of all counts: a literal would make the compiler compile what it is handed to once more.
_NO = np.int64(0)


@inlined
def _bytes_of(starts: Any, ends: Any, first: int, last: int, packed: bool) -> int:
    """The bytes of the texts `first` to `last`; `packed` says that each text begins where the one before ends."""
    if packed:
        return ends[last - 1] - starts[first] if last > first else 0
    size = 0
    for text in range(first, last):
        size += ends[text] - starts[text]
    return size


@inlined
def _repeat_of(data: Any, start: int, end: int, row: int, first: int, starts: Any, ends: Any, recent: Any) -> int:
    """The row from `first` on, of those that `recent` remembers, whose text has the same bytes, or -1; `row` is remembered.

    `recent` keeps one row a slot, found by a mixture of a text's length and first bytes; the bytes decide.
    """
    size = end - start
    if start + 64 > data.size:
        return -1
    head = load64(data, start) & (ALL_BITS >> np.uint64(64 - 8 * max(1, min(size, 8))))
    slot = np.int64(((head ^ np.uint64(size)) * _SPREAD) >> _SLOT_SHIFT)
    known = recent[slot] >= first
    other = max(recent[slot], first)
    at = starts[other]
    if size <= 64:
        alike = (equal64(data, start, data, min(at, start)) | ~lowest_bits(size)) == ALL_BITS
    else:
        alike = same_bytes(data, start, end, data, at, ends[other])
    same = known & (ends[other] - at == size) & (at <= start) & alike
    recent[slot] = other if same else row
    return other if same else -1


@inner
def _plan_block(
    p_data: Any, p_starts: Any, p_ends: Any, r_data: Any, r_starts: Any, r_ends: Any, l_starts: Any, l_ends: Any,
    low: int, high: int, budget: Any, status: Any, runs: Any, p_chosen: Any, r_chosen: Any, repeats: Any, recent: Any, look: bool, packed: bool,
) -> Any:  # fmt: skip
    """Choose the texts of the next block; the row after it, and how many runs, predictions, reference texts and repeats it has.

    A run is rows in a row with the same list: ``runs[2 * k]`` is its first prediction and ``runs[2 * k + 1]`` its list's first text,
    `p_chosen` has the rows whose predictions are scored, `r_chosen` says which texts the lists have. With `look`, a row with the
    same list and the same prediction as one before in the run is a repeat: it and that row stand in `repeats`. `budget` has
    the most bytes, texts, references of a row and bytes of a prediction; -1 runs where the first row alone is beyond it.
    """
    size_limit, text_limit, list_limit, prediction_limit = budget[0], budget[1], budget[2], budget[3]
    size, texts, lists, chosen, again = 0, 0, 0, 0, 0
    row, run = low, low
    for k in range(recent.size):
        recent[k] = -1
    while row < high:
        first, last = l_starts[row], l_ends[row]
        length = p_ends[row] - p_starts[row]
        more = length
        repeated = False
        if row > low:
            before = l_starts[row - 1]
            repeated = same_list(r_data, r_starts, r_ends, first, last - first, before, l_ends[row - 1] - before, packed)
        fresh = 0
        if not repeated:
            fresh = last - first
            more += _bytes_of(r_starts, r_ends, first, last, packed)
        full = size + more > size_limit or row - low + texts + 1 + fresh > text_limit
        if full or last - first > list_limit or length > prediction_limit:
            if row == low:
                return row, -1, 0, 0, 0
            break
        size += more
        if not repeated:
            run = row
            runs[2 * lists], runs[2 * lists + 1] = chosen, texts
            lists += 1
            for text in range(first, last):
                r_chosen[texts] = text
                texts += 1
        same = -1
        scored = status[row] == STATUS_OK
        if look and scored:
            same = _repeat_of(p_data, p_starts[row], p_ends[row], row, run, p_starts, p_ends, recent)
        repeats[2 * again], repeats[2 * again + 1] = row, same
        again += 1 if same >= 0 else 0
        p_chosen[chosen] = row
        chosen += 1 if scored and same < 0 else 0
        row += 1
    runs[2 * lists] = chosen
    return row, lists, chosen, texts, again


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
        few, lefts = words + n <= FEW_PLACES, -1
        if few:
            short = describe_list(keys, firsts, text, text + n, numbers)
            share_words(clean, keys, firsts, low, high, numbers, begins, taken)
            if short and n > 0 and (n == 1 or not first_alone):
                if plain and not (n > 1 and (yes_no or (leave_one_out and kind == MATCH_VERBATIM))):
                    lefts = score_few(
                        taken, numbers, n, low, high, rows, firsts, text, keys, f1_table, rules,
                        p_data, p_starts, p_ends, r_data, r_starts, r_ends, l_starts,
                        exact_match, f1, precision, recall, best_reference, left,
                    )  # fmt: skip
        if lefts < 0:
            lefts = high - low
            for k in range(lefts):
                left[k] = low + k
        lanes = not few and n <= LANES and _in_lanes(firsts, text, n, words)
        mask = 0
        if lanes:
            mask = table_mask(words)
            clear_slots(slots, mask)
            build_lanes(clean, keys, firsts, text, text + n, slots, mask)
        by_rules = few and short and kind != MATCH_GIVEN and n > 0 and (n == 1 or not first_alone)
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
                for text_of in range(n):
                    shared[text_of] = 0
                    if p_count > 0:
                        shared[text_of] = count_bits(taken[p_first + p_count - 1] & numbers[MASKS + text_of])
            elif lanes:
                packed = count_lanes(clean, keys, p_first, p_first + p_count, row, slots, mask)
                if packed == 0 and plain and p_count > 0:
                    exact_match[row], f1[row], precision[row], recall[row], best_reference[row] = 0.0, 0.0, 0.0, 0.0, 0
                    continue
                for text_of in range(n):
                    shared[text_of] = (packed >> (8 * text_of)) & 255
            else:
                count_one_by_one(clean, keys, firsts, p, text, n, shared, slots, slot_used)
            exact_match[row], f1[row], precision[row], recall[row], best_reference[row] = _score_row(
                given, given_firsts, rules, row, p, p_first, p_count, n, text, plain,
                p_data, p_starts, p_ends, p_whole, r_data, r_starts, r_ends, r_whole, r_kept, l_starts[row],
                clean, keys, firsts, shared, matches, f1s, places, f1_table, joined, joins, fail,
            )  # fmt: skip


@inner
def _score_row(
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
        match, value = score_pair(clean, _NO, p_first, p_count, p_first, _NO, keys, f1_table, empty_agrees, yes_no, match_wanted)
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
        stop, lists, predictions, texts, again = _plan_block(
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

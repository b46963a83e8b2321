"""The word scorer's entry: rows of predictions and reference lists in, item scores filled.

Rows are taken in blocks that fit into the caches. In each block all texts are cleaned, then all are cut into words, then each
row is compared; a reference list that repeats the row before's is cleaned once. Scratch arrays come from the caller.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fastscore.kernels.bits import load64
from fastscore.kernels.clean import clean_text
from fastscore.kernels.compare import F1_TABLE_SIDE, answers_as_a_whole, combine, score_pair
from fastscore.kernels.cut import cut_texts, join_texts
from fastscore.kernels.few import FEW_WORDS, describe_list, score_few, score_few_by_rules, share_few, shared_by_mask
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
from fastscore.kernels.wide import ALL_BITS, same_bytes

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
    if start + 8 > data.size:
        return -1
    head = load64(data, start) & (ALL_BITS >> np.uint64(64 - 8 * max(1, min(size, 8))))
    slot = np.int64(((head ^ np.uint64(size)) * _SPREAD) >> _SLOT_SHIFT)
    other = recent[slot]
    if other >= first and ends[other] - starts[other] == size and same_bytes(data, start, end, data, starts[other], ends[other]):
        return other
    recent[slot] = row
    return -1


@inner
def _plan_block(
    p_data: Any, p_starts: Any, p_ends: Any, r_data: Any, r_starts: Any, r_ends: Any, l_starts: Any, l_ends: Any,
    low: int, high: int, budget: Any, status: Any, list_texts: Any, p_chosen: Any, r_chosen: Any, repeats: Any, recent: Any, look: bool, packed: bool,
) -> Any:  # fmt: skip
    """Choose the texts of the next block: the row after it, how many reference texts it has, and how many rows repeat one before.

    ``list_texts[i]`` is the first of the texts that stand for row i's list; `r_chosen` says which texts those are. With `look`,
    ``repeats[i]`` is an earlier row of the block with the same list and the same prediction, -1 where there is none. `budget` has the
    most bytes, texts, references of a row and bytes of a prediction; -1 texts where the first row alone is beyond it.
    """
    size_limit, text_limit, list_limit, prediction_limit = budget[0], budget[1], budget[2], budget[3]
    size, texts, repeated_rows = 0, 0, 0
    row, run = low, low
    for k in range(recent.size):
        recent[k] = -1
    while row < high:
        first, last = l_starts[row], l_ends[row]
        more = p_ends[row] - p_starts[row]
        repeated = False
        if row > low:
            before = l_starts[row - 1]
            repeated = same_list(r_data, r_starts, r_ends, first, last - first, before, l_ends[row - 1] - before, packed)
        fresh = 0
        if not repeated:
            fresh = last - first
            more += _bytes_of(r_starts, r_ends, first, last, packed)
        full = size + more > size_limit or row - low + texts + 1 + fresh > text_limit
        if full or last - first > list_limit or p_ends[row] - p_starts[row] > prediction_limit:
            if row == low:
                return row, -1, 0
            break
        size += more
        run = run if repeated else row
        scored = status[row] == STATUS_OK
        same = -1
        if look and scored:
            same = _repeat_of(p_data, p_starts[row], p_ends[row], row, run, p_starts, p_ends, recent)
        repeats[row - low] = same
        repeated_rows += 1 if same >= 0 else 0
        p_chosen[row - low] = row if scored and same < 0 else -1
        if repeated:
            list_texts[row - low] = list_texts[row - low - 1]
        else:
            list_texts[row - low] = texts
            for text in range(first, last):
                r_chosen[texts] = text
                texts += 1
        row += 1
    return row, texts, repeated_rows


@inner
def _clean_texts(
    data: Any, starts: Any, ends: Any, chosen: Any, count: int, clean: Any, at: int, bounds: Any, text: int, state: Any,
    simple: Any, blocks: Any, entries: Any, edge_articles: Any, options: Any, longer: Any,
) -> int:  # fmt: skip
    """Clean the chosen texts one behind the other as block texts from `text` on; the position after, or -1 - k for a bad one."""
    for k in range(count):
        place = 2 * (text + k)
        bounds[place] = at
        source = chosen[k]
        if source < 0:
            clean[at] = 0x20
        else:
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
    given: Any, given_firsts: Any, rules: Any, low: int, stop: int, list_texts: Any, repeats: Any,
    status: Any, exact_match: Any, f1: Any, precision: Any, recall: Any, best_reference: Any,
    clean: Any, keys: Any, firsts: Any, slots: Any, slot_used: Any,
    shared: Any, matches: Any, f1s: Any, places: Any, f1_table: Any, numbers: Any, joined: Any, joins: Any, fail: Any,
) -> None:  # fmt: skip
    """Compare each row of a prepared block with its references, combine, and fill the row's scores."""
    empty_agrees, yes_no, leave_one_out = rules[RULE_EMPTY_AGREES], rules[RULE_YES_NO], rules[RULE_LEAVE_ONE_OUT]
    non_empty, whole, kind, chosen = rules[RULE_NON_EMPTY], rules[RULE_CANNOT_ANSWER], rules[RULE_MATCH], r_kept.size > 0
    plain = kind in (MATCH_WORDS, MATCH_VERBATIM) and not (non_empty or whole or chosen)
    one_match_decides = plain and not leave_one_out and not yes_no
    mask, built, built_size, listed, listed_size, short = 0, -1, 0, -1, 0, False
    for row in range(low, stop):
        if status[row] != STATUS_OK:
            continue
        same = repeats[row - low]
        if same >= 0:
            status[row], exact_match[row], f1[row] = status[same], exact_match[same], f1[same]
            precision[row], recall[row], best_reference[row] = precision[same], recall[same], best_reference[same]
            continue
        n = l_ends[row] - l_starts[row]
        if n == 0 and not non_empty:
            status[row] = STATUS_NO_REFERENCES
            continue
        p = row - low
        text = list_texts[p] + (stop - low)
        words = firsts[text + n] - firsts[text]
        p_first = firsts[p]
        p_count = firsts[p + 1] - p_first
        few = words <= FEW_WORDS
        if few:
            if listed != text or n != listed_size:
                short = describe_list(firsts, text, text + n, numbers)
                listed, listed_size = text, n
            taken = share_few(clean, keys, p_first, p_first + p_count, firsts[text], words, numbers)
            if short and 0 < p_count < F1_TABLE_SIDE:
                if plain and (n == 1 or not (yes_no or rules[RULE_FIRST])):
                    exact_match[row], f1[row], precision[row], recall[row], best_reference[row] = score_few(
                        taken, numbers, n, p_first, p_count, firsts, text, clean, keys, f1s, f1_table, leave_one_out,
                        kind == MATCH_VERBATIM, p_data, p_starts[row], p_ends[row], r_data, r_starts, r_ends, l_starts[row],
                    )  # fmt: skip
                    if (
                        yes_no
                        and 0.0 < f1[row] < 1.0
                        and (answers_as_a_whole(p_first, p_count, keys) or answers_as_a_whole(firsts[text], words, keys))
                    ):
                        f1[row], precision[row], recall[row] = 0.0, 0.0, 0.0
                    continue
                if kind != MATCH_GIVEN and n > 0 and (n == 1 or not rules[RULE_FIRST]):
                    exact_match[row], f1[row], precision[row], recall[row], best_reference[row] = score_few_by_rules(
                        taken, numbers, n, p_first, p_count, firsts, text, clean, keys, f1s, f1_table,
                        rules, row, l_starts[row], p_whole, r_whole, r_kept,
                        p_data, p_starts, p_ends, r_data, r_starts, r_ends, joined, joins, p, fail,
                    )  # fmt: skip
                    continue
            shared_by_mask(taken, firsts, text, n, shared)
        elif n <= LANES and _in_lanes(firsts, text, n, words):
            if built != text or n != built_size:
                mask = table_mask(words)
                clear_slots(slots, mask)
                build_lanes(clean, keys, firsts, text, text + n, slots, mask)
                built, built_size = text, n
            packed = count_lanes(clean, keys, p_first, p_first + p_count, row, slots, mask)
            if packed == 0 and plain and p_count > 0:
                exact_match[row], f1[row], precision[row], recall[row], best_reference[row] = 0.0, 0.0, 0.0, 0.0, 0
                continue
            for k in range(n):
                shared[k] = (packed >> (8 * k)) & 255
        else:
            built = -1
            count_one_by_one(clean, keys, firsts, p, text, n, shared, slots, slot_used)
        used = 0
        match_wanted = n >= 0
        for k in range(n):
            r_first = firsts[text + k]
            r_count = firsts[text + k + 1] - r_first
            if (non_empty and r_count == 0) or (chosen and not r_kept[l_starts[row] + k]):
                continue
            match, value = score_pair(
                clean, shared[k], p_first, p_count, r_first, r_count, keys, f1_table, empty_agrees, yes_no, match_wanted
            )
            if kind != MATCH_WORDS:
                of = l_starts[row] + k
                if kind == MATCH_VERBATIM:
                    same_texts = same_bytes(p_data, p_starts[row], p_ends[row], r_data, r_starts[of], r_ends[of])
                elif kind == MATCH_CONTAINS:
                    same_texts = find_bytes(joined, joins[p], joins[p + 1], joined, joins[text + k], joins[text + k + 1], fail)
                else:
                    same_texts = given[given_firsts[row] + k] != 0
                match = 1.0 if same_texts else 0.0
            if whole and r_whole[l_starts[row] + k]:
                match = 1.0 if p_whole[row] else 0.0
                value = match
            matches[used], f1s[used], places[used] = match, value, k
            match_wanted = match_wanted and (match == 0.0 or not one_match_decides)
            used += 1
        if used == 0:
            match, value = score_pair(
                clean, _NO, p_first, p_count, p_first, _NO, keys, f1_table, empty_agrees, yes_no, match_wanted
            )
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
        exact_match[row], f1[row], precision[row], recall[row], best_reference[row] = match, value, p_value, r_value, place


@kernel(
    f"int64({_BYTES}, {_INTS}, {_INTS}, {_BYTES}, {_BYTES}, {_INTS}, {_INTS}, {_BYTES}, {_BYTES}, {_INTS}, {_INTS}, {_BYTES}, {_INTS}, boolean, "
    "uint32[::1], uint16[::1], uint32[::1], uint64[::1], uint64[::1], int64[::1], uint32[::1], int64[::1], int64, int64, int64[::1], "
    "uint8[::1], float64[::1], float64[::1], float64[::1], float64[::1], int32[::1], "
    "uint8[::1], uint64[::1], int64[::1], uint64[::1], int64[::1], int64[::1], int64[::1], int64[::1], int64[::1], int64[::1], int64[::1], "
    "int64[::1], int64[::1], "
    "uint64[::1], int64[::1], int64[::1], float64[::1], float64[::1], int64[::1], float64[::1], uint64[::1], uint8[::1], int64[::1])"
)
def score_rows(
    p_data: Any, p_starts: Any, p_ends: Any, p_whole: Any, r_data: Any, r_starts: Any, r_ends: Any, r_whole: Any, r_kept: Any, l_starts: Any, l_ends: Any,
    given: Any, given_firsts: Any, packed: bool,
    simple: Any, blocks: Any, entries: Any, articles: Any, edge_articles: Any, options: Any, longer: Any, rules: Any,
    low: int, high: int, budget: Any,
    status: Any, exact_match: Any, f1: Any, precision: Any, recall: Any, best_reference: Any,
    clean: Any, keys: Any, firsts: Any, masks: Any, ranks: Any, counts: Any, bounds: Any, list_texts: Any, p_chosen: Any, r_chosen: Any, state: Any, repeats: Any, recent: Any,
    slots: Any, slot_used: Any, shared: Any, matches: Any, f1s: Any, places: Any, f1_table: Any, numbers: Any, joined: Any, fail: Any,
) -> int:  # fmt: skip
    """Score rows `low` to `high`; -1, or the row whose text is not valid UTF-8, or -2 less the row that needs more scratch."""
    row, block, look = low, 0, rules[RULE_DISTINCT] == 0
    while row < high:
        stop, texts, same = _plan_block(
            p_data, p_starts, p_ends, r_data, r_starts, r_ends, l_starts, l_ends,
            row, high, budget, status, list_texts, p_chosen, r_chosen, repeats, recent, look, packed,
        )  # fmt: skip
        if texts < 0:
            return -2 - row
        block += 1
        look = rules[RULE_DISTINCT] == 0 and (block % _LOOK_AGAIN == 0 or (look and same * _RARE >= stop - row))
        rows = stop - row
        at = _clean_texts(
            p_data, p_starts, p_ends, p_chosen, rows, clean, _NO, bounds, _NO, state,
            simple, blocks, entries, edge_articles, options, longer,
        )  # fmt: skip
        if at < 0:
            return row - at - 1
        at = _clean_texts(
            r_data, r_starts, r_ends, r_chosen, texts, clean, at, bounds, rows, state,
            simple, blocks, entries, edge_articles, options, longer,
        )  # fmt: skip
        if at < 0:
            bad = row
            while l_ends[bad] <= r_chosen[-at - 1] or l_starts[bad] > r_chosen[-at - 1]:
                bad += 1
            return bad
        cut_texts(clean, at, bounds, rows + texts, keys, firsts, articles, masks, ranks, counts)
        if rules[RULE_MATCH] == MATCH_CONTAINS:
            join_texts(clean, keys, firsts, rows + texts, joined, 0, counts)
        _score_block(
            p_data, p_starts, p_ends, p_whole, r_data, r_starts, r_ends, r_whole, r_kept, l_starts, l_ends,
            given, given_firsts, rules, row, stop, list_texts, repeats,
            status, exact_match, f1, precision, recall, best_reference,
            clean, keys, firsts, slots, slot_used, shared, matches, f1s, places, f1_table, numbers, joined, counts, fail,
        )  # fmt: skip
        row = stop
    return -1

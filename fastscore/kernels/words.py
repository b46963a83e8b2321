"""The word scorer's entry: rows of predictions and reference lists in, item scores filled.

Rows are taken in blocks that fit into the caches. In each block all texts are cleaned, then all are cut into words, then each
row is compared; a reference list that repeats the row before's is cleaned once. Scratch arrays come from the caller.
"""

from __future__ import annotations

from typing import Any

from fastscore.kernels.bits import load64
from fastscore.kernels.clean import clean_text
from fastscore.kernels.compare import combine, score_pair
from fastscore.kernels.cut import cut_words
from fastscore.kernels.jit import inner, kernel
from fastscore.kernels.layout import (
    LANE_WORDS,
    LANES,
    RULE_CANNOT_ANSWER,
    RULE_NON_EMPTY,
    RULE_VERBATIM,
    STATUS_NO_REFERENCES,
    STATUS_OK,
)
from fastscore.kernels.overlap import build_lanes, clear_table, count_lanes, count_shared, insert_word

__all__ = ["measure_rows", "same_bytes", "score_rows"]

_BYTES = "Array(uint8, 1, 'C', readonly=True)"
_INTS = "Array(int64, 1, 'C', readonly=True)"


@kernel(f"void({_INTS}, {_INTS}, {_INTS}, {_INTS}, {_INTS}, {_INTS}, int64, int64, int64[::1])")
def measure_rows(p_starts: Any, p_ends: Any, r_starts: Any, r_ends: Any, l_starts: Any, l_ends: Any, low: int, high: int, most: Any) -> None:
    """The most bytes of one prediction, and the most bytes and texts of one reference list, into ``most[0:3]``."""
    for row in range(low, high):
        most[0] = max(most[0], p_ends[row] - p_starts[row])
        size = 0
        for text in range(l_starts[row], l_ends[row]):
            size += r_ends[text] - r_starts[text]
        most[1] = max(most[1], size)
        most[2] = max(most[2], l_ends[row] - l_starts[row])


@inner
def same_bytes(a: Any, at: int, a_end: int, b: Any, other: int, b_end: int) -> bool:
    """Whether ``a[at:a_end]`` and ``b[other:b_end]`` are the same bytes."""
    if a_end - at != b_end - other:
        return False
    while at + 8 <= a_end:
        if load64(a, at) != load64(b, other):
            return False
        at += 8
        other += 8
    while at < a_end:
        if a[at] != b[other]:
            return False
        at += 1
        other += 1
    return True


@inner
def _same_list(references: Any, row: int, before: int) -> bool:
    """Whether two rows have reference lists of the same texts in the same order."""
    data, starts, ends, _, l_starts, l_ends = references
    low, other = l_starts[row], l_starts[before]
    count = l_ends[row] - low
    if count != l_ends[before] - other:
        return False
    for k in range(count):
        if not same_bytes(data, starts[low + k], ends[low + k], data, starts[other + k], ends[other + k]):
            return False
    return True


@inner
def _plan_block(predictions: Any, references: Any, low: int, high: int, budget: Any, lists: Any, status: Any) -> int:
    """Say for each row of the next block which row's reference list stands for its own; the row after the block."""
    _, p_starts, p_ends, _ = predictions
    _, r_starts, r_ends, _, l_starts, l_ends = references
    size, texts = 0, 0
    row = low
    while row < high:
        more = 0
        if status[row] == STATUS_OK:
            more = p_ends[row] - p_starts[row]
        repeated = row > low and _same_list(references, row, row - 1)
        fresh = 0
        if not repeated:
            fresh = l_ends[row] - l_starts[row]
            for text in range(l_starts[row], l_ends[row]):
                more += r_ends[text] - r_starts[text]
        if row > low and (size + more > budget[0] or texts + 1 + fresh > budget[1]):
            break
        size += more
        texts += 1 + fresh
        lists[row - low] = lists[row - 1 - low] if repeated else row
        row += 1
    return row


@inner
def _prepare_block(predictions: Any, references: Any, low: int, stop: int, form: Any, scratch: Any, status: Any) -> int:
    """Clean and cut the block's texts, predictions first; -1, or the row whose text is not valid UTF-8.

    Text t's words are ``firsts[t]`` to ``firsts[t + 1]``; `list_texts` gives each row its list's first text.
    """
    p_data, p_starts, p_ends, _ = predictions
    r_data, r_starts, r_ends, _, l_starts, l_ends = references
    clean, keys, starts, firsts, bounds, lists, list_texts, state = scratch[:8]
    at, text = 0, 0
    for row in range(low, stop):
        bounds[2 * text] = at
        end = at
        if status[row] == STATUS_OK:
            end = clean_text(p_data, p_starts[row], p_ends[row], clean, at, state, form)
            if end < 0:
                return row
        bounds[2 * text + 1] = end
        text += 1
        at = end + 1
    for row in range(low, stop):
        if lists[row - low] != row:
            list_texts[row - low] = list_texts[row - 1 - low]
            continue
        list_texts[row - low] = text
        for reference in range(l_starts[row], l_ends[row]):
            end = clean_text(r_data, r_starts[reference], r_ends[reference], clean, at, state, form)
            if end < 0:
                return row
            bounds[2 * text] = at
            bounds[2 * text + 1] = end
            text += 1
            at = end + 1
    count = 0
    for k in range(text):
        firsts[k] = count
        count = cut_words(clean, bounds[2 * k], bounds[2 * k + 1], keys, starts, count, form[3])
    firsts[text] = count
    return -1


@inner
def _table_mask(words: int) -> int:
    """One less than the slots for so many words: a power of two, at least twice as many."""
    slots = 16
    while slots < 2 * words:
        slots *= 2
    return slots - 1


@inner
def _count_one_by_one(p: int, text: int, n: int, mask: int, shared: Any, scratch: Any) -> None:
    """Fill ``shared[k]`` with the words that prediction `p` shares with reference text ``text + k``, for any sizes."""
    clean, keys, starts, firsts = scratch[:4]
    table, words, used, counts = scratch[8], scratch[9], scratch[11], scratch[12]
    clear_table(table, mask)
    distinct = 0
    for word in range(firsts[p], firsts[p + 1]):
        number, more = insert_word(clean, word, table, mask, words, distinct, keys, starts)
        if more > distinct:
            counts[number] = 0
            used[number] = 0
            distinct = more
        counts[number] += 1
    for k in range(n):
        shared[k] = count_shared(clean, firsts[text + k], firsts[text + k + 1], table, mask, words, counts, used, keys, starts)
    for number in range(distinct):
        used[number] = 0


@inner
def _score_block(predictions: Any, references: Any, low: int, stop: int, rules: Any, scratch: Any, out: Any) -> None:
    """Compare each row of a prepared block with its references and fill the row's scores."""
    _, _, _, _, l_starts, l_ends = references
    clean, keys, starts, firsts, _, _, list_texts, _, table, words, lanes, used, _, shared = scratch[:14]
    status = out[0]
    mask, built = 0, -1
    for row in range(low, stop):
        if status[row] != STATUS_OK:
            continue
        n = l_ends[row] - l_starts[row]
        if n == 0 and not rules[RULE_NON_EMPTY]:
            status[row] = STATUS_NO_REFERENCES
            continue
        p = row - low
        text = list_texts[p]
        in_lanes = n <= LANES
        for k in range(n):
            in_lanes = in_lanes and firsts[text + k + 1] - firsts[text + k] <= LANE_WORDS
        if in_lanes:
            if built != text:
                mask = _table_mask(firsts[text + n] - firsts[text])
                clear_table(table, mask)
                build_lanes(clean, firsts, text, text + n, table, mask, words, lanes, keys, starts)
                built = text
            packed = count_lanes(clean, firsts[p], firsts[p + 1], table, mask, words, lanes, used, keys, starts)
            for k in range(n):
                shared[k] = (packed >> (8 * k)) & 255
        else:
            built = -1
            _count_one_by_one(p, text, n, _table_mask(firsts[p + 1] - firsts[p]), shared, scratch)
        _score_row(predictions, references, row, p, text, n, rules, scratch, out)


@inner
def _score_row(predictions: Any, references: Any, row: int, p: int, text: int, n: int, rules: Any, scratch: Any, out: Any) -> None:
    """Score the row's pairs, whose shared words are counted, combine them and write the row."""
    p_data, p_starts, p_ends, p_whole = predictions
    r_data, r_starts, r_ends, r_whole, l_starts, _ = references
    clean, keys, starts, firsts = scratch[:4]
    shared, matches, f1s, precisions, recalls, places = scratch[13:19]
    _, exact_match, f1, precision, recall, best_reference = out
    p_first = firsts[p]
    p_count = firsts[p + 1] - p_first
    used = 0
    for k in range(n):
        r_first = firsts[text + k]
        r_count = firsts[text + k + 1] - r_first
        if r_count == 0 and rules[RULE_NON_EMPTY]:
            continue
        match, value, p_value, r_value = score_pair(clean, shared[k], p_first, p_count, r_first, r_count, keys, starts, rules)
        reference = l_starts[row] + k
        if rules[RULE_VERBATIM]:
            match = 0.0
            if same_bytes(p_data, p_starts[row], p_ends[row], r_data, r_starts[reference], r_ends[reference]):
                match = 1.0
        if rules[RULE_CANNOT_ANSWER] and r_whole[reference]:
            match = 1.0 if p_whole[row] else 0.0
            value, p_value, r_value = match, match, match
        matches[used], f1s[used], precisions[used], recalls[used], places[used] = match, value, p_value, r_value, k
        used += 1
    if used == 0:
        match, value, p_value, r_value = score_pair(clean, 0, p_first, p_count, p_first, 0, keys, starts, rules)
        matches[0], f1s[0], precisions[0], recalls[0], places[0] = match, value, p_value, r_value, 0 if n else -1
        used = 1
    match, value, best = combine(matches, f1s, used, rules)
    exact_match[row], f1[row] = match, value
    precision[row], recall[row] = precisions[best], recalls[best]
    best_reference[row] = places[best]


@kernel(
    f"int64({_BYTES}, {_INTS}, {_INTS}, {_BYTES}, {_BYTES}, {_INTS}, {_INTS}, {_BYTES}, {_INTS}, {_INTS}, "
    "uint16[::1], uint16[::1], uint32[::1], uint64[::1], uint64[::1], int64[::1], uint32[::1], int64[::1], int64, int64, int64[::1], "
    "uint8[::1], float64[::1], float64[::1], float64[::1], float64[::1], int32[::1], "
    "uint8[::1], uint64[::1], int64[::1], int64[::1], int64[::1], int64[::1], int64[::1], int64[::1], "
    "int32[::1], int64[::1], uint64[::1], int64[::1], int64[::1], int64[::1], "
    "float64[::1], float64[::1], float64[::1], float64[::1], int64[::1])"
)
def score_rows(
    p_data: Any, p_starts: Any, p_ends: Any, p_whole: Any, r_data: Any, r_starts: Any, r_ends: Any, r_whole: Any, l_starts: Any, l_ends: Any,
    bytes_: Any, blocks: Any, entries: Any, articles: Any, edge_articles: Any, options: Any, longer: Any, rules: Any,
    low: int, high: int, budget: Any,
    status: Any, exact_match: Any, f1: Any, precision: Any, recall: Any, best_reference: Any,
    clean: Any, keys: Any, starts: Any, firsts: Any, bounds: Any, lists: Any, list_texts: Any, state: Any,
    table: Any, words: Any, lanes: Any, used: Any, counts: Any, shared: Any,
    matches: Any, f1s: Any, precisions: Any, recalls: Any, places: Any,
) -> int:  # fmt: skip
    """Score rows `low` to `high`; -1, or the row whose text is not valid UTF-8."""
    predictions = (p_data, p_starts, p_ends, p_whole)
    references = (r_data, r_starts, r_ends, r_whole, l_starts, l_ends)
    form = (bytes_, blocks, entries, articles, edge_articles, options, longer)
    out = (status, exact_match, f1, precision, recall, best_reference)
    scratch = (
        clean, keys, starts, firsts, bounds, lists, list_texts, state, table, words, lanes, used, counts,
        shared, matches, f1s, precisions, recalls, places,
    )  # fmt: skip
    row = low
    while row < high:
        stop = _plan_block(predictions, references, row, high, budget, lists, status)
        bad = _prepare_block(predictions, references, row, stop, form, scratch, status)
        if bad >= 0:
            return bad
        _score_block(predictions, references, row, stop, rules, scratch, out)
        row = stop
    return -1

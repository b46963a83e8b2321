"""A text's clean form: lower-cased, punctuation gone, every white space a blank, articles gone where words can't tell.

The clean form is UTF-8 and ends with a blank, so that words are cut at single bytes. Printable ASCII is
written 64 bytes at a time; anything else goes code point by code point through the tables.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fastscore.kernels.bits import HIGH_BITS, load64, store64
from fastscore.kernels.jit import inlined, inner
from fastscore.kernels.layout import (
    ALONE,
    DELETE,
    IMAGE,
    KEEP,
    KIND,
    LONGER,
    OPTION_ARABIC,
    OPTION_BLANKED,
    OPTION_DELETED,
    OPTION_EDGES,
    OPTION_FIRST,
    OPTION_LOWER,
    OPTION_NARROW,
    OPTION_RUN_TO_SPACE,
    OPTION_RUNS,
    OPTION_WIDE,
    SIGMA,
    SIGMA_MASK,
    SIGMA_SHIFT,
    SIMPLE_ALONE,
    SIMPLE_LENGTH,
    SIMPLE_SIZE,
    SIMPLE_THREE,
    SIMPLE_TWO,
    SPACE,
    UNSEEN,
    WIDE_STRETCHES,
    WIDE_TEXTS,
    WORD,
)
from fastscore.kernels.utf8 import decode, encode
from fastscore.kernels.wide import (
    ALL_BITS,
    clean64,
    count_bits,
    equal_byte64,
    highest_bit,
    leads64,
    lowest_bit,
    lowest_bits,
    words64,
)

__all__ = ["clean_text", "sigma_is_final"]

_SEGMENT, _RUN, _RUN_WHOLE, _ALEF = 0, 1, 2, 3
_BLANK = 0x20
_ZERO, _ONE = np.uint64(0), np.uint64(1)
#: By a code point's length in bytes: how far the number made of its bytes is from its place in the table of simple ones.
_PLACES = np.array([0, 0, 0x3000 - SIMPLE_TWO, 0xE0000 - SIMPLE_THREE])


@inlined
def clean_text(
    data: Any, start: int, end: int, out: Any, at: int, state: Any,
    simple: Any, blocks: Any, entries: Any, edge_articles: Any, options: Any, longer: Any,
) -> int:  # fmt: skip
    """Write the clean form of ``data[start:end]`` to ``out[at:]`` and a blank behind it; the position of that blank.

    -1 where the text is not valid UTF-8. `out` must have room for three bytes a byte and 80 more.
    """
    if options[OPTION_WIDE] == WIDE_TEXTS:
        to = _clean_articles_first(data, start, end, out, at, edge_articles, options)
        if to >= 0:
            out[to] = _BLANK
            return to
    wide = options[OPTION_WIDE] == WIDE_STRETCHES
    state[_SEGMENT] = at
    state[_RUN] = -1
    state[_ALEF] = -1
    i = start
    to = at
    while i < end:
        stretch = wide and i + 64 <= data.size
        if stretch and data[i] < 0x80:
            limit = min(end - i, 64)
            bits = lowest_bits(limit)
            other, kept = clean64(
                data,
                i,
                out,
                to,
                options[OPTION_LOWER],
                options[OPTION_DELETED],
                options[OPTION_BLANKED],
                options[OPTION_NARROW],
                0,
                0,
            )
            other &= bits
            if other == 0:
                to += count_bits(kept & bits)
                i += limit
                continue
            before = lowest_bit(other)
            to += count_bits(kept & lowest_bits(before))
            i += before
        i, to = _clean_carefully(
            data, start, i, end, out, to, state, stretch, simple, blocks, entries, edge_articles, options, longer
        )
        if i < 0:
            return -1
    if state[_SEGMENT] > at:
        _blank_edges(out, state[_SEGMENT], to, edge_articles)
    out[to] = _BLANK
    return to


@inner
def _clean_articles_first(data: Any, start: int, end: int, out: Any, to: int, articles: Any, options: Any) -> int:
    """Clean printable ASCII whose articles go before its punctuation, 64 bytes at a time; -1 where the text holds other bytes.

    Articles are found where they stand: runs of word characters that are one of them. A run that reaches the end of 64 bytes is
    left to the next.
    """
    i, inside_before = start, _ZERO
    while i < end:
        if i + 64 > data.size:
            return -1
        limit = min(end - i, 64)
        inside = words64(data, i) & lowest_bits(limit)
        if i + 64 < end and inside != ALL_BITS:
            limit = highest_bit(~inside) + 1
            inside &= lowest_bits(limit)
        first_bytes = inside & ~(inside << _ONE | inside_before)
        gone, spaced = _ZERO, _ZERO
        for k in range(articles.size):
            length = np.int64(articles[k] >> np.uint64(56))
            found = first_bytes & ~(inside >> np.uint64(length))
            for place in range(length):
                byte = (articles[k] >> np.uint64(8 * place)) & np.uint64(255)
                found &= (equal_byte64(data, i, byte, options[OPTION_LOWER]) & inside) >> np.uint64(place)
            for place in range(length):
                gone |= found << np.uint64(place)
            spaced |= found
        if options[OPTION_RUN_TO_SPACE]:
            gone &= ~spaced
        else:
            spaced = _ZERO
        other, kept = clean64(
            data, i, out, to, options[OPTION_LOWER], options[OPTION_DELETED], options[OPTION_BLANKED], options[OPTION_NARROW],
            gone, spaced,
        )  # fmt: skip
        if other & lowest_bits(limit) != _ZERO:
            return -1
        to += count_bits(kept & lowest_bits(limit))
        inside_before = (inside >> np.uint64(limit - 1)) & _ONE
        i += limit
    return to


@inlined
def _clean_carefully(
    data: Any, start: int, i: int, end: int, out: Any, to: int, state: Any, until_ascii: bool,
    simple: Any, blocks: Any, entries: Any, edge_articles: Any, options: Any, longer: Any,
) -> Any:  # fmt: skip
    """Clean code point by code point, to the end or until printable ASCII comes again; the positions reached, -1 where not valid."""
    form = (simple, blocks, entries, longer, edge_articles, options)
    first = i
    while i < end:
        if simple.size and i + 72 <= data.size:
            i, to, ascii_again = _clean_simple(data, i, end, out, to, simple, first if until_ascii else end)
            if ascii_again or i == end:
                break
        length, to = _put_point(data, start, i, end, out, to, state, form)
        if length == 0:
            return -1, to
        i += length
    if options[OPTION_RUNS]:
        to = _end_run(out, to, state, form)
    return i, to


@inlined
def _clean_simple(data: Any, i: int, end: int, out: Any, to: int, simple: Any, first: int) -> Any:
    """Clean the simple code points of up to three bytes that the next 64 bytes begin with; the positions reached.

    Where each code point starts is read from all 64 bytes at once, so that none waits for the one before. Stops and says so
    where, after the code point at `first`, eight bytes of ASCII come.
    """
    limit = min(end - i, 64)
    leads = leads64(data, i) & lowest_bits(limit)
    if limit < 64:
        leads |= _ONE << np.uint64(limit)
    at, base = 0, i
    if leads & _ONE == _ZERO:
        return i, to, False
    leads &= leads - _ONE
    while leads != _ZERO:
        word = load64(data, i)
        if i > first and word & HIGH_BITS == _ZERO:
            return i, to, True
        after = lowest_bit(leads)
        leads &= leads - _ONE
        length = after - at
        if length > 3:
            break
        bits = np.int64((word & np.uint64(0xFF)) << np.uint64(12) | (word >> np.uint64(2)) & np.uint64(0xFC0))
        place = ((bits | np.int64((word >> np.uint64(16)) & np.uint64(0x3F))) >> (18 - 6 * length)) - _PLACES[length]
        if np.uint64(place) >= np.uint64(SIMPLE_SIZE):
            break
        image = np.int64(simple[place])
        if image == 0:
            break
        if image & SIMPLE_ALONE:
            if to > 0 and out[to - 1] != _BLANK:
                out[to] = _BLANK
                to += 1
            store64(out, to, np.uint64(image & 0xFFFFFF) | np.uint64(_BLANK) << np.uint64(8 * length))
            to += length + 1
        else:
            store64(out, to, np.uint64(image))
            to += int(image >> SIMPLE_LENGTH & 3)
        at = after
        i = base + at
    return i, to, False


@inlined
def _put_point(data: Any, start: int, i: int, end: int, out: Any, to: int, state: Any, form: Any) -> Any:
    """Write what the code point at `i` becomes; its length in the input (0: not valid) and the position after."""
    blocks, entries, longer = form[1], form[2], form[3]
    point, length = decode(data, i, end)
    if length == 0:
        return 0, to
    entry = int(entries[int(blocks[point >> 8]) * 256 + (point & 255)])
    kind = entry & KIND
    if kind == LONGER:
        first = (entry & IMAGE) * 4
        for k in range(int(longer[first])):
            part = int(longer[first + 1 + k])
            to = _put(out, to, part & ~IMAGE, part & IMAGE, state, form)
    elif kind == SIGMA:
        final = sigma_is_final(data, start, i, end, blocks, entries)
        to = _put(out, to, KEEP | entry & (WORD | ALONE), 0x3C2 if final else 0x3C3, state, form)
    else:
        to = _put(out, to, entry & ~IMAGE, (point + entry) & IMAGE, state, form)
    return length, to


@inlined
def _put(out: Any, to: int, entry: int, point: int, state: Any, form: Any) -> int:
    """Write one code point that is past the case step, as its entry says; the position after."""
    options = form[5]
    kind = entry & KIND
    if options[OPTION_RUNS]:
        to = _track_run(out, to, entry, state, form)
    if kind == DELETE:
        if options[OPTION_FIRST] and entry & UNSEEN == 0:
            state[_ALEF] = -1
        return to
    if kind == SPACE:
        out[to] = _BLANK
        return to + 1
    if options[OPTION_EDGES] and entry & WORD == 0:
        _blank_edges(out, state[_SEGMENT], to, form[4])
        to = encode(out, to, point)
        state[_SEGMENT] = to
        return to
    if options[OPTION_ARABIC]:
        return _put_arabic(out, to, point, state, options)
    if entry & ALONE:
        if to == 0 or out[to - 1] != _BLANK:
            out[to] = _BLANK
            to += 1
        to = encode(out, to, point)
        out[to] = _BLANK
        return to + 1
    return encode(out, to, point)


@inlined
def _put_arabic(out: Any, to: int, point: int, state: Any, options: Any) -> int:
    """Write one code point; alef and lam in a row, wherever they stand, are the article and become a blank or nothing."""
    if point == 0x644 and state[_ALEF] == to:
        to -= 2
        state[_ALEF] = -1
        if options[OPTION_RUN_TO_SPACE]:
            out[to] = _BLANK
            to += 1
        return to
    to = encode(out, to, point)
    if point == 0x627:
        state[_ALEF] = to
    return to


@inner
def sigma_is_final(data: Any, start: int, i: int, end: int, blocks: Any, entries: Any) -> bool:
    """Whether the capital sigma at `i` becomes a final one: a cased character before it and none after (`str.lower`)."""
    before = i
    cased = 2
    while cased == 2 and before > start:
        before -= 1
        while before > start and int(data[before]) & 0xC0 == 0x80:
            before -= 1
        point, length = decode(data, before, end)
        cased = int(entries[int(blocks[point >> 8]) * 256 + (point & 255)]) >> SIGMA_SHIFT & 3
    if cased != 1:
        return False
    after = i + 2
    while after < end:
        point, length = decode(data, after, end)
        if length == 0:
            return True
        entry = int(entries[int(blocks[point >> 8]) * 256 + (point & 255)])
        if entry & SIGMA_MASK != 2 << SIGMA_SHIFT:
            return entry & SIGMA_MASK != 1 << SIGMA_SHIFT
        after += length
    return True


@inner
def _blank_edges(out: Any, low: int, high: int, articles: Any) -> None:
    """Blank the first and the last word of a stretch where they are articles.

    The stretch holds word characters and blanks only and touches kept characters that are no word characters; articles
    between blanks are left to the word cutter.
    """
    length = 0
    while length < 8 and low + length < high and out[low + length] != _BLANK:
        length += 1
    if _is_article(out, low, length, articles):
        for k in range(length):
            out[low + k] = _BLANK
    length = 0
    while length < 8 and high - length > low and out[high - 1 - length] != _BLANK:
        length += 1
    if _is_article(out, high - length, length, articles):
        for k in range(length):
            out[high - 1 - k] = _BLANK


@inlined
def _track_run(out: Any, to: int, entry: int, state: Any, form: Any) -> int:
    """Follow the runs of word characters; at a run's end drop it if it is an article. The position after."""
    first = form[5][OPTION_FIRST]
    kind = entry & KIND
    if entry & UNSEEN or (kind == DELETE and not first):
        return to
    if entry & WORD and (first or kind == KEEP):
        if state[_RUN] < 0:
            state[_RUN] = to
            state[_RUN_WHOLE] = 1
        if kind != KEEP:
            state[_RUN_WHOLE] = 0
        return to
    return _end_run(out, to, state, form)


@inlined
def _end_run(out: Any, to: int, state: Any, form: Any) -> int:
    """End the run of word characters that ends at `to`; the position after what is left of it."""
    run = state[_RUN]
    state[_RUN] = -1
    if run >= 0 and state[_RUN_WHOLE] and _is_article(out, run, to - run, form[4]):
        to = run
        if form[5][OPTION_RUN_TO_SPACE]:
            out[to] = _BLANK
            to += 1
    return to


@inlined
def _is_article(out: Any, at: int, length: int, articles: Any) -> bool:
    """Whether the `length` bytes from `at` on are one of the articles."""
    if length < 1 or length > 7:
        return False
    mask = (np.uint64(1) << np.uint64(8 * length)) - np.uint64(1)
    key = load64(out, at) & mask | np.uint64(length) << np.uint64(56)
    for k in range(articles.size):
        if articles[k] == key:
            return True
    return False

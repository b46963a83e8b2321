"""Whole text columns: normal forms written, first lines found, texts compared with one text."""

from __future__ import annotations

from typing import Any

from fastscore.kernels.clean import clean_text, sigma_is_final
from fastscore.kernels.cut import cut_texts, join_texts
from fastscore.kernels.jit import kernel
from fastscore.kernels.layout import IMAGE, KIND, LONGER, SIGMA
from fastscore.kernels.spaces import strip
from fastscore.kernels.utf8 import decode, encode
from fastscore.kernels.wide import equal_byte64, lowest_bit, lowest_bits

__all__ = ["equal_to", "first_lines", "lower_rows", "normalize_rows"]

_BYTES = "Array(uint8, 1, 'C', readonly=True)"
_INTS = "Array(int64, 1, 'C', readonly=True)"


@kernel(
    f"int64({_BYTES}, {_INTS}, {_INTS}, uint32[::1], uint16[::1], uint32[::1], uint64[::1], uint64[::1], int64[::1], uint32[::1], "
    "uint8[::1], uint64[::1], int64[::1], int64[::1], uint64[::1], int64[::1], int64[::1], int64[::1], uint8[::1], int64[::1])"
)
def normalize_rows(
    data: Any, starts: Any, ends: Any,
    simple: Any, blocks: Any, entries: Any, articles: Any, edge_articles: Any, options: Any, longer: Any,
    clean: Any, keys: Any, firsts: Any, bounds: Any, masks: Any, ranks: Any, counts: Any, state: Any, out: Any, offsets: Any,
) -> int:  # fmt: skip
    """Write each text's words, joined by one blank, to `out`; -1, or the row whose text is not valid UTF-8."""
    to: Any = 0
    for row in range(starts.size):
        end = clean_text(data, starts[row], ends[row], clean, 0, state, simple, blocks, entries, edge_articles, options, longer)
        if end < 0:
            return row
        bounds[1] = end
        cut_texts(clean, end + 1, bounds, 1, keys, firsts, articles, masks, ranks, counts)
        to = join_texts(clean, keys, firsts, 1, out, to, bounds)
        offsets[row + 1] = to
    return -1


@kernel(f"void({_BYTES}, {_INTS}, {_INTS}, int64[::1], int64[::1])")
def first_lines(data: Any, starts: Any, ends: Any, firsts: Any, lasts: Any) -> None:
    r"""The first line of each text as ``text.strip().split("\n")[0]`` has it: stripped as a whole, then cut."""
    for row in range(starts.size):
        at, end = starts[row], ends[row]
        if at < end and not (0x20 < data[at] < 0x80 and 0x20 < data[end - 1] < 0x80):
            at, end = strip(data, at, end)
        firsts[row] = at
        while at < end and at + 64 <= data.size:
            lines = equal_byte64(data, at, 0x0A, 0) & lowest_bits(min(64, end - at))
            if lines != 0:
                end = at + lowest_bit(lines)
            at += 64
        while at < end and data[at] != 0x0A:
            at += 1
        lasts[row] = min(at, end)


@kernel(f"void({_BYTES}, {_INTS}, {_INTS}, {_BYTES}, uint8[::1])")
def equal_to(data: Any, starts: Any, ends: Any, text: Any, out: Any) -> None:
    """Say of each text whether it equals `text` byte for byte."""
    for row in range(starts.size):
        same = ends[row] - starts[row] == text.size
        k = 0
        while same and k < text.size:
            same = data[starts[row] + k] == text[k]
            k += 1
        out[row] = 1 if same else 0


@kernel(f"int64({_BYTES}, {_INTS}, {_INTS}, uint16[::1], uint32[::1], uint32[::1], uint8[::1], int64[::1])")
def lower_rows(data: Any, starts: Any, ends: Any, blocks: Any, entries: Any, longer: Any, out: Any, offsets: Any) -> int:
    """Write each text lower-cased to `out`; -1, or the row whose text is not valid UTF-8."""
    to = 0
    for row in range(starts.size):
        start, end = starts[row], ends[row]
        at = start
        while at < end:
            point, length = decode(data, at, end)
            if length == 0:
                return row
            entry = int(entries[int(blocks[point >> 8]) * 256 + (point & 255)])
            if entry & KIND == LONGER:
                first = (entry & IMAGE) * 4
                for k in range(int(longer[first])):
                    to = encode(out, to, int(longer[first + 1 + k]) & IMAGE)
            elif entry & KIND == SIGMA:
                to = encode(out, to, 0x3C2 if sigma_is_final(data, start, at, end, blocks, entries) else 0x3C3)
            else:
                to = encode(out, to, (point + entry) & IMAGE)
            at += length
        offsets[row + 1] = to
    return -1

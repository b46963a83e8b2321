"""Texts found in texts, in time linear in both."""

from __future__ import annotations

from typing import Any

import numpy as np

from fastscore.kernels.jit import inlined, inner, kernel
from fastscore.kernels.wide import equal_byte64, lowest_bit, lowest_bits, same_bytes

__all__ = ["find_bytes", "match_pairs"]

_BYTES = "Array(uint8, 1, 'C', readonly=True)"
_INTS = "Array(int64, 1, 'C', readonly=True)"
#: Places that begin and end as the wanted text does, but differ, before the search goes on byte by byte.
_TRIES = 8
_ZERO, _ONE = np.uint64(0), np.uint64(1)


@inlined
def find_bytes(data: Any, start: int, end: int, wanted: Any, first: int, last: int, fail: Any) -> bool:
    """Whether ``wanted[first:last]`` occurs in ``data[start:end]``; 64 bytes of `data` behind `end` are readable.

    Places where the first and the last byte agree are tried, 64 at a time; after a few vain tries the search goes on as
    Knuth, Morris and Pratt's, for which `fail` is scratch.
    """
    size = last - first
    if size == 0:
        return True
    tries = 0
    while start + size <= end:
        places = equal_byte64(data, start, wanted[first], 0) & equal_byte64(data, start + size - 1, wanted[last - 1], 0)
        places &= lowest_bits(min(64, end - start - size + 1))
        while places != _ZERO:
            at = start + lowest_bit(places)
            if same_bytes(data, at, at + size, wanted, first, last):
                return True
            places &= places - _ONE
            tries += 1
            if tries > _TRIES:
                return _find_on(data, at + 1, end, wanted, first, last, fail)
        start += 64
    return False


@inner
def _find_on(data: Any, start: int, end: int, wanted: Any, first: int, last: int, fail: Any) -> bool:
    """As `find_bytes`, byte by byte."""
    size = last - first
    fail[0] = 0
    k = 0
    for i in range(1, size):
        while k > 0 and wanted[first + i] != wanted[first + k]:
            k = fail[k - 1]
        if wanted[first + i] == wanted[first + k]:
            k += 1
        fail[i] = k
    k = 0
    for i in range(start, end):
        while k > 0 and data[i] != wanted[first + k]:
            k = fail[k - 1]
        if data[i] == wanted[first + k]:
            k += 1
        if k == size:
            return True
    return False


@kernel(f"void({_BYTES}, {_INTS}, {_INTS}, {_BYTES}, {_INTS}, {_INTS}, {_INTS}, {_INTS}, {_INTS}, uint8[::1])")
def match_pairs(
    data: Any, starts: Any, ends: Any, wanted: Any, w_starts: Any, w_ends: Any, l_starts: Any, l_ends: Any, firsts: Any, flags: Any
) -> None:  # fmt: skip
    """Whether a row's text equals each text of its list: ``flags[firsts[row] + k]`` for the k-th; behind them whether it is empty."""
    for row in range(starts.size):
        start, end, flag = starts[row], ends[row], firsts[row]
        for text in range(l_starts[row], l_ends[row]):
            same = same_bytes(data, start, end, wanted, w_starts[text], w_ends[text])
            flags[flag] = 1 if same else 0
            flag += 1
        flags[flag] = 1 if start == end else 0

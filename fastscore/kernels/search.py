"""Texts found in texts, in time linear in both."""

from __future__ import annotations

from typing import Any

from fastscore.kernels.jit import inner, kernel
from fastscore.kernels.wide import same_bytes

__all__ = ["find_bytes", "match_pairs"]

_BYTES = "Array(uint8, 1, 'C', readonly=True)"
_INTS = "Array(int64, 1, 'C', readonly=True)"


@inner
def find_bytes(data: Any, start: int, end: int, wanted: Any, first: int, last: int, fail: Any) -> bool:
    """Whether ``wanted[first:last]`` occurs in ``data[start:end]`` (Knuth, Morris and Pratt; `fail` is scratch)."""
    size = last - first
    if size == 0:
        return True
    if size > end - start:
        return False
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


@kernel(
    f"void({_BYTES}, {_INTS}, {_INTS}, {_BYTES}, {_INTS}, {_INTS}, {_INTS}, {_INTS}, {_INTS}, boolean, int64[::1], uint8[::1])"
)
def match_pairs(
    data: Any, starts: Any, ends: Any, wanted: Any, w_starts: Any, w_ends: Any, l_starts: Any, l_ends: Any,
    firsts: Any, whole: bool, fail: Any, flags: Any,
) -> None:  # fmt: skip
    """Whether row's text contains, or with `whole` equals, each text of its list: ``flags[firsts[row] + k]`` for the k-th.

    The flag behind a list's last is the row's match with a text of nothing.
    """
    for row in range(starts.size):
        start, end, flag = starts[row], ends[row], firsts[row]
        for text in range(l_starts[row], l_ends[row]):
            if whole:
                same = same_bytes(data, start, end, wanted, w_starts[text], w_ends[text])
            else:
                same = find_bytes(data, start, end, wanted, w_starts[text], w_ends[text], fail)
            flags[flag] = 1 if same else 0
            flag += 1
        flags[flag] = 1 if start == end or not whole else 0

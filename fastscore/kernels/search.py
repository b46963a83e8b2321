"""Texts found in texts, in time linear in both."""

from __future__ import annotations

from typing import Any

from fastscore.kernels.jit import inner, kernel

__all__ = ["contains_rows", "find_bytes"]

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
    f"void({_BYTES}, {_INTS}, {_INTS}, {_BYTES}, {_INTS}, {_INTS}, {_INTS}, {_INTS}, int64, boolean, int64[::1], float64[::1], float64[::1])"
)
def contains_rows(
    data: Any, starts: Any, ends: Any, wanted: Any, w_starts: Any, w_ends: Any, l_starts: Any, l_ends: Any,
    rule: int, non_empty: bool, fail: Any, hits: Any, out: Any,
) -> None:  # fmt: skip
    """Fill `out` with each row's hits combined: rule 0 best, 1 mean over the leave-one-out sets, 2 the first.

    With `non_empty`, references without a character are left out; a list of none that is left is one empty reference.
    """
    for row in range(starts.size):
        n, total = 0, 0
        for text in range(l_starts[row], l_ends[row]):
            if non_empty and w_starts[text] == w_ends[text]:
                continue
            hits[n] = 1.0 if find_bytes(data, starts[row], ends[row], wanted, w_starts[text], w_ends[text], fail) else 0.0
            total += int(hits[n])
            n += 1
        if n == 0:
            out[row] = 1.0 if non_empty else 0.0
            continue
        if rule == 2:
            out[row] = hits[0]
        elif rule == 0 or n == 1 or total != 1:
            out[row] = 1.0 if total else 0.0
        else:
            out[row] = (n - 1) / n

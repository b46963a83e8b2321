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
    f"void({_BYTES}, {_INTS}, {_INTS}, {_BYTES}, {_INTS}, {_INTS}, {_INTS}, {_INTS}, int64, int64[::1], float64[::1], float64[::1])"
)
def contains_rows(
    data: Any, starts: Any, ends: Any, wanted: Any, w_starts: Any, w_ends: Any, l_starts: Any, l_ends: Any,
    rule: int, fail: Any, hits: Any, out: Any,
) -> None:  # fmt: skip
    """Fill `out` with each row's hits combined: rule 0 best, 1 mean over the leave-one-out sets, 2 the first."""
    for row in range(starts.size):
        n = l_ends[row] - l_starts[row]
        total = 0
        for k in range(n):
            text = l_starts[row] + k
            hits[k] = 1.0 if find_bytes(data, starts[row], ends[row], wanted, w_starts[text], w_ends[text], fail) else 0.0
            total += int(hits[k])
        if n == 0:
            continue
        if rule == 2:
            out[row] = hits[0]
        elif rule == 0 or n == 1 or total != 1:
            out[row] = 1.0 if total else 0.0
        else:
            out[row] = (n - 1) / n

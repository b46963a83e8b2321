"""The last answer tag of a text: bounds narrowed to what stands inside it, in one pass over the bytes."""

from __future__ import annotations

from typing import Any

from fastscore.kernels.jit import inlined, kernel

__all__ = ["last_tag"]

_BYTES = "Array(uint8, 1, 'C', readonly=True)"


@inlined
def _starts_with(data: Any, at: int, end: int, wanted: Any) -> bool:
    """Whether ``data[at:end]`` starts with the bytes `wanted`."""
    if at + wanted.size > end:
        return False
    for k in range(wanted.size):
        if data[at + k] != wanted[k]:
            return False
    return True


@kernel(f"void({_BYTES}, int64[::1], int64[::1], {_BYTES}, {_BYTES}, uint8[::1])")
def last_tag(data: Any, starts: Any, ends: Any, opening: Any, closing: Any, failed: Any) -> None:
    """Narrow each text to what stands between the last `opening` ... `closing`, taken from left to right without overlap.

    As ``re.finditer("opening(.*?)closing", text, re.DOTALL)`` finds them; where there is none, the row is marked in `failed`.
    """
    for row in range(starts.size):
        end = ends[row]
        first, last, inside = -1, -1, -1
        at = starts[row]
        while at < end:
            if inside < 0 and data[at] == opening[0] and _starts_with(data, at, end, opening):
                at += opening.size
                inside = at
            elif inside >= 0 and data[at] == closing[0] and _starts_with(data, at, end, closing):
                first, last = inside, at
                at += closing.size
                inside = -1
            else:
                at += 1
        failed[row] = 1 if first < 0 else 0
        if first >= 0:
            starts[row], ends[row] = first, last

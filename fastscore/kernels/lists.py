"""Which texts of a list are kept: the first of equal ones, or by QuAC's vote."""

from __future__ import annotations

from typing import Any

from fastscore.kernels.jit import kernel
from fastscore.kernels.wide import same_bytes

__all__ = ["first_of_equals", "vote"]

_BYTES = "Array(uint8, 1, 'C', readonly=True)"
_INTS = "Array(int64, 1, 'C', readonly=True)"


@kernel(f"void({_BYTES}, {_INTS}, {_INTS}, {_INTS}, {_INTS}, uint8[::1])")
def first_of_equals(data: Any, starts: Any, ends: Any, l_starts: Any, l_ends: Any, kept: Any) -> None:
    """Keep each list's texts that differ from all before them in the list."""
    for row in range(l_starts.size):
        for text in range(l_starts[row], l_ends[row]):
            new = True
            for other in range(l_starts[row], text):
                if kept[other] and same_bytes(data, starts[text], ends[text], data, starts[other], ends[other]):
                    new = False
                    break
            kept[text] = 1 if new else 0


@kernel(f"void({_BYTES}, {_INTS}, {_INTS}, uint8[::1])")
def vote(flags: Any, l_starts: Any, l_ends: Any, kept: Any) -> None:
    """Where at least half of a list's texts are flagged keep the first flagged one alone, else those that are not."""
    for row in range(l_starts.size):
        flagged = 0
        for text in range(l_starts[row], l_ends[row]):
            flagged += flags[text]
        won = 2 * flagged >= l_ends[row] - l_starts[row]
        first = True
        for text in range(l_starts[row], l_ends[row]):
            if flags[text] == 1:
                kept[text] = 1 if won and first else 0
                first = False
            else:
                kept[text] = 0 if won else 1

"""Arrow's offsets checked in one pass, and made 64 bits wide where they are not."""

from __future__ import annotations

from typing import Any

import numpy as np

from fastscore.kernels.jit import kernel

__all__ = ["ascending", "widened"]


@kernel("boolean(Array(int64, 1, 'C', readonly=True))")
def ascending(offsets: Any) -> bool:
    """Whether no offset, of at least one, is less than the one before."""
    down = np.int64(0)
    for k in range(offsets.size - 1):
        down |= np.int64(offsets[k + 1] < offsets[k])
    return down == 0


@kernel("boolean(Array(int32, 1, 'C', readonly=True), int64[::1])")
def widened(narrow: Any, offsets: Any) -> bool:
    """Copy 32-bit offsets, at least one, to 64-bit ones; whether none is less than the one before."""
    down = np.int32(0)
    offsets[0] = narrow[0]
    for k in range(narrow.size - 1):
        offsets[k + 1] = narrow[k + 1]
        down |= np.int32(narrow[k + 1] < narrow[k])
    return down == 0

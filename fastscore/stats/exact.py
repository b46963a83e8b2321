"""Exact sums: a score becomes four integers of 24 bits each, integers are added, and the sum is rounded once at the end.

Arrays of float64 come in, int64 limbs of shape (n, 4) come out; limbs of shards, clusters and groups add up in any order
to the same bits, and `rounded` gives what `math.fsum` would give. The value of a row of limbs is
``s0 * 2**-24 + s1 * 2**-48 + s2 * 2**-72 + s3 * 2**-96``; what lies below 2**-96 is cut off (no F1 of fewer than
2**40 words has such bits).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fastscore.errors import DataError

__all__ = ["LIMBS", "carried", "rounded", "split"]

LIMBS = 4
_BITS = 24
_BASE = float(1 << _BITS)
_MASK = (1 << _BITS) - 1
_TOTAL_LIMIT = float(1 << 38)


def split(values: NDArray[np.float64], metric: str = "value") -> NDArray[np.int64]:
    """Split finite float64 `values` of shape (n,) into limbs of shape (n, 4), carried.

    Raises
    ------
    DataError
        A value is NaN or infinite, or the values are so large that their sum could leave the limbs.
    """
    bad = np.flatnonzero(~np.isfinite(values))
    if bad.size:
        raise DataError(
            f"{metric}: finite numbers are allowed, got {values[bad[0]]} at place {bad[0]} ({bad.size} in all). "
            "Give null where an item has no score."
        )
    if values.size and float(np.abs(values).max()) * values.size >= _TOTAL_LIMIT:
        raise DataError(
            f"{metric}: the sum of the values may not reach 2**38, the largest is {np.abs(values).max():g}. Rescale it."
        )
    limbs = np.empty((values.size, LIMBS), np.int64)
    rest = values.astype(np.float64)
    for place in range(LIMBS):
        rest = rest * _BASE
        whole = np.trunc(rest)
        limbs[:, place] = whole
        rest -= whole
    return carried(limbs)


def carried(limbs: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the one form of each row in which all limbs but the first lie in [0, 2**24); rows of shape (n, 4)."""
    out = limbs.copy()
    for place in range(LIMBS - 1, 0, -1):
        out[:, place - 1] += out[:, place] >> _BITS
        out[:, place] &= _MASK
    return out


def rounded(limbs: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the float64 nearest to each row of limbs, shape (n, 4) to (n,), rounded once (ties to even)."""
    rows = carried(limbs)
    wide = np.abs(rows[:, 0]) >= 1 << 28
    first = np.where(wide, 0, rows[:, 0])
    high = (first << _BITS) + rows[:, 1]
    low = (rows[:, 2] << _BITS) + rows[:, 3]
    out = high * 2.0**-48 + low * 2.0**-96
    for row in np.flatnonzero(wide):
        whole = 0
        for limb in rows[row].tolist():
            whole = (whole << _BITS) + limb
        out[row] = whole / (1 << (_BITS * LIMBS))
    return np.asarray(out, np.float64)

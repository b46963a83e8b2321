"""Exact sums: scores split into whole limbs and added up by group, so that no order of addition can change a bit."""

from __future__ import annotations

from typing import Any

from fastscore.kernels.jit import kernel

__all__ = ["LIMBS", "add_exactly", "count_codes"]

#: A score is a whole number and three fractions of 32 bits each.
LIMBS = 4
_SHIFT = 4294967296.0


@kernel(
    "int64(Array(int64, 1, 'C', readonly=True), Array(float64, 1, 'C', readonly=True), Array(uint8, 1, 'C', readonly=True), int64[::1])"
)
def add_exactly(groups: Any, values: Any, valid: Any, limbs: Any) -> int:
    """Add each valid value to its group's four limbs; how many values had bits below 2**-96, which are left out."""
    rest_lost = 0
    for row in range(values.size):
        if not valid[row]:
            continue
        at = groups[row] * LIMBS
        rest = values[row]
        whole = int(rest)
        limbs[at] += whole
        rest = (rest - whole) * _SHIFT
        for k in range(1, LIMBS):
            whole = int(rest)
            limbs[at + k] += whole
            rest = (rest - whole) * _SHIFT
        if rest != 0.0:
            rest_lost += 1
    return rest_lost


@kernel("void(Array(int64, 1, 'C', readonly=True), Array(uint8, 1, 'C', readonly=True), int64, int64[::1])")
def count_codes(groups: Any, codes: Any, kinds: int, counts: Any) -> None:
    """Count each group's rows by code: ``counts[group * kinds + code]``."""
    for row in range(groups.size):
        counts[groups[row] * kinds + codes[row]] += 1

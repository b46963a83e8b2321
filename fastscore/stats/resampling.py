"""Resampling by counts: the clustered percentile bootstrap and approximate randomisation, without touching a row.

Cells (units of equal sum and count, with how many there are) come in; draws of the mean, or a p-value, come out. A draw
takes one number a cell (multinomial for the bootstrap, binomial for sign flips), so its cost depends on how many different
values there are, not on the rows. Above `MAX_POOLS` cells neighbours share a pool, whose inner spread comes back as normal noise.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fastscore.errors import UsageError

__all__ = ["MAX_POOLS", "bootstrap_means", "check_draws", "sign_flip_p"]

#: Most numbers drawn for one resampling; also the number of quantile pools that more cells are put into.
MAX_POOLS = 2048
_NUMBERS_AT_ONCE = 1 << 21
_BOOTSTRAP, _SIGN_FLIPS, _NOISE = 1, 2, 16


def check_draws(seed: int, draws: int) -> None:
    """Refuse a seed that is no non-negative integer and a number of draws below 100."""
    if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
        raise UsageError(f"seed: an integer of at least 0 is allowed, got {seed!r}.")
    if isinstance(draws, bool) or not isinstance(draws, int) or draws < 100:
        raise UsageError(f"draws: an integer of at least 100 is allowed, got {draws!r}.")


def _generator(seed: int, purpose: int) -> np.random.Generator:
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence([seed, purpose])))


def _pool_starts(units: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the first cell of each pool: cells as they are, or at most `MAX_POOLS` runs of about equally many units."""
    if len(units) <= MAX_POOLS:
        return np.arange(len(units))
    before = np.cumsum(units) - units
    pool = before * MAX_POOLS // int(units.sum())
    return np.flatnonzero(np.diff(pool, prepend=-1))


def bootstrap_means(
    residuals: NDArray[np.float64], counts: NDArray[np.int64], units: NDArray[np.int64], mean: float, *, seed: int, draws: int
) -> NDArray[np.float64]:
    """Draw as many clusters as there are, with replacement, `draws` times; return the draws' means, shape (draws,).

    Parameters
    ----------
    residuals, counts, units
        Per cell, shape (k,): a unit's sum less count times `mean`; its count of rows (at least 1); how many units (at least 1).
    mean
        The mean over all rows; a draw's mean is this plus its residuals' sum over its count.
    """
    order = np.lexsort((counts, residuals))
    residuals, sizes, units = residuals[order], counts[order].astype(np.float64), units[order]
    starts = _pool_starts(units)
    members = np.add.reduceat(units, starts)
    pooled = len(starts) < len(units)
    width = np.diff(np.append(starts, len(units)))
    centre_u, centre_n = residuals, sizes
    if pooled:
        centre_u, centre_n = (np.add.reduceat(units * x, starts) / members for x in (residuals, sizes))
        off_u, off_n = residuals - np.repeat(centre_u, width), sizes - np.repeat(centre_n, width)
        var_u, var_n, cov = (np.add.reduceat(units * x, starts) / members for x in (off_u**2, off_n**2, off_u * off_n))
    total = int(units.sum())
    chances = members / total
    rng = _generator(seed, _BOOTSTRAP)
    noise = _generator(seed, _BOOTSTRAP + _NOISE).standard_normal((draws, 2)) if pooled else np.zeros((0, 2))
    out = np.empty(draws)
    step = max(1, _NUMBERS_AT_ONCE // len(starts))
    for first in range(0, draws, step):
        drawn = rng.multinomial(total, chances, size=min(step, draws - first)).astype(np.float64)
        here = slice(first, first + len(drawn))
        u, n = (drawn * centre_u).sum(axis=1), (drawn * centre_n).sum(axis=1)
        if pooled:
            spread = np.sqrt((drawn * var_n).sum(axis=1))
            slope = np.divide((drawn * cov).sum(axis=1), spread, out=np.zeros_like(spread), where=spread > 0)
            n += spread * noise[here, 0]
            u += slope * noise[here, 0] + np.sqrt(np.maximum((drawn * var_u).sum(axis=1) - slope**2, 0.0)) * noise[here, 1]
        out[here] = mean + u / n
    return out


def sign_flip_p(sums: NDArray[np.float64], units: NDArray[np.int64], *, seed: int, draws: int) -> float:
    """Return the two-sided p-value of approximate randomisation: systems swapped or not, cluster by cluster.

    Parameters
    ----------
    sums, units
        Per cell, shape (k,): a cluster's sum of paired differences, and how many clusters have it.

    Notes
    -----
    p = (1 + draws at least as far from 0 as what was seen) / (1 + draws), the seen one counted, so that p is never 0
    and is valid for any number of draws. Sums equal up to rounding count as equally far.
    """
    seen = abs(float((sums * units).sum()))
    sizes, place = np.unique(np.abs(sums), return_inverse=True)
    members = np.zeros(len(sizes), np.int64)
    np.add.at(members, place, units)
    kept = (sizes > 0) & (members > 0)
    sizes, members = sizes[kept], members[kept]
    if not len(sizes):
        return 1.0
    reach = seen - 1e-12 * float((sizes * members).sum())
    starts = _pool_starts(members)
    pool = np.add.reduceat(members, starts)
    centre, noise = sizes, np.zeros(draws)
    if len(starts) < len(sizes):
        centre = np.add.reduceat(members * sizes, starts) / pool
        width = np.diff(np.append(starts, len(sizes)))
        spread = np.sqrt((members * (sizes - np.repeat(centre, width)) ** 2).sum())
        noise = spread * _generator(seed, _SIGN_FLIPS + _NOISE).standard_normal(draws)
    rng = _generator(seed, _SIGN_FLIPS)
    far = 0
    step = max(1, _NUMBERS_AT_ONCE // len(starts))
    for first in range(0, draws, step):
        size = min(step, draws - first)
        heads = rng.binomial(pool, 0.5, size=(size, len(pool)))
        flipped = ((2 * heads - pool) * centre).sum(axis=1) + noise[first : first + size]
        far += int((np.abs(flipped) >= reach).sum())
    return (1 + far) / (1 + draws)

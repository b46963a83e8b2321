"""Error bars: the mean of a metric with its standard error and interval, for a whole table or for each of its groups.

A table of item scores, arrays, or merged `Units` come in; an `Interval` (or an Arrow table of them, a row a group and
metric) comes out. Clustered intervals follow Miller 2024, "Adding Error Bars to Evals" (arXiv 2411.00640), with the
C/(C-1) correction and t quantiles of C-1 degrees of freedom, where C is the number of clusters.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from fastscore.errors import UsageError
from fastscore.stats.exact import rounded
from fastscore.stats.resampling import bootstrap_means, check_draws
from fastscore.stats.units import Cells, Units, names_of

__all__ = ["FEW_CLUSTERS", "METHODS", "Interval", "Method", "interval", "intervals", "mean_interval"]

Method = Literal["clustered", "wilson", "bootstrap"]
METHODS: tuple[Method, ...] = ("clustered", "wilson", "bootstrap")
#: Below this many clusters an interval carries a warning: the variance between clusters is then hardly known.
FEW_CLUSTERS = 30


@dataclass(frozen=True)
class Interval:
    """A mean with its error bar; fractions as the metric has them, None where there is nothing to say.

    ``n`` rows have a score and ``left_out`` have none; ``clusters`` is the number of units sampled (rows, where ``cluster`` names
    no column). ``low`` and ``high`` are not cut at 0 and 1. ``seed`` and ``draws`` are None unless the method draws.
    """

    metric: str
    n: int
    left_out: int
    clusters: int
    mean: float | None
    standard_error: float | None
    low: float | None
    high: float | None
    level: float
    method: str
    cluster: tuple[str, ...] = ()
    seed: int | None = None
    draws: int | None = None
    warning: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as a dict that strict JSON takes."""
        return dataclasses.asdict(self) | {"cluster": list(self.cluster)}


@dataclass(frozen=True)
class Estimates:
    """The numbers of one metric for all groups, one place a group; NaN stands for "none" in here and never leaves."""

    n: NDArray[np.int64]
    clusters: NDArray[np.int64]
    missing: NDArray[np.int64]
    mean: NDArray[np.float64]
    error: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    residuals: NDArray[np.float64]


def interval(
    table: Any,
    metric: str,
    cluster: str | Sequence[str] | None = None,
    method: Method = "clustered",
    *,
    level: float = 0.95,
    seed: int = 0,
    draws: int = 10_000,
) -> Interval:
    """Return the mean of `metric` over the rows that have a score, with its standard error and interval.

    Parameters
    ----------
    table
        Item scores: a pyarrow table, a polars frame, or the (merged) `Units` of the metric, which then carry the cluster.
    cluster
        Column or columns that tell which rows belong together (CoQA: the story). None: each row is on its own.
    method
        ``clustered``: Miller 2024, t quantiles. ``bootstrap``: clusters drawn with replacement, percentiles; the standard
        error is the draws' standard deviation. ``wilson``: the score interval of a proportion, for a metric of 0 and 1
        alone and without clusters; the standard error is that of the binomial.
    seed, draws
        Of the bootstrap. The same data, seed and numpy give the same bits in any row order.

    Raises
    ------
    UsageError
        A parameter is not allowed, or Wilson's method does not fit the metric or the clusters.
    UnknownNameError, ColumnTypeError, DataError
        See `Units.from_table`.
    """
    units = table if isinstance(table, Units) else Units.from_table(table, metric, cluster=cluster)
    if units.by or units.metric != metric:
        raise UsageError(f"units: those of metric {metric!r} without groups are allowed, got {units.metric!r} by {units.by}.")
    check_method(method, level, seed, draws)
    found = estimate(units.cells(), method, level, seed, draws, metric=metric, clustered=bool(units.cluster))
    return as_interval(found, 0, units, method, level, seed, draws)


def mean_interval(
    values: NDArray[Any],
    clusters: NDArray[Any] | None = None,
    method: Method = "clustered",
    *,
    metric: str = "value",
    level: float = 0.95,
    seed: int = 0,
    draws: int = 10_000,
) -> Interval:
    """Return the interval of `values`, shape (n,), with integer or text cluster codes of the same shape; see `interval`.

    Raises
    ------
    UsageError
        The shapes differ.
    DataError
        A value is NaN or infinite: leave rows without a score out.
    """
    values = np.asarray(values)
    columns = {metric: values}
    if clusters is not None:
        columns[f"cluster of {metric}"] = np.asarray(clusters)
    shapes = {np.shape(column) for column in columns.values()}
    if len(shapes) > 1 or values.ndim != 1:
        raise UsageError(
            f"values and clusters: arrays of one dimension and equal length are allowed, got shapes {sorted(shapes)}."
        )
    found = interval(pl.DataFrame(columns), metric, list(columns)[1:], method, level=level, seed=seed, draws=draws)
    return dataclasses.replace(found, cluster=() if clusters is None else ("clusters",))


def intervals(
    table: Any,
    metrics: str | Sequence[str],
    by: str | Sequence[str],
    cluster: str | Sequence[str] | None = None,
    method: Method = "clustered",
    *,
    level: float = 0.95,
    seed: int = 0,
    draws: int = 10_000,
) -> pa.Table:
    """Return the intervals of each group (each combination of the `by` columns) and metric as a table.

    The table has the `by` columns, then ``metric``, ``n``, ``left_out``, ``clusters``, ``mean``, ``standard_error``, ``low``,
    ``high`` and ``warning``; metrics in the order asked for and within a metric groups in ascending order, null first. A group
    without a score has n = 0 and null for the rest. ``clustered`` and ``wilson`` handle all groups at once (a million is
    fine); ``bootstrap`` draws group by group, each from the seed, so a group's bits do not depend on the others.
    The rest is as in `interval`.
    """
    check_method(method, level, seed, draws)
    names = names_of(by)
    taken = {"metric", "n", "left_out", "clusters", "mean", "standard_error", "low", "high", "warning"} & set(names)
    if taken or not names:
        raise UsageError(f"by: one or more columns are allowed, and none called {', '.join(sorted(taken)) or '(nothing)'}.")
    parts = []
    for metric in names_of(metrics):
        cells = Units.from_table(table, metric, by=names, cluster=cluster).cells()
        found = estimate(cells, method, level, seed, draws, metric=metric, clustered=bool(names_of(cluster)))
        numbers = {name: pl.Series(getattr(found, name)) for name in ("n", "clusters")}
        means = {
            name: pl.Series(values).fill_nan(None)
            for name, values in (("mean", found.mean), ("standard_error", found.error), ("low", found.low), ("high", found.high))
        }
        few = np.flatnonzero((found.n > 0) & (found.clusters < FEW_CLUSTERS) & (method != "wilson"))
        warnings: list[str | None] = [None] * len(found.n)
        for group in few:
            warnings[group] = few_clusters_warning(int(found.clusters[group]), names_of(cluster))
        parts.append(
            cells.groups.with_columns(
                metric=pl.lit(metric),
                n=numbers["n"],
                left_out=pl.Series(found.missing),
                clusters=numbers["clusters"],
                **means,
                warning=pl.Series(warnings, dtype=pl.String),
            )
        )
    if not parts:
        raise UsageError("metrics: one or more columns are allowed, got none.")
    return pl.concat(parts).to_arrow()


def estimate(
    cells: Cells, method: Method, level: float, seed: int, draws: int, *, metric: str = "value", clustered: bool = True
) -> Estimates:
    """Compute means, standard errors and intervals for every group of `cells`; see `interval`.

    Raises
    ------
    UsageError
        Wilson's method is asked for clusters or for values other than 0 and 1.
    """
    n, units = cells.per_group(cells.units * cells.counts), cells.per_group(cells.units)
    width = cells.ends - cells.starts
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.where(n > 0, rounded(cells.per_group(cells.limbs * cells.units[:, None])) / n, np.nan)
        residuals = np.where(cells.units > 0, cells.sums - cells.counts * np.repeat(mean, width), 0.0)
        distinct = cells.per_group((cells.units > 0).astype(np.int64))
        squares = np.where(distinct > 1, cells.per_group(cells.units * residuals**2), 0.0)
        error = np.where(units > 1, np.sqrt(squares * units / (units - 1)) / n, np.nan)
    low, high = np.full(len(n), np.nan), np.full(len(n), np.nan)
    if method == "wilson":
        if clustered or not np.isin(cells.sums[cells.units > 0], (0.0, 1.0)).all():
            reason = "clusters" if clustered else "values between 0 and 1"
            raise UsageError(
                f"method 'wilson' is for proportions of single rows, {metric!r} has {reason}: take 'clustered' or 'bootstrap'."
            )
        error = np.sqrt(mean * (1 - mean) / np.where(n > 0, n, 1))
        low, high = _wilson(mean, n, level)
    elif method == "clustered":
        reach = t_quantile((1 + level) / 2, units - 1) * error
        low, high = mean - reach, mean + reach
    found = Estimates(n, units, cells.missing, mean, error, low, high, residuals)
    if method == "bootstrap":
        for group in np.flatnonzero(units > 1):
            drawn = drawn_means(cells, found, int(group), seed, draws)
            error[group] = drawn.std(ddof=1)
            low[group], high[group] = np.quantile(drawn, [(1 - level) / 2, (1 + level) / 2])
    return found


def drawn_means(cells: Cells, found: Estimates, group: int, seed: int, draws: int) -> NDArray[np.float64]:
    """Bootstrap the mean of one group that has at least one unit: shape (draws,)."""
    part = slice(int(cells.starts[group]), int(cells.ends[group]))
    kept = cells.units[part] > 0
    columns = (found.residuals[part][kept], cells.counts[part][kept], cells.units[part][kept])
    return bootstrap_means(*columns, float(found.mean[group]), seed=seed, draws=draws)


def check_method(method: str, level: float, seed: int, draws: int) -> None:
    """Refuse a method, level, seed or number of draws that is not allowed with a `UsageError`."""
    if method not in METHODS:
        raise UsageError(f"method: {', '.join(map(repr, METHODS))} are allowed, got {method!r}.")
    if not 0 < level < 1:
        raise UsageError(f"level: a number between 0 and 1 is allowed, got {level!r}.")
    check_draws(seed, draws)


def as_interval(found: Estimates, group: int, units: Units, method: str, level: float, seed: int, draws: int) -> Interval:
    """Return one group's numbers of `found` as an `Interval`; seed and draws go in where the method draws."""
    drawn = method == "bootstrap"
    clusters = int(found.clusters[group])
    return Interval(
        metric=units.metric,
        n=int(found.n[group]),
        left_out=int(found.missing[group]),
        clusters=clusters,
        mean=number(found.mean[group]),
        standard_error=number(found.error[group]),
        low=number(found.low[group]),
        high=number(found.high[group]),
        level=level,
        method=method,
        cluster=units.cluster,
        seed=seed if drawn else None,
        draws=draws if drawn else None,
        warning=few_clusters_warning(clusters, units.cluster) if method != "wilson" else None,
    )


def number(value: np.float64) -> float | None:
    """Return a float, or None for NaN."""
    return None if np.isnan(value) else float(value)


def few_clusters_warning(clusters: int, names: Sequence[str]) -> str | None:
    """Return what to say of an interval from fewer than `FEW_CLUSTERS` units, or None."""
    if clusters == 0 or clusters >= FEW_CLUSTERS:
        return None
    what = f"clusters ({', '.join(names)})" if names else "rows"
    if clusters == 1:
        return f"only 1 of {what}: no standard error"
    return f"only {clusters} {what}, fewer than {FEW_CLUSTERS}: the interval may be too narrow"


def t_quantile(chance: float, freedom: NDArray[np.int64]) -> NDArray[np.float64]:
    """Quantiles of Student's t, one for each number of degrees of freedom; NaN where that is below 1."""
    from scipy.special import stdtrit

    distinct, place = np.unique(freedom, return_inverse=True)
    quantiles = np.full(len(distinct), np.nan)
    usable = distinct >= 1
    quantiles[usable] = stdtrit(distinct[usable].astype(np.float64), chance)
    return np.asarray(quantiles[place], np.float64)


def _wilson(share: NDArray[np.float64], n: NDArray[np.int64], level: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Wilson's score interval of a proportion (Wilson 1927), without continuity correction; NaN where n is 0."""
    from scipy.special import ndtri

    z = float(ndtri((1 + level) / 2))
    rows = np.where(n > 0, n, np.nan)
    centre = (share + z * z / (2 * rows)) / (1 + z * z / rows)
    reach = z / (1 + z * z / rows) * np.sqrt(share * (1 - share) / rows + z * z / (4 * rows * rows))
    return np.maximum(centre - reach, 0.0), np.minimum(centre + reach, 1.0)

"""Two systems on the same items: the paired difference with error bars, tests, wins and losses.

A table with both systems' scores of each item in two columns comes in (or two arrays), a `Difference` comes out, overall
or one a group. Differences are B - A, clustered as in `fastscore.stats.intervals`, and summed exactly.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from fastscore.errors import UsageError
from fastscore.stats.intervals import Estimates, Interval, as_interval, check_method, drawn_means, estimate, t_quantile
from fastscore.stats.resampling import sign_flip_p
from fastscore.stats.units import Cells, Units

__all__ = ["SCORE_A", "SCORE_B", "Correction", "Difference", "McNemar", "adjust", "differences", "paired_difference"]

Correction = Literal["holm", "bh"]
#: The columns of the two systems' scores in the table that `differences` takes.
SCORE_A, SCORE_B = "\0a", "\0b"
_ROUNDING = 1e-12


@dataclass(frozen=True)
class McNemar:
    """McNemar's exact test: items that one system alone has right, and the binomial two-sided p-value. Knows no clusters."""

    only_a: int
    only_b: int
    p_value: float


@dataclass(frozen=True)
class Difference:
    """B - A for one metric over the items that both systems have a score for.

    ``interval`` is the clustered interval of the mean difference and ``t_p`` its two-sided t test. ``bootstrap`` and
    ``bootstrap_p`` are of the paired bootstrap over clusters. ``randomization_p`` is of approximate randomisation (systems
    swapped cluster by cluster), ``adjusted_p`` the same after the correction for several tests. ``wins`` are items on which B
    is better. ``mcnemar`` is there for scores of 0 and 1 alone. ``detectable`` is the smallest true difference that a study
    of this size finds with the chance ``power`` (Miller 2024, section 5, with t quantiles). None where there is nothing to say.
    """

    metric: str
    n: int
    left_out: int
    left_out_a: int
    left_out_b: int
    mean_a: float | None
    mean_b: float | None
    interval: Interval
    t_p: float | None
    bootstrap: Interval
    bootstrap_p: float | None
    randomization_p: float | None
    adjusted_p: float | None
    wins: int
    ties: int
    losses: int
    mcnemar: McNemar | None
    detectable: float | None
    power: float

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as a dict that strict JSON takes."""
        mcnemar = None if self.mcnemar is None else dataclasses.asdict(self.mcnemar)
        parts = {"interval": self.interval.to_dict(), "bootstrap": self.bootstrap.to_dict(), "mcnemar": mcnemar}
        return {field.name: getattr(self, field.name) for field in dataclasses.fields(self)} | parts


def paired_difference(
    a: NDArray[Any],
    b: NDArray[Any],
    clusters: NDArray[Any] | None = None,
    *,
    metric: str = "value",
    level: float = 0.95,
    seed: int = 0,
    draws: int = 10_000,
    power: float = 0.8,
) -> Difference:
    """Compare scores `a` and `b` of the same items, arrays of shape (n,), with cluster codes of the same shape.

    Raises
    ------
    UsageError
        The shapes differ or a parameter is not allowed.
    DataError
        A score is NaN or infinite.
    """
    columns = {SCORE_A: np.asarray(a), SCORE_B: np.asarray(b)}
    if clusters is not None:
        columns["clusters"] = np.asarray(clusters)
    shapes = {column.shape for column in columns.values()}
    if len(shapes) > 1 or any(len(shape) != 1 for shape in shapes):
        raise UsageError(f"a, b and clusters: arrays of one dimension and equal length are allowed, got shapes {sorted(shapes)}.")
    names = () if clusters is None else ("clusters",)
    return differences(pl.DataFrame(columns), metric, cluster=names, level=level, seed=seed, draws=draws, power=power)[1][0]


def differences(
    frame: pl.DataFrame,
    metric: str,
    *,
    by: Sequence[str] = (),
    cluster: Sequence[str] = (),
    level: float = 0.95,
    seed: int = 0,
    draws: int = 10_000,
    power: float = 0.8,
) -> tuple[pl.DataFrame, list[Difference]]:
    """Compare columns `SCORE_A` and `SCORE_B` of `frame` in each group of `by`; without `by`, as a whole.

    Returns the groups' values, a row a group in ascending order, and the groups' differences in that order. Every group draws
    from the seed, so that its bits depend on its own items alone. `adjusted_p` is not yet corrected.

    Raises
    ------
    UsageError
        A parameter is not allowed.
    DataError
        A score is not finite, or an item with two scores has no cluster.
    """
    check_method("clustered", level, seed, draws)
    if not 0 < power < 1:
        raise UsageError(f"power: a number between 0 and 1 is allowed, got {power!r}.")
    frame = frame.with_columns(pl.col(SCORE_A, SCORE_B).cast(pl.Float64))
    units = dataclasses.replace(Units.from_table(frame, SCORE_B, by=by, cluster=cluster, minus=SCORE_A), metric=metric)
    cells = units.cells()
    found = estimate(cells, "clustered", level, seed, draws, metric=metric, clustered=bool(cluster))
    both = pl.col(SCORE_A).is_not_null() & pl.col(SCORE_B).is_not_null()
    masked = frame.with_columns(pl.when(both).then(pl.col(name)).alias(name) for name in (SCORE_A, SCORE_B))
    means = [_means(masked, name, by) for name in (SCORE_A, SCORE_B)]
    counts = _counts(frame, by)
    out = []
    for group in range(len(found.n)):
        interval = as_interval(found, group, units, "clustered", level, seed, draws)
        bootstrap, bootstrap_p = _bootstrap(cells, found, group, interval, seed, draws)
        part = slice(int(cells.starts[group]), int(cells.ends[group]))
        chance = sign_flip_p(cells.sums[part], cells.units[part], seed=seed, draws=draws) if interval.n else None
        count = counts.row(group, named=True) if counts.height else dict.fromkeys(counts.columns, 0)
        out.append(
            Difference(
                metric=metric,
                n=interval.n,
                left_out=interval.left_out,
                left_out_a=count["left_out_a"],
                left_out_b=count["left_out_b"],
                mean_a=means[0][group],
                mean_b=means[1][group],
                interval=interval,
                t_p=_t_test(interval),
                bootstrap=bootstrap,
                bootstrap_p=bootstrap_p,
                randomization_p=chance,
                adjusted_p=chance,
                wins=count["wins"],
                ties=interval.n - count["wins"] - count["losses"],
                losses=count["losses"],
                mcnemar=_mcnemar(count) if interval.n and not count["between"] else None,
                detectable=_detectable(interval, power),
                power=power,
            )
        )
    return cells.groups, out


def adjust(p_values: Sequence[float | None], correction: Correction = "holm") -> list[float | None]:
    """Correct p-values of one family of tests; None stays and is no test.

    ``holm`` (Holm 1979) bounds the chance of any false finding, ``bh`` (Benjamini and Hochberg 1995) the expected share of
    false ones.

    Raises
    ------
    UsageError
        The correction is unknown.
    """
    if correction not in ("holm", "bh"):
        raise UsageError(f"correction: 'holm' and 'bh' are allowed, got {correction!r}.")
    tests = sorted((p, place) for place, p in enumerate(p_values) if p is not None)
    out: list[float | None] = [None] * len(p_values)
    if correction == "holm":
        worst = 0.0
        for rank, (p, place) in enumerate(tests):
            worst = max(worst, min(1.0, p * (len(tests) - rank)))
            out[place] = worst
    else:
        best = 1.0
        for rank in range(len(tests), 0, -1):
            p, place = tests[rank - 1]
            best = min(best, p * len(tests) / rank)
            out[place] = best
    return out


def _means(frame: pl.DataFrame, name: str, by: Sequence[str]) -> list[float | None]:
    found = estimate(Units.from_table(frame, name, by=by).cells(), "clustered", 0.95, 0, 100)
    return [None if np.isnan(mean) else float(mean) for mean in found.mean]


def _counts(frame: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
    """Count wins, losses and the like in each group, groups in ascending order."""
    a, b = pl.col(SCORE_A), pl.col(SCORE_B)
    both = a.is_not_null() & b.is_not_null()
    counts = {
        "left_out_a": a.is_null(),
        "left_out_b": b.is_null(),
        "wins": both & (b > a),
        "losses": both & (b < a),
        "between": both & ~(a.is_in([0.0, 1.0]) & b.is_in([0.0, 1.0])),
    }
    sums = [counted.sum().cast(pl.Int64).alias(name) for name, counted in counts.items()]
    if not by:
        return frame.select(sums)
    return (
        frame.group_by([pl.col(name).alias(f"by{i}") for i, name in enumerate(by)])
        .agg(sums)
        .sort([f"by{i}" for i in range(len(by))])
    )


def _bootstrap(
    cells: Cells, found: Estimates, group: int, interval: Interval, seed: int, draws: int
) -> tuple[Interval, float | None]:
    blank = dataclasses.replace(interval, method="bootstrap", seed=seed, draws=draws)
    if interval.clusters < 2:
        return blank, None
    drawn = drawn_means(cells, found, group, seed, draws)
    low, high = np.quantile(drawn, [(1 - interval.level) / 2, (1 + interval.level) / 2]).tolist()
    tail = min(int((drawn <= _ROUNDING).sum()), int((drawn >= -_ROUNDING).sum()))
    spread = float(drawn.std(ddof=1))
    return dataclasses.replace(blank, standard_error=spread, low=low, high=high), min(1.0, 2 * (1 + tail) / (1 + draws))


def _t_test(interval: Interval) -> float | None:
    if interval.mean is None or interval.standard_error is None:
        return None
    if interval.standard_error == 0:
        return 1.0 if interval.mean == 0 else 0.0
    from scipy.special import stdtr

    return float(2 * stdtr(interval.clusters - 1, -abs(interval.mean) / interval.standard_error))


def _mcnemar(count: dict[str, int]) -> McNemar:
    from scipy.stats import binomtest

    discordant = count["wins"] + count["losses"]
    p = float(binomtest(count["wins"], discordant, 0.5).pvalue) if discordant else 1.0
    return McNemar(only_a=count["losses"], only_b=count["wins"], p_value=p)


def _detectable(interval: Interval, power: float) -> float | None:
    if interval.standard_error is None:
        return None
    freedom = np.array([interval.clusters - 1])
    return float(t_quantile((1 + interval.level) / 2, freedom)[0] + t_quantile(power, freedom)[0]) * interval.standard_error

"""The numbers of the report: means with intervals by system and group, the histogram of scores, and the statuses.

A `Source` comes in, lists of small frozen rows go out; nothing here knows HTML. Means and intervals are `fastscore.stats`'s.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from fastscore.html.source import Source
from fastscore.stats.intervals import interval, intervals

__all__ = ["BINS", "Mean", "Share", "group_means", "histogram", "ordered", "overall_means", "status_counts"]

#: Names of the histogram's bars: nothing right, ten steps between, all right.
BINS = ("0", *(f"{10 * step}–{10 * step + 10}" for step in range(10)), "100")
_OTHER = "(other)"
_NONE = "(none)"


@dataclass(frozen=True)
class Mean:
    """A metric's mean over the items of one group of one system; fractions, None where there is nothing to say."""

    system: str
    metric: str
    group: str
    n: int
    clusters: int
    mean: float | None
    error: float | None
    low: float | None
    high: float | None
    warning: str | None = None


@dataclass(frozen=True)
class Share:
    """How many items of a system fall into one class, and which share of all its items that is."""

    system: str
    name: str
    n: int
    share: float


def overall_means(source: Source) -> list[Mean]:
    """The mean of every metric over all items."""
    out = []
    frame, cluster = _coded(source, [])
    for metric in source.metrics:
        found = interval(frame, metric, cluster)
        warning = None if found.warning is None else found.warning.replace(_CLUSTER, ", ".join(source.cluster))
        numbers = (found.mean, found.standard_error, found.low, found.high)
        out.append(Mean(source.name, metric, "", found.n, found.clusters, *numbers, warning))
    return out


def group_means(source: Source, column: str, metrics: Sequence[str], most: int = 24) -> list[Mean]:
    """The means by the values of a column, the `most` largest groups each on its own and all others as one.

    Groups come in natural order (numbers by size, text by alphabet), those without a value and the others last.
    """
    frame, cluster = _coded(source, [column])
    label = pl.col(column).cast(pl.String).fill_null(_NONE).alias("\0group")
    frame = frame.with_columns(label)
    sizes = frame["\0group"].value_counts(sort=False, name="n").sort(["n", "\0group"], descending=[True, False])
    kept = sizes["\0group"].head(most).to_list()
    if sizes.height > most:
        inside = pl.col("\0group").is_in(kept)
        frame = frame.with_columns(pl.when(inside).then(pl.col("\0group")).otherwise(pl.lit(_OTHER)).alias("\0group"))
    frame = frame.rename({"\0group": "group of rows"})
    rows = intervals(frame, list(metrics), "group of rows", cluster).to_pylist()
    found = [
        Mean(
            *(source.name, row["metric"], row["group of rows"], row["n"], row["clusters"]),
            *(row[name] for name in ("mean", "standard_error", "low", "high", "warning")),
        )
        for row in rows
    ]
    places = {name: place for place, name in enumerate(ordered([one.group for one in found]))}
    return sorted(found, key=lambda one: (list(metrics).index(one.metric), places[one.group]))


def ordered(groups: Sequence[str]) -> list[str]:
    """Distinct names of groups: numbers (and ranges) by size, text by alphabet, others and none last."""

    def place(name: str) -> tuple[bool, bool, float, str]:
        number = re.match(r"-?\d{1,15}", name)
        return name in (_OTHER, _NONE), number is None, float(number.group()) if number else 0.0, name

    return sorted(dict.fromkeys(groups), key=place)


def histogram(source: Source) -> list[Share]:
    """How many items have which score in the main metric; `BINS` in order, those of no item too."""
    score = pl.col(source.main)
    place = pl.when(score <= 0).then(0).when(score >= 1).then(11).otherwise((score * 10).floor().cast(pl.Int32) + 1)
    counts = source.frame.lazy().filter(score.is_not_null()).group_by(place.alias("bin")).len().collect()
    found = dict(counts.iter_rows())
    total = sum(found.values())
    return [Share(source.name, name, found.get(i, 0), found.get(i, 0) / total if total else 0.0) for i, name in enumerate(BINS)]


def status_counts(source: Source) -> list[Share]:
    """How many items have which status, the most frequent first; nothing where the table has no such column."""
    if "status" not in source.frame.columns:
        return []
    counts = (
        source.frame["status"]
        .cast(pl.String)
        .fill_null(_NONE)
        .value_counts(name="n")
        .sort(["n", "status"], descending=[True, False])
    )
    return [Share(source.name, str(name), n, n / source.frame.height) for name, n in counts.iter_rows()]


_CLUSTER = "cluster of rows"


def _coded(source: Source, columns: Sequence[str]) -> tuple[pl.DataFrame, tuple[str, ...]]:
    """The metrics and columns with integers in the place of a single text cluster: statistics ask for equality alone."""
    frame = source.frame.select(list(dict.fromkeys([*source.metrics, *columns, *source.cluster])))
    if len(source.cluster) != 1 or frame.schema[source.cluster[0]] != pl.Categorical:
        return frame, source.cluster
    return frame.with_columns(pl.col(source.cluster[0]).to_physical().alias(_CLUSTER)), (_CLUSTER,)

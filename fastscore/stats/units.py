"""Sufficient statistics: of a scored table, the sum and the count of each cluster, or how often each distinct value occurs.

A table of item scores comes in; a `Units` comes out, which merges with those of other shards without loss and in any
order, and from which every mean, standard error and resampling is derived. Null scores are left out and counted.
Row order never matters: `Units.cells` sorts by group, sum and count.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from fastscore.arguments import column_names
from fastscore.arrow import sound, to_polars
from fastscore.errors import ColumnTypeError, DataError, UnknownNameError, UsageError, did_you_mean
from fastscore.stats.exact import LIMBS, carried, rounded, split

__all__ = ["Cells", "Units", "as_frame", "names_of"]

_SUMS = [f"s{place}" for place in range(LIMBS)]


def names_of(columns: str | Sequence[str] | None, parameter: str = "columns") -> tuple[str, ...]:
    """Return column names as a tuple: none, one or several. Raises UsageError where they are no names."""
    return column_names(columns, parameter)


def as_frame(table: Any, metrics: Sequence[str], labels: Sequence[str], *, where: str = "the table") -> pl.DataFrame:
    """Return the named columns of a pyarrow table, record batch or polars frame: metrics as float64, labels comparable.

    Label columns (clusters, groups, keys) that are dictionaries become text.

    Raises
    ------
    UnknownNameError
        A column is not there.
    ColumnTypeError
        A metric is not numeric, or a label is a list, struct or binary column.
    DataError
        A metric holds NaN or an infinity.
    """
    wanted = list(dict.fromkeys([*metrics, *labels]))
    known = list(table.columns) if isinstance(table, pl.DataFrame) else list(table.schema.names)
    for name in wanted:
        if name not in known:
            raise UnknownNameError(f"{where} has no column {name!r}.{did_you_mean(name, known)}")
        if known.count(name) > 1:
            raise UsageError(f"{where}: the column name {name!r} stands twice; rename one of them")
    frame = table.select(wanted) if isinstance(table, pl.DataFrame) else _polars_frame(table, wanted, where)
    for name in metrics:
        kind = frame.schema[name]
        if not (kind.is_numeric() or kind in (pl.Boolean, pl.Null)) or kind.is_decimal():
            raise ColumnTypeError(f"{where}: metric {name!r} must be a column of numbers, it is {kind}.")
        frame = frame.with_columns(pl.col(name).cast(pl.Float64))
        bad = frame.select((~pl.col(name).is_finite()).arg_true()).to_series()
        if bad.len():
            raise DataError(
                f"{where}: metric {name!r} holds {frame[name][bad[0]]} in row {bad[0]} ({bad.len()} rows in all); "
                "finite numbers and null are allowed."
            )
    for name in labels:
        kind = frame.schema[name]
        if kind in (pl.Categorical, pl.Enum, pl.Null):
            frame = frame.with_columns(pl.col(name).cast(pl.String))
        elif kind.is_nested() or kind in (pl.Binary, pl.Object):
            raise ColumnTypeError(
                f"{where}: column {name!r} is to tell rows apart, so text, numbers or dates are allowed, not {kind}."
            )
    return frame


def _polars_frame(table: Any, names: Sequence[str], where: str) -> pl.DataFrame:
    """Columns of an Arrow table or batch, checked, as a polars frame."""
    columns = {name: table.column(name) for name in names}
    for name, column in columns.items():
        sound(column, f"{where}: column {name!r}")
    return pl.DataFrame([to_polars(column, f"{where}: column {name!r}").alias(name) for name, column in columns.items()])


@dataclass(frozen=True)
class Cells:
    """Units of equal sum and count taken together, sorted by group, sum and count: arrays with one place per cell.

    ``limbs`` (k, 4) and ``counts`` (k,) are of one unit of the cell, ``units`` (k,) says how many there are (0: rows without a
    score); ``starts`` (g,) is the first cell of each group, ``missing`` (g,) the rows left out, and ``groups`` has the
    groups' values in the columns named by ``by``.
    """

    groups: pl.DataFrame
    starts: NDArray[np.int64]
    limbs: NDArray[np.int64]
    counts: NDArray[np.int64]
    units: NDArray[np.int64]
    missing: NDArray[np.int64]

    @property
    def sums(self) -> NDArray[np.float64]:
        """The sum of one unit of each cell, shape (k,)."""
        return rounded(self.limbs)

    @property
    def ends(self) -> NDArray[np.int64]:
        """One past the last cell of each group, shape (g,)."""
        return np.append(self.starts[1:], len(self.units))

    def per_group(self, values: NDArray[Any]) -> NDArray[Any]:
        """Sum `values`, one a cell, within each group, in the order of the cells."""
        return np.asarray(np.add.reduceat(values, self.starts)) if len(self.starts) else values[:0]


@dataclass(frozen=True)
class Units:
    """What one metric's statistics need of a table: mergeable sums and counts, by group and cluster.

    ``frame`` has the columns ``by0..``, then ``cluster0..`` where there are clusters, ``count`` (scored rows of one unit),
    ``units`` (how many such units), ``missing`` (rows without a score) and the limbs ``s0..s3`` of one unit's exact sum.
    """

    metric: str
    by: tuple[str, ...]
    cluster: tuple[str, ...]
    frame: pl.DataFrame

    @classmethod
    def from_table(
        cls,
        table: Any,
        metric: str,
        *,
        by: str | Sequence[str] | None = None,
        cluster: str | Sequence[str] | None = None,
        minus: str | None = None,
    ) -> Units:
        """Collect the statistics of column `metric` (less column `minus`, pair by pair, where given).

        A row counts if it has a score (both, where there are two). Without `cluster` each row is a unit of its own.

        Raises
        ------
        DataError
            A row with a score has no cluster.
        ColumnTypeError
            A cluster is a float column.
        """
        groups, clusters = names_of(by), names_of(cluster)
        metrics = [metric] if minus is None else [metric, minus]
        both = set(metrics) & {*groups, *clusters}
        if both:
            raise UsageError(f"column {min(both)!r} cannot be a metric and a group or cluster at once.")
        frame = as_frame(table, metrics, [*groups, *clusters])
        _check_clusters(frame, metrics, clusters)
        labels = {f"by{i}": pl.col(name) for i, name in enumerate(groups)}
        labels |= {f"cluster{i}": pl.col(name) for i, name in enumerate(clusters)}
        values = {"plus": pl.col(metric)} | ({} if minus is None else {"minus": pl.col(minus)})
        return cls(metric, groups, clusters, _collect(frame.select(**labels, **values), list(labels), list(values), metric))

    def merge(self, *others: Units) -> Units:
        """Return the statistics of this part and the others together, the same bits as of the whole table.

        Raises
        ------
        UsageError
            The parts are of different metrics, groups or clusters.
        """
        for other in others:
            if (other.metric, other.by, other.cluster) != (self.metric, self.by, self.cluster):
                raise UsageError(
                    f"parts to merge must be of one metric, group and cluster: {self.metric!r}, {self.by}, {self.cluster} "
                    f"against {other.metric!r}, {other.by}, {other.cluster}."
                )
        frame = pl.concat([self.frame, *(other.frame for other in others)], how="vertical_relaxed")
        labels = [name for name in frame.columns if name.startswith(("by", "cluster"))]
        return Units(self.metric, self.by, self.cluster, _grouped(frame, labels, clustered=bool(self.cluster)))

    def cells(self) -> Cells:
        """Group units of equal sum and count, sorted; without groups there is one group, even of an empty table."""
        labels = [f"by{i}" for i in range(len(self.by))]
        frame = _with_limbs(self.frame, carried(self.frame.select(_SUMS).to_numpy()))
        frame = frame.with_columns(units=pl.when(pl.col("count") > 0).then("units").otherwise(0))
        key = [*labels, *_SUMS, "count"]
        frame = frame.group_by(key).agg(pl.col("units", "missing").sum()).sort(key)
        if not labels:
            frame = frame if frame.height else pl.DataFrame({name: [0] for name in frame.columns}, schema=frame.schema)
            starts = np.zeros(1, np.int64)
        else:
            codes = frame.select(pl.struct(labels).rle_id()).to_series().to_numpy()
            starts = np.flatnonzero(np.diff(codes, prepend=np.int64(-1))).astype(np.int64)
        arrays = {name: frame[name].to_numpy().astype(np.int64) for name in ("count", "units", "missing")}
        groups = frame[starts].select(labels).rename(dict(zip(labels, self.by, strict=True)))
        missing = np.add.reduceat(arrays["missing"], starts) if starts.size else arrays["missing"]
        limbs = np.ascontiguousarray(frame.select(_SUMS).to_numpy())
        return Cells(groups, starts, limbs, arrays["count"], arrays["units"], missing)


def _check_clusters(frame: pl.DataFrame, metrics: Sequence[str], clusters: Sequence[str]) -> None:
    scored = pl.all_horizontal(pl.col(metrics).is_not_null())
    for name in clusters:
        if frame.schema[name].is_float():
            raise ColumnTypeError(f"cluster {name!r} must be text, an integer or a date, not {frame.schema[name]}.")
        rows = frame.select((scored & pl.col(name).is_null()).arg_true()).to_series()
        if rows.len():
            raise DataError(
                f"cluster {name!r} is null in row {rows[0]}, which has a score ({rows.len()} rows in all). "
                "Give each scored row its cluster, or leave the cluster out."
            )


def _collect(frame: pl.DataFrame, labels: list[str], values: list[str], metric: str) -> pl.DataFrame:
    clustered = any(name.startswith("cluster") for name in labels)
    if clustered:
        frame = frame.with_columns(units=pl.lit(1, pl.Int64))
    else:
        frame = frame.group_by([*labels, *values]).agg(units=pl.len().cast(pl.Int64))
    valid = frame.select(pl.all_horizontal(pl.col(values).is_not_null())).to_series().to_numpy()
    limbs = split(np.where(valid, frame["plus"].fill_null(0.0).to_numpy(), 0.0), metric)
    if "minus" in values:
        limbs = carried(limbs - split(np.where(valid, frame["minus"].fill_null(0.0).to_numpy(), 0.0), metric))
    units = frame["units"].to_numpy()
    frame = frame.with_columns(
        count=pl.Series(valid, dtype=pl.Int64),
        units=pl.Series(units),
        missing=pl.Series(np.where(valid, 0, units), dtype=pl.Int64),
    )
    return _grouped(_with_limbs(frame, limbs), labels, clustered=clustered)


def _with_limbs(frame: pl.DataFrame, limbs: NDArray[np.int64]) -> pl.DataFrame:
    return frame.with_columns(pl.Series(name, limbs[:, place], pl.Int64) for place, name in enumerate(_SUMS))


def _grouped(frame: pl.DataFrame, labels: list[str], *, clustered: bool) -> pl.DataFrame:
    if clustered:
        sums = pl.col("count", "missing", *_SUMS).sum()
        return (
            frame.group_by(labels)
            .agg(sums)
            .with_columns(units=pl.lit(1, pl.Int64))
            .select(*labels, "count", "units", "missing", *_SUMS)
        )
    return (
        frame.group_by([*labels, *_SUMS, "count"])
        .agg(pl.col("units", "missing").sum())
        .select(*labels, "count", "units", "missing", *_SUMS)
    )

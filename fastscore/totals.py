"""Totals: exact sums and counts by group, added up batch by batch and merged in any order to the same bits; means come last.

A score is split into whole limbs of 96 bits behind the point (`kernels.sums`), so a sum has no rounding at all until it is asked
for; it then is the correctly rounded sum that `math.fsum` gives. That holds for 0 and for every score of at least 2**-44; no
score of texts or lists that fit into memory is below it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa

from fastscore.arrow import kind_of, to_polars
from fastscore.errors import ColumnTypeError, DataError, UnknownNameError, UsageError, did_you_mean
from fastscore.forks import refuse_lost_threads
from fastscore.kernels.sums import LIMBS, add_exactly, count_codes
from fastscore.schema import Status
from fastscore.statuses import status_codes
from fastscore.text.columns import validity

__all__ = ["Totals"]

_UNIT = 1 << 96
_KINDS = len(Status)
Ints = npt.NDArray[np.int64]


class _Sums:
    """Exact sums, counts of values and counts by status for a growing number of groups; there may be room for more of them.

    A sum in units of 2**-96 is a whole number of any size, 64 bits and 32 bits: ``(whole << 96) + (high << 32) + low``.
    """

    def __init__(self, metrics: Sequence[str]) -> None:
        self.whole = {m: np.zeros(0, dtype=np.int64) for m in metrics}
        self.high = {m: np.zeros(0, dtype=np.uint64) for m in metrics}
        self.low = {m: np.zeros(0, dtype=np.uint32) for m in metrics}
        self.values = {m: np.zeros(0, dtype=np.int64) for m in metrics}
        self.statuses = np.zeros((0, _KINDS), dtype=np.int64)

    def grow(self, groups: int) -> None:
        """Have room for so many groups."""
        if groups <= len(self.statuses):
            return
        more = max(groups, len(self.statuses) * 3 // 2) - len(self.statuses)
        for columns in (self.whole, self.high, self.low, self.values):
            for metric, column in columns.items():
                columns[metric] = np.concatenate([column, np.zeros(more, dtype=column.dtype)])
        self.statuses = np.concatenate([self.statuses, np.zeros((more, _KINDS), dtype=np.int64)])

    def add(self, metric: str, places: Ints, limbs: Ints, values: Ints) -> None:
        """Add int64[n, 4] limbs, as `kernels.sums` gives them, and how many values they are of, to `n` groups, each once."""
        high, bits = self.high[metric][places].astype(np.int64), (1 << 32) - 1
        low = self.low[metric][places].astype(np.int64) + limbs[:, 3]
        middle = limbs[:, 2] + (low >> 32) + (high & bits)
        upper = limbs[:, 1] + (middle >> 32) + (high >> 32 & bits)
        self.low[metric][places] = (low & bits).astype(np.uint32)
        self.high[metric][places] = ((upper & bits) << 32 | (middle & bits)).astype(np.uint64)
        self.whole[metric][places] += limbs[:, 0] + (upper >> 32)
        self.values[metric][places] += values

    def limbs(self, metric: str, places: Ints) -> Ints:
        """The sums of some groups as limbs again."""
        high = self.high[metric][places].astype(np.int64)
        bits = (1 << 32) - 1
        parts = [self.whole[metric][places], high >> 32 & bits, high & bits, self.low[metric][places].astype(np.int64)]
        return np.stack(parts, axis=1)

    def exact(self, metric: str, place: int) -> int:
        """A group's sum in units of 2**-96."""
        return (int(self.whole[metric][place]) << 96) + (int(self.high[metric][place]) << 32) + int(self.low[metric][place])


class Totals:
    """Sums and counts of item scores, overall and for each value of the `by` columns.

    Parameters
    ----------
    metrics
        The metric columns to add up.
    by
        Columns whose values are groups; a null is the group ``null``.
    """

    def __init__(self, metrics: Sequence[str], by: Sequence[str] = ()) -> None:
        self.metrics = tuple(metrics)
        self.by = tuple(by)
        if "" in self.by:
            raise UsageError("by: a column without a name cannot give groups; give it a name")
        self._names: dict[str, dict[str, int]] = {"": {"": 0}, **{column: {} for column in self.by}}
        self._sums = {column: _Sums(self.metrics) for column in self._names}
        self._sums[""].grow(1)

    def add(self, items: pa.RecordBatch | pa.Table) -> None:
        """Add item scores: the metric columns, ``status`` and the `by` columns.

        Raises
        ------
        UnknownNameError
            A `by` or metric column is absent.
        DataError
            A score is not a finite number.
        """
        for batch in items.to_batches() if isinstance(items, pa.Table) else [items]:
            self._add_batch(batch)

    def _add_batch(self, batch: pa.RecordBatch) -> None:
        codes = _status_codes(batch)
        everything = np.zeros(batch.num_rows, dtype=np.int64)
        measured = {metric: _values(_column(batch, metric), metric) for metric in self.metrics}
        for column in self._names:
            sums = self._sums[column]
            if column == "":
                groups, places = everything, np.zeros(1, dtype=np.int64)
            else:
                places, groups = np.unique(self._groups_of(batch, column), return_inverse=True)
            sums.grow(len(self._names[column]))
            size = places.size
            counts = np.zeros(size * _KINDS, dtype=np.int64)
            count_codes(groups, codes, _KINDS, counts)
            sums.statuses[places] += counts.reshape(size, _KINDS)
            for metric in self.metrics:
                values, valid = measured[metric]
                limbs = np.zeros(size * LIMBS, dtype=np.int64)
                add_exactly(groups, values, valid, limbs)
                present = np.bincount(groups[valid.astype(bool)], minlength=size).astype(np.int64)
                sums.add(metric, places, limbs.reshape(size, LIMBS), present)

    def _groups_of(self, batch: pa.RecordBatch, column: str) -> Ints:
        """Each row's group number; new values get the next numbers in order of appearance."""
        given = _column(batch, column)
        if pa.types.is_nested(given.type) and not pa.types.is_dictionary(given.type):
            raise ColumnTypeError(f"by: column {column!r} must hold single values, got {kind_of(given.type)}")
        refuse_lost_threads()
        series = _labels(given, column).fill_null("null")
        names = self._names[column]
        uniques = series.unique(maintain_order=True)
        numbers = [names.setdefault(value, len(names)) for value in uniques.to_list()]
        return np.asarray(series.replace_strict(uniques, numbers, return_dtype=pl.Int64).to_numpy(), dtype=np.int64)

    def merge(self, other: Totals) -> None:
        """Add another run's totals, of the same metrics and `by` columns."""
        if (self.metrics, self.by) != (other.metrics, other.by):
            raise UsageError(f"totals of {self.metrics} by {self.by} cannot be merged with {other.metrics} by {other.by}")
        for column, theirs in other._names.items():
            mine = self._names[column]
            places = np.array([mine.setdefault(name, len(mine)) for name in theirs], dtype=np.int64)
            sums, more = self._sums[column], other._sums[column]
            sums.grow(len(mine))
            given = np.arange(len(theirs))
            sums.statuses[places] += more.statuses[given]
            for metric in self.metrics:
                sums.add(metric, places, more.limbs(metric, given), more.values[metric][given])

    def groups(self) -> int:
        """How many groups there are in all."""
        return sum(len(self._names[column]) for column in self.by)

    def block(self, column: str = "", value: str = "") -> dict[str, Any]:
        """Counts and means of one group (by default of all rows): ``count`` is the denominator; a mean of nothing is None."""
        place = self._names[column][value]
        sums = self._sums[column]
        statuses = sums.statuses[place]
        count = max((int(sums.values[m][place]) for m in self.metrics), default=int(statuses[Status.OK]))
        block: dict[str, Any] = {"count": count, **{s.label: int(statuses[s]) for s in Status}}
        for metric in self.metrics:
            number = int(sums.values[metric][place])
            block[metric] = sums.exact(metric, place) / _UNIT / number if number else None
        return block

    def summary(self, recipe: str, signature: str, tables: Mapping[str, str] | None = None) -> dict[str, Any]:
        """The summary: signature, recipe, the overall block and a block for each value of each `by` column, sorted by value.

        `tables` names the columns whose groups are in a table elsewhere; the summary says which, and how many they are.
        """
        groups: dict[str, Any] = {}
        for column in self.by:
            if tables and column in tables:
                groups[column] = {"table": tables[column], "groups": len(self._names[column])}
            else:
                groups[column] = {value: self.block(column, value) for value in sorted(self._names[column])}
        return {"signature": signature, "recipe": recipe, "overall": self.block(), "groups": groups}

    def values(self, column: str) -> int:
        """How many values a `by` column has."""
        return len(self._names[column])

    def group_tables(self, column: str, size: int = 1 << 14) -> Iterator[pa.Table]:
        """The blocks of a `by` column as tables of at most `size` rows, sorted by value."""
        names = sorted(self._names[column])
        for start in range(0, len(names), size):
            part = names[start : start + size]
            blocks = [self.block(column, value) for value in part]
            counts = {k: pa.array([b[k] for b in blocks], pa.int64()) for k in ("count", *(s.label for s in Status))}
            means = {m: pa.array([b[m] for b in blocks], pa.float64()) for m in self.metrics}
            yield pa.table({column: pa.array(part, pa.string()), **counts, **means})

    def to_dict(self) -> dict[str, Any]:
        """The totals as plain JSON values; exact sums are decimal strings, in units of 2**-96."""
        state: dict[str, Any] = {}
        for column, names in self._names.items():
            sums = self._sums[column]
            state[column] = {
                value: {
                    "statuses": [int(n) for n in sums.statuses[place]],
                    "sums": {m: [str(sums.exact(m, place)), int(sums.values[m][place])] for m in self.metrics},
                }
                for value, place in names.items()
            }
        return {"metrics": list(self.metrics), "by": list(self.by), "groups": state}

    @classmethod
    def from_dict(cls, state: Mapping[str, Any]) -> Self:
        """Read back what `to_dict` gave. Raises DataError where it is not that, or its numbers do not go together."""
        try:
            given = _names_of(state, "metrics"), _names_of(state, "by")
            totals = cls(*given)
            groups = state["groups"]
            if set(groups) != {"", *totals.by} or list(groups[""]) != [""]:
                raise ValueError("the groups are not those of the by columns")
            overall = _block_of(groups[""][""], totals.metrics)
            for column, blocks in groups.items():
                read = [_block_of(block, totals.metrics) for block in blocks.values()]
                if column and _added_up(read, totals.metrics) != overall:
                    raise ValueError(f"the groups of {column!r} do not add up to the whole")
                totals._put(column, list(blocks), read)
        except UsageError:
            raise
        except (AttributeError, KeyError, TypeError, ValueError, IndexError, OverflowError) as error:
            raise DataError(f"totals: not what fastscore wrote ({_reason(error)})") from None
        return totals

    def rows(self) -> int:
        """How many rows were added up, those without a score too."""
        return int(self._sums[""].statuses[0].sum())

    def _put(self, column: str, values: Sequence[str], blocks: Sequence[_Block]) -> None:
        names, sums = self._names[column], self._sums[column]
        for value, (statuses, exact, counts) in zip(values, blocks, strict=True):
            place = names.setdefault(value, len(names))
            sums.grow(len(names))
            sums.statuses[place] = statuses
            for metric, total, count in zip(self.metrics, exact, counts, strict=True):
                limbs = [total >> 96, *((total >> shift) & 0xFFFFFFFF for shift in (64, 32, 0))]
                sums.add(metric, np.array([place]), np.array([limbs]), np.array([count]))


#: Counts by status, and each metric's exact sum and count of values.
_Block = tuple[list[int], list[int], list[int]]


def _names_of(state: Mapping[str, Any], key: str) -> list[str]:
    names = state[key]
    if not isinstance(names, (list, tuple)) or not all(isinstance(n, str) and n for n in names) or len(set(names)) < len(names):
        raise ValueError(f"{key} must be a list of different names, got {str(names)[:80]}")
    return list(names)


def _block_of(block: Mapping[str, Any], metrics: Sequence[str]) -> _Block:
    """A group's numbers; ValueError where they are none that a group can have."""
    statuses = block["statuses"]
    if len(statuses) != _KINDS or not all(_is_count(n) for n in statuses):
        raise ValueError(f"statuses must be {_KINDS} counts, got {str(statuses)[:80]}")
    if set(block["sums"]) != set(metrics):
        raise ValueError(f"sums must be those of {', '.join(metrics)}")
    exact, counts = [], []
    for metric in metrics:
        text, count = block["sums"][metric]
        if not isinstance(text, str) or not text.isascii() or not text.removeprefix("-").isdigit() or len(text) > 60:
            raise ValueError(f"the sum of {metric} must be a whole number as text, got {str(text)[:80]!r}")
        total = int(text)
        if not _is_count(count) or count > sum(statuses):
            raise ValueError(f"{metric} must have a count up to that of the rows, {sum(statuses)}, got {str(count)[:80]}")
        if abs(total) > count << 127 or not -(2**63) <= total >> 96 < 2**63:
            raise ValueError(f"the sum of {metric} is more than {count} scores can have")
        exact.append(total)
        counts.append(count)
    return list(statuses), exact, counts


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**53


def _added_up(blocks: Sequence[_Block], metrics: Sequence[str]) -> _Block:
    sizes = (_KINDS, len(metrics), len(metrics))
    added = [[sum(block[part][i] for block in blocks) for i in range(size)] for part, size in enumerate(sizes)]
    return added[0], added[1], added[2]


def _reason(error: Exception) -> str:
    return f"{error} is missing" if isinstance(error, KeyError) else " ".join(str(error).split())[:200]


def _labels(column: pa.Array, name: str) -> pl.Series:
    """Groups as text. Raises ColumnTypeError where a column's values have no text."""
    found = f"by: column {name!r}"
    series = to_polars(column, found)
    try:
        return series.cast(pl.String)
    except pl.exceptions.PolarsError:
        raise ColumnTypeError(f"{found} must hold text, numbers or dates, got {kind_of(column.type)}") from None


def _column(batch: pa.RecordBatch, name: str) -> pa.Array:
    if name not in batch.schema.names:
        raise UnknownNameError(f"column {name!r} is not there.{did_you_mean(name, batch.schema.names)}")
    return batch.column(name)


def _values(column: pa.Array, name: str) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.uint8]]:
    """A metric's values, 0 where null, and which are not null."""
    valid = validity(column)
    if valid is not None:
        column = column.fill_null(0.0)
    values = np.ascontiguousarray(column.to_numpy(zero_copy_only=False), dtype=np.float64)
    if not np.isfinite(values).all() or (np.abs(values) >= 2.0**31).any():
        raise DataError(f"{name}: scores must be finite and below 2**31, row {int(np.argmin(np.isfinite(values)))} is not")
    return values, np.ones(values.size, dtype=np.uint8) if valid is None else valid.astype(np.uint8)


def _status_codes(batch: pa.RecordBatch) -> npt.NDArray[np.uint8]:
    codes = status_codes(batch)
    return np.zeros(batch.num_rows, dtype=np.uint8) if codes is None else codes

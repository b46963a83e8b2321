"""Group statistics of more rollouts than fit into memory: rewards in their order in, the groups' columns in the same order out.

Rows of a prompt may lie anywhere, in several shards too. Their keys and rewards are dealt out to partitions on disk by a hash of
the key (`split`); each partition, which has whole groups, is worked on by itself with the expressions of
`fastscore.rewards.groups` (`solve`); and the results are collected in the order of the rows by dealing these out again
(`columns`), so no row number is kept and nothing is sorted. A row without a prompt is in no group and goes to any partition.
What must fit into memory is one partition, and the rollouts of a single prompt.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa
import pyarrow.ipc

from fastscore.arrow import one_chunk
from fastscore.rewards.groups import STATISTICS, add_groups, refuse_inexact
from fastscore.rewards.prompts import Prompts

__all__ = ["Grouping", "group_columns"]

#: Rows of a partition where memory is not bounded, and how many partitions, which are as many open files, there may be.
_ROWS, _FEWEST_ROWS, _MOST_PARTS = 1 << 19, 1 << 14, 512
#: Bytes that a row of a partition takes while it is worked on, and rows of a result that are read at once.
_ROW_BYTES, _STEP = 512, 1 << 12


def group_columns(advantage: str | None) -> list[str]:
    """The names of the columns that a group gives to its rows."""
    return [*(["advantage"] if advantage is not None else []), *STATISTICS]


class Grouping:
    """Statistics and advantages of groups, out of core.

    Parameters
    ----------
    prompts
        The columns that name a prompt, and where what the groups gave is counted.
    advantage, options
        As `add_groups` takes them.
    rows
        How many rows there will be.
    folder
        A folder, which is there, for the partitions.
    memory
        How many bytes a partition may take; None: half a million rows each.
    """

    def __init__(
        self,
        prompts: Prompts,
        advantage: str | None,
        options: Mapping[str, Any],
        *,
        rows: int,
        folder: Path,
        memory: int | None = None,
    ) -> None:
        self.prompts, self.advantage, self.options, self.folder = prompts, advantage, options, folder
        most = _ROWS if memory is None else min(_ROWS, max(_FEWEST_ROWS, memory // _ROW_BYTES))
        self.parts = min(_MOST_PARTS, max(1, -(-rows // most)))
        self._row = 0
        self._results: list[_Result] = []
        self._open = ExitStack()

    @property
    def needed(self) -> list[str]:
        """The columns that a batch must have for `split`; `columns` needs those of the group alone."""
        return list(dict.fromkeys([*self.prompts.group, "reward", *self.prompts.columns]))

    def split(self, batches: Iterable[pa.RecordBatch]) -> None:
        """Deal all batches out to the partitions."""
        self._row = 0
        with ExitStack() as stack:
            writers: list[Any] = []
            for batch in batches:
                given = _as_text(batch.select(self.needed), self.prompts.group)
                if not writers:
                    writers = [stack.enter_context(_writer(self._path("part", p), given.schema)) for p in range(self.parts)]
                order, counts = self._dealt(given)
                sorted_rows = given if self.parts == 1 else given.take(pa.array(order))
                ends = np.cumsum(counts)
                for part in np.flatnonzero(counts):
                    writers[part].write_batch(sorted_rows.slice(ends[part] - counts[part], counts[part]))

    def solve(self) -> None:
        """Work on each partition by itself, and count what its groups gave.

        Raises
        ------
        UnknownNameError, UsageError, ColumnTypeError, DataError
            As `add_groups`.
        """
        keys = list(self.prompts.group)
        self._row = 0
        for part in range(self.parts):
            path = self._path("part", part)
            with pa.OSFile(str(path)) as file, pyarrow.ipc.open_stream(file) as reader:
                frame = pl.DataFrame(pl.from_arrow(reader.read_all()))
            frame = add_groups(frame, keys, advantage_kind=self.advantage, **self.options)
            self.prompts.add(frame)
            table = frame.select(group_columns(self.advantage)).to_arrow(compat_level=pl.CompatLevel.oldest())
            with _writer(self._path("result", part), table.schema) as writer:
                writer.write_table(table.combine_chunks(), _STEP)
            path.unlink()
            self._results.append(_Result(self._open, self._path("result", part)))

    def columns(self, batch: pa.RecordBatch) -> dict[str, pa.Array]:
        """The groups' columns for the next batch of rows, in their order; it needs the columns of the group alone."""
        order, counts = self._dealt(_as_text(batch.select(list(dict.fromkeys(self.prompts.group))), self.prompts.group))
        pieces = [table for part in np.flatnonzero(counts) for table in self._results[part].take(int(counts[part]))]
        schema = self._results[0].schema
        found = pa.Table.from_batches(pieces, schema=schema).combine_chunks()
        if self.parts > 1:
            places = np.empty(order.size, dtype=np.int64)
            places[order] = np.arange(order.size)
            found = found.take(pa.array(places))
        return {name: one_chunk(found.column(name)) for name in schema.names}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        """Close the partitions' files."""
        self._open.close()

    def _path(self, kind: str, part: int) -> Path:
        return self.folder / f"{kind}-{part:03}.arrow"

    def _dealt(self, batch: pa.RecordBatch) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """The rows of a batch sorted by partition, in their order within each, and how many each partition has."""
        first, self._row = self._row, self._row + batch.num_rows
        if self.parts == 1:
            return np.arange(batch.num_rows), np.array([batch.num_rows])
        keys = [pl.col(name) for name in dict.fromkeys(self.prompts.group)]
        frame = pl.DataFrame(pl.from_arrow(batch))
        hashed = frame.select(key=pl.struct(keys).hash(seed=0), whole=pl.all_horizontal(key.is_not_null() for key in keys))
        numbers = np.arange(first, first + batch.num_rows, dtype=np.uint64)
        parts = np.where(hashed["whole"].to_numpy(), hashed["key"].to_numpy(), numbers) % np.uint64(self.parts)
        return np.argsort(parts, kind="stable"), np.bincount(parts.astype(np.int64), minlength=self.parts)


class _Result:
    """The results of a partition, taken from its file piece by piece."""

    def __init__(self, stack: ExitStack, path: Path) -> None:
        self._reader = stack.enter_context(pyarrow.ipc.open_stream(stack.enter_context(pa.OSFile(str(path)))))
        self.schema: pa.Schema = self._reader.schema
        self._batch: pa.RecordBatch | None = None

    def take(self, rows: int) -> list[pa.RecordBatch]:
        """The next rows."""
        pieces = []
        while rows:
            if self._batch is None or not self._batch.num_rows:
                self._batch = self._reader.read_next_batch()
            piece = self._batch.slice(0, rows)
            self._batch = self._batch.slice(piece.num_rows)
            rows -= piece.num_rows
            pieces.append(piece)
        return pieces


def _writer(path: Path, schema: pa.Schema) -> Any:
    return pyarrow.ipc.new_stream(str(path), schema)


def _as_text(batch: pa.RecordBatch, group: Sequence[str]) -> pa.RecordBatch:
    """The batch with its group columns as text, so that shards of different types meet and hash alike."""
    for name in dict.fromkeys(group):
        place, column = batch.schema.get_field_index(name), batch.column(name)
        series = pl.Series(name, pl.from_arrow(column))
        refuse_inexact({name: series.dtype}, [name])
        text = series.cast(pl.String).to_arrow(compat_level=pl.CompatLevel.oldest())
        batch = batch.set_column(place, name, text.cast(pa.large_string()))
    return batch

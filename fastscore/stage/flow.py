"""What every stage has in common: batches of sources through one function, in order, into writers and exact totals.

A `Work` says which columns it needs and makes an output batch of an input batch; a `Flow` reads, works on several threads,
writes, adds up, and keeps a folder of shards resumable. `fastscore.stage.run` scores with it, `fastscore.rewards.files` gives
rewards.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, Protocol, Self, TypeVar

import pyarrow as pa
import pyarrow.parquet as pq

from fastscore.align import KeyedReferences
from fastscore.errors import DataError, UsageError, no_column
from fastscore.formats.files import for_arrow
from fastscore.output import place_in
from fastscore.pipeline import load
from fastscore.stage.manifest import Finished, Manifest
from fastscore.stage.progress import Progress
from fastscore.stage.pump import BackgroundWriter, in_order
from fastscore.stage.readers import Limits, read_batches
from fastscore.stage.sources import Source
from fastscore.stage.writers import ItemWriter

__all__ = ["Flow", "Shards", "Sums", "Work", "references_by_key"]


class Sums(Protocol):
    """What is added up of the output batches, exactly, so that shards merge in any order to the same bits."""

    @property
    def metrics(self) -> tuple[str, ...]:
        """The columns that are added up."""

    def add(self, items: pa.RecordBatch) -> None:
        """Add an output batch."""

    def merge(self, other: Self) -> None:
        """Add another part's sums. Raises UsageError where they are of other columns."""


S = TypeVar("S", bound=Sums)


class Work(Protocol[S]):
    """A batch function that a stage can run; it may be called from several threads at once."""

    @property
    def signature(self) -> str:
        """Everything that could change the output, in one line, for the files' metadata."""

    @property
    def gold(self) -> KeyedReferences | None:
        """The references by key, whose keys a resumed shard meets again; None where there are none."""

    def wanted(self, source: str, names: Sequence[str]) -> Sequence[str]:
        """Which of a source's columns are read. Raises UnknownNameError where one that is needed is absent."""

    def __call__(self, batch: pa.RecordBatch, source: str, first: int) -> pa.RecordBatch:
        """The output of a batch whose first row is row `first` of the source."""

    def sums(self, schema: pa.Schema) -> S:
        """Empty sums for output batches of that schema."""

    def state(self, sums: S) -> dict[str, Any] | None:
        """The sums for a line of the manifest; None where they are too many, and are then added up again from the shard."""

    def sums_of(self, shard: Finished, folder: Path) -> S:
        """The sums of a shard that is in place."""

    def described(self, sums: S) -> Mapping[str, str]:
        """What a file's metadata say beside the signature."""


@dataclass
class Shards(Generic[S]):
    """What a folder holds: the sums and rows of its shards, their paths, how many were there, and what failed."""

    sums: S | None = None
    rows: int = 0
    outputs: list[str] = field(default_factory=list)
    resumed: int = 0
    wrong: list[DataError | UsageError] = field(default_factory=list)

    @property
    def failures(self) -> list[str]:
        """What failed, a line each."""
        return [str(error) for error in self.wrong]

    def checked(self) -> S:
        """The sums. Raises the error where no source has come through: UsageError where all lack what was asked for."""
        if self.sums is None:
            if all(isinstance(error, UsageError) for error in self.wrong):
                raise self.wrong[0]
            said = self.failures
            more = f" (and {len(said) - 3:,} more)" if len(said) > 3 else ""
            raise DataError(said[0] if not said[1:] else f"no source could be scored: {'; '.join(said[:3])}{more}")
        return self.sums


class Flow(Generic[S]):
    """One run: what is the same for all of its sources.

    Parameters
    ----------
    work
        The batch function.
    limits, group_bytes
        How large batches and waiting row groups may be.
    threads
        How many batches are worked on at once.
    progress
        Counts what was read.
    """

    def __init__(self, work: Work[S], limits: Limits, group_bytes: int, threads: int, progress: Progress) -> None:
        self.work, self.limits, self.group_bytes, self.threads = work, limits, group_bytes, threads
        self.progress = progress
        self.notes: list[str] = []

    def through(self, source: Source, writer: ItemWriter | None, sums: S | None) -> tuple[S, int]:
        """One source into a writer and sums (new ones where there are none yet); the sums and the rows of output."""
        rows = 0
        background = None if writer is None or self.threads == 1 else BackgroundWriter(writer.write)
        put = background.put if background is not None else writer.write if writer is not None else None
        given = self._batches(source)
        try:
            for (batch, _), items in in_order(lambda g: self.work(g[0], source.name, g[1]), given, self.threads):
                if sums is None:
                    sums = self.work.sums(items.schema)
                sums.add(items)
                rows += items.num_rows
                if put is not None:
                    put(items)
                self.progress.advance(batch.num_rows, batch.nbytes)
            if background is not None:
                background.finish()
        except BaseException:
            if background is not None:
                background.stop()
            raise
        assert sums is not None
        return sums, rows

    def into_one(self, sources: Sequence[Source], writer: ItemWriter | None) -> tuple[S, int]:
        """All sources into one writer, or into none."""
        sums, rows = None, 0
        for source in sources:
            sums, more = self.through(source, writer, sums)
            rows += more
        assert sums is not None
        return sums, rows

    def into_shards(
        self, sources: Sequence[Source], manifest: Manifest, names: Sequence[str], later: Sequence[str] | None = None
    ) -> Shards[S]:
        """A shard for each source; those that the manifest has are left as they are.

        `names` are the shards' names below the folder; one that stands under its name in `later` is finished as well. A source
        that cannot be worked on is listed among the failures.
        """
        folder, done = manifest.folder, Shards[S]()
        for place, (source, name) in enumerate(zip(sources, names, strict=True)):
            before = manifest.finished.get(source.name)
            if before is None or before.output not in (name, *(later[place : place + 1] if later else ())):
                try:
                    before, sums = self._shard(source, folder, name)
                    manifest.add(before)
                except (DataError, UsageError) as error:
                    done.wrong.append(error)
                    continue
            else:
                done.resumed += 1
                self._resume(source, before, folder)
                sums = self.work.sums_of(before, folder)
            done.rows += before.rows
            done.outputs.append(str(folder / before.output))
            done.sums = _merged(done.sums, sums, source.name)
        return done

    def describe(self, writer: ItemWriter, sums: S) -> None:
        """Put what is known at a file's end into its metadata."""
        for name, value in self.work.described(sums).items():
            writer.describe(name, value)

    def _shard(self, source: Source, folder: Path, name: str) -> tuple[Finished, S]:
        before = source.fingerprint()
        with ItemWriter(place_in(folder, name), self.work.signature, self.group_bytes) as writer:
            sums, rows = self.through(source, writer, None)
            self.describe(writer, sums)
            writer.commit()
        return Finished(source.name, before, name, rows, self.work.state(sums)), sums

    def _resume(self, source: Source, before: Finished, folder: Path) -> None:
        """Look whether a finished shard still is what its input asks for."""
        now = source.fingerprint()
        if now != before.fingerprint:
            raise DataError(
                f"{source.name}: changed since its shard was made (then {before.fingerprint}, now {now}); "
                "--overwrite starts anew, or name another folder"
            )
        gold = self.work.gold
        if gold is not None:
            with for_arrow(folder / before.output) as opened:
                for batch in pq.ParquetFile(opened).iter_batches(columns=list(gold.keys)):
                    gold.rows_of(pa.Table.from_batches([batch]))

    def _batches(self, source: Source) -> Iterator[tuple[pa.RecordBatch, int]]:
        row = 0
        for batch in read_batches(source, lambda names: self.work.wanted(source.name, names), self.limits, self.notes):
            yield batch, row
            row += batch.num_rows


def references_by_key(
    references: Any, format: str | None, column: str, ids: Sequence[str]
) -> tuple[KeyedReferences | None, tuple[str, ...]]:
    """The references by key, with their list column called ``references``, and notes on them."""
    if references is None:
        return None, ()
    loaded = load(references, "references", format)
    table = loaded.table
    if column != "references" and column in table.column_names:
        names = ["references" if n == column else n for n in table.column_names if n != "references"]
        table = table.select([n for n in table.column_names if n != "references"]).rename_columns(names)
    if "references" not in table.column_names:
        raise no_column(column, "references", table.column_names, "references: ")
    return KeyedReferences(table, tuple(ids) or None), loaded.notes


def _merged(sums: S | None, part: S, name: str) -> S:
    if sums is None:
        return part
    try:
        sums.merge(part)
    except UsageError:
        raise DataError(f"{name}: its score columns {part.metrics} are not those before, {sums.metrics}") from None
    return sums

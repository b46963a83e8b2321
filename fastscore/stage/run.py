"""The way through a stage: sources in, scored in order, written whole, added up; one output file, or one for each source.

`score_files` is the function behind `fastscore score` on tables; `merge_totals` adds up what several runs wrote.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from fastscore.align import KeyedReferences, missing_note, nothing_joined_note, unmatched_note
from fastscore.errors import DataError, UnknownNameError, UsageError, did_you_mean
from fastscore.formats.files import for_arrow
from fastscore.kernels.threads import thread_count
from fastscore.output import place_in, refuse_existing
from fastscore.pipeline import load
from fastscore.recipes import Recipe, resolve_recipe
from fastscore.schema import Status
from fastscore.scoring import metric_names
from fastscore.stage.manifest import MISSING_FILE, Finished, Manifest
from fastscore.stage.merge import totals_of
from fastscore.stage.progress import Progress
from fastscore.stage.pump import BackgroundWriter, in_order
from fastscore.stage.readers import Limits, read_batches
from fastscore.stage.result import StageResult
from fastscore.stage.scoring import BatchScorer, Columns
from fastscore.stage.sources import Source, find_sources
from fastscore.stage.summary import MOST_GROUPS, write_summary
from fastscore.stage.writers import ItemWriter
from fastscore.totals import Totals
from fastscore.version import __version__

__all__ = ["limits_of", "score_files"]

#: What the interpreter, the libraries and the kernels take before there is any data.
_BASE = 420 << 20
_MISSING = "(references without a prediction)"
Inputs = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]


def score_files(
    predictions: Inputs,
    output: str | os.PathLike[str] | None = None,
    *,
    recipe: str | Recipe,
    references: Any = None,
    by: str | Sequence[str] = (),
    prediction: str = "prediction",
    references_column: str = "references",
    ids: Sequence[str] = (),
    keep: Sequence[str] = (),
    where: str | None = None,
    top_n: int | Sequence[int] = 1,
    threads: int | None = None,
    memory: int | None = None,
    format: str | None = None,
    references_format: str | None = None,
    storage_options: Mapping[str, str] | None = None,
    overwrite: bool = False,
    quiet: bool = True,
) -> StageResult:
    """Score files of any size in constant memory, row i of the output for row i of the input.

    Parameters
    ----------
    predictions
        A file, several, a glob, a folder, ``-`` (an Arrow stream on standard input), or URLs of an object store: parquet, Arrow,
        JSON Lines or CSV.
    output
        A file (by suffix .parquet, .arrow, .jsonl, .csv; ``-`` an Arrow stream on standard output), or a folder, which gets a
        parquet shard for each source and can be resumed; None: only the summary.
    recipe
        A name, an alias, a signature or a `Recipe`.
    references
        Where each row has no references of its own: a table or file of them, loaded once and joined by key.
    by
        Columns whose values are groups.
    prediction, references_column
        What the two columns are called.
    ids
        Key columns; by default question_id, turn_id and sample_id as far as they are there.
    keep
        Columns to hand on unchanged.
    where
        An SQL condition, as polars reads it; other rows are left out of the output.
    top_n, threads
        As in `fastscore.score`.
    memory
        How many bytes the process may come to; None: what the machine has.
    format, references_format
        Names of formats, where the content should not be asked.
    storage_options
        For object stores, as polars takes them.
    overwrite
        Replace what is there.
    quiet
        Show no progress on standard error.

    Raises
    ------
    UsageError
        A parameter is wrong, a column absent, the output there already.
    DataError
        The data are wrong; with a folder as output a source that cannot be scored is listed in ``failures`` instead.
    """
    found, note = resolve_recipe(recipe)
    groups = (by,) if isinstance(by, str) else tuple(by)
    columns = Columns(prediction, references_column, tuple(ids), tuple(keep), groups, where)
    columns.condition()
    sources = find_sources(predictions, format, storage_options)
    target = None if output is None else Path(os.fspath(output)) if output != "-" else "-"
    count = thread_count(threads)
    limits, group_bytes = limits_of(memory, count)
    gold, notes = _gold(references, references_format, columns)
    run = _Run(
        BatchScorer(found, columns, gold, top_n), limits, group_bytes, count,
        Progress(sum((s.fingerprint() or {}).get("size", 0) for s in sources if s.kind == "file"), quiet),
    )  # fmt: skip
    notes = (*((note,) if note else ()), *notes)
    with run.progress:
        if isinstance(target, Path) and _is_folder(target):
            return run.into_folder(sources, target, overwrite, notes)
        return run.into_file(sources, target, overwrite, notes)


def limits_of(memory: int | None, threads: int) -> tuple[Limits, int]:
    """How large batches, rows and waiting row groups may be so that the process stays within `memory` bytes.

    Raises UsageError where that is less than the process takes without any data.
    """
    if memory is None:
        return Limits(), 64 << 20
    if memory < _BASE + (64 << 20):
        raise UsageError(f"memory: at least {(_BASE >> 20) + 64} MiB are needed, got {memory >> 20} MiB")
    free = memory - _BASE
    batch = min(32 << 20, max(1 << 20, free // (4 * (threads + 3))))
    return Limits(batch, free // (20 * threads)), min(64 << 20, free // 6)


class _Run:
    """One call of `score_files`: what is the same for all sources."""

    def __init__(
        self,
        scorer: BatchScorer,
        limits: Limits,
        group_bytes: int,
        threads: int,
        progress: Progress,
    ) -> None:
        self.scorer, self.limits, self.group_bytes, self.threads = scorer, limits, group_bytes, threads
        self.progress = progress
        self.recipe = scorer.recipe
        self.notes: list[str] = []

    def into_file(self, sources: list[Source], target: Path | str | None, overwrite: bool, notes: tuple[str, ...]) -> StageResult:
        """All sources into one file, or into none."""
        if isinstance(target, Path):
            refuse_existing(target, overwrite)
        _refuse_own_input(sources, [target] if isinstance(target, Path) else [])
        totals, rows = None, 0
        with ItemWriter(target, self.recipe.signature, self.group_bytes) if target is not None else nullcontext() as writer:
            for source in sources:
                totals, more = self._score(source, writer, totals)
                rows += more
            missing = self.scorer.missing()
            if missing is not None and totals is not None:
                totals.add(missing)
                rows += missing.num_rows
                if writer is not None:
                    writer.write(missing)
            assert totals is not None
            if writer is not None:
                self._describe(writer, totals)
                writer.commit()
        outputs: tuple[str, ...] = ()
        if isinstance(target, Path):
            outputs = (str(target),)
            summary = write_summary(totals, self.recipe.name, self.recipe.signature, target.parent, f"{target.name}.")
        else:
            summary = totals.summary(self.recipe.name, self.recipe.signature)
        return self._result(summary, totals, rows, outputs, notes=notes)

    def into_folder(self, sources: list[Source], folder: Path, overwrite: bool, notes: tuple[str, ...]) -> StageResult:
        """A shard for each source; those that the manifest has are left as they are."""
        if "-" in (s.path for s in sources):
            raise UsageError("-o FOLDER: standard input is one stream; name an output file")
        folder.mkdir(parents=True, exist_ok=True)
        inside = folder.resolve()
        others = [s for s in sources if s.kind != "file" or inside not in Path(s.path).resolve().parents]
        sources = others or sources  # a folder of outputs inside the folder of inputs is no input
        _refuse_own_input(sources, [folder / name for name in _shard_names(sources)])
        manifest = Manifest(folder, self._asked(), overwrite)
        try:
            manifest.prepare(sources)
            totals: Totals | None = None
            rows, failures, outputs, resumed = 0, [], [], 0
            wrong: list[DataError | UsageError] = []
            for source, name in zip(sources, _shard_names(sources), strict=True):
                before = manifest.finished.get(source.name)
                if before is None or before.output != name:
                    try:
                        before = self._shard(source, folder, name)
                        manifest.add(before)
                    except (DataError, UsageError) as error:
                        wrong.append(error)
                        failures.append(str(error))
                        continue
                else:
                    resumed += 1
                    self._resume(source, before, folder)
                rows += before.rows
                outputs.append(str(folder / before.output))
                totals = _merged(totals, totals_of(before, folder), source.name)
            if not failures:
                rows += self._missing_shard(folder, manifest, totals, outputs)
        finally:
            manifest.close()
        if totals is None:
            if all(isinstance(error, UsageError) for error in wrong):
                raise wrong[0]
            more = f" (and {len(failures) - 3:,} more)" if len(failures) > 3 else ""
            raise DataError(failures[0] if not failures[1:] else f"no source could be scored: {'; '.join(failures[:3])}{more}")
        if failures:
            summary = totals.summary(self.recipe.name, self.recipe.signature)
        else:
            summary = write_summary(totals, self.recipe.name, self.recipe.signature, folder, "")
        return self._result(summary, totals, rows, tuple(outputs), resumed, tuple(failures), notes)

    def _shard(self, source: Source, folder: Path, name: str) -> Finished:
        before = source.fingerprint()
        target = place_in(folder, name)
        with ItemWriter(target, self.recipe.signature, self.group_bytes) as writer:
            totals, rows = self._score(source, writer, None)
            self._describe(writer, totals)
            writer.commit()
        return Finished(source.name, before, name, rows, totals.to_dict() if totals.groups() <= MOST_GROUPS else None)

    def _resume(self, source: Source, before: Finished, folder: Path) -> None:
        """Look whether a finished shard still is what its input asks for."""
        now = source.fingerprint()
        if now != before.fingerprint:
            raise DataError(
                f"{source.name}: changed since its shard was made (then {before.fingerprint}, now {now}); "
                "--overwrite starts anew, or name another folder"
            )
        if self.scorer.gold is not None:
            keys = list(self.scorer.gold.keys)
            with for_arrow(folder / before.output) as opened:
                for batch in pq.ParquetFile(opened).iter_batches(columns=keys):
                    self.scorer.gold.rows_of(pa.Table.from_batches([batch]))

    def _missing_shard(self, folder: Path, manifest: Manifest, totals: Totals | None, outputs: list[str]) -> int:
        """References that no prediction has met become a shard of their own."""
        if totals is None:
            return 0
        before = manifest.finished.get(_MISSING)
        if self.scorer.gold is not None and self.scorer.given is None:
            if before is not None and before.rows == self.scorer.gold.missing().size:
                totals.merge(totals_of(before, folder))
                outputs.extend([str(folder / MISSING_FILE)] if before.rows else [])
                return before.rows
            with for_arrow(outputs[0]) as opened:
                self.scorer.given = pq.read_schema(opened)
        missing = self.scorer.missing()
        if missing is None:
            if before is not None:
                (folder / MISSING_FILE).unlink(missing_ok=True)
                manifest.add(Finished(_MISSING, None, MISSING_FILE, 0, Totals(totals.metrics, totals.by).to_dict()))
            return 0
        part = Totals(totals.metrics, totals.by)
        part.add(missing)
        totals.merge(part)
        outputs.append(str(folder / MISSING_FILE))
        with ItemWriter(folder / MISSING_FILE, self.recipe.signature, self.group_bytes) as writer:
            writer.write(missing)
            self._describe(writer, part)
            writer.commit()
        few = part.groups() <= MOST_GROUPS
        manifest.add(Finished(_MISSING, None, MISSING_FILE, missing.num_rows, part.to_dict() if few else None))
        return int(missing.num_rows)

    def _score(self, source: Source, writer: ItemWriter | None, totals: Totals | None) -> tuple[Totals, int]:
        """Score one source into a writer and totals; new totals where there are none yet."""
        rows = 0
        background = None if writer is None or self.threads == 1 else BackgroundWriter(writer.write)
        put = background.put if background is not None else writer.write if writer is not None else None
        given = self._batches(source)
        try:
            for (batch, _), items in in_order(lambda g: self.scorer(g[0], source.name, g[1]), given, self.threads):
                if totals is None:
                    totals = Totals(metric_names(items.schema), self.scorer.columns.by)
                totals.add(items)
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
        assert totals is not None
        return totals, rows

    def _batches(self, source: Source) -> Iterator[tuple[pa.RecordBatch, int]]:
        def wanted(names: Sequence[str]) -> Sequence[str]:
            self.scorer.check_columns(source.name, names)
            return self.scorer.columns.wanted(self.scorer.gold is not None)

        row = 0
        for batch in read_batches(source, wanted, self.limits, self.notes):
            yield batch, row
            row += batch.num_rows

    def _asked(self) -> dict[str, Any]:
        """What decides the bits of a shard."""
        columns = self.scorer.columns
        gold = self.scorer.gold
        return {
            "signature": self.recipe.signature,
            "columns": [columns.prediction, columns.references, list(columns.ids), list(columns.keep), list(columns.by)],
            "where": columns.where,
            "top_n": self.scorer.top_n if isinstance(self.scorer.top_n, int) else list(self.scorer.top_n),
            "references": None if gold is None else [gold.table.num_rows, list(gold.keys), gold.digest()],
            "version": __version__,
        }

    def _describe(self, writer: ItemWriter, totals: Totals) -> None:
        """Put the recipe and, where they are few, the totals into the file's metadata, for `merge`."""
        writer.describe("fastscore.recipe", self.recipe.name)
        writer.describe("fastscore.by", json.dumps(totals.by))
        if totals.groups() <= MOST_GROUPS:
            writer.describe("fastscore.totals", json.dumps(totals.to_dict()))

    def _result(
        self,
        summary: dict[str, Any],
        totals: Totals,
        rows: int,
        outputs: tuple[str, ...],
        resumed: int = 0,
        failures: tuple[str, ...] = (),
        notes: tuple[str, ...] = (),
    ) -> StageResult:
        statuses = {s.label: int(totals.block()[s.label]) for s in Status}
        missing, unmatched = statuses[Status.MISSING_PREDICTION.label], statuses[Status.UNMATCHED_PREDICTION.label]
        notes += ((missing_note(missing),) if missing else ()) + ((unmatched_note(unmatched),) if unmatched else ())
        if self.scorer.gold is not None:
            notes += self.scorer.gold.several_note()
            if unmatched and unmatched + missing == sum(statuses.values()):
                notes += (nothing_joined_note(),)
        notes = (*notes, *dict.fromkeys(self.notes))
        progress = self.progress
        return StageResult(
            summary, self.recipe.signature, totals, rows, progress.seconds, progress.bytes, outputs, resumed, failures, notes,
            statuses,
        )  # fmt: skip


def _gold(references: Any, format: str | None, columns: Columns) -> tuple[KeyedReferences | None, tuple[str, ...]]:
    """The references by key, with their list column called ``references``."""
    if references is None:
        return None, ()
    loaded = load(references, "references", format)
    table = loaded.table
    if columns.references != "references" and columns.references in table.column_names:
        names = ["references" if n == columns.references else n for n in table.column_names if n != "references"]
        table = table.select([n for n in table.column_names if n != "references"]).rename_columns(names)
    if "references" not in table.column_names:
        raise UnknownNameError(
            f"references: column {columns.references!r} is not there.{did_you_mean(columns.references, table.column_names)}"
        )
    return KeyedReferences(table, columns.ids or None), loaded.notes


def _merged(totals: Totals | None, part: Totals, name: str) -> Totals:
    if totals is None:
        return part
    try:
        totals.merge(part)
    except UsageError:
        raise DataError(f"{name}: its score columns {part.metrics} are not those before, {totals.metrics}") from None
    return totals


def _refuse_own_input(sources: list[Source], outputs: list[Path]) -> None:
    """Raise UsageError where an output would replace an input, or a file is named twice."""
    paths = [Path(s.path).resolve() if s.kind == "file" else Path(s.path) for s in sources]
    if len(set(paths)) < len(paths):
        twice = next(p for p in paths if paths.count(p) > 1)
        raise UsageError(f"{twice}: the file is named twice; each is scored once")
    for output in outputs:
        if output.resolve() in paths:
            raise UsageError(f"-o {output}: this is one of the inputs; name another place")


def _is_folder(target: Path) -> bool:
    return target.is_dir() or (not target.exists() and target.suffix == "")


def _shard_names(sources: list[Source]) -> list[str]:
    """The shards' names below the output folder: the sources' own, always .parquet, each once."""
    names: list[str] = []
    used = {"missing_predictions"}
    for source in sources:
        bare = source.name
        for suffix in (".gz", ".zst", ".parquet", ".arrow", ".ipc", ".feather", ".jsonl", ".ndjson", ".csv"):
            bare = bare.removesuffix(suffix)
        parts = [p for p in bare.split("/") if p not in ("", ".", "..")]
        name = "/".join(parts) or "shard"
        if any(part.startswith("groups.") for part in parts):
            name = f"shard-{name}"
        whole, number = name, 1
        while name in used:
            number += 1
            name = f"{whole}-{number}"
        used.add(name)
        names.append(f"{name}.parquet")
    return names

"""The way through a stage: sources in, scored in order, written whole, added up; one output file, or one for each source.

`score_files` is the function behind `fastscore score` on tables; `merge_totals` adds up what several runs wrote.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from fastscore.align import missing_note, nothing_joined_note, unmatched_note
from fastscore.errors import UsageError
from fastscore.forks import refuse_lost_threads
from fastscore.formats.files import for_arrow
from fastscore.kernels.threads import thread_count
from fastscore.output import local_path, refuse_existing
from fastscore.recipes import Recipe, resolve_recipe
from fastscore.schema import Status
from fastscore.scoring import metric_names
from fastscore.stage.flow import Flow, references_by_key
from fastscore.stage.manifest import MISSING_FILE, Finished, Manifest
from fastscore.stage.merge import totals_of
from fastscore.stage.places import Inputs, is_folder, refuse_own_input, shard_names, sources_for
from fastscore.stage.progress import Progress
from fastscore.stage.readers import Limits
from fastscore.stage.result import StageResult
from fastscore.stage.scoring import BatchScorer, Columns
from fastscore.stage.sources import Source, find_sources
from fastscore.stage.summary import MOST_NOTED, write_summary
from fastscore.stage.writers import ItemWriter
from fastscore.totals import Totals
from fastscore.version import __version__

__all__ = ["limits_of", "score_files"]

#: What the interpreter, the libraries and the kernels take before there is any data.
_BASE = 420 << 20
_MISSING = "(references without a prediction)"


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
    refuse_lost_threads()
    found, note = resolve_recipe(recipe)
    groups = (by,) if isinstance(by, str) else tuple(by)
    columns = Columns(prediction, references_column, tuple(ids), tuple(keep), groups, where)
    columns.condition()
    sources = find_sources(predictions, format, storage_options)
    target = None if output is None else local_path(output) if output != "-" else "-"
    count = thread_count(threads)
    limits, group_bytes = limits_of(memory, count)
    gold, notes = references_by_key(references, references_format, columns.references, columns.ids)
    progress = Progress(sum((s.fingerprint() or {}).get("size", 0) for s in sources if s.kind == "file"), quiet)
    run = _Run(_Scoring(BatchScorer(found, columns, gold, top_n)), limits, group_bytes, count, progress)
    notes = (*((note,) if note else ()), *notes)
    with progress:
        if isinstance(target, Path) and is_folder(target):
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


class _Scoring:
    """Scoring as a stage's work."""

    def __init__(self, scorer: BatchScorer) -> None:
        self.scorer = scorer
        self.recipe, self.signature, self.gold = scorer.recipe, scorer.recipe.signature, scorer.gold

    def wanted(self, source: str, names: Sequence[str]) -> Sequence[str]:
        self.scorer.check_columns(source, names)
        return self.scorer.columns.wanted(self.gold is not None)

    def __call__(self, batch: pa.RecordBatch, source: str, first: int) -> pa.RecordBatch:
        return self.scorer(batch, source, first)

    def sums(self, schema: pa.Schema) -> Totals:
        return Totals(metric_names(schema), self.scorer.columns.by)

    def state(self, sums: Totals) -> dict[str, Any] | None:
        return sums.to_dict() if sums.groups() <= MOST_NOTED else None

    def sums_of(self, shard: Finished, folder: Path) -> Totals:
        return totals_of(shard, folder)

    def described(self, sums: Totals) -> Mapping[str, str]:
        """The recipe and, where they are few, the totals, for `merge`."""
        said = {"fastscore.recipe": self.recipe.name, "fastscore.by": json.dumps(sums.by)}
        state = self.state(sums)
        return said if state is None else {**said, "fastscore.totals": json.dumps(state)}

    def asked(self) -> dict[str, Any]:
        """What decides the bits of a shard."""
        columns, gold, top_n = self.scorer.columns, self.gold, self.scorer.top_n
        return {
            "signature": self.signature,
            "columns": [columns.prediction, columns.references, list(columns.ids), list(columns.keep), list(columns.by)],
            "where": columns.where,
            "top_n": top_n if isinstance(top_n, int) else list(top_n),
            "references": None if gold is None else [gold.table.num_rows, list(gold.keys), gold.digest()],
            "version": __version__,
        }


class _Run(Flow[Totals]):
    """One call of `score_files`."""

    def __init__(self, work: _Scoring, limits: Limits, group_bytes: int, threads: int, progress: Progress) -> None:
        super().__init__(work, limits, group_bytes, threads, progress)
        self.scoring, self.scorer, self.recipe = work, work.scorer, work.recipe

    def into_file(self, sources: list[Source], target: Path | str | None, overwrite: bool, notes: tuple[str, ...]) -> StageResult:
        """All sources into one file, or into none."""
        if isinstance(target, Path):
            refuse_existing(target, overwrite)
        refuse_own_input(sources, [target] if isinstance(target, Path) else [])
        with ItemWriter(target, self.recipe.signature, self.group_bytes) if target is not None else nullcontext() as writer:
            totals, rows = self.into_one(sources, writer)
            missing = self.scorer.missing()
            if missing is not None:
                totals.add(missing)
                rows += missing.num_rows
                if writer is not None:
                    writer.write(missing)
            if writer is not None:
                self.describe(writer, totals)
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
        sources = sources_for(folder, sources)
        names = shard_names(sources)
        refuse_own_input(sources, [folder / name for name in names])
        manifest = Manifest(folder, self.scoring.asked(), overwrite)
        try:
            manifest.prepare(sources)
            done = self.into_shards(sources, manifest, names)
            rows = done.rows
            if not done.failures:
                rows += self._missing_shard(folder, manifest, done.sums, done.outputs)
        finally:
            manifest.close()
        totals = done.checked()
        if done.failures:
            summary = totals.summary(self.recipe.name, self.recipe.signature)
        else:
            summary = write_summary(totals, self.recipe.name, self.recipe.signature, folder, "")
        return self._result(summary, totals, rows, tuple(done.outputs), done.resumed, tuple(done.failures), notes)

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
            self.describe(writer, part)
            writer.commit()
        manifest.add(Finished(_MISSING, None, MISSING_FILE, missing.num_rows, self.scoring.state(part)))
        return int(missing.num_rows)

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

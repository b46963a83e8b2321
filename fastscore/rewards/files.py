"""Rewards of files of any size, in constant memory: the stage's way, with the groups after it.

First each source becomes a shard of rewards, as scoring makes shards of scores: in order, whole or not at all, noted in a
manifest. Then, where a column names a prompt, keys and rewards are read again, grouped out of core
(`fastscore.rewards.grouping`), and each shard is written once more with its groups' columns. A group may reach over shards, so no
shard gets them before all have rewards; till then shards lie in ``.scored`` inside the output folder. Killed at any moment, a run
goes on from the shards that the manifest has: with rewards, or finished for the very same set of sources.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from fastscore.align import missing_note, nothing_joined_note, unmatched_note
from fastscore.errors import UsageError
from fastscore.kernels.threads import thread_count
from fastscore.output import local_path, place_in, put_in_place, refuse_existing
from fastscore.pipeline import load
from fastscore.rewards.grouping import Grouping, group_columns
from fastscore.rewards.groups import advantage as advantage_expression
from fastscore.rewards.prompts import Prompts
from fastscore.rewards.result import RewardResult
from fastscore.rewards.rule import Recipes, reward_rule
from fastscore.rewards.totals import RewardTotals
from fastscore.rewards.work import DEFAULT_GROUPS, RewardWork
from fastscore.schema import Status
from fastscore.stage.flow import Flow, Shards, references_by_key
from fastscore.stage.manifest import GROUPED, Manifest
from fastscore.stage.places import Inputs, is_folder, refuse_own_input, shard_names, sources_for
from fastscore.stage.progress import Progress
from fastscore.stage.readers import Limits, read_batches
from fastscore.stage.run import limits_of
from fastscore.stage.scoring import Columns
from fastscore.stage.sources import Source, find_sources
from fastscore.stage.summary import write_summary
from fastscore.stage.writers import ItemWriter
from fastscore.version import __version__

__all__ = ["reward_files"]

_SCORED, _GROUPS = ".scored", ".groups"
_TABLES = ("parquet", "arrow", "jsonl", "csv")


@dataclass(frozen=True)
class _Groups:
    """What is asked of the groups: their columns (None: the default), the advantage, and the numbers of sampling metrics."""

    group: tuple[str, ...] | None
    advantage: str | None
    options: Mapping[str, Any]
    pass_at: Sequence[int]
    best_at: Sequence[int]
    maj_at: Sequence[int]

    @property
    def metrics(self) -> bool:
        """Whether there is a sampling metric."""
        return bool(self.pass_at or self.best_at or self.maj_at)


def reward_files(
    rollouts: Inputs,
    output: str | os.PathLike[str] | None = None,
    *,
    recipe: Recipes,
    references: Any = None,
    group: str | Sequence[str] | None = None,
    advantage: str | None = "grpo",
    framework: str = "trl",
    epsilon: float | None = None,
    ddof: int = 1,
    leave_one_out: bool = True,
    pass_at: Sequence[int] = (),
    best_at: Sequence[int] = (),
    maj_at: Sequence[int] = (),
    by: str | Sequence[str] = (),
    prediction: str = "prediction",
    references_column: str = "references",
    ids: Sequence[str] = (),
    keep: Sequence[str] = (),
    where: str | None = None,
    threads: int | None = None,
    memory: int | None = None,
    format: str | None = None,
    references_format: str | None = None,
    storage_options: Mapping[str, str] | None = None,
    overwrite: bool = False,
    quiet: bool = True,
    **options: Any,
) -> RewardResult:
    """Give the rollouts of files of any size their rewards, group statistics and advantages, row i of the output for rollout i.

    Parameters
    ----------
    rollouts, output, by, keep, where, threads, memory, format, references_format, storage_options, overwrite, quiet
        As in `fastscore.score_files`; a column of lists of completions gives a rollout for each.
    recipe, options
        What a reward is, as `reward_rule` takes it (``extract``, ``metric``, ``weights``, ``null`` ...).
    references
        Where each row has no references of its own: a table or file of them, loaded once and joined by key.
    group
        Columns that name a prompt; by default prompt_id or question_id. Without one there are no groups.
    advantage, framework, epsilon, ddof, leave_one_out
        As in `fastscore.rewards.groups`; ``advantage=None`` leaves it out.
    pass_at, best_at, maj_at
        The numbers k of pass@k, best@k and maj@k in the summary.
    prediction, references_column
        What the columns are called; a dot leads into a struct, as in ``generations.text``.
    ids
        Key columns of the join; handed on.

    Returns
    -------
    RewardResult
        The summary, the totals behind it, and what was done; the rewards are in the files, with the columns that
        `score_rollouts` gives, to the same bits.

    Raises
    ------
    UsageError
        A parameter is wrong, a column absent, the output there already.
    DataError
        The data are wrong; with a folder as output a source that cannot be read is listed in ``failures`` instead, and no group
        is worked on before all sources can be.
    """
    rule = reward_rule(recipe, **options)
    columns = Columns(prediction, references_column, tuple(ids), tuple(keep), (by,) if isinstance(by, str) else tuple(by), where)
    columns.condition()
    given: dict[str, Any] = {"framework": framework, "epsilon": epsilon, "ddof": ddof, "leave_one_out": leave_one_out}
    if advantage is not None:
        advantage_expression(advantage, **given)
    names = None if group is None else (group,) if isinstance(group, str) else tuple(dict.fromkeys(group))
    asked = _Groups(names or None, advantage, given, tuple(pass_at), tuple(best_at), tuple(maj_at))
    sources = find_sources(rollouts, format, storage_options)
    target = None if output is None else local_path(output) if output != "-" else "-"
    count = thread_count(threads)
    limits, group_bytes = limits_of(memory, count)
    gold, notes = references_by_key(references, references_format, references_column, ids)
    progress = Progress(sum((s.fingerprint() or {}).get("size", 0) for s in sources if s.kind == "file"), quiet)
    work = RewardWork(rule, columns, asked.group, gold, normal_form=bool(maj_at))
    run = _Run(work, asked, limits, group_bytes, count, progress, None if memory is None else group_bytes * 2)
    with progress:
        if isinstance(target, Path) and is_folder(target):
            return run.into_folder(sources, target, overwrite, notes)
        return run.into_file(sources, target, overwrite, notes)


class _Run(Flow[RewardTotals]):
    """One call of `reward_files`."""

    def __init__(
        self,
        work: RewardWork,
        asked: _Groups,
        limits: Limits,
        group_bytes: int,
        threads: int,
        progress: Progress,
        memory: int | None,
    ) -> None:
        super().__init__(work, limits, group_bytes, threads, progress)
        self.rewards, self.asked, self.memory = work, asked, memory
        self.recipe = " + ".join(t.name for t in work.rule.terms)

    def into_file(
        self, sources: list[Source], target: Path | str | None, overwrite: bool, notes: tuple[str, ...]
    ) -> RewardResult:
        """All sources into one file, or into none; the rewards lie in a folder beside it till the groups are known."""
        if isinstance(target, Path):
            refuse_existing(target, overwrite)
        refuse_own_input(sources, [target] if isinstance(target, Path) else [])
        place = (target.parent, f".{target.name}.") if isinstance(target, Path) else (None, "fastscore.")
        with tempfile.TemporaryDirectory(dir=place[0], prefix=place[1]) as name:
            scored = Path(name) / "scored.parquet"
            with ItemWriter(scored, self.rewards.signature, self.group_bytes) as writer:
                totals, rows = self.into_one(sources, writer)
                self.describe(writer, totals)
                writer.commit()
            with self._grouping([scored], rows, Path(name), totals) or nullcontext() as grouping:
                if target is not None:
                    self._write(scored, target, grouping, totals)
        outputs: tuple[str, ...] = ()
        if isinstance(target, Path):
            outputs = (str(target),)
            summary = write_summary(totals, self.recipe, self.rewards.signature, target.parent, f"{target.name}.")
        else:
            summary = totals.summary(self.recipe, self.rewards.signature)
        return self._result(summary, totals, Shards(totals, rows, list(outputs)), notes)

    def into_folder(self, sources: list[Source], folder: Path, overwrite: bool, notes: tuple[str, ...]) -> RewardResult:
        """A shard for each source; what the manifest has is not done again."""
        sources = sources_for(folder, sources)
        names = shard_names(sources)
        refuse_own_input(sources, [folder / name for name in names])
        manifest = Manifest(folder, self._asked(), overwrite)
        try:
            manifest.prepare(sources)
            done = self.into_shards(sources, manifest, [f"{_SCORED}/{name}" for name in names], names)
            totals = done.checked()
            if done.failures:
                return self._result(totals.summary(self.recipe, self.rewards.signature), totals, done, notes)
            self._finish(sources, names, manifest, totals, done)
        finally:
            manifest.close()
        summary = write_summary(totals, self.recipe, self.rewards.signature, folder, "")
        return self._result(summary, totals, done, notes)

    def _finish(
        self, sources: list[Source], names: list[str], manifest: Manifest, totals: RewardTotals, done: Shards[RewardTotals]
    ) -> None:
        """Give all shards their groups' columns and their final places."""
        folder = manifest.folder
        shards = [manifest.finished[source.name] for source in sources]
        temporary = folder / _GROUPS
        shutil.rmtree(temporary, ignore_errors=True)
        temporary.mkdir()
        of = sha256(msgspec.json.encode([[s.input, s.fingerprint, s.rows] for s in shards])).hexdigest()
        with self._grouping([folder / s.output for s in shards], done.rows, temporary, totals) or nullcontext() as grouping:
            for shard, name in zip(shards, names, strict=True):
                if shard.output == name and (shard.totals or {}).get(GROUPED) == of:
                    if grouping is not None:
                        for batch in self._read(folder / name, grouping.prompts.group):
                            grouping.columns(batch)
                    continue
                self._write(folder / shard.output, place_in(folder, name), grouping, totals)
                manifest.add(msgspec.structs.replace(shard, output=name, totals={**(shard.totals or {}), GROUPED: of}))
        shutil.rmtree(temporary)
        shutil.rmtree(folder / _SCORED, ignore_errors=True)
        done.outputs = [str(folder / name) for name in names]

    def _grouping(self, scored: Sequence[Path], rows: int, folder: Path, totals: RewardTotals) -> Grouping | None:
        """The groups over all shards, or None where no column names a prompt."""
        names = pq.read_schema(scored[0]).names
        group = self.rewards.group
        if group is None:  # all shards were there before, so no source was looked into
            group = tuple(name for name in DEFAULT_GROUPS if name in names)[:1]
        if not group:
            if self.asked.metrics:
                raise UsageError("pass_at, best_at and maj_at need a group: name the column of prompts")
            self.notes.append("no column names a prompt (--group-by), so there are no groups")
            return None
        self.rewards.group = group
        prompts = Prompts(group, self.asked.pass_at, self.asked.best_at, self.asked.maj_at)
        totals.prompts = prompts
        grouping = Grouping(prompts, self.asked.advantage, self.asked.options, rows=rows, folder=folder, memory=self.memory)
        grouping.split(batch for path in scored for batch in self._read(path, grouping.needed))
        grouping.solve()
        if prompts.counts["no_prompt"]:
            count = prompts.counts["no_prompt"]
            self.notes.append(f"{count:,} rollouts have no {' or '.join(group)}: they are in no group and have no advantage")
        return grouping

    def _write(self, scored: Path, target: Path | str, grouping: Grouping | None, totals: RewardTotals) -> None:
        """A shard of rewards into its final place, with its groups' columns."""
        if grouping is None and isinstance(target, Path) and target.suffix == ".parquet":
            put_in_place(str(scored), target)
            return
        added = set(group_columns(self.asked.advantage)) if grouping is not None else set()
        names = [name for name in pq.read_schema(scored).names if name not in added]
        with ItemWriter(target, self.rewards.signature, self.group_bytes) as writer:
            for batch in self._read(scored, names):
                for name, column in (grouping.columns(batch) if grouping is not None else {}).items():
                    batch = batch.append_column(name, column)
                writer.write(batch)
            self.describe(writer, totals)
            writer.commit()

    def _read(self, path: Path, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """A shard's columns, in the order of `names`."""
        for batch in read_batches(Source(str(path), path.name), lambda _: names, self.limits):
            yield batch.select(list(names))

    def _batches(self, source: Source) -> Iterator[tuple[pa.RecordBatch, int]]:
        """A published JSON layout is no table, so it is read whole."""
        if source.format in _TABLES:
            yield from super()._batches(source)
            return
        loaded = load(source.path, "predictions", source.format)
        self.notes.extend(loaded.notes)
        table = loaded.table.select(list(self.rewards.wanted(source.name, loaded.table.column_names)))
        row = 0
        for batch in table.to_batches() or [pa.RecordBatch.from_pylist([], table.schema)]:
            yield batch, row
            row += batch.num_rows

    def _asked(self) -> dict[str, Any]:
        """What decides the bits of a shard."""
        asked = self.asked
        group = None if asked.group is None else list(asked.group)
        return {**self.rewards.asked(), "group": group, "advantage": [asked.advantage, asked.options], "version": __version__}

    def _result(
        self, summary: dict[str, Any], totals: RewardTotals, done: Shards[RewardTotals], notes: tuple[str, ...]
    ) -> RewardResult:
        statuses = totals.statuses()
        gold, unmatched = self.rewards.gold, statuses[Status.UNMATCHED_PREDICTION.label]
        if gold is not None:
            missing = int(gold.missing().size)
            notes += ((missing_note(missing),) if missing else ()) + ((unmatched_note(unmatched),) if unmatched else ())
            notes += (nothing_joined_note(),) if unmatched and unmatched == done.rows else ()
        if self.rewards.without_completion:
            notes += (f"{self.rewards.without_completion:,} rows have no completion in {self.rewards.columns.prediction!r}",)
        notes = (*notes, *dict.fromkeys(self.notes))
        return RewardResult(
            summary, self.rewards.signature, totals, done.rows, self.progress.seconds, self.progress.bytes, tuple(done.outputs),
            done.resumed, tuple(done.failures), notes, statuses,
        )  # fmt: skip

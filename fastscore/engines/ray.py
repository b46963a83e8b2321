"""Ray Data: `score` runs `score_batch` over a dataset on all machines of a cluster; needs the extra ``ray``.

Actors take whole blocks as Arrow tables straight from the object store and give item scores, or write them as shards. Each
block's exact totals travel in the block's own output, so what Ray retries is counted once: only what has arrived is added up.
"""

from __future__ import annotations

import base64
import importlib.util
import json
import os
import uuid
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from fastscore.align import KeyedReferences, align, missing_note, unmatched_note
from fastscore.engines.iterators import BatchScorer, bind
from fastscore.engines.shards import MISSING, new_folder, write_manifest, write_shard
from fastscore.errors import DataError, FastscoreError, UnknownNameError, UsageError, did_you_mean
from fastscore.pipeline import load
from fastscore.recipes import Recipe
from fastscore.scoring import KEY_COLUMNS, metric_names
from fastscore.totals import Totals

__all__ = ["RayResult", "score"]

_LEDGER = "fastscore_ledger"
_ROW = "fastscore_reference_row"
_SHARD = ("input", "output", "rows", "totals")
_OPTIONAL = (*KEY_COLUMNS, "prediction_spans", "reference_spans")


@dataclass(frozen=True)
class RayResult:
    """What a run on a cluster gives.

    Attributes
    ----------
    items
        A materialised ``ray.data.Dataset`` of item scores in the dataset's order, then references without a prediction; None
        where they were written to a folder.
    summary, signature, totals, notes
        As in `fastscore.result.Result`.
    shards
        The files of the output folder, in the items' order.
    """

    items: Any
    summary: dict[str, Any]
    signature: str
    totals: Totals
    notes: tuple[str, ...] = ()
    shards: tuple[str, ...] = ()


def score(
    dataset: Any,
    recipe: str | Recipe,
    *,
    references: Any = None,
    by: str | Sequence[str] = (),
    keep: Sequence[str] = (),
    top_n: int | Sequence[int] = 1,
    prediction: str = "prediction",
    references_column: str = "references",
    keys: Sequence[str] | None = None,
    output: str | os.PathLike[str] | None = None,
    workers: int | None = None,
) -> RayResult:
    """Score a Ray dataset, or parquet files, on the cluster that ``ray.init`` has joined.

    Parameters
    ----------
    dataset
        A ``ray.data.Dataset``, or a path (or list of paths) of parquet.
    recipe
        A name, a signature or a `Recipe`.
    references
        A table of references, or a file of them, one row a question, joined by key; put into the object store once. None: the
        dataset has a column of references.
    by, keep, top_n
        As in `fastscore.score`.
    prediction, references_column, keys
        What the columns of predictions, of references and of the join are called.
    output
        A new folder, or its URI, that every machine can write to: parquet shards and a manifest.
    workers
        How many actors of one CPU each, at most; None: as many as the cluster has room for.

    Returns
    -------
    RayResult
        The summary has the bits of a local run, however often a block had to be scored again.

    Raises
    ------
    UsageError
        A parameter or column is wrong (before anything runs), or a worker has another Unicode version.
    DataError
        A block has data that are wrong; the message is that of `score_batch`, its row that of the block.
    """
    import ray

    groups = (by,) if isinstance(by, str) else tuple(by)
    kept = tuple(dict.fromkeys([*((keep,) if isinstance(keep, str) else keep), *groups]))
    scorer = bind(
        recipe, prediction=prediction, references=references_column, keep=kept, top_n=top_n, plain_status=output is None
    )
    if not isinstance(dataset, ray.data.Dataset):
        _refuse_many(dataset)
        dataset = ray.data.read_parquet(os.fspath(dataset) if isinstance(dataset, os.PathLike) else dataset)
    gold = None if references is None else load(references, "references").table
    keyed = None if gold is None else KeyedReferences(gold, keys)
    schema = _needed(_schema_of(dataset), keyed, scorer)
    folder = None if output is None else new_folder(output)
    broadcast = None if gold is None else [ray.put(_numbered(gold))]
    item_schema = _empty_items(schema, keyed, scorer)
    job = _Job(scorer, scorer.recipe.signature, groups, item_schema, None if keyed is None else keyed.keys, folder)
    totals = Totals(metric_names(item_schema), groups)
    pool, cpus = _pool(workers)
    ordered = dataset.context.execution_options.preserve_order
    dataset.context.execution_options.preserve_order = True
    try:
        mapped = dataset.select_columns(schema.names).map_batches(
            _Worker,
            batch_size=None,
            batch_format="pyarrow",
            zero_copy_batch=True,
            fn_constructor_kwargs={"job": job, "broadcast": broadcast},
            compute=pool,
            num_cpus=cpus,
        )
        if folder is None:
            mapped = mapped.materialize()
        records = list(_records(mapped if folder is not None else mapped.select_columns([_LEDGER])))
    finally:
        dataset.context.execution_options.preserve_order = ordered
    seen = np.zeros(0 if gold is None else gold.num_rows, dtype=np.bool_)
    for record in records:
        totals.merge(Totals.from_dict(record["totals"]))
        if gold is not None:
            seen |= _unpacked(record["seen"], seen.size)
    items: Any = None if folder is not None else mapped.drop_columns([_LEDGER])
    shards = [{"fingerprint": None, **{k: record[k] for k in _SHARD}} for record in records]
    missing = _missing(schema, gold, seen, job)
    if missing is not None:
        part = _added(missing, groups)
        totals.merge(part)
        shards.append({"fingerprint": None, **_shard(*MISSING, missing, part)})
        if folder is not None:
            write_shard(missing, folder, MISSING[1], job.signature)
        else:
            items = items.union(ray.data.from_arrow(missing)).materialize()
    summary = totals.summary(scorer.recipe.name, job.signature)
    if folder is None:
        return RayResult(items, summary, job.signature, totals, _notes(summary))
    asked = {
        "signature": job.signature,
        "columns": [prediction, references_column, list(job.keys or ()), list(kept), list(groups)],
    }
    write_manifest(folder, asked, shards, summary)
    return RayResult(None, summary, job.signature, totals, _notes(summary), tuple(shard["output"] for shard in shards))


def _refuse_many(paths: Any) -> None:
    """Ray looks at several paths in threads, which fail at times where aiohttp, which it tries to import there, is absent."""
    if not isinstance(paths, (str, os.PathLike)) and len(paths) > 1 and importlib.util.find_spec("aiohttp") is None:
        raise UsageError(
            f"dataset: one path is allowed, got {len(paths)}: Ray needs aiohttp to read several; name their folder, "
            "or pip install aiohttp"
        )


@dataclass(frozen=True)
class _Job:
    """What every actor is told: the same for all, small, picklable."""

    scorer: BatchScorer
    signature: str
    by: tuple[str, ...]
    item_schema: pa.Schema
    keys: tuple[str, ...] | None
    folder: str | None


class _Worker:
    """An actor: kernels are loaded and references indexed once, then block after block is scored."""

    def __init__(self, job: _Job, broadcast: list[Any] | None) -> None:
        import ray

        self._job = job
        self._keyed = None if broadcast is None else KeyedReferences(ray.get(broadcast[0]), job.keys)

    def __call__(self, block: pa.Table) -> pa.Table:
        """Item scores with the ledger's column, or the ledger's row alone where the scores were written."""
        job = self._job
        try:
            items, record = self._scored(block)
        except FastscoreError as error:
            items = job.item_schema.empty_table()
            record = {"error": [type(error).__name__, str(error)]}
        if job.folder is None and items.num_rows:
            cells = pa.concat_arrays([pa.array([_bytes(record)], pa.binary()), pa.nulls(items.num_rows - 1, pa.binary())])
            return items.append_column(_LEDGER, cells)
        if job.folder is None:
            rows = 1 if "error" in record else 0
            columns = [pa.nulls(rows, kind) for kind in job.item_schema.types]
            return pa.table([*columns, pa.array([_bytes(record)] * rows, pa.binary())], names=[*job.item_schema.names, _LEDGER])
        return pa.table({_LEDGER: pa.array([_bytes(record)], pa.binary())})

    def _scored(self, block: pa.Table) -> tuple[pa.Table, dict[str, Any]]:
        job = self._job
        if job.scorer.recipe.signature != job.signature:
            raise UsageError(
                f"recipe: a worker reads {job.scorer.recipe.signature!r} where the driver has {job.signature!r}; "
                "install the same Python and fastscore on every machine"
            )
        seen = np.zeros(0, dtype=np.bool_)
        if self._keyed is not None:
            block = self._keyed.join(block)
            rows = block.column(_ROW).drop_null().to_numpy()
            seen = np.zeros(self._keyed.table.num_rows, dtype=np.bool_)
            seen[rows] = True
        items = job.scorer.table(block)
        if items.schema != job.item_schema:
            items = items.cast(job.item_schema)
        name = uuid.uuid4().hex
        shard = "" if job.folder is None else f"part-{name}.parquet"
        if job.folder is not None:
            write_shard(items, job.folder, shard, job.signature)
        return items, {**_shard(name, shard, items, _added(items, job.by)), "seen": _packed(seen)}


def _added(items: pa.Table, by: Sequence[str]) -> Totals:
    totals = Totals(metric_names(items.schema), by)
    totals.add(items)
    return totals


def _shard(block: str, file: str, items: pa.Table, totals: Totals) -> dict[str, Any]:
    """What the ledger, and then the manifest, says of a block."""
    return dict(zip(_SHARD, (block, file, items.num_rows, totals.to_dict()), strict=True))


def _bytes(record: dict[str, Any]) -> bytes:
    return zlib.compress(json.dumps(record).encode(), 1)


def _packed(seen: np.ndarray[Any, np.dtype[np.bool_]]) -> str:
    return base64.b64encode(zlib.compress(np.packbits(seen).tobytes(), 1)).decode()


def _unpacked(text: str, rows: int) -> np.ndarray[Any, np.dtype[np.bool_]]:
    bits = np.frombuffer(zlib.decompress(base64.b64decode(text)), dtype=np.uint8)
    return np.unpackbits(bits, count=rows).astype(np.bool_)


def _records(ledger: Any) -> Iterator[dict[str, Any]]:
    """The ledger's records as they arrive, each block once; the first error ends the run."""
    blocks: set[str] = set()
    for table in ledger.iter_batches(batch_size=None, batch_format="pyarrow"):
        for cell in table.column(_LEDGER).drop_null().to_pylist():
            record = json.loads(zlib.decompress(cell))
            if "error" in record:
                kind, message = record["error"]
                raise _error_class(kind)(message)
            if record["input"] not in blocks:
                blocks.add(record["input"])
                yield record


def _error_class(name: str) -> type[FastscoreError]:
    from fastscore import errors

    found = getattr(errors, name, DataError)
    return found if isinstance(found, type) and issubclass(found, FastscoreError) else DataError


def _schema_of(dataset: Any) -> pa.Schema:
    """The dataset's Arrow schema; a first block is looked at where the dataset does not know it."""
    import ray

    schema = dataset.schema()
    if schema is not None and isinstance(schema.base_schema, pa.Schema):
        return schema.base_schema
    references = dataset.limit(1).to_arrow_refs()
    if not references:
        raise DataError("dataset: it has neither rows nor a schema")
    return ray.get(references[0]).schema


def _needed(schema: pa.Schema, keyed: KeyedReferences | None, scorer: BatchScorer) -> pa.Schema:
    """The columns of the dataset that are to be read; absent ones are an error."""
    elsewhere = [] if keyed is None else [n for n in keyed.table.column_names if n not in keyed.keys]
    wanted = [scorer.prediction, *scorer.keep, *([scorer.references] if keyed is None else keyed.keys)]
    for name in wanted:
        if name not in schema.names and name not in elsewhere:
            raise UnknownNameError(f"column {name!r} is not in the dataset.{did_you_mean(name, schema.names)}")
    wanted += [name for name in _OPTIONAL if name in schema.names]
    return pa.schema([schema.field(n) for n in dict.fromkeys(wanted) if n in schema.names])


def _empty_items(schema: pa.Schema, keyed: KeyedReferences | None, scorer: BatchScorer) -> pa.Schema:
    """The schema of the item scores; wrong columns are found here, before anything runs."""
    nothing = schema.empty_table()
    return scorer.table(nothing if keyed is None else keyed.join(nothing)).schema


def _numbered(gold: pa.Table) -> pa.Table:
    """The references with the number of their row, by which a block says which of them it has met."""
    return gold.append_column(_ROW, pa.array(np.arange(gold.num_rows, dtype=np.int64))).combine_chunks()


def _missing(
    schema: pa.Schema,
    gold: pa.Table | None,
    seen: np.ndarray[Any, np.dtype[np.bool_]],
    job: _Job,
) -> pa.Table | None:
    """Item scores of the references that no block has met, None where all were."""
    if gold is None or seen.all():
        return None
    left = gold.take(pa.array(np.flatnonzero(~seen)))
    return job.scorer.table(align(schema.empty_table(), left, keys=job.keys).table).cast(job.item_schema)


def _pool(workers: int | None) -> tuple[Any, int]:
    """A pool of actors, and how many CPUs each holds.

    It begins with one actor, which holds none where the cluster has a single CPU: what lists the files needs one beside it.
    """
    import ray

    if workers is not None and (isinstance(workers, bool) or not isinstance(workers, int) or workers < 1):
        raise UsageError(f"workers: a whole number from 1 on is allowed, got {workers!r}")
    cluster: Any = ray
    if cluster.cluster_resources().get("CPU", 0) < 2:
        return ray.data.ActorPoolStrategy(size=1), 0
    return ray.data.ActorPoolStrategy(min_size=1, max_size=workers), 1


def _notes(summary: dict[str, Any]) -> tuple[str, ...]:
    overall = summary["overall"]
    notes: tuple[str, ...] = ()
    if overall["missing_prediction"]:
        notes += (missing_note(overall["missing_prediction"]),)
    if overall["unmatched_prediction"]:
        notes += (unmatched_note(overall["unmatched_prediction"]),)
    return notes

"""Totals of several runs added up: from the metadata of files of item scores, the manifests of folders, or the scores."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from fastscore.errors import DataError, FormatError, UsageError
from fastscore.recipes import Recipe
from fastscore.scoring import metric_names
from fastscore.stage.manifest import MANIFEST, Finished, read_manifest
from fastscore.totals import Totals

__all__ = ["merge_totals", "totals_of"]

_STEP = 1 << 16


def totals_of(shard: Finished, folder: Path) -> Totals:
    """The totals of a finished shard; where the manifest does not hold them, they are added up from its item scores."""
    if shard.totals is not None:
        return Totals.from_dict(shard.totals)
    return _from_items(folder / shard.output)


def merge_totals(paths: Sequence[Path]) -> dict[str, Any]:
    """The summary over several parquet files of item scores and folders of them, as if they had been scored in one run.

    Raises
    ------
    UsageError
        They are of different recipes, metrics or groups.
    DataError
        One of them is nothing that fastscore wrote.
    """
    merged: Totals | None = None
    first = ("", "")
    for path in paths:
        for totals, signature, recipe in _parts(Path(path)):
            if merged is None:
                merged, first = totals, (signature, recipe)
                continue
            if signature != first[0]:
                raise UsageError(f"{path}: scored with {signature}, the one before with {first[0]}; these do not add up")
            merged.merge(totals)
    if merged is None:
        raise UsageError("merge: name at least one file or folder of item scores")
    return merged.summary(first[1], first[0])


def _parts(path: Path) -> list[tuple[Totals, str, str]]:
    if not path.exists():
        raise UsageError(f"{path}: there is no such file or folder")
    if not path.is_dir():
        return [_of_file(path)]
    try:
        asked, finished = read_manifest(path / MANIFEST)
        signature = asked["signature"]
    except FileNotFoundError:
        raise DataError(f"{path}: the folder has no {MANIFEST}; it is no output of fastscore score") from None
    except KeyError as error:
        raise DataError(f"{path / MANIFEST}: not a whole manifest ({error})") from None
    name = Recipe.from_signature(signature).name
    return [(totals_of(shard, path), signature, name) for shard in finished.values()]


def _of_file(path: Path) -> tuple[Totals, str, str]:
    metadata = _metadata(path)
    if "fastscore.signature" not in metadata:
        raise DataError(f"{path}: not a parquet file of item scores that fastscore wrote")
    signature = metadata["fastscore.signature"]
    name = metadata.get("fastscore.recipe") or Recipe.from_signature(signature).name
    if "fastscore.totals" in metadata:
        return Totals.from_dict(json.loads(metadata["fastscore.totals"])), signature, name
    return _from_items(path), signature, name


def _from_items(path: Path) -> Totals:
    by = json.loads(_metadata(path).get("fastscore.by", "[]"))
    with pq.ParquetFile(path) as file:
        metrics = metric_names(file.schema_arrow)
        totals = Totals(metrics, by)
        for batch in file.iter_batches(_STEP, columns=list(dict.fromkeys([*metrics, "status", *by]))):
            totals.add(batch)
    return totals


def _metadata(path: Path) -> dict[str, str]:
    try:
        found = pq.read_metadata(path).metadata or {}
    except (pa.ArrowException, OSError) as error:
        raise FormatError(f"{path}: not a parquet file: {str(error).splitlines()[0]}") from None
    return {k.decode(): v.decode() for k, v in found.items() if k.startswith(b"fastscore.")}

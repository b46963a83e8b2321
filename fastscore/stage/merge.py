"""Totals of several runs added up: from the metadata of files of item scores, the manifests of folders, or the scores."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from fastscore.errors import DataError, FormatError, UsageError
from fastscore.formats.files import check_file, for_arrow
from fastscore.recipes import Recipe
from fastscore.scoring import metric_names
from fastscore.stage.manifest import MANIFEST, Finished, is_whole, read_manifest
from fastscore.stage.strict import strict_json
from fastscore.totals import Totals

__all__ = ["merge_totals", "totals_of"]

_STEP = 1 << 16


def totals_of(shard: Finished, folder: Path) -> Totals:
    """The totals of a finished shard; where the manifest does not hold them, they are added up from its item scores."""
    if shard.totals is not None:
        return Totals.from_dict(shard.totals)
    return _from_items(folder / shard.output)


def merge_totals(paths: Sequence[Path], notes: list[str] | None = None) -> dict[str, Any]:
    """The summary over several parquet files of item scores and folders of them, as if they had been scored in one run.

    `notes` gets a line for each folder whose run did not come to its end.

    Raises
    ------
    UsageError
        They are of different recipes, metrics or groups, or one of them is named twice, by itself or in a folder.
    DataError
        One of them is nothing that fastscore wrote, or was changed since.
    """
    merged: Totals | None = None
    first = ("", "")
    seen: set[Path] = set()
    for path in paths:
        for part in _parts(Path(path), notes if notes is not None else []):
            if part.place in seen:
                raise UsageError(f"{part.place}: named twice, by itself or in a folder; each file adds up once")
            seen.add(part.place)
            if merged is None:
                merged, first = part.totals, (part.signature, part.recipe)
                continue
            if part.signature != first[0]:
                raise UsageError(f"{path}: scored with {part.signature}, the one before with {first[0]}; these do not add up")
            merged.merge(part.totals)
    if merged is None:
        raise UsageError("merge: name at least one file or folder of item scores")
    return merged.summary(first[1], first[0])


class _Part(NamedTuple):
    """One file's totals, where it lies, and what it was scored with."""

    place: Path
    totals: Totals
    signature: str
    recipe: str


def _parts(path: Path, notes: list[str]) -> list[_Part]:
    if not path.is_dir():
        check_file(path)
        return [_of_file(path)]
    try:
        asked, finished = read_manifest(path / MANIFEST)
    except FileNotFoundError:
        raise DataError(f"{path}: the folder has no {MANIFEST}; it is no output of fastscore score") from None
    if "signature" not in asked:
        raise DataError(f"{path / MANIFEST}: not a manifest of fastscore score (rewards are no item scores)")
    signature = asked["signature"]
    name = _recipe_name(signature, path / MANIFEST)
    parts = []
    for shard in finished.values():
        if not shard.rows and not (path / shard.output).exists():
            continue  # references without a prediction, of which there were some before
        if not is_whole(path / shard.output, shard.rows):
            raise DataError(
                f"{path / shard.output}: gone, or not as the {MANIFEST} has it ({shard.rows:,} rows); the same fastscore score "
                "makes it again"
            )
        parts.append(_Part((path / shard.output).resolve(), totals_of(shard, path), signature, name))
    if not parts:
        raise DataError(f"{path}: no shard of this folder is finished; nothing to add up")
    if not (path / "summary.json").is_file():
        notes.append(f"{path}: its run did not come to its end (no summary.json); its {len(parts):,} shards are added up")
    return parts


def _of_file(path: Path) -> _Part:
    metadata, rows = _metadata(path)
    if "fastscore.signature" not in metadata or "fastscore.rewards" in metadata:
        raise DataError(f"{path}: not a parquet file of item scores that fastscore wrote")
    signature = metadata["fastscore.signature"]
    name = metadata.get("fastscore.recipe") or _recipe_name(signature, path)
    if "fastscore.totals" not in metadata:
        return _Part(path.resolve(), _from_items(path), signature, name)
    try:
        totals = Totals.from_dict(strict_json(metadata["fastscore.totals"]))
    except (ValueError, UsageError) as error:
        raise DataError(f"{path}: metadata fastscore.totals: {error}") from None
    if totals.rows() != rows:
        raise DataError(
            f"{path}: metadata fastscore.totals: the statuses add up to {totals.rows():,}, the file has {rows:,} rows"
        )
    return _Part(path.resolve(), totals, signature, name)


def _recipe_name(signature: str, path: Path) -> str:
    try:
        return Recipe.from_signature(signature).name
    except UsageError as error:
        raise DataError(f"{path}: {error}") from None


def _from_items(path: Path) -> Totals:
    try:
        by = strict_json(_metadata(path)[0].get("fastscore.by", "[]"))
        if not isinstance(by, list) or not all(isinstance(name, str) for name in by):
            raise ValueError("must be a list of columns")
    except ValueError as error:
        raise DataError(f"{path}: metadata fastscore.by: {error}") from None
    try:
        with for_arrow(path) as opened, pq.ParquetFile(opened) as file:
            metrics = metric_names(file.schema_arrow)
            names = list(dict.fromkeys([*metrics, "status", *by]))
            gone = [name for name in names if name not in file.schema_arrow.names]
            if gone or not metrics:
                raise DataError(f"{path}: not a file of item scores: there is no column {(gone or ['f1'])[0]!r}")
            totals = Totals(metrics, by)
            for batch in file.iter_batches(_STEP, columns=names):
                totals.add(batch)
    except (pa.ArrowException, OSError) as error:
        raise FormatError(f"{path}: not a whole parquet file: {str(error).splitlines()[0]}") from None
    except UsageError as error:
        raise DataError(f"{path}: {error}") from None
    return totals


def _metadata(path: Path) -> tuple[dict[str, str], int]:
    """What a parquet file says of itself under fastscore's names, and its number of rows."""
    try:
        with for_arrow(path) as opened:
            found = pq.read_metadata(opened)
        texts = {k.decode(): v.decode() for k, v in (found.metadata or {}).items() if k.startswith(b"fastscore.")}
    except (pa.ArrowException, OSError) as error:
        raise FormatError(f"{path}: not a parquet file: {str(error).splitlines()[0]}") from None
    except UnicodeDecodeError:
        raise DataError(f"{path}: metadata of fastscore that are not UTF-8; not a file that fastscore wrote") from None
    return texts, found.num_rows

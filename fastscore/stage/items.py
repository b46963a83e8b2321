"""Item scores of one system, in one file or in several: a path, folder of shards or glob in, a path or one table out."""

from __future__ import annotations

import glob
import os
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from fastscore.errors import DataError, FormatError, UsageError
from fastscore.formats.files import check_file, for_arrow
from fastscore.stage.manifest import MANIFEST, is_whole, read_manifest

__all__ = ["item_scores"]

_SIGNATURE = b"fastscore.signature"


def item_scores(path: Path, notes: list[str] | None = None) -> Path | pa.Table:
    """The path of a file as it is; the table of all shards of a folder that `fastscore score -o FOLDER` wrote, or of a glob.

    `notes` gets a line where the folder's run did not come to its end.

    Raises
    ------
    UsageError
        A glob matches no file.
    DataError
        The folder has no manifest, a shard is gone, or the shards were made by different rules or have different columns.
    """
    if path.is_dir():
        return _joined(_shards(path, notes if notes is not None else []), path)
    if not path.exists() and glob.has_magic(str(path)):
        matched = sorted(p for p in glob.glob(str(path), recursive=True) if os.path.isfile(p))
        if not matched:
            raise UsageError(f"{path}: no file matches")
        return Path(matched[0]) if len(matched) == 1 else _joined([Path(p) for p in matched], path)
    return path


def _shards(folder: Path, notes: list[str]) -> list[Path]:
    try:
        shards = read_manifest(folder / MANIFEST)[1].values()
    except FileNotFoundError:
        raise DataError(f"{folder}: the folder has no {MANIFEST}; it is no output of fastscore score") from None
    paths = []
    for shard in shards:
        if shard.rows and not is_whole(folder / shard.output, shard.rows):
            raise DataError(f"{folder / shard.output}: gone, or not as the {MANIFEST} has it; the same fastscore score mends it")
        if shard.rows:
            paths.append(folder / shard.output)
    if not paths:
        raise DataError(f"{folder}: no shard of this folder is finished")
    if not (folder / "summary.json").is_file():
        notes.append(f"{folder}: its run did not come to its end (no summary.json); it has {len(paths):,} shards")
    return paths


def _joined(paths: Sequence[Path], name: Path) -> pa.Table:
    tables = []
    for path in paths:
        check_file(path)
        try:
            with for_arrow(path) as opened, pq.ParquetFile(opened) as file:
                tables.append(file.read())
        except (pa.ArrowException, OSError) as error:
            raise FormatError(f"{path}: not a parquet file of item scores: {str(error).splitlines()[0]}") from None
    signatures = {(t.schema.metadata or {}).get(_SIGNATURE) for t in tables}
    if len(signatures) > 1:
        raise DataError(f"{name}: its files were scored by different rules; name files of one rule")
    signature = signatures.pop()
    try:
        whole = pa.concat_tables([t.replace_schema_metadata(None) for t in tables], promote_options="permissive")
    except pa.ArrowException as error:
        raise DataError(f"{name}: its files have different columns: {str(error).splitlines()[0]}") from None
    return whole.replace_schema_metadata(None if signature is None else {_SIGNATURE: signature})

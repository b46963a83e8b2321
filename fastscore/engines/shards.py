"""An output folder that a cluster writes: parquet shards under names of their own, and the local stage's manifest, written last.

A shard that the manifest does not list does not count, so an attempt that was given up leaves nothing behind that could be read.
The folder may lie on any file system that pyarrow knows by a URI.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.fs
import pyarrow.parquet as pq

from fastscore.errors import UsageError
from fastscore.version import __version__

__all__ = ["MANIFEST", "MISSING", "new_folder", "write_manifest", "write_shard"]

#: The file that lists the shards: a JSON line that says what was asked for, then one for each shard, in the items' order.
MANIFEST = "manifest.jsonl"
#: What stands as input of the shard of references that no prediction has met, and its file.
MISSING = ("(references without a prediction)", "missing_predictions.parquet")


def new_folder(output: str | os.PathLike[str]) -> str:
    """Make the folder; its URI or absolute path. Raises UsageError where something is in it."""
    text = os.fspath(output)
    folder = text if "://" in text else os.path.abspath(text)
    system, path = _place(folder)
    system.create_dir(path, recursive=True)
    if system.get_file_info(pyarrow.fs.FileSelector(path)):
        raise UsageError(f"output {text}: the folder is not empty; name a new one")
    return folder


def write_shard(items: pa.Table, folder: str, name: str, signature: str) -> None:
    """Write item scores as the folder's file `name`."""
    system, path = _place(folder)
    items = items.replace_schema_metadata({"fastscore.signature": signature, "fastscore.version": __version__})
    texts = [f.name for f in items.schema if not pa.types.is_float64(f.type)]
    pq.write_table(items, f"{path}/{name}", filesystem=system, compression="zstd", use_dictionary=texts)


def write_manifest(
    folder: str, asked: Mapping[str, Any], shards: Sequence[Mapping[str, Any]], summary: Mapping[str, Any]
) -> None:
    """Write manifest and summary, and take away the shards of attempts that did not count.

    Parameters
    ----------
    folder
        What `new_folder` gave.
    asked
        What decides the bits of a shard: the signature, columns, groups.
    shards
        A line each, in the items' order: input, fingerprint, output, rows, totals.
    summary
        The summary, as ``summary.json``.
    """
    system, path = _place(folder)
    counted = {shard["output"] for shard in shards}
    for info in system.get_file_info(pyarrow.fs.FileSelector(path)):
        if info.base_name.startswith("part-") and info.base_name not in counted:
            system.delete_file(info.path)
    lines = [{"fastscore_manifest": 1, "asked": dict(asked)}, *shards]
    texts = {
        "summary.json": json.dumps(summary, ensure_ascii=False, indent=2) + "\n",
        MANIFEST: "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines),
    }
    for name, text in texts.items():
        with system.open_output_stream(f"{path}/.{name}.part") as sink:
            sink.write(text.encode())
        system.move(f"{path}/.{name}.part", f"{path}/{name}")


def _place(folder: str) -> tuple[Any, str]:
    place: tuple[Any, str] = pyarrow.fs.FileSystem.from_uri(folder)
    return place

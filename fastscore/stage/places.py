"""Where a stage's outputs go: a file or a folder of shards, each shard's name, and what may not be written over."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from fastscore.errors import UsageError
from fastscore.stage.sources import Source

__all__ = ["Inputs", "is_folder", "refuse_own_input", "shard_names", "sources_for"]

Inputs = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]


def refuse_own_input(sources: Sequence[Source], outputs: Sequence[Path]) -> None:
    """Raise UsageError where an output would replace an input, or a file is named twice."""
    paths = [Path(s.path).resolve() if s.kind == "file" else Path(s.path) for s in sources]
    if len(set(paths)) < len(paths):
        twice = next(p for p in paths if paths.count(p) > 1)
        raise UsageError(f"{twice}: the file is named twice; each is scored once")
    for output in outputs:
        if output.resolve() in paths:
            raise UsageError(f"-o {output}: this is one of the inputs; name another place")


def sources_for(folder: Path, sources: Sequence[Source]) -> list[Source]:
    """Make the output folder; the sources without what it holds already, which is no input.

    Raises UsageError where a source is standard input, which has no shards.
    """
    if "-" in (s.path for s in sources):
        raise UsageError("-o FOLDER: standard input is one stream; name an output file")
    folder.mkdir(parents=True, exist_ok=True)
    inside = folder.resolve()
    others = [s for s in sources if s.kind != "file" or inside not in Path(s.path).resolve().parents]
    return others or list(sources)


def is_folder(target: Path) -> bool:
    """Whether an output is a folder of shards: one that is there, or a name without a suffix."""
    return target.is_dir() or (not target.exists() and target.suffix == "")


def shard_names(sources: Sequence[Source]) -> list[str]:
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

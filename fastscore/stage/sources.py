"""Which files a run reads: paths, globs, folders (hive-partitioned too), object stores and standard input, in a fixed order."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal
from urllib.parse import unquote

from fastscore.errors import FormatError, UsageError
from fastscore.formats.files import check_file
from fastscore.formats.sniff import format_of

__all__ = ["Source", "find_sources"]

_REMOTE = re.compile(r"^(s3|s3a|gs|gcs|az|abfs|abfss|adl|azure|hf|https?)://")
_SCHEME = re.compile(r"^([A-Za-z][A-Za-z0-9+.-]+)://")
_SUFFIXES = (".parquet", ".arrow", ".ipc", ".feather", ".jsonl", ".ndjson", ".csv")
_PACKED = (".gz", ".zst")
#: What hive writes for a partition whose value is null.
_HIVE_NULL = "__HIVE_DEFAULT_PARTITION__"


@dataclass(frozen=True)
class Source:
    """One file to read.

    Attributes
    ----------
    path
        The local path, the URL, or ``-`` for standard input.
    name
        What it is called in messages and in the manifest: the path below the folder that was named, or the file's name.
    kind
        Where it lies.
    format
        ``parquet``, ``arrow``, ``jsonl`` or ``csv``; other formats have no rows to stream.
    partitions
        Columns that the path itself gives (``split=train``), in order.
    options
        Of the object store, as polars takes them.
    """

    path: str
    name: str
    kind: Literal["file", "remote", "stdin"] = "file"
    format: str = "parquet"
    partitions: Mapping[str, str | None] = field(default_factory=dict)
    options: Mapping[str, str] = field(default_factory=dict)

    def fingerprint(self) -> dict[str, int] | None:
        """A file's size in bytes and time of last change in ns, a parquet object's rows; None where the place does not tell."""
        if self.kind == "remote" and self.format == "parquet":
            return {"rows": self._rows()}
        if self.kind != "file":
            return None
        found = os.stat(self.path)
        return {"size": found.st_size, "mtime_ns": found.st_mtime_ns}

    def _rows(self) -> int:
        """Rows of a parquet object, from its footer alone; polars does not hand on an object's tag or size."""
        import polars as pl

        try:
            return int(pl.scan_parquet(self.path, storage_options=dict(self.options) or None).select(pl.len()).collect().item())
        except (pl.exceptions.PolarsError, OSError) as error:
            if "not found" in str(error) and not Path(self.name).suffix:
                raise FormatError(f"{self.path}: there is no such object; a folder ends in /, a glob in *.parquet") from None
            raise FormatError(f"{self.name}: cannot be read as parquet: {str(error).splitlines()[0]}") from None


def find_sources(
    inputs: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    format: str | None = None,
    storage_options: Mapping[str, str] | None = None,
) -> list[Source]:
    """All files that `inputs` name: sorted by name within a folder or a glob, else in the order given.

    Raises
    ------
    UsageError
        There is nothing of that name, or a folder or glob holds no table.
    FormatError
        A file is empty or of no known format.
    """
    given = [inputs] if isinstance(inputs, (str, os.PathLike)) else list(inputs)
    found = [source for item in given for source in _expanded(os.fspath(item), format, storage_options)]
    if not found:
        raise UsageError("predictions: name at least one file, folder or glob")
    names = [s.name for s in found]
    if len(set(names)) < len(names):
        found = [replace(s, name=s.path.lstrip("/")) for s in found]
    return found


def _expanded(item: str, format: str | None, storage_options: Mapping[str, str] | None) -> Iterable[Source]:
    if item == "-":
        return [Source("-", "standard input", "stdin", "arrow")]
    if _REMOTE.match(item):
        return _remote(item, format, storage_options)
    if scheme := _SCHEME.match(item):
        raise UsageError(f"{item}: {scheme[1]}:// is no place that can be read; s3, gs, az, hf, https and the like are")
    path = Path(item)
    if path.is_dir():
        return _folder(path, format)
    if not path.exists() and glob.has_magic(item):
        matched = sorted(p for p in glob.glob(item, recursive=True) if os.path.isfile(p) and not _is_hidden(Path(p)))
        if not matched:
            raise UsageError(f"{item}: no file matches")
        root = Path(os.path.commonpath([str(Path(p).parent) for p in matched]))
        return [_local(Path(p), root, format) for p in matched]
    return [_local(path, path.parent, format)]


def _folder(root: Path, format: str | None) -> list[Source]:
    files = sorted(p for p in root.rglob("*") if p.is_file() and _is_table(p) and not _is_hidden(p.relative_to(root)))
    if not files:
        raise UsageError(f"{root}: the folder holds no table ({', '.join(_SUFFIXES)}, the last three also .gz or .zst)")
    return [_local(p, root, format) for p in files]


def _local(path: Path, root: Path, format: str | None) -> Source:
    check_file(path)
    relative = path.relative_to(root) if path.is_relative_to(root) else path
    partitions: dict[str, str | None] = {}
    for part in relative.parts[:-1]:
        name, equals, value = part.partition("=")
        if equals and name:
            partitions[_text(name)] = None if value == _HIVE_NULL else _text(value)
    return Source(str(path), relative.as_posix(), "file", format_of(path, format), partitions)


def _text(part: str) -> str:
    """Part of a path as text; bytes that are no UTF-8 become U+FFFD, since a column holds text."""
    return os.fsencode(unquote(part)).decode("utf-8", "replace")


def _remote(url: str, format: str | None, storage_options: Mapping[str, str] | None) -> list[Source]:
    """The objects behind a URL; polars lists what a glob or a folder holds."""
    kind = format or _format_of_name(url.split("?", 1)[0])
    if not (glob.has_magic(url) or url.endswith("/")):
        return [Source(url, url.rsplit("/", 1)[-1], "remote", kind, options=storage_options or {})]
    import polars as pl

    if kind != "parquet":
        raise UsageError(f"{url}: in an object store a folder or glob of parquet can be read; name other files one by one")
    options = dict(storage_options) if storage_options else None
    try:
        listed = pl.scan_parquet(url, storage_options=options, include_file_paths="file").select("file").unique()
        files = sorted(listed.collect()["file"].to_list())
    except (pl.exceptions.PolarsError, OSError) as error:
        if "expanded paths were empty" in str(error):
            raise UsageError(f"{url}: no object matches") from None
        raise FormatError(f"{url}: cannot be listed: {str(error).splitlines()[0]}") from None
    root = os.path.commonpath([f.rpartition("/")[0] for f in files]) if files else ""
    skipped = len(root.split("/")) + (1 if "://" in url and "://" not in root else 0)
    return [Source(f, "/".join(f.split("/")[skipped:]) or f, "remote", kind, options=storage_options or {}) for f in files]


def _format_of_name(name: str) -> str:
    bare = name.lower()
    for packed in _PACKED:
        bare = bare.removesuffix(packed)
    by_suffix = {".jsonl": "jsonl", ".ndjson": "jsonl", ".csv": "csv", ".arrow": "arrow", ".ipc": "arrow", ".feather": "arrow"}
    return by_suffix.get(Path(bare).suffix, "parquet")


def _is_table(path: Path) -> bool:
    name = path.name.lower()
    for packed in _PACKED:
        if name.removesuffix(packed).endswith((".jsonl", ".ndjson", ".csv")):
            return True
    return name.endswith(_SUFFIXES)


def _is_hidden(path: Path) -> bool:
    return any(part.startswith((".", "_")) for part in path.parts if part not in (".", ".."))

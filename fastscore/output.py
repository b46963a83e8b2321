"""Item scores written to a file: whole or not at all, in the format of its suffix, with the signature in its metadata."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet as pq

from fastscore.errors import UsageError
from fastscore.version import __version__

__all__ = ["local_path", "place_in", "placed", "put_in_place", "refuse_existing", "safe_frame", "temporary_beside", "write_items"]

#: Text that a spreadsheet runs, also behind a byte order mark.
_FORMULA = r"^\x{FEFF}*[=+\-@\t\r]"
#: What makes the first cell of a CSV file read as another text.
_MARK = "\ufeff"
#: How a URL begins, also where a path has made one slash of two.
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")


def local_path(output: str | os.PathLike[str]) -> Path:
    """The path of an output on this machine's disks. Raises UsageError for a URL, which a path would make a folder ``s3:`` of."""
    text = os.fspath(output)
    if _URL.match(text):
        raise UsageError(f"-o {text}: object stores are read, not written to (but by --engine ray); name a local file or folder")
    return Path(text)


def refuse_existing(path: Path, overwrite: bool) -> None:
    """Raise UsageError where the output is there and may not be replaced, its suffix or folder is wrong, or it is a URL."""
    local_path(path)
    if path.suffix not in _WRITERS:
        raise UsageError(f"-o {path}: the suffix must be one of {', '.join(_WRITERS)}; a folder takes the shards of tables alone")
    if path.is_dir():
        raise UsageError(f"-o {path}: this is a folder; name a file")
    if path.exists() and not overwrite:
        raise UsageError(f"-o {path}: the file is there; --overwrite replaces it")
    if not path.parent.is_dir():
        raise UsageError(f"-o {path}: there is no folder {path.parent}")


def write_items(items: pa.Table, path: Path, signature: str) -> None:
    """Write to a temporary name beside `path` and move it into place when it is whole.

    Text in CSV that a spreadsheet would run as a formula gets an apostrophe before it.
    """
    items = items.replace_schema_metadata({"fastscore.signature": signature, "fastscore.version": __version__})
    with placed(path) as name:
        _WRITERS[path.suffix](items, name)


@contextmanager
def placed(path: Path) -> Iterator[str]:
    """A temporary name beside `path` to write to; it is put in place where the block ends, and removed where it fails."""
    handle, name = temporary_beside(path)
    os.close(handle)
    try:
        yield name
        put_in_place(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def temporary_beside(path: Path) -> tuple[int, str]:
    """A new file that its owner alone may read, and its name: hidden, in the folder of `path`, ending in ``.part``."""
    return tempfile.mkstemp(dir=path.parent, prefix=f".{path.name[:40]}.", suffix=".part")


def put_in_place(name: str, path: Path | str) -> None:
    """Give a whole file its name, with the permissions that a new file has there."""
    os.chmod(name, _new_mode(name))
    os.replace(name, path)


def place_in(folder: Path, name: str) -> Path:
    """The path of an output below a folder, whose sub-folders are made.

    Raises UsageError where a link leads out of the folder.
    """
    path, root = folder / name, folder.resolve()
    parent = path.parent.resolve()
    if parent != root and root not in parent.parents:
        raise UsageError(f"-o {folder}: {path.parent} is a link that leads out of the folder, to {parent}; remove the link")
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def _new_mode(name: str) -> int:
    """The permissions of a new file beside `name`, asked of one: to read the umask is to change it for all threads."""
    probe = f"{name.removesuffix('.part')}.mode.part"
    handle = os.open(probe, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o666)
    try:
        return os.fstat(handle).st_mode & 0o777
    finally:
        os.close(handle)
        os.unlink(probe)


def _parquet(items: pa.Table, name: str) -> None:
    texts = [f.name for f in items.schema if not pa.types.is_float64(f.type)]
    with open(name, "wb") as file:  # of Python's, since a folder's name may be no UTF-8
        pq.write_table(items, file, compression="zstd", use_dictionary=texts)


def _arrow(items: pa.Table, name: str) -> None:
    with open(name, "wb") as file, pyarrow.ipc.new_file(file, items.schema) as writer:
        writer.write_table(items)


def safe_frame(items: pa.Table, *, formulas: bool = False) -> pl.DataFrame:
    """Item scores as a frame for a text format, labels as text.

    With `formulas` (for CSV), text and names of columns that a spreadsheet would run get an apostrophe, a name that begins with
    a byte order mark loses it, and durations are ISO 8601. Raises UsageError for bytes, and in CSV for a nested column.
    """
    frame = pl.DataFrame(pl.from_arrow(items))
    frame = frame.with_columns(pl.col(pl.Categorical).cast(pl.String))
    for name, kind in frame.schema.items():
        if kind == pl.Binary:
            raise UsageError(f"text cannot hold the column {name!r} of bytes; write .parquet or .arrow, or make it text")
    if not formulas:
        return frame
    frame = frame.with_columns(pl.col(pl.Duration).dt.to_string("iso"))
    nested = [name for name, kind in frame.schema.items() if kind.is_nested()]
    if nested:
        raise UsageError(
            f"CSV cannot hold the column {nested[0]!r} of {frame.schema[nested[0]]}; write .parquet, .arrow or .jsonl"
        )
    text = pl.col(pl.String)
    frame = frame.with_columns(pl.when(text.str.contains(_FORMULA)).then("'" + text).otherwise(text).name.keep())
    return frame.rename({name: _header(name) for name in frame.columns if _header(name) != name})


def _header(name: str) -> str:
    """A column's name in CSV."""
    bare = name.lstrip(_MARK)
    return f"'{bare}" if bare[:1] in ("=", "+", "-", "@", "\t", "\r") and bare else bare


def _jsonl(items: pa.Table, name: str) -> None:
    with open(name, "wb") as file:
        safe_frame(items).write_ndjson(file)


def _csv(items: pa.Table, name: str) -> None:
    with open(name, "wb") as file:
        safe_frame(items, formulas=True).write_csv(file)


_WRITERS: dict[str, Callable[[pa.Table, str], None]] = {".parquet": _parquet, ".arrow": _arrow, ".jsonl": _jsonl, ".csv": _csv}

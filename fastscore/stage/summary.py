"""The summary as a file beside the item scores; groups beyond a few thousand become a table of their own."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from fastscore.report import as_json
from fastscore.totals import Totals

__all__ = ["MOST_GROUPS", "write_summary"]

#: A column with more groups than this has them in a parquet table, not in the summary's JSON.
MOST_GROUPS = 5_000


def write_summary(summary: dict[str, Any], totals: Totals, folder: Path, prefix: str) -> None:
    """Write ``{prefix}summary.json``, and ``{prefix}groups.COLUMN.parquet`` for a column of many groups, whole or not at all.

    A summary whose column went into a table says so in its place; `summary` itself is changed the same way.
    """
    for column, blocks in summary["groups"].items():
        if len(blocks) > MOST_GROUPS:
            name = f"{prefix}groups.{_file_name(column)}.parquet"
            values = list(blocks)
            table = pa.table({column: values, **{k: [blocks[v][k] for v in values] for k in blocks[values[0]]}})
            _placed(folder / name, lambda path, table=table: pq.write_table(table, path, compression="zstd"))
            summary["groups"][column] = {"table": name, "groups": len(values)}
    text = as_json(summary) + "\n"
    _placed(folder / f"{prefix}summary.json", lambda path: Path(path).write_text(text, encoding="utf-8"))


def _file_name(column: str) -> str:
    return "".join(c if c.isalnum() or c in "-_" else "_" for c in column)


def _placed(path: Path, write: Any) -> None:
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".part")
    os.close(handle)
    try:
        write(name)
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(name, 0o666 & ~mask)
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise

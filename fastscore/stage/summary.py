"""The summary as a file beside the item scores; groups beyond a few thousand become a table of their own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from fastscore.output import placed
from fastscore.report import as_json
from fastscore.totals import Totals

__all__ = ["MOST_GROUPS", "MOST_NOTED", "write_summary"]

#: A column with more groups than this has them in a parquet table, not in the summary's JSON.
MOST_GROUPS = 5_000
#: A shard with more groups than this has no totals in manifest and metadata: its rows are read again sooner than their text.
MOST_NOTED = 200


def write_summary(totals: Totals, recipe: str, signature: str, folder: Path, prefix: str) -> dict[str, Any]:
    """Write ``{prefix}summary.json``, and ``{prefix}groups.COLUMN.parquet`` for a column of many groups, whole or not at all.

    The summary says which columns went into tables, and is returned.
    """
    tables = {}
    for column in totals.by:
        if totals.values(column) > MOST_GROUPS:
            tables[column] = f"{prefix}groups.{_file_name(column)}.parquet"
            with placed(folder / tables[column]) as name:
                _write_groups(totals, column, name)
    summary = totals.summary(recipe, signature, tables)
    text = as_json(summary) + "\n"
    with placed(folder / f"{prefix}summary.json") as name:
        Path(name).write_text(text, encoding="utf-8")
    return summary


def _write_groups(totals: Totals, column: str, path: str) -> None:
    writer: Any = None
    with open(path, "wb") as file:
        for table in totals.group_tables(column):
            writer = writer or pq.ParquetWriter(file, table.schema, compression="zstd")
            writer.write_table(table)
        writer.close()


def _file_name(column: str) -> str:
    return "".join(c if c.isalnum() or c in "-_" else "_" for c in column)

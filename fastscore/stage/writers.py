"""Item scores on their way into a file: batch after batch under a temporary name, put in place when the file is whole.

Parquet by pyarrow (zstd, dictionaries, statistics, page checksums), Arrow IPC, JSON Lines, CSV, or an Arrow stream on standard
output. The file's metadata carry the signature and the versions.
"""

from __future__ import annotations

import contextlib
import io
import os
import sys
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import polars as pl
import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet as pq

from fastscore.errors import DataError
from fastscore.output import put_in_place, safe_frame, temporary_beside
from fastscore.version import __version__

__all__ = ["ItemWriter", "item_metadata"]

#: Rows and bytes after which a row group is written.
_GROUP_ROWS = 1 << 18
_GROUP_BYTES = 64 << 20


def item_metadata(signature: str) -> dict[str, str]:
    """What a file of item scores says of itself."""
    return {
        "fastscore.signature": signature,
        "fastscore.version": __version__,
        "pyarrow.version": pa.__version__,
        "polars.version": pl.__version__,
    }


class ItemWriter:
    """Writes one file of item scores; nothing stands under its name before `commit`, nothing stays of a block that fails.

    Parameters
    ----------
    path
        The file, its format told by the suffix; ``-`` is an Arrow stream on standard output.
    signature
        The recipe's signature, for the metadata.
    group_bytes
        How many bytes may wait for a row group to become full.
    """

    def __init__(self, path: Path | str, signature: str, group_bytes: int = _GROUP_BYTES) -> None:
        self.path = path
        self._metadata = item_metadata(signature)
        self._group_bytes = group_bytes
        self._waiting: list[pa.RecordBatch] = []
        self._rows, self._bytes = 0, 0
        self._sink: Any = None
        self._temporary: str | None = None
        self._suffix = ".arrow" if path == "-" else Path(path).suffix
        self._handle: Any = None
        self._first: pa.Schema | None = None
        self._last_words: dict[str, str] = {}
        if path != "-":
            handle, self._temporary = temporary_beside(Path(path))
            self._handle = os.fdopen(handle, "wb")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if kind is not None:
            self.abort()

    def write(self, batch: pa.RecordBatch) -> None:
        """Take a batch; it is on the disk at the latest after `commit`."""
        if self._first is None:
            self._first = batch.schema
        elif not batch.schema.equals(self._first):
            batch = _as_before(batch, self._first, self.path)
        self._waiting.append(batch)
        self._rows += batch.num_rows
        self._bytes += batch.nbytes
        if self._sink is None or self._rows >= _GROUP_ROWS or self._bytes >= self._group_bytes or self.path == "-":
            self._flush()

    def describe(self, name: str, value: str) -> None:
        """Add to the metadata of a parquet file what is known at its end only; other formats have no place for it."""
        self._last_words[name] = value

    def commit(self) -> None:
        """Finish the file, flush it to the disk, and put it in place."""
        self._flush()
        if isinstance(self._sink, pq.ParquetWriter) and self._last_words:
            self._sink.add_key_value_metadata(self._last_words)
        if self._sink is not None and hasattr(self._sink, "close"):
            self._sink.close()
        if self.path == "-":
            sys.stdout.buffer.flush()
            return
        self._handle.flush()
        os.fsync(self._handle.fileno())
        self._handle.close()
        assert self._temporary is not None
        put_in_place(self._temporary, self.path)
        self._temporary = None

    def abort(self) -> None:
        """Leave nothing behind."""
        if self._temporary is not None:
            self._waiting = []
            if isinstance(self._sink, pq.ParquetWriter):
                with contextlib.suppress(Exception):
                    self._sink.close()
            self._sink = None
            Path(self._temporary).unlink(missing_ok=True)
            self._temporary = None
            with contextlib.suppress(OSError):
                self._handle.close()

    def _flush(self) -> None:
        if not self._waiting:
            return
        table = pa.Table.from_batches(self._waiting)
        self._waiting, self._rows, self._bytes = [], 0, 0
        if self._suffix == ".parquet":
            self._parquet(table)
        elif self._suffix == ".arrow":
            self._arrow(table)
        else:
            self._text(table)

    def _parquet(self, table: pa.Table) -> None:
        if self._sink is None:
            schema = table.schema.with_metadata({**(table.schema.metadata or {}), **self._metadata})
            self._sink = pq.ParquetWriter(
                self._handle, schema, compression="zstd", compression_level=1, write_page_checksum=True, write_statistics=True
            )
        self._sink.write_table(table.replace_schema_metadata(self._sink.schema.metadata), row_group_size=_GROUP_ROWS)

    def _arrow(self, table: pa.Table) -> None:
        """Dictionaries other than the status may differ from batch to batch, which the file format cannot hold: as values."""
        for i, field in enumerate(table.schema):
            if pa.types.is_dictionary(field.type) and field.name != "status":
                table = table.set_column(i, field.name, table.column(i).cast(field.type.value_type))
        if self._sink is None:
            schema = table.schema.with_metadata({**(table.schema.metadata or {}), **self._metadata})
            if self.path == "-":
                self._sink = pyarrow.ipc.new_stream(pa.PythonFile(sys.stdout.buffer, "w"), schema)
            else:
                self._sink = pyarrow.ipc.new_file(self._handle, schema)
            self._schema = schema
        self._sink.write_table(table.replace_schema_metadata(self._schema.metadata))

    def _text(self, table: pa.Table) -> None:
        frame = safe_frame(table, formulas=self._suffix == ".csv")
        out = io.BytesIO()
        if self._suffix == ".jsonl":
            frame.write_ndjson(out)
        else:
            frame.write_csv(out, include_header=self._sink is None)
        self._sink = True
        self._handle.write(out.getbuffer())


def _as_before(batch: pa.RecordBatch, schema: pa.Schema, path: Path | str) -> pa.RecordBatch:
    """A batch with the columns of the first one: absent columns and columns of nothing but nulls take its types.

    Raises DataError where a column is of another type, or is new.
    """
    new = [name for name in batch.schema.names if name not in schema.names]
    if new:
        raise DataError(f"-o {path}: column {new[0]!r} is in a later input and not in the first; write shards into a folder")
    columns = []
    for field in schema:
        if field.name not in batch.schema.names:
            columns.append(pa.nulls(batch.num_rows, field.type))
            continue
        column = batch.column(field.name)
        if column.type != field.type and not pa.types.is_null(column.type):
            raise DataError(
                f"-o {path}: column {field.name!r} is {column.type} in a later input, {field.type} in the first; "
                "write shards into a folder, or make the types alike"
            )
        columns.append(column if column.type == field.type else pa.nulls(batch.num_rows, field.type))
    return pa.RecordBatch.from_arrays(columns, schema=schema)

"""Record batches of a source, in its order, cut by bytes; only the columns that are asked for are read.

Local parquet and Arrow are read by pyarrow (page checksums are looked at), object stores by polars, JSON Lines in pieces of whole
lines and twice: the types of all lines must be known before the first is read, so a pipe, which is read once, is refused for
them. Whatever breaks while a source is read becomes a FormatError that names it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO

import polars as pl
import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet as pq

from fastscore.errors import DataError, FormatError
from fastscore.formats.files import for_arrow
from fastscore.formats.json_lines import read_json_lines, types_of_lines, wide_bounds
from fastscore.formats.json_text import counted
from fastscore.formats.json_types import Types, merged_types, names_within, plain_types, refuse_nul
from fastscore.formats.tables import mapped, read_table
from fastscore.stage.sources import Source

__all__ = ["Limits", "Wanted", "read_batches"]

#: From the names of a source's columns to those that must be read.
Wanted = Callable[[Sequence[str]], Sequence[str]]
_MOST_ROWS = 1 << 16
_FEWEST_ROWS = 1 << 8
_WHOLE_CSV = 64 << 20


@dataclass(frozen=True)
class Limits:
    """How large a batch may be in bytes, and how large a single row."""

    batch: int = 32 << 20
    row: int = 1 << 31


def read_batches(
    source: Source,
    wanted: Wanted,
    limits: Limits,
    notes: list[str] | None = None,
) -> Iterator[pa.RecordBatch]:
    """The source's batches with the columns that `wanted` picks.

    `wanted` is called with the names of all columns, those of the path included, before any row is read; `notes` gets lines on
    what was repaired or passed over.

    Raises
    ------
    FormatError
        The source cannot be read as a whole, or changed while it was read.
    DataError
        A single row is larger than `limits.row`.
    """
    before = source.fingerprint()
    row = 0
    try:
        for batch in _raw(source, wanted, limits, notes if notes is not None else []):
            for name, value in source.partitions.items():
                if name not in batch.schema.names:
                    batch = batch.append_column(name, pa.repeat(pa.scalar(value, pa.string()), batch.num_rows))
            for part in _cut(batch, limits, source, row):
                yield part
                row += part.num_rows
    except (pa.ArrowException, OSError, pl.exceptions.PolarsError) as error:
        raise _broken(source, error) from None
    if source.fingerprint() != before:
        raise FormatError(f"{source.name}: the file changed while it was read; score it again when it is at rest")


def _raw(source: Source, wanted: Wanted, limits: Limits, notes: list[str]) -> Iterator[pa.RecordBatch]:
    if source.kind == "remote":
        return _remote(source, wanted)
    if source.kind == "stdin":
        if sys.stdin is None:
            raise FormatError("standard input is closed; pipe an Arrow stream into it")
        return _selected(source, _arrow(pa.PythonFile(sys.stdin.buffer, "r")), wanted)
    if source.format == "parquet":
        return _parquet(source, wanted, limits)
    if source.format == "arrow":
        return _selected(source, _arrow(mapped(source.path)), wanted)
    if source.format == "jsonl":
        return _json_lines(source, wanted, limits, notes)
    return _selected(source, _csv(source, notes), wanted)


def _parquet(source: Source, wanted: Wanted, limits: Limits) -> Iterator[pa.RecordBatch]:
    with (
        for_arrow(source.path) as opened,
        pq.ParquetFile(opened, pre_buffer=False, buffer_size=1 << 20, page_checksum_verification=True) as file,
    ):
        names = _picked(source, file.schema_arrow.names, wanted)
        meta = file.metadata
        size = sum(meta.row_group(g).total_byte_size for g in range(meta.num_row_groups))
        rows = limits.batch // (size // max(1, meta.num_rows) + 1)
        rows = min(_MOST_ROWS, max(_FEWEST_ROWS, rows)) if size // max(1, meta.num_rows) < limits.batch >> 8 else 1
        counted = 0
        for batch in file.iter_batches(rows, columns=names):
            counted += batch.num_rows
            yield batch
        if not meta.num_rows:
            yield pa.RecordBatch.from_pylist([], schema=pa.schema([file.schema_arrow.field(n) for n in names]))
        if counted != meta.num_rows:
            raise FormatError(f"{source.name}: the file says {meta.num_rows} rows and has {counted}")


def _arrow_reader(file: Any) -> Any:
    if file.read(6) == b"ARROW1":
        file.seek(0)
        return pyarrow.ipc.open_file(file)
    file.seek(0)
    return pyarrow.ipc.open_stream(file)


def _arrow(file: Any) -> Iterator[pa.RecordBatch]:
    reader = pyarrow.ipc.open_stream(file) if isinstance(file, pa.PythonFile) else _arrow_reader(file)
    if isinstance(reader, pyarrow.ipc.RecordBatchFileReader):
        batches = (reader.get_batch(i) for i in range(reader.num_record_batches))
    else:
        batches = iter(reader)
    empty = True
    for batch in batches:
        batch.validate()
        empty = False
        yield batch
    if isinstance(file, pa.PythonFile) and file.read(1):
        raise pa.ArrowInvalid("more bytes follow the end of the Arrow stream; send all batches as one stream of one schema")
    if empty:
        yield pa.RecordBatch.from_pylist([], schema=reader.schema)


def _json_lines(source: Source, wanted: Wanted, limits: Limits, notes: list[str]) -> Iterator[pa.RecordBatch]:
    """Pieces of whole lines, twice: first for the types of all fields, then for the wanted ones' values."""
    pieces = [types_of_lines(data, source.name, line) for line, data in _pieces(source, limits)]
    if not pieces:
        raise FormatError(f"{source.name}: the file is empty")
    names = _picked(source, list(dict.fromkeys(name for piece in pieces for name in piece)), wanted)
    try:
        types = merged_types({name: piece[name] for name in names if name in piece} for piece in pieces)
    except pl.exceptions.PolarsError as error:
        shown = str(error).splitlines()[0]
        raise FormatError(f"{source.name}: the lines do not make a table: {shown}; write each field alike on all") from None
    refuse_nul(names_within(types), source.name)
    types = {name: types[name] for name in names}
    plain = _plain(source, types, limits)
    for line, data in _pieces(source, limits):
        frame, repaired = read_json_lines(data, source.name, line, types, plain)
        notes.extend(counted(repaired)[0])
        yield from frame.to_arrow(compat_level=pl.CompatLevel.oldest()).combine_chunks().to_batches()


def _plain(source: Source, types: Types, limits: Limits) -> Types:
    """What the file's integers beyond 64 bits become; the file is read once more where there are any."""
    wide = {name: kind for name, kind in types.items() if kind == pl.Int128}
    least: dict[str, int] = {}
    most: dict[str, int] = {}
    for line, data in _pieces(source, limits) if wide else ():
        low, high = wide_bounds(read_json_lines(data, source.name, line, wide, {})[0])
        least.update({name: min(value, least.get(name, value)) for name, value in low.items()})
        most.update({name: max(value, most.get(name, value)) for name, value in high.items()})
    return plain_types(types, least, most)


def _pieces(source: Source, limits: Limits) -> Iterator[tuple[int, bytes]]:
    """Pieces of whole lines that hold something, each with the number of its first line."""
    line, rest = 1, b""
    with _opened(source.path) as stream:
        while True:
            piece = stream.read(limits.batch)
            rest, whole = (b"", rest + piece) if not piece else _whole_lines(rest + piece)
            if line == 1:
                whole = whole.removeprefix(b"\xef\xbb\xbf")
            if len(rest) > limits.row:
                raise DataError(f"{source.name}: line {line} has more than {limits.row:,} bytes; raise --memory")
            if whole.strip():
                yield line, whole
            line += whole.count(b"\n")
            if not piece:
                return


def _whole_lines(data: bytes) -> tuple[bytes, bytes]:
    """What stands behind the last line feed, and what stands before it."""
    cut = data.rfind(b"\n") + 1
    return data[cut:], data[:cut]


def _opened(path: str) -> BinaryIO:
    """A byte stream of a file that may be packed."""
    packing = _packing(path)
    if packing is None:
        return open(path, "rb")
    return pa.CompressedInputStream(pa.PythonFile(open(path, "rb"), "r"), packing)  # type: ignore[no-any-return]


def _packing(path: str) -> str | None:
    """How a file is packed, told from its first bytes."""
    with open(path, "rb") as file:
        head = file.read(4)
    return "gzip" if head[:2] == b"\x1f\x8b" else "zstd" if head == b"\x28\xb5\x2f\xfd" else None


def _csv(source: Source, notes: list[str]) -> Iterator[pa.RecordBatch]:
    """A file of a usual size, or packed, is read at once, with each row's fields counted; a huge one as a stream of rows."""
    if os.path.getsize(source.path) <= _WHOLE_CSV or _packing(source.path):
        loaded = read_table(source.path, "csv")
        notes.extend(loaded.notes)
        batches = loaded.table.to_batches(_MOST_ROWS)
        yield from batches or [pa.RecordBatch.from_pylist([], schema=loaded.table.schema)]
        return
    frame = pl.scan_csv(source.path, infer_schema=False, truncate_ragged_lines=False)
    if "turn_id" in frame.collect_schema().names():
        frame = frame.with_columns(pl.col("turn_id").cast(pl.Int64, strict=False))
    yield from _collected(frame)


def _scan(source: Source) -> pl.LazyFrame:
    options = dict(source.options) or None
    if source.format == "parquet":
        return pl.scan_parquet(source.path, storage_options=options)
    if source.format == "jsonl":
        return pl.scan_ndjson(source.path, storage_options=options, infer_schema_length=None)
    if source.format == "csv":
        return pl.scan_csv(source.path, storage_options=options, infer_schema=False)
    return pl.scan_ipc(source.path, storage_options=options)


def _remote(source: Source, wanted: Wanted) -> Iterator[pa.RecordBatch]:
    frame = _scan(source)
    return _collected(frame.select(_picked(source, frame.collect_schema().names(), wanted)))


def _collected(frame: pl.LazyFrame) -> Iterator[pa.RecordBatch]:
    empty = True
    for part in frame.collect_batches(maintain_order=True, chunk_size=_MOST_ROWS):
        for batch in part.to_arrow(compat_level=pl.CompatLevel.oldest()).to_batches():
            empty = False
            yield batch
    if empty:
        table = frame.collect_schema().to_frame().to_arrow(compat_level=pl.CompatLevel.oldest())
        yield pa.RecordBatch.from_pylist([], schema=table.schema)


def _selected(source: Source, batches: Iterator[pa.RecordBatch], wanted: Wanted) -> Iterator[pa.RecordBatch]:
    names: list[str] | None = None
    for batch in batches:
        if names is None:
            names = _picked(source, batch.schema.names, wanted)
        chosen = batch.select(names)
        if source.format == "arrow":  # kernels and polars trust offsets, views and dictionaries
            _refuse_broken(chosen, source)
        yield chosen


def _refuse_broken(batch: pa.RecordBatch, source: Source) -> None:
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        try:
            column.validate(full=True)
        except (pa.ArrowInvalid, pa.ArrowIndexError) as error:
            raise FormatError(f"{source.name}: column {name!r} is broken: {str(error).splitlines()[0]}") from None


def _picked(source: Source, names: Sequence[str], wanted: Wanted) -> list[str]:
    """The file's own columns among those that are wanted."""
    chosen = wanted([*names, *(n for n in source.partitions if n not in names)])
    return [n for n in names if n in chosen]


def _cut(batch: pa.RecordBatch, limits: Limits, source: Source, row: int) -> Iterator[pa.RecordBatch]:
    """Halve a batch until each part is within the limit of bytes."""
    if batch.num_rows <= _MOST_ROWS and batch.nbytes <= limits.batch:
        yield batch
    elif batch.num_rows == 1:
        if batch.nbytes > limits.row:
            raise DataError(f"{source.name}: row {row} has {batch.nbytes:,} bytes, the memory allowed takes {limits.row:,}")
        yield batch
    else:
        half = batch.num_rows // 2
        yield from _cut(batch.slice(0, half), limits, source, row)
        yield from _cut(batch.slice(half), limits, source, row + half)


def _broken(source: Source, error: Exception) -> FormatError:
    said = " ".join(str(error).split()) or type(error).__name__
    return FormatError(f"{source.name}: cannot be read as {source.format}: {said[:300]}")

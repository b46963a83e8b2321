"""Tables in files: parquet, Arrow IPC, JSON Lines (also .gz and .zst) and CSV, read into Arrow tables with text left as it is.

Text and id columns are read as text: `007` keeps its zeros, the words NA and null are words. JSON Lines are cut at line feeds
alone, and a line that is no JSON is an error with its number, never skipped.
"""

from __future__ import annotations

import io
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet as pq

from fastscore.errors import FormatError, UsageError
from fastscore.formats.json_text import counted, read_bytes, repair_surrogates
from fastscore.formats.loaded import Loaded

__all__ = ["read_table"]

_ZSTD = b"\x28\xb5\x2f\xfd"


def read_table(path: str | Path, format: str) -> Loaded:
    """Read a table file of a known format: ``parquet``, ``arrow``, ``jsonl`` or ``csv``.

    Raises
    ------
    UsageError
        There is no such file, or the format is unknown.
    FormatError
        The file is not of that format; for JSON Lines and CSV the line is named.
    """
    readers = {"parquet": _read_parquet, "arrow": _read_arrow, "jsonl": _read_json_lines, "csv": _read_csv}
    if format not in readers:
        raise UsageError(f"format: a table is one of {', '.join(readers)}, got {format!r}")
    file = Path(path)
    if not file.exists():
        raise UsageError(f"{file}: there is no such file")
    try:
        table, repaired = readers[format](file)
    except (pa.ArrowInvalid, pa.ArrowException, OSError) as error:
        raise FormatError(f"{file}: not a whole {format} file: {str(error).splitlines()[0]}") from None
    notes, counts = counted(repaired)
    keys = tuple(k for k in ("question_id", "turn_id", "sample_id") if k in table.column_names)
    return Loaded(table, format, keys, notes, counts)


def _read_parquet(file: Path) -> tuple[pa.Table, int]:
    return pq.ParquetFile(file).read(), 0


def _read_arrow(file: Path) -> tuple[pa.Table, int]:
    with pa.memory_map(str(file)) as source:
        if source.read(6) == b"ARROW1":
            source.seek(0)
            return pyarrow.ipc.open_file(source).read_all(), 0
        source.seek(0)
        return pyarrow.ipc.open_stream(source).read_all(), 0


def _read_json_lines(file: Path) -> tuple[pa.Table, int]:
    data = _unpacked(file)
    data, repaired = repair_surrogates(data)
    try:
        frame = pl.read_ndjson(io.BytesIO(data), infer_schema_length=None)
    except (pl.exceptions.PolarsError, RuntimeError) as error:
        raise _bad_line(file, data, error) from None
    return frame.to_arrow(compat_level=pl.CompatLevel.oldest()), repaired


def _bad_line(file: Path, data: bytes, error: Exception) -> FormatError:
    """The error for the first line that is no JSON object, or for lines that do not go together."""
    import msgspec

    for number, line in enumerate(data.split(b"\n"), 1):
        if not line.strip():
            continue
        try:
            value = msgspec.json.decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as wrong:
            return FormatError(f"{file}: line {number} is not JSON: {wrong}")
        if not isinstance(value, dict):
            return FormatError(f"{file}: line {number} must be a JSON object, got {type(value).__name__}")
    return FormatError(f"{file}: the lines do not make a table: {str(error).splitlines()[0]}")


def _read_csv(file: Path) -> tuple[pa.Table, int]:
    data = _unpacked(file)
    try:
        frame = pl.read_csv(io.BytesIO(data), infer_schema=False, truncate_ragged_lines=False)
    except (pl.exceptions.PolarsError, RuntimeError) as error:
        raise FormatError(f"{file}: not a whole CSV table: {str(error).splitlines()[0]}") from None
    if "turn_id" in frame.columns:
        frame = frame.with_columns(pl.col("turn_id").cast(pl.Int64, strict=False))
    return frame.to_arrow(compat_level=pl.CompatLevel.oldest()), 0


def _unpacked(file: Path) -> bytes:
    data = read_bytes(file)
    if data[:4] != _ZSTD:
        return data
    try:
        with pa.CompressedInputStream(pa.BufferReader(data), "zstd") as stream:
            return bytes(stream.read())
    except (pa.ArrowInvalid, OSError) as error:
        raise FormatError(f"{file}: broken .zst: {str(error).splitlines()[0]}") from None

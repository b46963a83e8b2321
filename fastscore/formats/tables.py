"""Tables in files: parquet, Arrow IPC, JSON Lines and CSV (these two also .gz and .zst), into Arrow tables with text as it is.

Text and id columns are read as text: `007` keeps its zeros, the words NA and null are words. JSON Lines are cut at line feeds
alone, and a line that is no JSON, or a row that is cut short, is an error with its number, never skipped.
"""

from __future__ import annotations

import csv
import io
import mmap
import os
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet as pq

from fastscore.errors import DataError, FormatError, UsageError
from fastscore.formats.files import check_file, for_arrow
from fastscore.formats.json_lines import bad_line, read_json_lines
from fastscore.formats.json_text import counted, not_utf8, read_bytes
from fastscore.formats.json_types import refuse_nul
from fastscore.formats.loaded import Loaded

__all__ = ["bad_line", "csv_fault", "mapped", "read_table"]


#: A list of quoted texts as Python or JSON writes it.
_LIST = r"""^\[\s*['"](?s:.*)['"]\s*\]$"""


def read_table(path: str | Path, format: str) -> Loaded:
    """Read a table file of a known format: ``parquet``, ``arrow``, ``jsonl`` or ``csv``.

    Raises
    ------
    UsageError
        There is no such file, or the format is unknown.
    FormatError
        The file is not of that format, or a column's name stands twice; for JSON Lines and CSV the line is named.
    EncodingError
        JSON Lines or CSV that are not UTF-8; names the line.
    """
    readers = {"parquet": _read_parquet, "arrow": _read_arrow, "jsonl": _read_json_lines, "csv": _read_csv}
    if format not in readers:
        raise UsageError(f"format: a table is one of {', '.join(readers)}, got {format!r}")
    file = Path(path)
    check_file(file)
    try:
        table, notes, counts = readers[format](file)
    except (pa.ArrowInvalid, pa.ArrowException, OSError) as error:
        raise FormatError(f"{file}: not a whole {format} file: {str(error).splitlines()[0]}") from None
    _refuse_doubled_names(table.column_names, file)
    keys = tuple(k for k in ("question_id", "turn_id", "sample_id") if k in table.column_names)
    return Loaded(table, format, keys, notes, counts)


Read = tuple[pa.Table, tuple[str, ...], dict[str, int]]


def _read_parquet(file: Path) -> Read:
    with for_arrow(file) as source:
        return pq.ParquetFile(source).read(), (), {}


def _read_arrow(file: Path) -> Read:
    with mapped(file) as source:
        stream = source.read(6) != b"ARROW1"
        source.seek(0)
        table = (pyarrow.ipc.open_stream(source) if stream else pyarrow.ipc.open_file(source)).read_all()
    for name, column in zip(table.column_names, table.columns, strict=True):
        try:
            column.validate(full=True)
        except (pa.ArrowInvalid, pa.ArrowIndexError) as error:
            raise FormatError(f"{file}: column {name!r} is broken: {str(error).splitlines()[0]}") from None
    return table, (), {}


def mapped(path: str | Path) -> pa.BufferReader:
    """A file's bytes without a copy, whatever its name is: Arrow takes names of UTF-8 alone."""
    with open(path, "rb") as file:
        if not os.fstat(file.fileno()).st_size:
            raise FormatError(f"{path}: the file is empty")
        return pa.BufferReader(pa.py_buffer(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)))


def _read_json_lines(file: Path) -> Read:
    frame, repaired = read_json_lines(read_bytes(file), str(file))
    return (frame.to_arrow(compat_level=pl.CompatLevel.oldest()), *counted(repaired))


def _read_csv(file: Path) -> Read:
    data = read_bytes(file)
    try:
        frame = pl.read_csv(io.BytesIO(data), infer_schema=False, truncate_ragged_lines=False)
    except (pl.exceptions.PolarsError, RuntimeError) as error:
        raise csv_fault(data, str(file)) or FormatError(f"{file}: not a whole CSV table: {str(error).splitlines()[0]}") from None
    try:
        head = data.partition(b"\n")[0].decode()
    except UnicodeDecodeError:
        raise not_utf8(data, str(file)) or FormatError(f"{file}: the first line is not valid UTF-8") from None
    if frame.width == 1 and (other := _other_columns(head, str(file))):
        raise other
    try:
        names = next(csv.reader(io.StringIO(head)), [])
    except csv.Error as error:
        raise FormatError(f"{file}: line 1: not a CSV header: {error}") from None
    _refuse_doubled_names(names, file)
    refuse_nul(frame.columns, str(file))
    notes: tuple[str, ...] = ()
    counts: dict[str, int] = {}
    if frame.width > 1 and frame.height and frame.to_series(-1).null_count():
        fault = csv_fault(data, str(file))
        if fault:
            raise fault
        whole = frame.filter(~pl.all_horizontal(pl.all().is_null()))
        if whole.height < frame.height:
            counts["blank_lines"] = frame.height - whole.height
            notes = (f"{counts['blank_lines']} blank lines in the CSV were passed over",)
            frame = whole
    notes += _lists_as_text(frame)
    if "turn_id" in frame.columns:
        text = frame["turn_id"]
        number = text.cast(pl.Int64, strict=False)
        if number.cast(pl.String).equals(text, null_equal=True):
            frame = frame.with_columns(number)
    return frame.to_arrow(compat_level=pl.CompatLevel.oldest()), notes, counts


def _lists_as_text(frame: pl.DataFrame) -> tuple[str, ...]:
    """What is said of columns whose every value is a list in brackets, as other programs write lists into CSV."""
    whole = frame.select(pl.all().str.contains(_LIST).all() & pl.all().is_not_null().any())
    names = [name for name in whole.columns if whole[name][0]] if frame.height else []
    return tuple(
        f"column {name!r} has lists written as text, and each is taken as one text; several references go into .jsonl or .parquet"
        for name in names
    )


def csv_fault(data: bytes, name: str) -> DataError | None:
    """The error for the first line that is not UTF-8, whose fields are not as many as the header's or whose quote is not closed.

    polars pads a row that is cut short with nulls; so a file whose last column has nulls must be looked at too.
    """
    fault = not_utf8(data, name)
    if fault:
        return fault
    text = data.decode()
    if other := _other_columns(text.partition("\n")[0], name):
        return other
    width, line = 0, 1
    rows = _records(text)
    while True:
        try:
            row, after = next(rows)
        except StopIteration:
            return None
        except csv.Error as error:
            return FormatError(f"{name}: line {line} is not CSV, or cut short: {error}")
        width = width or len(row)
        if row and len(row) != width:
            return FormatError(f"{name}: line {line} has {len(row)} fields, the header has {width}; is the file cut short?")
        line = after + 1


def _other_columns(head: str, name: str) -> FormatError | None:
    """The error for a first line without a comma whose columns something else cuts, as spreadsheets of many countries do it."""
    for sign, said in ((";", "semicolons"), ("\t", "tabs"), ("|", "vertical bars")):
        if sign in head and "," not in head:
            return FormatError(f"{name}: the columns are cut by {said}; save the file with commas between them")
    return None


def _records(text: str) -> Iterator[tuple[list[str], int]]:
    """The rows of a CSV text with the number of their last line; fields may be of any length."""
    before = csv.field_size_limit(sys.maxsize)
    try:
        reader = csv.reader(io.StringIO(text, newline=""), strict=True)
        for row in reader:
            yield row, reader.line_num
    finally:
        csv.field_size_limit(before)


def _refuse_doubled_names(names: list[str], file: Path) -> None:
    doubled = [name for name, count in Counter(names).items() if count > 1]
    if doubled:
        raise FormatError(f"{file}: column {doubled[0]!r} stands twice; give each column a name of its own")

"""Files of runs and judgements: which format a file has is told from its content, or named; then it is read.

A path comes in; a table or the dictionary of a JSON file goes out, and a function that says in words where a row stands.
TREC files and JSON have readers of their own (`formats.trec`, `formats.dpr`); tables with a header are read here.
"""

from __future__ import annotations

import gzip
import io
import zlib
from pathlib import Path
from typing import Any, Literal, NamedTuple

import msgspec
import polars as pl
import pyarrow as pa

from fastscore.errors import FormatError, UnknownNameError, UsageError, did_you_mean
from fastscore.formats.dpr import read_json, read_records
from fastscore.formats.files import check_file
from fastscore.formats.json_text import read_bytes
from fastscore.formats.json_types import refuse_nul
from fastscore.formats.lists import Place
from fastscore.formats.tables import read_table
from fastscore.formats.trec import line_of, read_qrels, read_run

__all__ = [
    "DOCUMENT_COLUMNS",
    "FORMATS",
    "GRADE_COLUMNS",
    "QUERY_COLUMNS",
    "SCORE_COLUMNS",
    "RankingFile",
    "format_of_ranking",
    "read_ranking_file",
]

QUERY_COLUMNS = ("query_id", "question_id", "q_id", "qid")
DOCUMENT_COLUMNS = ("doc_id", "document_id", "docid", "docno", "passage_id")
SCORE_COLUMNS = ("retrieved_scores", "scores")
GRADE_COLUMNS = ("relevance", "rel")

FORMATS = ("trec", "json", "jsonl", "parquet", "arrow", "csv", "tsv")
_ALIASES = {"dpr": "json", "germandpr": "json", "germanquad": "json", "squad": "json", "ndjson": "jsonl", "feather": "arrow"}
_SUFFIXES = {".parquet": "parquet", ".pq": "parquet", ".arrow": "arrow", ".feather": "arrow", ".ipc": "arrow"}
_SEPARATORS = {"csv": ",", "tsv": "\t"}
_NUMBERS = {"score": pl.Float64, "rank": pl.Float64, "relevance": pl.Int64, "rel": pl.Int64}
_RECORD_KEYS = {*QUERY_COLUMNS, *DOCUMENT_COLUMNS, "retrieved_ids", "relevant_ids", "ctxs", "positive_ctxs"}
_HEAD = 1 << 16
#: How much of a long first line is looked at.
_LINE = 64 << 20
_ZSTD = b"\x28\xb5\x2f\xfd"

Side = Literal["run", "qrels"]


class RankingFile(NamedTuple):
    """What a file holds, a table or a JSON object of queries, and where its rows stand."""

    content: pa.Table | dict[str, Any]
    place: Place


def read_ranking_file(path: Path, side: Side, format: str | None = None) -> RankingFile:
    """Read a file of a run or of judgements.

    Raises
    ------
    UnknownNameError
        No format has that name.
    UsageError
        There is no such file.
    FormatError, EncodingError
        The file is not of its format; the message names the line or record.
    """
    name = format_of_ranking(path, format)
    if name == "trec":
        table = read_run(path) if side == "run" else read_qrels(path)
        return RankingFile(table, lambda row: f"line {line_of(path, row)}")
    if name == "json":
        return RankingFile(read_json(path), "record {}".format)
    if name == "jsonl":
        return RankingFile(read_records(path), lambda row: f"line {_line_with_text(path, row)}")
    if name in _SEPARATORS:
        return _delimited(path, _SEPARATORS[name])
    return RankingFile(read_table(path, name).table, "row {}".format)


def format_of_ranking(path: Path, format: str | None = None) -> str:
    """One of `FORMATS`: the one named, or the one that the file's content shows; where it shows none, the suffix says it.

    Raises
    ------
    UnknownNameError, UsageError
        As `read_ranking_file`.
    """
    if format is not None:
        name = _ALIASES.get(format.lower(), format.lower())
        if name not in FORMATS:
            raise UnknownNameError(f"format: no format is called {format!r}.{did_you_mean(format, FORMATS)}")
        return name
    check_file(path)
    try:
        with path.open("rb") as stream:
            head = stream.read(_HEAD)
        suffix = _suffix(path)
        if head.startswith(b"PAR1") or _SUFFIXES.get(suffix) == "parquet":
            return "parquet"
        if head.startswith((b"ARROW1", b"\xff\xff\xff\xff")) or _SUFFIXES.get(suffix) == "arrow":
            return "arrow"
        if head.startswith(_ZSTD) or suffix in (".jsonl", ".ndjson"):
            return "jsonl"
        with _opened(path) as text:
            return _of_text(text, suffix)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise FormatError(f"{path}: broken .gz ({error})") from None
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({error.strerror or error})") from None


def _suffix(path: Path) -> str:
    return (path.with_suffix("") if path.suffix.lower() in (".gz", ".zst") else path).suffix.lower()


def _opened(path: Path) -> Any:
    with path.open("rb") as stream:
        packed = stream.read(2) == b"\x1f\x8b"
    return gzip.open(path) if packed else path.open("rb")


def _of_text(text: Any, suffix: str) -> str:
    head = text.read(_HEAD).removeprefix(b"\xef\xbb\xbf").lstrip()
    if head.startswith(b"["):
        return "json"
    if head.startswith(b"{"):
        first, newline, rest = head.partition(b"\n")
        if not newline:
            first += text.readline(_LINE)
        return _of_object(first, rest.strip() or text.read(_HEAD).strip())
    lines = (line.strip(b"\r") for line in head.split(b"\n"))
    line = next((line for line in lines if line.strip() and not line.lstrip().startswith(b"#")), b"")
    for name, separator in _SEPARATORS.items():
        cells = {cell.strip().strip('"') for cell in line.decode("utf-8", "replace").split(separator)}
        if len(cells) > 1 and cells & _RECORD_KEYS:
            return name
    if suffix in (".csv", ".tsv") and not _is_trec(line.split()):
        return suffix[1:]
    return "json" if suffix == ".json" else "trec"


def _is_trec(fields: list[bytes]) -> bool:
    """Whether a line is laid out as a run's or as judgements' are."""
    if len(fields) != 4 and len(fields) < 6:
        return False
    try:
        float(fields[3 if len(fields) == 4 else 4])
    except ValueError:
        return False
    return True


def _of_object(first: bytes, more: bytes) -> str:
    """JSON Lines where the first line is an object and more follow, or where it is a lone record of a table or of DPR."""
    try:
        record = msgspec.json.decode(first)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return "jsonl" if more.startswith(b"{") and first.rstrip().endswith(b"}") else "json"
    return "jsonl" if more or _RECORD_KEYS & record.keys() else "json"


def _delimited(path: Path, separator: str) -> RankingFile:
    """A CSV or TSV file, all columns as text but for scores, ranks and relevance."""
    data = read_bytes(path)
    try:
        frame = pl.read_csv(io.BytesIO(data), separator=separator, infer_schema=False)
    except (pl.exceptions.PolarsError, RuntimeError) as error:
        shown = str(error).splitlines()[0]
        raise FormatError(f"{path}: cannot be read as a table of text set apart by {separator!r} ({shown})") from None
    refuse_nul(frame.columns, str(path))
    place: Place = "row {}".format if b'"' in data else lambda row: f"line {row + 2}"
    for name, kind in _NUMBERS.items():
        if name not in frame.columns:
            continue
        numbers = frame[name].str.strip_chars().cast(kind, strict=False)
        wrong = (numbers.is_null() & frame[name].is_not_null()).arg_true()
        if len(wrong):
            needed = "a number" if kind == pl.Float64 else "a whole number"
            raise FormatError(f"{path}, {place(wrong[0])}: {name} must be {needed}, got {frame[name][wrong[0]]!r}")
        frame = frame.with_columns(numbers.alias(name))
    return RankingFile(frame.to_arrow(compat_level=pl.CompatLevel.oldest()), place)


def _line_with_text(path: Path, row: int) -> int:
    """The number, from 1, of the line that holds record `row` of a file of JSON Lines."""
    if path.suffix == ".zst":
        return row + 1
    numbers = (number for number, line in enumerate(read_bytes(path).split(b"\n"), 1) if line.strip())
    return next(number for at, number in enumerate(numbers) if at == row)

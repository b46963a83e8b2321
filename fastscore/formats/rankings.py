"""One door for what a run or judgements may come in: files, tables with a list or a document a row, dictionaries.

A path, a table or a dictionary comes in; `DocumentLists` goes out. Which layout a table has is seen from its columns:
``retrieved_ids`` or ``relevant_ids`` hold a list a row, ``doc_id`` is one document a row.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from fastscore.errors import FormatError, UnknownNameError, UsageError
from fastscore.formats.dpr import read_dpr, read_records
from fastscore.formats.lists import DocumentLists, from_dictionary, from_list_table, from_long_table
from fastscore.formats.trec import read_qrels, read_run

__all__ = ["QUERY_COLUMNS", "as_table", "read_both", "read_judged", "read_ranked"]

QUERY_COLUMNS = ("query_id", "question_id", "q_id", "qid")
_DOCUMENT_COLUMNS = ("doc_id", "document_id", "docid", "docno", "passage_id")
_SCORE_COLUMNS = ("retrieved_scores", "scores")
_GRADE_COLUMNS = ("relevance", "rel")
_TABLE_KINDS = (".parquet", ".pq", ".arrow", ".feather", ".ipc", ".json", ".jsonl", ".ndjson", ".csv", ".tsv")


def read_ranked(source: Any, name: str = "run") -> DocumentLists:
    """Read ranked lists, with their scores where there are some.

    Takes a path (TREC run, DPR retriever output, parquet, Arrow, JSON Lines, CSV, TSV), a table with ``retrieved_ids`` (in
    rank order, or with ``retrieved_scores``) or with ``doc_id`` and ``score`` or ``rank`` a row (neither: in the table's
    order), or a dictionary ``{query: {document: score}}`` or ``{query: [document, ...]}``.

    Raises
    ------
    UsageError, ColumnTypeError, DataError, FormatError, KeyMismatchError
        As the readers of the layouts.
    """
    if isinstance(source, Mapping):
        return from_dictionary(source, scores=True, source=name)
    name = str(source) if _is_path(source) else name
    table = _table_from_path(Path(source), read_run) if _is_path(source) else as_table(source, name)
    if "retrieved_ids" in table.column_names:
        scores = _first_of(table, _SCORE_COLUMNS)
        return from_list_table(table, _queries(table, name), "retrieved_ids", scores, scores=True, source=name)
    query = _need(table, QUERY_COLUMNS, name, "retrieved_ids")
    document = _need(table, _DOCUMENT_COLUMNS, name, "retrieved_ids")
    numbers = _first_of(table, ("score",))
    if numbers is None and "rank" in table.column_names:
        numbers = "score"
        table = table.append_column(numbers, pc.negate(pc.cast(table["rank"], pa.float64())))
    return from_long_table(table, query, document, numbers, scores=True, source=name)


def read_judged(source: Any, name: str = "qrels") -> DocumentLists:
    """Read judged documents, with their grades where there are some (none: all are relevant, grade 1).

    Takes a path (TREC qrels, GermanDPR's or GermanQuAD's JSON, parquet, Arrow, JSON Lines, CSV, TSV), a table with
    ``relevant_ids`` (and maybe ``relevance``, a list of grades) or with ``doc_id`` and maybe ``relevance`` a row, or a
    dictionary ``{query: {document: grade}}`` or ``{query: [document, ...]}``.

    Raises
    ------
    UsageError, ColumnTypeError, DataError, FormatError, KeyMismatchError
        As the readers of the layouts.
    """
    if isinstance(source, Mapping):
        return from_dictionary(source, scores=False, source=name)
    name = str(source) if _is_path(source) else name
    table = _table_from_path(Path(source), read_qrels) if _is_path(source) else as_table(source, name)
    grades = _first_of(table, _GRADE_COLUMNS)
    if "relevant_ids" in table.column_names:
        return from_list_table(table, _queries(table, name), "relevant_ids", grades, scores=False, source=name)
    query = _need(table, QUERY_COLUMNS, name, "relevant_ids")
    document = _need(table, _DOCUMENT_COLUMNS, name, "relevant_ids")
    return from_long_table(table, query, document, grades, scores=False, source=name)


def as_table(source: Any, name: str) -> pa.Table:
    """An Arrow table of whatever holds one: pyarrow, polars or pandas.

    Raises
    ------
    UsageError
        The object is none of these.
    """
    if isinstance(source, pa.Table):
        return source
    if isinstance(source, pa.RecordBatch):
        return pa.Table.from_batches([source])
    if hasattr(source, "collect") and hasattr(source, "collect_schema"):
        source = source.collect()
    if hasattr(source, "__arrow_c_stream__"):
        return pa.table(source)
    raise UsageError(
        f"{name}: must be a path, a table (pyarrow, polars, pandas) or a dictionary, got {type(source).__module__}."
        f"{type(source).__qualname__}"
    )


def read_both(source: Any, lists: tuple[str, ...]) -> pa.Table:
    """The one table, given or read from a path, that holds both sides: the columns `lists`, a list a row each.

    Raises
    ------
    UsageError
        It lacks one of them.
    """
    table = None
    if _is_path(source):
        table = None if _kind_of(Path(source)) not in _TABLE_KINDS else _table_from_path(Path(source), None)
    elif not isinstance(source, Mapping):
        table = as_table(source, "run")
    if table is None or not set(lists) <= set(table.column_names):
        needed = " and ".join(repr(name) for name in lists)
        raise UsageError(f"qrels is needed: only a table with {needed}, or a DPR file that gives them, can go without")
    return table


def _is_path(source: Any) -> bool:
    return isinstance(source, (str, os.PathLike))


def _kind_of(path: Path) -> str:
    return (path.with_suffix("") if path.suffix.lower() == ".gz" else path).suffix.lower()


def _table_from_path(path: Path, read_trec: Any) -> pa.Table:
    kind = _kind_of(path)
    if kind in (".parquet", ".pq"):
        import pyarrow.parquet as pq

        return _opened(path, lambda: pq.read_table(path))
    if kind in (".arrow", ".feather", ".ipc"):
        import pyarrow.feather as feather

        return _opened(path, lambda: feather.read_table(path))
    if kind == ".json":
        return read_dpr(path)
    if kind in (".jsonl", ".ndjson"):
        return read_records(path)
    if kind in (".csv", ".tsv"):
        return _delimited(path, "," if kind == ".csv" else "\t")
    table: pa.Table = read_trec(path)
    return table


def _opened(path: Path, read: Any) -> pa.Table:
    try:
        return read()
    except pa.ArrowInvalid as error:
        raise FormatError(f"{path}: cannot be read as {path.suffix[1:]} ({error})") from None


def _delimited(path: Path, separator: str) -> pa.Table:
    """A CSV or TSV file, all columns as text but for scores, ranks and relevance."""
    import polars as pl

    try:
        frame = pl.read_csv(path, separator=separator, infer_schema=False)
        kinds = {"score": pl.Float64, "rank": pl.Float64, "relevance": pl.Int64, "rel": pl.Int64}
        frame = frame.with_columns(pl.col(c).cast(kinds[c]) for c in frame.columns if c in kinds)
    except pl.exceptions.PolarsError as error:
        raise FormatError(f"{path}: cannot be read as a table of text set apart by {separator!r} ({error})") from None
    return frame.to_arrow()


def _first_of(table: pa.Table, names: tuple[str, ...]) -> str | None:
    return next((name for name in names if name in table.column_names), None)


def _need(table: pa.Table, names: tuple[str, ...], source: str, lists: str) -> str:
    found = _first_of(table, names)
    if found is None:
        others = ", ".join(table.column_names)
        raise UnknownNameError(
            f"{source}: needs a column {names[0]!r} (or {', '.join(names[1:])}), or lists in {lists!r}; its columns are {others}"
        )
    return found


def _queries(table: pa.Table, source: str) -> pa.Array:
    """The query ids of a table with a list a row; the rows' numbers where it has none."""
    found = _first_of(table, QUERY_COLUMNS)
    if found is None:
        return pa.array(range(table.num_rows), pa.int64())
    column = table[found].combine_chunks()
    return pa.concat_arrays(column.chunks) if isinstance(column, pa.ChunkedArray) else column

"""One door for what a run or judgements may come in: files, tables with a list or a document a row, dictionaries.

A path, a table or a dictionary comes in; `DocumentLists` goes out. A file's format is told from its content
(`formats.ranking_files`), a table's layout from its columns: ``retrieved_ids`` or ``relevant_ids`` hold a list a row,
``doc_id`` is one document a row.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from fastscore.arguments import is_path, optional_text, path_of
from fastscore.arrow import foreign_errors, kind_of, sound, table_of
from fastscore.errors import ColumnTypeError, UnknownNameError, UsageError
from fastscore.formats.ids import one_array
from fastscore.formats.lists import DocumentLists, Place, from_dictionary, from_list_table, from_long_table
from fastscore.formats.ranking_files import (
    DOCUMENT_COLUMNS,
    GRADE_COLUMNS,
    QUERY_COLUMNS,
    SCORE_COLUMNS,
    Side,
    read_ranking_file,
)

__all__ = ["as_table", "read_both", "read_judged", "read_ranked"]


def read_ranked(source: Any, name: str = "run", format: str | None = None) -> DocumentLists:
    """Read ranked lists, with their scores where there are some.

    Takes a path (TREC run, DPR retriever output, parquet, Arrow, JSON Lines, CSV, TSV), a table with ``retrieved_ids`` (in
    rank order, or with ``retrieved_scores``) or with ``doc_id`` and ``score`` or ``rank`` a row (neither: in the table's
    order), or a dictionary ``{query: {document: score}}`` or ``{query: [document, ...]}``.

    Raises
    ------
    UsageError, ColumnTypeError, DataError, FormatError, KeyMismatchError
        As the readers of the layouts.
    """
    name, content, place = _content(source, "run", name, format)
    if isinstance(content, Mapping):
        return from_dictionary(content, scores=True, source=name)
    table = as_table(content, name)
    if "retrieved_ids" in table.column_names:
        scores = _first_of(table, SCORE_COLUMNS)
        return from_list_table(table, _queries(table, name), "retrieved_ids", scores, scores=True, source=name)
    query = _need(table, QUERY_COLUMNS, name, "retrieved_ids")
    document = _need(table, DOCUMENT_COLUMNS, name, "retrieved_ids")
    numbers = _first_of(table, ("score",))
    if numbers is None and "rank" in table.column_names:
        numbers = "score"
        kind = table["rank"].type
        if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_null(kind)):
            raise ColumnTypeError(f"{name}: rank must be numbers, got {kind_of(kind)}")
        table = table.append_column(numbers, pc.negate(pc.cast(table["rank"], pa.float64())))
    return from_long_table(table, query, document, numbers, scores=True, source=name, place=place)


def read_judged(source: Any, name: str = "qrels", format: str | None = None) -> DocumentLists:
    """Read judged documents, with their grades where there are some (none: all are relevant, grade 1).

    Takes a path (TREC qrels, GermanDPR's or GermanQuAD's JSON, parquet, Arrow, JSON Lines, CSV, TSV), a table with
    ``relevant_ids`` (and maybe ``relevance``, a list of grades) or with ``doc_id`` and maybe ``relevance`` a row, or a
    dictionary ``{query: {document: grade}}`` or ``{query: [document, ...]}``.

    Raises
    ------
    UsageError, ColumnTypeError, DataError, FormatError, KeyMismatchError
        As the readers of the layouts.
    """
    name, content, place = _content(source, "qrels", name, format)
    if isinstance(content, Mapping):
        return from_dictionary(content, scores=False, source=name)
    table = as_table(content, name)
    grades = _first_of(table, GRADE_COLUMNS)
    if "relevant_ids" in table.column_names:
        return from_list_table(table, _queries(table, name), "relevant_ids", grades, scores=False, source=name)
    query = _need(table, QUERY_COLUMNS, name, "relevant_ids")
    document = _need(table, DOCUMENT_COLUMNS, name, "relevant_ids")
    return from_long_table(table, query, document, grades, scores=False, source=name, place=place)


def as_table(source: Any, name: str) -> pa.Table:
    """An Arrow table of whatever holds one (pyarrow, polars, pandas), every column of it checked: each may be moved or cast.

    Raises
    ------
    UsageError
        The object is none of these, or two columns have one name.
    DataError
        A column's Arrow array is broken.
    """
    table = _table(source, name)
    for column in table.column_names:
        sound(table[column], f"{name}: column {column!r}")
    return table


def _table(source: Any, name: str) -> pa.Table:
    table = table_of(source, name)
    if table is None:
        raise UsageError(
            f"{name}: must be a path, a table (pyarrow, polars, pandas) or a dictionary, got {type(source).__module__}."
            f"{type(source).__qualname__}"
        )
    return table


def read_both(source: Any, lists: tuple[str, ...], format: str | None = None) -> pa.Table:
    """The one table, given or read from a path, that holds both sides: the columns `lists`, a list a row each.

    Raises
    ------
    UsageError
        It lacks one of them.
    """
    name, content, _ = _content(source, "run", "run", format)
    table = None if isinstance(content, Mapping) else _table(content, name)
    if table is None or not set(lists) <= set(table.column_names):
        needed = " and ".join(repr(name) for name in lists)
        raise UsageError(f"qrels is needed: only a table with {needed}, or a DPR file that gives them, can go without")
    return table


def _content(source: Any, side: Side, name: str, format: str | None) -> tuple[str, Any, Place]:
    """What messages call the source, what it is or, where it is a path, what the file holds, and where its rows stand."""
    given = optional_text(format, "format" if side == "run" else "qrels_format")
    if not is_path(source):
        return name, source, "row {}".format
    path = path_of(source, name)
    with foreign_errors(f"{path}: the file cannot be read"):
        return str(source), *read_ranking_file(path, side, given)


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
    return one_array(table[found])

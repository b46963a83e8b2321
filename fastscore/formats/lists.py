"""Lists of document ids, one a query, as tables and dictionaries hold them: ranked ones, and judged ones.

Arrow tables with a list a row or with a row a document, and dictionaries, come in; `DocumentLists` goes out, with scores or
grades beside the ids where they were given.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from fastscore.errors import ColumnTypeError, DataError, KeyMismatchError, UsageError
from fastscore.formats.ids import Ids, Ints, is_text, one_array, plain_array, read_ids, read_list, read_numbers, text_buffers
from fastscore.kernels import ids as kernels

__all__ = ["NO_ORDER", "DocumentLists", "from_dictionary", "from_list_table", "from_long_table", "select"]

NO_ORDER: Ints = np.zeros(0, dtype=np.int64)


@dataclass(frozen=True)
class DocumentLists:
    """One list of document ids a query.

    List i holds the ids from ``begin[i]`` to ``stop[i]`` or, where `order` is not empty, those whose numbers stand there in
    `order`. `numbers` has a score (float64) or grade (int64) for each id, or is None. `present` is False where a query's
    list is null. `table` has a row a list, with the columns that one may group by. `source` is what messages call it.
    """

    queries: pa.Array
    begin: Ints
    stop: Ints
    order: Ints
    ids: Ids
    numbers: npt.NDArray[Any] | None
    present: npt.NDArray[np.bool_]
    table: pa.Table
    source: str
    row_a_document: bool = False

    def __len__(self) -> int:
        return len(self.begin)

    @property
    def longest(self) -> int:
        """The length of the longest list."""
        return int((self.stop - self.begin).max()) if len(self) else 0


def from_list_table(
    table: pa.Table, queries: pa.Array, ids: str, numbers: str | None, *, scores: bool, source: str
) -> DocumentLists:
    """Lists of a table with a list of ids a row in column `ids` and maybe a list of numbers in column `numbers`.

    Raises
    ------
    ColumnTypeError
        A column has a type that it may not have.
    DataError
        A number is null or NaN, a row's two lists are of different lengths, or all ids are null or empty.
    """
    lists = read_list(table[ids], f"{source}: {ids}")
    beside = None
    if numbers is not None:
        other = read_list(table[numbers], f"{source}: {numbers}")
        uneven = np.flatnonzero((other.stop - other.begin) != (lists.stop - lists.begin))
        if len(uneven):
            row = int(uneven[0])
            sizes = lists.stop[row] - lists.begin[row], other.stop[row] - other.begin[row]
            raise DataError(f"{source}, row {row}: {ids} has {sizes[0]} entries and {numbers} {sizes[1]}; they must be as many")

        def where(entry: int) -> str:
            return f"row {int(np.searchsorted(lists.stop, entry, side='right'))}"

        beside = read_numbers(other.values, f"{source}: {numbers}", scores=scores, where=where)
    documents = read_ids(lists.values, f"{source}: {ids}")
    return DocumentLists(queries, lists.begin, lists.stop, NO_ORDER, documents, beside, lists.present, table, source)


def from_long_table(table: pa.Table, query: str, ids: str, numbers: str | None, *, scores: bool, source: str) -> DocumentLists:
    """Lists of a table with a row a document: rows are brought together by query, queries and rows in their order.

    Raises
    ------
    KeyMismatchError
        A query id is null.
    ColumnTypeError, DataError
        As `from_list_table`.
    """
    keys = one_array(table[query])
    if keys.null_count:
        row = int(np.argmin(keys.is_valid().to_numpy(zero_copy_only=False)))
        raise KeyMismatchError(f"{source}, row {row}: the query id is null")
    if not (is_text(keys.type) or pa.types.is_integer(keys.type) or pa.types.is_dictionary(keys.type) or not len(keys)):
        raise ColumnTypeError(f"{source}: {query} must be text or integers, got {keys.type}")
    start = _run_starts(keys)
    begin, stop = start, np.append(start[1:], len(keys)).astype(np.int64)
    heads = keys.take(pa.array(start))
    heads = heads.dictionary_decode() if pa.types.is_dictionary(heads.type) else heads
    heads = heads.dictionary_encode()  # numbers values as they first occur
    groups, queries = heads.indices.to_numpy().astype(np.int64), heads.dictionary
    order, first = NO_ORDER, start
    if len(queries) < len(start):
        sizes = np.bincount(groups, weights=stop - start, minlength=len(queries)).astype(np.int64)
        order = np.empty(len(keys), dtype=np.int64)
        kernels.place_rows(start, stop, groups, np.cumsum(sizes) - sizes, order)
        stop = np.cumsum(sizes)
        begin = stop - sizes
        first = order[begin]
    beside = None
    if numbers is not None:
        name = f"{source}: {numbers}"
        beside = read_numbers(one_array(table[numbers]), name, scores=scores, where=lambda entry: f"row {entry}")
    documents = read_ids(table[ids], f"{source}: {ids}")
    present = np.ones(len(queries), dtype=np.bool_)
    kept = [name for name in table.column_names if name not in (ids, numbers)]
    rows = pa.table({name: one_array(table[name]).take(pa.array(first)) for name in kept})
    return DocumentLists(queries, begin, stop, order, documents, beside, present, rows, source, row_a_document=True)


def from_dictionary(lists: Mapping[Any, Any], *, scores: bool, source: str) -> DocumentLists:
    """Lists of ``{query: {document: number}}``, as pytrec_eval and ranx take it, or of ``{query: [document, ...]}``.

    Raises
    ------
    UsageError
        A value is neither a mapping nor a list, tuple or set of ids.
    ColumnTypeError, DataError
        As `from_list_table`.
    """
    kinds = {isinstance(entry, Mapping) for entry in lists.values()}
    if len(kinds) > 1:
        raise UsageError(f"{source}: its values must all be mappings of document to number, or all lists of ids; got both")
    documents: list[Any] = []
    numbers: list[Any] = []
    sizes = np.zeros(len(lists), dtype=np.int64)
    for row, (query, entry) in enumerate(lists.items()):
        if not isinstance(entry, (Mapping, list, tuple, set, frozenset)):
            raise UsageError(f"{source}, query {query!r}: must be a mapping or list of document ids, got {type(entry).__name__}")
        sizes[row] = len(entry)
        documents.extend(entry)
        if isinstance(entry, Mapping):
            numbers.extend(entry.values())
    stop = np.cumsum(sizes)
    queries = plain_array(list(lists), f"{source}: query ids")
    names = list(lists)

    def where(entry: int) -> str:
        return f"query {names[int(np.searchsorted(stop, entry, side='right'))]!r}, document {documents[entry]!r}"

    beside = None
    if kinds == {True}:
        beside = read_numbers(plain_array(numbers, f"{source}: numbers"), source, scores=scores, where=where)
    ids = read_ids(plain_array(documents, f"{source}: document ids"), f"{source}: document ids")
    present = np.ones(len(queries), dtype=np.bool_)
    table = pa.table({"query_id": queries})
    return DocumentLists(queries, stop - sizes, stop, NO_ORDER, ids, beside, present, table, source)


def select(lists: DocumentLists, rows: Ints) -> DocumentLists:
    """The lists of those rows; -1 gives an absent one."""
    absent = rows < 0
    if not len(lists):
        none = np.zeros(len(rows), dtype=np.int64)
        return replace(lists, begin=none, stop=none, present=np.zeros(len(rows), dtype=np.bool_))
    some = np.where(absent, 0, rows)
    begin = lists.begin[some]
    stop = np.where(absent, begin, lists.stop[some])
    return replace(lists, begin=begin, stop=stop, present=lists.present[some] & ~absent)


def _run_starts(keys: pa.Array) -> Ints:
    """The rows at which another query begins."""
    if not len(keys):
        return np.zeros(0, dtype=np.int64)
    if pa.types.is_dictionary(keys.type):
        keys = keys.indices
    if pa.types.is_integer(keys.type):
        values = keys.to_numpy()
        return np.flatnonzero(np.concatenate(([True], values[1:] != values[:-1]))).astype(np.int64)
    starts = np.empty(len(keys), dtype=np.uint8)
    kernels.group_starts(*text_buffers(keys), starts)
    return np.flatnonzero(starts).astype(np.int64)

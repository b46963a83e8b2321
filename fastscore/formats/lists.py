"""Lists of document ids, one a query, as tables and dictionaries hold them: ranked ones, and judged ones.

Arrow tables with a list a row or with a row a document, and dictionaries, come in; `DocumentLists` goes out, with scores or
grades beside the ids where they were given.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from fastscore.arrow import is_text, kind_of
from fastscore.errors import ColumnTypeError, DataError, KeyMismatchError, UsageError
from fastscore.formats.ids import (
    Ids,
    Ints,
    joined_texts,
    one_array,
    plain_array,
    read_ids,
    read_list,
    read_numbers,
    text_buffers,
)
from fastscore.kernels import ids as kernels

__all__ = ["NO_ORDER", "DocumentLists", "from_dictionary", "from_list_table", "from_long_table", "select"]

NO_ORDER: Ints = np.zeros(0, dtype=np.int64)
#: Says in words where a row stands, such as ``row 3`` or ``line 4``.
Place = Callable[[int], str]


@dataclass(frozen=True)
class DocumentLists:
    """One list of document ids a query.

    List i holds the ids from ``begin[i]`` to ``stop[i]`` or, where `order` is not empty, those whose numbers stand there in
    `order`. `numbers` has a score (float64) or grade (int64) for each id, or is None. `present` is False where a query's
    list is null. `table` has a row a list, with the columns that one may group by. `source` is what messages call it, and
    `place` says in words where a row of a table with a row a document stands.
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
    place: Place = "row {}".format

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


def from_long_table(
    table: pa.Table, query: str, ids: str, numbers: str | None, *, scores: bool, source: str, place: Place = "row {}".format
) -> DocumentLists:
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
        raise KeyMismatchError(f"{source}, {place(row)}: the query id is null")
    kind = keys.type.value_type if pa.types.is_dictionary(keys.type) else keys.type
    if not (is_text(kind) or pa.types.is_integer(kind) or pa.types.is_null(kind)):
        raise ColumnTypeError(f"{source}: {query} must be text or integers, got {kind_of(keys.type)}")
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
        beside = read_numbers(one_array(table[numbers]), f"{source}: {numbers}", scores=scores, where=place)
    documents = read_ids(table[ids], f"{source}: {ids}")
    present = np.ones(len(queries), dtype=np.bool_)
    kept = [name for name in table.column_names if name not in (ids, numbers)]
    rows = pa.table({name: one_array(table[name]).take(pa.array(first)) for name in kept})
    return DocumentLists(queries, begin, stop, order, documents, beside, present, rows, source, True, place)


def from_dictionary(lists: Mapping[Any, Any], *, scores: bool, source: str) -> DocumentLists:
    """Lists of ``{query: {document: number}}``, as pytrec_eval and ranx take it, or of ``{query: [document, ...]}``.

    Raises
    ------
    UsageError
        A value is neither a mapping nor a list, tuple or set of ids.
    ColumnTypeError, DataError
        As `from_list_table`.
    """
    entries = list(lists.values())
    kinds = {issubclass(kind, Mapping) for kind in set(map(type, entries))}
    if len(kinds) > 1:
        raise UsageError(f"{source}: its values must all be mappings of document to number, or all lists of ids; got both")
    if any(not issubclass(kind, (Mapping, list, tuple, set, frozenset)) for kind in set(map(type, entries))):
        wrong = (item for item in lists.items() if not isinstance(item[1], (Mapping, list, tuple, set, frozenset)))
        query, entry = next(wrong)
        raise UsageError(f"{source}, query {query!r}: must be a mapping or list of document ids, got {type(entry).__name__}")
    sizes = np.fromiter(map(len, entries), dtype=np.int64, count=len(entries))
    full = [entry for entry in entries if entry]
    texts = joined_texts(full, int(sizes.sum())) if full else None
    if texts is None:
        texts = plain_array(list(chain.from_iterable(full)), f"{source}: document ids")
    stop = np.cumsum(sizes)
    queries = plain_array(list(lists), f"{source}: query ids")
    names = list(lists)

    def where(entry: int) -> str:
        return f"query {names[int(np.searchsorted(stop, entry, side='right'))]!r}, document {texts[entry].as_py()!r}"

    beside = None
    if kinds == {True}:
        numbers = _packed_scores(full) if scores else None
        if numbers is None:
            numbers = plain_array(list(chain.from_iterable([entry.values() for entry in full])), f"{source}: numbers")
        beside = read_numbers(numbers, source, scores=scores, where=where)
    ids = read_ids(texts, f"{source}: document ids")
    present = np.ones(len(queries), dtype=np.bool_)
    table = pa.table({"query_id": queries})
    return DocumentLists(queries, stop - sizes, stop, NO_ORDER, ids, beside, present, table, source)


def _packed_scores(entries: list[Mapping[Any, Any]]) -> pa.Array | None:
    """All scores as one array, packed mapping by mapping; None where one is no number."""
    try:
        packed = b"".join([struct.pack(f"{len(entry)}d", *entry.values()) for entry in entries])
    except (struct.error, TypeError, OverflowError):
        return None
    return pa.array(np.frombuffer(packed, dtype=np.float64))


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

"""The join of a run's queries with the judgements': by query id, each side's checked to be there once.

Two `DocumentLists` come in; for each item its row in the run and in the judgements goes out, -1 where it has none.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fastscore.arrow import foreign_errors, is_text, kind_of
from fastscore.errors import DataError, KeyMismatchError
from fastscore.formats.ids import Ints, one_array
from fastscore.formats.lists import DocumentLists

__all__ = ["align_queries", "merged"]


def align_queries(ranked: DocumentLists, judged: DocumentLists) -> tuple[Ints, Ints]:
    """Rows of the run and of the judgements for each item: the judgements' queries in order, then those only in the run.

    Raises
    ------
    DataError
        A side has no query.
    KeyMismatchError
        A query id is null or stands there twice, the two sides' ids are of different types, or two queries of one id have
        different questions.
    """
    for side, what in ((ranked, "the run is empty: it must answer at least one query"), (judged, "no query is judged")):
        if not len(side):
            raise DataError(f"{side.source}: {what}")
    left, right = _keys(judged), _keys(ranked)
    if pa.types.is_integer(left.type) != pa.types.is_integer(right.type):
        raise KeyMismatchError(
            f"query ids are {judged.queries.type} in {judged.source} and {ranked.queries.type} in {ranked.source}; "
            "make them of one type"
        )
    left, right = left.cast(pa.large_string()), right.cast(pa.large_string())
    found = pc.index_in(left, value_set=right).fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
    unmatched = np.flatnonzero(~pc.is_in(right, value_set=left).to_numpy(zero_copy_only=False))
    rows = np.concatenate([found, unmatched])
    judged_rows = np.concatenate([np.arange(len(judged)), np.full(len(unmatched), -1)])
    _check_questions(ranked, judged, rows, judged_rows)
    return rows, judged_rows


def merged(judged: pa.Array | None, ranked: pa.Array | None, rows: tuple[Ints, Ints]) -> pa.Array:
    """A column for the items: the judgements' value, or the run's where they have none."""
    ranked_rows, judged_rows = (pa.array(r, mask=r < 0) for r in rows)
    parts = [
        one_array(column).take(places) for column, places in ((judged, judged_rows), (ranked, ranked_rows)) if column is not None
    ]
    if len(parts) == 2 and parts[0].null_count:
        kinds = [part.type.value_type if pa.types.is_dictionary(part.type) else part.type for part in parts]
        return pc.coalesce(parts[0].cast(kinds[0]), parts[1].cast(kinds[0]))
    return parts[0]


def _keys(side: DocumentLists) -> pa.Array:
    ids = side.queries.dictionary_decode() if pa.types.is_dictionary(side.queries.type) else side.queries
    if not is_text(ids.type) and not pa.types.is_integer(ids.type):
        raise KeyMismatchError(f"{side.source}: query ids must be text or integers, got {kind_of(ids.type)}")
    if ids.null_count:
        row = int(np.argmin(ids.is_valid().to_numpy(zero_copy_only=False)))
        raise KeyMismatchError(f"{side.source}, row {row}: the query id is null")
    codes = ids.dictionary_encode()
    if len(codes.dictionary) < len(ids):
        numbers = codes.indices.to_numpy()
        row = int(np.setdiff1d(np.arange(len(ids)), np.unique(numbers, return_index=True)[1])[0])
        raise KeyMismatchError(f"{side.source}, row {row}: query {ids[row].as_py()!r} stands there twice")
    return ids


def _check_questions(ranked: DocumentLists, judged: DocumentLists, rows: Ints, judged_rows: Ints) -> None:
    """Where both sides have the questions' texts, they must be the same ones: ids may be mere numbers of records."""
    if "question" not in ranked.table.column_names or "question" not in judged.table.column_names:
        return
    both = np.flatnonzero((rows >= 0) & (judged_rows >= 0))
    with foreign_errors("the columns 'question' of the two sides cannot be compared as text"):
        texts = [
            one_array(side.table["question"]).take(pa.array(places[both])).cast(pa.large_string())
            for side, places in ((judged, judged_rows), (ranked, rows))
        ]
    differ = pc.not_equal(*texts).fill_null(False).to_numpy(zero_copy_only=False)
    if differ.any():
        at = int(np.argmax(differ))
        raise KeyMismatchError(
            f"query {judged.queries[judged_rows[both[at]]].as_py()!r} asks {texts[0][at].as_py()!r} in {judged.source} and "
            f"{texts[1][at].as_py()!r} in {ranked.source}: the two are not of the same questions"
        )

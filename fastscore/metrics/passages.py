"""Whether retrieved passages contain an answer: DPR's top-k accuracy, which needs texts and no judged documents.

The lists' tables with ``retrieved_texts`` and ``references`` come in; one float64 column a cut-off goes out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from fastscore.arrow import is_text
from fastscore.errors import ColumnTypeError, DataError, UnknownNameError
from fastscore.formats.ids import Ints, read_list, text_buffers
from fastscore.formats.lists import DocumentLists
from fastscore.kernels import passages as kernels
from fastscore.metrics.measures import Measure
from fastscore.metrics.ranking import RankingValues, in_rank_order, over_queries
from fastscore.text.passage_words import passage_tables

__all__ = ["PASSAGE_COLUMNS", "score_answers"]

_SHARE = 16  # queries that are worth a thread
PASSAGE_COLUMNS = ("retrieved_texts", "references")


def score_answers(
    ranked: DocumentLists, judged: DocumentLists, measures: Sequence[Measure], rows: tuple[Ints, Ints], threads: int = 1
) -> RankingValues:
    """1.0 where one of the first k passages contains a reference: its words, one after the other, in DPR's normal form.

    `rows` are the rows of the two tables that each item comes from, -1 for none. Source of the rule: ``has_answer`` with
    ``match_type="string"`` and the simple tokenizer of DPR. Other than there, a reference without a word is in no passage
    (there it is in every one). ``relevant`` counts the references that have a word.

    Raises
    ------
    UnknownNameError
        The run has no column ``retrieved_texts``, or neither side has ``references``.
    ColumnTypeError
        One of the two is no list of texts.
    DataError
        The run has scores, and not as many texts as ids.
    """
    if "retrieved_texts" not in ranked.table.column_names:
        raise UnknownNameError(f"{ranked.source}: answer@k needs the passages' texts in a column 'retrieved_texts'")
    side = next((s for s in (judged, ranked) if "references" in s.table.column_names), None)
    if side is None:
        raise UnknownNameError("answer@k needs the answers in a column 'references' of the judgements or of the run")
    shown = ranked if ranked.numbers is None else in_rank_order(ranked, threads=threads)
    texts = _texts(ranked.table["retrieved_texts"], rows[0], f"{ranked.source}: retrieved_texts", shown)
    answers = _texts(side.table["references"], rows[1] if side is judged else rows[0], f"{side.source}: references")
    items = len(rows[0])
    first, usable = np.empty(items, dtype=np.int64), np.empty(items, dtype=np.int64)
    deepest = max(m.cutoff or 0 for m in measures)
    longest = max(_longest_text(texts), _longest_text(answers))
    answer_room = _room(int(_bytes_a_row(answers).max(initial=0))) + 2 * _most(answers)
    tables = passage_tables()

    def find(lo: int, hi: int) -> None:
        points, form, starts = (np.empty(_room(longest), dtype=np.int32) for _ in range(3))
        forms, places = np.empty(answer_room, dtype=np.int32), np.empty(_most(answers) + 2, dtype=np.int64)
        kernels.first_with_answer(*texts, *answers, *tables, deepest, lo, hi, points, form, starts, forms, places, first, usable)

    over_queries(find, items, threads, _SHARE)
    columns = {m.name: ((first >= 0) & (first < (m.cutoff or 0))).astype(np.float64) for m in measures}
    return RankingValues(columns, usable)


def _texts(column: pa.ChunkedArray, rows: Ints, name: str, ranked: DocumentLists | None = None) -> tuple[Ints, Ints, Ints, Any]:
    """Where each item's texts begin and stop, and the texts' offsets and bytes; in the order of `ranked` where it has one."""
    lists = read_list(column, name)
    kind = lists.values.type
    if not is_text(kind) and not pa.types.is_null(kind):
        raise ColumnTypeError(f"{name}: must be lists of text, got lists of {kind}")
    some = np.where(rows < 0, 0, rows)
    if not len(lists.begin):
        none = np.zeros(len(rows), dtype=np.int64)
        return none, none, *text_buffers(lists.values)
    begin = lists.begin[some]
    stop = np.where(rows < 0, begin, lists.stop[some])
    if ranked is None or not len(ranked.order):
        return begin, stop, *text_buffers(lists.values)
    return _in_order_of(ranked, begin, stop, lists.values, name)


def _in_order_of(ranked: DocumentLists, begin: Ints, stop: Ints, texts: pa.Array, name: str) -> tuple[Ints, Ints, Ints, Any]:
    """The texts, which stand in the order of the ids' column, in rank order."""
    sizes = stop - begin
    uneven = np.flatnonzero(sizes != ranked.stop - ranked.begin)
    if len(uneven):
        item = int(uneven[0])
        raise DataError(f"{name}: a list of {sizes[item]} texts goes with {ranked.stop[item] - ranked.begin[item]} scored ids")
    new_stop = np.cumsum(sizes)
    new_begin = new_stop - sizes
    place = np.arange(int(sizes.sum()), dtype=np.int64) + np.repeat(ranked.begin - new_begin, sizes)
    numbers = ranked.order[place] + np.repeat(begin - ranked.begin, sizes)
    return new_begin, new_stop, *text_buffers(texts.take(pa.array(numbers)))


def _room(size: int) -> int:
    """Code points and separators that a text of so many bytes can come to: one byte gives at most two, two give four."""
    return 2 * size + 8


def _longest_text(texts: tuple[Ints, Ints, Ints, Any]) -> int:
    return int(np.diff(texts[2]).max(initial=0))


def _most(texts: tuple[Ints, Ints, Ints, Any]) -> int:
    return int((texts[1] - texts[0]).max(initial=0))


def _bytes_a_row(texts: tuple[Ints, Ints, Ints, Any]) -> Ints:
    begin, stop, offsets, _ = texts
    return offsets[stop] - offsets[begin]

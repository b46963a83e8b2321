"""Arrow data that break Arrow's rules, in every role of a column, end in an error that names the column and never in a crash;

and whatever valid layout the same values come in, the scores are the same to the bit.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fastscore
from fastscore.errors import DataError, EncodingError, FastscoreError
from fastscore.metrics.spans import score_spans
from tests import broken_arrow as broken

ROWS = broken.ROWS
TEXTS, INTEGERS, SPANS = broken.broken_texts(), broken.broken_integers(), broken.broken_spans()
GOOD = pa.array(broken.id_texts())
NUMBERS = pa.array(np.arange(ROWS))
LISTS = pa.array([[t] for t in broken.id_texts()])
TEXT_LISTS, NUMBER_LISTS = broken.broken_lists(GOOD, TEXTS), broken.broken_lists(NUMBERS, INTEGERS)
PAIRS = pa.array([[{"start": i, "end": i + 2}] for i in range(ROWS)])
Columns = dict[str, pa.Array]

ITEMS: Columns = {
    "question_id": GOOD,
    "prediction": GOOD,
    "references": LISTS,
    "note": GOOD,
    "status": pa.array(["ok"] * ROWS),
    "prediction_spans": PAIRS,
    "reference_spans": PAIRS,
}
PREDICTIONS = {name: ITEMS[name] for name in ("question_id", "prediction", "note", "prediction_spans")}
REFERENCES = {name: ITEMS[name] for name in ("question_id", "references", "reference_spans")} | {"other": GOOD, "context": GOOD}
RANKED: Columns = {"query_id": GOOD, "retrieved_ids": LISTS, "relevant_ids": LISTS, "lang": GOOD} | {
    "retrieved_scores": pa.array([[1.5]] * ROWS),
    "relevance": pa.array([[1]] * ROWS),
}
RUN: Columns = {"query_id": GOOD, "doc_id": GOOD, "score": NUMBERS, "question": GOOD}
QRELS: Columns = {"query_id": GOOD, "doc_id": GOOD, "relevance": pa.array([1] * ROWS), "lang": GOOD, "question": GOOD}
SCORES: Columns = {"question_id": GOOD, "exact_match": pa.array(np.arange(ROWS) / ROWS), "f1": pa.array(np.ones(ROWS))} | {
    "lang": GOOD,
    "document_id": GOOD,
    "prediction": GOOD,
}


def table(columns: Columns) -> pa.Table:
    return pa.table(columns)


def batch_of(given: pa.Table) -> pa.RecordBatch:
    return given.to_batches()[0]


#: For each call: its good table, what it is called with, and the kinds of broken columns by role.
CALLS: dict[str, tuple[Columns, Callable[[pa.Table], Any], dict[str, Mapping[str, pa.Array]]]] = {
    "score_batch": (
        ITEMS,
        lambda t: fastscore.score_batch(batch_of(t), "germanquad", keep=["note"]),
        {
            "prediction": TEXTS,
            "references": {**TEXT_LISTS, **TEXTS},
            "question_id": {**TEXTS, **INTEGERS},
            "note": {**TEXTS, **INTEGERS, **TEXT_LISTS},
            "status": {**TEXTS, **INTEGERS},
            "prediction_spans": SPANS,
            "reference_spans": SPANS,
        },
    ),
    "score": (
        ITEMS,
        lambda t: fastscore.score(t, recipe="germanquad", by="note"),
        {
            "prediction": TEXTS,
            "references": TEXT_LISTS,
            "question_id": {**TEXTS, **INTEGERS},
            "note": {**TEXTS, **INTEGERS},
            "prediction_spans": SPANS,
        },
    ),
    "predictions of a join": (
        PREDICTIONS,
        lambda t: fastscore.score(t, table(REFERENCES).slice(3), recipe="germanquad"),
        {"prediction": TEXTS, "question_id": {**TEXTS, **INTEGERS}, "note": {**TEXTS, **TEXT_LISTS}, "prediction_spans": SPANS},
    ),
    "references of a join": (
        REFERENCES,
        lambda t: fastscore.score(table(PREDICTIONS).slice(3), t, recipe="germanquad"),
        {
            "references": TEXT_LISTS,
            "question_id": {**TEXTS, **INTEGERS},
            "other": {**TEXTS, **INTEGERS},
            "reference_spans": SPANS,
            "context": TEXTS,
        },
    ),
    "score_ranking, a list a row": (
        RANKED,
        lambda t: fastscore.score_ranking(t, by="lang"),
        {
            "query_id": {**TEXTS, **INTEGERS},
            "retrieved_ids": {**TEXT_LISTS, **NUMBER_LISTS},
            "relevant_ids": TEXT_LISTS,
            "retrieved_scores": NUMBER_LISTS,
            "relevance": NUMBER_LISTS,
            "lang": {**TEXTS, **INTEGERS},
        },
    ),
    "score_ranking, run": (
        RUN,
        lambda t: fastscore.score_ranking(t, table(QRELS)),
        {"query_id": {**TEXTS, **INTEGERS}, "doc_id": {**TEXTS, **INTEGERS}, "score": INTEGERS, "question": TEXTS},
    ),
    "score_ranking, qrels": (
        QRELS,
        lambda t: fastscore.score_ranking(table(RUN), t, by="lang"),
        {"query_id": TEXTS, "doc_id": {**TEXTS, **INTEGERS}, "relevance": INTEGERS, "lang": {**TEXTS, **INTEGERS}},
    ),
    "normalize": ({"column": GOOD, "other": NUMBERS}, lambda t: fastscore.normalize(t["column"], "squad"), {"column": TEXTS}),
    "differ": (
        {name: column for name, column in ITEMS.items() if name != "note"},
        lambda t: fastscore.differ(t, "squad", "coqa"),
        {"prediction": TEXTS, "references": TEXT_LISTS, "question_id": TEXTS, "status": TEXTS},
    ),
    "compare": (
        SCORES,
        lambda t: fastscore.compare(table(SCORES), t, by="lang", draws=100),
        {"question_id": {**TEXTS, **INTEGERS}, "f1": INTEGERS, "lang": TEXTS, "document_id": TEXTS, "prediction": TEXTS},
    ),
}
#: Columns of a join that are moved and never read.
MOVED = [("predictions of a join", "note"), ("references of a join", "other")]
ROLES = [(call, role) for call, (_, _, roles) in CALLS.items() for role in roles]
READ_AS_TEXT = [
    (c, r)
    for c, r in ROLES
    if CALLS[c][0][r].type == pa.string() and (c, r) not in MOVED and (r != "prediction" or c == "compare")
]


@pytest.mark.parametrize(("call", "role"), ROLES)
def test_broken_columns_are_one_line_that_names_them(call: str, role: str) -> None:
    good, run, roles = CALLS[call]
    for kind, array in roles[role].items():
        with pytest.raises(FastscoreError) as caught:
            run(table({**good, role: array}))
        said = str(caught.value)
        assert role in said, (kind, said)
        assert "\n" not in said, (kind, said)
        assert "cannot be worked on" not in said, (kind, said)


@pytest.mark.parametrize(("call", "role"), ROLES)
def test_a_bitmap_that_is_too_short_is_named(call: str, role: str) -> None:
    good, run, _ = CALLS[call]
    with pytest.raises(DataError, match=rf"{role}\b.*[Bb]uffer #0 too small"):
        run(broken.with_short_bitmap(table(good), role))


@pytest.mark.parametrize(("call", "role"), READ_AS_TEXT)
@pytest.mark.parametrize("kind", [pa.string(), pa.string_view(), pa.large_string()], ids=str)
def test_keys_groups_and_ids_that_are_no_utf8_are_named(call: str, role: str, kind: pa.DataType) -> None:
    """And with the row; a prediction's are named by the kernels."""
    good, run, _ = CALLS[call]
    values = [t.encode() for t in broken.id_texts()]
    values[7] = b"a text of some length \xc3"
    bad = pa.array(values, pa.large_binary() if kind == pa.large_string() else pa.binary())
    bad = bad.cast(pa.binary_view()).view(kind) if kind == pa.string_view() else bad.view(kind)
    with pytest.raises(EncodingError, match=rf"{role}\b.*row 7 is not valid UTF-8|column.*row 7"):
        run(table({**good, role: bad}))


def test_good_tables_are_scored() -> None:
    """So that the tables above fail for what is broken in them alone."""
    for good, run, _ in CALLS.values():
        run(table(good))


# Valid layouts.


def _laid_out(values: list[Any], kind: pa.DataType, draw: Any) -> pa.Array | pa.ChunkedArray:
    """Values in a type: one of several types that hold them, sliced, in chunks, some of them empty, with garbage under nulls."""
    shift, tail = draw(st.integers(0, 9)), draw(st.integers(0, 3))
    filler = [v for v in values if v is not None][:1] or [None]
    padded = pa.array(filler * shift + values + filler * tail, kind)
    array = padded.slice(shift, len(values))
    if padded.null_count and draw(st.booleans()):
        under = pa.array([v if v is not None else (filler[0]) for v in filler * shift + values + filler * tail], kind)
        buffers = under.buffers()
        if not pa.types.is_nested(kind) and not pa.types.is_null(kind):
            mask = pa.array([v is not None for v in filler * shift + values + filler * tail]).buffers()[1]
            array = pa.Array.from_buffers(kind, len(under), [mask, *buffers[1:]]).slice(shift, len(values))
    return array


def _texts(values: list[str | None], draw: Any) -> pa.Array:
    kinds = [pa.string(), pa.large_string(), pa.string_view()]
    array = _laid_out(values, draw(st.sampled_from(kinds)), draw)
    dictionary = draw(st.integers(0, 5))
    if dictionary == 0:
        return array.cast(pa.string()).dictionary_encode()
    if dictionary == 1:
        return pa.DictionaryArray.from_arrays(pa.array(range(len(values)), pa.int16()), array.cast(pa.large_string()))
    if dictionary == 2:
        return pc.run_end_encode(array.cast(pa.string()))
    return array


def _lists(values: list[Any], inner: pa.DataType, draw: Any) -> pa.Array:
    makers = [pa.list_, pa.large_list, pa.list_view, pa.large_list_view]
    return _laid_out(values, draw(st.sampled_from(makers))(inner), draw)


def _chunks(array: pa.Array, draw: Any) -> pa.ChunkedArray:
    cuts = sorted(draw(st.lists(st.integers(0, len(array)), max_size=3)))
    places = [0, *cuts, len(array)]
    return pa.chunked_array([array.slice(a, b - a) for a, b in itertools.pairwise(places)], array.type)


words = st.sampled_from(["the cat", "Cat", "", "a dog that barks at the moon", "größe", "北京", None])
rows = st.lists(st.tuples(words, st.one_of(st.none(), st.lists(words, max_size=4))), min_size=1, max_size=12)


@given(rows, st.data())
def test_layouts_of_texts_give_the_same_scores(items: list[tuple[str | None, list[str | None] | None]], data: Any) -> None:
    predictions, references = [p for p, _ in items], [r for _, r in items]
    keys = [f"k{i}" for i in range(len(items))]
    plain = pa.table(
        {
            "question_id": keys,
            "prediction": pa.array(predictions, pa.string()),
            "references": pa.array(references, pa.list_(pa.string())),
        }
    )
    inner = data.draw(st.sampled_from([pa.string(), pa.large_string(), pa.string_view()]))
    columns = {
        "question_id": _texts(list(keys), data.draw),
        "prediction": _texts(predictions, data.draw),
        "references": _lists(references, inner, data.draw),
    }
    expected = fastscore.score_batch(batch_of(plain), "coqa").to_pydict()
    batch = pa.RecordBatch.from_arrays(list(columns.values()), names=list(columns))
    assert fastscore.score_batch(batch, "coqa").to_pydict() == expected
    chunked = pa.table({name: _chunks(column, data.draw) for name, column in columns.items()})
    found = fastscore.score(chunked, recipe="coqa").items.to_pydict()
    assert found == expected


span = st.tuples(st.integers(0, 9), st.integers(0, 9)).map(lambda s: {"start": min(s), "end": max(s)})
spans = st.lists(st.one_of(st.none(), st.lists(st.one_of(st.none(), span), max_size=4)), min_size=1, max_size=8)


@given(spans, st.data())
def test_layouts_of_spans_give_the_same_scores(given: list[Any], data: Any) -> None:
    gold = data.draw(st.lists(st.lists(span, max_size=3), min_size=len(given), max_size=len(given)))
    plain = pa.struct([("start", pa.int64()), ("end", pa.int64())])
    expected = score_spans(pa.array(given, pa.list_(plain)), pa.array(gold, pa.list_(plain)), top_n=[2])
    number = st.sampled_from([pa.int8(), pa.uint16(), pa.int32(), pa.int64()])
    kinds = [pa.struct([("start", data.draw(number)), ("end", data.draw(number))]) for _ in range(2)]
    columns = [_chunks(_lists(values, kind, data.draw), data.draw) for values, kind in zip((given, gold), kinds, strict=True)]
    found = score_spans(*columns, top_n=[2])
    assert {name: values.tobytes() for name, values in found.items()} == {n: v.tobytes() for n, v in expected.items()}


ids = st.lists(st.sampled_from(["d1", "d2", "a document's id that is long", "é", None]), max_size=5)


@given(st.lists(st.tuples(ids, ids), min_size=1, max_size=8), st.data())
def test_layouts_of_rankings_give_the_same_scores(given: list[tuple[list[Any], list[Any]]], data: Any) -> None:
    queries = [f"q{i}" for i in range(len(given) + 1)]
    ranked, judged = [[*r, "d1"] for r, _ in given] + [["d1"]], [j for _, j in given] + [["d1"]]
    plain = pa.table({"query_id": queries, "retrieved_ids": ranked, "relevant_ids": judged})
    expected = fastscore.score_ranking(plain).items.to_pydict()
    inner = st.sampled_from([pa.string(), pa.large_string(), pa.string_view()])
    columns = {
        "query_id": _texts(list(queries), data.draw),
        "retrieved_ids": _lists(ranked, data.draw(inner), data.draw),
        "relevant_ids": _lists(judged, data.draw(inner), data.draw),
    }
    chunked = pa.table({name: _chunks(column, data.draw) for name, column in columns.items()})
    assert fastscore.score_ranking(chunked).items.to_pydict() == expected

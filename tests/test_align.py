"""The keyed join: no row lost, none moved, keys compared exactly.

Numbers such as R04 are those of the bug reports of other tools that a test guards against.
"""

from __future__ import annotations

import random
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastscore import align as align_module
from fastscore.align import KeyedReferences, align
from fastscore.errors import ColumnTypeError, EncodingError, KeyMismatchError, UnknownNameError, UsageError
from fastscore.schema import Status

OK, MISSING, UNMATCHED = (int(s) for s in (Status.OK, Status.MISSING_PREDICTION, Status.UNMATCHED_PREDICTION))


def _predictions(ids: Any, **more: Any) -> pa.Table:
    texts = [f"p{n}" for n in range(len(ids))]
    return pa.table({"question_id": ids, "prediction": texts, **more})


def _references(ids: Any, **more: Any) -> pa.Table:
    return pa.table({"question_id": ids, "references": [[f"r{n}"] for n in range(len(ids))], **more})


def _pairs(table: pa.Table) -> list[tuple[Any, Any, Any, int]]:
    return [(r["question_id"], r["prediction"], r["references"] and r["references"][0], r["status"]) for r in table.to_pylist()]


def test_rows_follow_the_predictions_then_the_missing() -> None:
    aligned = align(_predictions(["c", "x", "a", "c"]), _references(["a", "b", "c", "d"]))
    assert _pairs(aligned.table) == [
        ("c", "p0", "r2", OK),
        ("x", "p1", None, UNMATCHED),
        ("a", "p2", "r0", OK),
        ("c", "p3", "r2", OK),
        ("b", None, "r1", MISSING),
        ("d", None, "r3", MISSING),
    ]
    assert aligned.counts == {"missing_prediction": 2, "unmatched_prediction": 1}
    assert len(aligned.notes) == 3


def test_rows_follow_the_references_then_the_unmatched() -> None:
    aligned = align(_predictions(["c", "x", "a", "c"]), _references(["a", "b", "c"]), order="references")
    assert _pairs(aligned.table) == [
        ("a", "p2", "r0", OK),
        ("b", None, "r1", MISSING),
        ("c", "p0", "r2", OK),
        ("c", "p3", "r2", OK),
        ("x", "p1", None, UNMATCHED),
    ]


def test_everything_matched_has_no_notes() -> None:
    aligned = align(_predictions([1, 2]), _references([2, 1]))
    assert _pairs(aligned.table) == [(1, "p0", "r1", OK), (2, "p1", "r0", OK)]
    assert aligned.notes == ()


@given(st.lists(st.integers(0, 9), max_size=12), st.sets(st.integers(0, 9), max_size=9), st.randoms(use_true_random=False))
def test_nothing_lost_and_nothing_moved(ids: list[int], known: set[int], chance: random.Random) -> None:
    """R04, R05: a permutation of either side permutes the rows and changes no pair; no row is lost or doubled."""
    golds = sorted(known, key=lambda _: chance.random())
    table = align(_predictions(pa.array(ids, pa.int64())), _references(pa.array(golds, pa.int64()))).table
    expected = [
        (i, f"p{n}", f"r{golds.index(i)}" if i in known else None, OK if i in known else UNMATCHED) for n, i in enumerate(ids)
    ]
    expected += [(g, None, f"r{n}", MISSING) for n, g in enumerate(golds) if g not in ids]
    assert _pairs(table) == expected
    other = align(_predictions(pa.array(ids, pa.int64())), _references(pa.array(golds, pa.int64())), order="references").table
    assert sorted(map(str, _pairs(other))) == sorted(map(str, expected))


def test_order_holds_beyond_the_size_at_which_joins_go_parallel() -> None:
    """R05: row i stays row i in a large join, with chunks."""
    count = 150_000
    ids = list(range(count))
    random.Random(7).shuffle(ids)
    predictions = pa.concat_tables([_predictions(ids[:70_001]), _predictions(ids[70_001:])])
    table = align(predictions, _references(list(range(count)))).table
    assert table.column("question_id").to_pylist() == ids
    assert table.column("references").combine_chunks().flatten().to_pylist() == [f"r{i}" for i in ids]


# Keys.

_KINDS = {
    "int8": pa.int8(),
    "int64": pa.int64(),
    "uint64": pa.uint64(),
    "string": pa.string(),
    "large_string": pa.large_string(),
    "string_view": pa.string_view(),
    "binary": pa.binary(),
    "large_binary": pa.large_binary(),
    "dictionary of text": pa.dictionary(pa.int8(), pa.string()),
    "dictionary of numbers": pa.dictionary(pa.int16(), pa.int64()),
}


def _keys(texts: list[str | None], kind: pa.DataType) -> pa.Array:
    value = kind.value_type if pa.types.is_dictionary(kind) else kind
    plain: list[Any] = [None if t is None else int(t) for t in texts] if pa.types.is_integer(value) else list(texts)
    if pa.types.is_binary(value) or pa.types.is_large_binary(value):
        plain = [None if t is None else t.encode() for t in texts]
    array = pa.array(plain, value)
    return array.dictionary_encode().cast(kind) if pa.types.is_dictionary(kind) else array


@pytest.mark.parametrize("left", list(_KINDS))
@pytest.mark.parametrize("right", list(_KINDS))
def test_keys_of_any_type_are_compared_as_text(left: str, right: str) -> None:
    predictions = _predictions(_keys(["12", "7", None, "9"], _KINDS[left]))
    aligned = align(predictions, _references(_keys(["7", "12"], _KINDS[right])))
    assert [row[1:] for row in _pairs(aligned.table)] == [
        ("p0", "r1", OK),
        ("p1", "r0", OK),
        ("p2", None, UNMATCHED),
        ("p3", None, UNMATCHED),
    ]


def test_large_ids_are_exact() -> None:
    """R04: ids from 2^53 on keep their last digit, between signed, unsigned and text."""
    predictions = _predictions(pa.array([2**53, 2**63 + 1], pa.uint64()))
    aligned = align(predictions, _references([str(2**53 + 1), str(2**63 + 1)]))
    assert [(r[1], r[2]) for r in _pairs(aligned.table)] == [("p0", None), ("p1", "r1"), (None, "r0")]


def test_text_of_keys_is_not_interpreted() -> None:
    """Zeros before, blanks and signs are part of a key; text alike in another Unicode form is another key."""
    aligned = align(_predictions(["007", " 7", "+7", "e\u0301"]), _references(["7", "\u00e9"]))
    assert aligned.counts == {"missing_prediction": 2, "unmatched_prediction": 4}


@pytest.mark.parametrize("nothing", [None, ""])
def test_null_and_empty_keys_meet_nothing(nothing: Any) -> None:
    """R13: a null or empty key of a prediction is unmatched; of a reference it is an error."""
    aligned = align(_predictions(pa.array(["a", nothing], pa.string())), _references(["a"]))
    assert [r[3] for r in _pairs(aligned.table)] == [OK, UNMATCHED]
    with pytest.raises(KeyMismatchError, match="1 rows have a null or empty question_id"):
        align(_predictions(["a"]), _references(pa.array(["a", nothing], pa.string())))
    with pytest.raises(KeyMismatchError, match="2 rows"):
        align(_predictions(["a"]), _references(pa.nulls(2)))


@pytest.mark.parametrize(
    "column",
    [
        pa.array([1.0, 2.0]),
        pa.array([1.0, 2.0], pa.float32()),
        pa.array([True, False]),
        pa.array([1, 2], pa.decimal128(9, 2)),
        pa.array([1, 2], pa.date32()),
        pa.array([["a"], ["b"]]),
        pa.array([{"x": 1}, {"x": 2}]),
        pa.array([1.0, 2.0]).dictionary_encode(),
    ],
    ids=lambda a: str(a.type),
)
def test_keys_that_cannot_be_compared_exactly_are_refused(column: pa.Array) -> None:
    for side, pair in {
        "predictions": (_predictions(column), _references(["1", "2"])),
        "references": (_predictions(["1", "2"]), _references(column)),
    }.items():
        with pytest.raises(ColumnTypeError) as caught:
            align(*pair)
        assert [s for s in (side, "question_id", "text or integer", str(column.type)) if s not in str(caught.value)] == []


def test_binary_keys_that_are_not_utf8_name_the_row() -> None:
    with pytest.raises(EncodingError, match=r"predictions: key column 'question_id': row 1 "):
        align(_predictions([b"a", b"\xff"]), _references(["a"]))


_TWICE = ["1", "2", "1", "2", "1"]


@pytest.mark.parametrize("ids", [_TWICE, pa.array([1, 2, 1, 2, 1]), pa.array(_TWICE).dictionary_encode()])
def test_doubled_references_are_an_error_that_names_them(ids: Any) -> None:
    """R03: what stands twice on the gold side is never pooled."""
    with pytest.raises(KeyMismatchError) as caught:
        align(_predictions(["a"]), _references(ids))
    assert "2 keys stand more than once: question_id '1'; question_id '2'" in str(caught.value)


def test_turns_are_part_of_the_key() -> None:
    """R03: a conversation's items go by question and turn, as number or as text."""
    references = _references(["s", "s", "t"], turn_id=[1, 2, 1])
    aligned = align(_predictions(["s", "t", "s"], turn_id=["2", "1", "3"]), references)
    assert [(r[1], r[2], r[3]) for r in _pairs(aligned.table)] == [
        ("p0", "r1", OK),
        ("p1", "r2", OK),
        ("p2", None, UNMATCHED),
        (None, "r0", MISSING),
    ]
    with pytest.raises(UnknownNameError, match=r"predictions: the key column 'turn_id'"):
        align(_predictions(["s"]), references)


def test_several_samples_of_a_question_share_its_references() -> None:
    """R40: samples are rows of their own, told apart by sample_id."""
    aligned = align(_predictions(["q"] * 3, sample_id=[0, 1, 2]), _references(["q"]))
    rows = [(r["sample_id"], r["references"], r["status"]) for r in aligned.table.to_pylist()]
    assert rows == [(n, ["r0"], OK) for n in range(3)]


def test_keys_can_be_named() -> None:
    predictions = _predictions(["x", "y"], qid=["b", "a"])
    references = pa.table({"qid": ["a", "b"], "references": [["r0"], ["r1"]]})
    table = align(predictions, references, keys=["qid"]).table
    assert [(r["qid"], r["question_id"], r["references"]) for r in table.to_pylist()] == [("b", "x", ["r1"]), ("a", "y", ["r0"])]
    with pytest.raises(UnknownNameError, match="Did you mean 'qid'"):
        align(predictions, references, keys=["qidd"])
    with pytest.raises(UnknownNameError, match="question_id is needed, or name the keys"):
        align(predictions, references)
    with pytest.raises(UsageError, match="'sideways'"):
        align(predictions, references, keys=["qid"], order="sideways")  # type: ignore[arg-type]


def test_a_key_column_that_is_there_twice_is_refused() -> None:
    twice = pa.table([pa.array(["a"]), pa.array(["b"]), pa.array(["x"])], names=["question_id", "question_id", "prediction"])
    with pytest.raises(UsageError, match="predictions: the column name 'question_id' stands twice"):
        align(twice, _references(["a"]))


# What goes along.


def test_columns_of_both_sides_are_kept_and_told_apart() -> None:
    predictions = _predictions(["a", "b"], source=["m1", "m2"], status=["mine", "mine"])
    table = align(predictions, _references(["b", "a"], source=["g1", "g2"])).table
    assert table.column_names == ["question_id", "prediction", "source_prediction", "references", "source", "status"]
    assert table.column("source_prediction").to_pylist() == ["m1", "m2"]
    assert table.column("source").to_pylist() == ["g2", "g1"]


_GOES_ALONG = [pa.string(), pa.string_view(), pa.dictionary(pa.int8(), pa.string()), pa.large_string(), pa.binary()]


@pytest.mark.parametrize("kind", _GOES_ALONG, ids=str)
def test_text_of_any_type_goes_along_unchanged(kind: pa.DataType) -> None:
    """R49: also where rows are added on both sides, and a dictionary holds a null."""
    texts = ["x", None, "é"]
    array = pa.array(texts).dictionary_encode() if pa.types.is_dictionary(kind) else pa.array(texts).cast(kind)
    table = align(_predictions(["a", "n", "b"], note=array), _references(["b", "c", "a"])).table
    expected = [*texts, None]
    if pa.types.is_binary(kind):
        expected = [t if t is None else t.encode() for t in expected]  # type: ignore[misc]
    assert table.column("note").to_pylist() == expected


@pytest.mark.parametrize(
    "kind",
    [
        *(pa.list_(pa.string()), pa.list_(pa.string_view()), pa.large_list(pa.string_view()), pa.list_view(pa.string())),
        *(pa.large_list_view(pa.large_string()), pa.list_(pa.large_string(), 2)),
    ],
    ids=str,
)
def test_references_of_any_type_are_joined(kind: pa.DataType) -> None:
    """R49: polars hands on views, which pyarrow cannot take rows from."""
    references = pa.table({"question_id": ["a", "b", "c"], "references": pa.array([["r0", "x"], ["r1", None], None], kind)})
    table = align(_predictions(["c", "b", "x"]), references).table
    assert table.column("references").to_pylist() == [None, ["r1", None], None, ["r0", "x"]]


def test_structs_and_views_within_go_along() -> None:
    kind = pa.struct([("name", pa.string_view()), ("spans", pa.list_(pa.struct([("text", pa.string_view())])))])
    values = [{"name": "x", "spans": [{"text": "y"}]}, None]
    table = align(_predictions(["b", "a"], meta=pa.array(values, kind)), _references(["b", "c", "a"])).table
    assert table.column("meta").to_pylist() == [*values, None]


def test_empty_sides() -> None:
    nothing = pa.table({"question_id": pa.array([], pa.string()), "prediction": pa.array([], pa.string())})
    assert [r[3] for r in _pairs(align(nothing, _references(["a", "b"])).table)] == [MISSING] * 2
    empty = _references(pa.array([], pa.string())).cast(_references(["a"]).schema)
    assert [r[3] for r in _pairs(align(_predictions(["a"]), empty).table)] == [UNMATCHED]
    assert align(nothing, empty).table.num_rows == 0


def test_more_text_than_32_bit_offsets_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    """R48: columns of more than 2 GB are taken under 64-bit offsets; the limit is lowered here instead of the text raised."""
    monkeypatch.setattr(align_module, "_NARROW", 10)
    references = _references(["c", "b", "a"], blob=[b"1", b"2", None])
    table = align(_predictions(["a", "b", "x"]), references).table
    assert table.schema.field("references").type == pa.large_list(pa.large_string())
    assert [r[1:] for r in _pairs(table)] == [
        ("p0", "r2", OK),
        ("p1", "r1", OK),
        ("p2", None, UNMATCHED),
        (None, "r0", MISSING),
    ]
    assert table.column("blob").to_pylist() == [None, b"2", None, b"1"]


def test_references_are_loaded_once_and_joined_batch_by_batch() -> None:
    keyed = KeyedReferences(_references(["a", "b", "c"]))
    first, second = keyed.join(_predictions(["c", "x"])), keyed.join(_predictions(["a", "c"]))
    assert [r[2:] for r in _pairs(first)] == [("r2", OK), (None, UNMATCHED)]
    assert [r[2:] for r in _pairs(second)] == [("r0", OK), ("r2", OK)]
    assert keyed.missing().tolist() == [1]

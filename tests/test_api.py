"""The Python API: every kind of input gives the same items and the same summary, to the bit, however it is cut and ordered."""

from __future__ import annotations

import dataclasses
import itertools
import json
import math
import pickle
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fastscore
from fastscore import naive
from fastscore.errors import ColumnTypeError, EncodingError, FastscoreError, UnknownNameError, UsageError
from fastscore.recipes import RECIPES
from tests import strategies

DATA = Path(__file__).resolve().parents[1] / "data"
COQA = (DATA / "coqa-predictions.json", DATA / "coqa-references.json")
GERMAN = (DATA / "germanquad-predictions.json", DATA / "germanquad-references.json")

ROWS: list[dict[str, Any]] = [
    {"question_id": "q1", "group": "x", "prediction": "The Rhein", "references": ["rhein", "der Rhein"]},
    {"question_id": "q2", "group": "y", "prediction": "Köln am Rhein", "references": ["Köln", "Bonn am Rhein", "am Rhein"]},
    {"question_id": "q3", "group": "x", "prediction": None, "references": ["Main"]},
    {"question_id": "q4", "group": "x", "prediction": "", "references": ["the"]},
    {"question_id": "q5", "group": None, "prediction": "so", "references": []},
    {"question_id": "q6", "group": "y", "prediction": "one two three", "references": ["three two", "two", "one", "four"]},
    {"question_id": "q7", "group": "y", "prediction": "ΟΔΌΣ 😀", "references": ["οδός 😀"]},
]
TABLE = pa.Table.from_pylist(ROWS)


def _same(result: fastscore.Result, expected: fastscore.Result) -> None:
    assert result.items.to_pylist() == expected.items.to_pylist()
    assert result.summary == expected.summary
    assert result.signature == expected.signature


# Every kind of input.


def _duckdb(table: pa.Table, _: Path) -> Any:
    import duckdb

    return duckdb.connect().from_arrow(table)


def _duckdb_arrow(table: pa.Table, folder: Path) -> Any:
    made = _duckdb(table, folder)
    return made.to_arrow_table() if hasattr(made, "to_arrow_table") else made.arrow()


def _arrow_file(table: pa.Table, folder: Path) -> Path:
    with pyarrow.ipc.new_file(folder / "t.arrow", table.schema) as writer:
        writer.write_table(table)
    return folder / "t.arrow"


def _arrow_stream(table: pa.Table, folder: Path) -> Path:
    with pyarrow.ipc.new_stream(folder / "t", table.schema) as writer:
        writer.write_table(table)
    return folder / "t"


def _parquet(table: pa.Table, folder: Path) -> Path:
    pq.write_table(table, folder / "t.parquet", row_group_size=2)
    return folder / "t.parquet"


def _json_lines(table: pa.Table, folder: Path) -> Path:
    path = folder / "t.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in table.to_pylist()), encoding="utf-8")
    return path


class _Stream:
    """Any object with the Arrow stream method, as other libraries' frames have."""

    def __init__(self, table: pa.Table) -> None:
        self._table = table

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self._table.__arrow_c_stream__(requested_schema)


INPUTS: dict[str, Callable[[pa.Table, Path], Any]] = {
    "pyarrow Table": lambda t, _: t,
    "pyarrow RecordBatch": lambda t, _: t.combine_chunks().to_batches()[0],
    "pyarrow RecordBatchReader": lambda t, _: t.to_reader(2),
    "polars DataFrame": lambda t, _: pl.from_arrow(t),
    "polars LazyFrame": lambda t, _: pl.DataFrame(pl.from_arrow(t)).lazy(),
    "DuckDB relation": _duckdb,
    "DuckDB's arrow": _duckdb_arrow,
    "object with a stream": lambda t, _: _Stream(t),
    "list of dicts": lambda t, _: t.to_pylist(),
    "iterator of dicts": lambda t, _: iter(t.to_pylist()),
    "parquet": _parquet,
    "parquet by name": lambda t, f: str(_parquet(t, f)),
    "Arrow file": _arrow_file,
    "Arrow stream": _arrow_stream,
    "JSON Lines": _json_lines,
}


@pytest.mark.parametrize("kind", list(INPUTS))
def test_every_kind_of_table_gives_the_same(tmp_path: Path, kind: str) -> None:
    if kind.startswith("DuckDB"):
        pytest.importorskip("duckdb")
    expected = fastscore.score(TABLE, recipe="squad", by="group")
    _same(fastscore.score(INPUTS[kind](TABLE, tmp_path), recipe="squad", by="group"), expected)


@pytest.mark.parametrize("kind", list(INPUTS))
def test_every_kind_on_either_side_of_a_join_gives_the_same(tmp_path: Path, kind: str) -> None:
    """R49: also the views that polars hands on, with rows moved and added by the join."""
    if kind.startswith("DuckDB"):
        pytest.importorskip("duckdb")
    predictions = TABLE.select(["question_id", "prediction"]).take([5, 0, 1, 6, 2])
    references = TABLE.select(["question_id", "references", "group"]).slice(1)
    expected = fastscore.score(predictions, references, recipe="coqa", by="group")
    assert [i["question_id"] for i in expected.items.to_pylist()] == ["q6", "q1", "q2", "q7", "q3", "q4", "q5"]
    made = INPUTS[kind](predictions, tmp_path)
    _same(fastscore.score(made, references, recipe="coqa", by="group"), expected)
    made = INPUTS[kind](references, tmp_path)
    _same(fastscore.score(predictions, made, recipe="coqa", by="group"), expected)


def test_csv_gives_the_same_where_it_can_hold_it(tmp_path: Path) -> None:
    """A CSV has one reference a row, and its quoted empty field is empty text."""
    single = pa.table({"question_id": ["a", "b", "c"], "prediction": ["x", "", None], "references": ["x", "the", "y"]})
    pl.DataFrame(pl.from_arrow(single)).write_csv(tmp_path / "t.csv")
    _same(fastscore.score(tmp_path / "t.csv", recipe="squad"), fastscore.score(single, recipe="squad"))


def test_single_references_are_lists_of_one() -> None:
    single = pa.table({"prediction": ["x", "y"], "references": ["x", None]})
    lists = pa.table({"prediction": ["x", "y"], "references": [["x"], None]})
    _same(fastscore.score(single, recipe="squad"), fastscore.score(lists, recipe="squad"))


@pytest.mark.parametrize(
    "given",
    [42, {"prediction": ["a"]}, b"bytes", None, [1, 2], object()],
    ids=["number", "dict", "bytes", "none", "numbers", "object"],
)
def test_what_is_no_table_is_refused(given: Any) -> None:
    with pytest.raises(UsageError, match="predictions: a path, an Arrow table"):
        fastscore.score(given, recipe="squad")


@pytest.mark.parametrize(
    "given",
    [
        [{"prediction": "a", "references": ["x"]}, {"prediction": 3, "references": ["x"]}],
        [{"prediction": "a", "references": ["x"]}, {"prediction": "b", "references": "x"}],
        pa.table([pa.array(["x"]), pa.array(["y"]), pa.array([["x"]])], names=["prediction", "prediction", "references"]),
    ],
    ids=["number among texts", "text among lists", "column twice"],
)
def test_rows_that_make_no_table_are_one_clear_error(given: Any) -> None:
    """Never an error of a library underneath."""
    with pytest.raises(FastscoreError, match="predict"):
        fastscore.score(given, recipe="squad")


def test_columns_that_only_later_rows_have_are_not_lost() -> None:
    rows = [{"prediction": "x", "references": ["x"]}, {"prediction": "y", "references": ["y"], "group": "z"}]
    assert fastscore.score(rows, recipe="squad", by="group").items.column("group").to_pylist() == [None, "z"]


def test_lone_surrogates_in_rows_are_replaced_as_score_one_does() -> None:
    rows = [{"prediction": "a\ud83d", "references": ["a\ufffd"]}]
    assert fastscore.score(rows, recipe="squad").items.column("exact_match").to_pylist() == [1.0]


def test_groups_are_made_of_plain_values_only() -> None:
    with pytest.raises(FastscoreError, match="references"):
        fastscore.score(TABLE, recipe="squad", by="references")


def test_columns_can_be_called_otherwise() -> None:
    named = TABLE.rename_columns({"prediction": "answer", "references": "golds"})
    result = fastscore.score(named, recipe="squad", prediction="answer", references_column="golds")
    _same(result, fastscore.score(TABLE, recipe="squad"))


def test_columns_that_are_kept() -> None:
    items = fastscore.score(TABLE, recipe="squad", keep=["group"]).items
    assert items.column("group").to_pylist() == [r["group"] for r in ROWS]
    with pytest.raises(UnknownNameError, match=r"'grup'.*Did you mean 'group'"):
        fastscore.score(TABLE, recipe="squad", keep=["grup"])


# What comes out.


def test_items_and_summary_against_naive() -> None:
    result = fastscore.score(TABLE, recipe="coqa", by="group")
    expected = naive.score_rows(ROWS, RECIPES["coqa"])
    got = result.items.to_pylist()
    assert [{k: row[k] for k in expected[0]} for row in got] == expected
    assert result.items.column_names[:2] == ["question_id", "group"]
    scored = [row["f1"] for row in expected if row["f1"] is not None]
    overall = result.summary["overall"]
    assert overall["f1"] == math.fsum(scored) / len(scored)
    assert (overall["count"], overall["no_references"], overall["null_prediction"]) == (len(scored), 1, 1)
    right = naive.summarize(got, ["exact_match", "f1", "precision", "recall"], ["group"])
    assert overall == right["overall"]
    assert [result.summary["groups"]["group"][g] for g in "xy"] == [right["groups"]["group"][g] for g in "xy"]
    assert result.summary["signature"] == result.signature == RECIPES["coqa"].signature
    assert result.summary["recipe"] == "coqa"


def test_groups_add_up_to_the_whole() -> None:
    result = fastscore.score(TABLE, recipe="squad", by=["group"])
    blocks = result.summary["groups"]["group"]
    for count in ("count", "ok", "null_prediction", "no_references"):
        assert sum(b[count] for b in blocks.values()) == result.summary["overall"][count]
    x = fastscore.score(TABLE.filter(pa.compute.equal(TABLE["group"], "x")), recipe="squad").summary["overall"]
    assert blocks["x"] == x


def test_summary_is_plain_and_strict_json() -> None:
    """R51: no NaN, and nothing that is not plain Python."""
    for table in (TABLE, TABLE.slice(0, 0), TABLE.slice(4, 1)):
        summary = fastscore.score(table, recipe="squad", by="group").summary
        assert json.loads(json.dumps(summary, allow_nan=False)) == summary


def test_rows_follow_the_references_for_official_layouts_only() -> None:
    both = fastscore.score(*COQA, recipe="coqa").items.to_pylist()
    stories = json.loads(COQA[1].read_text(encoding="utf-8"))["data"]
    asked = [(s["id"], q["turn_id"]) for s in stories for q in s["questions"]]
    assert [(i["question_id"], i["turn_id"]) for i in both][: len(asked)] == asked
    assert [i["status"] for i in both[len(asked) :]] == ["unmatched_prediction"]
    rows = json.loads(COQA[0].read_text(encoding="utf-8"))
    given = [{"question_id": r["id"], "turn_id": r["turn_id"], "prediction": r["answer"]} for r in rows]
    mixed = fastscore.score(given, COQA[1], recipe="coqa").items.to_pylist()
    assert [(i["question_id"], i["turn_id"]) for i in mixed][: len(given)] == [(r["id"], r["turn_id"]) for r in rows]
    assert sorted(map(str, mixed)) == sorted(map(str, both))


def test_result_prints_as_a_table() -> None:
    result = fastscore.score(TABLE, recipe="squad", by="group")
    text = str(result)
    assert [
        w for w in ("squad", "EM", "F1", "group=x", "group=y", "all", "1 null_prediction", "norm:lower") if w not in text
    ] == []
    assert repr(result) == text
    assert "\x1b" not in text
    assert result._repr_html_().startswith("<pre>")
    empty = fastscore.score(TABLE.slice(0, 0), recipe="squad")
    assert "all" in str(empty)


def test_result_as_polars() -> None:
    result = fastscore.score(TABLE, recipe="squad")
    frame = result.to_polars()
    assert isinstance(frame, pl.DataFrame)
    assert frame["f1"].to_list() == result.items.column("f1").to_pylist()
    assert frame["status"].cast(pl.String).to_list() == result.items.column("status").to_pylist()


def test_spans_have_their_columns() -> None:
    result = fastscore.score(*GERMAN, recipe="germanquad", top_n=[5, 3])
    assert {"exact_span", "span_f1", "top_1", "top_3", "top_5"} <= set(result.items.column_names)
    overall = result.summary["overall"]
    assert overall["top_1"] <= overall["top_3"] <= overall["top_5"]
    with pytest.raises(UsageError, match="top_n"):
        fastscore.score(*GERMAN, recipe="germanquad", top_n=0)


# However it is cut, ordered and shared out.


@pytest.mark.parametrize("recipe", ["coqa", "squad", "germanquad", "mlqa-de", "cjrc"])
def test_threads_change_nothing(recipe: str) -> None:
    """R42: any number of threads gives the same bits."""
    table = pa.concat_tables([TABLE] * 3000).combine_chunks()
    expected = fastscore.score(table, recipe=recipe, by="group", threads=1)
    for threads in (2, 3, None):
        _same(fastscore.score(table, recipe=recipe, by="group", threads=threads), expected)


@given(strategies.rows(), st.lists(st.integers(0, 9), max_size=4), strategies.catalogue)
def test_chunks_change_nothing(rows: list[dict[str, Any]], cuts: list[int], recipe: fastscore.Recipe) -> None:
    schema = pa.schema([("prediction", pa.string()), ("references", pa.list_(pa.string()))])
    table = pa.Table.from_pylist(rows, schema=schema)
    places = sorted({0, *(c for c in cuts if c < len(rows)), len(rows)})
    parts = [table.slice(a, b - a) for a, b in itertools.pairwise(places)]
    cut = pa.concat_tables([*parts, table.slice(0, 0)])
    _same(fastscore.score(cut, recipe=recipe), fastscore.score(table, recipe=recipe))


@given(strategies.rows(), st.randoms(use_true_random=False))
def test_order_changes_nothing_but_the_order(rows: list[dict[str, Any]], chance: random.Random) -> None:
    schema = pa.schema([("prediction", pa.string()), ("references", pa.list_(pa.string()))])
    table = pa.Table.from_pylist(rows, schema=schema)
    order = list(range(len(rows)))
    chance.shuffle(order)
    one, other = (fastscore.score(t, recipe="coqa") for t in (table, table.take(pa.array(order, pa.int64()))))
    assert one.summary == other.summary
    items = one.items.to_pylist()
    assert other.items.to_pylist() == [items[n] for n in order]


def test_totals_of_parts_merge_to_the_same_bits() -> None:
    whole = fastscore.score(TABLE, recipe="coqa", by="group")
    first, second = (fastscore.score(t, recipe="coqa", by="group") for t in (TABLE.slice(0, 3), TABLE.slice(3)))
    first.totals.merge(second.totals)
    assert first.totals.summary("coqa", whole.signature) == whole.summary


# One function underneath.


@given(strategies.rows(), strategies.catalogue)
def test_score_one_is_a_row_of_score_batch(rows: list[dict[str, Any]], recipe: fastscore.Recipe) -> None:
    schema = pa.schema([("prediction", pa.string()), ("references", pa.list_(pa.string()))])
    batch = pa.RecordBatch.from_pylist(rows, schema=schema)
    items = fastscore.score_batch(batch, recipe).to_pylist()
    assert items == [fastscore.score_one(r["prediction"], r["references"], recipe) for r in rows]
    assert fastscore.score(pa.table(batch), recipe=recipe).items.to_pylist() == items


def test_score_one_takes_a_reference_alone_and_what_is_no_utf8() -> None:
    assert fastscore.score_one("x", "x", "squad") == fastscore.score_one("x", ["x"], "squad")
    assert fastscore.score_one("a\ud83d", "a\ufffd", "squad")["exact_match"] == 1.0
    for given_ in ((1, ["x"]), ("x", [1]), (b"x", ["x"])):
        with pytest.raises(ColumnTypeError):
            fastscore.score_one(*given_, "squad")  # type: ignore[arg-type]


def test_score_batch_can_be_pickled_and_keeps_the_row_count() -> None:
    function = pickle.loads(pickle.dumps(fastscore.score_batch))
    batch = TABLE.combine_chunks().to_batches()[0]
    recipe = pickle.loads(pickle.dumps(RECIPES["coqa"]))
    items = function(batch, recipe)
    assert isinstance(items, pa.RecordBatch)
    assert items.equals(fastscore.score_batch(batch, "coqa"))
    assert items.num_rows == batch.num_rows


# The string operation.

_TEXTS = ["The  Rhein!", None, "", "a-the", "à b ΟΔΌΣ", "İ ẞ", "x" * 200]
_LAYOUTS = [
    *(pa.string(), pa.large_string(), pa.string_view(), pa.binary(), pa.large_binary(), pa.binary_view()),
    pa.dictionary(pa.int8(), pa.string()),
]


@pytest.mark.parametrize("kind", _LAYOUTS, ids=str)
def test_normalize_takes_every_layout(kind: pa.DataType) -> None:
    expected = [None if t is None else naive.normalize(t, RECIPES["squad"]) for t in _TEXTS]
    plain = pa.array(_TEXTS)
    array = plain.dictionary_encode().cast(kind) if pa.types.is_dictionary(kind) else plain.cast(kind)
    formed = fastscore.normalize(array, "squad")
    assert formed.to_pylist() == expected
    assert pa.types.is_string(formed.type) or pa.types.is_large_string(formed.type)
    assert fastscore.normalize(array.slice(1, 4), "squad").to_pylist() == expected[1:5]
    chunks = fastscore.normalize(pa.chunked_array([array.slice(0, 2), array.slice(2, 0), array.slice(2)]), "squad")
    assert chunks.to_pylist() == expected
    formed.validate(full=True)


def test_normalize_of_nothing_and_of_the_wrong_kind() -> None:
    assert fastscore.normalize(pa.array([], pa.string()), "squad").to_pylist() == []
    assert fastscore.normalize(pa.nulls(2), "squad").to_pylist() == [None, None]
    assert fastscore.normalize(pa.chunked_array([], pa.string()), "squad").to_pylist() == []
    with pytest.raises(ColumnTypeError, match="int64"):
        fastscore.normalize(pa.array([1]), "squad")
    with pytest.raises(EncodingError, match="row 1"):
        fastscore.normalize(pa.array([b"a", b"\xff"]), "squad")


# Recipes.


def test_a_variant_has_a_signature_of_its_own() -> None:
    variant = dataclasses.replace(RECIPES["squad"], articles="de")
    result = fastscore.score(TABLE, recipe=variant)
    assert result.signature != RECIPES["squad"].signature
    assert result.summary["signature"] == variant.signature
    assert result.items.to_pylist()[0]["f1"] != fastscore.score(TABLE, recipe="squad").items.to_pylist()[0]["f1"]
    _same(fastscore.score(TABLE, recipe=variant.signature), result)


@pytest.mark.parametrize("call", ["score", "score_batch", "score_one", "normalize"])
def test_unknown_recipe_says_what_was_meant(call: str) -> None:
    batch = TABLE.combine_chunks().to_batches()[0]
    calls: dict[str, Callable[[str], Any]] = {
        "score": lambda r: fastscore.score(TABLE, recipe=r),
        "score_batch": lambda r: fastscore.score_batch(batch, r),
        "score_one": lambda r: fastscore.score_one("x", "x", r),
        "normalize": lambda r: fastscore.normalize(pa.array(["x"]), r),
    }
    with pytest.raises(UnknownNameError, match=r"'germanqad'\. Did you mean 'germanquad'\?"):
        calls[call]("germanqad")
    with pytest.raises(UsageError, match="got int"):
        calls[call](3)  # type: ignore[arg-type]


def test_a_wrong_row_is_named_by_its_place_in_the_whole_input() -> None:
    """A row's number counts through all chunks, also after a join."""
    texts = pa.chunked_array([[b"ok"] * 5, [b"ok", b"\xff"]], pa.binary())
    table = pa.table({"question_id": list("abcdefg"), "prediction": texts, "references": ["ok"] * 7})
    with pytest.raises(EncodingError, match=r"prediction.*: row 6 "):
        fastscore.score(table, recipe="squad")
    references = pa.table({"question_id": list("gfedcba"), "references": ["ok"] * 7})
    with pytest.raises(EncodingError, match=r"prediction.*: row 6 "):
        fastscore.score(table.drop_columns("references"), references, recipe="squad")


def test_an_input_is_not_changed_and_can_be_used_again() -> None:
    frame = pl.DataFrame(pl.from_arrow(TABLE))
    before = frame.clone()
    first, second = (fastscore.score(frame, recipe="coqa", by="group") for _ in range(2))
    _same(first, second)
    assert frame.equals(before)

"""Lists with scores: ranks that are counted equal those of a sort, and dictionaries are read as texts one by one would be."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastscore.errors import ColumnTypeError, DataError, EncodingError, KeyMismatchError
from fastscore.formats.ids import joined_texts
from fastscore.kernels import ids as id_kernels
from fastscore.kernels import ranking as kernels
from fastscore.metrics import ranking as metrics
from fastscore.retrieval import score_ranking

ALL = "success@2 recall@2 recall@9 precision@3 mrr mrr@2 map map@2 ndcg ndcg@2 ndcg_exp@3 r_precision bpref judged@3"
IDS = st.sampled_from(["a", "b", "c", "d1", "d2", "x" * 8, "x" * 9, "y" + "x" * 8, "é", "", None])
SCORES = st.sampled_from([0.0, -0.0, 1.0, 2.0, -1.0, float("inf"), -float("inf")])
LIST = st.lists(st.tuples(IDS, SCORES), max_size=12)
JUDGED = st.dictionaries(IDS.filter(bool), st.integers(-1, 3), min_size=1, max_size=6)


def both(lists: list[list[tuple[Any, float]]], judged: list[dict[Any, int]]) -> tuple[pa.Table, pa.Table]:
    queries = [f"q{i}" for i in range(len(lists))]
    ids, numbers = ([[entry[side] for entry in row] for row in lists] for side in (0, 1))
    run = {"query_id": queries, "retrieved_ids": pa.array(ids, pa.list_(pa.string())), "scores": numbers}
    qrels = {"query_id": queries, "relevant_ids": [list(j) for j in judged], "relevance": [list(j.values()) for j in judged]}
    return pa.table({**run, "scores": pa.array(numbers, pa.list_(pa.float64()))}), pa.table(qrels)


@given(queries=st.lists(st.tuples(LIST, JUDGED), min_size=1, max_size=4), threads=st.integers(1, 2))
def test_counted_ranks_against_plain_sort(queries: Any, threads: int) -> None:
    """Also with documents that stand there twice: a plain sort, best score first, then greatest id, gives the ranked lists."""
    lists, judged = [q[0] for q in queries], [q[1] for q in queries]
    if max(max(j.values()) for j in judged) < 1 or not any(doc for row in lists for doc, _ in row):
        return
    run, qrels = both(lists, judged)
    order = [sorted(row, key=lambda e: (e[1], (e[0] or "").encode()), reverse=True) for row in lists]
    plain = {
        "query_id": run["query_id"],
        "retrieved_ids": pa.array([[d for d, _ in row] for row in order], pa.list_(pa.string())),
    }
    expected = score_ranking(pa.table(plain), qrels, measures=ALL).items
    for few in (64, 0):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(metrics, "_FEW", few)
            assert score_ranking(run, qrels, measures=ALL, threads=threads).items.equals(expected)


@given(
    st.lists(
        st.tuples(st.sampled_from(["p", "q", "r"]), IDS.filter(bool), SCORES), min_size=1, max_size=20, unique_by=lambda r: r[:2]
    )
)
def test_long_tables_of_any_order_against_sort(rows: list[tuple[str, str, float]]) -> None:
    run = pa.table(dict(zip(("query_id", "doc_id", "score"), map(list, zip(*rows, strict=True)), strict=True)))
    qrels = {q: {"a": 1, "b": 2, "x" * 8: 1, "é": 0} for q in ("p", "q", "r")}
    found = []
    for few in (64, 0):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(metrics, "_FEW", few)
            found.append(score_ranking(run, qrels, measures=ALL).items)
    assert found[0].equals(found[1])
    grouped: dict[str, dict[str, float]] = {}
    for query, doc, score in rows:
        grouped.setdefault(query, {})[doc] = score
    assert score_ranking(grouped, qrels, measures=ALL).items.equals(found[0])


def test_many_judged_documents_against_few() -> None:
    """On both sides of the number from which on lists are sorted."""
    rng = np.random.default_rng(4)
    for judged in (63, 64, 65, 66):
        run = {"q": {f"d{i}": float(s) for i, s in enumerate(rng.integers(0, 40, 200))}}
        qrels = {"q": {f"d{i}": int(g) for i, g in enumerate(rng.integers(0, 3, judged))} | {"d0": 1}}
        order = sorted(run["q"], key=lambda d: (run["q"][d], d), reverse=True)
        assert score_ranking(run, qrels, measures=ALL).items.equals(score_ranking({"q": order}, qrels, measures=ALL).items)


def test_passages_follow_scores_against_hand() -> None:
    """DPR's accuracy reads the passages in the order of their scores, as the other measures do."""
    run = pa.table(
        {
            "query_id": ["r", "q", "s"],
            "retrieved_ids": [["a"], ["a", "b", "c"], []],
            "retrieved_scores": [[1.0], [0.5, 2.0, 1.0], []],
            "retrieved_texts": [["nichts"], ["Köln", "Bonn", "Ulm"], []],
        }
    )
    qrels = pa.table({"query_id": ["q", "r"], "relevant_ids": [["c"], ["a"]], "references": [["Ulm"], ["Köln"]]})
    rows = score_ranking(run, qrels, measures="answer@1 answer@2 mrr").items.to_pylist()
    assert [list(r.values()) for r in rows] == [
        ["q", 0.0, 1.0, 0.5, "ok"],
        ["r", 0.0, 0.0, 1.0, "ok"],
        ["s", None, None, None, "unmatched_prediction"],
    ]
    short = run.set_column(3, "retrieved_texts", pa.array([["nichts"], ["Köln"], []]))
    with pytest.raises(DataError, match="1 texts goes with 3 scored ids"):
        score_ranking(short, qrels, measures="answer@1")


TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12) | st.sampled_from(
    ["x" * 7, "x" * 8, "x" * 9, "ab\0c", "\0"]
)


@given(st.lists(st.lists(TEXT, min_size=1, max_size=5), min_size=1, max_size=5))
def test_joined_texts_against_plain(lists: list[list[str]]) -> None:
    flat = [text for row in lists for text in row]
    found = joined_texts(lists, len(flat))
    if any("\0" in text for text in flat):
        assert found is None
    else:
        assert found.to_pylist() == flat
        found.validate(full=True)


@pytest.mark.parametrize("wrong", [[1], ["a", None], [b"a"], ["\ud800"], ["a", 2.0]])
def test_other_than_plain_text_is_not_joined(wrong: list[Any]) -> None:
    assert joined_texts([["x"], wrong], 1 + len(wrong)) is None


def test_odd_dictionaries_against_hand() -> None:
    zero = score_ranking({"q": {"a\0": 1.0, "a": 2}}, {"q": {"a\0": 1}}, measures="mrr")
    assert zero.mean("mrr") == 0.5
    assert score_ranking({"q": {1: 1, 2: True}}, {"q": {1: 1}}, measures="mrr").mean("mrr") == 0.5
    assert score_ranking({"p": {}, "q": {"a": 1.0}}, {"p": ["a"], "q": {"a"}}, measures="mrr").mean("mrr") == 0.5
    assert score_ranking({"p": {}}, {"p": ("a",)}, measures="mrr").mean("mrr") == 0.0
    assert score_ranking({"q": {"a": np.float32(0.5)}}, {"q": {"a": 1}}, measures="mrr").mean("mrr") == 1.0
    for half in ({"q": {"\ud800": 1.0}}, {"\ud800": {"a": 1.0}}):
        with pytest.raises(EncodingError, match="UTF-8"):
            score_ranking(half, {"q": {"a": 1}})
    for no_number in ("1.0", b"1", [1.0]):
        with pytest.raises(ColumnTypeError, match="scores must be numbers"):
            score_ranking({"q": {"a": no_number}}, {"q": {"a": 1}})


def test_pairs_that_share_their_last_bytes_against_hand() -> None:
    """The sieve of the look for duplicates goes by the last eight bytes."""
    docs = [f"{i}-00000000" for i in range(30)]
    table = pa.table({"query_id": ["q"] * 30, "doc_id": docs})
    assert score_ranking(table, {"q": ["3-00000000"]}, measures="mrr").mean("mrr") == 0.25
    twice = pa.table({"query_id": ["p", *["q"] * 31], "doc_id": ["z", *docs, docs[7]]})
    with pytest.raises(KeyMismatchError, match=r"'7-00000000' twice .row 8 and row 31"):
        score_ranking(twice, {"q": ["3-00000000"]})


def test_kernels_uncompiled_against_compiled() -> None:
    run, qrels = both([[("a", 1.0), ("b", 2.0), ("a", 3.0), ("é", 1.0), ("c", 1.0)]], [{"a": 1, "é": 2, "c": 1}])
    table = pa.table({"query_id": ["q", "p", "q"], "doc_id": ["a", "b", "é"], "score": [1.0, 2.0, 1.0]})
    cases = [(run, qrels), (table, {"q": ["a", "é"]}), ({"q": {"x" * 9: 1.0, "a": 1.0}}, {"q": ["a"]})]
    expected = [score_ranking(*case, measures=ALL).items for case in cases]
    with pytest.MonkeyPatch.context() as patch:
        for module, names in {
            id_kernels: ("cut_at_zeros", "duplicate_pair", "group_starts", "place_rows"),
            kernels: ("score_rankings",),
            metrics: ("order_by_score",),
        }.items():
            for name in names:
                patch.setattr(module, name, getattr(module, name).py_func)
        assert all(score_ranking(*c, measures=ALL).items.equals(e) for c, e in zip(cases, expected, strict=True))

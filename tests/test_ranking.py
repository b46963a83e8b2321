"""Retrieval scores: worked cases, the reference implementation, and the same scores from every layout of the input."""

from __future__ import annotations

import gzip
import json
import math
import random
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastscore import naive
from fastscore.errors import ColumnTypeError, DataError, FormatError, KeyMismatchError, UnknownNameError, UsageError
from fastscore.kernels import ids as id_kernels
from fastscore.kernels import ranking as kernels
from fastscore.metrics import ranking as metrics
from fastscore.metrics.measures import KNOWN, Measure, parse_measure, parse_measures
from fastscore.retrieval import DEFAULT_MEASURES, format_trec, score_ranking

ALL = "success@2 recall@2 recall@9 precision@3 mrr mrr@2 map map@2 ndcg ndcg@2 ndcg_exp@3 ndcg_exp r_precision bpref judged@3"


def rows(scores: Any) -> list[dict[str, Any]]:
    return scores.items.to_pylist()  # type: ignore[no-any-return]


def one(retrieved: list[Any], relevant: Any, measures: str = ALL, **options: Any) -> dict[str, Any]:
    table = pa.table({"retrieved_ids": pa.array([retrieved], pa.list_(pa.string())), "relevant_ids": pa.array([relevant])})
    return rows(score_ranking(table, measures=measures, **options))[0]


def expected_value(ranking: list[str | None], grades: dict[str, int], name: str, least: int) -> float:
    """One measure of one query, from the reference implementation."""
    kind, _, text = name.partition("@")
    k = int(text) if text else None
    if kind in ("ndcg", "ndcg_exp"):
        return naive.ndcg_at_k(ranking, grades, k, exponential=kind == "ndcg_exp")
    if kind == "judged":
        return naive.judged_at_k(ranking, grades, int(text))
    if kind in ("r_precision", "bpref"):
        return getattr(naive, kind)(ranking, grades, min_relevance=least)  # type: ignore[no-any-return]
    names = {"mrr": "reciprocal_rank", "map": "average_precision"}
    return getattr(naive, names.get(kind, f"{kind}_at_k"))(ranking, grades, k, min_relevance=least)  # type: ignore[no-any-return]


IDS = st.sampled_from(["a", "b", "c", "d1", "d2", "x" * 8, "x" * 9, "é", "", None])
QUERY = st.tuples(
    st.none() | st.lists(IDS, max_size=9),
    st.none() | st.dictionaries(IDS.filter(bool), st.integers(-1, 3), max_size=5),
)


@given(queries=st.lists(QUERY, max_size=6), least=st.integers(1, 3), threads=st.integers(1, 3), data=st.data())
def test_any_table_against_naive(queries: Any, least: int, threads: int, data: Any) -> None:
    retrieved = [q[0] for q in queries]
    if any(retrieved) and not any(doc for ids in retrieved for doc in ids or []):
        return
    layout = data.draw(st.sampled_from(sorted(LAYOUTS)))
    table = pa.table(
        {
            "query_id": pa.array([f"q{i}" for i in range(len(queries))], pa.string()),
            "retrieved_ids": LAYOUTS[layout](pa.array(retrieved, pa.list_(pa.string()))),
            "relevant_ids": LAYOUTS[layout](
                pa.array([None if q[1] is None else list(q[1]) for q in queries], pa.list_(pa.string()))
            ),
            "relevance": pa.array([None if q[1] is None else list(q[1].values()) for q in queries], pa.list_(pa.int8())),
        }
    )
    scores = score_ranking(table, measures=ALL, min_relevance=least, threads=threads)
    assert scores.measures == tuple(ALL.split())
    for row, (ranking, grades) in zip(rows(scores), queries, strict=True):
        if grades is None:
            assert row["status"] == "unmatched_prediction"
        elif max(grades.values(), default=0) < least:
            assert row["status"] == "no_references"
        else:
            assert row["status"] == ("missing_prediction" if ranking is None else "ok")
            for name in scores.measures:
                assert row[name] == expected_value(ranking or [], grades, name, least), name
                assert 0.0 <= row[name] <= 1.0
            continue
        assert all(row[name] is None for name in scores.measures)


def _sliced(array: pa.Array) -> pa.Array:
    extra = pa.array([["a", "b"]], array.type)
    return pa.concat_arrays([extra, array, extra]).slice(1, len(array))


def _list_view(array: pa.Array) -> pa.Array:
    stored: list[Any] = ["c"]
    offsets, sizes, valid = [], [], []
    for row in reversed(array.to_pylist()):
        offsets.append(len(stored))
        sizes.append(len(row or []))
        valid.append(row is None)
        stored += [*(row or []), "a"]
    places = [pa.array(p[::-1], pa.int32()) for p in (offsets, sizes)]
    return pa.ListViewArray.from_arrays(*places, pa.array(stored), mask=pa.array(valid[::-1], pa.bool_()))


LAYOUTS: dict[str, Any] = {
    "list": lambda a: a,
    "large": lambda a: a.cast(pa.large_list(pa.large_string())),
    "view": lambda a: a.cast(pa.list_(pa.string_view())),
    "dictionary": lambda a: (
        pa.ListArray.from_arrays(a.offsets, a.values.dictionary_encode(), mask=a.is_null()) if len(a) and not a.offset else a
    ),
    "sliced": _sliced,
    "list_view": _list_view,
    "chunked": lambda a: pa.chunked_array([a[:1], a[1:]], type=a.type),
}


def test_worked_cases_against_hand() -> None:
    """Duplicates, null ids, what recall divides by, and cut-offs beyond the list."""
    assert one(["A", "A", "X"], ["A"], "recall@3 precision@3 map")["recall@3"] == 1.0
    assert one(["A", "A"], ["A", "B"], "recall@2")["recall@2"] == 0.5
    assert one(["A"], ["A", "A"], "recall@1 r_precision") | {"query_id": 0} == {
        "query_id": 0,
        "recall@1": 1.0,
        "r_precision": 1.0,
        "status": "ok",
    }
    assert one(["A", "A", "B"], ["A", "B"], "map")["map"] == (1 + 2 / 3) / 2
    golds = ["g1", "g2", "g3", "g4", "g5"]
    found = one(["g2", "g1", "x", "y", "z"], golds, "recall@1 recall@2 recall@3 recall@4 recall@5 recall@99 success@1")
    assert [found[f"recall@{k}"] for k in (1, 2, 3, 4, 5, 99)] == [0.2, 0.4, 0.4, 0.4, 0.4, 0.4]
    two = one(["1st", "10th", "9th"], ["9th century", "9th"], "recall@10 success@10")
    assert (two["recall@10"], two["success@10"]) == (0.5, 1.0)
    assert one(["x", None, ""], ["", None, "x"], "recall@3 precision@3 judged@3") | {"query_id": 0} == {
        "query_id": 0,
        "recall@3": 1.0,
        "precision@3": 1 / 3,
        "judged@3": 1 / 3,
        "status": "ok",
    }
    assert one(["y", "x"], ["x"], "judged@5")["judged@5"] == 0.5


def test_order_against_hand() -> None:
    """Scores descend; ties go by the ids' bytes, descending; a ranked list keeps its order; float32 makes close scores tie."""
    run = {"q": {"a": 1.0, "ä": 1.0, "z": 1.0, "Z": 1.0, "10": 2.0, "9": -1.0, "aa": 1.0}}
    expected = ["10", "ä", "z", "aa", "a", "Z", "9"]
    for rank, doc in enumerate(expected, 1):
        assert rows(score_ranking(run, {"q": [doc]}, measures="mrr"))[0]["mrr"] == 1 / rank
    assert rows(score_ranking({"q": ["b", "c", "a"]}, {"q": ["a"]}, measures="RR"))[0]["mrr"] == 1 / 3
    close = {"q": {"a": 1.0000000000000002, "b": 1.0}}
    assert rows(score_ranking(close, {"q": ["a"]}, measures="mrr"))[0]["mrr"] == 1.0
    assert rows(score_ranking(close, {"q": ["a"]}, measures="mrr", score_type="float32"))[0]["mrr"] == 0.5


def test_every_query_keeps_a_row_against_hand() -> None:
    run = {"extra": ["a"], "both": ["a"], "nothing relevant": ["a"]}
    qrels = {"missing": {"a": 1}, "both": {"a": 1, "b": 1}, "nothing relevant": {"a": 0}}
    scores = score_ranking(run, qrels, measures="recall@5")
    assert [(r["query_id"], r["recall@5"], r["status"]) for r in rows(scores)] == [
        ("missing", 0.0, "missing_prediction"),
        ("both", 0.5, "ok"),
        ("nothing relevant", None, "no_references"),
        ("extra", None, "unmatched_prediction"),
    ]
    assert scores.mean("recall@5") == 0.25
    assert scores.items.schema.field("status").type == pa.dictionary(pa.int8(), pa.string())
    assert format_trec(scores, per_query=True).splitlines() == [
        "recall_5              \tboth\t0.5000",
        "recall_5              \tmissing\t0.0000",
        "recall_5              \tall\t0.2500",
    ]


def test_min_relevance_and_gains_against_hand() -> None:
    run, qrels = {"q": ["low", "high"]}, {"q": {"low": 1, "high": 3}}
    base = rows(score_ranking(run, qrels, measures="recall@1 ndcg@2 ndcg_exp@2 nDCG(dcg='exp-log2')@2"))[0]
    discount = 1 / math.log2(3)
    assert base["recall@1"] == 0.5
    assert base["ndcg@2"] == pytest.approx((1 + 3 * discount) / (3 + discount), rel=1e-15)
    assert base["ndcg_exp@2"] == pytest.approx((1 + 7 * discount) / (7 + discount), rel=1e-15)
    raised = rows(score_ranking(run, qrels, measures="recall@1 ndcg@2", min_relevance=2))[0]
    assert (raised["recall@1"], raised["ndcg@2"]) == (0.0, base["ndcg@2"])


def _world(seed: int = 3, queries: int = 40) -> tuple[dict[str, dict[str, float]], dict[str, dict[str, int]]]:
    random_source = random.Random(seed)
    docs = [f"doc-{i}" for i in range(30)]
    run, qrels = {}, {}
    for q in range(queries):
        run[f"q{q}"] = {d: random_source.choice([0.5, 1.0, random_source.random()]) for d in random_source.sample(docs, 12)}
        qrels[f"q{q}"] = {d: random_source.randrange(0, 4) for d in random_source.sample(docs, 5)} | {"doc-0": 1}
    return run, qrels


def test_every_input_gives_the_same_scores_against_itself(tmp_path: Path) -> None:
    run, qrels = _world()
    expected = score_ranking(run, qrels, measures=ALL)
    pairs = [(q, d, s) for q, docs in run.items() for d, s in docs.items()]
    judged = [(q, d, g) for q, docs in qrels.items() for d, g in docs.items()]
    long_run = pa.table(dict(zip(("query_id", "doc_id", "score"), map(list, zip(*pairs, strict=True)), strict=True)))
    long_qrels = pa.table(dict(zip(("query_id", "doc_id", "relevance"), map(list, zip(*judged, strict=True)), strict=True)))
    shuffled = long_run.take(pa.array(np.random.default_rng(1).permutation(long_run.num_rows)))
    lists = pa.table(
        {"qid": list(run), "retrieved_ids": [list(d) for d in run.values()], "scores": [list(d.values()) for d in run.values()]}
    )
    judged_lists = pa.table(
        {
            "question_id": list(qrels),
            "relevant_ids": [list(d) for d in qrels.values()],
            "relevance": [[float(g) for g in d.values()] for d in qrels.values()],
        }
    )
    (tmp_path / "run.txt").write_text(
        "".join(f"{q} Q0 {d} 0 {s!r} t\n" for q, d, s in random.Random(2).sample(pairs, len(pairs)))
    )
    (tmp_path / "qrels.gz").write_bytes(gzip.compress("".join(f"{q}\t0 {d} {g}\n" for q, d, g in judged).encode()))
    pq.write_table(long_run, tmp_path / "run.parquet")
    pq.write_table(judged_lists, tmp_path / "qrels.parquet")
    pl.from_arrow(long_run).write_csv(tmp_path / "run.csv")  # type: ignore[union-attr]
    pl.from_arrow(long_qrels).write_csv(tmp_path / "qrels.tsv", separator="\t")  # type: ignore[union-attr]
    (tmp_path / "run.jsonl").write_text("\n".join(json.dumps(r) for r in lists.to_pylist()))
    (tmp_path / "qrels.ndjson").write_text("\n".join(json.dumps(r) for r in long_qrels.to_pylist()))
    ranked = {q: naive.in_rank_order(docs) for q, docs in run.items()}
    place = [(q, d, i) for q, docs in ranked.items() for i, d in enumerate(docs, 1)]
    by_rank = pa.table(dict(zip(("q_id", "docno", "rank"), map(list, zip(*place[::-1], strict=True)), strict=True)))
    encoded = shuffled.set_column(0, "query_id", shuffled["query_id"].dictionary_encode())
    runs = [long_run, shuffled, encoded, lists, pl.from_arrow(shuffled), pl.from_arrow(lists).lazy(), ranked, by_rank]  # type: ignore[union-attr]
    runs += [tmp_path / "run.txt", str(tmp_path / "run.parquet"), tmp_path / "run.csv", tmp_path / "run.jsonl"]
    judgements = [qrels, long_qrels, judged_lists, tmp_path / "qrels.gz", tmp_path / "qrels.parquet"]
    judgements += [tmp_path / "qrels.tsv", tmp_path / "qrels.ndjson", long_qrels.to_batches()[0]]
    sorted_rows = sorted(rows(expected), key=lambda r: r["query_id"])
    for number, source in enumerate([*((r, qrels) for r in runs), *((run, j) for j in judgements)]):
        got = score_ranking(*source, measures=ALL)
        assert sorted(rows(got), key=lambda r: r["query_id"]) == sorted_rows, number
    for threads in (1, 2, 5):
        assert score_ranking(shuffled, qrels, measures=ALL, threads=threads).items.drop(["query_id"]).num_rows == 40


def test_threads_against_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metrics, "_SHARE", 3)
    run, qrels = _world(seed=9)
    expected = score_ranking(run, qrels, measures=ALL, threads=1)
    for threads in (2, 3, 7):
        assert score_ranking(run, qrels, measures=ALL, threads=threads).items.equals(expected.items)


def test_groups_against_hand() -> None:
    table = pa.table(
        {
            "query_id": [1, 2],
            "retrieved_ids": [["a"], ["b"]],
            "relevant_ids": [["a"], ["c"]],
            "lang": ["de", None],
        }
    )
    scores = score_ranking(table, measures=["R@1"], by="lang")
    assert scores.by == ("lang",)
    assert [tuple(r.values()) for r in rows(scores)] == [(1, "de", 1.0, "ok"), (2, None, 0.0, "ok")]
    run = pa.table({"query_id": [2, 1, 3], "doc_id": ["a", "a", "a"], "system": ["x", "y", "z"]})
    got = rows(score_ranking(run, table.select(["query_id", "relevant_ids", "lang"]), measures="R@1", by=["lang", "system"]))
    assert [(r["query_id"], r["lang"], r["system"], r["status"]) for r in got] == [
        (1, "de", "y", "ok"),
        (2, None, "x", "ok"),
        (3, None, "z", "unmatched_prediction"),
    ]
    with pytest.raises(UnknownNameError, match=r"'langs'.*Did you mean 'lang'"):
        score_ranking(table, measures="R@1", by="langs")


def test_integer_ids_against_itself() -> None:
    ints = pa.table({"query_id": [7, 8], "retrieved_ids": [[10, 9], [3]], "relevant_ids": [[9], [4]]})
    texts = pa.table({"query_id": [7, 8], "retrieved_ids": [["10", "9"], ["3"]], "relevant_ids": [["9"], ["4"]]})
    assert score_ranking(ints, measures=ALL).items.equals(score_ranking(texts, measures=ALL).items)
    tie = pa.table({"query_id": [7, 7], "doc_id": [10, 9], "score": [1, 1]})
    assert rows(score_ranking(tie, pa.table({"query_id": [7], "relevant_ids": [[9]]}), measures="mrr"))[0]["mrr"] == 1.0


def test_empty_aligned_table_against_hand() -> None:
    lists = pa.array([], pa.list_(pa.string()))
    scores = score_ranking(pa.table({"query_id": pa.array([], pa.int64()), "retrieved_ids": lists, "relevant_ids": lists}))
    assert scores.items.num_rows == 0
    assert [scores.mean(m) for m in DEFAULT_MEASURES] == [None] * 4
    assert format_trec(scores) == ""


OTHER_NAMES = {
    "R@10": "recall@10",
    "P@5": "precision@5",
    "RR": "mrr",
    "RR@10": "mrr@10",
    "AP": "map",
    "AP@100": "map@100",
    "nDCG@20": "ndcg@20",
    "nDCG": "ndcg",
    "nDCG(dcg='log2')@5": "ndcg@5",
    'nDCG(dcg="exp-log2")@5': "ndcg_exp@5",
    "Success@1": "success@1",
    "Bpref": "bpref",
    "Rprec": "r_precision",
    "Judged@10": "judged@10",
    "P_5": "precision@5",
    "recall_1000": "recall@1000",
    "ndcg_cut_10": "ndcg@10",
    "map_cut_5": "map@5",
    "recip_rank": "mrr",
    "hit_rate@3": "success@3",
    "r-precision": "r_precision",
    "ndcg_burges@7": "ndcg_exp@7",
    "answer@20": "answer@20",
}


def test_measure_names_against_hand() -> None:
    for other, ours in OTHER_NAMES.items():
        assert parse_measure(other).name == ours
        assert parse_measure(ours).name == ours
    assert [m.name for m in parse_measures("R@10, recall@10 nDCG(dcg='exp-log2')@5,map")] == ["recall@10", "ndcg_exp@5", "map"]
    assert {parse_measure(f"{k}@3" if need != "none" else k).kind for k, (need, _) in KNOWN.items()} == set(KNOWN)
    assert Measure("map").name == "map"
    with pytest.raises(UnknownNameError, match="Did you mean 'recall@10'"):
        parse_measure("recal@10")
    for bad, shown in (
        ("recall", "needs a cut-off"),
        ("bpref@5", "takes no cut-off"),
        ("P@0", "from 1"),
        ("R(rel=2)@5", "min_rel"),
    ):
        with pytest.raises(UsageError, match=shown):
            parse_measure(bad)
    for none in ("", [], " , "):
        with pytest.raises(UsageError, match="at least one"):
            parse_measures(none)
    with pytest.raises(UnknownNameError):
        parse_measure(7)  # type: ignore[arg-type]


GOOD = {"q": {"a": 1}}


@pytest.mark.parametrize(
    ("run", "qrels", "error", "shown"),
    [
        ({}, GOOD, DataError, "the run is empty"),
        (GOOD, {}, DataError, "no query is judged"),
        (GOOD, {"q": {"a": 0}}, DataError, "no query has a document of relevance 1"),
        ({"q": {"a": math.nan}}, GOOD, DataError, "query 'q', document 'a'.*got nan"),
        ({"q": {"a": None}}, GOOD, DataError, "query 'q', document 'a'.*got null"),
        (GOOD, {"q": {"a": 0.5}}, DataError, "relevance must be whole numbers, got 0.5"),
        (GOOD, {"q": {"a": "1"}}, ColumnTypeError, "relevance must be whole"),
        ({"q": [None, None]}, GOOD, DataError, "all 2 document ids are null or empty"),
        (GOOD, {"q": [""]}, DataError, "all 1 document ids are null or empty"),
        ({"q": [1]}, GOOD, ColumnTypeError, "of type integer in run and text in qrels"),
        ({"q": [1.0]}, GOOD, ColumnTypeError, "must be text or integers, got double"),
        ({7: ["a"]}, GOOD, KeyMismatchError, "query ids are large_string in qrels and int64 in run"),
        ({"q": "abc"}, GOOD, UsageError, "query 'q': must be a mapping or list"),
        ({"q": ["a"], "r": {"a": 1}}, GOOD, UsageError, "all be mappings"),
        (5, GOOD, UsageError, "run: must be a path, a table .* got builtins.int"),
        (GOOD, None, UsageError, "qrels is needed"),
        (pa.table({"query_id": ["q"], "text": ["a"]}), GOOD, UnknownNameError, "needs a column 'doc_id'"),
        (
            pa.table({"query_id": ["q", "q"], "doc_id": ["a", "a"]}),
            GOOD,
            KeyMismatchError,
            "'q' has document 'a' twice .row 0 and row 1",
        ),
        (GOOD, pa.table({"query_id": ["q", "p", "q"], "doc_id": ["a", "a", "a"]}), KeyMismatchError, "row 0 and row 2"),
        (pa.table({"query_id": ["q", None], "doc_id": ["a", "b"]}), GOOD, KeyMismatchError, "row 1: the query id is null"),
        (pa.table({"query_id": [1.0], "doc_id": ["a"]}), GOOD, ColumnTypeError, "query_id must be text or integers, got double"),
        (pa.table({"query_id": ["q"], "doc_id": ["a"], "score": [math.nan]}), GOOD, DataError, "row 0.*got nan"),
        (pa.table({"query_id": ["q"], "doc_id": ["a"], "score": ["1"]}), GOOD, ColumnTypeError, "scores must be numbers"),
        (
            pa.table({"query_id": ["q", "q"], "retrieved_ids": [["a"], []]}),
            GOOD,
            KeyMismatchError,
            "row 1: query 'q' stands there twice",
        ),
        (
            pa.table({"query_id": ["q", None], "retrieved_ids": [["a"], []]}),
            GOOD,
            KeyMismatchError,
            "row 1: the query id is null",
        ),
        (pa.table({"query_id": ["q"], "retrieved_ids": ["a"]}), GOOD, ColumnTypeError, "must be a list column"),
        (
            pa.table({"query_id": ["p", "q"], "retrieved_ids": [[], ["a"]], "scores": [[], [1, 2]]}),
            GOOD,
            DataError,
            "row 1: retrieved_ids has 1 entries and scores 2",
        ),
        (
            GOOD,
            pa.table({"query_id": ["p", "q"], "relevant_ids": [["a"], ["b", "b"]], "relevance": [[1], [1, 2]]}),
            KeyMismatchError,
            "query 'q' has document 'b' twice .with different relevance",
        ),
        (
            GOOD,
            pa.table({"query_id": ["p", "q"], "relevant_ids": [["a"], ["b"]], "relevance": [[1], [None]]}),
            DataError,
            "row 1: relevance must be whole numbers, got null",
        ),
    ],
)
def test_bad_data_are_refused(run: Any, qrels: Any, error: type[Exception], shown: str) -> None:
    with pytest.raises(error, match=shown):
        score_ranking(run, qrels)


def test_bad_files_are_refused(tmp_path: Path) -> None:
    (tmp_path / "run").write_text("q Q0 a 1 1.0 t\nq Q0 a 2 0.5 t\n")
    with pytest.raises(KeyMismatchError, match=f"{tmp_path}/run: query 'q' has document 'a' twice"):
        score_ranking(tmp_path / "run", GOOD)
    for name, text in (("x.parquet", "no"), ("x.arrow", "no"), ("x.json", "{"), ("x.jsonl", "[1]\n"), ("x.json", "[1]")):
        (tmp_path / name).write_text(text)
        with pytest.raises(FormatError, match=name):
            score_ranking(tmp_path / name, GOOD)
    (tmp_path / "x.csv").write_text("query_id,doc_id,score\nq,a,high\n")
    with pytest.raises(FormatError, match=r"x\.csv"):
        score_ranking(tmp_path / "x.csv", GOOD)


def test_bad_options_are_refused() -> None:
    for options, shown in (
        ({"min_relevance": 0}, "min_relevance"),
        ({"threads": 0}, "threads"),
        ({"score_type": "float16"}, "score_type"),
    ):
        with pytest.raises(UsageError, match=shown):
            score_ranking(GOOD, GOOD, **options)  # type: ignore[arg-type]
    with pytest.raises(DataError, match="at most 1000"):
        score_ranking(GOOD, {"q": {"a": 2000}}, measures="ndcg_exp")


def test_large_relevance_and_long_lists_against_naive() -> None:
    """Heap sort of many grades, tables of many sizes, merges of odd lengths."""
    source = random.Random(11)
    for size in (1, 2, 3, 5, 16, 17, 33, 257):
        docs = [f"d{i:04d}" for i in range(size)]
        grades = {d: source.randrange(-1, 900) for d in docs} | {"top": 901}
        run = {d: float(source.randrange(size)) for d in source.sample([*docs, "top", "other"], size)}
        order = naive.in_rank_order(run)
        row = rows(score_ranking({"q": run}, {"q": grades}, measures=ALL, min_relevance=400))[0]
        for name in ALL.split():
            assert row[name] == expected_value(order, grades, name, 400), (size, name)


def test_kernels_uncompiled_against_compiled() -> None:
    run, qrels = _world(queries=4)
    kernel_calls = {
        id_kernels: ("duplicate_pair", "group_starts", "place_rows"),
        kernels: ("score_rankings",),
        metrics: ("order_by_score",),
    }
    table = pa.table({"query_id": ["q1", "q0", "q1"], "doc_id": ["doc-1", "doc-2", "doc-0"], "score": [1.0, 2.0, 1.0]})
    expected = [rows(score_ranking(r, qrels, measures=ALL)) for r in (run, table)]
    with pytest.MonkeyPatch.context() as patch:
        for module, names in kernel_calls.items():
            for name in names:
                patch.setattr(module, name, getattr(module, name).py_func)
        assert [rows(score_ranking(r, qrels, measures=ALL)) for r in (run, table)] == expected


@pytest.mark.parametrize("size", [1, 7, 8, 9, 15, 16, 17, 24])
@pytest.mark.parametrize("last", ["a", "é"])
def test_ids_that_differ_in_one_byte_against_naive(size: int, last: str) -> None:
    """Ids are read eight bytes at a time, at the column's end byte by byte: none of their bytes is passed over."""
    stem = "d" * size
    ids = [stem[:k] + last + stem[k + 1 :] for k in range(size)] + [stem, stem[:-1] or "e"]
    lists = [ids, ids[::-1], [stem], [ids[-1]]]
    wanted = [[ids[-2]], [ids[0]], [ids[0]], [ids[-1]]]
    table = pa.table({"query_id": ["1", "2", "3", "4"], "retrieved_ids": lists, "relevant_ids": wanted})
    found = score_ranking(table, measures=("mrr", "success@1")).items
    assert found["mrr"].to_pylist() == [naive.reciprocal_rank(r, w) for r, w in zip(lists, wanted, strict=True)]
    assert found["success@1"].to_pylist() == [naive.success_at_k(r, w, 1) for r, w in zip(lists, wanted, strict=True)]

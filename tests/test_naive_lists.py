"""The reference implementation's spans, rankings and totals: against published values and worked cases by hand."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import Any

import pytest

from fastscore import naive
from fastscore.recipes import RECIPES
from tests.conftest import shared_path

HALF_OPEN = RECIPES["germanquad"]
TOUCHING = replace(HALF_OPEN, spans="touching")


def load(path: Any) -> Any:
    return json.loads(path.read_text("utf-8"))


def germanquad_rows() -> list[dict[str, Any]]:
    data = load(shared_path("data/german/germanquad-test.json"))
    predictions = load(shared_path("golden/germanquad-nbest.predictions.json"))
    rows = []
    for question in [q for article in data["data"] for paragraph in article["paragraphs"] for q in paragraph["qas"]]:
        best = predictions.get(str(question["id"]))
        rows.append(
            {
                "id": str(question["id"]),
                "prediction": best[0]["text"] if best else None,
                "prediction_spans": best,
                "references": [a["text"] for a in question["answers"]],
                "reference_spans": [(a["answer_start"], a["answer_start"] + len(a["text"])) for a in question["answers"]],
                "status": "ok" if best else "missing_prediction",
            }
        )
    return rows


@pytest.mark.real
def test_germanquad_against_official() -> None:
    expected = load(shared_path("golden/germanquad-nbest.expected.json"))
    rows = germanquad_rows()
    scored = {
        "exact_span": ("exact_span", HALF_OPEN),
        "exact_text": ("exact_match", HALF_OPEN),
        "squad_em": ("exact_match", RECIPES["germanquad-squad"]),
        "squad_f1": ("f1", RECIPES["germanquad-squad"]),
        "mlqa_de_em": ("exact_match", RECIPES["mlqa-de"]),
        "mlqa_de_f1": ("f1", RECIPES["mlqa-de"]),
        "top_1": ("top_1", HALF_OPEN),
        "top_5": ("top_5", HALF_OPEN),
        "top_1_touching": ("top_1", TOUCHING),
        "top_5_touching": ("top_5", TOUCHING),
    }
    items: dict[Any, list[dict[str, Any]]] = {r: naive.score_rows(rows, r, top_n=[5]) for _, r in scored.values()}
    known = {item["id"]: item for item in expected["items"]}
    for column, (metric, recipe) in scored.items():
        assert [i[metric] for i in items[recipe]] == [known[i["id"]].get(column, 0.0) for i in items[recipe]], column
        block = naive.summarize(items[recipe], [metric])["overall"]
        assert (block["count"], block["missing_prediction"]) == (2204, 35)
        assert block[metric] == pytest.approx(expected["mean"][column], abs=1e-12)


SPANS = [
    ([(0, 4)], [(0, 4)], 1, 1, 1, 1),
    ([(10, 14)], [(14, 20)], 0, 0, 0, 1),
    ([(14, 20)], [(10, 14)], 0, 0, 0, 1),
    ([(0, 3)], [(1, 2), (0, 2)], 0, 0.8, 1, 1),
    ([(0, 1)], [(5, 6)], 0, 0, 0, 0),
    ([None], [(0, 4)], 0, 0, 0, 0),
    ([(None, None)], [None], 0, 0, 0, 0),
    ([{"start": 2, "end": 4}], [{"start": 2, "end": 4}, None], 1, 1, 1, 1),
    ([(3, 3)], [(0, 5)], 0, 0, 0, 1),
    ([(3, 3)], [(3, 3)], 1, 0, 0, 1),
    ([], [(0, 4)], 0, 0, 0, 0),
    (None, [(0, 4)], 0, 0, 0, 0),
    ([(0, 4)], [], 0, 0, 0, 0),
]


@pytest.mark.parametrize(("predicted", "reference", "exact", "f1", "top", "top_touching"), SPANS)
def test_spans_against_hand(predicted: Any, reference: Any, exact: float, f1: float, top: float, top_touching: float) -> None:
    assert naive.score_spans(predicted, reference, HALF_OPEN) == {"exact_span": exact, "span_f1": f1, "top_1": top}
    assert naive.score_spans(predicted, reference, TOUCHING) == {"exact_span": exact, "span_f1": f1, "top_1": top_touching}


def test_top_n_counts_ranks_against_hand() -> None:
    predicted = [None, (50, 60), (10, 14), (0, 2)]
    scores = naive.score_spans(predicted, [(1, 3)], HALF_OPEN, top_n=(4, 3, 9))
    assert scores == {"exact_span": 0, "span_f1": 0, "top_1": 0, "top_3": 0, "top_4": 1, "top_9": 1}


def test_a_missing_prediction_has_spans_of_its_status_against_hand() -> None:
    row = {"id": "1", "prediction": None, "references": ["x"], "prediction_spans": [(0, 1)], "reference_spans": [(0, 1)]}
    item = naive.score_rows([row], HALF_OPEN)[0]
    assert (item["id"], item["status"], item["exact_span"], item["top_1"]) == ("1", "null_prediction", 0.0, 0.0)
    item = naive.score_rows([{**row, "references": []}], HALF_OPEN)[0]
    assert (item["status"], item["exact_span"], item["top_1"]) == ("no_references", None, None)


def trec(run_name: str, qrels_name: str) -> dict[str, tuple[list[str], dict[str, int]]]:
    run: dict[str, dict[str, float]] = {}
    qrels: dict[str, dict[str, int]] = {}
    for line in shared_path(f"data/trec/{run_name}").read_text("utf-8").splitlines():
        query, _, doc, _, score, *_ = line.split()
        run.setdefault(query, {})[doc] = float(score)
    for line in shared_path(f"data/trec/{qrels_name}").read_text("utf-8").splitlines():
        query, _, doc, grade = line.split()
        qrels.setdefault(query, {})[doc] = int(grade)
    return {query: (naive.in_rank_order(run.get(query, {})), grades) for query, grades in qrels.items()}


def trec_measures(ranked: list[str], grades: dict[str, int], lowest: int) -> dict[str, float]:
    values = {
        "map": naive.average_precision(ranked, grades, min_relevance=lowest),
        "Rprec": naive.r_precision(ranked, grades, min_relevance=lowest),
        "bpref": naive.bpref(ranked, grades, min_relevance=lowest),
        "recip_rank": naive.reciprocal_rank(ranked, grades, min_relevance=lowest),
        "ndcg": naive.ndcg_at_k(ranked, grades),
    }
    for k in (1, 5, 10, 15, 20, 30, 100, 200, 500, 1000):
        values[f"success_{k}"] = naive.success_at_k(ranked, grades, k, min_relevance=lowest)
        values[f"P_{k}"] = naive.precision_at_k(ranked, grades, k, min_relevance=lowest)
        values[f"recall_{k}"] = naive.recall_at_k(ranked, grades, k, min_relevance=lowest)
        values[f"map_cut_{k}"] = naive.average_precision(ranked, grades, k, min_relevance=lowest)
        values[f"ndcg_cut_{k}"] = naive.ndcg_at_k(ranked, grades, k)
    return values


TREC = [
    ("trec_eval_out.test.aq", "trec_eval_results.test", "trec_eval_qrels.test", 1, False),
    ("trec_eval_out.test.aqc", "trec_eval_results.trunc", "trec_eval_qrels.test", 1, True),
    ("trec_eval_out.test.aql", "trec_eval_results.test", "trec_eval_qrels.rel_level", 2, False),
]


@pytest.mark.real
@pytest.mark.parametrize(("output", "run", "qrels", "lowest", "complete"), TREC)
def test_rankings_against_trec_eval(output: str, run: str, qrels: str, lowest: int, complete: bool) -> None:
    queries = {
        query: trec_measures(ranked, grades, lowest)
        for query, (ranked, grades) in trec(run, qrels).items()
        if (ranked or complete) and naive.count_relevant(grades, lowest)
    }
    compared = 0
    for line in shared_path(f"data/trec/{output}").read_text("utf-8").splitlines():
        name, query, printed = line.split()
        values = [v[name] for q, v in queries.items() if query in (q, "all") and name in v]
        if values:
            assert f"{math.fsum(values) / len(values):.4f}" == printed, line
            compared += 1
    assert compared >= 150


RANKED = [
    (naive.recall_at_k, ["A", "A", "X"], ["A"], 3, 1.0),
    (naive.recall_at_k, ["A", "A"], ["A", "B"], 2, 0.5),
    (naive.recall_at_k, ["A"], ["A", "A"], 1, 1.0),
    (naive.recall_at_k, [None, "", "A"], [None, "", "B"], 3, 0.0),
    (naive.recall_at_k, ["g2", "g1", "x"], ["g1", "g2", "g3", "g4", "g5"], 9, 0.4),
    (naive.success_at_k, ["x", "x", "A"], ["A"], 2, 0.0),
    (naive.success_at_k, ["x", "x", "A"], ["A"], 3, 1.0),
    (naive.success_at_k, [], ["A"], 10, 0.0),
    (naive.precision_at_k, ["A", "A", "B"], ["A", "B"], 4, 0.5),
    (naive.reciprocal_rank, ["x", "x", "A"], ["A"], None, 1 / 3),
    (naive.reciprocal_rank, ["x", "x", "A"], ["A"], 2, 0.0),
    (naive.average_precision, ["A", "x", "B", "C"], ["A", "B", "D"], None, (1 + 2 / 3) / 3),
    (naive.average_precision, ["A", "A", "B"], ["A", "B"], None, (1 + 2 / 3) / 2),
    (naive.ndcg_at_k, ["B", "A"], {"A": 3, "B": 1}, 2, (1 + 3 / math.log2(3)) / (3 + 1 / math.log2(3))),
    (naive.ndcg_at_k, ["B", "A"], {"A": 3, "B": 1}, 1, 1 / 3),
    (naive.ndcg_at_k, ["A", "N"], {"A": 1, "N": -2}, None, 1.0),
    (naive.judged_at_k, ["A", "x", "N", "A"], {"A": 1, "N": 0}, 10, 0.5),
    (naive.judged_at_k, [], {"A": 1}, 10, 0.0),
]


@pytest.mark.parametrize(("measure", "retrieved", "relevant", "k", "value"), RANKED)
def test_rankings_against_hand(measure: Any, retrieved: Any, relevant: Any, k: Any, value: float) -> None:
    assert measure(retrieved, relevant, k) == pytest.approx(value, abs=1e-15)


def test_measures_without_a_cut_off_against_hand() -> None:
    assert naive.r_precision(["A", "x", "B"], ["A", "B"]) == 0.5
    grades = {"A": 1, "B": 1, "M": 0, "N": 0, "U": -1}
    assert naive.bpref(["A", "U", "M", "x", "B", "N"], grades) == (1 + (1 - 1 / 2)) / 2
    assert naive.bpref(["M", "N", "A", "B"], grades) == 0.0
    assert naive.bpref(["M", "A"], {"A": 1, "B": 1, "M": 0, "U": -1, "V": -1}) == 0.0
    exponential = naive.ndcg_at_k(["B", "A"], {"A": 3, "B": 1}, exponential=True)
    assert exponential == pytest.approx((1 + 7 / math.log2(3)) / (7 + 1 / math.log2(3)), abs=1e-15)
    assert naive.in_rank_order({"a": 1.0, "b": 1.0, "é": 1.0, "z": 0.5, "c": 2.0}) == ["c", "é", "b", "a", "z"]
    assert naive.in_rank_order({"d12": 1.0, "d2": 1.0, "d21": 1.0}) == ["d21", "d2", "d12"]


def test_totals_against_hand() -> None:
    items = [
        *[{"d": "x", "f1": 0.1, "status": "ok"}] * 10,
        {"d": "y", "f1": 0.0, "status": "missing_prediction"},
        {"d": "z", "f1": None, "status": "no_references"},
        {"d": "y", "f1": None, "status": "unmatched_prediction"},
    ]
    summary = naive.summarize(items, ["f1"], by=["d"])
    none = dict.fromkeys(naive.STATUSES, 0)
    others = {"missing_prediction": 1, "no_references": 1, "unmatched_prediction": 1}
    assert summary["overall"] == {**none, **others, "count": 11, "ok": 10, "f1": 1.0 / 11}
    assert list(summary["groups"]["d"]) == ["x", "y", "z"]
    assert summary["groups"]["d"]["x"] == {**none, "count": 10, "ok": 10, "f1": 0.1}
    assert summary["groups"]["d"]["y"] == {**none, "count": 1, "missing_prediction": 1, "unmatched_prediction": 1, "f1": 0.0}
    assert summary["groups"]["d"]["z"] == {**none, "count": 0, "no_references": 1, "f1": None}

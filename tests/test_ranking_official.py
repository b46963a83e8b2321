"""Retrieval measures against the figures that trec_eval printed and that pytrec_eval computes."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastscore.retrieval import format_trec, score_ranking
from tests.conftest import shared_path

RUNS = {
    "": ("results.test", "qrels.test", 1),
    ".aq": ("results.test", "qrels.test", 1),
    ".aqc": ("results.trunc", "qrels.test", 1),
    ".aql": ("results.test", "qrels.rel_level", 2),
    ".meas_params": ("results.test", "qrels.test", 1),
}
OFFERED = ("map", "Rprec", "bpref", "recip_rank", "P", "recall", "ndcg", "ndcg_cut", "map_cut", "success")
NOT_OFFERED = {
    *("runid", "num_q", "num_ret", "num_rel", "num_rel_ret", "num_nonrel_judged_ret", "relstring", "gm_map", "gm_bpref"),
    *("iprec_at_recall", "infAP", "Rprec_mult", "utility", "utility_2,-1,0,0", "11pt_avg", "11pt_avg_.25,.5,.75", "binG", "G"),
    *("ndcg_rel", "Rndcg", "relative_P", "set_P", "set_relative_P", "set_recall", "set_map", "set_F", "rbp", "rbp_resid", "unj"),
    *("ndcg_1=3,2=9,4=4.5", "rbp_rel", "yaap", "num_nonjudged_ret"),
}


def printed(suffix: str) -> dict[str, dict[str, str]]:
    """``{measure: {query: value as printed}}`` of an expected output."""
    lines = shared_path(f"data/trec/trec_eval_out.test{suffix}").read_text("utf-8").splitlines()
    values: dict[str, dict[str, str]] = {}
    for line in lines:
        measure, query, value = line.split("\t")
        values.setdefault(measure.strip(), {})[query.strip()] = value.strip()
    return values


def stem(measure: str) -> str:
    base, _, last = measure.rpartition("_")
    return base if base and last.replace(".", "").isdigit() else measure


@pytest.mark.real
@pytest.mark.parametrize("suffix", list(RUNS))
def test_printed_values_against_official(suffix: str) -> None:
    run, qrels, level = RUNS[suffix]
    expected = printed(suffix)
    measures = [m for m in expected if stem(m) in OFFERED]
    assert {stem(m) for m in expected} - set(OFFERED) <= NOT_OFFERED
    assert len(measures) >= {"": 13, ".meas_params": 11}.get(suffix, 30)
    scores = score_ranking(
        shared_path(f"data/trec/trec_eval_{run}"),
        shared_path(f"data/trec/trec_eval_{qrels}"),
        measures=measures,
        min_relevance=level,
    )
    ours: dict[str, dict[str, str]] = {}
    for line in format_trec(scores, per_query=True).splitlines():
        measure, query, value = line.split("\t")
        ours.setdefault(measure.strip(), {})[query] = value
    compared = 0
    for measure in measures:
        for query, value in expected[measure].items():
            assert ours[measure][query] == value, (suffix, measure, query)
            compared += 1
    assert compared >= len(measures)


@pytest.mark.real
def test_layout_against_official() -> None:
    """The lines themselves, blanks and order included, for the default measures that we have."""
    lines = shared_path("data/trec/trec_eval_out.test").read_text("utf-8").splitlines(keepends=True)
    wanted = [line for line in lines if stem(line.split("\t")[0].strip()) in OFFERED]
    measures = [line.split("\t")[0].strip() for line in wanted]
    scores = score_ranking(
        shared_path("data/trec/trec_eval_results.test"), shared_path("data/trec/trec_eval_qrels.test"), measures=measures[::-1]
    )
    assert format_trec(scores) == "".join(wanted)


PEER = {
    "map": "map",
    "map@3": "map_cut_3",
    "r_precision": "Rprec",
    "bpref": "bpref",
    "mrr": "recip_rank",
    "precision@1": "P_1",
    "precision@4": "P_4",
    "recall@2": "recall_2",
    "recall@30": "recall_30",
    "ndcg": "ndcg",
    "ndcg@2": "ndcg_cut_2",
    "ndcg@4": "ndcg_cut_4",
    "success@1": "success_1",
    "success@3": "success_3",
}
DOCUMENTS = st.sampled_from(
    ["a", "B", "doc-1", "doc-10", "doc-2", "ä", "日本", "x" * 7, "x" * 8, "x" * 9, "x" * 17, "#h", "10", "9"]
)
SCORES = st.sampled_from([0.0, -0.0, 1.0, 1.0000000000000002, 0.1, 2.5, -3.0, 1e-50, 1e-60, 1e30]) | st.floats(-5, 5)
RANKINGS = st.dictionaries(DOCUMENTS, SCORES, min_size=1)
JUDGEMENTS = st.dictionaries(DOCUMENTS, st.integers(-1, 4), min_size=1)
QUERIES = st.sampled_from(["q1", "q2", "10", "9"])


@given(
    run=st.dictionaries(QUERIES, RANKINGS, min_size=1),
    qrels=st.dictionaries(QUERIES, JUDGEMENTS, min_size=1),
    level=st.integers(1, 3),
    threads=st.sampled_from([1, 2]),
)
def test_values_against_pytrec_eval(run: Any, qrels: Any, level: int, threads: int) -> None:
    pytrec_eval = pytest.importorskip("pytrec_eval", reason="pytrec-eval-terrier is not installed")
    relevant = {q for q, judged in qrels.items() if max(judged.values()) >= level}
    if not relevant:
        return
    names = {"map", "map_cut.3", "Rprec", "bpref", "recip_rank", "P.1,4", "recall.2,30", "ndcg", "ndcg_cut.2,4", "success.1,3"}
    theirs = pytrec_eval.RelevanceEvaluator(qrels, names, relevance_level=level).evaluate(run)
    scores = score_ranking(run, qrels, measures=list(PEER), min_relevance=level, score_type="float32", threads=threads)
    rows = {row["query_id"]: row for row in scores.items.to_pylist()}
    assert set(rows) == set(run) | set(qrels)
    for query, row in rows.items():
        if query in relevant and query in run:
            assert row["status"] == "ok"
            for ours, peer in PEER.items():
                assert row[ours] == theirs[query][peer], (query, ours)
        elif query in relevant:
            assert row["status"] == "missing_prediction"
            assert all(row[m] == 0.0 for m in PEER)
        else:
            assert row["status"] == ("no_references" if query in qrels else "unmatched_prediction")
            assert all(row[m] is None for m in PEER)
    for ours in PEER:
        values = [theirs[q][PEER[ours]] if q in run else 0.0 for q in relevant]
        assert scores.mean(ours) == math.fsum(values) / len(values)

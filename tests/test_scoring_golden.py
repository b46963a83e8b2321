"""Values that the published scripts gave, through every way of scoring; each equal to the bit."""

from __future__ import annotations

import json
import math
from typing import Any

import pyarrow as pa
import pytest

import fastscore
from fastscore.official import official_json
from tests.conftest import GOLDEN, shared_path

PAIRS = [json.loads(line) for line in (GOLDEN / "pairs.jsonl").read_text(encoding="utf-8").split("\n") if line]
NAMES = sorted({p["recipe"] for p in PAIRS})


@pytest.mark.parametrize("name", NAMES)
def test_pairs_against_official(name: str) -> None:
    pairs = [p for p in PAIRS if p["recipe"] == name]
    batch = pa.RecordBatch.from_pydict({c: [p[c] for p in pairs] for c in ("prediction", "references")})
    items = fastscore.score_batch(batch, name).to_pylist()
    for pair, item in zip(pairs, items, strict=True):
        one = fastscore.score_one(pair["prediction"], pair["references"], name)
        assert (item["exact_match"], item["f1"]) == (pair["exact_match"], pair["f1"])
        assert (one["exact_match"], one["f1"]) == (pair["exact_match"], pair["f1"])
    formed = [p for p in pairs if "normalized_prediction" in p]
    column = fastscore.normalize(pa.array([p["prediction"] for p in formed], pa.string()), name)
    assert column.to_pylist() == [p["normalized_prediction"] for p in formed]


@pytest.mark.parametrize(
    ("prediction", "references", "values"),
    [
        ("yes", ["yes", "yes it is", "yeah", "correct"], {"coqa": (0.75, 0.875), "coqa-max": (1, 1), "squad_v2": (1, 1)}),
        ("", ["the"], {"squad": (1, 0), "squad_v2": (1, 1), "coqa": (1, 1)}),
        ("", ["the", "cat"], {"coqa": (0.5, 0.5), "squad_v2": (0, 0), "squad": (1, 0)}),
        ("Der Hund", ["Hund"], {"squad": (0, 2 / 3), "mlqa-de": (1, 1)}),
        ("„Berlin“", ["Berlin"], {"squad": (0, 0), "mlqa-de": (1, 1)}),
        ("Vitamin A", ["Vitamin"], {"squad": (1, 1), "mlqa-de": (0, 2 / 3)}),
        ("3.5", ["35"], {"squad": (1, 1)}),
        ("New-York", ["New York"], {"squad": (0, 0), "triviaqa": (1, 1)}),
        ("yes it is", ["yes"], {"squad": (0, 0.5), "hotpotqa": (0, 0)}),
        ("50 €", ["50"], {"mlqa-de": (0, 2 / 3), "cjrc": (1, 1)}),
        ("ΟΔΌΣ", ["οδός"], {"squad": (1, 1)}),
        ("İstanbul", ["i̇stanbul"], {"squad": (1, 1)}),
        ("İstanbul", ["istanbul"], {"squad": (0, 0)}),
        ("white", ["white", "White", "white", "it was white"], {"coqa": (1, 1), "lm-eval-coqa": (0.5, 0.75)}),
    ],
)
def test_disagreements_against_official(prediction: str, references: list[str], values: dict[str, tuple[float, float]]) -> None:
    for name, (exact_match, f1) in values.items():
        item = fastscore.score_one(prediction, references, name)
        assert item["exact_match"] == exact_match, name
        assert item["f1"] == pytest.approx(f1, abs=1e-15), name


def _coqa(name: str, references: Any) -> None:
    expected = json.loads(
        (GOLDEN if (GOLDEN / f"{name}.expected.json").exists() else shared_path("golden"))
        .joinpath(f"{name}.expected.json")
        .read_text()
    )
    folder = GOLDEN if (GOLDEN / f"{name}.predictions.json").exists() else shared_path("golden")
    result = fastscore.score(folder / f"{name}.predictions.json", references, recipe="coqa")
    assert json.loads(official_json(result.items, "coqa")) == expected["official"]
    items = [i for i in result.items.to_pylist() if i["status"] != "unmatched_prediction"]
    got = [(i["question_id"], i["turn_id"], i["exact_match"], i["f1"]) for i in items]
    assert got == [(e["id"], e["turn_id"], e["exact_match"], e["f1"]) for e in expected["items"]]
    assert result.summary["overall"]["f1"] == math.fsum(e["f1"] for e in expected["items"]) / len(got)


def test_coqa_with_four_references_against_official() -> None:
    _coqa("coqa-made-4refs", GOLDEN / "coqa-made-4refs.references.json")


def test_coqa_dialogues_against_official() -> None:
    _coqa("coqa-32dialogues", shared_path("data/coqa/train-32dialogues.json"))


def test_germanquad_against_official() -> None:
    expected = json.loads(shared_path("golden/germanquad-nbest.expected.json").read_text())
    paths = shared_path("golden/germanquad-nbest.predictions.json"), shared_path("data/german/germanquad-test.json")
    columns = {
        "germanquad": {"exact_span": "exact_span", "exact_match": "exact_text", "top_1": "top_1", "top_5": "top_5"},
        "germanquad-squad": {"exact_match": "squad_em", "f1": "squad_f1"},
        "mlqa-de": {"exact_match": "mlqa_de_em", "f1": "mlqa_de_f1"},
    }
    for name, names in columns.items():
        result = fastscore.score(*paths, recipe=name, top_n=5)
        items = result.items.to_pylist()
        assert [i["question_id"] for i in items] == [e["id"] for e in expected["items"]]
        for ours, theirs in names.items():
            assert [i[ours] for i in items] == [e.get(theirs, 0.0) for e in expected["items"]], ours
            assert result.summary["overall"][ours] == pytest.approx(expected["mean"][theirs], abs=1e-12)
        assert result.summary["overall"]["missing_prediction"] == expected["mean"]["missing"] == 35
        assert result.summary["overall"]["count"] == expected["mean"]["questions"] == 2204


@pytest.mark.parametrize(
    ("name", "exact_match", "f1"),
    [
        ("bert", 86.20624408703878, 92.19557978351129),
        ("match-lstm", 67.63481551561021, 76.75556184979696),
        ("logreg", 40.14191106906339, 50.98153647324482),
    ],
)
def test_squad_against_official(name: str, exact_match: float, f1: float) -> None:
    result = fastscore.score(
        shared_path(f"data/squad/v1.1-predictions-{name}.json"), shared_path("data/squad/dev-v1.1.json"), recipe="squad"
    )
    printed = json.loads(official_json(result.items, "squad"))
    assert printed["exact_match"] == pytest.approx(exact_match, abs=1e-9)
    assert printed["f1"] == pytest.approx(f1, abs=1e-9)


@pytest.mark.parametrize("name", ["BERT", "nlnet"])
def test_squad_v2_against_official(name: str) -> None:
    expected = json.loads(shared_path(f"golden/squad2-{name}.expected.json").read_text())["plain"]
    paths = shared_path(f"data/squad/v2.0-predictions-{name.lower()}.json"), shared_path("data/squad/dev-v2.0.json")
    printed = json.loads(official_json(fastscore.score(*paths, recipe="squad_v2").items, "squad_v2"))
    assert list(printed) == list(expected)
    assert printed == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize(("name", "exact_match", "f1"), [("dpr", 40.91, 47.78), ("fid", 46.48, 53.69), ("r2d2", 52.35, 59.03)])
def test_nq_open_against_published(name: str, exact_match: float, f1: float) -> None:
    result = fastscore.score(
        shared_path(f"data/nq/nq-open-predictions-{name}.jsonl"), recipe="nq-open", references_column="answer"
    )
    assert round(100 * result.summary["overall"]["exact_match"], 2) == exact_match
    assert round(100 * result.summary["overall"]["f1"], 2) == f1


def test_sampled_generations_against_published() -> None:
    rows = [
        json.loads(line)
        for line in shared_path("data/samples/triviaqa-500x20.jsonl").read_text(encoding="utf-8").split("\n")
        if line
    ]
    flat = [
        {"question_id": r["id"], "prediction": g, "references": [r["answer"]]}
        for r in rows
        for g in r["generations"]["text_cleaned"]
    ]
    result = fastscore.score(flat, recipe="squad")
    scores = result.items["exact_match"].to_pylist()
    assert round(result.summary["overall"]["exact_match"], 4) == 0.4333
    assert round(sum(max(scores[k : k + 20]) for k in range(0, len(scores), 20)) / len(rows), 3) == 0.814

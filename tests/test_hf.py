"""The drop-in metrics against the official values, against `score_one`, and against themselves in parts."""

from __future__ import annotations

import json
import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import fastscore
from fastscore.errors import ColumnTypeError, UsageError
from fastscore.hf import AnswerMetric, Coqa, Squad, SquadV2
from tests.conftest import shared_path
from tests.strategies import texts

PAIRS = st.lists(st.tuples(texts(), st.lists(texts(), min_size=1, max_size=3)), min_size=1, max_size=8)


def rows(pairs: list[tuple[str, list[str]]]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    given = [{"id": str(i), "prediction_text": p} for i, (p, _) in enumerate(pairs)]
    gold = [{"id": str(i), "answers": {"text": r, "answer_start": [0] * len(r)}} for i, (_, r) in enumerate(pairs)]
    return given, gold


def test_squad_against_official() -> None:
    data = json.loads(shared_path("data/squad/dev-v1.1.json").read_text())["data"]
    texts = json.loads(shared_path("data/squad/v1.1-predictions-bert.json").read_text())
    gold = [{"id": q["id"], "answers": q["answers"]} for a in data for p in a["paragraphs"] for q in p["qas"]]
    found = Squad().compute(predictions=[{"id": k, "prediction_text": v} for k, v in texts.items()], references=gold)
    assert list(found) == ["exact_match", "f1"]
    assert found == pytest.approx({"exact_match": 86.20624408703878, "f1": 92.19557978351129}, rel=0, abs=1e-9)


@pytest.mark.parametrize("system", ["BERT", "nlnet"])
def test_squad_v2_against_official(system: str) -> None:
    expected = json.loads(shared_path(f"golden/squad2-{system}.expected.json").read_text())["with_na"]
    chances = json.loads(shared_path(f"golden/squad2-{system}.na_probs.json").read_text())
    data = json.loads(shared_path("data/squad/dev-v2.0.json").read_text())["data"]
    texts = json.loads(shared_path(f"data/squad/v2.0-predictions-{system.lower()}.json").read_text())
    gold = [{"id": q["id"], "answers": q["answers"]} for a in data for p in a["paragraphs"] for q in p["qas"]]
    given = [{"id": k, "prediction_text": texts[k], "no_answer_probability": p} for k, p in chances.items()]
    found = SquadV2().compute(predictions=given, references=gold)
    assert list(found) == list(expected)
    assert found == pytest.approx(expected, rel=0, abs=1e-9)


@given(PAIRS)
def test_add_and_add_batch_give_what_compute_gives(pairs: list[tuple[str, list[str]]]) -> None:
    given_rows, gold = rows(pairs)
    expected = Squad().compute(predictions=given_rows, references=gold)
    single, batch = Squad(), Squad()
    for prediction, reference in zip(given_rows, gold, strict=True):
        single.add(prediction=prediction, reference=reference)
    batch.add_batch(predictions=given_rows[:1], references=gold[:1])
    assert single.compute() == expected
    assert batch.compute(predictions=given_rows[1:], references=gold[1:]) == expected
    with pytest.raises(UsageError, match="nothing to score"):
        single.compute()


@given(PAIRS, st.sampled_from(["squad", "coqa", "triviaqa"]), st.integers(0, 8))
def test_metric_in_parts_against_itself_and_score_one(pairs: list[tuple[str, list[str]]], recipe: str, cut: int) -> None:
    preds, target = [p for p, _ in pairs], [r for _, r in pairs]
    whole, first, second = AnswerMetric(recipe), AnswerMetric(recipe), AnswerMetric(recipe)
    whole.update(preds, target)
    first.update(preds[:cut], target[:cut])
    second.update(preds[cut:], target[cut:])
    second.merge_state([pickle.loads(pickle.dumps(first))])
    assert second.compute() == whole.compute()
    ones = [fastscore.score_one(p, r, recipe) for p, r in pairs]
    assert whole.compute()["f1"] == pytest.approx(100 * sum(o["f1"] for o in ones) / len(ones), rel=1e-12, abs=1e-12)
    whole.reset()
    assert whole.compute() == {"exact_match": 0.0, "f1": 0.0}


def test_metric_reads_torchmetrics_rows() -> None:
    metric = AnswerMetric()
    preds = [{"prediction_text": "1976", "id": "a"}, {"prediction_text": "the cat", "id": "b"}]
    target = [{"answers": {"answer_start": [97], "text": ["1976"]}, "id": "a"}, {"answers": {"text": ["dog"]}, "id": "b"}]
    assert metric(preds[0], target[0]) == {"exact_match": 100.0, "f1": 100.0}
    metric.update(preds[1:], target[1:])
    assert metric.compute() == {"exact_match": 50.0, "f1": 50.0}
    assert metric.update_count == 2


def test_coqa_is_leave_one_out_and_has_turns() -> None:
    gold = [{"id": "s", "turn_id": t, "answers": {"text": ["yes", "yes it is", "yeah", "correct"]}} for t in (1, 2)]
    given = [{"id": "s", "turn_id": 1, "prediction_text": "yes"}, {"id": "s", "turn_id": 2, "prediction_text": "no"}]
    assert Coqa().compute(predictions=given, references=gold) == {"exact_match": 37.5, "f1": 43.75}


def test_missing_predictions_count_zero_and_the_last_of_two_counts() -> None:
    given, gold = rows([("a b", ["a b"]), ("x", ["x"])])
    assert Squad().compute(predictions=given[:1], references=gold)["f1"] == 50.0
    assert Squad().compute(predictions=[*given, {"id": "1", "prediction_text": "y"}], references=gold)["f1"] == 50.0


def test_a_probability_at_the_threshold_is_no_refusal() -> None:
    given = [{"id": "a", "prediction_text": "x", "no_answer_probability": 0.1}]
    gold = [{"id": "a", "answers": {"text": ["x"], "answer_start": [0]}}]
    assert SquadV2().compute(predictions=given, references=gold, no_answer_threshold=0.1)["exact"] == 100.0
    assert SquadV2().compute(predictions=given, references=gold, no_answer_threshold=0.09)["exact"] == 0.0


@pytest.mark.parametrize(
    ("call", "kind", "said"),
    [
        (lambda: Squad().compute(predictions=[]), UsageError, "predictions and references"),
        (lambda: Squad().compute(predictions=["x"], references=["y"]), ColumnTypeError, "a list of dicts"),
        (lambda: Squad().compute(predictions=[{"id": "a", "prediction": "x"}], references=[]), UsageError, "'prediction_text'"),
        (lambda: Squad().compute(predictions=[], references=[{"id": "a"}]), UsageError, "'answers'"),
        (lambda: Squad().compute(predictions=[], references=[{"id": "a", "answers": []}], x=1), UsageError, "no option 'x'"),
        (lambda: SquadV2().compute(predictions=rows([("a", ["a"])])[0], references=[]), UsageError, "no_answer_probability"),
        (lambda: Squad().add(prediction={"id": "1", "prediction_text": "x"}), UsageError, "reference are needed"),
        (lambda: AnswerMetric().update(["a"], [["a"], ["b"]]), UsageError, "one target for each"),
        (lambda: AnswerMetric().update([3], [["a"]]), ColumnTypeError, "got int"),
        (lambda: AnswerMetric("squad").merge_state(AnswerMetric("coqa")), UsageError, "one recipe"),
        (lambda: AnswerMetric().update([{"id": "a"}], [{"id": "a", "answers": []}]), UsageError, "prediction_text"),
    ],
)
def test_mistakes(call: Any, kind: type[Exception], said: str) -> None:
    with pytest.raises(kind, match=said):
        call()

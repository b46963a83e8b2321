"""The layouts of published scripts: values that scripts printed, and small made files counted by hand with `naive`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import fastscore
from fastscore import naive
from fastscore.errors import KeyMismatchError, UsageError
from fastscore.formats import read_predictions, read_references
from fastscore.formats.squad import read_na_probs
from fastscore.official import OFFICIAL, official_json, official_values
from fastscore.pipeline import aligned_items
from fastscore.recipes import RECIPES
from tests.conftest import shared_path


def scored(predictions: Path, references: Path, recipe: str) -> tuple[pa.Table, pa.Table]:
    """Item scores and the aligned items."""
    table, _ = aligned_items(read_predictions(predictions), read_references(references))
    return fastscore.score(predictions, references, recipe=recipe).items, table


@pytest.mark.parametrize("system", ["BERT", "nlnet"])
def test_squad_v2_with_probabilities_against_official(system: str) -> None:
    expected = json.loads(shared_path(f"golden/squad2-{system}.expected.json").read_text())
    file = shared_path(f"golden/squad2-{system}.na_probs.json")
    chances = read_na_probs(file.read_bytes(), str(file))
    predictions = shared_path(f"data/squad/v2.0-predictions-{system.lower()}.json")
    items, inputs = scored(predictions, shared_path("data/squad/dev-v2.0.json"), "squad_v2")
    for printed, values in (
        (expected["plain"], official_values(items, "squad_v2")),
        (expected["with_na"], official_values(items, "squad_v2", inputs=inputs, na_probs=chances)),
    ):
        assert list(values) == list(printed)
        assert values == pytest.approx(printed, rel=0, abs=1e-9)


def two_questions() -> tuple[pa.Table, pa.Table]:
    inputs = pa.table(
        {
            "question_id": ["a", "b", "c"],
            "prediction": ["red", "the", ""],
            "references": pa.array([["red"], [], []], pa.list_(pa.string())),
            "has_answer": [True, False, False],
        }
    )
    batch = inputs.combine_chunks().to_batches()[0]
    return pa.Table.from_batches([fastscore.score_batch(batch, "squad_v2", keep=["has_answer"])]), inputs


def probabilities(values: dict[str, float]) -> pa.Table:
    return pa.table({"question_id": list(values), "na_prob": list(values.values())})


def test_squad_v2_threshold_by_hand() -> None:
    items, inputs = two_questions()
    chances = probabilities({"b": 0.1, "a": 0.5, "c": 0.9})
    found = official_values(items, "squad_v2", inputs=inputs, na_probs=chances)
    # The prediction "the" is right by its normal form, but is no empty text, so admitting it costs one: 2 -> 1 -> 2 -> 2.
    assert (found["best_exact"], found["best_exact_thresh"]) == (100.0 * 2 / 3, 0.0)
    assert found["exact"] == 100.0
    # A probability that is the threshold is not greater than it.
    assert official_values(items, "squad_v2", inputs=inputs, na_probs=chances, na_threshold=0.5)["HasAns_exact"] == 100.0
    assert official_values(items, "squad_v2", inputs=inputs, na_probs=chances, na_threshold=0.4)["HasAns_exact"] == 0.0


def test_squad_v2_probabilities_that_are_wrong() -> None:
    items, inputs = two_questions()
    with pytest.raises(KeyMismatchError, match="1 of 3 questions have no probability, such as 'c'"):
        official_values(items, "squad_v2", inputs=inputs, na_probs=probabilities({"a": 0.1, "b": 0.2}))
    doubled = pa.table({"question_id": ["a", "a"], "na_prob": [0.1, 0.2]})
    with pytest.raises(KeyMismatchError, match="stands twice"):
        official_values(items, "squad_v2", inputs=inputs, na_probs=doubled)
    with pytest.raises(UsageError, match="only squad_v2"):
        official_values(items, "squad", na_probs=doubled)
    with pytest.raises(UsageError, match="needs the column 'prediction'"):
        official_values(items, "squad_v2", na_probs=probabilities({"a": 0.1, "b": 0.2, "c": 0.3}))


def test_topiocqa_by_hand(tmp_path: Path) -> None:
    gold = [
        {"Conversation_no": 1, "Turn_no": 1, "Answer": "yes", "Additional_answers": [{"Answer": a} for a in ("no", "yes it is")]},
        {"Conversation_no": 1, "Turn_no": 2, "Answer": "the cat", "Additional_answers": []},
        {"Conversation_no": 2, "Turn_no": 1, "Answer": "x", "Additional_answers": []},
    ]
    given = [
        {"conv_id": "1", "turn_id": "1", "predictions": ["Yes."]},
        {"conv_id": "1", "turn_id": "2", "predictions": ["a dog"]},
    ]
    (tmp_path / "r.json").write_text(json.dumps(gold))
    (tmp_path / "p.json").write_text(json.dumps(given))
    items, _ = scored(tmp_path / "p.json", tmp_path / "r.json", "topiocqa")
    # Turn 1: without the first reference 0 and 0.5, without another 1; the missing turn counts 0.
    exact, f1 = 2 / 3, (0.5 + 1 + 1) / 3
    expected = {"em": round(exact / 3 * 100, 1), "f1": round(f1 / 3 * 100, 1), "turns": 3}
    assert official_json(items, "topiocqa") == json.dumps(expected, indent=4)


def test_cjrc_by_hand(tmp_path: Path) -> None:
    def case(domain: str, *questions: dict[str, Any]) -> dict[str, Any]:
        return {"caseid": "1", "domain": domain, "paragraphs": [{"casename": "c", "context": "", "qas": list(questions)}]}

    gold = {
        "data": [
            case("civil", {"id": "a", "answers": [{"text": "50元"}]}, {"id": "b", "answers": []}),
            case("criminal", {"id": "c", "answers": [{"text": "是"}, {"text": "否"}]}),
        ]
    }
    (tmp_path / "r.json").write_text(json.dumps(gold))
    (tmp_path / "p.json").write_text(json.dumps([{"id": "a", "answer": "50 €"}, {"id": "b", "answer": ""}]))
    items, inputs = scored(tmp_path / "p.json", tmp_path / "r.json", "cjrc")
    values = official_values(items, "cjrc", inputs=inputs)
    assert list(values) == ["civil", "criminal", "overall"]
    assert values["civil"] == {"em": 50.0, "f1": round((0.8 + 1) / 2 * 100, 1), "qas": 2}
    assert values["criminal"] == {"em": 0.0, "f1": 0.0, "qas": 1}
    assert values["overall"] == {"em": 33.3, "f1": 60.0, "qas": 3}


QUAC = {
    "d1": [
        ("d1_q#0", ["he was born in Paris", "in Paris", "born in Paris"], "y", "m", ("in Paris", "y", "n")),
        ("d1_q#1", ["CANNOTANSWER", "CANNOTANSWER", "something"], "x", "m", ("CANNOTANSWER", "x", "m")),
        ("d1_q#2", ["red green", "blue", "black"], "x", "n", ("red", "x", "n")),
    ],
    "d2": [
        ("d2_q#0", ["one", "CANNOTANSWER", "one two"], "x", "n", ("one", "x", "n")),
        ("d2_q#1", ["alone"], "n", "n", None),
    ],
    "d3": [("d3_q#0", ["CANNOTANSWER"], "x", "n", ("maybe", "x", "f"))],
}


def quac_expected() -> dict[str, float]:
    """QuAC's official output for `QUAC`, counted with plain loops over `naive`."""
    recipe = RECIPES["quac"]
    plain = fastscore.Recipe.from_mapping("plain", {"base": "squad"})
    everything, counted, right, follow, unanswerable, questions, dialogs = [], [], [], [], [], [], []
    for dialog in QUAC.values():
        good = True
        for _, references, yesno, followup, given in dialog:
            kept = [text for _, text in naive.filter_references(references, recipe)]
            others = [(text, kept[:i] + kept[i + 1 :]) for i, text in enumerate(kept) if kept[1:]]
            human = [max(naive.score_one(a, [b], plain)["f1"] for b in rest) for a, rest in others]
            people = sum(human) / len(human) if human else 1.0
            f1 = 0.0 if given is None else naive.score_one(given[0], references, recipe)["f1"]
            everything.append(f1)
            if given is not None and people < 0.4:
                continue
            counted.append(f1)
            right.append(given is not None and given[1] == yesno)
            follow.append(given is not None and given[2] == followup)
            if kept == ["CANNOTANSWER"]:
                unanswerable.append(f1)
            questions.append(given is not None and f1 >= people)
            good = good and questions[-1]
        dialogs.append(good)
    parts = (everything, counted, questions, dialogs, right, follow, unanswerable)
    names = ("unfiltered_f1", "f1", "HEQ", "DHEQ", "yes/no", "followup", "unanswerable_acc")
    return {name: 100.0 * sum(part) / len(part) for name, part in zip(names, parts, strict=True)}


def test_quac_with_heq(tmp_path: Path) -> None:
    data = []
    lines = []
    for dialog, rows in QUAC.items():
        questions = [
            {"id": i, "question": "?", "yesno": y, "followup": f, "answers": [{"text": t, "answer_start": 0} for t in texts]}
            for i, texts, y, f, _ in rows
        ]
        data.append({"title": dialog, "paragraphs": [{"context": "", "id": dialog, "qas": questions}]})
        given = [(i, *g) for i, _, _, _, g in rows if g is not None]
        lines.append({k: [g[n] for g in given] for n, k in enumerate(("qid", "best_span_str", "yesno", "followup"))})
    (tmp_path / "r.json").write_text(json.dumps({"data": data}))
    (tmp_path / "p.json").write_text("\n".join(map(json.dumps, lines)))
    items, inputs = scored(tmp_path / "p.json", tmp_path / "r.json", "quac")
    values = official_values(items, "quac", inputs=inputs)
    expected = quac_expected()
    assert list(values) == list(expected)
    assert values == pytest.approx(expected, rel=0, abs=1e-12)
    assert expected["HEQ"] not in (0.0, 100.0)
    assert expected["DHEQ"] not in (0.0, 100.0)


def test_mistakes_are_said() -> None:
    items, inputs = two_questions()
    with pytest.raises(UsageError, match=r"Did you mean 'squad"):
        official_values(items, "squadd")
    with pytest.raises(UsageError, match="needs the column 'domain'"):
        official_values(items, "coqa")
    with pytest.raises(UsageError, match="one for each item"):
        official_values(items, "squad", inputs=inputs.slice(1))


@pytest.mark.parametrize("recipe", OFFICIAL)
def test_no_items_give_zeros(recipe: str) -> None:
    """No layout divides by nothing, and all that is printed is strict JSON."""
    texts = ["exact_match", "f1", "status", "domain", "dialog_id", "yesno", "followup", "predicted_yesno", "predicted_followup"]
    columns: dict[str, pa.Array] = {c: pa.array([], pa.float64() if c in ("exact_match", "f1") else pa.string()) for c in texts}
    columns |= {"has_answer": pa.array([], pa.bool_()), "references": pa.array([], pa.list_(pa.string()))}
    numbers = json.loads(official_json(pa.table(columns), recipe))
    assert "NaN" not in json.dumps(numbers)

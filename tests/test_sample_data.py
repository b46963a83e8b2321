"""The samples in `data/`: their layout, their offsets, and what their README says about them."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from benchmarks import sample_data

DATA = Path(__file__).resolve().parents[1] / "data"


def _json(name: str) -> Any:
    return json.loads((DATA / name).read_text(encoding="utf-8"))


def test_samples_are_small() -> None:
    assert sum(p.stat().st_size for p in DATA.iterdir()) < 300_000


def test_readme_names_every_file() -> None:
    text = (DATA / "README.md").read_text(encoding="utf-8")
    assert [p.name for p in DATA.iterdir() if p.name != "README.md" and f"`{p.name}`" not in text] == []


def test_coqa_covers_all_domains_with_four_references() -> None:
    stories = _json("coqa-references.json")["data"]
    assert {s["source"] for s in stories} == {"mctest", "gutenberg", "race", "cnn", "wikipedia", "reddit", "science"}
    assert len(stories) == 8
    assert sum(len(s["questions"]) for s in stories) == 69
    for story in stories:
        turns = [q["turn_id"] for q in story["questions"]]
        assert turns == list(range(1, len(turns) + 1))
        assert list(story["additional_answers"]) == ["0", "1", "2"]
        for side in (story["answers"], *story["additional_answers"].values()):
            assert [a["turn_id"] for a in side] == turns


def test_coqa_spans_lie_where_their_text_is() -> None:
    for story in _json("coqa-references.json")["data"]:
        for side in (story["answers"], *story["additional_answers"].values()):
            for answer in side:
                if answer["span_text"] == "unknown":
                    assert (answer["span_start"], answer["span_end"]) == (-1, -1)
                else:
                    assert story["story"][answer["span_start"] : answer["span_end"]] == answer["span_text"]


def test_coqa_predictions_miss_two_turns_and_hold_one_extra() -> None:
    asked = {(s["id"], q["turn_id"]) for s in _json("coqa-references.json")["data"] for q in s["questions"]}
    predictions = _json("coqa-predictions.json")
    keys = [(p["id"], p["turn_id"]) for p in predictions]
    assert len(keys) == len(set(keys))
    assert len(asked - set(keys)) == 2
    assert len(set(keys) - asked) == 1
    assert sum(p["answer"] == "" for p in predictions) == 1


def test_germanquad_offsets_are_code_points_of_the_context() -> None:
    predictions = _json("germanquad-predictions.json")
    astral, missing, no_answer = 0, [], 0
    for document in _json("germanquad-references.json")["data"]:
        for paragraph in document["paragraphs"]:
            context = paragraph["context"]
            astral += any(ord(c) > 0xFFFF for c in context)
            for question in paragraph["qas"]:
                assert isinstance(question["id"], int)
                assert len(question["answers"]) in (2, 3)
                for answer in question["answers"]:
                    assert context[answer["answer_start"] :].startswith(answer["text"])
                spans = predictions.get(str(question["id"]))
                if spans is None:
                    missing.append(question["id"])
                    continue
                assert len(spans) == 5
                assert [s["score"] for s in spans] == sorted((s["score"] for s in spans), reverse=True)
                for span in spans:
                    no_answer += span["start"] is None
                    assert span["start"] is None or context[span["start"] : span["end"]] == span["text"]
    assert (astral, missing, no_answer) == (1, [61213], 3)


def test_generations_are_ten_samples_of_twenty_questions() -> None:
    table = pq.read_table(DATA / "generations.parquet")
    assert table.num_rows == 200
    assert set(Counter(table["question_id"].to_pylist()).values()) == {10}
    assert table["prediction"].null_count == table["completion"].null_count == 3
    completions = [c for c in table["completion"].to_pylist() if c is not None]
    assert {c.count("<answer>") for c in completions} == {0, 1, 2}
    assert any(c.count("<answer>") > c.count("</answer>") for c in completions)


@pytest.mark.parametrize("name", ["generations", "ranking"])
def test_parquet_samples_against_their_generator(name: str) -> None:
    made = getattr(sample_data, name)()
    assert pq.read_table(DATA / f"{name}.parquet").equals(made)


def test_ranking_against_hand() -> None:
    """Counted by eye from the printed table: of 18 queries with a relevant passage, 9 have it in the first ten."""
    rows = pq.read_table(DATA / "ranking.parquet").to_pylist()
    scored = [r for r in rows if r["relevant_ids"]]
    hits = sum(any(i in r["relevant_ids"] for i in r["retrieved_ids"][:10]) for r in scored)
    assert (len(rows), len(scored), hits) == (19, 18, 9)

"""The layouts of TopiOCQA, CJRC, QuAC, TriviaQA, NQ-open and lm-evaluation-harness: recognised from content, read, refused."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

import fastscore
from fastscore.errors import DataError, FormatError, KeyMismatchError
from fastscore.formats import read_predictions, read_references
from fastscore.formats.sniff import format_of
from tests.conftest import shared_path

TOPIOCQA = {"Conversation_no": 1, "Turn_no": 2, "Question": "?", "Answer": "a", "Additional_answers": [{"Answer": "b"}]}
QUAC_QUESTION = {"id": "d_q#0", "question": "?", "yesno": "x", "followup": "m", "answers": [{"text": "a", "answer_start": 0}]}
QUAC = {"data": [{"title": "t", "paragraphs": [{"context": "c", "id": "d", "qas": [QUAC_QUESTION]}]}]}
QUAC_LINE = {"qid": ["d_q#0"], "best_span_str": ["a"], "yesno": ["x"], "followup": ["m"]}
CJRC_QUESTION = {"id": "q", "question": "?", "is_impossible": "false", "answers": [{"text": "是", "answer_start": 0}]}
CJRC = {"data": [{"caseid": "1", "domain": "civil", "paragraphs": [{"casename": "c", "context": "", "qas": [CJRC_QUESTION]}]}]}
ANSWER = {"Aliases": ["The A"], "NormalizedAliases": ["a", "b"], "Value": "A", "HumanAnswers": ["C"]}
TRIVIA = {"Data": [{"QuestionId": "q", "Question": "?", "Answer": ANSWER}], "Domain": "Wikipedia", "Version": 1.0}
TRIVIA_ALIASES = {"aliases": ["The A"], "normalized_aliases": ["a", "b"], "value": "A"}
TRIVIA_LINE = {"question_id": "q", "question": "?", "answer": TRIVIA_ALIASES}
LM_EVAL = {
    "doc_id": 3,
    "doc": {"question": "?"},
    "target": "['white', \"it's\"]",
    "arguments": {},
    "resps": [["white\nx"]],
    "filtered_resps": ["white\nx"],
    "filter": "none",
    "metrics": ["em"],
    "em": 1.0,
}
SQUAD_QUESTION = {"id": "q", "answers": [{"text": "a", "answer_start": 0}]}
SQUAD = {"data": [{"title": "t", "paragraphs": [{"context": "a", "qas": [SQUAD_QUESTION]}]}]}


@pytest.mark.parametrize(
    ("name", "content", "format"),
    [
        ("x.json", [TOPIOCQA], "topiocqa"),
        ("x.json", [{"conv_id": "1", "turn_id": "2", "predictions": ["a"]}], "topiocqa"),
        ("x.json", [{"id": "s", "turn_id": 1, "answer": "a"}], "coqa"),
        ("x.json", [{"id": "s", "answer": "a"}], "cjrc"),
        ("x.json", CJRC, "cjrc"),
        ("x.json", QUAC, "quac"),
        ("x.json", SQUAD, "squad"),
        ("x.json", {"q": "a"}, "squad"),
        ("x.json", TRIVIA, "triviaqa"),
        ("x.json", TRIVIA_LINE, "triviaqa"),
        ("x.jsonl", QUAC_LINE, "quac"),
        ("x.jsonl", TRIVIA_LINE, "triviaqa"),
        ("x.jsonl", {"question": "?", "answer": ["a"]}, "nq-open"),
        ("x.jsonl", {"question": "?", "prediction": "a"}, "nq-open"),
        ("x.json", {"question": "?", "answer": ["a"], "prediction": "a"}, "nq-open"),
        ("samples_x.jsonl", LM_EVAL, "lm-eval"),
        ("x.jsonl", {"question_id": "q", "question": "?", "prediction": "a"}, "jsonl"),
        ("x.jsonl", {"question": "?", "prediction": "a", "references": ["a"]}, "jsonl"),
    ],
)
def test_recognised_from_content(name: str, content: Any, format: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_text(json.dumps(content))
    assert format_of(path) == format
    packed = tmp_path / f"{name}.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    assert format_of(packed) == format


def write(path: Path, content: Any) -> Path:
    """A JSON file, or JSON Lines where the name says so."""
    lines = path.suffix == ".jsonl"
    path.write_text("\n".join(map(json.dumps, content)) if lines else json.dumps(content))
    return path


def test_topiocqa(tmp_path: Path) -> None:
    gold = read_references(write(tmp_path / "r.json", [TOPIOCQA]))
    assert gold.table.select(["question_id", "turn_id", "references"]).to_pylist() == [
        {"question_id": "1", "turn_id": 2, "references": ["a", "b"]}
    ]
    ranked = [{"top_k": 10, "prediction": {"text": "one"}}, {"top_k": 20, "prediction": {"text": "two"}}]
    given = [{"conv_id": "1", "turn_id": "2", "predictions": ranked}, {"conv_id": 1, "turn_id": 2, "predictions": ranked[1:]}]
    loaded = read_predictions(write(tmp_path / "p.json", given))
    assert loaded.table.to_pylist() == [{"question_id": "1", "turn_id": 2, "prediction": "two"}]
    assert loaded.counts == {"several_top_k": 1, "duplicate_predictions": 1}
    with pytest.raises(KeyMismatchError, match="conversation 1 turn 2 stands twice"):
        read_references(write(tmp_path / "r.json", [TOPIOCQA, TOPIOCQA]))


def test_cjrc(tmp_path: Path) -> None:
    later = {**CJRC["data"][0], "domain": "criminal"}
    paragraph = {"qas": [{"id": "n", "answers": []}]}
    content = {"data": [CJRC["data"][0], {**later, "paragraphs": [paragraph, {"qas": [{**CJRC_QUESTION, "id": "unread"}]}]}]}
    gold = read_references(write(tmp_path / "r.json", content))
    assert gold.table.column("references").to_pylist() == [["是"], [""]]
    assert gold.table.column("domain").to_pylist() == ["civil", "criminal"]
    assert gold.counts == {"later_paragraphs": 1}
    loaded = read_predictions(write(tmp_path / "p.json", [{"id": "q", "answer": "否"}, {"id": "q", "answer": "是"}]))
    assert loaded.table.to_pylist() == [{"question_id": "q", "prediction": "是"}]


def test_quac(tmp_path: Path) -> None:
    gold = read_references(write(tmp_path / "r.json", QUAC))
    row = gold.table.to_pylist()[0]
    assert (row["question_id"], row["dialog_id"], row["references"], row["yesno"]) == ("d_q#0", "d", ["a"], "x")
    loaded = read_predictions(write(tmp_path / "p.jsonl", [QUAC_LINE]))
    assert loaded.table.to_pylist()[0]["predicted_followup"] == "m"
    with pytest.raises(FormatError, match=r"record 1: its lists must be of one length, got qid 1, best_span_str 2"):
        read_predictions(write(tmp_path / "p.jsonl", [{**QUAC_LINE, "best_span_str": ["a", "b"]}]))


@pytest.mark.parametrize(("name", "content"), [("r.json", TRIVIA), ("r.jsonl", [TRIVIA_LINE])])
def test_triviaqa(name: str, content: Any, tmp_path: Path) -> None:
    references = write(tmp_path / name, content)
    given = write(tmp_path / "p.json", {"q": "The B!"})
    assert fastscore.score(given, references, recipe="triviaqa").summary["overall"]["exact_match"] == 1.0
    expected = ["a", "b", "C"] if name == "r.json" else ["a", "b"]
    assert read_references(references).table.column("references").to_pylist() == [expected]


def test_triviaqa_web_keys_are_question_and_document(tmp_path: Path) -> None:
    datum = {**TRIVIA["Data"][0], "EntityPages": [{"Filename": "e.txt"}], "SearchResults": [{"Filename": "s.txt"}]}  # type: ignore[index]
    gold = read_references(write(tmp_path / "r.json", {**TRIVIA, "Data": [datum], "Domain": "Web"}))
    assert gold.table.column("question_id").to_pylist() == ["q--e.txt", "q--s.txt"]


def test_nq_open_two_files_or_one(tmp_path: Path) -> None:
    gold = write(tmp_path / "r.jsonl", [{"question": "who", "answer": ["The A", "B"]}, {"question": "what", "answer": "c"}])
    given = write(tmp_path / "p.jsonl", [{"question": "what", "prediction": "C."}, {"question": "who", "prediction": "x"}])
    both = [{"question": q, "answer": a, "prediction": p} for q, a, p in (("who", ["b"], "b"), ("who", ["b"], "a"))]
    assert fastscore.score(given, gold, recipe="nq-open").items.column("exact_match").to_pylist() == [1.0, 0.0]
    one = write(tmp_path / "b.jsonl", both)
    assert fastscore.score(one, recipe="nq-open").items.column("exact_match").to_pylist() == [1.0, 0.0]
    assert fastscore.score(one, recipe="nq-open", references_column="answer").summary["overall"]["exact_match"] == 0.5


@pytest.mark.parametrize(("system", "em", "f1"), [("dpr", 40.91, 47.78), ("fid", 46.48, 53.69), ("r2d2", 52.35, 59.03)])
def test_nq_open_against_published(system: str, em: float, f1: float) -> None:
    overall = fastscore.score(shared_path(f"data/nq/nq-open-predictions-{system}.jsonl"), recipe="nq-open").summary["overall"]
    assert (round(100 * overall["exact_match"], 2), round(100 * overall["f1"], 2)) == (em, f1)


def test_lm_eval(tmp_path: Path) -> None:
    path = write(tmp_path / "samples_coqa.jsonl", [LM_EVAL])
    loaded = read_predictions(path)
    assert loaded.table.to_pylist() == [
        {"question_id": "3", "filter": "none", "prediction": "white\nx", "references": ["white", "it's"]}
    ]
    assert loaded.counts == {"printed_targets": 1}
    assert fastscore.score(path, recipe="lm-eval-coqa").items.column("exact_match").to_pylist() == [0.5]


def test_lm_eval_targets_and_responses(tmp_path: Path) -> None:
    def table(**changed: Any) -> Any:
        return read_predictions(write(tmp_path / "samples.jsonl", [{**LM_EVAL, **changed}])).table

    for target, references in (
        ("plain", ["plain"]),
        (["a", "b"], ["a", "b"]),
        (7, ["7"]),
        ("[1]", ["[1]"]),
        ("[x()]", ["[x()]"]),
    ):
        assert table(target=target).column("references").to_pylist() == [references]
    several = table(filtered_resps=[["a", "b"]])
    assert several.column("sample_id").to_pylist() == [0, 1]
    assert several.column("prediction").to_pylist() == ["a", "b"]
    with pytest.raises(FormatError, match="only generation tasks"):
        table(filtered_resps=[[-1.5, False]])
    with pytest.raises(FormatError, match="target must be"):
        table(target={"a": 1})


def test_lm_eval_filters_are_told_apart(tmp_path: Path) -> None:
    path = write(tmp_path / "samples.jsonl", [LM_EVAL, {**LM_EVAL, "filter": "strict"}])
    assert "--by filter" in " ".join(read_predictions(path).notes)
    assert set(fastscore.score(path, recipe="squad", by="filter").summary["groups"]["filter"]) == {"none", "strict"}


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("x.jsonl", '{"question": "a", "answer": ["b"]}\n{"question": "a"', "line 2 is not JSON"),
        ("x.jsonl", '{"question": "a", "answer": ["b"]}\n{"question": 3, "answer": ["b"]}', "line 2: Expected `str`, got `int`"),
        ("x.jsonl", '{"question": "a", "answer": ["b"]}\n{"question": "b"}', "record 2 has no field 'answer'"),
        ("x.jsonl", json.dumps(LM_EVAL) + "\n[]", "line 2: Expected `object`"),
        ("x.json", '[{"Conversation_no": 1, "Turn_no": "one", "Answer": "a"}]', "must be a whole number, got 'one'"),
        ("x.json", json.dumps(CJRC).replace('"answers": [', '"answers": [1, '), "answers"),
        ("x.jsonl", json.dumps(TRIVIA_LINE) + "\n" + json.dumps(TRIVIA_LINE), "'q' stands twice"),
        ("x.json", json.dumps(QUAC).replace('"yesno": "x"', '"yesno": 1'), "yesno"),
    ],
)
def test_broken_files_name_the_place(name: str, text: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(DataError) as error:
        read_references(path)
    assert said in str(error.value)
    assert str(path) in str(error.value)


def test_lone_surrogates_are_repaired_and_counted(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text('{"question": "a", "answer": ["\\ud83d"], "prediction": "\\ufffd"}')
    loaded = read_predictions(path)
    assert loaded.counts == {"lone_surrogates": 1}
    assert fastscore.score(path, recipe="nq-open").summary["overall"]["exact_match"] == 1.0

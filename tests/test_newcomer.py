"""What a newcomer gets wrong, and that one line says what to do: swapped files, other names, spreadsheets, URLs as outputs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from fastscore.cli import main

DATA = Path(__file__).resolve().parents[1] / "data"
REFERENCES = str(DATA / "coqa-references.json")
TURNS = [{"id": "sample-cnn-1", "turn_id": 1, "answer": "x"}, {"id": "sample-cnn-1", "turn_id": 2, "answer": "y"}]


def said(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    """The exit code and the one line on standard error."""
    code = main(list(arguments))
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.count("\n") == 1
    return code, shown.err


def renamed(**names: str) -> list[dict[str, Any]]:
    return [{names.get(key, key): value for key, value in turn.items()} for turn in TURNS]


@pytest.mark.parametrize(
    ("name", "content", "code", "words"),
    [
        ("p.json", renamed(id="story"), 3, "which has story, turn_id, answer); CoQA's predictions are [{id, turn_id, answer}]"),
        ("p.json", {"data": TURNS}, 3, "CoQA's predictions are [{id, turn_id, answer}]"),
        ("p.jsonl", renamed(id="question_id"), 2, "Known: answer, question_id, turn_id. --prediction NAME names another"),
        ("p.jsonl", renamed(id="question_id", answer="pred"), 2, "Did you mean 'pred'? --prediction NAME names another"),
        ("p.jsonl", renamed(id="question_id", answer="predicton"), 2, "Did you mean 'predicton'? --prediction NAME"),
        ("p.jsonl", renamed(id="question_id", answer="text"), 2, "Known: question_id, text, turn_id. --prediction NAME"),
        (
            "p.jsonl",
            renamed(answer="prediction"),
            2,
            "Known: id, prediction. Both sides need the key columns question_id",
        ),
        ("p.json", {"sample-cnn-1": "x"}, 2, "the key column 'turn_id' is not there. Known: prediction. Both sides need"),
        (
            "p.csv",
            "\ufeffquestion_id;turn_id;prediction\r\na;1;x\r\n",
            3,
            "the columns are cut by semicolons; save the file",
        ),
        ("p.csv", "question_id;turn_id;prediction\na;1;x, and y\n", 3, "the columns are cut by semicolons; save the file"),
        ("p.csv", "question_id\tturn_id\tprediction\na\t1\tx\n", 3, "the columns are cut by tabs; save the file with commas"),
        ("p.tsv", "question_id\tturn_id\tprediction\na\t1\tx\n", 3, "the columns are cut by tabs; save the file as .csv"),
    ],
)
def test_predictions_of_another_shape(
    name: str, content: Any, code: int, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / name
    if name.endswith(".jsonl"):
        content = "".join(json.dumps(row) + "\n" for row in content)
    file.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    found, line = said(capsys, "score", str(file), REFERENCES, "-r", "coqa")
    assert (found, words in line) == (code, True), line


def test_predictions_alone_lack_the_references(capsys: pytest.CaptureFixture[str]) -> None:
    code, line = said(capsys, "score", str(DATA / "coqa-predictions.json"), "-r", "coqa")
    assert code == 2
    assert "or the file of references is given as the second path" in line


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("score", "p.json"), "--recipe is missing (such as --recipe squad; fastscore recipes lists them); see fastscore score"),
        (("report", "p.parquet"), "--output is missing; see fastscore report --help"),
        (("explain",), "PREDICTIONS is missing; see fastscore explain --help"),
        (("score", "p.json", "--recipe"), "--recipe requires an argument"),
        (("score", "p.json", "--recipie", "squad"), "Unknown option: --recipie. Did you mean --recipe?"),
    ],
)
def test_what_is_required(arguments: tuple[str, ...], words: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, line = said(capsys, *arguments)
    assert (code, words in line) == (2, True), line


@pytest.mark.parametrize("output", ["s3://bucket/out/", "s3://bucket/out.parquet", "gs://bucket/x", "https://host/x.csv"])
@pytest.mark.parametrize("command", ["score", "rewards"])
def test_an_object_store_is_no_output(
    command: str, output: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    code, line = said(capsys, command, str(DATA / "generations.parquet"), "-r", "coqa", "-o", output)
    assert (code, f"-o {output}: object stores are read, not written to" in line) == (2, True), line
    assert list(tmp_path.iterdir()) == []


def test_an_object_store_is_no_output_of_what_is_held_in_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    pair = (str(DATA / "coqa-predictions.json"), REFERENCES)
    code, line = said(capsys, "score", *pair, "-r", "coqa", "-o", "s3://bucket/out.parquet")
    assert (code, "object stores are read, not written to" in line) == (2, True), line
    code, line = said(capsys, "retrieval", str(DATA / "ranking.parquet"), "-o", "s3://bucket/out.parquet")
    assert (code, "object stores are read, not written to" in line) == (2, True), line


@pytest.mark.parametrize(
    ("extract", "words"),
    [
        ("answer", "Did you mean 'tag:answer'? Steps are tag:NAME, boxed,"),
        ("<answer>", "Did you mean 'tag:answer'?"),
        ("boxd", "Did you mean 'boxed'?"),
        ("#### ", "there is no step '#### '. Steps are tag:NAME"),
    ],
)
def test_a_step_of_extraction_is_shown_as_it_is_written(extract: str, words: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, line = said(capsys, "rewards", str(DATA / "generations.parquet"), "-r", "squad", "--extract", extract)
    assert (code, words in line) == (2, True), line


def test_columns_of_rollouts_are_named_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "rollouts.parquet"
    pl.DataFrame({"response": ["x"], "gold": ["x"], "chat": [[{"role": "user", "content": "x"}]]}).write_parquet(file)
    given = ("rewards", str(file), "-r", "squad")
    assert "Did you mean 'response'? --prediction NAME" in said(capsys, *given)[1]
    named = (*given, "--prediction", "response")
    assert "Known: chat, gold, response. --references NAME" in said(capsys, *named)[1]
    assert "Known: chat, gold, response." in said(capsys, *named, "--references", "gold", "--group-by", "uid")[1]
    assert "'chat' is large_list" in said(capsys, *given, "--prediction", "chat.content", "--references", "gold")[1]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--fail-under", "F1=0.5"), "--fail-under: there is no metric 'F1'. Did you mean 'f1'?"),
        (("--top-n", "5"), "--top-n goes with a recipe that scores spans, such as germanquad; coqa scores text alone"),
    ],
)
def test_what_a_recipe_cannot_give_is_said_before_it_scores(
    arguments: tuple[str, ...], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code, line = said(capsys, "score", "nowhere.parquet", "-r", "coqa", *arguments)
    assert (code, words in line) == (2, True), line


def test_prompts_with_too_few_scored_samples_are_said_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "rollouts.parquet"
    pl.DataFrame({"prompt_id": [1, 1], "prediction": ["x", None], "references": [["x"], ["x"]]}).write_parquet(file)
    given = ["rewards", str(file), "-r", "squad", "--pass-at", "2", "-q"]
    assert main(given) == 0
    assert "0 prompts, 1 with fewer scored" in capsys.readouterr().out
    assert main([*given, "--null", "zero"]) == 0
    assert "1 prompts" in capsys.readouterr().out


def test_rollouts_without_the_references_key_or_a_prompts_id(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "rollouts.parquet"
    chat = [[{"role": "user", "content": "x"}]]
    pl.DataFrame({"uid": [1], "prompt": chat, "prediction": ["x"], "references": [["x"]]}).write_parquet(file)
    given = ("rewards", str(file), "-r", "squad")
    code, line = said(capsys, *given, "--references-file", REFERENCES)
    assert (code, "the key column 'question_id' is not there." in line, "--id NAME" in line) == (2, True, True)
    code, line = said(capsys, *given, "--group-by", "prompt")
    assert (code, "text or integer is allowed; a prompt's own id, or its text, names it" in line) == (2, True)


def test_items_whose_key_is_not_whole_are_told_the_option(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "items.parquet"
    assert main(["score", str(DATA / "generations.parquet"), "-r", "coqa", "-q", "-o", str(file)]) == 0
    capsys.readouterr()
    code, line = said(capsys, "compare", str(file), str(file), "--id", "question_id")
    assert (code, "Name all the columns that make an item's key (--id, once for each)." in line) == (3, True)


def test_a_file_where_a_column_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    for command in ("score", "rewards"):
        code, line = said(capsys, command, str(DATA / "generations.parquet"), "--references", REFERENCES, "-r", "coqa")
        assert (code, "--references names a column; give the file as the second path or with --references-file" in line) == (
            2,
            True,
        )


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("-o", "folder/"), "a folder takes the shards of tables alone"),
        (("--where", "turn_id = 1"), "--where: tables that are streamed alone, not JSON layouts"),
        (("--memory", "1GiB", "--storage-option", "a=b"), "--memory, --storage-option: tables that are streamed alone"),
    ],
)
def test_what_json_layouts_do_not_take(arguments: tuple[str, ...], words: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, line = said(capsys, "score", str(DATA / "coqa-predictions.json"), REFERENCES, "-r", "coqa", *arguments)
    assert (code, words in line) == (2, True), line


def test_a_scheme_that_nothing_reads(capsys: pytest.CaptureFixture[str]) -> None:
    code, line = said(capsys, "score", "s4://bucket/in/*.parquet", "-r", "coqa")
    assert (code, "s4:// is no place that can be read; s3, gs, az, hf, https" in line) == (2, True)


@pytest.mark.parametrize("lists", [["['a', 'b']", "['c']"], ['["a", "b"]', None]])
def test_lists_in_csv_are_said_to_be_one_text(
    lists: list[str | None], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pl.DataFrame({"prediction": ["a", "[c]"], "references": lists}).write_csv(tmp_path / "items.csv")
    for further in ([], ["--ci"]):
        assert main(["score", str(tmp_path / "items.csv"), "-r", "squad", *further]) == 0
        notes = capsys.readouterr().err
        assert "column 'references' has lists written as text, and each is taken as one text" in notes
        assert "'prediction'" not in notes

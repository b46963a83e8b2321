"""`explain` against `naive` and `score_one`: the words, what was left out, sets that add up, and text that is safe to print."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import fastscore
from fastscore import naive
from fastscore.cli import main
from fastscore.explanation import Explanation, explain
from fastscore.recipes import RECIPES
from tests.strategies import texts

RECIPE = st.sampled_from(list(RECIPES.values()))


@given(texts(), st.lists(texts(), max_size=4), RECIPE)
def test_parts_against_naive(prediction: str, references: list[str], recipe: fastscore.Recipe) -> None:
    found = explain(prediction, references, recipe)
    assert found.scores == naive.score_one(prediction, references, recipe)
    counted = naive.extract_answer(prediction, recipe)
    assert found.prediction.counted == counted
    assert list(found.prediction.words) == ([] if counted is None else naive.words(counted, recipe))
    for side, text in zip((r.side for r in found.references), references, strict=True):
        assert list(side.words) == naive.words(text, recipe)
    kept = naive.filter_references(references, recipe)[: 1 if recipe.references == "first" else None]
    if any(text for _, text in kept):
        assert [r.index for r in found.references if r.left_out is None] == [i for i, _ in kept]
    json.dumps(found.to_dict(), allow_nan=False)
    assert all(line.isprintable() for line in str(found).splitlines())


@given(texts(), st.lists(texts(), min_size=2, max_size=4), st.sampled_from(["coqa", "cjrc", "lm-eval-coqa", "topiocqa"]))
def test_sets_add_up_to_the_score(prediction: str, references: list[str], recipe: str) -> None:
    found = explain(prediction, references, recipe)
    if found.sets:
        match, f1 = 0.0, 0.0
        for _, m, f in found.sets:
            match, f1 = match + m, f1 + f
        assert (match / len(found.sets), f1 / len(found.sets)) == (found.scores["exact_match"], found.scores["f1"])


@pytest.mark.parametrize(
    ("prediction", "references", "recipe", "reason"),
    [
        ("yes", ["yes", "yes it is", "yeah", "correct"], "coqa", "exact match (0 + 1 + 1 + 1) / 4 = 0.75"),
        ("", ["the"], "squad", "neither side has a word, so by the empty rule 'zero' it is 0"),
        ("x", ["the"], "squad", "the reference has no word"),
        ("yes it is", ["yes"], "hotpotqa", "match as a whole alone"),
        ("x", ["CANNOTANSWER"], "quac", "CANNOTANSWER matches itself alone"),
        ("x", [], "squad_v2", "compared with one empty reference"),
        ("x", [], "squad", "no reference counts"),
        (None, ["x"], "squad", "it counts 0 and stays in the mean"),
        ("no tag", ["x"], "search-r1-em", "null_prediction"),
        ("Straße", ["STRASSE"], "squad", "with the option case='casefold' reference 0 would match"),
        ("é", ["e\u0301"], "squad", "with the option unicode='nfc' reference 0 would match"),
        ("a\u200bb", ["ab"], "squad", "with the option invisible='delete' reference 0 would match"),
        ("New–York", ["New-York"], "squad", "with the option fold_quotes_and_dashes=True reference 0 would match"),
        ("A", ["a"], "germanquad", "with the option case='lower' reference 0 would match"),
    ],
)
def test_reasons(prediction: str | None, references: list[str | None], recipe: str, reason: str) -> None:
    assert reason in " ".join(explain(prediction, references, recipe).reasons)


def test_what_is_left_out() -> None:
    def out(references: list[str | None], recipe: str) -> list[Any]:
        return [r.left_out for r in explain("x", references, recipe).references]

    assert out(["white", "White", "x"], "lm-eval-coqa")[1].startswith("the same as an earlier one")
    assert out(["y", "CANNOTANSWER"], "quac") == ["outvoted (cannotanswer-vote)", None]
    assert out(["the", "y"], "squad_v2") == ["its normal form is empty (non-empty)", None]
    assert out(["the", "a"], "squad_v2") == [None, None]
    assert out(["x", None, "y"], "hotpotqa") == [None, "null", "only the first reference counts"]


def test_steps_show_what_each_part_changed() -> None:
    steps = explain("The  Cat!", "cat", "squad").prediction.steps
    assert steps == (("case", "the cat!"), ("punctuation", "the cat"), ("articles", "cat"))
    assert explain("阿b", "x", "mlqa-zh").prediction.steps == (("words", "阿 b"),)


def test_public_name_is_the_function_whatever_was_imported_before() -> None:
    assert fastscore.explain is explain
    assert isinstance(fastscore.explain("a", "b", "squad"), Explanation)


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, str]:
    gold, given = tmp_path / "r.jsonl", tmp_path / "p.jsonl"
    gold.write_text('{"question_id": "q1", "references": ["\\u001b[31mred", "b"]}\n{"question_id": "q2", "references": ["c"]}\n')
    given.write_text('{"question_id": "q1", "prediction": "\\u001b[31mred"}\n')
    return str(given), str(gold)


def test_command_escapes_control_characters(files: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", *files, "--id", "q1", "-r", "coqa", "-r", "squad"]) == 0
    shown = capsys.readouterr().out
    assert "\x1b" not in shown
    assert "«\\x1b[31mred»" in shown
    assert shown.count("prediction  «") == 2


def test_command_says_what_is_missing(files: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", *files, "--id", "q2", "-r", "coqa"]) == 0
    assert "missing_prediction" in capsys.readouterr().out


def test_command_gives_json(files: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", *files, "--id", "q1", "-r", "coqa", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found[0]["item"] == {"question_id": "q1"}
    assert found[0]["scores"]["exact_match"] == 0.5


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--id", "q11", "-r", "coqa"], "Did you mean 'q1'"),
        (["--id", "q1", "--id", "2", "-r", "coqa"], "at most 1 values"),
        (["--id", "q1", "-r", "cqoa"], "Did you mean 'coqa'"),
        (["--id", "q1"], "--recipe"),
    ],
)
def test_command_mistakes(files: tuple[str, str], arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", *files, *arguments]) == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1

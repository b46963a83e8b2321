"""`differ` against scores of `naive` row by row, its causes on pairs whose cause is known, and the command."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fastscore
from fastscore import naive
from fastscore.cli import main
from fastscore.differences import CAUSES, differ
from fastscore.errors import UsageError
from fastscore.recipes import PARTS, RECIPES, Recipe
from tests.strategies import texts

ROWS = st.lists(st.tuples(st.none() | texts(), st.lists(texts(), max_size=3)), max_size=6)
RECIPE = st.sampled_from(list(RECIPES.values()))


def table(rows: list[tuple[str | None, list[str]]]) -> pa.Table:
    texts = pa.array([p for p, _ in rows], pa.string())
    return pa.table({"prediction": texts, "references": pa.array([r for _, r in rows], pa.list_(pa.string()))})


@given(ROWS, RECIPE, RECIPE)
def test_against_naive(rows: list[tuple[str | None, list[str]]], one: Recipe, two: Recipe) -> None:
    parts = [name for name, group in CAUSES.items() if any(getattr(one, p) != getattr(two, p) for p in group)]
    if not parts:
        with pytest.raises(UsageError, match="same parts"):
            differ(table(rows), one, two)
        return

    def scores(recipe: Recipe, row: tuple[str | None, list[str]]) -> tuple[Any, Any]:
        found = naive.score_one(row[0], row[1], recipe)
        return found["exact_match"], found["f1"]

    found = differ(table(rows), one, two, examples=9)
    unlike = [i for i, row in enumerate(rows) if scores(one, row) != scores(two, row)]
    assert found.rows == len(unlike)
    assert sorted(e.row for e in found.examples) == unlike
    for example in found.examples:
        row = rows[example.row]
        assert (tuple(example.first.values()), tuple(example.second.values())) == (scores(one, row), scores(two, row))
        expected = []
        for name in parts:
            changed = replace(one, **{p: getattr(two, p) for p in CAUSES[name]})
            if scores(changed, row) != scores(one, row):
                expected.append(name)
        assert list(example.causes) == (expected or ["only together"])
    for cause in found.causes:
        named = [e for e in found.examples if cause.name in e.causes]
        assert (cause.rows, cause.sole) == (len(named), sum(len(e.causes) == 1 for e in named))
    json.dumps(found.to_dict(), allow_nan=False)
    assert all(line.isprintable() for line in str(found).splitlines())


def test_every_part_has_a_cause() -> None:
    assert [p for parts in CAUSES.values() for p in parts] == list(PARTS)


@pytest.mark.parametrize(
    ("prediction", "references", "one", "two", "cause"),
    [
        ("Der Hund", ["Hund"], "squad", "mlqa-de", "articles"),
        ("„Berlin“", ["Berlin"], "squad", "mlqa-de", "punctuation"),
        ("", ["the"], "squad", "coqa-max", "empty rule"),
        ("yes", ["yes", "yes it is", "yeah"], "coqa", "coqa-max", "references rule"),
        ("yes it is", ["yes"], "squad", "hotpotqa", "whole answers"),
        ("x\ny", ["x"], "coqa", "lm-eval-coqa", "answer"),
        ("white", ["white", "White", "it was white"], "coqa", "lm-eval-coqa", "reference filter"),
        ("A", ["a"], "germanquad", "squad", "case"),
        ("50 €", ["50"], "mlqa-zh", "cjrc", "punctuation"),
    ],
)
def test_known_causes(prediction: str, references: list[str], one: str, two: str, cause: str) -> None:
    found = differ(table([(prediction, references)]), one, two)
    assert cause in found.examples[0].causes


def test_a_score_against_none_differs() -> None:
    found = differ(table([("x", []), ("x", ["x"])]), "squad", "squad_v2")
    assert (found.count, found.rows) == (2, 1)
    assert found.examples[0].first == {"exact_match": None, "f1": None}
    assert found.examples[0].causes == ("reference filter",)


def test_means_and_public_name() -> None:
    found = fastscore.differ(table([("yes", ["yes", "no"])] * 3), "coqa", "coqa-max")
    assert found.means["exact_match"] == (0.5, 1.0, 0.5)


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    path = tmp_path / "rows.jsonl"
    path.write_text('{"question_id": "q1", "prediction": "\\u001b Der Hund", "references": ["Hund"]}\n')
    return [str(path)]


def test_command(files: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["differ", *files, "-r", "squad", "-r", "mlqa-de"]) == 0
    shown = capsys.readouterr().out
    assert "1 of 1 items differ" in shown
    assert "\x1b" not in shown
    assert main(["differ", *files, "-r", "squad", "-r", "mlqa-de", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["causes"][0]["name"] == "articles"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["-r", "squad"], "two recipes are needed"),
        (["-r", "squad", "-r", "nq-open"], "the same parts"),
        (["-r", "squad", "-r", "mlqa-df"], "Did you mean 'mlqa-d"),
        (["-r", "squad", "-r", "coqa", "--examples", "-1"], "examples"),
    ],
)
def test_command_mistakes(files: list[str], arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["differ", *files, *arguments]) == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1

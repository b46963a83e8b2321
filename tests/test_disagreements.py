"""Pairs on which well-known scorers disagree, with the values that their scripts give, for the fast code and for `naive`."""

from __future__ import annotations

import pytest

from fastscore import naive, score_one
from fastscore.recipes import RECIPES

#: recipe, prediction, references, exact match, F1; from the table of disagreeing pairs, None where it gives one value alone.
PAIRS: list[tuple[str, str, list[str], float | None, float | None]] = [
    ("coqa", "yes", ["yes", "yes it is", "yeah", "correct"], 0.75, 0.875),
    ("squad_v2", "yes", ["yes", "yes it is", "yeah", "correct"], 1.0, 1.0),
    ("coqa-max", "yes", ["yes", "yes it is", "yeah", "correct"], 1.0, 1.0),
    ("squad", "", ["the"], 1.0, 0.0),
    ("squad_v2", "", ["the"], 1.0, 1.0),
    ("coqa", "", ["the"], 1.0, 1.0),
    ("coqa", "", ["the", "cat"], 0.5, 0.5),
    ("squad_v2", "", ["the", "cat"], 0.0, 0.0),
    ("squad", "", ["the", "cat"], 1.0, 0.0),
    ("squad", "Der Hund", ["Hund"], 0.0, None),
    ("mlqa-de", "Der Hund", ["Hund"], 1.0, 1.0),
    ("squad", "„Berlin“", ["Berlin"], 0.0, 0.0),
    ("mlqa-de", "„Berlin“", ["Berlin"], 1.0, 1.0),
    ("squad", "Vitamin A", ["Vitamin"], 1.0, 1.0),
    ("mlqa-de", "Vitamin A", ["Vitamin"], 0.0, None),
    ("squad", "3.5", ["35"], 1.0, 1.0),
    ("squad", "New-York", ["New York"], 0.0, 0.0),
    ("triviaqa", "New-York", ["New York"], 1.0, 1.0),
    ("squad", "yes it is", ["yes"], 0.0, 0.5),
    ("hotpotqa", "yes it is", ["yes"], 0.0, 0.0),
    ("mlqa-de", "50 €", ["50"], 0.0, None),
    ("cjrc", "50 €", ["50"], 1.0, 1.0),
    ("squad", "ΟΔΌΣ", ["οδός"], 1.0, 1.0),
    ("squad", "İstanbul", ["i̇stanbul"], 1.0, 1.0),
    ("squad", "İstanbul", ["istanbul"], 0.0, 0.0),
    ("squad", "STRASSE", ["Straße"], 0.0, 0.0),
    ("squad", "Paris Paris Paris Paris Paris", ["Paris"], 0.0, 1 / 3),
    ("lm-eval-coqa", "white", ["white", "White", "white", "it was white"], 0.5, 0.75),
    ("coqa", "white", ["white", "White", "white", "it was white"], 1.0, 1.0),
    ("coqa", "a", ["a", "b b", "c c", "d d"], 0.75, None),
    ("squad", "à b", ["a\u0300 b"], 0.0, None),
]


@pytest.mark.parametrize(("recipe", "prediction", "references", "exact", "f1"), PAIRS)
def test_against_official(recipe: str, prediction: str, references: list[str], exact: float | None, f1: float | None) -> None:
    fast = score_one(prediction, references, recipe)
    slow = naive.score_one(prediction, references, RECIPES[recipe])
    assert fast == slow
    if exact is not None:
        assert fast["exact_match"] == exact
    if f1 is not None:
        assert fast["f1"] == pytest.approx(f1, abs=1e-15)

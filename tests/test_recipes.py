"""The catalogue's promises in writing: what each part prints in a signature, what names mean, what is no signature."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

import pytest

from fastscore.errors import UsageError
from fastscore.recipes import ALIASES, PARTS, RECIPES, Recipe, find_recipe, resolve_recipe

SIGNATURES = Path(__file__).parent / "golden" / "signatures.txt"
#: What people type (issue threads, cards and model hubs), and whose rule they mean by it.
MEANT = {
    "coqa-official": "coqa",
    **dict.fromkeys(("squad-v1", "squad_v1", "squad-v1.1", "squad1", "hf-squad"), "squad"),
    **dict.fromkeys(("squad-v2", "squad2", "hf-squad-v2", "hf-squad_v2"), "squad_v2"),
    **dict.fromkeys(("gelectra", "german-quad", "farm"), "germanquad"),
    "mlqa": "mlqa-en",
    **dict.fromkeys(("trivia", "trivia_qa"), "triviaqa"),
    **dict.fromkeys(("hotpot", "hotpot_qa"), "hotpotqa"),
    **dict.fromkeys(("nq", "nq_open"), "nq-open"),
    "search-r1": "search-r1-em",
    "verl": "verl-em",
}


def without_versions(signature: str) -> str:
    return re.sub(r"\|unicode:[^|]*\|fastscore:[^|]*$", "", signature)


def every_part_in_turn() -> list[Recipe]:
    """The catalogue, then SQuAD with each value of each part."""
    base = dataclasses.replace(RECIPES["squad"], name="part")
    return [
        *RECIPES.values(),
        *(dataclasses.replace(base, **{part: value}) for part, values in PARTS.items() for value in values),
    ]


def test_signatures_are_those_that_were_printed_before() -> None:
    """A signature that somebody has noted must be printed, and read, by every later version."""
    printed = [without_versions(recipe.signature) for recipe in every_part_in_turn()]
    assert printed == SIGNATURES.read_text(encoding="utf-8").splitlines()
    assert [Recipe.from_signature(recipe.signature) for recipe in every_part_in_turn()] == every_part_in_turn()


@pytest.mark.parametrize(("typed", "meant"), MEANT.items())
def test_what_people_type_is_understood_with_a_note(typed: str, meant: str) -> None:
    for name in (typed, typed.upper()):
        found, note = resolve_recipe(name)
        assert found is RECIPES[meant]
        assert note is not None
        assert repr(meant) in note


def test_all_aliases_are_named_here() -> None:
    assert set(ALIASES) == set(MEANT)


@pytest.mark.parametrize("text", ["squad|", "|norm:lower|words:split", "squad|colour:red", "squad|norm:lower"])
def test_what_is_no_signature_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="signature"):
        find_recipe(text)


@pytest.mark.parametrize("name", ["a|b", "a\nb", "a\rb", "", "\x1b[31m"])
def test_a_name_that_would_break_a_signature_is_refused(name: str) -> None:
    with pytest.raises(UsageError, match="recipe name"):
        Recipe(name=name)

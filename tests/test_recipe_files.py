"""Recipes of one's own from TOML, and the catalogue as Markdown."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

import fastscore
from fastscore.catalogue import PHRASES, catalogue_markdown
from fastscore.cli import main
from fastscore.errors import DataError, UsageError
from fastscore.recipe_files import command_recipe, read_recipes
from fastscore.recipes import RECIPES, Recipe

KIND = """
[recipes.german-kind]
base = "mlqa-de"
unicode = "nfc"
case = "casefold"
invisible = "delete"
fold_quotes_and_dashes = true

[recipes.kinder]
base = "german-kind"
words = "characters"
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_recipes_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(KIND)
    found = read_recipes(path)
    assert list(found) == ["german-kind", "kinder"]
    parts = {"unicode": "nfc", "case": "casefold", "invisible": "delete", "fold_quotes_and_dashes": True}
    kind = dataclasses.replace(RECIPES["mlqa-de"], name="german-kind", **parts)
    assert found["german-kind"] == kind
    assert found["kinder"] == dataclasses.replace(kind, name="kinder", words="characters")
    assert Recipe.from_signature(found["kinder"].signature) == found["kinder"]
    assert fastscore.score_one("Die STRASSE\u200b", ["e\u0301", "straße"], found["german-kind"])["exact_match"] == 1.0


def test_a_base_may_stand_below(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text('[recipes.a]\nbase = "b"\n[recipes.b]\ncase = "lower"\n')
    assert read_recipes(path)["a"].case == "lower"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('[recipes.x]\ncaes = "lower"', "no part is called 'caes'. Did you mean 'case'?"),
        ('[recipes.x]\ncase = "lover"', "case must be one of 'keep', 'lower', 'casefold', got 'lover'"),
        ('[recipes.x]\nbase = "sqaud"', "base 'sqaud' is unknown. Did you mean 'squad'?"),
        ("[recipes.x]\nbase = 3", "base must be a recipe's name, got 3"),
        ("[recipes.x]\ncase = 1", "case must be one of"),
        ('[recipes.x]\narticles = ["a"]', "articles must be one of"),
        ("[recipes.x]\nfold_quotes_and_dashes = 1", "fold_quotes_and_dashes must be one of"),
        ("[recipes.x]\nsource = 1", "source must be text"),
        ('[recipes.x]\nname = "y"', "no part is called 'name'"),
        ("[recipes.squad]", "'squad' is a published recipe's name"),
        ("[recipes.GELECTRA]", "is a published recipe's name"),
        ('[recipes."a|b"]', "without '|'"),
        ('[recipes.a]\nbase = "b"\n[recipes.b]\nbase = "a"', "in a ring: a -> b -> a"),
        ("[recipe.x]", "tables [recipes.NAME] and [COMMAND] of options are allowed, got 'recipe'. Did you mean 'recipes'?"),
        ("recipes = 3", "must be tables"),
        ("[recipes", "not TOML"),
    ],
)
def test_mistakes_name_the_file_and_what_to_do(text: str, said: str, here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = here / "fastscore.toml"
    path.write_text(text)
    with pytest.raises((UsageError, DataError)) as error:
        read_recipes(path)
    assert said in str(error.value)
    assert str(error.value).startswith(str(path))
    assert main(["recipes", "mine"]) in (2, 3)
    assert capsys.readouterr().err.count("\n") == 1


def test_the_command_finds_the_file_of_the_folder(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["recipes", "kinder"]) == 2
    (here / "fastscore.toml").write_text(KIND)
    assert main(["recipes", "kinder"]) == 0
    said = capsys.readouterr()
    assert said.out.startswith("kinder|norm:nfc,invisible-deleted,quotes-and-dashes-folded,casefold,punct-unicode,articles-de|")
    assert "is from fastscore.toml" in said.err
    assert main(["recipes", "german-knd"]) == 2
    assert "Did you mean 'german-kind'?" in capsys.readouterr().err
    rows = here / "rows.jsonl"
    rows.write_text('{"question_id": "q", "prediction": "STRASSE", "references": ["Straße"]}\n')
    assert main(["differ", str(rows), "-r", "mlqa-de", "-r", "german-kind"]) == 0
    assert "1 of 1 items differ" in capsys.readouterr().out


def test_published_names_do_not_read_the_file(here: Path) -> None:
    (here / "fastscore.toml").write_text("not toml [")
    assert command_recipe("squad") == (RECIPES["squad"], None)


def test_a_named_file_must_be_there(here: Path) -> None:
    with pytest.raises(UsageError, match="no such file"):
        command_recipe("squad", here / "absent.toml")


def test_markdown_has_a_line_for_each_recipe(capsys: pytest.CaptureFixture[str]) -> None:
    assert list(PHRASES) == list(RECIPES)
    lines = catalogue_markdown().splitlines()
    assert len(lines) == len(RECIPES) + 2
    assert {line.count("|") for line in lines} == {9}
    assert main(["recipes", "--markdown"]) == 0
    assert capsys.readouterr().out == catalogue_markdown() + "\n"
    own = dataclasses.replace(RECIPES["squad"], name="own", source="a|b")
    assert catalogue_markdown([own]).splitlines()[2].endswith("a\\|b |")

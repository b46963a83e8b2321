"""Recipes of one's own from a TOML file: tables ``[recipes.NAME]`` come in, `Recipe` objects go out.

A table holds parts of a recipe and, optionally, ``base``, the name of a recipe (published or from the same file) to start
from. It is data: nothing in it is run.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fastscore.errors import FormatError, UnknownNameError, UsageError, did_you_mean
from fastscore.formats.files import check_file
from fastscore.recipes import ALIASES, RECIPES, Recipe, resolve_recipe

__all__ = ["DEFAULT_FILE", "command_recipe", "own_recipes", "read_recipes"]

#: How many recipes may start from each other in a chain.
_MOST_BASES = 100
#: Tables that hold the options of a command, which the command reads.
_COMMANDS = ("compare", "differ", "explain", "merge", "report", "retrieval", "rewards", "score", "warmup")

#: The file that the command reads from the working folder where no other is named.
DEFAULT_FILE = "fastscore.toml"


def read_recipes(path: str | Path) -> dict[str, Recipe]:
    """Read the recipes of a TOML file, by name.

    Raises
    ------
    UsageError
        There is no such file, a name is a published recipe's, or a part or its value is not allowed.
    FormatError
        The file is no TOML, or ``recipes`` is no table of tables.
    UnknownNameError
        A base is unknown.
    """
    file = Path(path)
    check_file(file)
    try:
        data = tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"{file}: cannot be read ({error.strerror or error})") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise FormatError(f"{file}: not TOML: {' '.join(str(error).split())}") from None
    unknown = [key for key in data if key != "recipes" and key not in _COMMANDS]
    if unknown:
        close = did_you_mean(unknown[0], ["recipes", *_COMMANDS])
        raise UsageError(f"{file}: tables [recipes.NAME] and [COMMAND] of options are allowed, got {unknown[0]!r}.{close}")
    tables = data.get("recipes", {})
    if not isinstance(tables, dict) or not all(isinstance(t, dict) for t in tables.values()):
        raise FormatError(f"{file}: recipes must be tables [recipes.NAME] of parts")
    made: dict[str, Recipe] = {}
    for name in tables:
        _make(name, tables, made, (), file)
    return {name: made[name] for name in tables}


def own_recipes(file: str | Path | None = None) -> dict[str, Recipe]:
    """The recipes of `file`, or where none is given those of `fastscore.toml` of the working folder, if it is there."""
    if file is not None:
        return read_recipes(file)
    return read_recipes(DEFAULT_FILE) if Path(DEFAULT_FILE).is_file() else {}


def command_recipe(name: str, file: str | Path | None = None) -> tuple[Recipe, str | None]:
    """The recipe that a command's option names, and a note where there is one to say.

    A published name, alias or signature is what the catalogue says; other names are looked for in `own_recipes`.

    Raises
    ------
    UnknownNameError
        No recipe has that name.
    UsageError, FormatError
        As `read_recipes`.
    """
    if file is None and (name in RECIPES or "|" in name):
        return resolve_recipe(name)
    own = own_recipes(file)
    if name in own:
        return own[name], f"recipe {name!r} is from {DEFAULT_FILE if file is None else file}"
    if own and name.lower() not in {*RECIPES, *ALIASES} and "|" not in name:
        raise UnknownNameError(f"recipe: no recipe is called {name!r}.{did_you_mean(name, [*own, *RECIPES, *ALIASES])}")
    return resolve_recipe(name)


def _make(name: str, tables: Mapping[str, Any], made: dict[str, Recipe], waiting: tuple[str, ...], file: Path) -> Recipe:
    """Make a recipe, and the recipes of the same file that it starts from before it."""
    if name in made:
        return made[name]
    if len(waiting) > _MOST_BASES:
        raise UsageError(f"{file}: {waiting[0]!r} starts from more than {_MOST_BASES} recipes, one from the other")
    if name in waiting:
        raise UsageError(f"{file}: recipes start from each other in a ring: {' -> '.join((*waiting, name))}")
    if name in RECIPES or name.lower() in ALIASES:
        raise UsageError(f"{file}: {name!r} is a published recipe's name; a recipe of your own needs another one")
    parts = dict(tables[name])
    base = parts.get("base")
    parts.setdefault("source", file.name if base is None else f"{file.name}, from {base}")
    try:
        if base is not None and not isinstance(base, str):
            raise UsageError(f"recipe {name!r}: base must be a recipe's name, got {base!r}")
        if base is not None and base in tables:
            parts["base"] = _make(base, tables, made, (*waiting, name), file)
        elif base is not None and base.lower() not in {*RECIPES, *ALIASES} and "|" not in base:
            close = did_you_mean(base, [*tables, *RECIPES, *ALIASES])
            raise UnknownNameError(f"recipe {name!r}: base {base!r} is unknown.{close}")
        made[name] = Recipe.from_mapping(name, parts)
    except UnknownNameError as error:
        raise UnknownNameError(str(error) if str(error).startswith(str(file)) else f"{file}: {error}") from None
    except UsageError as error:
        raise UsageError(str(error) if str(error).startswith(str(file)) else f"{file}: {error}") from None
    return made[name]

"""`fastscore recipes`: the catalogue, or one recipe with all its parts."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from fastscore.commands.console import print_table, say

__all__ = ["recipes"]


def recipes(
    name: str | None = None,
    /,
    *,
    markdown: Annotated[bool, Parameter(negative=())] = False,
    recipes: Path | None = None,
) -> None:
    """List the recipes, or print one with all its parts.

    Parameters
    ----------
    name
        A recipe's name, alias or signature.
    markdown
        Print the table of the catalogue as Markdown, as it stands in the README.
    recipes
        A TOML file with recipes of your own; without it `fastscore.toml` of the working folder is read where it is there.
    """
    import dataclasses

    from rich.table import Table
    from rich.text import Text

    from fastscore.catalogue import catalogue_markdown
    from fastscore.recipe_files import command_recipe, own_recipes
    from fastscore.recipes import RECIPES
    from fastscore.report import safe_text

    if markdown:
        shown = None if name is None else [command_recipe(name, recipes)[0]]
        print(catalogue_markdown(shown))
        return
    if name is None:
        table = Table("recipe", "signature", "source", show_lines=False)
        for found in (*RECIPES.values(), *own_recipes(recipes).values()):
            parts = found.signature.partition("|")[2].partition("|unicode:")[0]
            table.add_row(*(Text(safe_text(text)) for text in (found.name, parts, found.source)))
        print_table(table, 200)
        return
    found, note = command_recipe(name, recipes)
    if note:
        say(note)
    print(found.signature)
    for part in dataclasses.fields(found):
        print(f"  {part.name} = {getattr(found, part.name)!r}")

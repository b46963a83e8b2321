"""`fastscore recipes`: the catalogue, or one recipe with all its parts."""

from __future__ import annotations

from fastscore.commands.console import print_table, say

__all__ = ["recipes"]


def recipes(name: str | None = None, /) -> None:
    """List the recipes, or print one with all its parts.

    Parameters
    ----------
    name
        A recipe's name, alias or signature.
    """
    import dataclasses

    from rich.table import Table
    from rich.text import Text

    from fastscore.recipes import RECIPES, resolve_recipe

    if name is None:
        table = Table("recipe", "signature", "source", show_lines=False)
        for found in RECIPES.values():
            table.add_row(found.name, Text(found.signature.partition("|")[2].partition("|unicode:")[0]), found.source)
        print_table(table, 200)
        return
    found, note = resolve_recipe(name)
    if note:
        say(note)
    print(found.signature)
    for part in dataclasses.fields(found):
        print(f"  {part.name} = {getattr(found, part.name)!r}")

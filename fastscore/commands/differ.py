"""`fastscore differ`: on how many items two scorers disagree, by how much, why, and the worst examples."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from fastscore.commands.console import print_table, say

__all__ = ["differ"]


def differ(
    predictions: Path,
    references: Path | None = None,
    /,
    *,
    recipe: Annotated[list[str], Parameter(alias="-r", negative=())],
    examples: int = 5,
    json: Annotated[bool, Parameter(negative=())] = False,
    recipes: Path | None = None,
    prediction: str = "prediction",
    references_column: str = "references",
    id: Annotated[list[str] | None, Parameter(alias="--key", negative=())] = None,
    format: str | None = None,
    references_format: str | None = None,
    threads: int | None = None,
    quiet: Annotated[bool, Parameter(alias="-q", negative=())] = False,
) -> None:
    """On how many items two scorers disagree, the mean difference, the kinds of cause, and the worst examples.

    A cause is a part of the recipe whose single change, from the first recipe's to the second's, alters the item's score.

    Parameters
    ----------
    predictions
        File of predictions, as for `fastscore score`.
    references
        File of references; without it the predictions' file has a column of them.
    recipe
        The two recipes: give it twice.
    examples
        How many of the items that differ most to show.
    json
        Print everything as JSON.
    recipes
        A TOML file with recipes of your own; without it `fastscore.toml` of the working folder is read where it is there.
    prediction
        What the column of predictions is called.
    references_column
        What the column of references is called.
    id
        A key column of the join; may be given several times.
    format
        Format of the predictions' file, where its content should not be asked.
    references_format
        Format of the references' file.
    threads
        How many threads may work; by default all cores.
    quiet
        No notes on standard error.
    """
    from fastscore.commands.inputs import items_of
    from fastscore.differences import differ as differences
    from fastscore.errors import UsageError
    from fastscore.recipe_files import command_recipe
    from fastscore.report import as_json

    if len(recipe) != 2:
        raise UsageError(f"--recipe: two recipes are needed (--recipe A --recipe B), got {len(recipe)}")
    (one, note), (two, other) = (command_recipe(name, recipes) for name in recipe)
    items = items_of(predictions, references, prediction, references_column, id, format, references_format)
    if not quiet:
        say(*(line for line in (note, other, *items.notes) if line))
    found = differences(items.table, one, two, examples=examples, threads=threads)
    if json:
        print(as_json(found.to_dict()))
    else:
        print_table(found)

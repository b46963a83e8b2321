"""`fastscore explain`: for one item, everything that lies between its texts and its score."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from fastscore.commands.console import print_table, say

__all__ = ["explain"]

_MOST = 5


def explain(
    predictions: Path,
    references: Path | None = None,
    /,
    *,
    id: Annotated[list[str], Parameter(negative=())],
    recipe: Annotated[list[str] | None, Parameter(alias="-r", negative=())] = None,
    json: Annotated[bool, Parameter(negative=())] = False,
    recipes: Path | None = None,
    prediction: str = "prediction",
    references_column: str = "references",
    key: Annotated[list[str] | None, Parameter(negative=())] = None,
    format: str | None = None,
    references_format: str | None = None,
) -> None:
    """For one item: normal forms, words, what each reference gave, and why the score is what it is.

    Parameters
    ----------
    predictions
        File of predictions, as for `fastscore score`.
    references
        File of references; without it the predictions' file has a column of them.
    id
        The item's key; given once for each key column (CoQA: `--id STORY --id TURN`), or for the first of them alone.
    recipe
        Which scorer's rule to explain; may be given several times. By default the one that the references' layout is made for.
    json
        Print the explanation as JSON.
    recipes
        A TOML file with recipes of your own; without it `fastscore.toml` of the working folder is read where it is there.
    prediction
        What the column of predictions is called.
    references_column
        What the column of references is called.
    key
        A key column of the join; may be given several times.
    format
        Format of the predictions' file, where its content should not be asked.
    references_format
        Format of the references' file.
    """
    from rich.console import Group
    from rich.text import Text

    from fastscore.commands.inputs import items_of, recipe_of_layout, rows_with
    from fastscore.errors import UsageError
    from fastscore.explanation import explain as explained
    from fastscore.recipe_files import command_recipe
    from fastscore.report import as_json, safe_text

    items = items_of(predictions, references, prediction, references_column, key, format, references_format)
    if not recipe:
        default = recipe_of_layout(items)
        if default is None:
            raise UsageError("--recipe: this layout belongs to no published scorer; name one (fastscore recipes lists them)")
        say(f"recipe {default}, as the layout of the references is its own")
        recipe = [default]
    found = [command_recipe(name, recipes) for name in recipe]
    say(*(note for _, note in found if note))
    rows = rows_with(items, id)
    results = []
    for row in rows[:_MOST]:
        item = items.table.slice(row, 1).to_pylist()[0]
        named = {name: item[name] for name in items.keys}
        label = ", ".join(f"{name} {value}" for name, value in named.items()) or f"row {row}"
        for rule, _ in found:
            explanation = explained(item["prediction"], item["references"], rule, status=_label(item["status"]))
            if json:
                results.append({"item": named, **explanation.to_dict()})
            else:
                print_table(Group(Text(safe_text(label), style="bold cyan"), explanation, Text()))
    if json:
        print(as_json(results))
    if len(rows) > _MOST:
        say(f"{len(rows)} items have that key and the first {_MOST} are shown; give --id for each of {', '.join(items.keys)}")


def _label(status: int | str) -> str:
    from fastscore.schema import Status

    return status if isinstance(status, str) else Status(status).label

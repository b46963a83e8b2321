"""`fastscore score`: from files of predictions and references to the summary and the item scores."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from fastscore.commands.console import print_table, say

__all__ = ["score"]


def score(
    predictions: Path,
    references: Path | None = None,
    /,
    *,
    recipe: Annotated[str, Parameter(alias="-r")],
    by: Annotated[list[str] | None, Parameter(negative=())] = None,
    output: Annotated[Path | None, Parameter(alias="-o")] = None,
    json: Annotated[bool, Parameter(negative=())] = False,
    official: Annotated[bool, Parameter(negative=())] = False,
    check: int = 0,
    top_n: Annotated[list[int] | None, Parameter(negative=())] = None,
    keep: Annotated[list[str] | None, Parameter(negative=())] = None,
    prediction: str = "prediction",
    references_column: str = "references",
    id: Annotated[list[str] | None, Parameter(negative=())] = None,
    format: str | None = None,
    references_format: str | None = None,
    threads: int | None = None,
    overwrite: Annotated[bool, Parameter(negative=())] = False,
    quiet: Annotated[bool, Parameter(alias="-q", negative=())] = False,
) -> None:
    """Score a file of predictions and print the summary.

    Parameters
    ----------
    predictions
        File of predictions: CoQA or SQuAD layout JSON, parquet, Arrow, JSON Lines or CSV.
    references
        File of references, joined by key; without it the predictions' file has a column of them.
    recipe
        Which published scorer's rule to use; `fastscore recipes` lists them.
    by
        Report groups by this column; may be given several times.
    output
        Write the item scores: .parquet, .arrow, .jsonl or .csv by suffix.
    json
        Print the summary as JSON.
    official
        Print what the published script prints.
    check
        Score so many random rows again with the reference implementation; any difference is an error.
    top_n
        Add the column top_N, the share with a hit among the first N spans; may be given several times.
    keep
        Hand this column on to the item scores; may be given several times.
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
    overwrite
        Replace the output file where it is there.
    quiet
        No notes on standard error.
    """
    from fastscore.output import refuse_existing, write_items
    from fastscore.pipeline import aligned_items, load, score_items, with_columns
    from fastscore.recipes import resolve_recipe
    from fastscore.report import as_json, official_json

    found, note = resolve_recipe(recipe)
    if output is not None:
        refuse_existing(output, overwrite)
    loaded = load(predictions, "predictions", format)
    gold = None if references is None else load(references, "references", references_format)
    loaded, gold = with_columns(loaded, gold, prediction, references_column)
    table, notes = aligned_items(loaded, gold, id)
    result = score_items(table, found, by=by or (), keep=keep or (), top_n=top_n or 1, threads=threads, notes=notes)
    if not quiet:
        say(*([note] if note else []), *result.notes)
    if check:
        from fastscore.check import check_rows

        checked = check_rows(table, result.items, found, check)
        if not quiet:
            say(f"{checked:,} rows scored again by the reference implementation: all equal")
    if output is not None:
        write_items(result.items, output, found.signature)
    if official:
        print(official_json(result.items, found.name))
    elif json:
        print(as_json(result.summary))
    else:
        print_table(result)

"""The command `fastscore`: thin over the library, one line on standard error for every mistake, results on standard output.

Exit codes: 0 done; 2 the call is wrong; 3 the data are wrong, or `--check` found a difference; 130 stopped by Ctrl-C.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import App, CycloptsError, Parameter

from fastscore.errors import DataError, FastscoreError, UsageError
from fastscore.version import __version__

if TYPE_CHECKING:
    from fastscore.result import Result

__all__ = ["app", "main"]

app = App(
    name="fastscore",
    help="Score question-answering predictions: the published scripts' numbers to the bit, at the speed of reading the file.",
    help_epilogue="Exit codes: 0 done, 2 wrong call, 3 wrong data (or --check found a difference), 130 stopped.",
    version=__version__,
    version_flags=["--version"],
)


@app.command
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
        _say(*([note] if note else []), *result.notes)
    if check:
        from fastscore.check import check_rows

        checked = check_rows(table, result.items, found, check)
        if not quiet:
            _say(f"{checked:,} rows scored again by the reference implementation: all equal")
    if output is not None:
        write_items(result.items, output, found.signature)
    if official:
        print(official_json(result.items, found.name))
    elif json:
        print(as_json(result.summary))
    else:
        _print_table(result)


@app.command
def recipes(name: str | None = None, /) -> None:
    """List the recipes, or print one with all its parts.

    Parameters
    ----------
    name
        A recipe's name, alias or signature.
    """
    import dataclasses

    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from fastscore.recipes import RECIPES, resolve_recipe

    if name is None:
        table = Table("recipe", "signature", "source", show_lines=False)
        for found in RECIPES.values():
            table.add_row(found.name, Text(found.signature.partition("|")[2].partition("|unicode:")[0]), found.source)
        Console(width=None if sys.stdout.isatty() else 200).print(table)
        return
    found, note = resolve_recipe(name)
    if note:
        _say(note)
    print(found.signature)
    for part in dataclasses.fields(found):
        print(f"  {part.name} = {getattr(found, part.name)!r}")


@app.command
def warmup() -> None:
    """Compile all kernels into the cache and say where it is."""
    import time

    from fastscore.kernels.jit import cache_folder
    from fastscore.kernels.warmup import compile_all

    start = time.perf_counter()
    count = compile_all()
    seconds = time.perf_counter() - start
    print(f"{count} kernels ready in {seconds:.1f} s; cache: {cache_folder() or 'none (no folder can be written)'}")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; the exit code."""
    try:
        app(
            list(sys.argv[1:] if arguments is None else arguments),
            exit_on_error=False,
            print_error=False,
            result_action="return_value",
        )
        sys.stdout.flush()
    except CycloptsError as error:
        _say(" ".join(str(error).split()) or "wrong call; see fastscore --help")
        return 2
    except UsageError as error:
        _say(str(error))
        return 2
    except (DataError, FastscoreError) as error:
        _say(str(error))
        return 3
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        _say("stopped")
        return 130
    except OSError as error:
        _say(f"{error.filename or 'output'}: {error.strerror or error}")
        return 3
    return 0


def _print_table(result: Result) -> None:
    from rich.console import Console

    Console(width=None if sys.stdout.isatty() else 120, highlight=False).print(result)


def _say(*lines: str) -> None:
    from fastscore.report import safe_text

    for line in lines:
        print(f"fastscore: {safe_text(line)}", file=sys.stderr)


if __name__ == "__main__":
    raise SystemExit(main())

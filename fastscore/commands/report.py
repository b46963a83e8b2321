"""`fastscore report`: one HTML file to look at, from files of item scores."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from fastscore.commands.console import say
from fastscore.commands.options import MOST_DRAWS, from_argument, refuse_beyond

__all__ = ["report"]


def report(
    items: Path,
    /,
    *others: Path,
    output: Annotated[Path, Parameter(alias="-o")],
    title: str | None = None,
    by: Annotated[list[str] | None, Parameter(negative=())] = None,
    cluster: Annotated[list[str] | None, Parameter(negative=())] = None,
    name: Annotated[list[str] | None, Parameter(negative=())] = None,
    draws: int = 10_000,
    seed: int = 0,
    allow_different_signatures: Annotated[bool, Parameter(negative=())] = False,
    overwrite: Annotated[bool, Parameter(negative=())] = False,
    quiet: Annotated[bool, Parameter(alias="-q", negative=())] = False,
) -> None:
    """Write one self-contained HTML file: figures with intervals, charts, and items to search.

    Parameters
    ----------
    items
        Item scores as `fastscore score -o` writes them: a file, a folder of shards, or a glob in quotes of parquet files.
        With `--keep prediction --keep references --keep question` the texts
        are there too.
    others
        Item scores of more systems on the same items, compared with the first.
    output
        The HTML file to write; - is standard output.
    title
        Heading of the page.
    by
        Report groups by this column, may be given several times; by default every text column of 2 to 30 values.
    cluster
        Column of items that belong together; by default the passage, the story or the prompt where a column tells. `none`:
        each item on its own.
    name
        What to call the systems, once for each file; by default the files' names.
    draws
        How often to draw for the comparison's tests.
    seed
        Seed of the draws.
    allow_different_signatures
        Compare scores that were made by different rules.
    overwrite
        Replace the output file where it is there.
    quiet
        No notes on standard error.
    """
    from fastscore.errors import UsageError
    from fastscore.html.page import report_html, write_report
    from fastscore.stage.items import item_scores
    from fastscore.stats.systems import system_names

    files = [items, *others]
    if name is not None and len(name) != len(files):
        raise UsageError(f"--name: once for each of the {len(files)} files is allowed, got {len(name)}")
    refuse_beyond("--draws", draws, MOST_DRAWS)
    notes: list[str] = []
    sources = [item_scores(file, notes) for file in files]
    say(*notes)
    options: dict[str, Any] = {
        "title": title,
        "names": name or system_names(files, None),
        "by": by or (),
        "cluster": () if cluster == ["none"] else cluster,
        "seed": seed,
        "draws": draws,
        "allow_different_signatures": allow_different_signatures,
    }
    if from_argument(str(output)) == "-":
        print(report_html(*sources, **options), end="")
        return
    write_report(output, *sources, overwrite=overwrite, **options)
    if not quiet:
        say(f"{output}: {output.stat().st_size / 1e6:.2f} MB")

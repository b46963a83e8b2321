"""`fastscore merge`: the summary over several runs, as if they had been one."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from fastscore.commands.console import print_table, say
from fastscore.errors import UsageError

__all__ = ["merge"]


def merge(*scores: Path, json: Annotated[bool, Parameter(negative=())] = False) -> None:
    """Add up the exact totals of several runs and print the summary.

    Parameters
    ----------
    scores
        Parquet files of item scores, or folders of shards, that `fastscore score -o` wrote with one recipe and the same --by.
    json
        Print the summary as JSON.
    """
    from fastscore.report import as_json, summary_table
    from fastscore.stage.merge import merge_totals

    if not scores:
        raise UsageError("SCORES is missing: name the files or folders to merge")
    notes: list[str] = []
    summary = merge_totals(scores, notes)
    say(*notes)
    if json:
        print(as_json(summary))
    else:
        print_table(summary_table(summary))

"""The summary for its readers: a table for a person and strict JSON; the published scripts' layouts are in `official`.

Fractions come in; percent and rounding happen here alone. Text that came from a file is shown with its control characters
escaped.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from rich.console import Console, Group
from rich.table import Column, Table
from rich.text import Text

from fastscore.schema import Status

__all__ = ["as_json", "histogram", "print_unfolded", "safe_text", "summary_table", "table_text"]

_SHORT = {"exact_match": "EM", "f1": "F1", "precision": "P", "recall": "R"}
_BAR = 12
#: Groups of one column that a table shows.
_MOST_ROWS = 60


def safe_text(text: str) -> str:
    """Text for a terminal: control and format characters, such as those that start escape sequences, are shown as escapes."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape", "surrogatepass").decode() for c in text)


def as_json(value: Any) -> str:
    """JSON that every parser accepts: NaN and Infinity are refused."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False, indent=2)


def summary_table(summary: Mapping[str, Any]) -> Group:
    """The summary as a rich table, a row for each group and one for all items, means in percent; the signature on a line below.

    Where the summary has intervals, ± is half of what one has between 0 and 100.
    """
    overall = summary["overall"]
    metrics = [k for k in overall if k not in ("count", *(s.label for s in Status)) and not k.endswith(("_se", "_ci"))]
    table = Table(title=Text(safe_text(summary["recipe"])))
    table.add_column("group")
    table.add_column("n", justify="right")
    for metric in metrics:
        table.add_column(_SHORT.get(metric, metric), justify="right")
    table.add_column("F1" if "f1" in metrics else metrics[0] if metrics else "", no_wrap=True)
    for column, blocks in summary["groups"].items():
        if isinstance(blocks.get("table"), str):
            table.add_row(Text(safe_text(f"{column}: {blocks['groups']:,} groups, in {blocks['table']}")))
            continue
        for number, (value, block) in enumerate(blocks.items()):
            if number == _MOST_ROWS:
                table.add_row(Text(safe_text(f"{column}: and {len(blocks) - number:,} more (--json has all)")))
                break
            table.add_row(Text(safe_text(f"{column}={value}")), *_cells(block, metrics))
        table.add_section()
    table.add_row(Text("all", style="bold"), *_cells(overall, metrics))
    silent = {s.label: overall[s.label] for s in Status if s is not Status.OK and overall[s.label]}
    if silent:
        table.add_section()
        table.add_row(Text(", ".join(f"{n:,} {label}" for label, n in silent.items()), style="yellow"))
    return Group(table, Text(safe_text(summary["signature"]), overflow="fold"))


def histogram(values: Sequence[float], title: str = "F1") -> Group:
    """Bars of how many values in [0, 1] are 0, in each tenth between, and 1."""
    tenths = [f"{k / 10:.1f} to {(k + 1) / 10:.1f}" for k in range(10)]
    labels = ["0", *tenths, "1"]
    given = np.asarray(values, dtype=np.float64)
    inside = given[(given > 0) & (given < 1)]
    counts = [
        int((given == 0).sum()),
        *np.bincount((inside * 10).astype(np.int64), minlength=10).tolist(),
        int((given == 1).sum()),
    ]
    most = max(1, *counts)
    table = Table(title, Column("items", justify="right"), "", title=f"distribution of {title}")
    for label, count in zip(labels, counts, strict=True):
        table.add_row(label, f"{count:,}", Text("█" * -(-40 * count // most), style="cyan"))
    return Group(table)


def table_text(summary: Mapping[str, Any], width: int = 110) -> str:
    """The table as plain text."""
    console = Console(width=width, no_color=True, force_terminal=False, highlight=False)
    with console.capture() as capture:
        print_unfolded(console, summary_table(summary))
    return capture.get().rstrip("\n")


def print_unfolded(console: Console, shown: Any) -> None:
    """Print tables within the console's width and lines of text, such as a signature, in one piece, for a file or a pipe."""
    while hasattr(shown, "__rich__"):
        shown = shown.__rich__()
    if isinstance(shown, Group):
        for part in shown.renderables:
            print_unfolded(console, part)
    else:
        console.print(shown, soft_wrap=isinstance(shown, Text))


def _cells(block: Mapping[str, Any], metrics: list[str]) -> list[Text]:
    cells = [Text(f"{block['count']:,}")]
    for metric in metrics:
        value = block[metric]
        between = block.get(f"{metric}_ci")
        margin = f" ±{50 * (min(1.0, between[1]) - max(0.0, between[0])):.1f}" if between else ""
        cells.append(Text("-" if value is None else f"{100 * value:.1f}{margin}"))
    shown = block.get("f1", block.get(metrics[0]) if metrics else None)
    cells.append(Text("" if shown is None else "█" * round(shown * _BAR) + "·" * (_BAR - round(shown * _BAR)), style="cyan"))
    return cells

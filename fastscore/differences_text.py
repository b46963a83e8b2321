"""The differences of two recipes for a person: rich tables, with untrusted text's control characters escaped."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Group
from rich.table import Table
from rich.text import Text

from fastscore.report import safe_text

if TYPE_CHECKING:
    from fastscore.differences import Differences, Example

__all__ = ["differences_text"]

_LONGEST = 160


def differences_text(shown: Differences) -> Group:
    """The differences as a rich group: how many rows, the means, the causes, examples."""
    share = 100 * shown.rows / shown.count if shown.count else 0.0
    head = Text.assemble(
        (f"{shown.rows:,} of {shown.count:,} items differ", "bold"),
        f" ({share:.2f} %) between {safe_text(shown.first)} and {safe_text(shown.second)}",
    )
    parts: list[Text | Table] = [head, _means(shown), _causes(shown)]
    for example in shown.examples:
        parts += [Text(), *_example(example, shown.first, shown.second)]
    return Group(*parts)


def _means(shown: Differences) -> Table:
    table = Table("metric")
    for title in (safe_text(shown.first), safe_text(shown.second), "difference", "items"):
        table.add_column(Text(title), justify="right")
    for metric, (one, two, difference) in shown.means.items():
        cells = [f"{100 * v:.4f}" if v is not None else "-" for v in (one, two)]
        change = "-" if difference is None else f"{100 * difference:+.4f}"
        table.add_row(metric, *cells, change, f"{shown.by_metric[metric]:,}")
    return table


def _causes(shown: Differences) -> Table:
    table = Table("cause")
    for title, side in ((shown.first, "left"), (shown.second, "left"), ("items", "right"), ("alone", "right")):
        table.add_column(Text(safe_text(title)), justify="left" if side == "left" else "right")
    for cause in shown.causes:
        table.add_row(cause.name, cause.first, cause.second, f"{cause.rows:,}", f"{cause.sole:,}")
    return table


def _example(example: Example, first: str, second: str) -> list[Text]:
    keys = ", ".join(f"{k} {v}" for k, v in example.keys.items()) or f"row {example.row}"
    lines = [Text(f"{safe_text(keys)}  ({', '.join(example.causes)})", style="cyan")]
    lines.append(Text.assemble(("  prediction  ", "dim"), _quoted(example.prediction)))
    for reference in example.references or [None]:
        lines.append(Text.assemble(("   reference  ", "dim"), _quoted(reference)))
    for name, scores in ((first, example.first), (second, example.second)):
        values = "  ".join(f"{m} {'-' if v is None else format(v, '.4g')}" for m, v in scores.items())
        lines.append(Text.assemble(f"  {safe_text(name):>24}  ", (values, "bold")))
    return lines


def _quoted(text: str | None) -> Text:
    if text is None:
        return Text("null", style="yellow")
    return Text(f"«{safe_text(text if len(text) <= _LONGEST else text[:_LONGEST] + '...')}»")

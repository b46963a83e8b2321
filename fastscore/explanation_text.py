"""An explanation for a person: rich tables and lines, coloured on a terminal.

Texts come from models and files, so their control characters are shown as escapes.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from rich.console import Group
from rich.table import Table
from rich.text import Text

from fastscore.report import safe_text

if TYPE_CHECKING:
    from fastscore.explanation import Explanation, Side

__all__ = ["explanation_text"]

_LONGEST = 400


def explanation_text(shown: Explanation) -> Group:
    """The explanation as a rich group: rule, prediction, references, leave-one-out sets, score, reasons."""
    lines: list[Text | Table] = [Text(safe_text(shown.signature), style="dim"), Text()]
    lines += _side("prediction", shown.prediction, None)
    for reference in shown.references:
        lines.append(Text())
        lines += _side(f"reference {reference.index}", reference.side, shown.prediction)
        if reference.left_out is not None:
            lines.append(_line("left out", Text(reference.left_out, style="yellow")))
        elif reference.f1 is not None:
            values = Text(f"EM {reference.exact_match:.4g}   F1 {reference.f1:.4f}", style="bold")
            values.append(f"   precision {reference.precision:.4f}   recall {reference.recall:.4f}", style="dim")
            lines.append(_line("gave", values))
    if shown.sets:
        table = Table("set without", "best EM of the others", "best F1 of the others")
        for out, match, f1 in shown.sets:
            table.add_row(f"reference {out}", f"{match:.4g}", f"{f1:.4f}")
        lines += [Text(), table]
    lines += [Text(), _score(shown)]
    lines += [Text(f"  - {safe_text(reason)}") for reason in shown.reasons]
    return Group(*lines)


def _score(shown: Explanation) -> Text:
    match, f1 = shown.scores["exact_match"], shown.scores["f1"]
    if match is None:
        return Text(f"no score: {shown.scores['status']}", style="bold red")
    style = "bold green" if match == 1 else "bold red" if not f1 else "bold yellow"
    return Text(f"exact match {match:.6g}   F1 {f1:.6g}   ({shown.scores['status']})", style=style)


def _side(name: str, side: Side, other: Side | None) -> list[Text]:
    lines = [_line(name, _quoted(side.text), style="bold")]
    if side.counted is None:
        return lines
    if side.counted != side.text:
        lines.append(_line("counts", _quoted(side.counted)))
    lines += [_line(f"after {step}", _quoted(after)) for step, after in side.steps[:-1]]
    changed = side.steps[-1][0] if side.steps else "nothing to change"
    lines.append(_line("normal form", Text.assemble(_quoted(side.form), (f"  ({changed})", "dim"))))
    words = Text()
    left = Counter(other.words if other is not None else ())
    for word in side.words[:_LONGEST]:
        shared = left[word] > 0
        left[word] -= shared
        words.append(safe_text(word), style="black on green" if shared else "" if other is None else "red")
        words.append(" | ", style="dim")
    if words:
        words.right_crop(3)
    count = f"{len(side.words)} word{'' if len(side.words) == 1 else 's'}"
    lines.append(_line(count, words if words else Text("none", style="yellow")))
    return lines


def _line(name: str, value: Text, style: str = "dim") -> Text:
    return Text.assemble((f"{name:>18}  ", style), value)


def _quoted(text: str | None) -> Text:
    if text is None:
        return Text("null", style="yellow")
    cut = text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."
    return Text(f"«{safe_text(cut)}»")

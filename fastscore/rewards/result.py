"""What a run of rewards over files gives, and the summary as a table for people."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from fastscore.rewards.batches import STATUSES
from fastscore.stage.result import StageResult

if TYPE_CHECKING:
    from rich.table import Table

__all__ = ["RewardResult", "summary_table"]


class RewardResult(StageResult):
    """As `fastscore.stage.result.StageResult`, with the summary of rewards; ``totals`` are `RewardTotals`."""

    def __rich__(self) -> Table:  # type: ignore[override]
        return summary_table(self.summary)

    def __str__(self) -> str:
        from io import StringIO

        from rich.console import Console

        out = StringIO()
        Console(file=out, width=132, highlight=False).print(summary_table(self.summary))
        return out.getvalue().rstrip("\n")

    __repr__ = __str__


def summary_table(summary: Mapping[str, Any]) -> Table:
    """The summary as a table: means in percent, the reward as it is, each with what it is a mean of."""
    from rich.table import Table
    from rich.text import Text

    from fastscore.report import safe_text

    table = Table(title=Text(safe_text(summary["recipe"])), caption=Text(safe_text(summary["signature"])), caption_justify="left")
    for title in ("", "mean", "± standard error", "of"):
        table.add_column(title, justify="left" if not title else "right")
    rollouts, rewarded = f"{summary['rollouts']:,} rollouts", summary["rewarded"]
    table.add_row("extraction rate", _percent(summary["extraction_rate"]), "", rollouts)
    table.add_row("reward", _number(summary["reward"]), "", f"{rewarded:,} with a reward")
    if rewarded < summary["rollouts"]:
        table.add_row("reward, none as 0", _number(summary["reward_over_all"]), "", rollouts)
    for name in ("exact_match", "f1", "format", "length_ok"):
        if name in summary:
            table.add_row(name, _percent(summary[name]), "", "")
    table.add_section()
    for name, found in summary.items():
        if isinstance(found, Mapping) and "mean" in found:
            short = f", {found['left_out']:,} with fewer scored" if found["left_out"] else ""
            table.add_row(name, _percent(found["mean"]), _percent(found["standard_error"]), f"{found['n']:,} prompts{short}")
    table.add_section()
    if "groups" in summary:
        groups = summary["groups"]
        named = ("all_equal", "of one reward value"), ("one_row", "of one rollout"), ("no_reward", "without a reward")
        kinds = "; ".join(f"{groups[key]:,} {words}" for key, words in named if groups[key])
        table.add_row("groups", f"{groups['count']:,}", "", kinds)
        if groups["no_prompt"]:
            table.add_row(Text("no prompt", style="yellow"), f"{groups['no_prompt']:,}", "", "in no group")
    for status in STATUSES[1:]:
        if summary[status]:
            table.add_row(Text(status, style="yellow"), f"{summary[status]:,}", "", "")
    for column, values in summary.get("by", {}).items():
        table.add_section()
        if "table" in values:
            table.add_row(Text(safe_text(column)), "", "", Text(f"{values['groups']:,} values in {safe_text(values['table'])}"))
            continue
        for value, block in values.items():
            shown = Text(safe_text(f"{column} {value}"))
            table.add_row(shown, _number(block["reward"]), "", f"{block['rewarded']:,} of {block['rollouts']:,} rollouts")
    return table


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:.2f} %"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.4f}"

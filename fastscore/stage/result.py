"""What a run of the stage gives: the summary, the exact totals behind it, and what was done to get there."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Group

    from fastscore.totals import Totals

__all__ = ["StageResult"]


@dataclass(frozen=True, repr=False)
class StageResult:
    """Scores of a run over files; the items themselves are in the files that it wrote.

    Attributes
    ----------
    summary
        As `fastscore.Result.summary`, equal to the bit to what scoring in memory gives.
    signature
        Everything that could change the scores, in one line.
    totals
        The exact sums behind the summary.
    rows
        Rows of item scores, with those of finished shards of an earlier run.
    seconds
        How long this run took.
    read_bytes
        Bytes of Arrow data that this run read.
    outputs
        The files of item scores, in order.
    resumed
        How many shards were done before.
    failures
        A line for each source that could not be scored; empty where all were.
    notes
        What there is to say of the input, a line each.
    """

    summary: dict[str, Any]
    signature: str
    totals: Totals
    rows: int
    seconds: float
    read_bytes: int
    outputs: tuple[str, ...] = ()
    resumed: int = 0
    failures: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    statuses: dict[str, int] = field(default_factory=dict)

    def __rich__(self) -> Group:
        from fastscore.report import summary_table

        return summary_table(self.summary)

    def __str__(self) -> str:
        from fastscore.report import table_text

        return table_text(self.summary)

    __repr__ = __str__

    def last_line(self) -> str:
        """Rows, statuses, seconds, MB/s and signature, for the end of a log."""
        said = ", ".join(f"{n:,} {label}" for label, n in self.statuses.items() if n)
        speed = self.read_bytes / 1e6 / max(self.seconds, 1e-9)
        resumed = f", {self.resumed:,} shards were done before" if self.resumed else ""
        return f"{self.rows:,} rows ({said or 'none'}) in {self.seconds:.1f} s, {speed:,.0f} MB/s{resumed}; {self.signature}"

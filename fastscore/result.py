"""What a scoring run gives: item scores, their summary and the signature, with a table for people."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

if TYPE_CHECKING:
    from pathlib import Path

    import polars as pl
    from rich.console import Group

    from fastscore.totals import Totals

__all__ = ["Result"]


@dataclass(frozen=True, repr=False)
class Result:
    """Scores of a run.

    Attributes
    ----------
    items
        One row an item, in input order; columns as `fastscore.score_batch` gives them.
    summary
        ``{"signature", "recipe", "overall", "groups"}``; means are fractions.
    signature
        Everything that could change the scores, in one line.
    totals
        The exact sums behind the summary; totals of several runs can be merged.
    notes
        What there is to say of the input, a line each.
    """

    items: pa.Table
    summary: dict[str, Any]
    signature: str
    totals: Totals
    notes: tuple[str, ...] = ()

    def to_polars(self) -> pl.DataFrame:
        """The item scores as a polars DataFrame."""
        import polars as pl

        frame = pl.from_arrow(self.items)
        assert isinstance(frame, pl.DataFrame)
        return frame

    def to_pandas(self) -> Any:
        """The item scores as a pandas DataFrame; pandas must be installed."""
        return self.items.to_pandas()

    def plot(self) -> Any:
        """The distribution of scores, and the means by group where the run had groups, as an altair chart.

        Raises UsageError where the extra ``report`` is not installed.
        """
        from fastscore.html.charts import import_altair, overview_chart
        from fastscore.html.figures import group_means, histogram
        from fastscore.html.source import open_sources
        from fastscore.html.tables import metric_name

        import_altair()
        source = open_sources([self.items], [self.summary["recipe"]], by=self.totals.by)[0]
        means = group_means(source, self.totals.by[0], (source.main,)) if self.totals.by else []
        return overview_chart(histogram(source), means, metric_name(source.main))

    def report(self, path: str | Path, title: str | None = None) -> None:
        """Write the HTML report of this run to a file; texts are in it where `keep` handed them on.

        Raises UsageError where the extra ``report`` is not installed or the path cannot be written.
        """
        from fastscore.html.page import write_report

        name = self.summary["recipe"]
        write_report(path, self.items, title=title, names=[name], by=self.totals.by, signatures=[self.signature])

    def __rich__(self) -> Group:
        from fastscore.report import summary_table

        return summary_table(self.summary)

    def __str__(self) -> str:
        from fastscore.report import table_text

        return table_text(self.summary)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        import html

        return f"<pre>{html.escape(str(self))}</pre>"

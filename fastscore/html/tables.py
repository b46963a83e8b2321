"""The small tables of figures: rows of plain text come in, one HTML table comes out, laid out by great-tables.

Every cell is escaped here, so that it does not depend on the version of great-tables; its own style sheet is left out, the page
has one for light, dark and print.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from fastscore.html.figures import Mean, Share
from fastscore.html.words import MISSING, count, percent, shown, signed
from fastscore.stats.comparison import Comparison, GroupDifference, Pair
from fastscore.stats.paired import Difference

__all__ = ["changes_table", "difference_table", "html_table", "means_table", "metric_name", "status_table"]

_NAMES = {"exact_match": "Exact match", "f1": "F1", "precision": "Precision", "recall": "Recall"}


def metric_name(metric: str) -> str:
    """What a metric is called on the page; not escaped."""
    return _NAMES.get(metric, metric)


def html_table(name: str, headings: Sequence[str], rows: Sequence[Sequence[str]], numeric: Sequence[int] = ()) -> str:
    """A table of plain text; `name` is the page's name for it, `numeric` says which columns are aligned to the right."""
    import great_tables as gt
    import polars as pl

    columns = [f"{name}-{place}" for place in range(len(headings))]
    cells = {column: [shown(row[place]) for row in rows] for place, column in enumerate(columns)}
    frame = pl.DataFrame(cells, schema=dict.fromkeys(columns, pl.String))
    labels: dict[str, Any] = {c: gt.html(shown(heading)) for c, heading in zip(columns, headings, strict=True)}
    right = [columns[place] for place in numeric]
    table = gt.GT(frame).fmt_passthrough(columns=columns, escape=False).cols_label(labels).cols_align("left")
    raw = str((table.cols_align("right", columns=right) if right else table).as_raw_html())
    inside = raw[raw.index("<thead") : raw.index("</table>")]
    inside = re.sub(r' (?:rowspan|colspan)="1"| headers="[^"]*"', "", inside)
    return f'<div class="scroll"><table class="figures">{inside}</table></div>'


def means_table(name: str, means: Sequence[Mean], group: str | None) -> str:
    """Means with standard errors and intervals: a row for each system, group and metric."""
    several = len({one.system for one in means}) > 1
    headings = [*(["system"] if several else []), *([group] if group else []), "metric", "n", "clusters"]
    first = len(headings) - 2
    headings += ["mean", "± standard error", "95 % interval"]
    rows = []
    for one in means:
        labels = [*([one.system] if several else []), *([one.group] if group else []), metric_name(one.metric)]
        interval = MISSING if one.low is None else f"{percent(one.low)} to {percent(one.high)}"
        numbers = [count(one.n), count(one.clusters), percent(one.mean), percent(one.error, 2), interval]
        rows.append([*labels, *numbers])
    return html_table(name, headings, rows, range(first, len(headings)))


def status_table(name: str, shares: Sequence[Share]) -> str:
    """How many items have which status."""
    several = len({one.system for one in shares}) > 1
    rows = [[*([one.system] if several else []), one.name, count(one.n), percent(one.share, 2)] for one in shares]
    headings = [*(["system"] if several else []), "status", "items", "%"]
    return html_table(name, headings, rows, (len(headings) - 2, len(headings) - 1))


def difference_table(name: str, found: Comparison, pair: Pair, by: str | None = None) -> str:
    """The paired differences of two systems, overall or by the groups of a column; percentage points."""
    level = f"{100 * (1 - found.alpha):g} % interval"
    headings = [*([by] if by else []), "metric", "n", pair.a, pair.b, "difference", level, "p", "corrected p"]
    headings += ["better", "equal", "worse", "McNemar p", "detectable"]
    rows = []
    if by is None:
        rows = [_difference_row((metric_name(metric),), one) for metric, one in pair.overall.items()]
    else:
        for metric, groups in pair.groups[by].items():
            rows += [_difference_row((_group_name(one), metric_name(metric)), one.difference) for one in groups]
    return html_table(name, headings, rows, range(2 if by else 1, len(headings)))


def changes_table(name: str, headings: Sequence[str], rows: Sequence[tuple[str, int, int]]) -> str:
    """Counts and their shares: (label, count, of how many)."""
    cells = [[label, count(n), percent(n / total if total else None)] for label, n, total in rows]
    return html_table(name, headings, cells, (1, 2))


def _group_name(group: GroupDifference) -> str:
    return "(none)" if group.value is None else group.value


def _difference_row(labels: Sequence[str], one: Difference) -> list[str]:
    error = one.interval
    interval = MISSING if error.low is None else f"{signed(error.low)} to {signed(error.high)}"
    mcnemar = None if one.mcnemar is None else one.mcnemar.p_value
    return [
        *labels,
        *(count(one.n), percent(one.mean_a), percent(one.mean_b), signed(error.mean), interval),
        *(_chance(one.randomization_p), _chance(one.adjusted_p)),
        *(count(one.wins), count(one.ties), count(one.losses)),
        *(_chance(mcnemar), percent(one.detectable)),
    ]


def _chance(value: float | None) -> str:
    return MISSING if value is None else f"{value:.4f}" if value >= 0.0001 else f"{value:.1e}"

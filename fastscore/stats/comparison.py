"""The result of comparing systems: what was joined, every difference by metric and group, and the items that changed most.

`fastscore.compare` fills a `Comparison`; it answers whether a system got worse and writes itself as a dict for strict
JSON, plain text, Markdown or LaTeX. All text of the data (keys, groups, predictions) is quoted on the way out.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from fastscore.errors import UnknownNameError, did_you_mean
from fastscore.stats.paired import Difference
from fastscore.stats.tables import Table, for_latex, for_markdown, visible

__all__ = ["ChangedItem", "Comparison", "GroupDifference", "Pair", "System", "Unjoined"]


@dataclass(frozen=True)
class System:
    """One system compared: its name, the signature that its scores carry (None: unknown) and its number of rows."""

    name: str
    signature: str | None
    rows: int


@dataclass(frozen=True)
class Unjoined:
    """Rows whose key one system alone has: how many, and the first of their keys in ascending order."""

    count: int
    keys: tuple[dict[str, str | int], ...]


@dataclass(frozen=True)
class GroupDifference:
    """The difference within one group; `value` is the group's value as text, None for the rows without one."""

    value: str | None
    difference: Difference


@dataclass(frozen=True)
class ChangedItem:
    """One item's score of both systems, with what they predicted where the tables say."""

    key: dict[str, str | int]
    a: float
    b: float
    difference: float
    prediction_a: str | None
    prediction_b: str | None


@dataclass(frozen=True)
class Pair:
    """System `b` against the first system `a`: counts of the join, differences b - a overall and by group, changed items.

    ``overall`` goes by metric, ``groups`` by column and metric, ``worsened`` and ``improved`` by metric, largest change first.
    """

    a: str
    b: str
    joined: int
    only_a: Unjoined
    only_b: Unjoined
    overall: dict[str, Difference]
    groups: dict[str, dict[str, tuple[GroupDifference, ...]]]
    worsened: dict[str, tuple[ChangedItem, ...]]
    improved: dict[str, tuple[ChangedItem, ...]]

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as a dict that strict JSON takes."""
        groups = {
            column: {
                metric: [{"value": group.value, **group.difference.to_dict()} for group in found]
                for metric, found in metrics.items()
            }
            for column, metrics in self.groups.items()
        }
        return {
            "a": self.a,
            "b": self.b,
            "joined": self.joined,
            "only_a": {"count": self.only_a.count, "keys": list(self.only_a.keys)},
            "only_b": {"count": self.only_b.count, "keys": list(self.only_b.keys)},
            "overall": {metric: found.to_dict() for metric, found in self.overall.items()},
            "groups": groups,
            "worsened": {metric: [dataclasses.asdict(item) for item in items] for metric, items in self.worsened.items()},
            "improved": {metric: [dataclasses.asdict(item) for item in items] for metric, items in self.improved.items()},
        }


@dataclass(frozen=True)
class Comparison:
    """Systems compared with the first of them, and all that is needed to do it again.

    ``cluster`` names the columns whose values were taken as the units sampled (none: each item is one).
    """

    systems: tuple[System, ...]
    pairs: tuple[Pair, ...]
    metrics: tuple[str, ...]
    keys: tuple[str, ...]
    cluster: tuple[str, ...]
    alpha: float
    correction: str
    seed: int
    draws: int
    notes: tuple[str, ...]

    def significantly_worse(self, metric: str, system: str | None = None) -> bool:
        """Say whether a system (any but the first, if not named) is worse than the first in `metric` over all items.

        Worse is a negative mean difference whose p-value of approximate randomisation, corrected, is below ``alpha``.

        Raises
        ------
        UnknownNameError
            The metric or the system was not compared.
        """
        others = [pair.b for pair in self.pairs]
        if metric not in self.metrics:
            raise UnknownNameError(f"metric {metric!r} was not compared.{did_you_mean(metric, self.metrics)}")
        if system is not None and system not in others:
            raise UnknownNameError(
                f"system {system!r} was not compared with {self.systems[0].name!r}.{did_you_mean(system, others)}"
            )
        tested = [pair.overall[metric] for pair in self.pairs if system in (None, pair.b)]
        return any(
            found.adjusted_p is not None and found.adjusted_p < self.alpha and (found.interval.mean or 0.0) < 0.0
            for found in tested
        )

    def to_dict(self) -> dict[str, Any]:
        """Return everything as a dict that strict JSON takes: no NaN, text keys, None where there is no number."""
        return {
            "systems": [dataclasses.asdict(system) for system in self.systems],
            "metrics": list(self.metrics),
            "keys": list(self.keys),
            "cluster": list(self.cluster),
            "alpha": self.alpha,
            "correction": self.correction,
            "seed": self.seed,
            "draws": self.draws,
            "notes": list(self.notes),
            "pairs": [pair.to_dict() for pair in self.pairs],
        }

    def tables(self) -> list[Table]:
        """Return the tables that every rendering shows: for each pair overall, by group, and the items that changed most."""
        out = []
        for pair in self.pairs:
            title = f"{pair.b} against {pair.a}"
            whole = [((metric,), found) for metric, found in pair.overall.items()]
            out.append(self._table(pair, f"{title}: {pair.joined} items", whole, ("metric",)))
            for column, metrics in pair.groups.items():
                rows = [
                    (("(none)" if group.value is None else group.value, metric), group.difference)
                    for metric, found in metrics.items()
                    for group in found
                ]
                out.append(self._table(pair, f"{title}, by {column}", rows, (column, "metric")))
            for what, changed in (("worsened", pair.worsened), ("improved", pair.improved)):
                out += [self._items(pair, f"{title}: {metric} {what} most", items) for metric, items in changed.items() if items]
        return out

    def to_text(self) -> str:
        """Return plain text for a terminal or a log; nothing in it controls a terminal."""
        return "\n".join([*(table.to_text() for table in self.tables()), *(visible(line, 1000) for line in self._lines())]) + "\n"

    def to_markdown(self) -> str:
        """Return GitHub's Markdown."""
        notes = "\n".join(f"- {for_markdown(line, 1000)}" for line in self._lines())
        return "\n".join([*(table.to_markdown() for table in self.tables()), notes]) + "\n"

    def to_latex(self) -> str:
        """Return LaTeX tables (package booktabs) and the notes as a list."""
        notes = "\n".join(rf"\item {for_latex(line, 1000)}" for line in self._lines())
        items = "\n".join([r"\begin{itemize}", notes, r"\end{itemize}"])
        return "\n".join([*(table.to_latex() for table in self.tables()), items]) + "\n"

    def _table(
        self, pair: Pair, title: str, rows: Sequence[tuple[tuple[str, ...], Difference]], labels: tuple[str, ...]
    ) -> Table:
        level = f"{100 * (1 - self.alpha):g} %"
        scores = ("n", pair.a, pair.b, "difference", f"{level} low", f"{level} high")
        columns = (*scores, "p", "adjusted p", "win", "tie", "loss", "McNemar p", "detectable")
        cells = []
        for names, found in rows:
            error = found.interval
            means = [_score(found.mean_a), _score(found.mean_b)]
            change = [_score(number, "+") for number in (error.mean, error.low, error.high)]
            counts = [str(found.wins), str(found.ties), str(found.losses)]
            mcnemar = None if found.mcnemar is None else found.mcnemar.p_value
            tests = [_chance(found.randomization_p), _chance(found.adjusted_p)]
            cells.append((*names, str(found.n), *means, *change, *tests, *counts, _chance(mcnemar), _score(found.detectable)))
        return Table(title, (*labels, *columns), tuple(cells), frozenset(range(len(labels), len(labels) + len(columns))))

    def _items(self, pair: Pair, title: str, items: tuple[ChangedItem, ...]) -> Table:
        rows = []
        for item in items:
            key = tuple(str(item.key[name]) for name in self.keys)
            texts = tuple("" if text is None else text for text in (item.prediction_a, item.prediction_b))
            rows.append((*key, _score(item.a), _score(item.b), _score(item.difference, "+"), *texts))
        numeric = frozenset(range(len(self.keys), len(self.keys) + 3))
        predictions = (f"prediction of {pair.a}", f"prediction of {pair.b}")
        return Table(title, (*self.keys, pair.a, pair.b, "difference", *predictions), tuple(rows), numeric)

    def _lines(self) -> list[str]:
        """Say in sentences what the tables' numbers are and what was left out."""
        cluster = f"clusters: {', '.join(self.cluster)}" if self.cluster else "each item is a unit of its own"
        lines = [
            f"p: approximate randomisation, {self.draws} draws, seed {self.seed}; corrected by {self.correction}; {cluster}.",
            "Means are fractions. win: items on which the second is better. detectable: difference found in 80 % of studies.",
        ]
        for system in self.systems:
            lines.append(f"{system.name}: {system.rows} rows, signature {system.signature or 'unknown'}")
        for pair in self.pairs:
            for name, alone in ((pair.a, pair.only_a), (pair.b, pair.only_b)):
                if alone.count:
                    first = "; ".join(", ".join(str(part) for part in key.values()) for key in alone.keys[:5])
                    lines.append(f"{pair.b} against {pair.a}: {alone.count} items in {name} alone are not compared: {first}")
            for metric, found in pair.overall.items():
                if found.left_out:
                    lines.append(
                        f"{pair.b} against {pair.a}: {metric} leaves {found.left_out} joined items out, as a score is null "
                        f"({found.left_out_a} in {pair.a}, {found.left_out_b} in {pair.b})."
                    )
        return [*lines, *self.notes]


def _score(value: float | None, sign: str = "") -> str:
    return "-" if value is None else f"{value:{sign}.4f}"


def _chance(value: float | None) -> str:
    return "-" if value is None else f"{value:.4f}" if value >= 0.0001 else f"{value:.1e}"

"""What a case is told and what it says: `Settings` in, one `Line` of figures out for each case and number of threads."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

__all__ = ["FIELDS", "Line", "Settings", "cores", "human"]

#: The fields that every line has, in order; null where a case has no such figure.
FIELDS = ("case", "rows", "threads", "seconds", "rows_per_s", "mb_per_s", "vs_naive", "peak_rss_mb")


@dataclass(frozen=True)
class Settings:
    """How a case is to be run.

    `rows` replaces the case's own number of rows; `threads` are measured in turn, in one process on the same data; each
    figure is the best of `repeats` runs, fewer (never under three) once `budget` seconds are spent. `peers_python` is the
    interpreter that has other scorers installed, `evaluate_squad` a folder with the script of evaluate's squad metric.
    """

    rows: int
    threads: tuple[int, ...]
    repeats: int = 7
    budget: float = 30.0
    naive_rows: int = 4000
    smoke: bool = False
    peers_python: str | None = None
    evaluate_squad: str | None = None


@dataclass(frozen=True)
class Line:
    """The figures of one case: seconds are the best run's, rates follow from them, megabytes are 10^6 bytes of text.

    `vs_naive` is our rows/s over the plain-Python scorer's, measured in the same run on rows of the same table. `more`
    holds figures that only some cases have; `skipped` says why there are none.
    """

    case: str
    rows: int | None = None
    threads: int | None = None
    seconds: float | None = None
    rows_per_s: float | None = None
    mb_per_s: float | None = None
    vs_naive: float | None = None
    peak_rss_mb: float | None = None
    more: Mapping[str, Any] = field(default_factory=dict)
    skipped: str | None = None

    @classmethod
    def of(
        cls,
        case: str,
        *,
        rows: int,
        threads: int | None,
        seconds: float,
        text: int | None = None,
        naive: float | None = None,
        peak_rss_mb: float | None = None,
        more: Mapping[str, Any] | None = None,
    ) -> Line:
        """A line from what was measured: `text` in bytes, `naive` in rows/s."""
        rate = rows / seconds
        return cls(
            case,
            rows,
            threads,
            seconds,
            rate,
            None if text is None else text / seconds / 1e6,
            None if naive is None else rate / naive,
            peak_rss_mb,
            {**(more or {}), **({} if naive is None else {"naive_rows_per_s": naive})},
        )

    def as_dict(self) -> dict[str, Any]:
        """The line as JSON has it: the fields, what more there is, and `skipped` where it was."""
        values = {**{name: getattr(self, name) for name in FIELDS}, **self.more}
        rounded = {k: float(f"{v:.6g}") if isinstance(v, float) else v for k, v in values.items()}
        return rounded if self.skipped is None else {**rounded, "skipped": self.skipped}

    def as_json(self) -> str:
        """One line of strict JSON."""
        return json.dumps(self.as_dict(), allow_nan=False)


def cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def human(line: Mapping[str, Any]) -> str:
    """A JSON line as a row of text for a person."""
    if line.get("skipped"):
        return f"{line['case']:<24} skipped: {line['skipped']}"
    shown = (
        (line["rows"], "{:>12,}"),
        (line["threads"], "{:>4}"),
        (line["seconds"], "{:>11.6f} s"),
        (line["rows_per_s"], "{:>13,.0f} rows/s"),
        (line["mb_per_s"], "{:>8,.1f} MB/s"),
        (line["vs_naive"], "{:>9,.1f} x naive"),
        (line["peak_rss_mb"], "{:>9,.0f} MB peak"),
    )
    text = f"{line['case']:<24}" + "".join(_blank(text) if value is None else text.format(value) for value, text in shown)
    text += f"  {line['vs_loop']:.2f} x loop" if "vs_loop" in line else ""
    return text + (f", the engine alone {line['floor_vs_loop']:.2f}" if "floor_vs_loop" in line else "")


def _blank(text: str) -> str:
    return " " * len(text.format(0))

"""Scaling plots as SVG, written as text: rows/s against the number of rows (logarithmic) and against threads."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from benchmarks.catalogue import chosen
from benchmarks.lines import Settings, cores
from benchmarks.runner import results

__all__ = ["Series", "chart", "plot"]

CASES = ("coqa-short", "coqa-distinct", "long-answers")
WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 760, 400, 76, 190, 44, 52
COLORS = ("#3b6fd4", "#d9722e", "#2e9e6b", "#9b59b6", "#c0392b", "#7f8c8d")
_STYLE = (
    "text{font:13px system-ui,sans-serif;fill:#333}.t{font-size:15px;font-weight:600}.g{stroke:#ddd}.a{stroke:#888}"
    "@media(prefers-color-scheme:dark){text{fill:#ddd}.g{stroke:#444}.a{stroke:#999}}"
)


@dataclass(frozen=True)
class Series:
    """A named line of points (x, y)."""

    name: str
    points: tuple[tuple[float, float], ...]


def plot(folder: Path, settings: Settings, rows: int | None = None) -> Iterator[Path]:
    """Measure and write `rows.svg` and `threads.svg` into `folder`, yield their paths; `rows` is the largest size (10^7)."""
    folder.mkdir(parents=True, exist_ok=True)
    largest = rows or (10_000 if settings.smoke else 10_000_000)
    plain = replace(settings, smoke=False, naive_rows=20, budget=10.0)
    yield _write(folder / "rows.svg", _by_rows(plain, largest))
    yield _write(folder / "threads.svg", _by_threads(plain, min(largest, 1_000_000)))


def _by_rows(settings: Settings, largest: int) -> str:
    sizes = [n for n in (10**k for k in range(3, 8)) if n <= largest]
    found: dict[str, list[tuple[float, float]]] = {}
    for size in sizes:
        for line in results(chosen(["coqa-short", "coqa-distinct"]), settings, size):
            found.setdefault(_named(line["case"], line["threads"]), []).append((size, line["rows_per_s"]))
    return chart("Rows a second by rows in the batch", "rows", _series(found), logarithmic=True)


def _by_threads(settings: Settings, rows: int) -> str:
    threads = tuple(range(1, max(2, cores()) + 1))
    found: dict[str, list[tuple[float, float]]] = {}
    for case in CASES:
        size = max(1000, rows // 20) if case == "long-answers" else rows
        for line in results(chosen([case]), replace(settings, threads=threads), size):
            found.setdefault(case, []).append((line["threads"], line["rows_per_s"]))
    return chart("Rows a second by threads", "threads", _series(found), logarithmic=False)


def chart(title: str, axis: str, series: Sequence[Series], *, logarithmic: bool) -> str:
    """An SVG line chart of rows/s from 0 on; x is logarithmic to base 10, or counts."""
    xs = sorted({x for s in series for x, _ in s.points})
    step = _step(max(y for s in series for _, y in s.points))
    top = step * math.ceil(max(y for s in series for _, y in s.points) / step)
    scale = (lambda x: math.log10(x)) if logarithmic else float
    low, high = scale(xs[0]), scale(xs[-1])

    def across(x: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * ((scale(x) - low) / (high - low) if high > low else 0.5)

    def up(y: float) -> float:
        return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * y / top

    body = [f'<text class="t" x="{LEFT}" y="24">{title}</text>']
    for k in range(round(top / step) + 1):
        y = up(k * step)
        body.append(f'<line class="g" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>')
        body.append(f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{_short(k * step)}</text>')
    for x in xs:
        body.append(f'<text x="{across(x):.1f}" y="{HEIGHT - BOTTOM + 20}" text-anchor="middle">{_short(x)}</text>')
    body.append(f'<line class="a" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{up(0):.1f}" y2="{up(0):.1f}"/>')
    body.append(f'<text x="{(LEFT + WIDTH - RIGHT) / 2:.0f}" y="{HEIGHT - 10}" text-anchor="middle">{axis}</text>')
    for number, s in enumerate(series):
        color = COLORS[number % len(COLORS)]
        path = " ".join(f"{across(x):.1f},{up(y):.1f}" for x, y in s.points)
        body.append(f'<polyline fill="none" stroke="{color}" stroke-width="2" points="{path}"/>')
        body += [f'<circle cx="{across(x):.1f}" cy="{up(y):.1f}" r="3" fill="{color}"/>' for x, y in s.points]
        at = TOP + 18 * number + 6
        body.append(f'<rect x="{WIDTH - RIGHT + 12}" y="{at - 9}" width="10" height="10" fill="{color}"/>')
        body.append(f'<text x="{WIDTH - RIGHT + 28}" y="{at}">{s.name}</text>')
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}">'
    return "\n".join([head, f"<style>{_STYLE}</style>", *body, "</svg>", ""])


def _series(found: Mapping[str, Sequence[tuple[float, float]]]) -> list[Series]:
    return [Series(name, tuple(sorted(points))) for name, points in found.items()]


def _named(case: str, threads: int) -> str:
    return f"{case}, {threads} thread{'s' * (threads > 1)}"


def _step(largest: float) -> float:
    """A round step that cuts the axis into 4 to 10 parts."""
    power: float = 10.0 ** math.floor(math.log10(largest))
    return next(power * part for part in (0.2, 0.5, 1.0, 2.0) if largest / (power * part) <= 8)


def _short(value: float) -> str:
    for unit, name in ((1e6, "M"), (1e3, "k")):
        if value >= unit:
            return f"{value / unit:g}{name}"
    return f"{value:g}"


def _write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path

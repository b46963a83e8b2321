"""The charts: rows of figures come in, SVG text for the page goes out, drawn by altair and vl-convert without a browser.

Colours are names that the page's style sheet fills in, so one drawing serves light, dark and print. Names of groups and systems
are untrusted: they are data and domains of the drawing, never field names, titles or sort orders (Vega makes expressions of
these), and come out as escaped SVG text.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Sequence
from typing import Any

from fastscore.errors import UsageError
from fastscore.html.figures import BINS, Mean, Share, ordered
from fastscore.html.words import plain

__all__ = [
    "SERIES",
    "difference_chart",
    "histogram_chart",
    "import_altair",
    "means_chart",
    "overview_chart",
    "profile_chart",
    "to_svg",
]

#: How many systems have a colour of their own; more begin again.
SERIES = 6
_WIDTH = 620
_NAME = 60
# The drawing has these colours; the page has variables of its style sheet in their place.
_STANDINS = {"#010101": "var(--text)", "#020202": "var(--soft)", "#030303": "var(--line)"}
_STANDINS |= {f"#0{place}0a0{place}": f"var(--series-{place})" for place in range(SERIES)}
_TEXT, _SOFT, _LINE = list(_STANDINS)[:3]
_COLOURS = list(_STANDINS)[3:]
_NOTEBOOK = ("#1f6feb",)


def import_altair() -> Any:
    """Return the module altair.

    Raises
    ------
    UsageError
        altair, vl-convert-python or great-tables is not installed.
    """
    try:
        modules = [importlib.import_module(name) for name in ("altair", "great_tables", "vl_convert")]
    except ImportError as error:
        raise UsageError(
            f"a report needs altair, vl-convert-python and great-tables, and {error.name} is not installed: "
            "pip install '.[report]' in a clone of fastscore"
        ) from None
    return modules[0]


def to_svg(chart: Any) -> str:
    """Draw a chart; the SVG's colours are the page's variables."""
    import vl_convert

    svg = str(vl_convert.vegalite_to_svg(_harmless(_styled(chart).to_dict())))
    for standin, variable in _STANDINS.items():
        svg = svg.replace(f'"{standin}"', f'"{variable}"')
    return re.sub(r"(\d+\.\d{2})\d+", r"\1", svg)


def means_chart(means: Sequence[Mean], title: str, *, as_given: bool = False, colours: Sequence[str] = _COLOURS) -> Any:
    """A row for each group, in natural order or `as_given`, with the mean and interval of one metric for each system; percent."""
    alt = import_altair()
    systems = _systems(means)
    base = alt.Chart(_values(means))
    groups = alt.Y(
        "group:N", scale=alt.Scale(domain=_groups(means, as_given=as_given)), title=None, axis=alt.Axis(labelLimit=260)
    )
    shared = {"y": groups, "color": _colour(alt, systems, colours)}
    if len(systems) > 1:
        shared["yOffset"] = alt.YOffset("system:N", scale=alt.Scale(domain=systems))
    scale = alt.Scale(domain=_domain(means), zero=False, nice=True)
    rule = base.mark_rule(strokeWidth=2).encode(x=alt.X("low:Q", scale=scale, title=_title(title)), x2="high:Q", **shared)
    point = base.mark_point(filled=True, size=70, opacity=1).encode(x=alt.X("mean:Q", scale=scale, title=_title(title)), **shared)
    return (rule + point).properties(width=_WIDTH - 140, height={"step": max(24, 14 * len(systems) + 8), "for": "position"})


def profile_chart(means: Sequence[Mean], title: str, axis: str) -> Any:
    """The mean and interval of one metric along ordered groups, for each system, under bars of how many items there are."""
    alt = import_altair()
    systems = _systems(means)
    base = alt.Chart(_values(means))
    along = alt.X("group:N", scale=alt.Scale(domain=_groups(means)), title=_title(axis), axis=alt.Axis(labelAngle=0))
    shared = {"x": along, "color": _colour(alt, systems)}
    if len(systems) > 1:
        shared["xOffset"] = alt.XOffset("system:N", scale=alt.Scale(domain=systems))
    scale = alt.Scale(domain=_domain(means), zero=False, nice=True)
    rule = base.mark_rule(strokeWidth=2).encode(y=alt.Y("low:Q", scale=scale, title=_title(title)), y2="high:Q", **shared)
    point = base.mark_point(filled=True, size=60, opacity=1).encode(y=alt.Y("mean:Q", scale=scale, title=_title(title)), **shared)
    means_part = (rule + point).properties(width=_WIDTH, height=200)
    first = [row for row in _values(means).values if row["system"] == systems[0]]
    counts = alt.Chart(alt.Data(values=first)).mark_bar(color=_SOFT, opacity=0.5)
    bars = counts.encode(
        x=alt.X("group:N", scale=alt.Scale(domain=_groups(means)), title=None, axis=None),
        y=alt.Y("n:Q", title="items", axis=alt.Axis(tickCount=2)),
    )
    return alt.vconcat(bars.properties(width=_WIDTH, height=44), means_part, spacing=6)


def histogram_chart(shares: Sequence[Share], title: str, colours: Sequence[str] = _COLOURS) -> Any:
    """How often which score occurs, for each system; percent of its items."""
    alt = import_altair()
    systems = list(dict.fromkeys(plain(one.system, _NAME) for one in shares))
    rows = [{"bin": one.name, "share": 100 * one.share, "system": plain(one.system, _NAME)} for one in shares]
    encoding = {
        "x": alt.X("bin:N", scale=alt.Scale(domain=list(BINS)), title=_title(title), axis=alt.Axis(labelAngle=0)),
        "y": alt.Y("share:Q", title="% of items"),
        "color": _colour(alt, systems, colours),
    }
    if len(systems) > 1:
        encoding["xOffset"] = alt.XOffset("system:N", scale=alt.Scale(domain=systems))
    return alt.Chart(alt.Data(values=rows)).mark_bar().encode(**encoding).properties(width=_WIDTH, height=200)


def overview_chart(shares: Sequence[Share], means: Sequence[Mean], metric: str) -> Any:
    """The histogram of scores over the means by group, where there are groups, in colours of its own: for a notebook."""
    parts = [histogram_chart(shares, f"{metric}, %", _NOTEBOOK)]
    if means:
        parts.append(means_chart(means, f"{metric}, %", colours=_NOTEBOOK))
    return import_altair().vconcat(*parts)


def difference_chart(differences: Sequence[Mean], title: str) -> Any:
    """Differences with their intervals, a row each, beside a line at zero; percentage points."""
    alt = import_altair()
    rows = _values(differences, within=False)
    axis = {"scale": alt.Scale(nice=True, zero=True), "title": _title(title)}
    shared = {
        "y": alt.Y(
            "group:N", scale=alt.Scale(domain=_groups(differences, as_given=True)), title=None, axis=alt.Axis(labelLimit=300)
        )
    }
    base = alt.Chart(rows)
    zero = alt.Chart(alt.Data(values=[{"zero": 0}])).mark_rule(color=_SOFT, strokeDash=[4, 3]).encode(x="zero:Q")
    rule = base.mark_rule(strokeWidth=2, color=_COLOURS[0]).encode(x=alt.X("low:Q", **axis), x2="high:Q", **shared)
    point = base.mark_point(filled=True, size=70, opacity=1, color=_COLOURS[0]).encode(x=alt.X("mean:Q", **axis), **shared)
    return (zero + rule + point).properties(width=_WIDTH - 140, height={"step": 24})


def _values(means: Sequence[Mean], *, within: bool = True) -> Any:
    """The data of a chart, in percent; intervals of means are drawn `within` what a percentage can be."""
    alt = import_altair()
    rows = []
    for one in means:
        numbers = {"mean": one.mean, "low": one.low, "high": one.high}
        scaled = {name: None if value is None else round(100 * value, 4) for name, value in numbers.items()}
        if within:
            scaled = {name: None if value is None else min(max(value, 0.0), 100.0) for name, value in scaled.items()}
        rows.append({"group": plain(one.group, _NAME), "system": plain(one.system, _NAME), "n": one.n, **scaled})
    return alt.Data(values=rows)


def _title(text: str) -> str:
    """A title without what could end or change the text literal that Vega puts it into."""
    return re.sub(r"[^\w %.,:;()/-]", " ", plain(text, 100))


def _groups(means: Sequence[Mean], *, as_given: bool = False) -> list[str]:
    names = [one.group for one in means]
    return list(dict.fromkeys(plain(name, _NAME) for name in (names if as_given else ordered(names))))


def _systems(means: Sequence[Mean]) -> list[str]:
    return list(dict.fromkeys(plain(one.system, _NAME) for one in means))


def _domain(means: Sequence[Mean]) -> list[float]:
    """The range of the axis: all means and intervals, a little room, within what percent allows."""
    ends = [value for one in means for value in (one.mean, one.low, one.high) if value is not None]
    if not ends:
        return [0.0, 100.0]
    return [min(98.0, max(0.0, 100 * min(ends) - 2)), max(2.0, min(100.0, 100 * max(ends) + 2))]


def _colour(alt: Any, systems: Sequence[str], palette: Sequence[str] = _COLOURS) -> Any:
    colours = [palette[place % len(palette)] for place in range(len(systems))]
    legend = alt.Legend(title=None, orient="top", labelLimit=240) if len(systems) > 1 else None
    return alt.Color("system:N", scale=alt.Scale(domain=list(systems), range=colours), legend=legend)


def _harmless(spec: Any) -> Any:
    """The drawing's description with control characters of every text shown as escapes: a NUL would end the process."""
    if isinstance(spec, dict):
        return {name: _harmless(value) for name, value in spec.items()}
    if isinstance(spec, list):
        return [_harmless(value) for value in spec]
    return plain(spec, 500) if isinstance(spec, str) else spec


def _styled(chart: Any) -> Any:
    labels = {"labelColor": _TEXT, "titleColor": _SOFT, "labelFont": _FONT, "titleFont": _FONT, "labelFontSize": 12}
    axis = {
        "gridColor": _LINE,
        "domainColor": _LINE,
        "tickColor": _LINE,
        "titleFontWeight": "normal",
        "titleFontSize": 12,
        "tickCount": 6,
    }
    return (
        chart.configure(background="transparent", font=_FONT, padding={"left": 30, "right": 14, "top": 8, "bottom": 8})
        .configure_axis(**labels, **axis)
        .configure_legend(**labels)
        .configure_view(stroke=None)
        .configure_text(color=_TEXT)
    )


_FONT = "Arial, Helvetica, sans-serif"

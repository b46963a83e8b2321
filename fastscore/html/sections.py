"""The sections of the report in the order of the page: a title and HTML each, or None where the data have nothing for one."""

from __future__ import annotations

import shlex
import sys
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from fastscore.html.changes import changes_of, recipe_of
from fastscore.html.charts import difference_chart, histogram_chart, means_chart, profile_chart, to_svg
from fastscore.html.figures import Mean, group_means, histogram, overall_means, status_counts
from fastscore.html.items import MOST, items_section, pick_items
from fastscore.html.source import FIRST_WORD, LENGTH, TURN, Source
from fastscore.html.tables import changes_table, difference_table, html_table, means_table, metric_name, status_table
from fastscore.html.words import count, percent, shown
from fastscore.stats.comparison import Comparison
from fastscore.version import __version__

__all__ = [
    "Section",
    "comparison",
    "distribution",
    "groups",
    "headline",
    "items",
    "normalization",
    "profiles",
    "reproduce",
    "statuses",
]

_MOST_WORDS = 12


@dataclass(frozen=True)
class Section:
    """A section: its anchor, its title and its HTML."""

    anchor: str
    title: str
    body: str


def headline(sources: Sequence[Source]) -> Section:
    """The main figures as tiles, then every metric with its interval."""
    means = [one for source in sources for one in overall_means(source)]
    tiles = []
    for source in sources:
        for one in [one for one in means if one.system == source.name][:2]:
            what = metric_name(one.metric) + (f" · {source.name}" if len(sources) > 1 else "")
            interval = "no interval" if one.low is None else f"95 %: {percent(one.low)} to {percent(one.high)}"
            tiles.append(
                f'<div class="tile"><div class="what">{shown(what, 80)}</div><div class="value">{percent(one.mean)}</div>'
                f'<div class="range">{interval}</div></div>'
            )
    first = sources[0]
    unit = f"clustered by {', '.join(first.cluster)}" if first.cluster else "each item a unit of its own"
    warnings = dict.fromkeys(one.warning for one in means if one.warning)
    notes = "".join(f'<p class="warning">{shown(text)}</p>' for text in warnings)
    about = f"Percent. Standard errors and intervals: {unit}, t quantiles (Miller 2024, arXiv 2411.00640)."
    body = f'<div class="tiles">{"".join(tiles)}</div>{notes}{means_table("all", means, None)}<p class="note">{shown(about)}</p>'
    return Section("figures", "Figures", body)


def groups(sources: Sequence[Source]) -> Section | None:
    """Means by each group column that all systems have: a chart of the main metric and a table of the first two."""
    columns = [name for name in sources[0].groups if all(name in source.groups for source in sources)]
    if not columns:
        return None
    parts = []
    for place, column in enumerate(columns):
        metrics = sources[0].metrics[:2]
        means = [one for source in sources for one in group_means(source, column, metrics)]
        main = [one for one in means if one.metric == sources[0].main] or means
        chart = _figure(means_chart(main, f"{metric_name(main[0].metric)}, %"), f"Mean and 95 % interval by {column}.")
        parts.append(f"<h3>By {shown(column)}</h3>{chart}{means_table(f'group{place}', means, column)}")
    return Section("groups", "Groups", "".join(parts))


def distribution(sources: Sequence[Source]) -> Section:
    """The histogram of the main metric."""
    name = metric_name(sources[0].main)
    shares = [one for source in sources for one in histogram(source)]
    chart = histogram_chart(shares, f"{name}, %")
    return Section("distribution", f"Distribution of {name}", _figure(chart, "Items by score; 0 and 100 stand by themselves."))


def profiles(sources: Sequence[Source]) -> Section | None:
    """The main metric by length of the answer, turn of the conversation and the question's first word."""
    parts = []
    main, name = sources[0].main, metric_name(sources[0].main)
    for label, title, axis in (
        (LENGTH, "By answer length", f"words of the {sources[0].length_of}"),
        (TURN, "By turn", "turn of the conversation"),
    ):
        having = [source for source in sources if label in source.frame.columns]
        means = [one for source in having for one in group_means(source, label, (main,)) if one.n]
        if len({one.group for one in means}) > 1:
            caption = f"Mean and 95 % interval by {axis}, drawn within 0 to 100; the bars count the items of {having[0].name}."
            parts.append(f"<h3>{title}</h3>{_figure(profile_chart(means, f'{name}, %', axis), caption)}")
    having = [source for source in sources if FIRST_WORD in source.frame.columns]
    means = [one for source in having for one in group_means(source, FIRST_WORD, (main,), _MOST_WORDS) if one.n]
    if means:
        chart = means_chart(_with_counts(means), f"{name}, %", as_given=True)
        parts.append(
            f"<h3>By the question's first word</h3>{_figure(chart, 'Mean and 95 % interval; number of items beside the word.')}"
        )
    return Section("profiles", f"What {name} depends on", "".join(parts)) if parts else None


def statuses(sources: Sequence[Source]) -> Section | None:
    """How many items have which status."""
    shares = [one for source in sources for one in status_counts(source)]
    if not shares:
        return None
    return Section("statuses", "Statuses", status_table("status", shares))


def normalization(sources: Sequence[Source]) -> Section:
    """What the normalisation changed, for each system."""
    parts = []
    for place, source in enumerate(sources):
        title = f"<h3>{shown(source.name, 60)}</h3>" if len(sources) > 1 else ""
        parts.append(f'<div class="side">{title}{_changes(source, f"norm{place}")}</div>')
    return Section("normalisation", "What normalisation changed", f'<div class="sides">{"".join(parts)}</div>')


def _changes(source: Source, name: str) -> str:
    recipe = recipe_of(source)
    if recipe is None:
        return '<p class="note">These item scores carry no signature that this version can read, so the rule is not known.</p>'
    found = changes_of(source, recipe)
    if found is None:
        return (
            '<p class="note">The predictions’ text is not in these item scores: <code>fastscore score … --keep prediction '
            "--keep references</code> keeps it.</p>"
        )
    rows = [("changed at all", found.changed, found.looked)]
    rows += [(f"changed by: {step}", n, found.looked) for step, n in found.steps]
    table = changes_table(f"{name}-steps", ["predictions", "items", "%"], rows)
    if found.matched is not None and found.rescued is not None:
        match = [("exact matches", found.matched, found.looked), ("… that need normalisation", found.rescued, found.matched)]
        table += changes_table(f"{name}-matches", ["exact match", "items", "%"], match)
    if found.examples:
        pairs = [[text, form, count(n)] for text, form, n in found.examples]
        table += "<h3>Most frequent changes</h3>" + html_table(
            f"{name}-examples", ["prediction", "normal form", "items"], pairs, (2,)
        )
    sampled = (
        "all predictions" if found.looked == found.items else f"{count(found.looked)} predictions of {count(found.items)} items"
    )
    long = f"; {count(found.too_long)} long ones left out" if found.too_long else ""
    return f'{table}<p class="note">Counted on {sampled}{long}.</p>'


def comparison(found: Comparison) -> Section:
    """Every other system against the first: tables and a chart of the differences."""
    parts = []
    for place, pair in enumerate(found.pairs):
        parts.append(f"<h3>{shown(pair.b, 60)} against {shown(pair.a, 60)}: {count(pair.joined)} items</h3>")
        rows = [
            Mean(
                *("", metric, f"{label}{metric_name(metric)}", one.n, one.interval.clusters, one.interval.mean),
                *(one.interval.standard_error, one.interval.low, one.interval.high),
            )
            for label, metric, one in [
                *(("", metric, one) for metric, one in pair.overall.items()),
                *(
                    (f"{column} = {'(none)' if group.value is None else group.value}: ", metric, group.difference)
                    for column, metrics in pair.groups.items()
                    for metric, groups in metrics.items()
                    for group in groups[:24]
                ),
            ]
            if one.interval.mean is not None
        ]
        chart = difference_chart(rows, "difference in percentage points") if rows else None
        parts.append(difference_table(f"pair{place}", found, pair))
        parts += [difference_table(f"pair{place}-{n}", found, pair, column) for n, column in enumerate(pair.groups)]
        parts.append(
            "" if chart is None else _figure(chart, "Difference and its 95 % interval; right of zero the second is better.")
        )
        for name, alone in ((pair.a, pair.only_a), (pair.b, pair.only_b)):
            if alone.count:
                parts.append(f'<p class="note">{count(alone.count)} items are in {shown(name, 60)} alone and not compared.</p>')
    cluster = f"swapped by {', '.join(found.cluster)}" if found.cluster else "swapped item by item"
    about = (
        f"p: approximate randomisation, {cluster}, {count(found.draws)} draws, seed {found.seed}; "
        f"corrected by {found.correction}. better, equal, worse: items on which the second system scores more, the same, less. "
        "detectable: the smallest true difference that a study of this size finds four times in five."
    )
    notes = "".join(f'<p class="warning">{shown(note, 600)}</p>' for note in found.notes)
    return Section("comparison", "Comparison", f'{"".join(parts)}<p class="note">{shown(about, 900)}</p>{notes}')


def items(sources: Sequence[Source], found: Comparison | None) -> Section:
    """The items to look at."""
    picked = pick_items(sources, found)
    lead = f'<p class="note">At most {MOST} items, long texts cut. Marked: words that match by the recipe’s rule.</p>'
    return Section("items", "Items", lead + items_section(picked, sources))


def reproduce(sources: Sequence[Source]) -> Section:
    """The signatures and the commands that make the same numbers."""
    parts = []
    for source in sources:
        signature = source.scores.signature
        said = f"<pre>{shown(signature, 2000)}</pre>" if signature else '<p class="note">no signature in these scores</p>'
        parts.append(f"<h3>{shown(source.name, 60)}: {count(source.scores.rows)} items</h3>{said}")
    lines = []
    files = []
    for source in sources:
        file = Path(source.scores.where).name if source.scores.where else f"{source.name}.parquet"
        files.append(shlex.quote(file))
        recipe = shlex.quote(source.scores.signature or "RECIPE")
        keep = "--keep prediction --keep references --keep question"
        lines.append(f"fastscore score PREDICTIONS REFERENCES -r {recipe} {keep} -o {shlex.quote(file)}")
    lines.append(f"fastscore report {' '.join(files)} -o report.html")
    versions = f"fastscore {__version__}, Python {sys.version.split()[0]}, Unicode {unicodedata.unidata_version}"
    commands = "\n".join(shown(line, 3000) for line in lines)
    return Section(
        "reproduce",
        "Signature and how to reproduce",
        f'{"".join(parts)}<pre>{commands}</pre><p class="note">{shown(versions)}</p>',
    )


def _with_counts(means: Sequence[Mean]) -> list[Mean]:
    """Put the number of items behind the name of each group, that of the first system that has it."""
    sizes: dict[str, int] = {}
    for one in means:
        sizes.setdefault(one.group, one.n)
    named = sorted(means, key=lambda one: (one.group.startswith("("), -sizes[one.group]))
    return [replace(one, group=f"{one.group} · {count(sizes[one.group])}") for one in named]


def _figure(chart: object, caption: str) -> str:
    return f"<figure>{to_svg(chart)}<figcaption>{shown(caption)}</figcaption></figure>"

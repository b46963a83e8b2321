"""The items to look at: the worst, the close misses, the best and, of several systems, those that changed most.

Sources and the comparison come in; the rows of a searchable HTML table go out, at most `MOST` of them. Among items of equal score
those listed lie evenly over the table, so that they are not all of one story.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from fastscore.html.changes import recipe_of
from fastscore.html.marking import marked_pairs
from fastscore.html.source import Source
from fastscore.html.tables import metric_name
from fastscore.html.words import percent, shown, signed
from fastscore.stats.comparison import Comparison

__all__ = ["MOST", "Item", "items_section", "pick_items"]

#: How many items the page lists at most.
MOST = 300
_SHARES = (("worst", 0.5), ("close", 0.3), ("best", 0.2))
_KINDS = {"worst": "worst", "close": "close miss", "best": "best", "worsened": "worsened", "improved": "improved"}
_COLUMNS = ("question", "prediction", "references", "best_reference", "status")
_OTHERS = 4
_CHANGED = 40


@dataclass(frozen=True)
class Item:
    """One row of the list; texts are as in the table. `before` is the first system's prediction of a changed item."""

    kind: str
    system: str
    key: tuple[str, ...]
    question: str | None
    prediction: str | None
    references: tuple[str, ...]
    best: int | None
    scores: tuple[float | None, ...]
    status: str | None
    group: str | None = None
    before: tuple[str, str | None] | None = None
    change: float | None = None


def pick_items(sources: Sequence[Source], found: Comparison | None) -> list[Item]:
    """Choose the items: of each system its share, and of each pair those that changed most in the main metric."""
    changed = [] if found is None else _changed(sources, found)
    room = (MOST - len(changed)) // len(sources)
    out = []
    for source in sources:
        scores = source.frame[source.main].fill_null(np.nan).to_numpy()
        exact = source.frame["exact_match"].to_numpy() if "exact_match" in source.metrics else None
        taken: set[int] = set()
        for kind, share in _SHARES:
            rows = _rows(kind, scores, exact, max(1, int(room * share)), taken)
            taken.update(rows)
            frame = source.rows(rows, _wanted(source))
            out += [_item(source, kind, row) for row in frame.iter_rows(named=True)]
    return [*changed, *out]


def _rows(kind: str, scores: NDArray[np.float64], exact: NDArray[np.float64] | None, most: int, taken: set[int]) -> list[int]:
    """Rows of lowest or highest score; close misses are of highest score among those without an exact match."""
    allowed = ~np.isnan(scores)
    if taken:
        allowed[list(taken)] = False
    if kind == "close":
        allowed &= (scores > 0) & ((scores < 1) if exact is None else (exact == 0))
    order = scores if kind == "worst" else -scores
    rows = np.flatnonzero(allowed)
    if rows.size > most:
        values = order[rows]
        edge = np.partition(values, most - 1)[most - 1]
        inside, tied = rows[values < edge], rows[values == edge]
        places = np.arange(most - inside.size) * tied.size // (most - inside.size)
        rows = np.concatenate([inside, tied[places]])
    chosen = rows[np.lexsort((rows, order[rows]))]
    return [int(row) for row in chosen]


def _wanted(source: Source) -> list[str]:
    wanted = (*source.keys, *source.metrics, *_COLUMNS, *source.groups[:1])
    return [name for name in dict.fromkeys(wanted) if name in source.scores.columns]


def _item(source: Source, kind: str, row: dict[str, Any]) -> Item:
    references = row.get("references")
    listed = [references] if isinstance(references, str) else references if isinstance(references, list) else []
    group = row.get(source.groups[0]) if source.groups else None
    return Item(
        kind=kind,
        system=source.name,
        key=tuple(str(row[name]) for name in source.keys),
        question=_text(row.get("question")),
        prediction=_text(row.get("prediction")),
        references=tuple("" if one is None else str(one) for one in listed),
        best=row.get("best_reference"),
        scores=tuple(row[name] for name in source.metrics[:2]),
        status=_text(row.get("status")),
        group=_text(group),
    )


def _text(value: Any) -> str | None:
    return None if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def _changed(sources: Sequence[Source], found: Comparison) -> list[Item]:
    """The items of the comparison's lists with their texts, from the second system's table and from the first's."""
    by_name = {source.name: source for source in sources}
    out = []
    metric = sources[0].main
    for pair in found.pairs:
        source = by_name[pair.b]
        most = max(1, _CHANGED // len(found.pairs))
        for kind, lists in (("worsened", pair.worsened), ("improved", pair.improved)):
            items = lists.get(metric, ())[:most]
            if not items:
                continue
            schema = source.lazy().collect_schema()
            keys = pl.DataFrame([item.key for item in items]).cast({name: schema[name] for name in items[0].key})
            names = list(keys.columns)
            rest = [name for name in _wanted(source) if name not in names]
            lazy = source.lazy().select([*names, *rest]).join(keys.lazy(), on=names, how="semi")
            rows = keys.join(lazy.collect(engine="streaming"), on=names, how="left", maintain_order="left")
            for item, row in zip(items, rows.iter_rows(named=True), strict=True):
                made = _item(source, kind, {**dict.fromkeys(source.keys, ""), **row})
                before = (pair.a, item.prediction_a)
                out.append(replace(made, key=tuple(map(str, item.key.values())), before=before, change=item.difference))
    return out


def items_section(items: Sequence[Item], sources: Sequence[Source]) -> str:
    """The table with its search box and filters; these stay hidden where no script runs."""
    first = sources[0]
    recipe = recipe_of(first)
    best = [one.references[one.best] if one.best is not None and one.best < len(one.references) else None for one in items]
    pairs = marked_pairs([(one.prediction, text) for one, text in zip(items, best, strict=True)], recipe)
    befores = marked_pairs([(one.before[1] if one.before else None, text) for one, text in zip(items, best, strict=True)], recipe)
    several = len(sources) > 1
    texts = any(one.prediction is not None for one in items)
    rows = [_row(one, pair, was[0], several=several) for one, pair, was in zip(items, pairs, befores, strict=True)]
    metrics = [metric_name(name) for name in first.metrics[:2]]
    headings = [
        "list",
        *(["system"] if several else []),
        "item",
        "question",
        "prediction",
        "reference that won",
        *metrics,
        "status",
    ]
    head = "".join(f'<th scope="col">{shown(heading)}</th>' for heading in headings)
    note = (
        ""
        if texts
        else (
            '<p class="note">The texts are not in these item scores: <code>fastscore score … --keep prediction --keep references '
            "--keep question</code> keeps them.</p>"
        )
    )
    table = f'<table class="items" id="items-table"><thead><tr>{head}</tr></thead><tbody>{"".join(rows)}</tbody></table>'
    return f'{note}{_filters(items, first)}<div class="scroll">{table}</div>'


def _row(one: Item, pair: tuple[str, str], was: str, *, several: bool) -> str:
    """One row; `pair` is the prediction and the reference that won, marked, `was` the first system's prediction."""
    prediction = f'<bdi dir="auto">{pair[0]}</bdi>' if one.prediction is not None else '<i class="none">none</i>'
    if one.before is not None:
        before = '<i class="none">none</i>' if one.before[1] is None else f'<bdi dir="auto">{was}</bdi>'
        prediction += f'<div class="before"><span class="who">{shown(one.before[0], 60)}:</span> {before}</div>'
    others = [text for place, text in enumerate(one.references) if place != one.best]
    reference = f'<bdi dir="auto">{pair[1]}</bdi>' if one.best is not None and pair[1] else ""
    if others:
        listed = "".join(f'<li dir="auto">{shown(text, 120)}</li>' for text in others[:_OTHERS])
        more = f"<li>… {len(others) - _OTHERS} more</li>" if len(others) > _OTHERS else ""
        what = "other references" if reference else "references"
        reference += f"<details><summary>{len(others)} {what}</summary><ul>{listed}{more}</ul></details>"
    scores = "".join(f'<td class="number">{percent(value)}</td>' for value in one.scores)
    if one.change is not None:
        scores = scores.removesuffix("</td>") + f'<div class="change">{signed(one.change)}</div></td>'
    cells = [
        f'<td><span class="tag {one.kind}">{_KINDS[one.kind]}</span></td>',
        *([f"<td>{shown(one.system, 60)}</td>"] if several else []),
        f'<td class="key">{"<br>".join(shown(part, 80) for part in one.key)}</td>',
        f'<td dir="auto">{shown(one.question)}</td>',
        f"<td>{prediction}</td>",
        f"<td>{reference}</td>",
        scores,
        f"<td>{shown(one.status)}</td>",
    ]
    data = {"list": one.kind, "system": one.system, "status": one.status, "group": one.group}
    marks = "".join(f' data-{name}="{shown(value, 60)}"' for name, value in data.items() if value is not None)
    return f"<tr{marks}>{''.join(cells)}</tr>"


def _filters(items: Sequence[Item], source: Source) -> str:
    """The controls above the table: a search box, and a choice for each property of which there are several."""
    choices = {
        "list": {one.kind: _KINDS[one.kind] for one in items},
        "system": {one.system: one.system for one in items},
        "status": {one.status: one.status for one in items if one.status is not None},
        "group": {one.group: one.group for one in items if one.group is not None},
    }
    titles = {"group": source.groups[0] if source.groups else "group"}
    selects = []
    for name, values in choices.items():
        if len(values) < 2:
            continue
        options = "".join(f'<option value="{shown(value, 60)}">{shown(text, 60)}</option>' for value, text in values.items())
        label = shown(titles.get(name, name), 60)
        selects.append(f'<label>{label} <select data-filter="{name}"><option value="">all</option>{options}</select></label>')
    search = '<label>search <input type="search" id="search" autocomplete="off" spellcheck="false"></label>'
    count = '<output id="shown-count" aria-live="polite"></output>'
    return f'<div class="filters" id="filters" role="search" hidden>{search}{"".join(selects)}{count}</div>'

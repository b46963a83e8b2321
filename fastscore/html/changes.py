"""What the recipe's normalisation changed: how many predictions each step touched, and how many matches it made possible.

A `Source` whose table has the predictions' text comes in; counts and examples go out. Normal forms are `fastscore.normalize`'s,
each step's share comes from leaving that step alone out. Large tables are sampled evenly.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from fastscore.errors import UsageError
from fastscore.html.source import Source
from fastscore.recipes import Recipe, find_recipe
from fastscore.text.normalize import normalize

__all__ = ["Changes", "changes_of", "recipe_of"]

_SAMPLE = 50_000
_LONGEST = 5_000
_EXAMPLES = 8
#: Part of the recipe, the value that leaves its step out, and what the page calls the step.
_STEPS: tuple[tuple[str, Any, str], ...] = (
    ("unicode", "none", "Unicode normalisation"),
    ("invisible", "keep", "invisible characters deleted"),
    ("fold_quotes_and_dashes", False, "quotes and dashes folded"),
    ("case", "keep", "letter case"),
    ("punctuation", "keep", "punctuation"),
    ("articles", "none", "articles"),
)


@dataclass(frozen=True)
class Changes:
    """Counts of predictions looked at (``looked``), changed at all, and changed by each step, with the most frequent examples.

    ``matched`` are exact matches among the predictions looked at and ``rescued`` those of them whose text as it stands is none of
    the references; both None where the references are not there or exact match does not compare normal forms.
    """

    looked: int
    items: int
    too_long: int
    changed: int
    steps: tuple[tuple[str, int], ...]
    matched: int | None
    rescued: int | None
    examples: tuple[tuple[str, str, int], ...]


def recipe_of(source: Source) -> Recipe | None:
    """The recipe that the scores' signature names, or None where there is none that this version can read."""
    if source.scores.signature is None:
        return None
    try:
        return find_recipe(source.scores.signature)
    except UsageError:
        return None


def changes_of(source: Source, recipe: Recipe) -> Changes | None:
    """Look at the predictions; None where the table has no text of them."""
    if source.lazy().collect_schema().get("prediction") != pl.String:
        return None
    items = source.scores.rows
    stride = max(1, -(-items // _SAMPLE))
    with_references = recipe.exact == "normal-form" and source.has("references", "exact_match")
    columns = ["prediction", *(["references", "exact_match"] if with_references else [])]
    lazy = source.lazy().select(columns).gather_every(stride).filter(pl.col("prediction").is_not_null())
    frame = lazy.collect(engine="streaming")
    short = frame.filter(pl.col("prediction").str.len_chars() <= _LONGEST)
    texts = short["prediction"]
    normal = _normal(texts, recipe)
    differs = normal != texts
    steps = []
    for part, without, name in _STEPS:
        if getattr(recipe, part) != without:
            less = _normal(texts, dataclasses.replace(recipe, **{part: without}))
            steps.append((name, int((less != normal).sum())))
    matched = rescued = None
    if with_references:
        right = (short["exact_match"] == 1.0).fill_null(False)
        matched, rescued = int(right.sum()), int((right & ~_verbatim(short)).sum())
    pairs = pl.DataFrame({"text": texts, "normal": normal}).filter(differs)
    top = pairs.group_by("text", "normal").len().sort(["len", "text"], descending=[True, False]).head(_EXAMPLES)
    return Changes(
        looked=short.height,
        items=items,
        too_long=frame.height - short.height,
        changed=int(differs.sum()),
        steps=tuple(steps),
        matched=matched,
        rescued=rescued,
        examples=tuple((str(text), str(form), int(n)) for text, form, n in top.iter_rows()),
    )


def _normal(texts: pl.Series, recipe: Recipe) -> pl.Series:
    found = pl.Series("normal", pl.from_arrow(normalize(texts.to_arrow(), recipe)))
    return found if found.dtype == pl.String else found.cast(pl.String)


def _verbatim(frame: pl.DataFrame) -> pl.Series:
    """Which predictions are, as they stand, one of their references."""
    if frame.schema["references"] == pl.String:
        return (frame["prediction"] == frame["references"]).fill_null(False)
    if frame.schema["references"] != pl.List(pl.String):
        return pl.Series(np.zeros(frame.height, dtype=bool))
    return frame.select(pl.col("references").list.contains(pl.col("prediction")).fill_null(False)).to_series()

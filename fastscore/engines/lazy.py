"""A polars LazyFrame with its scores: one column more for each, streamed, in the frame's own order."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

import fastscore.engines.polars  # noqa: F401  (registers the namespace)
from fastscore.errors import UnknownNameError, UsageError, did_you_mean
from fastscore.recipes import Recipe, resolve_recipe
from fastscore.schema import WORD_METRICS

__all__ = ["scan"]

_SCORES = (*WORD_METRICS, "best_reference", "status")


def scan(
    frame: pl.LazyFrame | pl.DataFrame,
    recipe: str | Recipe,
    *,
    prediction: str = "prediction",
    references: str = "references",
    keep: Sequence[str] | None = None,
) -> pl.LazyFrame:
    """Give the frame with its item scores, lazily.

    Parameters
    ----------
    frame
        A LazyFrame (or DataFrame) with a column of predictions and one of references.
    recipe
        A name, an alias, a signature or a `Recipe`.
    prediction, references
        What the two columns are called.
    keep
        The columns to keep before the scores; None: all.

    Returns
    -------
    polars.LazyFrame
        Row for row the frame's, with exact_match, f1, precision, recall, best_reference and status behind.

    Raises
    ------
    UnknownNameError
        A column or the recipe is unknown.
    UsageError
        `frame` is no polars frame, or a column has the name of a score.
    """
    if not isinstance(frame, (pl.LazyFrame, pl.DataFrame)):
        raise UsageError(f"frame: a polars LazyFrame is allowed, got {type(frame).__name__}")
    lazy = frame.lazy()
    names = lazy.collect_schema().names()
    for name in (prediction, references, *(keep or ())):
        if name not in names:
            raise UnknownNameError(f"frame: column {name!r} is not there.{did_you_mean(name, names)}")
    kept = list(names if keep is None else keep)
    taken = [name for name in kept if name in _SCORES]
    if taken:
        raise UsageError(f"frame: column {taken[0]!r} has the name of a score; rename it, or leave it out with keep")
    found, _ = resolve_recipe(recipe)
    scored = pl.col(prediction).fastscore.score(pl.col(references), found).alias("fastscore")  # type: ignore[attr-defined]
    return lazy.select(*kept, scored).unnest("fastscore")

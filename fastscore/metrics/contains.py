"""Exact match by the texts themselves: a prediction contains a reference's normal form, or is a reference as it is given."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fastscore.kernels.search import match_pairs
from fastscore.recipes import Recipe
from fastscore.text.columns import ListColumn, TextColumn
from fastscore.text.normalize import normalized

__all__ = ["NO_MATCHES", "matches_of"]

Matches = tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64]]
NO_MATCHES: Matches = np.zeros(0, dtype=np.uint8), np.zeros(0, dtype=np.int64)


def matches_of(predictions: TextColumn, references: ListColumn, recipe: Recipe) -> Matches:
    """Flags, a list's own and one for a text of nothing behind them, and where each row's begin; empty where not asked for.

    ``contains``: the normal form contains the reference's, as characters; an empty one is contained in every text, as in the
    scripts that have this rule. ``verbatim``: the texts are equal as they were given.
    """
    if recipe.exact not in ("contains", "verbatim"):
        return NO_MATCHES
    texts = references.texts
    if recipe.exact == "contains":
        predictions = normalized(predictions, recipe, "prediction")
        texts = normalized(texts, recipe, "references")
    firsts = np.zeros(predictions.starts.size + 1, dtype=np.int64)
    np.cumsum(references.ends - references.starts + 1, out=firsts[1:])
    flags = np.zeros(max(1, int(firsts[-1])), dtype=np.uint8)
    longest = int((texts.ends - texts.starts).max()) if texts.starts.size else 0
    fail = np.empty(longest + 1, dtype=np.int64)
    columns = (predictions.data, predictions.starts, predictions.ends, texts.data, texts.starts, texts.ends)
    match_pairs(*columns, references.starts, references.ends, firsts, recipe.exact == "verbatim", fail, flags)
    return flags, firsts

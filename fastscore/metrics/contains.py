"""Exact match by the texts as they were given, where the kernels see what Unicode normalisation or a splitting made of them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fastscore.kernels.search import match_pairs
from fastscore.recipes import Recipe
from fastscore.text.columns import ListColumn, TextColumn
from fastscore.text.normalize import changes_texts

__all__ = ["NO_MATCHES", "matches_of"]

Matches = tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64]]
NO_MATCHES: Matches = np.zeros(0, dtype=np.uint8), np.zeros(0, dtype=np.int64)


def matches_of(predictions: TextColumn, references: ListColumn, recipe: Recipe) -> Matches:
    """Flags, and where each row's begin: whether a prediction equals each reference byte for byte, and whether it is empty.

    Both are empty where the recipe does not ask, or where the kernels have the texts as they were given.
    """
    if recipe.exact != "verbatim" or not changes_texts(recipe):
        return NO_MATCHES
    texts = references.texts
    firsts = np.zeros(predictions.starts.size + 1, dtype=np.int64)
    np.cumsum(references.ends - references.starts + 1, out=firsts[1:])
    flags = np.zeros(max(1, int(firsts[-1])), dtype=np.uint8)
    columns = (predictions.data, predictions.starts, predictions.ends, texts.data, texts.starts, texts.ends)
    match_pairs(*columns, references.starts, references.ends, firsts, flags)
    return flags, firsts

"""Exact match by substring: 1 where a prediction's normal form contains a reference's, as characters."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fastscore.kernels.search import contains_rows
from fastscore.recipes import Recipe
from fastscore.text.columns import ListColumn, TextColumn
from fastscore.text.normalize import normalized

__all__ = ["contained"]


def contained(predictions: TextColumn, references: ListColumn, recipe: Recipe) -> npt.NDArray[np.float64]:
    """float64[n]: the recipe's references rule over "the prediction's normal form contains the reference's".

    An empty normal form is contained in every text, as in the scripts that have this rule.
    """
    form = normalized(predictions, recipe, "prediction")
    texts = normalized(references.texts, recipe, "references")
    longest = int((texts.ends - texts.starts).max()) if texts.starts.size else 0
    out = np.zeros(form.starts.size)
    fail = np.empty(longest + 1, dtype=np.int64)
    most = int((references.ends - references.starts).max()) if out.size else 0
    hits = np.empty(most + 1)
    rule = ("best", "leave_one_out", "first").index(recipe.references)
    columns = (form.data, form.starts, form.ends, texts.data, texts.starts, texts.ends, references.starts, references.ends)
    contains_rows(*columns, rule, recipe.reference_filter == "non-empty", fail, hits, out)
    return out

"""Which references of a list count: the filters of published scorers, as new lists over the same texts."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fastscore.kernels.columns import equal_to
from fastscore.kernels.lists import first_of_equals, vote
from fastscore.recipes import Recipe
from fastscore.text.columns import ListColumn, TextColumn
from fastscore.text.lowered import lowered

__all__ = ["filtered"]

_CANNOT_ANSWER = np.frombuffer(b"CANNOTANSWER", dtype=np.uint8)


def filtered(references: ListColumn, recipe: Recipe) -> ListColumn:
    """The references that count by the recipe's filter; places keep each one's index in the list as it came.

    ``unique-caseless`` keeps the first of those that are equal after `str.lower` (lm-evaluation-harness);
    ``cannotanswer-vote`` leaves CANNOTANSWER alone where at least half are, else removes it (QuAC). ``non-empty`` is the
    kernel's, which sees the normal forms.
    """
    if recipe.reference_filter not in ("unique-caseless", "cannotanswer-vote"):
        return references
    texts = references.texts
    kept = np.zeros(texts.starts.size, dtype=np.uint8)
    if recipe.reference_filter == "unique-caseless":
        lower = lowered(texts)
        first_of_equals(lower.data, lower.starts, lower.ends, references.starts, references.ends, kept)
    else:
        flags = np.zeros(texts.starts.size, dtype=np.uint8)
        equal_to(texts.data, texts.starts, texts.ends, _CANNOT_ANSWER, flags)
        vote(flags, references.starts, references.ends, kept)
    return _only(references, kept.astype(np.bool_))


def _only(references: ListColumn, kept: npt.NDArray[np.bool_]) -> ListColumn:
    """The same lists with only the texts that are `kept`; texts that stand in no list are dropped."""
    texts = references.texts
    before = np.concatenate(([0], np.cumsum(kept))).astype(np.int64)
    places = references.places
    if places is None:
        places = np.zeros(texts.starts.size, dtype=np.int64)
        sizes = references.ends - references.starts
        inside = np.arange(int(sizes.sum())) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        places[np.repeat(references.starts, sizes) + inside] = inside
    compact = TextColumn(texts.data, texts.starts[kept], texts.ends[kept], None)
    return ListColumn(compact, before[references.starts], before[references.ends], places[kept], references.valid)

"""Which references of a list count: the filters of published scorers, as flags of the texts or as new lists of them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from fastscore.kernels.columns import equal_to
from fastscore.kernels.lists import first_of_equals, first_of_equals_ascii, vote
from fastscore.recipes import Recipe
from fastscore.text.columns import ListColumn, TextColumn
from fastscore.text.lowered import lowered

__all__ = ["CANNOT_ANSWER", "counted", "filtered"]

#: What QuAC's questions without an answer have for one.
CANNOT_ANSWER = np.frombuffer(b"CANNOTANSWER", dtype=np.uint8)
Flags = npt.NDArray[np.uint8]
_ALL: Flags = np.zeros(0, dtype=np.uint8)
_FILTERS = ("unique-caseless", "cannotanswer-vote")


def counted(references: ListColumn, recipe: Recipe) -> tuple[ListColumn, Flags]:
    """The lists as the kernels take them, and which of their texts count by the recipe's filter; no flags where all do.

    ``unique-caseless`` keeps the first of those that are equal after `str.lower` (lm-evaluation-harness);
    ``cannotanswer-vote`` leaves CANNOTANSWER alone where at least half are, else removes it (QuAC). ``non-empty`` is the
    kernel's, which sees the normal forms. Where only the first reference counts the others are not looked at.
    """
    if recipe.references == "first" and recipe.reference_filter in ("all", "unique-caseless"):
        return references._replace(ends=np.minimum(references.starts + 1, references.ends)), _ALL
    if recipe.reference_filter not in _FILTERS:
        return references, _ALL
    references = _apart(references)
    texts = references.texts
    kept = np.zeros(texts.starts.size, dtype=np.uint8)
    if recipe.reference_filter == "unique-caseless":
        _keep_first_of_equals(references, kept)
    else:
        flags = np.zeros(texts.starts.size, dtype=np.uint8)
        equal_to(texts.data, texts.starts, texts.ends, CANNOT_ANSWER, flags)
        vote(flags, references.starts, references.ends, kept)
    return references, kept


def filtered(references: ListColumn, recipe: Recipe) -> ListColumn:
    """The lists with only the texts that count by the recipe's filter; places keep each one's index in the list as it came."""
    if recipe.reference_filter not in _FILTERS:
        return references
    references, kept = counted(references, replace(recipe, references="best"))
    return _only(references, kept.astype(np.bool_))


def _keep_first_of_equals(references: ListColumn, kept: Flags) -> None:
    """Flag the texts that differ from all before them in their list after `str.lower`; short ASCII lists in one pass."""
    texts, starts, ends = references.texts, references.starts, references.ends
    open_rows = np.zeros(starts.size, dtype=np.uint8)
    if not first_of_equals_ascii(texts.data, texts.starts, texts.ends, starts, ends, texts.packed(), kept, open_rows):
        return
    rows = np.flatnonzero(open_rows)
    chosen = _inside(starts[rows], ends[rows])
    sizes = ends[rows] - starts[rows]
    last = np.cumsum(sizes)
    lower = lowered(TextColumn(texts.data, texts.starts[chosen], texts.ends[chosen], None))
    part = np.zeros(chosen.size, dtype=np.uint8)
    slots = 4
    while slots < 2 * int(sizes.max()):
        slots *= 2
    first_of_equals(lower.data, lower.starts, lower.ends, last - sizes, last, np.empty(slots, dtype=np.int64), part)
    kept[chosen] = part


def _inside(starts: npt.NDArray[np.int64], ends: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """The numbers from each start to its end, one range behind the other."""
    sizes = ends - starts
    inside: npt.NDArray[np.int64] = np.arange(int(sizes.sum()), dtype=np.int64)
    inside += np.repeat(starts - (np.cumsum(sizes) - sizes), sizes)
    return inside


def _apart(references: ListColumn) -> ListColumn:
    """The same lists with texts of their own each, so that a text can count in one and not in another."""
    starts, ends = references.starts, references.ends
    if bool((starts[1:] >= ends[:-1]).all()):
        return references
    chosen = _inside(starts, ends)
    sizes = ends - starts
    last = np.cumsum(sizes)
    texts = references.texts
    places = None if references.places is None else references.places[chosen]
    own = TextColumn(texts.data, texts.starts[chosen], texts.ends[chosen], None)
    return ListColumn(own, last - sizes, last, places, references.valid)


def _only(references: ListColumn, kept: npt.NDArray[np.bool_]) -> ListColumn:
    """The same lists with only the texts that are `kept`; texts that stand in no list are dropped."""
    texts = references.texts
    before = np.concatenate(([0], np.cumsum(kept))).astype(np.int64)
    places = references.places
    if places is None:
        places = np.zeros(texts.starts.size, dtype=np.int64)
        chosen = _inside(references.starts, references.ends)
        places[chosen] = chosen - np.repeat(references.starts, references.ends - references.starts)
    compact = TextColumn(texts.data, texts.starts[kept], texts.ends[kept], None)
    return ListColumn(compact, before[references.starts], before[references.ends], places[kept], references.valid)

"""The word family: exact match, F1, precision and recall of text columns against reference lists, by a recipe.

Columns in the kernels' layout come in, numpy columns of item scores go out. The steps that choose what is compared (the part of
the answer, which references count) run here, as narrowing of bounds; everything else runs in `kernels.words`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from fastscore.kernels import layout
from fastscore.kernels.columns import equal_to, first_lines
from fastscore.kernels.extract import narrow_to_last_tag
from fastscore.kernels.scratch import word_scratch
from fastscore.kernels.threads import run_in_threads
from fastscore.kernels.words import score_rows
from fastscore.metrics.contains import matches_of
from fastscore.metrics.references import CANNOT_ANSWER, counted
from fastscore.recipes import Recipe
from fastscore.schema import Status
from fastscore.text.columns import ListColumn, TextColumn
from fastscore.text.normalize import changes_texts, not_utf8, prepared

__all__ = ["WordScores", "narrowed", "rules_of", "score_words"]

_OPENING = np.frombuffer(b"<answer>", dtype=np.uint8)
_CLOSING = np.frombuffer(b"</answer>", dtype=np.uint8)
_NO_FLAGS = np.zeros(0, dtype=np.uint8)
Floats = npt.NDArray[np.float64]


class WordScores(NamedTuple):
    """Item scores of `n` rows; values of rows whose status is not ok are 0, their best reference -1."""

    exact_match: Floats
    f1: Floats
    precision: Floats
    recall: Floats
    best_reference: npt.NDArray[np.int32]
    status: npt.NDArray[np.uint8]


def score_words(
    predictions: TextColumn,
    references: ListColumn,
    recipe: Recipe,
    *,
    status: npt.NDArray[np.uint8] | None = None,
    threads: int | None = 1,
) -> WordScores:
    """Score `n` predictions against `n` reference lists.

    Parameters
    ----------
    predictions, references
        Columns of the same number of rows.
    recipe
        The rule.
    status
        uint8[n] of `schema.Status` codes that are known beforehand, such as missing predictions; rows that are not ok
        are not scored. It is filled in and returned.
    threads
        How many threads may work; None: all cores.

    Raises
    ------
    EncodingError
        A text is not valid UTF-8; names the row.
    """
    rows = predictions.starts.size
    status = np.zeros(rows, dtype=np.uint8) if status is None else status.copy()
    predictions = narrowed(predictions, recipe)
    references, kept = counted(references, recipe)
    _settle_status(status, predictions, references, recipe)
    p_whole, r_whole = _cannot_answer_flags(predictions, references.texts, recipe)
    matches = matches_of(predictions, references, recipe)
    predictions, form = prepared(predictions, recipe, "prediction")
    references = references._replace(texts=prepared(references.texts, recipe, "references")[0])
    f1, match, precision, recall = (_reused(rows) for _ in range(4))
    out = WordScores(match, f1, precision, recall, np.empty(rows, dtype=np.int32), status)
    rules = rules_of(recipe)
    alone = recipe.words != "whitespace"
    packed = references.texts.packed()
    columns = (
        *(predictions.data, predictions.starts, predictions.ends, p_whole),
        *(references.texts.data, references.texts.starts, references.texts.ends, r_whole, kept),
        *(references.starts, references.ends),
        *matches,
        packed,
    )

    def work(low: int, high: int) -> int:
        scratch = word_scratch(0, 0, 0, alone=alone)
        outputs = (out.status, out.exact_match, out.f1, out.precision, out.recall, out.best_reference)
        while True:
            code = int(score_rows(*columns, *form, rules, low, high, scratch.budget, *outputs, *scratch.arrays))
            if code > -2:
                return code
            low = -2 - code
            scratch = word_scratch(*_size_of_row(predictions, references, low), alone=alone)

    bad = [row for row in run_in_threads(work, rows, threads) if row >= 0]
    if bad:
        raise not_utf8("prediction or references", min(bad))
    _settle_values(out, references)
    return out


def _size_of_row(predictions: TextColumn, references: ListColumn, row: int) -> tuple[int, int, int]:
    """Bytes of a row's prediction, bytes of its references, and how many they are."""
    first, last = int(references.starts[row]), int(references.ends[row])
    listed = int((references.texts.ends[first:last] - references.texts.starts[first:last]).sum())
    return int(predictions.ends[row] - predictions.starts[row]), listed, last - first


def _reused(rows: int) -> Floats:
    """float64[rows] from Arrow's memory pool, which gives pages out again that numpy would have to ask the system for."""
    return np.frombuffer(pa.allocate_buffer(8 * rows), dtype=np.float64) if rows else np.zeros(0)


def narrowed(predictions: TextColumn, recipe: Recipe) -> TextColumn:
    """The part of each prediction that counts, by the recipe's answer step; a tag that is not there makes a null."""
    if recipe.answer == "whole":
        return predictions
    if recipe.answer == "first-line":
        starts, ends = np.empty_like(predictions.starts), np.empty_like(predictions.ends)
        first_lines(predictions.data, predictions.starts, predictions.ends, starts, ends)
        return predictions._replace(starts=starts, ends=ends)
    starts, ends = predictions.starts.copy(), predictions.ends.copy()
    failed = np.zeros(starts.size, dtype=np.uint8)
    narrow_to_last_tag(predictions.data, starts, ends, _OPENING, _CLOSING, failed, 0, starts.size)
    valid = failed == 0 if predictions.valid is None else predictions.valid & (failed == 0)
    return TextColumn(predictions.data, starts, ends, valid)


def rules_of(recipe: Recipe) -> npt.NDArray[np.int64]:
    """The recipe's rules as the kernels read them."""
    rules = np.zeros(layout.RULES, dtype=np.int64)
    rules[layout.RULE_EMPTY_AGREES] = recipe.empty == "agree"
    rules[layout.RULE_LEAVE_ONE_OUT] = recipe.references == "leave_one_out"
    rules[layout.RULE_FIRST] = recipe.references == "first"
    rules[layout.RULE_NON_EMPTY] = recipe.reference_filter == "non-empty"
    rules[layout.RULE_YES_NO] = recipe.whole_answers == "yes-no"
    rules[layout.RULE_CANNOT_ANSWER] = recipe.whole_answers == "cannotanswer"
    as_given = recipe.exact == "verbatim" or recipe.whole_answers == "cannotanswer"
    rules[layout.RULE_DISTINCT] = as_given and changes_texts(recipe)
    verbatim = layout.MATCH_GIVEN if changes_texts(recipe) else layout.MATCH_VERBATIM
    rules[layout.RULE_MATCH] = {"normal-form": layout.MATCH_WORDS, "contains": layout.MATCH_CONTAINS}.get(recipe.exact, verbatim)
    return rules


def _settle_status(status: npt.NDArray[np.uint8], predictions: TextColumn, references: ListColumn, recipe: Recipe) -> None:
    """No references come before a missing or null prediction; what was given before stays."""
    open_rows = status <= Status.NULL_PREDICTION
    if recipe.reference_filter != "non-empty":
        status[open_rows & (references.ends == references.starts)] = Status.NO_REFERENCES
    elif references.valid is not None:
        status[open_rows & ~references.valid] = Status.NO_REFERENCES
    if predictions.valid is not None:
        status[(status == Status.OK) & ~predictions.valid] = Status.NULL_PREDICTION


def _cannot_answer_flags(
    predictions: TextColumn, references: TextColumn, recipe: Recipe
) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.uint8]]:
    """Which texts are QuAC's CANNOTANSWER; empty arrays where the recipe does not ask."""
    if recipe.whole_answers != "cannotanswer":
        return _NO_FLAGS, _NO_FLAGS
    flags = []
    for texts in (predictions, references):
        flag = np.zeros(texts.starts.size, dtype=np.uint8)
        equal_to(texts.data, texts.starts, texts.ends, CANNOT_ANSWER, flag)
        flags.append(flag)
    return flags[0], flags[1]


def _settle_values(out: WordScores, references: ListColumn) -> None:
    """Zero the rows without a score, and give each best reference its place among all references."""
    silent = out.status != Status.OK
    if silent.any():
        for values in out[:4]:
            values[silent] = 0.0
        out.best_reference[silent] = -1
    if references.places is not None:
        chosen = np.flatnonzero(out.best_reference >= 0)
        chosen = chosen[references.ends[chosen] > references.starts[chosen]]
        out.best_reference[chosen] = references.places[references.starts[chosen] + out.best_reference[chosen]]

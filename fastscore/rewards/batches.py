"""Rewards of a batch of rollouts: completions and references in, a reward and all that it is made of out, row i for row i.

This is the step of the way that knows nothing of groups, so it streams. The scores are `score_batch`'s (`score_one`'s for a
single row); here an answer is taken out of the completion before, and the scores become one number after.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from fastscore.errors import ColumnTypeError, DataError, UnknownNameError, did_you_mean
from fastscore.kernels import extract as kernels
from fastscore.kernels.threads import run_in_threads
from fastscore.recipes import Recipe
from fastscore.rewards.extract import extract, narrow
from fastscore.rewards.rule import RewardRule
from fastscore.schema import WORD_METRICS, Status
from fastscore.scoring import score_batch, score_one
from fastscore.statuses import status_codes
from fastscore.text.columns import TextColumn, text_column
from fastscore.text.normalize import normalize

__all__ = ["STATUSES", "OneReward", "reward_batch", "reward_names", "reward_one", "status_places"]

#: Why a rollout has the reward that it has: the statuses of items, and that no answer was found in a completion.
STATUSES = (*(s.label for s in Status), "extraction_failed")
EXTRACTION_FAILED = len(Status)
_LABELS = pa.array(STATUSES)
_NAMES = {label: code for code, label in enumerate(STATUSES)}
#: What a recipe's own answer step takes, for the column of answers.
_OWN_STEPS = {"answer-tag": "tag:answer", "first-line": "line:first"}
_NO_SCORES: dict[str, Any] = dict.fromkeys(WORD_METRICS)
_ZEROS: dict[str, Any] = dict.fromkeys(WORD_METRICS, 0.0)
Flags = npt.NDArray[np.bool_]


class OneReward(NamedTuple):
    """The reward of one completion: the number (None: there is none), why, and the first recipe's scores."""

    reward: float | None
    status: str
    scores: dict[str, Any]


def reward_batch(
    batch: pa.RecordBatch,
    rule: RewardRule,
    *,
    prediction: str = "prediction",
    references: str = "references",
    keep: Sequence[str] = (),
    normal_form: bool = False,
    rows: npt.NDArray[np.int64] | None = None,
    threads: int | None = 1,
) -> pa.RecordBatch:
    """Give every rollout of a batch its reward.

    Parameters
    ----------
    batch
        `n` rows with a text column `prediction` (the completions, without their prompts) and a column `references`, as
        `fastscore.score_batch` takes them; a column ``status`` may say which rows are unmatched.
    rule
        What a reward is.
    prediction, references
        What the two columns are called.
    keep
        Columns handed on unchanged.
    normal_form
        Whether to give the answers' normal forms by the first recipe, which majority votes count.
    rows
        What messages call the rows, int64[n]; None: 0 to n - 1.
    threads
        How many threads may work; None: all cores.

    Returns
    -------
    pyarrow.RecordBatch
        `n` rows in the same order: the kept columns; ``answer`` (the text that was scored; only where something is taken out of
        the completion); ``normal_form`` if asked for; ``extracted`` (bool; null without a completion); the first recipe's
        exact_match, f1, precision and recall; a column for each term of another recipe, such as ``triviaqa:f1``; ``format`` (0 or
        1), ``length`` and ``length_ok`` where the rule has them; ``reward`` (float64); ``status`` (`STATUSES`). A missing score
        is 0 under ``null="zero"``, otherwise null.

    Raises
    ------
    UnknownNameError, ColumnTypeError, EncodingError
        As `fastscore.score_batch`.
    DataError
        The rule has ``null="error"`` and a row has no score; names the first ones.
    """
    columns = {name: _column(batch, name) for name in keep}
    completions = _column(batch, prediction)
    texts = text_column(completions, prediction)
    missing = np.zeros(len(batch), dtype=np.bool_) if texts.valid is None else ~texts.valid
    answers, failed = completions, np.zeros(len(batch), dtype=np.bool_)
    if rule.steps:
        answers, failed = extract(completions, [str(s) for s in rule.steps], threads=threads)
    scored = [_scored(batch, answers, references, recipe, threads) for recipe in rule.recipes]
    statuses, unscored = _statuses([s.column("status") for s in scored], failed, missing)
    failed = statuses == EXTRACTION_FAILED if not rule.steps else failed
    if rule.null == "error" and unscored.any():
        raise _no_score(statuses, unscored, rows)
    own = _OWN_STEPS.get(rule.recipes[0].answer)
    if own is not None:
        answers = extract(answers, [own], threads=threads)[0]
    if own is not None or rule.steps:
        columns["answer"] = answers
    if normal_form:
        columns["normal_form"] = normalize(answers, rule.recipes[0])
    columns["extracted"] = pa.array(~failed, mask=missing)
    silent = [np.asarray(s.column("status").indices) != Status.OK for s in scored]
    total = np.zeros(len(batch))
    for place, (scores, recipe) in enumerate(zip(scored, rule.recipes, strict=True)):
        wanted = [t.metric for t, at in zip(rule.terms, rule.places, strict=True) if at == place]
        for metric in WORD_METRICS:
            if place == 0 or metric in wanted:
                name = metric if place == 0 else f"{recipe.name}:{metric}"
                values = _values(scores, metric, silent[place])
                columns[name] = pa.array(values, mask=None if rule.null == "zero" else silent[place])
    for term, place in zip(rule.terms, rule.places, strict=True):
        total = total + term.weight * _values(scored[place], term.metric, silent[place])
    if rule.tags:
        well_formed = _well_formed(texts, rule, threads)
        columns["format"] = pa.array(well_formed.astype(np.float64), mask=missing)
        total = total + rule.format_weight * well_formed
    if rule.bounds is not None:
        lengths = _lengths(texts, rule, threads)
        inside = (lengths >= rule.bounds[0]) & (lengths <= rule.bounds[1])
        columns["length"] = pa.array(lengths, mask=missing)
        columns["length_ok"] = pa.array(inside, mask=missing)
        total = np.where(inside, total, 0.0)
    columns["reward"] = pa.array(total, mask=unscored if rule.null == "null" else None)
    columns["status"] = pa.DictionaryArray.from_arrays(pa.array(statuses.astype(np.int8)), _LABELS)
    return pa.RecordBatch.from_arrays(list(columns.values()), names=list(columns))


def reward_names(rule: RewardRule) -> frozenset[str]:
    """All names that a column of rewards can have under a rule, which no kept column may have."""
    terms = {f"{t.recipe.name}:{t.metric}" for t in rule.terms}
    own = ("answer", "normal_form", "extracted", "format", "length", "length_ok", "reward", "status")
    return frozenset({*WORD_METRICS, *terms, *own})


def reward_one(completion: str | None, references: str | Sequence[str | None] | None, rule: RewardRule) -> OneReward:
    """The reward of a single completion, as `reward_batch` gives it, without Arrow around it.

    Raises
    ------
    ColumnTypeError
        An argument is neither text nor None.
    DataError
        The rule has ``null="error"`` and there is no score.
    """
    answer, texts = completion, None
    if completion is not None and (rule.steps or rule.tags or rule.bounds):
        texts = _one_text(completion)
        if rule.steps:
            found, failed = narrow(texts, rule.steps)
            answer = None if failed[0] else bytes(found.data[found.starts[0] : found.ends[0]]).decode()
    status, scored = 0, []
    for recipe in rule.recipes:
        scores = score_one(answer, references, recipe)
        code = _NAMES[scores["status"]]
        if code:
            if code == Status.NULL_PREDICTION and completion is not None:
                code = EXTRACTION_FAILED
            status = status or code
            scores = _NO_SCORES if rule.null != "zero" else _ZEROS
        scored.append(scores)
    if status and rule.null == "error":
        raise _no_score(np.array([status]), np.array([True]))
    reward = 0.0
    for term, place in zip(rule.terms, rule.places, strict=True):
        reward += term.weight * (scored[place][term.metric] or 0.0)
    if texts is not None and rule.tags:
        reward += rule.format_weight * bool(_well_formed(texts, rule, 1)[0])
    if texts is not None and rule.bounds is not None:
        reward = reward if rule.bounds[0] <= int(_lengths(texts, rule, 1)[0]) <= rule.bounds[1] else 0.0
    first = {metric: scored[0][metric] for metric in WORD_METRICS}
    return OneReward(None if status and rule.null == "null" else reward, STATUSES[status], first)


def status_places(column: pa.DictionaryArray) -> npt.NDArray[np.int64]:
    """Each row's status as its place among `STATUSES`; a file may hold the labels in another order."""
    if not column.dictionary.equals(_LABELS):
        return np.asarray(pc.index_in(column.cast(pa.string()), value_set=_LABELS), dtype=np.int64)
    return np.asarray(column.indices).astype(np.int64)


def _scored(batch: pa.RecordBatch, answers: pa.Array, references: str, recipe: Recipe, threads: int | None) -> pa.RecordBatch:
    """The item scores of the answers by one recipe."""
    columns = {"prediction": answers, "references": _column(batch, references)}
    if "status" in batch.schema.names:
        columns["status"] = pa.array(status_codes(batch))
    given = pa.RecordBatch.from_arrays(list(columns.values()), names=list(columns))
    return score_batch(given, recipe, threads=threads)


def _values(scores: pa.RecordBatch, metric: str, silent: Flags) -> npt.NDArray[np.float64]:
    """A metric as numbers, 0 where there is no score."""
    values = scores.column(metric).fill_null(0.0).to_numpy(zero_copy_only=False)
    return np.where(silent, 0.0, values) if silent.any() else values


def _statuses(columns: list[pa.DictionaryArray], failed: Flags, missing: Flags) -> tuple[npt.NDArray[np.int64], Flags]:
    """Each row's status, the first recipe's that is not ok, and which rows lack a score."""
    statuses = np.zeros(failed.size, dtype=np.int64)
    for column in columns:
        codes = np.asarray(column.indices).astype(np.int64)
        codes[(codes == Status.NULL_PREDICTION) & ~missing] = EXTRACTION_FAILED
        statuses = np.where(statuses == Status.OK, codes, statuses)
    return statuses, statuses != Status.OK


def _no_score(statuses: npt.NDArray[np.int64], unscored: Flags, rows: npt.NDArray[np.int64] | None = None) -> DataError:
    found = np.flatnonzero(unscored)
    shown = ", ".join(f"row {r if rows is None else rows[r]}: {STATUSES[statuses[r]]}" for r in found[:3])
    return DataError(f"reward: {found.size:,} rows have no score ({shown}); null='zero' or null='null' lets them pass")


def _well_formed(texts: TextColumn, rule: RewardRule, threads: int | None) -> Flags:
    kept = np.ones(texts.starts.size, dtype=np.uint8) if texts.valid is None else texts.valid.astype(np.uint8)
    floor = texts.starts.copy()
    for opening, closing in rule.tag_bytes:

        def work(low: int, high: int, opening: Any = opening, closing: Any = closing) -> int:
            kernels.tag_closed_once(texts.data, texts.starts, texts.ends, opening, closing, floor, kept, low, high)
            return 0

        run_in_threads(work, kept.size, threads)
    return kept.view(np.bool_)


def _lengths(texts: TextColumn, rule: RewardRule, threads: int | None) -> npt.NDArray[np.int64]:
    starts, ends = texts.starts, texts.ends
    if texts.valid is not None:
        ends = np.where(texts.valid, ends, starts)
    out = np.zeros(starts.size, dtype=np.int64)
    count = kernels.count_words if rule.length_unit == "words" else kernels.count_characters

    def work(low: int, high: int) -> int:
        count(texts.data, starts, ends, out, low, high)
        return 0

    run_in_threads(work, out.size, threads)
    return out


def _one_text(text: Any) -> TextColumn:
    """One string as a text column; lone surrogates, which UTF-8 cannot hold, become U+FFFD."""
    if not isinstance(text, str):
        raise ColumnTypeError(f"completion: text or None is allowed, got {type(text).__name__}")
    try:
        data = text.encode()
    except UnicodeEncodeError:
        data = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace").encode()
    return TextColumn(np.frombuffer(data, dtype=np.uint8), np.zeros(1, np.int64), np.full(1, len(data), np.int64), None)


def _column(batch: pa.RecordBatch, name: str) -> pa.Array:
    if name not in batch.schema.names:
        raise UnknownNameError(f"column {name!r} is not in the table.{did_you_mean(name, batch.schema.names)}")
    return batch.column(name)

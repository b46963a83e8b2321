"""Drop-in replacements for metric objects: those of `evaluate` (squad, squad_v2, a coqa of the same shape) and of torchmetrics.

They need neither package. Rows in these packages' layouts come in, their result keys go out, in percent as they give it; all
scores are `score_batch`'s.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

import pyarrow as pa

from fastscore.errors import ColumnTypeError, UsageError, did_you_mean
from fastscore.official import official_values
from fastscore.recipes import Recipe, find_recipe
from fastscore.schema import Status
from fastscore.scoring import score_batch
from fastscore.totals import Totals

__all__ = ["AnswerMetric", "Coqa", "Squad", "SquadV2"]

Row = Mapping[str, Any]


class _Module:
    """What `evaluate`'s modules have in common: rows are collected, `compute` scores them and forgets them."""

    name: ClassVar[str]
    recipe: ClassVar[str]
    #: Fields that a prediction must have beside the key; `evaluate` refuses others.
    _fields: ClassVar[tuple[str, ...]] = ("prediction_text",)
    _keys: ClassVar[tuple[str, ...]] = ("id",)

    def __init__(self) -> None:
        self._predictions: list[Row] = []
        self._references: list[Row] = []

    def add(self, *, prediction: Row | None = None, reference: Row | None = None, **kwargs: Any) -> None:
        """Collect one prediction and its reference."""
        prediction = kwargs.pop("predictions", prediction)
        reference = kwargs.pop("references", reference)
        if prediction is None or reference is None or kwargs:
            raise UsageError(f"add: prediction and reference are needed, each a dict{_besides(kwargs)}")
        self.add_batch(predictions=[prediction], references=[reference])

    def add_batch(self, *, predictions: Iterable[Row] | None = None, references: Iterable[Row] | None = None) -> None:
        """Collect predictions and references; what they must look like is said at `compute`."""
        if predictions is None or references is None:
            raise UsageError("add_batch: predictions and references are needed, each a list of dicts")
        given, gold = _rows(predictions, "predictions"), _rows(references, "references")
        for row in given:
            self._check(row, (*self._keys[:1], *self._fields), "predictions")
        for row in gold:
            self._check(row, (*self._keys[:1], "answers"), "references")
        self._predictions += given
        self._references += gold

    def compute(
        self, *, predictions: Iterable[Row] | None = None, references: Iterable[Row] | None = None, **options: Any
    ) -> dict[str, Any]:
        """Score what was collected, and the rows given here, and forget them.

        Parameters
        ----------
        predictions
            ``{"id", "prediction_text"}`` (and ``no_answer_probability`` for squad_v2).
        references
            ``{"id", "answers": {"text": [...], "answer_start": [...]}}``; a list of ``{"text", ...}`` is read as well.
        **options
            For squad_v2: ``no_answer_threshold``.

        Raises
        ------
        UsageError
            Nothing was given, or a row lacks a field.
        """
        if (predictions is None) != (references is None):
            raise UsageError("compute: predictions and references are needed, or neither after add or add_batch")
        if predictions is not None and references is not None:
            self.add_batch(predictions=predictions, references=references)
        if not self._references:
            raise UsageError("compute: nothing to score; give predictions and references, or call add or add_batch before")
        given, gold = self._predictions, self._references
        self._predictions, self._references = [], []
        return self._result(given, gold, **options)

    def _result(self, given: list[Row], gold: list[Row], **options: Any) -> dict[str, Any]:
        if options:
            raise UsageError(f"compute: {self.name} has no option {next(iter(options))!r}")
        return official_values(self._scored(given, gold)[1], "squad")

    def _scored(self, given: list[Row], gold: list[Row]) -> tuple[pa.Table, pa.Table]:
        """The aligned rows, one a reference in order, and their item scores; of several predictions the last counts."""
        last = {self._key(row): row for row in given}
        found = [last.get(self._key(row)) for row in gold]
        missing = [int(Status.OK if row is not None else Status.MISSING_PREDICTION) for row in found]
        answers = [_answers(row["answers"]) for row in gold]
        inputs = pa.table(
            {
                "question_id": pa.array([str(row["id"]) for row in gold], pa.string()),
                "prediction": _texts([None if row is None else row["prediction_text"] for row in found]),
                "references": pa.array(answers, pa.list_(pa.string())),
                "has_answer": pa.array([bool(a) for a in answers], pa.bool_()),
                "status": pa.array(missing, pa.int8()),
            }
        )
        batches = [score_batch(batch, self.recipe, threads=None) for batch in inputs.to_batches()]
        return inputs, pa.Table.from_batches(batches)

    def _key(self, row: Row) -> tuple[str, ...]:
        return tuple(str(row[k]) for k in self._keys if k in row)

    def _check(self, row: Row, fields: tuple[str, ...], side: str) -> None:
        for field in fields:
            if field not in row:
                close = did_you_mean(field, row)
                raise UsageError(f"{side}: each needs the fields {', '.join(fields)}; one has no {field!r}.{close}")


class Squad(_Module):
    """`evaluate.load("squad")`: ``{"exact_match", "f1"}`` in percent."""

    name = "squad"
    recipe = "squad"


class SquadV2(_Module):
    """`evaluate.load("squad_v2")`: exact, f1, total, HasAns_*, NoAns_*, best_exact, best_exact_thresh, best_f1, best_f1_thresh.

    Probabilities are compared as float64, as the official script does.
    """

    name = "squad_v2"
    recipe = "squad_v2"
    _fields = ("prediction_text", "no_answer_probability")

    def _result(self, given: list[Row], gold: list[Row], **options: Any) -> dict[str, Any]:
        threshold = float(options.pop("no_answer_threshold", 1.0))
        if options:
            raise UsageError(f"compute: squad_v2 has no option {next(iter(options))!r}; it has no_answer_threshold")
        inputs, items = self._scored(given, gold)
        chances = {str(row["id"]): float(row["no_answer_probability"]) for row in given}
        for row in gold:
            chances.setdefault(str(row["id"]), 0.0)
        probabilities = pa.table({"question_id": pa.array(list(chances), pa.string()), "na_prob": list(chances.values())})
        return official_values(items, "squad_v2", inputs=inputs, na_probs=probabilities, na_threshold=threshold)


class Coqa(_Module):
    """CoQA in the same shape: ``{"exact_match", "f1"}`` in percent, unrounded, by the official leave-one-out rule.

    Rows may have ``turn_id`` beside ``id``; the answers' texts are all annotators' answers in order.
    """

    name = "coqa"
    recipe = "coqa"
    _keys = ("id", "turn_id")


class AnswerMetric:
    """A metric with torchmetrics' life cycle: `update` with batches, `compute`, `reset`, `merge_state` of other processes.

    Parameters
    ----------
    recipe
        A name, a signature or a `Recipe`.

    Its state is exact sums (`fastscore.totals.Totals`), so batches and merges in any order give the same bits; it is picklable.
    """

    def __init__(self, recipe: str | Recipe = "squad") -> None:
        self.recipe = find_recipe(recipe)
        self.reset()

    def reset(self) -> None:
        """Forget everything."""
        self._totals = Totals(("exact_match", "f1"))
        self._updates = 0

    def update(self, preds: Any, target: Any) -> None:
        """Add a batch.

        Parameters
        ----------
        preds
            Texts; or ``{"prediction_text", "id"}`` rows, or one.
        target
            For each its references, a text or a list of texts; or ``{"answers", "id"}`` rows, or one, joined by id.

        Raises
        ------
        UsageError
            The two differ in length, or a row lacks a field.
        """
        self._totals.merge(self._of(preds, target))
        self._updates += 1

    def compute(self) -> dict[str, float]:
        """``{"exact_match", "f1"}`` of all batches, in percent; 0.0 where nothing was scored."""
        return _percents(self._totals)

    def forward(self, preds: Any, target: Any) -> dict[str, float]:
        """Add a batch and return its own values."""
        batch = self._of(preds, target)
        self._totals.merge(batch)
        self._updates += 1
        return _percents(batch)

    __call__ = forward

    def merge_state(self, incoming: AnswerMetric | Iterable[AnswerMetric]) -> None:
        """Add the state of another metric, or of several.

        Raises
        ------
        UsageError
            Another's recipe is another rule.
        """
        for other in (incoming,) if isinstance(incoming, AnswerMetric) else tuple(incoming):
            if other.recipe != self.recipe:
                raise UsageError(f"merge_state: both need one recipe, got {self.recipe.signature} and {other.recipe.signature}")
            self._totals.merge(other._totals)
            self._updates += other._updates

    @property
    def update_count(self) -> int:
        """How many batches were added."""
        return self._updates

    def _of(self, preds: Any, target: Any) -> Totals:
        """The totals of one batch."""
        given, gold = _listed(preds), _listed(target)
        if any(isinstance(row, Mapping) for row in (*given[:1], *gold[:1])):
            texts, references = _joined(given, gold)
        else:
            texts, references = given, [[t] if isinstance(t, str) else list(t) for t in gold]
        if len(texts) != len(references):
            raise UsageError(f"update: one target for each prediction is needed, got {len(texts)} preds and {len(references)}")
        status = [int(Status.OK if t is not None else Status.NULL_PREDICTION) for t in texts]
        columns = {
            "prediction": _texts(texts),
            "references": pa.array(references, pa.list_(pa.string())),
            "status": pa.array(status, pa.int8()),
        }
        totals = Totals(("exact_match", "f1"))
        totals.add(pa.Table.from_batches([score_batch(pa.record_batch(columns), self.recipe)]))
        return totals


def _joined(given: list[Any], gold: list[Any]) -> tuple[list[str | None], list[list[str]]]:
    """Texts and references of dict rows, joined by id; a reference without a prediction has None."""
    for side, rows, field in (("preds", given, "prediction_text"), ("target", gold, "answers")):
        for row in rows:
            if not isinstance(row, Mapping) or "id" not in row or field not in row:
                raise UsageError(f"update: each of {side} needs id and {field} where rows are dicts, got {row!r:.80}")
    last = {str(row["id"]): row["prediction_text"] for row in given}
    return [last.get(str(row["id"])) for row in gold], [_answers(row["answers"]) for row in gold]


def _answers(answers: Any) -> list[str]:
    """The texts of ``{"text": [...]}``, of a list of ``{"text": ...}``, or of a list of texts."""
    if isinstance(answers, Mapping):
        answers = answers["text"]
        return [answers] if isinstance(answers, str) else list(answers)
    return [a["text"] if isinstance(a, Mapping) else a for a in answers]


def _percents(totals: Totals) -> dict[str, float]:
    block = totals.block()
    return {metric: 100.0 * (block[metric] or 0.0) for metric in ("exact_match", "f1")}


def _rows(rows: Iterable[Row], side: str) -> list[Row]:
    found = list(rows)
    if isinstance(rows, Mapping) or not all(isinstance(row, Mapping) for row in found):
        raise ColumnTypeError(f"{side}: a list of dicts is allowed, got {type(rows).__name__} of {_kinds(found)}")
    return found


def _kinds(rows: Sequence[Any]) -> str:
    return ", ".join(sorted({type(row).__name__ for row in rows})) or "nothing"


def _listed(rows: Any) -> list[Any]:
    return [rows] if isinstance(rows, (str, Mapping)) else list(rows)


def _texts(texts: Sequence[Any]) -> pa.Array:
    for text in texts:
        if text is not None and not isinstance(text, str):
            raise ColumnTypeError(f"predictions: text is allowed, got {type(text).__name__}")
    return pa.array(texts, pa.string())


def _besides(kwargs: Mapping[str, Any]) -> str:
    return f"; there is no parameter {next(iter(kwargs))!r}" if kwargs else ""

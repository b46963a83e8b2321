"""`explain`: one answer and its references in, everything between them and the score out, as values and as text for a person.

Scores come from `score_one` alone; normal forms from `normalize`. What is counted here is only what is shown beside them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from fastscore.arguments import one_of, text_list
from fastscore.arrow import guarded
from fastscore.metrics.references import filtered
from fastscore.metrics.words import narrowed
from fastscore.recipes import Recipe, find_recipe
from fastscore.rows import repaired, text_array
from fastscore.schema import Status
from fastscore.scoring import score_one
from fastscore.text.columns import list_column, text_column
from fastscore.text.normalize import arrow_text, normalize

if TYPE_CHECKING:
    from rich.console import RenderableType

__all__ = ["Explanation", "Side", "explain"]

#: The parts that change a text, in the order in which they run.
_STEPS = (
    *(("unicode", ("unicode",)), ("invisible", ("invisible",)), ("fold_quotes_and_dashes", ("fold_quotes_and_dashes",))),
    *(("case", ("case",)), ("punctuation", ("punctuation", "punctuation_to"))),
    ("articles", ("articles", "articles_to", "articles_order")),
    ("words", ("words",)),
)


@dataclass(frozen=True)
class Side:
    """A prediction or a reference made ready.

    Attributes
    ----------
    text
        As it was given; None: null.
    counted
        The part that counts by the recipe's answer step; None: there is none.
    steps
        For each part of the recipe that changed the text: its name and the text after it.
    form
        The normal form.
    words
        The words of the normal form.
    """

    text: str | None
    counted: str | None
    steps: tuple[tuple[str, str], ...]
    form: str
    words: tuple[str, ...]


@dataclass(frozen=True)
class Compared:
    """One reference: its index, what it is made of, why it is left out (or None), its scores alone, and the shared words."""

    index: int
    side: Side
    left_out: str | None
    exact_match: float | None = None
    f1: float | None = None
    precision: float | None = None
    recall: float | None = None
    shared: tuple[str, ...] = ()


@dataclass(frozen=True, repr=False)
class Explanation:
    """Why an item has its score.

    Attributes
    ----------
    recipe, signature
        The rule.
    prediction
        The prediction made ready.
    references
        Each reference in order, with what it gave.
    sets
        For ``leave_one_out`` with several references: the index left out, the best exact match and the best F1 of the others.
    scores
        What `fastscore.score_one` gives.
    reasons
        Sentences that say why.
    """

    recipe: str
    signature: str
    prediction: Side
    references: tuple[Compared, ...]
    sets: tuple[tuple[int, float, float], ...]
    scores: dict[str, Any]
    reasons: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        import dataclasses

        return dataclasses.asdict(self)

    def __rich__(self) -> RenderableType:
        from fastscore.explanation_text import explanation_text

        return explanation_text(self)

    def __str__(self) -> str:
        from rich.console import Console

        console = Console(width=110, no_color=True, force_terminal=False, highlight=False)
        with console.capture() as capture:
            console.print(self)
        return capture.get().rstrip("\n")

    __repr__ = __str__


@guarded
def explain(
    prediction: str | None,
    references: str | Sequence[str | None] | None,
    recipe: str | Recipe,
    *,
    status: str = "ok",
) -> Explanation:
    """Explain the score of a single answer.

    Parameters
    ----------
    prediction, references, recipe
        As for `fastscore.score_one`.
    status
        What is known of the item beforehand: ``missing_prediction`` and ``unmatched_prediction`` are said in the reasons.

    Returns
    -------
    Explanation
        Its ``str()`` is a text for a person; rich prints it coloured.

    Raises
    ------
    ColumnTypeError
        An argument is neither text nor None.
    """
    found = find_recipe(recipe)
    one_of(status, "status", [s.label for s in Status])
    given: list[str | None] = [] if references is None else text_list(references, "references")
    scores = score_one(prediction, None if references is None else given, found)
    if status in (Status.MISSING_PREDICTION.label, Status.UNMATCHED_PREDICTION.label) and scores["status"] != "no_references":
        scores["status"] = status
    left_out = _left_out(given, found)
    predicted = _side(_counted(prediction, found), prediction, found)
    alone = replace(found, references="best", reference_filter="all")
    compared = tuple(
        _compared(i, text, reason, prediction, predicted, alone)
        for i, (text, reason) in enumerate(zip(given, left_out, strict=True))
    )
    kept = [c for c in compared if c.left_out is None and c.f1 is not None]
    sets: list[tuple[int, float, float]] = []
    if found.references == "leave_one_out" and len(kept) > 1:
        for out in kept:
            others = [(c.exact_match or 0.0, c.f1 or 0.0) for c in kept if c is not out]
            sets.append((out.index, max(em for em, _ in others), max(f1 for _, f1 in others)))
    from fastscore.reasons import reasons_of

    reasons = reasons_of(found, predicted, compared, tuple(sets), scores)
    return Explanation(found.name, found.signature, predicted, compared, tuple(sets), scores, reasons)


def _counted(text: str | None, recipe: Recipe) -> str | None:
    if text is None:
        return None
    part = arrow_text(narrowed(text_column(_column([text])), recipe))[0].as_py()
    return None if part is None else str(part)


def _side(counted: str | None, text: str | None, recipe: Recipe) -> Side:
    """A text with the steps of the recipe that change it."""
    if counted is None:
        return Side(text, None, (), "", ())
    steps: list[tuple[str, str]] = []
    before = counted
    partial = Recipe(name=recipe.name, articles_order=recipe.articles_order)
    order = list(_STEPS)
    if recipe.articles_order == "before-punctuation":
        order[4], order[5] = order[5], order[4]
    for name, parts in order:
        values = {part: getattr(recipe, part) for part in parts}
        if all(getattr(partial, part) == value for part, value in values.items()):
            continue
        partial = replace(partial, **values)
        after = _form(counted, partial)
        if after != before:
            steps.append((name, after))
        before = after
    form = _form(counted, recipe)
    return Side(text, counted, tuple(steps), form, tuple(form.split(" ")) if form else ())


def _compared(
    index: int, text: str | None, left_out: str | None, prediction: str | None, predicted: Side, recipe: Recipe
) -> Compared:
    side = _side(text, text, recipe)
    if left_out is not None or text is None:
        return Compared(index, side, left_out)
    scores = score_one(prediction, [text], recipe)
    shared = tuple((Counter(predicted.words) & Counter(side.words)).elements())
    return Compared(
        *(index, side, None, scores["exact_match"], scores["f1"], scores["precision"], scores["recall"], shared),
    )


def _left_out(references: list[str | None], recipe: Recipe) -> list[str | None]:
    """For each reference why it does not count, or None."""
    reasons: list[str | None] = ["null" if text is None else None for text in references]
    texts = [text for text in references if text is not None]
    if recipe.reference_filter == "non-empty":
        empty = [text is not None and not _form(text, recipe) for text in references]
        if not all(e for e, text in zip(empty, references, strict=True) if text is not None):
            reasons = ["its normal form is empty (non-empty)" if e else r for e, r in zip(empty, reasons, strict=True)]
    elif recipe.reference_filter != "all" and texts:
        column = pa.array([repaired(references)], pa.list_(pa.large_string()))
        lists = filtered(list_column(column, "references"), recipe)
        places = range(len(references)) if lists.places is None else lists.places.tolist()
        kept = {places[k] for k in range(int(lists.starts[0]), int(lists.ends[0]))}
        why = {
            "unique-caseless": "the same as an earlier one but for case (unique-caseless)",
            "cannotanswer-vote": "outvoted (cannotanswer-vote)",
        }[recipe.reference_filter]
        reasons = [r if r or i in kept else why for i, r in enumerate(reasons)]
    if recipe.references == "first":
        counting = [i for i, r in enumerate(reasons) if r is None]
        for i in counting[1:]:
            reasons[i] = "only the first reference counts"
    return reasons


def _form(text: str, recipe: Recipe) -> str:
    return str(normalize(_column([text]), recipe)[0].as_py())


def _column(texts: list[str]) -> pa.Array:
    """Python strings as an Arrow column; lone surrogates become U+FFFD."""
    return text_array(texts, "text")

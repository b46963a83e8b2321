"""Why a score is what it is, in sentences: the parts of an explanation come in, lines for a person go out.

Numbers in the sentences are those of `score_one`; the kinder options of a recipe are tried one by one where nothing matched.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from fastscore.recipes import Recipe
from fastscore.scoring import score_one

if TYPE_CHECKING:
    from fastscore.explanation import Compared, Side

__all__ = ["reasons_of"]

_STATUS = {
    "missing_prediction": "there is no prediction for this question",
    "null_prediction": "the prediction is null, or has no part that counts",
    "no_references": "no reference counts, so there is no score",
    "unmatched_prediction": "no question has this key, so there is no score",
}
#: Options that are kinder than any published script.
_KINDER: tuple[tuple[str, dict[str, Any]], ...] = (
    ("unicode='nfc'", {"unicode": "nfc"}),
    ("unicode='nfkc'", {"unicode": "nfkc"}),
    ("case='casefold'", {"case": "casefold"}),
    ("invisible='delete'", {"invisible": "delete"}),
    ("fold_quotes_and_dashes=True", {"fold_quotes_and_dashes": True}),
    ("case='lower'", {"case": "lower"}),
)


def reasons_of(
    recipe: Recipe,
    predicted: Side,
    compared: Sequence[Compared],
    sets: Sequence[tuple[int, float, float]],
    scores: dict[str, Any],
) -> tuple[str, ...]:
    """The sentences of an explanation, in the order: status, references, exact match, F1, what would have matched."""
    status = scores["status"]
    if status != "ok":
        counts = ""
        if status in ("missing_prediction", "null_prediction"):
            counts = "; it counts 0 and stays in the mean" if recipe.missing == "zero" else "; it is left out of the mean"
        return (f"status {status}: {_STATUS[status]}{counts}",)
    kept = [c for c in compared if c.left_out is None]
    lines: list[str] = []
    if not kept:
        lines.append("there is no reference with a word, so the prediction is compared with one empty reference (non-empty)")
        lines.append(_values(scores, recipe))
        return tuple(lines)
    lines.append(_exact(kept, recipe))
    best = next((c for c in kept if c.index == scores["best_reference"]), kept[0])
    lines.append(_overlap(predicted, best, recipe))
    lines.append(_combined(kept, sets, scores, recipe))
    if scores["exact_match"] < 1.0 and not any(c.exact_match for c in kept):
        lines += _kinder(predicted, kept, recipe)
    return tuple(lines)


def _exact(kept: Sequence[Compared], recipe: Recipe) -> str:
    matched = [c.index for c in kept if c.exact_match]
    how = {
        "verbatim": "equal to the prediction as a text, nothing normalised",
        "contains": "found inside the prediction's normal form",
        "normal-form": "equal to the prediction as a normal form",
    }[recipe.exact]
    if not matched:
        return f"exact match: no reference is {how}"
    return f"exact match: {_named(matched)} {'is' if len(matched) == 1 else 'are'} {how}"


def _overlap(predicted: Side, best: Compared, recipe: Recipe) -> str:
    theirs = best.side.words
    head = f"F1 with reference {best.index}, the best: "
    if recipe.whole_answers == "cannotanswer" and best.side.text == "CANNOTANSWER":
        return f"{head}CANNOTANSWER matches itself alone, so it is {_number(best.f1)}"
    if not predicted.words or not theirs:
        if not predicted.words and not theirs:
            who = "neither side has a word"
        else:
            who = f"the {'reference' if predicted.words else 'prediction'} has no word"
        return f"{head}{who}, so by the empty rule {recipe.empty!r} it is {_number(best.f1)}"
    if recipe.whole_answers == "yes-no" and best.shared and not best.f1:
        return f"{head}yes, no and noanswer match as a whole alone, so shared words count nothing (yes-no): 0"
    same, mine = len(best.shared), len(predicted.words)
    return (
        f"{head}{same} shared of {mine} predicted and {len(theirs)} reference words: precision {same}/{mine}, "
        f"recall {same}/{len(theirs)}, F1 {_number(best.f1)}"
    )


def _combined(kept: Sequence[Compared], sets: Sequence[tuple[int, float, float]], scores: dict[str, Any], recipe: Recipe) -> str:
    if sets:
        matches = " + ".join(_number(em) for _, em, _ in sets)
        overlaps = " + ".join(_number(f1) for _, _, f1 in sets)
        n = len(sets)
        return (
            f"leave-one-out: the mean over the {n} sets of {n - 1} references of the best in each: "
            f"exact match ({matches}) / {n} = {_number(scores['exact_match'])}, F1 ({overlaps}) / {n} = {_number(scores['f1'])}"
        )
    what = "the only reference that counts" if len(kept) == 1 else f"the best of {len(kept)} references, each metric on its own"
    return f"{what}: {_values(scores, recipe)}"


def _values(scores: dict[str, Any], recipe: Recipe) -> str:
    return f"exact match {_number(scores['exact_match'])}, F1 {_number(scores['f1'])} by {recipe.name}"


def _kinder(predicted: Side, kept: Sequence[Compared], recipe: Recipe) -> list[str]:
    """Which single kinder option would have made a reference match; none of them is part of a published scorer."""
    lines: list[str] = []
    for shown, parts in _KINDER:
        if all(getattr(recipe, part) == value for part, value in parts.items()) or (
            parts.get("case") == "lower" and recipe.case != "keep"
        ):
            continue
        kinder = replace(recipe, answer="whole", references="best", reference_filter="all", exact="normal-form", **parts)
        plain = replace(kinder, **{part: getattr(recipe, part) for part in parts})
        for c in kept:
            if score_one(predicted.counted, [c.side.text], plain)["exact_match"]:
                continue
            if score_one(predicted.counted, [c.side.text], kinder)["exact_match"]:
                lines.append(f"with the option {shown} reference {c.index} would match; {recipe.name} does not have it")
                break
    return lines


def _named(indices: Sequence[int]) -> str:
    return f"reference{'' if len(indices) == 1 else 's'} {', '.join(map(str, indices))}"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.4f}".rstrip("0").rstrip(".")

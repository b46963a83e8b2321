"""The catalogue of recipes as a Markdown table for the README: each recipe in a phrase, with its parts and its source."""

from __future__ import annotations

from collections.abc import Iterable

from fastscore.recipes import PARTS, RECIPES, Recipe

__all__ = ["PHRASES", "catalogue_markdown"]

#: What each recipe of the catalogue is, in a phrase.
PHRASES = {
    "coqa": "CoQA as its official script scores it: the mean over the sets that leave one annotator out",
    "coqa-max": "CoQA with the best of all references",
    "coqa-card": "CoQA as its task card spells it: case kept, articles first, only full stops and commas deleted",
    "lm-eval-coqa": "CoQA as lm-evaluation-harness scores it: first line, references unique but for case",
    "germanquad": "GermanQuAD's task card: texts as they are, and spans by position",
    "germanquad-squad": "SQuAD 1.1's rule (English articles) on German, and spans by position",
    "squad": "SQuAD 1.1, also Hugging Face's squad",
    "squad_v2": "SQuAD 2.0, also Hugging Face's squad_v2",
    "xquad": "XQuAD: SQuAD 1.1's rule in every language",
    "mlqa-en": "MLQA, English",
    "mlqa-es": "MLQA, Spanish",
    "mlqa-hi": "MLQA, Hindi",
    "mlqa-vi": "MLQA, Vietnamese",
    "mlqa-de": "MLQA, German",
    "mlqa-ar": "MLQA, Arabic (the article is deleted inside words too)",
    "mlqa-zh": "MLQA, Chinese (each ideograph and mark is a word)",
    "triviaqa": "TriviaQA: punctuation becomes a space",
    "hotpotqa": "HotpotQA's answers: yes, no and noanswer match as a whole alone",
    "topiocqa": "TopiOCQA: CoQA's rule",
    "cjrc": "CJRC, Chinese: letters and digits alone, each a word",
    "quac": "QuAC: a vote on CANNOTANSWER, then leave-one-out",
    "nq-open": "Natural Questions open, as DPR and FiD score it",
    "search-r1-em": "Search-R1's reward: exact match of the last answer tag",
    "search-r1-sub-em": "the same by substring",
    "verl-em": "verl's search_r1_like reward: exact match of the last answer tag",
    "verl-sub-em": "the same by substring",
}
_COLUMNS = ("recipe", "what it is", "normal form", "words", "references", "empty", "also", "source")
_NORMAL = ("unicode", "invisible", "fold_quotes_and_dashes", "case")
_ALSO = (("answer", "answer: "), ("exact", "exact match: "), ("whole_answers", "whole answers: "), ("spans", "spans: "))


def catalogue_markdown(recipes: Iterable[Recipe] | None = None) -> str:
    """The table of recipes, one line each, by default of the whole catalogue; ends without a line feed."""
    lines = [f"| {' | '.join(_COLUMNS)} |", f"|{'---|' * len(_COLUMNS)}"]
    for recipe in RECIPES.values() if recipes is None else recipes:
        cells = [f"`{recipe.name}`", PHRASES.get(recipe.name, ""), *_cells(recipe), recipe.source]
        lines.append(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |")
    return "\n".join(lines)


def _cells(recipe: Recipe) -> list[str]:
    """Normal form, words, references, empty rule, and the rarer parts, as the signature words them."""
    said = {part: PARTS[part][getattr(recipe, part)] for part in PARTS}
    steps = [said["punctuation"] + said["punctuation_to"], said["articles"] + said["articles_to"]]
    steps = [step for step, part in zip(steps, ("punctuation", "articles"), strict=True) if said[part]]
    if recipe.articles_order == "before-punctuation":
        steps.reverse()
    normal = ", ".join(filter(None, [*(said[part] for part in _NORMAL), *steps])) or "as it is"
    references = ", ".join(filter(None, [said["references"], said["reference_filter"]]))
    also = "; ".join(f"{head}{said[part]}" for part, head in _ALSO if said[part])
    return [normal, said["words"], references, said["empty"], also]

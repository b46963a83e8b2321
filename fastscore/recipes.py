"""Recipes: frozen, named descriptions of everything that changes a score, and the catalogue of published scorers.

Each published scorer is a declaration of named parts, so that the catalogue shows at a glance how two of them differ.
The order of the steps is fixed: answer, unicode, invisible, fold_quotes_and_dashes, case, then punctuation and articles
(in the order that ``articles_order`` says), then words. ``signature`` prints all parts; `Recipe.from_signature` reads it back.
"""

from __future__ import annotations

import dataclasses
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from fastscore.errors import UnknownNameError, UsageError, did_you_mean
from fastscore.version import __version__

__all__ = ["ALIASES", "ARTICLES", "PARTS", "RECIPES", "Recipe", "find_recipe", "resolve_recipe"]

#: Whole words (lower-case, NFC as in the scripts) that a language's articles step removes; `ar` is a prefix rule.
ARTICLES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "none": (),
        "en": ("a", "an", "the"),
        "de": ("ein", "eine", "einen", "einem", "eines", "einer", "der", "die", "das", "den", "dem", "des"),
        "es": ("un", "una", "unos", "unas", "el", "la", "los", "las"),
        "vi": ("của", "là", "cái", "chiếc", "những"),
        "ar": ("ال",),
    }
)

#: Every part with its allowed values and, for each value, what the signature prints for it.
PARTS: Mapping[str, Mapping[Any, str]] = MappingProxyType(
    {
        "answer": {"whole": "", "first-line": "first-line", "answer-tag": "answer-tag"},
        "unicode": {"none": "", "nfc": "nfc", "nfkc": "nfkc"},
        "invisible": {"keep": "", "delete": "invisible-deleted"},
        "fold_quotes_and_dashes": {False: "", True: "quotes-and-dashes-folded"},
        "case": {"keep": "", "lower": "lower", "casefold": "casefold"},
        "punctuation": {
            "keep": "",
            "ascii": "punct-ascii",
            "unicode": "punct-unicode",
            "period-comma": "punct-period-comma",
            "trivia": "punct-trivia",
            "non-alphanumeric": "punct-non-alphanumeric",
        },
        "punctuation_to": {"nothing": "", "space": "-to-space"},
        "articles": {k: "" if k == "none" else f"articles-{k}" for k in ARTICLES},
        "articles_to": {"space": "", "nothing": "-to-nothing"},
        "articles_order": {"after-punctuation": "", "before-punctuation": "first"},
        "words": {"whitespace": "split", "characters": "characters", "mixed-cjk": "mixed-cjk"},
        "exact": {"normal-form": "", "verbatim": "verbatim", "contains": "contains"},
        "empty": {"agree": "agree", "zero": "zero"},
        "references": {"best": "best", "leave_one_out": "leave-one-out", "first": "first"},
        "reference_filter": {
            "all": "",
            "non-empty": "non-empty",
            "unique-caseless": "unique-caseless",
            "cannotanswer-vote": "cannotanswer-vote",
        },
        "whole_answers": {"none": "", "yes-no": "yes-no", "cannotanswer": "cannotanswer"},
        "missing": {"zero": "0", "skip": "skip"},
        "spans": {"none": "", "half-open": "half-open", "touching": "touching"},
    }
)


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """Everything that changes a score, frozen. `dataclasses.replace` makes a variant with another signature.

    Parameters
    ----------
    name
        What the signature starts with.
    answer
        What part of the prediction counts: ``whole``, ``first-line`` (first line, stripped), ``answer-tag`` (the text
        inside the last ``<answer>...</answer>``, stripped; none: a null prediction).
    unicode
        Unicode normalisation of both sides before anything else: ``none`` (every published script), ``nfc``, ``nfkc``.
    invisible
        ``delete`` removes U+200B, U+200C, U+200D, U+2060 and U+FEFF from both sides.
    fold_quotes_and_dashes
        Typographic quotes, dashes and U+2212 become their ASCII twins before the punctuation step.
    case
        ``lower`` (`str.lower`), ``casefold`` (`str.casefold`, kinder than any script) or ``keep``.
    punctuation, punctuation_to
        Which characters go: ``ascii`` (the 32 of `string.punctuation`), ``unicode`` (those and category P*),
        ``period-comma``, ``trivia`` (ASCII and the four quotes of TriviaQA), ``non-alphanumeric`` (all that is neither
        `str.isalpha` nor `str.isdigit`), ``keep``; and whether ``nothing`` or a ``space`` comes in their place.
    articles, articles_to, articles_order
        The language whose articles go (`ARTICLES`), what comes in their place, and whether the step runs after or
        before the punctuation's.
    words
        How the normal form is cut: ``whitespace`` (`str.split`), ``characters``, ``mixed-cjk`` (MLQA's segmentation).
    exact
        What exact match compares: the ``normal-form``, the texts ``verbatim``, or whether the prediction's normal form
        ``contains`` the reference's.
    empty
        F1 when a side has no word: ``agree`` (1 when both have none, else 0) or ``zero``.
    references
        ``best`` over the references, ``leave_one_out`` (mean over the n sets of n-1), or the ``first`` alone.
    reference_filter
        Which references count: ``all``; ``non-empty`` (SQuAD 2: normal form not empty, or one empty one);
        ``unique-caseless`` (lm-evaluation-harness); ``cannotanswer-vote`` (QuAC).
    whole_answers
        Answers that match only as a whole: ``yes-no`` (HotpotQA: yes, no, noanswer), ``cannotanswer`` (QuAC).
    missing
        A missing or null prediction counts ``zero`` and stays in the denominator, or is left out (``skip``).
    spans
        Positional metrics beside the text ones: ``half-open``, ``touching`` or ``none``.
    source
        Where the rule comes from; not part of the signature.

    Raises
    ------
    UsageError
        A part has a value that is not allowed.
    """

    name: str
    answer: str = "whole"
    unicode: str = "none"
    invisible: str = "keep"
    fold_quotes_and_dashes: bool = False
    case: str = "keep"
    punctuation: str = "keep"
    punctuation_to: str = "nothing"
    articles: str = "none"
    articles_to: str = "space"
    articles_order: str = "after-punctuation"
    words: str = "whitespace"
    exact: str = "normal-form"
    empty: str = "agree"
    references: str = "best"
    reference_filter: str = "all"
    whole_answers: str = "none"
    missing: str = "zero"
    spans: str = "none"
    source: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        if not self.name or any(c in self.name for c in "|\n\r") or not self.name.isprintable():
            raise UsageError(f"recipe name: printable text without '|' is allowed, got {self.name!r}")
        for part, allowed in PARTS.items():
            value = getattr(self, part)
            right_type = isinstance(value, bool if part == "fold_quotes_and_dashes" else str)
            if not right_type or value not in allowed:
                names = ", ".join(repr(v) for v in allowed)
                raise UsageError(f"recipe {self.name!r}: {part} must be one of {names}, got {value!r}")

        if not isinstance(self.source, str):
            raise UsageError(f"recipe {self.name!r}: source must be text, got {self.source!r}")

    @property
    def signature(self) -> str:
        """All parts that can change a score, with the versions of Unicode and of fastscore, in one line."""
        text = {part: PARTS[part][getattr(self, part)] for part in PARTS}
        punctuation = text["punctuation"] + text["punctuation_to"] if text["punctuation"] else ""
        articles = text["articles"] + text["articles_to"] if text["articles"] else ""
        order = [punctuation, articles] if self.articles_order == "after-punctuation" else [articles, punctuation]
        norm = [text["unicode"], text["invisible"], text["fold_quotes_and_dashes"], text["case"], *order]
        fields = {
            "answer": text["answer"],
            "norm": ",".join(filter(None, norm)) or "none",
            "words": text["words"],
            "exact": text["exact"],
            "empty": text["empty"],
            "refs": ",".join(filter(None, [text["references"], text["reference_filter"]])),
            "whole": text["whole_answers"],
            "missing": text["missing"],
            "spans": text["spans"],
            "unicode": unicodedata.unidata_version,
            "fastscore": __version__,
        }
        return "|".join([self.name, *(f"{k}:{v}" for k, v in fields.items() if v)])

    @classmethod
    def from_signature(cls, signature: str) -> Recipe:
        """Rebuild the recipe that printed `signature`.

        The versions in it are checked: another Unicode version can give other scores, so it is refused.

        Raises
        ------
        UsageError
            The text is not a signature of this version's form, or names another Unicode version.
        """
        name, *rest = signature.strip().split("|")
        pairs = [r.partition(":") for r in rest]
        fields = {k: v for k, _, v in pairs}
        parts: dict[str, Any] = {}
        _read_norm(fields.pop("norm", ""), parts)
        refs, _, kept = fields.pop("refs", "").partition(",")
        for part, text in (
            ("answer", fields.pop("answer", "")),
            ("words", fields.pop("words", "")),
            ("exact", fields.pop("exact", "")),
            ("empty", fields.pop("empty", "")),
            ("references", refs),
            ("reference_filter", kept),
            ("whole_answers", fields.pop("whole", "")),
            ("missing", fields.pop("missing", "")),
            ("spans", fields.pop("spans", "")),
        ):
            parts[part] = _value_of(part, text)
        version = fields.pop("unicode", "")
        fields.pop("fastscore", None)
        if fields or not name or len(pairs) < 2:
            raise UsageError(f"not a signature of a recipe: {signature!r}; unknown parts: {', '.join(fields) or 'none'}")
        if version != unicodedata.unidata_version:
            raise UsageError(
                f"signature of {name!r} is for Unicode {version or '(none)'}, this Python has "
                f"{unicodedata.unidata_version}: scores could differ. Use a Python with that Unicode version."
            )
        return cls(name=name, **parts)

    @classmethod
    def from_mapping(cls, name: str, parts: Mapping[str, Any]) -> Recipe:
        """Make a recipe from a table of parts, such as one read from TOML; ``base`` names a recipe to start from.

        Raises
        ------
        UsageError
            A part or value is not allowed.
        UnknownNameError
            The base is unknown.
        """
        values = dict(parts)
        base = values.pop("base", None)
        known = {f.name for f in dataclasses.fields(cls)} - {"name"}
        for part in values:
            if part not in known:
                raise UsageError(f"recipe {name!r}: no part is called {part!r}.{did_you_mean(part, known)}")
        if base is None:
            return cls(name=name, **values)
        return dataclasses.replace(find_recipe(base), **{"name": name, **values})


def _value_of(part: str, text: str) -> Any:
    for value, printed in PARTS[part].items():
        if printed == text:
            return value
    allowed = ", ".join(repr(p) for p in PARTS[part].values() if p)
    raise UsageError(f"signature: {part} must be one of {allowed}, got {text!r}")


def _read_norm(text: str, parts: dict[str, Any]) -> None:
    """Read the comma-separated steps of a signature's ``norm`` field into `parts`."""
    steps = [] if text == "none" else text.split(",")
    seen: list[str] = []
    for step in steps:
        for part in ("unicode", "invisible", "fold_quotes_and_dashes", "case"):
            if step in PARTS[part].values():
                parts[part] = _value_of(part, step)
                break
        else:
            kind = "punctuation" if step.startswith("punct-") else "articles"
            suffix = next((s for s in PARTS[f"{kind}_to"].values() if s and step.endswith(s)), "")
            parts[kind] = _value_of(kind, step[: len(step) - len(suffix)])
            parts[f"{kind}_to"] = _value_of(f"{kind}_to", suffix)
            seen.append(kind)
    if seen == ["articles", "punctuation"]:
        parts["articles_order"] = "before-punctuation"


_SQUAD: dict[str, Any] = {"case": "lower", "punctuation": "ascii", "articles": "en"}
_MLQA: dict[str, Any] = {"case": "lower", "punctuation": "unicode", "empty": "zero", "source": "facebookresearch/MLQA @ 24bf470"}
_COQA: dict[str, Any] = {**_SQUAD, "empty": "agree", "references": "leave_one_out"}

_CATALOGUE = (
    Recipe(name="coqa", **_COQA, source="stanfordnlp/coqa-baselines evaluate-v1.0 @ 693d05b, arXiv 1808.07042"),
    Recipe(name="coqa-max", **_SQUAD, empty="agree", references="best", source="the metric as the CoQA task card words it"),
    Recipe(
        name="coqa-card",
        punctuation="period-comma",
        articles="en",
        articles_to="nothing",
        articles_order="before-punctuation",
        empty="agree",
        references="best",
        source="the scoring recipe of the CoQA task card, to the letter",
    ),
    Recipe(
        name="lm-eval-coqa",
        **_COQA,
        answer="first-line",
        reference_filter="unique-caseless",
        source="EleutherAI/lm-evaluation-harness @ 4e7e0d4",
    ),
    Recipe(
        name="germanquad", exact="verbatim", empty="agree", spans="half-open", source="the GermanQuAD task card, arXiv 2104.12741"
    ),
    Recipe(name="germanquad-squad", **_SQUAD, empty="zero", spans="half-open", source="SQuAD 1.1's text rule on German"),
    Recipe(name="squad", **_SQUAD, empty="zero", source="SQuAD 1.1 evaluate script"),
    Recipe(name="squad_v2", **_SQUAD, empty="agree", reference_filter="non-empty", source="SQuAD 2.0 evaluate script"),
    Recipe(name="xquad", **_SQUAD, empty="zero", source="XQuAD: SQuAD 1.1's script in every language"),
    Recipe(name="mlqa-en", **_MLQA, articles="en"),
    Recipe(name="mlqa-es", **_MLQA, articles="es"),
    Recipe(name="mlqa-hi", **_MLQA),
    Recipe(name="mlqa-vi", **_MLQA, articles="vi"),
    Recipe(name="mlqa-de", **_MLQA, articles="de"),
    Recipe(name="mlqa-ar", **_MLQA, articles="ar"),
    Recipe(name="mlqa-zh", **_MLQA, words="mixed-cjk"),
    Recipe(
        name="triviaqa",
        case="lower",
        punctuation="trivia",
        punctuation_to="space",
        articles="en",
        empty="zero",
        source="TriviaQA evaluation script",
    ),
    Recipe(
        name="hotpotqa",
        **_SQUAD,
        empty="zero",
        references="first",
        whole_answers="yes-no",
        source="HotpotQA evaluation script",
    ),
    Recipe(name="topiocqa", **_COQA, source="TopiOCQA evaluation: CoQA's rule"),
    Recipe(
        name="cjrc",
        case="lower",
        punctuation="non-alphanumeric",
        words="characters",
        empty="agree",
        references="leave_one_out",
        source="CJRC evaluation script",
    ),
    Recipe(
        name="quac",
        **_SQUAD,
        empty="zero",
        references="leave_one_out",
        reference_filter="cannotanswer-vote",
        whole_answers="cannotanswer",
        source="QuAC scorer",
    ),
    Recipe(name="nq-open", **_SQUAD, empty="zero", source="EM as in Natural Questions open, DPR and FiD"),
    Recipe(name="search-r1-em", **_SQUAD, empty="zero", answer="answer-tag", source="Search-R1 qa_em"),
    Recipe(
        name="search-r1-sub-em",
        **_SQUAD,
        empty="zero",
        answer="answer-tag",
        exact="contains",
        source="Search-R1 qa_em, substring",
    ),
    Recipe(name="verl-em", **_SQUAD, empty="zero", answer="answer-tag", source="verl search_r1_like_qa_em"),
    Recipe(
        name="verl-sub-em",
        **_SQUAD,
        empty="zero",
        answer="answer-tag",
        exact="contains",
        source="verl search_r1_like_qa_em, substring",
    ),
)

#: The published scorers by name.
RECIPES: Mapping[str, Recipe] = MappingProxyType({r.name: r for r in _CATALOGUE})

#: What people type, and the recipe that it means.
ALIASES: Mapping[str, str] = MappingProxyType(
    {
        "coqa-official": "coqa",
        "squad-v1": "squad",
        "squad_v1": "squad",
        "squad-v1.1": "squad",
        "squad1": "squad",
        "hf-squad": "squad",
        "squad-v2": "squad_v2",
        "squad2": "squad_v2",
        "hf-squad-v2": "squad_v2",
        "hf-squad_v2": "squad_v2",
        "gelectra": "germanquad",
        "german-quad": "germanquad",
        "farm": "germanquad",
        "mlqa": "mlqa-en",
        "trivia": "triviaqa",
        "trivia_qa": "triviaqa",
        "hotpot": "hotpotqa",
        "hotpot_qa": "hotpotqa",
        "nq": "nq-open",
        "nq_open": "nq-open",
        "search-r1": "search-r1-em",
        "verl": "verl-em",
    }
)


def resolve_recipe(recipe: str | Recipe) -> tuple[Recipe, str | None]:
    """Return the recipe of that name (or the recipe itself), and a note where the name was an alias.

    A signature is a name too. Raises `UnknownNameError` with a suggestion where there is no such recipe.
    """
    if isinstance(recipe, Recipe):
        return recipe, None
    if not isinstance(recipe, str):
        raise UsageError(f"recipe: a name, a signature or a Recipe is allowed, got {type(recipe).__name__}")
    if recipe in RECIPES:
        return RECIPES[recipe], None
    if "|" in recipe:
        return Recipe.from_signature(recipe), None
    name = ALIASES.get(recipe.lower(), recipe.lower())
    if name in RECIPES:
        return RECIPES[name], f"recipe {recipe!r} is read as {name!r}"
    raise UnknownNameError(f"recipe: no recipe is called {recipe!r}.{did_you_mean(recipe, [*RECIPES, *ALIASES])}")


def find_recipe(recipe: str | Recipe) -> Recipe:
    """Return the recipe of that name, alias or signature; a `Recipe` is returned as it is."""
    return resolve_recipe(recipe)[0]

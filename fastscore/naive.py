r"""The reference implementation: every rule of the package in plain Python, to check and to measure the fast code against.

Texts, spans, ids and a recipe's parts come in as plain Python values, scores go out as floats and dicts. It uses the
standard library alone, shares no table and no helper with the rest of the package, and is never tuned.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple, TypeAlias

__all__ = [
    "Answer", "average_precision", "bpref", "combine_references", "exact_match", "extract_answer", "filter_references",
    "in_rank_order", "judged_at_k", "ndcg_at_k", "normalize", "precision_at_k", "precision_recall_f1", "r_precision",
    "read_answer", "recall_at_k", "reciprocal_rank", "score_one", "score_rows", "score_spans", "span_overlap",
    "success_at_k", "summarize", "word_overlap", "words",
]  # fmt: skip

Span: TypeAlias = "tuple[int, int] | None"
Judged: TypeAlias = "Mapping[Hashable, int] | Iterable[Hashable]"

ASCII_PUNCTUATION = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"
INVISIBLE = "\u200b\u200c\u200d\u2060\ufeff"
QUOTES_AND_DASHES = {
    "'": "\u2018\u2019\u201a\u201b\u2032\u2039\u203a",
    '"': "\u201c\u201d\u201e\u201f\u2033\u00ab\u00bb",
    "-": "\u2010\u2011\u2012\u2013\u2014\u2015\u2212",
}
ARTICLES = {
    "en": re.compile(r"\b(a|an|the)\b"),
    "de": re.compile(r"\b(ein|eine|einen|einem|eines|einer|der|die|das|den|dem|des)\b"),
    "es": re.compile(r"\b(un|una|unos|unas|el|la|los|las)\b"),
    "vi": re.compile(r"\b(của|là|cái|chiếc|những)\b"),
    "ar": re.compile("ال"),
}
YES_NO = ("yes", "no", "noanswer")
CANNOT_ANSWER = "CANNOTANSWER"
WORD_METRICS = ("exact_match", "f1", "precision", "recall")
STATUSES = ("ok", "missing_prediction", "null_prediction", "no_references", "unmatched_prediction")


# ---- from text to words


def extract_answer(text: str, recipe: Any) -> str | None:
    r"""Return the part of a prediction that counts, None where it has none.

    ``first-line`` is lm-evaluation-harness's rule for CoQA: stripped, then cut at the first ``\n``. ``answer-tag`` is
    Search-R1's ``extract_solution`` on the completion alone: the inside of the last ``<answer>...</answer>``, stripped.
    """
    if recipe.answer == "first-line":
        return text.strip().split("\n")[0]
    if recipe.answer == "answer-tag":
        inside = re.findall(r"<answer>(.*?)</answer>", text, re.DOTALL)
        return str(inside[-1]).strip() if inside else None
    return text


def normalize(text: str, recipe: Any) -> str:
    """Return the normal form of a text: its `words`, joined by one space. The answer step is not part of it."""
    return " ".join(words(text, recipe))


def words(text: str, recipe: Any) -> list[str]:
    """Return the words of a text, after all the steps of the recipe that change it, in their fixed order."""
    if recipe.unicode != "none":
        text = unicodedata.normalize(recipe.unicode.upper(), text)
    if recipe.invisible == "delete":
        text = "".join(ch for ch in text if ch not in INVISIBLE)
    if recipe.fold_quotes_and_dashes:
        text = fold_quotes_and_dashes(text)
    if recipe.case != "keep":
        text = text.lower() if recipe.case == "lower" else text.casefold()
    if recipe.articles_order == "before-punctuation":
        text = remove_punctuation(remove_articles(text, recipe), recipe)
    else:
        text = remove_articles(remove_punctuation(text, recipe), recipe)
    return cut_words(text, recipe)


def fold_quotes_and_dashes(text: str) -> str:
    """Put the ASCII quote, double quote or hyphen for each character that `QUOTES_AND_DASHES` lists for it."""
    for plain, fancy in QUOTES_AND_DASHES.items():
        text = "".join(plain if ch in fancy else ch for ch in text)
    return text


def remove_punctuation(text: str, recipe: Any) -> str:
    """Put nothing, or a space, in the place of each character of the recipe's punctuation set."""
    instead = " " if recipe.punctuation_to == "space" else ""
    if recipe.punctuation == "non-alphanumeric":
        return "".join(ch if ch.isdigit() or ch.isalpha() else instead for ch in text)
    removed = punctuation_set(recipe.punctuation)
    return "".join(instead if ch in removed else ch for ch in text)


@cache
def punctuation_set(name: str) -> frozenset[str]:
    """Return a set of punctuation: ASCII's 32, MLQA's (those and category P*), TriviaQA's, the CoQA card's or none."""
    if name == "unicode":
        category_p = (chr(i) for i in range(0x110000) if unicodedata.category(chr(i)).startswith("P"))
        return frozenset(ASCII_PUNCTUATION).union(category_p)
    return frozenset({"keep": "", "ascii": ASCII_PUNCTUATION, "trivia": ASCII_PUNCTUATION + "‘’´`", "period-comma": ".,"}[name])


def remove_articles(text: str, recipe: Any) -> str:
    """Put a space, or nothing, in the place of each whole-word article; Arabic's goes inside words too, as in MLQA."""
    if recipe.articles == "none":
        return text
    return ARTICLES[recipe.articles].sub(" " if recipe.articles_to == "space" else "", text)


def cut_words(text: str, recipe: Any) -> list[str]:
    """Cut a text at white space; or every character but white space is a word; or as MLQA does for Chinese.

    ``mixed-cjk``: each of U+4E00 to U+9FA5 and each mark of MLQA's punctuation is a word, the rest is cut at white space.
    """
    if recipe.words == "characters":
        return [ch for ch in text if not ch.isspace()]
    if recipe.words == "mixed-cjk":
        alone = punctuation_set("unicode")
        text = "".join(f" {ch} " if "\u4e00" <= ch <= "\u9fa5" or ch in alone else ch for ch in text)
    return text.split()


# ---- one prediction, one reference


class Answer(NamedTuple):
    """A prediction or a reference made ready once: as given, as its normal form, and as words."""

    text: str
    form: str
    words: list[str]


def read_answer(text: str, recipe: Any) -> Answer:
    """Make a text ready for comparison."""
    found = words(text, recipe)
    return Answer(text, " ".join(found), found)


def word_overlap(prediction_words: list[str], reference_words: list[str]) -> int:
    """Return the size of the multiset overlap: for each word the smaller of its two counts, summed."""
    return sum((Counter(prediction_words) & Counter(reference_words)).values())


def exact_match(prediction: Answer, reference: Answer, recipe: Any) -> float:
    """Return 1.0 or 0.0: normal forms equal, texts equal as given (``verbatim``), or the reference's form inside (``contains``).

    An empty normal form is inside every text, as in Search-R1's script. QuAC's reference CANNOTANSWER matches that text alone.
    """
    if recipe.whole_answers == "cannotanswer" and reference.text == CANNOT_ANSWER:
        return float(prediction.text == CANNOT_ANSWER)
    if recipe.exact == "verbatim":
        return float(prediction.text == reference.text)
    if recipe.exact == "contains":
        return float(reference.form in prediction.form)
    return float(prediction.form == reference.form)


def precision_recall_f1(prediction: Answer, reference: Answer, recipe: Any) -> tuple[float, float, float]:
    """Return precision, recall and F1 of the words, in the arithmetic of the published scripts.

    HotpotQA's yes, no and noanswer give 0 beside any other normal form; QuAC's reference CANNOTANSWER matches that text alone.
    """
    if recipe.whole_answers == "cannotanswer" and reference.text == CANNOT_ANSWER:
        return (1.0, 1.0, 1.0) if prediction.text == CANNOT_ANSWER else (0.0, 0.0, 0.0)
    whole = recipe.whole_answers == "yes-no" and (prediction.form in YES_NO or reference.form in YES_NO)
    if whole and prediction.form != reference.form:
        return 0.0, 0.0, 0.0
    if not prediction.words or not reference.words:
        agree = float(recipe.empty == "agree" and not prediction.words and not reference.words)
        return agree, agree, agree
    same = word_overlap(prediction.words, reference.words)
    if same == 0:
        return 0.0, 0.0, 0.0
    precision = same / len(prediction.words)
    recall = same / len(reference.words)
    return precision, recall, (2 * precision * recall) / (precision + recall)


# ---- one prediction, all references


def filter_references(references: Sequence[str | None], recipe: Any) -> list[tuple[int | None, str]]:
    """Return the references that count, each with its index among all; nulls never count.

    ``non-empty``: where no normal form has a word, one empty reference is left (with the first index, None if there is no
    reference at all). ``unique-caseless``: of those equal under `str.lower` the first. ``cannotanswer-vote``: QuAC's
    CANNOTANSWER alone where at least half are that, else all others.
    """
    given: list[tuple[int | None, str]] = [(i, text) for i, text in enumerate(references) if text is not None]
    if recipe.reference_filter == "non-empty":
        return [(i, text) for i, text in given if words(text, recipe)] or [(given[0][0] if given else None, "")]
    if recipe.reference_filter == "unique-caseless":
        lowered = [text.lower() for _, text in given]
        return [pair for at, pair in enumerate(given) if lowered[at] not in lowered[:at]]
    if recipe.reference_filter == "cannotanswer-vote":
        cannot = [pair for pair in given if pair[1] == CANNOT_ANSWER]
        spans = [pair for pair in given if pair[1] != CANNOT_ANSWER]
        return cannot[:1] if len(cannot) >= len(spans) else spans
    return given


def combine_references(values: list[float], recipe: Any) -> float:
    """Return the best value, or the mean over the references of the best among the others, summed in order from 0.0."""
    if recipe.references != "leave_one_out" or len(values) == 1:
        return max(values)
    total = 0.0
    for i in range(len(values)):
        total += max(values[:i] + values[i + 1 :])
    return total / len(values)


def score_one(
    prediction: str | None, references: Sequence[str | None] | None, recipe: Any, *, status: str = "ok"
) -> dict[str, Any]:
    """Score a prediction against its references: exact_match, f1, precision, recall, best_reference and status.

    Metrics are floats in [0, 1], or None where the item has no score. `status` says what is known of the item before; a
    question without a reference that counts has no score whatever the prediction is.
    """
    if status in ("no_references", "unmatched_prediction"):
        return no_score(status)
    kept = [] if references is None else filter_references(references, recipe)
    if not kept:
        return no_score("no_references")
    answer = None if prediction is None else extract_answer(prediction, recipe)
    if answer is None and status == "ok":
        status = "null_prediction"
    if answer is None or status != "ok":
        return no_score(status, 0.0 if recipe.missing == "zero" else None)
    if recipe.references == "first":
        kept = kept[:1]
    predicted = read_answer(answer, recipe)
    compared = [read_answer(text, recipe) for _, text in kept]
    matches = [exact_match(predicted, reference, recipe) for reference in compared]
    overlaps = [precision_recall_f1(predicted, reference, recipe) for reference in compared]
    best = max(range(len(kept)), key=lambda i: (overlaps[i][2], matches[i], -i))
    return {
        "exact_match": combine_references(matches, recipe),
        "f1": combine_references([f1 for _, _, f1 in overlaps], recipe),
        "precision": overlaps[best][0],
        "recall": overlaps[best][1],
        "best_reference": kept[best][0],
        "status": status,
    }


def no_score(status: str, value: float | None = None) -> dict[str, Any]:
    """Return the scores of an item that was not compared: every metric has that value."""
    return {**dict.fromkeys(WORD_METRICS, value), "best_reference": None, "status": status}


def score_rows(rows: Iterable[Mapping[str, Any]], recipe: Any, top_n: Sequence[int] = (1,)) -> list[dict[str, Any]]:
    """Score rows of prediction, references and, if there, status, prediction_spans and reference_spans; keep other columns."""
    consumed = ("prediction", "references", "status", "prediction_spans", "reference_spans")
    items = []
    for row in rows:
        scores = score_one(row["prediction"], row["references"], recipe, status=row.get("status", "ok"))
        if recipe.spans != "none" and "prediction_spans" in row:
            spans = score_spans(row["prediction_spans"], row["reference_spans"], recipe, top_n)
            scores |= spans if scores["status"] == "ok" else dict.fromkeys(spans, scores["f1"])
        items.append({**{name: value for name, value in row.items() if name not in consumed}, **scores})
    return items


# ---- spans: pairs (start, end) of code points, half-open; None or a null start is no answer


def span_overlap(a: Span, b: Span) -> int:
    """Return how many characters two half-open spans share; no answer and an empty span share none."""
    return 0 if a is None or b is None else max(0, min(a[1], b[1]) - max(a[0], b[0]))


def spans_touch(a: Span, b: Span) -> bool:
    """Compare closed, as haystack 0.8: true also where one span begins at the other's end, for an empty one too."""
    return a is not None and b is not None and max(a[0], b[0]) <= min(a[1], b[1])


def score_spans(
    prediction_spans: Sequence[Any] | None, reference_spans: Sequence[Any] | None, recipe: Any, top_n: Sequence[int] = (1,)
) -> dict[str, float]:
    """Return exact_span and span_f1 of the first predicted span, and top_N for 1 and each of `top_n`; best over the references.

    A span is a pair, a mapping with start and end, or None; predicted spans are in rank order. Only top_N depends on whether
    the recipe's spans are ``half-open`` (share a character) or ``touching``.
    """
    predicted = [span_pair(span) for span in prediction_spans or ()]
    reference = [span_pair(span) for span in reference_spans or ()]
    first = predicted[0] if predicted else None
    scores = {
        "exact_span": float(first is not None and first in reference),
        "span_f1": max([span_f1(first, other) for other in reference], default=0.0),
    }
    meet = spans_touch if recipe.spans == "touching" else span_overlap
    for n in sorted({1, *top_n}):
        scores[f"top_{n}"] = float(any(meet(span, other) for span in predicted[:n] for other in reference))
    return scores


def span_f1(prediction: Span, reference: Span) -> float:
    """Return the F1 of the characters of two spans, 0 where they share none."""
    same = span_overlap(prediction, reference)
    if same == 0 or prediction is None or reference is None:
        return 0.0
    precision, recall = same / (prediction[1] - prediction[0]), same / (reference[1] - reference[0])
    return (2 * precision * recall) / (precision + recall)


def span_pair(span: Any) -> Span:
    """Return a span's pair of offsets; None where it is no answer."""
    if span is None:
        return None
    start, end = (span["start"], span["end"]) if isinstance(span, Mapping) else span
    return None if start is None else (start, end)


# ---- ranked lists: ids in rank order against relevant ids, or grades by id; null and empty ids match nothing


def in_rank_order(scores: Mapping[str, float]) -> list[str]:
    """Return ids by score descending; of equal scores the greater id, compared as bytes, comes first (trec_eval)."""
    return sorted(scores, key=lambda doc: (scores[doc], doc.encode()), reverse=True)


def grades_of(relevant: Judged) -> dict[Hashable, int]:
    """Return the grades of the judged ids: 1 for each id of a plain list."""
    grades = relevant if isinstance(relevant, Mapping) else dict.fromkeys(relevant, 1)
    return {doc: grade for doc, grade in grades.items() if doc is not None and doc != ""}


def ranks_of(retrieved: Sequence[Hashable], k: int | None) -> dict[Hashable, int]:
    """Return the first rank, from 1, of each id among the first k; a repeated id uses up a rank and counts once."""
    ranks: dict[Hashable, int] = {}
    for rank, doc in enumerate(retrieved[:k], 1):
        ranks.setdefault(doc, rank)
    return ranks


def hit_ranks(retrieved: Sequence[Hashable], relevant: Judged, k: int | None, min_relevance: int) -> list[int]:
    """Return the ranks of the relevant documents among the first k, ascending."""
    grades = grades_of(relevant)
    return [rank for doc, rank in ranks_of(retrieved, k).items() if doc in grades and grades[doc] >= min_relevance]


def count_relevant(relevant: Judged, min_relevance: int) -> int:
    """Return how many documents are relevant; a query with none has no score and must be left out."""
    return sum(grade >= min_relevance for grade in grades_of(relevant).values())


def success_at_k(retrieved: Sequence[Hashable], relevant: Judged, k: int, *, min_relevance: int = 1) -> float:
    """Return 1.0 if a relevant document is among the first k: GermanDPR's Recall@k."""
    return float(bool(hit_ranks(retrieved, relevant, k, min_relevance)))


def recall_at_k(retrieved: Sequence[Hashable], relevant: Judged, k: int, *, min_relevance: int = 1) -> float:
    """Return the share of all relevant documents that are among the first k."""
    return len(hit_ranks(retrieved, relevant, k, min_relevance)) / count_relevant(relevant, min_relevance)


def precision_at_k(retrieved: Sequence[Hashable], relevant: Judged, k: int, *, min_relevance: int = 1) -> float:
    """Return the number of relevant documents among the first k, over k."""
    return len(hit_ranks(retrieved, relevant, k, min_relevance)) / k


def reciprocal_rank(retrieved: Sequence[Hashable], relevant: Judged, k: int | None = None, *, min_relevance: int = 1) -> float:
    """Return 1 over the rank of the first relevant document, 0.0 if there is none among the first k."""
    ranks = hit_ranks(retrieved, relevant, k, min_relevance)
    return 1 / ranks[0] if ranks else 0.0


def average_precision(retrieved: Sequence[Hashable], relevant: Judged, k: int | None = None, *, min_relevance: int = 1) -> float:
    """Return the sum of the precisions at the ranks of relevant documents, over the number of all relevant."""
    total = 0.0
    for found, rank in enumerate(hit_ranks(retrieved, relevant, k, min_relevance), 1):
        total += found / rank
    return total / count_relevant(relevant, min_relevance)


def ndcg_at_k(retrieved: Sequence[Hashable], relevant: Judged, k: int | None = None, *, exponential: bool = False) -> float:
    """Return the sum of gain / log2(rank + 1) over that of the best order, both cut at k; grades of 0 or less gain nothing.

    The gain is the grade, or ``2**grade - 1``.
    """
    gains = {doc: float(2**grade - 1 if exponential else grade) for doc, grade in grades_of(relevant).items() if grade > 0}
    got = best = 0.0
    for doc, rank in ranks_of(retrieved, k).items():
        got += gains.get(doc, 0.0) / math.log2(rank + 1)
    for rank, gain in enumerate(sorted(gains.values(), reverse=True)[:k], 1):
        best += gain / math.log2(rank + 1)
    return got / best if best else 0.0


def r_precision(retrieved: Sequence[Hashable], relevant: Judged, *, min_relevance: int = 1) -> float:
    """Return the share of relevant documents among the first R, where R are relevant."""
    return precision_at_k(retrieved, relevant, count_relevant(relevant, min_relevance), min_relevance=min_relevance)


def bpref(retrieved: Sequence[Hashable], relevant: Judged, *, min_relevance: int = 1) -> float:
    """Return trec_eval's binary preference: how rarely judged others stand before relevant documents; negative is unjudged."""
    grades = grades_of(relevant)
    count = count_relevant(relevant, min_relevance)
    others = sum(0 <= grade < min_relevance for grade in grades.values())
    total, before = 0.0, 0
    for doc in ranks_of(retrieved, None):
        grade = grades.get(doc, -1)
        if doc in grades and grade >= min_relevance:
            total += 1 - min(before, count) / min(others, count) if before else 1.0
        elif grade >= 0:
            before += 1
    return total / count


def judged_at_k(retrieved: Sequence[Hashable], relevant: Judged, k: int) -> float:
    """Return the share of judged documents among the first k that there are."""
    grades = grades_of(relevant)
    shown = len(retrieved[:k])
    return sum(doc in grades for doc in ranks_of(retrieved, k)) / shown if shown else 0.0


# ---- totals


def summarize(items: Sequence[Mapping[str, Any]], metrics: Sequence[str], by: Sequence[str] | None = None) -> dict[str, Any]:
    """Return ``overall`` and, for each column of `by`, ``groups`` by value: counts by status and the mean of each metric.

    ``count`` is the number of items that have a score; a mean is the exact sum, rounded once, over it, None where it is 0.
    """
    groups: dict[str, dict[str, Any]] = {}
    for column in by or ():
        members: dict[str, list[Mapping[str, Any]]] = {}
        for item in items:
            members.setdefault(str(item[column]), []).append(item)
        groups[column] = {value: summarize_block(found, metrics) for value, found in members.items()}
    return {"overall": summarize_block(items, metrics), "groups": groups}


def summarize_block(items: Sequence[Mapping[str, Any]], metrics: Sequence[str]) -> dict[str, Any]:
    """Return the counts and means of some items."""
    scored = [item for item in items if any(item[metric] is not None for metric in metrics)]
    block: dict[str, Any] = {"count": len(scored)}
    for status in STATUSES:
        block[status] = sum(item["status"] == status for item in items)
    for metric in metrics:
        block[metric] = math.fsum(item[metric] for item in scored) / len(scored) if scored else None
    return block

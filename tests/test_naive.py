"""The reference implementation's word scores: against published values, worked cases by hand, and its own properties."""

from __future__ import annotations

import ast
import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastscore import naive
from fastscore.recipes import PARTS, RECIPES, Recipe
from tests.conftest import GOLDEN, shared_path

COQA_DOMAINS = {
    "mctest": "children_stories",
    "gutenberg": "literature",
    "race": "mid-high_school",
    "cnn": "news",
    "wikipedia": "wikipedia",
    "reddit": "reddit",
    "science": "science",
}


def load(path: Any) -> Any:
    return json.loads(path.read_text("utf-8"))


def em_f1(prediction: str | None, references: list[Any], recipe: str | Recipe) -> tuple[Any, Any]:
    scores = naive.score_one(prediction, references, RECIPES[recipe] if isinstance(recipe, str) else recipe)
    return scores["exact_match"], scores["f1"]


def pairs() -> list[dict[str, Any]]:
    return [json.loads(line) for line in (GOLDEN / "pairs.jsonl").read_text("utf-8").split("\n") if line]


@pytest.mark.parametrize("name", sorted({case["recipe"] for case in pairs()}))
def test_pairs_against_official(name: str) -> None:
    recipe, cases = RECIPES[name], [case for case in pairs() if case["recipe"] == name]
    assert len(cases) == (300 if name == "coqa" else 150)
    for case in cases:
        assert em_f1(case["prediction"], case["references"], recipe) == (case["exact_match"], case["f1"]), case
        if "normalized_prediction" in case:
            assert naive.normalize(case["prediction"], recipe) == case["normalized_prediction"]


def coqa_rows(references: Any, predictions: Any) -> list[dict[str, Any]]:
    """Rows in the order of the reference file; references are the answers, then the additional ones in the file's order."""
    answers = {(p["id"], p["turn_id"]): p["answer"] for p in predictions}
    rows = []
    for story in references["data"]:
        lists = [story["answers"], *story.get("additional_answers", {}).values()]
        for turn, question in enumerate(story["questions"]):
            prediction = answers.get((story["id"], question["turn_id"]))
            rows.append(
                {
                    "question_id": story["id"],
                    "turn_id": question["turn_id"],
                    "source": story["source"],
                    "prediction": prediction,
                    "references": [answers_of[turn]["input_text"] for answers_of in lists],
                    "status": "missing_prediction" if prediction is None else "ok",
                }
            )
    return rows


def official_coqa(items: list[dict[str, Any]]) -> dict[str, Any]:
    groups = {name: [i for i in items if i["source"] == source] for source, name in COQA_DOMAINS.items()}
    names = list(groups)
    groups["in_domain"] = [i for name in names[:5] for i in groups[name]]
    groups["out_domain"] = [i for name in names[5:] for i in groups[name]]
    groups["overall"] = items
    printed = {}
    for name, members in groups.items():
        block = naive.summarize(members, ("exact_match", "f1"))["overall"]
        em, f1 = (round((block[metric] or 0.0) * 100, 1) for metric in ("exact_match", "f1"))
        printed[name] = {"em": em, "f1": f1, "turns": block["count"]}
    return printed


@pytest.mark.parametrize("name", ["coqa-made-4refs", pytest.param("coqa-32dialogues", marks=pytest.mark.real)])
def test_coqa_against_official(name: str) -> None:
    made = name == "coqa-made-4refs"
    folder = GOLDEN if made else shared_path("golden")
    references = GOLDEN / f"{name}.references.json" if made else shared_path("data/coqa/train-32dialogues.json")
    expected = load(folder / f"{name}.expected.json")
    items = naive.score_rows(coqa_rows(load(references), load(folder / f"{name}.predictions.json")), RECIPES["coqa"])
    values = [{"id": i["question_id"], "turn_id": i["turn_id"], "exact_match": i["exact_match"], "f1": i["f1"]} for i in items]
    known = {(v["id"], v["turn_id"]): v for v in values}
    for turn in expected["items"]:
        assert known[turn["id"], turn["turn_id"]] == {k: turn[k] for k in ("id", "turn_id", "exact_match", "f1")}
    assert official_coqa(items) == expected["official"]
    assert list(expected["official"]) == list(official_coqa(items))


@pytest.mark.real
def test_coqa_story_without_additional_answers_against_hand() -> None:
    references = load(shared_path("data/coqa/train-1story.json"))
    rows = coqa_rows(references, [])
    assert [len(row["references"]) for row in rows] == [1] * 20
    assert naive.summarize(naive.score_rows(rows, RECIPES["coqa"]), ["f1"])["overall"]["missing_prediction"] == 20


TABLE = [
    ("yes", ["yes", "yes it is", "yeah", "correct"], {"coqa": (0.75, 0.875), "squad_v2": (1, 1), "coqa-max": (1, 1)}),
    ("", ["the"], {"squad": (1, 0), "squad_v2": (1, 1), "coqa": (1, 1)}),
    ("", ["the", "cat"], {"coqa": (0.5, 0.5), "squad_v2": (0, 0), "squad": (1, 0)}),
    ("Der Hund", ["Hund"], {"squad": (0, 2 / 3), "mlqa-de": (1, 1)}),
    ("„Berlin“", ["Berlin"], {"squad": (0, 0), "mlqa-de": (1, 1)}),
    ("Vitamin A", ["Vitamin"], {"squad": (1, 1), "mlqa-de": (0, 2 / 3)}),
    ("3.5", ["35"], {"squad": (1, 1)}),
    ("New-York", ["New York"], {"squad": (0, 0), "triviaqa": (1, 1)}),
    ("yes it is", ["yes"], {"squad": (0, 0.5), "hotpotqa": (0, 0)}),
    ("50 €", ["50"], {"mlqa-de": (0, 2 / 3), "cjrc": (1, 1)}),
    ("ΟΔΌΣ", ["οδός"], {"squad": (1, 1)}),
    ("İstanbul", ["i\u0307stanbul"], {"squad": (1, 1)}),
    ("İstanbul", ["istanbul"], {"squad": (0, 0)}),
    ("white", ["white", "White", "white", "it was white"], {"coqa": (1, 1), "lm-eval-coqa": (0.5, 0.75)}),
]


@pytest.mark.parametrize(("prediction", "references", "values"), TABLE)
def test_disagreeing_pairs_against_hand(prediction: str, references: list[str], values: dict[str, Any]) -> None:
    assert {name: em_f1(prediction, references, name) for name in values} == values


R = {
    "R01 repeats": ("squad", "Paris Paris Paris Paris Paris", ["Paris"], (0, (2 * 0.2 * 1.0) / (0.2 + 1.0))),
    "R01 order": ("squad", "world hello", ["hello world"], (0, 1)),
    "R02 unique": ("coqa", "red", ["red", "blue", "green", "yellow"], (0.75, 0.75)),
    "R02 doubled": ("coqa", "white", ["white", "white", "it was white", "blue"], (1, 1)),
    "R02 one": ("coqa", "red", ["red"], (1, 1)),
    "R07 English": ("germanquad-squad", "Rhein", ["Der Rhein"], (0, 2 / 3)),
    "R07 German": ("mlqa-de", "Rhein", ["Der Rhein"], (1, 1)),
    "R07 none of the list": ("mlqa-de", "zum Rhein", ["Rhein"], (0, 2 / 3)),
    "R07 articles alone": ("mlqa-de", "die", ["der"], (1, 0)),
    "R08 coqa same": ("coqa", "A", ["A"], (1, 1)),
    "R08 coqa other": ("coqa", "B", ["A"], (0, 0)),
    "R08 squad same": ("squad", "A", ["A"], (1, 0)),
    "R08 squad other": ("squad", "B", ["A"], (0, 0)),
    "R08 marks": ("squad_v2", "", ["!?"], (1, 1)),
    "R21 brackets": ("squad", "( B )", ["(B)"], (1, 1)),
    "R21 inside words": ("squad", "bnd", ["the band"], (0, 0)),
    "R24 same": ("coqa", "über Größe", ["über Größe"], (1, 1)),
    "R24 other": ("coqa", "Kln", ["Köln"], (0, 0)),
    "R26 dotted I": ("mlqa-de", "İstanbul", ["istanbul"], (0, 0)),
    "R28 SS": ("squad", "STRASSE", ["Straße"], (0, 0)),
    "R28 ss": ("squad", "Strasse", ["Straße"], (0, 0)),
    "R28 capital sharp s": ("squad", "GROẞE", ["große"], (1, 1)),
    "R29 decomposed": ("coqa", "Mu\u0308ller", ["Müller"], (0, 0)),
    "R29 ligature": ("coqa", "ﬁnal", ["final"], (0, 0)),
    "R29 full width": ("coqa", "１２", ["12"], (0, 0)),
    "R30 dash": ("squad", "1994–1998", ["1994-1998"], (0, 0)),
    "R30 quotes": ("squad", "„Faust“", ["Faust"], (0, 0)),
    "R30 minus": ("squad", "−5", ["-5"], (0, 0)),
    "R30 currency": ("squad", "€5", ["5"], (0, 0)),
    "R30 dash, MLQA": ("mlqa-de", "1994–1998", ["1994-1998"], (1, 1)),
    "R30 quotes, MLQA": ("mlqa-de", "„Faust“", ["Faust"], (1, 1)),
    "R30 minus, MLQA": ("mlqa-de", "−5", ["-5"], (0, 0)),
    "R30 currency, MLQA": ("mlqa-de", "€5", ["5"], (0, 0)),
    "R31 inside": ("squad", "group:\u200bartifact", ["group:artifact"], (0, 0)),
    "R31 between": ("squad", "foo\u200bbar", ["foo bar"], (0, 0)),
    "R33 brackets": ("squad", "(3.14)", ["3.14"], (1, 1)),
    "R33 comma": ("squad", "3,14", ["314"], (1, 1)),
    "R33 thousands": ("squad", "1.000", ["1000"], (1, 1)),
    "R33 bound": ("squad", "<42", ["42"], (1, 1)),
}


@pytest.mark.parametrize(("recipe", "prediction", "references", "values"), R.values(), ids=R.keys())
def test_public_reports_against_hand(recipe: str, prediction: str, references: list[str], values: Any) -> None:
    assert em_f1(prediction, references, recipe) == values


SQUAD = RECIPES["squad"]
KINDER = [
    ({"case": "casefold"}, "STRASSE", "Straße", 1),
    ({"unicode": "nfc"}, "Mu\u0308ller", "Müller", 1),
    ({"unicode": "nfc"}, "ﬁnal", "final", 0),
    ({"unicode": "nfkc"}, "ﬁnal", "final", 1),
    ({"unicode": "nfkc"}, "１２", "12", 1),
    ({"unicode": "nfkc"}, "5²", "52", 1),
    ({"invisible": "delete"}, "group:\u200bartifact", "group:artifact", 1),
    ({"invisible": "delete"}, "foo\u200bbar", "foo bar", 0),
    ({"invisible": "delete"}, "\u200ba\u200cb\u200dc\u2060d\ufeffe", "abcde", 1),
    ({"invisible": "delete"}, "a\u00adb", "ab", 0),
    ({"fold_quotes_and_dashes": True}, "1994–1998", "1994-1998", 1),
    ({"fold_quotes_and_dashes": True}, "„Faust“", "Faust", 1),
    ({"fold_quotes_and_dashes": True}, "−5", "-5", 1),
    ({"fold_quotes_and_dashes": True, "punctuation": "keep"}, "‘’‚‛′‹›", "'" * 7, 1),
    ({"fold_quotes_and_dashes": True, "punctuation": "keep"}, "“”„‟″«»", '"' * 7, 1),
    ({"fold_quotes_and_dashes": True, "punctuation": "keep"}, "‐‑‒–—―−", "-" * 7, 1),
    ({"fold_quotes_and_dashes": True, "punctuation": "keep"}, "´`…·", "''..", 0),
]


@pytest.mark.parametrize(("parts", "prediction", "reference", "matches"), KINDER)
def test_kinder_options_against_hand(parts: dict[str, Any], prediction: str, reference: str, matches: int) -> None:
    assert em_f1(prediction, [reference], replace(SQUAD, **parts))[0] == matches


FORMS = [
    ("squad", "theater", "theater"),
    ("squad", "a-the", "athe"),
    ("squad", "an.", ""),
    ("squad", "The-The", "thethe"),
    ("squad", "the band's  an\u00a0ant\u2028x", "bands ant x"),
    ("squad", "a\u0300 b", "\u0300 b"),
    ("squad", "a² the_cat", "a² thecat"),
    ("triviaqa", "a-the_cat‘s rock`n o´r", "cat s rock n o r"),
    ("coqa-card", "The cat, the dog. A.", "The cat dog A"),
    ("coqa-card", "a.b in-the-house", "b in--house"),
    ("coqa-card", "the cat's (an) \u201cend\u201d!", "cat's () \u201cend\u201d!"),
    ("germanquad", " Der  Rhein. ", "Der Rhein."),
    ("mlqa-es", "Los años, la ¿casa?", "años casa"),
    ("mlqa-vi", "những CÁI bàn của tôi", "bàn tôi"),
    ("mlqa-hi", "the घर।", "the घर"),
    ("mlqa-ar", "والقاهرة الكتاب", "و قاهرة كتاب"),
    ("mlqa-zh", "在2008年，北京 Olympic", "在 2008 年 北 京 olympic"),
    ("mlqa-zh", "a\u4dff\u4e00\u9fa5\u9fa6b", "a\u4dff \u4e00 \u9fa5 \u9fa6b"),
    ("cjrc", "第3条. ab\u0301²", "第 3 条 a b ²"),
]


@pytest.mark.parametrize(("recipe", "text", "form"), FORMS)
def test_normal_forms_against_hand(recipe: str, text: str, form: str) -> None:
    assert naive.normalize(text, RECIPES[recipe]) == form
    assert naive.words(text, RECIPES[recipe]) == form.split()


def test_marks_that_are_kept_are_words_of_mixed_segmentation_against_hand() -> None:
    assert naive.words("ab，c 的$", replace(RECIPES["mlqa-zh"], punctuation="keep")) == ["ab", "，", "c", "的", "$"]


EXTRACTED = [
    ("answer-tag", "a <answer> x\ny </answer> b", "x\ny"),
    ("answer-tag", "<answer>one</answer><answer>two</answer>", "two"),
    ("answer-tag", "<answer></answer>", ""),
    ("answer-tag", "<answer>a<answer>b</answer>c</answer>", "a<answer>b"),
    ("answer-tag", "<answer>done</answer> <answer>cut", "done"),
    ("answer-tag", "<Answer>x</Answer>", None),
    ("answer-tag", "none", None),
    ("first-line", "\n white \r\nblack", "white \r"),
    ("first-line", "white\u2028black", "white\u2028black"),
    ("first-line", "", ""),
    ("whole", " x\n", " x\n"),
]


@pytest.mark.parametrize(("rule", "text", "answer"), EXTRACTED)
def test_extraction_against_hand(rule: str, text: str, answer: str | None) -> None:
    assert naive.extract_answer(text, replace(SQUAD, answer=rule)) == answer


CANNOT = "CANNOTANSWER"
WHOLE = [
    ("quac", CANNOT, [CANNOT, "a cat", CANNOT, "dogs"], (1, 1)),
    ("quac", "a cat", [CANNOT, "a cat"], (0, 0)),
    ("quac", "cannotanswer", [CANNOT], (0, 0)),
    ("quac", CANNOT, ["cannotanswer"], (1, 1)),
    ("quac", "cannotanswer", ["cannotanswer"], (1, 1)),
    ("quac", CANNOT, [CANNOT, "a cat", "dogs"], (0, 0)),
    ("quac", "cat", [CANNOT, "a cat", "dogs"], (0.5, 0.5)),
    ("quac", "the", ["a"], (1, 0)),
    ("hotpotqa", "Yes!", ["yes"], (1, 1)),
    ("hotpotqa", "yes", ["yes it is"], (0, 0)),
    ("hotpotqa", "no answer", ["noanswer"], (0, 0)),
    ("hotpotqa", "it", ["dog", "it"], (0, 0)),
    ("germanquad", "Der Hund", ["der Hund", "Der  Hund"], (0, 1)),
    ("germanquad", "Der Hund", ["der Hund", "Der Hund"], (1, 1)),
    ("germanquad", " ", [""], (0, 1)),
    ("search-r1-sub-em", "<answer>in Berlin today</answer>", ["Berlin"], (1, 0.5)),
    ("search-r1-sub-em", "<answer>Berliner</answer>", ["berlin"], (1, 0)),
    ("search-r1-sub-em", "<answer>x</answer>", ["the"], (1, 0)),
    ("search-r1-em", "<answer>Berlin</answer>", ["Berlin"], (1, 1)),
    ("lm-eval-coqa", "white\nblack", ["white"], (1, 1)),
    ("cjrc", "北京市", ["北京"], (0, 0.8)),
]


@pytest.mark.parametrize(("recipe", "prediction", "references", "values"), WHOLE)
def test_rules_of_single_scorers_against_hand(recipe: str, prediction: str, references: list[str], values: Any) -> None:
    assert em_f1(prediction, references, recipe) == values


def test_reference_filters_against_hand() -> None:
    def kept(references: list[str | None], recipe: str) -> list[tuple[int | None, str]]:
        return naive.filter_references(references, RECIPES[recipe])

    assert kept([None, "a", "", None, "b"], "squad") == [(1, "a"), (2, ""), (4, "b")]
    assert kept(["the", None, "cat", "!"], "squad_v2") == [(2, "cat")]
    assert kept([None, "the", "!"], "squad_v2") == [(1, "")]
    assert kept([], "squad_v2") == [(None, "")]
    assert kept(["White", "white", None, "blue", "WHITE."], "lm-eval-coqa") == [(0, "White"), (3, "blue"), (4, "WHITE.")]
    assert kept(["x", CANNOT, "y"], "quac") == [(0, "x"), (2, "y")]
    assert kept(["x", CANNOT, CANNOT, "y"], "quac") == [(1, CANNOT)]
    assert kept(["x", "cannotanswer"], "quac") == [(0, "x"), (1, "cannotanswer")]
    assert kept(["a", "b", "A"], "lm-eval-coqa") == [(0, "a"), (1, "b")]
    assert kept([None], "quac") == []


def test_best_reference_and_its_precision_against_hand() -> None:
    def best(prediction: str, references: list[str | None], recipe: str) -> list[Any]:
        scores = naive.score_one(prediction, references, RECIPES[recipe])
        return [scores[name] for name in ("best_reference", "precision", "recall", "status")]

    assert best("yes it", [None, "no", "yes", "yes it is"], "coqa-max") == [3, 1.0, 2 / 3, "ok"]
    assert best("yes", ["yes it is", "yes", "yes"], "coqa") == [1, 1.0, 1.0, "ok"]
    assert best("b a", ["a b", "b a"], "germanquad") == [1, 1.0, 1.0, "ok"]
    assert best("x", ["y", "z"], "squad") == [0, 0.0, 0.0, "ok"]
    assert best("", ["cat", "the"], "coqa") == [1, 1.0, 1.0, "ok"]
    assert best("", [], "squad_v2") == [None, 1.0, 1.0, "ok"]


ZERO = [0.0, 0.0, 0.0, 0.0, None]
NULL = [None] * 5
STATUSES = [
    (None, ["x"], "coqa", "ok", ZERO, "null_prediction"),
    (None, ["x"], "coqa", "missing_prediction", ZERO, "missing_prediction"),
    (None, [""], "squad_v2", "missing_prediction", ZERO, "missing_prediction"),
    ("x", ["x"], "coqa", "missing_prediction", ZERO, "missing_prediction"),
    ("no tag", [""], "verl-em", "ok", ZERO, "null_prediction"),
    ("x", [], "coqa", "ok", NULL, "no_references"),
    ("x", [None], "coqa", "ok", NULL, "no_references"),
    ("x", None, "squad_v2", "ok", NULL, "no_references"),
    (None, [], "coqa", "missing_prediction", NULL, "no_references"),
    ("x", None, "coqa", "unmatched_prediction", NULL, "unmatched_prediction"),
]


@pytest.mark.parametrize(("prediction", "references", "recipe", "given_status", "values", "status"), STATUSES)
def test_statuses_against_hand(
    prediction: Any, references: Any, recipe: str, given_status: str, values: list[Any], status: str
) -> None:
    scores = naive.score_one(prediction, references, RECIPES[recipe], status=given_status)
    assert list(scores) == ["exact_match", "f1", "precision", "recall", "best_reference", "status"]
    assert list(scores.values()) == [*values, status]
    if status.endswith("_prediction"):
        skipped = naive.score_one(prediction, references, replace(RECIPES[recipe], missing="skip"), status=given_status)
        assert list(skipped.values()) == [*NULL, status]


def squad_rows(data: Any, predictions: dict[str, str]) -> list[dict[str, Any]]:
    questions = [q for article in data["data"] for paragraph in article["paragraphs"] for q in paragraph["qas"]]
    return [
        {
            "answerable": bool(q["answers"]),
            "prediction": predictions.get(q["id"]),
            "references": [a["text"] for a in q["answers"]],
        }
        for q in questions
    ]


SQUAD_1 = [
    ("bert", 86.20624408703878, 92.19557978351129),
    ("match-lstm", 67.63481551561021, 76.75556184979696),
    ("logreg", 40.14191106906339, 50.98153647324482),
]


@pytest.mark.real
@pytest.mark.parametrize(("system", "em", "f1"), SQUAD_1)
def test_squad_1_against_official(system: str, em: float, f1: float) -> None:
    data = load(shared_path("data/squad/dev-v1.1.json"))
    rows = squad_rows(data, load(shared_path(f"data/squad/v1.1-predictions-{system}.json")))
    block = naive.summarize(naive.score_rows(rows, SQUAD), ["exact_match", "f1"])["overall"]
    assert block["count"] == 10570
    assert block["null_prediction"] == (13 if system == "logreg" else 0)
    assert (100 * block["exact_match"], 100 * block["f1"]) == pytest.approx((em, f1), abs=1e-9)


@pytest.mark.real
@pytest.mark.parametrize("system", ["BERT", "nlnet"])
def test_squad_2_against_official(system: str) -> None:
    data = load(shared_path("data/squad/dev-v2.0.json"))
    rows = squad_rows(data, load(shared_path(f"data/squad/v2.0-predictions-{system.lower()}.json")))
    summary = naive.summarize(naive.score_rows(rows, RECIPES["squad_v2"]), ["exact_match", "f1"], by=["answerable"])
    printed = {}
    groups = summary["groups"]["answerable"]
    for prefix, block in (("", summary["overall"]), ("HasAns_", groups["True"]), ("NoAns_", groups["False"])):
        printed |= {
            f"{prefix}exact": 100 * block["exact_match"],
            f"{prefix}f1": 100 * block["f1"],
            f"{prefix}total": block["count"],
        }
    assert printed == pytest.approx(load(shared_path(f"golden/squad2-{system}.expected.json"))["plain"], abs=1e-9)


@pytest.mark.real
@pytest.mark.parametrize(("system", "printed"), [("dpr", (40.91, 47.78)), ("fid", (46.48, 53.69)), ("r2d2", (52.35, 59.03))])
def test_nq_open_against_published(system: str, printed: tuple[float, float]) -> None:
    lines = shared_path(f"data/nq/nq-open-predictions-{system}.jsonl").read_text("utf-8").split("\n")
    rows = [{"prediction": d["prediction"], "references": d["answer"]} for d in map(json.loads, filter(None, lines))]
    block = naive.summarize(naive.score_rows(rows, RECIPES["nq-open"]), ["exact_match", "f1"])["overall"]
    assert block["count"] == 3610
    assert (round(100 * block["exact_match"], 2), round(100 * block["f1"], 2)) == printed


ANSWERS = st.text(alphabet="ab AtheTHE.-'ΣßİàÀ\u0300\u200b的", max_size=12)


@given(ANSWERS, st.lists(st.none() | ANSWERS, max_size=5), st.sampled_from(sorted(RECIPES)))
def test_scores_lie_in_their_range_against_itself(prediction: str, references: list[Any], name: str) -> None:
    scores = naive.score_one(prediction, references, RECIPES[name])
    values = [scores[metric] for metric in naive.WORD_METRICS]
    if scores["status"] == "no_references":
        assert values == [None] * 4
        return
    assert all(type(value) is float and 0.0 <= value <= 1.0 for value in values)
    index = scores["best_reference"]
    assert index is None or references[index] is not None
    if scores["status"] == "ok" and index is not None:
        alone = naive.score_one(prediction, [references[index]], RECIPES[name])
        assert (alone["precision"], alone["recall"]) == (scores["precision"], scores["recall"])


@given(ANSWERS, st.lists(ANSWERS, min_size=2, max_size=5), ANSWERS)
def test_leave_one_out_never_exceeds_best_against_itself(prediction: str, references: list[str], more: str) -> None:
    held_out, best = em_f1(prediction, references, "coqa"), em_f1(prediction, references, "coqa-max")
    assert held_out[0] <= best[0]
    assert held_out[1] <= best[1] + 1e-15
    assert em_f1(prediction, [*references, more], "coqa-max") >= best
    assert em_f1(prediction, [*references, prediction, prediction], "coqa") == (1.0, 1.0)


@given(st.sampled_from(["Paris", "red house", "über Größe"]), st.integers(2, 9))
def test_repeating_a_right_answer_lowers_f1_against_itself(answer: str, times: int) -> None:
    em, f1 = em_f1(" ".join([answer] * times), [answer], "squad")
    assert em == 0
    assert f1 == pytest.approx(2 / (times + 1))


@pytest.mark.parametrize("part", [part for part in PARTS if part not in ("missing", "spans")])
def test_every_value_of_every_part_scores_against_itself(part: str) -> None:
    for value in PARTS[part]:
        recipe = replace(RECIPES["coqa"], **{part: value})
        text = "the cat" if part != "answer" or value != "answer-tag" else "<answer>the cat</answer>"
        assert em_f1(text, ["the cat", "the cat"], recipe) == (1.0, 1.0), value


def test_it_imports_the_standard_library_alone_against_itself() -> None:
    tree = ast.parse(Path(naive.__file__).read_text("utf-8"))
    imported = [node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    imported += [name.name for node in ast.walk(tree) if isinstance(node, ast.Import) for name in node.names]
    assert {str(name).partition(".")[0] for name in imported} <= sys.stdlib_module_names

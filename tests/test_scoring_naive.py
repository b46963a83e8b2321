"""`score_batch`, `score_one` and `normalize` against the reference implementation, to the bit, on texts made to break them."""

from __future__ import annotations

import itertools
import unicodedata
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastscore import naive
from fastscore.kernels.bits import mix64
from fastscore.kernels.cut import word_key
from fastscore.recipes import RECIPES, Recipe
from fastscore.scoring import score_batch, score_one
from fastscore.text.normalize import normalize
from tests import strategies

SCHEMA = pa.schema([("prediction", pa.string()), ("references", pa.list_(pa.string()))])
METRICS = ("exact_match", "f1", "precision", "recall", "best_reference", "status")


def expected(rows: list[dict[str, Any]], recipe: Recipe) -> list[dict[str, Any]]:
    return [naive.score_one(r["prediction"], r["references"], recipe) for r in rows]


def scored(rows: list[dict[str, Any]], recipe: Recipe, **more: Any) -> list[dict[str, Any]]:
    batch = pa.RecordBatch.from_pylist(rows, schema=SCHEMA)
    result: list[dict[str, Any]] = score_batch(batch, recipe, **more).select(list(METRICS)).to_pylist()
    return result


@given(strategies.rows(), strategies.catalogue)
def test_every_recipe_against_naive(rows: list[dict[str, Any]], recipe: Recipe) -> None:
    assert scored(rows, recipe) == expected(rows, recipe)


@pytest.mark.parametrize("name", RECIPES)
@given(rows=strategies.rows(most=4))
def test_each_recipe_against_naive(name: str, rows: list[dict[str, Any]]) -> None:
    assert scored(rows, RECIPES[name]) == expected(rows, RECIPES[name])


@given(strategies.rows(most=4), strategies.variants())
def test_any_variant_against_naive(rows: list[dict[str, Any]], recipe: Recipe) -> None:
    if recipe.unicode != "none" and any(_unassigned(t) for r in rows for t in (r["prediction"], *(r["references"] or []))):
        return
    assert scored(rows, recipe) == expected(rows, recipe)


@given(strategies.texts(), st.lists(strategies.texts(), max_size=5), strategies.catalogue)
def test_score_one_against_naive(prediction: str, references: list[str], recipe: Recipe) -> None:
    assert score_one(prediction, references, recipe) == naive.score_one(prediction, references, recipe)


@given(st.lists(st.one_of(st.none(), strategies.texts()), max_size=6), strategies.catalogue)
def test_normalize_against_naive(texts: list[str | None], recipe: Recipe) -> None:
    want = [None if t is None else naive.normalize(t, recipe) for t in texts]
    assert normalize(pa.array(texts, pa.string()), recipe).to_pylist() == want


@pytest.mark.parametrize("size", [1, 2, 7, 8, 9, 63, 64, 65, 2047, 2048, 2049, 9000])
@pytest.mark.parametrize("threads", [1, 2])
def test_batch_edges_against_naive(size: int, threads: int) -> None:
    rows = [
        {
            "prediction": f"The answer {i % 7} of {i % 3} x" * (1 + i % 5),
            "references": [f"answer {i // 16 % 7}", "of the x", "x" * (i % 70)],
        }
        for i in range(size)
    ]
    assert scored(rows, RECIPES["coqa"], threads=threads) == expected(rows, RECIPES["coqa"])


@pytest.mark.parametrize("copies", [1, 2, 254, 255, 256, 299, 300, 511, 512, 513, 1025])
@pytest.mark.parametrize("others", [0, 1, 300])
def test_many_copies_of_a_word_against_naive(copies: int, others: int) -> None:
    filler = " ".join(f"w{i}" for i in range(others))
    rows = [
        {"prediction": f"{'dog ' * n}{filler}", "references": ["dog " * m + filler, "dog", f"{filler} cat " * 2]}
        for n in (copies - 1, copies, copies + 1)
        for m in (copies, 3)
    ]
    assert scored(rows, RECIPES["squad"]) == expected(rows, RECIPES["squad"])


@pytest.mark.parametrize("count", [1, 7, 8, 9, 16, 17, 300, 9000])
def test_many_references_against_naive(count: int) -> None:
    rows = [
        {"prediction": "b c", "references": [f"a{i} b" for i in range(count)]},
        {"prediction": "a0 b", "references": ["b"] * count},
    ]
    recipe = RECIPES["coqa"] if count < 1000 else RECIPES["coqa-max"]
    assert scored(rows, recipe) == expected(rows, recipe)


def keys_of(word: str) -> int:
    """The mixture that stands for a long word's bytes, as the word cutter makes it."""
    clean = np.frombuffer(word.encode() + b" " * 64, dtype=np.uint8)
    return int(word_key.py_func(clean, 0, len(word))[0])


def test_words_with_equal_keys_are_told_apart() -> None:
    """Words of 24 bytes made so that the mixture of their bytes is the same: only their bytes tell them apart."""
    one, other = colliding_words()
    assert one != other
    assert keys_of(one) == keys_of(other)
    rows = [{"prediction": f"{one} same", "references": [f"{other} same", one]}]
    assert scored(rows, RECIPES["germanquad"]) == expected(rows, RECIPES["germanquad"])
    assert scored(rows, RECIPES["germanquad"])[0]["best_reference"] == 1


def colliding_words() -> tuple[str, str]:
    """Two words of 24 bytes with one key: the second eight bytes undo the difference that the first eight made."""
    length = np.uint64(24)
    rng = np.random.default_rng(7)
    first = [bytes(rng.integers(97, 123, 8, dtype=np.uint8)) for _ in range(200)]
    states = [int(mix64(np.uint64(int.from_bytes(f, "little")), length)) for f in first]
    visible = range(0x21, 0x7F)
    for a, b in itertools.combinations(range(len(first)), 2):
        apart = (states[a] ^ states[b]).to_bytes(8, "little")
        if max(apart) < 0x80 and all(any(c ^ d in visible for c in visible) for d in apart):
            one = bytes(next(c for c in visible if c ^ d in visible) for d in apart)
            other = bytes(c ^ d for c, d in zip(one, apart, strict=True))
            return (first[a] + one + b"lastword").decode(), (first[b] + other + b"lastword").decode()
    raise AssertionError("no two words with one key were found")


def test_repeating_a_right_answer_never_raises_f1_against_hand() -> None:
    values = [score_one("Paris " * n, ["Paris"], "squad")["f1"] for n in range(1, 20)]
    assert values == sorted(values, reverse=True)
    assert values[4] == 0.33333333333333337 or values[4] == 1 / 3


def _unassigned(text: str | None) -> bool:
    """Whether a text holds code points that another Unicode version may normalise in another way."""
    return text is not None and any(unicodedata.category(c) in ("Cn", "Co", "Cs") for c in text)


@pytest.mark.parametrize(
    "parts",
    [
        {"unicode": "nfkc", "words": "mixed-cjk", "articles": "ar", "punctuation": "unicode", "exact": "verbatim"},
        {"case": "casefold", "exact": "contains", "whole_answers": "cannotanswer", "references": "leave_one_out"},
        {"exact": "verbatim", "whole_answers": "cannotanswer", "articles": "en"},
    ],
    ids=["prepared-verbatim", "contains-cannotanswer", "verbatim-cannotanswer"],
)
@pytest.mark.parametrize("kept", ["non-empty", "cannotanswer-vote", "unique-caseless"])
def test_rare_rules_together_against_naive(parts: dict[str, str], kept: str) -> None:
    """Fuzzing found these: no reference counts where texts are prepared; a whole answer inside another text."""
    recipe = Recipe(name="mine", reference_filter=kept, empty="zero", **parts)
    lists = [[], [""], ["CANNOTANSWER"], ["CANNOTANSWER", "a"], ["a", "A", "the a"]]
    texts = ["\u203a", "", "Cannotanswer", "CANNOTANSWER", "a CANNOTANSWER", "the", "a"]
    rows = [{"prediction": text, "references": listed} for text in texts for listed in lists]
    batch = pa.record_batch(
        {
            "prediction": pa.array([r["prediction"] for r in rows]),
            "references": pa.array([r["references"] for r in rows], pa.list_(pa.string())),
        }
    )
    assert score_batch(batch, recipe).to_pylist() == [naive.score_one(r["prediction"], r["references"], recipe) for r in rows]


@pytest.mark.parametrize("order", ["before-punctuation", "after-punctuation"])
@pytest.mark.parametrize("to", ["space", "nothing"])
def test_articles_end_with_their_text_against_naive(order: str, to: str) -> None:
    """Fuzzing found this: bytes behind a text made an article of its last word."""
    recipe = Recipe(name="mine", case="lower", punctuation="ascii", articles="en", articles_to=to, articles_order=order)
    texts = [
        "un th",
        "e",
        "so a",
        "n",
        "th",
        "E the",
        "x" * 61 + " th",
        "e",
        "x" * 62 + " a",
        "n an",
        "y" * 60 + " the",
        "the",
    ] * 8
    assert normalize(pa.array(texts), recipe).to_pylist() == [naive.normalize(t, recipe) for t in texts]

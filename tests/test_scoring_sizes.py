"""`score_batch` against naive at the sizes where the kernels change their way: few words, lanes, repeats, scratch that grows."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

import fastscore
from fastscore import naive
from fastscore.kernels.few import FEW_PLACES
from fastscore.recipes import RECIPES

WORDS = ["cat", "dog", "x", "größe", "an", "b" * 15, "c" * 16, "d" * 70, "c" * 15 + "d"]


def assert_equal(rows: list[dict[str, Any]], recipe: str) -> None:
    table = pa.RecordBatch.from_pylist(rows, schema=pa.schema({"prediction": pa.string(), "references": pa.list_(pa.string())}))
    got = fastscore.score_batch(table, recipe).to_pylist()
    right = [naive.score_one(r["prediction"], r["references"], RECIPES[recipe]) for r in rows]
    assert got == [{k: r[k] for k in g} for g, r in zip(got, right, strict=True)]


def text(rng: random.Random, count: int) -> str:
    return " ".join(rng.choice(WORDS) for _ in range(count))


@pytest.mark.parametrize("recipe", ["coqa", "coqa-max", "squad_v2", "hotpotqa", "germanquad", "cjrc"])
@pytest.mark.parametrize(
    "words", [1, 7, 8, 9, 16, 31, 32, 33, FEW_PLACES - 4, FEW_PLACES - 1, FEW_PLACES, FEW_PLACES + 1, 254, 255, 256]
)
def test_words_of_a_list_against_naive(words: int, recipe: str) -> None:
    rng = random.Random(words)
    rows = []
    for case in range(40):
        cuts = sorted(rng.randint(0, words) for _ in range(case % 9))
        counts = [b - a for a, b in zip([0, *cuts], [*cuts, words], strict=True)]
        golds = [text(rng, n) for n in counts]
        given = rng.choice([rng.choice(golds), text(rng, rng.randint(0, 12)), text(rng, words)])
        rows += [{"prediction": given, "references": golds}] * (1 + case % 2)
    assert_equal(rows, recipe)


@pytest.mark.parametrize("recipe", ["coqa", "squad", "quac", "lm-eval-coqa", "search-r1-sub-em"])
def test_repeated_predictions_against_naive(recipe: str) -> None:
    rng = random.Random(5)
    rows = []
    for question in range(60):
        golds: Any = [[text(rng, 2) for _ in range(question % 4)], None, ["CANNOTANSWER", "cat"]][question % 3]
        pool = [text(rng, rng.randint(0, 4)) for _ in range(3)] + [None, "", "CANNOTANSWER"]
        rows += [{"prediction": rng.choice(pool), "references": golds} for _ in range(16)]
    assert_equal(rows, recipe)
    shuffled = rows[:]
    rng.shuffle(shuffled)
    assert_equal(shuffled, recipe)


@pytest.mark.parametrize("recipe", ["coqa-max", "cjrc"])
def test_rows_that_outgrow_the_scratch_against_naive(recipe: str) -> None:
    rng = random.Random(11)
    small = [{"prediction": text(rng, 3), "references": [text(rng, 2)] * 2} for _ in range(50)]
    long = {"prediction": text(rng, 1500), "references": [text(rng, 1400)]}
    longer = {"prediction": "x", "references": [text(rng, 4000), "x"]}
    many = {"prediction": text(rng, 5), "references": [text(rng, 1) for _ in range(9000)]}
    assert_equal([*small, long, *small[:5], longer, many, *small[:5], long, many, many], recipe)


@pytest.mark.parametrize(("name", "form"), [("germanquad", "nfc"), ("quac", "nfkc"), ("coqa", "nfc")])
def test_texts_that_become_equal_are_no_repeats_of_each_other(name: str, form: Any) -> None:
    recipe = replace(RECIPES[name], unicode=form)
    golds = ["\u00e9 zz zzzz", "CANNOTANSWER", "CANNOTANSWER"]
    fullwidth = "".join(chr(ord(c) + 0xFEE0) for c in "CANNOTANSWER")
    texts = ["\u00e9 zz zzzz", "e\u0301 zz zzzz", "CANNOTANSWER", fullwidth] * 2
    batch = pa.RecordBatch.from_pydict({"prediction": texts, "references": [golds] * 8})
    got = fastscore.score_batch(batch, recipe).to_pylist()
    right = [naive.score_one(t, golds, recipe) for t in texts]
    assert got == [{k: r[k] for k in g} for g, r in zip(got, right, strict=True)]

"""Every code point there is, alone and beside what could change its treatment: the normal form equals the reference's."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pyarrow as pa
import pytest

from fastscore import naive
from fastscore.recipes import RECIPES, Recipe
from fastscore.text.normalize import normalize

BESIDE = ("a", "the", "Σ", " ", "-")
DEEP = bool(os.environ.get("FASTSCORE_DEEP"))
#: One recipe for each distinct normal form of the catalogue.
FORMS = {r.signature.partition("|")[2].partition("|empty")[0]: r for r in RECIPES.values() if r.answer == "whole"}


def points(every: int) -> Iterator[str]:
    """All code points below U+3100 and around every change of treatment; elsewhere one in `every`."""
    for number in range(0x110000):
        if 0xD800 <= number < 0xE000:
            continue
        if number < 0x3100 or 0xA000 <= number < 0xAC00 or 0xF900 <= number < 0x20000 or number % every == 0:
            yield chr(number)


def compared(texts: list[str], recipe: Recipe) -> int:
    got = normalize(pa.array(texts, pa.large_string()), recipe).to_pylist()
    want = [naive.normalize(t, recipe) for t in texts]
    wrong = [(t, g, w) for t, g, w in zip(texts, got, want, strict=True) if g != w]
    assert not wrong, (len(wrong), [tuple(map(ascii, w)) for w in wrong[:3]])
    return len(texts)


def contexts(character: str) -> list[str]:
    """The character alone, and before, after and between each of the neighbours."""
    return [character, *(t for n in BESIDE for t in (character + n, n + character, n + character + n))]


def test_code_points_of_coqa_against_naive() -> None:
    total, batch = 0, []
    for character in points(1 if DEEP else 97):
        batch += contexts(character)
        if len(batch) > 200_000:
            total += compared(batch, RECIPES["coqa"])
            batch = []
    total += compared(batch, RECIPES["coqa"])
    assert total == 16 * sum(1 for _ in points(1 if DEEP else 97))
    print(f"{total:,} strings compared")


@pytest.mark.parametrize("form", FORMS)
def test_code_points_of_every_normal_form_against_naive(form: str) -> None:
    chosen = list(points(1 if DEEP else 499))
    step = 1 if DEEP else 7
    texts = [f"the{c}a Σ{c} {c}" for c in chosen[::step]] + [f"A{c}Σ-{c}the {c}ا{c}\u0644" for c in chosen[3::step]]
    assert compared(texts, FORMS[form]) == len(texts)

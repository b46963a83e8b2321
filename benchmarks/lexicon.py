"""Words to make benchmark text from: English by Zipf's law, German running text, and Greek, Arabic and Chinese.

A lexicon draws word ids; `Lexicon.texts` holds the words, each in six forms (plain and capitalised, times nothing, a period or a
comma after it), so that text of any size is a gather and a join of Arrow arrays and never a Python loop over rows.
"""

from __future__ import annotations

import itertools
import json
import os
from functools import cache
from pathlib import Path
from typing import Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from benchmarks.word_lists import ARABIC, CHINESE, ENGLISH, GERMAN, GERMAN_PARTS, GREEK

__all__ = ["ARTICLES", "FORMS", "Lexicon", "RunningText", "ZipfWords", "english", "german", "mixed_script"]

Ids = NDArray[np.int64]

#: Forms of each word: form f of word i is texts[FORMS * i + f]; f = capital + 2 * (0 nothing, 1 a period, 2 a comma after it).
FORMS = 6
ARTICLES = ("the", "a", "an")
_TABLE = 1 << 18
_ONSETS = [*"bcdfghklmnprstvwbcdfglmnprst", "br", "ch", "dr", "fl", "gr", "pl", "pr", "sh", "st", "th", "tr"]
_VOWELS = [*"aeiouaeio", "ai", "ea", "ee", "ou"]
_CODAS = ["", "", "", "", "b", "l", "m", "n", "r", "s", "t", "n", "r", "nd", "ng", "st"]
_ENDINGS = ["", "", "", "", "", "", "s", "s", "ed", "er", "ing", "ly"]


class Lexicon(Protocol):
    """What the text generators need: the words, and a way to draw ids of them."""

    texts: pa.Array

    def draw(self, rng: np.random.Generator, rows: int, width: int, groups: Ids | None = None) -> Ids:
        """Ids of shape (rows, width); `groups` (rows,) says from which of several vocabularies a row draws."""
        ...

    @property
    def leading(self) -> Ids:
        """Ids of the words that may be put before an answer (articles); may be empty."""
        ...

    @property
    def common(self) -> Ids:
        """Ids of the one-word answers that come up again and again (yes, no); may be empty."""
        ...


class ZipfWords:
    """One or several vocabularies, each drawn from by Zipf's law: the word of rank r with weight 1 / (r + 2.7)."""

    def __init__(self, *vocabularies: list[str], leading: tuple[str, ...] = (), common: tuple[str, ...] = ()) -> None:
        words = list(itertools.chain.from_iterable(vocabularies))
        self.texts = _all_forms(words)
        at = {w: i for i, w in reversed(list(enumerate(words)))}
        self._leading = np.array([at[w] for w in leading], np.int64)
        self._common = np.array([at[w] for w in common], np.int64)
        starts = np.cumsum([0, *(len(v) for v in vocabularies)])
        self._tables = np.stack([_quantiles(len(v)) + s for v, s in zip(vocabularies, starts, strict=False)])

    def draw(self, rng: np.random.Generator, rows: int, width: int, groups: Ids | None = None) -> Ids:
        at = rng.integers(0, _TABLE, (rows, width))
        if groups is None or len(self._tables) == 1:
            ids: Ids = self._tables[0][at]
            return ids
        return self._tables[(groups % len(self._tables))[:, None], at]

    @property
    def leading(self) -> Ids:
        return self._leading

    @property
    def common(self) -> Ids:
        return self._common


class RunningText:
    """Real text: what is drawn is a run of consecutive words, from a random place on."""

    def __init__(self, words: list[str], leading: tuple[str, ...]) -> None:
        self.texts = _all_forms([*words, *leading])
        self._words = len(words)
        self._leading = np.arange(len(words), len(words) + len(leading))

    def draw(self, rng: np.random.Generator, rows: int, width: int, groups: Ids | None = None) -> Ids:
        starts: Ids = rng.integers(0, self._words, (rows, 1))
        return (starts + np.arange(width)) % self._words

    @property
    def leading(self) -> Ids:
        return self._leading

    @property
    def common(self) -> Ids:
        return np.empty(0, np.int64)


@cache
def english() -> ZipfWords:
    """20,000 English or English-looking words."""
    return ZipfWords(_with_made_up([w for w in ENGLISH.split() if w], 20_000), leading=ARTICLES, common=("yes", "no"))


@cache
def german() -> Lexicon:
    """The passages of GermanQuAD's test set where they lie beside the project's folder, else made-up German words."""
    path = _shared() / "data" / "german" / "germanquad-test.json"
    articles = ("der", "die", "das", "eine")
    if not path.exists():
        words = GERMAN.split()
        compounds = ["".join(p) for p in itertools.product(GERMAN_PARTS.title().split(), GERMAN_PARTS.split())]
        return ZipfWords([*words, *(c for c in compounds if c not in words)], leading=articles, common=("ja", "nein"))
    documents = json.loads(path.read_text(encoding="utf-8"))["data"]
    return RunningText([w for d in documents for p in d["paragraphs"] for w in p["context"].split()], articles)


@cache
def mixed_script() -> ZipfWords:
    """Greek, Arabic and Chinese; an answer keeps to one of them. Chinese runs without blanks, so a word is a phrase."""
    signs = CHINESE.replace(" ", "").replace("\n", "")
    rng = np.random.default_rng(3)
    phrases = ["".join(signs[i] for i in rng.integers(0, len(signs), rng.integers(1, 7))) for _ in range(4000)]
    return ZipfWords(GREEK.split(), ARABIC.split(), phrases)


def _all_forms(words: list[str]) -> pa.Array:
    pairs = [(w, w[:1].upper() + w[1:]) for w in words]
    return pa.array([form + tail for pair in pairs for tail in ("", ".", ",") for form in pair], pa.string())


def _quantiles(words: int) -> Ids:
    """A table of word ids in which each id fills the share of places that Zipf's law gives it."""
    weights = 1.0 / (np.arange(words) + 2.7)
    return np.searchsorted(np.cumsum(weights) / weights.sum(), (np.arange(_TABLE) + 0.5) / _TABLE).astype(np.int64)


def _with_made_up(words: list[str], size: int) -> list[str]:
    """`words` and then made-up ones up to `size`, the shorter first, so that frequent words are short as in real text."""
    rng = np.random.default_rng(7)
    known = set(words)
    made: dict[str, None] = {}
    while len(made) < size - len(words):
        parts = [*(_ONSETS, _VOWELS, _CODAS) * (1, 2, 2, 3)[rng.integers(4)], _ENDINGS]
        word = "".join(part[rng.integers(len(part))] for part in parts)
        if word not in known:
            made[word] = None
    return [*words, *sorted(made, key=len)]


def _shared() -> Path:
    return Path(os.environ.get("FASTSCORE_SHARED") or Path(__file__).resolve().parents[1].parent / "shared")

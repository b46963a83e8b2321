"""Inputs that make a careless scorer quadratic or greedy: ns/byte beside ordinary text's, and how cost grows with size."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import pyarrow as pa

from benchmarks.answers import LONG, Shape, text_bytes, text_table
from benchmarks.lexicon import FORMS, english
from benchmarks.lines import Line, Settings
from benchmarks.measure import peak_of, timed, timed_together
from benchmarks.text_cases import RECIPE, as_batch, warmed
from fastscore.scoring import score_batch

__all__ = ["WORST", "worst"]


def _words(rng: np.random.Generator, count: int) -> str:
    ids = english().draw(rng, 1, count)[0] * FORMS
    return " ".join(english().texts.take(pa.array(ids)).to_pylist())


def _one_row(size: int) -> tuple[list[str], list[list[str]]]:
    """One generation of `size` bytes against four short references."""
    rng = np.random.default_rng(11)
    return [_words(rng, size // 5)[:size]], [[_words(rng, 3) for _ in range(4)]]


def _one_word(size: int) -> tuple[list[str], list[list[str]]]:
    """`size` copies of one word, against one copy, and against as many."""
    copies = "word " * size
    return [copies, copies], [["word"], [copies]]


def _references(size: int) -> tuple[list[str], list[list[str]]]:
    """Rows with `size` references of one word each."""
    rng = np.random.default_rng(12)
    lists = [_words(rng, size).split(" ") for _ in range(8)]
    return [references[-1] for references in lists], lists


def _long_pair(size: int) -> tuple[list[str], list[list[str]]]:
    """An answer of `size` words against a reference of `size` words."""
    rng = np.random.default_rng(13)
    return [_words(rng, size)], [[_words(rng, size)]]


#: Case: how its rows are made, and the size that counts (bytes, copies, references, words), which `--rows` replaces.
WORST: dict[str, tuple[Callable[[int], tuple[list[str], list[list[str]]]], int]] = {
    "worst-one-row": (_one_row, 50_000_000),
    "worst-one-word": (_one_word, 1_000_000),
    "worst-references": (_references, 10_000),
    "worst-long-pair": (_long_pair, 100_000),
}


def worst(case: str, settings: Settings) -> list[Line]:
    """One worst case: ns/byte, ordinary text's from the same run, and seconds over those of half the size (linear: 2)."""
    make, _ = WORST[case]
    whole, half = _table(*make(settings.rows)), _table(*make(max(1, settings.rows // 2)))
    ordinary = text_table(english(), 200 if settings.smoke else 5000, Shape(references=1, lengths=LONG))
    text = text_bytes(whole)
    warmed(as_batch(ordinary), RECIPE, (1,))
    normal = timed(lambda: score_batch(as_batch(ordinary), RECIPE, threads=1), settings.repeats).best / text_bytes(ordinary) * 1e9
    runs = {key: partial(score_batch, as_batch(table), RECIPE, threads=1) for key, table in (("whole", whole), ("half", half))}
    timings = timed_together(runs, settings.repeats, settings.budget)
    best = timings["whole"].best
    line = Line.of(
        case,
        rows=whole.num_rows,
        threads=1,
        seconds=best,
        text=text,
        peak_rss_mb=peak_of(runs["whole"]),
        more={
            "median_seconds": timings["whole"].median,
            "size": settings.rows,
            "ns_per_byte": best / text * 1e9,
            "ordinary_ns_per_byte": normal,
            "vs_ordinary": best / text * 1e9 / normal,
            "vs_half_size": best / timings["half"].best,
        },
    )
    return [line]


def _table(predictions: list[str], references: list[list[str]]) -> pa.Table:
    return pa.table({"prediction": pa.array(predictions, pa.string()), "references": pa.array(references, pa.list_(pa.string()))})

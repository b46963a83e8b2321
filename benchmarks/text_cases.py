"""The cases that score text: short and long answers, German, mixed scripts, each recipe, and the worst inputs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from benchmarks.answers import LONG, Shape, text_bytes, text_table
from benchmarks.lexicon import Lexicon, english, german, mixed_script
from benchmarks.lines import Line, Settings
from benchmarks.measure import peak_of, timed_together, yardstick
from fastscore import naive
from fastscore.recipes import RECIPES, find_recipe
from fastscore.scoring import score_batch

__all__ = ["RECIPE", "as_batch", "coqa", "measured", "recipes", "warmed"]

#: The recipe of the cases that are not about recipes.
RECIPE = "coqa-max"

#: Samples of a question repeat as real ones do: 55 % are distinct, 51 % are among 16 each for 500 questions of TriviaQA.
SAMPLED = Shape(samples=16, repeats=0.6)

SHAPES: Mapping[str, tuple[Callable[[], Lexicon], Shape]] = {
    "coqa-short": (english, SAMPLED),
    "coqa-distinct": (english, Shape()),
    "long-answers": (english, Shape(samples=16, lengths=LONG, chunk=1 << 13)),
    "long-distinct": (english, Shape(lengths=LONG, chunk=1 << 13)),
    "long-distinct-1ref": (english, Shape(references=1, lengths=LONG, chunk=1 << 13)),
    "german": (german, Shape()),
    "mixed-script": (mixed_script, Shape()),
}


def as_batch(table: pa.Table) -> pa.RecordBatch:
    """The table as one record batch."""
    return table.combine_chunks().to_batches()[0]


def warmed(batch: pa.RecordBatch, recipe: str, threads: Sequence[int]) -> None:
    """Compile, or load, every kernel that scoring this batch takes."""
    for number in {1, *threads}:
        score_batch(batch.slice(0, min(1000, batch.num_rows)), recipe, threads=number)


def measured(case: str, table: pa.Table, recipe: str, settings: Settings, more: Mapping[str, Any] | None = None) -> list[Line]:
    """Score `table` as one batch with each number of threads; the plain-Python scorer runs before and after."""
    batch, text = as_batch(table), text_bytes(table)
    warmed(batch, recipe, settings.threads)
    plain = find_recipe(recipe)
    naive_side = yardstick(table, ("prediction", "references"), lambda p, r: naive.score_one(p, r, plain), settings.naive_rows)
    naive_side.measure()
    runs = {t: partial(score_batch, batch, recipe, threads=t) for t in settings.threads}
    timings = timed_together(runs, settings.repeats, settings.budget)
    naive_side.measure()
    return [
        Line.of(
            case,
            rows=table.num_rows,
            threads=t,
            seconds=timing.best,
            text=text,
            naive=naive_side.rows_per_s,
            peak_rss_mb=peak_of(runs[t]),
            more={
                "median_seconds": timing.median,
                "repeats": timing.repeats,
                "ns_per_byte": timing.best / text * 1e9,
                **(more or {}),
            },
        )
        for t, timing in timings.items()
    ]


def coqa(case: str, settings: Settings) -> list[Line]:
    """One of the cases of `SHAPES`; German and mixed scripts come with ASCII's ns/byte from the same run."""
    lexicon, shape = SHAPES[case]
    table = text_table(lexicon(), settings.rows, shape)
    if case not in ("german", "mixed-script"):
        return measured(case, table, RECIPE, settings)
    plain = measured(case, text_table(english(), settings.rows, shape), RECIPE, settings)
    ascii_cost = {line.threads: line.more["ns_per_byte"] for line in plain}
    lines = measured(case, table, RECIPE, settings)
    return [_beside(line, "ascii_ns_per_byte", "vs_ascii", ascii_cost[line.threads]) for line in lines]


def recipes(case: str, settings: Settings) -> Iterator[Line]:
    """Every recipe of the catalogue on the text it is made for, each against the plain-Python scorer of the same recipe."""
    tables = {
        "english": text_table(english(), settings.rows, Shape(samples=16)),
        "german": text_table(german(), settings.rows, Shape(samples=16)),
        "mixed": text_table(mixed_script(), settings.rows, Shape(samples=16)),
    }
    tables["tagged"] = _tagged(tables["english"])
    for name, recipe in RECIPES.items():
        kind = "english"
        if name.startswith("germanquad") or name == "mlqa-de":
            kind = "german"
        elif name in ("mlqa-zh", "mlqa-ar", "mlqa-hi", "cjrc"):
            kind = "mixed"
        elif recipe.answer == "answer-tag":
            kind = "tagged"
        yield from measured(f"{case}/{name}", tables[kind], name, settings, {"text": kind})


def _tagged(table: pa.Table) -> pa.Table:
    """The predictions as completions with an answer tag."""
    before, after = "<think>The passage says so.</think> <answer>", "</answer>"
    completions = pc.binary_join_element_wise(before, table["prediction"], after, "")
    return table.set_column(table.schema.get_field_index("prediction"), "prediction", completions)


def _beside(line: Line, name: str, ratio: str, other: float) -> Line:
    """The line with another case's ns/byte and the ratio to it."""
    more = {**line.more, name: other, ratio: line.more["ns_per_byte"] / other}
    return replace(line, more=more)

"""The cases that are not about text batches: n-best spans, rankings, and one answer at a time."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from benchmarks.answers import Shape, text_bytes, text_table
from benchmarks.lexicon import english
from benchmarks.lines import Line, Settings
from benchmarks.measure import Yardstick, peak_of, timed_together, yardstick
from fastscore import naive
from fastscore.metrics.spans import score_spans
from fastscore.recipes import find_recipe
from fastscore.retrieval import score_ranking
from fastscore.scoring import score_one as fast

__all__ = ["MEASURES", "plain_ranking", "ranking", "ranking_table", "score_one", "spans", "spans_table"]

Ints = NDArray[np.int64]

CONTEXT = 3000
DOCUMENTS = 1_000_003
#: The retrieval measures that the plain-Python scorer and the other packages have too.
MEASURES = ("success@10", "recall@10", "mrr", "map", "ndcg@10")


def spans_table(rows: int, predicted: int = 5, references: int = 3, seed: int = 5) -> pa.Table:
    """Columns prediction_spans (`predicted` a row in rank order, 3 % of them no answer) and reference_spans."""
    rng = np.random.default_rng(seed)
    start = rng.integers(0, CONTEXT, (rows, 1))
    size = rng.integers(3, 80, (rows, 1))
    kind = rng.random((rows, references))
    gold = np.where(kind < 0.6, start + rng.integers(0, 4, kind.shape), rng.integers(0, CONTEXT, kind.shape))
    gold_end = gold + np.where(kind < 0.3, size, rng.integers(3, 80, kind.shape))
    shape = (rows, predicted)
    which = rng.integers(0, references, shape)
    relation = rng.random(shape)
    like, like_end = np.take_along_axis(gold, which, 1), np.take_along_axis(gold_end, which, 1)
    other = rng.integers(0, CONTEXT, shape)
    kinds = [relation < 0.3, relation < 0.6]
    begin = np.select(kinds, [like, like + rng.integers(0, 9, shape)], other)
    end = np.select(kinds, [like_end, begin + rng.integers(1, 60, shape)], other + rng.integers(1, 80, shape))
    score = -np.sort(-rng.random(shape), axis=1)
    none = rng.random(shape) < 0.03
    return pa.table({"prediction_spans": _spans(begin, end, score, none), "reference_spans": _spans(gold, gold_end)})


def ranking_table(rows: int, retrieved: int = 100, relevant: int = 3, seed: int = 6) -> pa.Table:
    """Columns query_id, retrieved_ids (`retrieved` a row in rank order) and relevant_ids; 60 % of them found."""
    rng = np.random.default_rng(seed)
    wanted = DOCUMENTS + _different(rng, rows, relevant)
    ranked = _different(rng, rows, retrieved)
    for k in range(relevant):
        at = (rng.random(rows) ** 3 * retrieved).astype(np.int64)
        found = rng.random(rows) < 0.6
        ranked[found, at[found]] = wanted[found, k]
    queries = pc.binary_join_element_wise("q", pc.cast(pa.array(np.arange(rows)), pa.string()), "")
    return pa.table({"query_id": queries, "retrieved_ids": _ids(ranked), "relevant_ids": _ids(wanted)})


def plain_ranking(retrieved: list[str], relevant: list[str]) -> dict[str, float]:
    """`MEASURES` of one ranking by the plain-Python scorer."""
    return {
        "success@10": naive.success_at_k(retrieved, relevant, 10),
        "recall@10": naive.recall_at_k(retrieved, relevant, 10),
        "mrr": naive.reciprocal_rank(retrieved, relevant),
        "map": naive.average_precision(retrieved, relevant),
        "ndcg@10": naive.ndcg_at_k(retrieved, relevant, 10),
    }


def spans(case: str, settings: Settings) -> list[Line]:
    """Positional metrics and top-5 accuracy of n-best lists of 5 against 3 references."""
    table = spans_table(settings.rows)
    predicted, references = table["prediction_spans"], table["reference_spans"]
    recipe = find_recipe("germanquad")
    runs = {t: partial(score_spans, predicted, references, top_n=(5,), threads=t) for t in settings.threads}
    side = yardstick(table, table.column_names, lambda p, r: naive.score_spans(p, r, recipe, (5,)), settings.naive_rows)
    return _measured(case, table, runs, side, settings)


def ranking(case: str, settings: Settings) -> list[Line]:
    """Retrieval measures of rankings of 100 ids against 3 relevant ones."""
    table = ranking_table(settings.rows)
    runs = {t: partial(score_ranking, table, measures=MEASURES, threads=t) for t in settings.threads}
    side = yardstick(table, ("retrieved_ids", "relevant_ids"), plain_ranking, settings.naive_rows)
    return _measured(case, table, runs, side, settings)


def score_one(case: str, settings: Settings) -> list[Line]:
    """One answer a call, warm: median and best-of-blocks microseconds; a different row each time."""
    recipe = find_recipe("coqa-max")
    table = text_table(english(), settings.rows, Shape())
    rows = list(zip(table["prediction"].to_pylist(), table["references"].to_pylist(), strict=True))
    for row in rows[:50]:
        fast(*row, recipe)
    side = yardstick(table, ("prediction", "references"), lambda p, r: naive.score_one(p, r, recipe), settings.naive_rows)
    side.measure()
    calls = []
    for prediction, references in rows:
        start = time.perf_counter()
        fast(prediction, references, recipe)
        calls.append(time.perf_counter() - start)
    side.measure()
    median = statistics.median(calls)
    slowest = sorted(calls)[int(len(calls) * 0.99)]
    line = Line.of(
        case,
        rows=len(calls),
        threads=1,
        seconds=median * len(calls),
        text=text_bytes(table),
        naive=side.rows_per_s,
        more={"median_us": median * 1e6, "p99_us": slowest * 1e6},
    )
    return [line]


def _measured(
    case: str, table: pa.Table, runs: Mapping[int, Callable[[], object]], side: Yardstick, settings: Settings
) -> list[Line]:
    for run in runs.values():
        run()
    side.measure()
    timings = timed_together(runs, settings.repeats, settings.budget)
    side.measure()
    return [
        Line.of(
            case,
            rows=table.num_rows,
            threads=t,
            seconds=timing.best,
            text=table.nbytes,
            naive=side.rows_per_s,
            peak_rss_mb=peak_of(runs[t]),
            more={"median_seconds": timing.median, "repeats": timing.repeats},
        )
        for t, timing in timings.items()
    ]


def _spans(start: Ints, end: Ints, score: NDArray[np.float64] | None = None, none: NDArray[np.bool_] | None = None) -> pa.Array:
    mask = None if none is None else pa.array(none.ravel())
    fields = {"start": _nullable(start, mask), "end": _nullable(end, mask)}
    if score is not None:
        fields["score"] = pa.array(score.ravel())
    return _listed(pa.StructArray.from_arrays(list(fields.values()), names=list(fields)), start.shape)


def _nullable(values: Ints, mask: pa.Array | None) -> pa.Array:
    flat = pa.array(values.ravel())
    return flat if mask is None else pc.if_else(mask, pa.scalar(None, pa.int64()), flat)


def _different(rng: np.random.Generator, rows: int, width: int) -> Ints:
    """Numbers under `DOCUMENTS`, a prime, that are all different within a row."""
    first, step = rng.integers(0, DOCUMENTS, (rows, 1)), rng.integers(1, DOCUMENTS, (rows, 1))
    return (first + step * np.arange(width)) % DOCUMENTS


def _ids(numbers: Ints) -> pa.Array:
    return _listed(pc.binary_join_element_wise("doc", pc.cast(pa.array(numbers.ravel()), pa.string()), ""), numbers.shape)


def _listed(values: pa.Array, shape: tuple[int, ...]) -> pa.Array:
    return pa.ListArray.from_arrays(pa.array(np.arange(0, shape[0] * shape[1] + 1, shape[1], dtype=np.int32)), values)

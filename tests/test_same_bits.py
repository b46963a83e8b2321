"""The same bits whatever the threads and the batches: hostile rows, cut and shared out in many ways, give the same columns."""

from __future__ import annotations

import random
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from fastscore.metrics.spans import score_spans
from fastscore.recipes import RECIPES
from fastscore.scoring import metric_names, score_batch
from fastscore.text.normalize import normalize
from fastscore.totals import Totals
from tests import fuzz_layouts as layouts
from tests import fuzz_texts as make

ROWS = 9_000
SIZES = (1, 2, 7, 8, 9, 63, 64, 65, 4_096)
NAMES = ("coqa", "squad_v2", "lm-eval-coqa", "mlqa-zh", "quac", "search-r1-sub-em", "germanquad")


@cache
def rows(name: str) -> pa.RecordBatch:
    """Rows of hostile texts among which predictions and lists repeat, with spans."""
    rng = random.Random(NAMES.index(name))
    made: list[dict[str, Any]] = []
    while len(made) < ROWS:
        made += make.any_rows(rng, RECIPES[name])
    made = made[:ROWS]
    return pa.RecordBatch.from_pydict(
        {
            "prediction": pa.array([row["prediction"] for row in made], pa.string()),
            "references": pa.array([row["references"] for row in made], pa.list_(pa.string())),
            "prediction_spans": layouts.span_array(rng, [make.spans(rng) for _ in made]),
            "reference_spans": layouts.span_array(rng, [make.spans(rng) for _ in made]),
            "color": [("red", "blue", None)[i % 3] for i in range(ROWS)],
        }
    )


def bits(batch: pa.RecordBatch) -> list[list[Any]]:
    """Every column as integers: the bits of a float, the code of a status."""
    columns = []
    for column in batch.columns:
        if pa.types.is_float64(column.type):
            columns.append([None if v is None else int(np.float64(v).view(np.int64)) for v in column.to_pylist()])
        else:
            columns.append(column.to_pylist())
    return columns


def summary(batches: list[pa.RecordBatch]) -> str:
    totals = Totals(metric_names(batches[0].schema), ("color",))
    for batch in batches:
        totals.add(batch)
    return repr(totals.summary("r", "s"))


@cache
def whole(name: str) -> tuple[list[list[Any]], str]:
    result = score_batch(rows(name), name, keep=["color"])
    return bits(result), summary([result])


@pytest.mark.parametrize("name", NAMES)
def test_threads_against_one(name: str) -> None:
    for threads in range(1, 9):
        result = score_batch(rows(name), name, keep=["color"], threads=threads)
        assert (bits(result), summary([result])) == whole(name), threads


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", ["coqa", "squad_v2", "germanquad"])
def test_batch_sizes_against_all(name: str, size: int) -> None:
    batch = rows(name)
    some = min(ROWS, 120 * size)  # small batches of the first rows, the larger ones of all
    parts = [score_batch(batch.slice(at, size), name, keep=["color"]) for at in range(0, some - some % size, size)]
    joined = pa.Table.from_batches(parts).combine_chunks().to_batches()[0]
    columns, total = whole(name)
    assert bits(joined) == [column[: joined.num_rows] for column in columns]
    assert summary(parts) == summary([score_batch(batch.slice(0, joined.num_rows), name, keep=["color"])])
    if joined.num_rows == ROWS:
        assert summary(parts) == total


@pytest.mark.parametrize("threads", range(1, 9))
def test_span_threads_against_one(threads: int) -> None:
    batch = rows("germanquad")
    many = [pa.concat_arrays([batch.column(name)] * 8) for name in ("prediction_spans", "reference_spans")]
    once = score_spans(*[column.slice(0, ROWS) for column in many], top_n=[3])
    got = score_spans(*many, top_n=[3], threads=threads)
    for name, values in got.items():
        assert np.array_equal(values.view(np.int64), np.tile(once[name], 8).view(np.int64)), name


def test_normal_forms_row_by_row_against_all() -> None:
    column = rows("mlqa-zh").column("prediction").slice(0, 500)
    for name in ("coqa", "mlqa-zh", "mlqa-ar", "cjrc"):
        at_once = normalize(column, name).to_pylist()
        assert [normalize(column.slice(i, 1), name)[0].as_py() for i in range(len(column))] == at_once

"""`--check`: random rows scored again by the reference implementation, and any difference said aloud."""

from __future__ import annotations

import random

import pyarrow as pa

from fastscore import naive
from fastscore.errors import CheckError, UsageError
from fastscore.recipes import Recipe
from fastscore.schema import Status

__all__ = ["check_rows"]

_INPUTS = ("prediction", "references", "prediction_spans", "reference_spans")
#: What is known of an item before it is scored.
_KNOWN_BEFORE = {Status.MISSING_PREDICTION.label, Status.UNMATCHED_PREDICTION.label}


def check_rows(table: pa.Table, items: pa.Table, recipe: Recipe, count: int, seed: int = 0) -> int:
    """Score `count` random rows of aligned items with `naive` and compare to the bit; how many were compared.

    Raises
    ------
    CheckError
        A row differs; names the row, its key and both scores.
    UsageError
        `count` is negative.
    """
    if count < 0:
        raise UsageError(f"check: a number of rows from 0 on is allowed, got {count}")
    rows = sorted(random.Random(seed).sample(range(items.num_rows), min(count, items.num_rows)))
    picked = pa.array(rows, pa.int64())
    given = table.select([c for c in _INPUTS if c in table.column_names]).take(picked).to_pylist()
    scored = items.take(picked)
    labels = scored.column("status").cast(pa.string()).to_pylist()
    for item, label in zip(given, labels, strict=True):
        item["references"] = [item["references"]] if isinstance(item["references"], str) else item["references"]
        item["status"] = label if label in _KNOWN_BEFORE else "ok"
    top_n = [int(name[4:]) for name in items.column_names if name.startswith("top_") and name[4:].isdigit()]
    expected = naive.score_rows(given, recipe, top_n)
    for row, score, right in zip(rows, scored.to_pylist(), expected, strict=True):
        wrong = [m for m, value in right.items() if m in score and score[m] != value]
        if wrong:
            key = {k: score[k] for k in ("question_id", "turn_id", "sample_id") if k in score}
            said = ", ".join(f"{m} is {score[m]!r}, the reference implementation gives {right[m]!r}" for m in wrong)
            raise CheckError(f"row {row} {key or ''}: {said}")
    return len(rows)

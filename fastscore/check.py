"""`--check`: random rows scored again by the reference implementation, and any difference said aloud."""

from __future__ import annotations

import random

import pyarrow as pa

from fastscore import naive
from fastscore.errors import CheckError
from fastscore.recipes import Recipe
from fastscore.schema import WORD_METRICS, Status

__all__ = ["check_rows"]


def check_rows(table: pa.Table, items: pa.Table, recipe: Recipe, count: int, seed: int = 0) -> int:
    """Score `count` random rows of aligned items with `naive` and compare to the bit; how many were compared.

    Raises
    ------
    CheckError
        A row differs; names the row, its key and both scores.
    """
    rows = sorted(random.Random(seed).sample(range(items.num_rows), min(count, items.num_rows)))
    columns = [c for c in ("prediction", "references") if c in table.column_names]
    given = table.select(columns).take(pa.array(rows, pa.int64())).to_pylist()
    scored = items.take(pa.array(rows, pa.int64()))
    labels = scored.column("status").cast(pa.string()).to_pylist()
    known = {Status.MISSING_PREDICTION.label, Status.UNMATCHED_PREDICTION.label}
    for row, item, score, label in zip(rows, given, scored.to_pylist(), labels, strict=True):
        references = item["references"]
        references = [references] if isinstance(references, str) else references
        status = label if label in known else "ok"
        expected = naive.score_one(item["prediction"], references, recipe, status=status)
        wrong = [m for m in (*WORD_METRICS, "status") if score[m] != expected[m]]
        if wrong:
            key = {k: score[k] for k in ("question_id", "turn_id", "sample_id") if k in score}
            said = ", ".join(f"{m} is {score[m]!r}, the reference implementation gives {expected[m]!r}" for m in wrong)
            raise CheckError(f"row {row} {key or ''}: {said}")
    return len(rows)

"""One side of the case `stage` in a process of its own: ``python -m benchmarks.stage_worker fastscore|polars FILE THREADS``."""

from __future__ import annotations

import importlib
import json
import sys
import time
from pathlib import Path
from typing import Any

import polars as pl

from benchmarks.measure import peak_of
from benchmarks.stage import RECIPE

__all__ = ["main"]

COLUMNS = ("question_id", "prediction", "references")


def main(which: str, source: Path, threads: int) -> None:
    """Run once on the first rows to be warm, then on the file; print seconds and peak memory as JSON."""
    run = {"fastscore": _fastscore, "polars": _polars}[which]
    warm = source.with_name(f"warm-{which}.parquet")
    pl.scan_parquet(source).head(1000).sink_parquet(warm)
    run(warm, threads)
    seconds = 0.0

    def once() -> None:
        nonlocal seconds
        start = time.perf_counter()
        run(source, threads)
        seconds = time.perf_counter() - start

    peak = peak_of(once)
    print(json.dumps({"seconds": seconds, "peak_rss_mb": peak}))


def _fastscore(source: Path, threads: int) -> None:
    target = source.with_name("items.parquet")
    target.unlink(missing_ok=True)
    fastscore: Any = importlib.import_module("fastscore")
    fastscore.score_files(source, target, recipe=RECIPE, threads=threads)


def _polars(source: Path, threads: int) -> None:
    pl.scan_parquet(source).select(COLUMNS).sink_parquet(source.with_name("sunk.parquet"))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]))

"""The case `stage`: a parquet file in, a parquet file with item scores out, beside polars scanning and sinking the same columns.

Each side runs in a process of its own (`stage_worker`), in turn; both are warm and the input is in the page cache.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from benchmarks.answers import Shape, chunks, text_bytes
from benchmarks.lexicon import english
from benchmarks.lines import Line, Settings
from benchmarks.measure import Yardstick, yardstick
from fastscore import naive
from fastscore.recipes import find_recipe

__all__ = ["RECIPE", "stage", "write_input"]

RECIPE = "coqa-max"
ROOT = Path(__file__).resolve().parents[1]


def write_input(path: Path, rows: int, naive_rows: int = 4000) -> tuple[int, Yardstick]:
    """Write `rows` rows of sampled answers as parquet, in constant memory; return the bytes of text and a yardstick on them."""
    recipe = find_recipe(RECIPE)
    text, writer, side = 0, None, None
    for table in chunks(english(), rows, Shape(samples=16)):
        writer = writer or pq.ParquetWriter(path, table.schema, compression="zstd")
        writer.write_table(table)
        text += text_bytes(table)
        side = side or yardstick(table, ("prediction", "references"), lambda p, r: naive.score_one(p, r, recipe), naive_rows)
    assert writer is not None
    assert side is not None
    writer.close()
    return text, side


def stage(case: str, settings: Settings) -> list[Line]:
    """Seconds and peak memory of `score_files` on one file, and the ratio to polars' scan and sink, by number of threads."""
    import fastscore

    if not hasattr(fastscore, "score_files"):
        return [Line(case, skipped="this version has no score_files")]
    lines = []
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "input.parquet"
        text, side = write_input(source, settings.rows, settings.naive_rows)
        side.measure()
        found: dict[tuple[str, int], list[dict[str, Any]]] = {}
        for _ in range(1 if settings.smoke else 3):
            for threads in settings.threads:
                for which in ("fastscore", "polars"):
                    found.setdefault((which, threads), []).append(_worker(which, source, threads))
        side.measure()
        for threads in settings.threads:
            ours, theirs = found["fastscore", threads], found["polars", threads]
            best, polars = (min(r["seconds"] for r in results) for results in (ours, theirs))
            lines.append(
                Line.of(
                    case,
                    rows=settings.rows,
                    threads=threads,
                    seconds=best,
                    text=text,
                    naive=side.rows_per_s,
                    peak_rss_mb=max(r["peak_rss_mb"] for r in ours),
                    more={
                        "median_seconds": statistics.median(r["seconds"] for r in ours),
                        "polars_seconds": polars,
                        "vs_polars": best / polars,
                        "polars_peak_rss_mb": max(r["peak_rss_mb"] for r in theirs),
                        "file_mb": source.stat().st_size / 1e6,
                    },
                )
            )
    return lines


def _worker(which: str, source: Path, threads: int) -> dict[str, Any]:
    command = [sys.executable, "-m", "benchmarks.stage_worker", which, str(source), str(threads)]
    environment = {**os.environ, "POLARS_MAX_THREADS": str(threads)}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{which} failed on {source.name}: {done.stderr.strip()[-2000:]}")
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result

"""``python -m benchmarks.ray_workers``: Ray's start apart from its steady rows/s, with one worker and with two.

Parquet shards are made in a temporary folder; the same shards are scored a few at a time and all together, so that the difference
of the two runs is scoring without the start of actors. With the cores of one machine shared by readers, workers and driver, the
ratio says more than the rates.
"""

from __future__ import annotations

import argparse
import logging
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from benchmarks.answers import LONG, SHORT, Shape, chunks
from benchmarks.lexicon import english
from benchmarks.lines import cores
from benchmarks.text_cases import RECIPE

__all__ = ["main", "steady", "write_shards"]


def write_shards(folder: Path, *, files: int, rows: int, few: int, long: bool = False) -> int:
    """Write `files` parquet files of `rows` rows each into ``all``, and the first `few` of them into ``few``; their bytes."""
    shape = Shape(samples=1, chunk=rows, lengths=LONG if long else SHORT)
    size = 0
    for name in ("all", "few"):
        (folder / name).mkdir()
    for number in range(files):
        (table,) = chunks(english(), rows, shape, seed=number)
        path = folder / "all" / f"{number:04}.parquet"
        pq.write_table(table, path, compression="zstd", row_group_size=1 << 16)
        size += path.stat().st_size
        if number < few:
            os.link(path, folder / "few" / path.name)
    return size


def steady(few: float, all_of_them: float, rows: int) -> float:
    """Rows/s of the `rows` rows that the longer run has more; the start, which both runs have, cancels out.

    Raises RuntimeError where the longer run took no longer: too few rows beside the start's own noise.
    """
    if all_of_them <= few:
        raise RuntimeError(f"{rows:,} rows more took no longer ({few:.1f} s, {all_of_them:.1f} s): take more --files or --rows")
    return rows / (all_of_them - few)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print a line for each number of workers; the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.ray_workers", description=__doc__)
    parser.add_argument("--files", type=int, default=24, metavar="N", help="shards (default: 24)")
    parser.add_argument("--rows", type=int, default=1_000_000, metavar="N", help="rows of a shard (default: 1,000,000)")
    parser.add_argument("--long", action="store_true", help="answers of 80 words instead of 3")
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2], metavar="N")
    parser.add_argument("--repeats", type=int, default=2, metavar="N", help="runs of which the best counts (default: 2)")
    options = parser.parse_args(arguments)
    few = max(options.workers)
    if options.rows < 1 or min(options.workers) < 1 or options.repeats < 1 or options.files <= few:
        parser.error("--rows, --workers, --repeats: from 1 on; --files: more than there are workers")
    with tempfile.TemporaryDirectory() as folder:
        size = write_shards(Path(folder), files=options.files, rows=options.rows, few=few, long=options.long)
        print(
            f"{options.files} shards of {options.rows:,} rows, {size / 1e6:,.0f} MB of parquet; {cores()} cores for all processes"
        )
        rates = []
        for workers in options.workers:
            first, small, whole = _measured(Path(folder), workers, options.repeats)
            rates.append(steady(small, whole, (options.files - few) * options.rows))
            start = small - few * options.rows / rates[-1]
            print(
                f"{workers} workers: cluster {first:.1f} s, start of a run {start:.1f} s, all shards {whole:.1f} s, "
                f"steady {rates[-1]:,.0f} rows/s, {rates[-1] / rates[0]:.2f} x {options.workers[0]} worker",
                flush=True,
            )
    return 0


def _measured(folder: Path, workers: int, repeats: int) -> tuple[float, float, float]:
    """Seconds to start a cluster of this machine, to score the few shards, and to score all of them: the best of `repeats`."""
    import ray

    from fastscore.engines.ray import score

    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    began = time.perf_counter()
    ray.init(address="local", num_cpus=workers + 1, include_dashboard=False, log_to_driver=False, logging_level=logging.ERROR)
    first = time.perf_counter() - began
    logging.getLogger("ray.data").setLevel(logging.ERROR)
    context: Any = ray.data.DataContext.get_current()
    context.enable_progress_bars = False
    seconds: dict[str, list[float]] = {"few": [], "all": []}
    try:
        with tempfile.TemporaryDirectory() as output:  # the first run of a cluster starts processes that later ones find
            score(folder / "few", RECIPE, workers=workers, output=str(Path(output) / "out"))
        for turn in range(repeats):
            for name, taken in seconds.items():
                with tempfile.TemporaryDirectory() as output:
                    began = time.perf_counter()
                    score(folder / name, RECIPE, workers=workers, output=str(Path(output) / f"out-{turn}"))
                    taken.append(time.perf_counter() - began)
    finally:
        ray.shutdown()
    return first, min(seconds["few"]), min(seconds["all"])


if __name__ == "__main__":
    sys.exit(main())

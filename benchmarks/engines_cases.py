"""The case of the engines: each scores the same rows, beside `score_batch` in a loop over batches of 65,536 of them.

An engine that is not installed gives no line. `vs_loop` is an engine's rows/s over the loop's with as many threads. Ray's seconds
hold the start of its actors; `start_seconds` beside them are those of a run over single rows, which is nothing else.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import polars as pl
import pyarrow as pa

import fastscore.engines.polars  # noqa: F401  (registers the namespace)
from benchmarks.answers import Shape, chunks, text_bytes
from benchmarks.lexicon import english
from benchmarks.lines import Line, Settings
from benchmarks.measure import Timing, timed_together, yardstick
from benchmarks.text_cases import RECIPE
from fastscore import naive
from fastscore.engines.iterators import map_batches
from fastscore.recipes import find_recipe
from fastscore.scoring import score_batch

__all__ = ["BATCH", "VECTOR", "engines", "loop"]

#: Rows of a batch of the loop, and of a vector of DuckDB.
BATCH, VECTOR = 1 << 16, 2_048
Run = Callable[[], object]


def loop(batches: Sequence[pa.RecordBatch], threads: int) -> int:
    """Call `score_batch` on each batch; the rows scored."""
    return sum(score_batch(batch, RECIPE, threads=threads).num_rows for batch in batches)


def _batches(rows: int, size: int) -> list[pa.RecordBatch]:
    """The same rows in batches of `size`, each in memory of its own, as a reader gives them."""
    made = chunks(english(), rows, Shape(samples=16, chunk=BATCH))
    whole = [table.combine_chunks().to_batches()[0] for table in made]
    parts = [batch.slice(start, size) for batch in whole for start in range(0, batch.num_rows, size)]
    return whole if size == BATCH else [part.take(pa.array(range(part.num_rows))) for part in parts]


def engines(case: str, settings: Settings) -> Iterator[Line]:
    """The loop, then each engine that is installed, with each number of threads that it can be told to use."""
    batches = _batches(settings.rows, BATCH)
    table = pa.Table.from_batches(batches)
    text, rows = text_bytes(table), table.num_rows
    plain = find_recipe(RECIPE)
    side = yardstick(table, ("prediction", "references"), lambda p, r: naive.score_one(p, r, plain), settings.naive_rows)
    side.measure()
    runs: dict[tuple[str, int], Run] = {}
    for threads in settings.threads:
        runs["", threads] = partial(loop, batches, threads)
        runs.update({(name, threads): run for name, run in _runs(table, threads).items()})
    frame = pl.DataFrame(pl.from_arrow(table))
    runs["polars", pl.thread_pool_size()] = partial(_polars, frame, "in-memory")
    runs["polars-streaming", pl.thread_pool_size()] = partial(_polars, frame, "streaming")
    runs["loop-2048", 1] = partial(loop, _batches(rows, VECTOR), 1)
    for run in runs.values():
        run()
    timings = timed_together(runs, settings.repeats, 2 * settings.budget)
    side.measure()
    loops = {threads: timing.best for (name, threads), timing in timings.items() if not name}
    vectors = -(-rows // VECTOR)
    for (name, threads), timing in timings.items():
        more: dict[str, Any] = {"median_seconds": timing.median, "repeats": timing.repeats}
        if name and threads in loops:
            more["vs_loop"] = loops[threads] / timing.best
        if name == "duckdb" and threads == 1:
            more["us_a_vector"] = timing.best / vectors * 1e6
            more["us_a_vector_of_the_loop"] = timings["loop-2048", 1].best / vectors * 1e6
        yield _line(case, name, rows, threads, timing, text, side.rows_per_s, more)
    if importlib.util.find_spec("ray") and not settings.smoke:
        yield from _ray(case, table, settings.threads, loops, text, side.rows_per_s)


def _line(
    case: str, name: str, rows: int, threads: int, timing: Timing, text: int, naive_rate: float, more: dict[str, Any]
) -> Line:
    full = f"{case}/{name}" if name else case
    return Line.of(full, rows=rows, threads=threads, seconds=timing.best, text=text, naive=naive_rate, more=more)


def _runs(table: pa.Table, threads: int) -> dict[str, Run]:
    """The engines that can be told how many threads to use."""
    found: dict[str, Run] = {"iterator": partial(_iterator, table, threads)}
    if importlib.util.find_spec("duckdb"):
        found["duckdb"] = _duckdb(table, threads)
    if importlib.util.find_spec("datasets"):
        found["datasets"] = _datasets(table, threads)
    if importlib.util.find_spec("pandas"):
        found["pandas"] = _pandas(table, threads)
    return found


def _iterator(table: pa.Table, threads: int) -> int:
    return sum(batch.num_rows for batch in map_batches(table.to_batches(), RECIPE, threads=threads))


def _polars(frame: pl.DataFrame, engine: Any) -> pl.DataFrame:
    expression: Any = pl.col("prediction")
    return frame.lazy().select(expression.fastscore.score("references", recipe=RECIPE)).collect(engine=engine)


def _duckdb(table: pa.Table, threads: int) -> Run:
    import duckdb

    from fastscore.engines.duckdb import register

    con = duckdb.connect()
    con.execute(f"SET threads = {threads}")
    register(con)
    con.register("items", table)
    con.execute("CREATE TABLE answers AS SELECT * FROM items")
    query = f"SELECT avg(fs_f1(prediction, \"references\", '{RECIPE}')) FROM answers"
    return lambda: con.execute(query).fetchone()


def _datasets(table: pa.Table, threads: int) -> Run:
    import datasets

    from fastscore.engines.datasets import Scorer

    datasets.disable_progress_bars()
    dataset = datasets.Dataset(table).select_columns(["prediction", "references"]).with_format("arrow")
    scorer = Scorer(RECIPE, threads=threads)
    options = {"batched": True, "batch_size": BATCH, "load_from_cache_file": False, "keep_in_memory": True}
    return lambda: dataset.map(scorer, **options, remove_columns=["prediction", "references"])


def _pandas(table: pa.Table, threads: int) -> Run:
    from fastscore.engines.pandas import score_frame

    frame = table.select(["prediction", "references"]).to_pandas()
    return lambda: score_frame(frame, RECIPE, threads=threads)


def _ray(
    case: str, table: pa.Table, threads: tuple[int, ...], loops: dict[int, float], text: int, naive_rate: float
) -> Iterator[Line]:
    """Ray on this machine with each number of workers, from blocks in the object store to the summary."""
    import logging

    import ray

    from fastscore.engines.ray import score

    for workers in threads:
        ray.init(num_cpus=workers + 1, include_dashboard=False, log_to_driver=False, logging_level=logging.ERROR)
        logging.getLogger("ray.data").setLevel(logging.ERROR)
        ray.data.DataContext.get_current().enable_progress_bars = False
        try:
            runs = {
                name: partial(score, ray.data.from_arrow(blocks), RECIPE, workers=workers)
                for name, blocks in {
                    "start": [table.slice(0, 1)] * workers,
                    "run": [pa.Table.from_batches([batch]) for batch in table.to_batches()],
                }.items()
            }
            timings = timed_together(runs, 3)
        finally:
            ray.shutdown()
        more = {"start_seconds": timings["start"].best, "vs_loop": loops[workers] / timings["run"].best}
        yield _line(case, "ray", table.num_rows, workers, timings["run"], text, naive_rate, more)

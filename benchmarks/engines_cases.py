"""The case of the engines: each scores the same rows, beside `score_batch` in a loop over batches of 65,536 of them.

An engine that is not installed gives no line. `vs_loop` is an engine's rows/s over the loop's with as many threads,
`floor_vs_loop` the same for what the engine takes by itself: its run with a function that gives scores made before. Ray is
measured by `ray_workers`.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import polars as pl
import pyarrow as pa

import fastscore.engines.polars  # noqa: F401  (registers the namespace)
from benchmarks.answers import Shape, chunks, text_bytes
from benchmarks.lexicon import english
from benchmarks.lines import Line, Settings
from benchmarks.measure import timed_together, yardstick
from benchmarks.text_cases import RECIPE
from fastscore import naive
from fastscore.engines.iterators import bind, map_batches
from fastscore.recipes import find_recipe
from fastscore.scoring import score_batch

__all__ = ["BATCH", "VECTOR", "Engine", "engines", "loop"]

#: Rows of a batch of the loop, and of a vector of DuckDB.
BATCH, VECTOR = 1 << 16, 2_048
Run = Callable[[], object]


@dataclass(frozen=True)
class Engine:
    """A run of an engine, and the same run with nothing to do; None where the engine adds nothing of its own."""

    run: Run
    floor: Run | None = None


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
    found: dict[tuple[str, int], Engine] = {}
    for threads in settings.threads:
        found["", threads] = Engine(partial(loop, batches, threads))
        found.update({(name, threads): engine for name, engine in _engines(table, threads).items()})
    frame = pl.DataFrame(pl.from_arrow(table))
    found["polars", pl.thread_pool_size()] = _polars(frame, "in-memory")
    found["polars-streaming", pl.thread_pool_size()] = _polars(frame, "streaming")
    found["loop-2048", 1] = Engine(partial(loop, _batches(rows, VECTOR), 1))
    runs: dict[tuple[str, int, str], Run] = {(*key, "run"): engine.run for key, engine in found.items()}
    runs.update({(*key, "floor"): engine.floor for key, engine in found.items() if engine.floor is not None})
    for run in runs.values():
        run()
    timings = timed_together(runs, settings.repeats, 3 * settings.budget)
    side.measure()
    loops = {threads: timing.best for (name, threads, kind), timing in timings.items() if not name}
    vectors = -(-rows // VECTOR)
    for name, threads in found:
        timing, floor = timings[name, threads, "run"], timings.get((name, threads, "floor"))
        more: dict[str, Any] = {"median_seconds": timing.median, "repeats": timing.repeats}
        if name and threads in loops:
            more["vs_loop"] = loops[threads] / timing.best
        if floor is not None:
            more["floor_seconds"] = floor.best
        if floor is not None and threads in loops:
            more["floor_vs_loop"] = loops[threads] / floor.best
        if name == "duckdb" and threads == 1:
            more["us_a_vector"] = timing.best / vectors * 1e6
            more["us_a_vector_of_the_loop"] = timings["loop-2048", 1, "run"].best / vectors * 1e6
        full = f"{case}/{name}" if name else case
        yield Line.of(full, rows=rows, threads=threads, seconds=timing.best, text=text, naive=side.rows_per_s, more=more)


def _engines(table: pa.Table, threads: int) -> dict[str, Engine]:
    """The engines that can be told how many threads to use."""
    found = {"iterator": Engine(partial(_iterator, table, threads))}
    if importlib.util.find_spec("duckdb"):
        found["duckdb"] = _duckdb(table, threads)
    if importlib.util.find_spec("datasets"):
        found["datasets"] = _datasets(table, threads)
    if importlib.util.find_spec("pandas"):
        found["pandas"] = _pandas(table, threads, arrow=True)
        found["pandas-objects"] = _pandas(table, threads, arrow=False)
    return found


def _iterator(table: pa.Table, threads: int) -> int:
    return sum(batch.num_rows for batch in map_batches(table.to_batches(), RECIPE, threads=threads))


def _polars(frame: pl.DataFrame, engine: Any) -> Engine:
    expression: Any = pl.col("prediction")
    score = expression.fastscore.score("references", recipe=RECIPE)
    made = frame.select(score).to_series()
    given = pl.map_batches(
        ["prediction", "references"], lambda pair: made.head(len(pair[0])), return_dtype=made.dtype, is_elementwise=True
    )
    return Engine(
        lambda: frame.lazy().select(score).collect(engine=engine), lambda: frame.lazy().select(given).collect(engine=engine)
    )


def _duckdb(table: pa.Table, threads: int) -> Engine:
    import duckdb

    from fastscore.engines.duckdb import register

    con: Any = duckdb.connect()
    con.execute(f"SET threads = {threads}")
    register(con)
    made = pa.array([0.5] * VECTOR)
    kinds = ["VARCHAR", "VARCHAR[]", "VARCHAR"]
    con.create_function("given", lambda p, r, _: made.slice(0, len(p)), kinds, "DOUBLE", type="arrow", null_handling="special")
    con.register("items", table)
    con.execute("CREATE TABLE answers AS SELECT * FROM items")
    query = f"SELECT avg({{}}(prediction, \"references\", '{RECIPE}')) FROM answers"
    return Engine(
        lambda: con.execute(query.format("fs_f1")).fetchone(), lambda: con.cursor().execute(query.format("given")).fetchone()
    )


def _datasets(table: pa.Table, threads: int) -> Engine:
    import datasets

    from fastscore.engines.datasets import Scorer

    datasets.disable_progress_bars()
    table = table.select(["prediction", "references"])
    dataset = datasets.Dataset(table).with_format("arrow")
    scorer = Scorer(RECIPE, threads=threads)
    made = scorer(table.slice(0, BATCH)).drop_columns(table.column_names)
    options: dict[str, Any] = {"batched": True, "batch_size": BATCH, "writer_batch_size": BATCH, "keep_in_memory": True}
    options |= {"load_from_cache_file": False, "remove_columns": table.column_names}
    return Engine(lambda: dataset.map(scorer, **options), lambda: dataset.map(lambda t: made.slice(0, t.num_rows), **options))


def _pandas(table: pa.Table, threads: int, arrow: bool) -> Engine:
    """Columns in Arrow's own types, or as pandas has them by default: lists are Python objects, each made into Arrow anew."""
    import pandas

    from fastscore.engines.pandas import score_frame

    columns = ["prediction", "references"]
    frame = table.select(columns).to_pandas(types_mapper=pandas.ArrowDtype if arrow else None)
    items = bind(RECIPE).table(table)

    def floor() -> object:
        return [pa.array(frame[name], from_pandas=True) for name in columns], items.to_pandas()

    return Engine(lambda: score_frame(frame, RECIPE, threads=threads), floor)

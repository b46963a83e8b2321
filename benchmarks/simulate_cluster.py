"""``python -m benchmarks.simulate_cluster``: how scoring would scale to 1,000 workers, simulated with times measured here.

Measured on this machine: seconds to decode, score and encode a batch, bytes of a row in parquet and of its scores, and seconds to
merge a block's totals on the driver. Assumed, and printed: the object store's bandwidth, stragglers, how often a worker fails.
"""

from __future__ import annotations

import argparse
import heapq
import io
import math
import random
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.answers import Shape, chunks
from benchmarks.lexicon import english
from benchmarks.text_cases import RECIPE
from fastscore.scoring import score_batch
from fastscore.totals import Totals

__all__ = ["Cluster", "Measured", "Outcome", "main", "measure", "simulate"]

BATCH = 1 << 16


@dataclass(frozen=True)
class Measured:
    """What was measured: per batch of 65,536 rows the seconds of each try, bytes a row, seconds a merge on the driver."""

    seconds: tuple[float, ...]
    bytes_in: float
    bytes_out: float
    merge: float


@dataclass(frozen=True)
class Cluster:
    """What is assumed of the cluster: seconds, bytes a second, shares.

    A worker reads and writes at `worker_store`, all together at `store`; a block waits `latency` for its first byte. A worker's
    speed varies by `spread` (log-normal); the share `slow` of blocks takes `slow_factor` times as long; a worker fails once in
    `lifetime` seconds on average, its block starts anew, and its place is taken after `restart`.
    """

    worker_store: float = 80e6
    store: float = 25e9
    latency: float = 0.08
    spread: float = 0.1
    slow: float = 0.01
    slow_factor: float = 4.0
    lifetime: float = 6 * 3600.0
    restart: float = 20.0


@dataclass(frozen=True)
class Outcome:
    """What a simulated run gave: seconds, how many blocks were counted and had to start anew, and what it waited for."""

    workers: int
    seconds: float
    blocks: int
    retries: int
    store_share: float
    driver_seconds: float


def measure(tries: int = 24, batches: int = 3) -> Measured:
    """Decode, score and encode batches of short answers with 4 references, one thread, `tries` times."""
    made = chunks(english(), batches * BATCH, Shape(samples=16, chunk=BATCH))
    files, bytes_in, bytes_out, seconds = [], 0, 0, []
    for table in made:
        sink = io.BytesIO()
        pq.write_table(table, sink, compression="zstd")
        files.append(sink.getvalue())
        bytes_in += len(files[-1])
    _stage(files[0])
    for number in range(tries):
        began = time.perf_counter()
        written = _stage(files[number % batches])
        seconds.append(time.perf_counter() - began)
        bytes_out += written
    items = score_batch(pq.read_table(io.BytesIO(files[0])).combine_chunks().to_batches()[0], RECIPE)
    merge = _merge_seconds(items)
    return Measured(tuple(seconds), bytes_in / batches / BATCH, bytes_out / tries / BATCH, merge)


def _stage(file: bytes) -> int:
    """One batch from parquet to parquet, with its totals; bytes written."""
    table = pq.read_table(io.BytesIO(file), use_threads=False)
    items = score_batch(table.combine_chunks().to_batches()[0], RECIPE, threads=1)
    Totals(("exact_match", "f1", "precision", "recall")).add(items)
    sink = io.BytesIO()
    pq.write_table(pa.Table.from_batches([items]), sink, compression="zstd")
    return sink.tell()


def _merge_seconds(items: pa.RecordBatch) -> float:
    """Seconds that the driver takes for one block's record: read back and merged."""
    part = Totals(("exact_match", "f1", "precision", "recall"))
    part.add(items)
    state, whole = part.to_dict(), Totals(part.metrics)
    began = time.perf_counter()
    for _ in range(200):
        whole.merge(Totals.from_dict(state))
    return (time.perf_counter() - began) / 200


def simulate(
    measured: Measured, cluster: Cluster, *, workers: int, rows: int, block_rows: int = 16 * BATCH, seed: int = 1
) -> Outcome:
    """Give blocks to whichever worker is free next, until each has been finished by one, and count each once.

    Raises RuntimeError where a block was counted twice or not at all.
    """
    rng = random.Random(seed)
    blocks = -(-rows // block_rows)
    moved = block_rows * (measured.bytes_in + measured.bytes_out)
    bandwidth = min(cluster.worker_store, cluster.store / min(workers, blocks))
    store_seconds = cluster.latency + moved / bandwidth
    parts = max(1, block_rows // BATCH)
    speed = [rng.lognormvariate(0.0, cluster.spread) for _ in range(workers)]
    free = [(0.0, worker) for worker in range(workers)]
    waiting = list(range(blocks - 1, -1, -1))
    finished: dict[int, float] = {}
    retries, stored, busy = 0, 0.0, 0.0
    while waiting:
        block = waiting.pop()
        start, worker = heapq.heappop(free)
        scoring = sum(rng.choices(measured.seconds, k=parts)) * block_rows / (parts * BATCH)
        spent = (scoring + store_seconds) * speed[worker] * (cluster.slow_factor if rng.random() < cluster.slow else 1.0)
        fails = rng.expovariate(1 / cluster.lifetime)
        if fails < spent:
            retries += 1
            waiting.append(block)
            heapq.heappush(free, (start + fails + cluster.restart, worker))
            continue
        if block in finished:
            raise RuntimeError(f"block {block} was counted twice")
        finished[block] = start + spent
        stored += store_seconds * speed[worker]
        busy += spent
        heapq.heappush(free, (start + spent, worker))
    if len(finished) != blocks:
        raise RuntimeError(f"{blocks - len(finished)} blocks were not counted")
    driver = blocks * measured.merge
    return Outcome(workers, max(max(finished.values()), driver), blocks, retries, stored / busy, driver)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, simulate and print a table; the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.simulate_cluster", description=__doc__)
    parser.add_argument("--rows", type=float, default=1e10, metavar="N", help="rows to score (default: 1e10)")
    parser.add_argument("--block-rows", type=int, default=16 * BATCH, metavar="N", help="rows of a block (default: 1,048,576)")
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 10, 100, 200, 400, 1000], metavar="N")
    parser.add_argument("--store-gb-s", type=float, default=Cluster.store / 1e9, metavar="X", help="of the whole object store")
    parser.add_argument("--worker-mb-s", type=float, default=Cluster.worker_store / 1e6, metavar="X", help="of one worker")
    parser.add_argument("--lifetime", type=float, default=Cluster.lifetime, metavar="S", help="seconds a worker lasts on average")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(arguments)
    if (
        options.rows < 1
        or options.block_rows < 1
        or min(options.workers) < 1
        or min(options.store_gb_s, options.worker_mb_s) <= 0
    ):
        parser.error("--rows, --block-rows, --workers and the rest: numbers above 0 are allowed")
    measured = measure()
    cluster = Cluster(worker_store=options.worker_mb_s * 1e6, store=options.store_gb_s * 1e9, lifetime=options.lifetime)
    rows = int(options.rows)
    middle = sorted(measured.seconds)[len(measured.seconds) // 2]
    print(
        f"measured: {middle * 1e3:.1f} ms a batch of {BATCH:,} rows from parquet to parquet "
        f"({min(measured.seconds) * 1e3:.1f} to {max(measured.seconds) * 1e3:.1f}), "
        f"{measured.bytes_in:.1f} bytes a row read, {measured.bytes_out:.1f} written, "
        f"{measured.merge * 1e6:.0f} µs a merge on the driver"
    )
    print(
        f"assumed: {cluster.worker_store / 1e6:.0f} MB/s a worker and {cluster.store / 1e9:.0f} GB/s in all from the store, "
        f"speeds spread by {cluster.spread:.0%}, {cluster.slow:.0%} of blocks {cluster.slow_factor:.0f} times as long, "
        f"a worker fails every {cluster.lifetime:,.0f} s and is back after {cluster.restart:.0f} s"
    )
    print(f"{rows:,} rows in blocks of {options.block_rows:,}, seed {options.seed}")
    print(f"{'workers':>8}{'seconds':>12}{'rows/s':>16}{'efficiency':>12}{'waits for store':>17}{'retried':>9}{'driver s':>10}")
    ideal = math.ceil(rows / BATCH) * middle + rows * (measured.bytes_in + measured.bytes_out) / cluster.worker_store
    for workers in options.workers:
        found = simulate(measured, cluster, workers=workers, rows=rows, block_rows=options.block_rows, seed=options.seed)
        efficiency = ideal / workers / found.seconds
        print(
            f"{workers:>8,}{found.seconds:>12,.0f}{rows / found.seconds:>16,.0f}{efficiency:>12.2f}"
            f"{found.store_share:>17.0%}{found.retries:>9,}{found.driver_seconds:>10.1f}"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())

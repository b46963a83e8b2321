"""How a figure is taken: best and median of interleaved runs, the plain-Python scorer beside them, and peak memory."""

from __future__ import annotations

import contextlib
import gc
import resource
import statistics
import sys
import time
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa

__all__ = ["Timing", "Yardstick", "peak_of", "timed", "timed_together", "yardstick"]

K = TypeVar("K", bound=Hashable)


@dataclass(frozen=True)
class Timing:
    """Wall seconds of a run: the best, the median, and of how many."""

    best: float
    median: float
    repeats: int


def timed(run: Callable[[], object], repeats: int, budget: float = 30.0) -> Timing:
    """Time `run`, `repeats` times or until `budget` seconds are spent, three times at least."""
    return timed_together({0: run}, repeats, budget)[0]


def timed_together(runs: Mapping[K, Callable[[], object]], repeats: int, budget: float = 30.0) -> dict[K, Timing]:
    """Time several runs turn by turn, so that what else the machine does meets all of them alike."""
    seconds: dict[K, list[float]] = {key: [] for key in runs}
    began = time.perf_counter()
    with _collector_off():
        for turn in range(max(1, repeats)):
            if turn >= 3 and time.perf_counter() - began > budget:
                break
            for key, run in runs.items():
                start = time.perf_counter()
                run()
                seconds[key].append(time.perf_counter() - start)
    return {key: Timing(min(s), statistics.median(s), len(s)) for key, s in seconds.items()}


class Yardstick:
    """The plain-Python scorer on some slices of a table's rows.

    Measured before and after the fast path; each slice counts with its best time, so a disturbance that would flatter us is
    left out, and slices lie all over the table, so that its rows are like the table's.
    """

    def __init__(self, score: Callable[..., object], slices: Sequence[Sequence[tuple[Any, ...]]]) -> None:
        self._score = score
        self._slices = slices
        self._best = [float("inf")] * len(slices)

    def measure(self, turns: int = 2) -> None:
        """Score each slice `turns` times and keep its best time."""
        score = self._score
        with _collector_off():
            for _ in range(turns):
                for number, rows in enumerate(self._slices):
                    start = time.perf_counter()
                    for row in rows:
                        score(*row)
                    self._best[number] = min(self._best[number], time.perf_counter() - start)

    @property
    def rows_per_s(self) -> float:
        """Rows of all slices over the sum of their best times."""
        return sum(map(len, self._slices)) / sum(self._best)


def yardstick(table: pa.Table, columns: Sequence[str], score: Callable[..., object], rows: int, slices: int = 4) -> Yardstick:
    """A yardstick that calls ``score(*row)`` on `rows` rows of these columns, taken from `slices` places of the table."""
    size = max(1, min(rows, table.num_rows) // slices)
    step = max(1, table.num_rows // slices)
    parts = []
    for start in range(0, table.num_rows - size + 1, step):
        part = table.select(list(columns)).slice(start, size)
        parts.append(list(zip(*(c.to_pylist() for c in part.columns), strict=True)))
    return Yardstick(score, parts[:slices])


@contextlib.contextmanager
def _collector_off() -> Iterator[None]:
    """Keep the cyclic garbage collector out of the timed code, as `timeit` does."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def peak_of(run: Callable[[], object]) -> float:
    """Peak resident memory of this process during `run`, in MB (10^6 bytes), the data it is given included."""
    pa.default_memory_pool().release_unused()
    mark = Path("/proc/self/clear_refs")
    try:
        mark.write_text("5", encoding="ascii")
        run()
        status = Path("/proc/self/status").read_text(encoding="ascii")
        return int(status.split("VmHWM:")[1].split()[0]) * 1024 / 1e6
    except OSError:
        run()
        unit = 1 if sys.platform == "darwin" else 1024
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6

"""Row ranges spread over threads: the kernels release the GIL, so plain Python threads run them side by side.

The ranges' results do not depend on how the rows are cut. A pool is made for each call and ends with it, so that nothing is
left over to survive a fork.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from fastscore.errors import UsageError

__all__ = ["run_in_threads", "thread_count"]

_LEAST_ROWS = 2_048
_RANGES_A_THREAD = 8
#: A kernel's call hears no signal; between two ranges Ctrl-C is heard.
_MOST_ROWS = 1 << 14


def thread_count(threads: int | None) -> int:
    """How many threads to use: `threads`, or all cores of the affinity mask.

    Raises
    ------
    UsageError
        `threads` is less than 1.
    """
    if threads is None:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if isinstance(threads, bool) or not isinstance(threads, int) or threads < 1:
        raise UsageError(f"threads: a whole number from 1 on is allowed, got {threads!r}")
    return threads


def run_in_threads(work: Callable[[int, int], int], rows: int, threads: int | None) -> list[int]:
    """Call ``work(low, high)`` for ranges that cover `rows` once each and return what the calls gave, in row order."""
    count = thread_count(threads)
    if count == 1 or rows <= _LEAST_ROWS:
        return [work(low, min(rows, low + _MOST_ROWS)) for low in range(0, rows, _MOST_ROWS)]
    step = min(_MOST_ROWS, max(_LEAST_ROWS, -(-rows // (count * _RANGES_A_THREAD))))
    lows = range(0, rows, step)
    with ThreadPoolExecutor(max_workers=count) as pool:
        return list(pool.map(lambda low: work(low, min(rows, low + step)), lows))

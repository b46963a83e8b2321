"""Batches through scoring in their order: read on the caller's thread, scored by several, written by one more.

At most a few batches are on their way at any time, so memory stays bounded; an error anywhere ends all of it.
"""

from __future__ import annotations

import queue
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

__all__ = ["BackgroundWriter", "in_order"]


def in_order(work: Callable[[Any], Any], given: Iterable[Any], threads: int) -> Iterator[tuple[Any, Any]]:
    """``(item, work(item))`` for each item, in order, `threads` of them worked on at once."""
    if threads == 1:
        for item in given:
            yield item, work(item)
        return
    waiting: deque[tuple[Any, Future[Any]]] = deque()
    pool = ThreadPoolExecutor(max_workers=threads)
    try:
        for item in given:
            waiting.append((item, pool.submit(work, item)))
            if len(waiting) > threads:
                done, future = waiting.popleft()
                yield done, future.result()
        while waiting:
            done, future = waiting.popleft()
            yield done, future.result()
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


class BackgroundWriter:
    """Calls ``write(batch)`` on a thread of its own, in order; its error comes out of the next `put` or of `finish`."""

    def __init__(self, write: Callable[[Any], None], depth: int = 2) -> None:
        self._write = write
        self._queue: queue.Queue[Any] = queue.Queue(depth)
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def put(self, batch: Any) -> None:
        """Hand a batch over; waits while too many are waiting."""
        if self._error is not None:
            raise self._error
        self._queue.put(batch)

    def finish(self) -> None:
        """Wait until all is written."""
        self._queue.put(None)
        self._thread.join()
        if self._error is not None:
            raise self._error

    def stop(self) -> None:
        """Write nothing more and wait for the thread; no error comes out."""
        self._error = self._error or RuntimeError("stopped")
        self._queue.put(None)
        self._thread.join()

    def _run(self) -> None:
        while (batch := self._queue.get()) is not None:
            if self._error is None:
                try:
                    self._write(batch)
                except BaseException as error:
                    self._error = error

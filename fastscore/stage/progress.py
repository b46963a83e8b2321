"""How far a run is: a bar on a terminal, a plain line every few seconds elsewhere, nothing where that is asked for."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Any

__all__ = ["Progress"]

_SECONDS_BETWEEN_LINES = 5.0


class Progress:
    """Counts rows and bytes and shows them on standard error.

    Parameters
    ----------
    total
        Bytes of all inputs, 0 where that is not known.
    quiet
        Show nothing.
    """

    def __init__(self, total: int = 0, quiet: bool = False) -> None:
        self.rows, self.bytes, self.total, self.quiet = 0, 0, total, quiet
        self.started = time.monotonic()
        self._said = self.started
        self._bar: Any = None
        self._task: Any = None

    def __enter__(self) -> Progress:
        if not self.quiet and sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import BarColumn, TextColumn, TimeRemainingColumn
            from rich.progress import Progress as Bar

            shown = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[speed]}"), TimeRemainingColumn())
            self._bar = Bar(*shown, console=Console(stderr=True), transient=True)
            self._bar.start()
            self._task = self._bar.add_task("scoring", total=self.total or None, speed="")
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._bar is not None:
            self._bar.stop()

    @property
    def seconds(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self.started

    def advance(self, rows: int, size: int) -> None:
        """Count a batch."""
        self.rows += rows
        self.bytes += size
        if self.quiet:
            return
        now = time.monotonic()
        if self._bar is not None:
            self._bar.update(self._task, completed=self.bytes, speed=f"{self.rows:,} rows, {self._speed():,.0f} rows/s")
        elif now - self._said >= _SECONDS_BETWEEN_LINES:
            self._said = now
            print(f"fastscore: {self.rows:,} rows, {self._speed():,.0f} rows/s", file=sys.stderr, flush=True)

    def _speed(self) -> float:
        return self.rows / max(self.seconds, 1e-9)

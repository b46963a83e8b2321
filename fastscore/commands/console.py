"""What the sub-commands say: notes on standard error, tables on standard output, all of it safe for a terminal."""

from __future__ import annotations

import contextlib
import os
import sys
from typing import Any

__all__ = ["closed_streams", "give_up_output", "open_streams", "print_table", "say"]

#: Which of the standard streams the caller had closed.
closed_streams: set[str] = set()


def open_streams() -> None:
    """Give each standard stream that the caller closed a place to go, so that no file that is opened gets its number.

    What the streams' encodings cannot hold, such as the bytes of a file name that is no UTF-8, is escaped.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # gets the lowest number that is free
        stream = getattr(sys, name)
        if stream is None and name != "stdin":
            closed_streams.add(name)
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115
        elif name != "stdin" and hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def give_up_output() -> None:
    """Send what is left in standard output nowhere, so that Python says nothing of it at its end."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def say(*lines: str) -> None:
    """Print notes on standard error, control characters escaped; where nobody listens, nothing."""
    from fastscore.report import safe_text

    if sys.stderr is None:
        return
    for line in lines:
        with contextlib.suppress(OSError, ValueError):
            print(f"fastscore: {safe_text(line)}", file=sys.stderr)


def print_table(shown: Any, width: int = 132) -> None:
    """Print something rich on standard output; `width` holds for tables where that is no terminal, and lines are not folded."""
    from rich.console import Console

    from fastscore.report import print_unfolded

    class Shown(Console):
        def on_broken_pipe(self) -> None:
            raise BrokenPipeError

    if sys.stdout.isatty():
        Shown(highlight=False).print(shown)
    else:
        print_unfolded(Shown(width=width, highlight=False), shown)

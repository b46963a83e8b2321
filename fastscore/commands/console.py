"""What the sub-commands say: notes on standard error, tables on standard output, all of it safe for a terminal."""

from __future__ import annotations

import sys
from typing import Any

__all__ = ["print_table", "say"]


def say(*lines: str) -> None:
    """Print notes on standard error, control characters escaped."""
    from fastscore.report import safe_text

    for line in lines:
        print(f"fastscore: {safe_text(line)}", file=sys.stderr)


def print_table(shown: Any, width: int = 132) -> None:
    """Print something rich on standard output; `width` holds where that is no terminal."""
    from rich.console import Console

    class Shown(Console):
        def on_broken_pipe(self) -> None:
            raise BrokenPipeError

    Shown(width=None if sys.stdout.isatty() else width, highlight=False).print(shown)

"""A forked process has not the threads of the one it came from, and polars would wait for its own for ever.

`refuse_lost_threads` stands before work that polars' threads do, and makes an error of it where they were lost in a fork.
`score_batch` needs no such threads, and runs in forked processes.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from fastscore.errors import UsageError

__all__ = ["refuse_lost_threads"]

_TASKS = Path("/proc/self/task")
_state = {"running": False, "lost": False}


def refuse_lost_threads() -> None:
    """Raises UsageError in a process that was forked after polars had started its threads."""
    if _state["lost"]:
        raise UsageError(
            "this process was forked from one in which polars had started its threads, which it has not, so this would wait "
            "for ever; start processes by multiprocessing.get_context('spawn') or 'forkserver', or call score_batch alone"
        )


def _polars_runs() -> bool:
    """Whether polars has started its threads; where the system does not list threads, whether it is loaded."""
    if "polars" not in sys.modules:
        return False
    try:
        names = [(task / "comm").read_text(encoding="utf-8", errors="replace") for task in _TASKS.iterdir()]
    except OSError:
        return True
    return any(name.startswith("polars-") and name[7:].strip().isdigit() for name in names)


def _before() -> None:
    _state["running"] = _polars_runs()


def _in_child() -> None:
    _state["lost"] = _state["lost"] or _state["running"]


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_child=_in_child)

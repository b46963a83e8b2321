"""Runs cases, each in a process of its own, and hands on their JSON lines as they come."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.catalogue import Case
from benchmarks.lines import Settings, cores
from benchmarks.run_case import command

__all__ = ["ROOT", "CaseFailed", "default_threads", "results"]

ROOT = Path(__file__).resolve().parents[1]


class CaseFailed(RuntimeError):
    """A case's process ended with an error; what it wrote to stderr has been shown."""


def default_threads() -> tuple[int, ...]:
    """One thread, and as many as there are cores."""
    return tuple(sorted({1, cores()}))


def results(cases: Sequence[Case], settings: Settings, rows: int | None = None) -> Iterator[dict[str, Any]]:
    """Run the cases in order and yield their lines as dicts; `rows` replaces each case's own number.

    A smoke run takes few rows and one repeat, and one process for all cases.

    Raises
    ------
    CaseFailed
        Cases that ended with an error, named, once all have run.
    """
    jobs = {c.name: replace(settings, rows=c.smoke_rows if settings.smoke else c.rows if rows is None else rows) for c in cases}
    groups = [jobs] if settings.smoke else [{name: job} for name, job in jobs.items()]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))}
    failed: list[str] = []
    for group in groups:
        with subprocess.Popen(command(group), cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            for text in process.stdout:
                line = json.loads(text)
                if "failed" in line:
                    failed.append(line["case"])
                else:
                    yield line
        if process.returncode:
            failed += group
    if failed:
        raise CaseFailed(f"failed: {', '.join(failed)}")

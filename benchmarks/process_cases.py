"""Cases that start a new Python for each run: import, the command's help, the first score with a cold and a warm cache."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks.lines import Line, Settings

__all__ = ["first_score", "import_time", "started"]

ROOT = Path(__file__).resolve().parents[1]
_IMPORT = "import time; t = time.perf_counter(); import fastscore; print(time.perf_counter() - t)"
_HELP = "import sys; sys.argv = ['fastscore', '--help']; from fastscore.cli import main; main()"
_FIRST = """
import time
t = time.perf_counter()
import pyarrow as pa
import fastscore
batch = pa.record_batch({"prediction": ["the cat"], "references": [["A cat.", "dog"]]})
fastscore.score_batch(batch, "coqa-max", threads=1)
print(time.perf_counter() - t)
"""


def started(code: str, environment: Mapping[str, str] | None = None) -> tuple[float, str]:
    """Run `code` in a new Python; return the wall seconds from start to exit, and what it printed."""
    command = [sys.executable, "-c", code]
    settings = {**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "100", **(environment or {})}
    start = time.perf_counter()
    done = subprocess.run(command, cwd=ROOT, env=settings, capture_output=True, text=True, check=False)
    seconds = time.perf_counter() - start
    if done.returncode:
        raise RuntimeError(f"a new process failed: {done.stderr.strip()[-2000:]}")
    return seconds, done.stdout


def import_time(case: str, settings: Settings) -> list[Line]:
    """`import`: seconds of ``import fastscore`` inside a new process; `help`: of the whole ``fastscore --help``."""
    empty = min(started("pass")[0] for _ in range(settings.repeats))
    inside = [float(started(_IMPORT)[1]) for _ in range(settings.repeats)]
    helped = [started(_HELP)[0] for _ in range(settings.repeats)]
    return [_line(case, inside, bare_python_seconds=empty), _line("help", helped, bare_python_seconds=empty)]


def first_score(case: str, settings: Settings) -> list[Line]:
    """Seconds from the start of a new process, importing included, to its first score: cache cold, then warm."""
    if settings.smoke:
        return [
            Line(f"{case}-cold", skipped="a smoke run does not compile anew"),
            _line(f"{case}-warm", [float(started(_FIRST)[1])]),
        ]
    cold, warm = [], []
    for _ in range(2):
        with tempfile.TemporaryDirectory() as folder:
            environment = {"FASTSCORE_CACHE_DIR": folder}
            cold.append(float(started(_FIRST, environment)[1]))
            warm += [float(started(_FIRST, environment)[1]) for _ in range(min(3, settings.repeats))]
    return [_line(f"{case}-cold", cold), _line(f"{case}-warm", warm)]


def _line(case: str, seconds: Sequence[float], **more: float) -> Line:
    ordered = sorted(seconds)
    return Line(case, seconds=ordered[0], more={"median_seconds": ordered[len(ordered) // 2], "repeats": len(ordered), **more})

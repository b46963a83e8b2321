"""Other scorers on the same rows in the same run: each in a process, and if wished an interpreter, of its own.

A peer that is not installed is skipped with the reason. A line says how many times faster we are with as many threads
(`ours_vs_peer`), and whether the peer's means agree with ours to 1e-9.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from benchmarks.answers import Shape, text_bytes, text_table
from benchmarks.lexicon import english
from benchmarks.lines import Line, Settings
from benchmarks.list_cases import MEASURES, plain_ranking, ranking_table
from benchmarks.measure import Yardstick, timed_together, yardstick
from benchmarks.text_cases import as_batch, warmed
from fastscore import naive
from fastscore.recipes import find_recipe
from fastscore.retrieval import score_ranking
from fastscore.scoring import score_batch

__all__ = ["RECIPE", "rankings", "text"]

RECIPE = "squad"
SCRIPT = Path(__file__).with_name("peer_worker.py")
Means = dict[str, float]


def text(case: str, settings: Settings) -> list[Line]:
    """SQuAD's rule, EM and F1: the plain-Python scorer, evaluate, torchmetrics, polars expressions, DuckDB SQL."""
    table = text_table(english(), settings.rows, Shape(samples=16))
    batch, recipe = as_batch(table), find_recipe(RECIPE)
    warmed(batch, RECIPE, settings.threads)

    def ours(threads: int) -> Means:
        items = score_batch(batch, RECIPE, threads=threads)
        return {name: pc.mean(items[name]).as_py() for name in ("exact_match", "f1")}

    side = yardstick(table, ("prediction", "references"), lambda p, r: naive.score_one(p, r, recipe), settings.naive_rows)
    peers = [("evaluate", False), ("torchmetrics", False), ("polars", True), ("polars-sets", True), ("duckdb", True)]
    return _compared(case, table, ours, side, peers, settings, text_bytes(table))


def rankings(case: str, settings: Settings) -> list[Line]:
    """success@10, recall@10, MRR, MAP and nDCG@10 of rankings of 100 ids: the plain-Python scorer, pytrec_eval, ranx."""
    table = ranking_table(settings.rows)

    def ours(threads: int) -> Means:
        items = score_ranking(table, measures=MEASURES, threads=threads).items
        return {name: pc.mean(items[name]).as_py() for name in MEASURES}

    side = yardstick(table, ("retrieved_ids", "relevant_ids"), plain_ranking, settings.naive_rows)
    return _compared(case, table, ours, side, [("pytrec_eval", False), ("ranx", True)], settings, None)


def _compared(
    case: str,
    table: pa.Table,
    ours: Callable[[int], Means],
    side: Yardstick,
    peers: Sequence[tuple[str, bool]],
    settings: Settings,
    size: int | None,
) -> list[Line]:
    """Our lines, plain Python's, and each peer's; those marked True are run with every number of threads."""
    side.measure()
    runs = {t: partial(ours, t) for t in settings.threads}
    means = {t: run() for t, run in runs.items()}
    before = timed_together(runs, settings.repeats, settings.budget)
    found: list[tuple[str, int, dict[str, Any]]] = []
    with tempfile.TemporaryDirectory() as folder:
        pq.write_table(table, Path(folder) / "rows.parquet")
        _write_lines(table, Path(folder) / "rows.jsonl")
        for name, threaded in peers:
            for t in settings.threads if threaded else settings.threads[:1]:
                found.append((name, t, _peer(name, Path(folder), t, settings)))
                if "skipped" in found[-1][2]:
                    break
    after = timed_together(runs, settings.repeats, settings.budget)
    side.measure()
    best = {t: min(before[t].best, after[t].best) for t in runs}
    line = partial(Line.of, rows=table.num_rows, text=size, naive=side.rows_per_s)
    lines = [line(f"{case}/fastscore", threads=t, seconds=best[t], more=means[t]) for t in runs]
    plain = table.num_rows / side.rows_per_s
    one = settings.threads[0]
    lines.append(line(f"{case}/plain Python", threads=1, seconds=plain, more={"ours_vs_peer": plain / best[one]}))
    for name, threads, result in found:
        if "skipped" in result:
            lines.append(Line(f"{case}/{name}", skipped=result["skipped"]))
            continue
        seconds = result.pop("seconds")
        agrees = all(abs(result[m] - value) < 1e-9 for m, value in means[threads].items())
        more = {"ours_vs_peer": seconds / best[threads], "agrees": agrees, **result}
        lines.append(line(f"{case}/{name}", threads=threads, seconds=seconds, more=more))
    return lines


def _peer(name: str, folder: Path, threads: int, settings: Settings) -> dict[str, Any]:
    python = settings.peers_python or sys.executable
    command = [python, str(SCRIPT), name, str(folder), str(min(3, settings.repeats)), str(threads)]
    limits = {"POLARS_MAX_THREADS": str(threads), "NUMBA_NUM_THREADS": str(threads)}
    environment: Mapping[str, str] = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"} | limits
    if settings.evaluate_squad:
        environment = {**environment, "EVALUATE_SQUAD": settings.evaluate_squad}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"peer {name} failed: {done.stderr.strip()[-2000:]}")
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


def _write_lines(table: pa.Table, path: Path) -> None:
    with path.open("w", encoding="utf-8") as file:
        for row in table.to_pylist():
            file.write(json.dumps(row) + "\n")

"""Rewards of rollouts: the batch function alone, the stage from file to file with groups, and the calls of a training loop."""

from __future__ import annotations

import re
import tempfile
import time
from collections.abc import Callable
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.lines import Line, Settings
from benchmarks.measure import peak_of, timed_together, yardstick
from fastscore import naive
from fastscore.recipes import find_recipe
from fastscore.rewards import reward_batch, reward_files, reward_rule, trl

__all__ = ["calls", "files", "rewards"]

#: Characters of a completion, rows of a batch, and samples of a prompt.
CHARACTERS, BATCH, SAMPLES = 1_000, 65_536, 16
_SQUAD = find_recipe("squad")
_WORDS = ["the", "a", "so", "we", "think", "that", "of", "Paris", "city", "number", "because", "therefore", "answer", "<", "it"]


def rewards(case: str, settings: Settings) -> list[Line]:
    """Completions of 1,000 characters with a think and an answer tag, against one reference, by the rule of SQuAD."""
    completions, gold = rollouts(settings.rows)
    table = pa.table({"prediction": completions, "references": gold})
    rule = reward_rule("squad", extract="tag:answer")
    batches = table.to_batches(max_chunksize=BATCH)

    def run(threads: int) -> Callable[[], object]:
        return lambda: [reward_batch(b, rule, threads=threads) for b in batches]

    runs = {threads: run(threads) for threads in settings.threads}
    for once in runs.values():
        once()
    side = yardstick(table, ("prediction", "references"), plain, settings.naive_rows)
    side.measure()
    timings = timed_together(runs, settings.repeats, settings.budget)
    side.measure()
    facts: dict[str, Any] = {"rows": table.num_rows, "text": table.nbytes, "naive": side.rows_per_s}
    return [Line.of(case, threads=t, seconds=found.best, peak_rss_mb=peak_of(runs[t]), **facts) for t, found in timings.items()]


def plain(completion: str, reference: str) -> float | None:
    """The same reward in plain Python."""
    found = re.findall(r"<answer>(.*?)</answer>", completion, re.DOTALL)
    score: float | None = naive.score_one(found[-1].strip() if found else None, [reference], _SQUAD)["exact_match"]
    return score


def files(case: str, settings: Settings) -> list[Line]:
    """The same rollouts from parquet to parquet, with groups and advantages; CPU seconds beside those of the wall."""
    completions, gold = rollouts(settings.rows)
    prompts = pa.array([f"prompt {row // SAMPLES}" for row in range(settings.rows)])
    table = pa.table({"prompt_id": prompts, "prediction": completions, "references": gold})
    lines = []
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder) / "rollouts.parquet", Path(folder) / "rewards.parquet"
        pq.write_table(table, source, compression="zstd", row_group_size=BATCH)

        def run(threads: int) -> Callable[[], object]:
            return lambda: reward_files(source, target, recipe="squad", extract="tag:answer", threads=threads, overwrite=True)

        runs = {threads: run(threads) for threads in settings.threads}
        for once in runs.values():
            once()
        timings = timed_together(runs, settings.repeats, settings.budget)
        for threads, found in timings.items():
            start = time.process_time()
            peak = peak_of(runs[threads])
            more = {"cpu_seconds": time.process_time() - start}
            facts: dict[str, Any] = {"rows": table.num_rows, "text": table.nbytes, "peak_rss_mb": peak, "more": more}
            lines.append(Line.of(case, threads=threads, seconds=found.best, **facts))
    return lines


def calls(case: str, settings: Settings) -> list[Line]:
    """A call of TRL's reward function with 1 row, and one with 1,024: seconds of the median call."""
    lines = []
    function = trl("squad", extract="tag:answer")
    for rows, times in ((1, settings.rows), (1_024, max(3, settings.rows // 100))):
        completions, gold = (column.to_pylist() for column in rollouts(rows))
        for _ in range(3):
            function(prompts=gold, completions=completions, answer=gold)
        seconds = np.empty(times)
        for place in range(times):
            start = time.perf_counter()
            function(prompts=gold, completions=completions, answer=gold)
            seconds[place] = time.perf_counter() - start
        median, slow = float(np.median(seconds)), float(np.quantile(seconds, 0.99))
        more = {"median_us": median * 1e6, "p99_us": slow * 1e6}
        lines.append(Line.of(f"{case}-{rows}", rows=rows, threads=1, seconds=median, more=more))
    return lines


def rollouts(rows: int) -> tuple[pa.Array, pa.Array]:
    """Completions, and the reference of each."""
    rng = np.random.default_rng(7)
    thoughts = [" ".join(rng.choice(_WORDS, CHARACTERS // 4))[: CHARACTERS - 50] for _ in range(min(rows, 509))]
    texts = [f"<think>{t}</think><answer>the answer {i % 97}</answer>" for i, t in enumerate(islice(cycle(thoughts), rows))]
    return pa.array(texts, pa.large_string()), pa.array([f"answer {i // SAMPLES % 97}" for i in range(rows)], pa.large_string())

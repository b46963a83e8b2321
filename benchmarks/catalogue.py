"""The cases by name: what each measures, the function that runs it, and its number of rows."""

from __future__ import annotations

import fnmatch
import importlib
from collections.abc import Iterable
from dataclasses import dataclass

from benchmarks.lines import Line, Settings

__all__ = ["CASES", "Case", "chosen"]


@dataclass(frozen=True)
class Case:
    """A case: its name, ``module:function`` of this package, rows (in full and in a smoke run) and a sentence."""

    name: str
    target: str
    rows: int
    smoke_rows: int
    meaning: str

    def run(self, settings: Settings) -> Iterable[Line]:
        """Run the case in this process; lines may come one by one."""
        module, _, function = self.target.partition(":")
        lines: Iterable[Line] = getattr(importlib.import_module(f"benchmarks.{module}"), function)(self.name, settings)
        return lines


_TEXT = "text_cases:coqa"
_WORST = "worst_cases:worst"

CASES = {
    case.name: case
    for case in (
        Case("coqa-short", _TEXT, 1_000_000, 400, "about 3 words, 4 references, 16 samples of a question in consecutive rows"),
        Case("coqa-distinct", _TEXT, 1_000_000, 400, "the same with references of their own for every row"),
        Case("long-answers", _TEXT, 50_000, 60, "80 words, 4 references, 16 samples of a question in consecutive rows"),
        Case("long-distinct", _TEXT, 50_000, 60, "the same with references of their own for every row"),
        Case("long-distinct-1ref", _TEXT, 100_000, 60, "80 words, 1 reference"),
        Case("german", _TEXT, 300_000, 400, "German answers with umlauts and typographic quotes, beside ASCII"),
        Case("mixed-script", _TEXT, 300_000, 400, "Greek, Arabic and Chinese answers, beside ASCII"),
        Case("spans", "list_cases:spans", 1_000_000, 400, "n-best of 5 spans against 3 reference spans"),
        Case("ranking", "list_cases:ranking", 100_000, 200, "rankings of 100 ids against 3 relevant ones"),
        Case("score-one", "list_cases:score_one", 20_000, 100, "one answer a call, microseconds"),
        Case("stage", "stage:stage", 2_000_000, 2000, "parquet in, parquet with item scores out, beside polars scan and sink"),
        Case("rewards", "rewards_cases:rewards", 1_000_000, 300, "completions of 1,000 characters: extraction, then scores"),
        Case("reward-files", "rewards_cases:files", 1_000_000, 300, "the same from parquet to parquet, with advantages"),
        Case("reward-calls", "rewards_cases:calls", 20_000, 100, "a training loop's call with 1 row, and with 1,024"),
        Case("recipes", "text_cases:recipes", 200_000, 200, "each recipe against the plain-Python scorer"),
        Case("worst-one-row", _WORST, 50_000_000, 50_000, "one generation of 50 MB (--rows: bytes)"),
        Case("worst-one-word", _WORST, 1_000_000, 2000, "a million copies of one word (--rows: copies)"),
        Case("worst-references", _WORST, 10_000, 200, "10,000 references of one word (--rows: references)"),
        Case("worst-long-pair", _WORST, 100_000, 500, "100,000 words against 100,000 words (--rows: words)"),
        Case("engines", "engines_cases:engines", 1_000_000, 400, "`score_batch` over batches of 65,536; each engine beside it"),
        Case("import", "process_cases:import_time", 0, 0, "seconds of import fastscore, and of fastscore --help"),
        Case("first-score", "process_cases:first_score", 0, 0, "seconds to a new process's first score, cache cold and warm"),
        Case("peers-text", "peers:text", 100_000, 200, "other scorers of SQuAD's rule on the same rows"),
        Case("peers-ranking", "peers:rankings", 20_000, 50, "other scorers of rankings on the same queries"),
    )
}


def chosen(patterns: list[str]) -> list[Case]:
    """The cases whose names match one of the patterns (``worst-*``), all of them where there is no pattern.

    Raises `ValueError` naming a pattern that matches nothing.
    """
    for pattern in patterns:
        if not fnmatch.filter(CASES, pattern):
            raise ValueError(f"--case: no case is called {pattern!r}; known: {', '.join(CASES)}")
    return [c for c in CASES.values() if not patterns or any(fnmatch.fnmatch(c.name, p) for p in patterns)]

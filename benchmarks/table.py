"""The README's tables in Markdown, from the lines of one run: machine and versions, our figures, other scorers' beside them."""

from __future__ import annotations

import importlib.metadata
import platform
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.catalogue import CASES
from benchmarks.lines import cores
from benchmarks.runner import default_threads
from fastscore.version import __version__

__all__ = ["TABLE_CASES", "machine", "markdown"]

Line = Mapping[str, Any]

#: The cases that the tables are made from.
TABLE_CASES = tuple(name for name in CASES if name != "recipes")

_VERSIONS = ("numba", "numpy", "pyarrow", "polars")
_PROCESS = {
    "import": "`import fastscore`",
    "help": "`fastscore --help`",
    "first-score-cold": "first score of a new process, no cache",
    "first-score-warm": "first score of a new process, cache filled",
}
_PEERS = {
    "plain Python": "plain Python, `fastscore.naive`",
    "evaluate": "evaluate {version}, `squad`",
    "torchmetrics": "torchmetrics {version}, `squad`",
    "polars": "polars {version}, expressions, words matched by a join",
    "polars-sets": "polars {version}, expressions, set overlap (another F1 where words repeat)",
    "duckdb": "DuckDB {version}, SQL",
    "pytrec_eval": "pytrec_eval {version}",
    "ranx": "ranx {version}",
}


#: Cases that have tables of their own.
_APART = ("worst-", "score-one")


def markdown(lines: Sequence[Line]) -> str:
    """All tables whose cases are among `lines`, each after a line that says what it shows."""
    parts = [
        machine(),
        _throughput([r for r in lines if r["case"] in CASES and r.get("mb_per_s") and not r["case"].startswith(_APART)]),
        _small([r for r in lines if r["case"] in _PROCESS or r["case"] == "score-one"]),
        _worst([r for r in lines if r["case"].startswith("worst-")]),
        _peers([r for r in lines if r["case"].startswith("peers-")]),
        _skipped([r for r in lines if r.get("skipped")]),
    ]
    return "\n\n".join(part for part in parts if part)


def machine() -> str:
    """One sentence: processor, cores, memory, operating system, and the versions of what takes part."""
    versions = [f"Python {platform.python_version()}", f"fastscore {__version__}"]
    versions += [f"{package} {importlib.metadata.version(package)}" for package in _VERSIONS]
    return f"{_processor()}, {cores()} cores, {_memory()}, {platform.system()}; {', '.join(versions)}."


def _throughput(lines: Sequence[Line]) -> str:
    """A row a case: one thread and all cores side by side."""
    most = max((r["threads"] for r in lines), default=default_threads()[-1])
    rows = []
    for case in dict.fromkeys(r["case"] for r in lines):
        by_threads = {r["threads"]: r for r in lines if r["case"] == case}
        one, many = by_threads.get(1) or by_threads[min(by_threads)], by_threads.get(most)
        both = many is not None and many is not one
        rows.append(
            [
                f"`{case}`: {CASES[case].meaning}",
                f"{one['rows']:,}",
                _amount(one["rows_per_s"]),
                _amount(many["rows_per_s"]) if many and both else "",
                f"{many['rows_per_s'] / one['rows_per_s']:.2f}" if many and both else "",
                f"{one['mb_per_s']:,.0f}",
                _times(one["vs_naive"]) if one.get("vs_naive") else "",
                _times(many["vs_naive"]) if many and both and many.get("vs_naive") else "",
                _beside(one),
            ]
        )
    head = ["case", "rows", "rows/s, 1 thread", f"{most} threads", "ratio", "MB/s", "× plain Python", f"{most} threads", "beside"]
    text = (
        "Rows are scored as one Arrow batch in memory (`stage`: from file to file); the best of several runs. MB/s counts the "
        "text of predictions and references, one thread. Plain Python is the package's own reference implementation, run on rows "
        "of the same table before and after."
    )
    return _captioned(text, _table(head, rows))


def _beside(line: Line) -> str:
    if line.get("vs_ascii"):
        return f"{line['vs_ascii']:.2f} × ASCII's ns/byte"
    if line.get("vs_polars"):
        return f"{line['vs_polars']:.2f} × polars' seconds, peak {line['peak_rss_mb']:,.0f} MB"
    return ""


def _small(lines: Sequence[Line]) -> str:
    rows = []
    for r in lines:
        if r.get("skipped"):
            continue
        if r["case"] == "score-one":
            rows.append(["`score_one`, one answer, warm (median)", f"{r['median_us']:.1f} µs"])
        else:
            rows.append([_PROCESS[r["case"]], f"{r['seconds']:.2f} s"])
    return _table(["what", "time"], rows)


def _worst(lines: Sequence[Line]) -> str:
    head = ["worst input", "ns/byte", "ordinary text", "seconds over half the size's", "peak MB"]
    rows = [
        [
            f"`{r['case']}`: {CASES[r['case']].meaning.split(' (')[0]}",
            f"{r['ns_per_byte']:.2f}",
            f"{r['ordinary_ns_per_byte']:.2f}",
            f"{r['vs_half_size']:.2f}",
            f"{r['peak_rss_mb']:,.0f}",
        ]
        for r in lines
    ]
    text = "Inputs of the worst kind, one thread. Cost in proportion to size takes 2 times half the size's seconds."
    return _captioned(text, _table(head, rows))


def _peers(lines: Sequence[Line]) -> str:
    rows = []
    for r in lines:
        case, _, name = r["case"].partition("/")
        if name == "fastscore" or r.get("skipped"):
            continue
        ours = next(o for o in lines if o["case"] == f"{case}/fastscore" and o["threads"] == r["threads"])
        rows.append(
            [
                "text" if case == "peers-text" else "ranking",
                _PEERS[name].format(version=r.get("version", "")),
                str(r["threads"]),
                _amount(ours["rows_per_s"]),
                _amount(r["rows_per_s"]),
                _times(r["ours_vs_peer"]),
            ]
        )
    head = ["what", "other scorer", "threads", "fastscore, rows/s", "theirs, rows/s", "ratio"]
    text = (
        "Other scorers on the same rows: SQuAD's rule on short answers, and five measures of rankings of 100 ids. They get the "
        "rows in their own form (lists, dictionaries, tables in memory), and making that form is not timed; we get Arrow columns."
    )
    return _captioned(text, _table(head, rows))


def _skipped(lines: Sequence[Line]) -> str:
    return "\n".join(dict.fromkeys(f"Not measured: {r['case']} ({r['skipped']})." for r in lines))


def _captioned(text: str, table: str) -> str:
    return f"{text}\n\n{table}" if table else ""


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    if not rows:
        return ""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)


def _amount(rate: float) -> str:
    return f"{rate / 1e6:.2f} million" if rate >= 1e6 else f"{float(f'{rate:.3g}'):,.0f}"


def _times(ratio: float) -> str:
    return f"{float(f'{ratio:.3g}'):,.0f}" if ratio >= 100 else f"{ratio:.3g}"


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, "") or platform.processor() or platform.machine()


def _memory() -> str:
    try:
        kilobytes = int(Path("/proc/meminfo").read_text(encoding="ascii").split("MemTotal:")[1].split()[0])
    except (OSError, IndexError, ValueError):
        return "memory unknown"
    return f"{kilobytes / 2**20:.0f} GiB"

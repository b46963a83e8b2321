"""``python -m benchmarks``: run cases and print a line for each, the README's table, or the scaling plots.

The exit code is 1 where a case failed, 2 where it was called wrongly.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path

from benchmarks.catalogue import CASES, chosen
from benchmarks.lines import Settings, human
from benchmarks.plots import plot
from benchmarks.runner import CaseFailed, default_threads, results
from benchmarks.table import TABLE_CASES, markdown

__all__ = ["main"]


def _parser() -> argparse.ArgumentParser:
    cases = "\n".join(f"  {c.name:<20}{c.meaning}" for c in CASES.values())
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description="Benchmarks of fastscore. Seeded data, one process a case, kernels warmed, best of several runs.",
        epilog=f"cases:\n{cases}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--case", action="append", default=[], metavar="NAME", help="a case, or a pattern; can be repeated")
    parser.add_argument("--rows", type=int, metavar="N", help="rows instead of each case's own number")
    parser.add_argument("--threads", type=int, nargs="+", metavar="N", help="numbers of threads (default: 1 and all cores)")
    parser.add_argument("--repeats", type=int, default=7, metavar="N", help="runs of which the best counts (default: 7)")
    parser.add_argument("--json", action="store_true", help="a JSON line a figure instead of text")
    parser.add_argument("--table", action="store_true", help="print the README's table in Markdown")
    parser.add_argument("--plot", type=Path, metavar="DIR", help="write rows/s against rows and against threads as SVG into DIR")
    parser.add_argument("--smoke", action="store_true", help="tiny rows, all cases, to see that everything runs")
    parser.add_argument("--peers-python", metavar="PATH", help="a Python in which other scorers are installed")
    parser.add_argument("--evaluate-squad", metavar="DIR", help="folder with evaluate's squad metric (it is not in the package)")
    return parser


def main(arguments: list[str] | None = None) -> int:
    """Run the command; returns its exit code."""
    parser = _parser()
    options = parser.parse_args(arguments)
    threads = tuple(options.threads or default_threads())
    if min(threads) < 1 or options.repeats < 1 or (options.rows is not None and options.rows < 1):
        parser.error("--rows, --threads and --repeats: whole numbers from 1 on are allowed")
    try:
        cases = chosen(options.case or (list(TABLE_CASES) if options.table else []))
    except ValueError as error:
        parser.error(str(error))
    settings = Settings(
        rows=0,
        threads=threads,
        repeats=1 if options.smoke else options.repeats,
        naive_rows=20 if options.smoke else 4000,
        smoke=options.smoke,
        peers_python=options.peers_python,
        evaluate_squad=options.evaluate_squad,
    )
    try:
        if options.plot is not None:
            for path in plot(options.plot, settings, options.rows):
                print(path)
            return 0
        lines = []
        for line in results(cases, settings, options.rows):
            lines.append(line)
            if not options.table:
                print(json.dumps(line) if options.json else human(line), flush=True)
            else:
                print(human(line), file=sys.stderr, flush=True)
    except CaseFailed as error:
        print(f"benchmarks: {error}", file=sys.stderr)
        return 1
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    if options.table:
        print(markdown(lines))
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""A process of its own for a case: takes names and settings as JSON, prints a JSON line for each figure as it comes."""

from __future__ import annotations

import dataclasses
import json
import sys

from benchmarks.catalogue import CASES
from benchmarks.lines import Settings

__all__ = ["command", "main"]


def command(jobs: dict[str, Settings]) -> list[str]:
    """The command line that runs these cases in one process."""
    return [sys.executable, "-m", "benchmarks.run_case", json.dumps({name: dataclasses.asdict(s) for name, s in jobs.items()})]


def main(jobs: str) -> None:
    """Run the cases of a JSON object {case: settings}, in order."""
    for name, values in json.loads(jobs).items():
        for line in CASES[name].run(Settings(**{**values, "threads": tuple(values["threads"])})):
            print(line.as_json(), flush=True)


if __name__ == "__main__":
    main(sys.argv[1])

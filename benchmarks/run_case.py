"""A process of its own for a case: takes names and settings as JSON, prints a JSON line for each figure as it comes.

A case that ends with an error is a line ``{"case": name, "failed": message}``, its traceback goes to stderr.
"""

from __future__ import annotations

import dataclasses
import json
import sys
import traceback

from benchmarks.catalogue import CASES
from benchmarks.lines import Settings

__all__ = ["command", "main"]


def command(jobs: dict[str, Settings]) -> list[str]:
    """The command line that runs these cases in one process."""
    return [sys.executable, "-m", "benchmarks.run_case", json.dumps({name: dataclasses.asdict(s) for name, s in jobs.items()})]


def main(jobs: str) -> None:
    """Run the cases of a JSON object {case: settings}, in order."""
    for name, values in json.loads(jobs).items():
        try:
            for line in CASES[name].run(Settings(**{**values, "threads": tuple(values["threads"])})):
                print(line.as_json(), flush=True)
        except Exception as error:  # the cases that follow are to run
            traceback.print_exc()
            print(json.dumps({"case": name, "failed": repr(error)}), flush=True)


if __name__ == "__main__":
    main(sys.argv[1])

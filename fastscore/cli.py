"""The command `fastscore`: thin over the library, one line on standard error for every mistake, results on standard output.

Exit codes: 0 done; 2 the call is wrong; 3 the data are wrong, or `--check` or `--strict` found something; 4 below `--fail-under`;
5 worse than the system before (`compare --fail-on-regression`); 130 stopped by Ctrl-C.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from cyclopts import App, CycloptsError
from cyclopts.config import Env, Toml

from fastscore.commands.console import say
from fastscore.commands.options import STREAM
from fastscore.errors import DataError, FastscoreError, UsageError
from fastscore.version import __version__

__all__ = ["app", "main"]

app = App(
    name="fastscore",
    help="Score question-answering predictions: the published scripts' numbers to the bit, at the speed of reading the file.",
    help_epilogue=(
        "Exit codes: 0 done; 2 wrong call; 3 wrong data, or --check or --strict found something; 4 below --fail-under; "
        "5 worse than the system before (compare --fail-on-regression); 130 stopped. "
        'Options also come from fastscore.toml ([score] recipe = "coqa") and from FASTSCORE_SCORE_RECIPE and the like.'
    ),
    version=__version__,
    version_flags=["--version"],
    suppress_keyboard_interrupt=False,
)

#: The sub-commands, each loaded when it is called: its name, its function's home, its line in `--help`.
_COMMANDS = (
    ("score", "fastscore.commands.score:score", "Score a file of predictions and print the summary."),
    ("retrieval", "fastscore.commands.retrieval:retrieval", "Score ranked documents against judged ones, as trec_eval does."),
    ("compare", "fastscore.commands.compare:compare", "Compare systems on the same items: paired differences with error bars."),
    ("report", "fastscore.commands.report:report", "Write one HTML file with figures, charts and items to look at."),
    ("explain", "fastscore.commands.explain:explain", "Explain one item: normal forms, words, references, and why."),
    ("differ", "fastscore.commands.differ:differ", "Where two scorers disagree on the same items, by how much, and why."),
    ("rewards", "fastscore.commands.rewards:rewards", "Give rollouts rewards and advantages for reinforcement learning."),
    ("merge", "fastscore.commands.merge:merge", "Add up the totals of several runs."),
    ("recipes", "fastscore.commands.recipes:recipes", "List the recipes, or print one with all its parts."),
    ("warmup", "fastscore.commands.warmup:warmup", "Compile all kernels into the cache and say where it is."),
)
for _name, _home, _help in _COMMANDS:
    app.command(_home, name=_name, help=_help)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; the exit code."""
    try:
        given = sys.argv[1:] if arguments is None else arguments
        # Made for each call, since a file found once is remembered.
        app.config = (
            Env("FASTSCORE_", command=True, show=False),
            Toml("fastscore.toml", search_parents=True, allow_unknown=True),
        )
        code = app(
            [STREAM if argument == "-" else argument for argument in given],
            exit_on_error=False,
            print_error=False,
            result_action="return_value",
        )
        sys.stdout.flush()
    except CycloptsError as error:
        say(" ".join(str(error).split()) or "wrong call; see fastscore --help")
        return 2
    except UsageError as error:
        say(str(error))
        return 2
    except (DataError, FastscoreError) as error:
        say(str(error))
        return 3
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        say("stopped")
        return 130
    except MemoryError:
        say("not enough memory; give --memory, or fewer threads")
        return 3
    except OSError as error:
        say(f"{error.filename or 'output'}: {error.strerror or error}")
        return 3
    return code if isinstance(code, int) else 0


if __name__ == "__main__":
    raise SystemExit(main())

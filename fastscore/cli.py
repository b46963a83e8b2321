"""The command `fastscore`: thin over the library, one line on standard error for every mistake, results on standard output.

Exit codes: 0 done; 2 the call is wrong; 3 the data are wrong, or `--check` or `--strict` found something; 4 below `--fail-under`;
5 worse than the system before (`compare --fail-on-regression`); 130 stopped by Ctrl-C, 143 by SIGTERM.
"""

from __future__ import annotations

import importlib
import inspect
import os
import signal
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from cyclopts import App, CycloptsError
from cyclopts.config import Env, Toml
from cyclopts.exceptions import MissingArgumentError

from fastscore.commands.console import give_up_output, open_streams, say
from fastscore.commands.options import STREAM
from fastscore.errors import DataError, FastscoreError, UsageError, did_you_mean
from fastscore.version import __version__

__all__ = ["app", "main"]

app = App(
    name="fastscore",
    help="Score question-answering predictions: the published scripts' numbers to the bit, at the speed of reading the file.",
    help_epilogue=(
        "Exit codes: 0 done; 2 wrong call; 3 wrong data, or --check or --strict found something; 4 below --fail-under; "
        "5 worse than the system before (compare --fail-on-regression); 130 and 143 stopped. "
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
    open_streams()
    before = _on_termination()
    try:
        return _run(arguments)
    finally:
        if before is not None:
            signal.signal(signal.SIGTERM, before)


class _File(Toml):
    """``fastscore.toml``, whose tables of commands may hold the options that the commands have, and no others."""

    def _load_config(self, path: Path) -> dict[str, Any]:
        from fastscore.formats.files import check_file

        try:
            check_file(path)
        except UsageError as error:
            raise CycloptsError(msg=str(error)) from None
        data = super()._load_config(path)
        for name, home, _ in _COMMANDS:
            table = data.get(name)
            if isinstance(table, dict) and name in _called and name != "recipes":  # [recipes.NAME] is a recipe
                known = _options(home)
                wrong = [key for key in table if key.replace("_", "-") not in known]
                if wrong:
                    raise CycloptsError(msg=f"{path}: [{name}] has no option {wrong[0]!r}.{did_you_mean(wrong[0], known)}")
        return data


#: The command that is being run; the others are not imported for their options' names.
_called: set[str] = set()


def _options(home: str) -> set[str]:
    """The names that a command's options have, in a file too."""
    module, _, name = home.partition(":")
    found: set[str] = set()
    for parameter in inspect.signature(getattr(importlib.import_module(module), name), eval_str=True).parameters.values():
        found.add(parameter.name.replace("_", "-"))
        for mark in getattr(parameter.annotation, "__metadata__", ()):
            found.update(str(one).lstrip("-") for one in (*(mark.name or ()), *(mark.alias or ())))
    return found


class _Terminated(BaseException):
    """The process was asked to end; what is half done is taken away on the way out."""


def _on_termination() -> Any:
    """Let SIGTERM be an exception, where that is nobody else's matter; what to give back at the end."""
    if threading.current_thread() is not threading.main_thread() or signal.getsignal(signal.SIGTERM) != signal.SIG_DFL:
        return None

    def terminate(number: int, frame: object) -> None:
        raise _Terminated

    return signal.signal(signal.SIGTERM, terminate)


def _missing(error: CycloptsError) -> str:
    """What is said of a required argument that is not there at all; nothing of another mistake, or of one that is misspelt."""
    said = str(error)
    if not isinstance(error, MissingArgumentError) or error.argument is None or "Did you mean" in said:
        return ""
    if error.keyword is not None or error.argument.tokens:
        return ""
    name, chain = error.argument.name, " ".join(error.command_chain or ())
    such = " (such as --recipe squad; fastscore recipes lists them)" if name == "--recipe" else ""
    return f"{name} is missing{such}; see fastscore {chain} --help"


def _run(arguments: Sequence[str] | None) -> int:
    try:
        given = sys.argv[1:] if arguments is None else arguments
        _called.clear()
        _called.update(given[:1])
        # Made for each call, since a file found once is remembered.
        app.config = (
            Env("FASTSCORE_", command=True, show=False),
            _File("fastscore.toml", search_parents=True, allow_unknown=True),
        )
        code = app(
            [STREAM if argument == "-" else argument for argument in given],
            exit_on_error=False,
            print_error=False,
            result_action="return_value",
        )
        sys.stdout.flush()
    except CycloptsError as error:
        say(_missing(error) or " ".join(str(error).split()) or "wrong call; see fastscore --help")
        return 2
    except UsageError as error:
        say(str(error))
        return 2
    except (DataError, FastscoreError) as error:
        say(str(error))
        return 3
    except BrokenPipeError:
        give_up_output()
        return 0
    except KeyboardInterrupt:
        say("stopped")
        return 130
    except _Terminated:
        say("stopped by SIGTERM")
        return 143
    except MemoryError:
        say("not enough memory; give --memory, or fewer threads")
        return 3
    except OSError as error:
        say(f"{os.fsdecode(error.filename or 'output')}: {error.strerror or error}")
        give_up_output()
        return 3
    except (UnicodeError, RecursionError, OverflowError) as error:  # the last net: readers name file and place
        say(f"a text, a number or a nesting that cannot be worked with: {error}")
        return 3
    return code if isinstance(code, int) else 0


if __name__ == "__main__":
    raise SystemExit(main())

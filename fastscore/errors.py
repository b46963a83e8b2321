"""The exception tree: every error that fastscore raises on purpose, one line a user can act on.

    FastscoreError
    ├── UsageError          the call is wrong (command: exit code 2); also a ValueError
    │   ├── UnknownNameError    no such recipe, column, measure or format ("did you mean"); also a KeyError
    │   └── ColumnTypeError     a column has a type that its role does not allow; also a TypeError
    ├── DataError           the data are wrong (command: exit code 3); also a ValueError
    │   ├── FormatError         a file cannot be read as its format: names file, record and field
    │   ├── EncodingError       text that is not valid UTF-8: names the row
    │   └── KeyMismatchError    keys that are doubled or cannot be joined: names the keys
    └── CheckError          `--check` found a row whose fast score differs from the reference implementation

A message names the parameter or column, what is allowed, what came, where, and what to do.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterable

__all__ = [
    "CheckError",
    "ColumnTypeError",
    "DataError",
    "EncodingError",
    "FastscoreError",
    "FormatError",
    "KeyMismatchError",
    "UnknownNameError",
    "UsageError",
    "did_you_mean",
    "nearest",
    "no_column",
]


class FastscoreError(Exception):
    """Base of every error that fastscore raises on purpose."""


class UsageError(FastscoreError, ValueError):
    """The call is wrong: a parameter, its value or a combination of them."""


class UnknownNameError(UsageError, KeyError):
    """A recipe, column, measure or format of that name does not exist."""

    def __str__(self) -> str:
        return Exception.__str__(self)


class ColumnTypeError(UsageError, TypeError):
    """A column has a type that its role does not allow."""


class DataError(FastscoreError, ValueError):
    """The data are wrong; the message names the rows, keys or file."""


class FormatError(DataError):
    """A file cannot be read as the format it is in."""


class EncodingError(DataError):
    """Text that is not valid UTF-8; `column` and `row` say where, as far as they are known."""

    def __init__(self, message: str, column: str = "", row: int | None = None) -> None:
        super().__init__(message)
        self.column, self.row = column, row


class KeyMismatchError(DataError):
    """Keys that occur twice, are null, or cannot be compared."""


class CheckError(FastscoreError, AssertionError):
    """A fast score differs from the reference implementation's."""


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return " Did you mean 'x'?" for the closest known name, or the list of known names.

    The answer is made for the end of an error message and starts with a blank.
    """
    names = [str(k) for k in known]
    return _guess(nearest(name, names), names)


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name that is closest to `name`, whatever their case; None where none is near."""
    lowered = {n.lower(): n for n in known}
    close = difflib.get_close_matches(name.lower(), list(lowered), n=1, cutoff=0.55)
    return lowered[close[0]] if close else None


def _guess(name: str | None, known: Iterable[str]) -> str:
    if name is not None:
        return f" Did you mean {name!r}?"
    shown = ", ".join(sorted(set(known))[:40])
    return f" Known: {shown}." if shown else ""


#: What the column of predictions is often called elsewhere; `answer` is as often the reference.
_PREDICTIONS = (
    "pred",
    "predicted_answer",
    "prediction_text",
    "model_answer",
    "output",
    "response",
    "completion",
    "generated_text",
)
#: Columns that have a role of their own, however close their names are.
_OTHERS = ("question", "question_id", "turn_id", "sample_id", "prediction", "references")


def no_column(name: str, role: str, known: Iterable[str], where: str = "") -> UnknownNameError:
    """The error for a column of predictions or references that is not there, with the option that names another.

    Parameters
    ----------
    name, where
        What was looked for, and what stands before it in the message.
    role
        ``prediction`` or ``references``.
    known
        The columns that are there.
    """
    names = list(dict.fromkeys(str(k) for k in known))
    others = [n for n in names if name != role or n not in _OTHERS]
    usual = [n for n in others if n.lower() in _PREDICTIONS] if name == role == "prediction" else []
    close = _guess(usual[0] if len(usual) == 1 else nearest(name, others), names)
    advice = "--prediction NAME names another"
    if role == "references":
        advice = "--references NAME names another, or the file of references is given as the second path"
        if "." in name and os.path.isfile(name):
            advice = "--references names a column; give the file as the second path or with --references-file"
    return UnknownNameError(f"{where}column {name!r} is not there.{close} {advice}.")

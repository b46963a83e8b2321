"""Checks of arguments, said in one way: names, whole numbers, paths, threads. Anything comes in; a value or a UsageError out."""

from __future__ import annotations

import operator
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from fastscore.errors import ColumnTypeError, UsageError

__all__ = [
    "MOST",
    "column_name",
    "column_names",
    "fraction",
    "is_path",
    "one_of",
    "optional_text",
    "path_of",
    "text_list",
    "texts_or_none",
    "thread_number",
    "whole_number",
]

#: The largest whole number that an argument may be.
MOST = 2**63 - 1
#: More threads than any machine has cores; each costs memory of its own.
_MOST_THREADS = 4_096


def column_name(value: Any, parameter: str) -> str:
    """A column's name, which may be empty. Raises UsageError where it is no text."""
    if not isinstance(value, str):
        raise UsageError(f"{parameter}: a column's name (text) is allowed, got {type(value).__name__}")
    return str(value)


def column_names(value: Any, parameter: str) -> tuple[str, ...]:
    """Column names in order, each once: a text is one, None is none. Raises UsageError where they are no texts."""
    if value is None:
        return ()
    if isinstance(value, str):
        return (str(value),)
    if isinstance(value, (bytes, bytearray, Mapping)) or not hasattr(value, "__iter__"):
        raise UsageError(f"{parameter}: column names are allowed, a text or a list of texts, got {type(value).__name__}")
    try:
        names = list(value)
    except TypeError:
        names = [value]
    for name in names:
        if not isinstance(name, str):
            raise UsageError(f"{parameter}: column names (text) are allowed, got one of type {type(name).__name__}")
    return tuple(dict.fromkeys(map(str, names)))


def optional_text(value: Any, parameter: str) -> str | None:
    """A text or None. Raises UsageError where it is neither."""
    if value is not None and not isinstance(value, str):
        raise UsageError(f"{parameter}: text or None is allowed, got {type(value).__name__}")
    return value


def one_of(value: Any, parameter: str, allowed: Sequence[str]) -> str:
    """A text that is one of those allowed. Raises UsageError where it is not."""
    if isinstance(value, str) and value in allowed:
        return value
    raise UsageError(f"{parameter} must be {' or '.join(map(repr, allowed))}, got {f'{value!r:.80}'}")


def is_path(value: Any) -> bool:
    """Whether a value names a file: text or a path object."""
    return isinstance(value, (str, os.PathLike)) and not isinstance(value, type)


def path_of(value: Any, parameter: str) -> Path:
    """A path. Raises UsageError where it is empty, in bytes or has a zero character."""
    text = os.fspath(value)
    if not isinstance(text, str) or not text or "\0" in text:
        raise UsageError(f"{parameter}: the path of a file is allowed, got {f'{text!r:.80}'}")
    return Path(text)


def whole_number(value: Any, parameter: str, least: int = 0, most: int = MOST) -> int:
    """A whole number, numpy's too, from `least` to `most`. Raises UsageError where it is none."""
    try:
        number = None if isinstance(value, bool) else operator.index(value)
    except TypeError:
        number = None
    if number is None:
        shown = f"{value!r:.60}" if isinstance(value, (str, float, bool, type(None))) else type(value).__name__
        raise UsageError(f"{parameter}: a whole number from {least} on is allowed, got {shown}")
    if not least <= number <= most:
        limit = f"from {least} on" if number < least else f"up to {most}"
        raise UsageError(f"{parameter}: a whole number {limit} is allowed, got {_shown(number)}")
    return number


def fraction(value: Any, parameter: str) -> float:
    """A number between 0 and 1, neither of them. Raises UsageError where it is none."""
    try:
        number = 0.0 if isinstance(value, (str, bytes, bool)) else float(value)
    except (TypeError, ValueError, OverflowError):
        number = 0.0
    if 0 < number < 1:
        return number
    raise UsageError(f"{parameter}: a number between 0 and 1 is allowed, got {f'{value!r:.60}'}.")


def texts_or_none(values: Any, parameter: str) -> list[str | None] | None:
    """A list of texts, None among them, or None. Raises UsageError where it is none."""
    if values is None:
        return None
    if isinstance(values, (str, bytes, Mapping)) or not isinstance(values, Sequence):
        raise UsageError(f"{parameter}: a list of texts is allowed, got {type(values).__name__}.")
    for value in values:
        if value is not None and not isinstance(value, str):
            raise UsageError(f"{parameter}: a list of texts is allowed, got one of type {type(value).__name__}.")
    return list(values)


def thread_number(threads: Any) -> int:
    """How many threads may work; None: all cores of the affinity mask. Raises UsageError where it is no number of threads."""
    if threads is None:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return whole_number(threads, "threads", 1, _MOST_THREADS)


def text_list(value: Any, parameter: str) -> list[Any]:
    """The entries of a list of texts; a text alone is a list of one. Arrow arrays, polars and numpy columns are lists too.

    Raises ColumnTypeError where it is no list.
    """
    if isinstance(value, str):
        return [value]
    if hasattr(value, "to_pylist"):
        return list(value.to_pylist())
    if isinstance(value, (bytes, bytearray, Mapping)) or not hasattr(value, "__iter__"):
        raise ColumnTypeError(f"{parameter}: text or a list of texts is allowed, got {type(value).__name__}")
    if isinstance(value, Sequence):
        return list(value)
    try:
        return list(value)
    except TypeError:
        raise ColumnTypeError(f"{parameter}: text or a list of texts is allowed, got {type(value).__name__}") from None


def _shown(number: int) -> str:
    """A number of any size in bounded length."""
    return str(number) if number.bit_length() <= 128 else f"a number of {number.bit_length()} bits"

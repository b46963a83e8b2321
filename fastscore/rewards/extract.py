r"""Answers taken out of completions, before anything is scored: an Arrow text column and a specification in, the answers out.

A specification is one step or a chain of steps joined by ``>``, each of which works on what the step before found:

==================  ===========================================================================================
``tag:answer``      inside the last ``<answer>...</answer>``, paired from left to right (as ``re.findall`` would)
``boxed``           inside the last ``\boxed{...}`` or ``\fbox{...}`` with balanced braces; one ``\text{...}``
                    (``\textbf``, ``\mathrm``, ``\mbox``) around all of it goes
``after:STRING``    what follows the last STRING, such as ``after:####`` or ``after:</think>``
``line:first``      the first line of the stripped text; ``line:last`` its last
``regex:PATTERN``   the last match of a regular expression without backtracking (Rust syntax, as in polars), or of its
                    first group
==================  ===========================================================================================

White space around an answer goes (`str.strip`). The last match wins: of eleven tags the eleventh, of nested ones the pair that
the first opening and the first closing one make (as Search-R1 and verl have it), while of nested boxes it is the inner one. What
is not closed is passed over, so an earlier whole one counts; absent, it is a failure. ``tests/test_rewards_extract.py`` has a
table of awkward completions and what each gives.
A step that finds nothing fails: the answer is null and its flag is set, which is something else than an empty answer
(``<answer></answer>`` gives one). Only completions belong here: a prompt that shows the tags would be matched too.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa

from fastscore.errors import UnknownNameError, UsageError, nearest
from fastscore.kernels import extract as kernels
from fastscore.kernels.threads import run_in_threads
from fastscore.text.columns import TextColumn, text_column
from fastscore.text.normalize import not_utf8

__all__ = ["Extraction", "as_array", "extract", "narrow", "parse_extraction"]

_KINDS = ("tag", "boxed", "after", "line", "regex")
_FORMS = "tag:NAME, boxed, after:STRING, line:first, line:last and regex:PATTERN"
_NEXT_STEP = re.compile(r">(?=(?:tag|after|regex):|line:(?:first|last)(?:>|$)|boxed(?:>|$))")
#: Noncharacters of Unicode, which no text for interchange holds, to mark what a regular expression matched.
_MARKS = ("\ufdd0", "\ufdd1")
Flags = npt.NDArray[np.uint8]


@dataclass(frozen=True)
class Extraction:
    """One step: its kind and its argument (a tag's name, a string, ``first`` or ``last``, a pattern)."""

    kind: str
    argument: str = ""

    @cached_property
    def wanted(self) -> tuple[npt.NDArray[np.uint8], ...]:
        """The bytes that the step's kernel looks for."""
        if self.kind == "tag":
            texts: tuple[str, ...] = (f"<{self.argument}>", f"</{self.argument}>")
        elif self.kind == "regex":
            texts = _MARKS
        else:
            texts = (self.argument,)
        return tuple(np.frombuffer(t.encode(), dtype=np.uint8) for t in texts)

    def __str__(self) -> str:
        return f"{self.kind}:{self.argument}" if self.argument else self.kind


def parse_extraction(spec: str | Sequence[str]) -> tuple[Extraction, ...]:
    """Read a specification: a text of steps joined by ``>``, or a sequence of steps, in which nothing is split.

    Raises
    ------
    UnknownNameError
        There is no such kind of step.
    UsageError
        A step lacks its argument, has one that is not allowed, or the pattern is not a regular expression.
    """
    parts = _NEXT_STEP.split(spec) if isinstance(spec, str) else list(spec)
    if not parts or not all(isinstance(p, str) for p in parts):
        raise UsageError(f"extract: steps such as 'tag:answer' or 'after:####>line:first' are allowed, got {spec!r}")
    return tuple(_step(part) for part in parts)


def extract(
    column: pa.Array | pa.ChunkedArray, spec: str | Sequence[str], *, threads: int | None = 1
) -> tuple[pa.Array | pa.ChunkedArray, npt.NDArray[np.bool_]]:
    """Take the answer out of every completion of a text column.

    Parameters
    ----------
    column
        `n` completions in any Arrow text layout.
    spec
        What to take; the module's docstring has the steps.
    threads
        How many threads may work; None: all cores.

    Returns
    -------
    answers, failed
        large_string of `n` rows (in chunks where the column is), null where the completion is null or a step found nothing; and
        bool[n], set where a completion that is not null has no answer.

    Raises
    ------
    UnknownNameError, UsageError
        The specification cannot be read.
    ColumnTypeError
        The column holds no text.
    """
    steps = parse_extraction(spec)
    if isinstance(column, pa.ChunkedArray):
        pairs = [extract(chunk, [str(s) for s in steps], threads=threads) for chunk in column.chunks]
        flags = np.concatenate([failed for _, failed in pairs]) if pairs else np.zeros(0, dtype=np.bool_)
        return pa.chunked_array([answers for answers, _ in pairs], type=pa.large_string()), flags
    found, failed = narrow(text_column(column), steps, threads=threads)
    answers = as_array(found)
    if not pa.types.is_string(column.type) and not pa.types.is_large_string(column.type):
        _check_utf8(answers, found)
    return answers, failed


def narrow(
    column: TextColumn, steps: Sequence[Extraction], *, threads: int | None = 1
) -> tuple[TextColumn, npt.NDArray[np.bool_]]:
    """Narrow a text column to its answers, without copying text where no step is a ``regex``.

    Returns the column, in which rows without an answer are null, and bool[n] of the rows whose text, not null, has none.
    """
    starts, ends = column.starts.copy(), column.ends.copy()
    failed = np.zeros(starts.size, dtype=np.uint8)
    if column.valid is not None:
        failed[~column.valid] = 1
    data = column.data
    for step in steps:
        if step.kind == "regex":
            marked = _marked(TextColumn(data, starts, ends, failed == 0), step.argument)
            data, starts, ends = marked.data, marked.starts.copy(), marked.ends.copy()
        _run(step, data, starts, ends, failed, threads)
    if column.valid is None:
        flags = failed.view(np.bool_)
        return TextColumn(data, starts, ends, ~flags if flags.any() else None), flags
    return TextColumn(data, starts, ends, failed == 0), (failed != 0) & column.valid


def as_array(column: TextColumn) -> pa.Array:
    """A text column as a large_string array of its own."""
    starts, sizes = column.starts, column.ends - column.starts
    if column.valid is not None:
        sizes = np.where(column.valid, sizes, 0)
    offsets = np.zeros(sizes.size + 1, dtype=np.int64)
    np.cumsum(sizes, out=offsets[1:])
    out = np.empty(int(offsets[-1]), dtype=np.uint8)
    kernels.copy_texts(column.data, starts, offsets, out)
    mask = None if column.valid is None else pa.array(column.valid).buffers()[1]
    return pa.Array.from_buffers(pa.large_string(), sizes.size, [mask, pa.py_buffer(offsets), pa.py_buffer(out)])


def _run(
    step: Extraction,
    data: npt.NDArray[np.uint8],
    starts: npt.NDArray[np.int64],
    ends: npt.NDArray[np.int64],
    failed: Flags,
    threads: int | None,
) -> None:
    """Run one step's kernel over all rows."""

    def work(low: int, high: int) -> int:
        if step.kind in ("tag", "regex"):
            kernels.narrow_to_last_tag(data, starts, ends, *step.wanted, failed, low, high)
        elif step.kind == "boxed":
            kernels.narrow_to_box(data, starts, ends, failed, low, high)
        elif step.kind == "after":
            kernels.narrow_to_rest(data, starts, ends, *step.wanted, failed, low, high)
        else:
            kernels.narrow_to_line(data, starts, ends, step.argument == "last", failed, low, high)
        return 0

    run_in_threads(work, starts.size, threads)


def _step(text: str) -> Extraction:
    kind, colon, argument = text.partition(":")
    if kind not in _KINDS:
        tag = re.fullmatch(r"<?/?([A-Za-z][\w-]*)/?>?", text)
        close = nearest(kind, _KINDS) or (f"tag:{tag[1]}" if tag else None)
        guess = f" Did you mean {close!r}?" if close else ""
        raise UnknownNameError(f"extract: there is no step {text!r}.{guess} Steps are {_FORMS}.")
    if kind == "boxed":
        if colon:
            raise UsageError(f"extract: boxed takes no argument, got {text!r}")
    elif not argument:
        raise UsageError(f"extract: {kind} needs an argument, such as {_EXAMPLES[kind]!r}, got {text!r}")
    elif kind == "line" and argument not in ("first", "last"):
        raise UsageError(f"extract: line:first or line:last is allowed, got {text!r}")
    elif kind == "tag" and re.search(r"[<>/\s]", argument):
        raise UsageError(f"extract: a tag's bare name is needed, such as 'tag:answer', got {text!r}")
    elif kind == "regex":
        _groups(argument)
    return Extraction(kind, argument)


_EXAMPLES = {"tag": "tag:answer", "after": "after:####", "line": "line:last", "regex": r"regex:Answer: (\w+)"}


@lru_cache(maxsize=256)
def _groups(pattern: str) -> int:
    """How many groups a regular expression has."""
    try:
        fields = pl.select(pl.lit("").str.extract_groups(pattern)).to_series().struct.fields
    except pl.exceptions.ComputeError as error:
        reason = str(error).strip().splitlines()[-1].removeprefix("error: ")
        raise UsageError(f"extract: regex:{pattern} is not a regular expression of polars: {reason}") from None
    return len(fields)


def _marked(column: TextColumn, pattern: str) -> TextColumn:
    """The column with marks around each match of the pattern, or around its first group's part of it.

    Replacing in the whole text lets anchors and word boundaries see what stands around a match.
    """
    series = pl.Series("text", pl.from_arrow(as_array(column)))
    for mark in _MARKS:
        if series.str.contains(mark, literal=True).any():
            series = series.str.replace_all(mark, "\ufffd", literal=True)
    group = "${1}" if _groups(pattern) else "${0}"
    return text_column(series.str.replace_all(pattern, f"{_MARKS[0]}{group}{_MARKS[1]}").to_arrow(), "completions")


def _check_utf8(answers: pa.Array, found: TextColumn) -> None:
    try:
        answers.validate(full=True)
    except pa.ArrowInvalid:
        for row in range(len(answers)):
            try:
                bytes(found.data[found.starts[row] : found.ends[row]]).decode()
            except UnicodeDecodeError:
                raise not_utf8("column", row) from None
        raise

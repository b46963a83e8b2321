"""Positional metrics of predicted answer spans against reference spans: exact span, F1 on characters, top-n accuracy.

Arrow list columns of {start, end} in any list layout come in; one float64 column a metric goes out, row for row. Offsets
are code points of the context and ranges are half-open, ``[start, end)``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from fastscore.arguments import thread_number, whole_number
from fastscore.arrow import foreign_errors, kind_of, one_chunk, sound
from fastscore.errors import ColumnTypeError, DataError, UsageError
from fastscore.kernels import spans as kernels

__all__ = ["Spans", "read_spans", "score_spans"]

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

_ALL = np.zeros(0, dtype=np.uint8)
_BLOCK = 1 << 14  # rows checked, then scored, while they are still in the processor's cache


@dataclass(frozen=True)
class Spans:
    """A column of lists of spans: row i holds ``start`` and ``end`` (int64) from ``begin[i]`` to ``stop[i]`` (int64).

    ``valid`` holds one bit a span from bit ``bit`` on, 0 where it is no answer; it is empty where all spans are answers.
    ``in_order`` says that the rows' lists follow each other without holes.
    """

    begin: Ints
    stop: Ints
    start: Ints
    end: Ints
    valid: npt.NDArray[np.uint8]
    bit: int
    in_order: bool
    name: str

    def __len__(self) -> int:
        return len(self.begin)

    @property
    def arrays(self) -> tuple[Ints, Ints, Ints, Ints, npt.NDArray[np.uint8], int]:
        """What the kernels take of it."""
        return self.begin, self.stop, self.start, self.end, self.valid, self.bit


def score_spans(
    prediction_spans: pa.Array | pa.ChunkedArray,
    reference_spans: pa.Array | pa.ChunkedArray,
    *,
    overlap: Literal["half-open", "touching"] = "half-open",
    top_n: Sequence[int] = (),
    threads: int = 1,
) -> dict[str, Floats]:
    """Score each row's predicted spans, in rank order, against its reference spans.

    Parameters
    ----------
    prediction_spans, reference_spans
        Lists of struct<start, end> of any integer type, of one length. A null row holds no span; a null span or one
        with a null start is no answer: it keeps its rank and overlaps nothing.
    overlap
        ``half-open``: two spans overlap where ``max(starts) < min(ends)``. ``touching``: ``<=``, as the reader evaluation
        of haystack 0.8 compares. It changes the ``top_`` columns alone.
    top_n
        For each n a column ``top_n``: 1.0 if one of the first n predicted spans overlaps a reference. ``top_1`` is always there.
    threads
        How many threads share the rows. The values do not depend on it.

    Returns
    -------
    dict
        float64 columns in [0, 1], one value a row: ``exact_span`` (the first span is a reference's pair of offsets),
        ``span_f1`` (F1 of the first span on characters, best over references), ``top_1`` and the other ``top_n``.

    Raises
    ------
    UsageError
        `overlap`, `top_n`, `threads` or the two lengths are not allowed.
    ColumnTypeError
        A column is no list of struct<start, end> of integers.
    DataError
        A span is negative, ends before it starts or has a start but no end; the message names its row.
    """
    ns = _check_options(overlap, top_n)
    threads = thread_number(threads)
    predictions = read_spans(prediction_spans, "prediction_spans")
    references = read_spans(reference_spans, "reference_spans")
    rows = len(predictions)
    if rows != len(references):
        raise UsageError(f"prediction_spans has {rows} rows and reference_spans {len(references)}: they must be of one length")
    touching = int(overlap == "touching")
    exact, f1, top = np.empty(rows), np.empty(rows), np.empty((len(ns), rows))

    def score(lo: int, hi: int) -> None:
        for block in range(lo, hi, _BLOCK):
            until = min(block + _BLOCK, hi)
            _check_block(predictions, block, until)
            _check_block(references, block, until)
            kernels.score_spans(*predictions.arrays, *references.arrays, ns, touching, block, until, exact, f1, top)

    _over_rows(score, rows, threads)
    return {"exact_span": exact, "span_f1": f1, **{f"top_{n}": top[i] for i, n in enumerate(ns.tolist())}}


def _check_options(overlap: str, top_n: Sequence[int]) -> Ints:
    if overlap not in ("half-open", "touching"):
        raise UsageError(f"overlap must be 'half-open' or 'touching', got {overlap!r}")
    if not isinstance(top_n, Iterable) or isinstance(top_n, (str, bytes)):
        raise UsageError(f"top_n: a list of whole numbers from 1 on is allowed, got {type(top_n).__name__}")
    return np.array(sorted({1, *(whole_number(n, "top_n", 1) for n in top_n)}), dtype=np.int64)


def _over_rows(score: Any, rows: int, threads: int) -> None:
    """Call ``score(lo, hi)`` on ranges that cover the rows; an error of the lowest range is raised first."""
    share = -(-rows // threads)
    if threads == 1 or share < _BLOCK:
        score(0, rows)
        return
    with ThreadPoolExecutor(threads) as pool:
        tasks = [pool.submit(score, lo, min(lo + share, rows)) for lo in range(0, rows, share)]
        for task in tasks:
            task.result()


def _check_block(spans: Spans, lo: int, hi: int) -> None:
    found = np.zeros(2, dtype=np.int64)
    if spans.in_order:
        kernels.suspicious_spans(spans.start, spans.end, spans.begin[lo], spans.stop[hi - 1], found)
        if not found[0]:
            return
    kernels.unsound_row(*spans.arrays, lo, hi, found)
    row, span = found.tolist()
    if row >= 0:
        raise DataError(
            f"{spans.name}, row {row}: a span must have a start from 0 on and an end not before it (code points, half-open), "
            f"got start {spans.start[span]}, end {spans.end[span]}. Give a null start for no answer."
        )


def read_spans(column: pa.Array | pa.ChunkedArray, name: str) -> Spans:
    """Bring a list column of spans, of any list layout, sliced or not, to one layout; lists are not copied.

    Raises
    ------
    ColumnTypeError
        The column is no list of struct<start, end> of integers.
    DataError
        An offset does not fit in int64, or the array is broken.
    """
    if not isinstance(column, (pa.Array, pa.ChunkedArray)):
        raise ColumnTypeError(f"{name}: an Arrow column of lists of struct<start, end> is allowed, got {type(column).__name__}")
    sound(column, name)
    array = _one_array(column, name)
    if pa.types.is_null(array.type):
        none = np.zeros(len(array), dtype=np.int64)
        return Spans(none, none, none[:0], none[:0], _ALL, 0, True, name)
    begin, stop, in_order = _list_bounds(array, name)
    if array.null_count:
        stop = np.where(array.is_valid().to_numpy(zero_copy_only=False), stop, begin)
        in_order = False
    values = array.values
    if pa.types.is_null(values.type):
        values = pa.nulls(len(values), pa.struct([("start", pa.int64()), ("end", pa.int64())]))
    if not pa.types.is_struct(values.type):
        raise ColumnTypeError(f"{name}: must be lists of struct<start, end>, got {kind_of(array.type)}")
    start, end = _offset_column(values, "start", name), _offset_column(values, "end", name)
    answers = _answers(values, start)
    bounds = begin, stop, _numpy(start), _numpy(end)
    if answers is None:
        spans = Spans(*bounds, _ALL, 0, in_order, name)
    else:
        bits = np.frombuffer(answers.buffers()[1], dtype=np.uint8)
        spans = Spans(*bounds, bits, answers.offset, in_order, name)
    if end.null_count:
        _check_ends(spans, end.is_null() if answers is None else pc.and_(answers, end.is_null()))
    return spans


def _one_array(column: pa.Array | pa.ChunkedArray, name: str) -> pa.Array:
    """A sound column as one array of its own values: chunks put together, a dictionary and run ends written out."""
    with foreign_errors(name):
        array = one_chunk(column)
        if isinstance(array, pa.ExtensionArray):
            array = array.storage
        if pa.types.is_run_end_encoded(array.type):
            array = pc.run_end_decode(array)
        if pa.types.is_dictionary(array.type):
            array = array.dictionary.take(array.indices)
    return array


def _list_bounds(array: pa.Array, name: str) -> tuple[Ints, Ints, bool]:
    """Where each row's values begin and stop in ``array.values``, whatever the list layout, and whether rows are in order."""
    kind = array.type
    if pa.types.is_fixed_size_list(kind):
        begin = (np.arange(len(array), dtype=np.int64) + array.offset) * kind.list_size
        return begin, begin + kind.list_size, True
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        offsets = array.offsets.to_numpy().astype(np.int64, copy=False)
        return offsets[:-1], offsets[1:], True
    if pa.types.is_list_view(kind) or pa.types.is_large_list_view(kind):
        begin = array.offsets.to_numpy().astype(np.int64, copy=False)
        return begin, begin + array.sizes.to_numpy(), False
    raise ColumnTypeError(f"{name}: must be lists of struct<start, end>, got {kind_of(kind)}")


def _answers(values: pa.StructArray, start: pa.Array) -> pa.BooleanArray | None:
    """Which spans are answers, or None where all are: neither the span nor its start is null."""
    if not values.null_count and not start.null_count:
        return None
    return pc.and_(values.is_valid(), start.is_valid())


def _check_ends(spans: Spans, no_end: pa.BooleanArray) -> None:
    if not no_end.true_count:
        return
    missing = no_end.to_numpy(zero_copy_only=False)
    for row in range(len(spans)):
        for span in range(spans.begin[row], spans.stop[row]):
            if missing[span]:
                raise DataError(
                    f"{spans.name}, row {row}: a span must have an end where it has a start, got start {spans.start[span]} "
                    "and a null end. Give a null start for no answer."
                )


def _offset_column(values: pa.StructArray, field: str, name: str) -> pa.Array:
    index = values.type.get_field_index(field)
    if index < 0:
        raise ColumnTypeError(f"{name}: its structs must have the fields start and end once each, got {kind_of(values.type)}")
    column = values.field(index)
    if pa.types.is_null(column.type):
        return pa.nulls(len(column), pa.int64())
    if not pa.types.is_integer(column.type):
        raise ColumnTypeError(f"{name}: {field} must be of an integer type, got {kind_of(column.type)}")
    try:
        column = column.cast(pa.int64())
    except pa.ArrowInvalid as error:
        raise DataError(f"{name}: {field} must fit in int64 ({error})") from None
    return column


def _numpy(column: pa.Array) -> Ints:
    """The values of an int64 column without a copy; what stands under a null is undefined."""
    length, offset, data = len(column), column.offset, column.buffers()[1]
    if data is None:
        return np.zeros(length, dtype=np.int64)
    return np.frombuffer(data, dtype=np.int64)[offset : offset + length]

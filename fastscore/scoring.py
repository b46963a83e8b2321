"""`score_batch`, the one pure function that scores: a batch of aligned items in, a batch of item scores out, row i for row i.

It is stateless, picklable and order-free; the file pipeline, the engines and the reward adapters are thin callers of it.
`score_one` is the same for a single answer, without Arrow around it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from fastscore.arguments import column_name, column_names, text_list, thread_number, whole_number
from fastscore.arrow import check_sizes, foreign_errors, guarded, refuse_doubled, sound
from fastscore.errors import ColumnTypeError, UnknownNameError, UsageError, did_you_mean
from fastscore.metrics.spans import score_spans
from fastscore.metrics.words import score_words
from fastscore.recipes import Recipe, find_recipe
from fastscore.schema import WORD_METRICS, Status
from fastscore.statuses import status_array, status_codes
from fastscore.text.columns import ListColumn, TextColumn, list_column, text_column

__all__ = [
    "KEY_COLUMNS",
    "metric_names",
    "score_batch",
    "score_one",
    "span_metrics",
    "status_array",
    "status_codes",
    "top_ns",
]

#: The columns that are kept as keys where a batch has them.
KEY_COLUMNS = ("question_id", "turn_id", "sample_id")


@guarded
def score_batch(
    batch: pa.RecordBatch,
    recipe: str | Recipe,
    *,
    prediction: str = "prediction",
    references: str = "references",
    keep: Sequence[str] = (),
    top_n: int | Sequence[int] = 1,
    threads: int | None = 1,
) -> pa.RecordBatch:
    """Score a batch of aligned items.

    Parameters
    ----------
    batch
        `n` rows with a text column `prediction` and a column `references` of lists of text (or text for a single one), in any
        Arrow layout; where it has ``prediction_spans`` and ``reference_spans`` and the recipe scores spans, these too.
        A column ``status`` may say beforehand which rows are missing or unmatched.
    recipe
        A name, a signature or a `Recipe`.
    prediction, references
        What the two columns are called.
    keep
        Columns handed on unchanged besides the key columns.
    top_n
        For which n to give the column ``top_n``; 1 is always given.
    threads
        How many threads may work; None: all cores.

    Returns
    -------
    pyarrow.RecordBatch
        `n` rows in the same order: key and kept columns, exact_match, f1, precision, recall (float64 in [0, 1]),
        best_reference (int32), the span columns, and status. A row without a score is null; where the recipe counts a missing
        prediction as zero it is 0 and its status says why.

    Raises
    ------
    UnknownNameError
        A column or the recipe is unknown.
    ColumnTypeError
        A column has a type that its role does not allow, or `batch` is no record batch.
    UsageError
        Two columns have one name, or an argument is not allowed.
    EncodingError
        A text is not valid UTF-8; names the row.
    DataError
        A column's Arrow array is broken.
    """
    found = find_recipe(recipe)
    batch = _batch(batch)
    rows = batch.num_rows
    workers, ns = thread_number(threads), top_ns(top_n)
    prediction, references = column_name(prediction, "prediction"), column_name(references, "references")
    handed_on = (*(k for k in KEY_COLUMNS if k in batch.schema.names), *_kept(batch, column_names(keep, "keep")))
    columns = {name: batch.column(name) for name in handed_on}
    for name in handed_on:
        if name not in (prediction, references):
            sound(columns[name], f"column {name!r}")
    status = status_codes(batch)
    texts = text_column(_array(batch, prediction), prediction)
    lists = list_column(_array(batch, references), references)
    scores = score_words(texts, lists, found, status=status, threads=workers)
    unscored = _unscored(scores.status, found)
    for name in WORD_METRICS:
        columns[name] = float_array(getattr(scores, name), unscored)
    best = scores.best_reference
    columns["best_reference"] = pa.array(best, mask=best < 0) if (best < 0).any() else pa.array(best)
    if span_metrics(batch.schema, found, ns):
        overlap: Literal["half-open", "touching"] = "touching" if found.spans == "touching" else "half-open"
        pair = batch.column("prediction_spans"), batch.column("reference_spans")
        given = score_spans(*pair, overlap=overlap, top_n=ns)
        silent = scores.status != Status.OK
        for name, values in given.items():
            if silent.any():
                values[silent] = 0.0
            columns[name] = float_array(values, unscored)
    columns["status"] = status_array(scores.status)
    assert all(len(c) == rows for c in columns.values())
    given = {name: batch.schema.field(name).with_nullable(True) for name in handed_on}
    fields = [given.get(name) or pa.field(name, column.type) for name, column in columns.items()]
    return pa.RecordBatch.from_arrays(list(columns.values()), schema=pa.schema(fields))


@guarded
def score_one(prediction: str | None, references: str | Sequence[str | None] | None, recipe: str | Recipe) -> dict[str, Any]:
    """Score a single answer.

    Parameters
    ----------
    prediction
        The answer, or None.
    references
        The gold answers, or one as a string.
    recipe
        A name, a signature or a `Recipe`.

    Returns
    -------
    dict
        exact_match, f1, precision, recall (float or None), best_reference (int or None) and status, as `score_batch` gives.

    Raises
    ------
    ColumnTypeError
        An argument is neither text nor None.
    """
    found = find_recipe(recipe)
    texts = _texts_of([prediction], "prediction")
    given = _texts_of([] if references is None else text_list(references, "references"), "references")
    kept = np.flatnonzero(given.valid) if given.valid is not None else None
    places = None
    if kept is not None:
        given, places = TextColumn(given.data, given.starts[kept], given.ends[kept], None), kept.astype(np.int64)
    count = given.starts.size
    valid = np.zeros(1, dtype=np.bool_) if references is None else None
    lists = ListColumn(given, np.zeros(1, dtype=np.int64), np.full(1, count, dtype=np.int64), places, valid)
    scores = score_words(texts, lists, found)
    code = Status(int(scores.status[0]))
    if _unscored(scores.status, found) is not None:
        return {**dict.fromkeys(WORD_METRICS), "best_reference": None, "status": code.label}
    best = int(scores.best_reference[0])
    values = {name: float(getattr(scores, name)[0]) for name in WORD_METRICS}
    return {**values, "best_reference": best if best >= 0 else None, "status": code.label}


def metric_names(schema: pa.Schema) -> tuple[str, ...]:
    """The metric columns of a table of item scores, in order."""
    return tuple(f.name for f in schema if pa.types.is_float64(f.type) and _is_metric(f.name))


def span_metrics(schema: pa.Schema, recipe: Recipe, top_n: int | Sequence[int]) -> tuple[str, ...]:
    """The span columns that scoring a batch of this schema adds."""
    if recipe.spans == "none" or not {"prediction_spans", "reference_spans"} <= set(schema.names):
        return ()
    return ("exact_span", "span_f1", *(f"top_{n}" for n in top_ns(top_n)))


def float_array(values: npt.NDArray[np.float64], missing: npt.NDArray[np.bool_] | None) -> pa.Array:
    """A float64 column over the array's own memory, null where `missing`."""
    if missing is not None:
        return pa.array(values, mask=missing)
    return pa.Array.from_buffers(pa.float64(), values.size, [None, pa.py_buffer(values)])


def _is_metric(name: str) -> bool:
    return name in (*WORD_METRICS, "exact_span", "span_f1") or (name.startswith("top_") and name[4:].isdigit())


def top_ns(top_n: int | Sequence[int]) -> tuple[int, ...]:
    """The n of the columns top_n, 1 always among them. Raises UsageError where one is no whole number from 1 on."""
    several = isinstance(top_n, Iterable) and not isinstance(top_n, (str, bytes)) and getattr(top_n, "ndim", 1) != 0
    wanted: Iterable[Any] = top_n if several and isinstance(top_n, Iterable) else (top_n,)
    return tuple(sorted({1, *(whole_number(n, "top_n", 1) for n in wanted)}))


def _unscored(status: npt.NDArray[np.uint8], recipe: Recipe) -> npt.NDArray[np.bool_] | None:
    """Which rows have no score, or None where all have one."""
    silent = status >= Status.NO_REFERENCES
    if recipe.missing == "skip":
        silent |= status != Status.OK
    return silent if silent.any() else None


def _batch(batch: Any) -> pa.RecordBatch:
    """The record batch, checked to be one whose columns have names of their own."""
    if not isinstance(batch, pa.RecordBatch):
        if isinstance(batch, type) or not hasattr(batch, "__arrow_c_array__") or isinstance(batch, pa.Array):
            raise ColumnTypeError(
                f"batch: a pyarrow.RecordBatch is allowed, got {type(batch).__name__}; fastscore.score takes tables and frames"
            )
        with foreign_errors("batch"):
            batch = pa.record_batch(batch)
    refuse_doubled(batch.schema.names, "batch")
    check_sizes(batch, "batch")
    return batch


def _array(batch: pa.RecordBatch, name: str) -> pa.Array:
    if name not in batch.schema.names:
        raise UnknownNameError(f"column {name!r} is not in the table.{did_you_mean(name, batch.schema.names)}")
    return batch.column(name)


def _kept(batch: pa.RecordBatch, keep: Sequence[str]) -> list[str]:
    for name in keep:
        _array(batch, name)
        if _is_metric(name) or name in ("status", "best_reference"):
            raise UsageError(f"keep: {name!r} is the name of a score column; rename the input's column first")
    return [name for name in dict.fromkeys(keep) if name not in KEY_COLUMNS]


def _texts_of(texts: list[str | None], name: str) -> TextColumn:
    """Python strings as a text column; lone surrogates, which UTF-8 cannot hold, become U+FFFD."""
    parts: list[bytes] = []
    valid = True
    for text in texts:
        if text is None:
            valid = False
            parts.append(b"")
        elif isinstance(text, str):
            try:
                parts.append(text.encode())
            except UnicodeEncodeError:
                parts.append(text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace").encode())
        else:
            raise ColumnTypeError(f"{name}: text or None is allowed, got {type(text).__name__}")
    offsets = np.zeros(len(parts) + 1, dtype=np.int64)
    np.cumsum([len(p) for p in parts], out=offsets[1:])
    mask = None if valid else np.array([t is not None for t in texts], dtype=np.bool_)
    return TextColumn(np.frombuffer(b"".join(parts), dtype=np.uint8), offsets[:-1], offsets[1:], mask)

"""Predicted positions held against their context: a table of aligned items in, counts of what lies beside the text out.

A span that a model put past its context overlaps nothing, and a text that is not at its offset hints at another convention of
offsets (bytes, inclusive ends); neither is an error, both are counted and said.
"""

from __future__ import annotations

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

__all__ = ["count_misplaced"]


def count_misplaced(table: pa.Table) -> dict[str, int]:
    """Count spans outside their context, and first spans within it whose text is not the prediction.

    Parameters
    ----------
    table
        Items with ``prediction``, ``prediction_spans`` (lists of {start, end}) and ``context`` (text, or a dictionary of it);
        without one of these there is nothing to count. Rows without a context are passed over.

    Returns
    -------
    dict
        ``spans_outside_context`` and ``text_not_at_offset``; empty where there is nothing to count.
    """
    if not {"prediction", "prediction_spans", "context"} <= set(table.column_names) or not table.num_rows:
        return {}
    contexts, row = _contexts(table.column("context"))
    spans = pl.Series("span", pl.from_arrow(table.column("prediction_spans")))
    if row is None or not isinstance(spans.dtype, pl.List) or not isinstance(spans.dtype.inner, pl.Struct):
        return {}
    lengths = np.array([len(text) for text in contexts], dtype=np.int64)
    frame = pl.DataFrame({"row": row, "length": lengths[row], "span": spans})
    frame = frame.with_columns(pl.Series("prediction", pl.from_arrow(table.column("prediction"))).cast(pl.String))
    frame = frame.filter(pl.col("row") < len(contexts) - 1)
    start, end = pl.col("span").struct.field("start"), pl.col("span").struct.field("end")
    outside = (start < 0) | (end > pl.col("length"))
    flat = frame.select("length", "span").explode("span")
    first = frame.with_columns(pl.col("span").list.first()).filter(start.is_not_null() & ~outside)
    first = first.select("row", "prediction", start.alias("start"), end.alias("end")).drop_nulls()
    elsewhere = sum(contexts[r][s:e] != text for r, text, s, e in first.iter_rows())
    return {"spans_outside_context": int(flat.select(outside.sum()).item() or 0), "text_not_at_offset": elsewhere}


def _contexts(column: pa.ChunkedArray) -> tuple[list[str], np.ndarray[tuple[int], np.dtype[np.int64]] | None]:
    """The distinct contexts with an empty one behind them, and for each row its place there (the last: no context)."""
    if not pa.types.is_dictionary(column.type):
        if not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
            return [], None
        column = column.dictionary_encode()
    column = column.unify_dictionaries()
    values = column.chunk(0).dictionary.to_pylist() if column.num_chunks else []
    texts = [v if isinstance(v, str) else "" for v in values]
    none = np.array([not isinstance(v, str) for v in values] + [True])
    parts = [pc.fill_null(chunk.indices.cast(pa.int64()), len(values)).to_numpy(zero_copy_only=False) for chunk in column.chunks]
    place = np.concatenate(parts) if parts else np.zeros(0, dtype=np.int64)
    return [*texts, ""], np.where(none[place], len(values), place)

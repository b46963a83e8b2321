"""Texts lower-cased and nothing else, for rules that compare whole texts without regard to case."""

from __future__ import annotations

import numpy as np

from fastscore.kernels.columns import lower_rows
from fastscore.recipes import Recipe
from fastscore.text.columns import TextColumn
from fastscore.text.normalize import not_utf8
from fastscore.text.tables import normal_form

__all__ = ["lowered"]


def lowered(column: TextColumn) -> TextColumn:
    """`str.lower` of every text; white space stays as it is. EncodingError names a row that is not valid UTF-8."""
    form = normal_form(Recipe(name="lower", case="lower"))
    out = np.empty(int((column.ends - column.starts).sum()) * 3 + 64, dtype=np.uint8)
    offsets = np.zeros(column.starts.size + 1, dtype=np.int64)
    bad = lower_rows(column.data, column.starts, column.ends, form.blocks, form.entries, form.longer, out, offsets)
    if bad >= 0:
        raise not_utf8("references", bad)
    return TextColumn(out[: offsets[-1]], offsets[:-1], offsets[1:], column.valid)

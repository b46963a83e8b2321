"""pandas, through Arrow: a DataFrame in, a DataFrame of item scores with the same index out. pandas itself is not imported."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from fastscore.engines.iterators import bind
from fastscore.errors import ColumnTypeError, UnknownNameError, did_you_mean
from fastscore.recipes import Recipe
from fastscore.scoring import KEY_COLUMNS

__all__ = ["score_frame"]


def score_frame(
    frame: Any,
    recipe: str | Recipe,
    *,
    prediction: str = "prediction",
    references: str = "references",
    keep: Sequence[str] = (),
    top_n: int | Sequence[int] = 1,
    threads: int | None = None,
) -> Any:
    """Item scores of a pandas DataFrame, row for row and with its index.

    Parameters
    ----------
    frame
        `n` rows with a text column `prediction` (NaN, NA and None are null) and a column `references` of lists of text.
    recipe, prediction, references, keep, top_n, threads
        As in `score_batch`; None threads: all cores.

    Returns
    -------
    pandas.DataFrame
        `n` rows; the columns that `score_batch` gives, status as a categorical.

    Raises
    ------
    UnknownNameError
        A column or the recipe is unknown.
    ColumnTypeError
        A column holds values of several types, or none that its role allows.
    """
    scorer = bind(recipe, prediction=prediction, references=references, keep=keep, top_n=top_n, threads=threads)
    present = [str(name) for name in frame.columns]
    spans = ("prediction_spans", "reference_spans", "status")
    wanted = [*scorer.keep, *(n for n in (*KEY_COLUMNS, *spans) if n in present)]
    columns = {name: _column(frame, name) for name in dict.fromkeys((prediction, references, *wanted))}
    items = scorer.table(pa.table(columns).combine_chunks()).to_pandas()
    items.index = frame.index
    return items


def _column(frame: Any, name: str) -> pa.Array | pa.ChunkedArray:
    if name not in frame.columns:
        raise UnknownNameError(f"column {name!r} is not in the frame.{did_you_mean(name, map(str, frame.columns))}")
    try:
        return pa.array(frame[name], from_pandas=True)
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        first = str(error).splitlines()[0]
        raise ColumnTypeError(f"column {name!r}: values of one type are needed, text or lists of text; {first}") from None

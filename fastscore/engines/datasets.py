"""Hugging Face datasets: `Scorer` is what ``dataset.with_format("arrow").map(scorer, batched=True)`` takes, streaming too.

A table comes in, the same table with the columns of its item scores after it goes out. Scorers pickle and hash alike in every
process, so that datasets' cache and its worker processes work.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from fastscore.engines.iterators import bind
from fastscore.errors import ColumnTypeError, UsageError
from fastscore.recipes import Recipe

__all__ = ["Scorer"]


class Scorer:
    """Adds exact_match, f1, precision, recall, best_reference, status (strings) and the recipe's span columns to each batch.

    Parameters
    ----------
    recipe
        A name, a signature or a `Recipe`.
    prediction, references
        What the two columns are called; ``dataset.flatten()`` makes ``answers.text`` of SQuAD's nested answers.
    top_n, threads
        As in `score_batch`.

    Raises
    ------
    UnknownNameError
        The recipe is unknown.
    """

    def __init__(
        self,
        recipe: str | Recipe,
        *,
        prediction: str = "prediction",
        references: str = "references",
        top_n: int | Sequence[int] = 1,
        threads: int | None = 1,
    ) -> None:
        self._score = bind(recipe, prediction=prediction, references=references, top_n=top_n, threads=threads, plain_status=True)

    def __call__(self, batch: pa.Table) -> pa.Table:
        """The table with its scores.

        Raises
        ------
        ColumnTypeError
            The batch is no Arrow table: the dataset has another format than ``arrow``.
        UsageError
            A column of the dataset has the name of a score column.
        """
        if not isinstance(batch, pa.Table):
            raise ColumnTypeError(
                f"batch: a pyarrow.Table is allowed, got {type(batch).__name__}; "
                'call dataset.with_format("arrow").map(scorer, batched=True)'
            )
        items = self._score.table(batch.combine_chunks())
        for name in items.column_names[items.column_names.index("exact_match") :]:
            if name == "status" and name in batch.column_names:
                batch = batch.drop_columns([name])
            elif name in batch.column_names:
                raise UsageError(f"dataset: {name!r} is the name of a score column; rename_column({name!r}, ...) first")
            batch = batch.append_column(name, items.column(name))
        return batch

"""An iterator of record batches in, an iterator of item scores out: what Spark's ``mapInArrow`` and every streaming engine take.

`BatchScorer` is a picklable call of `score_batch` with its options bound; the other engines are built on it.

Spark::

    from functools import partial
    from fastscore.engines.iterators import map_batches
    work = partial(map_batches, recipe="coqa", plain_status=True)
    kinds = "exact_match double, f1 double, precision double, recall double, best_reference int, status string"
    scored = frame.select("prediction", "references").mapInArrow(work, kinds)

Daft::

    import pyarrow as pa
    from fastscore.engines.iterators import map_batches
    @daft.func.batch(return_dtype=daft.DataType.float64())
    def f1(prediction, references):
        batch = pa.record_batch({"prediction": prediction.to_arrow(), "references": references.to_arrow()})
        return next(map_batches([batch], "coqa")).column("f1")
    scored = frame.with_column("f1", f1(frame["prediction"], frame["references"]))

Dask::

    from fastscore.engines.pandas import score_frame
    meta = score_frame(frame.head(0, npartitions=-1), "coqa", threads=1)
    scored = frame.map_partitions(score_frame, "coqa", threads=1, meta=meta)

Flink::

    import pyarrow as pa
    from fastscore.engines.iterators import map_batches
    def f1(prediction, references):
        batch = pa.record_batch({"prediction": pa.array(prediction, from_pandas=True), "references": pa.array(references)})
        return next(map_batches([batch], "coqa")).column("f1").to_pandas()
    scorer = udf(f1, result_type=DataTypes.DOUBLE(), func_type="pandas")
    scored = table.select(scorer(table.prediction, table.references))
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa

from fastscore.errors import ColumnTypeError
from fastscore.recipes import Recipe, find_recipe
from fastscore.scoring import score_batch

__all__ = ["BatchScorer", "bind", "map_batches"]


@dataclass(frozen=True, kw_only=True)
class BatchScorer:
    """`score_batch` with its options bound: stateless, picklable, the same for every batch; `bind` makes one.

    The options are `score_batch`'s. With `plain_status` the column ``status`` is a string column instead of a dictionary, for
    engines that know no dictionaries (Spark, Hugging Face datasets).
    """

    recipe: Recipe
    prediction: str = "prediction"
    references: str = "references"
    keep: tuple[str, ...] = ()
    top_n: int | tuple[int, ...] = 1
    threads: int | None = 1
    plain_status: bool = False

    def __call__(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Item scores of a record batch, row for row. Raises as `score_batch`; ColumnTypeError where it is none."""
        if not isinstance(batch, pa.RecordBatch):
            raise ColumnTypeError(f"batch: a pyarrow.RecordBatch is allowed, got {type(batch).__name__}")
        items = score_batch(
            batch,
            self.recipe,
            prediction=self.prediction,
            references=self.references,
            keep=self.keep,
            top_n=self.top_n,
            threads=self.threads,
        )
        if not self.plain_status:
            return items
        place = items.schema.get_field_index("status")
        return items.set_column(place, "status", items.column(place).cast(pa.string()))

    def schema(self, schema: pa.Schema) -> pa.Schema:
        """The schema of the item scores of batches of `schema`. Raises as the call does."""
        return self(pa.RecordBatch.from_pylist([], schema=schema)).schema

    def table(self, table: pa.Table) -> pa.Table:
        """Item scores of a table, chunk by chunk; a table without rows gives one without rows, of the right schema."""
        batches = table.to_batches() or [pa.RecordBatch.from_pylist([], schema=table.schema)]
        return pa.Table.from_batches([self(batch) for batch in batches])


def bind(
    recipe: str | Recipe,
    *,
    prediction: str = "prediction",
    references: str = "references",
    keep: Sequence[str] = (),
    top_n: int | Sequence[int] = 1,
    threads: int | None = 1,
    plain_status: bool = False,
) -> BatchScorer:
    """Find the recipe and bind the options of `score_batch`. Raises UnknownNameError where the recipe is unknown."""
    return BatchScorer(
        recipe=find_recipe(recipe),
        prediction=prediction,
        references=references,
        keep=(keep,) if isinstance(keep, str) else tuple(keep),
        top_n=top_n if isinstance(top_n, int) else tuple(top_n),
        threads=threads,
        plain_status=plain_status,
    )


def map_batches(
    batches: Iterable[pa.RecordBatch],
    recipe: str | Recipe,
    *,
    prediction: str = "prediction",
    references: str = "references",
    keep: Sequence[str] = (),
    top_n: int | Sequence[int] = 1,
    threads: int | None = 1,
    plain_status: bool = False,
) -> Iterator[pa.RecordBatch]:
    """Score record batches as they come: one out for one in, none held back, none read ahead.

    Parameters
    ----------
    batches
        Record batches as `score_batch` takes them; each is asked for when its scores are.
    recipe
        A name, a signature or a `Recipe`; looked up at the call, before the first batch.
    prediction, references, keep, top_n, threads
        As in `score_batch`.
    plain_status
        Give ``status`` as strings instead of a dictionary.

    Returns
    -------
    Iterator of pyarrow.RecordBatch
        As many batches as came, of as many rows each.

    Raises
    ------
    UnknownNameError
        The recipe is unknown (at the call), or a column (at its batch).
    ColumnTypeError, EncodingError
        As `score_batch`, at the batch that has it.
    """
    scorer = bind(
        recipe,
        prediction=prediction,
        references=references,
        keep=keep,
        top_n=top_n,
        threads=threads,
        plain_status=plain_status,
    )
    return (scorer(batch) for batch in batches)

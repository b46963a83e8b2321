"""The polars namespace ``fastscore`` on expressions; importing this module registers it.

Text expressions come in, float64 columns, a struct or text go out: lazily, in the streaming engine, in ``group_by``. Polars runs
many of these at once on its own threads, so each works on one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl
import pyarrow as pa

from fastscore.arrow import one_chunk
from fastscore.forks import refuse_lost_threads
from fastscore.recipes import Recipe, find_recipe
from fastscore.schema import WORD_METRICS, Status
from fastscore.scoring import score_batch
from fastscore.text.normalize import normalize

__all__ = ["SCORE_TYPE", "STATUS_TYPE", "FastscoreExpressions"]

#: The type of the field ``status``.
STATUS_TYPE = pl.Enum([s.label for s in Status])
#: The type of the struct that `FastscoreExpressions.score` gives.
SCORE_TYPE = pl.Struct({**dict.fromkeys(WORD_METRICS, pl.Float64), "best_reference": pl.Int32, "status": STATUS_TYPE})

#: The labels in the order of their codes, which are the indices of the dictionary column that `score_batch` gives.
_LABELS = pl.Series("status", [s.label for s in Status], dtype=STATUS_TYPE)


@pl.api.register_expr_namespace("fastscore")
class FastscoreExpressions:
    """``pl.col("prediction").fastscore``: scores of this column's texts against a column of references.

    `references` is a column name or an expression: lists of text, or text for a single reference. `recipe` is a name, a
    signature or a `Recipe`; an unknown one raises UnknownNameError when the expression is built. The schema is known without
    data. Each expression scores its pair anew; for more than one score, take `score` once and unnest it.
    """

    def __init__(self, expression: pl.Expr) -> None:
        self._expression = expression

    def exact_match(self, references: str | pl.Expr, recipe: str | Recipe) -> pl.Expr:
        """Exact match in [0, 1], float64; null where a row has no score."""
        return self._metric("exact_match", references, recipe)

    def f1(self, references: str | pl.Expr, recipe: str | Recipe) -> pl.Expr:
        """Word-overlap F1 in [0, 1], float64; null where a row has no score."""
        return self._metric("f1", references, recipe)

    def precision(self, references: str | pl.Expr, recipe: str | Recipe) -> pl.Expr:
        """Precision against the best reference in [0, 1], float64; null where a row has no score."""
        return self._metric("precision", references, recipe)

    def recall(self, references: str | pl.Expr, recipe: str | Recipe) -> pl.Expr:
        """Recall against the best reference in [0, 1], float64; null where a row has no score."""
        return self._metric("recall", references, recipe)

    def score(self, references: str | pl.Expr, recipe: str | Recipe) -> pl.Expr:
        """All of them as a struct of `SCORE_TYPE`: the four metrics, best_reference and status."""
        return self._map(_Score(None, find_recipe(recipe)), [references], SCORE_TYPE).alias("score")

    def normalize(self, recipe: str | Recipe) -> pl.Expr:
        """The normal form of each text, nulls kept."""
        refuse_lost_threads()
        work = _Normalize(find_recipe(recipe))
        return self._expression.map_batches(work, return_dtype=pl.String, is_elementwise=True)

    def _metric(self, name: str, references: str | pl.Expr, recipe: str | Recipe) -> pl.Expr:
        return self._map(_Score(name, find_recipe(recipe)), [references], pl.Float64()).alias(name)

    def _map(self, work: Any, others: Sequence[str | pl.Expr], kind: pl.DataType) -> pl.Expr:
        refuse_lost_threads()
        columns = [pl.col(o) if isinstance(o, str) else o for o in others]
        return pl.map_batches([self._expression, *columns], work, return_dtype=kind, is_elementwise=True)


@dataclass(frozen=True)
class _Score:
    """One call of polars: two series in, the series of a metric (or the struct of all) out. Picklable."""

    metric: str | None
    recipe: Recipe

    def __call__(self, series: Sequence[pl.Series]) -> pl.Series:
        predictions, references = _of_one_length(*series)
        pair = [_arrow(predictions), _arrow(references)]
        batch = pa.RecordBatch.from_arrays(pair, names=["prediction", "references"])
        items = score_batch(batch, self.recipe, threads=1)
        if self.metric is not None:
            return pl.Series(self.metric, pl.from_arrow(items.column(self.metric)))
        fields = [pl.Series(name, pl.from_arrow(items.column(name))) for name in (*WORD_METRICS, "best_reference")]
        status = _LABELS.gather(pl.Series(pl.from_arrow(items.column("status").indices)))
        return pl.DataFrame([*fields, status]).to_struct("score")


@dataclass(frozen=True)
class _Normalize:
    recipe: Recipe

    def __call__(self, texts: pl.Series) -> pl.Series:
        return pl.Series(texts.name, pl.from_arrow(normalize(_arrow(texts), self.recipe)), dtype=pl.String)


def _of_one_length(predictions: pl.Series, references: pl.Series) -> tuple[pl.Series, pl.Series]:
    """Repeat a literal (one row) along the other column."""
    rows, others = predictions.len(), references.len()
    if rows == others:
        return predictions, references
    if rows == 1:
        return predictions.new_from_index(0, others), references
    if others == 1:
        return predictions, references.new_from_index(0, rows)
    raise pl.exceptions.ShapeError(f"fastscore: {rows} predictions and {others} references; both columns need the same length")


def _arrow(series: pl.Series) -> pa.Array:
    """The series as one Arrow array; categories and enums as text.

    Texts stay views, as polars holds them: it would make large strings of a list column's whole memory for each slice of it.
    """
    if series.dtype in (pl.Categorical, pl.Enum):
        series = series.cast(pl.String)
    array = series.to_arrow(compat_level=pl.CompatLevel.newest())
    return one_chunk(array)

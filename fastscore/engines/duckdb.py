"""DuckDB: `register` adds the SQL functions ``fs_f1``, ``fs_exact_match``, ``fs_score``, ``fs_normalize`` to a connection.

They are vectorised Arrow functions: DuckDB hands on vectors of 2,048 rows, each goes through `score_batch` as one batch.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from fastscore.arrow import one_chunk
from fastscore.errors import UsageError
from fastscore.recipes import Recipe, find_recipe
from fastscore.schema import WORD_METRICS
from fastscore.scoring import score_batch
from fastscore.text.normalize import normalize

__all__ = ["FUNCTIONS", "register"]

_FIELDS = (*WORD_METRICS, "best_reference", "status")
_STRUCT = f"STRUCT({', '.join(f'{m} DOUBLE' for m in WORD_METRICS)}, best_reference INTEGER, status VARCHAR)"
_PAIR = ("VARCHAR", "VARCHAR[]", "VARCHAR")


def register(connection: Any) -> None:
    """Add the functions to a DuckDB connection; those of an earlier call are replaced.

    ``fs_f1(prediction, references, recipe)``, ``fs_exact_match``, ``fs_precision`` and ``fs_recall`` give a DOUBLE in [0, 1],
    ``fs_score`` a STRUCT of all four with best_reference and status (one call for what would be four), ``fs_normalize(text,
    recipe)`` a VARCHAR. `references` is a VARCHAR[]; the column name ``references`` is a word of SQL and stands in double quotes.
    The recipe is a constant: a name or a signature. A null is not passed over: a null prediction counts as its recipe says, and
    a row that has no score is NULL.

    Parameters
    ----------
    connection
        What ``duckdb.connect()`` gives.

    Raises
    ------
    duckdb.InvalidInputException
        In a query, with the message of the error of `score_batch` or of an unknown recipe.
    """
    import duckdb

    for name, (function, parameters, kind) in FUNCTIONS.items():
        with contextlib.suppress(duckdb.InvalidInputException):
            connection.remove_function(name)
        connection.create_function(name, function, list(parameters), kind, type="arrow", null_handling="special")


def _metric(metric: str) -> Callable[..., pa.Array]:
    """The function of one metric; DuckDB counts its parameters."""

    def scored(predictions: pa.ChunkedArray, references: pa.ChunkedArray, recipes: pa.ChunkedArray) -> pa.Array:
        return _items(predictions, references, recipes).column(metric)

    return scored


def _score(predictions: pa.ChunkedArray, references: pa.ChunkedArray, recipes: pa.ChunkedArray) -> pa.Array:
    items = _items(predictions, references, recipes)
    columns = [items.column(name) for name in _FIELDS[:-1]]
    return pa.StructArray.from_arrays([*columns, items.column("status").cast(pa.string())], names=list(_FIELDS))


def _normalize(texts: pa.ChunkedArray, recipes: pa.ChunkedArray) -> pa.Array:
    if not len(texts):
        return pa.array([], type=pa.large_string())
    return normalize(one_chunk(texts), _constant(recipes))


def _items(predictions: pa.ChunkedArray, references: pa.ChunkedArray, recipes: pa.ChunkedArray) -> pa.RecordBatch:
    recipe: Recipe | str = _constant(recipes) if len(recipes) else "coqa"
    batch = pa.RecordBatch.from_arrays([one_chunk(predictions), one_chunk(references)], names=["prediction", "references"])
    return score_batch(batch, recipe, threads=1)


def _constant(recipes: pa.ChunkedArray) -> Recipe:
    """The recipe that every row names."""
    first = recipes[0]
    if not first.is_valid or not pc.all(pc.equal(recipes, first), skip_nulls=False).as_py():
        raise UsageError("recipe: the functions fs_* take one recipe a query, such as 'coqa'; null or mixed ones came")
    return find_recipe(first.as_py())


#: What `register` adds: the function, its parameters' types and its own.
FUNCTIONS: dict[str, tuple[Callable[..., pa.Array], tuple[str, ...], str]] = {
    **{f"fs_{m}": (_metric(m), _PAIR, "DOUBLE") for m in WORD_METRICS},
    "fs_score": (_score, _PAIR, _STRUCT),
    "fs_normalize": (_normalize, ("VARCHAR", "VARCHAR"), "VARCHAR"),
}

"""Same rows, same recipe, every engine: item scores equal row for row and the summary equal to the bit.

Ray is held to the same rows in `test_engines_ray`, where the cluster is.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import fastscore
import fastscore.engines.polars  # registers the namespace
from fastscore.engines.iterators import map_batches
from fastscore.schema import WORD_METRICS
from fastscore.scoring import metric_names
from fastscore.totals import Totals
from tests.strategies import ODD, SPACES

RECIPES = ["coqa", "squad_v2", "germanquad", "cjrc", "search-r1-em"]
SCORES = [*WORD_METRICS, "best_reference", "status"]
DATA = Path(__file__).resolve().parents[1] / "data" / "generations.parquet"
ROWS = 5_000


def _table() -> pa.Table:
    """The sample's generations, some of them broken up with odd characters, and some nulls and empty lists; seeded."""
    rng = random.Random(9)
    given = pq.read_table(DATA).select(["prediction", "completion", "references", "domain"]).to_pylist()
    rows = []
    for number in range(ROWS):
        row = rng.choice(given)
        text = row["prediction"] if rng.random() < 0.7 else row["completion"]
        if text is not None and rng.random() < 0.3:
            place = rng.randrange(len(text) + 1)
            text = text[:place] + rng.choice(ODD + SPACES) + text[place:]
        references = rng.choice([None, [], [""], [None], [*row["references"], None]]) if rng.random() < 0.1 else row["references"]
        rows.append({"row": number, "prediction": text, "references": references, "domain": row["domain"]})
    kinds = [("row", pa.int64()), ("prediction", pa.string()), ("references", pa.list_(pa.string())), ("domain", pa.string())]
    return pa.Table.from_pylist(rows, schema=pa.schema(kinds))


TABLE = _table()
Engine = Callable[[str], pa.Table]


def local(threads: int) -> Engine:
    return lambda recipe: fastscore.score(TABLE, recipe=recipe, keep=["row", "domain"], threads=threads).items


def in_polars(kind: Any) -> Engine:
    expression: Any = pl.col("prediction")

    def run(recipe: str) -> pa.Table:
        frame = pl.DataFrame(pl.from_arrow(TABLE)).lazy()
        score = expression.fastscore.score("references", recipe=recipe)
        found = frame.select("row", "domain", score).unnest("score").collect(engine=kind)
        return found.with_columns(pl.col("status").cast(pl.String)).to_arrow()

    return run


def in_duckdb(recipe: str) -> pa.Table:
    duckdb = pytest.importorskip("duckdb")
    from fastscore.engines.duckdb import register

    with duckdb.connect() as con:
        register(con)
        con.register("items", TABLE)
        query = f"SELECT row, domain, fs_score(prediction, \"references\", '{recipe}') AS s FROM items"
        return con.sql(f"SELECT row, domain, s.* FROM ({query}) ORDER BY row").to_arrow_table()


def in_datasets(stream: bool) -> Engine:
    def run(recipe: str) -> pa.Table:
        datasets = pytest.importorskip("datasets")
        from fastscore.engines.datasets import Scorer

        datasets.disable_progress_bars()
        dataset = datasets.Dataset(TABLE)
        dataset = dataset.to_iterable_dataset(num_shards=3) if stream else dataset
        scored = dataset.with_format("arrow").map(Scorer(recipe), batched=True, batch_size=700)
        return pa.concat_tables(list(scored) if stream else [scored[:]])

    return run


def in_pandas(recipe: str) -> pa.Table:
    pytest.importorskip("pandas")
    from fastscore.engines.pandas import score_frame

    scored = score_frame(TABLE.to_pandas(), recipe, keep=["row", "domain"])
    return pa.Table.from_pandas(scored, preserve_index=False)


def in_an_iterator(size: int) -> Engine:
    def run(recipe: str) -> pa.Table:
        return pa.Table.from_batches(map_batches(TABLE.to_batches(max_chunksize=size), recipe, keep=["row", "domain"]))

    return run


ENGINES: dict[str, Engine] = {
    "local, 1 thread": local(1),
    "local, 2 threads": local(2),
    "polars": in_polars("in-memory"),
    "polars, streaming": in_polars("streaming"),
    "DuckDB": in_duckdb,
    "datasets": in_datasets(stream=False),
    "datasets, streaming": in_datasets(stream=True),
    "pandas": in_pandas,
    "iterator, batches of 37": in_an_iterator(37),
    "iterator, batches of 999": in_an_iterator(999),
}


def bits(items: pa.Table) -> dict[str, list[Any]]:
    """Rows of item scores as values to compare: floats by their bits."""
    found: dict[str, list[Any]] = {}
    for name in ["row", "domain", *SCORES]:
        column = items.column(name).combine_chunks()
        if name in WORD_METRICS:
            values = np.asarray(column.cast(pa.float64()).fill_null(-1.0)).view(np.int64)
            found[name] = np.where(np.asarray(column.is_null()), 0, values).tolist()
            found[f"{name} null"] = np.asarray(column.is_null()).tolist()
        else:
            found[name] = [None if v is None or v != v else v for v in column.to_pylist()]
    return found


def summary(items: pa.Table, recipe: str) -> dict[str, Any]:
    # pandas has no nulls in floats: NaN is its null
    columns = [items.column(n).cast(pa.float64()) for n in metric_names(items.schema)]
    table = pa.table({**dict(zip(metric_names(items.schema), columns, strict=True)), "domain": items["domain"].cast(pa.string())})
    table = table.append_column("status", items["status"].cast(pa.string()))
    totals = Totals(WORD_METRICS, ["domain"])
    totals.add(table)
    found = fastscore.RECIPES[recipe]
    return totals.summary(found.name, found.signature)


@pytest.fixture(scope="module")
def references() -> dict[str, tuple[dict[str, list[Any]], dict[str, Any]]]:
    scored = {recipe: fastscore.score(TABLE, recipe=recipe, by="domain", keep=["row"], threads=1) for recipe in RECIPES}
    return {recipe: (bits(result.items), result.summary) for recipe, result in scored.items()}


@pytest.mark.parametrize("recipe", RECIPES)
@pytest.mark.parametrize("engine", ENGINES)
def test_items_and_summary_to_the_bit(engine: str, recipe: str, references: Any) -> None:
    items = ENGINES[engine](recipe)
    rows, wanted = references[recipe]
    found = bits(items)
    assert [name for name in rows if found[name] != rows[name]] == []
    assert summary(items, recipe) == wanted


def test_the_rows_meet_every_status(references: Any) -> None:
    overall = references["coqa"][1]["overall"]
    assert overall["null_prediction"] > 50
    assert overall["no_references"] > 50
    assert 0.2 < overall["f1"] < 0.9

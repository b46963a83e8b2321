"""The SQL functions: `score_batch` over vectors of 2,048 rows, nulls, constants, and errors that say what is wrong."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given

from fastscore.recipes import RECIPES, Recipe
from fastscore.scoring import score_batch
from fastscore.text.normalize import normalize
from tests import strategies
from tests.test_engines_iterators import BATCH, SCHEMA

duckdb = pytest.importorskip("duckdb")

from fastscore.engines.duckdb import FUNCTIONS, register  # noqa: E402

METRICS = ("exact_match", "f1", "precision", "recall")
ITEMS = pa.Table.from_batches([BATCH])


@pytest.fixture(scope="module")
def con() -> Iterator[Any]:
    with duckdb.connect() as connection:
        connection.execute("SET threads = 2")
        register(connection)
        yield connection


def rows(con: Any, query: str, items: pa.Table) -> list[tuple[Any, ...]]:
    con.register("items", items)
    found: list[tuple[Any, ...]] = con.execute(query).fetchall()
    return found


@pytest.mark.parametrize("recipe", ["coqa", "squad_v2", "germanquad"])
def test_each_function_against_score_batch(con: Any, recipe: str) -> None:
    many = pa.concat_tables([ITEMS] * 1001)
    table = many.append_column("row", pa.array(range(many.num_rows)))
    metrics = ", ".join(f"fs_{m}(prediction, \"references\", '{recipe}')" for m in METRICS)
    query = f"SELECT {metrics}, fs_normalize(prediction, '{recipe}') FROM items ORDER BY row"
    items = score_batch(BATCH, recipe)
    columns = [items.column(m).to_pylist() for m in METRICS]
    columns.append(normalize(BATCH.column("prediction"), recipe).to_pylist())
    assert rows(con, query, table) == list(zip(*columns, strict=True)) * 1001


@given(some=strategies.rows(), recipe=strategies.catalogue)
def test_any_rows_against_score_batch(con: Any, some: list[dict[str, Any]], recipe: Recipe) -> None:
    batch = pa.RecordBatch.from_pylist(some, schema=pa.schema([SCHEMA.field("prediction"), SCHEMA.field("references")]))
    table = pa.Table.from_batches([batch]).append_column("row", pa.array(range(batch.num_rows), pa.int64()))
    found = rows(con, f"SELECT fs_score(prediction, \"references\", '{recipe.name}') FROM items ORDER BY row", table)
    expected = score_batch(batch, recipe).select([*METRICS, "best_reference", "status"]).to_pylist()
    assert [r[0] for r in found] == expected


def test_score_is_all_of_them_in_one_call(con: Any) -> None:
    query = "SELECT s.f1, s.status FROM (SELECT fs_score(prediction, \"references\", 'coqa') AS s FROM items)"
    items = score_batch(BATCH, "coqa")
    assert rows(con, query, ITEMS) == list(zip(items["f1"].to_pylist(), items["status"].to_pylist(), strict=True))


def test_aggregates_groups_and_filters(con: Any) -> None:
    query = (
        "SELECT domain, avg(fs_f1(prediction, \"references\", 'coqa-max')) FROM items "
        "WHERE fs_exact_match(prediction, \"references\", 'coqa-max') = 1 GROUP BY domain"
    )
    assert rows(con, query, ITEMS) == [("x", 1.0)]


def test_constants_and_nulls(con: Any) -> None:
    query = (
        "SELECT fs_f1('the cat', ['cat'], 'squad'), fs_f1(NULL, ['cat'], 'squad'), fs_f1('cat', NULL, 'squad'), "
        "fs_f1('cat', [], 'squad'), fs_normalize(NULL, 'squad'), fs_normalize('The cat.', 'squad')"
    )
    assert con.execute(query).fetchone() == (1.0, 0.0, None, None, None, "cat")
    assert con.execute(f"SELECT fs_f1('the cat', ['cat'], '{RECIPES['squad'].signature}')").fetchone() == (1.0,)
    assert con.execute("SELECT fs_f1('a', ['a'], 'coqa') FROM range(0)").fetchall() == []


@pytest.mark.parametrize(
    ("recipe", "said"),
    [
        ("'coqq'", "Did you mean 'coqa'"),
        ("NULL", "one recipe a query"),
        ("CASE question_id WHEN 'a' THEN 'coqa' ELSE 'squad' END", "one recipe a query"),
    ],
)
def test_wrong_recipes_are_refused(con: Any, recipe: str, said: str) -> None:
    with pytest.raises(duckdb.InvalidInputException, match=said):
        rows(con, f'SELECT fs_f1(prediction, "references", {recipe}) FROM items', ITEMS)


def test_register_again_replaces(con: Any) -> None:
    register(con)
    named = con.execute("SELECT function_name FROM duckdb_functions() WHERE function_name LIKE 'fs\\_%' ESCAPE '\\'").fetchall()
    assert sorted(n for (n,) in named) == sorted(FUNCTIONS)

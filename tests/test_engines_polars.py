"""The polars namespace: the same scores in every context and engine, the schema without data, nulls, literals, no deadlock."""

from __future__ import annotations

import dataclasses
import io
import subprocess
import sys
from typing import Any, Literal

import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given

import fastscore.engines.polars as engine
from fastscore.errors import ColumnTypeError, UnknownNameError
from fastscore.recipes import RECIPES, Recipe
from fastscore.scoring import score_batch
from fastscore.text.normalize import normalize
from tests import strategies
from tests.test_engines_iterators import BATCH, ROWS

FRAME = pl.DataFrame(
    ROWS,
    schema={"question_id": pl.String, "prediction": pl.String, "references": pl.List(pl.String), "domain": pl.String},
    orient="row",
)
PREDICTION: Any = pl.col("prediction")
METRICS = ("exact_match", "f1", "precision", "recall")
Engine = Literal["in-memory", "streaming"]


def scores(frame: pl.DataFrame) -> list[dict[str, Any]]:
    return frame["score"].to_list()


def expected(batch: pa.RecordBatch, recipe: str | Recipe) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = score_batch(batch, recipe).select([*METRICS, "best_reference", "status"]).to_pylist()
    return found


@pytest.mark.parametrize("kind", ["in-memory", "streaming"])
@pytest.mark.parametrize("recipe", ["coqa", "squad_v2", "germanquad"])
def test_each_expression_against_score_batch(recipe: str, kind: Engine) -> None:
    p = PREDICTION.fastscore
    found = FRAME.lazy().select(
        p.f1(pl.col("references"), recipe=recipe),
        p.exact_match("references", recipe=recipe),
        p.precision("references", recipe=recipe),
        p.recall("references", recipe=recipe),
        p.score("references", recipe=recipe),
        p.normalize(recipe=recipe).alias("normal"),
    )
    frame = found.collect(engine=kind)
    assert frame.schema == found.collect_schema()
    items = score_batch(BATCH, recipe)
    for name in METRICS:
        assert frame[name].to_list() == items.column(name).to_pylist()
    assert scores(frame) == expected(BATCH, recipe)
    assert frame["normal"].to_list() == normalize(BATCH.column("prediction"), recipe).to_pylist()


@given(strategies.rows(), strategies.catalogue)
def test_any_rows_against_score_batch(rows: list[dict[str, Any]], recipe: Recipe) -> None:
    schema = pa.schema([("prediction", pa.string()), ("references", pa.list_(pa.string()))])
    batch = pa.RecordBatch.from_pylist(rows, schema=schema)
    frame = pl.DataFrame(pl.from_arrow(batch))
    assert scores(frame.select(PREDICTION.fastscore.score("references", recipe))) == expected(batch, recipe)


def test_schema_without_data() -> None:
    empty = (
        FRAME.clear()
        .lazy()
        .select(
            PREDICTION.fastscore.f1("references", recipe="coqa"),
            PREDICTION.fastscore.score("references", recipe="coqa"),
            PREDICTION.fastscore.normalize("coqa"),
        )
    )
    wanted = {"f1": pl.Float64(), "score": engine.SCORE_TYPE, "prediction": pl.String()}
    assert dict(empty.collect_schema()) == wanted
    assert dict(empty.collect().schema) == wanted
    assert dict(empty.collect(engine="streaming").schema) == wanted


@pytest.mark.parametrize("kind", ["in-memory", "streaming"])
def test_groups_and_windows_against_plain_columns(kind: Engine) -> None:
    frame = pl.concat([FRAME] * 50)
    f1 = PREDICTION.fastscore.f1("references", recipe="coqa-max")
    plain = frame.with_columns(f1).group_by("domain").agg(pl.col("f1").mean().alias("mean"), pl.col("f1")).sort("domain")
    lazy = frame.lazy()
    grouped = lazy.group_by("domain").agg(f1.mean().alias("mean"), f1).sort("domain").collect(engine=kind)
    assert grouped.equals(plain)
    over = lazy.with_columns(f1.mean().over("domain").alias("mean")).select("domain", "mean").unique().sort("domain")
    assert over.collect(engine=kind).equals(plain.select("domain", "mean"))
    kept = lazy.filter(f1 > 0.6).collect(engine=kind)
    assert kept["question_id"].to_list() == ["a", "d"] * 50


def test_literals_stand_for_every_row() -> None:
    for other in (pl.lit(["cat"]), pl.lit("cat"), pl.lit(pl.Series([["cat"]]))):
        found = FRAME.select(PREDICTION.fastscore.f1(other, recipe="squad").alias("f1"))["f1"].to_list()
        assert found[:2] == [1.0, 0.0]
        assert len(found) == 5
    text: Any = pl.lit("a cat")
    assert FRAME.select(text.fastscore.exact_match("references", recipe="squad"))["exact_match"].to_list()[0] == 1.0
    nothing = FRAME.clear().select(PREDICTION.fastscore.f1(pl.lit("cat"), recipe="squad"))
    assert nothing["f1"].to_list() == []


def test_sinks_as_it_streams() -> None:
    sink = io.BytesIO()
    pl.concat([FRAME] * 100).lazy().with_columns(PREDICTION.fastscore.score("references", recipe="coqa")).sink_parquet(sink)
    sink.seek(0)
    read = pl.read_parquet(sink)
    assert [{**s, "status": str(s["status"])} for s in scores(read)] == expected(BATCH, "coqa") * 100


@pytest.mark.parametrize("kind", [pl.Categorical, pl.Enum(["The cat.", "nothing", "", "big cat"]), pl.Binary])
def test_other_types_of_text(kind: Any) -> None:
    frame = FRAME.with_columns(PREDICTION.cast(kind))
    assert scores(frame.select(PREDICTION.fastscore.score("references", recipe="coqa"))) == expected(BATCH, "coqa")


def test_null_columns() -> None:
    frame = pl.DataFrame({"prediction": [None, None], "references": [None, ["a"]]})
    assert [s["status"] for s in scores(frame.select(PREDICTION.fastscore.score("references", recipe="coqa")))] == [
        "no_references",
        "null_prediction",
    ]


def test_wrong_calls_are_refused() -> None:
    with pytest.raises(UnknownNameError, match="'coqa'"):
        PREDICTION.fastscore.f1("references", recipe="coqq")
    with pytest.raises(ColumnTypeError, match="prediction: a text column is needed"):
        FRAME.with_columns(prediction=pl.lit(1)).select(PREDICTION.fastscore.f1("references", recipe="coqa"))
    with pytest.raises(pl.exceptions.PolarsError):
        FRAME.select(PREDICTION.fastscore.f1(pl.lit(pl.Series([["a"]] * 3)), recipe="coqa"))


def test_recipe_of_ones_own() -> None:
    mine = dataclasses.replace(RECIPES["squad"], name="mine", unicode="nfkc", case="casefold")
    frame = pl.DataFrame({"prediction": ["ﬁn STRASSE"], "references": [["fin straße"]]})
    assert frame.select(PREDICTION.fastscore.exact_match("references", recipe=mine))["exact_match"].to_list() == [1.0]


_CROWD = """
import dataclasses, threading
import polars as pl
import fastscore.engines.polars
from fastscore.recipes import RECIPES

nfc = dataclasses.replace(RECIPES["coqa"], name="nfc", unicode="nfc")  # a step that runs on polars' threads itself
frame = pl.DataFrame(
    {
        "prediction": ["the càt", "dog", None, "É x"] * 1000,
        "references": [["cat"], ["dogs", "dog"], ["z"], None] * 1000,
        "g": [1, 2] * 2000,
    }
)
p = pl.col("prediction").fastscore
many = [p.f1("references", recipe=r).alias(str(i)) for i, r in enumerate(["coqa", "squad", nfc, "coqa-max"] * 6)]
many += [p.normalize(nfc).alias(f"n{i}") for i in range(6)]
expected = frame.select(p.f1("references", recipe=nfc).alias("2"))
right = []

def run(engine):
    found = frame.lazy().select(many).collect(engine=engine)
    frame.lazy().group_by("g").agg(e.first() for e in many).collect(engine=engine)
    right.append(found.select("2").equals(expected))

threads = [threading.Thread(target=run, args=(("in-memory", "streaming")[i % 2],)) for i in range(6)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(sum(right))
"""


@pytest.mark.parametrize("size", ["1", "4"])
def test_many_expressions_at_once_do_not_wait_for_each_other(size: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a process of its own, since a deadlock would hold this one."""
    monkeypatch.setenv("POLARS_MAX_THREADS", size)
    done = subprocess.run([sys.executable, "-c", _CROWD], capture_output=True, text=True, check=True, timeout=120)
    assert done.stdout.strip() == "6"

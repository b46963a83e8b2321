"""The examples of `fastscore.engines.iterators`, to the letter, each against a stub that calls them as the engine would."""

from __future__ import annotations

import pickle
import textwrap
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

from fastscore.engines import iterators
from fastscore.scoring import score_batch
from tests.test_engines_iterators import BATCH

EXPECTED = score_batch(BATCH, "coqa")
F1 = EXPECTED.column("f1").to_pylist()


def example(engine: str, **names: Any) -> Any:
    """What the example calls ``scored``."""
    assert iterators.__doc__ is not None
    text = iterators.__doc__.split(f"{engine}::\n\n")[1].split("\n\n")[0]
    assert len(text.splitlines()) <= 10
    exec(textwrap.dedent(text), names)
    return names["scored"]


class SparkFrame:
    """Hands on an iterator of record batches, pickled work, and a schema in Spark's words."""

    def select(self, *names: str) -> SparkFrame:
        self.batches = [part.select(list(names)) for part in (BATCH.slice(0, 2), BATCH.slice(2))]
        return self

    def mapInArrow(self, work: Any, kinds: str) -> pa.Table:
        table = pa.Table.from_batches(pickle.loads(pickle.dumps(work))(iter(self.batches)))
        types = {"double": pa.float64(), "int": pa.int32(), "string": pa.string()}
        assert table.schema == pa.schema([(n, types[t]) for n, t in (kind.split() for kind in kinds.split(", "))])
        return table


def test_spark() -> None:
    assert example("Spark", frame=SparkFrame()).column("f1").to_pylist() == F1


class DaftFrame(dict[str, Any]):
    def with_column(self, name: str, values: Any) -> dict[str, Any]:
        return {**self, name: values}


def test_daft() -> None:
    columns = {n: SimpleNamespace(to_arrow=lambda n=n: BATCH.column(n)) for n in ("prediction", "references")}
    kinds = SimpleNamespace(float64=pa.float64)
    daft = SimpleNamespace(DataType=kinds, func=SimpleNamespace(batch=lambda return_dtype: lambda function: function))
    assert example("Daft", daft=daft, frame=DaftFrame(columns))["f1"].to_pylist() == F1


def test_dask() -> None:
    pandas = pytest.importorskip("pandas")
    whole = BATCH.to_pandas()

    class DaskFrame:
        def head(self, rows: int, npartitions: int) -> Any:
            return whole.head(rows)

        def map_partitions(self, work: Any, *given: Any, meta: Any, **options: Any) -> Any:
            parts = [work(part, *given, **options) for part in (whole.iloc[:2], whole.iloc[2:])]
            assert all(list(part.columns) == list(meta.columns) for part in parts)
            return pandas.concat(parts)

    scored = example("Dask", frame=DaskFrame())
    assert pa.array(scored["f1"], from_pandas=True).to_pylist() == F1


def test_flink() -> None:
    pytest.importorskip("pandas")
    frame = BATCH.to_pandas()

    def udf(function: Any, result_type: Any, func_type: str) -> Any:
        assert (result_type, func_type) == ("DOUBLE", "pandas")
        return function

    table = SimpleNamespace(prediction=frame["prediction"], references=frame["references"], select=lambda values: values)
    scored = example("Flink", udf=udf, DataTypes=SimpleNamespace(DOUBLE=lambda: "DOUBLE"), table=table)
    assert pa.array(scored, from_pandas=True).to_pylist() == F1

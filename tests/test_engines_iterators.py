"""The iterator contract that Spark, Daft and others rely on: lazily, one batch out for one in, nothing read ahead; and pandas."""

from __future__ import annotations

import pickle
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from typing import Any

import pyarrow as pa
import pytest

from fastscore.engines.iterators import bind, map_batches
from fastscore.errors import ColumnTypeError, EncodingError, UnknownNameError, UsageError
from fastscore.scoring import score_batch

ROWS: list[dict[str, Any]] = [
    {"question_id": "a", "prediction": "The cat.", "references": ["cat", "a dog"], "domain": "x"},
    {"question_id": "b", "prediction": None, "references": ["cat"], "domain": "y"},
    {"question_id": "c", "prediction": "nothing", "references": None, "domain": None},
    {"question_id": "d", "prediction": "", "references": [""], "domain": "x"},
    {"question_id": "e", "prediction": "big cat", "references": [None, "the big dog"], "domain": "x"},
]
SCHEMA = pa.schema(
    [("question_id", pa.string()), ("prediction", pa.string()), ("references", pa.list_(pa.string())), ("domain", pa.string())]
)
BATCH = pa.RecordBatch.from_pylist(ROWS, schema=SCHEMA)


class Source:
    """Batches that count how often they were asked for, and know whether they were closed."""

    def __init__(self, batches: list[pa.RecordBatch]) -> None:
        self.batches, self.given, self.closed = batches, 0, False

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        try:
            for batch in self.batches:
                self.given += 1
                yield batch
        finally:
            self.closed = True


def test_one_batch_out_for_one_in_against_score_batch() -> None:
    sizes = [2, 0, 1, 2]
    starts = [0, 2, 2, 3]
    given = [BATCH.slice(start, size) for start, size in zip(starts, sizes, strict=True)]
    scored = list(map_batches(given, "coqa", keep=["domain"]))
    assert [b.num_rows for b in scored] == sizes
    assert all(b.schema == scored[0].schema for b in scored)
    assert pa.Table.from_batches(scored).to_pylist() == score_batch(BATCH, "coqa", keep=["domain"]).to_pylist()


def test_empty_iterator() -> None:
    assert list(map_batches([], "coqa")) == []
    assert list(map_batches(iter(()), "coqa")) == []


def test_batch_without_rows_has_the_schema_of_the_others() -> None:
    (nothing,) = map_batches([BATCH.slice(0, 0)], "coqa")
    (all_of_it,) = map_batches([BATCH], "coqa")
    assert (nothing.num_rows, nothing.schema) == (0, all_of_it.schema)
    assert bind("coqa").schema(SCHEMA) == all_of_it.schema


def test_nothing_is_read_ahead_and_early_stop_closes_the_source() -> None:
    source = Source([BATCH] * 5)
    scored = map_batches(source, "coqa")
    assert source.given == 0
    next(scored)
    assert source.given == 1
    next(scored)
    assert (source.given, source.closed) == (2, False)
    del scored
    assert (source.given, source.closed) == (2, True)


def test_record_batch_reader_and_table_batches_come_in() -> None:
    reader = pa.RecordBatchReader.from_batches(SCHEMA, [BATCH, BATCH])
    assert [b.num_rows for b in map_batches(reader, "squad")] == [5, 5]


def test_options_are_those_of_score_batch() -> None:
    spans = pa.array([[{"start": 0, "end": 3}]], pa.list_(pa.struct([("start", pa.int64()), ("end", pa.int64())])))
    batch = pa.record_batch({"said": ["cat"], "gold": ["cat"], "prediction_spans": spans, "reference_spans": spans, "x": [1]})
    names = {"prediction": "said", "references": "gold"}
    (scored,) = map_batches([batch], "germanquad", **names, keep="x", top_n=[1, 3], threads=2)
    assert scored.equals(score_batch(batch, "germanquad", **names, keep=["x"], top_n=[1, 3]))
    assert scored.column("top_3").to_pylist() == [1.0]


def test_plain_status_is_text() -> None:
    (scored,) = map_batches([BATCH], "coqa", plain_status=True)
    assert scored.schema.field("status").type == pa.string()
    assert scored.column("status").to_pylist() == ["ok", "null_prediction", "no_references", "ok", "ok"]


def test_recipe_is_looked_up_before_the_first_batch() -> None:
    source = Source([BATCH])
    with pytest.raises(UnknownNameError, match="'coqa'"):
        map_batches(source, "coqq")
    assert source.given == 0


def test_error_comes_at_its_batch() -> None:
    broken = pa.record_batch({"prediction": pa.array([b"a", b"\xff"]), "references": [["a"], ["b"]]})
    scored = map_batches([BATCH, broken, BATCH], "coqa")
    assert next(scored).num_rows == 5
    with pytest.raises(EncodingError, match="row 1"):
        next(scored)


@pytest.mark.parametrize("wrong", [BATCH.to_pylist(), pa.Table.from_batches([BATCH]), None])
def test_what_is_no_batch_is_refused(wrong: Any) -> None:
    with pytest.raises(ColumnTypeError, match="RecordBatch"):
        next(map_batches([wrong], "coqa"))


def test_bound_calls_pickle_for_other_processes() -> None:
    """What Spark ships: a partial of `map_batches`; it is loaded in a new process and gives the same batches."""
    shipped = pickle.dumps((partial(map_batches, recipe="coqa", plain_status=True), bind("squad"), BATCH))
    code = (
        "import pickle, sys; work, scorer, batch = pickle.load(sys.stdin.buffer);"
        "sys.stdout.buffer.write(pickle.dumps((list(work([batch])), scorer(batch))))"
    )
    done = subprocess.run([sys.executable, "-c", code], input=shipped, capture_output=True, check=True, timeout=120)
    scored, other = pickle.loads(done.stdout)
    assert scored == list(map_batches([BATCH], "coqa", plain_status=True))
    assert other.equals(score_batch(BATCH, "squad"))


# pandas


def test_pandas_against_score_batch() -> None:
    pandas = pytest.importorskip("pandas")
    from fastscore.engines.pandas import score_frame

    frame = pandas.DataFrame(ROWS, index=list("vwxyz"))
    frame.loc["w", "prediction"] = float("nan")
    scored = score_frame(frame, "coqa", keep="domain", threads=1)
    expected = score_batch(BATCH, "coqa", keep=["domain"])
    assert list(scored.index) == list("vwxyz")
    assert list(scored.columns) == expected.schema.names
    again = pa.RecordBatch.from_pandas(scored, preserve_index=False)
    for name in ("exact_match", "f1", "precision", "recall"):
        assert again.column(name).to_pylist() == expected.column(name).to_pylist()
    assert again.column("status").to_pylist() == expected.column("status").to_pylist()
    assert len(score_frame(frame.iloc[:0], "coqa")) == 0


def test_pandas_wrong_frames_are_refused() -> None:
    pandas = pytest.importorskip("pandas")
    from fastscore.engines.pandas import score_frame

    frame = pandas.DataFrame({"prediction": ["a", 1], "references": [["a"], ["b"]]})
    with pytest.raises(ColumnTypeError, match="'prediction'"):
        score_frame(frame, "coqa")
    with pytest.raises(UnknownNameError, match=r"'predicton'.*Did you mean 'prediction'"):
        score_frame(frame, "coqa", prediction="predicton")
    with pytest.raises(UsageError, match="recipe"):
        score_frame(frame, "none such")

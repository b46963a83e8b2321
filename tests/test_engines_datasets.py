"""Hugging Face datasets: `Scorer` in ``map``, in memory and streaming, against `score_batch`; picklable, with a stable hash."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest

from fastscore.engines.datasets import Scorer
from fastscore.errors import ColumnTypeError, UnknownNameError, UsageError
from fastscore.scoring import score_batch
from tests.test_engines_iterators import BATCH, ROWS

datasets = pytest.importorskip("datasets")

ITEMS = pa.Table.from_batches([BATCH])
SCORES = ("exact_match", "f1", "precision", "recall", "best_reference", "status")


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    datasets.disable_progress_bars()
    yield
    datasets.enable_progress_bars()


def expected(recipe: str) -> list[dict[str, Any]]:
    scores = score_batch(BATCH, recipe).select(list(SCORES)).to_pylist()
    return [{**row, **score} for row, score in zip(ROWS, scores, strict=True)]


@pytest.mark.parametrize("recipe", ["coqa", "squad_v2"])
@pytest.mark.parametrize("size", [1, 2, 1000])
def test_map_against_score_batch(recipe: str, size: int) -> None:
    dataset = datasets.Dataset(ITEMS).with_format("arrow").map(Scorer(recipe), batched=True, batch_size=size)
    assert dataset.with_format(None).to_list() == expected(recipe)
    assert dataset.features["f1"].dtype == "float64"
    assert dataset.features["status"].dtype == "string"


def test_streaming_against_score_batch() -> None:
    stream = datasets.Dataset(ITEMS).to_iterable_dataset(num_shards=2).with_format("arrow")
    scored = stream.map(Scorer("coqa"), batched=True, batch_size=2)
    assert list(scored.with_format(None)) == expected("coqa")
    assert next(iter(scored.with_format(None)))["status"] == "ok"


def test_nested_answers_of_squad_when_flattened() -> None:
    rows = [{"id": "1", "answers": {"text": ["cat", "dog"], "answer_start": [0, 4]}, "prediction": "The dog"}]
    dataset = datasets.Dataset.from_list(rows).flatten().with_format("arrow")
    scored = dataset.map(Scorer("squad", references="answers.text"), batched=True).with_format(None)
    assert (scored[0]["exact_match"], scored[0]["best_reference"]) == (1.0, 1)


def test_pickles_and_hashes_alike() -> None:
    from datasets.fingerprint import Hasher

    scorer = pickle.loads(pickle.dumps(Scorer("coqa", top_n=[1, 5])))
    assert scorer(ITEMS).equals(Scorer("coqa")(ITEMS))
    assert Hasher.hash(scorer) == Hasher.hash(Scorer("coqa", top_n=[1, 5]))
    assert Hasher.hash(scorer) != Hasher.hash(Scorer("squad", top_n=[1, 5]))


def test_table_of_no_rows_and_of_chunks() -> None:
    empty = Scorer("coqa")(ITEMS.slice(0, 0))
    chunked = Scorer("coqa")(pa.concat_tables([ITEMS.slice(0, 2), ITEMS.slice(2)]))
    assert (empty.num_rows, empty.schema) == (0, chunked.schema)
    assert chunked.to_pylist() == expected("coqa")


def test_wrong_calls_are_refused() -> None:
    dataset = datasets.Dataset(ITEMS)
    with pytest.raises(ColumnTypeError, match='with_format\\("arrow"\\)'):
        dataset.map(Scorer("coqa"), batched=True)
    with pytest.raises(UnknownNameError, match="'coqa'"):
        Scorer("coqq")
    scored = dataset.with_format("arrow").map(Scorer("coqa"), batched=True)
    with pytest.raises(UsageError, match="'exact_match'"):
        scored.map(Scorer("squad"), batched=True)

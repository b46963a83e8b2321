"""Ray on a local cluster, head and two nodes with processes of their own: joined references, shards, and a killed worker."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import fastscore
from fastscore.errors import EncodingError, FastscoreError, UnknownNameError, UsageError
from fastscore.stage import manifest as stage
from tests.test_engines_equal import TABLE, bits

pytest.importorskip("ray.data")

from fastscore.engines import ray as engine

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]

DATA = Path(__file__).resolve().parents[1] / "data" / "generations.parquet"
SAMPLE = pq.read_table(DATA)
COLUMNS = ["question_id", "sample_id", "domain", "exact_match", "f1", "precision", "recall", "best_reference", "status"]


@pytest.fixture(scope="module")
def ray() -> Iterator[Any]:
    """A head and two nodes of one CPU each."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    import logging

    import ray
    from ray.cluster_utils import Cluster

    args = {"num_cpus": 1, "object_store_memory": 120_000_000}
    cluster = Cluster(initialize_head=True, head_node_args={**args, "include_dashboard": False})
    try:
        for _ in range(2):
            cluster.add_node(**args)
        ray.init(address=cluster.address, log_to_driver=False, logging_level=logging.ERROR)
        ray.data.DataContext.get_current().enable_progress_bars = False
        yield ray
    finally:
        ray.shutdown()
        cluster.shutdown()


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Predictions in eight files, with one for an unknown question; references in a table, with one that nobody answered."""
    folder = tmp_path_factory.mktemp("ray")
    predictions = SAMPLE.select(["question_id", "sample_id", "prediction"])
    unknown = pa.Table.from_pylist([{"question_id": "unknown", "sample_id": 0, "prediction": "x"}], schema=predictions.schema)
    predictions = pa.concat_tables([predictions.slice(0, 120), unknown, predictions.slice(120)])
    seen: dict[str, dict[str, Any]] = {}
    for row in SAMPLE.select(["question_id", "references", "domain"]).to_pylist():
        seen.setdefault(row["question_id"], row)
    gold = [*seen.values(), {"question_id": "unanswered", "references": ["y"], "domain": "none"}]
    references = pa.Table.from_pylist(gold)
    (folder / "in").mkdir()
    for number, start in enumerate(range(0, predictions.num_rows, 26)):
        pq.write_table(predictions.slice(start, 26), folder / "in" / f"{number}.parquet")
    expected = fastscore.score(predictions, references, recipe="coqa", by="domain")
    return {"in": folder / "in", "references": references, "expected": expected}


def as_rows(items: pa.Table) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = items.select(COLUMNS).to_pylist()
    return found


def test_items_and_summary_to_the_bit_as_in_every_engine(ray: Any) -> None:
    expected = fastscore.score(TABLE, recipe="coqa", by="domain", keep=["row"], threads=1)
    blocks = [TABLE.slice(start, 700) for start in range(0, TABLE.num_rows, 700)]
    result = engine.score(ray.data.from_arrow(blocks), "coqa", by="domain", keep=["row"], workers=2)
    found, wanted = bits(pa.concat_tables(ray.get(result.items.to_arrow_refs()))), bits(expected.items)
    assert [name for name in wanted if found[name] != wanted[name]] == []
    assert result.summary == expected.summary


def test_joined_references_against_a_local_run(ray: Any, files: dict[str, Any]) -> None:
    expected = files["expected"]
    result = engine.score(files["in"], "coqa", references=files["references"], by="domain")
    items = pa.concat_tables(ray.get(result.items.to_arrow_refs()))
    assert as_rows(items) == as_rows(expected.items)
    assert result.summary == expected.summary
    assert result.notes == expected.notes
    assert result.totals.to_dict()["groups"][""] == expected.totals.to_dict()["groups"][""]


class Killed(engine._Worker):
    """Kills its own process once, right after a block was scored and its shard written: the hardest moment."""

    def __call__(self, block: pa.Table) -> pa.Table:
        scored = super().__call__(block)
        with contextlib.suppress(FileExistsError):
            folder = self._job.folder
            assert folder is not None
            os.close(os.open(Path(folder).parent / "killed", os.O_CREAT | os.O_EXCL))
            os.kill(os.getpid(), signal.SIGKILL)
        return scored


def test_killed_worker_changes_nothing(ray: Any, files: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ray.cloudpickle.register_pickle_by_value(sys.modules[__name__])
    monkeypatch.setattr(engine, "_Worker", Killed)
    output = tmp_path / "out"
    result = engine.score(files["in"], "coqa", references=files["references"], by="domain", output=output, workers=2)
    assert (tmp_path / "killed").exists()
    expected = files["expected"]
    assert result.summary == expected.summary
    written = pa.concat_tables([pq.read_table(output / name) for name in result.shards])
    assert as_rows(written) == as_rows(expected.items)
    head, *lines = (output / stage.MANIFEST).read_bytes().splitlines()
    assert json.loads(head)["fastscore_manifest"] == 1
    assert json.loads(head)["asked"]["signature"] == expected.signature
    shards = [msgspec.json.decode(line, type=stage.Finished) for line in lines]
    assert [shard.output for shard in shards] == list(result.shards)
    assert sum(shard.rows for shard in shards) == expected.items.num_rows
    assert json.loads((output / "summary.json").read_text()) == expected.summary
    assert {p.name for p in output.iterdir()} == {*result.shards, "manifest.jsonl", "summary.json"}
    assert pq.read_schema(output / result.shards[0]).metadata[b"fastscore.signature"].decode() == expected.signature


def test_broken_data_are_named(ray: Any) -> None:
    broken = pa.table({"prediction": pa.array([b"a", b"\xff"]), "references": [["a"], ["b"]]})
    with pytest.raises(EncodingError, match="row 1"):
        engine.score(ray.data.from_arrow(broken), "coqa")


@pytest.mark.parametrize(
    ("error", "said", "options"),
    [
        (UnknownNameError, "'domain'", {"by": "domian"}),
        (UnknownNameError, "'coqa'", {"recipe": "coqq"}),
        (UsageError, "workers", {"workers": 0}),
        (UnknownNameError, "column 'answers'", {"references_column": "answers"}),
    ],
)
def test_wrong_calls_are_refused_before_anything_runs(
    ray: Any, error: type[FastscoreError], said: str, options: dict[str, Any]
) -> None:
    with pytest.raises(error, match=said):
        engine.score(ray.data.from_arrow(SAMPLE), **{"recipe": "coqa", **options})


def test_several_paths_without_aiohttp_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ray 2.60 lists them in threads; one of them meets the half-imported module of another, and the run fails."""
    found = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *a: None if name == "aiohttp" else found(name, *a))
    with pytest.raises(UsageError, match="got 2: Ray needs aiohttp"):
        engine.score([str(DATA), str(DATA)], "coqa")


@pytest.mark.parametrize(
    "options",
    [
        ["--threads", "2"],
        ["--memory", "2GiB"],
        ["--overwrite"],
        ["--format", "parquet"],
        ["--references-format", "parquet"],
        ["--storage-option", "aws_region=x"],
        ["-o", "-"],
    ],
    ids=lambda options: options[0],
)
def test_options_that_ray_does_not_take_are_refused_in_one_line(options: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    from fastscore.cli import main

    assert main(["score", str(DATA), "-r", "coqa", "--engine", "ray", *options]) == 2
    (said,) = capsys.readouterr().err.strip().splitlines()
    assert said.startswith("fastscore: --engine ray")


def test_used_folder_is_refused(ray: Any, tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(UsageError, match="not empty"):
        engine.score(ray.data.from_arrow(SAMPLE), "coqa", output=tmp_path)
    assert [p.name for p in tmp_path.iterdir()] == ["mine.txt"]

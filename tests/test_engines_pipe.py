"""``fastscore score - -o -``: an Arrow stream in and an Arrow stream out, from another process, for any other language."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import threading
from pathlib import Path

import pyarrow as pa
import pyarrow.ipc
import pytest

from fastscore.scoring import score_batch
from tests.test_engines_iterators import BATCH, SCHEMA

ROOT = Path(__file__).resolve().parents[1]
COMMAND = [sys.executable, "-m", "fastscore.cli", "score", "-", "-r", "coqa", "-o", "-", "--keep", "domain"]
EXPECTED = score_batch(BATCH, "coqa", keep=["domain"])


def piped(data: bytes, *options: str) -> subprocess.CompletedProcess[bytes]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONWARNINGS": "ignore"}
    return subprocess.run([*COMMAND, *options], input=data, capture_output=True, env=environment, check=False, timeout=120)


def stream(*batches: pa.RecordBatch, schema: pa.Schema = SCHEMA) -> bytes:
    sink = io.BytesIO()
    with pyarrow.ipc.new_stream(sink, schema) as writer:
        for batch in batches:
            writer.write_batch(batch)
    return sink.getvalue()


def rows(data: bytes) -> list[dict[str, object]]:
    found: list[dict[str, object]] = pyarrow.ipc.open_stream(data).read_all().to_pylist()
    return found


def test_several_batches_go_through_in_order() -> None:
    done = piped(stream(BATCH, BATCH.slice(0, 0), BATCH.slice(3), BATCH.slice(0, 1)))
    assert done.returncode == 0, done.stderr
    assert rows(done.stdout) == [*EXPECTED.to_pylist(), *EXPECTED.slice(3).to_pylist(), *EXPECTED.slice(0, 1).to_pylist()]


def test_scores_can_be_read_while_more_rows_are_written() -> None:
    """Both ways at once, many batches, through pipes that hold less than the data: neither side waits for the other."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONWARNINGS": "ignore"}
    many = pa.Table.from_batches([BATCH] * 2_000).combine_chunks().to_batches()[0]
    with subprocess.Popen([*COMMAND, "-q"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment) as process:
        killer = threading.Timer(120, process.kill)
        killer.start()
        assert process.stdin is not None
        assert process.stdout is not None
        data = stream(*[many] * 20)
        writer = threading.Thread(target=lambda: (process.stdin.write(data), process.stdin.close()))  # type: ignore[union-attr]
        writer.start()
        count = 0
        for batch in pyarrow.ipc.open_stream(process.stdout):
            count += batch.num_rows
        writer.join()
        killer.cancel()
    assert (process.returncode, count) == (0, 20 * 10_000)


def test_stream_without_batches_has_the_right_schema() -> None:
    done = piped(stream())
    assert done.returncode == 0, done.stderr
    found = pyarrow.ipc.open_stream(done.stdout).read_all()
    assert found.num_rows == 0
    assert found.schema.names == EXPECTED.schema.names


@pytest.mark.parametrize("cut", ["in the schema", "in a batch", "nothing", "text"])
def test_broken_streams_are_one_line_and_exit_code_3(cut: str) -> None:
    whole = stream(BATCH, BATCH)
    data = {
        "in the schema": whole[:40],
        "in a batch": whole[: len(whole) - 200],
        "nothing": b"",
        "text": b'{"prediction": "x"}\n',
    }
    done = piped(data[cut], "-q")
    assert done.returncode == 3, done.stderr
    said = done.stderr.decode().strip().splitlines()
    assert len(said) == 1, said
    assert said[0].startswith("fastscore: ")
    assert "Traceback" not in said[0]


def test_another_schema_after_the_first_is_an_error_at_its_batch() -> None:
    """A stream has one schema; a second stream behind the first is not read as more rows of it."""
    other = pa.record_batch({"prediction": ["x"], "references": [["x"]]})
    done = piped(stream(BATCH) + stream(other, schema=other.schema), "-q")
    assert done.returncode == 3, (done.returncode, rows(done.stdout))
    assert len(done.stderr.decode().strip().splitlines()) == 1


def test_bad_text_in_a_later_batch_is_named() -> None:
    kinds = pa.schema([("prediction", pa.binary()), ("references", pa.list_(pa.string())), ("domain", pa.string())])
    good = pa.RecordBatch.from_pylist([{"prediction": b"x", "references": ["x"]}] * 3, schema=kinds)
    bad = pa.RecordBatch.from_pylist([{"prediction": b"\xff", "references": ["x"]}], schema=kinds)
    done = piped(stream(good, bad, schema=kinds), "-q")
    assert done.returncode == 3
    assert "UTF-8" in done.stderr.decode()
    assert len(done.stderr.decode().strip().splitlines()) == 1

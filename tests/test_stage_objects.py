"""The stage on an object store: a local S3-compatible server, started here, against the same files on disk."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pyarrow.parquet as pq
import pytest

from fastscore.errors import DataError, FormatError, UsageError
from fastscore.stage.run import score_files
from tests.test_stage import items_of, made

pytest.importorskip("moto", reason="the local S3 server is moto's, of the extra `test`")


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = subprocess.Popen(
        [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    url = f"http://127.0.0.1:{port}"
    try:
        for _ in range(300):
            try:
                put(f"{url}/bucket", b"")
                break
            except OSError:
                time.sleep(0.1)
        else:
            pytest.skip("the local S3 server does not start")
        yield url
    finally:
        server.kill()
        server.wait()


def put(url: str, data: bytes) -> None:
    request = urllib.request.Request(url, data=data, method="PUT", headers={"Content-Type": "application/octet-stream"})
    with urllib.request.urlopen(request, timeout=60) as answer:
        answer.read()


def test_objects_against_files(endpoint: str, tmp_path: Path) -> None:
    table = made()
    (tmp_path / "in").mkdir()
    for n in range(3):
        path = tmp_path / "in" / f"{n}.parquet"
        pq.write_table(table.slice(200 * n, 200), path)
        put(f"{endpoint}/bucket/in/{n}.parquet", path.read_bytes())
    options = {
        "aws_endpoint_url": endpoint,
        "aws_access_key_id": "key",
        "aws_secret_access_key": "secret",
        "aws_region": "us-east-1",
        "aws_allow_http": "true",
    }
    right = score_files(tmp_path / "in", tmp_path / "right", recipe="coqa", by="domain")
    one = score_files("s3://bucket/in/1.parquet", tmp_path / "one.parquet", recipe="coqa", storage_options=options)
    assert one.rows == 200
    assert items_of(tmp_path / "one.parquet") == items_of(tmp_path / "right" / "1.parquet")
    for target in ("out", "out.parquet"):
        all_three = score_files(
            "s3://bucket/in/*.parquet", tmp_path / target, recipe="coqa", by="domain", storage_options=options
        )
        assert all_three.summary == right.summary
    for n in range(3):
        assert items_of(tmp_path / "out" / f"{n}.parquet") == items_of(tmp_path / "right" / f"{n}.parquet")
    again = score_files("s3://bucket/in/*.parquet", tmp_path / "out", recipe="coqa", by="domain", storage_options=options)
    assert (again.resumed, again.summary) == (3, right.summary)
    pl.DataFrame(table.slice(0, 50)).lazy().sink_parquet("s3://bucket/in/2.parquet", storage_options=options)
    with pytest.raises(DataError, match=r"2\.parquet: changed since"):
        score_files("s3://bucket/in/*.parquet", tmp_path / "out", recipe="coqa", by="domain", storage_options=options)
    with pytest.raises(FormatError, match=r"nothing\.parquet"):
        score_files("s3://bucket/in/nothing.parquet", recipe="coqa", storage_options=options)
    with pytest.raises(UsageError, match=r"s3://bucket/none/\*\.parquet: no object matches"):
        score_files("s3://bucket/none/*.parquet", recipe="coqa", storage_options=options)
    with pytest.raises(FormatError, match=r"s3://bucket/in: there is no such object; a folder ends in /"):
        score_files("s3://bucket/in", recipe="coqa", storage_options=options)

"""Files that are no files: pipes, devices, sockets, folders, bombs, as any input of any command; a line and never a hang."""

from __future__ import annotations

import gzip
import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from fastscore.cli import main
from fastscore.errors import FormatError
from fastscore.formats import files
from fastscore.formats.json_text import read_bytes

DATA = Path(__file__).resolve().parents[1] / "data"
COQA = (str(DATA / "coqa-predictions.json"), str(DATA / "coqa-references.json"))
KINDS = {"pipe": "a pipe", "zero": "a device", "socket": "a socket", "folder": "a folder", "absent": "no such file"}
#: Each input of each command, where BAD stands for a file that is none.
COMMANDS = {
    "score": ["score", "BAD", "-r", "coqa"],
    "score with a format": ["score", "BAD", "-r", "coqa", "--format", "jsonl"],
    "score a packed csv": ["score", "BAD", "-r", "coqa", "--format", "csv"],
    "score parquet": ["score", "BAD", "-r", "coqa", "--format", "parquet"],
    "score arrow in memory": ["score", "BAD", "-r", "coqa", "--format", "arrow", "--ci"],
    "references": ["score", COQA[0], "BAD", "-r", "coqa"],
    "references with a format": ["score", COQA[0], "BAD", "-r", "coqa", "--references-format", "coqa"],
    "references file": ["score", COQA[0], "--references-file", "BAD", "-r", "coqa"],
    "recipes of score": ["score", *COQA, "-r", "coqa", "--recipes", "BAD"],
    "recipes": ["recipes", "--recipes", "BAD"],
    "retrieval": ["retrieval", "BAD", "BAD"],
    "retrieval with a format": ["retrieval", "BAD", "BAD", "--format", "trec"],
    "retrieval of json": ["retrieval", "BAD", "BAD", "--format", "json"],
    "retrieval of json lines": ["retrieval", "BAD", "BAD", "--format", "jsonl"],
    "retrieval of tsv": ["retrieval", "BAD", "BAD", "--format", "tsv"],
    "retrieval of parquet": ["retrieval", "BAD", "BAD", "--format", "parquet"],
    "merge": ["merge", "BAD"],
    "compare": ["compare", "BAD", "BAD"],
    "compare predictions": ["compare", "BAD", "BAD", "-r", "coqa"],
    "report": ["report", "BAD", "-o", "OUT"],
    "explain": ["explain", "BAD", "--id", "1"],
    "differ": ["differ", "BAD", "-r", "coqa", "-r", "squad"],
}
#: Commands for which every kind is tried; the others read by the same doors.
EACH = ("score", "score with a format", "references", "recipes", "retrieval", "merge")


@pytest.fixture(name="bad")
def _bad(tmp_path: Path) -> Iterator[dict[str, Path]]:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    place = os.getcwd()
    os.chdir(tmp_path)  # a socket's path may not be long
    with socket.socket(socket.AF_UNIX) as held:
        held.bind("socket")
        os.chdir(place)
        yield {name: tmp_path / name for name in KINDS} | {"zero": Path("/dev/zero")}


@pytest.mark.parametrize(
    ("name", "kind"), [(name, kind) for name in COMMANDS for kind in (KINDS if name in EACH else ("pipe", "zero"))]
)
def test_what_is_no_file_is_said_in_a_line(
    bad: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, kind: str
) -> None:
    words = {"BAD": str(bad[kind]), "OUT": str(tmp_path / "out.html")}
    code = main([words.get(word, word) for word in COMMANDS[name]])
    out, err = capsys.readouterr()
    assert code in (2, 3), (out, err)
    assert str(bad[kind]) in err
    assert len(err.splitlines()) == 1, err
    assert kind == "folder" or KINDS[kind] in err or "there is no" in err


@pytest.mark.parametrize("packing", ["gz", "zst"])
def test_a_bomb_is_refused_with_the_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, packing: str) -> None:
    text = b'{"a": "' + b" " * (48 << 20) + b'"}'
    packed = gzip.compress(text, 1) if packing == "gz" else pa.Codec("zstd").compress(text, asbytes=True)
    path = tmp_path / f"x.json.{packing}"
    path.write_bytes(packed)
    assert len(read_bytes(path)) == len(text)
    monkeypatch.setattr(files, "memory_free", lambda: 64 << 20)
    with pytest.raises(FormatError, match=rf"x\.json\.{packing}: this \.{packing} unpacks to more than 16 MiB"):
        read_bytes(path)


def test_a_file_larger_than_the_memory_is_refused(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert files.memory_free() > 0
    monkeypatch.setattr(files, "memory_free", lambda: 1000)
    assert main(["score", *COQA, "-r", "coqa"]) == 3
    assert "more than the free memory" in capsys.readouterr().err

"""The command where its streams are closed, broken or full, where names are hostile, and where it is asked to stop."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from fastscore.cli import main
from tests.test_stage import made

COMMAND = f"{sys.executable} -m fastscore.cli"


def shell(line: str, folder: Path, **variables: str) -> subprocess.CompletedProcess[bytes]:
    found = subprocess.run(
        ["bash", "-c", line], cwd=folder, capture_output=True, timeout=120, env={**os.environ, **variables}, check=False
    )
    assert b"Traceback" not in found.stderr + found.stdout, found.stderr
    assert b"Exception ignored" not in found.stderr, found.stderr
    return found


@pytest.fixture(name="folder", scope="module")
def _folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("streams")
    pq.write_table(made(400), folder / "in.parquet")
    return folder


def test_closed_broken_and_full_streams(folder: Path) -> None:
    score = f"{COMMAND} score in.parquet -r coqa"
    right = shell(f"{score} --json -q", folder)
    assert (right.returncode, right.stderr) == (0, b"")
    one = shell(f"{score} -o out.parquet >&-; echo $? >&2", folder)
    assert one.stderr.split()[-1] == b"0"
    assert pq.read_metadata(folder / "out.parquet").num_rows == 400
    assert shell(f"{score} --json 2>&-", folder).stdout == right.stdout
    assert shell(f"{score} --json 2>&- <&-", folder).stdout == right.stdout
    both = shell(f"{score} absent -r coqa >&- 2>&-", folder)
    assert (both.returncode, both.stdout, both.stderr) == (2, b"", b"")
    assert shell(f"{score} -o - >&-", folder).returncode == 2
    full = shell(f"{score} >/dev/full", folder)
    assert (full.returncode, full.stderr.splitlines()[-1]) == (3, b"fastscore: output: No space left on device")
    assert shell(f"{score} 2>/dev/full --json", folder).stdout == right.stdout
    narrow = shell(score, folder, PYTHONIOENCODING="ascii", PYTHONUTF8="0")
    assert narrow.returncode == 0


def test_a_signature_is_one_line_where_it_is_piped(folder: Path) -> None:
    lines = shell(f"{COMMAND} score in.parquet -r coqa", folder).stdout.decode().splitlines()
    assert lines[-1].startswith("coqa|")
    assert "fastscore:" in lines[-1]


def test_sigterm_leaves_nothing_half_done(folder: Path) -> None:
    code = (
        "import sys, time\n"
        "from fastscore import cli\n"
        "from fastscore.stage import writers\n"
        "whole = writers.ItemWriter.write\n"
        "def slowly(self, batch):\n"
        "    whole(self, batch); print('ready', flush=True); time.sleep(60)\n"
        "writers.ItemWriter.write = slowly\n"
        "sys.exit(cli.main(['score', 'in.parquet', '-r', 'coqa', '-q', '-o', 'stopped.parquet', '--threads', '1']))\n"
    )
    started = subprocess.Popen([sys.executable, "-c", code], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert started.stdout is not None
    started.stdout.readline()
    time.sleep(0.2)
    assert list(folder.glob(".stopped*"))
    started.send_signal(signal.SIGTERM)
    _, err = started.communicate(timeout=60)
    assert (started.returncode, err) == (143, b"fastscore: stopped by SIGTERM\n")
    assert not list(folder.glob(".stopped*")) + list(folder.glob("stopped*"))


NAMES = [
    b"not \xff utf-8",
    b"two\nlines",
    b"star * and [brackets]",
    b"100%s %d {x}",
    b" blanks ",
    b"-r",
    b"\x1b[31mred",
    "Größe 東京".encode(),
    b"x" * 240,
]


@pytest.mark.parametrize("number", range(len(NAMES)))
def test_names_of_files(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], number: int) -> None:
    place = tmp_path / os.fsdecode(NAMES[number])
    place.mkdir()
    stem = os.fsdecode(NAMES[number])[:200]
    for suffix in ("arrow", "jsonl", "csv"):
        name = str(place / f"{stem}.{suffix}")
        assert main(["score", str(folder / "in.parquet"), "-r", "coqa", "-q", "-o", name]) == 0
        assert main(["score", name, "-r", "coqa", "-q"]) == 2, "scores have no predictions"
        os.unlink(name)
        os.unlink(f"{name}.summary.json")
    only = str(place / f"{stem}.parquet")
    shutil.copy(folder / "in.parquet", only)
    for given in (only, str(place)):
        out = str(tmp_path / "again")
        assert main(["score", given, "-r", "coqa", "-q", "--by", "domain", "-o", out]) == 0
        shutil.rmtree(out)
    capsys.readouterr()
    for command in (
        ["score", only, "-r", "coqa", "-o", str(place / "again")],
        ["merge", str(place / "again")],
        ["compare", str(place / "again" / Path(only).name), str(place / "again" / Path(only).name)],
        ["score", only, "-r", "coqa", "--ci"],
        ["explain", only, "-r", "coqa", "--id", "q1"],
        ["differ", only, "-r", "coqa", "-r", "squad"],
    ):
        assert main(command) == 0, capsys.readouterr().err
    err = capsys.readouterr().err
    assert "\x1b" not in err
    assert "Traceback" not in err
    assert main(["score", only + "-absent", "-r", "coqa"]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1


BIG = str(10**30)


@pytest.mark.parametrize(
    "words",
    [
        ["compare", "s.parquet", "s.parquet", "--draws", BIG],
        ["compare", "s.parquet", "s.parquet", "--listed", BIG],
        ["report", "s.parquet", "-o", "r.html", "--draws", BIG],
        ["retrieval", "run", "qrels", "--min-relevance", BIG],
        ["retrieval", "run", "qrels", "--min-relevance", str(2**63)],
        ["score", "odd.parquet", "-r", "squad", "--memory", "-1"],
        ["score", "odd.parquet", "-r", "squad", "--by", ""],
        ["score", "odd.parquet", "-r", "squad", "--by", "bytes"],
        ["score", "odd.parquet", "-r", "squad", "--by", "time"],
        ["score", "odd.parquet", "-r", "squad", "--keep", "bytes", "-o", "o.csv"],
        ["score", "odd.parquet", "-r", "squad", "--keep", "bytes", "-o", "o.jsonl"],
        ["score", "odd.parquet", "-r", "squad", "--keep", "bytes", "-o", "o.csv", "--ci"],
        ["score", "odd.parquet", "-r", "squad", "--memory", "2GiB", "--ci"],
        ["score", "odd.parquet", "-r", "squad", "--memory", "2GiB", "--engine", "ray"],
        ["score", "odd.parquet", "-r", "squad", "--threads", "2", "--engine", "ray"],
        ["score", "odd.parquet", "-r", "squad", "--overwrite", "--engine", "ray"],
    ],
    ids=lambda words: " ".join(words)[:60],
)
def test_options_that_cannot_be(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], words: list[str]
) -> None:
    monkeypatch.chdir(folder)
    odd()
    capsys.readouterr()
    assert main(words) == 2
    out, err = capsys.readouterr()
    assert (out, len(err.splitlines())) == ("", 1), err


def odd() -> None:
    """Tables of odd columns, and the scores of one, in the working folder."""
    rows = {
        "question_id": ["a", "b"],
        "prediction": ["x", "y"],
        "references": [["x"], ["z"]],
        "answer": ["q", "z"],
        "bytes": pa.array([b"\xff", b"\x00"]),
        "time": pa.array([1_500_000, 2], pa.duration("us")),
        "price": pa.array([Decimal("1.50"), None]),
        "=1+1": ["@x", "\ufeff=2+2"],
        "\ufeffmark": ["a", "b"],
        "": ["e", "f"],
    }
    pq.write_table(pa.table(rows), "odd.parquet")
    main(["score", "odd.parquet", "-r", "squad", "-q", "-o", "s.parquet", "--overwrite"])
    Path("run").write_text("q1 Q0 d1 1 1.0 t\n")
    Path("qrels").write_text("q1 0 d1 1\n")


def test_odd_columns_in_csv_and_renamed_columns(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    odd()
    kept = ["--keep", "\ufeffmark", "--keep", "=1+1", "--keep", "time", "--keep", "price", "--keep", ""]
    for more in ([], ["--ci"]):
        assert main(["score", "odd.parquet", "-r", "squad", "-q", *kept, "-o", "o.csv", "--overwrite", *more]) == 0
        header, first, second = Path("o.csv").read_text(encoding="utf-8").splitlines()
        assert header.startswith("question_id,mark,'=1+1,time,price,")
        assert first.startswith("a,a,'@x,PT1.5S,1.5")
        assert second.startswith("b,b,'\ufeff=2+2,PT0.000002S,,")
        for name in ("answer", "prediction"):
            renamed = ["--prediction", "answer", "--keep", name, "-o", "k.parquet", "--overwrite", *more]
            assert main(["score", "odd.parquet", "-r", "squad", "-q", *renamed]) == 0
            assert pq.read_table("k.parquet")[name].to_pylist() == ["q", "z"]
            assert pq.read_table("k.parquet")["f1"].to_pylist() == [0.0, 1.0]


def test_the_file_of_options(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    odd()
    capsys.readouterr()
    for text, said in (
        ('recip = "squad"', "Did you mean 'recipe'?"),
        ('recipe = "squad"\nthread = 2', "Did you mean 'threads'?"),
    ):
        Path("fastscore.toml").write_text(f"[score]\n{text}\n")
        assert main(["score", "odd.parquet"]) == 2
        assert said in capsys.readouterr().err
    Path("fastscore.toml").write_text('[score]\nrecipe = "squad"\nreferences-column = "references"\ntop_n = [1]\nquiet = true\n')
    assert main(["score", "odd.parquet"]) == 0
    Path("fastscore.toml").unlink()
    os.mkfifo("fastscore.toml")
    assert main(["score", "odd.parquet", "-r", "squad"]) == 2
    assert "fastscore.toml: this is a pipe" in capsys.readouterr().err


def test_folders_of_shards_are_compared_and_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("in").mkdir()
    table = made(400)
    pq.write_table(table, "whole.parquet")
    for n in range(4):
        pq.write_table(table.slice(100 * n, 100), f"in/{n}.parquet")
    for given, out in (("whole.parquet", "a.parquet"), ("in", "a"), ("in", "b")):
        assert main(["score", given, "-r", "coqa", "-q", "-o", out]) == 0
    capsys.readouterr()
    said = []
    for pair in (["a.parquet", "a.parquet"], ["a", "b"], ["a/[0-9].parquet", "b"]):
        assert main(["compare", *pair, "--json", "--name", "x", "--name", "y", "--draws", "200"]) == 0
        said.append(capsys.readouterr().out)
    assert said[0] == said[1] == said[2]
    assert main(["report", "a", "b", "-o", "-", "--draws", "200"]) == 0
    assert capsys.readouterr().out.startswith("<!DOCTYPE html>")
    assert not Path("<stream>").exists()
    Path("a/summary.json").unlink()
    assert main(["compare", "a", "b", "--json", "--draws", "200"]) == 0
    assert "did not come to its end" in capsys.readouterr().err
    Path("a/2.parquet").unlink()
    assert main(["compare", "a", "b"]) == 3
    assert main(["compare", "in", "b"]) == 3
    assert main(["compare", "nothing*", "b"]) == 2


def test_a_grade_beyond_64_bits_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("run").write_text("q1 Q0 d1 1 1.0 t\n")
    Path("qrels.json").write_text('{"q1": {"d1": 1180591620717411303424}}')
    assert main(["retrieval", "run", "qrels.json"]) in (2, 3)
    assert len(capsys.readouterr().err.splitlines()) == 1

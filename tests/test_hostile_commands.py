"""The command where its streams are closed, broken or full, where names are hostile, and where it is asked to stop."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

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

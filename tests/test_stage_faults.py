"""Faults put into the stage: whatever happens, no wrong or partial file under a final name, and a rerun gives the same bits."""

from __future__ import annotations

import fcntl
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from fastscore.cli import main
from fastscore.errors import DataError, FormatError, UsageError
from fastscore.schema import Status
from fastscore.stage import manifest, readers
from fastscore.stage.run import score_files
from tests.test_stage import made

COMMAND = [sys.executable, "-m", "fastscore.cli", "score"]


@pytest.fixture
def shards(tmp_path: Path) -> Path:
    folder = tmp_path / "in"
    folder.mkdir()
    table = made(3000)
    for n in range(12):
        pq.write_table(table.slice(250 * n, 250), folder / f"{n:02}.parquet", row_group_size=100)
    return folder


@pytest.fixture
def summary(shards: Path, tmp_path: Path) -> dict[str, Any]:
    result = score_files(shards, tmp_path / "right", recipe="coqa", by="domain")
    return result.summary


def finished(folder: Path) -> list[str]:
    return sorted(p.name for p in folder.glob("*.parquet"))


def same_shards(folder: Path, right: Path) -> bool:
    return all(pq.read_table(folder / name).equals(pq.read_table(right / name)) for name in finished(right))


def test_killed_at_any_moment_and_resumed(shards: Path, summary: dict[str, Any], tmp_path: Path) -> None:
    out = tmp_path / "out"
    rng = random.Random(7)
    code = (
        "import sys, time\n"
        "from fastscore.stage import manifest, writers\n"
        "def slowed(kind, name):\n"
        "    whole = getattr(kind, name)\n"
        "    def call(*given, **named):\n"
        "        time.sleep(0.01)\n"
        "        return whole(*given, **named)\n"
        "    setattr(kind, name, call)\n"
        "for kind, name in ((writers.ItemWriter, 'write'), (writers.ItemWriter, 'commit'), (manifest.Manifest, 'add')):\n"
        "    slowed(kind, name)\n"
        "from fastscore.stage.run import score_files\n"
        "print('ready', flush=True)\n"
        f"score_files({str(shards)!r}, {str(out)!r}, recipe='coqa', by='domain')\n"
    )
    for _ in range(20):
        process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(rng.uniform(0.0, 0.25))
        process.send_signal(signal.SIGKILL)
        process.wait()
        process.stdout.close()
        for name in finished(out):
            assert pq.read_table(out / name).equals(pq.read_table(tmp_path / "right" / name)), "a shard in place is whole"
    again = score_files(shards, out, recipe="coqa", by="domain")
    assert again.summary == summary
    assert same_shards(out, tmp_path / "right")
    assert not list(out.glob(".*.part"))
    assert json.loads((out / "summary.json").read_text()) == summary


def test_a_manifest_line_cut_short(shards: Path, summary: dict[str, Any], tmp_path: Path) -> None:
    out = tmp_path / "out"
    score_files(shards, out, recipe="coqa", by="domain")
    path = out / manifest.MANIFEST
    whole = path.read_bytes()
    for cut in (1, 40, len(whole.splitlines()[-1])):
        path.write_bytes(whole[:-cut])
        again = score_files(shards, out, recipe="coqa", by="domain")
        assert (again.summary, again.resumed) == (summary, 11)
        assert path.read_bytes() == whole
    path.write_bytes(whole.replace(b'"rows":250', b'"rows":"x"', 1))
    with pytest.raises(DataError, match="line 2 is broken"):
        score_files(shards, out, recipe="coqa", by="domain")
    path.write_bytes(b"{}\n")
    with pytest.raises(DataError, match="not a manifest"):
        score_files(shards, out, recipe="coqa", by="domain")
    assert score_files(shards, out, recipe="coqa", by="domain", overwrite=True).summary == summary


def test_a_manifest_of_another_run_is_refused(shards: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    score_files(shards, out, recipe="coqa")
    with pytest.raises(DataError, match="made with signature"):
        score_files(shards, out, recipe="squad")
    with pytest.raises(DataError, match="made with where"):
        score_files(shards, out, recipe="coqa", where="sample_id = 1")
    with pytest.raises(DataError, match=r"made with columns of --by = \[\], now \[.domain.\]; name"):
        score_files(shards, out, recipe="coqa", by="domain")
    pq.write_table(made(20), shards / "03.parquet")
    with pytest.raises(DataError, match=r"03\.parquet: changed since"):
        score_files(shards, out, recipe="coqa")
    (tmp_path / "foreign").mkdir()
    (tmp_path / "foreign" / "notes.txt").write_text("mine")
    with pytest.raises(UsageError, match=r"not empty \(notes\.txt\)"):
        score_files(shards, tmp_path / "foreign", recipe="coqa")


@pytest.mark.parametrize("fault", ["truncated", "corrupt page", "not parquet", "empty"])
def test_a_broken_shard_fails_by_name_and_the_others_are_done(
    shards: Path, summary: dict[str, Any], tmp_path: Path, fault: str, capsys: pytest.CaptureFixture[str]
) -> None:
    victim = shards / "05.parquet"
    whole = victim.read_bytes()
    if fault == "corrupt page":
        pq.write_table(pq.read_table(victim), victim, write_page_checksum=True, use_dictionary=False, compression="none")
        whole = victim.read_bytes()
        at = whole.find("Größe".encode(), len(whole) // 3)
        victim.write_bytes(whole[:at] + b"XX" + whole[at + 2 :])
    else:
        victim.write_bytes(
            {"truncated": whole[: len(whole) // 2], "not parquet": b"PAR1" + b"x" * 5000, "empty": b"PAR1PAR1"}[fault]
        )
    out = tmp_path / "out"
    call = ["score", str(shards), "-r", "coqa", "-o", str(out), "--by", "domain", "-q"]
    assert main(call) == 3
    said = capsys.readouterr().err.strip().splitlines()
    assert len(said) == 1
    assert "05.parquet" in said[0]
    assert finished(out) == [f"{n:02}.parquet" for n in range(12) if n != 5]
    assert not (out / "summary.json").exists()
    victim.write_bytes(whole)
    assert main([*call, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == summary


def test_an_input_that_changes_while_it_is_read(shards: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reads = readers._raw

    def meddled(source: Any, *rest: Any) -> Any:
        for batch in reads(source, *rest):
            os.utime(source.path, ns=(1, time.time_ns()))
            yield batch

    monkeypatch.setattr(readers, "_raw", meddled)
    with pytest.raises(FormatError, match="changed while it was read"):
        score_files(shards / "00.parquet", tmp_path / "out.parquet", recipe="coqa")
    assert not (tmp_path / "out.parquet").exists()
    assert not list(tmp_path.glob(".*"))


def test_disk_full(shards: Path, tmp_path: Path) -> None:
    out = tmp_path / "big.parquet"
    table = pa.concat_tables([made(3000, seed) for seed in range(8)])
    pq.write_table(table, tmp_path / "in.parquet")

    def small_disk() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (4_000, 4_000))

    call = [*COMMAND, str(tmp_path / "in.parquet"), "-r", "coqa", "-o", str(out), "-q", "--keep", "prediction"]
    # The kernels' cache is written before the disk is full, or its own warning would be a second line.
    assert (
        subprocess.run([*COMMAND, str(tmp_path / "in.parquet"), "-r", "coqa", "-q"], capture_output=True, check=False).returncode
        == 0
    )
    done = subprocess.run(call, capture_output=True, text=True, preexec_fn=small_disk, check=False)
    assert done.returncode == 3
    assert len(done.stderr.strip().splitlines()) == 1, done.stderr
    assert not out.exists()
    assert not list(tmp_path.glob(".*"))
    assert subprocess.run(call, capture_output=True, check=False).returncode == 0
    assert pq.read_table(out).num_rows == table.num_rows


def test_two_runs_into_one_folder(shards: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    with open(out / manifest.LOCK, "w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(UsageError, match="another run"):
            score_files(shards, out, recipe="coqa")
    assert score_files(shards, out, recipe="coqa").rows == 3000


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write into any folder")
def test_read_only_folder(shards: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir(mode=0o500)
    assert main(["score", str(shards), "-r", "coqa", "-o", str(out / "x.parquet")]) == 3


def test_an_output_that_cannot_be(shards: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("x")
    for target, code in (("file/x.parquet", 2), ("nowhere/x.parquet", 2), ("x.pickle", 2), ("file", 2)):
        assert main(["score", str(shards), "-r", "coqa", "-o", str(tmp_path / target)]) == code
        assert len(capsys.readouterr().err.strip().splitlines()) == 1
    assert main(["score", str(shards), "-r", "coqa", "-o", "/proc/nothing/x.parquet"]) in (2, 3)
    (tmp_path / "x.parquet").write_text("mine")
    assert main(["score", str(shards), "-r", "coqa", "-o", str(tmp_path / "x.parquet")]) == 2
    assert (tmp_path / "x.parquet").read_text() == "mine"


def test_broken_pipe_and_closed_stdin(shards: Path) -> None:
    for form in (["--json"], []):
        process = subprocess.Popen([*COMMAND, str(shards), "-r", "coqa", *form], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        said = process.stderr.read()
        process.stderr.close()
        assert process.wait() == 0
        assert b"Traceback" not in said
    done = subprocess.run([*COMMAND, "-", "-r", "coqa"], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    assert done.returncode == 3
    assert len(done.stderr.strip().splitlines()) == 1
    closed = subprocess.run(
        ["/bin/sh", "-c", f"{shutil.which('env')} {' '.join(COMMAND)} - -r coqa <&-"], capture_output=True, text=True, check=False
    )
    assert closed.returncode in (2, 3)
    assert len(closed.stderr.strip().splitlines()) == 1


def test_ctrl_c_leaves_finished_shards(shards: Path, summary: dict[str, Any], tmp_path: Path) -> None:
    out = tmp_path / "out"
    code = (
        "import sys, time\n"
        "from fastscore.stage import writers\n"
        "whole = writers.ItemWriter.commit\n"
        "def slow(self):\n    time.sleep(0.1)\n    print('shard', flush=True)\n    return whole(self)\n"
        "writers.ItemWriter.commit = slow\n"
        "from fastscore.cli import main\n"
        f"sys.exit(main(['score', {str(shards)!r}, '-r', 'coqa', '-o', {str(out)!r}, '--by', 'domain']))\n"
    )
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    for _ in range(3):
        process.stdout.readline()
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=20)
    assert process.returncode == 130
    assert said.strip().splitlines()[-1] == "fastscore: stopped"
    assert finished(out)
    assert not list(out.glob(".*.part"))
    assert score_files(shards, out, recipe="coqa", by="domain").summary == summary


@pytest.mark.parametrize("output", ["../../elsewhere.parquet", "/etc/passwd", "03/../../x.parquet"])
def test_a_manifest_that_leads_out_of_the_folder_is_refused(shards: Path, tmp_path: Path, output: str) -> None:
    out = tmp_path / "out"
    score_files(shards, out, recipe="coqa")
    path = out / manifest.MANIFEST
    path.write_text(path.read_text().replace('"03.parquet","rows"', f'"{output}","rows"'))
    with pytest.raises(DataError, match="outside the folder"):
        score_files(shards, out, recipe="coqa")
    assert main(["merge", str(out)]) == 3


def test_a_shard_that_was_cut_or_lost_is_made_again(shards: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    first = score_files(shards, out, recipe="coqa")
    whole = (out / "02.parquet").read_bytes()
    (out / "02.parquet").write_bytes(whole[:-30])
    (out / "07.parquet").unlink()
    again = score_files(shards, out, recipe="coqa")
    assert (again.resumed, again.summary) == (10, first.summary)
    assert pq.read_table(out / "02.parquet").num_rows == 250


def test_a_pipe_with_a_name_is_refused_at_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    os.mkfifo(tmp_path / "fifo")
    assert main(["score", str(tmp_path / "fifo"), "-r", "coqa"]) == 2
    assert "this is a pipe" in capsys.readouterr().err


def test_deep_json_is_one_line_everywhere(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    deep = tmp_path / "deep.json"
    deep.write_text("[" * 100_000 + "]" * 100_000)
    for call in (["score", str(deep), str(deep), "-r", "coqa"], ["retrieval", str(deep), str(deep), "-m", "mrr"]):
        assert main(call) == 3
        assert len(capsys.readouterr().err.strip().splitlines()) == 1


def test_an_output_folder_inside_the_input_folder_is_no_input(shards: Path) -> None:
    first = score_files(shards, shards / "scored", recipe="coqa")
    again = score_files(shards, shards / "scored", recipe="coqa")
    assert (first.rows, again.rows, again.resumed) == (3000, 3000, 12)
    with pytest.raises(UsageError, match="one of the inputs"):
        score_files(shards, shards, recipe="coqa", overwrite=True)
    assert pq.read_schema(shards / "00.parquet").names[2] == "prediction"


def test_no_summary_of_before_stays_beside_a_failure(shards: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    score_files(shards, out, recipe="coqa")
    (shards / "99.parquet").write_bytes(b"PAR1PAR1")
    assert score_files(shards, out, recipe="coqa").failures
    assert not (out / "summary.json").exists()


def test_broken_offsets_in_an_arrow_file_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    offsets = pa.py_buffer(np.array([0, 2_000_000_000, 3], np.int32))
    broken = pa.StringArray.from_buffers(2, offsets, pa.py_buffer(b"abc"))
    table = pa.table({"prediction": ["a", "b"], "references": [["a"], ["b"]], "g": broken})
    with pa.ipc.new_file(tmp_path / "in.arrow", table.schema) as writer:
        writer.write_table(table)
    for more in (["--by", "g"], ["--keep", "g", "-o", str(tmp_path / "x.csv")], ["--where", "g = 'x'"]):
        assert main(["score", str(tmp_path / "in.arrow"), "-r", "coqa", *more]) == 3
        assert "column 'g' is broken" in capsys.readouterr().err
    assert not (tmp_path / "x.csv").exists()


@pytest.mark.parametrize(
    "other",
    [
        pa.table({"question": ["a"]}),
        pa.table({"prediction": [1.5], "references": [["a"]], "domain": ["x"]}),
        pa.table({"prediction": ["a"], "references": [["a"]]}),
    ],
    ids=["no columns", "wrong type", "no group"],
)
def test_a_shard_without_the_columns_fails_by_name_and_the_others_are_done(
    shards: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], other: pa.Table
) -> None:
    pq.write_table(other, shards / "05.parquet")
    asked = ["score", str(shards), "--recipe", "coqa", "--by", "domain", "-q", "--json", "-o"]
    assert main([*asked, str(tmp_path / "out")]) == 3
    out, err = capsys.readouterr()
    assert sum(json.loads(out)["overall"][s.label] for s in Status) == 11 * 250
    assert "05.parquet" in err
    assert len(err.splitlines()) == 1
    assert len(finished(tmp_path / "out")) == 11
    for path in shards.glob("*.parquet"):
        pq.write_table(other, path)
    assert main([*asked, str(tmp_path / "none")]) == 2
    assert "00.parquet" in capsys.readouterr().err

"""Rewards of files against those in memory: the same rows, groups and summary to the bit, however files are cut and runs end."""

from __future__ import annotations

import io
import json
import random
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet as pq
import pytest

from fastscore.cli import main
from fastscore.errors import ColumnTypeError, DataError, EncodingError, UnknownNameError, UsageError
from fastscore.rewards import grouping, reward_files, reward_rule, score_rollouts, summarize

RULE: dict[str, Any] = {"recipe": "squad:f1", "extract": "tag:answer", "format_tags": "answer", "format_weight": 0.1}
SAMPLING: dict[str, Any] = {"pass_at": [1, 4], "best_at": [1, 3], "maj_at": [1, 3]}


def made(rows: int = 400, *, scattered: bool = False, seed: int = 3) -> pa.Table:
    """Rollouts: groups of 1 to 7, some of one value; completions without an answer or null; rows without a prompt."""
    rng = random.Random(seed)
    words = ["Paris", "the Rome", "Größe", "old Paris", ""]
    prompts: list[str | None] = []
    while len(prompts) < rows:
        name = rng.choice([f"p{len(prompts)}", f"ψ{len(prompts)}", None] if rng.random() < 0.1 else [f"p{len(prompts)}"])
        prompts += [name] * rng.randint(1, 7)
    prompts = prompts[:rows]
    if scattered:
        rng.shuffle(prompts)
    answers = [rng.choice(words) for _ in range(rows)]
    shapes = ["<answer>{}</answer>", "so <answer>{}</answer>", "{}", None]
    texts = [None if (shape := rng.choices(shapes, [8, 3, 2, 1])[0]) is None else shape.format(a) for a in answers]
    return pa.table(
        {
            "prompt_id": prompts,
            "sample_id": pa.array(range(rows), pa.int32()),
            "prediction": texts,
            "references": [["Paris"] if (p or "p")[-1] in "02468" else ["Rome", "Größe"] for p in prompts],
            "domain": [f"d{i % 3}" for i in range(rows)],
            "at": pa.array(range(rows), pa.timestamp("us")),
        }
    )


def expected(table: Any, **options: Any) -> pa.Table:
    return score_rollouts(table, **{**RULE, "normal_form": True, **options})


def summed(table: pa.Table, **options: Any) -> dict[str, Any]:
    return summarize(table, reward_rule(**RULE), ["prompt_id"], **SAMPLING, **options)


def shards_of(table: pa.Table, folder: Path, cuts: list[int]) -> Path:
    folder.mkdir()
    at = 0
    for number, size in enumerate(cuts):
        pq.write_table(table.slice(at, size), folder / f"{number:02}.parquet", row_group_size=40)
        at += size
    assert at == table.num_rows
    return folder


def read(path: Path) -> list[dict[str, Any]]:
    files = sorted(path.glob("*.parquet")) if path.is_dir() else [path]
    return [row for file in files for row in pq.read_table(file).to_pylist()]


def left_over(folder: Path) -> list[str]:
    return [p.name for p in folder.iterdir() if p.name.startswith(".") and p.name != ".fastscore.lock"]


# ---- against memory


@pytest.mark.parametrize("scattered", [False, True], ids=["in-order", "scattered"])
@pytest.mark.parametrize(
    "options",
    [
        {"threads": 1},
        {"threads": 3, "memory": 520 << 20, "advantage": "rloo"},
        {"advantage": "grpo", "framework": "nemo_rl"},
        {"advantage": "maxrl", "framework": "verl", "ddof": 0},
        {"advantage": None},
    ],
    ids=lambda options: "-".join(map(str, options.values())),
)
def test_one_file_against_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, scattered: bool, options: dict[str, Any]
) -> None:
    """With partitions of 30 rows, so that groups and null prompts are dealt out and collected again."""
    monkeypatch.setattr(grouping, "_ROWS", 30)
    monkeypatch.setattr(grouping, "_FEWEST_ROWS", 30)
    monkeypatch.setattr(grouping, "_STEP", 7)
    table = made(scattered=scattered)
    pq.write_table(table, tmp_path / "in.parquet", row_group_size=64)
    result = reward_files(
        tmp_path / "in.parquet", tmp_path / "out.parquet", **RULE, **SAMPLING, keep=["at", "prediction"], **options
    )
    options = {name: value for name, value in options.items() if name not in ("threads", "memory")}
    right = expected(table, keep=["at", "prediction"], **options)
    assert read(tmp_path / "out.parquet") == right.to_pylist()
    assert pq.read_schema(tmp_path / "out.parquet").names == right.column_names
    assert result.summary == summed(right)
    assert json.loads((tmp_path / "out.parquet.summary.json").read_text()) == result.summary
    assert result.summary["groups"]["no_prompt"] == table["prompt_id"].null_count > 0
    assert [p.name for p in tmp_path.iterdir() if p.name.startswith(".")] == []


@pytest.mark.parametrize("cuts", [[400], [1, 399], [0, 130, 0, 3, 3, 64, 200]], ids=str)
@pytest.mark.parametrize("rows", [23, 1 << 19])
def test_groups_over_shards_against_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cuts: list[int], rows: int) -> None:
    monkeypatch.setattr(grouping, "_ROWS", rows)
    table = made(scattered=True)
    source, out = shards_of(table, tmp_path / "in", cuts), tmp_path / "out"
    result = reward_files(source, out, **RULE, **SAMPLING)
    right = expected(table)
    assert [len(read(out / f"{n:02}.parquet")) for n in range(len(cuts))] == cuts
    assert read(out) == right.to_pylist()
    assert result.summary == summed(right) == json.loads((out / "summary.json").read_text())
    assert left_over(out) == []
    again = reward_files(source, out, **RULE, **SAMPLING)
    assert (again.resumed, again.summary, again.read_bytes) == (len(cuts), result.summary, 0)
    assert reward_files(source, None, **RULE, **SAMPLING).summary == result.summary


def test_by_columns_have_blocks_of_their_own(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = made()
    pq.write_table(table, tmp_path / "in.parquet")
    result = reward_files(tmp_path / "in.parquet", **RULE, by="domain")
    right = pl.DataFrame(expected(table, keep=["domain"]))
    assert list(result.summary["by"]["domain"]) == ["d0", "d1", "d2"]
    for value, block in result.summary["by"]["domain"].items():
        mine = right.filter(domain=value)
        assert (block["rollouts"], block["extracted"], block["rewarded"]) == (
            mine.height,
            mine["extracted"].sum(),
            mine["reward"].count(),
        )
        assert block["reward"] == pytest.approx(mine["reward"].mean())
        assert block["extraction_failed"] == mine.filter(status="extraction_failed").height
    call = ["rewards", str(tmp_path / "in.parquet"), "-r", "squad", "--extract", "tag:answer", "--by", "domain", "-q"]
    assert main(call) == 0
    assert "domain d2" in capsys.readouterr().out


def test_many_values_of_a_by_column_become_a_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from fastscore.rewards import work
    from fastscore.stage import summary

    monkeypatch.setattr(work, "MOST_NOTED", 5)
    monkeypatch.setattr(summary, "MOST_GROUPS", 5)
    source, out = shards_of(made(), tmp_path / "in", [100, 300]), tmp_path / "out"
    result = reward_files(source, out, **RULE, by="sample_id")
    assert result.summary["by"]["sample_id"] == {"table": "groups.sample_id.parquet", "groups": 400}
    rows = pq.read_table(out / "groups.sample_id.parquet").to_pylist()
    assert sum(row["rewarded"] for row in rows) == result.summary["rewarded"]
    assert reward_files(source, out, **RULE, by="sample_id").summary == result.summary
    assert "400 values" in str(result)


# ---- what goes in and out


@pytest.mark.parametrize("suffix", ["jsonl", "csv", "arrow"])
def test_other_formats_against_memory(tmp_path: Path, suffix: str) -> None:
    frame = pl.DataFrame(made().drop_columns(["at"])).with_columns(references=pl.col("references").list.first())
    path = tmp_path / f"in.{suffix}"
    {"jsonl": frame.write_ndjson, "csv": frame.write_csv, "arrow": frame.write_ipc}[suffix](path)
    result = reward_files(path, tmp_path / "out.parquet", **RULE, **SAMPLING)
    right = expected(path)
    assert read(tmp_path / "out.parquet") == right.to_pylist()
    assert result.summary == summed(right)
    reward_files(path, tmp_path / f"out.{suffix}", **RULE)
    back = {"jsonl": pl.read_ndjson, "csv": pl.read_csv, "arrow": pl.read_ipc}[suffix](tmp_path / f"out.{suffix}")
    assert back["group_mean"].to_list() == pl.Series(right["group_mean"]).to_list()


def test_arrow_through_a_pipe(tmp_path: Path) -> None:
    sink = io.BytesIO()
    with pyarrow.ipc.new_stream(sink, made(200).schema) as writer:
        writer.write_table(made(200), 33)
    command = [sys.executable, "-m", "fastscore.cli", "rewards", "-", "-r", "squad:f1", "--extract", "tag:answer"]
    command += ["--format-tags", "answer", "--format-weight", "0.1", "--maj-at", "1", "-o", "-"]
    done = subprocess.run(command, input=sink.getvalue(), capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    assert pyarrow.ipc.open_stream(done.stdout).read_all().to_pylist() == expected(made(200)).to_pylist()
    assert b"200 rows" in done.stderr


def test_lists_of_completions_struct_fields_and_references_by_key(tmp_path: Path) -> None:
    frame = pl.DataFrame(
        {
            "id": ["a", "b", "c", "x"],
            "out": [{"text": ["Paris", "Rome"]}, {"text": []}, {"text": None}, {"text": ["?"]}],
            "references": [["never"]] * 4,
            "status": ["mine"] * 4,
        }
    )
    gold = pl.DataFrame({"id": ["c", "a", "d"], "answers": [["Rome"], ["Paris"], ["Bonn"]], "split": ["s", "t", "u"]})
    frame.write_parquet(tmp_path / "in.parquet")
    gold.write_parquet(tmp_path / "gold.parquet")
    options: dict[str, Any] = {"recipe": "squad", "prediction": "out.text", "references_column": "answers"}
    more: dict[str, Any] = {"group": "id", "keep": ["out.text", "answers", "split"]}
    result = reward_files(
        tmp_path / "in.parquet", tmp_path / "out.parquet", references=tmp_path / "gold.parquet", ids=["id"], **options, **more
    )
    rows = read(tmp_path / "out.parquet")
    assert [(r["id"], r["sample_id"], r["out.text"], r["answers"], r["split"], r["reward"], r["status"]) for r in rows] == [
        ("a", 0, "Paris", ["Paris"], "t", 1.0, "ok"),
        ("a", 1, "Rome", ["Paris"], "t", 0.0, "ok"),
        ("x", 0, "?", None, None, None, "unmatched_prediction"),
    ]
    assert {"2 references have no prediction", "2 rows have no completion in 'out.text'"} <= set(result.notes)
    memory = score_rollouts(frame.drop("status"), gold, keys=["id"], **options, **more)
    assert [{k: r[k] for k in memory.column_names} for r in rows] == memory.to_pylist()


def test_a_published_layout_is_read_too(tmp_path: Path) -> None:
    (tmp_path / "predictions.json").write_text('{"q1": "Paris", "q2": "<answer>Rome</answer>"}')
    gold = pl.DataFrame({"question_id": ["q1", "q2"], "references": [["Paris"], ["Rome"]]})
    found = reward_files(tmp_path / "predictions.json", tmp_path / "out.parquet", recipe="squad", references=gold)
    assert [row["reward"] for row in read(tmp_path / "out.parquet")] == [1.0, 0.0]
    assert found.summary["groups"]["one_row"] == 2


def test_a_filter_and_a_renamed_column_that_is_kept(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = made().rename_columns(["prompt_id", "sample_id", "completion", "gold", "domain", "at"])
    folder, out = shards_of(table, tmp_path / "in", [90, 310]), tmp_path / "out"
    call = ["rewards", str(folder / "*.parquet"), "-r", "squad", "--extract", "tag:answer", "--prediction", "completion"]
    call += ["--references-column", "gold", "--where", "domain = 'd1'", "--keep", "completion", "--keep", "gold", "--json"]
    assert main([*call, "-o", str(out)]) == 0
    summary = json.loads(capsys.readouterr().out)
    mine = pl.DataFrame(table).filter(domain="d1")
    options: dict[str, Any] = {"prediction": "completion", "references_column": "gold", "keep": ["completion", "gold"]}
    right = score_rollouts(mine, recipe="squad", extract="tag:answer", **options)
    assert read(out) == right.to_pylist()
    assert summary["rollouts"] == right.num_rows == 133
    assert "completion" in right.column_names


def test_strict_is_about_rows_prompts_and_nothing_at_all(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pl.DataFrame(made()).write_parquet(tmp_path / "in.parquet")
    call = ["rewards", str(tmp_path / "in.parquet"), "-r", "squad", "--strict", "-q"]
    for where, code, said in (
        ("prediction is not null and prompt_id is not null", 0, ""),
        ("prompt_id is not null", 3, "null_prediction"),
        ("prediction is not null", 3, "without a prompt"),
        ("domain = 'nowhere'", 3, "no rollout at all"),
    ):
        assert main([*call, "--where", where]) == code
        assert said in capsys.readouterr().err
    assert main([*call[:-2], "-q", "--where", "domain = 'nowhere'"]) == 0


def test_without_a_prompt_column_there_are_no_groups(tmp_path: Path) -> None:
    table = made().drop_columns(["prompt_id"])
    source, out = shards_of(table, tmp_path / "in", [100, 300]), tmp_path / "out"
    for again in (0, 2):
        result = reward_files(source, out, **RULE)
        assert result.resumed == again
        assert read(out) == score_rollouts(table, **RULE).to_pylist()
        assert any("no column names a prompt" in note for note in result.notes)
    reward_files(source, tmp_path / "out.csv", **RULE)
    assert pl.read_csv(tmp_path / "out.csv").height == 400
    with pytest.raises(UsageError, match="need a group"):
        reward_files(source, **RULE, pass_at=[1])


def test_empty_inputs(tmp_path: Path) -> None:
    pq.write_table(made().slice(0, 0), tmp_path / "in.parquet")
    result = reward_files(tmp_path / "in.parquet", tmp_path / "out.parquet", **RULE, **SAMPLING)
    right = expected(made().slice(0, 0))
    assert pq.read_schema(tmp_path / "out.parquet").names == right.column_names
    assert result.summary == summed(right)
    assert result.summary["pass@1"]["mean"] is None
    assert "extraction rate" in str(result)


# ---- faults


def test_killed_in_either_step_and_resumed(tmp_path: Path) -> None:
    table = made(2400, scattered=True)
    source, out = shards_of(table, tmp_path / "in", [200] * 12), tmp_path / "out"
    right = reward_files(source, tmp_path / "right", **RULE, **SAMPLING)
    code = (
        "import time\n"
        "from fastscore.rewards import grouping\n"
        "from fastscore.stage import manifest, writers\n"
        "def shown(kind, name):\n"
        "    whole = getattr(kind, name)\n"
        "    def call(*given, **named):\n"
        "        print(name, flush=True)\n"
        "        time.sleep(0.02)\n"
        "        return whole(*given, **named)\n"
        "    setattr(kind, name, call)\n"
        "for kind, name in ((writers.ItemWriter, 'write'), (writers.ItemWriter, 'commit'), (manifest.Manifest, 'add'),\n"
        "                   (grouping.Grouping, 'split'), (grouping.Grouping, 'solve')):\n"
        "    shown(kind, name)\n"
        "from fastscore.rewards import reward_files\n"
        f"reward_files({str(source)!r}, {str(out)!r}, **{RULE!r}, **{SAMPLING!r})\n"
    )
    seen = []
    for calls in (8, 24, 14):  # three for each shard and step
        process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        assert process.stdout is not None
        for _ in range(calls):
            process.stdout.readline()
        process.send_signal(signal.SIGKILL)
        process.wait()
        process.stdout.close()
        for path in out.glob("*.parquet"):
            assert pq.read_table(path).equals(pq.read_table(tmp_path / "right" / path.name)), "a shard in place is whole"
        assert not (out / "summary.json").exists()
        seen.append((len(list(out.glob(".scored/*.parquet"))), len(list(out.glob("*.parquet")))))
    again = reward_files(source, out, **RULE, **SAMPLING)
    assert 0 < seen[0][0] < seen[1][0] < 12
    assert 0 < seen[-1][1] < 12
    assert again.summary == right.summary == json.loads((out / "summary.json").read_text())
    assert again.resumed > 0
    assert read(out) == read(tmp_path / "right") == expected(table).to_pylist()
    assert left_over(out) == []


@pytest.mark.parametrize("place", ["solve", "first write", "second write", "note"])
def test_stopped_in_the_second_step_and_resumed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str) -> None:
    """What was finished before is finished once, and no shard is without its groups under its final name."""
    from fastscore.rewards import files
    from fastscore.stage import manifest

    table = made(scattered=True)
    source, out = shards_of(table, tmp_path / "in", [100] * 4), tmp_path / "out"
    writes = 0

    def stopped(*given: Any, **named: Any) -> Any:
        nonlocal writes
        writes += 1
        if writes > {"second write": 1}.get(place, 0):
            raise KeyboardInterrupt
        return whole(*given, **named)

    with monkeypatch.context() as patch:
        if place == "solve":
            patch.setattr(grouping.Grouping, "solve", stopped)
        elif place == "note":
            add = manifest.Manifest.add

            def noted(self: Any, shard: Any) -> None:
                if shard.output == "02.parquet":
                    raise KeyboardInterrupt
                add(self, shard)

            patch.setattr(manifest.Manifest, "add", noted)
        else:
            whole = files._Run._write
            patch.setattr(files._Run, "_write", stopped)
        with pytest.raises(KeyboardInterrupt):
            reward_files(source, out, **RULE)
    there = {"solve": 0, "first write": 0, "second write": 1, "note": 3}[place]
    assert len(list(out.glob("*.parquet"))) == there
    assert not (out / "summary.json").exists()
    result = reward_files(source, out, **RULE)
    assert (result.resumed, result.read_bytes) == (4, 0)
    assert read(out) == score_rollouts(table, **RULE).to_pylist()
    assert left_over(out) == []


def test_a_source_that_comes_later_changes_the_groups_of_all(tmp_path: Path) -> None:
    table = made(scattered=True)
    source, out = shards_of(table.slice(0, 300), tmp_path / "in", [100] * 3), tmp_path / "out"
    reward_files(source, out, **RULE)
    assert read(out) == score_rollouts(table.slice(0, 300), **RULE).to_pylist()
    pq.write_table(table.slice(300), source / "99.parquet")
    result = reward_files(source, out, **RULE)
    assert (result.resumed, result.rows) == (3, 400)
    assert read(out) == score_rollouts(table, **RULE).to_pylist()


def test_a_broken_source_holds_the_groups_back_and_no_rewards(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, out = shards_of(made(), tmp_path / "in", [100] * 4), tmp_path / "out"
    whole = (source / "02.parquet").read_bytes()
    (source / "02.parquet").write_bytes(whole[:-40])
    call = ["rewards", str(source), "-r", "squad:f1", "--extract", "tag:answer", "-o", str(out), "-q"]
    assert main(call) == 3
    said = capsys.readouterr().err.strip().splitlines()
    assert len(said) == 1
    assert "02.parquet" in said[0]
    assert list(out.glob("*.parquet")) == []
    (source / "02.parquet").write_bytes(whole)
    assert main(call) == 0
    assert read(out) == score_rollouts(made(), recipe="squad:f1", extract="tag:answer").to_pylist()
    (source / "01.parquet").write_bytes(whole)
    assert main(call) == 3
    assert "changed since" in capsys.readouterr().err


def test_a_folder_of_another_run_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, out = shards_of(made(), tmp_path / "in", [400]), tmp_path / "out"
    reward_files(source, out, **RULE)
    for options, name in (
        ({**RULE, "recipe": "squad"}, "rewards"),
        ({**RULE, "advantage": "rloo"}, "advantage"),
        ({**RULE, "epsilon": 1e-6}, "advantage"),
        ({**RULE, "group": "domain"}, "group"),
        ({**RULE, "where": "sample_id > 3"}, "where"),
        ({**RULE, "maj_at": [1]}, "normal_form"),
        ({**RULE, "keep": ["at"]}, "columns"),
    ):
        with pytest.raises(DataError, match=f"made with {name}"):
            reward_files(source, out, **options)
    assert reward_files(source, out, **{**RULE, "recipe": "squad"}, overwrite=True).resumed == 0
    for path in (out, out / "00.parquet"):
        assert main(["merge", str(path)]) == 3
        assert "fastscore score" in (said := capsys.readouterr().err) or "item scores" in said


def test_mistakes_name_source_row_and_column(tmp_path: Path) -> None:
    table = made(50)
    path = tmp_path / "in.parquet"
    pq.write_table(table, path)
    for options, error, message in (
        ({"prediction": "predictoin"}, UnknownNameError, r"in\.parquet: column 'predictoin' .*prediction"),
        ({"keep": ["domian"]}, UnknownNameError, "domain"),
        ({"group": "prompt"}, UnknownNameError, "prompt_id"),
        ({"where": "domian = 1"}, UnknownNameError, "domain"),
        ({"where": "domain ="}, UsageError, "where"),
        ({"prediction": "at"}, ColumnTypeError, "at"),
        ({"keep": ["reward"]}, UsageError, "name of a column of rewards"),
        ({"group": "group_mean"}, UsageError, "name of a column of rewards"),
        ({"advantage": "gpro"}, UnknownNameError, "grpo"),
        ({"epsilon": -1.0}, UsageError, "epsilon"),
        ({"memory": 1 << 20}, UsageError, "memory"),
        ({"null": "error", "where": "sample_id > 7"}, DataError, r"in\.parquet: reward: \d+ rows have no score \(row "),
    ):
        with pytest.raises(error, match=message):
            reward_files(path, **{**RULE, **options})
    silent = [n for n, row in enumerate(score_rollouts(table, **RULE).to_pylist()) if row["status"] != "ok" and n > 7]
    with pytest.raises(DataError, match=f"row {silent[0]}: "):
        reward_files(path, **RULE, null="error", where="sample_id > 7")
    broken = pa.array([b"ok", b"\xff", b"<answer>\xff</answer>"], pa.binary())
    pq.write_table(pa.table({"prompt_id": [1] * 3, "prediction": broken, "references": ["a"] * 3}), path)
    with pytest.raises(EncodingError, match=r"in\.parquet: .*row 2"):
        reward_files(path, recipe="squad", where="prediction is not null", extract="tag:answer")
    pq.write_table(pa.table({"prompt_id": [1.5], "prediction": ["a"], "references": ["a"]}), path)
    with pytest.raises(ColumnTypeError, match="float is no exact key"):
        reward_files(path, recipe="squad")

"""The stage against scoring in memory: the same items and the same summary to the bit, whatever the files look like."""

from __future__ import annotations

import gzip
import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet as pq
import pytest

import fastscore
from fastscore.cli import main
from fastscore.errors import DataError, FormatError, UnknownNameError, UsageError
from fastscore.stage.merge import merge_totals
from fastscore.stage.run import limits_of, score_files

RECIPE = "coqa"


def made(rows: int = 600, seed: int = 0) -> pa.Table:
    """Sampled answers with umlauts, nulls, repeated and empty reference lists, and columns to hand on."""
    words = ["the", "cat", "Größe", "ΟΔΟΣ", "a", "no.", "x-ray", "seven", "", "東京"]
    predictions, references = [], []
    for i in range(rows):
        k = (i * 7 + seed) % 97
        predictions.append(None if k == 5 else " ".join(words[(k + j) % 10] for j in range(k % 4)))
        q = i // 4
        references.append(
            None if q % 41 == 3 else [" ".join(words[(q + j + r) % 10] for j in range(1 + q % 3)) for r in range(q % 5)]
        )
    return pa.table(
        {
            "question_id": [f"q{i // 4}" for i in range(rows)],
            "sample_id": pa.array([i % 4 for i in range(rows)], pa.int32()),
            "prediction": pa.array(predictions, pa.string()),
            "references": pa.array(references, pa.list_(pa.string())),
            "domain": [f"d{i // 100}" for i in range(rows)],
            "at": pa.array(range(rows), pa.timestamp("us")),
            "status": ["whatever"] * rows,
        }
    )


def expected(table: pa.Table, **options: Any) -> Any:
    return fastscore.score(table.drop_columns(["status"]), recipe=RECIPE, **options)


def items_of(path: Path) -> list[dict[str, Any]]:
    rows = pq.read_table(path).to_pylist()
    assert isinstance(rows, list)
    return rows


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("memory", [None, 520 << 20])
def test_one_file_against_memory(tmp_path: Path, threads: int, memory: int | None) -> None:
    table = made()
    pq.write_table(table, tmp_path / "in.parquet", row_group_size=130)
    result = score_files(
        tmp_path / "in.parquet", tmp_path / "out.parquet", recipe=RECIPE, by="domain", keep=["at"], threads=threads, memory=memory
    )
    right = expected(table, by="domain", keep=["at"])
    assert items_of(tmp_path / "out.parquet") == right.items.to_pylist()
    assert result.summary == right.summary
    assert json.loads((tmp_path / "out.parquet.summary.json").read_text()) == right.summary
    written = pq.read_schema(tmp_path / "out.parquet")
    assert written.field("at").type == pa.timestamp("us")
    assert written.field("sample_id").type == pa.int32()
    assert written.metadata[b"fastscore.signature"].decode() == right.signature
    assert not list(tmp_path.glob(".*"))


@pytest.mark.parametrize("cuts", [[600], [1, 599], [8, 9, 63, 64, 65, 391], [0, 300, 0, 300]])
def test_shards_against_one_file(tmp_path: Path, cuts: list[int]) -> None:
    table = made()
    (tmp_path / "in").mkdir()
    at = 0
    for number, size in enumerate(cuts):
        pq.write_table(table.slice(at, size), tmp_path / "in" / f"{number:03}.parquet")
        at += size
    result = score_files(tmp_path / "in", tmp_path / "out", recipe=RECIPE, by="domain", threads=2)
    right = expected(table, by="domain")
    shards = sorted((tmp_path / "out").glob("*.parquet"))
    assert [s.name for s in shards] == [f"{n:03}.parquet" for n in range(len(cuts))]
    assert [row for s in shards for row in items_of(s)] == right.items.to_pylist()
    assert result.summary == right.summary
    again = score_files(tmp_path / "in", tmp_path / "out", recipe=RECIPE, by="domain")
    assert (again.resumed, again.summary) == (len(cuts), right.summary)
    assert main(["merge", str(tmp_path / "out")]) == 0


def test_merge_against_one_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = made()
    for name, part in (("a", table.slice(0, 250)), ("b", table.slice(250))):
        pq.write_table(part, tmp_path / f"{name}.parquet")
        score_files(
            tmp_path / f"{name}.parquet", tmp_path / f"{name}.scores.parquet", recipe=RECIPE, by=["domain", "question_id"]
        )
    assert main(["merge", *(str(tmp_path / f"{n}.scores.parquet") for n in "ba"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == expected(table, by=["domain", "question_id"]).summary
    score_files(tmp_path / "a.parquet", tmp_path / "c.parquet", recipe="squad", by=["domain", "question_id"])
    assert main(["merge", str(tmp_path / "a.scores.parquet"), str(tmp_path / "c.parquet")]) == 2
    assert main(["merge", str(tmp_path / "a.parquet")]) == 3


def _layouts(table: pa.Table) -> dict[str, pa.Table]:
    text, lists = table["prediction"].combine_chunks(), table["references"].combine_chunks()
    return {
        "large": _with(table, text.cast(pa.large_string()), lists.cast(pa.large_list(pa.large_string()))),
        "binary": _with(table, text.cast(pa.binary()), lists.cast(pa.list_(pa.binary()))),
        "view": _with(table, text.cast(pa.string_view()), lists),
        "dictionary": _with(table, text.dictionary_encode(), lists),
        "sliced": pa.concat_tables([table, table]).slice(table.num_rows),
        "chunked": pa.concat_tables([table.slice(0, 7), table.slice(7, 0), table.slice(7)]),
    }


def _with(table: pa.Table, prediction: pa.Array, references: pa.Array) -> pa.Table:
    at = [table.schema.get_field_index(n) for n in ("prediction", "references")]
    return table.set_column(at[0], "prediction", prediction).set_column(at[1], "references", references)


@pytest.mark.parametrize("layout", ["large", "binary", "view", "dictionary", "sliced", "chunked"])
@pytest.mark.parametrize("suffix", ["arrow", "arrows", "parquet"])
def test_layouts_against_memory(tmp_path: Path, layout: str, suffix: str) -> None:
    table = made(300)
    given = _layouts(table)[layout]
    path = tmp_path / f"in.{suffix}"
    if suffix == "parquet":
        pq.write_table(given, path)
    else:
        make = pyarrow.ipc.new_file if suffix == "arrow" else pyarrow.ipc.new_stream
        with make(path, given.schema) as writer:
            writer.write_table(given)
    result = score_files(path, tmp_path / "out.parquet", recipe=RECIPE, format="arrow" if suffix == "arrows" else None)
    assert items_of(tmp_path / "out.parquet") == expected(table).items.to_pylist()
    assert result.summary == expected(table).summary


@pytest.mark.parametrize("packed", ["", ".gz", ".zst"])
def test_json_lines_in_pieces_against_memory(tmp_path: Path, packed: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from fastscore.stage import run

    table = made().drop_columns(["at"])
    data = b"".join(json.dumps(row).encode() + b"\n" for row in table.to_pylist())
    path = tmp_path / f"in.jsonl{packed}"
    if packed == ".gz":
        data = gzip.compress(data, mtime=0)
    elif packed == ".zst":
        data = _zstd(data)
    path.write_bytes(data)
    monkeypatch.setattr(run, "limits_of", lambda memory, threads: (run.Limits(5_000, 1 << 20), 1 << 20))
    score_files(path, tmp_path / "out.parquet", recipe=RECIPE)
    got = items_of(tmp_path / "out.parquet")
    right = expected(table).items.to_pylist()
    assert [{k: r[k] for k in r if k != "sample_id"} for r in got] == [{k: r[k] for k in r if k != "sample_id"} for r in right]


def _zstd(data: bytes) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, "zstd") as stream:
        stream.write(data)
    return bytes(sink.getvalue())


def test_csv_and_text_outputs(tmp_path: Path) -> None:
    rows = [("q1", "the Cat", "cat"), ("007", "=1+1", "no"), ("NA", "", "x")]
    pl.DataFrame(rows, schema=["question_id", "prediction", "references"], orient="row").write_csv(tmp_path / "in.csv")
    for suffix in ("jsonl", "csv", "arrow"):
        score_files(tmp_path / "in.csv", tmp_path / f"out.{suffix}", recipe="squad", keep=["prediction"])
    lines = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert [(r["question_id"], r["exact_match"]) for r in lines] == [("q1", 1.0), ("007", 0.0), ("NA", 0.0)]
    assert "'=1+1" in (tmp_path / "out.csv").read_text()
    assert pyarrow.ipc.open_file(tmp_path / "out.arrow").read_all().num_rows == 3


def test_references_by_key_across_shards(tmp_path: Path) -> None:
    references = pa.table(
        {"question_id": [f"q{i}" for i in range(9)], "references": [[f"w{i}"] for i in range(9)], "topic": ["t"] * 9}
    )
    given = pa.table({"question_id": ["q3", "q1", "nobody", "q3", "q0"], "prediction": ["w3", "w2", "w", None, "w0"]})
    pq.write_table(references, tmp_path / "gold.parquet")
    (tmp_path / "in").mkdir()
    for n in range(5):
        pq.write_table(given.slice(n, 1), tmp_path / "in" / f"{n}.parquet")
    options: dict[str, Any] = {"recipe": "squad", "references": tmp_path / "gold.parquet", "by": "topic"}
    one = score_files(tmp_path / "in", tmp_path / "out.parquet", **options)
    many = score_files(tmp_path / "in", tmp_path / "out", **options)
    memory = fastscore.score(given, references, recipe="squad", by="topic")
    assert one.summary == many.summary == memory.summary
    assert items_of(tmp_path / "out.parquet") == memory.items.to_pylist()
    assert [r["status"] for r in items_of(tmp_path / "out" / "missing_predictions.parquet")] == ["missing_prediction"] * 6
    assert score_files(tmp_path / "in", tmp_path / "out", **options).summary == memory.summary


def test_where_keeps_the_order_of_its_rows(tmp_path: Path) -> None:
    table = made()
    pq.write_table(table, tmp_path / "in.parquet")
    score_files(
        tmp_path / "in.parquet",
        tmp_path / "out.parquet",
        recipe=RECIPE,
        where="domain = 'd3' and (sample_id < 1 or sample_id = 1)",
    )
    chosen = [r for r in range(600) if r // 100 == 3 and r % 4 < 2]
    assert items_of(tmp_path / "out.parquet") == expected(table.take(chosen)).items.to_pylist()
    with pytest.raises(UsageError, match="where"):
        score_files(tmp_path / "in.parquet", recipe=RECIPE, where="domain = = 3")
    with pytest.raises(UnknownNameError, match="Did you mean 'domain'"):
        score_files(tmp_path / "in.parquet", recipe=RECIPE, where="domin = 'd3'")
    with pytest.raises(UsageError, match="true or false"):
        score_files(tmp_path / "in.parquet", recipe=RECIPE, where="sample_id + 1")


def test_hive_folders_and_globs(tmp_path: Path) -> None:
    table = made()
    for n, split in enumerate(("dev", "test%20set")):
        folder = tmp_path / "in" / f"split={split}"
        folder.mkdir(parents=True)
        pq.write_table(table.slice(300 * n, 300), folder / "part.parquet")
    result = score_files(tmp_path / "in", tmp_path / "out", recipe=RECIPE, by="split")
    assert list(result.summary["groups"]["split"]) == ["dev", "test set"]
    assert (tmp_path / "out" / "split=dev" / "part.parquet").is_file()
    assert score_files(str(tmp_path / "in/*/*.parquet"), recipe=RECIPE).summary["overall"] == result.summary["overall"]


def test_column_names_and_no_rows(tmp_path: Path) -> None:
    table = made().rename_columns(["id", "n", "answer", "golds", "domain", "at", "status"])
    pq.write_table(table.slice(0, 0), tmp_path / "none.parquet")
    pq.write_table(table, tmp_path / "in.parquet")
    options: dict[str, Any] = {"recipe": RECIPE, "prediction": "answer", "references_column": "golds", "ids": ["id", "n"]}
    empty = score_files(tmp_path / "none.parquet", tmp_path / "none.out.parquet", **options)
    assert (empty.rows, empty.summary["overall"]["f1"]) == (0, None)
    assert pq.read_schema(tmp_path / "none.out.parquet").names[:2] == ["id", "n"]
    score_files(tmp_path / "in.parquet", tmp_path / "out.parquet", **options)
    assert [r["f1"] for r in items_of(tmp_path / "out.parquet")] == expected(made()).items["f1"].to_pylist()
    with pytest.raises(UnknownNameError, match="Did you mean 'answer'"):
        score_files(tmp_path / "in.parquet", **{**options, "prediction": "answr"})


def test_groups_beyond_measure_become_a_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from fastscore.stage import run, summary

    monkeypatch.setattr(run, "MOST_NOTED", 100)
    monkeypatch.setattr(summary, "MOST_GROUPS", 100)
    table = made()
    pq.write_table(table, tmp_path / "in.parquet")
    result = score_files(tmp_path / "in.parquet", tmp_path / "out", recipe=RECIPE, by="question_id")
    assert result.summary["groups"]["question_id"] == {"table": "groups.question_id.parquet", "groups": 150}
    right = expected(table, by="question_id").summary["groups"]["question_id"]
    rows = items_of(tmp_path / "out" / "groups.question_id.parquet")
    assert {r.pop("question_id"): r for r in rows} == right
    assert score_files(tmp_path / "in.parquet", tmp_path / "out", recipe=RECIPE, by="question_id").summary == result.summary


def test_totals_of_hundreds_of_groups_are_not_written_a_shard(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = made()
    table = table.append_column("row", pa.array([n % 250 for n in range(table.num_rows)]))
    (tmp_path / "in").mkdir()
    for n in range(2):
        pq.write_table(table.slice(n * 300, 300), tmp_path / "in" / f"{n}.parquet")
    result = score_files(tmp_path / "in", tmp_path / "out", recipe=RECIPE, by="row")
    lines = [json.loads(line) for line in (tmp_path / "out" / "manifest.jsonl").read_text().splitlines()[1:]]
    assert [line["totals"] for line in lines] == [None, None]
    assert result.summary == score_files(tmp_path / "in", recipe=RECIPE, by="row").summary
    assert score_files(tmp_path / "in", tmp_path / "out", recipe=RECIPE, by="row").summary == result.summary
    assert main(["merge", str(tmp_path / "out"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == result.summary


def test_arrow_through_a_pipe(tmp_path: Path) -> None:
    table = made(200)
    sink = io.BytesIO()
    with pyarrow.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table, 33)
    command = [sys.executable, "-m", "fastscore.cli", "score", "-", "-r", RECIPE, "-o", "-"]
    done = subprocess.run(command, input=sink.getvalue(), capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    assert pyarrow.ipc.open_stream(done.stdout).read_all().to_pylist() == expected(table).items.to_pylist()
    assert b"200 rows" in done.stderr


def test_exit_codes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pq.write_table(made(), tmp_path / "in.parquet")
    call = ["score", str(tmp_path / "in.parquet"), "-r", RECIPE]
    assert main([*call, "--fail-under", "f1=0.01"]) == 0
    assert main([*call, "--fail-under", "f1=0.99"]) == 4
    assert "below 0.99" in capsys.readouterr().err
    assert main([*call, "--fail-under", "f2=0.5"]) == 2
    assert main([*call, "--fail-under", "f1=50"]) == 2
    assert main([*call, "--strict"]) == 3
    assert "null_prediction" in capsys.readouterr().err
    assert main([*call, "--memory", "2 apples"]) == 2
    assert main([*call, "--memory", "10MB"]) == 2
    assert main([*call, "--where", "nope(1"]) == 2
    assert main(["score", str(tmp_path / "nothing-*.parquet"), "-r", RECIPE]) == 2
    assert main([*call, "--storage-option", "x"]) == 2
    capsys.readouterr()
    assert main([*call, "-q", "--json"]) == 0
    shown = capsys.readouterr()
    assert shown.err == ""
    assert json.loads(shown.out) == expected(made()).summary


def test_a_row_that_is_not_utf8_is_named(tmp_path: Path) -> None:
    rows = [b"fine"] * 900
    rows[777] = b"\xff\xfe"
    table = pa.table({"prediction": pa.array(rows, pa.binary()), "references": [["x"]] * 900})
    pq.write_table(table, tmp_path / "in.parquet", row_group_size=100)
    with pytest.raises(DataError, match=r"in\.parquet.*row 777"):
        score_files(tmp_path / "in.parquet", recipe=RECIPE, threads=2)


def test_limits() -> None:
    assert limits_of(None, 2)[0].batch == 32 << 20
    assert limits_of(1 << 30, 2)[0].batch < limits_of(4 << 30, 2)[0].batch <= 32 << 20


def test_a_huge_row_works_or_is_named(tmp_path: Path) -> None:
    long = "word " * 2_000_000
    table = pa.table({"prediction": ["a", long, "b"], "references": [["a"], [long] * 3, ["b"] * 100_000]})
    pq.write_table(table, tmp_path / "in.parquet")
    result = score_files(tmp_path / "in.parquet", tmp_path / "out.parquet", recipe="squad")
    assert result.summary["overall"]["exact_match"] == 1.0
    with pytest.raises(DataError, match="row 1 has"):
        score_files(tmp_path / "in.parquet", recipe="squad", memory=520 << 20)


def test_types_that_change_along_json_lines_are_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from fastscore.stage import run

    monkeypatch.setattr(run, "limits_of", lambda memory, threads: (run.Limits(400, 1 << 20), 1 << 20))
    lines = ['{"prediction": "a", "references": ["a"]}'] * 30 + ['{"prediction": "a", "references": {"x": 1}}'] * 30
    (tmp_path / "in.jsonl").write_text("\n".join(lines))
    with pytest.raises(FormatError, match=r"in\.jsonl: "):
        score_files(tmp_path / "in.jsonl", recipe=RECIPE)
    (tmp_path / "bad.jsonl").write_text("\n".join([*lines[:20], '{"prediction": "a"', *lines[:20]]))
    with pytest.raises(FormatError, match="line 21"):
        score_files(tmp_path / "bad.jsonl", recipe=RECIPE)


def test_scan_against_memory() -> None:
    table = made().drop_columns(["status"])
    frame = pl.DataFrame(table)
    scored = fastscore.scan(frame.lazy(), "coqa", keep=["question_id", "sample_id", "domain"])
    assert scored.collect_schema()["f1"] == pl.Float64
    for engine in ("in-memory", "streaming"):
        got = scored.collect(engine=engine)  # type: ignore[call-overload]
        assert got.to_dicts() == expected(made()).items.to_pylist()
    with pytest.raises(UnknownNameError, match="Did you mean 'prediction'"):
        fastscore.scan(frame, "coqa", prediction="predictoin")
    with pytest.raises(UsageError, match="name of a score"):
        fastscore.scan(frame.with_columns(f1=0.5), "coqa")


@pytest.mark.parametrize("layout", ["list_view", "large_list_view", "fixed_size_list", "fixed_binary", "dictionary_nulls"])
def test_rarer_layouts_against_memory(tmp_path: Path, layout: str) -> None:
    count = 90
    text = pa.array([["cat", "dog", None][i % 3] for i in range(count)])
    lists = pa.array([["cat", "the dog"]] * count)
    plain = pa.table({"prediction": text, "references": lists})
    if layout == "list_view":
        given = plain.set_column(1, "references", pa.array(lists.to_pylist(), pa.list_view(pa.string())))
    elif layout == "large_list_view":
        given = plain.set_column(1, "references", pa.array(lists.to_pylist(), pa.large_list_view(pa.string())))
    elif layout == "fixed_size_list":
        given = plain.set_column(1, "references", lists.cast(pa.list_(pa.string(), 2)))
    elif layout == "fixed_binary":
        given = plain.set_column(0, "prediction", text.cast(pa.binary()).cast(pa.binary(3)))
    else:
        chunks = [
            pa.DictionaryArray.from_arrays(pa.array([0, 1, 2] * 15, pa.int8()), pa.array(values))
            for values in (["cat", "dog", None], ["cat", "dog", None])
        ]
        given = plain.set_column(0, "prediction", pa.chunked_array(chunks))
    given = given.append_column("token", pa.ExtensionArray.from_storage(pa.uuid(), pa.array([bytes(16)] * count, pa.binary(16))))
    with pyarrow.ipc.new_stream(tmp_path / "in.arrow", given.schema) as writer:
        writer.write_table(given, 40)
    score_files(tmp_path / "in.arrow", tmp_path / "out.parquet", recipe="squad", keep=["token"], threads=2)
    right = fastscore.score(plain, recipe="squad").items
    got = pq.read_table(tmp_path / "out.parquet")
    assert got.select(right.column_names).to_pylist() == right.to_pylist()
    assert got.schema.field("token").type == pa.uuid()


def test_ray_that_is_not_there_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pq.write_table(made(20), tmp_path / "in.parquet")
    monkeypatch.setitem(sys.modules, "ray", None)
    call = ["score", str(tmp_path / "in.parquet"), "-r", RECIPE, "--engine", "ray"]
    assert main(call) == 2
    assert capsys.readouterr().err.strip() == "fastscore: --engine ray needs Ray: pip install '.[ray]' in a clone of fastscore"
    assert main([*call, "--check", "3"]) == 2


def test_missing_references_have_the_types_of_the_predictions(tmp_path: Path) -> None:
    golds = pa.table({"question_id": ["1", "2", "3"], "references": [["a"], ["b"], ["c"]]})
    given = pa.table({"question_id": [1, 2], "prediction": ["x", "b"], "model": ["m", "n"]})
    pq.write_table(golds, tmp_path / "gold.parquet")
    pq.write_table(given, tmp_path / "in.parquet")
    options: dict[str, Any] = {"recipe": "squad", "references": tmp_path / "gold.parquet", "by": "model"}
    score_files(tmp_path / "in.parquet", tmp_path / "out.parquet", **options)
    assert [(r["question_id"], r["model"], r["status"]) for r in items_of(tmp_path / "out.parquet")][2] == (
        3,
        None,
        "missing_prediction",
    )
    (tmp_path / "in").mkdir()
    pq.write_table(given.slice(0, 1), tmp_path / "in" / "a.parquet")
    assert score_files(tmp_path / "in", tmp_path / "out", **options).rows == 3
    pq.write_table(given.slice(1), tmp_path / "in" / "b.parquet")
    more = score_files(tmp_path / "in", tmp_path / "out", **options)
    assert pq.read_metadata(tmp_path / "out" / "missing_predictions.parquet").num_rows == 1
    assert merge_totals([tmp_path / "out"]) == more.summary


def test_names_that_meet_and_outputs_that_are_inputs(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    row = '{"prediction": "a", "references": ["a"]}\n'
    for name, count in (("a-2.jsonl", 1), ("a.jsonl", 2), ("a.ndjson", 3), ("missing_predictions.jsonl", 4)):
        (folder / name).write_text(row * count)
    result = score_files(folder, tmp_path / "out", recipe="coqa")
    assert result.rows == 10
    assert sum(pq.read_metadata(p).num_rows for p in result.outputs) == 10
    pq.write_table(made(20), tmp_path / "one.parquet")
    with pytest.raises(UsageError, match="one of the inputs"):
        score_files(tmp_path / "one.parquet", tmp_path / "one.parquet", recipe="coqa", overwrite=True)
    with pytest.raises(UsageError, match="named twice"):
        score_files([tmp_path / "one.parquet"] * 2, recipe="coqa")


def test_columns_that_change_between_inputs_of_one_output(tmp_path: Path) -> None:
    plain = {"prediction": ["a"], "references": [["a"]]}
    pq.write_table(pa.table({**plain, "turn_id": [1]}), tmp_path / "1.parquet")
    pq.write_table(pa.table(plain), tmp_path / "2.parquet")
    pq.write_table(pa.table({**plain, "turn_id": ["x"]}), tmp_path / "3.parquet")
    inputs = [tmp_path / f"{n}.parquet" for n in (1, 2, 3)]
    for suffix in ("csv", "parquet", "arrow", "jsonl"):
        score_files(inputs[:2], tmp_path / f"out.{suffix}", recipe="squad")
        for wrong in (inputs[::2], inputs[1::-1]):
            with pytest.raises(DataError, match="turn_id"):
                score_files(wrong, tmp_path / f"wrong.{suffix}", recipe="squad")


ROW = {"question_id": 7, "prediction": "a", "references": ["a"]}
#: Lines that come after many others: fields that are late, were null, or change their type in a way that a table allows.
LATER: dict[str, dict[str, Any]] = {
    "a field that comes late": {**ROW, "domain": "x"},
    "a field left out": {"prediction": "a", "references": ["b"]},
    "an id that becomes text": {**ROW, "question_id": "007"},
    "an id of 64 bits without sign": {**ROW, "question_id": 2**64 - 1},
    "an id beyond 64 bits": {**ROW, "question_id": 2**70},
    "an id below zero": {**ROW, "question_id": -(2**63)},
    "a number with a fraction": {**ROW, "score": 1.5},
    "a number": {**ROW, "score": 1},
    "a single reference": {**ROW, "references": "a"},
    "no reference": {**ROW, "references": []},
    "a null reference": {**ROW, "references": [None]},
    "a list of numbers": {**ROW, "notes": [1]},
    "an object": {**ROW, "notes": {"a": 2**65}},
    "no prediction": {**ROW, "prediction": None},
}


@pytest.mark.parametrize("name", list(LATER))
def test_json_lines_have_the_types_of_the_whole_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """However the file is cut into pieces, and whichever line comes first, the stage reads what is read in memory."""
    from fastscore.stage import run

    for first, then in ((ROW, LATER[name]), (LATER[name], ROW), (dict.fromkeys(ROW), LATER[name])):
        lines = [json.dumps(first)] * 30 + [json.dumps(then)] * 30 + [json.dumps(ROW)]
        (tmp_path / "in.jsonl").write_bytes(b"\xef\xbb\xbf" + "\n".join(lines).encode())
        keep = [c for c in ("domain", "score", "notes") if c in then or c in first]
        whole = fastscore.score(tmp_path / "in.jsonl", recipe=RECIPE, keep=keep)
        for limit in (80, 400, 1 << 20):
            limits = run.Limits(limit, 1 << 20)
            monkeypatch.setattr(run, "limits_of", lambda memory, threads, given=limits: (given, 1 << 20))
            result = score_files(tmp_path / "in.jsonl", tmp_path / "o.parquet", recipe=RECIPE, keep=keep, overwrite=True)
            assert result.summary == whole.summary
            kept = pq.read_table(tmp_path / "o.parquet")
            assert kept.column_names == whole.items.column_names
            assert kept.to_pylist() == whole.items.to_pylist()


@pytest.mark.parametrize("later", ['{"prediction": 5, "references": ["a"]}', '{"prediction": "a", "references": {"a": 1}}'])
def test_json_lines_of_types_that_do_not_go_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, later: str) -> None:
    from fastscore.stage import run

    monkeypatch.setattr(run, "limits_of", lambda memory, threads: (run.Limits(400, 1 << 20), 1 << 20))
    (tmp_path / "in.jsonl").write_text("\n".join([json.dumps(ROW)] * 30 + [later] * 30))
    said = []
    for score in (score_files, fastscore.score):
        with pytest.raises(FormatError, match=r"in\.jsonl: ") as caught:
            score(tmp_path / "in.jsonl", recipe=RECIPE)
        said.append(str(caught.value).partition("in.jsonl: ")[2])
    assert "{" in later[1:] or said[0] == said[1]


@pytest.mark.parametrize("given", ["missing_prediction", "finished", 1], ids=str)
def test_a_status_of_the_input_is_not_read(tmp_path: Path, given: str | int) -> None:
    """A status is what scoring says (DESIGN, item scores); in memory, in the stage, with and without references beside."""
    table = made(40).drop_columns(["status"])
    right = fastscore.score(table, recipe=RECIPE)
    table = table.append_column("status", pa.array([given] * 40))
    pq.write_table(table, tmp_path / "in.parquet")
    assert fastscore.score(table, recipe=RECIPE).summary == right.summary
    assert score_files(tmp_path / "in.parquet", tmp_path / "o.parquet", recipe=RECIPE).summary == right.summary
    assert pq.read_table(tmp_path / "o.parquet")["status"].to_pylist() == right.items["status"].to_pylist()
    for score in (score_files, fastscore.score):
        with pytest.raises(UsageError, match="status"):
            score(tmp_path / "in.parquet", recipe=RECIPE, by="status")

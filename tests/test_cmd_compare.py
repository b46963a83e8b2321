"""`fastscore compare` and the intervals of a summary: exit codes, one-line mistakes, the same numbers as the library's."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from fastscore.cli import main
from fastscore.compare import compare
from fastscore.errors import ColumnTypeError, UnknownNameError
from fastscore.output import write_items
from fastscore.stats.intervals import interval, intervals
from fastscore.stats.summaries import interval_columns, natural_cluster, with_intervals
from fastscore.totals import Totals

SIGNATURE = "squad|words:split"


def items(shift: float = 0.0, rows: int = 80) -> pa.Table:
    rng = np.random.default_rng(3)
    f1 = np.clip(np.round(rng.random(rows) + shift, 2), 0, 1)
    columns = {"question_id": [f"{i:03}" for i in range(rows)], "domain": ["news", "wiki"] * (rows // 2)}
    return pa.table(columns | {"exact_match": (f1 > 0.5).astype(float), "f1": f1, "prediction": [f"p{i}" for i in range(rows)]})


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, str]:
    paths = tmp_path / "old.parquet", tmp_path / "new.parquet"
    for path, shift in zip(paths, (0.0, -0.2), strict=True):
        write_items(items(shift), path, SIGNATURE)
    return str(paths[0]), str(paths[1])


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = main(["compare", *arguments])
    out, err = capsys.readouterr()
    return code, out, err


# ---- the command


def test_json_against_the_library(files: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    options = ("--by", "domain", "--draws", "300", "--seed", "7", "--adjust", "bh", "--listed", "3", "--json")
    code, out, err = run(capsys, *files, *options)
    expected = compare(*files, by="domain", draws=300, seed=7, correction="bh", listed=3).to_dict()
    assert (code, json.loads(out)) == (0, json.loads(json.dumps(expected, allow_nan=False)))
    assert "fastscore: 'new' is significantly worse than 'old' in f1: -0." in err


@pytest.mark.parametrize(
    ("option", "words"), [("--markdown", "| f1 |"), ("--latex", r"\toprule"), ("-q", "new against old: 80 items")]
)
def test_renderings(option: str, words: str, files: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, *files, option, "--draws", "100")
    assert code == 0
    assert words in out


def test_fail_on_regression_exits_5(files: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, *files, "--fail-on-regression", "--draws", "200")[0] == 5
    assert run(capsys, *reversed(files), "--fail-on-regression", "--draws", "200")[0] == 0
    assert run(capsys, files[0], files[0], "--name", "a", "--name", "b", "--fail-on-regression", "--draws", "200")[0] == 0


@pytest.mark.parametrize("suffix", ["arrow", "jsonl", "csv"])
def test_every_format_that_score_writes(
    suffix: str, files: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = tmp_path / f"new.{suffix}"
    write_items(items(-0.2), other, SIGNATURE)
    expected = json.loads(run(capsys, *files, "--json", "--draws", "100")[1])
    code, out, err = run(capsys, files[0], str(other), "--json", "--draws", "100", "--allow-different-signatures")
    assert code == 0, err
    found = json.loads(out)
    assert found["pairs"] == expected["pairs"]
    if suffix != "arrow":
        code, _, err = run(capsys, files[0], str(other))
        assert (code, "made by different rules" in err, err.count("\n")) == (2, True, 1)


def test_csv_keeps_text_and_names_a_score_that_is_none(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, score in (("a", "0.5"), ("b", "")):
        (tmp_path / f"{name}.csv").write_text(f"question_id,f1,prediction\n007,1.0,12\n08,{score},3\n")
    code, out, err = run(capsys, str(tmp_path / "a.csv"), str(tmp_path / "b.csv"), "-m", "f1", "--draws", "100", "--json")
    assert code == 0, err
    pair = json.loads(out)["pairs"][0]
    assert (pair["joined"], pair["overall"]["f1"]["n"], pair["overall"]["f1"]["left_out_b"]) == (2, 1, 1)
    (tmp_path / "b.csv").write_text("question_id,f1\n007,1.0\n08,high\n")
    code, _, err = run(capsys, str(tmp_path / "a.csv"), str(tmp_path / "b.csv"), "-m", "f1")
    assert (code, "'f1' is 'high' in row 1" in err) == (3, True)


def test_predictions_are_scored_first(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    gold = tmp_path / "gold.jsonl"
    gold.write_text(
        '{"question_id":"1","references":["a cat"],"kind":"x"}\n{"question_id":"2","references":["dog"],"kind":"y"}\n'
    )
    for name, answer in (("a", "The cat"), ("b", "bird")):
        (tmp_path / f"{name}.jsonl").write_text(
            f'{{"question_id":"1","prediction":"{answer}"}}\n{{"question_id":"2","prediction":"dog"}}\n'
        )
    paths = str(tmp_path / "a.jsonl"), str(tmp_path / "b.jsonl")
    code, out, err = run(capsys, *paths, "-r", "squad", "--references", str(gold), "--by", "kind", "--json", "--draws", "100")
    assert code == 0, err
    found = json.loads(out)
    assert [system["name"] for system in found["systems"]] == ["a", "b"]
    assert found["systems"][0]["signature"].startswith("squad|")
    changed = found["pairs"][0]["worsened"]["f1"]
    assert [(one["key"], one["prediction_a"], one["prediction_b"]) for one in changed] == [
        ({"question_id": "1"}, "The cat", "bird")
    ]
    assert run(capsys, *paths)[0] == 2


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("{a}",), 2, "SECOND is missing; see fastscore compare --help"),
        (("{a}", "/nowhere.parquet"), 2, "there is no file"),
        (("{a}", "{b}", "-m", "F1"), 2, "has no column 'F1'. Did you mean 'f1'"),
        (("{a}", "{b}", "--by", "topic"), 2, "a column 'topic'"),
        (("{a}", "{b}", "--key", "qid"), 2, "no column 'qid'"),
        (("{a}", "{b}", "--adjust", "sidak"), 2, "--adjust"),
        (("{a}", "{b}", "--seed", "-1"), 2, "seed"),
        (("{a}", "{b}", "--draws", "5"), 2, "draws"),
        (("{a}", "{b}", "--json", "--latex"), 2, "one of them"),
        (("{a}", "{b}", "--references", "{a}"), 2, "--recipe"),
        (("{a}", "{b}", "--name", "x"), 2, "--name: once for each of the 2 files"),
        (("{a}", "{a}", "{b}", "--name", "x", "--name", "x", "--name", "y"), 2, "different names"),
        (("{a}", "{broken}"), 3, "a parquet file of item scores is allowed, this is none"),
        (("{a}", "{coqa}"), 3, "a recipe has to score first"),
    ],
)
def test_mistakes_take_one_line(
    arguments: tuple[str, ...], code: int, words: str, files: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    broken, coqa = tmp_path / "broken.parquet", tmp_path / "coqa.json"
    broken.write_bytes(b"PAR1 and no more")
    coqa.write_text('[{"id": "x", "turn_id": 1, "answer": "y"}]')
    names = {"a": files[0], "b": files[1], "broken": str(broken), "coqa": str(coqa)}
    found, out, err = run(capsys, *(argument.format(**names) for argument in arguments))
    assert (found, out) == (code, "")
    assert words in err
    assert err.count("\n") == 1


def test_different_signatures_are_refused(files: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = tmp_path / "other.parquet"
    write_items(items(), other, "coqa|words:split")
    code, _, err = run(capsys, files[0], str(other))
    assert (code, "squad|words:split" in err, "coqa|words:split" in err) == (2, True, True)
    assert run(capsys, files[0], str(other), "--allow-different-signatures", "--draws", "100")[0] == 0


def test_nothing_printed_controls_a_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    hostile = "\x1b[31m\u202e\n<script>"
    table = (
        items(rows=2).set_column(0, "question_id", pa.array([hostile, "b"])).set_column(4, "prediction", pa.array([hostile] * 2))
    )
    for name, f1 in (("a\x1b[0m", [1.0, 1.0]), ("b", [0.0, 1.0])):
        pq.write_table(table.set_column(3, "f1", pa.array(f1)), tmp_path / f"{name}.parquet")
    code, out, err = run(capsys, *map(str, sorted(tmp_path.glob("*.parquet"))), "--draws", "100")
    assert code == 0
    assert not re.search("[\x1b\u202e]", out + err)


def test_the_passage_is_the_cluster_where_there_is_one(files: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    for path in files:
        table = pq.read_table(path)
        pq.write_table(table.append_column("document_id", pa.array([f"d{i // 4}" for i in range(80)])), path)
    found = json.loads(run(capsys, *files, "--draws", "100", "--json")[1])
    assert (found["cluster"], found["pairs"][0]["overall"]["f1"]["interval"]["clusters"]) == (["document_id"], 20)
    assert json.loads(run(capsys, *files, "--draws", "100", "--json", "--cluster", "none")[1])["cluster"] == []


# ---- intervals of a summary


@pytest.mark.parametrize(
    ("columns", "cluster"),
    [
        (("question_id", "turn_id", "f1"), ("question_id",)),
        (("question_id", "sample_id"), ("question_id",)),
        (("question_id", "document_id", "sample_id"), ("document_id",)),
        (("question_id", "f1"), ()),
        (("f1",), ()),
    ],
)
def test_natural_cluster(columns: tuple[str, ...], cluster: tuple[str, ...]) -> None:
    assert natural_cluster(columns) == cluster


def turns() -> pa.Table:
    rng = np.random.default_rng(1)
    n = 90
    return pa.table(
        {
            "question_id": [f"s{i // 5}" for i in range(n)],
            "turn_id": [i % 5 for i in range(n)],
            "domain": [None if i % 9 == 0 else ["b", "a"][i // 5 % 2] for i in range(n)],
            "right": [bool(i % 2) for i in range(n)],
            "exact_match": rng.integers(0, 2, n).astype(float),
            "f1": pa.array([None if i % 9 == 0 else float(x) for i, x in enumerate(rng.random(n))], pa.float64()),
        }
    )


def test_interval_columns_against_intervals() -> None:
    table = turns()
    found = interval_columns(table, ["exact_match", "f1"], ["domain", "right"])
    whole = interval(table, "f1", "question_id")
    assert found["overall"]["f1_se"] == whole.standard_error
    assert found["overall"]["f1_ci"] == [whole.low, whole.high]
    rows = {row["domain"] or "null": row for row in intervals(table, "f1", "domain", "question_id").to_pylist()}
    assert list(found["groups"]["domain"]) == ["a", "b", "null"]
    for value in ("a", "b"):
        assert found["groups"]["domain"][value]["f1_se"] == rows[value]["standard_error"]
        assert found["groups"]["domain"][value]["f1_ci"] == [rows[value]["low"], rows[value]["high"]]
    assert (found["groups"]["domain"]["null"]["f1_se"], found["groups"]["domain"]["null"]["f1_ci"]) == (None, None)
    assert list(found["groups"]["right"]) == ["false", "true"]
    assert found["notes"] == ["only 18 clusters (question_id), fewer than 30: intervals may be too narrow"]
    assert found["ci"] == {
        "level": 0.95,
        "cluster": ["question_id"],
        "clusters": 18,
        "methods": {"exact_match": "clustered", "f1": "clustered"},
        "seed": None,
        "draws": None,
    }
    json.dumps(found, allow_nan=False)


def test_interval_columns_fit_a_summary() -> None:
    table = turns()
    totals = Totals(("exact_match", "f1"), ("domain",))
    totals.add(table)
    summary = totals.summary("squad", SIGNATURE)
    merged = with_intervals(summary, interval_columns(table, ["exact_match", "f1"], "domain"))
    for value, block in merged["groups"]["domain"].items():
        assert block["f1"] == summary["groups"]["domain"][value]["f1"]
        if block["f1"] is not None:
            assert block["f1_ci"][0] <= block["f1"] <= block["f1_ci"][1]
    low, high = merged["overall"]["f1_ci"]
    assert (low + high) / 2 == pytest.approx(merged["overall"]["f1"])


def test_interval_columns_methods_and_few_groups() -> None:
    frame = pl.DataFrame({"em": [1.0, 0.0] * 40, "f1": [0.5, 1.0] * 40, "part": ["x"] * 70 + ["y"] * 10})
    found = interval_columns(frame, ["em", "f1"], "part")
    assert found["ci"]["methods"] == {"em": "wilson", "f1": "clustered"}
    assert found["overall"]["em_ci"] == [getattr(interval(frame, "em", None, "wilson"), end) for end in ("low", "high")]
    assert found["notes"] == ["part: fewer than 30 items in y (10): these intervals may be too narrow"]
    drawn = interval_columns(frame, "f1", method="bootstrap", draws=200, seed=5)
    assert (drawn["ci"]["seed"], drawn["ci"]["draws"], drawn["ci"]["methods"]) == (5, 200, {"f1": "bootstrap"})
    assert interval_columns(frame.clear(), "f1", "part")["overall"] == {"f1_se": None, "f1_ci": None}


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"metrics": "F1"}, UnknownNameError),
        ({"metrics": "f1", "cluster": "f2"}, UnknownNameError),
        ({"metrics": "domain"}, ColumnTypeError),
    ],
)
def test_interval_columns_refuse(options: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        interval_columns(turns(), **options)

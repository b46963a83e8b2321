"""`fastscore retrieval`: every kind of input, what is printed and written, trec_eval's figures, and bad input in one line."""

from __future__ import annotations

import datetime
import gzip
import json
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

from fastscore.cli import main
from fastscore.formats.ranking_files import FORMATS, format_of_ranking
from fastscore.retrieval import score_ranking
from tests.conftest import shared_path
from tests.test_ranking_official import NOT_OFFERED, OFFERED, RUNS, printed, stem

SAMPLE = Path(__file__).resolve().parents[1] / "data" / "ranking.parquet"
RUN = "# a run\nq1 Q0 d#1 1 2.5 tag\nq1\tQ0\td2 2 2.5 tag and more\n\nq2 Q0 d3 1 1.0 tag\nq9 Q0 d1 1 1.0 tag\n"
QRELS = "q1 0 d2 1\nq1 0 d#1 0\nq2 0 d7 2\nq2 0 d3 1\nq3 0 d1 1\nq4 0 d1 0\n"
ALL = ("success@1", "recall@1", "precision@1", "mrr", "map", "ndcg@2", "r_precision", "bpref")
#: Of the files above: for q1 d2 comes before d#1 (a tie), q2 finds one of two, q3 is not answered, q4 has nothing relevant.
EXPECTED = {"success@1": 2 / 3, "recall@1": 1.5 / 3, "precision@1": 2 / 3, "mrr": 2 / 3, "map": 1.5 / 3}


def called(capsys: pytest.CaptureFixture[str], *arguments: Any) -> tuple[int, str, str]:
    code = main(["retrieval", *map(str, arguments)])
    out, err = capsys.readouterr()
    return code, out, err


def overall(capsys: pytest.CaptureFixture[str], *arguments: Any) -> dict[str, Any]:
    code, out, err = called(capsys, *arguments, "--json", "--quiet")
    assert (code, err) == (0, "")
    return json.loads(out)["overall"]  # type: ignore[no-any-return]


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    (tmp_path / "a.run").write_text(RUN)
    (tmp_path / "a.qrels").write_text(QRELS)
    return tmp_path / "a.run", tmp_path / "a.qrels"


def measures(*names: str) -> list[str]:
    return [part for name in names for part in ("-m", name)]


def test_summary_against_hand(files: tuple[Path, Path], capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = called(capsys, *files, *measures(*ALL), "--json")
    summary = json.loads(out)
    assert (code, list(summary)) == (0, ["signature", "recipe", "overall", "groups"])
    assert (summary["recipe"], summary["groups"]) == ("retrieval", {})
    assert summary["signature"].startswith("retrieval|min-relevance:1|")
    block = summary["overall"]
    counts = {"count": 3, "ok": 2, "missing_prediction": 1, "null_prediction": 0, "no_references": 1, "unmatched_prediction": 1}
    assert list(block) == [*counts, *ALL]
    assert {name: block[name] for name in counts} == counts
    assert {name: block[name] for name in EXPECTED} == EXPECTED
    assert err.splitlines() == [
        "fastscore: judged queries that the run does not answer, each counted 0: 1",
        "fastscore: queries without a document of relevance 1 or more, not scored: 1",
        "fastscore: queries of the run that are not judged, not scored: 1",
    ]
    assert overall(capsys, *files, "-m", "recall@1", "--min-relevance", 2)["recall@1"] == 0.0


def test_names_and_defaults_against_hand(files: tuple[Path, Path], capsys: pytest.CaptureFixture[str]) -> None:
    assert list(overall(capsys, *files))[6:] == ["success@10", "recall@10", "mrr", "ndcg@10"]
    assert list(overall(capsys, *files, "-m", "R@10, nDCG@10 RR"))[6:] == ["recall@10", "ndcg@10", "mrr"]
    code, out, _ = called(capsys, *files, "-m", "hit_rate@1", "-m", "map_cut_5")
    assert code == 0
    assert "success@1" in out
    assert "map@5" in out
    assert "66.7" in out
    assert "1 missing_prediction, 1 no_references, 1 unmatched_prediction" in " ".join(out.replace("│", " ").split())


def _tables(folder: Path) -> tuple[dict[str, Path], dict[str, Path]]:
    """The same run and qrels in every layout, under names that say nothing of it."""
    run = {"q1": {"d#1": 2.5, "d2": 2.5}, "q2": {"d3": 1.0}, "q9": {"d1": 1.0}}
    judged = {"q1": {"d2": 1, "d#1": 0}, "q2": {"d7": 2, "d3": 1}, "q3": {"d1": 1}, "q4": {"d1": 0}}
    runs: dict[str, Path] = {}
    qrels: dict[str, Path] = {}
    for files, entries, list_name, numbers_name, number in (
        (runs, run, "retrieved_ids", "scores", "score"),
        (qrels, judged, "relevant_ids", "relevance", "relevance"),
    ):
        flat = [{"query_id": q, "doc_id": d, number: n} for q, docs in entries.items() for d, n in docs.items()]
        rows = [{"query_id": q, list_name: list(d), numbers_name: list(d.values())} for q, d in entries.items()]
        for layout, records in (("long", flat), ("lists", rows)):
            table = pa.Table.from_pylist(records)
            for kind in ("parquet", "arrow", "jsonl", "jsonl.gz"):
                files[f"{layout} {kind}"] = folder / f"{number}-{layout}-{kind.replace('.', '-')}"
            lines = "".join(json.dumps(r) + "\n" for r in records).encode()
            pq.write_table(table, files[f"{layout} parquet"])
            pyarrow.feather.write_feather(table, files[f"{layout} arrow"])
            files[f"{layout} jsonl"].write_bytes(lines)
            files[f"{layout} jsonl.gz"].write_bytes(gzip.compress(lines, mtime=0))
        frame = pl.DataFrame(flat)
        for kind, separator in (("csv", ","), ("tsv", "\t")):
            files[kind] = folder / f"{number}-{kind}"
            frame.write_csv(files[kind], separator=separator)
        for name, indent in (("dictionary", None), ("dictionary indented", 1)):
            files[name] = folder / f"{number}-{name}"
            files[name].write_text(json.dumps(entries, indent=indent))
        text = RUN if files is runs else QRELS
        files["trec"], files["trec.gz"] = folder / f"{number}-trec", folder / f"{number}-trec-gz"
        files["trec"].write_text("\n# remark, with a comma\n" + text)
        files["trec.gz"].write_bytes(gzip.compress(text.encode()))
    return runs, qrels


def test_every_input_gives_the_same_against_itself(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    runs, qrels = _tables(tmp_path)
    expected = overall(capsys, runs["trec"], qrels["trec"], *measures(*ALL))
    assert {name: expected[name] for name in EXPECTED} == EXPECTED
    assert set(runs) == set(qrels)
    for layout in runs:
        assert overall(capsys, runs[layout], qrels["trec"], *measures(*ALL)) == expected, layout
        assert overall(capsys, runs["trec"], qrels[layout], *measures(*ALL)) == expected, layout
        kind = layout.split()[-1].removesuffix(".gz").replace("indented", "json").replace("dictionary", "json")
        assert format_of_ranking(runs[layout]) == format_of_ranking(qrels[layout]) == kind
        assert kind in FORMATS
        options = ("--format", kind, "--qrels-format", kind)
        assert overall(capsys, runs[layout], qrels[layout], *options, *measures(*ALL)) == expected, layout


def test_one_table_against_itself(capsys: pytest.CaptureFixture[str]) -> None:
    """The sample holds both sides."""
    block = overall(capsys, SAMPLE, *measures("success@10", "ndcg@10"))
    table = pq.read_table(SAMPLE)
    sides = table.select(["query_id", "retrieved_ids"]), table.select(["query_id", "relevant_ids"])
    assert block == score_ranking(*sides, measures=["success@10", "ndcg@10"]).summary["overall"]
    assert (block["count"], block["no_references"], block["success@10"]) == (18, 1, 0.5)


def test_german_files_against_hand(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """DPR's layout on both sides, DPR's accuracy, and GermanQuAD's documents as judgements."""
    record = {"question": "Wo?", "answers": ["Köln"], "positive_ctxs": [{"passage_id": "7", "text": "in Köln"}]}
    (tmp_path / "gold").write_text(json.dumps([record | {"hard_negative_ctxs": [{"passage_id": "8", "text": "in Bonn"}]}]))
    found = {"question": "Wo?", "answers": ["Köln"], "ctxs": [{"id": "8", "text": "in Bonn"}, {"id": "7", "text": "in Köln"}]}
    (tmp_path / "found").write_text(json.dumps([found], indent=1))
    (tmp_path / "found lines").write_text(json.dumps(found))
    for name in ("found", "found lines"):
        block = overall(capsys, tmp_path / name, tmp_path / "gold", *measures("success@1", "success@10", "answer@1", "answer@2"))
        assert [block[m] for m in ("success@1", "success@10", "answer@1", "answer@2")] == [0.0, 1.0, 0.0, 1.0]
        assert overall(capsys, tmp_path / name, *measures("answer@2"))["answer@2"] == 1.0
    squad = {
        "data": [{"paragraphs": [{"document_id": 5, "context": "c", "qas": [{"id": 51870, "question": "?", "answers": []}]}]}]
    }
    (tmp_path / "squad").write_text(json.dumps(squad))
    (tmp_path / "run").write_text("51870 Q0 4 1 2.0 t\n51870 Q0 5 2 1.0 t\n")
    assert overall(capsys, tmp_path / "run", tmp_path / "squad", *measures("mrr"))["mrr"] == 0.5


@pytest.mark.real
def test_germanquad_documents_against_hand(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = shared_path("data/german/germanquad-test.json")
    data = json.loads(path.read_text("utf-8"))["data"]
    places = {str(q["id"]): str(p["document_id"]) for d in data for p in d["paragraphs"] for q in p["qas"]}
    run = tmp_path / "run"
    run.write_text("".join(f"{q} Q0 {d} 2 1.0 t\n{q} Q0 none 1 2.0 t\n" for q, d in places.items()))
    block = overall(capsys, run, path, *measures("success@1", "success@10", "mrr"))
    assert (block["count"], block["success@1"], block["success@10"], block["mrr"]) == (2204, 0.0, 1.0, 0.5)


def test_groups_and_totals_against_hand(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    days = [datetime.date(2024, 1, 1), datetime.date(2024, 1, 1), None]
    table = pa.table(
        {"query_id": [1, 2, 3], "retrieved_ids": [["a"], ["b"], []], "relevant_ids": [["a"], ["c"], ["d"]], "day": days}
    )
    pq.write_table(table, tmp_path / "t")
    code, out, _ = called(capsys, tmp_path / "t", "-m", "R@1", "--by", "day", "--json", "--per-query")
    summary = json.loads(out)
    assert code == 0
    assert {value: (b["count"], b["recall@1"]) for value, b in summary["groups"]["day"].items()} == {
        "2024-01-01": (2, 0.5),
        "null": (1, 0.0),
    }
    assert summary["queries"][0] == {"query_id": 1, "day": "2024-01-01", "recall@1": 1.0, "status": "ok"}
    assert summary["queries"][2]["day"] is None
    assert "day=2024-01-01" in called(capsys, tmp_path / "t", "--by", "day")[1]
    scores = score_ranking(table, measures="R@1", by="day")
    twice = score_ranking(table.slice(0, 2), measures="R@1", by="day").totals
    twice.merge(scores.totals)
    assert (scores.mean("recall@1"), scores.summary["overall"]["recall@1"]) == (1 / 3, 1 / 3)
    assert (twice.block()["recall@1"], twice.block()["count"]) == (2 / 5, 5)
    assert str(scores) == repr(scores)
    assert scores.to_polars()["recall@1"].to_list() == [1.0, 0.0, 0.0]


def test_each_query_is_printed_and_written_against_itself(
    files: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wanted = score_ranking(*files, measures=ALL)
    for suffix, read in (
        ("parquet", pl.read_parquet),
        ("arrow", pl.read_ipc),
        ("jsonl", pl.read_ndjson),
        ("csv", pl.read_csv),
    ):
        out = tmp_path / f"q.{suffix}"
        arguments = (*files, *measures(*ALL), "--per-query", "-o", out)
        code, text, _ = called(capsys, *arguments)
        assert (code, "q1" in text) == (0, False)
        frame = read(out).with_columns(pl.col("status").cast(pl.String))
        assert frame.rows() == wanted.to_polars().with_columns(pl.col("status").cast(pl.String)).rows()
        code, _, err = called(capsys, *arguments)
        assert (code, "--overwrite" in err) == (2, True)
        assert called(capsys, *arguments, "--overwrite")[0] == 0
    stored = pq.read_schema(tmp_path / "q.parquet").metadata
    assert stored[b"fastscore.signature"].decode() == wanted.signature
    text = called(capsys, *files, "-m", "mrr", "--per-query")[1]
    assert [line.split()[1] for line in text.splitlines() if line.startswith("│ q")] == ["q1", "q2", "q3", "q4", "q9"]


def test_official_layout_against_hand(files: tuple[Path, Path], capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = called(capsys, *files, *measures("success@1", "map"), "--official", "--per-query", "--threads", 1)
    assert code == 0
    assert out.splitlines() == [
        "map                   \tq1\t1.0000",
        "success_1             \tq1\t1.0000",
        "map                   \tq2\t0.5000",
        "success_1             \tq2\t1.0000",
        "map                   \tq3\t0.0000",
        "success_1             \tq3\t0.0000",
        "map                   \tall\t0.5000",
        "success_1             \tall\t0.6667",
    ]


def test_text_of_files_is_safe_on_a_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    query = "q\x1b[31m\n[bold]"
    pq.write_table(pa.table({"query_id": [query], "retrieved_ids": [["a"]], "relevant_ids": [["a"]]}), tmp_path / "t")
    for form in (("--official",), ()):
        out = called(capsys, tmp_path / "t", "-m", "mrr", *form, "--per-query")[1]
        assert "\x1b" not in out
        assert r"q\x1b[31m\n[bold]" in out


@pytest.mark.real
@pytest.mark.parametrize("suffix", list(RUNS))
def test_printed_values_against_official(suffix: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Every line of trec_eval's expected output whose measure we offer is among ours, to the character."""
    run, qrels, level = RUNS[suffix]
    expected = printed(suffix)
    offered = [m for m in expected if stem(m) in OFFERED]
    assert {stem(m) for m in expected} - set(OFFERED) <= NOT_OFFERED
    files = (shared_path(f"data/trec/trec_eval_{run}"), shared_path(f"data/trec/trec_eval_{qrels}"))
    code, out, _ = called(capsys, *files, *measures(*offered), "--official", "--per-query", "--min-relevance", level, "--quiet")
    assert code == 0
    theirs = shared_path(f"data/trec/trec_eval_out.test{suffix}").read_text("utf-8").splitlines()
    wanted = [line for line in theirs if line.split("\t")[0].strip() in offered]
    fields = {tuple(f.strip() for f in line.split("\t")) for line in out.splitlines()}
    assert len(wanted) >= len(offered)
    assert [line for line in wanted if tuple(f.strip() for f in line.split("\t")) not in fields] == []


GOOD_RUN, GOOD_QRELS = "q1 Q0 a 1 1.0 t\n", "q1 0 a 1\n"


@pytest.mark.parametrize(
    ("run", "qrels", "said"),
    [
        ("q1 Q0 a 1 1.0 t\nq1 Q0 b 2 t\n", GOOD_QRELS, "RUN, line 2: at least 6 fields are needed (query Q0 document rank score"),
        ("#\nq1 Q0 a 1 high t\n", GOOD_QRELS, "RUN, line 2: the score must be a number, got 'high'"),
        ("q1 Q0 a 1 1.0 t\nq1 Q0 b 1 NaN t\n", GOOD_QRELS, "RUN, line 2: the score must be a number, got 'nan'"),
        (GOOD_RUN, "q1 0 a 1\n\nq1 0 b\n", "QRELS, line 3: 4 fields are needed (query 0 document relevance), got 3"),
        (GOOD_RUN, "q1 0 a 1\nq1 0 b yes\n", "QRELS, line 2: relevance must be a whole number, got 'yes'"),
        ("\nq1 Q0 a 1 1 t\n# x\nq1 Q0 a 2 0 t\n", GOOD_QRELS, "RUN: query 'q1' has document 'a' twice (line 2 and line 4)"),
        (GOOD_RUN, "q1 0 a 1\n\nq1 0 a 0\n", "QRELS: query 'q1' has document 'a' twice (line 1 and line 3)"),
        (GOOD_RUN, "q1 0 a 0\n", "QRELS: no query has a document of relevance 1 or more"),
        ("", GOOD_QRELS, "RUN: the run is empty"),
        ("# nothing\n\n", GOOD_QRELS, "RUN: the run is empty"),
        (GOOD_RUN, "", "QRELS: no query is judged"),
        ("query_id,doc_id,score\nq1,a,high\n", GOOD_QRELS, "RUN, line 2: score must be a number, got 'high'"),
        ("query_id,doc_id,score\nq1,b,1\n\nq1,a,1\n", GOOD_QRELS, "RUN, line 3: the query id is null"),
        ("query_id,doc_id,score\nq1,b,1\nq1,a,nan\n", GOOD_QRELS, "RUN: score, line 3: scores must be numbers, got nan"),
        ("query_id,doc_id,score\nq1,b,1\nq1,b,0\n", GOOD_QRELS, "RUN: query 'q1' has document 'b' twice (line 2 and line 3)"),
        (GOOD_RUN, "qid\tdocid\trel\nq1\ta\t0.5\n", "QRELS, line 2: rel must be a whole number, got '0.5'"),
        ('{"query_id": "q1", "doc_id": "a", "score": 1}\n{"query_id": 1\n', GOOD_QRELS, "RUN: line 2 is not JSON"),
        ('{"query_id": "q1", "doc_id": "a"}\n\n{"doc_id": "a"}\n', GOOD_QRELS, "RUN, line 3: the query id is null"),
        ('{"query_id": "q1", "retrieved_ids": ["a"], "scores": [1, 2]}\n', GOOD_QRELS, "row 0: retrieved_ids has 1 entries and"),
        ('[{"question": "x"}]', GOOD_QRELS, "RUN: its records have neither 'positive_ctxs' nor 'ctxs'"),
        ('{"q1": {"a": null}}', GOOD_QRELS, "RUN, query 'q1', document 'a': scores must be numbers, got null"),
        ('{"q1": 1}', GOOD_QRELS, "RUN: must be a list of DPR records, an object with 'data'"),
        ('{"q1": {"a": 1', GOOD_QRELS, "RUN: not valid JSON"),
        ("[1\n", GOOD_QRELS, "RUN: not valid JSON"),
    ],
)  # fmt: skip
def test_bad_data_are_one_line_and_code_3(
    run: str, qrels: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "RUN").write_text(run)
    (tmp_path / "QRELS").write_text(qrels)
    code, out, err = called(capsys, tmp_path / "RUN", tmp_path / "QRELS")
    assert (code, out, err.count("\n")) == (3, "", 1)
    assert err.startswith("fastscore: ")
    assert said in err.replace(f"{tmp_path}/", "")


def test_bad_bytes_are_one_line_and_code_3(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    qrels = tmp_path / "QRELS"
    qrels.write_text(GOOD_QRELS)
    packed = gzip.compress(GOOD_RUN.encode())
    cases = {
        "a": (b"q1 Q0 a 1 1.0 t\nq1 Q0 \xff 1 1.0 t\n", "a, line 2: ids must be UTF-8, got byte 0xff"),
        "b.gz": (packed[:-9], "broken .gz"),
        "c.gz": (packed[:10] + b"\xff\xff" + packed[12:], "b"),
        "d.parquet": (b"no", "d.parquet: not a whole parquet file"),
        "e.arrow": (b"no", "e.arrow: not a whole arrow file"),
        "f.csv": (b"a,b\n1,2\n", "f.csv: needs a column 'query_id'"),
        "g": (b"PAR1 and no more", "g: not a whole parquet file"),
    }
    for name, (raw, said) in cases.items():
        (tmp_path / name).write_bytes(raw)
        code, out, err = called(capsys, tmp_path / name, qrels)
        assert (code, out, err.count("\n")) == (2 if name == "f.csv" else 3, "", 1), (name, err)
        assert said in err
    lists = pa.array([["a"]])
    pq.write_table(pa.table({"retrieved_ids": lists, "relevant_ids": pa.array([[]], lists.type)}), tmp_path / "none")
    code, _, err = called(capsys, tmp_path / "none")
    assert (code, "nothing can be scored" in err) == (3, True)
    pq.write_table(pq.read_table(SAMPLE)[:0], tmp_path / "empty")
    code, _, err = called(capsys, tmp_path / "empty")
    assert (code, "the run is empty" in err) == (3, True)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["RUN", "QRELS", "-m", "recal@10"], "Did you mean 'recall@10'?"),
        (["RUN", "QRELS", "-m", "recall"], "measure 'recall' needs a cut-off"),
        (["RUN", "QRELS", "-m", ""], "at least one is needed"),
        (["RUN", "QRELS", "--by", "lang"], "by: neither the judgements nor the run have a column 'lang'"),
        (["RUN", "QRELS", "--min-relevance", "0"], "min_relevance: a whole number from 1 on"),
        (["RUN", "QRELS", "--threads", "0"], "threads: a whole number from 1 on"),
        (["RUN", "QRELS", "--json", "--official"], "--json and --official: one of them"),
        (["RUN", "QRELS", "--format", "xml"], "no format is called 'xml'"),
        (["RUN", "QRELS", "-o", "q.txt"], "the suffix must be one of"),
        (["RUN"], "qrels is needed"),
        (["RUN", "absent"], "absent: there is no such file"),
        (["absent", "QRELS"], "absent: there is no such file"),
        ([".", "QRELS"], "this is a folder; name a file"),
        ([], "RUN"),
    ],
)
def test_wrong_calls_are_one_line_and_code_2(
    arguments: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("RUN").write_text(GOOD_RUN)
    Path("QRELS").write_text(GOOD_QRELS)
    code, out, err = called(capsys, *arguments)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert said in err

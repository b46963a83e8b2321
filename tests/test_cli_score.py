"""`fastscore score` from outside: what it prints, what it writes, its exit codes, and every bad input in one line.

The command runs in this process through `cli.main`, and once as a process of its own. Bad inputs are made in `tmp_path`.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet as pq
import pytest

import fastscore
from fastscore import cli
from fastscore.recipes import RECIPES
from tests.conftest import GOLDEN, shared_path

DATA = Path(__file__).resolve().parents[1] / "data"
COQA = (DATA / "coqa-predictions.json", DATA / "coqa-references.json")
GERMAN = (DATA / "germanquad-predictions.json", DATA / "germanquad-references.json")
GENERATIONS = DATA / "generations.parquet"


@pytest.fixture(name="run")
def _run(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, list[str]]]:
    """Run the command: exit code, standard output, and the lines on standard error."""

    def run(*arguments: Any) -> tuple[int, str, list[str]]:
        capsys.readouterr()
        code = cli.main(["score", *(str(a) for a in arguments)])
        out, err = capsys.readouterr()
        assert "Traceback" not in err
        return code, out, [line for line in err.split("\n") if line]

    return run


Run = Callable[..., tuple[int, str, list[str]]]


def _write(path: Path, value: Any) -> Path:
    """Bytes and text as they are, a list of rows to a table's suffix as JSON Lines, anything else as JSON."""
    if isinstance(value, bytes):
        path.write_bytes(value)
    elif isinstance(value, pa.Table):
        pq.write_table(value, path)
    elif path.suffix == ".jsonl" and isinstance(value, list):
        path.write_text("".join(json.dumps(row) + "\n" for row in value), encoding="utf-8")
    else:
        path.write_text(value if isinstance(value, str) else json.dumps(value), encoding="utf-8")
    return path


def _story(story: str = "s1", turns: int = 2, more: dict[str, Sequence[int]] | None = None, **parts: Any) -> dict[str, Any]:
    """A CoQA story; `more` gives the turns that each additional annotator answered."""
    numbers = range(1, turns + 1)
    made: dict[str, Any] = {
        "source": "cnn",
        "id": story,
        "questions": [{"input_text": f"q{n}", "turn_id": n} for n in numbers],
        "answers": [{"input_text": "yes", "turn_id": n} for n in numbers],
    }
    if more is not None:
        made["additional_answers"] = {k: [{"input_text": "no", "turn_id": n} for n in given] for k, given in more.items()}
    return {**made, **parts}


def _coqa(*stories: dict[str, Any]) -> dict[str, Any]:
    return {"version": "1.0", "data": list(stories)}


def _squad(*questions: tuple[Any, Any, Any], context: str = "Der Rhein ist lang") -> dict[str, Any]:
    """Questions of (id, answer text, answer_start) over one context."""
    asked = [{"id": i, "question": "?", "answers": [{"text": t, "answer_start": s}]} for i, t, s in questions]
    return {"version": "1.1", "data": [{"title": "t", "paragraphs": [{"context": context, "qas": asked}]}]}


def _rows(**columns: Any) -> pa.Table:
    return pa.table(columns)


# What it prints, against the published script.


def test_official_coqa_against_official(run: Run) -> None:
    paths = GOLDEN / "coqa-made-4refs.predictions.json", GOLDEN / "coqa-made-4refs.references.json"
    code, out, _ = run(*paths, "--recipe", "coqa", "--official")
    expected = json.loads((GOLDEN / "coqa-made-4refs.expected.json").read_text(encoding="utf-8"))["official"]
    assert code == 0
    assert out == json.dumps(expected, indent=2) + "\n"


def test_official_coqa_dialogues_against_official(run: Run, tmp_path: Path) -> None:
    paths = shared_path("golden/coqa-32dialogues.predictions.json"), shared_path("data/coqa/train-32dialogues.json")
    expected = json.loads(shared_path("golden/coqa-32dialogues.expected.json").read_text(encoding="utf-8"))
    code, out, _ = run(*paths, "--recipe", "coqa", "--official", "-o", tmp_path / "items.parquet")
    assert code == 0
    assert json.loads(out) == expected["official"]
    items = pq.read_table(tmp_path / "items.parquet").to_pylist()
    got = [(i["question_id"], i["turn_id"], i["exact_match"], i["f1"]) for i in items if i["status"] != "unmatched_prediction"]
    assert got == [(e["id"], e["turn_id"], e["exact_match"], e["f1"]) for e in expected["items"]]


def test_official_squad_against_official(run: Run) -> None:
    paths = shared_path("data/squad/v1.1-predictions-logreg.json"), shared_path("data/squad/dev-v1.1.json")
    code, out, _ = run(*paths, "--recipe", "squad", "--official")
    assert code == 0
    assert json.loads(out)["exact_match"] == pytest.approx(40.14191106906339, abs=1e-9)
    assert json.loads(out)["f1"] == pytest.approx(50.98153647324482, abs=1e-9)


def test_as_a_process_of_its_own(tmp_path: Path) -> None:
    """One run that is a real process: streams apart, exit code handed on, no warning."""
    command = [sys.executable, "-W", "error", "-m", "fastscore.cli", "score"]
    environment = {**os.environ, "PYTHONPATH": str(DATA.parent)}
    done = subprocess.run(
        [*command, *map(str, COQA), "--recipe", "coqa", "--json"], capture_output=True, text=True, env=environment, check=False
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["recipe"] == "coqa"
    assert "Traceback" not in done.stderr
    missing = tmp_path / "none.json"
    done = subprocess.run(
        [*command, str(missing), "--recipe", "coqa"], capture_output=True, text=True, env=environment, check=False
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"fastscore: {missing}: there is no such file\n"


def test_table_for_a_person(run: Run) -> None:
    code, out, err = run(*COQA, "--recipe", "coqa", "--by", "domain")
    assert code == 0
    assert [w for w in ("EM", "F1", "domain=news", "all", "2 missing_prediction", "1 unmatched_prediction") if w not in out] == []
    assert "\x1b" not in out
    assert any("2 references have no prediction" in line for line in err)
    assert any("1 prediction is for an unknown question" in line for line in err)


def test_json_is_the_summary(run: Run) -> None:
    code, out, _ = run(*COQA, "--recipe", "coqa", "--by", "domain", "--json")
    result = fastscore.score(*COQA, recipe="coqa", by="domain")
    assert code == 0
    assert json.loads(out, parse_constant=pytest.fail) == result.summary
    assert set(result.summary) == {"signature", "recipe", "overall", "groups"}
    assert set(result.summary["groups"]) == {"domain"}


def test_quiet_says_nothing_on_standard_error(run: Run) -> None:
    assert run(*COQA, "--recipe", "coqa-official", "--json", "--quiet")[2] == []


def test_an_alias_is_named_on_standard_error(run: Run) -> None:
    code, _, err = run(*COQA, "--recipe", "COQA", "--json")
    assert code == 0
    assert any("'COQA' is read as 'coqa'" in line for line in err)


def test_several_groups_at_once(run: Run) -> None:
    code, out, _ = run(*COQA, "--recipe", "coqa", "--by", "domain", "--by", "source", "--json")
    assert code == 0
    groups = json.loads(out)["groups"]
    assert list(groups) == ["domain", "source"]
    overall = json.loads(out)["overall"]
    assert sum(b["count"] for b in groups["domain"].values()) == overall["count"]


@pytest.mark.parametrize("recipe", list(RECIPES))
def test_check_agrees_on_every_recipe(run: Run, recipe: str) -> None:
    code, _, err = run(*COQA, "--recipe", recipe, "--check", 1000, "--json")
    assert code == 0
    assert any("70 rows scored again by the reference implementation: all equal" in line for line in err)


def test_check_fails_loudly_on_a_difference(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    from fastscore import naive

    honest = naive.score_one

    def off(*arguments: Any, **named: Any) -> Any:
        return {**honest(*arguments, **named), "f1": 0.123}

    monkeypatch.setattr(naive, "score_one", off)
    code, out, err = run(*COQA, "--recipe", "coqa", "--check", 5)
    assert (code, out) == (3, "")
    assert [w for w in ("row ", "question_id", "f1 is ", "0.123") if w not in err[-1]] == []


# What it writes.

_READERS: dict[str, Callable[[Path], list[dict[str, Any]]]] = {
    ".parquet": lambda p: pq.read_table(p).to_pylist(),
    ".arrow": lambda p: pyarrow.ipc.open_file(p).read_all().to_pylist(),
    ".jsonl": lambda p: [json.loads(line) for line in p.read_text(encoding="utf-8").split("\n") if line],
    ".csv": lambda p: pl.read_csv(p, schema_overrides={"question_id": pl.String}).to_dicts(),
}


@pytest.mark.parametrize("suffix", list(_READERS))
def test_items_in_every_format_are_the_same_to_the_bit(run: Run, tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"items{suffix}"
    code, _, _ = run(*GERMAN, "--recipe", "germanquad", "--top-n", 5, "-o", path, "--json")
    assert code == 0
    expected = fastscore.score(*GERMAN, recipe="germanquad", top_n=5).items.to_pylist()
    assert _READERS[suffix](path) == expected
    assert [p.name for p in tmp_path.iterdir()] == [path.name]
    assert {"exact_span", "span_f1", "top_1", "top_5"} <= set(expected[0])


def test_items_carry_the_signature(run: Run, tmp_path: Path) -> None:
    run(*COQA, "--recipe", "coqa", "-o", tmp_path / "items.parquet")
    assert pq.read_schema(tmp_path / "items.parquet").metadata[b"fastscore.signature"].decode() == RECIPES["coqa"].signature


def test_output_is_not_replaced_unless_told(run: Run, tmp_path: Path) -> None:
    path = _write(tmp_path / "items.csv", "mine")
    code, out, err = run(*COQA, "--recipe", "coqa", "-o", path)
    assert (code, out, len(err)) == (2, "", 1)
    assert str(path) in err[0]
    assert "--overwrite" in err[0]
    assert path.read_text(encoding="utf-8") == "mine"
    code, _, _ = run(*COQA, "--recipe", "coqa", "-o", path, "--overwrite")
    assert code == 0
    assert path.read_text(encoding="utf-8").startswith("question_id,")


def test_a_run_that_fails_leaves_the_output_alone(run: Run, tmp_path: Path) -> None:
    path = _write(tmp_path / "items.csv", "mine")
    broken = _write(tmp_path / "broken.json", '[{"id": ')
    assert run(broken, COQA[1], "--recipe", "coqa", "-o", path, "--overwrite")[0] == 3
    assert path.read_text(encoding="utf-8") == "mine"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["broken.json", "items.csv"]


def test_csv_items_are_no_formulas(run: Run, tmp_path: Path) -> None:
    table = _rows(question_id=["=1+1", "q"], prediction=["a", "b"], references=[["a"], ["b"]])
    run(_write(tmp_path / "in.parquet", table), "--recipe", "squad", "-o", tmp_path / "items.csv")
    assert pl.read_csv(tmp_path / "items.csv")["question_id"].to_list() == ["'=1+1", "q"]


# Nothing is lost.


def _items(run: Run, tmp_path: Path, *arguments: Any) -> tuple[list[dict[str, Any]], dict[str, Any], str]:
    """Items, the overall block and standard error of a run that must succeed."""
    path = tmp_path / "items-out.parquet"
    code, out, err = run(*arguments, "-o", path, "--overwrite", "--json")
    assert code == 0, err
    return pq.read_table(path).to_pylist(), json.loads(out)["overall"], "\n".join(err)


def test_unmatched_predictions_are_listed_and_missing_ones_have_a_row(run: Run, tmp_path: Path) -> None:
    references = _write(tmp_path / "r.json", _coqa(_story(more={"0": [1, 2]})))
    given = [{"id": "s1", "turn_id": 1, "answer": "yes"}, {"id": "s9", "turn_id": 1, "answer": "yes"}]
    items, overall, err = _items(run, tmp_path, _write(tmp_path / "p.json", given), references, "--recipe", "coqa")
    assert [(i["question_id"], i["turn_id"], i["f1"], i["status"]) for i in items] == [
        ("s1", 1, 0.5, "ok"),
        ("s1", 2, 0.0, "missing_prediction"),
        ("s9", 1, None, "unmatched_prediction"),
    ]
    assert {k: overall[k] for k in ("count", "ok", "missing_prediction", "unmatched_prediction", "f1")} == {
        "count": 2,
        "ok": 1,
        "missing_prediction": 1,
        "unmatched_prediction": 1,
        "f1": 0.25,
    }
    assert "1 prediction is for an unknown question" in err


def test_a_story_without_additional_answers_has_one_reference(run: Run, tmp_path: Path) -> None:
    references = _write(tmp_path / "r.json", _coqa(_story()))
    given = [{"id": "s1", "turn_id": n, "answer": "yes"} for n in (1, 2)]
    items, overall, _ = _items(run, tmp_path, _write(tmp_path / "p.json", given), references, "--recipe", "coqa")
    assert [i["exact_match"] for i in items] == [1.0, 1.0]
    assert overall["count"] == 2


def test_doubled_predictions_last_wins_and_counted(run: Run, tmp_path: Path) -> None:
    references = _write(tmp_path / "r.json", _coqa(_story(turns=1)))
    given = [{"id": "s1", "turn_id": 1, "answer": a} for a in ("no", "yes")]
    items, _, err = _items(run, tmp_path, _write(tmp_path / "p.json", given), references, "--recipe", "coqa")
    assert [i["exact_match"] for i in items] == [1.0]
    assert "1 prediction stands twice for its" in err
    squad = _write(tmp_path / "s.json", _squad((1, "Rhein", 4)))
    items, _, err = _items(run, tmp_path, _write(tmp_path / "q.json", '{"1": "Main", "1": "Rhein"}'), squad, "--recipe", "squad")
    assert [i["exact_match"] for i in items] == [1.0]
    assert "1 prediction stands twice for its" in err


def test_string_and_integer_ids_are_the_same_key(run: Run, tmp_path: Path) -> None:
    references = _write(tmp_path / "r.json", _squad((51870, "Rhein", 4), ("51871", "lang", 14)))
    predictions = _write(tmp_path / "p.json", {"51870": "Rhein", "51871": "lang"})
    items, overall, _ = _items(run, tmp_path, predictions, references, "--recipe", "germanquad")
    assert [(i["question_id"], i["exact_match"]) for i in items] == [("51870", 1.0), ("51871", 1.0)]
    table = _rows(question_id=[51871, 51870], prediction=["lang", "Rhein"])
    items, overall, _ = _items(run, tmp_path, _write(tmp_path / "p.parquet", table), references, "--recipe", "germanquad")
    assert [(i["question_id"], i["exact_match"]) for i in items] == [(51871, 1.0), (51870, 1.0)]
    assert overall["unmatched_prediction"] == 0


def test_coqa_ids_and_turns_of_either_type(run: Run, tmp_path: Path) -> None:
    references = _write(tmp_path / "r.json", _coqa(_story("7")))
    given = [{"id": 7, "turn_id": "1", "answer": "yes"}, {"id": "7", "turn_id": 2, "answer": "yes"}]
    items, _, err = _items(run, tmp_path, _write(tmp_path / "p.json", given), references, "--recipe", "coqa")
    assert [i["exact_match"] for i in items] == [1.0, 1.0]
    assert "1 turn_id values are text and were read as numbers" in err


def test_null_predictions_count_zero_where_the_recipe_says_so(run: Run, tmp_path: Path) -> None:
    references = _write(tmp_path / "r.json", _coqa(_story()))
    given = [{"id": "s1", "turn_id": 1, "answer": None}, {"id": "s1", "turn_id": 2, "answer": "yes"}]
    items, overall, _ = _items(run, tmp_path, _write(tmp_path / "p.json", given), references, "--recipe", "coqa")
    assert [(i["f1"], i["status"]) for i in items] == [(0.0, "null_prediction"), (1.0, "ok")]
    assert (overall["count"], overall["null_prediction"], overall["f1"]) == (2, 1, 0.5)
    _, overall, _ = _items(run, tmp_path, tmp_path / "p.json", references, "--recipe", "squad")
    assert (overall["count"], overall["null_prediction"], overall["f1"]) == (2, 1, 0.5)


def test_questions_without_references_have_no_score(run: Run, tmp_path: Path) -> None:
    table = _rows(prediction=["x", "y", "z"], references=pa.array([["x"], [], None], pa.list_(pa.string())))
    items, overall, _ = _items(run, tmp_path, _write(tmp_path / "p.parquet", table), "--recipe", "squad")
    assert [i["f1"] for i in items] == [1.0, None, None]
    assert (overall["no_references"], overall["f1"]) == (2, 1.0)


def test_lone_surrogates_are_replaced_and_counted(run: Run, tmp_path: Path) -> None:
    references = _write(tmp_path / "r.json", _coqa(_story(turns=1, answers=[{"input_text": "x\ufffdy", "turn_id": 1}])))
    predictions = _write(tmp_path / "p.json", '[{"id": "s1", "turn_id": 1, "answer": "x\\ud83dy"}]')
    items, _, err = _items(run, tmp_path, predictions, references, "--recipe", "coqa")
    assert [i["exact_match"] for i in items] == [1.0]
    assert "1 lone surrogates" in err
    lines = _write(tmp_path / "p.jsonl", '{"prediction": "\\udc00", "references": ["\\ufffd"]}\n')
    items, _, err = _items(run, tmp_path, lines, "--recipe", "squad")
    assert [i["exact_match"] for i in items] == [1.0]
    assert "1 lone surrogates" in err


def test_positions_outside_the_context_are_counted(run: Run, tmp_path: Path) -> None:
    """A prediction's span past its context overlaps nothing; a text that is not at its offset is counted too."""
    references = _write(tmp_path / "r.json", _squad((1, "Rhein", 4), (2, "lang", 14), (3, "Rhein", 4)))
    given = {
        "1": [{"text": "Rhein", "start": 400, "end": 405, "score": 1.0}],
        "2": [{"text": "lang", "start": 14, "end": 18, "score": 1.0}],
        "3": [{"text": "Rhein", "start": 0, "end": 3, "score": 1.0}],
    }
    items, _, err = _items(run, tmp_path, _write(tmp_path / "p.json", given), references, "--recipe", "germanquad")
    assert [i["top_1"] for i in items] == [0.0, 1.0, 0.0]
    assert "1 predicted spans lie outside their context" in err
    assert "1 predictions are not the text at their offset" in err


def test_reference_texts_beside_their_offset_are_counted(run: Run, tmp_path: Path) -> None:
    references = _write(tmp_path / "r.json", _squad((1, "Rhein", 3)))
    code, _, err = run(_write(tmp_path / "p.json", {"1": "Rhein"}), references, "--recipe", "germanquad", "--json")
    assert code == 0
    assert any("1 answers are not the text at their offset" in line for line in err)


def test_terminal_escapes_of_the_data_are_shown_not_run(run: Run, tmp_path: Path) -> None:
    table = _rows(g=["\x1b[2J[bold]x", "y"], prediction=["a", "b"], references=[["a"], ["b"]])
    code, out, err = run(_write(tmp_path / "p.parquet", table), "--recipe", "squad", "--by", "g")
    assert code == 0
    assert "\x1b" not in out + "".join(err)
    assert "\\x1b[2J[bold]x" in out


def test_no_rows_at_all(run: Run, tmp_path: Path) -> None:
    """R51: an empty table has null means and count 0, in strict JSON."""
    table = _rows(prediction=pa.array([], pa.string()), references=pa.array([], pa.list_(pa.string())))
    items, overall, _ = _items(run, tmp_path, _write(tmp_path / "p.parquet", table), "--recipe", "squad")
    assert items == []
    assert (overall["count"], overall["f1"], overall["exact_match"]) == (0, None, None)
    references = _write(tmp_path / "r.json", _coqa(_story(turns=1)))
    items, overall, _ = _items(run, tmp_path, _write(tmp_path / "e.json", []), references, "--recipe", "coqa")
    assert [i["status"] for i in items] == ["missing_prediction"]
    assert overall["f1"] == 0.0


def test_means_of_a_split_file_are_the_same_bits(run: Run, tmp_path: Path) -> None:
    table = pq.read_table(GENERATIONS)
    _, whole, _ = _items(run, tmp_path, GENERATIONS, "--recipe", "coqa-max")
    pq.write_table(table, tmp_path / "cut.parquet", row_group_size=7)
    _, cut, _ = _items(run, tmp_path, tmp_path / "cut.parquet", "--recipe", "coqa-max", "--threads", 2)
    assert cut == whole
    f1 = [i["f1"] for i in _items(run, tmp_path, GENERATIONS, "--recipe", "coqa-max")[0]]
    assert whole["f1"] == math.fsum(f1) / len(f1)


# Bad input: exit code, one line, and what the line names.

_GOOD = [{"id": "s1", "turn_id": 1, "answer": "yes"}]
_TABLE = {"question_id": ["q1", "q2"], "prediction": ["a", "b"], "references": [["a"], ["b"]]}


def _parquet_cut(**_: Any) -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table(_TABLE), sink)
    return bytes(sink.getvalue())[:-40]


def _arrow_cut() -> bytes:
    sink = pa.BufferOutputStream()
    with pyarrow.ipc.new_file(sink, pa.table(_TABLE).schema) as writer:
        writer.write_table(pa.table(_TABLE))
    return bytes(sink.getvalue())[:-30]


def _table(**columns: Any) -> pa.Table:
    return pa.table({k: v for k, v in {**_TABLE, **columns}.items() if v is not None})


_NO_REFS = {"question_id": ["q1"], "prediction": ["a"]}

#: name: predictions (file name, content), references or None, further arguments, exit code, what the line names.
BAD: dict[str, tuple[tuple[str, Any] | None, tuple[str, Any] | None, list[str], int, list[str]]] = {
    "missing predictions file": (None, None, [], 2, ["absent.json", "there is no such file"]),
    "missing references file": (("p.json", _GOOD), ("absent", None), [], 2, ["absent", "there is no such file"]),
    "folder for a file": (("folder", None), None, [], 2, ["folder"]),
    "empty JSON": (("p.json", b""), None, [], 3, ["p.json", "empty"]),
    "blank JSON": (("p.json", b" \n\t\n"), None, [], 3, ["p.json", "empty"]),
    "empty references": (("p.json", _GOOD), ("r.json", b""), [], 3, ["r.json", "empty"]),
    "empty JSON Lines": (("p.jsonl", b""), None, [], 3, ["p.jsonl", "empty"]),
    "empty CSV": (("p.csv", b""), None, [], 3, ["p.csv", "empty"]),
    "empty parquet": (("p.parquet", b""), None, [], 3, ["p.parquet", "empty"]),
    "only a byte order mark": (("p.json", b"\xef\xbb\xbf"), None, [], 3, ["p.json", "empty"]),
    "predictions cut short": (("p.json", '[{"id": "s1", "turn_id": 1, "ans'), None, [], 3, ["p.json", "cut short"]),
    "references cut short": (
        *(("p.json", _GOOD), ("r.json", json.dumps(_coqa(_story()))[:-20]), []),
        *(3, ["r.json", "cut short"]),
    ),
    "squad references cut short": (
        *(("p.json", {"1": "a"}), ("r.json", json.dumps(_squad((1, "Rhein", 4)))[:-9]), []),
        *(3, ["r.json", "cut short"]),
    ),
    "squad predictions cut short": (
        *(("p.json", '{"1": "Rhe'), ("r.json", _squad((1, "Rhein", 4))), []),
        *(3, ["p.json", "cut short"]),
    ),
    "JSON Lines cut short": (
        *(("p.jsonl", '{"prediction": "a", "references": ["a"]}\n{"prediction": "b", "refe'), None, []),
        *(3, ["p.jsonl", "line 2"]),
    ),
    "parquet cut short": (("p.parquet", _parquet_cut()), None, [], 3, ["p.parquet", "parquet"]),
    "Arrow file cut short": (("p.arrow", _arrow_cut()), None, [], 3, ["p.arrow", "arrow"]),
    "CSV cut short": (("p.csv", 'question_id,prediction,references\nq1,a,"b'), None, [], 3, ["p.csv", "line 2"]),
    "CSV row with too few fields": (
        *(("p.csv", "question_id,prediction,references\nq1,a,b\nq2,c\n"), None, []),
        *(3, ["p.csv", "line 3", "2 fields", "3"]),
    ),
    "CSV row with too many fields": (
        *(("p.csv", "question_id,prediction,references\nq1,a,b\nq2,c,d,e\n"), None, []),
        *(3, ["p.csv", "line 3", "4 fields", "3"]),
    ),
    "cut gzip": (("p.jsonl.gz", b"\x1f\x8b\x08\x00\x00\x00"), None, [], 3, ["p.jsonl.gz", "gz"]),
    "no known format": (("p.txt", "hello world\n"), None, [], 3, ["p.txt", "--format", "parquet"]),
    "binary nonsense": (("p.bin", bytes(range(200, 256)) * 3), None, [], 3, ["p.bin", "--format"]),
    "fewer additional answers than turns": (
        *(("p.json", _GOOD), ("r.json", _coqa(_story(more={"0": [1, 2], "1": [1]}))), []),
        *(3, ["r.json", "'s1'", "additional_answers[1]", "1 turns", "2", "turn 2"]),
    ),
    "fewer answers than turns": (
        *(("p.json", _GOOD), ("r.json", _coqa(_story(answers=[]))), []),
        *(3, ["r.json", "'s1'", "answers", "0 turns", "turn 1"]),
    ),
    "story without answers": (
        *(("p.json", _GOOD), ("r.json", {"data": [{"id": "s1", "questions": []}]}), []),
        *(3, ["r.json", "answers", "data[0]"]),
    ),
    "wrong field of a story": (
        *(("p.json", _GOOD), ("r.json", _coqa(_story(), _story("s2", questions=[{"input_text": 5, "turn_id": 1}]))), []),
        *(3, ["r.json", "str", "int", "data[1].questions[0].input_text"]),
    ),
    "wrong field of a prediction": (
        *(("p.json", [*_GOOD, {"id": "s1", "turn_id": 2, "answer": 3}]), ("r.json", _coqa(_story())), []),
        *(3, ["p.json", "[1].answer", "int"]),
    ),
    "prediction without its answer": (
        *(("p.json", [*_GOOD, {"id": "s1", "turn_id": 2}]), ("r.json", _coqa(_story())), []),
        *(3, ["p.json", "[1]", "answer"]),
    ),
    "turn number that is none": (
        *(("p.json", [{"id": "s1", "turn_id": "one", "answer": "x"}]), ("r.json", _coqa(_story())), []),
        *(3, ["p.json", "'s1'", "turn_id", "'one'"]),
    ),
    "wrong entry of squad predictions": (
        *(("p.json", {"1": "a", "q7": 5}), ("r.json", _squad((1, "Rhein", 4))), []),
        *(3, ["p.json", "'q7'", "int"]),
    ),
    "wrong field of an n-best entry": (
        *(("p.json", {"q7": [{"text": "a", "start": "0"}]}), ("r.json", _squad((1, "Rhein", 4))), []),
        *(3, ["p.json", "'q7'", "start", "str"]),
    ),
    "duplicate story": (
        *(("p.json", _GOOD), ("r.json", _coqa(_story(), _story())), []),
        *(3, ["r.json", "'s1'", "turn 1", "twice"]),
    ),
    "duplicate turn": (
        *(("p.json", _GOOD), ("r.json", _coqa(_same_turn := _story(turns=1), {**_same_turn, "id": "s1"})), []),
        *(3, ["r.json", "'s1'", "turn 1"]),
    ),
    "duplicate question id, as number and as text": (
        *(("p.json", {"5": "a"}), ("r.json", _squad((5, "Rhein", 4), ("5", "lang", 14))), []),
        *(3, ["r.json", "'5'", "twice"]),
    ),
    "duplicate keys in a table of references": (
        *(
            ("p.parquet", _table(references=None)),
            ("r.parquet", pa.table({"question_id": ["q1", "q2", "q1"], "references": ["a"] * 3})),
        ),
        *([], 3, ["references", "question_id", "'q1'", "more than once"]),
    ),
    "null key of a reference": (
        *(
            ("p.parquet", _table(references=None)),
            ("r.parquet", pa.table({"question_id": ["q1", None], "references": ["a", "b"]})),
        ),
        *([], 3, ["references", "question_id", "null"]),
    ),
    "float ids in a table": (
        *(("p.parquet", _table(references=None)), ("r.parquet", pa.table({"question_id": [1.0, 2.0], "references": ["a", "b"]}))),
        *([], 2, ["references", "question_id", "double", "text or integer"]),
    ),
    "float ids in a table of predictions": (
        *(("p.parquet", _table(question_id=[1.0, 2.0], references=None)),),
        *(("r.parquet", pa.table({"question_id": [1, 2], "references": ["a", "b"]})), []),
        *(2, ["predictions", "question_id", "double"]),
    ),
    "float ids in JSON": (
        *(("p.json", {"1": "a"}), ("r.json", _squad((1.0, "Rhein", 4))), []),
        *(3, ["r.json", "float", "qas[0].id"]),
    ),
    "float turn in JSON": (
        *(("p.json", [{"id": "s1", "turn_id": 1.5, "answer": "x"}]), ("r.json", _coqa(_story())), []),
        *(3, ["p.json", "float", "[0].turn_id"]),
    ),
    "absent key column": (
        *(("p.parquet", pa.table({"question": ["q1"], "prediction": ["a"]})),),
        *(("r.parquet", pa.table({"question_id": ["q1"], "references": ["a"]})), []),
        *(2, ["predictions", "'question_id'", "Did you mean 'question'"]),
    ),
    "absent column prediction": (
        *(("p.parquet", pa.table({"predicton": ["a"], "references": ["a"]})), None, []),
        *(2, ["'prediction'", "Did you mean 'predicton'"]),
    ),
    "absent column references": (
        *(("p.parquet", pa.table({"prediction": ["a"], "reference": ["a"]})), None, []),
        *(2, ["'references'", "Did you mean 'reference'"]),
    ),
    "absent column named": (
        *(("p.parquet", _table()), None, ["--prediction", "predictons"]),
        *(2, ["'predictons'", "Did you mean 'prediction'"]),
    ),
    "absent group column": (
        *(("p.parquet", _table(domain=["x", "y"])), None, ["--by", "domian"]),
        *(2, ["'domian'", "Did you mean 'domain'"]),
    ),
    "absent column to keep": (
        *(("p.parquet", _table(domain=["x", "y"])), None, ["--keep", "domian"]),
        *(2, ["'domian'", "Did you mean 'domain'"]),
    ),
    "predictions of a wrong type": (
        *(("p.parquet", _table(prediction=[1, 2])), None, []),
        *(2, ["prediction", "int64", "text"]),
    ),
    "references of a wrong type": (
        *(("p.parquet", _table(references=[[1], [2]])), None, []),
        *(2, ["references", "int64", "text"]),
    ),
    "structs for predictions": (
        *(("p.parquet", _table(prediction=[{"t": "a"}, {"t": "b"}])), None, []),
        *(2, ["prediction", "struct"]),
    ),
    "list and text mixed in JSON Lines": (
        *(("p.jsonl", [{"prediction": ["a"], "references": ["a"]}, {"prediction": "b", "references": "b"}]), None, []),
        *(3, ["p.jsonl", "line 1: prediction is array here, str"]),
    ),
    "number among texts in JSON Lines": (
        *(("p.jsonl", [{"prediction": "a", "references": ["a"]}, {"prediction": 3, "references": ["b"]}]), None, []),
        *(3, ["p.jsonl", "line 2", "prediction", "int"]),
    ),
    "a line that is no object": (
        *(("p.jsonl", '{"prediction": "a", "references": ["a"]}\n[1]\n'), None, []),
        *(3, ["p.jsonl", "line 2", "object"]),
    ),
    "invalid UTF-8 in a binary column": (
        *(("p.parquet", _table(prediction=pa.array([b"a", b"\xff\xfe"], pa.binary()))), None, []),
        *(3, ["prediction", "row 1", "UTF-8"]),
    ),
    "invalid UTF-8 in binary references": (
        *(("p.parquet", _table(references=pa.array([[b"a"], [b"a", b"\xc3"]], pa.list_(pa.binary())))), None, []),
        *(3, ["references", "row 1", "UTF-8"]),
    ),
    "invalid UTF-8 in JSON": (
        *(("p.json", b'[{"id": "s1", "turn_id": 1, "answer": "\xff"}]'), ("r.json", _coqa(_story())), []),
        *(3, ["p.json", "UTF-8"]),
    ),
    "invalid UTF-8 in JSON Lines": (
        *(("p.jsonl", b'{"prediction": "a", "references": "a"}\n{"prediction": "\xff", "references": "a"}\n'), None, []),
        *(3, ["p.jsonl", "line 2", "UTF-8"]),
    ),
    "invalid UTF-8 in CSV": (
        *(("p.csv", b"prediction,references\na,b\n\xff,b\n"), None, []),
        *(3, ["p.csv", "line 3", "UTF-8"]),
    ),
    "binary key that is no text": (
        *(("p.parquet", _table(question_id=pa.array([b"\xff", b"b"], pa.binary()), references=None)),),
        *(("r.parquet", pa.table({"question_id": ["q1"], "references": ["a"]})), [], 3, ["question_id", "row 0", "UTF-8"]),
    ),
    "answer before its context": (
        *(("p.json", {"1": "a"}), ("r.json", _squad((1, "Rhein", -1))), []),
        *(3, ["r.json", "question 1", "answer_start -1", "context"]),
    ),
    "answer past its context": (
        *(("p.json", {"1": "a"}), ("r.json", _squad(("q1", "Rhein", 400))), []),
        *(3, ["r.json", "'q1'", "answer_start 400", "18"]),
    ),
    "predicted span that runs backwards": (
        *(("p.json", {"q1": {"text": "a", "start": 9, "end": 3}}), ("r.json", _squad(("q1", "Rhein", 4))), []),
        *(3, ["p.json", "'q1'", "9", "3"]),
    ),
    "unknown recipe": (("p.parquet", _table()), None, ["--recipe", "sqaud"], 2, ["recipe", "'sqaud'", "Did you mean 'squad'"]),
    "unknown format": (
        ("p.parquet", _table()),
        None,
        ["--format", "parket"],
        2,
        ["format", "'parket'", "Did you mean 'parquet'"],
    ),
    "format that the file is not": (("p.parquet", _table()), None, ["--format", "csv"], 3, ["p.parquet", "UTF-8"]),
    "unknown suffix of the output": (("p.parquet", _table()), None, ["-o", "items.xlsx"], 2, ["-o", "items.xlsx", ".parquet"]),
    "output in no folder": (("p.parquet", _table()), None, ["-o", "no/such/items.csv"], 2, ["-o", "no folder", "no/such"]),
    "no official layout": (("p.parquet", _table()), None, ["--recipe", "cjrc", "--official"], 2, ["--official", "'cjrc'"]),
    "top_n of nothing": (("p.parquet", _table()), None, ["--top-n", "0"], 2, ["top_n", "0"]),
    "no thread": (("p.parquet", _table()), None, ["--threads", "0"], 2, ["threads", "0"]),
    "a check of less than nothing": (("p.parquet", _table()), None, ["--check", "-1"], 2, ["check", "-1"]),
    "a check of words": (("p.parquet", _table()), None, ["--check", "few"], 2, ["check", "few"]),
    "unknown option": (("p.parquet", _table()), None, ["--no-such", "squad"], 2, ["--no-such"]),
}


@pytest.mark.parametrize("name", list(BAD))
def test_bad_input(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.chdir(tmp_path)
    predictions, references, further, code, said = BAD[name]
    paths: list[Path] = []
    for given in (predictions or ("absent.json", None), references):
        if given is None:
            continue
        paths.append(tmp_path / given[0])
        if given[0] == "folder":
            paths[-1].mkdir()
        elif given[1] is not None:
            _write(paths[-1], given[1])
    recipe = [] if "--recipe" in further else ["--recipe", "squad" if paths[0].suffix != ".json" else "coqa"]
    got, out, err = run(*paths, *recipe, *further)
    assert (got, out) == (code, ""), err
    assert len(err) == 1
    assert err[0].startswith("fastscore: ")
    assert [s for s in said if s not in err[0]] == [], err[0]
    assert [p.name for p in tmp_path.iterdir() if p not in paths] == []


def test_no_recipe(run: Run) -> None:
    code, out, err = run(*COQA)
    assert (code, out, len(err)) == (2, "", 1)
    assert "--recipe" in err[0]


def test_the_row_named_is_the_row_of_the_file(run: Run, tmp_path: Path) -> None:
    """Rows are counted through all row groups of the file, not from the start of the batch."""
    texts = pa.array([b"fine"] * 5000 + [b"\xff"] + [b"fine"] * 9, pa.binary())
    table = pa.table({"prediction": texts, "references": ["fine"] * len(texts)})
    path = tmp_path / "p.parquet"
    pq.write_table(table, path, row_group_size=999)
    code, _, err = run(path, "--recipe", "squad", "--threads", 2)
    assert code == 3
    assert "row 5000" in err[-1]


def test_an_output_that_cannot_be_written_is_one_line(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any, **__: Any) -> None:
        raise OSError(28, "No space left on device", str(tmp_path / "items.parquet"))

    monkeypatch.setattr(pq, "write_table", full)
    code, _, err = run(*COQA, "--recipe", "coqa", "-o", tmp_path / "items.parquet", "-q")
    assert (code, len(err)) == (3, 1)
    assert "No space left" in err[0]
    assert list(tmp_path.iterdir()) == []

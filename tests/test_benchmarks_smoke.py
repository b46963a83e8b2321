"""The benchmarks run: every case prints its JSON lines, the generated data are what they say, tables and plots come out whole."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fastscore
from benchmarks import table as tables
from benchmarks.answers import LONG, SHORT, Shape, chunks, text_bytes, text_table
from benchmarks.catalogue import CASES, chosen
from benchmarks.lexicon import FORMS, Lexicon, english, german, mixed_script
from benchmarks.lines import FIELDS, Line, human
from benchmarks.list_cases import ranking_table, spans_table
from benchmarks.measure import Yardstick, timed_together
from benchmarks.plots import Series, chart
from fastscore import naive
from fastscore.recipes import find_recipe

ROOT = Path(__file__).resolve().parents[1]


def _run(*arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "benchmarks", *arguments]
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False, timeout=600)


def _refuse(constant: str) -> None:
    raise ValueError(f"not JSON: {constant}")


@pytest.fixture(scope="module")
def smoke() -> list[dict[str, Any]]:
    done = _run("--smoke", "--json")
    assert done.returncode == 0, done.stderr
    return [json.loads(text, parse_constant=_refuse) for text in done.stdout.splitlines()]


def test_smoke_prints_every_case(smoke: Sequence[dict[str, Any]]) -> None:
    printed = {line["case"] for line in smoke}
    missing = [n for n in CASES if not any(p == n or p.startswith((f"{n}/", f"{n}-")) for p in printed)]
    assert missing == []


def test_smoke_lines_have_all_fields(smoke: Sequence[dict[str, Any]]) -> None:
    for line in smoke:
        assert list(line)[: len(FIELDS)] == list(FIELDS)
        if "skipped" in line:
            assert line["skipped"]
            continue
        assert line["seconds"] > 0
        for name in ("rows_per_s", "mb_per_s", "vs_naive", "peak_rss_mb"):
            assert line[name] is None or line[name] > 0, (line["case"], name)


def test_smoke_figures_stand_where_they_belong(smoke: Sequence[dict[str, Any]]) -> None:
    by_case = {(line["case"], line["threads"]): line for line in smoke}
    for name in ("coqa-short", "coqa-distinct", "long-answers", "long-distinct-1ref", "german", "mixed-script"):
        line = by_case[name, 1]
        assert line["rows"] == CASES[name].smoke_rows
        assert all(line[field] is not None for field in FIELDS)
        assert line["rows_per_s"] == pytest.approx(line["rows"] / line["seconds"], rel=1e-4)
        assert line["vs_naive"] == pytest.approx(line["rows_per_s"] / line["naive_rows_per_s"], rel=1e-4)
    skipped = {line["case"] for line in smoke if "skipped" in line}
    absent = set() if hasattr(fastscore, "score_files") else {"stage"}
    assert {s for s in skipped if not s.startswith("peers-")} == {"first-score-cold", *absent}


def test_smoke_peers_agree(smoke: Sequence[dict[str, Any]]) -> None:
    """Peers that are installed score the same rows to the same means; set overlap alone may differ."""
    peers = [line for line in smoke if "agrees" in line]
    assert [line["case"] for line in peers if not line["agrees"] and line["case"] != "peers-text/polars-sets"] == []


def test_unknown_case_is_named() -> None:
    done = _run("--case", "coqa-shrot")
    assert done.returncode == 2
    assert "coqa-shrot" in done.stderr
    assert "coqa-short" in done.stderr


def test_patterns_choose_cases() -> None:
    assert [c.name for c in chosen(["worst-*"])] == [n for n in CASES if n.startswith("worst-")]
    assert [c.name for c in chosen([])] == list(CASES)


@pytest.mark.parametrize("lexicon", [english, german, mixed_script])
def test_text_is_seeded_and_of_any_length(lexicon: Any) -> None:
    shape = Shape(samples=16, chunk=64)
    whole = text_table(lexicon(), 100, shape)
    assert whole.num_rows == 100
    assert whole.equals(text_table(lexicon(), 100, shape))
    assert not whole.equals(text_table(lexicon(), 100, shape, seed=2))
    assert [t.num_rows for t in chunks(lexicon(), 100, shape)] == [64, 36]
    assert whole["references"][0].as_py() == whole["references"][15].as_py() != whole["references"][16].as_py()
    assert whole["question_id"].to_pylist() == [f"q{i // 16}" for i in range(100)]


def test_text_bytes_against_hand() -> None:
    table = text_table(english(), 50, Shape())
    rows = table.to_pylist()
    assert text_bytes(table) == sum(len("".join([r["prediction"], *r["references"]]).encode()) for r in rows)


def test_answers_match_as_often_as_said_against_naive() -> None:
    recipe = find_recipe("coqa-max")
    rows = text_table(english(), 3000, Shape()).to_pylist()
    scores = [naive.score_one(r["prediction"], r["references"], recipe) for r in rows]
    exact = np.mean([s["exact_match"] for s in scores])
    none = np.mean([s["f1"] == 0 for s in scores])
    assert 0.42 < exact < 0.55
    assert 0.24 < none < 0.34


@pytest.mark.parametrize(("lengths", "mean"), [(SHORT, 2.65), (LONG, 80.0)])
def test_lengths_are_about_what_they_say(lengths: Any, mean: float) -> None:
    drawn = lengths.draw(np.random.default_rng(1), 20_000)
    assert drawn.min() >= 1
    assert drawn.mean() == pytest.approx(mean, rel=0.05)


@pytest.mark.parametrize("lexicon", [english(), mixed_script()])
def test_forms_of_a_word(lexicon: Lexicon) -> None:
    texts = lexicon.texts.to_pylist()
    plain = texts[0::FORMS]
    assert texts[3::FORMS] == [w[:1].upper() + w[1:] + "." for w in plain]
    assert texts[4::FORMS] == [w + "," for w in plain]


def test_spans_and_rankings_are_well_formed() -> None:
    spans = spans_table(200).to_pylist()
    for row in spans:
        assert (len(row["prediction_spans"]), len(row["reference_spans"])) == (5, 3)
        assert all(s["start"] is None or s["start"] < s["end"] for s in row["prediction_spans"] + row["reference_spans"])
        scores = [s["score"] for s in row["prediction_spans"]]
        assert scores == sorted(scores, reverse=True)
    assert any(s["start"] is None for row in spans for s in row["prediction_spans"])
    ranked = ranking_table(200).to_pylist()
    found = np.mean([set(r["relevant_ids"]) <= set(r["retrieved_ids"]) for r in ranked])
    assert {len(set(r["retrieved_ids"])) for r in ranked} == {100}
    assert {len(set(r["relevant_ids"])) for r in ranked} == {3}
    assert 0.1 < found < 0.35


def test_yardstick_takes_each_slices_best(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter([0.0, 3.0, 0.0, 5.0, 0.0, 4.0, 0.0, 1.0])
    monkeypatch.setattr("benchmarks.measure.time.perf_counter", lambda: next(clock))
    side = Yardstick(lambda x: x, [[(1,), (2,)], [(3,), (4,)]])
    side.measure(turns=2)
    assert side.rows_per_s == 4 / (3.0 + 1.0)


def test_runs_are_timed_turn_by_turn() -> None:
    order: list[str] = []
    found = timed_together({"a": lambda: order.append("a"), "b": lambda: order.append("b")}, repeats=5, budget=0.0)
    assert order == ["a", "b"] * 3
    assert found["a"].repeats == 3
    assert 0 <= found["a"].best <= found["a"].median


def test_tables_hold_each_figure(smoke: Sequence[dict[str, Any]]) -> None:
    text = tables.markdown(smoke)
    for line in smoke:
        case, _, peer = line["case"].partition("/")
        if "skipped" in line:
            assert f"Not measured: {line['case']}" in text
        elif case in CASES and case not in ("import", "recipes", "score-one") and not case.startswith("peers-"):
            assert f"`{case}`" in text
        elif case.startswith("peers-") and peer != "fastscore":
            assert tables._PEERS[peer].format(version=line.get("version", "")) in text
    for block in text.split("\n\n"):
        if block.startswith("|"):
            assert len({row.count("|") for row in block.splitlines()}) == 1


def test_a_line_against_hand() -> None:
    line = Line.of("x", rows=1000, threads=2, seconds=0.5, text=3_000_000, naive=20.0, more={"median_seconds": 0.75})
    assert json.loads(line.as_json()) == {
        "case": "x",
        "rows": 1000,
        "threads": 2,
        "seconds": 0.5,
        "rows_per_s": 2000.0,
        "mb_per_s": 6.0,
        "vs_naive": 100.0,
        "peak_rss_mb": None,
        "median_seconds": 0.75,
        "naive_rows_per_s": 20.0,
    }
    assert "2,000 rows/s" in human(line.as_dict())
    assert human(Line("y", skipped="no such thing").as_dict()).endswith("skipped: no such thing")


@pytest.mark.parametrize("logarithmic", [True, False])
def test_chart_is_xml_with_each_point(logarithmic: bool) -> None:
    series = [Series("one", ((1.0, 2e6), (10.0, 3e6))), Series("two", ((1.0, 4.1e6),))]
    root = ET.fromstring(chart("Title", "rows", series, logarithmic=logarithmic))
    space = "{http://www.w3.org/2000/svg}"
    assert len(root.findall(f"{space}circle")) == 3
    heights = [float(c.attrib["cy"]) for c in root.findall(f"{space}circle")]
    assert heights[0] > heights[1] > heights[2] > 0
    assert {"Title", "rows", "one", "two", "0", "1M"} <= {t.text for t in root.findall(f"{space}text")}

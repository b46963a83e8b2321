"""Options of `fastscore score` beyond the scores: intervals, a histogram, own recipes, thresholds of no answer, configuration."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fastscore.cli import main
from fastscore.stats.intervals import interval
from tests.conftest import shared_path

DATA = Path(__file__).resolve().parents[1] / "data"
COQA = ["score", str(DATA / "coqa-predictions.json"), str(DATA / "coqa-references.json")]


def test_intervals_are_those_of_the_library(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    items = tmp_path / "items.parquet"
    assert main([*COQA, "-r", "coqa", "--ci", "--json", "-o", str(items), "--by", "domain"]) == 0
    shown = capsys.readouterr()
    summary = json.loads(shown.out)
    assert summary["ci"]["cluster"] == ["question_id"]
    import polars as pl

    right = interval(pl.read_parquet(items), "f1", "question_id", "clustered")
    assert summary["overall"]["f1_ci"] == [right.low, right.high]
    assert summary["overall"]["f1_se"] == right.standard_error
    assert summary["groups"]["domain"]["null"]["f1_ci"] is None
    assert "fewer than 30" in shown.err
    assert main([*COQA, "-r", "coqa", "--ci"]) == 0
    assert "±" in capsys.readouterr().out


def test_bootstrap_says_its_seed_and_gives_the_same_again(capsys: pytest.CaptureFixture[str]) -> None:
    got = []
    for seed in ("3", "3", "4"):
        assert main([*COQA, "-r", "coqa", "--bootstrap", "--seed", seed, "--json", "-q"]) == 0
        got.append(json.loads(capsys.readouterr().out))
    assert got[0] == got[1]
    assert got[0]["ci"]["seed"] == 3
    assert got[0]["overall"]["f1_ci"] != got[2]["overall"]["f1_ci"]


def test_histogram_counts_every_item(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*COQA, "-r", "coqa", "--plot", "-q"]) == 0
    bars = capsys.readouterr().out.split("distribution of F1")[1]
    counts = [int(line.split("│")[2]) for line in bars.splitlines() if line.startswith("│")]
    assert len(counts) == 12
    assert sum(counts) == 69


def test_own_recipes_and_configuration(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "fastscore.toml").write_text('[score]\nrecipe = "kind"\n[recipes.kind]\nbase = "coqa"\nunicode = "nfc"\n')
    assert main([*COQA, "--json", "-q"]) == 0
    assert json.loads(capsys.readouterr().out)["signature"].startswith("kind|norm:nfc,")
    monkeypatch.setenv("FASTSCORE_SCORE_RECIPE", "squad")
    assert main([*COQA, "--json", "-q"]) == 0
    assert json.loads(capsys.readouterr().out)["recipe"] == "squad"
    assert main([*COQA, "--json", "-q", "-r", "coqa-max"]) == 0
    assert json.loads(capsys.readouterr().out)["recipe"] == "coqa-max"
    assert main([*COQA, "-r", "knid"]) == 2
    assert "Did you mean 'kind'" in capsys.readouterr().err


@pytest.mark.parametrize(("name", "golden"), [("bert", "BERT"), ("nlnet", "nlnet")])
def test_thresholds_against_official(name: str, golden: str, capsys: pytest.CaptureFixture[str]) -> None:
    files = [shared_path(f"data/squad/v2.0-predictions-{name}.json"), shared_path("data/squad/dev-v2.0.json")]
    chances = shared_path(f"golden/squad2-{golden}.na_probs.json")
    assert main(["score", *map(str, files), "-r", "squad_v2", "--official", "--na-probs", str(chances), "-q"]) == 0
    got = json.loads(capsys.readouterr().out)
    expected = json.loads(shared_path(f"golden/squad2-{golden}.expected.json").read_text())
    expected = expected["with_na"]
    assert {k: v for k, v in got.items() if abs(v - expected.get(k, 1e9)) > 1e-9} == {}
    assert main(["score", *map(str, files), "-r", "squad_v2", "--na-probs", str(chances)]) == 2

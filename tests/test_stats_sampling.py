"""pass@k, best@k and maj@k: equal to the mean over all sets of k, and the published figures of a real sample."""

from __future__ import annotations

import json
import math
from collections import Counter
from fractions import Fraction
from itertools import combinations, pairwise
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from fastscore import naive
from fastscore.errors import DataError, UsageError
from fastscore.recipes import find_recipe
from fastscore.stats import best_at_k, interval, maj_at_k, pass_at_k, per_prompt, sampling_metrics
from tests.conftest import shared_path

scores = st.builds(lambda same, words: min(same, words) / words, st.integers(0, 9), st.integers(1, 12))
samples = st.lists(st.tuples(st.sampled_from(["a", "b", "c", "d", None]), scores, st.booleans()), min_size=1, max_size=8)


def majority(group: tuple[tuple[str | None, float], ...], points: dict[str, float]) -> float:
    votes = Counter(answer for answer, _ in group if answer is not None)
    most = [answer for answer in votes if votes[answer] == max(votes.values())]
    return math.fsum(points[answer] for answer in most) / len(most) if most else 0.0


@given(samples, st.data())
def test_all_three_against_brute_force(rows: list[tuple[str | None, float, bool]], data: st.DataObject) -> None:
    k = data.draw(st.integers(1, len(rows)))
    f1, right = [score for _, score, _ in rows], [float(hit) for _, _, hit in rows]
    sets = list(combinations(range(len(rows)), k))
    expected_pass = Fraction(sum(any(right[i] for i in chosen) for chosen in sets), len(sets))
    assert pass_at_k(len(rows), int(sum(right)), k) == float(expected_pass)
    expected_best = math.fsum(max(f1[i] for i in chosen) for chosen in sets) / len(sets)
    assert best_at_k(f1, k) == pytest.approx(expected_best, rel=1e-13)
    answers = [answer for answer, _, _ in rows]
    points = {a: math.fsum(s for b, s in zip(answers, f1, strict=True) if a == b) / answers.count(a) for a in set(answers) if a}
    pairs = list(zip(answers, f1, strict=True))
    expected_maj = math.fsum(majority(tuple(pairs[i] for i in chosen), points) for chosen in sets) / len(sets)
    assert maj_at_k(answers, f1, k) == pytest.approx(expected_maj, rel=1e-12, abs=1e-15)


@given(st.lists(scores, min_size=1, max_size=30), st.data())
def test_best_at_its_ends_and_between(values: list[float], data: st.DataObject) -> None:
    best = [float(best_at_k(values, k)) for k in range(1, len(values) + 1)]
    assert best[0] == pytest.approx(sum(values) / len(values))
    assert best[-1] == max(values)
    assert all(low <= high + 1e-15 for low, high in pairwise(best))
    assert best_at_k(data.draw(st.permutations(values)), len(values)) == best[-1]


@given(st.integers(1, 60).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n), st.integers(1, n))))
def test_best_of_zero_and_one_against_pass(case: tuple[int, int, int]) -> None:
    n, right, k = case
    assert best_at_k([1.0] * right + [0.0] * (n - right), k) == pytest.approx(float(pass_at_k(n, right, k)), rel=1e-12, abs=1e-15)


def test_many_samples_against_scipy() -> None:
    n, k = 400, 150
    right = np.array([0, 1, 7, 250, 251, 400])
    assert pass_at_k(n, right, k).tolist() == pytest.approx((1 - stats.hypergeom.pmf(0, n, right, k)).tolist(), abs=1e-12)
    # The greatest of k out of n uniform order statistics i/(n+1) is expected at k/(k+1).
    assert float(best_at_k(np.arange(1, n + 1) / (n + 1), k)) == pytest.approx(k / (k + 1), rel=1e-12)


def test_majority_against_hand() -> None:
    # a a b: sets of two are aa, ab, ab; a tie is shared, so a's right answer scores (1 + 1/2 + 1/2) / 3.
    assert maj_at_k(["a", "a", "b"], [1.0, 1.0, 0.0], 2) == pytest.approx(2 / 3)
    assert maj_at_k(["a", "a", "b"], [1.0, 1.0, 0.0], 3) == 1.0
    # Generations without an answer take up a place and never win.
    assert maj_at_k([None, None, "b"], [0.0, 0.0, 1.0], 3) == 1.0
    assert maj_at_k([None, None, "b"], [0.0, 0.0, 1.0], 1) == pytest.approx(1 / 3)
    assert maj_at_k(["a"] * 33 + ["b"] * 31, [1.0] * 33 + [0.0] * 31, 64) == 1.0


def rollouts(rows: list[tuple[Any, ...]]) -> pa.Table:
    names = ("prompt_id", "exact_match", "f1", "normal_form")
    return pa.table({name: [row[place] for row in rows] for place, name in enumerate(names)})


def test_prompts_with_too_few_samples_against_hand() -> None:
    rows = [("p", 1.0, 1.0, "x"), ("p", 0.0, 0.5, "y"), ("p", 0.0, 0.0, "y"), ("q", 1.0, 1.0, "x"), ("q", None, 0.0, "z")]
    rows.append(("r", None, None, None))
    options: dict[str, Any] = {"pass_at": [1, 2], "best_at": [2], "maj_at": [3]}
    found = per_prompt(rollouts(rows), **options)
    assert found.columns == ["prompt_id", "samples", "left_out", "pass@1", "pass@2", "best@2", "maj@3"]
    assert found.rows() == [
        ("p", 3, 0, 1 / 3, 2 / 3, pytest.approx(5 / 6), 0.0),
        ("q", 1, 1, 1.0, None, None, None),
        ("r", 0, 1, None, None, None, None),
    ]
    summary = sampling_metrics(rollouts(rows), **options)
    assert (summary.prompts, summary.samples, summary.samples_left_out) == (3, 6, 2)
    one, two = summary.metrics["pass@1"], summary.metrics["pass@2"]
    assert (one.n, one.left_out, one.mean) == (2, 1, pytest.approx(2 / 3))
    assert one.standard_error == pytest.approx(float(stats.sem([1 / 3, 1.0])))
    assert (two.n, two.left_out, two.clusters) == (1, 2, 1)
    json.dumps(summary.to_dict(), allow_nan=False)


rows_of_prompts = st.tuples(st.integers(0, 3), st.booleans().map(float), scores, st.sampled_from(["a", "b", None]))


@given(st.lists(rows_of_prompts, min_size=1, max_size=30), st.data())
def test_table_against_single_prompts(rows: list[tuple[int, float, float, str | None]], data: st.DataObject) -> None:
    table = rollouts(rows)
    found = per_prompt(table, pass_at=[2], best_at=[1, 3], maj_at=[2])
    assert per_prompt(rollouts(data.draw(st.permutations(rows))), pass_at=[2], best_at=[1, 3], maj_at=[2]).equals(found)
    for prompt in found.to_dicts():
        mine = [row for row in rows if row[0] == prompt["prompt_id"]]
        assert prompt["samples"] == len(mine)
        if len(mine) >= 2:
            em = [row[1] for row in mine]
            assert prompt["pass@2"] == pass_at_k(len(mine), int(sum(em)), 2)
            assert prompt["maj@2"] == pytest.approx(maj_at_k([row[3] for row in mine], em, 2))
        if len(mine) >= 3:
            assert prompt["best@3"] == best_at_k([row[2] for row in mine], 3)


def test_coarser_cluster_against_itself() -> None:
    rng = np.random.default_rng(0)
    frame = pl.DataFrame({"prompt_id": np.arange(400) // 4, "story": np.arange(400) // 40, "f1": rng.random(400)})
    found = sampling_metrics(frame, best_at=[2], cluster="story")
    prompts = per_prompt(frame, best_at=[2], keep="story")
    assert found.metrics["best@2"] == interval(prompts, "best@2", "story")
    assert found.metrics["best@2"].clusters == 10


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"pass_at": [0]}, UsageError, "at least 1"),
        ({"best_at": [True]}, UsageError, "at least 1"),
        ({"pass_at": [1], "exact": "f1"}, DataError, r"'f1' must be 0 or 1, got 0.5 in row 1"),
        ({"best_at": [1], "keep": "normal_form"}, DataError, r"'normal_form' has more than one value in prompt \('p',\)"),
        ({"best_at": [1], "prompt": "gap"}, DataError, "null in row 1"),
    ],
)
def test_refusals(options: dict[str, Any], error: type[Exception], words: str) -> None:
    table = rollouts([("p", 1.0, 1.0, "x"), ("p", 0.0, 0.5, "y")]).append_column("gap", pa.array(["p", None]))
    with pytest.raises(error, match=words):
        per_prompt(table, **options)


def test_single_prompt_refusals() -> None:
    with pytest.raises(UsageError, match="k = 3 for n = 2"):
        pass_at_k([5, 2], [1, 1], 3)
    with pytest.raises(UsageError, match="between 0 and n"):
        pass_at_k(5, 6, 1)
    with pytest.raises(DataError, match="NaN"):
        best_at_k([math.nan, 1.0], 1)
    with pytest.raises(UsageError, match="equal length"):
        maj_at_k(["a"], [1.0, 0.0], 1)


@pytest.mark.real
def test_triviaqa_samples_against_published() -> None:
    rows = []
    with shared_path("data/samples/triviaqa-500x20.jsonl").open(encoding="utf-8") as lines:
        for line in lines:
            record = json.loads(line)
            reference = naive_form(record["answer"])
            forms = [naive_form(text) for text in record["generations"]["text_cleaned"]]
            rows += [(record["id"], float(form == reference), float(form == reference), form) for form in forms]
    found = sampling_metrics(rollouts(rows), pass_at=[1, 5, 10, 20], best_at=[1, 5, 10, 20], maj_at=[1, 20])
    means = {name: one.mean for name, one in found.metrics.items()}
    assert (found.prompts, found.samples) == (500, 10_000)
    assert means["pass@1"] == pytest.approx(0.4333, abs=5e-5)
    assert means["pass@20"] == 0.814
    assert [means[f"best@{k}"] for k in (1, 5, 10, 20)] == pytest.approx([means[f"pass@{k}"] for k in (1, 5, 10, 20)])
    assert means["maj@1"] == pytest.approx(means["pass@1"])
    mean = interval(rollouts(rows), "exact_match", "prompt_id")
    assert mean.mean == pytest.approx(means["pass@1"])
    assert mean.standard_error == pytest.approx(found.metrics["pass@1"].standard_error)


def naive_form(text: str) -> str:
    return naive.normalize(text, find_recipe("squad"))

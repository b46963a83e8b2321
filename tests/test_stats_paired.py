"""Two systems on the same items: differences, randomisation, bootstrap, McNemar, corrections, and what a study can detect."""

from __future__ import annotations

import itertools
import json
import math
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats

from fastscore.errors import DataError, UsageError
from fastscore.stats import adjust, intervals, mean_interval, paired_difference, resampling
from fastscore.stats.paired import SCORE_A, SCORE_B, differences
from fastscore.stats.resampling import sign_flip_p

scores = st.builds(lambda same, words: min(same, words) / words, st.integers(0, 9), st.integers(1, 12))
pairs = st.lists(st.tuples(scores, scores, st.integers(0, 5)), min_size=2, max_size=40)


def columns(rows: list[tuple[float, float, int]]) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    a, b, codes = zip(*rows, strict=True)
    return np.array(a), np.array(b), np.array(codes)


def test_difference_against_hand() -> None:
    # Differences 1, 0, 1, -1 in clusters x, x, y, y: mean 1/4, residuals 1 - 1/2 and 0 - 1/2, SE = sqrt(2 * (1/4 + 1/4)) / 4.
    found = paired_difference(np.array([0, 1, 0, 1]), np.array([1, 1, 1, 0]), np.array(["x", "x", "y", "y"]))
    assert (found.mean_a, found.mean_b, found.interval.mean, found.interval.standard_error) == (0.5, 0.75, 0.25, 0.25)
    assert (found.wins, found.ties, found.losses, found.n, found.interval.clusters) == (2, 1, 1, 4, 2)
    # Of the cluster sums 1 and 0, one can be flipped, and that is as far from 0.
    assert found.randomization_p == 1.0
    assert found.t_p == pytest.approx(0.5)  # t = 1 of 1 degree of freedom
    assert found.mcnemar is not None
    assert (found.mcnemar.only_a, found.mcnemar.only_b, found.mcnemar.p_value) == (1, 2, 1.0)
    assert found.detectable == pytest.approx(0.25 * (math.tan(0.475 * math.pi) + math.tan(0.3 * math.pi)))


@given(pairs)
def test_difference_against_interval_of_differences(rows: list[tuple[float, float, int]]) -> None:
    a, b, codes = columns(rows)
    for clusters in (None, codes):
        found = paired_difference(a, b, clusters, draws=100)
        alone = mean_interval(b - a, clusters)
        assert found.interval.mean == pytest.approx(alone.mean, abs=1e-15)
        assert found.interval.clusters == alone.clusters
        if alone.standard_error is not None:
            assert found.interval.standard_error == pytest.approx(alone.standard_error, abs=1e-12)
        assert found.wins == sum(y > x for x, y in zip(a, b, strict=True))
        assert found.wins + found.ties + found.losses == found.n == len(rows)


def test_t_test_against_scipy() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.random((2, 60))
    assert paired_difference(a, b).t_p == pytest.approx(float(stats.ttest_rel(b, a).pvalue), rel=1e-9)


@given(pairs)
def test_swapped_systems_against_itself(rows: list[tuple[float, float, int]]) -> None:
    a, b, codes = columns(rows)
    one, two = paired_difference(a, b, codes, draws=100), paired_difference(b, a, codes, draws=100)
    assert (one.interval.mean or 0.0) == -(two.interval.mean or 0.0)
    assert (one.randomization_p, one.wins, one.mean_a) == (two.randomization_p, two.losses, two.mean_b)
    assert (one.t_p is None) == (two.t_p is None) == (one.interval.clusters < 2)
    assert one.t_p is None or one.t_p == pytest.approx(two.t_p, rel=1e-6, abs=1e-12)


@given(pairs, st.data())
def test_row_order_against_itself(rows: list[tuple[float, float, int]], data: st.DataObject) -> None:
    other = data.draw(st.permutations(rows))
    for place in (2, 3):
        assert paired_difference(*columns(rows)[:place], draws=100) == paired_difference(*columns(other)[:place], draws=100)


# ---- approximate randomisation


@given(st.lists(st.integers(-6, 6).map(lambda x: x / 7), min_size=1, max_size=9))
def test_randomisation_against_all_flips(sums: list[float]) -> None:
    seen = abs(math.fsum(sums))
    flips = [
        abs(math.fsum(s * x for s, x in zip(signs, sums, strict=True))) for signs in itertools.product((1, -1), repeat=len(sums))
    ]
    exact = sum(flip >= seen - 1e-9 for flip in flips) / len(flips)
    distinct, units = np.unique(np.array(sums), return_counts=True)
    found = sign_flip_p(distinct, units, seed=1, draws=4_000)
    assert found == pytest.approx(exact, abs=5 * math.sqrt(max(exact * (1 - exact), 1e-3) / 4_000))


@pytest.mark.parametrize("pools", [2048, 8])
def test_randomisation_is_uniform_under_the_null(pools: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resampling, "MAX_POOLS", pools)
    rng = np.random.default_rng(11)
    ones = np.ones(40, np.int64)
    found = [sign_flip_p(np.sort(rng.normal(0, rng.uniform(0.1, 1, 40))), ones, seed=seed, draws=999) for seed in range(600)]
    assert stats.kstest(found, "uniform").pvalue > 0.05


def test_randomisation_finds_a_difference_and_is_never_zero() -> None:
    rng = np.random.default_rng(3)
    a = rng.random(300)
    found = paired_difference(a, a + 0.1 + rng.normal(0, 0.05, 300), draws=1_000)
    assert found.randomization_p == 1 / 1_001
    assert found.bootstrap_p == pytest.approx(2 / 1_001)


def test_randomisation_memory_does_not_grow_with_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    sums, ones = np.sort(rng.normal(0.02, 1, 300)), np.ones(300, np.int64)
    whole = sign_flip_p(sums, ones, seed=0, draws=500)
    monkeypatch.setattr(resampling, "_NUMBERS_AT_ONCE", 1000)
    assert sign_flip_p(sums, ones, seed=0, draws=500) == whole


def test_equal_systems_against_hand() -> None:
    a = np.array([0.0, 1.0, 1.0])
    found = paired_difference(a, a)
    assert (found.randomization_p, found.bootstrap_p, found.t_p) == (1.0, 1.0, 1.0)
    assert (found.interval.low, found.interval.high, found.detectable, found.ties) == (0.0, 0.0, 0.0, 3)
    assert found.mcnemar is not None
    assert found.mcnemar.p_value == 1.0


# ---- McNemar, corrections, power


def test_mcnemar_against_scipy() -> None:
    a, b = np.repeat([1, 0, 1, 0], [40, 9, 3, 50]), np.repeat([1, 1, 0, 0], [40, 9, 3, 50])
    found = paired_difference(a, b, draws=100).mcnemar
    assert found is not None
    assert (found.only_a, found.only_b) == (3, 9)
    assert found.p_value == pytest.approx(2 * float(stats.binom.cdf(3, 12, 0.5)))
    assert paired_difference(a, b * 0.5, draws=100).mcnemar is None


def test_holm_and_bh_against_hand() -> None:
    # Holm: 0.01 * 4, 0.02 * 3, then 0.03 * 2 = 0.06 and 0.04 * 1 raised to 0.06.
    assert adjust([0.04, 0.01, None, 0.03, 0.02]) == pytest.approx([0.06, 0.04, None, 0.06, 0.06])
    # BH: 0.04 * 4/4, then 0.03 * 4/3 = 0.02 * 4/2 = 0.01 * 4/1 = 0.04.
    assert adjust([0.04, 0.01, None, 0.03, 0.02], "bh") == pytest.approx([0.04, 0.04, None, 0.04, 0.04])
    assert adjust([]) == []
    with pytest.raises(UsageError, match="'holm' and 'bh'"):
        adjust([0.5], "bonferroni")  # type: ignore[arg-type]


@given(st.lists(st.floats(0, 1), min_size=1, max_size=20))
def test_bh_against_scipy(p_values: list[float]) -> None:
    assert adjust(p_values, "bh") == pytest.approx(stats.false_discovery_control(p_values).tolist())


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_holm_against_its_definition(p_values: list[float]) -> None:
    adjusted = adjust(p_values)
    for alpha in (0.01, 0.05, 0.5):
        ranked = sorted(range(len(p_values)), key=lambda i: p_values[i])
        rejected: set[int] = set()
        for rank, i in enumerate(ranked):
            if min(1.0, p_values[i] * (len(ranked) - rank)) > alpha:
                break
            rejected.add(i)
        assert {i for i, p in enumerate(adjusted) if p is not None and p <= alpha} == rejected


def test_detectable_difference_is_found_four_times_in_five() -> None:
    rng = np.random.default_rng(8)
    noise = rng.normal(0, 0.3, (2_000, 50))
    detectable = paired_difference(np.zeros(5_000), rng.normal(0, 0.3, 5_000), draws=100).detectable
    assert detectable is not None
    shift = detectable * 10  # of 50 items instead of 5,000
    frame = pl.DataFrame({"d": (noise + shift).ravel(), "study": np.repeat(np.arange(2_000), 50)})
    found = pl.DataFrame(pl.from_arrow(intervals(frame, "d", "study")))
    assert found.select((pl.col("low") > 0).mean()).item() == pytest.approx(0.8, abs=0.04)


# ---- tables


def test_groups_and_nulls_against_hand() -> None:
    rows = {
        SCORE_A: [1.0, None, 0.0, 0.0, None],
        SCORE_B: [0.0, 1.0, 1.0, None, None],
        "domain": ["x", "x", "y", "y", "z"],
    }
    groups, found = differences(pl.DataFrame(rows), "f1", by=["domain"], draws=100)
    assert groups["domain"].to_list() == ["x", "y", "z"]
    assert [(d.n, d.left_out, d.left_out_a, d.left_out_b) for d in found] == [(1, 1, 1, 0), (1, 1, 0, 1), (0, 1, 1, 1)]
    assert [(d.mean_a, d.mean_b, d.interval.mean) for d in found] == [(1.0, 0.0, -1.0), (0.0, 1.0, 1.0), (None, None, None)]
    assert [(d.wins, d.ties, d.losses) for d in found] == [(0, 0, 1), (1, 0, 0), (0, 0, 0)]
    last = found[2]
    assert (last.randomization_p, last.bootstrap_p, last.t_p, last.mcnemar, last.detectable) == (None,) * 5
    json.dumps([d.to_dict() for d in found], allow_nan=False)
    assert differences(pl.DataFrame(rows).clear(), "f1", by=["domain"], draws=100)[1] == []
    assert differences(pl.DataFrame(rows).clear(), "f1", draws=100)[1][0].n == 0


def test_refusals() -> None:
    with pytest.raises(UsageError, match="equal length"):
        paired_difference(np.zeros(2), np.zeros(3))
    with pytest.raises(DataError, match="finite"):
        paired_difference(np.zeros(2), np.array([0.0, math.nan]))
    with pytest.raises(UsageError, match="power"):
        paired_difference(np.zeros(2), np.zeros(2), power=80)


def test_groups_do_not_depend_on_each_other() -> None:
    rng = np.random.default_rng(4)
    frame = pl.DataFrame({SCORE_A: rng.random(90), SCORE_B: rng.random(90), "domain": np.repeat(["x", "y", "z"], 30)})
    groups, found = differences(frame, "f1", by=["domain"], draws=200)
    for name, one in zip(groups["domain"], found, strict=True):
        assert differences(frame.filter(pl.col("domain") == name), "f1", draws=200)[1][0] == one
    assert pa.array([d.n for d in found]).to_pylist() == [30, 30, 30]

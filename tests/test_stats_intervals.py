"""Error bars: exact sums, the clustered formula, Wilson, the bootstrap by counts, groups, shards and refusals."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from fastscore.errors import ColumnTypeError, DataError, UnknownNameError, UsageError
from fastscore.stats import Interval, Units, interval, intervals, mean_interval, resampling
from fastscore.stats.exact import carried, rounded, split

# What F1 values are: ratios of small integers, so sums of them are never exact in float64.
scores = st.builds(lambda same, words: min(same, words) / words, st.integers(0, 9), st.integers(1, 40))


def table_of(rows: list[tuple[Any, ...]], *names: str) -> pa.Table:
    return pa.table({name: [row[place] for row in rows] for place, name in enumerate(names)})


# ---- exact sums


@given(st.lists(st.one_of(scores, scores.map(lambda x: -x), st.floats(2.0**-40, 1e6)), max_size=70))
def test_rounded_sum_against_fsum(values: list[float]) -> None:
    limbs = split(np.array(values, np.float64)).sum(axis=0, keepdims=True)
    assert rounded(limbs)[0] == math.fsum(values)


@given(st.lists(st.integers(-(1 << 95), 1 << 95), min_size=1, max_size=5))
def test_rounding_of_limbs_against_fractions(numbers: list[int]) -> None:
    rows = np.array([[n >> 72, (n >> 48) & 0xFFFFFF, (n >> 24) & 0xFFFFFF, n & 0xFFFFFF] for n in numbers], np.int64)
    assert rounded(rows).tolist() == [float(Fraction(n, 1 << 96)) for n in numbers]
    uncarried = rows + np.array([[0, -3, 5 << 24, 0]])
    uncarried[:, 1] -= 2
    assert (carried(uncarried) == carried(rows)).all()


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_no_nan_or_infinity_goes_in(bad: float) -> None:
    with pytest.raises(DataError, match="place 1"):
        split(np.array([0.5, bad]))
    with pytest.raises(DataError, match=r"'f1' holds .* in row 1"):
        interval(pa.table({"f1": [0.5, bad]}), "f1")


def test_a_sum_that_would_leave_the_limbs_is_refused() -> None:
    with pytest.raises(DataError, match="Rescale"):
        split(np.full(4, 2.0**37))


# ---- the clustered formula


def test_clustered_interval_against_hand() -> None:
    # Mean 3/4; cluster residuals 1 - 2 * 3/4 = -1/2 and 2 - 2 * 3/4 = 1/2; SE = sqrt(2/1 * (1/4 + 1/4)) / 4 = 1/4;
    # t of 1 degree of freedom at 0.975 is tan(0.475 pi).
    found = interval(pa.table({"f1": [1.0, 0.0, 1.0, 1.0], "story": ["a", "a", "b", "b"]}), "f1", "story")
    reach = math.tan(0.475 * math.pi) / 4
    assert (found.n, found.clusters, found.mean, found.standard_error) == (4, 2, 0.75, 0.25)
    assert found.low == pytest.approx(0.75 - reach, rel=1e-12)
    assert found.high == pytest.approx(0.75 + reach, rel=1e-12)
    assert found.cluster == ("story",)


@given(st.lists(scores, min_size=2, max_size=50))
def test_unclustered_against_scipy(values: list[float]) -> None:
    found = mean_interval(np.array(values))
    assert found.mean == math.fsum(values) / len(values)
    assert found.standard_error == pytest.approx(float(stats.sem(values)), rel=1e-9, abs=1e-15)
    if found.standard_error:
        low, high = stats.t.interval(0.95, len(values) - 1, loc=found.mean, scale=found.standard_error)
        assert (found.low, found.high) == (pytest.approx(low, rel=1e-9), pytest.approx(high, rel=1e-9))


@given(st.lists(st.tuples(scores, st.integers(0, 6)), min_size=2, max_size=60))
def test_clustered_against_naive(rows: list[tuple[float, int]]) -> None:
    values, codes = zip(*rows, strict=True)
    n, clusters, mean = len(rows), len(set(codes)), math.fsum(values) / len(rows)
    found = mean_interval(np.array(values), np.array(codes))
    assert (found.n, found.clusters, found.mean) == (n, clusters, mean)
    if clusters == 1:
        assert (found.standard_error, found.low, found.high) == (None, None, None)
        return
    # Equation (4) of Miller 2024: every pair of items of one cluster, and itself; then the correction.
    pairs = math.fsum((x - mean) * (y - mean) for x, c in rows for y, d in rows if c == d)
    expected = math.sqrt(max(0.0, pairs) * clusters / (clusters - 1)) / n
    assert found.standard_error == pytest.approx(expected, rel=1e-6, abs=1e-9)


def simulated(kind: str, datasets: int, clusters: int, size: int) -> pl.DataFrame:
    """Data sets of mean 1/2 whose items correlate by 0.3 within a cluster."""
    rng = np.random.default_rng(20241101)
    shape = (datasets, clusters)
    if kind == "normal":
        values = 0.5 + 0.1 * (
            math.sqrt(0.3) * rng.standard_normal((*shape, 1)) + math.sqrt(0.7) * rng.standard_normal((*shape, size))
        )
    else:
        chance = rng.beta(7 / 6, 7 / 6, (*shape, 1))  # 1 / (alpha + beta + 1) = 0.3
        values = (rng.random((*shape, size)) < chance).astype(float)
    place = np.arange(datasets * clusters * size) // size
    return pl.DataFrame({"f1": values.ravel(), "dataset": place // clusters, "story": place})


@pytest.mark.parametrize("kind", ["normal", "beta-binomial"])
def test_coverage_by_simulation(kind: str) -> None:
    frame = simulated(kind, datasets=2_000, clusters=60, size=8)
    covered = {}
    for cluster in ("story", None):
        found = pl.DataFrame(pl.from_arrow(intervals(frame, "f1", "dataset", cluster)))
        covered[cluster] = found.select(((pl.col("low") <= 0.5) & (pl.col("high") >= 0.5)).mean()).item()
    assert 0.935 <= covered["story"] <= 0.965
    assert covered[None] < 0.85


# ---- Wilson


@given(st.integers(1, 400).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n))), st.sampled_from([0.8, 0.95, 0.99]))
def test_wilson_against_scipy(counts: tuple[int, int], level: float) -> None:
    n, right = counts
    found = mean_interval(np.repeat([1, 0], [right, n - right]), None, "wilson", level=level)
    expected = stats.binomtest(right, n).proportion_ci(level, "wilson")
    assert (found.low, found.high) == (pytest.approx(expected.low, abs=1e-12), pytest.approx(expected.high, abs=1e-12))
    assert found.standard_error == pytest.approx(math.sqrt(right / n * (1 - right / n) / n))


def test_wilson_knows_no_clusters_and_no_fractions() -> None:
    table = pa.table({"em": [1.0, 0.0], "f1": [1.0, 0.5], "story": [1, 2]})
    with pytest.raises(UsageError, match="'em' has clusters"):
        interval(table, "em", "story", "wilson")
    with pytest.raises(UsageError, match="'f1' has values between"):
        interval(table, "f1", None, "wilson")


# ---- the bootstrap


def test_bootstrap_against_hand() -> None:
    # Of two items 0 and 1 a draw's mean is 0, 1/2 or 1 with chances 1/4, 1/2, 1/4: standard deviation sqrt(1/8).
    found = mean_interval(np.array([0.0, 1.0]), None, "bootstrap", seed=3)
    assert (found.low, found.high) == (0.0, 1.0)
    assert found.standard_error == pytest.approx(math.sqrt(1 / 8), rel=0.02)
    assert (found.seed, found.draws) == (3, 10_000)


@pytest.mark.parametrize("pools", [2048, 16])
def test_bootstrap_against_naive(pools: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resampling, "MAX_POOLS", pools)
    rng = np.random.default_rng(5)
    sizes = rng.integers(1, 30, 90)
    codes = np.repeat(np.arange(90), sizes)
    values = np.clip(rng.normal(0.4, 0.2, codes.size) + np.repeat(rng.normal(0, 0.2, 90) + sizes / 100, sizes), 0, 1)
    found = mean_interval(values, codes, "bootstrap")
    sums = np.bincount(codes, values)
    picked = rng.integers(0, 90, (10_000, 90))
    means = sums[picked].sum(axis=1) / sizes[picked].sum(axis=1)
    low, high = np.quantile(means, [0.025, 0.975])
    assert found.standard_error == pytest.approx(means.std(), rel=0.03)
    assert found.low == pytest.approx(low, abs=0.15 * means.std())
    assert found.high == pytest.approx(high, abs=0.15 * means.std())


def test_bootstrap_memory_does_not_grow_with_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    values = np.arange(300) / 300
    whole = mean_interval(values, None, "bootstrap", draws=500)
    monkeypatch.setattr(resampling, "_NUMBERS_AT_ONCE", 1000)
    assert mean_interval(values, None, "bootstrap", draws=500) == whole


# ---- the same bits whatever the order, the shards, the layout


@given(st.lists(st.tuples(scores, st.integers(0, 5), st.integers(0, 2)), min_size=1, max_size=60), st.data())
def test_order_and_shards_against_itself(rows: list[tuple[float, int, int]], data: st.DataObject) -> None:
    table = table_of(rows, "f1", "story", "domain")
    other = table_of(data.draw(st.permutations(rows)), "f1", "story", "domain")
    cut = data.draw(st.integers(0, len(rows)))
    for cluster in (None, "story"):
        whole = interval(table, "f1", cluster, "bootstrap", draws=100)
        assert interval(other, "f1", cluster, "bootstrap", draws=100) == whole
        parts = [Units.from_table(part, "f1", cluster=cluster) for part in (other.slice(cut), other.slice(0, cut))]
        assert interval(parts[0].merge(parts[1]), "f1", method="bootstrap", draws=100) == whole
        grouped = intervals(table, "f1", "domain", cluster, "bootstrap", draws=100)
        assert intervals(other, "f1", "domain", cluster, "bootstrap", draws=100).equals(grouped)
        for row in grouped.to_pylist():
            alone = interval(table.filter(pc.equal(table["domain"], row["domain"])), "f1", cluster, "bootstrap", draws=100)
            assert {name: row[name] for name in ("n", "clusters", "mean", "standard_error", "low", "high", "warning")} == {
                name: getattr(alone, name) for name in ("n", "clusters", "mean", "standard_error", "low", "high", "warning")
            }


def test_layouts_against_itself() -> None:
    values, story = [0.25, 0.5, 1.0, None], ["a", "b", "a", "b"]
    expected = interval(pa.table({"f1": values, "story": story}), "f1", "story")
    layouts = [pa.large_string(), pa.string_view(), pa.dictionary(pa.int8(), pa.string())]
    for kind in layouts:
        assert interval(pa.table({"f1": values, "story": pa.array(story).cast(kind)}), "f1", "story") == expected
    chunked = pa.concat_tables(
        [
            pa.table({"f1": pa.array(values[:1], pa.float32()), "story": story[:1]}).cast(
                pa.schema([("f1", pa.float64()), ("story", pa.string())])
            ),
            pa.table({"f1": values[1:], "story": story[1:]}),
        ]
    )
    assert interval(chunked, "f1", "story") == expected
    assert interval(pl.DataFrame({"f1": values, "story": story}), "f1", "story") == expected
    assert interval(pa.record_batch({"f1": values, "story": story}), "f1", "story") == expected


def test_parts_of_different_kinds_do_not_merge() -> None:
    table = pa.table({"f1": [1.0], "em": [1.0], "story": [1]})
    with pytest.raises(UsageError, match="parts to merge"):
        Units.from_table(table, "f1").merge(Units.from_table(table, "em"))
    with pytest.raises(UsageError, match="without groups"):
        interval(Units.from_table(table, "f1", by="story"), "f1")


# ---- nothing to say, little to say


@pytest.mark.parametrize("values", [[], [None, None]])
@pytest.mark.parametrize("method", ["clustered", "wilson", "bootstrap"])
def test_no_score_gives_none(values: list[None], method: Any) -> None:
    found = interval(pa.table({"f1": pa.array(values, pa.float64())}), "f1", None, method)
    assert (found.n, found.left_out, found.clusters) == (0, len(values), 0)
    assert (found.mean, found.standard_error, found.low, found.high, found.warning) == (None,) * 5
    json.dumps(found.to_dict(), allow_nan=False)


def test_null_scores_are_left_out_and_counted() -> None:
    table = pa.table({"f1": [1.0, None, 0.0, None], "story": ["a", "a", "b", None]})
    found = interval(table, "f1", "story")
    assert (found.n, found.left_out, found.clusters, found.mean) == (2, 2, 2, 0.5)


def test_equal_scores_have_no_spread() -> None:
    found = mean_interval(np.full(7, 0.1))
    assert (found.standard_error, found.low, found.high) == (0.0, found.mean, found.mean)


@pytest.mark.parametrize(("rows", "words"), [(1, "only 1 of rows"), (29, "only 29 rows, fewer than 30"), (30, None)])
def test_few_clusters_warn(rows: int, words: str | None) -> None:
    warning = mean_interval(np.arange(rows) / rows).warning
    assert warning is None if words is None else warning is not None and words in warning
    clustered = mean_interval(np.arange(60) / 60, np.arange(60) % rows).warning
    assert (clustered is None) == (words is None)


def test_groups_against_hand() -> None:
    table = pa.table({"f1": [1.0, 0.5, None, None, 0.0], "em": [1, 0, 0, 0, 1], "domain": ["b", "b", "a", "a", None]})
    found = intervals(table, ["f1", "em"], "domain").to_pylist()
    assert [(row["metric"], row["domain"], row["n"], row["left_out"], row["mean"]) for row in found] == [
        ("f1", None, 1, 0, 0.0),
        ("f1", "a", 0, 2, None),
        ("f1", "b", 2, 0, 0.75),
        ("em", None, 1, 0, 1.0),
        ("em", "a", 2, 0, 0.0),
        ("em", "b", 2, 0, 0.5),
    ]
    assert [row["standard_error"] for row in found[:3]] == [None, None, 0.25]
    assert intervals(table.slice(0, 0), "f1", "domain").num_rows == 0
    wilson = intervals(table, "em", ["domain"], None, "wilson")
    assert wilson.column("warning").null_count == 3


# ---- refusals


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"metric": "F1"}, UnknownNameError, "no column 'F1'. Did you mean 'f1'"),
        ({"metric": "story"}, ColumnTypeError, "'story' must be a column of numbers"),
        ({"cluster": "weight"}, ColumnTypeError, "'weight' must be text, an integer or a date"),
        ({"cluster": "gap"}, DataError, r"'gap' is null in row 1.*1 rows in all"),
        ({"cluster": "references"}, ColumnTypeError, "'references' is to tell rows apart"),
        ({"cluster": "f1"}, UsageError, "metric and a group or cluster at once"),
        ({"method": "jackknife"}, UsageError, "'clustered', 'wilson', 'bootstrap'"),
        ({"level": 95}, UsageError, "between 0 and 1"),
        ({"seed": -1}, UsageError, "seed"),
        ({"draws": 10}, UsageError, "draws"),
    ],
)
def test_refusals(options: dict[str, Any], error: type[Exception], words: str) -> None:
    columns = {"f1": [1.0, 0.5], "story": ["a", "b"], "weight": [1.0, 2.0], "gap": ["a", None], "references": [["x"], ["y"]]}
    with pytest.raises(error, match=words):
        interval(pa.table(columns), **{"metric": "f1", **options})


def test_arrays_of_different_length_are_refused() -> None:
    with pytest.raises(UsageError, match="equal length"):
        mean_interval(np.zeros(3), np.zeros(2, int))


def test_groups_may_not_hide_a_column_of_the_result() -> None:
    with pytest.raises(UsageError, match="called n"):
        intervals(pa.table({"f1": [1.0], "n": [1]}), "f1", "n")


def test_interval_is_frozen_and_strict_json() -> None:
    found = mean_interval(np.array([0.0, 1.0]), np.array([1, 2]), "bootstrap")
    assert json.loads(json.dumps(found.to_dict(), allow_nan=False))["cluster"] == ["clusters"]
    assert isinstance(found, Interval)
    with pytest.raises(AttributeError):
        found.mean = 1.0  # type: ignore[misc]


def test_scipy_is_not_imported_before_a_quantile_is_needed() -> None:
    code = "import sys, fastscore.stats, fastscore.compare; sys.exit(any(m.startswith('scipy') for m in sys.modules))"
    subprocess.run([sys.executable, "-c", code], check=True, cwd=Path(__file__).resolve().parents[1])

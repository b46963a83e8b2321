"""Group statistics and advantages: values computed by hand, twins in plain Python, and what no formula may do."""

from __future__ import annotations

import math
import random
import statistics
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastscore.errors import ColumnTypeError, DataError, UnknownNameError, UsageError
from fastscore.rewards.groups import ADVANTAGES, FRAMEWORKS, STATISTICS, add_groups, advantage

#: Four rollouts, one of them right: mean 1/4, std (n - 1) 1/2.
ONE_OF_FOUR = [1.0, 0.0, 0.0, 0.0]


def advantages(rewards: list[float | None], kind: str, framework: str, **options: Any) -> list[float | None]:
    frame = pl.DataFrame({"prompt_id": ["q"] * len(rewards), "reward": pl.Series(rewards, dtype=pl.Float64)})
    return add_groups(frame, advantage_kind=kind, framework=framework, **options)["advantage"].to_list()


@pytest.mark.parametrize(
    ("kind", "framework", "options", "right", "wrong"),
    [
        ("grpo", "trl", {}, 0.75 / 0.5001, -0.25 / 0.5001),
        ("grpo", "verl", {}, 0.75 / 0.500001, -0.25 / 0.500001),
        # the others of the right one are all 0, so nothing divides; those of a wrong one are 1, 0, 0: mean 1/3, std sqrt(1/3)
        ("grpo", "nemo_rl", {}, 1.0, (-1 / 3) / (math.sqrt(1 / 3) + 1e-6)),
        ("grpo", "nemo_rl", {"leave_one_out": False}, 0.75 / 0.500001, -0.25 / 0.500001),
        ("grpo", "trl", {"ddof": 0}, 0.75 / (math.sqrt(3) / 4 + 1e-4), -0.25 / (math.sqrt(3) / 4 + 1e-4)),
        ("grpo", "trl", {"epsilon": 0.5}, 0.75, -0.25),
        ("dr_grpo", "trl", {}, 0.75, -0.25),
        ("dr_grpo", "verl", {}, 0.75, -0.25),
        ("rloo", "trl", {}, 1.0, -1 / 3),
        ("rloo", "verl", {}, 1.0, -1 / 3),
        ("rloo", "nemo_rl", {}, 1.0, -1 / 3),
        ("maxrl", "verl", {}, 0.75 / 0.250001, -0.25 / 0.250001),
    ],
)
def test_advantages_against_values_by_hand(
    kind: str, framework: str, options: dict[str, Any], right: float, wrong: float
) -> None:
    found = advantages(ONE_OF_FOUR, kind, framework, **options)
    assert found == pytest.approx([right, wrong, wrong, wrong], rel=1e-14)


@pytest.mark.parametrize(
    ("kind", "framework", "expected"),
    [
        *((kind, framework, 0.0) for kind in ADVANTAGES for framework in ("trl", "nemo_rl")),
        ("grpo", "verl", 0.5 / (1 + 1e-6)),
        ("dr_grpo", "verl", 0.5),
        ("rloo", "verl", 0.5),
        ("maxrl", "verl", 0.5 / 1e-6),
    ],
)
def test_a_group_of_one_row_is_what_the_framework_makes_of_it(kind: str, framework: str, expected: float) -> None:
    assert advantages([0.5], kind, framework) == [expected]
    assert advantages([None, 0.5, None], kind, framework) == [None, expected, None]


@pytest.mark.parametrize("framework", FRAMEWORKS)
@pytest.mark.parametrize("kind", ADVANTAGES)
@pytest.mark.parametrize("value", [0.0, 1.0, 0.1, 1 / 3, -0.7])
def test_a_group_of_one_value_has_no_advantage(kind: str, framework: str, value: float) -> None:
    assert advantages([value] * 7, kind, framework) == [0.0] * 7


def test_nemo_rl_with_two_rows_does_not_divide() -> None:
    """One other row has no standard deviation: NeMo-RL turns its NaN into 0, and 0 does not divide."""
    assert advantages([1.0, 0.25], "grpo", "nemo_rl") == [0.75, -0.75]


def test_statistics_of_groups_by_hand() -> None:
    frame = pl.DataFrame(
        {
            "prompt_id": ["b", "a", "b", "a", "b", "c", "d", "a"],
            "reward": [0.5, 1.0, 0.5, 0.0, None, None, 0.2, 1.0],
        }
    )
    out = add_groups(frame)
    assert out.columns == ["prompt_id", "reward", "advantage", *STATISTICS]
    rows = out.select("prompt_id", *STATISTICS).rows()
    a = (3, pytest.approx(2 / 3), pytest.approx(math.sqrt(1 / 3)), 1.0, False)
    b = (2, 0.5, 0.0, 0.5, True)
    assert rows == [
        ("b", *b, 1),
        ("a", *a, 1),
        ("b", *b, 1),
        ("a", *a, 3),
        ("b", *b, None),
        ("c", 0, None, None, None, None, None),
        ("d", 1, 0.2, None, 0.2, True, 1),
        ("a", *a, 1),
    ]


def test_all_equal_is_decided_on_the_rewards_and_not_on_a_rounded_deviation() -> None:
    """Two neighbours in float64 differ, though their standard deviation may round to 0; ten times 0.1 do not."""
    near = math.nextafter(0.1, 1.0)
    frame = pl.DataFrame({"prompt_id": [0] * 10 + [1] * 2, "reward": [0.1] * 10 + [0.1, near]})
    assert add_groups(frame)["group_all_equal"].to_list() == [True] * 10 + [False] * 2
    assert add_groups(frame)["group_std"][0] == 0.0


# ---- always as plain Python


def twin(rewards: list[float], kind: str, framework: str) -> list[float]:
    """The formulas in plain Python, row by row."""
    epsilon = 1e-4 if framework == "trl" else 1e-6
    n = len(rewards)
    if n == 0:
        return []
    if n == 1:
        alone = {"grpo": rewards[0] / (1 + epsilon), "maxrl": rewards[0] / epsilon}.get(kind, rewards[0])
        return [alone if framework == "verl" else 0.0]
    mean = math.fsum(rewards) / n
    out = []
    for i, r in enumerate(rewards):
        others = rewards[:i] + rewards[i + 1 :]
        if len(set(rewards)) == 1:
            out.append(0.0)
        elif kind == "dr_grpo":
            out.append(r - mean)
        elif kind == "rloo":
            out.append(r - math.fsum(others) / (n - 1))
        elif kind == "maxrl":
            out.append((r - mean) / (mean + epsilon))
        elif framework == "nemo_rl":
            std = statistics.stdev(others) if n > 2 and len(set(others)) > 1 else 0.0
            away = r - math.fsum(others) / (n - 1)
            out.append(away / (std + epsilon) if std else away)
        else:
            out.append((r - mean) / (statistics.stdev(rewards) + epsilon))
    return out


REWARDS = st.one_of(st.none(), st.sampled_from([0.0, 1.0, 0.1, 1 / 3, 2 / 3]), st.integers(0, 40).map(lambda n: n / 40))
ROWS = st.lists(st.tuples(st.sampled_from("abcd"), REWARDS), max_size=40)


@given(ROWS, st.sampled_from(ADVANTAGES), st.sampled_from(FRAMEWORKS))
def test_advantages_against_plain_python(rows: list[tuple[str, float | None]], kind: str, framework: str) -> None:
    frame = pl.DataFrame(rows, schema={"prompt_id": pl.String, "reward": pl.Float64}, orient="row")
    found = add_groups(frame, advantage_kind=kind, framework=framework)
    for prompt in {p for p, _ in rows}:
        mine = found.filter(pl.col("prompt_id") == prompt)
        assert mine.filter(pl.col("reward").is_null())["advantage"].null_count() == mine["reward"].null_count()
        scored = mine.filter(pl.col("reward").is_not_null())
        wanted = twin(scored["reward"].to_list(), kind, framework)
        assert scored["advantage"].to_list() == pytest.approx(wanted, rel=1e-9, abs=1e-9)


@given(ROWS, st.sampled_from(ADVANTAGES), st.sampled_from(FRAMEWORKS), st.integers(0, 99))
def test_row_order_changes_no_bit(rows: list[tuple[str, float | None]], kind: str, framework: str, seed: int) -> None:
    schema = {"prompt_id": pl.String, "reward": pl.Float64}
    frame = pl.DataFrame(rows, schema=schema, orient="row").with_row_index("row")
    shuffled = frame.sample(fraction=1.0, shuffle=True, seed=seed)
    options: dict[str, Any] = {"advantage_kind": kind, "framework": framework}
    assert add_groups(shuffled, **options).sort("row").equals(add_groups(frame, **options), null_equal=True)
    assert add_groups(frame.lazy(), **options).collect().equals(add_groups(frame, **options), null_equal=True)


@pytest.mark.parametrize("kind", ADVANTAGES)
@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_what_is_no_number_never_gets_through(kind: str, framework: str) -> None:
    values = [float("nan"), float("inf"), None, 1.0, 0.0, 1.0]
    lazy = pl.LazyFrame({"prompt_id": [1] * 6, "reward": values})
    out = add_groups(lazy, advantage_kind=kind, framework=framework).collect()
    assert out["advantage"].null_count() == 3
    assert out["advantage"].is_nan().sum() == 0
    assert out["group_size"].to_list() == [3] * 6
    with pytest.raises(DataError, match="row 0"):
        add_groups(lazy.collect())


def test_several_group_columns_and_other_names() -> None:
    random.seed(3)
    frame = pl.DataFrame({"step": [1, 1, 2, 2], "uid": ["x"] * 4, "score": [1, 0, 1, 1]})
    out = add_groups(frame, ["step", "uid"], reward="score", advantage_kind="dr_grpo")
    assert out["advantage"].to_list() == [0.5, -0.5, 0.0, 0.0]
    assert add_groups(frame, "step", reward="score", advantage_kind=None).columns == [*frame.columns, *STATISTICS]


def test_mistakes_are_named() -> None:
    frame = pl.DataFrame({"prompt_id": [1, None], "reward": [1.0, 0.0], "text": ["a", "b"]})
    with pytest.raises(UnknownNameError, match="grpo"):
        advantage("gpro")
    with pytest.raises(UnknownNameError, match="verl"):
        advantage("grpo", framework="veRL2")
    with pytest.raises(UsageError, match="epsilon"):
        advantage("grpo", epsilon=0.0)
    with pytest.raises(UsageError, match="ddof"):
        advantage("grpo", ddof=2)
    with pytest.raises(UsageError, match="at least one"):
        advantage("grpo", [])
    with pytest.raises(UnknownNameError, match="prompt_id"):
        add_groups(frame, "promptid")
    with pytest.raises(ColumnTypeError, match="numbers"):
        add_groups(frame, reward="text")
    with pytest.raises(ColumnTypeError, match="float"):
        add_groups(frame, "reward")
    with pytest.raises(ColumnTypeError, match="List"):
        add_groups(frame.with_columns(prompt_id=[[1], [2]]))


@pytest.mark.parametrize("lazy", [False, True])
def test_a_row_without_a_prompt_is_in_no_group(lazy: bool) -> None:
    """Two rows without a prompt are not each other's group, and do not stop the others."""
    frame = pl.DataFrame({"prompt_id": ["a", None, "a", None], "part": [1, 1, 1, None], "reward": [1.0, 1.0, 0.0, 0.0]})
    for group in ("prompt_id", ["prompt_id", "part"], ["part", "prompt_id"]):
        given = frame.lazy() if lazy else frame
        out = add_groups(given, group, advantage_kind="dr_grpo").lazy().collect()
        assert out["advantage"].to_list() == [0.5, None, -0.5, None]
        for name in STATISTICS:
            assert out[name].is_null().to_list() == [False, True, False, True], name

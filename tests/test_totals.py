"""Totals: exact whatever the order, the cuts and the number of groups."""

from __future__ import annotations

import json
import math
import random
from fractions import Fraction

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastscore.errors import DataError, UsageError
from fastscore.totals import Totals

# Fixed point with 96 bits after the point is exact from 2**-44 on, far below what any two texts that fit into memory can give.
values = st.one_of(st.none(), st.floats(2.0**-44, 1), st.sampled_from([0.0, 1.0, 1 / 3, 2 / 3, 0.1, 5e-9]))


def items(scores: list[float | None], groups: list[str | None] | None = None) -> pa.Table:
    codes = [0 if s is not None else 3 for s in scores]
    return pa.table(
        {
            "f1": pa.array(scores, pa.float64()),
            "g": pa.array(groups or [None] * len(scores), pa.string()),
            "status": pa.array(codes, pa.int8()),
        }
    )


@given(st.lists(values, max_size=40), st.randoms(use_true_random=False))
def test_any_split_and_order_against_fsum(scores: list[float | None], rng: random.Random) -> None:
    present = [s for s in scores if s is not None]
    shuffled = scores[:]
    rng.shuffle(shuffled)
    totals = Totals(("f1",))
    while shuffled:
        cut = rng.randint(1, len(shuffled))
        part = Totals(("f1",))
        part.add(items(shuffled[:cut]))
        totals.merge(Totals.from_dict(json.loads(json.dumps(part.to_dict()))))
        shuffled = shuffled[cut:]
    block = totals.block()
    assert block["f1"] == (math.fsum(present) / len(present) if present else None)
    assert block["count"] == len(present)
    assert block["no_references"] == len(scores) - len(present)


@pytest.mark.parametrize("rows", [0, 1, 999, 1000, 1001, 100_000])
def test_sizes_against_fsum(rows: int) -> None:
    scores = np.random.default_rng(rows).random(rows)
    totals = Totals(("f1",))
    totals.add(items(scores.tolist()))
    assert totals.block()["f1"] == (math.fsum(scores) / rows if rows else None)


def test_many_groups_against_fsum() -> None:
    rng = np.random.default_rng(1)
    groups = [f"group {g}" if g else None for g in rng.integers(0, 1000, 20_000)]
    scores = rng.random(20_000).tolist()
    totals = Totals(("f1",), ("g",))
    totals.add(items(scores, groups))
    blocks = totals.summary("r", "s")["groups"]["g"]
    for name in ("null", "group 1", "group 999"):
        mine = [s for s, g in zip(scores, groups, strict=True) if (g or "null") == name]
        assert blocks[name]["f1"] == math.fsum(mine) / len(mine)
        assert blocks[name]["count"] == len(mine)
    assert sum(b["count"] for b in blocks.values()) == 20_000


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), 2.0**31])
def test_scores_that_are_no_scores_are_refused(bad: float) -> None:
    with pytest.raises(DataError, match="f1"):
        Totals(("f1",)).add(items([0.5, bad]))


def test_totals_of_other_columns_are_refused() -> None:
    with pytest.raises(UsageError, match="merged"):
        Totals(("f1",)).merge(Totals(("f1",), ("g",)))
    with pytest.raises(DataError, match="totals"):
        Totals.from_dict({"metrics": ["f1"]})


def test_an_empty_group_is_none_and_not_nan() -> None:
    totals = Totals(("f1",), ("g",))
    totals.add(items([None, 1.0], ["a", "b"]))
    summary = totals.summary("r", "s")
    assert summary["groups"]["g"]["a"]["f1"] is None
    assert summary["groups"]["g"]["a"]["count"] == 0
    json.dumps(summary, allow_nan=False)


def test_small_scores_carry_against_exact_sums() -> None:
    """Scores below 2**-12 fill the lowest bits of a sum, which must carry into the ones above."""
    rng = random.Random(11)
    scores = [(0.5 + rng.random() / 2) * 2.0 ** -rng.randint(0, 43) for _ in range(3_000)]
    totals = Totals(["f1"], ["group"])
    for start in range(0, len(scores), 7):
        part = scores[start : start + 7]
        totals.add(pa.record_batch({"f1": part, "group": [str(k % 3) for k in range(len(part))], "status": ["ok"] * len(part)}))
    groups = {name: [s for i, s in enumerate(scores) if i % 7 % 3 == int(name)] for name in "012"}
    summary = totals.summary("r", "s")
    for block, values in ((summary["overall"], scores), *((summary["groups"]["group"][n], v) for n, v in groups.items())):
        assert block["f1"] == float(sum(map(Fraction, values), Fraction(0))) / len(values)
    assert Totals.from_dict(totals.to_dict()).summary("r", "s") == summary


def test_groups_as_tables_against_polars() -> None:
    """More groups than one table has rows: every one once, sorted by value, with its counts and means."""
    rows = 1_000
    groups = [f"g{k * 7919 % 257}" for k in range(rows)]
    scores = [k % 5 / 4 for k in range(rows)]
    totals = Totals(["f1"], ["group"])
    totals.add(pa.record_batch({"f1": scores, "group": groups, "status": ["ok"] * rows}))
    tables = list(totals.group_tables("group", 100))
    assert [t.num_rows for t in tables] == [100, 100, 57]
    got = pl.concat([pl.from_arrow(t) for t in tables])
    want = pl.DataFrame({"group": groups, "f1": scores}).group_by("group").agg(pl.len().alias("count"), pl.col("f1").mean())
    want = want.sort("group")
    assert got["group"].to_list() == want["group"].to_list()
    assert got["count"].to_list() == got["ok"].to_list() == want["count"].to_list()
    assert got["f1"].to_list() == want["f1"].to_list()
    assert totals.summary("r", "s", {"group": "groups.parquet"})["groups"] == {
        "group": {"table": "groups.parquet", "groups": 257}
    }
    assert [t.num_rows for t in totals.group_tables("group")] == [257]

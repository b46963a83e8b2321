"""The cluster's simulation: seeded, every block counted once whatever fails, and what it says when nothing is in the way."""

from __future__ import annotations

import dataclasses

import pytest

from benchmarks.simulate_cluster import BATCH, Cluster, Measured, main, simulate

MEASURED = Measured((0.010, 0.012, 0.011), bytes_in=20.0, bytes_out=5.0, merge=1e-4)
CALM = Cluster(worker_store=1e15, store=1e18, latency=0.0, spread=0.0, slow=0.0, lifetime=1e15)


def test_nothing_in_the_way_is_division() -> None:
    even = dataclasses.replace(MEASURED, seconds=(0.01,))
    one, ten = (simulate(even, CALM, workers=n, rows=100 * BATCH, block_rows=BATCH) for n in (1, 10))
    assert one.seconds == pytest.approx(1.0)
    assert ten.seconds == pytest.approx(0.1)
    assert (one.blocks, one.retries) == (100, 0)


def test_seeded() -> None:
    runs = [simulate(MEASURED, Cluster(), workers=50, rows=10**9, seed=seed) for seed in (7, 7, 8)]
    assert runs[0] == runs[1] != runs[2]


def test_failures_cost_time_and_no_block() -> None:
    calm = simulate(MEASURED, Cluster(lifetime=1e15), workers=20, rows=10**9)
    rough = simulate(MEASURED, Cluster(lifetime=30.0), workers=20, rows=10**9)
    assert (calm.retries, calm.blocks) == (0, rough.blocks)
    assert rough.retries > 10
    assert rough.seconds > calm.seconds


def test_store_shared_by_all_is_the_limit() -> None:
    narrow = Cluster(store=1e8, latency=0.0, spread=0.0, slow=0.0, lifetime=1e15)
    few, many = (simulate(MEASURED, narrow, workers=n, rows=10**9) for n in (10, 500))
    least = 10**9 * 25.0 / narrow.store
    assert many.seconds > least
    assert few.seconds < 1.3 * many.seconds
    assert many.store_share > 0.9


def test_driver_that_merges_too_slowly_is_the_limit() -> None:
    slow = dataclasses.replace(MEASURED, merge=1.0)
    found = simulate(slow, CALM, workers=100, rows=100 * BATCH, block_rows=BATCH)
    assert found.seconds == found.driver_seconds == 100.0


def test_command_prints_a_table(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benchmarks.simulate_cluster.measure", lambda: MEASURED)
    assert main(["--rows", "1e8", "--workers", "1", "4"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("measured: 11.0 ms a batch")
    assert [line.split()[0] for line in lines[-2:]] == ["1", "4"]
    with pytest.raises(SystemExit):
        main(["--workers", "0"])

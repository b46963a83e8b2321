"""Threads, processes, forks, signals and the end of the interpreter: the right scores or one clear error, and never a wait.

What could hang runs in a process of its own, which is killed with all that it started when its time is over.
"""

from __future__ import annotations

import importlib.util
import os
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow as pa
import pytest

import fastscore
from fastscore import naive
from fastscore.kernels.threads import run_in_threads

ROOT = Path(__file__).resolve().parents[1]
PAIRS: list[tuple[str | None, list[str] | None]] = [("the càt", ["cat"]), ("dog", ["dogs", "dog"]), (None, ["z"]), ("É x", None)]
RECIPES = ["coqa", "squad", "squad_v2", "germanquad", "cjrc", "mlqa-zh", "quac", "search-r1-em"]

_COMMON = """
import dataclasses, sys
import pyarrow as pa
import fastscore
from fastscore.recipes import RECIPES
NFC = dataclasses.replace(RECIPES["coqa"], name="nfc", unicode="nfc")
TABLE = pa.table({
    "prediction": ["the càt", "dog", None, "É x"] * 3000, "references": [["cat"], ["dogs", "dog"], ["z"], None] * 3000,
    "domain": ["x", "y", None, "z"] * 3000,
})

def batch(recipe):
    return fastscore.score_batch(TABLE.to_batches()[0], recipe, threads=2).column("f1").to_pylist()[:4]

def grouped(_):
    try:
        return fastscore.score(TABLE, recipe="coqa", by="domain").summary["overall"]["f1"]
    except fastscore.errors.UsageError as error:
        return str(error)

def in_polars(_):
    import polars as pl, fastscore.engines.polars
    try:
        f1 = pl.col("prediction").fastscore.f1("references", recipe="coqa")
        return pl.from_arrow(TABLE).lazy().select(f1).collect(engine="streaming").to_series().to_list()[:4]
    except fastscore.errors.UsageError as error:
        return str(error)
"""


def run(code: str, *arguments: str, timeout: float = 90, **environment: str) -> str:
    """What the code prints; its whole process group is killed when the time is over."""
    process = subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", code, *arguments],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT, start_new_session=True,
        env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
    )  # fmt: skip
    try:
        out, err = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        pytest.fail(f"nothing came in {timeout} seconds")
    assert process.returncode == 0, err
    return out.strip()


def test_eight_threads_with_different_recipes_against_naive() -> None:
    texts = {"prediction": [p for p, _ in PAIRS] * 600, "references": [r for _, r in PAIRS] * 600}
    batch = pa.record_batch(texts, schema=pa.schema([("prediction", pa.string()), ("references", pa.list_(pa.string()))]))
    ready = threading.Barrier(len(RECIPES))

    def score(recipe: str) -> list[list[dict[str, object]]]:
        ready.wait()
        return [fastscore.score_batch(batch, recipe, threads=2).select(["exact_match", "f1"]).to_pylist() for _ in range(4)]

    with ThreadPoolExecutor(len(RECIPES)) as pool:
        found = dict(zip(RECIPES, pool.map(score, RECIPES), strict=True))
    for recipe, runs in found.items():
        scores = [naive.score_one(p, r, fastscore.RECIPES[recipe]) for p, r in PAIRS]
        expected = [{"exact_match": s["exact_match"], "f1": s["f1"]} for s in scores] * 600
        assert all(rows == expected for rows in runs), recipe


@pytest.mark.skipif(not hasattr(signal, "raise_signal") or os.name == "nt", reason="POSIX signals")
@pytest.mark.parametrize("threads", [1, 2])
def test_ctrl_c_is_heard_between_ranges_of_rows(threads: int) -> None:
    calls: list[int] = []

    def work(low: int, high: int) -> int:
        calls.append(high - low)
        if len(calls) == 1:
            os.kill(os.getpid(), signal.SIGINT)
        threading.Event().wait(0.02)
        return -1

    with pytest.raises(KeyboardInterrupt):
        run_in_threads(work, 1_000_000, threads)
    assert max(calls) <= 1 << 14
    assert len(calls) < 40


def test_ranges_cover_every_row_once() -> None:
    for rows in (0, 1, 2_048, 2_049, 16_384, 16_385, 100_000):
        for threads in (1, 2, 7):
            got: list[tuple[int, int]] = []
            run_in_threads(lambda low, high, got=got: got.append((low, high)) or -1, rows, threads)  # type: ignore[func-returns-value,misc]
            got.sort()
            assert [low for low, _ in got] == [0, *(high for _, high in got[:-1])][: len(got)]
            assert (got[-1][1] if got else 0) == rows


_START = (
    _COMMON
    + """
import multiprocessing

def main():
    wanted = [batch(r) for r in ("coqa", NFC, "cjrc")], grouped(0), in_polars(0)
    with multiprocessing.get_context(sys.argv[1]).Pool(2) as pool:
        found = pool.map(batch, ["coqa", NFC, "cjrc"]), pool.map(grouped, [0])[0], pool.map(in_polars, [0])[0]
    print(*(("right" if f == w else f if isinstance(f, str) else "wrong") for f, w in zip(found, wanted)), sep="|")

if __name__ == "__main__":
    main()
"""
)


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_processes_started_after_scoring(method: str, tmp_path: Path) -> None:
    import multiprocessing

    if method not in multiprocessing.get_all_start_methods():
        pytest.skip(f"{method} is not known here")
    script = tmp_path / "start.py"
    script.write_text(_START, encoding="utf-8")
    found = run(f"import runpy, sys; sys.argv[0] = {str(script)!r}; runpy.run_path(sys.argv[0], run_name='__main__')", method)
    scored, grouped, polars = found.split("|")
    assert scored == "right"
    if method == "fork":
        assert grouped == polars
        assert "forked" in grouped
        assert "'spawn'" in grouped
    else:
        assert (grouped, polars) == ("right", "right")


def test_fork_before_polars_has_threads_is_right() -> None:
    code = _COMMON + (
        "import os\npid = os.fork()\n"
        "if pid == 0:\n    os._exit(round(grouped(0), 9) != round(0.5 / 3, 9) or in_polars(0) != [0.0, 0.5, 0.0, None])\n"
        "print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))"
    )
    assert run(code) == "0"


@pytest.mark.slow
def test_eight_processes_start_cold_on_one_cache_folder(tmp_path: Path) -> None:
    code = "import fastscore; print(fastscore.normalize(__import__('pyarrow').array(['The càt.']), 'squad').to_pylist())"
    with ThreadPoolExecutor(8) as pool:
        runs = [pool.submit(run, code, timeout=240, FASTSCORE_CACHE_DIR=str(tmp_path)) for _ in range(8)]
        assert {r.result() for r in runs} == {"['càt']"}
    assert len(list(tmp_path.iterdir())) == 1
    assert run(code, FASTSCORE_CACHE_DIR=str(tmp_path)) == "['càt']"


@pytest.mark.parametrize("layer", ["workqueue", "omp", "tbb"])
def test_numba_threading_layers_change_nothing(layer: str) -> None:
    """Kernels are serial, so the layer is the host program's alone; it may be started before and after."""
    if importlib.util.find_spec(f"numba.np.ufunc.{layer}pool") is None:
        pytest.skip(f"numba has no {layer} here")
    code = _COMMON + (
        "import numba\n"
        "@numba.njit(parallel=True)\n"
        "def total(n):\n    s = 0\n    for i in numba.prange(n):\n        s += i\n    return s\n"
        "try:\n    first = total(1000)\nexcept ValueError:\n    print('none')\n    sys.exit()\n"
        "print(batch('coqa') == [0.0, 0.5, 0.0, None], total(1000) == first == 499500, numba.threading_layer())"
    )
    found = run(code, NUMBA_THREADING_LAYER=layer)
    if found == "none":
        pytest.skip(f"numba cannot start {layer} here")
    assert found == f"True True {layer}"


def test_interpreter_ends_while_a_daemon_thread_scores() -> None:
    code = _COMMON + (
        "import threading\nbegun = threading.Event()\n"
        "def endless():\n    while True:\n        batch('coqa')\n        begun.set()\n"
        "for _ in range(3):\n    threading.Thread(target=endless, daemon=True).start()\n"
        "begun.wait()\nprint('done')"
    )
    assert run(code) == "done"


def test_ctrl_c_ends_a_long_scoring_process() -> None:
    """Two million long rows would take many seconds; the signal comes once the scoring has begun."""
    code = _COMMON + (
        "import os, signal, threading\nwords = ' '.join(f'w{i}' for i in range(60))\n"
        "other = pa.record_batch({'prediction': pa.array([words]).take(pa.array([0] * 400_000)),"
        " 'references': pa.array([[words[:-9]]]).take(pa.array([0] * 400_000))})\n"
        "batch('coqa')\n"
        "threading.Timer(0.05, lambda: os.kill(os.getpid(), signal.SIGINT)).start()\n"
        "try:\n    while True:\n        fastscore.score_batch(other, 'coqa', threads=int(sys.argv[1]))\n"
        "except KeyboardInterrupt:\n    print('heard', batch('coqa'))"
    )
    for threads in ("1", "2"):
        assert run(code, threads, timeout=60) == "heard [0.0, 0.5, 0.0, None]"


def test_polars_expressions_on_eight_threads_in_groups_and_streams() -> None:
    code = _COMMON + (
        "import polars as pl, fastscore.engines.polars\n"
        "f1 = pl.col('prediction').fastscore.f1('references', recipe=NFC)\n"
        "frame = pl.from_arrow(TABLE)\n"
        "means = frame.with_columns(f1).group_by('domain').agg(pl.col('f1').mean()).sort('domain')\n"
        "lazy = frame.lazy()\n"
        "found = pl.collect_all([lazy.group_by('domain').agg(f1.mean()).sort('domain') for _ in range(8)])\n"
        "found += [lazy.group_by('domain').agg(f1.mean()).sort('domain').collect(engine='streaming') for _ in range(3)]\n"
        "print(pl.thread_pool_size(), all(f.equals(means) for f in found))"
    )
    assert run(code, POLARS_MAX_THREADS="8") == "8 True"

"""Positional span metrics: against the published values, worked cases, the reference implementation, and themselves."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastscore import naive
from fastscore.errors import ColumnTypeError, DataError, UsageError
from fastscore.kernels import spans as kernels
from fastscore.metrics import spans as metrics
from fastscore.metrics.spans import score_spans
from fastscore.recipes import find_recipe
from tests.conftest import shared_path

SPAN = pa.struct([("start", pa.int64()), ("end", pa.int64())])
SCORED = pa.struct([("start", pa.int64()), ("end", pa.int64()), ("score", pa.float64())])


def column(rows: list[Any], span: pa.DataType = SPAN) -> pa.Array:
    names = [f.name for f in span]
    given_rows = [
        None if row is None else [None if s is None else dict(zip(names, s, strict=False)) for s in row] for row in rows
    ]
    return pa.array(given_rows, pa.list_(span))


def values(scores: dict[str, Any]) -> dict[str, list[float]]:
    return {name: column.tolist() for name, column in scores.items()}


@pytest.mark.real
@pytest.mark.parametrize(("overlap", "suffix"), [("half-open", ""), ("touching", "_touching")])
def test_germanquad_against_official(overlap: Any, suffix: str) -> None:
    data = json.loads(shared_path("data/german/germanquad-test.json").read_text("utf-8"))
    predictions = json.loads(shared_path("golden/germanquad-nbest.predictions.json").read_text("utf-8"))
    expected = json.loads(shared_path("golden/germanquad-nbest.expected.json").read_text("utf-8"))
    questions = [q for d in data["data"] for p in d["paragraphs"] for q in p["qas"]]
    references = {
        str(q["id"]): [(a["answer_start"], a["answer_start"] + len(a["text"])) for a in q["answers"]] for q in questions
    }
    ids = [item["id"] for item in expected["items"]]
    predicted = column(
        [[(s["start"], s["end"], s["score"]) for s in predictions[i]] if i in predictions else None for i in ids], SCORED
    )
    scores = score_spans(predicted, column([references[i] for i in ids]), overlap=overlap, top_n=[5])
    for row, item in enumerate(expected["items"]):
        assert item.get("missing", False) == (item["id"] not in predictions)
        for name, golden in (("exact_span", "exact_span"), ("top_1", f"top_1{suffix}"), ("top_5", f"top_5{suffix}")):
            assert scores[name][row] == item.get(golden, 0.0), item
    assert scores["top_5"].sum() / len(ids) == expected["mean"][f"top_5{suffix}"]
    assert sum("missing" in item for item in expected["items"]) == 35


def test_worked_cases_against_hand() -> None:
    predicted = column(
        [
            [(10, 14)],  # only touches
            [(0, 4), (10, 14)],  # the second one hits
            [(0, 4)],  # the second reference is better
            [(None, None), (10, 14)],  # no answer keeps its rank
            None,
            [],
            [None],
            [(3, 3)],  # an empty range
        ]
    )
    references = column(
        [[(14, 20)], [(13, 15)], [(2, 10), (0, 5)], [(10, 14)], [(0, 3)], [(0, 3)], [(0, 3), None], [(3, 3), (2, 5)]]
    )
    assert values(score_spans(predicted, references, top_n=[2])) == {
        "exact_span": [0, 0, 0, 0, 0, 0, 0, 1],
        "span_f1": [0, 0, (2 * 1.0 * 0.8) / (1.0 + 0.8), 0, 0, 0, 0, 0],
        "top_1": [0, 0, 1, 0, 0, 0, 0, 0],
        "top_2": [0, 1, 1, 1, 0, 0, 0, 0],
    }
    touching = values(score_spans(predicted, references, overlap="touching"))
    assert list(touching) == ["exact_span", "span_f1", "top_1"]
    assert touching["top_1"] == [1, 0, 1, 0, 0, 0, 0, 1]
    assert touching["span_f1"][0] == 0.0


OFFSETS = st.integers(0, 9)
RANGE = st.tuples(OFFSETS, OFFSETS).map(lambda pair: (min(pair), max(pair)))
MAYBE_RANGE = st.one_of(RANGE, RANGE, st.just((None, 3)), st.just((None, None)), st.none())
ROWS = st.lists(
    st.tuples(st.none() | st.lists(MAYBE_RANGE, max_size=7), st.none() | st.lists(MAYBE_RANGE, max_size=4)), max_size=12
)


@given(rows=ROWS, ns=st.lists(st.integers(1, 8), max_size=3), touching=st.booleans(), data=st.data())
def test_any_layout_against_naive(rows: Any, ns: list[int], touching: bool, data: Any) -> None:
    predicted, references = [row[0] for row in rows], [row[1] for row in rows]
    layout = data.draw(st.sampled_from(sorted(LAYOUTS)))
    scores = score_spans(
        LAYOUTS[layout](column(predicted)),
        LAYOUTS[layout](column(references)),
        overlap="touching" if touching else "half-open",
        top_n=ns,
    )
    recipe = replace(find_recipe("germanquad"), spans="touching" if touching else "half-open")
    wanted = tuple(sorted({1, *ns}))
    assert list(scores) == ["exact_span", "span_f1", *(f"top_{n}" for n in wanted)]
    for row, (p, r) in enumerate(rows):
        assert {name: scores[name][row] for name in scores} == naive.score_spans(p, r, recipe, wanted)


def _sliced(array: pa.Array) -> pa.Array:
    poison = column([[(7, 2), (-5, -9)]])
    return pa.concat_arrays([poison, array, poison]).slice(1, len(array))


def _list_view(array: pa.Array) -> pa.Array:
    """The rows' lists stored back to front, with damaged spans between that no row holds."""
    stored, offsets, sizes = [(9, 1)], [], []
    for row in reversed(array.to_pylist()):
        offsets.append(len(stored))
        stored += [(s["start"], s["end"]) if s else None for s in row or []] + [(-4, 2)]
        sizes.append(len(row or []))
    flat = column([stored]).values
    offsets, sizes = offsets[::-1], sizes[::-1]
    return pa.ListViewArray.from_arrays(pa.array([0, *offsets], pa.int32()), pa.array([1, *sizes], pa.int32()), flat)[1:]


def _int32(array: pa.Array) -> pa.Array:
    narrow = pa.struct([("end", pa.int32()), ("start", pa.uint16())])
    rows = [None if r is None else [s and {"start": s["start"], "end": s["end"]} for s in r] for r in array.to_pylist()]
    return pa.array(rows, pa.large_list(narrow))


def _garbage_under_nulls(array: pa.Array) -> pa.Array:
    """The same rows, with wild numbers stored under every null start and spans stored under null rows."""
    rows = array.to_pylist()
    flat = [s for r in rows for s in (r if r is not None else [{"start": 0, "end": 9}])]
    none = [s is None or s["start"] is None for s in flat]
    start = pa.array([-7 if n else s["start"] for s, n in zip(flat, none, strict=True)], pa.int64(), mask=np.array(none, bool))
    end = pa.array([-8 if n else s["end"] for s, n in zip(flat, none, strict=True)], pa.int64())
    offsets = np.cumsum([0] + [1 if r is None else len(r) for r in rows])
    structs = pa.StructArray.from_arrays([start, end], fields=list(SPAN))
    mask = pa.array([r is None for r in rows], pa.bool_())
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), structs, mask=mask)


LAYOUTS: dict[str, Any] = {
    "list": lambda a: a,
    "large_list": lambda a: a.cast(pa.large_list(SPAN)),
    "chunked": lambda a: pa.chunked_array([a[: len(a) // 2], a[len(a) // 2 :]], type=a.type),
    "sliced": _sliced,
    "list_view": _list_view,
    "int32": _int32,
    "garbage": _garbage_under_nulls,
}


@pytest.mark.parametrize("size", [1, 3])
def test_fixed_size_lists_against_itself(size: int) -> None:
    rows = [[(i, i + j + 1) for j in range(size)] for i in range(8)]
    rows[3] = None  # type: ignore[call-overload]
    ragged = column(rows)
    fixed = pa.array(ragged.to_pylist(), pa.list_(SPAN, size))
    references = column([[(i, i + 1), (i + 2, i + 3)] for i in range(8)])
    for lo, hi in ((0, 8), (2, 7), (4, 4)):
        got = score_spans(fixed[lo:hi], references[lo:hi], top_n=[2])
        assert values(got) == values(score_spans(ragged[lo:hi], references[lo:hi], top_n=[2]))


def test_null_and_empty_columns_against_hand() -> None:
    references = column([[(0, 1)], [(0, 1)]])
    for none in (pa.nulls(2), pa.array([[], []], pa.list_(pa.null())), pa.array([[None], None], pa.list_(pa.null()))):
        assert values(score_spans(none, references)) == {"exact_span": [0, 0], "span_f1": [0, 0], "top_1": [0, 0]}
    assert values(score_spans(pa.nulls(0), references[:0])) == {"exact_span": [], "span_f1": [], "top_1": []}
    empty = pa.chunked_array([], type=references.type)
    assert score_spans(empty, empty)["top_1"].tolist() == []


def test_threads_and_blocks_against_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metrics, "_BLOCK", 16)
    random = np.random.default_rng(5)
    starts = random.integers(0, 40, (203, 3))
    rows = [[(int(s), int(s) + 5) for s in row] for row in starts]
    predicted, references = column(rows), column(rows[::-1])
    whole = values(score_spans(predicted, references, top_n=[3]))
    for threads in (2, 3, 7):
        assert values(score_spans(predicted, references, top_n=[3], threads=threads)) == whole
    one_by_one = [values(score_spans(predicted[i : i + 1], references[i : i + 1], top_n=[3])) for i in range(203)]
    assert {name: [row[name][0] for row in one_by_one] for name in whole} == whole


def test_kernels_uncompiled_against_compiled() -> None:
    predicted = metrics.read_spans(column([[(0, 4), None, (9, 12)], None, [(2, 6)]]), "prediction_spans")
    references = metrics.read_spans(column([[(10, 11), None], [(1, 2)], [(0, 4), (2, 6)]]), "reference_spans")
    for touching in (0, 1):
        results = []
        for run in (kernels.score_spans, kernels.score_spans.py_func):
            exact, f1, top = np.empty(3), np.empty(3), np.empty((2, 3))
            run(*predicted.arrays, *references.arrays, np.array([1, 3]), touching, 0, 3, exact, f1, top)
            results.append((exact.tolist(), f1.tolist(), top.tolist()))
        assert results[0] == results[1] == ([0, 0, 1], [0, 0, 1], [[0, 0, 1], [1, 0, 1]])
    start, end = np.array([3, -1, 5]), np.array([4, 2, 5])
    for run in (kernels.suspicious_spans, kernels.suspicious_spans.py_func):
        found = np.zeros(1, dtype=np.int64)
        run(start, end, 0, 3, found)
        assert found[0] == 1
        run(start, end, 2, 3, found)
        assert found[0] == 0
    for run in (kernels.unsound_row, kernels.unsound_row.py_func):
        two = np.zeros(2, dtype=np.int64)
        run(np.array([0, 1]), np.array([1, 3]), start, end, np.zeros(0, np.uint8), 0, 0, 2, two)
        assert two.tolist() == [1, 1]
        run(np.array([0, 1]), np.array([1, 3]), start, end, np.array([0b101], np.uint8), 0, 0, 2, two)
        assert two[0] == -1


@pytest.mark.parametrize("side", ["prediction_spans", "reference_spans"])
@pytest.mark.parametrize(("bad", "shown"), [((5, 4), "start 5, end 4"), ((-1, 4), "start -1, end 4"), ((5, None), "null end")])
def test_damaged_spans_are_refused_with_their_row(side: str, bad: Any, shown: str) -> None:
    good = column([[(0, 3)], [(0, 3)], [(None, None), (0, 3)]])
    rows: list[Any] = [[(0, 3)], None, [(None, None), bad]]
    sides = {"prediction_spans": good, "reference_spans": good, side: column(rows)}
    with pytest.raises(DataError, match=f"{side}, row 2: .*{shown}"):
        score_spans(**sides)


def test_bad_types_and_options_are_refused() -> None:
    good = column([[(0, 3)]])
    for bad in (pa.array(["x"]), pa.array([[1]]), pa.array([[{"start": 1}]]), pa.array([[{"start": 1.0, "end": 2.0}]])):
        with pytest.raises(ColumnTypeError, match="prediction_spans"):
            score_spans(bad, good)
    with pytest.raises(UsageError, match="2 rows"):
        score_spans(column([[], []]), good)
    with pytest.raises(UsageError, match="overlap must be"):
        score_spans(good, good, overlap="closed")  # type: ignore[arg-type]
    for n in (0, True, 1.5):
        with pytest.raises(UsageError, match="top_n"):
            score_spans(good, good, top_n=[n])  # type: ignore[list-item]
    with pytest.raises(UsageError, match="threads"):
        score_spans(good, good, threads=0)
    huge = pa.array([[{"start": 1, "end": 2**63}]], pa.list_(pa.struct([("start", pa.uint64()), ("end", pa.uint64())])))
    with pytest.raises(DataError, match="fit in int64"):
        score_spans(huge, good)

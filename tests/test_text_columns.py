"""Every Arrow layout of text gives the same scores; broken arrays give an error and never a read outside the buffers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from fastscore.errors import ColumnTypeError, DataError, EncodingError
from fastscore.scoring import score_batch
from fastscore.text.columns import text_column

TEXTS = ["The Cat", None, "", "Größe – the End", "a" * 40, "北京 x", None, "the cat sat"]
LISTS: list[list[str | None] | None] = [
    ["cat", "the cat"],
    ["x"],
    None,
    ["größe – end", None, "b"],
    [],
    ["x"],
    ["y", "y"],
    ["the cat sat"] * 2,
]


def _views(array: pa.Array) -> pa.Array:
    return pa.array(array.to_pylist(), pa.string_view())


TEXT_LAYOUTS: dict[str, Any] = {
    "string": lambda t: pa.array(t, pa.string()),
    "large_string": lambda t: pa.array(t, pa.large_string()),
    "string_view": lambda t: pa.array(t, pa.string_view()),
    "binary": lambda t: pa.array([None if x is None else x.encode() for x in t], pa.binary()),
    "large_binary": lambda t: pa.array([None if x is None else x.encode() for x in t], pa.large_binary()),
    "binary_view": lambda t: pa.array([None if x is None else x.encode() for x in t], pa.binary_view()),
    "dictionary": lambda t: pa.array(t, pa.string()).dictionary_encode(),
    "dictionary with nulls in its values": lambda t: pa.DictionaryArray.from_arrays(
        pa.array(range(len(t)), pa.int32()), pa.array(t, pa.string())
    ),
    "sliced": lambda t: pa.array(["garbage", *t, "more"], pa.string()).slice(1, len(t)),
    "garbage under nulls": lambda t: _garbage_under_nulls(t),
}
LIST_LAYOUTS: dict[str, Any] = {
    "list": lambda v: pa.array(v, pa.list_(pa.string())),
    "large_list": lambda v: pa.array(v, pa.large_list(pa.large_string())),
    "list of views": lambda v: pa.array(v, pa.list_(pa.string_view())),
    "list_view": lambda v: pa.array(v, pa.list_view(pa.string())),
    "large_list_view": lambda v: pa.array(v, pa.large_list_view(pa.string())),
    "sliced": lambda v: pa.array([["g", "h"], *v, ["i"]], pa.list_(pa.string())).slice(1, len(v)),
    "dictionary values": lambda v: pa.ListArray.from_arrays(
        pa.array(v, pa.list_(pa.string())).offsets,
        pa.array(v, pa.list_(pa.string())).values.dictionary_encode(),
        mask=pa.array([x is None for x in v]),
    ),
}


def _garbage_under_nulls(texts: list[str | None]) -> pa.Array:
    full = pa.array([t if t is not None else "the garbage" for t in texts], pa.string())
    mask = pa.array([t is not None for t in texts]).buffers()[1]
    return pa.Array.from_buffers(pa.string(), len(texts), [mask, *full.buffers()[1:]])


def scores(prediction: pa.Array, references: pa.Array) -> list[dict[str, Any]]:
    batch = pa.RecordBatch.from_arrays([prediction, references], names=["prediction", "references"])
    result: list[dict[str, Any]] = score_batch(batch, "coqa").to_pylist()
    return result


PLAIN = scores(TEXT_LAYOUTS["string"](TEXTS), LIST_LAYOUTS["list"](LISTS))


@pytest.mark.parametrize("layout", TEXT_LAYOUTS)
def test_text_layouts_against_plain(layout: str) -> None:
    assert scores(TEXT_LAYOUTS[layout](TEXTS), LIST_LAYOUTS["list"](LISTS)) == PLAIN


@pytest.mark.parametrize("layout", LIST_LAYOUTS)
def test_list_layouts_against_plain(layout: str) -> None:
    assert scores(TEXT_LAYOUTS["string"](TEXTS), LIST_LAYOUTS[layout](LISTS)) == PLAIN


def test_fixed_size_lists_and_single_texts_against_plain() -> None:
    pairs = [["a", "b"], ["c", None], ["the cat", "x"]]
    plain = scores(pa.array(["b", "c", "cat"]), pa.array(pairs, pa.list_(pa.string())))
    assert scores(pa.array(["b", "c", "cat"]), pa.array(pairs, pa.list_(pa.string(), 2))) == plain
    one = scores(pa.array(["b", "c", None]), pa.array([["b"], ["x"], []], pa.list_(pa.string())))
    assert scores(pa.array(["b", "c", None]), pa.array(["b", "x", None])) == one


def test_null_columns_and_no_rows() -> None:
    assert [r["status"] for r in scores(pa.nulls(2), pa.array([["a"], []], pa.list_(pa.string())))] == [
        "null_prediction",
        "no_references",
    ]
    assert scores(pa.array([], pa.string()), pa.array([], pa.list_(pa.string()))) == []


@pytest.mark.parametrize("kind", [pa.int64(), pa.float64(), pa.bool_(), pa.list_(pa.int32())])
def test_other_types_are_refused(kind: pa.DataType) -> None:
    with pytest.raises(ColumnTypeError, match=r"prediction.*got"):
        scores(pa.nulls(1, kind), pa.array([["a"]]))


@pytest.mark.parametrize("offsets", [[0, 5, 3], [0, 2_000_000_000, 3], [3, 1, 4]])
def test_broken_offsets_are_refused(offsets: list[int]) -> None:
    data = pa.py_buffer(b"abcdefgh")
    broken = pa.Array.from_buffers(pa.string(), 2, [None, pa.py_buffer(np.array(offsets, np.int32)), data])
    with pytest.raises(DataError, match="offsets"):
        text_column(broken, "prediction")
    lists = pa.Array.from_buffers(
        pa.list_(pa.string()), 2, [None, pa.py_buffer(np.array(offsets, np.int32))], children=[pa.array(["a"] * 4)]
    )
    with pytest.raises(DataError, match="offsets"):
        scores(pa.array(["a", "b"]), lists)


@pytest.mark.parametrize(
    "bad",
    [
        b"\xff",
        b"ab\x80",
        b"\xc3",
        b"\xc0\xaf",
        b"\xe0\x80\xaf",
        b"\xed\xa0\x80",
        b"\xf0\x80\x80\xaf",
        b"\xf4\x90\x80\x80",
        b"\xf8\x88\x80\x80\x80",
    ],
)
@pytest.mark.parametrize("before", ["", "x" * 70, "ä", "Σ"])
def test_invalid_utf8_names_the_row(bad: bytes, before: str) -> None:
    column = pa.array([b"fine", before.encode() + bad, b"fine"], pa.binary())
    with pytest.raises(EncodingError, match="row 1"):
        scores(column, pa.array([["a"], ["b"], ["c"]]))
    with pytest.raises(EncodingError, match="row 1"):
        scores(pa.array(["a", "b", "c"]), pa.array([[b"a"], [b"x", bytes(column[1].as_py())], []], pa.list_(pa.binary())))

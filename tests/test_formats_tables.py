"""Tables in files, read: text stays as it was written, whatever the file's physical types, and what is broken names its line.

Numbers such as R36 are those of the bug reports of other tools that a test guards against.
"""

from __future__ import annotations

import contextlib
import csv
import gzip
import io
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fastscore
from fastscore.errors import EncodingError, FastscoreError, FormatError, UsageError
from fastscore.formats.json_lines import read_json_lines
from fastscore.formats.tables import read_table
from fastscore.pipeline import load

TEXTS = ["NA", "null", "None", "nan", "", "007", "1.50", "1e5", "a\u2028b\u0085c", 'say "hi", twice', "two\nlines", "é😀", " x "]


def _rows(path: Path, format: str, data: bytes) -> list[dict[str, Any]]:
    path.write_bytes(data)
    return read_table(path, format).table.to_pylist()


def _lines(*rows: Any) -> bytes:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()


# Text stays as it is.


def test_words_that_mark_missing_values_are_words_in_json_lines(tmp_path: Path) -> None:
    """R36, R37, R52: null markers, numbers and line separators in text are text."""
    given = [{"question_id": str(n), "prediction": t, "references": [t]} for n, t in enumerate(TEXTS)]
    assert _rows(tmp_path / "p.jsonl", "jsonl", _lines(*given)) == given


def test_words_that_mark_missing_values_are_words_in_csv(tmp_path: Path) -> None:
    """R36, R52: as above; an empty field is null, a quoted one is empty text."""
    out = io.StringIO(newline="")
    writer = csv.writer(out, quoting=csv.QUOTE_ALL)
    writer.writerows([["question_id", "prediction"], *([str(n), t] for n, t in enumerate(TEXTS))])
    rows = _rows(tmp_path / "p.csv", "csv", out.getvalue().encode())
    assert rows == [{"question_id": str(n), "prediction": t} for n, t in enumerate(TEXTS)]
    assert _rows(tmp_path / "q.csv", "csv", b'a,b\n,""\nNA,null\n') == [{"a": None, "b": ""}, {"a": "NA", "b": "null"}]


def test_newlines_in_quotes_of_a_long_csv(tmp_path: Path) -> None:
    """R52: many rows with a line feed inside quotes keep their number and order."""
    count = 20_000
    data = "prediction,question_id\n" + "".join(f'"line {n}\nmore",{n}\n' for n in range(count))
    rows = _rows(tmp_path / "p.csv", "csv", data.encode())
    assert rows == [{"prediction": f"line {n}\nmore", "question_id": str(n)} for n in range(count)]


@pytest.mark.parametrize(("format", "data"), [("jsonl", b'{"a": "x"}\r\n{"a": "y"}\r\n'), ("csv", b"a,b\r\nx,1\r\ny,2\r\n")])
@pytest.mark.parametrize("before", [b"", b"\xef\xbb\xbf"])
def test_byte_order_mark_and_carriage_returns(tmp_path: Path, format: str, data: bytes, before: bytes) -> None:
    """R52: the mark is no part of the first name, the carriage return none of the last value."""
    for packed in (before + data, gzip.compress(before + data, mtime=0)):
        rows = _rows(tmp_path / "p", format, packed)
        assert [row["a"] for row in rows] == ["x", "y"]
        assert [row.get("b") for row in rows] == ([None, None] if format == "jsonl" else ["1", "2"])


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=8), min_size=1, max_size=6))
def test_json_lines_against_python(texts: list[str]) -> None:
    for ascii_only in (True, False):
        data = "\n".join(json.dumps({"t": t, "l": [t]}, ensure_ascii=ascii_only) for t in texts).encode()
        frame, repaired = read_json_lines(data, "p.jsonl")
        assert frame.to_dicts() == [{"t": t, "l": [t]} for t in texts]
        assert repaired == 0


def test_blank_lines(tmp_path: Path) -> None:
    assert _rows(tmp_path / "p.jsonl", "jsonl", b'\n{"a": "x"}\n\n  \n{"a": "y"}\n\n') == [{"a": "x"}, {"a": "y"}]
    (tmp_path / "p.csv").write_bytes(b"a,b\nx,\n\ny,2\n\n")
    loaded = read_table(tmp_path / "p.csv", "csv")
    assert loaded.table.to_pylist() == [{"a": "x", "b": None}, {"a": "y", "b": "2"}]
    assert loaded.counts == {"blank_lines": 2}


def test_lone_surrogates_in_json_lines(tmp_path: Path) -> None:
    (tmp_path / "p.jsonl").write_bytes(rb'{"a": "\ud83d", "\udc00": "\ud83d\ude00"}')
    loaded = read_table(tmp_path / "p.jsonl", "jsonl")
    assert loaded.table.to_pylist() == [{"a": "\ufffd", "\ufffd": "😀"}]
    assert loaded.counts == {"lone_surrogates": 2}


def test_fields_that_some_lines_lack_are_null(tmp_path: Path) -> None:
    rows = _rows(tmp_path / "p.jsonl", "jsonl", b'{"a": "x"}\n{"b": [null, "y"]}\n{"a": null, "b": []}\n')
    assert rows == [{"a": "x", "b": None}, {"a": None, "b": [None, "y"]}, {"a": None, "b": []}]


@pytest.mark.parametrize(
    ("ids", "read"),
    [
        ([1, 2], [1, 2]),
        ([9007199254740993, None], [9007199254740993, None]),
        ([2**64 - 1, 0], [2**64 - 1, 0]),
        ([2**80, -1], [str(2**80), "-1"]),
        ([1, "b"], ["1", "b"]),
        (["007", "7"], ["007", "7"]),
    ],
)
def test_ids_are_exact(tmp_path: Path, ids: list[Any], read: list[Any]) -> None:
    """R04: ids never pass through a float, however large they are."""
    assert [r["question_id"] for r in _rows(tmp_path / "p.jsonl", "jsonl", _lines(*({"question_id": i} for i in ids)))] == read


@pytest.mark.parametrize(("turns", "read"), [("1,2", [1, 2]), ("1,", [1, None]), ("1,b", ["1", "b"]), ("1,02", ["1", "02"])])
def test_turns_in_csv_are_numbers_where_all_are(tmp_path: Path, turns: str, read: list[Any]) -> None:
    data = "turn_id,prediction\n" + "".join(f"{t},x\n" for t in turns.split(","))
    assert [r["turn_id"] for r in _rows(tmp_path / "p.csv", "csv", data.encode())] == read


# Broken files.

_BROKEN: dict[str, tuple[str, bytes, list[str]]] = {
    "line cut short": ("jsonl", b'{"a": 1}\n\n{"a": ', ["line 3"]),
    "two objects on a line": ("jsonl", b'{"a": 1}\n{"a": 1} {"a": 2}\n', ["line 2"]),
    "line without braces": ("jsonl", b'{"a": 1}\n"a"\n', ["line 2", "object", "str"]),
    "line of an array": ("jsonl", b'[1]\n{"a": 1}\n', ["line 1", "object", "list"]),
    "not a number": ("jsonl", b'{"a": 1}\n{"a": NaN}\n', ["line 2"]),
    "text and list": ("jsonl", b'{"note": "b"}\n{"note": ["a"]}\n', ["line 2", "note", "array"]),
    "list and text": ("jsonl", b'{"prediction": ["a"]}\n{"prediction": "b"}\n', ["line 1", "prediction"]),
    "text and objects": ("jsonl", b'{"references": "b"}\n{"references": [{"a": 1}]}\n', ["line 2", "references", "object"]),
    "a NUL in a field's name": ("jsonl", b'{"a\\u0000": "b"}\n', ["NUL"]),
    "a NUL within an object": ("jsonl", b'{"a": [{"b": {"c\\u0000": 1}}]}\n', ["NUL"]),
    "a NUL in a column's name": ("csv", b"a\0,b\n1,2\n", ["NUL"]),
    "text and object": ("jsonl", b'{"note": "b"}\n\n{"note": {"x": 1}}\n', ["line 3", "note", "object"]),
    "number among texts": ("jsonl", b'{"prediction": "b"}\n{"prediction": 5}\n', ["line 2", "prediction", "int"]),
    "truth among texts": ("jsonl", b'{"prediction": "b"}\n{"prediction": true}\n', ["line 2", "prediction", "bool"]),
    "number among references": ("jsonl", b'{"references": ["b"]}\n{"references": ["b", 5]}\n', ["line 2", "references", "int"]),
    "list among references": ("jsonl", b'{"references": ["b"]}\n{"references": [["b"]]}\n', ["line", "references"]),
    "too few fields": ("csv", b'a,b\n1,2\n"x\ny",3\n4\n', ["line 5", "1 fields", "2"]),
    "too many fields": ("csv", b"a,b\n1,2\n\n3,4,5\n", ["line 4", "3 fields", "2"]),
    "quote not closed": ("csv", b'a,b\n1,2\n3,"x\ny,z\n', ["line 3"]),
    "column twice in CSV": ("csv", b"a,b,a\n1,2,3\n", ["'a'", "twice"]),
    "no parquet": ("parquet", b"PAR1 and more", ["parquet"]),
    "no Arrow": ("arrow", b"ARROW1 and more", ["arrow"]),
    "empty lines": ("jsonl", b"\n \n", ["empty"]),
    "empty CSV": ("csv", b"\n", ["empty"]),
}


@pytest.mark.parametrize("name", list(_BROKEN))
def test_broken_tables(tmp_path: Path, name: str) -> None:
    format, data, said = _BROKEN[name]
    path = tmp_path / "file"
    path.write_bytes(data)
    with pytest.raises(FormatError) as caught:
        read_table(path, format)
    assert [s for s in [str(path), *said] if s not in str(caught.value)] == [], str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(("format", "data"), [("jsonl", b'{"a": "b"}\n{"a": "\xff"}\n'), ("csv", b"a,b\n1,\xff\n")])
def test_text_that_is_not_utf8_names_the_line(tmp_path: Path, format: str, data: bytes) -> None:
    (tmp_path / "file").write_bytes(data)
    with pytest.raises(EncodingError, match=r"file: line 2 is not UTF-8: byte 0xff"):
        read_table(tmp_path / "file", format)


def test_a_mixed_line_far_down_is_named(tmp_path: Path) -> None:
    """The check goes over the file in blocks; the line's number counts through all of them."""
    texts = [{"prediction": "x" * 1000}] * 9000
    (tmp_path / "file").write_bytes(_lines(*texts, {"prediction": ["x"]}, *texts[:9]))
    with pytest.raises(FormatError, match=r"line 9001: prediction is array here"):
        read_table(tmp_path / "file", "jsonl")


def test_numbers_of_lines_go_on_where_a_file_is_read_in_pieces() -> None:
    for data in (b'{"a": "x"}\n{"a": \n', b'{"a": "x"}\n{"a": ["x"]}\n', b'{"a": "x"}\n{"a": "\xff"}\n'):
        with pytest.raises((FormatError, EncodingError), match="line 42"):
            read_json_lines(data, "p.jsonl", first=41)


def test_long_fields_of_csv_rows_are_counted(tmp_path: Path) -> None:
    """R53: a generation longer than Python's own limit for a field is no error, and the limit is left as it was."""
    before = csv.field_size_limit()
    rows = _rows(tmp_path / "p.csv", "csv", b"a,b\n" + b"x" * 200_000 + b",\ny,2\n")
    assert [len(r["a"]) for r in rows] == [200_000, 1]
    assert csv.field_size_limit() == before


# Physical types: the same text has the same score in whatever type a writer chose.

_TYPES = [
    pa.string(),
    pa.large_string(),
    pa.string_view(),
    pa.binary(),
    pa.large_binary(),
    pa.dictionary(pa.int8(), pa.string()),
    pa.dictionary(pa.int32(), pa.large_string()),
]


@pytest.mark.parametrize("kind", _TYPES, ids=str)
@pytest.mark.parametrize("format", ["parquet", "arrow"])
def test_physical_types_score_alike(tmp_path: Path, kind: pa.DataType, format: str) -> None:
    """R49: every physical type of text, sliced and in chunks, gives the same items."""
    texts = ["Rhein", None, "der Rhein", "Main", "", "Rhein", "é😀"]
    golds = [["Rhein"], ["x"], ["Rhein", None], [], None, ["", "Main"], ["É😀"]]
    plain = pa.table({"prediction": texts, "references": pa.array(golds, pa.list_(pa.string()))})
    column = pa.chunked_array([plain.column(0).combine_chunks().cast(_stored(kind))])
    column = column.cast(kind) if column.type != kind else column
    table = pa.concat_tables([plain.set_column(0, "prediction", column)] * 2).slice(1, 11)
    expected = fastscore.score(pa.concat_tables([plain] * 2).slice(1, 11), recipe="squad").items
    path = tmp_path / "table"
    if format == "parquet":
        pq.write_table(table, path, row_group_size=3)
    else:
        with pyarrow.ipc.new_stream(path, table.schema) as writer:
            writer.write_table(table, max_chunksize=3)
    loaded = read_table(path, format)
    assert loaded.table.column("prediction").cast(pa.large_binary()).to_pylist() == [
        None if t is None else t.encode() for t in (texts * 2)[1:12]
    ]
    assert fastscore.score(loaded.table, recipe="squad").items.to_pylist() == expected.to_pylist()


def _stored(kind: pa.DataType) -> pa.DataType:
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def test_arrow_files_and_streams(tmp_path: Path) -> None:
    table = pa.table({"question_id": [1, 2], "prediction": ["a", None]})
    with pyarrow.ipc.new_file(tmp_path / "f", table.schema) as writer:
        writer.write_table(table)
    with pyarrow.ipc.new_stream(tmp_path / "s", table.schema) as writer:
        writer.write_table(table)
    for name in "fs":
        loaded = read_table(tmp_path / name, "arrow")
        assert loaded.table.equals(table)
        assert (loaded.keys, loaded.official) == (("question_id",), False)


def test_columns_that_are_passed_through_keep_their_values(tmp_path: Path) -> None:
    import datetime

    moment = pa.array([datetime.datetime(9999, 12, 31), None], pa.timestamp("us"))
    table = pa.table({"when": moment, "meta": [{"x": 1}, None], "prediction": ["a", "b"]})
    pq.write_table(table, tmp_path / "t")
    assert read_table(tmp_path / "t", "parquet").table.equals(table)


def test_arrow_file_with_broken_offsets_is_refused(tmp_path: Path) -> None:
    """Offsets that point outside their bytes must not reach a kernel."""

    def offsets(*given: int) -> bytes:
        return b"".join(n.to_bytes(4, "little") for n in given)

    sink = pa.BufferOutputStream()
    table = pa.table({"question_id": ["abc", "def", "ghi"]})
    with pyarrow.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    data = bytes(sink.getvalue())
    assert data.count(offsets(0, 3, 6, 9)) == 1
    (tmp_path / "t").write_bytes(data.replace(offsets(0, 3, 6, 9), offsets(0, 3, 2_000_000, 9)))
    with pytest.raises(FormatError, match="question_id"):
        read_table(tmp_path / "t", "arrow")


def test_column_twice_in_parquet_is_refused(tmp_path: Path) -> None:
    table = pa.table([pa.array(["a"]), pa.array(["b"])], names=["prediction", "prediction"])
    pq.write_table(table, tmp_path / "t")
    with pytest.raises(FormatError, match="'prediction' stands twice"):
        read_table(tmp_path / "t", "parquet")


def test_unknown_formats_and_absent_files(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"parquet, arrow, jsonl, csv.*'xlsx'"):
        read_table(tmp_path, "xlsx")
    for format in ("parquet", "arrow", "jsonl", "csv"):
        with pytest.raises(UsageError, match="no such file"):
            read_table(tmp_path / "none", format)


def test_a_head_of_csv_that_is_no_utf8_is_said(tmp_path: Path) -> None:
    """Found by coverage-guided fuzzing: polars takes such a name, and the check of doubled names did not."""
    path = tmp_path / "in.csv"
    path.write_bytes(b"question_id,\xf8prediction\n1,a\n")
    with pytest.raises(EncodingError, match=r"in\.csv.*UTF-8"):
        load(path, "predictions")


@pytest.mark.parametrize("head", [b"\r\r\r\x0b\x02", b"a\rb", b'"a\r"b\rc', b"x" * 200_000])
def test_a_csv_head_that_is_none_ends_in_a_line(tmp_path: Path, head: bytes) -> None:
    """Carriage returns alone, and a name beyond the csv module's limit (found by coverage-guided fuzzing)."""
    path = tmp_path / "x.csv"
    path.write_bytes(head + b"\n1\n")
    with contextlib.suppress(FastscoreError):
        load(path, "predictions")

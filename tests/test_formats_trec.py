"""TREC files: what is read, as trec_eval reads it, and how each damaged line is refused."""

from __future__ import annotations

import gzip
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastscore.errors import DataError, EncodingError, FormatError, UsageError
from fastscore.formats.trec import read_qrels, read_run
from fastscore.kernels import lines as kernels

RUN = (
    "# made by hand\n"
    "\n"
    "q1 Q0 doc#1 1 2.5 tag\n"
    "q1\tQ0\td\u00fc 2\t-1e-3  tag more words at the end\r\n"
    "   q2   Q0 x 99 +7 tag\n"
    "\t # indented remark\n"
    "q#3 Q0 y 0 inf tag"
)
RUN_ROWS = [("q1", "doc#1", 2.5), ("q1", "d\u00fc", -0.001), ("q2", "x", 7.0), ("q#3", "y", math.inf)]


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("bom", [b"", b"\xef\xbb\xbf"])
def test_run_against_hand(tmp_path: Path, packed: bool, bom: bytes) -> None:
    path = tmp_path / ("run.gz" if packed else "run.txt")
    raw = bom + RUN.encode()
    path.write_bytes(gzip.compress(raw, mtime=0) if packed else raw)
    table = read_run(path)
    assert table.column_names == ["query_id", "doc_id", "score"]
    assert [tuple(row.values()) for row in table.to_pylist()] == RUN_ROWS


def test_qrels_against_hand(tmp_path: Path) -> None:
    path = tmp_path / "qrels.txt"
    path.write_text("q1 0 a 1\nq1 0 b\t-2\n#q1 0 c 1\n\nq2 0 a +3 \n")
    assert [tuple(row.values()) for row in read_qrels(path).to_pylist()] == [("q1", "a", 1), ("q1", "b", -2), ("q2", "a", 3)]


def test_empty_files_against_hand(tmp_path: Path) -> None:
    path = tmp_path / "empty"
    for text in ("", "\n", "# nothing\n \t\n"):
        path.write_text(text)
        assert read_run(path).num_rows == read_qrels(path).num_rows == 0


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("q1 Q0 a 1 2.5 tag\nq1 Q0 b 2 tag\n", "line 2: at least 6 fields .* got 5"),
        ("#\n\nq1 Q0 a 1 high tag\n", "line 3: the score must be a number, got 'high'"),
        ("q1 Q0 a 1 1.0 tag\nq1 Q0 b 1 nan tag\n", "line 2: the score must be a number, got 'nan'"),
        ("q1 Q0 a 1 1_0 tag\n", "line 1: the score must be a number, got '1_0'"),
        ("q1 Q0 a\0 1 1.0 tag\n", "line 1: a NUL character"),
    ],
)
def test_bad_run_is_refused_with_file_and_line(tmp_path: Path, text: str, shown: str) -> None:
    path = tmp_path / "bad.run"
    path.write_text(text)
    with pytest.raises(FormatError, match=shown) as caught:
        read_run(path)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("q1 0 a 1\nq1 0 b\n", "line 2: 4 fields .* got 3"),
        ("q1 0 a 1 more\n", "line 1: 4 fields .* got 5"),
        ("q1 0 a 1\n\nq1 0 b 1.5\n", "line 3: relevance must be a whole number, got '1.5'"),
        ("q1 0 a 99999999999999999999\n", "line 1: relevance must be a whole number"),
    ],
)
def test_bad_qrels_are_refused_with_file_and_line(tmp_path: Path, text: str, shown: str) -> None:
    path = tmp_path / "bad.qrels"
    path.write_text(text)
    with pytest.raises(FormatError, match=shown) as caught:
        read_qrels(path)
    assert str(path) in str(caught.value)


def test_unreadable_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "run"
    path.write_bytes(b"q1 Q0 a 1 1.0 tag\nq1 Q0 \xff 1 1.0 tag\n")
    with pytest.raises(EncodingError, match="line 2: ids must be UTF-8, got byte 0xff"):
        read_run(path)
    path.write_bytes(gzip.compress(RUN.encode())[:-9])
    with pytest.raises(DataError, match=r"broken \.gz"):
        read_run(path)
    with pytest.raises(UsageError, match="no such file"):
        read_run(tmp_path / "absent")


LINE = st.lists(st.sampled_from(["a", "bc", "#", "#d", " ", "  ", "\t", "\r", "\x0b", "\x0c", "1"]), max_size=12).map("".join)


@given(rows=st.lists(LINE, max_size=8), ended=st.booleans())
def test_fields_against_plain_split(rows: list[str], ended: bool) -> None:
    raw = ("\n".join(rows) + "\n" * ended).encode()
    data = np.frombuffer(raw, dtype=np.uint8) if raw else np.zeros(0, dtype=np.uint8)
    wanted = []
    for number, row in enumerate(rows, 1):
        fields = row.encode().split()
        if fields and not fields[0].startswith(b"#"):
            wanted.append((number, len(fields), [fields[i] for i in (0, 2) if i < len(fields)]))
    bad = next(((number, count) for number, count, _ in wanted if count < 3), None)
    for count_lines, split_lines in (
        (kernels.count_lines, kernels.split_lines),
        (kernels.count_lines.py_func, kernels.split_lines.py_func),
    ):
        result = np.zeros(3, dtype=np.int64)
        count_lines(data, result)
        size = int(result[0])
        begin, end, line = np.zeros((2, size), np.int64), np.zeros((2, size), np.int64), np.zeros(size, np.int64)
        split_lines(data, np.array([0, 2]), 3, 99, begin, end, line, result)
        if bad:
            assert (result[1], result[2]) == bad
            continue
        found = [(int(line[r]), [raw[begin[f, r] : end[f, r]] for f in (0, 1)]) for r in range(int(result[0]))]
        assert found == [(number, fields) for number, _, fields in wanted]

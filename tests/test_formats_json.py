"""The published JSON layouts, read: what comes out of well-formed files, and one clear line for those that are not.

Layouts are CoQA's and SQuAD's (GermanQuAD, XQuAD and MLQA share it); numbers such as R36 are those of the bug reports of other
tools that a test guards against.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastscore.errors import EncodingError, FormatError, KeyMismatchError, UnknownNameError, UsageError
from fastscore.formats import read_predictions, read_references
from fastscore.formats.coqa import read_coqa_predictions, read_coqa_references
from fastscore.formats.json_text import decode_entries, decode_json, read_bytes, repair_surrogates
from fastscore.formats.positions import count_misplaced
from fastscore.formats.sniff import FORMATS, format_of
from fastscore.formats.squad import read_na_probs, read_squad_predictions, read_squad_references
from tests.conftest import shared_path

DATA = Path(__file__).resolve().parents[1] / "data"


def _json(value: Any) -> bytes:
    return json.dumps(value).encode()


def _story(**parts: Any) -> dict[str, Any]:
    made = {
        "source": "race",
        "id": "s1",
        "questions": [{"input_text": "who?", "turn_id": 1}, {"input_text": "where?", "turn_id": 2}],
        "answers": [{"input_text": "Ann", "turn_id": 1}, {"input_text": "at home", "turn_id": 2}],
    }
    return {**made, **parts}


def _annotator(*texts: str) -> list[dict[str, Any]]:
    return [{"input_text": text, "turn_id": turn} for turn, text in enumerate(texts, 1)]


def _paragraph(*questions: dict[str, Any], **parts: Any) -> bytes:
    return _json({"version": "1.1", "data": [{"title": "Rhein", "paragraphs": [{**parts, "qas": list(questions)}]}]})


# CoQA.


def test_coqa_references_in_the_order_of_the_annotators() -> None:
    """References are answers, then additional_answers in the file's order of keys."""
    more = {"2": _annotator("c", "C"), "0": _annotator("a", "A"), "1": _annotator("b", "B")}
    loaded = read_coqa_references(_json({"data": [_story(additional_answers=more)]}), "r.json")
    assert loaded.table.to_pylist() == [
        {
            "question_id": "s1",
            "turn_id": 1,
            "question": "who?",
            "references": ["Ann", "c", "a", "b"],
            "source": "race",
            "domain": "mid-high_school",
        },
        {
            "question_id": "s1",
            "turn_id": 2,
            "question": "where?",
            "references": ["at home", "C", "A", "B"],
            "source": "race",
            "domain": "mid-high_school",
        },
    ]
    assert (loaded.format, loaded.keys, loaded.official, loaded.notes) == ("coqa", ("question_id", "turn_id"), True, ())


def test_coqa_without_additional_answers_has_one_reference() -> None:
    loaded = read_coqa_references(_json({"data": [_story()]}), "r.json")
    assert loaded.table.column("references").to_pylist() == [["Ann"], ["at home"]]


def test_coqa_unknown_source_is_its_own_domain() -> None:
    loaded = read_coqa_references(_json({"data": [_story(source="radio"), _story(id="s2", source="")]}), "r.json")
    assert loaded.table.column("domain").to_pylist() == ["radio", "radio", "", ""]


@pytest.mark.parametrize("number", [7, "7", "wiki/é 7", 2**70])
def test_coqa_ids_are_text_on_both_sides(number: Any) -> None:
    references = read_coqa_references(_json({"data": [_story(id=number)]}), "r.json")
    predictions = read_coqa_predictions(_json([{"id": number, "turn_id": "2", "answer": "x"}]), "p.json")
    assert references.table.column("question_id").to_pylist() == [str(number)] * 2
    assert predictions.table.to_pylist() == [{"question_id": str(number), "turn_id": 2, "prediction": "x"}]
    assert predictions.counts == {"turn_id_as_text": 1}


def test_coqa_of_doubled_predictions_the_last_wins_and_they_are_counted() -> None:
    """R40: what stands twice is counted, by the key as it is compared."""
    rows = [{"id": "5", "turn_id": 1, "answer": "a"}, {"id": 5, "turn_id": "1", "answer": "b"}]
    loaded = read_coqa_predictions(_json(rows), "p.json")
    assert loaded.table.to_pylist() == [{"question_id": "5", "turn_id": 1, "prediction": "b"}]
    assert loaded.counts["duplicate_predictions"] == 1


def test_coqa_null_and_empty_and_null_like_answers_stay_apart() -> None:
    """R36, R50: null is null, the words null and None are words."""
    answers = [None, "", "null", "None", "NA", "nan"]
    loaded = read_coqa_predictions(_json([{"id": "s", "turn_id": n, "answer": a} for n, a in enumerate(answers)]), "p.json")
    assert loaded.table.column("prediction").to_pylist() == answers


_COQA_WRONG: dict[str, tuple[Any, type[Exception], list[str]]] = {
    "fewer additional answers": (
        *([_story(additional_answers={"0": _annotator("a", "b"), "1": _annotator("a")})], FormatError),
        ["'s1'", "additional_answers[1]", "1 turns", "has 2", "turn 2"],
    ),
    "more additional answers": (
        *([_story(additional_answers={"0": _annotator("a", "b", "c")})], FormatError),
        ["'s1'", "additional_answers[0]", "3 turns", "turn 3"],
    ),
    "additional answers of other turns": (
        *([_story(additional_answers={"0": [*_annotator("a"), {"input_text": "b", "turn_id": 9}]})], FormatError),
        ["'s1'", "additional_answers[0]", "turn 2"],
    ),
    "no answers": ([{"id": "s1", "questions": []}], FormatError, ["answers", "data[0]"]),
    "no id": ([{"questions": [], "answers": []}], FormatError, ["id", "data[0]"]),
    "float id": ([_story(), _story(id=1.5)], FormatError, ["float", "data[1].id"]),
    "null answer": (
        *([_story(answers=[{"input_text": None, "turn_id": 1}])], FormatError),
        ["data[0].answers[0].input_text", "null"],
    ),
    "truth value for a turn": ([_story(questions=[{"input_text": "", "turn_id": True}])], FormatError, ["bool", "turn_id"]),
    "two stories of one id": ([_story(), _story(id="s2"), _story()], KeyMismatchError, ["2 turns", "'s1'", "turn 1"]),
    "one story as number and as text": ([_story(id=3), _story(id="3")], KeyMismatchError, ["'3'"]),
    "not a list of stories": ({"s1": _story()}, FormatError, ["array", "object", "data"]),
}


@pytest.mark.parametrize("name", list(_COQA_WRONG))
def test_coqa_references_that_are_wrong(name: str) -> None:
    data, kind, said = _COQA_WRONG[name]
    with pytest.raises(kind) as caught:
        read_coqa_references(_json({"data": data}), "r.json")
    assert [s for s in ["r.json", *said] if s not in str(caught.value)] == [], str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("turn", ["one", "1.0", "", "-1", "١", "1" * 30, 1.0, None, [1]])
def test_coqa_turns_are_whole_numbers(turn: Any) -> None:
    rows = [{"id": "s1", "turn_id": 1, "answer": "a"}, {"id": "s1", "turn_id": turn, "answer": "b"}]
    with pytest.raises(FormatError) as caught:
        read_coqa_predictions(_json(rows), "p.json")
    assert "p.json" in str(caught.value)
    assert "turn_id" in str(caught.value)


# SQuAD's layout.


def test_squad_references_have_spans_and_context() -> None:
    """R09: the end is start + length, in code points, half-open."""
    answers = [{"text": "Rhein", "answer_start": 6}, {"text": "der Rhein", "answer_start": 2}]
    data = _paragraph({"id": 51870, "question": "Was?", "answers": answers}, context="😀 der Rhein", document_id=9)
    loaded = read_squad_references(data, "r.json")
    assert loaded.table.to_pylist() == [
        {
            "question_id": "51870",
            "references": ["Rhein", "der Rhein"],
            "question": "Was?",
            "title": "Rhein",
            "reference_spans": [{"start": 6, "end": 11}, {"start": 2, "end": 11}],
            "document_id": "9",
            "has_answer": True,
            "context": "😀 der Rhein",
        }
    ]
    assert (loaded.notes, loaded.official) == ((), True)


def test_squad_stray_blanks_stay() -> None:
    answers = [{"text": " Rhein ", "answer_start": 3}]
    loaded = read_squad_references(_paragraph({"id": "q", "answers": answers}, context="der Rhein ist"), "r.json")
    assert loaded.table.column("references").to_pylist() == [[" Rhein "]]
    assert loaded.counts == {}


def test_squad_questions_without_answers_or_positions() -> None:
    """R11: a question without an answer is kept, and is marked."""
    data = _paragraph(
        {"id": "none", "answers": [], "is_impossible": True, "plausible_answers": [{"text": "x", "answer_start": 99}]},
        {"id": "absent"},
        {"id": "text only", "answers": [{"text": "a"}]},
        context="abc",
    )
    table = read_squad_references(data, "r.json").table
    assert table.column("references").to_pylist() == [[], [], ["a"]]
    assert table.column("reference_spans").to_pylist() == [[], [], []]
    assert table.column("has_answer").to_pylist() == [False, False, True]


def test_squad_same_question_text_is_not_one_question() -> None:
    """R03: rows go by id, never by the question's text."""
    data = _paragraph({"id": 1, "question": "Was?", "answers": []}, {"id": 2, "question": "Was?", "answers": []})
    assert read_squad_references(data, "r.json").table.column("question_id").to_pylist() == ["1", "2"]


def test_squad_paragraphs_without_context_are_not_checked() -> None:
    data = _paragraph({"id": 1, "answers": [{"text": "Rhein", "answer_start": 99}]})
    table = read_squad_references(data, "r.json").table
    assert table.column("reference_spans").to_pylist() == [[{"start": 99, "end": 104}]]
    assert table.column("context").to_pylist() == [None]


def test_squad_text_that_is_not_at_its_offset_is_counted() -> None:
    answers = [{"text": "Rhein", "answer_start": 3}, {"text": "Rhein", "answer_start": 4}]
    loaded = read_squad_references(_paragraph({"id": 1, "answers": answers}, context="der Rhein."), "r.json")
    assert loaded.counts == {"span_mismatches": 1}
    assert len(loaded.notes) == 1


_SQUAD_WRONG: dict[str, tuple[dict[str, Any], list[str]]] = {
    "offset past the context": (
        {"id": 5, "answers": [{"text": "Rhein", "answer_start": 5}]},
        ["question 5", "5", "9 characters"],
    ),
    "offset before the context": ({"id": "q", "answers": [{"text": "", "answer_start": -1}]}, ["'q'", "answer_start -1"]),
    "offset as text": ({"id": 5, "answers": [{"text": "a", "answer_start": "5"}]}, ["str", "qas[0].answers[0].answer_start"]),
    "offset as float": ({"id": 5, "answers": [{"text": "a", "answer_start": 5.5}]}, ["float", "answer_start"]),
    "answer as text": ({"id": 5, "answers": ["Rhein"]}, ["str", "qas[0].answers[0]"]),
    "float id": ({"id": 5.0, "answers": []}, ["float", "data[0].paragraphs[0].qas[0].id"]),
    "null id": ({"id": None, "answers": []}, ["null", "qas[0].id"]),
    "no id": ({"answers": []}, ["id", "qas[0]"]),
    "answers as an object": ({"id": 1, "answers": {"text": ["a"], "answer_start": [0]}}, ["array", "qas[0].answers"]),
}


@pytest.mark.parametrize("name", list(_SQUAD_WRONG))
def test_squad_references_that_are_wrong(name: str) -> None:
    question, said = _SQUAD_WRONG[name]
    with pytest.raises(FormatError) as caught:
        read_squad_references(_paragraph(question, context="der Rhein"), "r.json")
    assert [s for s in ["r.json", *said] if s not in str(caught.value)] == [], str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(("one", "other"), [(5, 5), (5, "5"), ("q", "q")])
def test_squad_doubled_ids_are_an_error_that_names_them(one: Any, other: Any) -> None:
    with pytest.raises(KeyMismatchError, match=f"'{one}' stands twice"):
        read_squad_references(_paragraph({"id": one, "answers": []}, {"id": other, "answers": []}), "r.json")


def test_squad_predictions_in_their_three_layouts() -> None:
    given = {
        "1": "Rhein",
        "2": {"text": "Rhein", "start": 4, "end": 9},
        "3": [{"text": "a", "start": 0, "end": 1, "score": 0.9}, {"text": "", "start": None, "score": 0.1}],
        "4": [{"text": "bc", "start": 1, "probability": 0.5}],
        "5": None,
        "6": [],
        "7": {"text": None},
    }
    table = read_squad_predictions(_json(given), "p.json").table
    assert table.column("question_id").to_pylist() == list(given)
    assert table.column("prediction").to_pylist() == ["Rhein", "Rhein", "a", "bc", None, None, None]
    assert table.column("prediction_spans").to_pylist() == [
        [],
        [{"start": 4, "end": 9, "score": None}],
        [{"start": 0, "end": 1, "score": 0.9}, {"start": None, "end": None, "score": 0.1}],
        [{"start": 1, "end": 3, "score": 0.5}],
        [],
        [],
        [{"start": None, "end": None, "score": None}],
    ]


def test_squad_predictions_of_text_alone_have_no_spans() -> None:
    assert read_squad_predictions(b'{"1": "a", "2": null}', "p.json").table.column_names == ["question_id", "prediction"]


def test_squad_of_doubled_predictions_the_last_wins_and_they_are_counted() -> None:
    """R40: Python's parser keeps the last of two keys and says nothing; here they are counted."""
    loaded = read_squad_predictions(b'{"1": "a", "2": "b", "1": "c", "1": "d"}', "p.json")
    assert loaded.table.to_pydict() == {"question_id": ["1", "2"], "prediction": ["d", "b"]}
    assert loaded.counts == {"duplicate_predictions": 2}


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        (5, ["int"]),
        (True, ["bool"]),
        ([1], ["int", "[0]"]),
        (["a"], ["str", "[0]"]),
        ({"text": 5}, ["int", "text"]),
        ([{"text": "a", "start": 1.5}], ["float", "[0].start"]),
        ([{"text": "a"}, {"text": "a", "score": "high"}], ["str", "[1].score"]),
        ({"text": "a", "start": -1, "end": 2}, ["-1"]),
        ({"text": "a", "start": 5, "end": 2}, ["5", "2"]),
    ],
)
def test_squad_predictions_that_are_wrong_name_the_question(entry: Any, said: list[str]) -> None:
    with pytest.raises(FormatError) as caught:
        read_squad_predictions(_json({"q1": "fine", "q2": entry}), "p.json")
    assert [s for s in ["p.json", "'q2'", *said] if s not in str(caught.value)] == [], str(caught.value)
    assert "\n" not in str(caught.value)


def test_no_answer_probabilities() -> None:
    table = read_na_probs(b'{"a": 0.1, "b": 1, "c": 1e-5}', "n.json")
    assert table.to_pydict() == {"question_id": ["a", "b", "c"], "na_prob": [0.1, 1.0, 1e-5]}
    with pytest.raises(FormatError, match=r"n\.json: question 'b': .*`str`"):
        read_na_probs(b'{"a": 0.1, "b": "0.5"}', "n.json")


def test_real_files_are_read_whole() -> None:
    german = read_references(shared_path("data/german/germanquad-test.json"))
    assert (german.table.num_rows, german.format, german.counts) == (2204, "squad", {})
    coqa = read_references(shared_path("data/coqa/train-32dialogues.json"))
    assert coqa.format == "coqa"
    squad = read_references(shared_path("data/squad/dev-v1.1.json"))
    assert squad.table.num_rows == 10570


# Positions of predictions.


def test_positions_beside_the_context_are_counted() -> None:
    """R09: an offset in another convention shows in the counts."""
    spans = [[(0, 3)], [(4, 9), (90, 91)], [(None, None)], [], None, [(4, 10)], [(3, 4)], [(1, 2)]]
    table = pa.table(
        {
            "prediction": ["der", "Rhein", "", "x", None, "Rhein.", "x", "x"],
            "prediction_spans": pa.array(
                [None if row is None else [{"start": s, "end": e} for s, e in row] for row in spans],
                pa.list_(pa.struct([("start", pa.int64()), ("end", pa.int64())])),
            ),
            "context": pa.array(["der Rhein"] * 7 + [None]).dictionary_encode(),
        }
    )
    expected = {"spans_outside_context": 2, "text_not_at_offset": 1}
    assert count_misplaced(table) == expected
    assert count_misplaced(table.set_column(2, "context", table.column(2).cast(pa.string()))) == expected
    cut = pa.concat_tables([table.slice(0, 3), table.slice(3)])
    assert count_misplaced(cut) == expected
    assert count_misplaced(table.drop_columns("context")) == {}
    assert count_misplaced(table.slice(0, 0)) == {}


# JSON itself.


@pytest.mark.parametrize(
    ("escaped", "text", "count"),
    [
        (r"\ud83d\ude00", "😀", 0),
        (r"\ud83d", "\ufffd", 1),
        (r"\ude00", "\ufffd", 1),
        (r"\ude00\ud83d", "\ufffd\ufffd", 2),
        (r"\ud83d\ud83d\ude00", "\ufffd😀", 1),
        (r"\ud83dx\ude00", "\ufffdx\ufffd", 2),
        (r"\\ud83d", "\\ud83d", 0),
        (r"\\\ud83d", "\\\ufffd", 1),
        (r"\uD83D\uDE00\uD83D", "😀\ufffd", 1),
        (r"\ud83d\n\ude00", "\ufffd\n\ufffd", 2),
        (r"\ud83d\\ude00", "\ufffd\\ude00", 1),
    ],
)
def test_lone_surrogates_are_replaced_and_counted(escaped: str, text: str, count: int) -> None:
    assert decode_json(f'["{escaped}"]'.encode(), list[str], "p.json") == ([text], count)
    entries, _, repaired = decode_entries(f'{{"{escaped}": "{escaped}"}}'.encode(), str, "p.json")
    assert (entries, repaired) == ({text: text}, 2 * count)


@given(st.text(alphabet=st.one_of(st.sampled_from('\ud83d\ude00\udfff\ud800\\"nu'), st.characters()), max_size=9))
def test_repaired_text_against_python(text: str) -> None:
    """Python's own parser pairs surrogates; UTF-16 then replaces what is left alone."""
    data = json.dumps([text]).encode()
    repaired, count = repair_surrogates(data)
    paired = json.loads(data)[0].encode("utf-16-le", "surrogatepass")
    assert json.loads(repaired)[0] == paired.decode("utf-16-le", "replace")
    assert (count > 0) == (repaired != data)


def test_surrogates_are_noted_by_the_readers() -> None:
    for loaded in (
        read_squad_predictions(rb'{"1": "\ud83d"}', "p.json"),
        read_coqa_predictions(rb'[{"id": "s", "turn_id": 1, "answer": "\ud83d"}]', "p.json"),
        read_squad_references(_paragraph({"id": 1, "question": "\ud83d"}), "r.json"),
    ):
        assert loaded.counts == {"lone_surrogates": 1}
        assert "U+FFFD" in loaded.notes[0]


@pytest.mark.parametrize(
    "data",
    [
        b"[",
        b'{"1": "a"',
        b'{"1": "a"}}',
        b'{"1": "a"} {"2": "b"}',
        b"{'1': 'a'}",
        b'{"1": NaN}',
        b'{"1": "a\nb"}',
        b"[" * 100_000,
    ],
)
def test_no_json_or_cut_short(data: bytes) -> None:
    readers: tuple[Callable[[bytes, str], Any], ...] = (
        *(read_coqa_predictions, read_coqa_references, read_squad_predictions, read_squad_references, read_na_probs),
    )
    for reader in readers:
        with pytest.raises(FormatError) as caught:
            reader(data, "x.json")
        assert str(caught.value).startswith("x.json: ")
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("reader", "data"),
    [
        (read_squad_predictions, b'{"a":\n"\xff"}'),
        (read_squad_predictions, b'{"a": "b",\n"\xff": "c"}'),
        (read_coqa_predictions, b'[{"id": "s", "turn_id": 1,\n"answer": "\xff"}]'),
        (read_coqa_references, b'{"data": [{"id": "s", "questions": [],\n"answers": [{"turn_id": 1, "input_text": "\xff"}]}]}'),
        (read_squad_references, b'{"data": [{"paragraphs": [{"qas": [],\n"context": "\xff"}]}]}'),
    ],
)
def test_text_that_is_not_utf8_names_the_line(reader: Callable[[bytes, str], Any], data: bytes) -> None:
    with pytest.raises(EncodingError, match=r"x\.json: line 2 .*0xff"):
        reader(data, "x.json")


def test_bytes_of_a_file(tmp_path: Path) -> None:
    """A byte order mark goes (R52), gzip and zstd are unpacked whatever the file is called."""
    for name, data in {
        "plain.json": b"{}",
        "bom.json": b"\xef\xbb\xbf{}",
        "packed.json": gzip.compress(b"{}", mtime=0),
        "packed.json.zst": _zstd(b"\xef\xbb\xbf{}"),
    }.items():
        (tmp_path / name).write_bytes(data)
        assert read_bytes(tmp_path / name) == b"{}", name


def _zstd(data: bytes) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, "zstd") as stream:
        stream.write(data)
    return bytes(sink.getvalue())


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "empty"),
        (b"  \n", "empty"),
        (b"\xef\xbb\xbf", "empty"),
        (gzip.compress(b"{}", mtime=0)[:-6], "gz"),
        (gzip.compress(b"{}" * 99, mtime=0)[:15] + b"\0" * 20, "gz"),
        (_zstd(b"{}")[:-2], "zst"),
        (gzip.compress(b"", mtime=0), "empty"),
    ],
)
def test_bytes_that_cannot_be_had(tmp_path: Path, data: bytes, said: str) -> None:
    path = tmp_path / "x.json"
    path.write_bytes(data)
    for read in (read_bytes, read_predictions, read_references):
        with pytest.raises(FormatError, match=said):
            read(path)


def test_files_that_are_not_there(tmp_path: Path) -> None:
    for read in (read_bytes, read_predictions, read_references):
        with pytest.raises(UsageError, match="no such file"):
            read(tmp_path / "none.json")
        with pytest.raises(UsageError, match="folder"):
            read(tmp_path)


# Which format a file has.

_SHAPES: dict[str, tuple[str, bytes]] = {
    "coqa predictions": ("coqa", b' [{"id": "s"}]'),
    "coqa references": ("coqa", _json({"version": "1.0", "data": [_story()]})),
    "squad references": ("squad", _paragraph({"id": 1, "answers": []}, context="x")),
    "squad references on lines": ("squad", json.dumps(json.loads(_paragraph({"id": 1})), indent=1).encode()),
    "squad references and a line feed": ("squad", _paragraph({"id": 1}, context="x") + b"\n"),
    "squad predictions": ("squad", b'{"1": "a"}'),
    "squad predictions and a line feed": ("squad", b'{"1": "a"}\n'),
    "squad predictions on lines": ("squad", b'{\n"1": "a",\n"2": "b"\n}\n'),
    "squad predictions that speak of tables": ("squad", b'{"1": "the prediction: references"}'),
    "json lines": ("jsonl", b'{"prediction": "a"}\n{"prediction": "b"}\n'),
    "json lines of other names": ("jsonl", b'{"answer": "a"}\n{"answer": "b"}'),
    "one json line": ("jsonl", b'{"question_id": 1, "prediction": "a", "references": ["a"]}'),
    "json lines that speak of data": ("jsonl", b'{"prediction": "\\"data\\": ["}\n{"prediction": "b"}\n'),
    "csv": ("csv", b"prediction,references\na,b\n"),
    "byte order mark": ("squad", b'\xef\xbb\xbf{"1": "a"}'),
}


@pytest.mark.parametrize("name", list(_SHAPES))
def test_format_from_content(tmp_path: Path, name: str) -> None:
    expected, data = _SHAPES[name]
    for suffix, packed in {"": data, ".gz": gzip.compress(data, mtime=0), ".zst": _zstd(data)}.items():
        path = tmp_path / f"file{suffix}"
        path.write_bytes(packed)
        assert format_of(path) == expected, suffix


def test_format_by_name(tmp_path: Path) -> None:
    for name in FORMATS:
        assert format_of(tmp_path / "none", name.upper()) == name
    assert format_of(tmp_path / "none", "GermanQuAD") == "squad"
    with pytest.raises(UnknownNameError, match=r"'sqad'.*Did you mean 'squad'"):
        format_of(tmp_path / "none", "sqad")


def test_format_named_wins_over_content() -> None:
    with pytest.raises(FormatError, match=r"required field `id` \(at data\[0\], which has paragraphs\)"):
        read_references(DATA / "germanquad-references.json", "coqa")


def test_sides_that_were_swapped_are_an_error() -> None:
    for pair in ("coqa", "germanquad"):
        with pytest.raises(FormatError, match="a file of references where predictions are expected; the order is"):
            read_predictions(DATA / f"{pair}-references.json")
        with pytest.raises(FormatError, match="a file of predictions where references are expected; the order is"):
            read_references(DATA / f"{pair}-predictions.json")

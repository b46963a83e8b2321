"""CoQA's official JSON: stories with turns and up to four annotators as references, and a list of predictions.

Source of the rules: the official evaluate-v1.0 script and the CoQA paper (arXiv 1808.07042).
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import msgspec
import pyarrow as pa

from fastscore.errors import FormatError, KeyMismatchError
from fastscore.formats.json_text import counted, decode_json, twice_note
from fastscore.formats.loaded import Loaded

__all__ = ["DOMAINS", "read_coqa_predictions", "read_coqa_references"]

#: The official domain of each source, in the order of the official output.
DOMAINS = {
    "mctest": "children_stories",
    "gutenberg": "literature",
    "race": "mid-high_school",
    "cnn": "news",
    "wikipedia": "wikipedia",
    "reddit": "reddit",
    "science": "science",
}
_KEYS = ("question_id", "turn_id")
_LAYOUT = "CoQA's predictions are [{id, turn_id, answer}]; columns of other names go into .jsonl, .csv or .parquet"
Turn = int | str
Id = int | str


class _Answer(msgspec.Struct):
    input_text: str
    turn_id: Turn


class _Question(msgspec.Struct):
    input_text: str
    turn_id: Turn


class _Story(msgspec.Struct):
    id: Id
    questions: list[_Question]
    answers: list[_Answer]
    source: str = ""
    additional_answers: dict[str, list[_Answer]] = msgspec.field(default_factory=dict)


class _File(msgspec.Struct):
    data: list[_Story]


class _Prediction(msgspec.Struct):
    id: Id
    turn_id: Turn
    answer: str | None


def read_coqa_references(data: bytes, name: str) -> Loaded:
    """Read stories: one row a turn, in the file's order, with the references in the order answers, additional_answers.

    A story without ``additional_answers`` has one reference a turn.

    Raises
    ------
    FormatError
        The file is of another shape; a story's answers and questions, or an annotator's, do not match turn for turn.
    KeyMismatchError
        Two stories have one id, or a story has a turn twice.
    """
    file, repaired = decode_json(data, _File, name)
    columns: dict[str, list[Any]] = {c: [] for c in (*_KEYS, "question", "references", "source", "domain")}
    for story in file.data:
        story.id = str(story.id)
        annotators = {"answers": story.answers, **{f"additional_answers[{k}]": v for k, v in story.additional_answers.items()}}
        turns = [_turn(q.turn_id, name, story.id) for q in story.questions]
        for who, answers in annotators.items():
            theirs = [_turn(a.turn_id, name, story.id) for a in answers]
            if theirs != turns:
                missing = sorted(set(turns) - set(theirs)) or sorted(set(theirs) - set(turns)) or turns[:1]
                raise FormatError(
                    f"{name}: story {story.id!r}: {who} has {len(theirs)} turns, questions has {len(turns)}; "
                    f"they must agree turn for turn (first difference at turn {missing[0]})"
                )
        columns["question_id"] += [story.id] * len(turns)
        columns["turn_id"] += turns
        columns["question"] += [q.input_text for q in story.questions]
        columns["references"] += [[answers[i].input_text for answers in annotators.values()] for i in range(len(turns))]
        columns["source"] += [story.source] * len(turns)
        columns["domain"] += [DOMAINS.get(story.source, story.source)] * len(turns)
    doubled = [k for k, n in Counter(zip(columns["question_id"], columns["turn_id"], strict=True)).items() if n > 1]
    if doubled:
        raise KeyMismatchError(f"{name}: {len(doubled)} turns stand twice, such as story {doubled[0][0]!r} turn {doubled[0][1]}")
    types = {"turn_id": pa.int64(), "references": pa.list_(pa.string())}
    table = pa.table({c: pa.array(v, type=types.get(c, pa.string())) for c, v in columns.items()})
    notes, counts = counted(repaired)
    return Loaded(table, "coqa", _KEYS, notes, counts, official=True)


def read_coqa_predictions(data: bytes, name: str) -> Loaded:
    """Read predictions ``[{id, turn_id, answer}]``; of several for one turn the last wins, as in the script.

    A turn number given as text is read as the number, and counted; a story id given as a number is read as text.
    """
    rows, repaired = decode_json(data, list[_Prediction], name, _LAYOUT)
    notes, counts = counted(repaired)
    as_text = sum(isinstance(r.turn_id, str) for r in rows)
    if as_text:
        notes += (f"{as_text} turn_id values are text and were read as numbers",)
        counts["turn_id_as_text"] = as_text
    last = {(str(r.id), _turn(r.turn_id, name, r.id)): r.answer for r in rows}
    if len(last) < len(rows):
        notes += (twice_note(len(rows) - len(last), "turn"),)
        counts["duplicate_predictions"] = len(rows) - len(last)
    table = pa.table(
        {
            "question_id": pa.array([k[0] for k in last], type=pa.string()),
            "turn_id": pa.array([k[1] for k in last], type=pa.int64()),
            "prediction": pa.array(list(last.values()), type=pa.string()),
        }
    )
    return Loaded(table, "coqa", _KEYS, notes, counts, official=True)


def _turn(value: Turn, name: str, story: Id) -> int:
    if isinstance(value, str):
        if not (value.isascii() and value.strip().isdigit() and len(value) < 19):
            raise FormatError(f"{name}: story {story!r}: turn_id must be a whole number, got {value!r}")
        return int(value)
    return value

"""TopiOCQA's JSON: turns with an answer and additional answers, and predictions of its two readers.

Source: evaluate_reader.py of McGill-NLP/topiocqa; keys are Conversation_no and Turn_no, as question_id and turn_id here.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import msgspec
import pyarrow as pa

from fastscore.errors import FormatError, KeyMismatchError
from fastscore.formats.json_text import counted, decode_json, twice_note
from fastscore.formats.loaded import Loaded

__all__ = ["read_topiocqa_predictions", "read_topiocqa_references"]

_KEYS = ("question_id", "turn_id")


class _Additional(msgspec.Struct):
    Answer: str


class _Turn(msgspec.Struct):
    Conversation_no: int | str
    Turn_no: int | str
    Answer: str
    Additional_answers: list[_Additional] = msgspec.field(default_factory=list)
    Question: str = ""
    Topic: str = ""


class _Span(msgspec.Struct):
    text: str


class _Ranked(msgspec.Struct):
    prediction: _Span
    top_k: int | None = None


class _Prediction(msgspec.Struct):
    conv_id: int | str
    turn_id: int | str
    predictions: list[str | _Ranked]


def read_topiocqa_references(data: bytes, name: str) -> Loaded:
    """Read turns: one row a turn, in the file's order; references are Answer, then the additional answers in order.

    Columns: question_id (the conversation), turn_id, references, question, topic.

    Raises
    ------
    FormatError
        The file is of another shape.
    KeyMismatchError
        A turn stands twice (the script stops there too).
    """
    turns, repaired = decode_json(data, list[_Turn], name)
    keys = [(_text(t.Conversation_no), _number(t.Turn_no, name)) for t in turns]
    if len(set(keys)) < len(keys):
        doubled = Counter(keys).most_common(1)[0][0]
        raise KeyMismatchError(f"{name}: conversation {doubled[0]} turn {doubled[1]} stands twice; keys must be unique")
    columns: dict[str, Any] = {
        **_key_columns(keys),
        "references": pa.array([[t.Answer, *(a.Answer for a in t.Additional_answers)] for t in turns], pa.list_(pa.string())),
        "question": pa.array([t.Question for t in turns], pa.string()),
        "topic": pa.array([t.Topic for t in turns], pa.string()),
    }
    notes, counts = counted(repaired)
    return Loaded(pa.table(columns), "topiocqa", _KEYS, notes, counts, official=True)


def read_topiocqa_predictions(data: bytes, name: str) -> Loaded:
    """Read predictions: ``[{conv_id, turn_id, predictions: [text, ...]}]`` (FiD) or with ``{top_k, prediction: {text}}`` (DPR).

    The first of a turn's predictions counts (of DPR's, that of its first top_k); of two entries for one turn the last wins, as in
    the script.

    Raises
    ------
    FormatError
        The file is of another shape.
    """
    entries, repaired = decode_json(data, list[_Prediction], name)
    last: dict[tuple[str, int], str | None] = {}
    ranked = 0
    for entry in entries:
        first = entry.predictions[0] if entry.predictions else None
        ranked += isinstance(first, _Ranked) and len(entry.predictions) > 1
        key = _text(entry.conv_id), _number(entry.turn_id, name)
        last[key] = first.prediction.text if isinstance(first, _Ranked) else first
    notes, counts = counted(repaired)
    if ranked:
        notes += (f"{ranked} turns have predictions for several top_k; the first one counts",)
        counts["several_top_k"] = ranked
    if len(last) < len(entries):
        notes += (twice_note(len(entries) - len(last), "turn"),)
        counts["duplicate_predictions"] = len(entries) - len(last)
    table = pa.table({**_key_columns(list(last)), "prediction": pa.array(list(last.values()), pa.string())})
    return Loaded(table, "topiocqa", _KEYS, notes, counts, official=True)


def _key_columns(keys: list[tuple[str, int]]) -> dict[str, Any]:
    return {
        "question_id": pa.array([k[0] for k in keys], pa.string()),
        "turn_id": pa.array([k[1] for k in keys], pa.int64()),
    }


def _text(value: int | str) -> str:
    return str(value).strip()


def _number(value: int | str, name: str) -> int:
    try:
        return int(value)
    except ValueError:
        raise FormatError(f"{name}: a turn's number must be a whole number, got {value!r}") from None

"""CJRC's JSON: SQuAD's shape with a domain (civil, criminal) to each case, and predictions ``[{id, answer}]``.

Source: CJRC's evaluation script. A question without an answer has one empty reference; only a case's first paragraph counts.
"""

from __future__ import annotations

from typing import Any

import msgspec
import pyarrow as pa

from fastscore.errors import KeyMismatchError
from fastscore.formats.json_text import counted, decode_json, twice_note
from fastscore.formats.loaded import Loaded

__all__ = ["read_cjrc_predictions", "read_cjrc_references"]


class _Answer(msgspec.Struct):
    text: str


class _Question(msgspec.Struct):
    id: str | int
    answers: list[_Answer]
    question: str = ""


class _Paragraph(msgspec.Struct):
    qas: list[_Question]


class _Case(msgspec.Struct):
    domain: str
    paragraphs: list[_Paragraph]


class _File(msgspec.Struct):
    data: list[_Case]


class _Prediction(msgspec.Struct):
    id: str | int
    answer: str | None


def read_cjrc_references(data: bytes, name: str) -> Loaded:
    """Read questions: one row a question; columns question_id, references, question, domain.

    Raises
    ------
    FormatError
        The file is of another shape.
    KeyMismatchError
        A question id stands twice.
    """
    file, repaired = decode_json(data, _File, name)
    rows = [
        (str(q.id), [a.text for a in q.answers] or [""], q.question, case.domain)
        for case in file.data
        for q in (case.paragraphs[0].qas if case.paragraphs else ())
    ]
    notes, counts = counted(repaired)
    skipped = sum(len(p.qas) for case in file.data for p in case.paragraphs[1:])
    if skipped:
        notes += (f"{skipped} questions stand in a case's later paragraphs, which the script does not read",)
        counts["later_paragraphs"] = skipped
    seen: set[str] = set()
    for row in rows:
        if row[0] in seen:
            raise KeyMismatchError(f"{name}: question id {row[0]!r} stands twice; ids must be unique")
        seen.add(row[0])
    names = ("question_id", "references", "question", "domain")
    types: dict[str, Any] = {"references": pa.list_(pa.string())}
    columns = {c: pa.array([row[i] for row in rows], types.get(c, pa.string())) for i, c in enumerate(names)}
    return Loaded(pa.table(columns), "cjrc", ("question_id",), notes, counts, official=True)


def read_cjrc_predictions(data: bytes, name: str) -> Loaded:
    """Read predictions ``[{id, answer}]``; of two for one question the last wins, as in the script."""
    entries, repaired = decode_json(data, list[_Prediction], name)
    last = {str(e.id): e.answer for e in entries}
    notes, counts = counted(repaired)
    if len(last) < len(entries):
        notes += (twice_note(len(entries) - len(last), "question"),)
        counts["duplicate_predictions"] = len(entries) - len(last)
    table = pa.table({"question_id": pa.array(list(last), pa.string()), "prediction": pa.array(list(last.values()), pa.string())})
    return Loaded(table, "cjrc", ("question_id",), notes, counts, official=True)

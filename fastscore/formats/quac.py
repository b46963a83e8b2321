"""QuAC's JSON: dialogs of questions with annotators' answers, and its predictions, one dialog a line.

Source: QuAC's scorer. Beside the texts come the dialog acts (yesno, followup) that its official output counts.
"""

from __future__ import annotations

from typing import Any

import msgspec
import pyarrow as pa

from fastscore.errors import FormatError, KeyMismatchError
from fastscore.formats.json_text import counted, decode_json, twice_note
from fastscore.formats.loaded import Loaded
from fastscore.formats.typed_lines import decode_lines

__all__ = ["read_quac_predictions", "read_quac_references"]


class _Answer(msgspec.Struct):
    text: str


class _Question(msgspec.Struct):
    id: str
    answers: list[_Answer]
    question: str = ""
    yesno: str = ""
    followup: str = ""


class _Paragraph(msgspec.Struct):
    id: str
    qas: list[_Question]


class _Section(msgspec.Struct):
    paragraphs: list[_Paragraph]
    title: str = ""


class _File(msgspec.Struct):
    data: list[_Section]


class _Dialog(msgspec.Struct):
    qid: list[str]
    best_span_str: list[str]
    yesno: list[str | None] = msgspec.field(default_factory=list)
    followup: list[str | None] = msgspec.field(default_factory=list)


def read_quac_references(data: bytes, name: str) -> Loaded:
    """Read questions: one row a question, in the file's order.

    Columns: question_id, dialog_id, references, question, title, yesno, followup.

    Raises
    ------
    FormatError
        The file is of another shape.
    KeyMismatchError
        A question id stands twice.
    """
    file, repaired = decode_json(data, _File, name)
    names = ("question_id", "dialog_id", "references", "question", "title", "yesno", "followup")
    rows = [
        (q.id, p.id, [a.text for a in q.answers], q.question, section.title, q.yesno, q.followup)
        for section in file.data
        for p in section.paragraphs
        for q in p.qas
    ]
    ids: set[str] = set()
    for row in rows:
        if row[0] in ids:
            raise KeyMismatchError(f"{name}: question id {row[0]!r} stands twice; ids must be unique")
        ids.add(row[0])
    types = {"references": pa.list_(pa.string())}
    columns = {c: pa.array([row[i] for row in rows], types.get(c, pa.string())) for i, c in enumerate(names)}
    notes, counts = counted(repaired)
    return Loaded(pa.table(columns), "quac", ("question_id",), notes, counts, official=True)


def read_quac_predictions(data: bytes, name: str) -> Loaded:
    """Read a dialog a line: ``{"qid": [...], "best_span_str": [...], "yesno": [...], "followup": [...]}``, lists of one length.

    Columns: question_id, prediction, predicted_yesno, predicted_followup. Of two for one question the last wins.

    Raises
    ------
    FormatError
        A line is of another shape, or its lists differ in length.
    """
    dialogs, repaired = decode_lines(data, _Dialog, name)
    last: dict[str, tuple[Any, ...]] = {}
    given = 0
    for number, dialog in enumerate(dialogs, 1):
        size = len(dialog.qid)
        acts: list[list[str | None]] = [acts or [None] * size for acts in (dialog.yesno, dialog.followup)]
        if {len(dialog.best_span_str), *map(len, acts)} != {size}:
            sizes = ", ".join(f"{f} {len(getattr(dialog, f))}" for f in ("qid", "best_span_str", "yesno", "followup"))
            raise FormatError(f"{name}: record {number}: its lists must be of one length, got {sizes}")
        last.update(zip(dialog.qid, zip(dialog.best_span_str, *acts, strict=True), strict=True))
        given += size
    notes, counts = counted(repaired)
    if len(last) < given:
        notes += (twice_note(given - len(last), "question"),)
        counts["duplicate_predictions"] = given - len(last)
    names = ("prediction", "predicted_yesno", "predicted_followup")
    columns = {c: pa.array([row[i] for row in last.values()], pa.string()) for i, c in enumerate(names)}
    table = pa.table({"question_id": pa.array(list(last), pa.string()), **columns})
    return Loaded(table, "quac", ("question_id",), notes, counts, official=True)

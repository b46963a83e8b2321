"""TriviaQA's references: the official JSON (``Data`` with ``NormalizedAliases``) and the same as JSON Lines.

Source: TriviaQA's evaluation script, which compares with the normalised aliases and then people's answers. In its web domain
a key is question and document, ``ID--FILENAME``; elsewhere it is the question's id. Predictions are ``{id: text}``, as SQuAD's.
"""

from __future__ import annotations

import re

import msgspec
import pyarrow as pa

from fastscore.errors import FormatError, KeyMismatchError
from fastscore.formats.json_text import counted, decode_json
from fastscore.formats.loaded import Loaded
from fastscore.formats.typed_lines import decode_lines

__all__ = ["read_triviaqa"]


class _Gold(msgspec.Struct):
    """An answer, in the official file's names or in those of its JSON Lines."""

    NormalizedAliases: list[str] = msgspec.field(default_factory=list)
    HumanAnswers: list[str] = msgspec.field(default_factory=list)
    Aliases: list[str] = msgspec.field(default_factory=list)
    normalized_aliases: list[str] = msgspec.field(default_factory=list)
    human_answers: list[str] | None = None
    aliases: list[str] = msgspec.field(default_factory=list)
    value: str | None = None

    def texts(self) -> list[str]:
        aliases = self.NormalizedAliases or self.normalized_aliases or self.Aliases or self.aliases
        found = [*aliases, *self.HumanAnswers, *(self.human_answers or ())]
        return found or ([] if self.value is None else [self.value])


class _Page(msgspec.Struct):
    Filename: str = ""


class _Datum(msgspec.Struct):
    QuestionId: str
    Answer: _Gold
    Question: str = ""
    EntityPages: list[_Page] = msgspec.field(default_factory=list)
    SearchResults: list[_Page] = msgspec.field(default_factory=list)


class _File(msgspec.Struct):
    Data: list[_Datum]
    Domain: str = ""


class _Line(msgspec.Struct):
    QuestionId: str | None = None
    question_id: str | None = None
    Answer: _Gold | None = None
    answer: _Gold | None = None
    Question: str = ""
    question: str = ""
    prediction: str | None = None


def read_triviaqa(data: bytes, name: str) -> Loaded:
    """Read the official JSON, or JSON Lines with ``question_id`` and ``answer: {normalized_aliases, aliases, value}``.

    One row a question, in the official web domain a row a question and document; columns question_id, references, question,
    and prediction where lines have it.

    Raises
    ------
    FormatError
        The file or a line is of another shape.
    KeyMismatchError
        A key stands twice.
    """
    return (_read_file if re.match(rb'\s*\{[^{]*"Data"\s*:', data) else _read_lines)(data, name)


def _read_file(data: bytes, name: str) -> Loaded:
    file, repaired = decode_json(data, _File, name)
    rows: list[tuple[str, list[str], str]] = []
    for datum in file.Data:
        keys = [datum.QuestionId]
        if file.Domain == "Web":
            keys = [f"{datum.QuestionId}--{page.Filename}" for page in (*datum.EntityPages, *datum.SearchResults)]
        rows += [(key, datum.Answer.texts(), datum.Question) for key in dict.fromkeys(keys)]
    return _loaded(rows, None, repaired, name)


def _read_lines(data: bytes, name: str) -> Loaded:
    lines, repaired = decode_lines(data, _Line, name)
    rows: list[tuple[str, list[str], str]] = []
    for number, line in enumerate(lines, 1):
        key, gold = line.question_id or line.QuestionId, line.answer or line.Answer
        if key is None or gold is None:
            raise FormatError(f"{name}: record {number}: question_id and answer are needed")
        rows.append((key, gold.texts(), line.question or line.Question))
    predicted = [line.prediction for line in lines]
    return _loaded(rows, predicted if any(p is not None for p in predicted) else None, repaired, name)


def _loaded(rows: list[tuple[str, list[str], str]], predicted: list[str | None] | None, repaired: int, name: str) -> Loaded:
    seen: set[str] = set()
    for key, _, _ in rows:
        if key in seen:
            raise KeyMismatchError(f"{name}: question id {key!r} stands twice; ids must be unique")
        seen.add(key)
    table = pa.table(
        {
            "question_id": pa.array([r[0] for r in rows], pa.string()),
            "references": pa.array([r[1] for r in rows], pa.list_(pa.string())),
            "question": pa.array([r[2] for r in rows], pa.string()),
        }
    )
    if predicted is not None:
        table = table.append_column("prediction", pa.array(predicted, pa.string()))
    notes, counts = counted(repaired)
    return Loaded(table, "triviaqa", ("question_id",), notes, counts, official=True)

"""SQuAD's JSON layout, which GermanQuAD, XQuAD and MLQA share: paragraphs with questions, and predictions by question id.

Positions are code points of the context; an answer's span is ``[answer_start, answer_start + len(text))``. Ids may be JSON
integers (GermanQuAD's are); they are read as text on both sides.
"""

from __future__ import annotations

from typing import Any

import msgspec
import pyarrow as pa

from fastscore.errors import FormatError, KeyMismatchError
from fastscore.formats.json_text import counted, decode_entries, decode_json, twice_note
from fastscore.formats.loaded import Loaded

__all__ = ["read_na_probs", "read_squad_predictions", "read_squad_references"]

SPAN = pa.struct([("start", pa.int64()), ("end", pa.int64())])
SCORED_SPAN = pa.struct([("start", pa.int64()), ("end", pa.int64()), ("score", pa.float64())])


class _Answer(msgspec.Struct):
    text: str
    answer_start: int | None = None


class _Question(msgspec.Struct):
    id: int | str
    question: str = ""
    answers: list[_Answer] = msgspec.field(default_factory=list)


class _Paragraph(msgspec.Struct):
    qas: list[_Question]
    context: str = ""
    document_id: int | str | None = None


class _Article(msgspec.Struct):
    paragraphs: list[_Paragraph]
    title: str = ""


class _File(msgspec.Struct):
    data: list[_Article]


class _Ranked(msgspec.Struct):
    text: str | None
    start: int | None = None
    end: int | None = None
    score: float | None = None
    probability: float | None = None


def read_squad_references(data: bytes, name: str) -> Loaded:
    """Read questions: one row a question, in the file's order.

    Columns: question_id, references, reference_spans, question, title, document_id, has_answer, context. Answers whose text is
    not at their offset in the context are counted as ``span_mismatches``.

    Raises
    ------
    FormatError
        The file is of another shape, or an offset lies outside its context.
    KeyMismatchError
        A question id stands twice.
    """
    file, repaired = decode_json(data, _File, name)
    names = ("question_id", "references", "reference_spans", "question", "title", "document_id", "has_answer")
    columns: dict[str, list[Any]] = {c: [] for c in names}
    contexts: list[str | None] = []
    asked: list[int] = []
    mismatches = 0
    for article in file.data:
        for paragraph in article.paragraphs:
            document = str(len(contexts)) if paragraph.document_id is None else str(paragraph.document_id)
            asked += [len(contexts)] * len(paragraph.qas)
            contexts.append(paragraph.context or None)
            for question in paragraph.qas:
                spans, wrong = _spans(question, paragraph.context, name)
                mismatches += wrong
                row = (
                    *(str(question.id), [a.text for a in question.answers], spans, question.question),
                    *(article.title, document, bool(question.answers)),
                )
                for column, value in zip(names, row, strict=True):
                    columns[column].append(value)
    _refuse_doubles(columns["question_id"], name)
    types = {"references": pa.list_(pa.string()), "reference_spans": pa.list_(SPAN), "has_answer": pa.bool_()}
    arrays: dict[str, pa.Array] = {c: pa.array(v, type=types.get(c, pa.string())) for c, v in columns.items()}
    arrays["context"] = pa.DictionaryArray.from_arrays(pa.array(asked, pa.int32()), pa.array(contexts, pa.large_string()))
    table = pa.table(arrays)
    notes, counts = counted(repaired)
    if mismatches:
        notes += (f"{mismatches} answers are not the text at their offset in the context",)
        counts["span_mismatches"] = mismatches
    return Loaded(table, "squad", ("question_id",), notes, counts, official=True)


def read_squad_predictions(data: bytes, name: str) -> Loaded:
    """Read ``{id: text}``, ``{id: {text, start, end}}`` or ``{id: [{text, start, end, score}, ...]}`` (best first).

    A null start is no answer. The column prediction_spans is there where a prediction has a position. Of several for one id the
    last wins, as in the script, and they are counted.

    Raises
    ------
    FormatError
        The file is of another shape, or a span ends before it starts; names the question.
    """
    entries: dict[str, str | _Ranked | list[_Ranked] | None]
    entries, doubled, repaired = decode_entries(data, str | _Ranked | list[_Ranked] | None, name)
    texts: list[str | None] = []
    spans: list[list[dict[str, Any]]] = []
    placed = False
    for key, entry in entries.items():
        ranked = entry if isinstance(entry, list) else [entry] if isinstance(entry, _Ranked) else []
        texts.append(entry if isinstance(entry, str) else ranked[0].text if ranked else None)
        spans.append([_span(key, r, name) for r in ranked])
        placed = placed or bool(ranked)
    table = pa.table({"question_id": pa.array(list(entries), pa.string()), "prediction": pa.array(texts, pa.string())})
    if placed:
        table = table.append_column("prediction_spans", pa.array(spans, pa.list_(SCORED_SPAN)))
    notes, counts = counted(repaired)
    if doubled:
        notes += (twice_note(doubled, "question"),)
        counts["duplicate_predictions"] = doubled
    return Loaded(table, "squad", ("question_id",), notes, counts, official=True)


def read_na_probs(data: bytes, name: str) -> pa.Table:
    """Read no-answer probabilities ``{id: number}`` as a table of question_id and na_prob (float64)."""
    entries: dict[str, float]
    entries, _, _ = decode_entries(data, float, name)
    return pa.table(
        {"question_id": pa.array(list(entries), pa.string()), "na_prob": pa.array(list(entries.values()), pa.float64())}
    )


def _spans(question: _Question, context: str, name: str) -> tuple[list[dict[str, int]], int]:
    spans: list[dict[str, int]] = []
    wrong = 0
    for answer in question.answers:
        start = answer.answer_start
        if start is None:
            continue
        end = start + len(answer.text)
        if start < 0 or (context and end > len(context)):
            raise FormatError(
                f"{name}: question {question.id!r}: answer_start {start} with {len(answer.text)} characters lies outside "
                f"the context of {len(context)} characters"
            )
        if context and context[start:end] != answer.text:
            wrong += 1
        spans.append({"start": start, "end": end})
    return spans, wrong


def _span(key: str, ranked: _Ranked, name: str) -> dict[str, Any]:
    score = ranked.score if ranked.score is not None else ranked.probability
    if ranked.start is None:
        return {"start": None, "end": None, "score": score}
    end = ranked.end if ranked.end is not None else ranked.start + len(ranked.text or "")
    if ranked.start < 0 or end < ranked.start:
        raise FormatError(f"{name}: question {key!r}: span {ranked.start} to {end} is not a range of code points")
    return {"start": ranked.start, "end": end, "score": score}


def _refuse_doubles(ids: list[str], name: str) -> None:
    seen: set[str] = set()
    for key in ids:
        if key in seen:
            raise KeyMismatchError(f"{name}: question id {key!r} stands twice; ids must be unique")
        seen.add(key)

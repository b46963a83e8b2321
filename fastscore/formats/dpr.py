"""DPR's JSON and SQuAD-like JSON as retrieval data: GermanDPR's records, a retriever's output, GermanQuAD's documents.

A path comes in; a table with a row a question goes out: query_id, question, references and, as the records have them,
relevant_ids with relevance (positive passages 1, negative ones 0) and retrieved_ids with retrieved_texts in rank order.

Records without an id of their own go by their number in the file, from 0, as text. Passages go by ``passage_id``,
``psg_id`` or ``id``, or in a file where none has one by their text.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa

from fastscore.errors import FormatError
from fastscore.formats.files import read_whole
from fastscore.formats.tables import read_table

__all__ = ["read_dpr", "read_json", "read_records"]

_RECORD_KEYS = ("query_id", "question_id", "id")
_PASSAGE_KEYS = ("passage_id", "psg_id", "id", "document_id")
_JUDGED = {"positive_ctxs": 1, "negative_ctxs": 0, "hard_negative_ctxs": 0}
_DPR_KEYS = {*_JUDGED, "ctxs"}


def read_dpr(path: str | Path) -> pa.Table:
    """Read GermanDPR's or DPR's JSON (a list of records), or GermanQuAD's (``data``, ``paragraphs``, ``qas``).

    Raises
    ------
    FormatError
        The file is no JSON of these layouts; the message names the record and field.
    """
    content = read_json(path)
    if isinstance(content, pa.Table):
        return content
    raise FormatError(f"{path}: must be a list of DPR records or an object with 'data', got another object")


def read_json(path: str | Path) -> pa.Table | dict[str, Any]:
    """Read a JSON file of any layout: a table as `read_dpr`, or the dictionary that the file holds.

    A dictionary is ``{query: {document: number}}``, as pytrec_eval and ranx save it, or ``{query: [document, ...]}``.

    Raises
    ------
    FormatError
        The file is no JSON of these layouts; the message names the record and field.
    """
    path = Path(path)
    content = _decoded(path, _bytes(path))
    if isinstance(content, dict) and isinstance(content.get("data"), list):
        return _squad_table(path, content["data"])
    if isinstance(content, list):
        return _record_table(path, content)
    if isinstance(content, dict) and all(isinstance(entry, (dict, list)) for entry in content.values()):
        return content
    raise FormatError(
        f"{path}: must be a list of DPR records, an object with 'data', or an object of queries and their documents, got "
        + (_kind(content) if not isinstance(content, dict) else "an object of other values")
    )


def read_records(path: str | Path) -> pa.Table:
    """Read JSON Lines: DPR records, or one object a row with the columns of a table.

    Raises
    ------
    FormatError
        A line is no JSON object, or its fields' types differ from other lines'; the message names the line.
    """
    path = Path(path)
    lines = _bytes(path).split(b"\n")
    if not _DPR_KEYS & _first_record(lines).keys():
        return read_table(path, "jsonl").table
    records = []
    for number, line in enumerate(lines, 1):
        if line.strip():
            record = _decoded(path, line, f", line {number}")
            if not isinstance(record, dict):
                raise FormatError(f"{path}, line {number}: must be a JSON object, got {_kind(record)}")
            records.append(record)
    return _record_table(path, records)


def _first_record(lines: list[bytes]) -> dict[str, Any]:
    """The object on the first line that is not blank, or an empty one where there is none."""
    try:
        record = msgspec.json.decode(next((line for line in lines if line.strip()), b""))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return {}
    return record if isinstance(record, dict) else {}


def _bytes(path: Path) -> bytes:
    return read_whole(path).removeprefix(b"\xef\xbb\xbf")


def _decoded(path: Path, raw: bytes, where: str = "") -> Any:
    try:
        return msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise FormatError(f"{path}{where}: not valid JSON ({error})") from None


def _kind(value: Any) -> str:
    names = {dict: "an object", list: "a list", str: "text", type(None): "null", bool: "a truth value"}
    return names.get(type(value), "a number")


def _record_table(path: Path, records: list[Any]) -> pa.Table:
    for number, record in enumerate(records):
        if not isinstance(record, dict):
            raise FormatError(f"{path}, record {number}: must be an object, got {_kind(record)}")
    judged = [key for key in _JUDGED if any(key in record for record in records)]
    retrieved = any("ctxs" in record for record in records)
    if not judged and not retrieved:
        raise FormatError(f"{path}: its records have neither 'positive_ctxs' nor 'ctxs'; is it DPR's layout?")
    columns: dict[str, Any] = {
        "query_id": pa.array(_record_ids(path, records), pa.large_string()),
        "question": pa.array([_text(path, n, r, "question") for n, r in enumerate(records)], pa.large_string()),
        "references": pa.array([_answers(path, n, r) for n, r in enumerate(records)], pa.large_list(pa.large_string())),
    }
    if judged:
        passages = [[p for key in judged for p in _passages(path, n, r, key)] for n, r in enumerate(records)]
        columns["relevant_ids"] = _passage_ids(passages)
        grades = [[_JUDGED[key] for key in judged for _ in r.get(key) or ()] for r in records]
        columns["relevance"] = pa.array(grades, pa.large_list(pa.int64()))
    if retrieved:
        passages = [list(_passages(path, n, r, "ctxs")) for n, r in enumerate(records)]
        columns["retrieved_ids"] = _passage_ids(passages)
        texts = [[p.get("text") for p in row] for row in passages]
        columns["retrieved_texts"] = pa.array(texts, pa.large_list(pa.large_string()))
    return pa.table(columns)


def _record_ids(path: Path, records: list[Any]) -> list[str]:
    key = next((key for key in _RECORD_KEYS if records and all(record.get(key) is not None for record in records)), None)
    return [str(number) if key is None else _id(path, number, record[key], key) for number, record in enumerate(records)]


def _id(path: Path, number: int, value: Any, key: str) -> str:
    if isinstance(value, bool) or not isinstance(value, (str, int)):
        raise FormatError(f"{path}, record {number}: {key} must be text or an integer, got {_kind(value)}")
    return str(value)


def _text(path: Path, number: int, record: dict[str, Any], key: str) -> str | None:
    value = record.get(key)
    if value is not None and not isinstance(value, str):
        raise FormatError(f"{path}, record {number}: {key} must be text, got {_kind(value)}")
    return value


def _answers(path: Path, number: int, record: dict[str, Any]) -> list[str]:
    answers = record.get("answers") or []
    if not isinstance(answers, list) or not all(isinstance(answer, str) for answer in answers):
        raise FormatError(f"{path}, record {number}: answers must be a list of texts")
    return answers


def _passages(path: Path, number: int, record: dict[str, Any], key: str) -> Iterator[dict[str, Any]]:
    passages = record.get(key) or []
    if not isinstance(passages, list):
        raise FormatError(f"{path}, record {number}: {key} must be a list of passages, got {_kind(passages)}")
    for at, passage in enumerate(passages):
        if not isinstance(passage, dict):
            raise FormatError(f"{path}, record {number}: {key}[{at}] must be an object, got {_kind(passage)}")
        for field in (*_PASSAGE_KEYS, "text"):
            value = passage.get(field)
            if isinstance(value, (bool, float, list, dict)) or (field == "text" and isinstance(value, int)):
                raise FormatError(f"{path}, record {number}: {key}[{at}].{field} must be text, got {_kind(value)}")
        yield passage


def _passage_ids(rows: list[list[dict[str, Any]]]) -> pa.Array:
    """Ids of the passages, or their texts where no passage of the file has an id."""
    key = next((key for key in _PASSAGE_KEYS if any(p.get(key) not in (None, "") for row in rows for p in row)), "text")
    ids = [[None if p.get(key) is None else str(p[key]) for p in row] for row in rows]
    return pa.array(ids, pa.large_list(pa.large_string()))


def _squad_table(path: Path, data: list[Any]) -> pa.Table:
    """A row a question: its document is the paragraph's ``document_id``, or the context where there is none."""
    rows: list[tuple[str, Any, list[str], str]] = []
    try:
        for article in data:
            for paragraph in article["paragraphs"]:
                document = paragraph.get("document_id")
                for question in paragraph["qas"]:
                    answers = [answer["text"] for answer in question.get("answers") or []]
                    place = str(paragraph["context"] if document is None else document)
                    rows.append((str(question["id"]), question.get("question"), answers, place))
        ids, questions, references, documents = zip(*rows, strict=True) if rows else ((), (), (), ())
        return pa.table(
            {
                "query_id": pa.array(ids, pa.large_string()),
                "question": pa.array(questions, pa.large_string()),
                "references": pa.array(references, pa.large_list(pa.large_string())),
                "relevant_ids": pa.array([[d] for d in documents], pa.large_list(pa.large_string())),
            }
        )
    except (KeyError, TypeError, AttributeError, pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise FormatError(f"{path}: question {len(rows)} is not laid out as in SQuAD's JSON ({error})") from None

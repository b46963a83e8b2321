"""NQ-open's JSON Lines: ``{"question", "answer": [...]}`` as references, ``{"question", "prediction"}`` as predictions, or both.

The question's text is its key. Source: Natural Questions' nq_open, and the prediction files of DPR, FiD and their like.
"""

from __future__ import annotations

import msgspec
import pyarrow as pa

from fastscore.errors import FormatError
from fastscore.formats.json_text import counted
from fastscore.formats.loaded import Loaded
from fastscore.formats.typed_lines import decode_lines

__all__ = ["read_nq_open"]


class _Line(msgspec.Struct):
    question: str
    answer: list[str] | str | msgspec.UnsetType = msgspec.UNSET
    prediction: str | msgspec.UnsetType | None = msgspec.UNSET


def read_nq_open(data: bytes, name: str) -> Loaded:
    """Read references, predictions or both; columns question_id and question (the text), references (also as answer), prediction.

    Raises
    ------
    FormatError
        A line is of another shape, or some lines have a field that others lack.
    """
    lines, repaired = decode_lines(data, _Line, name)
    columns = {key: pa.array([line.question for line in lines], pa.string()) for key in ("question_id", "question")}
    for field, column, kind in (("answer", "references", pa.list_(pa.string())), ("prediction", "prediction", pa.string())):
        values = [getattr(line, field) for line in lines]
        lacking = [i for i, v in enumerate(values, 1) if v is msgspec.UNSET]
        if len(lacking) == len(lines):
            continue
        if lacking:
            raise FormatError(f"{name}: record {lacking[0]} has no field {field!r}, which others have; every line must have it")
        if field == "answer":
            values = [[v] if isinstance(v, str) else v for v in values]
        columns[column] = columns[field] = pa.array(values, kind)
    if len(columns) == 2:
        raise FormatError(f"{name}: every line needs answer, prediction or both beside question")
    notes, counts = counted(repaired)
    return Loaded(pa.table(columns), "nq-open", ("question_id",), notes, counts)

"""lm-evaluation-harness's ``samples_*.jsonl``: a document a line with its target and the model's filtered responses.

One row a response comes out: question_id (doc_id), sample_id where a document has several, filter, prediction, references. The
harness writes a target as text; a list of answers is then Python's print of the list, which is read as data (nothing is run).
"""

from __future__ import annotations

import ast
from typing import Any

import msgspec
import pyarrow as pa

from fastscore.errors import FormatError
from fastscore.formats.json_text import counted
from fastscore.formats.loaded import Loaded
from fastscore.formats.typed_lines import decode_lines

__all__ = ["read_lm_eval"]


class _Sample(msgspec.Struct):
    doc_id: int | str
    filtered_resps: list[Any]
    target: Any = None
    filter: str = "none"


def read_lm_eval(data: bytes, name: str) -> Loaded:
    """Read samples of generation tasks.

    Raises
    ------
    FormatError
        A line is of another shape, or its responses are no texts (log-likelihood tasks have no generated text to score).
    """
    samples, repaired = decode_lines(data, _Sample, name)
    names = ("question_id", "sample_id", "filter", "prediction", "references")
    rows: list[tuple[Any, ...]] = []
    printed = 0
    for number, sample in enumerate(samples, 1):
        references, was_printed = _references(sample.target, f"{name}: record {number}")
        printed += was_printed
        for k, text in enumerate(_responses(sample.filtered_resps, f"{name}: record {number}")):
            rows.append((str(sample.doc_id), k, sample.filter, text, references))
    types = {"sample_id": pa.int64(), "references": pa.list_(pa.string())}
    table = pa.table({c: pa.array([row[i] for row in rows], types.get(c, pa.string())) for i, c in enumerate(names)})
    notes, counts = counted(repaired)
    if printed:
        notes += (f"{printed} targets are printed lists and were read as lists of references",)
        counts["printed_targets"] = printed
    filters = sorted({row[2] for row in rows})
    if len(filters) > 1:
        notes += (f"each document stands here once for each filter ({', '.join(filters)}); use --by filter to tell them apart",)
    several = any(row[1] for row in rows)
    keys = ("question_id", "sample_id") if several else ("question_id",)
    return Loaded(table if several else table.drop_columns(["sample_id"]), "lm-eval", keys, notes, counts)


def _responses(responses: list[Any], where: str) -> list[str]:
    """The texts of one document: the first of each request, or all where a filter kept several."""
    flat: list[Any] = [text for response in responses for text in (response if isinstance(response, list) else [response])]
    if not all(isinstance(text, str) for text in flat):
        bad = next(text for text in flat if not isinstance(text, str))
        raise FormatError(f"{where}: filtered_resps must hold generated texts, got {bad!r}; only generation tasks can be scored")
    return flat


def _references(target: Any, where: str) -> tuple[list[str], bool]:
    """A target as a list of references, and whether it was a printed list."""
    if isinstance(target, list) and all(isinstance(t, str) for t in target):
        return target, False
    if isinstance(target, str):
        if target.startswith("[") and target.endswith("]"):
            try:
                value = ast.literal_eval(target)
            except (ValueError, SyntaxError, MemoryError, RecursionError):
                return [target], False
            if isinstance(value, list) and value and all(isinstance(v, str) for v in value):
                return value, True
        return [target], False
    if isinstance(target, (int, float)) and not isinstance(target, bool):
        return [str(target)], False
    raise FormatError(f"{where}: target must be a text or a list of texts, got {type(target).__name__}")

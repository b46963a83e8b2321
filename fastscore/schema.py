"""The columns that come in and go out, declared once: names, what they hold, and the statuses of an item."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Literal

__all__ = ["INPUT_COLUMNS", "ITEM_COLUMNS", "WORD_METRICS", "Column", "Status"]


class Status(IntEnum):
    """Why an item has the score that it has; the code is its index in the status column's dictionary."""

    OK = 0
    MISSING_PREDICTION = 1
    NULL_PREDICTION = 2
    NO_REFERENCES = 3
    UNMATCHED_PREDICTION = 4

    @property
    def label(self) -> str:
        """The text that stands in tables and summaries, such as ``missing_prediction``."""
        return self.name.lower()


@dataclass(frozen=True)
class Column:
    """One column: its name, the kind of values it takes, and what it holds."""

    name: str
    kind: Literal["key", "text", "texts", "spans", "ids", "metric", "index", "status"]
    meaning: str


INPUT_COLUMNS = (
    Column("question_id", "key", "key of the question: text or integer, never float"),
    Column("turn_id", "key", "turn of a conversation, with question_id the key of a CoQA item"),
    Column("sample_id", "key", "which of several generations for one prompt"),
    Column("prediction", "text", "the text that the system gave"),
    Column("references", "texts", "the gold answers of the question: a list of text, or text for a single one"),
    Column("prediction_spans", "spans", "list of {start, end} in rank order, code points, half-open; null start: no answer"),
    Column("reference_spans", "spans", "list of {start, end}, code points, half-open"),
    Column("retrieved_ids", "ids", "document ids in rank order"),
    Column("relevant_ids", "ids", "ids of the relevant documents"),
)

ITEM_COLUMNS = (
    Column("exact_match", "metric", "1 if the prediction equals a reference by the recipe's rule, in [0, 1]"),
    Column("f1", "metric", "word-overlap F1 by the recipe's rule, in [0, 1]"),
    Column("precision", "metric", "share of the prediction's words found in the best reference"),
    Column("recall", "metric", "share of the best reference's words found in the prediction"),
    Column("best_reference", "index", "index of the reference of highest F1 (ties: exact match, then the first); null: no score"),
    Column("status", "status", "ok, missing_prediction, null_prediction, no_references or unmatched_prediction"),
)

WORD_METRICS = ("exact_match", "f1", "precision", "recall")

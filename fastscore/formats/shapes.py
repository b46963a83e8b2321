"""Which published layout a piece of JSON has, told from the field names in its first bytes; None where it is none of these.

The three questions differ by how the text begins: an object, a list, or an object a line.
"""

from __future__ import annotations

import re

__all__ = ["LAYOUTS", "shape_of_lines", "shape_of_list", "shape_of_object"]

#: The layouts recognised here, beside those of CoQA and SQuAD.
LAYOUTS = ("topiocqa", "cjrc", "quac", "triviaqa", "nq-open", "lm-eval")


def shape_of_list(text: bytes) -> str | None:
    """The layout of a JSON list: TopiOCQA's turns or predictions, CJRC's predictions (CoQA's have a turn_id)."""
    if _has(text, "Conversation_no") or _has(text, "conv_id"):
        return "topiocqa"
    return "cjrc" if _has(text, "id") and _has(text, "answer") and not _has(text, "turn_id") else None


def shape_of_object(text: bytes) -> str | None:
    """The layout of one JSON object: TriviaQA's Data, QuAC's dialogs, CJRC's cases."""
    if re.search(rb'"Data"\s*:\s*\[', text) and _has(text, "QuestionId"):
        return "triviaqa"
    if not re.search(rb'"data"\s*:\s*\[', text):
        return None
    if _has(text, "yesno") and _has(text, "followup"):
        return "quac"
    return "cjrc" if _has(text, "domain") and (_has(text, "casename") or _has(text, "caseid")) else None


def shape_of_lines(text: bytes) -> str | None:
    """The layout of JSON Lines, from the first: lm-evaluation-harness's samples, QuAC's predictions, TriviaQA's, NQ-open's."""
    first = text.split(b"\n", 1)[0]
    if _has(first, "doc_id") and (_has(first, "filtered_resps") or re.search(rb'"doc"\s*:\s*\{', first)):
        return "lm-eval"
    if _has(first, "best_span_str") and _has(first, "qid"):
        return "quac"
    if re.search(rb'"[Aa]nswer"\s*:\s*\{', first) and re.search(rb'"(normalized_aliases|NormalizedAliases|aliases)"\s*:', first):
        return "triviaqa"
    keyed = re.search(rb'"(question_id|id|turn_id|references)"\s*:', first)
    return "nq-open" if not keyed and _has(first, "question") and (_has(first, "answer") or _has(first, "prediction")) else None


def _has(text: bytes, field: str) -> bool:
    return re.search(rb'"' + field.encode() + rb'"\s*:', text) is not None

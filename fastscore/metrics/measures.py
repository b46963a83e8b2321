"""The names of retrieval measures: ours, and those of ir-measures, trec_eval and ranx, read into one form.

A name such as ``recall@10``, ``R@10``, ``recall_10`` or ``nDCG(dcg='exp-log2')@20`` comes in; a `Measure` goes out, whose
``name`` is the column's and the summary's key.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from fastscore.errors import UnknownNameError, UsageError, did_you_mean

__all__ = ["KNOWN", "Measure", "parse_measure", "parse_measures"]


@dataclass(frozen=True)
class Measure:
    """One measure: its kind (`KNOWN`) and its cut-off, None where the whole list counts."""

    kind: str
    cutoff: int | None = None

    @property
    def name(self) -> str:
        """Such as ``ndcg@10``, or ``map`` without a cut-off."""
        return self.kind if self.cutoff is None else f"{self.kind}@{self.cutoff}"


#: Every kind: whether a cut-off must be, may be or is not given, and what the measure is.
KNOWN: dict[str, tuple[str, str]] = {
    "success": ("must", "1 if a relevant document is among the first k (GermanDPR's Recall@k, a hit)"),
    "recall": ("must", "relevant documents among the first k / all relevant"),
    "precision": ("must", "relevant documents among the first k / k"),
    "mrr": ("may", "1 / rank of the first relevant document"),
    "map": ("may", "sum of the precisions at the relevant documents' ranks / all relevant"),
    "ndcg": ("may", "grade / log2(rank + 1), summed, over the same of the best order"),
    "ndcg_exp": ("may", "as ndcg, with the gain 2**grade - 1"),
    "r_precision": ("none", "relevant documents among the first R / R, where R are relevant"),
    "bpref": ("none", "binary preference of judged documents"),
    "judged": ("must", "judged documents among the first k / those shown, at most k"),
    "answer": ("must", "1 if one of the first k passages contains a reference's words in order (DPR's accuracy)"),
}

_SPELLINGS = {
    "success": ("hit", "hits", "hit_rate"),
    "recall": ("r",),
    "precision": ("p",),
    "mrr": ("rr", "recip_rank"),
    "map": ("ap", "map_cut"),
    "ndcg": ("ndcg_cut",),
    "ndcg_exp": ("ndcg_burges",),
    "r_precision": ("rprec", "r-precision"),
}
_OTHER_NAMES = {other: kind for kind, others in _SPELLINGS.items() for other in others}

_NAME = re.compile(r"(?P<name>[A-Za-z_][A-Za-z_-]*?)(?P<options>\(.*\))?(?:[@_](?P<cutoff>[0-9]{1,40}))?", re.DOTALL)
_EXPONENTIAL = re.compile(r"\(\s*dcg\s*=\s*(['\"])exp-log2\1\s*\)")
_LINEAR = re.compile(r"\(\s*dcg\s*=\s*(['\"])log2\1\s*\)")


def parse_measure(text: str) -> Measure:
    """Read one measure's name.

    Raises
    ------
    UnknownNameError
        No measure is called so.
    UsageError
        The cut-off is absent, not allowed or not from 1 on, or an option in brackets is not known.
    """
    found = _NAME.fullmatch(text.strip()) if isinstance(text, str) else None
    if found is None:
        raise UnknownNameError(
            f"measure {f'{text!r:.80}'}: a name such as 'recall@10' is needed.{did_you_mean(str(text), _shown())}"
        )
    name = found["name"].lower()
    kind = _OTHER_NAMES.get(name, name)
    if kind not in KNOWN:
        raise UnknownNameError(f"there is no measure {text!r}.{did_you_mean(text, _shown())}")
    kind = _with_options(text, kind, found["options"])
    cutoff = None if found["cutoff"] is None else int(found["cutoff"])
    need = KNOWN[kind][0]
    if cutoff is None and need == "must":
        raise UsageError(f"measure {text!r} needs a cut-off, such as '{kind}@10'")
    if cutoff is not None and need == "none":
        raise UsageError(f"measure {text!r} takes no cut-off: it is '{kind}'")
    if cutoff is not None and not 1 <= cutoff < 2**31:
        raise UsageError(f"measure {text!r}: a cut-off must be from 1 to {2**31 - 1}, got {cutoff}")
    return Measure(kind, cutoff)


def parse_measures(names: str | Iterable[str]) -> list[Measure]:
    """Read measures in order, each kept once; one text may hold several, separated by commas or blanks.

    Raises
    ------
    UnknownNameError, UsageError
        As `parse_measure`; also if there is none.
    """
    given: Any = names
    if not hasattr(given, "__iter__") or isinstance(given, (bytes, bytearray)):
        raise UsageError(f"measures: names such as 'recall@10' are allowed, got {type(names).__name__}")
    texts = re.split(r"[,\s]+(?![^(]*\))", names.strip()) if isinstance(names, str) else list(names)
    measures = list(dict.fromkeys(parse_measure(text) for text in texts if not isinstance(text, str) or text))
    if not measures:
        raise UsageError(f"measures: at least one is needed, such as 'recall@10', got {names!r}")
    return measures


def _with_options(text: str, kind: str, options: str | None) -> str:
    if options is None:
        return kind
    if kind == "ndcg" and _EXPONENTIAL.fullmatch(options):
        return "ndcg_exp"
    if kind == "ndcg" and _LINEAR.fullmatch(options):
        return "ndcg"
    raise UsageError(
        f"measure {text!r}: of ir-measures' options only nDCG(dcg='exp-log2') and nDCG(dcg='log2') are read; "
        "a lowest relevant grade (rel=2) is the parameter min_relevance"
    )


def _shown() -> list[str]:
    return [kind if need == "none" else f"{kind}@10" for kind, (need, _) in KNOWN.items()]

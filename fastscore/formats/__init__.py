"""Readers, one module a format: a file in, Arrow tables of predictions or references out.

`read_predictions` and `read_references` recognise a file's format from its content; a name given overrides that.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from fastscore.formats.loaded import Loaded

__all__ = ["Loaded", "read_predictions", "read_references"]


def read_predictions(path: str | Path, format: str | None = None) -> Loaded:
    """Read a file of predictions (or a table that holds predictions and references).

    Raises UsageError for a missing file, FormatError for a broken one, UnknownNameError for an unknown format.
    """
    from fastscore.formats import cjrc, coqa, quac, squad, topiocqa

    readers = {
        "coqa": coqa.read_coqa_predictions,
        "squad": squad.read_squad_predictions,
        "topiocqa": topiocqa.read_topiocqa_predictions,
        "cjrc": cjrc.read_cjrc_predictions,
        "quac": quac.read_quac_predictions,
    }
    return _read(path, format, {**readers, **_either_side()})


def read_references(path: str | Path, format: str | None = None) -> Loaded:
    """Read a file of references. Raises as `read_predictions` does."""
    from fastscore.formats import cjrc, coqa, quac, squad, topiocqa

    readers = {
        "coqa": coqa.read_coqa_references,
        "squad": squad.read_squad_references,
        "topiocqa": topiocqa.read_topiocqa_references,
        "cjrc": cjrc.read_cjrc_references,
        "quac": quac.read_quac_references,
    }
    return _read(path, format, {**readers, **_either_side()})


def _either_side() -> dict[str, object]:
    """Readers of layouts whose lines may hold references, predictions or both."""
    from fastscore.formats import lm_eval, nq_open, triviaqa

    return {"triviaqa": triviaqa.read_triviaqa, "nq-open": nq_open.read_nq_open, "lm-eval": lm_eval.read_lm_eval}


def _read(path: str | Path, format: str | None, official: Mapping[str, object]) -> Loaded:
    from fastscore.formats.json_text import read_bytes
    from fastscore.formats.sniff import format_of
    from fastscore.formats.tables import read_table

    name = format_of(path, format)
    reader = official.get(name)
    if callable(reader):
        loaded: Loaded = reader(read_bytes(path), str(path))
        return loaded
    return read_table(path, name)

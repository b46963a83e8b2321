"""Readers, one module a format: a file in, Arrow tables of predictions or references out.

`read_predictions` and `read_references` recognise a file's format from its content; a name given overrides that.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from fastscore.errors import DataError, FormatError
from fastscore.formats.loaded import Loaded

__all__ = ["Loaded", "read_predictions", "read_references"]


def read_predictions(path: str | Path, format: str | None = None) -> Loaded:
    """Read a file of predictions (or a table that holds predictions and references).

    Raises UsageError for a missing file, FormatError for a broken one (or one of references), UnknownNameError for an unknown
    format.
    """
    return _read(path, format, "predictions", "references")


def read_references(path: str | Path, format: str | None = None) -> Loaded:
    """Read a file of references. Raises as `read_predictions` does."""
    return _read(path, format, "references", "predictions")


def _readers(side: str) -> dict[str, Callable[[bytes, str], Loaded]]:
    """The readers of published layouts, of which the last three may hold references, predictions or both."""
    from fastscore.formats import cjrc, coqa, lm_eval, nq_open, quac, squad, topiocqa, triviaqa

    either: dict[str, Callable[[bytes, str], Loaded]] = {
        "triviaqa": triviaqa.read_triviaqa,
        "nq-open": nq_open.read_nq_open,
        "lm-eval": lm_eval.read_lm_eval,
    }
    if side == "references":
        return {
            "coqa": coqa.read_coqa_references,
            "squad": squad.read_squad_references,
            "topiocqa": topiocqa.read_topiocqa_references,
            "cjrc": cjrc.read_cjrc_references,
            "quac": quac.read_quac_references,
            **either,
        }
    return {
        "coqa": coqa.read_coqa_predictions,
        "squad": squad.read_squad_predictions,
        "topiocqa": topiocqa.read_topiocqa_predictions,
        "cjrc": cjrc.read_cjrc_predictions,
        "quac": quac.read_quac_predictions,
        **either,
    }


def _read(path: str | Path, format: str | None, side: str, other: str) -> Loaded:
    from fastscore.formats.json_text import read_bytes
    from fastscore.formats.sniff import format_of
    from fastscore.formats.tables import read_table

    name = format_of(path, format)
    reader = _readers(side).get(name)
    if reader is None:
        return read_table(path, name)
    data = read_bytes(path)
    try:
        return reader(data, str(path))
    except FormatError:
        if _is_of(data, _readers(other)[name]):
            raise FormatError(
                f"{path}: this is a file of {other} where {side} are expected; the order is PREDICTIONS REFERENCES"
            ) from None
        raise


def _is_of(data: bytes, reader: Callable[[bytes, str], Loaded]) -> bool:
    """Whether a reader takes a file and finds rows in it."""
    try:
        return bool(reader(data, "").table.num_rows)
    except DataError:
        return False

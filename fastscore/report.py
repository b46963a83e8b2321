"""The summary for its readers: a table for a person, strict JSON, and the layouts that published scripts print.

Fractions come in; percent and rounding happen here alone. Text that came from a file is shown with its control characters
escaped.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
from rich.console import Console
from rich.table import Table
from rich.text import Text

from fastscore.errors import UsageError
from fastscore.formats.coqa import DOMAINS
from fastscore.schema import Status

__all__ = ["OFFICIAL", "as_json", "official_json", "safe_text", "summary_table", "table_text"]

_IN_DOMAIN = list(DOMAINS.values())[:5]
_OUT_DOMAIN = list(DOMAINS.values())[5:]
#: Recipes with an official layout of their own.
OFFICIAL = ("coqa", "squad", "xquad", "germanquad-squad", "squad_v2")
_SHORT = {"exact_match": "EM", "f1": "F1", "precision": "P", "recall": "R"}
_BAR = 12


def safe_text(text: str) -> str:
    """Text for a terminal: control and format characters, such as those that start escape sequences, are shown as escapes."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape", "surrogatepass").decode() for c in text)


def as_json(value: Any) -> str:
    """JSON that every parser accepts: NaN and Infinity are refused."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False, indent=2)


def summary_table(summary: Mapping[str, Any]) -> Table:
    """The summary as a rich table: a row for each group and one for all items; means in percent."""
    overall = summary["overall"]
    metrics = [k for k in overall if k not in ("count", *(s.label for s in Status))]
    table = Table(title=Text(safe_text(summary["recipe"])), caption=Text(safe_text(summary["signature"])), caption_justify="left")
    table.add_column("group")
    table.add_column("n", justify="right")
    for metric in metrics:
        table.add_column(_SHORT.get(metric, metric), justify="right")
    table.add_column("F1" if "f1" in metrics else metrics[0] if metrics else "", no_wrap=True)
    for column, blocks in summary["groups"].items():
        for value, block in blocks.items():
            table.add_row(Text(safe_text(f"{column}={value}")), *_cells(block, metrics))
        table.add_section()
    table.add_row(Text("all", style="bold"), *_cells(overall, metrics))
    silent = {s.label: overall[s.label] for s in Status if s is not Status.OK and overall[s.label]}
    if silent:
        table.add_section()
        table.add_row(Text(", ".join(f"{n:,} {label}" for label, n in silent.items()), style="yellow"))
    return table


def table_text(summary: Mapping[str, Any], width: int = 110) -> str:
    """The table as plain text."""
    console = Console(width=width, no_color=True, force_terminal=False, highlight=False)
    with console.capture() as capture:
        console.print(summary_table(summary))
    return capture.get().rstrip("\n")


def official_json(items: pa.Table, recipe: str) -> str:
    """What the recipe's published script prints for these items.

    Parameters
    ----------
    items
        Item scores; for ``coqa`` with a column ``domain``, for ``squad_v2`` with ``has_answer``.
    recipe
        The recipe's name.

    Raises
    ------
    UsageError
        The recipe has no official layout, or the items lack the column that it needs.
    """
    frame = pl.DataFrame(pl.from_arrow(items.select([c for c in items.column_names if c in _OFFICIAL_COLUMNS])))
    frame = frame.filter(pl.col("exact_match").is_not_null())
    if recipe == "coqa":
        _needs(frame, "domain", recipe)
        return json.dumps(_coqa(frame), indent=2)
    if recipe in ("squad", "xquad", "germanquad-squad"):
        return json.dumps({"exact_match": _percent(frame["exact_match"]), "f1": _percent(frame["f1"])}, allow_nan=False)
    if recipe == "squad_v2":
        _needs(frame, "has_answer", recipe)
        return json.dumps(_squad_v2(frame), indent=2, allow_nan=False)
    raise UsageError(f"--official: recipe {recipe!r} has no official layout here; those that have are {', '.join(OFFICIAL)}")


_OFFICIAL_COLUMNS = ("exact_match", "f1", "domain", "has_answer", "status")


def _needs(frame: pl.DataFrame, column: str, recipe: str) -> None:
    if column not in frame.columns:
        raise UsageError(
            f"--official: the layout of {recipe!r} needs the references' column {column!r}; give the official references file"
        )


def _coqa(frame: pl.DataFrame) -> dict[str, dict[str, float | int]]:
    """The official script's averages: over turns, in percent, rounded to one decimal; an unused domain is 0."""
    domains = {**{d: [d] for d in DOMAINS.values()}, "in_domain": _IN_DOMAIN, "out_domain": _OUT_DOMAIN}
    out: dict[str, dict[str, float | int]] = {}
    for name, members in domains.items():
        out[name] = _coqa_block(frame.filter(pl.col("domain").is_in(members)))
    out["overall"] = _coqa_block(frame)
    return out


def _coqa_block(part: pl.DataFrame) -> dict[str, float | int]:
    turns = part.height
    means = {m: sum(part[c].to_list()) / max(1, turns) for m, c in (("em", "exact_match"), ("f1", "f1"))}
    return {**{m: round(v * 100, 1) for m, v in means.items()}, "turns": turns}


def _squad_v2(frame: pl.DataFrame) -> dict[str, float | int]:
    out: dict[str, float | int] = {}
    answered, unanswered = frame.filter(pl.col("has_answer")), frame.filter(~pl.col("has_answer"))
    for prefix, part in (("", frame), ("HasAns_", answered), ("NoAns_", unanswered)):
        if prefix and not part.height:
            continue
        out[f"{prefix}exact"] = _percent(part["exact_match"])
        out[f"{prefix}f1"] = _percent(part["f1"])
        out[f"{prefix}total"] = part.height
    return out


def _percent(values: pl.Series) -> float:
    numbers = values.to_numpy()
    return 100.0 * math.fsum(numbers.astype(np.float64)) / numbers.size if numbers.size else 0.0


def _cells(block: Mapping[str, Any], metrics: list[str]) -> list[Text]:
    cells = [Text(f"{block['count']:,}")]
    for metric in metrics:
        value = block[metric]
        cells.append(Text("-" if value is None else f"{100 * value:.1f}"))
    shown = block.get("f1", block.get(metrics[0]) if metrics else None)
    cells.append(Text("" if shown is None else "█" * round(shown * _BAR) + "·" * (_BAR - round(shown * _BAR)), style="cyan"))
    return cells

"""What several sub-commands read alike: files in, one table of aligned items out, and the rows of it that have a key."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Items", "items_of", "recipe_of_layout", "rows_with"]

#: The recipe that a layout of references is made for.
_RECIPES = {
    "coqa": "coqa",
    "topiocqa": "topiocqa",
    "cjrc": "cjrc",
    "quac": "quac",
    "triviaqa": "triviaqa",
    "nq-open": "nq-open",
}


class Items(NamedTuple):
    """Aligned items: the table with ``prediction``, ``references`` and ``status`` (codes), its keys, layout and notes."""

    table: pa.Table
    keys: tuple[str, ...]
    layout: str
    notes: tuple[str, ...]


def items_of(
    predictions: Path,
    references: Path | None,
    prediction: str = "prediction",
    references_column: str = "references",
    keys: Sequence[str] | None = None,
    format: str | None = None,
    references_format: str | None = None,
) -> Items:
    """Read, rename and align as `fastscore score` does."""
    import pyarrow as pa

    from fastscore.pipeline import aligned_items, load, with_columns

    loaded = load(predictions, "predictions", format)
    gold = None if references is None else load(references, "references", references_format)
    loaded, gold = with_columns(loaded, gold, prediction, references_column)
    table, notes = aligned_items(loaded, gold, keys)
    if "status" not in table.column_names:
        table = table.append_column("status", pa.array([0] * table.num_rows, pa.int8()))
    side = loaded if gold is None else gold
    return Items(table, tuple(keys) if keys else side.keys, side.format, notes)


def recipe_of_layout(items: Items) -> str | None:
    """The recipe that the references' layout is made for, or None where a table tells nothing."""
    if items.layout == "squad":
        import pyarrow.compute as pc

        answered = items.table.column("has_answer") if "has_answer" in items.table.column_names else None
        return "squad" if answered is None or pc.all(answered).as_py() in (True, None) else "squad_v2"
    return _RECIPES.get(items.layout)


def rows_with(items: Items, wanted: Sequence[str]) -> list[int]:
    """The rows whose keys, compared as text, begin with those wanted; without key columns a key is a row number from 0.

    Raises
    ------
    UsageError
        More keys are given than there are key columns.
    UnknownNameError
        No row has that key.
    """
    import numpy as np
    import polars as pl

    from fastscore.errors import UnknownNameError, UsageError, did_you_mean

    if not items.keys:
        if len(wanted) == 1 and wanted[0].isascii() and wanted[0].isdigit() and int(wanted[0]) < items.table.num_rows:
            return [int(wanted[0])]
        raise UsageError(f"--id: this table has no key, so a row number below {items.table.num_rows} is needed, got {wanted}")
    if len(wanted) > len(items.keys):
        raise UsageError(f"--id: at most {len(items.keys)} values ({', '.join(items.keys)}) are allowed, got {len(wanted)}")
    chosen = np.ones(items.table.num_rows, dtype=np.bool_)
    for name, value in zip(items.keys, wanted, strict=False):
        column = pl.Series(name, pl.from_arrow(items.table.column(name))).cast(pl.String)
        fits = (column == value).fill_null(False).to_numpy()
        if not (chosen & fits).any():
            there = column.filter(pl.Series(chosen)).drop_nulls().unique(maintain_order=True).head(20_000).to_list()
            raise UnknownNameError(f"--id: no item has {name} {value!r}.{did_you_mean(value, there)}")
        chosen &= fits
    return [int(row) for row in np.flatnonzero(chosen)]

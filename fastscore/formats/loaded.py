"""What a reader gives: an Arrow table in the project's column names, its keys, and what there is to say of the file."""

from __future__ import annotations

from dataclasses import dataclass, field

import pyarrow as pa

__all__ = ["Loaded"]


@dataclass(frozen=True)
class Loaded:
    """A file's predictions or references.

    Attributes
    ----------
    table
        Columns as in `fastscore.schema.INPUT_COLUMNS`, and what else the format carries.
    format
        Name of the format that was read.
    keys
        The columns that name an item.
    notes
        Lines for a person: what was repaired or passed over.
    counts
        The same as numbers.
    official
        Whether this is a published scorer's layout, whose items follow the order of the references.
    """

    table: pa.Table
    format: str
    keys: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    counts: dict[str, int] = field(default_factory=dict)
    official: bool = False

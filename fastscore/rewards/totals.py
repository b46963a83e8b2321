"""Exact totals of rewards: output batches of `reward_batch` in, counts and means out, overall and by column, in any order.

`RewardTotals` is `fastscore.totals.Totals` over the columns of rewards; what is counted (statuses, answers found, rewards) is
added up as a column of 0 and 1, so that one exact sum serves both.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fastscore.rewards.batches import STATUSES, status_places
from fastscore.rewards.prompts import Prompts
from fastscore.schema import WORD_METRICS
from fastscore.totals import Totals

__all__ = ["RewardTotals", "summed"]

_COUNTED = (*(f"is {label}" for label in STATUSES), "extraction_rate", "rewarded", "reward_over_all")


def summed(schema: pa.Schema) -> tuple[str, ...]:
    """The columns of a batch of rewards that have a mean, and what is counted of it."""
    terms = [name for name in schema.names if ":" in name and pa.types.is_float64(schema.field(name).type)]
    more = [name for name in ("format", "length_ok") if name in schema.names]
    return ("reward", *WORD_METRICS, *terms, *more, *_COUNTED)


class RewardTotals(Totals):
    """Sums and counts of rewards, overall and for each value of the `by` columns; `prompts` adds what the groups gave.

    Parameters
    ----------
    metrics
        What `summed` gives for the batches' schema.
    by
        Columns whose values are reported apart; a null is the value ``null``.
    """

    def __init__(self, metrics: Sequence[str], by: Sequence[str] = ()) -> None:
        super().__init__(metrics, by)
        self.prompts: Prompts | None = None

    def add(self, items: pa.RecordBatch | pa.Table) -> None:
        """Add batches that `reward_batch` gave, with the `by` columns. Raises DataError for a reward of 2**31 or more."""
        for batch in items.to_batches() if isinstance(items, pa.Table) else [items]:
            columns = {name: _measured(batch, name) for name in self.metrics}
            columns |= {name: batch.column(name) for name in self.by}
            super().add(pa.RecordBatch.from_arrays(list(columns.values()), names=list(columns)))

    def statuses(self) -> dict[str, int]:
        """How many rollouts have each status."""
        block = self.block()
        return {label: block[label] for label in STATUSES}

    def block(self, column: str = "", value: str = "") -> dict[str, Any]:
        """Counts, the extraction rate (of all rows) and means (of the rows that have a value) of one group; by default of all."""
        raw = super().block(column, value)
        rows = raw["count"]
        counts = {name: round((raw[name] or 0.0) * rows) for name in _COUNTED}
        means = [name for name in self.metrics if name not in _COUNTED and name != "reward"]
        return {
            "rollouts": rows,
            **{label: counts[f"is {label}"] for label in STATUSES},
            "extracted": counts["extraction_rate"],
            "extraction_rate": raw["extraction_rate"],
            "rewarded": counts["rewarded"],
            "reward": raw["reward"],
            "reward_over_all": raw["reward_over_all"],
            **{name: raw[name] for name in means},
        }

    def summary(self, recipe: str, signature: str, tables: Mapping[str, str] | None = None) -> dict[str, Any]:
        """Signature, recipe, the overall block; ``by`` with a block for each value; and what the groups of prompts gave."""
        found = super().summary(recipe, signature, tables)
        by = {"by": found["groups"]} if self.by else {}
        prompts = {} if self.prompts is None else self.prompts.to_dict()
        return {"signature": signature, "recipe": recipe, **found["overall"], **prompts, **by}

    def group_tables(self, column: str, size: int = 1 << 14) -> Iterator[pa.Table]:
        """The blocks of a `by` column as tables of at most `size` rows, sorted by value."""
        names = sorted(self._names[column])
        for start in range(0, len(names), size):
            part = names[start : start + size]
            yield pa.Table.from_pylist([{column: value, **self.block(column, value)} for value in part])


def _measured(batch: pa.RecordBatch, name: str) -> pa.Array:
    """A column of numbers to be added up; 0 or 1 for what is counted."""
    if name.startswith("is "):
        return pa.array((status_places(batch.column("status")) == STATUSES.index(name[3:])).astype(np.float64))
    if name == "extraction_rate":
        return batch.column("extracted").fill_null(False).cast(pa.float64())
    if name == "rewarded":
        return pc.is_valid(batch.column("reward")).cast(pa.float64())
    if name == "reward_over_all":
        return batch.column("reward").fill_null(0.0)
    column = batch.column(name)
    return column.cast(pa.float64()) if pa.types.is_boolean(column.type) else column

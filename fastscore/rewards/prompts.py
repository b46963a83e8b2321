"""What the prompts of rollouts gave: how many groups there are and of which kind, and pass@k, best@k and maj@k over them.

Frames in which no group is cut in two come in, one or many of them in any order; counts and `Interval`s go out, the same bits for
any partition. Nothing is held but counts and the distinct values of each metric.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import polars as pl

from fastscore.stats.intervals import interval
from fastscore.stats.sampling import per_prompt
from fastscore.stats.units import Units

__all__ = ["Prompts"]


@dataclass
class Prompts:
    """Counts and sampling metrics of groups.

    Attributes
    ----------
    group
        The columns that name a prompt.
    pass_at, best_at, maj_at
        The numbers k; ``pass@k`` and ``maj@k`` are of exact_match, ``best@k`` of f1, both of the first recipe.
    """

    group: tuple[str, ...]
    pass_at: Sequence[int] = ()
    best_at: Sequence[int] = ()
    maj_at: Sequence[int] = ()
    samples_left_out: int = 0
    counts: dict[str, int] = field(
        default_factory=lambda: dict.fromkeys(("count", "one_row", "no_reward", "all_equal", "no_prompt"), 0)
    )
    units: dict[str, Units] = field(default_factory=dict)

    @property
    def columns(self) -> list[str]:
        """The columns that a frame needs beside the group's and its statistics."""
        exact = ["exact_match"] if self.pass_at or self.maj_at else []
        return [*exact, *(["f1"] if self.best_at else []), *(["normal_form"] if self.maj_at else [])]

    def add(self, frame: pl.DataFrame) -> None:
        """Add whole groups: the group's columns, ``group_size``, ``group_all_equal`` and `columns`.

        A row without a prompt is counted and left out.

        Raises
        ------
        UsageError
            A k is not a positive integer.
        """
        keys = list(self.group)
        whole = frame.filter(pl.all_horizontal(pl.col(keys).is_not_null()))
        groups = whole.select(*keys, "group_size", "group_all_equal").unique(keys)
        size = pl.col("group_size")
        found = groups.select(
            count=pl.len(), one_row=(size == 1).sum(), no_reward=(size == 0).sum(),
            all_equal=((size > 1) & pl.col("group_all_equal")).sum(),
        ).row(0, named=True)  # fmt: skip
        for name, number in (*found.items(), ("no_prompt", frame.height - whole.height)):
            self.counts[name] += int(number)
        if not (self.pass_at or self.best_at or self.maj_at):
            return
        prompts = per_prompt(whole, keys, pass_at=self.pass_at, best_at=self.best_at, maj_at=self.maj_at)
        self.samples_left_out += int(prompts["left_out"].sum())
        for name in prompts.columns:
            if name.startswith(("pass@", "best@", "maj@")):
                units = Units.from_table(prompts, name)
                self.units[name] = self.units[name].merge(units) if name in self.units else units

    def to_dict(self) -> dict[str, Any]:
        """For the summary: ``groups``, and the sampling metrics where they were asked for."""
        summary: dict[str, Any] = {"groups": dict(self.counts)}
        if self.units:
            summary |= {"prompts": self.counts["count"], "samples_left_out": self.samples_left_out}
        for name, units in self.units.items():  # a prompt is a unit of its own, so each is a cluster
            summary[name] = interval(replace(units, cluster=self.group), name).to_dict()
        return summary

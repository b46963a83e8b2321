"""Compare systems on the same items: item scores come in, joined by key and never by position, a `Comparison` comes out.

The first system is the baseline of all others. Rows that one system alone has are counted and listed, items without a score
on either side are left out and counted, and scores made by different rules are refused unless told otherwise.
"""

from __future__ import annotations

import dataclasses
import sys
import types
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from fastscore.arguments import fraction, texts_or_none, whole_number
from fastscore.arrow import guarded
from fastscore.errors import ColumnTypeError, KeyMismatchError, UnknownNameError, UsageError, did_you_mean
from fastscore.stats.comparison import ChangedItem, Comparison, GroupDifference, Pair, System, Unjoined
from fastscore.stats.paired import SCORE_A, SCORE_B, Correction, Difference, adjust, differences
from fastscore.stats.resampling import check_draws
from fastscore.stats.summaries import natural_cluster
from fastscore.stats.systems import SIGNATURE_KEY, Scores, check_signatures, default_keys, system_names
from fastscore.stats.units import as_frame, names_of

__all__ = ["SIGNATURE_KEY", "compare"]

#: Draws beyond this take longer than anyone waits, and memory of their own.
_MOST_DRAWS = 100_000_000
_ROW_A, _ROW_B = "\0row_a", "\0row_b"


@guarded
def compare(
    a: Any,
    b: Any,
    *others: Any,
    keys: str | Sequence[str] | None = None,
    metrics: str | Sequence[str] = ("exact_match", "f1"),
    by: str | Sequence[str] | None = None,
    cluster: str | Sequence[str] | None = None,
    seed: int = 0,
    draws: int = 10_000,
    alpha: float = 0.05,
    correction: Correction = "holm",
    allow_different_signatures: bool = False,
    names: Sequence[str] | None = None,
    signatures: Sequence[str | None] | None = None,
    listed: int = 20,
) -> Comparison:
    """Compare `b` and each of `others` with `a`.

    Parameters
    ----------
    a, b, others
        Item scores: a pyarrow table, a polars frame, or the path of a file as `fastscore score -o` writes it.
    keys
        Columns that together name an item. None: those of question_id, turn_id and sample_id that the tables have.
    metrics, by
        Columns of scores, and columns to compare group by group, each on its own, taken from `a` or else from the other.
    cluster
        Columns that tell which items belong together. None: the passage where `a` has a column of it (``document_id``), else the
        first key where there are several (turns of a story, samples of a prompt are alike), else each item on its own; ``()``:
        each item on its own.
    seed, draws
        Of the bootstrap and the randomisation. The same data, seed and numpy give the same bits in any row order.
    alpha, correction
        Of the intervals (1 - alpha) and tests; ``holm`` or ``bh`` over a family: one metric over all systems, or one metric
        and `by` column over all systems and groups.
    names, signatures
        One for each system. None: the files' names where all are files and these differ, else A, B, C, ...; the signatures
        that the tables carry in their metadata (`SIGNATURE_KEY`).
    listed
        How many changed items and unjoined keys to list at most.

    Raises
    ------
    UsageError
        A parameter is not allowed, or the signatures differ.
    UnknownNameError, ColumnTypeError
        A column is missing or of a type that its role does not allow.
    KeyMismatchError
        A key is null or occurs twice, the types of keys differ, no key is in both, or the tables disagree about a group.
    FormatError, DataError
        A file is no table; a score is not finite or an item has no cluster.
    """
    draws, listed = whole_number(draws, "draws", 100, _MOST_DRAWS), whole_number(listed, "listed")
    seed, alpha = whole_number(seed, "seed", 0, 2**128), fraction(alpha, "alpha")
    tables = _opened([a, b, *others], names, signatures)
    notes = check_signatures(tables, allow_different_signatures)
    key_names = names_of(keys, "keys") or default_keys(tables)
    clusters = _natural(tables[0].columns, key_names) if cluster is None else names_of(cluster, "cluster")
    plan = _Plan(key_names, names_of(metrics, "metrics"), names_of(by, "by"), clusters, seed, draws, alpha, correction, listed)
    return plan.run(tables, notes)


def _natural(columns: Sequence[str], keys: Sequence[str]) -> tuple[str, ...]:
    """The units sampled, as far as the names of columns and keys tell."""
    found = natural_cluster([name for name in columns if name not in keys])
    return found or (tuple(keys[:1]) if len(keys) > 1 else ())


def _opened(sources: Sequence[Any], names: Sequence[str] | None, signatures: Sequence[str | None] | None) -> list[Scores]:
    given = texts_or_none(signatures, "signatures") or [None] * len(sources)
    if len(given) != len(sources):
        raise UsageError(f"signatures: one for each of the {len(sources)} systems is allowed, got {len(given)}.")
    called = texts_or_none(names, "names")
    labels = system_names(sources, None if called is None else [str(name) for name in called])
    return [Scores.open(source, name, said) for source, name, said in zip(sources, labels, given, strict=True)]


@dataclass(frozen=True)
class _Plan:
    """What is the same for every pair of systems."""

    keys: tuple[str, ...]
    metrics: tuple[str, ...]
    by: tuple[str, ...]
    cluster: tuple[str, ...]
    seed: int
    draws: int
    alpha: float
    correction: Correction
    listed: int

    def __post_init__(self) -> None:
        check_draws(self.seed, self.draws)
        adjust([], self.correction)
        if not self.metrics or self.listed < 0:
            raise UsageError(
                f"metrics and listed: a column or more and at least 0 are allowed, got {self.metrics} and {self.listed}."
            )
        for role, columns in (("a group", self.by), ("a cluster", self.cluster), ("a key", self.keys)):
            for name in set(columns) & set(self.metrics):
                raise UsageError(f"column {name!r} cannot be a metric and {role} at once.")

    def run(self, tables: Sequence[Scores], notes: list[str]) -> Comparison:
        """Compare all tables with the first."""
        first = self._read(tables[0])
        pairs = self._corrected([self._pair(tables[0], first, other) for other in tables[1:]])
        tests = max(
            [len(pairs), *(sum(len(pair.groups[name][self.metrics[0]]) for pair in pairs) for name in self.by)],
        )
        if tests / (self.draws + 1) > self.alpha:
            notes.append(
                f"{tests} tests in one family need more than {self.draws} draws for a corrected p-value below {self.alpha:g}."
            )
        for pair in pairs:
            warned = {found.interval.warning for found in pair.overall.values()} - {None}
            notes += [f"{pair.b} against {pair.a}: {warning}." for warning in sorted(str(w) for w in warned)]
        return Comparison(
            systems=tuple(System(table.name, table.signature, table.rows) for table in tables),
            pairs=tuple(pairs),
            metrics=self.metrics,
            keys=self.keys,
            cluster=self.cluster,
            alpha=self.alpha,
            correction=self.correction,
            seed=self.seed,
            draws=self.draws,
            notes=tuple(notes),
        )

    def _read(self, table: Scores) -> pl.DataFrame:
        """Read keys, scores and those of the labels that the table has; check the keys."""
        labels = [name for name in dict.fromkeys([*self.by, *self.cluster]) if name in table.columns and name not in self.keys]
        source = table.read([*self.keys, *self.metrics, *labels])
        frame = as_frame(source, self.metrics, [*self.keys, *labels], where=f"system {table.name!r}")
        return _with_checked_keys(frame, self.keys, table.name)

    def _pair(self, first: Scores, a: pl.DataFrame, other: Scores) -> Pair:
        b, keys = self._read(other), list(self.keys)
        for name in keys:
            if a.schema[name] != b.schema[name]:
                raise KeyMismatchError(
                    f"key {name!r} is {a.schema[name]} in {first.name!r} and {b.schema[name]} in {other.name!r}; keys are not "
                    "converted: bring both to one type."
                )
        joined = self._joined(a, b, first, other)
        only_a, only_b = self._unjoined(a, b), self._unjoined(b, a)
        if not joined.height:
            shown = " against ".join(repr(tuple(alone.keys[0].values())) if alone.keys else "none" for alone in (only_a, only_b))
            raise KeyMismatchError(
                f"{first.name!r} and {other.name!r} have no key ({', '.join(keys)}) in common, first keys: {shown}."
            )
        overall: dict[str, Difference] = {}
        groups: dict[str, dict[str, tuple[GroupDifference, ...]]] = {name: {} for name in self.by}
        worsened, improved = {}, {}
        for place, metric in enumerate(self.metrics):
            frame = joined.with_columns(pl.col(f"{side}{place}").alias(side) for side in (SCORE_A, SCORE_B))
            overall[metric] = self._differences(frame, metric, ())[1][0]
            for name in self.by:
                values, found = self._differences(frame, metric, (name,))
                shown_values = [None if value is None else str(value) for value in values[name].to_list()]
                groups[name][metric] = tuple(GroupDifference(value, one) for value, one in zip(shown_values, found, strict=True))
            change = pl.col(SCORE_B) - pl.col(SCORE_A)
            worsened[metric] = self._changed(frame.filter(change < 0), first, other)
            improved[metric] = self._changed(frame.filter(change > 0), first, other)
        return Pair(first.name, other.name, joined.height, only_a, only_b, overall, groups, worsened, improved)

    def _differences(self, frame: pl.DataFrame, metric: str, by: Sequence[str]) -> tuple[pl.DataFrame, list[Difference]]:
        return differences(frame, metric, by=by, cluster=self.cluster, level=1 - self.alpha, seed=self.seed, draws=self.draws)

    def _joined(self, a: pl.DataFrame, b: pl.DataFrame, first: Scores, other: Scores) -> pl.DataFrame:
        """Join by key; scores become `SCORE_A` and `SCORE_B` with the metric's place, labels are checked to agree."""
        keys, labels = list(self.keys), [name for name in dict.fromkeys([*self.by, *self.cluster]) if name not in self.keys]
        for name in labels:
            if name not in a.columns and name not in b.columns:
                known = dict.fromkeys([*first.columns, *other.columns])
                raise UnknownNameError(
                    f"neither {first.name!r} nor {other.name!r} has a column {name!r}.{did_you_mean(name, known)}"
                )
        shared = [name for name in labels if name in a.columns and name in b.columns]
        left = a.rename({metric: f"{SCORE_A}{place}" for place, metric in enumerate(self.metrics)}).with_row_index(_ROW_A)
        right = b.rename({metric: f"{SCORE_B}{place}" for place, metric in enumerate(self.metrics)}).with_row_index(_ROW_B)
        joined = left.join(right.rename({name: f"\0{name}" for name in shared}), on=keys, how="inner")
        for name in shared:
            if a.schema[name] != b.schema[name]:
                raise ColumnTypeError(
                    f"column {name!r} is {a.schema[name]} in {first.name!r} and {b.schema[name]} in {other.name!r}."
                )
            unlike = joined.filter(pl.col(name).ne_missing(pl.col(f"\0{name}"))).sort(keys)
            if unlike.height:
                key, one, two = unlike.select(keys).row(0), unlike[name][0], unlike[f"\0{name}"][0]
                raise KeyMismatchError(
                    f"column {name!r} differs between {first.name!r} and {other.name!r} in {unlike.height} items, first {key}: "
                    f"{one!r} against {two!r}. Drop it from one table, or make them agree."
                )
        return joined.drop(f"\0{name}" for name in shared)

    def _unjoined(self, frame: pl.DataFrame, other: pl.DataFrame) -> Unjoined:
        keys = list(self.keys)
        alone = frame.select(keys).join(other.select(keys), on=keys, how="anti")
        return Unjoined(alone.height, tuple(alone.sort(keys).head(self.listed).to_dicts()))

    def _changed(self, frame: pl.DataFrame, first: Scores, other: Scores) -> tuple[ChangedItem, ...]:
        """List the rows of the largest differences, those of equal size by key."""
        change = pl.col(SCORE_B) - pl.col(SCORE_A)
        size = change.abs()
        frame = frame.filter(size >= size.top_k(self.listed).min()).with_columns(change.alias("\0change"), size.alias("\0size"))
        frame = frame.sort(["\0size", *self.keys], descending=[True, *(False for _ in self.keys)]).head(self.listed)
        texts = first.predictions(frame[_ROW_A].to_list()), other.predictions(frame[_ROW_B].to_list())
        numbers = frame.select(SCORE_A, SCORE_B, "\0change").rows()
        rows = zip(frame.select(self.keys).to_dicts(), numbers, *texts, strict=True)
        return tuple(ChangedItem(key, a, b, by, text_a, text_b) for key, (a, b, by), text_a, text_b in rows)

    def _corrected(self, pairs: list[Pair]) -> list[Pair]:
        """Fill in the corrected p-values, family by family."""
        overall: list[dict[str, Difference]] = [{} for _ in pairs]
        groups: list[dict[str, dict[str, tuple[GroupDifference, ...]]]] = [{name: {} for name in self.by} for _ in pairs]
        for metric in self.metrics:
            family = [pair.overall[metric] for pair in pairs]
            for place, found in enumerate(self._family(family)):
                overall[place][metric] = found
            for name in self.by:
                blocks = [pair.groups[name][metric] for pair in pairs]
                fixed = iter(self._family([one.difference for block in blocks for one in block]))
                for place, block in enumerate(blocks):
                    groups[place][name][metric] = tuple(dataclasses.replace(one, difference=next(fixed)) for one in block)
        return [dataclasses.replace(pair, overall=overall[place], groups=groups[place]) for place, pair in enumerate(pairs)]

    def _family(self, tests: Sequence[Difference]) -> list[Difference]:
        corrected = adjust([found.randomization_p for found in tests], self.correction)
        return [dataclasses.replace(found, adjusted_p=p) for found, p in zip(tests, corrected, strict=True)]


def _with_checked_keys(frame: pl.DataFrame, keys: Sequence[str], name: str) -> pl.DataFrame:
    """Bring integer keys to one width and refuse keys that are null, doubled, or neither text nor integers."""
    for key in keys:
        kind = frame.schema[key]
        if kind.is_integer() and kind not in (pl.UInt64, pl.Int128, pl.UInt128):
            frame = frame.with_columns(pl.col(key).cast(pl.Int64))
        elif not (kind.is_integer() or kind == pl.String):
            raise ColumnTypeError(f"system {name!r}: key {key!r} must be text or an integer, it is {kind}.")
        rows = frame.select(pl.col(key).is_null().arg_true()).to_series()
        if rows.len():
            raise KeyMismatchError(f"system {name!r}: key {key!r} is null in row {rows[0]} ({rows.len()} rows in all).")
    doubled = frame.group_by(keys).agg(pl.len().alias("\0rows")).filter(pl.col("\0rows") > 1).sort(keys)
    if doubled.height:
        shown = ", ".join(str(row[:-1]) for row in doubled.head(3).iter_rows())
        raise KeyMismatchError(
            f"system {name!r}: {doubled.height} keys ({', '.join(keys)}) occur more than once, such as {shown}. "
            "Name all the columns that make an item's key (--id, once for each)."
        )
    return frame


class _CallableModule(types.ModuleType):
    """This module bears its function's name, so ``fastscore.compare(a, b)`` has to work whichever of the two was imported."""

    def __call__(self, *args: Any, **options: Any) -> Comparison:
        return compare(*args, **options)


sys.modules[__name__].__class__ = _CallableModule

"""Error bars for a summary: for all items and each group, every metric's standard error and interval as plain dicts.

Item scores come in with the columns to group by; what goes out has the summary's own shape (`overall`, `groups`) and merges into
it. Where no cluster is named, the natural one is taken from the columns that are there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import polars as pl

from fastscore.stats.intervals import FEW_CLUSTERS, Method, interval, intervals
from fastscore.stats.units import as_frame, names_of

__all__ = ["interval_columns", "natural_cluster", "with_intervals"]

#: Columns that name the text a question is about, from the formats' readers and as tables call them.
_PASSAGES = ("document_id", "passage_id", "context_id")
_WITHIN_A_QUESTION = ("turn_id", "sample_id")
_CODES = "\0cluster"


def natural_cluster(columns: Sequence[str]) -> tuple[str, ...]:
    """Return the columns whose values are the units sampled, as far as the names of the columns tell.

    GermanQuAD: the passage (``document_id``); CoQA: the story (``question_id`` beside ``turn_id``); several samples of a prompt:
    the prompt (``question_id`` beside ``sample_id``). Otherwise none: each item is a unit of its own.
    """
    for name in _PASSAGES:
        if name in columns:
            return (name,)
    if "question_id" in columns and any(name in columns for name in _WITHIN_A_QUESTION):
        return ("question_id",)
    return ()


def interval_columns(
    items: Any,
    metrics: str | Sequence[str],
    by: str | Sequence[str] | None = None,
    cluster: str | Sequence[str] | None = None,
    method: Method | Literal["auto"] = "auto",
    *,
    level: float = 0.95,
    seed: int = 0,
    draws: int = 10_000,
) -> dict[str, Any]:
    """Return standard errors and intervals of `metrics`, overall and for each value of each `by` column.

    Parameters
    ----------
    items
        Item scores: a pyarrow table or polars frame with the metrics, the `by` columns and the cluster's.
    cluster
        Columns of items that belong together. None: the natural one (`natural_cluster`); ``()``: each item on its own.
    method
        ``auto``: clustered (Miller 2024) where there are clusters; without them Wilson for a metric of 0 and 1 alone, and t
        quantiles for the rest. ``bootstrap`` draws `draws` times from `seed`. See `fastscore.stats.interval`.

    Returns
    -------
    dict
        ``overall`` and ``groups`` with ``{metric}_se`` and ``{metric}_ci`` ([low, high]), both None where there is nothing to
        say; ``ci`` says how they were made (level, cluster, clusters, methods, seed, draws); ``notes`` has a line each on
        intervals from fewer than `FEW_CLUSTERS` units. Groups are named as in the summary: as text, a null ``null``.

    Raises
    ------
    UsageError, UnknownNameError, ColumnTypeError, DataError
        As `fastscore.stats.interval`.
    """
    known = list(items.columns) if isinstance(items, pl.DataFrame) else list(items.schema.names)
    clusters = natural_cluster(known) if cluster is None else names_of(cluster)
    groups, names = names_of(by), names_of(metrics)
    frame = as_frame(items, names, [*groups, *clusters])
    labels = {name: f"group of {name}" for name in groups}
    coded, unit = _coded(frame, clusters)
    coded = coded.with_columns(pl.col(name).cast(pl.String).fill_null("null").alias(label) for name, label in labels.items())
    found: dict[str, Any] = {"overall": {}, "groups": {name: {} for name in groups}}
    methods: dict[str, Method] = {}
    most = 0
    sizes: dict[str, dict[str, int]] = {name: {} for name in groups}
    for name in names:
        methods[name] = chosen = _method(coded[name], unit) if method == "auto" else method
        options: dict[str, Any] = {"level": level, "seed": seed, "draws": draws}
        whole = interval(coded, name, unit, chosen, **options)
        most = max(most, whole.clusters)
        found["overall"] |= _pair(name, whole.standard_error, whole.low, whole.high)
        for column, label in labels.items():
            for row in sorted(
                intervals(coded, name, label, unit, chosen, **options).to_pylist(), key=lambda row: str(row[label])
            ):
                block = found["groups"][column].setdefault(row[label], {})
                block.update(_pair(name, row["standard_error"], row["low"], row["high"]))
                sizes[column][row[label]] = max(sizes[column].get(row[label], 0), row["clusters"])
    found["notes"] = _notes(most, sizes, clusters)
    drawn = "bootstrap" in methods.values()
    found["ci"] = {
        "level": level,
        "cluster": list(clusters),
        "clusters": most,
        "methods": methods,
        "seed": seed if drawn else None,
        "draws": draws if drawn else None,
    }
    return found


def with_intervals(summary: Mapping[str, Any], found: Mapping[str, Any]) -> dict[str, Any]:
    """Return a summary whose blocks have the standard errors and intervals of `interval_columns`, and how they were made."""
    groups = {
        column: {value: {**block, **found["groups"].get(column, {}).get(value, {})} for value, block in blocks.items()}
        for column, blocks in summary["groups"].items()
    }
    return {**summary, "overall": {**summary["overall"], **found["overall"]}, "groups": groups, "ci": found["ci"]}


def _coded(frame: pl.DataFrame, clusters: Sequence[str]) -> tuple[pl.DataFrame, tuple[str, ...]]:
    """Put integer codes in the place of a single text column of clusters: statistics ask for equality alone."""
    if len(clusters) == 1 and frame.schema[clusters[0]] == pl.String:
        codes = pl.col(clusters[0]).cast(pl.Categorical).to_physical().alias(_CODES)
        return frame.with_columns(codes), (_CODES,)
    return frame, tuple(clusters)


def _method(scores: pl.Series, unit: Sequence[str]) -> Method:
    if unit or not bool(scores.drop_nulls().is_in([0.0, 1.0]).all()):
        return "clustered"
    return "wilson"


def _pair(name: str, error: float | None, low: float | None, high: float | None) -> dict[str, Any]:
    return {f"{name}_se": error, f"{name}_ci": None if low is None or high is None else [low, high]}


def _notes(overall: int, groups: Mapping[str, Mapping[str, int]], clusters: Sequence[str]) -> list[str]:
    """Say once which intervals come from few units: all of them, or those of some groups."""
    what = f"clusters ({', '.join(clusters)})" if clusters else "items"
    if 0 < overall < FEW_CLUSTERS:
        return [f"only {overall} {what}, fewer than {FEW_CLUSTERS}: intervals may be too narrow"]
    notes = []
    for column, sizes in groups.items():
        few = [f"{value} ({size})" for value, size in sizes.items() if 0 < size < FEW_CLUSTERS]
        if few:
            shown = ", ".join(few[:5]) + (f" and {len(few) - 5} more" if len(few) > 5 else "")
            notes.append(f"{column}: fewer than {FEW_CLUSTERS} {what} in {shown}: these intervals may be too narrow")
    return notes

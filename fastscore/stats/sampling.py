"""Metrics of several generations a prompt: pass@k, best@k and maj@k, unbiased, with prompt-clustered standard errors.

A table with one row a generation comes in; a table with one row a prompt, or the means over prompts as `Interval`s, come
out. Each metric is the expectation over all sets of k of a prompt's n generations, in closed form, so nothing is drawn.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import ArrayLike, NDArray

from fastscore.errors import DataError, UsageError
from fastscore.stats.intervals import Interval, interval
from fastscore.stats.units import as_frame, names_of

__all__ = ["SamplingMetrics", "best_at_k", "maj_at_k", "pass_at_k", "per_prompt", "sampling_metrics"]


@dataclass(frozen=True)
class SamplingMetrics:
    """Means over prompts by name (``pass@5``, ``best@5``, ``maj@5``).

    ``prompts`` and ``samples`` count all; ``samples_left_out`` are generations without a score. An interval's ``n`` is the
    number of prompts in its mean and its ``left_out`` those with fewer than k generations.
    """

    prompts: int
    samples: int
    samples_left_out: int
    metrics: dict[str, Interval]

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as a dict that strict JSON takes."""
        counts = {"prompts": self.prompts, "samples": self.samples, "samples_left_out": self.samples_left_out}
        return counts | {"metrics": {name: found.to_dict() for name, found in self.metrics.items()}}


def pass_at_k(n: ArrayLike, c: ArrayLike, k: int) -> NDArray[np.float64]:
    """Chance that one of k generations out of n, c of them right, is right: 1 - C(n-c, k) / C(n, k), correctly rounded.

    `n` and `c` are integer arrays of one shape (broadcast); the rule is Chen et al. 2021 (arXiv 2107.03374). All n must be
    at least k.

    Raises
    ------
    UsageError
        k is below 1 or above an n, or a c lies outside [0, n].
    """
    samples, right = np.broadcast_arrays(np.asarray(n, np.int64), np.asarray(c, np.int64))
    _check_k(k, samples)
    if ((right < 0) | (right > samples)).any():
        raise UsageError("c: the number of right generations must lie between 0 and n.")
    pairs, place = np.unique(np.stack([samples.ravel(), right.ravel()]), axis=1, return_inverse=True)
    chances = [(math.comb(m, k) - math.comb(m - r, k)) / math.comb(m, k) for m, r in pairs.T.tolist()]
    out: NDArray[np.float64] = np.array(chances, np.float64)[place].reshape(samples.shape)
    return out


def best_at_k(scores: ArrayLike, k: int) -> NDArray[np.float64]:
    """Expected best score of k generations out of the n along the last axis, in closed form over the order statistics.

    With scores sorted ascending, the i-th (from 1) is the best of C(i-1, k-1) of the C(n, k) sets. The result has the
    shape of `scores` less its last axis and does not depend on the order along it.

    Raises
    ------
    UsageError
        k is below 1 or above n.
    DataError
        A score is NaN or infinite.
    """
    ordered = np.sort(np.asarray(scores, np.float64), axis=-1)
    n = ordered.shape[-1]
    _check_k(k, np.array([n]))
    if not np.isfinite(ordered).all():
        raise DataError("scores: finite numbers are allowed, got NaN or infinity. Leave generations without a score out.")
    weights = np.zeros(n)
    weights[n - 1] = k / n
    for place in range(n - 1, k - 1, -1):
        weights[place - 1] = weights[place] * (place + 1 - k) / place
    best: NDArray[np.float64] = np.clip((ordered * weights).sum(axis=-1), ordered[..., k - 1], ordered[..., n - 1])
    return best


def maj_at_k(answers: Sequence[Hashable | None], scores: Sequence[float], k: int) -> float:
    """Expected score of the majority answer among k of one prompt's generations.

    Parameters
    ----------
    answers
        What each generation votes for (its normal form); None votes for nothing but takes up a place.
    scores
        The score of each generation; an answer's score is the mean over the generations that gave it.

    Notes
    -----
    The expectation runs over all sets of k. Answers tied for the most votes share the set evenly, and a set without any
    vote scores 0. For k = n this is the plain majority vote.

    Raises
    ------
    UsageError
        The lengths differ, or k is below 1 or above n.
    """
    if len(answers) != len(scores):
        raise UsageError(f"answers and scores must be of equal length, got {len(answers)} and {len(scores)}.")
    _check_k(k, np.array([len(answers)]))
    votes = Counter(answer for answer in answers if answer is not None)
    points = {
        answer: math.fsum(s for a, s in zip(answers, scores, strict=True) if a == answer) / votes[answer] for answer in votes
    }
    chances = _win_chances(tuple(sorted(votes.values())), len(answers) - votes.total(), k)
    return math.fsum(chances[votes[answer]] * points[answer] for answer in votes)


def per_prompt(
    table: Any,
    prompt: str | Sequence[str] = "prompt_id",
    *,
    pass_at: Sequence[int] = (),
    best_at: Sequence[int] = (),
    maj_at: Sequence[int] = (),
    exact: str = "exact_match",
    score: str = "f1",
    answer: str = "normal_form",
    keep: str | Sequence[str] | None = None,
) -> pl.DataFrame:
    """Return one row a prompt, in ascending order: prompt, `keep`, ``samples``, ``left_out`` and a column for each metric and k.

    Parameters
    ----------
    table
        One row a generation: prompt columns, `exact` (0 or 1; for pass and maj), `score` (for best), `answer` (text; for maj).
    keep
        Columns that are the same in all rows of a prompt, such as a group or a coarser cluster.

    A generation without one of the scores that are asked for is left out and counted. ``pass@k`` and the others are null
    where a prompt has fewer than k generations left.

    Raises
    ------
    UsageError
        A k is not a positive integer.
    DataError
        A prompt is null, `exact` is neither 0 nor 1 where pass@k is asked for, or a kept column varies within a prompt.
    """
    keys, kept = list(names_of(prompt)), list(names_of(keep))
    for k in (*pass_at, *best_at, *maj_at):
        _check_k(k, np.zeros(0, np.int64))
    metrics = [exact] * bool(pass_at or maj_at) + [score] * bool(best_at)
    frame = as_frame(table, metrics, [*keys, *kept, *([answer] if maj_at else [])])
    _check_prompts(frame, keys, kept, exact if pass_at else None)
    frame = frame.with_columns(scored=pl.all_horizontal(pl.col(metrics).is_not_null()) if metrics else pl.lit(True))
    samples = pl.col("scored").sum().cast(pl.Int64)
    out = frame.group_by(keys).agg(pl.col(kept).first(), samples=samples, left_out=pl.len().cast(pl.Int64) - samples).sort(keys)
    groups = frame.filter("scored").join(out.select(keys).with_row_index("group"), on=keys, nulls_equal=True)
    n = out["samples"].to_numpy()
    columns: dict[str, NDArray[np.float64]] = {}
    if pass_at:
        hits = groups.filter(pl.col(exact) == 1)["group"].to_numpy()
        right = np.bincount(hits, minlength=out.height)
        for k in pass_at:
            enough = n >= k
            columns[f"pass@{k}"] = np.full(out.height, np.nan)
            columns[f"pass@{k}"][enough] = pass_at_k(n[enough], right[enough], k)
    if best_at:
        columns |= _best_columns(groups.sort("group", score), score, n, best_at)
    if maj_at:
        columns |= _maj_columns(groups, exact, answer, n, maj_at)
    return out.with_columns(pl.Series(name, values).fill_nan(None) for name, values in columns.items())


def sampling_metrics(
    table: Any,
    prompt: str | Sequence[str] = "prompt_id",
    *,
    pass_at: Sequence[int] = (),
    best_at: Sequence[int] = (),
    maj_at: Sequence[int] = (),
    exact: str = "exact_match",
    score: str = "f1",
    answer: str = "normal_form",
    cluster: str | Sequence[str] | None = None,
    level: float = 0.95,
) -> SamplingMetrics:
    """Return the means over prompts of `per_prompt`'s columns with their standard errors and intervals.

    The prompt is the unit sampled (its generations are used up in its one value), unless `cluster` names a coarser one that
    is constant within a prompt. For values by group take `per_prompt` with ``keep`` and `fastscore.stats.intervals`.
    Raises what `per_prompt` raises.
    """
    prompts = per_prompt(
        table, prompt, pass_at=pass_at, best_at=best_at, maj_at=maj_at, exact=exact, score=score, answer=answer, keep=cluster
    )
    names = [name for name in prompts.columns if name.startswith(("pass@", "best@", "maj@"))]
    return SamplingMetrics(
        prompts=prompts.height,
        samples=int(prompts["samples"].sum()) + int(prompts["left_out"].sum()),
        samples_left_out=int(prompts["left_out"].sum()),
        metrics={name: interval(prompts, name, cluster or prompt, level=level) for name in names},
    )


def _check_k(k: int, n: NDArray[np.int64]) -> None:
    if isinstance(k, bool) or not isinstance(k, int | np.integer) or k < 1:
        raise UsageError(f"k: an integer of at least 1 is allowed, got {k!r}.")
    if n.size and n.min() < k:
        raise UsageError(f"k: at most the number of generations is allowed, got k = {k} for n = {n.min()}.")


def _check_prompts(frame: pl.DataFrame, keys: list[str], kept: list[str], binary: str | None) -> None:
    rows = frame.select(pl.any_horizontal(pl.col(keys).is_null()).arg_true()).to_series()
    if rows.len():
        raise DataError(
            f"prompt {', '.join(keys)}: null in row {rows[0]} ({rows.len()} rows in all); every generation needs its prompt."
        )
    if binary is not None:
        rows = frame.select((~pl.col(binary).is_in([0.0, 1.0])).arg_true()).to_series()
        if rows.len():
            raise DataError(
                f"pass@k: {binary!r} must be 0 or 1, got {frame[binary][rows[0]]} in row {rows[0]} ({rows.len()} rows in all). "
                "Take best@k for scores in between."
            )
    for name in kept:
        mixed = frame.group_by(keys).agg(pl.col(name).n_unique()).filter(pl.col(name) > 1).sort(keys)
        if mixed.height:
            raise DataError(
                f"column {name!r} has more than one value in prompt {mixed.row(0)[:-1]} ({mixed.height} prompts in all)."
            )


def _best_columns(
    groups: pl.DataFrame, score: str, n: NDArray[np.int64], best_at: Sequence[int]
) -> dict[str, NDArray[np.float64]]:
    """Best@k of groups whose rows are sorted by group and score, all groups of one size at once."""
    scores = groups[score].to_numpy()
    firsts = np.cumsum(n) - n
    columns = {f"best@{k}": np.full(len(n), np.nan) for k in best_at}
    for size in np.unique(n).tolist():
        members = np.flatnonzero(n == size)
        rows = scores[firsts[members][:, None] + np.arange(size)]
        for k in best_at:
            if k <= size:
                columns[f"best@{k}"][members] = best_at_k(rows, k)
    return columns


def _maj_columns(
    groups: pl.DataFrame, exact: str, answer: str, n: NDArray[np.int64], maj_at: Sequence[int]
) -> dict[str, NDArray[np.float64]]:
    ordered = groups.group_by("group", answer).agg(votes=pl.len(), points=pl.col(exact).sort().mean()).sort("group", answer)
    classes = ordered.filter(pl.col(answer).is_not_null()).group_by("group", maintain_order=True).agg("votes", "points")
    columns = {f"maj@{k}": np.where(n >= k, 0.0, np.nan) for k in maj_at}
    seen: dict[tuple[tuple[int, ...], int, int], dict[int, float]] = {}
    for group, votes, points in classes.iter_rows():
        for k in maj_at:
            if k > n[group]:
                continue
            profile = (tuple(sorted(votes)), int(n[group]) - sum(votes), int(k))
            if profile not in seen:
                seen[profile] = _win_chances(*profile)
            chances = seen[profile]
            columns[f"maj@{k}"][group] = math.fsum(chances[v] * p for v, p in zip(votes, points, strict=True))
    return columns


def _win_chances(votes: tuple[int, ...], abstentions: int, k: int) -> dict[int, float]:
    """For each count in `votes`: the expected share of the win of one answer with that many votes, over all sets of k.

    For each number m of votes that the answer may get, the sets in which no other gets more are counted exactly, by the
    number of others that get m as well.
    """
    all_sets = math.comb(sum(votes) + abstentions, k)
    chances = {}
    for own in set(votes):
        others = list(votes)
        others.remove(own)
        share = Fraction(0)
        for m in range(1, min(own, k) + 1):
            ties = _sets_by_ties(others, abstentions, m, k - m)
            share += math.comb(own, m) * sum((Fraction(sets, tied + 1) for tied, sets in enumerate(ties)), Fraction(0))
        chances[own] = float(share / all_sets)
    return chances


def _sets_by_ties(others: list[int], abstentions: int, m: int, size: int) -> list[int]:
    """Count the sets of `size` generations in which no answer of `others` has more than m, by how many have exactly m."""
    table = np.zeros((size // m + 1, size + 1), object)
    table[0] = [math.comb(abstentions, x) for x in range(size + 1)]
    for votes in others:
        grown = table.copy()
        for taken in range(1, min(votes, m - 1, size) + 1):
            grown[:, taken:] += table[:, : size + 1 - taken] * math.comb(votes, taken)
        if votes >= m and size >= m:
            grown[1:, m:] += table[:-1, : size + 1 - m] * math.comb(votes, m)
        table = grown
    return [int(sets) for sets in table[:, size]]

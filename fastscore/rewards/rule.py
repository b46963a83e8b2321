"""The rule of a reward: what is taken out of a completion, which recipes score it, and how the scores become one number.

Names, weights and bounds come in; a frozen, picklable `RewardRule` goes out, whose signature prints all of it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from fastscore.errors import UnknownNameError, UsageError, did_you_mean
from fastscore.recipes import Recipe, find_recipe
from fastscore.rewards.extract import Extraction, parse_extraction
from fastscore.schema import WORD_METRICS

__all__ = ["LengthUnit", "NullPolicy", "Recipes", "RewardRule", "Term", "reward_rule"]

NullPolicy = Literal["null", "zero", "error"]
LengthUnit = Literal["characters", "words"]
#: One recipe, several, or several with their weights; a name may carry a metric: ``squad:f1``.
Recipes = str | Recipe | Sequence[str | Recipe] | Mapping[str, float]


@dataclass(frozen=True)
class Term:
    """One part of a reward: a metric of a recipe, and its weight."""

    recipe: Recipe
    metric: str
    weight: float

    @property
    def name(self) -> str:
        """Such as ``squad:f1``."""
        return f"{self.recipe.name}:{self.metric}"


@dataclass(frozen=True)
class RewardRule:
    """How a completion gets its reward.

    The reward is the sum of ``weight * score`` over the terms, plus ``format_weight`` where the completion has every tag of
    ``tags`` exactly once, closed, in this order. A completion whose length lies outside ``min_length`` to ``max_length`` gets 0.
    Where a score is missing (no answer found, no completion, no reference), ``null`` decides: no reward, a 0 in the score's
    place, or an error.
    """

    terms: tuple[Term, ...]
    steps: tuple[Extraction, ...] = ()
    tags: tuple[str, ...] = ()
    format_weight: float = 1.0
    min_length: int | None = None
    max_length: int | None = None
    length_unit: LengthUnit = "characters"
    null: NullPolicy = "null"

    @cached_property
    def recipes(self) -> tuple[Recipe, ...]:
        """The distinct recipes, the first term's first."""
        return tuple(dict.fromkeys(t.recipe for t in self.terms))

    @cached_property
    def places(self) -> tuple[int, ...]:
        """Each term's recipe, as its place among `recipes`."""
        return tuple(self.recipes.index(t.recipe) for t in self.terms)

    @cached_property
    def bounds(self) -> tuple[int, int] | None:
        """The least and the greatest length, None where lengths are not bounded."""
        if self.min_length is None and self.max_length is None:
            return None
        return self.min_length or 0, 2**62 if self.max_length is None else self.max_length

    @cached_property
    def tag_bytes(self) -> tuple[tuple[npt.NDArray[np.uint8], npt.NDArray[np.uint8]], ...]:
        """The bytes of each tag of the format, opening and closing."""
        pairs = [Extraction("tag", tag).wanted for tag in self.tags]
        return tuple((pair[0], pair[1]) for pair in pairs)

    @property
    def signature(self) -> str:
        """Everything that could change a reward, in one line; for a plain score of one recipe, its signature and little more."""
        parts = [f"{t.weight!r}*{t.metric} of {t.recipe.signature}" for t in self.terms]
        parts.append(f"extract {'>'.join(map(str, self.steps)) or 'nothing'}")
        if self.tags:
            parts.append(f"{self.format_weight!r}*format {','.join(self.tags)}")
        if self.bounds is not None:
            parts.append(f"length {self.min_length or 0} to {self.max_length} {self.length_unit}")
        return " + ".join([*parts, f"null {self.null}"])


def reward_rule(
    recipe: Recipes,
    *,
    extract: str | Sequence[str] | None = None,
    metric: str = "exact_match",
    weights: Sequence[float] | None = None,
    format_tags: str | Sequence[str] | None = None,
    format_weight: float = 1.0,
    min_length: int | None = None,
    max_length: int | None = None,
    length_unit: LengthUnit = "characters",
    null: NullPolicy = "null",
) -> RewardRule:
    """Make the rule of a reward.

    Parameters
    ----------
    recipe
        A recipe or several, by name; ``squad:f1`` names a metric as well. A mapping gives each its weight.
    extract
        How the answer is found in a completion, as in `fastscore.rewards.extract`; None: the completion is the answer.
    metric
        The metric where a name carries none: exact_match, f1, precision or recall.
    weights
        A weight for each recipe, by default 1.
    format_tags
        Tags that a well-formed completion has exactly once and in this order, such as ``think,answer``.
    format_weight
        What a well-formed completion is given on top.
    min_length, max_length
        Bounds of the completion's length, both allowed; outside of them the reward is 0.
    length_unit
        ``characters`` (code points) or ``words`` (as `str.split` cuts them).
    null
        What a missing score makes: ``null`` no reward, ``zero`` a 0 in the score's place, ``error`` a DataError.

    Raises
    ------
    UnknownNameError
        A recipe, metric or step is unknown.
    UsageError
        A value is not allowed.
    """
    if isinstance(recipe, Mapping):
        if weights is not None:
            raise UsageError("weights: the mapping of recipes has the weights already; give one of the two")
        weights = list(recipe.values())
    names: list[str | Recipe] = [recipe] if isinstance(recipe, str | Recipe) else list(recipe)
    if not names:
        raise UsageError("recipe: at least one is needed, such as 'squad'")
    factors = [1.0] * len(names) if weights is None else [_weight(w, "weights") for w in weights]
    if len(factors) != len(names):
        raise UsageError(f"weights: one for each of the {len(names)} recipes is needed, got {len(factors)}")
    terms = tuple(_term(name, metric, factor) for name, factor in zip(names, factors, strict=True))
    if len({t.recipe.name for t in terms}) < len({t.recipe for t in terms}):
        raise UsageError("recipe: two different recipes have one name; give them names of their own")
    _one_of("null", null, get_args(NullPolicy))
    _one_of("length_unit", length_unit, get_args(LengthUnit))
    low, high = _bound(min_length, "min_length"), _bound(max_length, "max_length")
    if low is not None and high is not None and low > high:
        raise UsageError(f"min_length: at most max_length, {high}, is allowed, got {low}")
    return RewardRule(
        terms=terms,
        steps=() if extract is None else parse_extraction(extract),
        tags=_tags(format_tags),
        format_weight=_weight(format_weight, "format_weight"),
        min_length=low,
        max_length=high,
        length_unit=length_unit,
        null=null,
    )


def _term(name: str | Recipe, metric: str, weight: float) -> Term:
    if isinstance(name, str):
        front, colon, back = name.rpartition(":")
        if colon and "|" not in back:
            name, metric = front, back
    if metric not in WORD_METRICS:
        raise UnknownNameError(f"metric: there is no {metric!r} among a recipe's scores.{did_you_mean(metric, WORD_METRICS)}")
    return Term(find_recipe(name), metric, weight)


def _tags(given: str | Sequence[str] | None) -> tuple[str, ...]:
    names = [] if given is None else given.split(",") if isinstance(given, str) else list(given)
    tags = tuple(parse_extraction([f"tag:{str(name).strip()}"])[0].argument for name in names)
    if len(set(tags)) < len(tags):
        raise UsageError(f"format_tags: each tag is allowed once, got {','.join(tags)}")
    return tags


def _weight(value: Any, name: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise UsageError(f"{name}: finite numbers are allowed, got {value!r}")
    return float(value)


def _bound(value: Any, name: str) -> int | None:
    if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 0):
        raise UsageError(f"{name}: a whole number from 0 on is allowed, got {value!r}")
    return value


def _one_of(name: str, value: Any, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise UsageError(f"{name}: {', '.join(allowed)} are allowed, got {value!r}")

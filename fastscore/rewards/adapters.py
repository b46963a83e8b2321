"""Reward functions for training loops, each called as its framework calls it: completions and references in, rewards out.

Each name makes a callable object that can be pickled and shared by threads, holds nothing but its rule, uses no signals, and
imports neither a framework nor torch. It gives a reward for each completion, in order; lengths that differ are an error that
names both. Keyword arguments that no adapter names are those of `reward_rule` (``extract``, ``metric``, ``weights``,
``format_tags``, ``min_length``, ``null`` ...).
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from fastscore.errors import ColumnTypeError, DataError, UnknownNameError, UsageError, did_you_mean
from fastscore.rewards.arguments import completion_text, reference_list
from fastscore.rewards.batches import OneReward, reward_batch, reward_one
from fastscore.rewards.rule import Recipes, RewardRule, reward_rule
from fastscore.schema import WORD_METRICS

__all__ = [
    "SPECIAL_TOKENS",
    "OpenRLHFReward",
    "TRLReward",
    "VerifiersReward",
    "VerlBatchReward",
    "VerlReward",
    "as_tensor",
    "details_of",
    "number_rule",
    "openrlhf",
    "rewards_of",
    "trl",
    "verifiers",
    "verl",
    "verl_batch",
]

#: What tokenizers put around a response and `skip_special_tokens=False` leaves there.
SPECIAL_TOKENS = (
    *(
        "<|im_end|>",
        "<|im_start|>",
        "<|endoftext|>",
        "<|eot_id|>",
        "<|end_of_text|>",
        "<|begin_of_text|>",
        "<|end|>",
        "<|return|>",
    ),
    *("<｜end▁of▁sentence｜>", "<｜begin▁of▁sentence｜>", "<end_of_turn>", "</s>", "<s>", "<eos>", "<bos>", "<pad>", "[PAD]"),
)


@dataclass(frozen=True)
class TRLReward:
    """TRL's reward function: keyword arguments ``prompts``, ``completions`` and the dataset's columns, a list of rewards back."""

    rule: RewardRule
    references: str = "answer"
    __name__: str = field(default="fastscore_reward", kw_only=True)

    def __call__(self, prompts: Any = None, completions: Any = None, **columns: Any) -> list[float | None]:
        """Return a reward for each completion; None where there is none, which TRL leaves out."""
        if completions is None:
            raise UsageError("trl: completions are needed, as TRL gives them by keyword")
        if self.references not in columns:
            raise UnknownNameError(
                f"trl: the dataset has no column {self.references!r} of references.{did_you_mean(self.references, columns)}"
            )
        gold = columns[self.references]
        _same_length("trl", "completions", completions, self.references, gold)
        return rewards_of([completion_text(c) for c in completions], gold, self.rule)


@dataclass(frozen=True)
class VerlReward:
    """verl's ``compute_score``: one response and its ground truth in, a number or a dict with ``score`` out."""

    rule: RewardRule
    details: bool = False
    __name__: str = field(default="compute_score", kw_only=True)

    def __call__(
        self, data_source: Any = None, solution_str: Any = None, ground_truth: Any = None, extra_info: Any = None, **_: Any
    ) -> float | dict[str, float]:
        """Return the reward of one response."""
        one = reward_one(completion_text(solution_str), reference_list(ground_truth), self.rule)
        return _details(one) if self.details else _number(one)


@dataclass(frozen=True)
class VerlBatchReward:
    """verl's batched ``compute_score`` (reward manager ``batch``): four lists in, a list of numbers or of dicts out."""

    rule: RewardRule
    details: bool = False
    __name__: str = field(default="compute_score", kw_only=True)

    def __call__(
        self, data_sources: Any = None, solution_strs: Any = None, ground_truths: Any = None, extra_infos: Any = None, **_: Any
    ) -> list[float] | list[dict[str, float]]:
        """Return a reward for each response."""
        if solution_strs is None or ground_truths is None:
            raise UsageError("verl_batch: solution_strs and ground_truths are needed, as verl's batch manager gives them")
        _same_length("verl_batch", "solution_strs", solution_strs, "ground_truths", ground_truths)
        texts = [completion_text(s) for s in solution_strs]
        if self.details:
            return [_details(one) for one in details_of(texts, ground_truths, self.rule)]
        return [reward or 0.0 for reward in rewards_of(texts, ground_truths, self.rule)]


@dataclass(frozen=True)
class OpenRLHFReward:
    """OpenRLHF's ``reward_func(queries, prompts, labels)``; queries are prompt and response in one, special tokens included."""

    rule: RewardRule
    special_tokens: tuple[str, ...] = SPECIAL_TOKENS
    __name__: str = field(default="reward_func", kw_only=True)

    def __call__(self, queries: Any, prompts: Any, labels: Any, **_: Any) -> dict[str, Any]:
        """Return ``rewards``, ``scores`` and ``extra_logs``, each a value a query: tensors where the process has torch loaded."""
        _same_length("openrlhf", "queries", queries, "prompts", prompts)
        _same_length("openrlhf", "queries", queries, "labels", labels)
        texts = [self.response(query, prompt, row) for row, (query, prompt) in enumerate(zip(queries, prompts, strict=True))]
        found = details_of(texts, labels, self.rule)
        rewards = [_number(one) for one in found]
        extracted = [float(one.status != "extraction_failed") for one in found]
        return {"rewards": as_tensor(rewards), "scores": as_tensor(rewards), "extra_logs": {"extracted": as_tensor(extracted)}}

    def response(self, query: str, prompt: str, row: int = 0) -> str:
        """The response alone: what follows the prompt in a query, without the special tokens at its ends."""
        at = query.find(prompt)
        if at < 0:
            raise DataError(f"openrlhf: queries[{row}] does not contain prompts[{row}], so its response cannot be told from it")
        text, before = query[at + len(prompt) :].strip(), None
        while text != before:
            before = text
            for token in self.special_tokens:
                text = text.removesuffix(token).removeprefix(token).strip()
        return text


@dataclass(frozen=True)
class VerifiersReward:
    """A reward function for a verifiers rubric: called by keyword with what its signature names, a number back."""

    rule: RewardRule
    references: str = "answer"
    __name__: str = field(default="fastscore_reward", kw_only=True)

    def __call__(self, completion: Any, answer: Any = None, info: Any = None, state: Any = None, **_: Any) -> float:
        """Return the reward of one rollout; references are ``answer``, or a field of ``info`` or of ``state``."""
        gold = answer
        if self.references != "answer":
            places = [place for place in (info, state) if isinstance(place, Mapping)]
            held = [place for place in places if self.references in place]
            if not held:
                known = [str(key) for place in places for key in place]
                raise UnknownNameError(
                    f"verifiers: neither info nor state has {self.references!r}.{did_you_mean(self.references, known)}"
                )
            gold = held[0][self.references]
        return _number(reward_one(completion_text(completion), reference_list(gold), self.rule))


def trl(recipe: Recipes, *, references: str = "answer", name: str = "fastscore_reward", **options: Any) -> TRLReward:
    """Make a reward function for TRL's GRPOTrainer and RLOOTrainer (``reward_funcs=``).

    TRL calls it as ``f(prompts=[...], completions=[...], completion_ids=[...], **columns)`` and takes a list of numbers and None.
    A completion is a string or a list of messages, of which the last assistant's counts.

    Parameters
    ----------
    recipe, options
        As `reward_rule` takes them.
    references
        The dataset's column of gold answers: strings, or lists of them.
    name
        Under which name TRL logs it.
    """
    return TRLReward(reward_rule(recipe, **options), references, __name__=name)


def verl(recipe: Recipes, *, details: bool = False, null: str = "zero", **options: Any) -> VerlReward:
    """Make a ``compute_score(data_source, solution_str, ground_truth, extra_info)`` for verl's reward managers.

    ``ground_truth`` is a string, a list, a dict with ``target`` or a numpy array, as it comes out of parquet. verl needs a number
    for every response, so ``null`` is ``zero`` or ``error``. With `details` it returns a dict: ``score``, the first recipe's
    metrics and ``extracted``.
    """
    return VerlReward(number_rule("verl", recipe, null, options), details)


def verl_batch(recipe: Recipes, *, details: bool = False, null: str = "zero", **options: Any) -> VerlBatchReward:
    """Make a ``compute_score(data_sources, solution_strs, ground_truths, extra_infos)`` for verl's batch reward manager."""
    return VerlBatchReward(number_rule("verl_batch", recipe, null, options), details)


def openrlhf(
    recipe: Recipes, *, special_tokens: Sequence[str] = SPECIAL_TOKENS, null: str = "zero", **options: Any
) -> OpenRLHFReward:
    """Make a ``reward_func(queries, prompts, labels)`` for OpenRLHF's ``--remote_rm_url file.py``.

    The prompt and the `special_tokens` around the response are taken away first. ``null`` is ``zero`` or ``error``.
    """
    return OpenRLHFReward(number_rule("openrlhf", recipe, null, options), tuple(t for t in special_tokens if t))


def verifiers(
    recipe: Recipes, *, references: str = "answer", name: str = "fastscore_reward", null: str = "zero", **options: Any
) -> VerifiersReward:
    """Make a reward function for a verifiers ``Rubric(funcs=[...])``; `references` other than ``answer`` names a field of info.

    A rubric turns an error into 0.0 and a line in its log; ``null`` is ``zero`` or ``error``. From version 0.4 on verifiers has
    no rubrics; there a Task's ``@vf.reward`` method calls it: ``f(completion=trace.last_reply, answer=...)``.
    """
    return VerifiersReward(number_rule("verifiers", recipe, null, options), references, __name__=name)


def rewards_of(completions: Sequence[str | None], references: Any, rule: RewardRule) -> list[float | None]:
    """The reward of each completion, in order, whose references may be in any form that `reference_list` reads."""
    if len(completions) == 1:
        return [reward_one(completions[0], reference_list(references[0]), rule).reward]
    rewards: list[float | None] = _scored(completions, references, rule).column("reward").to_pylist()
    return rewards


def details_of(completions: Sequence[str | None], references: Any, rule: RewardRule) -> list[OneReward]:
    """The rewards as `rewards_of` gives them, with their status and the first recipe's scores."""
    if len(completions) == 1:
        return [reward_one(completions[0], reference_list(references[0]), rule)]
    scored = _scored(completions, references, rule)
    names = scored.column("status").to_pylist()
    metrics = [scored.column(m).to_pylist() for m in WORD_METRICS]
    rows = zip(scored.column("reward").to_pylist(), names, *metrics, strict=True)
    return [OneReward(reward, name, dict(zip(WORD_METRICS, values, strict=True))) for reward, name, *values in rows]


def _scored(completions: Sequence[str | None], references: Any, rule: RewardRule) -> pa.RecordBatch:
    gold = _lists([reference_list(r) for r in references])
    return reward_batch(pa.RecordBatch.from_arrays([_texts(completions), gold], names=["prediction", "references"]), rule)


def number_rule(adapter: str, recipe: Recipes, null: str, options: Mapping[str, Any]) -> RewardRule:
    """The rule for a framework that needs a number for every rollout."""
    if null not in ("zero", "error"):
        raise UsageError(f"{adapter}: null must be zero or error, as the framework takes numbers alone; got {null!r}")
    return reward_rule(recipe, null=null, **options)  # type: ignore[arg-type]


def as_tensor(values: list[float]) -> Any:
    """The values as a float32 tensor where the framework has loaded torch into the process, else as they are."""
    torch = sys.modules.get("torch")
    return values if torch is None else torch.tensor(values, dtype=torch.float32)


def _number(one: OneReward) -> float:
    return 0.0 if one.reward is None else one.reward


def _details(one: OneReward) -> dict[str, float]:
    scores = {metric: value or 0.0 for metric, value in one.scores.items()}
    return {"score": _number(one), **scores, "extracted": float(one.status != "extraction_failed")}


def _same_length(adapter: str, one: str, values: Any, other: str, others: Any) -> None:
    if len(values) != len(others):
        raise UsageError(f"{adapter}: {one} has {len(values)} rows, {other} has {len(others)}; they must be the same rollouts")


def _texts(texts: Sequence[str | None]) -> pa.Array:
    try:
        return pa.array(texts, pa.large_string())
    except UnicodeEncodeError:
        return pa.array([t if t is None else _without_surrogates(t) for t in texts], pa.large_string())
    except (pa.ArrowTypeError, pa.ArrowInvalid):
        raise _no_text("completions", texts) from None


def _lists(lists: Sequence[Sequence[str | None] | None]) -> pa.Array:
    kind = pa.list_(pa.large_string())
    try:
        return pa.array(lists, kind)
    except UnicodeEncodeError:
        safe = [None if row is None else [t if t is None else _without_surrogates(t) for t in row] for row in lists]
        return pa.array(safe, kind)
    except (pa.ArrowTypeError, pa.ArrowInvalid):
        raise _no_text("references", [t for row in lists for t in row or ()]) from None


def _no_text(name: str, values: Sequence[Any]) -> ColumnTypeError:
    found = next((type(v).__name__ for v in values if v is not None and not isinstance(v, str)), "something else")
    return ColumnTypeError(f"{name}: text or None is allowed, got {found}")


def _without_surrogates(text: str) -> str:
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")

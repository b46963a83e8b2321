"""Rewards where the framework wants an object to step through: message logs in, what an environment returns out.

The rules are those of `fastscore.rewards.adapters`; nothing of the framework is imported.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from fastscore.errors import DataError
from fastscore.rewards.adapters import as_tensor, number_rule, rewards_of
from fastscore.rewards.arguments import completion_text
from fastscore.rewards.rule import Recipes, RewardRule

__all__ = ["EnvironmentReturn", "NemoRLEnvironment", "nemo_rl"]


class EnvironmentReturn(NamedTuple):
    """The six fields of NeMo-RL's ``EnvironmentReturn``, in its order."""

    observations: list[dict[str, str]]
    metadata: list[Any]
    next_stop_strings: list[Any]
    rewards: Any
    terminateds: Any
    answers: list[str | None] | None


@dataclass(frozen=True)
class NemoRLEnvironment:
    """A single-turn environment for NeMo-RL: every response is scored against the metadata's references, and ends its episode.

    Make it an actor with ``ray.remote`` around a subclass or a factory of it, as NeMo-RL's own environments are.
    """

    rule: RewardRule
    references: str = "ground_truth"

    def step(
        self, message_log_batch: Sequence[Sequence[Mapping[str, Any]]], metadata: Sequence[Mapping[str, Any]], *_: Any
    ) -> EnvironmentReturn:
        """Score a batch of conversations: NeMo-RL's ``EnvironmentInterface.step``.

        Raises
        ------
        DataError
            The two differ in length, or a row's metadata has no references.
        """
        if len(message_log_batch) != len(metadata):
            raise DataError(f"nemo_rl: message_log_batch has {len(message_log_batch)} rows, metadata has {len(metadata)}")
        for row, facts in enumerate(metadata):
            if self.references not in facts:
                raise DataError(
                    f"nemo_rl: metadata[{row}] has no {self.references!r}, only {', '.join(map(str, facts)) or 'nothing'}"
                )
        texts = [completion_text(list(log)) for log in message_log_batch]
        rewards = self._rewards(texts, [facts[self.references] for facts in metadata])
        observations = [{"role": "environment", "content": f"Environment: reward {reward:g}"} for reward in rewards]
        torch = sys.modules.get("torch")
        ended: Any = [True] * len(rewards) if torch is None else torch.ones(len(rewards), dtype=torch.bool)
        nothing = [None] * len(rewards)
        return EnvironmentReturn(observations, list(metadata), nothing, as_tensor(rewards), ended, list(nothing))

    def verify(self, pred_responses: Sequence[str], ground_truths: Sequence[Any], *_: Any, **__: Any) -> list[float]:
        """Score responses: the call that NeMo-RL's math environment makes of its verify workers."""
        if len(pred_responses) != len(ground_truths):
            raise DataError(f"nemo_rl: pred_responses has {len(pred_responses)} rows, ground_truths has {len(ground_truths)}")
        return self._rewards(list(pred_responses), ground_truths)

    def global_post_process_and_metrics(self, batch: Any) -> tuple[Any, dict[str, float]]:
        """Hand the batch on, with the mean reward of its rollouts."""
        rewards = [float(r) for r in batch["rewards"]] if "rewards" in batch else []
        return batch, {"reward_mean": sum(rewards) / len(rewards)} if rewards else {}

    def shutdown(self) -> None:
        """Do nothing: there are no workers."""

    def _rewards(self, texts: Sequence[str | None], references: Sequence[Any]) -> list[float]:
        return [reward or 0.0 for reward in rewards_of(texts, references, self.rule)]


def nemo_rl(recipe: Recipes, *, references: str = "ground_truth", null: str = "zero", **options: Any) -> NemoRLEnvironment:
    """Make a NeMo-RL environment.

    Parameters
    ----------
    recipe, options
        As `reward_rule` takes them.
    references
        The field of the metadata that holds the gold answers.
    null
        ``zero`` or ``error``: NeMo-RL takes numbers alone.
    """
    return NemoRLEnvironment(number_rule("nemo_rl", recipe, null, options), references)

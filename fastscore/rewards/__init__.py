"""Rewards for reinforcement learning: answers taken out of completions, scored by any recipe, grouped, and handed to frameworks.

`reward_files` is for files of any size, `score_rollouts` for tables in memory; the names of frameworks (`trl`, `verl`, ...) make
reward functions for their training loops; `advantage` and `group_statistics` are polars expressions. Nothing is imported until a
name is used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fastscore.rewards.adapters import openrlhf, trl, verifiers, verl, verl_batch
    from fastscore.rewards.batches import reward_batch, reward_one
    from fastscore.rewards.environments import nemo_rl
    from fastscore.rewards.extract import parse_extraction
    from fastscore.rewards.files import reward_files
    from fastscore.rewards.groups import add_groups, advantage, group_statistics
    from fastscore.rewards.rollouts import score_rollouts, summarize
    from fastscore.rewards.rule import RewardRule, reward_rule

_HOMES = {
    "RewardRule": "rule",
    "add_groups": "groups",
    "advantage": "groups",
    "group_statistics": "groups",
    "nemo_rl": "environments",
    "openrlhf": "adapters",
    "parse_extraction": "extract",
    "reward_batch": "batches",
    "reward_files": "files",
    "reward_one": "batches",
    "reward_rule": "rule",
    "score_rollouts": "rollouts",
    "summarize": "rollouts",
    "trl": "adapters",
    "verifiers": "adapters",
    "verl": "adapters",
    "verl_batch": "adapters",
}

__all__ = [
    "RewardRule",
    "add_groups",
    "advantage",
    "group_statistics",
    "nemo_rl",
    "openrlhf",
    "parse_extraction",
    "reward_batch",
    "reward_files",
    "reward_one",
    "reward_rule",
    "score_rollouts",
    "summarize",
    "trl",
    "verifiers",
    "verl",
    "verl_batch",
]


def __getattr__(name: str) -> Any:
    """Load a public name from its module at first use, so that the import itself stays light."""
    if name not in _HOMES:
        raise AttributeError(f"module 'fastscore.rewards' has no attribute {name!r}")
    import importlib

    value = getattr(importlib.import_module(f"fastscore.rewards.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)

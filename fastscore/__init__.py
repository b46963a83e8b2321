"""fastscore: a batch scorer for question answering whose numbers equal the published scripts' to the bit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fastscore import forks as _forks  # noqa: F401  (is told of forks from here on)
from fastscore.version import __version__

if TYPE_CHECKING:
    from fastscore.compare import compare
    from fastscore.differences import differ
    from fastscore.engines.lazy import scan
    from fastscore.explanation import explain
    from fastscore.pipeline import score
    from fastscore.recipes import RECIPES, Recipe
    from fastscore.result import Result
    from fastscore.retrieval import score_ranking
    from fastscore.scoring import score_batch, score_one
    from fastscore.stage.run import score_files
    from fastscore.text.normalize import normalize

__all__ = [
    "RECIPES",
    "Recipe",
    "Result",
    "__version__",
    "compare",
    "differ",
    "explain",
    "normalize",
    "scan",
    "score",
    "score_batch",
    "score_files",
    "score_one",
    "score_ranking",
]

_HOMES = {
    "RECIPES": "fastscore.recipes",
    "Recipe": "fastscore.recipes",
    "Result": "fastscore.result",
    "compare": "fastscore.compare",
    "differ": "fastscore.differences",
    "explain": "fastscore.explanation",
    "normalize": "fastscore.text.normalize",
    "scan": "fastscore.engines.lazy",
    "score": "fastscore.pipeline",
    "score_batch": "fastscore.scoring",
    "score_files": "fastscore.stage.run",
    "score_one": "fastscore.scoring",
    "score_ranking": "fastscore.retrieval",
}


def __getattr__(name: str) -> Any:
    """Load a public name from its module at first use, so that the import itself stays light."""
    if name == "rewards":
        import fastscore.rewards

        return fastscore.rewards
    if name not in _HOMES:
        raise AttributeError(f"module 'fastscore' has no attribute {name!r}")
    import importlib

    value = getattr(importlib.import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)

"""fastscore: a batch scorer for question answering whose numbers equal the published scripts' to the bit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fastscore.version import __version__

if TYPE_CHECKING:
    from fastscore.recipes import RECIPES, Recipe
    from fastscore.scoring import score_batch, score_one
    from fastscore.text.normalize import normalize

__all__ = ["RECIPES", "Recipe", "__version__", "normalize", "score_batch", "score_one"]

_HOMES = {
    "RECIPES": "fastscore.recipes",
    "Recipe": "fastscore.recipes",
    "normalize": "fastscore.text.normalize",
    "score_batch": "fastscore.scoring",
    "score_one": "fastscore.scoring",
}


def __getattr__(name: str) -> Any:
    """Load a public name from its module at first use, so that the import itself stays light."""
    if name not in _HOMES:
        raise AttributeError(f"module 'fastscore' has no attribute {name!r}")
    import importlib

    value = getattr(importlib.import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)

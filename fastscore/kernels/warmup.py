"""All kernels compiled at once, so that no later process has to."""

from __future__ import annotations

import importlib
import pkgutil
from pathlib import Path

from fastscore.kernels.jit import kernels

__all__ = ["compile_all"]


def compile_all() -> int:
    """Compile, or load from the cache, every entry kernel of this folder; how many there are."""
    for module in pkgutil.iter_modules([str(Path(__file__).parent)]):
        importlib.import_module(f"{__package__}.{module.name}")
    for entry in kernels():
        entry.compile()
    return len(kernels())

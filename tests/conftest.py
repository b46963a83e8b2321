"""Where the tests find data, and hypothesis' profiles."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

_SHARED = Path(os.environ.get("FASTSCORE_SHARED") or Path(__file__).resolve().parents[1].parent / "shared")
GOLDEN = Path(__file__).parent / "golden"

settings.register_profile("quick", max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
settings.register_profile("more", max_examples=1_500, deadline=None, suppress_health_check=list(HealthCheck))
settings.register_profile("deep", max_examples=20_000, deadline=None, suppress_health_check=list(HealthCheck))
settings.load_profile(os.environ.get("FASTSCORE_HYPOTHESIS", "quick"))


def shared_path(name: str) -> Path:
    """Path of a file of real data that is not part of the project; skips the test where it is absent."""
    path = _SHARED / name
    if not path.exists():
        pytest.skip(f"real data {name} is not here (it lies beside the project's folder where it is)")
    return path

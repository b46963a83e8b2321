"""Where the tests find data, hypothesis' profiles, and ``--deep``, which makes the fuzzers run by the million."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

_SHARED = Path(os.environ.get("FASTSCORE_SHARED") or Path(__file__).resolve().parents[1].parent / "shared")
GOLDEN = Path(__file__).parent / "golden"

settings.register_profile("quick", max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
settings.register_profile("more", max_examples=1_500, deadline=None, suppress_health_check=list(HealthCheck))
settings.register_profile("deep", max_examples=20_000, deadline=None, suppress_health_check=list(HealthCheck))
settings.load_profile(os.environ.get("FASTSCORE_HYPOTHESIS", "quick"))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--deep", action="store_true", help="many more examples: hypothesis' deep profile, 2 million of the fuzzers")


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--deep"):
        settings.load_profile("deep")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    counted = getattr(sys.modules.get("tests.test_fuzz"), "counted", None)
    for line in counted() if counted else ():
        terminalreporter.write_line(line)


def shared_path(name: str) -> Path:
    """Path of a file of real data that is not part of the project; skips the test where it is absent."""
    path = _SHARED / name
    if not path.exists():
        pytest.skip(f"real data {name} is not here (it lies beside the project's folder where it is)")
    return path

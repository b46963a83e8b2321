"""What the words of an option mean: sizes of memory, thresholds, storage options, and which path is which."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from fastscore.errors import UnknownNameError, UsageError, did_you_mean

if TYPE_CHECKING:
    from fastscore.recipes import Recipe

__all__ = [
    "MOST_DRAWS",
    "STREAM",
    "check_threshold",
    "from_argument",
    "memory_bytes",
    "refuse_beyond",
    "refuse_unknown",
    "split_inputs",
    "storage_of",
    "thresholds_of",
]

#: What stands for a bare ``-`` while the command line is taken apart, which would read it as an option.
STREAM = "<stream>"
#: How many draws of the bootstrap and the randomisation a command makes at most.
MOST_DRAWS = 1_000_000
_UNITS = {"": 1, "b": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}


def from_argument(text: str) -> str:
    """A path as the user gave it."""
    return "-" if text == STREAM else text


def memory_bytes(text: str | None) -> int | None:
    """Bytes of a size such as ``2GiB``, ``512M`` or ``1.5g``; None for None. Raises UsageError for anything else."""
    if text is None:
        return None
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([bkmgt]?)(?:i?b)?", text.strip().lower())
    if found is None:
        raise UsageError(f"--memory: a size such as 2GiB or 512MiB is allowed, got {text!r}")
    return int(float(found[1]) * _UNITS[found[2]])


def refuse_beyond(option: str, value: int, most: int) -> None:
    """Raise UsageError where a number is larger than can be worked with."""
    if value > most:
        raise UsageError(f"{option}: at most {most:,} is allowed, got {str(value)[:40]}")


def split_inputs(paths: Sequence[str], references_file: str | None) -> tuple[list[str], str | None]:
    """Which paths are predictions, and the one of the references: the second of exactly two, or the one named."""
    paths = [from_argument(path) for path in paths]
    if not paths:
        raise UsageError(
            "PREDICTIONS is missing: name a file, a glob in quotes, a folder, - or a URL; see fastscore score --help"
        )
    if references_file is not None:
        return list(paths), references_file
    if len(paths) == 2:
        return [paths[0]], paths[1]
    return list(paths), None


def storage_of(options: Sequence[str] | None) -> dict[str, str] | None:
    """KEY=VALUE options as a dict, None where there are none. Raises UsageError for one without =."""
    if not options:
        return None
    for option in options:
        if "=" not in option:
            raise UsageError(f"--storage-option: KEY=VALUE is allowed, got {option!r}")
    return dict(option.split("=", 1) for option in options)


def thresholds_of(options: Sequence[str] | None) -> dict[str, float]:
    """METRIC=VALUE options as a dict of fractions. Raises UsageError for anything else."""
    wanted: dict[str, float] = {}
    for option in options or ():
        metric, equals, value = option.partition("=")
        try:
            wanted[metric] = float(value)
        except ValueError:
            equals = ""
        if not equals or not 0.0 <= wanted.get(metric, -1.0) <= 1.0:
            raise UsageError(f"--fail-under: METRIC=VALUE with a fraction from 0 to 1 is allowed, such as f1=0.8, got {option!r}")
    return wanted


def refuse_unknown(wanted: Mapping[str, float], recipe: Recipe) -> None:
    """Raise UnknownNameError for a metric that the recipe cannot give, before anything is scored."""
    from fastscore.schema import WORD_METRICS

    for metric in wanted:
        if recipe.spans == "none" and metric not in WORD_METRICS:
            raise UnknownNameError(f"--fail-under: there is no metric {metric!r}.{did_you_mean(metric, WORD_METRICS)}")


def check_threshold(overall: Mapping[str, Any], wanted: Mapping[str, float], say: Callable[[str], None]) -> bool:
    """Whether a mean is below what was asked for, each of them said aloud. Raises UnknownNameError for an unknown metric."""
    below = False
    for metric, least in wanted.items():
        metrics = [name for name, mean in overall.items() if mean is None or isinstance(mean, float)]
        if metric not in metrics:
            raise UnknownNameError(f"--fail-under: there is no metric {metric!r}.{did_you_mean(metric, metrics)}")
        value = overall[metric]
        if value is None or value < least:
            say(f"{metric} is {'nothing' if value is None else format(value, '.6f')}, below {least}")
            below = True
    return below

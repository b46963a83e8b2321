"""JSON that somebody else may have written or changed: text in, plain values out, everything that has two readings refused.

A key that stands twice, NaN, Infinity, numbers of thousands of digits and nesting too deep to follow are a ValueError.
"""

from __future__ import annotations

import json
from typing import Any, NoReturn

__all__ = ["strict_json"]


def strict_json(text: str | bytes) -> Any:
    """Decode JSON. Raises ValueError where it is none, or has more than one reading."""
    try:
        return json.loads(text, object_pairs_hook=_once, parse_constant=_no_number)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        raise ValueError(f"the key {next(k for k in keys if keys.count(k) > 1)!r} stands twice")
    return found


def _no_number(text: str) -> NoReturn:
    raise ValueError(f"{text} is no number of JSON")

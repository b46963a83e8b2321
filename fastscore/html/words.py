"""Untrusted text on its way into the page: cut, control characters shown as escapes, markup escaped."""

from __future__ import annotations

import html
from typing import Any

from fastscore.stats.tables import visible

__all__ = ["MISSING", "count", "percent", "plain", "shown", "signed"]

#: What stands where there is no number.
MISSING = "–"
_LIMIT = 300


def plain(text: Any, limit: int = _LIMIT) -> str:
    """Text with what is not printable shown as an escape, cut at `limit` characters; not escaped for HTML yet."""
    return visible("" if text is None else str(text), limit)


def shown(text: Any, limit: int = _LIMIT) -> str:
    """The same, escaped for HTML, for an element's content as for an attribute in quotes."""
    return html.escape(plain(text, limit), quote=True)


def percent(value: float | None, digits: int = 1) -> str:
    """A fraction in percent."""
    return MISSING if value is None else f"{100 * value:.{digits}f}"


def signed(value: float | None, digits: int = 1) -> str:
    """A difference of fractions in percentage points, with its sign."""
    return MISSING if value is None else f"{100 * value:+.{digits}f}".replace("-", "−")


def count(number: int) -> str:
    """A whole number with its thousands set apart."""
    return f"{number:,}"

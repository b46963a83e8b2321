"""Rows as Python objects, brought to Arrow: dicts become a table, texts a column, with what UTF-8 cannot hold replaced."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa

from fastscore.arrow import first_line
from fastscore.errors import ColumnTypeError, UsageError

__all__ = ["repaired", "table_of_rows", "text_array"]

#: Deeper lists than any column of ours has; what refers to itself has no end.
_DEEPEST = 8


def table_of_rows(source: Any, side: str) -> pa.Table:
    """A table of dicts, with every key that any of them has; lone surrogates become U+FFFD.

    Raises
    ------
    UsageError
        `source` is no collection of dicts.
    ColumnTypeError
        A column's values are of several types, or of one that Arrow has not.
    """
    if isinstance(source, Iterable) and not isinstance(source, (str, bytes, bytearray, Mapping, type)):
        rows = _listed(source)
        if rows and all(isinstance(r, Mapping) for r in rows):
            names = list(dict.fromkeys(name for row in rows for name in row))
            for name in names:
                if not isinstance(name, str):
                    raise ColumnTypeError(f"{side}: the names of a row's fields are text, got {f'{name!r:.60}'}")
            return pa.table({repaired(name): _column([row.get(name) for row in rows], name, side) for name in names})
    raise UsageError(
        f"{side}: a path, an Arrow table, rows as dicts, or anything with __arrow_c_stream__ (polars, pandas, DuckDB) is "
        f"allowed, got {type(source).__name__}"
    )


def text_array(texts: Sequence[Any], name: str) -> pa.Array:
    """Texts, None among them, as a large_string column. Raises ColumnTypeError where one is no text."""
    for text in texts:
        if text is not None and not isinstance(text, str):
            raise ColumnTypeError(f"{name}: text or None is allowed, got {type(text).__name__}")
    return pa.array([repaired(text) for text in texts], pa.large_string())


def repaired(value: Any, depth: int = 0) -> Any:
    """A value in whose texts each lone surrogate is U+FFFD."""
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError:
            return value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
        return str(value)
    if depth < _DEEPEST and isinstance(value, (list, tuple)):
        return [repaired(v, depth + 1) for v in value]
    if depth < _DEEPEST and isinstance(value, dict):
        return {repaired(k, depth + 1): repaired(v, depth + 1) for k, v in value.items()}
    return value


def _listed(source: Iterable[Any]) -> list[Any]:
    try:
        return list(source)
    except TypeError:  # a numpy array of no dimension says that it can be gone through
        return []


def _column(values: list[Any], name: str, side: str) -> pa.Array:
    try:
        return pa.array([repaired(value) for value in values])
    except (pa.ArrowException, OverflowError, UnicodeEncodeError, TypeError, ValueError, RecursionError) as error:
        raise ColumnTypeError(f"{side}: {name!r} must be of one type in all rows: {first_line(error)}") from None

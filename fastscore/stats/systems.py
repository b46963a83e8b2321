"""The systems to compare: tables or files of item scores, their names and the signatures that they carry.

A pyarrow table, polars frame or path comes in, a `Scores` comes out, which reads the columns asked for and refuses what
cannot be compared: scores made by different rules.
"""

from __future__ import annotations

import string
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from fastscore.arguments import is_path, path_of
from fastscore.arrow import foreign_errors, sound, table_of
from fastscore.errors import FormatError, KeyMismatchError, UnknownNameError, UsageError, did_you_mean
from fastscore.formats.files import for_arrow
from fastscore.schema import WORD_METRICS

__all__ = ["SIGNATURE_KEY", "Scores", "check_signatures", "default_keys", "system_names"]

#: Where a table of item scores keeps its recipe's signature, in the metadata of its schema.
SIGNATURE_KEY = b"fastscore.signature"
_KEYS = ("question_id", "turn_id", "sample_id")
_TEXTS = ("prediction", "question", "references", "status")


@dataclass(frozen=True)
class Scores:
    """A table of item scores that is read column by column; `source` is a pyarrow table or the path of a parquet file.

    Files of other formats are read whole when they are opened. `where` is the path of a file, None for a table.
    """

    name: str
    source: Any
    columns: tuple[str, ...]
    rows: int
    signature: str | None
    where: str | None = None

    @classmethod
    def open(cls, source: Any, name: str, signature: str | None) -> Scores:
        """Look at a table or file without reading its rows.

        Raises
        ------
        UsageError
            It is neither a table nor a file, or carries another signature than the one given.
        FormatError
            The file is no table, or is broken.
        """
        given = source
        if hasattr(source, "items") and hasattr(source, "signature"):  # what fastscore.score gave
            source, signature = source.items, signature or source.signature
        where = str(path_of(source, f"system {name!r}")) if is_path(source) else None
        if where is not None:
            with foreign_errors(f"{where}: the file cannot be read"):
                source = _opened(where, name)
        else:
            source = table_of(source, f"system {name!r}")
        if isinstance(source, pa.Table):
            schema, rows = source.schema, source.num_rows
        elif isinstance(source, str):
            with for_arrow(source) as opened, pq.ParquetFile(opened) as file:
                schema, rows = file.schema_arrow, file.metadata.num_rows
        else:
            raise UsageError(f"system {name!r}: a table or a file of item scores is allowed, got {type(given).__name__}.")
        metadata = schema.metadata or {}
        carried = metadata[SIGNATURE_KEY].decode("utf-8", "replace") if SIGNATURE_KEY in metadata else None
        if signature is not None and carried not in (None, signature):
            raise UsageError(f"system {name!r}: the signature given is {signature!r}, its table says {carried!r}.")
        return cls(name, source, tuple(schema.names), rows, signature or carried, where)

    def read(self, columns: Sequence[str]) -> Any:
        """Return the columns as a pyarrow table; an `UnknownNameError` names one that is not there."""
        for name in columns:
            if name not in self.columns:
                raise UnknownNameError(f"system {self.name!r} has no column {name!r}.{did_you_mean(name, self.columns)}")
        if isinstance(self.source, pa.Table):
            return self.source.select(list(columns))
        with for_arrow(self.source) as opened, pq.ParquetFile(opened) as file:
            return file.read(columns=list(columns))

    def predictions(self, rows: Sequence[int]) -> list[str | None]:
        """Return the predictions of the given rows, None where there is no such column."""
        if "prediction" not in self.columns:
            return [None] * len(rows)
        texts = self.read(["prediction"]).column("prediction")
        if self.where is None:
            sound(texts, f"system {self.name!r}: column 'prediction'")
        with foreign_errors(f"system {self.name!r}: column 'prediction'"):
            found = texts.take(pa.array(rows, pa.int64())).to_pylist()
        return [None if text is None else str(text) for text in found]


def _opened(where: str, name: str) -> Any:
    """Return the path of a parquet file as it is, and the table of a file of another format."""
    from fastscore.formats.sniff import format_of
    from fastscore.formats.tables import read_table

    if not Path(where).is_file():
        raise UsageError(f"system {name!r}: a table or a file of item scores is allowed, there is no file {where!r}.")
    kind = "parquet" if where.endswith(".parquet") else format_of(where)
    if kind == "parquet":
        try:
            with for_arrow(where) as opened:
                pq.ParquetFile(opened).close()
        except (pa.ArrowInvalid, OSError) as error:
            reason = str(error).splitlines()[0]
            raise FormatError(f"{where}: a parquet file of item scores is allowed, this is none: {reason}") from None
        return where
    if kind in ("coqa", "squad"):
        raise FormatError(
            f"{where}: a file of item scores is allowed (parquet, Arrow, JSON Lines or CSV, as `fastscore score -o` writes "
            "them); this looks like predictions or references, which a recipe has to score first."
        )
    table = read_table(where, kind).table
    return _with_numbers(table, where) if kind == "csv" else table


def _with_numbers(table: pa.Table, where: str) -> pa.Table:
    """Read the score columns of a CSV file, all of whose columns are text, as numbers: those that are numbers throughout."""
    frame = pl.DataFrame(pl.from_arrow(table))
    texts = [name for name, kind in frame.schema.items() if kind == pl.String and name not in (*_KEYS, *_TEXTS)]
    for name in texts:
        numbers = frame[name].cast(pl.Float64, strict=False)
        if numbers.null_count() == frame[name].null_count() < frame.height:
            frame = frame.with_columns(numbers)
        elif name in WORD_METRICS and numbers.null_count() > frame[name].null_count():
            row = int((numbers.is_null() & frame[name].is_not_null()).arg_max() or 0)
            raise FormatError(f"{where}: {name!r} is {frame[name][row]!r} in row {row}; numbers and empty cells are allowed.")
    return frame.to_arrow(compat_level=pl.CompatLevel.oldest())


def system_names(sources: Sequence[Any], names: Sequence[str] | None) -> list[str]:
    """Return the systems' names: as given, or the files' names where all are files and differ, or A, B, C, ...

    Raises
    ------
    UsageError
        There are not as many different names as systems.
    """
    if names is not None:
        if len(names) != len(sources) or len(set(names)) != len(sources):
            raise UsageError(f"names: {len(sources)} different names are allowed, got {list(names)!r}.")
        return list(names)
    if all(isinstance(source, str | Path) for source in sources):
        stems = [Path(source).stem for source in sources]
        if len(set(stems)) == len(stems):
            return stems
    letters = string.ascii_uppercase
    return [letters[i] if i < len(letters) else f"S{i + 1}" for i in range(len(sources))]


def check_signatures(systems: Sequence[Scores], allow_different: bool) -> list[str]:
    """Refuse systems scored by different rules, or return what has to be said about their signatures.

    Raises
    ------
    UsageError
        The signatures differ, or some are known and some are not, and that was not allowed.
    """
    first = systems[0]
    for other in systems[1:]:
        if other.signature != first.signature:
            said = f"{first.name!r}: {first.signature or 'unknown'}; {other.name!r}: {other.signature or 'unknown'}"
            if not allow_different:
                raise UsageError(
                    f"the scores were made by different rules and cannot be compared: {said}. Score both with one recipe, "
                    "or give signatures where they are unknown, or allow different signatures."
                )
            return [f"The scores were made by different rules, so a difference may be one of rules. {said}"]
    return [] if first.signature else ["No table says by which rule it was scored."]


def default_keys(systems: Sequence[Scores]) -> tuple[str, ...]:
    """Return those of question_id, turn_id and sample_id that the tables have.

    Raises
    ------
    KeyMismatchError
        The tables differ in that, or have none of them.
    """
    found = {system.name: tuple(key for key in _KEYS if key in system.columns) for system in systems}
    distinct = sorted(set(found.values()))
    if len(distinct) > 1:
        said = "; ".join(f"{name!r}: {', '.join(keys) or 'none'}" for name, keys in found.items())
        raise KeyMismatchError(f"the tables have different key columns ({said}). Name the keys to join by.")
    if not distinct[0]:
        columns = ", ".join(systems[0].columns)
        raise KeyMismatchError(f"the tables have no column {' or '.join(_KEYS)}; name the keys to join by, out of: {columns}.")
    return distinct[0]

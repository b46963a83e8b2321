"""The systems of a report: which columns they have and what those are for, and the small frame that all figures come from.

A file or table of item scores comes in; a `Source` goes out, with scores, groups and short labels of every row in memory and the
texts left where they are until some rows are asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from fastscore.errors import ColumnTypeError, UnknownNameError, UsageError, did_you_mean
from fastscore.schema import WORD_METRICS
from fastscore.stats.summaries import natural_cluster
from fastscore.stats.systems import Scores, check_signatures, system_names

__all__ = ["FIRST_WORD", "KEYS", "LENGTH", "TURN", "Source", "open_sources"]

KEYS = ("question_id", "turn_id", "sample_id")
#: Labels that the frame gets where the columns allow: words of the answer, turn of the conversation, the question's first word.
LENGTH, TURN, FIRST_WORD = "\0length", "\0turn", "\0first word"
_TEXTS = ("prediction", "references", "question", "context", "story", "title", "source")
_NOT_GROUPS = {*KEYS, *_TEXTS, "status", "best_reference", "document_id", "passage_id", "context_id"}
_MOST_GROUPS = 30
_LENGTHS = (0, 1, 2, 3, 5, 8, 12, 20)
_LAST_TURN = 20
_LONGEST_QUESTION = 200


@dataclass(frozen=True)
class Source:
    """One system: its scores with columns sorted by what they are for.

    ``frame`` has the metrics, groups, cluster, ``status`` and the labels `LENGTH`, `TURN` and `FIRST_WORD` where there are any,
    a row an item in the order of the file; ``length_of`` says whose words `LENGTH` counts.
    """

    scores: Scores
    metrics: tuple[str, ...]
    groups: tuple[str, ...]
    cluster: tuple[str, ...]
    frame: pl.DataFrame
    length_of: str | None

    @property
    def name(self) -> str:
        """What the system is called."""
        return self.scores.name

    @property
    def keys(self) -> tuple[str, ...]:
        """Those of the usual key columns that are there."""
        return tuple(name for name in KEYS if name in self.scores.columns)

    @property
    def main(self) -> str:
        """The metric that charts and lists are about: f1 where it is there."""
        return "f1" if "f1" in self.metrics else self.metrics[0]

    def lazy(self) -> pl.LazyFrame:
        """The whole table, read when it is collected, dictionaries as text."""
        source = self.scores.source
        lazy = (
            pl.scan_parquet(source, glob=False, hive_partitioning=False)
            if isinstance(source, str)
            else pl.DataFrame(pl.from_arrow(source)).lazy()
        )
        return lazy.with_columns(pl.col(pl.Categorical).cast(pl.String))

    def rows(self, numbers: Sequence[int], columns: Sequence[str]) -> pl.DataFrame:
        """The columns of some rows, in the order of `numbers`."""
        wanted = pl.DataFrame({"row": pl.Series(numbers, dtype=pl.UInt32)})
        found = self.lazy().with_row_index("row").select("row", *columns).join(wanted.lazy(), on="row", how="semi")
        return wanted.join(found.collect(engine="streaming"), on="row", how="left", maintain_order="left")

    def has(self, *columns: str) -> bool:
        """Say whether the table has all these columns."""
        return all(name in self.scores.columns for name in columns)


def open_sources(
    items: Sequence[Any],
    names: Sequence[str] | None = None,
    by: Sequence[str] = (),
    cluster: Sequence[str] | None = None,
    signatures: Sequence[str | None] | None = None,
    *,
    allow_different_signatures: bool = False,
) -> list[Source]:
    """Open the systems and read their scores; the groups are `by`, or those columns that have few values.

    Raises
    ------
    UsageError
        No system is given, a column is not there, or the signatures differ and that was not allowed.
    ColumnTypeError
        A column's type does not fit its role.
    """
    if not items:
        raise UsageError("items: one or more files of item scores are allowed, got none.")
    said = signatures or [None] * len(items)
    scores = [Scores.open(item, name, mark) for item, name, mark in zip(items, system_names(items, names), said, strict=True)]
    check_signatures(scores, allow_different_signatures)
    return [_source(one, by, cluster) for one in scores]


def _source(scores: Scores, by: Sequence[str], cluster: Sequence[str] | None) -> Source:
    lazy = Source(scores, (), (), (), pl.DataFrame(), None).lazy()
    schema = lazy.collect_schema()
    metrics = tuple(name for name in WORD_METRICS if name in schema)
    metrics += tuple(name for name, kind in schema.items() if kind.is_float() and name not in metrics and name not in by)
    if not metrics:
        raise UsageError(f"system {scores.name!r} has no column of scores; its columns: {', '.join(scores.columns)}.")
    clusters = natural_cluster(scores.columns) if cluster is None else tuple(cluster)
    for name in (*by, *clusters):
        if name not in schema:
            raise UnknownNameError(f"system {scores.name!r} has no column {name!r}.{did_you_mean(name, scores.columns)}")
    for name in by:
        if schema[name].is_nested():
            raise ColumnTypeError(f"system {scores.name!r}: by: column {name!r} is {schema[name]}; text or numbers are allowed.")
    maybe = [n for n, kind in schema.items() if n not in _NOT_GROUPS and kind in (pl.String, pl.Boolean)]
    groups = tuple(by) or _few_valued(lazy, [name for name in maybe if name not in metrics])
    labels, length_of = _labels(schema)
    plain = dict.fromkeys([*metrics, *groups, *clusters, *(["status"] if "status" in schema else [])])
    codes = [pl.col(name).cast(pl.String).cast(pl.Categorical) for name in plain if _is_text(schema[name], name, metrics)]
    coded = {code.meta.output_name() for code in codes}
    kept = [pl.col(name) for name in plain if name not in coded]
    frame = lazy.select(*kept, *codes, *labels).collect(engine="streaming")
    return Source(scores, metrics, groups, clusters, frame, length_of)


def _is_text(kind: pl.DataType, name: str, metrics: Sequence[str]) -> bool:
    return name not in metrics and not kind.is_integer()


def _few_valued(lazy: pl.LazyFrame, names: Sequence[str]) -> tuple[str, ...]:
    if not names:
        return ()
    found = lazy.select(pl.col(names).approx_n_unique()).collect(engine="streaming").row(0, named=True)
    return tuple(name for name in names if 2 <= found[name] <= _MOST_GROUPS)


def _labels(schema: pl.Schema) -> tuple[list[pl.Expr], str | None]:
    """The expressions of the labels that the columns allow, and whose words are counted."""
    labels, length_of = [], None
    text = None
    if "references" in schema and "best_reference" in schema and schema["references"] == pl.List(pl.String):
        text, length_of = (
            pl.col("references").list.get(pl.col("best_reference").fill_null(0), null_on_oob=True),
            "winning reference",
        )
    elif schema.get("references") == pl.String:
        text, length_of = pl.col("references"), "reference"
    elif schema.get("prediction") == pl.String:
        text, length_of = pl.col("prediction"), "prediction"
    if text is not None:
        labels.append(_bucket(text.str.count_matches(r"\S+"), _LENGTHS).alias(LENGTH))
    if "turn_id" in schema and schema["turn_id"].is_integer():
        turn = pl.col("turn_id").cast(pl.Int64)
        last = pl.lit(f"{_LAST_TURN + 1}+")
        labels.append(pl.when(turn > _LAST_TURN).then(last).otherwise(turn.cast(pl.String)).cast(pl.Categorical).alias(TURN))
    if schema.get("question") == pl.String:
        start = pl.col("question").str.slice(0, _LONGEST_QUESTION).str.to_lowercase()
        labels.append(start.str.extract(r"([\p{L}\p{N}]+)").cast(pl.Categorical).alias(FIRST_WORD))
    return labels, length_of


def _bucket(number: pl.Expr, ends: Sequence[int]) -> pl.Expr:
    """Name the range that a number lies in, by the ranges' last numbers: ``0``, ``4–5``, ``21+``."""
    chosen: Any = pl.when(number.is_null()).then(None)
    first = 0
    for end in ends:
        name = str(end) if end == first else f"{first}–{end}"
        chosen = chosen.when(number <= end).then(pl.lit(name))
        first = end + 1
    named: pl.Expr = chosen.otherwise(pl.lit(f"{first}+"))
    return named.cast(pl.Categorical)

"""Rewards as a stage's work: a batch as the file has it in, a batch of rewards out.

The batch is filtered, lists of completions become rows, references are joined by key, and `reward_batch` does the rest. Columns
keep the names that the file gives them; a dot leads into a struct, as in ``generations.text``.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from fastscore.align import KeyedReferences, no_key
from fastscore.arrow import is_text
from fastscore.errors import ColumnTypeError, DataError, EncodingError, UnknownNameError, UsageError, did_you_mean, no_column
from fastscore.rewards.arguments import OWN_ROLES
from fastscore.rewards.batches import reward_batch, reward_names
from fastscore.rewards.groups import STATISTICS
from fastscore.rewards.rule import RewardRule
from fastscore.rewards.totals import RewardTotals, summed
from fastscore.scoring import KEY_COLUMNS
from fastscore.stage.manifest import Finished
from fastscore.stage.scoring import Columns, chosen_rows, one_batch
from fastscore.stage.summary import MOST_NOTED
from fastscore.text.normalize import not_utf8

__all__ = ["DEFAULT_GROUPS", "RewardWork", "flat", "refuse_names", "with_field"]

#: What names a prompt, where nothing else is said.
DEFAULT_GROUPS = ("prompt_id", "question_id")
_STEP = 1 << 16


class RewardWork:
    """Gives rewards to batches of rollouts.

    Parameters
    ----------
    rule
        What a reward is.
    columns
        What the file's columns are called, and the row filter.
    group
        The columns that name a prompt; None: prompt_id or question_id, whichever the first source has.
    gold
        The references by key, or None where each row has its own.
    normal_form
        Whether the output has the answers' normal forms.
    """

    def __init__(
        self,
        rule: RewardRule,
        columns: Columns,
        group: tuple[str, ...] | None,
        gold: KeyedReferences | None = None,
        normal_form: bool = False,
    ) -> None:
        self.rule, self.columns, self.group, self.gold, self.normal_form = rule, columns, group, gold, normal_form
        self.signature = rule.signature
        self.without_completion = 0
        self._condition = columns.condition()
        self._lock = threading.Lock()
        refuse_names([*columns.ids, *columns.keep, *columns.by, *(group or ())], rule)

    def wanted(self, source: str, names: Sequence[str]) -> Sequence[str]:
        """Which columns are read. Raises UnknownNameError where one is absent."""
        columns, given = self.columns, list(names)
        if self.group is None:
            self.group = tuple(name for name in DEFAULT_GROUPS if name in names)[:1]
        texts = [columns.prediction] if self.gold is not None else [columns.prediction, columns.references]
        roots = list(self._condition.meta.root_names()) if self._condition is not None else []
        others = [*columns.ids, *self.group, *columns.keep, *columns.by]
        heads = [path if path in given else path.partition(".")[0] for path in texts]
        keys = self.gold.keys if self.gold is not None else ()
        for path, head, role in zip(texts, heads, ("prediction", "references"), strict=False):
            if head not in given:
                raise no_column(path, role, given, f"{source}: ")
        for name in keys:
            if name not in given:
                raise no_key(name, given, keys, f"{source}: rollouts")
        for names_needed, known in ((roots, given), (others, [*given, *texts, *self._of_references()])):
            for name in names_needed:
                if name not in known:
                    raise UnknownNameError(f"{source}: column {name!r} is not there.{did_you_mean(name, known)}")
        return [name for name in given if name in {*heads, *others, *roots, *KEY_COLUMNS}]

    def __call__(self, batch: pa.RecordBatch, source: str, first: int) -> pa.RecordBatch:
        """Rewards of a batch whose first row is row `first` of the source.

        Raises
        ------
        EncodingError
            A text is not valid UTF-8; names source and row.
        DataError
            The rule has ``null="error"`` and a row has no score.
        UsageError
            A column is absent or of a wrong type.
        """
        rows = np.arange(first, first + batch.num_rows)
        if self._condition is not None:
            chosen = chosen_rows(batch, self._condition, self.columns.where)
            batch, rows = batch.take(pa.array(chosen)), rows[chosen]
        try:
            batch, rows, references = self._items(batch, rows)
            kept = [k for k in KEY_COLUMNS if k in batch.schema.names]
            kept += [*self.columns.ids, *(self.group or ()), *self.columns.keep, *self.columns.by]
            return reward_batch(
                batch, self.rule, prediction=self.columns.prediction, references=references, keep=list(dict.fromkeys(kept)),
                normal_form=self.normal_form, rows=rows,
            )  # fmt: skip
        except EncodingError as error:
            if error.row is None:
                raise
            raise not_utf8(f"{source}: {error.column}", int(rows[error.row])) from None
        except DataError as error:
            raise DataError(f"{source}: {error}") from None
        except ColumnTypeError as error:
            raise ColumnTypeError(f"{source}: {error}") from None
        except UnknownNameError as error:
            raise UnknownNameError(f"{source}: {error}") from None

    def sums(self, schema: pa.Schema) -> RewardTotals:
        """Empty totals."""
        return RewardTotals(summed(schema), self.columns.by)

    def state(self, sums: RewardTotals) -> dict[str, Any] | None:
        """The totals for the manifest, where they are few."""
        return sums.to_dict() if sums.groups() <= MOST_NOTED else None

    def sums_of(self, shard: Finished, folder: Path) -> RewardTotals:
        """The totals of a shard, from the manifest or from its rows."""
        if shard.totals is not None and "metrics" in shard.totals:
            return RewardTotals.from_dict(shard.totals)
        with pq.ParquetFile(folder / shard.output) as file:
            sums = self.sums(file.schema_arrow)
            for batch in file.iter_batches(_STEP):
                sums.add(batch)
        return sums

    def described(self, sums: RewardTotals) -> Mapping[str, str]:
        """That these are rewards, which `fastscore merge` does not add up."""
        return {"fastscore.rewards": self.signature}

    def asked(self) -> dict[str, Any]:
        """What decides the bits of a shard before the groups are known."""
        columns, gold = self.columns, self.gold
        return {
            "rewards": self.signature,
            "columns": [columns.prediction, columns.references, list(columns.ids), list(columns.keep), list(columns.by)],
            "where": columns.where,
            "normal_form": self.normal_form,
            "references": None if gold is None else [gold.table.num_rows, list(gold.keys), gold.digest()],
        }

    def _of_references(self) -> list[str]:
        """The columns that the references bring, the list column under its own name too."""
        return [] if self.gold is None else [*self.gold.table.column_names, self.columns.references]

    def _items(self, batch: pa.RecordBatch, rows: npt.NDArray[np.int64]) -> tuple[pa.RecordBatch, npt.NDArray[np.int64], str]:
        """A row a rollout with its references; the rows' numbers; and what the references are called."""
        columns = self.columns
        table = with_field(pa.Table.from_batches([batch]), columns.prediction)
        if self.gold is None:
            table = with_field(table, columns.references)
        flattened = flat(table, columns.prediction)
        if flattened.sizes is not None:
            rows = np.repeat(rows, flattened.sizes)
            with self._lock:
                self.without_completion += int((flattened.sizes == 0).sum())
        table = flattened.table.drop_columns([n for n in ("status",) if n in flattened.table.column_names])
        if self.gold is None:
            return one_batch(table), rows, columns.references
        table = table.drop_columns([n for n in ("references",) if n in table.column_names and n != columns.prediction])
        table = self.gold.join(table)
        if columns.references not in table.column_names:
            table = table.append_column(columns.references, table.column("references"))
        return one_batch(table), rows, "references"


class Flat(NamedTuple):
    """A table with a row a completion; how many completions each row had, None where a row already was one completion."""

    table: pa.Table
    sizes: npt.NDArray[np.int64] | None


def flat(table: pa.Table, prediction: str) -> Flat:
    """Make a row of each completion, where the column of completions is a list of them; ``sample_id`` numbers them from 0.

    A list of messages is one completion, whose text is the last assistant's, as `completion_text` has it. Raises ColumnTypeError
    where the column holds neither text nor messages nor lists of these.
    """
    table = _chats_as_text(table, prediction)
    kind = table.schema.field(prediction).type
    if not (pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind)):
        return Flat(table, None)
    inner = kind.value_type
    if not is_text(inner):
        raise ColumnTypeError(
            f"{prediction}: completions as text or as messages (role and content), or lists of these, are needed, got {kind}"
        )
    frame = pl.DataFrame(pl.from_arrow(table))
    size = pl.col(prediction).list.len().fill_null(0).cast(pl.Int64)
    sizes = frame.select(size).to_series().to_numpy()
    numbered = {} if "sample_id" in frame.columns else {"sample_id": pl.int_ranges(size, dtype=pl.Int64)}
    exploded = frame.filter(size > 0).with_columns(**numbered).explode(prediction, *numbered)
    return Flat(exploded.to_arrow(compat_level=pl.CompatLevel.oldest()), np.asarray(sizes, dtype=np.int64))


def _chats_as_text(table: pa.Table, prediction: str) -> pa.Table:
    """The table with chats as text, where the column of completions holds lists of messages, or lists of such lists."""
    place = table.column_names.index(prediction)
    depth, kind = 0, table.schema.field(place).type
    while pa.types.is_list(kind) or pa.types.is_large_list(kind):
        depth, kind = depth + 1, kind.value_type
    if depth not in (1, 2) or not pa.types.is_struct(kind):
        return table
    fields = {field.name: field.type for field in kind}
    if not all(name in fields and is_text(fields[name]) for name in ("role", "content")):
        return table
    message = pl.element().struct
    own = pl.element().filter(message.field("role").is_in(OWN_ROLES)).struct.field("content")
    chats = pl.col("chats") if depth == 1 else pl.element()
    text = chats.list.eval(own).list.last()
    frame = pl.DataFrame({"chats": pl.from_arrow(table.column(place))})
    texts = frame.select(text if depth == 1 else pl.col("chats").list.eval(text))
    return table.set_column(place, prediction, texts.to_arrow(compat_level=pl.CompatLevel.oldest()).column(0))


def with_field(table: pa.Table, path: str) -> pa.Table:
    """The table with the column that a path such as ``generations.text`` leads to, under that name."""
    head, *fields = path.split(".")
    if path in table.column_names or not fields or head not in table.column_names:
        return table
    column = table.column(head)
    for field in fields:
        known = [f.name for f in column.type] if pa.types.is_struct(column.type) else []
        if field not in known:
            what = did_you_mean(field, known) or f" {head!r} is {column.type}, which has no fields."
            raise UnknownNameError(f"column {path!r} is not in the table.{what}")
        column = pc.struct_field(column, field)
    return table.append_column(path, column)


def refuse_names(kept: Sequence[str], rule: RewardRule) -> None:
    """Raise UsageError where a kept column has the name of a column of rewards."""
    taken = reward_names(rule) | {*STATISTICS, "advantage"}
    for name in kept:
        if name in taken:
            raise UsageError(f"keep: {name!r} is the name of a column of rewards; rename the input's column first")

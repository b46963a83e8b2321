"""Tables of predictions and references for the text cases: seeded, made chunk by chunk, all by numpy and Arrow.

A question has its references, variations of one another; a prediction is one of them (about 45 %), shares words with
one (25 %), or is something else (30 %). Tables of any length are made in constant memory, since each chunk has draws of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from benchmarks.lexicon import FORMS, Lexicon

__all__ = ["LONG", "SHORT", "Lengths", "Shape", "chunks", "text_bytes", "text_table"]

Ids = NDArray[np.int64]

EXACT, PARTIAL = 0.45, 0.25


@dataclass(frozen=True)
class Lengths:
    """How many words an answer has: `mean` and `deviation` of a normal law, or the shares of 1, 2, 3... words."""

    shares: tuple[float, ...] = ()
    mean: float = 0.0
    deviation: float = 0.0

    def draw(self, rng: np.random.Generator, rows: int) -> Ids:
        """Lengths of `rows` answers, at least one word each."""
        if self.shares:
            shares = np.array(self.shares)
            return rng.choice(np.arange(1, len(shares) + 1), rows, p=shares / shares.sum())
        spread = rng.normal(self.mean, self.deviation, rows)
        return np.clip(np.rint(spread), 1, self.mean + 4 * self.deviation).astype(np.int64)


#: Nearly three words, as CoQA's answers have; predictions come out at a little over three.
SHORT = Lengths(shares=(38, 24, 15, 8, 5, 3, 2.5, 1.5, 1, 1, 0.5, 0.5))
#: About eighty words.
LONG = Lengths(mean=80, deviation=15)


@dataclass(frozen=True)
class Shape:
    """What a table looks like: how many references a question has, how many consecutive rows share them, answer lengths."""

    references: int = 4
    samples: int = 1
    lengths: Lengths = SHORT
    chunk: int = 1 << 17
    #: Share of the predictions that are an earlier sample of the same question once more.
    repeats: float = 0.0


@dataclass(frozen=True)
class Answers:
    """Word ids of n answers: answer i is `ids[i, :lengths[i]]`; `groups[i]` is the vocabulary that it draws from."""

    ids: Ids
    lengths: Ids
    groups: Ids

    def take(self, rows: Ids) -> Answers:
        """The answers at these rows."""
        return Answers(self.ids[rows], self.lengths[rows], self.groups[rows])


def chunks(lexicon: Lexicon, rows: int, shape: Shape, seed: int = 1) -> Iterator[pa.Table]:
    """Tables of at most `shape.chunk` rows with the columns question_id, prediction, references."""
    size = max(shape.samples, shape.chunk // shape.samples * shape.samples)
    for number, start in enumerate(range(0, rows, size)):
        rng = np.random.default_rng([seed, number])
        wanted = min(size, rows - start)
        table = _chunk(lexicon, rng, -(-wanted // shape.samples), shape, start // shape.samples)
        yield table.slice(0, wanted)


def text_table(lexicon: Lexicon, rows: int, shape: Shape, seed: int = 1) -> pa.Table:
    """The table of `chunks` in one piece (each column one chunk)."""
    return pa.concat_tables(chunks(lexicon, rows, shape, seed)).combine_chunks()


def text_bytes(table: pa.Table | pa.RecordBatch) -> int:
    """UTF-8 bytes of text in the prediction and references columns, as often as they stand there."""
    texts = [pc.binary_length(table["prediction"]), pc.binary_length(pc.list_flatten(table["references"]))]
    return sum(int(pc.sum(t).as_py() or 0) for t in texts)


def _chunk(lexicon: Lexicon, rng: np.random.Generator, questions: int, shape: Shape, first: int) -> pa.Table:
    sides = [_first_references(lexicon, rng, questions, shape.lengths)]
    for _ in range(1, shape.references):
        sides.append(_varied(lexicon, rng, sides[0], shape.lengths))
    asked = np.repeat(np.arange(questions), shape.samples)
    predictions = _predicted(lexicon, rng, _one_of(rng, sides, asked), shape.lengths)
    texts = pa.concat_arrays([_rendered(lexicon, rng, side) for side in sides])
    at = np.arange(shape.references) * questions + asked[:, None]
    offsets = np.arange(0, at.size + 1, shape.references, dtype=np.int32)
    return pa.table(
        {
            "question_id": pc.binary_join_element_wise("q", pc.cast(pa.array(first + asked), pa.string()), ""),
            "prediction": _rendered(lexicon, rng, predictions).take(pa.array(_samples(rng, questions, shape))),
            "references": pa.ListArray.from_arrays(pa.array(offsets), texts.take(pa.array(at.ravel()))),
        }
    )


def _samples(rng: np.random.Generator, questions: int, shape: Shape) -> Ids:
    """For each row, the row whose text it has: its own, or that of an earlier sample of the question."""
    rows = np.arange(questions * shape.samples)
    sample = rows % shape.samples
    again = (rng.random(rows.size) < shape.repeats) & (sample > 0)
    return np.where(again, rows - sample + rng.integers(0, np.maximum(sample, 1)), rows)


def _first_references(lexicon: Lexicon, rng: np.random.Generator, rows: int, lengths: Lengths) -> Answers:
    count = lengths.draw(rng, rows)
    groups = rng.integers(0, 1 << 16, rows)
    ids = lexicon.draw(rng, rows, int(count.max()), groups)
    if len(lexicon.common):
        common = (count == 1) & (rng.random(rows) < 0.5)
        ids[common, 0] = rng.choice(lexicon.common, int(common.sum()))
    return Answers(ids, count, groups)


def _varied(lexicon: Lexicon, rng: np.random.Generator, source: Answers, lengths: Lengths) -> Answers:
    """Another person's answer: the same words, an article more, words less at the end, or (a quarter) other words."""
    rows = len(source.lengths)
    kind = rng.random(rows)
    other = _first_references(lexicon, rng, rows, lengths)
    shorter = np.where(kind < 0.15, np.maximum(1, source.lengths - 1 - rng.integers(0, 2, rows)), source.lengths)
    varied = _chosen(kind > 0.75, other, Answers(source.ids, shorter, source.groups))
    return _with_article(lexicon, rng, varied, (kind > 0.15) & (kind < 0.35))


def _predicted(lexicon: Lexicon, rng: np.random.Generator, source: Answers, lengths: Lengths) -> Answers:
    """Predictions by their relation to `source`: the same words, some of them among others, or other words."""
    rows = len(source.lengths)
    kind = rng.random(rows)
    other = _first_references(lexicon, rng, rows, lengths)
    partial = (kind >= EXACT) & (kind < EXACT + PARTIAL)
    wider = Answers(np.pad(source.ids, ((0, 0), (0, 3))), source.lengths + rng.integers(0, 4, rows), source.groups)
    fresh = lexicon.draw(rng, rows, wider.ids.shape[1], source.groups)
    position = np.arange(wider.ids.shape[1])
    replaced = (position >= source.lengths[:, None]) | ((rng.random(fresh.shape) < 0.4) & (source.lengths > 1)[:, None])
    lengths_then = np.where(source.lengths == 1, source.lengths + 2, wider.lengths)
    mixed = Answers(np.where(replaced, fresh, wider.ids), lengths_then, source.groups)
    chosen = _chosen(kind >= EXACT + PARTIAL, other, _chosen(partial, mixed, source))
    return _with_article(lexicon, rng, chosen, rng.random(rows) < 0.15)


def _one_of(rng: np.random.Generator, sides: list[Answers], asked: Ids) -> Answers:
    """For each row, one of its question's references."""
    picked = rng.integers(0, len(sides), len(asked))
    width = max(s.ids.shape[1] for s in sides)
    ids = np.concatenate([np.pad(s.ids, ((0, 0), (0, width - s.ids.shape[1]))) for s in sides])
    joined = Answers(ids, np.concatenate([s.lengths for s in sides]), np.concatenate([s.groups for s in sides]))
    return joined.take(picked * len(sides[0].lengths) + asked)


def _chosen(mask: NDArray[np.bool_], yes: Answers, no: Answers) -> Answers:
    width = max(yes.ids.shape[1], no.ids.shape[1])
    left, right = (np.pad(a.ids, ((0, 0), (0, width - a.ids.shape[1]))) for a in (yes, no))
    lengths = np.where(mask, yes.lengths, no.lengths)
    return Answers(np.where(mask[:, None], left, right), lengths, np.where(mask, yes.groups, no.groups))


def _with_article(lexicon: Lexicon, rng: np.random.Generator, answers: Answers, mask: NDArray[np.bool_]) -> Answers:
    """Put an article before the answers of `mask`, in a language that has some."""
    if not len(lexicon.leading):
        return answers
    article = rng.choice(lexicon.leading, (len(answers.lengths), 1))
    before = Answers(np.concatenate([article, answers.ids], axis=1), answers.lengths + 1, answers.groups)
    return _chosen(mask, before, answers)


def _rendered(lexicon: Lexicon, rng: np.random.Generator, answers: Answers) -> pa.Array:
    """The texts: 30 % begin with a capital, 10 % end in a period, 4 % of the other words carry a comma."""
    rows, width = answers.ids.shape
    position = np.arange(width)
    forms = np.where(rng.random((rows, width)) < 0.04, 4, 0)
    ends = answers.lengths - 1
    forms[np.arange(rows), ends] = np.where(rng.random(rows) < 0.10, 2, 0)
    forms[:, 0] += rng.random(rows) < 0.30
    kept = position < answers.lengths[:, None]
    words = lexicon.texts.take(pa.array((answers.ids * FORMS + forms)[kept]))
    offsets = np.concatenate([[0], np.cumsum(answers.lengths)]).astype(np.int32)
    return pc.binary_join(pa.ListArray.from_arrays(pa.array(offsets), words), " ")

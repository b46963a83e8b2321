"""Scratch memory for the word kernels: kept by each thread from call to call, grown when a larger row comes."""

from __future__ import annotations

import threading
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from fastscore.kernels.compare import F1_TABLE_SIDE
from fastscore.kernels.few import LIST_NUMBERS
from fastscore.kernels.layout import REPEAT_SLOT_BITS

__all__ = ["WordScratch", "word_scratch"]

_BLOCK_BYTES = 96 * 1024
_BLOCK_TEXTS = 8 * 1024
_local = threading.local()


@cache
def _f1_table() -> npt.NDArray[np.float64]:
    """F1 by shared, predicted and expected words, each below the table's side, in the scripts' order of operations."""
    side = np.arange(F1_TABLE_SIDE, dtype=np.float64)
    shared, predicted, expected = side[:, None, None], side[None, :, None], side[None, None, :]
    with np.errstate(divide="ignore", invalid="ignore"):
        precision, recall = shared / predicted, shared / expected
        f1 = (2 * precision * recall) / (precision + recall)
    return np.where(shared > 0, f1, 0.0).ravel()


class WordScratch:
    """The arrays that `kernels.words.score_rows` works in, for blocks of `size` bytes and `texts` texts."""

    def __init__(self, size: int, texts: int, references: int, prediction: int, row_words: int, growth: int) -> None:
        clean = size * growth + 2 * texts + 160
        words = clean // 2 + texts
        slots = 4096
        while slots < 2 * row_words:
            slots *= 2
        self.limits = (size, texts, references, prediction, growth)
        self.budget = np.array([size, texts, references, prediction], dtype=np.int64)
        self.arrays: tuple[Any, ...] = (
            np.empty(clean, dtype=np.uint8),
            np.empty(2 * words + 16, dtype=np.uint64),
            np.empty(texts + 2, dtype=np.int64),
            np.empty(clean // 64 + 1, dtype=np.uint64),
            np.empty(clean // 64 + 1, dtype=np.int64),
            np.empty(clean, dtype=np.int64),
            np.empty(2 * texts + 2, dtype=np.int64),
            np.empty(2 * texts + 2, dtype=np.int64),
            np.empty(texts + 1, dtype=np.int64),
            np.empty(texts + 1, dtype=np.int64),
            np.empty(4, dtype=np.int64),
            np.empty(2 * texts + 2, dtype=np.int64),
            np.empty(1 << REPEAT_SLOT_BITS, dtype=np.int64),
            np.empty(4 * slots, dtype=np.uint64),
            np.empty(slots, dtype=np.int64),
            np.empty(references + 1, dtype=np.int64),
            np.empty(references + 1, dtype=np.float64),
            np.empty(references + 1, dtype=np.float64),
            np.empty(references + 1, dtype=np.int64),
            _f1_table(),
            np.empty(LIST_NUMBERS, dtype=np.uint64),
            np.empty(words + 1, dtype=np.uint8),
            np.empty(words + 1, dtype=np.uint64),
            np.empty(texts + 1, dtype=np.int64),
            np.empty(clean, dtype=np.uint8),
            np.empty(clean, dtype=np.int64),
        )

    def serves(self, limits: tuple[int, ...]) -> bool:
        """Whether rows of these limits fit."""
        return all(mine >= asked for mine, asked in zip(self.limits, limits, strict=True))


def _doubled(size: int) -> int:
    """The next power of two, so that growing rows grow the scratch seldom."""
    return 1 << (size - 1).bit_length() if size > 1 else size


def word_scratch(prediction: int, listed: int, references: int, *, alone: bool) -> WordScratch:
    """This thread's scratch, large enough for a row of `prediction` and `listed` bytes and so many `references`.

    `alone` says that characters may be words of their own. Scratch for unusually large rows is not kept.
    """
    growth, each = (6, 3) if alone else (3, 1)
    size = max(_BLOCK_BYTES, _doubled(prediction + listed))
    limits = (size, max(_BLOCK_TEXTS, references + 2), max(16, references), max(4096, _doubled(prediction)), growth)
    kept: WordScratch | None = getattr(_local, "words", None)
    if kept is not None and kept.serves(limits):
        return kept
    made = WordScratch(*limits[:4], each * limits[3] + 2, growth)
    if limits[0] <= 64 * _BLOCK_BYTES:
        _local.words = made
    return made

"""The tables by which DPR cuts a passage into words: canonical decomposition, classes of code points, lower case.

Nothing comes in; arrays indexed by code point go out, taken from the running interpreter's `unicodedata` and `str.lower`,
made at first use. DPR's words are runs of letters, numbers and marks, and any other character that is neither a separator nor
a control character alone, of the NFD form, each lower-cased by itself.
"""

from __future__ import annotations

import unicodedata
from functools import cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from fastscore.text.unicode_facts import LIMIT, case_map, sigma_class

__all__ = ["PassageTables", "passage_tables"]

_WITH_DECOMPOSITION = ((0xA0, 0x3400), (0xA000, 0xAC00), (0xF900, 0x10000), (0x10000, 0x20000), (0x2F800, 0x2FA20))
_CLASS_OF = {"L": 1, "N": 1, "M": 1, "Z": 0, "C": 0}


class PassageTables(NamedTuple):
    """Arrays indexed by code point, but for `parts`.

    Attributes
    ----------
    kind
        uint8: 0 sets words apart, 1 is of a word, 2 is a word alone.
    combining
        uint8: canonical combining class.
    lower
        int32: the image under `str.lower`; a capital sigma's is the one inside a word.
    sigma
        uint8: 1 cased, 2 passed over, 0 neither, beside a capital sigma.
    part
        int32: where the code point's decomposition begins in `parts`, 0 where it has none.
    parts
        int32: for each decomposition its length, then its code points.
    """

    kind: npt.NDArray[np.uint8]
    combining: npt.NDArray[np.uint8]
    lower: npt.NDArray[np.int32]
    sigma: npt.NDArray[np.uint8]
    part: npt.NDArray[np.int32]
    parts: npt.NDArray[np.int32]


@cache
def passage_tables() -> PassageTables:
    """The tables, made once."""
    characters = [chr(point) for point in range(LIMIT)]
    kind = np.array([_CLASS_OF.get(unicodedata.category(c)[0], 2) for c in characters], dtype=np.uint8)
    combining = np.zeros(LIMIT, dtype=np.uint8)
    part = np.zeros(LIMIT, dtype=np.int32)
    parts = [0]
    for low, high in _WITH_DECOMPOSITION:
        for point in range(low, high):
            combining[point] = unicodedata.combining(characters[point])
            decomposed = unicodedata.normalize("NFD", characters[point])
            if decomposed != characters[point]:
                part[point] = len(parts)
                parts += [len(decomposed), *map(ord, decomposed)]
    lower, _ = case_map("lower")
    lower = lower.copy()
    lower[0x3A3] = 0x3C3
    return PassageTables(kind, combining, lower, sigma_class(), part, np.array(parts, dtype=np.int32))

"""What this Python's `str` methods say of every code point, as numpy arrays indexed by code point.

The arrays are taken from the running interpreter itself, so they agree with what a published script would do there by
construction. They are made block by block at first use; nothing is made at import.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache

import numpy as np
import numpy.typing as npt

__all__ = ["LIMIT", "alpha_or_digit", "case_map", "category_p", "sigma_class", "spaces", "word_characters"]

#: One more than the highest code point.
LIMIT = 0x110000
_BLOCK = 256
_SIGMA, _FINAL_SIGMA = 0x3A3, 0x3C2

BoolArray = npt.NDArray[np.bool_]
IntArray = npt.NDArray[np.int32]


@cache
def _everything() -> str:
    """All code points in order; the surrogates, which no valid text holds, are NUL here."""
    points = np.arange(LIMIT, dtype="<u4")
    points[0xD800:0xE000] = 0
    return points.tobytes().decode("utf-32-le")


def _from_runs(pattern: str) -> BoolArray:
    flags = np.zeros(LIMIT, dtype=np.bool_)
    for run in re.finditer(pattern, _everything()):
        flags[run.start() : run.end()] = True
    return flags


@cache
def word_characters() -> BoolArray:
    r"""Which code points are ``\w`` in `re`: `str.isalnum` or the underscore; ``\b`` is a change of this."""
    return _from_runs(r"\w+")


@cache
def spaces() -> BoolArray:
    r"""Which code points `str.split` cuts at, the same as ``\s`` in `re`."""
    return _from_runs(r"\s+")


@cache
def alpha_or_digit() -> BoolArray:
    """Which code points are `str.isalpha` or `str.isdigit`."""
    flags = word_characters().copy()
    text = _everything()
    for start in range(0, LIMIT, _BLOCK):
        if flags[start : start + _BLOCK].any() and not text[start : start + _BLOCK].isalpha():
            block = text[start : start + _BLOCK]
            flags[start : start + _BLOCK] = [c.isalpha() or c.isdigit() for c in block]
    return flags


@cache
def category_p() -> BoolArray:
    """Which code points are of Unicode category P*; none of them is a word character but connectors such as U+203F."""
    flags = np.zeros(LIMIT, dtype=np.bool_)
    text = _everything()
    for low, high in ((0, 0x20000), (0xE0000, 0xE0200)):
        flags[low:high] = [unicodedata.category(c)[0] == "P" for c in text[low:high]]
    return flags


@cache
def case_map(case: str) -> tuple[IntArray, dict[int, tuple[int, ...]]]:
    """The image of every code point under `str.lower` or `str.casefold`, alone.

    Returns the single images, and the code points whose image has another length. Capital sigma's image depends on its
    neighbours under `str.lower`; `sigma_class` says how.
    """
    images = np.arange(LIMIT, dtype=np.int32)
    longer: dict[int, tuple[int, ...]] = {}
    if case == "keep":
        return images, longer
    text = _everything()
    change = str.lower if case == "lower" else str.casefold
    for start in range(0, LIMIT, _BLOCK):
        block = text[start : start + _BLOCK]
        changed = change(block)
        if changed == block:
            continue
        if len(changed) == _BLOCK and start != _SIGMA - _SIGMA % _BLOCK:
            images[start : start + _BLOCK] = np.frombuffer(changed.encode("utf-32-le"), dtype="<i4")
            continue
        for point, character in enumerate(block, start):
            image = tuple(map(ord, change(character)))
            if len(image) == 1:
                images[point] = image[0]
            else:
                longer[point] = image
    images[0xD800:0xE000] = np.arange(0xD800, 0xE000)
    return images, longer


@cache
def sigma_class() -> npt.NDArray[np.uint8]:
    """How a code point decides whether a capital sigma beside it is final: 1 cased, 2 passed over (case-ignorable), 0 neither.

    Found out by asking `str.lower`: sigma after c alone is final where c is cased; after A and c also where c is passed over.
    """
    classes = np.zeros(LIMIT, dtype=np.uint8)
    _, longer = case_map("lower")
    for low, high in ((0, 0xD800), (0xE000, 0x20000), (0xE0000, 0xE1000)):
        points = np.arange(low, high, dtype="<u4")
        points[np.isin(points, list(longer))] = ord("a")
        after = _ends_in_final_sigma(points, prefix=())
        after_cased = _ends_in_final_sigma(points, prefix=(ord("A"),))
        classes[low:high] = np.where(after, 1, np.where(after_cased, 2, 0))
    return classes


def _ends_in_final_sigma(points: npt.NDArray[np.uint32], prefix: tuple[int, ...]) -> BoolArray:
    columns = [np.full(points.size, ord(" "), dtype="<u4")]
    columns += [np.full(points.size, p, dtype="<u4") for p in prefix]
    columns += [points, np.full(points.size, _SIGMA, dtype="<u4")]
    table = np.stack(columns, axis=1)
    lowered = table.tobytes().decode("utf-32-le").lower().encode("utf-32-le")
    last = np.frombuffer(lowered, dtype="<u4").reshape(table.shape)[:, -1]
    return np.asarray(last == _FINAL_SIGMA)

"""DPR's question of whether a passage contains an answer: texts in as bytes, for each row the rank of the first that does.

A text's form is the code points of its words, a 0 before the first and after each. An answer stands in a passage, word for
word, where its form stands in the passage's.
"""

from __future__ import annotations

from typing import Any

from fastscore.kernels.ids import ID_COLUMN, INT64_IN
from fastscore.kernels.jit import inner, kernel
from fastscore.kernels.utf8 import decode

__all__ = ["first_with_answer"]

_ASCII = 0x80
_SIGMA, _FINAL_SIGMA = 0x3A3, 0x3C2
_HANGUL, _HANGUL_END = 0xAC00, 0xD7A4
_LEADING, _VOWEL, _TRAILING, _VOWELS, _TRAILINGS = 0x1100, 0x1161, 0x11A7, 21, 28
_BYTES = "Array(uint8, 1, 'C', readonly=True)"
_POINTS = "Array(int32, 1, 'C', readonly=True)"


@inner
def _append(points: Any, size: int, point: int, combining: Any) -> int:
    """Append a decomposed code point in canonical order: marks of one base by their class."""
    rank = combining[point]
    at = size
    while rank > 0 and at > 0 and combining[points[at - 1]] > rank:
        points[at] = points[at - 1]
        at -= 1
    points[at] = point
    return size + 1


@inner
def _decompose(data: Any, begin: int, end: int, combining: Any, part: Any, parts: Any, points: Any) -> int:
    """Fill `points` with the text's NFD form; returns its length."""
    size = 0
    at = begin
    while at < end:
        if data[at] < _ASCII:
            points[size] = data[at]
            at, size = at + 1, size + 1
            continue
        point, length = decode(data, at, end)
        at += max(length, 1)
        if _HANGUL <= point < _HANGUL_END:
            syllable = point - _HANGUL
            size = _append(points, size, _LEADING + syllable // (_VOWELS * _TRAILINGS), combining)
            size = _append(points, size, _VOWEL + syllable // _TRAILINGS % _VOWELS, combining)
            if syllable % _TRAILINGS:
                size = _append(points, size, _TRAILING + syllable % _TRAILINGS, combining)
        elif part[point] == 0:
            size = _append(points, size, point, combining)
        else:
            first = part[point] + 1
            for i in range(first, first + parts[first - 1]):
                size = _append(points, size, parts[i], combining)
    return size


@inner
def _is_final_sigma(points: Any, at: int, begin: int, size: int, sigma: Any, kind: Any) -> bool:
    """Whether a capital sigma ends its word: behind a cased character and before none, case-ignorable ones passed over."""
    before = at - 1
    while before >= begin and sigma[points[before]] == 2:
        before -= 1
    after = at + 1
    while after < size and kind[points[after]] == 1 and sigma[points[after]] == 2:
        after += 1
    cased_behind = after < size and kind[points[after]] == 1 and sigma[points[after]] == 1
    return before >= begin and sigma[points[before]] == 1 and not cased_behind


@inner
def _cut(points: Any, size: int, kind: Any, lower: Any, sigma: Any, form: Any, at: int, starts: Any) -> Any:
    """Write the form of the decomposed text from `at` on, and where its words start, the 0 included.

    Returns the position after the form, and the number of words.
    """
    form[at] = 0
    words = 0
    inside = False
    begin = 0
    for i in range(size):
        point = points[i]
        was_inside, inside = inside, kind[point] == 1
        if was_inside and not inside:
            at += 1
            form[at] = 0
        if kind[point] == 0:
            continue
        if not (was_inside and inside):
            starts[words] = at
            words += 1
            begin = i
        at += 1
        form[at] = lower[point]
        if point == _SIGMA and _is_final_sigma(points, i, begin, size, sigma, kind):
            form[at] = _FINAL_SIGMA
        if not inside:
            at += 1
            form[at] = 0
    if inside:
        at += 1
        form[at] = 0
    return at + 1, words


@inner
def _contains(form: Any, size: int, starts: Any, words: int, answers: Any, answer_at: Any, count: int) -> bool:
    """Whether one of the answers, which lie one behind the other, stands in the form at the start of a word."""
    for word in range(words):
        start = starts[word]
        for a in range(count):
            length = answer_at[a + 1] - answer_at[a]
            same = 0
            while same < length and start + same < size and form[start + same] == answers[answer_at[a] + same]:
                same += 1
            if same == length:
                return True
    return False


@kernel(
    f"void({INT64_IN}, {INT64_IN}, {ID_COLUMN}, {INT64_IN}, {INT64_IN}, {ID_COLUMN}, {_BYTES}, {_BYTES}, {_POINTS}, {_BYTES}, "
    f"{_POINTS}, {_POINTS}, int64, int64, int64, int32[::1], int32[::1], int32[::1], int32[::1], int64[::1], int64[::1], "
    "int64[::1])"
)
def first_with_answer(
    begin: Any, stop: Any, offsets: Any, data: Any, a_begin: Any, a_stop: Any, a_offsets: Any, a_data: Any, kind: Any,
    combining: Any, lower: Any, sigma: Any, part: Any, parts: Any, deepest: int, lo: int, hi: int, points: Any, form: Any,
    starts: Any, answers: Any, answer_at: Any, first: Any, usable: Any,
) -> None:  # fmt: skip
    """Set ``first[row]`` to the rank (from 0) of the first of the row's passages that contains one of its answers, or -1.

    ``usable[row]`` is set to how many of the answers have a word; those without are in no passage. `points`, `form`,
    `starts`, `answers` and `answer_at` are working space.
    """
    for row in range(lo, hi):
        answer_at[0] = 0
        count = 0
        for a in range(a_begin[row], a_stop[row]):
            size = _decompose(a_data, a_offsets[a], a_offsets[a + 1], combining, part, parts, points)
            end, words = _cut(points, size, kind, lower, sigma, answers, answer_at[count], starts)
            if words > 0:
                count += 1
                answer_at[count] = end
        usable[row] = count
        first[row] = -1
        for text in range(begin[row], min(stop[row], begin[row] + deepest) if count else begin[row]):
            size = _decompose(data, offsets[text], offsets[text + 1], combining, part, parts, points)
            size, words = _cut(points, size, kind, lower, sigma, form, 0, starts)
            if _contains(form, size, starts, words, answers, answer_at, count):
                first[row] = text - begin[row]
                break

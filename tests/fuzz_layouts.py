"""Random Arrow layouts of the same values: slices, offsets that do not begin at zero, views, dictionaries, garbage under nulls.

Plain Python values and a `random.Random` come in; an array of some layout that holds exactly these values goes out.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

__all__ = ["chunked", "list_array", "span_array", "text_array"]

Texts = Sequence["str | None"]
Lists = Sequence["Sequence[str | None] | None"]
_JUNK = b"the junk \xff\xfe\x80"
_INDICES = (pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32())


def _bits(valid: Sequence[bool], offset: int) -> pa.Buffer:
    """A validity bitmap whose first `offset` bits, and those behind it, are garbage."""
    bits = [i % 3 == 0 for i in range(offset)] + list(valid) + [True] * 3
    return pa.py_buffer(np.packbits(np.array(bits, dtype=np.uint8), bitorder="little").tobytes())


def _by_hand(rng: random.Random, texts: Texts) -> pa.Array:
    """Buffers made by hand: junk before, between and behind the texts that count, and under nulls."""
    offset = rng.choice((0, 1, 3, 8, 9))
    under_nulls = rng.random() < 0.5
    parts, data = [], bytearray(rng.choice((b"", b"x", _JUNK)))
    offsets = []
    for i in range(offset):
        offsets.append(len(data))
        data += b"y" * (i % 2)
    for text in texts:
        offsets.append(len(data))
        data += text.encode() if text is not None else _JUNK if under_nulls else b""
        parts.append(text is not None)
    offsets.append(len(data))
    data += rng.choice((b"", b"z", _JUNK))
    kind, width = rng.choice(((pa.string(), np.int32), (pa.large_string(), np.int64), (pa.binary(), np.int32)))
    mask = _bits(parts, offset) if not all(parts) or rng.random() < 0.3 else None
    stored = pa.py_buffer(np.array(offsets, dtype=width).tobytes())
    return pa.Array.from_buffers(kind, len(texts), [mask, stored, pa.py_buffer(bytes(data))], offset=offset)


def _dictionary(rng: random.Random, texts: Texts) -> pa.Array:
    """Indices into a dictionary in any order, with values that no row has, doubles and null values."""
    values: list[str | None] = list(dict.fromkeys([*texts, "unused", *([None] if rng.random() < 0.3 else [])]))
    if rng.random() < 0.3:
        values += values[:2]
    rng.shuffle(values)
    indices: list[int | None] = [
        None if t is None and (rng.random() < 0.5 or None not in values) else values.index(t) for t in texts
    ]
    kind = rng.choice((pa.string(), pa.large_string(), pa.string_view()))
    return pa.DictionaryArray.from_arrays(pa.array(indices, rng.choice(_INDICES)), pa.array(values, kind))


def _sliced(rng: random.Random, texts: Texts) -> pa.Array:
    before, after = rng.randrange(10), rng.randrange(3)
    values = [None if i % 3 else "garbage" for i in range(before)] + list(texts) + ["more"] * after
    return _plain(rng, values).slice(before, len(texts))


def _plain(rng: random.Random, texts: Texts) -> pa.Array:
    kind = rng.randrange(6)
    if kind < 3:
        return pa.array(texts, (pa.string(), pa.large_string(), pa.string_view())[kind])
    encoded = [None if t is None else t.encode() for t in texts]
    return pa.array(encoded, (pa.binary(), pa.large_binary(), pa.binary_view())[kind - 3])


def text_array(rng: random.Random, texts: Texts) -> pa.Array:
    """The texts as an array of a random layout."""
    if all(t is None for t in texts) and rng.random() < 0.5:
        return pa.nulls(len(texts))
    return rng.choice((_plain, _sliced, _by_hand, _dictionary))(rng, texts)


def _flat(lists: Lists) -> list[str | None]:
    return [text for listed in lists if listed is not None for text in listed]


def _with_offsets(rng: random.Random, lists: Lists) -> pa.Array:
    """A list or large_list over values of any layout, with texts before, behind and under nulls that no list holds."""
    before, under = rng.randrange(4), rng.random() < 0.5
    flat: list[str | None] = ["before"] * before
    offsets = [len(flat)]
    for listed in lists:
        flat += listed if listed is not None else ["under a null", None] if under else []
        offsets.append(len(flat))
    flat += ["behind"] * rng.randrange(3)
    kind, width = rng.choice(((pa.ListArray, pa.int32()), (pa.LargeListArray, pa.int64())))
    mask = pa.array([listed is None for listed in lists], pa.bool_()) if None in lists else None
    return kind.from_arrays(pa.array(offsets, width), text_array(rng, flat), mask=mask)


def _views(rng: random.Random, lists: Lists) -> pa.Array:
    """List views: equal lists share their texts, the texts stand in any order with holes between."""
    flat: list[str | None] = ["hole"]
    places: dict[Any, int] = {}
    order = list(range(len(lists)))
    rng.shuffle(order)
    offsets, sizes = [0] * len(lists), [0] * len(lists)
    for row in order:
        listed = lists[row]
        if listed is None:
            offsets[row] = rng.randrange(len(flat))
            continue
        key = tuple(listed)
        if key not in places or rng.random() < 0.3:
            places[key] = len(flat)
            flat += listed
            flat += ["hole"] * rng.randrange(2)
        offsets[row], sizes[row] = places[key], len(listed)
    kind, width = rng.choice(((pa.ListViewArray, pa.int32()), (pa.LargeListViewArray, pa.int64())))
    mask = pa.array([listed is None for listed in lists], pa.bool_())
    return kind.from_arrays(pa.array(offsets, width), pa.array(sizes, width), text_array(rng, flat), mask=mask)


def _sliced_lists(rng: random.Random, lists: Lists) -> pa.Array:
    before = rng.randrange(9)
    more = [None if i % 3 == 1 else ["g"] * (i % 4) for i in range(before)]
    kind = rng.choice((pa.list_(pa.string()), pa.large_list(pa.large_string()), pa.list_(pa.string_view())))
    return pa.array([*more, *lists, ["h"]], kind).slice(before, len(lists))


def _dictionary_of_lists(rng: random.Random, lists: Lists) -> pa.Array:
    distinct = [*dict.fromkeys(tuple(listed) for listed in lists if listed is not None), ("unused",)]
    rng.shuffle(distinct)
    indices = [None if listed is None else distinct.index(tuple(listed)) for listed in lists]
    return pa.DictionaryArray.from_arrays(pa.array(indices, pa.int32()), _with_offsets(rng, [list(d) for d in distinct]))


def _fixed(rng: random.Random, lists: Lists, size: int) -> pa.Array:
    before = rng.randrange(3)
    rows = [["g"] * size] * before + list(lists) + [["h"] * size]
    flat: list[str | None] = [text for listed in rows for text in (listed if listed is not None else ["n"] * size)]
    mask = pa.array([listed is None for listed in rows], pa.bool_()) if None in lists else None
    return pa.FixedSizeListArray.from_arrays(text_array(rng, flat), size, mask=mask).slice(before, len(lists))


def list_array(rng: random.Random, lists: Lists) -> pa.Array:
    """The lists as an array of a random layout; lists of one may come as plain texts."""
    if not any(lists) and rng.random() < 0.2 and all(listed is None for listed in lists):
        return pa.nulls(len(lists))
    sizes = {len(listed) for listed in lists if listed is not None}
    ways: list[Callable[[random.Random, Lists], pa.Array]] = [_with_offsets, _views, _sliced_lists, _dictionary_of_lists]
    if len(sizes) == 1 and min(sizes) and rng.random() < 0.4:
        size = sizes.pop()
        if size == 1 and None not in lists and None not in _flat(lists) and rng.random() < 0.5:
            return text_array(rng, _flat(lists))
        return _fixed(rng, lists, size)
    return rng.choice(ways)(rng, lists)


def span_array(rng: random.Random, rows: Sequence[Any]) -> pa.Array:
    """Lists of spans: fields in any order, any width of integer, garbage under nulls, sliced."""
    start, end = rng.choice((pa.int64(), pa.int32(), pa.uint16())), rng.choice((pa.int64(), pa.int8()))
    fields = [("start", start), ("end", end), *([("score", pa.float64())] if rng.random() < 0.3 else [])]
    rng.shuffle(fields)
    named = [None if r is None else [None if s is None else {"start": s[0], "end": s[1]} for s in r] for r in rows]
    before = rng.randrange(3)
    junk = [[{"start": 3, "end": 1}], None, []][:before]
    listed = rng.choice((pa.list_, pa.large_list))(pa.struct(fields))
    array = pa.array([*junk, *named, *junk], listed)
    return array.slice(before, len(rows))


def chunked(rng: random.Random, array: pa.Array) -> pa.ChunkedArray:
    """The array in random chunks, some of them empty."""
    cuts = sorted(rng.randint(0, len(array)) for _ in range(rng.randrange(4)))
    bounds = [0, *cuts, len(array)]
    return pa.chunked_array([array.slice(a, b - a) for a, b in itertools.pairwise(bounds)], type=array.type)

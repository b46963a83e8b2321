"""Document ids as bytes: hashing, comparing, and the small hash table that a query's ids are looked up in.

Id i of a column is ``data[offsets[i]:offsets[i + 1]]``; an empty id equals nothing. A table is two arrays of one size, a
power of two: `keys` with hashes and `slots` with the number of an id plus one, 0 where free.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fastscore.kernels.bits import HIGH_BITS, first_byte_of, load64, mix64, store64
from fastscore.kernels.jit import inner, kernel

__all__ = [
    "FLOAT64_IN",
    "ID_COLUMN",
    "INT64_IN",
    "SIEVE",
    "comes_after",
    "cut_at_zeros",
    "duplicate_pair",
    "group_starts",
    "id_at",
    "insert",
    "place_rows",
    "reset",
    "same_id",
    "table_size",
]

INT64_IN = "Array(int64, 1, 'C', readonly=True)"
FLOAT64_IN = "Array(float64, 1, 'C', readonly=True)"
BYTES_IN = "Array(uint8, 1, 'C', readonly=True)"
ID_COLUMN = f"{INT64_IN}, {BYTES_IN}"

SIEVE = 8  # entries of a sieve for each of the table
_NOT_HIGH = ~HIGH_BITS
_SPREAD = np.uint64(0x9E3779B97F4A7C15)


@inner
def _near_end(data: Any, at: int, size: int) -> Any:
    """Up to eight bytes from `at` on as a number, where eight do not fit in the data."""
    word = np.uint64(0)
    for i in range(min(size, 8)):
        word |= np.uint64(data[at + i]) << np.uint64(8 * i)
    return word


@inner
def _word(data: Any, at: int, size: int) -> Any:
    """The first eight of `size` bytes from `at` on, or all of them if they are fewer, as a number."""
    if at + 8 > len(data):
        return _near_end(data, at, size)
    word = load64(data, at)
    return word if size >= 8 else word & ((np.uint64(1) << np.uint64(8 * size)) - np.uint64(1))


@inner
def _hash(data: Any, begin: int, end: int) -> Any:
    key = np.uint64(end - begin)
    for at in range(begin, end, 8):
        key = mix64(key, _word(data, at, end - at))
    return key


@inner
def same_id(data: Any, begin: int, end: int, other: Any, other_begin: int, other_end: int) -> bool:
    """Whether two ids are of the same bytes."""
    size = end - begin
    if size != other_end - other_begin:
        return False
    same = True
    for i in range(0, size, 8):
        same &= _word(data, begin + i, size - i) == _word(other, other_begin + i, size - i)
    return same


@inner
def hint(data: Any, begin: int, end: int, size: int) -> Any:
    """A number below `size`, a power of two, made of the id's last bytes: ids with different ones are different."""
    word = load64(data, end - 8) if end - begin >= 8 else _word(data, begin, end - begin)
    return np.int64((word * _SPREAD) >> np.uint64(32)) & (size - 1)


@inner
def comes_after(offsets: Any, data: Any, number: int, other: int) -> bool:
    """Whether of two ids of one column the first is smaller, compared as bytes, and so comes later among equal scores."""
    a, b = offsets[number], offsets[other]
    for i in range(min(offsets[number + 1] - a, offsets[other + 1] - b)):
        if data[a + i] != data[b + i]:
            return data[a + i] < data[b + i]
    return offsets[number + 1] - a < offsets[other + 1] - b


@inner
def id_at(order: Any, position: int) -> Any:
    """The number of the id at a position of the lists; an empty `order` means that ids lie in the lists' order."""
    return order[position] if len(order) else position


@inner
def table_size(ids: int) -> int:
    """The size of the table that holds `ids` ids, at most a quarter full."""
    size = 4
    while size < 4 * ids:
        size *= 2
    return size


@inner
def reset(slots: Any, size: int) -> None:
    """Set the first `size` entries of a table to 0, free."""
    slots[:size] = 0


@inner
def insert(slots: Any, keys: Any, size: int, offsets: Any, data: Any, number: int) -> Any:
    """Put the id of that `number` into the table; returns -1, or the number of the same id that is there already."""
    key = _hash(data, offsets[number], offsets[number + 1])
    at = np.int64(key & np.uint64(size - 1))
    while slots[at] != 0:
        other = slots[at] - 1
        if keys[at] == key and same_id(data, offsets[number], offsets[number + 1], data, offsets[other], offsets[other + 1]):
            return other
        at = (at + 1) & (size - 1)
    slots[at] = number + 1
    keys[at] = key
    return -1


@inner
def find(slots: Any, keys: Any, size: int, offsets: Any, data: Any, other: Any, begin: int, end: int) -> Any:
    """The slot of the table that holds the id ``other[begin:end]``, or -1; slots of negative sign hold ids found before."""
    key = _hash(other, begin, end)
    at = np.int64(key & np.uint64(size - 1))
    while slots[at] != 0:
        number = abs(slots[at]) - 1
        if keys[at] == key and same_id(data, offsets[number], offsets[number + 1], other, begin, end):
            return at
        at = (at + 1) & (size - 1)
    return -1


@kernel(f"void({ID_COLUMN}, uint8[::1])")
def group_starts(offsets: Any, data: Any, starts: Any) -> None:
    """Set ``starts[i]`` to 1 where id i differs from the id before it."""
    for i in range(len(starts)):
        same = i > 0 and same_id(data, offsets[i], offsets[i + 1], data, offsets[i - 1], offsets[i])
        starts[i] = 0 if same else 1


@kernel(f"void({INT64_IN}, {INT64_IN}, {INT64_IN}, int64[::1], int64[::1])")
def place_rows(run_start: Any, run_stop: Any, run_group: Any, cursor: Any, rows: Any) -> None:
    """Bring the rows of each group together, in row order; `cursor` holds where each group's rows begin, and is moved."""
    for run in range(len(run_start)):
        group = run_group[run]
        for row in range(run_start[run], run_stop[run]):
            rows[cursor[group]] = row
            cursor[group] += 1


@kernel(
    f"void({INT64_IN}, {INT64_IN}, {INT64_IN}, {ID_COLUMN}, {INT64_IN}, int64, int64, int64[::1], uint64[::1], uint8[::1], "
    "int64[::1])"
)
def duplicate_pair(
    begin: Any,
    stop: Any,
    order: Any,
    offsets: Any,
    data: Any,
    grades: Any,
    lo: int,
    hi: int,
    slots: Any,
    keys: Any,
    sieve: Any,
    found: Any,
) -> None:
    """Set `found` to the first list with an id that stands in it twice and to the two ids' numbers, or its first to -1.

    With `grades` only ids that stand there twice with different grades are looked for. Only ids that fall on one place of the
    sieve can be the same, and those few are put into the table.
    """
    found[0] = -1
    for row in range(lo, hi):
        size = table_size(stop[row] - begin[row])
        reset(sieve, SIEVE * size)
        shared = 0
        for position in range(begin[row], stop[row]):
            number = id_at(order, position)
            place = hint(data, offsets[number], offsets[number + 1], SIEVE * size)
            shared += sieve[place] == 1
            sieve[place] = min(sieve[place] + 1, 2)
        if shared == 0:
            continue
        reset(slots, size)
        for position in range(begin[row], stop[row]):
            number = id_at(order, position)
            if (
                sieve[hint(data, offsets[number], offsets[number + 1], SIEVE * size)] < 2
                or offsets[number] == offsets[number + 1]
            ):
                continue
            other = insert(slots, keys, size, offsets, data, number)
            if other >= 0 and (len(grades) == 0 or grades[other] != grades[number]):
                found[0], found[1], found[2] = row, other, number
                return


@kernel(f"void({BYTES_IN}, int64[::1], uint8[::1])")
def cut_at_zeros(joined: Any, offsets: Any, data: Any) -> None:
    """Take apart ids that were joined, each with a zero byte at its end: fill their offsets, and `data` with their bytes.

    After the last id seven zero bytes more must follow, and `data` be as long as `joined`. ``offsets[0]`` is set to the place
    in `joined` behind the last id, from which one sees whether an id held a zero byte itself; the others are as ever.
    """
    at, out = 0, 0
    for i in range(1, len(offsets)):
        while True:
            word = load64(joined, at)
            store64(data, out, word)
            zeros = ~(((word & _NOT_HIGH) + _NOT_HIGH) | word | _NOT_HIGH)
            if zeros:
                step = first_byte_of(zeros)
                at, out = at + step + 1, out + step
                break
            at, out = at + 8, out + 8
        offsets[i] = out
    offsets[0] = at

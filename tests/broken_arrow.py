"""Arrow arrays that break Arrow's rules, for every role that a column can have; each would end the process if it were read.

pyarrow checks the sizes of buffers when an array is made of them, so the one fault that it refuses there (a bitmap that is too
short) comes by way of an IPC message whose lengths were changed, as from a faulty or hostile sender.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa

__all__ = ["ROWS", "broken_integers", "broken_lists", "broken_spans", "broken_texts", "id_texts", "with_short_bitmap"]

ROWS = 24
_FAR = 2**30
Broken = dict[str, pa.Array]


class _Tagged(pa.ExtensionType):
    """An extension type over any storage."""

    def __init__(self, storage: pa.DataType) -> None:
        super().__init__(storage, "fastscore.tests.tagged")

    def __arrow_ext_serialize__(self) -> bytes:
        return b""


def id_texts(rows: int = ROWS) -> list[str]:
    """Texts that differ, some too long to stand inline in a view."""
    return [f"{i}" if i % 3 else f"text number {i} of the table" for i in range(rows)]


def _raw(kind: pa.DataType, buffers: Sequence[bytes | None], children: Sequence[pa.Array] | None = None) -> pa.Array:
    return pa.Array.from_buffers(kind, ROWS, [None if b is None else pa.py_buffer(b) for b in buffers], children=children)


def _faulty_offsets(last: int, kind: type = np.int32) -> dict[str, bytes]:
    """Offsets of `ROWS` entries over `last` places, each broken in its way."""
    good = np.linspace(0, last, ROWS + 1).astype(kind)
    faults = {"far": (3, _FAR), "decreasing": (5, 0), "negative": (4, -7), "all negative": (slice(1, 4), -9)}
    found = {}
    for name, (place, value) in faults.items():
        bad = good.copy()
        bad[place] = value
        found[f"{name} offset"] = bad.tobytes()
    return found


def _views(kind: pa.DataType, size: int, buffer: int, offset: int) -> pa.Array:
    data = b"a text that lies outside of the view"
    fine = struct.pack("<i12s", 3, b"abc")
    bad = struct.pack("<i4sii", size, data[:4], buffer, offset)
    return _raw(kind, [None, fine * 5 + bad + fine * (ROWS - 6), data])


def with_short_bitmap(table: pa.Table, column: str) -> pa.Table:
    """The same table, of `ROWS` rows in one chunk, with a validity bitmap of one byte for a column (whose first row is null)."""
    first, *others = table[column].to_pylist()
    named = pa.chunked_array([pa.array([None, *others], table[column].type)])
    table = table.set_column(table.column_names.index(column), column, named)
    rest = [name for name in table.column_names if name != column]
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.select([column, *rest]).schema) as writer:
        writer.write_table(table.select([column, *rest]))
    raw = bytearray(sink.getvalue().to_pybytes())
    place = raw.index(struct.pack("<qq", 0, ROWS // 8))  # where the first buffer lies in the message's body, and its bytes
    raw[place : place + 16] = struct.pack("<qq", 0, 1)
    short: pa.Table = pa.ipc.open_stream(bytes(raw)).read_all().select(table.column_names)
    assert first is not None
    assert short[column].chunk(0).buffers()[0].size == 1
    return short


def broken_texts() -> Broken:
    """Columns of `ROWS` texts."""
    data = "".join(id_texts()).encode()
    found: Broken = {}
    for kind, width in ((pa.string(), np.int32), (pa.large_string(), np.int64), (pa.binary(), np.int32)):
        for fault, offsets in _faulty_offsets(len(data), width).items():
            found[f"{kind} {fault}"] = _raw(kind, [None, offsets, data])
    for kind in (pa.string_view(), pa.binary_view()):
        for fault, view in {
            "far buffer": (30, 9, 0),
            "negative buffer": (30, -1, 0),
            "far place": (30, 0, _FAR),
            "negative place": (30, 0, -5),
            "negative size": (-30, 0, 0),
        }.items():
            found[f"{kind} {fault}"] = _views(kind, *view)
    values = pa.array(id_texts())
    for fault, index in {"far index": 10_000_000, "negative index": -3}.items():
        indices = np.arange(ROWS, dtype=np.int32)
        indices[5] = index
        found[f"dictionary {fault}"] = pa.DictionaryArray.from_arrays(pa.array(indices), values, safe=False)
    broken = found["string far offset"]
    found["dictionary of broken texts"] = pa.DictionaryArray.from_arrays(pa.array(np.arange(ROWS, dtype=np.int32)), broken)
    found["dictionary of broken views"] = pa.DictionaryArray.from_arrays(
        pa.array(np.arange(ROWS, dtype=np.int32)), found["string_view far buffer"]
    )
    found["extension of broken texts"] = pa.ExtensionArray.from_storage(_Tagged(pa.string()), broken)
    found["extension of broken views"] = pa.ExtensionArray.from_storage(_Tagged(pa.string_view()), found["string_view far place"])
    ends = pa.run_end_encoded(pa.int32(), pa.string())
    for fault, run_ends in {"decreasing": [9, 3, ROWS], "negative": [-3, 5, ROWS], "far": [3, _FAR, ROWS]}.items():
        runs = pa.array(run_ends, pa.int32())
        found[f"run ends {fault}"] = pa.Array.from_buffers(ends, ROWS, [None], children=[runs, pa.array(["a", "b", "c"])])
    runs = pa.array(np.arange(1, ROWS + 1, dtype=np.int32))
    found["run ends of broken texts"] = pa.Array.from_buffers(ends, ROWS, [None], children=[runs, broken])
    return found


def _lists_of(values: pa.Array, kind: Callable[[pa.DataType], pa.DataType] = pa.list_) -> pa.Array:
    """Lists of one value each."""
    offsets = np.arange(ROWS + 1, dtype=np.int32 if kind is pa.list_ else np.int64)
    return _raw(kind(values.type), [None, offsets.tobytes()], [values])


def broken_lists(values: pa.Array, broken_values: Broken) -> Broken:
    """Columns of `ROWS` lists of `values` (of `ROWS` entries), and of lists whose values are broken."""
    found: Broken = {}
    for kind, width in ((pa.list_, np.int32), (pa.large_list, np.int64)):
        for fault, offsets in _faulty_offsets(ROWS, width).items():
            found[f"{kind(values.type).id}: {fault}"] = _raw(kind(values.type), [None, offsets], [values])
    for view, width in ((pa.list_view, np.int32), (pa.large_list_view, np.int64)):
        starts, sizes = np.arange(ROWS, dtype=width), np.ones(ROWS, dtype=width)
        for fault, (start, size) in {
            "far start": (_FAR, 1),
            "far size": (3, _FAR),
            "negative start": (-4, 1),
            "negative size": (3, -2),
        }.items():
            bad = starts.copy(), sizes.copy()
            bad[0][7], bad[1][7] = start, size
            found[f"{view.__name__}: {fault}"] = _raw(view(values.type), [None, bad[0].tobytes(), bad[1].tobytes()], [values])
    found |= {f"list of {name}": _lists_of(array) for name, array in broken_values.items()}
    found["extension of broken lists"] = pa.ExtensionArray.from_storage(
        _Tagged(pa.list_(values.type)), next(iter(found.values()))
    )
    return found


def broken_integers() -> Broken:
    """Columns of `ROWS` integers."""
    indices = pa.array([0] * (ROWS - 1) + [77], pa.int8())
    return {
        "dictionary of integers, far index": pa.DictionaryArray.from_arrays(indices, pa.array([5]), safe=False),
        "dictionary of integers, far and negative": pa.DictionaryArray.from_arrays(
            pa.array([-100] + [0] * (ROWS - 1), pa.int8()), pa.array([5]), safe=False
        ),
    }


def broken_spans() -> Broken:
    """Columns of `ROWS` lists of {start, end}."""
    numbers = pa.array(np.arange(ROWS))
    values = pa.StructArray.from_arrays([numbers, numbers], names=["start", "end"])
    bad = {
        f"struct with {name}": pa.StructArray.from_arrays([numbers, array], names=["start", "end"])
        for name, array in broken_integers().items()
    }
    return broken_lists(values, bad)

"""Bytes read and written eight at a time, and the mixing of words into keys.

Each function has a plain Python body, which is what runs as `.py_func`, and a compiled one of a few instructions.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, overload

__all__ = ["BLANKS", "HIGH_BITS", "LOW_BITS", "first_byte_of", "load64", "mix64", "store64"]

LOW_BITS = np.uint64(0x0101010101010101)
HIGH_BITS = np.uint64(0x8080808080808080)
BLANKS = np.uint64(0x2020202020202020)
_MASK = (1 << 64) - 1
_MULTIPLIER = 0x9E3779B97F4A7C15


def load64(buffer: Any, at: int) -> Any:
    """The eight bytes from `at` on as a little-endian number; the caller sees to it that they lie in the buffer."""
    return np.uint64(int.from_bytes(bytes(buffer[at : at + 8]), "little"))


def store64(buffer: Any, at: int, value: Any) -> None:
    """Write the eight bytes of `value` from `at` on."""
    buffer[at : at + 8] = np.frombuffer(int(value).to_bytes(8, "little"), dtype=np.uint8)


def first_byte_of(mask: Any) -> int:
    """The number of the lowest byte whose high bit is set in `mask`, which is not zero."""
    value = int(mask)
    return ((value & -value).bit_length() - 1) >> 3


def mix64(key: Any, more: Any) -> Any:
    """Mix eight more bytes of a word into its key."""
    value = ((int(key) ^ int(more)) * _MULTIPLIER) & _MASK
    return np.uint64(value ^ (value >> 29))


@intrinsic
def _load64(typingctx: Any, buffer: Any, at: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        array = cgutils.create_struct_proxy(signature.args[0])(context, builder, args[0])
        pointer = builder.gep(array.data, [args[1]], source_etype=ir.IntType(8))
        return builder.load(builder.bitcast(pointer, ir.IntType(64).as_pointer()), align=1)

    return types.uint64(buffer, types.int64), codegen


@intrinsic
def _store64(typingctx: Any, buffer: Any, at: Any, value: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        array = cgutils.create_struct_proxy(signature.args[0])(context, builder, args[0])
        pointer = builder.gep(array.data, [args[1]], source_etype=ir.IntType(8))
        builder.store(args[2], builder.bitcast(pointer, ir.IntType(64).as_pointer()), align=1)
        return context.get_dummy_value()

    return types.void(buffer, types.int64, types.uint64), codegen


@intrinsic
def _trailing_zeros(typingctx: Any, value: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.cttz(args[0], ir.Constant(ir.IntType(1), 1))

    return types.uint64(types.uint64), codegen


@overload(load64)
def _load64_compiled(buffer: Any, at: Any) -> Any:
    def compiled(buffer: Any, at: Any) -> Any:
        return _load64(buffer, np.int64(at))

    return compiled


@overload(store64)
def _store64_compiled(buffer: Any, at: Any, value: Any) -> Any:
    def compiled(buffer: Any, at: Any, value: Any) -> Any:
        _store64(buffer, np.int64(at), value)

    return compiled


@overload(first_byte_of)
def _first_byte_of_compiled(mask: Any) -> Any:
    def compiled(mask: Any) -> Any:
        return np.int64(_trailing_zeros(mask) >> np.uint64(3))

    return compiled


@overload(mix64)
def _mix64_compiled(key: Any, more: Any) -> Any:
    def compiled(key: Any, more: Any) -> Any:
        value = (key ^ more) * np.uint64(_MULTIPLIER)
        return value ^ (value >> np.uint64(29))

    return compiled

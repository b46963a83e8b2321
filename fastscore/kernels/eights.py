"""Words' keys eight at a time: compared, and their two numbers taken apart, each in a few vector instructions.

As in `wide`, the compiled bodies are LLVM vector operations of no particular machine, and the plain Python ones what `.py_func` runs.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, overload

__all__ = ["equal_numbers8", "equal_words8", "split_keys8"]

_BYTE, _NUMBER, _LANE = ir.IntType(8), ir.IntType(64), ir.IntType(32)


def equal_numbers8(numbers: Any, at: int, value: Any) -> Any:
    """Which of the eight numbers from `at` on are `value`, as bits."""
    return np.uint64(sum(1 << k for k in range(8) if numbers[at + k] == value))


def equal_words8(keys: Any, word: int, other: int) -> Any:
    """Which of the eight words from `word` on have the same keys as those from `other` on: bits 2k and 2k + 1 for the k-th."""
    return np.uint64(sum(1 << k for k in range(16) if keys[2 * word + k] == keys[2 * other + k]))


def split_keys8(keys: Any, word: int, out: Any, lows: int, highs: int) -> None:
    """Write the two numbers of the eight keys from `word` on apart: from ``out[lows]`` and from ``out[highs]`` on."""
    at = 2 * word
    out[lows : lows + 8], out[highs : highs + 8] = keys[at : at + 16 : 2], keys[at + 1 : at + 17 : 2]


def _place(context: Any, builder: Any, kind: Any, array: Any, at: Any, count: int) -> Any:
    """A pointer to `count` numbers of the array from `at` on."""
    base = cgutils.create_struct_proxy(kind)(context, builder, array).data
    return builder.bitcast(builder.gep(base, [at], source_etype=_NUMBER), ir.VectorType(_NUMBER, count).as_pointer())


@intrinsic
def _equal_numbers8(typingctx: Any, numbers: Any, at: Any, value: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        given = builder.load(_place(context, builder, signature.args[0], args[0], args[1], 8), align=8)
        empty = ir.Constant(given.type, ir.Undefined)
        one = builder.insert_element(empty, args[2], ir.Constant(_LANE, 0))
        wanted = builder.shuffle_vector(one, empty, ir.Constant(ir.VectorType(_LANE, 8), [0] * 8))
        return builder.zext(builder.bitcast(builder.icmp_unsigned("==", given, wanted), _BYTE), _NUMBER)

    return types.uint64(numbers, types.int64, types.uint64), codegen


@intrinsic
def _equal_words8(typingctx: Any, keys: Any, at: Any, other: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        places = (_place(context, builder, signature.args[0], args[0], start, 16) for start in args[1:])
        one, another = (builder.load(place, align=8) for place in places)
        return builder.zext(builder.bitcast(builder.icmp_unsigned("==", one, another), ir.IntType(16)), _NUMBER)

    return types.uint64(keys, types.int64, types.int64), codegen


@intrinsic
def _split_keys8(typingctx: Any, keys: Any, at: Any, out: Any, lows: Any, highs: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        given = builder.load(_place(context, builder, signature.args[0], args[0], args[1], 16), align=8)
        for side, start in enumerate(args[3:]):
            lanes = ir.Constant(ir.VectorType(_LANE, 8), list(range(side, 16, 2)))
            part = builder.shuffle_vector(given, ir.Constant(given.type, ir.Undefined), lanes)
            builder.store(part, _place(context, builder, signature.args[2], args[2], start, 8), align=8)
        return context.get_dummy_value()

    return types.void(keys, types.int64, out, types.int64, types.int64), codegen


@overload(equal_numbers8)
def _equal_numbers8_compiled(numbers: Any, at: Any, value: Any) -> Any:
    def compiled(numbers: Any, at: Any, value: Any) -> Any:
        return _equal_numbers8(numbers, np.int64(at), np.uint64(value))

    return compiled


@overload(equal_words8)
def _equal_words8_compiled(keys: Any, word: Any, other: Any) -> Any:
    def compiled(keys: Any, word: Any, other: Any) -> Any:
        return _equal_words8(keys, np.int64(2 * word), np.int64(2 * other))

    return compiled


@overload(split_keys8)
def _split_keys8_compiled(keys: Any, word: Any, out: Any, lows: Any, highs: Any) -> Any:
    def compiled(keys: Any, word: Any, out: Any, lows: Any, highs: Any) -> Any:
        _split_keys8(keys, np.int64(2 * word), out, np.int64(lows), np.int64(highs))

    return compiled

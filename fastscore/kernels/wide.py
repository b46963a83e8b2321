"""Sixty-four bytes at a time: ASCII cleaned, blanks found, texts compared, each in a few vector instructions.

The compiled bodies are LLVM vector operations of no particular machine (one instruction each with AVX-512, several elsewhere);
the plain Python bodies say what they do and are what runs as `.py_func`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, overload

from fastscore.kernels.jit import inlined

__all__ = [
    "ALL_BITS",
    "blanks64",
    "clean64",
    "count_bits",
    "equal64",
    "equal_byte64",
    "highest_bit",
    "leads64",
    "lowest_bit",
    "lowest_bits",
    "same_bytes",
    "words64",
]

ALL_BITS = np.uint64(0xFFFFFFFFFFFFFFFF)
_BYTE, _WORD = ir.IntType(8), ir.IntType(64)
_BYTES, _FLAGS = ir.VectorType(_BYTE, 64), ir.VectorType(ir.IntType(1), 64)
_PUNCTUATION = ((0x21, 0x2F), (0x3A, 0x40), (0x5B, 0x60), (0x7B, 0x7E))
_COMMA_PERIOD = ((0x2C, 0x2C), (0x2E, 0x2E))
_WORD_BYTES = ((0x30, 0x39), (0x41, 0x5A), (0x5F, 0x5F), (0x61, 0x7A))
_SPACES = ((0x09, 0x0D), (0x1C, 0x20))


def clean64(
    source: Any, at: int, out: Any, to: int, lower: int, deleted: int, blanked: int, narrow: int, gone: Any, spaced: Any
) -> Any:
    """Write the clean form of 64 bytes, as far as they are ASCII, to ``out[to:to + 64]``.

    Upper case goes up by `lower` (32 or 0); punctuation goes where `deleted` is 255 and becomes a blank where `blanked` is 255;
    it is the comma and the full stop alone where `narrow` is 255. The bytes whose bits are set in `gone` go besides, those of
    `spaced` become blanks. Returns which bytes are neither white space nor printable ASCII, and which were written, as bits.
    """
    other, kept, written = 0, 0, 0
    for k in range(64):
        byte = int(source[at + k])
        punctuation = any(low <= byte <= high for low, high in (_COMMA_PERIOD if narrow == 255 else _PUNCTUATION))
        space = any(low <= byte <= high for low, high in _SPACES)
        blank = space or (punctuation and blanked == 255) or int(spaced) >> k & 1
        if byte >= 0x7F or (byte < 0x20 and not space):
            other |= 1 << k
        if 0x41 <= byte <= 0x5A:
            byte += lower
        if not ((punctuation and deleted == 255) or int(gone) >> k & 1):
            kept |= 1 << k
            out[to + written] = 0x20 if blank else byte
            written += 1
    return np.uint64(other), np.uint64(kept)


def blanks64(source: Any, at: int) -> Any:
    """Which of the 64 bytes from `at` on are blanks, as bits."""
    return np.uint64(sum(1 << k for k in range(64) if source[at + k] == 0x20))


def equal64(one: Any, at: int, other: Any, place: int) -> Any:
    """Which of the 64 bytes from `at` and from `place` on are the same, as bits."""
    return np.uint64(sum(1 << k for k in range(64) if one[at + k] == other[place + k]))


def equal_byte64(source: Any, at: int, byte: Any, fold: int) -> Any:
    """Which of the 64 bytes from `at` on are `byte`, as bits; with a `fold` of 32 capital ASCII letters count as small ones."""
    return np.uint64(sum(1 << k for k in range(64) if int(source[at + k]) | fold == byte))


def leads64(source: Any, at: int) -> Any:
    """Which of the 64 bytes from `at` on start a code point in UTF-8, or are no part of one, as bits."""
    return np.uint64(sum(1 << k for k in range(64) if int(source[at + k]) & 0xC0 != 0x80))


def words64(source: Any, at: int) -> Any:
    """Which of the 64 bytes from `at` on are ASCII letters, digits or underscores, as bits."""
    return np.uint64(sum(1 << k for k in range(64) if any(low <= source[at + k] <= high for low, high in _WORD_BYTES)))


def count_bits(bits: Any) -> int:
    """How many bits are set."""
    return int(bits).bit_count()


def lowest_bit(bits: Any) -> int:
    """The number of the lowest bit that is set; some bit is."""
    value = int(bits)
    return (value & -value).bit_length() - 1


def highest_bit(bits: Any) -> int:
    """The number of the highest bit that is set; some bit is."""
    return int(bits).bit_length() - 1


def lowest_bits(count: int) -> Any:
    """A number with the lowest `count` bits set, for 0 to 64."""
    return np.uint64((1 << int(count)) - 1)


def _load(context: Any, builder: Any, kind: Any, array: Any, at: Any) -> Any:
    base = cgutils.create_struct_proxy(kind)(context, builder, array).data
    pointer = builder.bitcast(builder.gep(base, [at], source_etype=_BYTE), _BYTES.as_pointer())
    return builder.load(pointer, align=1)


def _splat(builder: Any, value: Any) -> Any:
    one = builder.insert_element(ir.Constant(_BYTES, ir.Undefined), value, ir.Constant(ir.IntType(32), 0))
    zeros = ir.Constant(ir.VectorType(ir.IntType(32), 64), [0] * 64)
    return builder.shuffle_vector(one, ir.Constant(_BYTES, ir.Undefined), zeros)


def _every(value: int) -> Any:
    return ir.Constant(_BYTES, [value] * 64)


def _in_ranges(builder: Any, vector: Any, ranges: tuple[tuple[int, int], ...]) -> Any:
    found = None
    for low, high in ranges:
        inside = builder.icmp_unsigned("<=", builder.sub(vector, _every(low)), _every(high - low))
        found = inside if found is None else builder.or_(found, inside)
    return found


@intrinsic
def _clean64(
    typingctx: Any, source: Any, at: Any, out: Any, to: Any, lower: Any, deleted: Any, blanked: Any, narrow: Any, gone: Any, spaced: Any
) -> Any:  # fmt: skip
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        vector = _load(context, builder, signature.args[0], args[0], args[1])
        on = _every(255)
        few = builder.icmp_unsigned("==", _splat(builder, args[7]), on)
        some, all_of_it = _in_ranges(builder, vector, _COMMA_PERIOD), _in_ranges(builder, vector, _PUNCTUATION)
        punctuation = builder.and_(all_of_it, builder.or_(some, builder.not_(few)))
        spaces = _in_ranges(builder, vector, _SPACES)
        high = builder.icmp_unsigned(">=", vector, _every(0x7F))
        control = builder.and_(builder.icmp_unsigned("<", vector, _every(0x20)), builder.not_(spaces))
        other = builder.or_(high, control)
        blank = builder.or_(spaces, builder.and_(punctuation, builder.icmp_unsigned("==", _splat(builder, args[6]), on)))
        gone = builder.and_(punctuation, builder.icmp_unsigned("==", _splat(builder, args[5]), on))
        kept = builder.not_(builder.or_(gone, builder.bitcast(args[8], _FLAGS)))
        upper = _in_ranges(builder, vector, ((0x41, 0x5A),))
        lowered = builder.select(upper, builder.add(vector, _splat(builder, args[4])), vector)
        image = builder.select(builder.or_(blank, builder.bitcast(args[9], _FLAGS)), _every(0x20), lowered)
        kind = ir.FunctionType(_BYTES, [_BYTES, _FLAGS, _BYTES])
        compress = cgutils.get_or_insert_function(builder.module, kind, "llvm.experimental.vector.compress.v64i8")
        written = builder.call(compress, [image, kept, ir.Constant(_BYTES, ir.Undefined)])
        base = cgutils.create_struct_proxy(signature.args[2])(context, builder, args[2]).data
        pointer = builder.bitcast(builder.gep(base, [args[3]], source_etype=_BYTE), _BYTES.as_pointer())
        builder.store(written, pointer, align=1)
        bits = [builder.bitcast(other, _WORD), builder.bitcast(kept, _WORD)]
        return context.make_tuple(builder, signature.return_type, bits)

    kind = types.UniTuple(types.uint64, 2)
    numbers = (*[types.uint8] * 4, *[types.uint64] * 2)
    return kind(source, types.int64, out, types.int64, *numbers), codegen


@intrinsic
def _blanks64(typingctx: Any, source: Any, at: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        vector = _load(context, builder, signature.args[0], args[0], args[1])
        return builder.bitcast(builder.icmp_unsigned("==", vector, _every(0x20)), _WORD)

    return types.uint64(source, types.int64), codegen


@intrinsic
def _equal64(typingctx: Any, one: Any, at: Any, other: Any, place: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        left = _load(context, builder, signature.args[0], args[0], args[1])
        right = _load(context, builder, signature.args[2], args[2], args[3])
        return builder.bitcast(builder.icmp_unsigned("==", left, right), _WORD)

    return types.uint64(one, types.int64, other, types.int64), codegen


@intrinsic
def _equal_byte64(typingctx: Any, source: Any, at: Any, byte: Any, fold: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        vector = _load(context, builder, signature.args[0], args[0], args[1])
        folded = builder.or_(vector, _splat(builder, args[3]))
        return builder.bitcast(builder.icmp_unsigned("==", folded, _splat(builder, args[2])), _WORD)

    return types.uint64(source, types.int64, types.uint8, types.uint8), codegen


@intrinsic
def _leads64(typingctx: Any, source: Any, at: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        vector = _load(context, builder, signature.args[0], args[0], args[1])
        return builder.bitcast(builder.not_(_in_ranges(builder, vector, ((0x80, 0xBF),))), _WORD)

    return types.uint64(source, types.int64), codegen


@intrinsic
def _words64(typingctx: Any, source: Any, at: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        vector = _load(context, builder, signature.args[0], args[0], args[1])
        return builder.bitcast(_in_ranges(builder, vector, _WORD_BYTES), _WORD)

    return types.uint64(source, types.int64), codegen


@intrinsic
def _count_bits(typingctx: Any, bits: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.ctpop(args[0])

    return types.int64(types.uint64), codegen


@intrinsic
def _lowest_bit(typingctx: Any, bits: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.cttz(args[0], ir.Constant(ir.IntType(1), 1))

    return types.int64(types.uint64), codegen


@intrinsic
def _highest_bit(typingctx: Any, bits: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.sub(ir.Constant(_WORD, 63), builder.ctlz(args[0], ir.Constant(ir.IntType(1), 1)))

    return types.int64(types.uint64), codegen


@overload(clean64)
def _clean64_compiled(
    source: Any, at: Any, out: Any, to: Any, lower: Any, deleted: Any, blanked: Any, narrow: Any, gone: Any, spaced: Any
) -> Any:
    def compiled(
        source: Any, at: Any, out: Any, to: Any, lower: Any, deleted: Any, blanked: Any, narrow: Any, gone: Any, spaced: Any
    ) -> Any:
        return _clean64(
            source, np.int64(at), out, np.int64(to), np.uint8(lower), np.uint8(deleted), np.uint8(blanked), np.uint8(narrow),
            np.uint64(gone), np.uint64(spaced),
        )  # fmt: skip

    return compiled


@overload(blanks64)
def _blanks64_compiled(source: Any, at: Any) -> Any:
    def compiled(source: Any, at: Any) -> Any:
        return _blanks64(source, np.int64(at))

    return compiled


@overload(equal64)
def _equal64_compiled(one: Any, at: Any, other: Any, place: Any) -> Any:
    def compiled(one: Any, at: Any, other: Any, place: Any) -> Any:
        return _equal64(one, np.int64(at), other, np.int64(place))

    return compiled


@overload(equal_byte64)
def _equal_byte64_compiled(source: Any, at: Any, byte: Any, fold: Any) -> Any:
    def compiled(source: Any, at: Any, byte: Any, fold: Any) -> Any:
        return _equal_byte64(source, np.int64(at), np.uint8(byte), np.uint8(fold))

    return compiled


@overload(leads64)
def _leads64_compiled(source: Any, at: Any) -> Any:
    def compiled(source: Any, at: Any) -> Any:
        return _leads64(source, np.int64(at))

    return compiled


@overload(words64)
def _words64_compiled(source: Any, at: Any) -> Any:
    def compiled(source: Any, at: Any) -> Any:
        return _words64(source, np.int64(at))

    return compiled


@overload(count_bits)
def _count_bits_compiled(bits: Any) -> Any:
    def compiled(bits: Any) -> Any:
        return _count_bits(np.uint64(bits))

    return compiled


@overload(lowest_bit)
def _lowest_bit_compiled(bits: Any) -> Any:
    def compiled(bits: Any) -> Any:
        return _lowest_bit(np.uint64(bits))

    return compiled


@overload(highest_bit)
def _highest_bit_compiled(bits: Any) -> Any:
    def compiled(bits: Any) -> Any:
        return _highest_bit(np.uint64(bits))

    return compiled


@overload(lowest_bits)
def _lowest_bits_compiled(count: Any) -> Any:
    def compiled(count: Any) -> Any:
        if count >= 64:
            return np.uint64(0xFFFFFFFFFFFFFFFF)
        return (np.uint64(1) << np.uint64(count)) - np.uint64(1)

    return compiled


@inlined
def same_bytes(a: Any, at: int, a_end: int, b: Any, other: int, b_end: int) -> bool:
    """Whether ``a[at:a_end]`` and ``b[other:b_end]`` are the same bytes."""
    if a_end - at != b_end - other:
        return False
    while at < a_end and at + 64 <= a.size and other + 64 <= b.size:
        if equal64(a, at, b, other) | ~lowest_bits(min(64, a_end - at)) != ALL_BITS:
            return False
        at += 64
        other += 64
    while at < a_end:
        if a[at] != b[other]:
            return False
        at += 1
        other += 1
    return True

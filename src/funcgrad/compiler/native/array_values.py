"""Values of array programs in machine code: numbers in registers, and strided arrays in memory.

A view (a slice, a transposition, a broadcast) is the same memory with other strides, as in NumPy. Shapes and
strides are known when the code is written; only the first entry's place may be computed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

from funcgrad.compiler.native.llvm_writer import (
    REGISTER,
    LLVMWriter,
    Number,
    UnsupportedError,
    integer,
    linear_index,
    real,
    row_major_strides,
)
from funcgrad.compiler.native.scalar_instructions import cast_number


class Strided(NamedTuple):
    """An array in memory: its first entry's place, and how many entries apart those of an axis are."""

    dtype: str
    shape: tuple[int, ...]
    pointer: str
    strides: tuple[int, ...]
    offset: Number = integer(0)
    length: Number | None = None
    """How many entries the first axis has, if only the function knows."""

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def is_contiguous(self) -> bool:
        """Whether the entries stand in C order, without gaps."""
        return all(
            [
                length == 1 or stride == whole
                for length, stride, whole in zip(
                    self.shape, self.strides, row_major_strides(self.shape), strict=True
                )
            ]
        )

    def at(self, writer: LLVMWriter, index: Sequence[Number]) -> Number:
        """The entry with this index."""
        place = linear_index(writer, index, self.strides, self.offset)
        return writer.load(self.pointer, self.dtype, place)

    def put(self, writer: LLVMWriter, index: Sequence[Number], value: Number) -> None:
        """Write the entry with this index.

        Raises:
            UnsupportedError: the value is of another type than entries are.
        """
        if value.type != REGISTER[self.dtype]:
            raise UnsupportedError(f"a store of {value.type} into an array of {self.dtype}")
        place = linear_index(writer, index, self.strides, self.offset)
        writer.store(value, self.pointer, self.dtype, place)


class Splat(NamedTuple):
    """One number, of this dtype, in every entry; a plain number if the shape is empty."""

    dtype: str
    shape: tuple[int, ...]
    number: Number

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    def at(self, writer: LLVMWriter, index: Sequence[Number]) -> Number:
        """The number, whatever the index."""
        return self.number


Value: TypeAlias = Strided | Splat


def new_array(writer: LLVMWriter, shape: tuple[int, ...], dtype: str) -> Strided:
    """Memory for an array.

    Raises:
        UnsupportedError: its length is not known.
    """
    size = math.prod(shape)
    if any([length < 0 for length in shape]):
        raise UnsupportedError("an array whose length is known only when the program runs")
    return Strided(dtype, shape, writer.buffer(size, dtype), row_major_strides(shape))


def loaded(writer: LLVMWriter, array: Strided) -> Value:
    """An array; if it has no axes, its number."""
    return array if array.shape else Splat(array.dtype, (), array.at(writer, ()))


# Nested loops of so few entries are unrolled by LLVM, and their arrays are kept in registers.
_UNROLLED = 16


def collapsed(
    shape: Sequence[int], strides: Sequence[Sequence[int]]
) -> tuple[tuple[int, ...], list[tuple[int, ...]]]:
    """The shape of the fewest loops over the same entries in the same order, and the strides in it.

    Loop collapsing: an axis joins the one before if no array has a gap or a turn between them, so that
    loops of 5 times 5 entries are one of 25, whose entries fill vector registers.

    >>> collapsed((5, 1, 4, 3), [(12, 12, 3, 1), (3, 0, 0, 1)])
    ((5, 4, 3), [(12, 3, 1), (3, 0, 1)])
    >>> collapsed((5, 1, 4, 3), [(12, 12, 3, 1), (0, 0, 0, 0)])
    ((60,), [(1,), (0,)])
    """
    if math.prod(shape) <= _UNROLLED:
        return tuple(shape), [tuple(own) for own in strides]
    axes: list[tuple[int, ...]] = []
    for length, *own in zip(shape, *strides, strict=True):
        if length == 1:
            continue
        if axes and all([x == length * y for x, y in zip(axes[-1][1:], own, strict=True)]):
            length *= axes.pop()[0]
        axes.append((length, *own))
    joined = [tuple([axis[k] for axis in axes]) for k in range(1 + len(strides))]
    return joined[0], joined[1:]


def copy_into(writer: LLVMWriter, target: Strided, value: Value) -> None:
    """Copy a value into an array of its shape."""
    arrays = [target, value] if isinstance(value, Strided) else [target]
    shape, strides = collapsed(target.shape, [x.strides for x in arrays])
    target, *rest = [
        x._replace(shape=shape, strides=own) for x, own in zip(arrays, strides, strict=True)
    ]
    with writer.loops(shape) as index:
        target.put(writer, index, (*rest, value)[0].at(writer, index))


def zeros(writer: LLVMWriter, shape: tuple[int, ...], dtype: str) -> Strided:
    """An array of zeros."""
    kind = REGISTER[dtype]
    made = new_array(writer, shape, dtype)
    copy_into(writer, made, Splat(dtype, shape, integer(0) if kind == "i64" else real(0.0, kind)))
    return made


def add_into(writer: LLVMWriter, target: Strided, value: Value) -> None:
    """Add the entries of a value to those of an array of its shape, in any order with other sums."""
    kind = REGISTER[target.dtype]
    opcode = "add" if kind == "i64" else "fadd reassoc"
    with writer.loops(target.shape) as index:
        x = cast_number(writer, value.at(writer, index), kind)
        target.put(writer, index, writer.binary(opcode, target.at(writer, index), x))


def item_of(writer: LLVMWriter, x: Value, at: Number) -> Value:
    """An entry along the first axis."""
    if isinstance(x, Splat):
        return x._replace(shape=x.shape[1:])
    offset = writer.plus(x.offset, writer.times(at, integer(x.strides[0])))
    return loaded(
        writer, x._replace(shape=x.shape[1:], strides=x.strides[1:], offset=offset, length=None)
    )


def sum_dtype(dtype: str) -> str:
    """The dtype that terms of a dtype are added up in: one by one, `float32` would lose digits."""
    return {"float32": "float64", "complex64": "complex128"}.get(dtype, dtype)


def cast_array(writer: LLVMWriter, array: Strided, dtype: str) -> Strided:
    """An array in another dtype: itself if it has that dtype."""
    if array.dtype == dtype:
        return array
    made = new_array(writer, array.shape, dtype)
    with writer.loops(array.shape) as index:
        made.put(writer, index, cast_number(writer, array.at(writer, index), REGISTER[dtype]))
    return made


def in_memory(writer: LLVMWriter, value: Value) -> Strided:
    """The value as an array in C order: itself if it is so already."""
    if isinstance(value, Strided) and value.is_contiguous:
        return value
    made = new_array(writer, value.shape, value.dtype)
    copy_into(writer, made, value)
    return made

"""The forms in machine code of running sums, products and extremes, and of argmax and argmin: NumPy's bits.

A running sum adds one entry after the other in its own dtype, as NumPy's does, so its order is fixed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Literal

import numpy as np

from funcgrad.compiler.flat_program import FlatStep
from funcgrad.compiler.native.array_program import ArrayProgram, Whole
from funcgrad.compiler.native.array_values import Value, cast_array, in_memory, loaded, new_array
from funcgrad.compiler.native.llvm_writer import (
    REGISTER,
    TRUTH,
    LLVMWriter,
    Number,
    integer,
    real,
    truth_literal,
)
from funcgrad.compiler.native.scalar_instructions import cast_number


@contextmanager
def _following(
    w: LLVMWriter, shape: Sequence[int], axis: int
) -> Iterator[tuple[list[Number], list[Number]]]:
    """Loops over the entries but the first ones along an axis: the index before each, and its own."""
    count = [n - (k == axis) for k, n in enumerate(shape)]
    with w.loops(count) as before:
        index = list(before)
        index[axis] = w.plus(index[axis], integer(1))
        yield list(before), index


def _running(
    begin: Callable[[LLVMWriter, Sequence[Number]], Number],
    proceed: Callable[[LLVMWriter, Number, Sequence[Number]], Number],
) -> Any:
    """Entries of which the first is made of the operands' entries, and a later one of that before as well."""

    def build(program: ArrayProgram, step: FlatStep, operands: Sequence[Value]) -> Value:
        w, axis, shape = program.writer, dict(step.params)["axis"], step.type.shape
        kind = REGISTER[step.type.dtype.name]
        found = new_array(w, shape, step.type.dtype.name)

        def given(index: Sequence[Number]) -> list[Number]:
            return [cast_number(w, x.at(w, index), kind) for x in operands]

        with w.loops([1 if k == axis else n for k, n in enumerate(shape)]) as first:
            found.put(w, first, begin(w, given(first)))
        if shape[axis] > 1:
            with _following(w, shape, axis) as (before, index):
                found.put(w, index, proceed(w, found.at(w, before), given(index)))
        return found

    return build


def _opcode(name: str, x: Number) -> str:
    return name if x.type == "i64" else f"f{name}"


def _total(w: LLVMWriter, z: Number, given: Sequence[Number]) -> Number:
    return w.binary(_opcode("add", z), z, given[0])


def _product(w: LLVMWriter, z: Number, given: Sequence[Number]) -> Number:
    return w.binary(_opcode("mul", z), z, given[0])


def _affine(w: LLVMWriter, z: Number, given: Sequence[Number]) -> Number:
    a, b = given
    kept = w.select(w.compare("oeq", a, real(0.0, a.type)), real(0.0, z.type), z)
    return w.binary("fadd", b, w.binary("fmul", a, kept))


def _extreme(larger: Literal["gt", "lt"]) -> Callable[..., Number]:
    def proceed(w: LLVMWriter, z: Number, given: Sequence[Number]) -> Number:
        # As NumPy, the later of equal zeros.
        return w.select(_beats(w, larger, z, given[0]), z, given[0])

    return proceed


def _place(larger: Literal["gt", "lt"]) -> Any:
    """The first place of the largest or smallest entry, or of the first NaN."""

    def build(program: ArrayProgram, step: FlatStep, operands: Sequence[Value]) -> Value:
        (x,), w, axis = operands, program.writer, dict(step.params)["axis"]
        found, best = new_array(w, step.type.shape, "int64"), new_array(w, step.type.shape, x.dtype)
        with w.loops(step.type.shape) as kept:
            found.put(w, kept, integer(0))
            best.put(w, kept, x.at(w, [*kept[:axis], integer(0), *kept[axis:]]))
        if x.shape[axis] > 1:
            with _following(w, x.shape, axis) as (_, index):
                kept = (*index[:axis], *index[axis + 1 :])
                entry, top = x.at(w, index), best.at(w, kept)
                better = _beats(w, larger, entry, top)
                best.put(w, kept, w.select(better, entry, top))
                found.put(w, kept, w.select(better, index[axis], found.at(w, kept)))
        return loaded(w, found)

    return build


def _beats(w: LLVMWriter, larger: str, x: Number, top: Number) -> Number:
    if x.type not in ("double", "float"):
        return w.compare(f"{'u' if x.type == TRUTH else 's'}{larger}", x, top)
    first = w.binary("and", w.compare("uno", x, x), w.compare("ord", top, top))
    return w.binary("or", w.compare(f"o{larger}", x, top), first)


cumsum = Whole(_running(lambda w, given: given[0], _total))
cumprod = Whole(_running(lambda w, given: given[0], _product))
recurrence = Whole(_running(lambda w, given: given[1], _affine))
running_maximum = Whole(_running(lambda w, given: given[0], _extreme("gt")))
running_minimum = Whole(_running(lambda w, given: given[0], _extreme("lt")))
argmax = Whole(_place("gt"))
argmin = Whole(_place("lt"))


def _search(program: ArrayProgram, step: FlatStep, operands: Sequence[Value]) -> Value:
    """The number of entries that come before a value: a binary search of as many steps for each value."""
    w, is_left = program.writer, dict(step.params)["side"] == "left"
    a, v = (cast_array(w, in_memory(w, x), _common(operands)) for x in operands)
    *stack, n = a.shape
    found = new_array(w, step.type.shape, "int64")
    with w.loops(step.type.shape) as index:
        value, place = v.at(w, index), integer(0)
        for k in reversed(range(n.bit_length())):
            end = w.plus(place, integer(1 << k))
            is_inside = w.compare("sle", end, integer(n))
            last = w.select(is_inside, w.plus(end, integer(-1)), integer(n - 1))
            entry = a.at(w, [*index[: len(stack)], last])
            if is_left:
                is_before = comes_before(w, entry, value)
            else:
                is_before = w.binary("xor", comes_before(w, value, entry), truth_literal(True))
            place = w.select(w.binary("and", is_inside, is_before), end, place)
        found.put(w, index, place)
    return loaded(w, found)


def _common(operands: Sequence[Value]) -> str:
    return str(np.result_type(*[x.dtype for x in operands]))


def comes_before(w: LLVMWriter, x: Number, y: Number) -> Number:
    """Whether one comes before the other in NumPy's order, where what is no number comes last."""
    if x.type not in ("double", "float"):
        return w.compare("ult" if x.type == TRUTH else "slt", x, y)
    is_last = w.binary("and", w.compare("uno", y, y), w.compare("ord", x, x))
    return w.binary("or", w.compare("olt", x, y), is_last)


searchsorted = Whole(_search)

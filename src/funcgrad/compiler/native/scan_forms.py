"""The forms in machine code of running sums and products, and of places of extreme entries: NumPy's bits.

A running sum adds one entry after the other in its own dtype, as NumPy's does, so its order is fixed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Literal

from funcgrad.compiler.flat_program import FlatStep
from funcgrad.compiler.native.array_program import ArrayProgram, Whole
from funcgrad.compiler.native.array_values import Value, loaded, new_array
from funcgrad.compiler.native.llvm_writer import REGISTER, TRUTH, LLVMWriter, Number, integer
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
    return w.binary("fadd", b, w.binary("fmul", a, z))


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
argmax = Whole(_place("gt"))
argmin = Whole(_place("lt"))

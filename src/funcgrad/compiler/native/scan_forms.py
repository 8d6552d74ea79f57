"""The forms in machine code of running sums and of places of extreme entries, with NumPy's bits.

A running sum adds one entry after the other in its own dtype, as NumPy's does, so its order is fixed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
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


def _cumsum(program: ArrayProgram, step: FlatStep, operands: Sequence[Value]) -> Value:
    (x,), w, axis = operands, program.writer, dict(step.params)["axis"]
    kind, shape = REGISTER[step.type.dtype.name], x.shape
    found = new_array(w, shape, step.type.dtype.name)
    with w.loops([1 if k == axis else n for k, n in enumerate(shape)]) as index:
        found.put(w, index, cast_number(w, x.at(w, index), kind))
    if shape[axis] > 1:
        opcode = "add" if kind == "i64" else "fadd"
        with _following(w, shape, axis) as (before, index):
            entry = cast_number(w, x.at(w, index), kind)
            found.put(w, index, w.binary(opcode, found.at(w, before), entry))
    return found


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


cumsum = Whole(_cumsum)
argmax = Whole(_place("gt"))
argmin = Whole(_place("lt"))

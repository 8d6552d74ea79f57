"""The forms in machine code of sorting: NumPy's stable order of short rows, by insertion.

Longer rows have no form: NumPy sorts them in fewer comparisons.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from funcgrad.compiler.flat_program import Flat, FlatStep
from funcgrad.compiler.native.array_program import ArrayProgram, MachineForm, Whole
from funcgrad.compiler.native.array_values import Strided, Value, loaded, new_array
from funcgrad.compiler.native.llvm_writer import LLVMWriter, Number, UnsupportedError, integer
from funcgrad.compiler.native.scan_forms import comes_before

_LONGEST = 64
"""Entries along the axis up to which insertion takes fewer steps than a call of NumPy's."""


def _insert(w: LLVMWriter, places: Strided, i: Number, entry: Callable[[Number], Number]) -> None:
    """Put a place among those before it, behind the last whose entry does not come after its own."""
    own = entry(i)
    with w.open_loop(integer(0), i) as (passed, end):
        target = w.binary("sub", i, passed)
        before = places.at(w, (w.plus(target, integer(-1)),))
        goes_on = w.fresh("later")
        w.branch(comes_before(w, own, entry(before)), goes_on, end)
        w.label(goes_on)
        places.put(w, (target,), before)
    places.put(w, (w.binary("sub", i, passed),), i)


def _places(program: ArrayProgram, x: Value, axis: int, index: Sequence[Number]) -> Strided:
    """The places of the entries along an axis in a stable order, on the line through an index."""
    w, length = program.writer, x.shape[axis]
    if length > _LONGEST:
        raise UnsupportedError(f"sorting {length} entries")
    places = new_array(w, (length,), "int64")
    places.put(w, (integer(0),), integer(0))
    if length > 1:
        with w.loop(integer(length - 1)) as k:
            _insert(
                w, places, w.plus(k, integer(1)), lambda place: x.at(w, _at(index, axis, place))
            )
    return places


def _at(index: Sequence[Number], axis: int, place: Number) -> list[Number]:
    return [*index[:axis], place, *index[axis + 1 :]]


def _argsort(program: ArrayProgram, step: FlatStep, operands: Sequence[Value]) -> Value:
    (x,), w, axis = operands, program.writer, dict(step.params)["axis"]
    found = new_array(w, step.type.shape, "int64")
    with w.loops([1 if k == axis else n for k, n in enumerate(x.shape)]) as index:
        places = _places(program, x, axis, index)
        with w.loops((x.shape[axis],)) as (k,):
            found.put(w, _at(index, axis, k), places.at(w, (k,)))
    return loaded(w, found)


def _order_statistics(program: ArrayProgram, step: FlatStep, operands: Sequence[Value]) -> Value:
    (x, kth), w, axis = operands, program.writer, dict(step.params)["axis"]
    found = new_array(w, step.type.shape, "int64")
    with w.loops([1 if k == axis else n for k, n in enumerate(x.shape)]) as index:
        places = _places(program, x, axis, index)
        with w.loops((kth.shape[axis],)) as (k,):
            wanted = kth.at(w, _at(index, axis, k))
            outside = w.compare("uge", wanted, integer(x.shape[axis]))
            program.fails_if(outside)
            inside = w.select(outside, integer(0), wanted)
            found.put(w, _at(index, axis, k), places.at(w, (inside,)))
    return loaded(w, found)


argsort = Whole(_argsort)
order_statistics = Whole(_order_statistics)


def sorted_entries(flat: Flat, step: FlatStep) -> MachineForm:
    """That of long rows.

    Raises:
        UnsupportedError: always.
    """
    raise UnsupportedError(f"sorting {step.type.shape[dict(step.params)['axis']]} entries")

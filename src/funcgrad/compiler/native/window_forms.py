"""The forms in machine code of overlapping windows of the last axis: a view, and its transpose, a sum."""

from __future__ import annotations

from collections.abc import Sequence

from funcgrad.compiler.flat_program import FlatStep
from funcgrad.compiler.native.array_forms import zero_of
from funcgrad.compiler.native.array_program import ArrayProgram, View, Whole
from funcgrad.compiler.native.array_values import (
    Splat,
    Strided,
    Value,
    copy_into,
    loaded,
    new_array,
)
from funcgrad.compiler.native.llvm_writer import LLVMWriter, UnsupportedError, integer


def _windows_of(w: LLVMWriter, x: Strided, step: FlatStep, shape: Sequence[int]) -> Strided:
    """The windows of an array's last axis: the same memory with other strides."""
    params, unit = dict(step.params), x.strides[-1]
    strides = (*x.strides[:-1], *[size * unit for size in params["steps"]])
    place = w.plus(x.offset, integer(params["start"] * unit))
    return x._replace(shape=tuple(shape), strides=strides, offset=place)


def _windows(program: ArrayProgram, step: FlatStep, operands: Sequence[Value]) -> Value:
    (x,), w = operands, program.writer
    if isinstance(x, Splat):
        return x._replace(shape=step.type.shape)
    return loaded(w, _windows_of(w, x, step, step.type.shape))


def _added(program: ArrayProgram, step: FlatStep, operands: Sequence[Value]) -> Value:
    """Innermost is the last axis along which the windows' entries are neighbors, so that it fills vectors."""
    (g,), w = operands, program.writer
    if step.type.dtype.kind == "b":
        raise UnsupportedError("a sum of truth values")
    found = new_array(w, step.type.shape, step.type.dtype.name)
    copy_into(w, found, Splat(found.dtype, found.shape, zero_of(step)))
    into, rank = _windows_of(w, found, step, g.shape), len(g.shape)
    near = range(rank) if isinstance(g, Splat) else [k for k in range(rank) if g.strides[k] == 1]
    last = max([k for k in near if abs(into.strides[k]) == 1], default=rank - 1)
    order = [*[k for k in range(rank) if k != last], last]
    add = "fadd" if step.type.dtype.kind in "fc" else "add"
    with w.loops([g.shape[k] for k in order]) as places:
        index = [places[order.index(k)] for k in range(rank)]
        into.put(w, index, w.binary(add, into.at(w, index), g.at(w, index)))
    return loaded(w, found)


overlapping_windows = View(_windows)
added_windows = Whole(_added)

"""Expansion of operations into several NumPy calls that take ``out=``: softplus, sigmoid, logsumexp, norm.

A concatenation is one call, and so is a stack, which is made of several operations.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad.compiler.call_ir import (
    Call,
    Callee,
    CallForm,
    constant_call,
    reduction,
    reshape_call,
    ufunc_call,
)
from funcgrad.compiler.flat_program import FlatStep
from funcgrad.compiler.numpy.branchless_select import tamed
from funcgrad.graph import ArrayType
from funcgrad.ops.elementwise.exponential import largest_exponent


def put(calls: list[Call], call: Call) -> int:
    """Append a call, and return its number."""
    calls.append(call)
    return len(calls) - 1


def put_constant(calls: list[Call], array: np.ndarray[Any, Any]) -> int:
    """Append a constant, and return its number."""
    return put(calls, constant_call(len(calls), array))


def _apply(calls: list[Call], type: ArrayType, ufunc: np.ufunc, *operands: int) -> int:
    return put(calls, ufunc_call(ufunc, operands, type))


def _sigmoid(calls: list[Call], step: FlatStep, x: int) -> int:
    type, dtype = step.type, step.type.dtype
    most = put_constant(calls, largest_exponent(dtype))
    e = _apply(calls, type, np.exp, _apply(calls, type, np.minimum, x, most))
    one = put_constant(calls, np.array(1.0, dtype))
    return _apply(calls, type, np.divide, e, _apply(calls, type, np.add, one, e))


def _sech_squared(calls: list[Call], step: FlatStep, x: int) -> int:
    type, dtype = step.type, step.type.dtype
    one, two, minus_two = (put_constant(calls, np.array(k, dtype)) for k in (1.0, 2.0, -2.0))
    size = _apply(calls, type, np.absolute, x)
    e = _apply(calls, type, np.exp, _apply(calls, type, np.multiply, size, minus_two))
    half = _apply(calls, type, np.divide, two, _apply(calls, type, np.add, one, e))
    return _apply(calls, type, np.multiply, _apply(calls, type, np.square, half), e)


def _softplus(calls: list[Call], step: FlatStep, x: int) -> int:
    zero = put_constant(calls, np.array(0.0, step.type.dtype))
    return _apply(calls, step.type, np.logaddexp, x, zero)


def _logsumexp(calls: list[Call], step: FlatStep, x: int) -> int:
    axes, type, wide = dict(step.params)["axis"], step.type, calls[x].type
    top = put(calls, reduction(np.maximum, axes, x, type))
    top = put(calls, Call(Callee("tamed", CallForm.ENTRYWISE, tamed), (top,), type, "may_alias"))
    kept = tuple([1 if i in axes else n for i, n in enumerate(wide.shape)])
    view = put(calls, reshape_call(kept, top, ArrayType(kept, type.dtype))) if type.shape else top
    e = _apply(calls, wide, np.exp, _apply(calls, wide, np.subtract, x, view))
    total = put(calls, reduction(np.add, axes, e, type))
    return _apply(calls, type, np.add, _apply(calls, type, np.log, total), top)


def _norm(calls: list[Call], step: FlatStep, x: int) -> int:
    squares = _apply(calls, calls[x].type, np.square, x)
    total = put(calls, reduction(np.add, dict(step.params)["axis"], squares, step.type))
    return _apply(calls, step.type, np.sqrt, total)


def join_call(calls: list[Call], step: FlatStep, operands: tuple[int, ...]) -> Call | None:
    """The call of a concatenation, that of a stack if it joins what has each been given a first axis; None of
    another step. (`numpy.concatenate` on a view of each number or row takes up to seven times as long.)"""
    if step.op.name != "concatenate":
        return None
    symbol, type = f"f{len(calls)}", step.type
    rows = () if dict(step.params)["axis"] else _stacked_rows(calls, operands)
    if rows:
        stack = Callee(symbol, CallForm.JOIN, np.array, "stack")
        return Call(stack, rows, type, "new", (("dtype", type.dtype),))
    join = Callee(symbol, CallForm.JOIN, np.concatenate, step.op.name)
    return Call(join, operands, type, "new", step.params)


def _stacked_rows(calls: list[Call], operands: tuple[int, ...]) -> tuple[int, ...]:
    """The numbers or rows that a concatenation stacks, or none if it joins other things."""
    if any([calls[k].form is not CallForm.RESHAPE for k in operands]):
        return ()
    rows = tuple([calls[k].operands[0] for k in operands])
    shapes = [calls[k].type.shape for k in rows]
    stacked = [(1, *shape) for shape in shapes] == [calls[k].type.shape for k in operands]
    return rows if stacked and len(shapes[0]) < 2 else ()


STAGES: dict[str, Callable[[list[Call], FlatStep, int], int]] = {
    "sech_squared": _sech_squared,
    "sigmoid": _sigmoid,
    "softplus": _softplus,
    "logsumexp": _logsumexp,
    "norm": _norm,
}
"""Expansions by operation: each appends calls, and returns the number of the last."""

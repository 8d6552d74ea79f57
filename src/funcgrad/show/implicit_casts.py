"""The broadcasts and casts that a formula leaves out: those that NumPy does by itself.

An elementwise operation has operands of one type; `funcgrad.ops.base.op.fit` casts and broadcasts them by
operations of their own. A formula shows their operands, if NumPy's promotion (NEP 50) gives the
operation the same types again. A constant is then written as Python's number, which takes the dtype of
the operands beside it. All other casts and broadcasts are written, so that a formula read as NumPy code has
the program's types.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import NamedTuple

import numpy as np

from funcgrad.expr import Expr, scalar
from funcgrad.graph import CONSTANT
from funcgrad.ops.base.op import Elementwise, Op, astype, broadcast_to, columns_of
from funcgrad.ops.base.promotion import OperandKind, elementwise_types
from funcgrad.ops.elementwise import selection
from funcgrad.ops.elementwise.magnitude import make_complex
from funcgrad.ops.shape import concatenate_op, reshape_op
from funcgrad.show.functions import operands_written

MOST_PEELED = 3  # casts and broadcasts, one on top of the other, that are left out


class Operand(NamedTuple):
    """An operand as it is written, and, of a scalar constant, the kind of Python number."""

    expr: Expr
    number: type | None = None
    """None for an operand with a dtype of its own."""


def operands_shown(expr: Expr) -> tuple[Expr, ...]:
    """The operands of a node as they are written: see `written_operands`."""
    return tuple([operand.expr for operand in written_operands(expr)])


def written_operands(expr: Expr) -> tuple[Operand, ...]:
    """The operands of a node without the casts and broadcasts that NumPy does by itself.

    >>> import funcgrad as fg
    >>> n, v = fg.var("n", (), int), fg.var("v", (3,))
    >>> [operand.expr for operand in written_operands(v * n)]
    [v, n]
    """
    stacked = stacked_operands(expr)
    if stacked is not None:
        return stacked
    if expr.args and columns_of(expr).sparsity == "stored":
        base, value, *arrays = expr.args
        return (Operand(base), _stored(value), *map(Operand, arrays))
    if not isinstance(expr.op, Elementwise) or (expr.op is make_complex and expr.shape):
        return tuple([Operand(arg) for arg in operands_written(expr)])
    op: Op = expr.op
    args: tuple[Expr, ...] = expr.args
    if op is selection.mask:  # written as a choice between the operand and zero
        op, args = selection.where, (*args, scalar(0, expr.dtype))
    choices = [tuple(_layers(arg)) for arg in args]
    wanted = tuple([arg.type for arg in expr.args])
    for chosen in _fewest_casts(choices):
        operands = _as_numpy_reads(op, chosen, expr, wanted)
        if operands is not None:
            return operands
    return tuple([Operand(arg) for arg in args])


def _stored(value: Expr) -> Operand:
    """What a store broadcasts to its entries, and, of a number, casts: ``x.at[0].set(1)``."""
    x = value.args[0] if value.op is broadcast_to else value
    inner = x.args[0] if x.op is astype else x
    kinds = _number_kinds(inner) if inner is not value else ()
    return Operand(inner, kinds[0]) if kinds else Operand(x)


def stacked_operands(expr: Expr) -> tuple[Operand, ...] | None:
    """What is stacked, of a concatenation of operands that were given an axis of length 1 for it."""
    if expr.op is not concatenate_op:
        return None
    axis = dict(expr.params)["axis"]
    inner = [_without_axis(arg, axis) for arg in expr.args]
    found = [x for x in inner if x is not None]
    if len(found) < len(inner) or len({x.shape for x in found}) > 1:
        return None
    has_dtype = expr.dtype.kind == "f" and any([x.op is not CONSTANT for x in found])
    kinds = [_number_kinds(x)[:1] if has_dtype else () for x in found]
    return tuple([Operand(x, *kind) for x, kind in zip(found, kinds, strict=True)])


def _without_axis(expr: Expr, axis: int) -> Expr | None:
    if expr.op not in (reshape_op, broadcast_to):
        return None
    (x,) = expr.args
    whole = expr.shape[:axis] + expr.shape[axis + 1 :] == x.shape and expr.shape[axis] == 1
    return x if whole else None


def _layers(expr: Expr) -> Iterator[Expr]:
    """An operand, and what its casts and broadcasts were applied to: innermost last.

    NumPy casts once: below a cast, one that changes values, as that of a float to an integer, is written.
    """
    yield expr
    is_cast = False
    for _ in range(MOST_PEELED):
        if expr.op is not broadcast_to and expr.op is not astype:
            return
        (inner,) = expr.args
        if expr.op is astype:
            if is_cast and not np.can_cast(inner.dtype, expr.dtype):
                return
            is_cast = True
        if expr.op is astype and inner.op is CONSTANT and not inner.shape:
            # The digits of a float32 are not those of the float64 that it becomes.
            value = expr.op.run(inner.params[0][1].array, **dict(expr.params))
            inner = scalar(value, expr.dtype)
        expr = inner
        yield expr


def _fewest_casts(choices: list[tuple[Expr, ...]]) -> Iterator[tuple[Expr, ...]]:
    """All combinations of layers, those with the fewest casts and broadcasts first."""
    innermost = tuple([layers[-1] for layers in choices])
    yield innermost
    if all(len(layers) == 1 for layers in choices):
        return
    depths = product(*[range(len(layers)) for layers in choices])
    for depth in sorted(depths, key=sum, reverse=True):
        yield tuple([layers[i] for layers, i in zip(choices, depth, strict=True)])


def _as_numpy_reads(
    op: Op, chosen: tuple[Expr, ...], expr: Expr, wanted: tuple[object, ...]
) -> tuple[Operand, ...] | None:
    """The operands, if NumPy gives the operation the wanted types: constants as numbers if possible."""
    numbers = [_number_kinds(x) for x in chosen]
    if all(kinds == () for kinds in numbers):
        return tuple(map(Operand, chosen)) if _has_types(op, chosen, expr, wanted) else None
    firsts = tuple([kinds[0] if kinds else None for kinds in numbers])
    lasts = tuple([kinds[-1] if kinds else None for kinds in numbers])
    mixed = (*lasts[:1], *firsts[1:])
    for kinds in (firsts, mixed, lasts, *product(*[(*kinds, None) for kinds in numbers])):
        operands = tuple(map(Operand, chosen, kinds))
        read = tuple([kind or x.type for x, kind in zip(chosen, kinds, strict=True)])
        if _promotes(op, read, expr, wanted):
            return operands
    return None


def _has_types(op: Op, chosen: tuple[Expr, ...], expr: Expr, wanted: tuple[object, ...]) -> bool:
    return _promotes(op, tuple([x.type for x in chosen]), expr, wanted)


def _promotes(
    op: Op, kinds: tuple[OperandKind, ...], expr: Expr, wanted: tuple[object, ...]
) -> bool:
    """Whether NumPy's promotion of these kinds gives the operand types and the result's."""
    try:
        inputs, output = elementwise_types(op, kinds)
    except (TypeError, ValueError):
        return False
    return inputs[: len(wanted)] == wanted and output == expr.type


def _number_kinds(expr: Expr) -> tuple[type, ...]:
    """The kinds of Python numbers that a scalar constant can be written as: an integer first."""
    if expr.op is not CONSTANT or expr.shape:
        return ()
    value = expr.params[0][1].array.item()
    if isinstance(value, complex) and str(value.imag) == "0.0" and is_integer(value.real):
        return int, complex
    if isinstance(value, float) and is_integer(value):
        return int, float
    kind = type(value)
    # Python has no number for the other dtypes, such as a long double.
    return (kind,) if kind in (bool, int, float, complex) else ()


def is_integer(value: float) -> bool:
    """Whether a float is written as an integer: not above 1e15, and not the negative zero."""
    return value.is_integer() and abs(value) < 1e15 and str(value) != "-0.0"

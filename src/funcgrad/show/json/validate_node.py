"""Validate nodes read from JSON.

The operation's type rule must give the declared type, and so must a run of the operation on a small array of
that shape. Long axes are shortened first, equal lengths alike, so that the cost of validation does not depend
on the lengths in the file. Errors that occur only on large arrays are left to NumPy, at run time.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from funcgrad.control.closed_program import Body
from funcgrad.control.loop import LoopSpec
from funcgrad.expr import Expr
from funcgrad.graph import ArrayType, Params, TupleType
from funcgrad.ops.base.op import Elementwise, Op
from funcgrad.ops.base.promotion import elementwise_types
from funcgrad.show.json.validate_control_flow import closed_problem, is_closed
from funcgrad.transforms.custom.primitive import Foreign
from funcgrad.transforms.custom.solvers import Problem

_RUN = (Body, LoopSpec, Problem, Foreign)
LARGEST = 2**20  # entries that a check may touch, and the most that it may multiply


def check_node(op: object, args: Sequence[Expr], params: Params, declared: ArrayType) -> str:
    """What is wrong with a node, as the end of a message; empty where nothing is."""
    types = tuple([arg.type for arg in args])
    # Written out, since True and 1 are equal, and a loop's shape and a plain tuple, too.
    return _problem(op, types, params, declared, repr(params))


@lru_cache(maxsize=1024)
def _problem(
    op: Op, types: tuple[ArrayType, ...], params: Params, declared: ArrayType, written: str
) -> str:
    if op.joint is None and isinstance(op.edges, tuple) and len(op.edges) != len(types):
        return f"expected {len(op.edges)} operands, but got {len(types)}"
    if not types:
        return "expected operands, but got none"
    closed = is_closed(op, types)
    if closed and (problem := closed_problem(op, types, params)):
        return problem
    if isinstance(op, Elementwise):
        return _elementwise_problem(op, types, params, declared)
    if any([key in ("axis", "axes") and not _are_axes(value) for key, value in params]):
        return f"expected axes, but got {dict(params)}"
    try:
        inferred = op.infer(*types, **dict(params))
    except Exception as error:  # a type rule may fail in any way on what it was not made for
        return f"expected operands and params that fit, but {reason(error)}"
    if not closed and not _is_type(inferred):
        return f"expected params that fit, but got {_line(params)}"
    if inferred != declared:
        return f"expected the type {inferred}, but got {declared}"
    return (
        ""
        if closed or (_is_written(op, types, params) and _holds(op, types, params, declared))
        else f"expected params that fit, but got {_line(params)}"
    )


def _elementwise_problem(
    op: Op, types: tuple[ArrayType, ...], params: Params, declared: ArrayType
) -> str:
    if params:
        return f"expected no params, but got {_line(params)}"
    try:
        inputs, output = elementwise_types(op, types)
    except (TypeError, ValueError) as error:
        return f"expected operands that fit, but {reason(error)}"
    if inputs != types:
        shown = [", ".join(map(str, kinds)) for kinds in (inputs, types)]
        return f"expected operands {shown[0]}, but got {shown[1]}"
    return "" if output == declared else f"expected the type {output}, but got {declared}"


def _is_type(inferred: ArrayType | TupleType) -> bool:
    """Whether a type rule gave a type, and not what stood in the params for one: (True,), "<f4"."""
    if isinstance(inferred, TupleType):
        return all([_is_type(part) for part in inferred.parts])
    shape: Any = inferred.shape
    exact = isinstance(shape, tuple) and all([type(n) is int for n in shape])
    return exact and isinstance(inferred.dtype, np.dtype)


def _are_axes(value: object) -> bool:
    items = value if isinstance(value, tuple) else (value,)
    return all([item is None or (type(item) is int and -64 <= item < 64) for item in items])


def _holds(op: Op, types: tuple[ArrayType, ...], params: Params, declared: ArrayType) -> bool:
    """Whether the operation does to arrays what its type rule says, as far as that is cheap to see."""
    # How long an axis of an open loop is, -1, is known only when it has run.
    open_axes = any([-1 in t.shape for t in (*types, declared)])
    if open_axes or not all([_is_brief(value) for _, value in params]):
        return True
    if any(["shape" in key or key == "spec" for key, _ in params]):
        # Lengths or indices stand in the params, so that the types must stay as they are. Views cost nothing.
        touched = 0 if op.moves else declared.size + sum(t.size for t in types)
        return touched > LARGEST or _bears_out(op, types, params)
    small = _shortened(types)
    work = 1  # the most that a contraction of all with all could cost
    for t in small:
        work *= max(t.size, 1)
        if work > LARGEST:
            return True
    return _bears_out(op, small, params)


def _is_written(op: Op, types: tuple[ArrayType, ...], params: Params) -> bool:
    """Whether the params are such as formulas can be written of."""
    try:
        return op.notation is None or bool(op.notation(*["x"] * len(types), **dict(params)))
    except Exception:  # a notation may fail in any way on what it was not made for
        return False


def _is_brief(value: object) -> bool:
    """A value that a run cannot be long for: a number may say how often, and a body what is done."""
    if isinstance(value, int | float | complex):
        return abs(value) <= 64
    if type(value) is tuple:
        return not any([isinstance(item, _RUN) for item in value])
    return not isinstance(value, _RUN)


def _shortened(types: tuple[ArrayType, ...]) -> tuple[ArrayType, ...]:
    long = sorted({n for t in types for n in t.shape if n > 3})
    short = {n: 4 + i for i, n in enumerate(long)}
    return tuple([ArrayType(tuple([short.get(n, n) for n in t.shape]), t.dtype) for t in types])


def _bears_out(op: Op, types: tuple[ArrayType, ...], params: Params) -> bool:
    named = dict(params)
    try:
        expected = op.infer(*types, **named)
        with np.errstate(all="ignore"):
            result = op.run(*[_sample(t) for t in types], **named)
    except Exception:  # NumPy's refusals are of many kinds
        return False
    return _is_of_type(result, expected)


def _is_of_type(value: Any, type: ArrayType | TupleType) -> bool:
    if isinstance(type, TupleType):
        fits = isinstance(value, tuple) and len(value) == len(type.parts)
        return fits and all(map(_is_of_type, value, type.parts))
    found = np.asarray(value)
    return found.shape == type.shape and found.dtype == type.dtype


def _sample(type: ArrayType) -> Any:
    """An array of a type that takes no room, or one that has an inverse; integers are legal indices."""
    if type.dtype.kind in "fc" and type.ndim >= 2 and type.size <= LARGEST:
        eye = np.eye(*type.shape[-2:], dtype=type.dtype)
        return np.broadcast_to(eye, type.shape)
    value = np.zeros((), type.dtype) if type.dtype.kind in "iub" else np.ones((), type.dtype)
    return np.broadcast_to(value, type.shape)


def reason(error: Exception) -> str:
    """Why something failed, in one line."""
    return (
        " ".join(str(error).splitlines()[0].split())[:100] if str(error) else type(error).__name__
    )


def _line(params: Params) -> str:
    line = ascii(dict(params))
    return line if len(line) <= 60 else line[:57] + "..."

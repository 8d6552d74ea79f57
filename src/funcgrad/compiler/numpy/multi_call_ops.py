"""Operations that are a few calls of NumPy, each of which may be told where to write, and join a group."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from funcgrad.compiler.call_ir import Call, Plan, add_constant
from funcgrad.compiler.flat_program import Step
from funcgrad.compiler.numpy.branchless_select import tamed
from funcgrad.graph import ArrayType
from funcgrad.ops.elementwise import largest_exponent


def ufunc_text(name: str, count: int) -> str:
    """The call of a ufunc, with places for operands and for where its result goes."""
    return f"{name}({', '.join([f'{{{i}}}' for i in range(count)])}{{out}})"


def entry(text: str, operands: tuple[int, ...], type: ArrayType) -> Call:
    """The call of a ufunc."""
    return Call(text, operands, type, "fill", "entry")


def reduction(ufunc: str, axes: tuple[int, ...], operand: int, type: ArrayType) -> Call:
    """The call that reduces along axes by a ufunc."""
    return Call(f"{ufunc}.reduce({{0}}, {axes})", (operand,), type, "new", ufunc, axes)


def _put(plan: Plan, call: Call) -> int:
    plan.calls.append(call)
    return len(plan.calls) - 1


def _apply(plan: Plan, type: ArrayType, name: str, *operands: int) -> int:
    plan.bound[name] = getattr(np, name)
    return _put(plan, entry(ufunc_text(name, len(operands)), operands, type))


def _sigmoid(plan: Plan, step: Step, x: int) -> int:
    type, dtype = step.type, step.type.dtype
    most = add_constant(plan, largest_exponent(dtype))
    e = _apply(plan, type, "exp", _apply(plan, type, "minimum", x, most))
    one = add_constant(plan, np.array(1.0, dtype))
    return _apply(plan, type, "divide", e, _apply(plan, type, "add", one, e))


def _softplus(plan: Plan, step: Step, x: int) -> int:
    zero = add_constant(plan, np.array(0.0, step.type.dtype))
    return _apply(plan, step.type, "logaddexp", x, zero)


def _logsumexp(plan: Plan, step: Step, x: int) -> int:
    axes, type, wide = dict(step.params)["axis"], step.type, plan.calls[x].type
    top = _put(plan, reduction("maximum", axes, x, type))
    plan.bound["tamed"] = tamed
    top = _put(plan, Call("tamed({0})", (top,), type, "unknown", "entry"))
    kept = tuple([1 if i in axes else n for i, n in enumerate(wide.shape)])
    text = f"{{0}}.reshape({kept})"
    view = _put(plan, Call(text, (top,), ArrayType(kept, type.dtype), "view", "reshape"))
    e = _apply(plan, wide, "exp", _apply(plan, wide, "subtract", x, view))
    total = _put(plan, reduction("add", axes, e, type))
    return _apply(plan, type, "add", _apply(plan, type, "log", total), top)


def _norm(plan: Plan, step: Step, x: int) -> int:
    squares = _apply(plan, plan.calls[x].type, "square", x)
    total = _put(plan, reduction("add", dict(step.params)["axis"], squares, step.type))
    return _apply(plan, step.type, "sqrt", total)


STAGES: dict[str, Callable[[Plan, Step, int], int]] = {
    "sigmoid": _sigmoid,
    "softplus": _softplus,
    "logsumexp": _logsumexp,
    "norm": _norm,
}
"""What adds an operation of floats to a plan, by its name: the number of the call that has its value."""

"""Roots and minima of arrays of equations, of `scipy.optimize.elementwise` and of distributions.

Their derivative is that of Newton's steps from the solution. SciPy's search, Chandrupatla's, ends at a
point that it was given, too, if that is the solution; through its steps such a point would not move.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from scipy.optimize import _chandrupatla

from funcgrad.expr.concrete import known_value
from funcgrad.expr.registry import functions
from funcgrad.ops.base.op import lift_fully
from funcgrad.ops.shape import holds_expr
from funcgrad.scipy.composition import tuple_of, unreplaced, with_value
from funcgrad.source import fail, with_name
from funcgrad.transforms.grad import stop_gradient
from funcgrad.transforms.jvp import jvp

_Function = Callable[..., Any]
_STEPS = 3
"""Steps of Newton's from the solution: after k of them, derivatives up to the order 2**k - 1 are its own."""


def _as_solution(name: str, residual_of: Callable[[_Function], _Function]) -> _Function:
    scipys = unreplaced(getattr(_chandrupatla, name))

    def function(func: _Function, *bracket: Any, args: Any = (), **options: Any) -> Any:
        found = functions["call_adopted"](scipys, (func, *bracket), {"args": args, **options})
        named = {key: lift_fully(item) for key, item in (options.get("kwargs") or {}).items()}
        if named:  # (an option that SciPy has from 1.18 on)
            func = partial(func, **named)
        given = [lift_fully(item) for item in tuple_of(args)]
        if not holds_expr([found.x, found.fun]):
            return found
        x, value = stop_gradient((lift_fully(found.x), lift_fully(found.fun)))
        residual, moved = residual_of(func), x
        for _ in range(_STEPS):
            rest = residual(moved, *given)
            slope = _slope_of(residual)(moved, *given)
            flat = np.logical_and(slope == 0, found.success)
            known = known_value(lift_fully(flat))
            if known is not None and np.any(known):
                raise fail(
                    np.linalg.LinAlgError,
                    f"{name}: expected solutions that the equation determines up to rounding, but at one its "
                    "slope is 0, so that it has no derivative",
                )
            moved = moved - np.where(flat, 0.0, rest / np.where(flat, 1.0, slope))
        moved = np.where(found.success, moved, x)
        found.x = with_value(x, moved)
        found.fun = with_value(value, func(moved, *given))
        return found

    return with_name(function, name, f"As SciPy's `{name}`.")


def _slope_of(f: _Function) -> _Function:
    def slope(x: Any, *args: Any) -> Any:
        return jvp(lambda at: f(at, *args), (x,), (np.ones(np.shape(x)),))[1]

    return slope


elementwise_root = _as_solution("_chandrupatla", lambda f: f)
elementwise_minimum = _as_solution("_chandrupatla_minimize", _slope_of)

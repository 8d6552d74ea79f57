"""Roots and minima of `scipy.optimize.elementwise`, by the implicit function theorem.

SciPy's search ends at a point that it was given, too, if that is the solution; through its steps such a point
would have no derivative.
"""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any

import numpy as np
from scipy.optimize import elementwise as _scipy

from funcgrad.expr.registry import functions
from funcgrad.ops.base.op import lift_fully
from funcgrad.ops.shape import holds_expr
from funcgrad.scipy.composition import solution, tuple_of, with_value
from funcgrad.transforms.grad import stop_gradient
from funcgrad.transforms.jvp import jvp
from funcgrad.transforms.vmap import vmap

_Function = Callable[..., Any]


def _as_solution(name: str, residual_of: Callable[[_Function], _Function]) -> _Function:
    own: Any = getattr(_scipy, name)
    scipys = FunctionType(own.__code__, own.__globals__, name)
    scipys.__kwdefaults__ = own.__kwdefaults__

    def function(f: _Function, init: Any, /, *, args: Any = (), **options: Any) -> Any:
        found = functions["call_adopted"](scipys, (f, init), {"args": args, **options})
        given = [lift_fully(item) for item in tuple_of(args)]
        if not holds_expr([found.x, found.f_x]):
            return found
        x, f_x = stop_gradient((lift_fully(found.x), lift_fully(found.f_x)))
        parts = np.broadcast_arrays(x, lift_fully(found.success), *given)
        x_each, found_each, *rest = [np.reshape(part, -1) for part in parts]
        residual = residual_of(f)

        def moved_one(x: Any, is_found: Any, *args: Any) -> Any:
            def difference(at: Any, *args: Any) -> Any:  # which is 0 where nothing was found
                return np.where(is_found, residual(at, *args), at)

            return solution(np.where(is_found, x, 0.0), difference, *args)

        moved = np.reshape(vmap(moved_one)(x_each, found_each, *rest), x.shape)
        moved = np.where(found.success, moved, x)
        found.x = with_value(x, moved)
        found.f_x = with_value(f_x, f(moved, *given))
        return found

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"As `scipy.optimize.elementwise.{name}`, by the implicit function theorem."
    return function


def _slope_of(f: _Function) -> _Function:
    def slope(x: Any, *args: Any) -> Any:
        return jvp(lambda at: f(at, *args), (x,), (np.ones(np.shape(x)),))[1]

    return slope


elementwise_root = _as_solution("find_root", lambda f: f)
elementwise_minimum = _as_solution("find_minimum", _slope_of)

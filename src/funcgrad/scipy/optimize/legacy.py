"""Legacy functions of `scipy.optimize` for traced values.

A search compares values: a derivative through its steps would be 0, or that of the last steps. A local
solution is that of `minimize`, `minimize_scalar` or `root`, by the implicit function theorem.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from inspect import signature
from typing import Any

import numpy as np
import scipy.optimize as _scipy

from funcgrad.ops.shape import holds_expr
from funcgrad.scipy.composition import real, refuse, settings_by_value, tuple_of, without_tracing
from funcgrad.scipy.further_arguments import with_numbers
from funcgrad.scipy.optimize.equations import root
from funcgrad.scipy.optimize.fits import least_sum
from funcgrad.scipy.optimize.minima import minimize, minimize_scalar
from funcgrad.source import type_error, with_name

_Solver = Callable[..., Any]
_Given = Mapping[str, Any]


def _minimum(name: str, method: str) -> Callable[[_Solver, Any, _Given], Any]:
    def solve(f: _Solver, args: object, given: _Given) -> Any:
        found = minimize(f, _start(name, given), args, method, given.get("fprime"))
        return _outputs(name, found, given)

    return solve


def _start(name: str, given: _Given) -> Any:
    """The start as a vector: the legacy functions flatten it."""
    x0 = given["x0"]
    return np.ravel(real(name, x0) if holds_expr([x0]) else x0)


def _outputs(name: str, found: Any, given: _Given) -> Any:
    """The minimum; with ``full_output`` its value, too, counts of the search, all nan, and flags, 0.

    Further steps follow SciPy's search, whose counts are not those of the whole. The directions and the
    estimate of the inverse Hessian, which the search collects, are nan, too.
    """
    if not given.get("full_output"):
        return found.x
    matrix = np.full((np.size(found.x), np.size(found.x)), np.nan)
    collected = {"fmin_bfgs": (np.zeros(len(matrix)), matrix), "fmin_powell": (matrix,)}
    return found.x, found.fun, *collected.get(name, ()), *_COUNTS[name]


def _minimum_in_box(name: str) -> Callable[[_Solver, Any, _Given], Any]:
    """A minimum in bounds, as `fmin_l_bfgs_b` and its like return it."""

    def solve(f: _Solver, args: object, given: _Given) -> Any:
        both = name != "fmin_slsqp" and given.get("fprime") is None and not given.get("approx_grad")
        method = name.removeprefix("fmin_").replace("_", "-").upper()
        bounds = given.get("bounds")
        if isinstance(bounds, tuple | list) and not bounds:
            bounds = None
        start, conditions = _start(name, given), _conditions(given, args)
        found = minimize(
            f, start, args, method, jac=both or None, bounds=bounds, constraints=conditions
        )
        if name == "fmin_l_bfgs_b":
            return found.x, found.fun, {"task": "CONVERGENCE", "warnflag": 0}
        return (found.x, 0, 1) if name == "fmin_tnc" else _outputs(name, found, given)

    return solve


def _conditions(given: _Given, args: Any) -> list[dict[str, Any]]:
    """Those of `fmin_cobyla` and `fmin_slsqp`, as `minimize` takes them; none of other functions."""
    extra = given.get("consargs")
    shared = args if extra is None else tuple_of(extra)
    found: list[dict[str, Any]] = []
    for kind, name in (("ineq", "cons"), ("eq", "eqcons"), ("ineq", "ieqcons")):
        joint = given.get(f"f_{name}")  # in the place of the list
        given_ones = given.get(name, ()) if joint is None else joint
        listed = [given_ones] if callable(given_ones) else given_ones
        found += [{"type": kind, "fun": one, "args": shared} for one in listed]
    return found


def _minimum_beside_conditions(f: _Solver, args: object, given: _Given) -> Any:
    start, conditions = _start("fmin_cobyla", given), _conditions(given, args)
    return minimize(f, start, args, "COBYLA", constraints=conditions).x


def _minimum_on_line(name: str) -> Callable[[_Solver, Any, _Given], Any]:
    def solve(f: _Solver, args: object, given: _Given) -> Any:
        ends = (given["x1"], given["x2"]) if "x1" in given else None
        return _outputs(name, minimize_scalar(f, given.get("brack"), ends, args), given)

    return solve


def _least_squares(f: _Solver, args: Any, given: _Given) -> Any:
    alone, args = with_numbers(f, args)
    start = np.ravel(real("leastsq", given["x0"]))
    found = least_sum(lambda fun, x, *_: _scipy.leastsq(fun, x)[0], alone, start, args)
    if not given.get("full_output"):
        return found.x, 1
    covariance = np.linalg.inv(found.jac.T @ found.jac)
    return found.x, covariance, {"fvec": found.fun}, 1, "The solution converged."


def _root(method: str) -> Callable[[_Solver, Any, _Given], Any]:
    def solve(f: _Solver, args: object, given: _Given) -> Any:
        return np.reshape(root(f, given["xin"], args, method).x, np.shape(given["xin"]))

    return solve


_SOLVED: Mapping[str, Callable[[_Solver, Any, _Given], Any]] = {
    "fmin": _minimum("fmin", "Nelder-Mead"),
    "fmin_bfgs": _minimum("fmin_bfgs", "BFGS"),
    "fmin_cg": _minimum("fmin_cg", "CG"),
    "fmin_cobyla": _minimum_beside_conditions,
    "fmin_ncg": _minimum("fmin_ncg", "Newton-CG"),
    "fmin_powell": _minimum("fmin_powell", "Powell"),
    **{name: _minimum_on_line(name) for name in ("brent", "fminbound", "golden")},
    "leastsq": _least_squares,
    **{name: _minimum_in_box(name) for name in ("fmin_l_bfgs_b", "fmin_slsqp", "fmin_tnc")},
    **{
        name: _root(name)
        for name in (
            *("anderson", "broyden1", "broyden2", "diagbroyden", "excitingmixing"),
            "linearmixing",
        )
    },
    "newton_krylov": _root("krylov"),
}
_COUNTS = {
    **dict.fromkeys(("fmin", "fmin_bfgs", "fmin_cg", "fmin_powell"), (np.nan, np.nan, 0)),
    **{"fmin_ncg": (np.nan, np.nan, np.nan, 0), "brent": (np.nan, np.nan)},
    **{"fminbound": (0, np.nan), "golden": (np.nan,)},
    "fmin_slsqp": (np.nan, 0, "Optimization terminated successfully"),
}
"""The counts and flags that ``full_output`` adds to the minimum and its value."""
_ADVICE = {
    "bracket": "write scipy.optimize.minimize_scalar(func).x",
    "line_search": "write scipy.optimize.minimize(func, x0).x",
}


def _point(given: _Given) -> Any:
    """A point at which the function can be traced."""
    for name in ("x0", "xin", "xk"):
        if name in given:
            return given[name]
    ends = given.get("bounds", given.get("ranges"))
    if isinstance(ends, _scipy.Bounds):
        return np.full(np.shape(ends.lb), 0.5)
    return 0.5 if ends is None else np.full(len(ends), 0.5)


def _function(name: str) -> _Solver:
    own = getattr(_scipy, name)
    parameters = signature(own)

    def function(*args: object, **kwargs: object) -> Any:
        given = settings_by_value(parameters.bind(*args, **kwargs).arguments)
        f, extra = given[next(iter(parameters.parameters))], tuple_of(given.get("args", ()))
        asked = [(f, extra), *[(item["fun"], item["args"]) for item in _conditions(given, extra)]]
        point, held = _point(given), holds_expr(list(given.values()))
        if not held and all([without_tracing(one, point, more) for one, more in asked]):
            return own(**given)
        is_full = None if name in (*_COUNTS, "leastsq") else given.get("full_output")
        refuse(name, full_output=is_full, retall=given.get("retall"))
        if name not in _SOLVED:
            raise type_error(
                f"{name}: expected plain values, but got traced ones, whose derivatives a search loses; "
                f"{_ADVICE[name]}",
            )
        return _SOLVED[name](f, extra, given)

    function.__signature__ = parameters  # type: ignore[attr-defined]  # adopted code looks for tuples by it
    effect = "; with traced values, options of the\nsearch have no effect."
    effect = effect if name in _SOLVED else ", which refuses traced values."
    return with_name(function, name, f"As `scipy.optimize.{name}`{effect}")


LEGACY = {name: _function(name) for name in (*_SOLVED, *_ADVICE)}

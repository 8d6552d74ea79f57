"""Minimizers of `scipy.optimize`, whose minima are differentiated by the implicit function theorem.

A function with traced arguments, or that captures traced values, is minimized to the limit of rounding by
SciPy's minimizers with exact derivatives, and Newton steps.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import scipy.optimize as _scipy

from funcgrad.control.closed_program import Body, vjp_of_body
from funcgrad.expr import scalar
from funcgrad.ops.shape import holds_expr
from funcgrad.rewrite.substitute import substitute_all
from funcgrad.scipy.composition import (
    real,
    tuple_of,
    with_places_of,
    without_derivative,
    without_tracing,
)
from funcgrad.scipy.further_arguments import with_numbers
from funcgrad.scipy.host_call import unrefined
from funcgrad.scipy.optimize.constrained import constrained_minimum, constraints_of
from funcgrad.scipy.optimize.nearby_solutions import body_of_search
from funcgrad.scipy.optimize.solver_arguments import (
    converged_result,
    ends_of,
    limits,
    of_one_entry,
    start_as_vector,
    value_alone,
)
from funcgrad.transforms.custom import implicit
from funcgrad.transforms.custom.solvers import Run, refined_or_argmin
from funcgrad.transforms.grad import grad, stop_gradient
from funcgrad.typing import Array, ArrayLike

_Function = Callable[..., Any]


# -- minima ---------------------------------------------------------------------------------------------
@with_places_of(_scipy.minimize)
def minimize(
    fun: _Function,
    x0: ArrayLike,
    args: object = (),
    method: object = None,
    jac: object = None,
    hess: object = None,
    hessp: object = None,
    bounds: object = None,
    constraints: object = (),
    **options: object,
) -> Any:
    """As `scipy.optimize.minimize`; with traced values ``jac`` and ``hess`` are
    funcgrad's own.

    Bounds and constraints that hold with equality at the solution hold there.

    >>> import funcgrad as fg
    >>> fg.grad(lambda a: minimize(lambda x: np.sum((x - a) ** 2 + x**2), [0.0]).x[0])(3.0)
    0.5
    """
    given = tuple_of(args)
    objective, args = with_numbers(of_one_entry(value_alone(fun, jac)), given)
    limited = constraints_of(constraints)
    place = start_as_vector(x0)
    if (
        not holds_expr([ends_of(bounds)])
        and all(item.is_plain(place) for item in limited)
        and without_tracing(objective, place, args)
    ):
        return _scipy.minimize(
            fun, x0, given, method, jac, hess, hessp, bounds, constraints, **options
        )
    start = np.atleast_1d(real("minimize", x0))
    if limited:
        x = constrained_minimum(objective, start, args, limited, bounds)
    elif bounds is None:
        x = local_minimum(objective, start, args, str(method))
    else:
        ends = limits(bounds, start.size)
        x = minimum_in_bounds(objective, start, args, *ends, method=str(method))
    return converged_result(x, fun=objective(x, *args))


def local_minimum(
    objective: _Function,
    start: Array,
    args: tuple[Any, ...],
    method: str = "BFGS",
    who: str = "minimize",
) -> Any:
    """A place near that which SciPy's method finds, where the gradient of the objective is 0."""
    if method.lower() not in _SEARCHES:
        return implicit.solved_by(who, "argmin", objective)(start, *args)
    solver = _refined_minimum(method)
    search = implicit.solved_with_settings(who, "argmin", objective, solver, takes_run=True)
    return search(start, np.zeros(0), *args)


_SEARCHES = frozenset(
    ("cg", "cobyla", "cobyqa", "l-bfgs-b", "nelder-mead", "newton-cg", "powell", "slsqp", "tnc")
)
"""Methods of `minimize`, of several minima of which each finds its own; others begin as BFGS does."""
_WITHOUT_SLOPES = frozenset(("cobyla", "cobyqa", "nelder-mead", "powell"))
_IN_BOUNDS = (_SEARCHES | {"trust-constr"}) - {"cg", "newton-cg"}


@lru_cache(maxsize=32)
def _refined_minimum(method: str) -> _Function:
    def solve(run: Run, _: Array) -> Any:
        jac = None if method.lower() in _WITHOUT_SLOPES else run.residual
        with np.errstate(all="ignore"):
            found = _scipy.minimize(run.value, run.start, method=method, jac=jac)
        x = run.refined_minimum(found.x, True, str(found.message))
        if not run.size(x) <= 1e-5 * run.size(run.start):  # a method is successful at a kink, too
            run.newton_refined(x, False, str(found.message))
        return x

    return solve


def minimum_in_bounds(
    objective: _Function,
    start: object,
    args: tuple[Any, ...],
    low: object,
    high: object,
    *,
    method: str = "L-BFGS-B",
    who: str = "minimize",
) -> Any:
    """A solution of x = clip(x - gradient(x), low, high), near SciPy's constrained minimum."""
    nearby = _minimum(objective, start, args, low, high, method)
    refined = implicit.solved_by(who, "root", stationary(objective))(nearby, low, high, *args)
    return unrefined(lambda: nearby, refined)


def stationary(objective: _Function) -> _Function:
    """The residual that is 0 at a minimum in bounds: what a step along the gradient moves."""

    def residual(x: Any, low: object, high: object, *args: object) -> Any:
        # x - clip(x - slope, low, high), in which a small slope would be lost beside x.
        return np.maximum(np.minimum(grad(objective)(x, *args), x - low), x - high)

    return residual


def _minimum(
    objective: _Function, start: object, args: tuple[Any, ...], low: Any, high: Any, method: str
) -> Any:
    """SciPy's constrained minimum, with the exact gradient; it has no derivative."""
    body, operands = body_of_search(objective, start, args)
    seeds, back = vjp_of_body(body, [0], [0])
    one = {seeds[0].key: scalar(1.0, seeds[0].dtype)}
    slope = back[0] if 0 in back else 0 * body.inputs[0]
    both = Body(body.inputs, [*body.outputs, *substitute_all([slope], one)])

    def run(low: ArrayLike, high: ArrayLike, x0: ArrayLike, *theta: ArrayLike) -> Any:
        def fun(x: Array) -> tuple[float, Any]:
            with np.errstate(all="ignore"):
                value, gradient = both.program.call([x, *theta])
            return float(value) / scale, np.asarray(gradient) / scale

        def moved(x: Array) -> Any:
            """The length of a step along the gradient, within the limits."""
            return np.max(np.abs(x - np.clip(x - fun(x)[1], low, high)), initial=0.0)

        scale, limits = 1.0, _scipy.Bounds(low, high)
        first = moved(np.clip(x0, low, high))
        kind = "L-BFGS-B" if method.lower() not in _IN_BOUNDS else method
        slopes = kind.lower() not in _WITHOUT_SLOPES
        with np.errstate(all="ignore"):
            value = fun if slopes else lambda x: fun(x)[0]
            found = _scipy.minimize(value, x0, jac=slopes or None, bounds=limits, method=kind)
        left = moved(np.clip(found.x, low, high))
        if left <= 1e-3 * first:
            return found.x
        # L-BFGS-B compares slopes with gtol: those of an objective with small values are scaled.
        scale = min(left, 1.0)
        options = {"ftol": 1e-15, "gtol": 1e-10, "maxiter": 10_000, "maxfun": 100_000}
        return _scipy.minimize(
            fun, found.x, jac=True, bounds=limits, method="L-BFGS-B", options=options
        ).x

    out = lambda low, high, x0, *theta: x0  # noqa: E731
    return without_derivative("constrained_minimum", run, out, low, high, *operands)


@with_places_of(_scipy.minimize_scalar)
def minimize_scalar(
    fun: _Function,
    bracket: Sequence[Any] | None = None,
    bounds: Sequence[Any] | None = None,
    args: tuple[object, ...] = (),
    **options: object,
) -> Any:
    """As `scipy.optimize.minimize_scalar`; the derivative in the bracket is 0."""
    given = tuple_of(args)
    alone, args = with_numbers(of_one_entry(fun), given)
    ends = bracket if bounds is None else bounds
    known = ends is None or not holds_expr(list(ends))
    if known and without_tracing(alone, 0.5, args):
        return _scipy.minimize_scalar(fun, bracket, bounds, given, **options)
    fun = alone
    ends = [0.0] if ends is None else ends
    plain = [np.reshape(real("minimize_scalar", end), ()) for end in ends]  # SciPy takes one entry
    solver = _bounded if bounds is not None else _brent if bracket is not None else _unbracketed
    who = "minimize_scalar"
    search = implicit.solved_with_settings(who, "argmin", fun, solver)
    given = stop_gradient(np.stack(plain))
    found = nearby = stop_gradient(search(given[len(plain) // 2], given, *args))
    if bounds is None:
        refine = implicit.solved_with_settings(
            who, "argmin", fun, refined_or_argmin, takes_run=True
        )
        x = refine(nearby, nearby, *args)
    else:
        ends = limits([plain], 1)

        def objective(x: Array, *args: object) -> Any:
            return fun(x[0], *args)

        first, (low, high) = np.reshape(nearby, 1), ends
        # Not to a far end: where the objective is 0/0 there, rounding may lower it.
        left, right = (np.where(np.abs(end - first) < 1e-4, end, (end + first) / 2) for end in ends)
        nearby = _minimum(objective, first, args, left, right, "L-BFGS-B")
        x = implicit.solved_by(who, "root", stationary(objective))(nearby, low, high, *args)[0]
    x = unrefined(lambda: found, x)
    return converged_result(x, fun=fun(x, *args))


def _bounded(fun: _Function, x0: Array, bounds: Array) -> Any:
    return _least(fun, bounds=bounds.tolist())


def _brent(fun: _Function, x0: Array, bracket: Array) -> Any:
    return _least(fun, bracket=bracket.tolist(), tol=1e-12)


def _unbracketed(fun: _Function, x0: Array, _: Array) -> Any:
    return _least(fun, tol=1e-12)


def _least(fun: _Function, **options: object) -> Any:
    found = _scipy.minimize_scalar(lambda x: float(fun(float(x))), **options)
    return np.asarray(found.x)

"""Least squares of `scipy.optimize`, near the place that SciPy's search finds, and exact."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from inspect import signature
from types import MappingProxyType
from typing import Any

import numpy as np
import scipy.optimize as _scipy

from funcgrad.arrays.values import by_value
from funcgrad.expr import Expr
from funcgrad.graph import ArrayType
from funcgrad.ops.base.activity import is_varied
from funcgrad.ops.base.op import lift_fully
from funcgrad.ops.shape import holds_expr
from funcgrad.scipy.composition import number, real, tuple_of, with_places_of, without_tracing
from funcgrad.scipy.further_arguments import with_numbers
from funcgrad.scipy.host_call import unrefined
from funcgrad.scipy.optimize.minima import stationary
from funcgrad.scipy.optimize.nearby_solutions import found_by
from funcgrad.scipy.optimize.solver_arguments import converged_result, ends_of, start_as_vector
from funcgrad.source import fail, value_error
from funcgrad.trace.leaves import on_arrays
from funcgrad.transforms.custom import implicit
from funcgrad.transforms.custom.primitive import primitive
from funcgrad.transforms.custom.solvers import Run
from funcgrad.transforms.grad import grad, stop_gradient
from funcgrad.transforms.jacobian import jacobian
from funcgrad.typing import Array, ArrayLike

_Function = Callable[..., Any]

LOSSES: Mapping[str, _Function] = MappingProxyType(
    {
        "linear": lambda z: z,
        "soft_l1": lambda z: 2 * z / (np.sqrt(1 + z) + 1),
        "huber": lambda z: np.where(z <= 1, z, 2 * np.sqrt(np.where(z <= 1, 1.0, z)) - 1),
        "cauchy": np.log1p,
        "arctan": np.arctan,
    }
)
"""The losses of `least_squares`, of the squares of the residuals."""


def _between(low: Any, high: Any) -> Any:
    """SciPy's first guess in bounds: their middle, 1 from the only one, or 1."""
    below, above = np.isfinite(low), np.isfinite(high)
    with np.errstate(invalid="ignore"):
        one = np.where(below, low + 1, np.where(above, high - 1, 1.0))
        return stop_gradient(np.where(below & above, (low + high) / 2, one))


# -- least squares ----------------------------------------------------------------------------------------
def refined_fit(
    objective: _Function, nearby: Array, x0: Array, args: tuple[Any, ...], low: Array, high: Array
) -> Any:
    """The exact minimum near that of SciPy's, whose search began at x0."""
    is_bounded = holds_expr([low, high]) or np.any(np.isfinite([low, high]))
    slope = stationary(objective) if is_bounded else grad(objective)
    given = (low, high, *args) if is_bounded else args

    def found(zero: Any) -> Any:
        if is_bounded:
            root = implicit.solved_by(
                "least_squares", "root", lambda x, zero, *given: slope(x, *given) + zero * x
            )
            return root(nearby, zero, *given)
        least = lambda x, zero, *args: objective(x, *args) + zero * np.sum(x * x)  # noqa: E731
        search = implicit.solved_with_settings(
            "least_squares", "argmin", least, _newtons, takes_run=True
        )
        return search(nearby, stop_gradient(x0), zero, *args)

    at = slope(nearby, *given)
    if not (isinstance(at, Expr) and is_varied(at)):
        return found(0.0)
    return found(_zero(stop_gradient(jacobian(slope)(nearby, *given))))


def _zero_of_full_rank(curvature: Array) -> Any:
    """Zero, if the residuals determine all parameters."""
    scaled, count = curvature, len(curvature)
    for axis in (0, 1):  # the units of parameters do not matter
        sizes = np.linalg.norm(scaled, axis=axis, keepdims=True)
        scaled = scaled / np.where(sizes > 0, sizes, 1.0)
    rank = np.linalg.matrix_rank(scaled) if np.all(np.isfinite(scaled)) else count
    if rank < count:
        raise fail(
            np.linalg.LinAlgError,
            f"least squares: expected residuals that determine all {count} parameters, but they determine "
            f"{rank}, so the solution depends on the search and has no derivative; fit as many parameters "
            "as are determined, or add residuals that tell apart the others, such as 1e-3 * (p - p0)",
        )
    return np.zeros(())


_zero = primitive(
    _zero_of_full_rank, out=lambda _: ArrayType((), np.dtype(float)), name="full_rank"
)


def _newtons(run: Run, x0: Array) -> Any:
    """Newton steps, or where they are long, since SciPy's search ended early, a search for a minimum."""
    slope, residual = run.slope(run.start), run.residual(run.start)
    if not np.all(np.isfinite(slope)):
        return run.solved()
    step = np.linalg.lstsq(slope, residual)[0]
    way = np.max(np.abs([run.start, run.start - x0]))
    is_near = np.max(np.abs(step)) <= 0.1 * way
    return run.refined_minimum(run.start, True, "") if is_near else run.solved()


@with_places_of(_scipy.least_squares)
def least_squares(
    fun: _Function,
    x0: ArrayLike,
    jac: str | Callable[..., Any] | None = "2-point",
    bounds: Any = (-np.inf, np.inf),
    method: str = "trf",
    *,
    loss: str | Callable[..., Any] | None = "linear",
    args: tuple[object, ...] = (),
    **options: object,
) -> Any:
    """As `scipy.optimize.least_squares`; ``jac`` is funcgrad's own."""
    given = tuple_of(args)
    alone, args = with_numbers(fun, given)
    scale: Any = options.get("f_scale", 1.0)
    start = start_as_vector(x0)
    if not holds_expr([ends_of(bounds), scale]) and without_tracing(alone, start, args):
        return _scipy.least_squares(fun, x0, jac, bounds, method, loss=loss, args=given, **options)
    if not callable(loss) and str(loss) not in LOSSES:
        raise value_error(
            f"least_squares: expected a loss among {', '.join(LOSSES)}, or a function, but got {loss!r}",
        )

    def search(fun: _Function, x: Array, low: Array, high: Array, scale: Array) -> Any:
        slope = jac if isinstance(jac, str) else "2-point"
        own = {**options, "f_scale": float(scale), "bounds": (low, high), "jac": slope}
        return _scipy.least_squares(fun, x, method=method, loss=loss, **own).x

    return least_sum(search, alone, x0, args, bounds, loss, scale)


def least_sum(
    search: _Function,
    fun: _Function,
    x0: ArrayLike,
    args: tuple[Any, ...] = (),
    bounds: object = (-np.inf, np.inf),
    loss: str | Callable[..., Any] | None = "linear",
    scale: Any = 1.0,
) -> Any:
    """The least sum of losses near the place that a search of SciPy's finds."""
    called = on_arrays(fun)
    width = 1.0 if loss == "linear" else real("least_squares", scale)
    own_loss = on_arrays(loss) if callable(loss) else None

    def residuals(x: Array, *args: object) -> Any:
        return np.atleast_1d(real("least_squares", called(x, *args)))

    def of_squares(z: Array) -> Any:
        return LOSSES[str(loss)](z) if own_loss is None else own_loss(z)[0]

    def objective(x: Array, *args: object) -> Any:
        return width**2 * np.sum(of_squares(np.square(residuals(x, *args) / width))) / 2

    x0 = np.atleast_1d(real("least_squares", x0))
    low, high = [np.broadcast_to(real("bounds", end), x0.shape) for end in ends_of(bounds)]
    nearby = found_by("least_squares", residuals, x0, args, search, (low, high, scale))
    x = unrefined(lambda: nearby, refined_fit(objective, nearby, x0, args, low, high))
    found = converged_result(x, cost=objective(x, *args), fun=residuals(x, *args))
    if loss == "linear":
        found.defer("jac", lambda: jacobian(residuals)(x, *args))
        found.defer("grad", lambda: found.jac.T @ found.fun)
    return found


@with_places_of(_scipy.curve_fit)
def curve_fit(
    f: _Function,
    xdata: Any,
    ydata: ArrayLike,
    p0: ArrayLike | None = None,
    sigma: ArrayLike | None = None,
    absolute_sigma: bool = False,
    *,
    bounds: Any = (-np.inf, np.inf),
    **options: object,
) -> Any:
    """As `scipy.optimize.curve_fit`: the parameters, and their covariance, in the
    data, sigma and the bounds.
    """
    count = len(signature(f).parameters) - 1 if p0 is None else np.size(p0)
    if p0 is None:
        start = _between(*[np.broadcast_to(real("bounds", end), count) for end in ends_of(bounds)])
    else:
        start = np.atleast_1d(real("curve_fit", p0))

    if isinstance(xdata, (list, tuple, np.ndarray)) and not holds_expr([xdata]):
        xdata = np.asarray(xdata, float)

    called = on_arrays(f)

    def residuals(p: Array, xdata: object, ydata: Array, sigma: Any) -> Any:
        left = called(xdata, *[p[k] for k in range(count)]) - ydata
        if np.ndim(sigma) < 2 or np.size(sigma) == 1:
            return left / sigma
        return np.linalg.solve(np.linalg.cholesky(sigma), left)

    weight = 1.0 if sigma is None else sigma
    if not holds_expr([ends_of(bounds)]) and without_tracing(
        residuals, start, (xdata, ydata, weight)
    ):
        options["bounds"] = bounds
        return _scipy.curve_fit(f, xdata, ydata, p0, sigma, absolute_sigma, **options)
    data: Any = number("curve_fit", ydata)
    if options.get("nan_policy") == "omit":
        xdata, data, weight = _without_nan(xdata, data, weight)
    method = options.get("method")
    ends = [np.broadcast_to(real("bounds", end), start.shape) for end in ends_of(bounds)]
    if method is None:
        method = "trf" if holds_expr(ends) or np.any(np.isfinite(ends)) else "lm"

    def search(fun: _Function, x: Array, low: Array, high: Array, _: Array) -> Any:
        if method == "lm":
            return _scipy.leastsq(fun, x)[0]
        return _scipy.least_squares(fun, x, bounds=(low, high), method=method).x

    x = least_sum(search, residuals, start, (xdata, data, weight), ends).x
    left = residuals(x, xdata, data, weight)
    if absolute_sigma or left.size > count:
        slopes = jacobian(residuals)(x, xdata, data, weight)
        covariance = _covariance(slopes, None if absolute_sigma else left)
    else:
        covariance = np.full((count, count), np.inf)
    if not options.get("full_output"):
        return x, covariance
    return x, covariance, {"fvec": left}, "The solution converged.", 1


def _covariance(slopes: Array, left: Array | None) -> Any:
    """The covariance of the parameters, with the errors' variance if that is to be had of what is left."""
    found = np.linalg.inv(slopes.T @ slopes)
    if left is None:
        return found
    return found * np.sum(left * left) / (left.size - slopes.shape[1])


def _without_nan(xdata: Any, ydata: Array, sigma: Any) -> tuple[Any, Any, Any]:
    """The data beside NaN are left out, with their sigma, as SciPy leaves them out."""
    places, values = by_value([xdata, ydata], "curve_fit")
    missing = np.isnan(np.asarray(places, float))
    kept = np.flatnonzero(
        ~(np.any(missing, axis=tuple(range(missing.ndim - 1))) | np.isnan(values))
    )
    sizes = {1: (kept,), 2: (kept[:, None], kept)}
    chosen = sigma[sizes[np.ndim(sigma)]] if np.ndim(sigma) and np.size(sigma) > 1 else sigma
    return lift_fully(xdata)[..., kept], lift_fully(ydata)[kept], chosen

"""Minima of `scipy.optimize.minimize` under constraints, by the Karush-Kuhn-Tucker conditions.

All constraints, bounds among them, are one vector c(x) between the limits l and u; those of an equation are
equal. At a minimum there are multipliers m with grad f(x) = J^T m, where J is the Jacobian of c, and
max(min(m, c - l), c - u) = 0: an entry is at a limit, with a multiplier of the sign that presses it there,
or its multiplier is 0. SciPy finds the constraints that hold with equality, Newton's method solves the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.optimize as _scipy

from funcgrad.graph import ArrayType
from funcgrad.ops.shape import holds_expr
from funcgrad.scipy.composition import real, tuple_of, without_derivative, without_tracing
from funcgrad.scipy.optimize.nearby_solutions import body_of_search
from funcgrad.scipy.optimize.solver_arguments import limits
from funcgrad.source import type_error
from funcgrad.trace.leaves import on_arrays
from funcgrad.transforms.custom import implicit
from funcgrad.transforms.grad import grad
from funcgrad.transforms.jacobian import jacobian
from funcgrad.typing import Array, ArrayLike

_Function = Callable[..., Any]


class Constraint(NamedTuple):
    """A function of x, with the limits of its values."""

    fun: _Function
    low: Any
    high: Any
    parts: tuple[Any, ...] = ()
    """Values that the function uses, of which one may be traced."""

    def is_plain(self, x: Array) -> bool:
        return not holds_expr([self.low, self.high, *self.parts]) and without_tracing(
            self.fun, x, ()
        )


def constraints_of(given: Any) -> list[Constraint]:
    """The constraints of `minimize`: one of them, or a sequence."""
    single = isinstance(given, Mapping | _scipy.LinearConstraint | _scipy.NonlinearConstraint)
    listed: Iterable[Any] = [given] if single else given or ()
    return [_constraint(item) for item in listed]


def _constraint(given: Any) -> Constraint:
    if isinstance(given, _scipy.LinearConstraint):
        matrix = given.A
        dense = matrix if holds_expr(matrix) else np.atleast_2d(_as_dense(matrix))
        return Constraint(lambda x: dense @ x, given.lb, given.ub, (dense,))
    if isinstance(given, _scipy.NonlinearConstraint):
        return Constraint(on_arrays(given.fun), given.lb, given.ub)
    if not isinstance(given, Mapping) or given.get("type") not in ("eq", "ineq"):
        raise type_error(
            "minimize: expected constraints as dicts of type 'eq' or 'ineq', LinearConstraint or "
            f"NonlinearConstraint, but got {given!r}",
        )
    fun, args = on_arrays(given["fun"]), tuple_of(given.get("args", ()))
    high = 0.0 if given["type"] == "eq" else np.inf
    return Constraint(lambda x: fun(x, *args), 0.0, high, args)


def _as_dense(matrix: object) -> Any:
    return matrix.toarray() if hasattr(matrix, "toarray") else matrix


def constrained_minimum(
    objective: _Function,
    start: Array,
    args: tuple[Any, ...],
    constraints: Sequence[Constraint],
    bounds: Any,
) -> Any:
    """A minimum near SciPy's, in the bounds and under the constraints."""
    rows = list(constraints)
    if bounds is not None:
        rows.append(Constraint(lambda x: x, *limits(bounds, start.shape[0])))

    def values(x: Array) -> Any:
        return np.concatenate([_vector(row.fun(x)) for row in rows])

    def ends(x: Array) -> tuple[Any, Any]:
        counts = [_vector(row.fun(x)).shape[0] for row in rows]

        def joined(ends: Sequence[Any]) -> Any:
            pairs = zip(ends, counts, strict=True)
            return np.concatenate(
                [np.broadcast_to(real("minimize", end), (count,)) for end, count in pairs]
            )

        return joined([row.low for row in rows]), joined([row.high for row in rows])

    def conditions(both: tuple[Array, Array], *args: object) -> tuple[Any, Any]:
        x, multipliers = both
        low, high = ends(x)
        at = values(x)
        slope = grad(objective)(x, *args) - multipliers @ jacobian(values)(x)
        return slope, np.maximum(np.minimum(multipliers, at - low), at - high)

    nearby = _search(objective, start, args, values, ends)
    x, _ = implicit.solved_by("minimize", "root", conditions)(nearby, *args)
    return x


def _vector(value: ArrayLike) -> Any:
    return np.reshape(real("minimize", value), (-1,))


def _search(
    objective: _Function,
    start: Array,
    args: tuple[Any, ...],
    values: _Function,
    ends: Callable[[Array], tuple[Any, Any]],
) -> tuple[Any, Any]:
    """SciPy's minimum and multipliers of the constraints there; they have no derivative."""

    def everything(x: Array, *args: object) -> Any:
        """The objective, the constraints and their derivatives, as one vector."""
        parts = (objective(x, *args), grad(objective)(x, *args), values(x), jacobian(values)(x))
        return np.concatenate([np.reshape(part, (-1,)) for part in parts])

    body, operands = body_of_search(everything, start, args)
    given = (*ends(start), *operands)
    size = start.shape[0]

    def run(low: Array, high: Array, x0: Array, *theta: Array) -> Array:
        def at(x: Array) -> _At:
            with np.errstate(all="ignore"):
                (found,) = body.program.call([x, *theta])
            value, slope, rows, matrix = np.split(found, np.cumsum([1, size, low.size]).tolist())
            return _At(float(value[0]), slope, rows, matrix.reshape(low.size, size))

        return _by_scipy(at, low, high, np.asarray(x0, float))

    out = ArrayType((size + given[0].shape[0],), np.dtype(float))
    found = without_derivative("constrained_minimum", run, out, *given)
    return found[:size], found[size:]


class _At(NamedTuple):
    """The objective and the constraints at a point, with their derivatives."""

    value: float
    slope: Array
    rows: Array
    matrix: Array


def _by_scipy(at: Callable[[Array], _At], low: Array, high: Array, x0: Array) -> Array:
    """SciPy's minimum by sequential quadratic programming, followed by the multipliers there."""
    equal, above, below = (
        low == high,
        np.isfinite(low) & (low < high),
        np.isfinite(high) & (low < high),
    )

    def constraint(kind: str, chosen: Array, sign: float, end: Array) -> dict[str, Any]:
        return {
            "type": kind,
            "fun": lambda x: sign * (at(x).rows - end)[chosen],
            "jac": lambda x: sign * at(x).matrix[chosen],
        }

    limits = (("eq", equal, 1.0, low), ("ineq", above, 1.0, low), ("ineq", below, -1.0, high))
    found = _scipy.minimize(
        lambda x: at(x).value,
        x0,
        jac=lambda x: at(x).slope,
        method="SLSQP",
        constraints=[constraint(*limit) for limit in limits if np.any(limit[1])],
        options={"ftol": 1e-14, "maxiter": 1000},
    )
    point = at(found.x)
    near = _NEAR * (1 + np.abs(point.rows))
    active = (np.abs(point.rows - low) <= near) | (np.abs(point.rows - high) <= near)
    multipliers = np.zeros(low.size)
    multipliers[active] = np.linalg.lstsq(point.matrix[active].T, point.slope)[0]
    rest = point.slope - multipliers @ point.matrix
    outside = np.maximum(low - point.rows, point.rows - high)
    if not (
        np.all(np.abs(rest) <= _NEAR**0.5 * (1 + np.max(np.abs(point.slope))))
        and np.all(outside <= near)
    ):
        raise RuntimeError(
            "minimize: expected a minimum under the constraints, but SciPy stopped elsewhere: "
            f"{found.message}; start nearer to one, or write fg.implicit_root on the Lagrange conditions"
        )
    return np.concatenate([found.x, multipliers])


_NEAR = 1e-6
"""How near its limit, in parts of its size, a constraint holds with equality."""

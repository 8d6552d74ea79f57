"""Linear programs of `scipy.optimize`, whose vertices are differentiated."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.optimize as _scipy

from funcgrad.ops.base.op import lift_fully
from funcgrad.scipy.composition import composed, real, refuse
from funcgrad.scipy.optimize.solver_arguments import (
    converged_result,
    end_of_bounds,
)
from funcgrad.source import fail
from funcgrad.transforms.custom.primitive import primitive
from funcgrad.transforms.grad import stop_gradient


@composed(_scipy)
def linprog(
    c: npt.ArrayLike,
    A_ub: Any = None,
    b_ub: Any = None,
    A_eq: Any = None,
    b_eq: Any = None,
    bounds: Any = (0, None),
    **options: Any,
) -> Any:
    """As `scipy.optimize.linprog`: the optimal vertex, the solution of the
    constraints that are active.

    The derivative is that of the vertex that is found; in c it is 0. At a
    solution on which more or fewer constraints hold with equality than there
    are variables, `numpy.linalg.LinAlgError` is raised. Whole numbers
    (``integrality``) are refused.
    """
    cost = real("linprog", c)
    n = cost.shape[0]
    refuse("linprog", integrality=options.get("integrality"))
    pairs = [(0, None)] if bounds is None else list(bounds)
    if not isinstance(pairs[0], list | tuple) and np.ndim(pairs[0]) == 0:
        pairs = [tuple(pairs)]
    pairs = pairs * n if len(pairs) == 1 else pairs
    low = np.stack([end_of_bounds(-np.inf, pair[0]) for pair in pairs])
    high = np.stack([end_of_bounds(np.inf, pair[1]) for pair in pairs])
    above = (
        (np.zeros((0, n)), np.zeros(0))
        if A_ub is None
        else (real("linprog", A_ub), np.reshape(real("linprog", b_ub), -1))
    )
    equal = (
        (np.zeros((0, n)), np.zeros(0))
        if A_eq is None
        else (real("linprog", A_eq), np.reshape(real("linprog", b_eq), -1))
    )

    def active(*values: Any) -> Any:
        c, rows, ends, even, sums, low, high = values
        limits = np.stack([low, high], axis=1)
        found = _scipy.linprog(c, rows, ends, even, sums, limits, **options)
        if not found.success:
            raise fail(RuntimeError, f"linprog: expected a solution, but got {found.message}")
        margins = np.concatenate(
            [np.full(len(sums), -1.0), ends - rows @ found.x, found.x - low, high - found.x]
        )
        order = np.argsort(margins, kind="stable")
        near = 1e-7 * np.max(np.abs(found.x), initial=1.0)
        if margins[order[n - 1]] > near or np.any(margins[order[n:]] <= near):
            raise fail(
                np.linalg.LinAlgError,
                f"linprog: expected {n} constraints that hold with equality, one for each variable, but got "
                f"{np.sum(margins <= near)}; the solution has no derivative",
            )
        return np.sort(order[:n]).astype(float)

    given = [lift_fully(item) for item in (cost, *above, *equal, low, high)]
    chosen = primitive(active, out=lambda c, *rest: c, name="active_constraints")
    places = chosen(*[stop_gradient(item) for item in given]).astype(int)
    matrix = np.concatenate([equal[0], above[0], np.eye(n), np.eye(n)])
    right = np.concatenate([equal[1], above[1], low, high])
    x = np.linalg.solve(lift_fully(matrix)[places], lift_fully(right)[places])
    return converged_result(
        x, fun=cost @ x, slack=above[1] - above[0] @ x, con=equal[1] - equal[0] @ x
    )

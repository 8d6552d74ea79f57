"""Linear programs of `scipy.optimize`, whose vertices are differentiated."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numpy as np
import scipy.optimize as _scipy

from funcgrad.arrays.values import by_value
from funcgrad.ops.base.op import lift_fully
from funcgrad.ops.shape import holds_expr
from funcgrad.scipy.composition import composed, real, refuse, with_places_of, without_derivative
from funcgrad.scipy.optimize.constrained import constraints_of
from funcgrad.scipy.optimize.solver_arguments import converged_result, limits
from funcgrad.source import fail
from funcgrad.typing import Array, ArrayLike


def _pairs(bounds: Any, count: int) -> list[Any]:
    """The bounds of each variable, as of `linprog`."""
    pairs = [(0, None)] if bounds is None else list(bounds)
    if not isinstance(pairs[0], list | tuple) and np.ndim(pairs[0]) == 0:
        pairs = [tuple(pairs)]
    return pairs * count if len(pairs) == 1 else pairs


@composed(_scipy)
def linprog(
    c: ArrayLike,
    A_ub: Any = None,
    b_ub: Any = None,
    A_eq: Any = None,
    b_eq: Any = None,
    bounds: Any = (0, None),
    **options: Any,
) -> Any:
    """As `scipy.optimize.linprog`: the optimal vertex, the solution of the
    constraints that are active.

    The derivative is that of the vertex that is found; in c it is 0. The
    marginals of the constraints and bounds have derivatives, too. At a
    solution on which more or fewer constraints hold with equality than there
    are variables, `numpy.linalg.LinAlgError` is raised. Variables that are
    whole numbers (``integrality``) are constants.
    """
    cost = real("linprog", c)
    n = cost.shape[0]
    if options.get("integrality") is not None:
        return _with_whole_numbers(cost, A_ub, b_ub, A_eq, b_eq, bounds, options)
    pairs = _pairs(bounds, n)
    low, high = limits(pairs, n)
    above, equal = [
        (np.zeros((0, n)), np.zeros(0))
        if rows is None
        else (real("linprog", rows), np.reshape(real("linprog", ends), -1))
        for rows, ends in ((A_ub, b_ub), (A_eq, b_eq))
    ]

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

    given = (cost, *above, *equal, low, high)
    chosen = without_derivative("active_constraints", active, lambda c, *rest: c, *given)
    places = chosen.astype(int)
    matrix = np.concatenate([equal[0], above[0], np.eye(n), np.eye(n)])
    right = np.concatenate([equal[1], above[1], low, high])
    rows = lift_fully(matrix)[places]
    x = np.linalg.solve(rows, lift_fully(right)[places])
    result = converged_result(
        x, fun=cost @ x, slack=above[1] - above[0] @ x, con=equal[1] - equal[0] @ x
    )

    @cache
    def marginals() -> Any:
        """The derivatives of the least value in the limits of all constraints."""
        return lift_fully(np.zeros(len(right))).at[places].set(np.linalg.solve(rows.T, cost))

    start = 0
    for name, left in (
        ("eqlin", result.con),
        ("ineqlin", result.slack),
        ("lower", x - low),
        ("upper", high - x),
    ):
        end = start + left.size
        result.defer(name, partial(_sensitivities, left, marginals, start, end))
        start = end
    return result


def _sensitivities(left: Array, marginals: Callable[[], Any], start: int, end: int) -> Any:
    """What is left of the constraints of a kind, and their marginals."""
    return _scipy.OptimizeResult(residual=left, marginals=marginals()[start:end])


def _with_whole_numbers(
    cost: Array, A_ub: Any, b_ub: Any, A_eq: Any, b_eq: Any, bounds: Any, options: dict[str, Any]
) -> Any:
    """The variables that are whole numbers are SciPy's; the others solve the program that they leave."""
    n = cost.shape[0]
    given = by_value([cost, A_ub, b_ub, A_eq, b_eq, bounds], "linprog")
    found = _scipy.linprog(*given, **options)
    if not found.success:
        raise fail(RuntimeError, f"linprog: expected a solution, but got {found.message}")
    kinds = np.broadcast_to(options.get("integrality"), (n,))  # type: ignore[arg-type]
    chosen, free = np.flatnonzero(kinds), np.flatnonzero(kinds == 0)
    whole = np.zeros(n)
    whole[chosen] = found.x[chosen]
    x: Any = whole
    parts: list[Any] = []
    for matrix, ends in ((A_ub, b_ub), (A_eq, b_eq)):
        rows = None if matrix is None else real("linprog", matrix)
        parts += [None, None] if rows is None else [rows, real("linprog", ends) - rows @ whole]
    if free.size:
        if np.any(np.isin(kinds[free], (2, 3))) or np.any(np.isin(kinds[chosen], (2, 3))):
            refuse("linprog", integrality=kinds.tolist())
        box = _pairs(bounds, n)
        rest: Any = {key: item for key, item in options.items() if key != "integrality"}
        columns = [lift_fully(m)[:, free] if m is not None and m.ndim == 2 else m for m in parts]
        program: Any = [lift_fully(cost)[free], *columns, [box[k] for k in free]]
        solved = linprog(*program, **rest)
        x = lift_fully(whole).at[free].set(solved.x)
    left: dict[str, Any] = {}
    for name, matrix, ends in (("slack", A_ub, b_ub), ("con", A_eq, b_eq)):
        left[name] = (
            np.zeros(0) if matrix is None else real("linprog", ends) - real("linprog", matrix) @ x
        )
    return converged_result(x, fun=cost @ x, **left)


@with_places_of(_scipy.milp)
def milp(
    c: ArrayLike,
    *,
    integrality: ArrayLike | None = None,
    bounds: Any = None,
    constraints: Any = None,
    options: Any = None,
) -> Any:
    """As `scipy.optimize.milp`, as `linprog`: whole numbers, which are the
    solution's, do not change with c, and the slope of ``fun`` in c is x.
    """
    rows = constraints_of(_as_constraints(constraints))
    box = None if bounds is None else _as_bounds(bounds)
    ends_of_box = [] if box is None else [box.lb, box.ub]
    if not holds_expr([c, *ends_of_box, *[(row.low, row.high, *row.parts) for row in rows]]):
        given = {"bounds": bounds, "constraints": constraints, "options": options}
        return _scipy.milp(c, integrality=integrality, **given)
    cost = real("milp", c)
    n = cost.shape[0]
    matrices: dict[str, list[Any]] = {"above": [], "even": []}
    ends: dict[str, list[Any]] = {"above": [], "even": []}
    for row in rows:
        (matrix,) = row.parts
        low, high = [
            np.broadcast_to(real("milp", end), matrix.shape[:1]) for end in (row.low, row.high)
        ]
        bottom, top = by_value([low, high], "milp")
        for kind, places, sign, end in (
            ("even", np.flatnonzero(bottom == top), 1.0, high),
            ("above", np.flatnonzero((bottom != top) & np.isfinite(top)), 1.0, high),
            ("above", np.flatnonzero((bottom != top) & np.isfinite(bottom)), -1.0, low),
        ):
            if places.size:
                matrices[kind].append(sign * lift_fully(real("milp", matrix))[places])
                ends[kind].append(sign * lift_fully(end)[places])
    joined = [
        np.concatenate(part[kind]) if part[kind] else None
        for kind in ("above", "even")
        for part in (matrices, ends)
    ]
    pairs: Any = (np.zeros(n), np.full(n, np.inf)) if box is None else limits(box, n)
    kinds = np.zeros(n) if integrality is None else np.broadcast_to(integrality, (n,))
    program: Any = [cost, *joined, list(zip(*pairs, strict=True))]
    found = linprog(*program, integrality=kinds, options=options)
    return _scipy.OptimizeResult(
        {key: found[key] for key in ("x", "fun", "success", "status", "message")}
    )


def _as_bounds(bounds: Any) -> Any:
    return bounds if isinstance(bounds, _scipy.Bounds) else _scipy.Bounds(*bounds)


def _as_constraints(given: Any) -> list[Any]:
    """The linear constraints of `milp`: one of them, or a sequence, each as an object or a tuple."""
    if given is None:
        return []
    single = isinstance(given, _scipy.LinearConstraint) or (
        len(given) <= 3 and not isinstance(given[0], tuple | list | _scipy.LinearConstraint)
    )
    listed = [given] if single else list(given)
    return [
        item if isinstance(item, _scipy.LinearConstraint) else _scipy.LinearConstraint(*item)
        for item in listed
    ]

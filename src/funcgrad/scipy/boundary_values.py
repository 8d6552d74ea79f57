"""`scipy.integrate.solve_bvp`: the solution of equations of collocation, by the implicit function theorem."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.integrate as _scipy
from scipy.integrate._bvp import BVPResult

from funcgrad.expr import Expr, concrete, symbol
from funcgrad.graph import ArrayType
from funcgrad.ops.base.op import lift_fully
from funcgrad.ops.shape import holds_expr
from funcgrad.scipy.composition import real, refuse, with_places_of, without_derivative
from funcgrad.scipy.interpolate import CubicHermiteSpline
from funcgrad.source import fail, type_error
from funcgrad.trace.leaves import on_arrays
from funcgrad.trace.pytree import flatten
from funcgrad.trace.trace_body import trace_body
from funcgrad.transforms.custom.implicit import concatenated, implicit_root
from funcgrad.transforms.grad import stop_gradient
from funcgrad.transforms.jit.jit import jit
from funcgrad.transforms.jvp import jvp
from funcgrad.transforms.vmap import vmap
from funcgrad.typing import Array, ArrayLike

_Function = Callable[..., Any]


def _closed(f: _Function, shapes: Sequence[tuple[int, ...]]) -> tuple[_Function, list[Any]]:
    """f as a function of arrays of these shapes, and then of the values that it captures."""
    types = [ArrayType(shape, np.dtype(float)) for shape in shapes]
    stand_ins = [symbol(f"s{k}", type) for k, type in enumerate(types)]
    trees = [flatten(np.zeros(shape), f"s{k}") for k, shape in enumerate(shapes)]
    body, captured, _ = trace_body(f, trees, stand_ins)
    return lambda *args: body.inline([lift_fully(arg) for arg in args])[0], captured


def _at_all_points(f: _Function, count: int) -> _Function:
    """A function of one point, on all points of a mesh."""
    mapped = jit(vmap(f, (0, 0, *[None] * count)))
    return lambda x, y, *rest: mapped(x[:, None], y.T[:, :, None], *rest)[:, :, 0].T


@with_places_of(_scipy.solve_bvp)
def solve_bvp(
    fun: _Function,
    bc: _Function,
    x: ArrayLike,
    y: ArrayLike,
    p: ArrayLike | None = None,
    S: Any = None,
    **options: Any,
) -> Any:
    """As `scipy.integrate.solve_bvp`, in what the functions capture.

    The mesh is SciPy's, refined where it does not suit a perturbation of the
    solution, and constant; on it the equations of collocation are solved to
    all digits. Derivatives in the first guess are 0.

    >>> import funcgrad as fg
    >>> def middle(a):  # y'' = a, and y = 0 at 0 and 1
    ...     found = solve_bvp(
    ...         lambda x, y: np.stack([y[1], a + 0 * x]),
    ...         lambda ya, yb: np.stack([ya[0], yb[0]]),
    ...         np.linspace(0.0, 1.0, 5),
    ...         np.zeros((2, 5)),
    ...     )
    ...     return found.sol(0.5)[0]
    >>> round(fg.grad(middle)(1.0), 9)
    -0.125
    """
    who = "solve_bvp"
    if holds_expr(x):
        raise type_error(
            f"{who}: expected a plain mesh, but got a traced one; scale the equation to a fixed interval",
        )
    guess, mesh = real(who, y), np.asarray(x, float)
    known = () if p is None else (np.atleast_1d(real(who, p)),)
    size, parameters = guess.shape[0], sum([part.shape[0] for part in known])
    rows = [(parameters,)] if known else []
    one = _closed(on_arrays(fun), [(1,), (size, 1), *rows])
    ends = _closed(on_arrays(bc), [(size,), (size,), *rows])
    traced = any([isinstance(item, Expr) for item in (*one[1], *ends[1])])
    if not traced and not holds_expr([y, p]):
        return _scipy.solve_bvp(fun, bc, x, y, p, S, **options)
    refuse(who, S=None if S is None else True)
    given = [stop_gradient(lift_fully(item)) for item in (guess, *known, *one[1], *ends[1])]
    solved = _plain_solver(one, ends, mesh, len(known), options)
    nodes = concrete(concatenated(given), who, lambda whole: solved(whole, given)[0])
    shape = (size, len(nodes))
    whole = ArrayType((size * len(nodes) + parameters,), np.dtype(float))
    run = lambda *given: solved(np.concatenate([np.ravel(g) for g in given]), given)[1]  # noqa: E731
    start = without_derivative(who, run, whole, *given)

    def split(z: Array) -> tuple[Any, ...]:
        last = z.shape[0] - parameters
        return (z[:last].reshape(shape), *([z[last:]] if known else []))

    found = implicit_root(_collocation(on_arrays(fun), on_arrays(bc), nodes, split))(start)
    values, *rest = split(found)
    slopes = on_arrays(fun)(nodes, values, *rest)
    return BVPResult(
        sol=CubicHermiteSpline(nodes, values, slopes, axis=1),
        p=rest[0] if rest else None,
        x=nodes,
        y=values,
        yp=slopes,
        status=0,
        message="The solver has converged.",
        success=True,
    )


def _plain_solver(
    one: tuple[_Function, list[Any]],
    ends: tuple[_Function, list[Any]],
    mesh: Array,
    count: int,
    options: dict[str, Any],
) -> Callable[[Array, Sequence[Any]], tuple[Any, Any]]:
    """SciPy's mesh, and its values and parameters in one vector, by all given arrays in one vector."""
    (f, captured), bc = one, ends[0]
    on_mesh = _at_all_points(f, count + len(captured))
    at_ends = jit(lambda *args: bc(*args))

    def solve(whole: Array, like: Sequence[Any]) -> tuple[Any, Any]:
        parts, place = [], 0
        for item in like:
            length = int(np.prod(item.shape))
            parts.append(whole[place : place + length].reshape(item.shape))
            place += length
        guess, known, rest = parts[0], parts[1 : 1 + count], parts[1 + count :]
        first, second = rest[: len(captured)], rest[len(captured) :]

        def slope(x: Array, y: Array, *p: Array) -> Any:
            return on_mesh(x, y, *p, *first)

        def at_both(a: Array, b: Array, *p: Array) -> Any:
            return at_ends(a, b, *p, *second)

        found = _scipy.solve_bvp(
            lambda *given: np.asarray(slope(*given)),
            lambda *given: np.asarray(at_both(*given)),
            *(mesh, guess, *known),
            **options,
        )
        if not found.success:
            raise fail(RuntimeError, f"solve_bvp: expected a solution, but got {found.message}")
        finer = _with_perturbation(slope, at_both, found, options)
        found = finer if finer.success else found
        values = [found.y.ravel(), *([found.p] if count else [])]
        return found.x, np.concatenate(values)

    return solve


_LOOSER = 100.0
"""The tolerance of a perturbation over that of the solution, whose mesh suits it as a rule."""


def _with_perturbation(slope: _Function, at_ends: _Function, found: Any, options: Any) -> Any:
    """The solution on a mesh that suits a perturbation of it at the ends, too.

    At a solution that is 0 or straight, any mesh is exact, and derivatives need more.
    """
    size, has_parameters = len(found.y), found.p is not None

    def halves(*given: Array) -> tuple[list[Array], list[Array]]:
        pairs = [np.split(x, 2) for x in given]
        return [first for first, _ in pairs], [second for _, second in pairs]

    def both_slopes(x: Array, *given: Array) -> Any:
        at, by = halves(*given)
        return np.concatenate(jvp(lambda *at: slope(x, *at), tuple(at), tuple(by)))

    def at_both_ends(*given: Array) -> Any:
        at, by = halves(*given)
        value, moved = jvp(at_ends, tuple(at), tuple(by))
        return np.concatenate([value, moved - np.resize([1.0, -1.0, -1.0], moved.shape)])

    guess = np.concatenate([found.y, np.zeros_like(found.y)])
    known = [np.concatenate([found.p, np.zeros_like(found.p)])] if has_parameters else []
    tol = options.get("tol", 1e-3)
    both = _scipy.solve_bvp(
        *(both_slopes, at_both_ends, found.x, guess, *known),
        tol=max(tol, min(_LOOSER * tol, 1e-2)),
        max_nodes=options.get("max_nodes", 1000),
    )
    both.y = both.y[:size]
    both.p = both.p[: len(found.p)] if has_parameters else None
    return both


def _collocation(
    fun: _Function, bc: _Function, x: Array, split: Callable[[Array], tuple[Any, ...]]
) -> _Function:
    """What is left of the equations on a mesh (Kierzenka and Shampine 2001)."""
    h = np.diff(x)

    def residual(z: Array) -> Any:
        y, *p = split(z)
        f = fun(x, y, *p)
        middle = (y[:, 1:] + y[:, :-1]) / 2 - h / 8 * (f[:, 1:] - f[:, :-1])
        half = fun(x[:-1] + h / 2, middle, *p)
        left = y[:, 1:] - y[:, :-1] - h / 6 * (f[:, :-1] + f[:, 1:] + 4 * half)
        return np.concatenate([left.reshape(-1), np.reshape(bc(y[:, 0], y[:, -1], *p), (-1,))])

    return residual

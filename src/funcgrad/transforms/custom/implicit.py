"""Solutions of equations as functions, differentiated by the implicit function theorem.

If ``F(x, theta) = 0``, then ``dF/dx dx + dF/dtheta dtheta = 0``. The operation `implicit` holds the residual
as a closed program. A solver computes its value. Its linear map solves the second equation at the node
itself, so the map is an expression of the solution, has derivatives of every order, and keeps no step of
the solver.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from funcgrad.control.closed_program import Body, batched_body, body_of, jvp_of_body, vjp_of_body
from funcgrad.control.guarded_call import run_where_taken
from funcgrad.expr import Expr, scalar, subexpressions, symbol
from funcgrad.graph import ArrayType, TupleType
from funcgrad.linear import Joint, Parts
from funcgrad.ops.base.columns import Columns, Repeated
from funcgrad.ops.base.op import Op, fit, lift_fully
from funcgrad.ops.null_spaces import determined_slope
from funcgrad.ops.tuples import pick
from funcgrad.rewrite.substitute import substitute_all
from funcgrad.source import type_error, value_error
from funcgrad.trace.leaves import on_arrays
from funcgrad.trace.pytree import flatten
from funcgrad.trace.run_formula import evaluate
from funcgrad.trace.trace_body import symbols, trace_body
from funcgrad.transformed import with_recipe
from funcgrad.transforms.custom.solvers import Problem, SolverWithSettings, slope_in_x
from funcgrad.transforms.transform_arguments import titled
from funcgrad.typing import Array

Levels = tuple[tuple[int, tuple[bool, ...]], ...]
"""The batch axes of a node, outermost first: the size of each, and which operands have it."""


def implicit_root(
    residual: Callable[..., Any], solver: Callable[..., Any] | None = None
) -> Callable[..., Any]:
    """The function ``solve(x0, *theta)`` that finds x with
    ``residual(x, *theta) = 0``, near x0.

    It is differentiable in theta, and in the values that ``residual``
    captures, in both modes and to every order, by the implicit function
    theorem; the gradient in x0 is 0. x and each theta may be trees of real
    arrays; the residual has as many entries as x. Under `vmap` each example is
    solved separately.

    ``solver(fun, x0) -> x`` gets the residual as a function of an array (of a
    flat vector, if x is a tree of several arrays). The default is SciPy's
    `optimize.root` with the Jacobian, followed by Newton steps.

    Raises TypeError if the residual or the solver is not a function, or the
    residual has another number of entries than x; RuntimeError if the solver
    does not converge; ImportError without SciPy, if no solver is given. The
    derivative raises `numpy.linalg.LinAlgError` if dF/dx is singular up to
    rounding.

    >>> import funcgrad as fg
    >>> sqrt = implicit_root(lambda x, a: x * x - a)
    >>> sqrt(1.0, 4.0), fg.grad(sqrt, 1)(1.0, 4.0)
    (2.0, 0.25)
    """
    made = _solving("implicit_root", "root", residual, solver)
    return with_recipe(made, implicit_root, (residual, solver), {})


def implicit_argmin(
    objective: Callable[..., Any], solver: Callable[..., Any] | None = None
) -> Callable[..., Any]:
    """The function ``solve(x0, *theta)`` that finds a minimum of
    ``objective(x, *theta)`` in x, near x0.

    Differentiable as `implicit_root` is, through the equation that the
    gradient in x is 0. ``solver(fun, x0) -> x`` gets the objective; the
    default is SciPy's `optimize.minimize` with the gradient, followed by
    Newton steps.

    If the Hessian is singular, as of fewer data than parameters, results
    that are the same at all minima have derivatives in reverse mode.

    Raises the errors of `implicit_root`; TypeError also if the objective is
    not a real scalar.

    >>> import funcgrad as fg
    >>> nearest = implicit_argmin(lambda x, a: (x - a) ** 2 + x**2)
    >>> round(fg.grad(nearest, 1)(0.0, 3.0), 6)
    0.5
    """
    made = _solving("implicit_argmin", "argmin", objective, solver)
    return with_recipe(made, implicit_argmin, (objective, solver), {})


def root_on_path(residual: Callable[..., Any]) -> Callable[..., Any]:
    """As `implicit_root`, of a residual whose code may ask for the value of x: it is that of x0, a root.

    The result holds for the path of the code there, so that it is no program for other values.
    """
    return _solving("implicit_root", "root", residual, None, on_path=True)


def solved_by(who: str, kind: str, f: Callable[..., Any]) -> Callable[..., Any]:
    """As `implicit_root` of a "root", or `implicit_argmin` of an "argmin"; errors are those of ``who``."""
    return _solving(who, kind, f, None)


def solved_with_settings(
    who: str, kind: str, f: Callable[..., Any], solve: Callable[..., Any], takes_run: bool = False
) -> Callable[..., Any]:
    """The function of a start, settings of the solver, and theta that finds a "root", or an "argmin".

    Errors are those of ``who``.

    ``solve(fun, x0, settings)``, or ``solve(run, settings)`` with ``takes_run``, gets the settings, an array,
    in which the solution has no derivative.
    """
    own = SolverWithSettings(solve, takes_run)
    return _solving(who, kind, lambda x, settings, *theta: f(x, *theta), own)


def fixed_point(
    g: Callable[..., Any], solver: Callable[..., Any] | None = None
) -> Callable[..., Any]:
    """The function ``solve(x0, *theta)`` that finds x with ``x = g(x, *theta)``,
    by iteration from x0.

    Differentiable as `implicit_root` is. ``solver(fun, x0) -> x`` gets g; the
    default iterates g until x changes by no more than rounding.

    Raises the errors of `implicit_root`; RuntimeError also after 10000
    iterations without convergence.

    >>> import numpy as np
    >>> import funcgrad as fg
    >>> dottie = fixed_point(lambda x, a: np.cos(a * x))
    >>> dottie(0.5, 1.0), fg.grad(dottie, 1)(0.5, 1.0)
    (0.7390851..., -0.2974743...)
    """
    made = _solving("fixed_point", "fixed point", g, solver)
    return with_recipe(made, fixed_point, (g, solver), {})


def _solving(
    who: str,
    kind: str,
    f: Callable[..., Any],
    solver: Callable[..., Any] | SolverWithSettings | None,
    on_path: bool = False,
) -> Callable[..., Any]:
    for name, item in (("function", f), ("solver", solver)):
        own = name == "solver" and isinstance(item, SolverWithSettings | None)
        if not callable(item) and not own:
            raise type_error(
                f"{who}: expected a {name}, but got {type(item).__name__}; write {who}(f)(x0, *theta)",
            )

    def solve(x0: Any, *theta: object) -> Any:
        start = flatten(x0, "x")
        trees = [start, *[flatten(part, f"theta{i}") for i, part in enumerate(theta)]]
        firsts = [_real(who, item) for item in start.leaves]
        given = [lift_fully(item) for tree in trees[1:] for item in tree.leaves]
        unknowns = firsts if on_path else symbols([start], [x.type for x in firsts])
        inside = [*unknowns, *given]
        body, captured, _ = trace_body(on_arrays(f), trees, inside, numbers=kind != "argmin")
        _check(who, kind, body, len(firsts))
        problem = Problem(
            who, kind, body, residual_body(kind, body, len(firsts)), len(firsts), solver
        )
        operands = [*firsts, *given, *[lift_fully(item) for item in captured]]
        node = implicit_op(*operands, problem=problem, levels=())
        found = [pick(node, k) for k in range(len(firsts))]
        if not any(isinstance(item, Expr) for tree in trees for item in [*tree.leaves, *captured]):
            found = [evaluate(x) for x in found]
        return start.rebuild(found)

    return titled(solve, f, who, f"the {kind} of {{}}, from a start and parameters.")


def _real(who: str, item: Array) -> Expr:
    x = lift_fully(item)
    if x.dtype.kind in "iub":
        x = x.astype(float)
    if x.dtype.kind != "f":
        raise type_error(
            f"{who}: expected an x0 of real numbers, but got {x.type}; split it into real and imaginary "
            "parts",
        )
    return x


def _check(who: str, kind: str, body: Body, count: int) -> None:
    wanted, found = [x.type for x in body.inputs[:count]], list(body.types)
    if kind == "argmin":
        if len(found) != 1 or found[0].shape or found[0].dtype.kind != "f":
            raise type_error(
                f"{who}: expected an objective that returns a real scalar, but got "
                f"{', '.join(map(str, found))}; sum it",
            )
        return
    sizes = [sum(type.size for type in types) for types in (wanted, found)]
    shapes = [[type.shape for type in types] for types in (wanted, found)]
    if any(type.dtype.kind != "f" for type in found) or (
        sizes[0] != sizes[1] if kind == "root" else shapes[0] != shapes[1]
    ):
        what = "as many real numbers as x0 has" if kind == "root" else "a tree as x0"
        raise value_error(
            f"{who}: expected the function to return {what}, {', '.join(map(str, wanted))}, but got "
            f"{', '.join(map(str, found))}",
        )


@lru_cache(maxsize=256)
def residual_body(kind: str, body: Body, count: int) -> Body:
    """The residual of a problem: a body that is 0 at a solution."""
    xs = body.inputs[:count]
    if kind == "root":
        return body
    if kind == "fixed point":
        moved = [fit(g, x.type) - x for g, x in zip(body.outputs, xs, strict=True)]
        return Body(body.inputs, moved)
    seeds, back = vjp_of_body(body, [0], range(count))
    one = {seeds[0].key: scalar(1.0, seeds[0].dtype)}
    slopes = [back[i] if i in back else x * 0 for i, x in enumerate(xs)]
    return Body(body.inputs, substitute_all(slopes, one))


# -- the operation -------------------------------------------------------------------------------
def concatenated(parts: Sequence[Any]) -> Any:
    """The values, concatenated to one vector."""
    return np.concatenate([np.reshape(lift_fully(part), (-1,)) for part in parts])


def split_by_types(vector: Array, types: Sequence[ArrayType]) -> list[Expr]:
    """The inverse of `concatenated`: the parts of a vector, with the given types."""
    parts, place = [], 0
    for type in types:
        piece = np.reshape(vector[place : place + type.size], type.shape)
        parts.append(fit(piece, type))
        place += type.size
    return parts


def _tangent_body(problem: Problem, active: Sequence[int]) -> Body:
    """The body from x, theta and the tangents of active operands to the tangent of x: -(dF/dx)^-1 dF."""
    body, count = problem.residual, problem.count
    tangents, moved = jvp_of_body(body, active)
    flows = [
        np.zeros(out.shape, out.dtype) if flow is None else flow
        for flow, out in zip(moved, body.outputs, strict=True)
    ]
    slope = determined_slope(problem.who, problem.kind, slope_in_x(body, count))
    dx = -np.linalg.solve(slope, concatenated(flows))
    return body_of(
        [*body.inputs, *tangents], split_by_types(dx, [x.type for x in body.inputs[:count]])
    )


def _cotangent_body(problem: Problem, given: Sequence[int]) -> tuple[Body, list[int]]:
    """The body from x, theta and cotangents of x to those of operands, and the operands' positions."""
    body, count = problem.residual, problem.count
    xs = body.inputs[:count]
    cotangents = [symbol(f"g{k}", x.type) for k, x in enumerate(xs) if k in given]
    known = dict(zip(given, cotangents, strict=True))
    zeros = [lift_fully(np.zeros(x.shape, x.dtype)) for x in xs]
    seed = concatenated([known.get(k, zero) for k, zero in enumerate(zeros)])
    slope = determined_slope(problem.who, problem.kind, slope_in_x(body, count), seed)
    weight = -np.linalg.solve(slope.T, seed)
    seeds, back = vjp_of_body(body, range(len(body.outputs)), range(count, len(body.inputs)))
    parts = split_by_types(weight, [s.type for s in seeds])
    put = dict(zip([s.key for s in seeds], parts, strict=True))
    found = dict(zip(back, substitute_all(list(back.values()), put), strict=True))
    read = {x.key for x in subexpressions(*body.outputs)}
    for i, theta in enumerate(body.inputs[count:], start=count):
        # Read by a comparison or a sign alone: 0, unless the slope is singular, as at a minimum at a kink.
        if i not in back and theta.key in read and theta.dtype.kind == "f":
            is_checked = np.all(np.isfinite(slope))
            found[i] = fit(lift_fully(np.where(is_checked, 0.0, np.nan)), theta.type)
    return body_of([*body.inputs, *cotangents], list(found.values())), list(found)


def _on_batches(body: Body, levels: Levels, linear: Sequence[Sequence[bool]], count: int) -> Body:
    """The body on nested batches; ``linear`` says which tangents or cotangents have each axis."""
    for (size, flags), more in zip(reversed(levels), reversed(linear), strict=True):
        body = batched_body(body, size, [*[True] * count, *flags[count:], *more])
    return body


def _joint(z: Any, *operands: Expr, problem: Problem, levels: Levels) -> Joint:
    count = problem.count
    seen = [*[pick(z, k) for k in range(count)], *operands[count:]]

    def forward(flows: Mapping[int, Any]) -> Parts:
        active = sorted(i for i in flows if i >= count)
        if not active:
            return Parts({})
        linear = [[flags[i] for i in active] for _, flags in levels]
        body = _on_batches(_tangent_body(problem, active), levels, linear, count)
        return Parts(dict(enumerate(body.inline([*seen, *[flows[i] for i in active]]))))

    def backward(g: Parts) -> Mapping[int, Any]:
        given = sorted(g.of)
        single, places = _cotangent_body(problem, given)
        body = _on_batches(single, levels, [[True] * len(given) for _ in levels], count)
        values = body.inline([*seen, *[g.of[k] for k in given]])
        return {i: _summed_over_shared(value, i) for i, value in zip(places, values, strict=True)}

    def _summed_over_shared(value: Any, place: int) -> Any:
        """The cotangent of an operand, summed over the examples that share it."""
        shared = tuple([k for k, (_, flags) in enumerate(levels) if not flags[place]])
        return np.sum(value, axis=shared) if shared else value

    return Joint(forward, backward)


def _run(*operands: Array, problem: Problem, levels: Levels) -> tuple[Any, ...]:
    sizes = tuple([size for size, _ in levels])
    found = [np.empty(type.shape, type.dtype) for type in _types(problem, levels)]
    for index in np.ndindex(*sizes):
        values = [
            np.asarray(x)[
                tuple([i for i, (_, flags) in zip(index, levels, strict=True) if flags[k]])
            ]
            for k, x in enumerate(operands)
        ]
        for part, value in zip(found, problem.solve(values), strict=True):
            part[index] = value
    return tuple([part[()] for part in found])


def _types(problem: Problem, levels: Levels) -> tuple[ArrayType, ...]:
    sizes = tuple([size for size, _ in levels])
    types = [x.type for x in problem.body.inputs[: problem.count]]
    return tuple([ArrayType((*sizes, *type.shape), type.dtype) for type in types])


def _batch(
    size: int, flags: Sequence[bool], *operands: Array, problem: Problem, levels: Levels
) -> Any:
    return implicit_op(*operands, problem=problem, levels=((size, tuple(flags)), *levels))


def _bodies(z: Expr) -> list[list[Repeated]]:
    """The residual, once for each problem: the number of evaluations by a solver is unknown."""
    params = dict(z.params)
    return [[Repeated(params["problem"].residual, math.prod([n for n, _ in params["levels"]]))]]


implicit_op: Op = Op(
    name="implicit",
    run=_run,
    infer=lambda *types, problem, levels: TupleType(_types(problem, levels)),  # type: ignore[arg-type]
    joint=_joint,
    batch=_batch,
    notation=lambda *operands, problem, levels: f"{problem.function}({', '.join(operands)})",
    columns=Columns(bodies=_bodies, untaken=run_where_taken),
)

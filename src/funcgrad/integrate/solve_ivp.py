"""solve_ivp: the solution of a differential equation on an interval, with SciPy's signature and results."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from funcgrad.arrays.reference import plain_value
from funcgrad.expr import Expr
from funcgrad.graph import ArrayType
from funcgrad.integrate.adaptive import FAILED, RUNNING
from funcgrad.integrate.dense_output import OdeSolution
from funcgrad.integrate.events import TERMINATED, event_of
from funcgrad.integrate.initial_value import (
    InitialValueProblem,
    are_traced,
    initial_value_problem,
    values_of,
)
from funcgrad.integrate.mesh import Mesh, mesh_of
from funcgrad.integrate.steps import evaluations
from funcgrad.integrate.tableaus import Rosenbrock
from funcgrad.ops.base.op import fit, lift_fully
from funcgrad.ops.shape import holds_expr
from funcgrad.rewrite.evaluate import evaluate_roots
from funcgrad.source import type_error, value_error
from funcgrad.trace.leaves import on_arrays
from funcgrad.trace.pytree import flatten
from funcgrad.transforms.transform_arguments import check_function

MESSAGES = {
    RUNNING: "The solver successfully reached the end of the integration interval.",
    TERMINATED: "A termination event occurred.",
    FAILED: "Required step size is less than spacing between numbers.",
}
"""SciPy's messages by status."""


@dataclass(eq=False)
class OdeResult(Mapping[str, Any]):
    """A solution, with the fields of SciPy's `OdeResult`, also as items, which may be replaced."""

    t: Any
    """The times, of shape (k,)."""
    y: Any
    """The states: y0's structure, with a last axis of length k."""
    sol: OdeSolution | None
    t_events: list[Any] | None
    """For each event the times at which it occurred."""
    y_events: list[Any] | None
    """For each event the states there; the first axis is the occurrence."""
    nfev: Any
    """The number of evaluations of the right-hand side."""
    njev: Any
    """The number of evaluations of its Jacobian."""
    nlu: Any
    """The number of matrices that were factorized."""
    status: Any
    """0 at the end of the interval, 1 at a terminal event, -1 if the solver failed."""

    @property
    def success(self) -> Any:
        """Whether the end or a terminal event was reached."""
        return self.status >= 0

    @property
    def message(self) -> str:
        """The status in words. Under `jit`, a question about its value."""
        return MESSAGES[int(self.status)]

    def __getitem__(self, name: str) -> Any:
        if name not in _FIELDS:
            raise KeyError(name)
        return getattr(self, name)

    def __iter__(self) -> Iterator[str]:
        return iter(_FIELDS)

    def __len__(self) -> int:
        return len(_FIELDS)


_FIELDS = (*OdeResult.__dataclass_fields__, "success", "message")


def solve_ivp(
    fun: Callable[..., Any],
    t_span: Sequence[Any],
    y0: Any,
    method: str = "RK45",
    t_eval: Any = None,
    dense_output: bool = False,
    events: Callable[..., Any] | Sequence[Callable[..., Any]] | None = None,
    vectorized: bool = False,
    args: tuple[Any, ...] | None = None,
    *,
    rtol: float = 1e-3,
    atol: object = 1e-6,
    first_step: float | None = None,
    max_step: float = np.inf,
) -> OdeResult:
    """The solution of ``dy/dt = fun(t, y, *args)`` with ``y(t_span[0]) = y0`` up
    to ``t_span[1]``.

    Signature and result are those of `scipy.integrate.solve_ivp`. ``y0`` is an
    array, a list of numbers, or any tree, real or complex. The methods are
    those of `odeint`. With ``t_eval``, of shape (k,), the result has the
    states at these times, else those after each step; with ``dense_output`` it
    has ``sol``, a function of time.

    ``events`` are functions of the same arguments; the times at which one is
    zero are in ``t_events``. The attributes ``terminal`` (True, or the number
    of occurrences that ends the integration) and ``direction`` (the sign of
    the change) are SciPy's. ``vectorized`` has no effect.

    Derivatives are those of `odeint`; times of events are differentiated by
    the implicit function theorem. The number of steps is a question to the
    values, so under `jit` each number is traced once, and under `vmap`
    ``t_eval`` must be given, without events and ``dense_output``. Then states
    that could not be computed are nan; otherwise the solution ends before
    them.

    Raises the errors of `odeint`; ValueError also if ``t_span`` is not a pair,
    or ``t_eval`` not in it.

    >>> import funcgrad as fg
    >>> def hits_ground(t, y):
    ...     return y[0]
    >>> hits_ground.terminal, hits_ground.direction = True, -1
    >>> def moves(t, y):
    ...     return [y[1], -9.81]
    >>> def fall(height):
    ...     start, times = [height, 0.0], (0, 100)
    ...     found = solve_ivp(moves, times, start, events=hits_ground)
    ...     return found.t_events[0][0]
    >>> time, slope = fg.value_and_grad(fall)(10.0)  # sqrt(2*h/g)
    >>> round(time, 6), round(slope, 6)
    (1.427843, 0.071392)
    """
    check_function("solve_ivp", fun)
    slope = on_arrays(fun)
    more = _tuple_of("args", args)
    given = flatten((y0, t_span, t_eval, more, first_step)).leaves
    problem = initial_value_problem(
        "solve_ivp",
        lambda t, y: slope(t, y, *more),
        lift_fully(y0) if type(y0) in (list, tuple) else y0,
        _all_times(t_span, t_eval),
        method,
        rtol,
        atol,
        max_step,
        np.inf,
        given,
    )
    watched = [
        event_of(e, problem.layout, problem.start, problem.times[0], more)
        for e in ((events,) if callable(events) else _tuple_of("events", events))
    ]
    traced = are_traced(
        [
            *given,
            *problem.integration.field.captured,
            *[x for event in watched for x in event.captured],
        ]
    )
    begin = _first_step(problem, first_step)
    if t_eval is not None and events is None and not dense_output:
        return _at_times(problem, begin, traced)
    mesh = mesh_of(problem, begin, watched, traced)
    found = _on_mesh(problem, mesh, None if t_eval is None else problem.times[1:-1], begin, traced)
    if dense_output:
        found.sol = _solution(mesh.solution, traced)
    if events is None:
        found.t_events = found.y_events = None
    return found


def _on_mesh(
    problem: InitialValueProblem, mesh: Mesh, times: Any, first_step: object, traced: bool
) -> OdeResult:
    """The result at given times, or after each step, from the steps of a solution and its events."""
    t, states = (mesh.solution.ts, mesh.y) if times is None else mesh.at(times)
    counts = _counts(problem, mesh.attempts, first_step is None)
    occurred = [*mesh.event_times, *[x for leaves in mesh.event_states for x in leaves]]
    rest = iter(values_of([t, *states, *counts, *occurred], traced))
    t = next(rest)
    y = problem.layout.state([np.moveaxis(next(rest), 0, -1) for _ in states])
    counts = tuple([next(rest) for _ in counts])
    t_events = [next(rest) for _ in mesh.event_times]
    y_events = [problem.layout.state([next(rest) for _ in problem.start]) for _ in t_events]
    return OdeResult(t, y, None, t_events, y_events, *counts, mesh.status)


def _solution(found: OdeSolution, traced: bool) -> OdeSolution:
    """The solution as a function, of arrays if it is not traced."""
    tree = flatten(found)
    solution: OdeSolution = tree.rebuild(values_of(tree.leaves, traced))
    return solution


def _tuple_of(name: str, given: object) -> tuple[Any, ...]:
    """The items of a sequence; of None, none."""
    items: Any = () if given is None else given
    try:
        return tuple(items)
    except TypeError:
        got = type(given).__name__
    raise type_error(f"solve_ivp: expected {name} to be a tuple, but got {got}; write {name}=(x,)")


def _all_times(t_span: object, t_eval: object) -> Any:
    """The start, the times to report, and the end, as one array."""
    given = [t_span, () if t_eval is None else t_eval]
    span, inner = [lift_fully(list(x) if isinstance(x, list | tuple) else x) for x in given]
    if span.shape != (2,):
        raise value_error(f"solve_ivp: expected t_span to be a pair of times, but got {span.type}")
    if inner.ndim != 1:
        raise value_error(
            f"solve_ivp: expected t_eval to have one axis, but got shape {inner.shape}",
        )
    parts = [span[:1], inner, span[1:]]
    if holds_expr(given):
        return np.concatenate(parts)
    begin, inside, end = evaluate_roots(parts, {})
    outside = inside[(inside < min(begin, end)) | (inside > max(begin, end))]
    if outside.size:
        raise value_error(
            f"solve_ivp: expected t_eval within t_span, from {begin[0]} to {end[0]}, but got {outside[0]}",
        )
    return np.concatenate([begin, inside, end])


def _first_step(problem: InitialValueProblem, first_step: float | None) -> Any:
    if first_step is None:
        return None
    known = plain_value(first_step)
    if not isinstance(known, Expr) and not known > 0:
        raise value_error(f"solve_ivp: expected first_step to be positive, but got {first_step!r}")
    return fit(lift_fully(known), ArrayType((), problem.times.dtype))


def _at_times(problem: InitialValueProblem, first_step: object, traced: bool) -> OdeResult:
    """The result at given times, from one pass."""
    last, states = problem.states(first_step)
    status = np.where(last.status == RUNNING, RUNNING, FAILED)
    counts = _counts(problem, last.attempts, first_step is None)
    t, status, nfev, njev, nlu, *leaves = values_of(
        [problem.times[1:-1], status, *counts, *[x[1:-1] for x in states]], traced
    )
    y = problem.layout.state([np.moveaxis(x, 0, -1) for x in leaves])
    return OdeResult(t, y, None, None, None, nfev, njev, nlu, status)


def _counts(problem: InitialValueProblem, attempts: Any, chosen: bool) -> tuple[Any, Any, Any]:
    """The numbers of evaluations of the right-hand side and its Jacobian, and of factorizations."""
    method = problem.integration.method
    factorized = attempts * int(isinstance(method, Rosenbrock))
    return evaluations(method) * attempts + 1 + chosen, factorized, factorized

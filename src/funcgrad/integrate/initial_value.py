"""Initial value problems: what `odeint` and `solve_ivp` check and solve."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from funcgrad.arrays.reference import plain_value
from funcgrad.expr import Expr, present
from funcgrad.graph import ArrayType
from funcgrad.integrate.adaptive import OUT_OF_STEPS, RUNNING, Integration, Progress, number
from funcgrad.integrate.steps import Method
from funcgrad.integrate.tableaus import METHODS, Rosenbrock
from funcgrad.integrate.vector_field import StateLayout, state_layout, vector_field
from funcgrad.ops.base.op import fit, lift_fully
from funcgrad.rewrite.evaluate import evaluate_roots
from funcgrad.source import value_error
from funcgrad.trace.pytree import flatten
from funcgrad.transforms.control_flow.loops import scan
from funcgrad.transforms.grad import stop_gradient
from funcgrad.typing import Array


def are_traced(values: Sequence[object]) -> bool:
    """Whether an expression is among the values."""
    return any([isinstance(plain_value(x), Expr) for x in values])


def values_of(found: Sequence[Any], traced: bool) -> list[Any]:
    """Expressions as they are if they are traced, else their values."""
    return list(found) if traced else [present(x) for x in evaluate_roots(found, {})]


class InitialValueProblem(NamedTuple):
    """An integration with the state to start from and the times to report."""

    integration: Integration
    layout: StateLayout
    start: list[Any]
    times: Any

    def states(self, first_step: Any = None) -> tuple[Progress, list[Any]]:
        """The progress at the last time, and the leaves of the states at all times."""
        first = self.integration.begin(self.start, first_step)

        def to_next(s: Progress, target: Array) -> tuple[Progress, list[Any]]:
            s = s._replace(steps=number(0, np.dtype(np.int64)))
            s = self.integration.advance(s, target)
            late = (s.status == RUNNING) & ~self.integration.reached(s, target)
            s = s._replace(status=np.where(late, OUT_OF_STEPS, s.status))
            return s, self.integration.states_at(s, target)

        last, found = scan(to_next, first, self.times[1:])
        return last, [
            np.concatenate([x[None], xs]) for x, xs in zip(self.start, found, strict=True)
        ]


def initial_value_problem(
    who: str,
    fun: Callable[[Any, Any], Any],
    y0: object,
    t: object,
    method: str,
    rtol: object,
    atol: object,
    max_step: object,
    max_steps: object,
    given: Sequence[object],
    real: bool = False,
) -> InitialValueProblem:
    """The checked problem of ``fun(t, y)`` on the times t; if ``real``, in real and imaginary parts.

    ``given`` are the caller's arguments, of which it is read whether the solution may be differentiated.
    """
    chosen = _method(who, method)
    layout, start = state_layout(who, y0, real or isinstance(chosen, Rosenbrock))
    times = _times(who, t, start)
    field = vector_field(who, fun, layout, start, times[0])
    relative = _positive(who, "rtol", rtol)
    unit = max([float(np.finfo(x.dtype).eps) for x in start], default=0.0)
    integration = Integration(
        chosen,
        field,
        times[0],
        times[-1],
        np.maximum(relative, 100 * unit),
        _tolerances(who, atol, layout),
        fit(lift_fully(_largest_step(who, max_step)), ArrayType((), times.dtype)),
        _positive(who, "the number of steps", max_steps),
        are_traced([*given, *field.captured]),
    )
    return InitialValueProblem(integration, layout, start, times)


def _method(who: str, method: object) -> Method:
    if isinstance(method, str) and method in METHODS:
        return METHODS[method]
    hint = "; write 'Rodas5P' for stiff equations" if method in ("Radau", "BDF", "LSODA") else ""
    raise value_error(
        f"{who}: expected one of the methods {', '.join(METHODS)}, but got {method!r}{hint}",
    )


def _times(who: str, t: object, start: Sequence[Expr]) -> Any:
    times = plain_value(t)
    times = times if isinstance(times, Expr) else np.asarray(times)
    if times.ndim != 1 or not times.shape[0] or times.dtype.kind not in "iuf":
        raise value_error(
            f"{who}: expected a sequence of times, but got {times.dtype}{list(times.shape)}",
        )
    if not isinstance(times, Expr):
        steps = np.diff(times.astype(float))
        if not (np.all(np.isfinite(times)) and (np.all(steps >= 0) or np.all(steps <= 0))):
            raise value_error(
                f"{who}: expected finite times in increasing or decreasing order, but got {times}",
            )
    lifted = lift_fully(times)
    own = float if lifted.dtype.kind in "iu" else lifted.dtype
    dtype = np.result_type(own, *[np.empty(0, x.dtype).real.dtype for x in start])
    return fit(lifted, ArrayType(lifted.shape, dtype))


def _tolerances(who: str, atol: object, layout: StateLayout) -> list[Any]:
    tree = flatten(atol)
    if len(tree.leaves) == 1 != len(layout.types):
        tree.leaves[:] = tree.leaves * len(layout.types)
    if len(tree.leaves) != len(layout.types):
        raise value_error(
            f"{who}: expected atol to be a number or a tree like the state, of {len(layout.types)} parts, "
            f"but got {len(tree.leaves)}",
        )
    found: list[Any] = []
    for leaf, type in zip(tree.leaves, layout.types, strict=True):
        real = np.empty(0, type.dtype).real.dtype
        part = lift_fully(_positive(who, "atol", leaf))
        if np.broadcast_shapes(part.shape, type.shape) != type.shape:
            raise value_error(
                f"{who}: expected atol to fit the state's shape {type.shape}, but got {part.shape}",
            )
        found.extend([fit(part, ArrayType(part.shape, real))] * (2 if layout.is_split(type) else 1))
    return found


def _largest_step(who: str, value: object) -> Any:
    """A step of length 0 would be repeated without end."""
    known = _positive(who, "the largest step", value)
    if not isinstance(known, Expr) and not known > 0:
        raise value_error(f"{who}: expected the largest step to be positive, but got {value!r}")
    return known


def _positive(who: str, name: str, value: object) -> Any:
    known = plain_value(value)
    if isinstance(known, Expr):
        return stop_gradient(known)
    found = np.asarray(known)
    if found.dtype.kind not in "iuf" or not np.all(found >= 0):
        raise value_error(f"{who}: expected {name} to be at least 0, but got {value!r}")
    return found.astype(float)[()]

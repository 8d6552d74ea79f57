"""Events of `solve_ivp`: the times at which a function of time and state changes its sign.

The steps in which an event lies are found from the signs at their ends, as SciPy does; the time in the
step is found on the dense output by bisection, and differentiated by the implicit function theorem.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from funcgrad.control.closed_program import Body
from funcgrad.expr import Expr
from funcgrad.graph import ArrayType
from funcgrad.integrate.adaptive import RUNNING, Integration, Progress, number
from funcgrad.integrate.dense_output import OdeSolution
from funcgrad.integrate.steps import Leaves
from funcgrad.integrate.vector_field import StateLayout
from funcgrad.ops.base.op import fit, lift_fully
from funcgrad.source import type_error, value_error
from funcgrad.trace.leaves import on_arrays
from funcgrad.transforms.control_flow.loops import fori_loop, while_loop
from funcgrad.transforms.custom.implicit import implicit_root
from funcgrad.transforms.grad import stop_gradient
from funcgrad.transforms.vmap import vmap
from funcgrad.typing import Array

TERMINATED = 1
_BISECTIONS = 64


class Event(NamedTuple):
    """An event function, traced once, with SciPy's attributes."""

    body: Body
    captured: tuple[Any, ...]
    direction: float
    """Positive if the function must increase, negative if it must decrease, 0 for both."""
    most: float
    """The number of occurrences that ends the integration."""

    def __call__(self, t: Any, y: Leaves) -> Any:
        return self.body.inline([*y, t, *[lift_fully(x, y) for x in self.captured]])[0]

    def occurs(self, before: Array, after: Array) -> Any:
        """Whether the event lies between two times, of its values there."""
        up, down = (before <= 0) & (after >= 0), (before >= 0) & (after <= 0)
        return up if self.direction > 0 else down if self.direction < 0 else up | down


def event_of(
    function: Callable[..., Any],
    layout: StateLayout,
    start: Sequence[Expr],
    t: Expr,
    args: Sequence[Any],
) -> Event:
    """The event of ``function(t, y, *args)``.

    Raises TypeError if the function does not return a real scalar; ValueError for another ``terminal``
    than a bool or a positive int.
    """
    if not callable(function):
        raise type_error(f"solve_ivp: expected a function as an event, but got {function!r}")
    called = on_arrays(function)
    body, captured = layout.traced(lambda y, t: called(t, y, *args), start, t)
    if len(body.outputs) != 1 or body.types[0].size != 1 or body.types[0].dtype.kind not in "biuf":
        got = ", ".join(map(str, body.types)) or "nothing"
        raise type_error(f"solve_ivp: expected an event that returns a real number, but got {got}")
    value: Any = np.reshape(body.outputs[0], ())
    terminal = getattr(function, "terminal", None) or 0
    if int(terminal) != terminal or terminal < 0:
        raise value_error(
            f"solve_ivp: expected an event's terminal to be a bool or a positive int, but got {terminal!r}",
        )
    return Event(
        Body(body.inputs, [fit(value, ArrayType((), t.dtype))]),
        captured,
        float(getattr(function, "direction", 0)),
        int(terminal) or np.inf,
    )


class Watched(NamedTuple):
    """The progress of an integration that events may end."""

    progress: Progress
    values: list[Any]
    counts: list[Any]
    terminated: Any


def run_to_end(integration: Integration, first: Progress, events: Sequence[Event]) -> Watched:
    """The integration up to its end, or the end of the step in which an event ends it."""
    zero = number(0, np.dtype(np.int64))
    no = lift_fully(np.zeros((), bool))
    values = [event(first.t, first.y) for event in events]

    def running(now: Watched) -> Any:
        s = now.progress
        return (s.status == RUNNING) & ~integration.reached(s, integration.end) & ~now.terminated

    def advance(now: Watched) -> Watched:
        s = integration.attempt(now.progress)
        new = [event(s.t, s.y) for event in events]
        active = [
            ~s.rejected & event.occurs(a, b)
            for event, a, b in zip(events, now.values, new, strict=True)
        ]
        counts = [n + yes for n, yes in zip(now.counts, active, strict=True)]
        ends = no
        for event, n, yes in zip(events, counts, active, strict=True):
            ends = ends | (yes & (n >= event.most))
        return Watched(s, new, counts, ends)

    last: Watched = while_loop(running, advance, Watched(first, values, [zero for _ in events], no))
    return last


def event_times(event: Event, solution: OdeSolution, y: Leaves, count: int) -> tuple[Any, Any]:
    """The times of the first ``count`` occurrences, and their steps; y are the states between steps."""
    if not count:
        return solution.ts[:0], solution.ts[:0]
    ts = stop_gradient(solution.ts)
    values = vmap(lambda t, *y: event(t, list(y)))(ts, *stop_gradient(y))
    steps = np.argsort(~event.occurs(values[:-1], values[1:]), kind="stable")[:count]
    fractions = _bisected(event, stop_gradient(solution), steps, values[:-1][steps])
    at = ts[steps] + fractions * stop_gradient(solution.h)[steps]

    def residual(t: Array, k: object) -> Any:
        return event(t, solution.in_step(k, t))

    return vmap(implicit_root(residual, solver=_known))(at, steps), steps


def _known(residual: Callable[[Any], Any], t: Array) -> Any:
    """The solver of `implicit_root` for a root that is known."""
    return t


def _bisected(event: Event, solution: OdeSolution, steps: Any, before: Any) -> Any:
    """The fractions of steps at which the event's sign changes."""
    low, high = before * 0.0, before * 0.0 + 1.0

    def halved(_: object, interval: tuple[Any, Any]) -> tuple[Any, Any]:
        low, high = interval
        middle = low + (high - low) / 2
        at = solution.ts[steps] + middle * solution.h[steps]
        values = vmap(lambda t, k: event(t, solution.in_step(k, t)))(at, steps)
        same = np.sign(values) * np.sign(before) > 0
        return np.where(same, middle, low), np.where(same, high, middle)

    return fori_loop(0, _BISECTIONS, halved, (low, high))[1]

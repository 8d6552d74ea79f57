"""All accepted steps of an integration, as arrays over the steps, and the events in them.

The number of steps depends on the values. A first loop counts them, a scan of that length keeps them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from funcgrad.integrate.adaptive import FAILED, RUNNING, Integration, Progress
from funcgrad.integrate.dense_output import OdeSolution
from funcgrad.integrate.events import TERMINATED, Event, event_times, run_to_end
from funcgrad.integrate.initial_value import InitialValueProblem, values_of
from funcgrad.integrate.steps import Leaves
from funcgrad.ops.base.op import lift_fully
from funcgrad.trace.pytree import flatten
from funcgrad.transforms.control_flow.loops import scan
from funcgrad.transforms.vmap import vmap
from funcgrad.typing import Array


class AcceptedSteps(NamedTuple):
    """The accepted steps."""

    t: Any
    """The times, one more than steps."""
    y: Leaves
    """The states there."""
    h: Any
    y_old: Leaves
    dense: tuple[Leaves, ...]


class Mesh(NamedTuple):
    """The steps of a solution up to its end, its failure or a terminal event."""

    solution: OdeSolution
    y: Leaves
    """The states at the times of the solution."""
    status: int
    attempts: Any
    event_times: list[Any]
    event_states: list[Leaves]

    def at(self, times: Array) -> tuple[Any, Leaves]:
        """Those of the times that the solution reaches, and the states there."""
        ts = self.solution.ts
        forward = self.solution.direction
        late = np.sum(forward * times > forward * ts[-1])
        reached = times[: times.shape[0] - int(late)]
        return reached, _states(reached, self.solution.leaves, self.y)


def mesh_of(
    problem: InitialValueProblem, first_step: object, events: Sequence[Event], traced: bool
) -> Mesh:
    """The steps of a problem, which the first terminal event ends."""
    first = problem.integration.begin(problem.start, first_step)
    end = run_to_end(problem.integration, first, events)
    steps = _evaluated(_steps(problem.integration, first, int(end.progress.steps)), traced)
    found = OdeSolution(
        steps.t, steps.h, tuple(steps.y_old), tuple(map(tuple, steps.dense)), problem.layout
    )
    counts = [int(count) for count in end.counts]
    occurred = [
        event_times(event, found, steps.y, count)
        for event, count in zip(events, counts, strict=True)
    ]
    y, status = steps.y, RUNNING if int(end.progress.status) == RUNNING else FAILED
    if bool(end.terminated):
        status = TERMINATED
        ends = [
            times[int(event.most) - 1]
            for event, count, (times, _) in zip(events, counts, occurred, strict=True)
            if count >= event.most
        ]
        found, y = _ended(found, y, _first(ends, found.direction))
        occurred = [_up_to(found, times, at) for times, at in occurred]
    states = [
        _states(times, lambda t, k: found.in_step(k, t), steps.y, at) for times, at in occurred
    ]
    return Mesh(found, y, status, end.progress.attempts, [times for times, _ in occurred], states)


def _steps(integration: Integration, first: Progress, count: int) -> AcceptedSteps:
    def to_next(s: Progress, _: object) -> tuple[Progress, tuple[Any, ...]]:
        before = s.steps
        s = integration.advance(s, integration.end, lambda now: now.steps > before)
        return s, (s.t, s.y, s.h_old, s.y_old, s.dense)

    _, (t, y, h, y_old, dense) = scan(to_next, first, length=count)
    if not count:  # the tangent at the start
        one = flatten((first.h_old, first.y_old, first.dense))
        h, y_old, dense = one.rebuild([x[None] for x in one.leaves])
    return AcceptedSteps(
        np.concatenate([first.t[None], t]),
        [np.concatenate([x[None], xs]) for x, xs in zip(first.y, y, strict=True)],
        h,
        y_old,
        dense,
    )


def _evaluated(steps: AcceptedSteps, traced: bool) -> AcceptedSteps:
    """The steps with arrays as constants, if they are not traced, so that each loop runs once."""
    tree = flatten(steps)
    found: AcceptedSteps = tree.rebuild([lift_fully(x) for x in values_of(tree.leaves, traced)])
    return found


def _first(times: Sequence[Any], direction: object) -> Any:
    """The first of several times."""
    found = times[0]
    for t in times[1:]:
        found = np.where(direction * (t - found) < 0, t, found)
    return found


def _ended(solution: OdeSolution, y: Leaves, end: Array) -> tuple[OdeSolution, Leaves]:
    """A solution whose last step ends at another time, and its states."""
    last = solution.in_step(solution.h.shape[0] - 1, end)
    ts = np.concatenate([solution.ts[:-1], end[None]])
    states = [np.concatenate([x[:-1], new[None]]) for x, new in zip(y, last, strict=True)]
    return replace(solution, ts=ts), states


def _up_to(solution: OdeSolution, times: Array, steps: Array) -> tuple[Any, Any]:
    """The occurrences of an event without one after the end of the solution."""
    if not times.shape[0] or not bool(solution.direction * (times[-1] - solution.ts[-1]) > 0):
        return times, steps
    return times[:-1], steps[:-1]


def _states(times: Array, state: Callable[..., Leaves], like: Leaves, *more: Array) -> Leaves:
    """The states at some times."""
    if not times.shape[0]:
        return [x[:0] for x in like]
    return list(vmap(lambda *at: tuple(state(*at)))(times, *more))

"""The continuous adjoint: reverse mode that solves the adjoint equation backward and keeps no steps.

With the cotangent ``a`` of the state, ``da/dt = -a df/dy``, and the cotangents of the parameters and of
the initial time are integrals of ``-a df/dp`` and ``-a df/dt``. The state is solved backward beside them,
from the stored state at each output. (Chen et al., Neural ordinary differential equations, 2018;
`jax.experimental.ode.odeint`.)"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from funcgrad.control.closed_program import Body, vjp_of_body, zeros_of_type
from funcgrad.expr import Expr, symbol
from funcgrad.integrate.adaptive import Integration
from funcgrad.integrate.initial_value import InitialValueProblem
from funcgrad.integrate.steps import Leaves
from funcgrad.integrate.vector_field import VectorField
from funcgrad.ops.base.op import differentiable, lift_fully
from funcgrad.transforms.control_flow.loops import scan
from funcgrad.transforms.custom.custom_derivatives import custom_vjp
from funcgrad.typing import Array


def backsolved_states(problem: InitialValueProblem) -> Leaves:
    """The states of a problem at its times, with the continuous adjoint as their reverse mode."""
    captured = [lift_fully(x) for x in problem.integration.field.captured]
    active = [k for k, x in enumerate(captured) if differentiable(x.dtype)]

    def with_values(start: Leaves, times: Any, values: Sequence[Any]) -> InitialValueProblem:
        given = dict(zip(active, values, strict=True))
        every = tuple([given.get(k, x) for k, x in enumerate(captured)])
        field = problem.integration.field._replace(captured=every)
        own = problem.integration._replace(field=field, start=times[0], end=times[-1])
        return problem._replace(integration=own, start=list(start), times=times)

    def solution(start: Leaves, times: object, values: Sequence[Any]) -> Leaves:
        return with_values(start, times, values).states()[1]

    def forward(start: Leaves, times: object, values: Sequence[Any]) -> tuple[Leaves, Any]:
        states = solution(start, times, values)
        return states, (states, times, values)

    def backward(residuals: Sequence[Any], cotangents: Leaves) -> tuple[Any, ...]:
        states, times, values = residuals
        own = with_values([x[0] for x in states], times, values)
        found = _adjoint(own.integration, active, states, times, cotangents)
        return found.y, found.times, found.values

    rule = custom_vjp(solution)
    rule.defvjp(forward, backward)
    states: Leaves = rule(problem.start, problem.times, [captured[k] for k in active])
    return states


class Cotangents(NamedTuple):
    """The cotangents of a problem."""

    y: Leaves
    times: Any
    values: Leaves


def _adjoint(
    integration: Integration,
    active: Sequence[int],
    states: Leaves,
    times: Array,
    cotangents: Leaves,
) -> Cotangents:
    """The cotangents of a problem, from those of its states."""
    field = integration.field
    n = field.size
    augmented = _augmented(field, active)
    zeros = [lift_fully(np.zeros(x.shape, x.dtype)) for x in augmented.state_types[n:]]
    least = [np.min(x) for x in integration.atol]
    atol = [*integration.atol, *integration.atol, *[least[0]] * (1 + len(active))]

    def to_previous(carry: Leaves, x: Array) -> tuple[Leaves, Any]:
        y, g, t, before = x
        a = [sum_ + new for sum_, new in zip(carry[:n], g, strict=True)]
        slopes = field(t, y)
        pairs = [np.sum(new * slope) for new, slope in zip(g, slopes, strict=True)]
        of_time = sum(pairs[1:], pairs[0]).astype(times.dtype)
        start = [*y, *a, carry[n] - of_time, *carry[n + 1 :]]
        back = integration._replace(field=augmented, start=t, end=before, atol=atol)
        found = back.states_at(back.advance(back.begin(start), before), before)
        return found[n:], of_time

    xs = ([x[1:] for x in states], [g[1:] for g in cotangents], times[1:], times[:-1])
    last, of_times = scan(to_previous, zeros, xs, reverse=True)
    return Cotangents(
        [a + g[0] for a, g in zip(last[:n], cotangents, strict=True)],
        np.concatenate([last[n][None], of_times]),
        last[n + 1 :],
    )


def _augmented(field: VectorField, active: Sequence[int]) -> VectorField:
    """The field of the state, its cotangent, and the cotangents of the initial time and captured values."""
    body, n = field.body, field.size
    wanted = [*range(n + 1), *[n + 1 + k for k in active]]
    seeds, back = vjp_of_body(body, range(n), wanted)
    slopes: list[Any] = [
        -back[i] if i in back else zeros_of_type(body.inputs[i].type) for i in wanted
    ]
    integrals: list[Expr] = [symbol(f"q{k}", body.inputs[i].type) for k, i in enumerate(wanted[n:])]
    inputs = [*body.inputs[:n], *seeds, *integrals, *body.inputs[n:]]
    return VectorField(
        Body(inputs, [*body.outputs, *slopes]), 2 * n + len(integrals), field.captured
    )

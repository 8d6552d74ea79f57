"""One step of a method as a function of expressions: the new state, its error, the dense output."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from funcgrad.control.closed_program import jvp_of_body
from funcgrad.integrate.tableaus import Rosenbrock, RungeKutta
from funcgrad.integrate.vector_field import VectorField
from funcgrad.ops.base.op import lift_fully
from funcgrad.rewrite.substitute import substitute_all
from funcgrad.transforms.custom.implicit import concatenated, split_by_types
from funcgrad.transforms.custom.solvers import slope_in_x
from funcgrad.typing import Array

Method = RungeKutta | Rosenbrock
Leaves = list[Any]


class Attempt(NamedTuple):
    """A step that error control may reject."""

    y: Leaves
    f: Leaves
    """The slope at the end."""
    error: Leaves
    dense: tuple[Leaves, ...]
    """The coefficients of theta, theta**2, ... that are added to the old state."""
    end_differences: tuple[Leaves, Leaves] | None
    """The differences of two states at the end, and of the slopes there; None if the method is L-stable.

    Their ratio estimates the spectral radius of the Jacobian in a stiff equation (Hairer and Wanner, Solving
    Ordinary Differential Equations II, section IV.2).
    """


def dense_degree(method: Method) -> int:
    """The degree of the continuous extension."""
    return len(method.dense[0]) if isinstance(method, RungeKutta) else len(method.dense) + 1


def evaluations(method: Method) -> int:
    """How often a step evaluates the right-hand side, but for its derivatives and their spectral radius."""
    return len(method.stages)


def interpolated(y: Sequence[Array], dense: Sequence[Sequence[Array]], theta: object) -> Leaves:
    """The continuous extension at ``theta``, the fraction of the step: Horner's scheme."""
    found = []
    for leaf, *coefficients in zip(y, *dense, strict=True):
        part = astype_of(theta, leaf)
        total: Any = coefficients[-1]
        for coefficient in coefficients[-2::-1]:
            total = coefficient + part * total
        found.append(leaf + part * total)
    return found


def astype_of(scalar: Any, leaf: Any) -> Any:
    """A real number in the precision of a leaf."""
    dtype = np.empty(0, leaf.dtype).real.dtype
    return scalar if scalar.dtype == dtype else scalar.astype(dtype)


def step(
    method: Method, field: VectorField, t: Array, t_new: Array, y: Leaves, f: Leaves, h: Array
) -> Attempt:
    """A step from the state y with slope f at t to ``t_new = t + h``."""
    if isinstance(method, RungeKutta):
        return _explicit(method, field, t, t_new, y, f, h)
    return _rosenbrock(method, field, t, t_new, y, f, h)


def _combined(weights: Sequence[float], parts: Sequence[Any]) -> Any:
    """The sum of the parts with their weights, without those of weight 0."""
    terms = [
        part if w == 1.0 else w * part for w, part in zip(weights, parts, strict=True) if w != 0.0
    ]
    return sum(terms[1:], terms[0])


def _explicit(
    method: RungeKutta, field: VectorField, t: Any, t_new: Any, y: Leaves, f: Leaves, h: Any
) -> Attempt:
    sizes = [astype_of(h, leaf) for leaf in y]
    slopes = [f]

    def increments(weights: Sequence[float]) -> Leaves:
        columns = zip(sizes, *slopes, strict=True)
        return [size * _combined(weights, parts) for size, *parts in columns]

    def moved(weights: Sequence[float]) -> Leaves:
        return [leaf + by for leaf, by in zip(y, increments(weights), strict=True)]

    stage = y
    for node, row in zip(method.nodes[1:], method.stages[1:], strict=True):
        stage = moved(row)
        slopes.append(field(_time(t, t_new, node, h), stage))
    y_new = moved(method.weights)
    f_new = field(t_new, y_new)
    last = slopes[-1]
    slopes.append(f_new)
    error = increments(method.error)
    if method.nodes[-1] != 1.0:
        stage = [a + b for a, b in zip(y_new, error, strict=True)]
        last = field(t_new, stage)
    end_differences = _differences(y_new, stage), _differences(f_new, last)
    dense = tuple([increments(column) for column in zip(*method.dense, strict=True)])
    return Attempt(y_new, f_new, error, dense, end_differences)


def _differences(new: Leaves, old: Leaves) -> Leaves:
    return [a - b for a, b in zip(new, old, strict=True)]


def _time(t: Array, t_new: Array, node: float, h: Array) -> Any:
    return t_new if node == 1.0 else t + node * h


def _rosenbrock(
    method: Rosenbrock, field: VectorField, t: Array, t_new: Array, y: Leaves, f: Leaves, h: Array
) -> Attempt:
    types = field.state_types
    matrix, time_slope = _derivatives(field, t, y)
    n = sum([type.size for type in types])
    size = astype_of(h, matrix)
    system = np.eye(n, dtype=matrix.dtype) / (size * method.gamma) - matrix
    start = concatenated(y)
    us: list[Any] = []
    for i, (node, row, coupling, time) in enumerate(
        zip(method.nodes, method.stages, method.coupling, method.time, strict=True)
    ):
        at = y if i == 0 else split_by_types(start + _combined(row, us), types)
        right = concatenated(f if i == 0 else field(_time(t, t_new, node, h), at))
        if i:
            right = right + _combined(coupling, us) / size
        if time != 0.0 and time_slope is not None:
            right = right + (size * time) * time_slope
        us.append(np.linalg.solve(system, right))
    end = start + _combined([*method.stages[-1], 1.0], us)
    y_new = split_by_types(end, types)
    rows = [_combined(row, us) for row in method.dense]
    first = end - start + rows[0]
    rest = [b - a for a, b in pairwise(rows)]
    dense = tuple([split_by_types(row, types) for row in [first, *rest, -rows[-1]]])
    return Attempt(y_new, field(t_new, y_new), split_by_types(us[-1], types), dense, None)


def _derivatives(field: VectorField, t: Array, y: Leaves) -> tuple[Any, Any]:
    """The Jacobian of the right-hand side in the state, and its derivative in time, None if it is 0."""
    body = field.body
    tangents, moved = jvp_of_body(body, [field.size])
    flows = [
        np.zeros(out.shape, out.dtype) if flow is None else flow
        for flow, out in zip(moved, body.outputs, strict=True)
    ]
    one = {tangents[0].key: lift_fully(np.ones((), tangents[0].dtype))}
    autonomous = all([flow is None for flow in moved])
    in_time = substitute_all([concatenated(flows)], one)
    inside = [slope_in_x(body, field.size), *([] if autonomous else in_time)]
    # Both are expressions of the body's inputs: put the operands in their place.
    given = dict(zip([x.key for x in body.inputs], field.operands(t, y), strict=True))
    found = substitute_all(inside, given, inputs=True)
    return found[0], None if autonomous else found[1]

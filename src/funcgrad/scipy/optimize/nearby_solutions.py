"""Solutions that SciPy's own solvers find of the values of arguments, near which the exact ones are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad.control.closed_program import Body
from funcgrad.expr import Expr
from funcgrad.graph import ArrayType
from funcgrad.ops.base.op import lift_fully
from funcgrad.scipy.composition import without_derivative
from funcgrad.trace.leaves import on_arrays
from funcgrad.trace.pytree import flatten
from funcgrad.trace.trace_body import symbols, trace_body, types_of
from funcgrad.typing import Array


def found_by(
    name: str,
    f: Callable[..., Any],
    start: Array,
    args: Sequence[object],
    search: Callable[..., Any],
    settings: Sequence[Any] = (),
) -> Any:
    """The place that a search of plain values finds; it has no derivative.

    ``search`` gets the function of x alone, the place to start from, and the settings, such as bounds.
    """
    body, operands = body_of_search(f, start, args)

    def run(x0: Array, *others: Array) -> Any:
        theta, call = others[: len(others) - len(settings)], body.program.call

        def value(x: Array, *_: object) -> Any:
            return np.array(call([np.asarray(x, float).reshape(x0.shape), *theta])[0])[()]

        with np.errstate(all="ignore"):
            found = search(value, x0, *others[len(theta) :])
        return np.asarray(found, float).reshape(x0.shape)

    size = ArrayType(np.shape(start), np.dtype(float))
    return without_derivative(name, run, size, *operands, *settings)


def body_of_search(
    f: Callable[..., Any], start: object, args: Sequence[object]
) -> tuple[Body, list[Expr]]:
    """The objective of a search as a body, and its operands, those that it captures among them.

    It is traced on a place without a value, since it is called at many.
    """
    trees = [flatten(start, "x"), *[flatten(arg, f"args{k}") for k, arg in enumerate(args)]]
    leaves = [lift_fully(leaf) for tree in trees for leaf in tree.leaves]
    places = symbols(trees[:1], types_of(trees[0]))
    body, captured, _ = trace_body(on_arrays(f), trees, [*places, *leaves[len(places) :]])
    return body, [*leaves, *captured]

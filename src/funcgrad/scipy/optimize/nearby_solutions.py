"""Solutions that SciPy's own solvers find of the values of arguments, near which the exact ones are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad.ops.base.op import lift_fully
from funcgrad.trace.leaves import on_arrays
from funcgrad.trace.pytree import flatten
from funcgrad.trace.trace_body import trace_body
from funcgrad.transforms.custom.primitive import primitive
from funcgrad.transforms.grad import stop_gradient
from funcgrad.typing import Array


def found_by(
    solve: Callable[..., Any],
    function: Callable[..., Any],
    start: object,
    args: Sequence[object],
    settings: Sequence[object] = (),
) -> Any:
    """``solve(fun, x0, *settings)`` of plain values, with the shape of the start; it has no derivative."""
    trees = [flatten(start, "x"), *[flatten(arg, f"args{k}") for k, arg in enumerate(args)]]
    leaves = [lift_fully(leaf) for tree in trees for leaf in tree.leaves]
    body, captured, _ = trace_body(on_arrays(function), trees, leaves)
    count = len(settings)

    def run(x0: Array, *given: Array) -> Any:
        def fun(x: Array) -> Any:
            with np.errstate(all="ignore"):
                return np.array(body.program.call([x, *given[count:]])[0])

        return np.reshape(solve(fun, x0, *given[:count]), x0.shape)

    place, *theta = leaves
    search = primitive(run, out=lambda x0, *_: x0, name="nearby_solution")
    given = [place, *map(lift_fully, settings), *theta, *map(lift_fully, captured)]
    return search(*[stop_gradient(item) for item in given])

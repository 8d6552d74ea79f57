"""The functions that integrals are given, as programs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad.control.closed_program import Body
from funcgrad.expr import Expr
from funcgrad.graph import ArrayType
from funcgrad.ops.base.op import fit, lift_fully
from funcgrad.scipy.further_arguments import with_numbers
from funcgrad.source import type_error
from funcgrad.trace.leaves import on_arrays
from funcgrad.trace.pytree import flatten
from funcgrad.trace.trace_body import symbols, trace_body

_REAL = ArrayType((), np.dtype(np.float64))


def integrand_of(
    func: Callable[..., Any], args: tuple[Any, ...], who: str = "quad"
) -> tuple[Body, list[Expr]]:
    """The integrand as a body of the variable and parameters, and the parameters."""
    func, args = with_numbers(func, args)
    trees = [flatten(0.0, "x"), *[flatten(arg, f"args{k}") for k, arg in enumerate(args)]]
    given = [lift_fully(leaf) for tree in trees[1:] for leaf in tree.leaves]
    inside = [*symbols(trees[:1], [_REAL]), *given]
    body, captured, _ = trace_body(on_arrays(func), trees, inside)
    types = body.types
    several = who == "quad_vec"
    if len(types) != 1 or (types[0].shape and not several) or types[0].dtype.kind not in "fiub":
        raise type_error(
            f"{who}: expected a function that returns {'real numbers' if several else 'a real number'}, but "
            f"got {', '.join(map(str, types))}; integrate its parts one by one",
        )
    real_body = Body(body.inputs, [fit(body.outputs[0], ArrayType(types[0].shape, _REAL.dtype))])
    return real_body, [*given, *[lift_fully(item) for item in captured]]

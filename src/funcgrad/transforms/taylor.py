"""taylor: the Taylor coefficients of a function, by power series on fresh leaves."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from funcgrad.autodiff.power_series import coefficients, zeros_of
from funcgrad.expr import Expr, result
from funcgrad.ops.base.op import lift_fully
from funcgrad.ops.shape import ones_like
from funcgrad.rewrite.simplify import Simplifier
from funcgrad.source import value_error
from funcgrad.trace.derive import derive
from funcgrad.trace.leaves import run_on_leaves
from funcgrad.trace.pytree import flatten, flatten_numbers
from funcgrad.transforms.transform_arguments import (
    check_function,
    differentiable_arguments,
    matching_seeds,
    seed_leaves,
    split_aux,
)


def taylor(
    f: Callable[..., Any], x: object, order: int, direction: object = None
) -> tuple[Any, ...]:
    """The Taylor coefficients of t -> f(x + t*direction) at 0: a tuple of
    ``order + 1`` results of f.

    The k-th is the k-th derivative in t divided by k!. Without a direction, t
    is added to every entry of x; so a function that acts entry by entry has
    the coefficients of each. x, direction and f's result may be trees. The
    cost is polynomial in the order.

    Raises ValueError if the order is not a whole number of 0 or more;
    TypeError if f is not a function, x is an integer array, or the direction
    has another structure, shape or dtype than x.

    >>> taylor(np.exp, 0.0, 4)
    (1.0, 1.0, 0.5, 0.16666..., 0.04166...)
    >>> x, v = np.array([2.0, 3.0]), np.array([1.0, 10.0])
    >>> taylor(lambda x: x[0] * x[1], x, 2, v)
    (6.0, 23.0, 10.0)
    """
    check_function("taylor", f)
    if isinstance(order, bool) or not isinstance(order, int | np.integer) or order < 0:
        raise value_error(f"taylor: expected an order of 0 or more, but got {order!r}")
    output, leaves = run_on_leaves(f, (x,), {}, differentiable_arguments("taylor", f, (x,), (0,)))
    seeds = []
    if direction is not None:
        seeds = seed_leaves(
            matching_seeds("taylor", "direction", direction, flatten_numbers(x), leaves)
        )
    shape = flatten(split_aux(output, who="taylor")[0])
    roots = [lift_fully(item) for item in shape.leaves]
    values = derive(Expansion(int(order), direction is not None), roots, [*leaves, *seeds])
    rows = np.arange(len(values)).reshape(len(roots), order + 1).T.tolist()
    return tuple([shape.rebuild([result(values[i]) for i in row]) for row in rows])


@dataclass(frozen=True)
class Expansion:
    """The graph transform from roots to their Taylor coefficients, along seeds if ``directed``."""

    order: int
    directed: bool

    def __call__(self, roots: list[Expr], leaves: list[Expr], simplifier: Simplifier) -> list[Expr]:
        half = len(leaves) // 2 if self.directed else len(leaves)
        seeds = leaves[half:] if self.directed else [ones_like(x) for x in leaves]
        given = {x.key: (x, v) for x, v in zip(leaves[:half], seeds, strict=True)}
        found = coefficients(roots, given, self.order)
        return [
            zeros_of(root) if c is None else c
            for root, series in zip(roots, found, strict=True)
            for c in series
        ]

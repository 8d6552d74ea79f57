"""The laws of simplification, as a table: left side, right side, both written as the algebra they are.

Each row is a pair of functions of its pattern variables. ``c`` and ``d`` stand for constants, other
names for anything; an operation that commutes matches both ways round. Every law is exact over the
reals where its left side is defined, and proven on random values by the tests. The *stable* ones hold
where the left side overflows or divides 0 by 0, too. ``x - x = 0`` and ``0*x = 0`` hold for finite values
alone: they hide a NaN. *Products* bring constants together, and *formulas* reorder factors: between
them a product may overflow that did not before, so that formulas are for readers, not for runs.

Laws on axes and masks, which have no pattern of fixed shape, are functions in `structural_laws`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import numpy as np

from funcgrad.ops.elementwise import mask, sigmoid, softplus, xlogx


class Law(NamedTuple):
    """``left(...) == right(...)``, read from left to right."""

    left: Callable[..., Any]
    right: Callable[..., Any]
    holds: Literal["everywhere", "for reals", "for normal constants", "for readers"] = "everywhere"
    """``for normal constants``: the right side's is finite and no underflow. ``for readers``: what is run
    takes it only for a constant c from 1 to 1024, which keeps a product as far from overflow."""


ALGEBRA = (
    Law(lambda x: x + 0, lambda x: x),
    Law(lambda x: x - 0, lambda x: x),
    Law(lambda x: 0 - x, lambda x: -x),
    Law(lambda x: x - x, lambda x: 0),
    Law(lambda x: x + x, lambda x: 2 * x),
    Law(lambda x, c: c * x + x, lambda x, c: (c + 1) * x),
    Law(lambda x, c, d: c * x + d * x, lambda x, c, d: (c + d) * x),
    Law(lambda x, c, d: (x + c) + d, lambda x, c, d: x + (c + d)),
    Law(lambda x, y, c: (x + c) + y, lambda x, y, c: (x + y) + c),
    Law(lambda x, y: (x + y) + x, lambda x, y: 2 * x + y),
    Law(lambda x, y, c: (c * x + y) + x, lambda x, y, c: (c + 1) * x + y),
    Law(lambda x, y, c, d: (c * x + y) + d * x, lambda x, y, c, d: (c + d) * x + y),
    Law(lambda x, y: x + (-y), lambda x, y: x - y),
    Law(lambda x, y: x - (-y), lambda x, y: x + y),
    Law(lambda x: np.negative(-x), lambda x: x),
    Law(lambda x, y: -(x - y), lambda x, y: y - x),
    Law(lambda x, c: -(c * x), lambda x, c: (-c) * x),
    Law(lambda x: x * 1, lambda x: x),
    Law(lambda x: x * 0, lambda x: 0),
    Law(lambda x: x * -1, lambda x: -x),
    Law(lambda x, y: (-x) * y, lambda x, y: -(x * y)),
    Law(lambda x, c: c * (-x), lambda x, c: (-c) * x),
    Law(lambda x: x / 1, lambda x: x),
    Law(lambda x: 0 / x, lambda x: 0),
    Law(lambda x, y: (-x) / y, lambda x, y: -(x / y)),
    Law(lambda x, y: x / (-y), lambda x, y: -(x / y)),
    Law(lambda x, y: x * (1 / y), lambda x, y: x / y),
    Law(lambda x: x**0, lambda x: 1),
    Law(lambda x: x**1, lambda x: x),
    Law(lambda x: x**2, lambda x: np.square(x)),
    Law(lambda x: x**-1, lambda x: 1 / x),
    Law(lambda x: x * x, lambda x: np.square(x)),
    Law(lambda x: x * np.square(x), lambda x: x**3),
    Law(lambda x: np.square(x) * np.square(x), lambda x: x**4),
    Law(lambda x: np.square(-x), lambda x: np.square(x)),
    Law(lambda x: +x, lambda x: x),
)

PRODUCTS = (
    Law(lambda x, c, d: c * (d * x), lambda x, c, d: (c * d) * x, "for normal constants"),
    Law(lambda x, c, d: c / (d * x), lambda x, c, d: (c / d) / x, "for normal constants"),
    Law(lambda x, c, d: c * (d / x), lambda x, c, d: (c * d) / x, "for normal constants"),
    Law(lambda x, c, d: (c * x) / d, lambda x, c, d: (c / d) * x, "for normal constants"),
)

FORMULAS = (
    Law(lambda x, y, c: (c * x) * y, lambda x, y, c: c * (x * y), "for readers"),
    Law(lambda x, y, c: (c * x) / y, lambda x, y, c: c * (x / y), "for readers"),
    Law(lambda x, y, c: x * (c / y), lambda x, y, c: c * (x / y), "for readers"),
    Law(lambda x, y: (x / y) / y, lambda x, y: x / np.square(y), "for readers"),
    Law(lambda x, y: x * (x * y), lambda x, y: np.square(x) * y, "for readers"),
    Law(lambda x, y: x * (x / y), lambda x, y: np.square(x) / y, "for readers"),
)

# The logarithm and the root of a complex number have branches, which these laws would leave.
STABLE = (
    Law(lambda x: np.log(np.exp(x)), lambda x: x, "for reals"),
    Law(lambda x: np.log(1 + np.exp(x)), lambda x: softplus(x), "for reals"),
    Law(lambda x: np.log1p(np.exp(x)), lambda x: softplus(x), "for reals"),
    Law(lambda x: np.logaddexp(x, 0), lambda x: softplus(x), "for reals"),
    Law(lambda x, y: np.log(np.exp(x) + np.exp(y)), lambda x, y: np.logaddexp(x, y), "for reals"),
    Law(lambda x: 1 / (1 + np.exp(x)), lambda x: sigmoid(-x), "for reals"),
    Law(lambda x: np.exp(x) / (1 + np.exp(x)), lambda x: sigmoid(x), "for reals"),
    Law(lambda x: np.log(sigmoid(x)), lambda x: -softplus(-x), "for reals"),
    Law(lambda x: 1 - sigmoid(x), lambda x: sigmoid(-x), "for reals"),
    Law(lambda x: x * np.log(x), lambda x: xlogx(x), "for reals"),
    Law(lambda x: np.sqrt(np.square(x)), lambda x: np.abs(x), "for reals"),
    Law(
        lambda x, y: np.sqrt(np.square(x) + np.square(y)), lambda x, y: np.hypot(x, y), "for reals"
    ),
)

# What a condition does not select never reaches a gradient: the mask stays outermost, so that the
# factor it meets may be infinite where it is false.
MASKS = (
    Law(lambda p, x: mask(p, mask(p, x)), lambda p, x: mask(p, x)),
    Law(lambda p, x, y: mask(p, x) * y, lambda p, x, y: mask(p, x * y)),
    Law(lambda p, x, y: mask(p, x) / y, lambda p, x, y: mask(p, x / y)),
    Law(lambda p, x: -mask(p, x), lambda p, x: mask(p, -x)),
    Law(lambda p, x, y: mask(p, x) + mask(p, y), lambda p, x, y: mask(p, x + y)),
)

LAWS: tuple[Law, ...] = (*MASKS, *STABLE, *ALGEBRA, *PRODUCTS, *FORMULAS)
COMMUTING = ("add", "multiply", "logaddexp", "maximum", "minimum", "hypot")

"""The laws of simplification, as a table: left side, right side, both written as the algebra they are.

Each row is a pair of functions of its pattern variables. ``c`` and ``d`` stand for constants, other
names for anything; an operation that commutes matches both ways round. Every law is true of real numbers
where its left side is defined; `Law.holds` says for which floating-point values it is. A value that a user
wrote keeps every bit: it takes the laws that are exact, and stable forms. What is derived from it may take
all laws, where it is real. The tests try each law on signed zeros, infinities, NaN and complex values.

Laws on axes and masks, which have no pattern of fixed shape, are functions in `structural_laws`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from funcgrad.ops.elementwise.exponential import sigmoid, softplus, xlogx
from funcgrad.ops.elementwise.selection import mask

Holds: TypeAlias = Literal[
    "everywhere",
    "for reals",
    "as a stable form",
    "for finite reals",
    "for normal constants",
    "for readers",
]
"""For which values the two sides of a law are equal.

- ``everywhere``: to the bit, with signed zeros, infinities, NaN (of any payload) and complex values.
- ``for reals``: likewise, but for complex values, where products with 1 + 0j may turn a zero's sign.
- ``as a stable form``: of reals, but for rounding; the right side is right where the left one overflows,
  underflows, cancels or divides 0 by 0.
- ``for finite reals``: but for rounding, the sign of a zero, and what is infinite or NaN.
- ``for normal constants``: likewise, if the right side's constant is finite and no underflow.
- ``for readers``: likewise, but a product may overflow that did not before. What runs takes the law only
  for a constant c from 1 to 1024, which keeps a product as far from overflow.
"""

EXACT: tuple[Holds, ...] = ("everywhere", "for reals", "as a stable form")
"""The laws that a value which a user wrote is simplified by."""

Mode: TypeAlias = Literal["value", "part", "derivative", "formula"]
"""What is simplified: a value that a user wrote, a part of one that does not show all uses of what it
computes, what is derived from a value, or a formula for a reader."""


class Law(NamedTuple):
    """``left(...) == right(...)``, read from left to right."""

    left: Callable[..., Any]
    right: Callable[..., Any]
    holds: Holds = "for finite reals"
    sole: bool = False
    """Whether the left side's operand must have no other use. A compensated formula, such as
    ``log(u)*x/(u - 1)`` for u = 1 + x, needs the logarithm of the sum as it is rounded."""


ALGEBRA = (
    Law(lambda x: x + 0, lambda x: x),
    Law(lambda x: x + -0.0, lambda x: x, "for reals"),
    Law(lambda x: x - 0, lambda x: x, "everywhere"),
    Law(lambda x: 0 - x, lambda x: -x),
    Law(lambda x: x - x, lambda x: 0),
    Law(lambda x: x + x, lambda x: 2 * x, "for reals"),
    Law(lambda x, c: c * x + x, lambda x, c: (c + 1) * x),
    Law(lambda x, c, d: c * x + d * x, lambda x, c, d: (c + d) * x),
    Law(lambda x, c, d: (x + c) + d, lambda x, c, d: x + (c + d)),
    Law(lambda x, y, c: (x + c) + y, lambda x, y, c: (x + y) + c),
    Law(lambda x, y: (x + y) + x, lambda x, y: 2 * x + y),
    Law(lambda x, y, c: (c * x + y) + x, lambda x, y, c: (c + 1) * x + y),
    Law(lambda x, y, c, d: (c * x + y) + d * x, lambda x, y, c, d: (c + d) * x + y),
    Law(lambda x, y: x + (-y), lambda x, y: x - y, "everywhere"),
    Law(lambda x, y: x - (-y), lambda x, y: x + y, "everywhere"),
    Law(lambda x: np.negative(-x), lambda x: x, "everywhere"),
    Law(lambda x, y: -(x - y), lambda x, y: y - x),
    Law(lambda x, c: -(c * x), lambda x, c: (-c) * x, "for reals"),
    Law(lambda x: x * 1, lambda x: x, "for reals"),
    Law(lambda x: x * 0, lambda x: 0),
    Law(lambda x: x * -1, lambda x: -x, "for reals"),
    Law(lambda x, y: (-x) * y, lambda x, y: -(x * y), "for reals"),
    Law(lambda x, c: c * (-x), lambda x, c: (-c) * x, "everywhere"),
    Law(lambda x: x / 1, lambda x: x, "for reals"),
    Law(lambda x: 0 / x, lambda x: 0),
    Law(lambda x, y: (-x) / y, lambda x, y: -(x / y), "for reals"),
    Law(lambda x, y: x / (-y), lambda x, y: -(x / y), "for reals"),
    Law(lambda x, y: x * (1 / y), lambda x, y: x / y),
    Law(lambda x: x**0, lambda x: 1, "everywhere"),
    Law(lambda x: x**1, lambda x: x, "for reals"),
    Law(lambda x: x**2, lambda x: np.square(x), "everywhere"),
    Law(lambda x: x**-1, lambda x: 1 / x, "for reals"),
    Law(lambda x: x**-1, lambda x: np.reciprocal(x), "everywhere"),
    Law(lambda x: x * x, lambda x: np.square(x), "everywhere"),
    Law(lambda x: x * np.square(x), lambda x: x**3),
    Law(lambda x: np.square(x) * np.square(x), lambda x: x**4),
    Law(lambda x: np.square(-x), lambda x: np.square(x), "everywhere"),
    Law(lambda x: +x, lambda x: x, "everywhere"),
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

_STABLE: Holds = "as a stable form"
# The logarithm and the root of a complex number have branches, which these laws would leave.
STABLE = (
    Law(lambda x: np.log(np.exp(x)), lambda x: x, _STABLE, sole=True),
    Law(lambda x: np.log(1 + np.exp(x)), lambda x: softplus(x), _STABLE, sole=True),
    Law(lambda x: np.log(1 + x), lambda x: np.log1p(x), _STABLE, sole=True),
    Law(lambda x: np.log1p(np.exp(x)), lambda x: softplus(x), _STABLE),
    Law(lambda x: np.logaddexp(x, 0), lambda x: softplus(x), _STABLE),
    Law(lambda x, y: np.log(np.exp(x) + np.exp(y)), lambda x, y: np.logaddexp(x, y), _STABLE),
    Law(lambda x: 1 / (1 + np.exp(x)), lambda x: sigmoid(-x), _STABLE),
    Law(lambda x: np.exp(x) / (1 + np.exp(x)), lambda x: sigmoid(x), _STABLE),
    Law(lambda x: np.log(sigmoid(x)), lambda x: -softplus(-x), _STABLE),
    Law(lambda x: 1 - sigmoid(x), lambda x: sigmoid(-x), _STABLE),
    Law(lambda x: x * np.log(x), lambda x: xlogx(x), _STABLE),
    Law(lambda x: np.sqrt(np.square(x)), lambda x: np.abs(x), _STABLE),
    Law(lambda x, y: np.sqrt(np.square(x) + np.square(y)), lambda x, y: np.hypot(x, y), _STABLE),
)

# What a condition does not select never reaches a gradient: the mask stays outermost, so that the
# factor it meets may be infinite where it is false.
MASKS = (
    Law(lambda p, x: mask(p, mask(p, x)), lambda p, x: mask(p, x), "everywhere"),
    Law(lambda p, x, y: mask(p, x) * y, lambda p, x, y: mask(p, x * y)),
    Law(lambda p, x, y: mask(p, x) / y, lambda p, x, y: mask(p, x / y)),
    Law(lambda p, x: -mask(p, x), lambda p, x: mask(p, -x)),
    Law(lambda p, x, y: mask(p, x) + mask(p, y), lambda p, x, y: mask(p, x + y), "everywhere"),
)

LAWS: tuple[Law, ...] = (*MASKS, *STABLE, *ALGEBRA, *PRODUCTS, *FORMULAS)
COMMUTING = ("add", "multiply", "logaddexp", "maximum", "minimum", "hypot")

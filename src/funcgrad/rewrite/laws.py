"""The laws of simplification, as a table: left side and right side, both written as formulas.

Each row is a pair of functions of its pattern variables. ``c`` and ``d`` stand for constants, other
names for any expression; an operation that commutes matches in both orders. Every law is true of real numbers
where its left side is defined; `Law.holds` says for which floating-point values it is true. A program that a
user wrote keeps every bit of its value: it is simplified by exact laws and stable forms. Real derivatives are
simplified by all laws. The tests try each law on signed zeros, infinities, NaN and complex values.

Laws on axes and masks, which have no pattern of fixed shape, are functions in `structural_laws`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from funcgrad.ops.elementwise.exponential import sigmoid, softplus, xlogx
from funcgrad.ops.elementwise.selection import mask
from funcgrad.ops.elementwise.trigonometric import sech_squared

Holds: TypeAlias = Literal[
    "everywhere",
    "for reals",
    "for reals and arrays",
    "as a stable form",
    "as a stable derivative",
    "for finite reals",
    "beside a kink",
    "for finite numbers",
    "for normal constants",
    "for readers",
    "where finite",
]
"""For which values the two sides of a law are equal.

- ``everywhere``: equal to the bit, with signed zeros, infinities, NaN (of any payload) and complex values.
- ``for reals``: equal to the bit for real values. (A complex product with 1 + 0j may change a zero's sign.)
- ``for reals and arrays``: equal to the bit for real values and for complex arrays. NumPy computes the power
  of a complex scalar by another formula than that of an array, which gives other signs of zeros.
- ``as a stable form``: equal up to rounding for real values; the right side is also accurate where the left
  side overflows, underflows, cancels or divides 0 by 0.
- ``as a stable derivative``: as ``as a stable form``, but the right side alone is small where the left side
  is a subnormal number. Derivatives that run use such a law.
- ``for finite reals``: equal up to rounding and the sign of a zero, for finite real values.
- ``beside a kink``: as ``for finite reals``, but at the kink of a factor the right side alone is the limit.
- ``for finite numbers``: as ``for finite reals``, and for finite complex values, where a zero may have
  another sign. Derivatives use such a law, which no branch cut sees.
- ``for normal constants``: as ``for finite reals``, if the constant on the right side is finite and normal.
- ``for readers``: as ``for finite reals``, but the right side may overflow where the left side does not.
  Formulas for display use such a law. A program that runs uses it only if it has a constant c, from 1 to
  1024, which keeps a product as far from overflow.
- ``where finite``: equal up to rounding wherever the operands and both sides are finite. For the readings of
  formulas alone: see `funcgrad.rewrite.reading_laws`.
"""

EXACT: tuple[Holds, ...] = ("everywhere", "for reals", "for reals and arrays", "as a stable form")
"""The laws that simplify a program that a user wrote."""

Mode: TypeAlias = Literal["value", "part", "derivative", "formula", "reading"]
"""The program to simplify: a value that a user wrote; a part of one, of which other parts may use
intermediate results; a derivative; a formula for display, which runs, too; or what is printed of one."""


class Law(NamedTuple):
    """``left(...) == right(...)``, read from left to right."""

    left: Callable[..., Any]
    right: Callable[..., Any]
    holds: Holds = "for finite reals"
    single_use: bool = False
    """Whether the left side's operand must have no other use. A compensated formula, such as
    ``log(u)*x/(u - 1)`` for u = 1 + x, needs the logarithm of the sum as it is rounded."""


_NUMBERS: Holds = "for finite numbers"
ALGEBRA = (
    Law(lambda x: x + 0, lambda x: x, _NUMBERS),
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
    Law(lambda x: x**2, lambda x: np.square(x), "for reals and arrays"),
    Law(lambda x: x**-1, lambda x: 1 / x, "for reals"),
    Law(lambda x: x**-1, lambda x: np.reciprocal(x), "for reals and arrays"),
    Law(lambda x: x * x, lambda x: np.square(x), "everywhere"),
    Law(lambda x: x * np.square(x), lambda x: x**3, "for readers"),
    Law(lambda x: np.square(x) * np.square(x), lambda x: x**4, "for readers"),
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
    Law(lambda x: np.log(np.exp(x)), lambda x: x, _STABLE, single_use=True),
    Law(lambda x: np.log(1 + np.exp(x)), lambda x: softplus(x), _STABLE, single_use=True),
    Law(lambda x: np.log(1 + x), lambda x: np.log1p(x), _STABLE, single_use=True),
    Law(lambda x: np.log1p(np.exp(x)), lambda x: softplus(x), _STABLE),
    Law(lambda x: np.logaddexp(x, 0), lambda x: softplus(x), _STABLE),
    Law(lambda x, y: np.log(np.exp(x) + np.exp(y)), lambda x, y: np.logaddexp(x, y), _STABLE),
    Law(lambda x: 1 / (1 + np.exp(x)), lambda x: sigmoid(-x), _STABLE),
    Law(lambda x: np.exp(x) / (1 + np.exp(x)), lambda x: sigmoid(x), _STABLE),
    Law(lambda x, y: y * np.exp(x) / (1 + np.exp(x)), lambda x, y: y * sigmoid(x), _STABLE),
    Law(lambda x: np.log(sigmoid(x)), lambda x: -softplus(-x), _STABLE),
    Law(lambda x: 1 - sigmoid(x), lambda x: sigmoid(-x), _STABLE),
    Law(lambda x: 1 - np.square(np.tanh(x)), lambda x: sech_squared(x), _STABLE),
    Law(lambda x: np.sinh(x) / np.cosh(x), lambda x: np.tanh(x), _STABLE),
    Law(lambda x: np.cosh(x) / np.sinh(x), lambda x: 1 / np.tanh(x), _STABLE),
    Law(lambda x: x * np.log(x), lambda x: xlogx(x), _STABLE),
    Law(lambda x: np.sqrt(np.square(x)), lambda x: np.abs(x), _STABLE),
    Law(lambda x, y: np.sqrt(np.square(x) + np.square(y)), lambda x, y: np.hypot(x, y), _STABLE),
    # The slope is 1 also at 0, where that of the root is infinite and that of the square is 0.
    Law(lambda x: np.square(np.sqrt(x)), lambda x: x * np.where(x >= 0, 1, np.nan), _STABLE),
    Law(
        lambda x, c: np.square(c * np.sqrt(x)), lambda x, c: c * c * np.square(np.sqrt(x)), _STABLE
    ),
    Law(
        lambda x, y: np.square(np.sqrt(x) / y), lambda x, y: np.square(np.sqrt(x)) / y / y, _STABLE
    ),
)

# What a condition does not select never reaches a gradient: the mask stays outermost, so that the
# factor it meets may be infinite where it is false.
MASKS = (
    Law(lambda p, x: mask(p, mask(p, x)), lambda p, x: mask(p, x), "everywhere"),
    Law(lambda p, x, y: mask(p, x) * y, lambda p, x, y: mask(p, x * y), _NUMBERS),
    Law(lambda p, x, y: mask(p, x) / y, lambda p, x, y: mask(p, x / y), _NUMBERS),
    Law(lambda p, x: -mask(p, x), lambda p, x: mask(p, -x), _NUMBERS),
    Law(lambda p, x, y: mask(p, x) + mask(p, y), lambda p, x, y: mask(p, x + y), "everywhere"),
    Law(lambda p, x, y: mask(p, x) - mask(p, y), lambda p, x, y: mask(p, x - y), "everywhere"),
)

LAWS: tuple[Law, ...] = (*MASKS, *STABLE, *ALGEBRA, *PRODUCTS, *FORMULAS)
COMMUTING = ("add", "multiply", "logaddexp", "maximum", "minimum", "hypot")

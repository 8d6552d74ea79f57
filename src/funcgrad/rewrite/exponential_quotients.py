"""Quotients of two sums of two exponentials, as sigmoid, tanh and sech.

(exp(x) - exp(-x))/(exp(x) + exp(-x)) is tanh(x), also where the exponentials overflow. Its slope keeps its
digits where tanh(x) rounds to 1.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad.expr import Expr
from funcgrad.graph import Key
from funcgrad.ops.elementwise import arithmetic, exponential
from funcgrad.rewrite.constant_values import value_of
from funcgrad.rewrite.overflow_laws import opposite

_Terms = dict[Key | None, tuple[float, Expr | None]]
"""Numbers and exponents of exponentials, by the keys of the exponents; None is that of the number 1."""


def stable_quotient(expr: Expr) -> Expr | None:
    """(exp(x) - exp(-x))/(exp(x) + exp(-x)) = tanh(x), exp(x)/(exp(x) + exp(y)) = sigmoid(x - y).

    Also 1/(exp(x) + exp(-x)) = 1/2/cosh(x), and (exp(x) + exp(-x))/(exp(x) - exp(-x)) = 1/tanh(x).
    """
    above, below = expr.args
    if below.op in _SUMS and not all(map(_is_term, below.args)):
        return None
    divisor = _terms(below)
    if divisor is None or len(divisor) != 2 or above.shape != below.shape:
        return None
    (first, x), (second, y) = divisor.values()
    top = _terms(above) if abs(first) == abs(second) else None
    if top is None or (x is None and y is None):
        return None
    if first == -second:
        numbers = {number for number, _ in top.values()}
        if set(top) != set(divisor) or len(numbers) != 1:
            return None
        sign, tangent = _tanh_of_half(x, y)
        return numbers.pop() / first * sign / tangent  # type: ignore[no-any-return]
    if set(top) == {None} and None not in divisor:
        if x is None or y is None or not opposite(x, y):
            return None
        return top[None][0] / (2 * first) / np.cosh(x)  # type: ignore[return-value]
    if not set(top) <= set(divisor):
        return None
    one, other = [top.get(key, (0.0, None))[0] / first for key in divisor]
    found: Expr | None = None
    if one == -other:
        found = _scaled(one, *_tanh_of_half(x, y))
    elif 0 in (one, other) and x is not None and y is not None:
        found = _scaled(one + other, 1.0, exponential.sigmoid(x - y if other == 0 else y - x))
    return found


_SUMS = (arithmetic.add, arithmetic.subtract)


def _is_term(expr: Expr) -> bool:
    """Whether an expression looks like a number, or an exponential with one: asked at each quotient."""
    if expr.op is arithmetic.multiply:
        return value_of(expr.args[0]) is not None
    return expr.op in _TERMS or value_of(expr) is not None


_TERMS = (exponential.exp, exponential.expm1, arithmetic.negative)


def _tanh_of_half(x: Expr | None, y: Expr | None) -> tuple[float, Any]:
    """A sign s and a value v for s*v = tanh((x - y)/2)."""
    if x is None or y is None:
        sign, t = (-1.0, y) if x is None else (1.0, x)
        sign, half = _halved(sign, t)
    elif opposite(x, y):
        sign, half = _halved(1.0, 2 * x)
    else:
        sign, half = 1.0, (x - y) / 2
    return sign, np.tanh(half)


def _halved(sign: float, t: Any) -> tuple[float, Any]:
    number: Any = 1.0
    if t.op is arithmetic.negative:
        sign, t = -sign, t.args[0]
    if t.op is arithmetic.multiply and value_of(t.args[0]) is not None:
        number, t = value_of(t.args[0]), t.args[1]
    number = float(number) / 2
    return (-sign if number < 0 else sign), (t if abs(number) == 1 else abs(number) * t)


def _scaled(number: float, sign: float, value: Any) -> Any:
    number = number * sign
    return value if number == 1 else -value if number == -1 else number * value


def _terms(expr: Expr, depth: int = 3) -> _Terms | None:
    """A sum of exponentials with numbers; None if it is none."""
    number = value_of(expr)
    if number is not None:
        return {None: (float(number), None)}
    if expr.op is exponential.exp:
        return {expr.args[0].key: (1.0, expr.args[0])}
    if expr.op is exponential.expm1:
        return {expr.args[0].key: (1.0, expr.args[0]), None: (-1.0, None)}
    if not depth:
        return None
    if expr.op is arithmetic.negative:
        return _times(-1.0, _terms(expr.args[0], depth - 1))
    if expr.op is arithmetic.multiply:
        number = value_of(expr.args[0])
        return None if number is None else _times(float(number), _terms(expr.args[1], depth - 1))
    if expr.op not in _SUMS:
        return None
    left = _terms(expr.args[0], depth - 1)
    right = None if left is None else _terms(expr.args[1], depth - 1)
    if expr.op is arithmetic.subtract:
        right = _times(-1.0, right)
    if left is None or right is None or set(left) & set(right):
        return None
    return left | right


def _times(number: float, terms: _Terms | None) -> _Terms | None:
    return terms and {key: (number * c, x) for key, (c, x) in terms.items()}

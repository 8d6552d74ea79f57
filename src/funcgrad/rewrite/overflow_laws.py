"""Derivatives of quotients by functions that overflow, as 1/(exp(x) - 1).

The derivative of y/b in x, where b = exp(x) + c, is -(y/b/b)*exp(x). Where exp(x) overflows, y/b is 0 and
that product is NaN; where y/b/b underflows, it is 0 too early. As -(y/b)*sigmoid(x) for c = 1, and as
(y/b)/expm1(-x) for c = -1, it is as accurate as the value, and so are its own derivatives.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from funcgrad.expr import Expr, scalar
from funcgrad.ops.base.op import broadcast_to
from funcgrad.ops.elementwise import arithmetic, exponential, selection, trigonometric
from funcgrad.rewrite.constant_values import value_of
from funcgrad.rewrite.structural_laws import OVERFLOWING

_MOST_FACTORS, _MOST_IN_TERMS = 12, 24
"""The factors of a product among which a divisor is looked for."""


def product_with_overflowing(expr: Expr) -> Expr | None:
    """y/(exp(x) - 1)*exp(x) = -y/expm1(-x), y/cosh(x)*sinh(x) = y*tanh(x), and the like."""
    left, right = expr.args
    for product, factor in ((left, right), (right, left)):
        found = _times_if_overflowing(product, factor)
        if found is not None:
            return found
        if factor.op is arithmetic.multiply:
            for i, inner in enumerate(factor.args):
                found = _times_if_overflowing(product, inner)
                if found is not None:
                    return np.multiply(found, factor.args[1 - i])  # type: ignore[return-value]
    return None


def _times_if_overflowing(product: Expr, factor: Expr) -> Expr | None:
    """A product with a factor that overflows, or with one that is broadcast, as in a batch of tangents."""
    inner = factor.args[0] if factor.op is broadcast_to else factor
    if inner.op not in OVERFLOWING:
        return None
    if _terms_of(product) and not _may_take_up(product, factor):  # as most that are asked
        return None
    return _times(product, factor)


def quotient_of_overflowing(expr: Expr) -> Expr | None:
    """exp(x)/(exp(x) - 1)**2 = -1/(exp(x) - 1)/expm1(-x), and the like."""
    above, below = expr.args
    return _divided(above, below, None) if above.op in OVERFLOWING else None


def _times(product: Expr, factor: Expr, terms: Iterator[int] | None = None) -> Expr | None:
    """A product with one more factor, which a divisor takes up, as one of each term of a sum does, or of
    each branch of a choice.

    ``terms`` has a number for each factor that is still visited, if the product is a term.
    """
    path: _Path | None
    open_: list[tuple[Expr, _Path | None]] = [(product, None)]
    visits = iter(range(_MOST_FACTORS)) if terms is None else terms
    for _ in visits:
        if not open_:
            break
        node, path = open_.pop()
        found = _taken_up(node, factor) if node.op in _TAKING else None
        parts = _terms_of(node)
        if parts and node.shape == factor.shape and _may_take_up(node, factor):
            terms = iter(range(_MOST_IN_TERMS)) if terms is None else terms
            first = _times(parts[0], factor, terms)
            second = None if first is None else _times(parts[1], factor, terms)
            found = None if second is None else node.op(*node.args[:-2], first, second)
        if found is not None:
            while path is not None:
                parent, place, path = path
                args = [*parent.args]
                args[place] = found
                found = parent.op(*args)
            return found
        if node.op in _FACTORS and node.shape == factor.shape:
            open_ += [(node.args[i], (node, i, path)) for i in _FACTORS[node.op]]
    return None


_Path: TypeAlias = tuple[Expr, int, "_Path | None"]
"""The way to a factor of a product: a node, the place of its operand, and the way to the node."""


_FACTORS = {arithmetic.multiply: (1, 0), arithmetic.divide: (0,), arithmetic.negative: (0,)}
"""The operations of a product, with the operands that are its factors."""
_SUMS = (arithmetic.add, arithmetic.subtract)


def _terms_of(expr: Expr) -> Sequence[Expr]:
    """The two terms of a sum, or the two branches of a choice; none of others."""
    return expr.args[-2:] if expr.op in _SUMS or expr.op is selection.where else ()


def _may_take_up(expr: Expr, factor: Expr, depth: int = 4) -> bool:
    """Whether each term of a sum or a choice holds a quotient by a function of the factor's argument."""
    terms = _terms_of(expr)
    if terms and depth:
        first, second = terms
        return _may_take_up(second, factor, depth - 1) and _may_take_up(first, factor, depth - 1)
    return any([_is_by_function(quotient.args[1], factor) for quotient in quotients(expr)])


def _is_by_function(below: Expr, factor: Expr) -> bool:
    """Whether a divisor is a function of what the factor is a function of, or a sum with such a term.

    None of which is a sum of other exponentials, too, as the divisor of a softmax.
    """
    while below.op in _IN_DIVISORS:
        below = below.args[0]
    if below.op not in _SUMS:
        return below.op in _RELATED and _is_related(below, factor)
    terms = below.args
    if terms[0].op in _SUMS:
        terms = (*terms[0].args, terms[1])
    found = False
    for x in terms:
        if x.op in _RELATED:
            if not _is_related(x, factor):
                return False
            found = True
    return found


def _is_related(x: Expr, factor: Expr) -> bool:
    """Whether a function has the argument that the factor has, or its negative."""
    return x.args[0] is factor.args[0] or opposite(x.args[0], factor.args[0])


POWERS = (arithmetic.square, arithmetic.power)
_IN_DIVISORS = (*POWERS, arithmetic.multiply, arithmetic.divide)
_RELATED = frozenset((*OVERFLOWING, exponential.expm1))


def quotients(term: Expr) -> Sequence[Expr]:
    """The quotients among the first factors: asked for at each product and sum."""
    if term.op is arithmetic.divide:
        return (term,)
    if term.op not in _OF_FACTORS:
        return ()
    found: list[Expr] = []
    for inner in term.args:
        if inner.op is arithmetic.divide:
            found.append(inner)
        elif inner.op in _OF_FACTORS:
            found += [factor for factor in inner.args if factor.op is arithmetic.divide]
    return found


_OF_FACTORS = (arithmetic.multiply, arithmetic.negative)


def _taken_up(node: Expr, factor: Expr) -> Expr | None:
    """The node times a factor that its divisor takes up; None if it has none that does."""
    if node.op is broadcast_to is factor.op and node.args[0].type == factor.args[0].type:
        narrow = _times(node.args[0], factor.args[0])
        return None if narrow is None else broadcast_to(narrow, shape=node.shape)
    if node.op is arithmetic.divide:
        above, below = node.args
        if (
            below.op is exponential.sqrt
            and above.op is arithmetic.divide
            and above.args[1] is below
        ):
            above, below = above.args[0], below.args[0]
        return _divided(factor, below, above)
    if node.op is arithmetic.multiply:
        return _taken_up_by_quotient(node, factor)
    if node.op is arithmetic.reciprocal:
        return _divided(factor, node.args[0], None)
    if node.op is arithmetic.square:
        root = _taken_up(node.args[0], factor)
        return None if root is None else np.multiply(node.args[0], root)  # type: ignore[return-value]
    if node.op is arithmetic.power:
        base, exponent = node.args
        k = value_of(exponent)
        ratio = _ratio(factor, base) if k is not None and k.real <= -1 else None
        return None if ratio is None else ratio(base ** (exponent + 1))
    return None


_TAKING = frozenset(
    (arithmetic.divide, arithmetic.multiply, arithmetic.reciprocal, *POWERS, broadcast_to)
)
"""The operations by which `_taken_up` finds a divisor."""


def _taken_up_by_quotient(product: Expr, factor: Expr) -> Expr | None:
    """x*(y/x**2), which is y/x, times the factor."""
    for base, quotient in (product.args, product.args[::-1]):
        below = quotient.args[1] if quotient.op is arithmetic.divide else base
        if below.op is arithmetic.square and below.args[0] is base:
            return _divided(factor, base, quotient.args[0])
    return None


def _divided(factor: Expr, below: Expr, above: Expr | None) -> Expr | None:
    """above*factor/below; None in the place of above stands for 1."""
    if factor.op is broadcast_to:
        if below.op is not broadcast_to or below.args[0].type != factor.args[0].type:
            return None
        narrow = _divided(factor.args[0], below.args[0], None)
        wide = None if narrow is None else broadcast_to(narrow, shape=factor.shape)
        return wide if wide is None or above is None else np.multiply(above, wide)
    if below.op is arithmetic.divide:  # y/(b/c) = y*c/b
        top, bottom = below.args
        return _divided(factor, top, bottom if above is None else above * bottom)
    if below.op is arithmetic.multiply:  # y/(b*c) = y/c/b
        for base, other in (below.args, below.args[::-1]):
            if base.op in _BASES:
                found = _divided(factor, base, _dividend(above, factor) / other)
                if found is not None:
                    return found
    base, exponent = base_and_exponent(below)
    if exponent < 1:
        base, exponent = below, 1
    ratio = _ratio(factor, base)
    if ratio is None:
        return None
    dividend = _dividend(above, factor)
    quotient: Expr = ratio(dividend if exponent == 1 else dividend / raised(base, exponent - 1))
    return quotient


def _dividend(above: Expr | None, factor: Expr) -> Any:
    """A dividend; None stands for 1."""
    if above is not None:
        return above
    return broadcast_to(scalar(1.0, factor.dtype), shape=factor.shape)


_BASES = frozenset(
    (*OVERFLOWING, arithmetic.add, arithmetic.subtract, exponential.expm1, arithmetic.square)
)
"""The operations of a divisor that may take up a factor."""


def _ratio(factor: Expr, base: Expr) -> Callable[[Any], Any] | None:
    """The product of a value with factor/base, without a quotient of two infinities."""
    if base.shape != factor.shape:
        return None
    (x,) = factor.args
    if factor.op is exponential.exp:
        return _share_of_powers(x, factor, _powers(base, factor))
    if base.op not in (trigonometric.sinh, trigonometric.cosh) or base.args[0] is not x:
        return None
    if base.op is factor.op:
        return None
    tangent = np.tanh(x)
    return (lambda y: y / tangent) if base.op is trigonometric.sinh else (lambda y: y * tangent)


def _share_of_powers(
    x: Expr, e: Expr, powers: Mapping[int, float] | None
) -> Callable[[Any], Any] | None:
    """The product with e/sum, for e = exp(x) and a sum of two of its powers, by their numbers."""
    if powers is None or len(powers) > 2:
        return None
    low, high = min(powers, default=0), max(powers, default=0)
    if high == 1 and low in (1, 0, -1):
        rest = powers[low] if low < 1 else 0.0
        return _share(2 * x if low == -1 else x, powers[1], rest)
    if (low, high) == (0, 2):  # 1/(e + 1/e), which takes up one more factor
        return lambda y: y / (powers[2] * e + powers[0] * np.exp(-x))
    return None


def _share(x: Expr, number: float, rest: float) -> Callable[[Any], Any] | None:
    """The product with exp(x)/(number*exp(x) + rest), by functions whose derivatives have this form."""
    if not np.isfinite([number, rest]).all():
        return None
    if rest == 0:
        return lambda y: y / number
    shift = math.log(abs(rest / number))
    moved = x - shift if shift else x
    if rest / number > 0:
        return lambda y: y * exponential.sigmoid(moved) / number
    return lambda y: y / (-number * np.expm1(-moved))


def _powers(base: Expr, e: Expr, depth: int = 3) -> dict[int, float] | None:
    """The numbers of the powers of the exponential e of which a sum is made; None if it is none."""
    if base is e:
        return {1: 1.0}
    number = value_of(base)
    if number is not None:
        return {0: float(number)} if number else {}
    if base.op is exponential.exp:
        return {-1: 1.0} if opposite(base.args[0], e.args[0]) else None
    if base.op is exponential.expm1 and base.args[0] is e.args[0]:
        return {1: 1.0, 0: -1.0}
    if not depth:
        return None
    if base.op is arithmetic.square:
        return {2: 1.0} if base.args[0] is e else None
    if base.op not in _LINEAR:
        return None
    left = _powers(base.args[0], e, depth - 1)
    right = None if left is None else _powers(base.args[-1], e, depth - 1)
    if left is None or right is None:
        return None
    if base.op is arithmetic.multiply:
        if len(left) > 1 or len(right) > 1:
            return None
        return {i + j: c * d for i, c in left.items() for j, d in right.items()}
    sign = 1.0 if base.op is arithmetic.add else -1.0
    found = {} if base.op is arithmetic.negative else dict(left)
    for power, c in right.items():
        found[power] = found.get(power, 0.0) + sign * c
    return {power: c for power, c in found.items() if c}


_LINEAR = (arithmetic.add, arithmetic.subtract, arithmetic.negative, arithmetic.multiply)


def opposite(x: Expr, y: Expr) -> bool:
    """Whether x is -y, as -2*t is of 2*t."""
    one, other = x.op, y.op
    if one is arithmetic.negative and x.args[0] is y:
        return True
    if other is arithmetic.negative and y.args[0] is x:
        return True
    if not one is other is arithmetic.multiply:
        return False
    for (c, u), (d, v) in ((x.args, y.args), (x.args[::-1], y.args[::-1])):
        first, second = value_of(c), value_of(d)
        if u is v and first is not None and second is not None:
            return bool(first == -second)
    return False


def base_and_exponent(expr: Expr) -> tuple[Expr, int]:
    """b and k, if the expression is b**k for a whole number k."""
    if expr.op is arithmetic.square:
        return expr.args[0], 2
    if expr.op is arithmetic.power:
        k = value_of(expr.args[1])
        if k is not None and float(k).is_integer():
            return expr.args[0], int(k)
    return expr, 1


def raised(base: Expr, exponent: int) -> Any:
    """The power of a base by a positive number."""
    return base if exponent == 1 else base**exponent

"""Derivatives of quotients such as x/(1 + x) and x**2/(1 + x**2), next to their limits.

By the quotient rule the derivative of a/b is 1/b - (a/b)/b times that of a, if b = a + c. Both terms round to
one number where c is small beside a. It is c/b/b.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any, NamedTuple

import numpy as np

from funcgrad.expr import Expr
from funcgrad.graph import unnested
from funcgrad.ops.elementwise import arithmetic, magnitude
from funcgrad.rewrite.constant_values import value_of
from funcgrad.rewrite.overflow_laws import POWERS, base_and_exponent, quotients, raised

_FEW = 5
"""The products in a product that are looked into."""


class _Product(NamedTuple):
    number: float
    factors: list[Expr]


def _product(term: Expr) -> _Product:
    """The numbers in a product as one, and its other factors."""
    number = 1.0
    if term.op is arithmetic.negative:  # signs stand before products
        number, term = -1.0, term.args[0]
    left = iter(range(_FEW))

    def parts(node: Expr) -> tuple[Expr, ...]:
        return node.args if node.op is arithmetic.multiply and next(left, None) is not None else ()

    factors = []
    for factor in unnested(term, parts):
        value = value_of(factor)
        if value is None:
            factors.append(factor)
        else:
            number *= float(value)
    return _Product(number, factors)


def _is_share(quotient: Expr) -> bool:
    """Whether it is a/b/b."""
    inner, below = quotient.args
    return inner.op is arithmetic.divide and inner.args[1] is below


def _multiplied(number: float, factors: Sequence[Expr]) -> Any:
    if not factors:
        return number
    found = reduce(np.multiply, factors)  # type: ignore[arg-type]
    return found if number == 1 else number * found


_OF_POWERS = (*POWERS, arithmetic.multiply)
_IN_PRODUCT = (arithmetic.divide, arithmetic.multiply)


def cancelled_power(expr: Expr) -> Expr | None:
    """(z/y**2)*y = z/y, and the like: the first quotient may underflow where the result does not."""
    if not any([x.args[1].op in _OF_POWERS for arg in expr.args for x in quotients(arg)]):
        return None
    left, right = map(_product, expr.args)
    for one, other in ((left, right), (right, left)):
        for i, quotient in enumerate(one.factors):
            if quotient.op is not arithmetic.divide or quotient.shape != expr.shape:
                continue
            for j, factor in enumerate(other.factors):
                found = _lowered(quotient, factor)
                if found is not None:
                    own = [*one.factors[:i], found, *one.factors[i + 1 :]]
                    rest = [*other.factors[:j], *other.factors[j + 1 :]]
                    number = one.number * other.number
                    return _multiplied(number, [_multiplied(1.0, own), *_joined(rest)])  # type: ignore[no-any-return]
    return None


def _joined(factors: Sequence[Expr]) -> list[Expr]:
    return [_multiplied(1.0, factors)] if factors else []


def _lowered(quotient: Expr, factor: Expr) -> Any:
    """The product of a quotient with a factor that is a power of its divisor's base."""
    above, below = quotient.args
    number, power = None, below
    if below.op is arithmetic.multiply and value_of(below.args[0]) is not None:
        number, power = below.args
    base, most = base_and_exponent(power)
    own, exponent = base_and_exponent(factor) if most > 1 else (None, 0)
    if own is not base or not 1 <= exponent < most:
        return None
    found = above / raised(base, most - exponent)
    return found if number is None else found / number


def complement_of_share(expr: Expr) -> Expr | None:
    """g/b - g*(a/b/b) = g*(c/b)/b for b = a + c: the derivative of a/(a + c) in a."""
    sign = -1.0 if expr.op is arithmetic.subtract else 1.0
    if sign > 0:
        x, y = expr.args
        if x.op not in _IN_PRODUCT and y.op not in _IN_PRODUCT:
            return None
        if not (_is_negative(x) or _is_negative(y)):
            return None
    for first, second in (expr.args, expr.args[::-1]):
        below = [x.args[1] for x in quotients(second) if _is_share(x)]
        if not below or not any([x.args[1] is below[0] for x in quotients(first)]):
            if sign < 0:
                break
            continue
        share = _share_of_share(_product(second))
        found = None if share is None else _of_pair(_product(first), share, sign)
        if found is not None:
            return found
        if sign < 0:
            break
    return None


def _is_negative(term: Expr) -> bool:
    """Whether a product has a sign, which stands before it, or a negative number."""
    if term.op is arithmetic.multiply:
        number = value_of(term.args[0])
        return number is not None and number.real < 0
    return term.op is arithmetic.negative


class _Share(NamedTuple):
    """A product number*factors*(own/below/below)."""

    number: float
    factors: list[Expr]
    own: Expr
    below: Expr


def _share_of_share(term: _Product) -> _Share | None:
    for i, ratio in enumerate(term.factors):
        if ratio.op is arithmetic.divide and _is_share(ratio):
            share, below = ratio.args
            rest = [*term.factors[:i], *term.factors[i + 1 :]]
            return _Share(term.number, rest, share.args[0], below)
    return None


def _of_pair(term: _Product, share: _Share, sign: float) -> Expr | None:
    quotients = [x for x in term.factors if x.op is arithmetic.divide and x.args[1] is share.below]
    if len(quotients) != 1:
        return None
    above = _product(quotients[0].args[0])
    factors = [x for x in term.factors if x is not quotients[0]] + above.factors
    number = term.number * above.number
    if number + sign * share.number != 0:
        return None
    own, others = share.own, list(share.factors)
    if len(others) == len(factors) + 1:  # x*sign(x) = abs(x)
        signs = [x for x in others if x.op is magnitude.sign_op and x.args[0] is own]
        if len(signs) != 1:
            return None
        others = [x for x in others if x is not signs[0]]
        own = magnitude.absolute(own)
    if sorted(map(id, others)) != sorted(map(id, factors)):
        return None
    rest = _difference(share.below, own)
    if rest is None:
        return None
    return _multiplied(number, factors) * (rest / share.below) / share.below  # type: ignore[no-any-return]


def _difference(below: Expr, own: Expr) -> Any:
    """c, if the divisor is a + c; a number, if both are sums of one term and a number."""
    if below.op is arithmetic.add:
        for term, rest in (below.args, below.args[::-1]):
            if _is_same(term, own):
                return rest
            if term.op is arithmetic.add:
                for one, other in (term.args, term.args[::-1]):
                    if _is_same(one, own):
                        return other + rest
    term, number = _offset(below)
    other, less = _offset(own)
    return number - less if term is other and number != less else None


def _is_same(x: Expr, y: Expr) -> bool:
    """Whether two expressions are one, or one function of one: keys of large expressions take long."""
    return x is y or (x.op is y.op and len(x.args) == len(y.args) == 1 and x.args[0] is y.args[0])


def _offset(expr: Expr) -> tuple[Expr, float]:
    """x and c, if the expression is x + c."""
    if expr.op in (arithmetic.add, arithmetic.subtract):
        number = value_of(expr.args[1])
        if number is not None:
            return expr.args[0], float(number if expr.op is arithmetic.add else -number)
    return expr, 0.0

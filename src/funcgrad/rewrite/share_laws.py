"""Derivatives of quotients such as x/(1 + x) and x/sqrt(1 + x**2), next to their limits.

By the quotient rule the derivative of a/b is 1/b - (a/b)/b times that of a, if b = a + c. Both terms round to
one number where c is small beside a. It is c/b/b. The same holds of powers of sums, such as roots.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from functools import reduce
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from funcgrad.expr import Expr
from funcgrad.graph import unnested
from funcgrad.ops.elementwise import (
    arithmetic,
    exponential,
    logic,
    magnitude,
    selection,
    trigonometric,
)
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


def _multiplied(number: float, factors: Sequence[Expr]) -> Any:
    if not factors:
        return number
    found = reduce(np.multiply, factors)  # type: ignore[arg-type]
    return found if number == 1 else number * found


_OF_POWERS = (*POWERS, arithmetic.multiply)


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
    """y*b**k - y*a*b**(k - 1) = y*b**k*(c/b) for b = a + c, as in the derivative of a/(a + c) in a.

    For b = hypot(x, c), y*b**k - y*x**2*b**(k - 2) = y*b**k*(c/b)**2. Also y - y*sigmoid(x) = y*sigmoid(-x),
    and y + y/expm1(x) = -y/expm1(-x).
    """
    first, second = expr.args
    if first.op in _SUMS or second.op in _SUMS or not (_divides(first) or _divides(second)):
        return None
    divisors = _shared(_sums_below(first), _sums_below(second))
    one, other = (_powers_in(first), _powers_in(second)) if divisors else (None, None)
    if one is None or other is None:
        return None
    sign = -1.0 if expr.op is arithmetic.subtract else 1.0
    other = other._replace(number=sign * other.number)
    for b in divisors:
        for share, high, low in ((first, one, other), (second, other, one)):
            rest = _rest_of_share(b, high, low)
            if rest is not None:
                factor, divisor = rest
                found = share if factor is None else share * factor
                found = found if divisor is None else found / divisor
                return -found if share is second and sign < 0 else found
    return None


def _shared(below: _Sums, others: _Sums) -> list[Expr]:
    """The sums that two terms divide by, not equally often, and functions with a complement."""
    found = [b for key, (b, k) in below.items() if key in others and others[key][1] != k]
    alone = [b for key, (b, _) in (below | others).items() if not (key in below and key in others)]
    return found + [b for b in alone if b.op in _COMPLEMENTS]


_SUMS = (arithmetic.add, arithmetic.subtract)
_COMPLEMENTS = {exponential.sigmoid: -1.0, exponential.expm1: 1.0}
"""Functions b whose 1 - b and 1 + 1/b are functions of the same kind: the sign of that term."""
_DIVISORS = (*_SUMS, trigonometric.hypot, *_COMPLEMENTS)
_SIGNED = (arithmetic.multiply, arithmetic.negative)
_QUOTIENTS = (arithmetic.divide, arithmetic.power)
_Sums: TypeAlias = dict[int, tuple[Expr, int]]
_FEW_STEPS, _MOST_FACTORS, _MOST_SUMS = 14, 40, 3


def _divides(term: Expr) -> bool:
    """Whether a quotient or a power is among the first factors: asked at each sum of products."""
    parts = term.args if term.op in _SIGNED else (term,)
    for part in parts:
        if part.op in _QUOTIENTS or (
            part.op in _SIGNED and any([factor.op in _QUOTIENTS for factor in part.args])
        ):
            return True
    return False


def _sums_below(term: Expr) -> _Sums:
    """The sums that the first factors of a product divide by, and how often."""
    found: _Sums = {}
    open_ = [term]
    for _ in range(_FEW_STEPS):
        if not open_:
            break
        node = open_.pop()
        op = node.op
        if op is arithmetic.divide:
            open_.append(node.args[0])
            node, sign = node.args[1], 1
        elif op is arithmetic.power:
            sign = -1
        else:
            if op in _SIGNED:
                open_ += node.args
            elif op is selection.mask:
                open_.append(node.args[1])
            elif op is exponential.sigmoid:
                found[id(node)] = (node, 0)
            continue
        base, times = node, 1
        if node.op is exponential.sqrt:
            base = node.args[0]
        elif node.op in POWERS:
            base = node.args[0]
            exponent = 2 if node.op is arithmetic.square else value_of(node.args[1])
            if exponent is not None and np.isfinite(exponent):
                times = math.ceil(sign * exponent)
        if base.op in _DIVISORS:
            found[id(base)] = (base, found.get(id(base), (base, 0))[1] + times)
    return found


class _Powers(NamedTuple):
    """A number, and exponents by the ids of factors; those of signs by the negative ids."""

    number: float
    exponents: dict[int, float]
    factors: dict[int, Expr]

    @property
    def key(self) -> frozenset[tuple[int, float]]:
        """What like terms have in common."""
        return frozenset([(i, k) for i, k in self.exponents.items() if k])


def _powers_in(term: Expr) -> _Powers | None:
    """A number times powers of factors; None if there are too many, or the number overflows."""
    number = 1.0
    exponents, factors = defaultdict[int, float](float), dict[int, Expr]()
    open_ = [(term, 1.0)]
    for _ in range(_MOST_FACTORS):
        if not open_:
            kept = {i: k if i > 0 else k % 2 for i, k in exponents.items()}
            found = _Powers(number, {i: k for i, k in kept.items() if k}, factors)
            return found if 0 < abs(number) < math.inf else None
        node, k = open_.pop()
        op, value = node.op, value_of(node)
        if value is not None and (value > 0 or k == 1):
            with np.errstate(over="ignore"):
                number *= float(np.float64(value) ** k)
        elif not k.is_integer():
            exponents[id(node)] += k
        elif op is arithmetic.multiply:
            open_ += [(arg, k) for arg in node.args]
        elif op is arithmetic.divide:
            open_ += [(node.args[0], k), (node.args[1], -k)]
        elif op is exponential.sqrt:
            open_.append((node.args[0], k / 2))
        elif op is arithmetic.square:
            open_.append((node.args[0], k * 2))
        elif op is arithmetic.power and value_of(node.args[1]) is not None:
            open_.append((node.args[0], k * float(value_of(node.args[1]))))
        elif op is arithmetic.negative:
            number = -number if k % 2 else number
            open_.append((node.args[0], k))
        elif op is magnitude.absolute:
            exponents[-id(node.args[0])] += k
            open_.append((node.args[0], k))
        elif op in (magnitude.sign_op, magnitude.absolute_slope):
            exponents[-id(node.args[0])] += k
        elif op is selection.mask and _is_of_hypot(node.args[0]):
            exponents[-id(node.args[0].args[0])] += k
            open_.append((node.args[1], k))
        else:
            exponents[id(node)] += k
            factors[id(node)] = node
    return None


def _is_of_hypot(condition: Expr) -> bool:
    """Whether a condition is that of the derivative of hypot, which is infinite or NaN elsewhere."""
    return condition.op is logic.not_equal and condition.args[0].op is trigonometric.hypot


def _rest_of_share(b: Expr, high: _Powers, low: _Powers) -> tuple[Any, Any] | None:
    """A factor and a divisor, where not 1, that make the sum of two terms of the first; None if not alike."""
    step = high.exponents.get(id(b), 0.0) - low.exponents.get(id(b), 0.0)
    others = [i for i in high.exponents | low.exponents if i != id(b)]
    ratio = {i: low.exponents.get(i, 0.0) - high.exponents.get(i, 0.0) for i in others}
    own = _Powers(low.number / high.number, {i: k for i, k in ratio.items() if k}, low.factors)
    if b.op in _COMPLEMENTS:
        if own.exponents or not step == own.number == _COMPLEMENTS[b.op]:
            return None
        other = b.op(-b.args[0])
        return (other, None) if step < 0 else (-1.0, other)
    if b.op is trigonometric.hypot:
        own.exponents.pop(-id(b), None)
        for x, y in (b.args, b.args[::-1]):
            side = _powers_in(arithmetic.square(x)) if step == 2 else None
            if side and side.exponents == own.exponents and _is_close(side.number, -own.number):
                return np.square(y / b), None
        return None
    rest = _rest_of_sum(b, own) if step == 1 else None
    if rest is None:
        return None
    if isinstance(rest, Expr):
        return rest / b, None
    return (None if rest == 1 else rest), b


def _rest_of_sum(b: Expr, own: _Powers) -> Any:
    """A sum plus a product of terms like those of the sum, if one or more cancel; else None."""
    before: dict[frozenset[tuple[int, float]], tuple[float, Expr]] = {}
    after: dict[frozenset[tuple[int, float]], float] = {}
    for sign, term in _terms(b):
        powers = _powers_in(term)
        if powers is None or (powers.key and powers.key in before):
            return None
        before[powers.key] = powers.number, term
        after[powers.key] = after.get(powers.key, 0.0) + sign * powers.number
    products = _products(own)
    if not products:
        return None
    for powers in products:
        if powers.key not in after:
            return None
        found = after[powers.key]
        after[powers.key] = 0.0 if _is_close(found, -powers.number) else found + powers.number
    parts = [
        _multiplied(number / before[key][0], [before[key][1]]) if key else number
        for key, number in after.items()
        if number
    ]
    return reduce(np.add, parts) if 0 < len(parts) < len(after) else None


def _products(own: _Powers) -> list[_Powers]:
    """The terms of a product, one factor of which may be a sum; none if a term has too many factors."""
    sums = [own.factors[i] for i, k in own.exponents.items() if k == 1 and i in own.factors]
    sums = [factor for factor in sums if factor.op in _SUMS]
    if len(sums) != 1:
        return [own]
    found = []
    for sign, term in _terms(sums[0]):
        powers = _powers_in(term)
        if powers is None:
            return []
        exponents = defaultdict[int, float](float, own.exponents)
        del exponents[id(sums[0])]
        for i, k in powers.exponents.items():
            exponents[i] += k
        found.append(_Powers(sign * powers.number * own.number, exponents, own.factors))
    return found


def _is_close(x: float, y: float) -> bool:
    """Whether two numbers are equal up to rounding, as 3*(1/3) and 1 are."""
    return math.isclose(x, y, rel_tol=4e-16)


def _terms(total: Expr) -> list[tuple[float, Expr]]:
    """The first terms of a sum, with their signs."""
    terms = [(1.0, total)]
    for _ in range(_MOST_SUMS):
        sign, first = terms[0]
        if first.op not in _SUMS:
            break
        x, y = first.args
        terms[:1] = [(sign, x), (-sign if first.op is arithmetic.subtract else sign, y)]
    return terms

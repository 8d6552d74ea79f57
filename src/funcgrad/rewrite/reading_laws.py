"""Laws by which formulas are read: for display alone, beside those of `laws` and `structural_laws`.

The two sides of a reading law are equal up to rounding wherever the operands and both sides are finite. So
guards go that only matter elsewhere (``where(x != 0, y/x, 0)`` is read as ``y/x``), and like terms and like
factors are collected. What runs is never rewritten by these laws.

In a reading, sums and products of real numbers are rewritten by these laws alone (`COLLECTED`).
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import numpy as np

from funcgrad.expr import Expr, scalar
from funcgrad.graph import Key, unnested
from funcgrad.ops.elementwise import arithmetic, exponential, logic, selection, trigonometric
from funcgrad.rewrite.laws import Law
from funcgrad.rewrite.monomials import (
    SUMS,
    Monomial,
    Summands,
    collected,
    common_factor,
    distributed,
    in_sines,
    monomial,
    over_one_denominator,
    product_of,
    sum_of,
    terms_of,
    unbroadcast,
)
from funcgrad.rewrite.reading_array_laws import ARRAY_READING, ReadingLaw
from funcgrad.rewrite.reading_axis_laws import AXIS_READING
from funcgrad.rewrite.reading_matrix_laws import MATRIX_READING
from funcgrad.rewrite.structural_laws import value_of

READING: tuple[Law, ...] = (
    Law(lambda x: np.square(np.sin(x)) + np.square(np.cos(x)), lambda x: 1, "where finite"),
    Law(lambda x: 1 - np.square(np.sin(x)), lambda x: np.square(np.cos(x)), "where finite"),
    Law(lambda x: 1 - np.square(np.cos(x)), lambda x: np.square(np.sin(x)), "where finite"),
    Law(lambda x: np.square(np.cosh(x)) - np.square(np.sinh(x)), lambda x: 1, "where finite"),
    Law(
        lambda x: trigonometric.sech_squared(x), lambda x: 1 / np.square(np.cosh(x)), "where finite"
    ),
    Law(lambda x: np.square(np.tan(x)) + 1, lambda x: 1 / np.square(np.cos(x)), "where finite"),
    Law(lambda x, c: np.hypot(x, c), lambda x, c: np.sqrt(np.square(x) + c * c), "where finite"),
    Law(lambda x: np.exp(np.log(x)), lambda x: x, "where finite"),
    Law(lambda x: np.square(np.abs(x)), lambda x: np.square(x), "where finite"),
    Law(lambda x: np.abs(x) * np.sign(x), lambda x: x, "where finite"),
)
"""Identities between functions: each is tested on numbers."""


def _changed(new: Expr, expr: Expr) -> Expr | None:
    return None if new.key == expr.key else new


# -- like factors and like terms -----------------------------------------------------------------
def _like_factors(expr: Expr) -> Expr | None:
    """x*y/x = y; x**2*x**3 = x**5; 2*x*y/2 = x*y; cos(x)*y = y*cos(x); 1/(x*(y/x + 1)) = 1/(y + x)."""
    return _changed(product_of(over_one_denominator(in_sines(monomial(expr))), expr), expr)


def _like_terms(expr: Expr) -> Expr | None:
    """x + y - x = y; x*f(y) + f(y) = (x + 1)*f(y); 1/(1 + x) - x/(1 + x)**2 = 1/(1 + x)**2."""
    if expr.op is arithmetic.negative and expr.args[0].op not in SUMS:
        return _like_factors(expr)
    found = terms_of(expr)
    opened = distributed(found)
    if len(found) > 1 and len(opened) <= len(found):
        found = opened
    for alike in (False, True) if len(found) > 1 else ():
        factor = common_factor(found, alike)
        inverse = factor.to_the(-1.0)
        rest = distributed(collected([term.times(inverse) for term in found.values()]))
        sums = all([base.op in SUMS for base, k in factor.powers.values() if k < 0])
        if factor.powers and (alike or len(rest) < len(found) + sums):
            return _changed(product_of(factor.times(_as_factor(rest, expr)), expr), expr)
    return _changed(sum_of(found, expr), expr)


def _as_factor(found: Summands, like: Expr) -> Monomial:
    """A sum as a factor."""
    if len(found) == 1:
        return next(iter(found.values()))
    sum_ = sum_of(found, like)
    return Monomial(1.0, {sum_.key: (sum_, 1.0)})


# -- guards --------------------------------------------------------------------------------------
def _guarded(expr: Expr) -> Expr | None:
    """where(x != 0, y/x, 0) = y/x; where((x != 0) | (y != 0), y*x**(y - 1), 0) = y*x**(y - 1)."""
    p, value = expr.args
    if value.dtype.kind != "f":
        return None
    conditions = unnested(unbroadcast(p), _disjuncts)
    zeros = {x.key for condition in conditions for x in _nonzero(condition)}
    terms = terms_of(value).values() if zeros else ()
    infinite = [
        any([_is_infinite(base, k, zeros) for base, k in term.powers.values()]) for term in terms
    ]
    return value if any(infinite) else None


def _finite_radius(expr: Expr) -> Expr | None:
    """where(hypot(x, y) != inf, z/(x**2 + y**2), 0) = z/(x**2 + y**2): 0 or NaN at infinity."""
    p, value = expr.args
    p = unbroadcast(p)
    if p.op is not logic.not_equal or value_of(p.args[1]) != np.inf or value.dtype.kind != "f":
        return None
    radius = unbroadcast(p.args[0])
    if radius.op is not trigonometric.hypot:
        return None
    sides = {unbroadcast(side).key for side in radius.args}
    inner = value
    while inner.op is selection.mask:
        inner = inner.args[1]
    far = [
        any([k < 0 and _is_square_of_radius(base, sides) for base, k in term.powers.values()])
        for term in terms_of(inner).values()
    ]
    return value if all(far) else None


def _is_square_of_radius(base: Expr, sides: set[Key]) -> bool:
    """Whether a sum is that of the squares of all sides."""
    squares = [
        unbroadcast(side).key
        for term in terms_of(unbroadcast(base)).values()
        for side, k in term.powers.values()
        if k == 2 and term.number > 0 and len(term.powers) == 1
    ]
    return set(squares) == sides and len(squares) == len(terms_of(unbroadcast(base)))


def _disjuncts(p: Expr) -> tuple[Expr, ...]:
    return p.args if p.op in (logic.bitwise_or, logic.logical_or) else ()


def _nonzero(p: Expr) -> list[Expr]:
    """The expressions that are zero where a condition does not hold: of hypot(x, y) != 0 the sides, too."""
    p = unbroadcast(p)
    if p.op is not logic.not_equal or value_of(p.args[1]) != 0:
        return []
    x = unbroadcast(p.args[0])
    sides = x.args if x.op is trigonometric.hypot else ()
    return [x, *map(unbroadcast, sides)]


def _is_infinite(base: Expr, exponent: float, zeros: set[Key]) -> bool:
    """Whether a factor is not finite where some expressions are zero."""
    base = unbroadcast(base)
    if base.op is exponential.log:
        return _vanishes(base.args[0], zeros)
    if base.op is arithmetic.power and exponent > 0 and _vanishes(base.args[0], zeros):
        rest = [t for t in terms_of(base.args[1]).values() if not _has_factor(t, zeros)]
        return len(rest) == 1 and not rest[0].powers and rest[0].number < 0
    return exponent < 0 and _vanishes(base, zeros)


def _vanishes(expr: Expr, zeros: set[Key]) -> bool:
    """Whether an expression is zero where some expressions are."""
    inner = unbroadcast(expr)
    if inner.key in zeros:
        return True
    if inner.op is trigonometric.hypot:
        return all([_vanishes(arg, zeros) for arg in inner.args])
    terms = terms_of(inner).values()
    return all([_has_factor(term, zeros) for term in terms])


def _has_factor(term: Monomial, zeros: set[Key]) -> bool:
    return any([unbroadcast(base).key in zeros and k > 0 for base, k in term.powers.values()])


def _cases(expr: Expr) -> Expr | None:
    """where(p, x, 0) + where(not p, y, 0) = where(p, x, y)."""
    x, y = expr.args
    if x.op is not selection.mask or y.op is not selection.mask:
        return None
    (p, a), (q, b) = x.args, y.args
    if _is_opposite(q, p):
        return np.where(p, a, b)  # type: ignore[return-value]
    return np.where(q, b, a) if _is_opposite(p, q) else None  # type: ignore[return-value]


def _is_opposite(q: Expr, p: Expr) -> bool:
    return q.op is logic.logical_not and q.args[0].key == p.key


def _either_way(expr: Expr) -> Expr | None:
    """p | not p = True."""
    p, q = expr.args
    certain = _is_opposite(p, q) or _is_opposite(q, p)
    return scalar(True, expr.dtype) if certain and expr.dtype.kind == "b" else None


def _same_operands(expr: Expr) -> Expr | None:
    """x != x is False, and x == x is True."""
    x, y = expr.args
    return scalar(expr.op is logic.equal, expr.dtype) if x.key == y.key else None


def _below_infinity(expr: Expr) -> Expr | None:
    """abs(x) < inf is True."""
    return scalar(True, expr.dtype) if value_of(expr.args[1]) == np.inf else None


def _half_at_a_tie(expr: Expr) -> Expr | None:
    """where(x >= y, where(x == y, 0.5, 1), 0) = (sign(x - y) + 1)/2."""
    p, value = expr.args
    if value.op is not selection.where or p.op not in (logic.greater_equal, logic.less_equal):
        return None
    tie, half, one = value.args
    same = tie.op is logic.equal and {a.key for a in tie.args} == {a.key for a in p.args}
    if not same or value_of(half) != 0.5 or value_of(one) != 1:
        return None
    x, y = p.args if p.op is logic.greater_equal else p.args[::-1]
    return (np.sign(x - y) + 1) / 2  # type: ignore[no-any-return]


def _sum_of_parts(expr: Expr) -> Expr | None:
    """A complex number of two parts = re + 1j*im."""
    re, im = expr.args
    return re + 1j * unbroadcast(im)  # type: ignore[no-any-return]


# -- the table ----------------------------------------------------------------------------------
_SCALAR_READING: Mapping[str, tuple[ReadingLaw, ...]] = MappingProxyType(
    {
        "add": (_cases, _like_terms),
        "subtract": (_like_terms,),
        "negative": (_like_terms,),
        "multiply": (_like_factors,),
        "divide": (_like_factors,),
        "square": (_like_factors,),
        "power": (_like_factors,),
        "sqrt": (_like_factors,),
        "exp": (_like_factors,),
        "reciprocal": (_like_factors,),
        "mask": (_guarded, _finite_radius, _half_at_a_tie),
        "not_equal": (_same_operands,),
        "equal": (_same_operands,),
        "less": (_below_infinity,),
        "logical_or": (_either_way,),
        "bitwise_or": (_either_way,),
    }
)
_TABLES = (MATRIX_READING, ARRAY_READING, AXIS_READING, _SCALAR_READING)
STRUCTURAL_READING: Mapping[str, tuple[ReadingLaw, ...]] = MappingProxyType(
    {
        name: tuple([law for table in _TABLES for law in table.get(name, ())])
        for name in dict.fromkeys([name for table in _TABLES for name in table])
    }
)
"""Reading laws that no pattern can state, by operation."""
COMPLEX_READING: Mapping[str, tuple[ReadingLaw, ...]] = MappingProxyType(
    {"make_complex": (_sum_of_parts,)}
)
"""Those of complex results: others would lose the side of a branch cut, which a zero's sign chooses."""
COLLECTED = frozenset(
    ("add", "subtract", "negative", "multiply", "divide", "square", "power", "sqrt", "reciprocal")
)
"""Operations that only reading laws rewrite in a reading: others would take their results apart."""

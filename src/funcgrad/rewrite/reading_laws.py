"""Display-only rewrites (*reading laws*), beside those of `laws` and `structural_laws`.

The two sides of a reading law are equal up to rounding wherever the operands and both sides are finite. So
guards that matter only elsewhere are dropped (``where(x != 0, y/x, 0)`` is printed as ``y/x``), and like
terms and like factors are collected. Programs that run are never rewritten by these laws.

In a display form, sums and products of real numbers are rewritten by these laws alone (`COLLECTED`).
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import numpy as np

from funcgrad.expr import Expr
from funcgrad.graph import INPUT
from funcgrad.ops.elementwise import (
    arithmetic,
    cardinal_sine,
    exponential,
    magnitude,
    trigonometric,
)
from funcgrad.rewrite.laws import Law
from funcgrad.rewrite.monomials import (
    SUMS,
    Monomial,
    Summands,
    collected,
    common_factor,
    common_part,
    denominator_of,
    distributed,
    is_alike,
    monomial,
    power,
    product_of,
    sum_of,
    terms_of,
    unbroadcast,
)
from funcgrad.rewrite.reading_array_laws import ARRAY_READING, ReadingLaw
from funcgrad.rewrite.reading_array_terms import beside_norms, of_one_difference
from funcgrad.rewrite.reading_axis_laws import AXIS_READING
from funcgrad.rewrite.reading_case_laws import CASE_READING
from funcgrad.rewrite.reading_complex_laws import COMPLEX_PARTS, COMPLEX_PRODUCTS
from funcgrad.rewrite.reading_einsum_laws import EINSUM_READING
from funcgrad.rewrite.reading_factors import (
    beside_sides,
    common_base,
    in_one_interval,
    in_sigmoids,
    in_signs,
    in_sines,
    joined_exponentials,
    joined_powers,
    over_one_denominator,
    split_powers,
    with_equal_sums,
    with_safe_denominators,
)
from funcgrad.rewrite.reading_guard_laws import GUARD_READING
from funcgrad.rewrite.reading_jacobian_laws import JACOBIAN_READING
from funcgrad.rewrite.reading_mask_laws import MASK_OF_COMPLEX, MASK_READING
from funcgrad.rewrite.reading_matrix_laws import MATRIX_READING
from funcgrad.rewrite.reading_store_laws import STORE_READING
from funcgrad.rewrite.reading_terms import multiplied_out, of_one_sign, paired, weight

READING: tuple[Law, ...] = (
    Law(lambda x: np.square(np.sin(x)) + np.square(np.cos(x)), lambda x: 1, "where finite"),
    Law(lambda x: 1 - np.square(np.sin(x)), lambda x: np.square(np.cos(x)), "where finite"),
    Law(lambda x: 1 - np.square(np.cos(x)), lambda x: np.square(np.sin(x)), "where finite"),
    Law(lambda x: np.square(np.cosh(x)) - np.square(np.sinh(x)), lambda x: 1, "where finite"),
    Law(
        lambda x: trigonometric.sech_squared(x), lambda x: 1 / np.square(np.cosh(x)), "where finite"
    ),
    Law(lambda x: np.square(np.tan(x)) + 1, lambda x: 1 / np.square(np.cos(x)), "where finite"),
    Law(lambda x: np.square(np.sinh(x)) + 1, lambda x: np.square(np.cosh(x)), "where finite"),
    Law(lambda x: np.square(np.cosh(x)) - 1, lambda x: np.square(np.sinh(x)), "where finite"),
    Law(lambda x, c: np.hypot(x, c), lambda x, c: np.sqrt(np.square(x) + c * c), "where finite"),
    Law(lambda x: np.exp(np.log(x)), lambda x: x, "where finite"),
    Law(lambda x: exponential.xlogx(x), lambda x: x * np.log(x), "where finite"),
    Law(lambda x: np.square(np.abs(x)), lambda x: np.square(x), "where finite"),
    Law(lambda x: magnitude.absolute_slope(x), lambda x: np.sign(x), "where finite"),
    Law(lambda x: np.abs(x) * np.sign(x), lambda x: x, "where finite"),
)
"""Identities between functions: each is tested on numbers."""


def _changed(new: Expr, expr: Expr) -> Expr | None:
    return None if new.key == expr.key else new


# -- like factors and like terms -----------------------------------------------------------------
def _like_factors(expr: Expr) -> Expr | None:
    """x*y/x = y; x**2*x**3 = x**5; 2*x*y/2 = x*y; cos(x)*y = y*cos(x); 1/(x*(y/x + 1)) = 1/(y + x)."""
    found = with_equal_sums(with_safe_denominators(monomial(expr)))
    found = joined_exponentials(in_signs(in_sines(in_sigmoids(found))))
    found = beside_sides(in_one_interval(over_one_denominator(found)))
    opened = multiplied_out({found.key: found})
    inside = [t for base, k in found.powers.values() if k == 1 for t in _summands(base)]
    divided = any([k < 0 for term in inside for _, k in term.powers.values()])
    if divided and weight(opened) <= found.weight:
        return sum_of(opened, expr)
    if _scales_terms(found):
        return sum_of(opened, expr)
    return _changed(product_of(found, expr), expr)


def _scales_terms(found: Monomial) -> bool:
    """Whether a term is a number times a sum whose terms have numbers, too: 2*(4*x + 2*y) = 8*x + 4*y."""
    ((base, k),) = found.powers.values() if len(found.powers) == 1 else ((None, 0.0),)
    inside = _summands(base) if base is not None and k == 1 else []
    numbers = [found.number, *[term.number for term in inside]]
    return len(inside) > 1 and all([n.is_integer() and abs(n) > 1 for n in numbers])


def _summands(base: Expr) -> list[Monomial]:
    return list(terms_of(base).values()) if base.op in SUMS else []


_MOST_TERMS_OPENED = 4


def _like_terms(expr: Expr) -> Expr | None:
    """x + y - x = y; x*f(y) + f(y) = (x + 1)*f(y); 1/(1 + x) - x/(1 + x)**2 = 1/(1 + x)**2."""
    if expr.op is arithmetic.negative and expr.args[0].op not in SUMS:
        return _like_factors(expr)
    found = collected([in_signs(split_powers(term)) for term in terms_of(expr).values()])
    found = of_one_difference(beside_norms(found))
    opened = paired(distributed(found, alike=True))
    found = opened if len(opened) <= _MOST_TERMS_OPENED else paired(found)
    if len(found) < 2:
        return _changed(_sum_of_joined(found, expr), expr)
    opened = distributed(found)
    found = opened if len(opened) <= len(found) or _is_polynomial(opened) else found
    found = min(found, multiplied_out(found), of_one_sign(multiplied_out(found)), key=weight)
    factor, rest = _factored(found)
    if factor is None:
        return _changed(_sum_of_joined(rest, expr), expr)
    more = common_base(factor, rest)
    rest = collected([term.times(more.to_the(-1.0)) for term in rest.values()])
    whole = joined_powers(factor.times(more).times(_as_factor(rest, expr)))
    return _changed(product_of(whole, expr), expr)


def _is_polynomial(found: Summands) -> bool:
    """Whether terms are powers of one variable, which a polynomial has beside each other."""
    powers = [item for term in found.values() for item in term.powers.items()]
    plain = all([x.op is INPUT and k > 0 and k.is_integer() for _, (x, k) in powers])
    return plain and len({key for key, _ in powers}) == 1


def _sum_of_joined(found: Summands, like: Expr) -> Expr:
    return sum_of(collected(map(joined_powers, found.values())), like)


def _factored(found: Summands) -> tuple[Monomial | None, Summands]:
    """What the terms have in common, if the formula is simpler with it apart, and the other factor."""
    for alike in (False, True) if len(found) > 1 else ():
        factor = common_factor(found, alike)
        inverse = factor.to_the(-1.0)
        rest = distributed(collected([term.times(inverse) for term in found.values()]))
        sums = all([base.op in SUMS for base, k in factor.powers.values() if k < 0])
        if factor.powers and (alike or len(rest) < len(found) + sums):
            return factor, min(rest, multiplied_out(rest), key=weight)
    below = denominator_of(found)
    inverse = below.to_the(-1.0)
    rest = collected([term.times(inverse) for term in found.values()])
    rest = min(multiplied_out(rest), rest, key=weight)
    if below.powers and weight(rest) + below.weight < weight(found):
        return below, rest
    alike = is_alike(found) and not _is_polynomial(found)
    number = abs(next(iter(found.values())).number) if alike else common_part(found)
    if number == 1:
        return None, found
    signs = [term._replace(number=term.number / number) for term in found.values()]
    return Monomial(number, {}), collected(signs)


def _as_factor(found: Summands, like: Expr) -> Monomial:
    """A sum as a factor."""
    if len(found) == 1:
        return next(iter(found.values()))
    return power(_sum_of_joined(found, like), 1.0)


def _derivative_of_sinc(expr: Expr) -> Expr | None:
    """The derivative of sinc = (cos(pi*x) - sinc(x))/x; so are those of higher orders."""
    order = dict(expr.params)["order"]
    if not order:
        return None
    (x,) = expr.args
    before = cardinal_sine.sinc_derivative(x, order=order - 1)
    wave = (np.sin, np.cos)[order % 2](np.pi * x) * (-1) ** (order // 2) * np.pi ** (order - 1)
    return (wave - order * before) / x  # type: ignore[no-any-return]


def _sum_of_parts(expr: Expr) -> Expr | None:
    """A complex number of two parts = re + 1j*im."""
    re, im = expr.args
    return re + 1j * unbroadcast(im)  # type: ignore[no-any-return]


# -- the table ----------------------------------------------------------------------------------
_SCALAR_READING: Mapping[str, tuple[ReadingLaw, ...]] = MappingProxyType(
    {
        "add": (_like_terms,),
        "subtract": (_like_terms,),
        "negative": (_like_terms,),
        "multiply": (_like_factors,),
        "divide": (_like_factors,),
        "square": (_like_factors,),
        "power": (_like_factors,),
        "sqrt": (_like_factors,),
        "exp": (_like_factors,),
        "reciprocal": (_like_factors,),
        "sinc": (_derivative_of_sinc,),
    }
)


def _joined(*tables: Mapping[str, tuple[ReadingLaw, ...]]) -> Mapping[str, tuple[ReadingLaw, ...]]:
    """Tables as one; of an operation in several, the laws of the first are tried first."""
    names = dict.fromkeys([name for table in tables for name in table])
    return MappingProxyType(
        {name: tuple([law for table in tables for law in table.get(name, ())]) for name in names}
    )


STRUCTURAL_READING = _joined(
    GUARD_READING,
    MATRIX_READING,
    JACOBIAN_READING,
    ARRAY_READING,
    AXIS_READING,
    MASK_READING,
    CASE_READING,
    COMPLEX_PARTS,
    EINSUM_READING,
    STORE_READING,
    _SCALAR_READING,
)
"""Reading laws that no pattern can state, by operation."""
COMPLEX_READING = _joined({"make_complex": (_sum_of_parts,)}, COMPLEX_PRODUCTS, MASK_OF_COMPLEX)
"""Reading laws of complex results. Others would lose the side of a branch cut, chosen by a zero's sign."""
COLLECTED = frozenset(
    ("add", "subtract", "negative", "multiply", "divide", "square", "power", "sqrt", "reciprocal")
)
"""Operations that only reading laws rewrite in a reading: others would take their results apart."""

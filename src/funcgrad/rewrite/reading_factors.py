"""Display-only identities between the factors of a product.

Each law takes a `Monomial` to one that is equal up to rounding, wherever both are finite.
"""

from __future__ import annotations

from itertools import chain, combinations, permutations
from math import gcd
from typing import TypeAlias

from funcgrad.expr import Expr, subexpressions
from funcgrad.graph import Key
from funcgrad.ops.base import op
from funcgrad.ops.elementwise import (
    arithmetic,
    exponential,
    extrema,
    logic,
    magnitude,
    selection,
    trigonometric,
)
from funcgrad.rewrite.constant_values import value_of
from funcgrad.rewrite.monomials import (
    SUMS,
    TANGENTS,
    Monomial,
    Summands,
    collected,
    monomial,
    power,
    product_of,
    sum_of,
    terms_of,
    unbroadcast,
)
from funcgrad.rewrite.substitute import substitute_all


def in_sines(term: Monomial) -> Monomial:
    """The product with tan(x) as sin(x)/cos(x) if one of these is a factor, and tanh(x) if it then goes."""
    found = term
    for base, k in term.powers.values():
        for sine_of, cosine_of, tangent in TANGENTS:
            if base.op is not tangent:
                continue
            sine: Expr = sine_of(base.args[0])
            cosine: Expr = cosine_of(base.args[0])
            goes = term.powers.get(cosine.key, (cosine, 0.0))[1] == k
            trigonometry = tangent is trigonometric.tan
            if goes or (trigonometry and (sine.key in term.powers or cosine.key in term.powers)):
                parts = Monomial(1.0, {sine.key: (sine, k), cosine.key: (cosine, -k)})
                found = found.times(power(base, -k)).times(parts)
    return found


def in_signs(term: Monomial) -> Monomial:
    """x*sign(x) = abs(x); abs(x)*sign(x) = x; sign(x)/abs(x) = 1/x; x/abs(x)**3 = sign(x)/x**2."""
    for base, times in list(term.powers.values()):
        x = base.args[0] if base.op is magnitude.absolute else base
        of_x = term.powers.get(x.key, (x, 0.0))[1]
        if x is not base and times < 0 and times % 2 == 1 and of_x % 2 == 1:
            sign = power(magnitude.sign_op(x), 1.0)
            term = term.times(power(base, -times)).times(power(x, times)).times(sign)
    for base, times in list(term.powers.values()):
        if base.op is not magnitude.sign_op or not times > 0 or not times.is_integer():
            continue
        x = base.args[0]
        size: Expr = magnitude.absolute(x)
        of_x = term.powers.get(x.key, (x, 0.0))[1]
        of_size = term.powers.get(size.key, (size, 0.0))[1]
        total, odd = of_x + of_size, (of_x + times) % 2
        if not of_x.is_integer() or total == 0 or (odd and total % 2 != 1 and total < 2):
            continue
        if not odd:
            new = [(x if total % 2 == 0 else size, total)]
        elif total % 2 == 1:
            new = [(x, total)]
        else:
            new = [(x, 1.0), (size, total - 1)]
        for old, k in ((base, times), (x, of_x), (size, of_size)):
            term = term.times(power(old, -k)) if k else term
        for factor, k in new:
            term = term.times(power(factor, k))
    return term


_Numbers: TypeAlias = frozenset[tuple[frozenset[tuple[Key, float]], float]]
"""The terms of a sum, by their keys, with their numbers."""


def with_equal_sums(term: Monomial) -> Monomial:
    """(x + y)/(y + x) = 1; (x - y)/(y - x)**2 = -1/(y - x); 2/(2*x + 4) = 1/(x + 2)."""
    sums = [(base, k) for base, k in term.powers.values() if base.op in SUMS]
    alike: dict[frozenset[_Numbers], list[tuple[Expr, float]]] = {}
    for base, k in sums:
        numbers = _numbers_of(terms_of(base))
        opposite = frozenset([(key, -number) for key, number in numbers])
        alike.setdefault(frozenset((numbers, opposite)), []).append((base, k))
    for (one, k), (other, m) in chain(*[permutations(group, 2) for group in alike.values()]):
        same = _is_same_sum(terms_of(one), terms_of(other))
        if abs(k) <= abs(m) and (same or k.is_integer()):
            sign = 1.0 if same or k % 2 == 0 else -1.0
            merged = term.times(power(one, -k)).times(power(other, k))
            return with_equal_sums(merged._replace(number=merged.number * sign))
    for base, k in sums:
        part = _whole_part(base) if k < 0 and k.is_integer() else 1
        if part > 1 and (term.number * part**k).is_integer():
            rest = [t._replace(number=t.number / part) for t in terms_of(base).values()]
            smaller = term.times(power(base, -k)).times(power(sum_of(collected(rest), base), k))
            return with_equal_sums(smaller._replace(number=term.number * part**k))
    return term


def _whole_part(base: Expr) -> int:
    """The largest whole number that divides all terms of a sum with whole numbers."""
    numbers = [t.number for t in terms_of(base).values()]
    return gcd(*map(int, numbers)) if all([n.is_integer() for n in numbers]) else 1


def in_sigmoids(term: Monomial) -> Monomial:
    """sigmoid(x)*exp(-x)/(1 + exp(-x)) = sigmoid(x)*sigmoid(-x)."""
    if not any([base.op is exponential.sigmoid for base, _ in term.powers.values()]):
        return term
    for base, k in term.powers.values():
        found = dict(terms_of(base)) if base.op in SUMS and k == -1 else {}
        one = found.pop(frozenset(), None)
        if one is None or one.number != 1 or len(found) != 1:
            continue
        (wave,) = found.values()
        ((inner, times),) = wave.powers.values() if len(wave.powers) == 1 else ((base, 0.0),)
        if wave.number != 1 or inner.op is not exponential.exp:
            continue
        if term.powers.get(inner.key, (inner, 0.0))[1] == times:
            inside = monomial(inner.args[0])
            x = product_of(inside._replace(number=inside.number * times), inner)
            rest = term.times(power(base, 1.0)).times(power(inner, -times))
            return rest.times(power(exponential.sigmoid(x), 1.0))
    return term


def joined_exponentials(term: Monomial) -> Monomial:
    """exp(x + y)*exp(x - y) = exp(2*x), if there are no more terms in the exponent."""
    waves = [item for item in term.powers.values() if item[0].op is exponential.exp]
    for (one, k), (other, m) in combinations(waves, 2):
        found, others = terms_of(one.args[0]), terms_of(other.args[0])
        joined = [t._replace(number=t.number * k) for t in found.values()]
        joined += [t._replace(number=t.number * m) for t in others.values()]
        exponent = collected(joined)
        if len(exponent) <= min(len(found), len(others)):
            rest = term.times(power(one, -k)).times(power(other, -m))
            wave: Expr = exponential.exp(sum_of(exponent, one.args[0]))
            return joined_exponentials(rest.times(monomial(wave)))
    return term


def split_powers(term: Monomial) -> Monomial:
    """x**(y - 1) = x**y/x, which `joined_powers` joins again."""
    for base, k in list(term.powers.values()):
        if base.op is not arithmetic.power or k != 1:
            continue
        x, exponent = base.args
        found = dict(terms_of(exponent))
        number = found.pop(frozenset(), Monomial(0.0, {})).number
        if found and number and number.is_integer() and x.key in monomial(x).powers:
            rest: Expr = arithmetic.power(x, sum_of(found, exponent))
            term = term.times(power(base, -1.0)).times(power(x, number)).times(power(rest, 1.0))
    return term


def common_base(factor: Monomial, rest: Summands) -> Monomial:
    """x, of x**y and x*f(x) + x: what a power before a sum takes from its terms."""
    for base, k in factor.powers.values():
        if base.op is arithmetic.power and k == 1:
            x = base.args[0]
            found = [term.powers.get(x.key, (x, 0.0))[1] for term in rest.values()]
            shared = max(min(found), 0.0) or min(max(found), 0.0)
            if shared and shared.is_integer():
                return power(x, shared)
    return Monomial(1.0, {})


def joined_powers(term: Monomial) -> Monomial:
    """x*x**(y - 2) = x**(y - 1)."""
    for base, k in list(term.powers.values()):
        if base.op is not arithmetic.power or k != 1:
            continue
        x, exponent = base.args
        _, more = term.powers.get(x.key, (x, 0.0))
        if more and more.is_integer():
            terms = collected([*terms_of(exponent).values(), Monomial(more, {})])
            joined: Expr = arithmetic.power(x, sum_of(terms, exponent))
            if joined.key in term.powers:
                continue
            placed = [
                (joined, 1.0) if old.key == base.key else (old, k)
                for old, k in term.powers.values()
            ]
            term = term._replace(
                powers={old.key: (old, k) for old, k in placed if old.key != x.key}
            )
    return term


def over_one_denominator(term: Monomial) -> Monomial:
    """The product with a sum multiplied by what it and another factor divide by: x*(y/x + 1) is y + x.

    So is (x/y + 1)/(x + y), which is 1/y.
    """
    for key, (base, exponent) in term.powers.items():
        found = terms_of(base) if base.op in SUMS and exponent.is_integer() else {}
        below = {k: item for t in found.values() for k, item in t.powers.items() if item[1] < 0}
        for other, (factor, _) in below.items():
            lowest = min([t.powers.get(other, (factor, 0.0))[1] for t in found.values()])
            outside = term.powers.get(other, (factor, 0.0))[1]
            scale = Monomial(1.0, {other: (factor, -lowest)})
            scaled = collected([t.times(scale) for t in found.values()])
            equal = _equal_factor(term, key, scaled)
            if equal is None and (outside == 0 or abs(outside + lowest * exponent) > abs(outside)):
                continue
            whole = sum_of(scaled, base) if equal is None else equal
            rest = Monomial(term.number, {k: v for k, v in term.powers.items() if k != key})
            rest = rest.times(scale.to_the(-exponent))
            return rest.times(Monomial(1.0, {whole.key: (whole, exponent)}))
    return term


def _equal_factor(term: Monomial, key: Key, found: Summands) -> Expr | None:
    """Another factor of a product that is the same sum."""
    others = [base for other, (base, _) in term.powers.items() if other != key and base.op in SUMS]
    return next((base for base in others if _is_same_sum(terms_of(base), found)), None)


def in_one_interval(term: Monomial) -> Monomial:
    """(sign(x) + 1)*(sign(1 - x) + 1) = 2*(sign(x) + sign(1 - x)): 4 between, 2 at an end, else 0."""
    sides = {key: _side(base) for key, (base, k) in term.powers.items() if k == 1}
    found = {key: x for key, x in sides.items() if x is not None}
    for (key, low), (other, high) in permutations(found.items(), 2):
        joined = collected([*terms_of(low).values(), *terms_of(high).values()])
        if not all([not t.powers and t.number > 0 for t in joined.values()]) or not joined:
            continue
        between: Expr = magnitude.sign_op(low) + magnitude.sign_op(high)
        rest = {k: item for k, item in term.powers.items() if k not in (key, other)}
        return Monomial(2 * term.number, rest).times(power(between, 1.0))
    return term


def with_safe_denominators(term: Monomial) -> Monomial:
    """y/where(x == 0, 1, x) = y/x wherever y/x is finite."""
    for base, k in list(term.powers.values()):
        inner = unbroadcast(base)
        if k >= 0 or inner.op is not selection.where:
            continue
        p, _, x = inner.args
        is_zero = p.op is logic.equal and value_of(p.args[1]) == 0
        if is_zero and unbroadcast(p.args[0]).key == unbroadcast(x).key:
            safe = op.broadcast_to(x, shape=base.shape) if x.shape != base.shape else x
            term = term.times(power(base, -k)).times(power(safe, k))
    return term


def beside_sides(term: Monomial) -> Monomial:
    """(sign(x - y) + 1)*(sign(z - maximum(x, y)) + 1) = (sign(x - y) + 1)*(sign(z - x) + 1)."""
    sides = {key: _side(base) for key, (base, k) in term.powers.items() if k > 0}
    found = {key: x for key, x in sides.items() if x is not None}
    for (key, side), (other, inside) in permutations(found.items(), 2):
        chosen = {
            each.key: larger
            for each in subexpressions(inside)
            if each.op in (extrema.maximum, extrema.minimum)
            and (larger := _in_order(each, terms_of(side))) is not None
        }
        if chosen and key != other:
            base, k = term.powers[other]
            rest = term.times(power(base, -k))
            return rest.times(power(substitute_all([base], chosen)[0], k))
    return term


def _in_order(expr: Expr, difference: Summands) -> Expr | None:
    """The maximum or the minimum of x and y where their difference is not negative."""
    for x, y in (expr.args, expr.args[::-1]):
        between = collected([*terms_of(x).values(), *terms_of(-y).values()])
        if _is_same_sum(between, difference):
            return x if expr.op is extrema.maximum else y
    return None


def _numbers_of(found: Summands) -> _Numbers:
    return frozenset([(key, term.number) for key, term in found.items()])


def _is_same_sum(found: Summands, other: Summands) -> bool:
    return _numbers_of(found) == _numbers_of(other)


def _side(base: Expr) -> Expr | None:
    """x, of sign(x) + 1."""
    if base.op is not arithmetic.add or value_of(base.args[1]) != 1:
        return None
    sign = base.args[0]
    return sign.args[0] if sign.op is magnitude.sign_op else None

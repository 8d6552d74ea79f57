"""Display-only identities between the terms of a sum, and the length of its text.

Each law takes terms to ones whose sum is equal up to rounding, wherever both are finite.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from math import prod

from funcgrad.expr import Expr
from funcgrad.ops.elementwise import exponential, magnitude, trigonometric
from funcgrad.rewrite.monomials import (
    SUMS,
    Monomial,
    Summands,
    collected,
    monomial,
    power,
    product_of,
    sum_of,
    terms_of,
)

_MOST_TERMS = 8


def weight(found: Summands) -> int:
    """The length of a sum in print."""
    return sum([term.weight for term in found.values()])


def multiplied_out(found: Summands) -> Summands:
    """The sum with products and squares of sums as sums: x*(x + 1) is x**2 + x."""
    opened: list[Monomial] = []
    for term in found.values():
        sums = [item for item in term.powers.items() if _is_sum(*item[1])]
        parts = [list(terms_of(base).values()) for _, (base, k) in sums for _ in range(int(k))]
        if not sums or prod([len(part) for part in parts]) > _MOST_TERMS:
            opened.append(term)
            continue
        rest = {key: item for key, item in term.powers.items() if key not in dict(sums)}
        for chosen in product(*parts):
            made = Monomial(term.number, rest)
            for factor in chosen:
                made = made.times(factor)
            opened.append(made)
    return paired(collected(opened))


def _is_sum(base: Expr, exponent: float) -> bool:
    return base.op in SUMS and exponent in (1, 2)


def paired(found: Summands) -> Summands:
    """sin(x)**2 + cos(x)**2 = 1; tan(x)**2 + 1 = 1/cos(x)**2; exp(x) + exp(-x) = 2*cosh(x)."""
    while True:
        pair = next((pair for term in found.values() for pair in _pairs(term, found)), None)
        if pair is None:
            return found
        one, other, both = pair
        rest = [term for term in found.values() if term is not one and term is not other]
        found = collected([*rest, both])


def _pairs(term: Monomial, found: Summands) -> Iterator[tuple[Monomial, Monomial, Monomial]]:
    """A term, another one of a sum, and what they are together."""
    for base, k in term.powers.values():
        for partner, sign, both in _identities(base, k):
            rest = term.times(power(base, -k))
            other = found.get(rest.times(partner).key)
            if other is not None and other is not term and other.number == sign * term.number:
                yield term, other, rest.times(both)


def _identities(base: Expr, k: float) -> Iterator[tuple[Monomial, int, Monomial]]:
    """What a power may be added to: the other term, its sign, and the sum."""
    one = Monomial(1.0, {})
    if base.op is trigonometric.sin and k == 2:
        yield power(trigonometric.cos(base.args[0]), 2.0), 1, one
    if base.op is trigonometric.cosh and k == 2:
        yield power(trigonometric.sinh(base.args[0]), 2.0), -1, one
    if base.op is trigonometric.tan and k == 2:
        yield one, 1, power(trigonometric.cos(base.args[0]), -2.0)
    if base.op is exponential.exp and k > 0:
        inside = monomial(base.args[0])
        x = product_of(inside._replace(number=inside.number * k), base)
        for sign, function in ((1, trigonometric.cosh), (-1, trigonometric.sinh)):
            yield power(base, -k), sign, power(function(x), 1.0)._replace(number=2.0)


def of_one_sign(found: Summands) -> Summands:
    """sigmoid(-x) = 1 - sigmoid(x) and sign(-x) = -sign(x), in a sum with f(x) and f(-x)."""
    bases = {base.key: base for term in found.values() for base, _ in term.powers.values()}
    for base in bases.values():
        if base.op is not exponential.sigmoid and base.op is not magnitude.sign_op:
            continue
        opposite: Expr = base.op(_negated(base.args[0]))
        if opposite.key not in bases or _minuses(base) > _minuses(opposite):
            continue
        opened = []
        for term in found.values():
            rest = term.times(power(opposite, -1.0))
            if term.powers.get(opposite.key, (opposite, 0.0))[1] != 1:
                opened.append(term)
                continue
            opened.append(rest.times(power(base, 1.0))._replace(number=-term.number))
            opened += [rest] if base.op is exponential.sigmoid else []
        return collected(opened)
    return found


def _negated(x: Expr) -> Expr:
    """The opposite of an expression, as it is read."""
    return sum_of(collected([t._replace(number=-t.number) for t in terms_of(x).values()]), x)


def _minuses(base: Expr) -> int:
    """How many terms of an argument are negative products."""
    return sum([term.number < 0 and bool(term.powers) for term in terms_of(base.args[0]).values()])

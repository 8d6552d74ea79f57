"""Display-only identities between the terms of a sum of arrays: beside norms, and of opposite differences.

Each law takes terms to ones whose sum is equal up to rounding, wherever both are finite.
"""

from __future__ import annotations

from math import prod

from funcgrad.expr import Expr, rebuild, subexpressions
from funcgrad.fold import folded
from funcgrad.graph import INPUT
from funcgrad.ops.base.op import broadcast_to
from funcgrad.ops.contraction import matmul_op
from funcgrad.ops.elementwise import arithmetic
from funcgrad.ops.reduction import norm_op, sum_op
from funcgrad.ops.solve import solve_op
from funcgrad.rewrite.monomials import SUMS, Summands, collected, power, terms_of, unbroadcast
from funcgrad.rewrite.reading_ops import outer_op


def beside_norms(found: Summands) -> Summands:
    """sum(x**2) = norm(x)**2, in a sum with norm(x)."""
    factors = [base for term in found.values() for base, _ in term.powers.values()]
    inside = [terms_of(base).values() for base in factors if base.op in SUMS]
    factors += [base for terms in inside for term in terms for base, _ in term.powers.values()]
    for base in {base.key: base for base in factors if unbroadcast(base).op is norm_op}.values():
        norm = unbroadcast(base)
        squares: Expr = sum_op(arithmetic.square(norm.args[0]), **dict(norm.params))
        squares = broadcast_to(squares, shape=base.shape) if base is not norm else squares
        opened = []
        for term in found.values():
            _, k = term.powers.get(squares.key, (squares, 0.0))
            opened.append(term.times(power(squares, -k)).times(power(base, 2 * k)) if k else term)
        found = collected(opened)
    return found


def of_one_difference(found: Summands) -> Summands:
    """A @ (x - y) - B @ (y - x) = A @ (x - y) + B @ (x - y), for products, outer products and solutions."""
    bases = [base for term in found.values() for base, _ in term.powers.values()]
    inside = subexpressions(*bases, operands=_linear_operands)
    both = [x for x in inside if x.op is arithmetic.subtract]
    keys = {x.key for x in both}
    replaced = {x.key for x in both if _opposite(x).key in keys and _comes_second(x)}
    if not replaced:
        return found

    def step(x: Expr, parts: tuple[tuple[Expr, int], ...]) -> tuple[Expr, int]:
        if x.key in replaced:
            return _opposite(x), -1
        return rebuild(x, tuple([y for y, _ in parts]) or x.args), prod([sign for _, sign in parts])

    opened = []
    for term in found.values():
        for base, k in list(term.powers.values()):
            if k == 1:
                new, sign = folded([base], step, operands=_linear_operands)[0]
                term = term.times(power(base, -1.0)).times(power(new, 1.0)._replace(number=sign))
        opened.append(term)
    return collected(opened)


def _linear_operands(x: Expr) -> tuple[Expr, ...]:
    return x.args if x.op in (matmul_op, outer_op, solve_op) else ()


def _opposite(difference: Expr) -> Expr:
    return arithmetic.subtract(*difference.args[::-1])  # type: ignore[no-any-return]


def _comes_second(difference: Expr) -> bool:
    """Whether the opposite of a difference is written: of y - x, which begins with the later name."""
    names = [x.name if x.op is INPUT else x.key.hex() for x in difference.args]
    return names[0] > names[1]

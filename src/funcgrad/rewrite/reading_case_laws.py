"""Display-only rewrites of guards, cases and comparisons: see `funcgrad.rewrite.reading_laws`."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from itertools import permutations
from operator import mul
from types import MappingProxyType

import numpy as np

from funcgrad.expr import Expr, rebuild, scalar
from funcgrad.graph import Key, unnested
from funcgrad.ops import reduction, shape
from funcgrad.ops.base.op import Op, broadcast_to
from funcgrad.ops.elementwise import (
    arithmetic,
    exponential,
    extrema,
    logic,
    selection,
    trigonometric,
)
from funcgrad.rewrite.constant_values import value_of
from funcgrad.rewrite.monomials import (
    SUMS,
    Monomial,
    collected,
    is_positive,
    monomial,
    power,
    product_of,
    sum_of,
    terms_of,
    unbroadcast,
)
from funcgrad.rewrite.reading_array_laws import ReadingLaw, stacked_numbers
from funcgrad.rewrite.reading_guard_laws import conjuncts
from funcgrad.rewrite.reading_terms import multiplied_out


def _guarded(expr: Expr) -> Expr | None:
    """where(x != 0, y/x, 0) = y/x; where((x != 0) | (y != 0), y*x**(y - 1), 0) = y*x**(y - 1).

    Of several conditions, the others are left: where((x != 0) & (z > 0), y/x, 0) = where(z > 0, y/x, 0).
    So is where(x != 0, x*y, 0), which is 0 there by itself.
    """
    p, value = expr.args
    if value.dtype.kind != "f":
        return None
    numbers = None if unbroadcast(p).shape else stacked_numbers(_unmasked(value))
    parts = [value] if numbers is None else [x for x in numbers if value_of(x) != 0]
    conditions = list(unnested(unbroadcast(p), conjuncts))
    kept = [
        q
        for q in conditions
        if not (zeros := _zeros(q))
        or not all([_needs_no_guard(_unmasked(part), zeros) for part in parts])
    ]
    if len(kept) == len(conditions):
        return None
    whole = reduce(logic.logical_and, kept) if kept else None
    return value if whole is None else selection.mask(broadcast_to(whole, shape=p.shape), value)


def _guarded_limit(expr: Expr) -> Expr | None:
    """where(x != 0, y/x, z) = y/x, if z is a limit at 0; so is where(x != 0, x*y, 0)."""
    p, value, other = expr.args
    zeros = _zeros(p) if value.type == other.type and value.dtype.kind == "f" else None
    needless = _needs_no_guard if value_of(other) == 0 else _has_infinite_term
    return value if zeros and needless(value, zeros) else None


def _beside_infinite(expr: Expr) -> Expr | None:
    """where(not x != 0, z, 0) + y/x = y/x, in the derivative of such a choice."""
    for one, other in (expr.args, expr.args[::-1]):
        p = unbroadcast(one.args[0]) if one.op is selection.mask else one
        if p.op is logic.logical_not and other.dtype.kind == "f":
            zeros = _zeros(p.args[0])
            if zeros and _has_infinite_term(other, zeros):
                return other
    return None


def _zeros(condition: Expr) -> dict[Key, Expr]:
    """The expressions that are zero where a condition does not hold."""
    conditions = unnested(unbroadcast(condition), _disjuncts)
    return {x.key: x for one in conditions for x in (*_nonzero(one), *_nonzero_product(one))}


def _needs_no_guard(value: Expr, zeros: Mapping[Key, Expr]) -> bool:
    """Whether a value is zero, or not finite, where some expressions are zero."""
    return _has_infinite_term(value, zeros) or (bool(terms_of(value)) and _vanishes(value, zeros))


def _has_infinite_term(value: Expr, zeros: Mapping[Key, Expr]) -> bool:
    terms = multiplied_out(terms_of(value)).values()
    return any([_is_infinite(base, k, zeros) for term in terms for base, k in term.powers.values()])


def _unmasked(value: Expr) -> Expr:
    while value.op is selection.mask:
        value = value.args[1]
    return value


_BOTH = (logic.bitwise_and, logic.logical_and)


_EITHER = (logic.bitwise_or, logic.logical_or)


def _disjuncts(p: Expr) -> tuple[Expr, ...]:
    return p.args if p.op in _EITHER else ()


def _nonzero(p: Expr) -> list[Expr]:
    """The expressions that are zero where a condition does not hold: of hypot(x, y) != 0 the sides, too.

    So is x where any(x != 0), of all entries, does not.
    """
    p = unbroadcast(p)
    if p.op is reduction.any_op and not p.shape:
        return [x for q in unnested(unbroadcast(p.args[0]), _disjuncts) for x in _nonzero(q)]
    if p.op is not logic.not_equal or value_of(p.args[1]) != 0:
        return [p, shape.astype(p, float)] if p.dtype.kind == "b" and p.op not in _BOTH else []
    x = unbroadcast(p.args[0])
    sides = x.args if x.op is trigonometric.hypot else ()
    factors = [*monomial(x).powers.values()] if x.dtype.kind == "f" else []
    of_power = [base for base, k in factors if k > 0 and len(factors) == 1]
    return [x, *map(unbroadcast, (*sides, *of_power))]


def _nonzero_product(p: Expr) -> list[Expr]:
    """x*y, where x != 0 & y != 0 does not hold."""
    parts = [_nonzero(q)[:1] for q in unnested(p, conjuncts)] if p.op in _BOTH else []
    return [reduce(mul, [x for (x,) in parts])] if parts and all(parts) else []


def _is_infinite(base: Expr, exponent: float, zeros: Mapping[Key, Expr]) -> bool:
    """Whether a factor is not finite where some expressions are zero."""
    base = unbroadcast(base)
    of_numbers = not any([x.shape for x in zeros.values()])
    if base.op in _LINEAR and exponent > 0 and of_numbers:  # all entries are infinite, or NaN
        return _has_infinite_term(base.args[0], zeros)
    if base.op is exponential.log:
        return _vanishes(base.args[0], zeros)
    if base.op is arithmetic.power and exponent > 0 and _vanishes(base.args[0], zeros):
        of_exponent = terms_of(base.args[1]).values()
        numbers = [x for x in zeros.values() if x.dtype.kind == "f"]
        for x in (None, *numbers):  # less one of the expressions that are zero
            less = () if x is None else terms_of(-x).values()
            rest = collected([t for t in (*of_exponent, *less) if not _has_factor(t, zeros)])
            if [t.number < 0 and not t.powers for t in rest.values()] == [True]:
                return True
        return False
    return exponent < 0 and _vanishes(base, zeros)


_LINEAR = (reduction.sum_op, shape.reshape_op, shape.transpose_op)


def _vanishes(expr: Expr, zeros: Mapping[Key, Expr]) -> bool:
    """Whether an expression is zero where some expressions are."""
    inner = unbroadcast(expr)
    if inner.key in zeros:
        return True
    if inner.op is trigonometric.hypot:
        return all([_vanishes(arg, zeros) for arg in inner.args])
    terms = terms_of(inner).values()
    return all([_has_factor(term, zeros) for term in terms])


def _has_factor(term: Monomial, zeros: Mapping[Key, Expr]) -> bool:
    """Whether a term is zero where some expressions are, which may be products."""
    positive = {unbroadcast(base).key: base for base, k in term.powers.values() if k > 0}
    if any([key in zeros for key in positive]):
        return True
    if any([base.op in SUMS and _vanishes(base, zeros) for base in positive.values()]):
        return True
    products = [monomial(x).powers for x in zeros.values() if x.dtype.kind == "f"]
    return any([len(p) > 1 and positive.keys() >= p.keys() for p in products])


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
    """Whether a condition holds where another does not: of finite numbers, x < y where not x >= y."""
    if q.op is logic.logical_not and q.args[0].key == p.key:
        return True
    (opposite, swapped), sides = _OPPOSITE.get(p.op, (None, None)), [x.key for x in p.args]
    if q.op is opposite:
        return [x.key for x in q.args] == sides
    return q.op is swapped and [x.key for x in q.args] == sides[::-1]


def _is_same_condition(q: Expr, p: Expr) -> bool:
    return q.key == p.key or (q.op is logic.logical_not and _is_opposite(p, q.args[0]))


_OPPOSITE: Mapping[object, tuple[Op | None, Op | None]] = MappingProxyType(
    {
        logic.less: (logic.greater_equal, logic.less_equal),
        logic.greater: (logic.less_equal, logic.greater_equal),
        logic.less_equal: (logic.greater, logic.less),
        logic.greater_equal: (logic.less, logic.greater),
    }
)
"""Comparisons that hold where another does not: of its operands, and of these in the other order."""


def _either_way(expr: Expr) -> Expr | None:
    """p | not p = True; (x >= y) | (y >= x) = True; (x != y) | (x <= y) = True."""
    parts = list(unnested(expr, _disjuncts))
    pairs = permutations(parts, 2) if len(parts) <= _MOST_CONDITIONS else ()
    certain = any([_is_opposite(p, q) or _is_either_order(p, q) for p, q in pairs])
    return scalar(True, expr.dtype) if certain and expr.dtype.kind == "b" else None


_MOST_CONDITIONS = 8


def _needed_conditions(expr: Expr) -> Expr | None:
    """p | q | p = p | q; p | (p & q) = p; p & (p | q) = p."""
    inside, within = (_disjuncts, conjuncts)[:: 1 if expr.op in _EITHER else -1]
    parts = {part.key: part for part in unnested(expr, inside)}
    kept = [
        part
        for part in parts.values()
        if not any([q.key in parts and q.key != part.key for q in unnested(part, within)])
    ]
    if len(kept) == len(list(unnested(expr, inside))) or any([p.type != expr.type for p in kept]):
        return None
    return reduce(expr.op, kept)


def _is_never_zero(expr: Expr) -> Expr | None:
    """sqrt(x**2 + 1) != 0 is True."""
    x, zero = expr.args
    if value_of(zero) != 0 or x.dtype.kind != "f":
        return None
    found = monomial(x)
    positive = [is_positive(base) for base, _ in found.powers.values()]
    return scalar(True, expr.dtype) if found.powers and found.number and all(positive) else None


def _is_above(base: Expr, x: Expr) -> bool:
    """Whether an expression is positive where x is: a sum of powers of x with positive numbers."""
    found = terms_of(base).values() if base.dtype.kind == "f" else ()
    own = {key for term in found for key in term.powers} <= {x.key}
    return bool(found) and own and all([term.number > 0 for term in found])


def _same_operands(expr: Expr) -> Expr | None:
    """x != x is False, and x == x is True."""
    x, y = expr.args
    return scalar(expr.op is logic.equal, expr.dtype) if x.key == y.key else None


def _half_at_a_tie(expr: Expr) -> Expr | None:
    """where(x >= y, z*where(x == y, 0.5, 1), 0) = z*(sign(x - y) + 1)/2."""
    p, value = expr.args
    condition = unbroadcast(p)
    if condition.op not in (logic.greater_equal, logic.less_equal) or value.dtype.kind != "f":
        return None
    found = monomial(value)
    for base, k in found.powers.values():
        if k <= 0 or not k.is_integer() or not _is_half_at(unbroadcast(base), condition):
            continue
        rest = found.times(power(base, -k))
        x, y = condition.args if condition.op is logic.greater_equal else condition.args[::-1]
        side = ((np.sign(x - y) + 1) / 2) ** k
        return product_of(rest, expr) * side if rest.powers or rest.number != 1 else side  # type: ignore[no-any-return]
    return None


def with_opposite_comparison(expr: Expr, args: tuple[Expr, ...]) -> Expr:
    """A node on operands; not x < y is x >= y, of finite numbers."""
    opposite, _ = _OPPOSITE.get(args[0].op if args else None, (None, None))
    if expr.op is logic.logical_not and opposite is not None:
        return opposite(*args[0].args)  # type: ignore[no-any-return]
    return rebuild(expr, args)


def _zero_of_other_sign(expr: Expr) -> Expr | None:
    """where(x >= 0, y*maximum(x, 0), 0) = y*maximum(x, 0), and likewise for minimum."""
    condition = unbroadcast(expr.args[0])
    larger = {logic.greater_equal: extrema.maximum, logic.less_equal: extrema.minimum}
    if condition.op not in larger or value_of(condition.args[1]) != 0 or expr.dtype.kind != "f":
        return None
    sides = {side.key for side in condition.args}
    for base, k in monomial(expr.args[1]).powers.values():
        part = unbroadcast(base)
        if k > 0 and part.op is larger[condition.op] and {y.key for y in part.args} == sides:
            return expr.args[1]
    return None


def _known_conjunct(expr: Expr) -> Expr | None:
    """(p & not q) | q = p | q."""
    for one, q in (expr.args, expr.args[::-1]):
        for p, r in (one.args, one.args[::-1]) if one.op in _BOTH else ():
            if _is_opposite(r, q) and p.type == expr.type:
                return np.logical_or(p, q)  # type: ignore[return-value]
    return None


def _common_conjunct(expr: Expr) -> Expr | None:
    """(p & q) | (r & q) = (p | r) & q."""
    x, y = expr.args
    if x.op not in _BOTH or y.op not in _BOTH or not x.type == y.type == expr.type:
        return None
    for p, q in (x.args, x.args[::-1]):
        for r, other in (y.args, y.args[::-1]):
            if q.key == other.key:
                return logic.logical_and(logic.logical_or(p, r), q)  # type: ignore[no-any-return]
    return None


def _is_half_at(base: Expr, condition: Expr) -> bool:
    """Whether a factor is where(x == y, 0.5, 1), for the sides of a condition."""
    if base.op is not selection.where:
        return False
    tie, half, one = base.args
    sides = {side.key for side in condition.args}
    same = tie.op is logic.equal and {side.key for side in tie.args} == sides
    return same and value_of(half) == 0.5 and value_of(one) == 1


def _sign_of_part(expr: Expr) -> Expr | None:
    """sign(1 - maximum(0, x)) = sign(1 - x), since 0 < 1."""
    found = terms_of(expr.args[0])
    number = found.get(frozenset(), Monomial(0.0, {})).number
    rest = [term for term in found.values() if term.powers]
    if len(rest) != 1 or [k for _, k in rest[0].powers.values()] != [1]:
        return None
    ((part, _),) = rest[0].powers.values()
    beyond = {extrema.maximum: np.less, extrema.minimum: np.greater}.get(part.op)
    for bound, side in zip(map(value_of, part.args), part.args[::-1], strict=False):
        if beyond is not None and bound is not None and beyond(bound, -number / rest[0].number):
            terms = collected(
                [power(side, 1.0)._replace(number=rest[0].number), Monomial(number, {})]
            )
            return np.sign(sum_of(terms, expr))  # type: ignore[return-value]
    return None


def _same_mask(expr: Expr) -> Expr | None:
    """where(p, where(q, x, 0), where(q, y, 0)) = where(q, where(p, x, y), 0); where(True, x, y) = x.

    In the same way are where(p, x, x) and where(p, where(p, x, y), z) simpler.
    """
    p, x, y = expr.args
    if x.key == y.key:
        return x
    if x.op in (selection.where, selection.mask) and _is_same_condition(x.args[0], p):
        return np.where(p, x.args[1], y)  # type: ignore[return-value]
    if value_of(p) is not None:
        chosen = x if value_of(p) else y
        return chosen if chosen.type == expr.type else None
    conditions = [_masked(part) for part in (x, y)]
    first, second = conditions
    if first is None or second is None or first[0].key != second[0].key:
        return None
    return selection.mask(first[0], np.where(p, first[1], second[1]))  # type: ignore[no-any-return]


def _defined(expr: Expr) -> Expr | None:
    """where(x >= 0, 1, nan) = 1, the factor that says where the square of a root is defined."""
    p, one, other = expr.args
    is_factor = value_of(one) == 1 and np.isnan(value_of(other) or 0)
    found = p.op is logic.greater_equal and value_of(p.args[1]) == 0 and is_factor
    return one if found and one.type == expr.type else None


def _masked(expr: Expr) -> tuple[Expr, Expr] | None:
    """The condition and the value of where(p, x, 0)."""
    if expr.op is selection.mask or (expr.op is selection.where and value_of(expr.args[2]) == 0):
        return expr.args[0], expr.args[1]
    return None


def _is_either_order(p: Expr, q: Expr) -> bool:
    """Whether two conditions are x >= y and y >= x, or one of these and x != y; also x <= 0, 1 + x != 0."""
    if p.op not in (logic.greater_equal, logic.less_equal):
        return False
    sides, others = [x.key for x in p.args], [x.key for x in q.args]
    if q.op is logic.not_equal:
        x, y = p.args if p.op is logic.less_equal else p.args[::-1]
        beside_zero = value_of(y) == value_of(q.args[1]) == 0
        return others in (sides, sides[::-1]) or (beside_zero and _is_above(q.args[0], x))
    return q.op is p.op and others == sides[::-1]


CASE_READING: Mapping[str, tuple[ReadingLaw, ...]] = MappingProxyType(
    {
        "add": (_cases, _beside_infinite),
        "mask": (_guarded, _half_at_a_tie, _zero_of_other_sign),
        "not_equal": (_same_operands, _is_never_zero),
        "equal": (_same_operands,),
        "sign": (_sign_of_part,),
        "where": (_same_mask, _defined, _guarded_limit),
        "logical_or": (_either_way, _needed_conditions, _known_conjunct, _common_conjunct),
        "bitwise_or": (_either_way, _needed_conditions, _known_conjunct, _common_conjunct),
        "logical_and": (_needed_conditions,),
        "bitwise_and": (_needed_conditions,),
    }
)
"""The laws by operation."""

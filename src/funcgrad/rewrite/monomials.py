"""Products and sums with like factors and like terms collected, for display.

A product is represented as a *monomial*, a number times powers of distinct factors; a sum as numbers times
monomials. Each is a fold over the products, or sums, below a node, and is written back as an expression.
Equal up to rounding, wherever both are finite: ``x*y/x`` is ``y``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from fractions import Fraction
from functools import reduce
from operator import mul
from typing import Any, NamedTuple

import numpy as np

from funcgrad.expr import Expr, const, scalar
from funcgrad.fold import folded
from funcgrad.graph import CONSTANT, INPUT, Key
from funcgrad.ops.base.op import broadcast_to
from funcgrad.ops.elementwise import arithmetic, exponential, magnitude, trigonometric
from funcgrad.ops.indexing import getitem_op
from funcgrad.ops.reduction import norm_op, sum_op
from funcgrad.ops.shape import reshape_op
from funcgrad.rewrite.constant_values import unrepeated, value_of
from funcgrad.typing import Array

_LARGEST_DENOMINATOR = 64
_FEW_UNITS = 4
"""Units in the last place of a fraction that was computed, as 1 - 1/3."""
_LETTER = re.compile(r"([A-Za-z])(\d*)", re.ASCII)
OTHER_NAMES = ("~", 0)
"""The place of variables that are not called like x or x1."""


class Monomial(NamedTuple):
    """A number times powers of factors: each factor with its exponent, by key."""

    number: float
    powers: dict[Key, tuple[Expr, float]]

    @property
    def weight(self) -> int:
        """The length of a term in print: numbers and variables count 1, other functions 2."""
        of_factors = [
            2 + (abs(k) != 0.5) if _is_radius(base, k) else _weight(base) + (abs(k) != 1)
            for base, k in self.powers.values()
        ]
        return sum(of_factors) + (abs(self.number) != 1 or not of_factors)

    @property
    def key(self) -> frozenset[tuple[Key, float]]:
        """What like terms have in common."""
        return frozenset([(key, exponent) for key, (_, exponent) in self.powers.items()])

    def times(self, other: Monomial) -> Monomial:
        powers = dict(self.powers)
        for key, (base, exponent) in other.powers.items():
            total = exponent + (powers[key][1] if key in powers else 0.0)
            powers[key] = (base, total)
            if total == 0:
                del powers[key]
        number = self.number * other.number
        if number == 0 and self.number and other.number:
            raise FloatingPointError("a product of numbers underflows")
        return Monomial(number, powers)

    def to_the(self, exponent: float) -> Monomial:
        powers = {key: (base, k * exponent) for key, (base, k) in self.powers.items()}
        number = self.number**exponent
        if number == 0 and self.number:
            raise FloatingPointError("a power of a number underflows")
        return Monomial(number, powers)


def power(base: Expr, exponent: float) -> Monomial:
    """A power of a factor."""
    return Monomial(1.0, {base.key: (base, exponent)})


# -- products ------------------------------------------------------------------------------------
_PRODUCTS = frozenset(
    (
        *(arithmetic.multiply, arithmetic.divide, arithmetic.negative, arithmetic.square),
        *(arithmetic.reciprocal, arithmetic.power, exponential.sqrt, exponential.exp),
        broadcast_to,
    )
)


class _Memo(NamedTuple):
    """The results of `monomial` and `terms_of` by the identity of expressions, which ``roots`` keep alive."""

    products: dict[int, Monomial]
    sums: dict[int, list[Monomial]]
    terms: dict[int, Summands]
    roots: list[Expr]


_memo: ContextVar[_Memo | None] = ContextVar("memo", default=None)


@contextmanager
def memoized_terms() -> Iterator[None]:
    """A context in which `monomial` and `terms_of` are memoized: the laws of reading ask many times."""
    token = _memo.set(_Memo({}, {}, {}, []))
    try:
        yield
    finally:
        _memo.reset(token)


def _memo_for(expr: Expr) -> _Memo:
    memo = _memo.get()
    if memo is None:
        return _Memo({}, {}, {}, [])
    memo.roots.append(expr)
    return memo


def monomial(expr: Expr) -> Monomial:
    """A real expression as a number times powers of factors."""
    return folded([expr], _product, _memo_for(expr).products, operands=_factors)[0]


def _factors(expr: Expr) -> tuple[Expr, ...]:
    return expr.args if expr.op in _PRODUCTS and value_of(expr) is None else ()


def _product(expr: Expr, parts: tuple[Monomial, ...]) -> Monomial:
    value = value_of(expr)
    if value is not None:
        number = float(value)
        return Monomial(number, {}) if np.isfinite(number) else _atom(expr)
    if expr.op is trigonometric.hypot:
        x, y = map(arithmetic.square, expr.args)
        return power(x + y, 0.5)
    if not parts:
        return _negated(expr) if expr.op is CONSTANT else _atom(expr)
    op = expr.op
    if op is arithmetic.multiply:
        return parts[0].times(parts[1])
    if op is arithmetic.negative:
        return parts[0]._replace(number=-parts[0].number)
    if op is broadcast_to:
        return _lifted(parts[0], expr.shape)
    if op is exponential.exp:
        return _exponential(expr, parts[0])
    if op is arithmetic.divide:
        return parts[0].times(_raised(expr.args[1], parts[1], -1.0))
    exponent = _exponent(expr)
    return _atom(expr) if exponent is None else _raised(expr.args[0], parts[0], exponent)


def _raised(base: Expr, part: Monomial, exponent: float) -> Monomial:
    """A power of a product: the product of powers, if that is as defined; else a power of it as a whole."""
    if _has_power(part, exponent):
        return part.to_the(exponent)
    even = all([k % 2 == 0 for _, k in part.powers.values()])
    if part.number <= 0 or not part.powers or not even:
        return power(base, exponent)
    found = Monomial(part.number**exponent, {})
    for x, k in part.powers.values():
        found = found.times(power(x if is_positive(x) else magnitude.absolute(x), k * exponent))
    return found


def _exponent(expr: Expr) -> float | None:
    """The number that a power is raised to."""
    if expr.op is arithmetic.square:
        return 2.0
    if expr.op is arithmetic.reciprocal:
        return -1.0
    if expr.op is exponential.sqrt:
        return 0.5
    value = value_of(expr.args[1]) if expr.op is arithmetic.power else None
    return None if value is None or not np.isfinite(value) else float(value)


def _has_power(base: Monomial, exponent: float) -> bool:
    """Whether a power of a product is the product of powers: the root of x**2 is not x."""
    if base.number == 0 and exponent <= 0:
        return False
    if exponent.is_integer():
        return True
    odd = [k % 2 == 1 or not k.is_integer() for _, k in base.powers.values()]
    return base.number > 0 and len(odd) <= 1 and all(odd)


def _atom(expr: Expr) -> Monomial:
    return power(expr, 1.0)


def scalars_apart(expr: Expr) -> tuple[Monomial, Monomial]:
    """The scalar factors of a product, broadcast ones included, and the other factors."""
    found = monomial(expr)
    powers = [(unbroadcast(base), base, k) for base, k in found.powers.values()]
    alike = {inner.key: (inner, k) for inner, _, k in powers if not inner.shape}
    rest = {base.key: (base, k) for inner, base, k in powers if inner.shape}
    return Monomial(found.number, alike), Monomial(1.0, rest)


def _negated(expr: Expr) -> Monomial:
    """A constant array as -1 times one without negative entries, or as a number times an identity matrix."""
    array = expr.params[0][1].array
    if array.ndim == 2 and array.size and array.flat[0] and _is_multiple_of_identity(array):
        number = float(array.flat[0])
        return _atom(const(array / number))._replace(number=number)
    if np.any(array > 0) or not np.any(array < 0):
        return _atom(expr)
    return _atom(const(0.0 - array))._replace(number=-1.0)


def _is_multiple_of_identity(array: Array) -> bool:
    rows, columns = array.shape
    return rows == columns and np.array_equal(array, array.flat[0] * np.eye(rows))


def is_positive(base: Expr) -> bool:
    """Whether a factor is an exponential, or a sum of even powers and of a positive number."""
    base = unbroadcast(base)
    if base.op not in SUMS:
        return base.op in (exponential.exp, trigonometric.cosh)
    found = terms_of(base).values()
    even = [k % 2 == 0 for term in found for _, k in term.powers.values()]
    return all([t.number > 0 for t in found]) and all(even) and not all([t.powers for t in found])


def _lifted(part: Monomial, shape: tuple[int, ...]) -> Monomial:
    """A product of repeated factors, for a repeated product."""
    wide = [(broadcast_to(base, shape=shape), k) for base, k in part.powers.values()]
    return Monomial(part.number, {base.key: (base, k) for base, k in wide})


def _exponential(expr: Expr, inside: Monomial) -> Monomial:
    """exp(c*x) as a power of exp(x)."""
    if not inside.powers or inside.number == 0:
        return _atom(expr)
    base: Expr = exponential.exp(product_of(inside._replace(number=1.0), expr))
    return power(base, inside.number)


def product_of(term: Monomial, like: Expr) -> Expr:
    """A monomial as an expression of the type of ``like``: numbers first, and what divides in one place."""
    if term.number == 0:
        return _number(0.0, like)
    small = _repeated(term)
    if small is not None:
        return broadcast_to(small, shape=like.shape)  # type: ignore[no-any-return]
    top: list[Expr] = []
    bottom: list[Expr] = []
    for base, exponent in sorted(_merged(term.powers.values()), key=lambda item: _place(item[0])):
        if base.op is exponential.exp:
            inside = monomial(base.args[0])
            inside = inside._replace(number=inside.number * exponent)
            top.append(exponential.exp(product_of(inside, base)))
        else:
            (top if exponent > 0 else bottom).append(_power(base, abs(exponent)))
    number, top = _positive(term.number, top)
    above, below = _ratio(abs(number), like.dtype)
    if above != 1 or not top:
        top.insert(0, _number(above, like))
    if below != 1:
        bottom.insert(0, _number(below, like))
    found = reduce(mul, top)
    if bottom:
        found = found / reduce(mul, bottom)
    return -found if number < 0 else found


def _repeated(term: Monomial) -> Expr | None:
    """A product of repeated factors of one shape, before it is repeated."""
    inner = [base.args[0] for base, _ in term.powers.values() if base.op is broadcast_to]
    if not inner or len(inner) < len(term.powers) or len({x.shape for x in inner}) > 1:
        return None
    powers = {x.key: (x, k) for x, (_, k) in zip(inner, term.powers.values(), strict=True)}
    return product_of(Monomial(term.number, powers), inner[0])


def _positive(number: float, factors: list[Expr]) -> tuple[float, list[Expr]]:
    """A negative number and a difference as a positive one and the opposite: -(x - y) is y - x.

    A factor that is a sum of negative terms is the opposite of one of positive terms.
    """
    for i, x in enumerate(factors):
        found = terms_of(x) if x.op is arithmetic.subtract and number >= 0 else {}
        if found and all([term.number < 0 for term in found.values()]):
            opposite = [term._replace(number=-term.number) for term in found.values()]
            return -number, [*factors[:i], sum_of(collected(opposite), x), *factors[i + 1 :]]
    place = next((i for i, x in enumerate(factors) if x.op is arithmetic.subtract), None)
    if number >= 0 or place is None:
        return number, factors
    x, y = factors[place].args
    return -number, [*factors[:place], y - x, *factors[place + 1 :]]


def _merged(powers: Iterable[tuple[Expr, float]]) -> list[tuple[Expr, float]]:
    """The factors, with sin(x)/cos(x) as tan(x), (x**2 + y**2)**0.5 as hypot(x, y), and sum(x**2)
    beside norm(x) as its square."""
    found = {base.key: (base, k) for base, k in powers}
    for base, k in list(found.values()):
        if base.op is norm_op:
            square: Expr = sum_op(arithmetic.square(base.args[0]), **dict(base.params))
            _, other = found.pop(square.key, (square, 0.0))
            found[base.key] = (base, k + 2 * other)
        if _is_radius(base, k):
            del found[base.key]
            radius: Expr = trigonometric.hypot(*[side.args[0] for side in base.args])
            _, other = found.get(radius.key, (radius, 0.0))
            found[radius.key] = (radius, other + 2 * k)
    for base, k in list(found.values()):
        for sine, cosine, tangent in TANGENTS:
            if base.op is sine and k > 0:
                below: Expr = cosine(base.args[0])
                if found.get(below.key, (below, 0.0))[1] == -k:
                    del found[below.key]
                    found[base.key] = (tangent(base.args[0]), k)
    return list(found.values())


def _is_radius(base: Expr, exponent: float) -> bool:
    """Whether a power of a sum is one of a radius: (x**2 + y**2)**1.5 is hypot(x, y)**3."""
    squares = base.op is arithmetic.add and all([x.op is arithmetic.square for x in base.args])
    return squares and exponent % 1 == 0.5


TANGENTS = (
    (trigonometric.sin, trigonometric.cos, trigonometric.tan),
    (trigonometric.sinh, trigonometric.cosh, trigonometric.tanh),
)
"""Functions with the two whose ratio they are, last."""


def _number(value: float, like: Expr) -> Expr:
    with np.errstate(over="ignore"):
        number = scalar(value, like.dtype)
    if not np.isfinite(value_of(number)):
        raise OverflowError("a number of a product or a sum overflows")
    return broadcast_to(number, shape=like.shape) if like.shape else number


def _power(base: Expr, exponent: float) -> Expr:
    if exponent == 1:
        return base
    if exponent == 0.5:
        return np.sqrt(base)  # type: ignore[return-value]
    above, below = _ratio(exponent, base.dtype)
    return np.square(base) if exponent == 2 else base ** (above / below)  # type: ignore[return-value]


def _ratio(number: float, dtype: np.dtype[Any]) -> tuple[float, float]:
    """A number as a ratio of whole numbers where a person would write one: 1/2 for 0.5, but not for 0.1."""
    if number.is_integer() or not 1e-4 < number < 1e4:
        return number, 1.0
    simple = Fraction(number).limit_denominator(_LARGEST_DENOMINATOR)
    near = abs(float(simple) - number) <= _FEW_UNITS * np.finfo(dtype).eps * number
    same = near if dtype.kind == "f" else float(simple) == number
    binary = simple.denominator & (simple.denominator - 1) == 0
    if same and (binary or len(str(number)) > 8):
        return float(simple.numerator), float(simple.denominator)
    return number, 1.0


def _place(base: Expr) -> tuple[int, str, int]:
    """Where a factor stands in a product: variables first, those like x or x1 in alphabetical order."""
    inner = unbroadcast(base)
    return (_rank(base), *alphabetical(inner.name if inner.op is INPUT else ""))


def alphabetical(name: str) -> tuple[str, int]:
    """Where a variable stands among factors: names like x or x1 in order, all others behind them.

    >>> sorted(["width", "x10", "x2", "a"], key=alphabetical)
    ['a', 'x2', 'x10', 'width']
    """
    found = _LETTER.fullmatch(name)
    return (found[1], int(found[2] or 0)) if found else OTHER_NAMES


def unbroadcast(expr: Expr) -> Expr:
    """What is below broadcasts, and reshapes that add axes of length 1 in front."""
    while expr.op is broadcast_to or (
        expr.op is reshape_op and adds_axes(expr.args[0].shape, expr.shape)
    ):
        expr = expr.args[0]
    return expr


def adds_axes(inner: tuple[int, ...], outer: tuple[int, ...]) -> bool:
    """Whether a shape is another one with axes of length 1 in front."""
    return outer == (1,) * (len(outer) - len(inner)) + inner


def _rank(base: Expr) -> int:
    """The place of a factor: variables, then sums, then other functions."""
    base = unrepeated(base)
    if base.op is INPUT or base.op is getitem_op:
        return 0
    return 1 if base.op in SUMS or base.op is arithmetic.power else 2


# -- sums ----------------------------------------------------------------------------------------
SUMS = frozenset((arithmetic.add, arithmetic.subtract))
_SIGNED = SUMS | {arithmetic.negative}

Summands = dict[frozenset[tuple[Key, float]], Monomial]


def terms_of(expr: Expr) -> Summands:
    """A real expression as a sum of monomials, like terms collected."""
    memo = _memo_for(expr)
    if id(expr) not in memo.terms:
        memo.terms[id(expr)] = collected(folded([expr], _sum, memo.sums, operands=_summands)[0])
    return memo.terms[id(expr)]


def _summands(expr: Expr) -> tuple[Expr, ...]:
    if expr.op is arithmetic.negative and expr.args[0].op not in _SIGNED:
        return ()
    return expr.args if expr.op in _SIGNED else ()


def _sum(expr: Expr, parts: tuple[list[Monomial], ...]) -> list[Monomial]:
    if not parts:
        return [monomial(expr)]
    last = [term._replace(number=-term.number) for term in parts[-1]]
    if expr.op is arithmetic.negative:
        return last
    return parts[0] + (last if expr.op is arithmetic.subtract else parts[1])


def collected(found: Iterable[Monomial]) -> Summands:
    """Like terms as one; those that cancel, up to rounding, are left out."""
    sums: Summands = {}
    for term in found:
        known = sums.get(term.key)
        sums[term.key] = term if known is None else _added(known, term)
    return {key: term for key, term in sums.items() if term.number != 0}


def _added(term: Monomial, other: Monomial) -> Monomial:
    """The sum of like terms; 0 if no more than rounding is left of them, as of sqrt(2) - 2/sqrt(2)."""
    number = term.number + other.number
    rounding = _FEW_UNITS * np.finfo(float).eps * max(abs(term.number), abs(other.number))
    return other._replace(number=0.0 if abs(number) <= rounding else number)


def is_alike(found: Summands) -> bool:
    """Whether terms are products with one number, which stands before their sum: 2*(x + y)."""
    numbers = {abs(term.number) for term in found.values()}
    return len(found) > 1 and len(numbers) == 1 and all([term.powers for term in found.values()])


def common_part(found: Summands) -> float:
    """1/d for terms whose numbers are fractions with one denominator d, as in 3*x/2 + y/2; else 1."""
    sizes = [_ratio(abs(term.number), np.dtype(float))[1] for term in found.values()]
    return 1 / sizes[0] if len({*sizes}) == 1 and len(sizes) > 1 else 1.0


def distributed(found: Summands, alike: bool = False) -> Summands:
    """The terms, with sums among them taken apart: 2*(x + 1) is 2*x + 2.

    ``alike``: only sums of products with one number, as 2*(x + y).
    """
    opened: list[Monomial] = []
    for term in found.values():
        if len(term.powers) == 1:
            ((base, exponent),) = term.powers.values()
            inside = terms_of(base) if exponent == 1 and base.op in _SIGNED else {}
            if inside and (not alike or is_alike(inside)):
                opened += [t._replace(number=t.number * term.number) for t in inside.values()]
                continue
        opened.append(term)
    return collected(opened)


def _weight(base: Expr) -> int:
    """The length of a factor in print; a sum within a sum counts as another function."""
    if unbroadcast(base).op not in SUMS:
        return 1 if _is_name(base) else 2
    found = terms_of(unbroadcast(base)).values()
    inside = [
        sum([(1 if _is_name(x) else 2) + (abs(k) != 1) for x, k in term.powers.values()])
        for term in found
    ]
    return sum(inside) + sum([abs(term.number) != 1 or not term.powers for term in found])


def _is_name(base: Expr) -> bool:
    return unbroadcast(base).op in (INPUT, getitem_op)


def sum_of(found: Summands, like: Expr) -> Expr:
    """A sum of monomials as an expression: numbers last, and a positive term first."""
    ordered = sorted(found.values(), key=lambda term: not term.powers)
    if all([_is_power_product(term) for term in ordered]):
        ordered.sort(key=lambda term: -sum([k for _, k in term.powers.values()]))
    if not ordered:
        return _number(0.0, like)
    first = next((i for i, term in enumerate(ordered) if term.number > 0), 0)
    ordered = [ordered[first], *ordered[:first], *ordered[first + 1 :]]
    sum_ = product_of(ordered[0], like)
    for term in ordered[1:]:
        size = product_of(term._replace(number=abs(term.number)), like)
        sum_ = sum_ + size if term.number > 0 else sum_ - size
    return sum_


def _is_power_product(term: Monomial) -> bool:
    """Whether a term of a sum is one of a polynomial in variables."""
    return all([base.op is INPUT and k > 0 and k.is_integer() for base, k in term.powers.values()])


def common_factor(found: Summands, alike: bool) -> Monomial:
    """What divides all terms and is more than a variable: in x*f(y) + f(y), f(y).

    ``alike``: of what divides in each term, only what does so to one power.
    """
    first, *rest = found.values()
    powers = {}
    for key, (base, exponent) in first.powers.items():
        others = [term.powers.get(key, (base, 0.0))[1] for term in rest]
        signs = {np.sign(k) for k in (exponent, *others)}
        same = exponent < 0 and len({exponent, *others}) == 1
        unlike = alike and exponent < 0 and not same
        if len(signs) == 1 and (_rank(base) > 0 or same) and not unlike:
            powers[key] = (base, min(exponent, *others))
    return Monomial(1.0, powers)


def denominator_of(found: Summands) -> Monomial:
    """The common denominator of fractions, if one divides by more than a variable."""
    powers: dict[Key, tuple[Expr, float]] = {}
    for term in found.values():
        for key, (base, k) in term.powers.items():
            if k < powers.get(key, (base, 0.0))[1]:
                powers[key] = (base, k)
    more = any([_rank(base) > 0 for base, _ in powers.values()])
    return Monomial(1.0, powers if more else {})

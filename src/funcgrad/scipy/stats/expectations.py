"""Expectations under distributions with traced shapes: integrals and sums of the density or mass.

Where SciPy has a formula for a moment, its code is adopted. The others are computed by compiled code, or by
integrals whose derivatives in infinite limits are no numbers. They have SciPy's value here, and the
derivative of an integral of the density, whose limits are constant where they are infinite.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from scipy.stats import rv_continuous

from funcgrad.ops.base.op import lift_fully
from funcgrad.ops.shape import holds_expr
from funcgrad.scipy import special
from funcgrad.scipy.composition import real, with_value
from funcgrad.scipy.integrate import quad
from funcgrad.transforms.custom.primitive import primitive
from funcgrad.transforms.grad import stop_gradient
from funcgrad.typing import Array, ArrayLike

_Function = Callable[..., Any]
_CUTS = (0.05, 0.95)
"""Probabilities at whose quantiles SciPy's `expect` divides its integral."""


def has_formula(own: Any, name: str) -> bool:
    """Whether SciPy computes a moment or the entropy by a formula of its own, right for all shapes."""
    kind = type(own)
    if own.name in _WITH_CASES or not isinstance(own, rv_continuous):
        return own.name not in _WITH_CASES
    if name == "entropy":
        return bool(kind._entropy is not rv_continuous._entropy)
    return bool(kind._stats is not rv_continuous._stats or kind._munp is not rv_continuous._munp)


_WITH_CASES = ("kappa4", "truncpareto")
"""Distributions whose formulas have cases of equal shapes, which do not tell how the moment changes."""


INTEGRALS = ("studentized_range",)
"""Distributions whose density is an integral by itself: those of it take minutes."""


def moment(distribution: Any, name: str, *shapes: ArrayLike) -> Any:
    """The mean, variance, standard deviation or entropy of a standard distribution."""
    given = [real(f"{distribution.name}.{name}", shape) for shape in shapes]
    sizes = np.broadcast_shapes(*[np.shape(shape) for shape in given])
    if not sizes:
        return _moment(distribution, name, given)
    flat = [np.broadcast_to(shape, sizes).reshape(-1) for shape in given]
    found = [_moment(distribution, name, [x[i] for x in flat]) for i in range(flat[0].size)]
    return np.stack(found).reshape(sizes) if found else np.zeros(sizes)


def stats(distribution: Any, *shapes: ArrayLike, **_: object) -> tuple[Any, ...]:
    """As SciPy's method `_stats`: its values, with the derivatives of the formula."""
    given = [real(f"{distribution.name}.stats", shape) for shape in shapes]
    with np.errstate(all="ignore"):  # where a moment is infinite
        found = distribution.standard.stats(*given)
    return tuple([_with_scipys(distribution, k, given, z) for k, z in enumerate(found)])


def _with_scipys(distribution: Any, place: int, shapes: list[Array], found: Array) -> Any:
    def one(*shapes: Array) -> Any:
        return np.asarray(distribution.own.stats(*shapes, moments="mvsk"[place]), float)

    own = primitive(one, name=f"{distribution.name}_stats")
    return _with_finite(own(*[stop_gradient(lift_fully(shape)) for shape in shapes]), found)


def _with_finite(value: Array, found: Array) -> Any:
    return np.where(np.isfinite(value), with_value(value, found), value)


def _moment(distribution: Any, name: str, shapes: list[Array]) -> Any:
    own = primitive(getattr(distribution.own, name), name=f"{distribution.name}_{name}")
    value = own(*[stop_gradient(lift_fully(shape)) for shape in shapes])

    if name == "entropy":
        found = distribution.expectation(lambda y, log: -log, shapes)
    else:
        found = distribution.expectation(lambda y, log: y, shapes)
        if name != "mean":
            mean = found
            found = distribution.expectation(lambda y, log: (y - mean) ** 2, shapes)
            found = np.sqrt(found) if name == "std" else found
    return _with_finite(value, found)


def entropy_by_quadrature(distribution: Any, *shapes: Array) -> Any:
    """For `scipy.stats.rv_continuous._entropy`: its integral, without the points where the density is 0."""

    def weighted(y: Array) -> Any:
        density = distribution._pdf(y, *shapes)
        is_in = density > 0
        return np.where(is_in, special.entr(np.where(is_in, density, 1.0)), 0.0)

    with np.errstate(over="ignore"):
        return quad(weighted, *distribution._get_support(*shapes))[0]


def expect_by_quadrature(
    distribution: Any,
    func: _Function | None = None,
    args: tuple[Array, ...] = (),
    loc: Any = 0,
    scale: Any = 1,
    lb: ArrayLike | None = None,
    ub: ArrayLike | None = None,
    conditional: bool = False,
    **options: Any,
) -> Any:
    """As `scipy.stats.rv_continuous.expect`: the expectation of func(x), also in what ``func`` captures."""
    function: _Function = np.positive if func is None else func

    # In the distribution's own variable, whose density is read at the end of the support itself: beside it,
    # by rounding, it is zero, and what the moving end adds to the derivative would be lost.
    def weighted(y: Array) -> Any:
        density = distribution.pdf(y, *args)
        return np.where(density > 0, function(loc + y * scale) * density, 0.0)

    low, high = _ends(distribution, args)
    if lb is not None:
        low = _within((lb - loc) / scale, low, high)
    if ub is not None:
        high = _within((ub - loc) / scale, low, high)
    below, above = (distribution.cdf(end, *args) for end in (low, high))
    share = above - below
    if distribution.name in _KINKS:
        kinks = [_within(y, low, high) for y in _KINKS[distribution.name](*args)]
        found = _between_kinks(weighted, [low, *kinks, high], options)
        return found / share if conditional else found

    first, last = (
        stop_gradient(lift_fully(distribution.ppf(below + share * p, *args))) for p in _CUTS
    )

    def beside(end: Any, cut: Array, quantile: _Function, side: _Function) -> tuple[Any, Any]:
        """An integral over quantiles from an end on to where a piece begins, and that place."""
        start = np.where(_is_steep(distribution, end, cut, args), cut, end)

        def at(q: Array) -> Any:
            return function(loc + quantile(q, *args) * scale)

        return quad(at, 0.0, side(start, *args), **options)[0], start

    moves = [holds_expr(end) for end in distribution._get_support(*args)]
    parts: list[Any] = []
    if lb is None and moves[0]:
        part, low = beside(low, first, distribution.ppf, distribution.cdf)
        parts.append(part)
    if ub is None and moves[1]:
        part, high = beside(high, last, distribution.isf, distribution.sf)
        parts.append(part)
    found = sum(parts, _in_pieces(weighted, low, high, [first, last], options))
    return found / share if conditional else found


def _is_steep(distribution: Any, end: Any, inside: Array, shapes: Sequence[Array]) -> Any:
    """Whether the density beside an end that moves with the shapes is a power below 1 of the distance to it.

    At a place, its slope is a power below 0, which has no integral, or one of few digits.
    """
    near, nearer = (distribution.pdf(end + (inside - end) * t, *shapes) for t in (1e-2, 1e-4))
    power = stop_gradient(np.log(near / nearer)) / math.log(1e2)
    return np.logical_and(power < 1.0, np.abs(power) > 0.01)


_KINKS: dict[str, Callable[..., Sequence[Any]]] = {
    "triang": lambda c: [c],
    "trapezoid": lambda c, d: [c, d],
}
"""Where densities have kinks that move with the shapes, by the names of the distributions."""


def _between_kinks(integrand: _Function, ends: list[Any], options: Mapping[str, Any]) -> Any:
    """The integral over pieces that are stretched with their ends: no place comes to lie beyond a kink."""
    total: Any = 0.0
    for start, end in itertools.pairwise(ends):
        width = end - start
        total = (
            total
            + quad(
                lambda u, start=start, width=width: integrand(start + width * u) * width,
                0.0,
                1.0,
                **options,
            )[0]
        )
    return total


def _within(x: Array, low: Array, high: Array) -> Any:
    """x, or the end of the support beyond which it is."""
    return np.where(x < low, low, np.where(x > high, high, x))


def moments_of_truncpareto(distribution: object, n: Array, b: Array, c: Array) -> Any:
    """For `scipy.stats.truncpareto._munp`, whose case n == b does not tell how the moment changes in b.

    Near it the difference of powers, which cancels, is a product.
    """
    order, b, c = (np.asarray(x, float) if not holds_expr(x) else x for x in (n, b, c))
    distance = (b - order) * np.log(c)
    is_near = np.abs(distance) < 1e-3
    other = np.where(is_near, b + 1.0, b)
    power = np.where(is_near, 0.0, other / (other - order) * (c**other - c**order))
    between = b * np.log(c) * c**order * special.exprel(distance)
    return np.where(is_near, between, power) / (c**b - 1)


def moments_of_trapezoid(distribution: object, n: Array, c: Array, d: Array) -> Any:
    """For `scipy.stats.trapezoid._munp`, whose cases d == 0 and d == 1 do not tell how the moment changes."""
    order = np.asarray(n)
    powers = [np.where(k < order + 2, d**k, 0.0) for k in range(int(np.max(order)) + 2)]
    scale = 2.0 / ((1.0 + d - c) * (order + 1) * (order + 2))
    return scale * (sum(powers[1:], powers[0]) - c ** (order + 1))


def moments_of_genpareto(distribution: object, n: Array, c: Array) -> Any:
    """For `scipy.stats.genpareto._munp`, whose sum cancels near c == 0, where it is a case of its own."""
    order = int(n)
    product: Any = 1.0
    for k in range(1, order + 1):
        product = product * k / (1.0 - k * np.where(c * order < 1, c, 0.0))
    return np.where(c * order < 1, product, np.inf)


def over_support(distribution: Any, function: _Function, shapes: Sequence[Array]) -> Any:
    """The expectation of function(y, the logarithm of y's density)."""

    def weighted(y: Array) -> Any:
        log = distribution.logpdf(y, *shapes)
        is_in = log > -np.inf
        return np.where(is_in, np.exp(log) * function(y, np.where(is_in, log, 0.0)), 0.0)

    low, high = _ends(distribution, shapes)
    if holds_expr([low, high]):
        return _over_probabilities(distribution, function, shapes)
    return _in_pieces(weighted, low, high, _quantiles(distribution, _CUTS, shapes))


def _over_probabilities(distribution: Any, function: _Function, shapes: Sequence[Array]) -> Any:
    """By the quantiles: beside an end that moves, slopes of the density may be infinite."""

    def side(quantile: _Function) -> Any:
        def at(share: Array) -> Any:
            y = quantile(share, *shapes)
            return function(y, distribution.logpdf(y, *shapes))

        return quad(at, 0.0, 0.5)[0]

    return side(distribution.ppf) + side(distribution.isf)


def _ends(distribution: Any, shapes: Sequence[Array]) -> tuple[Any, Any]:
    if distribution.name == "vonmises":  # which is periodic
        return -math.pi, math.pi
    low, high = distribution.support(*shapes)
    return low, high


def over_integers(distribution: Any, function: _Function, shapes: Sequence[Array]) -> Any:
    """The expectation of function(k, the logarithm of k's mass), by SciPy's sum."""

    def at(k: Array) -> Any:
        log = distribution.logpmf(k, *shapes)
        return function(k, np.where(log > -np.inf, log, 0.0))

    return distribution.expect(at, args=tuple(shapes))


def _quantiles(
    distribution: Any, probabilities: Sequence[Array | float], shapes: Sequence[Array]
) -> list[Any]:
    return [stop_gradient(lift_fully(distribution.ppf(p, *shapes))) for p in probabilities]


def _in_pieces(
    integrand: _Function,
    low: Any,
    high: Any,
    cuts: list[Array],
    options: Mapping[str, Any] | None = None,
) -> Any:
    ends = [low, *cuts, high]
    total: Any = 0.0
    for start, end in itertools.pairwise(ends):
        total = total + quad(integrand, start, end, **(options or {}))[0]
    return total

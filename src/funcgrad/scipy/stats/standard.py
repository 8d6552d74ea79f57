"""Standard distributions, with loc 0 and scale 1, as functions of x and the shape parameters.

A row of the tables states the logarithm of the density, the support, and as many of the other functions as
have a stable formula of their own; `completed` derives the rest. A distribution that is another one in a
changed variable is a row of `changed`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

import numpy as np

from funcgrad.typing import Array

Formula = Callable[..., Any]
"""A function of x, or of a probability, and the shape parameters."""


def whole_line(*shapes: Array) -> tuple[Any, Any]:
    """The support of a distribution on all real numbers."""
    return -math.inf, math.inf


def half_line(*shapes: Array) -> tuple[Any, Any]:
    """The support of a distribution on the positive numbers."""
    return 0.0, math.inf


def unit_interval(*shapes: Array) -> tuple[Any, Any]:
    """The support of a distribution on the interval from 0 to 1."""
    return 0.0, 1.0


def all_positive(*shapes: Array) -> Any:
    """Whether shape parameters are positive: SciPy's condition, if a distribution has no other."""
    valid: list[Any] = [shape > 0 for shape in shapes]
    return reduce(np.logical_and, valid, True)


def any_real(*shapes: Array) -> Any:
    """Whether shape parameters are finite: the condition of distributions that take both signs."""
    valid: list[Any] = [np.isfinite(shape) for shape in shapes]
    return reduce(np.logical_and, valid, True)


ENDS: Mapping[str, tuple[float, float]] = {
    "cdf": (0.0, 1.0),
    "sf": (1.0, 0.0),
    "logcdf": (-math.inf, 0.0),
    "logsf": (0.0, -math.inf),
}
"""The values of the cumulative functions below and above the support."""
OTHER_SIDE = {"cdf": "sf", "sf": "cdf", "logcdf": "logsf", "logsf": "logcdf"}
CUMULATIVE = frozenset(ENDS)
OF_DISCRETE = CUMULATIVE | {"pmf", "logpmf"}
OF_CONTINUOUS = CUMULATIVE | {"pdf", "logpdf", "ppf", "isf"}
"""The methods of continuous distributions."""


@dataclass(frozen=True)
class Standard:
    """A standard distribution; ``None`` stands for a function that follows from the others.

    ``density`` is the logarithm of the density, or of the probability mass of a discrete distribution.
    ``cdf`` and ``sf`` add up to 1, and each is accurate where it is small; ``logcdf`` and ``logsf`` are
    finite where those underflow. ``ppf`` and ``isf`` are the inverses of ``cdf`` and ``sf``.

    ``start`` is the logarithm of ``cdf`` next to 0, as a function of log(x): for arguments that underflow.
    ``end`` is the logarithm of ``sf`` next to infinity, as a function of log(x), for a distribution with a
    fat tail. ``log_quantile`` is the inverse of ``start``: log(x) as a function of log(q).

    ``mass`` is the probability mass as a product, for parameters on the ``edge`` of their range, at which
    ``density`` may be -inf while the mass has a derivative. ``exact`` is the mass with the digits that
    exp(``density``) loses for large counts. ``entropy`` is that of traced shapes, and ``stats`` gives their
    mean, variance, skewness and excess kurtosis, where SciPy's are compiled code. ``hosted`` has the methods
    that SciPy computes faster, for jitted programs of which no derivative is asked.
    """

    density: Formula
    cdf: Formula | None = None
    sf: Formula | None = None
    logcdf: Formula | None = None
    logsf: Formula | None = None
    ppf: Formula | None = None
    isf: Formula | None = None
    support: Callable[..., tuple[Any, Any]] = whole_line
    valid: Formula = all_positive
    start: Formula | None = None
    end: Formula | None = None
    log_quantile: Formula | None = None
    mass: Formula | None = None
    edge: Formula | None = None
    exact: Formula | None = None
    entropy: Formula | None = None
    stats: Formula | None = None
    hosted: frozenset[str] = frozenset()


def log1mexp(t: Array) -> Any:
    """log(1 - exp(-t)) for t > 0."""
    near, far = t < math.log(2), t > 40  # where second derivatives divide by exp(t)
    place = np.where(far, 1.0, t)
    close = np.where(near, np.log(-np.expm1(-place)), np.log1p(-np.exp(-place)))
    return np.where(far, -np.exp(-t), close)


def log_where_small(small: Array, other: Array) -> Any:
    """The logarithm of a probability, by the other one if that is less than 1/2."""
    is_small = small < 0.5  # the other one may be 1, where the slopes of the logarithm are infinite
    return np.where(is_small, np.log(small), np.log1p(-np.where(is_small, 0.0, other)))


def log_share(part: Array, rest: Array, whole: Array) -> Any:
    """The logarithm of a part of the whole, by the rest where that is the smaller one."""
    small = part < rest
    return np.where(small, part - whole, np.log1p(-np.exp(np.where(small, -1.0, rest - whole))))


def symmetric(hosted: frozenset[str] = frozenset(), **formulas: Formula) -> Standard:
    """A distribution that is symmetric about 0, from the half of its functions."""
    row = Standard(hosted=hosted, **formulas)
    cdf, logcdf, ppf = row.cdf, row.logcdf, row.ppf
    return replace(
        row,
        sf=cdf and (lambda x, *shapes: cdf(-x, *shapes)),
        logsf=logcdf and (lambda x, *shapes: logcdf(-x, *shapes)),
        isf=ppf and (lambda q, *shapes: -ppf(q, *shapes)),
    )


def completed(row: Standard) -> Standard:
    """The distribution with formulas for all functions but ``ppf`` and ``isf``."""
    cdf: Formula = row.cdf or (lambda x, *shapes: np.exp(stated(row.logcdf)(x, *shapes)))
    sf: Formula = row.sf or (lambda x, *shapes: np.exp(stated(row.logsf)(x, *shapes)))

    def logcdf(x: Array, *shapes: Array) -> Any:
        return log_where_small(cdf(x, *shapes), sf(x, *shapes))

    def logsf(x: Array, *shapes: Array) -> Any:
        return log_where_small(sf(x, *shapes), cdf(x, *shapes))

    return replace(row, cdf=cdf, sf=sf, logcdf=row.logcdf or logcdf, logsf=row.logsf or logsf)


UNDERFLOW = -746.0
"""A number whose exponential is 0."""


def probability(log: Array) -> Any:
    """exp(log), and 0 without a slope where it underflows: there the slope of ``log`` may be infinite."""
    return np.where(log > UNDERFLOW, np.exp(np.where(log > UNDERFLOW, log, 0.0)), 0.0)


def by_smaller_side(logcdf: Formula, logsf: Formula, **others: Formula) -> Standard:
    """A distribution from ``logcdf`` and ``logsf`` that have digits where they are the smaller one."""

    def side(own: Formula, other: Formula, log: bool) -> Formula:
        def function(x: Array, *shapes: Array) -> Any:
            small, large = own(x, *shapes), other(x, *shapes)
            if log:
                rest = np.where(small < large, -1.0, large)  # log1p(-1) has no second derivative
                return np.where(small < large, small, np.log1p(-probability(rest)))
            return np.where(small < large, probability(small), 1 - probability(large))

        return function

    return Standard(
        cdf=side(logcdf, logsf, False),
        sf=side(logsf, logcdf, False),
        logcdf=side(logcdf, logsf, True),
        logsf=side(logsf, logcdf, True),
        hosted=frozenset(),
        **others,
    )


def stated(function: Formula | None) -> Formula:
    """A function that a row states."""
    assert function is not None
    return function


_TINY, _HUGE = 1e-20, 1e140
"""Beyond them the first term of ``start`` and of ``end`` has all digits, and slopes may underflow."""
_FAR = 1e100
"""Beyond it, distributions without a fat tail are constant, and slopes of a change of variables overflow."""


def with_limits(name: str, base: Standard, function: Formula) -> Formula:
    """A cumulative function of a base distribution, with the slope 0 where it is constant far out."""
    low, high = ENDS[name]
    if base.end is not None:
        return function

    def held(y: Array, *shapes: Array) -> Any:
        limits = [(y > _FAR if math.isfinite(high) else y == math.inf, high)]
        if base.support is whole_line:
            limits.append((y < -_FAR if math.isfinite(low) else y == -math.inf, low))
        for far, _ in limits:
            y = np.where(far, 1.0, y)
        found = function(y, *shapes)
        for far, limit in limits:
            found = np.where(far, limit, found)
        return found

    return held


def _small(name: str, log: Array) -> Any:
    """A cumulative function from the logarithm of a small ``cdf``."""
    if name == "cdf":
        return np.exp(log)
    if name == "sf":
        return -np.expm1(log)
    return log if name == "logcdf" else log1mexp(-log)


def _by_logarithm(name: str, base: Standard, function: Formula) -> Callable[..., Any]:
    """A cumulative function of y and log(y), for which y may underflow or overflow."""
    start, end = base.start, base.end

    def value(y: Array, log_y: Array, *shapes: Array) -> Any:
        parts = []
        if start is not None:
            tiny = y < _TINY
            log = start(np.where(tiny, log_y, -1e3), *shapes)
            if name != "logcdf":  # the other functions underflow, too, unless they are steep at 0
                tiny = np.logical_and(tiny, log > log_y)
            parts.append((tiny, _small(name, log)))
        if end is not None:
            huge = y > _HUGE
            log = end(np.where(huge, log_y, 1e3), *shapes)
            parts.append((huge, _small(OTHER_SIDE[name], log)))
        for chosen, _ in parts:
            y = np.where(chosen, 1.0, y)
        found = function(y, *shapes)
        for chosen, part in parts:
            found = np.where(chosen, part, found)
        return found

    return value


def changed(
    base: Standard,
    to: Formula,
    log_slope: Formula,
    back: Formula,
    *,
    shapes: Callable[..., tuple[Any, ...]] = lambda *own: (),
    support: Callable[..., tuple[Any, Any]] = half_line,
    valid: Formula = all_positive,
    decreasing: bool = False,
    log_to: Formula | None = None,
    back_log: Formula | None = None,
    **formulas: Formula,
) -> Standard:
    """The distribution of x, if y = to(x) has the distribution ``base``.

    ``log_slope`` is log |dy/dx|, ``back`` the inverse of ``to``, and ``shapes`` gives the shape parameters of
    ``base`` from those of the result. ``log_to`` is log(to(x)), if y may underflow or overflow for an x that
    does not, and ``back_log`` is x as a function of log(y). ``formulas``, such as a density, stand in the
    place of those in the changed variable, which would lose digits.
    """

    def after(name: str) -> Formula | None:
        function = getattr(base, name)
        if function is None:
            return None
        limited = with_limits(name, base, function)
        if log_to is None or base.start is None:
            return lambda x, *own: limited(to(x, *own), *shapes(*own))
        value = _by_logarithm(name, base, limited)
        return lambda x, *own: value(to(x, *own), log_to(x, *own), *shapes(*own))

    def before(name: str) -> Formula | None:
        function = getattr(base, name)
        if function is None:
            return None
        if back_log is None or base.log_quantile is None:
            return lambda q, *own: back(function(q, *shapes(*own)), *own)
        log_quantile = base.log_quantile

        def quantile(q: Array, *own: Array) -> Any:
            y = function(q, *shapes(*own))
            tiny = y < _TINY
            log_q = np.log(q) if name == "ppf" else np.log1p(-q)
            low = back_log(log_quantile(log_q, *shapes(*own)), *own)
            return np.where(tiny, low, back(np.where(tiny, 1.0, y), *own))

        return quantile

    def density(x: Array, *own: Array) -> Any:
        return base.density(to(x, *own), *shapes(*own)) + log_slope(x, *own)

    low, high = ("sf", "cdf") if decreasing else ("cdf", "sf")
    made = Standard(
        density=density,
        cdf=after(low),
        sf=after(high),
        logcdf=after(f"log{low}"),
        logsf=after(f"log{high}"),
        ppf=before("isf" if decreasing else "ppf"),
        isf=before("ppf" if decreasing else "isf"),
        support=support,
        valid=valid,
    )
    return replace(made, hosted=made.hosted, **formulas)


def mirrored(row: Standard, support: Callable[..., tuple[Any, Any]]) -> Standard:
    """The distribution of -x."""

    def turned(function: Formula | None) -> Formula | None:
        return function and (lambda x, *shapes: function(0.0 - x, *shapes))  # 0, not -0, at 0

    def negative(function: Formula | None) -> Formula | None:
        return function and (lambda q, *shapes: -function(q, *shapes))

    sides: dict[str, Any] = {
        name: turned(getattr(row, other)) for name, other in OTHER_SIDE.items()
    }
    return replace(
        row,
        **sides,
        density=stated(turned(row.density)),
        ppf=negative(row.isf),
        isf=negative(row.ppf),
        support=support,
    )


def one_or_other(chosen: Formula, first: Standard, second: Standard) -> Standard:
    """The first distribution for shapes that are chosen, and the second for others."""

    def either(name: str) -> Formula | None:
        one, other = getattr(first, name), getattr(second, name)

        def function(x: Array, *shapes: Array) -> Any:
            is_first = chosen(*shapes)
            return np.where(is_first, one(x, *shapes), other(x, *shapes))

        return one and function

    functions: dict[str, Any] = {name: either(name) for name in (*ENDS, "ppf", "isf")}
    return replace(first, **functions)

"""Standard distributions, with loc 0 and scale 1, as functions of x and the shape parameters.

A row of the tables states the logarithm of the density, the support, and as many of the other functions as
have a stable formula of their own; `completed` derives the rest. A distribution that is another one in a
changed variable is a row of `changed`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
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
    valid: Any = True
    for shape in shapes:
        valid = np.logical_and(valid, shape > 0)
    return valid


def any_real(*shapes: Array) -> Any:
    """Whether shape parameters are finite: the condition of distributions that take both signs."""
    valid: Any = True
    for shape in shapes:
        valid = np.logical_and(valid, np.isfinite(shape))
    return valid


@dataclass(frozen=True)
class Standard:
    """A standard distribution; ``None`` stands for a function that follows from the others.

    ``density`` is the logarithm of the density, or of the probability mass of a discrete distribution.
    ``cdf`` and ``sf`` add up to 1, and each is accurate where it is small; ``logcdf`` and ``logsf`` are
    finite where those underflow. ``ppf`` and ``isf`` are the inverses of ``cdf`` and ``sf``.

    ``mass`` is the probability mass as a product, for parameters on the ``edge`` of their range, at which
    ``density`` may be -inf while the mass has a derivative. ``exact`` is the mass with the digits that
    exp(``density``) loses for large counts.
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
    mass: Formula | None = None
    edge: Formula | None = None
    exact: Formula | None = None


def log1mexp(t: Array) -> Any:
    """log(1 - exp(-t)) for t > 0."""
    return np.where(t < math.log(2), np.log(-np.expm1(-t)), np.log1p(-np.exp(-t)))


def log_where_small(small: Array, other: Array) -> Any:
    """The logarithm of a probability, by the other one if that is less than 1/2."""
    return np.where(small < 0.5, np.log(small), np.log1p(-other))


def symmetric(row: Standard) -> Standard:
    """A distribution that is symmetric about 0, from the half of its functions."""
    cdf, logcdf, ppf = row.cdf, row.logcdf, row.ppf
    return replace(
        row,
        sf=cdf and (lambda x, *shapes: cdf(-x, *shapes)),
        logsf=logcdf and (lambda x, *shapes: logcdf(-x, *shapes)),
        isf=ppf and (lambda q, *shapes: -ppf(q, *shapes)),
    )


def completed(row: Standard) -> Standard:
    """The distribution with formulas for all functions but ``ppf`` and ``isf``."""
    cdf: Formula = row.cdf or (lambda x, *shapes: np.exp(_given(row.logcdf)(x, *shapes)))
    sf: Formula = row.sf or (lambda x, *shapes: np.exp(_given(row.logsf)(x, *shapes)))

    def logcdf(x: Array, *shapes: Array) -> Any:
        return log_where_small(cdf(x, *shapes), sf(x, *shapes))

    def logsf(x: Array, *shapes: Array) -> Any:
        return log_where_small(sf(x, *shapes), cdf(x, *shapes))

    return replace(row, cdf=cdf, sf=sf, logcdf=row.logcdf or logcdf, logsf=row.logsf or logsf)


def _given(function: Formula | None) -> Formula:
    assert function is not None
    return function


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
) -> Standard:
    """The distribution of x, if y = to(x) has the distribution ``base``.

    ``log_slope`` is log |dy/dx|, ``back`` the inverse of ``to``, and ``shapes`` gives the shape parameters of
    ``base`` from those of the result.
    """

    def after(function: Formula | None) -> Formula | None:
        if function is None:
            return None
        return lambda x, *own: function(to(x, *own), *shapes(*own))

    def before(function: Formula | None) -> Formula | None:
        if function is None:
            return None
        return lambda q, *own: back(function(q, *shapes(*own)), *own)

    def density(x: Array, *own: Array) -> Any:
        return base.density(to(x, *own), *shapes(*own)) + log_slope(x, *own)

    low, high = ("sf", "cdf") if decreasing else ("cdf", "sf")
    return Standard(
        density=density,
        cdf=after(getattr(base, low)),
        sf=after(getattr(base, high)),
        logcdf=after(getattr(base, f"log{low}")),
        logsf=after(getattr(base, f"log{high}")),
        ppf=before(base.isf if decreasing else base.ppf),
        isf=before(base.ppf if decreasing else base.isf),
        support=support,
        valid=valid,
    )

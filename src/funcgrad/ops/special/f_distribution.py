"""The distribution functions of F and of Student's t, in all arguments, and their inverses.

The derivative in a degree of freedom is an operation, which keeps its digits where the degree is large
(`f_numerics`), and so is the second derivative; higher ones are those of incomplete moments.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad.arrays.reference import holds_expr
from funcgrad.ops.base.op import Op
from funcgrad.ops.elementwise.selection import mask
from funcgrad.ops.special import f_numerics
from funcgrad.ops.special.gamma import polygamma_difference
from funcgrad.ops.special.incomplete import beta_moment, beta_moment_op
from funcgrad.ops.special.polygamma import polygamma
from funcgrad.ops.special.special_function import (
    derivative_family,
    inverse_partials,
    numeric_function,
    special_function,
)
from funcgrad.typing import Array, FunctionLibrary


# -- the density and its score ---------------------------------------------------------------------
def _score_slopes(n: Array, d: Array, x: Array) -> tuple[Any, Any, Any]:
    """The derivatives of the score in n, d and x."""
    a, b, t, rest = f_numerics.odds(n, d, x)
    in_n = 0.5 * (0.5 * polygamma(1, a + b) - 0.5 * rest * rest / b - 0.5 * t * t / a)
    spread = polygamma_difference(b, a, order=1) if holds_expr([a, b]) else _spread(a, b)
    in_d = 0.25 * (spread + t * t / b + a * (rest / b) ** 2)
    return in_n, in_d, -0.5 * t * (t - a / b * rest) / x


def _spread(a: Array, b: Array) -> Any:
    return polygamma_difference.run(b, a, order=1)


def _mp_log_density(mp: FunctionLibrary, n: Any, d: Any, x: Any) -> Any:
    total = n / 2 * mp.log(n / d) + (n / 2 - 1) * mp.log(x) - (n + d) / 2 * mp.log1p(n * x / d)
    return total - mp.loggamma(n / 2) - mp.loggamma(d / 2) + mp.loggamma((n + d) / 2)


fdtr_score: Op = numeric_function(
    "fdtr_score",
    f_numerics.score,
    lambda z, n, d, x: _score_slopes(n, d, x)[0],
    lambda z, n, d, x: _score_slopes(n, d, x)[1],
    lambda z, n, d, x: _score_slopes(n, d, x)[2],
    mpmath=lambda mp, n, d, x: (
        -n / (2 * d)
        - mp.log1p(n * x / d) / 2
        + (n + d) / 2 * n * x / d / (d + n * x)
        + (mp.psi(0, (n + d) / 2) - mp.psi(0, d / 2)) / 2
    ),
)
"""The derivative of the logarithm of the F density in d; in n it is that at (d, n, 1/x)."""


def _density_slope(z: Array, n: Array, d: Array, x: Array) -> Any:
    a, b, p, q = f_numerics.odds(n, d, x)
    small = p < 0.5
    rise = np.where(small, a - 1.0 - (a + b) * p, (a + b) * q - b - 1.0)
    return z * rise / x


fdtr_density: Op = numeric_function(
    "fdtr_density",
    f_numerics.density,
    lambda z, n, d, x: z * fdtr_score(d, n, 1.0 / x),
    lambda z, n, d, x: z * fdtr_score(n, d, x),
    _density_slope,
    mpmath=lambda mp, n, d, x: mp.exp(_mp_log_density(mp, n, d, x)),
)


# -- derivatives in the degrees of freedom -----------------------------------------------------------
def _by_moments(n: Array, d: Array, x: Array, orders: tuple[int, int]) -> Any:
    """The second derivative by incomplete moments, where no degree of freedom is large.

    The function is one of the shapes n/2 and d/2 and of the log odds of the beta variable.
    """
    a, b, p, q = f_numerics.odds(n, d, x)
    small = p < 0.5
    below = (a, b, np.where(small, p, 0.5)), False
    above = (b, a, np.where(small, 0.5, q)), True
    place = 1 if orders[1] else 0

    def curvature(args: tuple[Any, ...], upper: bool) -> Any:
        first, second = (1, 0), (0, 1)
        powers = (second if place else first) if not upper else (first if place else second)
        other = place if max(orders) == 2 else 1 - place
        moment: Any = beta_moment
        z = moment(*args, orders=powers, upper=upper)
        edge: Any = beta_moment_op.edge(1 - other if upper else other)
        return edge(z, *args, orders=powers, upper=upper).d

    shapes = 0.25 * np.where(small, curvature(*below), curvature(*above))
    value = fdtr_density(n, d, x)
    score = fdtr_score(n, d, x), fdtr_score(d, n, 1.0 / x)
    log = x * value  # the derivative in the log odds
    slope = (a * q - b * p) * log
    # The score is at x held constant, the derivatives here at the odds.
    in_b, in_a = log * score[0] + slope / d, log * score[1] - slope / n
    if orders == (0, 2):
        return shapes - 2.0 * in_b / d + (slope + log) / (d * d)
    if orders == (2, 0):
        return shapes + 2.0 * in_a / n + (slope - log) / (n * n)
    return shapes + in_b / n - in_a / d - slope / (n * d)


def _in(place: int) -> Callable[..., Any]:
    def slope(z: Array, n: Array, d: Array, x: Array, *, orders: tuple[int, int]) -> Any:
        if place == 2:
            score = fdtr_score(n, d, x) if orders[1] else fdtr_score(d, n, 1.0 / x)
            return mask(x > 0, fdtr_density(n, d, x) * score)
        more = (orders[0] + (place == 0), orders[1] + (place == 1))
        inside = (x > 0) & (x < np.inf)
        held = np.where(inside, x, 1.0)
        return mask(inside, fdtr_second(n, d, held, _by_moments(n, d, held, more), orders=more))

    return slope


def _run(n: Array, d: Array, x: Array, *given: Array, orders: tuple[int, int]) -> Any:
    return f_numerics.partial(n, d, x, given[0] if given else None, orders)


def _mp_partial(mp: FunctionLibrary, *args: Any, orders: tuple[int, int]) -> Any:
    function = _mp_fdtr(False)
    entry = lambda *values: mp.diff(lambda *v: function(mp, *v), values, (*orders, 0))  # noqa: E731
    return np.frompyfunc(entry, 3, 1)(*args[:3])


fdtr_first: Op = derivative_family("fdtr_first", _run, _in(0), _in(1), _in(2), mpmath=_mp_partial)
"""The derivative of `fdtr` of the orders (1, 0) or (0, 1) in n and d."""

fdtr_second: Op = derivative_family(
    "fdtr_second",
    _run,
    *(None, None, None),
    lambda z, n, d, x, given, *, orders: np.ones_like(given),
    mpmath=_mp_partial,
)
"""The second derivative, given with fewer digits: its derivatives are those of what is given."""


# -- F ---------------------------------------------------------------------------------------------
def _fdtr_partials(sign: float) -> tuple[Callable[..., Any], ...]:
    """Those of the F distribution function, or of its complement (sign -1)."""
    return (
        lambda z, n, d, x: sign * fdtr_first(n, d, x, orders=(1, 0)),
        lambda z, n, d, x: sign * fdtr_first(n, d, x, orders=(0, 1)),
        lambda z, n, d, x: sign * fdtr_density(n, d, x),
    )


def _mp_fdtr(upper: bool) -> Callable[..., Any]:
    def function(mp: FunctionLibrary, n: Any, d: Any, x: Any) -> Any:
        p = n * x / (d + n * x)
        ends = (p, 1) if upper else (0, p)
        return mp.betainc(n / 2, d / 2, *ends, regularized=True)

    return function


fdtr: Op = special_function("fdtr", *_fdtr_partials(1.0), mpmath=_mp_fdtr(False))
fdtrc: Op = special_function("fdtrc", *_fdtr_partials(-1.0), mpmath=_mp_fdtr(True))
fdtri: Op = special_function("fdtri", *inverse_partials(lambda: fdtr, 3, 2))


# -- Student's t ------------------------------------------------------------------------------------
# The square of t has an F distribution with 1 and df degrees of freedom.
def _t_density_in_t(z: Array, df: Array, t: Array) -> Any:
    inner = np.abs(t) < 1.0
    near, away = np.where(inner, t, 0.0), np.where(inner, 1.0, t)
    return -z * (df + 1.0) * np.where(inner, near / (df + near * near), 1.0 / (df / away + away))


def _t_score_slope(df: Array, t: Array, place: int) -> Any:
    square = t * t
    slope = _score_slopes(np.ones_like(df), df, square)[place]
    return slope if place == 1 else mask(t != 0, 2.0 * t * slope)


stdtr_score: Op = numeric_function(
    "stdtr_score",
    f_numerics.t_score,
    lambda z, df, t: _t_score_slope(df, t, 1),
    lambda z, df, t: _t_score_slope(df, t, 2),
    mpmath=lambda mp, df, t: (
        (mp.psi(0, (df + 1) / 2) - mp.psi(0, df / 2) - 1 / df - mp.log1p(t * t / df)) / 2
        + (df + 1) / 2 * t * t / df / (df + t * t)
    ),
)
stdtr_density: Op = numeric_function(
    "stdtr_density",
    f_numerics.t_density,
    lambda z, df, t: _times_score(z, stdtr_score(df, t)),
    _t_density_in_t,
    mpmath=lambda mp, df, t: (
        mp.exp(-(df + 1) / 2 * mp.log1p(t * t / df))
        / (mp.sqrt(df) * mp.beta(df / 2, mp.mpf(1) / 2))
    ),
)


def _times_score(z: Array, score: Array) -> Any:
    """A density times its score, which is infinite at infinity: 0 where the density is."""
    return mask(z != 0, z * score)


def _stdtr_in_df_twice(z: Array, df: Array, t: Array) -> Any:
    one = np.ones_like(df)
    edge: Any = fdtr_first.edge(1)
    return 0.5 * np.sign(t) * edge(z, one, df, t * t, orders=(0, 1)).d


stdtr_in_df: Op = numeric_function(
    "stdtr_in_df",
    f_numerics.t_in_df,
    _stdtr_in_df_twice,
    lambda z, df, t: _times_score(stdtr_density(df, t), stdtr_score(df, t)),
    mpmath=lambda mp, df, t: mp.diff(lambda v: _mp_stdtr(mp, v, t), df),
)


def _mp_stdtr(mp: FunctionLibrary, df: Any, t: Any) -> Any:
    half = mp.betainc(df / 2, mp.mpf(1) / 2, 0, df / (df + t * t), regularized=True) / 2
    return half if t < 0 else 1 - half


stdtr: Op = special_function(
    "stdtr",
    lambda z, df, t: stdtr_in_df(df, t),
    lambda z, df, t: stdtr_density(df, t),
    mpmath=_mp_stdtr,
)
stdtrit: Op = special_function("stdtrit", *inverse_partials(lambda: stdtr, 2, 1))
stdtridf: Op = special_function("stdtridf", *inverse_partials(lambda: stdtr, 2, 0))

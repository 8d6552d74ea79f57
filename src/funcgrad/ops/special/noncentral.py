"""Noncentral chi-square, F and t distributions in all arguments, and the inverses of their functions.

Each family of series or integrals is closed under differentiation (`noncentral_numerics`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad.ops.base.op import Op
from funcgrad.ops.elementwise.selection import mask
from funcgrad.ops.special import noncentral_numerics, noncentral_t_numerics
from funcgrad.ops.special.special_function import (
    derivative_family,
    inverse_partials,
    special_function,
)
from funcgrad.typing import Array, FunctionLibrary


# -- inverses --------------------------------------------------------------------------------------------
def _inverse(name: str, forward: Callable[[], Op], count: int, argument: int) -> Op:
    """The function that solves for an argument that is not negative.

    Where none solves the equation, SciPy's value is an end of the range that it searches, a constant.
    """
    partials = inverse_partials(forward, count, argument)

    def rule(place: int) -> Callable[..., Any]:
        def slope(z: Array, *inputs: Array) -> Any:
            found = (z > 1e-300) & (z < 1e99)
            return np.where(found, partials[place](np.where(found, z, 1.0), *inputs), 0.0)

        return slope

    return special_function(name, *[rule(place) for place in range(count)])


# -- chi-square ----------------------------------------------------------------------------------------
def _chi_in_x(z: Array, x: Array, df: Array, nc: Array, shift: Array, **params: Any) -> Any:
    order, kind = params["order"], params["kind"]
    inside = x > 0
    y = np.where(inside, x, 1.0)
    if kind != "density":
        slope = noncentral_chi_square(y, df, nc, shift, order=order, kind="density")
        return mask(inside, slope if kind == "cdf" else -slope)
    raised = noncentral_chi_square(y, df + 2.0, nc, shift, order=order, kind="density")
    slope = ((0.5 * df - 1.0) / y - 0.5) * z + 0.5 * nc / y * raised
    if order:
        lower = noncentral_chi_square(y, df, nc, shift, order=order - 1, kind="density")
        slope = slope + 0.5 * order / y * lower
    return mask(inside, slope)


def _chi_in_df(z: Array, *args: Array, **params: Any) -> Any:
    return noncentral_chi_square(*args, order=params["order"] + 1, kind=params["kind"])


def _chi_in_nc(z: Array, x: Array, df: Array, nc: Array, shift: Array, **params: Any) -> Any:
    raised = noncentral_chi_square(x, df + 2.0, nc, shift, order=params["order"], kind="density")
    return {"cdf": -raised, "sf": raised, "density": 0.5 * (raised - z)}[params["kind"]]


def _poisson_series(mp: FunctionLibrary, rate: Any, term: Callable[[Any], Any]) -> Any:
    """A sum with Poisson's weights, until its terms are negligible."""
    total, k = mp.mpf(0), 0
    while True:
        part = mp.exp(-rate) * rate**k / mp.factorial(k) * term(k)
        total, k = total + part, k + 1
        if k > rate and abs(part) <= mp.eps * abs(total):
            return total


def _mp_chi(
    mp: FunctionLibrary, x: Any, df: Any, nc: Any, shift: Any, *, order: int, kind: str
) -> Any:
    def term(a: Any) -> Any:
        if kind == "density":
            return (x / 2) ** (a - 1) * mp.exp(-x / 2) / mp.gamma(a) / 2
        ends = (0, x / 2) if kind == "cdf" else (x / 2, mp.inf)
        return mp.gammainc(a, *ends, regularized=True)

    found = mp.diff(lambda v: _poisson_series(mp, nc / 2, lambda k: term(v / 2 + k)), df, order)
    return found * mp.exp(shift)


noncentral_chi_square: Op = derivative_family(
    "noncentral_chi_square",
    noncentral_numerics.chi_square,
    _chi_in_x,
    _chi_in_df,
    _chi_in_nc,
    None,
    mpmath=_mp_chi,
)
"""The derivative of an order in df of the density, the distribution function ("cdf") or its complement
("sf"), times exp(shift), a constant that keeps it from underflow."""


def _chi(x: Array, df: Array, nc: Array, order: int, kind: str) -> Any:
    return noncentral_chi_square(x, df, nc, np.zeros_like(x), order=order, kind=kind)


chndtr: Op = special_function(
    "chndtr",
    lambda z, x, df, nc: _chi(x, df, nc, 0, "density"),
    lambda z, x, df, nc: _chi(x, df, nc, 1, "cdf"),
    lambda z, x, df, nc: -_chi(x, df + 2.0, nc, 0, "density"),
)
chndtrix: Op = _inverse("chndtrix", lambda: chndtr, 3, 0)
chndtridf: Op = _inverse("chndtridf", lambda: chndtr, 3, 1)
chndtrinc: Op = _inverse("chndtrinc", lambda: chndtr, 3, 2)


# -- F -------------------------------------------------------------------------------------------------
def _mixture_in(place: int) -> Any:
    def slope(z: Array, *args: Array, orders: tuple[int, int], kind: str) -> Any:
        more = (orders[0] + (place == 0), orders[1] + (place == 1))
        return beta_mixture(*args, orders=more, kind=kind)

    return slope


def _mixture_in_rate(z: Array, a: Array, *rest: Array, orders: tuple[int, int], kind: str) -> Any:
    if kind in ("cdf", "sf"):
        step = beta_mixture(a, *rest, orders=orders, kind="step")
        return step if kind == "sf" else -step
    return beta_mixture(a + 1.0, *rest, orders=orders, kind=kind) - z


def _mixture_in_odds(
    z: Array,
    a: Array,
    b: Array,
    rate: Array,
    odds: Array,
    shift: Array,
    *,
    orders: tuple[int, int],
    kind: str,
) -> Any:
    inside = odds > 0
    o = np.where(inside, odds, 1.0)

    def density(a: Array, orders: tuple[int, int]) -> Any:
        return beta_mixture(a, b, rate, o, shift, orders=orders, kind="density")

    if kind != "density":
        slope = density(a, orders)
        if kind == "step":
            slope = slope - density(a + 1.0, orders)
        return mask(inside, -slope / o if kind == "sf" else slope / o)
    y, rest = o / (1.0 + o), 1.0 / (1.0 + o)
    slope = (a * rest - b * y) * z + rate * rest * density(a + 1.0, orders)
    i, k = orders
    if i:
        slope = slope + i * rest * density(a, (i - 1, k))
    if k:
        slope = slope - k * y * density(a, (i, k - 1))
    return mask(inside, slope / o)


def _mp_mixture(mp: FunctionLibrary, *args: Any, orders: tuple[int, int], kind: str) -> Any:
    a, b, rate, odds, shift = args
    y = odds / (1 + odds)

    def term(a: Any, b: Any) -> Any:
        if kind in ("cdf", "sf"):
            return mp.betainc(a, b, *((0, y) if kind == "cdf" else (y, 1)), regularized=True)
        found = y**a * (1 - y) ** b / mp.beta(a, b)
        return found / a if kind == "step" else found

    def series(a: Any, b: Any) -> Any:
        return _poisson_series(mp, rate, lambda k: term(a + k, b))

    return mp.diff(series, (a, b), orders) * mp.exp(shift)


beta_mixture: Op = derivative_family(
    "beta_mixture",
    noncentral_numerics.mixture_of_betas,
    _mixture_in(0),
    _mixture_in(1),
    _mixture_in_rate,
    _mixture_in_odds,
    None,
    mpmath=_mp_mixture,
)
"""The derivative of ``orders`` in a and b of a series of beta distributions with Poisson's weights, times
exp(shift)."""


def f_mixture(
    dfn: Array,
    dfd: Array,
    nc: Array,
    f: Array,
    kind: str,
    orders: tuple[int, int] = (0, 0),
    shift: Array | None = None,
) -> Any:
    """The series for the noncentral F distribution."""
    held = np.zeros_like(f) if shift is None else shift
    args: tuple[Any, ...] = (0.5 * dfn, 0.5 * dfd, 0.5 * nc, dfn * f / dfd, held)
    return beta_mixture(*args, orders=orders, kind=kind)


def _ncfdtr_shape(place: int) -> Any:
    def slope(z: Array, dfn: Array, dfd: Array, nc: Array, f: Array) -> Any:
        own = f_mixture(dfn, dfd, nc, f, "cdf", (1 - place, place))
        return 0.5 * own + f_mixture(dfn, dfd, nc, f, "density") / (-dfd if place else dfn)

    return slope


def _ncfdtr_in_f(z: Array, dfn: Array, dfd: Array, nc: Array, f: Array) -> Any:
    inside = f > 0
    y = np.where(inside, f, 1.0)
    return mask(inside, f_mixture(dfn, dfd, nc, y, "density") / y)


ncfdtr: Op = special_function(
    "ncfdtr",
    _ncfdtr_shape(0),
    _ncfdtr_shape(1),
    lambda z, dfn, dfd, nc, f: -0.5 * f_mixture(dfn, dfd, nc, f, "step"),
    _ncfdtr_in_f,
)
ncfdtri: Op = _inverse("ncfdtri", lambda: ncfdtr, 4, 3)
ncfdtridfn: Op = _inverse("ncfdtridfn", lambda: ncfdtr, 4, 0)
ncfdtridfd: Op = _inverse("ncfdtridfd", lambda: ncfdtr, 4, 1)
ncfdtrinc: Op = _inverse("ncfdtrinc", lambda: ncfdtr, 4, 2)


# -- Student's t ---------------------------------------------------------------------------------------
def _mp_t(mp: FunctionLibrary, *args: Any, order: int, slope: int, power: int) -> Any:
    df, nc, t, shift = args

    def integral(df: Any) -> Any:
        constant = 2 * (df / 2) ** (df / 2) / mp.gamma(df / 2)

        def integrand(s: Any) -> Any:
            z = t * s - nc
            normal = mp.ncdf(z) if slope == 0 else mp.npdf(z)
            if slope > 1:
                normal *= (-1) ** (slope - 1) * mp.mpf(2) ** (mp.mpf(1 - slope) / 2)
                normal *= mp.hermite(slope - 1, z / mp.sqrt(2))
            return s ** (df - 1 + power) * mp.exp(-df * s * s / 2) * normal

        return constant * mp.quad(integrand, [0, 0.5, 1, 2, 4, 8])

    return mp.diff(integral, df, order) * mp.exp(shift)


def _t_in(place: int) -> Any:
    """In df the order rises, in nc and t the slope of the normal distribution function."""

    def rule(z: Array, *args: Array, order: int, slope: int, power: int) -> Any:
        if place == 0:
            return noncentral_t(*args, order=order + 1, slope=slope, power=power)
        if place == 1:
            return -noncentral_t(*args, order=order, slope=slope + 1, power=power)
        return noncentral_t(*args, order=order, slope=slope + 1, power=power + 1)

    return rule


noncentral_t: Op = derivative_family(
    "noncentral_t", noncentral_t_numerics.integral, _t_in(0), _t_in(1), _t_in(2), None, mpmath=_mp_t
)
"""An integral over the normal distribution function of t*s - nc, which is the noncentral t distribution
function, or a derivative of it; times exp(shift)."""


def _t(df: Array, nc: Array, t: Array, order: int, slope: int, power: int) -> Any:
    return noncentral_t(df, nc, t, np.zeros_like(t), order=order, slope=slope, power=power)


nctdtr: Op = special_function(
    "nctdtr",
    lambda z, df, nc, t: _t(df, nc, t, 1, 0, 0),
    lambda z, df, nc, t: -_t(df, nc, t, 0, 1, 0),
    lambda z, df, nc, t: _t(df, nc, t, 0, 1, 1),
)
nctdtrit: Op = special_function("nctdtrit", *inverse_partials(lambda: nctdtr, 3, 2))
nctdtridf: Op = _inverse("nctdtridf", lambda: nctdtr, 3, 0)
nctdtrinc: Op = special_function("nctdtrinc", *inverse_partials(lambda: nctdtr, 3, 1))


# -- shifts ----------------------------------------------------------------------------------------------
def _zero_shift(run: Callable[..., Any], **params: Any) -> Callable[..., Any]:
    return lambda *args: run(*args, np.zeros(()), **params)


chi_square_shift: Op = derivative_family(
    "chi_square_shift",
    _zero_shift(noncentral_numerics.chi_square, order=0, kind="shift"),
    None,
    None,
    None,
    mpmath=None,
)
mixture_shift: Op = derivative_family(
    "mixture_shift",
    _zero_shift(noncentral_numerics.mixture_of_betas, orders=(0, 0), kind="shift"),
    None,
    None,
    None,
    None,
    mpmath=None,
)
noncentral_t_shift: Op = derivative_family(
    "noncentral_t_shift", noncentral_t_numerics.shift_of_largest, None, None, None, mpmath=None
)
"""Shifts with which the largest term of a series, or value of an integrand, is about 1: constants."""

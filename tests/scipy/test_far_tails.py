"""Distributions far out and next to the ends of their support: values and slopes against mpmath."""

import functools

import mpmath as mp
import numpy as np
import pytest
import scipy.stats

import funcgrad as fg
from tests.default_slice import one_in


def lower(a, x):
    return mp.gammainc(a, 0, x, regularized=True)


def upper(a, x):
    return mp.gammainc(a, x, mp.inf, regularized=True)


def beta_tail(a, b, x, y):
    """The regularized incomplete beta function of x, where y is 1 - x."""
    if x > 0.5:
        return 1 - beta_tail(b, a, y, x)
    return x**a * y**b / (a * mp.beta(a, b)) * mp.hyp2f1(a + b, 1, a + 1, x)


def phi(x):
    return mp.exp(-x * x / 2) / mp.sqrt(2 * mp.pi)


def student_tail(x, v):
    y = v / (v + x * x)
    half = beta_tail(v / 2, mp.mpf(1) / 2, y, x * x / (v + x * x)) / 2
    return half if x > 0 else 1 - half


def exponent(x, c):
    return mp.log1p(c * x) / c


def mises_tail(x, k):
    """From -pi to x < 0, or as far as it has digits."""
    start = -mp.acos(max(mp.mpf(-1), mp.cos(x) - 150 / k))
    ends = [start + (x - start) * j / 6 for j in range(7)]
    total = mp.quad(lambda t: mp.exp(k * (mp.cos(t) - 1)), ends)
    return total / (2 * mp.pi * mp.besseli(0, k) * mp.exp(-k))


@functools.cache
def skewed_tail(x, a):
    """From -infinity to x < 0: an integral of Owen's over the slopes from a to infinity."""
    if a < 0:
        return 2 * mp.ncdf(x) - skewed_tail(x, -a)
    scale = 1 / (x * x * a + abs(x))
    steps = [0, 1, 2, 4, 8, 16, 32, 64, 150]

    def rest(u):
        return mp.exp(-x * x * u * scale * (a + u * scale / 2)) / (1 + (a + u * scale) ** 2)

    return mp.exp(-x * x * (1 + a * a) / 2) * mp.quad(rest, steps) * scale / mp.pi


def part(a, b):
    return mp.ncdf(-a) - mp.ncdf(-b) if a > 0 else mp.ncdf(b) - mp.ncdf(a)


def summed(x, K):
    """K times the density of the sum of a normal and an exponential variable."""
    return mp.exp(1 / (2 * K * K) - x / K) * mp.ncdf(x - 1 / K)


def wald(x, mu, sign):
    root = mp.sqrt(x)
    return mp.ncdf(sign * (x / mu - 1) / root) + sign * mp.exp(2 / mu) * mp.ncdf(
        -(x / mu + 1) / root
    )


def student_beta(x, a, b):
    """Jones and Faddy's skewed distribution, for x < 0."""
    root = mp.sqrt(a + b + x * x)
    u = (a + b) / (2 * root * (root - x))
    return beta_tail(a, b, u, 1 - u)


def resonance(x, rho):
    """From 0 to x, and from x to infinity."""
    factor = 2 / mp.pi * mp.sqrt(2 / (1 + mp.sqrt(1 + 1 / rho**2)))
    root, pole = mp.sqrt(-1 + mp.j / rho), mp.sqrt(-rho * (rho + mp.j))
    sides = mp.atan(x / pole), mp.atan(pole / x)
    return [factor * abs(mp.im(root * side)) for side in sides]


def kappa(x, h, k):
    """-log(cdf)."""
    return -mp.log1p(-h * (1 - k * x) ** (1 / k)) / h


def laplace_power(x, c):
    return x**c / 2 if x < 1 else 1 - x**-c / 2


def argus(x, chi):
    shape, k = mp.mpf(3) / 2, chi * chi / 2
    return (upper(shape, k * (1 - x * x)) - upper(shape, k)) / lower(shape, k)


def halves(x, c):
    """tanh(y/2), where y = -log(1 - c*x)/c."""
    return mp.tanh(-mp.log1p(-c * x) / c / 2)


def asymmetric(x, kappa):
    if x < 0:
        return kappa**2 / (1 + kappa**2) * mp.exp(x / kappa)
    return 1 - mp.exp(-kappa * x) / (1 + kappa**2)


def decay(x, rate):
    return -mp.expm1(-rate * x) / rate


def slope_and_top(x, c, d):
    return (x * x / c if x < c else 2 * x - c) / (1 + d - c)


def crystal(x, beta, m):
    """The probabilities below and above."""
    law, root = m / beta / (m - 1) * mp.exp(-beta * beta / 2), mp.sqrt(2 * mp.pi)
    whole = law + root * mp.ncdf(beta)
    if x > -beta:
        above = root * mp.ncdf(-x) / whole
        return (law + root * part(-beta, x)) / whole, above
    below = law * (1 - (beta + x) * beta / m) ** (1 - m) / whole
    return below, 1 - below


def wrapped(x, c):
    angle = mp.atan((1 + c) / (1 - c) * mp.tan(x / 2)) / mp.pi
    return angle if x < mp.pi else 1 + angle


CDF = {
    "cosine": lambda x: (mp.pi + x + mp.sin(x)) / (2 * mp.pi),
    "crystalball": lambda x, beta, m: crystal(x, beta, m)[0],
    "wrapcauchy": wrapped,
    "trapezoid": lambda x, c, d: (
        slope_and_top(x, c, d) if x < d else 1 - slope_and_top(1 - x, 1 - d, 1 - c)
    ),
    "argus": argus,
    "bradford": lambda x, c: mp.log1p(c * x) / mp.log1p(c),
    "foldcauchy": lambda x, c: (mp.atan(x - c) + mp.atan(x + c)) / mp.pi,
    "genhalflogistic": halves,
    "gibrat": lambda x: mp.ncdf(mp.log(x)),
    "laplace_asymmetric": asymmetric,
    "loguniform": lambda x, a, b: mp.log(x / a) / mp.log(b / a),
    "semicircular": lambda x: (x * mp.sqrt(1 - x * x) + mp.acos(-x)) / mp.pi,
    "truncexpon": lambda x, b: decay(x, 1) / decay(b, 1),
    "truncpareto": lambda x, b, c: decay(mp.log(x), b) / decay(mp.log(c), b),
    "truncweibull_min": lambda x, c, a, b: decay(x**c - a**c, 1) / decay(b**c - a**c, 1),
    "rel_breitwigner": lambda x, rho: resonance(x, rho)[0],
    "burr": lambda x, c, d: (1 + x**-c) ** -d,
    "burr12": lambda x, c, d: -mp.expm1(-d * mp.log1p(x**c)),
    "mielke": lambda x, k, s: (1 + x**-s) ** (-k / s),
    "kappa3": lambda x, a: (1 + a * x**-a) ** (-1 / a),
    "genlogistic": lambda x, c: (1 + mp.exp(-x)) ** -c,
    "exponweib": lambda x, a, c: (-mp.expm1(-(x**c))) ** a,
    "invweibull": lambda x, c: mp.exp(-(x**-c)),
    "exponpow": lambda x, b: -mp.expm1(-mp.expm1(x**b)),
    "moyal": lambda x: mp.erfc(mp.exp(-x / 2) / mp.sqrt(2)),
    "levy_l": lambda x: mp.erf(1 / mp.sqrt(-2 * x)),
    "levy": lambda x: mp.erfc(1 / mp.sqrt(2 * x)),
    "gengamma": lambda x, a, c: lower(a, x**c) if c > 0 else upper(a, x**c),
    "gennorm": lambda x, b: upper(1 / b, (-x) ** b) / 2 if x < 0 else 1 - upper(1 / b, x**b) / 2,
    "halfgennorm": lambda x, b: lower(1 / b, x**b),
    "dweibull": lambda x, c: mp.exp(-((-x) ** c)) / 2 if x < 0 else 1 - mp.exp(-(x**c)) / 2,
    "dgamma": lambda x, a: upper(a, -x) / 2 if x < 0 else 1 - upper(a, x) / 2,
    "powernorm": lambda x, c: -mp.expm1(c * mp.log1p(-mp.ncdf(x))),
    "powerlognorm": lambda x, c, s: -mp.expm1(c * mp.log1p(-mp.ncdf(mp.log(x) / s))),
    "alpha": lambda x, a: mp.ncdf(a - 1 / x) / mp.ncdf(a),
    "recipinvgauss": lambda x, mu: wald(1 / x, mu, -1),
    "skewcauchy": lambda x, a: (1 - a) / mp.pi * mp.acot(-x / (1 - a)),
    "jf_skew_t": student_beta,
    "kappa4": lambda x, h, k: mp.exp(-kappa(x, h, k)),
    "powerlaw": lambda x, c: x**c,
    "loglaplace": laplace_power,
    "vonmises": lambda x, k: mises_tail(x, k) if x < 0 else 1 - mises_tail(-x, k),
    "t": lambda x, v: student_tail(-x, v),
    "loggamma": lambda x, c: lower(c, mp.exp(x)),
    "genpareto": lambda x, c: -mp.expm1(-exponent(x, c)),
    "genextreme": lambda x, c: mp.exp(-mp.exp(-exponent(x, -c))),
    "gompertz": lambda x, c: -mp.expm1(-c * mp.expm1(x)),
    "gumbel_l": lambda x: -mp.expm1(-mp.exp(x)),
    "gumbel_r": lambda x: mp.exp(-mp.exp(-x)),
    "weibull_min": lambda x, c: -mp.expm1(-(x**c)),
    "chi": lambda x, v: lower(v / 2, x * x / 2),
    "nakagami": lambda x, n: lower(n, n * x * x),
    "rayleigh": lambda x: -mp.expm1(-x * x / 2),
    "maxwell": lambda x: lower(mp.mpf(3) / 2, x * x / 2),
    "f": lambda x, n, d: beta_tail(n / 2, d / 2, n * x / (d + n * x), d / (d + n * x)),
    "betaprime": lambda x, a, b: beta_tail(a, b, x / (1 + x), 1 / (1 + x)),
    "truncnorm": lambda x, a, b: part(a, x) / part(a, b),
    "foldnorm": lambda x, c: part(-x - c, x - c),
    "exponnorm": lambda x, K: mp.ncdf(x) - summed(x, K),
    "skewnorm": lambda x, a: skewed_tail(x, a) if x < 0 else 1 - skewed_tail(-x, -a),
    "halfnorm": lambda x: mp.erf(x / mp.sqrt(2)),
    "halfcauchy": lambda x: 2 / mp.pi * mp.atan(x),
    "invgamma": lambda x, a: upper(a, 1 / x),
    "invgauss": lambda x, mu: wald(x, mu, 1),
    "rdist": lambda x, c: beta_tail(c / 2, c / 2, (1 + x) / 2, (1 - x) / 2),
    "arcsine": lambda x: 2 / mp.pi * mp.asin(mp.sqrt(x)),
    "triang": lambda x, c: x * x / c if x < c else 1 - (1 - x) ** 2 / (1 - c),
    "johnsonsu": lambda x, a, b: mp.ncdf(a + b * mp.asinh(x)),
}
SF = {
    "crystalball": lambda x, beta, m: crystal(x, beta, m)[1],
    "genhalflogistic": lambda x, c: 2 / (mp.exp(-mp.log1p(-c * x) / c) + 1),
    "gibrat": lambda x: mp.ncdf(-mp.log(x)),
    "laplace_asymmetric": lambda x, kappa: asymmetric(-x, 1 / kappa),
    "truncpareto": lambda x, b, c: decay(mp.log(c / x), b) / decay(mp.log(c), b) / x**b,
    "rel_breitwigner": lambda x, rho: resonance(x, rho)[1],
    "burr": lambda x, c, d: -mp.expm1(-d * mp.log1p(x**-c)),
    "burr12": lambda x, c, d: (1 + x**c) ** -d,
    "mielke": lambda x, k, s: -mp.expm1(-k / s * mp.log1p(x**-s)),
    "kappa3": lambda x, a: -mp.expm1(-mp.log1p(a * x**-a) / a),
    "genlogistic": lambda x, c: -mp.expm1(-c * mp.log1p(mp.exp(-x))),
    "exponweib": lambda x, a, c: -mp.expm1(a * mp.log1p(-mp.exp(-(x**c)))),
    "invweibull": lambda x, c: -mp.expm1(-(x**-c)),
    "exponpow": lambda x, b: mp.exp(-mp.expm1(x**b)),
    "moyal": lambda x: mp.erf(mp.exp(-x / 2) / mp.sqrt(2)),
    "levy": lambda x: mp.erf(1 / mp.sqrt(2 * x)),
    "gengamma": lambda x, a, c: upper(a, x**c) if c > 0 else lower(a, x**c),
    "powernorm": lambda x, c: mp.ncdf(-x) ** c,
    "powerlognorm": lambda x, c, s: mp.ncdf(-mp.log(x) / s) ** c,
    "recipinvgauss": lambda x, mu: wald(1 / x, mu, 1),
    "kappa4": lambda x, h, k: -mp.expm1(-kappa(x, h, k)),
    "loglaplace": lambda x, c: x**-c / 2 if x > 1 else 1 - x**c / 2,
    "t": student_tail,
    "loggamma": lambda x, c: upper(c, mp.exp(x)),
    "genpareto": lambda x, c: mp.exp(-exponent(x, c)),
    "genextreme": lambda x, c: -mp.expm1(-mp.exp(-exponent(x, -c))),
    "gumbel_r": lambda x: -mp.expm1(-mp.exp(-x)),
    "f": lambda x, n, d: beta_tail(d / 2, n / 2, d / (d + n * x), n * x / (d + n * x)),
    "betaprime": lambda x, a, b: beta_tail(b, a, 1 / (1 + x), x / (1 + x)),
    "skewnorm": lambda x, a: skewed_tail(-x, -a) if x > 0 else 1 - skewed_tail(x, a),
    "invgauss": lambda x, mu: wald(x, mu, -1),
    "foldnorm": lambda x, c: mp.ncdf(c - x) + mp.ncdf(-c - x),
    "exponnorm": lambda x, K: mp.ncdf(-x) + summed(x, K),
    "invgamma": lambda x, a: lower(a, 1 / x),
    "halfcauchy": lambda x: 2 / mp.pi * mp.atan(1 / x),
    "rdist": lambda x, c: beta_tail(c / 2, c / 2, (1 - x) / 2, (1 + x) / 2),
    "arcsine": lambda x: 2 / mp.pi * mp.asin(mp.sqrt(1 - x)),
}


@functools.cache
def sides(name, args):
    """The probabilities below and above; a test asks for some of them again and again."""
    below = CDF[name](*args)
    above = SF[name](*args) if name in SF else 1 - below
    return below, above


def exact(name, method, args):
    if method in ("logpdf", "pdf"):
        density = moves(name, args, 0)[0]
        return mp.log(density) if method == "logpdf" else density
    below, above = sides(name, args)
    found, other = (above, below) if method.endswith("sf") else (below, above)
    if not method.startswith("log"):
        return found
    return mp.log(found) if found < 0.5 else mp.log1p(-other)


def moved(args, place, factor):
    return tuple([v * factor if k == place else v for k, v in enumerate(args)])


def moves(name, args, place):
    """The derivatives of the two sides, by the smaller one."""
    step = mp.mpf(10) ** -30
    ends = []
    for s in (1, -1):
        ends.append(sides(name, moved(args, place, 1 + s * step)))
    small = int(ends[0][0] > ends[0][1])
    slope = (ends[0][small] - ends[1][small]) / (2 * step * args[place])
    return (-slope, slope) if small else (slope, -slope)


def exact_slope(name, method, args, place):
    if method == "logpdf":
        step = mp.mpf(10) ** -20
        ends = []
        for s in (1, -1):
            ends.append(exact(name, method, moved(args, place, 1 + s * step)))
        return (ends[0] - ends[1]) / (2 * step * args[place])
    slope = moves(name, args, place)[method.endswith("sf")]
    return slope / exact(name, method[3:], args) if method.startswith("log") else slope


TAILS = [
    ("rel_breitwigner", ("cdf", "sf", "logcdf", "logsf"), (1e15, 36.5)),
    ("rel_breitwigner", ("sf", "logsf", "logpdf"), (200.0, 36.5)),
    ("rel_breitwigner", ("cdf", "logcdf"), (1e-20, 0.5)),
    ("burr", ("sf", "logsf", "logpdf", "cdf", "logcdf"), (1e-30, 10.5, 4.3)),
    ("burr", ("cdf", "sf", "logsf"), (1e-250, 1.5, 0.9)),
    ("burr", ("sf", "logsf", "logpdf"), (1e200, 1.5, 4.3)),
    ("burr12", ("cdf", "sf", "logcdf", "logsf", "logpdf"), (1e200, 10.0, 4.0)),
    ("burr12", ("cdf", "logcdf", "logsf"), (1e-250, 1.5, 4.0)),
    ("mielke", ("sf", "logsf", "logcdf"), (1e5, 10.4, 4.6)),
    ("mielke", ("cdf", "sf", "logsf", "logpdf"), (1e-200, 1.4, 4.6)),
    ("kappa3", ("cdf", "sf", "logsf", "logpdf"), (1e200, 1.0)),
    ("kappa3", ("cdf", "sf", "logsf"), (1e-250, 1.7)),
    ("genlogistic", ("cdf", "sf", "logcdf", "logsf", "logpdf"), (-1e10, 0.4)),
    ("genlogistic", ("sf", "logsf", "logcdf"), (60.0, 0.4)),
    ("exponweib", ("cdf", "sf", "logcdf", "logsf", "logpdf"), (1e-200, 0.8, 1.9)),
    ("exponweib", ("cdf", "sf", "logsf", "logpdf"), (30.0, 2.9, 1.9)),
    ("invweibull", ("cdf", "sf", "logsf"), (1e-20, 10.6)),
    ("invweibull", ("logcdf", "logpdf"), (0.01, 10.6)),
    ("invweibull", ("sf", "logsf", "logpdf"), (1e30, 10.6)),
    ("exponpow", ("cdf", "logcdf", "logsf", "logpdf"), (1e-200, 2.7)),
    ("exponpow", ("cdf", "sf", "logsf", "logpdf"), (2.5, 2.7)),
    ("moyal", ("cdf", "sf", "logcdf", "logsf", "logpdf"), (-11.0,)),
    ("moyal", ("cdf", "sf", "logsf", "logpdf"), (1e3,)),
    ("levy", ("sf", "logsf"), (1e200,)),
    ("levy_l", ("cdf", "logcdf", "logpdf"), (-1e155,)),
    ("gengamma", ("cdf", "logcdf", "logsf", "logpdf"), (1e-60, 4.4, 3.1)),
    ("gengamma", ("sf", "logsf", "logcdf"), (8.0, 4.4, 3.1)),
    ("gengamma", ("sf", "logsf", "logpdf"), (1e60, 0.7, -1.2)),
    ("gennorm", ("cdf", "logcdf", "logpdf"), (-1e3, 1.3)),
    ("halfgennorm", ("cdf", "logcdf"), (1e-300, 1.3)),
    ("dweibull", ("cdf", "logcdf", "logpdf"), (-30.0, 2.1)),
    ("dgamma", ("cdf", "logcdf", "logpdf"), (-800.0, 1.1)),
    ("powernorm", ("cdf", "logcdf", "logsf", "logpdf"), (-30.0, 4.4)),
    ("powernorm", ("logsf", "logpdf"), (1e3, 4.4)),
    ("powerlognorm", ("cdf", "logcdf", "logsf"), (1e-30, 2.1, 0.45)),
    ("alpha", ("sf", "logsf", "logpdf"), (1e20, 3.6)),
    ("alpha", ("logcdf", "logpdf"), (1e-3, 3.6)),
    ("recipinvgauss", ("cdf", "logcdf", "logpdf"), (0.03, 0.63)),
    ("recipinvgauss", ("sf", "logsf", "logpdf"), (300.0, 0.63)),
    ("skewcauchy", ("logcdf", "logpdf"), (-1e200, 0.5)),
    ("skewcauchy", ("cdf", "sf"), (-1e100, 0.5)),
    ("jf_skew_t", ("cdf", "logcdf", "logpdf"), (-1e7, 8.0, 4.0)),
    ("jf_skew_t", ("logcdf", "logpdf"), (-1e20, 0.8, 4.0)),
    ("kappa4", ("logcdf", "sf", "logpdf"), (-1e30, -0.1, 1e-10)),
    ("kappa4", ("cdf", "sf", "logcdf", "logsf", "logpdf"), (-2.0, 1e-9, 1e-10)),
    ("kappa4", ("sf", "logsf", "logpdf"), (1e100, 0.2, -0.1)),
    ("powerlaw", ("cdf", "sf", "logsf", "logcdf"), (1e-250, 1.2)),
    ("loglaplace", ("cdf", "sf", "logsf"), (1e-250, 1.2)),
    # The slope in x is the density, however far out.
    ("vonmises", ("cdf", "logcdf"), (-1.1, 100.0)),
    ("vonmises", ("cdf", "logcdf"), (-1.5, 100.0)),
    ("vonmises", ("cdf",), (-0.13, 1e4)),
    ("vonmises", ("cdf",), (-2.9, 16.0)),
    ("vonmises", ("cdf",), (-3.1, 0.3)),
    ("vonmises", ("cdf",), (0.4, 3.0)),
    ("t", ("logsf", "sf", "cdf", "logpdf"), (1e155, 0.01)),
    ("t", ("logsf", "sf", "logpdf"), (1e300, 1.0)),
    ("t", ("logcdf", "cdf"), (-1e152, 0.01)),
    ("t", ("logcdf",), (-1e10, 4.5)),
    ("loggamma", ("logcdf", "cdf", "logsf"), (-750.0, 0.1)),
    ("loggamma", ("logcdf",), (-709.0, 2.5)),
    ("genpareto", ("logsf", "sf", "logcdf", "logpdf"), (1e300, 1e10)),
    ("genpareto", ("logsf", "cdf"), (1e155, 3.0)),
    ("gumbel_l", ("logcdf",), (-750.0,)),
    ("gumbel_r", ("logsf",), (750.0,)),
    ("genextreme", ("logsf",), (750.0, 1e-9)),
    ("weibull_min", ("logcdf",), (1e-170, 3.0)),
    ("chi", ("cdf", "logcdf", "logsf"), (1e-155, 0.5)),
    ("chi", ("logcdf", "cdf"), (1e-200, 1.0)),
    ("nakagami", ("cdf", "logcdf", "sf"), (1e-170, 1e-3)),
    ("rayleigh", ("logcdf",), (1e-170,)),
    ("maxwell", ("logcdf", "logpdf"), (1e-155,)),
    ("f", ("logsf", "sf", "cdf", "logpdf"), (1e303, 2.0, 1e-3)),
    ("f", ("logsf", "logpdf"), (1e303, 3.5, 5.5)),
    ("f", ("cdf", "logcdf"), (1e-300, 3.5, 5.5)),
    ("betaprime", ("cdf",), (1e-170, 2.1, 3.2)),
    ("betaprime", ("logsf",), (1e300, 2.1, 1e-3)),
    ("truncnorm", ("cdf", "logcdf"), (1.0 + 2.0**-52, 1.0, 2.0)),
    ("truncnorm", ("cdf", "logcdf"), (-1.0, -1.5, 2.0)),
    ("truncnorm", ("cdf", "logcdf"), (30.0 + 1e-9, 30.0, 50.0)),
    ("skewnorm", ("logcdf",), (-40.0, 1.0)),
    ("skewnorm", ("logcdf",), (-12.0, 10.0)),
    ("skewnorm", ("logcdf",), (-100.0, 5.0)),
    ("skewnorm", ("logcdf",), (-30.0, -0.5)),
    ("skewnorm", ("logcdf",), (-0.1, 300.0)),
    ("skewnorm", ("logsf",), (5.0, -2.0)),
    ("halfnorm", ("logsf",), (1e-20,)),
    ("invgauss", ("logsf", "sf"), (1e3, 50.0)),
    ("invgauss", ("logsf",), (1e9, 50.0)),
    ("invgauss", ("logsf", "sf"), (1e6, 1e4)),
    ("invgauss", ("logsf", "sf"), (3.0, 5.0)),
    ("invgauss", ("logsf",), (3.0, 1.7)),
    ("invgauss", ("logsf",), (30.0, 5.5)),
    ("rdist", ("cdf", "sf", "logsf", "logpdf"), (1 - 1e-12, 1.6)),
    ("arcsine", ("sf", "logsf"), (1 - 1e-12,)),
    ("triang", ("logcdf",), (1e-300, 0.45)),
    ("johnsonsu", ("logpdf",), (-1e300, 0.4, 1.3)),
    ("foldnorm", ("logpdf", "logsf", "logcdf"), (60.0, 1.3)),
    ("foldnorm", ("cdf", "logcdf"), (1e-9, 1.3)),
    ("exponnorm", ("logpdf", "logsf", "logcdf"), (1e3, 1.0)),
    ("exponnorm", ("logpdf", "logcdf", "sf"), (-60.0, 2.0)),
    ("exponnorm", ("cdf", "sf", "logcdf", "logpdf"), (0.3, 1e-3)),
    ("exponnorm", ("cdf", "logcdf", "sf", "logpdf"), (0.3, 1e8)),
    ("exponnorm", ("logcdf", "cdf"), (-6.7, 1e8)),
    ("exponnorm", ("logcdf",), (-1e5, 2.0)),
    ("exponnorm", ("logpdf",), (-0.1, 1e-8)),
    ("exponnorm", ("logpdf",), (3.4, 0.03)),
    ("invgamma", ("logpdf",), (1e200, 2.5)),
    ("levy", ("logpdf",), (1e200,)),
    ("halfcauchy", ("logsf", "sf"), (1e150,)),
    ("halfcauchy", ("logsf",), (1.0,)),
    ("halfcauchy", ("logsf", "cdf"), (1e-16,)),
    ("triang", ("cdf", "sf", "logcdf", "logsf"), (1e-9, 1e-12)),
    ("trapezoid", ("cdf", "logcdf", "logsf"), (1e-200, 0.2, 0.8)),
    ("trapezoid", ("sf", "logsf", "logcdf", "cdf"), (1 - 2.0**-40, 0.2, 1 - 2.0**-30)),
    ("trapezoid", ("cdf", "logsf", "logcdf"), (0.5, 0.2, 0.8)),
    ("trapezoid", ("logpdf", "sf"), (0.1, 0.2, 0.8)),
    ("crystalball", ("logcdf", "cdf", "logpdf"), (-1e5, 0.5, 30.0)),
    ("crystalball", ("logcdf", "logpdf"), (-1e100, 0.5, 50.0)),
    ("crystalball", ("logsf", "sf", "cdf", "logcdf", "logpdf"), (30.0, 1e-3, 3.0)),
    ("crystalball", ("cdf", "logsf", "logpdf"), (-0.5, 1e-3, 50.0)),
    ("wrapcauchy", ("logpdf", "cdf", "logcdf", "logsf"), (1e-10, 1 - 2.0**-30)),
    ("wrapcauchy", ("logsf", "cdf", "sf"), (6.2, 0.4)),
    ("wrapcauchy", ("cdf", "logcdf"), (3.14159, 1e-6)),
    ("argus", ("cdf", "logcdf", "logsf"), (1e-9, 1e-3)),
    ("argus", ("logpdf",), (0.3, 1e-3)),
    ("argus", ("cdf", "logcdf", "logpdf"), (0.3, 1.7)),
    ("argus", ("logcdf", "logpdf"), (0.6, 60.0)),
    ("argus", ("sf", "logsf", "logcdf"), (1 - 1e-9, 7.0)),
    ("bradford", ("cdf", "sf", "logcdf", "logsf"), (0.3, 1e-9)),
    ("bradford", ("cdf", "logcdf", "logsf"), (1 - 1e-9, 3.0)),
    ("bradford", ("logcdf",), (1e-200, 1e6)),
    ("bradford", ("logpdf",), (0.3, 3.0)),
    ("foldcauchy", ("cdf", "logcdf", "logsf", "logpdf"), (1e-9, 4.7)),
    ("foldcauchy", ("cdf", "sf", "logsf"), (1e9, 1e-6)),
    ("foldcauchy", ("logpdf",), (30.0, 1e-6)),
    ("foldcauchy", ("logcdf", "logpdf"), (0.3, 1e4)),
    ("genhalflogistic", ("cdf", "sf", "logcdf", "logsf", "logpdf"), (1.0, 1e-8)),
    ("genhalflogistic", ("logcdf", "logsf"), (1e-12, 0.3)),
    ("genhalflogistic", ("logsf",), (500.0, 1e-3)),
    ("gibrat", ("logcdf", "logpdf"), (1e-300,)),
    ("gibrat", ("logsf",), (1e300,)),
    ("laplace_asymmetric", ("logcdf", "logpdf"), (-1e4, 0.3)),
    ("laplace_asymmetric", ("logsf", "logcdf"), (30.0, 1e3)),
    ("laplace_asymmetric", ("cdf", "logcdf"), (1e-6, 1e-3)),
    ("loguniform", ("cdf", "sf", "logcdf", "logsf"), (1.25 - 1e-12, 0.01, 1.25)),
    ("loguniform", ("cdf", "logcdf"), (1e200, 1e-200, 1e300)),
    ("semicircular", ("cdf", "logcdf"), (-1 + 1e-9,)),
    ("semicircular", ("sf", "logsf"), (1 - 1e-9,)),
    ("truncexpon", ("cdf", "sf", "logcdf", "logsf", "logpdf"), (1e-9, 2e-8)),
    ("truncexpon", ("logsf", "logcdf"), (49.0, 50.0)),
    ("truncpareto", ("cdf", "sf", "logcdf", "logsf", "logpdf"), (1 + 2.0**-30, 0.3, 5.0)),
    ("truncpareto", ("sf", "logsf", "cdf", "logpdf"), (5.0 - 2.0**-30, -2.0, 5.0)),
    ("truncpareto", ("sf", "logsf", "logpdf"), (1e100, 2.0, 1e200)),
    ("truncweibull_min", ("cdf", "logcdf", "logsf"), (2.0 + 2.0**-30, 5.0, 2.0, 2.01)),
    ("truncweibull_min", ("logsf", "logpdf"), (20.5, 2.0, 20.0, 21.0)),
    ("cosine", ("logpdf",), (3.1415926221738664,)),
    ("cosine", ("logpdf",), (-3.1415919,)),
]


def check(name, method, args):
    f, places = getattr(getattr(scipy.stats, name), method), tuple(range(len(args)))
    value, slopes = fg.value_and_grad(f, places)(*args)
    compiled = fg.jit(fg.grad(f, places))(*args)
    with mp.workdps(90):
        given = tuple([mp.mpf(v) for v in args])
        assert value == pytest.approx(float(exact(name, method, given)), rel=1e-11, abs=0)
        for place in places:
            wanted = float(exact_slope(name, method, given, place))
            if abs(wanted) < 1e-290:
                assert abs(slopes[place]) <= 1e-290
                continue
            assert slopes[place] == pytest.approx(wanted, rel=1e-10, abs=0), place
            tangents = tuple([float(k == place) for k in places])
            assert fg.jvp(f, args, tangents)[1] == pytest.approx(wanted, rel=1e-10, abs=0)
            assert compiled[place] == pytest.approx(wanted, rel=1e-10, abs=0)


@pytest.mark.parametrize(
    ("name", "method", "args"),
    one_in(23, [(n, method, args) for n, methods, args in TAILS for method in methods]),
)
def test_far_out_values_and_slopes_are_those_of_mpmath(name, method, args):
    check(name, method, args)


FLAT = [
    ("gompertz", 1000.0, (2.0,), 1),
    ("gompertz", 1e303, (1e-3,), 1),
    ("gumbel_l", 750.0, (), 1),
    ("gumbel_r", -750.0, (), -1),
    ("loggamma", 1e5, (2.5,), 1),
    ("loggamma", -1e155, (1e-3,), None),
    ("weibull_min", 1e303, (3.0,), 1),
    ("weibull_max", -1e303, (3.0,), -1),
    ("invgamma", 1e-300, (2.5,), -1),
    ("levy", 1e-300, (), -1),
    ("genextreme", -750.0, (1e-9,), -1),
    ("invgauss", 1e303, (1.3,), 1),
    ("wald", 1e9, (), 1),
    ("fatiguelife", 1e-300, (0.9,), -1),
]


@pytest.mark.parametrize(("name", "x", "shapes", "side"), one_in(3, FLAT))
def test_slopes_are_zero_where_a_distribution_is_constant(name, x, shapes, side):
    own, places = getattr(scipy.stats, name), tuple(range(1 + len(shapes)))
    methods = ["pdf", "cdf", "sf", *(["logcdf"] if side == 1 else ["logsf"] if side == -1 else [])]
    for method in methods:
        value, slopes = fg.value_and_grad(getattr(own, method), places)(x, *shapes)
        limit = {"pdf": 0.0, "cdf": side == 1, "sf": side != 1}.get(method, 0.0)
        assert (value, slopes) == (limit, (0.0,) * len(places)), method
        assert fg.jit(fg.grad(getattr(own, method)))(x, *shapes) == 0.0
        assert fg.grad(fg.grad(getattr(own, method)))(x, *shapes) == 0.0


SECOND = [
    ("truncweibull_min", "cdf", (0.1003, 3.0, 0.1, 30.0)),
    ("truncpareto", "logsf", (3.0, 0.3, 5.0)),
    ("bradford", "logsf", (0.9, 0.3)),
    ("laplace_asymmetric", "logcdf", (-1e4, 0.3)),
    ("genhalflogistic", "logsf", (20.0, 1e-3)),
    ("foldcauchy", "logcdf", (1e-9, 4.7)),
    ("argus", "logcdf", (1e-6, 1.7)),
    ("loguniform", "cdf", (1.25 - 2.0**-40, 0.01, 1.25)),
    ("vonmises", "cdf", (-1.1, 100.0)),
    ("t", "logsf", (1e155, 0.01)),
    ("loggamma", "logcdf", (-750.0, 0.1)),
    ("chi", "cdf", (1e-155, 0.5)),
    ("f", "logsf", (1e150, 2.0, 1e-3)),
    ("skewnorm", "logcdf", (-40.0, 1.0)),
    ("truncnorm", "logcdf", (30.0 + 1e-9, 30.0, 50.0)),
    ("invgauss", "logsf", (1e3, 50.0)),
]


@pytest.mark.parametrize(("name", "method", "args"), one_in(4, SECOND))
def test_far_out_second_derivatives_are_those_of_mpmath(name, method, args):
    f, count = getattr(getattr(scipy.stats, name), method), len(args)
    # Of relative steps, since arguments are very large and very small.
    found = fg.hessian(lambda s: f(*[v * (1 + s[k]) for k, v in enumerate(args)]))(np.zeros(count))
    with mp.workdps(90):
        given, step = [mp.mpf(v) for v in args], mp.mpf(10) ** -25

        def at(*steps):
            places = zip(given, steps, strict=True)
            return exact(name, method, tuple([v * (1 + s) for v, s in places]))

        for i in range(count):
            for j in range(i + 1):
                ends = []
                for s, t in ((1, 1), (1, -1), (-1, 1), (-1, -1)):
                    steps = [step * (s * (k == i) + t * (k == j)) for k in range(count)]
                    ends.append(at(*steps))
                wanted = (ends[0] - ends[1] - ends[2] + ends[3]) / (4 * step**2)
                assert found[i, j] == pytest.approx(float(wanted), rel=1e-8, abs=1e-12)


def test_densities_that_are_flat_are_positive_at_the_end_of_the_support():
    for call in (
        lambda x: scipy.stats.genpareto.pdf(x, -1.0),
        lambda x: scipy.stats.genextreme.pdf(x, 1.0),
    ):
        value, slope = fg.value_and_grad(call)(1.0)
        assert value == call(1.0) == 1.0
        assert slope == 0.0
    assert fg.value_and_grad(lambda x: scipy.stats.genpareto.logpdf(x, -0.5))(2.0)[0] == -np.inf


def test_quantiles_of_nakagami_at_a_small_shape():
    for q in (0.3, 0.6, 0.9):
        with mp.workdps(120):

            def log_quantile(q, nu):
                return ((mp.log(q) + mp.loggamma(nu + 1)) / nu - mp.log(nu)) / 2

            x = mp.exp(log_quantile(mp.mpf(q), mp.mpf(1e-3)))
            wanted = [x, *[x * mp.diff(log_quantile, (q, 1e-3), n) for n in ((1, 0), (0, 1))]]
        value, slopes = fg.value_and_grad(scipy.stats.nakagami.ppf, (0, 1))(q, 1e-3)
        assert [value, *slopes] == pytest.approx(list(map(float, wanted)), rel=1e-10)


def test_far_tails_beside_ordinary_entries_and_under_vmap():
    x = np.array([-750.0, -3.0, 0.5, 800.0])
    for call in (
        lambda x: scipy.stats.loggamma.cdf(x, 2.5),
        lambda x: scipy.stats.gumbel_l.cdf(x),
        lambda x: scipy.stats.skewnorm.logcdf(x / 20, 2.0),
        lambda x: scipy.stats.invgauss.sf(x + 751.0, 3.0),
        lambda x: scipy.stats.vonmises.cdf(x / 300.0, 40.0),
        lambda x: scipy.stats.t.cdf(x * 1e150, 0.01),
    ):
        slopes = [fg.grad(call)(value) for value in x]
        assert np.all(np.isfinite(slopes))
        np.testing.assert_allclose(fg.grad(lambda x: np.sum(call(x)))(x), slopes, rtol=1e-12)  # noqa: B023
        np.testing.assert_allclose(fg.vmap(fg.grad(call))(x), slopes, rtol=1e-12)


def test_geninvgauss_next_to_infinity():
    own = scipy.stats.geninvgauss
    for x, p, b in ((1e300, 2.3, 1.5), (1e155, -1.3, 1e-3)):
        value, slopes = fg.value_and_grad(own.logsf, (0, 1, 2))(x, p, b)
        log_k = lambda p, b: mp.log(mp.besselk(p, b))  # noqa: E731
        with mp.workdps(30):
            wanted = [-b / 2, mp.log(x) - mp.diff(log_k, (p, b), (1, 0)), -mp.mpf(x) / 2]
        assert value == pytest.approx(-b * x / 2, rel=1e-12)
        np.testing.assert_allclose(slopes, list(map(float, wanted)), rtol=1e-10)
        np.testing.assert_allclose(fg.jit(fg.grad(own.logsf, (0, 1, 2)))(x, p, b), slopes)
        assert fg.vmap(fg.grad(lambda x: own.logsf(x, p, b)))(np.array([x]))[0] == -b / 2  # noqa: B023


def mixed_tail(x, a, b):
    """Of the normal inverse Gaussian distribution, from -infinity to x < 0."""
    factor = a / mp.pi * mp.exp(mp.sqrt(a * a - b * b))

    def density(t):
        size = mp.sqrt(1 + t * t)
        return factor * mp.besselk(1, a * size) / size * mp.exp(b * t)

    step = 1 / (a + b)
    return mp.quad(density, [x - step * k for k in (250, 120, 60, 30, 15, 7, 3, 1, 0)])


def test_norminvgauss_is_that_of_mpmath():
    own, args = scipy.stats.norminvgauss, (-100.0, 1.25, 0.5)
    value, slopes = fg.value_and_grad(own.logcdf, (0, 1, 2))(*args)
    with mp.workdps(30):
        given, step = [mp.mpf(v) for v in args], mp.mpf(10) ** -9
        assert value == pytest.approx(float(mp.log(mixed_tail(*given))), rel=1e-12)
        for place in range(3):
            ends = []
            for s in (step, -step):
                moved = [v + s * (k == place) for k, v in enumerate(given)]
                ends.append(mp.log(mixed_tail(*moved)))
            assert slopes[place] == pytest.approx(
                float((ends[0] - ends[1]) / (2 * step)), rel=1e-10
            )
    assert fg.grad(own.sf)(args[0], *args[1:]) == pytest.approx(-own.pdf(*args), rel=1e-10)


@pytest.mark.parametrize("x", one_in(3, [-1e300, -1e200, -1e20]))
def test_the_decay_of_hyperbolic_tails_far_out(x):
    for f, shapes in (
        (scipy.stats.norminvgauss.logcdf, (1.25, 0.5)),
        (lambda x, a, b: scipy.stats.genhyperbolic.logcdf(x, 2.0, a, b), (1.25, 0.5)),
    ):
        slopes = fg.grad(f, (0, 1, 2))(x, *shapes)
        np.testing.assert_allclose(slopes, [1.75, x, x], rtol=1e-10)
        np.testing.assert_allclose(fg.jit(fg.grad(f, (0, 1, 2)))(x, *shapes), slopes)
        rows = fg.vmap(fg.grad(lambda x: f(x, 1.25, 0.5)))(np.array([x, -1.0]))  # noqa: B023
        assert rows[0] == slopes[0]


@pytest.mark.parametrize("x", one_in(3, [-1e-300, 0.0, 1e-300]))
@pytest.mark.parametrize(
    ("name", "shape"), [("gennorm", 1.3), ("dgamma", 1.0), ("dgamma", 1.4), ("dweibull", 1.0)]
)
def test_distributions_with_two_sides_between_them(name, shape, x):
    own = getattr(scipy.stats, name)
    density = 0.0 if (name, shape) == ("dgamma", 1.4) else own.pdf(0.0, shape)
    for method, factor in (("cdf", 1), ("sf", -1), ("logcdf", 2), ("logsf", -2)):
        value, slopes = fg.value_and_grad(getattr(own, method), (0, 1))(x, shape)
        assert value == pytest.approx(getattr(own, method)(x, shape), rel=1e-12)
        assert slopes == pytest.approx((factor * density, 0.0), rel=1e-12, abs=1e-100)
        assert fg.jit(fg.grad(getattr(own, method)))(x, shape) == slopes[0]


@pytest.mark.parametrize("x", [0.0, -0.0])
@pytest.mark.parametrize("name", ["dgamma", "dweibull"])
def test_slopes_between_two_sides_with_an_infinite_density(name, x):
    own = getattr(scipy.stats, name)
    for method, slope in (("cdf", np.inf), ("sf", -np.inf), ("logcdf", np.inf), ("logsf", -np.inf)):
        f = getattr(own, method)
        assert fg.grad(f)(x, 0.5) == fg.jvp(lambda x, f=f: f(x, 0.5), (x,), (1.0,))[1] == slope


def kappa_log_cdf(x, h, k):
    return -kappa(x, h, k)


@pytest.mark.parametrize(("h", "k"), [(0.0, 0.0), (0.0, 0.1), (0.2, 0.0), (-0.3, 0.0)])
@pytest.mark.parametrize("x", [-1.0, 0.7, 5.0])
def test_kappa4_has_derivatives_in_shapes_that_are_zero(x, h, k):
    own = scipy.stats.kappa4
    slopes = fg.grad(own.logcdf, (0, 1, 2))(x, h, k)
    with mp.workdps(120):
        step = mp.mpf(10) ** -20
        for place in range(3):
            ends = []
            for s in (step, -step):
                # The other shape is moved off 0, where the formula has its limit.
                moved = [mp.mpf(v) + (mp.mpf(10) ** -30 if v == 0 else 0) for v in (x, h, k)]
                moved[place] += s
                ends.append(kappa_log_cdf(*moved))
            wanted = float((ends[0] - ends[1]) / (2 * step))
            assert slopes[place] == pytest.approx(wanted, rel=1e-10)
    np.testing.assert_allclose(fg.jit(fg.grad(own.logcdf, (0, 1, 2)))(x, h, k), slopes, rtol=1e-13)
    rows = fg.vmap(fg.grad(own.logcdf, (0, 1, 2)))(*[np.array([v, v]) for v in (x, h, k)])
    np.testing.assert_allclose([row[1] for row in rows], slopes, rtol=1e-13)


def test_logarithms_of_tails_take_arrays_of_shapes():
    x, shapes = np.array([0.1, 0.5, 3.0]), np.array([1.0, 2.0, 0.7])
    for own in (scipy.stats.foldcauchy, scipy.stats.exponnorm, scipy.stats.argus):
        place = x / 4 if own.name == "argus" else x
        for method, side, sign in (("logcdf", own.cdf, 1), ("logsf", own.sf, 1)):
            f = getattr(own, method)
            slopes = fg.grad(lambda q: np.sum(f(place, q)))(shapes)  # noqa: B023
            wanted = fg.grad(lambda q: np.sum(sign * side(place, q)))(shapes)  # noqa: B023
            np.testing.assert_allclose(slopes, wanted / side(place, shapes), rtol=1e-9)
            rows = fg.vmap(lambda x, q: fg.grad(f, 1)(x, q))(place, shapes)  # noqa: B023
            np.testing.assert_allclose(rows, slopes, rtol=1e-9)


def test_kstwobign_next_to_zero():
    for method in ("logsf", "sf", "cdf"):
        assert fg.grad(getattr(scipy.stats.kstwobign, method))(1e-200) == 0.0


def test_rel_breitwigner_falls_by_the_cube_far_out():
    slopes = [fg.grad(scipy.stats.rel_breitwigner.logsf)(x, 36.5) for x in (1e155, 1e300)]
    assert slopes == pytest.approx([-3e-155, -3e-300], rel=1e-12)
    assert fg.grad(scipy.stats.rel_breitwigner.cdf, (0, 1))(1e300, 36.5) == (0.0, 0.0)


def test_the_triangle_that_falls_from_0_or_rises_to_1():
    own, x = scipy.stats.triang, 1e-9
    assert fg.jvp(own.logcdf, (x, 0.0), (1.0, 0.0)) == pytest.approx(
        (np.log(x * (2 - x)), (2 - 2 * x) / (x * (2 - x))), rel=1e-14
    )
    assert fg.grad(own.logcdf, 1)(x, 0.0) == pytest.approx(-((1 - x) ** 2) / (x * (2 - x)))
    assert fg.grad(own.logsf)(1 - 2.0**-30, 1.0) == pytest.approx(-(2.0**30) + 0.5)
    assert fg.grad(own.logsf, 1)(0.5, 1.0) == pytest.approx(0.25 / 0.75)


@pytest.mark.parametrize("name", ["norm", "skewnorm"])
def test_the_slope_of_a_log_density_that_overflows(name):
    shapes = () if name == "norm" else (0.0,)
    f = fg.value_and_grad(lambda x, loc: getattr(scipy.stats, name).logpdf(x, *shapes, loc), (0, 1))
    assert f(1e200, 0.0) == (-np.inf, (-1e200, 1e200))
    assert f(np.inf, 0.0) == (-np.inf, (0.0, 0.0))


@pytest.mark.parametrize(
    ("f", "scale", "elasticity"),
    [
        (lambda s: scipy.stats.gamma.logpdf(1.5, 3.0, 0.0, s), 1e200, -3.0),
        (lambda s: scipy.stats.lognorm.logsf(1.5, 2.0, 0.0, s), 1e-200, 115.2327904),
        (lambda s: scipy.stats.powerlaw.logcdf(1.5, 2.0, 0.0, s), 1e200, -2.0),
        (lambda s: scipy.stats.cauchy.logsf(1.5, 0.0, s), 1e-200, 1.0),
    ],
)
def test_slopes_in_scales_far_from_the_data(f, scale, elasticity):
    for slope in (fg.grad(f)(scale), fg.jit(fg.grad(f))(scale)):
        assert slope == pytest.approx(elasticity / scale, rel=1e-7)


@pytest.mark.parametrize(("name", "shape"), [("dweibull", 2.0), ("dgamma", 1.5)])
def test_the_log_density_of_two_sides_at_a_zero_between_them(name, shape):
    f = fg.value_and_grad(lambda x, loc: getattr(scipy.stats, name).logpdf(x, shape, loc), (0, 1))
    assert f(0.0, 0.0) == (-np.inf, (0.0, 0.0))


def test_the_hessian_of_a_normal_variable_between_two_ends_that_are_far_out():
    f = fg.hessian(lambda a: scipy.stats.truncnorm.logcdf(30.0 + 1e-9, a, 50.0))
    assert f(30.0) == pytest.approx(-9.999998345192783e17, rel=1e-7)
    assert fg.jit(f)(30.0) == pytest.approx(-9.999998345192783e17, rel=1e-7)
    assert fg.jit(fg.hessian(scipy.stats.lomax.logcdf))(1e200, 3.0) == 0.0


QUANTILES = {
    ("cauchy", "ppf"): lambda q: -mp.cot(mp.pi * q),
    ("cauchy", "isf"): lambda q: mp.cot(mp.pi * q),
    ("arcsine", "ppf"): lambda q: mp.sin(mp.pi / 2 * q) ** 2,
    ("arcsine", "isf"): lambda q: mp.cos(mp.pi / 2 * q) ** 2,
}


@pytest.mark.parametrize(("name", "method"), QUANTILES)
@pytest.mark.parametrize("q", [1e-16, 0.1, 0.6, 1 - 1e-10])
def test_quantiles_next_to_one_and_their_slopes(name, method, q):
    function = getattr(getattr(scipy.stats, name), method)
    with mp.workdps(120):
        step = mp.mpf(10) ** -35
        low, middle, high = [QUANTILES[name, method](q + k * step) for k in (-1, 0, 1)]
    value, slope = fg.value_and_grad(function)(q)
    np.testing.assert_allclose(value, float(middle), rtol=1e-12)
    np.testing.assert_allclose(slope, float((high - low) / (2 * step)), rtol=1e-12)


ROOTS = [
    ("burr", "ppf", (1 - 1e-10, 10.5, 4.3)),
    ("mielke", "ppf", (1 - 1e-10, 10.4, 4.6)),
    ("kappa3", "ppf", (1 - 1e-10, 30.0)),
    ("kappa4", "isf", (1e-10, 1.0, 0.5)),
    ("genextreme", "ppf", (1e-100, -5.0)),
    ("genextreme", "isf", (1e-4, 3.0)),
    ("genpareto", "ppf", (0.999, -5.0)),
    ("powernorm", "ppf", (1e-10, 1e6)),
    ("crystalball", "isf", (1e-10, 0.5, 1.5)),
    ("exponnorm", "ppf", (1e-100, 1e4)),
    ("exponnorm", "ppf", (1 - 1e-10, 1.5)),
    ("truncexpon", "isf", (0.3, 1e-8)),
    ("argus", "ppf", (1e-20, 1.0)),
    ("rdist", "ppf", (1e-10, 1.6)),
    ("truncpareto", "isf", (1e-4, 1e-3, 2.0)),
]


def root_of(name, method, q, start, shapes):
    """The quantile, by Newton's method from a number that has a few digits."""
    x = start
    for _ in range(200):
        side = sides(name, (x, *shapes))[method == "isf"]
        step = (side - q) / moves(name, (x, *shapes), 0)[method == "isf"]
        x = x - step
        if abs(step) < mp.mpf(10) ** -60 * abs(x):
            break
    return x


@pytest.mark.parametrize(("name", "method", "args"), one_in(4, ROOTS))
def test_slopes_of_quantiles_are_those_at_the_quantile_itself(name, method, args):
    """SciPy's quantiles have few digits there."""
    own = getattr(getattr(scipy.stats, name), method)
    places = tuple(range(len(args)))
    slopes = fg.grad(own, places)(*args)
    compiled = fg.jit(fg.grad(own, places))(*args)
    rows = fg.vmap(fg.grad(own, places))(*[np.array([v, v]) for v in args])
    with mp.workdps(90):
        q, *shapes = [mp.mpf(v) for v in args]
        start = mp.mpf(float(own(*args))) if name != "argus" else mp.sqrt(q)
        x = root_of(name, method, q, start, shapes)
        along = [moves(name, (x, *shapes), k)[method == "isf"] for k in places]
        for k in places:
            wanted = float((1 if k == 0 else -along[k]) / along[0])
            assert slopes[k] == pytest.approx(wanted, rel=1e-10, abs=0), k
            assert compiled[k] == pytest.approx(wanted, rel=1e-10, abs=0)
            np.testing.assert_allclose(rows[k], [wanted] * 2, rtol=1e-10)
            tangents = tuple([float(j == k) for j in places])
            assert fg.jvp(own, args, tangents)[1] == pytest.approx(wanted, rel=1e-10, abs=0)


@pytest.mark.parametrize("method", ["cdf", "sf", "logcdf", "logsf"])
@pytest.mark.parametrize("x", [-3.1, -0.4, 0.0, 2.0])
def test_the_cosine_distribution(method, x):
    sign = -1 if method.endswith("sf") else 1
    with mp.workdps(40):
        share = (mp.pi + sign * x + mp.sin(sign * x)) / (2 * mp.pi)
        density = (1 + mp.cos(x)) / (2 * mp.pi)
    wanted = sign * (density / share if method.startswith("log") else density)
    slope = fg.grad(getattr(scipy.stats.cosine, method))(x)
    np.testing.assert_allclose(slope, float(wanted), rtol=1e-11)
    if method in ("cdf", "sf"):
        inverse = getattr(scipy.stats.cosine, {"cdf": "ppf", "sf": "isf"}[method])
        np.testing.assert_allclose(fg.grad(inverse)(float(share)), float(1 / wanted), rtol=1e-7)


@pytest.mark.parametrize(("k", "a"), [(1, 30.0), (2, 1e-9), (0, 300.0), (-1, 30.0), (-3, 1e-9)])
def test_the_discrete_laplace_distribution_in_its_tails(k, a):
    """The slope of `cdf` was the half of it where it rounds to 1, and `logsf` was -inf."""

    def log_tail(a):
        return -a * (k + 1 if k >= 0 else -k) - mp.log1p(mp.exp(-a))

    method, other = ("logsf", "logcdf") if k >= 0 else ("logcdf", "logsf")
    with mp.workdps(400):
        log, slope, second = [mp.diff(log_tail, mp.mpf(a), order) for order in range(3)]
        share = mp.exp(log)
        rest = -slope * share / (1 - share)
    f = getattr(scipy.stats.dlaplace, method)
    g = getattr(scipy.stats.dlaplace, other)
    own = fg.value_and_grad(lambda a: f(k, a))(a)
    np.testing.assert_allclose(own, [float(log), float(slope)], rtol=1e-12)
    assert fg.hessian(lambda a: f(k, a))(a) == pytest.approx(float(second), rel=1e-10, abs=1e-300)
    assert fg.grad(lambda a: g(k, a))(a) == pytest.approx(float(rest), rel=1e-10)
    for direction, name in ((1, method[3:]), (-1, other[3:])):
        found = fg.jit(fg.grad(lambda a, n=name: getattr(scipy.stats.dlaplace, n)(k, a)))(a)
        assert found == pytest.approx(direction * float(slope * share), rel=1e-10)


@pytest.mark.parametrize("p", [1e-300, 1e-12, 0.3])
@pytest.mark.parametrize("k", [1, 2])
def test_the_logarithmic_series_at_small_shares(k, p):
    def log_mass(p):
        return k * mp.log(p) - mp.log(k) - mp.log(-mp.log1p(-p))

    with mp.workdps(900):
        step = mp.mpf(p) * mp.mpf(10) ** -30
        ends = [log_mass(mp.mpf(p) + s * step) for s in (-1, 0, 1)]
        wanted = [float(ends[1]), float((ends[2] - ends[0]) / (2 * step))]
    found = fg.value_and_grad(lambda p: scipy.stats.logser.logpmf(k, p))(p)
    assert found[0] == pytest.approx(wanted[0], rel=1e-12, abs=1e-16)
    assert found[1] == pytest.approx(wanted[1], rel=1e-12)
    assert fg.jit(fg.grad(lambda p: scipy.stats.logser.logpmf(k, p)))(p) == pytest.approx(wanted[1])

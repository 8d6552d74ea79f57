"""Slopes of distributions at large parameters, where terms of the log density cancel, against mpmath."""

import mpmath as mp
import numpy as np
import pytest
import scipy.stats

import funcgrad as fg
from tests.default_slice import one_in


def log_beta(a, b):
    return mp.loggamma(a) + mp.loggamma(b) - mp.loggamma(a + b)


def beta_side(a, b, x, y):
    """The regularized incomplete beta function of x, where y is 1 - x, with the digits of a small one."""
    log = a * mp.log(x) + b * mp.log(y) - mp.log(a) - log_beta(a, b)
    return mp.exp(log) * mp.hyp2f1(a + b, 1, a + 1, x)


def f_log_density(x, n, d):
    log = n / 2 * mp.log(n * x / d) - (n + d) / 2 * mp.log1p(n * x / d)
    return log - mp.log(x) - log_beta(n / 2, d / 2)


def f_cdf(x, n, d):
    return beta_side(n / 2, d / 2, n * x / (d + n * x), d / (d + n * x))


def f_sf(x, n, d):
    return beta_side(d / 2, n / 2, d / (d + n * x), n * x / (d + n * x))


def t_log_density(x, v):
    return -mp.log(v) / 2 - log_beta(mp.mpf(1) / 2, v / 2) - (v + 1) / 2 * mp.log1p(x * x / v)


def t_cdf(x, v):
    return beta_side(v / 2, mp.mpf(1) / 2, v / (v + x * x), x * x / (v + x * x)) / 2


def betaprime_log_density(x, a, b):
    return (a - 1) * mp.log(x) - (a + b) * mp.log1p(x) - log_beta(a, b)


def burr_log_density(x, c, d):
    return mp.log(c * d) - (c + 1) * mp.log(x) - (d + 1) * mp.log1p(x**-c)


def mielke_log_density(x, k, s):
    return mp.log(k) + (k - 1) * mp.log(x) - (1 + k / s) * mp.log1p(x**s)


def truncweibull_log_density(x, c, a, b):
    gap = b**c - a**c
    return mp.log(c) + (c - 1) * mp.log(x) - x**c + a**c - mp.log(-mp.expm1(-gap))


def truncweibull_cdf(x, c, a, b):
    return mp.expm1(a**c - x**c) / mp.expm1(a**c - b**c)


def trapezoid_sf(x, c, d):
    """For x < c."""
    return 1 - x * x / c / (1 + d - c)


EXACT = {
    ("burr", "logpdf"): burr_log_density,
    ("truncweibull_min", "logpdf"): truncweibull_log_density,
    ("truncweibull_min", "cdf"): truncweibull_cdf,
    ("mielke", "logpdf"): mielke_log_density,
    ("mielke", "logcdf"): lambda x, k, s: -k / s * mp.log1p(x**-s),
    ("mielke", "logsf"): lambda x, k, s: mp.log(-mp.expm1(-k / s * mp.log1p(x**-s))),
    ("mielke", "cdf"): lambda x, k, s: (1 + x**-s) ** (-k / s),
    ("trapezoid", "sf"): trapezoid_sf,
    ("trapezoid", "logsf"): lambda *args: mp.log(trapezoid_sf(*args)),
    ("f", "logpdf"): f_log_density,
    ("f", "pdf"): lambda *args: mp.exp(f_log_density(*args)),
    ("f", "logcdf"): lambda *args: mp.log(f_cdf(*args)),
    ("f", "logsf"): lambda *args: mp.log(f_sf(*args)),
    ("t", "logpdf"): t_log_density,
    ("t", "logcdf"): lambda *args: mp.log(t_cdf(*args)),
    ("t", "logsf"): lambda x, v: mp.log(t_cdf(-x, v)),
    ("betaprime", "logpdf"): betaprime_log_density,
}
CASES = [
    *[("f", method, (0.9, 1e4, 18.0)) for method in ("logpdf", "pdf", "logcdf", "logsf")],
    *[("f", "logpdf", args) for args in ((1.6, 29.0, 1e6), (0.97, 1e4, 2e4), (3.0, 200.0, 0.3))],
    ("f", "logpdf", (0.94, 1e8, 18.0)),
    ("f", "logsf", (1.7, 40.0, 1e6)),
    *[("t", "logpdf", (x, df)) for x in (-1.3, 2.5) for df in (1e4, 1e8)],
    *[("t", "logcdf", (x, df)) for x in (-1.3, -6.0) for df in (150.0, 1e4, 1e8)],
    ("t", "logsf", (4.0, 1e6)),
    *[("burr", "logpdf", args) for args in ((4.8, 10.5, 1e8), (1.07, 1e4, 1e4), (0.6, 2.0, 1e4))],
    ("mielke", "logpdf", (33.0, 1e8, 4.6)),
    *[("mielke", method, (0.51, 10.4, 30.0)) for method in ("logpdf", "logcdf")],
    *[("mielke", method, (1e-8, 1e-3, 2.0)) for method in ("logsf", "cdf")],
    *[("truncweibull_min", "logpdf", (0.95, c, 1e-3, 1.75)) for c in (0.3, 2.5)],
    ("truncweibull_min", "cdf", (0.95, 2.5, 1e-8, 1.75)),
    *[("trapezoid", method, (1e-16, 1e-12, 0.8)) for method in ("sf", "logsf")],
    ("betaprime", "logpdf", (6e6, 1e8, 6.0)),
    ("betaprime", "logpdf", (1e50, 1e4, 1e-3)),
]


@pytest.mark.parametrize(("name", "method", "args"), one_in(3, CASES))
def test_slopes_at_large_parameters_are_those_of_mpmath(name, method, args):
    f, exact = getattr(getattr(scipy.stats, name), method), EXACT[name, method]
    places = tuple(range(len(args)))
    value, slopes = fg.value_and_grad(f, places)(*args)
    compiled = fg.jit(fg.grad(f, places))(*args)
    second = [fg.grad(fg.grad(f, place), place)(*args) for place in places]
    rows = fg.vmap(fg.grad(f, places))(*[np.array([v, v]) for v in args])
    with mp.workdps(150):
        given = [mp.mpf(v) for v in args]
        assert value == pytest.approx(float(exact(*given)), rel=1e-11, abs=0)
        for place in places:
            step = given[place] * mp.mpf(10) ** -30
            ends = []
            for s in (-1, 0, 1):
                ends.append(exact(*[v + s * step * (k == place) for k, v in enumerate(given)]))
            first = float((ends[2] - ends[0]) / (2 * step))
            assert slopes[place] == pytest.approx(first, rel=1e-10, abs=0)
            assert compiled[place] == pytest.approx(first, rel=1e-10, abs=0)
            np.testing.assert_allclose(rows[place], [first] * 2, rtol=1e-10)
            tangents = tuple([float(k == place) for k in places])
            assert fg.jvp(f, args, tangents)[1] == pytest.approx(first, rel=1e-10, abs=0)
            curvature = float((ends[2] - 2 * ends[1] + ends[0]) / step**2)
            linear = abs(curvature * given[place] ** 2) <= 1e-60  # but for the steps' rounding
            curvature = 0.0 if linear else curvature
            assert second[place] == pytest.approx(curvature, rel=1e-7, abs=0)


def test_truncweibull_min_has_a_slope_in_an_end_of_zero():
    own = scipy.stats.truncweibull_min
    wanted = 1 + 1 / np.expm1(1.3)  # of log(1 - exp(a - b)) - a, at a = 0 and c = 1
    for value in (fg.grad(own.logpdf, 2), fg.jit(fg.grad(own.logpdf, 2))):
        assert value(0.7, 1.0, 0.0, 1.3) == pytest.approx(wanted, rel=1e-14)
    assert fg.jvp(lambda a: own.logpdf(0.7, 1.0, a, 1.3), (0.0,), (1.0,))[1] == pytest.approx(
        wanted
    )
    assert fg.grad(own.logpdf, 2)(0.7, 2.5, 0.0, 1.3) == 0.0


@pytest.mark.parametrize("dfd", [18.0, 180.0])
def test_f_at_0_has_the_slopes_of_its_density(dfd):
    for method in ("logpdf", "pdf"):
        f, places = getattr(scipy.stats.f, method), (0, 1, 2)
        assert fg.grad(f, places)(0.0, 29.0, dfd) == (0.0, 0.0, 0.0)
        assert fg.jit(fg.grad(f, places))(0.0, 290.0, dfd) == (0.0, 0.0, 0.0)
        flat = fg.jit(fg.grad(f))(0.0, 2.0, dfd)  # (1 + 2*x/dfd)**(-1 - dfd/2)
        assert flat == pytest.approx(-1 - 2 / dfd, rel=1e-12)


def test_levy_l_is_minus_infinity_at_its_end():
    own = scipy.stats.levy_l
    for f, wanted in ((own.logpdf, -np.inf), (own.pdf, 0.0)):
        for at in (f, fg.jit(f)):
            assert fg.vjp(at, 0.0)[0] == wanted
        assert fg.grad(f)(0.0) == fg.jit(fg.grad(f))(0.0) == 0.0


@pytest.mark.parametrize(("method", "x", "skew"), [("logcdf", -2.5, 1.0), ("logsf", 2.5, -1.0)])
def test_logarithms_of_pearson3_have_no_slope_outside_of_its_support(method, x, skew):
    f = getattr(scipy.stats.pearson3, method)
    value, slope = fg.jvp(lambda x: f(x, skew), (x,), (1.0,))
    assert (value, slope) == (-np.inf, 0.0)
    assert fg.grad(f, (0, 1))(x, skew) == (0.0, 0.0)

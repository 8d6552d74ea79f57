"""Slopes of distributions at small parameters and where probabilities round to 1, against mpmath."""

import mpmath as mp
import numpy as np
import pytest
import scipy.stats

import funcgrad as fg
from tests.default_slice import one_in


def geom(k, p):
    return (1 - p) ** (k - 1) * p


def planck(k, rate):
    return -mp.expm1(-rate) * mp.exp(-rate * k)


def boltzmann(k, rate, n):
    return mp.expm1(-rate) / mp.expm1(-rate * n) * mp.exp(-rate * k)


def betabinom(k, n, a, b):
    return mp.binomial(n, k) * mp.beta(k + a, n - k + b) / mp.beta(a, b)


def betanbinom(k, n, a, b):
    return mp.binomial(n + k - 1, k) * mp.beta(a + n, b + k) / mp.beta(a, b)


def yulesimon_tail(k, a):
    return k * mp.beta(k, a + 1)


EXACT = {
    ("geom", "pmf"): geom,
    ("planck", "pmf"): planck,
    ("boltzmann", "pmf"): boltzmann,
    ("boltzmann", "logpmf"): lambda *args: mp.log(boltzmann(*args)),
    ("boltzmann", "cdf"): lambda k, rate, n: mp.expm1(-rate * (k + 1)) / mp.expm1(-rate * n),
    ("betabinom", "pmf"): betabinom,
    ("betabinom", "logpmf"): lambda *args: mp.log(betabinom(*args)),
    ("betanbinom", "pmf"): betanbinom,
    ("betanbinom", "logpmf"): lambda *args: mp.log(betanbinom(*args)),
    ("yulesimon", "sf"): yulesimon_tail,
    ("yulesimon", "cdf"): lambda *args: 1 - yulesimon_tail(*args),
    ("yulesimon", "logsf"): lambda *args: mp.log(yulesimon_tail(*args)),
}
CASES = [
    *[("geom", "pmf", (k, p), 1) for k in (2, 30) for p in (1e-100, 1e-20, 1e-5, 0.3)],
    *[("planck", "pmf", (k, rate), 1) for k in (0, 5) for rate in (1e-20, 1e-5, 0.4)],
    *[
        ("boltzmann", method, (3, rate, 20), 1)
        for method in ("pmf", "logpmf", "cdf")
        for rate in (1e-100, 1e-20, 1e-8, 1e-3, 0.3)
    ],
    ("betabinom", "pmf", (0, 3, 1e-8, 1e4), 2),  # rounds to 1
    ("betabinom", "pmf", (3, 3, 1e4, 1e-8), 3),
    ("betabinom", "logpmf", (0, 3, 1e-8, 2.5), 2),
    ("betabinom", "logpmf", (4, 10, 2.5, 1e8), 3),
    ("betabinom", "pmf", (4, 10, 2.5, 0.7), 2),
    ("betabinom", "logpmf", (4, 10, 2.5, 0.7), 1),
    ("betanbinom", "pmf", (0, 3, 1e4, 1e-8), 3),
    ("betanbinom", "pmf", (7, 5, 9.3, 1.0), 1),
    ("betanbinom", "logpmf", (0, 3, 1e7, 2.5), 2),  # (At 1e8 terms of 3e-8 cancel to 7e-16.)
    ("betanbinom", "logpmf", (5, 3, 0.6, 1e8), 3),
    *[
        ("yulesimon", method, (k, a), 1)
        for method in ("cdf", "sf", "logsf")
        for k, a in ((100, 30.0), (10, 1e4), (100, 1e-8), (10**6, 1e-8), (3, 0.99), (3, 1.5))
    ],
]


def wanted_slope(exact, args, place, order):
    with mp.workdps(400):
        args = [mp.mpf(x) for x in args]
        step = args[place] * mp.mpf(10) ** -60

        def at(times):
            moved = [x + times * step * (k == place) for k, x in enumerate(args)]
            return exact(*moved)

        if order == 1:
            return float((at(1) - at(-1)) / (2 * step))
        return float((at(1) - 2 * at(0) + at(-1)) / step**2)


@pytest.mark.parametrize(("name", "method", "args", "place"), one_in(3, CASES))
def test_slopes_are_those_of_mpmath(name, method, args, place):
    def f(x):
        return getattr(getattr(scipy.stats, name), method)(*args[:place], x, *args[place + 1 :])

    x, exact = float(args[place]), EXACT[name, method]
    first, second = [wanted_slope(exact, args, place, order) for order in (1, 2)]
    assert fg.grad(f)(x) == pytest.approx(first, rel=2e-9)
    assert fg.jvp(f, (x,), (1.0,))[1] == pytest.approx(first, rel=2e-9)
    assert fg.jit(fg.grad(f))(x) == pytest.approx(first, rel=2e-9)
    assert fg.grad(fg.grad(f))(x) == pytest.approx(second, rel=1e-7)
    rows = fg.vmap(fg.grad(f))(np.array([x, x]))
    np.testing.assert_allclose(rows, [first] * 2, rtol=2e-9)


@pytest.mark.parametrize(
    ("name", "shapes"),
    [
        ("betabinom", (10, 2.5, 0.7)),
        ("betanbinom", (3, 2.5, 0.7)),
        ("yulesimon", (1.4,)),
        ("zipf", (2.2,)),
    ],
)
@pytest.mark.parametrize("method", ["pmf", "cdf", "sf", "logcdf"])
def test_values_are_scipys(name, shapes, method):
    own = getattr(getattr(scipy.stats, name), method)
    k = np.array([-np.inf, -1.0, 0.0, 1.0, 2.5, 4.0, 10.0, 11.0, np.inf, np.nan])
    # An infinite number of masses is no sum.
    k = k[np.isfinite(k) | np.isnan(k)] if name != "yulesimon" else k
    with np.errstate(all="ignore"):
        expected = own(k, *shapes, loc=1)
        value, _ = fg.vjp(lambda last: own(k, *shapes[:-1], last, loc=1), shapes[-1])
        np.testing.assert_allclose(value, expected, rtol=1e-15)
        refused = fg.vjp(lambda last: own(3, *shapes[:-1], last), -1.0)[0]
    assert np.isnan(refused)


@pytest.mark.parametrize("q", [1e-300, 1e-20, 0.3, 0.5, 0.7, 1 - 1e-9, 1 - 2**-53])
def test_quantiles_of_hypsecant_next_to_the_ends(q):
    with mp.workdps(60):
        slope = float(mp.pi / mp.sin(mp.pi * mp.mpf(q)))
    own = scipy.stats.hypsecant
    assert fg.grad(own.ppf)(q) == pytest.approx(slope, rel=1e-12)
    assert fg.grad(own.isf)(q) == pytest.approx(-slope, rel=1e-12)
    assert fg.vjp(own.ppf, q)[0] == pytest.approx(own.ppf(q), rel=2e-2)
    assert fg.jit(own.isf)(q) == pytest.approx(own.isf(q), rel=2e-2)


def pearson3(x, skew):
    if skew == 0:
        return -x * x / 2 - mp.log(2 * mp.pi) / 2
    a = 4 / skew**2
    t = a + 2 * x / skew
    return (a - 1) * mp.log(t) - t - mp.loggamma(a) + mp.log(2 / abs(skew))


@pytest.mark.parametrize("x", [-0.7, 0.3, 3.0])
@pytest.mark.parametrize("skew", [-0.4, 1e-6, 1e-3, 0.51, 2.0])
def test_the_log_density_of_pearson3_to_second_order(x, skew):
    own = scipy.stats.pearson3.logpdf
    with mp.workdps(120):
        at, e = (mp.mpf(x), mp.mpf(skew)), mp.mpf(10) ** -25 * mp.mpf(skew)
        f = {(i, j): pearson3(at[0] + i * e, at[1] + j * e) for i in (-1, 0, 1) for j in (-1, 0, 1)}
        slope = float((f[0, 1] - f[0, -1]) / (2 * e))
        second = float((f[0, 1] - 2 * f[0, 0] + f[0, -1]) / e**2)
        mixed = float((f[1, 1] - f[1, -1] - f[-1, 1] + f[-1, -1]) / (4 * e**2))
    v = np.array([x, skew])
    value, found = fg.value_and_grad(lambda v: own(*v))(v)
    assert value == own(x, skew)
    assert found[1] == pytest.approx(slope, rel=1e-12)
    hessian = fg.jit(fg.hessian(lambda v: own(*v)))(v)
    np.testing.assert_allclose(hessian[1], [mixed, second], rtol=1e-10)
    np.testing.assert_allclose(hessian[0, 1], mixed, rtol=1e-10)


@pytest.mark.parametrize("skew", [1e-3, 0.51, 2.0, -0.4])
@pytest.mark.parametrize("x", [1e153, 1e160, 1e200])
def test_the_log_density_of_pearson3_far_out_is_linear_in_x(x, skew):
    own, x = scipy.stats.pearson3.logpdf, x * np.sign(skew)
    v = np.array([x, skew])
    value, slopes = fg.value_and_grad(lambda v: own(*v))(v)
    assert value == own(x, skew)
    np.testing.assert_allclose(slopes, [-2 / skew, 2 * x / skew**2], rtol=1e-12)
    hessian = fg.jit(fg.hessian(lambda v: own(*v)))(v)
    mixed = 2 / skew**2
    np.testing.assert_allclose(hessian[0, 1], mixed, rtol=1e-12)
    np.testing.assert_allclose(hessian[1], [mixed, -4 * x / skew**3], rtol=1e-12)


def test_pearson3_has_a_slope_in_a_skew_of_zero():
    own = scipy.stats.pearson3
    x = np.array([-2.0, 0.3, 1.3])
    slopes = fg.vmap(fg.grad(own.logpdf, 1))(x, np.zeros(3))
    np.testing.assert_allclose(slopes, (x**3 - 3 * x) / 6, rtol=1e-14)
    density = fg.jvp(lambda skew: own.pdf(x, skew, loc=0.0, scale=1.0), (0.0,), (1.0,))[1]
    np.testing.assert_allclose(density, own.pdf(x, 0.0) * (x**3 - 3 * x) / 6, rtol=1e-13)
    assert fg.grad(own.logpdf, 1)(-3.0, 1.0) == 0.0  # outside of the support


@pytest.mark.parametrize("method", ["cdf", "sf", "logcdf", "logsf", "ppf", "isf"])
def test_probabilities_of_pearson3_have_slopes_in_a_skew_of_zero(method):
    own = getattr(scipy.stats.pearson3, method)
    x = np.array([0.1, 0.3, 0.8])

    def f(skew):
        return own(x, skew)

    h = 2e-3
    near, far = [(f(k * h) - f(-k * h)) / (2 * k * h) for k in (1, 2)]
    value, slope = fg.jvp(f, (0.0,), (1.0,))
    np.testing.assert_array_equal(value, f(0.0))
    np.testing.assert_allclose(slope, (4 * near - far) / 3, rtol=1e-8)
    h = 2e-2
    bend = (f(h) - 2 * f(0.0) + f(-h)) / h**2
    np.testing.assert_allclose(fg.jacobian(fg.jacobian(f))(0.0), bend, rtol=1e-3, atol=1e-5)

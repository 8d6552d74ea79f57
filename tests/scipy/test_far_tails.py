"""Distributions far out and next to the ends of their support: values and slopes against mpmath."""

import functools

import mpmath as mp
import numpy as np
import pytest
import scipy.stats

import funcgrad as fg


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


def wald(x, mu, sign):
    root = mp.sqrt(x)
    return mp.ncdf(sign * (x / mu - 1) / root) + sign * mp.exp(2 / mu) * mp.ncdf(
        -(x / mu + 1) / root
    )


CDF = {
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
    "skewnorm": lambda x, a: skewed_tail(x, a) if x < 0 else 1 - skewed_tail(-x, -a),
    "halfnorm": lambda x: mp.erf(x / mp.sqrt(2)),
    "invgauss": lambda x, mu: wald(x, mu, 1),
    "rdist": lambda x, c: beta_tail(c / 2, c / 2, (1 + x) / 2, (1 - x) / 2),
    "arcsine": lambda x: 2 / mp.pi * mp.asin(mp.sqrt(x)),
    "triang": lambda x, c: x * x / c,
    "johnsonsu": lambda x, a, b: mp.ncdf(a + b * mp.asinh(x)),
}
SF = {
    "t": student_tail,
    "loggamma": lambda x, c: upper(c, mp.exp(x)),
    "genpareto": lambda x, c: mp.exp(-exponent(x, c)),
    "genextreme": lambda x, c: -mp.expm1(-mp.exp(-exponent(x, -c))),
    "gumbel_r": lambda x: -mp.expm1(-mp.exp(-x)),
    "f": lambda x, n, d: beta_tail(d / 2, n / 2, d / (d + n * x), n * x / (d + n * x)),
    "betaprime": lambda x, a, b: beta_tail(b, a, 1 / (1 + x), x / (1 + x)),
    "skewnorm": lambda x, a: skewed_tail(-x, -a) if x > 0 else 1 - skewed_tail(x, a),
    "invgauss": lambda x, mu: wald(x, mu, -1),
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
    found = sides(name, args)[method.endswith("sf")]
    return mp.log(found) if method.startswith("log") else found


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
    [(n, method, args) for n, methods, args in TAILS for method in methods],
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


@pytest.mark.parametrize(("name", "x", "shapes", "side"), FLAT)
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
    ("vonmises", "cdf", (-1.1, 100.0)),
    ("t", "logsf", (1e155, 0.01)),
    ("loggamma", "logcdf", (-750.0, 0.1)),
    ("chi", "cdf", (1e-155, 0.5)),
    ("f", "logsf", (1e150, 2.0, 1e-3)),
    ("skewnorm", "logcdf", (-40.0, 1.0)),
    ("truncnorm", "logcdf", (30.0 + 1e-9, 30.0, 50.0)),
    ("invgauss", "logsf", (1e3, 50.0)),
]


@pytest.mark.parametrize(("name", "method", "args"), SECOND)
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
        with mp.workdps(60):

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

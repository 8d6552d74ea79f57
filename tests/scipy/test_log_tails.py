"""Logarithms of tail probabilities, and their derivatives, against mpmath."""

import mpmath as mp
import numpy as np
import pytest

import funcgrad as fg
from funcgrad.scipy import stats
from tests.default_slice import one_in


def lower(a, x):
    return mp.log(mp.hyp1f1(1, a + 1, x)) + a * mp.log(x) - x - mp.loggamma(a + 1)


def upper(a, x):
    return mp.log(mp.hyperu(1, 1 + a, x)) + a * mp.log(x) - x - mp.loggamma(a)


def beta(a, b, x):
    log_beta = mp.loggamma(a) + mp.loggamma(b) - mp.loggamma(a + b)
    return (
        a * mp.log(x)
        + b * mp.log(1 - x)
        - mp.log(a)
        - log_beta
        + mp.log(mp.hyp2f1(a + b, 1, a + 1, x))
    )


def log_normal_cdf(x):
    return mp.log(mp.erfc(-x / mp.sqrt(2)) / 2)


def log_inverse_gaussian_sf(x, mu):
    u, v = (x - mu) / (mu * mp.sqrt(x)), (x + mu) / (mu * mp.sqrt(x))
    return mp.log(mp.erfc(u / mp.sqrt(2)) - mp.exp(2 / mu) * mp.erfc(v / mp.sqrt(2))) - mp.log(2)


CASES = [
    ("norm", "logcdf", (-40.0,), log_normal_cdf),
    ("norm", "logsf", (300.0,), lambda x: log_normal_cdf(-x)),
    ("gamma", "logcdf", (1e-120, 3.0), lambda x, a: lower(a, x)),
    ("gamma", "logcdf", (250.0, 1000.0), lambda x, a: lower(a, x)),
    ("gamma", "logsf", (900.0, 3.5), lambda x, a: upper(a, x)),
    ("gamma", "logsf", (900.0, 3.0), lambda x, a: upper(a, x)),
    ("gamma", "logsf", (3000.0, 1000.0), lambda x, a: upper(a, x)),
    ("chi2", "logsf", (2000.0, 5.0), lambda x, df: upper(df / 2, x / 2)),
    ("maxwell", "logsf", (60.0,), lambda x: upper(mp.mpf(3) / 2, x * x / 2)),
    ("invgamma", "logcdf", (1e-3, 2.5), lambda x, a: upper(a, 1 / x)),
    ("beta", "logcdf", (0.2, 1000.0, 3.0), lambda x, a, b: beta(a, b, x)),
    ("beta", "logsf", (0.9, 30.0, 2000.0), lambda x, a, b: beta(b, a, 1 - x)),
    ("f", "logsf", (1e6, 200.0, 150.0), lambda x, n, m: beta(m / 2, n / 2, m / (m + n * x))),
    (
        "t",
        "logcdf",
        (-80.0, 1000.0),
        lambda x, n: beta(n / 2, mp.mpf(1) / 2, n / (n + x * x)) - mp.log(2),
    ),
    (
        "t",
        "logcdf",
        (-1e5, 3.0),
        lambda x, n: beta(n / 2, mp.mpf(1) / 2, n / (n + x * x)) - mp.log(2),
    ),
    (
        "t",
        "logsf",
        (1e-9, 3.0),
        lambda x, n: mp.log(0.5 - x * mp.gamma((n + 1) / 2) / mp.sqrt(n * mp.pi) / mp.gamma(n / 2)),
    ),
    ("expon", "logcdf", (1e-20,), lambda x: mp.log(-mp.expm1(-x))),
    ("gumbel_r", "logsf", (50.0,), lambda x: mp.log(-mp.expm1(-mp.exp(-x)))),
    ("logistic", "logcdf", (-800.0,), lambda x: -mp.log1p(mp.exp(-x))),
    ("cauchy", "logcdf", (-1e10,), lambda x: mp.log(mp.acot(-x) / mp.pi)),
    ("invgauss", "logsf", (200.0, 1.3), log_inverse_gaussian_sf),
    (
        "truncnorm",
        "logsf",
        (39.0, 30.0, 40.0),
        lambda x, a, b: mp.log(
            (mp.erfc(x / mp.sqrt(2)) - mp.erfc(b / mp.sqrt(2)))
            / (mp.erfc(a / mp.sqrt(2)) - mp.erfc(b / mp.sqrt(2)))
        ),
    ),
    ("poisson", "logsf", (300.0, 2.0), lambda k, mu: lower(k + 1, mu)),
    ("binom", "logsf", (300.0, 1000.0, 1e-3), lambda k, n, p: beta(k + 1, n - k, p)),
    ("nbinom", "logsf", (900.0, 3.0, 0.6), lambda k, n, p: beta(k + 1, n, 1 - p)),
]


@pytest.mark.parametrize(
    ("name", "method", "args", "exact"),
    one_in(4, CASES, start=2),
    ids=lambda v: str(v)[:20],
)
def test_tails_and_their_derivatives(name, method, args, exact):
    found = getattr(getattr(stats, name), method)
    places = [k for k in range(len(args)) if name not in ("poisson", "binom", "nbinom") or k > 0]
    places = [k for k in places if (name, k) != ("binom", 1)]
    value, slopes = fg.value_and_grad(found, argnums=tuple(places))(*args)
    with mp.workdps(60):
        points = [mp.mpf(x) for x in args]
        wanted = exact(*points)
        assert value == pytest.approx(float(wanted), rel=1e-10)
        for k, slope in zip(places, slopes, strict=True):
            h = mp.mpf(10) ** -20 * max(abs(points[k]), mp.mpf(10) ** -130)
            ends = [
                exact(*[x + s * h if i == k else x for i, x in enumerate(points)]) for s in (1, -1)
            ]
            assert slope == pytest.approx(float((ends[0] - ends[1]) / (2 * h)), rel=1e-10)


def test_second_derivatives_beyond_underflow():
    f = fg.grad(lambda a: stats.gamma.logsf(900.0, a))
    assert fg.grad(f)(3.0) == pytest.approx((f(3.0 + 1e-5) - f(3.0 - 1e-5)) / 2e-5, rel=1e-6)


def test_batches_and_arrays_in_which_only_some_entries_underflow():
    x = np.array([1e-120, 0.5, 3.0])
    single = [fg.grad(stats.gamma.logcdf)(v, 3.0) for v in x]
    np.testing.assert_allclose(
        fg.grad(lambda x: np.sum(stats.gamma.logcdf(x, 3.0)))(x), single, rtol=1e-13
    )
    np.testing.assert_allclose(
        fg.vmap(fg.grad(lambda x: stats.gamma.logcdf(x, 3.0)))(x), single, rtol=1e-13
    )
    np.testing.assert_allclose(
        fg.jit(fg.vmap(fg.grad(lambda x: stats.gamma.logcdf(x, 3.0))))(x), single, rtol=1e-13
    )


@pytest.mark.parametrize("method", ["logcdf", "logsf"])
def test_an_entry_in_the_tail_leaves_the_slopes_of_the_others(method):
    f = getattr(stats.gamma, method)
    x, a = np.array([1e-150, 1e-25, 1.0, 2.5, 900.0, 1e5]), np.full(6, 2.5)
    slopes = fg.grad(lambda x, a: np.sum(f(x, a)), argnums=(0, 1))(x, a)
    single = np.transpose([fg.grad(f, argnums=(0, 1))(v, 2.5) for v in x])
    np.testing.assert_allclose(slopes, single, rtol=1e-13)


def test_a_small_shape_whose_complement_rounds_to_one():
    value, slopes = fg.value_and_grad(stats.beta.logcdf, argnums=(0, 1))(1e-300, 1e-3, 0.627)
    with mp.workdps(60):
        point = mp.mpf(1e-300), mp.mpf(1e-3), mp.mpf(0.627)
        assert value == pytest.approx(float(beta(point[1], point[2], point[0])), rel=1e-12)
        slope = mp.diff(lambda a: beta(a, point[2], point[0]), point[1], h=mp.mpf(10) ** -20)
    assert slopes[0] == pytest.approx(1e297, rel=1e-12)
    assert slopes[1] == pytest.approx(float(slope), rel=1e-10)


LARGE_PARAMETERS = [
    ("gamma", "logsf", (1.05e6, 1e6), -1214.66721175824, (-0.0476390312528881, 0.0488106474041853)),
    (
        "gamma",
        "logcdf",
        (0.96e6, 1e6),
        -826.602937413515,
        (0.0416916361342664, -0.0408464646108894),
    ),
    (
        "beta",
        "logcdf",
        (0.99, 1e6, 3.0),
        -10032.6081189383,
        (1009901.03010099, -0.010048336054501, 8.28765754657464),
    ),
    (
        "beta",
        "logcdf",
        (0.4997, 1e9, 1e9),
        -364.210013037983,
        (2403325.00172272, -0.000601011355774175, 0.000600650857088716),
    ),
    ("t", "logsf", (1e3, 1e10), -499982.828311356, (-999.90100989701, -2.49967170366022e-9)),
]
"""Values and slopes by mpmath."""


@pytest.mark.parametrize(("name", "method", "args", "value", "slopes"), LARGE_PARAMETERS)
def test_tails_of_large_parameters(name, method, args, value, slopes):
    f, places = getattr(getattr(stats, name), method), tuple(range(len(args)))
    found, found_slopes = fg.value_and_grad(f, places)(*args)
    assert found == pytest.approx(value, rel=1e-12)
    assert found_slopes == pytest.approx(slopes, rel=1e-9)
    assert fg.jit(fg.grad(f, places))(*args) == pytest.approx(slopes, rel=1e-9)


@pytest.mark.parametrize(
    ("name", "method", "args", "second"),
    [
        ("chi2", "logsf", (900.0, 3.0), -6.14554096486e-7),
        ("gamma", "logsf", (500.0, 30.0), -0.000115495769133),
        ("beta", "logcdf", (0.43, 700.0, 2.0), -3788.89267847),
        ("t", "logcdf", (-40.0, 500.0), 0.125089797745),
        ("f", "logcdf", (0.01, 300.0, 400.0), -1499805.62679),
    ],
)
def test_second_derivatives_where_the_square_of_the_tail_underflows(name, method, args, second):
    def f(x):
        return getattr(getattr(stats, name), method)(x, *args[1:])

    assert fg.hessian(f)(args[0]) == pytest.approx(second, rel=1e-9)
    assert fg.jit(fg.grad(fg.grad(f)))(args[0]) == pytest.approx(second, rel=1e-9)


def test_second_derivatives_of_student_s_t_in_a_traced_number_of_degrees():
    point = np.array([30.0]), np.array([1e6])
    found = fg.elementwise_grad(fg.elementwise_grad(stats.t.logsf))(*point)
    assert found[0] == pytest.approx(-0.9961992760725777, rel=1e-9)
    found = fg.elementwise_grad(fg.elementwise_grad(stats.t.logsf), 1)(*point)
    assert found[0] == pytest.approx(-2.6981411458612657e-8, rel=1e-8)


def test_tails_of_large_parameters_far_from_the_mean():
    assert fg.grad(stats.gamma.logsf, 1)(1e200, 1e6) == pytest.approx(446.7015085408449, rel=1e-12)
    slopes = fg.grad(stats.beta.logcdf, (0, 1, 2))(1e-200, 1e6, 20.0)
    with mp.workdps(40):
        harmonic = mp.psi(0, 1e6 + 20) - mp.psi(0, 1e6)
        log = float(mp.log(mp.mpf(1e-200)) + harmonic - mp.mpf(10) ** -6)
        other = float(mp.psi(0, 1e6 + 20) - mp.psi(0, 20))
    assert slopes == pytest.approx((1e206, log, other), rel=1e-10)

"""Distributions whose functions are integrals: values and derivatives in all arguments against mpmath."""

import mpmath as mp
import numpy as np
import pytest
import scipy.stats

import funcgrad as fg
from tests.default_slice import one_in


# -- generalized hyperbolic and inverse Gaussian -------------------------------------------------------
def hyperbolic(x, p, a, b):
    gamma, size = mp.sqrt(a * a - b * b), mp.sqrt(1 + x * x)
    half = p - mp.mpf(1) / 2
    constant = gamma**p / (mp.sqrt(2 * mp.pi) * a**half * mp.besselk(p, gamma))
    return constant * mp.exp(b * x) * mp.besselk(half, a * size) * size**half


def hyperbolic_cdf(x, p, a, b):
    constant = hyperbolic(mp.mpf(0), p, a, b) / mp.besselk(p - mp.mpf(1) / 2, a)

    def density(t):
        size = mp.sqrt(1 + t * t)
        half = p - mp.mpf(1) / 2
        return mp.exp(b * t) * mp.besselk(half, a * size) * size**half

    return constant * mp.quad(lambda t: density(x - t), [0, 1, 2, 4, 8, 16, 40])


def inverse_gaussian(x, p, b):
    return x ** (p - 1) * mp.exp(-b * (x + 1 / x) / 2) / (2 * mp.besselk(p, b))


def inverse_gaussian_cdf(x, p, b):
    total = mp.quad(
        lambda t: t ** (p - 1) * mp.exp(-b * (t + 1 / t) / 2), [0, x / 8, x / 4, x / 2, x]
    )
    return total / (2 * mp.besselk(p, b))


# -- Landau's ------------------------------------------------------------------------------------------
def landau(x, order=0):
    """A derivative of the density."""
    y = mp.pi / 2 * x + mp.log(mp.pi / 2)
    ends = [0, 0.01, 0.1, 0.3, 1, 2, 4, 8, 16, 24]
    return mp.quad(
        lambda t: (
            (-t * mp.pi / 2) ** order * mp.exp(-t * mp.log(t) - y * t) * mp.sin(mp.pi * t) / 2
        ),
        ends,
    )


# -- the studentized range -----------------------------------------------------------------------------
def studentized_cdf(q, k, df):
    """By Gauss and Legendre's rule in both variables, for complex arguments, too."""
    nodes, weights = np.polynomial.legendre.leggauss(400)
    z, dz = 16 * nodes, 16 * weights
    s, ds = 3 * (nodes + 1), 3 * weights
    normal = lambda t: scipy.special.erfc(-t / np.sqrt(2)) / 2  # noqa: E731
    share = normal(z + 0j) - normal(z - q * s[:, None])
    inner = k * share ** (k - 1) @ (dz * np.exp(-z * z / 2) / np.sqrt(2 * np.pi))
    log = df / 2 * np.log(df / 2) - scipy.special.loggamma(df / 2) - df * s * s / 2
    return 2 * np.sum(ds * np.exp(log + (df - 1) * np.log(s)) * inner)


def difference(function, args, places, scale, order=4):
    """The derivative in the arguments at some places, by central differences of order 2 or 4."""
    if not places:
        return function(*args)
    first, *rest = places
    step = scale * abs(args[first] or 1)

    def at(move):
        moved = [v + move * step if k == first else v for k, v in enumerate(args)]
        return difference(function, moved, rest, scale, order)

    if order == 2:
        return (at(1) - at(-1)) / (2 * step)
    return (8 * (at(1) - at(-1)) - at(2) + at(-2)) / (12 * step)


def log(function):
    return lambda *args: mp.log(function(*args))


CASES = [
    ("genhyperbolic", "logpdf", log(hyperbolic), (0.3, 0.5, 1.5, -0.5)),
    ("genhyperbolic", "logpdf", log(hyperbolic), (-3.0, -1.0, 2.0, 0.3)),
    pytest.param(
        *("genhyperbolic", "cdf", hyperbolic_cdf, (0.3, 0.5, 1.5, -0.5)), marks=pytest.mark.slow
    ),
    ("geninvgauss", "logpdf", log(inverse_gaussian), (1.2, 2.3, 1.5)),
    ("geninvgauss", "logpdf", log(inverse_gaussian), (0.05, 30.0, 10.0)),
    ("geninvgauss", "logpdf", log(inverse_gaussian), (5.0, 0.0, 1e-3)),
    ("genhyperbolic", "logpdf", log(hyperbolic), (0.1, 1.0, 50.0, 3.0)),
    ("genhyperbolic", "logpdf", log(hyperbolic), (0.7, 0.0, 0.1, 0.05)),
    ("geninvgauss", "logpdf", log(inverse_gaussian), (20.0, 0.25, 1e-20)),
    ("geninvgauss", "cdf", inverse_gaussian_cdf, (1.2, 2.3, 1.5)),
    ("geninvgauss", "cdf", inverse_gaussian_cdf, (0.3, -1.0, 0.2)),
    ("landau", "logpdf", log(landau), (-0.7,)),
    ("landau", "logpdf", log(landau), (3.0,)),
]


@pytest.mark.parametrize(("name", "method", "exact", "args"), one_in(6, CASES, start=1))
def test_first_and_second_derivatives_are_those_of_mpmath(name, method, exact, args):
    own, places = getattr(getattr(scipy.stats, name), method), tuple(range(len(args)))
    value, slopes = fg.value_and_grad(own, places)(*args)
    compiled = fg.jit(fg.grad(own, places))(*args)
    hessian = fg.jacfwd(fg.grad(own, places), places)(*args)
    is_density = method == "logpdf"
    with mp.workdps(50 if is_density else 18):
        # A density has digits enough for short steps.
        step, order = (mp.mpf(10) ** -12, 2) if is_density else (mp.mpf(10) ** -4, 4)
        given = [mp.mpf(v) for v in args]
        assert value == pytest.approx(float(exact(*given)), rel=1e-12)
        for k in places:
            wanted = float(difference(exact, given, [k], step, order))
            assert slopes[k] == pytest.approx(wanted, rel=1e-10, abs=1e-13), k
            assert compiled[k] == pytest.approx(wanted, rel=1e-10, abs=1e-13)
            tangents = tuple([float(place == k) for place in places])
            assert fg.jvp(own, args, tangents)[1] == pytest.approx(wanted, rel=1e-10, abs=1e-13)
            if is_density:
                wanted = float(difference(exact, given, [k, 0], step, order))
                assert hessian[k][0] == pytest.approx(wanted, rel=1e-8, abs=1e-9), k


@pytest.mark.parametrize(
    ("x", "count", "freedom"),
    one_in(3, [(1.6, 3.0, 10.0), (4.0, 5.0, 20.0), (0.1, 3.0, 10.0), (3.0, 2.5, 4.0)], start=1),
)
def test_the_studentized_range(x, count, freedom):
    args = (x, count, freedom)
    own = scipy.stats.studentized_range
    for method in ("cdf", "sf"):
        f, sign = getattr(own, method), 1.0 if method == "cdf" else -1.0
        value, slopes = fg.value_and_grad(f, (0, 1, 2))(*args)
        assert value == pytest.approx(f(*args), rel=1e-9)
        density, curvature = fg.value_and_grad(own.pdf, (0, 1, 2))(*args)
        assert slopes[0] == pytest.approx(sign * density, rel=1e-9)
        mixed = fg.jacfwd(fg.grad(f), (0, 1, 2))(*args)
        assert mixed == pytest.approx([sign * c for c in curvature], rel=1e-8, abs=1e-10)
    assert density == pytest.approx(own.pdf(*args), rel=1e-9)
    assert own.cdf(*args) == pytest.approx(studentized_cdf(*args).real, rel=1e-9)
    for k in range(3):
        moved = [complex(v, 1e-30 * (place == k)) for place, v in enumerate(args)]
        wanted = studentized_cdf(*moved).imag / 1e-30
        assert fg.grad(own.cdf, k)(*args) == pytest.approx(wanted, rel=1e-10)
        assert fg.grad(own.sf, k)(*args) == pytest.approx(-wanted, rel=1e-10)
    rows = fg.vmap(fg.grad(own.logsf))(np.array([1.0, 2.0]), *[np.array([v, v]) for v in args[1:]])
    assert rows[1] == pytest.approx(fg.jit(fg.grad(own.logsf))(2.0, *args[1:]), rel=1e-12)


@pytest.mark.parametrize("x", one_in(3, [-4.5, -3.0, 0.3, 27.0, 29.0, 1e3, 1e9]))
def test_landaus_distribution_from_tail_to_tail(x):
    own = scipy.stats.landau
    for method in ("cdf", "sf"):
        f = getattr(own, method)
        value, slope = fg.value_and_grad(f)(x)
        assert value == pytest.approx(f(x), rel=1e-12)
        assert slope == pytest.approx(own.pdf(x) * (1 if method == "cdf" else -1), rel=1e-12)
    first, second = fg.grad(own.logpdf), fg.grad(fg.grad(own.logpdf))
    h = 1e-3 * max(abs(x), 1.0)
    wanted = (
        8 * (own.logpdf(x + h) - own.logpdf(x - h)) - own.logpdf(x + 2 * h) + own.logpdf(x - 2 * h)
    ) / (12 * h)
    assert first(x) == pytest.approx(wanted, rel=1e-8)
    assert second(x) == pytest.approx(
        (8 * (first(x + h) - first(x - h)) - first(x + 2 * h) + first(x - 2 * h)) / (12 * h),
        rel=1e-8,
    )


@pytest.mark.parametrize("x", [0.3, 40.0])
def test_higher_derivatives_of_landaus_distribution(x):
    own = scipy.stats.landau.cdf
    for _ in range(6):
        own = fg.grad(own)
    with mp.workdps(40):
        assert own(x) == pytest.approx(float(landau(mp.mpf(x), 5)), rel=1e-9)


@pytest.mark.parametrize(
    ("name", "shapes", "places"),
    [
        ("genhyperbolic", (0.5, 1.5, -0.5), (-1e3, -2.0, 0.3, 60.0)),
        ("geninvgauss", (2.3, 1.5), (1e-3, 0.7, 4.0, 300.0)),
    ],
)
def test_both_sides_of_distributions_that_are_integrals(name, shapes, places):
    """Each logarithm has its digits where the other side is 1, and the sides add up to 1."""
    own = getattr(scipy.stats, name)
    for x in places:
        below = fg.value_and_grad(own.logcdf)(x, *shapes)
        above = fg.value_and_grad(own.logsf)(x, *shapes)
        assert np.exp(below[0]) + np.exp(above[0]) == pytest.approx(1.0, rel=1e-13)
        (small, slope), (other, _) = sorted([below, above])
        if small < -40:
            assert other == pytest.approx(-np.exp(small), rel=1e-12)
        density = fg.jit(own.logpdf)(x, *shapes)
        assert abs(slope) == pytest.approx(np.exp(density - small), rel=1e-10)


def test_landaus_left_tail_beyond_underflow():
    """The density falls as exp(-exp(-1 - y)), where y = pi/2*x + log(pi/2)."""
    x = -12.0
    y = np.pi / 2 * x + np.log(np.pi / 2)
    for call in (scipy.stats.landau.logpdf, scipy.stats.landau.logcdf):
        value, slope = fg.value_and_grad(call)(x)
        assert value == pytest.approx(-np.exp(-1 - y), rel=1e-6)
        assert slope == pytest.approx(np.pi / 2 * np.exp(-1 - y), rel=1e-6)


@pytest.mark.parametrize("x", [1e9, 1e30, 1e51, 1e100])
def test_landaus_right_tail_falls_as_a_power(x):
    """The probability above is 2/(pi*x)."""
    own, scale = scipy.stats.landau, 2 / np.pi / x
    assert fg.jit(own.sf)(x) == pytest.approx(scale, rel=1e-7)
    assert fg.grad(own.cdf)(x) == pytest.approx(scale / x, rel=1e-7)
    assert fg.jit(own.logpdf)(x) == pytest.approx(np.log(scale) - np.log(x), rel=1e-7)
    assert fg.grad(own.logpdf)(x) == pytest.approx(-2 / x, rel=1e-7)
    curvature = fg.grad(fg.grad(own.cdf))(x)
    assert curvature == pytest.approx(-2 * scale / x / x, rel=1e-7)


@pytest.mark.parametrize("x", [-450.0, -1e9])
def test_landaus_left_end_is_flat(x):
    own = scipy.stats.landau
    assert fg.value_and_grad(own.cdf)(x) == (0.0, 0.0)
    assert fg.jit(own.sf)(x) == 1.0
    assert fg.grad(own.logsf)(x) == 0.0


# -- the generalized inverse Gaussian ------------------------------------------------------------------
@pytest.mark.parametrize("x", [1e-100, 1e-60, 1e-30])
def test_the_generalized_inverse_gaussian_falls_as_an_exponential_at_0(x):
    """The probability below x is about exp(-b/(2*x)), and above 1/x that of the order -p."""
    own, p, b = scipy.stats.geninvgauss, 2.3, 1.5
    value, slope = fg.value_and_grad(own.logcdf)(x, p, b)
    assert value == pytest.approx(-b / 2 / x, rel=1e-12)
    assert slope == pytest.approx(b / 2 / x / x, rel=1e-12)
    assert fg.value_and_grad(own.logsf)(1 / x, -p, b)[0] == pytest.approx(value, rel=1e-12)
    assert fg.value_and_grad(own.cdf)(x, p, b) == (0.0, 0.0)
    assert fg.value_and_grad(own.sf)(x, p, b) == (1.0, 0.0)
    assert fg.value_and_grad(own.cdf)(1 / x, p, b) == (1.0, 0.0)


# -- Kolmogorov's statistic ----------------------------------------------------------------------------
def kolmogorov_cdf(x, n):
    """By a power of a matrix (Marsaglia, Tsang and Wang 2003)."""
    k = int(mp.ceil(n * x))
    m, h = 2 * k - 1, k - n * x
    matrix = mp.matrix(m, m)
    for i in range(m):
        for j in range(min(i + 2, m)):
            matrix[i, j] = mp.mpf(1)
    for i in range(m):
        matrix[i, 0] -= h ** (i + 1)
        matrix[m - 1, i] -= h ** (m - i)
    matrix[m - 1, 0] += max(2 * h - 1, 0) ** m
    for i in range(m):
        for j in range(i + 1):
            matrix[i, j] /= mp.factorial(i - j + 1)
    return (matrix**n)[k - 1, k - 1] * mp.factorial(n) / mp.mpf(n) ** n


def derivatives(function, x, count, step):
    """The value and the first derivatives, by differences of the fourth order on one grid."""
    at = {k: function(x + k * step) for k in range(-2 * count, 2 * count + 1)}
    found = [at[0]]
    while len(found) <= count:
        inner = sorted(at)[2:-2]
        at = {k: (8 * (at[k + 1] - at[k - 1]) - at[k + 2] + at[k - 2]) / (12 * step) for k in inner}
        found.append(at[0])
    return found


@pytest.mark.parametrize(
    ("n", "x"), one_in(3, [(5, 0.23), (10, 0.247), (10, 0.62), (10, 0.95), (40, 0.35)])
)
def test_kolmogorovs_statistic_of_few_samples(n, x):
    own = scipy.stats.kstwo
    with mp.workdps(40):
        step = x * mp.mpf(10) ** -7
        d = derivatives(lambda v: kolmogorov_cdf(v, n), mp.mpf(x), 3, step)
        below, above = float(d[0]), float(1 - d[0])
        first, second, third = map(float, d[1:])
    at = lambda method: lambda v: getattr(own, method)(v, n)  # noqa: E731
    assert fg.value_and_grad(at("cdf"))(x) == pytest.approx((below, first), rel=1e-11)
    assert fg.value_and_grad(at("sf"))(x) == pytest.approx((above, -first), rel=1e-9)
    assert fg.value_and_grad(at("pdf"))(x) == pytest.approx((first, second), rel=1e-11)
    assert fg.grad(fg.grad(at("pdf")))(x) == pytest.approx(third, rel=1e-9)
    assert fg.grad(at("logsf"))(x) == pytest.approx(-first / above, rel=1e-9)
    assert fg.jvp(at("logpdf"), (x,), (1.0,)) == pytest.approx((np.log(first), second / first))
    assert fg.jit(fg.grad(at("logcdf")))(x) == pytest.approx(first / below, rel=1e-9)
    assert fg.grad(at("isf"))(own.sf(x, n)) == pytest.approx(-1 / first, rel=1e-7)
    rows = fg.vmap(fg.grad(at("logpdf")))(np.array([x, 0.4 / n, 1.0, x]))
    assert rows == pytest.approx([second / first, 0.0, 0.0, second / first], rel=1e-10)


@pytest.mark.parametrize("n", [1, 3])
def test_quantiles_of_kolmogorovs_statistic_at_the_ends(n):
    own, ends = scipy.stats.kstwo, np.array([0.0, 1.0])
    for quantile, q in ((own.ppf, ends), (own.isf, ends[::-1])):
        value, slope = fg.jvp(lambda q, f=quantile: f(q, n), (q,), (np.ones(2),))
        np.testing.assert_array_equal(value, [0.5 / n, 1.0])
        assert np.all(np.isfinite(slope))
    value, slope = fg.value_and_grad(own.cdf)(np.nextafter(0.5 / n, 1.0), n)
    assert value == pytest.approx(0.0, abs=1e-15)
    assert slope == pytest.approx(2.0 if n == 1 else 0.0, abs=1e-15)


def test_kolmogorovs_statistic_of_many_samples():
    """SciPy's values are Pelz and Good's approximation there, of seven digits."""
    n = 1000
    x = np.array([0.6, 1.0, 2.0]) / np.sqrt(n)
    value, slope = fg.jvp(lambda x: scipy.stats.kstwo.cdf(x, n), (x,), (np.ones(3),))
    np.testing.assert_allclose(value, scipy.stats.kstwo.cdf(x, n), atol=1e-7)
    np.testing.assert_allclose(slope, scipy.stats.kstwo.pdf(x, n), rtol=2e-6)
    pdf = fg.jit(lambda x: scipy.stats.kstwo.pdf(x, n))
    nodes, weights = np.polynomial.legendre.leggauss(16)
    places = 0.04 + 0.01 * nodes
    second = fg.elementwise_grad(lambda x: scipy.stats.kstwo.pdf(x, n))(places)
    assert 0.01 * weights @ second == pytest.approx(pdf(0.05) - pdf(0.03), rel=1e-9)
    many = fg.grad(lambda x: scipy.stats.kstwo.sf(x, 50_000))(0.005)
    assert many == pytest.approx(-scipy.stats.kstwo.pdf(0.005, 50_000), rel=1e-12)


def test_distributions_of_stable_variables_have_slopes_in_the_place():
    stable = scipy.stats.levy_stable
    x = np.array([-2.0, 0.3, 4.0])
    for f, moved in (
        (lambda x: stable.cdf(x, 1.5, 0.3), x),
        (lambda x: stable.sf(x, 0.8, -0.5, loc=0.1, scale=2.0), x),
        (lambda c: stable.cdf(x, 1.5, 0.3, loc=c[0], scale=c[1]), np.array([0.2, 1.3])),
        (lambda q: stable.ppf(q, 1.5, 0.3), np.array([0.2, 0.6])),
    ):
        slope, h = fg.jacobian(f)(moved), 1e-4
        np.testing.assert_array_equal(fg.jit(f)(moved), f(moved))
        np.testing.assert_allclose(fg.jacfwd(f)(moved), slope, rtol=1e-12)
        for k, step in enumerate(h * np.eye(len(moved))):
            wanted = (f(moved + step) - f(moved - step)) / (2 * h)
            np.testing.assert_allclose(slope[:, k], wanted, rtol=1e-5, atol=1e-8)


def test_what_scipy_integrates_numerically_is_refused():
    stable = scipy.stats.levy_stable
    for f in (
        lambda t: stable.pdf(t, 1.5, 0.3),
        lambda t: stable.logpdf(0.3, 1.5, 0.3, scale=t),
        lambda t: stable.cdf(0.3, t, 0.3),
        lambda t: stable.cdf(t, 1.5, t / 3),
        fg.grad(lambda t: stable.cdf(t, 1.5, 0.3)),
    ):
        for derivative in (fg.grad(f), lambda t, f=f: fg.jvp(f, (t,), (1.0,)), fg.grad(fg.jit(f))):
            with pytest.raises(
                TypeError, match="levy_stable: expected no derivative of the density"
            ):
                derivative(0.7)

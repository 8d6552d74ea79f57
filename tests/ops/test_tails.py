"""First and second derivatives of elementary functions in their tails, against mpmath."""

import mpmath as mp
import numpy as np
import pytest
import scipy.special

import funcgrad as fg
from tests.default_slice import marked_slow

ONE = {
    "tanh": (np.tanh, lambda x: mp.tanh(x)),
    "expit": (scipy.special.expit, lambda x: 1 / (1 + mp.exp(-x))),
    "arcsinh": (np.arcsinh, lambda x: mp.asinh(x)),
    "log1p": (np.log1p, lambda x: mp.log1p(x)),
    "expm1": (np.expm1, lambda x: mp.expm1(x)),
    "softplus": (lambda x: np.logaddexp(x, 0.0), lambda x: mp.log1p(mp.exp(x))),
}
FAR = [-300.0, -45.0, -25.0, -19.0, -0.7, 1e-3, 2.5, 8.0, 19.0, 20.0, 25.0, 45.0, 300.0]


@pytest.mark.parametrize("name", ONE)
@pytest.mark.parametrize("x", FAR)
def test_derivatives_far_out(name, x):
    f, exact = ONE[name]
    if not np.isfinite(f(x) if x > -1 or name != "log1p" else np.nan):
        return
    with mp.workdps(450):
        first, second = mp.diff(exact, mp.mpf(x)), mp.diff(exact, mp.mpf(x), 2)
    assert fg.grad(f)(x) == pytest.approx(float(first), rel=1e-13, abs=1e-300)
    assert fg.jvp(f, (x,), (1.0,))[1] == pytest.approx(float(first), rel=1e-13, abs=1e-300)
    assert fg.grad(fg.grad(f))(x) == pytest.approx(float(second), rel=1e-10, abs=1e-300)
    assert fg.jit(fg.grad(f))(x) == pytest.approx(float(first), rel=1e-13, abs=1e-300)


@pytest.mark.parametrize("x", [np.inf, -np.inf, 1e300, -1e4])
def test_tanh_is_flat_beyond_its_tails(x):
    assert fg.grad(np.tanh)(x) == 0.0
    assert fg.grad(fg.grad(np.tanh))(x) == 0.0
    assert fg.grad(lambda v: np.sum(np.tanh(v)))(np.array([x, x]))[0] == 0.0


def test_tanh_in_single_precision():
    x = np.array([0.3, 9.0, 20.0, 40.0], np.float32)
    slope = fg.grad(lambda v: np.sum(np.tanh(v)))(x)
    assert slope.dtype == np.float32
    np.testing.assert_allclose(slope, 1 / np.cosh(x.astype(float)) ** 2, rtol=1e-5)


SIZES = [1e-300, 1e-200, 0.3, 1.0, 1e200]


@pytest.mark.parametrize("x", [*SIZES, -1e200])
@pytest.mark.parametrize("y", [*SIZES, -1e200])
def test_arctan2_of_very_large_and_very_small_numbers(x, y):
    with mp.workdps(40):
        a, b = mp.mpf(x), mp.mpf(y)
        wanted = b / (a * a + b * b), -a / (a * a + b * b)
    for found, exact in zip(fg.grad(np.arctan2, (0, 1))(x, y), wanted, strict=True):
        assert found == pytest.approx(float(exact), rel=1e-14, abs=1e-320)
    assert fg.grad(np.arctan2, (0, 1))(0.0, 0.0) == (0.0, 0.0)


QUOTIENTS = {
    "log": lambda x, y: np.log(x / y),
    "root": lambda x, y: np.sqrt(x / y) * 1e-100,
    "of a reciprocal": lambda x, y: np.log(x * np.reciprocal(y)),
}
# x/y is a normal number, and x/y**2 is not.
EXTREME = [(1.5, 3e200), (1.5e100, 3e-150), (1.5e-150, 3e100), (1.5, 3e-200)]


@pytest.mark.parametrize(("x", "y"), EXTREME)
@pytest.mark.parametrize("name", QUOTIENTS)
def test_slopes_of_quotients_in_very_large_and_very_small_divisors(name, x, y):
    elasticities = {"log": -1.0, "root": -np.sqrt(x / y) / 2e100, "of a reciprocal": -1.0}
    f = QUOTIENTS[name]
    for found in (fg.grad(f, 1)(x, y), fg.jit(fg.grad(f, 1))(x, y)):
        assert found == pytest.approx(elasticities[name] / y, rel=1e-13)


@pytest.mark.parametrize("x", [1e200, -1e300, 1e-200])
def test_arcsinh_of_very_large_numbers(x):
    assert fg.grad(np.arcsinh)(x) == pytest.approx(1 / np.hypot(x, 1.0), rel=1e-15)
    assert fg.grad(lambda t: np.real(np.arcsinh(t * (1 + 1j))))(0.5) == pytest.approx(
        np.real((1 + 1j) / np.sqrt((0.5 + 0.5j) ** 2 + 1)), rel=1e-13
    )


@pytest.mark.parametrize("x", [np.inf, 1.0, -0.0, -np.inf])
@pytest.mark.parametrize("y", [np.inf, -np.inf])
def test_arctan2_is_flat_at_infinity(x, y):
    for a, b in ((x, y), (y, x)):
        assert fg.grad(np.arctan2, (0, 1))(a, b) == (0.0, 0.0)
        assert fg.jvp(np.arctan2, (a, b), (1.0, 1.0))[1] == 0.0
        assert fg.grad(fg.grad(np.arctan2))(a, b) == 0.0
        assert fg.jit(fg.grad(np.arctan2))(a, b) == 0.0


def _poch(x, m):
    return mp.gamma(x + m) * mp.rgamma(x)


def _binom(n, k):
    return mp.gamma(n + 1) * mp.rgamma(k + 1) * mp.rgamma(n - k + 1)


def _elliprc(x, y):
    return mp.elliprc(x, y) if y > 0 else mp.sqrt(x / (x - y)) * mp.elliprc(x - y, -y)


POLES = {
    "poch": (
        _poch,
        (0,),
        [
            (0.0, 2.0),
            (-2.0, 0.5),
            (1e-30, 0.5),
            (-3.0, 4.0),
            (-2.3, -0.9),
            (0.2, 0.1),
            (-5.0, 20.0),
        ],
    ),
    "binom": (
        _binom,
        (0, 1),
        [
            (5.0, -1.0),
            (2.5, -1.0),
            (5.0, 6.0),
            (2.5, 3.5),
            (5.0, -1 + 1e-9),
            (-0.3, -0.9),
            (5.0, 5.9),
            (-1.5, 0.5),
            (-10.3, -3.0),
        ],
    ),
    "beta": (mp.beta, (0, 1), [(-0.5, 0.5), (-2.5, 0.5), (3.75, -7.75)]),
    "elliprc": (
        _elliprc,
        (0, 1),
        [(1.0, 2.0), (1.0, 1.0), (3.0, 3.0 + 1e-9), (1.0, 1e10), (1.0, -2.0), (0.1, -3.0)],
    ),
}


@pytest.mark.parametrize("name", POLES)
def test_derivatives_at_poles_and_cuts(name):
    exact, places, points = POLES[name]
    f = getattr(scipy.special, name)
    for point in points:
        for place in places:
            orders = [tuple([n * (k == place) for k in range(2)]) for n in (1, 2)]
            with mp.workdps(60):
                first, second = (mp.diff(exact, tuple(map(mp.mpf, point)), n) for n in orders)
            slope = fg.grad(f, place)
            assert slope(*point) == pytest.approx(float(first), rel=1e-10)
            assert fg.grad(slope, place)(*point) == pytest.approx(float(second), rel=1e-8)
            tangents = tuple([float(k == place) for k in range(2)])
            assert fg.jvp(f, point, tangents)[1] == pytest.approx(float(first), rel=1e-10)


@pytest.mark.parametrize("p", [-0.9, -1e-6])
def test_the_principal_value_of_elliprj(p):
    def f(v):
        return scipy.special.elliprj(v[0], v[1], v[2], v[3])

    def differences(g):
        steps = 1e-4 * np.diag(abs(at))
        pairs = [(8 * (g(at + h) - g(at - h)) - g(at + 2 * h) + g(at - 2 * h)) / 12 for h in steps]
        return np.stack([pair / h.sum() for pair, h in zip(pairs, abs(steps), strict=True)])

    at = np.array([0.4, 0.6, 1.5, p])
    slopes = fg.grad(f)(at)
    np.testing.assert_allclose(slopes, differences(f), rtol=1e-10)
    np.testing.assert_allclose(fg.jit(fg.jacfwd(f))(at), slopes, rtol=1e-14)
    stacked = fg.vmap(fg.grad(f))(np.stack([at, abs(at)]))
    np.testing.assert_allclose(stacked, [slopes, fg.grad(f)(abs(at))], rtol=1e-14)
    np.testing.assert_allclose(fg.hessian(f)(at), differences(fg.grad(f)), rtol=1e-9)
    edge = fg.grad(f)(np.array([0.0, 0.6, 1.5, p]))
    assert edge[0] == np.inf
    assert np.isfinite(edge[1:]).all()


@pytest.mark.parametrize("x", [-3.0, -3.0 + 1e-9, -1.0, 0.0, -2.7])
def test_poch_of_whole_numbers_of_factors(x):
    slope = fg.grad(scipy.special.poch)
    assert slope(x, 2.0) == pytest.approx(2 * x + 1, rel=1e-12)
    assert slope(x, -2.0) == pytest.approx((3 - 2 * x) / ((x - 1) * (x - 2)) ** 2, rel=1e-12)
    assert fg.grad(slope)(x, 2.0) == pytest.approx(2.0, rel=1e-10)
    assert fg.grad(slope)(np.float32(-1.0), np.float32(2.0)).dtype == np.float32


@pytest.mark.parametrize(("x", "m"), [(-1.5, 0.0), (-1.5, 1.0), (-10.3, 3.0), (-2.7, -2.0)])
def test_mixed_second_derivatives_of_poch_at_whole_numbers_of_factors(x, m):
    hessian = fg.hessian(lambda v: scipy.special.poch(v[0], v[1]))
    with mp.workdps(60):
        wanted = mp.diff(lambda x, m: mp.gamma(x + m) / mp.gamma(x), (x, m), (1, 1))
    for found in (hessian(np.array([x, m])), fg.jit(hessian)(np.array([x, m]))):
        np.testing.assert_allclose(found[[0, 1], [1, 0]], float(wanted), rtol=1e-10)


@pytest.mark.parametrize(("x", "power"), [(1e16, 30.0), (1e-300, -2.0), (1e300, 2.0)])
@pytest.mark.parametrize("name", ["boxcox", "boxcox1p"])
def test_slopes_of_power_transforms_that_overflow_are_infinite(name, x, power):
    f = getattr(scipy.special, name)
    if name == "boxcox1p" and power < 0:
        x, power = -1.0 + 1e-16, -30.0
    for slope in (
        fg.grad(f, 1),
        fg.jit(fg.grad(f, 1)),
        lambda *a: fg.jvp(lambda p: f(a[0], p), a[1:], (1.0,))[1],
    ):
        assert slope(x, power) == np.inf


@pytest.mark.parametrize(
    "off", [1e-15, 3e-12, 4e-10, 1e-6, 9e-5, -1e-6, 1e-7 + 1e-7j, 1e-7 - 1e-7j]
)
@pytest.mark.parametrize("branch", [0, -1])
def test_lambertw_next_to_its_branch_point(branch, off):
    x = -0.36787944117144233 + off
    if branch == -1 and np.imag(x) < 0:
        branch = 1  # the branch that is near -1 there
    with mp.workdps(60):
        w = mp.lambertw(mp.mpmathify(x), branch)
        exact = [mp.exp(-w) / (1 + w), -mp.exp(-2 * w) * (2 + w) / (1 + w) ** 3]
    first = fg.jacobian(lambda z: scipy.special.lambertw(z, branch), holomorphic=True)
    second = fg.jacobian(first, holomorphic=True)
    for found in ((first, second), (fg.jit(first), fg.jit(second))):
        for derivative, wanted in zip(found, exact, strict=True):
            np.testing.assert_allclose(derivative(complex(x)), complex(wanted), rtol=1e-11)


def test_elliprc_and_log_wright_bessel_of_very_large_numbers():
    slope = fg.grad(scipy.special.elliprc, 1)
    assert slope(1.0, 1e200) == pytest.approx(-np.pi / 4 * 1e-300, rel=1e-12)
    slope = fg.grad(scipy.special.log_wright_bessel, 2)
    assert slope(1.0, 1.0, 1e200) == pytest.approx(1e-100, rel=1e-14)
    assert slope(0.0, 1.5, 1e200) == 1.0
    with mp.workdps(40):
        s = 2 * mp.sqrt(mp.mpf(1e11))
        exact = 2 * mp.besseli(1, s) / mp.besseli(0, s) / s
    assert slope(1.0, 1.0, 1e11) == pytest.approx(float(exact), rel=1e-11)
    assert fg.grad(slope, 2)(1.0, 1.0, 1e200) == pytest.approx(-5e-301, rel=1e-12)


@pytest.mark.parametrize(
    ("name", "place", "args"),
    [
        ("nbdtr", 2, (0.0, 0.0, 0.3)),
        ("nbdtrc", 2, (-1.0, 2.0, 0.3)),
        ("nbdtr", 2, (1.0, 0.0, 0.3)),
        ("jve", 1, (-np.inf, 1.0)),
        ("jve", 1, (1.5, 2.0)),
        ("bdtr", 2, (3.0, 3, 1.0)),
        ("bdtrc", 2, (3.0, 3, -1.0)),
    ],
)
def test_values_of_traced_arguments_are_scipys(name, place, args):
    f = getattr(scipy.special, name)
    found, _ = fg.jvp(lambda x: f(*args[:place], x, *args[place + 1 :]), (args[place],), (1.0,))
    np.testing.assert_array_equal(found, f(*args))


@pytest.mark.parametrize("kind", "jyik")
@pytest.mark.parametrize("n", [0, 1, 4])
def test_spherical_bessel_functions_left_of_0(kind, n):
    f = getattr(scipy.special, f"spherical_{kind}n")
    value, slope = fg.jvp(lambda x: f(n, x), (-1.3,), (1.0,))
    assert value == pytest.approx(f(n, -1.3), rel=1e-14)
    assert slope == pytest.approx(f(n, -1.3, derivative=True), rel=1e-13)
    assert fg.jit(fg.grad(lambda x: f(n, x)))(-1.3) == pytest.approx(slope, rel=1e-13)
    second = fg.grad(lambda x: f(n, x, derivative=True))(-1.3)
    h = 1e-5
    found = (f(n, -1.3 + h, derivative=True) - f(n, -1.3 - h, derivative=True)) / (2 * h)
    assert second == pytest.approx(found, rel=1e-7)


def test_slopes_of_jacobi_polynomials_in_the_degree_are_those_of_differences():
    f, h = scipy.special.eval_jacobi, 1e-6
    for x in (-0.5, 3.0):
        found = (f(2 + h, 0.0, 0.7, x) - f(2 - h, 0.0, 0.7, x)) / (2 * h)
        assert fg.grad(f)(2.0, 0.0, 0.7, x) == pytest.approx(found, rel=1e-8)


@pytest.mark.parametrize(("kind", "sign"), [("j", -1.0), ("i", 1.0)])
@pytest.mark.parametrize("x", [0.0, -0.0])
def test_spherical_bessel_functions_at_0_have_the_slopes_of_their_power_series(kind, sign, x):
    f = getattr(scipy.special, f"spherical_{kind}n")
    slopes = np.array([0.0, 1 / 3, 0.0])
    seconds = np.array([sign / 3, 0.0, 2 / 15])
    for n in range(3):
        at = lambda x, n=n: f(n, x)  # noqa: E731
        assert fg.grad(at)(x) == pytest.approx(slopes[n], rel=1e-15)
        assert fg.jvp(at, (x,), (1.0,))[1] == pytest.approx(slopes[n], rel=1e-15)
        assert fg.jit(fg.grad(at))(x) == pytest.approx(slopes[n], rel=1e-15)
        assert fg.grad(fg.grad(at))(x) == pytest.approx(seconds[n], rel=1e-15)
        np.testing.assert_allclose(fg.vmap(fg.grad(at))(np.array([x, x])), [slopes[n]] * 2)


@pytest.mark.parametrize(
    ("f", "x"),
    [
        (lambda x: scipy.special.spherical_yn(2, x), -1.3),
        marked_slow((lambda h: scipy.special.owens_t(h, 1.0), 20.0)),
    ],
)
def test_many_digits_of_owens_t_and_of_spherical_functions_are_scipys_first_ones(f, x):
    assert float(fg.precise(f, x)) == pytest.approx(f(x), rel=1e-12)


@pytest.mark.parametrize(
    ("name", "point"),
    [
        ("gammainc", (1e-3, 20.0)),
        ("gammainc", (3.0, 60.0)),
        ("gammaincc", (1e-5, 0.5)),
        ("gammaincc", (30.0, 0.1)),
        ("betainc", (1e-3, 5.0, 0.999)),
        ("betainc", (2.5, 30.0, 0.9)),
        ("betaincc", (0.5, 1e-4, 0.3)),
    ],
)
def test_second_derivatives_in_small_shapes_and_where_all_is_almost_1(name, point):
    f, upper = getattr(scipy.special, name), name.endswith("cc")

    def exact(step):
        *shapes, x = [mp.mpf(value) for value in point]
        shapes[0] *= 1 + step
        ends = (x, mp.inf if len(shapes) == 1 else 1) if upper else (0, x)
        integral = mp.gammainc if len(shapes) == 1 else mp.betainc
        return integral(*shapes, *ends, regularized=True)

    with mp.workdps(120):
        second = mp.diff(exact, 0, 2) / mp.mpf(point[0]) ** 2
    assert fg.grad(fg.grad(f))(*point) == pytest.approx(float(second), rel=1e-9, abs=0)
    assert fg.jvp(fg.grad(f), point, (1.0, *[0.0] * (len(point) - 1)))[1] == pytest.approx(
        float(second), rel=1e-9, abs=0
    )


@pytest.mark.parametrize(
    ("name", "point", "exact"),
    [
        ("pseudo_huber", (0.5, 1e4), lambda d, r: (1 + (r / d) ** 2) ** -1.5),
        ("pseudo_huber", (1e-3, -7.0), lambda d, r: (1 + (r / d) ** 2) ** -1.5),
        ("kl_div", (1e-10, 0.5), lambda x, y: x / y**2),
        ("kl_div", (1.0, 1.0 + 1e-9), lambda x, y: x / y**2),
    ],
)
def test_second_derivatives_of_losses_do_not_cancel(name, point, exact):
    slope = fg.grad(getattr(scipy.special, name), 1)
    assert fg.grad(slope, 1)(*point) == pytest.approx(exact(*point), rel=1e-12)
    assert fg.jvp(slope, point, (0.0, 1.0))[1] == pytest.approx(exact(*point), rel=1e-12)


def test_second_derivatives_of_distribution_functions_next_to_0_and_at_the_ends():
    for t in (-1e-10, 1e-4, 0.3):
        wanted = -4.0 * t / 3.0 * fg.grad(scipy.special.stdtr, 1)(3.0, t) / (1 + t * t / 3.0)
        slope = fg.grad(scipy.special.stdtr, 1)
        assert fg.grad(slope, 1)(3.0, t) == pytest.approx(wanted, rel=1e-12, abs=0)
    ends = {(2.0, 3.0): (12.0, 0.0), (1.0, 4.0): (-12.0, 0.0), (3.0, 2.0): (0.0, -12.0)}
    ends |= {(1.0, 1.0): (0.0, 0.0), (0.5, 2.0): (-np.inf, -0.75), (1.0, 2.0): (-2.0, -2.0)}
    for shapes, wanted in ends.items():
        for x, second in zip((0.0, 1.0), wanted, strict=True):
            slope = fg.grad(lambda x, shapes=shapes: scipy.special.betainc(*shapes, x))
            assert fg.grad(slope)(x) == pytest.approx(second, rel=1e-12, abs=0)
            assert fg.jvp(slope, (x,), (1.0,))[1] == pytest.approx(second, rel=1e-12, abs=0)
    assert fg.grad(fg.grad(lambda p: scipy.special.bdtr(1, 4, p)))(0.0) == pytest.approx(-12.0)


def test_slopes_of_inverse_beta_functions_next_to_1():
    # With a = 1 the inverse is 1 - (1 - y)**(1/b), and that of the complement 1 - y**(1/b).
    for f, y, rest, sign in (
        (scipy.special.betaincinv, 1 - 2.0**-30, 2.0**-30, 1.0),
        (scipy.special.betainccinv, 1e-12, 1e-12, -1.0),
    ):
        slopes = fg.grad(f, (1, 2))(1.0, 0.5, y)
        assert slopes[0] == pytest.approx(4 * np.log(rest) * rest**2, rel=1e-12, abs=0)
        assert slopes[1] == pytest.approx(sign * 2.0 * rest, rel=1e-12, abs=0)
        tangent = fg.jvp(f, (1.0, 0.5, y), (0.0, 1.0, 0.0))[1]
        assert tangent == pytest.approx(slopes[0], rel=1e-12, abs=0)


def _softmax(x):
    e = np.exp(x - np.max(x))
    return e / np.sum(e)


def test_a_zero_that_was_computed_is_not_cut_off_beside_an_infinite_factor():
    """exp and logsumexp do not stop at -inf, where `exp(log(p))` has slopes: NaN, and not 0."""
    scores, values = np.array([1.0, 2.0, -np.inf]), np.array([3.0, 1.0, 7.0])
    slopes = fg.grad(lambda p: scipy.special.logsumexp(np.log(p)))(np.array([0.0, 1.0]))
    np.testing.assert_array_equal(slopes, [np.nan, 1.0])  # the first one is 1
    assert np.isnan(fg.grad(lambda p: np.exp(0.5 * np.log(p)))(0.0))  # infinite
    assert np.isnan(fg.grad(lambda t: np.sum(values * _softmax(scores / t)))(2.0))
    assert np.isnan(fg.grad(lambda a: np.exp(-np.inf * a))(2.0))
    assert np.exp(np.inf * 2.0) == fg.grad(lambda a: np.exp(np.inf * a))(2.0)
    # Chosen after the factor, the entry is not there.
    mask, finite = np.isfinite(scores), np.array([1.0, 2.0, 0.0])
    f = lambda t, s: np.sum(values * _softmax(np.where(mask, s / t, -np.inf)))  # noqa: E731
    g = lambda t, s: np.sum(values[:2] * _softmax(s[:2] / t))  # noqa: E731
    for ours, wanted in zip(
        fg.grad(f, argnums=(0, 1))(2.0, finite),
        fg.grad(g, argnums=(0, 1))(2.0, finite),
        strict=True,
    ):
        np.testing.assert_allclose(ours, wanted, rtol=1e-14)


COMPLEX = {
    "tanh": (np.tanh, mp.tanh),
    "tan": (np.tan, mp.tan),
    "log_ndtr": (scipy.special.log_ndtr, lambda z: mp.log(mp.erfc(-z / mp.sqrt(2)) / 2)),
}


@pytest.mark.parametrize("name", COMPLEX)
@pytest.mark.parametrize("z", [0.3 + 0.4j, 1e-3 + 2e-3j, -20.5 + 0.3j, 30 + 40j, 2 - 25j, 3j])
def test_complex_derivatives_far_out(name, z):
    f, exact = COMPLEX[name]
    with mp.workdps(120):
        slopes = [complex(mp.diff(exact, mp.mpc(z), order)) for order in (1, 2)]
    slope = lambda x: fg.jvp(f, (x,), (1 + 0j,))[1]  # noqa: E731
    np.testing.assert_allclose(slope(z), slopes[0], rtol=1e-12)
    np.testing.assert_allclose(fg.vjp(f, z)[1](1 + 0j)[0], slopes[0], rtol=1e-12)
    np.testing.assert_allclose(fg.jvp(slope, (z,), (1 + 0j,))[1], slopes[1], rtol=1e-10)


@pytest.mark.parametrize(
    ("x", "y", "slope"), [(1.0, 0.1, -9.0), (-1.0, 0.1, 9.0), (7.5, -2.0, 3.0)]
)
def test_the_slope_of_fmod_where_the_quotient_is_rounded_to_a_whole_number(x, y, slope):
    assert np.fmod(x, y) == pytest.approx(x + slope * y, rel=1e-12)
    assert fg.grad(np.fmod, 1)(x, y) == fg.jit(fg.grad(np.fmod, 1), native=True)(x, y) == slope
    assert fg.jvp(lambda y: np.fmod(x, y), (y,), (1.0,))[1] == slope


CUT = {
    "arccosh": (complex(-2.0, -0.0), -1 / np.sqrt(3)),
    "arcsin": (1e200j, 1e-200),
    "arccos": (complex(1e200, -0.0), 1e-200j),
    "arcsinh": (complex(-0.0, 30.0), 1j / np.sqrt(899)),
}


@pytest.mark.parametrize("name", CUT)
def test_complex_inverse_functions_at_their_cuts_and_far_out(name):
    z, slope = CUT[name]
    f = getattr(np, name)
    assert fg.grad(lambda z: np.real(f(z)))(z) == pytest.approx(slope, rel=1e-14, abs=1e-320)
    assert fg.jvp(f, (z,), (1.0 + 0j,))[1] == pytest.approx(slope, rel=1e-14, abs=1e-320)
    far = fg.grad(lambda z: np.real(np.arcsinh(z)))(1e200 + 0j)
    assert far == pytest.approx(1e-200, rel=1e-14)


def test_the_slope_of_erfcx_far_up():
    z = 1e8j
    slope = fg.grad(lambda z: np.real(scipy.special.erfcx(z)))(z)
    assert slope == pytest.approx(-1 / (np.sqrt(np.pi) * z * z), rel=1e-12)


@pytest.mark.parametrize("z", [0.5 + 12j, 8 + 9j, -5 - 20j, 12 - 11.5j, 20 + 5j])
def test_the_complex_slope_of_dawsn_far_off_the_real_line(z):
    f = scipy.special.dawsn
    slope = fg.grad(lambda z: np.real(f(z)))
    with mp.workdps(200):
        exact = mp.sqrt(mp.pi) / 2 * mp.exp(-(mp.mpc(z) ** 2)) * mp.erfi(mp.mpc(z))
        wanted = 1 - 2 * mp.mpc(z) * exact
        second = -2 * exact - 2 * mp.mpc(z) * wanted
    assert slope(z) == pytest.approx(complex(wanted), rel=1e-11)
    along = fg.jvp(lambda z: fg.jvp(f, (z,), (1.0 + 0j,))[1], (z,), (1.0 + 0j,))[1]
    assert along == pytest.approx(complex(second), rel=1e-11)


def test_second_derivatives_where_one_term_of_a_logarithm_of_sums_rounds_away():
    zero, low = np.float32(0), np.float32(-18)
    weight = np.exp(-18.0)
    for f, w in ((np.logaddexp, weight), (np.logaddexp2, 2.0**-18 * np.log(2))):
        for i, j, sign in ((0, 0, 1), (1, 1, 1), (0, 1, -1), (1, 0, -1)):
            second = fg.grad(fg.grad(f, i), j)(zero, low)
            np.testing.assert_allclose(second, sign * w / (1 + w) ** 2, rtol=1e-4)
    inf = np.inf
    assert fg.grad(np.logaddexp, (0, 1))(inf, 0.0) == (1.0, 0.0)
    assert fg.grad(np.logaddexp, (0, 1))(0.0, -inf) == (1.0, 0.0)
    assert fg.grad(np.logaddexp, (0, 1))(-inf, -inf) == (0.5, 0.5)
    x = np.array([0, -18], np.float32)
    mixed = fg.grad(lambda x: fg.grad(fg.logsumexp)(x)[0])(x)[1]
    np.testing.assert_allclose(mixed, -weight, rtol=1e-4)

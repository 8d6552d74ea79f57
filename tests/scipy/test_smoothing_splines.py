"""Smoothing splines of FITPACK, in the data, the weights and the sum of squares.

The oracle solves the problem with SciPy's knots by itself, and exactly for the sum of squares that SciPy's
spline has.
"""

import math

import numpy as np
import pytest
import scipy.interpolate as si
from scipy.optimize import brentq

import funcgrad as fg
from tests.default_slice import one_in
from tests.scipy.derivative_check import check_function

N = 24
RNG = np.random.default_rng(5)
X = np.sort(RNG.uniform(0.0, 8.0, N))
Y = np.sin(X) + 0.2 * RNG.standard_normal(N)
W = 1.0 + RNG.uniform(size=N)
Z = np.concatenate([X, Y, W])
Q = np.array([0.7, 2.9, 4.4, 7.6])
ALONG = np.concatenate([0.02 * np.cos(np.arange(N)), np.sin(np.arange(2.0 * N)), [0.3]])


def halves(z):
    return z[:N], z[N : 2 * N], z[2 * N : 3 * N], z[3 * N]


def solved(x, y, w, s, inner, k, ends=(0.0, 0.0)):
    """The exact solution with these inner knots; y has columns."""
    t = np.r_[[x[0] - ends[0]] * (k + 1), inner, [x[-1] + ends[1]] * (k + 1)]
    basis = si.BSpline(t, np.eye(t.size - k - 1), k)
    grid = t[k : t.size - k]
    jumps = np.diff(basis.derivative(k)((grid[1:] + grid[:-1]) / 2), axis=0)
    matrix = w[:, None] * basis(x)

    def coefficients(v):
        rows = np.r_[matrix, np.exp(v / 2) * jumps]
        right = np.r_[w[:, None] * y, np.zeros((len(jumps), y.shape[1]))]
        return np.linalg.lstsq(rows, right, rcond=None)[0]

    def excess(v):
        return np.sum((w[:, None] * y - matrix @ coefficients(v)) ** 2) - s

    found = coefficients(brentq(excess, -60.0, 20.0, xtol=1e-14))
    return si.BSpline(t, found, k)


def differences(f, z, along, h=2e-5):
    near = [f(z + i * h * along) for i in (1, -1, 2, -2)]
    return (8 * (near[0] - near[1]) - (near[2] - near[3])) / (12 * h)


def check(f, exact, z, along=ALONG, rtol=1e-6):
    """The value is SciPy's, slopes are those of the oracle, and all transforms agree."""
    own = f(z)
    np.testing.assert_allclose(exact(z), own, rtol=1e-9, atol=1e-10)
    value, back = fg.vjp(f, z)
    np.testing.assert_allclose(value, own, rtol=1e-13, atol=1e-14)
    slope, wanted = fg.jvp(f, (z,), (along,))[1], differences(exact, z, along)
    np.testing.assert_allclose(slope, wanted, rtol=rtol, atol=rtol * np.max(np.abs(wanted)))
    weight = np.cos(np.arange(own.size)).reshape(own.shape)
    (cotangent,) = back(weight)
    np.testing.assert_allclose(cotangent @ along, np.sum(weight * slope), rtol=1e-9)
    np.testing.assert_allclose(fg.jit(f)(z), own, rtol=1e-13, atol=1e-14)
    compiled = fg.jit(lambda z: fg.vjp(f, z)[1](weight)[0])
    np.testing.assert_allclose(compiled(z), cotangent, rtol=1e-9, atol=1e-11)
    return weight


def check_second_order(f, exact, z, weight, along=ALONG):
    def slope(z):
        return fg.grad(lambda z: np.sum(weight * f(z)))(z)

    second = fg.jvp(slope, (z,), (along,))[1]
    again = fg.grad(lambda z: np.sum(along * slope(z)))(z)
    np.testing.assert_allclose(again, second, rtol=1e-7, atol=1e-8 * np.max(np.abs(second)))
    h, (mid, *near) = 2e-4, [np.sum(weight * exact(z + i * 2e-4 * along)) for i in range(5)]
    near += [np.sum(weight * exact(z - i * h * along)) for i in (1, 2)]
    wanted = (16 * (near[0] + near[4]) - (near[1] + near[5]) - 30 * mid) / (12 * h * h)
    assert second @ along == pytest.approx(wanted, rel=1e-5)


@pytest.mark.parametrize(
    ("k", "s"),
    one_in(3, [(1, 2.0), (2, 2.0), (3, 3.0), (3, 0.4), (3, 1e-3), (4, 0.4), (5, 1.0)]),
)
def test_univariate_spline(k, s):
    def f(z):
        x, y, w, s = halves(z)
        return si.UnivariateSpline(x, y, w, k=k, s=s)(Q)

    own = si.UnivariateSpline(X, Y, W, k=k, s=s)
    places = np.searchsorted(X, own.get_knots()[1:-1])
    offset = own.get_residual() - s

    def exact(z):
        x, y, w, s = halves(z)
        return solved(x, y[:, None], w, s + offset, x[places], k)(Q)[:, 0]

    assert places.size
    np.testing.assert_array_equal(X[places], own.get_knots()[1:-1])
    weight = check(f, exact, np.append(Z, s))
    if k == 3:
        check_second_order(f, exact, np.append(Z, s), weight)


@pytest.mark.parametrize("name", ["splrep", "make_splrep"])
def test_splines_as_tuples(name):
    def f(z):
        x, y, w, s = halves(z)
        tck = getattr(si, name)(x, y, w=w, s=s, xb=x[0] - 0.1, xe=x[-1] + s / 10)
        return si.splev(Q, tck)

    s = 2.0
    tck = getattr(si, name)(X, Y, w=W, s=s, xb=X[0] - 0.1, xe=X[-1] + 0.2)
    t, c, k = tck if name == "splrep" else (tck.t, tck.c, tck.k)
    places = np.searchsorted(X, t[k + 1 : -k - 1])
    offset = np.sum((W * (Y - si.splev(X, (t, c, k)))) ** 2) - s

    def exact(z):
        x, y, w, s = halves(z)
        return solved(x, y[:, None], w, s + offset, x[places], k, (0.1, s / 10))(Q)[:, 0]

    z = np.append(Z, s)
    check_second_order(f, exact, z, check(f, exact, z))


@pytest.mark.parametrize("name", ["splprep", "make_splprep"])
def test_curves(name):
    at = np.linspace(0.0, 1.0, 5)

    def points(z):
        x, y, _, _ = halves(z)
        return x + np.cos(x), y

    def f(z):
        _, _, w, s = halves(z)
        made, u = getattr(si, name)(list(points(z)), w=w, s=s)
        return np.concatenate([*si.splev(at, made), u] if name == "splprep" else [*made(at), u])

    z = np.append(Z, 3.0)
    made, u = getattr(si, name)(list(points(z)), w=W, s=3.0)
    t, c, k = made if name == "splprep" else (made.t, list(made.c.T), made.k)
    places = np.searchsorted(u, t[k + 1 : -k - 1])
    errors = [W * (p - si.splev(u, (t, part, k))) for p, part in zip(points(z), c, strict=True)]
    offset = np.sum(np.square(errors)) - 3.0

    def exact(z):
        _, _, w, s = halves(z)
        columns = np.stack(points(z), axis=1)
        lengths = np.cumsum(np.linalg.norm(np.diff(columns, axis=0), axis=1))
        u = np.append(0.0, lengths) / lengths[-1]
        return np.append(solved(u, columns, w, s + offset, u[places], k)(at).T.reshape(-1), u)

    check_second_order(f, exact, z, check(f, exact, z))


def test_examples_of_a_batch_may_have_other_knots():
    def f(y, s):
        return si.UnivariateSpline(X, y, s=s)(2.5)

    sums = np.array([4.0, 1.0, 0.1, 1e-3, 500.0])
    rows = np.stack([Y] * sums.size)
    expected = [f(Y, s) for s in sums]
    np.testing.assert_allclose(fg.vmap(f)(rows, sums), expected, rtol=1e-12)
    slopes = fg.vmap(fg.grad(f))(rows, sums)
    np.testing.assert_allclose(slopes, [fg.grad(f)(Y, s) for s in sums], rtol=1e-9, atol=1e-12)
    compiled = fg.jit(f)
    np.testing.assert_allclose([compiled(Y, s) for s in sums], expected, rtol=1e-12)


def test_where_scipys_spline_is_that_of_least_squares():
    """Its sum of squares is s up to 0.001*s without any penalty, so that s has no effect."""
    (place,) = np.searchsorted(X, si.UnivariateSpline(X, Y, s=3.5).get_knots()[1:-1])
    knot = X[[place]]
    least = si.LSQUnivariateSpline(X, Y, knot).get_residual()
    np.testing.assert_array_equal(si.UnivariateSpline(X, Y, s=least).get_knots()[1:-1], knot)
    in_y, in_s = fg.grad(lambda y, s: si.UnivariateSpline(X, y, s=s)(2.5), argnums=(0, 1))(Y, least)
    wanted = fg.grad(lambda y: si.LSQUnivariateSpline(X, y, knot)(2.5))(Y)
    np.testing.assert_allclose(in_y, wanted, rtol=1e-10, atol=1e-13)
    assert in_s == 0.0


def test_midpoints_are_knots_of_an_even_degree():
    def f(z):
        x, y, _, s = halves(z)
        return si.UnivariateSpline(x, y, k=2, s=s)(Q)

    z = np.append(Z, 1e-3)
    own = si.UnivariateSpline(X, Y, k=2, s=1e-3)
    assert own.get_knots().size == N + 1 - 2

    def exact(z):
        x, y, _, s = halves(z)
        inner = (x[1:-2] + x[2:-1]) / 2
        return solved(x, y[:, None], 0 * x + 1, s + own.get_residual() - 1e-3, inner, 2)(Q)[:, 0]

    check(f, exact, z)


def test_the_default_of_s():
    def f(y):
        return si.UnivariateSpline(X, y, 6 * W)(2.5) + si.splev(1.5, si.splrep(X, y, W * 9))

    assert fg.vjp(f, Y)[0] == pytest.approx(f(Y), rel=1e-13)
    assert np.all(np.isfinite(fg.grad(f)(Y)))


def test_special_values():
    slope = fg.grad(lambda y: si.UnivariateSpline(X, y, s=0.1)(2.5))
    assert np.all(np.isnan(slope(np.where(np.arange(N) == 3, np.nan, Y))))
    with pytest.raises(ValueError, match="x must be increasing if s > 0"):
        fg.grad(lambda x: si.UnivariateSpline(x, Y, s=0.1)(2.5))(X[::-1])
    with pytest.raises(ValueError, match="expected a traced s > 0, but got 0"):
        fg.grad(lambda s: si.UnivariateSpline(X, Y, s=s)(2.5))(0.0)
    line = fg.grad(lambda y: si.UnivariateSpline(X, y, s=0.1)(2.5))(2 * X)
    np.testing.assert_allclose(line @ X, 2.5, rtol=1e-12)


def test_the_residual_is_s_up_to_scipys_tolerance():
    def residual(y, s):
        return si.UnivariateSpline(X, y, s=s).get_residual()

    assert fg.vjp(residual, Y, 1.0)[0] == pytest.approx(residual(Y, 1.0), rel=1e-12)
    slopes = fg.grad(residual, argnums=(0, 1))(Y, 1.0)
    np.testing.assert_allclose(slopes[0], 0.0, atol=1e-12)
    assert slopes[1] == pytest.approx(1.0, rel=1e-10)


# -- surfaces --------------------------------------------------------------------------------------------
M = 9
GRID = np.concatenate([np.linspace(0.0, 5.0, 11) ** 1.1, np.linspace(0.0, 3.0, M) ** 1.2])
TABLE = np.sin(GRID[:11])[:, None] * np.cos(GRID[11:]) + 0.1 * RNG.standard_normal((11, M))
SURFACE = np.concatenate([GRID, TABLE.reshape(-1)])
ALONG_SURFACE = np.append(0.02 * np.cos(np.arange(GRID.size)), np.sin(np.arange(TABLE.size + 1.0)))


def parts_of_surface(z):
    return z[:11], z[11 : 11 + M], z[11 + M : -1].reshape(11, M), z[-1]


def axis_of(x, inner, k, v):
    """The weights of the data in the coefficients, and the matrix of the points."""
    t = np.r_[[x[0]] * (k + 1), inner, [x[-1]] * (k + 1)]
    basis = si.BSpline(t, np.eye(t.size - k - 1), k)
    grid = t[k : t.size - k]
    # In FITPACK's scale, which makes one penalty of those of both axes.
    scale = ((grid[-1] - grid[0]) / (grid.size - 1)) ** k / math.factorial(k)
    jumps = scale * np.diff(basis.derivative(k)((grid[1:] + grid[:-1]) / 2), axis=0)
    rows = np.r_[basis(x), np.exp(v / 2) * jumps]
    return t, np.linalg.pinv(rows)[:, : x.size], basis(x)


@pytest.mark.parametrize(("kx", "ky", "s"), [(3, 3, 0.3), (1, 2, 0.3)])
def test_surfaces_on_a_grid(kx, ky, s):
    def f(z):
        x, y, table, s = parts_of_surface(z)
        return si.RectBivariateSpline(x, y, table, kx=kx, ky=ky, s=s)([0.3, 1.9], [0.2, 1.1, 2.8])

    z = np.append(SURFACE, s)
    own = si.RectBivariateSpline(*parts_of_surface(z)[:3], kx=kx, ky=ky, s=s)
    tx, ty = own.get_knots()
    places = [
        np.searchsorted(x, t[k + 1 : -k - 1])
        for x, t, k in zip(parts_of_surface(z), (tx, ty), (kx, ky), strict=False)
    ]
    assert sum(map(len, places))
    offset = own.get_residual() - s

    def exact(z):
        x, y, table, s = parts_of_surface(z)

        def fit(v):
            axes = [
                axis_of(at, at[place], k, v)
                for at, place, k in zip((x, y), places, (kx, ky), strict=True)
            ]
            (tx, left, rows), (ty, right, columns) = axes
            c = left @ table @ right.T
            return tx, ty, c, np.sum((table - rows @ c @ columns.T) ** 2)

        sought = s + offset
        tx, ty, c, _ = fit(brentq(lambda v: fit(v)[3] - sought, -60.0, 20.0, xtol=1e-14))
        tck = tx, ty, c.reshape(-1), kx, ky
        return np.asarray(si.bisplev([0.3, 1.9], [0.2, 1.1, 2.8], tck))

    weight = check(f, exact, z, ALONG_SURFACE)
    if kx == 3:
        check_second_order(f, exact, z, weight, ALONG_SURFACE)


def test_surfaces_through_a_grid_that_is_traced():
    def f(z):
        x, y, table, _ = parts_of_surface(z)
        spline = si.RectBivariateSpline(x, y, table, bbox=[x[0] - 1, None, None, 4.0], kx=2)
        return np.append(spline.ev([0.3, 1.9], [0.2, 2.8]), spline.integral(0, 1, 1, x[4]))

    check_function(f, np.append(SURFACE, 1.0), value_rtol=1e-11)


def test_surfaces_with_given_knots():
    n = 30
    data = np.concatenate(
        [RNG.uniform(0, 3, 2 * n), RNG.standard_normal(n), 1 + RNG.uniform(size=n)]
    )

    def f(v):
        x, y, z, w = v[: 4 * n].reshape(4, n)
        spline = si.LSQBivariateSpline(
            x, y, z, v[4 * n :], [], w=w, kx=2, ky=1, bbox=[0, 3, None, None]
        )
        return np.append(spline.ev([1.1, 2.2], [0.3, 1.4]), spline.get_residual())

    check_function(f, np.append(data, [1.2, 2.0]), value_rtol=1e-11)
    with pytest.raises(ValueError, match="expected data that determine all 16 coefficients"):
        fg.grad(lambda z: si.LSQBivariateSpline([0.0, 1.0], [0.0, 1.0], z, [], []).ev(0.5, 0.5))(
            np.ones(2)
        )


@pytest.mark.parametrize("shift", [0.0, 2.0, -20.0])
def test_ends_of_surfaces_with_given_knots_are_scipys(shift):
    """They are beyond those of the data, since FITPACK's wrapper takes the outer knots for 0."""
    x, y = np.arange(12.0) + shift, np.arange(12.0) % 5
    outside = np.array([-1.0, 0.5, 5.0, 11.5]) + shift

    def f(z, knot, eps=None):
        surface = si.LSQBivariateSpline(x, y, z, [knot], [], kx=1, ky=1, eps=eps)
        return surface.ev(outside, [0.2, 2.8, 5.0, 1.0])

    z = np.cos(x * x)
    value, slope = fg.jvp(f, (z, 5.3 + shift), (z, 1.0))
    np.testing.assert_allclose(value, f(z, 5.3 + shift), rtol=1e-11)
    above, below = [f(z * (1 + h), 5.3 + shift + h) for h in (1e-5, -1e-5)]
    np.testing.assert_allclose(slope, (above - below) / 2e-5, rtol=1e-7, atol=1e-7)
    if shift == 0.0:
        with pytest.raises(ValueError, match="expected data that determine all 6 coefficients"):
            fg.jvp(lambda z: f(z, 5.0, eps=0.3), (z,), (z,))


def test_surfaces_that_are_smoothed_freely():
    x, y, z = RNG.uniform(0, 3, (3, 40))
    own = si.SmoothBivariateSpline(x, y, z, s=30.0)
    slope = fg.grad(lambda p: own.ev(p[0], p[1]))(np.array([1.0, 2.0]))
    np.testing.assert_allclose(slope, [own.ev(1, 2, 1, 0), own.ev(1, 2, 0, 1)], rtol=1e-10)
    with pytest.raises(TypeError, match="SmoothBivariateSpline: expected plain data"):
        fg.grad(lambda z: si.SmoothBivariateSpline(x, y, z).ev(1.0, 2.0))(z)

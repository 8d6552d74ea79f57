"""Splines, piecewise polynomials and interpolants of scattered data, in their data and knots."""

import numpy as np
import pytest
import scipy.interpolate

import funcgrad as fg
from tests.default_slice import one_in
from tests.scipy.derivative_check import check_function

X = np.array([0.0, 0.7, 1.1, 2.0, 2.6, 3.5, 4.0])
Y = np.array([1.0, -0.4, 0.8, 0.3, 1.9, -1.2, 0.6])
Q = np.array([0.2, 1.3, 1.9, 3.8])
OUT = np.array([-0.5, 1.3, 4.7])
T = np.array([0.0, 0.0, 0.0, 0.0, 1.3, 2.2, 4.0, 4.0, 4.0, 4.0])


def both(x):
    """Two halves: abscissae, and values there."""
    return x[:7], x[7:]


XY = np.concatenate([X, Y])
SPLINES = {
    # -- through traced abscissae
    **{
        f"make_interp_spline, degree {k}": lambda x, k=k: scipy.interpolate.make_interp_spline(
            *both(x), k
        )(Q)
        for k in (0, 1, 2, 3, 4)
    },
    "make_interp_spline, its ends": lambda x: scipy.interpolate.make_interp_spline(
        *both(x), 3, bc_type=([(1, x[8])], [(2, 0.3)])
    )(Q),
    "make_interp_spline, natural": lambda x: scipy.interpolate.make_interp_spline(
        *both(x), bc_type=("natural", "clamped")
    )(OUT),
    "make_interp_spline, knots": lambda x: scipy.interpolate.make_interp_spline(
        x[:6], x[7:13], 3, t=x[0] + T * (x[5] - x[0]) / 4
    )(Q[:3]),
    "make_interp_spline, columns": lambda x: scipy.interpolate.make_interp_spline(
        x[:7], np.stack([x[7:], x[7:] ** 2]), axis=1
    )(Q),
    "make_lsq_spline": lambda x: scipy.interpolate.make_lsq_spline(
        *both(x),
        np.concatenate([x[:1], x[:1], x[:1], x[3:4], x[6:7], x[6:7], x[6:7]]),
        2,
        x[:7] + 1,
    )(Q),
    "splrep": lambda x: scipy.interpolate.splev(Q, scipy.interpolate.splrep(*both(x), k=4)),
    "UnivariateSpline": lambda x: scipy.interpolate.UnivariateSpline(*both(x), s=0)(OUT),
    "UnivariateSpline, a polynomial": lambda x: scipy.interpolate.UnivariateSpline(
        *both(x), s=90, w=1 + x[7:] ** 2
    )(Q),
    "UnivariateSpline, constant outside": lambda x: scipy.interpolate.UnivariateSpline(
        *both(x), s=0, k=2, ext="const"
    ).derivative()(OUT),
    "InterpolatedUnivariateSpline": lambda x: scipy.interpolate.InterpolatedUnivariateSpline(
        *both(x), bbox=[-1, 5]
    ).antiderivative()(Q),
    "its integral": lambda x: scipy.interpolate.InterpolatedUnivariateSpline(*both(x)).integral(
        x[1], x[5]
    ),
    "its derivatives": lambda x: scipy.interpolate.InterpolatedUnivariateSpline(
        *both(x)
    ).derivatives(x[1] + 0.1),
    "its roots": lambda x: scipy.interpolate.InterpolatedUnivariateSpline(*both(x)).roots(),
    "LSQUnivariateSpline": lambda x: scipy.interpolate.LSQUnivariateSpline(
        *both(x), [x[2] + 0.1, 2.4], w=np.arange(1.0, 8.0)
    )(Q),
    "its residual": lambda x: scipy.interpolate.LSQUnivariateSpline(
        *both(x), [2.4], w=np.arange(1.0, 8.0)
    ).get_residual(),
    # -- of traced knots and coefficients
    "BSpline's derivative": lambda x: scipy.interpolate.BSpline(x[:7], x[7:11], 2).derivative()(Q),
    "BSpline's antiderivative": lambda x: scipy.interpolate.BSpline(
        x[:7], x[7:11], 2
    ).antiderivative(2)(Q),
    "BSpline's integral": lambda x: scipy.interpolate.BSpline(x[:7], x[7:11], 2).integrate(
        x[3], x[1]
    ),
    "BSpline's integral inside": lambda x: scipy.interpolate.BSpline(
        x[:7], x[7:11], 2, extrapolate=False
    ).integrate(0.2, x[6]),
    "BSpline's periodic integral": lambda x: scipy.interpolate.BSpline(
        x[:7], x[7:11], 2, extrapolate="periodic"
    ).integrate(-2.0, 7 * x[1]),
    "splder": lambda x: scipy.interpolate.splev(Q, scipy.interpolate.splder((x[:7], x[7:], 2))),
    "splantider": lambda x: scipy.interpolate.splev(
        Q, scipy.interpolate.splantider((x[:7], x[7:], 2))
    ),
    "splantider, its coefficients": lambda x: scipy.interpolate.splantider((x[:7], x[7:], 2))[1],
    "splder, its coefficients": lambda x: scipy.interpolate.splder((x[:7], x[7:], 2))[1],
    "splint": lambda x: scipy.interpolate.splint(x[8], x[5], (x[:7], x[7:], 2)),
    "splint of a curve": lambda x: scipy.interpolate.splint(0.2, x[3], (X, [x[7:], x[:7]], 2)),
    "spalde": lambda x: scipy.interpolate.spalde(x[2] + 0.1, (x[:7], x[7:], 2)),
    "sproot": lambda x: scipy.interpolate.sproot((T, x[7:13], 3)),
    "splev of a matrix": lambda x: np.array(
        scipy.interpolate.splev(Q, (x[:7], np.stack([x[7:], x[7:] ** 2]), 2))
    ),
    "splev of a matrix at traced points": lambda x: np.stack(
        scipy.interpolate.splev(x[1:3] / 2, (X, np.stack([X[:4], X[:4] ** 2]), 2))
    ),
    "splint of a matrix": lambda x: np.stack(
        scipy.interpolate.splint(0.2, x[3], (X, np.stack([x[7:], x[7:] * 2]), 2))
    ),
    "insert into a matrix": lambda x: np.stack(
        scipy.interpolate.insert(1.5, (X, np.stack([x[7:], x[7:] * 2]), 2))[1]
    )[:, :5],  # SciPy leaves those behind as the memory was
    "spalde of a matrix": lambda x: np.stack(
        scipy.interpolate.spalde(1.5, (X, np.stack([x[7:], x[7:] * 2]), 2))
    ),
    "splev of a curve": lambda x: scipy.interpolate.splev(Q, (x[:7], [x[7:], x[7:] ** 2], 2)),
    "splprep": lambda x: scipy.interpolate.splev(
        [0.1, 0.6], scipy.interpolate.splprep([x[:7], x[7:]], s=0)[0]
    ),
    "splprep at given places": lambda x: scipy.interpolate.splprep(
        [x[7:], x[7:] ** 2], u=x[:7], k=2, s=0
    )[0][1],
}


@pytest.mark.parametrize("case", one_in(7, SPLINES))
def test_splines_in_their_data_and_knots(case):
    asks = case in ("its roots", "sproot", "UnivariateSpline, a polynomial")
    check_function(
        lambda x: _stacked(SPLINES[case](x)), XY, vmap=not asks, value_rtol=1e-11, rtol=2e-5
    )


WITH_KNOTS = {
    "insert_knot": lambda x: _knots_and_coefficients(
        scipy.interpolate.BSpline(x[:7], x[7:11], 2).insert_knot(1.1 * x[3])
    ),
    "insert_knot, twice": lambda x: _knots_and_coefficients(
        scipy.interpolate.BSpline(x[:7], np.stack([x[7:11], x[8:12]], 1), 2).insert_knot(2.4, 2)
    ),
    "insert_knot at a knot": lambda x: scipy.interpolate.BSpline(x[:7], x[7:11], 2).insert_knot(
        x[3]
    )(Q),
    "insert_knot at the end": lambda x: _knots_and_coefficients(
        scipy.interpolate.BSpline(x[:7], x[7:11], 2).insert_knot(x[4])
    ),
    "a traced knot of a plain spline": lambda x: _knots_and_coefficients(
        scipy.interpolate.BSpline(X, Y[:4], 2).insert_knot(x[3] + 0.1)
    ),
    "insert": lambda x: [
        part[:5] for part in scipy.interpolate.insert(x[3] + 0.1, (x[:7], x[7:], 2))[:2]
    ],
    "insert, of a curve": lambda x: [
        part[:5] for part in scipy.interpolate.insert(2.4, (x[:7], [x[7:], x[7:] ** 2], 2), 2)[1]
    ],
    "insert, of a BSpline": lambda x: _knots_and_coefficients(
        scipy.interpolate.insert(2.4, scipy.interpolate.BSpline(x[:7], x[7:11], 2))
    ),
}


def _knots_and_coefficients(spline):
    return np.concatenate([spline.t, np.ravel(spline.c[: len(spline.t) - spline.k - 1])])


BSPLINE = scipy.interpolate.BSpline


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("spline", [BSPLINE, scipy.interpolate.PPoly])
def test_derivatives_of_negative_order_are_antiderivatives(spline, order):
    def f(c):
        made = spline(T, c, 3) if spline is BSPLINE else spline(c[:4, None], T[3:5])
        return np.stack([made.derivative(-order)(Q[:3]), made.antiderivative(-order)(Q[:3])])

    check_function(f, np.array([0.3, -0.5, 0.8, 0.2, 0.7, -0.1]), value_rtol=1e-13)


@pytest.mark.parametrize("case", WITH_KNOTS)
def test_splines_with_further_knots(case):
    check_function(
        lambda x: _stacked(WITH_KNOTS[case](x)), XY, vmap=False, value_rtol=1e-13, rtol=2e-5
    )


def _stacked(found):
    return np.stack(found) if isinstance(found, list) else found


def test_a_periodic_spline_in_its_values():
    x, y = X, np.append(Y[:-1], Y[0])
    spline = lambda y: scipy.interpolate.make_interp_spline(x, y, bc_type="periodic")(Q)  # noqa: E731
    found = fg.jacobian(lambda y: spline(np.concatenate([y, y[:1]])))(y[:-1])
    wanted = np.stack([spline(np.append(row, row[0])) for row in np.eye(6)], axis=1)
    np.testing.assert_allclose(found, wanted, atol=1e-12)
    with pytest.raises(TypeError, match="expected plain abscissae for a periodic spline"):
        fg.grad(lambda t: scipy.interpolate.make_interp_spline(t * x, y, bc_type="periodic")(1.0))(
            1.0
        )


@pytest.mark.parametrize(
    "t",
    [
        [0.0, 0.0, 0.0, 0.0, 1.0, 2.0, 3.0, 3.0, 3.0, 3.0, 3.0],
        [0.0, 0.0, 0.0, 0.0, 1.0, 2.0, 2.0, 2.0, 3.0, 4.0, 5.0],
        [0.0, 0.0, 0.0, 0.0, 0.0, 2.0, 2.0, 2.0, 2.0, 4.0, 5.0],
    ],
)
def test_empty_intervals_of_traced_knots(t):
    t, c, q = (
        np.array(t),
        np.array([0.3, 1.2, -0.7, 0.4, 0.9, -1.1, 0.5]),
        np.array([0.0, 1.5, 2.5, 3.0]),
    )
    for nu in range(4):
        own = scipy.interpolate.BSpline(t, c, 3)(q, nu)
        found = fg.jit(lambda t, c, nu=nu: scipy.interpolate.BSpline(t, c, 3)(q, nu))(t, c)
        np.testing.assert_allclose(found, own, rtol=1e-12, atol=1e-13)
    slope = fg.grad(lambda c: np.sum(scipy.interpolate.BSpline(t * 1.0, c, 3)(q)))(c)
    assert np.isfinite(slope).all()


A = np.array([[1.3, 0.2, -0.4], [0.5, 2.1, 0.3], [-0.2, 0.6, 1.7], [0.4, -0.9, 0.8]])
BREAKS = np.array([0.0, 1.0, 2.5, 4.0])


def pieces(a):
    """Coefficients and breakpoints in one array."""
    return a.reshape(4, 4)[:, :3], np.sort(a.reshape(4, 4)[:, 3])


PIECES = np.concatenate([A, BREAKS[:, None]], axis=1)
CASES = {
    "BPoly": lambda a: scipy.interpolate.BPoly(*pieces(a))(Q),
    "BPoly's derivative": lambda a: scipy.interpolate.BPoly(*pieces(a))(Q, 2),
    "BPoly at traced points": lambda a: scipy.interpolate.BPoly(A, BREAKS)(a[:, 3] + 0.1, 1),
    "BPoly's integral": lambda a: scipy.interpolate.BPoly(*pieces(a)).integrate(0.2, a[2, 3]),
    "BPoly, periodic": lambda a: scipy.interpolate.BPoly(*pieces(a), extrapolate="periodic")(OUT),
    "BPoly outside": lambda a: np.nan_to_num(
        scipy.interpolate.BPoly(*pieces(a), extrapolate=False)(OUT)
    ),
    "BPoly of derivatives": lambda a: scipy.interpolate.BPoly.from_derivatives(
        BREAKS, [a[0, :2], a[1, :2], a[2, :1], a[3, :2]]
    )(Q),
    "BPoly of powers": lambda a: scipy.interpolate.BPoly.from_power_basis(
        scipy.interpolate.PPoly(*pieces(a))
    )(Q),
    "PPoly of Bernstein's basis": lambda a: scipy.interpolate.PPoly.from_bernstein_basis(
        scipy.interpolate.BPoly(*pieces(a))
    )(Q),
    "PPoly of a spline": lambda a: scipy.interpolate.PPoly.from_spline((X, a.ravel()[:6], 2))(Q),
    "PPoly, extended": lambda a: extended(scipy.interpolate.PPoly(*pieces(a)), a)(OUT),
    "PPoly's roots": lambda a: scipy.interpolate.PPoly(*pieces(a)).roots(),
    "PPoly's jumps": lambda a: scipy.interpolate.PPoly(a[2:, :3], a[:, 3] - 0.5).solve(a[0, 0] / 3),
    "CubicSpline's roots": lambda a: scipy.interpolate.CubicSpline(
        X, np.sin(2 * X + a[0, 0])
    ).roots(),
    "NdPPoly": lambda a: surface(a)(np.stack([Q[:3] * 0.5, a[0, :3]], axis=1)),
    "NdPPoly's derivative": lambda a: surface(a)(np.stack([Q[:3] * 0.5, a[0, :3]], axis=1), (1, 2)),
    "NdPPoly's antiderivative": lambda a: surface(a).antiderivative((2, 1))(
        [[0.3, 0.7], [1.4, 1.1]]
    ),
    "NdPPoly's integral": lambda a: surface(a).integrate([(0.2, 0.9), (0.1, 1.7)]),
    "NdPPoly, one integral": lambda a: surface(a).integrate_1d(0.2, a[0, 0], 1)([[0.3], [1.7]]),
}


def extended(polynomial, a):
    polynomial.extend(a[:2, :2] ** 2, a[3, 3] + a[3, 3] * np.arange(1.0, 3.0))
    return polynomial


def surface(a):
    grid = np.array([0.0, 1.0, 2.0])
    c = np.stack([a.reshape(4, 2, 2), a.reshape(4, 2, 2) ** 2, a[::-1].reshape(4, 2, 2)])
    return scipy.interpolate.NdPPoly(c, (grid, grid))


@pytest.mark.parametrize("case", one_in(5, CASES))
def test_piecewise_polynomials(case):
    plain_only = ("PPoly's roots", "PPoly's jumps", "CubicSpline's roots", "PPoly, extended")
    vmap = case not in plain_only and not any(
        [name in case for name in ("BPoly", "NdPPoly", "Bernstein")]
    )
    check_function(CASES[case], PIECES, vmap=vmap, value_rtol=1e-12, rtol=2e-5)


SITES = np.array(
    [[0.0, 0.1], [2.0, 0.0], [0.3, 2.0], [2.2, 1.9], [1.0, 0.8], [0.4, 0.9], [1.5, 1.4], [1.2, 0.2]]
)
DATA = np.cos(np.arange(8.0))
AT = np.array([[0.6, 0.5], [1.3, 0.9], [1.7, 1.6], [1.1, 0.35]])
TABLE = np.concatenate([SITES, DATA[:, None]], axis=1)
SCATTERED = {
    **{
        f"RBFInterpolator, {kernel}": lambda a, k=kernel: scipy.interpolate.RBFInterpolator(
            a[:, :2], a[:, 2:], kernel=k, epsilon=1.3, smoothing=0.1
        )(AT)
        for kernel in ("linear", "thin_plate_spline", "quintic", "multiquadric", "gaussian")
    },
    "RBFInterpolator of vectors": lambda a: scipy.interpolate.RBFInterpolator(
        a[:, :2], a, degree=2
    )(a[:3, :2] + 0.1),
    "RBFInterpolator of neighbors": lambda a: scipy.interpolate.RBFInterpolator(
        a[:, :2], a[:, 2], neighbors=5
    )(a[:3, :2] + 0.1),
    "RBFInterpolator, its parameters": lambda a: scipy.interpolate.RBFInterpolator(
        SITES, DATA, kernel="gaussian", epsilon=a[1, 0] / 2, smoothing=np.abs(a[:, 2]), degree=-1
    )(AT),
    "RBFInterpolator, complex": lambda a: np.abs(
        scipy.interpolate.RBFInterpolator(SITES, a[:, 2] + 1j * a[:, 0])(AT)
    ),
    "NearestNDInterpolator": lambda a: scipy.interpolate.NearestNDInterpolator(SITES, a)(AT),
    "NearestNDInterpolator of traced points": lambda a: scipy.interpolate.NearestNDInterpolator(
        a[:, :2], a[:, 2], rescale=True
    )(a[:3, 0], a[0, 1]),
    "CloughTocher2DInterpolator": lambda a: scipy.interpolate.CloughTocher2DInterpolator(
        SITES, a[:, 2], tol=1e-15
    )(AT),
    "CloughTocher2DInterpolator, rescaled": lambda a: scipy.interpolate.CloughTocher2DInterpolator(
        SITES * np.array([1.0, 3.0]), a, tol=1e-15, rescale=True
    )(AT * np.array([1.0, 3.0])),
    "CloughTocher2DInterpolator at traced points": lambda a: (
        scipy.interpolate.CloughTocher2DInterpolator(SITES, DATA)(0.45 + a[:4, 0] / 2, 0.93)
    ),
}


@pytest.mark.parametrize("case", one_in(5, SCATTERED))
def test_scattered_data(case):
    check_function(SCATTERED[case], TABLE, value_rtol=1e-10, rtol=2e-5)


def test_plain_polynomials_in_functions_that_are_differentiated():
    def f(x):
        plain = scipy.interpolate.BPoly.from_derivatives([0, 1], [[0.2, 1.0], [0.3, 0.2]])
        return x * plain(0.4)

    assert fg.grad(f)(2.0) == f(1.0)


def test_the_nearest_point_may_be_too_far():
    nearest = lambda a: scipy.interpolate.NearestNDInterpolator(SITES, a)(  # noqa: E731
        [[0.0, 0.0], [9.0, 9.0]], distance_upper_bound=1.0
    )
    np.testing.assert_array_equal(fg.jit(nearest)(DATA), nearest(DATA))
    np.testing.assert_array_equal(fg.jacobian(nearest)(DATA)[0], np.eye(8)[0])


RATIONAL = {
    "AAA": lambda y: scipy.interpolate.AAA(X, Y + y, clean_up=False)(Q),
    "AAA of few terms": lambda y: scipy.interpolate.AAA(X, np.exp(y), max_terms=2, clean_up=False)(
        Q
    ),
    "AAA at traced points": lambda y: scipy.interpolate.AAA(X, np.exp(X))(y),
}


@pytest.mark.filterwarnings("ignore:AAA failed to converge")
@pytest.mark.parametrize("case", one_in(2, RATIONAL))
def test_rational_fits(case):
    check_function(
        RATIONAL[case], 0.3 * X + 0.1, vmap="points" in case, value_rtol=1e-11, rtol=2e-5
    )


@pytest.mark.parametrize(
    ("f", "message"),
    [
        (lambda x: scipy.interpolate.sproot((X, x, 2))[0], "sproot: expected a cubic spline"),
        (lambda x: scipy.interpolate.splint(0, 1, (X, x, 2), 1)[0], "splint: full_output=1"),
        (
            lambda x: scipy.interpolate.BSpline(X, x[:4], 2).derivative(4)(1.0),
            "at most the degree 2",
        ),
        (
            lambda x: scipy.interpolate.BSpline(X, x[:4], 2).insert_knot(X[-1]).c[0],
            "insert: expected m > 0 and a knot within the spline",
        ),
        (
            lambda x: (
                scipy.interpolate.BSpline(X, x[:4], 2, extrapolate="periodic").insert_knot(2.5).c[0]
            ),
            "insert_knot: extrapolate='periodic' is not supported",
        ),
        (
            lambda x: scipy.interpolate.make_interp_spline(x, x, bc_type="free")(0.5),
            "expected an end condition 'natural'",
        ),
        (
            lambda x: scipy.interpolate.make_interp_spline(x, x, t=np.arange(30.0))(0.5),
            "expected 19 derivatives at the ends, but got 0 and 0",
        ),
        (
            lambda x: scipy.interpolate.RBFInterpolator(SITES, x)(AT)[0],
            "as many data, but got",
        ),
        (
            lambda x: scipy.interpolate.RBFInterpolator(SITES[:7], x, kernel="gaussian")(AT)[0],
            "and epsilon unless",
        ),
        (
            lambda x: scipy.interpolate.RBFInterpolator(SITES[:7], x, degree=4)(AT)[0],
            "expected at least 15 data points",
        ),
        (
            lambda x: scipy.interpolate.CloughTocher2DInterpolator(
                np.stack([x, x**2], 1), DATA[:7]
            )(0.1, 0.1),
            "expected plain points, since triangles",
        ),
        (
            lambda x: scipy.interpolate.PPoly(x[:6].reshape(2, 3), BREAKS).extend(
                x[:6].reshape(1, 2, 3), [5.0, 6.0]
            ),
            "extend: expected coefficients like",
        ),
        (
            lambda x: scipy.interpolate.PPoly(x[:6].reshape(1, 3, 2), BREAKS).roots()[0],
            "solve: expected one polynomial a piece",
        ),
        (
            lambda x: scipy.interpolate.PPoly(x[:6].reshape(2, 3), BREAKS).free,
            "expected plain data",
        ),
        (
            lambda x: scipy.interpolate.Akima1DInterpolator(X, x[:7], method="other")(0.5),
            "Akima1DInterpolator: expected 'akima' or 'makima', but got 'other'",
        ),
        (
            lambda x: scipy.interpolate.CubicSpline(X, x[:7], bc_type=((3, 0.0), "natural"))(0.5),
            "CubicSpline: expected a derivative of order 1 or 2, but got 3",
        ),
        (
            lambda x: scipy.interpolate.CubicHermiteSpline(X, x[:7], X[:3])(0.5),
            "The shapes of `y` and `dydx` must be identical",
        ),
        (
            lambda x: scipy.interpolate.RBFInterpolator(SITES[:7], x[:7])(AT[0])[0],
            "RBFInterpolator: expected points of shape",
        ),
        (
            lambda x: scipy.interpolate.NdBSpline((T, T), np.outer(x[:6], x[:6]), 3)([1.0] * 3),
            "NdBSpline: expected points and orders of 2 coordinates",
        ),
    ],
)
def test_what_is_refused(f, message):
    with pytest.raises((TypeError, ValueError, AttributeError), match=message):
        fg.jacobian(f)(X + 0.1)


def test_knots_that_scipy_chooses_are_constants_of_the_data():
    x = np.linspace(-3.0, 3.0, 40)

    def fitted(t):
        y = t * np.exp(-(x**2)) + 0.1 * np.cos(9 * x)
        *_, knots = scipy.interpolate.generate_knots(x, y, s=1e-2)
        return scipy.interpolate.make_lsq_spline(x, y, knots)(Q - 1)

    check_function(fitted, 1.2, value_rtol=1e-11, vmap=False)
    with pytest.raises(TypeError, match="generate_knots: expected plain abscissae"):
        fg.grad(lambda t: next(scipy.interpolate.generate_knots(t * x, x))[0])(1.0)


@pytest.mark.parametrize(
    "f",
    [
        lambda c: scipy.interpolate.splev(x=1.5, tck=(T, c, 3)),
        lambda c: scipy.interpolate.splev(1.5, tck=(T, c, 3), der=1),
        lambda c: scipy.interpolate.spalde(x=1.5, tck=(T, c, 3))[1],
        lambda c: scipy.interpolate.splint(a=0.5, b=1.5, tck=(T, c, 3)),
        lambda c: scipy.interpolate.insert(x=1.5, tck=(T, c, 3))[1][3],
    ],
)
def test_arguments_of_fitpack_by_name(f):
    c = Y[:6]
    slopes = [(f(c + step) - f(c - step)) / 2 for step in np.eye(6)]
    for transform in (fg.value_and_grad, lambda f: fg.jit(fg.value_and_grad(f))):
        value, found = transform(f)(c)
        np.testing.assert_allclose(value, f(c))
        np.testing.assert_allclose(found, slopes, atol=1e-12)


def test_sproot_finds_no_zeros_beyond_the_interval():
    def zeros(c):
        return scipy.interpolate.sproot((np.arange(8.0) - 2, c, 3))

    c = np.array([-0.29, 0.12, -0.05, 0.27])  # the interval is [1, 2]
    assert zeros(c).size == fg.jvp(zeros, (c,), (c,))[0].size == 0
    c = np.array([-1.0, -1.0, 1.5, 1.0])
    np.testing.assert_allclose(fg.jvp(zeros, (c,), (c,))[0], zeros(c))

"""Interpolants: values are SciPy's, derivatives those of central differences."""

import itertools

import numpy as np
import pytest
import scipy.interpolate
import scipy.sparse.linalg

import funcgrad as fg
from funcgrad.scipy import interpolate
from tests.default_slice import marked_slow, one_in
from tests.scipy.derivative_check import check_function

X = np.array([0.0, 0.7, 1.1, 2.0, 3.4, 4.0])
Y = np.array([0.3, 1.2, 0.9, -0.4, -0.5, 0.8])
TWO = np.stack([Y, np.cos(X)], axis=1)
Q = np.array([[-0.3, 0.2, 0.9], [1.7, 3.9, 4.3]])
INSIDE = np.array([0.25, 0.93, 1.75, 3.85])
GRID = (np.array([0.0, 1.0, 2.5]), np.array([-1.0, 0.5, 0.8, 2.0]))
TABLE = np.cos(np.arange(12.0)).reshape(3, 4)
POINTS = np.array([[0.3, 0.1], [1.7, 1.9], [2.4, -0.7]])

CASES = {
    "CubicSpline": lambda m, x, y, q: m.CubicSpline(x, y)(q),
    "CubicSpline of columns": lambda m, x, y, q: m.CubicSpline(x, y[:, None] * TWO)(q),
    "CubicSpline along an axis": lambda m, x, y, q: m.CubicSpline(x, y * TWO.T, axis=1)(q),
    "CubicSpline natural": lambda m, x, y, q: m.CubicSpline(x, y, bc_type="natural")(q),
    "CubicSpline clamped": lambda m, x, y, q: m.CubicSpline(
        x, y, bc_type=("clamped", "not-a-knot")
    )(q),
    "CubicSpline with derivatives": lambda m, x, y, q: m.CubicSpline(
        x, y, bc_type=((1, 0.3), (2, -0.7))
    )(q),
    "CubicSpline periodic": lambda m, x, y, q: m.CubicSpline(
        x, y - y * (np.arange(6) == 5) + y[0] * (np.arange(6) == 5), bc_type="periodic"
    )(q),
    "CubicSpline of three points": lambda m, x, y, q: m.CubicSpline(x[:3], y[:3])(q),
    "CubicSpline of two points": lambda m, x, y, q: m.CubicSpline(x[:2], y[:2])(q),
    "CubicSpline's derivative": lambda m, x, y, q: m.CubicSpline(x, y)(q, 1),
    "CubicSpline's second derivative": lambda m, x, y, q: m.CubicSpline(x, y).derivative(2)(q),
    "CubicSpline's antiderivative": lambda m, x, y, q: m.CubicSpline(x, y).antiderivative()(q),
    "CubicSpline's integral": lambda m, x, y, q: m.CubicSpline(x, y).integrate(q[0, 0], q[1, 1]),
    "CubicSpline's integral over periods": lambda m, x, y, q: m.CubicSpline(
        x, y - y * (np.arange(6) == 5) + y[0] * (np.arange(6) == 5), bc_type="periodic"
    ).integrate(q[0, 0] - 20.0, q[1, 1] + 10.0),
    "CubicSpline's integral backwards": lambda m, x, y, q: m.CubicSpline(x, y).integrate(
        q[1, 1], q[0, 0], extrapolate="periodic"
    ),
    "interp1d quadratic in abscissae": lambda m, x, y, q: m.interp1d(x, y, "quadratic")(
        0.5 + q * 0.4
    ),
    "interp1d of degree 5": lambda m, x, y, q: m.interp1d(x, y * TWO.T, 5)(0.5 + q * 0.4),
    "interp1d of degree 4": lambda m, x, y, q: m.interp1d(X, y, kind=4)(0.2 + q * 0.5),
    "RegularGridInterpolator, pchip": lambda m, x, y, q: m.RegularGridInterpolator(
        (np.arange(6.0), np.arange(4.0) ** 1.2),
        y[:, None] * TABLE[0] + np.outer(X, TABLE[1]),
        "pchip",
    )(np.stack([1.3 + 0.2 * q[0], 1.1 + 0.3 * q[1]], axis=-1)),
    "RectBivariateSpline's integral": lambda m, x, y, q: m.RectBivariateSpline(
        np.arange(6.0), np.arange(4.0), y[:, None] * TABLE[0] + np.outer(X, TABLE[1])
    ).integral(q[0, 0], 3.0 + q[0, 1], 2.0, 0.5),
    "NdBSpline": lambda m, x, y, q: m.NdBSpline(
        (np.arange(10.0), np.arange(8.0)), y[:, None] * TABLE[0] + np.outer(X, TABLE[1]), (3, 3)
    )(np.stack([4.0 + q[0], 3.1 + 0.3 * q[1]], axis=-1), nu=(1, 0)),
    "NdBSpline inside": lambda m, x, y, q: np.nansum(
        m.NdBSpline((np.arange(9.0), np.arange(9.0)), np.outer(y, y), 2, extrapolate=False)(
            np.stack([3.0 + 3 * q[0], 3.1 + q[1]], axis=-1)
        )
    ),
    "CubicSpline inside": lambda m, x, y, q: np.nansum(m.CubicSpline(x, y, extrapolate=False)(q)),
    "CubicHermiteSpline": lambda m, x, y, q: m.CubicHermiteSpline(x, y, np.cos(y))(q),
    "PchipInterpolator": lambda m, x, y, q: m.PchipInterpolator(x, y)(q),
    "PchipInterpolator of columns": lambda m, x, y, q: m.PchipInterpolator(x, y[:, None] * TWO)(q),
    "PchipInterpolator of two points": lambda m, x, y, q: m.PchipInterpolator(x[:2], y[:2])(q),
    "Akima1DInterpolator": lambda m, x, y, q: m.Akima1DInterpolator(x, y, extrapolate=True)(q),
    "makima": lambda m, x, y, q: m.Akima1DInterpolator(x, y, method="makima", extrapolate=True)(q),
    "interp1d": lambda m, x, y, q: m.interp1d(x, y)(0.2 + q * 0.5),
    "interp1d unsorted": lambda m, x, y, q: m.interp1d(x[::-1], y)(0.2 + q * 0.5),
    "interp1d without a fill value": lambda m, x, y, q: m.interp1d(
        x, y, "cubic", bounds_error=False, fill_value=None
    )(q),
    "interp1d extrapolated": lambda m, x, y, q: m.interp1d(x, y, fill_value="extrapolate")(q),
    "interp1d filled": lambda m, x, y, q: m.interp1d(
        x, y, bounds_error=False, fill_value=(-1.0, 2.0)
    )(q),
    "interp1d of rows": lambda m, x, y, q: m.interp1d(x, y * TWO.T, axis=-1)(0.2 + q * 0.5),
    "interp1d cubic": lambda m, x, y, q: m.interp1d(x, y, kind="cubic")(0.2 + q * 0.5),
    "interp1d quadratic": lambda m, x, y, q: m.interp1d(X, y, kind="quadratic")(0.2 + q * 0.5),
    "interp1d quadratic of rows": lambda m, x, y, q: m.interp1d(
        X, y * TWO.T, kind=2, fill_value="extrapolate"
    )(0.97 * q),
    "interp1d nearest": lambda m, x, y, q: m.interp1d(x, y, kind="nearest")(0.2 + q * 0.5),
    "interp1d previous": lambda m, x, y, q: m.interp1d(x, y, kind="previous")(0.2 + q * 0.5),
    "interp1d next": lambda m, x, y, q: m.interp1d(x, y, kind="next")(0.2 + q * 0.5),
    "splev": lambda m, x, y, q: m.splev(
        q * 0.4 + 0.2, (np.array([0, 0, 0, 0, 1.0, 2, 2, 2, 2]), y[:5], 3)
    ),
    "splev's derivative": lambda m, x, y, q: m.splev(
        q * 0.4 + 0.2, (np.array([0, 0, 0, 0, 1.0, 2, 2, 2, 2]), y[:5], 3), 1
    ),
    "RegularGridInterpolator": lambda m, x, y, q: m.RegularGridInterpolator(
        GRID, TABLE * y[:4], bounds_error=False
    )(POINTS * (1 + 0.01 * q[0, :2])),
    "RegularGridInterpolator extrapolated": lambda m, x, y, q: m.RegularGridInterpolator(
        (x[:3], x[:4] - 0.3), TABLE * y[:4], bounds_error=False, fill_value=None
    )(POINTS + q[0, 0]),
    "RegularGridInterpolator nearest": lambda m, x, y, q: m.RegularGridInterpolator(
        (x[2::-1], x[:4]), TABLE * y[:4], "nearest", bounds_error=False
    )((x[:3] / 2 + 0.1, x[1:4])),
    "interpn": lambda m, x, y, q: m.interpn(
        GRID, TABLE * y[:4], POINTS * (1 + 0.01 * q[0, :2]), bounds_error=False
    ),
    "RectBivariateSpline": lambda m, x, y, q: m.RectBivariateSpline(
        X, GRID[1], np.outer(y, TABLE[0]), ky=2
    )(np.sort(q[0] + 0.4), q[1] - 3.0),
    "RectBivariateSpline's derivative": lambda m, x, y, q: m.RectBivariateSpline(
        X, GRID[1], np.outer(y, TABLE[0])
    ).ev(q + 0.35, q[0] - 0.5, 1, 1),
    "LinearNDInterpolator": lambda m, x, y, q: m.LinearNDInterpolator(
        SCATTERED, y[:5, None] * TWO[:5], rescale=True
    )(q[0] + 0.4, 0.3 * q),
}
SCATTERED = np.array([[0.0, 0.0], [2.0, 0.1], [0.3, 2.0], [2.2, 1.9], [1.0, 0.8]])


@pytest.mark.parametrize("case", one_in(6, CASES))
def test_values_are_scipys_and_slopes_are_differences(case):
    f = CASES[case]
    moves = [np.sin(1 + np.arange(v.size)).reshape(v.shape) for v in (X, Y, Q)]

    def along(module, t):
        return f(module, *[v + t * m for v, m in zip((X, Y, Q), moves, strict=True)])

    value, slope = fg.jvp(lambda t: along(interpolate, t), (0.0,), (1.0,))
    own = along(scipy.interpolate, 0.0)
    assert np.shape(value) == np.shape(own)
    finite = np.isfinite(value)  # it is NaN outside of triangles
    np.testing.assert_allclose(value, own, rtol=1e-11, atol=1e-13)
    h = 1e-5
    near = [along(scipy.interpolate, s * h) for s in (1, -1, 2, -2)]
    wanted = (8 * (near[0] - near[1]) - (near[2] - near[3])) / (12 * h)
    np.testing.assert_allclose(
        np.asarray(slope)[finite], np.asarray(wanted)[finite], rtol=1e-7, atol=1e-7
    )
    back = fg.jit(fg.grad(lambda t: np.sum(np.where(finite, along(interpolate, t), 0.0))))
    assert back(0.0) == pytest.approx(np.sum(np.asarray(slope)[finite]), rel=1e-9, abs=1e-10)
    rows = fg.vmap(lambda t: along(interpolate, t))(np.array([0.0, 0.01]))
    np.testing.assert_allclose(rows[1], along(interpolate, 0.01), rtol=1e-12, atol=1e-14)


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_second_derivatives(case):
    f = CASES[case]
    moves = [np.sin(1 + np.arange(v.size)).reshape(v.shape) for v in (X, Y, Q)]

    def total(t):
        found = f(interpolate, *[v + t * m for v, m in zip((X, Y, Q), moves, strict=True)])
        return np.sum(np.sin(np.nan_to_num(found)))

    first = fg.grad(total)
    h = 1e-5
    wanted = (first(h) - first(-h)) / (2 * h)
    assert fg.grad(first)(0.0) == pytest.approx(wanted, rel=1e-6, abs=1e-6)
    assert fg.jvp(first, (0.0,), (1.0,))[1] == pytest.approx(wanted, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize(
    "ends", [((2, 0.3), (2, -0.7)), ((1, 0.3), (2, -0.7)), ((2, 0.3), (1, -0.7))]
)
def test_a_cubic_spline_has_the_derivatives_that_its_ends_are_given(ends):
    def at_ends(y):
        spline = interpolate.CubicSpline(X, y, bc_type=ends)
        return [spline(x, order) for x, (order, _) in zip(X[[0, -1]], ends, strict=True)]

    np.testing.assert_allclose(fg.jit(at_ends)(Y), [wanted for _, wanted in ends], rtol=1e-12)


def test_interpolants_of_plain_data_are_scipys():
    spline = interpolate.CubicSpline(X, Y)
    np.testing.assert_array_equal(spline(Q), scipy.interpolate.CubicSpline(X, Y)(Q))
    np.testing.assert_array_equal(spline.roots(), scipy.interpolate.CubicSpline(X, Y).roots())
    assert fg.grad(spline)(0.5) == pytest.approx(float(spline(0.5, 1)), rel=1e-14)
    assert interpolate.interp1d(X, Y)(0.5) == scipy.interpolate.interp1d(X, Y)(0.5)
    with pytest.raises(ValueError, match="above the interpolation range"):
        interpolate.interp1d(X, Y)(9.0)
    assert np.isnan(fg.value_and_grad(interpolate.interp1d(X, Y))(9.0)[0])
    assert interpolate.NdPPoly is scipy.interpolate.NdPPoly


def test_points_alone_are_traced():
    for found in (
        interpolate.CubicSpline(X, Y),
        interpolate.PchipInterpolator(X, Y),
        interpolate.interp1d(X, Y),
        interpolate.RegularGridInterpolator((X,), Y),
    ):
        slopes = fg.vmap(fg.grad(lambda q, f=found: np.sum(f(np.stack([q])))))(INSIDE)
        ends = found(INSIDE + 1e-6), found(INSIDE - 1e-6)
        np.testing.assert_allclose(slopes, (ends[0] - ends[1]) / 2e-6, rtol=1e-7)
        jitted = fg.jit(lambda q, f=found: f(q))
        np.testing.assert_allclose(jitted(INSIDE), found(INSIDE), rtol=1e-14)
        np.testing.assert_allclose(jitted(INSIDE[::-1]), found(INSIDE[::-1]), rtol=1e-14)
        assert jitted.explain_misses().endswith("the first call with these types")


@pytest.mark.parametrize(
    ("method", "shape"), [("cubic", (4, 5)), marked_slow(("quintic", (6, 7, 2)))]
)
def test_splines_on_a_grid(method, shape):
    """SciPy's values, if it solves for the coefficients directly, and their slopes."""
    grid = tuple([np.sort(np.cos(3.0 * np.arange(n))) for n in shape[:2]])
    table, points = np.cos(np.arange(np.prod(shape))).reshape(shape), POINTS * 0.2

    def value(module, table, points, **options):
        return module.RegularGridInterpolator(grid, table, method, **options)(points)

    wanted = value(scipy.interpolate, table, points, solver=scipy.sparse.linalg.spsolve)
    np.testing.assert_allclose(
        fg.jit(lambda q: value(interpolate, table, q))(points), wanted, rtol=1e-11, atol=1e-12
    )
    fg.check_grads(lambda t, q: value(interpolate, t, q), (table, points), order=2)
    far = fg.jit(lambda q: value(interpolate, table, q))(points + 9.0)
    assert np.isnan(far).all()


def test_complex_data():
    def part(t):
        return np.imag(interpolate.CubicSpline(X, Y * np.exp(1j * t))(0.5))

    h = 1e-6
    assert fg.grad(part)(0.3) == pytest.approx((part(0.3 + h) - part(0.3 - h)) / (2 * h), rel=1e-8)


def test_what_is_not_supported_is_refused():
    with pytest.raises(TypeError, match="interp1d: expected a kind among"):
        fg.grad(lambda t: interpolate.interp1d(X, Y * t, kind="quintic")(0.5))(1.0)
    with pytest.raises(TypeError, match="RegularGridInterpolator: expected a method"):
        fg.grad(
            lambda t: interpolate.RegularGridInterpolator(GRID, TABLE * t, "makima")(POINTS)[0]
        )(1.0)
    with pytest.raises(ValueError, match="CubicSpline: expected n >= 2 abscissae"):
        fg.grad(lambda t: interpolate.CubicSpline(X, Y[:3] * t)(0.5))(1.0)
    with pytest.raises(ValueError, match="CubicSpline: expected an end condition"):
        fg.grad(lambda t: interpolate.CubicSpline(X, Y * t, bc_type="free")(0.5))(1.0)


OUTSIDE = {
    "CubicSpline": scipy.interpolate.CubicSpline(X, TWO),
    "PchipInterpolator": scipy.interpolate.PchipInterpolator(X, Y),
    "Akima1DInterpolator": scipy.interpolate.Akima1DInterpolator(X, Y),
    "CubicHermiteSpline": scipy.interpolate.CubicHermiteSpline(X, Y, Y),
    "PPoly": scipy.interpolate.PPoly(TWO.T[:, :5], X),
    "BSpline": scipy.interpolate.make_interp_spline(X, TWO.T, axis=1),
    "BSpline's antiderivative": scipy.interpolate.make_interp_spline(X, Y).antiderivative(),
    "BSpline inside": scipy.interpolate.BSpline(X, Y[:3], 2, extrapolate=False),
    "BSpline periodic": scipy.interpolate.BSpline(X, Y[:3], 2, extrapolate="periodic"),
    "UnivariateSpline": scipy.interpolate.UnivariateSpline(X, Y, s=0.1),
    "InterpolatedUnivariateSpline": scipy.interpolate.InterpolatedUnivariateSpline(X, Y, ext=3),
    "interp1d": scipy.interpolate.interp1d(X, Y),
    "make_smoothing_spline": scipy.interpolate.make_smoothing_spline(X, Y),
    "interp1d quadratic": scipy.interpolate.interp1d(X, TWO.T, kind=2),
    "interp1d nearest": scipy.interpolate.interp1d(X, Y, kind="nearest"),
}


@pytest.mark.parametrize("name", one_in(3, OUTSIDE))
def test_interpolants_that_scipy_made_take_traced_points(name):
    own = OUTSIDE[name]

    def f(q):
        return own(q)

    values, slopes = fg.jvp(f, (INSIDE,), (np.ones(4),))
    np.testing.assert_allclose(values, own(INSIDE), rtol=1e-12, atol=1e-14)
    wanted = np.where(np.isnan(values), 0, (own(INSIDE + 1e-6) - own(INSIDE - 1e-6)) / 2e-6)
    np.testing.assert_allclose(slopes, wanted, rtol=1e-7, atol=1e-7)
    total = fg.jit(fg.grad(lambda q: np.nansum(f(q))))(INSIDE)
    np.testing.assert_allclose(np.sum(total), np.nansum(slopes), rtol=1e-12, atol=1e-14)
    rows = fg.vmap(f)(np.stack([INSIDE, INSIDE]))
    np.testing.assert_allclose(rows[1], own(INSIDE), rtol=1e-12, atol=1e-14)


MADE_INSIDE = {
    "make_splrep": lambda q: scipy.interpolate.make_splrep(X, Y, s=0.1)(q),
    "make_splrep's derivative": lambda q: scipy.interpolate.make_splrep(X, Y, s=0.1).derivative()(
        q
    ),
    "make_splprep": lambda q: scipy.interpolate.make_splprep([X, Y], s=0.1)[0](q / X[-1]),
    "splev": lambda q: q * scipy.interpolate.splev(X[1], scipy.interpolate.make_splrep(X, Y)),
    "splder": lambda q: scipy.interpolate.splder(scipy.interpolate.make_interp_spline(X, Y))(q),
}


@pytest.mark.parametrize("name", MADE_INSIDE)
def test_splines_of_plain_data_made_inside_take_traced_points(name):
    check_function(MADE_INSIDE[name], INSIDE, value_rtol=1e-12)


def test_a_grid_that_scipy_made_takes_traced_points():
    own = scipy.interpolate.RegularGridInterpolator(GRID, TABLE)
    value, slope = fg.value_and_grad(lambda q: own(q)[0])(POINTS[:1])
    assert value == pytest.approx(own(POINTS[:1])[0], rel=1e-14)
    step = 1e-6 * np.eye(2)
    wanted = [(own(POINTS[0] + e) - own(POINTS[0] - e))[0] / 2e-6 for e in step]
    np.testing.assert_allclose(slope[0], wanted, rtol=1e-8)


@pytest.mark.parametrize("options", [{}, {"k": 2}, {"bc_type": "natural"}, {"axis": 1}])
def test_splines_through_traced_data(options):
    data = TWO.T if "axis" in options else TWO
    made = lambda m, y, q: m.make_interp_spline(X, y, **options)(q, 1)  # noqa: E731
    value, slope = fg.jvp(
        lambda y, q: made(interpolate, y, q), (data, INSIDE), (data**2, np.ones(4))
    )
    np.testing.assert_allclose(value, made(scipy.interpolate, data, INSIDE), rtol=1e-11, atol=1e-13)
    near = [made(scipy.interpolate, data + h * data**2, INSIDE + h) for h in (1e-6, -1e-6)]
    np.testing.assert_allclose(slope, (near[0] - near[1]) / 2e-6, rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("made", [scipy.interpolate.RectBivariateSpline, None])
def test_surfaces_that_scipy_made_take_traced_points(made):
    if made is None:
        own = scipy.interpolate.LinearNDInterpolator(SCATTERED, Y[:5])
    else:
        own = made(GRID[0], GRID[1], TABLE, kx=2).ev
    place = np.array([0.7, 0.6])
    slope = fg.jit(fg.grad(lambda p: np.squeeze(own(p[0], p[1]))))(place)
    step = 1e-6 * np.eye(2)
    wanted = [(own(*place + e) - own(*place - e)) / 2e-6 for e in step]
    np.testing.assert_allclose(slope, wanted, rtol=1e-7)


@pytest.mark.parametrize("argument", ["y", "w", "lam"])
def test_smoothing_splines_have_derivatives_in_data_weights_and_penalty(argument):
    given = {"y": Y, "w": 1 + X, "lam": 0.1}

    def total(value):
        spline = scipy.interpolate.make_smoothing_spline(X, **{**given, argument: value})
        return np.sum(spline(INSIDE) ** 2)

    at, step = given[argument], 1e-6
    moves = np.eye(np.size(at)).reshape(-1, *np.shape(at)) * step
    wanted = [(total(at + e) - total(at - e)) / (2 * step) for e in moves]
    found = fg.grad(total)(at)
    np.testing.assert_allclose(np.ravel(found), wanted, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(fg.jit(fg.grad(total))(at), found, rtol=1e-12)


def test_gridded_data_on_triangles():
    data = scipy.interpolate.griddata
    value, (slope, at_place) = fg.value_and_grad(
        lambda z, p: data(SCATTERED, z, p[None])[0], (0, 1)
    )(Y[:5], np.array([0.7, 0.6]))
    own = scipy.interpolate.LinearNDInterpolator(SCATTERED, np.eye(5))(0.7, 0.6)
    np.testing.assert_allclose(slope, own, rtol=1e-14)
    assert value == pytest.approx(Y[:5] @ own, rel=1e-14)
    plane = scipy.interpolate.LinearNDInterpolator(SCATTERED, Y[:5])
    assert at_place[0] == pytest.approx((plane(0.7 + 1e-6, 0.6) - value) / 1e-6, rel=1e-6)
    with pytest.raises(TypeError, match="expected plain points, since triangles"):
        fg.grad(lambda p: scipy.interpolate.LinearNDInterpolator(p, Y[:5])(1.0, 1.0))(SCATTERED)


@pytest.mark.parametrize("method", ["linear", "cubic"])
def test_the_value_outside_of_triangles_is_traced(method):
    points = np.array([[0.7, 0.6], [9.0, 9.0]])

    def values(fill):
        return scipy.interpolate.griddata(SCATTERED, Y[:5], points, method, fill_value=fill)

    value, slope = fg.jvp(values, (2.5,), (1.0,))
    np.testing.assert_allclose(value, values(2.5), rtol=1e-14)
    np.testing.assert_array_equal(slope, [0.0, 1.0])
    np.testing.assert_allclose(fg.jit(values)(2.5), value, rtol=1e-14)
    np.testing.assert_array_equal(fg.jacobian(values)(2.5), slope)


def test_what_surfaces_refuse():
    with pytest.raises(ValueError, match=r"expected z of shape \(6, 6\), but got \(4, 4\)"):
        fg.grad(lambda z: interpolate.RectBivariateSpline(X, X, z).ev(1.0, 1.0))(np.eye(4))
    with pytest.raises(TypeError, match="expected plain points and knots"):
        fg.grad(lambda x: scipy.interpolate.make_smoothing_spline(x, Y, lam=1.0)(1.0))(X)
    with pytest.raises(ValueError, match="expected 2 coordinates along the last axis"):
        fg.grad(lambda p: interpolate.LinearNDInterpolator(SCATTERED, Y[:5])(p)[0])(np.ones(3))


@pytest.mark.parametrize("kind", ["linear", "slinear", "nearest", "zero", "quadratic"])
def test_data_that_are_nan_at_a_node(kind):
    x, q = np.arange(5.0), np.arange(0.0, 4.1, 0.5)
    y = np.array([1.0, 2.0, np.nan, 4.0, 5.0])
    for data in (y, np.stack([y, y[::-1]], axis=1)):
        for fill in (np.nan, "extrapolate"):

            def line(y, q, fill=fill):
                return scipy.interpolate.interp1d(x, y, kind, axis=0, fill_value=fill)(q)

            own = line(data, q)
            np.testing.assert_array_equal(fg.jit(lambda y, line=line: line(y, q))(data), own)
            np.testing.assert_array_equal(fg.jit(lambda q, d=data, line=line: line(d, q))(q), own)


@pytest.mark.parametrize("kind", ["previous", "next"])
def test_a_step_interpolant_is_nan_where_no_step_begins(kind):
    x, y, q = np.arange(3.0), np.array([1.0, 4.0, 2.0]), np.array([-1.0, 0.0, 0.5, 2.0, 3.0])

    def value(y, q):
        return interpolate.interp1d(x, y, kind=kind, fill_value="extrapolate")(q)

    own = scipy.interpolate.interp1d(x, y, kind=kind, fill_value="extrapolate")(q)
    np.testing.assert_array_equal(fg.jit(value)(y, q), own)
    assert np.all(fg.jacobian(value)(y, q)[np.isnan(own)] == 0)


@pytest.mark.parametrize(
    "made", [scipy.interpolate.KroghInterpolator, scipy.interpolate.BarycentricInterpolator]
)
def test_polynomials_made_of_plain_data_before_take_traced_points(made):
    known = made([0.0, 1.0, 3.0], [1.0, 2.0, 10.0])  # 1 + x**2
    assert fg.grad(lambda x: known(x) * 1.0)(0.5) == pytest.approx(1.0)
    assert fg.jit(fg.grad(lambda x: known(x) ** 2))(0.5) == pytest.approx(2 * known(0.5))


@pytest.mark.parametrize(
    "kernel",
    one_in(
        3,
        [
            "linear",
            "thin_plate_spline",
            "cubic",
            "quintic",
            "multiquadric",
            "inverse_multiquadric",
            "inverse_quadratic",
            "gaussian",
        ],
    ),
)
def test_radial_functions_have_scipys_values_and_derivatives_in_the_points(kernel):
    rng = np.random.default_rng(0)
    sites, data = rng.normal(size=(12, 2)), rng.normal(size=(12, 2))
    known = scipy.interpolate.RBFInterpolator(
        sites, data, kernel=kernel, epsilon=0.7, smoothing=0.1
    )
    points = np.concatenate([rng.normal(size=(3, 2)), sites[:1]])
    np.testing.assert_allclose(fg.jit(lambda x: known(x))(points), known(points), rtol=1e-9)
    fg.check_grads(interpolate.RBFInterpolator.of_scipy(known), (points[:3],), order=2)
    assert np.all(np.isfinite(fg.grad(lambda x: known(x).sum())(points)))


@pytest.mark.parametrize(
    ("call", "remedy"),
    [
        (lambda y: interpolate.splrep(np.arange(6.0), y, s=0.1, per=1), "CubicSpline"),
        (lambda y: interpolate.splrep(np.arange(6.0), y, w=np.ones(6), per=1), "CubicSpline"),
        (lambda y: interpolate.splrep(y, np.arange(6.0), per=1), "CubicSpline"),
        (lambda y: interpolate.make_splrep(y, np.sin(y), s=0.1, t=np.ones(8)), "make_lsq_spline"),
        (lambda y: interpolate.splrep(y, y, full_output=1), "full_output=1 is not supported"),
        (lambda y: interpolate.splprep([y, y], s=0.1, per=1), "per=1 is not supported"),
    ],
)
def test_fitpack_refuses_traced_values_and_says_what_to_write(call, remedy):
    with pytest.raises(TypeError, match=remedy):
        fg.grad(lambda y: call(y)[0])(np.arange(6.0))


def test_derivatives_of_a_fitted_spline_beyond_its_ends_are_scipys():
    """FITPACK holds the value there in mode 'const', but not the derivative."""
    x = np.arange(8.0)
    own = scipy.interpolate.UnivariateSpline(x, np.sin(x), ext="const")
    q = np.array([-0.5, 2.3, 7.5])
    spline = interpolate.UnivariateSpline.of_scipy(own)
    for nu in (0, 1):
        np.testing.assert_allclose(fg.jit(lambda q, nu=nu: spline(q, nu))(q), own(q, nu))


RATIONAL = {
    "barycentric_interpolate": lambda x, y, q: scipy.interpolate.barycentric_interpolate(x, y, q),
    "BarycentricInterpolator": lambda x, y, q: scipy.interpolate.BarycentricInterpolator(
        x, np.stack([y, y**2], axis=1)
    )(q),
    "FloaterHormannInterpolator": lambda x, y, q: scipy.interpolate.FloaterHormannInterpolator(
        x, y, d=2
    )(q),
}


@pytest.mark.filterwarnings("ignore:jit:UserWarning")  # which draws a random order of the nodes
@pytest.mark.parametrize(
    ("name", "points"),
    one_in(
        5, itertools.product(RATIONAL, (0.5, [-1.0, 0.5, 0.3], [[0.5, -0.5], [0.2, 1.0]])), start=3
    ),
)
def test_rational_interpolants_have_derivatives_at_their_nodes(name, points):
    x, y = np.array([-1, -0.5, 0, 0.5, 1]), np.array([-1.3, -0.67, -0.4, -0.1, 0.3])
    f, q = RATIONAL[name], np.array(points)
    np.testing.assert_allclose(fg.jit(f)(x, y, q), f(x, y, q), rtol=1e-13, atol=1e-14)
    fg.check_grads(lambda x, y, q: np.sin(fg.adopt(f)(x, y, q)), (x, y, q))


def test_a_rational_interpolant_has_a_limit():
    own = scipy.interpolate.FloaterHormannInterpolator([0.0, 1.0, 3.0], [1.0, 2.0, 5.0], d=1)
    with np.errstate(divide="ignore"):
        assert fg.jit(fg.adopt(lambda q: own(q)))(np.inf) == own(np.inf)
    aaa = scipy.interpolate.AAA(np.linspace(-1, 1, 50), np.exp(np.linspace(-1, 1, 50)))
    node = float(aaa.support_points[1])
    assert fg.grad(lambda q: aaa(q))(node) == pytest.approx(np.exp(node), rel=1e-9)


def test_basis_elements_take_traced_points_and_knots():
    knots, points = np.array([0.0, 0.4, 1.3, 2.0, 3.1]), np.linspace(-0.5, 3.5, 9)

    def f(t, extrapolate=True):
        spline = scipy.interpolate.BSpline.basis_element(knots + t[1] * knots**2, extrapolate)
        return spline(points + t[0])

    def of_points(t):
        return scipy.interpolate.BSpline.basis_element(knots)(points + t)

    t, h = np.array([0.1, 0.05]), 1e-5
    np.testing.assert_allclose(fg.jit(f)(t), f(t), rtol=1e-12, atol=1e-14)
    wanted = np.stack([(f(t + e) - f(t - e)) / (2 * h) for e in h * np.eye(2)], -1)
    for jacobian in (fg.jacfwd(f)(t), fg.jacrev(f)(t)):
        np.testing.assert_allclose(jacobian, wanted, rtol=1e-7, atol=1e-8)
    value, slope = fg.jvp(of_points, (0.1,), (1.0,))
    np.testing.assert_allclose(value, of_points(0.1), rtol=1e-12, atol=1e-14)
    wanted = (of_points(0.1 + h) - of_points(0.1 - h)) / (2 * h)
    np.testing.assert_allclose(slope, wanted, rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize(
    "options",
    one_in(
        3,
        [
            {},
            {"k": 1},
            {"k": 4, "s": 0},
            {"t": [2.0, 4.5]},
            {"s": 0, "w": np.arange(1.0, 9.0)},
            {"per": 1},
        ],
    ),
)
def test_a_spline_of_fitpack_is_differentiated_in_its_values(options):
    x = np.arange(8.0)
    y = np.append(np.sin(x[:-1]), 0.0)

    def values(y):
        return scipy.interpolate.splev([0.3, 2.2, 5.1], scipy.interpolate.splrep(x, y, **options))

    np.testing.assert_allclose(fg.jit(values)(y), values(y), rtol=1e-12, atol=1e-14)
    if "per" not in options:  # which takes the last value from the first
        fg.check_grads(fg.adopt(lambda y: np.sin(values(y))), (y,))


@pytest.mark.parametrize("extrapolate", one_in(3, [True, False, None]))
def test_breakpoints_of_piecewise_polynomials_may_fall(extrapolate):
    c = np.cos(np.arange(40.0)).reshape(4, 5, 2)
    x = np.array([3.0, 2.5, 1.0, 0.2, -1.0, -2.0])
    q = np.array([3.5, 3.0, 2.9, 2.5, 1.0, 0.3, 0.2, -1.0, -1.5, -2.0, -2.5])

    def f(c, x, q):
        return scipy.interpolate.PPoly(c, x, extrapolate)(q)

    np.testing.assert_allclose(fg.jit(f)(c, x, q), f(c, x, q), rtol=1e-13)
    np.testing.assert_allclose(fg.jit(lambda q: f(c, x, q))(q), f(c, x, q), rtol=1e-13)
    between = q[[2, 5, 8]]
    fg.check_grads(lambda c, x: f(c, x, between), (c, x))

    def integral(c, x, b):
        return scipy.interpolate.PPoly(c, x).integrate(0.1, b)

    np.testing.assert_allclose(fg.jit(integral)(c, x, 1.7), integral(c, x, 1.7), rtol=1e-13)
    fg.check_grads(integral, (c, x, 1.7))


@pytest.mark.parametrize(
    ("method", "fill"), one_in(4, itertools.product(["linear", "nearest"], [np.nan, 7.0, None]))
)
def test_grids_of_one_point_and_points_that_are_nan(method, fill):
    grid = (np.array([0.0]), np.array([0.0, 1.0, 3.0]))
    points = np.array(
        [[0.0, 0.5], [0.0, 2.9], [0.0, np.nan], [np.nan, 1.0], [0.0, 4.0], [1.0, 1.0]]
    )

    def f(values, points):
        made = scipy.interpolate.RegularGridInterpolator(grid, values, method, False, fill)
        return made(points)

    values = np.array([[1.0, 2.0, 5.0]])
    np.testing.assert_allclose(fg.jit(f)(values, points), f(values, points), rtol=1e-14)

    def along_the_second_axis(values, q):
        return f(values, np.stack([np.zeros(2), q], axis=-1))

    fg.check_grads(along_the_second_axis, (values, np.array([0.4, 2.9])))


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_interp1d_has_its_data_in_the_order_of_the_user(axis):
    # SciPy's own has the axis of interpolation first in another attribute.
    y = np.arange(12.0).reshape(2, 3, 2) ** 1.5
    x = np.array([2.0, 0.5, 1.0])[: y.shape[axis]]

    def f(y):
        found = scipy.interpolate.interp1d(x, y, axis=axis)
        before = found.y * np.arange(12.0).reshape(2, 3, 2)
        return (before * found(0.7 + 0.0 * y[0, 0, 0]).sum() + found.y**2).sum()

    slopes = np.zeros_like(y)
    for i in np.ndindex(*y.shape):
        step = np.zeros_like(y)
        step[i] = 1e-5
        slopes[i] = (f(y + step) - f(y - step)) / 2e-5
    assert fg.value_and_grad(f)(y)[0] == pytest.approx(f(y))
    np.testing.assert_allclose(fg.grad(f)(y), slopes, rtol=1e-7)
    np.testing.assert_allclose(fg.jit(fg.grad(f))(y), slopes, rtol=1e-7)
    np.testing.assert_allclose(fg.vmap(fg.grad(f))(y[None])[0], slopes, rtol=1e-7)
    assert fg.jvp(f, (y,), (y,))[1] == pytest.approx((slopes * y).sum(), rel=1e-7)
    own = scipy.interpolate.interp1d(x, y, axis=axis)

    def at_a_traced_point(q):
        return own(q).sum() * own.y[1, 2, 0]

    assert fg.value_and_grad(at_a_traced_point)(0.7)[0] == pytest.approx(at_a_traced_point(0.7))


@pytest.mark.parametrize(
    "bc_type", ["not-a-knot", "natural", "clamped", ((1, 0.5), (2, -1.0)), "periodic"]
)
def test_a_spline_through_many_points_is_solved_by_its_bands(bc_type):
    rng = np.random.default_rng(0)
    x, q = np.sort(rng.uniform(0, 10, 80)), np.linspace(1.0, 9.0, 7)
    y = np.sin(x)
    y[-1] = y[0]
    given = {"bc_type": bc_type}
    want = scipy.interpolate.CubicSpline(x, y, **given)(q)

    def f(x, y):
        return interpolate.CubicSpline(x, y, **given)(q)

    np.testing.assert_allclose(fg.jit(f)(x, y), want, rtol=1e-12)
    if bc_type != "periodic":
        direction = rng.normal(size=80)
        slope = fg.jvp(f, (x, y), (0 * x, direction))[1]
        one, other = (
            scipy.interpolate.CubicSpline(x, y + h * direction, **given)(q) for h in (1e-4, -1e-4)
        )
        np.testing.assert_allclose(slope, (one - other) / 2e-4, rtol=1e-8, atol=1e-9)
        _, back = fg.grad(lambda x, y: np.sum(f(x, y)), (0, 1))(x, y)
        assert back @ direction == pytest.approx(np.sum(slope), rel=1e-12)
        by_x = fg.grad(lambda t: np.sum(f(x + t * np.sin(x), y)))(0.0)
        one, other = (
            np.sum(scipy.interpolate.CubicSpline(x + h * np.sin(x), y, **given)(q))
            for h in (1e-6, -1e-6)
        )
        assert by_x == pytest.approx((one - other) / 2e-6, rel=1e-6, abs=1e-7)


def test_splines_of_plain_data_that_adopted_code_makes_take_traced_places():
    x, y = np.linspace(0.0, 1.0, 8), np.random.default_rng(5).normal(size=8)
    f = lambda t: scipy.interpolate.make_smoothing_spline(x, y, lam=0.1)(t)  # noqa: E731
    t = np.linspace(0.1, 0.9, 4)
    np.testing.assert_allclose(fg.jit(f)(t), f(t), rtol=1e-13)
    wanted = scipy.interpolate.make_smoothing_spline(x, y, lam=0.1).derivative()(t)
    np.testing.assert_allclose(fg.grad(lambda t: np.sum(f(t)))(t), wanted, rtol=1e-12)


def test_radial_interpolants_of_near_data_take_traced_places():
    rng = np.random.default_rng(5)
    places, data, points = rng.uniform(size=(12, 2)), rng.normal(size=12), rng.uniform(size=(4, 2))
    f = lambda x: scipy.interpolate.RBFInterpolator(places, data, neighbors=6)(x)  # noqa: E731
    np.testing.assert_allclose(fg.jit(f)(points), f(points), rtol=1e-9)
    step = np.array([0.3, -0.2])
    slope = (f(points + 1e-6 * step) - f(points - 1e-6 * step)) / 2e-6
    np.testing.assert_allclose(fg.jacobian(f)(points).sum(1) @ step, slope, rtol=1e-6)


@pytest.mark.parametrize("seed", [12, 16, 30])
def test_the_weight_of_smoothness_is_that_of_scipys_search(seed):
    """At a weight of 0, the criterion is 0/0: a search that went there found a lower value."""
    x, t = np.linspace(0, 1, 8) + 0.02 * np.sin(np.arange(8) * 3), np.linspace(0.12, 0.93, 5)
    y = np.random.default_rng(seed).normal(size=8)
    f = lambda y: scipy.interpolate.make_smoothing_spline(x, y)(t)  # noqa: E731
    np.testing.assert_allclose(fg.vjp(f, y)[0], f(y), atol=2e-3)


@pytest.mark.parametrize("method", ["nearest", "linear", "cubic"])
def test_scattered_points_are_traced_as_a_tuple_of_coordinates(method):
    rng = np.random.default_rng(5)
    x, y, z = rng.random((3, 12))
    at = (rng.random(5) / 2 + 0.25, rng.random(5) / 2 + 0.25)

    def values(z, first):
        return scipy.interpolate.griddata((x, y), z, (first, at[1]), method)

    def line(x):
        return scipy.interpolate.griddata((np.sort(x),), z, (at[0],), method)

    np.testing.assert_allclose(fg.jvp(values, (z, at[0]), (z, at[0]))[0], values(z, at[0]))
    np.testing.assert_allclose(fg.jvp(line, (x,), (x,))[0], line(x), rtol=1e-12)


def test_the_nearest_of_traced_points_that_are_a_tuple():
    rng = np.random.default_rng(5)
    x, y, z = rng.random((3, 12))
    at = rng.random((5, 2))

    def values(x, z):
        return (
            scipy.interpolate.NearestNDInterpolator((x, y), z)(at),
            scipy.interpolate.griddata((x, y), z, (at[:, 0], at[:, 1]), "nearest"),
        )

    found, slopes = fg.jvp(values, (x, z), (x, z))
    for value, slope in zip(found, slopes, strict=True):
        np.testing.assert_array_equal(value, values(x, z)[0])
        np.testing.assert_array_equal(slope, value)

"""NumPy's own Python code on traced values: values, derivatives in both modes, `jit` and `vmap`."""

import numpy as np
import pytest
from numpy import r_

import funcgrad as fg
from tests.default_slice import one_in

interpolate = pytest.importorskip("scipy.interpolate")

X = np.array([0.3, 0.7, 1.9, -2.0])
EDGES = np.array([0.1, 0.2, 0.3, 0.5])
CALLS = {
    "unwrap": lambda x: np.unwrap(3 * x),
    "unwrap with a period": lambda x: np.unwrap(x, period=1.0, axis=0),
    "ediff1d": lambda x: np.ediff1d(x, to_begin=[1.0, 2.0]),
    "i0": np.i0,
    "poly": np.poly,
    "polyder": lambda x: np.polyder(x, 2),
    "polyint": lambda x: np.polyint(x, 2, k=[1.0, 2.0]),
    "polyadd": lambda x: np.polyadd(x, x[:2]),
    "polysub": lambda x: np.polysub(x[:2], x),
    "insert": lambda x: np.insert(x, [1, 3], x[:2]),
    "resize": lambda x: np.resize(x, (3, 3)),
    "dstack": lambda x: np.dstack([x, x**2]),
    "meshgrid": lambda x: np.meshgrid(x, 2 * x, indexing="ij")[1],
    "apply_along_axis": lambda x: np.apply_along_axis(lambda v: v * v.sum(), 0, x.reshape(2, 2)),
    "apply_over_axes": lambda x: np.apply_over_axes(np.sum, x.reshape(2, 2), [0, 1]),
    "diagflat": lambda x: np.diagflat(x, 1),
    "nancumsum": np.nancumsum,
    "nancumprod": np.nancumprod,
    "histogram": lambda x: np.histogram(EDGES, 3, weights=x)[0],
    "histogram with density": lambda x: np.histogram(EDGES, 3, weights=np.exp(x), density=True)[0],
    "hsplit": lambda x: np.hsplit(x, 2)[1],
    "array_split": lambda x: np.array_split(x, 3)[0],
    "real_if_close": lambda x: np.real_if_close(x + 0j),
    "unstack": lambda x: np.unstack(x)[2],
}


def assert_derivatives(f, x, rtol=2e-6, asks=False):
    """Forward and reverse mode and a mapped function agree with central differences, twice."""
    h = 1e-6
    differences = [
        (np.asarray(f(x + h * e)) - np.asarray(f(x - h * e))) / (2 * h) for e in np.eye(x.size)
    ]
    expected = np.stack(differences, -1)
    np.testing.assert_allclose(fg.jacfwd(f)(x), expected, rtol, 1e-8)
    np.testing.assert_allclose(fg.jacrev(f)(x), expected, rtol, 1e-8)
    weights = np.cos(np.arange(np.asarray(f(x)).size)).reshape(np.shape(f(x)))

    def slope(x):
        return fg.grad(lambda x: np.sum(weights * f(x) * f(x)))(x)

    twice = [(slope(x + h * e) - slope(x - h * e)) / (2 * h) for e in np.eye(x.size)]
    np.testing.assert_allclose(fg.jacobian(slope)(x), np.stack(twice, -1), 1e-5, 1e-6)
    if not asks:
        np.testing.assert_allclose(
            fg.vmap(f)(np.stack([x, x + 0.01])), np.stack([f(x), f(x + 0.01)]), rtol=1e-14
        )


@pytest.mark.parametrize("name", one_in(6, CALLS))
def test_numpys_code_on_traced_values(name):
    f = CALLS[name]
    np.testing.assert_array_equal(fg.jit(f)(X), f(X))
    assert_derivatives(f, X, asks=name == "real_if_close")


@pytest.mark.parametrize("name", ["unwrap", "insert", "resize", "meshgrid", "nancumsum"])
def test_float32_in_float32_out(name):
    f, x = CALLS[name], X.astype(np.float32)
    made = fg.jit(f)(x)
    assert made.dtype == f(x).dtype
    np.testing.assert_array_equal(made, f(x))
    assert fg.grad(lambda x: np.sum(f(x)))(x).dtype == np.float32


POLYNOMIALS = ("Polynomial", "Chebyshev", "Legendre", "Laguerre", "Hermite", "HermiteE")
ADOPTED = {
    **{
        kind: lambda x, kind=kind: (
            getattr(np.polynomial, kind)(x) * 2 + getattr(np.polynomial, kind)(x[:3]).integ()
        )(np.array([0.3, 0.9]) * x[0])
        for kind in POLYNOMIALS
    },
    "polyval": lambda x: np.polynomial.polynomial.polyval(x[:2], x),
    "chebvander": lambda x: np.polynomial.chebyshev.chebvander(x, 3),
    "legmul": lambda x: np.polynomial.legendre.legmul(x, x),
    "hermder": lambda x: np.polynomial.hermite.hermder(x),
    "poly1d": lambda x: (np.poly1d(x) * np.poly1d(x[:2]))(0.5),
    "r_": lambda x: np.r_[x, 1.0, 0:2, x[0]],
    "c_": lambda x: np.c_[x, x**2],
    "r_ by its name": lambda x: r_[x, 1.0],
    "ix_": lambda x: x.reshape(2, 2)[np.ix_([1, 0], [0, 1])],
    "require": lambda x: np.require(2 * x, float, ["C"]),
    "fromiter": lambda x: np.fromiter((v * v for v in x), float),
    "put": lambda x: _put(np.array(x)),
}


def _put(a):
    np.put(a, [1], a[0] ** 2)
    return a


@pytest.mark.parametrize("name", one_in(6, ADOPTED))
def test_adopted_code_and_what_numpy_does_not_dispatch(name):
    f = fg.adopt(ADOPTED[name])
    np.testing.assert_allclose(fg.jit(f)(X), ADOPTED[name](X), rtol=1e-14)
    fg.check_grads(f, (X,), order=2)


def test_matrix_functions_that_other_packages_call_by_their_inner_names():
    a, b = np.array([[2.0, 0.3], [0.1, 1.5]]), np.array([1.0, -2.0])
    inner = np.linalg._umath_linalg
    with_both = {
        "solve": (
            lambda a: inner.solve(a, a.T, signature="dd->d"),
            lambda a: np.linalg.solve(a, a.T),
        ),
        "solve1": (lambda a: inner.solve1(a, b), lambda a: np.linalg.solve(a, b)),
        "inv": (inner.inv, np.linalg.inv),
        "det": (inner.det, np.linalg.det),
    }
    for theirs, ours in with_both.values():
        found = fg.grad(lambda a, theirs=theirs: np.sum(theirs(a) ** 2))(a)
        expected = fg.grad(lambda a, ours=ours: np.sum(ours(a) ** 2))(a)
        np.testing.assert_allclose(found, expected, rtol=1e-14)


def test_an_array_wrapper_of_older_code():
    def wrapped(a):
        new = np.asarray(a)
        wrap = getattr(a, "__array_wrap__", new.__array_wrap__)
        return wrap(new * new).sum()

    np.testing.assert_array_equal(fg.grad(wrapped)(np.array([1.0, 2.0])), [2.0, 4.0])


def test_clip_into_an_array_and_with_casting():
    def f(x):
        out = np.empty(())
        np.clip(x.sum(), 0.1, None, out=out, casting="no")
        return out[()] ** 2

    np.testing.assert_array_equal(fg.grad(f)(np.array([1.0, 2.0])), [6.0, 6.0])
    with pytest.raises(TypeError, match="Cannot cast ufunc 'clip' input"):
        fg.grad(lambda x: np.clip(x, np.float32(0.1), None, casting="no"))(0.5)
    with pytest.raises(TypeError, match="clip: of NumPy's arguments this one is not supported"):
        fg.grad(lambda x: np.clip(x, 0.1, None, order="C"))(0.5)


@pytest.mark.parametrize(
    "f",
    [
        lambda c: (np.polynomial.Polynomial(c) ** 2 - 1)(0.5),
        lambda c: np.polynomial.Polynomial(c).deriv()(0.5),
        lambda c: (np.polynomial.Polynomial(c) % np.polynomial.Polynomial([1.0, 2.0]))(0.5),
        lambda c: np.sum(np.polynomial.Polynomial(c).roots() ** 2).real,
        lambda c: np.sum((np.polynomial.Chebyshev(c) * c[0]).coef),
    ],
)
def test_polynomials_are_mapped_over_their_coefficients(f):
    c = np.array([1.0, 2.0, 3.0])
    rows = np.stack([c, c**2, -c])
    np.testing.assert_allclose(fg.vmap(f)(rows), [f(row) for row in rows], rtol=1e-14)
    slopes = [fg.jit(fg.grad(f))(row) for row in rows]
    np.testing.assert_allclose(fg.vmap(fg.grad(f))(rows), slopes, rtol=1e-14)


FROM_ELSEWHERE = {
    "pad by a value": lambda x: np.pad(np.ones(2), 1, constant_values=x),
    "pad by two values": lambda x: np.pad(np.ones((2, 2)), 1, constant_values=((x, 2), (x * x, 1))),
    "pad itself": lambda x: np.pad([x, 1.0], (1, 2), constant_values=x * x),
    "pad at the end": lambda x: np.pad(np.ones(3), 2, mode="linear_ramp", end_values=x),
    "apply_along_axis": lambda x: np.apply_along_axis(lambda v: v * x, 1, np.ones((2, 3))),
    "apply_along_axis to a list": lambda x: np.apply_along_axis(
        lambda v: v.sum() * x, 0, [[1.0, 2.0]]
    ),
    "apply_over_axes": lambda x: np.apply_over_axes(
        lambda a, axis: np.sum(a * x, axis, keepdims=True), np.ones((2, 3)), [0, 1]
    ),
    "fromfunction": lambda x: np.fromfunction(lambda i, j: i * x + j, (3, 3)),
    "piecewise": lambda x: np.piecewise(EDGES, [EDGES > 0.2], [lambda t: t * x, lambda t: x]),
    "piecewise of numbers": lambda x: np.piecewise(EDGES, [EDGES > 0.2], [x, 2.0]),
    "vectorize": lambda x: np.vectorize(lambda t: t * t + x)(EDGES),
    "frompyfunc": lambda x: np.frompyfunc(lambda t: t * x, 1, 1)(EDGES).astype(float),
    "take": lambda x: np.take([x, 2.0, x * x], [0, 2]),
    "meshgrid": lambda x: np.meshgrid(np.linspace(0, x, 3), np.linspace(0, 1, 2)),
    "meshgrid of lists": lambda x: np.meshgrid([0.0, x], [1.0, 2.0, 3.0], [x * x])[2],
}


@pytest.mark.parametrize("name", FROM_ELSEWHERE)
def test_a_traced_value_that_dispatch_does_not_see(name):
    def f(x):
        return np.sum(np.asarray(FROM_ELSEWHERE[name](x)))

    slope = (f(1.3 + 1e-6) - f(1.3 - 1e-6)) / 2e-6
    value, found = fg.value_and_grad(f)(1.3)
    assert value == pytest.approx(float(f(1.3)), rel=1e-14)
    assert found == pytest.approx(slope, rel=1e-8)
    assert fg.jit(fg.grad(f))(1.3) == pytest.approx(found, rel=1e-14)
    assert fg.jvp(f, (1.3,), (1.0,))[1] == pytest.approx(found, rel=1e-14)


def test_an_error_of_a_function_that_numpy_calls_is_the_users():
    with pytest.raises(TypeError, match="has no len"):
        fg.grad(lambda x: np.sum(np.apply_along_axis(lambda v: v * x + len(3), 0, np.ones(2))))(1.0)


@pytest.mark.parametrize("name", one_in(2, POLYNOMIALS))
def test_a_last_coefficient_of_zero_has_a_derivative(name):
    series = getattr(np.polynomial, name)
    zero, small = np.array([1.0, 2.0, 0.0]), np.array([1.0, 2.0, 1e-12])
    for f in (
        lambda c: (series(c) * series(c))(0.7),
        lambda c: (series(c) + series(c))(0.7),
        lambda c: (series(c) ** 2)(0.7),
    ):
        np.testing.assert_allclose(fg.grad(f)(zero), fg.grad(f)(small), rtol=1e-9)
        np.testing.assert_allclose(fg.jit(fg.grad(f))(zero), fg.grad(f)(small), rtol=1e-9)


def test_polymul_has_derivatives_in_a_first_coefficient_of_zero():
    found = fg.grad(lambda c: np.polyval(np.polymul(c, c), 2.0))(np.array([0.0, 2.0, 1.0]))
    np.testing.assert_array_equal(found, [40.0, 20.0, 10.0])


@pytest.mark.parametrize(
    "f",
    one_in(
        2,
        [
            lambda c: np.poly1d(c)(2.0),
            lambda c: (np.poly1d(c) * np.poly1d([1.0, 3.0]))(2.0),
            lambda c: (np.poly1d(c) ** 2 - np.poly1d(c) / 3.0)(2.0),
            lambda c: np.poly1d(c).deriv()(2.0) + np.poly1d(c).integ()(2.0),
            lambda c: np.poly1d(c, r=True)(2.0),
            lambda c: interpolate.lagrange(np.arange(3.0), c)(0.5) ** 2,
        ],
    ),
)
@pytest.mark.filterwarnings("ignore:`lagrange` is deprecated:DeprecationWarning")
def test_a_first_coefficient_of_zero_has_a_derivative_in_poly1d(f):
    for zero in (np.array([0.0, 2.0, 1.0]), np.array([-0.0, 2.0, 0.0]), np.zeros(3)):
        near = np.where(zero == 0.0, 1e-12, zero)
        expected = fg.grad(f)(near)
        np.testing.assert_allclose(fg.grad(f)(zero), expected, rtol=1e-9, atol=1e-10)
        np.testing.assert_allclose(fg.jit(fg.grad(f))(zero), expected, rtol=1e-9, atol=1e-10)
        np.testing.assert_allclose(fg.jacfwd(f)(zero), expected, rtol=1e-9, atol=1e-10)
        np.testing.assert_allclose(fg.hessian(f)(zero), fg.hessian(f)(near), rtol=1e-9, atol=1e-10)
        assert fg.value_and_grad(f)(zero)[0] == pytest.approx(f(zero), rel=1e-14)


def test_poly1d_of_plain_coefficients_has_no_zeros_at_its_front():
    found = fg.grad(lambda x: x * np.poly1d([0.0, 2.0, 1.0]).order + x * np.poly1d([0.0])(x))
    assert found(3.0) == 1.0
    with pytest.raises(ValueError, match="must be 1d"):
        fg.grad(lambda x: np.poly1d(x)(1.0))(np.ones((2, 2)))


@pytest.mark.parametrize("cut", [np.roots, np.trim_zeros])
@pytest.mark.parametrize("c", [[0.0, 2.0, 1.0], [1.0, 3.0, -0.0]])
def test_a_zero_that_is_cut_off_and_has_a_derivative_is_refused(cut, c):
    c = np.array(c)
    with pytest.raises(TypeError, match=f"{cut.__name__}: expected no zeros at the ends"):
        fg.grad(lambda c: np.real(np.sum(cut(c))))(c)
    np.testing.assert_allclose(fg.jit(cut)(c), cut(c), rtol=1e-14)
    inside = np.array([1.0, 0.0, -4.0])
    assert np.isfinite(fg.grad(lambda c: np.real(np.sum(cut(c) ** 2)))(inside)).all()


def test_a_store_into_the_row_of_a_function_that_gives_traced_values_is_refused():
    def f(x):
        held = np.ones((2, 3))

        def of_row(v):
            v[0] = 5.0
            return v * x

        return np.apply_along_axis(of_row, 1, held).sum() + held.sum() * x

    with pytest.raises(TypeError, match="array: expected numbers"):
        fg.grad(f)(1.0)
    with pytest.raises(TypeError, match="apply_along_axis: expected a function without stores"):
        fg.grad(fg.adopt(f))(1.0)


def test_zeros_that_are_not_differentiated_are_cut_off_as_in_numpy():
    c = np.array([0.0, 2.0, 1.0])

    def square(c):
        return (np.polynomial.Polynomial(c) * np.polynomial.Polynomial(c)).coef

    np.testing.assert_allclose(fg.jit(fg.adopt(square))(c[::-1]), square(c[::-1]), rtol=1e-15)
    assert fg.jit(fg.adopt(lambda c: np.poly1d(c).order + 0.0 * c[0]))(c) == 1.0
    np.testing.assert_allclose(fg.vmap(lambda c: np.poly1d(c)(2.0))(np.stack([c, c + 1])), [5, 12])


def test_poly1d_takes_lists_of_traced_numbers():
    assert fg.grad(lambda x: np.poly1d([x, 1.0, x])(2.0))(0.0) == 5.0
    assert fg.grad(lambda x: np.poly1d([x, 1.0], True)(2.0))(0.0) == -1.0


SERIES = np.polynomial
CONVERSIONS = {
    "at a polynomial": lambda c: SERIES.Polynomial(c)(SERIES.Polynomial([1.0, 2.0]))(2.0),
    "of Chebyshev's to powers": lambda c: SERIES.Chebyshev(c).convert(kind=SERIES.Polynomial)(2.0),
    "to Chebyshev's": lambda c: SERIES.Polynomial(c).convert(kind=SERIES.Chebyshev).coef[0],
    "to another domain": lambda c: SERIES.Polynomial(c).convert(domain=[0.0, 2.0]).coef[1],
    "cast": lambda c: SERIES.Legendre.cast(SERIES.Hermite(c)).coef[0],
    "number times": lambda c: (c[1] * SERIES.Polynomial([1.0, 2.0]) - c[0])(2.0) + c[2],
    "poly1d at a poly1d": lambda c: np.poly1d(c)(np.poly1d([1.0, 2.0]))(1.5),
    "number times poly1d": lambda c: (2.0 - float(c[1]) * np.poly1d([1.0, 2.0]))(c[2]),
    "quotient of poly1d": lambda c: (np.poly1d(c) / np.poly1d([1.0, 2.0]))[0](2.0),
    "derivative and integral of poly1d": lambda c: (
        np.polyder(np.poly1d(c)) + np.polyint(np.poly1d(c))
    )(2.0),
    "sum and difference of poly1d": lambda c: np.polysub(
        np.polyadd(np.poly1d(c), [2.0]), np.poly1d(c[:2])
    )(2.0),
    "product of poly1d": lambda c: np.polymul(np.poly1d(c), [1.0, 2.0])(2.0),
    "polydiv of poly1d": lambda c: np.polydiv(np.poly1d([1.0, 2.0, 5.0, 1.0]), np.poly1d(c))[1](
        2.0
    ),
    "value and roots of poly1d": lambda c: (
        np.polyval(np.poly1d(c), c[0]) + np.prod(np.roots(np.poly1d(c))).real
    ),
    "number by a poly1d": lambda c: (float(c[0]) / np.poly1d(c[1:2]))(2.0),
}


@pytest.mark.parametrize("name", one_in(3, CONVERSIONS))
def test_polynomials_of_polynomials_and_traced_numbers(name):
    f, c, h = CONVERSIONS[name], np.array([1.0, 2.0, 3.0]), 1e-6
    value, slope = fg.value_and_grad(f)(c)
    assert value == pytest.approx(f(c), rel=1e-14)
    wanted = [(f(c + h * e) - f(c - h * e)) / (2 * h) for e in np.eye(3)]
    np.testing.assert_allclose(slope, wanted, rtol=1e-7, atol=1e-8)
    np.testing.assert_allclose(fg.jacfwd(f)(c), slope, rtol=1e-13)
    np.testing.assert_allclose(fg.jit(fg.grad(f))(c), slope, rtol=1e-13)


@pytest.mark.parametrize(
    "f",
    [
        lambda c: np.polyval(np.polydiv([1.0, 3.0, 3.0, 1.0], c)[1], 2.0),
        lambda c: np.polyval(np.polydiv([1.0, 3.0, 3.0, 1.0], c)[0], 2.0),
        lambda c: (np.poly1d([1.0, 3.0, 3.0, 1.0]) / np.poly1d(c))[1](2.0),
        lambda c: np.polyval(np.polydiv(np.append(c, [1.0, 2.0, 1.0]), [1.0, 2.0, 1.0])[1], 2.0),
        lambda c: np.polyval(np.polydiv(c, [1.0, 2.0, 3.0, 4.0])[1], 2.0),
        lambda c: np.polyval(np.polydiv(c, [4.0])[1], 2.0) + np.polydiv(c, [4.0])[0][1],
    ],
)
def test_a_remainder_of_zeros_has_derivatives(f):
    c, h = np.array([1.0, 2.0, 1.0]), 1e-6
    wanted = [(f(c + h * e) - f(c - h * e)) / (2 * h) for e in np.eye(3)]
    np.testing.assert_allclose(fg.grad(f)(c), wanted, rtol=1e-7, atol=1e-7)
    np.testing.assert_allclose(fg.jacfwd(f)(c), fg.grad(f)(c), rtol=1e-13, atol=1e-13)


def test_trimmed_zeros_keep_their_derivatives():
    c = np.array([1.0, 2.0, 0.0])
    np.testing.assert_array_equal(
        fg.grad(lambda c: SERIES.Polynomial(c).trim()(2.0))(c), [1.0, 2.0, 4.0]
    )
    cut = fg.grad(lambda c: SERIES.Polynomial(c).trim(1e-3)(2.0))
    np.testing.assert_array_equal(cut(np.array([1.0, 2.0, 1e-4])), [1.0, 2.0, 0.0])
    np.testing.assert_array_equal(fg.jit(SERIES.polynomial.polytrim)(c), [1.0, 2.0])
    np.testing.assert_array_equal(fg.jit(SERIES.polynomial.polytrim)(0 * c), [0.0])
    with pytest.raises(ValueError, match="tol must be non-negative"):
        fg.grad(lambda c: SERIES.Polynomial(c).trim(-1.0)(2.0))(c)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.poly1d([x, 2.0, 1.0])(np.poly1d([1.0, x]))(3.0),
        lambda x: np.poly1d([1.0, 2.0, 1.0])(np.poly1d([x, x])).coeffs[0],
        lambda x: np.polyval([x, 2.0, 1.0], np.poly1d([1.0, x])).order * x,
    ],
)
def test_a_polynomial_of_a_polynomial_is_one(f):
    value, slope = fg.value_and_grad(f)(2.0)
    assert value == f(2.0) == fg.jit(f)(2.0)
    assert slope == pytest.approx((f(2.0 + 1e-6) - f(2.0 - 1e-6)) / 2e-6)


@pytest.mark.parametrize(
    "call",
    [
        lambda c: np.polymul(c, [0.0, 2.0, 1.0]),
        lambda c: np.polymul([0.0, 0.0], c),
        lambda c: np.polymul([3.0], c),
    ],
)
def test_polymul_cuts_first_zeros_off_that_have_no_derivative(call):
    c = np.array([0.0, 2.0, 1.0])
    np.testing.assert_array_equal(fg.jit(call)(c), call(c))
    d = np.array([5.0, 2.0, 1.0])
    slopes = fg.jacobian(call)(d)  # of a function that is linear in d
    np.testing.assert_allclose(slopes @ d, call(d), rtol=1e-14)


POLYNOMIAL_FUNCTIONS = (
    "polynomial.poly",
    "chebyshev.cheb",
    "legendre.leg",
    "hermite.herm",
    "laguerre.lag",
)


@pytest.mark.parametrize("path", [*POLYNOMIAL_FUNCTIONS, "hermite_e.herme"])
def test_a_coefficient_of_zero_keeps_its_slope(path):
    """NumPy returns a series of one coefficient for a line without slope, and x times 0 or its integral."""
    module, prefix = path.split(".")
    line, times_x, integral = (
        getattr(getattr(np.polynomial, module), prefix + name) for name in ("line", "mulx", "int")
    )
    for f in (
        lambda c: line(1.0, c),
        lambda c: times_x([c]),
        lambda c: integral([c], 2, [1.0, 2.0], lbnd=0.3, scl=2.0),
        lambda c: integral(c * np.ones((2, 1)), axis=1),
        lambda c: integral([c], 0),
    ):
        value, slope = fg.jvp(f, (0.5,), (1.0,))
        np.testing.assert_array_equal(value, f(0.5))
        at_zero = fg.jvp(f, (0.0,), (1.0,))
        np.testing.assert_allclose(at_zero[1], slope, rtol=1e-14)
        np.testing.assert_allclose(at_zero[0], value - 0.5 * slope, atol=1e-15)
        np.testing.assert_array_equal(fg.jit(fg.jacobian(f))(0.0), at_zero[1])


def test_whole_coefficients_become_floats_where_a_series_is_trimmed():
    trimmed = np.polynomial.chebyshev.chebtrim

    def f(x, c):
        c = trimmed(c)
        c /= 2
        return x * c[-1]

    for c, slope in (([0, 3, 0], 1.5), (np.array([1, 1]), 0.5), (np.float32([1.0, 0.0]), 0.5)):
        assert fg.grad(f)(2.0, c) == slope
        assert trimmed(c).dtype == fg.adopt(trimmed)(c).dtype

"""Special functions have SciPy's values, and the derivatives that mathematics gives them."""

import cmath
import itertools
import sys

import mpmath
import numpy as np
import pytest
import scipy.special

import funcgrad as fg
from funcgrad.ops.base.op import Elementwise
from funcgrad.ops.numpy.dispatch import all_ops
from funcgrad.ops.special.polygamma import digamma, gammaln, polygamma
from funcgrad.ops.special.special_stand_ins import SPECIAL_FAMILIES
from tests.default_slice import one_in


def takes(op, wide):
    """Whether an operation takes complex numbers in these places."""
    try:
        op(*[fg.var("x", (), complex if z else float) for z in wide])
    except TypeError:
        return False
    return True


SPECIAL = [
    0.0,
    -0.0,
    2.3e-308,
    1e-300,
    1.0,
    2.0,
    1e300,
    np.inf,
    -np.inf,
    -1.0,
    -1.5,
    -1e300,
    np.nan,
]


@pytest.mark.parametrize("value", SPECIAL)
def test_gammaln_has_scipys_values(value):
    expected = scipy.special.gammaln(value)
    x = fg.var("x")
    for found in (
        fg.evaluate(gammaln(x), {"x": value}),
        fg.jit(scipy.special.gammaln)(value),
        fg.jit(scipy.special.gammaln)(np.array([value]))[0],
    ):
        np.testing.assert_allclose(found, expected, rtol=1e-15)
        assert np.isnan(expected) or np.signbit(found) == np.signbit(expected)


@pytest.mark.parametrize("value", SPECIAL)
@pytest.mark.parametrize("order", [0, 1, 2])
def test_polygamma_has_scipys_values(order, value):
    expected = scipy.special.polygamma(order, value)
    found = fg.jit(lambda v: polygamma(order, v))(value)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("order", [2.0, np.float64(2.0), np.array(2.0)])
def test_a_whole_float_is_an_order_of_polygamma(order):
    def f(x):
        return scipy.special.polygamma(order, x)

    value, slope = fg.value_and_grad(f)(0.7)
    assert value == scipy.special.polygamma(2, 0.7)
    assert slope == pytest.approx(scipy.special.polygamma(3, 0.7))
    with pytest.raises(TypeError, match=r"an order of 0 or more, but got 1\.5"):
        fg.grad(lambda x: scipy.special.polygamma(1.5, x))(0.7)


def test_derivatives_of_gammaln_are_polygamma():
    derivative = scipy.special.gammaln
    for order in range(4):
        derivative = fg.elementwise_grad(derivative)
        x = np.array([0.3, 1.0, 4.5, -1.5])
        np.testing.assert_allclose(derivative(x), scipy.special.polygamma(order, x), rtol=1e-13)
    assert fg.grad(scipy.special.psi)(2.0) == scipy.special.polygamma(1, 2.0)
    z = fg.var("z", dtype=complex)
    assert scipy.special.psi(z)(z=1 + 2j) == scipy.special.psi(1 + 2j)


def test_dtypes_are_scipys():
    for dtype in ("float32", "float64", "int64", "int8", "bool"):
        x = np.array([1, 1], dtype)
        assert fg.jit(gammaln)(x).dtype == scipy.special.gammaln(x).dtype
        assert fg.jit(digamma)(x).dtype == scipy.special.digamma(x).dtype
    assert isinstance(gammaln, Elementwise)


def test_wrong_arguments_are_refused():
    with pytest.raises(TypeError, match="gammaln: expected real numbers, but got dtype complex128"):
        gammaln(fg.var("z", (), complex))
    for order in (-1, 1.0, True):
        with pytest.raises(TypeError, match="polygamma: expected an order of 0 or more, but got"):
            polygamma(order, fg.var("x"))


def test_scipy_is_asked_for_where_it_is_missing(monkeypatch):
    x = fg.var("x")
    for expr in (gammaln(x), digamma(x)):
        assert isinstance(repr(expr), str)
        monkeypatch.setitem(sys.modules, "scipy", None)
        with pytest.raises(ImportError, match="expected SciPy, but it is not installed; pip inst"):
            fg.evaluate(expr, {"x": 2.0})
        monkeypatch.undo()


def test_the_integral_of_carlson_with_two_arguments_of_zero():
    integral = scipy.special.elliprg
    for place in range(3):
        numbers = [0.0] * 3
        numbers[place] = 6.0
        slopes = fg.grad(integral, (0, 1, 2))(*numbers)
        wanted = [np.inf] * 3
        wanted[place] = 0.25 / np.sqrt(6.0)  # R_G(0, 0, w) is sqrt(w) / 2
        np.testing.assert_allclose(slopes, wanted, rtol=1e-15)
        np.testing.assert_array_equal(fg.jit(fg.grad(integral, (0, 1, 2)))(*numbers), slopes)
    half = lambda w: integral(0.0, 0.0, w)  # noqa: E731
    np.testing.assert_allclose(fg.jvp(half, (6.0,), (1.0,)), (half(6.0), 0.25 / np.sqrt(6.0)))
    assert fg.hessian(half)(6.0) == pytest.approx(-0.125 * 6.0**-1.5, rel=1e-14)
    np.testing.assert_allclose(fg.jvp(half, (3 + 4j,), (1.0,))[1], 0.25 / (2 + 1j), rtol=1e-15)
    np.testing.assert_array_equal(fg.grad(integral, (0, 1, 2))(0.0, 0.0, 0.0), [np.inf] * 3)


def test_digamma_of_many_numbers_near_its_root_between_the_poles():
    root = -0.504083008264455409
    near = np.logspace(-17, np.log10(0.31), 300)
    x = np.concatenate([root + near, root - near, [root, 1.5, -0.1, np.nan, np.inf, -1.0]])
    with np.errstate(all="ignore"):
        many = fg.jit(scipy.special.digamma)(x)
        one_by_one = np.array([scipy.special.digamma(v) for v in x])
    np.testing.assert_allclose(many, one_by_one, rtol=2e-15)
    with mpmath.workdps(40):
        numbers = [float(mpmath.digamma(mpmath.mpf(v))) for v in x[:600:7].tolist()]
    np.testing.assert_allclose(many[:600:7], numbers, rtol=2e-15)
    assert fg.jit(scipy.special.digamma)(x.astype(np.float32)).dtype == np.float32


@pytest.mark.parametrize("order", [1, 2, 3])
def test_slopes_of_the_cardinal_sine_far_out(order):
    """At halves the cosine of pi*x is 0, and the sine of the next order 1."""
    places = np.array([100000.5, -3.5, 1e10 + 0.25, 7.0])
    slope = np.sinc
    for _ in range(order):
        slope = fg.elementwise_grad(slope)
    with mpmath.workdps(60):
        step = mpmath.mpf(10) ** -12
        exact = [mpmath.diff(mpmath.sincpi, mpmath.mpf(x), order, h=step) for x in places]
    expected = np.array(list(map(float, exact)))
    for found in (slope, fg.jit(slope), fg.jit(slope, native=True)):
        np.testing.assert_allclose(found(places), expected, rtol=1e-9)
    np.testing.assert_allclose(fg.jit(slope)(places[0]), expected[0], rtol=1e-9)


PLACES = [0.3 + 0.4j, -1.7 + 0.6j, 2.1 - 1.3j, -0.4 - 2.5j]
OF_COMPLEX = [
    pytest.param(op, wide, id=f"{name}-{wide}")
    for name, op in all_ops(*SPECIAL_FAMILIES).items()
    if name not in all_ops() and isinstance(op, Elementwise) and op.columns.mpmath
    for wide in itertools.product((False, True), repeat=len(op.edges))
    # mpmath takes seconds for Carlson's third integral, and for Bessel functions of other orders.
    if any(wide) and takes(op, wide) and name not in ("elliprj", "jv", "yv")
]


@pytest.mark.parametrize(("op", "wide"), one_in(3, OF_COMPLEX))
def test_mpmath_has_the_values_of_complex_arguments(op, wide):
    values = [PLACES[k] if z else 1.3 + 0.7 * k for k, z in enumerate(wide)]
    found, wanted = fg.precise(op(*map(fg.const, values)), digits=20), op.run(*values)
    assert np.isnan(wanted) or cmath.isclose(found, wanted, rel_tol=1e-8)


def test_relative_entropy_of_absent_terms():
    special = pytest.importorskip("scipy.special")
    p, q = np.array([0.0, 0.5, 0.5]), np.array([0.0, 0.25, 0.75])
    for f, at_zero in ((special.rel_entr, (0.0, 0.0)), (special.kl_div, (-1.0, 1.0))):
        for k in (0, 1):
            slope = fg.grad(lambda p, q, f=f: np.sum(f(p, q)), k)
            found = slope(p, q)
            assert found[0] == at_zero[k]
            np.testing.assert_array_equal(found[1:], slope(p[1:], q[1:]))
            np.testing.assert_allclose(fg.jit(slope)(p, q), found)
            assert fg.grad(lambda p, q, s=slope: s(p, q)[0])(p, q)[0] == 0

"""Functions of NumPy's that other people's code calls: values and types are NumPy's, gradients are right."""

import numpy as np
import pytest

import funcgrad as fg

X = np.array([[0.3, -1.2, 2.0], [0.7, 0.1, -0.4]])
Z = np.array([1.0 + 2.0j, -0.5 - 0.3j, -2.0 + 0.0j])


def same(f, *args):
    """The function under jit has NumPy's values and dtypes."""
    expected, found = f(*args), fg.jit(f)(*args)
    several = isinstance(expected, (tuple, list))
    for e, g in zip(expected, found, strict=True) if several else [(expected, found)]:
        np.testing.assert_allclose(g, e, rtol=1e-15)
        assert np.asarray(g).dtype == np.asarray(e).dtype


@pytest.mark.parametrize("mode", ["edge", "reflect", "symmetric", "wrap"])
@pytest.mark.parametrize("widths", [1, 2, (1, 2), ((0, 1), (2, 5))])
def test_pad_repeats_entries(mode, widths):
    def padded(x):
        return np.pad(x, widths, mode)

    same(padded, X)
    weights = np.cos(np.arange(padded(X).size)).reshape(padded(X).shape)
    places = padded(np.arange(6).reshape(2, 3))
    expected = np.bincount(places.ravel(), weights.ravel(), 6).reshape(2, 3)
    np.testing.assert_allclose(fg.grad(lambda x: np.sum(weights * padded(x)))(X), expected)


@pytest.mark.parametrize("how", [{"mode": "mean"}, {"mode": "reflect", "reflect_type": "odd"}])
def test_pad_has_the_modes_that_compute(how):
    def f(x):
        return np.sum(
            np.pad(x, 1, **how)
            * np.arange(1.0, 1.0 + np.pad(X, 1).size).reshape(np.pad(X, 1).shape)
        )

    slope = fg.grad(f)(X)
    step = 1e-6 * np.cos(np.arange(X.size)).reshape(X.shape)
    assert np.sum(slope * step) == pytest.approx((f(X + step) - f(X - step)) / 2, rel=1e-7)


def test_broadcast_arrays():
    same(lambda x, y: np.broadcast_arrays(x, y, 1.0), X, X[0])
    found = fg.grad(lambda y: np.sum(X * np.broadcast_arrays(X, y)[1]))(X[0])
    np.testing.assert_allclose(found, X.sum(axis=0))
    with pytest.raises(ValueError, match="shape mismatch"):
        fg.grad(lambda y: np.sum(np.broadcast_arrays(X, y)[1]))(np.ones(2))


@pytest.mark.parametrize("arguments", [(2,), (2, 1), (0, 3), (-1,), (1, 0)])
def test_rollaxis(arguments):
    x = np.arange(24.0).reshape(2, 3, 4)
    same(lambda x: np.rollaxis(x, *arguments), x)


@pytest.mark.parametrize("function", [np.atleast_1d, np.atleast_2d, np.atleast_3d])
def test_atleast_takes_several_arrays(function):
    for x in (2.0, X[0], X, X[None], X[None, None]):
        same(function, x)
    same(lambda x, y: function(x, 1.5, y), 2.0, X)
    assert fg.grad(lambda x: np.sum(function(x, x * x)[1]))(3.0) == 6.0


def test_angle_and_questions_about_parts():
    for z in (Z, X, np.array([0.0, -0.0])):
        same(np.angle, z)
        same(lambda z: np.angle(z, deg=True), z)
        same(np.isreal, z)
        same(np.iscomplex, z)
    same(lambda z: np.ones(2) * np.isrealobj(z), Z)
    found = fg.grad(lambda t: np.angle(np.exp(1j * t * t)))(0.7)
    np.testing.assert_allclose(found, 1.4)


@pytest.mark.parametrize(
    ("function", "inside", "outside"),
    [
        (np.emath.sqrt, 2.0, -2.0),
        (np.emath.log, 2.0, -2.0),
        (np.emath.log2, 2.0, -2.0),
        (np.emath.log10, 2.0, -2.0),
        (lambda x: np.emath.power(x, 1.5), 2.0, -2.0),
        (np.emath.arccos, 0.5, 1.5),
        (np.emath.arcsin, 0.5, -1.5),
        (np.emath.arctanh, 0.5, 1.5),
    ],
)
def test_emath_leaves_the_reals_where_it_must(function, inside, outside):
    for x in (inside, outside, np.array([inside, inside]), np.array([inside, outside])):
        same(function, x)
    for x in (inside, outside):
        slope = fg.grad(lambda x: np.real(function(x)) + 2.0 * np.imag(function(x)))(x)
        step = 1e-6
        values = [np.asarray(function(v), complex) for v in (x + step, x - step)]
        expected = (values[0] - values[1]) / (2.0 * step)
        np.testing.assert_allclose(slope, expected.real + 2.0 * expected.imag, rtol=1e-6)


@pytest.mark.parametrize("function", [np.arcsin, np.arccos])
@pytest.mark.parametrize("z", [1.5 + 0j, complex(1.5, -0.0), -1.5 + 0j, complex(-1.5, -0.0)])
def test_slopes_beside_the_cuts_of_arcsin_and_arccos(function, z):
    def slope(z):
        return fg.jvp(lambda z: np.imag(function(z)), (z,), (1.0 + 0j,))[1]

    step = 1e-6
    above, below = (np.imag(function(complex(z.real + s, z.imag))) for s in (step, -step))
    for found in (slope(z), fg.jit(slope)(z)):
        np.testing.assert_allclose(found, (above - below) / (2.0 * step), rtol=1e-8)


@pytest.mark.parametrize("widths", [{-1: (3, 1)}, {0: 1}, {1: 2, 0: (0, 1)}])
def test_pad_takes_widths_by_axis(widths):
    x = np.arange(6.0).reshape(2, 3)
    options = {"constant_values": 2.0}
    np.testing.assert_array_equal(
        fg.jit(lambda x: np.pad(x, widths, **options))(x), np.pad(x, widths, **options)
    )
    np.testing.assert_array_equal(fg.grad(lambda x: np.sum(np.pad(x, widths)))(x), np.ones((2, 3)))


def test_the_sign_of_a_complex_value_is_no_constant():
    z = np.array([1 + 2j, -3 + 0.5j])
    fg.check_grads(np.sign, (z,))
    np.testing.assert_allclose(fg.vjp(np.sign, z)[0], np.sign(z))
    assert fg.vjp(np.sign, 0j)[0] == 0
    assert fg.grad(lambda x: np.sign(x) * x)(-2.0) == -1.0


@pytest.mark.parametrize("width", [1.5, True, (1.0, 2.0)])
def test_widths_of_padding_are_whole_numbers(width):
    for function in (np.pad, fg.grad(lambda x, w: np.sum(np.pad(x, w)))):
        with pytest.raises(TypeError, match="`pad_width` must be of integral type"):
            function(np.ones(3), width)

"""``a.view(complex)`` and ``z.view(float)``: pairs of real numbers as complex ones, and these as pairs."""

import numpy as np
import pytest

import funcgrad as fg

X = np.array([0.1, -0.2, 0.3, 0.4])
SPECIAL = np.array([np.inf, -0.0, -0.0, np.inf, np.nan, 1.0, 1.0, np.nan])


def as_complex(x):
    return np.sum(np.abs((x * 2).view(complex) ** 2 + 1j))


def as_rows(x):
    return np.sum((x.reshape(2, 2) * x[0]).view(np.complex128).imag ** 3)


def as_pairs(x):
    return np.sum((x[:2] * 1j + x[2:]).view(float) ** 3)


def stored_in_the_view(x):
    z = x[:2] * 1j + x[2:]
    parts = z.view(np.float64)
    parts[1] = x[0] ** 2
    parts += 1
    return np.sum(np.abs(z**2))


def stored_in_the_base(x):
    a = x * 2
    z = a.view("c16")
    a[1] = x[3]
    z[0] *= 2j
    return np.sum(a**2 * np.arange(4))


def filled(x):
    z = np.zeros(2, complex)
    parts = z.view(float)
    parts[:] = x
    z[1] += x[0]
    return np.sum((z**2).imag + parts[1:3])


def same(x):
    return np.sum((np.asarray(x) * 2).view(float, np.ndarray) ** 2)


@pytest.mark.parametrize(
    "f",
    [as_complex, as_rows, as_pairs, stored_in_the_view, stored_in_the_base, filled, same],
)
def test_views_of_pairs_are_differentiated(f):
    value, slope = fg.value_and_grad(f)(X)
    assert value == pytest.approx(f(X), rel=1e-14)
    eye = 1e-6 * np.eye(4)
    np.testing.assert_allclose(slope, [(f(X + e) - f(X - e)) / 2e-6 for e in eye], atol=1e-8)
    assert fg.jit(f)(X) == pytest.approx(f(X), rel=1e-14)
    np.testing.assert_allclose(fg.vmap(fg.grad(f))(np.stack([X, X]))[1], slope, rtol=1e-13)
    np.testing.assert_allclose(fg.jacfwd(f)(X), slope, rtol=1e-13)


def test_views_keep_dtypes_and_special_numbers():
    def viewed(x):
        z = (x * 1.0).view(complex)
        return z, z.view(float), x.astype(np.float32).view(np.complex64)

    for found, want in zip(fg.jit(viewed)(SPECIAL), viewed(SPECIAL), strict=True):
        assert found.dtype == want.dtype
        np.testing.assert_array_equal(found.view(want.real.dtype), want.view(want.real.dtype))
        np.testing.assert_array_equal(np.signbit(found.real), np.signbit(want.real))


@pytest.mark.parametrize("part", [slice(3), slice(0, 4, 2)])
def test_views_raise_the_errors_of_numpy(part):
    with pytest.raises(ValueError, match="last axis"):
        X[part].view(complex)
    with pytest.raises(ValueError, match="last axis"):
        fg.grad(lambda x: np.sum(np.abs((x * 2)[part].view(complex))))(X)


def test_stores_into_parts_keep_infinities_and_signs_of_zeros():
    def f(x):
        z = np.zeros(2, complex)
        z.imag[:] = x[:2]
        z.real[1] = x[2]
        return z

    x = np.array([np.inf, -0.0, -0.0])
    assert str(fg.jit(f)(x)) == str(f(x)) == "[ 0.+infj -0. -0.j]"


@pytest.mark.parametrize(
    ("real", "imag"),
    [
        (1.0, np.inf),
        (-0.0, -0.0),
        (np.inf, -0.0),
        (1 + 2j, np.inf),
        (2.0, 1 + np.inf * 1j),
        (1j, 3j),
    ],
)
def test_complex_of_two_parts_is_that_of_python(real, imag):
    want = repr(complex(real, imag))
    made = fg.adopt(lambda x, y: complex(x, y))
    assert repr(complex(fg.jit(made)(real, imag))) == want
    assert repr(complex(fg.jit(fg.adopt(lambda y: complex(real, y)))(imag))) == want


@pytest.mark.parametrize(
    ("dtype", "instead"),
    [([("", float)] * 2, r"np\.unique\(a, axis=0\)"), (np.int64, r"a\.astype\('int64'\)")],
)
def test_views_of_bytes_say_what_to_write(dtype, instead):
    with pytest.raises(TypeError, match=f"view: expected float64, .*; write {instead}"):
        fg.grad(fg.adopt(lambda x: np.sum((x * 2).copy().view(dtype))))(X)

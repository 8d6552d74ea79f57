"""Programs of complex numbers as machine code and as Python: values, gradients and dtypes of NumPy's."""

import cmath

import numpy as np
import pytest

import funcgrad as fg
from funcgrad.compiler.native.llvm_jit import llvm_available
from funcgrad.compiler.native.llvm_writer import LLVMWriter, UnsupportedError, real
from funcgrad.compiler.native.scalar_instructions import template_value

needs_llvm = pytest.mark.skipif(not llvm_available(), reason="llvmlite is not installed")


def mandelbrot(c):
    return np.abs(fg.scan(lambda z, _: (z * z + c, None), 0 * c, None, length=30)[0])


def two_levels(w):
    """The chance of the upper level after some steps of Schroedinger's equation."""
    h = np.array([[1.0, w], [w, -1.0]])
    state = np.array([1.0 + 0j, 0j])
    state, norms = fg.scan(
        lambda s, _: (s - 0.01j * (h @ s), np.sum(np.abs(s) ** 2)), state, None, length=100
    )
    return np.abs(state[1]) ** 2 + np.mean(norms)


def impedance(f):
    z = 50.0 + 2j * np.pi * f * 1e-6 + 1 / (2j * np.pi * f * 1e-9)
    gain = np.exp(-1j * np.angle(z)) / z
    return np.real(gain * np.conj(gain)) + np.abs(np.sqrt(z)) + np.log(z).imag


def alternating(z):
    """A power series by stores, with a branch on a part."""
    terms = np.zeros(8, complex)
    terms[0] = z
    for k in range(1, 8):
        terms[k] = -terms[k - 1] * z / (k + 1)
    return np.sum(np.where(np.real(terms) > 0, terms, 2 * terms))


PROGRAMS = {
    "mandelbrot": (mandelbrot, 0.2 + 0.3j),
    "two levels": (two_levels, 0.7),
    "impedance": (impedance, 2e6),
    "alternating": (alternating, 0.4 - 0.9j),
}


@needs_llvm
@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_and_their_gradients(name):
    f, x = PROGRAMS[name]
    loss = f if isinstance(f(x), float) else lambda z: np.abs(f(z)) ** 2
    native = fg.jit(f, native=True)(x)
    np.testing.assert_allclose(native, f(x), rtol=1e-13)
    assert type(native) is type(fg.jit(f)(x))
    want = fg.grad(loss)(x)
    np.testing.assert_allclose(fg.jit(fg.grad(loss), native=True)(x), want, rtol=1e-11)
    directional = fg.jit(lambda z: fg.jvp(loss, (z,), (z,))[1], native=True)
    np.testing.assert_allclose(directional(x), np.real(want * x), rtol=1e-11)


@needs_llvm
def test_single_precision_stays():
    z = np.array([1 + 2j, -0.5j], np.complex64)
    jitted = fg.jit(lambda z: (np.exp(z) * z, np.sum(z), np.abs(z), z @ z), native=True)
    for got, want in zip(jitted(z), (np.exp(z) * z, np.sum(z), np.abs(z), z @ z), strict=True):
        assert got.dtype == want.dtype
        np.testing.assert_allclose(got, want, rtol=1e-6)


@needs_llvm
def test_products_of_matrices():
    rng = np.random.default_rng(0)
    for rows, inner, columns in ((3, 4, 2), (40, 50, 30), (300, 200, 1)):
        a = rng.normal(size=(rows, inner)) + 1j * rng.normal(size=(rows, inner))
        b = rng.normal(size=(inner, columns)) + 1j * rng.normal(size=(inner, columns))
        got = fg.jit(lambda a, b: a @ b, native=True)(a, b)
        np.testing.assert_allclose(got, a @ b, rtol=1e-12, atol=1e-13)
        turned = fg.jit(lambda a, b: np.conj(b.T) @ np.conj(a.T), native=True)(a, b)
        np.testing.assert_allclose(turned, np.conj(a @ b).T, rtol=1e-12, atol=1e-13)


@needs_llvm
def test_an_order_of_complex_numbers_is_left_to_numpy():
    z = np.array([1 + 2j, 1 + 1j, -3j])
    for f in (np.max, np.sort, lambda z: np.maximum(z, 1j), lambda z: z < 1j, np.argmax):
        with pytest.raises(TypeError, match="machine code has no form"):
            fg.jit(lambda z, f=f: f(z), native=True)(z)
        np.testing.assert_array_equal(fg.jit(lambda z, f=f: f(z))(z), f(z))
    writer, (x, y) = LLVMWriter(), [real(k, "{ double, double }") for k in (1.0, 2.0)]
    for text in ("({0} < {1})", "({0} % {1})", "floor({0})", "cspence({0})", "{0}.hex"):
        with pytest.raises(UnsupportedError):
            template_value(writer, text, [x, y])


def test_numbers_are_python_code():
    """A call of some numbers is no slower than Python's own: no array is made."""
    f = fg.jit(lambda t: (np.exp(1j * t) ** 2 + np.conj(1j * t)).real)
    assert f(0.3) == pytest.approx((cmath.exp(0.6j) - 0.3j).real)
    assert "cexp(" in str(f.lower(0.3))
    assert f(np.inf) != f(np.inf)  # NumPy's NaN, where cmath raises an error


def test_a_loop_of_many_guards_is_python_code():
    def escape(c):
        z, n = 0 * c, 0
        while abs(z) < 2 and n < 600:
            z, n = z * z + c, n + 1
        return n + abs(z)

    jitted = fg.jit(escape)
    for c in (0.2 + 0.3j, 0.5 + 0.5j, 1 + 1j, 0.2 + 0.3j):
        assert jitted(c) == pytest.approx(escape(c), rel=1e-13)

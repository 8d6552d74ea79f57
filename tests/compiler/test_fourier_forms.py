"""Fourier transforms as machine code have NumPy's values, along each axis and at each length."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import funcgrad as fg
from funcgrad.compiler.flat_program import flatten_program
from funcgrad.compiler.native.fourier_forms import factors_of
from funcgrad.compiler.native.llvm_jit import llvm_available
from funcgrad.compiler.native.llvm_writer import UnsupportedError
from funcgrad.compiler.native.time_estimate import estimate

pytestmark = pytest.mark.skipif(not llvm_available(), reason="llvmlite is not installed")


def values(*shape, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=shape) + 1j * rng.normal(size=shape)


def near(got, want):
    assert got.dtype == want.dtype
    assert got.shape == want.shape
    tolerance = 20 * np.finfo(want.dtype).eps
    np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance * np.max(np.abs(want)))


@pytest.mark.parametrize("n", [*range(1, 11), 12, 15, 28, 49, 64, 96, 105, 243, 250, 1000, 1024])
def test_each_length(n):
    z, half = values(n), np.fft.rfft(values(n).real)

    def transforms(z, half):
        return (
            np.fft.fft(z),
            np.fft.ifft(z),
            np.fft.rfft(np.real(z)),
            np.fft.irfft(half, n),
            np.fft.irfft(z[: n // 2 + 1], n),
        )

    for got, want in zip(
        fg.jit(transforms, native=True)(z, half), transforms(z, half), strict=True
    ):
        near(got, want)


@settings(max_examples=15, derandomize=True)
@given(
    hnp.array_shapes(min_dims=1, max_dims=3, min_side=1, max_side=10),
    st.integers(0, 2),
    st.sampled_from([np.complex128, np.complex64]),
)
def test_each_axis(shape, axis, dtype):
    z, axis = values(*shape).astype(dtype), axis % len(shape)

    def transforms(z):
        real = np.fft.rfft(np.real(z), axis=axis)
        back = np.fft.irfft(real, shape[axis], axis=axis)
        return np.fft.fft(z, axis=axis), np.fft.ifft(z.T, axis=axis).T, real, back

    for got, want in zip(fg.jit(transforms, native=True)(z), transforms(z), strict=True):
        near(got, want)


def test_gradients_of_a_loop_of_transforms():
    def loss(k):
        x = np.linspace(-5, 5, 32)
        phase = np.exp(-0.02j * np.fft.fftfreq(32) ** 2)
        wave = np.exp(-(x**2) + 1j * k * x)
        wave, _ = fg.scan(
            lambda w, _: (np.fft.ifft(phase * np.fft.fft(w)), None), wave, None, length=20
        )
        return np.sum(np.abs(wave) ** 2 * x) + np.sum(np.fft.rfft(np.real(wave)).imag)

    for transform in (fg.grad, fg.hessian, lambda f: lambda k: fg.jvp(f, (k,), (1.0,))[1]):
        got = fg.jit(transform(loss), native=True)(1.1)
        np.testing.assert_allclose(got, transform(loss)(1.1), rtol=1e-10)


def test_other_lengths_are_left_to_numpy():
    assert factors_of(1) == [1]
    for n in (11, 26, 97):
        with pytest.raises(UnsupportedError):
            factors_of(n)
        with pytest.raises(TypeError, match=f"a Fourier transform of {n} points"):
            fg.jit(np.fft.fft, native=True)(values(n))
        near(fg.jit(np.fft.fft)(values(n)), np.fft.fft(values(n)))


def test_rows_along_any_axis_take_numpy_as_long():
    x = fg.var("x", (64, 64), complex)
    one, other = (estimate(flatten_program([np.fft.fft(x, axis=axis)], [x])) for axis in (0, 1))
    assert one == other
    of_real = fg.var("x", (256, 256))
    found = estimate(flatten_program([np.fft.rfft(of_real, axis=1)], [of_real]))
    assert found.numpy < found.native

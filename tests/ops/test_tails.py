"""First and second derivatives of elementary functions in their tails, against mpmath."""

import mpmath as mp
import numpy as np
import pytest
import scipy.special

import funcgrad as fg

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


@pytest.mark.parametrize("x", [1e200, -1e300, 1e-200])
def test_arcsinh_of_very_large_numbers(x):
    assert fg.grad(np.arcsinh)(x) == pytest.approx(1 / np.hypot(x, 1.0), rel=1e-15)
    assert fg.grad(lambda t: np.real(np.arcsinh(t * (1 + 1j))))(0.5) == pytest.approx(
        np.real((1 + 1j) / np.sqrt((0.5 + 0.5j) ** 2 + 1)), rel=1e-13
    )

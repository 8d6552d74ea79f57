"""fg.supports: which functions of NumPy, SciPy and the standard library take traced values."""

import math
import statistics

import numpy as np
import pytest
import scipy.linalg
import scipy.signal
import scipy.special

import funcgrad as fg


@pytest.mark.parametrize(
    "function",
    [
        np.sinc,
        np.add,
        np.floor,
        np.unique,
        np.linalg.svd,
        np.fft.rfft,
        np.zeros,
        math.sin,
        statistics.fmean,
        scipy.special.erf,
        scipy.special.jv,
        scipy.linalg.expm,
        "np.sinc",
        "np.linalg.norm",
        "numpy.fft.fft",
        "scipy.special.expit",
        "math.hypot",
    ],
)
def test_supported(function):
    assert fg.supports(function) is True


@pytest.mark.parametrize(
    "function",
    [np.einsum_path, np.nextafter, scipy.signal.savgol_filter, len, math.gcd, "np.packbits"],
)
def test_not_supported(function):
    assert fg.supports(function) is False


def test_what_is_no_function():
    with pytest.raises(ValueError, match=r"such as \"np.sin\", but got 'np.nope'"):
        fg.supports("np.nope")
    with pytest.raises(ValueError, match="but got 'sin'"):
        fg.supports("sin")
    with pytest.raises(TypeError, match="expected a function or its name, but got float"):
        fg.supports(2.0)


def test_what_is_supported_is_differentiated():
    for name in ("sin", "sinc", "floor", "unique", "sort", "cumsum", "median", "linalg.norm"):
        f = eval(f"np.{name}")
        assert fg.supports(f)
        fg.value_and_grad(lambda x, f=f: np.sum(x + np.sum(f(x))))(np.array([0.3, 0.7]))

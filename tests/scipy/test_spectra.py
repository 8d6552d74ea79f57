"""Spectral densities: values are SciPy's, and derivatives those of the adopted code of its functions."""

import itertools

import numpy as np
import pytest
import scipy.signal

import funcgrad as fg
from funcgrad.scipy import signal

X, Y = np.random.default_rng(0).normal(size=(2, 3, 70))
OPTIONS = [
    {},
    {"nperseg": 16},
    {"nperseg": 16, "noverlap": 0, "nfft": 25, "detrend": "linear"},
    {"nperseg": 15, "scaling": "spectrum", "average": "median", "detrend": False},
    {"nperseg": 16.7, "noverlap": 3.2, "nfft": 25.9},
    {"window": np.linspace(0.1, 1.0, 20), "fs": 3.0, "return_onesided": False},
    {"window": ("tukey", 0.3), "nperseg": 64, "average": "median"},
    {"nperseg": 16, "detrend": lambda part: part - part[..., :1]},
]


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.filterwarnings("ignore:nperseg")
def test_densities_are_scipys(options):
    for x, y, axis in ((X[0], Y[0], -1), (X, Y, 1), (X.T, Y.T, 0), (X + 1j * Y, Y - 1j * X**2, -1)):
        how = options | {"axis": axis}
        for name, data in (("welch", (x,)), ("csd", (x, y)), ("csd", (x.astype(x.dtype), x))):
            ours, own = (getattr(m, name) for m in (signal, scipy.signal))
            wanted = own(*data, **how)
            value, tangent = fg.jvp(
                lambda *data, f=ours, how=how: f(*data, **how)[1],
                data,
                tuple(np.cos(d) for d in data),
            )
            assert value.dtype == wanted[1].dtype
            np.testing.assert_allclose(value, wanted[1], rtol=1e-11, atol=1e-14)
            np.testing.assert_allclose(ours(fg.const(x), *data[1:], **how)[0], wanted[0])
            h = 1e-6
            near = [own(*[d + s * h * np.cos(d) for d in data], **how)[1] for s in (1, -1)]
            np.testing.assert_allclose(tangent, (near[0] - near[1]) / (2 * h), rtol=1e-6, atol=1e-8)


def test_gradients_of_densities():
    for f in (
        lambda x: np.sum(signal.welch(x, nperseg=16)[1] ** 2),
        lambda x: np.sum(signal.periodogram(x)[1] ** 2),
        lambda x: np.sum(signal.coherence(x, Y[0], nperseg=16)[1] ** 2),
    ):
        fg.check_grads(f, (X[0],), order=2, rtol=1e-4)
        np.testing.assert_allclose(
            fg.jit(fg.grad(f))(X[0]), fg.grad(f)(X[0]), rtol=1e-10, atol=1e-12
        )
    by_rows = fg.vmap(fg.grad(lambda x: np.sum(scipy.signal.welch(x, nperseg=16)[1] ** 2)))(X)
    whole = fg.grad(lambda x: np.sum(scipy.signal.welch(x, nperseg=16)[1] ** 2))(X)
    np.testing.assert_allclose(by_rows, whole, rtol=1e-10, atol=1e-14)
    single = fg.jit(lambda x: signal.welch(x, nperseg=16)[1])(X.astype(np.float32))
    assert single.dtype == scipy.signal.welch(X.astype(np.float32), nperseg=16)[1].dtype


def test_what_scipy_refuses_is_refused():
    refused = (
        {"nperseg": 8, "noverlap": 9},
        {"nperseg": 8, "nfft": 5},
        {"nperseg": 8, "scaling": "other"},
    )
    for how, f in itertools.product(refused, (scipy.signal, signal)):
        with pytest.raises(ValueError, match=r"must be|not in"):
            fg.jit(lambda x, f=f, how=how: f.welch(x, **how)[1])(X[0])
        with pytest.raises(ValueError, match=r"must be|not in"):
            fg.grad(lambda x, f=f, how=how: f.csd(x, Y[0], **how)[1][0].real)(X[0])

"""matplotlib's numerical functions, `matplotlib.mlab`, are adopted: they are NumPy code."""

import numpy as np
import pytest

import funcgrad as fg

mlab = pytest.importorskip("matplotlib.mlab")

RNG = np.random.default_rng(0)
X, Y, D = RNG.normal(size=(3, 48))
FUNCTIONS = {
    "psd": lambda x: mlab.psd(x, NFFT=16, Fs=2.0)[0],
    "two-sided psd": lambda x: mlab.psd(x, NFFT=16, pad_to=32, sides="twosided", detrend="linear")[
        0
    ],
    "csd": lambda x: np.abs(mlab.csd(x, Y, NFFT=16, noverlap=8)[0]),
    "cohere": lambda x: mlab.cohere(x, Y, NFFT=16)[0],
    "specgram": lambda x: mlab.specgram(x, NFFT=16, noverlap=4)[0],
    "magnitude_spectrum": lambda x: mlab.magnitude_spectrum(x)[0],
    "detrend": lambda x: mlab.detrend(x, "linear") * mlab.detrend_mean(x),
    "GaussianKDE": lambda x: mlab.GaussianKDE(x[:10], "silverman")(np.linspace(-1.0, 1.0, 5)),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions(name):
    def f(x):
        made = FUNCTIONS[name](x)
        return np.sum(made * np.cos(np.arange(made.size)).reshape(made.shape))

    value, slope = fg.value_and_grad(f)(X)
    np.testing.assert_allclose(value, f(X), rtol=1e-12)
    expected = (f(X + 1e-6 * D) - f(X - 1e-6 * D)) / 2e-6
    np.testing.assert_allclose(slope @ D, expected, rtol=1e-6)
    np.testing.assert_allclose(fg.jit(fg.grad(f))(X), slope, rtol=1e-11)
    np.testing.assert_allclose(fg.jvp(f, (X,), (D,))[1], slope @ D, rtol=1e-10)

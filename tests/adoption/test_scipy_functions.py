"""SciPy's functions in adopted code: of lists, and with results that can be written."""

import numpy as np
import pytest

import funcgrad as fg

scipy = pytest.importorskip("scipy")
special = pytest.importorskip("scipy.special")
stats = pytest.importorskip("scipy.stats")
linalg = pytest.importorskip("scipy.linalg")


def written(y):
    y[0] = 0.5
    return (y * y).sum()


CALLS = {
    "a ufunc": lambda x: written(special.erf(x)),
    "of a list": lambda x: written(special.gammaln([x[0], x[1], 2.0])),
    "by its package": lambda x: written(scipy.special.expit(x)),
    "a number and a plain array": lambda x: written(special.expit(np.array([1.0, 2.0]) * x[0])),
    "a function": lambda x: written(special.softmax(x)),
    "a distribution": lambda x: written(stats.norm.ppf(x)),
    "a frozen one": lambda x: written(stats.norm(x[0], 1.0).cdf([x[1], x[2]])),
    "a frozen one of numbers": lambda x: written(stats.norm(0.0, 1.0).cdf(x)),
    "a matrix": lambda x: written(linalg.expm(np.diag(x))[0]),
    "SciPy's Python code": lambda x: written(stats.zscore(x)),
}


@pytest.mark.parametrize("name", CALLS)
def test_scipys_functions_take_lists_and_make_arrays(name):
    f, x, h = CALLS[name], np.array([0.3, 0.5, 0.8]), 1e-6
    expected = [(f(x + h * e) - f(x - h * e)) / (2 * h) for e in np.eye(3)]
    gradient = fg.grad(fg.adopt(f))
    np.testing.assert_allclose(gradient(x), expected, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(fg.jit(gradient)(x), gradient(x), rtol=1e-12)


def test_a_method_of_a_distribution_is_adopted():
    for method in (stats.norm.logpdf, stats.gamma(2.0).logpdf):
        gradient = fg.grad(lambda x, method=method: fg.adopt(method)(x))
        h = 1e-6
        assert gradient(0.7) == pytest.approx(
            (method(0.7 + h) - method(0.7 - h)) / (2 * h), rel=1e-7
        )

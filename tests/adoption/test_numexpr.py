"""Expressions of numexpr in adopted code run on NumPy's functions."""

import numpy as np
import pytest

import funcgrad as fg

ne = pytest.importorskip("numexpr")

SCALE = 2.0
EXPRESSIONS = [
    "2*x + y*SCALE",
    "where(x > 0.5, x**2, -x) * sin(y)",
    "sqrt(x**2 + y**2) / (1 + exp(-x)) - x % 0.37",
    "arctan2(x, y) + abs(-x) + maximum(x, y) * log1p(x)",
    "sum(x * y)",
    "sum(x * y, axis=0)",
    "prod(x)",
    "max(x * y)",
    "complex(x, y).imag * x.real + real(complex(x, 2))",
    "(x > 0.2) & ~(y > 0.9)",
]
X, Y = np.array([0.3, 0.8, 1.4]), np.array([1.2, 0.5, 0.7])


@pytest.mark.parametrize("text", EXPRESSIONS)
def test_expressions(text):
    def f(x):
        y = Y
        return np.sum(np.cos(ne.evaluate(text) * 1.0) * y + x)

    value, slope = fg.value_and_grad(f)(X)
    np.testing.assert_allclose(value, f(X), rtol=1e-13)
    step = 1e-6 * np.eye(3)
    expected = [(f(X + h) - f(X - h)) / 2e-6 for h in step]
    np.testing.assert_allclose(slope, expected, rtol=1e-7, atol=1e-8)
    np.testing.assert_allclose(fg.jit(f)(X), value, rtol=1e-13)
    np.testing.assert_allclose(fg.jit(fg.grad(f))(X), slope, rtol=1e-12)
    np.testing.assert_allclose(fg.jvp(f, (X,), (X,))[1], slope @ X, rtol=1e-12)


def test_names_and_results():
    def given(x):
        out = np.zeros(3)
        ne.evaluate("a*b", local_dict={"a": x, "b": Y}, out=out)
        x = 2.0 * x
        return np.sum(out * ne.evaluate("x + c", global_dict={"c": 1.0}))

    np.testing.assert_allclose(fg.grad(given)(X), Y * (4 * X + 1), rtol=1e-14)
    assert fg.jit(given)(X) == pytest.approx(given(X), rel=1e-14)

    def again(x):
        ne.evaluate("2*x")
        x = x * x
        return np.sum(ne.re_evaluate())

    np.testing.assert_allclose(fg.grad(again)(X), 4 * X, rtol=1e-14)

    def plain(x):
        made = ne.evaluate("2*Y")
        made[0] = x[0]
        return np.sum(made * x)

    np.testing.assert_allclose(fg.grad(plain)(X), [2 * X[0], 2 * Y[1], 2 * Y[2]], rtol=1e-14)
    with pytest.raises(ValueError, match="forbidden"):
        fg.grad(lambda x: ne.evaluate("__import__('os')"))(1.0)
    with pytest.raises(KeyError, match="unknown"):
        fg.grad(lambda x: ne.evaluate("unknown * x"))(1.0)

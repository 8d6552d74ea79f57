"""Long chains: nothing recurses over a graph."""

import pickle
import sys

import numpy as np
import pytest

import funcgrad as fg

SIZES = [pytest.param(100_000), pytest.param(1_000_000, marks=pytest.mark.slow)]


@pytest.mark.parametrize("n", SIZES)
def test_a_long_chain(n):
    def chain():
        y = fg.var("x")
        for _ in range(n):
            y = y * 1.0
        return y

    y = chain()
    assert sys.getrecursionlimit() < n
    assert len(y.graph) == n + 2
    assert len(fg.toposort(y)) == n + 2
    assert y(x=3.0) == 3.0
    assert y.key == chain().key
    assert hash(y) == hash(chain())
    assert len(repr(y).splitlines()) < 40
    again = pickle.loads(pickle.dumps(y))
    assert again.key == y.key
    slope = fg.backprop(y)[fg.var("x")]
    assert fg.evaluate(slope) == 1.0
    del y, again, slope


def test_a_long_traced_function():
    def f(x):
        for _ in range(3_000):
            x = np.sin(x) + 1.0
        return x

    slope = fg.grad(f)(0.5)
    x, product = 0.5, 1.0
    for _ in range(3_000):
        product *= np.cos(x)
        x = np.sin(x) + 1.0
    assert slope == pytest.approx(product, rel=1e-9)
    assert fg.jvp(f, (0.5,), (1.0,))[1] == pytest.approx(product, rel=1e-9)


def test_a_wide_sum_of_shared_parts_is_linear():
    x = fg.var("x")
    parts = [x]
    for _ in range(200):
        parts.append(sum(parts[-3:]) * 0.5)
    y = sum(parts)
    assert len(y.graph) < 1_500
    assert fg.evaluate(fg.gradient(y, x)) == pytest.approx(y(x=1.0), rel=1e-12)

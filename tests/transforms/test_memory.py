"""Memory: what is remembered is bounded, whatever is called, and however often."""

import gc
import sys

import numpy as np
import pytest

import funcgrad as fg

pytestmark = pytest.mark.slow


def blocks():
    gc.collect()
    return sys.getallocatedblocks()


def numbers(k):
    scale = 1.0 + k / 7
    f = fg.jit(fg.grad(lambda x: np.sin(x * scale) + x**2))
    assert f(1.5) == pytest.approx(scale * np.cos(1.5 * scale) + 3.0)


def branches(k):
    f = fg.jit(lambda x: x * (k + 0.5) if x > 0 else -x)
    assert (f(2.0), f(-2.0)) == (2 * k + 1.0, 2.0)


def arrays(k):
    scale = 1.0 + k / 7
    f = fg.jit(fg.grad(lambda x: np.sum(np.sin(x * scale))))
    assert f(np.zeros(3)).tolist() == [scale] * 3


def static(k):
    assert STATIC(2.0, k) == 2.0 * k


STATIC = fg.jit(lambda x, n: x * n, static_argnums=1)


@pytest.mark.parametrize("make", [numbers, branches, arrays, static])
def test_ten_thousand_graphs_take_no_more_than_the_memos_hold(make):
    for k in range(2500):
        make(k)
    before = blocks()
    for k in range(2500, 12500):
        make(k)
    # What is kept of a graph is some hundred blocks: a leak would be a million.
    assert blocks() - before < 20_000


@pytest.mark.parametrize("x", [1.5, np.ones(3)])
@pytest.mark.parametrize("f", [fg.grad, lambda f: fg.jit(fg.grad(f)), lambda f: fg.grad(fg.jit(f))])
def test_a_hundred_thousand_calls_leave_nothing(f, x):
    slope = f(lambda x: np.sum(np.sin(x) * x))
    for _ in range(1000):
        slope(x)
    before = blocks()
    for _ in range(100_000):
        slope(x)
    assert blocks() - before < 1000

"""Paths that an example does not take: their values and derivatives may be NaN, and reach no gradient."""

import itertools

import numpy as np
import pytest

import funcgrad as fg
from tests.default_slice import one_in


def with_a_path_of_nans(x):
    v, s = np.cumsum(x), x[0]
    if v[2] > -0.5:
        v[0] = np.sum(v) * 1.5
        s = s + np.sum(np.arcsin(v[v < s]))
    else:
        v[v < s] = s
    v = np.where(np.abs(v) < 1, 1 / v, v * s)
    return np.sum(v) + s


def with_masked_stores_after_a_path(x):
    v, s = x.copy(), x[0]
    if np.max(v) < 0.5:
        s = s + np.sum(np.log1p(v) ** 0.5)
    m = v > 0.1
    v[m] = v[m] * s
    v = np.cumsum(v)
    if v[0] > 0:
        v = np.log(x)
    return np.sum(v[v > 0]) * s


def with_sorted_paths(x):
    v, s = x.copy(), x[0] ** 2
    if np.max(v) < 3.0:
        v = np.sort(v)
        v[1] = np.exp(x[0])
    elif np.any(v < 0):
        v[0] = np.arcsin(x[0] - 3.0)
    if x[1] > -0.5:
        v = np.cumsum(v)
    return np.sum(v) + s


def with_branches(x):
    def angles(v):
        return np.cumsum(np.arcsin(np.where(v < v[0], v, 0.5) / 2))

    v = np.cumsum(x)
    v = fg.cond(v[2] > -0.5, angles, lambda v: v * v, v)
    v = fg.cond(v[0] > 0, lambda v: np.log(v) ** 2, lambda v: np.where(v < x[0], x[0], v), v)
    v = np.where(np.abs(v) < 1, 1 / v, v * x[0])
    return np.sum(v)


def with_a_loop_that_ends(x):
    def step(state):
        v, k = state
        root = np.sqrt(v - 0.3)  # NaN after the end
        return np.where(v > 1.0, root * v[0], np.cumsum(root)) / 3, k + 1

    v, _ = fg.while_loop(lambda s: (np.min(s[0]) > 0.3) & (s[1] < 5), step, (x * x, 0))
    return np.sum(np.sort(v) * np.log(v))


FUNCTIONS = [with_a_path_of_nans, with_masked_stores_after_a_path, with_sorted_paths]
FUNCTIONS += [with_branches, with_a_loop_that_ends]


def total(f):
    return lambda xs: np.sum(fg.vmap(f)(xs))


def in_a_loop(f):
    return lambda xs: fg.scan(lambda sum, x: (sum + f(x), None), 0.0, xs)[0]


GRADIENTS = {
    "grad of vmap": lambda f: fg.grad(total(f)),
    "jit of grad of vmap": lambda f: fg.jit(fg.grad(total(f))),
    "vmap of grad": lambda f: fg.vmap(fg.grad(f)),
    "grad of scan": lambda f: fg.grad(in_a_loop(f)),
    "grad of grad": lambda f: lambda xs: fg.jvp(fg.grad(total(f)), (xs,), (np.ones_like(xs),))[1],
    "forward mode": lambda f: lambda xs: fg.jvp(total(f), (xs,), (np.ones_like(xs),))[1],
}


@pytest.mark.parametrize(("name", "f"), one_in(7, itertools.product(GRADIENTS, FUNCTIONS)))
def test_a_path_that_is_not_taken_reaches_no_gradient(f, name):
    xs = np.random.default_rng(7).normal(size=(40, 3)) * 2
    with np.errstate(all="ignore"):
        xs = xs[np.isfinite([f(x) for x in xs])]
    expected = np.stack([fg.grad(f)(x) for x in xs])
    finite = np.isfinite(expected).all(axis=1)
    xs, expected = xs[finite], expected[finite]
    assert len(xs) > 10
    if name == "forward mode":
        expected = np.sum(expected)
    if name == "grad of grad":
        expected = np.stack([fg.hvp(f, (x,), (np.ones(3),)) for x in xs])
    np.testing.assert_allclose(GRADIENTS[name](f)(xs), expected, rtol=1e-8, atol=1e-10)


def test_what_examples_share_is_not_repeated_for_each():
    weights = np.random.default_rng(0).normal(size=(20, 20))

    def f(x, w):
        return np.sum(np.tanh(w @ x)) if x[0] > 0 else np.sum(w @ x)

    xs = np.random.default_rng(1).normal(size=(30, 20))
    loss = fg.jit(fg.grad(lambda w: np.sum(fg.vmap(f, (0, None))(xs, w))))
    expected = sum(fg.grad(lambda w, x=x: f(x, w))(weights) for x in xs)
    np.testing.assert_allclose(loss(weights), expected, rtol=1e-12)
    shapes = [node.type.shape for node in fg.trace(loss, weights).graph.values()]
    assert (30, 20, 20) not in shapes


def test_formulas_do_not_show_where_derivatives_are_cut():
    def f(x):
        return np.log(x) if x > 0 else x * x

    xs = np.array([1.0, -1.0])
    shown = str(fg.jit(fg.vmap(f)).lower(xs))
    assert "where(a, log(x), x**2)" in shown
    assert "stop_gradient" not in shown
    assert "where(a, 1/xs, 2*xs)" in str(fg.jit(fg.grad(total(f))).lower(xs))
    looped = fg.trace(in_a_loop(f), xs)
    assert "stop_gradient" not in str(looped) + fg.to_python(looped)
    assert fg.from_json(fg.to_json(looped)).key == looped.key

"""One exponential of each entry for a log-sum-exp and its slope."""

import itertools

import numpy as np
import pytest

import funcgrad as fg
from funcgrad.compiler.passes.softmax_sharing import share_exponentials
from funcgrad.expr import by_key

SPECIAL = [0.0, 1.5, 800.0, -800.0, np.inf, -np.inf, np.nan]


def count(name, *roots):
    return [expr.op.name for expr in by_key(*roots).values()].count(name)


@pytest.mark.parametrize("dtype", [float, np.float32])
@pytest.mark.parametrize(
    ("shape", "axis"),
    [((6,), None), ((3, 4), 0), ((3, 4), 1), ((3, 4), (0, 1)), ((2, 3, 4), (0, 2))],
)
def test_values_and_slopes(shape, axis, dtype):
    x = fg.var("x", shape, dtype)
    z = fg.logsumexp(x, axis=axis)
    roots = [z, fg.gradient(np.sum(np.sin(z)), x)]
    found = share_exponentials(roots)
    assert (count("exp", *found), count("logsumexp", *found)) == (1, 0)
    value = {"x": (np.random.default_rng(0).standard_normal(shape) * 30).astype(dtype)}
    for new, old in zip(found, roots, strict=True):
        assert new.type == old.type
        tolerance = 1e-13 if dtype is float else 2e-5  # (x - z is rounded, e/s is not)
        np.testing.assert_allclose(fg.evaluate(new, value), fg.evaluate(old, value), tolerance)


def test_the_mask_of_infinite_entries():
    x = fg.var("x", (7**3, 3))
    z = fg.logsumexp(x, axis=1)
    roots = [z, fg.gradient(np.sum(z), x), np.exp(x - z[:, None])]
    found = share_exponentials(roots)
    assert count("exp", *found) == 1
    value = {"x": np.array(list(itertools.product(SPECIAL, repeat=3)))}
    with np.errstate(all="ignore"):
        for new, old in zip(found, roots, strict=True):
            np.testing.assert_allclose(fg.evaluate(new, value), fg.evaluate(old, value), 1e-12)


def test_a_difference_along_another_axis_is_left():
    x = fg.var("x", (3, 3))
    roots = [np.exp(x - fg.logsumexp(x, axis=1))]
    assert share_exponentials(roots)[0] is roots[0]


def test_sums_of_nothing_are_left():
    x = fg.var("x", (3, 0))
    z = fg.logsumexp(x, axis=1)
    roots = [z, np.exp(x - z[:, None])]
    assert share_exponentials(roots) == roots


def test_in_a_loop():
    def descend(x):
        slope = fg.grad(lambda x: fg.logsumexp(x @ x.T, axis=None) + fg.logsumexp(x[0]))
        return fg.scan(lambda x, _: (x - 0.1 * slope(x), None), x, None, length=4)[0]

    x = np.random.default_rng(0).standard_normal((3, 2))
    (found,) = share_exponentials([fg.trace(descend, x)])
    (body,) = [dict(e.params)["body"] for e in by_key(found).values() if "body" in dict(e.params)]
    assert (count("exp", *body.outputs), count("logsumexp", *body.outputs)) == (2, 0)
    pytest.importorskip("llvmlite")
    np.testing.assert_allclose(fg.jit(descend, native=True)(x), descend(x), 1e-13)

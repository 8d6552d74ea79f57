"""One exponential of each entry for a log-sum-exp and its slope."""

import itertools

import numpy as np
import pytest
from scipy import special

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
    roots = [z, fg.gradient(np.sum(z), x), x - z[:, None], np.exp(x - z[:, None])]
    found = share_exponentials(roots)
    assert count("exp", *found) == 1
    value = {"x": np.array(list(itertools.product(SPECIAL, repeat=3)))}
    with np.errstate(all="ignore"):
        for new, old in zip(found[:3], roots[:3], strict=True):
            np.testing.assert_allclose(fg.evaluate(new, value), fg.evaluate(old, value), 1e-12)
        wanted = special.softmax(value["x"], axis=1)  # NaN beside an infinite entry
        np.testing.assert_allclose(fg.evaluate(found[3], value), wanted, 1e-15)


def softmax_by_hand(x, axis):
    powers = np.exp(x - np.max(x, axis=axis, keepdims=True))
    return powers / np.sum(powers, axis=axis, keepdims=True)


def log_softmax_by_hand(x, axis):
    less = x - np.max(x, axis=axis, keepdims=True)
    return less - np.log(np.sum(np.exp(less), axis=axis, keepdims=True))


RUNS = {
    "jit": lambda f: fg.jit(f),
    "native": lambda f: fg.jit(f, native=True),
    "vmap": lambda f: lambda x: fg.vmap(f)(x[None])[0],
    "jvp": lambda f: lambda x: fg.jvp(f, (x,), (x,))[0],
}


@pytest.mark.parametrize("run", RUNS)
@pytest.mark.parametrize("dtype", [float, np.float32])
@pytest.mark.parametrize(
    "function", [special.softmax, special.log_softmax, softmax_by_hand, log_softmax_by_hand]
)
def test_values_are_those_of_scipy(function, dtype, run):
    if run == "native":
        pytest.importorskip("llvmlite")
    numbers = np.random.default_rng(0)
    for x in (
        np.array(list(itertools.product(SPECIAL, repeat=3))),
        numbers.standard_normal((5, 4)) + 1e3,
        numbers.standard_normal((5, 4)) * 30 + 1e9,
        np.where(numbers.random((6, 5)) < 0.4, -np.inf, numbers.standard_normal((6, 5))),
        np.array([[5.0]]),
    ):
        x = x.astype(dtype)
        for axis in (0, 1, (0, 1)):
            with np.errstate(all="ignore"):
                wanted = function(x, axis=axis)
                found = RUNS[run](lambda x: function(x, axis=axis))(x)  # noqa: B023
            eps = np.finfo(dtype).eps
            np.testing.assert_allclose(
                found, wanted, 8 * eps, 2 * eps * ("log" in function.__name__)
            )


@pytest.mark.parametrize("dtype", [float, np.float32])
def test_derivatives_at_large_entries(dtype):
    x = (np.array([0.3, -0.5, 1.2, 0.0]) + 1000).astype(dtype)
    s = special.softmax(x.astype(float) - 1000)
    hessian = np.diag(s) - np.outer(s, s)
    tolerance = 16 * np.finfo(dtype).eps
    for transform in (lambda f: f, fg.jit):
        for f, wanted in (
            (fg.jacobian(special.softmax), hessian),
            (fg.jacfwd(special.softmax), hessian),
            (fg.hessian(special.logsumexp), hessian),
            (fg.hessian(lambda x: special.log_softmax(x)[1]), -hessian),
            (fg.grad(lambda x: special.log_softmax(x)[1]), np.eye(4)[1] - s),
            (fg.grad(special.logsumexp), s),
            (fg.grad(lambda x: special.logsumexp(x, b=np.ones(4, dtype))), s),
        ):
            np.testing.assert_allclose(transform(f)(x), wanted, tolerance)


def test_the_softmax_of_plain_arrays_is_that_of_scipy():
    x = np.array([1000, 1001, -np.inf], np.float32)
    np.testing.assert_allclose(fg.softmax(x), special.softmax(x), 2e-7)
    np.testing.assert_allclose(fg.log_softmax(x), special.log_softmax(x), 2e-7)


def test_a_difference_along_another_axis_is_no_quotient():
    x = fg.var("x", (3, 3))
    root = np.exp(x - fg.logsumexp(x, axis=1))
    (found,) = share_exponentials([root])
    assert count("divide", found) == 0
    value = {"x": np.random.default_rng(0).standard_normal((3, 3))}
    np.testing.assert_allclose(fg.evaluate(found, value), fg.evaluate(root, value), 1e-14)


def test_differences_without_a_log_sum_exp_are_left():
    x = fg.var("x", 3)
    roots = [x - 1.0, x - fg.var("y", 3), 1.0 - x, fg.logsumexp(x) - 1.0, 1.0 - fg.logsumexp(x)]
    assert share_exponentials(roots) == roots


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

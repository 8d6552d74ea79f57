"""reduce, accumulate, iterate and associative_scan against Python's own."""

import functools
import itertools

import numpy as np
import pytest
import toolz

import funcgrad as fg

xs = np.random.default_rng(2).normal(size=7)


def step(y, x):
    return np.sin(y) * x + 0.3 * y


def test_reduce_and_accumulate_are_pythons():
    np.testing.assert_allclose(fg.reduce(step, xs, 0.5), functools.reduce(step, xs, 0.5))
    expected = list(itertools.accumulate(xs, step, initial=0.5))
    np.testing.assert_allclose(fg.accumulate(step, xs, 0.5), expected)
    rolled = fg.grad(lambda y: fg.reduce(step, xs, y) + np.sum(fg.accumulate(step, xs, y)))
    plain = fg.grad(
        lambda y: functools.reduce(step, xs, y) + sum(itertools.accumulate(xs, step, initial=y))
    )
    np.testing.assert_allclose(rolled(0.5), plain(0.5), rtol=1e-13)
    np.testing.assert_allclose(fg.grad(rolled)(0.5), fg.grad(plain)(0.5), rtol=1e-12)


def test_iterate_is_toolzs():
    def logistic(x):
        return 3.7 * x * (1 - x)

    expected = list(toolz.take(6, toolz.iterate(logistic, 0.2)))
    np.testing.assert_allclose(fg.iterate(logistic, 0.2, 6), expected)
    np.testing.assert_allclose(
        fg.jacobian(lambda x: fg.iterate(logistic, x, 6))(0.2),
        [fg.grad(lambda x, n=n: toolz.nth(n, toolz.iterate(logistic, x)))(0.2) for n in range(6)],
        rtol=1e-12,
    )
    np.testing.assert_array_equal(fg.iterate(logistic, 0.2, 1), [0.2])


def test_they_compose_by_toolz():
    total = toolz.compose(np.sum, toolz.curry(fg.accumulate, step, xs))
    assert toolz.pipe(total, fg.grad)(0.1) == fg.grad(total)(0.1)


@pytest.mark.parametrize("n", [0, 1, 2, 5, 8])
@pytest.mark.parametrize("reverse", [False, True])
def test_associative_scan_of_a_function_that_does_not_commute(n, reverse):
    a = np.random.default_rng(n).normal(size=(n, 2, 2))

    def product(x, y):
        return y @ x if reverse else x @ y

    order = a[::-1] if reverse else a
    expected = list(itertools.accumulate(order, (lambda x, y: y @ x) if reverse else np.matmul))
    expected = np.array(expected).reshape(n, 2, 2)
    got = fg.associative_scan(product, a, reverse=reverse)
    np.testing.assert_allclose(got, expected[::-1] if reverse else expected, rtol=1e-12)


def test_associative_scan_on_trees_axes_and_under_grad():
    # A linear recurrence y = a*y + b as a scan of affine maps.
    a, b = xs, xs[::-1].copy()

    def after(f, g):
        return {"a": f["a"] * g["a"], "b": g["a"] * f["b"] + g["b"]}

    def solve(a):
        return fg.associative_scan(after, {"a": a, "b": b})["b"]

    def plain(a):
        return fg.accumulate(lambda y, ab: ab[0] * y + ab[1], (a, b), 0.0)[1:]

    np.testing.assert_allclose(solve(a), plain(a), rtol=1e-12)
    np.testing.assert_allclose(fg.jacobian(solve)(a), fg.jacobian(plain)(a), rtol=1e-10, atol=1e-12)
    table = xs[:6].reshape(2, 3)
    np.testing.assert_allclose(fg.associative_scan(np.add, table, axis=1), np.cumsum(table, 1))


def test_bad_input():
    with pytest.raises(ValueError, match="iterate: expected a number of values"):
        fg.iterate(np.sin, 1.0, 0)
    with pytest.raises(ValueError, match="associative_scan: expected arrays of one length"):
        fg.associative_scan(np.add, 3.0)
    with pytest.raises(TypeError, match="carry"):
        fg.reduce(lambda y, x: np.ones(2), xs, np.zeros(3))


def test_without_an_initial_value_the_first_begins():
    np.testing.assert_allclose(fg.reduce(step, xs), functools.reduce(step, xs))
    np.testing.assert_allclose(fg.accumulate(step, xs), list(itertools.accumulate(xs, step)))
    rolled = fg.grad(lambda xs: fg.reduce(step, xs) + np.sum(fg.accumulate(step, xs)))
    plain = fg.grad(lambda xs: functools.reduce(step, xs) + sum(itertools.accumulate(xs, step)))
    np.testing.assert_allclose(rolled(xs), plain(xs), rtol=1e-12)
    pairs = {"a": xs, "b": [xs**2]}
    total = fg.reduce(lambda y, x: {"a": y["a"] * x["a"], "b": [y["b"][0] + x["b"][0]]}, pairs)
    np.testing.assert_allclose((total["a"], total["b"][0]), (np.prod(xs), np.sum(xs**2)))
    assert fg.reduce(step, xs[:1]) == xs[0]
    for nothing in (xs[:0], 1.0, [1.0, 2.0], ()):
        with pytest.raises(
            TypeError, match="reduce: expected arrays with a first entry to begin w"
        ):
            fg.reduce(step, nothing)


def test_a_prefix_scan_of_a_function_that_drops_entries_is_refused():
    for f in (lambda a, b: a[:1] + b[:1], lambda a, b: np.sum(a + b)):
        with pytest.raises(ValueError, match=r"associative_scan: .* of its arguments, \[\(2,\)\]"):
            fg.associative_scan(f, np.arange(3.0))

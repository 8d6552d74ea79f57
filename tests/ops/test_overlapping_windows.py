"""Overlapping windows: values are those of NumPy's views, sums those at a table of places."""

import numpy as np
import pytest

import funcgrad as fg
from funcgrad.arrays.reference import current
from funcgrad.expr import subexpressions
from funcgrad.ops.overlapping_windows import added_windows_op, overlapping_windows_op

windows = np.lib.stride_tricks.sliding_window_view
X = np.random.default_rng(0).normal(size=(7, 9))
FUNCTIONS = {
    "rows": lambda x: windows(x, 4, axis=1) ** 3,
    "both axes": lambda x: np.max(windows(x, (3, 2)), axis=(2, 3)),
    "one axis twice": lambda x: np.sin(windows(x, (3, 2), axis=(0, 0))),
    "every other window, turned round": lambda x: (
        windows(x, 5, axis=1)[:, ::2, ::-1] * np.arange(5.0)
    ),
    "as long as the axis": lambda x: windows(x, 7, axis=0) ** 2,
    "a window of one": lambda x: windows(x, 1, axis=0) ** 2,
    "one window": lambda x: windows(x, (3, 3))[1, 2] ** 2,
    "one entry": lambda x: windows(x, 3, axis=1)[1, 2, 1] ** 2,
    "of a slice": lambda x: windows(x[::2, 1:], 3, axis=1) ** 2,
    "of a transpose": lambda x: windows(x.T, 3, axis=0) ** 2,
    "rows of a step of 0": lambda x: np.lib.stride_tricks.as_strided(x, (3, 63), (0, 8)) ** 2,
    "windows of a step of 0": lambda x: (
        np.lib.stride_tricks.as_strided(x, (9, 3, 8), (8, 0, 16)) * np.arange(3.0)[:, None]
    ),
    "by strides": lambda x: np.lib.stride_tricks.as_strided(x, (10, 6), (40, 16)) ** 2,
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_windows_in_every_mode(name):
    f = FUNCTIONS[name]
    np.testing.assert_allclose(fg.jit(f)(X), f(X), rtol=1e-15)
    fg.check_grads(f, (X,), order=2)
    slope = fg.grad(lambda x: np.sum(f(x) * np.cos(f(X))))
    np.testing.assert_allclose(
        fg.vmap(slope)(np.stack([X, -X]))[1], slope(-X), rtol=1e-12, atol=1e-14
    )
    if "step of 0" not in name and name != "by strides":  # which are of float64
        assert fg.jit(slope)(X.astype(np.float32)).dtype == np.float32


@pytest.mark.parametrize(
    ("shape", "steps", "start"),
    [
        ((91, 10), (1, 1), 0),
        ((10, 91), (1, 1), 0),
        ((91, 3), (1, 1), 3),
        ((40, 20), (2, 1), 1),
        ((12, 5, 20), (5, 0, 2), 4),
        ((8, 9, 3, 3), (10, 1, 10, 1), 0),
        ((20, 30), (-1, 2), 25),
        ((0, 5), (1, 1), 0),
    ],
)
def test_windows_are_added_at_their_places(shape, steps, start):
    g = np.random.default_rng(1).normal(size=(2, *shape))
    places = start + sum(np.ix_(*[np.arange(n) * s for n, s in zip(shape, steps, strict=True)]))
    want = np.zeros((2, 110))
    for row, entries in zip(want, g, strict=True):
        np.add.at(row, places, entries)
    found = added_windows_op(g, steps=steps, start=start, length=110)
    np.testing.assert_allclose(found, want, rtol=1e-12, atol=1e-13)
    x = np.arange(110.0)
    made = overlapping_windows_op(x, shape=shape, steps=steps, start=start)
    np.testing.assert_array_equal(made, x[places])
    assert not made.flags.writeable


@pytest.mark.parametrize("indexing", ["xy", "ij"])
def test_a_meshgrid_is_broadcast(indexing):
    def f(x):
        a, b = np.meshgrid(x, x[1:], indexing=indexing)
        return np.exp(a) * b**2

    formula = fg.trace(f, np.zeros(5))
    assert "overlapping_windows" not in [e.op.name for e in subexpressions(formula)]
    x = np.linspace(0.5, 1.5, 5)
    np.testing.assert_array_equal(fg.evaluate(formula, x=x), f(x))
    fg.check_grads(f, (x,), order=2)


def test_windows_make_no_table_of_places():
    def f(x):
        y = windows(x, 500)[::4]
        assert current(y).op is overlapping_windows_op
        return np.sum(np.mean(y, axis=1) ** 2)

    x = np.random.default_rng(2).normal(size=3000)
    y = windows(x, 500)[::4]
    want = np.zeros(3000)
    for k, mean in enumerate(np.mean(y, axis=1)):
        want[4 * k : 4 * k + 500] += 2 * mean / 500
    np.testing.assert_allclose(fg.grad(f)(x), want, rtol=1e-12, atol=1e-15)


def test_a_jitted_function_returns_windows_that_are_its_own():
    f = fg.jit(lambda x: windows(np.sin(x), 3))
    x = np.arange(5000.0)
    for _ in range(4):
        found = f(x)
    kept = found.copy()
    f(2 * x)
    np.testing.assert_array_equal(found, kept)
    own = fg.jit(lambda x: windows(x, 3))(x)
    assert not np.shares_memory(own, x)

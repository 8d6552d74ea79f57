"""Sorts whose places nothing reads are NumPy's sorts of values."""

import numpy as np
import pytest

import funcgrad as fg
from funcgrad.compiler.flat_program import flatten_program
from funcgrad.compiler.ir_rewriter import eliminate_dead_steps
from funcgrad.compiler.passes.sorted_values import sort_values


def names(roots, inputs):
    flat = eliminate_dead_steps(sort_values(flatten_program(roots, inputs)))
    return [step.op.name for step in flat.steps]


X, ROWS = fg.var("x", 100), fg.var("m", (4, 100))


@pytest.mark.parametrize(
    ("roots", "x"),
    [
        ([np.sort(X)], X),
        ([np.sort(ROWS)], ROWS),
        ([np.sort(ROWS.T, axis=0)], ROWS),
        ([np.sort(ROWS, axis=1)[:, ::2] * 2.0], ROWS),
        ([np.sort(ROWS, axis=None)], ROWS),
    ],
)
def test_places_that_nothing_else_reads_are_not_sorted(roots, x):
    found = names(roots, [x])
    assert "sorted" in found
    assert "argsort" not in found
    assert "getitem" not in found or len(roots[0].args) > 1


@pytest.mark.parametrize(
    ("roots", "x"),
    [
        ([np.sort(X), np.argsort(X)], X),
        ([(X * 2.0)[np.argsort(X)]], X),
        ([fg.gradient(np.sum(np.sort(X) * np.arange(100.0)), X)], X),
        ([X[np.argsort(X)][np.argsort(X)]], X),
        ([ROWS[np.array([0, 1, 0, 3])[:, None], np.argsort(ROWS, axis=1)]], ROWS),
        ([ROWS[np.argsort(ROWS, axis=1) % 4, np.arange(100)]], ROWS),
        ([ROWS[:, np.argsort(ROWS[0])]], ROWS),
        ([np.sort(fg.var("y", 64))], fg.var("y", 64)),
    ],
)
def test_places_that_something_reads_stay(roots, x):
    found = names(roots, [x])
    assert "sorted" not in found
    assert "argsort" in found


@pytest.mark.parametrize("dtype", [float, np.float32, complex, int, bool])
@pytest.mark.parametrize("axis", [0, 1, None])
def test_values(dtype, axis):
    x = np.random.default_rng(0).normal(size=(70, 80)) * 3
    x[3, 5] = x[9, 1] = np.nan
    with np.errstate(invalid="ignore"):
        x = x.astype(dtype)
    f = fg.jit(lambda x: np.sort(x, axis=axis))
    for _ in range(3):
        np.testing.assert_array_equal(f(x), np.sort(x, axis=axis))
    assert "sorted(" in str(f.lower(x))


def test_values_beside_a_gradient():
    x = np.random.default_rng(0).normal(size=(100, 3))
    weights = np.arange(100.0)[:, None]
    f = fg.jit(fg.value_and_grad(lambda x: np.sum(np.sort(x, axis=0) * weights)))
    value, slope = f(x)
    assert value == pytest.approx(np.sum(np.sort(x, axis=0) * weights), rel=1e-14)
    np.testing.assert_array_equal(slope, np.argsort(np.argsort(x, axis=0), axis=0))

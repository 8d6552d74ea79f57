"""Comparisons of differentiated values with equal numbers, by which code may look up a kept result."""

import warnings

import numpy as np
import pytest

import funcgrad as fg


class Kept:
    """An objective that keeps its last argument and result."""

    def __init__(self, is_same):
        self.x, self.is_same = None, is_same

    def value(self, x):
        if self.x is None or not self.is_same(x, self.x):
            self.x, self.squares = np.copy(x), np.sum(x**2)
        return self.squares * x[0]


@pytest.mark.parametrize(
    "is_same",
    [
        np.array_equal,
        np.array_equiv,
        lambda x, y: np.all(x == y),
        lambda x, y: (x == y).all(),
        lambda x, y: not np.any(x != y),
        lambda x, y: not (x != y).any(),
        np.allclose,
        lambda x, y: np.all(np.isclose(x, y)),
        lambda x, y: np.linalg.norm(x - y) < 1e-12,
        lambda x, y: np.max(np.abs(x - y)) <= 1e-12,
        lambda x, y: not (np.abs(y - x) > 1e-12).any(),
        lambda x, y: np.sum((x - y) ** 2) == 0,
    ],
)
@pytest.mark.parametrize("adopted", [True, False])
def test_a_kept_result_of_the_same_numbers_is_warned_of(is_same, adopted):
    kept, at = Kept(is_same), np.array([1.3, 2.5])
    kept.value(at)
    f = kept.value if adopted else fg.adopt(kept.value, False)
    for transform in (fg.grad, lambda f: fg.jit(fg.grad(f))):
        with pytest.warns(UserWarning, match="numbers that are equal.*has no derivative"):
            transform(f)(at)


def test_no_other_comparison_is_warned_of():
    at = np.array([1.3, 2.5])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fresh = Kept(np.array_equal)
        wanted = 2 * at * at[0] + [np.sum(at**2), 0.0]
        np.testing.assert_allclose(fg.grad(fresh.value)(at), wanted)
        for f in (
            lambda x: x if x == 0 else x * x,
            lambda x: x if x == 1.3 else x * x,
            lambda x: x if x != 1.3 else x * x,
            lambda x: x if abs(x - 1.3) < 1e-9 else x * x,
            lambda x: x if x == 1.3 + 1e-9 else x * x,
            lambda x: x if x != 1.3 + 1e-9 else x * x,
            lambda x: x * fg.stop_gradient(x) if fg.stop_gradient(x) == 1.3 else x,
            lambda x: x if x == x * 1.0 else 0.0,
            lambda x: x if x < 2.5 and abs(x - 1.0) < 0.5 and abs(x - 1.2) < 0.2 else 0.0,
            lambda x: x if abs(x) > 0 and x >= 1.0 else 0.0,
        ):
            fg.grad(f)(1.3)
        fg.grad(lambda x: x if x == 1 else x * x)(1.0)
        fg.grad(lambda v: v[0] if np.array_equal(v, np.zeros(2)) else v[1])(np.zeros(2))
        fg.jit(lambda x: x if x == 1.3 else x * x)(1.3)

"""Roots of sums of squares that are no norm: their slope where all squares are 0 is 0, as that of a norm."""

import numpy as np
import pytest

import funcgrad as fg

W = np.array([1.0, 2.0, 3.0])
ROOTS = {
    "quotient": lambda x, s: np.sqrt(np.sum(x**2) / s),
    "product": lambda x, s: s * np.sqrt(s * (x @ x)),
    "power": lambda x, s: (np.mean(x**2) / np.exp(s)) ** 0.5,
    "weights": lambda x, s: np.sqrt(np.sum(s * W * x**2)),
    "weights in a product": lambda x, s: np.sqrt(W @ x**2) * s,
    "sum": lambda x, s: np.sqrt(s * x[0] ** 2 + 3.0 * (x[1] - x[2]) ** 2),
    "Python's sum": lambda x, s: np.sqrt(sum(s * a**2 for a in x)),
    "a sum that begins with 0": lambda x, s: (0.0 + np.sum(s * x**2) + x[0] ** 2) ** 0.5,
    "a sum of a list": lambda x, s: np.sqrt(np.sum([s * x[0] ** 2, x[1] ** 4, x[2] ** 2])),
    "rows from 0": lambda x, s: np.sum(np.sqrt(sum(s * row**2 for row in np.outer(W, x)))),
    "rows": lambda x, s: np.sum(np.sqrt(np.sum(np.outer(x, W) ** 2, axis=1) / s)),
    "running sum": lambda x, s: np.sum(np.sqrt(np.cumsum(s * x**2))),
    "entries": lambda x, s: np.sum(np.sqrt((s * x**2)[1:])) + np.sqrt((x**2 / s)[[0, 1]])[0],
    "fourth powers": lambda x, s: np.sqrt(np.sum(x**4) * s),
    "cube root": lambda x, s: np.cbrt(s * np.sum(x**4)),
    "norm of order 3": lambda x, s: s * np.sum(np.abs(x) ** 3) ** (1 / 3),
    "sizes of cubes": lambda x, s: np.sum(s * np.fabs(x**3)) ** (1 / 3),
    "norm of order 4": lambda x, s: np.sum(s * np.abs(x) ** 4) ** (1 / 4),
    "norm of order 49": lambda x, s: np.sum(s * np.abs(x) ** 49) ** (1 / 49),
    "norms of order 2.5": lambda x, s: np.sum(
        np.sum(np.abs(np.outer(x, W) / s) ** 2.5, axis=1) ** (1 / 2.5)
    ),
    "root of a root": lambda x, s: np.sqrt(np.sqrt(s * np.sum(x**4))),
}


@pytest.mark.parametrize("name", ROOTS)
def test_the_slope_where_all_squares_are_zero_is_zero(name):
    f, x, s = ROOTS[name], np.zeros(3), 0.7
    for g in (fg.grad(f, (0, 1)), fg.jit(fg.grad(f, (0, 1))), fg.jacfwd(f, (0, 1))):
        np.testing.assert_array_equal(g(x, s)[0], 0.0)
        assert g(x, s)[1] == 0.0
    for g in (fg.grad(f), fg.jit(fg.grad(f)), lambda x, s: fg.vjp(f, x, s)[1](1.0)[0]):
        np.testing.assert_array_equal(g(x, s), 0.0)
    np.testing.assert_array_equal(fg.vmap(fg.grad(f))(x[None], np.array([s]))[0], 0.0)
    assert fg.jvp(f, (x, s), (W, 1.0))[1] == 0.0


@pytest.mark.parametrize("name", ROOTS)
def test_slopes_elsewhere_are_those_of_the_formula(name):
    f = ROOTS[name]
    fg.check_grads(f, (np.array([0.3, 0.5, -0.7]), 0.7), order=2)
    fg.check_grads(lambda v: f(np.stack([0.4, 0.0, v]), 0.7), (0.3,), order=2)


def test_only_the_sizes_that_are_squared_make_a_slope_zero():
    # A factor of 0 has an infinite slope, and a root of an odd sum that is 0 as well.
    assert np.isinf(fg.grad(lambda s: np.sqrt(s * np.sum(W**2)))(0.0))
    assert np.isinf(fg.grad(lambda x, s: np.sqrt(s * np.sum(x**2)), 1)(W, 0.0))
    assert fg.grad(lambda x: np.sqrt(np.sum(x**3)))(np.array([1.0, -1.0]))[0] == np.inf
    # |x|**(2/3) has infinite slopes at both sides.
    assert np.isnan(fg.grad(lambda x, s: np.cbrt(s * x**2))(0.0, 0.7))
    assert np.isnan(fg.grad(lambda x, s: np.sqrt(s * x**1.5))(0.0, 0.7))
    assert np.isnan(fg.grad(lambda x, s: np.sqrt(s * np.abs(x) ** 1.9))(0.0, 0.7))
    # This is 0.7**(1/3)*x, whose slope is not 0.
    for power in (lambda x: x**3, lambda x: x**4 / x, lambda x: 2.0 * np.sum(x**3)):
        assert np.isnan(fg.grad(lambda x, s, power=power: np.cbrt(s * power(x)))(0.0, 0.7))
    # Another sum than one with 0 has no root there, or a slope of 0 anyway.
    assert np.isnan(fg.grad(lambda x, y: np.sqrt(x**2 + y), (0, 1))(0.0, 0.0)[0])
    assert np.isnan(fg.grad(lambda x: np.sqrt(np.sum([x[0] ** 2, x[1]])))(np.zeros(2))[0])
    assert fg.grad(lambda x: np.sqrt(x**2 + 1.0))(0.0) == 0.0
    # The value is no number.
    assert np.isnan(fg.grad(lambda x: np.sqrt(x**2 / x))(0.0))
    assert np.isnan(fg.jvp(lambda x: np.sqrt(np.sum(x**4 / x**2)), (np.zeros(3),), (W,))[1])
    # The value is infinite, too.
    assert np.isnan(fg.grad(lambda x: np.sum(W * x**2) ** -0.5)(np.zeros(3))).all()


def test_values_are_those_of_the_formula():
    for f in ROOTS.values():
        for s in (0.7, 0.0, -0.0, -2.0, np.inf):
            with np.errstate(all="ignore"):
                wanted = f(np.zeros(3), np.float64(s))
            np.testing.assert_array_equal(fg.jit(f)(np.zeros(3), s), wanted)
            np.testing.assert_array_equal(fg.jit(fg.value_and_grad(f))(np.zeros(3), s)[0], wanted)


def test_formulas_show_no_guard():
    x, s = fg.var("x", (3,)), fg.var("s")
    assert repr(fg.gradient(np.sqrt(np.sum(s * x**4)), x)) == "2*s*x**3/sqrt(s*sum(x**4))"
    assert repr(fg.gradient(np.sqrt(x[0] ** 2 + s * x[1] ** 2), x)) == (
        "let a = sqrt(x[0]**2 + s*x[1]**2)\nin array([x[0]/a, s*x[1]/a, 0])"
    )

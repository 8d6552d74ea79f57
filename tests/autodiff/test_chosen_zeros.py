"""Roots of products with a zero that a choice has put there: the slope in the other factors is 0, not NaN."""

import numpy as np
import pytest

import funcgrad as fg

ROOTS = {
    "root": lambda x, h: np.sqrt(np.maximum(x, 0.0) * h),
    "cube root": lambda x, h: np.cbrt(h * np.maximum(0.0, x)),
    "power": lambda x, h: (np.maximum(x, 0.0) * h) ** 0.3,
    "where": lambda x, h: np.sqrt(np.where(x > 0, x, 0.0) * h),
    "where not": lambda x, h: (np.where(x <= 0, 0.0, x * x) / h) ** 0.25,
    "minimum": lambda x, h: np.sqrt(-np.minimum(-x, 0.0) * h),
    "several factors": lambda x, h: np.sqrt(np.maximum(x, 0.0) * 3.0 * h * (1.0 + h)),
    "sum": lambda x, h: np.sqrt(np.sum(np.maximum(x * np.array([1.0, 2.0]), 0.0) * h)),
    "quotient": lambda x, h: np.sqrt(2.0 * np.maximum(x, 0.0) / h),
}


@pytest.mark.parametrize("x", [-1.0, 0.0])
@pytest.mark.parametrize("name", ROOTS)
def test_the_slope_in_another_factor_is_zero(name, x):
    f, h = ROOTS[name], 0.7
    slope = fg.grad(f, argnums=1)
    xs, hs = np.array([x, x]), np.array([h, 2.0])
    assert fg.grad(f, argnums=(0, 1))(x, h)[1] == 0.0
    assert fg.jit(slope)(x, h) == 0.0
    assert fg.jit(fg.jacfwd(f, argnums=1))(x, h) == 0.0
    assert fg.jit(lambda x, h: fg.jvp(lambda h: f(x, h), (h,), (1.0,))[1])(x, h) == 0.0
    assert fg.jit(lambda x, h: fg.grad(lambda h: f(x, h))(h))(x, h) == 0.0
    np.testing.assert_array_equal(fg.vmap(slope)(xs, hs), 0.0)
    np.testing.assert_array_equal(fg.vmap(slope, in_axes=(0, None))(xs, h), 0.0)
    np.testing.assert_array_equal(fg.jit(fg.vmap(slope, in_axes=(0, None)))(xs, h), 0.0)
    assert fg.hessian(f, argnums=(0, 1))(x, h)[1][1] == 0.0


@pytest.mark.parametrize("name", ROOTS)
def test_slopes_elsewhere_are_those_of_the_formula(name):
    f, x, h, d = ROOTS[name], 1.3, 0.7, 1e-6
    wanted = [(f(x + d, h) - f(x - d, h)) / (2 * d), (f(x, h + d) - f(x, h - d)) / (2 * d)]
    for how in (fg.grad, fg.jacfwd):
        assert how(f, argnums=(0, 1))(x, h) == pytest.approx(wanted, rel=1e-7)
        assert fg.jit(how(f, argnums=(0, 1)))(x, h) == pytest.approx(wanted, rel=1e-7)
    fg.check_grads(f, (x, h), order=2)
    assert fg.grad(f)(-1.0, h) == 0.0


def test_a_computed_zero_times_an_infinite_slope_stays_nan():
    assert np.isnan(fg.grad(lambda x, h: np.sqrt((x - 1.0) * h), argnums=(0, 1))(1.0, 0.7)[1])
    assert np.isnan(fg.grad(lambda h: np.sqrt(np.maximum(np.nan * h, 0.0) * h))(0.7))
    assert np.isinf(
        fg.grad(ROOTS["root"])(0.0, 0.7)
    )  # the slope of a root at 0, where both choices share


TABLE = np.array([0.0, 1.0, 4.0, -0.0])
FIXED = {
    "root": lambda x, h: np.sqrt(x * h),
    "power": lambda x, h: (h * x) ** 0.5,
    "cube root": lambda x, h: np.cbrt(x * 2.0 * np.exp(h)),
    "quotient": lambda x, h: np.sqrt(x / h),
    "sums": lambda x, h: np.sqrt(x * h + x * x * (h * h)),
    "below other functions": lambda x, h: np.log1p(np.sqrt(-(-x * h))) ** 2,
    "an axis": lambda x, h: np.sqrt(x[:, None] * np.stack([h, 2.0 * h])),
    "what is computed of it": lambda x, h: np.sqrt((x**2 + x) * h),
}


@pytest.mark.parametrize("name", FIXED)
def test_zeros_of_what_is_not_differentiated_are_constants(name):
    f, h, d = FIXED[name], 0.7, 1e-6

    def total(h, x=TABLE):
        return np.sum(f(x, h))

    def by_parts(h, x=TABLE):
        return fg.jvp(lambda h: total(h, x), (h,), (1.0,))[1]

    slope = (total(h + d) - total(h - d)) / (2 * d)
    bend = (total(h + 1e-4) - 2 * total(h) + total(h - 1e-4)) / 1e-8
    for g in (fg.grad(total), by_parts):
        for found in (g(h), fg.jit(g)(h), g(h, TABLE), fg.jit(g)(h, TABLE)):
            assert found == pytest.approx(slope, rel=1e-7)
        assert fg.vmap(g)(np.array([h]))[0] == pytest.approx(slope, rel=1e-7)
        assert fg.jit(fg.vmap(g))(np.array([h]))[0] == pytest.approx(slope, rel=1e-7)
        assert fg.grad(g)(h) == pytest.approx(bend, rel=1e-5)
    _, slopes = fg.scan(lambda c, x: (c, fg.grad(lambda h: total(h, x))(h)), 0.0, TABLE[None])
    assert slopes[0] == pytest.approx(slope, rel=1e-7)


def test_zeros_of_what_is_differentiated_have_the_slope_of_the_root():
    slope = fg.grad(lambda x: np.sum(np.sqrt(x * TABLE)))(np.array([0.0, 0.0, 1.0, 2.0]))
    np.testing.assert_array_equal(slope, [0.0, np.inf, 1.0, 0.0])

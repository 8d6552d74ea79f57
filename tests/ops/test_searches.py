"""Searches by comparisons that are written by hand, whose result has no derivative."""

import math
import warnings

import numpy as np
import pytest

import funcgrad as fg


def cube_root(p, goes_up, steps=40):
    low, high = 0.0, 3.0
    for _ in range(steps):
        middle = (low + high) / 2
        if goes_up(lambda x: x**3 - p, low, middle):
            low = middle
        else:
            high = middle
    return p * middle


def golden_section(p):
    ratio = (math.sqrt(5) - 1) / 2
    low, high = 0.0, 3.0
    while high - low > 1e-6:
        left, right = high - ratio * (high - low), low + ratio * (high - low)
        if (left - p) ** 2 < (right - p) ** 2:
            high = right
        else:
            low = left
    return p * low


SEARCHES = [
    lambda p: cube_root(p, lambda f, low, middle: f(middle) < 0),
    lambda p: cube_root(p, lambda f, low, middle: f(middle) <= 0),
    lambda p: cube_root(p, lambda f, low, middle: f(low) * f(middle) > 0),
    lambda p: cube_root(p, lambda f, low, middle: np.sign(f(low)) == np.sign(f(middle))),
    lambda p: cube_root(p, lambda f, low, middle: np.sign(f(low)) * np.sign(f(middle)) > 0),
    golden_section,
]


@pytest.mark.parametrize("f", SEARCHES)
def test_a_search_by_comparisons_is_warned_of_once(f):
    for transform in (
        lambda f: fg.grad(f)(1.7),
        lambda f: fg.jit(fg.grad(f))(1.7),
        lambda f: fg.jvp(f, (1.7,), (1.0,)),
    ):
        with pytest.warns(UserWarning, match="bisection.*constant.*brentq") as told:
            transform(f)
        assert len(told) == 1


def fixed_point(p):
    x, largest = 1.0, 0.0
    for _ in range(20):
        new = p * math.cos(x) + 0.4
        if new > x:
            largest = new
        x = new
    return x * largest


def safeguarded_newton(p):
    x = 1.5
    for _ in range(20):
        step = (x**3 - p) / (3 * x**2)
        x = x - (step if step > 0 else 0.9 * step)
    return x


def losses(p):
    residuals = np.random.default_rng(0).standard_normal(64)
    return sum([(r - p) if r > p else 0.5 * (p - r) for r in residuals])


def leaky_sum(p):
    """Of data that fall in size and change their sign, which are no points of a search."""
    data = [math.cos(k) * math.exp(-0.8 * k) for k in range(20)]
    return sum([p * r if p * r > 0 else 0.1 * p * r for r in data])


def stopped(p):
    return p * cube_root(fg.stop_gradient(p), lambda f, low, middle: f(middle) < 0)


def test_comparisons_of_other_loops_are_not_warned_of():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fg.jit(SEARCHES[0])(1.7)  # no derivative is asked
        for f in (fixed_point, safeguarded_newton, losses, leaky_sum, stopped):
            slope = fg.grad(f)(0.4)
            np.testing.assert_allclose(fg.jit(fg.grad(f))(0.4), slope, rtol=1e-9)
            if f is not stopped:
                wanted = (f(0.4 + 1e-6) - f(0.4 - 1e-6)) / 2e-6
                np.testing.assert_allclose(slope, wanted, rtol=1e-5)

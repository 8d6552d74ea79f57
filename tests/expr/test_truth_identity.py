"""Comparisons whose truth value code looks for by `is`, or by the pattern True."""

import numpy as np
import pytest

import funcgrad as fg


def affirmed(x):
    return x * x if (x > 0) is True else -x


def denied(x):
    return x * x if (x != 1.0) is not False else 3.0 * x


def matched(x):
    match x >= 0.5:
        case True:
            return x**3
        case False:
            return 2.0 * x


def matched_pair(x):
    match (x < 1.0, x):
        case (True, v) if v > 0:
            return v * v
        case (True, v):
            return 5.0 * v
        case (False, v):
            return v**3


CASES = [affirmed, denied, matched, matched_pair]
PLACES = [0.7, -0.4, 1.5, 1.0]


@pytest.mark.parametrize("f", CASES)
def test_a_comparison_of_pythons_numbers_is_a_truth_value(f):
    jitted, slope = fg.jit(f), fg.jit(fg.grad(f))
    for x in PLACES:
        expected = (f(x + 1e-7) - f(x - 1e-7)) / 2e-7
        assert jitted(x) == f(x)
        if x != 1.0:
            np.testing.assert_allclose(fg.grad(f)(x), expected, rtol=1e-6)
            np.testing.assert_allclose(slope(x), expected, rtol=1e-6)
            np.testing.assert_allclose(fg.jvp(f, (x,), (1.0,))[1], expected, rtol=1e-6)
    assert len({fg.grad(f)(x) for x in PLACES}) > 2


def test_a_comparison_of_numpys_numbers_is_not_pythons():
    def first(a):
        return a[0] * 2.0 if (a[0] > 0) is True else a[0] * 3.0

    a = np.array([1.0, 2.0])
    assert first(a) == 3.0
    assert fg.jit(first)(a) == 3.0
    np.testing.assert_array_equal(fg.grad(first)(a), [3.0, 0.0])


def test_a_flag_leaves_the_comparisons_beside_it_as_they_are():
    traces = []

    def f(x, flag=True):
        traces.append(0)
        y = np.where(x > 0, x, -2.0 * x)
        return y if flag is True else -y

    g = fg.jit(f)
    assert (g(1.0), g(-1.0)) == (1.0, 2.0)
    assert len(traces) == 1


def test_examples_of_a_batch_are_numpys():
    xs = np.array([0.7, -0.4, 1.5])
    for f in (affirmed, denied):
        np.testing.assert_allclose(fg.vmap(f)(xs), [f(x) for x in xs])


def test_a_variable_has_no_truth_value():
    x = fg.var("x")
    assert ((x > 0) is True) is False

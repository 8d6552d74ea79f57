"""Sorts whose largest entry comes first, a keyword of NumPy 2.5: NaN is last, and ties keep their order."""

import inspect

import numpy as np
import pytest

import funcgrad as fg
from funcgrad.ops.scans_and_sorts import argsort, sort

HAS_KEYWORD = "descending" in inspect.signature(np.sort).parameters
X = np.array([np.nan, 1.0, 3.0, 2.0, np.nan, 3.0, -0.0, 0.0, np.inf])
CASES = {
    "floats": (X, [np.inf, 3.0, 3.0, 2.0, 1.0, -0.0, 0.0, np.nan, np.nan]),
    "integers": (np.array([3, -128, 127, 3], np.int8), [127, 3, 3, -128]),
    "unsigned": (np.array([3, 0, 255], np.uint8), [255, 3, 0]),
    "bools": (np.array([True, False, True]), [True, True, False]),
    "complex": (np.array([1 + 2j, 0, 1 - 1j]), [1 + 2j, 1 - 1j, 0]),
    "none": (np.empty(0), []),
}


@pytest.mark.parametrize("name", CASES)
def test_the_largest_comes_first(name):
    x, expected = CASES[name]
    entries = fg.var("x", x.shape, x.dtype)
    found = np.asarray(sort(entries, descending=True)(x=x))
    assert found.dtype == x.dtype
    np.testing.assert_array_equal(found, np.array(expected, x.dtype))
    np.testing.assert_array_equal(x[argsort(entries, descending=True)(x=x)], found)
    if HAS_KEYWORD:
        np.testing.assert_array_equal(np.sort(x, descending=True), found)
        np.testing.assert_array_equal(
            np.argsort(x, stable=True, descending=True), argsort(entries, descending=True)(x=x)
        )


def test_ties_keep_their_order():
    places = argsort(fg.var("x", (5,)), descending=True)(x=np.array([1.0, 2.0, 1.0, 2.0, 1.0]))
    assert places.tolist() == [1, 3, 0, 2, 4]


@pytest.mark.parametrize("how", [lambda f: f, fg.jit], ids=["un-jitted", "jitted"])
def test_the_gradient_follows_the_entries(how):
    weights, x = np.arange(4.0), np.array([0.3, 2.0, -1.2, 0.7])
    slope = how(fg.grad(lambda x: np.sum(sort(x, descending=True) * weights)))(x)
    assert slope.tolist() == [2.0, 0.0, 3.0, 1.0]


@pytest.mark.skipif(not HAS_KEYWORD, reason="NumPy before 2.5")
def test_arrays_are_sorted_in_place():
    def loss(x):
        y = x.copy()
        y.sort(descending=True)
        return np.sum(y * np.arange(4)) + x[np.argsort(x, descending=True)][0]

    assert fg.grad(loss)(np.array([0.3, 2.0, -1.2, 0.7])).tolist() == [2.0, 1.0, 3.0, 1.0]


def test_an_order_of_fields_is_refused():
    with pytest.raises(ValueError, match="sort: expected no order for"):
        fg.grad(lambda x: np.sum(np.sort(x, order="a")))(np.ones(3))

"""Sums of trees."""

from collections import namedtuple
from functools import reduce

import numpy as np
import pytest

import funcgrad as fg

Pair = namedtuple("Pair", "w b")


def test_gradients_of_parts_add_up_to_that_of_the_whole():
    x, y = np.linspace(-1, 1, 12).reshape(6, 2), np.arange(6.0)

    def loss(p, x, y):
        return np.sum((x @ p["w"] + p["b"] - y) ** 2)

    params = {"w": np.array([1.0, -2.0]), "b": 0.5}
    parts = [fg.value_and_grad(loss)(params, x[i : i + 2], y[i : i + 2]) for i in (0, 2, 4)]
    value, slope = reduce(fg.tree_add, parts)
    whole, expected = fg.value_and_grad(loss)(params, x, y)
    assert value == pytest.approx(whole, rel=1e-14)
    np.testing.assert_allclose(slope["w"], expected["w"], rtol=1e-13)
    assert slope["b"] == pytest.approx(expected["b"], rel=1e-13)


def test_trees_keep_their_types_and_dtypes():
    small = np.ones(2, np.float32)
    total = fg.tree_add(Pair(small, (1, 2j)), Pair(small, (2.0, 1.0)))
    assert type(total) is Pair
    assert total.w.dtype == np.float32
    assert total.b == (3.0, 1 + 2j)
    assert fg.tree_add({}, {}) == {}
    assert fg.tree_add(2.0) == 2.0


def test_sums_go_from_the_left():
    assert fg.tree_add([1e16], [-1e16], [1.0]) == [1.0]
    assert fg.tree_add([1.0], [1e16], [-1e16]) == [0.0]
    assert np.signbit(fg.tree_add(-0.0, -0.0))
    np.testing.assert_array_equal(fg.tree_add([np.inf, np.nan], [-np.inf, 1.0]), [np.nan] * 2)


def test_static_leaves_and_flags_stay():
    tree = {"w": 1.0, "kind": "relu", "on": True}
    assert fg.tree_add(tree, tree) == {"w": 2.0, "kind": "relu", "on": True}


def test_expressions_and_gradient_maps_are_leaves():
    x = fg.var("x")
    assert fg.same(fg.tree_add([x], [1.0])[0], x + 1.0)
    part = fg.backprop(x**2)(x=3.0)
    assert fg.tree_add({"z": part}, {"z": part}) == {"z": part + part}
    assert fg.grad(lambda v: fg.tree_add({"a": v}, {"a": v * v})["a"])(3.0) == 7.0


@pytest.mark.parametrize(
    ("first", "second"),
    [([1.0], (1.0, 2.0)), ({"a": 1.0}, {"b": 1.0}), (np.ones(2), np.ones(3)), (np.ones(2), 1.0)],
)
def test_other_structures_are_refused(first, second):
    with pytest.raises(TypeError, match="tree_add: expected trees of one structure"):
        fg.tree_add(first, second)

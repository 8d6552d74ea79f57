"""Sums of gradient maps."""

import copy
import pickle
from functools import reduce

import numpy as np
import pytest

import funcgrad as fg

X, Y, W = fg.vars("x y w")
PRODUCT, SINE = X * Y, np.sin(X)


def values(formula):
    return fg.backprop(formula)(x=0.5, y=3.0, w=2.0)


def test_a_node_is_found_by_the_name_that_it_was_given():
    h = fg.name(X * Y, "h")
    z = fg.backprop(np.sin(h) + h)
    assert fg.same(z["h"], z[h])
    assert fg.same(fg.gradient(np.sin(h) + h, "h"), fg.gradient(np.sin(h) + h, h))
    assert z._ipython_key_completions_() == ["x", "y", "h"]


def test_items_are_neither_assigned_nor_deleted():
    z = fg.backprop(PRODUCT)
    with pytest.raises(TypeError, match=r"map is immutable; write z\.map\.set\(x, value\) for"):
        z[X] = 3
    with pytest.raises(TypeError, match=r"map is immutable; write z\.map\.discard\(x\) for"):
        del z[X]
    assert z.map.set(X, 3)[X] == 3
    assert X not in z.map.discard(X)
    assert z[X](y=3.0) == 3.0


def test_the_gradient_in_a_variable_of_another_formula_is_the_number_zero():
    zero = fg.backprop(SINE)[Y]
    assert (type(zero), zero) == (float, 0.0)
    np.testing.assert_array_equal(fg.backprop(SINE)[fg.var("v", shape=(2,))](), [0.0, 0.0])


def test_a_number_of_numpy_seeds_each_entry_of_an_array():
    v = fg.var("v", shape=(3,))
    found = fg.backprop(v**2, np.float64(2.0))(v=np.arange(3.0))[v]
    np.testing.assert_array_equal(found, [0.0, 4.0, 8.0])


def test_maps_at_other_points_differ():
    v = fg.var("v", shape=(2,))
    part = fg.backprop(np.sum(v**2))
    assert part(v=np.array([1.0, np.nan])) == part(v=np.array([1.0, np.nan]))
    assert part(v=np.array([1.0, 2.0])) != part(v=np.array([1.0, 3.0]))
    assert fg.backprop(PRODUCT)(x=0.5, y=3.0) != fg.backprop(PRODUCT)(x=0.5, y=2.0)


def test_a_name_of_two_nodes_is_none_unless_one_is_a_variable():
    with pytest.raises(KeyError, match="h; the names are x, y"):
        fg.backprop(fg.name(PRODUCT, "h") + fg.name(SINE, "h"))["h"]
    z = fg.backprop(fg.name(SINE, "h") * fg.var("h"))
    assert fg.same(z["h"], z[fg.var("h")])


def test_the_sum_of_maps_is_the_map_of_the_sum():
    total = fg.backprop(PRODUCT) + fg.backprop(SINE)
    of_sum = fg.backprop(PRODUCT + SINE)
    for node in (X, Y, PRODUCT, SINE):
        assert total[node](x=0.5, y=3.0) == of_sum[node](x=0.5, y=3.0)
    assert values(PRODUCT) + values(SINE) == total(x=0.5, y=3.0, w=2.0)


def test_a_root_that_is_a_node_of_another_counts_twice():
    outer = np.exp(SINE)
    total = fg.backprop(outer) + fg.backprop(SINE)
    assert total(x=0.5)[SINE] == np.exp(np.sin(0.5)) + 1


def test_sums_of_one_program_have_its_root():
    doubled = values(PRODUCT) + values(PRODUCT)
    assert doubled == fg.backprop(PRODUCT, seed=2)(x=0.5, y=3.0)
    assert fg.same(doubled.root, PRODUCT)


def test_maps_are_a_commutative_monoid():
    a, b, c = values(PRODUCT), values(SINE), values(W**2)
    assert a + b == b + a
    assert hash(a + b) == hash(b + a)
    assert (a + b) + c == a + (b + c)
    assert 0 + a is a
    assert a + 0 is a
    assert sum([a, b, c]) == reduce(fg.tree_add, [c, b, a])
    assert a + b != a


def test_absent_entries_add_nothing():
    zero = fg.backprop(X * 1.0)(x=-0.0) + fg.backprop(W * -0.0)(w=1.0)
    assert np.signbit(zero[W])
    infinite = fg.backprop(X * Y)(x=1.0, y=np.inf) + fg.backprop(W * 2.0)(w=1.0)
    assert (infinite[X], infinite[W]) == (np.inf, 2.0)


def test_a_sum_prints_copies_and_pickles():
    total = fg.backprop(PRODUCT) + fg.backprop(SINE)
    assert repr(total).splitlines()[:2] == [
        "GradientMap of x*y, sin(x)",
        "  x       y + cos(x)",
    ]
    assert pickle.loads(pickle.dumps(total)) == total
    assert copy.deepcopy(total) == total
    assert fg.same(fg.simplify(total["x"]), Y + np.cos(X))
    assert len(total.map) == len(total) == 4


def test_arrays_and_loops_add():
    v = fg.var("v", shape=(3,))
    part = fg.backprop(np.sum(v**2))
    blocks = [np.arange(3.0), np.ones(3)]
    total = sum(part(v=block) for block in blocks)
    np.testing.assert_array_equal(total[v], [2.0, 4.0, 6.0])
    looped = fg.backprop(fg.trace(lambda x: fg.fori_loop(0, 3, lambda i, s: s * x, 1.0), X))
    assert (looped(x=2.0) + looped(x=1.0))[X] == 15.0


@pytest.mark.parametrize("other", [1, 0.0, False, "x", None])
def test_other_values_do_not_add(other):
    with pytest.raises(TypeError, match="unsupported operand"):
        fg.backprop(X) + other
    with pytest.raises(TypeError, match=r"unsupported operand|can only concatenate"):
        other + fg.backprop(X)

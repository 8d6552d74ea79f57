"""Values are values: they can be copied and pickled, and compare and hash by what they are."""

import copy
import pickle

import numpy as np
import pytest

import funcgrad as fg
from tests.show.programs import PROGRAMS

X, V = fg.var("x"), fg.var("v", (3,))
FORMULA = np.sum(fg.sin(X) * V) + X**2


def pickled(value):
    return pickle.loads(pickle.dumps(value))


WAYS = [copy.copy, copy.deepcopy, pickled]
MAPS = {
    "symbolic": fg.backprop(FORMULA),
    "a number": fg.backprop(FORMULA, 2.0),
    "an array": fg.backprop(fg.sin(V), np.array([1.0, np.nan, 2.0])),
    "nothing": fg.backprop(fg.const(2.0)),
    "a loop": fg.backprop(PROGRAMS["scan"]),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", MAPS)
def test_a_gradient_map_comes_back_equal(name, way):
    z = MAPS[name]
    back = way(z)
    assert back == z
    assert hash(back) == hash(z)
    assert list(back) == list(z)
    assert repr(back) == repr(z)
    assert back.root.key == z.root.key


def test_gradient_maps_are_equal_if_all_cotangents_are():
    z = MAPS["symbolic"]
    assert z == fg.backprop(np.sum(fg.sin(X) * V) + X**2)
    assert z != fg.backprop(FORMULA, 2.0)
    assert MAPS["a number"] == fg.backprop(FORMULA, 2.0)
    assert fg.backprop(FORMULA, 2.0) != fg.backprop(FORMULA, 3.0)
    assert z != fg.backprop(fg.sin(X))
    assert z != dict(z.map)
    assert len({z, fg.backprop(FORMULA), fg.backprop(FORMULA, 2.0)}) == 2


def test_a_deep_copy_of_a_gradient_map_shares_no_array():
    seed = np.array([1.0, 2.0, 3.0])
    z = fg.backprop(fg.var("v", (3,)) * 1.0, seed)
    back = copy.deepcopy(z)
    for key in z:
        if isinstance(z[key], np.ndarray):
            assert not np.shares_memory(z[key], back[key])


def test_a_gradient_map_refuses_changes():
    z = MAPS["symbolic"]
    with pytest.raises(AttributeError, match="immutable"):
        z.root = X
    with pytest.raises(AttributeError, match="immutable"):
        del z.root


def test_the_size_of_a_pickled_gradient_map_is_linear():
    def size(length):
        expr = X
        for _ in range(length):
            expr = fg.sin(expr)
        return len(pickle.dumps(fg.backprop(expr)))

    assert size(400) < 2.5 * size(200)


@fg.jit
def square(x):
    return x * x


VALUES = {
    "a key": FORMULA.key,
    "a node": FORMULA.graph[FORMULA.key],
    "a graph": FORMULA.graph,
    "a type": FORMULA.type,
    "an operation": FORMULA.op,
    "an algebra": fg.Algebra(abs, max, min),
    "counting": fg.COUNTING,
    "longest": fg.LONGEST,
    "reachable": fg.REACHABLE,
    "matrices": fg.MATRICES,
    "an interval": fg.Interval(1, 2),
    "intervals": fg.Interval(np.zeros(2), np.ones(2)),
    "a jitted function": square,
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", VALUES)
def test_other_values_come_back_equal(name, way):
    value = VALUES[name]
    back = way(value)
    assert back == value
    assert hash(back) == hash(value)
    assert repr(back) == repr(value)


@pytest.mark.parametrize("way", WAYS)
def test_expressions_come_back_the_same(way):
    for expr in (X, FORMULA, fg.const([1.0, 2.0]), PROGRAMS["scan"]):
        back = way(expr)
        assert back.key == expr.key
        assert hash(back) == hash(expr)
        assert repr(back) == repr(expr)


def test_semirings_are_what_they_were():
    y = X * X
    assert fg.sum_product(y, fg.COUNTING, lambda edge: 1)[X] == 2
    assert fg.sum_product(y, fg.LONGEST, lambda edge: 1)[X] == 1
    assert fg.sum_product(y, fg.REACHABLE, lambda edge: True)[X] is True


def test_a_jitted_function_without_a_name_cannot_be_pickled():
    with pytest.raises((pickle.PicklingError, AttributeError)):
        pickle.dumps(fg.jit(lambda x: x))


def test_equal_intervals_have_one_hash():
    a, b = fg.Interval(-0.0, 1.0), fg.Interval(0.0, 1.0)
    assert a == b
    assert hash(a) == hash(b)

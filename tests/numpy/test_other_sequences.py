"""NumPy's functions of ranges, deques, and other sequences than lists, users' own among them."""

import math
from array import array
from collections import UserList, deque
from typing import NamedTuple

import numpy as np
import pytest

import funcgrad as fg

X = np.array([0.6, 1.3, 2.4, 3.7])


class Point:
    """A sequence for NumPy, by its methods alone."""

    def __init__(self, *coordinates):
        self.coordinates = coordinates

    def __len__(self):
        return len(self.coordinates)

    def __getitem__(self, i):
        return self.coordinates[i]


class Segment:
    """An array for NumPy."""

    def __init__(self, end):
        self.end = end

    def __array__(self, dtype=None, copy=None):
        return np.array([self.end, 2 * self.end])


class Holder:
    """Holds the array that it returns, which may be a traced value."""

    def __init__(self, held):
        self.held = held

    def __array__(self, dtype=None, copy=None):
        return self.held


PLAIN = {
    "interp": lambda x: np.interp(1.5, range(4), x),
    "multiply": lambda x: (x * range(4)).sum(),
    "reflected": lambda x: (range(4) - x).sum() ** 2,
    "power": lambda x: (x ** range(4)).sum(),
    "matmul": lambda x: (x * x) @ range(4),
    "dot": lambda x: np.dot(range(4), x * x),
    "trapezoid": lambda x: np.trapezoid(x * x, range(4)),
    "polyfit": lambda x: np.polyfit(range(4), x * x, 1).sum(),
    "where": lambda x: np.where(x > 1.0, x * x, range(4)).sum(),
    "deque": lambda x: (x * x * deque([1, 2, 3, 4.0])).sum(),
    "array": lambda x: (x * x * array("d", [1, 2, 3, 4.0])).sum(),
    "average": lambda x: np.average(x * x, weights=range(1, 5)),
}
TRACED = {
    "array": lambda x: (np.array(deque([x[0], 2.0, x[1], 4.0])) * x).sum(),
    "asarray": lambda x: np.asarray(deque([x, 2 * x])).sum() ** 2,
    "dtype": lambda x: np.asarray(UserList([x[0], x[1] ** 2]), dtype=float).sum(),
    "mean": lambda x: np.mean(deque([x[0], x[1] ** 2], maxlen=2)),
    "std": lambda x: np.std(UserList([x[0], x[1], x[2]])),
    "max": lambda x: np.max(deque([x[0], x[1] ** 2])),
    "median": lambda x: np.median(deque([x[0], x[1] ** 2, x[2]])),
    "exp": lambda x: np.sum(np.exp(deque([x[0], x[1]]))),
    "stack": lambda x: np.stack(deque([x, x * x])).sum(),
    "sin of an array that an instance holds": lambda x: np.sum(np.sin(Holder(x * x))),
    "concatenate what an instance holds": lambda x: np.concatenate([Holder(x), x * x]).sum(),
    "concatenate": lambda x: np.concatenate(deque([x, x * x])).sum(),
    "a list of instances that hold arrays": lambda x: np.mean([Holder(x * x), Holder(x)]),
    "the norm of one": lambda x: np.linalg.norm([Segment(x[0])]) + np.max([Segment(x[1])]),
    "dot": lambda x: np.dot(deque(x), x),
    "point": lambda x: np.array(Point(x[0], x[1] ** 2)).prod(),
    "points": lambda x: np.array([Point(x[0], x[1]), Point(x[1] ** 2, 1.0)], np.float64).prod(),
    "points and tuples": lambda x: np.linalg.norm(np.asarray([Point(x[0], x[1]), (x[2], 1.0)])),
    "points of arrays": lambda x: np.array((Point(x[:2], x[1:3]), Point(x[:2], x[2:]))).prod(),
    "segments": lambda x: np.array([Segment(x[0]), Segment(x[1] ** 2)]).prod(),
}


@pytest.mark.parametrize("f", [*PLAIN.values(), *TRACED.values()], ids=[*PLAIN, *TRACED])
@pytest.mark.parametrize("adopt", [False, True])
def test_other_sequences_are_operands_as_lists_are(f, adopt):
    function, h = fg.adopt(f) if adopt else f, 1e-6
    slopes = np.array([(f(X + h * e) - f(X - h * e)) / (2 * h) for e in np.eye(4)])
    value, gradient = fg.value_and_grad(function)(X)
    assert value == pytest.approx(f(X))
    assert gradient == pytest.approx(slopes, rel=1e-6, abs=1e-8)
    assert fg.jvp(function, (X,), (X,))[1] == pytest.approx(slopes @ X, rel=1e-6)
    assert fg.jit(fg.grad(function))(X) == pytest.approx(gradient)
    assert fg.vmap(function)(np.stack([X, X])) == pytest.approx([value, value])


# -- named tuples and other subclasses ---------------------------------------------------------------
class Pair(NamedTuple):
    first: float
    second: float


class Row(list):
    pass


OF_SUBCLASSES = {
    "sum": lambda x: np.sum(Pair(x, 2.0)),
    "sum of several": lambda x: np.sum([Pair(x, 2.0), Pair(3.0, x * x)]),
    "sum of a list": lambda x: np.sum(Row([x, x * x])),
    "operator": lambda x: (np.array([1.0, 2.0]) * Pair(x, x * x)).sum(),
    "ufunc": lambda x: np.multiply(Pair(x, 2.0), [x, 3.0]).sum(),
    "stack": lambda x: np.stack(Pair(np.array([x, 1.0]), np.array([2.0, x]))).prod(),
    "concatenate": lambda x: np.concatenate(Pair(np.ones(2), np.ones(1))).sum() * x,
    "shape": lambda x: np.reshape(np.ones(4) * x, Pair(2, 2))[0].sum(),
    "axis": lambda x: np.sum(np.ones((2, 2)) * x, axis=Pair(0, 1)),
    "index": lambda x: (np.arange(4.0).reshape(2, 2) * x)[Pair(1, 1)],
}


@pytest.mark.parametrize("name", OF_SUBCLASSES)
def test_subclasses_of_tuple_and_list_are_sequences_of_their_items(name):
    f, h = OF_SUBCLASSES[name], 1e-6
    slope = (f(1.3 + h) - f(1.3 - h)) / (2 * h)
    assert fg.grad(f)(1.3) == pytest.approx(slope, rel=1e-8)
    assert fg.jit(f)(1.3) == pytest.approx(f(1.3), rel=1e-14)
    assert fg.vmap(f)(np.array([1.3]))[0] == pytest.approx(f(1.3), rel=1e-14)
    assert fg.adopt(f)(1.3) == f(1.3)


# -- instances of users' classes that hold traced values ---------------------------------------------
class Held:
    """An array for NumPy."""

    def __init__(self, a):
        self.a = a

    def __array__(self, dtype=None, copy=None):
        return np.asarray(self.a, dtype)


class Number:
    """A number, and an index, for Python."""

    def __init__(self, value):
        self.value = value

    def __float__(self):
        return float(self.value)

    def __index__(self):
        return 2


class Items:
    """A sequence for NumPy, of numbers that may be traced."""

    def __init__(self, items):
        self.items = items

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        return self.items[i]


def added_in_place(x):
    a = np.zeros(4)
    a += Held(x)
    return a


OF_INSTANCES = {
    "in place": added_in_place,
    "index": lambda x: x[Number(0.0)] * x,
    "index of two": lambda x: np.outer(x, x)[Number(0.0), :2],
    "float64": lambda x: np.float64(Number(x[0])) * x,
    "hypot": lambda x: np.stack([math.hypot(Number(x[0]), Number(x[1]), 2.0), x[0]]),
    "sum of a sequence": lambda x: np.sum(Items([x[0], x[1], 2.0])) * x,
    "sequence of a sequence": lambda x: np.dot(
        Items([Items([x[0], 1.0]), Items([2.0, x[1]])]), x[:2]
    ),
}


@pytest.mark.parametrize("f", OF_INSTANCES.values(), ids=OF_INSTANCES.keys())
def test_instances_that_hold_traced_values(f):
    h = 1e-6
    slope = np.transpose([(f(X + h * e) - f(X - h * e)) / (2 * h) for e in np.eye(4)])
    np.testing.assert_allclose(fg.jacobian(f)(X), slope, rtol=1e-7, atol=1e-8)
    np.testing.assert_allclose(fg.jit(f)(X), f(X), rtol=1e-14)
    np.testing.assert_allclose(fg.adopt(f)(X), f(X), rtol=1e-14)
    np.testing.assert_allclose(fg.vmap(f)(np.stack([X, X]))[1], f(X), rtol=1e-14)

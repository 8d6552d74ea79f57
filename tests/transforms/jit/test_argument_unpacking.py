"""Calls with dicts, lists and tuples: the inline cache takes them apart, and other calls are as before."""

import collections
import dataclasses
import itertools
from typing import Any, NamedTuple

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

import funcgrad as fg
from funcgrad.trace.pytree import leaves_of
from funcgrad.transforms.jit.argument_unpacking import MOST_LEAVES, UnpackedArguments
from tests.default_slice import examples


def total(tree):
    """A number that depends on each leaf, and on its place."""
    if isinstance(tree, dict):
        return sum(len(key) * total(item) for key, item in tree.items())
    if isinstance(tree, list | tuple):
        kind = 2.0 if isinstance(tree, list) else 3.0
        return kind * sum((k + 1) * total(item) for k, item in enumerate(tree))
    return np.sum(tree * tree)


def is_inlined(f):
    return f.__code__.co_argcount > 0


def bound(tree):
    """The leaves that generated code binds; None if the conditions do not hold."""
    found = UnpackedArguments([tree], ["p"])
    if not found.is_known:
        return None
    text = f"[{', '.join(found.leaves)}] if {' and '.join(found.tests) or True} else None"
    return eval(text, {**found.objects, "p": tree})


TREES = st.recursive(
    st.floats(-2, 2) | st.integers(-3, 3) | st.just(np.array([0.5, -1.5])),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(
            st.sampled_from(["w", "bias", "layer 2", "x0", "leaf1"]), inner, max_size=3
        )
    ),
    max_leaves=8,
)


@settings(max_examples=examples(60))
@given(TREES)
def test_leaves_are_bound_in_the_order_of_the_signature(tree):
    assert all(a is b for a, b in itertools.zip_longest(bound(tree), leaves_of(tree)))


@settings(max_examples=examples(30))
@given(st.lists(TREES, min_size=1, max_size=3))
def test_values_and_gradients_are_those_of_the_function(trees):
    jitted = fg.jit(total)
    for tree in [*trees, *trees, *trees[::-1]]:
        np.testing.assert_allclose(jitted(tree), total(tree), rtol=1e-12)


P = {"w": 2.0, "b": [1.0, (3.0, 0.5)]}
OTHERS = {
    "another order": {"b": [1.0, (3.0, 0.5)], "w": 2.0},
    "one more key": {**P, "c": 1.0},
    "another key": {"v": 2.0, "b": [1.0, (3.0, 0.5)]},
    "a key less": {"w": 2.0},
    "a tuple for a list": {"w": 2.0, "b": (1.0, (3.0, 0.5))},
    "a list for a tuple": {"w": 2.0, "b": [1.0, [3.0, 0.5]]},
    "a longer list": {"w": 2.0, "b": [1.0, (3.0, 0.5), 7.0]},
    "a number for a tuple": {"w": 2.0, "b": [1.0, 3.0]},
    "an integer": {"w": 2, "b": [1.0, (3.0, 0.5)]},
    "a large integer": {"w": 2**70, "b": [1.0, (3.0, 0.5)]},
    "a NumPy number": {"w": np.float64(2.0), "b": [1.0, (3.0, 0.5)]},
    "an array": {"w": np.ones(2), "b": [1.0, (3.0, 0.5)]},
    "single precision": {"w": np.float32(2.0), "b": [1.0, (3.0, 0.5)]},
}


@pytest.mark.parametrize("name", OTHERS)
def test_other_arguments_than_the_last(name):
    jitted, other = fg.jit(total), OTHERS[name]
    for tree in (P, P, other, P, other, other, P):
        found, wanted = jitted(tree), total(tree)
        np.testing.assert_allclose(found, wanted, rtol=1e-12)
        assert np.asarray(found).dtype == np.asarray(wanted).dtype


class Subclass(dict):
    def __getitem__(self, key):
        return 2.0 * super().__getitem__(key)


def test_calls_run_without_a_lookup():
    jitted = fg.jit(fg.grad(lambda p, x: np.sum(p["w"] * x) + p["b"][0] ** 2))
    p, x = {"w": np.ones(3), "b": [2.0]}, np.arange(3.0)
    first = jitted(p, x)
    assert is_inlined(jitted)
    for found in (first, jitted(p, x), jitted(x=x, p=p), jitted(p, x=x)):
        assert found["w"].tolist() == [0.0, 1.0, 2.0]
        assert found["b"] == [4.0]
        assert list(found) == ["w", "b"]
    assert len(jitted.explain_misses().splitlines()) == 1


def test_what_the_function_reads_beside_its_arguments_is_watched():
    scale = [3.0]
    jitted = fg.jit(lambda p: p["w"] * scale[0])
    assert [jitted({"w": 2.0}), jitted({"w": 2.0})] == [6.0, 6.0]
    scale[0] = 5.0
    assert jitted({"w": 2.0}) == 10.0


def test_subclasses_and_flags_are_told_apart():
    jitted = fg.jit(lambda p: p["w"] * 2 if p["double"] else p["w"])
    assert jitted({"w": 2.0, "double": True}) == 4.0
    assert jitted({"w": 2.0, "double": False}) == 2.0
    assert jitted({"w": 2.0, "double": True}) == 4.0
    jitted = fg.jit(lambda p: 1.0 * p["w"])
    assert [jitted({"w": 2.0}), jitted(Subclass(w=2.0)), jitted({"w": 2.0})] == [2.0, 4.0, 2.0]


Point = collections.namedtuple("Point", "x y")


class Sized(NamedTuple):
    x: float
    y: float = 1.0

    def size(self):
        return self.x * self.y


class Odd(Point):
    __slots__ = ()

    def __getitem__(self, place):
        return 7.0


def test_named_tuples_are_taken_apart():
    jitted = fg.jit(lambda p: p.x * p.y**2)
    for p in (Point(2.0, 3.0), Sized(2.0, 3.0), Odd(2.0, 3.0)) * 2:
        assert jitted(p) == 18.0
    assert not UnpackedArguments([Odd(2.0, 3.0)], ["p"]).is_known
    sized = fg.jit(fg.grad(lambda p: p.size()))
    assert [sized(Sized(2.0, 3.0)), sized(Sized(2.0, 3.0))] == [Sized(3.0, 2.0)] * 2
    assert is_inlined(sized)


@dataclasses.dataclass
class Weights:
    w: Any
    b: Any = 1.0

    def on(self, x):
        return np.sum(self.w * x) + self.b


@dataclasses.dataclass(frozen=True)
class Marked:
    w: float
    mode: str = dataclasses.field(metadata={"static": True})
    flag: bool = False


class Extended(Weights):
    def on(self, x):
        return -super().on(x)


def test_dataclasses_are_taken_apart():
    jitted = fg.jit(lambda p, x: p.on(x))
    cases = [
        Weights(np.ones(2)),
        Weights(2.0, 3.0),
        Weights({"a": 1.0}["a"], np.ones(1)[0]),
        Extended(2.0, 3.0),
    ]
    for p, _ in itertools.product([*cases, *cases[::-1]], range(2)):
        assert jitted(p, np.arange(2.0)) == p.on(np.arange(2.0))
    assert is_inlined(jitted)
    slope = fg.jit(fg.grad(lambda p: p.w**2 * p.b))
    assert [slope(Weights(2.0, 3.0)) for _ in range(3)] == [Weights(12.0, 4.0)] * 3


def test_static_fields_and_flags_belong_to_the_signature():
    jitted = fg.jit(lambda p: p.w * (2 if p.mode == "twice" else 3) * (5 if p.flag else 1))
    for _ in range(2):
        assert jitted(Marked(1.0, "twice")) == 2.0
        assert jitted(Marked(1.0, "thrice")) == 3.0
        assert jitted(Marked(1.0, "twice", True)) == 10.0


def test_texts_and_nothing_are_told_apart():
    def f(x, mode, extra=None):
        scale = {"twice": 2.0, "thrice": 3.0}[mode]
        return x * scale if extra is None else x * scale + extra["shift"]

    jitted = fg.jit(f)
    calls = [
        ((2.0, "twice"), {}),
        ((2.0, "thrice"), {}),
        ((2.0, "twice", None), {}),
        ((2.0, "twice", {"shift": 1.0}), {}),
        ((2.0,), {"mode": "thrice", "extra": None}),
        ((), {"x": 5.0, "mode": "twice"}),
    ]
    for (args, kwargs), _ in itertools.product(calls + calls[::-1], range(2)):
        assert jitted(*args, **kwargs) == f(*args, **kwargs)
    assert is_inlined(jitted)


def test_arguments_by_name_are_those_of_the_call():
    jitted = fg.jit(lambda x, y=1.0, z=2.0: x * y - z)
    for _ in range(3):
        assert jitted(2.0, z=5.0) == -3.0
        assert jitted(2.0, 5.0) == 8.0
        assert jitted(z=1.0, x=3.0) == 2.0
        assert jitted(2.0) == 0.0
    with pytest.raises(TypeError, match="unexpected keyword"):
        jitted(2.0, w=3.0)
    with pytest.raises(TypeError, match="positional argument"):
        jitted(1.0, 2.0, 3.0, 4.0)


@pytest.mark.parametrize("transform", [fg.grad, fg.jacfwd, fg.jacrev])
def test_an_argument_number_from_the_end_counts_those_by_position(transform):
    slope = transform(lambda x, y: x * y, argnums=-1)
    jitted = fg.jit(slope)
    for _ in range(2):
        assert jitted(2.0, 3.0) == slope(2.0, 3.0) == 2.0
        assert jitted(2.0, y=3.0) == slope(2.0, y=3.0) == 3.0


def test_stores_into_arrays_of_a_dict_stay_in_the_function():
    def f(p):
        p["w"][0] += 1.0
        return np.sum(p["w"])

    jitted, ours = fg.jit(f), {"w": np.zeros(2)}
    for _ in range(3):
        assert jitted(ours) == 1.0
        assert ours["w"].tolist() == [0.0, 0.0]


def test_large_trees_and_other_containers_are_left_to_the_signature():
    many = {f"w{k}": float(k) for k in range(MOST_LEAVES + 1)}
    assert not UnpackedArguments([many], ["p"]).is_known
    assert fg.jit(total)(many) == total(many)
    assert not UnpackedArguments([{1: 2.0}], ["p"]).is_known
    jitted = fg.jit(lambda d: {key: 2 * value for key, value in d.items()})
    for key in (1, True, 1.0, "1"):
        (found,) = jitted({key: 3.0})
        assert type(found) is type(key)


def test_arrays_in_another_order_than_cs_are_inlined():
    base = np.arange(24.0).reshape(4, 6)
    orders = [base.T, base[:, ::2].T, np.asfortranarray(base.T), base.T.copy(), base.T[::-1]]

    def f(p):
        return p["w"].ravel(order="K") * 2.0

    for first in orders:
        jitted = fg.jit(f)
        np.testing.assert_array_equal(jitted({"w": first}), f({"w": first}))
        assert is_inlined(jitted)
        for other in orders:
            np.testing.assert_array_equal(jitted({"w": other}), f({"w": other}))
        np.testing.assert_array_equal(jitted({"w": first + 1.0}), f({"w": first + 1.0}))

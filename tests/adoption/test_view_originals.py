"""Instances as keys: what descriptors and registers keep of an instance by its identity."""

from typing import ClassVar
from weakref import WeakKeyDictionary

import numpy as np
import pytest

import funcgrad as fg


class Weakly:
    """A descriptor of floats, kept in a weak dict by instances."""

    def __init__(self):
        self.kept = WeakKeyDictionary()

    def __get__(self, instance, owner):
        return self if instance is None else self.kept[instance]

    def __set__(self, instance, value):
        if not isinstance(value, float):
            raise TypeError(f"expected a float, got {value!r}")
        self.kept[instance] = value


class ById(Weakly):
    def __init__(self):
        self.kept = {}

    def __get__(self, instance, owner):
        return self if instance is None else self.kept[id(instance)]

    def __set__(self, instance, value):
        self.kept[id(instance)] = value


class InWeakDict:
    factor = Weakly()

    def __init__(self, factor):
        self.factor = factor

    def scaled(self, x):
        return self.factor * x if isinstance(x, float) else 100.0 * x


class InIds(InWeakDict):
    factor = ById()


class InRegister(InWeakDict):
    known: ClassVar = {}

    @property
    def factor(self):
        return self.known[self]

    @factor.setter
    def factor(self, value):
        self.known[self] = value


class WithSlots(InRegister):
    __slots__ = ("power",)


@pytest.mark.parametrize("kind", [InWeakDict, InIds, InRegister, WithSlots])
def test_values_kept_by_identity_are_found(kind):
    held = kind(3.0)
    assert fg.grad(lambda x: kind(2.0).scaled(x))(1.5) == 2.0
    assert fg.grad(lambda x: kind(x).scaled(x))(1.5) == 3.0  # of x * x
    assert fg.grad(held.scaled)(1.5) == fg.jvp(held.scaled, (1.5,), (1.0,))[1] == 3.0
    assert fg.jit(fg.grad(held.scaled))(1.5) == 3.0
    np.testing.assert_array_equal(fg.vmap(fg.grad(held.scaled))(np.full(2, 1.5)), 3.0)
    assert held.factor == 3.0


def test_a_view_is_the_key_that_its_instance_is():
    held, other = InWeakDict(3.0), InWeakDict(3.0)
    known, numbers = {held: 2.0}, {id(held): 5.0}

    def f(x):
        assert held in [other, held]
        assert other not in known
        return held.scaled(x) * known[held] * numbers[id(held)]

    assert fg.grad(f)(1.5) == 30.0


class Sentinel:
    def __init__(self, value):
        self.value = value

    def get(self):
        return self.value


DEFAULTS = {"prefer": Sentinel(None)}
HELD_ARRAYS = [np.zeros(4)]


def chosen(x, prefer=DEFAULTS["prefer"]):
    a = np.zeros(1)
    a[0] = x
    return a[0] * (2.0 if prefer is DEFAULTS["prefer"] else 3.0)


def chosen_with_held_arrays(x):
    return chosen(x) + HELD_ARRAYS[0][np.floor(x).astype(int)]


def test_an_instance_is_one_object_at_each_level():
    """An array in a list is indexed at the last level from the third index on, and `chosen` runs below it."""
    for _ in range(2):
        jitted = fg.jit(chosen_with_held_arrays)
        assert [jitted(x) for x in (0.5, 1.5, 2.5, 3.5)] == [1.0, 3.0, 5.0, 7.0]
        assert fg.grad(chosen)(0.5) == 2.0

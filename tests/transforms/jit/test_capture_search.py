"""The search for captured variables finds the same places as one that looks up each name in each round."""

import itertools
import types
from collections import UserDict, UserList, deque

import numpy as np
import pytest

from funcgrad.transforms.jit import capture_search
from funcgrad.transforms.jit.capture_sources import (
    ABSENT,
    Contents,
    InstanceMember,
    NamespaceItem,
    has_namespace,
    is_slot,
    key_of,
    namespace,
    owner_of,
)
from funcgrad.transforms.jit.captures import CapturedVariables
from tests.default_slice import one_in
from tests.transforms.jit.test_captured_instances import Model


class Unending(deque):
    """A queue that no round ends early."""

    def clear(self):
        """Keep all items."""


class Exhaustive(capture_search._Search):
    """The oracle: each round runs to its end, and looks up each name in each instance and its classes."""

    def __init__(self, *given):
        super().__init__(*given)
        self.waiting = Unending()

    def _of_instance(self, item, label):
        own, names = namespace(item), self.names
        ours = type(item).__module__.startswith("funcgrad.")
        if self.whole or ours or isinstance(item, UserDict | UserList):
            if has_namespace(item):
                yield Contents(f"{label}.__dict__", own)
            names = [*names, *[name for name in own if name not in names]]
            names += [n for n in self._whole_of(type(item)) if self.whole and n not in names]
        for name in names:
            place = InstanceMember(f"{label}.{name}", item, name)
            in_it = place.get() is not ABSENT
            in_class = owner_of(type(item), name) is not None
            could_be = has_namespace(item) or is_slot(type(item), name)
            if in_it or ((in_class or self.probes) and could_be):
                yield place
            if in_class and not in_it:
                yield from self._of_class(type(item), item, name, place.name)
        yield from self._implicit(type(item), item, label)


def watched(f):
    """The keys of the places that are watched, and their names."""
    held = CapturedVariables(f).values()
    return {key_of(item.place): item.place.name for item in held}


def same_as_exhaustive(f, monkeypatch):
    found = watched(f)
    with monkeypatch.context() as patch:
        patch.setattr(capture_search, "_Search", Exhaustive)
        assert found == watched(f)
    return found


PACKAGE = """
class Plain:
    rate = 2.0
    def __init__(self, k):
        self.k = k
        self.inner = {"next": [None], "w": 1.0 * k}
    def __getitem__(self, name):
        return self.inner[name]
    @property
    def half(self):
        return self.k / 2
    @classmethod
    def made(cls, k):
        return cls.rate * k

class Slotted(Plain):
    __slots__ = ("w", "unset")
    def __init__(self, k):
        super().__init__(k)
        self.w = 1.0

class Bare:
    __slots__ = ("a1", "unset")
    def __init__(self, k):
        self.a1 = k

class Meta(type):
    a2 = 3.0
    def a3(cls, x):
        return cls.a4 * x

class Made(metaclass=Meta):
    a4 = 1.5
    a5 = staticmethod(lambda x: x * everything[0].k)

everything = [kind(k) for k in range(6) for kind in (Plain, Slotted, Bare)] + [Made]

class Link:
    a0 = 1.0
"""


def package(functions, probe):
    """A module whose functions 2k + 1 and 2k + 2 are reached by names that occur in function k alone.

    Function ``probe`` asks whether attributes are there.
    """
    text = PACKAGE
    for k in range(functions):
        read = f'hasattr(link, "a{k}") and getattr(link, "b{k}")' if k == probe else f"link.b{k}"
        text += f"""
def f{k}(x):
    everything, half, w, unset = Link, link.half, link.w, link.unset
    return link.b{2 * k + 1}(x) * link.b{2 * k + 2}(x) * link.a{k} + {read}
"""
    text += "link = Link()\n"
    text += "".join([f"link.b{k} = f{k}\n" for k in range(functions)])
    text += "link.things = everything\ndef first(x):\n    return f0(x) + len(link.things)\n"
    home = types.ModuleType("a_package_of_the_user")
    exec(text, vars(home))
    return home


@pytest.mark.parametrize(
    ("probe", "functions"), one_in(4, itertools.product([None, 0, 20], [1, 5, 90]))
)
def test_the_places_are_those_of_the_exhaustive_search(functions, probe, monkeypatch):
    home = package(functions, probe)
    found = same_as_exhaustive(home.first, monkeypatch)
    assert "link.b1" in found.values() or functions == 1
    same_as_exhaustive(home.f0, monkeypatch)
    same_as_exhaustive(lambda x: home.first(x) + home.everything[0].made(x), monkeypatch)


METHODS = [name for name in vars(Model) if name[0] != "_" and callable(getattr(Model, name))]


@pytest.mark.parametrize("name", METHODS)
def test_the_places_of_methods_are_those_of_the_exhaustive_search(name, monkeypatch):
    assert same_as_exhaustive(getattr(Model(), name), monkeypatch)


def test_the_warning_of_too_many_values_and_the_places_stay(monkeypatch):
    home = package(5, 0)
    monkeypatch.setattr(capture_search, "MOST_VALUES", 30)
    with pytest.warns(UserWarning, match="more than 30 values"):
        same_as_exhaustive(home.first, monkeypatch)


def test_an_attribute_that_is_absent_is_looked_up_in_the_last_round_only(monkeypatch):
    home = package(20, 0)
    made = []

    def counted(*given):
        made.append(given)
        return InstanceMember(*given)

    monkeypatch.setattr(capture_search, "InstanceMember", counted)
    found = watched(home.first)
    absent = sum([key[0] is InstanceMember for key in found])
    assert absent > 500
    assert len(made) < 2 * absent


@pytest.mark.parametrize("f", [np.linalg.norm, np.var, np.diff])
def test_globals_of_numpys_functions_are_not_watched(f):
    """Each would cost every call of ``jit(grad(np.linalg.norm))``."""
    assert not [
        place for place in capture_search.places_of(f)[0] if isinstance(place, NamespaceItem)
    ]

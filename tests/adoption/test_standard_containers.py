"""Functions that ask for types, held by partial functions and by containers of the standard library."""

import copy
import functools
import math
from argparse import Namespace
from collections import ChainMap, OrderedDict, UserDict, UserList, defaultdict, deque
from types import MappingProxyType, SimpleNamespace
from typing import NamedTuple, Protocol

import pytest

import funcgrad as fg


def sine(x):
    return math.sin(x) if isinstance(x, float) else 100.0 * x


def applied(f, x):
    return f(x)


@functools.lru_cache
def memoized(x):
    return sine(x)


class Holder:
    def __init__(self, f):
        self.f = f
        self.by_method = functools.partial(self.applied, f)

    def applied(self, f, x):
        return f(x)

    def __call__(self, x):
        return self.f(x)


FUNCTIONS = {
    "partial": functools.partial(sine),
    "an argument of partial": functools.partial(applied, sine),
    "a keyword of partial": functools.partial(lambda x, f: f(x), f=sine),
    "partial of partial": functools.partial(functools.partial(applied), sine),
    "partial of a method": Holder(sine).by_method,
    "a memoized function": memoized,
}
HOLDING = {
    "name": lambda f: lambda x: f(x),
    "attribute": lambda f: (lambda held: lambda x: held(x))(Holder(f)),
    "a method of the instance": lambda f: (lambda held: lambda x: held.by_method(x))(Holder(f)),
    "a copy": lambda f: (lambda held: lambda x: copy.deepcopy(held)(x))(Holder(f)),
    "list": lambda f: (lambda held: lambda x: held[0](x))([f]),
    "tuple": lambda f: (lambda held: lambda x: held[0](x))((f,)),
    "dict": lambda f: (lambda held: lambda x: held["f"](x))({"f": f}),
    "nested": lambda f: (lambda held: lambda x: held["f"][0](x))({"f": [f]}),
    "MappingProxyType": lambda f: (lambda held: lambda x: held["f"](x))(
        [MappingProxyType({"f": f})][0]
    ),
    "a list of MappingProxyType": lambda f: (lambda held: lambda x: held[0]["f"](x))(
        [MappingProxyType({"f": f})]
    ),
    "SimpleNamespace": lambda f: (lambda held: lambda x: held.f(x))(SimpleNamespace(f=f)),
    "Namespace": lambda f: (lambda held: lambda x: held.f(x))(Namespace(f=f)),
    "a list of SimpleNamespace": lambda f: (lambda held: lambda x: held[0].f(x))(
        [SimpleNamespace(f=f)]
    ),
    "deque": lambda f: (lambda held: lambda x: held[0](x))(deque([f])),
    "iteration of deque": lambda f: (lambda held: lambda x: next(g(x) for g in held))(deque([f])),
    "OrderedDict": lambda f: (lambda held: lambda x: held["f"](x))(OrderedDict(f=f)),
    "UserDict": lambda f: (lambda held: lambda x: held["f"](x))(UserDict(f=f)),
    "UserList": lambda f: (lambda held: lambda x: held[0](x))(UserList([f])),
    "ChainMap": lambda f: (lambda held: lambda x: held["f"](x))(ChainMap({}, {"f": f})),
    "what defaultdict makes": lambda f: (lambda held: lambda x: held["f"](x))(
        defaultdict(lambda: f)
    ),
}


@pytest.mark.parametrize("held", HOLDING.values(), ids=HOLDING.keys())
@pytest.mark.parametrize("f", FUNCTIONS.values(), ids=FUNCTIONS.keys())
def test_functions_in_containers_are_adopted(f, held):
    function = held(f)
    assert fg.grad(function)(0.5) == pytest.approx(math.cos(0.5), rel=1e-15)
    assert fg.jvp(function, (0.5,), (1.0,))[1] == pytest.approx(math.cos(0.5), rel=1e-15)


def test_stores_reach_the_original_containers():
    held = Holder(sine)
    space, queue = SimpleNamespace(f=sine, k=1), deque([sine, 2.0], maxlen=4)

    def f(x):
        space.k, space.more = 3, held
        del space.f
        queue.append(5.0)
        queue.appendleft(held)
        queue.rotate(1)
        assert type(space) is SimpleNamespace
        assert isinstance(queue, deque)
        assert type(queue) is deque
        assert vars(space)["k"] == 3
        assert not hasattr(space, "f")
        return sine(x) * space.k + queue[1](x) + queue[2](x)

    assert fg.adopt(f)(0.5) == pytest.approx(5 * math.sin(0.5), rel=1e-15)
    assert vars(space) == {"k": 3, "more": held}
    assert list(queue) == [5.0, held, sine, 2.0]


def test_containers_are_returned_as_they_are():
    space, queue = SimpleNamespace(f=sine), deque([sine])
    found = fg.adopt(lambda: (space, queue, space == space))()
    assert found[0] is space
    assert found[1] is queue
    assert found[2]


class OwnTuple(tuple):
    def f(self, x):
        return sine(x)

    def first(self, x):
        return self[0](x)


class OwnList(list):
    f, first = OwnTuple.f, OwnTuple.first


class OwnDeque(deque):
    f, first = OwnTuple.f, OwnTuple.first


class OwnSet(set):
    f = OwnTuple.f

    def first(self, x):
        return sum(g(x) for g in self)


class OwnFrozenSet(frozenset):
    f, first = OwnTuple.f, OwnSet.first


class Pair(NamedTuple):
    function: object
    other: float = 2.0

    def f(self, x):
        return sine(x) * self.other / 2.0

    def first(self, x):
        return self.function(x)


class OwnDict(dict):
    f = OwnTuple.f

    def first(self, x):
        return self["f"](x)


class OwnUserDict(UserDict):
    f, first = OwnTuple.f, OwnDict.first


INSTANCES = {
    "tuple": OwnTuple((sine, 1.0)),
    "list": OwnList([sine, 1.0]),
    "deque": OwnDeque([sine, 1.0]),
    "set": OwnSet([sine]),
    "frozenset": OwnFrozenSet([sine]),
    "named tuple": Pair(sine),
    "dict": OwnDict(f=sine),
    "UserDict": OwnUserDict(f=sine),
}


@pytest.mark.parametrize("held", INSTANCES.values(), ids=INSTANCES.keys())
def test_methods_and_items_of_subclasses_of_containers_are_adopted(held):
    for function in (held.f, held.first, lambda x: held.f(x), lambda x: held.first(x)):
        assert fg.grad(function)(0.5) == pytest.approx(math.cos(0.5), rel=1e-15)
        assert fg.jit(fg.grad(function))(0.5) == pytest.approx(math.cos(0.5), rel=1e-15)


@pytest.mark.parametrize("kind", [OwnTuple, OwnList, OwnDeque, OwnSet, OwnFrozenSet])
def test_methods_of_subclasses_of_containers_without_functions_are_adopted(kind):
    held = kind([3.0, 4.0])
    assert fg.grad(lambda x: held.f(x) * len(held))(0.5) == pytest.approx(2 * math.cos(0.5))
    assert fg.adopt(lambda: sorted(held))() == [3.0, 4.0]
    assert fg.adopt(lambda: held == kind([3.0, 4.0]) or kind is OwnDeque)()
    assert fg.adopt(lambda: isinstance(held, kind) and type(held) is kind)()


class OfProtocol(Protocol):
    def f(self, x):
        return sine(x)


class Implementation(OfProtocol):
    pass


class Giving:
    def __get__(self, instance, owner):
        return sine


class OfAttributes:
    """Has no methods of its own."""

    f = Giving()
    of_partial = staticmethod(functools.partial(sine))
    model = Holder(sine)
    table = MappingProxyType({"f": sine})


ATTRIBUTES = OfAttributes()


@pytest.mark.parametrize(
    "f",
    [
        lambda x: Implementation().f(x),
        lambda x: ATTRIBUTES.f(x),
        lambda x: OfAttributes.of_partial(x),
        lambda x: ATTRIBUTES.of_partial(x),
        lambda x: OfAttributes.model(x),
        lambda x: ATTRIBUTES.model(x),
        lambda x: OfAttributes.table["f"](x),
    ],
)
def test_attributes_of_classes_and_methods_of_protocols_are_adopted(f):
    assert fg.grad(f)(0.5) == pytest.approx(math.cos(0.5), rel=1e-15)
    held = ATTRIBUTES
    assert fg.grad(lambda x: held.f(x) + held.model(x))(0.5) == pytest.approx(2 * math.cos(0.5))

"""Functions that ask for types, held by partial functions and by containers of the standard library."""

import copy
import functools
import math
from argparse import Namespace
from collections import ChainMap, OrderedDict, UserDict, UserList, defaultdict, deque
from types import MappingProxyType, SimpleNamespace

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

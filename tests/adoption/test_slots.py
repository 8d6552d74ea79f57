"""Instances of classes with ``__slots__`` in adopted code: methods are adopted, slots are shared."""

import copy
import math
import pickle
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import ClassVar, Generic, TypeVar

import numpy as np
import pytest

import funcgrad as fg

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Spring:
    stiffness: float
    weights: np.ndarray

    def energy(self, x):
        parts = np.zeros(2)
        parts[0] = self.stiffness * x * x
        parts[1] = math.sin(x)
        return np.sum(parts * self.weights)


@dataclass(frozen=True, slots=True)
class Named:
    scale: float

    def exp(self, x):
        return math.exp(self.scale * x)


NAMED = Named(2.0)
SPRING = Spring(2.0, np.array([0.5, 3.0]))
SLOPE = 2 * 0.3 + 3 * math.cos(0.3)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: SPRING.energy(x),
        SPRING.energy,
        lambda x: Spring(2.0, SPRING.weights).energy(x),
        lambda x: [SPRING][0].energy(x),
        lambda x: replace(SPRING, stiffness=2.0).energy(x),
        lambda x: copy.copy(SPRING).energy(x),
        lambda x: copy.deepcopy(SPRING).energy(x),
        lambda x: type(SPRING)(2.0, SPRING.weights).energy(x),
    ],
)
def test_methods_of_a_dataclass_with_slots(f):
    assert fg.grad(f)(0.3) == pytest.approx(SLOPE, rel=1e-14)
    assert fg.jit(fg.grad(f))(0.3) == pytest.approx(SLOPE, rel=1e-14)
    np.testing.assert_allclose(fg.vmap(fg.grad(f))(np.array([0.3, 0.3])), SLOPE, rtol=1e-14)


def test_an_instance_with_slots_is_compared_hashed_and_pickled():
    def f():
        other = Named(2.0)
        assert other == NAMED
        assert other == NAMED
        assert Named(3.0) != NAMED
        assert {NAMED: 1}[other] == 1
        return pickle.loads(pickle.dumps(NAMED)), NAMED

    made, same = fg.adopt(f)()
    assert type(made) is Named
    assert made == NAMED
    assert same is NAMED


def test_an_instance_with_slots_as_an_argument_is_a_tree():
    gradient = fg.grad(lambda spring: spring.energy(0.3))(SPRING)
    assert type(gradient) is Spring
    assert gradient.stiffness == pytest.approx(0.5 * 0.09)
    np.testing.assert_allclose(gradient.weights, [2 * 0.09, math.sin(0.3)])


class Counter:
    __slots__ = ("__inner", "count", "function", "unset")

    def __init__(self):
        self.count, self.function, self.__inner = 0, math.exp, self

    def __call__(self, x):
        self.count += 1
        return self.function(x) if self.__inner is self else None

    def forget(self):
        del self.count


COUNTER = Counter()


def test_slots_are_those_of_the_instance():
    counter = Counter()
    twice = fg.adopt(lambda x: counter(x) + counter(x))
    assert fg.grad(twice)(0.3) == pytest.approx(2 * math.exp(0.3))
    assert counter.count == 2
    fg.grad(lambda x: counter.forget() or x)(0.3)
    assert not hasattr(counter, "count")
    with pytest.raises(AttributeError, match="unset"):
        fg.grad(lambda x: counter.unset * x)(0.3)


def test_the_same_instance_is_one_object():
    def f(x):
        seen = [COUNTER][0]
        assert seen is COUNTER
        assert isinstance(seen, Counter)
        assert type(seen) is Counter
        return x

    assert fg.grad(f)(0.3) == 1.0
    assert fg.adopt(lambda: COUNTER)() is COUNTER
    assert fg.adopt(lambda: [COUNTER, (COUNTER,)])()[1][0] is COUNTER


class Backend(Generic[T], ABC):
    __slots__ = ("name",)

    registered: list[str] = []  # noqa: RUF012

    def __init_subclass__(cls, **kwargs):
        Backend.registered.append(cls.__name__)
        super().__init_subclass__(**kwargs)

    @abstractmethod
    def astensor(self, x):
        """An array of numbers."""


class NumpyBackend(Backend[float]):
    __slots__ = ("precision",)

    def __init__(self):
        self.name, self.precision = "numpy", float

    def astensor(self, x):
        return np.asarray(x, dtype=self.precision)


STATE = {"current": (NumpyBackend(), None)}


def test_a_backend_that_a_dictionary_of_a_module_holds():
    def f(x):
        backend, _ = STATE["current"]
        return np.sum(backend.astensor([x, 2 * x]) ** 2)

    assert fg.grad(f)(0.3) == pytest.approx(10 * 0.3)
    assert Backend.registered == ["NumpyBackend"]


class Mixed(Counter):
    """A subclass without slots, whose instances have a ``__dict__``, too."""

    def __init__(self):
        super().__init__()
        self.scale = 3.0

    def scaled(self, x):
        self.last = self.count
        return self.scale * self(x)


def test_slots_and_a_dict():
    mixed = Mixed()
    assert fg.grad(fg.adopt(lambda x: mixed.scaled(x)))(0.3) == pytest.approx(3 * math.exp(0.3))
    assert (mixed.last, mixed.count) == (0, 1)


class Proxy:
    """Its ``__getattr__`` raises other errors than AttributeError, as that of pydantic's mock serializers."""

    __slots__ = ("scale",)

    def __init__(self):
        self.scale = 2.0

    def __getattr__(self, name):
        raise RuntimeError(f"nothing is known of {name}")

    def __call__(self, x):
        return self.scale * np.sin(x)


class Holder:
    proxy = Proxy()

    def of_class(self, x):
        return self.proxy(x)


def test_attributes_of_a_proxy_are_not_asked_for():
    proxy = Proxy()
    for f in map(fg.adopt, (Holder().of_class, lambda x: proxy(x))):
        assert fg.grad(f)(0.3) == fg.jit(fg.grad(f))(0.3) == 2.0 * np.cos(0.3)


class Forbidden:
    """A class of which there are no subclasses, and that says so."""

    __slots__ = ("rate",)

    def __init_subclass__(cls):
        raise RuntimeError("no subclasses")

    def __init__(self, rate):
        self.rate = rate

    def exp(self, x):
        return math.exp(self.rate * x)


class Listed:
    __slots__ = ("rate",)
    known: ClassVar = []

    def __init_subclass__(cls, **kwargs):
        Listed.known.append(cls)

    def exp(self, x):
        return math.exp(self.rate * x)


FORBIDDEN, LISTED = Forbidden(2.0), Listed()
LISTED.rate = 2.0


@pytest.mark.parametrize("held", ["FORBIDDEN", "LISTED"])
def test_a_view_is_no_subclass_of_the_users(held):
    held = globals()[held]
    for derivative in (fg.grad(lambda x: held.exp(x)), fg.jit(fg.grad(held.exp))):
        assert derivative(0.3) == pytest.approx(2 * math.exp(0.6))
    assert fg.grad(lambda x: Forbidden(x).exp(x))(0.3) == pytest.approx(0.6 * math.exp(0.09))
    assert not Listed.known


class Mixin:
    """Its instances have weak references, and so have classes of a metaclass over it."""


class Meta(Mixin, type):
    pass


class Described(metaclass=Meta):
    """Without weak references, as what `beartype` hands over to its checks."""

    __slots__ = ("rate",)

    def described(self, x):
        return math.exp(x)


DESCRIBED = Described()


def test_an_instance_without_weak_references_of_a_metaclass_is_seen():
    def f(x):
        return DESCRIBED.described(x) if isinstance(x, float) else 0.0

    assert fg.grad(f)(0.0) == 1.0
    assert fg.jit(fg.grad(f))(0.0) == 1.0


class Point:
    __slots__ = ("x", "y")

    def __init__(self, x, y):
        self.x, self.y = x, y

    def total(self):
        return sum([math.sin(getattr(self, name)) for name in self.__slots__])

    def same(self, other):
        return all([getattr(self, name) == getattr(other, name) for name in self.__slots__])

    def clone(self):
        made = object.__new__(type(self))
        for name in type(self).__slots__:
            setattr(made, name, getattr(self, name))
        return made


class Weighted(Point):
    __slots__ = ("weight",)

    def __init__(self, x, y, weight):
        super().__init__(x, y)
        self.weight = weight

    def names(self):
        return [name for kind in type(self).__mro__ for name in getattr(kind, "__slots__", ())]

    def values(self):
        return {
            name: getattr(self, name) * math.cos(0.0)
            for kind in type(self).mro()
            for name in vars(kind).get("__slots__", ())
        }


class Unlisted(Point):
    pass


HELD = Point(0.3, 0.7)
OF_NAMES = {
    "read": lambda x: Point(x, 0.5).total() + Unlisted(x, 0.5).total(),
    "cloned": lambda x: Point(x, 0.5).clone().total(),
    "compared": lambda x: x if Point(x, 1.0).same(Point(x, 2.0)) else 3 * x,
    "held": lambda x: x * HELD.total() + x * HELD.clone().total(),
    "of bases": lambda x: sum(Weighted(x, 0.5, x * x).values().values()),
    "counted": lambda x: x * len(Weighted(x, 0.5, x).names()) + x * len(vars(Point)["__slots__"]),
    "absent": lambda x: 3 * x if "__slots__" in vars(Unlisted) else x,
}


@pytest.mark.parametrize("f", OF_NAMES.values(), ids=OF_NAMES)
def test_code_that_asks_for_the_names_of_slots(f):
    slope = (f(0.7 + 1e-6) - f(0.7 - 1e-6)) / 2e-6
    value, gradient = fg.value_and_grad(fg.adopt(f))(0.7)
    assert (value, gradient) == (pytest.approx(f(0.7)), pytest.approx(slope, rel=1e-6))
    assert fg.grad(f)(0.7) == pytest.approx(slope, rel=1e-6)
    assert fg.jit(fg.grad(f))(0.7) == pytest.approx(slope, rel=1e-6)


class Patched:
    __slots__ = ("rate",)

    def __init__(self, rate):
        self.rate = rate

    @property
    def doubled(self):
        return self.rate * 2

    def act(self, x):
        return math.tanh(x) * self.rate

    def __call__(self, x):
        return math.sin(x) * self.rate


class PatchedTable(dict):
    def act(self, x):
        return math.tanh(x) * self["rate"]


patched, patched_table = Patched(0.5), PatchedTable(rate=0.5)


@pytest.mark.parametrize(
    ("kind", "name", "new", "f"),
    [
        (Patched, "act", lambda self, x: 5 * x, lambda x: patched.act(x)),
        (Patched, "__call__", lambda self, x: 5 * x, lambda x: patched(x)),
        (Patched, "doubled", property(lambda self: 5.0), lambda x: patched.doubled * x),
        (PatchedTable, "act", lambda self, x: 5 * x, lambda x: patched_table.act(x)),
    ],
)
def test_a_method_that_a_class_with_slots_or_items_is_given_later_is_called(
    monkeypatch, kind, name, new, f
):
    jitted = fg.jit(fg.grad(f))
    assert fg.grad(f)(0.3) != 5
    assert jitted(0.3) != 5
    monkeypatch.setattr(kind, name, new)
    assert fg.grad(f)(0.3) == 5
    assert jitted(0.3) == 5

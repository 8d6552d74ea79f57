"""Functions that instances hold, and dicts of the standard library, in adopted code."""

import contextlib
import dataclasses
import functools
import math
import pickle
import typing
import weakref
from collections import OrderedDict, defaultdict
from types import MappingProxyType

import numpy as np
import pytest

import funcgrad as fg


def sine(x):
    return math.sin(x)


def square(x):
    return x * x


class Caller:
    def __init__(self, function):
        self.function = function


class Marker:
    pass


class Table(dict):
    pass


def _ordered():
    made = OrderedDict(sine=Caller(sine), square=Caller(square))
    made.move_to_end("sine")
    return made


def _by_default():
    made = defaultdict(lambda: Caller(sine))
    made["square"] = Caller(square)
    return made


HOLDER = Caller(sine)
MARKER = Marker()
MARKER.function = sine
PLAIN = {"a": HOLDER}
ORDERED, BY_DEFAULT = _ordered(), _by_default()
PROXY, TABLE = MappingProxyType(PLAIN), Table(a=HOLDER)
HOLDERS = {
    "an instance": lambda x: HOLDER.function(x),
    "an instance without methods": lambda x: MARKER.function(x),
    "a dict": lambda x: PLAIN["a"].function(x),
    "an ordered dict": lambda x: list(ORDERED.values())[-1].function(x),
    "a dict with a default": lambda x: BY_DEFAULT["missing"].function(x),
    "a read-only dict": lambda x: PROXY["a"].function(x),
    "a subclass of dict": lambda x: TABLE["a"].function(x),
}


@pytest.mark.parametrize("name", HOLDERS)
def test_functions_that_instances_without_methods_hold_are_adopted(name):
    assert fg.grad(HOLDERS[name])(0.3) == pytest.approx(math.cos(0.3), rel=1e-14)
    assert fg.jit(fg.grad(HOLDERS[name]))(0.3) == pytest.approx(math.cos(0.3), rel=1e-14)


def test_views_of_dicts_of_the_standard_library():
    ordered, missing = _ordered(), _by_default()

    def f(x):
        assert isinstance(ordered, OrderedDict)
        assert isinstance(missing, defaultdict)
        assert list(ordered) == list(ordered.keys()) == ["square", "sine"]
        assert list(reversed(ordered)) == ["sine", "square"]
        ordered.move_to_end("square")
        ordered["other"] = Caller(sine)
        assert "other" in ordered
        assert ordered.popitem(last=False)[0] == "sine"
        missing.default_factory = None
        return ordered["other"].function(x) + ordered.pop("square").function(x)

    assert fg.grad(f)(0.3) == pytest.approx(math.cos(0.3) + 0.6, rel=1e-14)
    assert list(ordered) == ["other"]


# -- functions that a class, a metaclass or a weak reference leads to ------------------------------
def squared(x):
    return x * x if isinstance(x, float) else 5.0 * x


@dataclasses.dataclass
class WithDefault:
    factor: float
    function: typing.Callable = squared

    def value(self, x):
        return self.function(x) * self.factor


class Cached:
    @functools.cached_property
    def function(self):
        return squared


class Descriptor:
    def __get__(self, instance, owner=None):
        return squared


class OfDescriptor:
    function = Descriptor()


class Named(type):
    functions: typing.ClassVar = [squared]

    def __getattr__(cls, name):
        if name.startswith("_"):
            raise AttributeError(name)
        return squared

    def scaled(cls, x):
        return cls.factor * squared(x)

    @property
    def own(cls):
        return squared

    def __getitem__(cls, name):
        return squared

    def __iter__(cls):
        return iter([squared])


class OfNamed(metaclass=Named):
    factor = 1.0


class Registering(type):
    classes: typing.ClassVar = {}

    def __init__(cls, name, bases, space):
        super().__init__(name, bases, space)
        Registering.classes[name] = cls


class Registered(metaclass=Registering):
    def value(self, x):
        return squared(x)


Item = typing.TypeVar("Item")


class Boxed(typing.Generic[Item]):
    def __init__(self, item: Item):
        self.item = item

    def value(self):
        return squared(self.item)


OfFloats = Boxed[float]


class Outer:
    class Inner:
        def value(self, x):
            return squared(x)

    def value(self, x):
        return self.Inner().value(x)


class Announced:
    known: typing.ClassVar = []

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        Announced.known.append(cls)


class Subclass(Announced):
    def __init__(self, item):
        self.item = item

    def doubled(self):
        return Subclass(2 * squared(self.item))


class Node:
    def __init__(self, parent=None):
        self.parent = None if parent is None else weakref.ref(parent)

    def value(self, x):
        return squared(x) if self.parent is None else self.parent().value(x)


@contextlib.contextmanager
def giving():
    yield squared


def within(x):
    with giving() as f:
        return f(x)


BY_NAME, BY_FACTORY, PLAIN_DICT = (
    OrderedDict(a=squared),
    defaultdict(lambda: squared),
    {"a": squared},
)
DEFAULT, CACHED, ROOT = WithDefault(1.0), Cached(), Node()
CHILD, WEAK, PROXIED = Node(ROOT), weakref.ref(squared), weakref.proxy(ROOT)
PLACES = {
    "a default of a dataclass": lambda x: DEFAULT.value(x),
    "a dataclass with another field": lambda x: dataclasses.replace(DEFAULT, factor=x).value(x) / x,
    "a cached property": lambda x: CACHED.function(x),
    "a descriptor": lambda x: OfDescriptor().function(x),
    "an attribute of a metaclass": lambda x: OfNamed.functions[0](x),
    "a name that a metaclass looks up": lambda x: OfNamed.some(x),
    "a method of a metaclass": lambda x: OfNamed.scaled(x),
    "a property of a metaclass": lambda x: OfNamed.own(x),
    "an item of a class": lambda x: OfNamed["a"](x),
    "the items of a class": lambda x: next(iter(OfNamed))(x),
    "a class in a register": lambda x: Registering.classes["Registered"]().value(x),
    "a class in a register, by its metaclass": lambda x: Registered.classes["Registered"]().value(
        x
    ),
    "a generic class": lambda x: Boxed[float](x).value(),
    "an alias of a generic class": lambda x: OfFloats(x).value(),
    "an alias in a list": lambda x, held=(OfFloats,): held[0](x).value(),
    "a class in a class": lambda x: Outer().value(x),
    "a class in a class, by its name": lambda x: Outer.Inner().value(x),
    "a class that is announced": lambda x: Subclass(x).doubled().item / 2,
    "the attributes of an instance": lambda x: vars(DEFAULT)["function"](x),
    "a weak reference": lambda x: WEAK()(x),
    "a weak proxy": lambda x: PROXIED.value(x),
    "a weak proxy in a list": lambda x, held=(PROXIED,): held[0].value(x),
    "a weak reference of an instance": lambda x: CHILD.value(x),
    "what a context manager gives": within,
}


@pytest.mark.parametrize("name", PLACES)
def test_functions_that_ask_for_types_are_adopted(name):
    f = PLACES[name]
    for _ in range(2):
        assert f(0.7) == pytest.approx(0.49)
        assert fg.grad(f)(0.7) == pytest.approx(1.4)
        assert fg.jit(fg.grad(f))(0.7) == pytest.approx(1.4)
        assert fg.jvp(f, (0.7,), (1.0,))[1] == pytest.approx(1.4)


def test_stores_into_a_class_reach_the_original():
    class Counted:
        count = 0
        table: typing.ClassVar = {}

        def value(self, x):
            Counted.count += 1
            type(self).last = "called"
            Counted.table["x"] = 1.0
            return squared(x) * Counted.count / Counted.count

    assert fg.grad(lambda x: Counted().value(x))(0.7) == pytest.approx(1.4)
    assert (Counted.count, Counted.last, Counted.table) == (1, "called", {"x": 1.0})
    assert fg.grad(lambda x: Counted().value(x))(0.7) == pytest.approx(1.4)
    assert Counted.count == 2

    def deleting(x):
        Counted.other = 3.0
        del Counted.other, Counted.last
        return squared(x)

    assert fg.grad(deleting)(0.7) == 1.4
    assert not hasattr(Counted, "other")
    assert not hasattr(Counted, "last")


def test_copies_and_unions_of_dicts_of_the_standard_library():
    def f(x):
        ordered, made = BY_NAME.copy(), BY_FACTORY.copy()
        both = BY_NAME | {"plain": square}
        kept = type(ordered) is OrderedDict and type(both) is OrderedDict
        return ordered["a"](x) + made["new"](x) + both["a"](x) + ({} | PLAIN_DICT)["a"](x) * kept

    assert fg.grad(f)(0.7) == pytest.approx(4 * 1.4)


def test_views_of_arrays_and_references_are_one_object():
    held, target = np.array([squared, None]), Node()
    link = weakref.ref(target)

    def f(x):
        same = held is held and link is link and link() is link()
        return held[0](x) if same else x

    assert fg.grad(f)(0.7) == 1.4
    assert fg.adopt(lambda: held)() is held
    assert type(pickle.loads(fg.adopt(lambda: pickle.dumps(held))())) is np.ndarray


def test_registers_and_weak_references_stay_as_they_are():
    assert fg.grad(lambda x: Registered().value(x))(0.7) == 1.4
    assert Registering.classes == {"Registered": Registered}
    assert type(OfNamed) is Named
    assert fg.adopt(
        lambda: (WEAK == WEAK, isinstance(WEAK, weakref.ref), type(OfNamed) is Named)
    )() == (*(True, True, True),)
    assert Announced.known == [Subclass]
    for made in (Subclass(1.0).doubled(), fg.adopt(lambda x: Subclass(x).doubled())(1.0)):
        assert (type(made), made.item) == (Subclass, 2.0)
    assert type(fg.adopt(lambda x: OfFloats(x))(1.0)) is Boxed
    gone = weakref.ref(Node())
    assert fg.grad(lambda x: squared(x) if gone() is None else x)(0.7) == 1.4


def halved(x):
    return x * x / 2 if type(x) is float else 100.0 * x


NAMED = {**{f"error {n}": ValueError for n in range(40)}, "half": halved}
LISTED = [*NAMED.values()]


@pytest.mark.parametrize(
    "f", [lambda x: NAMED["half"](x), lambda x: LISTED[-1](x), lambda x: (*LISTED,)[40](x)]
)
def test_functions_after_many_other_objects_are_adopted(f):
    for g in (f, fg.adopt(f)):
        assert fg.grad(g)(3.0) == fg.jit(fg.grad(g))(3.0) == 3.0
        assert fg.hessian(g)(3.0) == fg.jvp(fg.grad(g), (3.0,), (1.0,))[1] == 1.0
        assert fg.vmap(fg.grad(g))(np.array([3.0])).tolist() == [
            100.0
        ]  # an entry is NumPy's number

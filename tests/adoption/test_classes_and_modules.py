"""Adopted classes, instances, modules and packages."""

import abc
import copy
import dataclasses
import enum
import math
import sys
import types
import typing
from abc import ABC, abstractmethod
from typing import NamedTuple

import numpy as np
import pytest

import funcgrad as fg


class Kernel(ABC):
    def __init__(self, width):
        self.width = width

    @abstractmethod
    def shape(self, x):
        """The kernel at x."""

    def value(self, x):
        return self.shape(x / self.width)


class Gaussian(Kernel):
    def __init__(self, width):
        super(Gaussian, self).__init__(width)  # noqa: UP008  # as older code has it
        self.calls = 0

    def shape(self, x):
        return math.exp(-x * x)

    def value(self, x):
        self.calls += 1
        return super().value(x)

    @property
    def area(self):
        return self.width * math.sqrt(math.pi)

    @staticmethod
    def log(x):
        return math.log(x)

    @classmethod
    def of_area(cls, area):
        return cls(area / math.sqrt(math.pi))


@dataclasses.dataclass
class Point:
    x: float
    y: float

    def norm(self):
        return math.hypot(self.x, self.y)

    def __add__(self, other):
        return (
            Point(self.x + other.x, self.y + other.y)
            if isinstance(other, Point)
            else NotImplemented
        )


ORIGIN = Point(1.0, 2.0)
GIVEN = Gaussian(2.0)


def builds(x):
    return Gaussian(x).value(0.5) + Gaussian(x).area + Gaussian.log(x)


def builds_by_class_method(x):
    return Gaussian.of_area(x).width


def adds(x):
    return (Point(x, 2.0) + ORIGIN).norm()


def has_instance(x):
    return GIVEN.value(x)


@pytest.mark.parametrize(
    "f", [builds, builds_by_class_method, adds, has_instance, Gaussian(0.7).value]
)
def test_methods_are_adopted(f):
    x, h = 0.37, 1e-6
    difference = (f(x + h) - f(x - h)) / (2 * h)
    assert fg.grad(fg.adopt(f))(x) == pytest.approx(difference, rel=1e-8)


def test_an_instance_keeps_what_adopted_methods_assign():
    kernel = Gaussian(2.0)
    fg.grad(fg.adopt(kernel.value))(0.5)
    assert kernel.calls == 1


def test_instances_are_those_of_the_original_class():
    def f(x):
        kernel = Gaussian(x)
        assert isinstance(kernel, Gaussian)
        assert isinstance(kernel, Kernel)
        assert type(kernel) is Gaussian
        assert isinstance(GIVEN, Gaussian)
        assert issubclass(Gaussian, Kernel)
        return kernel.value(0.5)

    fg.grad(fg.adopt(f))(1.0)
    assert isinstance(fg.adopt(Gaussian)(1.0), Gaussian)


def test_a_marker_keeps_its_identity():
    class Missing:
        def __repr__(self):
            return "missing"

    missing = Missing()

    def f(x, y=missing):
        return math.sin(x) if y is missing else y

    assert fg.grad(fg.adopt(f))(0.5) == math.cos(0.5)
    assert fg.grad(fg.adopt(lambda x: f(x, missing)))(0.5) == math.cos(0.5)


class Planet:
    def __init__(self, radius):
        self.radius = radius

    def height(self, x):
        return self.radius * math.sin(x)


Planet.EARTH = Planet(2.0)


def test_an_instance_among_the_attributes_of_a_class_is_adopted():
    assert fg.grad(fg.adopt(lambda x: Planet.EARTH.height(x)))(0.5) == 2.0 * math.cos(0.5)


class Registered(type):
    """A metaclass that hears of its classes, as those of plug-ins do."""

    names = ()

    def __init__(cls, name, bases, space):
        super().__init__(name, bases, space)
        Registered.names += (name,)


class Channel(str):
    """A text with a function among its attributes."""

    def __new__(cls, name, limit=float):
        made = super().__new__(cls, name)
        made.limit = limit
        return made

    def scaled(self, x):
        return 2.0 * self.limit(x)


class Space(metaclass=Registered):
    CHANNELS = (Channel("red"), Channel("green", math.sin))

    def coordinates(self, x):
        return [channel.limit(x) * math.exp(x) for channel in self.CHANNELS]

    @classmethod
    def total(cls, x):
        return cls().coordinates(x)[0] + sum([channel.scaled(x) for channel in cls.CHANNELS])


def test_classes_of_a_metaclass_and_texts_with_functions_are_adopted():
    slope = fg.grad(lambda x: Space.total(x))(0.5)
    assert abs(slope - (1.5 * math.exp(0.5) + 2.0 + 2.0 * math.cos(0.5))) < 1e-14
    assert Registered.names == ("Space",)
    made = fg.adopt(lambda x: (Space(), Channel("blue")))(1.0)
    assert type(made[0]) is Space
    assert type(made[1]) is Channel
    assert fg.adopt(lambda: list(Space.CHANNELS))() == ["red", "green"]


class Single(type):
    """A metaclass that decides what a call of its classes gives."""

    made = None

    def __call__(cls):
        if cls.made is None:
            cls.made = super().__call__()
        return cls.made


class Settings(metaclass=Single):
    factor = 1.0

    def scaled(self, x):
        return self.factor * x


def test_a_singleton_stays_one():
    Settings().factor = 3.0
    assert fg.grad(lambda x: Settings().scaled(x))(0.5) == 3.0


def test_a_conversion_in_an_attribute_or_a_default_keeps_the_derivative():
    class Parser:
        def __init__(self):
            self.kind = float
            self.kinds = {"number": float, "complex": complex}

        def read(self, x, kind=float):
            return self.kind(x) * self.kinds["number"](x) * kind(x) * self.kinds["complex"](x).real

    parser = Parser()
    assert abs(fg.grad(lambda x: parser.read(x))(1.5) - 4 * 1.5**3) < 1e-13
    assert (
        fg.adopt(lambda: (parser.kind is float, parser.kinds["number"] is float))() == (True,) * 2
    )


def test_results_have_the_original_classes():
    result = fg.adopt(lambda x: [Gaussian(x), {"point": Point(x, x)}])(1.0)
    assert type(result[0]) is Gaussian
    assert type(result[1]["point"]) is Point


@pytest.fixture
def package(tmp_path, monkeypatch):
    files = {
        "__init__.py": "from .shapes import circle\nfrom . import tools\nNUMBERS = (int, float)\n",
        "shapes.py": """
import math
import numpy as np
from math import pi
from . import tools
from .tools import Scale, doubled as twice

class Angle(float):
    pass

def circle(r):
    if not isinstance(r, float):
        raise TypeError(r)
    return pi * math.pow(r, 2)

def both(r):
    import fgtestpackage.tools as t
    return twice(t.doubled(r)) + Scale(r).sine() + tools.LEVEL
""",
        "tools.py": """
import math
LEVEL = 1.0

def doubled(x):
    return 2 * math.fabs(x)

class Scale:
    def __init__(self, x):
        self.x = x

    def sine(self):
        return math.sin(self.x)
""",
    }
    home = tmp_path / "fgtestpackage"
    home.mkdir()
    for name, text in files.items():
        (home / name).write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    yield "fgtestpackage"
    for name in [name for name in sys.modules if name.startswith("fgtestpackage")]:
        del sys.modules[name]


def test_a_package_is_adopted_as_a_second_copy(package):
    adopted = fg.adopt(package)
    original = sys.modules[package]
    assert adopted is not original
    assert fg.grad(adopted.circle)(2.0) == 4 * math.pi
    assert fg.grad(adopted.shapes.both)(0.5) == 4.0 + math.cos(0.5)
    assert adopted.shapes.both(0.5) == original.shapes.both(0.5)
    assert adopted.shapes.circle.__module__ == "fgtestpackage.shapes"
    assert original.shapes.math is math
    assert original.shapes.np is np
    assert fg.adopt(package) is adopted
    assert fg.adopt(original) is adopted
    assert fg.adopt(original.shapes) is adopted.shapes
    assert adopted.shapes.Angle(1.5).hex() == (1.5).hex()


def test_functions_of_a_package_are_adopted_one_by_one(package):
    import fgtestpackage.shapes as shapes

    assert fg.grad(fg.adopt(shapes.both))(0.5) == 4.0 + math.cos(0.5)
    assert fg.grad(fg.adopt(lambda x: shapes.both(x)))(0.5) == 4.0 + math.cos(0.5)
    assert not hasattr(shapes, "__funcgrad_adopted__")


def test_a_package_that_is_not_there_is_an_import_error():
    with pytest.raises(ImportError, match="no_such_package"):
        fg.adopt("no_such_package")


def test_a_module_that_may_not_be_imported(monkeypatch):
    """As tests do that run code as if a package were not installed."""
    monkeypatch.setitem(sys.modules, "numba", None)
    assert fg.grad(lambda x: x * math.sin(x))(0.5) == pytest.approx(
        math.sin(0.5) + 0.5 * math.cos(0.5)
    )


# -- classes as keys -------------------------------------------------------------------------------
class Shape:
    def __init__(self, size):
        self.size = size

    def area(self):
        return float(self.size) ** 2


class Disk(Shape):
    def area(self):
        return math.pi * self.size**2


class Registry:
    def __init__(self):
        self.factors, self.known = {}, set()

    def add(self, kind, factor):
        self.factors[kind] = factor
        self.known.add(kind)


class Subclassed(dict):
    def find(self, key):
        return self[key]


FACTORS = {Shape: 2.0, Disk: 3.0}
KINDS = frozenset(FACTORS)
SUBCLASSED = Subclassed(FACTORS)
READ_ONLY = types.MappingProxyType(FACTORS)
REGISTRY = Registry()
for _kind, _factor in FACTORS.items():
    REGISTRY.add(_kind, _factor)


class Meta(abc.ABCMeta):
    def __len__(cls):
        return 5


class Measured(Disk, metaclass=Meta):
    def area(self):
        return super().area() * len(type(self))


@pytest.mark.parametrize(
    "f",
    [
        lambda x: FACTORS[type(Disk(x))] * Disk(x).area(),
        lambda x: FACTORS.get(Disk(x).__class__, 0.0) * Disk(x).area(),
        lambda x: (type(Disk(x)) in KINDS) * Disk(x).area(),
        lambda x: SUBCLASSED.find(type(Disk(x))) * Disk(x).area(),
        lambda x: READ_ONLY[type(Disk(x))] * Disk(x).area(),
        lambda x: REGISTRY.factors[type(Disk(x))] * (Disk in REGISTRY.known) * Disk(x).area(),
        lambda x: {type(Shape(x)): 1.0}.get(Disk, 4.0) * Disk(x).area(),
        lambda x: Measured(x).area() * (type(Measured) is Meta) * isinstance(Measured, type),
        lambda x: Disk(x).area() * (type(Disk) is type) * {type(Disk): 2.0}[type],
    ],
)
def test_an_adopted_class_is_the_key_that_its_original_is(f):
    for adopted in (f, fg.adopt(f)):
        assert fg.value_and_grad(adopted)(2.0) == (pytest.approx(f(2.0)), pytest.approx(f(2.0)))
        assert fg.jit(fg.grad(adopted))(2.0) == pytest.approx(f(2.0))


def test_an_adopted_class_and_its_original_are_one_key_for_plain_code():
    adopted = fg.adopt(Disk)
    assert adopted is not Disk
    assert {adopted: 1, Disk: 2} == {Disk: 2}
    assert adopted != Shape
    assert fg.adopt(Disk) == adopted == Disk
    assert hash(adopted) == hash(Disk)


class Polar(NamedTuple):
    r: float
    angle: float = 0.5

    @classmethod
    def of_point(cls, x, y):
        return cls(math.hypot(x, y), math.atan2(y, x))

    @property
    def x(self):
        return self.r * math.cos(self.angle)

    def point(self):
        out = np.zeros(2)
        out[0], out[1] = self.x, self.r * math.sin(self.angle)
        return out


class Pair(NamedTuple):
    first: Polar
    second: Polar

    def apart(self):
        return math.dist(self.first.point(), self.second.point())


class Row(list):
    def __add__(self, other):
        return Row(a + b for a, b in zip(self, other, strict=True))

    def norm(self):
        return math.sqrt(sum(a * a for a in self))


def test_methods_of_named_tuples_are_adopted():
    assert fg.grad(lambda r: Polar(r).point()[1])(2.0) == math.sin(0.5)
    assert fg.grad(lambda p: p.x)(Polar(2.0, 0.0)) == Polar(1.0, 0.0)
    assert fg.grad(lambda x: Polar.of_point(x, 3.0)._replace(angle=0.0).x)(4.0) == 0.8
    slopes = fg.grad(Pair.apart)(Pair(Polar(1.0, 0.0), Polar(4.0, 0.0)))
    assert type(slopes) is Pair
    assert type(slopes.first) is Polar
    assert (slopes.first.r, slopes.second.r) == (-1.0, 1.0)
    made = fg.adopt(lambda r: (Polar(r), Pair(Polar(r), Polar(1.0))))(2.0)
    assert [type(made[0]), type(made[1]), type(made[1].second)] == [Polar, Pair, Polar]
    moved, _ = fg.scan(lambda p, t: (Polar(p.x * t, p.angle), t), Polar(1.0, 0.0), np.ones(2) * 3)
    assert type(moved) is Polar
    assert moved.r == 9.0


def test_methods_of_subclasses_of_list_are_adopted():
    assert fg.grad(lambda x: (Row([x, 1.0]) + Row([x, 3.0])).norm())(1.5) == pytest.approx(1.2)
    assert type(fg.adopt(lambda x: [Row([x])])(2.0)[0]) is Row


def test_attributes_of_classes_are_not_asked_for_what_they_lack():
    class Lazy:
        def __getattr__(self, name):
            raise ImportError(name)

    class Model:
        module = Lazy()

        def value(self, x):
            return np.array([x, 2.0]).sum()

    assert fg.jit(lambda x: Model().value(x))(1.0) == 3.0


@dataclasses.dataclass
class Length:
    value: float


METER = Length(1.0)


def test_an_instance_among_the_globals_equals_one_that_adopted_code_makes():
    def f(x):
        return x * (Length(1.0) == METER) + math.sin(x)

    assert fg.adopt(f)(2.0) == f(2.0)
    assert fg.grad(f)(2.0) == pytest.approx(1 + math.cos(2.0))


class Absent:
    def __eq__(self, other):
        return self is other

    __hash__ = object.__hash__


ABSENT = Absent()


@pytest.mark.parametrize("marker", ["given", "named"])
def test_a_marker_that_is_an_argument_is_the_one_among_the_globals(marker):
    def f(x, m=None):
        return math.sin(x) if m is ABSENT else math.cos(x)

    f = fg.adopt(f)
    found = f(0.5, ABSENT) if marker == "given" else f(0.5, m=ABSENT)
    assert found == pytest.approx(math.sin(0.5))


class Backend:
    """Stands for a module, as objects do by which a package has its arrays elsewhere."""

    def __init__(self, module):
        self._module = module

    def __getattr__(self, name):
        return getattr(self._module, name)


class Table:
    def __init__(self, functions):
        self._functions = functions

    def __getitem__(self, name):
        return self._functions[name]


class ArrayLike:
    def __init__(self, values):
        self.values = np.zeros(2)
        self.values[:] = values

    def __array__(self, dtype=None, copy=None):
        return np.array(self.values, dtype=dtype, copy=copy)


BACKEND, TABLE = Backend(np), Table({"sin": math.sin})


def test_objects_that_hand_out_functions_hand_out_adopted_ones():
    def f(x):
        z = BACKEND.zeros(2)
        z[:] = BACKEND.asarray([x, TABLE["sin"](x)])
        return z[0] * z[1]

    assert fg.grad(f)(0.7) == pytest.approx(math.sin(0.7) + 0.7 * math.cos(0.7), rel=1e-14)


def test_array_likes_of_users_are_arrays():
    f = lambda x: np.sum(np.asarray(ArrayLike(x**2))) + np.sum(x * ArrayLike([2.0, 3.0]))  # noqa: E731
    assert fg.grad(f)(0.5) == pytest.approx(7.0)
    assert fg.jit(f)(0.5) == 3.0


def test_several_numbers_become_arrays_that_can_be_written():
    def f(x):
        first, second = np.atleast_1d(x, 2.0)
        both = second * first
        both[both > 100.0] = 0.0
        return both[0]

    assert fg.grad(f)(3.0) == 2.0


class Kind:
    def __init__(self, w):
        self.w = w

    def exactly(self, x):
        kinds = type(self) is __class__, self.__class__ is __class__, isinstance(self, __class__)
        return math.sin(x) * sum([10.0**k for k, holds in enumerate(kinds) if holds])

    def again(self, x):
        return __class__(3.0).scaled(x)

    def scaled(self, x):
        return self.w * math.sin(x)

    @classmethod
    def made(cls, x):
        return math.cos(x) * (2.0 if cls is __class__ else 3.0)

    @property
    def own(self):
        return 2.0 if any(type(self) is __class__ for _ in range(2)) else 3.0

    def through(self, x):
        return math.sin(x) * self.own


class Derived(Kind):
    def scaled(self, x):
        return 2.0 * super().scaled(x) if type(self) is __class__ else 0.0 * x


@pytest.mark.parametrize("name", ["exactly", "again", "scaled", "made", "through"])
@pytest.mark.parametrize("kind", [Kind, Derived])
def test_the_name_of_its_class_in_a_method(kind, name):
    made = kind(2.0)

    def f(x):
        return getattr(made, name)(x) + getattr(kind(0.5), name)(x)

    slope = (f(0.7 + 1e-6) - f(0.7 - 1e-6)) / 2e-6
    for how in (fg.grad(f), fg.jit(fg.grad(f)), lambda x: fg.jvp(f, (x,), (1.0,))[1]):
        assert how(0.7) == pytest.approx(slope, rel=1e-8)
    assert f(0.7) == fg.adopt(f)(0.7)
    assert made.exactly(0.0) == 0.0
    assert type(made) is kind


class Adding(type):
    """A metaclass that adds to the instances that a call of its classes makes."""

    def __call__(cls, x):
        made = super().__call__(x)
        made.extra = math.sin(x)
        return made


class Widened(metaclass=Adding):
    def __init__(self, x):
        self.x = x

    def total(self):
        return math.cos(self.x) + self.extra


class Shared(type):
    """A metaclass of classes with one instance each."""

    made: typing.ClassVar = {}

    def __call__(cls):
        if cls not in cls.made:
            cls.made[cls] = super().__call__()
        return cls.made[cls]


class OneScale(metaclass=Shared):
    factor = 2.0

    def scaled(self, x):
        return self.factor * math.cos(x) if OneScale() is self else 0.0 * x


def test_classes_whose_metaclass_is_called():
    assert fg.grad(lambda x: Widened(x).total())(0.7) == math.cos(0.7) - math.sin(0.7)
    assert fg.jit(lambda x: Widened(x).total())(0.7) == math.cos(0.7) + math.sin(0.7)
    for _ in range(2):
        assert fg.grad(lambda x: OneScale().scaled(x))(0.7) == -2.0 * math.sin(0.7)
    assert type(OneScale()) is OneScale
    assert list(Shared.made) == [OneScale]


class Mode(enum.Enum):
    SIN = "sin"

    def apply(self, x):
        return math.sin(x)


class Phase(complex):
    def __new__(cls, value, unit="rad"):
        made = complex.__new__(cls, value)
        made.unit = unit
        return made


def test_what_enums_and_subclasses_of_complex_are_refused_with():
    with pytest.raises(TypeError, match="since methods of an Enum, such"):
        fg.grad(lambda x: Mode.SIN.apply(x))(0.7)
    with pytest.raises(
        TypeError, match="an instance of Phase, a subclass of complex, holds a plain number"
    ):
        fg.grad(lambda x: (Phase(x) * 2).real)(0.7)
    assert fg.grad(lambda x: math.sin((Phase(2.0) * x).real))(0.7) == 2.0 * math.cos(1.4)


def squared(x):
    return x * x if isinstance(x, float) else 5.0 * x


class Degrees(float):
    unit = "deg"

    def __new__(cls, value, name="none"):
        made = float.__new__(cls, value)
        made.name = name
        return made

    def times(self, x):
        return self * squared(x)


class Count(int):
    def times(self, x):
        return self * squared(x)

    @property
    def twice(self):
        return Count(2 * self)


class Phasor(complex):
    def times(self, x):
        return (self * squared(x)).real


class Key(bytes):
    def times(self, x):
        return self[0] * squared(x)


class OfNumbers:
    def __init__(self):
        self.degrees, self.counts = Degrees(3.0), [Count(2)]

    def total(self, x):
        return self.degrees.times(x) + self.counts[0].times(x)


DEGREES, COUNT, PHASOR, KEY = Degrees(2.0, "d"), Count(2), Phasor(2 + 1j), Key(b"\x02")
OF_SUBCLASSES = {
    "float": lambda x: DEGREES.times(x),
    "int": lambda x: COUNT.times(x),
    "a property": lambda x: Count(1).twice.times(x),
    "complex": lambda x: PHASOR.times(x),
    "bytes": lambda x: KEY.times(x),
    "made in the function": lambda x: Degrees(2.0, "q").times(x),
    "attributes": lambda x: (
        squared(x) * 2
        if (DEGREES.name, DEGREES.unit, type(DEGREES)) == ("d", "deg", Degrees)
        else x
    ),
    "an index, a key and a count": lambda x: (
        squared([0.0, 0.0, x][COUNT]) * {2: 2.0}[COUNT] + 0 * sum(range(COUNT)) * np.zeros(COUNT)[0]
    ),
    "comparisons and texts": lambda x: (
        2 * squared(x) if DEGREES == 2.0 and COUNT < 3 and f"{DEGREES:.1f}" == "2.0" else x
    ),
    "copies": lambda x: (copy.copy(DEGREES).times(x) + copy.deepcopy(COUNT).times(x)) / 2,
    "a default": lambda x, held=DEGREES: held.times(x),
    "held": lambda x: OfNumbers().total(x) - 3 * squared(x),
}


@pytest.mark.parametrize("name", OF_SUBCLASSES)
def test_methods_of_subclasses_of_python_s_numbers(name):
    f = OF_SUBCLASSES[name]
    assert f(0.7) == pytest.approx(2 * 0.7**2)
    assert fg.grad(f)(0.7) == pytest.approx(2.8) == fg.jit(fg.grad(f))(0.7)
    assert fg.jvp(f, (0.7,), (1.0,))[1] == fg.grad(f)(0.7)
    assert fg.vmap(fg.grad(f))(np.array([0.7, 0.2])) == pytest.approx([2.8, 0.8])
    assert fg.grad(fg.grad(f))(0.7) == pytest.approx(4.0)


def test_results_that_are_of_subclasses_of_python_s_numbers():
    given = fg.adopt(lambda x: (DEGREES, [COUNT.twice]))(1.0)
    assert given == (2.0, [4])
    assert type(given[0]) is Degrees
    assert type(given[1][0]) is Count


class Rule:
    def apply(self, x):
        parts = np.zeros(2)
        parts[0] = math.sin(x)
        return parts.sum()


class Solver:
    rule_class = Rule

    def __init__(self):
        self.rule = self.rule_class()


class Subsolver(Solver):
    pass


@pytest.mark.parametrize("kind", [Solver, Subsolver])
def test_a_class_that_an_attribute_of_a_class_holds_is_adopted(kind):
    assert fg.grad(lambda x: kind().rule.apply(x))(0.3) == pytest.approx(math.cos(0.3))
    assert fg.grad(lambda x: kind.rule_class().apply(x))(0.3) == pytest.approx(math.cos(0.3))
    assert fg.adopt(lambda: kind.rule_class is Rule)()
    assert fg.adopt(lambda: kind.rule_class)() is Rule


class Neuron:
    """Compiled functions among the attributes of a class are no methods."""

    activation = math.tanh
    size = math.hypot
    array = np.array

    def __call__(self, x):
        return self.activation(x) + self.size(x, 1.0) + self.array([x, x]).sum()


NEURON = Neuron()


@pytest.mark.parametrize("f", [lambda x: Neuron()(x), lambda x: NEURON(x), NEURON])
def test_compiled_functions_among_the_attributes_of_a_class(f):
    slope = 1 / math.cosh(0.7) ** 2 + 0.7 / math.hypot(0.7, 1.0) + 2
    assert fg.grad(f)(0.7) == pytest.approx(slope, rel=1e-14)
    assert fg.jit(fg.grad(f))(0.7) == pytest.approx(slope, rel=1e-14)


def test_one_entry_of_flat_takes_a_traced_number():
    def f(x):
        m = np.zeros((3, 3))
        m.flat[1] = x
        return m[0, 1] ** 2

    assert fg.grad(f)(0.7) == 1.4


GAS = """
import math
import numpy as np

class Gas:
    def __init__(self, scale):
        self.scale = scale

    def enthalpy(self, t):
        t = np.asarray(t, dtype=float)
        return self.scale * math.exp(self.inner(t))

    def inner(self, t):
        out = np.zeros(2)
        out[1] = t * t
        return out.sum() if isinstance(t, float | np.ndarray) else 0.0

class Steam(Gas):
    @property
    def name(self):
        return "steam"

class Vapor(Gas):
    pass
"""


@pytest.mark.parametrize("space", [{}, {"__name__": "no_such_module"}])
@pytest.mark.parametrize("name", ["Gas", "Steam", "Vapor"])
def test_classes_of_executed_code_are_adopted(space, name):
    exec(GAS, space)
    made = space[name](2.0)
    for transform in (fg.grad, lambda f: fg.jit(fg.grad(f))):
        np.testing.assert_allclose(transform(lambda t: made.enthalpy(t))(0.7), 2.8 * math.exp(0.49))
        within = transform(lambda t: space[name](t).enthalpy(0.7))
        np.testing.assert_allclose(within(2.0), math.exp(0.49))
        within = transform(lambda t: space[name](t).enthalpy(t))
        np.testing.assert_allclose(within(2.0), 9 * math.exp(4.0))


def test_copies_of_modules_are_adopted():
    """A module of the name ``numpy`` that is not NumPy itself, as packages make for speed."""
    own = types.ModuleType("numpy")
    vars(own).update(vars(np))

    def doubled(x):
        return 2 * np.asarray(x)

    clone = types.FunctionType(doubled.__code__, {**doubled.__globals__, "np": own})
    for transform in (fg.grad, lambda f: fg.jit(fg.grad(f))):
        assert transform(lambda x: own.asarray(x) * x)(3.0) == 6.0
        assert transform(lambda x: clone(x) * x)(3.0) == 12.0

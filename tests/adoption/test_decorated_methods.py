"""Classes with decorated methods, whose closures may lead back to the class, in adopted code."""

import math
from functools import wraps

import numpy as np
import pytest

import funcgrad as fg


def checked(method):
    @wraps(method)
    def call(*args):
        return method(*args)

    return call


def all_checked(cls):
    for name in list(vars(cls)):
        if callable(getattr(cls, name)):
            setattr(cls, name, checked(getattr(cls, name)))
    return cls


@all_checked
class Scaled:
    """Each method is a function whose closure has the bound method of the class."""

    factor = 2.0

    @classmethod
    def outer(cls, x):
        return cls.inner(x) * cls.factor

    @classmethod
    def inner(cls, x):
        return math.sin(float(x)) if isinstance(x, float) else 0.0


class Derived(Scaled):
    pass


class Decorated:
    @checked
    def method(self, x):
        return math.sin(x) if isinstance(x, float) else 0.0


def by_closure(base):
    """A class whose method calls that of its base by the class in its closure."""

    class Made(base):
        pass

    def double(self, x):
        return 2 * super(Made, self).double(x)

    Made.double = double
    return Made


class Base:
    def double(self, x):
        values = np.array([1.0, 2.0])
        values *= x
        return values.sum() if isinstance(x, float) else 0.0


Made = by_closure(by_closure(Base))


def with_instance(held):
    return lambda x: held.method(x)


def with_many_methods(count):
    space = {f"m{i}": classmethod(lambda cls, x, i=i: math.sin(x) * i) for i in range(count)}
    return all_checked(type("Many", (), space))


@pytest.mark.parametrize(
    ("f", "slope"),
    [
        (lambda x: Scaled.outer(x), 2 * math.cos(0.5)),
        (lambda x: Derived.outer(x), 2 * math.cos(0.5)),
        (Derived.outer, 2 * math.cos(0.5)),
        (with_instance(Decorated()), math.cos(0.5)),
        (lambda x: Made().double(x), 12.0),
    ],
    ids=["class", "subclass", "function", "held instance", "super by closure"],
)
def test_decorated_methods_are_adopted(f, slope):
    assert fg.grad(f)(0.5) == pytest.approx(slope)
    assert fg.jit(fg.grad(f))(0.5) == pytest.approx(slope)


def test_a_class_of_many_methods_that_hold_it_is_adopted_once():
    many = with_many_methods(300)
    assert fg.grad(lambda x: many.m3(x))(0.5) == pytest.approx(3 * math.cos(0.5))
    adopted = fg.adopt(many)
    assert adopted.m3.__wrapped__.__self__ is many


class Parsed(property):
    """Stores what a function makes of a value; the setter is a closure over the property itself."""

    def __init__(self, parse):
        self.parse = parse
        name = f"_{parse.__name__}"

        def set_parsed(instance, value):
            vars(instance)[name] = self.parse.__get__(instance)(value)

        super().__init__(lambda instance: vars(instance)[name], set_parsed)


class Quantity:
    def __init__(self, nominal):
        self.nominal = nominal

    @Parsed
    def nominal(self, value):
        return float(value) * math.sin(value)


def test_a_property_that_its_own_setter_holds_is_adopted():
    slope = math.sin(0.5) + 0.5 * math.cos(0.5)
    assert fg.grad(lambda x: Quantity(x).nominal)(0.5) == pytest.approx(slope)
    assert fg.jit(fg.grad(lambda x: Quantity(x).nominal))(0.5) == pytest.approx(slope)
    assert Quantity(0.5).nominal == 0.5 * math.sin(0.5)

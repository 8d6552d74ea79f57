"""A change of a class is noticed: of the class of an instance, of its descriptors, and of its metaclass."""

import functools

import pytest

import funcgrad as fg


class Twice:
    rate = 2.0

    def scaled(self, x):
        return 2.0 * x

    def __call__(self, x):
        return 2.0 * x


class Thrice:
    rate = 3.0
    w = property(lambda self: 3.0)

    def scaled(self, x):
        return 3.0 * x

    def __call__(self, x):
        return 3.0 * x


@pytest.mark.parametrize(
    "read",
    [
        lambda m, x: m.rate * x,
        lambda m, x: m.scaled(x),
        lambda m, x: m(x),
        lambda m, x: m.w * x,
        lambda m, x: (2.0 if isinstance(m, Twice) else 3.0) * x,
    ],
)
@pytest.mark.parametrize("transform", [lambda f: f, fg.grad])
def test_the_class_of_an_instance_may_be_assigned(read, transform):
    model = Twice()
    model.w = 2.0
    f = transform(lambda x: x * read(model, x))
    g = fg.jit(f)
    assert [g(5.0), g(5.0), g(5.0)] == [f(5.0)] * 3
    before = f(5.0)
    model.__class__ = Thrice
    assert [g(5.0), g(5.0)] == [f(5.0)] * 2
    assert f(5.0) != before


def test_a_property_that_a_class_gets_later_hides_an_attribute():
    kind = type("Plain", (), {})
    model = kind()
    model.w = 2.0
    f = fg.jit(lambda x: model.w * x)
    assert [f(5.0), f(5.0)] == [10.0, 10.0]
    kind.w = property(lambda self: 3.0)
    assert [f(5.0), f(5.0)] == [15.0, 15.0]


class Descriptors:
    @property
    def computed(self):
        return 2.0

    @functools.cached_property
    def kept(self):
        return 2.0

    @staticmethod
    def static(x):
        return 2.0 * x

    @classmethod
    def of_class(cls, x):
        return 2.0 * x


@pytest.mark.parametrize("base", [False, True])
@pytest.mark.parametrize(
    ("name", "read", "later"),
    [
        ("computed", lambda m, x: m.computed * x, property(lambda self: 3.0)),
        ("computed", lambda m, x: m.computed * x, 3.0),
        ("kept", lambda m, x: m.kept * x, property(lambda self: 3.0)),
        ("static", lambda m, x: m.static(x), staticmethod(lambda x: 3.0 * x)),
        ("static", lambda m, x: m.static(x), lambda self, x: 3.0 * x),
        ("of_class", lambda m, x: m.of_class(x), classmethod(lambda cls, x: 3.0 * x)),
    ],
)
@pytest.mark.parametrize("transform", [lambda f: f, fg.grad])
def test_descriptors_that_a_class_is_given_later(monkeypatch, transform, base, name, read, later):
    model = type("Inherits", (Descriptors,), {})() if base else Descriptors()

    def f(x):
        return read(model, x)

    g = fg.jit(transform(f))
    x = 5.0
    before = [g(x), g(x), g(x)]
    assert before == [transform(f)(x)] * 3
    monkeypatch.setattr(Descriptors, name, later)
    vars(model).pop(name, None)
    assert [g(x), g(x)] == [transform(f)(x)] * 2 != before[:2]


def test_a_static_method_that_becomes_a_plain_function_is_noticed(monkeypatch):
    model = Descriptors()
    g = fg.jit(lambda x: model.static(x))
    assert [g(5.0), g(5.0), g(5.0)] == [10.0] * 3
    monkeypatch.setattr(Descriptors, "static", Descriptors.static)
    with pytest.raises(TypeError, match="positional argument"):
        g(5.0)


def test_an_attribute_of_a_metaclass_that_the_class_hides_later():
    class Meta(type):
        scale = 2.0

    class Model(metaclass=Meta):
        pass

    g = fg.jit(lambda x: Model.scale * x)
    assert [g(3.0), g(3.0)] == [6.0, 6.0]
    Model.scale = 4.0
    assert g(3.0) == 12.0
    del Model.scale
    Meta.scale = 5.0
    assert g(3.0) == 15.0

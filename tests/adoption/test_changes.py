"""What changes after a function has been adopted is seen, and nothing is kept alive."""

import functools
import gc
import math
import weakref
from types import ModuleType

import numpy as np
import pytest

import funcgrad as fg
from funcgrad.adoption.adopted_entries import Entries, Entry, class_parts, function_parts

X = 0.7


class Base:
    def inner(self, x):
        return math.sin(x)


class Model(Base):
    scale = 1.0

    def __call__(self, x):
        return self.scale * self.inner(x)

    @staticmethod
    def static(x, power=2.0):
        return math.pow(x, power)

    @property
    def slope(self):
        return math.cos(0.0)


model = Model()


def cosine(self, x):
    return math.cos(x)


def power(x, n=2.0, *, scale=1.0):
    return scale * math.pow(x, n)


def uses_power(x):
    return power(x)


def cubic(x, n=3.0, *, scale=2.0):
    return scale * math.pow(x, n) + 0 * x


WAYS = [lambda f: fg.grad(fg.adopt(f)), lambda f: fg.jit(fg.grad(fg.adopt(f)))]


@pytest.mark.parametrize("way", WAYS)
def test_methods_that_are_replaced_are_seen(way, monkeypatch):
    for f in (lambda x: model(x), model, lambda x, m=model: m(x)):
        g = way(f)
        assert g(X) == math.cos(X)
        monkeypatch.setattr(Base, "inner", cosine)
        assert g(X) == -math.sin(X)
        monkeypatch.setattr(Model, "inner", Base.inner, raising=False)
        assert g(X) == -math.sin(X)
        monkeypatch.undo()
        assert g(X) == math.cos(X)


def test_other_attributes_of_classes_that_are_replaced_are_seen(monkeypatch):
    g = fg.grad(fg.adopt(lambda x: Model.static(x) * model.slope * model.scale))
    assert g(X) == pytest.approx(2 * X)
    monkeypatch.setattr(Model, "scale", 3.0)
    assert g(X) == pytest.approx(6 * X)
    monkeypatch.setattr(Model, "static", staticmethod(lambda x: math.sin(x)))
    assert g(X) == pytest.approx(3 * math.cos(X))
    monkeypatch.setattr(Model, "slope", property(lambda self: math.sqrt(4.0)))
    assert g(X) == pytest.approx(6 * math.cos(X))


def test_code_and_defaults_that_are_replaced_are_seen(monkeypatch):
    own = power.__code__, power.__defaults__, power.__kwdefaults__
    for f in (power, uses_power, lambda x: power(x), lambda x, g=power: g(x)):
        g = fg.grad(fg.adopt(f))
        assert g(X) == pytest.approx(2 * X)
        monkeypatch.setattr(power, "__defaults__", (3.0,))
        assert g(X) == pytest.approx(3 * X * X)
        monkeypatch.setattr(power, "__kwdefaults__", {"scale": 2.0})
        assert g(X) == pytest.approx(6 * X * X)
        power.__kwdefaults__["scale"] = 4.0
        assert g(X) == pytest.approx(12 * X * X)
        monkeypatch.setattr(power, "__code__", (lambda x, n=1, *, scale=1: math.exp(x)).__code__)
        assert g(X) == pytest.approx(math.exp(X))
        monkeypatch.undo()
        assert (power.__code__, power.__defaults__, power.__kwdefaults__) == own


def test_a_helper_of_another_module_that_is_bound_anew_is_seen():
    module = ModuleType("another_module")
    exec(
        "import math\ndef inner(x): return math.sin(x)\ndef outer(x): return inner(x)",
        vars(module),
    )
    g = fg.grad(fg.adopt(lambda x: module.outer(x)))
    assert g(X) == math.cos(X)
    module.inner = math.exp
    assert g(X) == math.exp(X)


class Answers:
    """Every attribute that it does not have is an error of its own."""

    def sine(self, x):
        return math.sin(x)

    def __getattr__(self, name):
        assert name.startswith("__array"), name
        raise AttributeError(name)


def changing():
    """A class and its base, which may be changed."""

    class Parent:
        count = 0

        def value(self, x, n=2.0, *, scale=1.0):
            return scale * math.pow(x, n)

        @staticmethod
        def fixed(x, n=1.0):
            return n * x

    class Child(Parent):
        def own(self, x):
            return math.sin(x)

    return Child, Parent


def renamed(kind, old, new):
    setattr(kind, new, vars(kind)[old])
    delattr(kind, old)


CLASS_CHANGES = {
    "a method": lambda child, parent: setattr(child, "own", cosine),
    "a method of the base": lambda child, parent: setattr(parent, "value", cosine),
    "a method more": lambda child, parent: setattr(child, "more", cosine),
    "a method less": lambda child, parent: delattr(child, "own"),
    "another name": lambda child, parent: renamed(parent, "value", "power"),
    "code": lambda child, parent: setattr(child.own, "__code__", cosine.__code__),
    "defaults": lambda child, parent: setattr(parent.value, "__defaults__", (3.0,)),
    "a named default": lambda child, parent: parent.value.__kwdefaults__.update(scale=2.0),
    "named defaults": lambda child, parent: setattr(parent.value, "__kwdefaults__", {"scale": 2.0}),
    "of a static method": lambda child, parent: setattr(parent.fixed, "__defaults__", (3.0,)),
    "a method for a number": lambda child, parent: setattr(parent, "count", cosine),
    "the bases": lambda child, parent: setattr(child, "__bases__", (changing()[1],)),
}


@pytest.mark.parametrize("change", CLASS_CHANGES.values(), ids=CLASS_CHANGES)
def test_changes_of_a_class_are_among_its_parts(change):
    child, parent = changing()
    known = class_parts(child)
    parent.count += 1
    child.number = 2.0
    assert class_parts(child) == known  # whatever is no code
    change(child, parent)
    for _ in range(2):
        assert change is CLASS_CHANGES["the bases"] or any([part.has_changed() for part in known])
    assert class_parts(child) != known


def test_entries_that_are_compared_at_once_are_those_that_are_compared_one_by_one():
    child, parent = changing()
    functions = [lambda x, n=k: n * x for k in range(2)]
    functions.append(lambda x, *, n: n * x)
    closed = [lambda x, data=(X,): data[0] * x]
    entries = Entries()
    kept = [
        Entry(weakref.ref(f), id, function_parts, function_parts(f)) for f in functions + closed
    ]
    kept.append(Entry(weakref.ref(child), id, class_parts, class_parts(child)))
    for key, entry in enumerate(kept):
        entries[key] = functools.partial(lambda entry: entry, entry)
    assert not entries.is_stale()
    for change, restore in [
        (lambda: setattr(functions[0], "__defaults__", (9,)), (0,)),
        (lambda: setattr(closed[0], "__defaults__", (9,)), (3,)),
        (lambda: setattr(functions[2], "__kwdefaults__", {"n": 1}), (2,)),
        (lambda: setattr(parent, "value", cosine), (4,)),
        (functions.clear, ()),
    ]:
        change()
        gc.collect()
        assert entries.is_stale()
        for key in restore:
            entries.drop(key)
        assert not restore or not entries.is_stale()


def test_objects_are_not_asked_for_attributes():
    answers = Answers()
    assert fg.grad(fg.adopt(lambda x: answers.sine(x)))(X) == math.cos(X)


def test_compiled_programs_are_not_adopted():
    space = {"sin": math.sin}
    exec(compile("def program(x): return sin(x)", "<funcgrad program 1>", "exec"), space)
    assert fg.adopt(space["program"])(X) == math.sin(X)
    with pytest.raises(TypeError, match="derivative"):
        fg.grad(fg.adopt(space["program"]))(X)


class Box:
    pass


def local_function():
    big = Box()
    big.data = np.ones(3)

    def f(x):
        return math.sin(x) * big.data[0] + (0 if big.f is f else 1)

    big.f = f
    return f, big


def local_class():
    class Local(Base):
        def __call__(self, x):
            return super().inner(x) if self.own is self.own.own else 0.0

    instance = Local()
    instance.own = instance
    return instance, Local


def defaulted():
    box = Box()

    def f(x, box=box):
        return math.sin(x)

    box.f = f
    return f, box


@pytest.mark.parametrize("make", [local_function, local_class, defaulted])
def test_nothing_is_kept_alive(make):
    f, held = make()
    g = fg.grad(fg.adopt(f))
    assert [g(X), g(X)] == [math.cos(X)] * 2
    seen = [weakref.ref(f), weakref.ref(held)]
    del f, held, g
    gc.collect()
    gc.collect()  # what the entries of the first pass referred to
    assert [r() for r in seen] == [None, None]


@functools.lru_cache
def _memoized(x):
    return _inner(x) * 2


def _inner(x):
    return np.sin(x)


def _calls_memoized(x):
    return _memoized(x) + x


def test_a_memoized_function_is_adopted_once_and_follows_its_changes(monkeypatch):
    names = fg.adopt(_calls_memoized).__globals__
    assert names["_memoized"] is names["_memoized"]
    assert fg.grad(_calls_memoized)(0.3) == pytest.approx(2 * np.cos(0.3) + 1)
    monkeypatch.setitem(globals(), "_inner", np.cos)
    assert fg.grad(_calls_memoized)(0.3) == pytest.approx(-2 * np.sin(0.3) + 1)
    monkeypatch.setitem(globals(), "_memoized", functools.lru_cache(lambda x: x * 3))
    assert fg.grad(_calls_memoized)(0.3) == 4.0

"""What is read of instances and containers is watched: a jitted function is traced again when it changes."""

import dataclasses
import functools
import gc
import types
import weakref

import numpy as np
import pytest

import funcgrad as fg
from funcgrad.transforms.jit.captures import CapturedVariables
from tests.default_slice import one_in
from tests.transforms.jit.test_captures import check


class Layer:
    rate = 10.0

    def __init__(self, w=2.0):
        self.w = w

    def __call__(self, x):
        return self.w * x * x

    def scaled(self, x):
        return self.w * x * x


class Model(Layer):
    def __init__(self):
        super().__init__()
        self.layer = Layer(3.0)
        self.params = {"w": 2.0, "list": [1.0, 4.0]}

    def nested(self, x):
        return self.layer.w * x * x + self.w

    def assigned(self, x):
        layer = self.layer
        return layer.w * x * x

    def calls_instance(self, x):
        return self.layer(x)

    def calls_method(self, x):
        return self.nested(x)

    def scaled(self, x):
        return super().scaled(x)

    @property
    def double(self):
        return self.w * 2

    def reads_property(self, x):
        return self.double * x * x

    @functools.cached_property
    def once(self):
        return self.w * 3

    def reads_cached_property(self, x):
        return self.once * x

    def inner(self, x):
        return (lambda y: self.w * y * y)(x)

    def comprehension(self, x):
        return sum([self.w * x * k for k in range(3)])

    def recursive(self, x, n=2):
        return self.w * x * x if n == 0 else self.recursive(x, n - 1)

    def of_class(self, x):
        return self.rate * x * x

    @classmethod
    def class_method(cls, x):
        return cls.rate * x * x

    @staticmethod
    def static_method(x):
        return Model.rate * x * x

    def calls_both(self, x):
        return self.class_method(x) + self.static_method(x)

    def item(self, x):
        return self.params["w"] * x * x

    def item_of_item(self, x):
        return self.params["list"][1] * x * x


def set_w(model):
    model.w = 7.0


def set_layer_w(model):
    model.layer.w = 7.0


def set_layer(model):
    model.layer = Layer(9.0)


def set_rate(model):
    model.rate = 3.0


def changes():
    for name in ("scaled", "reads_property", "inner", "comprehension", "recursive", "nested"):
        yield name, set_w
    for name in ("nested", "assigned", "calls_instance", "calls_method"):
        yield name, set_layer_w
        yield name, set_layer
    yield "of_class", set_rate
    yield "item", lambda model: model.params.update(w=5.0)
    yield "item", lambda model: setattr(model, "params", {"w": 5.0})
    yield "item_of_item", lambda model: model.params["list"].__setitem__(1, 6.0)
    yield "reads_cached_property", lambda model: model.__dict__.update(once=1.0)


@pytest.mark.parametrize(("name", "change"), one_in(3, list(changes())))
def test_attributes_that_a_method_reads(name, change):
    for wrapped in (lambda f: f, fg.grad, functools.partial):
        model = Model()
        f = wrapped(getattr(model, name))
        check(f, 3.0, functools.partial(change, model), f)


@pytest.mark.parametrize("name", ["class_method", "static_method", "calls_both", "of_class"])
def test_attributes_of_a_class(name, monkeypatch):
    f = getattr(Model(), name)
    check(f, 3.0, lambda: monkeypatch.setattr(Model, "rate", 4.0, raising=False), f)


def test_the_attributes_of_a_callable_instance():
    for wrapped in (lambda f: f, fg.grad, functools.partial):
        layer = Layer()
        f = wrapped(layer)
        check(f, 3.0, functools.partial(set_w, layer), f)


def test_a_change_of_an_attribute_is_told():
    model = Model()
    f = fg.jit(model.nested)
    assert f(1.0) == 5.0
    model.layer.w = 8.0
    assert f(1.0) == f(1.0) == 10.0
    assert "self.layer.w was bound anew" in f.explain_misses()
    assert f.explain_misses().count("first call") == 2


def test_other_attributes_may_change():
    model = Model()
    f = fg.jit(model.nested)
    f(1.0)
    model.unrelated = 1.0
    f(2.0)
    assert len(f.explain_misses().splitlines()) == 1


@pytest.mark.parametrize(
    "made",
    [
        lambda model: functools.partial(lambda model, x: model.w * x, model),
        lambda model: functools.partial(lambda x, model: model.w * x, model=model),
        lambda model: lambda x, model=model: model.w * x,
        lambda model: lambda x, *, model=model: model.w * x,
        lambda model: lambda x: model.w * x,
        lambda model: lambda x: model.scaled(x),
    ],
)
def test_instances_in_closures_defaults_and_partial_functions(made):
    for wrapped in (lambda f: f, fg.grad):
        model = Model()
        f = wrapped(made(model))
        check(f, 3.0, functools.partial(set_w, model), f)


@dataclasses.dataclass
class Data:
    w: float
    b: np.ndarray

    def f(self, x):
        return self.w * x + np.sum(self.b * x)


@dataclasses.dataclass(slots=True)
class Slotted:
    w: float
    late: float = dataclasses.field(init=False)

    def f(self, x):
        return self.w * x


@dataclasses.dataclass(frozen=True)
class Frozen:
    w: float

    def f(self, x):
        return self.w * x


@pytest.mark.parametrize(
    "made", [lambda: Data(2.0, np.ones(3)), lambda: Slotted(2.0), lambda: Frozen(2.0)]
)
def test_fields_of_dataclasses(made):
    data = made()
    check(data.f, 3.0, lambda: object.__setattr__(data, "w", 5.0), data.f, "self.w was bound anew")


@pytest.mark.parametrize("size", [3, 20_000])
def test_arrays_among_attributes_are_read_at_each_call(size):
    data = Data(2.0, np.ones(size))
    check(data.f, 3.0, lambda: data.b.__setitem__(0, 9.0), data.f)
    check(data.f, 3.0, lambda: setattr(data, "b", np.full(size, 4.0)), data.f)
    params = {"b": np.ones(size)}
    check(
        lambda x: np.sum(params["b"] * x),
        3.0,
        lambda: params["b"].__setitem__(0, 9.0),
        lambda x: x * np.sum(params["b"]),
    )


def test_a_large_array_of_an_instance_is_an_input_and_traces_once():
    data = Data(2.0, np.ones(20_000))
    f = fg.jit(data.f)
    for k in range(3):
        data.b[0] = k
        assert f(1.0) == data.f(1.0)
    assert len(f.explain_misses().splitlines()) == 1


def test_attributes_of_a_namespace_are_compared_in_the_inline_cache():
    class Looked(types.SimpleNamespace):
        def __getattribute__(self, name):
            return object.__getattribute__(self, name)

    for kind, inlined in ((types.SimpleNamespace, True), (Looked, False)):
        settings = kind(w=2.0, functions=kind(g=np.sin))
        f = fg.jit(lambda x, settings=settings: settings.w * settings.functions.g(x))
        assert f(3.0) == 2.0 * np.sin(3.0)
        assert (f.__code__.co_argcount > 0) == inlined
        settings.w = 4.0
        assert f(3.0) == 4.0 * np.sin(3.0)
        settings.functions.g = np.cos
        assert f(3.0) == 4.0 * np.cos(3.0)


def test_attributes_that_come_and_go():
    settings = types.SimpleNamespace(w=2.0)
    f = fg.jit(lambda x: settings.w * x)
    assert f(3.0) == 6.0
    del settings.w
    with pytest.raises(AttributeError, match="'w'"):
        f(3.0)
    settings.w = 4.0
    assert f(3.0) == 12.0

    layer = Layer()
    g = fg.jit(lambda x: layer.rate * x)
    assert g(3.0) == 30.0
    layer.rate = 2.0
    assert g(3.0) == 6.0
    del layer.rate
    assert g(3.0) == 30.0

    slotted = Slotted(1.0)
    h = fg.jit(lambda x: getattr(slotted, "late", 1.0) * slotted.w * x if x > 0 else slotted.late)
    assert h(3.0) == 3.0
    slotted.w = 2.0
    assert h(3.0) == 6.0


def test_named_tuples_and_items_of_tuples():
    rows = (np.ones(3), [2.0])
    check(
        lambda x: np.sum(rows[0]) * rows[1][0] * x,
        3.0,
        lambda: rows[1].__setitem__(0, 5.0),
        lambda x: x * 3 * rows[1][0],
    )
    check(
        lambda x: np.sum(rows[0]) * x,
        3.0,
        lambda: rows[0].__setitem__(0, 5.0),
        lambda x: x * np.sum(rows[0]),
    )


class Trainer:
    """An instance that holds the function made of its method, as is usual."""

    def __init__(self):
        self.w = 2.0
        self.part = Layer(1.0)
        self.part.parent = self
        self.table = {"k": 1.0, "self": self}
        self.step = fg.jit(self._step)

    def _step(self, x):
        return self.w * x + self.part.w + self.table["k"]


def test_an_instance_that_holds_its_own_jitted_method_is_freed():
    trainer = Trainer()
    assert trainer.step(1.0) == trainer.step(1.0) == 4.0
    trainer.w = 3.0
    assert trainer.step(1.0) == 5.0
    alive = weakref.ref(trainer)
    del trainer
    gc.collect()
    assert alive() is None


class Holds:
    """An instance that holds a jitted function of what its class computes."""

    def __init__(self):
        self.w = 2.0
        self.table = {"self": self}
        self.step = fg.jit(lambda x: self.double * x + len(self.table))

    @property
    def double(self):
        return 2 * self.w


def test_an_instance_that_holds_a_jitted_function_of_its_property_is_freed():
    kind = type("Own", (Holds,), {"double": property(lambda self: 2 * self.w)})
    for made in (Holds, kind):
        holds = made()
        assert [holds.step(1.0), holds.step(1.0)] == [5.0, 5.0]
        holds.w = 3.0
        assert [holds.step(1.0), holds.step(1.0)] == [7.0, 7.0]
        alive = weakref.ref(holds)
        del holds
        gc.collect()
        assert alive() is None
    alive = weakref.ref(kind)
    del kind, made
    gc.collect()
    assert alive() is None


def test_a_jitted_function_that_calls_itself_by_a_cell_is_freed():
    def made():
        jitted = fg.jit(lambda x: x if x < 2.0 else 2.0 * jitted(x / 2.0))
        assert [jitted(6.0), jitted(6.0)] == [6.0, 6.0]
        return weakref.ref(jitted)

    alive = made()
    gc.collect()
    assert alive() is None


class Strict:
    """An instance that computes attributes from a table, and does not say so as Python asks."""

    def __init__(self):
        self.table = {"w": 2.0}

    def __getattr__(self, name):
        return self.__dict__["table"][name]


@pytest.mark.parametrize("transform", [lambda f: f, fg.grad])
def test_an_instance_whose_attributes_raise_key_errors(transform):
    strict = Strict()
    f = transform(lambda x: strict.w * x * x)
    g = fg.jit(f)
    assert [g(5.0), g(5.0)] == [f(5.0)] * 2
    strict.table["w"] = 3.0
    assert [g(5.0), g(5.0)] == [f(5.0)] * 2


def test_plain_functions_watch_no_more_than_their_names():
    w, scale = np.ones(3), 2.0
    places = [
        item.place.name for item in CapturedVariables(lambda x: np.sum(w.T * x) * scale).values()
    ]
    # (A global could hide the builtin sum.)
    assert places == ["scale", "w", "sum"]

"""What static arguments hold is watched: a changed attribute, global or array leads to a new trace."""

from dataclasses import dataclass, field
from functools import partial
from typing import Annotated, Any, NamedTuple

import numpy as np
import pytest

import funcgrad as fg

RATE = 1.0


class Model:
    def __init__(self):
        self.w = 2.0
        self.table = np.ones(3)

    def forward(self, x):
        return self.w * x + np.sum(self.table)

    def __call__(self, x):
        return self.forward(x)

    @fg.jit(static_argnums=0)
    def jitted(self, x):
        return self.forward(x)

    @fg.jit(static_argnames="self")
    def jitted_by_name(self, x):
        return self.forward(x)


@dataclass
class InMetadata:
    w: float
    held: Any = field(metadata={"static": True})


class Named(NamedTuple):
    w: float
    held: Annotated[Any, fg.static]


@fg.register_tree
class Registered:
    held: fg.static[Any]

    def __init__(self, w, held):
        self.w = w
        self.held = held


def called(g, x):
    return g(x)


def forwarded(model, x):
    return model.forward(x)


def read(held, x):
    return held["model"].value.forward(x)


ROUTES = {
    "static_argnums": lambda model: partial(fg.jit(forwarded, static_argnums=0), model),
    "static_argnames": lambda model: partial(fg.jit(forwarded, static_argnames="model"), model),
    "a jitted method": lambda model: model.jitted,
    "a jitted method, by name": lambda model: model.jitted_by_name,
    "a bound method": lambda model: partial(fg.jit(called), model.forward),
    "an instance that is called": lambda model: partial(fg.jit(called, static_argnums=0), model),
    "a function": lambda model: partial(fg.jit(called), lambda x: model.forward(x)),
    "a partial function": lambda model: partial(fg.jit(called), partial(forwarded, model)),
    "a marked value": lambda model: partial(fg.jit(read), {"model": fg.static(model)}),
    "a tuple": lambda model: partial(
        fg.jit(lambda models, x: models[0].forward(x), static_argnums=0), (model, "text")
    ),
    "a gradient": lambda model: partial(
        fg.jit(lambda g, x: fg.grad(g)(x)), lambda x: model.forward(x) * x
    ),
}


@pytest.mark.parametrize("route", ROUTES)
def test_a_changed_attribute_is_noticed(route):
    model = Model()
    run = ROUTES[route](model)
    derived = route == "a gradient"
    wanted = lambda x: 2 * model.w * x + np.sum(model.table) if derived else model.forward(x)  # noqa: E731
    assert run(1.5) == wanted(1.5)
    model.w = 5.0
    assert run(1.5) == wanted(1.5)
    model.table[1] = -3.0
    assert run(1.5) == wanted(1.5)
    model.table = np.zeros(3)
    assert run(1.5) == run(1.5) == wanted(1.5)


@pytest.mark.parametrize("kind", [InMetadata, Named, Registered])
@pytest.mark.parametrize("x", [1.5, np.float32(1.5)])
def test_what_a_static_field_holds_is_noticed(kind, x):
    model = Model()
    run = fg.jit(lambda layer, x: layer.held.forward(layer.w * x))
    slope = fg.jit(fg.grad(lambda layer, x: layer.held(layer.w * x)))
    for w in (2.0, 5.0):
        model.w = w
        assert run(kind(1.0, model), x) == pytest.approx(w * 1.5 + 3)
        assert slope(kind(1.0, model.forward), x).w == pytest.approx(w * 1.5)


def test_a_global_of_a_function_among_the_arguments_is_noticed(monkeypatch):
    def scaled(x):
        return RATE * x

    apply = fg.jit(called)
    assert apply(scaled, 2.0) == 2.0
    monkeypatch.setattr("tests.transforms.jit.test_static_arguments.RATE", 3.0)
    assert apply(scaled, 2.0) == 6.0
    assert "RATE" in str(apply.explain_misses())


def test_each_value_is_traced_once():
    traces = []

    @fg.jit
    def apply(g, x):
        traces.append(g)
        return g(x)

    for _ in range(3):
        assert apply(np.sin, 0.0) == 0.0
        assert apply(np.cos, 0.0) == 1.0
        assert apply(fg.softplus, 0.0) == np.log(2)
    assert traces == [np.sin, np.cos, fg.softplus]
    assert "g(x)" not in str(apply.explain_misses())
    assert str(apply.program).startswith("def ")
    assert "softplus" in str(apply.lower(fg.softplus, 0.0))


def test_numbers_of_less_precision_beside_a_function():
    def shifted(x):
        return x + RATE

    apply = fg.jit(lambda g, x, k: g(x) * k)
    single = np.ones(2, np.float32)
    for k in (2.0, 3.0):
        found = apply(shifted, single, k)
        assert found.dtype == np.float32
        np.testing.assert_array_equal(found, 2 * k * np.ones(2))


def test_a_library_watches_static_arguments():
    pytest.importorskip("jax")
    model = Model()
    run = fg.jit(called, backend="jax")
    first = float(run(model.forward, np.float32(1.0)))
    model.w = 4.0
    assert float(run(model.forward, np.float32(1.0))) == first + 2.0


@dataclass(frozen=True)
class Settings:
    n: float
    held: list = field(default_factory=lambda: [2.0], compare=False)


class Labeled:
    """An instance that is equal to others of its name, whatever else they hold."""

    def __init__(self, name, values, rate=1.0):
        self.name, self.values, self.rate = name, values, rate

    def __eq__(self, other):
        return isinstance(other, Labeled) and self.name == other.name

    def __hash__(self):
        return hash(self.name)


@pytest.mark.parametrize("transform", [fg.jit, lambda f, **k: fg.jit(fg.grad(f), **k)])
def test_static_arguments_that_are_equal_and_hold_other_objects_have_traces_of_their_own(transform):
    f = transform(lambda x, s: x * s.held[0] * s.n, static_argnums=1)
    first, other = Settings(1.0, [2.0]), Settings(1.0, [5.0])
    assert [f(1.0, s) for s in (first, other, first)] == [2.0, 5.0, 2.0]
    first.held[0], other.held[0] = 7.0, 9.0
    assert [f(1.0, s) for s in (first, other)] == [7.0, 9.0]


def test_equal_instances_with_other_arrays_numbers_and_types_are_told_apart():
    f = fg.jit(lambda x, s: np.sum(x * s.values) * s.rate, static_argnums=1)
    assert f(1.0, Labeled("a", np.ones(2))) == 2.0
    own = Labeled("a", np.full(2, 5.0))
    assert f(1.0, own) == 10.0
    own.values[0] = 7.0
    assert f(1.0, own) == 12.0
    own.values = np.ones(3)
    assert f(1.0, own) == 3.0
    values = np.ones(2)
    assert [f(1.0, Labeled("b", values, rate)) for rate in (1.0, 3.0)] == [2.0, 6.0]
    kinds = fg.jit(lambda x, s: x * (2 if isinstance(s.n, int) else 3), static_argnums=1)
    held = []
    assert [kinds(1.0, Settings(n, held)) for n in (1, 1.0, True)] == [2.0, 3.0, 2.0]


@pytest.mark.parametrize("kind", [frozenset, tuple])
def test_collections_of_equal_numbers_of_other_types_are_told_apart(kind):
    f = fg.jit(lambda x, s: x * sum(type(n) is float for n in s), static_argnums=1)
    assert [f(2.0, kind([n, 3.0])) for n in (1, 1.0, True, 1)] == [2.0, 4.0, 2.0, 2.0]


def test_equal_instances_in_marks_and_static_fields_are_told_apart():
    f = fg.jit(lambda x, s: x * s.value.held[0])
    assert [f(1.0, fg.static(Settings(1.0, [v]))) for v in (2.0, 5.0)] == [2.0, 5.0]

    @dataclass
    class Model:
        w: float
        settings: object = field(default=None, metadata={"static": True})

    g = fg.jit(lambda m: m.w * m.settings.held[0])
    assert [g(Model(1.0, Settings(1.0, [v]))) for v in (2.0, 5.0)] == [2.0, 5.0]


def test_equal_instances_that_hold_the_same_share_a_trace():
    runs = []

    def f(x, s):
        runs.append(1)
        return x * s.n

    held, jitted = [], fg.jit(f, static_argnums=1)
    assert [jitted(1.0, Settings(3.0, held)) for _ in range(3)] == [3.0, 3.0, 3.0]
    assert len(runs) == 1

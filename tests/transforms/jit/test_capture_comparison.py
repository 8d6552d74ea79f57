"""Watched places that are compared at once: each change of one is noticed, and nothing else."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import funcgrad as fg
from funcgrad.transforms.jit.capture_comparison import PlaceComparison
from funcgrad.transforms.jit.capture_search import places_of
from funcgrad.transforms.jit.capture_sources import seen


class Base:
    kind = 1.0

    def scale(self, x: Any) -> Any:
        return x * self.kind


class Model(Base):
    def __init__(self) -> None:
        self.w = 2.0
        self.items = [1.0, 2.0]
        self.table = {"a": 1.0}


class Other(Model):
    kind = 5.0


class Slotted:
    __slots__ = ("w",)

    def __init__(self) -> None:
        self.w = 2.0


def case() -> tuple[Callable[[Any], Any], dict[str, Any]]:
    """A function that reads all kinds of places, and what it reads them from."""
    own = type("Own", (Model,), {})
    model, slotted, weights, count = own(), Slotted(), np.arange(3.0), 1.0
    space = {"np": np, "G": 3.0}
    exec("def helper(x, power=2.0, *, shift=1.0): return G * x**power + shift", space)
    helper: Any = space["helper"]

    def f(x: Any) -> Any:
        late = model.missing if hasattr(model, "missing") else 0.0
        part = model.scale(x) * model.w + sum(model.items) + model.table["a"] + late
        return np.sum(helper(part) * weights * count * slotted.w)

    def set_count(value: float) -> None:
        nonlocal count
        count = value

    found = {"own": own, "model": model, "slotted": slotted, "weights": weights, "space": space}
    return f, {**found, "helper": helper, "set_count": set_count}


CHANGES: dict[str, Callable[[dict[str, Any]], Any]] = {
    "an attribute": lambda of: setattr(of["model"], "w", 2.5),
    "an attribute that is removed": lambda of: delattr(of["model"], "w"),
    "an attribute that was absent": lambda of: setattr(of["model"], "missing", 1.0),
    "a namespace": lambda of: setattr(of["model"], "__dict__", dict(vars(of["model"]))),
    "a slot": lambda of: setattr(of["slotted"], "w", 2.5),
    "an attribute before that of the class": lambda of: setattr(of["model"], "kind", 2.5),
    "an attribute of a class": lambda of: setattr(of["own"], "kind", 2.5),
    "a method": lambda of: setattr(of["own"], "scale", lambda self, x: x),
    "a static method": lambda of: setattr(of["own"], "scale", staticmethod(Base.scale)),
    "the bases of a class": lambda of: setattr(of["own"], "__bases__", (Other,)),
    "a global": lambda of: of["space"].update(G=4.0),
    "a global that is removed": lambda of: of["space"].pop("G"),
    "defaults": lambda of: setattr(of["helper"], "__defaults__", (3.0,)),
    "defaults by name": lambda of: of["helper"].__kwdefaults__.update(shift=2.0),
    "a cell": lambda of: of["set_count"](2.0),
    "a list": lambda of: of["model"].items.append(1.0),
    "an item of a list": lambda of: of["model"].items.__setitem__(0, 1.5),
    "an item of a dict": lambda of: of["model"].table.update(a=2.0),
    "a key of a dict": lambda of: of["model"].table.update(b=2.0),
    "an array": lambda of: of["weights"].__setitem__(0, 2.0),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_of_a_place_is_noticed(change: str) -> None:
    f, found = case()
    compare = PlaceComparison([seen(place) for place in places_of(f)[0]])
    assert compare()
    assert compare()
    CHANGES[change](found)
    assert not compare()


@pytest.mark.parametrize(
    "change",
    [
        lambda of: setattr(of["model"], "unread", 1.0),
        lambda of: setattr(of["own"], "unread", 1.0),
        lambda of: of["space"].update(unread=1.0),
        lambda of: of["model"].items.__setitem__(0, of["model"].items[0]),
        lambda of: setattr(of["model"], "w", of["model"].w),
    ],
)
def test_what_stays_the_same_is_no_change(change: Callable[[dict[str, Any]], Any]) -> None:
    f, found = case()
    compare = PlaceComparison([seen(place) for place in places_of(f)[0]])
    change(found)
    assert compare()


def test_many_places_are_compared_in_a_fraction_of_the_time_of_one_by_one() -> None:
    models = [type(f"M{i}", (Model,), {})() for i in range(200)]

    def f(x: Any) -> Any:
        return sum([model.scale(x) * model.w for model in models])

    held = [seen(place) for place in places_of(f)[0]]
    compare = PlaceComparison(held)

    def one_by_one() -> bool:
        return all([item.place.get() is item.value for item in held if len(item.place) == 3])

    def shortest(function: Callable[[], bool]) -> float:
        times = []
        for _ in range(5):
            start = time.process_time()
            assert function()
            times.append(time.process_time() - start)
        return min(times)

    assert len(held) > 800
    assert shortest(compare) < 0.7 * shortest(one_by_one)


def test_a_jitted_function_follows_changes_of_classes_and_instances() -> None:
    f, found = case()
    jitted = fg.jit(fg.grad(f))
    assert jitted(2.0) == fg.grad(f)(2.0)
    for change in ("an attribute", "an attribute of a class", "a slot", "the bases of a class"):
        CHANGES[change](found)
        assert jitted(2.0) == fg.grad(f)(2.0), change

"""Deep copies of objects from outside: their arrays take traced values, and the originals stay."""

import copy
from collections import OrderedDict, deque
from copy import deepcopy
from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
import pytest

import funcgrad as fg


class Field:
    def __init__(self, values):
        self.values = values
        self.twice = values

    def scaled(self, w):
        new = copy.deepcopy(self)
        new.values *= w
        return new

    def total(self, w):
        return float(np.sum(self.values) * w)


@dataclass(frozen=True, slots=True)
class Slotted:
    values: np.ndarray


class Own:
    def __init__(self, values):
        self.held = [values]

    def __deepcopy__(self, memo):
        new = Own.__new__(Own)
        new.held = copy.deepcopy(self.held, memo)
        return new


START = np.array([1.0, 2.0, 3.0])
FIELD, SLOTTED, OWN = Field(START.copy()), Slotted(START.copy()), Own(START.copy())
SHARED = (FIELD, (FIELD.values, {"array": FIELD.values}), deque([FIELD.values]))
LAYERS = Field(np.array([Field(START.copy()), Field(START.copy())]))
SPACE, TABLE = SimpleNamespace(field=FIELD), OrderedDict(a=START.copy(), b=[START.copy()])


def of_a_method(w):
    return np.sum(FIELD.scaled(w).values ** 2)


def of_the_one_array_of_two_names(w):
    new = deepcopy(FIELD)
    new.values[1:] = w * new.values[1:]
    return np.sum(new.twice**2)


def of_slots(w):
    new = deepcopy(SLOTTED)
    new.values[0] = w**2
    return np.sum(new.values**2)


def of_own_copies(w):
    new = copy.deepcopy(OWN)
    new.held[0][:2] *= w
    return np.sum(new.held[0] ** 2)


def of_a_namespace(w):
    new = copy.deepcopy(SPACE)
    new.field.values += w
    return np.sum(new.field.values**2)


def of_a_dict(w):
    new = copy.deepcopy(TABLE)
    new["a"][0] = w
    new["b"][0][1] = w**3
    return np.sum(new["a"] * new["b"][0]) if isinstance(new, OrderedDict) else w


def of_an_array(w):
    new = copy.deepcopy(START)
    new[new > 1.5] *= w
    return np.sum(new**3)


def of_a_tuple(w):
    new = copy.deepcopy(SHARED)
    new[0].values[0] = w
    return np.sum(new[1][0] * new[1][1]["array"]) * w + new[2][0].sum()


def of_an_array_of_instances(w):
    new = copy.deepcopy(LAYERS)
    new.values[0].twice = 2 * w
    return new.values[1].total(w) * new.values[0].twice


def of_what_is_made_inside(w):
    field = Field(START * w)
    new = copy.deepcopy(field)
    new.values[0] = 7.0
    return np.sum(field.values * new.values)


@pytest.mark.parametrize(
    "f",
    [
        *(of_a_method, of_the_one_array_of_two_names, of_slots, of_own_copies, of_a_namespace),
        *(of_a_dict, of_an_array, of_a_tuple, of_an_array_of_instances, of_what_is_made_inside),
    ],
)
def test_arrays_of_deep_copies_take_traced_values(f):
    points = np.array([1.3, 0.4])
    slopes = np.array([(f(w + 1e-6) - f(w - 1e-6)) / 2e-6 for w in points])
    bends = np.array([(f(w + 1e-4) - 2 * f(w) + f(w - 1e-4)) / 1e-8 for w in points])
    compiled = fg.jit(fg.grad(f))
    for w, slope, bend in zip(points, slopes, bends, strict=True):
        assert fg.grad(f)(w) == pytest.approx(slope, rel=1e-6)
        assert fg.jvp(f, (w,), (1.0,))[1] == pytest.approx(slope, rel=1e-6)
        assert compiled(w) == pytest.approx(slope, rel=1e-6)
        assert fg.hessian(f)(w) == pytest.approx(bend, rel=1e-5, abs=1e-5)
    np.testing.assert_allclose(fg.vmap(fg.grad(f))(points), slopes, rtol=1e-6)
    for array in (FIELD.values, SLOTTED.values, OWN.held[0], TABLE["a"], TABLE["b"][0]):
        assert type(array) is np.ndarray
        assert array.tolist() == [1.0, 2.0, 3.0]
    assert f(1.3) == fg.jit(f)(1.3)

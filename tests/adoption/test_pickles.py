"""Pickles that adopted code makes and reads: functions, classes and instances are those of the code."""

import copy
import io
import math
import pickle
import subprocess
import sys
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

import funcgrad as fg


def wave(x):
    return math.sin(x) * x


class Scaled:
    def __init__(self, factor):
        self.factor = factor

    def value(self, x):
        return math.sin(x) * self.factor


SCALED = Scaled(3.0)
TABLE = {"f": wave, "g": SCALED.value}
ARRAY = np.array([1.0, 2.0])


def again(value):
    file = io.BytesIO()
    pickle.dump(value, file)
    file.seek(0)
    return pickle.load(file)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: pickle.loads(pickle.dumps(wave))(x),
        lambda x: pickle.loads(pickle.dumps(SCALED.value))(x) * math.cos(x),
        lambda x: pickle.loads(pickle.dumps(SCALED, 2)).value(x) * math.cos(x),
        lambda x: pickle.loads(pickle.dumps(Scaled(2.0))).value(x) * math.cos(x),
        lambda x: pickle.loads(pickle.dumps(Scaled))(x).value(x) * math.cos(x),
        lambda x: pickle.loads(pickle.dumps(partial(wave)))(x) * math.cos(x),
        lambda x: pickle.loads(pickle.dumps(math.sin))(x) * math.cos(x),
        lambda x: pickle.loads(pickle.dumps({"f": wave, "n": 2}))["f"](x) * math.cos(x),
        lambda x: again(TABLE)["f"](x) + again(TABLE)["g"](x) * math.cos(x),
        lambda x: again(ARRAY)[1] * math.sin(x),
    ],
)
def test_what_adopted_code_pickles_is_found_again(f):
    h = 1e-6
    slope = (f(0.7 + h) - f(0.7 - h)) / (2 * h)
    assert fg.grad(f)(0.7) == pytest.approx(slope, rel=1e-8)
    assert fg.jit(fg.grad(f))(0.7) == pytest.approx(slope, rel=1e-8)


def test_a_traced_value_is_not_pickled():
    for f in (
        lambda x: pickle.loads(pickle.dumps(x)) * math.sin(x),
        lambda x: pickle.loads(pickle.dumps(Scaled(x))).value(x),
    ):
        with pytest.raises(TypeError, match="pickle: expected a value without a derivative"):
            fg.grad(f)(0.7)


# -- adopted classes, outside of adopted code --------------------------------------------------------
@dataclass
class Wave:
    height: float

    def value(self, x):
        return math.sin(x) * self.height


class Slotted:
    __slots__ = ("height",)

    def __init__(self, height):
        self.height = height

    def value(self, x):
        return math.sin(x) * self.height


class Pair(NamedTuple):
    height: float
    other: float

    def value(self, x):
        return math.sin(x) * self.height


class Reduced(Scaled):
    def __reduce__(self):
        return Reduced, (self.factor,)


@fg.adopt
class Decorated:
    def __init__(self, height):
        self.height = height

    def value(self, x):
        return math.sin(x) * self.height


INSTANCES = {
    "plain": lambda: fg.adopt(Scaled)(3.0),
    "dataclass": lambda: fg.adopt(Wave)(3.0),
    "slots": lambda: fg.adopt(Slotted)(3.0),
    "named tuple": lambda: fg.adopt(Pair)(3.0, 0.0),
    "reduced": lambda: fg.adopt(Reduced)(3.0),
    "decorated": lambda: Decorated(3.0),
}


@pytest.mark.parametrize("protocol", [2, pickle.HIGHEST_PROTOCOL])
@pytest.mark.parametrize("name", INSTANCES)
def test_instances_of_adopted_classes_are_pickled(name, protocol):
    made = INSTANCES[name]()
    copies = [pickle.loads(pickle.dumps(made, protocol)), copy.copy(made), copy.deepcopy(made)]
    for other in copies:
        assert type(other) is type(made)
        assert other.value(2.0) == made.value(2.0)
        assert fg.grad(other.value)(2.0) == pytest.approx(3 * math.cos(2.0))
    assert fg.grad(pickle.loads(pickle.dumps(made.value)))(2.0) == pytest.approx(3 * math.cos(2.0))


def test_a_pickle_of_an_instance_of_an_adopted_class_is_read_by_another_process():
    data = pickle.dumps(fg.adopt(Wave)(3.0))
    program = f"import pickle; print(pickle.loads({data!r}))"
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        timeout=120,
        cwd=Path(__file__).parents[2],
    )
    assert done.stdout == "Wave(height=3.0)\n", done.stderr

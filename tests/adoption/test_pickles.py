"""Pickles that adopted code makes and reads: functions, classes and instances are those of the code."""

import io
import math
import pickle
from functools import partial

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

"""Arguments of jitted functions are what they are in plain code: markers, and integers of NumPy."""

import dataclasses

import numpy as np
import pytest

import funcgrad as fg


@dataclasses.dataclass(frozen=True)
class Scale:
    name: str


@dataclasses.dataclass
class Model:
    w: float


LOG = Scale("log")
MODEL = Model(2.0)


@pytest.mark.parametrize(
    "how", [fg.jit, lambda f: fg.jit(fg.grad(f)), lambda f: fg.grad(fg.jit(f))]
)
def test_a_marker_stays_the_object_that_it_is(how):
    def f(x, scale):
        return np.log(x) if scale is LOG else x * x

    expected = how(lambda x: np.log(x))(3.0), how(lambda x: x * x)(3.0)
    assert (how(f)(3.0, LOG), how(f)(3.0, Scale("linear"))) == expected


def counted(n, x):
    kinds = isinstance(n, int), isinstance(n, int | np.integer), type(n) is int, type(n) is np.int64
    more = isinstance(n + 1, int), isinstance(np.argmax(np.array([x, x + 1])), int)
    return x * sum([10.0**k for k, holds in enumerate((*kinds, *more)) if holds])


@pytest.mark.parametrize("n", [3, np.int64(3), np.int32(3)])
def test_an_integer_of_numpys_is_no_int(n):
    for how in (fg.jit, lambda f: fg.vmap(f, in_axes=(None, 0))):
        x = np.array([1.0]) if how is not fg.jit else 1.0
        assert how(counted)(n, x) == counted(n, 1.0)
    assert fg.grad(counted, argnums=1)(n, 1.0) == counted(n, 1.0)
    assert fg.jit(fg.grad(counted, argnums=1))(n, 1.0) == counted(n, 1.0)

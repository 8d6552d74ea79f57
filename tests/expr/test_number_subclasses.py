"""Instances of users' subclasses of Python's numbers beside traced values."""

import enum

import numpy as np
import pytest

import funcgrad as fg


class Scaled(float):
    def __rmul__(self, other):
        return 10 * other

    def __radd__(self, other):
        return other * float(self) * 3

    def __rpow__(self, other):
        return other**3

    def __gt__(self, other):
        return other * 4

    def __eq__(self, other):
        return other * 6

    __hash__ = float.__hash__


class Turned(complex):
    def __rmul__(self, other):
        return 10 * other


class Whole(int):
    def __rmul__(self, other):
        return 10 * other


S = Scaled(2.0)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: x * S,
        lambda x: x + S,
        lambda x: x**S,
        lambda x: x < S,
        lambda x: x == S,
        lambda x: S * x,
        lambda x: x * Turned(2j),
        lambda x: x * Whole(3),  # a float multiplies it by itself
    ],
)
@pytest.mark.parametrize("adopted", [True, False])
def test_the_operator_of_a_subclass_goes_first_as_in_python(f, adopted):
    g = f if adopted else fg.adopt(f, False)
    wanted = (f(1.3 + 1e-6) - f(1.3 - 1e-6)) / 2e-6
    assert fg.value_and_grad(g)(1.3) == pytest.approx((f(1.3), wanted), rel=1e-8)
    assert fg.jit(g)(1.3) == pytest.approx(f(1.3))


def test_scalars_and_arrays_of_numpys_take_the_number():
    x = np.array([1.3, 2.0])
    np.testing.assert_array_equal(fg.jit(lambda x: x * S)(x), x * S)
    assert fg.grad(lambda x: x[0] * S)(x).tolist() == [2.0, 0.0]


class Metres(float):
    def __add__(self, other):
        return Metres(float.__add__(self, other))

    def __mul__(self, other):
        return float.__mul__(self, other)

    def half(self):
        return float.__truediv__(self, 2)


def test_methods_of_numbers_by_their_class_take_traced_values_in_adopted_code():
    metres = Metres(2.0)

    def f(x):
        made = float.__mul__(x, x) + float.__rsub__(x, 3.0) + float.__mul__(2.0, x)
        made += float.__abs__(-x) + float.__pow__(x, 2) + float.__truediv__(3.0, x)
        return made + metres.half() * x + metres * x + (metres + 1.0) * x + float.is_integer(x)

    wanted = (f(1.3 + 1e-6) - f(1.3 - 1e-6)) / 2e-6
    assert fg.value_and_grad(f)(1.3) == pytest.approx((f(1.3), wanted), rel=1e-8)
    assert fg.grad(lambda x: int.__add__(1, 2) * x + float.fromhex("0x1p1") * x)(1.0) == 5.0
    assert fg.grad(lambda x: next(map(float.__neg__, [x, 2.0])) * x)(1.0) == -2.0


def test_digits_of_a_traced_number_are_refused():
    with pytest.raises(TypeError, match=r"hex\(\): expected a value without a derivative"):
        fg.grad(lambda x: float.fromhex(x.hex()) * x)(3.0)
    assert fg.grad(lambda x: x if hasattr(x, "hex") else 0.0)(3.0) == 1.0


class Half(float):
    pass


class Level(enum.IntEnum):
    TWO = 2


@pytest.mark.parametrize("two", [Half(2), Level.TWO])
def test_subclasses_of_numbers(two):
    assert fg.grad(lambda x: x * two + two / x)(2.0) == pytest.approx(1.5)

"""Instances of users' classes that stand for a number or an array: what Python and NumPy ask of them."""

import math
from typing import final

import numpy as np
import pytest

import funcgrad as fg

X = np.array([0.7, 1.3])


def slope_by_differences(f, x, h=1e-3):
    """Central differences of sixth order."""

    def along(k):
        moved = [
            f(x + n * h * np.eye(x.size)[k]) - f(x - n * h * np.eye(x.size)[k]) for n in (1, 2, 3)
        ]
        return (45 * moved[0] - 9 * moved[1] + moved[2]) / (60 * h)

    return np.array([along(k) for k in range(x.size)])


class Held:
    """Converts itself, by the methods that Python and NumPy ask for."""

    def __init__(self, value):
        self.value = value

    def __float__(self):
        return float(self.value)

    def __complex__(self):
        return complex(self.value)

    def __array__(self, dtype=None, copy=None):
        return np.asarray(self.value)


class Answering:
    """Answers ufuncs itself; its reflected operators would give something else."""

    def __init__(self, value):
        self.value = value

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        plain = [item.value if isinstance(item, Answering) else item for item in inputs]
        return Answering(getattr(ufunc, method)(*plain, **kwargs))

    def __add__(self, other):
        return Answering(self.value + getattr(other, "value", other))

    def __rmul__(self, other):
        return Answering(3 * self.value * other)

    __radd__ = __rsub__ = __rmatmul__ = __rmul__


class Length(Answering):
    """As a quantity: an array to NumPy, with operators and ufuncs of its own."""

    __hash__ = None

    def __array__(self, dtype=None, copy=None):
        return np.asarray(self.value)

    def __eq__(self, other):
        return bool(np.all(self.value == getattr(other, "value", other)))


def equal_lengths(x):
    factor = 2.0 if x[0] == Length(x[0] + 0.0) and x[0] != Length(x[1]) else 3.0
    return (x * np.where((x == Length(np.stack([x[0], 7.0]))).value, factor, x)).sum()


def stored(x):
    total = np.zeros(2)
    total[:] = Held(x)
    copied = x * 1.0
    copied[0] = Held(x[1])
    return (total * x).sum() * copied.sum()


FUNCTIONS = {
    "float": lambda x: float(Held(x[0])) ** 2 * x[1],
    "complex": lambda x: abs(complex(Held(x[0])) * (1 + 2j)) * x[1],
    "store": stored,
    "function": lambda x: (np.sin(Held(x)) * np.dot(Held(x), x)).sum(),
    "operator of numbers": lambda x: np.array([3.0, 4.0]) @ Held(x) + (x * Held(x)).sum(),
    "ufunc in an operator": lambda x: (x * Answering(x)).value.sum(),
    "ufunc of numbers": lambda x: (np.array([3.0, 4.0]) - Answering(x**2)).value.sum(),
    "ufunc by name": lambda x: np.multiply(x, Answering(x)).value.sum(),
    "ufunc of a number": lambda x: np.multiply(x[0], Answering(x[1])).value,
    "ufunc with options": lambda x: np.add(x, Answering(x**2), dtype=float).value.sum(),
    "matmul": lambda x: (x @ Answering(x)).value * x[0],
    "scalar of NumPy's": lambda x: (x[0] * Length(x)).value.sum(),
    "comparisons": equal_lengths,
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_instances_are_converted_as_python_and_numpy_convert_them(name):
    f = FUNCTIONS[name]
    expected = slope_by_differences(f, X)
    gradient = fg.grad(f)
    np.testing.assert_allclose(gradient(X), expected, rtol=1e-7)
    np.testing.assert_allclose(fg.jvp(f, (X,), (X,))[0], f(X), rtol=1e-12)
    np.testing.assert_allclose(fg.jvp(f, (X,), (X,))[1], expected @ X, rtol=1e-7)
    np.testing.assert_allclose(fg.jit(gradient)(X), expected, rtol=1e-7)
    batch = np.stack([X, 2 * X])
    rows = [gradient(row) for row in batch]
    np.testing.assert_allclose(fg.vmap(gradient)(batch), rows, rtol=1e-12)
    curvature = slope_by_differences(lambda x: gradient(x).sum(), X)
    np.testing.assert_allclose(fg.hessian(f)(X).sum(axis=0), curvature, rtol=1e-6, atol=1e-9)


def test_a_float_leaves_its_operator_to_the_class():
    def f(x):
        return (x * Length(x**2)).value - (2 * x - Length(x)).value

    slope = 9 * 0.7**2 - 12 * 0.7  # 3 x**3 - 6 x**2
    assert f(0.7) == pytest.approx(3 * 0.7**3 - 6 * 0.7**2)
    assert fg.value_and_grad(f)(0.7) == pytest.approx((f(0.7), slope))
    assert fg.jvp(f, (0.7,), (1.0,))[1] == pytest.approx(slope)
    assert fg.jit(fg.grad(f))(0.7) == pytest.approx(slope)
    assert fg.hessian(f)(0.7) == pytest.approx(18 * 0.7 - 12)


def kind_of(x):
    match x, x > 1:
        case (float(value), flag) if flag:
            return 2 * value
        case (float(value), _):
            return 3 * value
    return 0 * x


@pytest.mark.parametrize(("x", "slope"), [(2.0, 2.0), (0.5, 3.0)])
def test_a_pattern_of_floats_takes_the_number(x, slope):
    assert kind_of(x) == slope * x
    assert fg.grad(kind_of)(x) == slope
    assert fg.jit(fg.grad(kind_of))(x) == slope
    assert fg.vmap(fg.grad(kind_of))(np.array([x, x])).tolist() == [slope, slope]


class Reading:
    """A class whose instances are numbers to Python."""

    def __init__(self, value):
        self.value = value

    def __float__(self):
        return self.value * 2.0


class Grid:
    """A class whose instances are arrays to NumPy."""

    def __init__(self, values):
        self.values = values

    def __array__(self, dtype=None, copy=None):
        return np.asarray(self.values)


def stored_reading(x):
    a = np.zeros(2)
    a[0] = Reading(x)
    return a.sum() ** 2


@pytest.mark.parametrize(
    ("f", "slope"),
    [
        (lambda x: math.sin(Reading(x)), 2 * math.cos(0.6)),
        (lambda x: math.atan2(Reading(x), 2.0), 2 * 2 / (4 + 0.36)),
        (stored_reading, 8 * 0.3),
        (lambda x: np.ones((2, 2)).dot(Grid([x, x * x])).sum(), 2 + 4 * 0.3),
    ],
)
def test_instances_that_give_a_traced_number_or_array(f, slope):
    assert fg.grad(f)(0.3) == pytest.approx(slope, rel=1e-13)
    assert fg.jit(fg.grad(f))(0.3) == pytest.approx(slope, rel=1e-13)
    assert fg.vmap(fg.grad(f))(np.array([0.3]))[0] == pytest.approx(slope, rel=1e-13)


@final
class Decay:
    """A class that type checkers forbid to derive from, as any other."""

    def __init__(self, rate):
        self.rates = [rate, 2.0]

    def at(self, t):
        rates = np.array(self.rates)
        return math.exp(-rates[0] * t) if isinstance(t, float) else 100.0 * t


@pytest.mark.parametrize("at", [0.4, 1.3])
def test_final_classes_are_adopted(at):
    def of_time(t):
        return Decay(1.5).at(t)

    def of_rate(k):
        return Decay(k).at(0.5)

    assert fg.grad(of_time)(at) == pytest.approx(-1.5 * math.exp(-1.5 * at))
    assert fg.jit(fg.grad(of_rate))(at) == pytest.approx(-0.5 * math.exp(-0.5 * at))
    assert fg.hessian(of_rate)(at) == pytest.approx(0.25 * math.exp(-0.5 * at))
    assert fg.jvp(of_rate, (at,), (1.0,))[1] == pytest.approx(-0.5 * math.exp(-0.5 * at))
    assert fg.vmap(fg.grad(of_rate))(np.array([at])) == pytest.approx(-0.5 * math.exp(-0.5 * at))


def test_classes_compiled_by_mypyc_stay_as_they_are():
    scope = pytest.importorskip("mypy.scope")
    if "__mypyc_attrs__" not in vars(scope.Scope):
        pytest.skip("mypy is not compiled here")

    def f(x):
        held = scope.Scope()
        return x**3 if isinstance(x, float) and held.module is None else x

    assert fg.grad(f)(2.0) == fg.jit(fg.grad(f))(2.0) == 12.0


class Metres(float):
    def __add__(self, other):
        return Metres(float.__add__(self, other))

    def squared(self):
        return float.__mul__(self, self)


class Impedance(complex):
    def __mul__(self, other):
        return Impedance(complex.__mul__(self, other))

    def magnitude(self):
        return complex.__abs__(self)


METHODS_OF_NUMBERS = {
    "of a subclass of float": lambda x: (Metres(2.0) + 1.0).squared() * x,
    "of a subclass of complex": lambda x: (Impedance(2, 1) * Impedance(1, 3)).magnitude() * x,
    "of a traced value": lambda x: float.__add__(x, 1.0) * float.__neg__(x) + float.__pow__(x, 2),
    "of a number and a traced value": lambda x: float.__mul__(2.0, x) + float.__rsub__(1.0, x),
    "of a complex one": lambda x: complex.__abs__(complex(x, 2.0)),
    "as a key": lambda x: (
        sorted([3 * x, x, 2 * x], key=float.__neg__)[0] + max([-x, x], key=float.__abs__)
    ),
    "mapped": lambda x: sum(map(float.__add__, [x, 2.0], [3.0, x])),
    "of int": lambda x: x * (int.bit_length(5) + int.__and__(5, 4)),
    "of object": lambda x: x * float(float.__str__(2.5)),
}


@pytest.mark.parametrize("name", METHODS_OF_NUMBERS)
def test_methods_of_the_types_of_numbers(name):
    f = METHODS_OF_NUMBERS[name]
    jitted = fg.jit(f)
    for x in (1.5, 2.5):
        assert jitted(x) == pytest.approx(f(x), rel=1e-12)
        slope = (f(x + 1e-6) - f(x - 1e-6)) / 2e-6
        assert fg.grad(f)(x) == pytest.approx(slope, rel=1e-6)


def test_methods_of_a_subclass_of_float_with_traced_values_under_jit():
    jitted = fg.jit(lambda x: (Metres(x) + 2.0).squared())
    assert [jitted(1.5), jitted(2.5)] == [12.25, 20.25]


class Padded(float):
    def __rmul__(self, other):
        return other * float(self) + 1.0


class PaddedFirst(Padded):
    __array_priority__ = 10.0


def test_an_array_takes_an_instance_of_a_subclass_of_float_as_a_number():
    for kind in (Padded, PaddedFirst):

        def product(x, kind=kind):
            return (np.array([x, 2.0]) * kind(3.0)).sum()

        assert fg.jit(product)(1.5) == product(1.5)
        assert fg.jvp(product, (1.5,), (1.0,)) == (product(1.5), 3.0)


class Field:
    """A user's array, to which NumPy's arrays leave operators by its priority."""

    __array_priority__ = 10.0

    def __init__(self, values):
        self.values = values

    def __array__(self, dtype=None, copy=None):
        return np.asarray(self.values, dtype)

    def __rmul__(self, other):
        return Field(np.sin(other) * self.values)

    def __radd__(self, other):
        return Field(np.cos(other) + self.values)

    def __rmatmul__(self, other):
        return Field(3.0 * (other @ self.values))

    def total(self):
        return np.sum(self.values)


class Behind(Field):
    __array_priority__ = -1.0


VALUES = np.array([1.0, 3.0])
OF_FIELDS = {
    "array": lambda x: (x * Field(VALUES)).total(),
    "array of items": lambda x: (np.array([x[0], 2.0]) * Field(VALUES)).total(),
    "sum": lambda x: (x + Field(VALUES)).total(),
    "matmul": lambda x: (x @ Field(VALUES)).total(),
    "numbers": lambda x: (np.ones(2) * Field(x)).total(),
    "a number": lambda x: (x[0] * Field(VALUES)).total(),
    "no priority": lambda x: np.sum(x * Behind(VALUES)),
    "ufunc": lambda x: np.sum(np.multiply(x, Field(VALUES))),
}


@pytest.mark.parametrize("f", OF_FIELDS.values(), ids=OF_FIELDS)
def test_an_array_leaves_operators_to_a_class_of_higher_priority(f):
    x = np.array([1.5, 0.4])
    values = [f(x + step) - f(x - step) for step in np.diag([1e-6, 1e-6])]
    value, slopes = fg.value_and_grad(f)(x)
    assert value == pytest.approx(f(x), rel=1e-14)
    np.testing.assert_allclose(slopes, np.array(values) / 2e-6, rtol=1e-8)
    assert fg.jit(f)(x) == pytest.approx(f(x), rel=1e-14)


class Reported:
    """A class that looks up all of its attributes itself, as those that warn of old names do."""

    def __init__(self, x):
        self.x = x

    def __getattribute__(self, name):
        return super().__getattribute__({"old": "x"}.get(name, name))

    def square(self):
        return math.pow(self.old, 2.0)


def test_super_in_getattribute():
    assert fg.grad(lambda x: Reported(x).square())(3.0) == 6.0
    assert fg.jit(fg.grad(lambda x: Reported(x).square()))(3.0) == 6.0


MADE_INSIDE = """
def f(x):
    class Scale:
        def __init__(self, k):
            self.k = k

        def times(self, v):
            return v * self.k

    held = np.zeros(2)
    held[0] = x
    return fg.grad(Scale(x).times)(2.0) * held[0] * (Scale.__module__ == "builtins")
"""


def test_a_class_that_adopted_code_without_a_name_makes_is_of_builtins_as_in_python():
    home = {"fg": fg, "np": np}
    exec(MADE_INSIDE, home)
    assert fg.jit(home["f"])(3.0) == home["f"](3.0) == 9.0
    assert fg.grad(home["f"])(3.0) == 6.0

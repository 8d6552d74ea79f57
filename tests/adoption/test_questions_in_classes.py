"""Questions for types that code asks in methods of every kind: they are found, and the code is adopted."""

import functools
import math
import operator
from dataclasses import dataclass

import numpy as np
import pytest

import funcgrad as fg


def double(v):
    return 2.0 * v if isinstance(v, (int, float)) else np.sum(v)


def logged(f):
    def wrapper(*args):
        return f(*args)

    return wrapper


class Engine:
    def power(self, v):
        return 2.0 * v if isinstance(v, (int, float)) else np.sum(v)


class Car:
    def __init__(self):
        self.engine = Engine()

    def power(self, v):
        return self.engine.power(v)


CAR = Car()


class Pair:
    def __init__(self, a, b):
        self.a, self.b = a, b

    def __mul__(self, other):
        if isinstance(other, (int, float)):
            return Pair(self.a * other, self.b * other)
        return Pair(0.0, 0.0)

    @property
    def half(self):
        return self._half

    @half.setter
    def half(self, v):
        self._half = v / 2 if type(v) is float else 0.0

    @functools.cached_property
    def double(self):
        return 2 * self.a if isinstance(self.a, float) else 0.0

    def _scaled(self, k, v):
        return k * v if isinstance(v, float) else np.sum(v) + math.sin(v)

    tripled = functools.partialmethod(_scaled, 3.0)

    decorated = logged(lambda self, v: 2.0 * v if isinstance(v, float) else np.sum(v))


@dataclass
class Checked:
    v: float

    def __post_init__(self):
        if not isinstance(self.v, (int, float)):
            raise TypeError(f"expected a number, but got {self.v!r}")


def product(x):
    made = Pair(1.0, x) * x
    return made.a + made.b


def halved(x):
    pair = Pair(x, x)
    pair.half = x
    return pair.half


twice = logged(logged(double))
HOLDER = type("Holder", (), {})()
HOLDER.f = lambda v: 2 * v if isinstance(v, float) else 0.0


@pytest.mark.parametrize(
    ("f", "slope"),
    [
        (lambda x: CAR.power(x), 2.0),
        (lambda x: Car().power(x), 2.0),
        (lambda x: twice(x), 2.0),
        (lambda x: Pair(x, x).decorated(x), 2.0),
        (lambda x: Pair(x, x).double, 2.0),
        (lambda x: Pair(x, x).tripled(x), 3.0),
        (product, 1.6),
        (halved, 0.5),
        (lambda x: Checked(x).v ** 2, 0.6),
        (lambda x: HOLDER.f(x), 2.0),
    ],
)
def test_questions_are_found(f, slope):
    assert fg.value_and_grad(f)(0.3) == pytest.approx((f(0.3), slope), rel=1e-14)
    assert fg.jit(fg.grad(f))(0.3) == pytest.approx(slope, rel=1e-14)
    assert fg.jvp(f, (0.3,), (1.0,)) == pytest.approx((f(0.3), slope), rel=1e-14)


def test_a_method_that_is_replaced_is_seen():
    class Local:
        def rate(self, x):
            return x

    instance = Local()

    def f(x):
        return instance.rate(x)

    assert fg.grad(f)(2.0) == 1.0
    Local.rate = lambda self, x: 3 * x if isinstance(x, float) else 100 * x
    assert fg.grad(f)(2.0) == 3.0


@pytest.mark.parametrize(
    "call",
    [
        lambda x: np.mean([x * x, x]),
        lambda x: np.sum(np.array([x * x, x])) / 2,
        lambda x: np.concatenate([[x * x], [x]]).mean(),
    ],
)
def test_a_refusal_that_code_catches_does_not_choose_its_path(call):
    def f(x):
        try:
            r = call(x)
        except Exception:
            r = 0.0
        return r + x

    assert fg.value_and_grad(f)(2.0) == (5.0, 3.5)
    assert fg.jit(f)(2.0) == 5.0
    assert fg.jit(fg.grad(f))(2.0) == 3.5
    np.testing.assert_array_equal(fg.vmap(f)(np.array([2.0, 4.0])), [5.0, 14.0])


class Pipe:
    """Takes numbers from its left."""

    def __init__(self, f):
        self.f = f

    def _applied(self, v):
        return self.f(v)

    __rrshift__ = __rlshift__ = __ror__ = __rand__ = __rxor__ = _applied


SQUARE = Pipe(lambda v: v * v)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: x >> SQUARE,
        lambda x: x << SQUARE,
        lambda x: x | SQUARE,
        lambda x: x & SQUARE,
        lambda x: x ^ SQUARE,
    ],
)
def test_operators_are_left_to_an_object_that_defines_them(f):
    assert fg.value_and_grad(f)(3.0) == (9.0, 6.0)
    assert fg.jit(fg.grad(f))(3.0) == 6.0


class Ray:
    """An array to NumPy that multiplies numbers by itself."""

    def __init__(self, *v):
        self.v = v

    def __rmul__(self, k):
        return Ray(*[k * a for a in self.v])

    def __array__(self, dtype=None, copy=None):
        return np.array(self.v, dtype)


class OfPythons:
    """Takes Python's floats from its left, by their type."""

    def __init__(self, held):
        self.held = held

    def _made(self, x):
        return OfPythons(x * self.held - x) if type(x) is float else NotImplemented

    __radd__ = __rsub__ = __rmul__ = __rtruediv__ = __rpow__ = __rmod__ = _made


def test_numpys_numbers_are_handed_to_objects_as_pythons():
    """They are arrays to NumPy's scalars, which calculate with Python's numbers then."""
    given = OfPythons(3.0)

    def f(v):
        made = [v[0] * given, v[1] - given, np.sum(v) ** given, np.sqrt(v[0]) % given]
        return sum(item.held * k for k, item in enumerate(made, 1))

    v = np.array([0.25, 2.0])
    expected = [2.0 + 6.0 + 4.0 / 0.5, 4.0 + 6.0]
    np.testing.assert_allclose(fg.grad(f)(v), expected)
    np.testing.assert_allclose(fg.jit(fg.grad(f))(v), expected)
    with pytest.raises(TypeError, match=r"floor_divide: expected a number.* but got OfPythons"):
        fg.grad(lambda v: (v[0] // given).held)(v)


class Near:
    def __eq__(self, other):
        return abs(other - 3.0) < 1e-6

    __hash__ = None


def test_comparisons_with_objects_are_pythons():
    missing = object()
    for other in (missing, {}, {1}, math.sin):
        assert fg.grad(lambda x, o=other: x if x in [o] else x * x)(3.0) == 6.0
        assert fg.grad(lambda x, o=other: x * x if x != o else x)(3.0) == 6.0
    assert fg.grad(lambda x: x if x == Near() else x * x)(3.0) == 1.0
    assert fg.grad(lambda x: x if x == Near() else x * x)(2.0) == 4.0
    assert fg.grad(lambda x: (x * Ray(1.0, x)).v[1])(3.0) == 6.0


def of_float(x):
    return math.sin(x) if isinstance(x, float) else 100.0 * x


class OfOperators:
    """Has no methods but those of operators and statements."""

    def __init__(self, held):
        self.held = held

    def __add__(self, x):
        return self.held * of_float(x)

    __radd__ = __rmul__ = __matmul__ = __or__ = __lt__ = __pow__ = __iadd__ = __add__

    def __neg__(self):
        return of_float(self.held[0])

    __abs__ = __float__ = __enter__ = __neg__

    def __iter__(self):
        yield of_float(self.held[0])

    def __contains__(self, x):
        return of_float(x) < 1.0

    def __exit__(self, *args):
        return None


TWO, BOX = OfOperators(2.0), OfOperators([0.0])


def boxed(f):
    def of_box(x):
        BOX.held[0] = x
        return f()

    return of_box


def entered():
    with BOX as value:
        return value


@pytest.mark.parametrize(
    ("f", "factor"),
    [
        (lambda x: TWO + x, 2.0),
        (lambda x: x + TWO, 2.0),
        (lambda x: x * TWO, 2.0),
        (lambda x: TWO @ x, 2.0),
        (lambda x: TWO | x, 2.0),
        (lambda x: operator.lt(TWO, x), 2.0),
        (lambda x: TWO**x, 2.0),
        (lambda x: operator.iadd(TWO, x), 2.0),
        (lambda x: math.sin(x) if x in TWO else x, 1.0),
        (boxed(lambda: -BOX), 1.0),
        (boxed(lambda: abs(BOX)), 1.0),
        (boxed(lambda: float(BOX)), 1.0),
        (boxed(lambda: next(iter(BOX))), 1.0),
        (boxed(entered), 1.0),
    ],
)
def test_operators_of_held_instances_are_adopted(f, factor):
    expected = factor * math.cos(0.7)
    assert fg.grad(f)(0.7) == pytest.approx(expected, rel=1e-14)
    assert fg.jvp(f, (0.7,), (1.0,))[1] == pytest.approx(expected, rel=1e-14)
    assert fg.grad(fg.grad(f))(0.7) == pytest.approx(-factor * math.sin(0.7), rel=1e-14)


BY_NAME = {"float": 2.0, "int": 3.0, "float64": 5.0, "ndarray": 7.0}


def test_class_of_a_value_by_its_attribute_alone():
    def by_name(x):
        return BY_NAME[x.__class__.__name__] * x

    def of_array(x):
        return BY_NAME[x.__class__.__name__] * x.sum()

    assert by_name(1.5) == fg.jit(by_name)(1.5) == 3.0
    assert fg.grad(by_name)(1.5) == 2.0
    assert fg.jvp(by_name, (1.5,), (1.0,)) == (3.0, 2.0)
    assert fg.grad(of_array)(np.ones(2)).tolist() == [7.0, 7.0]

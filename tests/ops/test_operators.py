"""Every operator on every pair of dtypes, and beside Python's numbers: values and dtypes are NumPy's."""

import itertools
import operator
from functools import cmp_to_key

import numpy as np
import pytest

import funcgrad as fg
from tests.default_slice import one_in

DTYPES = [
    *("bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"),
    *("float16", "float32", "float64", "complex64", "complex128"),
]
INTEGERS = DTYPES[1:9]
COMPARISONS = [
    *(operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne),
]
FORMULAS = [
    *(operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod),
    *(operator.pow, divmod, operator.matmul, operator.and_, operator.or_, operator.xor),
    *COMPARISONS,
]
SHIFTS = [operator.lshift, operator.rshift]
NUMBERS = [
    *(True, False, 0, 1, 2, 3, -1, -2, 127, 200, 255, 256, -128, -129),
    *(2**31, 2**63 - 1, 2**63, 2**64 - 1, 2**64, 2**70, -(2**63), -(2**63) - 1, -(2**70)),
    *(0.5, 2.0, -1.0, -0.0, 1e300, float("inf"), float("nan"), 1j, 2 + 0j),
]
pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


def numpys(f, x, y):
    """NumPy's result as arrays, or None where it refuses."""
    try:
        result = f(x, y)
    except (TypeError, ValueError, OverflowError, ZeroDivisionError):
        return None
    return [np.asarray(part) for part in (result if isinstance(result, tuple) else (result,))]


def assert_all_equal(got, expected, what):
    got = got if isinstance(got, tuple) else (got,)
    for a, b in zip(got, expected, strict=True):
        a = np.asarray(a)
        assert a.dtype == b.dtype, what
        assert a.shape == b.shape, what
        if b.dtype.kind == "c":
            np.testing.assert_allclose(a, b, rtol=1e-5, err_msg=str(what))
        else:
            np.testing.assert_array_equal(a, b, err_msg=str(what))


def check(x, y, functions):
    """Each operator on x and y: as a formula of x, traced under jit, and refused where NumPy does."""
    kept = [(f, numpys(f, x, y)) for f in functions]
    variable = fg.var("x", x.shape, x.dtype)
    for f, expected in kept:
        what = (f.__name__, x.dtype, y)
        if expected is None:
            with pytest.raises((TypeError, ValueError, OverflowError, ZeroDivisionError)):
                values(f(variable, y), x)
        else:
            assert_all_equal(values(f(variable, y), x), expected, what)
    known = [(f, expected) for f, expected in kept if expected is not None]
    got = fg.jit(lambda x: [f(x, y) for f, _ in known])(x)
    for (f, expected), result in zip(known, got, strict=True):
        assert_all_equal(result, expected, (f.__name__, x.dtype, y, "jit"))


def values(result, x):
    if isinstance(result, tuple):
        return tuple(part(x=x) for part in result)
    return result(x=x)


def swapped(f):
    def g(x, y):
        return f(y, x)

    g.__name__ = f"swapped {f.__name__}"
    return g


@pytest.mark.parametrize(("dtype", "other"), one_in(9, itertools.product(DTYPES, DTYPES)))
def test_arrays_of_two_dtypes(dtype, other):
    x, y = np.array([3, 1]).astype(dtype), np.array([2, 3]).astype(other)
    check(x, y, FORMULAS + SHIFTS)
    check(x, y[0], FORMULAS + SHIFTS)


@pytest.mark.parametrize(("dtype", "number"), one_in(13, itertools.product(DTYPES, NUMBERS)))
def test_arrays_beside_python_numbers(dtype, number):
    x = np.array([3, 1]).astype(dtype)
    check(x, number, [*FORMULAS, *SHIFTS, *map(swapped, FORMULAS)])


@pytest.mark.parametrize("dtype", INTEGERS)
def test_a_scalar_beside_integers_out_of_range(dtype):
    x = np.array(3, dtype)
    for number in [256, -129, 2**31, 2**63, 2**64, 2**70, -(2**70)]:
        check(x, number, [*COMPARISONS, *map(swapped, COMPARISONS)])


@pytest.mark.parametrize("dtype", INTEGERS)
def test_the_least_and_the_most_beside_what_is_out_of_range(dtype):
    limits = np.iinfo(dtype)
    x = np.array([limits.min, limits.max])
    for number in [limits.min - 1, limits.min, limits.max, limits.max + 1]:
        check(x, int(number), [*COMPARISONS, *map(swapped, COMPARISONS)])


def test_questions_about_integers_out_of_range():
    def f(x, n):
        return n * 2.0 if np.all(x < 256) and n < 2**70 and n != -(2**65) else n

    x = np.array([1, 255], np.uint8)
    assert fg.grad(f, argnums=1)(x, 3.0) == 2.0
    assert fg.jit(f)(x, 3) == 6.0
    assert fg.evaluate(fg.var("k", (), "uint8") == 256, {"k": np.uint8(0)}) is False
    assert np.less(fg.var("x", (2,), "uint8"), 256)(x=x).tolist() == [True, True]


def test_floats_beside_integers_beyond_all_floats_are_refused_as_by_numpy():
    x = fg.var("x")
    with pytest.raises(OverflowError, match="int too large"):
        x < 10**400  # noqa: B015


@pytest.mark.parametrize("shape", [(), (5,), (3, 4), (0, 3), (2, 1, 3)])
@pytest.mark.parametrize("dtype", ["float64", "float32", "complex128", "bool"])
def test_attributes_of_memory_are_those_of_a_new_array(shape, dtype):
    x, array = fg.var("x", shape, dtype), np.zeros(shape, dtype)
    for name in ("itemsize", "nbytes"):
        assert getattr(x, name) == getattr(array, name)
    assert x.strides == np.empty(shape, dtype).strides
    assert x.flat(x=array).tolist() == list(array.flat)
    assert len(x.flat) == len(array.flat)


@pytest.mark.parametrize("make", [fg.jit, fg.value_and_grad, lambda f: lambda x: f(fg.var("x"))])
@pytest.mark.parametrize(
    "f",
    [lambda x: x * ((x > 0) + (x < 3)), lambda x: x * (True + (x > 0)), lambda x: (x > 0) + True],
)
def test_the_sum_of_two_truth_values_is_refused(make, f):
    # It is 2 to Python, and True to NumPy.
    with pytest.raises(TypeError, match=r"got two truth values.*write 1\*a \+ 1\*b"):
        make(f)(1.0)


def test_truth_values_count_beside_numbers_and_in_arrays():
    x = np.array([-1.0, 2.0])
    for f in (
        lambda x: 1 * (x > 0) + 1 * (x < 3),
        lambda x: 0 + (x > 0) + 0.5,
        lambda x: (x > 0) + (x < 3),
        lambda x: np.add(x[0] > 0, x[1] < 3),
        lambda x: np.True_ + (x[0] > 0),
    ):
        np.testing.assert_array_equal(fg.jit(f)(x), f(x), strict=True)


class Money:
    """A user's class, whose instances stand on either side of a number."""

    def __init__(self, euros):
        self.euros = euros

    def __radd__(self, x):
        return Money(x + self.euros)

    def __rsub__(self, x):
        return Money(x - self.euros)

    def __rmul__(self, x):
        return Money(x * self.euros)

    def __rtruediv__(self, x):
        return Money(x / self.euros)

    def __rpow__(self, x):
        return Money(x**self.euros)

    def __gt__(self, x):
        return self.euros > x


@pytest.mark.parametrize("name", ["add", "sub", "mul", "truediv", "pow"])
@pytest.mark.parametrize("wrap", [lambda f: f, fg.jit, fg.adopt])
def test_the_right_operand_of_a_class_with_operators_answers(name, wrap):
    operate = getattr(operator, name)
    f = wrap(lambda x: operate(x, Money(3.0)).euros)
    for x in (2.0, 0.5):
        slope = (operate(x + 1e-6, 3.0) - operate(x - 1e-6, 3.0)) / 2e-6
        np.testing.assert_allclose(fg.value_and_grad(f)(x), (operate(x, 3.0), slope), rtol=1e-8)


def test_comparisons_and_operators_that_the_right_operand_lacks():
    assert fg.grad(lambda x: x if x < Money(3.0) else 2 * x)(4.0) == 2.0
    with pytest.raises(TypeError, match=r"matmul: expected a number.* but got Money"):
        fg.grad(lambda x: x @ Money(3.0))(2.0)


@pytest.mark.parametrize(
    ("f", "slope"),
    [
        (lambda x: ((x > 0) - (x < 0)) * x * x, 1.4),
        (lambda x: (True - (x > 5)) * x * x, 1.4),
        (lambda x: ((x > 5) - True) * x * x, -1.4),
        (lambda x: -(x > 0) * x * x, -1.4),
        (lambda x: +(x > 0) * x * x, 1.4),
        (lambda x: [3.0, 2.0, 1.0][(x > 0) - (x > 0.5)] * x * x, 4.2),
        (lambda x: max([x, 2 * x], key=cmp_to_key(lambda a, b: (a > b) - (a < b))) * x, 2.8),
    ],
)
def test_truth_values_of_numbers_are_subtracted_as_pythons(f, slope):
    """NumPy has no difference and no sign of them, and the sign as (x > 0) - (x < 0) is common."""
    assert fg.grad(f)(0.7) == pytest.approx(slope)
    assert fg.jit(fg.grad(f))(0.7) == pytest.approx(slope)
    assert fg.vmap(fg.grad(f))(np.array([0.9, 0.7]))[1] == pytest.approx(slope)
    with pytest.raises(TypeError, match="NumPy has no loop for bool"):
        fg.grad(lambda x: np.sum((x > 0) - (x < 0)))(np.ones(2))


class Scale(Money):
    """A user's class with a sum."""

    def __add__(self, other):
        return Scale(self.euros + other.euros)

    def __rmul__(self, x):
        return Scale(x * self.euros)

    def __eq__(self, x):
        return self.euros == x


class Pair:
    """A user's sequence with operators."""

    def __init__(self, *parts):
        self.parts = parts

    def __len__(self):
        return len(self.parts)

    def __getitem__(self, i):
        return self.parts[i]

    def __rmul__(self, x):
        return Pair(*[x * part + 1.0 for part in self.parts])

    __radd__ = __rmul__


class First(Pair):
    """A user's sequence whose operators go before those of arrays."""

    __array_priority__ = 10.0


def in_place(x, y):
    a = np.zeros(2)
    a += x
    a *= y
    return np.sum(np.stack([*a]) ** 2)


BESIDE_ARRAYS = {
    "objects": lambda x: sum([q.euros**2 for q in x * Scale(3.0)]),
    "sum of objects": lambda x: np.sum(x * Scale(x[0])).euros,
    "stored": lambda x: np.sum(np.append(np.zeros(1), x)[1:] * Scale(x[0])).euros,
    "compared": lambda x: np.sum(np.where(x < Scale(0.8), x, x**2)),
    "equal": lambda x: np.sum(np.where(x == Scale(0.7), x, x**2)),
    "sequence": lambda x: np.sum((x * Pair(2.0, x[0])) ** 2),
    "number of NumPy's": lambda x: np.sum((x[1] * Pair(2.0, x[0])) ** 2),
    "number of Python's": lambda x: sum(2.0 * Pair(2.0, x[0])),
    "in place": lambda x: in_place(x, Pair(2.0, x[0])),
    "goes first": lambda x: np.sum((x * First(2.0, 3.0))[1] ** 2),
    "goes first in place": lambda x: in_place(x, First(2.0, 3.0)),
}


@pytest.mark.parametrize("name", BESIDE_ARRAYS)
def test_an_array_beside_an_instance_of_a_class_is_numpys(name):
    f, x = BESIDE_ARRAYS[name], np.array([0.7, 0.9])
    step = 1e-6 * np.eye(2)
    slope = [(f(x + h) - f(x - h)) / 2e-6 for h in step]
    if name == "equal":
        slope = [1.0, 1.8]
    for g in (fg.value_and_grad(f), fg.jit(fg.value_and_grad(f))):
        value, found = g(x)
        np.testing.assert_allclose(value, f(x), rtol=1e-12)
        np.testing.assert_allclose(found, slope, rtol=1e-7)


def test_a_shape_of_none_is_the_shape_itself():
    x = np.arange(6.0).reshape(2, 3)
    np.testing.assert_array_equal(x.reshape(None), x)
    np.testing.assert_array_equal(fg.grad(lambda x: np.sum(x.reshape(None) ** 2))(x), 2 * x)

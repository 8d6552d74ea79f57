"""`type` of numbers in adopted code: NumPy's for entries of arrays and the like, Python's for floats."""

import cmath
import math
import statistics

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import brentq

import funcgrad as fg

TABLE = np.array([1.5, 2.5, 3.5])
COUNTS = np.array([4, 5, 6])


def stored(x):
    table = np.zeros(3)
    table[1] = float(x[0])
    return table[1]


OF_NUMPY = {
    "a stored entry": stored,
    "a copy of an array without axes": lambda x: np.array(float(x[0]))[()],
    "a product of an array without axes": lambda x: 2.0 * np.asarray(float(x[0])),
    "an entry": lambda x: x[0],
    "an entry of a table": lambda x: TABLE[np.floor(x[0]).astype(int)],
    "an entry of a table of integers": lambda x: COUNTS[np.floor(x[0]).astype(int)],
    "a sum": lambda x: np.sum(x),
    "a product with a float": lambda x: 2.0 * float(x[0]) * x[1],
    "a power of an entry": lambda x: x[0] ** 2,
    "a function of an entry": lambda x: np.sqrt(x[0]),
    "an index": lambda x: np.argmax(x),
    "a comparison": lambda x: x[0] > 1.0,
    "a product": lambda x: x @ x,
    "float64": lambda x: np.float64(float(x[0])),
    "a mean of statistics": lambda x: statistics.mean(x),
    "the largest": lambda x: max(x[0], x[1]),
}
OF_PYTHON = {
    "float": lambda x: float(x[0]),
    "a sum of floats": lambda x: float(x[0]) + 2.0,
    "item": lambda x: x.item(0),
    "tolist": lambda x: sum(x.tolist()),
    "complex": lambda x: complex(x[0], 1.0),
    "a part of a complex number": lambda x: complex(x[0], 1.0).real,
    "math": lambda x: math.sin(x[0]),
    "math.fsum": lambda x: math.fsum(x),
    "math.hypot": lambda x: math.hypot(*x),
    "math.frexp": lambda x: math.frexp(x[0])[0],
    "cmath": lambda x: cmath.exp(x[0]),
    "statistics.fmean": lambda x: statistics.fmean(x),
    "statistics.stdev": lambda x: statistics.stdev(x),
    "int": lambda x: int(x[0]),
    "a count": lambda x: len(x),
    "a rounded float": lambda x: round(float(x[0])),
    "allclose": lambda x: np.allclose(x, x),
    "quad": lambda x: quad(lambda t: t * x[0], 0.0, 1.0)[0],
    "brentq": lambda x: brentq(lambda t: t * t - x[0], 0.0, 3.0),
}
KINDS = (float, np.float64, int, np.int64, bool, np.bool_, complex, np.complex128)


@pytest.mark.parametrize("name", OF_NUMPY | OF_PYTHON)
def test_the_type_of_a_number_is_the_one_it_has_in_plain_code(name):
    make = (OF_NUMPY | OF_PYTHON)[name]

    def scale(x):
        v = make(x)
        found = [type(v) is kind for kind in KINDS]
        by_class = [v.__class__ == kind for kind in KINDS]
        return (1 + found.index(True) + 10 * by_class.index(True)) * x[0]

    given = np.array([1.2, 2.0, 0.5])
    factor = scale(given) / given[0]
    assert fg.grad(scale)(given)[0] == pytest.approx(factor)
    assert fg.jit(scale)(given) == pytest.approx(factor * given[0])
    assert fg.jit(fg.grad(scale))(given)[0] == pytest.approx(factor)
    assert fg.jvp(scale, (given,), (np.ones(3),))[1] == pytest.approx(factor)
    assert fg.vmap(scale)(given[None])[0] == pytest.approx(factor * given[0])
    assert fg.hessian(scale)(given).tolist() == np.zeros((3, 3)).tolist()


def test_numbers_of_both_kinds_are_told_apart_as_arguments():
    def f(x):
        return 2.0 * x if type(x) is float else 3.0 * x if type(x) is np.float64 else x

    jitted, derivative = fg.jit(f), fg.jit(fg.grad(f))
    for _ in range(2):
        assert [jitted(1.0), jitted(np.float64(1.0)), derivative(1.0)] == [2.0, 3.0, 2.0]
        assert derivative(np.float64(1.0)) == fg.grad(f)(np.float64(1.0)) == 3.0
    assert fg.grad(lambda x: f(float(x)))(np.float64(1.0)) == 2.0
    assert fg.grad(lambda x: f(np.float64(x)))(1.0) == 3.0
    assert fg.grad(lambda x: f(float(x)) * float(x))(np.float64(3.0)) == 12.0
    assert fg.vmap(f)(np.ones(2)).tolist() == [3.0, 3.0]


def test_an_entry_of_a_table_at_an_index_that_varies_has_its_type():
    def f(x):
        v = TABLE[np.floor(x).astype(int)]
        return x * 2 if type(v) is np.float64 else x * 3

    jitted = fg.jit(f)
    assert [jitted(x) for x in (0.5, 1.5, 2.5, 0.75)] == [f(x) for x in (0.5, 1.5, 2.5, 0.75)]
    _, found = fg.scan(lambda c, x: (c, f(x)), 0.0, np.array([0.5, 1.5]))
    assert found.tolist() == [1.0, 3.0]


def test_the_types_of_a_long_chain_are_asked_for_in_linear_time():
    def f(x):
        s = x[0]
        for _ in range(20_000):
            s = s + 1.0
        return s if type(s) is np.float64 and type(s + 1.0) is np.float64 else 2 * s

    assert fg.grad(f)(np.ones(2)).tolist() == [1.0, 0.0]


def test_a_quotient_by_a_stored_entry_raises_no_error():
    def f(x):
        table = np.zeros(2)
        table[0] = x
        try:
            return x + 1.0 / (1.0 / table[0] + 1.0)
        except ZeroDivisionError:
            return x + 7.0

    with np.errstate(divide="ignore"):
        assert f(0.0) == fg.jit(f)(0.0) == fg.value_and_grad(f)(0.0)[0] == 0.0

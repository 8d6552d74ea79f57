"""The class by which traced values answer code that adoption does not reach."""

import _thread
import collections.abc
import contextvars
import copy
import enum
import fractions
import functools
import json
import numbers
import sys
import threading
import typing
import weakref

import numpy as np
import pytest

import funcgrad as fg
import funcgrad.numpy as fnp
from funcgrad.expr import Expr
from funcgrad.unadopted_packages import is_kept


@functools.singledispatch
def by_class(x):
    return 0 * x


@by_class.register
def _(x: float):
    return x * x


def by_pattern(x):
    match x:
        case float():
            return x * x
    return 0 * x


ASKED = {
    "isinstance": lambda x: x * x if isinstance(x, float) else 0 * x,
    "a number of NumPy's": lambda x: x * x if isinstance(x, np.floating) else 0 * x,
    "one of some": lambda x: x * x if isinstance(x, int | float) else 0 * x,
    "an abstract class": lambda x: x * x if isinstance(x, numbers.Real) else 0 * x,
    "no integer": lambda x: 0 * x if isinstance(x, numbers.Integral) else x * x,
    "a protocol": lambda x: x * x if isinstance(x, typing.SupportsFloat) else 0 * x,
    "no list": lambda x: 0 * x if isinstance(x, list | tuple | str | dict) else x * x,
    "no sequence": lambda x: 0 * x if isinstance(x, collections.abc.Sequence) else x * x,
    "np.isscalar": lambda x: x * x if np.isscalar(x) else 0 * x,
    "__class__": lambda x: x * x if issubclass(x.__class__, float) else 0 * x,
    "the name of the class": lambda x: x * x if x.__class__.__name__ == "float64" else 0 * x,
    "single dispatch": by_class,
    "a pattern": by_pattern,
    "a truth value": lambda x: x * x if isinstance(x > 0, bool | np.bool_) else 0 * x,
}


@pytest.mark.parametrize("name", ASKED)
def test_plain_code_is_answered_as_for_the_number(name):
    f = fg.adopt(ASKED[name], False)
    assert fg.grad(f)(3.0) == 6.0
    assert fg.jvp(f, (3.0,), (1.0,)) == (9.0, 6.0)
    assert fg.grad(fg.grad(f))(3.0) == 2.0
    assert fg.jit(f)(3.0) == 9.0
    assert fg.jit(fg.grad(f))(3.0) == 6.0
    assert fg.vmap(fg.grad(f))(np.array([3.0, 4.0])).tolist() == [6.0, 8.0]
    assert fg.scan(lambda c, x: (f(c), x), 3.0, np.zeros(2))[0] == 81.0


def asks_for_an_array(x):
    return (x * x).sum() if isinstance(x, np.ndarray) else 0.0 * x[0]


def matches_an_array(x):
    match x:
        case np.ndarray():
            return (x * x).sum()
    return 0.0 * x[0]


@pytest.mark.parametrize("f", [asks_for_an_array, matches_an_array])
def test_plain_code_is_answered_as_for_the_array(f):
    f = fg.adopt(f, False)
    point = np.array([3.0, 1.0])
    assert fg.grad(f)(point).tolist() == [6.0, 2.0]
    assert fg.jit(fg.grad(f))(point).tolist() == [6.0, 2.0]
    assert fg.vmap(fg.grad(f))(point[None]).tolist() == [[6.0, 2.0]]

    def of_stores(x):
        a = fnp.zeros(2)
        a[0] = x
        return f(a) if isinstance(a, np.ndarray) else 0.0 * x

    assert fg.grad(of_stores)(3.0) == 6.0


@pytest.mark.parametrize(
    ("dtype", "kind"),
    [
        ("f4", np.float32),
        ("f8", float),
        ("c16", complex),
        ("c8", np.complex64),
        ("i8", int),
        ("?", bool),
    ],
)
def test_the_class_is_that_of_the_dtype(dtype, kind):
    found = []
    fg.jit(fg.adopt(lambda x: (found.append((isinstance(x, kind), x.__class__)), x)[1], False))(
        np.ones((), dtype)
    )
    assert found[0][0]
    assert found[0][1] in (kind, np.float64, np.complex128)


class Kernel(enum.Enum):
    SQUARE = "square"

    def apply(self, x):
        return x * x if isinstance(x, float) else 0 * x


def square(x):
    return x * x if isinstance(x, float) else 0 * x


TABLE = {"square": square}
MEMBER = Kernel.SQUARE
HELD = contextvars.ContextVar("held", default=square)
WEAK = weakref.WeakValueDictionary(square=square)
BOUND = TABLE.get
KEYS = {square: 1.0}

BEYOND_ADOPTION = {
    "a member of an Enum": lambda x: MEMBER.apply(x),
    "a context variable": lambda x: HELD.get()(x),
    "a weak dict": lambda x: WEAK["square"](x),
    "a bound method of a dict": lambda x: BOUND("square")(x),
    "a key of a dict": lambda x: next(iter(KEYS))(x),
}


@pytest.mark.parametrize("name", BEYOND_ADOPTION)
def test_functions_that_adoption_does_not_reach_take_the_right_branch(name):
    f = BEYOND_ADOPTION[name]
    assert fg.grad(f)(3.0) == 6.0
    assert fg.jit(fg.grad(f))(3.0) == 6.0


def test_the_type_of_a_traced_value_is_an_expression_and_so_is_that_of_a_formula():
    kinds = []
    fg.grad(fg.adopt(lambda x: (kinds.append((type(x), isinstance(x, Expr))), x * x)[1], False))(
        1.0
    )
    assert kinds == [(Expr, True)]
    x = fg.var("x")
    assert x.__class__ is Expr
    assert not isinstance(x, float)


def test_code_that_knows_expressions_is_told_that_it_is_one():
    """Code of these packages treats arrays of other libraries by their protocols."""
    space = {"__name__": "xarray.core.variable", "np": np}
    exec("def is_array(x): return isinstance(x, np.ndarray)", space)
    found = []
    is_array = fg.adopt(space["is_array"], False)
    fg.grad(lambda x: (found.append(is_array(x)), (x * x).sum())[1])(np.ones(2))
    assert found == [False]
    assert is_kept("xarray.core")


def test_what_traced_values_are_copied_to_is_traced():
    def f(x):
        return copy.deepcopy({"x": [x]})["x"][0] * copy.copy(x)

    assert fg.grad(fg.adopt(f, False))(3.0) == 6.0


def told(x):
    return [x.__class__ is kind for kind in (float, np.float64)], type(x) is x.__class__


def of_patterns(x):
    match x:
        case np.float64():
            return x * x
    return 0 * x


def test_adopted_code_is_told_its_own_type():
    found = []
    fg.grad(fg.adopt(lambda x: (found.append(told(x)), x * x)[1]))(1.0)
    assert found == [([True, False], True)]
    assert fg.grad(fg.adopt(of_patterns))(3.0) == 6.0

    def of_stores(x):
        a = np.zeros(2)
        a[0] = x
        match a:
            case np.ndarray() if a.__class__ is np.ndarray:
                return (a * a).sum()
        return 0 * x

    assert fg.grad(of_stores)(3.0) == 6.0


def dumps_with_indent(x):
    json.dumps({"x": x, "list": [x]}, indent=2, default=str)
    return x * x


KNOWING = {
    "an order of fractions": lambda x: x * x if fractions.Fraction(1, 2) < x else -x,
    "equal to a fraction": lambda x: -x if fractions.Fraction(1, 2) == x else x * x,
    "json": dumps_with_indent,
}


@pytest.mark.parametrize("reached", [False, True])
@pytest.mark.parametrize("name", KNOWING)
def test_fractions_and_json_leave_traced_values_to_themselves(name, reached):
    """They would take the digits of a float, which has no derivative."""
    f = KNOWING[name] if reached else fg.adopt(KNOWING[name], False)
    assert fg.grad(f)(3.0) == 6.0
    assert fg.grad(fg.grad(f))(3.0) == 2.0
    assert fg.jvp(f, (3.0,), (1.0,)) == (9.0, 6.0)
    assert fg.jit(f)(3.0) == 9.0
    assert fg.vmap(fg.grad(f))(np.array([3.0, 4.0])).tolist() == [6.0, 8.0]


INTEGERS = {
    "an index": (lambda x: np.argmax(np.stack([x, 2 * x])), np.int64),
    "a count": (lambda x: np.count_nonzero(np.stack([x, x])), np.int64),
    "a sum": (lambda x: np.argmax(np.stack([x, 2 * x])) + 1, np.int64),
    "a rounded number": (lambda x: round(x), int),
    "a sum of rounded numbers": (lambda x: round(x) + 2, int),
}


@pytest.mark.parametrize("name", INTEGERS)
def test_integers_of_numpy_and_of_python_are_told_apart(name):
    integer, kind = INTEGERS[name]
    other = int if kind is np.int64 else np.integer

    def f(x):
        n = integer(x)
        return x * x if isinstance(n, kind) and not isinstance(n, other) else 0 * x

    assert f(np.float64(3.0)) == 9.0
    f = fg.adopt(f, False)
    assert fg.grad(f)(3.0) == 6.0
    assert fg.jit(fg.grad(f))(3.0) == 6.0
    assert fg.vmap(fg.grad(f))(np.array([3.0, 4.0])).tolist() == [6.0, 8.0]


def test_a_rounded_number_is_an_int_in_adopted_code():
    assert fg.grad(fg.adopt(lambda x: x * x if isinstance(round(x), int) else -x))(3.0) == 6.0


class Own(np.ndarray):
    """A subclass of the user's."""


class Norm(enum.Enum):
    EUCLIDEAN = Own
    MASKED = np.ma.MaskedArray

    def of(self, a):
        told = isinstance(a, np.ndarray) and isinstance(a, self.value)
        return np.sum(a * a) if told and a.__class__ is self.value else 0.0 * np.sum(a)

    def of_a_view(self, a):
        return np.sum(a * a) if isinstance(a.view(self.value), self.value) else 0.0 * np.sum(a)


NORMS = {
    "a subclass": lambda x: Norm.EUCLIDEAN.of(x.view(Own)),
    "a masked array": lambda x: Norm.MASKED.of(np.ma.masked_array(x, mask=[False, False])),
    "a view": lambda x: Norm.EUCLIDEAN.of_a_view(x),
    "a masked view": lambda x: Norm.MASKED.of_a_view(x),
}


@pytest.mark.parametrize("name", NORMS)
def test_arrays_of_subclasses_are_told_as_such(name):
    f = NORMS[name]
    point = np.array([3.0, 1.0])
    assert f(point) == 10.0
    assert fg.grad(f)(point).tolist() == [6.0, 2.0]
    assert fg.jvp(f, (point,), (np.ones(2),))[1] == 8.0
    assert fg.jit(fg.grad(f))(point).tolist() == [6.0, 2.0]
    assert fg.vmap(fg.grad(f))(point[None]).tolist() == [[6.0, 2.0]]


class Kind(type):
    """A metaclass that says which instances a class has."""

    def __instancecheck__(cls, value):
        return issubclass(type(value), float) and value > 0


class Positive(metaclass=Kind):
    """A positive number."""


class Shaped(type):
    def __instancecheck__(cls, value):
        return isinstance(value, np.ndarray) and value.shape == cls.shape


class OfThree(metaclass=Shaped):
    shape = (3,)


def test_metaclasses_of_the_users_are_asked_in_adopted_code():
    def of_a_number(x):
        return x * x if isinstance(x, (int, Positive)) else 0 * x

    def of_an_array(x):
        return (x * x).sum() if isinstance(x, OfThree) else 0 * x.sum()

    def of_stores(x):
        a = np.zeros(3)
        a[:] = x
        return of_an_array(a)

    assert fg.grad(of_a_number)(3.0) == 6.0
    assert fg.grad(of_a_number)(-3.0) == 0.0
    assert fg.jit(of_a_number)(3.0) == 9.0
    assert fg.vmap(fg.grad(of_a_number))(np.array([3.0, -3.0])).tolist() == [6.0, 0.0]
    assert fg.grad(of_an_array)(np.ones(3)).tolist() == [2.0, 2.0, 2.0]
    assert fg.grad(of_an_array)(np.ones(2)).tolist() == [0.0, 0.0]
    assert fg.grad(of_stores)(3.0) == 18.0


def test_a_thread_without_code_of_python_may_ask(monkeypatch):
    errors, done = [], threading.Event()
    monkeypatch.setattr(sys, "unraisablehook", errors.append)

    class Done(type):
        def __instancecheck__(cls, value):
            done.set()
            return True

    class Asked(metaclass=Done):
        pass

    def f(x):
        _thread.start_new_thread(isinstance, (x, (str, Asked)))
        assert done.wait(2) or errors
        return x * x

    assert fg.grad(fg.adopt(f, False))(3.0) == 6.0
    assert not errors

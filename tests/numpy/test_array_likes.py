"""NumPy's functions of nested lists that hold traced values, in adopted code."""

import copy
import pickle

import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided

import funcgrad as fg
import funcgrad.numpy as fnp
from funcgrad.arrays.mutable_array import MutableArray
from tests.default_slice import one_in

TABLE = np.array([1.0, 2.0, 3.0])
PLACES = np.array([0, 1, 1])
COLUMN = np.array([[2.0], [3.0]])
PLAIN = 1.5


def stored_half(x):
    x = x.copy()
    x[x > 0] /= 2
    return x


OF_LISTS = {
    "sum": lambda x: np.sum([x, x * 2]),
    "sin": lambda x: np.sin([x, x * 2]).sum(),
    "norm": lambda x: np.linalg.norm([x, x * 2]),
    "dot": lambda x: np.dot([x, 1.0], [2.0, x]),
    "diag": lambda x: np.diag([x, x**2]).sum(),
    "atleast_2d": lambda x: np.atleast_2d([x, x**2]).sum(),
    "mean": lambda x: np.mean([x, 1.0]),
    "max": lambda x: np.max((x, 1.0)),
    "where": lambda x: np.where([True, False], [x, x**2], 0.0).sum(),
    "cross": lambda x: np.cross([x, 1.0, 2.0], [1.0, x, 3.0]).sum(),
    "add": lambda x: np.add([x, 1.0], [1.0, 2.0]).sum(),
    "outer": lambda x: np.outer([x, x**2], [1.0, 2.0]).sum(),
    "stack": lambda x: np.stack([[x, 1.0], [2.0, x**2]]).sum(),
    "inv": lambda x: np.linalg.inv([[x, 1.0], [0.0, x]]).sum(),
    "solve": lambda x: np.linalg.solve([[x, 1.0], [0.0, x]], [1.0, x]).sum(),
    "interp": lambda x: np.interp([x], [0.0, 5.0], [0.0, 1.0]).sum(),
    "shape": lambda x: np.shape([x, x])[0] * x,
    "concatenate": lambda x: np.concatenate([[x], [x**2, 1.0]]).sum(),
    "hstack": lambda x: np.hstack([[x, x**2], [1.0]]).sum(),
    "column_stack": lambda x: np.column_stack([[x, 1.0], [2.0, x**2]]).sum(),
    "histogram2d": lambda x: sum(
        [
            (edges**2).sum()
            for edges in np.histogram2d(
                [x, 1.0], [0.5, x], bins=(np.arange(3.0) * x, [0.0, x, 2 * x, 9])
            )[1:]
        ]
    ),
    "histogram2d of one list": lambda x: np.histogram2d([x, 1.0], [0.5, x], [0.0, x, 9])[1].sum(),
    "broadcast_arrays": lambda x: stored_half(np.broadcast_arrays(x, [1.0, 2.0])[0]).sum(),
    "broadcast_arrays of numbers": lambda x: stored_half(np.broadcast_arrays(x, 1.0)[0])[()],
    "select": lambda x: np.select([[True, False]], [[x, x**2]]).sum(),
    "piecewise": lambda x: np.piecewise(x, [x < 1.0, x >= 1.0], [lambda t: t, lambda t: t * t]),
    "einsum": lambda x: np.einsum("i,i", [x, 1.0], [1.0, x]),
    "reduce": lambda x: np.logaddexp.reduce([x, 1.0]),
    "outer of a ufunc": lambda x: np.multiply.outer([x, 1.0], [1.0, x]).sum(),
    "fft": lambda x: np.abs(np.fft.fft([x, 1.0])).sum(),
    "allclose": lambda x: np.allclose([x], [2.0]) * x,
    "argmax": lambda x: np.argmax([x, 1.0]) * x,
    "float64": lambda x: np.float64([x, x**2]).sum(),
    "keywords": lambda x: np.average([x, 1.0], weights=[1.0, x]),
    "arrays in a list": lambda x: np.sum([np.array([x, x]), [1.0, x**2]], axis=0).sum(),
    "an operator": lambda x: (np.ones(2) * [x, x**2] + [x, 1.0]).sum(),
    "a product": lambda x: (np.eye(2) @ [x, x**2]).sum(),
    "a power": lambda x: (np.full(2, 2.0) ** [x, 1.0]).sum(),
    "a method": lambda x: np.array([1.0, 2.0]).dot([x, x**2]),
    "a module's array": lambda x: TABLE.dot([x, x**2, 1.0]) + (TABLE @ [x, 1.0, x**3]),
    "a bound array": lambda x, table=TABLE: (table - [x, x**2, 1.0]).prod(),
    "broadcast arrays": lambda x: (np.broadcast_arrays([x, 1.0, x**2], PLACES)[1] * x).sum(),
    "other arrays beside": lambda x: (np.broadcast_arrays(COLUMN, [x, 1.0])[0] * x**2).sum(),
    "one of each": lambda x: (np.atleast_1d(x, PLACES)[1] * x).sum(),
}


def check(f, at=1.7, h=1e-6):
    expected = (f(at + h) - f(at - h)) / (2 * h)
    gradient = fg.grad(fg.adopt(f))
    assert gradient(at) == pytest.approx(expected, rel=1e-7, abs=1e-8)
    compiled = fg.jit(gradient)
    assert compiled(at) == compiled(at) == pytest.approx(gradient(at), rel=1e-12)
    _, tangent = fg.jvp(fg.adopt(f), (at,), (1.0,))
    assert tangent == pytest.approx(gradient(at), rel=1e-12)


@pytest.mark.parametrize("name", one_in(3, OF_LISTS))
def test_functions_take_lists_of_traced_values(name):
    check(OF_LISTS[name])


STORED = {
    "a table times a number": "y = TABLE * t",
    "a number times a table": "y = t * TABLE",
    "a power of a number": "y = t ** TABLE",
    "a power of a table": "y = TABLE ** t",
    "a quotient": "y = TABLE / t",
    "a ufunc": "y = np.multiply(t, TABLE)",
    "a ufunc of a list": "y = np.sin([t, 2.0, t])",
    "a list beside a number": "y = np.float64(t) + [1.0, 2.0, t]",
    "an outer product": "y = np.outer([t], TABLE)[0]",
    "a choice": "y = np.where(TABLE > 1.5, TABLE * t, t)",
    "a copy of a table": "y = TABLE.copy()",
    "numbers": "y = TABLE * 2.0",
}


@pytest.mark.parametrize("name", STORED)
def test_results_of_operations_on_plain_arrays_can_be_written(name):
    space = {"np": np, "TABLE": TABLE}
    exec(
        f"def f(t):\n  {STORED[name]}\n  y[0] += t * t\n  y[1:] *= t\n  return (y * y).sum()", space
    )
    check(space["f"])
    assert np.array_equal(TABLE, [1.0, 2.0, 3.0])


def test_a_store_into_a_modules_array_reaches_it_or_is_refused():
    buffer = np.zeros(2)

    def stores(x, value):
        buffer[0] = value
        return (buffer * x).sum()

    adopted = fg.adopt(stores)
    assert fg.grad(lambda x: adopted(x, 2.0))(3.0) == 2.0
    assert np.array_equal(buffer, [2.0, 0.0])
    with pytest.raises(TypeError, match="from outside of it"):
        fg.grad(lambda x: adopted(x, x))(3.0)
    assert np.array_equal(buffer, [2.0, 0.0])


def test_a_choice_between_numbers_is_an_array():
    def f(x):
        y = np.where(x > 1.0, x, 0.0)
        y[...] = y * x
        return y

    check(f)


def from_a_choice(x):
    y = np.where(PLAIN > 1.0, 2.0, 0.0)
    y[y > 1.0] = x * x
    return y


def from_a_choice_by_name(x):
    y = np.select(condlist=[PLAIN > 9.0, PLAIN < 0.0], choicelist=[1.0, 0.0], default=np.nan)
    y[...] = np.sin(x)
    return y


def from_one_number(x):
    y = np.atleast_1d(2.0)
    y[0] = x**3 * y[0]
    return y[0]


@pytest.mark.parametrize("f", [from_a_choice, from_a_choice_by_name, from_one_number])
def test_arrays_that_functions_make_of_plain_numbers_take_traced_values(f):
    check(f)
    slopes = [fg.grad(f)(1.7 + step) for step in (-1e-5, 1e-5)]
    assert fg.hessian(f)(1.7) == pytest.approx((slopes[1] - slopes[0]) / 2e-5, rel=1e-7)
    assert fg.vmap(fg.grad(f))(np.array([1.7, 0.3])) == pytest.approx(
        [fg.grad(f)(1.7), fg.grad(f)(0.3)]
    )


def test_functions_stand_for_numpys_own():
    for own, theirs in [(fnp.sum, np.sum), (fnp.add, np.add), (fnp.linalg.norm, np.linalg.norm)]:
        assert own == theirs
        assert theirs == own
        assert {theirs: 1}[own] == 1
        assert repr(own) == repr(theirs)
        assert own.__name__ == theirs.__name__
        assert pickle.loads(pickle.dumps(own)) == copy.copy(own) == own
    assert fnp.add.identity == 0
    assert fnp.add.nin == 2
    assert not hasattr(fnp.add, "nothing")
    assert isinstance(fnp.sum([fg.var("x"), 1.0]), fg.Expr)


def test_plain_results_are_plain():
    assert type(fnp.sin(np.array([1.0, 2.0]))) is np.ndarray
    assert type(fnp.sum([1.0, 2.0])) is np.float64
    assert type(fnp.cumsum(np.ones(2))) is np.ndarray
    x = fg.var("x", 2)
    assert isinstance(fnp.sin(x), fg.Expr)
    assert isinstance(fnp.sin([x[0], 1.0]), MutableArray)


@pytest.mark.parametrize("size", [0, 1, 2, np.int64(5)])
@pytest.mark.filterwarnings("ignore")
def test_a_kaiser_window_has_a_derivative_in_its_shape(size):
    def window(b):
        return fnp.kaiser(size, b)

    assert np.array_equal(window(2.5), np.kaiser(size, 2.5), equal_nan=True)
    assert np.array_equal(fg.jit(window)(2.5), np.kaiser(size, 2.5), equal_nan=True)
    slope = (np.kaiser(size, 2.5 + 1e-6) - np.kaiser(size, 2.5 - 1e-6)) / 2e-6
    for jac in (fg.jacfwd, fg.jacrev):
        np.testing.assert_allclose(jac(window)(2.5), slope, atol=1e-9)
    shapes = np.array([0.0, 3.0])
    mapped = [np.kaiser(size, b) for b in shapes]
    assert np.array_equal(fg.vmap(window)(shapes), mapped, equal_nan=True)


def test_a_histogram_in_two_dimensions_takes_traced_weights():
    k = np.array([2, 0, 3, 1])
    made = fg.jacrev(lambda w: np.histogram2d(k, k, 2, weights=w)[0])(np.ones(4))
    assert made[0, 0].tolist() == [0.0, 1.0, 0.0, 1.0]


@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.sum([x] * np.sin([0.5])),
        lambda x: np.sum((x, 2 * x) - np.radians([[30.0], [60.0]])),
        lambda x: np.sum(np.cumsum([1.0, 2.0]) * [x, x]),
        lambda x: np.sum(np.double([0.5, 2.0]) * [x, x]),
        lambda x: np.sum(np.int64([1, 2]) * [x, x]),
        lambda x: np.sum(np.linalg.eigh([[2.0, 0.0], [0.0, 3.0]])[0] * [x, x]),
        lambda x: np.sum(np.histogram([0.1, 0.2, 0.9], 2, (0.0, 1.0))[0] * [x, x]),
    ],
)
def test_functions_of_lists_make_arrays_that_meet_lists_of_traced_values(f):
    assert fg.grad(f)(2.0) == pytest.approx(f(3.0) - f(2.0))
    assert fg.jit(f)(2.0) == pytest.approx(f(2.0), rel=1e-15)


@pytest.mark.parametrize("kind", [np.double, np.single, np.half, np.cdouble, np.csingle])
def test_other_names_of_dtypes_convert_traced_arrays(kind):
    def converted(x):
        return kind(x)

    def of_namespace(x):
        return getattr(np, kind.__name__)(x), np.double([x[0], 2.0]), np.single(x)

    found = fg.jit(converted)(np.arange(3.0))
    assert found.dtype == kind
    for own, theirs in zip(fg.jit(of_namespace)(np.ones(2)), of_namespace(np.ones(2)), strict=True):
        assert own.dtype == theirs.dtype
        np.testing.assert_array_equal(own, theirs)


def _windows(x, strided):
    shape = (x.shape[0] - 2, 3, *x.shape[1:])
    return strided(x, shape, (x.strides[0], *x.strides))


@pytest.mark.parametrize(
    "f",
    [
        lambda x: _windows(x, np.lib.stride_tricks.as_strided),
        lambda x: _windows(x * 2, as_strided),
        lambda x: _windows(x[::2], as_strided),
        lambda x: as_strided(x.reshape(2, 5).T.copy(), (5,), (x.itemsize,)),
        lambda x: as_strided(x, (3, 3), (0, 2 * x.itemsize)),
    ],
)
def test_strides_lead_to_the_entries_of_traced_arrays(f):
    x = np.arange(10.0)
    np.testing.assert_array_equal(fg.jit(f)(x), f(x))
    fg.check_grads(fg.adopt(lambda x: np.sin(f(x))), (x,))


def test_strides_that_lead_elsewhere_and_stores_are_refused():
    with pytest.raises(ValueError, match="as_strided: expected strides that lead to entries"):
        fg.grad(lambda x: np.sum(as_strided(x, (4,), (8,))))(np.ones(3))
    with pytest.raises(ValueError, match="as_strided: expected strides that lead to entries"):
        fg.grad(lambda x: np.sum(as_strided(x, (2,), (8,))))(np.ones(0))
    assert fg.grad(lambda x: np.sum(as_strided(x, (0,), (8,))))(np.ones(0)).shape == (0,)

    def stored(x):
        window = as_strided(x, (2, 2), (8, 8))
        window[0, 0] = 1.0
        return np.sum(x)

    with pytest.raises(ValueError, match="read-only"):
        fg.grad(stored)(np.ones(3))


def test_arrays_that_are_broadcast_together_are_arrays():
    a, b = fnp.ones((3, 1)), fnp.arange(2.0)
    first, second = fnp.broadcast_arrays(a, b)
    np.testing.assert_array_equal(np.asarray(first), np.ones((3, 2)))
    np.testing.assert_array_equal(np.asarray(second), [[0.0, 1.0]] * 3)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.bincount([0, 1, 0], weights=x),
        lambda x: np.histogram2d([0.1, 0.2, 0.7], [0.3, 0.2, 0.1], bins=2, weights=x)[0],
        lambda x: np.sum(x[0], where=np.array([True, False])),
        lambda x: np.sum(x[:1], where=np.array([True, False])),
    ],
)
def test_what_numpy_refuses_is_refused_with_traced_values(f):
    x = np.array([1.0, 2.0, 3.0]) * 1j
    with pytest.raises((TypeError, ValueError)):
        f(x)
    with pytest.raises((TypeError, ValueError), match=r"expected real weights|non-broadcastable"):
        fg.jit(f)(x)


def test_arrays_of_text_are_made_of_the_values():
    def f(x):
        years = np.asarray(np.floor(x), dtype=int)
        texts = np.asarray(years, dtype=str)
        return x**2 * float(texts[()]) + np.array([x, 2.0], dtype="U8").size

    for slope in (fg.grad(f), fg.grad(fg.adopt(f)), fg.jit(fg.grad(f))):
        assert [slope(3.5), slope(4.5)] == [21.0, 36.0]
    assert fg.hessian(f)(3.5) == 6.0
    assert fg.jvp(f, (3.5,), (1.0,))[1] == 21.0


@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.sum(a=np.array([x, 2 * x]), where=[True, False]),
        lambda x: np.sum(np.array([[x], [2 * x]]), 0, None, None, True, where=[[True], [False]])[
            0, 0
        ],
        lambda x: np.sum(np.delete(arr=np.array([x, 2 * x]), obj=1)),
        lambda x: np.tile(A=np.array([x]), reps=2)[1],
        lambda x: np.mean(np.array([x, x]), where=np._NoValue, keepdims=np._NoValue),
        lambda x: np.nansum(np.array([x, 0.0]), initial=np._NoValue),
        lambda x: np.max(np.array([x, 0.0]), None, None, np._NoValue, np._NoValue, np._NoValue),
        lambda x: np.emath.power(x=x, p=1.0),
    ],
)
def test_arguments_by_name_and_those_that_are_not_given(f):
    for transform in (fg.grad, lambda f: fg.grad(fg.jit(f))):
        assert transform(f)(3.0) == 1.0


def test_strides_give_a_view_of_an_array_that_holds_traced_values():
    as_strided = np.lib.stride_tricks.as_strided

    def read(x):
        a = np.array([x, 1.0, 2.0, 3.0])
        w = as_strided(a, (3, 2), (8, 8))
        a[1] = x * x
        return w.sum()

    def stored(x):
        a = np.array([x, 1.0, 2.0, 3.0])
        w = as_strided(a, (2, 2), (16, 8))
        w[0, 1] = x * x
        return a.sum()

    for f in (read, stored):
        wanted = (f(1.3 + 1e-6) - f(1.3 - 1e-6)) / 2e-6
        assert fg.value_and_grad(f)(1.3) == pytest.approx((f(1.3), wanted), rel=1e-8)


@pytest.mark.parametrize("make", ["windows", "strides"])
def test_views_with_an_entry_several_times_take_no_stores(make):
    def f(x):
        a = np.array([x, 1.0, 2.0, 3.0])
        if make == "windows":
            w = np.lib.stride_tricks.sliding_window_view(a, 2, writeable=True)
        else:
            w = np.lib.stride_tricks.as_strided(a, (2, 2), (8, 8))
        w[1, 0] = x * x
        return w.sum()

    with pytest.raises(ValueError, match=r"read-only, as .* windows that overlap"):
        fg.grad(f)(1.3)


def test_an_array_of_expressions_has_the_axes_asked_for():
    x = fg.var("x", 3)
    assert fnp.array(x, ndmin=2).shape == (1, 3)
    assert fnp.array([x, x], ndmin=4, copy=True).shape == (1, 1, 2, 3)
    assert fnp.array([1.0], ndmin=2).shape == (1, 1)
    assert fnp.asarray(x, float).sum().key == x.sum().key
    assert fnp.array(x, subok=True).shape == (3,)
    with pytest.raises(TypeError, match="array: expected no ndmax with traced values"):
        fnp.array(x, ndmax=2)

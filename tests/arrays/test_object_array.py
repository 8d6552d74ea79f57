"""Arrays of objects in adopted code: traced values and arrays are entries."""

import numpy as np
import pytest

import funcgrad as fg
from funcgrad.arrays.object_array import ObjectArray, array_of_objects


def of_stores(x):
    a = np.empty(3, dtype=object)
    a[0], a[1], a[2] = x, x * x, 1.0
    b = np.zeros((2, 2), dtype=object)
    b[0, 1] = x
    b[1] = [x, x * x]
    return a[0] * a[1] + sum(a) + (b + 1)[1, 1] + b[0, 1] + b.sum()


def of_arrays(x):
    a = np.empty(2, dtype=object)
    a[:] = [np.array([x, 1.0]), np.array([x, x])]
    b = np.empty(2, dtype=object)
    b[0], b[1] = np.array([x, 1.0]), np.array([x, x, 2.0])
    return a[0].sum() * a[1].prod() + (b[0] * b[1][1:]).sum()


def of_mixed_entries(x):
    a = np.array([x, None], dtype=object)
    b = np.array([[x, "a"], [x * x, "b"]], dtype=object)
    c = np.array([np.array([x, 1.0]), np.array([x * x])], dtype=object)
    d = np.array([{"v": x}, {"v": x * x}])
    return a[0] * x + (b[:, 0] * 2).sum() + c[0][0] * c[1][0] + d[0]["v"] * d[1]["v"]


def of_arithmetic(x):
    a = np.array([x, 2 * x], dtype=object)
    total = a.sum() + (a * a).sum() + np.dot(a, a) + np.sum(a)
    return total + a.astype(float).prod() + np.array([x, 1], dtype=object).astype(float).sum()


def of_products(x):
    rates = np.array([[0, None], [None, 0]])  # of a compartment model, with gaps
    rates[np.where(rates == None)] = [x, x * x]  # noqa: E711
    y = np.array([1.0, x])
    flow = rates.T @ y - y @ rates + np.asarray(rates @ np.array([2.0, 1.0]), float)
    table = np.vstack([rates, flow])
    return flow[0] * flow[1] + table.sum() + np.concatenate([rates[0], y]).prod()


class Angle:
    def __init__(self, radians):
        self.radians = radians

    def __float__(self):
        return float(self.radians)

    def __mul__(self, factor):
        return Angle(self.radians * factor)


def of_conversions(x):
    a = np.array([[Angle(x), 2.0 * x], [3, Angle(1.0)]], dtype=object).astype(float)
    a += x
    a[0] *= 3
    b = np.asarray(np.array([Angle(x), Angle(x * x)], dtype=object) * 2, float)
    b -= 1
    return a.prod() + b.prod() + np.array([Angle(x), Angle(x * x)], float).prod()


@pytest.mark.parametrize(
    "f", [of_stores, of_arrays, of_mixed_entries, of_arithmetic, of_products, of_conversions]
)
def test_derivatives_are_those_of_differences(f):
    x, step = 0.7, 1e-5
    slope = (f(x + step) - f(x - step)) / (2 * step)
    value, gradient = fg.value_and_grad(f)(x)
    np.testing.assert_allclose(value, f(x), rtol=1e-12)
    np.testing.assert_allclose(gradient, slope, rtol=1e-7)
    np.testing.assert_allclose(fg.jvp(f, (x,), (1.0,))[1], slope, rtol=1e-7)
    np.testing.assert_allclose(fg.jit(fg.grad(f))(x), slope, rtol=1e-7)
    np.testing.assert_allclose(fg.vmap(fg.grad(f))(np.array([x, 0.9]))[0], slope, rtol=1e-7)


def test_arrays_of_objects_have_numpys_shapes():
    for value in (
        [[1, 2], [3]],
        [[1, 2], [3, 4]],
        [np.zeros(2), np.zeros(3)],
        [np.zeros(2), np.ones(2)],
        [None, "a"],
        [],
        3.0,
    ):
        theirs = np.array(value, dtype=object)
        own = array_of_objects(value)
        assert type(own) is ObjectArray
        assert own.shape == theirs.shape
        assert str(own.tolist()) == str(theirs.tolist())


def test_adopted_code_takes_them_for_numpys():
    def f(x):
        a = np.empty(1, dtype=object)
        return x * (type(a) is np.ndarray) * isinstance(a, np.ndarray)

    assert fg.grad(fg.adopt(f))(2.0) == 1.0
    assert type(fg.adopt(lambda: np.array([None, 1], dtype=object))()) is np.ndarray


NUMBERS = {
    "asarray": lambda o: np.asarray(o, dtype=float),
    "array": lambda o: np.array(o, np.float64, ndmin=2),
    "ascontiguousarray": lambda o: np.ascontiguousarray(o, dtype=float),
    "complex": lambda o: np.abs(np.asarray(o, dtype=complex)),
}


@pytest.mark.parametrize("make", NUMBERS.values(), ids=NUMBERS.keys())
def test_numbers_of_an_array_of_objects(make):
    def f(x):
        return np.sum(np.sin(make(np.array([x, 2.0, x * x], dtype=object))))

    x, slope = 0.7, np.cos(0.7) + 1.4 * np.cos(0.49)
    for derivative in (fg.grad(f), fg.grad(fg.adopt(f)), fg.jit(fg.grad(f))):
        assert derivative(x) == pytest.approx(slope, rel=1e-12)
    assert fg.vmap(fg.grad(f))(np.array([x, 0.9]))[0] == pytest.approx(slope, rel=1e-12)


HELD = np.array(["a", None], dtype=object)


def test_an_array_of_objects_from_outside_is_itself():
    def f(x):
        kept = np.asarray(HELD, dtype=object)
        return x * len(np.asarray(HELD).view(np.ndarray)) + x * (kept[1] is None)

    assert fg.grad(fg.adopt(f))(2.0) == 3.0


def added_in_place(x):
    a = np.array([1.0, 2.0], dtype=object)
    b = a
    a += x
    return (b * a).sum()


def written_out(x):
    a = np.array([[1.0, 2.0], [3.0, 4.0]], dtype=object)
    a[0] += x
    np.multiply(a[:, 1], x, out=a[:, 1])
    return a.sum()


IN_PLACE = {
    "operator": added_in_place,
    "out": written_out,
    "mean": lambda x: np.array([x, x * x], dtype=object).mean(),
    "mean of axes": lambda x: np.mean(np.array([[x, 2.0], [1.0, x * x]], dtype=object), axis=0)[1],
    "mean of a dtype": lambda x: np.array([[x, 2.0], [1.0, x]], object).mean(0, dtype=float)[0],
    "variance": lambda x: np.array([x, 2.0, x * x], dtype=object).var(ddof=1),
    "variance along an axis": lambda x: np.var(np.array([[x, 2.0], [1.0, x]], object), axis=1)[0],
}


@pytest.mark.parametrize("f", IN_PLACE.values(), ids=IN_PLACE.keys())
def test_arrays_of_objects_in_place_and_their_moments(f):
    h = 1e-6
    slope = (f(1.3 + h) - f(1.3 - h)) / (2 * h)
    assert fg.grad(f)(1.3) == pytest.approx(slope, rel=1e-8)
    assert fg.jit(f)(1.3) == pytest.approx(f(1.3), rel=1e-14)
    assert fg.vmap(fg.grad(f))(np.array([1.3]))[0] == pytest.approx(slope, rel=1e-8)


def test_means_and_variances_have_numpys_bits():
    def f(x):
        a = np.array([x, 2 * x, x * x], dtype=object)
        return np.mean(a), a.mean(), a.var()

    for x in np.arange(1, 60) / 10:
        assert tuple(map(float, fg.jvp(f, (x,), (1.0,))[0])) == f(x)


def test_the_variance_of_complex_entries():
    def f(x):
        return np.array([x * 1j, 2 * x, 1 + 1j], dtype=object).var()

    value, slope = fg.jvp(f, (0.7,), (1.0,))
    np.testing.assert_allclose(value, f(0.7), rtol=1e-14)
    np.testing.assert_allclose(slope, (f(0.7 + 1e-6) - f(0.7 - 1e-6)) / 2e-6, rtol=1e-8)


class Length:
    """An entry that is no number: its products with numbers are."""

    def __init__(self, meters):
        self.meters = meters

    def __mul__(self, factor):
        return self.meters * factor

    __rmul__ = __mul__


MATRIX_PRODUCTS = {
    "right": lambda x: (
        np.array([[x, 1.0], [2.0, x * x]]) @ np.array([Length(x), Length(2.0)])
    ).sum(),
    "left": lambda x: (
        np.array([Length(x), Length(2.0)]) @ np.array([[x, 1.0], [2.0, x * x]])
    ).sum(),
    "of constants": lambda x: np.matmul(np.array([x, 3.0]), np.array([Length(1.5), Length(2.0)])),
}


@pytest.mark.parametrize("f", MATRIX_PRODUCTS.values(), ids=MATRIX_PRODUCTS.keys())
def test_matrix_products_with_arrays_of_instances(f):
    slope = (f(1.3 + 1e-6) - f(1.3 - 1e-6)) / 2e-6
    assert fg.grad(f)(1.3) == pytest.approx(slope, rel=1e-8)
    assert fg.jit(fg.grad(f))(1.3) == pytest.approx(slope, rel=1e-8)
    assert fg.vmap(f)(np.array([1.3]))[0] == pytest.approx(f(1.3), rel=1e-14)


def test_results_that_are_no_objects_are_plain_arrays():
    objects = array_of_objects([2j, 3.0])
    assert repr(objects) == "array([2j, 3.0], dtype=object)"
    for found in (objects == objects, np.isreal(objects), objects.astype(complex)):
        assert type(found) is np.ndarray
    assert type(objects.astype(object)) is type(np.abs(objects)) is ObjectArray

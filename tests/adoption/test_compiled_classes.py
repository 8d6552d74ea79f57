"""Classes of numba's `jitclass` in adopted code: their methods run as Python, on traced values."""

import functools
import math

import numpy as np
import pytest

import funcgrad as fg

numba = pytest.importorskip("numba")
jitclass = pytest.importorskip("numba.experimental").jitclass


@jitclass([("rate", numba.float64), ("weights", numba.float64[:]), ("count", numba.int64)])
class Model:
    """A model with two weights."""

    def __init__(self, rate=2.0):
        self.rate = rate
        self.weights = np.ones(2)
        self.count = 0

    def value(self, x):
        self.weights[1] = 3.0
        return self.weights.sum() * math.exp(self.rate * x) if x > 0 else 0.0

    def counted(self):
        self.count += 1
        return self.count

    def keep(self, x):
        self.rate = x
        return x

    @property
    def double(self):
        return 2.0 * self.rate

    @double.setter
    def double(self, value):
        self.rate = value / 2.0

    @staticmethod
    def square(x):
        return x * x

    def __add__(self, x):
        return self.rate + x


@numba.njit
def used(model, x):
    return model.value(x) + model.double * x + model.weights[0] * x


MODEL = None


@pytest.fixture(autouse=True, scope="module")
def compiled_model():
    """The global of this module: numba compiles it, which takes a second."""
    global MODEL
    MODEL = Model()


def made_in_the_function(x):
    model = Model(x)
    model.double = x * x
    return used(model, x) + Model.square(x) * (model + x) * isinstance(model, Model)


def from_outside(x):
    return used(MODEL, x) + MODEL.value(2.0 * x) + MODEL.double


@pytest.mark.parametrize("f", [made_in_the_function, from_outside])
def test_derivatives_are_differences(f):
    def slope(x, h=1e-3):
        moved = [f(x + n * h) - f(x - n * h) for n in (1, 2, 3)]
        return (45 * moved[0] - 9 * moved[1] + moved[2]) / (60 * h)

    assert fg.value_and_grad(f)(0.4) == pytest.approx((f(0.4), slope(0.4)), rel=1e-9)
    assert fg.jvp(f, (0.4,), (2.0,)) == pytest.approx((f(0.4), 2 * slope(0.4)), rel=1e-9)
    second = (slope(0.4 + 1e-4) - slope(0.4 - 1e-4)) / 2e-4
    assert fg.grad(fg.grad(f))(0.4) == pytest.approx(second, rel=1e-5)
    gradient = fg.jit(fg.grad(f))
    for x in (0.4, 0.7):
        assert fg.jit(f)(x) == pytest.approx(f(x), rel=1e-12)
        assert gradient(x) == pytest.approx(slope(x), rel=1e-9)
    np.testing.assert_allclose(fg.vmap(fg.grad(f))(np.array([0.4, 0.7])), [slope(0.4), slope(0.7)])


def test_an_instance_from_outside_keeps_what_its_methods_store():
    model = Model()
    f = fg.grad(lambda x: model.counted() * model.value(x))
    first, second = f(0.5), f(0.5)
    assert second / first == pytest.approx(model.count / (model.count - 1))
    assert model.count > 1
    assert model.weights.tolist() == [1.0, 3.0]


def test_a_jitted_function_notices_a_field_that_changes():
    model = Model(1.0)
    f = fg.jit(lambda x: used(model, x))
    for change in (
        lambda: None,
        lambda: setattr(model, "rate", 0.5),
        lambda: model.weights.fill(9),
    ):
        change()
        assert f(0.5) == pytest.approx(used(model, 0.5), rel=1e-12)


def test_a_traced_value_is_not_stored_into_an_instance_from_outside():
    with pytest.raises(TypeError, match=r"Model: expected numbers for the fields .* 'rate'; make"):
        fg.grad(lambda x: MODEL.keep(x))(2.0)
    assert MODEL.rate == 2.0


def test_a_compiled_function_of_numbas_is_differentiated_itself():
    @numba.njit
    def total(x):
        found = 0.0
        for value in x:
            found += value**2 if value > 0 else -value
        return found

    @numba.vectorize(["float64(float64)"])
    def squared(x):
        return x * x if x > 0 else 0.0

    @numba.guvectorize(["void(float64[:], float64[:], float64[:])"], "(n),(n)->()")
    def product(a, b, result):
        result[0] = 0.0
        for k in range(a.size):
            result[0] += a[k] * b[k]

    x, y = np.array([1.0, -2.0, 3.0]), np.array([2.0, 3.0, 4.0])
    for slope in (fg.grad(total), fg.jit(fg.grad(total)), fg.jacobian(functools.partial(total))):
        assert slope(x).tolist() == [2.0, -1.0, 6.0]
    assert fg.jit(total)(x) == fg.vmap(total)(np.array([x, x]))[1] == total(x)
    assert [fg.grad(squared)(3.0), fg.hessian(squared)(3.0)] == [6.0, 2.0]
    assert fg.grad(product)(x, y).tolist() == [2.0, 3.0, 4.0]

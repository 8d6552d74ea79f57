"""Functions and methods under decorators of wrapt, whose proxies compiled code calls."""

import math

import numpy as np
import pytest

import funcgrad as fg

wrapt = pytest.importorskip("wrapt")

# The entries that `vmap` maps over are NumPy's numbers, as those of a loop over the array are.
NUMBERS = (float, np.float64)


@wrapt.decorator
def through_exp(function, instance, args, kwargs):
    return math.exp(function(*args, **kwargs))


@wrapt.decorator
def of_arrays(function, instance, args, kwargs):
    return function(*[np.asarray(a) if type(a) is float else a for a in args], **kwargs)


class Counted:
    """A decorator with arguments, whose method is decorated itself."""

    def __init__(self, count):
        self.count = count

    @wrapt.decorator
    def __call__(self, function, instance, args, kwargs):
        assert len(args) == self.count
        return function(*args, **kwargs)


class Base:
    @Counted(1)
    @of_arrays
    def inherited(self, x):
        return math.sin(x) * self.factor


class Model(Base):
    factor = 2.0

    @of_arrays
    def method(self, x):
        return math.sin(x)

    @Counted(1)
    @through_exp
    def twice(self, x):
        return self.method(x) + float(np.array([x, x * x]).sum())

    @of_arrays
    @classmethod
    def of_class(cls, x):
        return math.sin(x) * cls.factor

    @through_exp
    @staticmethod
    def static(x):
        return math.sin(x) if type(x) in NUMBERS else 0.0


@through_exp
def function(x):
    return math.cos(x) if type(x) in NUMBERS else 0.0


MODEL = Model()
HELD = {"method": MODEL.method, "functions": [function]}
FUNCTIONS = {
    "method": lambda x: MODEL.method(x),
    "inherited method": lambda x: MODEL.inherited(x),
    "two decorators": lambda x: Model().twice(x),
    "class method": lambda x: MODEL.of_class(x) + Model.of_class(x),
    "static method": lambda x: MODEL.static(x) * Model.static(x),
    "function": lambda x: function(x),
    "held method": lambda x: HELD["method"](x),
    "held function": lambda x: HELD["functions"][0](x),
    "function itself": function,
    "bound method itself": MODEL.method,
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_decorated_functions_are_adopted(name):
    f = FUNCTIONS[name]
    slope = (f(0.7 + 1e-6) - f(0.7 - 1e-6)) / 2e-6
    gradient = fg.grad(f)
    value, found = fg.value_and_grad(f)(0.7)
    assert (value, found) == pytest.approx((f(0.7), slope), rel=1e-8)
    assert fg.jvp(f, (0.7,), (1.0,))[1] == pytest.approx(slope, rel=1e-8)
    assert fg.jit(gradient)(0.7) == pytest.approx(slope, rel=1e-8)
    assert fg.vmap(gradient)(np.array([0.7, 0.9])).tolist() == pytest.approx(
        [gradient(0.7), gradient(0.9)]
    )
    second = (gradient(0.7 + 1e-6) - gradient(0.7 - 1e-6)) / 2e-6
    assert fg.hessian(f)(0.7) == pytest.approx(second, rel=1e-7)

"""The derivatives that autograd takes within a function, in adopted code."""

import numpy as np
import pytest
from scipy.optimize import minimize

import funcgrad as fg

pytest.importorskip("autograd")

import autograd
import autograd.numpy as anp
from autograd import elementwise_grad, grad, hessian, jacobian, value_and_grad

W = np.array([0.5, -0.3])


def inner(w, c):
    return anp.sum(anp.tanh(w * c) ** 2) + anp.dot(w, w)


def of_value(c):
    value, slope = value_and_grad(inner)(W, c)
    return value + slope[0]


def of_tuple(c):
    one, other = grad(lambda x, y: x * x * y * c, (0, 1))(1.5, 2.0)
    return one + 2 * other


def of_minimum(c):
    def loss(w):
        return anp.sum(anp.array([1.0, 3.0]) * (w - c) ** 2) + anp.sum(w**4)

    return minimize(value_and_grad(loss), np.zeros(2), jac=True, tol=1e-10).x.sum()


def of_descent(c):
    slope, w = grad(lambda w: anp.sum((w - c) ** 2 * anp.array([1.0, 3.0]))), np.zeros(2)
    for _ in range(5):
        w -= 0.1 * slope(w)
    return w.sum()


SLOPE, SECOND = grad(inner), elementwise_grad(elementwise_grad(lambda t: anp.sin(t) ** 2))
BOTH = value_and_grad(inner, (0, 1))


CASES = {
    "made outside": lambda c: np.sum(SLOPE(W * c, c) ** 2) + np.sum(SECOND(W * c)),
    "made outside, of two": lambda c: BOTH(W, c)[0] * BOTH(W, c)[1][1],
    "grad": lambda c: np.sum(grad(inner)(W, c) ** 2),
    "value_and_grad": of_value,
    "module": lambda c: autograd.grad(inner, argnum=1)(W, c),
    "tuple": of_tuple,
    "one entry": lambda c: grad(lambda x: anp.array([x**3]) * c)(2.0),
    "nested": lambda c: grad(grad(anp.sin))(c),
    "elementwise_grad": lambda c: np.sum(elementwise_grad(lambda t: anp.exp(t * c))(W)),
    "jacobian": lambda c: np.sum(
        jacobian(lambda t: anp.outer(t, t) * c * t)(W) * np.arange(8.0).reshape(2, 2, 2)
    ),
    "hessian": lambda c: np.sum(hessian(inner)(W, c) * np.array([[1.0, 2.0], [3.0, 4.0]])),
    "deriv": lambda c: np.sum(autograd.deriv(lambda t: anp.sin(t * c))(W)),
    "hessian_vector_product": lambda c: autograd.hessian_vector_product(inner)(W, c, W).sum(),
    "vector_jacobian_product": lambda c: autograd.vector_jacobian_product(lambda t: c * t * t)(
        W, W
    ).sum(),
    "minimize": of_minimum,
    "descent": of_descent,
}


@pytest.mark.parametrize("f", CASES.values(), ids=CASES.keys())
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_derivatives_of_autograd_are_differentiated(f):
    slope = (f(0.7 + 1e-5) - f(0.7 - 1e-5)) / 2e-5
    value, found = fg.value_and_grad(f)(0.7)
    assert value == pytest.approx(f(0.7), rel=1e-6)
    assert found == pytest.approx(slope, rel=1e-5)
    assert fg.jvp(f, (0.7,), (1.0,))[1] == pytest.approx(found)
    assert fg.jit(fg.grad(f))(0.7) == pytest.approx(found)
    assert fg.vmap(fg.grad(f))(np.array([0.7, 0.8]))[0] == pytest.approx(found)


def test_plain_numbers_in_adopted_code():
    assert fg.adopt(lambda w: grad(inner)(w, 2.0))(W) == pytest.approx(grad(inner)(W, 2.0))

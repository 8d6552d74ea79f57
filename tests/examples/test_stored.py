"""The programs of every example, and their gradients, come back from JSON with the keys that they had."""

import numpy as np
import pytest

import funcgrad as fg
from funcgrad.trace.pytree import flatten

pytest.importorskip("sklearn")

from examples import (
    black_scholes,
    digits,
    double_pendulum,
    gaussian_mixture,
    gaussian_process,
    logistic,
    sir,
    sparse_fit,
)
from examples.seeds import topological_ordering


def _digits():
    train, _, labels, _ = digits.data()
    return lambda p: digits.loss(p, train[:7], labels[:7]), (digits.initial(5).params,)


def _pendulum():
    def far(angles, speeds):
        return double_pendulum.motion(angles, speeds, 0.1, 3)[0][-1, 0]

    return far, (np.array([0.3, -0.4]), np.array([0.5, 0.1]))


def _mixture():
    points = gaussian_mixture.data()[0][:20]
    given = gaussian_mixture.start(gaussian_mixture.data()[0], 3)
    return lambda p: gaussian_mixture.log_likelihood(p, points), (given,)


def _process():
    known = gaussian_process.data(12)
    return (
        lambda p: gaussian_process.log_likelihood(p, known.points, known.targets),
        (gaussian_process.start(),),
    )


def _logistic():
    train, _, labels, _, _ = logistic.data()
    return lambda w: logistic.loss(w, train[:9], labels[:9]), (np.linspace(-1, 1, 31),)


def _sparse_fit():
    images = sparse_fit.data(2)
    return lambda x: np.sum(sparse_fit.residuals(x, images) ** 2), (sparse_fit.start(images),)


PROGRAMS = {
    "digits": _digits,
    "double_pendulum": _pendulum,
    "gaussian_mixture": _mixture,
    "gaussian_process": _process,
    "logistic": _logistic,
    "sir": lambda: (lambda r: np.sum(sir.residuals(r) ** 2), (np.log([1.5, 0.4]),)),
    "sparse_fit": _sparse_fit,
    "seeds, a network": lambda: (topological_ordering.objective, topological_ordering.example()),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_an_example_and_its_gradient_come_back(name):
    f, args = PROGRAMS[name]()
    value = fg.trace(f, *args)
    slopes = fg.grad(f, argnums=tuple(range(len(args)))).expr(*args)
    for expr in (value, *flatten(slopes).leaves):
        text = fg.to_json(expr)
        back = fg.from_json(text)
        assert back.key == expr.key
        assert fg.to_json(back) == text


def test_the_example_with_a_primitive_says_what_cannot_be_stored():
    price = fg.trace(black_scholes.call, 100.0, 0.2, 1.0, 0.05, 95.0)
    with pytest.raises(TypeError, match=r"to_json: .* but got the primitive 'ndtr'"):
        fg.to_json(price)

"""The programs of the examples give the same values and derivatives in JAX and PyTorch."""

import numpy as np
import optree
import pytest

import funcgrad as fg

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
from examples.seeds import autograd_engine, gates, reverse_order, topological_ordering, two_pages

pytestmark = [pytest.mark.oracle, pytest.mark.slow, pytest.mark.filterwarnings("ignore")]

RANDOM = np.random.default_rng(3)
POINTS = RANDOM.normal(size=(20, 3))
TARGETS = RANDOM.normal(size=20)
BODY = double_pendulum.Pendulum(1.3, 0.7, 0.9, 1.4, 9.7)


def of_formula(expr, at):
    """A formula as a function of a dict of its variables, and their values."""
    return lambda at: expr(**at), at


def of_digits():
    images, _, labels, _ = digits.data()
    return lambda p: digits.loss(p, images[:15], labels[:15]), digits.initial(5).params


def of_logistic():
    features, _, labels, *_ = logistic.data()
    weights = logistic.fit(features[:30], labels[:30]).x + 0.1
    return lambda w: logistic.loss(w, features[:30], labels[:30]), weights


def of_mixture():
    points = gaussian_mixture.data()[0][::5]
    start = gaussian_mixture.start(points, 3)
    return lambda p: gaussian_mixture.log_likelihood(p, points), start


def of_process():
    return lambda p: gaussian_process.log_likelihood(
        p, POINTS, TARGETS
    ), gaussian_process.start() + 0.1


def of_pendulum():
    def swing(start):
        ways, speeds = double_pendulum.motion(start[:2], start[2:], 0.01, 20, BODY)
        return np.sum(ways**2) + np.sum(double_pendulum.energy(ways[-1], speeds[-1], BODY))

    return swing, np.array([0.9, -0.4, 0.3, 0.1])


def of_registration():
    images = sparse_fit.data(3)
    start = sparse_fit.start(images) + 0.1
    return lambda x: np.sum(sparse_fit.residuals(x, images) ** 2), start


def of_network():
    layers, x, target = topological_ordering.example()
    return lambda layers: topological_ordering.objective(layers, x, target), layers


PROGRAMS = {
    "digits": of_digits,
    "logistic": of_logistic,
    "gaussian_mixture": of_mixture,
    "gaussian_process": of_process,
    "double_pendulum": of_pendulum,
    "sparse_fit": of_registration,
    "topological_ordering": of_network,
    "autograd_engine": lambda: of_formula(autograd_engine.program(), autograd_engine.AT),
    "product_of_sum": lambda: of_formula(*gates.product_of_sum()),
    "shared_part": lambda: of_formula(*gates.shared_part()),
    "chain": lambda: of_formula(reverse_order.chain(), {"z": 0.3}),
}


def of_function(name):
    run = two_pages.FUNCTIONS[name].run
    weights = np.cos(np.arange(20.0))

    def weighted(operands):
        out = np.ravel(run(*operands))
        return np.sum(out * weights[: len(out)])

    return lambda: (weighted, two_pages.operands(name))


PROGRAMS |= {f"function {name}": of_function(name) for name in two_pages.FUNCTIONS}


@pytest.fixture(params=["jax", "torch"])
def library(request):
    """The library; JAX in double precision."""
    module = pytest.importorskip(request.param)
    if request.param == "jax":
        module.config.update("jax_enable_x64", True)
    return module


def exported(library, f):
    return fg.to_jax(f) if library.__name__ == "jax" else fg.to_torch(f)


def given(library, tree):
    """A tree of the library's arrays, in double precision."""
    if library.__name__ == "jax":
        return optree.tree_map(library.numpy.asarray, tree)
    return optree.tree_map(lambda x: library.tensor(x, dtype=library.float64), tree)


def own_gradient(library, f):
    """The gradient by the library's own reverse mode."""
    return (library.grad if library.__name__ == "jax" else library.func.grad)(f)


def close(got, want):
    """To rounding of the largest entry."""
    got, want = optree.tree_leaves(got), optree.tree_leaves(want)
    assert len(got) == len(want)
    for a, b in zip(got, want, strict=True):
        scale = np.max(np.abs(b), initial=1e-300)
        np.testing.assert_allclose(np.asarray(a), b, rtol=1e-11, atol=1e-11 * scale)


@pytest.mark.parametrize("name", PROGRAMS)
def test_values_and_gradients(name, library):
    f, at = PROGRAMS[name]()
    value, slope = fg.value_and_grad(f)(at)
    there = given(library, at)
    run = exported(library, f)
    close(run(there), value)
    close(own_gradient(library, run)(there), slope)
    ours = exported(library, fg.value_and_grad(f))(there)
    close(ours, (value, slope))


def test_the_epidemic_in_both_libraries(library):
    """An adaptive solver is a `while_loop`, which JAX differentiates forward alone."""
    at = np.log([1.7, 0.45])
    run, there = exported(library, sir.residuals), given(library, np.log([1.7, 0.45]))
    close(run(there), sir.residuals(at))
    jacobian = exported(library, fg.jacfwd(sir.residuals))(there)
    np.testing.assert_allclose(np.asarray(jacobian), fg.jacobian(sir.residuals)(at), rtol=1e-6)


def test_a_primitive_is_refused_by_name(library):
    with pytest.raises(TypeError, match="a primitive, which runs on NumPy's arrays alone"):
        exported(library, black_scholes.call)(*black_scholes.Market())

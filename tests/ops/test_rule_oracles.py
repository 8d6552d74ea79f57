"""Operations one by one against JAX and autograd, at random points: values, first and second derivatives.

Whole programs are compared in tests/test_oracles.py.
"""

import numpy as np
import pytest
from scipy import special

import funcgrad as fg
from tests.default_slice import one_in

# The oracles' own warnings are not ours to answer for.
pytestmark = [pytest.mark.oracle, pytest.mark.filterwarnings("ignore")]

RNG = np.random.default_rng(11)
ANY, OTHER = RNG.uniform(-2.0, 2.0, (2, 3, 4))
POSITIVE, UNIT = RNG.uniform(0.2, 3.0, (3, 4)), RNG.uniform(-0.9, 0.9, (3, 4))
WEIGHTS = RNG.standard_normal((3, 4))

UNARY = {
    **dict.fromkeys(["exp", "exp2", "expm1", "sin", "cos", "sinh", "cosh", "tanh", "sinc"], ANY),
    **dict.fromkeys(["arctan", "arcsinh", "square", "negative", "abs", "sign", "floor"], ANY),
    **dict.fromkeys(["log", "log2", "log10", "log1p", "sqrt", "reciprocal"], POSITIVE),
    **dict.fromkeys(["tan", "arcsin", "arccos", "arctanh"], UNIT),
    **dict.fromkeys(["deg2rad", "rad2deg"], ANY),
    "arccosh": POSITIVE + 1.0,
}
BINARY = ["add", "subtract", "multiply", "divide", "maximum", "minimum", "logaddexp", "arctan2"]
BINARY += ["fmax", "fmin", "logaddexp2", "mod"]
REDUCTIONS = ["sum", "mean", "var", "std", "max", "min", "prod"]


def scalar(f, np_):
    """f's entries, weighed: a function whose gradient has all of f's derivatives in it."""

    def weighed(*args):
        value = f(np_, *args)
        weights = np.cos(np.arange(np.prod(np.shape(value)))).reshape(np.shape(value))
        return np_.sum(value * weights)

    return weighed


PROGRAMS = {
    **{name: (lambda m, x, name=name: getattr(m, name)(x), (at,)) for name, at in UNARY.items()},
    **{name: (lambda m, x, y, name=name: getattr(m, name)(x, y), (ANY, OTHER)) for name in BINARY},
    "power": (lambda m, x, y: m.power(x, y), (POSITIVE, ANY)),
    "whole powers": (lambda m, x: x**3 - x**2 + x**-1, (ANY,)),
    **{
        f"{name} along {axis}": (
            lambda m, x, name=name, axis=axis: getattr(m, name)(x, axis=axis),
            (POSITIVE,),
        )
        for name in REDUCTIONS
        for axis in (None, 0, 1)
    },
    "cumsum": (lambda m, x: m.cumsum(x, axis=1), (ANY,)),
    "cumprod": (lambda m, x: m.cumprod(x, axis=1), (ANY,)),
    "norm": (lambda m, x: m.linalg.norm(x, axis=1), (ANY,)),
    "clip": (lambda m, x: m.clip(x, -0.5, 0.8), (ANY,)),
    "where": (lambda m, x: m.where(x > 0, m.exp(x), x * x), (ANY,)),
    "matmul": (lambda m, x, y: x @ y.T, (ANY, OTHER)),
    "batched matmul": (
        lambda m, x, y: m.matmul(m.reshape(x, (3, 2, 2)), m.reshape(y, (3, 2, 2))),
        (ANY, OTHER),
    ),
    "tensordot": (lambda m, x, y: m.tensordot(x, y, axes=([0], [0])), (ANY, OTHER)),
    "einsum": (lambda m, x, y: m.einsum("ij,kj,k->i", x, y, WEIGHTS[:, 0]), (ANY, OTHER)),
    "outer": (lambda m, x, y: m.outer(x[0], y[1]), (ANY, OTHER)),
    "kron": (lambda m, x, y: m.kron(x, y), (ANY[:2, :2], OTHER)),
    "basic indexing": (lambda m, x: x[1:, ::-2] * x[0, 1], (ANY,)),
    "integer indexing": (lambda m, x: x[np.array([0, 2, 0]), np.array([1, 1, 1])] ** 2, (ANY,)),
    "transpose": (lambda m, x: m.transpose(m.reshape(x, (2, 3, 2)), (2, 0, 1)) ** 2, (ANY,)),
    "concatenate": (lambda m, x, y: m.concatenate([x, y * y], axis=1), (ANY, OTHER)),
    "stack": (lambda m, x, y: m.stack([x * y, m.sin(y)], axis=1), (ANY, OTHER)),
    "tile": (lambda m, x: m.tile(x, (2, 2)) ** 2, (ANY,)),
    "repeat": (lambda m, x: m.repeat(x, 2, axis=1) ** 2, (ANY,)),
    "roll": (lambda m, x: m.roll(x, 1, axis=0) * x, (ANY,)),
    "diagonal": (lambda m, x: m.diagonal(x, 1) ** 2, (ANY,)),
    "tril": (lambda m, x: m.tril(x) ** 2, (ANY,)),
    "sort": (lambda m, x: m.sort(x, axis=1) ** 2, (ANY,)),
}
# What autograd has no rule for.
BEYOND_AUTOGRAD = {"cumprod", "diagonal", "sort"}


def jax_in_double():
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    return jax


def compare_with_jax(ours, theirs, args):
    """Value, gradient, and the gradient's derivative along a direction: compiled once in JAX."""
    jax = jax_in_double()
    places = tuple(range(len(args)))
    along = tuple(WEIGHTS.flat[: x.size].reshape(x.shape) for x in args)
    slope = jax.grad(theirs, argnums=places)
    value, (first, second) = jax.jit(lambda *x: (theirs(*x), jax.jvp(slope, x, along)))(*args)
    np.testing.assert_allclose(ours(*args), value, rtol=1e-12, atol=1e-12)
    own_first, own_second = fg.jvp(fg.grad(ours, argnums=places), args, along)
    for a, b in zip(own_first, first, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-11, atol=1e-12)
    for a, b in zip(own_second, second, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("name", one_in(4, PROGRAMS))
def test_against_jax(name):
    jax = jax_in_double()
    f, args = PROGRAMS[name]
    compare_with_jax(scalar(f, np), scalar(f, jax.numpy), args)


@pytest.mark.parametrize("name", [name for name in PROGRAMS if name not in BEYOND_AUTOGRAD])
def test_against_autograd(name):
    autograd = pytest.importorskip("autograd")
    f, args = PROGRAMS[name]
    places = tuple(range(len(args)))
    expected = autograd.grad(scalar(f, autograd.numpy), argnum=places)(*args)
    for a, b in zip(fg.grad(scalar(f, np), argnums=places)(*args), expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-11, atol=1e-12)


SPECIAL = {
    "logsumexp": (lambda x: fg.logsumexp(x, axis=1), lambda n, s, x: s.logsumexp(x, axis=1)),
    "softmax": (lambda x: fg.softmax(x, axis=0), lambda n, s, x: n.softmax(x, axis=0)),
    "log_softmax": (lambda x: fg.log_softmax(x, axis=1), lambda n, s, x: n.log_softmax(x, axis=1)),
    "sigmoid": (fg.sigmoid, lambda n, s, x: n.sigmoid(x)),
    "softplus": (fg.softplus, lambda n, s, x: n.softplus(x)),
    "relu": (fg.relu, lambda n, s, x: n.relu(x)),
    "expit": (special.expit, lambda n, s, x: s.expit(x)),
}


@pytest.mark.parametrize("name", SPECIAL)
def test_named_functions_against_jax(name):
    jax = jax_in_double()
    jsp = pytest.importorskip("jax.scipy.special")
    own, other = SPECIAL[name]
    theirs = scalar(lambda m, x: other(jax.nn, jsp, x), jax.numpy)
    compare_with_jax(scalar(lambda m, x: own(x), np), theirs, (ANY,))


@pytest.mark.parametrize("how", ["set", "add", "multiply", "min", "max"])
def test_functional_updates_against_jax(how):
    jax = jax_in_double()

    def update(x, v, **more):  # JAX wants to be told that no index is repeated
        return getattr(x.at[1:, np.array([0, 2])], how)(v, **more) ** 2

    ours = scalar(lambda m, x, v: update(x, v), np)
    theirs = scalar(lambda m, x, v: update(x, v, unique_indices=True), jax.numpy)
    args = ANY, OTHER[:2, :2]
    first = jax.grad(theirs, argnums=(0, 1))(*[jax.numpy.asarray(a) for a in args])
    for a, b in zip(fg.grad(ours, argnums=(0, 1))(*args), first, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("name", ["maximum", "minimum", "max", "min"])
def test_ties_are_shared_as_in_jax(name):
    jax = jax_in_double()
    x = np.array([1.0, 3.0, 3.0, -2.0, -2.0])
    if name in ("max", "min"):
        ours, theirs = getattr(np, name), getattr(jax.numpy, name)
    else:
        ours = scalar(lambda m, x: getattr(m, name)(x, x[::-1]), np)
        theirs = scalar(lambda m, x: getattr(m, name)(x, x[::-1]), jax.numpy)
    np.testing.assert_array_equal(fg.grad(ours)(x), jax.grad(theirs)(jax.numpy.asarray(x)))

"""Losses as users write them, in every transform and under other ways to call them."""

import dataclasses
import functools
from typing import Any, NamedTuple

import numpy as np
import pytest

import funcgrad as fg
from tests.default_slice import one_in
from tests.transforms.losses import LOSSES, loss

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(6, 3)), RNG.uniform(0.2, 2, 6)
W, FIRST = np.array([0.3, -0.2, 0.5]), np.array([1.0, 0.0, 0.0])
XS, YS = np.stack([X, 1.1 * X]), np.stack([Y, 1.1 * Y])


@dataclasses.dataclass
class Data:
    X: Any
    y: Any
    name: str = "data"


class Pair(NamedTuple):
    X: Any
    y: Any


class Model:
    def __init__(self, f):
        self.f, self.X, self.y = f, X, Y

    def loss(self, w):
        self.last = w
        return self.f(w, self.X, self.y)


def added(f):
    return lambda w, X, y: fg.fori_loop(0, 2, lambda i, c: c + f(w, X, y), 0.0) / 2


def folded(f):
    return lambda w, X, y: fg.scan(lambda c, d: (c + f(w, *d), None), 0.0, (X, y))[0]


def chosen(f):
    return lambda w, X, y: fg.cond(y[0] > 0, lambda w: f(w, X, y), lambda w: 0.0 * w[0], w)


def over_data(f):
    return fg.vmap(fg.grad(f), in_axes=(None, 0, 0))


RUNS = {
    "grad": lambda f: fg.grad(f)(W, X, Y),
    "jit of grad": lambda f: fg.jit(fg.grad(f))(W, X, Y),
    "jit of value_and_grad": lambda f: fg.jit(fg.value_and_grad(f))(W, X, Y)[1],
    "grad of jit": lambda f: fg.grad(fg.jit(f))(W, X, Y),
    "jit of jacfwd": lambda f: fg.jit(fg.jacfwd(f))(W, X, Y),
    "jit of checkpoint": lambda f: fg.jit(fg.grad(fg.checkpoint(f)))(W, X, Y),
    "vjp": lambda f: fg.jit(lambda w, X, y: fg.vjp(f, w, X, y)[1](1.0)[0])(W, X, Y),
    "vmap over weights": lambda f: fg.vmap(fg.grad(f), in_axes=(0, None, None))(
        np.stack([W, 1.1 * W]), X, Y
    )[0],
    "vmap over data": lambda f: over_data(f)(W, XS, YS)[0],
    "jit of vmap over data": lambda f: fg.jit(over_data(f))(W, XS, YS)[0],
    "vmap of vmap": lambda f: fg.vmap(over_data(f), in_axes=(0, None, None))(W[None], XS, YS)[0, 0],
    "closure": lambda f: fg.jit(fg.grad(lambda w: f(w, X, Y)))(W),
    "partial": lambda f: fg.jit(fg.grad(functools.partial(f, X=X, y=Y)))(W),
    "method": lambda f: fg.jit(fg.grad(Model(f).loss))(W),
    "keywords": lambda f: fg.jit(fg.grad(f))(W, y=Y, X=X),
    "dicts": lambda f: fg.jit(fg.grad(lambda p, d: f(p["w"], d["X"], d["y"])))(
        {"w": W}, {"X": X, "y": Y}
    )["w"],
    "dataclass": lambda f: fg.jit(fg.grad(lambda w, d: f(w, d.X, d.y)))(W, Data(X, Y)),
    "named tuple": lambda f: fg.jit(fg.grad(lambda w, d: f(w, *d)))(W, Pair(X, Y)),
    "list": lambda f: np.array(
        fg.jit(fg.grad(lambda w, d: f(np.array(w), *d)))(W.tolist(), [X, Y])
    ),
    "fori_loop": lambda f: fg.jit(fg.grad(added(f)))(W, X, Y),
    "vmap of fori_loop": lambda f: over_data(added(f))(W, XS[:1], YS[:1])[0],
    "scan": lambda f: fg.jit(fg.grad(folded(f)))(W, X[None], Y[None]),
    "cond": lambda f: fg.jit(fg.grad(chosen(f)))(W, X, Y),
    "Fortran order": lambda f: fg.jit(fg.grad(f))(W, np.asfortranarray(X), Y[::-1].copy()[::-1]),
}


def differences(f, x):
    steps = 1e-6 * np.eye(x.size)
    return np.array([(f(x + e) - f(x - e)) / 2e-6 for e in steps])


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", one_in(11, LOSSES))
def test_a_loss_has_one_gradient_however_it_is_called(name):
    f = loss(name)
    expected = differences(lambda w: f(w, X, Y), W)
    before = X.copy(), Y.copy()
    for how, run in RUNS.items():
        np.testing.assert_allclose(run(f), expected, rtol=2e-4, atol=1e-5, err_msg=how)
    of_data = fg.jit(fg.grad(f, argnums=2))(W, X, Y)
    np.testing.assert_allclose(of_data, differences(lambda y: f(W, X, y), Y), rtol=2e-4, atol=1e-5)
    slope = fg.jit(fg.grad(f))
    second = np.array([(slope(W + e, X, Y) - slope(W - e, X, Y)) / 2e-5 for e in 1e-5 * np.eye(3)])
    np.testing.assert_allclose(fg.jit(fg.hessian(f))(W, X, Y), second, rtol=2e-3, atol=1e-4)
    along = fg.jit(lambda w, y: fg.jvp(lambda w: f(w, X, y), (w,), (FIRST,))[1])(W, Y)
    np.testing.assert_allclose(along, expected[0], rtol=2e-4, atol=1e-5)
    single = fg.jit(fg.grad(f))(*[v.astype(np.float32) for v in (W, X, Y)])
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, expected, rtol=2e-2, atol=2e-3)
    np.testing.assert_array_equal(X, before[0])
    np.testing.assert_array_equal(Y, before[1])

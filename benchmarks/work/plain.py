"""Gradients that are not compiled: what `funcgrad.grad(f)` costs, which traces at every call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.work import logistic, tiny
from benchmarks.work.base import Work, jax

SIZES = ("scalar", "logistic", "network")
SMOKE = "scalar"
TITLE = "un-jitted"


def data(size: str) -> tuple[str, tuple[Any, ...]]:
    """The name of the function, and its arguments: the first is differentiated by."""
    rng = np.random.default_rng(0)
    if size == "scalar":
        return size, (tiny.data(""),)
    if size == "logistic":
        return size, logistic.data("100x10")
    params = {
        "w1": rng.normal(size=(64, 64)) * 0.1,
        "b1": rng.normal(size=64) * 0.1,
        "w2": rng.normal(size=(64, 10)) * 0.1,
        "b2": rng.normal(size=10) * 0.1,
    }
    return size, (params, rng.random((128, 64)), np.eye(10)[rng.integers(0, 10, 128)])


def network(np: Any) -> Callable[..., Any]:
    """The network of examples/digits.py on a batch of 128: 64, 64, 10."""

    def loss(p: Any, images: Any, labels: Any) -> Any:
        hidden = np.maximum(np.dot(images, p["w1"]) + p["b1"], 0.0)
        scores = np.dot(hidden, p["w2"]) + p["b2"]
        total = np.log(np.sum(np.exp(scores), axis=1, keepdims=True))
        return -np.mean(np.sum(labels * (scores - total), axis=1))

    return loss


FUNCTIONS = {"scalar": tiny.formula, "logistic": logistic.loss, "network": network}


def funcgrad(given: Any) -> Work:
    """funcgrad, on plain NumPy."""
    import funcgrad as fg

    name, args = given
    return Work(fg.grad(FUNCTIONS[name](np)), args)


def autograd(given: Any) -> Work:
    """HIPS autograd."""
    import autograd.numpy as anp
    from autograd import grad

    name, args = given
    return Work(grad(FUNCTIONS[name](anp)), args)


def with_jax(given: Any) -> Work:
    """JAX, un-jitted."""
    library = jax()
    name, args = given
    on_device = library.tree.map(library.numpy.asarray, args)
    f = library.grad(FUNCTIONS[name](library.numpy))
    return Work(f, on_device, settle=library.block_until_ready)


def by_hand(given: Any) -> Work:
    """Hand-written code with `math` or NumPy."""
    name, args = given
    if name == "scalar":
        return tiny.by_hand(*args)
    return logistic.by_hand(args) if name == "logistic" else Work(_network, args)


def _network(p: Any, images: Any, labels: Any) -> Any:
    hidden = np.maximum(images @ p["w1"] + p["b1"], 0.0)
    e = np.exp(hidden @ p["w2"] + p["b2"])
    g = (e / e.sum(axis=1, keepdims=True) - labels) / len(labels)
    h = (g @ p["w2"].T) * (hidden > 0)
    return {"w1": images.T @ h, "b1": h.sum(axis=0), "w2": hidden.T @ g, "b2": g.sum(axis=0)}


PEERS = {"funcgrad": funcgrad, "autograd": autograd, "jax": with_jax, "by hand": by_hand}

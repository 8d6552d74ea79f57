"""The work that is timed: each case builds, for one peer, a callable and its arguments.

Every peer computes the same gradient of the same function; what they return is compared.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

Case = tuple[Callable[..., Any], tuple[Any, ...]]

RNG = np.random.default_rng(0)
FEATURES, LABELS = RNG.normal(size=(100, 10)), (RNG.random(100) > 0.5) * 1.0
WEIGHTS = RNG.normal(size=10)
IMAGES, TARGETS = RNG.random((128, 64)), np.eye(10)[RNG.integers(0, 10, 128)]
PARAMS = {
    "w1": RNG.normal(size=(64, 64)) * 0.1,
    "b1": np.zeros(64),
    "w2": RNG.normal(size=(64, 10)) * 0.1,
    "b2": np.zeros(10),
}


def scalar(np: Any) -> Callable[..., Any]:
    """sqrt(x**2 + exp(x**2)) + cos(x**2 + exp(x**2))."""
    return lambda x: np.sqrt(x**2 + np.exp(x**2)) + np.cos(x**2 + np.exp(x**2))


def logistic(np: Any) -> Callable[..., Any]:
    """The logistic loss of 100 rows of 10 features."""

    def loss(w: Any) -> Any:
        score = np.dot(FEATURES, w)
        return np.mean(np.logaddexp(0.0, score) - LABELS * score)

    return loss


def network(np: Any) -> Callable[..., Any]:
    """The network of examples/digits.py on a batch of 128: 64, 64, 10."""

    def loss(p: Any) -> Any:
        hidden = np.maximum(np.dot(IMAGES, p["w1"]) + p["b1"], 0.0)
        scores = np.dot(hidden, p["w2"]) + p["b2"]
        total = np.log(np.sum(np.exp(scores), axis=1, keepdims=True))
        return -np.mean(np.sum(TARGETS * (scores - total), axis=1))

    return loss


ARGUMENTS = {"scalar": (0.7,), "logistic": (WEIGHTS,), "network": (PARAMS,)}
FUNCTIONS = {"scalar": scalar, "logistic": logistic, "network": network}


def funcgrad(name: str) -> Case:
    """funcgrad, un-jitted, on plain NumPy."""
    import funcgrad as fg

    return fg.grad(FUNCTIONS[name](np)), ARGUMENTS[name]


def autograd(name: str) -> Case:
    """HIPS autograd."""
    import autograd.numpy as anp
    from autograd import grad

    return grad(FUNCTIONS[name](anp)), ARGUMENTS[name]


def jax(name: str) -> Case:
    """JAX, un-jitted, float64."""
    import jax as library

    library.config.update("jax_enable_x64", True)
    return library.grad(FUNCTIONS[name](library.numpy)), ARGUMENTS[name]


def by_hand(name: str) -> Case:
    """What a person writes with `math` or NumPy."""
    return {"scalar": _scalar, "logistic": _logistic, "network": _network}[name], ARGUMENTS[name]


def _scalar(x: float) -> float:
    a = x * x
    b = math.exp(a)
    c = a + b
    d = 0.5 / math.sqrt(c) - math.sin(c)
    return 2 * x * (d + d * b)


def _logistic(w: Any) -> Any:
    score = FEATURES @ w
    return (1 / (1 + np.exp(-score)) - LABELS) @ FEATURES / len(LABELS)


def _network(p: Any) -> Any:
    before = IMAGES @ p["w1"] + p["b1"]
    hidden = np.maximum(before, 0.0)
    e = np.exp(hidden @ p["w2"] + p["b2"])
    g = (e / e.sum(axis=1, keepdims=True) - TARGETS) / len(TARGETS)
    h = (g @ p["w2"].T) * (before > 0)
    return {"w1": IMAGES.T @ h, "b1": h.sum(axis=0), "w2": hidden.T @ g, "b2": g.sum(axis=0)}


PEERS = {"funcgrad": funcgrad, "autograd": autograd, "jax": jax, "by_hand": by_hand}

CHAINS: dict[str, Callable[[Any], Any]] = {
    "sines, `y = np.sin(y)`": np.sin,
    "sums, `y = y + 1.0`": lambda y: y + 1.0,
}
"""Scalar chains by the step that makes one node of what was before."""

"""Value and gradient of a network: 784, 256, 128, 10, on a batch of 128."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np

from benchmarks.work.base import (
    NATIVE,
    Work,
    with_autograd,
    with_funcgrad,
    with_jax,
    with_native,
    with_torch,
)

SIZES = ("float64", "float32")
SMOKE = "float64"
TITLE = "784-256-128-10 network"


def data(size: str) -> tuple[Any, Any, Any]:
    """Parameters, images and labels, one-hot."""
    rng = np.random.default_rng(0)
    widths = (784, 256, 128, 10)
    params = {}
    for i, (m, n) in enumerate(pairwise(widths), 1):
        params[f"w{i}"] = (rng.normal(size=(m, n)) / m**0.5).astype(size)
        params[f"b{i}"] = (rng.normal(size=n) * 0.1).astype(size)
    labels = np.eye(10)[rng.integers(0, 10, 128)]
    return params, rng.random((128, 784)).astype(size), labels.astype(size)


def loss(np: Any) -> Callable[..., Any]:
    """The mean cross entropy."""

    def of(p: Any, images: Any, labels: Any) -> Any:
        h = np.maximum(images @ p["w1"] + p["b1"], 0.0)
        h = np.maximum(h @ p["w2"] + p["b2"], 0.0)
        scores = h @ p["w3"] + p["b3"]
        total = np.log(np.sum(np.exp(scores), axis=1, keepdims=True))
        return -np.mean(np.sum(labels * (scores - total), axis=1))

    return of


def torch(args: Any) -> Work:
    """PyTorch, eager, with its own loss."""
    import torch as library

    def of(p: Any, images: Any, labels: Any) -> Any:
        h = library.relu(images @ p["w1"] + p["b1"])
        h = library.relu(h @ p["w2"] + p["b2"])
        return library.nn.functional.cross_entropy(h @ p["w3"] + p["b3"], labels)

    return with_torch(of, args)


def by_hand(args: Any) -> Work:
    """Hand-written NumPy."""

    def value_and_gradient(p: Any, images: Any, labels: Any) -> Any:
        h1 = np.maximum(images @ p["w1"] + p["b1"], 0.0)
        h2 = np.maximum(h1 @ p["w2"] + p["b2"], 0.0)
        scores = h2 @ p["w3"] + p["b3"]
        e = np.exp(scores)
        total = e.sum(axis=1, keepdims=True)
        value = -np.mean(np.sum(labels * (scores - np.log(total)), axis=1))
        g3 = (e / total - labels) / len(labels)
        g2 = (g3 @ p["w3"].T) * (h2 > 0)
        g1 = (g2 @ p["w2"].T) * (h1 > 0)
        gradient = {
            "w1": images.T @ g1,
            "b1": g1.sum(axis=0),
            "w2": h1.T @ g2,
            "b2": g2.sum(axis=0),
            "w3": h2.T @ g3,
            "b3": g3.sum(axis=0),
        }
        return value, gradient

    return Work(value_and_gradient, args)


def _autograd(args: Any) -> Work:
    import autograd.numpy as anp

    return with_autograd(loss(anp), args)


def _jax(args: Any) -> Work:
    import jax.numpy as jnp

    return with_jax(loss(jnp), args)


def funcgrad(args: Any) -> Work:
    """The loss as a user writes it, compiled."""
    return with_funcgrad(loss(np), args)


PEERS = {
    "funcgrad": funcgrad,
    NATIVE: with_native(funcgrad),
    "autograd": _autograd,
    "jax": _jax,
    "torch": torch,
    "by hand": by_hand,
}

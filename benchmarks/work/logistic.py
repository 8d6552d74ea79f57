"""The gradient of a logistic regression's loss."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.work.base import NATIVE, Work, jax, tensors, with_native

SIZES = ("100x10", "10000x100", "1000000x10")
SMOKE = "100x10"
TITLE = "logistic gradient"


def data(size: str) -> tuple[Any, Any, Any]:
    """Weights, features and labels."""
    rng = np.random.default_rng(0)
    rows, columns = (int(n) for n in size.split("x"))
    features = rng.normal(size=(rows, columns))
    return rng.normal(size=columns) * 0.1, features, (rng.random(rows) > 0.5) * 1.0


def loss(np: Any) -> Callable[..., Any]:
    """Mean of log(1 + exp(score)) - label * score."""

    def of(w: Any, features: Any, labels: Any) -> Any:
        score = np.dot(features, w)
        return np.mean(np.logaddexp(0.0, score) - labels * score)

    return of


def funcgrad(args: Any) -> Work:
    """Compiled, on NumPy's arrays."""
    import funcgrad as fg

    return Work(fg.jit(fg.grad(loss(np))), args, fg.jit(loss(np)))


def autograd(args: Any) -> Work:
    """HIPS autograd."""
    import autograd.numpy as anp
    from autograd import grad

    return Work(grad(loss(anp)), args)


def with_jax(args: Any) -> Work:
    """Compiled, on JAX's arrays."""
    library = jax()
    f = library.jit(library.grad(loss(library.numpy)))
    return Work(f, library.tree.map(library.numpy.asarray, args), settle=library.block_until_ready)


def torch(args: Any) -> Work:
    """PyTorch, eager."""
    import torch as library

    w, features, labels = tensors(args)
    w.requires_grad_(True)

    def gradient(w: Any, features: Any, labels: Any) -> Any:
        score = features @ w
        value = (library.nn.functional.softplus(score) - labels * score).mean()
        return library.autograd.grad(value, w)[0]

    return Work(gradient, (w, features, labels))


def by_hand(args: Any) -> Work:
    """Hand-written NumPy."""

    def gradient(w: Any, features: Any, labels: Any) -> Any:
        return (1 / (1 + np.exp(-(features @ w))) - labels) @ features / len(labels)

    return Work(gradient, args)


PEERS = {
    "funcgrad": funcgrad,
    NATIVE: with_native(funcgrad),
    "autograd": autograd,
    "jax": with_jax,
    "torch": torch,
    "by hand": by_hand,
}

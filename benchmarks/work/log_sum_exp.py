"""Value and gradient of log(sum(exp(x))), with the largest entry taken out."""

from __future__ import annotations

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

SIZES = ("2500", "1000000")
SMOKE = "10"
TITLE = "log-sum-exp"


def data(size: str) -> tuple[Any]:
    """The entries."""
    return (np.random.default_rng(0).normal(size=int(size)),)


def loss(np: Any) -> Any:
    """As one writes it."""

    def f(x: Any) -> Any:
        top = np.max(x)
        return top + np.log(np.sum(np.exp(x - top)))

    return f


def funcgrad(args: tuple[Any]) -> Work:
    """Plain NumPy code."""
    return with_funcgrad(loss(np), args)


def autograd(args: tuple[Any]) -> Work:
    """The same on autograd's arrays."""
    import autograd.numpy as anp

    return with_autograd(loss(anp), args)


def jax(args: tuple[Any]) -> Work:
    """The same on JAX's arrays."""
    import jax.numpy as jnp

    return with_jax(loss(jnp), args)


def torch(args: tuple[Any]) -> Work:
    """Eager."""
    import torch as library

    return with_torch(lambda x: library.logsumexp(x, 0), args)


def by_hand(args: tuple[Any]) -> Work:
    """NumPy, with the exponentials kept."""

    def value_and_gradient(x: Any) -> Any:
        top = x.max()
        e = np.exp(x - top)
        total = e.sum()
        return top + np.log(total), np.divide(e, total, out=e)

    return Work(value_and_gradient, args)


PEERS = {
    "funcgrad": funcgrad,
    NATIVE: with_native(funcgrad),
    "autograd": autograd,
    "jax": jax,
    "torch": torch,
    "by hand": by_hand,
}

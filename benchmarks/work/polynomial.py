"""Least squares on a basis of powers by cumprod, 4,096 points: the gradient by points and coefficients."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.work.base import NATIVE, Work, with_funcgrad, with_jax, with_native, with_torch

SIZES = ("degree 128",)
SMOKE = "degree 4"
TITLE = "Polynomial least squares"


def data(size: str) -> tuple[Any, Any]:
    """Points and coefficients, and the values to be fitted."""
    rng = np.random.default_rng(0)
    p = {"x": rng.uniform(0.5, 1, size=4096), "c": rng.normal(size=int(size.split()[1]))}
    return p, rng.normal(size=4096)


def loss(cumprod: Any, ones: Any) -> Any:
    """The mean squared distance, on a basis x, x**2, ..."""

    def f(p: Any, y: Any) -> Any:
        basis = cumprod(p["x"][:, None] * ones(p["c"].shape), 1)
        return ((basis @ p["c"] - y) ** 2).mean()

    return f


def funcgrad(args: Any) -> Work:
    """Plain NumPy code."""
    return with_funcgrad(loss(np.cumprod, np.ones), args)


def jax(args: Any) -> Work:
    """The same on JAX's arrays."""
    import jax.numpy as jnp

    return with_jax(loss(jnp.cumprod, jnp.ones), args)


def torch(args: Any) -> Work:
    """Eager."""
    import torch as library

    return with_torch(
        loss(library.cumprod, lambda shape: library.ones(shape, dtype=library.float64)), args
    )


def by_hand(args: Any) -> Work:
    """NumPy; the derivative of a power by the power before."""

    def value_and_gradient(p: Any, y: Any) -> Any:
        x, c = p["x"], p["c"]
        basis = np.cumprod(np.broadcast_to(x[:, None], (len(x), len(c))), axis=1)
        error = basis @ c - y
        slope = 2 * error / len(x)
        powers = c[0] + basis[:, :-1] @ (c[1:] * np.arange(2, len(c) + 1))
        return (error * error).mean(), {"x": slope * powers, "c": slope @ basis}

    return Work(value_and_gradient, args)


PEERS = {
    "funcgrad": funcgrad,
    NATIVE: with_native(funcgrad),
    "jax": jax,
    "torch": torch,
    "by hand": by_hand,
}

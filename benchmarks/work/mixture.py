"""Log-likelihood of a Gaussian mixture and its gradient: ADBench's objective, 10 dimensions, 25 parts."""

from __future__ import annotations

from collections.abc import Callable
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

SIZES = ("d=10 K=25 N=1000",)
SMOKE = "d=3 K=4 N=50"
TITLE = "Gaussian mixture"


def data(size: str) -> tuple[Any, Any, Any]:
    """Parameters, points, and the mask of entries below the diagonal."""
    d, parts, points = (int(word.split("=")[1]) for word in size.split())
    rng = np.random.default_rng(0)
    params = {
        "alpha": rng.normal(size=parts),
        "mean": rng.normal(size=(parts, d)),
        "diagonal": rng.normal(size=(parts, d)) * 0.1,
        "lower": rng.normal(size=(parts, d, d)) * 0.1,
    }
    return params, rng.normal(size=(points, d)), np.tri(d, k=-1)


def likelihood(np: Any, logsumexp: Callable[[Any, int], Any]) -> Callable[..., Any]:
    """The sum over points of log sum exp over parts, with a Wishart prior.

    The inverse covariance of a part is Q'Q; Q is lower triangular with exp(diagonal) on its diagonal.
    """

    def of(p: Any, points: Any, below: Any) -> Any:
        lower = p["lower"] * below
        diagonal = np.exp(p["diagonal"])
        q = lower + diagonal[:, :, None] * np.eye(below.shape[0])
        moved = points - p["mean"][:, None, :]
        y = moved @ np.swapaxes(q, 1, 2)
        weight = p["alpha"] + np.sum(p["diagonal"], axis=1)
        inner = weight[:, None] - 0.5 * np.sum(y * y, axis=2)
        total = np.sum(logsumexp(inner, 0)) - points.shape[0] * logsumexp(p["alpha"], 0)
        return total - 0.5 * (np.sum(diagonal * diagonal) + np.sum(lower * lower))

    return of


def funcgrad(args: Any) -> Work:
    """With funcgrad's logsumexp."""
    import funcgrad as fg

    return with_funcgrad(likelihood(np, lambda x, axis: fg.logsumexp(x, axis)), args)


def autograd(args: Any) -> Work:
    """With autograd's own logsumexp."""
    import autograd.numpy as anp
    from autograd.scipy.special import logsumexp

    return with_autograd(likelihood(anp, lambda x, axis: logsumexp(x, axis)), args)


def jax(args: Any) -> Work:
    """With JAX's logsumexp."""
    import jax.numpy as jnp
    from jax.scipy.special import logsumexp

    return with_jax(likelihood(jnp, logsumexp), args)


def torch(args: Any) -> Work:
    """PyTorch, eager, by its own names."""
    import torch as library

    def of(p: Any, points: Any, below: Any) -> Any:
        lower = p["lower"] * below
        diagonal = library.exp(p["diagonal"])
        q = lower + library.diag_embed(diagonal)
        y = (points - p["mean"][:, None, :]) @ q.transpose(1, 2)
        weight = p["alpha"] + p["diagonal"].sum(1)
        inner = weight[:, None] - 0.5 * (y * y).sum(2)
        total = library.logsumexp(inner, 0).sum() - len(points) * library.logsumexp(p["alpha"], 0)
        return total - 0.5 * ((diagonal * diagonal).sum() + (lower * lower).sum())

    return with_torch(of, args)


def by_hand(args: Any) -> Work:
    """Hand-written NumPy."""

    def value_and_gradient(p: Any, points: Any, below: Any) -> Any:
        lower = p["lower"] * below
        diagonal = np.exp(p["diagonal"])
        q = lower + diagonal[:, :, None] * np.eye(len(below))
        moved = points - p["mean"][:, None, :]
        y = moved @ q.transpose(0, 2, 1)
        inner = (p["alpha"] + p["diagonal"].sum(axis=1))[:, None] - 0.5 * np.sum(y * y, axis=2)
        top = inner.max(axis=0)
        share = np.exp(inner - top)
        total = share.sum(axis=0)
        share /= total
        most = p["alpha"].max()
        prior = np.exp(p["alpha"] - most)
        whole = prior.sum()
        value = np.sum(np.log(total) + top) - len(points) * (np.log(whole) + most)
        value -= 0.5 * (np.sum(diagonal * diagonal) + np.sum(lower * lower))
        each = share.sum(axis=1)
        dy = -share[:, :, None] * y
        dq = dy.transpose(0, 2, 1) @ moved
        gradient = {
            "alpha": each - len(points) * prior / whole,
            "mean": -np.sum(dy @ q, axis=1),
            "diagonal": each[:, None]
            + np.diagonal(dq, axis1=1, axis2=2) * diagonal
            - diagonal * diagonal,
            "lower": dq * below - lower,
        }
        return value, gradient

    return Work(value_and_gradient, args)


PEERS = {
    "funcgrad": funcgrad,
    NATIVE: with_native(funcgrad),
    "autograd": autograd,
    "jax": jax,
    "torch": torch,
    "by hand": by_hand,
}

"""Black's and Scholes' price of call options, and its derivatives by spot, volatility, rate and time."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.work.base import NATIVE, Work, with_funcgrad, with_jax, with_native, with_torch

SIZES = ("1000000",)
SMOKE = "10"
TITLE = "Black-Scholes, prices and greeks"


def data(size: str) -> tuple[Any, Any]:
    """Spot, volatility, rate and time of each option, and the strikes."""
    rng = np.random.default_rng(0)
    n = int(size)
    p = {"s": rng.uniform(80, 120, n), "v": rng.uniform(0.1, 0.5, n)}
    p |= {"r": rng.uniform(0.0, 0.1, n), "t": rng.uniform(0.2, 2, n)}
    return p, rng.uniform(80, 120, n)


def total(np: Any, ndtr: Any) -> Any:
    """The sum of the prices."""

    def f(p: Any, k: Any) -> Any:
        s, v, r, t = p["s"], p["v"], p["r"], p["t"]
        spread = v * np.sqrt(t)
        d = (np.log(s / k) + (r + v * v / 2) * t) / spread
        return (s * ndtr(d) - k * np.exp(-r * t) * ndtr(d - spread)).sum()

    return f


def funcgrad(args: Any) -> Work:
    """With `scipy.special.ndtr`."""
    from scipy.special import ndtr

    return with_funcgrad(total(np, ndtr), args)


def jax(args: Any) -> Work:
    """With `jax.scipy.special.ndtr`."""
    import jax.numpy as jnp
    from jax.scipy.special import ndtr

    return with_jax(total(jnp, ndtr), args)


def torch(args: Any) -> Work:
    """Eager, with `torch.special.ndtr`."""
    import torch as library

    return with_torch(total(library, library.special.ndtr), args)


def by_hand(args: Any) -> Work:
    """The closed forms of the greeks."""
    from scipy.special import ndtr

    def value_and_gradient(p: Any, k: Any) -> Any:
        s, v, r, t = p["s"], p["v"], p["r"], p["t"]
        root = np.sqrt(t)
        d1 = (np.log(s / k) + (r + v * v / 2) * t) / (v * root)
        d2 = d1 - v * root
        delta, paid = ndtr(d1), k * np.exp(-r * t)
        paid *= ndtr(d2)
        density = s * np.exp(-d1 * d1 / 2) / np.sqrt(2 * np.pi)
        made = {"s": delta, "v": density * root, "r": t * paid}
        made["t"] = density * v / (2 * root) + r * paid
        return (s * delta - paid).sum(), made

    return Work(value_and_gradient, args)


PEERS = {
    "funcgrad": funcgrad,
    NATIVE: with_native(funcgrad),
    "jax": jax,
    "torch": torch,
    "by hand": by_hand,
}

"""Value and gradient of a recurrence that is stored entry by entry: a[i] = tanh(a[i-1])/2 + b[i]."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.work.base import NATIVE, Work, with_autograd, with_funcgrad, with_jax, with_native

SIZES = ("10000 stores",)
SMOKE = "20 stores"
TITLE = "Stores into an array"


def data(size: str) -> tuple[Any]:
    """What is added at each step."""
    return (np.random.default_rng(0).normal(size=int(size.split()[0])),)


def rolled(np: Any, fori_loop: Callable[..., Any]) -> Callable[[Any], Any]:
    """The sum of squares of the array, filled by a library's loop."""

    def loss(b: Any) -> Any:
        def store(i: Any, a: Any) -> Any:
            return a.at[i].set(0.5 * np.tanh(a[i - 1]) + b[i])

        a = fori_loop(1, b.shape[0], store, b)
        return np.sum(a**2)

    return loss


def appended(np: Any) -> Callable[[Any], Any]:
    """The same by a list and a loop of Python's."""

    def loss(b: Any) -> Any:
        a = [b[0]]
        for i in range(1, b.shape[0]):
            a.append(0.5 * np.tanh(a[-1]) + b[i])
        return np.sum(np.array(a) ** 2)

    return loss


def funcgrad(args: tuple[Any]) -> Work:
    """With `funcgrad.fori_loop`; the stores run in place."""
    import funcgrad as fg

    return with_funcgrad(rolled(np, fg.fori_loop), args)


def autograd(args: tuple[Any]) -> Work:
    """A list of numbers, unrolled."""
    import autograd.numpy as anp

    return with_autograd(appended(anp), args)


def jax(args: tuple[Any]) -> Work:
    """With `jax.lax.fori_loop`."""
    from benchmarks.work.base import jax as library

    module = library()
    return with_jax(rolled(module.numpy, module.lax.fori_loop), args)


PEERS = {
    "funcgrad": funcgrad,
    NATIVE: with_native(funcgrad),
    "autograd": autograd,
    "jax": jax,
}

"""The gradient of a sum of elementwise functions: short arrays, and long ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.work.base import NATIVE, Work, jax, tensors, with_native

SIZES = ("1", "10", "100", "100000", "1000000", "10000000")
SMOKE = "100"
TITLE = "elementwise chain"


def data(size: str) -> Any:
    """Points in [-3, 3)."""
    return np.random.default_rng(0).uniform(-3, 3, int(size))


def chain(np: Any) -> Callable[[Any], Any]:
    """sum(sin(tanh(x) * log1p(exp(x)))): its gradient needs four functions and a few products."""
    return lambda x: np.sum(np.sin(np.tanh(x) * np.log1p(np.exp(x))))


def funcgrad(x: Any) -> Work:
    """Compiled, on NumPy's arrays."""
    import funcgrad as fg

    f = chain(np)
    return Work(fg.jit(fg.grad(f)), (x,), fg.jit(f))


def autograd(x: Any) -> Work:
    """HIPS autograd."""
    import autograd.numpy as anp
    from autograd import grad

    return Work(grad(chain(anp)), (x,))


def with_jax(x: Any) -> Work:
    """Compiled, on JAX's arrays."""
    library = jax()
    f = library.jit(library.grad(chain(library.numpy)))
    return Work(f, (library.numpy.asarray(x),), settle=library.block_until_ready)


def torch(x: Any) -> Work:
    """PyTorch, eager."""
    import torch as library

    leaf = tensors(x).requires_grad_(True)
    f = chain(library)
    return Work(lambda leaf: library.autograd.grad(f(leaf), leaf)[0], (leaf,))


def sympy(x: Any) -> Work:
    """The derivative as a formula of a number, printed over NumPy with common subexpressions shared."""
    import sympy as library

    s = library.Symbol("x")
    formula = library.sin(library.tanh(s) * library.log(1 + library.exp(s)))
    return Work(library.lambdify(s, formula.diff(s), "numpy", cse=True), (x,))


def by_hand(x: Any) -> Work:
    """Hand-written NumPy."""

    def gradient(x: Any) -> Any:
        t, e = np.tanh(x), np.exp(x)
        s = np.log1p(e)
        return np.cos(t * s) * ((1 - t * t) * s + t * e / (1 + e))

    return Work(gradient, (x,))


PEERS = {
    "funcgrad": funcgrad,
    NATIVE: with_native(funcgrad),
    "autograd": autograd,
    "jax": with_jax,
    "torch": torch,
    "sympy": sympy,
    "by hand": by_hand,
}

"""The gradient of one short formula of a number."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.work.base import Work, jax

SIZES = ("",)
SMOKE = ""
TITLE = "tiny scalar gradient"


def data(size: str) -> float:
    """Where the gradient is taken."""
    return 0.7


def formula(np: Any) -> Callable[[Any], Any]:
    """sqrt(x**2 + exp(x**2)) + cos(x**2 + exp(x**2))."""
    return lambda x: np.sqrt(x**2 + np.exp(x**2)) + np.cos(x**2 + np.exp(x**2))


def funcgrad(x: float) -> Work:
    """A number in, a number out."""
    import funcgrad as fg

    f = formula(np)
    return Work(fg.jit(fg.grad(f)), (x,), fg.jit(f))


def autograd(x: float) -> Work:
    """HIPS autograd."""
    import autograd.numpy as anp
    from autograd import grad

    return Work(grad(formula(anp)), (x,))


def with_jax(x: float) -> Work:
    """A 0-d array of JAX's in, one out: quicker than Python's numbers."""
    library = jax()
    f = library.jit(library.grad(formula(library.numpy)))
    return Work(f, (library.numpy.asarray(x),), settle=library.block_until_ready)


def torch(x: float) -> Work:
    """A 0-d tensor in, one out."""
    import torch as library

    leaf = library.tensor(x, dtype=library.float64, requires_grad=True)
    f = formula(library)
    return Work(lambda leaf: library.autograd.grad(f(leaf), leaf)[0], (leaf,))


def casadi(x: float) -> Work:
    """A function of CasADi's, called with a number."""
    import casadi as library

    s = library.SX.sym("x")
    gradient = library.Function("g", [s], [library.gradient(formula(library)(s), s)])
    return Work(gradient, (x,))


def sympy(x: float) -> Work:
    """The derivative as a formula, printed over `math` with common subexpressions shared."""
    import sympy as library

    s = library.Symbol("x")
    return Work(library.lambdify(s, formula(library)(s).diff(s), "math", cse=True), (x,))


def by_hand(x: float) -> Work:
    """Hand-written code with `math`."""

    def gradient(x: float) -> float:
        a = x * x
        b = math.exp(a)
        c = a + b
        d = 0.5 / math.sqrt(c) - math.sin(c)
        return 2 * x * (d + d * b)

    return Work(gradient, (x,))


PEERS = {
    "funcgrad": funcgrad,
    "autograd": autograd,
    "jax": with_jax,
    "torch": torch,
    "casadi": casadi,
    "sympy": sympy,
    "by hand": by_hand,
}

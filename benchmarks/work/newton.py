"""A loss with Newton's iteration inside: Kepler's equation, iterated until it holds, and the gradient."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.work.base import NATIVE, Work, with_autograd, with_funcgrad, with_native, with_torch
from benchmarks.work.base import jax as jax_library
from benchmarks.work.c_library import address, compiled

SIZES = ("",)
SMOKE = ""
TITLE = "Newton's iteration in a while loop"
TOLERANCE = 1e-13

SOURCE = r"""
#include <math.h>
double run(const double *p, double *g) {
    double e = p[0], m = p[1], x = m, dx[2] = {0, 1};
    while (fabs(x - e * sin(x) - m) > 1e-13) {
        double s = sin(x), c = cos(x), f = x - e * s - m, d = 1 - e * c;
        double dxe = dx[0] - ((d * dx[0] - s) * d - f * (-c + e * s * dx[0])) / (d * d);
        double dxm = dx[1] - ((d * dx[1] - 1) * d - f * e * s * dx[1]) / (d * d);
        x -= f / d; dx[0] = dxe; dx[1] = dxm;
    }
    g[0] = 2 * (x - 1) * dx[0]; g[1] = 2 * (x - 1) * dx[1];
    return (x - 1) * (x - 1);
}
"""


def data(size: str) -> tuple[Any]:
    """Eccentricity and mean anomaly."""
    return (np.array([0.6, 0.8]),)


def improved(np: Any) -> Callable[..., Any]:
    """One step of Newton's method."""

    def step(e: Any, m: Any, x: Any) -> Any:
        return x - (x - e * np.sin(x) - m) / (1.0 - e * np.cos(x))

    return step


def rolled(np: Any, while_loop: Callable[..., Any]) -> Callable[[Any], Any]:
    """The squared distance of the solution from 1, by a library's loop."""
    step = improved(np)

    def loss(p: Any) -> Any:
        e, m = p

        def goes_on(x: Any) -> Any:
            return np.abs(x - e * np.sin(x) - m) > TOLERANCE

        x = while_loop(goes_on, lambda x: step(e, m, x), m)
        return (x - 1.0) ** 2

    return loss


def looped(np: Any) -> Callable[[Any], Any]:
    """The same by a loop of Python's."""
    step = improved(np)

    def loss(p: Any) -> Any:
        e, m = p[0], p[1]
        x = m
        while abs(x - e * np.sin(x) - m) > TOLERANCE:
            x = step(e, m, x)
        return (x - 1.0) ** 2

    return loss


def funcgrad(args: tuple[Any]) -> Work:
    """With `funcgrad.while_loop`."""
    import funcgrad as fg

    return with_funcgrad(rolled(np, fg.while_loop), args)


def autograd(args: tuple[Any]) -> Work:
    """A loop of Python's."""
    import autograd.numpy as anp

    return with_autograd(looped(anp), args)


def jax(args: tuple[Any]) -> Work:
    """With `jax.lax.while_loop`, in forward mode: it has no reverse mode."""
    library = jax_library()
    loss = rolled(library.numpy, library.lax.while_loop)
    forward = library.jit(lambda p: (loss(p), library.jacfwd(loss)(p)))
    on_device = library.numpy.asarray(args[0])
    return Work(forward, (on_device,), settle=library.block_until_ready)


def torch(args: tuple[Any]) -> Work:
    """A loop of Python's, eager."""
    import torch as library

    def value_and_gradient(p: Any) -> Any:
        value = looped(library)(p)
        return value, library.autograd.grad(value, p)[0]

    return with_torch(lambda p: p, args)._replace(
        call=value_and_gradient, args=(library.tensor(args[0], requires_grad=True),)
    )


def c(args: tuple[Any]) -> Work:
    """Dual numbers of two parts."""
    run = compiled(SOURCE, "run")

    def value_and_gradient(p: Any) -> Any:
        gradient = np.empty(2)
        return run(address(p), address(gradient)), gradient

    return Work(value_and_gradient, args)


PEERS = {
    "funcgrad": funcgrad,
    NATIVE: with_native(funcgrad),
    "autograd": autograd,
    "jax": jax,
    "torch": torch,
    "C": c,
}

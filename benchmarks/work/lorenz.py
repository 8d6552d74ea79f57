"""An ensemble of Lorenz's system: 100 members, 200 steps, by `vmap` of a loop; gradient by its parameters."""

from __future__ import annotations

import ctypes
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
from benchmarks.work.base import jax as jax_library
from benchmarks.work.c_library import address, compiled

SIZES = ("100 members",)
SMOKE = "3 members"
TITLE = "Lorenz ensemble, 200 steps,"
STEPS, H = 200, 0.01

SOURCE = r"""
static void field(const double *p, const double *x, double *f) {
    f[0] = p[0] * (x[1] - x[0]); f[1] = x[0] * (p[1] - x[2]) - x[1]; f[2] = x[0] * x[1] - p[2] * x[2];
}
/* gx += J' u, gp += (df/dp)' u */
static void pulled(const double *p, const double *x, const double *u, double *gx, double *gp) {
    gx[0] += -p[0] * u[0] + (p[1] - x[2]) * u[1] + x[1] * u[2];
    gx[1] += p[0] * u[0] - u[1] + x[0] * u[2];
    gx[2] += -x[0] * u[1] - p[2] * u[2];
    gp[0] += (x[1] - x[0]) * u[0]; gp[1] += x[0] * u[1]; gp[2] -= x[2] * u[2];
}
double run(int members, int steps, double h, const double *p, const double *starts, double *gp, double *xs) {
    double value = 0;
    gp[0] = gp[1] = gp[2] = 0;
    for (int m = 0; m < members; m++) {
        double k[4][3], y[4][3], c[4] = {0, h / 2, h / 2, h};
        for (int i = 0; i < 3; i++) xs[i] = starts[3 * m + i];
        for (int s = 0; s < steps; s++) {
            double *x = xs + 3 * s;
            for (int j = 0; j < 4; j++) {
                for (int i = 0; i < 3; i++) y[j][i] = x[i] + (j ? c[j] * k[j - 1][i] : 0);
                field(p, y[j], k[j]);
            }
            for (int i = 0; i < 3; i++)
                x[3 + i] = x[i] + h / 6 * (k[0][i] + 2 * k[1][i] + 2 * k[2][i] + k[3][i]);
        }
        double g[3], *last = xs + 3 * steps;
        for (int i = 0; i < 3; i++) { value += last[i] * last[i] / members; g[i] = 2 * last[i] / members; }
        for (int s = steps - 1; s >= 0; s--) {
            double *x = xs + 3 * s, gk[4][3], r[3] = {g[0], g[1], g[2]};
            for (int j = 0; j < 4; j++) {
                for (int i = 0; i < 3; i++) {
                    y[j][i] = x[i] + (j ? c[j] * k[j - 1][i] : 0);
                    gk[j][i] = h / 6 * (j == 0 || j == 3 ? 1 : 2) * g[i];
                }
                field(p, y[j], k[j]);
            }
            for (int j = 3; j >= 0; j--) {
                double gy[3] = {0};
                pulled(p, y[j], gk[j], gy, gp);
                for (int i = 0; i < 3; i++) { r[i] += gy[i]; if (j) gk[j - 1][i] += c[j] * gy[i]; }
            }
            for (int i = 0; i < 3; i++) g[i] = r[i];
        }
    }
    return value;
}
"""


def data(size: str) -> tuple[Any, Any]:
    """The parameters, and the states at the start."""
    rng = np.random.default_rng(0)
    starts = rng.normal([1.0, 1.0, 20.0], 1.0, (int(size.split()[0]), 3))
    return np.array([10.0, 28.0, 8.0 / 3.0]), starts


def stepped(stack: Callable[..., Any]) -> Callable[[Any, Any], Any]:
    """One step of Runge-Kutta; the entries of a state are along the first axis."""

    def field(p: Any, x: Any) -> Any:
        return stack([p[0] * (x[1] - x[0]), x[0] * (p[1] - x[2]) - x[1], x[0] * x[1] - p[2] * x[2]])

    def step(p: Any, x: Any) -> Any:
        k1 = field(p, x)
        k2 = field(p, x + H / 2 * k1)
        k3 = field(p, x + H / 2 * k2)
        k4 = field(p, x + H * k3)
        return x + H / 6 * (k1 + 2 * k2 + 2 * k3 + k4)

    return step


def mapped(
    stack: Callable[..., Any], scan: Callable[..., Any], vmap: Callable[..., Any]
) -> Callable[..., Any]:
    """The mean of the squares of the last states, by a library's loop and `vmap`."""
    step = stepped(stack)

    def loss(p: Any, starts: Any) -> Any:
        def last(x: Any) -> Any:
            return scan(lambda x, _: (step(p, x), None), x, None, length=STEPS)[0]

        return (vmap(last)(starts) ** 2).sum() / len(starts)

    return loss


def unrolled(stack: Callable[..., Any]) -> Callable[..., Any]:
    """The same by a loop of Python's, on all members at once."""
    step = stepped(stack)

    def loss(p: Any, starts: Any) -> Any:
        x = starts.T
        for _ in range(STEPS):
            x = step(p, x)
        return (x**2).sum() / len(starts)

    return loss


def funcgrad(args: Any) -> Work:
    """`funcgrad.vmap` of `funcgrad.scan`."""
    import funcgrad as fg

    return with_funcgrad(mapped(np.stack, fg.scan, fg.vmap), args)


def autograd(args: Any) -> Work:
    """Unrolled, on all members at once."""
    import autograd.numpy as anp

    return with_autograd(unrolled(anp.stack), args)


def jax(args: Any) -> Work:
    """`jax.vmap` of `jax.lax.scan`."""
    library = jax_library()
    return with_jax(mapped(library.numpy.stack, library.lax.scan, library.vmap), args)


def torch(args: Any) -> Work:
    """Unrolled, eager, on all members at once."""
    import torch as library

    return with_torch(unrolled(library.stack), args)


def c(args: Any) -> Work:
    """Member by member; the states are kept, and the stages of a step recomputed."""
    run = compiled(SOURCE, "run")
    kept = np.zeros(3 * (STEPS + 1))

    def value_and_gradient(p: Any, starts: Any) -> Any:
        gradient = np.empty(3)
        arrays = (p, starts, gradient, kept)
        return run(len(starts), STEPS, ctypes.c_double(H), *map(address, arrays)), gradient

    return Work(value_and_gradient, args)


PEERS = {
    "funcgrad": funcgrad,
    NATIVE: with_native(funcgrad),
    "autograd": autograd,
    "jax": jax,
    "torch": torch,
    "C": c,
}

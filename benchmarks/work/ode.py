"""Value and gradient through 100 steps of Runge-Kutta on an array: Lorenz's ring of 1996."""

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

SIZES = ("n=3", "n=30", "n=300")
SMOKE = "n=5"
TITLE = "RK4 on an array, 100 steps"
STEPS, H = 100, 0.01

SOURCE = r"""
/* Entries are read from an array with two more at each end, which continue the ring. */
static void padded(int n, const double *x, double *r) {
    for (int i = 0; i < n; i++) r[i + 2] = x[i];
    for (int i = 0; i < 2; i++) { r[i] = r[n + i]; r[n + 2 + i] = r[2 + i]; }
}
static void field(int n, const double *x, double *restrict out, double *restrict w) {
    padded(n, x, w);
    for (int i = 2; i < n + 2; i++) out[i - 2] = (w[i + 1] - w[i - 2]) * w[i - 1] - w[i] + 8.0;
}
static void pulled(int n, const double *x, const double *u, double *restrict g,
                   double *restrict w) {  /* g += J' u */
    double *v = w + n + 4;
    padded(n, x, w); padded(n, u, v);
    for (int i = 2; i < n + 2; i++)
        g[i - 2] += v[i - 1] * w[i - 2] - v[i + 2] * w[i + 1] + v[i + 1] * (w[i + 2] - w[i - 1]) - v[i];
}
double run(int n, int steps, double h, double *xs, double *g, double *w) {
    double *k1 = w, *k2 = w + n, *k3 = w + 2 * n, *k4 = w + 3 * n;
    double *x2 = w + 4 * n, *x3 = w + 5 * n, *x4 = w + 6 * n, *u = w + 7 * n, *r = w + 8 * n, *z = w + 9 * n;
    for (int s = 0; s <= steps; s++) {
        double *x = xs + s * n;
        if (s == steps) break;
        field(n, x, k1, z); for (int i = 0; i < n; i++) x2[i] = x[i] + h / 2 * k1[i];
        field(n, x2, k2, z); for (int i = 0; i < n; i++) x3[i] = x[i] + h / 2 * k2[i];
        field(n, x3, k3, z); for (int i = 0; i < n; i++) x4[i] = x[i] + h * k3[i];
        field(n, x4, k4, z);
        for (int i = 0; i < n; i++) x[n + i] = x[i] + h / 6 * (k1[i] + 2 * k2[i] + 2 * k3[i] + k4[i]);
    }
    double value = 0, *last = xs + steps * n;
    for (int i = 0; i < n; i++) { value += last[i] * last[i]; g[i] = 2 * last[i]; }
    for (int s = steps - 1; s >= 0; s--) {
        double *x = xs + s * n;
        field(n, x, k1, z); for (int i = 0; i < n; i++) x2[i] = x[i] + h / 2 * k1[i];
        field(n, x2, k2, z); for (int i = 0; i < n; i++) x3[i] = x[i] + h / 2 * k2[i];
        field(n, x3, k3, z); for (int i = 0; i < n; i++) x4[i] = x[i] + h * k3[i];
        double *d4 = k1, *d3 = k2, *d2 = k3;
        for (int i = 0; i < n; i++) { u[i] = h / 6 * g[i]; d4[i] = 0; }
        pulled(n, x4, u, d4, z);
        for (int i = 0; i < n; i++) { u[i] = h / 3 * g[i] + h * d4[i]; d3[i] = 0; }
        pulled(n, x3, u, d3, z);
        for (int i = 0; i < n; i++) { u[i] = h / 3 * g[i] + h / 2 * d3[i]; d2[i] = 0; }
        pulled(n, x2, u, d2, z);
        for (int i = 0; i < n; i++) {
            u[i] = h / 6 * g[i] + h / 2 * d2[i];
            r[i] = g[i] + d4[i] + d3[i] + d2[i];
        }
        pulled(n, x, u, r, z);
        for (int i = 0; i < n; i++) g[i] = r[i];
    }
    return value;
}
"""


def data(size: str) -> tuple[Any]:
    """The state at the start."""
    return (np.random.default_rng(0).normal(size=int(size.split("=")[1])),)


def step(roll: Callable[..., Any]) -> Callable[[Any], Any]:
    """One step on an array."""

    def field(x: Any) -> Any:
        return (roll(x, -1) - roll(x, 2)) * roll(x, 1) - x + 8.0

    def stepped(x: Any) -> Any:
        k1 = field(x)
        k2 = field(x + H / 2 * k1)
        k3 = field(x + H / 2 * k2)
        k4 = field(x + H * k3)
        return x + H / 6 * (k1 + 2 * k2 + 2 * k3 + k4)

    return stepped


def rolled(np: Any, scan: Callable[..., Any]) -> Callable[[Any], Any]:
    """The sum of squares at the end, by a library's loop."""
    stepped = step(np.roll)

    def loss(x: Any) -> Any:
        x, _ = scan(lambda x, _: (stepped(x), None), x, None, length=STEPS)
        return (x * x).sum()

    return loss


def unrolled(roll: Callable[..., Any]) -> Callable[[Any], Any]:
    """The same by a loop of Python's."""
    stepped = step(roll)

    def loss(x: Any) -> Any:
        for _ in range(STEPS):
            x = stepped(x)
        return (x * x).sum()

    return loss


def funcgrad(args: tuple[Any]) -> Work:
    """With `funcgrad.scan`."""
    import funcgrad as fg

    return with_funcgrad(rolled(np, fg.scan), args)


def autograd(args: tuple[Any]) -> Work:
    """Unrolled."""
    import autograd.numpy as anp

    return with_autograd(unrolled(anp.roll), args)


def jax(args: tuple[Any]) -> Work:
    """With `jax.lax.scan`."""
    library = jax_library()
    return with_jax(rolled(library.numpy, library.lax.scan), args)


def torch(args: tuple[Any]) -> Work:
    """Unrolled, eager."""
    import torch as library

    return with_torch(unrolled(library.roll), args)


def c(args: tuple[Any]) -> Work:
    """The states are kept, and the stages of a step recomputed."""
    n = args[0].size
    run = compiled(SOURCE, "run")
    states, gradient, scratch = np.zeros((STEPS + 1, n)), np.zeros(n), np.zeros(11 * n + 8)
    fixed = (n, STEPS, ctypes.c_double(H), address(states), address(gradient), address(scratch))

    def value_and_gradient(x: Any) -> Any:
        states[0] = x
        _ = scratch  # alive as long as its address is used
        return run(*fixed), gradient.copy()

    return Work(value_and_gradient, args)


PEERS = {
    "funcgrad": funcgrad,
    NATIVE: with_native(funcgrad),
    "autograd": autograd,
    "jax": jax,
    "torch": torch,
    "C": c,
}

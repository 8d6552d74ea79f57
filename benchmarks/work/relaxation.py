"""Sweeps of Jacobi's method for Poisson's equation: a stencil in a loop, and the gradient by the source."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.work.base import NATIVE, Work, with_funcgrad, with_jax, with_native, with_torch
from benchmarks.work.base import jax as jax_library
from benchmarks.work.c_library import address, compiled

SIZES = ("64 x 64",)
SMOKE = "8 x 8"
TITLE = "relaxation, 100 sweeps"
SWEEPS = 100

SOURCE = r"""
#include <string.h>
/* w: two arrays with a margin of zeros, of (n + 2)*(n + 2) entries each. */
static void sweep(int n, const double *u, const double *b, double *v) {
    for (int i = 1; i <= n; i++)
        for (int j = 1; j <= n; j++) {
            const double *p = u + i * (n + 2) + j;
            double x = p[-n - 2] + p[n + 2] + p[-1] + p[1];
            v[i * (n + 2) + j] = 0.25 * (b ? x + b[(i - 1) * n + j - 1] : x);
        }
}
double run(int n, int sweeps, const double *b, double *g, double *w) {
    double *u = w, *v = w + (n + 2) * (n + 2), value = 0;
    memset(w, 0, 2 * sizeof(double) * (n + 2) * (n + 2));
    for (int t = 0; t < sweeps; t++) { sweep(n, u, b, v); double *s = u; u = v; v = s; }
    for (int i = 0; i < n * n; i++) g[i] = 0;
    for (int i = 1; i <= n; i++)
        for (int j = 1; j <= n; j++) {
            double *p = u + i * (n + 2) + j;
            value += *p * *p; *p *= 2;
        }
    for (int t = 0; t < sweeps; t++) {
        for (int i = 1; i <= n; i++)
            for (int j = 1; j <= n; j++) g[(i - 1) * n + j - 1] += 0.25 * u[i * (n + 2) + j];
        sweep(n, u, 0, v);
        double *s = u; u = v; v = s;
    }
    return value;
}
"""


def data(size: str) -> tuple[Any]:
    """The source."""
    n = int(size.split()[0])
    return (np.random.default_rng(0).standard_normal((n, n)),)


def loss(np: Any, scan: Callable[..., Any], pad: Callable[..., Any]) -> Callable[..., Any]:
    """The sum of squares after the sweeps, by a library's loop."""

    def f(b: Any) -> Any:
        def step(u: Any, _: Any) -> Any:
            v = pad(u)
            return 0.25 * (v[:-2, 1:-1] + v[2:, 1:-1] + v[1:-1, :-2] + v[1:-1, 2:] + b), None

        u, _ = scan(step, np.zeros_like(b), None, length=SWEEPS)
        return (u**2).sum()

    return f


def funcgrad(args: Any) -> Work:
    """With `funcgrad.scan`."""
    import funcgrad as fg

    return with_funcgrad(loss(np, fg.scan, lambda u: np.pad(u, 1)), args)


def jax(args: Any) -> Work:
    """With `jax.lax.scan`."""
    library = jax_library()
    jnp = library.numpy
    return with_jax(loss(jnp, library.lax.scan, lambda u: jnp.pad(u, 1)), args)


def torch(args: Any) -> Work:
    """Unrolled, eager."""
    import torch as library

    def scan(step: Callable[..., Any], carry: Any, xs: Any, length: int) -> Any:
        for _ in range(length):
            carry, _ = step(carry, None)
        return carry, None

    pad = library.nn.functional.pad
    return with_torch(loss(library, scan, lambda u: pad(u, (1, 1, 1, 1))), args)


def by_hand(args: Any) -> Work:
    """C, with its adjoint."""
    run = compiled(SOURCE, "run")

    def value_and_gradient(b: Any) -> Any:
        n = len(b)
        g, w = np.empty((n, n)), np.empty(2 * (n + 2) ** 2)
        given = [ctypes.c_int(n), ctypes.c_int(SWEEPS), address(b), address(g), address(w)]
        return run(*given), g

    return Work(value_and_gradient, args)


PEERS = {
    "funcgrad": funcgrad,
    NATIVE: with_native(funcgrad),
    "jax": jax,
    "torch": torch,
    "C": by_hand,
}

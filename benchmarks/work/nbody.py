"""Value and gradient of the energy of bodies that attract each other, after 200 steps."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.work.base import NATIVE, Work, with_funcgrad, with_jax, with_native, with_torch
from benchmarks.work.base import jax as jax_library
from benchmarks.work.c_library import address, compiled

SIZES = ("5 bodies", "50 bodies")
SMOKE = "3 bodies"
TITLE = "N-body, 200 steps"
STEPS, H, SOFT = 200, 1e-3, 1e-2

SOURCE = r"""
#include <math.h>
static void forces(int n, double soft, const double *x, const double *m, double *a) {
    for (int i = 0; i < 3 * n; i++) a[i] = 0;
    for (int i = 0; i < n; i++) for (int j = 0; j < i; j++) {
        double d[3], r = soft;
        for (int k = 0; k < 3; k++) { d[k] = x[3 * j + k] - x[3 * i + k]; r += d[k] * d[k]; }
        double s = 1 / (r * sqrt(r));
        for (int k = 0; k < 3; k++) { a[3 * i + k] += m[j] * s * d[k]; a[3 * j + k] -= m[i] * s * d[k]; }
    }
}
static void pulled(int n, double soft, const double *x, const double *m, const double *u, double h,
                   double *g) {
    for (int i = 0; i < n; i++) for (int j = 0; j < i; j++) {
        double d[3], w[3], r = soft, dot = 0;
        for (int k = 0; k < 3; k++) {
            d[k] = x[3 * j + k] - x[3 * i + k]; r += d[k] * d[k];
            w[k] = m[j] * u[3 * i + k] - m[i] * u[3 * j + k]; dot += d[k] * w[k];
        }
        double s = h / (r * sqrt(r)), c = 3 * s * dot / r;
        for (int k = 0; k < 3; k++) {
            double t = s * w[k] - c * d[k];
            g[3 * j + k] += t; g[3 * i + k] -= t;
        }
    }
}
double run(int n, int steps, double h, double soft, const double *x0, const double *v0, const double *m,
           double *gx, double *gv, double *w) {
    int size = 3 * n;
    double *xs = w, *v = w + (long)(steps + 1) * size, *a = v + size, value = 0;
    for (int i = 0; i < size; i++) { xs[i] = x0[i]; v[i] = v0[i]; }
    for (int s = 0; s < steps; s++) {
        double *x = xs + (long)s * size;
        forces(n, soft, x, m, a);
        for (int i = 0; i < size; i++) { v[i] += h * a[i]; x[size + i] = x[i] + h * v[i]; }
    }
    double *last = xs + (long)steps * size;
    for (int i = 0; i < size; i++) {
        value += last[i] * last[i] + v[i] * v[i]; gx[i] = 2 * last[i]; gv[i] = 2 * v[i];
    }
    for (int s = steps - 1; s >= 0; s--) {
        for (int i = 0; i < size; i++) gv[i] += h * gx[i];
        pulled(n, soft, xs + (long)s * size, m, gv, h, gx);
    }
    return value;
}
"""


def data(size: str) -> tuple[Any, Any]:
    """Positions and velocities, and masses."""
    n = int(size.split()[0])
    rng = np.random.default_rng(0)
    return {"x": rng.normal(size=(n, 3)), "v": rng.normal(size=(n, 3))}, rng.random(n) / n


def step(x: Any, v: Any, m: Any) -> tuple[Any, Any]:
    """One step of the symplectic Euler method."""
    d = x[None, :, :] - x[:, None, :]
    a = (m[None, :, None] * d * (((d * d).sum(-1) + SOFT) ** -1.5)[:, :, None]).sum(1)
    v = v + H * a
    return x + H * v, v


def rolled(scan: Callable[..., Any]) -> Callable[..., Any]:
    """The sum of squares at the end, by a library's loop."""

    def loss(p: Any, m: Any) -> Any:
        (x, v), _ = scan(lambda c, _: (step(*c, m), None), (p["x"], p["v"]), None, length=STEPS)
        return (x * x).sum() + (v * v).sum()

    return loss


def funcgrad(args: Any) -> Work:
    """With `funcgrad.scan`."""
    import funcgrad as fg

    return with_funcgrad(rolled(fg.scan), args)


def jax(args: Any) -> Work:
    """With `jax.lax.scan`."""
    return with_jax(rolled(jax_library().lax.scan), args)


def torch(args: Any) -> Work:
    """Unrolled, eager."""

    def loss(p: Any, m: Any) -> Any:
        x, v = p["x"], p["v"]
        for _ in range(STEPS):
            x, v = step(x, v, m)
        return (x * x).sum() + (v * v).sum()

    return with_torch(loss, args)


def c(args: Any) -> Work:
    """Each pair once; the positions of all steps are kept."""
    run = compiled(SOURCE, "run")
    n = len(args[1])
    scratch = np.zeros((STEPS + 3) * 3 * n)
    scalars = (n, STEPS, ctypes.c_double(H), ctypes.c_double(SOFT))

    def value_and_gradient(p: Any, m: Any) -> Any:
        made = {name: np.empty_like(value) for name, value in p.items()}
        arrays = (p["x"], p["v"], m, made["x"], made["v"], scratch)
        value = run(*scalars, *map(address, arrays))
        return value, made

    return Work(value_and_gradient, args)


PEERS = {
    "funcgrad": funcgrad,
    NATIVE: with_native(funcgrad),
    "jax": jax,
    "torch": torch,
    "C": c,
}

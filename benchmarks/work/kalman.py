"""A Kalman filter's log-likelihood and its gradient: 4 states, 2 of them observed, 200 steps."""

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
from benchmarks.work.base import jax as jax_library
from benchmarks.work.c_library import address, compiled

SIZES = ("200 steps",)
SMOKE = "5 steps"
TITLE = "Kalman filter, 4 states"

SOURCE = r"""
#include <math.h>
#include <string.h>
enum { N = 4, M = 2 };
typedef struct { double m[N], p[N * N], mm[N], pp[N * N], si[M * M], e[M], k[N * M]; } Step;

/* c += s * op(a) op(b), where rows, inner and columns are those of op(a), op(b). */
static void mul(double *c, double s, const double *a, int ta, const double *b, int tb,
                int r, int n, int q) {
    for (int i = 0; i < r; i++) for (int j = 0; j < q; j++) {
        double t = 0;
        for (int k = 0; k < n; k++)
            t += (ta ? a[k * r + i] : a[i * n + k]) * (tb ? b[j * n + k] : b[k * q + j]);
        c[i * q + j] += s * t;
    }
}
double run(int steps, const double *a, const double *noise, const double *y, double *ga, double *gn,
           Step *kept) {
    double value = 0, q = exp(noise[0]), r = exp(noise[1]);
    double m[N] = {0}, p[N * N] = {0};
    for (int i = 0; i < N; i++) p[i * N + i] = 1;
    for (int t = 0; t < steps; t++) {
        Step *s = kept + t;
        memcpy(s->m, m, sizeof m); memcpy(s->p, p, sizeof p);
        double ap[N * N] = {0};
        memset(s->mm, 0, sizeof s->mm); memset(s->pp, 0, sizeof s->pp); memset(s->k, 0, sizeof s->k);
        mul(s->mm, 1, a, 0, m, 0, N, N, 1);
        mul(ap, 1, a, 0, p, 0, N, N, N); mul(s->pp, 1, ap, 0, a, 1, N, N, N);
        for (int i = 0; i < N; i++) s->pp[i * N + i] += q;
        double s00 = s->pp[0] + r, s01 = s->pp[1], s10 = s->pp[N], s11 = s->pp[N + 1] + r;
        double det = s00 * s11 - s01 * s10;
        s->si[0] = s11 / det; s->si[1] = -s01 / det; s->si[2] = -s10 / det; s->si[3] = s00 / det;
        for (int i = 0; i < M; i++) s->e[i] = y[t * M + i] - s->mm[i];
        double quad = 0;
        for (int i = 0; i < M; i++)
            for (int j = 0; j < M; j++) quad += s->e[i] * s->si[i * M + j] * s->e[j];
        value -= 0.5 * (quad + log(det));
        for (int i = 0; i < N; i++) for (int j = 0; j < M; j++) for (int k = 0; k < M; k++)
            s->k[i * M + j] += s->pp[i * N + k] * s->si[k * M + j];
        for (int i = 0; i < N; i++) {
            m[i] = s->mm[i];
            for (int j = 0; j < M; j++) m[i] += s->k[i * M + j] * s->e[j];
        }
        for (int i = 0; i < N; i++) for (int j = 0; j < N; j++) {
            p[i * N + j] = s->pp[i * N + j];
            for (int k = 0; k < M; k++) p[i * N + j] -= s->k[i * M + k] * s->pp[k * N + j];
        }
    }
    double gm[N] = {0}, gp[N * N] = {0};
    memset(ga, 0, N * N * sizeof(double)); gn[0] = gn[1] = 0;
    for (int t = steps - 1; t >= 0; t--) {
        Step *s = kept + t;
        double gk[N * M] = {0}, gpp[N * N], gsi[M * M] = {0}, ge[M] = {0}, gs[M * M] = {0}, gmm[N];
        memcpy(gpp, gp, sizeof gp); memcpy(gmm, gm, sizeof gm);
        for (int i = 0; i < N; i++) for (int k = 0; k < M; k++) {
            gk[i * M + k] += gm[i] * s->e[k]; ge[k] += gm[i] * s->k[i * M + k];
            for (int j = 0; j < N; j++) {
                gk[i * M + k] -= gp[i * N + j] * s->pp[k * N + j];
                gpp[k * N + j] -= gp[i * N + j] * s->k[i * M + k];
            }
        }
        for (int i = 0; i < N; i++) for (int k = 0; k < M; k++) for (int j = 0; j < M; j++) {
            gpp[i * N + k] += gk[i * M + j] * s->si[k * M + j];
            gsi[k * M + j] += s->pp[i * N + k] * gk[i * M + j];
        }
        for (int i = 0; i < M; i++) for (int j = 0; j < M; j++) {
            gsi[i * M + j] -= 0.5 * s->e[i] * s->e[j];
            ge[i] -= 0.5 * (s->si[i * M + j] + s->si[j * M + i]) * s->e[j];
        }
        double h[M * M] = {0};
        mul(h, 1, s->si, 1, gsi, 0, M, M, M); mul(gs, -1, h, 0, s->si, 1, M, M, M);
        for (int i = 0; i < M; i++) for (int j = 0; j < M; j++) gs[i * M + j] -= 0.5 * s->si[j * M + i];
        for (int i = 0; i < M; i++) {
            gmm[i] -= ge[i]; gn[1] += r * gs[i * M + i];
            for (int j = 0; j < M; j++) gpp[i * N + j] += gs[i * M + j];
        }
        for (int i = 0; i < N; i++) gn[0] += q * gpp[i * N + i];
        double ap[N * N] = {0}, apt[N * N] = {0}, back[N * N] = {0};
        mul(ap, 1, a, 0, s->p, 0, N, N, N); mul(apt, 1, a, 0, s->p, 1, N, N, N);
        mul(ga, 1, gpp, 0, apt, 0, N, N, N); mul(ga, 1, gpp, 1, ap, 0, N, N, N);
        mul(ga, 1, gmm, 0, s->m, 1, N, 1, N);
        memset(gm, 0, sizeof gm); memset(gp, 0, sizeof gp);
        mul(gm, 1, a, 1, gmm, 0, N, N, 1);
        mul(back, 1, a, 1, gpp, 0, N, N, N); mul(gp, 1, back, 0, a, 0, N, N, N);
    }
    return value;
}
"""


def data(size: str) -> tuple[Any, Any]:
    """The transition matrix and the logarithms of two variances, and the observations."""
    rng = np.random.default_rng(0)
    a = np.eye(4) * 0.9 + 0.05 * rng.normal(size=(4, 4))
    return {"a": a, "noise": np.array([-1.0, -0.5])}, rng.normal(size=(int(size.split()[0]), 2))


def filtered(np: Any, eye: Callable[[int], Any]) -> Callable[..., Any]:
    """One step: the mean and covariance after an observation, and its log-likelihood."""

    def step(a: Any, noise: Any, m: Any, p: Any, y: Any) -> Any:
        q, r = np.exp(noise)
        m = a @ m
        p = a @ p @ a.T + q * eye(4)
        s = p[:2, :2] + r * eye(2)
        gain = np.linalg.solve(s, p[:2, :]).T
        error = y - m[:2]
        value = -0.5 * (error @ np.linalg.solve(s, error) + np.linalg.slogdet(s)[1])
        return m + gain @ error, p - gain @ p[:2, :], value

    return step


def rolled(np: Any, scan: Callable[..., Any]) -> Callable[..., Any]:
    """The log-likelihood by a library's loop."""
    step = filtered(np, np.eye)

    def loss(p: Any, ys: Any) -> Any:
        def advance(carry: Any, y: Any) -> Any:
            m, c, value = step(p["a"], p["noise"], *carry, y)
            return (m, c), value

        return scan(advance, (np.zeros(4), np.eye(4)), ys)[1].sum()

    return loss


def unrolled(np: Any, eye: Callable[[int], Any], zeros: Any) -> Callable[..., Any]:
    """The same by a loop of Python's."""
    step = filtered(np, eye)

    def loss(p: Any, ys: Any) -> Any:
        m, c, total = zeros, eye(4), 0.0
        for y in ys:
            m, c, value = step(p["a"], p["noise"], m, c, y)
            total = total + value
        return total

    return loss


def funcgrad(args: Any) -> Work:
    """With `funcgrad.scan`."""
    import funcgrad as fg

    return with_funcgrad(rolled(np, fg.scan), args)


def autograd(args: Any) -> Work:
    """Unrolled."""
    import autograd.numpy as anp

    return with_autograd(unrolled(anp, anp.eye, anp.zeros(4)), args)


def jax(args: Any) -> Work:
    """With `jax.lax.scan`."""
    library = jax_library()
    return with_jax(rolled(library.numpy, library.lax.scan), args)


def torch(args: Any) -> Work:
    """Unrolled, eager."""
    import torch as library

    def eye(n: int) -> Any:
        return library.eye(n, dtype=library.float64)

    return with_torch(unrolled(library, eye, library.zeros(4, dtype=library.float64)), args)


def c(args: Any) -> Work:
    """The 2x2 inverse in closed form; means, covariances and gains of all steps are kept."""
    run = compiled(SOURCE, "run")
    steps = len(args[1])
    kept = np.zeros(steps * 54)

    def value_and_gradient(p: Any, ys: Any) -> Any:
        made = {name: np.empty_like(value) for name, value in p.items()}
        arrays = (p["a"], p["noise"], ys, made["a"], made["noise"], kept)
        value = run(steps, *map(address, arrays))
        return value, made

    return Work(value_and_gradient, args)


PEERS = {
    "funcgrad": funcgrad,
    NATIVE: with_native(funcgrad),
    "autograd": autograd,
    "jax": jax,
    "torch": torch,
    "C": c,
}

"""A hidden Markov model's log-likelihood and its gradient: 32 states, 16 symbols, 1,000 observations.

Two programs give the same numbers: the forward recursion on log-probabilities, and that on probabilities,
scaled at each step. C computes with probabilities for both.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.work.base import NATIVE, Work, with_funcgrad, with_jax, with_native, with_torch
from benchmarks.work.base import jax as jax_library
from benchmarks.work.c_library import address, compiled

LOGS, SCALED = "1000 steps", "1000 steps, scaled"
SIZES = (LOGS, SCALED)
SMOKE = "10 steps"
TITLE = "HMM, 32 states"
STATES, SYMBOLS = 32, 16

SOURCE = r"""
#include <math.h>
/* The gradient by log-probabilities: expected counts, by the scaled forward and backward recursions. */
double run(int n, int m, int steps, const double *la, const double *lb, const int *y,
           double *ga, double *gb, double *w) {
    double *a = w, *b = a + n * n, *alpha = b + n * m, *beta = alpha + (long)steps * n;
    double *next = beta + n, *scale = next + n, value = 0;
    for (int i = 0; i < n * n; i++) { a[i] = exp(la[i]); ga[i] = 0; }
    for (int i = 0; i < n * m; i++) { b[i] = exp(lb[i]); gb[i] = 0; }
    for (int t = 0; t < steps; t++) {
        double *now = alpha + (long)t * n, total = 0;
        for (int j = 0; j < n; j++) now[j] = t ? 0 : 1.0;
        if (t) for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++) now[j] += now[i - n] * a[i * n + j];
        for (int j = 0; j < n; j++) total += now[j] *= b[j * m + y[t]];
        for (int j = 0; j < n; j++) now[j] /= total;
        scale[t] = total; value += log(total);
    }
    for (int j = 0; j < n; j++) beta[j] = 1;
    for (int t = steps - 1; t >= 0; t--) {
        double *now = alpha + (long)t * n;
        for (int j = 0; j < n; j++) gb[j * m + y[t]] += now[j] * beta[j];
        if (!t) break;
        for (int j = 0; j < n; j++) next[j] = b[j * m + y[t]] * beta[j] / scale[t];
        for (int i = 0; i < n; i++) {
            double total = 0;
            for (int j = 0; j < n; j++) {
                double p = a[i * n + j] * next[j];
                ga[i * n + j] += now[i - n] * p; total += p;
            }
            beta[i] = total;
        }
    }
    return value;
}
"""


def data(size: str) -> tuple[Any, Any, str]:
    """Log-probabilities of transitions and of symbols, the observations, and the size."""
    rng = np.random.default_rng(0)
    a = np.log(rng.dirichlet(np.ones(STATES), STATES))
    b = np.log(rng.dirichlet(np.ones(SYMBOLS), STATES))
    return {"a": a, "b": b}, rng.integers(0, SYMBOLS, int(size.split()[0])), size


def on_logs(np: Any, scan: Callable[..., Any], logsumexp: Callable[..., Any]) -> Callable[..., Any]:
    """The log-likelihood by the forward recursion on log-probabilities, by a library's loop."""

    def loss(p: Any, y: Any) -> Any:
        def advance(alpha: Any, log_b: Any) -> Any:
            return logsumexp(alpha[:, None] + p["a"], axis=0) + log_b, None

        by_time = p["b"].T[y]
        alpha, _ = scan(advance, by_time[0], by_time[1:])
        return logsumexp(alpha, axis=0)

    return loss


def on_probabilities(np: Any, scan: Callable[..., Any]) -> Callable[..., Any]:
    """The same by probabilities, whose sum over the states is made 1 at each step."""

    def loss(p: Any, y: Any) -> Any:
        a, by_time = np.exp(p["a"]), np.exp(p["b"]).T[y]

        def advance(carry: Any, b: Any) -> Any:
            alpha, value = carry
            joint = (alpha @ a) * b
            total = np.sum(joint)
            return (joint / total, value + np.log(total)), None

        total = np.sum(by_time[0])
        (_, value), _ = scan(advance, (by_time[0] / total, np.log(total)), by_time[1:])
        return value

    return loss


def funcgrad(given: Any) -> Work:
    """With `funcgrad.scan` and `funcgrad.logsumexp`."""
    import funcgrad as fg

    args, size = given[:2], given[2]
    scaled = size == SCALED
    return with_funcgrad(
        on_probabilities(np, fg.scan) if scaled else on_logs(np, fg.scan, fg.logsumexp), args
    )


def jax(given: Any) -> Work:
    """With `jax.lax.scan`."""
    library = jax_library()
    from jax.scipy.special import logsumexp

    args, size = given[:2], given[2]
    jnp, scan = library.numpy, library.lax.scan
    scaled = size == SCALED
    return with_jax(on_probabilities(jnp, scan) if scaled else on_logs(jnp, scan, logsumexp), args)


def torch(given: Any) -> Work:
    """Unrolled, eager."""
    import torch as library

    args, size = given[:2], given[2]

    def scan(step: Callable[..., Any], carry: Any, xs: Any) -> Any:
        for x in xs:
            carry, _ = step(carry, x)
        return carry, None

    if size == SCALED:
        return with_torch(on_probabilities(library, scan), args)

    def loss(p: Any, y: Any) -> Any:
        by_time = p["b"].T[y]
        alpha = by_time[0]
        for log_b in by_time[1:]:
            alpha = library.logsumexp(alpha[:, None] + p["a"], 0) + log_b
        return library.logsumexp(alpha, 0)

    return with_torch(loss, args)


def c(given: Any) -> Work:
    """Probabilities, scaled at each step; the gradient is the table of expected counts."""
    args = given[:2]
    run = compiled(SOURCE, "run")
    steps = len(args[1])
    scratch = np.zeros(
        STATES * STATES + STATES * SYMBOLS + steps * STATES + 2 * STATES + steps, float
    )
    symbols = args[1].astype(np.intc)

    def value_and_gradient(p: Any, _: Any) -> Any:
        made = {name: np.empty_like(value) for name, value in p.items()}
        arrays = (p["a"], p["b"], symbols, made["a"], made["b"], scratch)
        value = run(STATES, SYMBOLS, ctypes.c_int(steps), *map(address, arrays))
        return value, made

    return Work(value_and_gradient, args)


PEERS = {
    "funcgrad": funcgrad,
    NATIVE: with_native(funcgrad),
    "jax": jax,
    "torch": torch,
    "C": c,
}

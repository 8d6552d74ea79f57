"""Schroedinger's equation by the split-step method: a loop of complex numbers with Fourier transforms."""

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

SIZES = ("64 points", "1024 points")
SMOKE = "16 points"
TITLE = "a wave packet, 100 split steps"
STEPS, STEP = 100, 0.05

SOURCE = r"""
#include <complex.h>
#include <math.h>
#include <stdlib.h>
typedef double complex number;

/* Stockham's algorithm; the result is in x. */
static void transform(int n, number *x, number *y, const number *w, int inverse) {
    number *target = x;
    for (int half = n / 2, s = 1; half >= 1; half /= 2, s *= 2) {
        for (int p = 0; p < half; p++) {
            number t = inverse ? conj(w[p * s]) : w[p * s];
            double tr = creal(t), ti = cimag(t);
            for (int q = 0; q < s; q++) {
                number a = x[q + s * p], b = x[q + s * (p + half)], d = a - b;
                y[q + s * 2 * p] = a + b;
                y[q + s * (2 * p + 1)] =
                    (creal(d) * tr - cimag(d) * ti) + I * (creal(d) * ti + cimag(d) * tr);
            }
        }
        number *z = x; x = y; y = z;
    }
    if (x != target) for (int k = 0; k < n; k++) target[k] = x[k];
}

static void times(int n, number *x, const number *y, double scale, int conjugate) {
    for (int k = 0; k < n; k++) {
        double a = creal(x[k]), b = cimag(x[k]), c = creal(y[k]) * scale;
        double d = (conjugate ? -cimag(y[k]) : cimag(y[k])) * scale;
        x[k] = (a * c - b * d) + I * (a * d + b * c);
    }
}

double run(int n, int steps, const double *p, const double *x, const number *v, const number *k, double *g) {
    number *a = malloc(4 * n * sizeof(number)), *start = a + n, *b = a + 2 * n, *w = a + 3 * n;
    double total = 0;
    for (int i = 0; i < n; i++) {
        w[i] = cexp(-2 * M_PI * I * i / n);
        a[i] = start[i] = cexp(-p[1] * x[i] * x[i] + I * p[0] * x[i]);
    }
    for (int t = 0; t < steps; t++) {
        times(n, a, v, 1, 0); transform(n, a, b, w, 0); times(n, a, k, 1.0 / n, 0);
        transform(n, a, b, w, 1); times(n, a, v, 1, 0);
    }
    for (int i = 0; i < n; i++) {
        total += x[i] * (creal(a[i]) * creal(a[i]) + cimag(a[i]) * cimag(a[i]));
        a[i] = 2 * x[i] * a[i];
    }
    for (int t = 0; t < steps; t++) {
        times(n, a, v, 1, 1); transform(n, a, b, w, 0); times(n, a, k, 1.0 / n, 1);
        transform(n, a, b, w, 1); times(n, a, v, 1, 1);
    }
    g[0] = g[1] = 0;
    for (int i = 0; i < n; i++) {
        number d = conj(a[i]) * start[i];
        g[0] += creal(d * I * x[i]); g[1] -= creal(d) * x[i] * x[i];
    }
    free(a);
    return total;
}
"""


def _phases(size: str) -> tuple[Any, Any, Any]:
    """The places, and the factors of half a step of the potential and of a whole step of the momentum."""
    n = int(size.split()[0])
    x = np.linspace(-10, 10, n, endpoint=False)
    momentum = 2 * np.pi * np.fft.fftfreq(n, 20 / n)
    return x, np.exp(-0.5j * STEP * x**2 / 2), np.exp(-1j * STEP * momentum**2 / 2)


def data(size: str) -> tuple[Any, ...]:
    """The momentum and the inverse width of a wave packet, and what `_phases` gives."""
    return np.array([1.2, 0.7]), *_phases(size)


def loss_of(np: Any, loop: Callable[..., Any]) -> Callable[..., Any]:
    """The mean place after some steps, by a library and its loop."""

    def loss(p: Any, x: Any, potential: Any, kinetic: Any) -> Any:
        def step(wave: Any) -> Any:
            return potential * np.fft.ifft(kinetic * np.fft.fft(potential * wave))

        wave = loop(step, np.exp(-p[1] * x**2 + 1j * p[0] * x))
        return np.sum(np.abs(wave) ** 2 * x)

    return loss


def _looped(step: Callable[[Any], Any], wave: Any) -> Any:
    for _ in range(STEPS):
        wave = step(wave)
    return wave


def funcgrad(args: tuple[Any, ...]) -> Work:
    """With `funcgrad.fori_loop`."""
    import funcgrad as fg

    return with_funcgrad(
        loss_of(np, lambda step, wave: fg.fori_loop(0, STEPS, lambda _, w: step(w), wave)), args
    )


def autograd(args: tuple[Any, ...]) -> Work:
    """A loop of Python's."""
    import autograd.numpy as anp

    return with_autograd(loss_of(anp, _looped), args)


def jax(args: tuple[Any, ...]) -> Work:
    """With `jax.lax.fori_loop`."""
    library = jax_library()

    def loop(step: Callable[[Any], Any], wave: Any) -> Any:
        return library.lax.fori_loop(0, STEPS, lambda _, w: step(w), wave)

    return with_jax(loss_of(library.numpy, loop), args)


def torch(args: tuple[Any, ...]) -> Work:
    """A loop of Python's, eager."""
    import torch as library

    return with_torch(loss_of(library, _looped), args)


def by_hand(args: tuple[Any, ...]) -> Work:
    """NumPy, backwards by the conjugate factors."""

    def value_and_gradient(p: Any, x: Any, potential: Any, kinetic: Any) -> Any:
        start = np.exp(-p[1] * x**2 + 1j * p[0] * x)
        wave = start
        for _ in range(STEPS):
            wave = potential * np.fft.ifft(kinetic * np.fft.fft(potential * wave))
        value = np.sum(np.abs(wave) ** 2 * x)
        wave, potential, kinetic = 2 * x * wave, np.conj(potential), np.conj(kinetic)
        for _ in range(STEPS):
            wave = potential * np.fft.ifft(kinetic * np.fft.fft(potential * wave))
        slope = np.conj(wave) * start
        return value, np.array([np.sum((1j * x * slope).real), -np.sum((x**2 * slope).real)])

    return Work(value_and_gradient, args)


def c(args: tuple[Any, ...]) -> Work:
    """The same with a transform by hand, of powers of 2."""
    run = compiled(SOURCE, "run")
    p, x, potential, kinetic = args
    given = address(x), address(potential), address(kinetic)

    def value_and_gradient(p: Any) -> Any:
        gradient = np.empty(2)
        return run(len(x), STEPS, address(p), *given, address(gradient)), gradient

    return Work(value_and_gradient, (p,))


PEERS = {
    "funcgrad": funcgrad,
    NATIVE: with_native(funcgrad),
    "autograd": autograd,
    "jax": jax,
    "torch": torch,
    "by hand": by_hand,
    "C": c,
}

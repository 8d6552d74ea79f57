"""Value and gradient of an LSTM over 100 steps, 64 units: a loop in every library, rolled where it can be."""

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

SIZES = ("B=1", "B=16")
SMOKE = "B=1"
TITLE = "LSTM, 100 steps, h=64"
STEPS, UNITS = 100, 64


def data(size: str) -> tuple[Any, Any, Any]:
    """Parameters, inputs and targets, both by step, example and unit."""
    batch = int(size.split("=")[1])
    rng = np.random.default_rng(0)
    params = {
        "x": rng.normal(size=(UNITS, 4 * UNITS)) / 8,
        "h": rng.normal(size=(UNITS, 4 * UNITS)) / 8,
        "b": rng.normal(size=4 * UNITS) * 0.1,
    }
    inputs, targets = rng.normal(size=(2, STEPS, batch, UNITS))
    return params, inputs, targets * 0.1


def cell(np: Any, sigmoid: Callable[[Any], Any]) -> Callable[..., Any]:
    """One step: the next hidden state and memory."""

    def step(p: Any, h: Any, c: Any, x: Any) -> tuple[Any, Any]:
        z = x @ p["x"] + h @ p["h"] + p["b"]
        i, f, o = [sigmoid(z[:, k * UNITS : (k + 1) * UNITS]) for k in range(3)]
        c = f * c + i * np.tanh(z[:, 3 * UNITS :])
        return o * np.tanh(c), c

    return step


def rolled(np: Any, scan: Callable[..., Any], sigmoid: Callable[[Any], Any]) -> Callable[..., Any]:
    """The mean squared distance of the hidden states from the targets, by a library's loop."""
    step = cell(np, sigmoid)

    def loss(p: Any, inputs: Any, targets: Any) -> Any:
        start = np.zeros(inputs.shape[1:])

        def advance(carry: Any, x: Any) -> tuple[Any, Any]:
            h, c = step(p, *carry, x)
            return (h, c), h

        _, hidden = scan(advance, (start, start), inputs)
        return np.mean((hidden - targets) ** 2)

    return loss


def unrolled(np: Any, sigmoid: Callable[[Any], Any]) -> Callable[..., Any]:
    """The same by a loop of Python's."""
    step = cell(np, sigmoid)

    def loss(p: Any, inputs: Any, targets: Any) -> Any:
        h = c = inputs[0] * 0.0
        total = 0.0
        for k in range(STEPS):
            h, c = step(p, h, c, inputs[k])
            total = total + np.sum((h - targets[k]) ** 2)
        return total / (STEPS * inputs.shape[1] * UNITS)

    return loss


def _sigmoid(np: Any) -> Callable[[Any], Any]:
    return lambda z: 1 / (1 + np.exp(-z))


def funcgrad(args: Any) -> Work:
    """With `funcgrad.scan`."""
    import funcgrad as fg

    return with_funcgrad(rolled(np, fg.scan, _sigmoid(np)), args)


def autograd(args: Any) -> Work:
    """Unrolled."""
    import autograd.numpy as anp

    return with_autograd(unrolled(anp, _sigmoid(anp)), args)


def jax(args: Any) -> Work:
    """With `jax.lax.scan`."""
    import jax.numpy as jnp
    from jax import lax, nn

    return with_jax(rolled(jnp, lax.scan, nn.sigmoid), args)


def torch(args: Any) -> Work:
    """Unrolled, eager."""
    import torch as library

    return with_torch(unrolled(library, library.sigmoid), args)


def by_hand(args: Any) -> Work:
    """Hand-written NumPy, with the products with all inputs moved out of the loops."""
    return Work(_value_and_gradient, args)


def _value_and_gradient(p: Any, inputs: Any, targets: Any) -> Any:
    batch, n = inputs.shape[1], UNITS
    before = inputs @ p["x"] + p["b"]
    hidden = np.zeros((STEPS + 1, batch, n))
    memory = np.zeros((STEPS + 1, batch, n))
    gates = np.empty((STEPS, batch, 4 * n))
    squashed = np.empty((STEPS, batch, n))
    for k in range(STEPS):
        z = before[k] + hidden[k] @ p["h"]
        a = gates[k]
        a[:, : 3 * n] = 1 / (1 + np.exp(-z[:, : 3 * n]))
        a[:, 3 * n :] = np.tanh(z[:, 3 * n :])
        memory[k + 1] = a[:, n : 2 * n] * memory[k] + a[:, :n] * a[:, 3 * n :]
        squashed[k] = np.tanh(memory[k + 1])
        hidden[k + 1] = a[:, 2 * n : 3 * n] * squashed[k]
    error = hidden[1:] - targets
    slope = 2 * error / error.size
    dz = np.empty_like(gates)
    dh = np.zeros((batch, n))
    dc = np.zeros((batch, n))
    back = p["h"].T
    for k in reversed(range(STEPS)):
        i, f, o, g = np.split(gates[k], 4, axis=1)
        dh = dh + slope[k]
        dc = dc + dh * o * (1 - squashed[k] ** 2)
        d = dz[k]
        d[:, :n] = dc * g * i * (1 - i)
        d[:, n : 2 * n] = dc * memory[k] * f * (1 - f)
        d[:, 2 * n : 3 * n] = dh * squashed[k] * o * (1 - o)
        d[:, 3 * n :] = dc * i * (1 - g * g)
        dh = d @ back
        dc = dc * f
    flat = dz.reshape(-1, 4 * n)
    gradient = {
        "x": inputs.reshape(-1, n).T @ flat,
        "h": hidden[:-1].reshape(-1, n).T @ flat,
        "b": flat.sum(axis=0),
    }
    return np.mean(error * error), gradient


PEERS = {
    "funcgrad": funcgrad,
    NATIVE: with_native(funcgrad),
    "autograd": autograd,
    "jax": jax,
    "torch": torch,
    "by hand": by_hand,
}

"""Backpropagation as topological ordering, after Eugene Ha.

A feedforward network acts on states. The pair of a layer's parameters (b, w) takes a state (a, w', z)
to the next one: the activation of z becomes the new a, and the new z is b + w a. Reading the layers
from left to right is a *right action* of parameters on states, and running it over the sequence of
layers is a scan: the forward pass.

The recorded states act, in turn, on an error: a state (a, w, z) takes the error behind it, eps, to
delta = D sigma(z) * eps and to the error before it, w' delta. That is the *opposite action*, on the left;
running it over the reversed states is a scan again: the backward pass. The gradients are read off its
states, entry by entry: dF/db = delta and dF/dw = delta (x) a.

The order of the computation was never written down. Each forward state needs only the one before it,
each backward state only the one behind it and its own forward state; so the graph of the whole gradient
has one canonical topological order, forward states up and backward states down, and the two scans *are*
that order. It comes for free.

(The published article survives as a fragment: the notation and the idea are its own, the body here is a
reconstruction from them.)
"""

from __future__ import annotations

from functools import reduce
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from toolz import accumulate, flip

import funcgrad as fg


class Layer(NamedTuple):
    """The parameters of one layer."""

    b: np.ndarray
    w: np.ndarray


class Forward(NamedTuple):
    """A forward state: the layer's input, its weights, its pre-activation."""

    a: np.ndarray
    w: np.ndarray
    z: np.ndarray


class Backward(NamedTuple):
    """A backward state: the layer's input, the error at its pre-activation, the error at its input."""

    a: np.ndarray
    delta: np.ndarray
    eps: np.ndarray


def activate(state: Forward, layer: Layer) -> Forward:
    """The right action of parameters on states."""
    a = np.tanh(state.z)
    return Forward(a, layer.w, layer.b + layer.w @ a)


def backprop(state: Forward, behind: Backward) -> Backward:
    """The left action of states on errors."""
    delta = (1 - np.tanh(state.z) ** 2) * behind.eps
    return Backward(state.a, delta, state.w.T @ delta)


def forward_states(layers: list[Layer], x) -> list[Forward]:
    """The forward pass: a scan of the action, from the left."""
    first, *rest = layers
    return list(accumulate(activate, rest, Forward(x, first.w, first.b + first.w @ x)))


def gradients(layers: list[Layer], x, target) -> list[Layer]:
    """The gradient of the squared error in every layer, by two scans."""
    states = forward_states(layers, x)
    error = Backward(x, x, np.tanh(states[-1].z) - target)
    _, *backward = accumulate(flip(backprop), reversed(states), error)
    return [Layer(s.delta, np.outer(s.delta, s.a)) for s in reversed(backward)]


def objective(layers: list[Layer], x, target):
    """Half the squared error of the network, for `fg.grad`."""
    first, *rest = layers
    last = reduce(activate, rest, Forward(x, first.w, first.b + first.w @ x))
    return np.sum((np.tanh(last.z) - target) ** 2) / 2


def example(sizes=(3, 4, 4, 2), seed: int = 0):
    """Layers, an input and a target."""
    rng = np.random.default_rng(seed)
    layers = [
        Layer(rng.standard_normal(n), rng.standard_normal((n, m))) for m, n in pairwise(sizes)
    ]
    return layers, rng.standard_normal(sizes[0]), rng.standard_normal(sizes[-1])


def main() -> None:
    """Compare the two scans with `fg.grad`."""
    layers, x, target = example()
    ours, theirs = gradients(layers, x, target), fg.grad(objective)(layers, x, target)
    for i, (a, b) in enumerate(zip(ours, theirs, strict=True)):
        gap = max(np.max(np.abs(a.b - b.b)), np.max(np.abs(a.w - b.w)))
        print(
            f"layer {i}: w {a.w.shape}, largest difference from grad {'< 1e-12' if gap < 1e-12 else gap}"
        )


if __name__ == "__main__":
    main()

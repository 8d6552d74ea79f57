"""Further programs of the survey: models with many parts, as `survey_programs` has them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.survey_programs import Case, Library, normal


def coupling_flow(lib: Library) -> Case:
    """The likelihood of 256 points by four affine couplings (RealNVP) of 16 units each."""
    xp, x = lib.np, normal(256, 2)

    def loss(layers: Any) -> Any:
        z, total = x, 0.0
        for k, (one, two, shift) in enumerate(layers):
            kept, moved = z[:, k % 2 : k % 2 + 1], z[:, 1 - k % 2 : 2 - k % 2]
            told = xp.tanh(kept @ one) @ two + shift
            scale = xp.tanh(told[:, :1])
            moved = moved * xp.exp(scale) + told[:, 1:]
            z = xp.concatenate([kept, moved] if k % 2 == 0 else [moved, kept], axis=1)
            total = total + xp.sum(scale)
        return 0.5 * xp.sum(z**2) - total

    layers = [(normal(1, 16), normal(16, 2) / 8, normal(2) / 9) for _ in range(4)]
    return lib.jit(lib.value_and_grad(loss)), (layers,)


def autoencoder(lib: Library) -> Case:
    """A variational autoencoder of 64, 32 and 4 units on 100 images."""
    xp, x, noise = lib.np, (normal(100, 64) > 0) * 1.0, normal(100, 4)

    def loss(p: Any) -> Any:
        hidden = xp.tanh(x @ p[0] + p[1])
        mean, logs = hidden @ p[2], hidden @ p[3]
        latent = mean + xp.exp(0.5 * logs) * noise
        logits = xp.tanh(latent @ p[4] + p[5]) @ p[6]
        told = xp.sum(xp.logaddexp(0.0, logits) - x * logits)
        return told - 0.5 * xp.sum(1 + logs - mean**2 - xp.exp(logs))

    weights = [
        *(normal(64, 32) / 8, np.zeros(32), normal(32, 4) / 6, normal(32, 4) / 9),
        *(normal(4, 32) / 2, np.zeros(32), normal(32, 64) / 6),
    ]
    return lib.jit(lib.value_and_grad(loss)), (weights,)


def graph_network(lib: Library) -> Case:
    """Two rounds of messages along 2,000 edges between 300 nodes."""
    xp, rng = lib.np, np.random.default_rng(0)
    start, end = rng.integers(0, 300, 2000), rng.integers(0, 300, 2000)
    nodes, degree = normal(300, 16), np.maximum(np.bincount(end, minlength=300), 1)[:, None]

    def added(messages: Any) -> Any:
        if lib.np is np:
            total = np.zeros((300, 16))
            np.add.at(total, end, messages)
            return total
        return xp.zeros((300, 16)).at[end].add(messages)

    def loss(p: Any) -> Any:
        h = xp.asarray(nodes)
        for own, other in ((p[0], p[1]), (p[2], p[3])):
            h = xp.maximum(h @ own + added((h @ other)[start]) / degree, 0)
        return xp.mean(h**2)

    return lib.jit(lib.value_and_grad(loss)), ([normal(16, 16) / 4 for _ in range(4)],)


def deconvolution(lib: Library) -> Case:
    """An image of 64 x 64 pixels through a blur in the Fourier domain, with total variation."""
    xp, blurred = lib.np, normal(64, 64)
    place = np.minimum(np.arange(64), 64 - np.arange(64))
    blur = np.fft.fft2(np.exp(-(place[:, None] ** 2 + place**2) / 8.0))

    def loss(image: Any) -> Any:
        seen = xp.real(xp.fft.ifft2(xp.fft.fft2(image) * blur))
        down, right = image[1:, :-1] - image[:-1, :-1], image[:-1, 1:] - image[:-1, :-1]
        return xp.sum((seen - blurred) ** 2) + 0.1 * xp.sum(xp.sqrt(down**2 + right**2 + 1e-3))

    return lib.jit(lib.value_and_grad(loss)), (normal(64, 64),)


def matrix_factors(lib: Library) -> Case:
    """5,000 ratings of 200 users and 100 films by factors of 8."""
    xp, rng = lib.np, np.random.default_rng(0)
    user, film = rng.integers(0, 200, 5000), rng.integers(0, 100, 5000)
    ratings = normal(5000)

    def loss(p: Any) -> Any:
        error = xp.sum(p[0][user] * p[1][film], axis=1) + p[2][user] + p[3][film] - ratings
        return xp.sum(error**2) + 0.1 * (xp.sum(p[0] ** 2) + xp.sum(p[1] ** 2))

    factors = [normal(200, 8), normal(100, 8), normal(200), normal(100)]
    return lib.jit(lib.value_and_grad(loss)), (factors,)


def factorization_machine(lib: Library) -> Case:
    """Interactions of 50 features by factors of 8, on 500 examples."""
    xp, x, y = lib.np, normal(500, 50), normal(500)

    def loss(p: Any) -> Any:
        weights, factors = p
        pairs = 0.5 * xp.sum((x @ factors) ** 2 - (x**2) @ (factors**2), axis=1)
        return xp.mean((x @ weights + pairs - y) ** 2)

    return lib.jit(lib.value_and_grad(loss)), ([normal(50), normal(50, 8) / 5],)


def gated_recurrence(lib: Library) -> Case:
    """50 steps of a gated recurrent network of 32 units on 16 sequences, in single precision."""
    xp, x = lib.np, normal(50, 16, 8).astype("float32")

    def sigmoid(x: Any) -> Any:
        return 1 / (1 + xp.exp(-x))

    def loss(p: Any) -> Any:
        def step(h: Any, x: Any) -> tuple[Any, None]:
            gates = sigmoid(x @ p[0] + h @ p[1])
            new = xp.tanh(x @ p[2] + (gates[:, :32] * h) @ p[3])
            return h + gates[:, 32:] * (new - h), None

        return xp.mean(lib.scan(step, xp.zeros((16, 32), "float32"), x)[0] ** 2)

    weights = [normal(8, 64) / 3, normal(32, 64) / 6, normal(8, 32) / 3, normal(32, 32) / 6]
    return lib.jit(lib.value_and_grad(loss)), ([w.astype("float32") for w in weights],)


def implicit_heat(lib: Library) -> Case:
    """20 implicit steps of the heat equation on 60 points, by dense systems."""
    xp, n = lib.np, 60
    second = np.diag(np.full(n, -2.0)) + np.eye(n, k=1) + np.eye(n, k=-1)

    def loss(diffusivity: Any, start: Any) -> Any:
        system = np.eye(n) - 0.1 * diffusivity * second

        def step(u: Any, _: Any) -> tuple[Any, None]:
            return xp.linalg.solve(system, u), None

        return xp.sum(lib.scan(step, start, None, length=20)[0] ** 2)

    return lib.jit(lib.value_and_grad(loss, argnums=(0, 1))), (0.7, normal(n))


def truss(lib: Library) -> Case:
    """The compliance of 90 bars between 18 nodes, in the areas of the bars."""
    xp, rng = lib.np, np.random.default_rng(0)
    nodes, pairs = normal(20, 2), [(i, (i + k) % 20) for i in range(20) for k in (1, 2, 3, 5, 7)]
    bars = np.array(pairs)[rng.permutation(100)[:90]]
    along = nodes[bars[:, 1]] - nodes[bars[:, 0]]
    length = np.sqrt((along**2).sum(1))
    directions = np.zeros((90, 40))
    for k, (i, j) in enumerate(bars):
        directions[k, 2 * i : 2 * i + 2] = -along[k] / length[k]
        directions[k, 2 * j : 2 * j + 2] = along[k] / length[k]
    free, load = directions[:, 4:], normal(36)

    def compliance(areas: Any) -> Any:
        stiffness = free.T @ ((areas / length)[:, None] * free) + 1e-6 * np.eye(36)
        return load @ xp.linalg.solve(stiffness, load)

    return lib.jit(lib.value_and_grad(compliance)), (np.ones(90),)


MODELS: tuple[Callable[[Library], Case], ...] = (
    *(coupling_flow, autoencoder, graph_network, deconvolution, matrix_factors),
    *(factorization_machine, gated_recurrence, implicit_heat, truss),
)

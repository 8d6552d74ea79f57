"""Short programs as users write them, over a library that is funcgrad or JAX: one text for both.

Each function gives a compiled function, such as a value with its gradient, and its arguments.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import numpy as np

Case: TypeAlias = tuple[Callable[..., Any], tuple[Any, ...]]


class Library(NamedTuple):
    """The names of a library that the programs use."""

    np: Any
    special: Any
    linalg: Any
    jit: Callable[..., Any]
    grad: Callable[..., Any]
    value_and_grad: Callable[..., Any]
    jacrev: Callable[..., Any]
    hessian: Callable[..., Any]
    vmap: Callable[..., Any]
    scan: Callable[..., Any]


def normal(*shape: int) -> Any:
    return np.random.default_rng(len(shape) + sum(shape)).standard_normal(shape)


# -- arrays ----------------------------------------------------------------------------------------
def attention(lib: Library) -> Case:
    """One head on 8 sequences of 64 tokens."""
    xp, x = lib.np, normal(8, 64, 64)

    def loss(weights: Any) -> Any:
        query, key, value, out = weights
        centered = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5)
        scores = (centered @ query) @ xp.swapaxes(centered @ key, -1, -2) / 8.0
        scores = xp.exp(scores - scores.max(-1, keepdims=True))
        y = x + (scores / scores.sum(-1, keepdims=True)) @ (centered @ value) @ out
        return xp.mean((y * xp.tanh(y)) ** 2)

    return lib.jit(lib.value_and_grad(loss)), ([normal(64, 64) / (8 + k) for k in range(4)],)


def convolution(lib: Library) -> Case:
    """A layer of 8 kernels of 9, with batch normalization."""
    xp, x = lib.np, normal(16, 200)
    windows = x[:, np.arange(192)[:, None] + np.arange(9)]

    def loss(kernels: Any) -> Any:
        y = xp.maximum(windows @ kernels.T, 0)
        y = (y - y.mean((0, 1))) / xp.sqrt(y.var((0, 1)) + 1e-5)
        return xp.sum(y**3)

    return lib.jit(lib.value_and_grad(loss)), (normal(8, 9),)


def embedding(lib: Library) -> Case:
    """10,000 pairs of 1,000 words."""
    xp, rng = lib.np, np.random.default_rng(0)
    one, other = rng.integers(0, 1000, (2, 10000))

    def loss(table: Any) -> Any:
        return xp.mean(xp.logaddexp(0, -xp.sum(table[one] * table[other], -1)))

    return lib.jit(lib.value_and_grad(loss)), (normal(1000, 64),)


def lennard_jones(lib: Library) -> Case:
    """The energy of 200 particles."""
    xp, (i, j) = lib.np, np.triu_indices(200, 1)

    def energy(x: Any) -> Any:
        s = 1 / xp.sum((x[i] - x[j]) ** 2, -1) ** 3
        return xp.sum(4 * (s * s - s))

    return lib.jit(lib.value_and_grad(energy)), (5 * normal(200, 3),)


def contractions(lib: Library) -> Case:
    """An einsum of three operands."""
    xp, b, c = lib.np, normal(32, 16, 16), normal(16, 16)

    def loss(a: Any) -> Any:
        return xp.sum(xp.einsum("bij,bjk,kl->bil", a, b, c) ** 2)

    return lib.jit(lib.value_and_grad(loss)), (normal(32, 16, 16) / 2,)


def cross_entropy(lib: Library) -> Case:
    """Of 1,000 examples of 100 classes."""
    xp, target = lib.np, np.random.default_rng(0).integers(0, 100, (1000, 1))

    def loss(x: Any) -> Any:
        logs = x - lib.special.logsumexp(x, axis=1, keepdims=True)
        return -xp.mean(xp.take_along_axis(logs, target, axis=1))

    return lib.jit(lib.value_and_grad(loss)), (normal(1000, 100),)


def errors(lib: Library) -> Case:
    """The error function of 100,000 numbers."""
    xp, erf = lib.np, lib.special.erf
    return lib.jit(lib.value_and_grad(lambda x: xp.sum(erf(x) * xp.exp(-x * x / 4)))), (
        normal(100000),
    )


def layer_norm(lib: Library) -> Case:
    """Rows of 512 x 256 numbers, and tanh."""
    xp, x = lib.np, normal(512, 256)

    def loss(scale: Any) -> Any:
        centered = x - x.mean(-1, keepdims=True)
        return xp.mean(xp.tanh(centered / np.sqrt((x**2).mean(-1, keepdims=True)) * scale) ** 2)

    return lib.jit(lib.value_and_grad(loss)), (normal(256),)


def classifier(lib: Library) -> Case:
    """A network of 128, 256 and 10 units on 64 examples, in single precision."""
    xp, x = lib.np, normal(64, 128).astype("float32")
    target = np.eye(10, dtype="float32")[np.random.default_rng(0).integers(0, 10, 64)]

    def loss(p: Any) -> Any:
        scores = xp.maximum(x @ p[0] + p[1], 0) @ p[2]
        scores = scores - scores.max(1, keepdims=True)
        logs = scores - xp.log(xp.sum(xp.exp(scores), 1, keepdims=True))
        return -xp.mean(xp.sum(target * logs, 1))

    weights = [normal(128, 256) / 11, np.zeros(256), normal(256, 10) / 16]
    return lib.jit(lib.value_and_grad(loss)), ([w.astype("float32") for w in weights],)


def bilinear(lib: Library) -> Case:
    """4,096 places of an image, moved."""
    xp, image = lib.np, normal(128, 128)
    places = np.random.default_rng(0).uniform(0, 126, (4096, 2))
    pixels = image if lib.np is np else lib.np.asarray(image)

    def loss(p: Any) -> Any:
        at = xp.clip(places * p[0] + p[1], 0, 126)
        corner = xp.floor(at).astype(int)
        w, (i, j) = at - corner, (corner[:, 0], corner[:, 1])
        left = pixels[i, j] * (1 - w[:, 0]) + pixels[i + 1, j] * w[:, 0]
        right = pixels[i, j + 1] * (1 - w[:, 0]) + pixels[i + 1, j + 1] * w[:, 0]
        return xp.sum((left * (1 - w[:, 1]) + right * w[:, 1]) ** 2)

    return lib.jit(lib.value_and_grad(loss)), (np.array([0.9, 0.5]),)


def triangles(lib: Library) -> Case:
    """The areas of 5,000 triangles with the origin."""
    xp = lib.np

    def loss(x: Any) -> Any:
        sides = xp.linalg.norm(x, axis=1) * xp.linalg.norm(xp.cross(x, x[::-1]), axis=1)
        return xp.sum(sides)

    return lib.jit(lib.value_and_grad(loss)), (normal(5000, 3),)


def paths(lib: Library) -> Case:
    """1,000 geometric Brownian paths of 252 days, and an option on their means."""
    xp, noise = lib.np, normal(1000, 252)

    def price(market: Any) -> Any:
        start, drift, volatility = market
        steps = (drift - 0.5 * volatility**2) / 252 + volatility * noise / np.sqrt(252.0)
        means = (start * xp.exp(xp.cumsum(steps, axis=1))).mean(1)
        return xp.mean(xp.maximum(means - 100, 0))

    return lib.jit(lib.value_and_grad(price)), (np.array([100.0, 0.05, 0.2]),)


def interpolation(lib: Library) -> Case:
    """100,000 places among 100 knots."""
    xp, places = lib.np, np.random.default_rng(0).uniform(0, 1, 100000)
    knots = np.linspace(0, 1, 100)

    def loss(y: Any) -> Any:
        return xp.sum(xp.interp(places, knots, y) ** 2)

    return lib.jit(lib.value_and_grad(loss)), (normal(100),)


def spectrum(lib: Library) -> Case:
    """The log-spectrum of 4,096 samples."""
    xp, window = lib.np, np.hanning(4096)

    def loss(x: Any) -> Any:
        return xp.sum(xp.log1p(xp.abs(xp.fft.rfft(x * window)) ** 2))

    return lib.jit(lib.value_and_grad(loss)), (normal(4096),)


def rotations(lib: Library) -> Case:
    """1,000 vectors turned by a quaternion."""
    xp, v = lib.np, normal(1000, 3)

    def loss(q: Any) -> Any:
        q = q / xp.sqrt(q @ q)
        t = 2 * xp.cross(q[None, 1:], v)
        turned = v + q[0] * t + xp.cross(q[None, 1:], t)
        return xp.sum(turned[:, 0] * xp.abs(turned[:, 1]))

    return lib.jit(lib.value_and_grad(loss)), (normal(4),)


def circuit(lib: Library) -> Case:
    """The power of a resonator at 500 frequencies, by complex impedances."""
    xp, w = lib.np, np.linspace(1, 100, 500)

    def power(parts: Any) -> Any:
        resistance, inductance, capacity = parts
        z = resistance + 1j * w * inductance + 1 / (1j * w * capacity)
        return xp.sum(xp.abs(1 / z) ** 2 * w)

    return lib.jit(lib.value_and_grad(power)), (np.array([1.0, 0.1, 0.01]),)


# -- linear algebra --------------------------------------------------------------------------------
def gaussian_process(lib: Library) -> Case:
    """The likelihood of 100 points."""
    xp, x, y = lib.np, normal(100, 3), normal(100)

    def loss(logs: Any) -> Any:
        length, size, noise = xp.exp(logs[0]), xp.exp(logs[1]), xp.exp(logs[2])
        apart = ((x[:, None, :] - x[None, :, :]) ** 2).sum(-1)
        covariance = size * xp.exp(-0.5 * apart / length**2) + noise * np.eye(100)
        factor = xp.linalg.cholesky(covariance)
        white = lib.linalg.solve_triangular(factor, y, lower=True)
        return 0.5 * white @ white + xp.sum(xp.log(xp.diag(factor)))

    return lib.jit(lib.value_and_grad(loss)), (np.array([0.0, 0.0, -1.0]),)


def newton_steps(lib: Library) -> Case:
    """Five steps on 50 equations."""
    xp = lib.np
    a = normal(50, 50) @ normal(50, 50).T + 50 * np.eye(50)

    def loss(b: Any) -> Any:
        x = xp.zeros(50)
        for _ in range(5):
            left = a @ x + xp.exp(x) - b
            x = x - xp.linalg.solve(a + xp.diag(xp.exp(x)), left)
        return xp.sum(x**2)

    return lib.jit(lib.value_and_grad(loss)), (normal(50),)


def singular_vectors(lib: Library) -> Case:
    """The best approximation of rank 3 of 50 x 20 numbers."""
    xp = lib.np

    def loss(a: Any) -> Any:
        u, s, vt = xp.linalg.svd(a, full_matrices=False)
        return xp.sum(((u[:, :3] * s[:3]) @ vt[:3]) ** 4)

    return lib.jit(lib.value_and_grad(loss)), (normal(50, 20),)


def eigenvectors(lib: Library) -> Case:
    """Three of a symmetric matrix of 30 rows."""
    xp = lib.np

    def loss(a: Any) -> Any:
        w, v = xp.linalg.eigh(a + a.T)
        return xp.sum(w[-3:]) + xp.sum(v[:, -3:] ** 4)

    return lib.jit(lib.value_and_grad(loss)), (normal(30, 30),)


def factors(lib: Library) -> Case:
    """The determinants of 100 covariances of 8 rows, by Cholesky's."""
    xp, x = lib.np, normal(100, 8, 8)

    def loss(a: Any) -> Any:
        factor = xp.linalg.cholesky(a)
        return xp.sum(xp.log(xp.diagonal(factor, axis1=1, axis2=2)))

    return lib.jit(lib.value_and_grad(loss)), (x @ np.swapaxes(x, 1, 2) + 8 * np.eye(8),)


def inverses(lib: Library) -> Case:
    """100 matrices of 4 rows, and their determinants."""
    xp = lib.np

    def loss(a: Any) -> Any:
        return xp.sum(xp.linalg.inv(a) ** 2) + xp.sum(xp.linalg.slogdet(a)[1])

    return lib.jit(lib.value_and_grad(loss)), (normal(100, 4, 4) + 4 * np.eye(4),)


# -- loops -----------------------------------------------------------------------------------------
def hamiltonian(lib: Library) -> Case:
    """50 leapfrog steps on a posterior of 5 weights."""
    xp, x = lib.np, normal(100, 5)
    y = (x @ np.ones(5) > 0) * 1.0

    def potential(w: Any) -> Any:
        z = x @ w
        return xp.sum(xp.logaddexp(0, z) - y * z) + 0.5 * w @ w

    slope = lib.grad(potential)

    def run(w: Any) -> Any:
        def step(state: Any, _: Any) -> Any:
            q, p = state
            p = p - 0.01 * slope(q)
            q = q + 0.02 * p
            return (q, p - 0.01 * slope(q)), None

        (q, p), _ = lib.scan(step, (w, np.ones(5)), None, length=50)
        return potential(q) + 0.5 * p @ p

    return lib.jit(run), (normal(5),)


def hyperparameter(lib: Library) -> Case:
    """The slope of a loss in a penalty, through 200 steps of descent."""
    xp, x = lib.np, normal(100, 10)
    y = x @ np.ones(10)

    def loss(w: Any, penalty: Any) -> Any:
        return xp.mean((x @ w - y) ** 2) + xp.exp(penalty) * (w @ w)

    def outer(penalty: Any) -> Any:
        def step(w: Any, _: Any) -> Any:
            return w - 0.05 * lib.grad(loss)(w, penalty), None

        w, _ = lib.scan(step, xp.zeros(10), None, length=200)
        return xp.mean((x @ w - y) ** 2)

    return lib.jit(lib.value_and_grad(outer)), (-2.0,)


def training(lib: Library) -> Case:
    """100 steps of Adam on a network of 10, 16 and 1 units."""
    xp, x, y = lib.np, normal(64, 10), normal(64)
    first = [normal(10, 16) / 3, np.zeros(16), normal(16, 1) / 4]

    def loss(p: Any) -> Any:
        return xp.mean(((xp.tanh(x @ p[0] + p[1]) @ p[2])[:, 0] - y) ** 2)

    def run(weights: Any) -> Any:
        def step(state: Any, i: Any) -> Any:
            p, m, v = state
            g = lib.grad(loss)(p)
            m = [0.9 * a + 0.1 * b for a, b in zip(m, g, strict=True)]
            v = [0.999 * a + 0.001 * b * b for a, b in zip(v, g, strict=True)]
            scale = 1e-2 * xp.sqrt(1 - 0.999 ** (i + 1)) / (1 - 0.9 ** (i + 1))
            moves = [scale * a / (xp.sqrt(b) + 1e-8) for a, b in zip(m, v, strict=True)]
            return ([a - b for a, b in zip(p, moves, strict=True)], m, v), loss(p)

        zeros = [a * 0 for a in weights]
        (p, _, _), losses = lib.scan(step, (weights, zeros, zeros), np.arange(100.0))
        return p, losses

    return lib.jit(run), (first,)


def relaxation(lib: Library) -> Case:
    """100 sweeps of Jacobi's on 64 x 64 points."""
    xp = lib.np

    def loss(b: Any) -> Any:
        def step(u: Any, _: Any) -> Any:
            v = xp.pad(u, 1)
            return 0.25 * (v[:-2, 1:-1] + v[2:, 1:-1] + v[1:-1, :-2] + v[1:-1, 2:] + b), None

        u, _ = lib.scan(step, xp.zeros((64, 64)), None, length=100)
        return xp.sum(u**2)

    return lib.jit(lib.value_and_grad(loss)), (normal(64, 64),)


def wave(lib: Library) -> Case:
    """500 steps of a string of 1,000 points, whose ends are free."""
    xp = lib.np

    def loss(start: Any) -> Any:
        def step(state: Any, _: Any) -> Any:
            u, v = state
            inner = u[2:] - 2 * u[1:-1] + u[:-2]
            force = xp.concatenate([u[1:2] - u[0:1], inner, u[-2:-1] - u[-1:]])
            v = v + 0.1 * force
            return (u + 0.1 * v, v), None

        (u, _), _ = lib.scan(step, (start, xp.zeros(1000)), None, length=500)
        return xp.sum(u**2)

    return lib.jit(lib.value_and_grad(loss)), (normal(1000),)


def marching(lib: Library) -> Case:
    """30 steps of 2,304 rays to a sphere and a plane."""
    xp, line = lib.np, np.linspace(-1, 1, 48)
    ways = np.stack([*np.meshgrid(line, line), np.ones((48, 48))], -1).reshape(-1, 3)
    ways = ways / np.linalg.norm(ways, axis=1, keepdims=True)

    def loss(center: Any) -> Any:
        def step(t: Any, _: Any) -> Any:
            p = ways * t[:, None]
            sphere = xp.sqrt(xp.sum((p - center) ** 2, -1)) - 0.8
            return t + xp.minimum(sphere, 1.5 - p[:, 1]), None

        t, _ = lib.scan(step, xp.zeros(len(ways)), None, length=30)
        return xp.mean(xp.exp(-t))

    return lib.jit(lib.value_and_grad(loss)), (np.array([0.0, 0.0, 3.0]),)


def neural_ode(lib: Library) -> Case:
    """30 curves, 40 steps of Runge-Kutta, a network of 50 units."""
    xp, start = lib.np, normal(30, 2)

    def loss(p: Any) -> Any:
        def f(y: Any) -> Any:
            return xp.tanh(y**3 @ p[0]) @ p[1]

        def step(y: Any, _: Any) -> Any:
            k1 = f(y)
            k2 = f(y + 0.0125 * k1)
            k3 = f(y + 0.0125 * k2)
            return y + 0.025 / 6 * (k1 + 2 * k2 + 2 * k3 + f(y + 0.025 * k3)), None

        return xp.mean(xp.abs(lib.scan(step, start, None, length=40)[0]))

    return lib.jit(lib.value_and_grad(loss)), ([normal(2, 50) / 10, normal(50, 2) / 10],)


def volatility(lib: Library) -> Case:
    """The likelihood of GARCH(1, 1) for 1,000 days."""
    xp, returns = lib.np, 0.01 * normal(1000)

    def loss(t: Any) -> Any:
        base, one, two = xp.exp(t[0]), 1 / (1 + xp.exp(-t[1])), 1 / (1 + xp.exp(-t[2]))

        def step(h: Any, x: Any) -> Any:
            return base + one * x * x + two * h, xp.log(h) + x * x / h

        return 0.5 * xp.sum(lib.scan(step, 1e-4, returns)[1])

    return lib.jit(lib.value_and_grad(loss)), (np.array([-11.0, -2.0, 2.0]),)


def pendulum(lib: Library) -> Case:
    """The Hessian of a double pendulum's place after 100 steps."""
    xp = lib.np

    def place(x: Any) -> Any:
        def step(state: Any, _: Any) -> Any:
            a, b, p, q = state
            c, s = xp.cos(a - b), xp.sin(a - b)
            u, v = (
                6 * (2 * p - 3 * c * q) / (16 - 9 * c**2),
                6 * (8 * q - 3 * c * p) / (16 - 9 * c**2),
            )
            force, other = u * v * s + 29.4 * xp.sin(a), -u * v * s + 9.8 * xp.sin(b)
            return (a + 0.01 * u, b + 0.01 * v, p - 0.005 * force, q - 0.005 * other), None

        state, _ = lib.scan(step, (x[0], x[1], x[2], x[3]), None, length=100)
        return state[0] ** 2 + state[1]

    return lib.jit(lib.hessian(place)), (np.array([1.0, 0.5, 0.0, 0.0]),)


def transport(lib: Library) -> Case:
    """50 steps of Sinkhorn's on 50 x 50 costs."""
    xp = lib.np

    def loss(costs: Any) -> Any:
        kernel = xp.exp(-costs / 0.5)

        def step(state: Any, _: Any) -> Any:
            u = 1 / (kernel @ state[1])
            return (u, 1 / (kernel.T @ u)), None

        (u, v), _ = lib.scan(step, (xp.ones(50), xp.ones(50)), None, length=50)
        return xp.sum(u[:, None] * kernel * v[None] * costs)

    return lib.jit(lib.value_and_grad(loss)), (normal(50, 50) ** 2,)


# -- transforms ------------------------------------------------------------------------------------
def network_jacobian(lib: Library) -> Case:
    """Of 20 inputs, 50 units and 20 outputs."""
    xp, one, two = lib.np, normal(20, 50), normal(50, 20)
    return lib.jit(lib.jacrev(lambda x: xp.tanh(xp.tanh(x @ one) @ two))), (normal(20),)


def rosenbrock(lib: Library) -> Case:
    """The Hessian in 50 numbers."""
    xp = lib.np

    def f(x: Any) -> Any:
        return xp.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)

    return lib.jit(lib.hessian(f)), (normal(50),)


def per_example(lib: Library) -> Case:
    """The gradients of 128 examples."""
    xp, x, y = lib.np, normal(128, 10), normal(128)

    def loss(p: Any, x: Any, y: Any) -> Any:
        return ((xp.tanh(x @ p[0]) @ p[1])[0] - y) ** 2

    each = lib.vmap(lib.grad(loss), in_axes=(None, 0, 0))
    return lib.jit(lambda p: each(p, x, y)), ([normal(10, 32), normal(32, 1)],)


def third_derivative(lib: Library) -> Case:
    """Of a function of one number at 1,000 places."""
    xp, grad = lib.np, lib.grad
    third = grad(grad(grad(lambda x: xp.sin(x) * xp.exp(-x * x))))
    return lib.jit(lib.vmap(third)), (normal(1000),)


PROGRAMS: tuple[Callable[[Library], Case], ...] = (
    *(attention, convolution, embedding, lennard_jones, contractions, cross_entropy, paths),
    *(errors, layer_norm, classifier, bilinear, triangles, factors, wave),
    *(interpolation, spectrum, rotations, circuit, gaussian_process, newton_steps),
    *(singular_vectors, eigenvectors, inverses, hamiltonian, hyperparameter, training),
    *(relaxation, marching, neural_ode, volatility, pendulum, transport),
    *(network_jacobian, rosenbrock, per_example, third_derivative),
)

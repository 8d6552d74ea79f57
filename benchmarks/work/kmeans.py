"""k-means with 1,000 points and 10 centers in 3 dimensions: value, gradient and a Hessian's product."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.work.base import NATIVE, Work, with_native
from benchmarks.work.base import jax as jax_library

SIZES = ("gradient", "Hessian-vector")
SMOKE = "Hessian-vector"
TITLE = "k-means"


def data(size: str) -> tuple[str, Any, Any, Any]:
    """What is computed; centers, a direction and points."""
    rng = np.random.default_rng(0)
    return size, rng.normal(size=(10, 3)), rng.normal(size=(10, 3)), rng.normal(size=(1000, 3))


def loss(smallest: Callable[[Any], Any]) -> Callable[..., Any]:
    """The sum of the squared distances of the points to the centers next to them."""

    def f(centers: Any, points: Any) -> Any:
        d = points[:, None, :] - centers[None, :, :]
        return smallest((d * d).sum(-1)).sum()

    return f


def funcgrad(given: Any) -> Work:
    """`funcgrad.value_and_grad` or `funcgrad.hvp`, compiled."""
    import funcgrad as fg

    size, c, v, x = given
    f = loss(lambda d: np.min(d, axis=1))
    if size == "gradient":
        return Work(fg.jit(fg.value_and_grad(f)), (c, x), fg.jit(f))
    return Work(fg.jit(lambda c, v, x: fg.hvp(lambda c: f(c, x), (c,), (v,))), (c, v, x))


def jax(given: Any) -> Work:
    """`jax.value_and_grad`, or forward over reverse mode, compiled."""
    library = jax_library()
    size, c, v, x = [
        item if isinstance(item, str) else library.numpy.asarray(item) for item in given
    ]
    f = loss(lambda d: library.numpy.min(d, axis=1))
    settle = library.block_until_ready
    if size == "gradient":
        return Work(library.jit(library.value_and_grad(f)), (c, x), settle=settle)

    def product(c: Any, v: Any, x: Any) -> Any:
        return library.jvp(lambda c: library.grad(f)(c, x), (c,), (v,))[1]

    return Work(library.jit(product), (c, v, x), settle=settle)


def torch(given: Any) -> Work:
    """Eager; the product as `torch.func.jvp` of the gradient."""
    import torch as library

    size, c, v, x = [item if isinstance(item, str) else library.tensor(item) for item in given]
    f = loss(lambda d: d.min(1).values)
    if size == "gradient":
        both = library.func.grad_and_value(f)
        return Work(lambda c, x: tuple(reversed(both(c, x))), (c, x))

    def product(c: Any, v: Any, x: Any) -> Any:
        return library.func.jvp(lambda c: library.func.grad(f)(c, x), (c,), (v,))[1]

    return Work(product, (c, v, x))


def by_hand(given: Any) -> Work:
    """NumPy, with products of matrices: the centers that are next are found once."""
    size, c, v, x = given

    def nearest(c: Any, x: Any) -> tuple[Any, Any]:
        d = (x * x).sum(1)[:, None] - 2 * x @ c.T + (c * c).sum(1)
        return d, d.argmin(1)

    def value_and_gradient(c: Any, x: Any) -> Any:
        d, which = nearest(c, x)
        count = np.bincount(which, minlength=len(c))
        sums = np.stack([np.bincount(which, x[:, k], len(c)) for k in range(x.shape[1])], axis=1)
        return d[np.arange(len(x)), which].sum(), 2 * (count[:, None] * c - sums)

    def product(c: Any, v: Any, x: Any) -> Any:
        count = np.bincount(nearest(c, x)[1], minlength=len(c))
        return 2 * count[:, None] * v

    return Work(value_and_gradient, (c, x)) if size == "gradient" else Work(product, (c, v, x))


PEERS = {
    "funcgrad": funcgrad,
    NATIVE: with_native(funcgrad),
    "jax": jax,
    "torch": torch,
    "by hand": by_hand,
}

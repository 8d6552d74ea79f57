"""A fluid on a periodic grid: smoke carried along for 20 steps by indices that are computed from velocities.

The work of autograd's own example `fluidsim.py`: the gradient of the distance of the smoke from a picture, by
the velocities at the start.
"""

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

SIZES = ("32x32",)
SMOKE = "4x4"
TITLE = "fluid, 20 steps,"
STEPS, SWEEPS = 20, 6


def data(size: str) -> tuple[Any, Any, Any]:
    """Two components of the velocity, the smoke at the start and the picture."""
    n = int(size.split("x")[0])
    rng = np.random.default_rng(0)
    return rng.normal(size=(2, n, n)), rng.uniform(size=(n, n)), rng.uniform(size=(n, n))


def step(np: Any, roll: Callable[..., Any], rows: Any, columns: Any, integer: Any) -> Any:
    """One step: the velocities lose their divergence, and carry themselves and the smoke along."""
    n = len(rows)

    def projected(vx: Any, vy: Any) -> Any:
        h = 1.0 / n
        div = -0.5 * h * (roll(vx, -1, 0) - roll(vx, 1, 0) + roll(vy, -1, 1) - roll(vy, 1, 1))
        p = 0.0 * div
        for _ in range(SWEEPS):
            p = (div + roll(p, 1, 0) + roll(p, -1, 0) + roll(p, 1, 1) + roll(p, -1, 1)) / 4.0
        vx = vx - 0.5 / h * (roll(p, -1, 0) - roll(p, 1, 0))
        return vx, vy - 0.5 / h * (roll(p, -1, 1) - roll(p, 1, 1))

    def carried(f: Any, vx: Any, vy: Any) -> Any:
        x, y = rows - vx, columns - vy
        left, top = np.floor(x), np.floor(y)
        rw, bw = x - left, y - top
        i, j = integer(left) % n, integer(top) % n
        right, below = (i + 1) % n, (j + 1) % n
        return (1 - rw) * ((1 - bw) * f[i, j] + bw * f[i, below]) + rw * (
            (1 - bw) * f[right, j] + bw * f[right, below]
        )

    def advanced(vx: Any, vy: Any, smoke: Any) -> Any:
        vx, vy = projected(carried(vx, vx, vy), carried(vy, vx, vy))
        return vx, vy, carried(smoke, vx, vy)

    return advanced


def rolled(np: Any, scan: Callable[..., Any]) -> Callable[..., Any]:
    """The distance by a library's loop."""

    def loss(v: Any, smoke: Any, picture: Any) -> Any:
        rows, columns = np.meshgrid(
            np.arange(float(len(smoke))), np.arange(float(len(smoke))), indexing="ij"
        )
        one = step(np, np.roll, rows, columns, lambda x: x.astype(int))
        state, _ = scan(
            lambda state, _: (one(*state), None), (v[0], v[1], smoke), None, length=STEPS
        )
        return ((state[2] - picture) ** 2).mean()

    return loss


def unrolled(np: Any, roll: Callable[..., Any], grid: Any, integer: Any) -> Callable[..., Any]:
    """The same by a loop of Python's."""

    def loss(v: Any, smoke: Any, picture: Any) -> Any:
        one = step(np, roll, *grid, integer)
        state = v[0], v[1], smoke
        for _ in range(STEPS):
            state = one(*state)
        return ((state[2] - picture) ** 2).mean()

    return loss


def _grid(args: Any) -> list[Any]:
    n = len(args[1])
    return np.meshgrid(np.arange(float(n)), np.arange(float(n)), indexing="ij")


def funcgrad(args: Any) -> Work:
    """With `funcgrad.scan`."""
    import funcgrad as fg

    return with_funcgrad(rolled(np, fg.scan), args)


def autograd(args: Any) -> Work:
    """Unrolled; the indices are those of its values."""
    import autograd.numpy as anp
    from autograd.tracer import getval

    def integer(x: Any) -> Any:
        return getval(x).astype(int)

    return with_autograd(unrolled(anp, anp.roll, _grid(args), integer), args)


def jax(args: Any) -> Work:
    """With `jax.lax.scan`."""
    library = jax_library()
    return with_jax(rolled(library.numpy, library.lax.scan), args)


def torch(args: Any) -> Work:
    """Unrolled, eager."""
    import torch as library

    grid = [library.tensor(axis) for axis in _grid(args)]
    return with_torch(unrolled(library, library.roll, grid, lambda x: x.detach().long()), args)


PEERS = {
    "funcgrad": funcgrad,
    NATIVE: with_native(funcgrad),
    "autograd": autograd,
    "jax": jax,
    "torch": torch,
}

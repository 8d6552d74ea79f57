"""The Jacobian of the pose of an arm of 6 joints: 12 entries of the last frame by 6 angles."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.work.base import NATIVE, Work, with_native
from benchmarks.work.base import jax as jax_library
from benchmarks.work.c_library import address, compiled

SIZES = ("",)
SMOKE = ""
TITLE = "Jacobian of an arm of 6 joints"
TWISTS = (
    1.5707963267948966,
    0.0,
    -1.5707963267948966,
    1.5707963267948966,
    -1.5707963267948966,
    0.0,
)
LENGTHS = (0.0, 0.43, 0.02, 0.0, 0.0, 0.1)
OFFSETS = (0.66, 0.15, 0.0, 0.43, 0.0, 0.06)

SOURCE = r"""
#include <math.h>
static void times(const double *a, const double *b, double *c) {  /* 3x4 frames */
    for (int i = 0; i < 3; i++) for (int j = 0; j < 4; j++) {
        double t = j == 3 ? a[4 * i + 3] : 0;
        for (int k = 0; k < 3; k++) t += a[4 * i + k] * b[4 * k + j];
        c[4 * i + j] = t;
    }
}
double run(const double *q, const double *twist, const double *len, const double *off, double *jac) {
    double frame[7][12] = {{1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0}};
    for (int j = 0; j < 6; j++) {
        double c = cos(q[j]), s = sin(q[j]), ca = cos(twist[j]), sa = sin(twist[j]);
        double f[12] = {c, -s * ca, s * sa, len[j] * c, s, c * ca, -c * sa, len[j] * s, 0, sa, ca, off[j]};
        times(frame[j], f, frame[j + 1]);
    }
    double *e = frame[6];
    for (int j = 0; j < 6; j++) {  /* a rotation about the axis z of frame j */
        double z[3] = {frame[j][2], frame[j][6], frame[j][10]};
        for (int k = 0; k < 4; k++) {
            double v[3];
            for (int i = 0; i < 3; i++) v[i] = e[4 * i + k] - (k == 3 ? frame[j][4 * i + 3] : 0);
            for (int i = 0; i < 3; i++) {
                int a = (i + 1) % 3, b = (i + 2) % 3;
                jac[(4 * i + k) * 6 + j] = z[a] * v[b] - z[b] * v[a];
            }
        }
    }
    return 0;
}
"""


def data(size: str) -> tuple[Any]:
    """The angles."""
    return (np.array([0.3, -0.4, 0.5, 0.6, -0.7, 0.8]),)


def pose(
    np: Any, stack: Callable[..., Any], constant: Callable[[float], Any]
) -> Callable[[Any], Any]:
    """The first three rows of the last frame, from Denavit's and Hartenberg's parameters."""

    def frame(q: Any, twist: float, length: float, offset: float) -> Any:
        c, s = np.cos(q), np.sin(q)
        ca, sa, zero = constant(math.cos(twist)), constant(math.sin(twist)), constant(0.0)
        return stack(
            [
                stack([c, -s * ca, s * sa, length * c]),
                stack([s, c * ca, -c * sa, length * s]),
                stack([zero, sa, ca, constant(offset)]),
                stack([zero, zero, zero, constant(1.0)]),
            ]
        )

    def last(q: Any) -> Any:
        made = frame(q[0], TWISTS[0], LENGTHS[0], OFFSETS[0])
        for k in range(1, 6):
            made = made @ frame(q[k], TWISTS[k], LENGTHS[k], OFFSETS[k])
        return made[:3, :]

    return last


def funcgrad(args: tuple[Any]) -> Work:
    """`funcgrad.jacobian`, compiled."""
    import funcgrad as fg

    f = pose(np, np.array, float)
    return Work(fg.jit(fg.jacobian(f)), args, fg.jit(f))


def jax(args: tuple[Any]) -> Work:
    """`jax.jacfwd`, compiled."""
    library = jax_library()
    jacobian = library.jit(library.jacfwd(pose(library.numpy, library.numpy.array, float)))
    return Work(jacobian, (library.numpy.asarray(args[0]),), settle=library.block_until_ready)


def autograd(args: tuple[Any]) -> Work:
    """`autograd.jacobian`."""
    import autograd.numpy as anp
    from autograd import jacobian

    return Work(jacobian(pose(anp, anp.array, float)), args)


def torch(args: tuple[Any]) -> Work:
    """`torch.func.jacfwd`, eager."""
    import torch as library

    def constant(value: float) -> Any:
        return library.tensor(value, dtype=library.float64)

    return Work(
        library.func.jacfwd(pose(library, library.stack, constant)), (library.tensor(args[0]),)
    )


def casadi(args: tuple[Any]) -> Work:
    """SX, scalar by scalar."""
    import casadi as library

    q = library.SX.sym("q", 6)

    def stack(items: list[Any]) -> Any:
        rows = [library.SX(item) for item in items]
        return library.horzcat(*rows) if rows[0].is_scalar() else library.vertcat(*rows)

    made = pose(library, stack, float)(q)
    rows = library.vec(made.T)
    found = library.Function("jacobian", [q], [library.jacobian(rows, q)])
    return Work(lambda q: found(q).full().reshape(3, 4, 6), args)


def c(args: tuple[Any]) -> Work:
    """The geometric Jacobian: each joint turns all that follows about its axis."""
    run = compiled(SOURCE, "run")
    fixed = [np.array(values) for values in (TWISTS, LENGTHS, OFFSETS)]

    def jacobian(q: Any) -> Any:
        made = np.empty((3, 4, 6))
        run(address(q), *map(address, fixed), address(made))
        return made

    return Work(jacobian, args)


PEERS = {
    "funcgrad": funcgrad,
    NATIVE: with_native(funcgrad),
    "autograd": autograd,
    "jax": jax,
    "torch": torch,
    "casadi": casadi,
    "C": c,
}

"""Hand tracking: 544 points of a skin on 26 bones; value and gradient of a misfit by the bones' angles."""

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

SIZES = ("544 points",)
SMOKE = "9 points"
TITLE = "hand of 26 bones,"
BONES = 26
PARENTS = (-1, *[0 if k % 5 == 1 else k - 1 for k in range(1, BONES)])
"""The wrist, and five fingers of five bones each."""

SOURCE = r"""
#include <math.h>
#include <string.h>
enum { N = 26 };
static void rotation(const double *q, double r[3][3], double d[3][3][3]) {  /* Rz Ry Rx and its derivatives */
    for (int a = -1; a < 3; a++) {
        double f[3][3][3];
        for (int k = 0; k < 3; k++) {
            int i = (k + 1) % 3, j = (k + 2) % 3;
            double c = cos(q[k]), s = sin(q[k]);
            memset(f[k], 0, sizeof f[k]);
            f[k][k][k] = a != k;
            f[k][i][i] = f[k][j][j] = a == k ? -s : c;
            f[k][i][j] = a == k ? -c : -s; f[k][j][i] = a == k ? c : s;
        }
        for (int i = 0; i < 3; i++) for (int j = 0; j < 3; j++) {
            double t = 0;
            for (int k = 0; k < 3; k++) for (int l = 0; l < 3; l++) t += f[2][i][k] * f[1][k][l] * f[0][l][j];
            if (a < 0) r[i][j] = t; else d[a][i][j] = t;
        }
    }
}
double run(int count, const int *parents, const double *q, const double *offset, const double *weights,
           const double *skin, const double *seen, double *gq) {
    double A[N][3][3], D[N][3][3][3], R[N][3][3], t[N][3], gR[N][3][3] = {{{0}}}, gt[N][3] = {{0}}, value = 0;
    for (int b = 0; b < N; b++) {
        int p = parents[b];
        rotation(q + 3 * b, A[b], D[b]);
        for (int i = 0; i < 3; i++) {
            t[b][i] = p < 0 ? offset[3 * b + i] : t[p][i];
            for (int j = 0; j < 3; j++) {
                if (p < 0) { R[b][i][j] = A[b][i][j]; continue; }
                t[b][i] += R[p][i][j] * offset[3 * b + j];
                R[b][i][j] = 0;
                for (int k = 0; k < 3; k++) R[b][i][j] += R[p][i][k] * A[b][k][j];
            }
        }
    }
    for (int v = 0; v < count; v++) {
        const double *w = weights + N * v, *x = skin + 3 * v;
        double e[3];
        for (int i = 0; i < 3; i++) e[i] = -seen[3 * v + i];
        for (int b = 0; b < N; b++) for (int i = 0; i < 3; i++)
            e[i] += w[b] * (R[b][i][0] * x[0] + R[b][i][1] * x[1] + R[b][i][2] * x[2] + t[b][i]);
        for (int i = 0; i < 3; i++) { value += e[i] * e[i]; e[i] *= 2; }
        for (int b = 0; b < N; b++) for (int i = 0; i < 3; i++) {
            double u = w[b] * e[i];
            gt[b][i] += u;
            for (int j = 0; j < 3; j++) gR[b][i][j] += u * x[j];
        }
    }
    for (int b = N - 1; b >= 0; b--) {
        int p = parents[b];
        double gA[3][3];
        for (int i = 0; i < 3; i++) for (int j = 0; j < 3; j++) {
            double s = 0;
            if (p < 0) { gA[i][j] = gR[b][i][j]; continue; }
            for (int k = 0; k < 3; k++) {
                s += R[p][k][i] * gR[b][k][j];
                gR[p][i][j] += gR[b][i][k] * A[b][j][k];
            }
            gA[i][j] = s;
            gR[p][i][j] += gt[b][i] * offset[3 * b + j];
        }
        if (p >= 0) for (int i = 0; i < 3; i++) gt[p][i] += gt[b][i];
        for (int a = 0; a < 3; a++) {
            double s = 0;
            for (int i = 0; i < 3; i++) for (int j = 0; j < 3; j++) s += gA[i][j] * D[b][a][i][j];
            gq[3 * b + a] = s;
        }
    }
    return value;
}
"""


def data(size: str) -> tuple[Any, ...]:
    """Angles, the bones' offsets from their parents, weights of the skin, its points, and those seen."""
    count = int(size.split()[0])
    rng = np.random.default_rng(0)
    weights = rng.dirichlet(np.full(BONES, 0.1), size=count)
    angles, offsets = 0.3 * rng.normal(size=(BONES, 3)), rng.normal(size=(BONES, 3))
    return angles, offsets, weights, rng.normal(size=(count, 3)), rng.normal(size=(count, 3))


def misfit(np: Any, axis: str = "axis") -> Callable[..., Any]:
    """The sum of squared distances between the skin of a pose and the points that are seen."""

    def rotations(angles: Any) -> Any:
        c, s = np.cos(angles), np.sin(angles)
        (cx, cy, cz), (sx, sy, sz) = c.T, s.T
        rows = [
            [cz * cy, cz * sy * sx - sz * cx, cz * sy * cx + sz * sx],
            [sz * cy, sz * sy * sx + cz * cx, sz * sy * cx - cz * sx],
            [-sy, cy * sx, cy * cx],
        ]
        return np.stack([np.stack(row, **{axis: -1}) for row in rows], **{axis: -2})

    def loss(angles: Any, offsets: Any, weights: Any, skin: Any, seen: Any) -> Any:
        local = rotations(angles)
        turned, moved = [local[0]], [offsets[0]]
        for bone, parent in enumerate(PARENTS[1:], 1):
            turned.append(turned[parent] @ local[bone])
            moved.append(turned[parent] @ offsets[bone] + moved[parent])
        placed = np.einsum("bij,vj->vbi", np.stack(turned), skin) + np.stack(moved)
        return ((np.einsum("vb,vbi->vi", weights, placed) - seen) ** 2).sum()

    return loss


def funcgrad(args: Any) -> Work:
    """A loop of Python's over the bones."""
    return with_funcgrad(misfit(np), args)


def autograd(args: Any) -> Work:
    """The same."""
    import autograd.numpy as anp

    return with_autograd(misfit(anp), args)


def jax(args: Any) -> Work:
    """The same, compiled."""
    return with_jax(misfit(jax_library().numpy), args)


def torch(args: Any) -> Work:
    """The same, eager."""
    import torch as library

    return with_torch(misfit(library, "dim"), args)


def c(args: Any) -> Work:
    """Frames from the wrist to the tips, and their cotangents back."""
    run = compiled(SOURCE, "run")
    parents = np.array(PARENTS, np.intc)

    def value_and_gradient(angles: Any, *fixed: Any) -> Any:
        gradient = np.empty_like(angles)
        arrays = (parents, angles, *fixed, gradient)
        return run(len(fixed[-1]), *map(address, arrays)), gradient

    return Work(value_and_gradient, args)


PEERS = {
    "funcgrad": funcgrad,
    NATIVE: with_native(funcgrad),
    "autograd": autograd,
    "jax": jax,
    "torch": torch,
    "C": c,
}

"""The Jacobian of the residuals of bundle adjustment: 10,000 observations of points by cameras, sparse.

A camera has a rotation vector, a center, a focal length and two coefficients of radial distortion; a residual
has derivatives by the 9 numbers of its camera and the 3 of its point, and no others.
"""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from benchmarks.work.base import NATIVE, Work, with_native
from benchmarks.work.base import jax as jax_library
from benchmarks.work.c_library import address, compiled

SIZES = ("10000 observations", "10000 observations by blocks")
SMOKE = "60 observations by blocks"
TITLE = "bundle adjustment, sparse Jacobian,"

SOURCE = r"""
#include <math.h>
static void cross(const double *a, const double *b, double *c) {
    for (int i = 0; i < 3; i++) {
        int j = (i + 1) % 3, k = (i + 2) % 3;
        c[i] = a[j] * b[k] - a[k] * b[j];
    }
}
static double dot(const double *a, const double *b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }
double run(int count, const double *cams, const double *points, const long *cam, const long *point,
           double *jac) {
    for (int o = 0; o < count; o++) {
        const double *p = cams + 9 * cam[o], *X = points + 3 * point[o];
        double d[3] = {X[0] - p[3], X[1] - p[4], X[2] - p[5]};
        double t = sqrt(dot(p, p)), s = sin(t), c = cos(t), k[3] = {p[0] / t, p[1] / t, p[2] / t}, kd[3];
        double along = dot(k, d), P[3], dP[6][3];  /* by the rotation and by d */
        cross(k, d, kd);
        for (int i = 0; i < 3; i++) P[i] = c * d[i] + s * kd[i] + (1 - c) * along * k[i];
        for (int a = 0; a < 3; a++) {
            double dk[3], dkd[3], e[3] = {0}, ke[3];
            e[a] = 1;
            for (int i = 0; i < 3; i++) dk[i] = (e[i] - k[a] * k[i]) / t;
            cross(dk, d, dkd);
            cross(k, e, ke);
            double turned = dot(dk, d);
            for (int i = 0; i < 3; i++) {
                dP[a][i] = k[a] * (c * kd[i] - s * d[i] + s * along * k[i]) + s * dkd[i]
                           + (1 - c) * (turned * k[i] + along * dk[i]);
                dP[3 + a][i] = c * e[i] + s * ke[i] + (1 - c) * k[a] * k[i];
            }
        }
        double x = P[0] / P[2], y = P[1] / P[2], r = x * x + y * y, f = p[6], k1 = p[7], k2 = p[8];
        double L = 1 + k1 * r + k2 * r * r, dL = k1 + 2 * k2 * r, *row = jac + 24 * o;
        for (int a = 0; a < 6; a++) {
            double dx = (dP[a][0] - x * dP[a][2]) / P[2], dy = (dP[a][1] - y * dP[a][2]) / P[2];
            double dr = 2 * (x * dx + y * dy), u = f * (L * dx + dL * dr * x), v = f * (L * dy + dL * dr * y);
            if (a < 3) { row[a] = u; row[12 + a] = v; }
            else { row[a] = -u; row[12 + a] = -v; row[6 + a] = u; row[18 + a] = v; }
        }
        row[6] = L * x; row[18] = L * y; row[7] = f * r * x; row[19] = f * r * y;
        row[8] = f * r * r * x; row[20] = f * r * r * y;
    }
    return 0;
}
"""


def data(size: str) -> tuple[Any, ...]:
    """Cameras, points, and of each observation its camera, its point and where that is seen; the size."""
    count = int(size.split()[0])
    rng = np.random.default_rng(0)
    cameras = rng.normal(size=(count // 200 + 3, 9)) * ([0.2] * 3 + [0.3] * 3 + [10.0, 0.05, 0.01])
    cameras += [0.1, 0.1, 0.1, 0, 0, -8, 500, 0, 0]
    points = rng.normal(size=(count // 5, 3))
    at = rng.integers(len(cameras), size=count), np.arange(count) % len(points)
    return cameras, points, *at, rng.normal(size=(count, 2)), size


def projected(np: Any, cross: Any, camera: Any, point: Any) -> Any:
    """Where a camera sees a point; the entries are along the last axis."""
    w, x = camera[..., :3], point - camera[..., 3:6]
    angle = np.sqrt((w * w).sum(-1))[..., None]
    k, c, s = w / angle, np.cos(angle), np.sin(angle)
    x = c * x + s * cross(k, x) + (1 - c) * (k * x).sum(-1)[..., None] * k
    seen = x[..., :2] / x[..., 2:]
    r = (seen * seen).sum(-1)[..., None]
    return camera[..., 6:7] * (1 + camera[..., 7:8] * r + camera[..., 8:9] * r * r) * seen


def funcgrad(args: Any) -> Work:
    """`funcgrad.sparse_jacobian` of all residuals, a sparse matrix; or `blocks`."""
    import funcgrad as fg

    cameras, points, cam, point, seen, size = args
    if size.endswith("blocks"):
        return blocks(args)

    def residuals(cameras: Any, points: Any) -> Any:
        return (projected(np, np.cross, cameras[cam], points[point]) - seen).ravel()

    jacobian = fg.sparse_jacobian(residuals, argnums=(0, 1))
    return Work(lambda cameras, points: jacobian(cameras, points).data, (cameras, points))


def blocks(args: Any) -> Work:
    """`funcgrad.jacfwd` of one observation, by `funcgrad.vmap` over all, compiled."""
    import funcgrad as fg

    cameras, points, cam, point, *_ = args

    def one(camera: Any, point: Any) -> Any:
        return projected(np, np.cross, camera, point)

    both = fg.vmap(fg.jacfwd(one, argnums=(0, 1)))

    def jacobian(cameras: Any, points: Any) -> Any:
        return np.concatenate(both(cameras[cam], points[point]), axis=-1).ravel()

    return Work(fg.jit(jacobian), (cameras, points))


def with_llvmlite(args: Any) -> Work:
    """The same; the products of `funcgrad.sparse_jacobian` become machine code as they run."""
    return with_native(funcgrad, native=args[-1].endswith("blocks"))(args)


def jax(args: Any) -> Work:
    """`jax.jacfwd` of one observation, by `jax.vmap` over all: the blocks."""
    library = jax_library()
    cameras, points, cam, point, _ = [library.numpy.asarray(x) for x in args[:5]]

    def one(camera: Any, point: Any) -> Any:
        return projected(library.numpy, library.numpy.cross, camera, point)

    both = library.vmap(library.jacfwd(one, argnums=(0, 1)))

    @library.jit
    def jacobian(cameras: Any, points: Any) -> Any:
        return library.numpy.concatenate(both(cameras[cam], points[point]), axis=-1).ravel()

    return Work(jacobian, (cameras, points), settle=library.block_until_ready)


def torch(args: Any) -> Work:
    """`torch.func.jacfwd` of one observation, by `torch.func.vmap` over all, eager."""
    import torch as library

    cameras, points, cam, point, _ = [library.tensor(x) for x in args[:5]]

    def one(camera: Any, point: Any) -> Any:
        return projected(library, library.linalg.cross, camera, point)

    both = library.func.vmap(library.func.jacfwd(one, argnums=(0, 1)))

    def jacobian(cameras: Any, points: Any) -> Any:
        return library.cat(both(cameras[cam], points[point]), dim=-1).ravel()

    return Work(jacobian, (cameras, points))


def c(args: Any) -> Work:
    """The derivatives of Rodrigues' formula and of the projection, written out."""
    cameras, points, cam, point, *_ = args
    run = compiled(SOURCE, "run")
    at = [np.ascontiguousarray(x, np.dtype(ctypes.c_long)) for x in (cam, point)]

    def jacobian(cameras: Any, points: Any) -> Any:
        made = np.empty(24 * len(cam))
        run(len(cam), *map(address, (cameras, points, *at, made)))
        return made

    return Work(jacobian, (cameras, points))


PEERS = {
    "funcgrad": funcgrad,
    NATIVE: with_llvmlite,
    "jax": jax,
    "torch": torch,
    "C": c,
}

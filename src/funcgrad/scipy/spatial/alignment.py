"""The rotation between two sets of vectors, and the mean of rotations."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.spatial.transform as _scipy

from funcgrad.ops.base.op import lift_fully
from funcgrad.ops.shape import holds_expr
from funcgrad.scipy.composition import with_phases, with_value, without_derivative
from funcgrad.scipy.external_function import with_pullback
from funcgrad.source import value_error
from funcgrad.typing import Array


def nearest_pullback(m: Array, q: Array, g: Array) -> tuple[Any, ...]:
    """With s = q.T m, dq = q [w] and (tr(s) - s) w is the axial vector of q.T dm - dm.T q."""
    s, turned = np.swapaxes(q, -1, -2) @ m, np.swapaxes(q, -1, -2) @ g
    trace = np.trace(s, axis1=-2, axis2=-1)[..., None, None]
    turns = [turned[..., k, j] - turned[..., j, k] for j, k in ((1, 2), (2, 0), (0, 1))]
    w = np.linalg.solve(trace * np.eye(3) - s, np.stack(turns, axis=-1)[..., None])[..., 0]
    zero = np.zeros_like(w[..., 0])
    x, y, z = w[..., 0], w[..., 1], w[..., 2]
    rows = [[zero, -z, y], [z, zero, -x], [-y, x, zero]]
    return (q @ np.stack([np.stack(row, axis=-1) for row in rows], axis=-2),)


def _kabsch(m: Array) -> Any:
    """The rotation r for which the trace of r.T m is greatest."""
    u, _, vh = np.linalg.svd(m)
    sides = np.array([1.0, 1.0, np.linalg.det(u) * np.linalg.det(vh)])
    return (u * sides) @ vh


_best_rotation = with_pullback("align_vectors", _kabsch, lambda m: m, nearest_pullback)


def rotation_between(
    a: Array, b: Array, weights: Array | None, sensitivity: bool
) -> tuple[Any, ...]:
    """The matrix of the rotation from b to a, the root of the sum of squares left, and the sensitivity."""
    who = "align_vectors"
    first, second = np.atleast_2d(a), np.atleast_2d(b)
    if first.shape != second.shape or first.ndim != 2 or first.shape[1] != 3:
        raise value_error(
            f"{who}: expected two sets of as many vectors in three dimensions, but got {a.shape} "
            f"and {b.shape}",
        )
    count = first.shape[0]
    size = np.ones(count) if weights is None else weights
    infinite = [0] if count == 1 else []
    if not holds_expr(size):
        infinite = [*np.flatnonzero(np.isinf(size))] or infinite
    if len(infinite) > 1 or (infinite and sensitivity):
        raise value_error(
            f"{who}: expected at most one infinite weight, and a sensitivity of several finite ones alone",
        )
    product = (size[:, None] * first).T @ second if not infinite else None
    if product is None:
        (k,) = infinite
        matrix = _about_first(first, second, size, int(k))
        size = np.where(np.isinf(size), 0.0, size)
    else:
        matrix = _best_rotation(product)
    rest: Any = np.linalg.norm(np.sqrt(size)[:, None] * (first - second @ matrix.T))
    parts = [first, second, np.ones(count) if weights is None else weights]
    run = lambda *given: float(_scipy.Rotation.align_vectors(*given)[1])  # noqa: E731
    own = without_derivative("rssd", run, 1.0, *parts)
    found = matrix, with_value(own, rest)
    return (*found, _sensitivity(matrix, product, size)) if sensitivity else found


def _sensitivity(matrix: Array, product: Any, size: Array) -> Any:
    """The covariance of a small turn for deviations of 1, by the singular values of the product."""
    inner = matrix.T @ product
    total = np.trace(inner)
    pairs = (total * total - np.trace(inner @ inner)) / 2
    divisor = total * pairs - np.linalg.det(product)
    return np.mean(size) / divisor * (pairs * np.eye(3) + product @ product.T)


def _about_first(a: Array, b: Array, size: Array, k: int) -> Any:
    """The rotation that turns b[k] exactly, and the others about it as near as it can."""
    matrix = _shortest(a[k], b[k])
    others = np.delete(np.arange(a.shape[0]), k)
    if not len(others):
        return matrix
    axis = a[k] / np.linalg.norm(a[k])
    turned, wanted = b[others] @ matrix.T, a[others]
    sine = np.cross(turned, wanted) @ axis
    cosine = np.sum(turned * wanted, axis=1) - (turned @ axis) * (wanted @ axis)
    angle = np.arctan2(np.sum(size[others] * sine), np.sum(size[others] * cosine))
    turn = _cross_matrix(axis)
    about = np.eye(3) + np.sin(angle) * turn + (1 - np.cos(angle)) * (turn @ turn)
    return about @ matrix


def _shortest(a: Array, b: Array) -> Any:
    """The matrix of the shortest rotation from the direction of b to that of a."""
    u, v = [x / np.linalg.norm(x) for x in (a, b)]
    axis, cosine = np.cross(v, u), np.sum(u * v)
    turn = _cross_matrix(axis)
    return np.eye(3) + turn + turn @ turn / (1 + cosine)


def _cross_matrix(axis: Array) -> Any:
    """The matrix of the cross product with a vector."""
    x, y, z = [axis[k] for k in range(3)]
    rows = [[0 * x, -z, y], [z, 0 * x, -x], [-y, x, 0 * x]]
    return np.stack([np.stack(row) for row in rows])


# -- means --------------------------------------------------------------------------------------------
def mean_quaternion(q: Array, weights: Array | None, axis: int | tuple[int, ...] | None) -> Any:
    """The quaternion of the mean: the last eigenvector of the mean of the products q q.T."""
    ndim = q.ndim - 1
    axes = tuple(range(ndim)) if axis is None else (axis,) if isinstance(axis, int) else axis
    places = tuple(sorted({k % ndim for k in axes}))
    products = q[..., :, None] * q[..., None, :]
    if weights is not None:
        products = products * weights[..., None, None]
    vector = np.linalg.eigh(np.mean(products, axis=places))[1][..., -1]
    given = (q,) if weights is None else (q, weights)

    def run(q: Array, *weights: Array) -> Any:
        return _scipy.Rotation.from_quat(q).mean(*weights, axis=axis).as_quat()

    own = without_derivative("mean_rotation", run, lift_fully(vector).type, *given)
    return with_value(own, with_phases(vector, own, axis=-1))

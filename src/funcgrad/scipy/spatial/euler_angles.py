"""Euler angles of rotations, and quaternions (x, y, z, w)."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np

from funcgrad.ops.shape import holds_expr
from funcgrad.source import value_error
from funcgrad.typing import Array


def quaternion_product(p: Array, q: Array) -> Any:
    """Hamilton's product of quaternions."""
    u, v, s, t = p[..., :3], q[..., :3], p[..., 3:], q[..., 3:]
    vector = s * v + t * u + np.cross(u, v)
    scalar = s * t - np.sum(u * v, axis=-1, keepdims=True)
    return np.concatenate([vector, scalar], axis=-1)


def _axes(seq: str) -> tuple[list[int], bool]:
    """The places of the axes, and whether they turn with the body."""
    if not 1 <= len(seq) <= 3 or not (set(seq) <= set("xyz") or set(seq) <= set("XYZ")):
        raise value_error(
            f"Rotation: expected up to three axes among 'xyz', or among 'XYZ', but got {seq!r}",
        )
    if any(a == b for a, b in pairwise(seq)):
        raise value_error(f"Rotation: expected neighboring axes to differ, but got {seq!r}")
    return ["xyz".index(letter) for letter in seq.lower()], seq.isupper()


def quaternion_of_euler(seq: str, angles: Array) -> Any:
    """The quaternion of Euler angles, which are along the last axis."""
    places, intrinsic = _axes(seq)
    if len(places) == 1 and (angles.ndim == 0 or angles.shape[-1:] != (1,)):
        angles = angles[..., None]
    if angles.shape[-1] != len(places):
        raise value_error(
            f"Rotation: expected {len(places)} angles along the last axis, but got {angles.shape}",
        )
    total = None
    for k, place in enumerate(places):
        unit = np.eye(4)
        half = angles[..., k : k + 1] / 2
        single = np.sin(half) * unit[place] + np.cos(half) * unit[3]
        if total is None:
            total = single
        else:
            total = (
                quaternion_product(total, single)
                if intrinsic
                else quaternion_product(single, total)
            )
    return total


def euler_of_quaternion(seq: str, q: Array) -> Any:
    """Euler angles (Bernardes and Viollet 2022), as SciPy's."""
    places, intrinsic = _axes(seq)
    if len(places) != 3:
        raise value_error(f"as_euler: expected three axes, but got {seq!r}")
    i, j, k = places[::-1] if intrinsic else places
    symmetric = i == k
    if symmetric:
        k = 3 - i - j
    sign = (i - j) * (j - k) * (k - i) / 2
    parts = [q[..., n] for n in range(4)]
    if symmetric:
        a, b, c, d = parts[3], parts[i], parts[j], parts[k] * sign
    else:
        a, b = parts[3] - parts[j], parts[i] + parts[k] * sign
        c, d = parts[j] + parts[3], parts[k] * sign - parts[i]
    return _three_angles((a, b, c, d), intrinsic, None if symmetric else math.pi / 2, sign)


def _three_angles(parts: tuple[Array, ...], intrinsic: bool, tilt: Any, sign: float) -> Any:
    """The angles of the parts of a quaternion; ``tilt`` is between the outer axes, None if they are equal."""
    a, b, c, d = parts
    half_sum, half_difference = np.arctan2(b, a), np.arctan2(d, c)
    middle = 2 * np.arctan2(np.hypot(c, d), np.hypot(a, b))
    folded = np.abs(middle) <= 1e-7
    opposite = np.abs(middle - math.pi) <= 1e-7
    locked = np.logical_or(folded, opposite)
    # Without a third angle, where only a sum or a difference is determined.
    single = np.where(folded, 2 * half_sum, 2 * half_difference * (1 if intrinsic else -1))
    early = half_sum - half_difference
    late = half_sum + half_difference
    if intrinsic:
        first, third = np.where(locked, single, late), np.where(locked, 0.0, early)
        if tilt is not None:
            first = first * np.where(locked, 1.0, sign)
    else:
        first, third = np.where(locked, single, early), np.where(locked, 0.0, late)
        if tilt is not None:
            third = third * sign
    if tilt is not None:
        middle = middle - tilt
    angles = np.stack([first, middle, third], axis=-1)
    over, under = angles > math.pi, angles < -math.pi
    return np.where(over, angles - 2 * math.pi, np.where(under, angles + 2 * math.pi, angles))


def davenport_angles(axes: Array, order: str, q: Array) -> Any:
    """The angles of turns about three axes, of which neighbors are orthogonal, as SciPy's."""
    lines = _orthogonal_neighbors("as_davenport", axes, order)
    if lines.shape[-2] != 3:
        raise value_error(f"as_davenport: expected three axes, but got {axes.shape}")
    first, second, third = [lines[..., k, :] for k in range(3)]
    if not _ORDERS[order]:
        first, third = third, first
    beside = np.cross(first, second)
    tilt = np.arctan2(np.sum(third * beside, axis=-1), np.sum(third * first, axis=-1))
    # The other set of angles, as those of Euler.
    sign = np.where(tilt < 0, -1.0, 1.0)
    tilt, second, beside = sign * tilt, sign[..., None] * second, sign[..., None] * beside
    half = tilt[..., None] / 2
    turned = quaternion_product(np.concatenate([np.sin(half) * second, np.cos(half)], axis=-1), q)
    b, c, d = [np.sum(turned[..., :3] * line, axis=-1) for line in (first, second, beside)]
    angles = _three_angles((turned[..., 3], b, c, d), not _ORDERS[order], tilt, 1.0)
    return angles * np.stack([np.ones_like(sign), sign, np.ones_like(sign)], axis=-1)


SMALL = 1e-3
"""The length of a rotation vector below which its sine and cosine are sums of powers."""


def quaternion_of_vector(r: Array) -> Any:
    """The quaternion of a rotation vector, with derivatives at 0."""
    square = np.sum(r * r, axis=-1, keepdims=True)
    small = square < SMALL**2
    angle = np.sqrt(np.where(small, 1.0, square))
    near = np.where(small, square, 0.0)
    sine = np.where(small, 0.5 - near / 48 + near * near / 3840, np.sin(angle / 2) / angle)
    cosine = np.where(small, 1 - near / 8 + near * near / 384, np.cos(angle / 2))
    return np.concatenate([sine * r, cosine], axis=-1)


_ORDERS = {"e": True, "extrinsic": True, "i": False, "intrinsic": False}


def _orthogonal_neighbors(who: str, lines: Array, order: str) -> Any:
    """Up to three axes of length 1, of which neighbors are orthogonal."""
    if order not in _ORDERS or lines.shape[-1] != 3 or not 1 <= lines.shape[-2] <= 3:
        raise value_error(
            f"{who}: expected up to three axes, and the order 'extrinsic' or 'intrinsic', but got "
            f"{lines.shape} and {order!r}",
        )
    lines = lines / np.sqrt(np.sum(lines * lines, axis=-1, keepdims=True))
    slant = np.max(np.abs(np.sum(lines[..., 1:, :] * lines[..., :-1, :], axis=-1)), initial=0.0)
    if not holds_expr(slant) and slant > 1e-7:
        raise value_error(f"{who}: expected neighboring axes to be orthogonal")
    return np.where(slant > 1e-7, np.nan, lines)


def davenport_quaternion(axes: Array, order: str, angles: Array, degrees: bool) -> Any:
    """Turns about up to three axes, of which neighbors are orthogonal, by angles along the last axis."""
    lines, turns = np.atleast_2d(axes), np.atleast_1d(np.deg2rad(angles) if degrees else angles)
    count = lines.shape[-2]
    lines = _orthogonal_neighbors("from_davenport", lines, order)
    if turns.shape[-1] != count:
        raise value_error(
            f"from_davenport: expected as many angles as axes, but got {axes.shape} and {angles.shape}",
        )
    found = quaternion_of_vector(turns[..., :1] * lines[..., 0, :])
    for k in range(1, count):
        turn = quaternion_of_vector(turns[..., k : k + 1] * lines[..., k, :])
        pair = (turn, found) if _ORDERS[order] else (found, turn)
        found = quaternion_product(*pair)
    return found

"""Initial conditions of the recursive filters of `scipy.signal` that fit splines: SciPy's compiled code.

They are sums of the signal with weights that fall along it, in the signal and in the filter's parameters.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.signal import _spline

from funcgrad.graph import ArrayType
from funcgrad.ops.base.op import lift_fully
from funcgrad.ops.shape import holds_expr
from funcgrad.scipy.composition import floating, in_place_of, with_value, without_derivative
from funcgrad.typing import Array


def _conditions(
    own: Callable[..., Any],
    signal: Array,
    parameters: tuple[Any, ...],
    precision: float,
    weights: Callable[..., Any],
) -> Any:
    """The products of signals, along the last axis, with weights, which SciPy cuts off by the precision."""
    rows = floating("filter", signal)
    single = rows.dtype in (np.float32, np.complex64)
    count = rows.shape[-1]
    unit = np.eye(count, dtype=np.float32 if single else float)

    def plain(*parameters: Array) -> Any:
        found = own(unit, *[float(p) for p in parameters], precision)
        return np.reshape(found, (count, -1)).astype(float)

    if not holds_expr(parameters):
        return (rows @ plain(*parameters)).astype(rows.dtype)
    given = [lift_fully(p) for p in parameters]
    places = np.arange(float(count))
    found = weights(places, *given)
    out = ArrayType(found.shape, np.dtype(float))
    cut = without_derivative("weights", plain, out, *given)  # within a weight of two terms, too
    return rows @ with_value(cut, np.where(cut != 0, found, 0.0))


@in_place_of(_spline.symiirorder1_ic)
def first_order_conditions(signal: Array, z1: Array, precision: float = -1.0) -> Any:
    """As SciPy's `symiirorder1_ic`."""

    def weights(k: Array, z1: Array) -> Any:
        return (z1 * z1**k + (k == 0))[:, None]

    return _conditions(_spline.symiirorder1_ic, signal, (z1,), precision, weights)


@in_place_of(_spline.symiirorder2_ic_fwd)
def forward_conditions(signal: Array, r: Array, omega: Array, precision: float = -1.0) -> Any:
    """As SciPy's `symiirorder2_ic_fwd`."""

    def weights(k: Array, r: Array, omega: Array) -> Any:
        scale = 1 - 2 * r * np.cos(omega) + r * r

        def response(k: Array) -> Any:
            return scale * r**k * _sine_ratio(k + 1, omega)

        first = response(k + 1) + (k == 0) * response(k)
        second = response(k + 2) + (k == 0) * response(k + 1) + (k == 1) * response(0 * k)
        return np.stack([first, second], axis=1)

    return _conditions(_spline.symiirorder2_ic_fwd, signal, (r, omega), precision, weights)


@in_place_of(_spline.symiirorder2_ic_bwd)
def backward_conditions(signal: Array, r: Array, omega: Array, precision: float = -1.0) -> Any:
    """As SciPy's `symiirorder2_ic_bwd`."""

    def weights(k: Array, r: Array, omega: Array) -> Any:
        square = r * r
        scale = (1 - 2 * r * np.cos(omega) + square) ** 2 * (1 + square) / (1 - square)
        scale = scale / (1 - 2 * square * np.cos(2 * omega) + square * square)
        ratio = (1 - square) / (1 + square)

        def response(k: Array) -> Any:
            turned = np.cos(omega * k) + ratio * np.cos(omega) * _sine_ratio(k, omega)
            return scale * r**k * turned

        back = k[::-1]
        first = response(back) + response(back + 1)
        return np.stack([first, response(np.abs(back - 1)) + response(back + 2)], axis=1)

    return _conditions(_spline.symiirorder2_ic_bwd, signal, (r, omega), precision, weights)


def _sine_ratio(k: Array, omega: Array) -> Any:
    """sin(k omega) / sin(omega), with its derivatives where the sine is 0."""
    sine = np.sin(omega)
    # Near 0 and pi by the sum of cosines, of which k is a small count where they matter.
    near = np.abs(sine) < 1e-4
    off = np.where(np.cos(omega) < 0, omega - np.pi, omega)
    sign = np.where((np.cos(omega) < 0) & (k % 2 == 0), -1.0, 1.0)
    x = np.where(near, off, 0.0)
    square = k * k
    series = k * (
        1
        - (square - 1) * x**2 / 6
        + (square - 1) * (3 * square - 7) * x**4 / 360
        - (square - 1) * (3 * square**2 - 18 * square + 31) * x**6 / 15120
    )
    return np.where(near, sign * series, np.sin(k * omega) / np.where(near, 1.0, sine))

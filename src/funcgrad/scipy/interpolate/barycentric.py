"""Rational interpolants in barycentric form, with derivatives at their nodes."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from funcgrad.scipy.composition import number
from funcgrad.transforms.grad import stop_gradient
from funcgrad.typing import Array


def barycentric(x: Array, nodes: Array, weights: Array, values: Array) -> Any:
    """The quotient of the sums of w/(x - nodes)*values and of w/(x - nodes) (Berrut and Trefethen, 2004).

    Both sums are taken times the distance of x to the nearest node: they are smooth there, too. ``x`` is a
    vector, and ``values`` a matrix with a row a node.
    """
    apart = x[:, None] - nodes
    nearest = np.argmin(np.real(stop_gradient(apart * np.conj(apart))), axis=1)
    here = nearest[:, None] == np.arange(nodes.shape[0])
    others = np.where(here, 0.0, weights / np.where(here, 1.0, apart))
    distance = (x - nodes[nearest])[:, None]
    total = np.sum(others, axis=1, keepdims=True)
    at_node, weight = values[nearest], weights[nearest][:, None]
    rise = others @ values - total * at_node
    return at_node + distance * rise / (weight + distance * total)


def evaluate_polynomial(interpolator: Any, x: Array) -> Any:
    """As `BarycentricInterpolator._evaluate`."""
    values = interpolator.yi
    return barycentric(x, interpolator.xi, interpolator.wi, values) if x.size else values[:0]


def evaluate_rational(interpolator: Any, z: npt.ArrayLike) -> Any:
    """As the call of a `FloaterHormannInterpolator` or of `AAA`."""
    x = number("FloaterHormannInterpolator", z)
    values, weights = interpolator._support_values, interpolator.weights
    rows = values.reshape(values.shape[0], -1)
    flat = np.ravel(x)
    far = np.isinf(flat)
    inside = np.where(far, interpolator._support_points[0], flat)
    found = barycentric(inside, interpolator._support_points, weights, rows)
    with np.errstate(divide="ignore", invalid="ignore"):
        limit = np.sum(weights[:, None] * rows, axis=0) / np.sum(weights)
    found = np.where(far[:, None], limit, found).reshape(x.shape + values.shape[1:])
    return np.moveaxis(found, 0, interpolator._axis) if x.ndim else found

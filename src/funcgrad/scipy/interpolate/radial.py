"""Interpolation by radial functions, in the data, their places, and the points."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from itertools import combinations_with_replacement
from types import MappingProxyType
from typing import Any

import numpy as np
import scipy.interpolate as _scipy
from scipy.spatial import KDTree

from funcgrad.graph import ArrayType
from funcgrad.ops.base.op import lift_fully
from funcgrad.ops.shape import holds_expr
from funcgrad.scipy.composition import SciPyWrapper, number, real, taken
from funcgrad.source import value_error
from funcgrad.transforms.custom.primitive import primitive
from funcgrad.transforms.grad import stop_gradient
from funcgrad.typing import Array, ArrayLike


def _thin_plate(r: Array) -> Any:
    positive = r > 0
    return np.where(positive, r * r * np.log(np.where(positive, r, 1.0)), 0.0)


_KERNELS: Mapping[str, Callable[[Array], Any]] = MappingProxyType(
    {
        "linear": lambda r: -r,
        "thin_plate_spline": _thin_plate,
        "cubic": lambda r: r**3,
        "quintic": lambda r: -(r**5),
        "multiquadric": lambda r: -np.sqrt(r * r + 1),
        "inverse_multiquadric": lambda r: 1 / np.sqrt(r * r + 1),
        "inverse_quadratic": lambda r: 1 / (r * r + 1),
        "gaussian": lambda r: np.exp(-r * r),
    }
)
_LEAST_DEGREES = {"multiquadric": 0, "linear": 0, "thin_plate_spline": 1, "cubic": 1, "quintic": 2}
_WITHOUT_SCALE = ("linear", "thin_plate_spline", "cubic", "quintic")


class RBFInterpolator(SciPyWrapper, of=_scipy.RBFInterpolator):
    """As `scipy.interpolate.RBFInterpolator`, also in the data d, their places y,
    ``smoothing``, ``epsilon``, and the points.

    Which ``neighbors`` a point has is constant.

    >>> import funcgrad as fg
    >>> plane = RBFInterpolator([[0.0], [1.0], [3.0]], [1.0, 3.0, 7.0], kernel="linear", degree=1)
    >>> round(fg.grad(lambda x: plane([[x]])[0])(0.5), 12)
    2.0
    """

    def _set_own(self, own: _scipy.RBFInterpolator) -> None:
        self.own = own
        data = own.d[:, 0::2] + 1j * own.d[:, 1::2] if _is_complex(own) else own.d
        self._data = own.y, data, own.smoothing, own.epsilon
        self._form = own.kernel, own.powers, own.neighbors, own.d_shape

    def _set_traced(
        self,
        y: ArrayLike,
        d: ArrayLike,
        neighbors: int | None = None,
        smoothing: ArrayLike = 0.0,
        kernel: str = "thin_plate_spline",
        epsilon: ArrayLike | None = None,
        degree: int | None = None,
    ) -> None:
        who, kernel = "RBFInterpolator", kernel.lower()
        places, data = real(who, y), number(who, d)
        if places.ndim != 2 or data.shape[:1] != places.shape[:1]:
            raise value_error(
                f"{who}: expected places in the rows of a matrix, and as many data, but got "
                f"{places.shape} and {data.shape}",
            )
        if kernel not in _KERNELS or (epsilon is None and kernel not in _WITHOUT_SCALE):
            raise value_error(
                f"{who}: expected a kernel among {', '.join(_KERNELS)}, and epsilon unless it is one of "
                f"{', '.join(_WITHOUT_SCALE)}, but got {kernel!r}",
            )
        count, size = places.shape
        least = _LEAST_DEGREES.get(kernel, -1)
        powers = _powers(size, max(least, 0) if degree is None else int(degree))
        neighbors = None if neighbors is None else int(min(neighbors, count))
        if len(powers) > (count if neighbors is None else neighbors):
            raise value_error(
                f"{who}: expected at least {len(powers)} data points for polynomials of {size} "
                f"variables, but got {count if neighbors is None else neighbors}",
            )
        weights = real(who, smoothing) + np.zeros(count)
        scale = real(who, 1.0 if epsilon is None else epsilon)
        self._data = places, data.reshape(count, -1), weights, scale
        self._form = kernel, powers, neighbors, data.shape[1:]

    def __call__(self, x: ArrayLike) -> Any:
        """The interpolant at points, whose coordinates are along the last axis."""
        if self.own is not None and not holds_expr(x):
            return self.own(x)
        (y, d, smoothing, epsilon), (kernel, powers, neighbors, shape) = self._data, self._form
        points = real("RBFInterpolator", x)
        if points.ndim != 2 or points.shape[1] != y.shape[1]:
            raise value_error(
                f"RBFInterpolator: expected points of shape (n, {y.shape[1]}), but got {points.shape}",
            )
        if neighbors is not None:
            near = _nearest(neighbors)(*[stop_gradient(lift_fully(item)) for item in (y, points)])
            y, d, smoothing = taken(y, near), taken(d, near), taken(smoothing, near)
            points = points[:, None, :]
        if self.own is not None and neighbors is None:
            own: Any = self.own
            shift, spread, coefficients = own._shift, own._scale, own._coeffs
            if _is_complex(own):
                coefficients = coefficients[:, 0::2] + 1j * coefficients[:, 1::2]
        else:
            shift, spread, coefficients = _solved(y, d, smoothing, epsilon, kernel, powers)
        columns = [
            _radial(points, y, epsilon, kernel),
            _monomials((points - shift) / spread, powers),
        ]
        value = np.matmul(np.concatenate(columns, axis=-1), coefficients)
        return value.reshape((points.shape[0], *shape))


def _is_complex(own: _scipy.RBFInterpolator) -> bool:
    """Whether an interpolant is of complex numbers, whose parts are columns in turn."""
    return bool(np.dtype(own.d_dtype).kind == "c")


@lru_cache(maxsize=16)
def _nearest(count: int) -> Callable[..., Any]:
    """The places of the nearest data of each point, rising."""

    def run(y: Array, points: Array) -> Any:
        found = KDTree(y).query(points, count)[1]
        return np.sort(found.reshape(len(points), count), axis=1).astype(np.int64)

    def out(y: ArrayType, points: ArrayType) -> ArrayType:
        return ArrayType((points.shape[0], count), np.dtype(np.int64))

    return primitive(run, out=out, name="neighbors")


def _powers(size: int, degree: int) -> Any:
    """The exponents of the monomials up to a degree."""
    found = [
        [chosen.count(axis) for axis in range(size)]
        for total in range(degree + 1)
        for chosen in combinations_with_replacement(range(size), total)
    ]
    return np.array(found, int).reshape(-1, size)


def _radial(x: Array, y: Array, epsilon: Array, kernel: str) -> Any:
    """The kernel of the distances between points and places."""
    off = (x[..., :, None, :] - y[..., None, :, :]) * epsilon
    return _KERNELS[kernel](np.linalg.norm(off, axis=-1))


def _monomials(x: Array, powers: Array) -> Any:
    """The monomials at points, along the last axis."""
    columns = [
        np.prod(np.stack([x[..., j] ** int(k) for j, k in enumerate(row)]), axis=0)
        for row in powers
    ]
    return np.stack(columns, axis=-1) if columns else np.zeros((*x.shape[:-1], 0))


def _solved(
    y: Array, d: Array, smoothing: Array, epsilon: Array, kernel: str, powers: Array
) -> tuple[Any, Any, Any]:
    """The shift and the scale of the monomials, and all coefficients, of one set of data or of many."""
    low, high = np.min(y, axis=-2, keepdims=True), np.max(y, axis=-2, keepdims=True)
    # Neither changes the interpolant.
    shift, spread = stop_gradient((high + low) / 2), stop_gradient((high - low) / 2)
    spread = np.where(spread == 0, 1.0, spread)
    inner = _radial(y, y, epsilon, kernel) + smoothing[..., None] * np.eye(y.shape[-2])
    beside = _monomials((y - shift) / spread, powers)
    count = len(powers)
    corner = np.zeros((*y.shape[:-2], count, count))
    lower = np.concatenate([np.swapaxes(beside, -1, -2), corner], axis=-1)
    matrix = np.concatenate([np.concatenate([inner, beside], axis=-1), lower], axis=-2)
    right = np.concatenate([d, np.zeros((*d.shape[:-2], count, d.shape[-1]))], axis=-2)
    return shift, spread, np.linalg.solve(matrix, right)

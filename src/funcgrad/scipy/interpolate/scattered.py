"""Interpolants of scattered data: by radial functions, in the points; on triangles, in the values, too."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.interpolate as _scipy

from funcgrad.graph import ArrayType
from funcgrad.ops.shape import holds_expr
from funcgrad.scipy.composition import OfPlainData, number, real, refuse, taken
from funcgrad.scipy.interpolate.piecewise import along
from funcgrad.source import fail
from funcgrad.transforms.custom.primitive import primitive
from funcgrad.typing import Array


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


class RBFInterpolator(OfPlainData):
    """As `scipy.interpolate.RBFInterpolator`, also in the points.

    Traced data and, for traced points, ``neighbors`` are TypeErrors.

    >>> import funcgrad as fg
    >>> plane = RBFInterpolator([[0.0], [1.0], [3.0]], [1.0, 3.0, 7.0], kernel="linear", degree=1)
    >>> round(fg.grad(lambda x: plane([[x]])[0])(0.5), 12)
    2.0
    """

    def __init__(self, y: npt.ArrayLike, d: npt.ArrayLike, *args: Any, **kwargs: Any) -> None:
        if holds_expr([y, d, *args, *kwargs.values()]):
            raise fail(
                TypeError,
                "RBFInterpolator: expected plain data, since SciPy solves for the coefficients in compiled "
                "code, but got traced values; write np.linalg.solve of the kernel's matrix",
            )
        super().__init__(_scipy.RBFInterpolator(y, d, *args, **kwargs))

    def __call__(self, x: npt.ArrayLike) -> Any:
        """The interpolant at points, whose coordinates are along the last axis."""
        own = self.own
        if not holds_expr(x):
            return own(x)
        refuse("RBFInterpolator", neighbors=own.neighbors)
        points = real("RBFInterpolator", x)
        if points.ndim != 2 or points.shape[1] != own.y.shape[1]:
            raise fail(
                ValueError,
                f"RBFInterpolator: expected points of shape (n, {own.y.shape[1]}), but got {points.shape}",
            )
        off = (points[:, None, :] - own.y) * own.epsilon
        scaled = (points - own._shift) / own._scale
        columns = [_KERNELS[own.kernel](np.linalg.norm(off, axis=-1))]
        columns += [
            np.prod(np.stack([scaled[:, j] ** int(k) for j, k in enumerate(powers)]), axis=0)[
                :, None
            ]
            for powers in own.powers
        ]
        value = np.concatenate(columns, axis=1) @ own._coeffs
        if own.d_dtype is complex:
            value = value[:, 0::2] + 1j * value[:, 1::2]
        return value.reshape((points.shape[0], *own.d_shape))


class LinearNDInterpolator:
    """As `scipy.interpolate.LinearNDInterpolator`, also in the values and the
    points x.

    The triangles are those of plain data; the search for the one around x has
    derivative 0.

    >>> import funcgrad as fg
    >>> corners = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    >>> plane = LinearNDInterpolator(corners, [1.0, 3.0, 6.0])
    >>> [round(slope, 12) for slope in fg.grad(plane, (0, 1))(0.2, 0.3)]
    [2.0, 5.0]
    """

    def __init__(
        self, points: Any, values: npt.ArrayLike, fill_value: Any = np.nan, rescale: bool = False
    ) -> None:
        if holds_expr([points, fill_value]):
            raise fail(
                TypeError,
                "LinearNDInterpolator: expected plain points, since triangles between them change by jumps, "
                "but got traced ones; traced values, and traced places to interpolate at, have derivatives",
            )
        self.values: Any = values
        plain = np.zeros(np.shape(values)) if holds_expr(values) else values
        self.own = _scipy.LinearNDInterpolator(points, plain, fill_value, rescale)

    @classmethod
    def of_scipy(cls, own: Any) -> LinearNDInterpolator:
        """SciPy's interpolant as one that takes traced points, too."""
        made = cls.__new__(cls)
        made.own, made.values = own, own.values.reshape((-1, *own.values_shape))
        return made

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name in ("own", "values"):
            raise AttributeError(name)
        return getattr(self.own, name)

    def __call__(self, *args: Any, simplex_tolerance: float = 1.0) -> Any:
        """The interpolant at points, whose coordinates are along the last axis, or given one by one."""
        own: Any = self.own
        if not holds_expr([self.values, *args]):
            # SciPy has the argument since version 1.18.
            options = {} if simplex_tolerance == 1 else {"simplex_tolerance": simplex_tolerance}
            return own(*args, **options)
        given = args[0] if len(args) == 1 else args
        apart = isinstance(given, tuple)
        q = real(
            "LinearNDInterpolator",
            np.stack(np.broadcast_arrays(*given), axis=-1) if apart else given,
        )
        size = own.tri.ndim
        if q.shape[-1:] != (size,):
            raise fail(
                ValueError,
                f"LinearNDInterpolator: expected {size} coordinates along the last axis, but got {q.shape}",
            )
        flat = q.reshape(-1, size)
        if own.scale is not None:  # the points were shifted and scaled
            flat = (flat - own.offset) / own.scale
        tolerance = 100 * np.finfo(float).eps * simplex_tolerance
        find_simplex = partial(own.tri.find_simplex, tol=tolerance)
        found = primitive(find_simplex, out=_one_each, name="find_simplex")(flat)
        transform = taken(own.tri.transform, found)
        share = np.sum(transform[:, :size] * (flat - transform[:, size])[:, None, :], axis=-1)
        shares = np.concatenate([share, 1 - np.sum(share, axis=-1, keepdims=True)], axis=-1)
        at_corners = taken(
            number("LinearNDInterpolator", self.values), taken(own.tri.simplices, found)
        )
        value = np.einsum("pc,pc...->p...", shares, at_corners)
        value = np.where(along(found >= 0, value.ndim - 1), value, own.fill_value)
        shape = q.shape[:-1] if apart or q.ndim > 1 else (1,)
        return value.reshape((*shape, *value.shape[1:]))


def _one_each(points: ArrayType) -> ArrayType:
    return ArrayType(points.shape[:1], np.dtype(np.int32))


class _AtPlainPoints(OfPlainData):
    """An interpolant that SciPy computes in compiled code, of plain values at plain points."""

    def __init__(self, *args: object, **kwargs: object) -> None:
        self._refuse_traced([*args, *kwargs.values()])
        super().__init__(getattr(_scipy, type(self).__name__)(*args, **kwargs))

    def __call__(self, *args: object, **kwargs: object) -> Any:
        """The values at the points, as SciPy's."""
        self._refuse_traced([*args, *kwargs.values()])
        return self.own(*args, **kwargs)

    def _refuse_traced(self, given: object) -> None:
        if holds_expr(given):
            raise fail(
                TypeError,
                f"{type(self).__name__}: expected plain values, but got traced ones; write "
                "LinearNDInterpolator, or RegularGridInterpolator for values on a grid",
            )


class CloughTocher2DInterpolator(_AtPlainPoints):
    """As `scipy.interpolate.CloughTocher2DInterpolator`, of plain values."""


class NearestNDInterpolator(_AtPlainPoints):
    """As `scipy.interpolate.NearestNDInterpolator`, of plain values."""

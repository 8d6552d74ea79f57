"""Interpolants of scattered data by radial functions, in the points."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.interpolate as _scipy

from funcgrad.ops.shape import holds_expr
from funcgrad.scipy.composition import real, refuse
from funcgrad.source import fail
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


class RBFInterpolator:
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
        self.own = _scipy.RBFInterpolator(y, d, *args, **kwargs)

    @classmethod
    def of_scipy(cls, own: Any) -> RBFInterpolator:
        """SciPy's interpolant as one that takes traced points, too."""
        made = cls.__new__(cls)
        made.own = own
        return made

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "own":
            raise AttributeError(name)
        return getattr(self.own, name)

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

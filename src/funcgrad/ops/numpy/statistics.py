"""Statistics of samples: weighted averages, quantiles, covariances."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from funcgrad.expr import Expr
from funcgrad.ops.base.arguments import inexact
from funcgrad.ops.base.axes import axes_of, axis_tuple, nonempty
from funcgrad.ops.base.op import differentiable, lift_fully
from funcgrad.ops.elementwise.magnitude import make_complex
from funcgrad.ops.shape import astype, expand_dims, reshape
from funcgrad.source import fail
from funcgrad.typing import Array, Axes, Axis


def average(
    x: Any,
    axis: Axis = None,
    weights: Any = None,
    returned: bool = False,
    *,
    keepdims: bool = False,
) -> Any:
    """As `numpy.average`."""
    x = inexact(x)
    if weights is None:
        weights = np.ones((), x.dtype)
    weights = lift_fully(weights)
    weights = astype(weights, np.result_type(x.dtype, weights.dtype))  # in which NumPy adds them
    if weights.shape not in ((), x.shape):
        given = () if axis is None else axis_tuple("average", axis, x)
        if weights.shape != tuple(x.shape[i] for i in given):
            raise fail(
                ValueError,
                f"average: expected weights of the shape of {x.type}, or as many as along axis, but "
                f"got {weights.type}",
            )
        weights = np.transpose(weights, np.argsort(given))
        weights = expand_dims(weights, tuple(i for i in range(x.ndim) if i not in given))
    weights = np.broadcast_to(weights, x.shape)
    total = np.sum(weights, axis, keepdims=keepdims)
    result = np.sum(x * weights, axis, keepdims=keepdims) / total
    return (result, total) if returned else result


def ptp(x: npt.ArrayLike, axis: Axis = None, *, keepdims: bool = False) -> Any:
    """As `numpy.ptp`: the largest less the smallest."""
    x = lift_fully(x)
    return np.max(x, axis, keepdims=keepdims) - np.min(x, axis, keepdims=keepdims)


# -- by order ------------------------------------------------------------------------------------
def median(a: npt.ArrayLike, axis: Axes = None, *, keepdims: bool | None = False) -> Any:
    """As `numpy.median`; what lies in the middle has the derivative."""
    return _quantile("median", a, 0.5, axis, "linear", keepdims)


def percentile(
    a: Array, q: Any, axis: Axis = None, *, method: str = "linear", keepdims: bool = False
) -> Any:
    """As `numpy.percentile`, differentiable in ``a`` and in ``q``: see `quantile`."""
    share = q / 100 if type(q) in (int, float) else np.true_divide(q, 100)
    return _quantile("percentile", a, share, axis, method, keepdims)


def quantile(
    a: Array, q: Array, axis: Axis = None, *, method: str = "linear", keepdims: bool = False
) -> Any:
    """As `numpy.quantile`, without weights.

    It is differentiable in ``a``, where what lies next to the quantile has the derivative, and by the method
    linear in ``q``, where it is that of the line between two entries. Beside an infinity NumPy's answer is
    nan; here it is the entry where the quantile is one, and else the infinity.
    """
    return _quantile("quantile", a, q, axis, method, keepdims)


PLACES: dict[str, Callable[[Any], Any]] = {
    "linear": lambda place: place,
    "lower": np.floor,
    "higher": np.ceil,
    "nearest": np.rint,
    "midpoint": lambda place: (np.floor(place) + np.ceil(place)) / 2,
}
_PLOTTING_POSITIONS = {
    "interpolated_inverted_cdf": (0, 1),
    "hazen": (0.5, 0.5),
    "weibull": (0, 0),
    "median_unbiased": (1 / 3, 1 / 3),
    "normal_unbiased": (3 / 8, 3 / 8),
}
"""The constants alpha and beta of Hyndman and Fan (1996), as NumPy's."""
ENTRIES = ("lower", "higher", "nearest")
"""The methods whose result is one of the entries."""


def _quantile(
    name: str, a: object, q: npt.ArrayLike, axis: Any, method: str, keepdims: bool | None
) -> Any:
    a = lift_fully(a)
    if a.dtype.kind == "c" and name != "median":
        raise fail(TypeError, f"{name}: expected real entries, but got {a.type}")
    shares = lift_fully(q) if isinstance(q, Expr) else np.asarray(q)
    if not isinstance(q, Expr) and not ((shares >= 0) & (shares <= 1)).all():
        raise fail(
            ValueError, f"{name}: expected shares from 0 to 1 (percents to 100), but got {shares}"
        )
    axes = axes_of(name, axis, a)
    rows = _rows(name, a, axes)
    place = _place(name, shares, len(rows), method)
    # As in NumPy, whole numbers of the whole choose entries too.
    if name == "median":  # the mean of the entry, or the two, in the middle
        z = np.mean(rows[(len(rows) - 1) // 2 : len(rows) // 2 + 1], axis=0)
    elif method in ENTRIES or (method == "linear" and shares.dtype.kind in "iu"):
        z = rows[place.astype(int)]
    else:
        z = _between(rows, place, weak=type(q) in (int, float))
    if differentiable(rows.dtype):
        z = np.where(rows[-1] == rows[-1], z, rows[-1])  # sorted, what is none stands last
    return (
        np.expand_dims(z, tuple(place.ndim + i for i in axes)) if keepdims is True and axes else z
    )


def _place(name: str, shares: Any, count: int, method: str) -> Any:
    """Where quantiles lie among sorted entries, of which the first is at 0."""
    if method in PLACES:
        return PLACES[method](shares * (count - 1))
    if isinstance(shares, Expr):
        if method in _PLOTTING_POSITIONS:
            alpha, beta = _PLOTTING_POSITIONS[method]
            place = count * shares + (alpha + shares * (1 - alpha - beta)) - 1
            return np.clip(place, 0, count - 1)
        known = ", ".join([*PLACES, *_PLOTTING_POSITIONS])
        raise fail(
            TypeError,
            f"{name}: expected numbers q for method {method!r}; for a traced q, use one of {known}",
        )
    return np.quantile(np.arange(float(count)), shares, method=method)  # type: ignore[call-overload]


def _rows(name: str, a: Any, axes: tuple[int, ...]) -> Any:
    """The entries in order along a first axis, in the place of the axes that are reduced."""
    kept = tuple(i for i in range(a.ndim) if i not in axes)
    count, lengths = math.prod([a.shape[i] for i in axes]), tuple(a.shape[i] for i in kept)
    if count:
        return np.sort(reshape(np.transpose(a, (*axes, *kept)), (count, *lengths)), axis=0)
    if name != "median":
        nonempty(name, a, axes)
    # The median of nothing is no number.
    return np.full_like(inexact(a), np.nan, shape=(1, *lengths))


def _between(rows: Any, place: Any, weak: bool) -> Any:
    """Sorted rows, at a place that may lie between two."""
    low, high = np.floor(place).astype(int), np.ceil(place).astype(int)
    share = np.reshape(place - low.astype(place.dtype), (*np.shape(place), *[1] * (rows.ndim - 1)))
    if weak:  # a number of Python's gives way to the dtype of the entries
        rows = inexact(rows)
        share = share.astype(np.real(np.ones((), rows.dtype)).dtype)
    else:
        rows = astype(rows, np.result_type(rows.dtype, share.dtype))
    below, above = rows[low], rows[high]
    return lerp(below, above, share)


def lerp(below: Array, above: Array, share: Array) -> Any:
    """The number at a share of the way from below to above, computed from the nearer end, as in NumPy.

    From an end to an infinity the way is from below, and no inf - inf where the number is an end itself.
    """
    apart = above - below
    from_below = below + np.where(share == 0, 0, apart * share)
    return np.where(
        (share >= 0.5) & (np.abs(apart) < np.inf), above - apart * (1 - share), from_below
    )


# -- together ------------------------------------------------------------------------------------
def cov(
    m: Any, y: object = None, rowvar: bool = True, bias: bool = False, ddof: int | None = None
) -> Any:
    """As `numpy.cov` without weights: each row a variable."""
    m, others = (_variables(x, rowvar) for x in (m, y))
    if others is not None:
        m = np.concatenate([m, others], axis=0)
    centered = m - np.mean(m, axis=1, keepdims=True)
    free = m.shape[1] - ((0 if bias else 1) if ddof is None else ddof)
    other = np.conjugate(centered) if m.dtype.kind == "c" else centered
    return np.squeeze(np.matmul(centered, np.transpose(other)) / max(free, 0))


def _variables(x: Any, rowvar: bool) -> Any:
    if x is None:
        return None
    x = lift_fully(x)
    if x.ndim > 2:
        raise fail(ValueError, f"cov: expected a vector or a matrix, but got {x.type}")
    x = astype(x, np.promote_types(x.dtype, float))
    return np.transpose(x) if x.ndim == 2 and not rowvar else np.atleast_2d(x)


def corrcoef(x: object, y: object = None, rowvar: bool = True) -> Any:
    """As `numpy.corrcoef`: covariances over the products of deviations, from -1 to 1."""
    c = cov(x, y, rowvar)
    if c.ndim == 0:
        return c / c
    deviation = np.sqrt(np.real(np.diag(c)))
    c = c / deviation[:, None] / deviation
    if c.dtype.kind != "c":
        return np.clip(c, -1, 1)
    return make_complex(np.clip(np.real(c), -1, 1), np.clip(np.imag(c), -1, 1))

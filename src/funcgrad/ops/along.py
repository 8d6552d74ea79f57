"""Operations along one axis: where its extremes are, its order, running sums and products."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from funcgrad.expr import Expr
from funcgrad.graph import ArrayType
from funcgrad.linear import Structural
from funcgrad.ops.axes import axes_of, dropped, nonempty, on_moved_axes, scan_products
from funcgrad.ops.op import Op, differentiable, lift_all, lift_fully
from funcgrad.ops.promotion import numpy_dtype
from funcgrad.ops.shape import astype, reshape
from funcgrad.source import fail


def _position(name: str, run: Callable[..., Any]) -> Op:
    return Op(
        name=name,
        run=lambda x, axis: run(x, axis=axis),
        infer=lambda type, axis: ArrayType(dropped(type.shape, (axis,)), np.dtype(np.intp)),
        edges=(None,),
        batch=on_moved_axes(name),
    )


argmax_op = _position("argmax", np.argmax)
argmin_op = _position("argmin", np.argmin)
argsort_op = Op(
    name="argsort",
    run=lambda x, axis: np.argsort(x, axis=axis, kind="stable"),
    infer=lambda type, axis: ArrayType(type.shape, np.dtype(np.intp)),
    edges=(None,),
    batch=on_moved_axes("argsort"),
)
cumsum_op = Op(
    name="cumsum",
    run=lambda x, axis: np.cumsum(x, axis=axis),
    infer=lambda type, axis: ArrayType(type.shape, numpy_dtype(np.cumsum, type.dtype)),
    batch=on_moved_axes("cumsum"),
    edges=(
        lambda z, x, *, axis: Structural(
            lambda v: np.cumsum(v, axis=axis),
            lambda g: np.flip(np.cumsum(np.flip(g, axis), axis=axis), axis),
        ),
    ),
)


# -- NumPy's functions ---------------------------------------------------------------------------
def _flat(x: Any, axis: int | None) -> tuple[Any, int]:
    x = lift_fully(x)
    if axis is None or (x.ndim == 0 and axis in (0, -1)):
        return reshape(x, -1), 0
    return x, normalize_axis_index(axis, x.ndim)


def argmax(x: Any, axis: int | None = None, *, keepdims: Any = False) -> Any:
    """As `numpy.argmax`; not differentiable."""
    return _locate(argmax_op, x, axis, keepdims)


def argmin(x: Any, axis: int | None = None, *, keepdims: Any = False) -> Any:
    """As `numpy.argmin`; not differentiable."""
    return _locate(argmin_op, x, axis, keepdims)


def _locate(op: Op, x: Any, axis: int | None, keepdims: Any) -> Any:
    x = nonempty(op.name, x, axis)
    flat, place = _flat(x, axis)
    z = op(flat, axis=place)
    if keepdims is not True:
        return z
    whole = axis is None or x.ndim == 0
    return reshape(z, (1,) * x.ndim) if whole else np.expand_dims(z, place)


def argsort(x: Any, axis: int | None = -1, **_: Any) -> Any:
    """As `numpy.argsort`, stable; not differentiable."""
    x, place = _flat(x, axis)
    return argsort_op(x, axis=place)


def sort(x: Any, axis: int | None = -1, **_: Any) -> Any:
    """As `numpy.sort`: the entries taken in the order of `argsort`."""
    x = lift_fully(x)
    x, place = _flat(x, axis if axis is None else normalize_axis_index(axis, x.ndim))
    return np.take_along_axis(x, argsort_op(x, axis=place), place)


def cumsum(x: Any, axis: int | None = None, dtype: Any = None) -> Any:
    """As `numpy.cumsum`."""
    x, place = _flat(x if dtype is None else astype(x, dtype), axis)
    return cumsum_op(x, axis=place)


def cumprod(x: Any, axis: int | None = None, dtype: Any = None) -> Any:
    """As `numpy.cumprod`: a composition, exact where entries are zero."""
    x, place = _flat(x if dtype is None else astype(x, dtype), axis)
    return scan_products(astype(x, dtype or numpy_dtype(np.cumprod, x.dtype)), place)


def cumulative_sum(
    x: Any, /, *, axis: int | None = None, dtype: Any = None, include_initial: bool = False
) -> Any:
    """As `numpy.cumulative_sum`."""
    return _cumulative("cumulative_sum", cumsum, x, axis, dtype, 0 if include_initial else None)


def cumulative_prod(
    x: Any, /, *, axis: int | None = None, dtype: Any = None, include_initial: bool = False
) -> Any:
    """As `numpy.cumulative_prod`."""
    return _cumulative("cumulative_prod", cumprod, x, axis, dtype, 1 if include_initial else None)


def _cumulative(
    name: str, scan: Any, x: Any, axis: int | None, dtype: Any, first: int | None
) -> Any:
    x = lift_fully(x)
    if axis is None and x.ndim > 1:
        raise fail(ValueError, f"{name}: expected an axis for {x.type}, which has several")
    x, place = _flat(x, axis)
    z = scan(x, place, dtype)
    if first is None:
        return z
    shape = (*z.shape[:place], 1, *z.shape[place + 1 :])
    return np.concatenate([np.full_like(z, first, shape=shape), z], axis=place)


def diff(
    x: Any, n: int = 1, axis: int = -1, prepend: Any = np._NoValue, append: Any = np._NoValue
) -> Any:
    """As `numpy.diff`."""
    x = lift_fully(x)
    place = normalize_axis_index(axis, x.ndim)
    ends = [
        x if end is x else _end(end, x, place)
        for end in (prepend, x, append)
        if end is not np._NoValue
    ]
    x = np.concatenate(ends, axis=place) if len(ends) > 1 else x
    step = np.not_equal if x.dtype.kind == "b" else np.subtract
    for _ in range(n):
        x = step(_cut(x, place, slice(1, None)), _cut(x, place, slice(None, -1)))
    return x


def _end(value: Any, x: Any, axis: int) -> Any:
    value = lift_fully(value)
    shape = (*x.shape[:axis], 1, *x.shape[axis + 1 :])
    return np.broadcast_to(value, shape) if value.ndim == 0 else value


def _cut(x: Any, axis: int, part: slice) -> Any:
    return x[(slice(None),) * axis + (part,)]


def _real(x: Any) -> Any:
    """An operand with values that can be divided."""
    x = lift_fully(x)
    return x if differentiable(x.dtype) else astype(x, float)


def _steps(x: Any, axis: int, ndim: int) -> Any:
    """Differences of coordinates along an axis, with as many axes as what they belong to."""
    x = lift_fully(x)
    if x.ndim != 1:
        return diff(x, axis=axis)
    return reshape(diff(x), (-1,) + (1,) * (ndim - 1 - axis))


# -- sums and slopes of samples ------------------------------------------------------------------
def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Any:
    """As `numpy.trapezoid`: the integral of what connects the samples."""
    y = lift_fully(y)
    place = normalize_axis_index(axis, y.ndim)
    width = dx if x is None else _steps(x, place, y.ndim)
    pairs = _cut(y, place, slice(1, None)) + _cut(y, place, slice(None, -1))
    return np.sum(width * pairs / 2.0, axis=place)


def gradient(f: Any, *varargs: Any, axis: Any = None, edge_order: int = 1) -> Any:
    """As `numpy.gradient`: slopes of samples, by differences of second order inside.

    What differentiates a formula is `funcgrad.gradient`.
    """
    f = _real(f)
    axes = (axis,) if isinstance(axis, int) else range(f.ndim) if axis is None else axis
    places = [normalize_axis_index(i, f.ndim) for i in axes]
    spacings = varargs * len(places) if len(varargs) == 1 else varargs or (1.0,) * len(places)
    if len(spacings) != len(places):
        raise fail(
            TypeError,
            f"gradient: expected one spacing, or one for each of {len(places)} axes, but got "
            f"{len(varargs)}",
        )
    if edge_order not in (1, 2):
        raise fail(ValueError, f"gradient: expected edge_order 1 or 2, but got {edge_order!r}")
    slopes = tuple(
        [_slope(f, h, place, edge_order) for h, place in zip(spacings, places, strict=True)]
    )
    return slopes[0] if len(slopes) == 1 else slopes


def _slope(f: Any, spacing: Any, axis: int, edge_order: int) -> Any:
    count = f.shape[axis]
    if count <= edge_order:
        raise fail(
            ValueError,
            f"gradient: expected {edge_order + 1} entries or more along axis {axis}, but got {f.type}",
        )
    even = np.ndim(spacing) == 0
    steps = spacing if even else diff(spacing)
    if not even and steps.shape != (count - 1,):
        raise fail(
            ValueError,
            f"gradient: expected a distance, or {count} coordinates along axis {axis}, but got shape "
            f"{np.shape(spacing)}",
        )
    wide = (-1,) + (1,) * (f.ndim - 1 - axis)
    a, b = (spacing, spacing) if even else (reshape(h, wide) for h in (steps[:-1], steps[1:]))
    slopes = diff(f, axis=axis) / (steps if even else reshape(steps, wide))
    left, right = _cut(slopes, axis, slice(None, -1)), _cut(slopes, axis, slice(1, None))
    first, last = _cut(slopes, axis, slice(1)), _cut(slopes, axis, slice(-1, None))
    # Inside, the slopes on both sides, each weighted by the other's step; at the ends, the one there.
    inside = (left + right) / 2 if even else (left * b + right * a) / (a + b)
    if edge_order == 2:
        bend = (right - left) / (a + b)
        first = first - _cut(bend, axis, slice(1)) * (a if even else a[:1])
        last = last + _cut(bend, axis, slice(-1, None)) * (b if even else b[-1:])
    return astype(np.concatenate([first, inside, last], axis=axis), f.dtype)


# -- by order ------------------------------------------------------------------------------------
def median(a: Any, axis: Any = None, *, keepdims: Any = False, **rest: Any) -> Any:
    """As `numpy.median`; what lies in the middle has the derivative."""
    return _quantile("median", a, 0.5, axis, "linear", keepdims, rest)


def percentile(
    a: Any, q: Any, axis: Any = None, *, method: str = "linear", keepdims: Any = False, **rest: Any
) -> Any:
    """As `numpy.percentile`, differentiable in ``a``."""
    _constant("percentile", q)
    share = q / 100 if type(q) in (int, float) else np.true_divide(q, 100)
    return _quantile("percentile", a, share, axis, method, keepdims, rest)


def quantile(
    a: Any, q: Any, axis: Any = None, *, method: str = "linear", keepdims: Any = False, **rest: Any
) -> Any:
    """As `numpy.quantile` with one of the methods linear, lower, higher, nearest and midpoint.

    It is differentiable in ``a``: what lies next to the quantile has the derivative.
    """
    _constant("quantile", q)
    return _quantile("quantile", a, q, axis, method, keepdims, rest)


def _constant(name: str, q: Any) -> None:
    if isinstance(q, Expr):
        raise fail(TypeError, f"{name}: expected q to be numbers, but got an expression, {q!r}")


_PLACES: dict[str, Callable[[Any], Any]] = {
    "linear": lambda place: place,
    "lower": np.floor,
    "higher": np.ceil,
    "nearest": np.rint,
    "midpoint": lambda place: (np.floor(place) + np.ceil(place)) / 2,
}
_ENTRIES = ("lower", "higher", "nearest")
"""The methods whose result is one of the entries."""


def _quantile(
    name: str, a: Any, q: Any, axis: Any, method: str, keepdims: Any, rest: dict[str, Any]
) -> Any:
    if rest or method not in _PLACES:
        given = ", ".join(rest) or repr(method)
        raise fail(
            TypeError,
            f"{name}: expected axis, keepdims and a method among {', '.join(_PLACES)}, but got {given}",
        )
    a, weak = lift_fully(a) if method in _ENTRIES else _real(a), type(q) in (int, float)
    if a.dtype.kind == "c" and name != "median":
        raise fail(TypeError, f"{name}: expected real entries, but got {a.type}")
    q = np.asarray(q, np.real(np.ones((), a.dtype)).dtype if weak else None)
    if not ((q >= 0) & (q <= 1)).all():
        raise fail(
            ValueError, f"{name}: expected shares from 0 to 1 (percents to 100), but got {q}"
        )
    axes = axes_of(axis, a.ndim)
    kept = tuple(i for i in range(a.ndim) if i not in axes)
    count, rest_shape = math.prod([a.shape[i] for i in axes]), tuple(a.shape[i] for i in kept)
    if count:
        rows = sort(reshape(np.transpose(a, (*axes, *kept)), (count, *rest_shape)), axis=0)
        place = _PLACES[method](q * (count - 1))
        z = rows[place.astype(int)] if method in _ENTRIES else _between(rows, place)
        z = np.where(rows[-1] == rows[-1], z, rows[-1])  # sorted, what is none stands last
    elif name == "median":  # of nothing
        z = np.full_like(a, np.nan, shape=rest_shape)
    else:
        nonempty(name, a, axis)
    return np.expand_dims(z, tuple(q.ndim + i for i in axes)) if keepdims is True and axes else z


def _between(rows: Any, place: Any) -> Any:
    """Sorted rows, at a place that may lie between two."""
    low, high = np.floor(place).astype(int), np.ceil(place).astype(int)
    share = np.reshape(place - low.astype(place.dtype), (*np.shape(place), *[1] * (rows.ndim - 1)))
    below, above = rows[low], rows[high]
    # No inf - inf where nothing lies between.
    return below + np.where(share == 0, 0, (above - below) * share)


def searchsorted(a: Any, v: Any, side: str = "left", sorter: Any = None) -> Any:
    """As `numpy.searchsorted`, by comparing each with each; not differentiable."""
    if side not in ("left", "right"):
        raise fail(ValueError, f"searchsorted: expected side 'left' or 'right', but got {side!r}")
    a, v = lift_all((a, v))
    a = a if sorter is None else a[sorter]
    before = np.less if side == "left" else np.less_equal
    return np.sum(before(a, np.expand_dims(v, -1)), axis=-1)


def interp(
    x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None
) -> Any:
    """As `numpy.interp`, differentiable in all three; at a knot it has the slope to the right of it."""
    x, xp, fp = (_real(item) for item in (x, xp, fp))
    if "c" in (x.dtype.kind, xp.dtype.kind):
        raise fail(TypeError, f"interp: expected real places, but got {x.type} among {xp.type}")
    if xp.ndim != 1 or xp.shape != fp.shape or not xp.size:
        raise fail(
            ValueError,
            f"interp: expected vectors of one length for xp and fp, but got {xp.type} and {fp.type}",
        )
    if period is not None:
        x, xp = np.remainder(x, period), np.remainder(xp, period)
        order = argsort(xp)
        xp, fp = xp[order], fp[order]
        xp = np.concatenate([xp[-1:] - period, xp, xp[:1] + period])
        fp = np.concatenate([fp[-1:], fp, fp[:1]])
        left = right = None
    left, right = (fp[0] if left is None else left), (fp[-1] if right is None else right)
    count = xp.shape[0]
    if count == 1:
        inside = fp[0] + 0 * x
    else:
        i = np.clip(searchsorted(xp, x, "right") - 1, 0, count - 2)
        width, rise = xp[i + 1] - xp[i], fp[i + 1] - fp[i]
        # Of knots that fall together the last counts, as in NumPy.
        share = (x - xp[i]) / np.where(width == 0, 1, width)
        inside = fp[i] + np.where(width == 0, 1, share) * rise
    return np.where(x < xp[0], left, np.where(x > xp[-1], right, inside))

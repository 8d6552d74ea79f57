"""Functions known by samples: their integrals, their slopes, what lies between."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from funcgrad.arrays.reference import holds_expr
from funcgrad.expr import Expr
from funcgrad.ops.base.arguments import inexact, slice_axis
from funcgrad.ops.base.axes import axis_index, axis_tuple
from funcgrad.ops.base.op import lift_fully
from funcgrad.ops.elementwise.magnitude import make_complex
from funcgrad.ops.piecewise_linear import interp_op
from funcgrad.ops.scans_and_sorts import argsort, diff
from funcgrad.ops.shape import astype, reshape
from funcgrad.source import type_error, value_error
from funcgrad.typing import Array, ArrayLike, Axes


def trapezoid(y: ArrayLike, x: object = None, dx: Any = 1.0, axis: int = -1) -> Any:
    """As `numpy.trapezoid`: the integral of what connects the samples."""
    y = lift_fully(y)
    place = axis_index("trapezoid", axis, y)
    width = dx if x is None else _steps(x, axis, y.ndim)
    pairs = slice_axis(y, place, slice(1, None)) + slice_axis(y, place, slice(None, -1))
    return np.sum(width * pairs / 2.0, axis=axis)  # also where x has more axes than y


def _steps(x: object, axis: int, ndim: int) -> Any:
    """Differences of coordinates along an axis, with as many axes as what they belong to."""
    x = lift_fully(x)
    if x.ndim != 1:
        return diff(x, axis=axis)
    return reshape(diff(x), (-1,) + (1,) * (ndim - 1 - axis % ndim))


# -- slopes --------------------------------------------------------------------------------------
def gradient(f: Any, *varargs: Any, axis: Axes = None, edge_order: int = 1) -> Any:
    """As `numpy.gradient`: slopes of samples, by differences of second order inside.

    What differentiates a formula is `funcgrad.gradient`.
    """
    f = inexact(f)
    places = range(f.ndim) if axis is None else axis_tuple("gradient", axis, f)
    varargs = tuple([lift_fully(h) if holds_expr(h) else h for h in varargs])
    alike = len(varargs) == 1 and np.ndim(varargs[0]) == 0
    spacings = varargs * len(places) if alike else varargs or (1.0,) * len(places)
    if len(spacings) != len(places):
        raise type_error(
            f"gradient: expected one spacing, or one for each of {len(places)} axes, but got "
            f"{len(varargs)}",
        )
    if edge_order not in (1, 2):
        raise value_error(f"gradient: expected edge_order 1 or 2, but got {edge_order!r}")
    slopes = tuple(
        [_slope(f, h, place, edge_order) for h, place in zip(spacings, places, strict=True)]
    )
    return slopes[0] if len(slopes) == 1 else slopes


def _slope(f: Any, spacing: Any, axis: int, edge_order: int) -> Any:
    count = f.shape[axis]
    if count <= edge_order:
        raise value_error(
            f"gradient: expected {edge_order + 1} entries or more along axis {axis}, but got {f.type}",
        )
    steps = _widths(spacing, count, axis)

    def part(start: int | None, stop: int | None) -> Any:
        return slice_axis(f, axis, slice(start, stop))

    before, after = part(None, -2), part(2, None)
    if np.ndim(steps) == 0:
        # Without the sample in the middle, whose weight is 0: it may be no number.
        inside = (after - before) / (2.0 * steps)
        ends = steps, steps
    else:
        wide = reshape(steps, (-1,) + (1,) * (f.ndim - 1 - axis))
        inside = _weighted(_inner_weights(wide[:-1], wide[1:]), (before, part(1, -1), after))
        ends = wide[:1], wide[-1:]
    if edge_order == 1:
        first = (part(1, 2) - part(0, 1)) / ends[0]
        last = (part(-1, None) - part(-2, -1)) / ends[1]
    else:
        first, last = _outer_slopes(f, axis, steps if np.ndim(steps) == 0 else wide)
    return astype(np.concatenate([first, inside, last], axis=axis), f.dtype)


def _widths(spacing: Any, count: int, axis: int) -> Any:
    """The steps between samples: one number where they are known to be even."""
    if np.ndim(spacing) == 0:
        return spacing
    traced = isinstance(spacing, Expr)
    spacing = inexact(spacing) if traced else np.asarray(spacing) + 0.0
    steps = np.diff(spacing)
    if steps.shape != (count - 1,):
        raise value_error(
            f"gradient: expected a distance, or {count} coordinates along axis {axis}, but got shape "
            f"{np.shape(spacing)}",
        )
    return steps[0] if not traced and (steps == steps[0]).all() else steps


def _weighted(weights: Sequence[Any], samples: Sequence[Any]) -> Any:
    return weights[0] * samples[0] + weights[1] * samples[1] + weights[2] * samples[2]


def _inner_weights(h: Array, k: int) -> tuple[Any, Any, Any]:
    """Of three samples, steps h and k apart, for the slope of their parabola in the middle."""
    return -k / (h * (h + k)), (k - h) / (h * k), h / (k * (h + k))


def _outer_slopes(f: Array, axis: int, steps: Any) -> tuple[Any, Any]:
    """Those of the parabolas of the first three samples and the last three, at the ends."""
    first = [slice_axis(f, axis, slice(i, i + 1)) for i in range(3)]
    last = [slice_axis(f, axis, slice(f.shape[axis] - i, f.shape[axis] - i + 1)) for i in (3, 2, 1)]
    if np.ndim(steps) == 0:
        at_first = at_last = (-1.5 / steps, 2.0 / steps, -0.5 / steps)
    else:
        at_first = _end_weights(steps[:1], steps[1:2])
        at_last = _end_weights(steps[-1:], steps[-2:-1])
    return _weighted(at_first, first), _weighted([-w for w in at_last[::-1]], last)


def _end_weights(h: Array, k: Any) -> tuple[Any, Any, Any]:
    return -(2.0 * h + k) / (h * (h + k)), (h + k) / (h * k), -h / (k * (h + k))


# -- what lies between ---------------------------------------------------------------------------
def interp(
    x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: float | None = None
) -> Any:
    """As `numpy.interp`, differentiable in all three; at a knot it has the slope to the right of it.

    At the last knot, that is the slope to the left of it.
    """
    x, xp, fp = (inexact(item) for item in (x, xp, fp))
    if "c" in (x.dtype.kind, xp.dtype.kind):
        raise type_error(f"interp: expected real places, but got {x.type} among {xp.type}")
    if xp.ndim != 1 or xp.shape != fp.shape or not xp.size:
        raise value_error(
            f"interp: expected vectors of one length for xp and fp, but got {xp.type} and {fp.type}",
        )
    # NumPy interpolates in double precision.
    x, xp = (astype(item, float) for item in (x, xp))
    fp = astype(fp, np.promote_types(fp.dtype, float))
    if period is not None:
        x, xp, fp = _around(x, xp, fp, period)
        left = right = None
    inside = np.broadcast_to(fp[0], x.shape) if xp.shape[0] == 1 else _between_knots(x, xp, fp)
    above = inside if right is None else np.where(x > xp[-1], right, inside)
    return above if left is None else np.where(x < xp[0], left, above)


def _around(x: Any, xp: Any, fp: Any, period: Any) -> tuple[Any, Any, Any]:
    """Places and knots within one period, with the knots before and after it."""
    if not isinstance(period, Expr) and period == 0:
        raise value_error("interp: expected a period other than 0, but got 0")
    period = np.abs(period)
    x, xp = np.remainder(x, period), np.remainder(xp, period)
    order = argsort(xp)
    xp, fp = xp[order], fp[order]
    xp = np.concatenate([xp[-1:] - period, xp, xp[:1] + period])
    return x, xp, np.concatenate([fp[-1:], fp, fp[:1]])


def _between_knots(x: Any, xp: Any, fp: Any) -> Any:
    if fp.dtype.kind == "c":
        # Apart, since an infinity in one part would leave no number in the other.
        return make_complex(*[interp_op(x, xp, part) for part in (np.real(fp), np.imag(fp))])
    return interp_op(x, xp, fp)

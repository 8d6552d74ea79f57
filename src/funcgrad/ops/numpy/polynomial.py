"""Polynomials by their coefficients: powers, values, fits."""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad.expr import Expr
from funcgrad.expr.concrete import concrete_value, has_known_value
from funcgrad.expr.registry import functions
from funcgrad.ops.base.op import lift_all, lift_fully
from funcgrad.ops.elementwise.selection import stopped
from funcgrad.ops.numpy.linear_algebra import lstsq
from funcgrad.ops.shape import astype, reshape
from funcgrad.source import type_error, value_error
from funcgrad.typing import ArrayLike


def vander(x: Any, N: int | None = None, increasing: bool = False) -> Any:
    """As `numpy.vander`: the powers of a vector's entries, in columns."""
    x = lift_fully(x)
    if x.ndim != 1:
        raise value_error(f"vander: expected a vector, but got {x.type}")
    x = astype(x, np.promote_types(x.dtype, int))
    count = x.size if N is None else N
    if not count:
        return np.zeros((x.size, 0), x.dtype)
    powers = [np.ones_like(x)]
    for _ in range(count - 1):
        powers.append(powers[-1] * x)
    return np.stack(powers if increasing else powers[::-1], axis=-1)


def polyval(p: ArrayLike, x: ArrayLike) -> Any:
    """As `numpy.polyval`: the polynomial of coefficients, the highest power's first."""
    if isinstance(x, np.poly1d):
        return NotImplemented  # NumPy's own code runs
    p, x = lift_all((p, x))
    z = np.zeros_like(x)
    for i in range(p.shape[0]):
        z = z * x + p[i]
    return z


def poly(seq_of_zeros: Any) -> Any:
    """As `numpy.poly`; the characteristic polynomial of a matrix has derivatives at equal eigenvalues, too.

    They are those of Faddeev and LeVerrier's recurrence, which loses digits in larger matrices.
    """
    x = lift_fully(seq_of_zeros)
    if x.ndim != 2 or len(x) > _LARGEST or x.dtype.kind not in "fc":
        return NotImplemented
    own: Any = np.poly(np.linalg.eigvals(stopped(x)))
    own = own if x.dtype.kind == "c" else np.real(own)
    unit = np.eye(len(x), dtype=x.dtype)
    found, product = [np.ones((), x.dtype)], unit
    for k in range(1, len(x) + 1):
        product = x @ product
        found.append(-np.trace(product) / k)
        product = product + found[-1] * unit
    moved = np.stack(found)
    return own + (moved - stopped(moved))


_LARGEST = 12
"""The number of rows up to which the recurrence is used."""


def roots(p: object) -> Any:
    """As `numpy.roots`. Raises TypeError for a first or last 0 that is differentiated."""
    _keep_zeros("roots", lift_fully(p), "fb")
    return NotImplemented


def trim_zeros(filt: object, trim: Any = "fb", axis: object = None) -> Any:
    """As `numpy.trim_zeros`. Raises TypeError for a 0 to cut off that is differentiated."""
    _keep_zeros("trim_zeros", lift_fully(filt), trim, axis)
    return NotImplemented


def _is_differentiated(x: Expr) -> bool:
    return bool(x.traced) and bool(functions["is_varied"](x))


def _keep_zeros(name: str, x: Expr, trim: Any, axis: Any = None) -> None:
    """Refuse to cut zeros off, if they have derivatives, which would be lost."""
    if _is_differentiated(x):
        value: Any = concrete_value(x, name)
        if np.shape(np.trim_zeros(value, trim, axis)) != x.shape:
            raise type_error(
                f"{name}: expected no zeros at the ends of values that are differentiated, since each has a "
                "derivative, which is lost if it is cut off; cut x[i:j], or write fg.stop_gradient(x)",
            )


def polyfit(
    x: Any,
    y: Any,
    deg: int,
    rcond: Any = None,
    full: bool = False,
    w: object = None,
    cov: bool | str = False,
) -> Any:
    """As `numpy.polyfit`, of one degree."""
    if np.ndim(deg):
        raise type_error(f"polyfit: expected one degree, but got {deg!r}")
    deg = int(deg)  # as NumPy, which truncates
    if deg < 0:
        raise value_error(f"polyfit: expected a degree of 0 or more, but got {deg}")
    x, y = lift_all((x, y))
    if x.ndim != 1 or y.ndim not in (1, 2) or y.shape[0] != x.size or not x.size:
        raise value_error(
            f"polyfit: expected as many values as places, but got {x.type} and {y.type}"
        )
    eps = np.finfo(x.dtype if x.dtype.kind in "fc" else float).eps
    x, y = (astype(v, np.promote_types(v.dtype, float)) for v in (x, y))
    a = vander(x, deg + 1)
    if w is not None:
        weight = lift_fully(w)
        a, y = a * weight[:, None], y * reshape(weight, (-1,) + (1,) * (y.ndim - 1))
    scale = np.sqrt(np.sum(a * a, axis=0))
    cut = x.size * eps if rcond is None else rcond
    a = a / scale
    solution, residuals, rank, values = lstsq(a, y, cut)
    solution = solution / reshape(scale, (-1,) + (1,) * (y.ndim - 1))
    if full:
        return solution, residuals, rank, values, cut
    if not cov:
        return solution
    matrix = np.linalg.inv(np.matmul(np.swapaxes(a, 0, 1), a)) / (scale[:, None] * scale)
    factor: Any = 1.0
    if cov != "unscaled":
        if x.size <= deg + 1:
            raise value_error(
                "polyfit: expected more values than coefficients for the scale of the covariances, but got "
                f"{x.size} and {deg + 1}; write cov='unscaled'",
            )
        factor = residuals / (x.size - deg - 1)
    return solution, (matrix if y.ndim == 1 else matrix[:, :, None]) * factor


def polymul(a1: object, a2: object) -> Any:
    """As `numpy.polymul`. A factor that is differentiated has all of its coefficients, the first ones too if
    they are 0, since they have derivatives."""
    first, second = [_from_first_power(np.atleast_1d(p)) for p in lift_all((a1, a2))]
    return np.convolve(first, second)


def _from_first_power(p: Any) -> Any:
    """The coefficients of a polynomial from the first one that is not 0, unless it has a derivative."""
    if p.ndim != 1 or _is_differentiated(p) or not has_known_value(p):
        return p
    cut = np.trim_zeros(p, "f")
    return cut if cut.size else np.zeros(1, p.dtype)


def polydiv(u: object, v: object) -> Any:
    """As `numpy.polydiv`. The remainder that is differentiated has all of its coefficients, also zeros."""
    given = lift_all((u, v))
    if not any(map(_is_differentiated, given)):
        return NotImplemented
    first, divisor = [np.atleast_1d(p) + 0.0 for p in given]
    rest, last = first, divisor.size - 1
    scale, quotient = 1.0 / divisor[0], []
    for _ in range(first.size - last):
        quotient.append(scale * rest[0])
        head = rest[: last + 1] - quotient[-1] * divisor
        rest = np.concatenate([head[1:], rest[last + 1 :]])
    if not quotient:
        return first[:1] * divisor[0] * 0, first
    return np.stack(quotient), rest if last else head

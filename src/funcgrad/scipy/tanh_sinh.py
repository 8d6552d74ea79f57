"""`scipy.integrate.tanhsinh`: SciPy's own integrals, with the derivatives of Leibniz's rule.

A derivative through SciPy's sums would be NaN wherever the integrand's is at one of its outermost places.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import scipy.integrate as _scipy
from scipy._lib._util import _RichResult

from funcgrad.arrays.mutable_array import mutable
from funcgrad.expr.registry import functions
from funcgrad.graph import ArrayType
from funcgrad.ops.base.op import fit, lift_fully
from funcgrad.ops.shape import holds_expr
from funcgrad.scipy.composition import real, unreplaced, without_derivative, without_tracing
from funcgrad.scipy.integral import integral_of
from funcgrad.scipy.integrand import integrand_of
from funcgrad.scipy.quadrature import tanhsinh_result
from funcgrad.transforms.vmap import vmap
from funcgrad.typing import Array, ArrayLike

_SCIPYS = unreplaced(_scipy.tanhsinh)
_REAL = ArrayType((), np.dtype(float))


def tanhsinh(
    f: Callable[..., Any],
    a: ArrayLike,
    b: ArrayLike,
    *,
    args: Any = (),
    kwargs: Mapping[str, Any] | None = None,
    **options: Any,
) -> Any:
    """As `scipy.integrate.tanhsinh`, in the limits, in ``args``, in ``kwargs``
    (since SciPy 1.18) and in what ``f`` captures.

    >>> import funcgrad as fg
    >>> area = lambda p: tanhsinh(lambda x, p: x**-p, 1.0, np.inf, args=(p,)).integral
    >>> round(fg.grad(area)(3.0), 9)
    -0.25
    """
    given = tuple(args) if np.iterable(args) else (args,)  # SciPy unpacks lists and arrays, too
    if kwargs:
        named = _by_place(f, len(given), tuple(kwargs))
        return tanhsinh(named, a, b, args=(*given, *kwargs.values()), **options)
    if not holds_expr([a, b]) and without_tracing(f, 0.5, given):
        return _scipy.tanhsinh(f, a, b, args=args, **options)
    if any([options.get(name) for name in ("log", "callback")]):
        return functions["call_adopted"](_SCIPYS, (f, a, b), {"args": args, **options})
    ends = [real("tanhsinh", end) for end in (a, b)]
    given = tuple([real("tanhsinh", item) for item in given])
    if options.pop("preserve_shape", False):
        shape, integral, others = _whole_arrays(f, ends, given, options)
    else:
        parts = np.broadcast_arrays(*ends, *given)
        shape = parts[0].shape
        one = vmap(lambda low, high, *args: _integrated(f, low, high, args, options))
        integral, others = one(*[np.reshape(part, -1) for part in parts])
    error, status, nfev, maxlevel = [mutable(np.reshape(others[:, k], shape)) for k in range(4)]
    return _RichResult(
        success=mutable(np.equal(status, 0)),
        status=status.astype(np.int32),
        integral=mutable(np.reshape(integral, shape)),
        error=error,
        maxlevel=maxlevel.astype(np.int64),
        nfev=nfev.astype(np.int32),
    )


def _by_place(f: Callable[..., Any], count: int, names: Sequence[str]) -> Callable[..., Any]:
    """The integrand that takes, after x and ``count`` arguments, those with names by their places."""

    def integrand(x: Array, *args: Any) -> Any:
        return f(x, *args[:count], **dict(zip(names, args[count:], strict=True)))

    return integrand


def _whole_arrays(
    f: Callable[..., Any], ends: Sequence[Array], args: tuple[Any, ...], options: dict[str, Any]
) -> tuple[tuple[int, ...], Any, Any]:
    """The shape of the integral, its entries and what `_integrated` has beside each, for ``preserve_shape``.

    The integrand takes arrays of the shape of the limits and ``args``; an entry of its value depends on
    that entry alone.
    """
    taken = np.broadcast_shapes(*[item.shape for item in (*ends, *args)])

    def whole(x: ArrayLike, *args: Any) -> Any:
        return lift_fully(f(np.broadcast_to(x, taken), *args))

    shape = np.broadcast_shapes(whole(0.5, *args).shape, taken)
    low, high = [np.broadcast_to(end, shape) for end in ends]

    def integrated(at: tuple[int, ...]) -> tuple[Any, Any]:
        entry = lambda x, *args: np.broadcast_to(whole(x, *args), shape)[at]  # noqa: E731
        return _integrated(entry, low[at], high[at], args, options)

    integrals, others = zip(*[integrated(at) for at in np.ndindex(*shape)], strict=True)
    return shape, np.stack(integrals), np.stack(others)


def _integrated(
    f: Callable[..., Any], low: Array, high: Array, args: tuple[Any, ...], options: dict[str, Any]
) -> tuple[Any, Any]:
    """The integral of one entry, and the error, status and counts of SciPy's rule."""
    body, theta = integrand_of(f, args, "tanhsinh")
    ends = [fit(lift_fully(end), _REAL) for end in (low, high)]
    run = lambda *numbers: tanhsinh_result(body, options, *numbers)[1:]  # noqa: E731
    out = ArrayType((4,), _REAL.dtype)
    diagnostics = without_derivative("tanhsinh", run, out, *ends, *theta)
    rule = {"tanhsinh": tuple(sorted(options.items()))}
    return integral_of(body, rule, ends, theta), diagnostics

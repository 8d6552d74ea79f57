"""``scipy.fft`` for traced values: Fourier, cosine and sine transforms.

Fourier transforms are `numpy.fft`'s, cosine and sine transforms are an operation of their own, and a Hankel
transform is a convolution. All other names lead to SciPy.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import scipy.fft as _scipy

from funcgrad.expr import Expr
from funcgrad.ops import fourier
from funcgrad.ops.base.op import lift_fully
from funcgrad.ops.shape import holds_expr
from funcgrad.ops.special.gamma import loggamma, poch
from funcgrad.scipy.composition import as_single, composed, number, real
from funcgrad.scipy.cosine_transform import TRANSPOSED, cosine_transform_op, kind_of, weighted
from funcgrad.scipy.python_functions import attribute_of
from funcgrad.source import value_error, with_name
from funcgrad.typing import Array, ArrayLike, Axes

_composed = composed(_scipy)


# -- Fourier transforms --------------------------------------------------------------------------
def _along_axis(name: str) -> Callable[..., Any]:
    transform = getattr(fourier, name)

    def function(
        x: ArrayLike, n: int | None = None, axis: int = -1, norm: str | None = None, **_: object
    ) -> Any:
        return transform(x, n, axis, norm)

    return _composed(with_name(function, name))


def _along_axes(name: str, transform: Callable[..., Any]) -> Callable[..., Any]:
    standard = (-2, -1) if name.endswith("2") else None

    def function(
        x: ArrayLike, s: Axes = None, axes: Axes = standard, norm: str | None = None, **_: object
    ) -> Any:
        x = lift_fully(x)
        _check_axes(name, x, axes)
        return transform(x, _listed(s), _listed(axes), norm)

    return _composed(with_name(function, name))


def _check_axes(who: str, x: Expr, axes: Any) -> None:
    places = [] if axes is None else [int(axis) % max(x.ndim, 1) for axis in _listed(axes)]
    if len(set(places)) < len(places):
        raise value_error(f"{who}: expected each axis once, but got axes={axes}")


def _listed(value: Any) -> Any:
    return [value] if isinstance(value, int | np.integer) else value


_OPPOSITE = {None: "forward", "backward": "forward", "forward": "backward", "ortho": "ortho"}

fft, ifft, rfft, irfft, hfft, ihfft = map(
    _along_axis, ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")
)
fft2, ifft2, rfft2, irfft2, fftn, ifftn, rfftn, irfftn = [
    _along_axes(name, getattr(fourier, name))
    for name in ("fft2", "ifft2", "rfft2", "irfft2", "fftn", "ifftn", "rfftn", "irfftn")
]
hfft2, hfftn = [
    _along_axes(name, lambda x, s, axes, norm: fourier.irfftn(np.conj(x), s, axes, _OPPOSITE[norm]))
    for name in ("hfft2", "hfftn")
]
ihfft2, ihfftn = [
    _along_axes(name, lambda x, s, axes, norm: np.conj(fourier.rfftn(x, s, axes, _OPPOSITE[norm])))
    for name in ("ihfft2", "ihfftn")
]


# -- cosine and sine transforms ------------------------------------------------------------------
def _on_last_axis(x: Array, type: int, sine: bool) -> Any:
    """The transform along the last axis, without a norm."""
    if x.dtype.kind == "c":
        return _on_last_axis(x.real, type, sine) + 1j * _on_last_axis(x.imag, type, sine)
    doubled = weighted(2 * x, kind_of(type, sine).single, 0.5)
    return cosine_transform_op(doubled, type=type, sine=sine)


def _transformed(
    who: str, x: Any, type: int, n: int | None, axis: int, norm: Any, ortho: bool | None
) -> Any:
    inverse, sine = who.startswith("i"), "s" in who
    if type not in TRANSPOSED or norm not in (None, "backward", "ortho", "forward"):
        raise value_error(
            f"{who}: expected a type from 1 to 4 and norm 'backward', 'ortho' or 'forward', but got type "
            f"{type!r} and norm {norm!r}",
        )
    type = TRANSPOSED[type] if inverse else type
    kind = kind_of(type, sine)
    x = lift_fully(x)
    x = np.moveaxis(x if x.dtype.kind in "fc" else x.astype(float), axis, -1)
    size = x.shape[-1] if n is None else n
    if size < 1 - min(kind.m, 0):
        raise value_error(f"{who}: expected more points along axis {axis}, but got {size}")
    x = fourier.resized(x, size, x.ndim - 1)
    period = 2 * (size + kind.m)
    if ortho is None or x.dtype.kind == "c":  # SciPy does not ask for complex values
        ortho = norm == "ortho"
    if ortho:
        x = weighted(x, kind.scaled[0], math.sqrt(2.0))
    y = _on_last_axis(x, type, sine)
    if ortho:
        y = weighted(y, kind.scaled[1], math.sqrt(0.5))
    if norm == "ortho":
        y = y * math.sqrt(1 / period)
    elif inverse is (norm != "forward"):
        y = y / period
    return np.moveaxis(y, -1, axis)


def _along_one(who: str) -> Callable[..., Any]:
    def function(
        x: ArrayLike,
        type: int = 2,
        n: int | None = None,
        axis: int = -1,
        norm: str | None = None,
        orthogonalize: bool | None = None,
        **_: object,
    ) -> Any:
        return _transformed(who, x, type, n, axis, norm, orthogonalize)

    return _composed(with_name(function, who))


def _along_several(who: str) -> Callable[..., Any]:
    def function(
        x: ArrayLike,
        type: int = 2,
        s: object = None,
        axes: Any = None,
        norm: str | None = None,
        orthogonalize: bool | None = None,
        **_: object,
    ) -> Any:
        x = lift_fully(x)
        _check_axes(who, x, axes)
        for n, axis in fourier.sizes(who, x, _listed(s), _listed(axes)):
            x = _transformed(who[:-1], x, type, n, axis, norm, orthogonalize)
        return x

    return _composed(with_name(function, who))


dct, idct, dst, idst = map(_along_one, ("dct", "idct", "dst", "idst"))
dctn, idctn, dstn, idstn = map(_along_several, ("dctn", "idctn", "dstn", "idstn"))


# -- Hankel transforms -----------------------------------------------------------------------------
def _hankel(name: str) -> Callable[..., Any]:
    """A transform along the last axis: a reversed circular convolution between two products.

    Its kernel is what SciPy's function makes of a unit impulse; beside traced parameters it is a quotient of
    gamma functions.
    """
    own = getattr(_scipy, name)

    def function(
        dln: float, mu: float, offset: float = 0.0, bias: float = 0.0, **data: Array
    ) -> Any:
        (a,) = data.values()  # `fht` calls it a, `ifht` A
        rows = number(name, a, "fiub")
        n = rows.shape[-1]
        places = (np.arange(n) - (n - 1) / 2) * dln
        before, after = np.exp(-bias * places), np.exp(-bias * (places + offset))
        if name == "ifht":
            before, after = 1 / after, 1 / before
        if holds_expr([dln, mu, offset, bias]):
            step, order, shift, power = [real(name, v) for v in (dln, mu, offset, bias)]
            sign = 1 if name == "fht" else -1
            factors = _hankel_factors(n, step, order, shift, power, sign)
        else:
            impulse = np.eye(1, n)[0]
            kernel = np.flip(own(impulse, dln, mu, offset, bias) / after) / before[0]
            factors = np.fft.rfft(kernel)
        found = np.flip(np.fft.irfft(np.fft.rfft(rows * before) * factors, n), -1)
        return as_single(after * found, a)

    return _composed(with_name(function, name))


def _hankel_factors(n: int, dln: Array, mu: Array, offset: Array, bias: Array, sign: int) -> Any:
    """2**x gamma((mu + 1 + x) / 2) / gamma((mu + 1 - x) / 2), turned by the offset.

    Here x = bias + 2j pi m / (n dln). With sign -1 it is the inverses of their conjugates.
    """
    y = np.pi / (n * dln) * np.arange(n // 2 + 1)
    ends = [(mu + 1 + side * bias) / 2 for side in (sign, -sign)]
    above, below = [loggamma(end + 1j * y) for end in ends]
    size = np.real(above) - np.real(below) + sign * math.log(2) * bias
    turn = np.imag(above) + np.imag(below) + 2 * (math.log(2) - offset) * y
    factors = np.exp(size + 1j * turn)
    # At a pole of a gamma function, as SciPy; a singular transform leaves the first one out.
    first = 2.0 ** (sign * bias) * poch(ends[1], sign * bias)
    first = np.where(np.isfinite(factors[:1]), factors[:1], np.where(np.isfinite(first), first, 0))
    if n % 2:
        return np.concatenate([first, factors[1:]])
    last = factors[-1:]  # the factor of the highest frequency is real
    last = np.real(last) if sign > 0 else 1 / np.real(1 / last)
    return np.concatenate([first, factors[1:-1], last])


fht, ifht = map(_hankel, ("fht", "ifht"))

__getattr__ = partial(attribute_of, _scipy)


__dir__ = partial(dir, _scipy)

"""`numpy.fft`: one primitive, the transform along an axis without a factor; the rest is made of it.

Its matrix is symmetric, so that the transform is its own transpose. Those of real values run the transform
of complex ones and keep half.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from funcgrad.expr import Expr
from funcgrad.graph import ArrayType
from funcgrad.linear import Structural
from funcgrad.ops.base.axes import axis_index
from funcgrad.ops.base.columns import Columns, axis_length
from funcgrad.ops.base.op import Op, lift_fully
from funcgrad.ops.shape import astype
from funcgrad.source import fail
from funcgrad.typing import Array, Axes, FunctionLibrary


def _run(x: Array, axis: int, inverse: bool) -> Any:
    return np.fft.ifft(x, axis=axis, norm="forward") if inverse else np.fft.fft(x, axis=axis)


def _flops(z: Expr) -> int:
    return 5 * z.size * max(axis_length(z) - 1, 0).bit_length()  # of Cooley and Tukey


def _call(x: str, axis: int, inverse: bool) -> str:
    return f"ifft({x}, axis={axis}, norm='forward')" if inverse else f"fft({x}, axis={axis})"


def _fourier_source(expr: Expr, texts: Sequence[str]) -> str:
    return f"np.fft.{_call(texts[0], **dict(expr.params))}"


def _torch_fft(torch: FunctionLibrary, x: Array, axis: int, inverse: bool) -> Any:
    fft = torch.fft
    return fft.ifft(x, dim=axis, norm="forward") if inverse else fft.fft(x, dim=axis)


def _fft_in(xp: FunctionLibrary, x: Array, axis: int, inverse: bool) -> Any:
    return xp.fft.ifft(x, axis=axis, norm="forward") if inverse else xp.fft.fft(x, axis=axis)


fft_op: Op = Op(
    name="fft",
    run=_run,
    infer=lambda type, axis, inverse: ArrayType(type.shape, type.dtype),
    edges=(
        lambda z, x, *, axis, inverse: Structural(
            lambda v: fft_op(v, axis=axis, inverse=inverse),
            lambda g: fft_op(g, axis=axis, inverse=inverse),
        ),
    ),
    batch=lambda size, batched, x, axis, inverse: fft_op(x, axis=axis + 1, inverse=inverse),
    notation=_call,
    columns=Columns(
        flops=_flops, numpy=_fourier_source, libraries={"any": _fft_in, "torch": _torch_fft}
    ),
)


# -- along one axis ------------------------------------------------------------------------------
def fft(a: object, n: int | None = None, axis: int = -1, norm: str | None = None) -> Any:
    """As `numpy.fft.fft`."""
    return _transform("fft", a, n, axis, norm, False)


def ifft(a: object, n: int | None = None, axis: int = -1, norm: str | None = None) -> Any:
    """As `numpy.fft.ifft`."""
    return _transform("ifft", a, n, axis, norm, True)


def rfft(a: object, n: int | None = None, axis: int = -1, norm: str | None = None) -> Any:
    """As `numpy.fft.rfft`: of real values, the first half."""
    a = lift_fully(a)
    if a.dtype.kind == "c":
        raise fail(
            TypeError, f"rfft: expected real values, but got {a.type}; take np.real, or use fft"
        )
    z = _transform("rfft", a, n, axis, norm, False)
    place = axis_index("rfft", axis, z)
    return _cut(z, place, slice(z.shape[place] // 2 + 1))


def irfft(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> Any:
    """As `numpy.fft.irfft`: real values, from the first half of their transform."""
    a = _complex(lift_fully(a))
    place = axis_index("irfft", axis, a)
    count = 2 * (a.shape[place] - 1) if n is None else n
    _check_length("irfft", count, a)
    half = resized(a, count // 2 + 1, place)
    mirrored = np.flip(_cut(half, place, slice(1, (count + 1) // 2)), place)
    whole = np.concatenate([half, np.conjugate(mirrored)], axis=place)
    return np.real(_transform("irfft", whole, count, place, norm, True))


def hfft(a: Array, n: int | None = None, axis: int = -1, norm: str | None = None) -> Any:
    """As `numpy.fft.hfft`."""
    return irfft(np.conjugate(a), n, axis, _SWAPPED.get(norm, norm))


def ihfft(a: Array, n: int | None = None, axis: int = -1, norm: str | None = None) -> Any:
    """As `numpy.fft.ihfft`."""
    return np.conjugate(rfft(a, n, axis, _SWAPPED.get(norm, norm)))


_SWAPPED = {None: "forward", "backward": "forward", "forward": "backward"}


def _transform(name: str, a: Any, n: Any, axis: int, norm: object, inverse: bool) -> Any:
    a = _complex(lift_fully(a))
    place = axis_index(name, axis, a)
    count = a.shape[place] if n is None else n
    _check_length(name, count, a)
    if norm not in (None, "backward", "ortho", "forward"):
        raise fail(
            ValueError,
            f"{name}: expected norm to be 'backward', 'ortho' or 'forward', but got {norm!r}",
        )
    z = fft_op(resized(a, count, place), axis=place, inverse=inverse)
    if norm == "ortho":
        return z / math.sqrt(count)
    return z / count if inverse is (norm != "forward") else z


def _check_length(name: str, count: int, a: Any) -> None:
    if not isinstance(count, int | np.integer) or count < 1:
        raise fail(ValueError, f"{name}: expected one point or more, but got {count} for {a.type}")


def _complex(a: Any) -> Any:
    narrow = a.dtype.kind in "fc"
    return astype(a, np.result_type(a.dtype, np.complex64) if narrow else complex)


def _cut(x: Array, axis: int, part: slice) -> Any:
    return x[(slice(None),) * axis + (part,)]


def resized(a: Array, count: int, axis: int) -> Any:
    """Cut, or filled up with zeros."""
    length = a.shape[axis]
    if count <= length:
        return a if count == length else _cut(a, axis, slice(count))
    return np.pad(a, [(0, count - length if i == axis else 0) for i in range(a.ndim)])


# -- along several -------------------------------------------------------------------------------
def sizes(name: str, a: Any, s: Any, axes: Any) -> list[tuple[int | None, int]]:
    if axes is None:
        axes = range(-len(s), 0) if s is not None else range(a.ndim)
    axes = [axis_index(name, axis, a) for axis in axes]
    sizes = [None] * len(axes) if s is None else list(s)
    if len(sizes) != len(axes) or (not axes and "r" in name):
        raise fail(
            ValueError, f"{name}: expected a size for each axis, but got {s} for {len(axes)}"
        )
    # -1 is all of an axis, for transforms to real values, too, whose default is another size.
    return [(a.shape[axis] if n == -1 else n, axis) for n, axis in zip(sizes, axes, strict=True)]


def _along(
    one: Callable[..., Any], a: object, pairs: Sequence[tuple[Any, int]], norm: object
) -> Any:
    for n, axis in reversed(pairs):
        a = one(a, n, axis, norm)
    return a


def fftn(a: object, s: object = None, axes: object = None, norm: str | None = None) -> Any:
    """As `numpy.fft.fftn`."""
    a = lift_fully(a)
    return _along(fft, a, sizes("fftn", a, s, axes), norm)


def ifftn(a: object, s: object = None, axes: object = None, norm: str | None = None) -> Any:
    """As `numpy.fft.ifftn`."""
    a = lift_fully(a)
    return _along(ifft, a, sizes("ifftn", a, s, axes), norm)


def rfftn(a: object, s: object = None, axes: object = None, norm: str | None = None) -> Any:
    """As `numpy.fft.rfftn`."""
    a = lift_fully(a)
    *others, (n, axis) = sizes("rfftn", a, s, axes)
    return _along(fft, rfft(a, n, axis, norm), others, norm)


def irfftn(a: object, s: object = None, axes: object = None, norm: str | None = None) -> Any:
    """As `numpy.fft.irfftn`."""
    a = lift_fully(a)
    *others, (n, axis) = sizes("irfftn", a, s, axes)
    return irfft(_along(ifft, a, others, norm), n, axis, norm)


def fft2(a: object, s: object = None, axes: object = (-2, -1), norm: str | None = None) -> Any:
    """As `numpy.fft.fft2`."""
    return fftn(a, s, axes, norm)


def ifft2(a: object, s: object = None, axes: object = (-2, -1), norm: str | None = None) -> Any:
    """As `numpy.fft.ifft2`."""
    return ifftn(a, s, axes, norm)


def rfft2(a: object, s: object = None, axes: object = (-2, -1), norm: str | None = None) -> Any:
    """As `numpy.fft.rfft2`."""
    return rfftn(a, s, axes, norm)


def irfft2(a: object, s: object = None, axes: object = (-2, -1), norm: str | None = None) -> Any:
    """As `numpy.fft.irfft2`."""
    return irfftn(a, s, axes, norm)


def fftshift(x: npt.ArrayLike, axes: Axes = None) -> Any:
    """As `numpy.fft.fftshift`."""
    return _shift(x, axes, 1)


def ifftshift(x: npt.ArrayLike, axes: Axes = None) -> Any:
    """As `numpy.fft.ifftshift`."""
    return _shift(x, axes, -1)


def _shift(x: npt.ArrayLike, axes: Axes, way: int) -> Any:
    x = lift_fully(x)
    chosen = (
        range(x.ndim) if axes is None else (axes,) if isinstance(axes, int | np.integer) else axes
    )
    for axis in chosen:
        half = x.shape[axis] // 2
        x = np.roll(x, half if way > 0 else -half, axis)
    return x

"""`numpy.fft`: primitives for transforms along an axis without a factor; the rest is made of these.

The matrix of the complex transform is symmetric, so that it is its own transpose. The two transforms between
real values and half of their complex transform are each other's transposes, but for the weights of the
places that the other half repeats. They are primitives, since NumPy runs them in a seventh of the time of a
complex transform of 2**16 places, half of which is thrown away.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any, SupportsIndex

import numpy as np

from funcgrad.expr import Expr
from funcgrad.graph import ArrayType
from funcgrad.linear import Structural
from funcgrad.ops.base.arguments import slice_axis
from funcgrad.ops.base.axes import axis_index, counts_of
from funcgrad.ops.base.columns import Columns, axis_length
from funcgrad.ops.base.op import Op, lift_fully
from funcgrad.ops.shape import astype
from funcgrad.source import type_error, value_error
from funcgrad.typing import Array, ArrayLike, Axes, FunctionLibrary


def _run(x: Array, axis: int, inverse: bool) -> Any:
    return np.fft.ifft(x, axis=axis, norm="forward") if inverse else np.fft.fft(x, axis=axis)


def _flops(z: Expr) -> int:
    return 5 * z.size * max(axis_length(z) - 1, 0).bit_length()  # of Cooley and Tukey


def _flops_of_half(z: Expr) -> int:
    x: Expr = max(z, z.args[0], key=lambda e: e.size)  # the real values
    length = x.shape[int(dict(z.params)["axis"])]
    return 5 * x.size * max(length - 1, 0).bit_length() // 2


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
        fresh=True,
        machine="fourier_forms:fft",
        flops=_flops,
        numpy=_fourier_source,
        libraries={"any": _fft_in, "torch": _torch_fft},
    ),
)


def _call_of_real(x: str, axis: int) -> str:
    return f"rfft({x}, axis={axis})"


def _call_to_real(x: str, axis: int, size: int) -> str:
    return f"irfft({x}, {size}, axis={axis}, norm='forward')"


def _half(type: ArrayType, axis: int) -> ArrayType:
    shape = [*type.shape]
    shape[axis] = shape[axis] // 2 + 1
    return ArrayType(tuple(shape), np.result_type(type.dtype, np.complex64))


def _whole(type: ArrayType, axis: int, size: int) -> ArrayType:
    shape = [*type.shape]
    if shape[axis] != size // 2 + 1:
        raise ValueError(
            f"irfft: expected {size // 2 + 1} places for {size} points, but got {type}"
        )
    shape[axis] = size
    return ArrayType(tuple(shape), type.dtype.type(0).real.dtype)


def _first_half(x: Array, axis: int) -> Any:
    """The real transform by the complex one."""
    z = fft_op(_complex(x), axis=axis, inverse=False)
    return slice_axis(z, axis, slice(z.shape[axis] // 2 + 1))


def _by_mirrored(z: Array, axis: int, size: int) -> Any:
    """The transform to real values by the complex one, of both halves."""
    mirrored = np.flip(slice_axis(z, axis, slice(1, (size + 1) // 2)), axis)
    whole = np.concatenate([z, np.conjugate(mirrored)], axis=axis)
    return np.real(fft_op(whole, axis=axis, inverse=True))


def _weights(size: int, axis: int, like: Expr, middle: float) -> Any:
    """The number 1 at the places of which the other half has none, and another one at the others."""
    weights = np.full(size // 2 + 1, middle, like.dtype.type(0).real.dtype)
    weights[0] = 1
    if size % 2 == 0:
        weights[-1] = 1
    return weights.reshape([-1 if i == axis else 1 for i in range(like.ndim)])


def _real_edge(z: Expr, x: Expr, *, axis: int) -> Structural:
    size = x.shape[axis]
    return Structural(
        lambda v: rfft_op(v, axis=axis),
        lambda g: irfft_op(np.conjugate(g) * _weights(size, axis, z, 0.5), axis=axis, size=size),
    )


def _half_edge(x: Expr, z: Expr, *, axis: int, size: int) -> Structural:
    return Structural(
        lambda v: irfft_op(v, axis=axis, size=size),
        lambda g: np.conjugate(rfft_op(g, axis=axis)) * _weights(size, axis, z, 2.0),
    )


rfft_op: Op = Op(
    name="rfft",
    run=lambda x, axis: np.fft.rfft(x, axis=axis),
    infer=_half,
    edges=(_real_edge,),
    batch=lambda size, batched, x, axis: rfft_op(x, axis=axis + 1),
    notation=_call_of_real,
    columns=Columns(
        decompose=_first_half,
        machine="fourier_forms:rfft",
        flops=_flops_of_half,
        numpy=lambda expr, texts: f"np.fft.{_call_of_real(texts[0], **dict(expr.params))}",
        libraries={
            "any": lambda xp, x, axis: xp.fft.rfft(x, axis=axis),
            "torch": lambda torch, x, axis: torch.fft.rfft(x, dim=axis),
        },
        fresh=True,
    ),
)
irfft_op: Op = Op(
    name="irfft",
    run=lambda z, axis, size: np.fft.irfft(z, size, axis=axis, norm="forward"),
    infer=_whole,
    edges=(_half_edge,),
    batch=lambda count, batched, z, axis, size: irfft_op(z, axis=axis + 1, size=size),
    notation=_call_to_real,
    columns=Columns(
        decompose=_by_mirrored,
        machine="fourier_forms:irfft",
        flops=_flops_of_half,
        numpy=lambda expr, texts: f"np.fft.{_call_to_real(texts[0], **dict(expr.params))}",
        libraries={
            "any": lambda xp, z, axis, size: xp.fft.irfft(z, size, axis=axis, norm="forward"),
            "torch": lambda torch, z, axis, size: torch.fft.irfft(
                z, size, dim=axis, norm="forward"
            ),
        },
        fresh=True,
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
    x = lift_fully(a)
    if x.dtype.kind == "c":
        raise type_error(f"rfft: expected real values, but got {x.type}; take np.real, or use fft")
    x = astype(x, np.result_type(x.dtype, np.float32) if x.dtype.kind == "f" else float)
    place, count = _place_and_count("rfft", x, n, axis, norm)
    return _scaled(rfft_op(resized(x, count, place), axis=place), count, norm, False)


def irfft(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> Any:
    """As `numpy.fft.irfft`: real values, from the first half of their transform."""
    a = _complex(lift_fully(a))
    place = axis_index("irfft", axis, a)
    count = 2 * (a.shape[place] - 1) if n is None else n
    place, count = _place_and_count("irfft", a, count, axis, norm)
    half = resized(a, count // 2 + 1, place)
    return _scaled(irfft_op(half, axis=place, size=count), count, norm, True)


def hfft(a: Array, n: int | None = None, axis: int = -1, norm: str | None = None) -> Any:
    """As `numpy.fft.hfft`."""
    return irfft(np.conjugate(a), n, axis, _SWAPPED.get(norm, norm))


def ihfft(a: Array, n: int | None = None, axis: int = -1, norm: str | None = None) -> Any:
    """As `numpy.fft.ihfft`."""
    return np.conjugate(rfft(a, n, axis, _SWAPPED.get(norm, norm)))


_SWAPPED = {None: "forward", "backward": "forward", "forward": "backward"}


def _transform(name: str, a: Any, n: Any, axis: int, norm: object, inverse: bool) -> Any:
    a = _complex(lift_fully(a))
    place, count = _place_and_count(name, a, n, axis, norm)
    z = fft_op(resized(a, count, place), axis=place, inverse=inverse)
    return _scaled(z, count, norm, inverse)


def _place_and_count(name: str, a: Any, n: Any, axis: int, norm: object) -> tuple[int, int]:
    """The axis, counted from the first, and the number of points."""
    place = axis_index(name, axis, a)
    count = a.shape[place] if n is None else _length(name, n, a)
    if norm not in (None, "backward", "ortho", "forward"):
        raise value_error(
            f"{name}: expected norm to be 'backward', 'ortho' or 'forward', but got {norm!r}",
        )
    return place, count


def _scaled(z: Any, count: int, norm: object, inverse: bool) -> Any:
    if norm == "ortho":
        return z / math.sqrt(count)
    return z / count if inverse is (norm != "forward") else z


def _length(name: str, n: SupportsIndex, a: Expr) -> int:
    try:
        count = operator.index(n)
    except TypeError:
        count = 0
    if count < 1:
        raise value_error(f"{name}: expected one point or more, but got {n} for {a.type}")
    return count


def _complex(a: Any) -> Any:
    narrow = a.dtype.kind in "fc"
    return astype(a, np.result_type(a.dtype, np.complex64) if narrow else complex)


def resized(a: Array, count: int, axis: int) -> Any:
    """Cut, or filled up with zeros."""
    length = a.shape[axis]
    if count <= length:
        return a if count == length else slice_axis(a, axis, slice(count))
    return np.pad(a, [(0, count - length if i == axis else 0) for i in range(a.ndim)])


# -- along several -------------------------------------------------------------------------------
def sizes(name: str, a: Any, s: Any, axes: Any) -> list[tuple[int | None, int]]:
    if axes is None:
        axes = range(-len(s), 0) if s is not None else range(a.ndim)
    axes = [axis_index(name, axis, a) for axis in axes]
    sizes = [None] * len(axes) if s is None else list(s)
    if len(sizes) != len(axes) or (not axes and "r" in name):
        raise value_error(f"{name}: expected a size for each axis, but got {s} for {len(axes)}")
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


def fftshift(x: ArrayLike, axes: Axes = None) -> Any:
    """As `numpy.fft.fftshift`."""
    return _shift(x, axes, 1)


def ifftshift(x: ArrayLike, axes: Axes = None) -> Any:
    """As `numpy.fft.ifftshift`."""
    return _shift(x, axes, -1)


def _shift(x: ArrayLike, axes: Axes, way: int) -> Any:
    x = lift_fully(x)
    for axis in range(x.ndim) if axes is None else counts_of("fftshift", axes):
        half = x.shape[axis] // 2
        x = np.roll(x, half if way > 0 else -half, axis)
    return x

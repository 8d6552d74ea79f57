"""PyTorch's forms of operations that its functions of the same name do not compute as NumPy does.

The records of operations name these functions in their column ``libraries``; this module is imported when
one is first read, and torch when one first runs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from funcgrad.ops.base.index_spec import restore
from funcgrad.ops.base.lazy_import import LazyModule
from funcgrad.ops.reduction import rooted, squared
from funcgrad.source import type_error
from funcgrad.typing import Array, LibraryArray

_torch: Any = LazyModule("torch")


@lru_cache(maxsize=64)
def torch_dtype(dtype: np.dtype[Any]) -> Any:
    """The tensors' dtype for an array's."""
    found = getattr(_torch, dtype.name, None) if dtype.kind in "biufc" else None
    if found is None:
        raise type_error(
            f"torch: expected a dtype that tensors have, but got {dtype}; convert with astype(float)",
        )
    return found


def astype(x: LibraryArray, dtype: np.dtype[Any]) -> Any:
    """As `numpy.ndarray.astype`; the real part if a complex tensor is cast to a real dtype."""
    part = x.real if x.is_complex() and dtype.kind not in "cb" else x
    return part.to(torch_dtype(dtype))


def imag(x: LibraryArray) -> Any:
    """As `numpy.imag`."""
    return x.imag if x.is_complex() else _torch.zeros_like(x)


def cbrt(x: object) -> Any:
    """As `numpy.cbrt`."""
    root = _torch.pow(_torch.abs(x), 1 / 3)
    # 1/3 is rounded, which shows in large roots: one step of Newton's method corrects it.
    fine = (root > 0) & _torch.isfinite(root)
    safe = _torch.where(fine, root, _torch.ones_like(root))
    better = _torch.where(fine, safe - (safe - _torch.abs(x) / (safe * safe)) / 3, root)
    return _torch.copysign(better, x)


# -- comparisons: NumPy orders complex numbers by the real part, then by the imaginary one ---------------
def less(x: Array, y: Array) -> Any:
    """As `numpy.less`."""
    return _ordered(_torch.less, _torch.less, x, y)


def less_equal(x: Array, y: Array) -> Any:
    """As `numpy.less_equal`."""
    return _ordered(_torch.less_equal, _torch.less, x, y)


def greater(x: Array, y: Array) -> Any:
    """As `numpy.greater`."""
    return _ordered(_torch.greater, _torch.greater, x, y)


def greater_equal(x: Array, y: Array) -> Any:
    """As `numpy.greater_equal`."""
    return _ordered(_torch.greater_equal, _torch.greater, x, y)


def _ordered(compare: Callable[..., Any], strict: Callable[..., Any], x: Any, y: Any) -> Any:
    if not x.is_complex():
        return compare(x, y)
    return strict(x.real, y.real) | ((x.real == y.real) & compare(x.imag, y.imag))


def maximum(x: Array, y: Array) -> Any:
    """As `numpy.maximum`."""
    return _winner(_torch.maximum, x, y, lambda: greater_equal(x, y) | (x != x))


def minimum(x: Array, y: Array) -> Any:
    """As `numpy.minimum`."""
    return _winner(_torch.minimum, x, y, lambda: less_equal(x, y) | (x != x))


def fmax(x: Array, y: Array) -> Any:
    """As `numpy.fmax`."""
    return _winner(_torch.fmax, x, y, lambda: greater_equal(x, y) | (y != y))


def fmin(x: Array, y: Array) -> Any:
    """As `numpy.fmin`."""
    return _winner(_torch.fmin, x, y, lambda: less_equal(x, y) | (y != y))


def _winner(own: Callable[..., Any], x: Array, y: Array, wins: Callable[[], Any]) -> Any:
    return _torch.where(wins(), x, y) if _torch.is_complex(x) else own(x, y)


def rint(x: LibraryArray) -> Any:
    """As `numpy.rint`."""
    if x.is_complex():
        return _torch.complex(_torch.round(x.real), _torch.round(x.imag))
    return _torch.round(x)


# -- along axes: for torch, no axes mean all of them --------------------------------------------------------
def sum_over(x: LibraryArray, axis: tuple[int, ...]) -> Any:
    """As `numpy.sum` over a tuple of axes."""
    return _as_unsigned(x, _torch.sum(x, dim=axis) if axis else _torch.sum(x.unsqueeze(0), dim=0))


def _as_unsigned(x: Any, total: Any) -> Any:
    """A total in NumPy's dtype: unsigned for unsigned integers."""
    return total.to(_torch.uint64) if str(x.dtype).startswith("torch.uint") else total


def cumsum(x: Array, axis: int) -> Any:
    """As `numpy.cumsum`."""
    return _as_unsigned(x, _torch.cumsum(x, dim=axis))


def cumprod(x: Array, axis: int) -> Any:
    """As `numpy.cumprod`."""
    return _as_unsigned(x, _torch.cumprod(x, dim=axis))


def argmax(x: Array, axis: int) -> Any:
    """As `numpy.argmax`."""
    return _torch.argmax(_comparable(x), dim=axis)


def argmin(x: Array, axis: int) -> Any:
    """As `numpy.argmin`."""
    return _torch.argmin(_comparable(x), dim=axis)


def _comparable(x: Any) -> Any:
    return x.to(_torch.uint8) if x.dtype == _torch.bool else x


def prod(x: object, axis: tuple[int, ...]) -> Any:
    """As `numpy.prod` over a tuple of axes."""
    given = x
    for place in sorted(axis, reverse=True):
        x = _torch.prod(x, dim=place)
    return _as_unsigned(given, x)


def norm(x: object, axis: tuple[int, ...]) -> Any:
    """The 2-norm over a tuple of axes."""
    return rooted(_torch, sum_over(squared(_torch, x), axis))


def logsumexp(x: LibraryArray, axis: tuple[int, ...]) -> Any:
    """The logarithm of the sum of exponentials over a tuple of axes."""
    if not x.numel():
        return _torch.log(sum_over(_torch.exp(x), axis))
    if x.is_complex():
        top = _torch.amax(x.real.detach(), dim=axis, keepdim=True)
        total = _torch.log(sum_over(_torch.exp(x - top), axis))
        return total + top.reshape(total.shape)
    return _torch.logsumexp(x, dim=axis)


# -- indexing ------------------------------------------------------------------------------------
def getitem(
    x: LibraryArray, *arrays: LibraryArray, spec: tuple[Any, ...], shape: tuple[int, ...]
) -> Any:
    """An indexed tensor, as NumPy indexes arrays."""
    x, spec = _with_positive_steps(x, spec)
    if not arrays:
        return x[restore(spec, ())]
    spec, arrays = _with_index_arrays(spec, arrays)
    return x[restore(spec, arrays)]


def _with_positive_steps(x: LibraryArray, spec: tuple[Any, ...]) -> tuple[Any, tuple[Any, ...]]:
    """Slices of negative step, which torch refuses, as slices of positive step of the flipped axes."""
    if not any([isinstance(item, tuple) and (item[3] or 1) < 0 for item in spec]):
        return x, spec
    taken = sum([item not in ("new", "...") for item in spec])
    axis, flipped, new = 0, [], []
    for item in spec:
        if isinstance(item, tuple) and (item[3] or 1) < 0:
            n = x.shape[axis]
            start, stop, step = slice(*item[1:]).indices(n)
            count = len(range(start, stop, step))
            first = n - 1 - start
            item = ("slice", first, first + (count - 1) * -step + 1, -step)
            item = item if count else ("slice", 0, 0, 1)
            flipped.append(axis)
        new.append(item)
        axis += x.ndim - taken if item == "..." else item != "new"
    return _torch.flip(x, flipped), tuple(new)


def _with_index_arrays(
    spec: tuple[Any, ...], arrays: Sequence[Any]
) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """Integers beside index arrays as index arrays, as NumPy reads them, and all of one rank."""
    rank = max([a.ndim for a in arrays])
    if rank == 0:
        return spec, tuple(arrays)
    home, rest = arrays[0].device, iter(arrays)
    new, found = [], []
    for item in spec:
        if item == "array" or isinstance(item, int):
            a = next(rest) if item == "array" else _torch.tensor(item, device=home)
            found.append(a.to(_torch.int64).reshape((1,) * (rank - a.ndim) + tuple(a.shape)))
            item = "array"
        new.append(item)
    return tuple(new), tuple(found)


def _places(
    g: LibraryArray, arrays: tuple[LibraryArray, ...], spec: tuple[Any, ...], shape: tuple[int, ...]
) -> Any:
    """The numbers of the entries that an index selects from an array of a shape."""
    size = math.prod(shape)
    if not arrays:
        numbers = np.arange(size).reshape(shape)[restore(spec, ())]
        return _torch.tensor(np.array(numbers).reshape(-1), device=g.device)
    whole = _torch.arange(size, device=g.device).reshape(shape)
    return getitem(whole, *arrays, spec=spec, shape=tuple(g.shape)).reshape(-1)


def scatter_add(
    g: LibraryArray, *arrays: LibraryArray, spec: tuple[Any, ...], shape: tuple[int, ...]
) -> Any:
    """Zeros of a shape, to which ``g`` is added at an index; repeated indices accumulate."""
    zeros = g.new_zeros(math.prod(shape))
    return zeros.index_add(0, _places(g, arrays, spec, shape), g.reshape(-1)).reshape(shape)


def index_set(
    x: LibraryArray, v: LibraryArray, *arrays: LibraryArray, spec: tuple[Any, ...], unique: bool
) -> Any:
    """``x`` with the entries at an index replaced; of repeated ones the last value remains."""
    places, values = _places(v, arrays, spec, tuple(x.shape)), v.reshape(-1)
    if not unique:  # torch does not say which value remains: give all the last one
        order = _torch.arange(values.numel(), device=v.device)
        last = _torch.zeros(x.numel(), dtype=order.dtype, device=v.device)
        values = values[last.scatter_reduce(0, places, order, "amax")[places]]
    return x.reshape(-1).index_copy(0, places, values).reshape(x.shape)


def index_add(
    x: LibraryArray, v: LibraryArray, *arrays: LibraryArray, spec: tuple[Any, ...]
) -> Any:
    """``x`` with values added to the entries at an index; repeated indices accumulate."""
    places = _places(v, arrays, spec, tuple(x.shape))
    return x.reshape(-1).index_add(0, places, v.reshape(-1)).reshape(x.shape)

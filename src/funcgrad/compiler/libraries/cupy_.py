"""Programs on CuPy's arrays: NumPy's names, on the current device."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad.compiler.libraries import eager_control_flow
from funcgrad.compiler.libraries.library_codegen import Library, results_alone
from funcgrad.graph import ArrayType
from funcgrad.ops.base.index_spec import restore
from funcgrad.ops.base.lazy_import import LazyModule
from funcgrad.typing import LibraryArray

cupy: Any = LazyModule("cupy")
cupy_special: Any = LazyModule("cupyx.scipy.special")


def _array(value: object, dtype: np.dtype[Any], home: object) -> Any:
    return cupy.asarray(value, dtype)


def _constant(array: np.ndarray[Any, Any], changing: bool) -> Callable[[Any], Any]:
    if changing:
        return lambda home: cupy.asarray(array)
    by_device: dict[int, Any] = {}

    def constant(home: Any) -> Any:
        if home not in by_device:
            by_device[home] = cupy.asarray(array)
        return by_device[home]

    return constant


def _astype(x: LibraryArray, dtype: np.dtype[Any]) -> Any:
    return (x.real if x.dtype.kind == "c" and dtype.kind not in "cb" else x).astype(dtype)


def _scatter(
    g: LibraryArray, *arrays: LibraryArray, spec: tuple[Any, ...], shape: tuple[int, ...]
) -> Any:
    if not arrays:
        whole = cupy.zeros(shape, g.dtype)
        whole[restore(spec, arrays)] = g
        return whole
    if g.dtype.kind == "c":
        whole = cupy.zeros(shape, g.dtype)
        whole.real = _scatter(g.real, *arrays, spec=spec, shape=shape)
        whole.imag = _scatter(g.imag, *arrays, spec=spec, shape=shape)
        return whole
    # CuPy adds at an index in these types alone.
    added = g.dtype if g.dtype.kind == "f" or g.dtype.itemsize >= 4 else np.dtype(np.int32)
    whole = cupy.zeros(shape, added)
    cupy.add.at(whole, restore(spec, arrays), g.astype(added))
    return whole.astype(g.dtype)


def _logsumexp(x: LibraryArray, axis: tuple[int, ...]) -> Any:
    if not x.size:
        return cupy.log(cupy.sum(cupy.exp(x), axis=axis))
    top = cupy.max(x.real, axis=axis, keepdims=True)
    top = cupy.where(cupy.isfinite(top), top, cupy.zeros_like(top))
    total = cupy.log(cupy.sum(cupy.exp(x - top), axis=axis))
    return total + cupy.reshape(top, total.shape)


def _empty(type: ArrayType, home: object) -> Any:
    return cupy.zeros((0, *type.shape), type.dtype)


def library() -> Library:
    """What the library has for a program."""
    return Library(
        name="cupy",
        module=cupy,
        special=cupy_special,
        table={
            "pinv": lambda a, rcond, hermitian: cupy.linalg.pinv(a, rcond),
            # CuPy's sort is stable.
            "argsort": lambda x, axis: cupy.argsort(x, axis=axis, kind="stable"),
            "astype": _astype,
            "logsumexp": _logsumexp,
            "scatter_add": _scatter,
            "stop_gradient": lambda x: x,
        },
        home=lambda values: int(cupy.cuda.Device().id),
        array=_array,
        constant=_constant,
        own=lambda value: value.copy(),
        call=eager_control_flow.call,
        branch=eager_control_flow.branch,
        loop=eager_control_flow.loop(lambda found: cupy.stack(found), _empty),
        custom_derivative=results_alone,
        transposes=False,
        lengths=True,
        compile=lambda run: run,
        compiled=False,
        warn=lambda types: None,
    )

"""Functions of another library's arrays: a NumPy function, traced by funcgrad, on JAX's or PyTorch's.

A function is traced on shapes and dtypes alone, once for each that it meets, and becomes a program in the
library's namespace. So it may be called where there are no values, as under `jax.jit`. Batches and devices
are the library's own affair; derivatives are JAX's by funcgrad's rules, and PyTorch's by its own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np

from funcgrad.graph import ArrayType
from funcgrad.ops.base.foreign_arrays import refuse_libraries
from funcgrad.source import type_error
from funcgrad.transforms.interop.library_jit import LibraryPrograms, LibraryTypes
from funcgrad.transforms.transform_arguments import check_function, describe


def to_jax(f: Callable[..., Any]) -> Callable[..., Any]:
    """f, written for NumPy, as a function of JAX arrays, for use under JAX's own
    transforms.

    These are `jax.jit`, `jax.grad`, `jax.vmap`, `jax.pmap` and
    `jax.shard_map`, in any order.

    Arguments and results are trees of arrays. f runs once for each structure,
    shapes and dtypes that it is called with, and knows no values: choose with
    ``np.where``, `cond` and `scan`. What is neither an array nor a float, such
    as an int or a string, is known to f, and counts by value; a Python float
    takes the dtype of the arrays beside it. What f captures counts as it was
    in that run. Called with expressions, it is f.

    JAX differentiates it by funcgrad's rules, ties and singular points
    included; a rule of `custom_vjp` must be linear in the cotangent, since JAX
    transposes it. JAX computes in float32 unless ``jax_enable_x64`` is set,
    raises for no index out of bounds and no singular matrix, and has no
    derivative of a `while_loop` in reverse. Arrays over a mesh whose axes are
    explicit obey JAX's rules for these, which refuse some products and
    indices; with axes of type Auto there are none, and under `jit` with
    backend "jax" explicit axes serve too.

    Raises TypeError where f asks for a value, or uses an operation that JAX
    has no function for; ImportError without JAX.

    >>> import jax, funcgrad as fg
    >>> f = to_jax(lambda x: fg.where(x > 0, fg.sqrt(x), 0))
    >>> float(jax.grad(f)(4.0)), float(jax.grad(f)(0.0))
    (0.25, 0.0)
    """
    check_function("to_jax", f)
    return _exported(f, "jax")


def to_torch(f: Callable[..., Any]) -> Callable[..., Any]:
    """f, written for NumPy, as a function of PyTorch tensors, on the device of
    the first, open to autograd.

    Arguments and results are trees of tensors. As in `to_jax`, f runs once for
    each structure, shapes and dtypes, and knows no values; what is neither an
    array nor a float counts by value. A Python float takes the dtype of the
    tensors beside it, or torch's default. Loops and branches of funcgrad run
    in Python.

    Autograd differentiates the tensor program by PyTorch's rules, those of
    `custom_vjp` and `custom_jvp` excepted. For funcgrad's at singular points
    take `to_torch(grad(f))`.

    Raises TypeError where f asks for a value, uses an operation that PyTorch
    has no function for, or gets a tensor of a dtype that NumPy has not, such
    as bfloat16; ImportError without PyTorch.

    >>> import torch, funcgrad as fg
    >>> x = torch.tensor([1.0, 2.0], requires_grad=True)
    >>> to_torch(lambda x: fg.logsumexp(x**2))(x).backward()
    >>> x.grad
    tensor([0.0949, 3.8103])
    """
    check_function("to_torch", f)
    return _exported(f, "torch")


def _exported(f: Callable[..., Any], library: str) -> Callable[..., Any]:
    who = f"to_{library}"
    made = LibraryPrograms(f, who, library, LIBRARY_TYPES[library]).function()
    describe(made, f, who, "{}, on arrays of the library.")
    return made


# -- types ---------------------------------------------------------------------------------------
def _with_floats(
    default: Callable[[], np.dtype[Any]], types: Sequence[ArrayType | None], leaves: Sequence[Any]
) -> list[ArrayType | None]:
    """The types, with those of Python's floats, which follow the arrays'."""
    known = [t.dtype for t in types if t is not None and t.dtype.kind in "fc"]
    widest = np.result_type(*known) if known else default()
    return [
        ArrayType((), np.result_type(widest, type(leaf)(0)))
        if type(leaf) in (float, complex)
        else t
        for t, leaf in zip(types, leaves, strict=True)
    ]


def _default_of_jax() -> np.dtype[Any]:
    jax = import_module("jax")
    dtype: np.dtype[Any] = np.dtype(jax.dtypes.canonicalize_dtype(float))
    return dtype


def _default_of_torch() -> np.dtype[Any]:
    torch = import_module("torch")
    return np.dtype(str(torch.get_default_dtype()).removeprefix("torch."))


def _jax_type(who: str, value: Any) -> ArrayType | None:
    """The type of an array, JAX's or NumPy's, or of what JAX has in its place while it traces."""
    if not (hasattr(value, "shape") and hasattr(value, "dtype")):
        return None
    jax = import_module("jax")
    if not isinstance(value, jax.Array):
        refuse_libraries(who, value)
    try:
        dtype = np.dtype(jax.dtypes.canonicalize_dtype(value.dtype))
    except (TypeError, ValueError):
        dtype = _NOT_NUMPYS
    return _checked(who, ".astype(float)", value, dtype)


def _torch_type(who: str, value: Any) -> ArrayType | None:
    if not isinstance(value, np.ndarray | np.generic | import_module("torch").Tensor):
        refuse_libraries(who, value)
        return None
    try:
        dtype = np.dtype(str(value.dtype).removeprefix("torch."))
    except TypeError:
        dtype = _NOT_NUMPYS
    return _checked(who, ".float()", value, dtype)


def _cupy_type(who: str, value: Any) -> ArrayType | None:
    if not (hasattr(value, "shape") and hasattr(value, "dtype")):
        return None
    if not isinstance(value, import_module("cupy").ndarray):
        refuse_libraries(who, value)
    return _checked(who, ".astype(float)", value, np.dtype(value.dtype))


_NOT_NUMPYS = np.dtype(object)


def _checked(who: str, remedy: str, value: Any, dtype: np.dtype[Any]) -> ArrayType:
    if dtype.kind not in "biufc":
        raise type_error(
            f"{who}: expected arrays of dtypes that NumPy has, but got {value.dtype}; convert with {remedy}",
        )
    # (Lengths that torch.compile leaves open are fixed here: a program has those that it was traced for.)
    return ArrayType(tuple(map(int, value.shape)), dtype)


LIBRARY_TYPES = {
    "jax": LibraryTypes(_jax_type, partial(_with_floats, _default_of_jax)),
    "torch": LibraryTypes(_torch_type, partial(_with_floats, _default_of_torch)),
    "cupy": LibraryTypes(_cupy_type, partial(_with_floats, lambda: np.dtype(float))),
}

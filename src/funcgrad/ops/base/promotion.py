"""The types of results: what NumPy's promotion makes of the types of operands.

A type rule is asked once for each combination of types that is met, and its answer kept.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import Any, Literal, TypeAlias

import numpy as np

from funcgrad.arrays.reference import Reference
from funcgrad.graph import ArrayType, broadcast_shapes
from funcgrad.source import type_error, value_error

PYTHON_NUMBERS = (float, int, complex, bool)

OperandKind: TypeAlias = ArrayType | type
"""What the type of a result depends on: an expression's type, or a Python number's class."""


OperandPlan: TypeAlias = Literal["fitted", "fit", "lift", "run", "read"]
"""What an elementwise operation does with its arguments: nothing, since they fit as they are; cast and
broadcast them; make constants of arrays among them; let NumPy compute, where none is an expression; or read
the values of arrays that can be written."""


@lru_cache(maxsize=8192)
def elementwise_plan(
    op: object, kinds: tuple[OperandKind, ...]
) -> tuple[OperandPlan, tuple[ArrayType | None, ...], Any]:
    """What is done with arguments of these kinds; the types to fit them to, or None; the result's."""
    if any([isinstance(kind, type) and issubclass(kind, Reference) for kind in kinds]):
        return "read", (), None
    if not any([isinstance(kind, ArrayType) for kind in kinds]):
        return "run", (), None
    if any([not isinstance(kind, ArrayType) and kind not in PYTHON_NUMBERS for kind in kinds]):
        return "lift", (), None
    inputs, output = elementwise_types(op, kinds)
    targets = tuple([None if t == kind else t for t, kind in zip(inputs, kinds, strict=True)])
    return "fit" if any(targets) else "fitted", targets, output


@lru_cache(maxsize=8192)
def elementwise_types(
    op: Any, kinds: tuple[OperandKind, ...]
) -> tuple[tuple[ArrayType, ...], ArrayType]:
    """The types that the operands take, and the result's, by NumPy's promotion (NEP 50)."""
    wanted = len(op.edges) if isinstance(op.edges, tuple) else len(kinds)
    if len(kinds) != wanted:
        operands = "one operand" if wanted == 1 else f"{wanted} operands"
        raise type_error(f"{op.name}: expected {operands}, but got {len(kinds)}")
    shapes = [kind.shape if isinstance(kind, ArrayType) else () for kind in kinds]
    try:
        alike = len(set(shapes)) == 1
        shape = shapes[0] if alike else broadcast_shapes(*shapes)
    except ValueError:
        types = ", ".join(str(kind) for kind in kinds if isinstance(kind, ArrayType))
        raise value_error(
            f"{op.name}: expected shapes that broadcast, but got {types}; "
            "give one of them a new axis, as in x[:, None]",
        ) from None
    *dtypes, result = ufunc_dtypes(
        op, tuple(k.dtype if isinstance(k, ArrayType) else k for k in kinds)
    )
    return tuple([ArrayType(shape, dtype) for dtype in dtypes]), ArrayType(shape, result)


def ufunc_dtypes(op: Any, dtypes: tuple[Any, ...]) -> tuple[np.dtype[Any], ...]:
    """The dtypes of operands and result that NumPy would choose."""
    return op.infer(*dtypes)  # type: ignore[no-any-return]


def ufunc_loop(ufunc: np.ufunc, *dtypes: Any) -> tuple[np.dtype[Any], ...]:
    """The dtypes of the loop that a ufunc picks."""
    strong = tuple(np.dtype(bool) if dtype is bool else dtype for dtype in dtypes)
    try:
        return ufunc.resolve_dtypes((*strong, *[None] * ufunc.nout))
    except TypeError:
        names = ", ".join(str(getattr(d, "name", getattr(d, "__name__", d))) for d in strong)
        if ufunc in _OF_BITS:
            symbol, advice = _OF_BITS[ufunc]
            raise type_error(
                f"{symbol}: expected integers or bools, but got {names}; write {advice}"
            ) from None
        advice = "; multiply truth values by 1 to count with them" if "bool" in names else ""
        raise type_error(f"{ufunc.__name__}: NumPy has no loop for {names}{advice}") from None


_OF_BITS = {
    np.bitwise_xor: ("^", "x**y for a power"),
    np.left_shift: ("<<", "x * 2**n"),
    np.right_shift: (">>", "x / 2**n"),
}


def of_real_numbers(name: str, rule: Callable[..., Any]) -> Callable[..., Any]:
    """A rule that refuses complex operands: of types, of dtypes, or of values."""

    @wraps(rule)
    def checked(*operands: Any, **params: Any) -> Any:
        for operand in operands:
            dtype = np.result_type(getattr(operand, "dtype", operand))
            if dtype.kind == "c":
                raise type_error(f"{name}: expected real numbers, but got {dtype}")
        return rule(*operands, **params)

    return checked


def same_type(type: ArrayType, **_: object) -> ArrayType:
    """The type rule of an operation that keeps its operand's type."""
    return type


@lru_cache(maxsize=1024)
def numpy_dtype(function: Callable[..., Any], dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The dtype that a NumPy function gives for arrays of ``dtype``: by asking it."""
    answer: np.dtype[Any] = np.asarray(function(np.ones(1, dtype))).dtype
    return answer


def in_precision_of(dtype: np.dtype[Any], x: Any) -> Any:
    """A value, in single precision if ``dtype`` is: formulas with float64 arrays widen float32."""
    own = getattr(x, "dtype", None)
    if own not in (np.float64, np.complex128) or dtype not in (np.float32, np.complex64):
        return x
    return x.astype(np.float32 if own == np.float64 else np.complex64)

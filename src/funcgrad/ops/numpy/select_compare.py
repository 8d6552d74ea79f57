"""Choices by condition, and comparisons: where conditions hold, and what is close or equal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from funcgrad.expr import Expr
from funcgrad.ops.base.index_spec import as_indices
from funcgrad.ops.base.op import lift_all, lift_fully
from funcgrad.ops.elementwise.magnitude import make_complex
from funcgrad.ops.shape import as_pythons, astype
from funcgrad.source import type_error, value_error
from funcgrad.typing import Array, ArrayLike


def nonzero(x: ArrayLike) -> tuple[Any, ...]:
    """As `numpy.nonzero`: where entries are not 0, read from their values."""
    x = lift_fully(x)
    if not x.ndim:
        raise value_error(f"nonzero: expected an array, but got {x.type}; write atleast_1d(x)")
    return tuple(as_indices(x if x.dtype.kind == "b" else x != 0))


def flatnonzero(x: ArrayLike) -> Any:
    """As `numpy.flatnonzero`."""
    return nonzero(np.ravel(x))[0]


def argwhere(x: ArrayLike) -> Any:
    """As `numpy.argwhere`."""
    x = lift_fully(x)
    return np.stack(nonzero(x), axis=-1) if x.ndim else np.zeros((int(bool(x)), 0), int)


def select(condlist: Array, choicelist: Array, default: object = 0) -> Any:
    """As `numpy.select`: the first choice whose condition holds."""
    if len(condlist) != len(choicelist) or not len(condlist):
        raise value_error(
            f"select: expected as many choices as conditions, but got {len(choicelist)} and "
            f"{len(condlist)}",
        )
    conditions = lift_all(list(condlist))
    for condition in conditions:
        if condition.dtype.kind != "b":
            raise type_error(
                f"select: expected conditions that are true or false, but got {condition.type}; "
                "write x != 0",
            )
    *choices, z = _alike([*choicelist, default])
    for condition, choice in reversed(list(zip(conditions, choices, strict=True))):
        z = np.where(condition, choice, z)
    return z


def _alike(values: Sequence[Any]) -> list[Any]:
    """Values in the dtype of all, to which Python's numbers give way."""
    values = [value if type(value) in _WEAK else lift_fully(value) for value in values]
    dtype = np.result_type(*[v if type(v) in _WEAK else v.dtype for v in values])
    return [
        np.asarray(v).astype(dtype)[()] if type(v) in _WEAK else astype(v, dtype) for v in values
    ]


_WEAK = (int, float, complex)


def choose(a: Any, choices: Sequence[Any], mode: str = "raise") -> Any:
    """As `numpy.choose`; in the mode raise, an index that is out of range is an error if it is known."""
    index = lift_fully(a)
    if index.dtype.kind not in "biu":
        raise type_error(f"choose: expected integers, but got {index.type}")
    *options, places = np.broadcast_arrays(*lift_all(_alike(choices)), astype(index, int))
    count = len(options)
    if mode == "wrap":
        places = np.mod(places, count)
    elif mode == "clip":
        places = np.clip(places, 0, count - 1)
    elif not isinstance(a, Expr) and not bool(
        np.all((np.asarray(a) >= 0) & (np.asarray(a) < count))
    ):
        raise value_error(f"choose: expected indices from 0 to {count - 1}, but got {a!r}")
    return np.take_along_axis(np.stack(options), places[np.newaxis], 0)[0]


def piecewise(x: object, condlist: ArrayLike, funclist: Any, *args: object, **kw: Any) -> Any:
    """As `numpy.piecewise`: each function runs on all of x, and where its condition fails it has no say."""
    x = lift_fully(x)
    conditions = [_condition(condition, x) for condition in _conditions(condlist, x)]
    otherwise = funclist[len(conditions)] if len(funclist) == len(conditions) + 1 else 0
    if len(funclist) not in (len(conditions), len(conditions) + 1):
        raise value_error(
            f"piecewise: expected {len(conditions)} functions, or one more, but got {len(funclist)}",
        )

    def value(f: Any) -> Any:
        made = f(x, *args, **kw) if callable(f) and not isinstance(f, Expr) else f
        return np.broadcast_to(made, x.shape).astype(x.dtype)

    z = value(otherwise)
    for condition, f in zip(conditions, funclist, strict=False):
        z = np.where(condition, value(f), z)
    return z


def _conditions(condlist: Any, x: Expr) -> Sequence[Any]:
    """One condition may stand without a list around it."""
    if isinstance(condlist, Expr | np.ndarray | np.generic | bool):
        several = condlist.ndim > x.ndim if isinstance(condlist, Expr | np.ndarray) else False
        return list(condlist) if several else [condlist]  # type: ignore[arg-type]
    alone = len(condlist) and not isinstance(condlist[0], list | tuple) and x.ndim
    return [condlist] if alone and not np.ndim(condlist[0]) else condlist


def _condition(condition: ArrayLike, x: Expr) -> Any:
    condition = lift_fully(condition)
    if condition.shape != x.shape:
        raise value_error(
            f"piecewise: expected conditions of the shape of {x.type}, but got {condition.type}",
        )
    return condition if condition.dtype.kind == "b" else condition != 0


def nan_to_num(
    x: object, copy: bool = True, nan: object = 0.0, posinf: object = None, neginf: object = None
) -> Any:
    """As `numpy.nan_to_num`; what is replaced has no gradient."""
    if not copy:
        raise type_error(
            "nan_to_num: copy=False would change an array in place, but expressions are immutable; "
            "write x = np.nan_to_num(x)",
        )
    x = lift_fully(x)
    if x.dtype.kind == "c":
        parts = [nan_to_num(part, True, nan, posinf, neginf) for part in (np.real(x), np.imag(x))]
        return make_complex(*parts)
    if x.dtype.kind != "f":
        return x
    most = np.finfo(x.dtype)
    high, low = (most.max if posinf is None else posinf), (most.min if neginf is None else neginf)
    fill = [astype(lift_fully(value), x.dtype) for value in (nan, high, low)]
    return np.where(
        x != x, fill[0], np.where(x == np.inf, fill[1], np.where(x == -np.inf, fill[2], x))
    )


def isclose(
    a: ArrayLike, b: ArrayLike, rtol: object = 1e-05, atol: object = 1e-08, equal_nan: bool = False
) -> Any:
    """As `numpy.isclose`; not differentiable."""
    a, b = lift_all((a, b))
    b = astype(b, np.result_type(b.dtype, 1.0))
    near = (np.abs(a - b) <= atol + rtol * np.abs(b)) & np.isfinite(b) | (a == b)
    return near | ((a != a) & (b != b)) if equal_nan else near


def allclose(
    a: ArrayLike, b: ArrayLike, rtol: object = 1e-05, atol: object = 1e-08, equal_nan: bool = False
) -> Any:
    """As `numpy.allclose`: a truth value, concretized when Python needs it."""
    return as_pythons(np.all(isclose(a, b, rtol, atol, equal_nan)))


def array_equal(a1: object, a2: object, equal_nan: bool = False) -> Any:
    """As `numpy.array_equal`."""
    a, b = lift_all((a1, a2))
    if a.shape != b.shape:
        return False
    same = a == b
    return as_pythons(np.all(same | ((a != a) & (b != b)) if equal_nan else same))

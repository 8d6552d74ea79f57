"""Calls of NumPy's functions on expressions: what ``__array_function__`` answers.

A function with a replacement calls it; one without a derivative runs on values; of the others NumPy's own
code runs on traced values. The rest is a TypeError that names the function and the nearest that is known.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from funcgrad.arrays.object_array import as_objects, is_of_objects
from funcgrad.expr import Expr
from funcgrad.expr.concrete import kept_for_users
from funcgrad.expr.registry import complete, functions, operation_table
from funcgrad.expr.scope_order import next_in_order
from funcgrad.ops.base.activity import is_jitted
from funcgrad.ops.numpy.bound_arguments import bind_arguments, signatures
from funcgrad.ops.numpy.call_templates import answer_by_template
from funcgrad.source import type_error

_REDUCED_BY = {
    np.sum: np.add,
    np.prod: np.multiply,
    np.max: np.maximum,
    np.min: np.minimum,
    np.amax: np.maximum,
    np.amin: np.minimum,
    np.all: np.logical_and,
    np.any: np.logical_or,
}
"""The ufuncs whose reductions take the arguments that the functions themselves do not, such as ``where``."""

_OF_OBJECTS = frozenset({np.dot, np.inner, np.outer, np.vdot, np.tensordot})
"""Functions that NumPy has for arrays of objects, by their operators."""
_IN_PLACE = frozenset(
    {np.copyto, np.fill_diagonal, np.put, np.place, np.putmask, np.put_along_axis}
)


_FASTER = frozenset(
    {
        *(
            np.interp,
            np.intersect1d,
            np.poly,
            np.polydiv,
            np.polyfit,
            np.setdiff1d,
            np.setxor1d,
            np.union1d,
            np.unique,
        ),
        *(np.unique_all, np.unique_counts, np.unique_inverse, np.unique_values),
        *(np.linalg.cond, np.linalg.eig, np.linalg.eigvals, np.linalg.lstsq),
        *(np.linalg.matrix_rank, np.linalg.slogdet, np.linalg.svdvals),
    }
)
"""Functions that are faster than what has their derivatives: singular values need no vectors."""

_FASTER_OF_MANY = frozenset({np.median, np.nanmedian, np.nanpercentile, np.nanquantile})
"""Functions that are so for many entries, of which they sort a part."""


def apply_numpy(func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Answer ``__array_function__``."""
    return answer_by_template(func, args, kwargs, _applied)


def _applied(func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The answer to a call; a jitted value of a slow composition is NumPy's own."""
    if not kwargs:
        direct = _direct(func)
        if direct is not None and 0 < len(args) <= direct.most and args[-1] is not np._NoValue:
            answer = direct.stand_in(*args)
            if answer is not NotImplemented:
                return answer
    own = func in _FASTER or (
        func in _FASTER_OF_MANY and any([getattr(x, "size", 0) > 99 for x in args[:1]])
    )
    if not own or not any([is_jitted(arg) for arg in args]):
        return _answer(func, args, kwargs)
    begun = next_in_order()
    found = _answer(func, args, dict(kwargs))
    names = [*inspect.signature(func).parameters]
    return functions["host_value"](
        func, dict(zip(names, args, strict=False)) | kwargs, found, begun
    )


class _Direct(NamedTuple):
    """A stand-in that takes the arguments by position as they are, up to a number of them."""

    stand_in: Callable[..., Any]
    most: int


@lru_cache(maxsize=1024)
def _direct(func: Callable[..., Any]) -> _Direct | None:
    """The stand-in of a function whose calls need no other answer; None if it has none."""
    stand_in = operation_table.numpy.get(func)
    if stand_in is None or func in _OTHERWISE:
        return None
    return _Direct(stand_in, signatures(func, stand_in).aligned)


_OTHERWISE = _IN_PLACE | _OF_OBJECTS | _FASTER | _FASTER_OF_MANY


def _answer(func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The answer by a stand-in, by value, or by NumPy's own code on traced values."""
    stand_in = operation_table.numpy.get(func)
    name = getattr(func, "__name__", None) or str(func)
    if func in _IN_PLACE:
        refusal = type_error(
            f"{name}: would change an array in place, but expressions are immutable; write "
            "x = x.at[i].set(v), or np.where(condition, new, old)",
        )
        raise kept_for_users(first_expr(args), refusal)
    if kwargs.pop("out", None) is not None:
        raise kept_for_users(first_expr(args), no_out(name))
    if func in _OF_OBJECTS and any(map(is_of_objects, args)):
        return func(*map(as_objects, args), **kwargs)
    bound = None if stand_in is None else bind_arguments(func, stand_in, args, kwargs)
    if bound is None and func in _REDUCED_BY:
        given = inspect.signature(func).bind(*args, **kwargs).arguments
        return functions["apply_ufunc"](
            _REDUCED_BY[func], "reduce", (given.pop("a"),), {"axis": None} | given
        )
    if stand_in is not None and bound is not None:
        answer = stand_in(*bound[0], **bound[1])
    else:
        answer = _answered(name, func, args, kwargs)
    if answer is NotImplemented:
        answer = functions["run_source"](func, args, kwargs)
    if answer is NotImplemented:
        if bound is None and stand_in is not None:
            _refuse_arguments(name, stand_in, args, kwargs)
        complete()
        raise unsupported(name, [known.__name__ for known in operation_table.numpy])
    return answer


def _answered(name: str, func: Callable[..., Any], args: object, kwargs: object) -> Any:
    """The result of a function without a derivative; what answers it is imported for these alone."""
    from funcgrad.ops.numpy.by_value import answered

    return answered(name, func, args, kwargs)


def _refuse_arguments(
    name: str, stand_in: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> None:
    """Say which of NumPy's arguments is not supported."""
    try:
        inspect.signature(stand_in).bind(*args, **kwargs)
    except TypeError as error:
        raise type_error(
            f"{name}: of NumPy's arguments this one is not supported: {error}"
        ) from None


def first_expr(args: Iterable[object]) -> Expr | None:
    """The first argument that is an expression."""
    return next((arg for arg in args if isinstance(arg, Expr)), None)


def no_out(name: str) -> Exception:
    """The error of a function that would write into its argument."""
    error: Exception = type_error(
        f"{name}: out= (and +=, *= on an array) would change an array in place, but expressions are "
        "immutable; write a = a + b",
    )
    return error


def unsupported(name: str, known: Iterable[str]) -> Exception:
    """The error of a function without a derivative rule, with the nearest name that has one."""
    from difflib import get_close_matches

    names = list(known)
    near = get_close_matches(name.partition(".")[0], names, 1, 0.6)
    hint = f"; the nearest by name that has one is {near[0]!r}" if near else ""
    hint += "; declare one by fg.primitive(f, [partial derivatives])"
    if not names:
        hint = ", since it is neither NumPy's nor SciPy's; give it one with funcgrad.primitive"
    error: Exception = type_error(
        f"{name}: expected a function with a derivative rule, but it has none{hint}"
    )
    return error

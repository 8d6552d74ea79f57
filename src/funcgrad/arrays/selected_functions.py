"""NumPy's functions of entries that a mask of unknown values chooses (`funcgrad.arrays.selections`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad.arrays.reference import Reference, current
from funcgrad.arrays.selections import (
    MaskedIndex,
    Selection,
    as_mask,
    cell_of_selection,
    is_asked_for,
    is_mask,
    on_selections,
    selection_of,
    update_selection,
)
from funcgrad.expr import Expr, constant_of
from funcgrad.expr.registry import functions
from funcgrad.graph import Constant


def ufunc_of_selections(ufunc: np.ufunc, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A ufunc of entries that a mask chooses, which does not ask how many; None where it has to."""
    if ufunc.nout != 1 or ufunc.signature is not None or kwargs.keys() - {"out"}:
        return None
    if "out" not in kwargs:
        return on_selections(ufunc, inputs)
    (target,) = kwargs["out"]
    return target if update_selection(target, ufunc, inputs) else None


def function_of_selections(
    func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """As `ufunc_of_selections`, for a function that is no ufunc."""
    if func is np.extract:
        return _extracted(*args) if len(args) == 2 else None
    if len(args) == 1 and not kwargs:
        if func in OF_PLACES:
            return _places_of(func, args[0])
        selection = selection_of(args[0])
        if func in _TOTALS and selection is not None:
            return _total(func.__name__, selection)
    if func is np.broadcast_arrays and not kwargs:
        return _broadcast(args)
    if func in _ENTRYWISE and not kwargs and any([selection_of(item) for item in args]):
        return on_selections(func, args)
    return None


_ENTRYWISE: frozenset[Any] = frozenset(
    {np.angle, np.around, np.clip, np.copy, np.full_like, np.nan_to_num, np.ones_like}
    | {np.round, np.sinc, np.where, np.zeros_like}
)
OF_PLACES: frozenset[Any] = frozenset({np.flatnonzero, np.nonzero, np.where})
"""Functions that give the places where a mask of their one argument holds."""
BY_MASK = OF_PLACES | {np.extract}
"""Functions of a mask that make entries that it chooses."""
_TOTALS: frozenset[Any] = frozenset({np.mean, np.prod, np.sum})


def _total(name: str, selection: Selection) -> Any:
    """The sum, product or mean of all entries that a mask chooses."""
    neutral = np.ones((), bool) if name == "prod" else np.zeros((), bool)
    whole = selection.whole
    mask = MaskedIndex(
        selection.mask, whole.ndim - selection.mask.ndim - selection.after, None
    ).spread(whole.ndim)
    total = getattr(functions["where"](mask, whole, neutral), "prod" if name == "prod" else "sum")()
    if name != "mean":
        return total
    count = mask.sum() * (whole.size // max(mask.size, 1))
    return total / functions["astype"](count, np.result_type(total.dtype, np.float16))


def _extracted(condition: Any, arr: Any) -> Any:
    """As `numpy.extract`, of a mask whose values would be asked for; None of any other."""
    mask, value = [current(x) if isinstance(x, Reference) else x for x in (condition, arr)]
    mask = as_mask(mask)
    if not is_mask(mask) or not is_asked_for(mask) or np.shape(value) != mask.shape:
        return None
    if not isinstance(value, Expr):
        value = constant_of(Constant(np.array(value), captured=True))
    made = Selection(mask, 0, lambda: value, lambda: functions["getitem"](value, mask))
    return cell_of_selection(arr if isinstance(arr, Reference) else condition, made)


def _broadcast(args: tuple[Any, ...]) -> tuple[Any, ...] | None:
    made = [
        on_selections(lambda *parts, k=k: np.broadcast_arrays(*parts)[k], args)
        for k in range(len(args))
    ]
    return None if any([part is None for part in made]) else tuple(made)


def _places_of(func: Callable[..., Any], cell: Any) -> Any:
    """The places of a mask whose values would be asked for; None of any other array."""
    mask = current(cell) if isinstance(cell, Reference) else cell
    if not is_mask(mask) or not is_asked_for(mask) or (func is np.flatnonzero and mask.ndim > 1):
        return None

    def place(axis: int) -> Any:
        numbers = np.arange(mask.shape[axis]).reshape((-1,) + (1,) * (mask.ndim - axis - 1))
        grid = np.broadcast_to(numbers, mask.shape)

        def chosen() -> Any:
            return functions["apply_numpy"](np.nonzero, (mask,), {})[axis]

        made = Selection(mask, 0, lambda: grid, chosen, is_plain=True)
        made.axis = axis
        return cell_of_selection(cell, made)

    return place(0) if func is np.flatnonzero else tuple([place(k) for k in range(mask.ndim)])

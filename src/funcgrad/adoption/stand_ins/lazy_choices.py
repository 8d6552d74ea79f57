"""Choices that SciPy makes by masks, entry by entry, with the values of each mask.

Where these are not known, as under vmap, or would be recorded, each function runs on all entries, and
`numpy.where` chooses, which SciPy does itself under `jax.jit`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any

import numpy as np
import scipy
from scipy._lib import _util
from scipy.stats import _distn_infrastructure

from funcgrad.arrays.reference import unwrapped
from funcgrad.arrays.selections import is_asked_for, selection_of
from funcgrad.expr import Expr
from funcgrad.expr.concrete import has_known_value
from funcgrad.expr.registry import functions
from funcgrad.source import USERS, fail
from funcgrad.typing import Array


def _copied(f: Any) -> FunctionType:
    """SciPy's function as another object, for which nothing stands in."""
    return FunctionType(f.__code__, f.__globals__, f.__name__, f.__defaults__, f.__closure__)


if not hasattr(_distn_infrastructure, "xpx"):
    raise fail(
        ImportError,
        f"adopt: expected SciPy 1.17 or newer, but found SciPy {scipy.__version__}; run pip install -U scipy",
        USERS,
    )
# The package of these functions has another place in SciPy 1.18.
SCIPYS_APPLY_WHERE = _distn_infrastructure.xpx.apply_where.__globals__["_apply_where"]
SCIPYS_LAZY_SELECT = _util._lazyselect
_OWN_APPLY_WHERE, _OWN_LAZY_SELECT = _copied(SCIPYS_APPLY_WHERE), _copied(SCIPYS_LAZY_SELECT)


def apply_where(
    cond: Any,
    f1: Callable[..., Any],
    f2: Callable[..., Any] | None,
    fill_value: Any,
    *args: Array,
    **named: Any,
) -> Any:
    """f1 of the arguments where a condition holds, else f2 of them, or a fill value.

    Since SciPy 1.18, ``named`` has the names of the last arguments.
    """
    if not _is_unknown(cond):
        own = (cond, f1, f2, fill_value, *args)
        return functions["call_adopted"](_OWN_APPLY_WHERE, own, named)
    entries, names = _entries(args), named.get("kwkeys", ())
    count = len(entries) - len(names)
    words = dict(zip(names, entries[count:], strict=True))
    found = f1(*entries[:count], **words)
    made = np.where(cond, found, fill_value if f2 is None else f2(*entries[:count], **words))
    return made if entries is args else np.reshape(made, ())


def lazy_select(
    condlist: Sequence[Any],
    choicelist: Sequence[Callable[..., Any]],
    arrays: Sequence[Array],
    default: Any = 0,
) -> Any:
    """The last of the functions whose condition holds, of the arrays, else the default."""
    if not any([_is_unknown(cond) for cond in condlist]):
        own = (condlist, choicelist, arrays, default)
        return functions["call_adopted"](_OWN_LAZY_SELECT, own, {})
    arrays = np.broadcast_arrays(*arrays)
    entries = _entries(arrays)
    chosen = np.full_like(entries[0], default)
    for function, cond in zip(choicelist, condlist, strict=False):
        chosen = np.where(cond, function(*entries), chosen)
    return chosen if entries is arrays else np.reshape(chosen, ())


def _entries(arrays: Sequence[Array]) -> Sequence[Array]:
    """The arrays, with one axis where they are numbers, as entries have that a mask chooses."""
    if any([selection_of(a) is not None or np.ndim(a) for a in arrays]):
        return arrays
    return [np.reshape(a, (1,)) for a in arrays]


def _is_unknown(cond: object) -> bool:
    """Whether a condition's values are no part of the program; a path answers for a single one."""
    if selection_of(cond) is not None:
        return True
    value = unwrapped(cond)
    if not isinstance(value, Expr) or not is_asked_for(value):
        return False
    return bool(value.shape) or not has_known_value(value)

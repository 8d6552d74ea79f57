"""Arithmetic on trees of parameters, gradients and moments, leaf by leaf.

Results are new trees. Arrays that an optimizer's state keeps are read-only, so that a state never changes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad.expr import Expr
from funcgrad.source import type_error, value_error
from funcgrad.trace.pytree import flatten_numbers
from funcgrad.trace.tree_map import mapped
from funcgrad.typing import Array


def frozen(tree: object) -> Any:
    """The tree with read-only arrays, for an optimizer's state; the arrays must be new."""
    for leaf in flatten_numbers(tree).leaves:
        if isinstance(leaf, np.ndarray):
            leaf.setflags(write=False)
    return tree


def tree_zeros(params: object, real: bool = False) -> Any:
    """Zeros like the parameters, read-only; with ``real``, of real dtype, for sums of squared moduli."""
    return frozen(mapped("init", lambda p: _zero(p, real), params))


def _zero(leaf: object, real: bool) -> Any:
    known = leaf if isinstance(leaf, Expr) else np.asarray(leaf)
    dtype = known.dtype if known.dtype.kind in "fc" else np.dtype(float)
    return np.zeros(known.shape, np.zeros(0, dtype).real.dtype if real else dtype)[()]


def is_complex(leaf: Any) -> bool:
    """Whether a number, an array or an expression is complex."""
    return bool(leaf.dtype.kind == "c" if isinstance(leaf, Expr) else np.iscomplexobj(leaf))


def squared_modulus(leaf: Array) -> Any:
    """The squares of absolute values."""
    return np.real(leaf * np.conj(leaf)) if is_complex(leaf) else leaf * leaf


def weak(number: object) -> Any:
    """A number that leaves float32 as it is: NumPy's scalars become Python's own."""
    if isinstance(number, np.generic) or (isinstance(number, np.ndarray) and not number.ndim):
        return number.item()
    return number


def checked_number(
    who: str, name: str, value: object, low: float = 0.0, high: float = np.inf
) -> Any:
    """A hyperparameter, checked: a number in [low, high), or a scalar expression."""
    value = weak(value)
    if isinstance(value, Expr) and not value.shape:
        return value
    if isinstance(value, bool) or not isinstance(value, int | float):
        kind = value.type if isinstance(value, Expr) else type(value).__name__
        raise type_error(f"{who}: expected a number for {name}, but got {kind}")
    if not low <= value < high:
        span = f"in [{low:g}, {high:g})" if high < np.inf else f"of at least {low:g}, finite"
        raise value_error(f"{who}: expected {name} {span}, but got {value}")
    return value

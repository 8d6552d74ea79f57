"""Functions of one matrix, applied to stacks of matrices, as SciPy's functions are: a slice at a time."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from inspect import signature
from types import MappingProxyType
from typing import Any

import numpy as np
import scipy.linalg as _scipy

from funcgrad.ops.base.op import lift_fully
from funcgrad.ops.shape import holds_expr
from funcgrad.typing import Array

_AXES: Mapping[str, Mapping[str, int]] = MappingProxyType(
    {
        name: dict(axes)
        for names, axes in (
            ("hessenberg lu lu_factor polar rq schur", (("a", 2),)),
            ("fractional_matrix_power funm ldl logm matrix_balance", (("A", 2),)),
            ("null_space signm sqrtm", (("A", 2),)),
            ("eig_banded eigvals_banded", (("a_band", 2),)),
            ("eigh_tridiagonal eigvalsh_tridiagonal", (("d", 1), ("e", 1))),
            ("qz ordqz", (("A", 2), ("B", 2))),
            ("solve_continuous_lyapunov solve_discrete_lyapunov", (("a", 2), ("q", 2))),
            ("solve_lyapunov", (("a", 2), ("q", 2))),
            ("solve_sylvester", (("a", 2), ("b", 2), ("q", 2))),
            ("solve_continuous_are solve_discrete_are", tuple([(k, 2) for k in "abqres"])),
            ("cholesky_banded", (("ab", 2),)),
            ("lstsq", (("a", 2), ("b", 0))),
            ("qr_multiply", (("a", 2), ("c", 0))),
            ("qr_delete", (("Q", 2), ("R", 2))),
            ("qr_insert", (("Q", 2), ("R", 2), ("u", 0))),
            ("qr_update", (("Q", 2), ("R", 2), ("u", 0), ("v", 0))),
            ("solve_banded solveh_banded", (("ab", 2), ("b", 0))),
            ("cho_solve_banded", (("cb_and_lower", 2), ("b", 0))),
        )
        for name in names.split()
    }
)
"""The axes of each argument of one problem; 0 stands for a vector, or a matrix, as the axes are. Of a tuple
they are those of its first item."""


def over_stacks(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, which takes stacks of traced matrices if SciPy's does."""
    if name not in _AXES:
        return function
    expected = signature(getattr(_scipy, name))

    @wraps(function)
    def of_stacks(*args: object, **kwargs: object) -> Any:
        if not holds_expr([*args, *kwargs.values()]):
            return function(*args, **kwargs)
        given = expected.bind(*args, **kwargs).arguments
        given.update(given.pop("kwargs", {}))
        arrays = {
            key: (x, axes or min(x.ndim, 2))
            for key, axes in _AXES[name].items()
            if given.get(key) is not None
            for x in [lift_fully(_array(given[key]))]
        }
        stacks = [x.shape[: max(x.ndim - axes, 0)] for x, axes in arrays.values()]
        lengths = np.broadcast_shapes(*stacks)
        if not lengths or not math.prod(lengths):
            return function(*args, **kwargs)
        spread = {
            key: np.broadcast_to(x, (*lengths, *x.shape[x.ndim - axes :]))
            for key, (x, axes) in arrays.items()
        }
        rows = [
            function(**{**given, **{k: _with_array(given[k], x[i]) for k, x in spread.items()}})
            for i in np.ndindex(*lengths)
        ]
        if not isinstance(rows[0], tuple):
            return _stacked(rows, lengths)
        return tuple([_stacked(parts, lengths) for parts in zip(*rows, strict=True)])

    return of_stacks


def _array(value: Any) -> Any:
    return value[0] if isinstance(value, tuple) else value


def _with_array(value: Any, array: Any) -> Any:
    return (array, *value[1:]) if isinstance(value, tuple) else array


def _stacked(parts: Sequence[Array | None], lengths: tuple[int, ...]) -> Any:
    if parts[0] is None:  # of lstsq by "gelsy", which has no singular values
        return np.full(lengths, None)
    found: Any = np.stack([lift_fully(part) for part in parts])
    return np.reshape(found, (*lengths, *found.shape[1:]))

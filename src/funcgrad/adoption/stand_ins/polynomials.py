"""What NumPy's polynomials read from the values of coefficients, for adopted code.

NumPy cuts zeros off. One that is differentiated has a derivative, and one of a mapped value may be none in
another example: such coefficients are all kept.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from inspect import signature
from typing import Any

import numpy as np
from numpy.polynomial import (
    chebyshev,
    hermite,
    hermite_e,
    laguerre,
    legendre,
    polynomial,
    polyutils,
)

from funcgrad.arrays.reference import exported, plain_value
from funcgrad.expr import Expr
from funcgrad.expr.registry import functions
from funcgrad.numpy.creation import array
from funcgrad.ops.eigenvectors import has_real_eigenvalues
from funcgrad.ops.shape import holds_expr
from funcgrad.scipy.composition import unreplaced
from funcgrad.source import value_error
from funcgrad.typing import Array, DTypeLike


def trimseq(seq: Array) -> Array:
    """As NumPy's, a series without zeros at its end."""
    if _is_differentiated(seq):
        return seq
    try:
        return polyutils.trimseq(seq)
    except TypeError:
        if not holds_expr(seq):
            raise
        return seq


def trimcoef(c: Array, tol: float = 0) -> Any:
    """As NumPy's ``polytrim``: without small coefficients at the end, and zeros that have a derivative."""
    if tol < 0:
        raise ValueError("tol must be non-negative")
    given: Any = array(c, ndmin=1)
    if given.dtype.kind in "biu":
        given = given.astype(float)
    if not tol and _is_differentiated(given):
        return given
    places = np.nonzero(np.abs(given) > tol)[0]
    return given[: places[-1] + 1] if len(places) else given[:1] * 0


def real_roots_if_all_are(w: Array, matrix: Array) -> Any:
    """The eigenvalues of a companion matrix as NumPy's roots are: real, if the matrix and all of them are."""
    return np.real(w) if has_real_eigenvalues(matrix, w) else w


def constant_series() -> dict[Callable[..., Any], Callable[..., Any]]:
    """NumPy's functions that return another series for a coefficient of 0, with those that keep it."""
    found: dict[Callable[..., Any], Callable[..., Any]] = {}
    for module, prefix in _SERIES.items():
        for name in ("mulx", "int"):
            theirs = getattr(module, prefix + name)
            found[theirs] = _of_constants(theirs)
        theirs = getattr(module, f"{prefix}line")
        found[theirs] = _line(theirs)
    return found


_SERIES = {
    polynomial: "poly",
    chebyshev: "cheb",
    hermite: "herm",
    hermite_e: "herme",
    laguerre: "lag",
    legendre: "leg",
}
"""Modules of series, and how the names of their functions begin."""


def _of_constants(theirs: Callable[..., Any]) -> Callable[..., Any]:
    """A product with x or an integral: of a single coefficient as of two of which the second one is 0."""
    own = unreplaced(theirs)

    @wraps(theirs)
    def function(c: Array, *args: Any, **kwargs: Any) -> Any:
        bound = signature(theirs).bind(c, *args, **kwargs)
        bound.apply_defaults()
        axis = int(bound.arguments.get("axis", 0))
        given: Any = array(c, ndmin=1) if holds_expr(c) else c
        if not holds_expr(c) or given.shape[axis] > 1 or not _is_differentiated(given):
            return functions["call_adopted"](own, (c, *args), kwargs)
        padded = np.concatenate([given, 0 * given], axis)
        made = functions["call_adopted"](own, (padded, *args), kwargs)
        return np.delete(made, -1, axis)

    return function


def _line(theirs: Callable[..., Any]) -> Callable[..., Any]:
    own = unreplaced(theirs)

    @wraps(theirs)
    def line(off: Array, scl: Array) -> Any:
        if not _is_differentiated(scl):
            return functions["call_adopted"](own, (off, scl), {})
        return array([off, 0.0]) + theirs(0.0, 1.0) * scl

    return line


def initialize(
    self: np.poly1d, c_or_r: Array | np.poly1d, r: bool = False, variable: str | None = None
) -> None:
    """As `numpy.poly1d`, without zeros at the front."""
    given: Any = c_or_r
    if isinstance(given, np.poly1d) or not holds_expr(given):
        np.poly1d.__init__(self, given, r, variable)
        return
    given = array(given, ndmin=1)
    given = np.poly(given) if r else given
    if given.ndim > 1:
        raise value_error("Polynomial must be 1d only.")
    if not _is_differentiated(given):
        try:
            np.poly1d.__init__(self, given, variable=variable)
            return
        except TypeError:  # a mapped value
            pass
    np.poly1d.__init__(self, [0.0], variable=variable)
    vars(self)["coeffs"] = given


def numpys_coefficients(
    self: np.poly1d, t: DTypeLike | None = None, copy: bool | None = None
) -> Any:
    """As ``poly.__array__`` of `numpy.poly1d`, which NumPy's own code calls: an array of NumPy's."""
    own = exported(self.coeffs)
    return own if t is None else own.astype(t)


def divide(self: np.poly1d, other: Any) -> Any:
    """As ``poly / other`` of `numpy.poly1d`: by a polynomial, the quotient and the remainder."""
    if not isinstance(other, np.poly1d) and not np.ndim(other):
        return type(self)(self.coeffs / other)
    return tuple([type(self)(c) for c in np.polydiv(self.coeffs, type(self)(other).coeffs)])


def divide_into(self: np.poly1d, other: Any) -> Any:
    """As ``other / poly`` of `numpy.poly1d`."""
    if not isinstance(other, np.poly1d) and not np.ndim(other):
        return type(self)(other / self.coeffs)
    return divide(type(self)(other), self)


def _is_differentiated(coefficients: Array) -> bool:
    value = plain_value(coefficients)
    return isinstance(value, Expr) and bool(value.traced) and bool(functions["is_varied"](value))

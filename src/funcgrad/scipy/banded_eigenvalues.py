"""Eigenvalues of banded matrices, those of the whole matrix, and questions about a matrix's structure."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.linalg as _scipy

from funcgrad.arrays.values import by_value
from funcgrad.ops.shape import holds_expr
from funcgrad.scipy.banded_systems import lower_triangle
from funcgrad.scipy.composition import as_single, composed, nondifferentiable, number
from funcgrad.source import with_name
from funcgrad.typing import Array, ArrayLike

_composed, _hosted = composed(_scipy), composed(_scipy, host=True)


def _eigenvalues(
    name: str, whole: Array, vectors: bool, given: tuple[Any, ...], options: Any
) -> Any:
    """Those of the lower triangle of a matrix; eigenvectors have the signs of SciPy's ``name``."""
    w, v = np.linalg.eigh(whole) if vectors else (np.linalg.eigvalsh(whole), None)
    select, interval = options.get("select", "a"), options.get("select_range")
    chosen = kept = options
    if holds_expr(interval):
        chosen = options | {"select_range": tuple([by_value(end, name) for end in interval])}
    first, last = interval if select in ("i", "index", 2) else (0, whole.shape[0] - 1)
    if select in ("v", "value", 1):
        inside = by_value(np.logical_and(w > interval[0], w <= interval[1]), name)
        first, last = int(np.argmax(inside)), int(np.argmax(inside) + np.sum(inside)) - 1
        kept = options | {"select": "i", "select_range": (first, last)}
    w = w[first : last + 1]
    if v is None:
        return w
    v = v[:, first : last + 1]

    def own(v: Array, *given: Array) -> Any:
        theirs = getattr(_scipy, name)(*given, **chosen)[1]
        if theirs.shape != v.shape:  # an eigenvalue is at an end of the interval, but for rounding
            theirs = getattr(_scipy, name)(*given, **kept)[1]
        overlap = np.sum(np.conj(v) * theirs, axis=0)
        return np.where(overlap == 0, 1.0, overlap / np.abs(overlap))

    signs = nondifferentiable("signs", own, v, *given) if first <= last else 1.0
    return w, v * signs


def _of_diagonals(name: str) -> Callable[..., Any]:
    def function(d: ArrayLike, e: ArrayLike, **options: Any) -> Any:
        main, beside = number(name, d, "fiub"), number(name, e, "fiub")
        vectors = name == "eigh_tridiagonal" and not options.pop("eigvals_only", False)
        whole = np.diag(main) + np.diag(beside, -1)
        return as_single(_eigenvalues(name, whole, vectors, (main, beside), options), d, e)

    return _hosted(with_name(function, name))


def _of_bands(name: str) -> Callable[..., Any]:
    def function(a_band: ArrayLike, lower: bool = False, **options: Any) -> Any:
        bands = number(name, a_band)
        vectors = name == "eig_banded" and not options.pop("eigvals_only", False)
        options["lower"] = lower
        found = _eigenvalues(name, lower_triangle(bands, lower), vectors, (bands,), options)
        return as_single(found, a_band)

    return _hosted(with_name(function, name))


eigh_tridiagonal, eigvalsh_tridiagonal = map(
    _of_diagonals, ("eigh_tridiagonal", "eigvalsh_tridiagonal")
)
eig_banded, eigvals_banded = map(_of_bands, ("eig_banded", "eigvals_banded"))


# -- questions -------------------------------------------------------------------------------------
def _question(name: str) -> Callable[..., Any]:
    own = getattr(_scipy, name)

    def function(a: ArrayLike, **options: object) -> Any:
        found = nondifferentiable(name, lambda a: own(np.asarray(a), **options), number(name, a))
        return tuple(found) if found.ndim else found

    return _composed(with_name(function, name))


bandwidth, ishermitian, issymmetric = map(_question, ("bandwidth", "ishermitian", "issymmetric"))

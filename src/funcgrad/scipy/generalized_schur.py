"""The generalized Schur form of two matrices, `qz` and `ordqz`, and a matrix that is balanced."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.linalg as _scipy

from funcgrad.graph import ArrayType
from funcgrad.ops.base.op import lift_fully
from funcgrad.ops.eigenvectors import has_real_eigenvalues
from funcgrad.scipy.composition import (
    composed,
    nondifferentiable,
    number,
    refuse,
    with_phases,
    with_value,
)
from funcgrad.scipy.matrix_equations import in_one_dtype, square_matrix
from funcgrad.source import fail
from funcgrad.transforms.custom.primitive import primitive
from funcgrad.transforms.grad import stop_gradient
from funcgrad.typing import Array

_kept = composed(_scipy, single=True)


def _triangular(who: str, run: Callable[..., Any], pair: tuple[Any, Any], output: str) -> Any:
    """Both triangles and the vectors on both sides, as ``run`` gives them; the eigenvalues are real.

    The right vectors are the orthogonal factor of the eigenvectors v of b^-1 a, the left ones that of b v.
    """
    a, b = pair
    w, v = np.linalg.eig(np.linalg.solve(b, a))
    if output not in ("real", "r") or not has_real_eigenvalues(a, w):
        raise fail(
            TypeError,
            f"{who}: expected real matrices with real generalized eigenvalues and output='real' for traced "
            "values, since complex ones determine the vectors up to a rotation only; write "
            "scipy.linalg.eigvals(a, b) for the eigenvalues",
        )
    own = primitive(
        lambda a, b: np.stack(run(a, b)),
        out=lambda a, b: ArrayType((4, *a.shape), a.dtype),
        name=who,
    )(*[stop_gradient(lift_fully(matrix)) for matrix in (a, b)])
    w, v = np.real(w), np.real(v)
    wanted = np.diagonal(own[0]) / np.diagonal(own[1])
    v = v[:, np.argsort(w)[np.argsort(np.argsort(wanted))]]
    z = with_phases(np.linalg.qr(v)[0], own[3])
    q = with_phases(np.linalg.qr(b @ z)[0], own[2])
    found = np.triu(q.T @ a @ z), np.triu(q.T @ b @ z), q, z
    return [with_value(own[k], found[k]) for k in range(4)]


def _real_pair(who: str, a: npt.ArrayLike, b: npt.ArrayLike) -> tuple[Any, Any]:
    first, second = [lift_fully(square_matrix(who, item)) for item in in_one_dtype(who, a, b)]
    return first, second


@_kept
def qz(A: npt.ArrayLike, B: npt.ArrayLike, output: str = "real", **options: object) -> Any:
    """As `scipy.linalg.qz`, for real matrices with real, distinct generalized
    eigenvalues, of which B is not singular.
    """
    refuse("qz", sort=options.get("sort"))
    found = _triangular("qz", _scipy.qz, _real_pair("qz", A, B), output)
    return tuple(found)


@_kept
def ordqz(
    A: npt.ArrayLike,
    B: npt.ArrayLike,
    sort: str | Callable[..., Any] = "lhp",
    output: str = "real",
    **options: object,
) -> Any:
    """As `scipy.linalg.ordqz`, as `qz`."""

    def run(a: Array, b: Array) -> Any:
        found = _scipy.ordqz(a, b, sort)
        return (*found[:2], *found[4:])

    first, second, q, z = _triangular("ordqz", run, _real_pair("ordqz", A, B), output)
    # The second triangle has no negative entries on the diagonal.
    return first, second, np.diagonal(first) + 0j, np.diagonal(second), q, z


@_kept
def matrix_balance(
    A: npt.ArrayLike,
    permute: bool = True,
    scale: bool = True,
    separate: bool = False,
    overwrite_a: bool = False,
) -> Any:
    """As `scipy.linalg.matrix_balance`; scales and the order are constant."""
    a: Any = square_matrix("matrix_balance", np.atleast_2d(number("matrix_balance", A)))

    def own(k: int) -> Any:
        run = lambda a: _scipy.matrix_balance(a, permute, scale, separate=True)[1][k]  # noqa: E731
        return nondifferentiable("matrix_balance", run, a)

    scales, order = own(0), own(1)
    rows = lift_fully(a)[order][:, order]
    balanced = rows * (scales / scales[:, None])
    if separate:
        return balanced, (scales, order)
    return balanced, np.diag(scales)[np.argsort(order)]

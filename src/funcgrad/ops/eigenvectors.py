"""Eigenvalues and eigenvectors of general matrices: `eig` and `eigvals`.

The operation's vectors are complex. Their derivatives keep LAPACK's scaling: each vector has norm 1, and its
largest entry is real.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.linalg._linalg import EigResult

from funcgrad.graph import ArrayType, TupleType
from funcgrad.linear import LinearMap, Parts, Structural
from funcgrad.ops.base.columns import Columns
from funcgrad.ops.base.matrix_stacks import as_row, matrices, matrix_flops, mT
from funcgrad.ops.base.op import Op, same_on_batch
from funcgrad.ops.base.untaken_paths import matrix_or_identity
from funcgrad.ops.elementwise.arithmetic import determined_product, determined_quotient
from funcgrad.ops.elementwise.selection import mask, stopped
from funcgrad.ops.reduced_resolvents import columns_product, moved, resolved, turning
from funcgrad.ops.shape import astype
from funcgrad.ops.tuples import pick_op
from funcgrad.typing import Array


def _complex(dtype: np.dtype[Any]) -> np.dtype[Any]:
    return np.result_type(dtype, np.complex64)


def _eig_type(a: ArrayType) -> Any:
    dtype = _complex(a.dtype)
    return TupleType((ArrayType(a.shape[:-1], dtype), ArrayType(a.shape, dtype)))


def _eig_run(a: Array) -> tuple[Any, Any]:
    w, v = np.linalg.eig(a)
    return w.astype(_complex(a.dtype)), v.astype(_complex(a.dtype))


def independent(v: Array) -> Any:
    """v, and NaN if its columns are dependent up to rounding, as those of a defective matrix."""
    n = v.shape[-1]
    if not n:
        return v
    least = np.min(np.linalg.svdvals(stopped(v)), axis=-1)[..., None, None]
    return np.where(least > n * np.finfo(v.dtype).eps, v, np.nan)


def _eig_edge(z: Array, a: Array) -> LinearMap:
    """dw_j = y_j . da v_j for the left vectors y, and v_j turns by the reduced resolvent
    (`funcgrad.ops.reduced_resolvents`), less its part that changes LAPACK's scale.
    """
    w, v = pick_op(z, index=0), independent(pick_op(z, index=1))
    whole = a if a.dtype.kind == "c" else astype(a, v.dtype)
    inverse = mT(np.linalg.inv(v))
    right, left = turning(whole, w, v, inverse), turning(mT(whole), w, inverse, v)
    is_largest = _largest(v)
    entry = np.sum(mask(is_largest, v), axis=-2)

    def forward(da: Array) -> Parts:
        da = astype(da, v.dtype)
        slopes = np.sum(determined_product(left, moved(da, right, None)), axis=-2)
        dv = resolved(whole, w, right, left, moved(da, v, None), split=None)
        longer = np.real(np.sum(determined_product(np.conjugate(v), dv), axis=-2))
        phase = np.imag(determined_quotient(np.sum(mask(is_largest, dv), axis=-2), entry))
        return Parts({0: slopes, 1: dv - determined_product(v, as_row(longer + 1j * phase))})

    def backward(g: Parts) -> Any:
        terms = []
        if 0 in g.of:
            terms.append(columns_product(determined_product(left, as_row(g.of[0])), right))
        if 1 in g.of:
            along = np.sum(determined_product(g.of[1], v), axis=-2)
            longer = determined_product(np.conjugate(v), as_row(np.real(along)))
            phase = determined_quotient(1j * np.imag(along), entry)
            gv = g.of[1] - longer - mask(is_largest, np.broadcast_to(as_row(phase), np.shape(v)))
            turned = resolved(mT(whole), w, left, right, gv, split=None)
            terms.append(columns_product(turned, v))
        if not terms:
            return None
        back = terms[0] if len(terms) == 1 else terms[0] + terms[1]
        return back if a.dtype.kind == "c" else np.real(back)

    return Structural(forward, backward)


def _largest(v: Array) -> Any:
    """Where the entry of each column is that LAPACK makes real."""
    n = v.shape[-1]
    if not n:
        return v != 0
    return np.expand_dims(np.arange(n), -1) == as_row(np.argmax(np.abs(v), axis=-2))


eig_op: Op = Op(
    name="eig",
    run=_eig_run,
    infer=_eig_type,
    edges=(_eig_edge,),
    batch=same_on_batch(lambda: eig_op),
    columns=Columns(
        flops=matrix_flops(lambda n: 25 * n**3),
        numpy="(lambda z, c: (z[0].astype(c), z[1].astype(c)))(np.linalg.eig({0}), np.result_type({0}, 'F'))",
        libraries={"any": lambda xp, a: tuple(xp.linalg.eig(a))},
        untaken=matrix_or_identity,
    ),
)


def eig(a: Array) -> EigResult:
    """As `numpy.linalg.eig`; before NumPy 2.5, the results of a real matrix are real if all eigenvalues are.

    That is read from its values: without them, as under `vmap`, the results are complex. Vectors of equal
    eigenvalues have no derivative, as those of `numpy.linalg.eigh`: a function that uses it has the
    derivative NaN. So has a matrix without as many independent eigenvectors as rows.

    >>> import funcgrad as fg
    >>> fg.grad(lambda a: np.linalg.eig(a)[0][0].real)(np.array([[2.0, 1.0], [0.0, 1.0]]))
    array([[1., 0.],
           [1., 0.]])
    """
    node = eig_op(matrices("eig", a))
    w, v = pick_op(node, index=0), pick_op(node, index=1)
    if not _ALWAYS_COMPLEX and has_real_eigenvalues(a, w):
        w, v = np.real(w), np.real(v)
    return EigResult(w, v)


def eigvals(a: Array) -> Any:
    """As `numpy.linalg.eigvals`; as the first of `eig`."""
    w = pick_op(eig_op(matrices("eigvals", a)), index=0)
    return np.real(w) if not _ALWAYS_COMPLEX and has_real_eigenvalues(a, w) else w


_ALWAYS_COMPLEX = np.linalg.eigvals(np.eye(1)).dtype.kind == "c"
"""Whether NumPy's results are complex for any matrix, as since NumPy 2.5."""


def has_real_eigenvalues(a: Array, w: Array) -> bool:
    """Whether a matrix is real, and so are its eigenvalues; False of one without values."""
    if np.iscomplexobj(a):
        return False
    try:
        return bool(np.all(np.imag(w) == 0))
    except TypeError:  # mapped, or a formula: it has no value to ask for
        return False

"""Eigenvalues and eigenvectors of general matrices: `eig` and `eigvals`.

The operation's vectors are complex, and their derivatives leave the scale of each one as it is. `eig` adds
LAPACK's scaling: each vector has norm 1, and its largest entry is real.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from funcgrad.graph import ArrayType, TupleType
from funcgrad.linear import LinearMap, Parts, Structural
from funcgrad.ops.base.columns import Columns
from funcgrad.ops.base.matrix_stacks import eye_like, matrices, matrix_flops, mT, of_stacks
from funcgrad.ops.base.op import Op
from funcgrad.ops.decompositions import differences, off_diagonal
from funcgrad.ops.elementwise.selection import stopped
from funcgrad.ops.tuples import pick_op
from funcgrad.typing import Array


class EigResult(NamedTuple):
    """Eigenvalues, and eigenvectors in columns."""

    eigenvalues: Any
    eigenvectors: Any


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
    """With x = v^-1 da v: dw is its diagonal, and dv = v (x / (w_j - w_i)); 0/0 is 0, and x/0 is NaN."""
    w, v = pick_op(z, index=0), independent(pick_op(z, index=1))
    gaps = differences(w, w.shape[-1])

    def forward(da: Array) -> Parts:
        x = np.linalg.solve(v, np.matmul(da, v))
        return Parts({0: np.sum(x * eye_like(x), axis=-1), 1: np.matmul(v, off_diagonal(x, gaps))})

    def backward(g: Parts) -> Any:
        terms = []
        if 0 in g.of:
            row = np.expand_dims(g.of[0], -2)
            terms.append(row * eye_like(v))
        if 1 in g.of:
            terms.append(off_diagonal(np.matmul(mT(v), g.of[1]), gaps))
        if not terms:
            return None
        inner = terms[0] if len(terms) == 1 else terms[0] + terms[1]
        back = np.matmul(np.linalg.solve(mT(v), inner), mT(v))
        return back if a.dtype.kind == "c" else np.real(back)

    return Structural(forward, backward)


eig_op: Op = Op(
    name="eig",
    run=_eig_run,
    infer=_eig_type,
    edges=(_eig_edge,),
    batch=of_stacks(lambda: eig_op),
    columns=Columns(
        flops=matrix_flops(lambda n: 25 * n**3),
        numpy="(lambda z, c: (z[0].astype(c), z[1].astype(c)))(np.linalg.eig({0}), np.result_type({0}, 'F'))",
        libraries={"any": lambda xp, a: tuple(xp.linalg.eig(a))},
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
    size = np.linalg.norm(v, axis=-2, keepdims=True)
    v = v * (stopped(size) / size)
    if v.dtype.kind == "c":
        largest = np.expand_dims(np.argmax(np.abs(v), axis=-2), -2)
        entry = np.take_along_axis(v, largest, -2)
        phase = np.conjugate(entry) / np.abs(entry)
        v = v * (phase / stopped(phase))
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

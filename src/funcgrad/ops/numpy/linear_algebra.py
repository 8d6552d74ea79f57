"""What NumPy builds upon decompositions: norms, ranks, powers, least squares, tensors; compositions all."""

from __future__ import annotations

import math
import operator
from typing import Any, NamedTuple

import numpy as np

from funcgrad.arrays.values import by_value
from funcgrad.ops import reduction, shape
from funcgrad.ops.base.axes import axis_index, axis_tuple, keeps_axes, one_or_tuple
from funcgrad.ops.base.matrix_stacks import cheapest_product, eye_like, matrices
from funcgrad.ops.base.op import lift_all, lift_fully
from funcgrad.ops.decompositions import svdvals
from funcgrad.ops.determinants import slogdet
from funcgrad.ops.elementwise.selection import mask
from funcgrad.ops.matrix_functions import singular_norm_op
from funcgrad.ops.pseudoinverse import pinv
from funcgrad.ops.shape import astype, broadcast_to, moveaxis, reshape
from funcgrad.ops.solve import inv, solve
from funcgrad.source import value_error
from funcgrad.typing import Array, ArrayLike, Axes, Axis


# -- norms ---------------------------------------------------------------------------------------
def matrix_norm(x: Array, /, *, keepdims: bool = False, ord: object = "fro") -> Any:
    """As `numpy.linalg.matrix_norm`: 'fro', 'nuc', and 1, -1, 2, -2, inf, -inf.

    At a kink the derivative is a subgradient: 0 of a norm of 0; of 'nuc', where some singular values are 0,
    and of 2 and -2, where the value is repeated, that along the vectors which LAPACK chose, shared equally.
    """
    x = matrices("matrix_norm", x, square=False)
    if ord in ("fro", None):
        z = reduction.norm(x, axis=(-2, -1))
    elif ord in ("nuc", 2):
        # The norm of an empty matrix is an empty sum.
        z = singular_norm_op(x, order="2" if ord == 2 and x.size else "nuc")
        z = mask(z != 0, z)
    elif ord == -2:
        z = singular_norm_op(x, order="-2")
    elif ord in (1, -1, np.inf, -np.inf):
        sums = np.sum(np.abs(x), axis=-2 if abs(ord) == 1 else -1)
        largest = np.max if x.size else np.sum  # the norm of an empty matrix is an empty sum
        z = (largest if ord > 0 else np.min)(sums, axis=-1)
    else:
        raise value_error(
            f"norm: expected ord 'fro', 'nuc', 1, -1, 2, -2, inf or -inf for matrices, but got {ord!r}",
        )
    return np.expand_dims(z, (-2, -1)) if keeps_axes(keepdims) else z


def vector_norm(
    x: ArrayLike, /, *, axis: Axis = None, keepdims: bool = False, ord: object = 2
) -> Any:
    """As `numpy.linalg.vector_norm`: of the flattened array without an axis, or along axes."""
    x = lift_fully(x)
    axes = axis_tuple("vector_norm", range(x.ndim) if axis is None else axis, x)
    kept = [i for i in range(x.ndim) if i not in axes]
    lengths = tuple(x.shape[i] for i in kept)
    flat = reshape(np.transpose(x, (*kept, *axes)), (*lengths, math.prod(x.shape[i] for i in axes)))
    z = reduction.norm(flat, ord, axis=-1)
    return np.expand_dims(z, axes) if keeps_axes(keepdims) else z


def any_norm(x: ArrayLike, ord: Any = None, axis: Axis = None, keepdims: bool = False) -> Any:
    """As `numpy.linalg.norm`: of vectors, as `vector_norm`, or of matrices, as `matrix_norm`."""
    x = lift_fully(x)
    axes = tuple(range(x.ndim)) if axis is None else one_or_tuple("norm", axis, x)
    if len(axes) != 2 or ord in (None, "fro"):
        return reduction.norm(x, ord, axis, keepdims)
    z = matrix_norm(moveaxis(x, axes, (-2, -1)), ord=ord)
    return np.expand_dims(z, axes) if keeps_axes(keepdims) else z


def cond(x: Array, p: object = None) -> Any:
    """As `numpy.linalg.cond`; inf at a singular matrix."""
    if p in (None, 2, -2):
        x = matrices("cond", x, square=False)
        largest, least = (singular_norm_op(x, order=order) for order in ("2", "-2"))
        ratio = least / largest if p == -2 else largest / least
        return np.where(largest == 0, np.asarray(np.inf, ratio.dtype), ratio)
    x = matrices("cond", x)
    singular = slogdet(x)[0] == 0
    regular = np.where(np.expand_dims(singular, (-2, -1)), eye_like(x), x)
    size = matrix_norm(x, ord=p)
    # A pole has no finite slope, as a plain constant would have.
    return np.where(singular, np.inf * (1 + size), size * matrix_norm(inv(regular), ord=p))


def matrix_rank(
    a: object, tol: object = None, hermitian: bool = False, *, rtol: object = None
) -> Any:
    """As `numpy.linalg.matrix_rank`; not differentiable."""
    a = lift_fully(a)
    if a.ndim < 2:
        return np.any(a != 0).astype(int)
    s = svdvals(a)
    if tol is None:
        scale = max(a.shape[-2:]) * np.finfo(s.dtype).eps if rtol is None else rtol
        tol = np.max(s, axis=-1, initial=0) * scale
    return np.count_nonzero(s > np.expand_dims(lift_fully(tol), -1), axis=-1)


# -- products ------------------------------------------------------------------------------------
def matrix_power(a: Any, n: int) -> Any:
    """As `numpy.linalg.matrix_power`, by squaring; a negative power is that of the inverse."""
    a, n = lift_fully(a), operator.index(n)
    if n < 0 or a.ndim < 2 or a.shape[-1] != a.shape[-2]:
        a = matrices("matrix_power", a)  # which LAPACK inverts; products are of any dtype
    if n < 0:
        a, n = inv(a), -n
    if n == 0:
        return broadcast_to(lift_fully(np.eye(a.shape[-1], dtype=a.dtype)), a.shape)
    power = None
    while n:
        if n & 1:
            power = a if power is None else np.matmul(power, a)
        n >>= 1
        a = np.matmul(a, a) if n else a
    return power


def multi_dot(arrays: Array) -> Any:
    """As `numpy.linalg.multi_dot`: a product of matrices in the order that costs least."""
    parts: list[Any] = list(lift_all(tuple(arrays)))
    if len(parts) < 2:
        raise value_error(f"multi_dot: expected two arrays at least, but got {len(parts)}")
    first, last = parts[0].ndim == 1, parts[-1].ndim == 1
    if first:
        parts[0] = np.expand_dims(parts[0], 0)
    if last:
        parts[-1] = np.expand_dims(parts[-1], 1)
    z = cheapest_product(parts)
    return reshape(z, z.shape[first : 2 - last] if z.ndim == 2 else z.shape)


def cross(
    a: Any, b: Any, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: int | None = None
) -> Any:
    """As `numpy.cross`, of vectors of three, or of two, whose third entry is 0."""
    if axis is not None:
        axisa = axisb = axisc = axis
    a, b = lift_all((a, b))
    a, b = moveaxis(a, axisa, -1), moveaxis(b, axisb, -1)
    if not a.ndim or not b.ndim or a.shape[-1] not in (2, 3) or b.shape[-1] not in (2, 3):
        raise value_error(f"cross: expected vectors of two or three, but got {a.type} and {b.type}")
    if a.shape[-1] == b.shape[-1] == 2:
        return a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0]
    x, y = (
        [v[..., i] if i < v.shape[-1] else np.zeros_like(v[..., 0]) for i in range(3)]
        for v in (a, b)
    )
    rows = [x[i] * y[j] - x[j] * y[i] for i, j in ((1, 2), (2, 0), (0, 1))]
    z = np.stack(rows, axis=-1)
    return moveaxis(z, -1, axis_index("cross", axisc, z))


def vecdot(x: ArrayLike, y: ArrayLike, /, *, axis: int = -1) -> Any:
    """As `numpy.vecdot`: conjugates the first."""
    x, y = lift_all((x, y))
    if not x.ndim or not y.ndim:
        raise value_error(f"vecdot: expected vectors, but got {x.type} and {y.type}")
    x = x.conj()
    own = operator.index(axis)  # of each operand by itself
    last: list[Any] = [shape.moveaxis(item, own, -1) for item in (x, y)]
    products = last[0] * last[1]
    # NumPy sums small integers in their own dtype here.
    return np.sum(products, axis=-1, dtype=products.dtype)


def matrix_transpose(x: Array, /) -> Any:
    """As `numpy.linalg.matrix_transpose`: the last two axes exchanged."""
    return np.swapaxes(x, -1, -2)


# -- equations -----------------------------------------------------------------------------------
class LstsqResult(NamedTuple):
    """What `numpy.linalg.lstsq` returns, by its names."""

    x: Any
    residuals: Any
    rank: Any
    s: Any


def lstsq(a: Array, b: Any, rcond: float | None = None) -> Any:
    """As `numpy.linalg.lstsq`: the shortest x that minimizes |a @ x - b|, by the pseudoinverse.

    The residuals are those of full rank (NumPy leaves them out of a lower one). As there, data in single
    precision are worked out, and their rank is found, in double precision.
    """
    a, b = matrices("lstsq", a, square=False), lift_fully(b)
    rcond = by_value(rcond, "rcond")
    dtype = np.result_type(a.dtype, b.dtype)
    wide = np.result_type(dtype, float)
    a, b = astype(a, wide), astype(b, wide)
    m, n = a.shape
    if b.ndim not in (1, 2) or b.shape[0] != m:
        raise value_error(f"lstsq: expected a right side of {m} rows, but got {b.type}")
    # LAPACK takes the rounding unit for other shares than those between 0 and 1.
    unit = np.finfo(a.dtype).eps
    cut = max(m, n) * unit if rcond is None else rcond if 0 < rcond < 1 else unit
    x = np.matmul(pinv(a, rcond=cut), b)
    size = np.abs(np.matmul(a, x) - b)
    total = np.sum(size * size, axis=0)
    residuals = np.atleast_1d(total) if m > n else reshape(total[..., None][..., :0], (0,))
    s = svdvals(a)
    rank = np.count_nonzero(s > (s[0] * cut if min(m, n) else 0))
    own = np.zeros(0, dtype).real.dtype
    return LstsqResult(
        astype(x, dtype), astype(residuals, own), astype(rank, np.int32), astype(s, own)
    )


def tensorsolve(a: Any, b: ArrayLike, axes: Axes = None) -> Any:
    """As `numpy.linalg.tensorsolve`: x with tensordot(a, x, x.ndim) = b."""
    a, b = lift_all((a, b))
    if axes is not None:
        moved = axis_tuple("tensorsolve", axes, a)
        a = np.transpose(a, (*[i for i in range(a.ndim) if i not in moved], *moved))
    shape = a.shape[b.ndim :]
    if not math.prod(shape) == b.size == math.prod(a.shape[: b.ndim]):
        raise value_error(
            f"tensorsolve: expected as many unknowns as equations, but got {math.prod(shape)} "
            f"in {a.type} for {b.type}",
        )
    x = solve(reshape(a, (b.size, b.size)), reshape(b, (b.size,)))
    return reshape(x, shape)


def tensorinv(a: ArrayLike, ind: int = 2) -> Any:
    """As `numpy.linalg.tensorinv`: the inverse for `numpy.tensordot` along ``ind`` axes."""
    a = lift_fully(a)
    rows, columns = a.shape[:ind], a.shape[ind:]
    if ind <= 0 or math.prod(rows) != math.prod(columns):
        raise value_error(
            f"tensorinv: expected as many entries in the first {ind} axes as in the others, but got "
            f"{a.type}",
        )
    n = math.prod(rows)
    return reshape(inv(reshape(a, (n, n))), (*columns, *rows))


def matvec(a: Array, x: Array, /) -> Any:
    """As `numpy.matvec`: each matrix of a stack times its vector."""
    a, x = _matrix_and_vector("matvec", a, x)
    return np.squeeze(np.matmul(a, np.expand_dims(x, -1)), -1)


def vecmat(x: Array, a: Array, /) -> Any:
    """As `numpy.vecmat`: each vector, conjugated, times its matrix."""
    a, x = _matrix_and_vector("vecmat", a, x)
    x = x.conj()
    return np.squeeze(np.matmul(np.expand_dims(x, -2), a), -2)


def _matrix_and_vector(name: str, a: ArrayLike, x: ArrayLike) -> tuple[Any, Any]:
    a, x = lift_all((a, x))
    if a.ndim < 2 or not x.ndim:
        raise value_error(f"{name}: expected a matrix and a vector, but got {a.type} and {x.type}")
    return a, x

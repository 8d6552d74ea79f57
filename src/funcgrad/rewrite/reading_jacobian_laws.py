"""Display-only rewrites of Jacobians and of arrays of equal entries: see `funcgrad.rewrite.reading_laws`."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import numpy as np

from funcgrad.expr import Expr, const, scalar
from funcgrad.graph import CONSTANT
from funcgrad.ops import contraction, reduction, shape
from funcgrad.ops.base import op
from funcgrad.ops.elementwise import arithmetic, selection
from funcgrad.rewrite.monomials import Monomial, power, product_of, scalars_apart, unbroadcast
from funcgrad.rewrite.reading_array_laws import ReadingLaw
from funcgrad.rewrite.reading_matrix_laws import is_identity_matrix, is_reshaped_identity
from funcgrad.rewrite.reading_ops import diag_op, trace_op

_LARGEST_MOVED = 10_000


def _scalars_outside(expr: Expr) -> Expr | None:
    """(c*A) @ B = c*(A @ B) and outer(c*x, y) = c*outer(x, y) for a scalar c, also a broadcast one."""
    if expr.dtype.kind != "f":
        return None
    linear = _LINEAR_IN.get(expr.op.name, range(len(expr.args)))
    outside, parts = Monomial(1.0, {}), list(expr.args)
    for i in linear:
        alike, rest = scalars_apart(parts[i])
        if alike.number == 0 or (alike.powers and not rest.powers):
            return None
        if alike.powers or alike.number != 1:
            outside = outside.times(alike)
            parts[i] = product_of(rest, parts[i])
    if not outside.powers and outside.number == 1:
        return None
    rest_of = expr.op(*parts, **dict(expr.params))
    return product_of(outside.times(power(rest_of, 1.0)), expr)


_LINEAR_IN = {"solve": (1,), "getitem": (0,)}
"""The operands in which an operation is linear, if it is not so in all."""


def _scaled_diagonal(expr: Expr) -> Expr | None:
    """c*diag(v) = diag(c*v)."""
    if expr.ndim != 2 or expr.dtype.kind != "f":
        return None
    alike, rest = scalars_apart(expr)
    for base, k in rest.powers.values() if len(rest.powers) == 1 else ():
        if base.op is diag_op and k == 1 and (alike.powers or alike.number != 1):
            (v,) = base.args
            return diag_op(product_of(alike, scalar(0, v.dtype)) * v)  # type: ignore[no-any-return]
    return None


def _scaled_rows(expr: Expr) -> Expr | None:
    """broadcast(v, (n, m)).T*A = diag(v) @ A, as in the Jacobian of f(A @ w); of diag(w), diag(w*v)."""
    for a, x in (expr.args, expr.args[::-1])[: 1 + (expr.op is arithmetic.multiply)]:
        v = unbroadcast(x.args[0]) if x.op is shape.transpose_op else x
        if x.op is not shape.transpose_op or expr.ndim != 2 or v.shape != expr.shape[:1]:
            continue
        if a.op is op.broadcast_to or expr.dtype.kind != "f":
            return None
        if a.op is diag_op:
            return diag_op(expr.op(*a.args, v))  # type: ignore[no-any-return]
        rows = diag_op(v if expr.op is arithmetic.multiply else 1 / v)
        return rows if is_identity_matrix(a) else contraction.matmul_op(rows, a)  # type: ignore[no-any-return]
    return None


def _masked_diagonal(expr: Expr) -> Expr | None:
    """where(broadcast(p, (n, n)), diag(v), 0) = diag(where(p, v, 0)), also with p for the rows."""
    p, x = expr.args
    if x.op is not diag_op or x.ndim != 2 or x.type != expr.type:
        return None
    rows = unbroadcast(p.args[0] if p.op is shape.transpose_op else p)
    if rows.shape not in ((), x.shape[:1]):
        return None
    condition = rows if rows.shape else op.broadcast_to(rows, shape=x.shape[:1])
    return diag_op(selection.mask(condition, x.args[0]))  # type: ignore[no-any-return]


def _products_of_rows(expr: Expr) -> Expr | None:
    """A reshaped to (n, 1, m) @ v = A @ v: the products of rows, as `vmap` forms them."""
    x, y = expr.args
    if expr.ndim != 3 or expr.shape[1:] != (1, 1) or y.op is not shape.reshape_op:
        return None
    v, a = unbroadcast(x), y.args[0]
    if v.ndim != 1 or a.shape != (expr.shape[0], *v.shape):
        return None
    return shape.reshape(contraction.matmul_op(a, v), expr.shape)  # type: ignore[no-any-return]


def _same_everywhere(expr: Expr) -> Expr | None:
    """full((2, 3), x).T = full((3, 2), x); any(full((2, 3), p), axis=1) = full(2, p)."""
    (x,) = expr.args
    if x.op is not op.broadcast_to or x.args[0].shape or not x.size or x.dtype != expr.dtype:
        return None
    return op.broadcast_to(x.args[0], shape=expr.shape)  # type: ignore[no-any-return]


def _sum_of_repeated(expr: Expr) -> Expr | None:
    """sum(broadcast_to(reshape(v, (3, 1)), (3, 2)), axis=0) = full(2, sum(v))."""
    (x,) = expr.args
    axes = dict(expr.params)["axis"]
    if x.op is not op.broadcast_to or x.args[0].ndim != x.ndim or not expr.shape:
        return None
    (y,) = x.args
    whole = [y.shape[k] == (n if k in axes else 1) for k, n in enumerate(x.shape)]
    if not all(whole) or x.dtype != expr.dtype:
        return None
    inner = y.args[0] if y.op is shape.reshape_op else y
    total = reduction.sum_op(inner, axis=tuple(range(inner.ndim)))
    return op.broadcast_to(total, shape=expr.shape)  # type: ignore[no-any-return]


def _trace_of_product(expr: Expr) -> Expr | None:
    """sum(A*eye(n)) = trace(A); sum(A*B.T) = trace(B @ A)."""
    (x,) = expr.args
    if expr.shape or x.ndim != 2 or x.dtype.kind != "f" or x.dtype != expr.dtype:
        return None
    alike, rest = scalars_apart(x)
    bases = [base for base, k in rest.powers.values() if k == 1 and base.shape == x.shape]
    if len(bases) != 2 or len(rest.powers) != 2:
        return None
    for a, b in (bases, bases[::-1]):
        if is_identity_matrix(b) and not is_identity_matrix(a):
            return product_of(alike.times(power(trace_op(a), 1.0)), expr)
    for a, b in (bases, bases[::-1]):
        if b.op is shape.transpose_op:
            product = contraction.matmul_op(b.args[0], a)
            return product_of(alike.times(power(trace_op(product), 1.0)), expr)
    return None


def _rows_of_columns(expr: Expr) -> Expr | None:
    """stack([x, y], axis=1).T = array([x, y])."""
    (x,) = expr.args
    if dict(expr.params)["axes"] != (1, 0) or x.op is not shape.concatenate_op:
        return None
    if dict(x.params)["axis"] != 1:
        return None
    columns = [part.args[0] for part in x.args if part.op is shape.reshape_op]
    if len(columns) != x.shape[1] or any([column.ndim != 1 for column in columns]):
        return None
    return shape.stack(columns)  # type: ignore[no-any-return]


def _moved_constant(expr: Expr) -> Expr | None:
    """transpose(reshape(eye(4), (4, 2, 2)), (1, 2, 0)) = reshape(eye(4), (2, 2, 4)): such a constant."""
    (x,) = expr.args
    if x.op is not CONSTANT or not x.ndim > 2 or x.size > _LARGEST_MOVED:
        return None
    moved = expr.op.run(x.params[0][1].array, **dict(expr.params))
    return const(moved) if is_reshaped_identity(moved) else None


def _sum_of_constant(expr: Expr) -> Expr | None:
    """sum(eye(3), axis=0) = ones(3): the sums of a constant, if they are equal."""
    (x,) = expr.args
    if x.op is not CONSTANT or not 1 < x.size <= _LARGEST_MOVED or not expr.shape:
        return None
    sums = expr.op.run(x.params[0][1].array, **dict(expr.params))
    equal = sums.size > 0 and bool(np.all(sums == sums.flat[0]))
    return op.broadcast_to(scalar(sums.flat[0], expr.dtype), shape=expr.shape) if equal else None


def _axes_dropped(expr: Expr) -> Expr | None:
    """zeros(n).at[:, None].add(x) = reshape(x, (n,)): each entry stands in its place."""
    g, *arrays = expr.args
    if arrays or g.size != expr.size or not 0 < expr.size <= _LARGEST_MOVED:
        return None
    if "new" not in dict(expr.params)["spec"]:
        return None
    places = np.arange(g.size)
    moved = expr.op.run(places.reshape(g.shape), **dict(expr.params))
    return shape.reshape(g, expr.shape) if np.array_equal(np.ravel(moved), places) else None


JACOBIAN_READING: Mapping[str, tuple[ReadingLaw, ...]] = MappingProxyType(
    {
        "multiply": (_scaled_diagonal, _scaled_rows),
        "divide": (_scaled_diagonal, _scaled_rows),
        "negative": (_scaled_diagonal,),
        "matmul": (_scalars_outside, _products_of_rows),
        "outer": (_scalars_outside,),
        "solve": (_scalars_outside,),
        "reshape": (_same_everywhere, _moved_constant, _scalars_outside),
        "transpose": (_same_everywhere, _moved_constant, _rows_of_columns, _scalars_outside),
        "mask": (_masked_diagonal,),
        "any": (_same_everywhere,),
        "all": (_same_everywhere,),
        "getitem": (_scalars_outside,),
        "diff": (_scalars_outside,),
        "pad": (_scalars_outside,),
        "sum": (_sum_of_repeated, _sum_of_constant, _trace_of_product),
        "scatter_add": (_axes_dropped,),
    }
)
"""The laws by operation."""

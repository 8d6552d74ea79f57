"""Laws on products of matrices: v*f(w) @ v^H, with (w, v) = eigh(a), is a function of the matrix a.

The product may be written by `matmul` or by `einsum`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad.expr import Expr
from funcgrad.fold import folded
from funcgrad.ops import contraction, indexing, shape, tuples
from funcgrad.ops.base import op
from funcgrad.ops.decompositions import eigh_op
from funcgrad.ops.elementwise import arithmetic, magnitude
from funcgrad.ops.matrix_functions import hermitian_function_op


def function_of_hermitian(expr: Expr) -> Expr | None:
    """v*d @ v^H = hermitian_function(a, w, v, d, f'(w)), for d = f(w) entry by entry and (w, v) = eigh(a)."""
    left, right = expr.args
    for form, outer, inner in (
        ("columns", right, left),
        ("rows", left, right),
    ):
        v = _adjoint(outer) if form == "columns" else _before_cast(outer)
        if v is None or not _is_pick(v, 1) or not inner.args:
            continue
        found = _scale(inner, v, form)
        if found is None:
            continue
        how, values = found
        made = _made(expr, v, values, how)
        if made is not None:
            return made
    return None


def einsum_of_hermitian(expr: Expr) -> Expr | None:
    """einsum("ij,j,kj->ik", v, d, v) = v*d @ v^T, which is a function of a symmetric matrix.

    The operands stand in any order, and d may have been multiplied with one of the others.
    """
    inputs, output = dict(expr.params)["subscripts"].split("->")
    terms = list(zip(inputs.split(","), expr.args, strict=True))
    matrices = [item for item in terms if len(item[0]) == 2]
    rest = [item for item in terms if len(item[0]) != 2]
    if len(matrices) != 2 or len(output) != 2 or len(rest) > 1:
        return None
    matrices.sort(key=lambda item: output[0] not in item[0])
    (first, left), (second, right) = matrices
    shared = first.replace(output[0], "")
    if len(shared) != 1 or set(second) != {shared, output[1]}:
        return None
    if any([term != shared for term, _ in rest]):
        return None
    left = left if first[1] == shared else shape.transpose(left)
    right = right if second[0] == shared else shape.transpose(right)
    for _, values in rest:
        left = left * np.expand_dims(values, -2)
    return function_of_hermitian(contraction.matmul_op(left, right))


def _made(expr: Expr, v: Expr, values: Expr, form: str) -> Expr | None:
    decomposition = v.args[0]
    w = tuples.pick_op(decomposition, index=0)
    slope = _slope(values, decomposition)
    if slope is None:
        return None
    d, s = (shape.reshape(x, w.shape) for x in (values, slope))
    a, triangle = decomposition.args[0], dict(decomposition.params)["triangle"]
    made: Expr = hermitian_function_op(a, w, v, d, s, form=form, triangle=triangle)
    return made if made.type == expr.type else None


def _is_pick(expr: Expr, index: int) -> bool:
    return (
        expr.op is tuples.pick_op
        and dict(expr.params)["index"] == index
        and expr.args[0].op is eigh_op
    )


def _adjoint(expr: Expr) -> Expr | None:
    """The expression whose conjugate transpose this is."""
    transposed = conjugated = False
    while not _is_pick(expr, 1):
        if expr.op is magnitude.conjugate and not conjugated:
            conjugated = True
        elif expr.op is shape.transpose_op and not transposed and _swaps_last(expr):
            transposed = True
        elif expr.op is not op.astype:
            return None
        expr = expr.args[0]
    return expr if transposed and (conjugated or expr.dtype.kind != "c") else None


def _before_cast(expr: Expr) -> Expr:
    """Real vectors may have been cast to complex, as beside complex values."""
    return expr.args[0] if expr.op is op.astype else expr


def _swaps_last(expr: Expr) -> bool:
    axes = tuple(dict(expr.params)["axes"])
    n = len(axes)
    return axes == (*range(n - 2), n - 1, n - 2)


def _scale(inner: Expr, v: Expr, form: str) -> tuple[str, Expr] | None:
    """How one factor of the product is scaled, and by which values; None if it is not the vectors, scaled."""
    if inner.op is arithmetic.multiply:
        for known, factor in (inner.args, inner.args[::-1]):
            of_known = _before_cast(known) if form == "columns" else _adjoint(known)
            if of_known is v:
                while factor.op is op.broadcast_to:
                    factor = factor.args[0]
                *stack, n, _ = v.shape
                wanted = (*stack, 1, n) if form == "columns" else (*stack, n, 1)
                padded = (1,) * (len(wanted) - factor.ndim) + factor.shape
                return (form, factor) if padded == wanted else None
    if inner.op is contraction.matmul_op:
        known, middle = inner.args if form == "columns" else inner.args[::-1]
        of_known = _before_cast(known) if form == "columns" else _adjoint(known)
        values = _on_diagonal(middle)
        if of_known is v and values is not None:
            return ("left diagonal" if form == "columns" else "right diagonal"), values
    return None


def _on_diagonal(expr: Expr) -> Expr | None:
    """The values of a matrix made by `numpy.diag`."""
    if expr.op is not shape.reshape_op or expr.ndim != 2:
        return None
    (flat,) = expr.args
    if flat.op is not indexing.scatter_op or flat.ndim != 1 or len(flat.args) != 1:
        return None
    on_diagonal = dict(flat.params)["spec"] == (("slice", None, None, expr.shape[0] + 1),)
    return flat.args[0] if on_diagonal else None


_ENTRYWISE = (shape.reshape_op, op.broadcast_to, op.astype)


def _slope(values: Expr, decomposition: Expr) -> Expr | None:
    """The derivative of each value in its eigenvalue alone; None if it depends on another one by itself."""

    def step(expr: Expr, slopes: tuple[Any, ...]) -> Any:
        """An expression; None where nothing depends on the eigenvalues, NotImplemented if more does."""
        if _is_pick(expr, 0) and expr.args[0] is decomposition:
            return shape.ones_like(expr)
        if expr.ndim == 0:
            return None  # shared by all values, such as a sum over them
        if expr is decomposition or any([slope is NotImplemented for slope in slopes]):
            return NotImplemented
        known = [k for k, slope in enumerate(slopes) if slope is not None]
        if not known:
            return None
        moves = expr.op in _ENTRYWISE or _adds_axes(expr)
        if moves and expr.size == expr.args[0].size:
            return expr.op(slopes[0], **dict(expr.params))
        if not isinstance(expr.op, op.Elementwise):
            return NotImplemented
        terms = []
        for k in known:
            edge = expr.op.edge(k)
            if edge is not None:
                terms.append(edge(expr, *expr.args, **dict(expr.params)).apply(slopes[k]))
        if not terms:
            return None
        total = terms[0]
        for term in terms[1:]:
            total = total + term
        return total

    def below(expr: Expr) -> tuple[Expr, ...]:
        known = _is_pick(expr, 0) and expr.args[0] is decomposition
        return () if known or (expr.ndim == 0 and expr is not decomposition) else expr.args

    (found,) = folded([values], step, operands=below)
    return None if found is NotImplemented or found is None else found


def _adds_axes(expr: Expr) -> bool:
    whole = ("...", "new", ("slice", None, None, None))
    return expr.op is indexing.getitem_op and all(
        [item in whole for item in dict(expr.params)["spec"]]
    )

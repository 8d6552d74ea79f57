"""Expressions that add or drop axes of length 1, or repeat a vector, as passes look for them."""

from __future__ import annotations

from funcgrad.expr import Expr
from funcgrad.ops.base.index_spec import is_reshape
from funcgrad.ops.base.op import broadcast_to
from funcgrad.ops.indexing import getitem_op
from funcgrad.ops.shape import reshape_op


def without_unit_axes(x: Expr) -> Expr:
    """The operand of an expression that is its reshape, as an index with new axes is; or the expression.

    >>> import funcgrad as fg
    >>> without_unit_axes(fg.var("x", 3)[:, None])
    x
    """
    is_index = x.op is getitem_op and len(x.args) == 1
    reshaped = is_index and is_reshape(dict(x.params)["spec"], x.args[0].type, x.type)
    return x.args[0] if reshaped or x.op is reshape_op else x


def repeated_vector(x: Expr, axis: int) -> Expr | None:
    """The vector that a matrix repeats, as a column (axis 0) or as a row; None if it is none.

    >>> import funcgrad as fg
    >>> repeated_vector((fg.var("x", 3)[:, None] + fg.var("y", (3, 4))).args[0], 0)
    x
    """
    if x.op is not broadcast_to or x.ndim != 2:
        return None
    inner = x.args[0]
    column = (x.shape[0], 1) if axis == 0 else (1, x.shape[1])
    if inner.shape == column and without_unit_axes(inner).ndim == 1:
        return without_unit_axes(inner)
    return inner if axis == 1 and inner.shape == (x.shape[1],) else None

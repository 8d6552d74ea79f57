"""Laws of stable forms: log-sum-exp, softmax and norms, written as a user writes them.

The values of these forms are more accurate than those of the written ones, so that they may differ from them.
"""

from __future__ import annotations

import numpy as np

from funcgrad.expr import Expr
from funcgrad.graph import unnested
from funcgrad.ops import contraction, indexing, reduction, shape
from funcgrad.ops.base import op
from funcgrad.ops.base.op import Op
from funcgrad.ops.elementwise import arithmetic, exponential
from funcgrad.rewrite.constant_values import value_of

_MOVING = (shape.reshape_op, op.broadcast_to, shape.transpose_op, indexing.getitem_op)


def _through(expr: Expr, *operations: Op) -> Expr:
    while expr.op in operations:
        expr = expr.args[0]
    return expr


def log_of_sum_of_exp(expr: Expr) -> Expr | None:
    """log(sum(exp(x))) = logsumexp(x)."""
    (x,) = expr.args
    outer = []
    while x.op in (shape.reshape_op, op.broadcast_to):
        outer.append(x)
        x = x.args[0]
    if not (x.op is reduction.sum_op and x.args[0].op is exponential.exp) or x.dtype.kind != "f":
        return None
    new = reduction.logsumexp_op(x.args[0].args[0], **dict(x.params))
    for move in reversed(outer):
        new = move.op(new, **dict(move.params))
    return new  # type: ignore[no-any-return]


def shifted_log_sum_exp(expr: Expr) -> Expr | None:
    """logsumexp(x - c) + c = logsumexp(x), for c that is constant along the axes: the shift by a maximum."""
    for total, shift in (expr.args, expr.args[::-1]):
        found = _through(total, shape.reshape_op)
        if not (found.op is reduction.logsumexp_op and found.args[0].op is arithmetic.subtract):
            continue
        x, wide = found.args[0].args
        axes = dict(found.params)["axis"]
        kept = tuple([1 if i in axes else n for i, n in enumerate(x.shape)])
        narrow = _through(wide, op.broadcast_to)
        if narrow.shape != kept[len(kept) - narrow.ndim :] or narrow.size != found.size:
            continue
        if shift.size == found.size and _unmoved(shift).key == _unmoved(narrow).key:
            whole = reduction.logsumexp_op(x, **dict(found.params))
            return shape.reshape(whole, expr.shape)  # type: ignore[no-any-return]
    return None


def _unmoved(expr: Expr) -> Expr:
    """The operand below reshapes, and below indices that only drop axes of length 1."""
    while expr.op is shape.reshape_op or (
        expr.op is indexing.getitem_op
        and len(expr.args) == 1
        and expr.args[0].size == expr.size
        and all(not isinstance(i, tuple) or i[3] in (None, 1) for i in dict(expr.params)["spec"])
    ):
        expr = expr.args[0]
    return expr


def _exponent(expr: Expr) -> Expr | None:
    """x, if the expression is exp(x), or entries of it that are selected, repeated or moved."""
    moves = []
    while expr.op in _MOVING:
        moves.append(expr)
        expr = expr.args[0]
    if expr.op is not exponential.exp:
        return None
    found: Expr = expr.args[0]
    for move in reversed(moves):
        found = move.op(found, *move.args[1:], **dict(move.params))
    return found


def softmax(expr: Expr) -> Expr | None:
    """exp(x) / sum(exp(y)) = exp(x - logsumexp(y))."""
    top, bottom = expr.args
    total = _through(bottom, op.broadcast_to, shape.reshape_op)
    if not (total.op is reduction.sum_op and total.args[0].op is exponential.exp):
        return None
    x, logs = _exponent(top), log_of_sum_of_exp(exponential.log(bottom))
    return None if x is None or logs is None else np.exp(x - logs)


def log_softmax(expr: Expr) -> Expr | None:
    """log(exp(x - logsumexp(y))) = x - logsumexp(y), also for selected entries."""
    base = _through(expr.args[0], *_MOVING)
    if not (base.op is exponential.exp and base.args[0].op is arithmetic.subtract):
        return None
    logs = _through(base.args[0].args[1], op.broadcast_to, shape.reshape_op)
    return _exponent(expr.args[0]) if logs.op is reduction.logsumexp_op else None


def root_of_squares(expr: Expr) -> Expr | None:
    """sqrt(sum(x**2)) = sqrt(x @ x) = norm(x), derivative 0 at 0; a constant factor comes out."""
    (x,) = expr.args
    if x.op is arithmetic.divide and (value_of(x.args[1]) or 0) > 0:
        inner = root_of_squares(exponential.sqrt(x.args[0]))
        return None if inner is None else inner / np.sqrt(value_of(x.args[1])).item()
    if x.op is arithmetic.multiply and (value_of(x.args[0]) or 0) > 0:
        inner = root_of_squares(exponential.sqrt(x.args[1]))
        return None if inner is None else inner * np.sqrt(value_of(x.args[0])).item()
    axes: tuple[int, ...] | None
    if x.op is contraction.matmul_op and not x.shape and x.args[0].key == x.args[1].key:
        inside, axes = x.args[0], (0,)
    elif x.op is reduction.sum_op and x.args[0].op is arithmetic.square:
        inside, axes = x.args[0].args[0], dict(x.params)["axis"]
    elif x.op is contraction.einsum_op and len({item.key for item in x.args}) == 1:
        inside, axes = x.args[0], _axes_of_squares(dict(x.params)["subscripts"])
    else:
        return None
    if axes is None or inside.dtype.kind != "f":
        return None
    norm: Expr = reduction.norm_op(inside, axis=axes)
    return norm


def _axes_of_squares(subscripts: str) -> tuple[int, ...] | None:
    """The axes over which einsum adds the squares of its operand: (1,) of "ij,ij->i"."""
    inputs, output = subscripts.split("->")
    first, *others = inputs.split(",")
    kept = [letter for letter in first if letter in output]
    if others != [first] or len(set(first)) != len(first) or "".join(kept) != output:
        return None
    return tuple([k for k, letter in enumerate(first) if letter not in output]) or None


def root_by_power(expr: Expr) -> Expr | None:
    """x**0.5 = sqrt(x) for a sum of squares, where both are the same also at 0."""
    x, exponent = expr.args
    if value_of(exponent) != 0.5 or x.dtype.kind != "f":
        return None
    root: Expr = exponential.sqrt(x)
    terms = unnested(x, lambda node: node.args if node.op is arithmetic.add else ())
    kinds = {term.op for term in terms if value_of(term) != 0}  # Python's `sum` begins with 0
    if kinds == {arithmetic.square}:
        return root
    return None if root_of_squares(root) is None else root

"""Operations that raise errors, on a path that a program does not take where it computes all of them.

There, they have other operands, on which they raise none: an index is 0, and a matrix that is solved or
decomposed the identity, with the right side as it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from funcgrad.expr import Expr, rebuild
from funcgrad.graph import CONSTANT, Operands, by_key
from funcgrad.ops.base.op import Elementwise


def without_errors(holds: Expr, expr: Expr, args: tuple[Expr, ...]) -> Expr:
    """An operation on other operands, on a path that is taken where ``holds``, one truth value."""
    untaken = expr.op.columns.untaken
    return rebuild(expr, args) if untaken is None else untaken(holds, expr, args)


def combines_entries(roots: Sequence[Expr], operands: Operands | None = None) -> bool:
    """Whether entries of operands meet in a product or the like, so that masks of cotangents are lost.

    They are not in what acts entry by entry, moves entries or adds them up.
    """
    return any(
        expr.args
        and not isinstance(expr.op, Elementwise)
        and not (expr.op.moves or expr.op.hidden or expr.op.columns.entrywise)
        and expr.op.columns.reduces is not np.add
        for expr in by_key(*roots, operands=operands).values()
    )


def indices_or_zero(holds: Expr, expr: Expr, args: tuple[Expr, ...]) -> Expr:
    """An operation with an index, of whose operands the arrays in it are the last."""
    first = len(args) - dict(expr.params)["spec"].count("array")
    return rebuild(expr, (*args[:first], *[_where(holds, a, 0) for a in args[first:]]))


def matrix_or_identity(holds: Expr, expr: Expr, args: tuple[Expr, ...]) -> Expr:
    """An operation whose first operand is a stack of matrices that may be singular, or not finite."""
    matrix, *rest = args
    identity = np.eye(*matrix.shape[-2:], dtype=matrix.dtype)
    return rebuild(expr, (_where(holds, matrix, identity), *rest))


def _where(holds: Expr, taken: Expr, other: Any) -> Any:
    return taken if taken.op is CONSTANT else np.where(holds, taken, other)

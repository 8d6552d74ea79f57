"""Operations that raise errors, on a path that a program does not take where it computes all of them.

There, their operands are replaced by some on which they raise none: an index is 0, a matrix the identity.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad.expr import Expr
from funcgrad.graph import CONSTANT
from funcgrad.ops.base.index_spec import Spec


def without_errors(holds: Expr, expr: Expr, args: tuple[Expr, ...]) -> tuple[Expr, ...]:
    """The operands of an operation on a path that is taken where ``holds``, one truth value."""
    untaken = expr.op.columns.untaken
    return args if untaken is None else untaken(holds, *args, **dict(expr.params))


def indices_or_zero(holds: Expr, *args: Expr, spec: Spec, **params: object) -> tuple[Expr, ...]:
    """The operands of an operation with an index, of which the arrays in it are the last."""
    first = len(args) - spec.count("array")
    return (*args[:first], *[_where(holds, a, 0) for a in args[first:]])


def matrix_or_identity(
    holds: Expr, matrix: Expr, *rest: Expr, **params: object
) -> tuple[Expr, ...]:
    """The operands of an operation on a stack of matrices, which may be singular, or not finite."""
    return _where(holds, matrix, np.eye(*matrix.shape[-2:], dtype=matrix.dtype)), *rest


def _where(holds: Expr, taken: Expr, other: Any) -> Any:
    return taken if taken.op is CONSTANT else np.where(holds, taken, other)

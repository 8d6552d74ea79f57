"""The values of constant expressions, and what a broadcast repeats."""

from __future__ import annotations

from typing import Any

from funcgrad.expr import Expr
from funcgrad.graph import CONSTANT
from funcgrad.ops.base import op


def unrepeated(expr: Expr) -> Expr:
    """The value that a broadcast repeats; any other expression as it is."""
    while expr.op is op.broadcast_to:
        expr = expr.args[0]
    return expr


def value_of(expr: Expr) -> Any:
    """The scalar of a constant whose entries are equal, also if it is broadcast; else None."""
    while expr.op is op.broadcast_to:  # (`unrepeated` without a call)
        expr = expr.args[0]
    if expr.op is not CONSTANT or expr.size != 1:
        return None
    return expr.params[0][1].array.reshape(())[()]

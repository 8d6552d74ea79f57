"""Comparisons of sparse matrices with traced entries: SciPy's, of the values at this call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from funcgrad.arrays.reference import unwrapped
from funcgrad.expr.concrete import concrete_value
from funcgrad.ops.base.op import lift_fully
from funcgrad.ops.shape import holds_expr
from funcgrad.transforms.grad import stop_gradient


class Compared:
    """What `TracedSparse` is compared by."""

    def plain(self) -> Any:
        """SciPy's matrix of the values at this call."""
        raise NotImplementedError


def _comparison(name: str) -> Callable[[Compared, Any], Any]:
    def compared(self: Compared, other: object) -> Any:
        return getattr(self.plain(), name)(_plain_operand(other))

    compared.__name__ = compared.__qualname__ = name
    return compared


def _plain_operand(other: object) -> Any:
    if isinstance(other, Compared):
        return other.plain()
    if not holds_expr(other):
        return unwrapped(other)
    return concrete_value(stop_gradient(lift_fully(other)), "sparse matrix")


COMPARISONS = ("__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__")
for _name in COMPARISONS:
    setattr(Compared, _name, _comparison(_name))

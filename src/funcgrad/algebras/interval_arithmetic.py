"""Arithmetic on intervals: the library that the column ``interval`` refers to, and its reader."""

from __future__ import annotations

from types import SimpleNamespace

from funcgrad.algebras import (
    interval_arrays,
    interval_booleans,
    interval_functions,
    outward_rounding,
)
from funcgrad.algebras.outward_rounding import Bounds
from funcgrad.graph import Node
from funcgrad.ops.base.columns import in_library
from funcgrad.ops.base.op import Op
from funcgrad.ops.elementwise.arithmetic import multiply, square
from funcgrad.ops.shape import concatenate_op

LIBRARY = SimpleNamespace(
    **{
        name: value
        for module in (outward_rounding, interval_booleans, interval_functions, interval_arrays)
        for name, value in vars(module).items()
        if not name.startswith("_")
    }
)
"""The functions of intervals, by name."""


def enclose(node: Node, parents: tuple[Bounds, ...]) -> Bounds | None:
    """The interval of an operation on intervals; None if the operation has no row."""
    op: Op = node.op  # type: ignore[assignment]
    # x*x is one x, twice.
    if op is multiply and node.parents[0] == node.parents[1]:
        op, parents = square, parents[:1]
    params = dict(node.params)
    row = in_library(op.columns.interval, LIBRARY, node.type.dtype.kind)
    if row is not None:
        found: Bounds = row(*parents, **params)
        return found
    if op.moves or op is concatenate_op:
        lo, hi = (op.run(*[x[i] for x in parents], **params) for i in (0, 1))
        return lo, hi
    return None


def has_interval(op: Op) -> bool:
    """Whether an operation encloses its values without its decomposition."""
    return op.columns.interval is not None or op.moves or op is concatenate_op

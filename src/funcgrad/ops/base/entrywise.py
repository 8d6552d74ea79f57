"""Operations with params that act entry by entry, on operands of one shape and one floating-point dtype."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad.expr import Expr
from funcgrad.ops.base.columns import Columns
from funcgrad.ops.base.op import Op, broadcast_to, lift_all, spread


class Entrywise(Op):
    """An operation with params that acts entry by entry, on operands that are fitted to each other."""

    __slots__ = ()

    def __call__(self, *args: Any, **params: Any) -> Any:
        traced = any([type(arg) is Expr for arg in args])
        fitted = fit_entrywise(args, self.name) if traced else args
        return super().__call__(*fitted, **params)


def fit_entrywise(args: Sequence[Any], who: str = "operand") -> tuple[Expr, ...]:
    """Operands cast to their common floating-point dtype, and broadcast against each other."""
    exprs = lift_all(args, who)
    shape = np.broadcast_shapes(*[x.shape for x in exprs])
    dtype = np.result_type(*[x.dtype for x in exprs])
    dtype = dtype if dtype.kind in "fc" else np.dtype(float)
    return tuple(
        [
            x if x.shape == shape else broadcast_to(x, shape=shape)
            for x in [x if x.dtype == dtype else x.astype(dtype) for x in exprs]
        ]
    )


def spread_unbatched(size: int, batched: Sequence[bool], args: Sequence[Any]) -> list[Any]:
    """The operands with a first axis for the batch, those without one repeated."""
    return [x if own else spread(x, size) for x, own in zip(args, batched, strict=True)]


def batched_as_stacks(op: Callable[[], Op]) -> Callable[..., Any]:
    """The batching rule of an operation of several stacks of one length: the batch makes each longer."""

    def batch(size: int, batched: Sequence[bool], *operands: Any, **params: Any) -> Any:
        return op()(*spread_unbatched(size, batched, operands), **params)

    return batch


def formula_op(
    name: str,
    formula: Callable[..., Any],
    infer: Callable[..., Any],
    edges: tuple[Callable[..., Any] | None, ...],
) -> Op:
    """An operation on stacks of one length that stands for a formula, which every reader has in its place.

    Its derivatives are not those of the formula.
    """
    op: Op = Op(
        name=name,
        run=formula,
        infer=infer,
        edges=edges,
        batch=batched_as_stacks(lambda: op),
        columns=Columns(decompose=formula, inlined=True, shown=False),
    )
    return op

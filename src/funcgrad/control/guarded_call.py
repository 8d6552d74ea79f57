"""A call that runs only where a truth value holds: of code that may raise an error for other operands.

On a path that an example does not take, it does not run. Its results, which nothing selects, are those of
the first example that takes it, so that what is computed from them is as finite as there. In a batch it runs
on one example after the other.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from funcgrad.control.call_and_branch import fresh_copies
from funcgrad.control.closed_program import Body, batched_body, cotangent_program, tangent_program
from funcgrad.expr import Expr, rebuild, symbol
from funcgrad.graph import ArrayType, TupleType
from funcgrad.linear import Joint, Parts
from funcgrad.ops.base.columns import Columns, Repeated
from funcgrad.ops.base.entrywise import spread_unbatched
from funcgrad.ops.base.op import Op
from funcgrad.ops.elementwise.selection import along_leading_axes, mask
from funcgrad.ops.tuples import pick
from funcgrad.typing import Array


def run_where_taken(holds: Expr, expr: Expr, args: tuple[Expr, ...]) -> Expr:
    """An operation that does not run where ``holds``, one truth value, is false."""
    inputs = [symbol(f"i{k}", x.type) for k, x in enumerate(args)]
    node = rebuild(expr, tuple(inputs))
    kind: object = node.type
    parts = len(kind.parts) if isinstance(kind, TupleType) else 0
    outputs = [pick(node, k) for k in range(parts)] or [node]
    made: Expr = guarded_call_op(*args, holds, body=Body(inputs, outputs))
    return made if parts else pick(made, 0)


def _run(*operands: Array, body: Body) -> tuple[Any, ...]:
    *args, holds = operands
    if not np.ndim(holds):
        if holds:
            return fresh_copies(body.program.step(args), args)
        return tuple([_unread((), type) for type in body.types])
    found = [_unread(holds.shape, type) for type in body.types]
    for place, index in enumerate(map(tuple, np.argwhere(holds))):
        values = body.program.step([x[index] for x in args])
        for whole, value in zip(found, values, strict=True):
            whole[index if place else ...] = value
    return tuple(found)


def _unread(sizes: tuple[int, ...], type: ArrayType) -> Any:
    """Values where no example takes the path: 1, of which fewer functions are infinite than of 0."""
    value = 1 if type.dtype.kind in "fc" else 0
    return np.full((*sizes, *type.shape), value, type.dtype)[()]


def _infer(*types: ArrayType, body: Body) -> Any:
    sizes = types[-1].shape
    return TupleType(tuple([ArrayType((*sizes, *t.shape), t.dtype) for t in body.types]))


def _joint(z: object, *operands: Expr, body: Body) -> Joint:
    *args, last = operands
    holds: Any = last

    def there(flow: Expr) -> Any:
        """A flow that is masked elsewhere: no infinite factor multiplies its zeros."""
        return mask(along_leading_axes(holds, flow.ndim), flow)

    def forward(flows: Mapping[int, Any]) -> Parts:
        active = sorted(flows)
        reached, derived = tangent_program(body, active)
        new = guarded_call_op(*args, *[flows[i] for i in active], holds, body=derived)
        return Parts({k: there(pick(new, place)) for place, k in enumerate(reached)})

    def backward(g: Parts) -> Mapping[int, Any]:
        given = sorted(g.of)
        reached, derived = cotangent_program(body, given, range(len(args)))
        new = guarded_call_op(*args, *[g.of[k] for k in given], holds, body=derived)
        return {i: there(pick(new, place)) for place, i in enumerate(reached)}

    return Joint(forward, backward)


def _batch(size: int, flags: Sequence[bool], *operands: Expr, body: Body) -> Any:
    holds = operands[-1]
    if flags[-1] or holds.ndim:
        return guarded_call_op(*spread_unbatched(size, flags, operands), body=body)
    return guarded_call_op(*operands, body=batched_body(body, size, flags[:-1]))


def _untaken(holds: Expr, expr: Expr, args: tuple[Expr, ...]) -> Expr:
    both: Any = np.logical_and(args[-1], holds)
    return rebuild(expr, (*args[:-1], both))


guarded_call_op: Op = Op(
    name="guarded_call",
    run=_run,
    infer=_infer,
    joint=_joint,
    batch=_batch,
    notation=lambda *operands, body: f"guarded_call({', '.join(operands)})",
    columns=Columns(
        bodies=lambda z: [[Repeated(dict(z.params)["body"], math.prod(z.args[-1].shape))]],
        untaken=_untaken,
    ),
)

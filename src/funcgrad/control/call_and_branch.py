"""Calls and branches: operations that run one body, or the one of several bodies that an index selects.

The derivative of a call is a call of the body's derivative. It recomputes intermediate values from the
operands, those excepted that ``kept`` names: rematerialization (`checkpoint`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from funcgrad.control.closed_program import (
    Body,
    batched_body,
    body_of,
    for_untaken_paths,
    jvp_of_body,
    may_raise,
    on_examples,
    tangent_program,
    vjp_of_body,
    zeros_of_type,
)
from funcgrad.expr import Expr, by_key, rebuild, result, symbol
from funcgrad.graph import CONSTANT, ArrayType, Key, TupleType
from funcgrad.linear import Joint, Parts
from funcgrad.ops.base.columns import Columns, HeldJacobian, Repeated
from funcgrad.ops.base.entrywise import spread_unbatched
from funcgrad.ops.base.op import Op, lift_fully
from funcgrad.ops.base.untaken_paths import combines_entries
from funcgrad.ops.elementwise.selection import along_leading_axes, as_where_taken, cut_off
from funcgrad.ops.tuples import pick, together_op
from funcgrad.rewrite.substitute import substitute_all
from funcgrad.typing import Array


# -- making --------------------------------------------------------------------------------------
def bind(op: Op, operands: Sequence[Any], count: int, **params: Any) -> list[Any]:
    """The parts of an operation's value: expressions, or numbers and arrays if no operand is traced."""
    traced = [value for value in operands if isinstance(value, Expr)]
    if traced:
        node = op(*[lift_fully(value, traced) for value in operands], **params)
        return [pick(node, k) for k in range(count)]
    with np.errstate(all="ignore"):
        return [result(v) for v in op.run(*[np.asarray(v)[()] for v in operands], **params)]


# -- call ----------------------------------------------------------------------------------------
def _call_run(*operands: Array, body: Body, kept: tuple[Key, ...] = ()) -> Any:
    return fresh_copies(body.program.step(operands), operands)


def fresh_copies(results: Sequence[Any], operands: Sequence[Any]) -> tuple[Any, ...]:
    """Results as NumPy's values, which share memory with no operand and with each other: else copied."""
    seen = {id(value) for value in operands}
    mine = []
    for value in results:
        # A compiled program gives Python's numbers: they have no shape, and raise where NumPy does not.
        made = not isinstance(value, np.ndarray | np.generic)
        shared = made or id(value) in seen or getattr(value, "base", None) is not None
        mine.append(np.array(value)[()] if shared else value)
        seen.add(id(value))
    return tuple(mine)


def _call_joint(z: Any, *operands: Expr, body: Body, kept: tuple[Key, ...] = ()) -> Joint:
    def forward(flows: Mapping[int, Any]) -> Parts:
        active = sorted(flows)
        reached, derived = tangent_program(body, active)
        new = call_op(*operands, *[flows[i] for i in active], body=derived, kept=())
        return Parts({k: pick(new, place) for place, k in enumerate(reached)})

    def backward(g: Parts) -> Mapping[int, Any]:
        given = sorted(g.of)
        seeds, back = vjp_of_body(body, given, range(len(operands)))
        inside = by_key(*body.outputs)
        saved = [inside[key] for key in kept]
        names = [symbol(f"k{j}", e.type) for j, e in enumerate(saved)]
        swapped = substitute_all(
            list(back.values()), {e.key: new for e, new in zip(saved, names, strict=True)}
        )
        # The call that hands out what is kept computes the value, too, and so stands in its place.
        more = Body(body.inputs, [*body.outputs, *saved])
        first = call_op(*operands, body=more, kept=())
        handed = [pick(first, len(body.outputs) + j) for j in range(len(saved))]
        derived = body_of([*body.inputs, *seeds, *names], swapped)
        new = call_op(*operands, *[g.of[k] for k in given], *handed, body=derived, kept=())
        return {i: pick(new, place) for place, i in enumerate(back)}

    return Joint(forward, backward)


def _call_batch(
    size: int, flags: Sequence[bool], *operands: Expr, body: Body, kept: tuple[Key, ...] = ()
) -> Any:
    inputs, outputs = on_examples(body, size, flags)
    new = call_op(*operands, body=body_of(inputs, [expr for expr, _ in outputs]), kept=())
    parts = [pick(new, k) for k in range(len(outputs))]
    return together_op(*spread_unbatched(size, [own for _, own in outputs], parts))


def _call_type(*types: ArrayType, body: Body, kept: tuple[Key, ...] = ()) -> Any:
    return TupleType(body.types)


def _call_jacobians(z: Expr, place: int) -> list[HeldJacobian]:
    body: Body = dict(z.params)["body"]
    given = [(x, i) for i, x in enumerate(body.inputs) if i != place]
    return [HeldJacobian(body.outputs, [body.inputs[place]], given)]


def _untaken_call(holds: Expr, expr: Expr, args: tuple[Expr, ...]) -> Any:
    params = dict(expr.params)
    if params["kept"] or not may_raise(params["body"]):  # what is kept are nodes of this body
        return rebuild(expr, args)
    return call_op(*args, holds, body=for_untaken_paths(params["body"]), kept=())


call_op: Op = Op(
    name="call",
    run=_call_run,
    infer=_call_type,
    joint=_call_joint,
    batch=_call_batch,
    notation=lambda *operands, body, kept: f"call({', '.join(operands)})",
    columns=Columns(
        bodies=lambda z: [[Repeated(dict(z.params)["body"], 1)]],
        machine="control_forms:call",
        sparsity=_call_jacobians,
        untaken=_untaken_call,
    ),
)


# -- branch --------------------------------------------------------------------------------------
def _branch_run(index: int, *operands: Array, branches: tuple[Body, ...]) -> Any:
    chosen = branches[min(max(int(index), 0), len(branches) - 1)]
    return fresh_copies(chosen.program.step(operands), operands)


def _branch_joint(z: Any, index: Expr, *operands: Expr, branches: tuple[Body, ...]) -> Joint:
    def forward(flows: Mapping[int, Any]) -> Parts:
        active = sorted(i - 1 for i in flows)
        each = [jvp_of_body(body, active) for body in branches]
        count = len(branches[0].outputs)
        reached = [k for k in range(count) if any(moved[k] is not None for _, moved in each)]
        derived = tuple(
            body_of(
                [*body.inputs, *tangents],
                [
                    zeros_of_type(body.outputs[k].type) if moved[k] is None else moved[k]
                    for k in reached
                ],
            )
            for body, (tangents, moved) in zip(branches, each, strict=True)
        )
        new = branch_op(index, *operands, *[flows[i + 1] for i in active], branches=derived)
        return Parts({k: pick(new, place) for place, k in enumerate(reached)})

    def backward(g: Parts) -> Mapping[int, Any]:
        given = sorted(g.of)
        each = [vjp_of_body(body, given, range(len(operands))) for body in branches]
        reached = sorted({i for _, back in each for i in back})
        derived = tuple(
            body_of(
                [*body.inputs, *seeds],
                [back[i] if i in back else zeros_of_type(body.inputs[i].type) for i in reached],
            )
            for body, (seeds, back) in zip(branches, each, strict=True)
        )
        new = branch_op(index, *operands, *[g.of[k] for k in given], branches=derived)
        return {i + 1: pick(new, place) for place, i in enumerate(reached)}

    return Joint(forward, backward)


def _branch_batch(
    size: int, flags: Sequence[bool], index: Expr, *operands: Expr, branches: tuple[Body, ...]
) -> Any:
    if not flags[0]:
        derived = tuple([batched_body(body, size, flags[1:]) for body in branches])
        return branch_op(index, *operands, branches=derived)
    # Each example chooses for itself: all branches run, and no derivative goes through one not chosen.
    chosen: Any = np.clip(index, 0, len(branches) - 1)
    here = [chosen == place for place in range(len(branches))]
    values = [
        batched_body(for_untaken_paths(body), size, [*flags[1:], True]).inline(
            [*_on_path(body, operands, flags[1:], holds), holds]
        )
        for body, holds in zip(branches, here, strict=True)
    ]
    parts: list[Any] = list(values[-1])
    for holds, results in zip(reversed(here[:-1]), reversed(values[:-1]), strict=True):
        parts = [
            np.where(along_leading_axes(holds, new.ndim), new, old)
            for new, old in zip(results, parts, strict=True)
        ]
    return together_op(*parts)


def _on_path(body: Body, operands: Sequence[Expr], flags: Sequence[bool], holds: Any) -> list[Expr]:
    """The operands of a branch that some examples take."""
    pairs = list(zip(operands, flags, strict=True))
    shares = [x.dtype.kind in "fc" and x.op is not CONSTANT for x, own in pairs if not own]
    if not (any(shares) and combines_entries(body.outputs)):
        return [cut_off(x, holds) if own else x for x, own in pairs]
    # A zero cotangent of what the examples share is added to others: none may be a NaN.
    return [
        cut_off(as_where_taken(x, holds), holds) if own else cut_off(x, np.any(holds))  # type: ignore[arg-type]
        for x, own in pairs
    ]


def _branch_type(index: ArrayType, *types: ArrayType, branches: tuple[Body, ...]) -> Any:
    return TupleType(branches[0].types)


def _branch_jacobians(z: Expr, place: int) -> list[HeldJacobian]:
    """Those of each branch: the first operand is the index."""
    found = []
    for body in dict(z.params)["branches"]:
        given = [(x, i + 1) for i, x in enumerate(body.inputs) if i + 1 != place]
        found.append(HeldJacobian(body.outputs, [body.inputs[place - 1]], given))
    return found


def _untaken_branch(holds: Expr, expr: Expr, args: tuple[Expr, ...]) -> Any:
    branches = dict(expr.params)["branches"]
    if not any(map(may_raise, branches)):
        return rebuild(expr, args)
    return branch_op(*args, holds, branches=tuple(map(for_untaken_paths, branches)))


branch_op: Op = Op(
    name="branch",
    run=_branch_run,
    infer=_branch_type,
    joint=_branch_joint,
    batch=_branch_batch,
    notation=lambda index, *operands, branches: f"branch({', '.join([index, *operands])})",
    columns=Columns(
        bodies=lambda z: [[Repeated(branch, 1)] for branch in dict(z.params)["branches"]],
        machine="control_forms:branch",
        sparsity=_branch_jacobians,
        untaken=_untaken_branch,
    ),
)

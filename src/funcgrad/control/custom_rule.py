"""A derivative of one's own, given once as a linear program: both modes, batching and all orders follow.

The value is computed as it is written; a `ruled` node stands over it, and over the arguments. Its
linear map is a body, linear in some of its inputs, that takes tangents of the arguments to tangents of
the results (``forward``), or cotangents of the results to cotangents of the arguments. The other
direction is its transpose, which reverse accumulation of a linear program gives.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from funcgrad.control.closed_program import Body, body_of, on_examples, pulled, zeros_of_type
from funcgrad.expr import Expr
from funcgrad.graph import ArrayType, TupleType
from funcgrad.linear import Joint, Parts
from funcgrad.ops.base.columns import Columns, no_flops
from funcgrad.ops.base.op import Op, differentiable, spread
from funcgrad.ops.tuples import pick


class Wiring(NamedTuple):
    """How the operands of a `ruled` node are divided: results, arguments, and what its rule sees beside.

    ``forward`` says which direction the rule gives. Its body's inputs are what it sees, then tangents of
    the arguments or cotangents of the results.
    """

    results: int
    arguments: int
    forward: bool


def _joint(z: object, *operands: Expr, body: Body, wiring: Wiring) -> Joint:
    first, last = wiring.results, wiring.results + wiring.arguments
    context = operands[last:]

    def given(body: Body, flows: Mapping[int, Any]) -> list[Any]:
        linear = body.inputs[len(context) :]
        return [flows[i] if i in flows else zeros_of_type(x.type) for i, x in enumerate(linear)]

    def along(flows: Mapping[int, Any]) -> list[Expr]:
        return body.on([*context, *given(body, flows)])

    def against(flows: Mapping[int, Any]) -> dict[int, Expr]:
        """The transpose: it is linear, so that where it is taken does not matter."""
        places = [k for k in flows if differentiable(body.outputs[k].dtype)]
        start = len(context)
        seeds, back = pulled(body, places, range(start, len(body.inputs)))
        derived = body_of([*body.inputs, *seeds], list(back.values()))
        values = derived.on([*context, *given(body, {}), *[flows[k] for k in places]])
        return {i - start: value for i, value in zip(back, values, strict=True)}

    def forward(flows: Mapping[int, Any]) -> Parts:
        moved = {i - first: v for i, v in flows.items() if first <= i < last}
        if not moved:
            return Parts({})
        return Parts(dict(enumerate(along(moved))) if wiring.forward else against(moved))

    def backward(g: Parts) -> Mapping[int, Any]:
        found = against(g.of) if wiring.forward else dict(enumerate(along(g.of)))
        return {first + i: v for i, v in found.items() if differentiable(operands[first + i].dtype)}

    return Joint(forward, backward)


def _batch(size: int, flags: Sequence[bool], *operands: Expr, body: Body, wiring: Wiring) -> Any:
    last = wiring.results + wiring.arguments
    count = len(operands) - last
    own = [*flags[last:], *[True] * (len(body.inputs) - count)]
    inputs, outputs = on_examples(body, size, own)
    results = [expr if batched else spread(expr, size) for expr, batched in outputs]
    wide = [
        x if i >= last or own else spread(x, size)
        for i, (x, own) in enumerate(zip(operands, flags, strict=True))
    ]
    return ruled_op(*wide, body=body_of(inputs, results), wiring=wiring)


def _type(*types: ArrayType, body: Body, wiring: Wiring) -> Any:
    return TupleType(types[: wiring.results])


def _notation(*operands: str, body: Body, wiring: Wiring) -> str:
    return f"ruled({', '.join(operands[: wiring.results])})"


ruled_op: Op = Op(
    name="ruled",
    run=lambda *operands, body, wiring: operands[: wiring.results],
    infer=_type,
    joint=_joint,
    batch=_batch,
    notation=_notation,
    columns=Columns(flops=no_flops),
)


def ruled(
    results: Sequence[Expr],
    arguments: Sequence[Expr],
    context: Sequence[Expr],
    body: Body,
    *,
    forward: bool,
) -> list[Expr]:
    """The results, with a derivative in the arguments that the body gives."""
    wiring = Wiring(len(results), len(arguments), forward)
    node = ruled_op(*results, *arguments, *context, body=body, wiring=wiring)
    return [pick(node, k) for k in range(len(results))]

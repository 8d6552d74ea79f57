"""Custom derivatives: a user's rule as a linear program, which gives both modes, batching and all orders.

The operation `custom_derivative` has the results of a function and its arguments as operands, and the
results as its value. Its linear map is a body, linear in some of its inputs: from tangents of the arguments
to tangents of the results (``forward``), or from cotangents of the results to cotangents of the arguments.
The other direction is the transpose, by reverse accumulation of the linear program. If the function captures
values, its results are made to depend on these alone, and their derivative in them is the function's own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from funcgrad.control.closed_program import Body, body_of, on_examples, vjp_of_body, zeros_of_type
from funcgrad.control.rule_linearity import is_linear
from funcgrad.expr import Expr, symbol
from funcgrad.graph import ArrayType, TupleType
from funcgrad.linear import Joint, Parts
from funcgrad.ops.base.columns import Columns, HeldJacobian, no_flops
from funcgrad.ops.base.op import Op, differentiable, spread
from funcgrad.ops.shape import astype, broadcast_to
from funcgrad.ops.tuples import pick
from funcgrad.source import warn


class Wiring(NamedTuple):
    """The numbers of results and of arguments among the operands; the others are the rule's context.

    ``forward`` says which direction the rule gives. The body's inputs are the context, then tangents of the
    arguments or cotangents of the results.
    """

    results: int
    arguments: int
    forward: bool
    linear: bool = True
    """False of a rule that is known not to be linear."""
    captured: bool = False
    """Whether derivatives flow to the results, which depend on what the function captures."""


def _joint(z: object, *operands: Expr, body: Body, wiring: Wiring) -> Joint:
    first, last = wiring.results, wiring.results + wiring.arguments
    context = operands[last:]

    def given(body: Body, flows: Mapping[int, Any]) -> list[Any]:
        linear = body.inputs[len(context) :]
        return [flows[i] if i in flows else zeros_of_type(x.type) for i, x in enumerate(linear)]

    def apply(body: Body, flows: Mapping[int, Any]) -> dict[int, Expr]:
        return dict(enumerate(body.inline([*context, *given(body, flows)])))

    def transposed(flows: Mapping[int, Any]) -> dict[int, Expr]:
        """The transpose of the linear map, which is the same everywhere, taken at one: a rule may treat
        zero by itself, as ``where(g == 0, 0, g * c)`` does."""
        if not wiring.linear:
            warn(_NOT_LINEAR[wiring.forward])
        places = [k for k in flows if differentiable(body.outputs[k].dtype)]
        start = len(context)
        seeds, back = vjp_of_body(body, places, range(start, len(body.inputs)))
        derived = body_of([*body.inputs, *seeds], list(back.values()))
        ones = [broadcast_to(astype(1.0, x.dtype), x.shape) for x in body.inputs[start:]]
        values = derived.inline([*context, *ones, *[flows[k] for k in places]])
        return {i - start: value for i, value in zip(back, values, strict=True)}

    def forward(flows: Mapping[int, Any]) -> Parts:
        moved = {i - first: v for i, v in flows.items() if first <= i < last}
        by_rule = {}
        if moved:
            by_rule = apply(body, moved) if wiring.forward else transposed(moved)
        captured = {i: v for i, v in flows.items() if i < first and wiring.captured}
        return Parts(by_rule) + Parts(captured)

    def backward(g: Parts) -> Mapping[int, Any]:
        found = transposed(g.of) if wiring.forward else apply(body, g.of)
        captured = g.of if wiring.captured else {}
        return dict(captured) | {
            first + i: v for i, v in found.items() if differentiable(operands[first + i].dtype)
        }

    return Joint(forward, backward)


_NOT_LINEAR = {
    False: "custom_vjp: expected bwd to be linear in the cotangent, but it is not: forward mode (jvp, "
    "jacfwd) is that of cotangents around 1, and differs from grad; write the rule for custom_jvp",
    True: "custom_jvp: expected a rule that is linear in the tangents, but it is not: reverse mode (grad) "
    "is that of tangents around 1, and differs from jvp; write the rule for custom_vjp",
}


def _batch(
    size: int,
    flags: Sequence[bool],
    *operands: Expr,
    body: Body,
    wiring: Wiring,
) -> Any:
    last = wiring.results + wiring.arguments
    count = len(operands) - last

    def on_batch(body: Body) -> Body:
        own = [*flags[last:], *[True] * (len(body.inputs) - count)]
        inputs, outputs = on_examples(body, size, own)
        return body_of(inputs, [x if batched else spread(x, size) for x, batched in outputs])

    wide = [
        x if i >= last or own else spread(x, size)
        for i, (x, own) in enumerate(zip(operands, flags, strict=True))
    ]
    return custom_derivative_op(*wide, body=on_batch(body), wiring=wiring)


def _type(*types: ArrayType, body: Body, wiring: Wiring) -> Any:
    return TupleType(types[: wiring.results])


def _jacobians(z: Expr, place: int) -> list[HeldJacobian]:
    """The rule's linear program in one argument. No derivative flows to the context."""
    body, wiring = (dict(z.params)[name] for name in ("body", "wiring"))
    argument = place - wiring.results
    if argument < 0 and wiring.captured:
        result = symbol("result", z.args[place].type)
        parts = [zeros_of_type(x.type) for x in z.args[: wiring.results]]
        return [HeldJacobian([*parts[:place], result, *parts[place + 1 :]], [result], [])]
    if not 0 <= argument < wiring.arguments:
        return []
    first = wiring.results + wiring.arguments
    seen = len(z.args) - first
    given = [(body.inputs[i], first + i) for i in range(seen)]
    linear = body.inputs[seen:]
    if wiring.forward:
        return [HeldJacobian(body.outputs, [linear[argument]], given)]
    return [HeldJacobian([body.outputs[argument]], linear, given, transposed=True)]


def _notation(*operands: str, body: Body, wiring: Wiring) -> str:
    return f"custom_derivative({', '.join(operands[: wiring.results])})"


custom_derivative_op: Op = Op(
    name="custom_derivative",
    run=lambda *operands, body, wiring: operands[: wiring.results],
    infer=_type,
    joint=_joint,
    batch=_batch,
    notation=_notation,
    columns=Columns(flops=no_flops, machine="custom_derivative", sparsity=_jacobians),
)


def custom_derivative(
    results: Sequence[Expr],
    arguments: Sequence[Expr],
    context: Sequence[Expr],
    body: Body,
    *,
    forward: bool,
    captured: bool,
) -> list[Expr]:
    """The results, with the derivative in the arguments that the body gives.

    If ``captured``, derivatives flow to the results, too.
    """
    linear = is_linear(body, context)
    wiring = Wiring(len(results), len(arguments), forward, linear, captured)
    node = custom_derivative_op(*results, *arguments, *context, body=body, wiring=wiring)
    return [pick(node, k) for k in range(len(results))]

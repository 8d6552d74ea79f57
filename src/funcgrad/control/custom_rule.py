"""Custom derivatives: a user's rule as a linear program, which gives both modes, batching and all orders.

The operation `custom_derivative` has the results of a function and its arguments as operands, and the
results as its value. Its linear map is a body, linear in some of its inputs: from tangents of the arguments
to tangents of the results (``forward``), or from cotangents of the results to cotangents of the arguments.
The other direction is the transpose, by reverse accumulation of the linear program. What the function
captures counts among the arguments: its part of the linear map is the derivative of the results themselves.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from funcgrad.control.closed_program import (
    Body,
    batched_body,
    body_of,
    cotangent_program,
    for_untaken_paths,
    may_raise,
    tangent_program,
    zeros_of_type,
)
from funcgrad.control.rule_linearity import is_linear
from funcgrad.expr import Expr, rebuild, symbol
from funcgrad.fold import folded
from funcgrad.graph import CONSTANT, ArrayType, TupleType, subexpressions
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
        reached, derived = cotangent_program(body, places, range(start, len(body.inputs)))
        ones = [broadcast_to(astype(1.0, x.dtype), x.shape) for x in body.inputs[start:]]
        values = derived.inline([*context, *ones, *[flows[k] for k in places]])
        return {i - start: value for i, value in zip(reached, values, strict=True)}

    def forward(flows: Mapping[int, Any]) -> Parts:
        moved = {i - first: v for i, v in flows.items() if first <= i < last}
        if not moved:
            return Parts({})
        return Parts(apply(body, moved) if wiring.forward else transposed(moved))

    def backward(g: Parts) -> Mapping[int, Any]:
        found = transposed(g.of) if wiring.forward else apply(body, g.of)
        return {first + i: v for i, v in found.items() if differentiable(operands[first + i].dtype)}

    return Joint(forward, backward)


_NOT_LINEAR = {
    False: "custom_vjp: expected bwd to be linear in the cotangent, but it is not: forward mode (jvp, "
    "jacfwd) is that of cotangents around 1, and differs from grad; write the rule for custom_jvp",
    True: "custom_jvp: expected a rule that is linear in the tangents, but it is not: reverse mode (grad) "
    "is that of tangents around 1, and differs from jvp; write the rule for custom_vjp",
}


def _batch(size: int, flags: Sequence[bool], *operands: Expr, body: Body, wiring: Wiring) -> Any:
    last = wiring.results + wiring.arguments
    count = len(operands) - last
    own = [*flags[last:], *[True] * (len(body.inputs) - count)]
    wide = [
        x if i >= last or batched else spread(x, size)
        for i, (x, batched) in enumerate(zip(operands, flags, strict=True))
    ]
    return custom_derivative_op(*wide, body=batched_body(body, size, own), wiring=wiring)


def _type(*types: ArrayType, body: Body, wiring: Wiring) -> Any:
    return TupleType(types[: wiring.results])


def _jacobians(z: Expr, place: int) -> list[HeldJacobian]:
    """The rule's linear program in one argument. No derivative flows to other operands."""
    body, wiring = (dict(z.params)[name] for name in ("body", "wiring"))
    argument = place - wiring.results
    if not 0 <= argument < wiring.arguments:
        return []
    first = wiring.results + wiring.arguments
    seen = len(z.args) - first
    given = [(body.inputs[i], first + i) for i in range(seen)]
    linear = body.inputs[seen:]
    if wiring.forward:
        return [HeldJacobian(body.outputs, [linear[argument]], given)]
    return [HeldJacobian([body.outputs[argument]], linear, given, transposed=True)]


def _untaken(holds: Expr, expr: Expr, args: tuple[Expr, ...]) -> Any:
    body, wiring = (dict(expr.params)[name] for name in ("body", "wiring"))
    if not may_raise(body):
        return rebuild(expr, args)
    guarded = for_untaken_paths(body)
    count = len(args) - wiring.results - wiring.arguments
    *inputs, last = guarded.inputs
    guarded = body_of([*inputs[:count], last, *inputs[count:]], guarded.outputs)
    return custom_derivative_op(*args, holds, body=guarded, wiring=wiring)


custom_derivative_op: Op = Op(
    name="custom_derivative",
    run=lambda *operands, body, wiring: operands[: wiring.results],
    infer=_type,
    joint=_joint,
    batch=_batch,
    notation=lambda *operands, body, wiring: (
        f"custom_derivative({', '.join(operands[: wiring.results])})"
    ),
    columns=Columns(
        flops=no_flops, machine="custom_derivative", sparsity=_jacobians, untaken=_untaken
    ),
)


class LinearRule(NamedTuple):
    """The derivative that a user gives: a linear program, and the operands of its function."""

    arguments: Sequence[Expr]
    context: Sequence[Expr]
    body: Body
    forward: bool

    def applied(self, results: Sequence[Expr]) -> list[Expr]:
        """The results, with the derivative in the arguments that the body gives."""
        linear = is_linear(self.body, self.context)
        wiring = Wiring(len(results), len(self.arguments), self.forward, linear)
        operands = [*results, *self.arguments, *self.context]
        node = custom_derivative_op(*operands, body=self.body, wiring=wiring)
        return [pick(node, k) for k in range(len(results))]

    def with_captured(
        self, results: Sequence[Expr], fixed: Sequence[Expr], start: int
    ) -> LinearRule:
        """The rule with further arguments: captured values that the results of the function depend on.

        These are the expressions that were made before ``start``, but for arguments and ``fixed`` values. The
        derivative in them is that of the results.
        """
        given = [*self.arguments, *fixed]
        found = _captured(results, given, start)
        captured = [x for x in found if differentiable(x.dtype)]
        if not captured:
            return self
        given += [x for x in found if not differentiable(x.dtype)]
        own = _program_of(results, [*given, *captured])
        count = len(self.context)
        context = [symbol(f"k{i}", x.type) for i, x in enumerate(self.body.inputs[:count])]
        values = [symbol(f"v{i}", x.type) for i, x in enumerate(own.inputs)]
        flows = [symbol(f"f{i}", x.type) for i, x in enumerate(self.body.inputs[count:])]
        by_rule = self.body.inline([*context, *flows])
        joined = _with_tangents if self.forward else _with_cotangents
        more, outputs = joined(own, len(given), values, flows, by_rule)
        body = body_of([*context, *values, *flows, *more], outputs)
        arguments = [*self.arguments, *captured]
        return LinearRule(arguments, [*self.context, *given, *captured], body, self.forward)


def _captured(results: Sequence[Expr], given: Sequence[Expr], start: int) -> list[Expr]:
    known = set(map(_identity, given))

    def operands(expr: Expr) -> tuple[Expr, ...]:
        return () if _identity(expr) in known or expr.birth < start else expr.args

    return [
        expr
        for expr in subexpressions(*results, operands=operands)
        if expr.birth < start and expr.op is not CONSTANT and _identity(expr) not in known
    ]


def _identity(expr: Expr) -> tuple[int, int]:
    """What an argument and its copies share, such as ``float(x)``: they have one tuple of operands."""
    return (id(expr.op), id(expr.args)) if expr.args else (id(expr), 0)


def _program_of(results: Sequence[Expr], values: Sequence[Expr]) -> Body:
    """The results as a program of these values."""
    inputs = {_identity(x): symbol(f"x{i}", x.type) for i, x in enumerate(values)}

    def step(expr: Expr, args: tuple[Expr, ...]) -> Expr:
        known = inputs.get(_identity(expr))
        return rebuild(expr, args) if known is None else known

    outputs = folded(results, step, operands=lambda x: () if _identity(x) in inputs else x.args)
    return body_of([inputs[_identity(x)] for x in values], outputs)


def _with_tangents(
    own: Body, first: int, values: list[Expr], flows: list[Expr], by_rule: list[Expr]
) -> tuple[list[Expr], list[Expr]]:
    """The tangents of captured inputs, which are those from ``first`` on, and the tangents of results."""
    reached, derived = tangent_program(own, range(first, len(values)))
    more = [symbol(f"t{i}", x.type) for i, x in enumerate(values[first:])]
    found = dict(zip(reached, derived.inline([*values, *more]), strict=True))
    return more, [z + found[k] if k in found else z for k, z in enumerate(by_rule)]


def _with_cotangents(
    own: Body, first: int, values: list[Expr], flows: list[Expr], by_rule: list[Expr]
) -> tuple[list[Expr], list[Expr]]:
    """No more inputs, and the cotangents of arguments and of captured inputs."""
    places = [k for k, out in enumerate(own.outputs) if differentiable(out.dtype)]
    reached, derived = cotangent_program(own, places, range(first, len(values)))
    found = dict(zip(reached, derived.inline([*values, *[flows[k] for k in places]]), strict=True))
    captured = range(first, len(values))
    return [], [*by_rule, *[found.get(i, zeros_of_type(values[i].type)) for i in captured]]

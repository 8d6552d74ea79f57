"""Validate control-flow nodes read from JSON.

The types of the operands must match those of the bodies' inputs and outputs. Validation runs no body, since a
loop may be long.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from funcgrad.control.closed_program import Body
from funcgrad.control.custom_rule import Wiring
from funcgrad.control.loop import UNKNOWN_LENGTH, LoopSpec
from funcgrad.expr import by_key
from funcgrad.graph import ArrayType, Key, Params, TupleType
from funcgrad.ops.base.columns import StoredRule
from funcgrad.ops.base.op import Op, differentiable
from funcgrad.ops.tuples import pick_op
from funcgrad.transforms.custom.solvers import Problem

Types = Sequence[ArrayType]
_BOOL = ArrayType((), np.dtype(bool))


def is_closed(op: Op, types: Sequence[Any]) -> bool:
    """Whether a node is checked here: it holds bodies, or has to do with tuples."""
    return bool(_rule(op)) or any([isinstance(t, TupleType) for t in types])


def _rule(op: Op) -> StoredRule | None:
    """The rule of a control operation; of others the one in their record."""
    return _RULES.get(op.name) or op.columns.stored


def closed_problem(op: Op, types: Sequence[Any], params: Params) -> str:
    """What is wrong with such a node, as the end of a message; empty where nothing is."""
    if op is not pick_op and any([isinstance(t, TupleType) for t in types]):
        return "expected operands that are arrays, but got a tuple"
    found = _rule(op)
    if found is None:
        return "expected operands that are arrays, but got a tuple"
    names, rule = found
    if tuple([key for key, _ in params]) != names:
        got = ", ".join([key for key, _ in params])
        return f"expected the params {', '.join(names) or 'none'}, but got {got or 'none'}"
    return rule(types, **dict(params))


def _inputs(body: Body) -> list[ArrayType]:
    return [x.type for x in body.inputs]


def _differ(expected: Types, got: Types, what: str = "operands") -> str:
    if list(expected) == list(got):
        return ""
    shown = [", ".join(map(str, types)) or "none" for types in (expected, got)]
    return f"expected {what} of types {shown[0][:60]}, but got {shown[1][:60]}"


def _loop(types: Types, body: Body, cond: object, spec: object) -> str:
    if not (
        isinstance(body, Body) and isinstance(cond, Body | None) and isinstance(spec, LoopSpec)
    ):
        return "expected a body, a condition or null, and how it runs"
    n, m, length, _, masked_by = spec
    inputs, outputs = _inputs(body), body.types
    if min(n, m) < 0 or n + m > len(inputs) or n > len(outputs):
        return f"expected states and sequences among {len(inputs)} inputs, but got {n} and {m}"
    if (cond is None and not m and length == UNKNOWN_LENGTH) or (
        cond is not None and (m or length != UNKNOWN_LENGTH)
    ):
        return "expected a length, or sequences, or a condition, that say how often it runs"
    if masked_by is not None and not (0 <= masked_by < m and inputs[n + masked_by] == _BOOL):
        return "expected a sequence of truth values as the mask"
    lengths = [length] * m
    # In a program of `linearize`, some of the sequences are known arrays.
    if length == UNKNOWN_LENGTH:
        lengths = [t.shape[0] if t.shape else length for t in types[n : n + m]]
    sequences = [
        ArrayType((count, *t.shape), t.dtype)
        for count, t in zip(lengths, inputs[n : n + m], strict=False)
    ]
    given = [*inputs[:n], *sequences, *inputs[n + m :]]
    tested = cond is None or (_inputs(cond) == inputs and cond.types == (_BOOL,))
    return (
        _differ(given, types)
        or _differ(inputs[:n], outputs[:n], "new states")
        or ("" if tested else "expected a condition on the same inputs that gives one bool")
    )


def _branch(types: Types, branches: Any) -> str:
    if not isinstance(branches, tuple) or not all([isinstance(b, Body) for b in branches]):
        return "expected bodies as branches"
    if not branches or not types or types[0].shape or types[0].dtype.kind not in "biu":
        return "expected an index and at least one branch"
    for body in branches:
        problem = _differ(_inputs(body), types[1:]) or _differ(
            branches[0].types, body.types, "results"
        )
        if problem:
            return problem
    return ""


def _call(types: Types, body: Body, kept: object) -> str:
    if not isinstance(body, Body) or not isinstance(kept, tuple):
        return "expected a body, and keys of what is kept"
    inside = by_key(*body.outputs)
    if not all([isinstance(key, Key) and key in inside for key in kept]):
        return "expected keys of the body's nodes as what is kept"
    return _differ(_inputs(body), types)


def _ruled(types: Types, body: Body, wiring: object) -> str:
    if not isinstance(body, Body) or not isinstance(wiring, Wiring):
        return "expected a body, and how it is wired"
    first, count = wiring.results, wiring.arguments
    last = first + count
    if min(first, count) < 0 or last > len(types):
        return (
            f"expected results and arguments among {len(types)} operands, but got {first}, {count}"
        )
    results, arguments, context = types[:first], types[first:last], types[last:]
    tangents, made = (arguments, results) if wiring.forward else (results, arguments)
    inputs = _inputs(body)
    return _differ(inputs[: len(context)], context) or _not_along(
        [*inputs[len(context) :], *body.types], [*tangents, *made]
    )


def _not_along(flows: Types, values: Types) -> str:
    """Whether tangents or cotangents are of the shapes and dtypes of what they belong to."""
    fit = len(flows) == len(values) and all(
        [
            flow.shape == value.shape
            and (flow.dtype == value.dtype or not differentiable(value.dtype))
            for flow, value in zip(flows, values, strict=True)
        ]
    )
    return "" if fit else _differ(values, flows, "tangents or cotangents") or "expected tangents"


def _implicit(types: Types, problem: object, levels: object) -> str:
    if not isinstance(problem, Problem) or not isinstance(levels, tuple):
        return "expected a problem, and the batches that it is solved for"
    inputs = _inputs(problem.body)
    if len(inputs) != len(types):
        return f"expected {len(inputs)} operands, but got {len(types)}"
    given = inputs
    for level in reversed(levels):
        match level:
            case (int(size), tuple(flags)) if len(flags) == len(types) and size >= 0:
                pass
            case _:
                return "expected the size of each batch, and which operands have it"
        if not all([type(flag) is bool for flag in flags]) or type(size) is not int:
            return "expected the size of each batch, and which operands have it"
        given = [
            ArrayType((size, *t.shape), t.dtype) if flag else t
            for t, flag in zip(given, flags, strict=True)
        ]
    return _differ(given, types)


def _pick(types: Sequence[Any], index: int) -> str:
    if len(types) != 1 or not isinstance(types[0], TupleType):
        return "expected a tuple as operand"
    if type(index) is not int or not 0 <= index < len(types[0].parts):
        return f"expected a place in a tuple of {len(types[0].parts)}"
    return ""


_RULES: Mapping[str, StoredRule] = MappingProxyType(
    {
        "loop": (("body", "cond", "spec"), _loop),
        "branch": (("branches",), _branch),
        "call": (("body", "kept"), _call),
        "custom_derivative": (("body", "wiring"), _ruled),
        "implicit": (("problem", "levels"), _implicit),
        "pick": (("index",), _pick),
        "together": ((), lambda types: ""),
    }
)

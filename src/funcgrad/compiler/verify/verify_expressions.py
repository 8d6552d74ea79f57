"""Verifies expressions: types follow from rules, keys from content; bodies are closed and fit their node."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from funcgrad.compiler.verify.failure import must, must_be
from funcgrad.control.closed_program import Body
from funcgrad.expr import Expr, subexpressions
from funcgrad.graph import CONSTANT, INPUT, ArrayType, Key, Params, address, broadcast_shapes
from funcgrad.ops.base.op import Elementwise, Op
from funcgrad.ops.base.promotion import elementwise_types


# -- types ---------------------------------------------------------------------------------------
def type_by_rule(
    stage: str, where: str, op: Op, types: Sequence[ArrayType], params: Params, loose: bool = False
) -> Any:
    """The type that an operation's own rule gives for operands of these types, which have to fit it.

    ``loose``: entrywise operations may broadcast their operands themselves.
    """
    if isinstance(op, Elementwise):
        infer: Any = op.infer
        if infer is None:  # a shortcut, which is made of operations on one dtype
            return ArrayType(broadcast_shapes(*[t.shape for t in types]), types[-1].dtype)
        wanted, result = elementwise_types(op, types)
        if loose:
            dtypes = ([t.dtype for t in group] for group in (wanted, types))
            must_be(stage, where, "operands of dtypes", *dtypes)
        else:
            must_be(stage, where, "operands of types", tuple(wanted), tuple(types))
        return result
    return op.infer(*types, **dict(params))


def bodies_of(params: Params) -> list[Body]:
    """The closed subgraphs among the params of a node."""
    values = [value for _, v in params for value in (v if isinstance(v, tuple) else (v,))]
    return [value for value in values if isinstance(value, Body)]


def check_constant(stage: str, where: str, held: Any, type: ArrayType) -> None:
    """Refuse a constant whose array has another type, or may change."""
    found = ArrayType(held.array.shape, held.array.dtype)
    must_be(stage, where, "a constant of type", type, found)
    still = held.captured or not held.array.flags.writeable
    must(stage, where, still, "a constant that cannot change", "a writeable array")


def check_wiring(stage: str, where: str, types: tuple[Any, ...], params: Params) -> None:
    """The operands of a node with a body match the body's inputs, and an iteration's states the next's."""
    given = dict(params)
    if "spec" in given and "body" in given:
        body, cond, spec = given["body"], given["cond"], given["spec"]
        n, middle = spec.num_carry, spec.num_carry + spec.num_xs
        for k in range(n, middle):
            must_be(stage, where, f"iterations in sequence {k}", spec.trip_count, types[k].shape[0])
        items = [ArrayType(t.shape[1:], t.dtype) for t in types[n:middle]]
        iteration = (*types[:n], *items, *types[middle:])
        must_be(stage, where, "inputs of the body", iteration, tuple(x.type for x in body.inputs))
        must_be(stage, where, "states after an iteration", types[:n], body.types[:n])
        if cond is not None:
            asked = (*types[:n], *types[middle:])
            must_be(stage, where, "inputs of the test", asked, tuple(x.type for x in cond.inputs))
            must_be(stage, where, "the test's type", (ArrayType((), np.dtype(bool)),), cond.types)
    elif "branches" in given:
        for branch in given["branches"]:
            found = tuple(x.type for x in branch.inputs)
            must_be(stage, where, "inputs of a branch", types[1:], found)
            must_be(stage, where, "outputs of a branch", given["branches"][0].types, branch.types)
    elif "body" in given and "kept" in given:
        found = tuple(x.type for x in given["body"].inputs)
        must_be(stage, where, "inputs of the body", types, found)


# -- expressions ---------------------------------------------------------------------------------
def check_expressions(
    roots: Iterable[Expr], inputs: Iterable[Expr], stage: str = "expressions"
) -> None:
    """Types follow from rules, keys from content, variables are among the inputs, bodies are closed."""
    work = [(stage, tuple(roots), tuple(inputs))]
    checked: set[Body] = set()
    while work:
        name, outputs, variables = work.pop()
        for inner, body in check_graph(outputs, variables, name):
            if body not in checked:
                checked.add(body)
                work.append((inner, body.outputs, body.inputs))


def check_graph(
    roots: Iterable[Expr], inputs: Iterable[Expr], stage: str
) -> list[tuple[str, Body]]:
    """One graph, without its bodies, which are returned with the names of their places."""
    known = {x.key for x in inputs}
    done: set[int] = set()
    key_of: dict[Any, Key] = {}
    content_of: dict[Key, Any] = {}
    bodies: list[tuple[str, Body]] = []
    for number, expr in enumerate(subexpressions(*roots)):
        where = f"node {number} ({expr.op.name})"
        ready = all(id(arg) in done for arg in expr.args)
        must(stage, where, ready, "operands before their users", "one that comes later")
        done.add(id(expr))
        types = tuple(arg.type for arg in expr.args)
        if expr.op is INPUT:
            must(stage, where, expr.key in known, "a declared input", expr.params[0][1])
        elif expr.op is CONSTANT:
            check_constant(stage, where, expr.params[0][1], expr.type)
        else:
            rule = type_by_rule(stage, where, expr.op, types, expr.params)
            must_be(stage, where, "type", rule, expr.type)
            check_wiring(stage, where, types, expr.params)
        keys = tuple(arg.key for arg in expr.args)
        must_be(stage, where, "key", address(expr.op, keys, expr.params, expr.type), expr.key)
        content = (expr.op, keys, expr.params, expr.type)
        must_be(
            stage, where, "one key for equal nodes,", key_of.setdefault(content, expr.key), expr.key
        )
        must(
            stage,
            where,
            content_of.setdefault(expr.key, content) == content,
            "a key of its own",
            expr.key,
        )
        bodies += [(f"{stage}, body of {where}", body) for body in bodies_of(expr.params)]
    return bodies


def check_types(before: Sequence[Expr], after: Sequence[Expr], stage: str) -> None:
    """A pass gives as many outputs as it got, of the same types, and adds no variable."""
    must_be(stage, "outputs", "as many as", len(before), len(after))
    for k, (old, new) in enumerate(zip(before, after, strict=True)):
        must_be(stage, f"output {k}", "type", old.type, new.type)
    asked = {e.key for e in subexpressions(*before) if e.op is INPUT}
    unknown = [
        e.params[0][1] for e in subexpressions(*after) if e.op is INPUT and e.key not in asked
    ]
    must(stage, "inputs", not unknown, "only variables from before", unknown)

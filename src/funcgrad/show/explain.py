"""A walk through forward and reverse accumulation, in words and numbers.

The nodes are called v0, v1, … in topological order; t stands for a tangent, z for a cotangent. What is
written is what `pushforward` and `backprop` do: each line is one step of theirs.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from funcgrad.expr import Expr, var
from funcgrad.graph import CONSTANT, INPUT, Key
from funcgrad.linear import LinearMap
from funcgrad.ops.op import differentiable, leaf
from funcgrad.program.evaluate import evaluate_all
from funcgrad.program.simplify import simplify
from funcgrad.show.rows import array_of, distinct, name_of, places
from funcgrad.show.text import ATOM, Written, number, short, text, write

MOST = 200
WIDEST = 40  # characters of a formula in a column


class Step(NamedTuple):
    """A node as it is told: its formula in v0, v1, …, and the formula of each pullback by parent."""

    expr: Expr
    formula: str
    pullbacks: tuple[tuple[int, int, str], ...]
    """Place of the parent, argument, and what its cotangent gains, in terms of this node's z."""


def explain(expr: Expr, values: Mapping[Any, Any] | None = None, /, **named: Any) -> str:
    """The steps of forward and of reverse accumulation through an expression, as text.

    Values are given as to `evaluate`. Forward, each node's value is computed from its parents', and,
    beside it, the tangent for a change of the first variable. In reverse, each node's cotangent is
    pulled back along the edges to its parents, where contributions are added; so the cotangent of a
    variable is the gradient in it. The cotangent of the root is 1.

    Raises ValueError for more than 200 nodes; TypeError for values that do not fit, for a root that is
    not a real number, and for what is no expression.

    >>> import funcgrad as fg
    >>> x, y = fg.var("x"), fg.var("y")
    >>> print(explain(fg.sin(x) * y, x=0.0, y=3.0))
    Forward accumulation: parents before children; t is the tangent for dx = 1.
      v0 = x        = 0,  t0 = 1
      v1 = sin(v0)  = 0,  t1 = 1
      v2 = y        = 3
      v3 = v1*v2    = 0,  t3 = 3
    Reverse accumulation: children before parents; z is the cotangent, z3 = 1.
      v3: z1 += z3*v2 = 3;  z2 += z3*v1 = 0
      v1: z0 += z1*cos(v0) = 3
    Gradient: df/dx = z0 = 3, df/dy = z2 = 0
    """
    nodes = distinct(expr, "explain", MOST, "explain a part of it, or use table")
    if expr.shape or not differentiable(expr.dtype) or expr.dtype.kind == "c":
        raise TypeError(
            f"explain: expected a real number as root, but got {expr.type}; sum it first"
        )
    known = evaluate_all(expr, values, **named)
    found = [known[e.key] for e in nodes]
    steps = tell(nodes)
    with np.errstate(all="ignore"):
        forward = _forward(steps, found)
        reverse, cotangents = _reverse(steps, found)
    slopes = [
        f"df/d{name_of(e)} = z{i} = {shown(cotangents[i])}"
        if i in cotangents
        else f"df/d{name_of(e)} = 0"
        for i, e in enumerate(nodes)
        if e.op is INPUT and differentiable(e.dtype)
    ]
    first = next((name_of(e) for e in nodes if e.op is INPUT and differentiable(e.dtype)), None)
    about = f"; t is the tangent for d{first} = 1" if first else ""
    last = len(nodes) - 1
    return "\n".join(
        [
            f"Forward accumulation: parents before children{about}.",
            *forward,
            f"Reverse accumulation: children before parents; z is the cotangent, z{last} = 1.",
            *reverse,
            f"Gradient: {', '.join(slopes) or 'there are no variables'}",
        ]
    )


def tell(nodes: list[Expr]) -> list[Step]:
    """Each node's formula and pullbacks, in terms of v0, v1, … and its own z."""
    place = places(nodes)
    taken = {name_of(e) for e in nodes if e.op is INPUT}
    steps = []
    for i, e in enumerate(nodes):
        parts = [Written(f"v{place[arg.key]}", ATOM) for arg in e.args]
        steps.append(Step(e, _formula(e, parts), tuple(_pullbacks(i, e, place, taken))))
    return steps


def _formula(expr: Expr, parts: list[Written]) -> str:
    if expr.op is CONSTANT:
        return number(array_of(expr)).text
    hidden = expr.op is not INPUT and getattr(expr.op, "hidden", False)
    if hidden and expr.op is not leaf:
        params = ", ".join(f"{key}={value}" for key, value in expr.params)
        return f"{expr.op.name}({parts[0].text}, {params})"
    return write(expr, parts).text


def edge_map(expr: Expr, at: int, z: Any, args: list[Any]) -> LinearMap | None:
    """The linear map from a node to one of its arguments; None where no derivative flows."""
    parent = expr.args[at]
    if expr.op in (INPUT, CONSTANT) or parent.op is CONSTANT or not differentiable(parent.dtype):
        return None
    rule = expr.op.edge(at) if differentiable(expr.dtype) else None
    if rule is None:
        return None
    linear: LinearMap = rule(z, *args, **dict(expr.params))
    return linear


def _pullbacks(i: int, e: Expr, place: dict[Key, int], taken: set[str]) -> Any:
    operands: list[Any] = [var(f"v{place[arg.key]}", arg.shape, arg.dtype) for arg in e.args]
    own = var(f"v{i}", e.shape, e.dtype)
    cotangent = var(f"z{i}", e.shape, e.dtype)
    for at, arg in enumerate(e.args):
        linear = edge_map(e, at, own, operands)
        if linear is not None:
            lines = text(simplify(linear.transpose(cotangent))).splitlines()
            formula = (
                lines[0] if len(lines) == 1 and len(lines[0]) <= WIDEST else f"pullback of z{i}"
            )
            yield place[arg.key], at, formula


def _forward(steps: list[Step], found: list[Any]) -> list[str]:
    place = places([step.expr for step in steps])
    tangents: dict[int, Any] = {}
    cells: list[tuple[str, str, str]] = []
    seeded = False
    for i, (e, formula, _) in enumerate(steps):
        if e.op is INPUT and differentiable(e.dtype) and not seeded:
            tangents[i], seeded = np.ones(e.shape, e.dtype)[()], True
        total = None
        for at, arg in enumerate(e.args):
            source = place[arg.key]
            if source in tangents:
                linear = edge_map(e, at, found[i], [found[place[a.key]] for a in e.args])
                if linear is not None:
                    term = linear.apply(tangents[source])
                    total = term if total is None else total + term
        if total is not None:
            tangents[i] = total
        tail = f",  t{i} = {shown(tangents[i])}" if i in tangents else ""
        cells.append((f"v{i} = {formula}", shown(found[i]), tail))
    width = min(max(len(left) for left, _, _ in cells), WIDEST)
    return [f"  {left:{width}}  = {value}{tail}" for left, value, tail in cells]


def _reverse(steps: list[Step], found: list[Any]) -> tuple[list[str], dict[int, Any]]:
    place = places([step.expr for step in steps])
    root = steps[-1].expr
    cotangents: dict[int, Any] = {len(steps) - 1: np.ones(root.shape, root.dtype)[()]}
    lines = []
    for i in range(len(steps) - 1, -1, -1):
        e, _, pullbacks = steps[i]
        if i not in cotangents or not pullbacks:
            continue
        gains = []
        operands = [found[place[arg.key]] for arg in e.args]
        for parent, at, formula in pullbacks:
            linear = edge_map(e, at, found[i], operands)
            if linear is None:
                continue
            term = linear.transpose(cotangents[i])
            cotangents[parent] = cotangents[parent] + term if parent in cotangents else term
            gains.append(f"z{parent} += {formula} = {shown(term)}")
        lines.append(f"  v{i}: {';  '.join(gains)}")
    return lines, cotangents


def shown(value: Any) -> str:
    """A value in few characters."""
    if np.ndim(value) == 0:
        return short(value)
    if np.size(value) > 6:
        return f"{np.asarray(value).dtype}{list(np.shape(value))}"
    return np.array2string(np.asarray(value), precision=4, separator=", ").replace("\n", "")

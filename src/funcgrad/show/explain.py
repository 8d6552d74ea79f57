"""Forward and reverse accumulation step by step, in words and numbers.

The nodes are named v0, v1, … in topological order; t is a tangent, z a cotangent. Each line is one step of
`pushforward` or `backprop`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from funcgrad.autodiff.accumulate import pulled_back
from funcgrad.control.closed_program import Body
from funcgrad.expr import Expr, const, symbol
from funcgrad.graph import CONSTANT, INPUT, Key
from funcgrad.linear import Joint, LinearMap, Parts
from funcgrad.ops.base.op import differentiable, leaf
from funcgrad.ops.shape import ones_like
from funcgrad.ops.tuples import pick_op, together_op
from funcgrad.printed_text import PrintedText, one_line
from funcgrad.rewrite.evaluate import evaluate_all
from funcgrad.rewrite.monomials import OTHER_NAMES, alphabetical, unbroadcast
from funcgrad.rewrite.simplify import simplify, simplify_all
from funcgrad.show.functions import Function, operands_written, way_back
from funcgrad.show.gradient_values import formula_values, gradient_values
from funcgrad.show.naming import array_of, check_values, distinct, name_of, places
from funcgrad.show.numbers import label
from funcgrad.show.program_at import program_at
from funcgrad.show.text import define, shown, write
from funcgrad.show.written import ATOM, Written
from funcgrad.source import type_error
from funcgrad.trace.run_formula import evaluate

_MOST_STEPS = 200
WIDEST_COLUMN = 40  # characters of a formula in a column


class Step(NamedTuple):
    """A node as it is explained: its formula in v0, v1, …, and the formula of each pullback by parent."""

    expr: Expr
    formula: str
    pullbacks: tuple[Pullback, ...]


class Pullback(NamedTuple):
    """What flows along an edge: to whose cotangent, along which argument, and a formula in this node's z."""

    parent: int
    at: int
    target: str
    formula: str
    slope: str = ""
    """Between scalars, the formula of the local derivative."""


def explain(f: Callable[..., Any] | Expr, /, *args: Any, **named: Any) -> PrintedText:
    """The steps of forward and of reverse accumulation through an expression or a
    function, as text.

    ``f`` is an expression, with the values of its variables by name or in a
    dict, or a function, with its arguments by position or by name. Forward,
    each node's value is computed from its parents', and, beside it, the
    tangent for a change of the first variable. In reverse, each node's
    cotangent is pulled back along the edges to its parents, where
    contributions are added; so the cotangent of a variable is the gradient in
    it. The cotangent of the root is 1. A loop, a branch or a call is one step;
    its value, tangent and cotangent are tuples, in which 0 stands for what
    nothing reaches.

    Raises ValueError for more than 200 nodes; TypeError for values that do not
    fit, for a root that is not a real number, and if ``f`` is neither.

    >>> import funcgrad as fg
    >>> x, y = fg.var("x"), fg.var("y")
    >>> explain(fg.sin(x) * y, x=0.0, y=3.0)
    Forward accumulation: parents before children; t is the tangent for dx = 1.
      v0 = x        = 0,  t0 = 1
      v1 = sin(v0)  = 0,  t1 = 1
      v2 = y        = 3
      v3 = v1*v2    = 0,  t3 = 3
    Reverse accumulation: children before parents; z is the cotangent, z3 = 1.
      v3: z1 += v2*z3 = 3;  z2 += v1*z3 = 0  (multiply swaps)
      v1: z0 += z1*cos(v0) = 3
    Gradient: df/dx = z0 = 3, df/dy = z2 = 0
    """
    values, nodes, found = nodes_and_values("explain", f, args, named)
    functions, defined = functions_of(nodes)
    steps = tell(nodes, functions)
    with np.errstate(all="ignore"):
        forward = _forward(steps, found)
        visited, cotangents = visits(steps, values)
        gradient = gradient_values(nodes[-1], values)
        slopes = [
            _slope(name_of(e), gradient[e.key], i, cotangents.get(i))
            for i, e in enumerate(nodes)
            if e.op is INPUT and differentiable(e.dtype)
        ]
    first = next((name_of(e) for e in nodes if e.op is INPUT and differentiable(e.dtype)), None)
    about = f"; t is the tangent for d{first} = 1" if first else ""
    last = len(nodes) - 1
    lines = [
        *(["Functions that are run in a step:"] if defined else []),
        *[f"  {line}" for line in defined],
        f"Forward accumulation: parents before children{about}.",
        *forward,
        f"Reverse accumulation: children before parents; z is the cotangent, z{last} = 1.",
        *_reverse(steps, visited),
        f"Gradient: {', '.join(slopes) or 'there are no variables'}",
    ]
    return PrintedText("\n".join(lines))


def nodes_and_values(
    who: str, f: Callable[..., Any] | Expr, args: Sequence[Any], named: Mapping[str, Any]
) -> tuple[Mapping[str, Any], list[Expr], list[Any]]:
    """The values of a program's variables, its nodes, of which the last one is a real number, and theirs."""
    root, values = program_at(who, f, args, named)
    nodes = distinct(root, who, _MOST_STEPS, "take a part of it, or use table")
    if root.shape or root.dtype.kind != "f":
        raise type_error(
            f"{who}: expected a real number as result, but got {root.type}; sum it first"
        )
    check_values(who, nodes, values, {})
    known = evaluate_all(root, values)
    return values, nodes, [known[e.key] for e in nodes]


def functions_of(
    nodes: list[Expr], roots: Sequence[Expr] | None = None
) -> tuple[Mapping[Body, Function], list[str]]:
    """The functions that nodes run and the lines that define them. The root is the last node by default."""
    taken = {name_of(e) for e in nodes if e.op is INPUT}
    taken |= {f"{letter}{i}" for letter in "tvz" for i in range(len(nodes))}
    functions, definitions, _ = define(nodes[-1:] if roots is None else roots, taken)
    lines = [f"{name} = {body}" for name, body in definitions]
    return functions, [line for whole in lines for line in whole.splitlines()]


def tell(
    nodes: list[Expr], functions: Mapping[Body, Function], names: StepNames | None = None
) -> list[Step]:
    """Each node's formula and pullbacks, in terms of v0, v1, … and its own z, or of other names."""
    place = places(nodes)
    names = names or numbered_names(len(nodes))
    texts: _EdgeTexts = {}
    steps = []
    for i, e in enumerate(nodes):
        parts = [Written(names.nodes[place[arg.key]], ATOM) for arg in operands_written(e)]
        formula = _formula(e, parts, functions)
        steps.append(Step(e, formula, tuple(_pullbacks(i, e, place, names, texts))))
    return steps


class StepNames(NamedTuple):
    """What the nodes and their cotangents are called in formulas."""

    nodes: Sequence[str]
    cotangents: Sequence[str]


def numbered_names(count: int) -> StepNames:
    """v0, v1, … and z0, z1, …"""
    return StepNames([f"v{i}" for i in range(count)], [f"z{i}" for i in range(count)])


def _formula(expr: Expr, parts: list[Written], functions: Mapping[Body, Function]) -> str:
    if expr.op is CONSTANT:
        return label(array_of(expr))
    if expr.op is pick_op:
        return f"{parts[0].text}[{dict(expr.params)['index']}]"
    hidden = expr.op is not INPUT and getattr(expr.op, "hidden", False)
    if hidden and expr.op is not leaf:
        params = ", ".join(f"{key}={value}" for key, value in expr.params)
        return f"{expr.op.name}({parts[0].text}, {params})"
    return write(expr, parts, functions).text


def edge_map(expr: Expr, at: int, z: object, args: list[Any]) -> LinearMap | None:
    """The linear map from a node to one of its arguments; None where no derivative flows."""
    if not _flows(expr, at):
        return None
    rule = expr.op.edge(at)
    if rule is None:
        return None
    linear: LinearMap = rule(z, *args, **dict(expr.params))
    return linear


def _flows(expr: Expr, at: int) -> bool:
    parent = expr.args[at]
    constant = expr.op in (INPUT, CONSTANT) or unbroadcast(parent).op is CONSTANT
    return not constant and differentiable(parent.dtype) and differentiable(expr.dtype)


def _pullbacks(
    i: int, e: Expr, place: dict[Key, int], names: StepNames, texts: _EdgeTexts
) -> Iterator[Pullback]:
    for at, arg in enumerate(e.args):
        if not _flows(e, at):
            continue
        parent = place[arg.key]
        if e.op.joint is not None:
            yield Pullback(parent, at, names.cotangents[parent], way_back(e))
        elif e.op is pick_op:
            index = dict(e.params)["index"]
            yield Pullback(parent, at, f"{names.cotangents[parent]}[{index}]", names.cotangents[i])
        elif e.op is together_op:
            yield Pullback(parent, at, names.cotangents[parent], f"{names.cotangents[i]}[{at}]")
        elif any([n < 0 for n in (*e.shape, *arg.shape)]):  # as many as a loop had iterations
            seed = names.cotangents[i]
            yield Pullback(parent, at, names.cotangents[parent], f"pullback of {seed}")
        else:
            written = [
                names.nodes[i],
                names.cotangents[i],
                *[names.nodes[place[a.key]] for a in e.args],
            ]
            if (text := _edge_text(e, at, written, texts)) is not None:
                yield Pullback(parent, at, names.cotangents[parent], *text)


_EdgeTexts: TypeAlias = dict[tuple[Hashable, ...], tuple[str, str] | None]
"""The formulas of edges with stand-ins for names, by operation, types and the order of the names."""
_STAND_IN = re.compile(r"\b_?q(\d+)\b")


def _edge_text(e: Expr, at: int, names: Sequence[str], texts: _EdgeTexts) -> tuple[str, str] | None:
    """The formulas of an edge's pullback and of its slope; None if nothing flows.

    ``names`` are those of the node, of its cotangent and of its operands. Edges that differ in names alone
    share the work: formulas are made with stand-ins, which have the order of the names.
    """
    found = sorted(set(names), key=lambda name: (alphabetical(name), name))
    stand_ins = [
        f"{'_' if alphabetical(name) == OTHER_NAMES else ''}q{found.index(name)}" for name in names
    ]
    numbers = [
        number if number.op is CONSTANT and not number.shape else None
        for number in map(unbroadcast, e.args)
    ]
    kinds = [
        arg.type if number is None else arg.key for arg, number in zip(e.args, numbers, strict=True)
    ]
    key = (e.op, e.params, e.type, at, *stand_ins, *kinds)
    if key not in texts:
        texts[key] = _edge_formulas(e, at, stand_ins)
    text = texts[key]
    if text is None:
        return None
    pulled, slope = [_STAND_IN.sub(lambda match: found[int(match[1])], line) for line in text]
    return _shortened(pulled, names[1]), _shortened(slope, "1")


def _edge_formulas(e: Expr, at: int, names: Sequence[str]) -> tuple[str, str] | None:
    """The formulas in full: of the pullback, and between scalars of the slope."""
    own = symbol(names[0], e.type)
    linear = edge_map(
        e, at, own, [_stand_in(name, arg) for name, arg in zip(names[2:], e.args, strict=True)]
    )
    if linear is None:
        return None
    is_scalar = not e.shape and not e.args[at].shape
    if e.dtype.kind == "O":  # a tuple, whose cotangent has those parts that a path reaches
        return f"pullback of {names[1]}", ""
    pulled = _pulled_text(symbol(names[1], e.type), linear)
    return pulled, _pulled_text(const(e.dtype.type(1)), linear) if is_scalar else ""


def _shortened(formula: str, seed: str) -> str:
    is_short = len(formula) <= WIDEST_COLUMN and "…" not in formula and "let " not in formula
    return formula if is_short else f"pullback of {seed}"


def _stand_in(name: str, expr: Expr) -> Any:
    number = unbroadcast(expr)
    if number.op is CONSTANT and not number.shape:
        return expr  # a number tells more than its name, as in 2*z*v
    return symbol(name, expr.type)


def _pulled_text(cotangent: Expr, linear: LinearMap) -> str:
    """The formula of the pullback of a cotangent."""
    pulled = linear.transpose(cotangent)
    simple = const(0.0) if pulled is None else simplify(pulled)
    return label(array_of(simple)) if simple.op is CONSTANT else one_line(simple)


# -- in numbers ----------------------------------------------------------------------------------
def _joint(expr: Expr, z: object, args: list[Any]) -> Joint:
    """The joint map of a node at numbers."""
    values = [_constant(arg) for arg in args]
    joint: Joint = expr.op.joint(_constant(z), *values, **dict(expr.params))
    return joint


def _constant(value: object) -> Any:
    if isinstance(value, tuple):
        return together_op(*[_constant(part) for part in value])
    if isinstance(value, Parts):
        return Parts({k: _constant(part) for k, part in value.of.items()})
    return const(value)


def _number(value: object) -> Any:
    if isinstance(value, Parts):
        return Parts({k: _number(part) for k, part in value.of.items()})
    return evaluate(value) if isinstance(value, Expr) else value


def _tangent(e: Expr, z: object, args: list[Any], flows: list[Any]) -> Any:
    """The tangent of a node from those of its operands, None where there is none."""
    moved = {at: v for at, v in enumerate(flows) if v is not None and _flows(e, at)}
    if e.op.joint is not None:
        given = {at: _constant(v) for at, v in moved.items()}
        return _number(_joint(e, z, args).forward(given)) if moved else None
    total = None
    for at, v in moved.items():
        linear = edge_map(e, at, z, args)
        term = None if linear is None else linear.apply(v)
        total = term if total is None else total if term is None else total + term
    return _number(total)


def _contributions(step: Step, cotangent: Any) -> dict[int, Any]:
    """What each argument's cotangent gains from a node's, as formulas."""
    e = step.expr
    if e.op.joint is not None:
        joint: Joint = e.op.joint(e, *e.args, **dict(e.params))
        return dict(joint.backward(cotangent))
    gains = {}
    for pullback in step.pullbacks:
        linear = edge_map(e, pullback.at, e, list(e.args))
        term = None if linear is None else pulled_back(cotangent, linear)
        if term is not None:
            gains[pullback.at] = term
    return gains


def _forward(steps: list[Step], found: list[Any]) -> list[str]:
    place = places([step.expr for step in steps])
    tangents: dict[int, Any] = {}
    cells: list[tuple[str, str, str]] = []
    seeded = False
    for i, (e, formula, _) in enumerate(steps):
        sources = [place[arg.key] for arg in e.args]
        if e.op is INPUT and differentiable(e.dtype) and not seeded:
            tangents[i], seeded = np.ones(e.shape, e.dtype)[()], True
        elif sources:
            args, flows = [found[k] for k in sources], [tangents.get(k) for k in sources]
            total = _tangent(e, found[i], args, flows)
            if total is not None:
                tangents[i] = total
        tail = f",  t{i} = {value_text(tangents[i], e)}" if i in tangents else ""
        cells.append((f"v{i} = {formula}", shown(found[i]), tail))
    width = min(max(len(left) for left, _, _ in cells), WIDEST_COLUMN)
    return [f"  {left:{width}}  = {value}{tail}" for left, value, tail in cells]


class Share(NamedTuple):
    """What a visit hands to an operand: the pullback, its value as text, and the total if it is a sum."""

    pullback: Pullback
    value: str
    total: str | None


class Visit(NamedTuple):
    """The visit of a node in reverse: its place, its cotangent, and its operands' shares."""

    place: int
    cotangent: Any
    shares: list[Share]


class _Flow(NamedTuple):
    """A visit in formulas: the cotangent, and the operands' shares with the totals where they are sums."""

    place: int
    cotangent: Any
    shares: list[tuple[Pullback, Any, Any]]


def visits(steps: list[Step], values: Mapping[Any, Any]) -> tuple[list[Visit], dict[int, Any]]:
    """Reverse accumulation in numbers: the visits in order, and the cotangents by place.

    Cotangents are accumulated as formulas and simplified before they are computed, as `grad` does: what a
    condition does not select is not multiplied by a factor that may be infinite.
    """
    flows, cotangents = _flows_of(steps)
    shown_ones = [item for flow in flows for _, *pair in flow.shares for item in pair]
    number = _numbers(steps[-1].expr, [*shown_ones, *cotangents.values()], values)
    visited = []
    for i, cotangent, given in flows:
        e = steps[i].expr
        shares = []
        for pullback, term, total in given:
            parent = steps[pullback.parent].expr
            own = term.of[dict(e.params)["index"]] if e.op is pick_op else term
            text = None if total is None else value_text(number(total), parent)
            shares.append(Share(pullback, value_text(number(own), parent), text))
        visited.append(Visit(i, number(cotangent), shares))
    return visited, {i: number(cotangent) for i, cotangent in cotangents.items()}


def _flows_of(steps: list[Step]) -> tuple[list[_Flow], dict[int, Any]]:
    root = steps[-1].expr
    cotangents: dict[int, Any] = {len(steps) - 1: ones_like(root)}
    flows = []
    for i in range(len(steps) - 1, -1, -1):
        if i not in cotangents or not steps[i].pullbacks:
            continue
        terms = _contributions(steps[i], cotangents[i])
        shares = []
        for pullback in steps[i].pullbacks:
            if pullback.at not in terms:
                continue
            term, parent = terms[pullback.at], pullback.parent
            total = cotangents[parent] + term if parent in cotangents else None
            cotangents[parent] = term if total is None else total
            shares.append((pullback, term, total))
        if shares:
            flows.append(_Flow(i, cotangents[i], shares))
    return flows, cotangents


def _numbers(root: Expr, items: list[Any], values: Mapping[Any, Any]) -> Callable[[Any], Any]:
    """The number of each item, a formula, `Parts` of them or None, given values of the root's variables."""
    parts = [list(item.of.values()) if isinstance(item, Parts) else [item] for item in items]
    formulas = [formula for part in parts for formula in part if formula is not None]
    found = formula_values(root, simplify_all(formulas, mode="derivative"), values)
    known = {id(formula): value for formula, value in zip(formulas, found, strict=True)}

    def number(formula: Any) -> Any:
        if isinstance(formula, Parts):
            return Parts({k: number(part) for k, part in formula.of.items()})
        return known[id(formula)]

    return number


def _reverse(steps: list[Step], visited: list[Visit]) -> list[str]:
    lines = []
    for i, _, shares in visited:
        gains = [f"{p.target} += {p.formula} = {value}" for p, value, _ in shares]
        lines.append(f"  v{i}: {';  '.join(gains)}{in_words(steps[i].expr, '  ')}")
    return lines


def _slope(name: str, gradient: Any, place: int, cotangent: Any) -> str:
    """The gradient in a variable: its cotangent, unless the simplified program has another number."""
    if cotangent is None:
        return f"df/d{name} = {shown(gradient)}"
    if np.allclose(gradient, cotangent, rtol=1e-6, equal_nan=True):
        return f"df/d{name} = z{place} = {shown(gradient)}"
    told = f"df/d{name} = {shown(gradient)} by stable formulas"
    return f"{told} (z{place} = {shown(cotangent)})"


def in_words(expr: Expr, space: str = " ") -> str:
    """How a gradient goes through a node, as a teacher says it, in brackets; empty for most operations."""
    said = expr.op.columns.in_words
    return f"{space}({said})" if said else ""


def value_text(value: Any, expr: Expr) -> str:
    """A tangent or cotangent of a node in few characters: of a tuple, part by part."""
    if isinstance(value, Parts):
        count = len(expr.type.parts)  # type: ignore[attr-defined]
        return shown(tuple([value.of.get(k, 0.0) for k in range(count)]))
    return shown(value)

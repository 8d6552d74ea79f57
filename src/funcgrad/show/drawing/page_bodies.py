"""The bodies of loops, branches and calls in the explorer: a group each, to which its users point.

A body's nodes have formulas and linear maps but no values, since these differ from one run to the next.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from funcgrad.control.closed_program import Body
from funcgrad.expr import Expr, by_key
from funcgrad.graph import CONSTANT, INPUT, Key
from funcgrad.show.drawing.group_tree import group_tree
from funcgrad.show.explain import Pullback, Step, StepNames, tell
from funcgrad.show.functions import Function, held
from funcgrad.show.naming import array_of, places, printable
from funcgrad.show.numbers import label
from funcgrad.source import position

MOST_BODY_NODES = 3000  # of all bodies of a pane together; further bodies are defined in text alone


def add_bodies(
    nodes: list[dict[str, Any]],
    groups: list[dict[str, Any]],
    exprs: Sequence[Expr],
    functions: Mapping[Body, Function],
) -> None:
    """Append each body's nodes and groups to those of a pane; ``runs`` of a node are its bodies' groups."""
    runners = list(enumerate(exprs))
    group_of: dict[Body, int] = {}
    left = MOST_BODY_NODES
    for body, function in functions.items():
        inside = list(by_key(*body.outputs).values())
        left -= len(inside)
        if left < 0 or not inside:
            continue
        group_of[body] = len(groups)
        runners += enumerate(inside, len(nodes))
        tree = group_tree(inside)
        first, offset = len(groups), len(nodes)
        nodes += [
            found | {"group": first + 1 + group}
            for found, group in zip(
                _body_nodes(body, function, inside, functions, offset), tree.of_node, strict=True
            )
        ]
        groups.append({"title": printable(function.head), "parent": -1})
        groups += [
            {"title": printable(title), "parent": first + 1 + at} for title, at in tree.groups
        ]
    for i, e in runners:
        found = dict.fromkeys([group_of[item.body] for item in held(e) if item.body in group_of])
        if found:
            nodes[i]["runs"] = list(found)


def _body_nodes(
    body: Body,
    function: Function,
    inside: list[Expr],
    functions: Mapping[Body, Function],
    offset: int,
) -> list[dict[str, Any]]:
    constants = constant_names(inside)
    given = {x.key: name for x, name in zip(body.inputs, function.inputs, strict=True)}
    names = [
        constants.get(e.key) or given.get(e.key) or f"{function.name}.v{i}"
        for i, e in enumerate(inside)
    ]
    place = places(inside)
    told = tell(inside, functions, StepNames(names, ["g"] * len(inside)))
    return [
        {
            **node_text(step, name, constants),
            "formula": name if step.expr.op is INPUT else printable(step.formula),
            "inside": True,
            "value": -1,
            "operands": [offset + place[arg.key] for arg in step.expr.args],
            "maps": [map_text(pullback) for pullback in step.pullbacks],
        }
        for step, name in zip(told, names, strict=True)
    ]


# -- of nodes in bodies and outside of them --------------------------------------------------------
def node_text(step: Step, name: str, constants: Mapping[Key, str]) -> dict[str, Any]:
    """A node's name, formula, type, source line and kind."""
    e = step.expr
    is_number = e.key in constants
    return {
        "name": name,
        "formula": printable(step.formula),
        "type": str(e.type),
        "source": printable(position(e.source)),
        "kind": "input" if e.op is INPUT else "constant" if e.op is CONSTANT or is_number else "op",
        "is_number": is_number,
    }


def map_text(pullback: Pullback) -> dict[str, Any]:
    """The formulas of an edge's linear map."""
    found: dict[str, Any] = {"operand": pullback.at, "pullback": printable(pullback.formula)}
    return found | ({"slope": printable(pullback.slope)} if pullback.slope else {})


def constant_names(nodes: Sequence[Expr]) -> dict[Key, str]:
    """The nodes that are numbers to a reader, broadcast and cast ones too, with their texts."""
    found: dict[Key, str] = {}
    for e in nodes:
        if name := _constant_name(e, found):
            found[e.key] = name
    return found


def _constant_name(expr: Expr, constants: Mapping[Key, str]) -> str:
    if expr.op is CONSTANT:
        return "" if expr.shape or expr.label else label(array_of(expr))
    is_shown = expr.op is INPUT or expr.label or not expr.op.hidden or len(expr.args) != 1
    return "" if is_shown else constants.get(expr.args[0].key, "")

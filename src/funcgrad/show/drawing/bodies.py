"""Bodies of loops, branches and calls in drawings: each body is drawn once, with a name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from funcgrad.control.closed_program import Body
from funcgrad.expr import Expr, by_key, subexpressions
from funcgrad.graph import Key
from funcgrad.show.drawing.labels import Face, cut_label, face
from funcgrad.show.functions import Function, held_within, named, variable_names
from funcgrad.source import value_error


class Inside(NamedTuple):
    """A body as it is drawn: its name, itself and its nodes."""

    function: Function
    body: Body
    nodes: list[Expr]

    @property
    def names(self) -> dict[Key, str]:
        """The names of the body's inputs, as its head has them."""
        return {x.key: name for x, name in zip(self.body.inputs, self.function.inputs, strict=True)}


def bodies_inside(
    root: Expr, who: str, limit: int, used: int
) -> tuple[Mapping[Body, Function], list[Inside]]:
    """The names of the bodies below a root, and each of them, those within others first.

    Raises ValueError if they and the ``used`` nodes outside are more than ``limit``.
    """
    items = held_within([root])
    functions = named(items, variable_names(subexpressions(root)))
    found = []
    left = limit - used
    for item in items:
        nodes = list(by_key(*item.body.outputs).values())
        left -= len(nodes)
        if left < 0:
            raise value_error(
                f"{who}: expected at most {limit} nodes, those that loops, branches and calls run "
                "included, but got more; draw a part of it",
            )
        found.append(Inside(functions[item.body], item.body, nodes))
    return functions, found


def named_face(expr: Expr, functions: Mapping[Body, Function], names: Mapping[Key, str]) -> Face:
    """The face of a node; an input of a body has the name that the body's head gives it."""
    plain, name = face(expr, functions), names.get(expr.key)
    return plain if name is None else Face(plain.kind, (cut_label(name), *plain.lines[1:]))

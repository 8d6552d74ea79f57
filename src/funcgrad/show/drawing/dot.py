"""A program in the DOT language, for Graphviz.

The text is a function of the program alone: nodes are numbered in canonical order, and no order is taken
from a map, so that the same program is drawn the same way on every run.
"""

from __future__ import annotations

from collections.abc import Mapping

from funcgrad.control.closed_program import Body
from funcgrad.expr import Expr
from funcgrad.graph import Key
from funcgrad.printed_text import PrintedText
from funcgrad.show.drawing.annotations import cotangent_labels
from funcgrad.show.drawing.bodies import bodies_inside, named_face
from funcgrad.show.drawing.labels import cut_label
from funcgrad.show.functions import Function
from funcgrad.show.naming import distinct, places
from funcgrad.source import type_error

MOST_DOT = 100_000  # nodes; Graphviz itself gives up long before
MOST_COTANGENTS = 300  # nodes whose cotangents are written

_SHAPES = {"input": "ellipse", "constant": "plain", "op": "box"}


def to_dot(expr: Expr, gradient: bool = False) -> PrintedText:
    """The graph in the DOT language: inputs, constants and operations, with their
    shapes.

    Edges go from operand to operation; where the order of operands matters to
    a reader, two or more, they are numbered. What a loop, a branch or a call
    runs is drawn by itself, once, in a box with the name that the node says.
    With ``gradient``, each node also says its cotangent, the formula of the
    derivative of the root in it, and dashed edges show where cotangents flow.

    Raises ValueError for more than 100000 nodes, TypeError for what is no
    expression, and for a ``gradient`` that is no bool.

    >>> import funcgrad as fg
    >>> x = fg.var("x")
    >>> print(to_dot(x * 2))
    digraph {
      rankdir=TB
      node [fontname="sans-serif"]
      n0 [label="x\\nfloat64", shape=ellipse]
      n1 [label="2\\nfloat64", shape=plain]
      n2 [label="*\\nfloat64", shape=box]
      n0 -> n2 [label="0"]
      n1 -> n2 [label="1"]
    }
    """
    if isinstance(expr, Expr) and not isinstance(gradient, bool):
        raise type_error(
            f"to_dot: expected a bool for gradient, but got {type(gradient).__name__}; "
            "write to_dot(e), or to_svg(e, x=2.0) for a picture with values",
        )
    most = MOST_COTANGENTS if gradient else MOST_DOT
    nodes = distinct(expr, "to_dot", most, "draw a part of it")
    functions, bodies = bodies_inside(nodes[-1], "to_dot", most, len(nodes))
    slopes = cotangent_labels(nodes) if gradient else [""] * len(nodes)
    lines = ["digraph {", "  rankdir=TB", '  node [fontname="sans-serif"]']
    lines += _dot_nodes("n", nodes, slopes, functions, {})
    for k, inside in enumerate(bodies):
        own, body, inner = inside
        lines += [f"  subgraph cluster_{k} {{", f'    label="{_dot_escape(cut_label(own.head))}"']
        lines += [
            f"  {line}" for line in _dot_nodes(f"b{k}_", inner, None, functions, inside.names)
        ]
        place = places(inner)
        for at, out in enumerate(body.outputs):
            lines.append(f'    b{k}_out{at} [label="{at}", shape=circle]')
            lines.append(f"    b{k}_{place[out.key]} -> b{k}_out{at}")
        lines.append("  }")
    place = places(nodes)
    for i, e in enumerate(nodes):
        for parent in dict.fromkeys(place[arg.key] for arg in e.args):
            if slopes[i] and slopes[parent]:
                lines.append(f"  n{i} -> n{parent} [style=dashed, constraint=false]")
    return PrintedText("\n".join([*lines, "}"]))


def _dot_nodes(
    stem: str,
    nodes: list[Expr],
    slopes: list[str] | None,
    functions: Mapping[Body, Function],
    names: Mapping[Key, str],
) -> list[str]:
    """The lines of nodes and of the edges between them; ``names`` are those of a body's inputs."""
    place = places(nodes)
    lines = []
    for i, e in enumerate(nodes):
        kind, written = named_face(e, functions, names)
        shown = (*written, f"cotangent {cut_label(slopes[i])}") if slopes and slopes[i] else written
        label = "\\n".join(map(_dot_escape, shown))
        lines.append(f'  {stem}{i} [label="{label}", shape={_SHAPES[kind]}]')
    for i, e in enumerate(nodes):
        for at, arg in enumerate(e.args):
            label = f' [label="{at}"]' if len(e.args) > 1 else ""
            lines.append(f"  {stem}{place[arg.key]} -> {stem}{i}{label}")
    return lines


def _dot_escape(line: str) -> str:
    # Graphviz replaces HTML's entities, too, in a quoted string.
    return line.replace("\\", "\\\\").replace('"', '\\"').replace("&", "&amp;")

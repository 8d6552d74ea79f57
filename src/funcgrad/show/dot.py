"""A program as a drawing: DOT for Graphviz, and an SVG that needs nothing but this module's layout.

Both are functions of the program alone: nodes are numbered in canonical order, and no order is taken
from a map, so that the same program is drawn the same way on every run.
"""

from __future__ import annotations

import html
from typing import NamedTuple

from funcgrad.expr import Expr
from funcgrad.graph import CONSTANT, INPUT
from funcgrad.ops.op import Op, differentiable
from funcgrad.program.simplify import simplify_all
from funcgrad.show.layout import Layout, arrange
from funcgrad.show.rows import array_of, distinct, name_of, places, printable
from funcgrad.show.text import number, text
from funcgrad.transforms.accumulate import backprop

MOST_DOT = 100_000  # nodes; Graphviz itself gives up long before
MOST_SVG = 300
WIDEST = 30  # characters of a line in a node


class Face(NamedTuple):
    """How a node is drawn: its kind (``input``, ``constant`` or ``op``) and its lines."""

    kind: str
    lines: tuple[str, ...]


def face(expr: Expr) -> Face:
    """The kind of a node and the lines written in it: name or operation, params, type."""
    if expr.op is INPUT:
        return Face("input", (_cut(name_of(expr)), str(expr.type)))
    if expr.op is CONSTANT:
        return Face("constant", (_cut(number(array_of(expr)).text), str(expr.type)))
    operation: Op = expr.op
    symbol = operation.infix.symbol if operation.infix else operation.name
    params = ", ".join(f"{key}={value}" for key, value in expr.params if key != "scope")
    lines = (symbol, _cut(params), str(expr.type)) if params else (symbol, str(expr.type))
    return Face("op", lines)


def _cut(line: str) -> str:
    plain = printable(line).replace("\n", " ")
    return plain if len(plain) <= WIDEST else plain[: WIDEST - 1] + "…"


# -- DOT -----------------------------------------------------------------------------------------
_SHAPES = {"input": "ellipse", "constant": "plain", "op": "box"}


def to_dot(expr: Expr, gradient: bool = False) -> str:
    """The graph in the DOT language: inputs, constants and operations, with their shapes.

    Edges go from operand to operation; where the order of operands matters to a reader, two or more,
    they are numbered. With ``gradient``, each node also says its cotangent, the formula of the
    derivative of the root in it, and dashed edges show where cotangents flow.

    Raises ValueError for more than 100000 nodes, TypeError for what is no expression.

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
    most = MOST_SVG if gradient else MOST_DOT
    nodes = distinct(expr, "to_dot", most, "draw a part of it")
    place = places(nodes)
    slopes = cotangents(expr, nodes) if gradient else [""] * len(nodes)
    lines = ["digraph {", "  rankdir=TB", '  node [fontname="sans-serif"]']
    for i, e in enumerate(nodes):
        kind, written = face(e)
        shown = (*written, f"cotangent {_cut(slopes[i])}") if slopes[i] else written
        label = "\\n".join(map(_dot_escape, shown))
        lines.append(f'  n{i} [label="{label}", shape={_SHAPES[kind]}]')
    for i, e in enumerate(nodes):
        for at, arg in enumerate(e.args):
            label = f' [label="{at}"]' if len(e.args) > 1 else ""
            lines.append(f"  n{place[arg.key]} -> n{i}{label}")
    for i, e in enumerate(nodes):
        for parent in dict.fromkeys(place[arg.key] for arg in e.args):
            if slopes[i] and slopes[parent]:
                lines.append(f"  n{i} -> n{parent} [style=dashed, constraint=false]")
    return "\n".join([*lines, "}"])


def cotangents(expr: Expr, nodes: list[Expr]) -> list[str]:
    """The formula of each node's cotangent, seeded with 1; empty where none arrives."""
    if not differentiable(expr.dtype):
        return [""] * len(nodes)
    found = backprop(expr).map
    reached = [e.key for e in nodes if e.key in found]
    simple = dict(zip(reached, simplify_all([found[key] for key in reached]), strict=True))
    return [_last_line(simple[e.key]) if e.key in simple else "" for e in nodes]


def _last_line(expr: Expr) -> str:
    lines = text(expr).splitlines()
    return lines[0] if len(lines) == 1 else "…"


def _dot_escape(line: str) -> str:
    # Graphviz replaces HTML's entities, too, in a quoted string.
    return line.replace("\\", "\\\\").replace('"', '\\"').replace("&", "&amp;")


# -- SVG -----------------------------------------------------------------------------------------
_STYLE = """\
.fg-node rect,.fg-node ellipse{stroke:#5f6b7a;stroke-width:1.2}
.fg-input ellipse{fill:#cfe8ff}.fg-constant rect{fill:#eceff1}.fg-op rect{fill:#fff3d6}
.fg-root rect,.fg-root ellipse{stroke-width:3}
.fg-node text{fill:#14181d;font:13px sans-serif;text-anchor:middle}
.fg-node .fg-type{font-size:10px}
.fg-edge{fill:none;stroke:#7d8590;stroke-width:1.4}
.fg-tip{fill:#7d8590}"""


def to_svg(expr: Expr) -> str:
    """The graph as an SVG picture, operands above, the root below, for a notebook or a page.

    It is laid out here, without Graphviz; has a title and a description for those who do not see it;
    and its colors are readable on light and on dark.

    Raises ValueError for more than 300 nodes, TypeError for what is no expression.

    >>> import funcgrad as fg
    >>> x = fg.var("x")
    >>> to_svg(fg.sin(x) * x).splitlines()[1:3]
    ['<title>sin(x)*x</title>', '<desc>Expression graph of 3 nodes: n0 input x, float64; n1 sin of n0,
    float64; n2 * of n1, n0, float64.</desc>']
    """
    nodes = distinct(expr, "to_svg", MOST_SVG, "draw a part of it, or use to_dot with Graphviz")
    return draw(nodes)


def draw(nodes: list[Expr]) -> str:
    """The SVG of nodes in canonical order; the group of each has the class ``fg-n0``, ``fg-n1``, …"""
    place = places(nodes)
    faces = [face(e) for e in nodes]
    parents = [tuple([place[arg.key] for arg in e.args]) for e in nodes]
    sizes = [(_width(f), 22.0 + 14.0 * (len(f.lines) - 1)) for f in faces]
    plan = arrange(parents, sizes)
    title = _cut(_last_line(nodes[-1]))
    body = [*_edges(plan), *[_group(i, faces, plan, sizes) for i in range(len(nodes))]]
    return "\n".join(
        [
            '<svg xmlns="http://www.w3.org/2000/svg" role="img" class="fg-graph" '
            f'viewBox="0 0 {plan.width:.0f} {plan.height:.0f}" width="{plan.width:.0f}" '
            f'height="{plan.height:.0f}" style="max-width:100%;height:auto">',
            f"<title>{_escape(title)}</title>",
            f"<desc>{_escape(_description(faces, parents))}</desc>",
            f"<style>{_STYLE}</style>",
            *body,
            "</svg>",
        ]
    )


def _width(face: Face) -> float:
    # A wide character takes two places in most fonts.
    widest = max(sum(2 if ord(c) > 0x2E7F else 1 for c in line) for line in face.lines)
    return max(46.0, 7.4 * widest + 18.0)


def _edges(plan: Layout) -> list[str]:
    written = []
    for points in plan.routes:
        (x, y), *rest = points
        path = [f"M{x:.1f} {y:.1f}"]
        for a, b in rest:
            middle = (y + b) / 2
            path.append(f"C{x:.1f} {middle:.1f} {a:.1f} {middle:.1f} {a:.1f} {b:.1f}")
            x, y = a, b
        written.append(f'<path class="fg-edge" d="{"".join(path)}"/>')
        written.append(
            f'<path class="fg-tip" d="M{x - 4:.1f} {y - 7:.1f}L{x + 4:.1f} {y - 7:.1f}L{x:.1f} {y:.1f}Z"/>'
        )
    return written


def _group(i: int, faces: list[Face], plan: Layout, sizes: list[tuple[float, float]]) -> str:
    (x, y), (width, height) = plan.centers[i], sizes[i]
    kind, lines = faces[i]
    root = " fg-root" if i == len(faces) - 1 else ""
    if kind == "input":
        outline = (
            f'<ellipse cx="{x:.1f}" cy="{y:.1f}" rx="{width / 2:.1f}" ry="{height / 2 + 3:.1f}"/>'
        )
    else:
        outline = (
            f'<rect x="{x - width / 2:.1f}" y="{y - height / 2:.1f}" width="{width:.1f}" '
            f'height="{height:.1f}" rx="5"/>'
        )
    top = y - height / 2 + 15
    styles = ["", *[' class="fg-type"'] * (len(lines) - 1)]
    texts = [
        f'<text x="{x:.1f}" y="{top + 14 * k:.1f}"{style}>{_escape(line)}</text>'
        for k, (line, style) in enumerate(zip(lines, styles, strict=True))
    ]
    return f'<g class="fg-node fg-{kind} fg-n{i}{root}">{outline}{"".join(texts)}</g>'


def _description(faces: list[Face], parents: list[tuple[int, ...]]) -> str:
    parts = []
    for i, ((kind, lines), of) in enumerate(zip(faces, parents, strict=True)):
        what = f"{kind} {lines[0]}" if kind != "op" else lines[0]
        operands = " of " + ", ".join(f"n{k}" for k in of) if of else ""
        parts.append(f"n{i} {what}{operands}, {lines[-1]}")
    return f"Expression graph of {len(faces)} nodes: {'; '.join(parts)}."


def _escape(line: str) -> str:
    return html.escape(line, quote=True)

"""A program as a drawing: DOT for Graphviz, and an SVG that needs nothing but this module's layout.

Both are functions of the program alone: nodes are numbered in canonical order, and no order is taken
from a map, so that the same program is drawn the same way on every run.
"""

from __future__ import annotations

import html
from collections.abc import Iterator, Mapping
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

from funcgrad.autodiff.accumulate import backprop
from funcgrad.control.closed_program import Body
from funcgrad.expr import Expr, by_key, subexpressions
from funcgrad.graph import Key
from funcgrad.linear import Parts
from funcgrad.ops.base.op import differentiable
from funcgrad.printed_text import PrintedText
from funcgrad.rewrite.simplify import simplify_all
from funcgrad.show.drawing.labels import Face, cut_label, face
from funcgrad.show.drawing.layered_layout import Layout, Point, arrange
from funcgrad.show.functions import Function, held_within, named, variable_names
from funcgrad.show.naming import distinct, places
from funcgrad.show.text import text

MOST_DOT = 100_000  # nodes; Graphviz itself gives up long before
MOST_SVG = 300
HEAD = 26.0  # the room for the name of a body above its nodes

# -- DOT -----------------------------------------------------------------------------------------
_SHAPES = {"input": "ellipse", "constant": "plain", "op": "box"}


def to_dot(expr: Expr, gradient: bool = False) -> PrintedText:
    """The graph in the DOT language: inputs, constants and operations, with their shapes.

    Edges go from operand to operation; where the order of operands matters to a reader, two or more,
    they are numbered. What a loop, a branch or a call runs is drawn by itself, once, in a box with the name
    that the node says. With ``gradient``, each node also says its cotangent, the formula of the
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
    functions, bodies = _inside(nodes[-1], "to_dot", most, len(nodes))
    slopes = cotangent_labels(expr, nodes) if gradient else [""] * len(nodes)
    lines = ["digraph {", "  rankdir=TB", '  node [fontname="sans-serif"]']
    lines += _dot_nodes("n", nodes, slopes, functions, {})
    for k, (own, body, inner) in enumerate(bodies):
        shown = {x.key: name for x, name in zip(body.inputs, own.inputs, strict=True)}
        lines += [f"  subgraph cluster_{k} {{", f'    label="{_dot_escape(cut_label(own.head))}"']
        lines += [f"  {line}" for line in _dot_nodes(f"b{k}_", inner, None, functions, shown)]
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
        kind, written = _renamed(face(e, functions), names.get(e.key))
        shown = (*written, f"cotangent {cut_label(slopes[i])}") if slopes and slopes[i] else written
        label = "\\n".join(map(_dot_escape, shown))
        lines.append(f'  {stem}{i} [label="{label}", shape={_SHAPES[kind]}]')
    for i, e in enumerate(nodes):
        for at, arg in enumerate(e.args):
            label = f' [label="{at}"]' if len(e.args) > 1 else ""
            lines.append(f"  {stem}{place[arg.key]} -> {stem}{i}{label}")
    return lines


def _renamed(face: Face, name: str | None) -> Face:
    return face if name is None else Face(face.kind, (cut_label(name), *face.lines[1:]))


class Inside(NamedTuple):
    """A body as it is drawn: its name, itself and its nodes."""

    function: Function
    body: Body
    nodes: list[Expr]


def _inside(
    root: Expr, who: str, limit: int, used: int
) -> tuple[Mapping[Body, Function], list[Inside]]:
    """The names of the bodies below a root, and each of them, those within others first."""
    items = held_within([root])
    functions = named(items, variable_names(subexpressions(root)))
    found = []
    left = limit - used
    for item in items:
        nodes = list(by_key(*item.body.outputs).values())
        left -= len(nodes)
        if left < 0:
            raise ValueError(
                f"{who}: expected at most {limit} nodes, those that loops, branches and calls run "
                "included, but got more; draw a part of it"
            )
        found.append(Inside(functions[item.body], item.body, nodes))
    return functions, found


def cotangent_labels(expr: Expr, nodes: list[Expr]) -> list[str]:
    """The formula of each node's cotangent, seeded with 1; empty where none arrives."""
    if not differentiable(expr.dtype):
        return [""] * len(nodes)
    found = backprop(expr).map
    flat: list[Any] = []
    for e in nodes:
        z = found.get(e.key)
        flat.extend(z.of.values() if isinstance(z, Parts) else [] if z is None else [z])
    simple = iter([_last_line(e) for e in simplify_all(flat, mode="reading")])
    return [_cotangent(found.get(e.key), e, simple) for e in nodes]


def _cotangent(z: object, expr: Expr, texts: Iterator[str]) -> str:
    if z is None:
        return ""
    if not isinstance(z, Parts):
        return next(texts)
    parts = {k: next(texts) for k in z.of}
    count = len(expr.type.parts)  # type: ignore[attr-defined]
    return f"({', '.join([parts.get(k, '0') for k in range(count)])})"


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
.fg-tip{fill:#7d8590}
.fg-box{fill:none;stroke:#7d8590;stroke-dasharray:5 4}
.fg-head{fill:#7d8590;font:13px sans-serif}"""


class Picture(str):
    """The text of an SVG picture, which a notebook draws."""

    __slots__ = ()

    def _repr_svg_(self) -> str:
        return str(self)


def to_svg(expr: Expr, path: str | PathLike[str] | None = None, /) -> Picture:
    """The graph as an SVG picture, operands above, the root below, for a notebook or a page.

    It is a text, which a notebook draws; with ``path``, it is written to that file as well.

    It is laid out here, without Graphviz; has a title and a description for those who do not see it;
    and its colors are readable on light and on dark. What a loop, a branch or a call runs is drawn below,
    once, in a box with the name that the node says.

    Raises ValueError for more than 300 nodes, TypeError for what is no expression, OSError where the
    file cannot be written.

    >>> import funcgrad as fg
    >>> x = fg.var("x")
    >>> to_svg(fg.sin(x) * x).splitlines()[1:3]
    ['<title>sin(x)*x</title>', '<desc>Expression graph of 3 nodes: n0 input x, float64; n1 sin of n0,
    float64; n2 * of n1, n0, float64.</desc>']
    """
    nodes = distinct(expr, "to_svg", MOST_SVG, "draw a part of it, or use to_dot with Graphviz")
    picture = Picture(draw(nodes))
    if path is not None:
        Path(path).write_text(picture, encoding="utf-8")
    return picture


def draw(nodes: list[Expr], who: str = "to_svg") -> str:
    """The SVG of nodes in canonical order; the group of each has the class ``fg-n0``, ``fg-n1``, …"""
    functions, bodies = _inside(nodes[-1], who, MOST_SVG, len(nodes))
    main = _panel(nodes, [nodes[-1].key], functions, {}, "fg-n")
    panels = [_boxed(inside, functions) for inside in bodies]
    width = max([main.width, *[panel.width for panel in panels]])
    body, height = [*main.body], main.height
    for panel in panels:
        body += [f'<g transform="translate(0 {height:.0f})">', *panel.body, "</g>"]
        height += panel.height
    title = cut_label(_last_line(nodes[-1]))
    said = " ".join([main.description, *[panel.description for panel in panels]])
    return "\n".join(
        [
            '<svg xmlns="http://www.w3.org/2000/svg" role="img" class="fg-graph" '
            f'viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" '
            f'height="{height:.0f}" style="max-width:100%;height:auto">',
            f"<title>{_escape(title)}</title>",
            f"<desc>{_escape(said)}</desc>",
            f"<style>{_STYLE}</style>",
            *body,
            "</svg>",
        ]
    )


class _Panel(NamedTuple):
    body: list[str]
    width: float
    height: float
    description: str


def _panel(
    nodes: list[Expr],
    roots: list[Key],
    functions: Mapping[Body, Function],
    names: Mapping[Key, str],
    mark: str,
) -> _Panel:
    """Some nodes, laid out; the group of each has its place after ``mark`` as a class."""
    place = places(nodes)
    faces = [_renamed(face(e, functions), names.get(e.key)) for e in nodes]
    parents = [tuple([place[arg.key] for arg in e.args]) for e in nodes]
    sizes = [(_width(f), 22.0 + 14.0 * (len(f.lines) - 1)) for f in faces]
    plan = arrange(parents, sizes)
    classes = [f"{mark}{i}{' fg-root' if e.key in roots else ''}" for i, e in enumerate(nodes)]
    groups = [_group(*given) for given in zip(classes, faces, plan.centers, sizes, strict=True)]
    return _Panel([*_edges(plan), *groups], plan.width, plan.height, _description(faces, parents))


def _boxed(inside: Inside, functions: Mapping[Body, Function]) -> _Panel:
    """A body in a box, with its name above and what it gives as thick outlines."""
    own, body, nodes = inside
    place = places(nodes)
    given = ", ".join([f"n{place[out.key]}" for out in body.outputs]) or "nothing"
    title = cut_label(own.head)
    if nodes:
        names = {x.key: name for x, name in zip(body.inputs, own.inputs, strict=True)}
        panel = _panel(nodes, [out.key for out in body.outputs], functions, names, "fg-i")
    else:
        panel = _Panel([], 0.0, 0.0, "")
    width = max(panel.width, 8.0 * len(title) + 30.0)
    box = (
        f'<rect class="fg-box" x="4" y="4" width="{width - 8:.0f}" '
        f'height="{panel.height + HEAD - 8:.0f}" rx="8"/>'
    )
    heading = f'<text class="fg-head" x="14" y="22">{_escape(title)}</text>'
    inner = [f'<g transform="translate(0 {HEAD:.0f})">', *panel.body, "</g>"]
    description = f"{title}, which gives {given}: {panel.description}"
    return _Panel([box, heading, *inner], width, panel.height + HEAD, description)


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


def _group(mark: str, face: Face, center: Point, size: tuple[float, float]) -> str:
    (x, y), (width, height) = center, size
    kind, lines = face
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
    return f'<g class="fg-node fg-{kind} {mark}">{outline}{"".join(texts)}</g>'


def _description(faces: list[Face], parents: list[tuple[int, ...]]) -> str:
    parts = []
    for i, ((kind, lines), of) in enumerate(zip(faces, parents, strict=True)):
        what = f"{kind} {lines[0]}" if kind != "op" else lines[0]
        operands = " of " + ", ".join(f"n{k}" for k in of) if of else ""
        parts.append(f"n{i} {what}{operands}, {lines[-1]}")
    return f"Expression graph of {len(faces)} nodes: {'; '.join(parts)}."


def _escape(line: str) -> str:
    return html.escape(line, quote=True)

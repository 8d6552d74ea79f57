"""A program as an SVG picture: boxes and edges, values in green, gradients in red, linear maps on the edges.

It is a function of the program, its names and the values given: no order is taken from a map. It needs no
Graphviz and no font: boxes have room for the widest of the usual fonts. Sizes are attributes and rules are
for plain classes, so that browsers, CairoSVG and librsvg draw the same.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from html import escape, unescape
from os import PathLike
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

from funcgrad.control.closed_program import Body
from funcgrad.expr import Expr
from funcgrad.show.drawing.annotations import (
    Annotations,
    formula_annotations,
    no_annotations,
    number_annotations,
)
from funcgrad.show.drawing.bodies import Inside, bodies_inside, named_face
from funcgrad.show.drawing.boxes import (
    LINE_HEIGHTS,
    PADDING,
    STACKED,
    Box,
    DrawnProgram,
    arcs_of,
    boxes_of,
    group_name,
)
from funcgrad.show.drawing.column_layout import in_columns
from funcgrad.show.drawing.folding import MOST_BOXES, Folding, fold_nodes
from funcgrad.show.drawing.labels import cut_label, face, text_width
from funcgrad.show.drawing.layered_layout import Point, arrange
from funcgrad.show.drawing.style import NAME_SIZE, SMALL_SIZE, stylesheet
from funcgrad.show.functions import Function
from funcgrad.show.naming import check_path, distinct, places
from funcgrad.show.program_at import program_at
from funcgrad.show.text import text

MOST_SVG = 20_000  # nodes of a program that is folded
MOST_UNFOLDED = 3_000
MOST_PANELS = 12  # bodies that are drawn; further ones are named with their size
HEAD = 26.0  # the room for the name of a body above its nodes
LONGEST_TITLE = 60

Direction: TypeAlias = Literal["down", "right"]


class Picture(str):
    """The text of an SVG picture, which a notebook draws. At a prompt its size and its title are shown."""

    __slots__ = ()

    def __repr__(self) -> str:
        size = re.search(r'width="(.*?)" height="(.*?)"', self)
        title = re.search("<title>(.*?)</title>", self, re.DOTALL)
        if size is None or title is None:
            return super().__repr__()
        return f"<picture of {unescape(title[1])}: {size[1]} x {size[2]}>"

    def _repr_svg_(self) -> str:
        return str(self)


def to_svg(
    f: Callable[..., Any] | Expr,
    /,
    *args: Any,
    path: str | PathLike[str] | None = None,
    gradient: bool = False,
    direction: Direction = "down",
    fold: int | None = MOST_BOXES,
    **named: object,
) -> Picture:
    """The graph as an SVG picture, for a notebook, a page or a slide; with
    ``path`` it is written there, too.

    ``f`` is an expression, whose variables may have values by name or in a
    dict, or a function, with its arguments by position or by name. The name of
    a file may stand before them. With values each node shows its value in
    green and below it, in red, the gradient: the derivative of the root in it.
    Each edge shows its local derivative; between arrays, how a cotangent z is
    pulled back. With ``gradient`` and no values these are formulas.

    Operands stand above their users, or to the left if ``direction`` is
    ``"right"``; where their order matters, as in a difference, edges arrive in
    it from left to right, or from top to bottom. Constants, and inputs that
    many use, are drawn beside each user; a dashed outline means *the same node
    again*. A graph that would need more than ``fold`` boxes is folded:
    repetitions, calls, and then parts become boxes that say what they hold;
    None folds nothing. What a loop, a branch or a call runs is drawn below,
    once, in a box with the name that the node says. A tall drawing is cut into
    columns, to be read one after the other. The title and the description are
    for those who do not see the picture.

    Raises ValueError for more than 20000 nodes, 3000 if nothing is folded, for
    another direction, and for a ``path`` of another kind of file, TypeError if
    ``f`` is no expression and no function, or the values do not fit, OSError
    if the file cannot be written.

    >>> import funcgrad as fg
    >>> x = fg.var("x")
    >>> to_svg(fg.sin(x) * x).splitlines()[1:3]
    ['<title>sin(x)*x</title>', '<desc>Expression graph of 3 nodes: n0 input x, float64; n1 sin of n0,
    float64; n2 * of n1, n0, float64.</desc>']
    >>> ">0.4794<" in to_svg(fg.sin(x) * x, x=0.5)
    True
    """
    if args and isinstance(args[0], str | PathLike | None):
        path, *args = args  # type: ignore[assignment]
    if direction not in ("down", "right"):
        raise ValueError(f'to_svg: expected direction "down" or "right", but got {direction!r}')
    check_path("to_svg", path, named if isinstance(f, Expr) else {}, ".svg")
    most = MOST_UNFOLDED if fold is None else MOST_SVG
    expr, values = program_at("to_svg", f, args, named)
    nodes = distinct(expr, "to_svg", most, "draw a part of it, or use to_dot with Graphviz")
    folding = fold_nodes(nodes, fold)
    known = no_annotations(nodes)
    if values:
        known = number_annotations(nodes, arcs_of(nodes, folding), values)
    elif gradient:
        known = formula_annotations(nodes, arcs_of(nodes, folding))
    picture = Picture(_drawn(nodes, known, folding, _View(direction, fold)))
    if path is not None:
        Path(path).write_text(picture, encoding="utf-8")
    return picture


class _View(NamedTuple):
    """How a program is drawn: its direction, and how many boxes there may be at most."""

    direction: Direction
    fold: int | None


class _Panel(NamedTuple):
    """Elements of a picture, the room they take, and what they show in words."""

    elements: list[str]
    width: float
    height: float
    description: str


def _drawn(nodes: list[Expr], known: Annotations, folding: Folding, view: _View) -> str:
    """The SVG of nodes in canonical order with what is known of them, folded."""
    functions, bodies = bodies_inside(nodes[-1], "to_svg", MOST_SVG, len(nodes))
    faces = [face(e, functions) for e in nodes]
    source = DrawnProgram(nodes, faces, known, [nodes[-1].key], "fg-n")
    panels = [_panel(source, folding, view)]
    if any(known.gradients):
        panels.append(_legend(known))
    panels += [_boxed(inside, functions, view) for inside in bodies[:MOST_PANELS]]
    if len(bodies) > MOST_PANELS:
        rest = bodies[MOST_PANELS:]
        panels.append(
            _note([f"{inside.function.head}: {len(inside.nodes)} nodes" for inside in rest])
        )
    width = max([panel.width for panel in panels])
    elements, height = [*panels[0].elements], panels[0].height
    for panel in panels[1:]:
        elements += [f'<g transform="translate(0 {height:.0f})">', *panel.elements, "</g>"]
        height += panel.height
    lines = text(nodes[-1]).splitlines()
    whole = lines[0] if len(lines) == 1 else f"A program of {len(nodes)} nodes"
    title = cut_label(whole, LONGEST_TITLE)
    said = " ".join([panel.description for panel in panels if panel.description])
    size = f'width="{width:.0f}" height="{height:.0f}"'
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" role="img" class="fg-graph" {size} '
            f'viewBox="0 0 {width:.0f} {height:.0f}">',
            f"<title>{escape(title)}</title>",
            f"<desc>{escape(said)}</desc>",
            f"<style>{stylesheet()}</style>",
            *elements,
            "</svg>",
        ]
    )


# -- panels --------------------------------------------------------------------------------------
def _panel(source: DrawnProgram, folding: Folding, view: _View) -> _Panel:
    """Groups of nodes, laid out."""
    boxes = boxes_of(source, folding)
    transposed = view.direction == "right"
    text_sizes = [_chip_size(line) if line else None for line in boxes.texts]
    sizes = [box.size for box in boxes.boxes]
    room = [_transposed(size, transposed) for size in sizes]
    text_room = [size and _transposed(size, transposed) for size in text_sizes]
    ordered = {k for k, box in enumerate(boxes.boxes) if box.ordered}
    plan = in_columns(arrange(boxes.parents, room, text_room, ordered), room, text_room)
    elements = [_edge(route, transposed) for route in plan.routes]
    for at, line, size in zip(plan.texts, boxes.texts, text_sizes, strict=True):
        if at is not None and size is not None:
            elements.append(_chip(_transposed(at, transposed), line, size))
    for box, center, size in zip(boxes.boxes, plan.centers, sizes, strict=True):
        elements.append(_group(box, _transposed(center, transposed), size))
    width, height = _transposed((plan.width, plan.height), transposed)
    return _Panel(elements, width, height, _description(source, folding))


def _transposed(pair: tuple[float, float], transposed: bool) -> tuple[float, float]:
    return (pair[1], pair[0]) if transposed else pair


def _boxed(inside: Inside, functions: Mapping[Body, Function], view: _View) -> _Panel:
    """A body in a box, with its name above and what it gives as thick outlines."""
    own, body, nodes = inside
    place = places(nodes)
    given = ", ".join([f"n{place[out.key]}" for out in body.outputs]) or "nothing"
    title = cut_label(own.head)
    panel = _Panel([], 0.0, 0.0, "")
    if nodes:
        faces = [named_face(e, functions, inside.names) for e in nodes]
        roots = [out.key for out in body.outputs]
        source = DrawnProgram(nodes, faces, no_annotations(nodes), roots, "fg-i")
        panel = _panel(source, fold_nodes(nodes, view.fold), view)
    width = max(panel.width, text_width(title, NAME_SIZE) + 32.0)
    box = (
        f'<rect class="fg-box" x="4" y="4" width="{width - 8:.0f}" '
        f'height="{panel.height + HEAD - 8:.0f}" rx="8"/>'
    )
    heading = f'<text class="fg-head fg-start" x="14" y="22">{escape(title)}</text>'
    inner = [f'<g transform="translate(0 {HEAD:.0f})">', *panel.elements, "</g>"]
    description = f"{title}, which gives {given}: {panel.description}"
    return _Panel([box, heading, *inner], width, panel.height + HEAD, description)


def _note(lines: Sequence[str]) -> _Panel:
    """Lines of text."""
    texts = [
        f'<text class="fg-note fg-start" x="14" y="{14 + 15 * k}">{escape(line)}</text>'
        for k, line in enumerate(lines)
    ]
    width = max([text_width(line, SMALL_SIZE) for line in lines]) + 28.0
    return _Panel(texts, width, 15.0 * len(lines) + 8.0, "; ".join(lines))


def _legend(known: Annotations) -> _Panel:
    """What the colors mean."""
    x, elements = 14.0, []
    for role in ("value", "gradient"):
        if role == "gradient" or any(known.values):
            elements.append(_chip_text(x, 4.0, role, role))
            x += text_width(role, SMALL_SIZE, bold=True) + 18.0
    if not known.locals:
        return _Panel(elements, x + 4.0, 28.0, "")
    pulled = " or pullback of z" if known.pulled else ""
    note = f"on edges: derivative{pulled}"
    elements.append(_chip_text(14.0, 24.0, "note", note))
    return _Panel(elements, max(x, text_width(note, SMALL_SIZE) + 28.0), 48.0, "")


# -- elements ------------------------------------------------------------------------------------
def _edge(route: Sequence[Point], transposed: bool) -> str:
    """An edge and its tip."""
    (x, y), *rest = route
    *_, (tip_x, tip_y) = rest
    path = [f"M{_point(x, y, transposed)}"]
    for k, (a, b) in enumerate(rest):
        b -= 5.0 if k == len(rest) - 1 else 0.0  # the line ends inside of the tip
        if abs(a - x) < 0.05 or abs(b - y) < 0.05:
            path.append(f"L{_point(a, b, transposed)}")
        else:
            middle = (y + b) / 2
            controls = f"{_point(x, middle, transposed)} {_point(a, middle, transposed)}"
            path.append(f"C{controls} {_point(a, b, transposed)}")
        x, y = a, b
    corners = [(tip_x - 4.0, tip_y - 8.0), (tip_x + 4.0, tip_y - 8.0), (tip_x, tip_y)]
    tip = "L".join([_point(a, b, transposed) for a, b in corners])
    return f'<path class="fg-edge" d="{"".join(path)}"/><path class="fg-tip" d="M{tip}Z"/>'


def _point(x: float, y: float, transposed: bool) -> str:
    a, b = _transposed((x, y), transposed)
    return f"{a:.1f} {b:.1f}"


def _chip_size(line: str) -> tuple[float, float]:
    return text_width(line, SMALL_SIZE) + 8.0, 16.0


def _chip(center: Point, line: str, size: tuple[float, float]) -> str:
    """The text of an edge on a fill of its own."""
    x, y = center
    width, height = size
    return (
        f'<rect class="fg-chip" x="{x - width / 2:.1f}" y="{y - height / 2:.1f}" width="{width:.1f}" '
        f'height="{height:.1f}" rx="3"/>'
        f'<text class="fg-local" x="{x:.1f}" y="{y + 4:.1f}">{escape(line)}</text>'
    )


def _chip_text(x: float, y: float, role: str, line: str) -> str:
    width = text_width(line, SMALL_SIZE, role != "note")
    return (
        f'<rect class="fg-chip" x="{x - 4:.1f}" y="{y:.1f}" width="{width + 8:.1f}" height="18" rx="3"/>'
        f'<text class="fg-{role} fg-start" x="{x:.1f}" y="{y + 13:.1f}">{escape(line)}</text>'
    )


def _group(box: Box, center: Point, size: tuple[float, float]) -> str:
    (x, y), (width, height) = center, size
    left, top = x - width / 2, y - height / 2
    if box.stacked:
        width, height = width - STACKED, height - STACKED
    radius = 5.0
    if box.kind == "input":
        radius = height / 2 if len(box.lines) == 1 else 12.0

    def outline(offset: float) -> str:
        return (
            f'<rect class="fg-shape" x="{left + offset:.1f}" y="{top + offset:.1f}" width="{width:.1f}" '
            f'height="{height:.1f}" rx="{radius:g}"/>'
        )

    shapes = [outline(STACKED), outline(0.0)] if box.stacked else [outline(0.0)]
    texts = []
    base = top + PADDING / 2
    for role, line in box.lines:
        base += LINE_HEIGHTS[role]
        texts.append(
            f'<text class="fg-{role}" x="{left + width / 2:.1f}" y="{base - 4:.1f}">{escape(line)}</text>'
        )
    return f'<g class="fg-node {box.classes}">{"".join(shapes)}{"".join(texts)}</g>'


# -- words ---------------------------------------------------------------------------------------
def _description(source: DrawnProgram, folding: Folding) -> str:
    names = [
        f"n{group.members[0]}" if group.kind == "node" else group_name(folding, group)
        for group in folding.groups
    ]
    parts = []
    for name, group, of in zip(names, folding.groups, folding.parents, strict=True):
        operands = " of " + ", ".join([names[p] for p in of]) if of else ""
        if group.kind != "node":
            what = f"{group.title}, {group.detail}" if group.detail else group.title
            parts.append(f"{name} {what}{operands}, {len(group.members)} nodes")
            continue
        kind, lines = source.faces[group.members[0]]
        what = f"{kind} {lines[0]}" if kind != "op" else lines[0]
        parts.append(f"{name} {what}{operands}, {lines[-1]}{_said(source.known, group.members[0])}")
    return f"Expression graph of {len(source.nodes)} nodes: {'; '.join(parts)}."


def _said(known: Annotations, i: int) -> str:
    pairs = (("value", known.values[i]), ("gradient", known.gradients[i]))
    return "".join([f", {what} {line}" for what, line in pairs if line])

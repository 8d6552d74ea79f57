"""The boxes of a drawing and its edges; values with many users are repeated beside them.

A constant stands beside each user. An input or a value that many use is drawn once, and for further users
as a small box with its name and a dashed outline, so that long edges do not cross the drawing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Literal, NamedTuple, TypeAlias

from funcgrad.autodiff.accumulate import reached_keys
from funcgrad.expr import Expr
from funcgrad.graph import CONSTANT, Key
from funcgrad.rewrite.laws import COMMUTING
from funcgrad.show.drawing.annotations import Annotations, Arc
from funcgrad.show.drawing.folding import Folding, Group
from funcgrad.show.drawing.labels import Face, cut_label, text_width
from funcgrad.show.drawing.style import NAME_SIZE, SMALL_SIZE

MOST_USERS_OF_INPUT = 3  # that share one box
MOST_USERS_OF_VALUE = 6
MOST_NAMES = 3  # boxes with a name beside a group; of more, the names stand in one
NAMES_IN_ROW = 8
PLAIN_TYPE = "float64"  # is not written: numbers are that unless something else is said

Role: TypeAlias = Literal["name", "type", "value", "gradient", "note"]
LINE_HEIGHTS: dict[Role, float] = {
    "name": 17.0,
    "type": 14.0,
    "value": 14.5,
    "gradient": 14.5,
    "note": 14.0,
}
PADDING = 9.0
STACKED = 4.0  # the offset of the second outline of a repetition


class Line(NamedTuple):
    """A line in a box: its role, which is its class in the picture, and its text."""

    role: Role
    text: str


class Box(NamedTuple):
    """What is drawn of a node or a group: its kind, which is its fill, its classes and its lines.

    A ``stacked`` box has a second outline; to an ``ordered`` one, the order of operands matters.
    """

    kind: Literal["input", "constant", "op", "group"]
    classes: str
    lines: tuple[Line, ...]
    stacked: bool = False
    ordered: bool = False

    @property
    def size(self) -> tuple[float, float]:
        widest = max([_line_width(line) for line in self.lines], default=0.0)
        rounded = 12.0 if self.kind == "input" else 0.0
        extra = STACKED if self.stacked else 0.0
        height = sum([LINE_HEIGHTS[line.role] for line in self.lines]) + PADDING
        return max(30.0, widest + 2 * PADDING + rounded) + extra, height + extra


class Boxes(NamedTuple):
    """Boxes in topological order, the operands of each, and the text of each edge in this order."""

    boxes: list[Box]
    parents: list[tuple[int, ...]]
    texts: list[str]


def _line_width(line: Line) -> float:
    if line.role == "name":
        return text_width(line.text, NAME_SIZE)
    return text_width(line.text, SMALL_SIZE, line.role in ("value", "gradient"))


def arcs_of(nodes: Sequence[Expr], folding: Folding) -> list[Arc]:
    """The edges between nodes that are drawn by themselves, those from what no variable reaches left out."""
    alone = {group.members[0] for group in folding.groups if group.kind == "node"}
    reached = reached_keys({e.key: e for e in nodes})
    shown = {nodes[i].key for i in alone} & reached
    return [
        (i, at) for i in sorted(alone) for at, arg in enumerate(nodes[i].args) if arg.key in shown
    ]


class DrawnProgram(NamedTuple):
    """What boxes are made of: nodes in canonical order, their faces, what is known of them, and marks."""

    nodes: Sequence[Expr]
    faces: Sequence[Face]
    known: Annotations
    roots: Sequence[Key]
    mark: str


def boxes_of(source: DrawnProgram, folding: Folding) -> Boxes:
    """The boxes of groups, and the edges between them."""
    groups = folding.groups
    users = Counter([p for of in folding.parents for p in dict.fromkeys(of)])
    sharing = [_sharing(source, group) for group in groups]
    repeated = {k for k, n in users.items() if n > sharing[k].most}
    result = Boxes([], [], [])
    home: dict[int, int] = {}
    seen: Counter[int] = Counter()
    for k, (group, of) in enumerate(zip(groups, folding.parents, strict=True)):
        again = []
        for p in dict.fromkeys(of):
            seen[p] += 1
            if p in repeated and seen[p] > sharing[p].direct:
                again.append(p)
            elif p not in home:
                home[p] = _add(
                    result, _box(source, folding, groups[p], p in repeated, False), (), []
                )
        again.sort()
        named = [_box(source, folding, groups[p], True, True) for p in again]
        if group.kind != "node" and len(again) > MOST_NAMES:
            home |= dict.fromkeys(again, _add(result, _names(named), (), []))
            of = tuple({home[p]: p for p in of}.values())  # one edge from the names
        else:
            home |= {p: _add(result, box, (), []) for p, box in zip(again, named, strict=True)}
        if of or not users[k]:  # an input or a constant is drawn with its first user
            texts = [_text(source, group, at) for at in range(len(of))]
            box = _box(source, folding, group, k in repeated, False)
            home[k] = _add(result, box, tuple([home[p] for p in of]), texts)
    return result


class _Sharing(NamedTuple):
    """How many users may share a box, and how many still do if there are more."""

    most: int
    direct: int


def _sharing(source: DrawnProgram, group: Group) -> _Sharing:
    e = source.nodes[group.members[0]]
    if group.kind == "node" and e.op is CONSTANT:
        return _Sharing(1, 1)
    is_leaf = not e.args and group.kind in ("node", "inputs")
    return _Sharing(MOST_USERS_OF_INPUT, 1) if is_leaf else _Sharing(MOST_USERS_OF_VALUE, 3)


def _names(boxes: Sequence[Box]) -> Box:
    """One box with the names of several that are drawn elsewhere."""
    names = [box.lines[0].text for box in boxes]
    rows = range(0, len(names), NAMES_IN_ROW)
    lines = [Line("name", ", ".join(names[k : k + NAMES_IN_ROW])) for k in rows]
    kind: Literal["input", "group"] = (
        "input" if all([box.kind == "input" for box in boxes]) else "group"
    )
    return Box(kind, f"fg-{kind} fg-again", tuple(lines))


def _add(result: Boxes, box: Box, parents: tuple[int, ...], texts: list[str]) -> int:
    result.boxes.append(box)
    result.parents.append(parents)
    result.texts.extend(texts)
    return len(result.boxes) - 1


def _text(source: DrawnProgram, group: Group, at: int) -> str:
    return source.known.locals.get((group.members[0], at), "") if group.kind == "node" else ""


def _box(
    source: DrawnProgram, folding: Folding, group: Group, is_repeated: bool, again: bool
) -> Box:
    root = any([source.nodes[i].key in source.roots for i in group.members])
    marks = "".join([" fg-root"] * root + [" fg-again"] * again)
    if group.kind != "node":
        name = group_name(folding, group)
        if again:
            return Box("group", f"fg-group{marks}", (Line("name", name),))
        count = Line("note", f"{len(group.members)} nodes")
        lines = (Line("name", f"{name}: {group.title}"), Line("note", group.detail), count)
        return Box("group", f"fg-group{marks}", lines, group.kind == "repetition")
    (i,) = group.members
    face = source.faces[i]
    classes = f"fg-{face.kind} {source.mark}{i}{marks}"
    if face.kind == "constant":
        return Box("constant", classes.replace(" fg-again", ""), _lines(face.lines))
    name, *rest = face.lines
    if (is_repeated or source.known.names) and face.kind == "op":
        given = source.nodes[i].label
        called = cut_label(given) if given else (source.known.names or [f"v{i}"] * (i + 1))[i]
        name = called if again else name if given else f"{called} = {name}"
    if again:
        return Box(face.kind, classes, (Line("name", name),))
    known = source.known
    numbers = (Line("value", known.values[i]), Line("gradient", known.gradients[i]))
    written = (*_lines((name, *rest)), *[line for line in numbers if line.text])
    return Box(face.kind, classes, written, ordered=source.nodes[i].op.name not in COMMUTING)


def group_name(folding: Folding, group: Group) -> str:
    """A, B, …, Z, A1, B1, …: the name of a group by its place among the groups of more than one node.

    >>> from funcgrad.show.drawing.folding import Folding, Group
    >>> a, b = Group("part", "", "", (0, 1)), Group("part", "", "", (2, 3))
    >>> group_name(Folding((a, b), ((), (0,))), b)
    'B'
    """
    large = [other for other in folding.groups if other.kind != "node"]
    turn, letter = divmod(large.index(group), 26)
    return f"{chr(ord('A') + letter)}{turn or ''}"


def _lines(written: tuple[str, ...]) -> tuple[Line, ...]:
    name, *params, kind = written
    types = [] if kind == PLAIN_TYPE else [Line("type", kind)]
    return (Line("name", name), *[Line("note", param) for param in params], *types)

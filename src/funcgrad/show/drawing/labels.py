"""The text in a node of a drawing, and its size.

The width of a text is an upper bound for the usual sans-serif fonts (DejaVu Sans is the widest), so that
boxes made for it hold it in every renderer.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from funcgrad.control.closed_program import Body
from funcgrad.expr import Expr
from funcgrad.graph import CONSTANT, INPUT
from funcgrad.ops.base.op import Op, leaf
from funcgrad.show.functions import Function, held, is_tuple
from funcgrad.show.naming import array_of, name_of, printable
from funcgrad.show.numbers import label
from funcgrad.show.text import shown

WIDEST_LABEL = 30  # characters of a line in a node

NO_FUNCTIONS: Mapping[Body, Function] = MappingProxyType({})

FaceKind: TypeAlias = Literal["input", "constant", "op"]


class Face(NamedTuple):
    """How a node is drawn: its kind (``input``, ``constant`` or ``op``) and its lines."""

    kind: FaceKind
    lines: tuple[str, ...]


def face(expr: Expr, functions: Mapping[Body, Function] = NO_FUNCTIONS) -> Face:
    """The kind of a node and the lines written in it: name or operation, params, type.

    ``functions`` are the names of bodies, which are drawn by themselves.

    >>> import funcgrad as fg
    >>> face(fg.name(fg.var("v", 3) * 2, "twice"))
    Face(kind='op', lines=('twice = *', 'float64[3]'))
    """
    if expr.op is INPUT:
        return Face("input", (cut_label(name_of(expr)), str(expr.type)))
    if expr.op is CONSTANT:
        number = label(array_of(expr))
        number = f"{expr.label} = {number}" if expr.label else number
        return Face("constant", (cut_label(number), str(expr.type)))
    operation: Op = expr.op
    symbol = operation.infix.symbol if operation.infix else operation.name
    symbol = (
        f"{cut_label(expr.label)} = {symbol}" if expr.label and operation is not leaf else symbol
    )
    if is_tuple(expr):
        runs = [functions[item.body].name for item in held(expr) if item.body in functions]
        params = ", ".join(runs)
    else:
        params = ", ".join(f"{key}={value}" for key, value in expr.params if key != "scope")
    lines = (symbol, cut_label(params), str(expr.type)) if params else (symbol, str(expr.type))
    return Face("op", lines)


def cut_label(line: str, most: int = WIDEST_LABEL) -> str:
    """A text in one line of at most ``most`` characters."""
    plain = printable(line).replace("\n", " ")
    return plain if len(plain) <= most else plain[: most - 1] + "…"


def number_label(value: complex | np.generic) -> str:
    """A value or a gradient in a node: four significant digits of a number, a short text of an array.

    >>> number_label(-2.0), number_label(2 / 3), number_label(-0.0), number_label(np.zeros((9, 9)))
    ('-2', '0.6667', '-0', 'float64[9, 9]')
    """
    if isinstance(value, tuple) or np.ndim(value):
        return cut_label(shown(value))
    return format(value, ".4g") if np.asarray(value).dtype.kind in "fc" else str(value)


# -- room ----------------------------------------------------------------------------------------
_WIDTHS = {
    c: width
    for width, characters in (
        (0.4, " '(),-./:;I[\\]fijlt|"),
        (0.5, '!"*J`r'),
        (0.65, "$0123456789?FLT_abcdeghknopqsuvxyz{}"),
        (0.7, "ABEKPSVXYZ"),
        (0.85, "#&+<=>CDGHNOQRU^w~"),
    )
    for c in characters
}
BOLD = 1.18  # the width of bold digits to that of regular ones, at most


def text_width(line: str, size: float, bold: bool = False) -> float:
    """The room in pixels for a line at a font size: at least its width in the usual sans-serif fonts.

    >>> text_width("x", 10.0), text_width("sin(x)", 10.0) < text_width("wwwwww", 10.0)
    (6.5, True)
    """
    em = sum([_WIDTHS.get(c) or _wide(c) for c in line])
    return em * size * (BOLD if bold else 1.0)


def _wide(c: str) -> float:
    if unicodedata.combining(c):
        return 0.0
    return 1.05 if c.isascii() or unicodedata.east_asian_width(c) not in "WF" else 1.3

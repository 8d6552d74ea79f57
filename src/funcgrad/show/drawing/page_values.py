"""The numbers of the explorer page: the values of a list of expressions, and a program that computes them.

The page shows a number by its place in the list. If every operation below the expressions is on real
numbers and has a scalar template, the page has the templates too, as syntax trees, and computes the list anew
when a reader changes an input. A template is data, which the page interprets: no text of a program is run.
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from funcgrad.compiler.python.scalar_ops import scalar_template, use_of
from funcgrad.expr import Expr
from funcgrad.fold import folded_by_key
from funcgrad.graph import CONSTANT, INPUT, Key
from funcgrad.linear import Parts
from funcgrad.rewrite.evaluate import evaluate_roots
from funcgrad.show.naming import array_of, name_of
from funcgrad.show.text import shown
from funcgrad.typing import Array

MOST_SHOWN_ENTRIES = 1024  # entries of an array that the page holds; of a larger one, every so many
MOST_PAGE_ENTRIES = 200_000  # entries of all arrays together


class PageValues:
    """A list of expressions that grows as the page is written; equal expressions have one place."""

    def __init__(self) -> None:
        self.exprs: list[Expr] = []
        self.parts: dict[int, list[int | None]] = {}
        """Of a place that stands for a tuple's cotangent: the places of its parts, None for 0."""
        self._place: dict[Key, int] = {}

    def place(self, value: Expr | Parts, count: int = 0) -> int:
        """Where the value stands in the list; a tuple's cotangent has ``count`` parts."""
        if isinstance(value, Parts):
            parts = [self.place(value.of[k]) if k in value.of else None for k in range(count)]
            self.exprs.append(next(iter(value.of.values())))
            self.parts[len(self.exprs) - 1] = parts
            return len(self.exprs) - 1
        if value.key not in self._place:
            self._place[value.key] = len(self.exprs)
            self.exprs.append(value)
        return self._place[value.key]

    def numbers(self, arrays: Mapping[str, Any]) -> list[Any]:
        """The values as the page reads them, given an array for each variable by name."""
        found = evaluate_roots(self.exprs, arrays)
        left = MOST_PAGE_ENTRIES
        encoded: list[Any] = []
        for value in found:
            item = page_value(value, left > 0)
            left -= len(item["data"]) if isinstance(item, dict) else 0
            encoded.append(item)
        for k, parts in self.parts.items():
            texts = ["0" if p is None else shown(found[p]) for p in parts]
            encoded[k] = {
                "text": f"({', '.join(texts)}{',' if len(texts) == 1 else ''})",
                "data": [],
            }
        return encoded


def page_value(value: Any, with_entries: bool = True) -> Any:
    """A value as JSON: a number or a truth value, or the text and the entries of an array.

    >>> page_value(0.5), page_value(np.float64("inf")), page_value(np.array([1.0, 2.0]))
    (0.5, 'inf', {'text': '[1., 2.]', 'shape': [2], 'stride': [1], 'data': [1.0, 2.0]})
    """
    if isinstance(value, tuple) or np.asarray(value).dtype.kind not in "fiub":
        return {"text": shown(value), "data": []}
    if np.ndim(value) == 0:
        return _number(np.asarray(value).item())
    array = np.asarray(value)
    entry: dict[str, Any] = {
        "text": shown(array),
        "shape": list(array.shape),
        "stride": [],
        "data": [],
    }
    if with_entries and array.size and array.ndim <= 2:
        side = MOST_SHOWN_ENTRIES if array.ndim == 1 else math.isqrt(MOST_SHOWN_ENTRIES)
        strides = [-(-n // side) for n in array.shape]
        picked: Array = array[tuple([slice(None, None, step) for step in strides])]
        entry |= {"stride": strides, "data": [_number(x) for x in picked.ravel().tolist()]}
    return entry


def _number(value: float) -> float | str:
    # JSON has no words for these, and the page's numbers are floats.
    if isinstance(value, int) and abs(value) > 2**53:
        return str(value)
    return value if math.isfinite(value) else repr(value)


# -- the program -----------------------------------------------------------------------------------
def page_program(values: PageValues) -> dict[str, Any]:
    """The values as a program on numbers: the page's evaluator runs ``steps`` in order.

    A step is ``["input", name]``, ``["constant", number]`` or a template's place and those of its operands'
    steps; ``at`` gives the step of each value. If there is no such program, ``refusal`` says why.
    """
    steps: list[list[Any]] = []
    templates: dict[str, int] = {}

    def step(expr: Expr, operands: tuple[int | str, ...]) -> int | str:
        refused = next((item for item in operands if isinstance(item, str)), None)
        if refused is not None:
            return refused
        made = _step(expr, templates)
        if isinstance(made, str):
            return made
        steps.append([*made, *operands])
        return len(steps) - 1

    at = folded_by_key(values.exprs, step)
    refusal = next((item for item in at if isinstance(item, str)), None)
    if refusal is not None:
        return {"refusal": refusal}
    return {"templates": [_tree(text) for text in templates], "steps": steps, "at": at}


def _step(expr: Expr, templates: dict[str, int]) -> list[Any] | str:
    """A step without its operands, or why the page has none."""
    if expr.shape or expr.dtype.name not in ("float64", "bool"):
        return f"{_who(expr)} is {expr.type}, and the page computes with float64 numbers alone"
    if expr.op is INPUT:
        return ["input", name_of(expr)]
    if expr.op is CONSTANT:
        return ["constant", _number(array_of(expr).item())]
    template = scalar_template(expr.op, use_of(expr))
    if template is None:
        return f"{expr.op.name} has no scalar form"
    text = re.sub(r"\{(\d)\}", r"x\1", template.replace("math.", ""))
    if text not in templates and _tree(text) is None:
        return f"{expr.op.name} has no scalar form"
    return [templates.setdefault(text, len(templates))]


def _who(expr: Expr) -> str:
    return name_of(expr) if expr.op is INPUT else getattr(expr.op, "name", "a constant")


def _tree(text: str) -> list[Any] | None:
    """The syntax tree of a template as nested lists: operator or function, then operands.

    >>> _tree("x0 if x0 > 0.0 else exp(x0)")
    ['if', ['>', ['x', 0], ['number', 0.0]], ['x', 0], ['exp', ['x', 0]]]
    """
    try:
        return _node(ast.parse(text, mode="eval").body)
    except NotImplementedError:
        return None


def _node(node: ast.expr) -> list[Any]:
    match node:
        case ast.Constant(value=int() | float() as value):
            return ["number", value]
        case ast.Name(id=name) if re.fullmatch(r"x\d", name):
            return ["x", int(name[1:])]
        case ast.UnaryOp(op=op, operand=x) if type(op) in _OPERATORS:
            return [f"unary {_OPERATORS[type(op)]}", _node(x)]
        case ast.BinOp(left=x, op=op, right=y) if type(op) in _OPERATORS:
            return [_OPERATORS[type(op)], _node(x), _node(y)]
        case ast.BoolOp(op=op, values=operands):
            return ["and" if isinstance(op, ast.And) else "or", *map(_node, operands)]
        case ast.Compare(left=x, ops=[op], comparators=[y]) if type(op) in _OPERATORS:
            return [_OPERATORS[type(op)], _node(x), _node(y)]
        case ast.IfExp(test=test, body=x, orelse=y):
            return ["if", _node(test), _node(x), _node(y)]
        case ast.Call(func=ast.Name(id=name), args=operands, keywords=[]):
            return [name, *map(_node, operands)]
    raise NotImplementedError(ast.dump(node))


_OPERATORS: Mapping[type[ast.AST], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.Mod: "%",
    ast.Pow: "pow",
    ast.USub: "-",
    ast.Not: "not",
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.IsNot: "!=",
}

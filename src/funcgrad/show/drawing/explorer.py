"""The explorer: an HTML page with a program's graph, its forward and backward steps, and its derivatives.

The page is one file, which loads nothing from a network (its content security policy forbids that). It works
with the keyboard, describes each step to screen readers, and follows the reader's light or dark color scheme.
The text of a program is escaped, and stands in the page as data, never as script.

``explorer_page.html`` is the page without data. It is built from ``tools/explorer`` and has the licenses of
the packages that it contains.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from importlib.resources import files
from os import PathLike
from pathlib import Path
from typing import Any

from funcgrad.expr import Expr
from funcgrad.ops.base.op import differentiable
from funcgrad.printed_text import one_line
from funcgrad.rewrite.evaluate import inputs_of, variables
from funcgrad.show.drawing.page_data import (
    MOST_FORMULAS,
    MOST_WRITTEN,
    backward_steps,
    done_step,
    forward_steps,
    gradient_formulas,
    pane_data,
    pane_of,
)
from funcgrad.show.drawing.page_values import PageValues, page_program, page_value
from funcgrad.show.drawing.style import DARK, LIGHT, Palette
from funcgrad.show.functions import is_tuple
from funcgrad.show.naming import check_path, distinct, printable
from funcgrad.show.program_at import program_at
from funcgrad.source import type_error
from funcgrad.transforms.gradient import gradient

MOST_NODES_DRAWN = 5000
MOST_WITH_GRADIENT = 500  # nodes of a program whose gradient has a pane of its own
MOST_WITH_HESSIAN = 40
MOST_HESSIAN_INPUTS = 6


class Page:
    """A page of HTML: shown by a notebook, and the text of a file as ``html``."""

    __slots__ = ("html", "nodes", "steps")

    html: str
    nodes: int
    steps: int

    def __init__(self, html: str, nodes: int, steps: int) -> None:
        for name, value in zip(("html", "nodes", "steps"), (html, nodes, steps), strict=True):
            object.__setattr__(self, name, value)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError("a page is immutable")

    def __repr__(self) -> str:
        return f"<page of {self.nodes} nodes and {self.steps} steps>"

    def _repr_html_(self) -> str:
        # A frame keeps the page's styles and keys to itself.
        return (
            '<iframe title="funcgrad: explorer" sandbox="allow-scripts" '
            f'style="width:100%;height:720px;border:0" srcdoc="{html.escape(self.html)}"></iframe>'
        )

    def write(self, path: str | PathLike[str]) -> None:
        """Write the page to a file. Raises OSError if that cannot be written."""
        Path(path).write_text(self.html, encoding="utf-8")


def explore(
    f: Callable[..., Any] | Expr,
    /,
    *args: object,
    path: str | PathLike[str] | None = None,
    **named: object,
) -> Page:
    """A page that draws a program, steps through backpropagation, and shows its
    derivatives.

    ``f`` is a function, with its arguments by position or by name, or an
    expression, with the values of its variables by name or in a dict, or with
    none. With values, each node shows its value and its gradient in numbers;
    without, gradients are formulas. The inputs of a program on numbers can be
    changed in the page.

    The graph pans, zooms and folds; the arrow keys step through the forward
    and the backward pass, whose gradient map stands beside the graph. Programs
    of up to 500 nodes with a real result have a pane with the gradient's
    program, small ones on numbers one with the Hessian's. With ``path``, the
    page is written to that file.

    Raises ValueError for more than 5000 nodes and for a ``path`` of another
    kind of file, TypeError for values that do not fit, for a result that is a
    tuple, and if ``f`` is neither; OSError if the file cannot be written.

    >>> import numpy as np
    >>> explore(lambda x: np.sin(x) * x, 0.5)
    <page of 3 nodes and 8 steps>
    """
    check_path("explore", path, named if isinstance(f, Expr) else {}, ".html", ".htm")
    root, values = program_at("explore", f, args, named)
    nodes = distinct(root, "explore", MOST_NODES_DRAWN, "explore a part of it")
    if is_tuple(root):
        raise type_error(
            f"explore: expected one number or array as result, but got a tuple {root.type}; take a part",
        )
    data = _data(root, values, len(nodes))
    title = one_line(root, 60) if len(nodes) <= MOST_WRITTEN else "…"
    if title.endswith("…"):
        title = f"A program of {len(nodes)} nodes"
    parts = {
        "TITLE": html.escape(printable(title)),
        "DATA": _as_json(data),
        "LIGHT": _variables(LIGHT),
        "DARK": _variables(DARK),
    }
    # In one pass, so that what is put in is not searched for places itself.
    text = re.sub("@(TITLE|DATA|LIGHT|DARK)@", lambda match: parts[match[1]], _template())
    page = Page(text, len(nodes), len(data["panes"][0]["steps"]))
    if path is not None:
        page.write(path)
    return page


@lru_cache(maxsize=1)
def _template() -> str:
    return files("funcgrad.show.drawing").joinpath("explorer_page.html").read_text(encoding="utf-8")


def _variables(colors: Palette) -> str:
    """The colors of drawings as variables of the page's style."""
    return "".join([f"--{name}:{color};" for name, color in colors._asdict().items()])


def _as_json(data: object) -> str:
    # In a script element, only "<" could end it; the rest is for readers that are less exact.
    line = json.dumps(data, allow_nan=False, separators=(",", ":"))
    for c in "<>&":
        line = line.replace(c, f"\\u{ord(c):04x}")
    return line


# -- data ------------------------------------------------------------------------------------------
def _data(root: Expr, given: Mapping[Any, Any], count: int) -> dict[str, Any]:
    """All that the page shows: panes, values, the program that computes these, and the inputs."""
    names = variables(root)
    arrays = dict(zip(names, inputs_of(root, given, {})[1], strict=True)) if given else {}
    values = PageValues()
    pane = pane_of([("result", root)])
    steps = [
        {"pass": "start", "node": -1, "say": ["Press the right arrow to begin."], "changes": []},
        *forward_steps(pane, values),
        *backward_steps(pane, values),
        done_step(
            pane, [printable(name) for name, x in names.items() if _is_differentiated(root, x)]
        ),
    ]
    panes = [pane_data("Program", pane, steps, values)]
    if not root.shape and root.dtype.kind == "f" and names and count <= MOST_WITH_GRADIENT:
        panes += _derivatives(root, names, count, values)
    formulas = gradient_formulas(steps, values) if count <= MOST_FORMULAS else {}
    return {
        "inputs": [
            {"name": name, "value": page_value(arrays[name]) if given else None} for name in names
        ],
        "panes": panes,
        "formulas": formulas,
        "values": values.numbers(arrays) if given or not names else None,
        "program": page_program(values),
        "sources": _sources(panes),
    }


def _is_differentiated(root: Expr, variable: Expr) -> bool:
    return bool(differentiable(root.dtype) and differentiable(variable.dtype))


def _sources(panes: list[dict[str, Any]]) -> list[str]:
    """The source lines, each once; nodes have the line's number from one, and 0 if theirs is not known."""
    found: dict[str, int] = {}
    for pane in panes:
        for node in pane["nodes"]:
            text = node["source"]
            node["source"] = found.setdefault(text, len(found) + 1) if text else 0
    return list(found)


def _derivatives(
    root: Expr, names: Mapping[str, Expr], count: int, values: PageValues
) -> list[dict[str, Any]]:
    """The panes of the gradient and the Hessian, of programs that are small enough."""
    inputs = [x for x in names.values() if x.dtype.kind in "fc"]
    slopes = gradient(root, inputs)
    panes = [
        _results(
            "Gradient", [(f"d/d{x.name}", s) for x, s in zip(inputs, slopes, strict=True)], values
        )
    ]
    scalars = all(not x.shape for x in inputs) and len(inputs) <= MOST_HESSIAN_INPUTS
    if scalars and inputs and count <= MOST_WITH_HESSIAN:
        second = [
            (f"d²/d{x.name} d{y.name}", entry)
            for x, slope in zip(inputs, slopes, strict=True)
            for y, entry in zip(inputs, gradient(slope, inputs), strict=True)
        ]
        pane = _results("Hessian", second, values)
        panes.append(pane | {"matrix": [printable(x.name) for x in inputs]})
    return [pane for pane in panes if len(pane["nodes"]) <= MOST_NODES_DRAWN]


def _results(title: str, roots: list[tuple[str, Expr]], values: PageValues) -> dict[str, Any]:
    pane = pane_of(roots)
    steps = [*forward_steps(pane, values), done_step(pane, [])]
    return pane_data(title, pane, steps, values)

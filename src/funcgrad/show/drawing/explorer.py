"""A page to step through a program: its graph, its formula, and accumulation forwards and backwards.

The page is one file that asks for nothing from outside (a policy in it forbids that); it works with the
keyboard, says each step in words to those who listen, and follows the reader's light or dark.
What is shown of a program is text: it is escaped, and stands in the page as data, never as script.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator, Mapping
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from funcgrad.autodiff.accumulate import backprop_steps
from funcgrad.compiler.program import lower
from funcgrad.expr import Expr
from funcgrad.graph import CONSTANT, INPUT
from funcgrad.linear import Parts
from funcgrad.ops.base.op import differentiable
from funcgrad.rewrite.evaluate import evaluate_all, inputs_of
from funcgrad.rewrite.simplify import simplify_all
from funcgrad.show.drawing.dot import draw
from funcgrad.show.drawing.labels import face
from funcgrad.show.explain import functions_of, tell
from funcgrad.show.functions import is_tuple, way_back
from funcgrad.show.naming import distinct, places, printable
from funcgrad.show.text import shown, text

MOST_NODES_DRAWN = 200


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
            '<iframe title="funcgrad: steps of accumulation" sandbox="allow-scripts" '
            f'style="width:100%;height:640px;border:0" srcdoc="{html.escape(self.html)}"></iframe>'
        )


def explore(expr: Expr, path: str | PathLike[str] | None = None, /, **values: object) -> Page:
    """A page that draws an expression and steps through forward and reverse accumulation.

    With values for the variables, by name, each node shows its value and its cotangent in numbers;
    without, cotangents are formulas. Arrow keys step; Home and End go to either end. With ``path``, the
    page is written to that file.

    Raises ValueError for more than 200 nodes, TypeError for values that do not fit and for what is no
    expression, OSError where the file cannot be written.

    >>> import funcgrad as fg
    >>> x = fg.var("x")
    >>> explore(fg.sin(x) * x, x=0.5)
    <page of 3 nodes and 7 steps>
    """
    nodes = distinct(expr, "explore", MOST_NODES_DRAWN, "explore a part of it")
    if is_tuple(expr):
        raise TypeError(
            f"explore: expected one number or array as root, but got a tuple {expr.type}; take a part"
        )
    known = _values(expr, nodes, values)
    forward = [
        {"at": i, "way": "forward", "say": _said(i, formula, known)}
        for i, (_, formula, _) in enumerate(tell(nodes, functions_of(nodes)[0]))
    ]
    reverse = _reverse(expr, nodes, values)
    steps = [
        {"at": -1, "way": "start", "say": "Press the right arrow to begin."},
        *forward,
        *reverse,
    ]
    data = {"steps": steps, "values": known, "last": len(nodes) - 1}
    parts = {
        "TITLE": html.escape(printable(_title(expr))),
        "FORMULA": html.escape(printable(text(expr))),
        "ROWS": _rows(nodes),
        "GRAPH": draw(nodes, "explore"),
        "STEPS": str(len(steps) - 1),
        "DATA": _as_data(data),
    }
    # In one pass, so that what is put in is not searched for places itself.
    page = re.sub("@([A-Z]+)@", lambda match: parts[match[1]], _PAGE)
    if path is not None:
        Path(path).write_text(page, encoding="utf-8")
    return Page(page, len(nodes), len(steps))


def _title(expr: Expr) -> str:
    line = text(expr).splitlines()[-1].removeprefix("in ")
    return line if len(line) <= 60 else line[:59] + "…"


def _as_data(data: object) -> str:
    # In a script element, only "<" could end it; the rest is for readers that are less exact.
    line = json.dumps(data)
    for c in "<>&":
        line = line.replace(c, f"\\u{ord(c):04x}")
    return line


def _values(expr: Expr, nodes: list[Expr], values: Mapping[str, Any]) -> list[str]:
    if not values:
        return [""] * len(nodes)
    known = evaluate_all(expr, values)
    return [shown(known[e.key]) for e in nodes]


def _said(i: int, formula: str, known: list[str]) -> str:
    return f"v{i} = {formula}" + (f" = {known[i]}" if known[i] else "")


def _reverse(expr: Expr, nodes: list[Expr], values: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The steps of `backprop_steps`: what each changes of the cotangents, as they are shown."""
    if not differentiable(expr.dtype):
        return []
    place = places(nodes)
    maps = list(backprop_steps(expr))
    changes: list[list[tuple[int, Any]]] = [[(place[expr.key], maps[0].map[expr.key])]]
    visited = list(reversed(nodes))
    for before, after, e in zip(maps, maps[1:], visited, strict=False):
        parents = dict.fromkeys(arg.key for arg in e.args)
        changes.append(
            [
                (place[key], after.map[key])
                for key in parents
                if key in after.map and after.map[key] is not before.map.get(key)
            ]
        )
    texts = iter(_texts(expr, [value for change in changes for _, value in change], values))
    steps = [_step(nodes, len(nodes) - 1, changes[0], texts, "seed")]
    for change, e in zip(changes[1:], visited, strict=True):
        if change:
            steps.append(_step(nodes, place[e.key], change, texts, "reverse"))
    return steps


def _step(
    nodes: list[Expr], at: int, change: list[tuple[int, Any]], texts: Iterator[str], way: str
) -> dict[str, Any]:
    found = {str(i): _together(nodes[i], value, texts) for i, value in change}
    gains = ", ".join(f"z{i} = {value}" for i, value in found.items())
    source = nodes[at]
    how = f" ({way_back(source)})" if source.op not in (INPUT, CONSTANT) and source.op.joint else ""
    say = f"Seed: {gains}" if way == "seed" else f"From z{at} back through v{at}{how}: now {gains}"
    return {"at": at, "way": way, "say": say, "z": found}


def _together(e: Expr, value: object, texts: Iterator[str]) -> str:
    """The text of a cotangent, of a tuple's that of each part; 0 for what nothing reaches."""
    if not isinstance(value, Parts):
        return next(texts)
    found = {k: next(texts) for k in value.of}
    count = len(e.type.parts)  # type: ignore[attr-defined]
    inside = ", ".join([found.get(k, "0") for k in range(count)])
    return f"({inside}{',' if count == 1 else ''})"


def _texts(expr: Expr, cotangents: list[Any], values: Mapping[str, Any]) -> list[str]:
    """The text of each cotangent, and of each part of a tuple's."""
    flat = [part for z in cotangents for part in (z.of.values() if isinstance(z, Parts) else [z])]
    simple = simplify_all(flat, mode="derivative")
    if not values:
        return [_one_line(e) for e in simple]
    variables, arrays = inputs_of(expr, values, {})
    return [shown(np.asarray(v)[()]) for v in lower(simple, variables).run(arrays)]


def _one_line(expr: Expr) -> str:
    lines = text(expr).splitlines()
    line = lines[0] if len(lines) == 1 else "… " + lines[-1].strip()
    return line if len(line) <= 60 else line[:59] + "…"


def _rows(nodes: list[Expr]) -> str:
    rows = []
    for i, step in enumerate(tell(nodes, functions_of(nodes)[0])):
        kind = "constant" if step.expr.op is CONSTANT else face(step.expr).kind
        cells = [
            f"v{i}",
            html.escape(printable(step.formula)),
            html.escape(str(step.expr.type)),
            "",
            "",
        ]
        inner = "".join(f"<td>{cell}</td>" for cell in cells)
        rows.append(f'<tr class="{kind}">{inner}</tr>')
    return "\n".join(rows)


_PAGE = """\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width,initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; \
script-src 'unsafe-inline'">
<title>@TITLE@</title>
<style>
:root{color-scheme:light dark;--ink:#14181d;--paper:#fff;--line:#c6ccd4;--now:#ffd54d;--back:#ff9e80}
@media (prefers-color-scheme:dark){:root{--ink:#e8eaed;--paper:#16191d;--line:#444b55}}
body{margin:1rem;font:15px/1.45 sans-serif;color:var(--ink);background:var(--paper)}
pre{overflow:auto;padding:.6rem;border:1px solid var(--line);border-radius:6px}
main{display:flex;flex-wrap:wrap;gap:1.2rem;align-items:flex-start}
figure{margin:0;overflow:auto;max-width:100%}
table{border-collapse:collapse}
td,th{padding:.15rem .6rem;border-bottom:1px solid var(--line);text-align:left}
td{font-family:monospace}
button{font-size:1rem;padding:.3rem .8rem}
:focus-visible{outline:3px solid #3584e4;outline-offset:2px}
#say{min-height:1.5em;font-family:monospace}
.later{opacity:.35}
tr.now td{background:var(--now);color:#14181d}
tr.now.back td{background:var(--back)}
g.now rect,g.now ellipse{fill:var(--now)!important}
g.now.back rect,g.now.back ellipse{fill:var(--back)!important}
</style>
</head>
<body>
<h1>Forward and reverse accumulation</h1>
<pre>@FORMULA@</pre>
<div role="group" aria-label="Steps">
<button id="first" type="button" aria-label="First step">&#x23EE;</button>
<button id="back" type="button" aria-label="Step backwards">&#x25C0;</button>
<button id="next" type="button" aria-label="Step forwards">&#x25B6;</button>
<button id="end" type="button" aria-label="Last step">&#x23ED;</button>
<input id="range" type="range" min="0" max="@STEPS@" value="0" aria-label="Step">
<span id="count"></span>
</div>
<p id="say" role="status" aria-live="polite"></p>
<main>
<figure>@GRAPH@</figure>
<table>
<thead><tr><th scope="col">node</th><th scope="col">formula</th><th scope="col">type</th>\
<th scope="col">value</th><th scope="col">cotangent z</th></tr></thead>
<tbody id="rows">
@ROWS@
</tbody>
</table>
</main>
<script id="data" type="application/json">@DATA@</script>
<script>
"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const rows = Array.from(document.getElementById("rows").children);
const groups = rows.map((_, i) => document.querySelector(".fg-n" + i));
const range = document.getElementById("range");
let now = 0;
function show(step) {
  now = Math.max(0, Math.min(data.steps.length - 1, step));
  const z = {};
  let reached = -1;
  for (const s of data.steps.slice(0, now + 1)) {
    if (s.way === "forward") reached = s.at;
    Object.assign(z, s.z || {});
  }
  const s = data.steps[now];
  const back = s.way === "reverse" || s.way === "seed";
  rows.forEach((row, i) => {
    row.children[3].textContent = i <= reached ? data.values[i] : "";
    row.children[4].textContent = z[i] === undefined ? "" : z[i];
    for (const item of [row, groups[i]]) {
      item.classList.toggle("later", now > 0 && i > reached);
      item.classList.toggle("now", i === s.at);
      item.classList.toggle("back", i === s.at && back);
    }
  });
  document.getElementById("say").textContent = s.say;
  document.getElementById("count").textContent = now + " / " + (data.steps.length - 1);
  range.value = now;
}
const moves = {
  ArrowRight: () => show(now + 1), ArrowLeft: () => show(now - 1),
  Home: () => show(0), End: () => show(data.steps.length - 1),
};
document.addEventListener("keydown", (event) => {
  if (event.altKey || event.ctrlKey || event.metaKey || !moves[event.key]) return;
  event.preventDefault();
  moves[event.key]();
});
document.getElementById("first").addEventListener("click", moves.Home);
document.getElementById("back").addEventListener("click", moves.ArrowLeft);
document.getElementById("next").addEventListener("click", moves.ArrowRight);
document.getElementById("end").addEventListener("click", moves.End);
range.addEventListener("input", () => show(Number(range.value)));
show(0);
</script>
</body>
</html>
"""

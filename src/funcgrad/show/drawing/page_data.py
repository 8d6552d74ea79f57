"""The data of the explorer page: nodes, edges, groups, and the steps of both passes.

A pane is a program with its steps. A step says in words what it does, and which gradients change: the steps
of the backward pass are those of the persistent scan `backprop_steps`. Numbers stand in the text as places in
the list of `PageValues`, so that the page can compute them anew.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from funcgrad.autodiff.accumulate import backprop_steps
from funcgrad.control.closed_program import Body
from funcgrad.expr import Expr, by_key
from funcgrad.graph import CONSTANT, INPUT, Key
from funcgrad.linear import Parts
from funcgrad.node_names import names_of
from funcgrad.ops.base.op import differentiable
from funcgrad.ops.tuples import together_op
from funcgrad.printed_text import one_line
from funcgrad.rewrite.simplify import simplify_all
from funcgrad.show.drawing.group_tree import group_tree
from funcgrad.show.drawing.page_bodies import add_bodies, constant_names, map_text, node_text
from funcgrad.show.drawing.page_values import PageValues
from funcgrad.show.explain import Pullback, Step, StepNames, edge_map, functions_of, in_words, tell
from funcgrad.show.functions import Function, way_back
from funcgrad.show.naming import places, printable

MOST_FORMULAS = 200  # nodes of a program whose gradients are shown as formulas, too
MOST_WRITTEN = 100  # nodes of a result whose formula may be short enough to be shown in full
MOST_NAMED = 12  # variables that the last step names
WIDEST_FORMULA = 80  # characters

Words: TypeAlias = list[str | int]
"""A text in which a number stands for a value, by its place."""
Change: TypeAlias = tuple[int, int]
"""A node whose gradient changes, and the place of its new value."""


class Pane(NamedTuple):
    """A program as the page draws it."""

    nodes: list[Expr]
    names: list[str]
    told: list[Step]
    roots: list[tuple[str, Expr]]
    constants: Mapping[Key, str]
    """The nodes that are numbers to a reader, with their texts."""
    functions: Mapping[Body, Function]
    """The functions that nodes run."""
    definitions: list[str]
    """The lines that define them."""

    @property
    def place(self) -> dict[Key, int]:
        return places(self.nodes)


def pane_of(roots: Sequence[tuple[str, Expr]]) -> Pane:
    """The nodes below some named results, in topological order, each with its name and formula."""
    exprs = [expr for _, expr in roots]
    nodes = list(by_key(*exprs).values())
    given = names_of(exprs[0] if len(exprs) == 1 else together_op(*exprs))
    constants = constant_names(nodes)
    names = [constants.get(e.key) or printable(given[e.key]) for e in nodes]
    functions, definitions = functions_of(nodes, exprs)
    told = tell(nodes, functions, StepNames(names, ["g"] * len(nodes)))
    return Pane(nodes, names, told, list(roots), constants, functions, definitions)


def pane_data(
    title: str, pane: Pane, steps: list[dict[str, Any]], values: PageValues
) -> dict[str, Any]:
    """A pane as JSON."""
    place = pane.place
    tree = group_tree(pane.nodes)
    nodes = [
        _node_data(pane, i, place, values) | {"group": tree.of_node[i]}
        for i in range(len(pane.nodes))
    ]
    groups = [{"title": printable(title), "parent": at} for title, at in tree.groups]
    add_bodies(nodes, groups, pane.nodes, pane.functions)
    return {
        "title": title,
        "nodes": nodes,
        "roots": [
            {
                "name": printable(name),
                "node": place[e.key],
                "formula": _root_formula(pane, place[e.key]),
            }
            for name, e in pane.roots
        ],
        "definitions": [printable(line) for line in pane.definitions],
        "groups": groups,
        "steps": steps,
    }


def _root_formula(pane: Pane, i: int) -> str:
    """A result's formula in its variables, or, where that would be cut, in the nodes that it is made of."""
    whole = _formula(pane.nodes[i]) if len(by_key(pane.nodes[i])) <= MOST_WRITTEN else "…"
    return printable(pane.told[i].formula) if whole.endswith("…") else whole


def _formula(expr: Expr) -> str:
    return printable(one_line(expr, WIDEST_FORMULA))


def _node_data(pane: Pane, i: int, place: dict[Key, int], values: PageValues) -> dict[str, Any]:
    e, _, pullbacks = pane.told[i]
    return {
        **node_text(pane.told[i], pane.names[i], pane.constants),
        "value": values.place(e),
        "operands": [place[arg.key] for arg in e.args],
        "maps": [_map_data(e, pullback, values) for pullback in pullbacks],
    }


def _map_data(e: Expr, pullback: Pullback, values: PageValues) -> dict[str, Any]:
    """An edge's linear map: between scalars the local derivative, else the pullback of the gradient g."""
    found = map_text(pullback)
    if pullback.slope:
        slope = _pulled(e, pullback.at, 1.0)
        if slope is not None:
            found["value"] = values.place(slope)
    return found


def _pulled(e: Expr, at: int, cotangent: Any) -> Expr | None:
    """What the operand gets of a node's cotangent; None if nothing, or for parts of tuples."""
    linear = None if e.op.joint is not None else edge_map(e, at, e, list(e.args))
    pulled = None if linear is None else linear.transpose(cotangent)
    return pulled if isinstance(pulled, Expr) else None


# -- steps -----------------------------------------------------------------------------------------
def forward_steps(pane: Pane, values: PageValues) -> Iterator[dict[str, Any]]:
    """A step for each node but the constants: its value, from those of its operands."""
    for i, (e, formula, _) in enumerate(pane.told):
        if e.op is CONSTANT or e.key in pane.constants:
            continue
        own = [] if e.op is INPUT else [f" = {printable(formula)}"]
        say: Words = [pane.names[i], *own, " = ", values.place(e)]
        yield {"pass": "forward", "node": i, "say": say, "changes": []}


def backward_steps(pane: Pane, values: PageValues) -> Iterator[dict[str, Any]]:
    """The steps of `backprop_steps` in which a gradient changes, and before them the start of the root."""
    root = pane.nodes[-1]
    if not differentiable(root.dtype):
        return
    place = pane.place
    scan = backprop_steps(root)
    before = next(scan).map
    start = _change(pane, place, root.key, before[root.key], values)
    say: Words = [f"Start at the result: {pane.names[-1]} gets ", start[1]]
    yield {"pass": "backward", "node": len(pane.nodes) - 1, "say": say, "changes": [start]}
    for e, step in zip(reversed(pane.nodes), scan, strict=True):
        after = step.map
        changed = [
            _change(pane, place, key, after[key], values)
            for key in dict.fromkeys([arg.key for arg in e.args])
            if key in after and after[key] is not before.get(key)
        ]
        if changed:
            i = place[e.key]
            say = _visit(pane, pane.told[i], before, dict(changed), values)
            with_g = " with gradient g" if e.shape else ""
            say = [f"Visit {pane.names[i]} = {printable(pane.told[i].formula)}{with_g}: ", *say]
            yield {"pass": "backward", "node": i, "say": say, "changes": changed}
        before = after


def _change(
    pane: Pane, place: dict[Key, int], key: Key, cotangent: Any, values: PageValues
) -> Change:
    i = place[key]
    parts = getattr(pane.nodes[i].type, "parts", ())
    return i, values.place(cotangent, len(parts))


def _visit(
    pane: Pane, told: Step, before: Any, changed: dict[int, int], values: PageValues
) -> Words:
    """What each operand gets, in words and numbers: ``x gets 2 · y = 6, total 9``."""
    e = told.expr
    own = before[e.key]
    words: list[Words] = []
    reached = {arg.key for arg in e.args if arg.key in before}
    for pullback in told.pullbacks:
        i = pullback.parent
        if i not in changed or pane.nodes[i].key in pane.constants:
            continue
        name, key = pane.names[i], pane.nodes[i].key
        term = None if isinstance(own, Parts) else _pulled(e, pullback.at, own)
        total: Words = [", total ", changed[i]] if key in reached and term is not None else []
        words.append([f"{name} gets ", *_share(pullback, own, term, changed[i], values), *total])
        reached.add(key)
    rule = f" ({way_back(e)})" if e.op.joint is not None else in_words(e)
    said = [item for part in words for item in ["; ", *part]][1:]
    return [*(said or ["constants get gradients, which nothing needs"]), *([rule] if rule else [])]


def _share(
    pullback: Pullback, own: Any, term: Expr | None, total: int, values: PageValues
) -> Words:
    """What one operand gets of a node's gradient: ``2 · y = 6``, of an array ``W.T @ g = float64[3]``."""
    if term is None:
        return [total]
    if pullback.slope in ("1", "-1") or pullback.formula.startswith("pullback of"):
        return [values.place(term)]
    if not pullback.slope:
        return [f"{printable(pullback.formula)} = ", values.place(term)]
    slope = f"({pullback.slope})" if " " in pullback.slope else pullback.slope
    return [values.place(own), f" · {printable(slope)} = ", values.place(term)]


def done_step(pane: Pane, names: Sequence[str]) -> dict[str, Any]:
    """The last step, which says where the gradient stands."""
    of = ", ".join([*names[:MOST_NAMED], *(["…"] if len(names) > MOST_NAMED else [])])
    said = f"Done: the gradients of {of} are in the map." if names else "Done."
    return {"pass": "done", "node": len(pane.nodes) - 1, "say": [said], "changes": []}


# -- formulas --------------------------------------------------------------------------------------
def gradient_formulas(steps: Sequence[dict[str, Any]], values: PageValues) -> dict[int, str]:
    """The formulas of the gradients that the steps make, by the places of their values."""
    wanted = list(dict.fromkeys(k for step in steps for _, k in step["changes"]))
    plain = [k for k in wanted if k not in values.parts]
    simple = simplify_all([values.exprs[k] for k in plain], mode="derivative")
    return {k: _formula(e) for k, e in zip(plain, simple, strict=True)}

"""Values, gradients and linear maps of a program's nodes and edges, as short texts for a drawing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from funcgrad.autodiff.accumulate import backprop
from funcgrad.autodiff.edges import is_scalar, linear_map
from funcgrad.expr import Expr, const, present, symbol
from funcgrad.graph import CONSTANT
from funcgrad.linear import Parts
from funcgrad.node_names import names_of
from funcgrad.ops.base.op import differentiable
from funcgrad.printed_text import one_line
from funcgrad.rewrite.evaluate import evaluate_all
from funcgrad.rewrite.simplify import simplify, simplify_all
from funcgrad.show.drawing.labels import cut_label, number_label
from funcgrad.show.functions import is_tuple
from funcgrad.show.naming import array_of
from funcgrad.show.numbers import label
from funcgrad.show.table import table
from funcgrad.show.text import text

WIDEST_LOCAL = 18  # characters of the text of an edge

Arc = tuple[int, int]  # a node's place in the canonical order, and which operand


class Annotations(NamedTuple):
    """Texts of nodes, by place in the canonical order, and of edges; empty where there is nothing to say.

    ``names`` are those by which the texts of edges call the nodes; none if these are numbers.
    ``pulled``: some edges are between arrays, and their texts say how they pull a cotangent z back.
    """

    values: list[str]
    gradients: list[str]
    locals: Mapping[Arc, str]
    names: list[str]
    pulled: bool = False


def no_annotations(nodes: list[Expr]) -> Annotations:
    """Nothing is known but the nodes."""
    empty = [""] * len(nodes)
    return Annotations(empty, empty, {}, [])


def number_annotations(
    nodes: list[Expr], arcs: Iterable[Arc], values: Mapping[Any, Any]
) -> Annotations:
    """Values and gradients of nodes in canonical order, and linear maps of some edges, at given values."""
    root = nodes[-1]
    if not differentiable(root.dtype) or is_tuple(root):
        known = evaluate_all(root, values)
        found = [number_label(present(known[e.key])) for e in nodes]
        return Annotations(found, [""] * len(nodes), {}, [])
    rows = table(root, values)
    gradients = ["" if row.gradient is None else number_label(row.gradient) for row in rows]
    slopes, others = {}, []
    for i, at in arcs:
        e = nodes[i]
        if is_scalar(e, e.args[at]):
            # Rules ask for dtypes, which Python's numbers do not have.
            value, *operands = [_typed(nodes[p], rows[p].value) for p in (i, *rows[i].parents)]
            with np.errstate(all="ignore"):
                derivative = linear_map(e, at, value, tuple(operands))
                if derivative is not None:
                    slope = derivative.transpose(e.dtype.type(1))
                    slopes[i, at] = number_label(0.0 if slope is None else slope)
        else:
            others.append((i, at))
    names = list(names_of(root).values())
    texts = _pullbacks(nodes, others, names)
    shown = [number_label(row.value) for row in rows]
    return Annotations(shown, gradients, slopes | texts, names if texts else [], bool(texts))


def _typed(expr: Expr, value: Any) -> Any:
    """The value of a node with the node's dtype; of a tuple as it is."""
    return value if is_tuple(expr) else np.asarray(value, expr.dtype)[()]


def formula_annotations(nodes: list[Expr], arcs: Iterable[Arc]) -> Annotations:
    """The formulas of the gradients of nodes in canonical order, and of the linear maps of some edges.

    A formula that is too long for a node is cut, so that a node without one is one that no gradient reaches.
    """
    names = list(names_of(nodes[-1]).values())
    found = [
        z.removesuffix(".0") if z.replace(".", "").isdigit() else z for z in cotangent_labels(nodes)
    ]
    texts = _pullbacks(nodes, arcs, names)
    pulled = any([not is_scalar(nodes[i], nodes[i].args[at]) for i, at in texts])
    return Annotations([""] * len(nodes), [cut_label(z) for z in found], texts, names, pulled)


def _pullbacks(nodes: list[Expr], arcs: Iterable[Arc], names: list[str]) -> dict[Arc, str]:
    """The formula of each edge's local derivative; between arrays, how it pulls a cotangent z back."""
    name = {e.key: name for e, name in zip(nodes, names, strict=True)}
    texts = {}
    for i, at in arcs:
        e = nodes[i]
        if any([is_tuple(end) for end in (e, *e.args)]):
            continue
        called = [x if x.op is CONSTANT else symbol(name[x.key], x.type) for x in (e, *e.args)]
        found = linear_map(e, at, called[0], tuple(called[1:]))
        if found is not None:
            scalar = is_scalar(e, e.args[at])
            pulled = found.transpose(const(e.dtype.type(1)) if scalar else symbol("z", e.type))
            texts[i, at] = "0" if pulled is None else _formula(simplify(pulled), WIDEST_LOCAL)
    return texts


def cotangent_labels(nodes: list[Expr]) -> list[str]:
    """The formula of the cotangent of each node, the last one's seeded with 1; empty where none arrives.

    A formula that takes several lines is "…".
    """
    if not differentiable(nodes[-1].dtype):
        return [""] * len(nodes)
    found = backprop(nodes[-1]).map
    flat: list[Any] = []
    for e in nodes:
        z = found.get(e.key)
        flat.extend(z.of.values() if isinstance(z, Parts) else [] if z is None else [z])
    simple = iter([_only_line(e) for e in simplify_all(flat, mode="reading")])
    return [_cotangent(found.get(e.key), e, simple) for e in nodes]


def _cotangent(z: object, expr: Expr, texts: Iterator[str]) -> str:
    if z is None:
        return ""
    if not isinstance(z, Parts):
        return next(texts)
    parts = {k: next(texts) for k in z.of}
    count = len(expr.type.parts)  # type: ignore[attr-defined]
    return f"({', '.join([parts.get(k, '0') for k in range(count)])})"


def _formula(expr: Expr, width: int) -> str:
    return label(array_of(expr)) if expr.op is CONSTANT else cut_label(one_line(expr, width), width)


def _only_line(expr: Expr) -> str:
    lines = text(expr).splitlines()
    return lines[0] if len(lines) == 1 else "…"

"""The pattern of a Jacobian: the sum over all paths of the products of the patterns on their edges.

As for derivatives, the products may be taken forward, from the leaves, or backward, from the roots.
"""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial

import numpy as np

from funcgrad.control.loop import UNKNOWN_LENGTH
from funcgrad.expr import Expr, by_key, subexpressions
from funcgrad.fold import Edge, Semiring, sum_product
from funcgrad.graph import ArrayType, TupleType, ancestors
from funcgrad.ops.base.op import columns_of, differentiable
from funcgrad.ops.tuples import pick_op, together_op
from funcgrad.transforms.sparse.edge_patterns import (
    DENSE,
    SAME,
    Facts,
    Pattern,
    edge_pattern,
    entry_count,
    facts,
    matrix,
    scipy_sparse,
)


def jacobian_pattern(
    roots: Sequence[Expr], leaves: Sequence[Expr], known: Mapping[int, Facts]
) -> Pattern:
    """The pattern of the Jacobian of the roots' entries in the leaves' entries, each concatenated.

    Forward if the leaves have no more entries than the roots, else backward, so that the smaller number
    bounds the columns, or rows, of every product.
    """
    inputs, outputs = sum([x.size for x in leaves]), sum([x.size for x in roots])
    accumulate = _forward if inputs <= outputs else _backward
    pattern = accumulate(roots, leaves, known)
    pattern.sort_indices()
    return pattern


def _edges(expr: Expr, known: Mapping[int, Facts]) -> list[tuple[Expr, Callable[[], Pattern]]]:
    """The differentiable operands, each with a function that computes the pattern on its edge."""
    mine = known.get(id(expr), ())
    return [
        (arg, partial(_pattern, expr, place, mine))
        for place, arg in enumerate(expr.args)
        if differentiable(arg.dtype) and expr.op.edge(place) is not None
    ]


def _pattern(expr: Expr, place: int, known: Facts) -> Pattern:
    """The pattern on the edge to an operand; a node that holds programs has the patterns of these."""
    rule = columns_of(expr).sparsity
    if not callable(rule) and expr.op in (pick_op, together_op):
        return edge_pattern(expr, place, known)
    if any([_has_open_axis(x.type) for x in (expr, expr.args[place])]):
        return DENSE
    if not callable(rule):
        return edge_pattern(expr, place, known)
    found = matrix((), (), (entry_count(expr), entry_count(expr.args[place])))
    for part in rule(expr, place):
        if any([_has_open_axis(x.type) for x in subexpressions(*part.roots)]):
            return DENSE  # the length of what an open loop met is known only when it has run
        pairs = [(x, known[i]) for x, i in part.given if known and known[i] is not None]
        inside = facts(part.roots, {id(x): value for x, value in pairs})
        pattern = jacobian_pattern(part.roots, part.leaves, inside)
        found = found + (pattern.T.tocsr() if part.transposed else pattern)
    return found


def _has_open_axis(type: ArrayType | TupleType) -> bool:
    parts = type.parts if isinstance(type, TupleType) else (type,)
    return any([UNKNOWN_LENGTH in part.shape for part in parts])


def _offsets(exprs: Sequence[Expr]) -> list[int]:
    return [0, *np.cumsum([entry_count(x) for x in exprs], dtype=int).tolist()]


def _forward(roots: Sequence[Expr], leaves: Sequence[Expr], known: Mapping[int, Facts]) -> Pattern:
    starts = _offsets(leaves)
    width = starts[-1]
    rows: dict[int, Pattern] = {}
    for leaf, start in zip(leaves, starts[:-1], strict=True):
        here = np.arange(entry_count(leaf))
        rows[id(leaf)] = matrix(here, here + start, (entry_count(leaf), width))
    order = subexpressions(*roots)
    users = Counter([id(arg) for expr in order for arg in expr.args]) + Counter(map(id, roots))
    for expr in order:
        if id(expr) not in rows and differentiable(expr.dtype):
            for arg, edge in _edges(expr, known):
                if id(arg) in rows:
                    term = _after(edge(), rows[id(arg)], entry_count(expr))
                    rows[id(expr)] = rows[id(expr)] + term if id(expr) in rows else term
        for arg in expr.args:  # dead rows are freed
            users[id(arg)] -= 1
            if not users[id(arg)]:
                rows.pop(id(arg), None)
    parts = [rows.get(id(root)) for root in roots]
    filled = [
        matrix((), (), (entry_count(root), width)) if part is None else part
        for root, part in zip(roots, parts, strict=True)
    ]
    return scipy_sparse().vstack(filled, format="csr") if filled else matrix((), (), (0, width))


def _after(edge: Pattern, below: Pattern, size: int) -> Pattern:
    if edge is SAME:
        return below
    if edge is DENSE:
        met = np.unique(below.indices)
        return matrix(
            np.repeat(np.arange(size), met.size), np.tile(met, size), (size, below.shape[1])
        )
    return edge @ below


def _backward(roots: Sequence[Expr], leaves: Sequence[Expr], known: Mapping[int, Facts]) -> Pattern:
    """The pattern by `sum_product` on patterns, whose sum is the union."""
    starts = _offsets(roots)
    height = starts[-1]
    whole = together_op(*roots)
    exprs = by_key(whole)
    ends = {leaf.key for leaf in leaves}
    inside = set(ancestors(whole, list(ends)))

    def weight(edge: Edge) -> tuple[Pattern, int] | None:
        child, arg = exprs[edge.child], exprs[edge.parent]
        if edge.parent not in inside or edge.child in ends or not differentiable(arg.dtype):
            return None
        if child is whole:  # each root's rows among those of all
            here = np.arange(entry_count(arg))
            return matrix(here + starts[edge.place], here, (height, entry_count(arg))), entry_count(
                arg
            )
        if child.op.edge(edge.place) is None:
            return None
        return _pattern(child, edge.place, known.get(id(child), ())), entry_count(arg)

    def joined(above: Pattern | None, weight: tuple[Pattern, int]) -> Pattern:
        return weight[0] if above is None else _before(above, *weight)

    found = sum_product(whole, Semiring(operator.add, joined, None), weight)
    filled = [
        found[leaf.key] if leaf.key in found else matrix((), (), (height, entry_count(leaf)))
        for leaf in leaves
    ]
    return scipy_sparse().hstack(filled, format="csr") if filled else matrix((), (), (height, 0))


def _before(above: Pattern, edge: Pattern, size: int) -> Pattern:
    if edge is SAME:
        return above
    if edge is DENSE:
        met = np.flatnonzero(np.diff(above.indptr))
        return matrix(
            np.repeat(met, size), np.tile(np.arange(size), met.size), (above.shape[0], size)
        )
    return above @ edge

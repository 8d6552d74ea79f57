"""The pattern of a Jacobian: the sum over all paths of the products of the patterns on their edges.

As for derivatives, the products may be taken forward, from the leaves, or backward, from the roots.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial

import numpy as np

from funcgrad.expr import Expr, subexpressions
from funcgrad.ops.op import differentiable
from funcgrad.transforms.patterns import (
    DENSE,
    SAME,
    Facts,
    Pattern,
    edge_pattern,
    matrix,
    scipy_sparse,
)


def jacobian_pattern(
    roots: Sequence[Expr], leaves: Sequence[Expr], known: Mapping[int, Facts]
) -> Pattern:
    """Which entries of the roots, one after another, depend on which of the leaves.

    Forward where there are fewer leaves' entries than roots', backward else: no product on the way
    has more rows, or columns, than the smaller number.
    """
    inputs, outputs = sum([x.size for x in leaves]), sum([x.size for x in roots])
    accumulate = _forward if inputs <= outputs else _backward
    pattern = accumulate(roots, leaves, known)
    pattern.sort_indices()
    return pattern


def _edges(expr: Expr, known: Mapping[int, Facts]) -> list[tuple[Expr, Callable[[], Pattern]]]:
    """The operands through which derivatives flow, with their patterns, to be asked for."""
    mine = known.get(id(expr), ())
    return [
        (arg, partial(edge_pattern, expr, place, mine))
        for place, arg in enumerate(expr.args)
        if differentiable(arg.dtype) and expr.op.edge(place) is not None
    ]


def _offsets(exprs: Sequence[Expr]) -> list[int]:
    return [0, *np.cumsum([x.size for x in exprs], dtype=int).tolist()]


def _forward(roots: Sequence[Expr], leaves: Sequence[Expr], known: Mapping[int, Facts]) -> Pattern:
    starts = _offsets(leaves)
    width = starts[-1]
    rows: dict[int, Pattern] = {}
    for leaf, start in zip(leaves, starts[:-1], strict=True):
        here = np.arange(leaf.size)
        rows[id(leaf)] = matrix(here, here + start, (leaf.size, width))
    order = subexpressions(*roots)
    users = Counter([id(arg) for expr in order for arg in expr.args]) + Counter(map(id, roots))
    for expr in order:
        if id(expr) not in rows and differentiable(expr.dtype):
            for arg, edge in _edges(expr, known):
                if id(arg) in rows:
                    term = _after(edge(), rows[id(arg)], expr.size)
                    rows[id(expr)] = rows[id(expr)] + term if id(expr) in rows else term
        for arg in expr.args:  # what nobody asks for again is let go
            users[id(arg)] -= 1
            if not users[id(arg)]:
                rows.pop(id(arg), None)
    parts = [rows.get(id(root)) for root in roots]
    filled = [
        matrix((), (), (root.size, width)) if part is None else part
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
    starts = _offsets(roots)
    height = starts[-1]
    columns: dict[int, Pattern] = {}

    def arrive(expr: Expr, term: Pattern) -> None:
        columns[id(expr)] = columns[id(expr)] + term if id(expr) in columns else term

    for root, start in zip(roots, starts[:-1], strict=True):
        if differentiable(root.dtype):
            here = np.arange(root.size)
            arrive(root, matrix(here + start, here, (height, root.size)))
    ends = {id(leaf) for leaf in leaves}
    inside = set(ends)
    order = subexpressions(*roots)
    for expr in order:
        if any([id(arg) in inside for arg in expr.args]):
            inside.add(id(expr))
    for expr in reversed(order):
        if id(expr) in ends or id(expr) not in columns:
            continue
        above = columns.pop(id(expr))
        for arg, edge in _edges(expr, known):
            if id(arg) in inside:
                arrive(arg, _before(above, edge(), arg.size))
    parts = [columns.get(id(leaf)) for leaf in leaves]
    filled = [
        matrix((), (), (height, leaf.size)) if part is None else part
        for leaf, part in zip(leaves, parts, strict=True)
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

"""The edges of a program as data: each with its linear map and, between scalars, its local derivative."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from funcgrad.autodiff.accumulate import reached_keys
from funcgrad.expr import (
    Expr,
    as_expression,
    assemble_node,
    by_key,
    const,
    constant_of,
    symbol,
    var,
)
from funcgrad.fold import Edge
from funcgrad.graph import CONSTANT, INPUT, ArrayType, Constant, Key, Params
from funcgrad.linear import LinearMap
from funcgrad.node_names import labels
from funcgrad.ops.base.op import Elementwise, Op, differentiable
from funcgrad.printed_text import aligned_columns, highlighted, html_table, one_line
from funcgrad.rewrite.simplify import simplify
from funcgrad.rewrite.substitute import substitute_all
from funcgrad.source import type_error


class LabeledEdge(NamedTuple):
    """An edge from a node (``child``) to its operand at ``place`` (``parent``).

    ``map`` is the linear map from a tangent of the parent to one of the child, and ``local`` the
    derivative of the child in the parent, a formula; None unless both are scalars.
    """

    child: Expr
    place: int
    parent: Expr
    map: LinearMap
    local: Expr | None

    def __repr__(self) -> str:
        return "  ".join(self.cells())

    def cells(self, names: Mapping[Key, str] | None = None) -> tuple[str, str, str]:
        """The texts of child, parent, and the local derivative or the pullback of a cotangent z.

        ``names`` are those of named nodes, by which formulas call them; if it is None, those below the child.
        """
        given = _variables(labels(self.child) if names is None else names, self.child)
        child, parent = _text(self.child, given, whole=True), _text(self.parent, given)
        if child == parent:  # a broadcast or a cast, which formulas do not show
            child = f"{self.child.op.name}({child})"
        if self.local is not None:
            return child, parent, _text(self.local, given)
        if "O" in (self.child.dtype.kind, self.parent.dtype.kind):
            return child, parent, "pullback of a tuple"
        pulled = self.map.transpose(var("z", self.child.shape, self.child.dtype))
        back = 0 if pulled is None else simplify(substitute_all([pulled], given)[0])
        return child, parent, f"z -> {one_line(back, _WIDTH)}"


def _variables(names: Mapping[Key, str], root: Expr) -> dict[Key, Expr]:
    """A variable in the place of each named node below a root; a constant is equal to others by chance."""
    if not names:
        return {}
    return {
        key: var(names[key], expr.shape, expr.dtype)
        for key, expr in by_key(root).items()
        if key in names and names[key].isidentifier() and expr.op is not CONSTANT
    }


def _text(expr: Expr, given: Mapping[Key, Expr], whole: bool = False) -> str:
    """A formula on a line, with the names of named nodes; ``whole``: with what its own name stands for."""
    own = given.get(expr.key) if expr.op is not INPUT else None
    if own is not None and not whole:
        return own.name
    inner = {key: variable for key, variable in given.items() if key != expr.key}
    (formula,) = substitute_all([expr], inner) if inner else (expr,)
    return (
        f"{own.name} = {one_line(formula, _WIDTH)}"
        if own is not None
        else one_line(formula, _WIDTH)
    )


_WIDTH = 40  # characters of a formula in a column
_MOST = 40  # edges that are printed


class Edges(tuple[LabeledEdge, ...]):
    """The edges of a program, which print as a table: child, parent and local derivative."""

    __slots__ = ()

    def __repr__(self) -> str:
        more = len(self) - _MOST
        shown = aligned_columns([_HEADER, *self._cells()])
        return f"{shown}\n… {more} more" if more > 0 else shown

    def _cells(self) -> list[tuple[str, str, str]]:
        names = labels(self[-1].child) if self else {}
        return [edge.cells(names) for edge in self[:_MOST]]

    def _repr_html_(self) -> str:
        return html_table(_HEADER, self._cells())

    def __rich__(self) -> Any:
        return highlighted(repr(self))


_HEADER = ("node", "operand", "derivative")


def edges(expr: Expr) -> Edges:
    """The edges along which derivatives flow, in topological order of their
    nodes: a tuple.

    Each has ``child``, ``place``, ``parent``, ``map`` and ``local``: the node,
    which operand, the operand, the linear map, and its number as a formula if
    both are scalars. An array's edge prints how a cotangent z of the node is
    pulled back. Nodes with a name (`funcgrad.name`) are called by it. Edges to
    constants, to what is computed from constants alone, and to integers are
    left out.

    Raises TypeError if ``expr`` is no expression.

    >>> import numpy as np
    >>> import funcgrad as fg
    >>> x, y = fg.vars("x y")
    >>> edges(np.sin(x) * y)
    node      operand  derivative
    sin(x)    x        cos(x)
    sin(x)*y  sin(x)   y
    sin(x)*y  y        sin(x)
    >>> edges(np.sum(np.sin(fg.var("v", 2))))[0].map.transpose(np.ones(2))
    [1.0, 1.0]*cos(v)
    """
    return Edges(_edges(as_expression("edges", expr)))


def _edges(root: Expr) -> Iterator[LabeledEdge]:
    exprs = by_key(root)
    reached = reached_keys(exprs)
    for child in exprs.values():
        for place, parent in enumerate(child.args):
            found = linear_map(child, place, child, child.args)
            if found is not None and parent.key in reached:
                slope = _slope(child, place) if is_scalar(child, parent) else None
                yield LabeledEdge(child, place, parent, found, slope)


def linear_map(
    child: Expr, place: int, value: Expr, operands: tuple[Expr, ...]
) -> LinearMap | None:
    """The linear map of an edge, with ``value`` and ``operands`` for the child and its operands.

    None if no derivative flows along it.
    """
    parent = child.args[place]
    leaf = child.op in (INPUT, CONSTANT) or parent.op is CONSTANT
    if leaf or not differentiable(parent.dtype) or not differentiable(child.dtype):
        return None
    params = dict(child.params)
    if child.op.joint is not None:
        joined: LinearMap = child.op.joint(value, *operands, **params).edge(place)
        return joined
    rule = child.op.edge(place)
    return None if rule is None else rule(value, *operands, **params)


def local(edge: Edge | LabeledEdge) -> Expr | None:
    """The local derivative of an edge between scalars, a formula: a weight for
    `sum_product`; of one of `edges`, its attribute ``local``.

    Sums over all paths of products of local derivatives are the derivatives of
    the root (Stratos, *All of Backpropagation in Two Pages*, appendix F). None
    if no derivative flows along the edge.

    Raises TypeError if the node or its operand is an array, whose edge has no
    number (`edges` has its map), and if the edge is no expression's.

    >>> import operator
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> x, y = fg.vars("x y")
    >>> real = fg.Semiring(operator.add, operator.mul, 1.0)
    >>> sums = fg.sum_product(np.sin(x) * y, real, local)
    >>> fg.simplify(sums[x])
    y*cos(x)
    """
    if not isinstance(edge, Edge | LabeledEdge):
        raise type_error(
            f"local: expected an edge, as sum_product gives its weight, but got {type(edge).__name__}; "
            "write fg.sum_product(e, semiring, fg.local)",
        )
    child = edge.child if isinstance(edge, LabeledEdge) else edge.node
    if not isinstance(child, Expr):
        raise type_error(
            f"local: expected an edge of an expression, but got one of a {type(child).__name__}",
        )
    parent = child.args[edge.place]
    if linear_map(child, edge.place, child, child.args) is None:
        return None
    if not is_scalar(child, parent):
        raise type_error(
            f"local: expected an edge between scalars, but got {parent.type} -> {child.type}; "
            "fg.edges(e) has its linear map",
        )
    return _slope(child, edge.place)


def is_scalar(*ends: Expr) -> bool:
    """Whether the ends of an edge are numbers."""
    return not any([end.shape or end.dtype.kind == "O" for end in ends])  # O: of a tuple


def _slope(child: Expr, place: int) -> Expr:
    """The derivative of a scalar in an operand."""
    items: dict[Key, Expr] = {}
    operands: list[tuple[int | Constant, ArrayType]] = []
    for arg in child.args:
        if arg.op is CONSTANT:
            operands.append((arg.params[0][1], arg.type))
        else:
            items.setdefault(arg.key, arg)
            operands.append(([*items].index(arg.key), arg.type))
    # (What other operations hold, such as a program, is not kept.)
    slope_of = _slope_on_variables
    find = slope_of if isinstance(child.op, Elementwise) else slope_of.__wrapped__
    slope, variables = find(child.op, child.params, child.type, tuple(operands), place)
    values = (*items.values(), child)
    given = {variable.key: value for variable, value in zip(variables, values, strict=True)}
    return substitute_all([slope], given, inputs=True)[0]


@lru_cache(maxsize=1024)
def _slope_on_variables(
    op: Op,
    params: Params,
    type: ArrayType,
    operands: tuple[tuple[int | Constant, ArrayType], ...],
    place: int,
) -> tuple[Expr, list[Expr]]:
    """The derivative in an operand, and the variables in it: those of the operands that are no constants, and
    that of the node. An operand is its number or its constant, with its type."""
    types = {known: type for known, type in operands if not isinstance(known, Constant)}
    variables = [symbol(f"v{k}", kind) for k, kind in enumerate((*types.values(), type))]
    args = tuple(
        [
            constant_of(known) if isinstance(known, Constant) else variables[known]
            for known, _ in operands
        ]
    )
    node = assemble_node(op, args, params, type)
    found = linear_map(node, place, variables[-1], args)
    pulled = None if found is None else found.transpose(const(type.dtype.type(1)))
    return const(type.dtype.type(0)) if pulled is None else simplify(pulled), variables

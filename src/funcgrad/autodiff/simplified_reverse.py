"""Reverse accumulation whose cotangents are in normal form as soon as they are made.

`funcgrad.autodiff.accumulate.backprop` makes expressions that are simplified afterwards: a raw node for each
operation of a rule, a walk over all of them, and a second node for most. Here the semiring of `path_sums` has
values in normal form. The pullback of an elementwise operation is taken once for each combination of types,
on symbols: such a rule depends on nothing else, not even on a constant among the operands. At each node only
its operations are looked up in the simplifier's table. The result is that of `backprop` and `simplify_all`,
which the tests compare.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

from funcgrad.autodiff.accumulate import Zeros, linear_maps, varied, without_zeroing, zeroed_as
from funcgrad.expr import Expr, subexpressions, symbol
from funcgrad.fold import Semiring, folded, path_sums
from funcgrad.graph import CONSTANT, ArrayType
from funcgrad.linear import LinearMap, Structural
from funcgrad.ops.base.op import Elementwise, Op, broadcast_to, differentiable
from funcgrad.ops.elementwise.selection import mask
from funcgrad.ops.shape import ones_like, zeros_like
from funcgrad.ops.stores import index_set_op
from funcgrad.rewrite.constant_values import value_of
from funcgrad.rewrite.simplify import Simplifier


def simplified_cotangents(
    root: Expr, targets: Sequence[Expr], simplifier: Simplifier
) -> list[Expr]:
    """The gradient of a scalar root in each target, in normal form.

    ``simplifier`` is that of the root for derivatives: the nodes of the root are in its table.
    """
    if not differentiable(root.dtype):
        return [zeros_like(target) for target in targets]
    exprs = {id(expr): expr for expr in subexpressions(root)}
    pullbacks = _Pullbacks(exprs, varied(exprs, targets, id), simplifier)
    semiring = Semiring(pullbacks.sum, pullbacks.image, simplifier.simplified(ones_like(root)))
    sums = path_sums(reversed(exprs), semiring, pullbacks.arcs)
    return [sums[id(t)] if id(t) in sums else zeros_like(t) for t in targets]


class _Operations(NamedTuple):
    """The pullback of an edge as operations on the cotangent (0), the node (1) and its operands (from 2)."""

    rows: tuple[tuple[Expr, tuple[int, ...]], ...]
    """An operation on symbols, and the positions of its operands; rows have the next positions."""
    result: int


_OnNode: TypeAlias = tuple[_Operations, tuple[Expr, ...]]
"""The operations of an edge, and its node and operands: a plain tuple, which is made faster than a class."""


class _Pullbacks:
    """The semiring and the arcs of one accumulation: cotangents in normal form."""

    def __init__(self, exprs: dict[int, Expr], varied: set[int], simplifier: Simplifier) -> None:
        self._exprs = exprs
        self._varied = varied
        zeros = Zeros.of(exprs.values(), varied)
        self._linear_maps = linear_maps(exprs, varied, id, zeros)
        self._simplifier = simplifier
        self._factors = {
            me: tuple(map(self._simplified, values)) for me, values in zeros.factors.items()
        }
        self._squares = zeros.squares
        self._known: dict[Any, dict[int, _Operations | None]] = {}
        """The operations of edges, by the operation and its types and by the place of the operand. An edge
        that no target needs is not asked for, since it may be an error."""
        self._sums: dict[ArrayType, Expr] = {}
        """A sum of two symbols, by their type."""

    def arcs(self, me: int) -> list[tuple[int, Any]]:
        """The operands of a node that depend on a target, each with its linear map or operations."""
        child = self._exprs[me]
        op, args, varied = child.op, child.args, self._varied
        if me in self._squares:
            beside_zero = Structural(lambda v: v, self._with_limit)
            return [(arg, edge @ beside_zero) for arg, edge in self._linear_maps(me)]
        if not isinstance(op, Elementwise):
            return self._linear_maps(me)
        values = self._factors.get(me) or (child, *args)
        types = tuple([value.type for value in values])
        known = self._known.get((op, types))
        if known is None:
            known = self._known[op, types] = {}
        found = []
        for place, arg in enumerate(args):
            me = id(arg)
            if me not in varied:
                continue
            if place not in known:
                smooth = differentiable(arg.dtype)
                known[place] = _operations(op, types, place) if smooth else None
            operations = known[place]
            if operations is not None:
                found.append((me, (operations, values)))
        return found

    def image(self, g: Any, edge: LinearMap | _OnNode) -> Any:
        """The cotangent that an edge gives its operand; None if it is 0, whatever factors follow.

        So what a known condition excludes is not reached: an infinite factor would make NaN of a zero.
        """
        if isinstance(edge, tuple) and g.op is not mask and g.op is not index_set_op:
            image = self._image_of_entries(g, edge)
        else:
            image = self._image(g, edge)
        if type(image) is Expr and image.op in _OF_CONSTANTS and value_of(image) == 0:
            return None
        return image

    def _image(self, g: Any, edge: LinearMap | _OnNode) -> Any:
        if not isinstance(edge, tuple):
            return self._simplified(edge.transpose(g))
        inner, zeroing = without_zeroing(g)
        if all([operation.op is mask for operation in zeroing]):
            return self._image_of_entries(g, edge)  # as the laws of masks do
        return self._simplified(zeroed_as(self._image_of_entries(inner, edge), zeroing))

    def _image_of_entries(self, g: Any, edge: _OnNode) -> Any:
        (rows, result), known = edge
        values = [g, *known]
        normal_form = self._simplifier.normal_form
        for expr, places in rows:
            if len(places) == 2:
                i, j = places
                values.append(normal_form(expr, (values[i], values[j])))
            else:
                values.append(normal_form(expr, tuple([values[i] for i in places])))
        return values[result]

    def _with_limit(self, g: Any) -> Any:
        from funcgrad.rewrite.radial_laws import continued_cotangent  # of few programs

        return continued_cotangent(self._simplified(g)) if type(g) is Expr else g

    def sum(self, a: Any, b: Any) -> Any:
        """The sum of two cotangents of a node."""
        if type(a) is not Expr or type(b) is not Expr or a.type != b.type:
            return self._simplified(a + b)
        added = self._sums.get(a.type)
        if added is None:
            added = self._sums[a.type] = symbol("a", a.type) + symbol("b", a.type)
        return self._simplifier.normal_form(added, (a, b))

    def _simplified(self, value: Any) -> Any:
        return self._simplifier.simplified(value) if type(value) is Expr else value


_OF_CONSTANTS = (CONSTANT, broadcast_to)


def _operations(op: Op, types: Sequence[ArrayType], place: int) -> _Operations | None:
    """The pullback of an edge of an elementwise operation, given the types of node and operands."""
    rule = op.edge(place)
    if rule is None:
        return None
    stand_ins = [symbol(f"x{k}", type) for k, type in enumerate((types[0], *types))]
    g, z, *operands = stand_ins
    places = {id(expr): k for k, expr in enumerate(stand_ins)}
    rows: list[tuple[Expr, tuple[int, ...]]] = []

    def number(expr: Expr, parents: tuple[int, ...]) -> int:
        rows.append((expr, parents))
        return len(stand_ins) + len(rows) - 1

    (result,) = folded([rule(z, *operands).transpose(g)], number, places)
    return _Operations(tuple(rows), result)

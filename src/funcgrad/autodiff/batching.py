"""Batching: transforms a program for one example into a program for a batch of examples.

A fold gives every expression that depends on an `example` a leading batch axis, by the batch rule of its
operation (`Op.batch`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, TypeAlias, TypeVar

import numpy as np

from funcgrad.expr import Expr, rebuild
from funcgrad.fold import folded_by_key
from funcgrad.graph import Key, Operands, TupleType, by_key
from funcgrad.ops.base.op import example, leaf, on_batch, spread
from funcgrad.ops.elementwise.selection import cut_off, stop_gradient_unless
from funcgrad.ops.tuples import pick, together_op
from funcgrad.rewrite.simplify import Simplifier, simplify_all
from funcgrad.source import value_error
from funcgrad.typing import Array

T = TypeVar("T")
_NONE_GIVEN: Mapping[Key, tuple[Expr, bool]] = MappingProxyType({})


@dataclass(frozen=True)
class Batch:
    """The graph transform that makes roots for ``size`` examples, along the first axis, from roots for one.

    The roots with positions in ``same`` do not depend on the example, and have no batch axis.
    """

    size: int
    same: tuple[int, ...] = ()

    def __call__(self, roots: list[Expr], leaves: list[Expr], simplifier: Simplifier) -> list[Expr]:
        found = batched(roots, self.size, {})
        if any([found[i][1] for i in self.same]):
            raise value_error(
                "vmap: expected out_axes None for results that are the same for all examples, but got one "
                "that depends on them; give the axis where they are to stand, such as 0",
            )
        made = [
            expr if own or i in self.same else spread(expr, self.size)
            for i, (expr, own) in enumerate(found)
        ]
        return simplify_all(made)  # as values: no derivative is taken here


def every_example(
    roots: Sequence[Expr], size: int, given: Mapping[Key, tuple[Expr, bool]] = _NONE_GIVEN
) -> list[Expr]:
    """The roots with a first axis of ``size`` examples; ``given`` as in `batched`."""
    return [expr if own else spread(expr, size) for expr, own in batched(roots, size, given)]


def batched(
    roots: Sequence[Expr], size: int, given: Mapping[Key, tuple[Expr, bool]]
) -> list[tuple[Expr, bool]]:
    """The roots on a batch of ``size`` examples, each with whether it has the batch axis.

    As a fold on pairs ``(expression, has the batch axis)``: the pairs of ``given`` expressions are given;
    ``example(x)`` is ``(x, True)``; an operation without batched operands is that on the operands, one of
    which may be simpler (`_mapped`); the batch rule of another is applied.
    """

    def step(expr: Expr, args: tuple[tuple[Expr, bool], ...]) -> tuple[Expr, bool]:
        if expr.op is example:
            return args[0][0], True
        if not any([own for _, own in args]):
            return rebuild(expr, tuple([arg for arg, _ in args])), False
        return _mapped(expr, size, args)

    return folded_by_key(roots, step, dict(given))


def _mapped(expr: Expr, size: int, args: Sequence[tuple[Expr, T]]) -> tuple[Expr, bool]:
    """An operation on operands of which some have the batch axis; whether the result has it."""
    if expr.op is stop_gradient_unless and not args[0][1]:
        # What the examples share is not repeated for each.
        (shared, _), (condition, varies) = args
        reached: Any = np.any(condition, axis=0) if varies else condition
        return (cut_off(shared, reached) if expr.params and varies else shared), False
    flags = tuple([bool(own) for _, own in args])
    return on_batch(expr.op, size, flags, [arg for arg, _ in args], dict(expr.params)), True


def batched_outside(
    root: Expr, size: int, start: int, known: dict[Key, tuple[Expr, bool]]
) -> tuple[Expr, bool]:
    """A root on a batch of ``size`` examples, without the leaves of traces that began after ``start``.

    As `batched`, where ``known`` has the examples of this batch and receives the results. Other examples, and
    the leaves of traces that began before, are what they are for all examples.
    """

    def step(expr: Expr, args: tuple[tuple[Expr, bool], ...]) -> tuple[Expr, bool]:
        if not args:
            return expr, False
        if expr.op is leaf:
            return args[0]
        if not any([own for _, own in args]):
            return rebuild(expr, tuple([arg for arg, _ in args])), False
        return _mapped(expr, size, args)

    return folded_by_key([root], step, known, _operands_inside(start))[0]


def _operands_inside(start: int) -> Operands:
    """The operands to visit: not those of other examples, nor those of leaves of traces before ``start``."""

    def operands(expr: Expr) -> tuple[Expr, ...]:
        is_cut = expr.op is example or (expr.op is leaf and not _is_inside(expr, start))
        return () if is_cut else expr.args

    return operands


def _is_inside(expr: Expr, start: int) -> bool:
    """Whether a leaf is of a trace that began after ``start``, or of a program that has been derived."""
    scope = expr.params[0][1]
    return scope is None or scope.number > start


# -- groups of examples --------------------------------------------------------------------------
_OnSome: TypeAlias = "tuple[Expr, int]"
"""An expression, and the groups whose examples its first axis has, a bit each; 0: it has no such axis."""


class Groups:
    """Groups of the examples of a batch, each of which has a program of its own.

    An operation runs on the examples of all groups whose programs need it. So one that several programs
    share runs once, and none runs on an example whose program is without it, where it may be NaN.
    """

    def __init__(self, groups: Sequence[Array], start: int) -> None:
        """``groups`` has the places of each group's examples; ``start`` as in `batched_outside`."""
        self.groups = groups
        self.operands = _operands_inside(start)
        self.every = (1 << len(groups)) - 1
        self.places: dict[int, Array] = {}
        self.selected: dict[tuple[Key, int, int], Expr] = {}

    def batched(
        self, rows: Sequence[Sequence[Expr]], batches: Mapping[Key, Expr]
    ) -> list[list[Expr]]:
        """Each root of each row on the examples of its group: that of its place in the row.

        ``batches`` has the batches of all examples, by the keys of expressions for one.
        """
        need = self._groups_that_need(rows)

        def step(expr: Expr, args: tuple[_OnSome, ...]) -> _OnSome:
            if not args:
                return expr, 0
            if expr.op is leaf:
                return args[0]
            if not any([have for _, have in args]):
                return rebuild(expr, tuple([arg for arg, _ in args])), 0
            groups = need[expr.key]
            parts = [(self._on(groups, arg, have), have) for arg, have in args]
            mapped, own = _mapped(expr, self._size(groups), parts)
            return mapped, groups if own else 0

        known = {key: (batch, self.every) for key, batch in batches.items()}
        found = iter(
            folded_by_key([root for row in rows for root in row], step, known, self.operands)
        )
        return [[self._result(1 << k, *next(found)) for k in range(len(row))] for row in rows]

    def _groups_that_need(self, rows: Sequence[Sequence[Expr]]) -> dict[Key, int]:
        """The groups of each expression below the roots, as a reduction over the reversed order."""
        need: dict[Key, int] = {}
        for row in rows:
            for k, root in enumerate(row):
                need[root.key] = need.get(root.key, 0) | 1 << k
        below = by_key(*[root for row in rows for root in row], operands=self.operands)
        for expr in reversed(below.values()):
            for operand in self.operands(expr):
                need[operand.key] = need.get(operand.key, 0) | need[expr.key]
        return need

    def _of(self, groups: int) -> Array:
        """The places of the examples of some groups, in order."""
        if groups not in self.places:
            some = [places for k, places in enumerate(self.groups) if groups >> k & 1]
            self.places[groups] = np.sort(np.concatenate(some))
        return self.places[groups]

    def _size(self, groups: int) -> int:
        return len(self._of(groups))

    def _on(self, groups: int, expr: Expr, have: int) -> Expr:
        """A value on the examples of some groups, if it has an axis for them."""
        if have in (0, groups):
            return expr
        key = (expr.key, have, groups)
        if key not in self.selected:
            rows = np.searchsorted(self._of(have), self._of(groups))
            kind: Any = expr.type
            if isinstance(kind, TupleType):
                parts = [pick(expr, k)[rows] for k in range(len(kind.parts))]
                self.selected[key] = together_op(*parts)
            else:
                self.selected[key] = expr[rows]
        return self.selected[key]

    def _result(self, groups: int, expr: Expr, have: int) -> Expr:
        part = self._on(groups, expr, have)
        return part if have else spread(part, self._size(groups))

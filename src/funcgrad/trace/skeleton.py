"""Skeletons: a traced program reduced by value numbering, which derived programs are cached by.

A skeleton has the distinct operations in order, operands by position, arrays abstracted.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from funcgrad.expr import Expr, assemble_node, const, is_simple
from funcgrad.fold import folded
from funcgrad.graph import CONSTANT, INPUT, ArrayType
from funcgrad.ops.base.op import infer_type, leaf

SkeletonRow: TypeAlias = tuple[Any, ...]
"""``(op, places of operands, params)``; for inputs and constants, their kind, content and type."""


class Skeleton(NamedTuple):
    """A traced program, arrays abstracted: what derived programs are cached by."""

    rows: tuple[SkeletonRow, ...]
    roots: tuple[int, ...]
    inputs: list[Any]
    """The values of the input rows: arrays, or expressions of a trace around this one."""
    symbolic: bool
    simple: tuple[int, ...]
    """The rows that the laws are known to leave as they are; not looked for but ``within`` a trace."""
    reached: bool
    """Whether a root depends on a leaf, or is made of derivatives, which may be constant."""


def skeleton(
    roots: Sequence[Expr],
    leaves: Sequence[Expr],
    within: bool = False,
    results: int | None = None,
) -> Skeleton:
    """The distinct operations between leaves and roots, by value numbering.

    An expression that depends on a trace around this one, but not on the leaves, becomes an input. One fold
    on local lists: it runs at every call of a derivative. ``within``: f still ran when the roots were made,
    so leaves of traces inside it, which have ended, rightly stand for their values. The first ``results``
    roots are those of which it says whether they are reached; all, if it is None.
    """
    numbering = _Numbering(leaves, within)
    places = tuple(folded(roots, numbering.step, numbering.where, numbering.operands))
    kinds, inputs = numbering.kinds, numbering.inputs
    reached = numbering.derivative or any([kinds[i] == _DEPENDENT for i in places[:results]])
    symbolic = any([isinstance(value, Expr) for value in inputs])
    return Skeleton(
        tuple(numbering.rows), places, inputs, symbolic, tuple(numbering.simple), reached
    )


class _Numbering:
    """The rows of one skeleton, as they are numbered: a fold whose results are places of rows."""

    def __init__(self, leaves: Sequence[Expr], within: bool) -> None:
        self.since = leaves[0].params[0][1].number if within and leaves else None
        self.within = within
        self.number: dict[Any, int] = {}
        self.where: dict[int, int] = {}
        self.rows: list[SkeletonRow] = []
        self.inputs: list[Any] = []
        self.simple: list[int] = []
        self.kinds: list[int] = []
        """Of each row: fixed, dependent on a leaf, or of a trace around this one."""
        self.derivative = False
        for item in leaves:
            value = item.args[0]
            known = value.params[0][1].array if value.op is CONSTANT else value
            self.where[id(item)] = self._input(id(item), item.type, known, _DEPENDENT)

    def _input(self, identity: object, type: ArrayType, value: object, kind: int) -> int:
        place = self.number.get(identity)
        if place is None:
            place = self.number[identity] = len(self.rows)
            self.rows.append((INPUT, f"i{len(self.inputs)}", type))
            self.inputs.append(value)
            self.kinds.append(kind)
        return place

    def operands(self, expr: Expr) -> tuple[Expr, ...]:
        """The operands to number: none of a leaf of a trace that still runs."""
        return () if expr.op is leaf and _is_open(expr, self.since) else expr.args

    def step(self, expr: Expr, parents: tuple[int, ...]) -> int:
        """The place of an expression's row."""
        op, kinds = expr.op, self.kinds
        # An operation's type follows from its operands', so that it need not be hashed.
        row: SkeletonRow = (op, parents, expr.params)
        kind = _FIXED
        if op is leaf and parents:
            self.derivative = self.derivative or expr.params[0][1] is None
            return parents[0]
        if parents:
            for i in parents:
                if kinds[i] > kind:
                    kind = kinds[i]
        elif op is CONSTANT:
            constant = expr.params[0][1]
            if constant.array.ndim:
                key = ("a", id(constant.array))
                return self._input(key, expr.type, constant.array, _FIXED)
            row = (CONSTANT, constant.address, expr.type)
        elif op is INPUT or op is leaf:
            kind = _FOREIGN
        if kind == _FOREIGN:
            return self._input(("e", id(expr)), expr.type, expr, _FOREIGN)
        place = self.number.get(row)
        if place is None:
            place = self.number[row] = len(self.rows)
            self.rows.append(row)
            kinds.append(kind)
            if self.within and is_simple(expr):
                self.simple.append(place)
        return place


_FIXED, _FOREIGN, _DEPENDENT = 0, 1, 2


def _is_open(expr: Expr, since: int | None) -> bool:
    scope = expr.params[0][1]
    if scope is None:  # a constant derivative
        return False
    if not scope.open and (since is None or scope.number < since):
        warnings.warn(
            f"a traced value ({expr.label}) outlived the call that made it, and is used as a constant; "
            "return it from the function instead of storing it",
            stacklevel=2,
        )
    return bool(scope.open)


def instantiate(rows: Sequence[SkeletonRow], inputs: Sequence[Expr] | None = None) -> list[Expr]:
    """A skeleton's rows as expressions, on ``inputs`` for its input rows or, without, on variables."""
    exprs: list[Expr] = []
    own = None if inputs is None else iter(inputs)
    for op, second, third in rows:
        if op is INPUT:
            name = (("name", second),)
            exprs.append(assemble_node(INPUT, (), name, third) if own is None else next(own))
        elif op is CONSTANT:
            exprs.append(const(np.frombuffer(second, third.dtype)[0]))
        else:
            args = tuple([exprs[i] for i in second])
            exprs.append(assemble_node(op, args, third, infer_type(op, args, third)))
    return exprs

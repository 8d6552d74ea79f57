"""Skeletons: the canonical form of a trace by value numbering, used as the cache key of derived programs.

A skeleton lists the distinct operations in order, with operands by position, and arrays as inputs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from funcgrad.expr import Expr, assemble_node, const, is_simple
from funcgrad.fold import folded, reaches
from funcgrad.graph import CONSTANT, INPUT, ArrayType
from funcgrad.ops.base.op import differentiable, example, infer_type, leaf
from funcgrad.ops.chosen_zeros import STEEP, is_choice_of_zero, is_factored
from funcgrad.ops.elementwise.selection import stopped
from funcgrad.ops.tuples import pick_op
from funcgrad.source import type_error, warn
from funcgrad.typing import Array

SkeletonRow: TypeAlias = tuple[Any, ...]
"""``(op, positions of operands, params)``; for inputs and constants ``(kind, content, type)``."""


Dependence: TypeAlias = Literal["reached", "stepped", "unreached"]
"""Whether a derivative reaches the roots; or they depend on leaves by steps alone, through comparisons or
conversions to integers, or more than two functions such as sign and floor, whose own derivative is 0 by
convention; or not at all."""


class Skeleton(NamedTuple):
    """The canonical form of a trace, and the values of its inputs."""

    rows: tuple[SkeletonRow, ...]
    roots: tuple[int, ...]
    inputs: list[Any]
    """The values of the input rows: arrays, or expressions of an enclosing trace."""
    numbers: dict[int, Array]
    """The rows of constants, with their values, which are no arrays with entries."""
    symbolic: bool
    """Whether an input is an expression."""
    simple: tuple[int, ...]
    """The rows of expressions known to be simple; computed only ``within`` a trace."""
    reached: bool
    """Whether a root depends on a leaf, or on a derivative, which may be constant."""
    derivative: bool
    """Whether a root depends on a derivative."""
    dependence: Callable[[], Dependence]
    """Computes how the roots depend on leaves."""


def skeleton(
    roots: Sequence[Expr],
    leaves: Sequence[Expr],
    within: bool = False,
    results: int | None = None,
    start: int | None = None,
) -> Skeleton:
    """The distinct operations between leaves and roots, by value numbering.

    An expression that depends on an enclosing trace, but not on the leaves, becomes an input, unless it was
    made after a trace with the number ``start`` began. If ``within``, the roots may contain leaves of inner
    traces that have ended: they stand for their values, and no warning is given. ``reached`` is about the
    first ``results`` roots, or all if it is None.
    """
    numbering = _Numbering(leaves, within, start)
    places = tuple(folded(roots, numbering.step, numbering.where, numbering.operands))
    if numbering.has_choices and any([row[0] in STEEP for row in numbering.rows]):
        numbering = _Numbering(leaves, within, start, numbering.open)
        places = tuple(folded(roots, numbering.step, numbering.where, numbering.operands))
    kinds, inputs = numbering.kinds, numbering.inputs
    reached = numbering.derivative or any([kinds[i] == _DEPENDENT for i in places[:results]])
    symbolic = any([isinstance(value, Expr) for value in inputs])
    return Skeleton(
        tuple(numbering.rows),
        places,
        inputs,
        numbering.numbers,
        symbolic,
        tuple(numbering.simple),
        reached,
        numbering.derivative,
        partial(numbering.dependence, roots[:results]),
    )


class _Numbering:
    """The rows of one skeleton while they are numbered: a fold whose results are positions of rows."""

    def __init__(
        self,
        leaves: Sequence[Expr],
        within: bool,
        start: int | None,
        open: dict[int, bool] | None = None,
    ) -> None:
        self.start = start
        self.open = {} if open is None else open
        """Whether leaves, by identity, are those of a running trace."""
        self.keeps_choices = open is not None
        """Whether choices of zeros of an enclosing trace are operations, and no inputs: below a root they are
        known to be zeros (`funcgrad.ops.chosen_zeros`)."""
        self.has_choices = False
        self.choices: set[int] = set()
        self.since = leaves[0].params[0][1].number if within and leaves else None
        self.within = within
        self.number: dict[Any, int] = {}
        self.where: dict[int, int] = {}
        self.rows: list[SkeletonRow] = []
        self.inputs: list[Any] = []
        self.numbers: dict[int, Array] = {}
        self.simple: list[int] = []
        self.kinds: list[int] = []
        """The kind of each row: constant, of an enclosing trace, or dependent on a leaf."""
        self.derivative = False
        for item in leaves:
            value = item.args[0]
            known = value.params[0][1].array if value.op is CONSTANT else value
            self.where[id(item)] = self._input(id(item), item.type, known, _DEPENDENT)
        self.leaves = leaves

    def _input(self, identity: object, type: ArrayType, value: object, kind: int) -> int:
        place = self.number.get(identity)
        if place is None:
            place = self.number[identity] = len(self.rows)
            self.rows.append((INPUT, f"i{len(self.inputs)}", type))
            self.inputs.append(value)
            self.kinds.append(kind)
        return place

    def operands(self, expr: Expr) -> tuple[Expr, ...]:
        """The operands to number: those of a leaf of a running trace are not."""
        if expr.op is leaf:
            if id(expr) not in self.open:
                self.open[id(expr)] = _is_open(expr, self.since)
            return () if self.open[id(expr)] else expr.args
        return expr.args

    def step(self, expr: Expr, parents: tuple[int, ...]) -> int:
        """The position of an expression's row."""
        op, kinds = expr.op, self.kinds
        # An operation's type follows from its operands' types, so that it need not be hashed.
        row: SkeletonRow = (op, parents, expr.params)
        kind = _CONSTANT
        if op is leaf and parents:
            (_, scope), (_, place), *_ = expr.params
            self.derivative = self.derivative or (scope is None and place != OF_VALUES)
            return parents[0]
        if parents:
            for i in parents:
                if kinds[i] > kind:
                    kind = kinds[i]
        elif op is CONSTANT:
            constant = expr.params[0][1]
            if constant.array.ndim:
                key = ("a", id(constant.array))
                return self._input(key, expr.type, constant.array, _CONSTANT)
            row = (CONSTANT, constant.address, expr.type)
        elif op is INPUT or op is leaf:
            kind = _OUTER_TRACE
        if kind == _OUTER_TRACE and not (parents and self._is_made_inside(expr)):
            is_choice = bool(parents) and self._is_choice(expr, parents)
            if not (is_choice and self.keeps_choices):
                return self._input(("e", id(expr)), expr.type, expr, _OUTER_TRACE)
        place = self.number.get(row)
        if place is None:
            place = self.number[row] = len(self.rows)
            self.rows.append(row)
            kinds.append(kind)
            if op is CONSTANT:
                self.numbers[place] = expr.params[0][1].array
            if kind == _OUTER_TRACE and self.keeps_choices:
                self.choices.add(place)
            if self.within and is_simple(expr):
                self.simple.append(place)
        return place

    def _is_choice(self, expr: Expr, parents: tuple[int, ...]) -> bool:
        """Whether an expression has zeros that a choice has put there, or that factors have, which do."""
        found = is_choice_of_zero(expr)
        self.has_choices = self.has_choices or found
        return found or (is_factored(expr) and not self.choices.isdisjoint(parents))

    def dependence(self, roots: Sequence[Expr]) -> Dependence:
        """How roots depend on leaves; by steps only if the user has not stopped the derivative."""
        steps: dict[int, Expr] = {}
        flows = _BodyFlows()
        varied = {id(item) for item in self.leaves if differentiable(item.dtype)}

        def is_varied(expr: Expr) -> bool:
            return id(expr) in varied or expr.op is stopped or expr.op is example

        def operands(expr: Expr) -> Sequence[Expr]:
            return flows.operands(expr, lambda expr: self._varied_operands(expr, steps))

        if self.derivative or reaches(roots, is_varied, operands):
            return "reached"
        # In a body a step may be one of constants alone.
        leaves = set(map(id, self.leaves))
        taken = [
            expr
            for expr in steps.values()
            if id(expr) in self.where
            or reaches([expr], lambda e: id(e) in leaves, lambda e: flows.operands(e, _operands))
        ]
        if not taken:
            return "unreached"
        plain = all([differentiable(expr.dtype) for expr in taken])
        return "stepped" if len(taken) > 2 or not plain else "reached"

    def _varied_operands(self, expr: Expr, steps: dict[int, Expr]) -> list[Expr]:
        """The operands that depend on a leaf, along the edges that have a derivative.

        An operation without such an edge joins ``steps``, by its row.
        """
        op, type, where, kinds = expr.op, expr.type, self.where, self.kinds
        if op is leaf:
            return [arg for arg in expr.args if id(arg) in where]
        dependent = [
            (place, arg)
            for place, arg in enumerate(expr.args)
            if id(arg) not in where or kinds[where[id(arg)]] == _DEPENDENT
        ]
        flat = isinstance(type, ArrayType) and not differentiable(type.dtype)
        found = [] if flat else [arg for k, arg in dependent if op.edge(k) is not None]
        if dependent and not found:
            steps[where.get(id(expr), -id(expr))] = expr
        return found

    def _is_made_inside(self, expr: Expr) -> bool:
        return self.start is not None and expr.birth >= self.start


_CONSTANT, _OUTER_TRACE, _DEPENDENT = 0, 1, 2
OF_VALUES = 1
"""The place of a leaf without a scope that is a value, and no derivative."""


def _operands(expr: Expr) -> tuple[Expr, ...]:
    return expr.args


def _is_open(expr: Expr, since: int | None) -> bool:
    scope = expr.params[0][1]
    if scope is None:  # a constant derivative
        return False
    if not scope.open and (since is None or scope.number < since):
        if _stands_for_many(expr.args[0]):
            raise type_error(
                f"a traced value ({expr.label}) outlived the body that it belongs to, of a loop, a branch or "
                "a rule, and stands for many numbers; return it from the body instead of storing it",
            )
        warn(
            f"a traced value ({expr.label}) outlived the call that made it, and is used as a constant; "
            "return it from the function instead of storing it"
        )
    return bool(scope.open)


def _stands_for_many(value: Expr) -> bool:
    """Whether a value is what a body is traced on: no variable, whose name is one of Python's."""
    if value.args or value.op is CONSTANT:
        return False
    return value.op is not INPUT or not str(value.params[0][1]).isidentifier()


def instantiate(
    rows: Sequence[SkeletonRow],
    inputs: Sequence[Expr] | None = None,
    step: Callable[[Expr, tuple[Expr, ...]], Expr] | None = None,
) -> list[Expr]:
    """A skeleton's rows as expressions of ``inputs``, or of variables if ``inputs`` is None.

    ``step(expr, operands)`` is what stands for a row to its users: as in `funcgrad.fold.folded`, but without
    a walk, since the operands of a row come before it.
    """
    exprs: list[Expr] = []
    own = None if inputs is None else iter(inputs)
    for op, second, third in rows:
        if op is INPUT:
            name = (("name", second),)
            expr = assemble_node(INPUT, (), name, third) if own is None else next(own)
        elif op is CONSTANT:
            expr = const(np.frombuffer(second, third.dtype)[0])
        else:
            args = tuple([exprs[i] for i in second])
            expr = assemble_node(op, args, third, infer_type(op, args, third))
        exprs.append(expr if step is None else step(expr, expr.args))
    return exprs


class _BodyFlows:
    """The bodies that a walk has entered: their inputs stand for operands of the node that holds them.

    A derivative flows along the edges of a body as it does along those of a program. So a result that a body
    computes of no argument depends on none, as it does where the function of the body is called as it is.
    """

    def __init__(self) -> None:
        self._node: dict[int, Expr] = {}
        self._given: dict[int, list[Expr]] = {}

    def operands(self, expr: Expr, own: Callable[[Expr], Sequence[Expr]]) -> Sequence[Expr]:
        """What an expression depends on: that of a body's input, or of a body's result; else ``own`` says."""
        given = self._given.get(id(expr))
        if given is not None:
            return given
        entered = self._entered(expr) if expr.op is pick_op else None
        return own(expr) if entered is None else entered

    def _entered(self, picked: Expr) -> list[Expr] | None:
        """The outputs of bodies that a result of a node has; None where that is not known."""
        from funcgrad.control.call_and_branch import branch_op, call_op
        from funcgrad.control.loop import UNKNOWN_LENGTH, loop_op

        node, place = picked.args[0], dict(picked.params)["index"]
        params: dict[str, Any] = dict(node.params)
        if node.op is branch_op:
            bodies, operands = params["branches"], node.args[1:]
        elif node.op is call_op or node.op is loop_op:
            bodies, operands = [params["body"]], node.args
        else:
            return None
        if any([place >= len(body.outputs) for body in bodies]):
            return None
        for body in bodies:
            for i, symbol in enumerate(body.inputs):
                if self._node.setdefault(id(symbol), node) is not node:
                    return None  # another node holds the body, too
                self._given.setdefault(id(symbol), [operands[i]])
        found = [body.outputs[place] for body in bodies]
        if node.op is loop_op:
            (body,), spec = bodies, params["spec"]
            for i in range(spec.num_carry):
                self._given[id(body.inputs[i])] = [operands[i], body.outputs[i]]
            if place < spec.num_carry and spec.trip_count in (0, UNKNOWN_LENGTH):
                found.append(operands[place])
        return found

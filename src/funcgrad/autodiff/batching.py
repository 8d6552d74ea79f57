"""Batching: transforms a program for one example into a program for a batch of examples.

A fold gives every expression that depends on an `example` a leading batch axis, by the batch rule of its
operation (`Op.batch`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from funcgrad.expr import Expr, rebuild
from funcgrad.fold import folded_by_key
from funcgrad.graph import Key
from funcgrad.ops.base.op import example, leaf, on_batch, spread
from funcgrad.rewrite.simplify import Simplifier, simplify_all
from funcgrad.source import fail

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
            raise fail(
                ValueError,
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
    ``example(x)`` is ``(x, True)``; an operation without batched operands is unchanged; the batch rule of
    another is applied.
    """

    def step(expr: Expr, args: tuple[tuple[Expr, bool], ...]) -> tuple[Expr, bool]:
        if expr.op is example:
            return args[0][0], True
        flags = tuple([own for _, own in args])
        if True not in flags:
            return expr, False
        operands = [arg for arg, _ in args]
        return on_batch(expr.op, size, flags, operands, dict(expr.params)), True

    return folded_by_key(roots, step, dict(given))


def batched_outside(
    root: Expr, size: int, start: int, known: dict[Key, tuple[Expr, bool]]
) -> tuple[Expr, bool]:
    """A root on a batch of ``size`` examples, without the leaves of traces that began after ``start``.

    As `batched`, where ``known`` has the examples of this batch and receives the results. Other examples, and
    the leaves of traces that began before, are what they are for all examples.
    """

    def operands(expr: Expr) -> tuple[Expr, ...]:
        is_cut = expr.op is example or (expr.op is leaf and not _is_inside(expr, start))
        return () if is_cut else expr.args

    def step(expr: Expr, args: tuple[tuple[Expr, bool], ...]) -> tuple[Expr, bool]:
        if not args:
            return expr, False
        if expr.op is leaf:
            return args[0]
        flags = tuple([own for _, own in args])
        if True not in flags:
            return rebuild(expr, tuple([arg for arg, _ in args])), False
        return on_batch(expr.op, size, flags, [arg for arg, _ in args], dict(expr.params)), True

    return folded_by_key([root], step, known, operands)[0]


def _is_inside(expr: Expr, start: int) -> bool:
    """Whether a leaf is of a trace that began after ``start``, or of a program that has been derived."""
    scope = expr.params[0][1]
    return scope is None or scope.number > start

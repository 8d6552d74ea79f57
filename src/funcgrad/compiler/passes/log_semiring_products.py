"""Products in the log semiring by products of probabilities, with no exponential of each entry.

The forward recursion of a hidden Markov model, on logarithms, multiplies a vector by the same matrix in each
iteration. Laws: logsumexp(a[:, None] + B, axis=0) = m + log(exp(a - m) @ exp(B)), and
exp(a[:, None] + B - z) = exp(a - m)[:, None]*exp(B)*exp(m - z). So exp(B) is loop-invariant, and an iteration
takes as many exponentials as the vector has entries. The laws hold where no factor overflows or underflows: a
branch tests the range of a, B and z, and takes the given formula elsewhere. For machine code, in loops.
Gain (docs/passes.md): without it the hidden Markov model on log-probabilities takes 3.8 times as long.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from funcgrad.compiler.passes.loop_bodies import rewrite_bodies
from funcgrad.control.call_and_branch import branch_op
from funcgrad.control.closed_program import body_of
from funcgrad.control.loop import LoopSpec
from funcgrad.expr import Expr, by_key, rebuild, symbol
from funcgrad.fold import folded_by_key
from funcgrad.graph import Key, dependent
from funcgrad.ops.elementwise.arithmetic import add, subtract
from funcgrad.ops.elementwise.exponential import exp
from funcgrad.ops.elementwise.selection import mask
from funcgrad.ops.reduction import logsumexp_op
from funcgrad.ops.tuples import pick
from funcgrad.ops.unit_axes import repeated_vector

_RANGE = 690.0
"""Numbers whose exponentials are neither infinite nor subnormal, for `float64`."""
_ENTRIES, _ITERATIONS = 64, 8
"""The least entries of a matrix, and the least iterations that exponentials of it are worth."""


class _Sum(NamedTuple):
    """A vector along an axis, plus a matrix that is the same at each iteration."""

    vector: Expr
    matrix: Expr
    axis: int


def multiply_probabilities(roots: Sequence[Expr]) -> list[Expr]:
    """The roots, in whose loops log-sum-exps of a vector and a loop-invariant matrix are products."""
    return rewrite_bodies(roots, _multiplied)


def _multiplied(roots: Sequence[Expr], inputs: Sequence[Expr], spec: LoopSpec) -> Sequence[Expr]:
    if 0 <= spec.trip_count < _ITERATIONS:
        return roots
    varying = inputs[: spec.num_carry + spec.num_xs]
    exprs = list(by_key(*roots).values())
    changing = dependent(exprs, [x.key for x in varying])
    became: dict[Key, Expr] = {}

    def step(expr: Expr, args: tuple[Expr, ...]) -> Any:
        found = None
        if expr.op is logsumexp_op:
            found = _log_product(expr, changing, became)
        elif expr.op is exp:
            found = _weights(expr, changing, became)
        return rebuild(expr, args) if found is None else found

    return folded_by_key(roots, step, became)


# -- the two forms ---------------------------------------------------------------------------------
def _log_product(expr: Expr, changing: Collection[Key], became: Mapping[Key, Expr]) -> Any:
    """logsumexp(a[:, None] + B, axis=0) with a branch; None of other sums."""
    x = _sum_of(expr.args[0], changing)
    if x is None or dict(expr.params)["axis"] != (x.axis,):
        return None
    a, matrix = became[x.vector.key], became[x.matrix.key]
    top: Any = np.max(a)

    def plain(a: Any, matrix: Any, likelihoods: Any, top: Any) -> Any:
        return logsumexp_op(_along(a, x.axis) + matrix, axis=(x.axis,))

    def product(a: Any, matrix: Any, likelihoods: Any, top: Any) -> Any:
        chances = np.exp(a - top)
        total = chances @ likelihoods if x.axis == 0 else likelihoods @ chances
        return np.log(total) + top

    return _branch(_in_range(a, top, matrix), [plain, product], [a, matrix, np.exp(matrix), top])


def _weights(expr: Expr, changing: Collection[Key], became: Mapping[Key, Expr]) -> Any:
    """exp(a[:, None] + B - z), or that with the mask of a slope, with a branch; None of other functions."""
    masked = expr.args[0].op is mask
    less = expr.args[0].args[1] if masked else expr.args[0]
    x = _sum_of(less.args[0], changing) if less.op is subtract else None
    if x is None:
        return None
    total = repeated_vector(less.args[1], 1 - x.axis)
    if total is None or (masked and expr.args[0].args[0].key != _where_finite(*less.args).key):
        return None
    a, matrix, z = became[x.vector.key], became[x.matrix.key], became[total.key]
    top: Any = np.max(a)

    def plain(a: Any, matrix: Any, likelihoods: Any, top: Any, z: Any) -> Any:
        terms = _along(a, x.axis) + matrix
        whole: Any = np.broadcast_to(_along(z, 1 - x.axis), matrix.shape)
        found = terms - whole
        return np.exp(mask(_where_finite(terms, whole), found) if masked else found)

    def product(a: Any, matrix: Any, likelihoods: Any, top: Any, z: Any) -> Any:
        chances, scales = np.exp(a - top), np.exp(top - z)
        return _along(chances, x.axis) * likelihoods * _along(scales, 1 - x.axis)

    holds = _in_range(a, top, matrix) & (np.max(np.abs(top - z)) <= _RANGE)
    return _branch(holds, [plain, product], [a, matrix, np.exp(matrix), top, z])


def _branch(holds: Any, ways: Sequence[Callable[..., Any]], operands: Sequence[Any]) -> Any:
    """The second way where a condition holds, or else the first."""
    bodies = []
    for way in ways:
        inputs = [symbol(f"x{k}", x.type) for k, x in enumerate(operands)]
        bodies.append(body_of(inputs, [way(*inputs)]))
    return pick(branch_op(np.where(holds, 1, 0), *operands, branches=tuple(bodies)), 0)


def _in_range(a: Any, top: Any, matrix: Any) -> Any:
    """Whether the exponentials of a - top and of the matrix, and their products, are 0 or normal numbers."""
    low = np.min(np.where(a == -np.inf, top, a))
    bound = np.max(np.where(np.isfinite(matrix), np.abs(matrix), 0.0))
    return top - low + bound <= _RANGE


def _where_finite(x: Any, z: Any) -> Any:
    """The condition of the slope of a log-sum-exp: not where both are the same infinity."""
    return (x != z) | (np.abs(x) < np.inf)


def _along(vector: Any, axis: int) -> Any:
    """A vector as a column or a row of a matrix."""
    return np.reshape(vector, (-1, 1) if axis == 0 else (1, -1))


# -- looking -----------------------------------------------------------------------------------
def _sum_of(x: Expr, changing: Collection[Key]) -> _Sum | None:
    """A matrix as the sum of a vector and a loop-invariant matrix; None if it is none."""
    if x.op is not add or len(x.shape) != 2 or x.size < _ENTRIES or x.dtype != np.float64:
        return None
    for vector, matrix in (x.args, x.args[::-1]):
        if matrix.shape != x.shape or matrix.key in changing:
            continue
        for axis in (0, 1):
            found = repeated_vector(vector, axis)
            if found is not None and found.key in changing:
                return _Sum(found, matrix, axis)
    return None

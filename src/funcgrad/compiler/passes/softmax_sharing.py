"""Log-sum-exps beside their entries: one exponential of each entry, and no difference of large numbers.

The slope of z = logsumexp(x) is exp(x - z), and z itself takes exp(x - m) of each entry, of which m is the
largest. Laws: z = log(s) + m, exp(x - z) = e/s, and x - z = (x - m) - log(s), where e = exp(x - m) and
s = sum(e). The difference x - z loses the digits that z does not have: at entries of 1000 a softmax in
single precision would have an error of 3e-5. Infinite entries have the slope's mask; a softmax beside them
is NaN, as SciPy's.
Gain (docs/passes.md): without it the gradient of a cross entropy of 1,000 x 100 takes 1.5 times as long.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from funcgrad.compiler.passes.loop_bodies import rewrite_bodies
from funcgrad.expr import Expr, by_key, rebuild
from funcgrad.fold import folded_by_key
from funcgrad.graph import Key
from funcgrad.ops.base.op import broadcast_to
from funcgrad.ops.elementwise.arithmetic import subtract
from funcgrad.ops.elementwise.exponential import exp
from funcgrad.ops.elementwise.selection import mask, stopped
from funcgrad.ops.reduction import logsumexp_op, max_op
from funcgrad.ops.unit_axes import without_unit_axes


class _Parts(NamedTuple):
    """The entries, the largest, whether that is infinite, the exponentials of the entries less it, their sum,
    and its logarithm, which is 0 beside an infinite entry."""

    entries: Any
    top: Any  # None if it is known to be 0
    is_infinite: Any
    exponentials: Any
    total: Any
    log_of_total: Any


def share_exponentials(roots: Sequence[Expr]) -> list[Expr]:
    """The roots, in which slopes of log-sum-exps are the quotients of their exponentials, in loops too.

    >>> import numpy as np
    >>> import funcgrad as fg
    >>> x = fg.var("x", 3)
    >>> z = fg.logsumexp(x)
    >>> share_exponentials([x - z])[0]
    let a = max(x)
        b = where(isinf(a), 0, log(sum(exp(x - reshape(a, shape=(1,))))))
    in x - a - b
    """
    return _shared(rewrite_bodies(roots, lambda outputs, inputs, spec: _shared(outputs)))


def _shared(roots: Sequence[Expr]) -> list[Expr]:
    exprs = list(by_key(*roots).values())
    slopes = {expr.key: z for expr in exprs if (z := _logsumexp_of(expr)) is not None}
    differences = {expr.key: z for expr in exprs if (z := _subtracted(expr)) is not None}
    if not slopes and not differences:
        return list(roots)
    shared = {z.key for z in (*slopes.values(), *differences.values())}
    parts: dict[Key, _Parts] = {}

    def step(expr: Expr, args: tuple[Expr, ...]) -> Any:
        if expr.key in shared:
            found = parts[expr.key] = _parts_of(args[0], dict(expr.params)["axis"])
            return found.log_of_total if found.top is None else found.log_of_total + found.top
        if expr.key in slopes:
            z = slopes[expr.key]
            kept = _kept(dict(z.params)["axis"], expr.shape)
            return _slope(parts[z.key], kept, is_masked=args[0].op is mask)
        if expr.key in differences:
            found = parts[differences[expr.key].key]
            less = args[0] if found.top is None else args[0] - _moved(found.top, expr.args[1])
            return less - _moved(found.log_of_total, expr.args[1])
        return rebuild(expr, args)

    return folded_by_key(roots, step)


def _slope(parts: _Parts, kept: tuple[int, ...], is_masked: bool) -> Any:
    """The quotients, NaN beside an infinite entry; with a mask, 1 of an infinite entry, 0 of others."""
    slope = parts.exponentials * np.reshape(1 / parts.total, kept)
    if not is_masked or parts.top is None:
        return slope
    is_infinite, top = np.reshape(parts.is_infinite, kept), np.reshape(parts.top, kept)
    return np.where(is_infinite, parts.entries == top, slope)


def _parts_of(x: Expr, axes: tuple[int, ...]) -> _Parts:
    if _is_less_largest(x, axes):
        powers: Any = np.exp(x)
        total = np.sum(powers, axis=axes)
        return _Parts(x, None, None, powers, total, np.log(total))
    top = np.max(x, axis=axes)
    powers = np.exp(x - np.reshape(top, _kept(axes, x.shape)))
    total, is_infinite = np.sum(powers, axis=axes), np.isinf(top)
    return _Parts(x, top, is_infinite, powers, total, np.where(is_infinite, 0, np.log(total)))


def _kept(axes: tuple[int, ...], shape: tuple[int, ...]) -> tuple[int, ...]:
    """The shape of a reduction over axes that keeps them, with length 1."""
    return tuple([1 if k in axes else n for k, n in enumerate(shape)])


def _logsumexp_of(expr: Expr) -> Expr | None:
    """The log-sum-exp z of which an expression is exp(x - z), or that with a mask; None of others."""
    if expr.op is not exp or expr.dtype.kind != "f" or not expr.size:
        return None
    less = expr.args[0].args[1] if expr.args[0].op is mask else expr.args[0]
    if less.op is not subtract:
        return None
    x, z = less.args
    inner = z.args[0] if z.op is broadcast_to else z
    found = without_unit_axes(inner)
    if found.op is not logsumexp_op or found.args[0].key != x.key:
        return None
    return found if _is_aligned(inner, x, dict(found.params)["axis"]) else None


def _is_aligned(inner: Expr, x: Expr, axes: tuple[int, ...]) -> bool:
    """Whether what is broadcast to the shape of x is a reduction of x over axes, along the others."""
    kept, rest = _kept(axes, x.shape), x.ndim - inner.ndim
    return inner.shape == kept[rest:] and set(kept[:rest]) <= {1}


def _subtracted(expr: Expr) -> Expr | None:
    """The log-sum-exp z of x, if the expression is x - z, or entries of x less z; None of others."""
    if expr.op is not subtract or expr.dtype.kind != "f" or not expr.size:
        return None
    z, u = expr.args[1], expr.args[0]
    while len(z.args) == 1 and z.op.moves:
        z = z.args[0]
    if z.op is not logsumexp_op or not z.args[0].size:
        return None
    x = z.args[0]
    while u.key != x.key and u.args and u.op.moves:
        u = u.args[0]
    return z if u.key == x.key else None


def _moved(x: Any, moves: Expr) -> Any:
    """A value of the place of a log-sum-exp, moved as that is."""
    chain = []
    while moves.op is not logsumexp_op:
        chain.append(moves)
        moves = moves.args[0]
    for move in reversed(chain):
        x = move.op(x, **dict(move.params))
    return x


def _is_less_largest(x: Expr, axes: tuple[int, ...]) -> bool:
    """Whether x is y - max(y), along these axes: its largest entry is 0."""
    if x.op is not subtract:
        return False
    y, wide = x.args
    wide = wide.args[0] if wide.op is stopped else wide
    inner = wide.args[0] if wide.op is broadcast_to else wide
    inner = inner.args[0] if inner.op is stopped else inner
    top = without_unit_axes(inner)
    top = top.args[0] if top.op is stopped else top
    is_largest = top.op is max_op and top.args[0].key == y.key and dict(top.params)["axis"] == axes
    return is_largest and _is_aligned(inner, y, axes)

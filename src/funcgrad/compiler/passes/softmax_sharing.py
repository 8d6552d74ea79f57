"""Sharing of exponentials by a log-sum-exp and its slope: each entry's exponential is computed once.

The slope of z = logsumexp(x) is exp(x - z), and z itself takes exp(x - m) of each entry, of which m is the
largest. Laws: z = log(s) + m and exp(x - z) = e/s, where e = exp(x - m) and s = sum(e). The quotient rounds
less than the difference; infinite entries have the slope's mask. For machine code: NumPy's blocks of a
log-sum-exp keep no exponentials.
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
from funcgrad.ops.elementwise.selection import mask
from funcgrad.ops.reduction import logsumexp_op
from funcgrad.ops.unit_axes import without_unit_axes


class _Softmax(NamedTuple):
    """A log-sum-exp, the exponentials of its entries, and one over their sum."""

    logsumexp: Any
    exponentials: Any
    scale: Any


def share_exponentials(roots: Sequence[Expr]) -> list[Expr]:
    """The roots, in which slopes of log-sum-exps are the quotients of their exponentials, in loops too.

    >>> import numpy as np
    >>> import funcgrad as fg
    >>> x = fg.var("x", 3)
    >>> z = fg.logsumexp(x)
    >>> share_exponentials([np.exp(x - z)])[0]
    let a = minimum(1.7976931348623157e+308, maximum(-1.7976931348623157e+308, max(x)))
        b = exp(x - reshape(a, shape=(1,)))
    in b*reshape(1/sum(b), shape=(1,))
    """
    return _shared(rewrite_bodies(roots, lambda outputs, inputs, spec: _shared(outputs)))


def _shared(roots: Sequence[Expr]) -> list[Expr]:
    exprs = list(by_key(*roots).values())
    slopes = {expr.key: z for expr in exprs if (z := _logsumexp_of(expr)) is not None}
    if not slopes:
        return list(roots)
    shared = {z.key for z in slopes.values()}
    parts: dict[Key, _Softmax] = {}

    def step(expr: Expr, args: tuple[Expr, ...]) -> Any:
        if expr.key in shared:
            parts[expr.key] = _softmax(args[0], dict(expr.params)["axis"])
            return parts[expr.key].logsumexp
        if expr.key in slopes:
            _, exponentials, scale = parts[slopes[expr.key].key]
            slope = exponentials * scale
            return np.where(args[0].args[0], slope, 1) if args[0].op is mask else slope
        return rebuild(expr, args)

    return folded_by_key(roots, step)


def _softmax(x: Expr, axes: tuple[int, ...]) -> _Softmax:
    kept = tuple([1 if k in axes else n for k, n in enumerate(x.shape)])
    # (Of finite entries beside an infinite one the exponentials are 0 so, and not infinite.)
    most = float(np.finfo(x.dtype).max)
    top: Any = np.clip(np.max(x, axis=axes), -most, most)
    exponentials = np.exp(x - np.reshape(top, kept))
    total = np.sum(exponentials, axis=axes)
    return _Softmax(np.log(total) + top, exponentials, np.reshape(1 / total, kept))


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
    axes = dict(found.params)["axis"]
    kept = tuple([1 if k in axes else n for k, n in enumerate(x.shape)])
    aligned = inner.shape == kept[len(kept) - inner.ndim :] and set(
        kept[: len(kept) - inner.ndim]
    ) <= {1}
    return found if aligned else None

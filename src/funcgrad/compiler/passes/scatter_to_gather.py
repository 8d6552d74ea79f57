"""Scatter-to-gather conversion: the adjoint of a stencil reads shifted slices, and adds to none in memory.

The cotangent of an array that is read at shifted slices is a sum of scatters, each of which reads and writes
the array. Law: zeros.at[a].add(x) + zeros.at[b].add(x) = p[c] + p[d], where p is x between zeros. Then the
terms are views of one array, and their sum is one loop, fused with its consumers. A zero may change its sign.
For machine code: a NumPy call takes as long for either.
Gain (docs/passes.md): without it the gradient of a relaxation on 64 x 64 points takes 1.7 times as long.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from funcgrad.compiler.passes.loop_bodies import rewrite_bodies
from funcgrad.expr import Expr, by_key, rebuild
from funcgrad.fold import folded_by_key
from funcgrad.graph import CONSTANT, Key
from funcgrad.ops.base.op import broadcast_to
from funcgrad.ops.elementwise.arithmetic import multiply
from funcgrad.ops.indexing import getitem_op, scatter_op
from funcgrad.ops.stores import index_add_op

IndexBox: TypeAlias = tuple[tuple[int, int], ...]
"""Of each axis the first index, and how many there are."""

# The terms of a sum that are worth it, also for each array that is scattered; and the entries.
_TERMS, _TERMS_OF_ONE, _ENTRIES = 3, 2, 32


class _Term(NamedTuple):
    """A factor times an array, added to a box of the sum."""

    factor: Expr | None
    x: Expr
    box: IndexBox


def scatter_to_gather(roots: Sequence[Expr]) -> list[Expr]:
    """The roots, in which sums of scattered slices are sums of slices of a padded array, in loops too.

    >>> import numpy as np
    >>> import funcgrad as fg
    >>> u = fg.var("u", 50)
    >>> slope = fg.gradient(np.sum((u[2:] - 2 * u[1:-1] + u[:-2]) ** 2), u)
    >>> scatter_to_gather([slope])[0]
    let a = zeros((52,)).at[2:50].add(u[2:] - 2*u[1:-1] + u[:-2])
    in 2*a[2:52] - 4*a[1:51] + 2*a[0:50]
    """
    return _gathered(rewrite_bodies(roots, lambda outputs, inputs, spec: _gathered(outputs)))


def _gathered(roots: Sequence[Expr]) -> list[Expr]:
    exprs = list(by_key(*roots).values())
    if not any([expr.op is index_add_op for expr in exprs]):
        return list(roots)
    uses = Counter([arg.key for expr in exprs for arg in expr.args] + [root.key for root in roots])
    once = {key for key, count in uses.items() if count == 1}
    inner = {expr.args[0].key for expr in exprs if expr.op is index_add_op} & once
    windows = {
        expr.args[0].key: expr for expr in exprs if _window(expr) and expr.args[0].key in once
    }
    sums: dict[Key, list[_Term]] = {}
    for expr in exprs:
        if expr.op is index_add_op and expr.key not in inner and expr.size >= _ENTRIES:
            terms = _terms(expr, once)
            if len(terms) >= max(_TERMS, _TERMS_OF_ONE * _arrays(terms)):
                sums[windows.get(expr.key, expr).key] = terms
    became: dict[Key, Expr] = {}

    def step(expr: Expr, args: tuple[Expr, ...]) -> Expr:
        if expr.key not in sums:
            return rebuild(expr, args)
        found: Expr = _sum_of_slices(sums[expr.key], _window(expr) or _whole(expr.shape), became)
        return found

    return folded_by_key(roots, step, became)


# -- boxes ---------------------------------------------------------------------------------------
def _whole(shape: Sequence[int]) -> IndexBox:
    return tuple([(0, length) for length in shape])


def _window(expr: Expr) -> IndexBox:
    """The box that an index selects from an array; empty if it is none."""
    is_window = expr.op is getitem_op and len(expr.args) == 1
    return _box(dict(expr.params)["spec"], expr.args[0].shape) if is_window else ()


def _box(spec: Sequence[Any], shape: Sequence[int]) -> IndexBox:
    """The box that a spec selects; empty if it selects anything else."""
    if len(spec) > len(shape) or not all([isinstance(item, tuple) for item in spec]):
        return ()
    bounds = [slice(*item[1:]).indices(n) for item, n in zip(spec, shape, strict=False)]
    if any([step != 1 or stop <= start for start, stop, step in bounds]):
        return ()
    found = tuple([(start, stop - start) for start, stop, _ in bounds])
    return found + _whole(shape)[len(spec) :]


def _spec(box: IndexBox) -> tuple[Any, ...]:
    return tuple([("slice", start, start + length, None) for start, length in box])


# -- sums ----------------------------------------------------------------------------------------
def _terms(expr: Expr, once: Collection[Key]) -> list[_Term]:
    """The terms of a sum of scattered boxes, in order; none if it is another sum."""
    terms: list[_Term] = []
    while expr.op is index_add_op and len(expr.args) == 2 and (not terms or expr.key in once):
        terms.append(_Term(None, expr.args[1], _box(dict(expr.params)["spec"], expr.shape)))
        expr = expr.args[0]
    is_start = expr.op is scatter_op and len(expr.args) == 1 and expr.key in once
    if not is_start or expr.dtype.kind not in "fc":
        return []
    terms.append(_Term(None, expr.args[0], _box(dict(expr.params)["spec"], expr.shape)))
    scaled = [_factored(term) for term in terms]
    found = min(terms, scaled, key=_arrays)
    fill = [
        term.box and term.x.shape == tuple([length for _, length in term.box]) for term in terms
    ]
    return found[::-1] if expr.shape and all(fill) else []


def _arrays(terms: Sequence[_Term]) -> int:
    """How many arrays are scattered."""
    return len({term.x.key for term in terms})


def _factored(term: _Term) -> _Term:
    """The term with a constant factor apart, so that others are of the same array."""
    x = term.x
    for factor, rest in (x.args, x.args[::-1]) if x.op is multiply else ():
        number = factor.args[0] if factor.op is broadcast_to else factor
        is_number = number.op is CONSTANT and number.size == 1 and rest.shape == x.shape
        if is_number and np.isfinite(number.value):
            return _Term(number, rest, term.box)
    return term


def _sum_of_slices(terms: Sequence[_Term], window: IndexBox, became: Mapping[Key, Expr]) -> Any:
    """The window of the sum of the terms, from arrays between as many zeros as the shifts need."""
    padded = {}
    for key in dict.fromkeys([term.x.key for term in terms]):
        padded[key] = _between_zeros(became[key], [t.box for t in terms if t.x.key == key], window)
    total: Any = None
    for factor, x, box in terms:
        whole, before = padded[x.key]
        shifts = [o - r + b for (o, _), (r, _), b in zip(window, box, before, strict=True)]
        part = whole[tuple([slice(at, at + n) for at, (_, n) in zip(shifts, window, strict=True)])]
        part = part if factor is None else factor * part
        total = part if total is None else total + part
    return total


def _between_zeros(x: Expr, boxes: Sequence[IndexBox], window: IndexBox) -> tuple[Any, list[int]]:
    """An array between zeros, of which each box's part of the window is a slice; the zeros before it."""
    before, box, shape = [], [], []
    for axis, (first, length) in enumerate(window):
        shifts = [first - own[axis][0] for own in boxes]
        low = max(0, *[-shift for shift in shifts])
        high = max(0, *[shift + length - x.shape[axis] for shift in shifts])
        before.append(low)
        box.append((low, x.shape[axis]))
        shape.append(low + x.shape[axis] + high)
    if tuple(shape) == x.shape:
        return x, before
    return scatter_op(x, spec=_spec(tuple(box)), shape=tuple(shape)), before

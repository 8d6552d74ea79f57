"""Display-only rewrites of shapes, entries and matrices: see `funcgrad.rewrite.reading_laws`."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, TypeAlias

import numpy as np

from funcgrad.expr import Expr, const, scalar
from funcgrad.graph import CONSTANT, broadcast_shapes
from funcgrad.ops import indexing, reduction, shape
from funcgrad.ops.base import op
from funcgrad.ops.elementwise import arithmetic, selection
from funcgrad.rewrite.constant_values import value_of
from funcgrad.rewrite.monomials import (
    SUMS,
    Monomial,
    adds_axes,
    collected,
    monomial,
    power,
    product_of,
    scalars_apart,
    sum_of,
    terms_of,
    unbroadcast,
)
from funcgrad.rewrite.reading_ops import outer_op, softmax_op

ReadingLaw: TypeAlias = Callable[[Expr], Expr | None]
"""What may stand in the place of a node whose operands are read; None if the law does not apply."""


def _before_broadcast(expr: Expr) -> Expr | None:
    """broadcast(x) + broadcast(y) = broadcast(x + y): computed at the smaller shape."""
    found = []
    for arg in expr.args:
        inner = unbroadcast(arg)
        if inner is arg and value_of(arg) is None:
            return None
        found.append(inner)
    try:
        small = broadcast_shapes(*[x.shape for x in found])
    except ValueError:
        return None
    if small == expr.shape or all([value_of(x) is not None for x in found]):
        return None
    parts = [x if x.shape == small else op.broadcast_to(x, shape=small) for x in found]
    return op.broadcast_to(expr.op(*parts, **dict(expr.params)), shape=expr.shape)  # type: ignore[no-any-return]


def _needless_axes(expr: Expr) -> Expr | None:
    """broadcast(reshape(x, (1, n)), (m, n)) = broadcast(x, (m, n))."""
    (x,) = expr.args
    if x.op is not shape.reshape_op or not adds_axes(x.args[0].shape, x.shape):
        return None
    inner = x.args[0]
    return inner if inner.type == expr.type else op.broadcast_to(inner, shape=expr.shape)


def _reshaped_broadcast(expr: Expr) -> Expr | None:
    """reshape(broadcast(x, (1, n)), (n,)) = x: of a broadcast that repeats nothing."""
    (x,) = expr.args
    if x.op is not op.broadcast_to or x.size != x.args[0].size:
        return None
    return shape.reshape(x.args[0], expr.shape)  # type: ignore[no-any-return]


def _factor_of_sum(expr: Expr) -> Expr | None:
    """sum(c*x) = c*sum(x) for a number c, or what is alike along the axes, as v in sum(v*x, axis=0)."""
    (x,) = expr.args
    if x.dtype.kind != "f" or x.dtype != expr.dtype:
        return None
    outside, own = _alike_apart(monomial(x), expr)
    if not own.powers or (not outside.powers and outside.number == 1):
        return None
    rest = reduction.sum_op(product_of(own, x), **dict(expr.params))
    return product_of(outside.times(monomial(rest)), expr)


def _alike_in_sum(expr: Expr) -> Expr | None:
    """sum(x - c) = sum(x) - n*c for a number c; sum(x - sum(x, axis=0)/n, axis=0) = 0, where terms cancel."""
    (x,) = expr.args
    if x.dtype.kind != "f" or x.dtype != expr.dtype:
        return None
    count = math.prod([x.shape[k] for k in dict(expr.params)["axis"]])
    parts = [(term, *_alike_apart(term, expr)) for term in terms_of(x).values()]
    alike = [one._replace(number=one.number * count) for _, one, own in parts if not own.powers]
    others = [term for term, _, own in parts if own.powers]
    if not alike or (not others and x.op not in SUMS and x.op is not op.broadcast_to):
        return None
    apart = [
        one.times(power(reduction.sum_op(product_of(own, x), **dict(expr.params)), 1.0))
        for _, one, own in parts
        if own.powers
    ]
    found = collected([*alike, *apart])
    if not others or len(found) <= len(others):
        return sum_of(found, expr)
    if expr.shape:
        return None
    rest = reduction.sum_op(sum_of(collected(others), x), **dict(expr.params))
    return sum_of(collected([*alike, *terms_of(rest).values()]), expr)


def _alike_apart(term: Monomial, total: Expr) -> tuple[Monomial, Monomial]:
    """The factors that are alike along the axes of a sum, in the shape of the sum, and the others."""
    alike, own = {}, {}
    for key, (base, k) in term.powers.items():
        small = _along_others(base, total)
        if small is None:
            own[key] = (base, k)
        else:
            alike[small.key] = (small, k)
    return Monomial(term.number, alike), Monomial(1.0, own)


def _along_others(base: Expr, total: Expr) -> Expr | None:
    """What is repeated along the axes of a sum, in the shape of the sum; None of other factors."""
    if base.op is not op.broadcast_to:
        return None
    (inner,) = base.args
    if not inner.shape:
        return op.broadcast_to(inner, shape=total.shape) if total.shape else inner
    lead = base.ndim - inner.ndim
    axes = [k - lead for k in dict(total.params)["axis"] if k >= lead]
    if any([inner.shape[k] != 1 for k in axes]):
        return None
    kept = tuple([n for k, n in enumerate(inner.shape) if k not in axes])
    adds = inner.op is shape.reshape_op or _only_adds_axes(inner)
    if adds and inner.args[0].shape == kept:
        (inner,) = inner.args
    small = inner if inner.shape == kept else shape.reshape(inner, kept)
    return small if kept == total.shape else op.broadcast_to(small, shape=total.shape)


def _entry_of_entries(expr: Expr) -> Expr | None:
    """x[i][j] = x[i, j], for one entry of an array; x[..., i] = x[i] and reshape(x[i:i + 1], ()) = x[i]."""
    if expr.shape or len(expr.args) != 1:
        return None
    (inner,) = expr.args
    whole = "..." in dict(expr.params).get("spec", ())
    moves = (shape.reshape_op, shape.transpose_op, indexing.getitem_op)
    steps = [expr]
    if inner.op in moves and len(inner.args) == 1:
        steps, (inner,) = [inner, expr], inner.args
    elif not whole:
        return None
    if not inner.shape or not 0 < inner.size <= 10_000:
        return None
    place = np.arange(inner.size).reshape(inner.shape)
    for step in steps:
        place = step.op.run(place, **dict(step.params))
    return inner[tuple([int(i) for i in np.unravel_index(int(place), inner.shape)])]  # type: ignore[no-any-return]


MOST_ENTRIES = 8


def _entries_in_zeros(expr: Expr) -> Expr | None:
    """zeros.at[0].add(x) + zeros.at[1].add(y) = [x, y, 0], for vectors of a few entries."""
    if expr.ndim != 1 or not 2 <= expr.size <= MOST_ENTRIES:
        return None
    found = [_entries(arg) for arg in expr.args]
    if any([part is None for part in found]):
        return None
    if all([arg.op is CONSTANT for arg in expr.args]):
        return None
    sums: list[Any] = [0.0] * expr.size
    for n, part in enumerate(found):
        for i, x in part or ():
            x = -x if n and expr.op is arithmetic.subtract else x
            sums[i] = x if isinstance(sums[i], float) else sums[i] + x
    zero = scalar(0, expr.dtype)
    return shape.stack([zero if isinstance(x, float) else x for x in sums])  # type: ignore[no-any-return]


def _entries(expr: Expr) -> list[tuple[int, Expr]] | None:
    """Pairs (index, entry) of a vector that is mostly zeros, also times scalars; None of other arrays."""
    if expr.dtype.kind != "f" or expr.op not in _SCALED:
        return _stored_entries(expr)
    alike, rest = scalars_apart(expr)
    bases = [base for base, k in rest.powers.values() if k == 1]
    if len(bases) != 1 or len(rest.powers) != 1:
        return None
    found, like = _stored_entries(bases[0]), scalar(0, expr.dtype)
    if found is None or (bases[0].op is CONSTANT and len(found) == expr.size):
        return None
    return [(i, product_of(alike.times(monomial(x)), like)) for i, x in found]


_SCALED = (arithmetic.multiply, arithmetic.divide, arithmetic.negative)


def _stored_entries(expr: Expr) -> list[tuple[int, Expr]] | None:
    """Pairs (index, entry) of a constant, a stack, or a number stored into zeros."""
    if expr.op is CONSTANT:
        array = expr.params[0][1].array
        return [(i, scalar(x, expr.dtype)) for i, x in enumerate(array.tolist()) if x != 0]
    entries = stacked_numbers(expr)
    if entries is not None:
        return [(i, x) for i, x in enumerate(entries) if value_of(x) != 0]
    if expr.op is not indexing.scatter_op or len(expr.args) != 1 or expr.args[0].shape:
        return None
    spec = dict(expr.params)["spec"]
    numbers = [i for i in spec if i != "..."]
    if len(numbers) != 1 or not isinstance(numbers[0], int):
        return None
    return [(numbers[0] % expr.size, expr.args[0])]


def stacked_numbers(expr: Expr) -> list[Expr] | None:
    """The numbers that make up a vector, one by one; None of anything else."""
    if expr.op is not shape.concatenate_op:
        return None
    inner = [unbroadcast(x) if x.op is op.broadcast_to else x.args[0] for x in expr.args if x.args]
    return inner if len(inner) == expr.size and not any([x.shape for x in inner]) else None


def _constant_entries(expr: Expr) -> Expr | None:
    """concatenate([1, 0]) of constants is one."""
    values = [value_of(x) for x in expr.args]
    if expr.ndim != 1 or any([value is None for value in values]):
        return None
    repeated = [np.full(x.size, value) for x, value in zip(expr.args, values, strict=True)]
    return const(np.concatenate(repeated).astype(expr.dtype))


def _whole_or_part(expr: Expr) -> Expr | None:
    """concatenate([x, y])[0:n] = x, for x of n rows; x[0:n] = x."""
    (x, *arrays) = expr.args
    if arrays or not 0 < x.size <= _MOST_PLACES:
        return None
    joined = x.op is shape.concatenate_op
    places = _places(x.args) if joined else _places([x])
    whole = x.op.run(*places, **dict(x.params)) if joined else places[0]
    found = expr.op.run(whole, **dict(expr.params))
    parts = zip((*(x.args if joined else ()), x), (*places, whole), strict=False)
    return next((p for p, own in parts if p.type == expr.type and np.array_equal(own, found)), None)


def _places(parts: Sequence[Expr]) -> list[Any]:
    """An array of the shape of each part, with a number of its own for each entry of all parts."""
    ends = np.cumsum([part.size for part in parts])
    return [
        np.arange(end - part.size, end).reshape(part.shape)
        for part, end in zip(parts, ends, strict=True)
    ]


_MOST_PLACES = 10_000


def _constant_sums(expr: Expr) -> Expr | None:
    """The sums of the first entries of a constant vector are one."""
    (x,) = expr.args
    value = value_of(x)
    if value is None or x.ndim != 1 or x.size > MOST_ENTRIES or x.dtype != expr.dtype:
        return None
    return const(expr.op.run(np.full(x.shape, value, x.dtype), **dict(expr.params)))


def _share_of_ties(expr: Expr) -> Expr | None:
    """where(p, x/sum(where(p, 1, 0)), 0) = x*p/sum(p)."""
    p, value = expr.args
    shares = monomial(value) if expr.dtype == float else Monomial(0.0, {})
    for key, (base, k) in shares.powers.items():
        whole = unbroadcast(base)
        total = whole.args[0] if whole.op is shape.reshape_op else whole
        if k == -1 and total.op is reduction.sum_op and _is_indicator(total.args[0], p):
            rest = {other: item for other, item in shares.powers.items() if other != key}
            x = product_of(Monomial(shares.number, rest), expr)
            count = np.sum(unbroadcast(p), **dict(total.params)).reshape(whole.shape)
            chosen = p if value_of(x) == 1 else x * p
            return chosen / count  # type: ignore[no-any-return]
    return None


def _is_indicator(x: Expr, p: Expr) -> bool:
    """Whether x is where(p, 1, 0)."""
    parts = x.args if x.op in (selection.where, selection.mask) else ()
    return (
        len(parts) > 1
        and parts[0].key == p.key
        and [value_of(v) for v in parts[1:]] in ([1], [1, 0])
    )


def _constant_sum(expr: Expr) -> Expr | None:
    """The sum of the entries of a constant vector is a number."""
    (x,) = expr.args
    if x.op is not CONSTANT or x.ndim != 1 or x.size > MOST_ENTRIES or x.dtype != expr.dtype:
        return None
    return scalar(np.sum(x.params[0][1].array), expr.dtype)


def _sum_of_broadcast(expr: Expr) -> Expr | None:
    """sum(broadcast(x, (m, n)), axis=1) = broadcast(sum(x), (m,))."""
    (x,) = expr.args
    axes = dict(expr.params)["axis"]
    if x.op is not op.broadcast_to or x.dtype != expr.dtype or not axes:
        return None
    (inner,) = x.args
    lead = x.ndim - inner.ndim
    if inner.shape != x.shape[lead:] or min(axes) < lead:
        return None
    small = reduction.sum_op(inner, axis=tuple([i - lead for i in axes]))
    return op.broadcast_to(small, shape=expr.shape) if lead else None


def _entry_in_zeros(expr: Expr) -> Expr | None:
    """zeros(3).at[0].add(x) = [x, 0, 0]."""
    if expr.dtype.kind != "f" or expr.ndim != 1 or not 2 <= expr.size <= MOST_ENTRIES:
        return None
    found = _entries(expr)
    if found is None:
        return None
    ((place, x),) = found
    zero = scalar(0, expr.dtype)
    return shape.stack([x if i == place else zero for i in range(expr.size)])  # type: ignore[no-any-return]


def _scaled_entry(expr: Expr) -> Expr | None:
    """x*[1, 0, 0] = [x, 0, 0]."""
    if expr.dtype.kind != "f" or expr.ndim != 1 or not 2 <= expr.size <= MOST_ENTRIES:
        return None
    found = dict(_entries(expr) or ())
    if not found or all([value_of(x) is not None for x in found.values()]):
        return None
    zero = scalar(0, expr.dtype)
    return shape.stack([found.get(i, zero) for i in range(expr.size)])  # type: ignore[no-any-return]


def _softmax(expr: Expr) -> Expr | None:
    """exp(x - logsumexp(x)) = _softmax(x)."""
    (inside,) = expr.args
    if inside.op is not arithmetic.subtract:
        return None
    x, logs = inside.args
    while logs.op is op.broadcast_to or logs.op is shape.reshape_op:
        if logs.op is shape.reshape_op and not _keeps_axes(logs, x):
            return None
        logs = logs.args[0]
    if logs.op is not reduction.logsumexp_op or logs.args[0].key != x.key:
        return None
    axes = dict(logs.params)["axis"]
    whole = len(axes) == x.ndim == 1
    if not whole and (len(axes) > 1 or inside.args[1].op is not op.broadcast_to):
        return None
    return softmax_op(x, axis=axes[0])  # type: ignore[no-any-return]


def _keeps_axes(expr: Expr, x: Expr) -> bool:
    """Whether a reduction of x is given back the axes that it has lost, with length 1."""
    lost = dict(expr.args[0].params).get("axis", ())
    return expr.shape == tuple([1 if i in lost else n for i, n in enumerate(x.shape)])


def _only_adds_axes(expr: Expr) -> bool:
    """Whether an expression is x[:, None] or the like."""
    spec = dict(expr.params)["spec"] if expr.op is indexing.getitem_op else ("",)
    return all([i in ("new", "...", ("slice", None, None, None)) for i in spec])


_NEW_LAST = (("slice", None, None, None), "new")


def entry_of_vector(expr: Expr) -> Expr | None:
    """x[..., 1] = x[1], for one entry of an array."""
    (x, *arrays) = expr.args
    numbers = [i for i in dict(expr.params)["spec"] if i != "..."]
    if arrays or expr.shape or len(numbers) != x.ndim or numbers == [*dict(expr.params)["spec"]]:
        return None
    return x[tuple(numbers)]  # type: ignore[no-any-return]


def entry_of_constant(expr: Expr) -> Expr | None:
    """array([1, 2])[0] = 1."""
    (x, *arrays) = expr.args
    if arrays or expr.shape or x.op is not CONSTANT:
        return None
    places = [... if i == "..." else i for i in dict(expr.params)["spec"]]
    return scalar(np.asarray(x.value)[tuple(places)], expr.dtype)


def outer_product(expr: Expr) -> Expr | None:
    """x[:, None]*y = outer(x, y) for vectors."""
    if expr.ndim != 2 or any([arg.op is not op.broadcast_to for arg in expr.args]):
        return None
    n, m = expr.shape
    for x, y in (expr.args, expr.args[::-1]):
        column, row = x.args[0], unbroadcast(y)
        is_column = column.shape == (n, 1) and (
            column.op is shape.reshape_op or dict(column.params).get("spec") == _NEW_LAST
        )
        if is_column and column.args[0].shape == (n,) and row.shape == (m,):
            return outer_op(column.args[0], row)  # type: ignore[no-any-return]
    return None


READING_ELEMENTWISE: tuple[ReadingLaw, ...] = (_before_broadcast,)
"""Tried on every elementwise operation."""
ARRAY_READING: Mapping[str, tuple[ReadingLaw, ...]] = MappingProxyType(
    {
        "add": (_entries_in_zeros,),
        "subtract": (_entries_in_zeros,),
        "negative": (_scaled_entry,),
        "divide": (_scaled_entry,),
        "multiply": (outer_product, _scaled_entry),
        "exp": (_softmax,),
        "broadcast_to": (_needless_axes,),
        "sum": (_constant_sum, _sum_of_broadcast, _factor_of_sum, _alike_in_sum),
        "reshape": (_entry_of_entries, _reshaped_broadcast),
        "cumsum": (_constant_sums,),
        "mask": (_share_of_ties,),
        "concatenate": (_constant_entries,),
        "getitem": (_entry_of_entries, _whole_or_part),
        "scatter_add": (_entry_in_zeros,),
    }
)

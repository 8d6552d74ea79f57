"""Display-only rewrites of products along axes, and of sorted arrays: see `funcgrad.rewrite.reading_laws`."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import permutations
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from funcgrad.expr import Expr
from funcgrad.fold import folded
from funcgrad.graph import CONSTANT, Key, unnested
from funcgrad.ops import indexing, recurrences, reduction, scans_and_sorts, shape
from funcgrad.ops.base.axes import shifted
from funcgrad.ops.elementwise import arithmetic
from funcgrad.rewrite.constant_values import value_of
from funcgrad.rewrite.monomials import collected, terms_of
from funcgrad.rewrite.reading_array_laws import ReadingLaw
from funcgrad.rewrite.reading_ops import diff_op, pad_op, sort_op


def _products_of_others(expr: Expr) -> Expr | None:
    """The product of all other entries along an axis, for each entry of an array v = prod(v, axis)/v."""
    parted = [x.op in _MOVES or x.op is arithmetic.multiply for x in expr.args]
    if not expr.ndim or not 2 <= expr.size <= _MOST_BITS or not any(parted):
        return None
    factors = list(unnested(expr, lambda x: x.args if x.op is arithmetic.multiply else ()))
    parts = folded(factors, _factors_of_entries, operands=_moved)
    groups: dict[Key, list[int]] = {}
    for i, part in enumerate(parts):
        if part is not None and part.vector is not None:
            groups.setdefault(part.vector.key, []).append(i)
    for places in groups.values():
        found = parts[places[0]]
        for i in places[1:]:
            found = _joined([found, parts[i]])
        # (Without a product, two entries are only turned round.)
        others = _others(found, expr) if found is not None and found.multiplied else None
        if others is not None:
            rest = [x for i, x in enumerate(factors) if i not in places]
            return math.prod(rest, start=others)
    return None


def _others(found: _Factors, expr: Expr) -> Expr | None:
    """The products of all others as a formula, in the layout of an expression."""
    v = found.vector
    if v is None or v.dtype != expr.dtype:
        return None
    bits = (1 << np.arange(v.size)).reshape(v.shape)
    if v.ndim == 1 and expr.ndim == 1 and v.type != expr.type:
        every = int(np.bitwise_or.reduce(found.bits))
        start = (every & -every).bit_length() - 1
        v, bits = v[start : start + expr.size], bits[start : start + expr.size]
    whole = tuple(range(v.ndim))
    for axes in {whole: None} | {(k,): None for k in whole}:
        others = np.bitwise_or.reduce(bits, axis=axes, keepdims=True) - bits
        if np.any(others) and (order := _order(others, found.bits)) is not None:
            joined = [1 if k in axes else n for k, n in enumerate(v.shape)]
            quotient = shape.reshape(reduction.prod_op(v, axis=axes), joined) / v
            return _ordered(quotient, order) if order else shape.reshape(quotient, -1)
    return None


def _order(bits: Any, wanted: Any) -> tuple[int, ...] | None:
    """The axes in whose order bits are those wanted; no axes if they are when flat, and None if never."""
    if bits.ndim <= _MOST_AXES:
        for axes in permutations(range(bits.ndim)):
            if np.array_equal(bits.transpose(axes), wanted):
                return axes
    return () if np.array_equal(bits.ravel(), wanted) else None


_MOST_AXES = 4


def _ordered(x: Expr, axes: tuple[int, ...]) -> Expr:
    return x if axes == tuple(range(x.ndim)) else shape.transpose(x, axes)


def _moved(expr: Expr) -> tuple[Expr, ...]:
    parted = [x.op in _MOVES or x.op is arithmetic.multiply for x in expr.args]
    joined = expr.op is arithmetic.multiply and any(parted)
    if expr.op is indexing.getitem_op and len(expr.args) > 1:  # by arrays of indices
        return ()
    return expr.args if (joined or expr.op in _MOVES) and value_of(expr) is None else ()


class _Factors(NamedTuple):
    """Entries that are products of entries of a vector: the bits of each say of which."""

    vector: Expr | None
    bits: Any
    multiplied: bool
    """Whether it was multiplied, also by entries that are 1."""


def _factors_of_entries(expr: Expr, parts: tuple[_Factors | None, ...]) -> _Factors | None:
    if value_of(expr) == 1:
        return _Factors(None, np.zeros(expr.shape, np.int64), True)
    if not parts:
        fits = 0 < expr.size <= _MOST_BITS
        own: Any = (1 << np.arange(expr.size)).reshape(expr.shape)
        return _Factors(expr, own, False) if fits else None
    if expr.op is arithmetic.multiply:
        return _joined(parts)
    vector = _vector_of(parts)
    known = [part for part in parts if part is not None]
    multiplied = any([part.multiplied for part in known])
    bits = [part.bits for part in known]
    if vector is None:
        return None
    return _Factors(vector, expr.op.run(*bits, **dict(expr.params)), multiplied)


def _joined(parts: Sequence[_Factors | None]) -> _Factors | None:
    """A product of two; None if an entry is a factor of both."""
    vector = _vector_of(parts)
    bits = [part.bits for part in parts if part is not None]
    if vector is None or np.any(bits[0] & bits[1]):
        return None
    return _Factors(vector, bits[0] | bits[1], True)


def _vector_of(parts: Sequence[_Factors | None]) -> Expr | None:
    """The one array of whose entries there are products; None if there are several, or others."""
    found = [part for part in parts if part is not None]
    vectors = {part.vector.key: part.vector for part in found if part.vector is not None}
    return next(iter(vectors.values())) if len(found) == len(parts) and len(vectors) == 1 else None


def _by_running_products(expr: Expr) -> Expr | None:
    """The derivative of cumprod(v), for g = dL/dz: cumsum((g*cumprod(v))[::-1])[::-1]/v."""
    factors = list(unnested(expr, lambda x: x.args if x.op is arithmetic.multiply else ()))
    for i, flipped in enumerate(factors):
        found = flipped.args[0] if flipped.op is indexing.getitem_op else flipped
        if found.op is not recurrences.recurrence_op:
            continue
        (a, b), axis = found.args, dict(found.params)["axis"]
        for k, moved in enumerate(factors):
            v = _multiplied(moved, axis)
            if v is None or not _is_same_entries(a, _moved_up(np.flip(v, axis), axis)):
                continue
            whole = arithmetic.multiply(np.flip(b, axis), recurrences.cumprod_op(v, axis=axis))
            sums = scans_and_sorts.cumsum_op(np.flip(whole, axis), axis=axis)
            rest = [x for j, x in enumerate(factors) if j not in (i, k)]
            return math.prod(rest, start=arithmetic.divide(np.flip(sums, axis), v))
    return None


def _moved_up(x: Any, axis: int) -> Expr:
    """An array shifted by one along an axis, with a one in the first place."""
    return shifted(x, 1, axis)  # type: ignore[no-any-return]


def _multiplied(x: Expr, axis: int) -> Expr | None:
    """The array v, if an expression is its exclusive cumulative product along an axis; else None."""
    parts = unnested(x, lambda x: x.args if x.op in _MOVES else ())
    for part in parts:
        if part.op is recurrences.cumprod_op and dict(part.params)["axis"] == axis:
            return part.args[0] if _is_same_entries(x, _moved_up(part, axis)) else None
    return None


def _is_same_entries(x: Expr, y: Expr) -> bool:
    """Whether two expressions have the same entries of the same arrays, and ones, at the same places."""
    found = [folded([each], _sources, operands=_moved_from)[0] for each in (x, y)]
    return found[0] is not None and found[0] == found[1]


def _moved_from(expr: Expr) -> tuple[Expr, ...]:
    plain = expr.op in _MOVES and all([arg.ndim > 0 for arg in expr.args])
    return expr.args if plain and expr.size <= _MOST_MOVED else ()


_MOST_MOVED = 1000


def _sources(expr: Expr, parts: tuple[list[Any] | None, ...]) -> list[Any] | None:
    """Where each entry comes from: an array's key and the place in it, or a constant's value."""
    if not parts:
        value = value_of(expr)
        if expr.size > _MOST_MOVED:
            return None
        return [(expr.key, i) if value is None else value.item() for i in range(expr.size)]
    sizes = [arg.size for arg in expr.args]
    places = [
        (np.arange(n) + start).reshape(arg.shape)
        for n, start, arg in zip(sizes, np.cumsum([0, *sizes]), expr.args, strict=False)
    ]
    entries = [entry for part in parts for entry in part or ()]
    if len(entries) != sum(sizes):
        return None
    if expr.op is shape.concatenate_op:
        moved = np.concatenate(places, **dict(expr.params))
    else:
        if len(parts) > 1:
            return None
        moved = expr.op.run(*places, **dict(expr.params))
    return [entries[i] for i in np.ravel(moved).tolist()]


_MOVES = (shape.concatenate_op, shape.reshape_op, shape.transpose_op, indexing.getitem_op)
_MOST_BITS = 60


def _product_of_moved(expr: Expr) -> Expr | None:
    """prod(v.T, axis=1) = prod(v, axis=0); prod(reshape(v, (n,))) = prod(v)."""
    (x,) = expr.args
    axes = dict(expr.params)["axis"]
    if x.op is shape.reshape_op and not expr.shape and x.size:
        inner = x.args[0]
        return reduction.prod_op(inner, axis=tuple(range(inner.ndim)))  # type: ignore[no-any-return]
    if x.op is not shape.transpose_op:
        return None
    moved = dict(x.params)["axes"]
    within = sorted([moved[k] for k in axes])
    kept = [k for k in moved if k not in within]
    if kept != sorted(kept):
        return None
    return reduction.prod_op(x.args[0], axis=tuple(within))  # type: ignore[no-any-return]


def _sorted_back(expr: Expr) -> Expr | None:
    """zeros.at[argsort(v)].add(w) = w[argsort(argsort(v))]: the inverse of a permutation is its argsort."""
    g, *arrays = expr.args
    spec = dict(expr.params)["spec"]
    if g.shape != expr.shape or spec != ("array",) * expr.ndim:
        return None
    own = [k for k, order in enumerate(arrays) if order.op is scans_and_sorts.argsort_op]
    if len(own) != 1 or arrays[own[0]].ndim < expr.ndim:
        return None
    if dict(arrays[own[0]].params)["axis"] != own[0]:
        return None
    places = np.ogrid[tuple([slice(n) for n in expr.shape])]
    for k, (order, place) in enumerate(zip(arrays, places, strict=True)):
        if k not in own and not _is_constant(order, place):
            return None
    if value_of(g) is not None:
        return g
    arrays[own[0]] = scans_and_sorts.argsort_op(arrays[own[0]], axis=own[0])
    return indexing.getitem_op(g, *arrays, spec=spec, shape=expr.shape)  # type: ignore[no-any-return]


def _sorted(expr: Expr) -> Expr | None:
    """v[argsort(v)] = sort(v), and along an axis of an array."""
    x, *arrays = expr.args
    spec = dict(expr.params)["spec"]
    if x.shape != expr.shape or spec != ("array",) * expr.ndim:
        return None
    places = np.ix_(*map(range, expr.shape))
    for axis, order in enumerate(arrays):
        others = [k for k in range(expr.ndim) if k != axis]
        own = order.op is scans_and_sorts.argsort_op and order.args[0].key == x.key
        if own and all([_is_constant(arrays[k], places[k]) for k in others]):
            last = axis == expr.ndim - 1
            if dict(order.params)["axis"] == axis:
                return sort_op(x, axis=None if last else axis)  # type: ignore[no-any-return]
    return None


def _difference(expr: Expr) -> Expr | None:
    """v[1:] - v[:-1] = diff(v)."""
    x, y = expr.args
    for later, earlier in ((x, y), (y, x)):
        if _is_all_but(0, later) and _is_all_but(-1, earlier):
            v = later.args[0]
            if v.key == earlier.args[0].key and v.size > expr.size:
                return diff_op(v) if later is x else -diff_op(v)  # type: ignore[no-any-return]
    return None


def _is_all_but(end: int, expr: Expr) -> bool:
    """Whether a node takes all entries of a vector but one, ``v[1:]`` or ``v[:-1]``, or adds to them."""
    if expr.op not in (indexing.getitem_op, indexing.scatter_op) or len(expr.args) > 1:
        return False
    vector = max(expr, expr.args[0], key=lambda x: x.size)
    if expr.ndim != 1 or vector.ndim != 1 or not 0 < vector.size <= _MOST_REVERSED:
        return False
    every = np.arange(vector.size)
    taken = indexing.getitem_op.run(every, **dict(expr.params))
    return np.array_equal(taken, np.delete(every, end))


def _differences_back(expr: Expr) -> Expr | None:
    """zeros.at[:-1].add(-g) + zeros.at[1:].add(g) = -diff(pad(g, 1)), the transpose of diff."""
    x, y = expr.args
    for later, earlier in ((x, y), (y, x)):
        if (later.op, earlier.op) != (indexing.scatter_op, indexing.scatter_op):
            return None
        if _is_all_but(0, later) and _is_all_but(-1, earlier):
            g, other = later.args[0], earlier.args[0]
            if not collected([*terms_of(g).values(), *terms_of(other).values()]):
                return -diff_op(pad_op(g))  # type: ignore[no-any-return]
    return None


def _reversed_back(expr: Expr) -> Expr | None:
    """zeros.at[::-1].add(w) = w[::-1]: reversals are their own inverses."""
    g, *arrays = expr.args
    if arrays or g.shape != expr.shape or not 0 < expr.size <= _MOST_REVERSED:
        return None
    places, params = np.arange(expr.size).reshape(expr.shape), dict(expr.params)
    taken = indexing.getitem_op.run(places, **params)
    if not np.array_equal(expr.op.run(places, **params), taken):
        return None
    return indexing.getitem_op(g, **params)  # type: ignore[no-any-return]


def _moved_back(expr: Expr) -> Expr | None:
    """x[::-1][::-1] = x: entries that were moved twice stand in their old places."""
    x, *arrays = expr.args
    if arrays or x.op is not indexing.getitem_op or len(x.args) > 1:
        return None
    (inner,) = x.args
    if inner.shape != expr.shape or not 0 < expr.size <= _MOST_REVERSED:
        return None
    places = np.arange(expr.size).reshape(expr.shape)
    moved = expr.op.run(x.op.run(places, **dict(x.params)), **dict(expr.params))
    return inner if np.array_equal(moved, places) else None


_MOST_REVERSED = 10_000


def _is_constant(expr: Expr, array: Any) -> bool:
    if expr.op is not CONSTANT or expr.ndim > array.ndim:
        return False
    return np.array_equal(
        expr.params[0][1].array.reshape((1,) * (array.ndim - expr.ndim) + expr.shape), array
    )


AXIS_READING: Mapping[str, tuple[ReadingLaw, ...]] = MappingProxyType(
    {
        "multiply": (_products_of_others, _by_running_products),
        "concatenate": (_products_of_others,),
        "getitem": (_moved_back, _sorted),
        "subtract": (_difference,),
        "add": (_differences_back,),
        "prod": (_product_of_moved,),
        "scatter_add": (_sorted_back, _reversed_back),
    }
)
"""The laws by operation."""

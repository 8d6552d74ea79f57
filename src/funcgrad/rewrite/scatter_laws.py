"""Laws of scattered entries: sums and products act on the entries, not on the zeros between them.

The cotangent of an array of which a slice is read is zero elsewhere. Entries that are not read may be
infinite or NaN, and reach no gradient: no factor meets the zeros.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from funcgrad.expr import Expr, const
from funcgrad.fold import reaches
from funcgrad.graph import CONSTANT, unnested
from funcgrad.ops import indexing, reduction, shape
from funcgrad.ops.base import op
from funcgrad.ops.base.op import Op
from funcgrad.ops.elementwise import arithmetic, exponential, logic, selection
from funcgrad.ops.scans_and_sorts import cumsum_op
from funcgrad.ops.stores import index_add_op, index_set_op
from funcgrad.rewrite import store_laws
from funcgrad.rewrite.constant_values import value_of


def scattered_product(expr: Expr) -> Expr | None:
    """scatter(v)*y = scatter(v*y[i]), for an index that gives a view.

    So an entry of y that is not chosen may be infinite or NaN, and costs nothing. The scattered array may
    have been moved, or be a sum of such, whose entries are side by side.
    """
    for place, (x, y) in enumerate((expr.args, expr.args[::-1])):
        if place and expr.op is arithmetic.divide:
            return None
        moves: list[Expr] = []
        while x.op in UNMOVES and len(moves) < _MOST_MOVES:
            moves.append(x)
            x = x.args[0]
        scattered = _as_scattered(x)
        if scattered is None or y.op is indexing.scatter_op:
            continue
        for move in moves:
            y = UNMOVES[move.op](move, y)
        v, params = scattered.args[0], dict(scattered.params)
        chosen = indexing.getitem_op(y, spec=params["spec"], shape=v.shape)
        entries = expr.op(chosen, v) if place else expr.op(v, chosen)
        found: Expr = indexing.scatter_op(entries, **params)
        for move in reversed(moves):
            found = move.op(found, **dict(move.params))
        return found
    return None


UNMOVES: dict[Op, Callable[[Expr, Expr], Expr]] = {
    shape.reshape_op: lambda move, y: shape.reshape(y, move.args[0].shape),
    shape.transpose_op: lambda move, y: shape.transpose(y, np.argsort(dict(move.params)["axes"])),
}
"""The inverse of a move, of which each entry stays one, applied to another array."""
_MOST_MOVES = 4


def part_of_scattered(expr: Expr) -> Expr | None:
    """f(scatter(v)) = scatter(f(v)), for casts and parts of complex numbers, which are 0 at 0."""
    x = _as_scattered(expr.args[0])
    if x is None:
        return None
    return indexing.scatter_op(expr.op(x.args[0], **dict(expr.params)), **dict(x.params))  # type: ignore[no-any-return]


def negated_scatter(expr: Expr) -> Expr | None:
    """-scatter(v) = scatter(-v), also where arrays of indices lead to the entries."""
    (x,) = expr.args
    if x.op is not indexing.scatter_op:
        return part_of_scattered(expr)
    return indexing.scatter_op(-x.args[0], *x.args[1:], **dict(x.params))  # type: ignore[no-any-return]


def _as_scattered(x: Expr) -> Expr | None:
    """An expression that adds entries into zeros, or a sum of such, as one."""
    if x.op in ADDITIONS and any([arg.op in SCATTERED for arg in x.args]):
        return store_laws.as_one_scatter(x)
    return x if _is_scattered(x) else None


ADDITIONS = (arithmetic.add, index_add_op)
"""Operations that add up scattered entries."""
SCATTERED = (indexing.scatter_op, index_add_op)


def scattered_contraction(expr: Expr) -> Expr | None:
    """a @ scatter(v) = a[..., i] @ v, and scatter(v) @ b = v @ b[i], for a slice i of the summed axis."""
    a, b = expr.args
    if b.ndim <= 2 and (chosen := _scattered_slice(b)) is not None:
        return a[(*_WHOLE * (a.ndim - 1), chosen)] @ b.args[0]  # type: ignore[no-any-return]
    if a.ndim == 1 and (chosen := _scattered_slice(a)) is not None:
        return a.args[0] @ b[(*_WHOLE * (b.ndim - 2), chosen)]  # type: ignore[no-any-return]
    return None


_WHOLE = (slice(None),)


def _scattered_slice(x: Expr) -> slice | None:
    """The slice of the first axis to which entries are scattered, if the others are whole."""
    if not _is_scattered(x):
        return None
    spec = dict(x.params)["spec"]
    if len(spec) != 1 or not isinstance(spec[0], tuple) or spec[0][0] != "slice":
        return None
    return slice(*spec[0][1:])


def scattered_total(expr: Expr) -> Expr | None:
    """sum(scatter(v)) = sum(v), over all axes and for an index that gives a view."""
    (x,) = expr.args
    if not _is_scattered(x) or expr.shape:
        return None
    v = x.args[0]
    return reduction.sum_op(v, axis=tuple(range(v.ndim))) if v.ndim else v


def scattered_sums(expr: Expr) -> Expr | None:
    """sum(zeros.at[i, j].add(v), axis=1) = zeros.at[i].add(v), for an array of places of each axis."""
    (x,), axes = expr.args, dict(expr.params)["axis"]
    if x.op is not indexing.scatter_op or not 0 < len(axes) < x.ndim or expr.dtype != x.dtype:
        return None
    v, *arrays = x.args
    if dict(x.params)["spec"] != ("array",) * x.ndim or -1 in x.shape:
        return None
    if any([array.shape != v.shape for array in arrays]):
        return None
    kept = [array for axis, array in enumerate(arrays) if axis not in axes]
    found: Expr = indexing.scatter_op(v, *kept, spec=("array",) * len(kept), shape=expr.shape)
    return found


def joined_scatters(expr: Expr) -> Expr | None:
    """scatter(x) + scatter(y) = scatter(x + y) for one index, also within a sum with an array."""
    for first, second in (expr.args, expr.args[::-1]):
        if not _is_scattered(first):
            continue
        terms = second.args if second.op is arithmetic.add else ()
        for term, rest in ((second, None), *zip(terms, terms[::-1], strict=True)):
            if _is_scattered(term) and term.params == first.params:
                added = indexing.scatter_op(first.args[0] + term.args[0], **dict(first.params))
                return added if rest is None else rest + added  # type: ignore[no-any-return]
    return None


def _is_scattered(expr: Expr) -> bool:
    """Whether an expression adds entries into zeros by an index that gives a view."""
    return expr.op is indexing.scatter_op and len(expr.args) == 1


class _AxisRange(NamedTuple):
    """The contiguous entries of an axis that an index selects, or the one by which the axis is dropped."""

    start: int
    stop: int
    is_dropped: bool = False
    is_array: bool = False
    """Whether an array of numbers chooses them, of all entries."""

    @property
    def item(self) -> Any:
        """Its item of a spec."""
        plain = self.start if self.is_dropped else ("slice", self.start, self.stop, None)
        return "array" if self.is_array else plain


def _axis_ranges(expr: Expr, shape: Sequence[int]) -> list[_AxisRange] | None:
    """The range that an index selects of each axis; None if it has new axes, steps or several arrays."""
    spec = dict(expr.params)["spec"]
    items, arrays = list(spec), expr.args[1:]
    if "new" in items or len(arrays) > 1 or any([array.ndim != 1 for array in arrays]):
        return None
    if arrays and any([isinstance(item, int) for item in items]):  # which joins the arrays
        return None
    if "..." in items:
        place = items.index("...")
        items[place : place + 1] = [_ALL] * (len(shape) - len(items) + 1)
    items += [_ALL] * (len(shape) - len(items))
    found = []
    for item, length in zip(items, shape, strict=True):
        if item == "array":
            found.append(_AxisRange(0, length, is_array=True))
        elif isinstance(item, int):
            first = item + length if item < 0 else item
            found.append(_AxisRange(first, first + 1, is_dropped=True))
        else:
            start, stop, step = slice(*item[1:]).indices(length)
            if step != 1:
                return None
            found.append(_AxisRange(start, max(start, stop)))
    return found


_ALL = ("slice", None, None, None)


def _scattered_ranges(x: Expr) -> list[_AxisRange] | None:
    """The ranges to which entries are added into zeros; None if they are not contiguous."""
    is_plain = x.op is indexing.scatter_op and min(x.shape, default=0) >= 0
    return _axis_ranges(x, x.shape) if is_plain else None


def entries_of_scattered(expr: Expr) -> Expr | None:
    """scatter(v)[j] = scatter(v[k]), for indices of slices and numbers: the entries that both choose.

    So the parts of arrays that were put together, and of which a slice is read, act on its entries alone.
    """
    x = expr.args[0]
    added = None if len(expr.args) > 1 else _scattered_ranges(x)
    chosen = None if added is None else _axis_ranges(expr, x.shape)
    if added is None or chosen is None:
        return None
    of_entries: list[Any] = []
    of_result: list[_AxisRange] = []
    for one, other, length in zip(added, chosen, x.shape, strict=True):
        start, stop = max(one.start, other.start), min(one.stop, other.stop)
        if one.is_array and other != (0, length, False, False):
            return None
        if start >= stop:
            return shape.zeros_like(expr)  # type: ignore[no-any-return]
        is_part = (start, stop) in (one[:2], other[:2]) or 2 * (stop - start) <= length
        if not is_part:  # of a stencil, whose shifted arrays are faster to add up before the slice
            return None
        if not one.is_dropped:
            first = start - one.start
            of_entries.append(first if other.is_dropped else slice(first, stop - one.start))
        if one.is_array:
            of_entries[-1] = slice(None)
        if not other.is_dropped:
            first = start - other.start
            of_result.append(_AxisRange(first, stop - other.start, one.is_dropped, one.is_array))
    return _scatter(x.args[0][tuple(of_entries)], x, of_result, expr)


def scattered_twice(expr: Expr) -> Expr | None:
    """scatter(scatter(v)) = scatter(v), for indices of slices and numbers."""
    x = expr.args[0]
    added = None if len(expr.args) > 1 else _scattered_ranges(expr)
    inner = None if added is None else _scattered_ranges(x)
    if added is None or inner is None:
        return None
    own = iter(inner)
    places = []
    for one, length in zip(added, expr.shape, strict=True):
        part = one if one.is_dropped else next(own)
        if part.is_array and one[:2] != (0, length):
            return None
        if not (one.is_dropped or part.is_array):
            part = part._replace(start=part.start + one.start, stop=part.stop + one.start)
        places.append(part)
    if any([one.is_array for one in places]) and any([one.is_dropped for one in places]):
        return None
    return _scatter(x.args[0], x, places, expr)


def reshaped_scatter(expr: Expr) -> Expr | None:
    """reshape(scatter(v)) = scatter(reshape(v)), where axes of length 1 come or go."""
    (x,) = expr.args
    added = _scattered_ranges(x)
    if added is None or [n for n in x.shape if n != 1] != [n for n in expr.shape if n != 1]:
        return None
    if any([one.start >= one.stop or (one.is_array and one.stop == 1) for one in added]):
        return None
    long = iter([one for one, n in zip(added, x.shape, strict=True) if n != 1])
    places = [_AxisRange(0, 1) if n == 1 else next(long) for n in expr.shape]
    lengths = [
        x.args[1].shape[0] if place.is_array else place.stop - place.start
        for place in places
        if not place.is_dropped
    ]
    return _scatter(shape.reshape(x.args[0], tuple(lengths)), x, places, expr)


def transposed_scatter(expr: Expr) -> Expr | None:
    """transpose(scatter(v)) = scatter(transpose(v)), unless an array leads to the entries of an axis."""
    (x,), axes = expr.args, dict(expr.params)["axes"]
    added = _scattered_ranges(x)
    if added is None or any([one.is_array for one in added]):
        return None
    kept = [axis for axis, one in enumerate(added) if not one.is_dropped]
    order = [kept.index(axis) for axis in axes if axis in kept]
    return _scatter(shape.transpose(x.args[0], order), x, [added[axis] for axis in axes], expr)


def _scatter(entries: Expr, x: Expr, places: Iterable[_AxisRange], like: Expr) -> Expr:
    """Entries added into zeros, as those of x, at other places."""
    spec = tuple([place.item for place in places])
    found: Expr = indexing.scatter_op(entries, *x.args[1:], spec=spec, shape=like.shape)
    return found


# -- masks of what is scattered or stored ----------------------------------------------------------
def selected_product(expr: Expr) -> Expr | None:
    """scatter(g)*y*(1/z) = mask(selected, scatter(g)*y*(1/z)): a factor may be infinite where no index led.

    Only beside a factor that may be, as a quotient; where arrays of indices lead, as conditions give, and
    entries are added up that slices do not join, beside any that is not known to be finite. The entries may
    have been moved and scattered again.
    """
    if not expr.shape:  # of one entry, which nothing is scattered to
        return None
    pairs = [expr.args] if expr.op is arithmetic.divide else [expr.args, expr.args[::-1]]
    for x, y in pairs:
        found = _scattered(x)
        if found is None or _is_finite(y):
            continue
        if found.terms:
            reached = found.reached()
            if not _is_repeated(y) and (reached is None or not reached.all()):
                kept = found.kept() if reached is None else const(reached)
                return selection.mask(kept, expr)  # type: ignore[no-any-return]
        elif expr.op is arithmetic.divide or found.by_arrays or _may_be_infinite(y):
            return selection.mask(found.kept(), expr)  # type: ignore[no-any-return]
    return None


FACTORS = (arithmetic.multiply, arithmetic.divide, arithmetic.negative)
SCATTERING = (indexing.scatter_op, shape.reshape_op, shape.transpose_op, indexing.getitem_op)
_STORES = (index_set_op, index_add_op)
ADDED_UP = (arithmetic.add, *_STORES)
RUNNING_SUMS = (cumsum_op,)
"""Running sums, which are zeros before the first entry that is none."""
_IN_PRODUCTS = frozenset((*FACTORS, *SCATTERING, *ADDED_UP, *RUNNING_SUMS))
_MOST_FACTORS = 8
_MOST_MARKED = 1_000_000


class _Scattered(NamedTuple):
    """Scattered entries: what scatters and moves them, last first, and below that the terms of a sum."""

    chain: Sequence[Expr]
    terms: Sequence[_Scattered | Expr] = ()
    """Each is scattered itself, or adds to entries of the others, or stores some."""

    @property
    def by_arrays(self) -> bool:
        """Whether arrays of indices lead to entries."""
        return any([len(node.args) > 1 for node in self.chain]) or any(
            [len(t.args) > 2 if isinstance(t, Expr) else t.by_arrays for t in self.terms]
        )

    def reached(self) -> Any:
        """Which entries are not zeros between the others, as a plain array; None if it is not known."""
        if self.by_arrays or self.size > _MOST_MARKED:
            return None
        if not self.terms:
            found: Any = np.ones(self.chain[-1].args[0].shape, bool)
        else:
            found = np.zeros(self.terms[0].shape, bool)
        for term in reversed(self.terms):
            if isinstance(term, Expr):
                marks, spec = np.ones(term.args[1].shape, bool), dict(term.params)["spec"]
                found = index_set_op.run(found, marks, spec=spec, unique=True)
            else:
                found = found | term.reached()
        for node in reversed(self.chain):
            found = np.asarray(node.op.run(found, **dict(node.params)), bool)
        return found

    @property
    def size(self) -> int:
        """The number of entries that are marked to find out."""
        below = [math.prod(t.shape) if isinstance(t, Expr) else t.size for t in self.terms]
        return sum([*below, *[math.prod(node.shape) for node in self.chain]])

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the array."""
        return self.chain[0].shape if self.chain else self.terms[0].shape

    def kept(self) -> Expr:
        """Which entries are not zeros between those that are scattered."""
        if not self.terms:
            return _kept(self.chain)
        made: Expr | None = None
        for term in reversed(self.terms):
            if isinstance(term, Expr):
                if made is None:
                    made = shape.full_like(term.args[0], False, bool)
                value = shape.full_like(term.args[1], True, bool)
                spec = dict(term.params)["spec"]
                made = index_set_op(made, value, *term.args[2:], spec=spec, unique=True)
            else:
                made = term.kept() if made is None else logic.logical_or(made, term.kept())
        for node in reversed(self.chain):
            made = node.op(made, *node.args[1:], **dict(node.params))
        return made  # type: ignore[return-value]


def _scattered(x: Expr, depth: int = 2) -> _Scattered | None:
    """The scattered entries in a factor of a product; None if there are none."""
    found = (_scattered_factor(part, depth) for part in _factors(x, _IN_PRODUCTS))
    return next((factor for factor in found if factor is not None), None)


def _factors(x: Expr, wanted: Container[Op]) -> Iterable[Expr]:
    """The factors of a product, without divisors, that are of these operations.

    Of a long product only the first: each product in it asks.
    """
    left = iter(range(_MOST_FACTORS))

    def factors(node: Expr) -> Sequence[Expr]:
        if node.op not in FACTORS or next(left, None) is None:
            return ()
        own = node.args if node.op is arithmetic.multiply else node.args[:1]
        return [factor for factor in own if factor.op in FACTORS or factor.op in wanted]

    return unnested(x, factors)


def _scattered_factor(x: Expr, depth: int) -> _Scattered | None:
    """The scattered entries of a factor that is no product."""
    chain: list[Expr] = []
    while x.op in SCATTERING:
        chain.append(x)
        x = x.args[0]
    terms: list[_Scattered | Expr] = []
    if depth and x.op in ADDED_UP:
        terms = _scattered_terms(x, depth - 1)
    elif depth and x.op in RUNNING_SUMS:
        inner = _scattered(x.args[0], depth - 1)
        if inner is not None and inner.reached() is not None:
            chain.append(x)
            terms = [inner]
    while chain and not terms and chain[-1].op is not indexing.scatter_op:
        chain.pop()
    return _Scattered(chain, terms) if chain or terms else None


def _scattered_terms(total: Expr, depth: int) -> list[_Scattered | Expr]:
    """The terms of a sum, last first, if each is scattered; none otherwise."""
    found: list[_Scattered | Expr] = []

    def is_dense(x: Expr) -> bool:
        if x.op is arithmetic.add or store_laws.is_zero(x):
            return False
        term = x if x.op in _STORES else _scattered(x, depth)
        # (Where a store puts zeros, other terms of the sum may have entries.)
        is_blank = x.op is index_set_op and store_laws.is_zero(x.args[1])
        if term is not None and not is_blank:
            found.append(term)
        return term is None

    return [] if reaches([total], is_dense, _terms_of_sum) else found


def _terms_of_sum(x: Expr) -> tuple[Expr, ...]:
    return x.args if x.op is arithmetic.add else x.args[:1] if x.op in _STORES else ()


def _kept(chain: Sequence[Expr]) -> Expr:
    """Which entries are not zeros that a chain of operations, last first, has put there."""
    kept: Expr = shape.full_like(chain[-1].args[0], True, bool)
    for node in reversed(chain):
        if node.op is index_set_op:
            blank = shape.full_like(node.args[1], False, bool)
            kept = index_set_op(kept, blank, *node.args[2:], **dict(node.params))
        elif node is chain[-1] and len(node.args) > 1:
            # All that is added is True: a store is as good.
            blank, params = shape.full_like(node, False, bool), dict(node.params)
            kept = index_set_op(blank, kept, *node.args[1:], spec=params["spec"], unique=True)
        else:
            kept = node.op(kept, *node.args[1:], **dict(node.params))
    return kept


def cleared(expr: Expr) -> Expr | None:
    """x.at[i].set(0)*(1/y) = mask(kept, x.at[i].set(0)*(1/y)): a factor may be infinite where 0 was stored.

    The array may have been moved between and after the stores, as by `numpy.fill_diagonal`, and may be a
    factor of a product. Only beside a division, which is where infinite factors come from, and a constant
    that is not finite.
    """
    if not expr.shape:
        return None
    pairs = [expr.args] if expr.op is arithmetic.divide else [expr.args, expr.args[::-1]]
    for x, y in pairs:
        chains = filter(None, map(_clearing_chain, _factors(x, CLEARING)))
        chain = next(chains, None)
        if chain is not None and (expr.op is arithmetic.divide or _may_be_infinite(y)):
            places = _kept_places(chain)
            kept = _kept(chain) if places is None else const(places)
            return selection.mask(kept, expr)  # type: ignore[no-any-return]
    return None


def _kept_places(chain: Sequence[Expr]) -> Any:
    """`_kept` as a plain array, for stores of zeros and moves; None if arrays of indices lead to entries."""
    if sum([node.size for node in chain]) > _MOST_MARKED:
        return None
    kept: Any = np.ones(chain[-1].args[0].shape, bool)
    for node in reversed(chain):
        stores = node.op is index_set_op
        if len(node.args) > 1 + stores:
            return None
        blank = [np.zeros(node.args[1].shape, bool)] if stores else []
        kept = node.op.run(kept, *blank, **dict(node.params))
    return kept


def _may_be_infinite(factor: Expr) -> bool:
    """Whether a factor, or one of the first terms and factors that it is made of, may be infinite."""
    left = iter(range(_MOST_TERMS))  # a long sum is not walked again at each of its terms

    def parts(node: Expr) -> tuple[Expr, ...]:
        return node.args if node.op in _COMBINED and next(left, None) is not None else ()

    return any(map(_is_singular, unnested(factor, parts)))


_COMBINED = (
    *(arithmetic.add, arithmetic.subtract, arithmetic.multiply, arithmetic.negative),
    *(op.broadcast_to, shape.reshape_op, shape.transpose_op),
)
_MOST_TERMS = 16


def _is_singular(factor: Expr) -> bool:
    if factor.op in (arithmetic.divide, exponential.log):
        return True
    if factor.op is arithmetic.power:
        exponent = value_of(factor.args[1])
        if exponent is None or np.iscomplexobj(exponent):
            return True
        return exponent < 0 or not float(exponent).is_integer()
    value = _known(factor)
    return value is not None and not np.all(np.isfinite(value))


def _is_repeated(factor: Expr) -> bool:
    """Whether a factor is one number, which is the same at all entries."""
    return factor.op is op.broadcast_to and factor.args[0].size == 1


def _is_finite(factor: Expr) -> bool:
    """Whether a factor is known to be finite when the program is made."""
    value = _known(factor)
    return value is not None and bool(np.all(np.isfinite(value)))


def _known(factor: Expr) -> Any:
    value = value_of(factor)
    if value is None and factor.op is CONSTANT and factor.type.size <= _FEW:
        return factor.params[0][1].array
    return value


_FEW = 1000
"""Entries up to which a constant array is asked whether all are finite."""


CLEARING = (index_set_op, shape.reshape_op, shape.transpose_op, indexing.getitem_op)
"""Stores, and moves of entries."""


def _clearing_chain(x: Expr) -> list[Expr]:
    """The stores of zeros that lead to an array, last first, with the moves between and after them."""
    chain = []
    while x.op in CLEARING and (x.op is not index_set_op or store_laws.is_zero(x.args[1])):
        chain.append(x)
        x = x.args[0]
    while chain and chain[-1].op is not index_set_op:
        chain.pop()
    return chain

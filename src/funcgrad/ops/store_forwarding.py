"""Store-to-load forwarding: an entry that a chain of stores has written is the value that was stored.

``x.at[i].set(v)[i]`` is ``v``, and ``x.at[i].set(v)[j]`` is ``x[j]``, for indices that are numbers. A chain
of stores keeps a persistent map from index to value, so that a read costs the same however long the chain
is. An index is the numbers for the leading axes; a longer one is inside of a shorter one.

The map is a tree of small dicts, by the bits of a hash. Of a `pyrsistent.PMap` the garbage collector visits
all buckets in each version, so that n stores cost n**2: 10,000 stores took four times as long.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple, TypeAlias

from funcgrad.expr import Expr, scalar
from funcgrad.expr.node import set_stored
from funcgrad.fold import folded
from funcgrad.graph import CONSTANT
from funcgrad.ops.base.index_spec import Spec
from funcgrad.ops.base.op import broadcast_to
from funcgrad.ops.indexing import getitem_op
from funcgrad.ops.stores import index_set_op

Place: TypeAlias = tuple[int, ...]
_FULL = (("slice", None, None, None), ("slice", 0, None, None), ("slice", None, None, 1))


@lru_cache(maxsize=1 << 14)
def place_of(spec: Spec, shape: tuple[int, ...]) -> Place | None:
    """The numbers that an index has for the leading axes, if it has no more: none are negative.

    >>> place_of((-1, "..."), (3, 4)), place_of((0, ("slice", 1, None, None)), (3, 4))
    ((2,), None)
    """
    numbers: list[int] = []
    for item in spec:
        if isinstance(item, int) and len(numbers) < len(shape):
            numbers.append(item if item >= 0 else item + shape[len(numbers)])
        else:
            break
    rest = spec[len(numbers) :]
    inside = all(0 <= k < n for k, n in zip(numbers, shape, strict=False))
    return tuple(numbers) if inside and all(i == "..." or i in _FULL for i in rest) else None


_Map: TypeAlias = "dict[Place, _Store] | tuple[_Map, ...]"
_BITS, _DEEPEST = 4, 12
_WIDTH = 1 << _BITS


def _get(places: _Map, place: Place) -> _Store | None:
    bits = hash(place)
    while type(places) is tuple:
        places, bits = places[bits % _WIDTH], bits >> _BITS
    found: _Store | None = places.get(place)  # type: ignore[union-attr]
    return found


def _with(places: _Map, place: Place, store: _Store, depth: int = 0) -> _Map:
    """A map with one more item; a dict of more than 16 becomes a tuple of 16."""
    k = (hash(place) >> _BITS * depth) % _WIDTH
    if isinstance(places, tuple):
        return (*places[:k], _with(places[k], place, store, depth + 1), *places[k + 1 :])
    grown = {**places, place: store}
    if len(grown) <= _WIDTH or depth == _DEEPEST:
        return grown
    parts: list[dict[Place, _Store]] = [{} for _ in range(_WIDTH)]
    for at, known in grown.items():
        parts[(hash(at) >> _BITS * depth) % _WIDTH][at] = known
    return tuple(parts)


class _Store(NamedTuple):
    """What is known of a place: the number of its last store, and the value; None if inside of it."""

    number: int
    value: Expr | None


_NONE = _Store(-1, None)


class StoredEntries(NamedTuple):
    """What a chain of stores has written into ``base``, by place."""

    base: Expr
    made: int
    """How many stores there are."""
    whole: _Map
    """The stores to a place."""
    inside: _Map
    """The last store to a part of a place."""


def _place(expr: Expr) -> Place | None:
    """Where an expression stores, if it is a store at a place that is known."""
    if expr.op is not index_set_op or len(expr.args) != 2:
        return None
    return place_of(expr.params[0][1], expr.shape)


def _entries(x: Expr) -> StoredEntries | None:
    """What the chain of stores that ends in x has written; None if x is no store."""

    def unknown(expr: Expr) -> tuple[Expr, ...]:
        below = not hasattr(expr, "_stored") and _place(expr) is not None
        return expr.args[:1] if below else ()

    def step(expr: Expr, below: tuple[StoredEntries | None, ...]) -> StoredEntries | None:
        if not below:
            return getattr(expr, "_stored", None)
        entries = _with_store(below[0] or StoredEntries(expr.args[0], 0, {}, {}), expr)
        set_stored(expr, entries)
        return entries

    return folded([x], step, operands=unknown)[0]


def _with_store(known: StoredEntries, store: Expr) -> StoredEntries:
    base, made, whole, inside = known
    place: Place = _place(store) or ()
    value = store.args[1]
    for k in range(len(place)):
        inside = _with(inside, place[:k], _Store(made, None))
    return StoredEntries(base, made + 1, _with(whole, place, _Store(made, value)), inside)


def forwarded(x: Expr, place: Place) -> Expr | None:
    """The entries of x at a place, as they were stored; None if no store into x is known to matter.

    >>> import funcgrad as fg
    >>> x = fg.var("x", 3)
    >>> forwarded(x.at[0].set(2.0).at[1].set(5.0), (0,))
    2.0
    """
    source, at = x, place
    while (known := _entries(source)) is not None:
        below = [_get(known.whole, at[:k]) or _NONE for k in range(len(at) + 1)]
        last = max(below, key=lambda store: store.number)
        if (_get(known.inside, at) or _NONE).number > last.number:
            break
        if last.value is None:
            source = known.base
            continue
        taken = below.index(last)
        source, at = last.value, at[taken:]
        if not at:
            return source
    known_entry = constant_entry(source, at)
    if known_entry is not None:
        return known_entry
    return None if source is x else _read(source, at)


def _read(x: Expr, place: Place) -> Expr:
    found: Expr = getitem_op(x, spec=place, shape=x.shape[len(place) :])
    return found


def constant_entry(x: Expr, place: Place) -> Expr | None:
    """An entry of an array that is known: of a constant, or of a number that is repeated."""
    if len(place) != x.ndim or not place:
        return None
    if x.op is broadcast_to and not x.args[0].shape:
        return x.args[0]
    if x.op is CONSTANT and not x.params[0][1].captured:
        return scalar(x.params[0][1].array[place].item(), x.dtype)
    return None

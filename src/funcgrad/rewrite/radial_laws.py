"""Derivatives of functions of a size, norm(x) or sqrt(x**2 + y**2), that are smooth at 0.

The gradient of f(r) for r = norm(x) is x*f'(r)/r, which a rule masks where r is 0. If f'(0) is 0, as of
cos(r), it is near x = 0 the product of x with the limit of f'(r)/r, and so is its derivative there.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from funcgrad.expr import Expr, const
from funcgrad.fold import folded
from funcgrad.graph import CONSTANT, Params, nearest_terms
from funcgrad.ops import indexing, reduction, shape
from funcgrad.ops.base import op
from funcgrad.ops.base.op import Elementwise, Op, columns_of
from funcgrad.ops.elementwise import arithmetic, exponential, logic, selection, trigonometric
from funcgrad.rewrite.constant_values import unrepeated, value_of
from funcgrad.typing import Array

_MOVES = (
    shape.reshape_op,
    op.broadcast_to,
    shape.transpose_op,
    indexing.getitem_op,
    indexing.scatter_op,
)
_MOST = 60
"""The operations that are looked into, from a mask, from a product and from each of its factors."""

_MOST_PARTS = 32
"""The operations of a sum, of a condition and of a product: those of 16 squares."""


class _Radius(NamedTuple):
    r: Expr
    divisor: Expr
    """r, with the axes of x, of length 1 where it is repeated."""
    moves: list[Expr]
    """The moves of the entries of r to those that the mask selects, the last first."""
    shape: tuple[int, ...]
    axes: tuple[int, ...]
    """The axes of x over which r is a sum."""
    coordinates: dict[int, tuple[int, ...]]
    """What is 0 where r is 0, x and y, and x of 2*x: the shapes, by the identities.

    Equal nodes of a simplification are one object.
    """


def smooth_at_origin(expr: Expr) -> Expr | None:
    """mask(r != 0, x*sin(r)/r) = where(r != 0, x*sin(r)/r, x), and the like: the limit's slope is kept."""
    radius = _compared_size(expr.args[0])
    # Only a product with x is 0 at 0.
    return None if radius is None else _continued(expr, radius, needs_factor=True)


def continued_cotangent(expr: Expr) -> Expr:
    """The cotangent that a root of squares gives their sum, mask(r != 0, sin(r)/r), with its limit at 0.

    The sum's own derivative is 0 there.
    """
    radius = _root_of_squares(*expr.args) if expr.op is selection.mask else None
    found = None if radius is None else _continued(expr, radius, needs_factor=False)
    return expr if found is None else found


def _continued(expr: Expr, radius: _Radius, needs_factor: bool) -> Expr | None:
    condition, product = expr.args
    factor, rest = _split(product, radius)
    if factor is None or (needs_factor and not _is_multiple(rest, radius)):
        return None
    limit = _limit(factor, radius)
    if limit is None:
        return None
    beside = limit * rest
    if not isinstance(beside, Expr):
        beside = shape.full_like(product, beside)
    found: Expr = selection.where(condition, product, beside)
    return found


def _compared_size(condition: Expr) -> _Radius | None:
    """The norm or hypot that a condition says is not 0, or is not of some slices."""
    total = unrepeated(condition)
    of_sum = total.op is reduction.any_op
    repeated = total.args[0] if of_sum else condition
    compared = unrepeated(repeated)
    if not _is_nonzero(compared):
        return None
    wide = compared.args[0]
    if wide.shape != repeated.shape:
        wide = op.broadcast_to(wide, shape=repeated.shape)
    r, moves = _unmoved(wide)
    if r.op not in (reduction.norm_op, trigonometric.hypot):
        return None
    if of_sum and not _is_over_axes(total, r):
        return None
    axes = dict(r.params).get("axis", ())
    moves = [] if of_sum else moves
    return _Radius(r, unrepeated(wide), moves, condition.shape, axes, _coordinates(r.args))


def _coordinates(args: Iterable[Expr]) -> dict[int, tuple[int, ...]]:
    """The operands of r, those of a hypot among them, and x of 2*x: their shapes, by their identities."""

    def inner(x: Expr) -> list[Expr]:
        parts = x.args if x.op is trigonometric.hypot else (_unscaled(x),)
        return [y for y in parts if y is not None and y.shape == x.shape]

    return {id(x): x.shape for x in nearest_terms(args, _MOST_PARTS, inner)}


def _unscaled(expr: Expr) -> Expr | None:
    """The x of -x, 2*x and x/2, which products of a derivative have in place of these."""
    if expr.op is arithmetic.negative:
        return expr.args[0]
    for i in {arithmetic.multiply: (0, 1), arithmetic.divide: (1,)}.get(expr.op, ()):
        factor = value_of(expr.args[i])
        if factor is not None and factor != 0 and np.isfinite(factor):
            return expr.args[1 - i]
    return None


def _entries(r: Expr) -> Array:
    """Numbers of the entries of r, from 1."""
    return np.arange(1, 1 + r.size).reshape(r.shape)


def _masked_entries(radius: _Radius) -> Array:
    """The entries of r that the mask selects by."""
    entries = _entries(radius.r)
    for move in reversed(radius.moves):
        entries = _moved_places(move, entries)
    return np.broadcast_to(entries, radius.shape)


def _unmoved(expr: Expr) -> tuple[Expr, list[Expr]]:
    """What is below moves of entries, and these, the last first."""
    moves = []
    while _is_move(expr):
        moves.append(expr)
        expr = expr.args[0]
    return expr, moves


def _is_move(node: Expr) -> bool:
    """Whether a node moves entries to places that are known."""
    return node.op in _MOVES and all([index.op is CONSTANT for index in node.args[1:]])


def _moved_places(move: Expr, places: Array) -> Array:
    """The entries after a move; 0 for one that a scatter leaves 0."""
    indices = [index.params[0][1].array for index in move.args[1:]]
    return np.asarray(move.op.run(places, *indices, **dict(move.params)))


def _is_nonzero(condition: Expr) -> bool:
    return condition.op is logic.not_equal and value_of(condition.args[1]) == 0


def _root_of_squares(condition: Expr, product: Expr) -> _Radius | None:
    """The root of x**2 + w*y**2 or sum(w*x**2), in the places where not all squares are 0."""
    inner, moves = _unmoved(condition)
    if inner.op is reduction.any_op:
        parts = [inner.args[0]]
    else:
        parts = _parts(inner, _OF_CONDITION)
    if not parts or not all(map(_is_nonzero, parts)):
        return None
    squared = [part.args[0] for part in parts]
    axes = dict(inner.params).get("axis", ())
    for node in nearest_terms([product], _MOST):
        is_root = node.op is exponential.sqrt and node.shape == inner.shape
        if is_root and _squares(node.args[0]) == frozenset(map(id, squared)):
            return _Radius(node, node, moves, condition.shape, axes, _coordinates(squared))
    return None


def _squares(total: Expr) -> frozenset[int] | None:
    """The identities of x and y in x**2 + w*y**2, and of x in sum(w*x**2)."""
    found = []
    for term in _parts(total, _OF_SUM):
        if value_of(term) == 0:  # Python's `sum` begins with 0
            continue
        squares = [
            factor.args[0] for factor in _parts(term, _OF_TERM) if factor.op is arithmetic.square
        ]
        if len(squares) != 1:
            return None
        found.append(id(squares[0]))
    return frozenset(found)


def _parts(expr: Expr, opened: Mapping[Any, int]) -> list[Expr]:
    """The operands of nested operations, so many of each; none if there are too many."""
    near = nearest_terms([expr], _MOST_PARTS, lambda node: node.args[: opened.get(node.op, 0)])
    return [node for node in near if node.op not in opened] if len(near) < _MOST_PARTS else []


_OF_CONDITION = {logic.logical_or: 2}
_OF_SUM = {arithmetic.add: 2, reduction.sum_op: 1}
_OF_TERM = {arithmetic.multiply: 2, arithmetic.divide: 1}


def _is_over_axes(total: Expr, r: Expr) -> bool:
    """Whether a sum is over the axes of a norm, counted from the last."""
    own, axes = dict(total.params)["axis"], dict(r.params).get("axis", ())
    return [k - total.args[0].ndim for k in own] == [k - r.args[0].ndim for k in axes]


_Split = tuple[Any, Any]
"""A factor of numbers and functions of r, and the rest of a product times r; None if none divides by r."""
_NOT_DIVIDED = (None, None)


def _split(product: Expr, radius: _Radius) -> _Split:
    """A product that each of its terms divides by r once."""
    near = {id(node) for node in nearest_terms([product], _MOST)}

    def operands(node: Expr) -> tuple[Expr, ...]:
        opened = id(node) in near and not is_quotient(node)
        return node.args[_OF_DIVIDED.get(node.op, slice(0))] if opened else ()

    def is_quotient(node: Expr) -> bool:
        if node.op is not arithmetic.divide:
            return False
        by = node.args[1] if radius.r.op is exponential.sqrt else unrepeated(node.args[1])
        return by is radius.divisor

    def step(node: Expr, parts: tuple[_Split, ...]) -> _Split:
        if is_quotient(node):
            return _sorted_factors(node.args[0], radius)
        return _split_of(node, parts, radius) if parts else _NOT_DIVIDED

    return folded([product], step, operands=operands)[0]


_SUMS = (arithmetic.add, arithmetic.subtract)
_OF_DIVIDED = {
    arithmetic.multiply: slice(2),
    arithmetic.divide: slice(1),
    arithmetic.negative: slice(1),
    reduction.sum_op: slice(1),
    selection.mask: slice(1, 2),
    **dict.fromkeys((*_SUMS, *_MOVES), slice(2)),
}
"""The operands that may hold the division."""


def _sorted_factors(product: Expr, radius: _Radius) -> _Split:
    factor, rest = 1.0, 1.0
    for part in _parts(product, {arithmetic.multiply: 2}) or [product]:
        if _depends(part, radius):
            factor = part * factor
        else:
            rest = part * rest
    return factor, rest


def _depends(expr: Expr, radius: _Radius) -> bool:
    return any(
        [node is radius.r or _is_square(node, radius) for node in nearest_terms([expr], _MOST)]
    )


def _dependents(root: Expr, radius: _Radius) -> set[int]:
    """The identities of the nodes near a root that depend on r, but for r and its square."""
    near = {id(node) for node in nearest_terms([root], _MOST)} - {id(radius.r)}
    found: dict[int, bool] = {}

    def operands(node: Expr) -> tuple[Expr, ...]:
        return node.args if id(node) in near and not _is_square(node, radius) else ()

    def step(node: Expr, args: tuple[bool, ...]) -> bool:
        return any(args) if args else node is radius.r or _is_square(node, radius)

    folded([root], step, found, operands)
    return {i for i, depends in found.items() if depends and i in near}


def _split_of(node: Expr, parts: tuple[_Split, ...], radius: _Radius) -> _Split:
    """The parts of an operation with an operand that is divided by r."""
    if node.op in _SUMS:
        return _split_sum(node, parts)
    if len([rest for _, rest in parts if rest is not None]) != 1:
        return _NOT_DIVIDED
    i = 0 if parts[0][1] is not None else 1
    factor, rest = parts[i]
    params = dict(node.params)
    if node.op is selection.mask:
        own = _compared_size(node.args[0])
        if own is not None and own.r is radius.r:
            return factor, rest
        if _depends(node.args[0], radius):
            whole = factor if isinstance(factor, Expr) else shape.full_like(node, factor)
            return node.op(node.args[0], whole), rest
        return factor, node.op(
            node.args[0], rest if isinstance(rest, Expr) else shape.full_like(node, rest)
        )
    if node.op is arithmetic.negative:
        return factor, -rest
    if node.op is reduction.sum_op:
        whole = (
            isinstance(factor, float) and isinstance(rest, Expr) and _is_over_axes(node, radius.r)
        )
        return (factor, node.op(rest, **params)) if whole else _NOT_DIVIDED
    if node.op in _MOVES:
        return (
            (_moved_part(node, factor), _moved_part(node, rest)) if _is_move(node) else _NOT_DIVIDED
        )
    other = node.args[1 - i]
    number = value_of(other)
    if number is not None and isinstance(factor, float):
        return float(node.op.run(factor, float(number))), rest
    if number is not None or _depends(other, radius):
        return node.op(factor, other), rest
    return factor, node.op(rest, other)


def _moved_part(move: Expr, part: Any) -> Any:
    return move.op(part, *move.args[1:], **dict(move.params)) if isinstance(part, Expr) else part


def _split_sum(node: Expr, parts: tuple[_Split, ...]) -> _Split:
    (factor, rest), (other, own) = parts
    if rest is None or own is None:
        return _NOT_DIVIDED
    if isinstance(factor, float) and isinstance(other, float):
        return 1.0, node.op(factor * rest, other * own)
    one, two = [part.key if isinstance(part, Expr) else part for part in (rest, own)]
    return (node.op(factor, other), rest) if one == two else _NOT_DIVIDED


def _is_multiple(product: Any, radius: _Radius) -> bool:
    """Whether each term of a product has a factor that is 0 where r is 0."""
    if not isinstance(product, Expr):
        return False
    near = {id(node) for node in nearest_terms([product], _MOST)}
    shapes, entries = radius.coordinates, np.expand_dims(_entries(radius.r), radius.axes)

    def operands(node: Expr) -> tuple[Expr, ...]:
        opened = id(node) in near and id(node) not in shapes
        return node.args[_OF_DIVIDED.get(node.op, slice(0))] if opened else ()

    def step(node: Expr, parts: tuple[Array | None, ...]) -> Array | None:
        if id(node) in shapes:
            return np.broadcast_to(entries, shapes[id(node)])
        return _places_of_factor(node, parts)

    (places,) = folded([product], step, operands=operands)
    if places is None:
        return False
    return _joined([np.broadcast_to(places, radius.shape), _masked_entries(radius)]) is not None


def _places_of_factor(node: Expr, parts: tuple[Array | None, ...]) -> Array | None:
    """The entries of r where a node is 0, of those of its operands; None if it is not."""
    known = [part for part in parts if part is not None]
    if not known or (node.op in _SUMS and len(known) < 2):
        return None
    if node.op in _SUMS:
        return _joined(known)
    if node.op in _MOVES:
        return _moved_places(node, known[0]) if _is_move(node) and _is_apart(node) else None
    if node.op is not reduction.sum_op:
        return known[0]
    axes = dict(node.params)["axis"]
    first = np.max(known[0], axes, keepdims=True, initial=0)
    is_same = np.all((known[0] == first) | (known[0] == 0))
    return np.max(known[0], axes, initial=0) if is_same else None


def _is_apart(move: Expr) -> bool:
    """Whether a move adds no entries up."""
    if move.op is not indexing.scatter_op:
        return True
    ones = np.ones(move.args[0].shape, int)
    return bool(np.max(_moved_places(move, ones), initial=0) < 2)


class _Near(NamedTuple):
    """A node near r = 0."""

    places: Array | None = None
    """The entries of r of which those of the node are functions, 0 for none; None if it is free of r."""
    value: float | None = None
    """The value at 0, if only constants and r determine it."""
    slope: float = 0.0
    beside: tuple[float, float] = (0.0, 0.0)
    """The value and the slope where r is tiny: others beside a kink or a jump, as of where(r > 0, r, 0)."""
    is_finite: bool = True
    """Whether it is finite at 0, and no jump."""
    limit: Any = None
    """The limit of node/r if it exists and the node is 0 at 0: an expression or a number."""


def _limit(root: Any, radius: _Radius) -> Any:
    """The limit of an expression divided by r, where r is 0; None if it is not known to exist."""
    if not isinstance(root, Expr):
        return None
    r = radius.r
    whole = _Near(_entries(r), 0.0, 1.0, (_TINY, 1.0), limit=1.0)
    square = whole._replace(slope=0.0, beside=(_TINY**2, 2 * _TINY), limit=0.0)
    others = _other_sizes(root) - {id(r)}
    opened = _dependents(root, radius) - others

    def step(node: Expr, args: tuple[_Near | None, ...]) -> _Near | None:
        if id(node) in others:
            return _Near()
        if node is r or _is_square(node, radius):
            return whole if node is r else square
        return _near(node, args)

    (found,) = folded([root], step, operands=lambda node: node.args if id(node) in opened else ())
    if found is None or found.limit is None:
        return None
    is_same = _joined([found.places, _masked_entries(radius)]) is not None
    return found.limit if is_same else None


def _other_sizes(root: Expr) -> set[int]:
    """The q of where(q != 0, x, y), in whose x they are not 0: of hypot(hypot(x, y), z) the outer one."""
    choices = [node.args[0] for node in nearest_terms([root], _MOST) if node.op is selection.where]
    return {id(condition.args[0]) for condition in choices if _is_nonzero(condition)}


def _joined(places: Sequence[Array | None]) -> Array | None:
    """The entries of r in several operands; None if they are not the same."""
    first, *others = [own for own in places if own is not None]
    for other in others:
        if not np.array_equal(
            np.where(other == 0, first, other), np.where(first == 0, other, first)
        ):
            return None
        first = np.maximum(first, other)
    return first


def _is_square(node: Expr, radius: _Radius) -> bool:
    """Whether a node is a sum of squares of coordinates, or a square, which is as small as r**2."""
    if radius.r.op is exponential.sqrt and node is radius.r.args[0]:
        return True
    x = node.args[0] if node.op is reduction.sum_op and _is_over_axes(node, radius.r) else node
    if x.op is not arithmetic.square or node.shape != radius.r.shape:
        return False
    return id(x.args[0]) in radius.coordinates


def _near(node: Expr, args: tuple[_Near | None, ...]) -> _Near | None:
    """A node near r = 0, of operands near it; None if nothing is known."""
    value = value_of(node)
    if value is not None:
        number = float(value)
        return _Near(None, number, beside=(number, 0.0), is_finite=math.isfinite(number))
    if any([arg is None for arg in args]):
        return None
    known: list[_Near] = list(args)  # type: ignore[arg-type]
    if all([arg.places is None for arg in known]):
        return _Near()
    if "c" in [part.dtype.kind for part in (node, *node.args)]:
        return None
    if node.op in _MOVES:
        return _moved(node, known[0])
    places = _joined([arg.places for arg in known]) if _is_entrywise(node) else None
    if places is None:
        return None
    if all([arg.value is not None for arg in known]):
        return _with_numbers(node, places, known)
    return _combined(node, places, known)


def _is_entrywise(node: Expr) -> bool:
    return isinstance(node.op, Elementwise) or columns_of(node).entrywise


def _moved(node: Expr, arg: _Near) -> _Near | None:
    if arg.places is None or not (_is_move(node) and _is_apart(node)):
        return None
    moved, limit = arg._replace(places=_moved_places(node, arg.places)), arg.limit
    if node.op is indexing.scatter_op:
        moved = moved._replace(value=None)
        limit = shape.full_like(node.args[0], limit) if isinstance(limit, float) else limit
    return moved._replace(limit=_moved_part(node, limit))


_TINY = 1e-30


def _with_numbers(node: Expr, places: Array, args: list[_Near]) -> _Near:
    """A function of r and constants: its values and its slopes at 0 and beside it are numbers."""
    value, slope = _numbers(node, [arg.value for arg in args], [arg.slope for arg in args])
    beside = _numbers(node, [arg.beside[0] for arg in args], [arg.beside[1] for arg in args])
    is_continuous = math.isfinite(value) and _is_close(value, beside[0])
    has_limit = value == 0 and is_continuous and math.isfinite(slope) and math.isfinite(beside[1])
    limit = (slope if _is_close(slope, beside[1]) else beside[1]) if has_limit else None
    return _Near(places, value, slope, beside, is_continuous, limit)


def _is_close(one: float, other: float) -> bool:
    return math.isclose(one, other, rel_tol=1e-6, abs_tol=1e-6)


def _numbers(node: Expr, values: list[Any], slopes: list[float]) -> tuple[float, float]:
    """The value of an elementwise operation at numbers, and its slope, given those of its operands."""
    dtypes = tuple([arg.dtype for arg in node.args])
    return _value_and_slope(node.op, node.params, dtypes, tuple(values), tuple(slopes))


@lru_cache(maxsize=1 << 12)
def _value_and_slope(
    op: Op,
    params: Params,
    dtypes: tuple[np.dtype[Any], ...],
    values: tuple[float, ...],
    slopes: tuple[float, ...],
) -> tuple[float, float]:
    numbers = [const(dtype.type(v)) for dtype, v in zip(dtypes, values, strict=True)]
    value, total = op(*numbers, **dict(params)), 0.0
    for place, slope in enumerate(slopes):
        rule = op.edges[place] if type(op.edges) is tuple else op.edges(place)  # type: ignore[operator]
        if slope and rule is not None:
            total += float(rule(value, *numbers, **dict(params)).apply(const(slope))())  # type: ignore[arg-type]
    return float(value()), total


def _combined(node: Expr, places: Array, args: list[_Near]) -> _Near | None:
    """A function of r and of what does not depend on it."""
    if len(args) == 1:
        return _of_one(node, places, args[0])
    if node.op is selection.where:
        limits = [arg.limit for arg in args[1:]]
        found = args[0].places is None and None not in limits
        return _Near(places, limit=np.where(node.args[0], *limits)) if found else None
    if node.op not in _LINEAR:
        return None
    one, other = args
    if node.op is arithmetic.divide and other.places is not None and not other.value:
        return None
    finite = one.is_finite and other.is_finite
    limit = None
    if node.op in _SUMS:
        if one.limit is not None and other.limit is not None:
            sign = 1.0 if node.op is arithmetic.add else -1.0
            limit = one.limit + sign * other.limit
    elif one.limit is not None and other.is_finite:
        limit = node.op(one.limit, node.args[1])
    elif node.op is arithmetic.multiply and other.limit is not None and one.is_finite:
        limit = other.limit * node.args[0]
    return _Near(places, is_finite=finite, limit=limit)


_LINEAR = (arithmetic.add, arithmetic.subtract, arithmetic.multiply, arithmetic.divide)


def _of_one(node: Expr, places: Array, arg: _Near) -> _Near | None:
    """A function of one operand, which is known to be 0 at 0, such as sin(k*r)."""
    if node.op is arithmetic.negative:
        limit = None if arg.limit is None else -arg.limit
        return _Near(places, is_finite=arg.is_finite, limit=limit)
    if arg.limit is None:
        return None
    value, slope = _numbers(node, [0.0], [1.0])
    # At a kink, the sign is wanted.
    sides = [_numbers(node, [k], [1.0])[1] for k in (-_TINY, _TINY)]
    is_smooth = value == 0 and math.isfinite(slope) and all([_is_close(slope, k) for k in sides])
    limit = slope * arg.limit if is_smooth else None
    return _Near(places, is_finite=math.isfinite(value), limit=limit)

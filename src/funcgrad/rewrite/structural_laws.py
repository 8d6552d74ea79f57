"""Rewrites beyond patterns of fixed shape: of axes, transposes, masks, tuples, and sums of exponentials.

Each is a function from a node with simplified operands to its replacement, or None. `STRUCTURAL` lists the
rewrites of each operation, in the order in which they are tried, and the values for which they hold.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import NamedTuple

import numpy as np

from funcgrad.expr import Expr, scalar
from funcgrad.graph import CONSTANT, Operation
from funcgrad.ops import contraction, indexing, reduction, shape, tuples
from funcgrad.ops.base import op
from funcgrad.ops.base.index_spec import WHOLE, items_of_axes, restore
from funcgrad.ops.base.op import Op
from funcgrad.ops.elementwise import (
    arithmetic,
    exponential,
    logic,
    magnitude,
    selection,
    trigonometric,
)
from funcgrad.ops.stores import index_add_op, index_set_op
from funcgrad.rewrite import scatter_laws, square_laws, store_laws
from funcgrad.rewrite.constant_values import unrepeated, value_of
from funcgrad.rewrite.laws import Holds


def fold_constants(expr: Expr) -> Expr | None:
    """Constant folding of elementwise operations."""
    if not (isinstance(expr.op, op.Elementwise) or expr.op is op.astype):
        return None
    values = [value_of(arg) for arg in expr.args]
    with np.errstate(all="ignore"):
        result = expr.op.run(*[np.reshape(v, ())[()] for v in values], **dict(expr.params))
    return scalar(np.asarray(result)[()], expr.dtype)


def _is(expr: Expr, operation: Op) -> bool:
    return expr.op is operation


def _nested_move(expr: Expr) -> Expr | None:
    """reshape(reshape(x)) = reshape(x); broadcast, transpose likewise; identities are removed."""
    (x,) = expr.args
    if _is(expr, op.astype):
        return x if x.dtype == expr.dtype else None
    if _is(expr, shape.transpose_op):
        axes = dict(expr.params)["axes"]
        if _is(x, shape.transpose_op):
            inner = dict(x.params)["axes"]
            return shape.transpose(x.args[0], tuple(inner[i] for i in axes))  # type: ignore[no-any-return]
        return None
    if x.type == expr.type:
        return x
    if _is(x, expr.op):
        return expr.op(x.args[0], shape=expr.shape)  # type: ignore[no-any-return]
    value = value_of(x)
    if _is(expr, shape.reshape_op) and value is not None:
        return shape.broadcast_to(scalar(value, x.dtype), expr.shape)  # type: ignore[no-any-return]
    return None


def _moved_mask(expr: Expr) -> Expr | None:
    """move(mask(p, x)) = mask(move(p), move(x)), for operations that only move entries.

    Where a scatter may add several entries to one, some of which are masked, the mask inside stays. A
    condition that is the same for all entries is repeated, and that of a column for all columns, so that
    those of several columns are one.
    """
    x = expr.args[0]
    if not _is(x, selection.mask):
        return None
    p, inside = x.args
    rest, params = expr.args[1:], dict(expr.params)
    if _is(expr, indexing.scatter_op) and (repeated := _repeated_condition(p, expr)) is not None:
        return selection.mask(repeated, expr.op(inside, *rest, **params))  # type: ignore[no-any-return]
    if _is(expr, indexing.scatter_op) and rest:
        return selection.mask(expr.op(p, *rest, **params), expr)  # type: ignore[no-any-return]
    return selection.mask(expr.op(p, *rest, **params), expr.op(inside, *rest, **params))  # type: ignore[no-any-return]


def _repeated_condition(p: Expr, scattered: Expr) -> Expr | None:
    """The condition of one entry, row or column of an array of zeros, for all of them."""
    if not unrepeated(p).shape:
        return op.broadcast_to(unrepeated(p), shape=scattered.shape)  # type: ignore[no-any-return]
    items = None if scattered.args[1:] else items_of_axes(dict(scattered.params)["spec"], scattered)
    if not items or not any([isinstance(item, int) for item in items]):
        return None
    if any([item != WHOLE for item in items if not isinstance(item, int)]):
        return None
    lengths = zip(items, scattered.shape, strict=True)
    once = tuple([1 if isinstance(item, int) else n for item, n in lengths])
    return op.broadcast_to(shape.reshape(p, once), shape=scattered.shape)  # type: ignore[no-any-return]


def _part_of_repeated(expr: Expr) -> Expr | None:
    """A part of a repeated value = the part of the value, repeated."""
    x, *arrays = expr.args
    items = None if arrays or not expr.size else items_of_axes(dict(expr.params)["spec"], x)
    if items is None:
        return None
    inner, added = x.args[0], x.ndim - x.args[0].ndim
    own = [
        item if length == repeated else 0 if isinstance(item, int) else WHOLE
        for item, length, repeated in zip(items[added:], inner.shape, x.shape[added:], strict=True)
    ]
    found = inner[restore(tuple(own), ())]
    return found if found.shape == expr.shape else op.broadcast_to(found, shape=expr.shape)  # type: ignore[no-any-return]


def _any_of_repeated(expr: Expr) -> Expr | None:
    """any(broadcast(p), axis) = broadcast(any(p, axis)): what is repeated is asked once."""
    (x,), axes = expr.args, dict(expr.params)["axis"]
    if not _is(x, op.broadcast_to) or not x.size or -1 in x.shape:
        return None
    p, added = x.args[0], x.ndim - x.args[0].ndim
    own = tuple([k - added for k in axes if k >= added])
    found = reduction.any_op(p, axis=own) if own else p
    return found if found.shape == expr.shape else op.broadcast_to(found, shape=expr.shape)


def _joined_mask(expr: Expr) -> Expr | None:
    """concatenate([mask(p, x), y]) = mask(concatenate([p, True]), concatenate([x, y]))."""
    if not any([_is(part, selection.mask) for part in expr.args]):
        return None
    pairs = [
        part.args if _is(part, selection.mask) else (shape.full_like(part, True, bool), part)
        for part in expr.args
    ]
    conditions, parts = zip(*pairs, strict=True)
    params = dict(expr.params)
    return selection.mask(expr.op(*conditions, **params), expr.op(*parts, **params))  # type: ignore[no-any-return]


def _mask_of_stored(expr: Expr) -> Expr | None:
    """mask(p, x).at[i].set(0) = mask(p.at[i].set(False), x.at[i].set(0))."""
    x, v, *arrays = expr.args
    if not (_is(x, selection.mask) and store_laws.is_zero(v)):
        return None
    p, inside = x.args
    kept = index_set_op(p, shape.full_like(v, False, bool), *arrays, **dict(expr.params))
    return selection.mask(kept, index_set_op(inside, v, *arrays, **dict(expr.params)))  # type: ignore[no-any-return]


def _mask_of_entries(expr: Expr) -> Expr | None:
    """f(mask(p, x)) = mask(p, f(x)), for casts and parts of complex numbers, which are 0 at 0."""
    (x,) = expr.args
    if not _is(x, selection.mask):
        return None
    return selection.mask(x.args[0], expr.op(x.args[1], **dict(expr.params)))  # type: ignore[no-any-return]


_SEPARATE_MASKS = 4
"""More nested masks become so many: a long loop does not move all of them at each operation."""


def _scaled_masks(expr: Expr) -> Expr | None:
    """mask(p, mask(q, x))*y = mask(p, mask(q, x*y)), for all nested masks at once, and x/y likewise."""
    first = _is(expr.args[0], selection.mask)
    if not first and _is(expr, arithmetic.divide):
        return None
    conditions, inside = _conditions_and_inside(expr.args[0 if first else 1])
    last = _SEPARATE_MASKS - 1
    if len(conditions) > _SEPARATE_MASKS:
        conditions[last:] = [reduce(logic.logical_and, conditions[last:])]
    found = expr.op(*((inside, expr.args[1]) if first else (expr.args[0], inside)))
    for p in reversed(conditions):
        found = selection.mask(p, found)
    return found  # type: ignore[no-any-return]


def _masked_sum(expr: Expr) -> Expr | None:
    """sum(mask(p, x)) = mask(any(p), sum(mask(p, x))): a sum without selected entries is zero."""
    (x,) = expr.args
    if not _is(x, selection.mask):
        return None
    p, axes = x.args[0], dict(expr.params)["axis"]
    if p.op is CONSTANT and np.all(np.any(p.params[0][1].array, axis=axes)):
        return None
    return selection.mask(reduction.any_op(p, axis=axes), expr)  # type: ignore[no-any-return]


def _mask_cases(expr: Expr) -> Expr | None:
    """mask(True, x) = x; mask(False, x) = 0; mask(p, 0) = 0."""
    p, x = expr.args
    chosen = value_of(p)
    if chosen is not None:
        return x if chosen else scalar(0, expr.dtype)
    value = value_of(x)
    return scalar(0, expr.dtype) if value is not None and value == 0 else None


def _logical_cases(expr: Expr) -> Expr | None:
    """p | True = True; p | False = p; p & True = p; p & False = False; p | p = p & p = p."""
    if expr.dtype.kind != "b":
        return None
    if expr.args[0].key == expr.args[1].key and expr.args[0].dtype.kind == "b":
        return expr.args[0]
    decisive = _is(expr, logic.bitwise_or) or _is(expr, logic.logical_or)
    for x, y in (expr.args, expr.args[::-1]):
        value = value_of(x)
        if value is not None and x.dtype.kind == "b":
            return scalar(decisive, expr.dtype) if bool(value) is decisive else y
    return None


def _joined_masks(expr: Expr) -> Expr | None:
    """mask(p, x) + mask(q, mask(p, y)) = mask(p, x + mask(q, y)), and, if no condition is in both terms,
    mask(p, mask(r, x)) + mask(q, y) = mask(p & r | q, mask(p, mask(r, x)) + mask(q, y))."""
    x, y = expr.args
    if not (_is(x, selection.mask) and _is(y, selection.mask)):
        return None
    if x.args[0].key == y.args[0].key:
        return None
    for one, other in ((x, y), (y, x)):
        p, inside = one.args
        if p.key in {q.key for q in _conditions(other)}:
            return selection.mask(p, inside + _unmasked(other, p))  # type: ignore[no-any-return]
    chosen, other = [reduce(logic.logical_and, _conditions(term)) for term in (x, y)]
    return selection.mask(logic.logical_or(chosen, other), expr)  # type: ignore[no-any-return]


def _opposite_masks(expr: Expr) -> Expr | None:
    """mask(p, x) + mask(~p, y) = where(p, x, y), but for the signs of zeros."""
    if not all([_is(term, selection.mask) for term in expr.args]):
        return None
    for (p, x), (q, y) in (
        [term.args for term in expr.args],
        [term.args for term in reversed(expr.args)],
    ):
        # What is left out there stays known.
        inner = _is(x, selection.mask) or _is(y, selection.mask)
        if _is(q, logic.logical_not) and q.args[0].key == p.key and not inner:
            return selection.where(p, x, y)  # type: ignore[no-any-return]
    return None


def _conditions(expr: Expr) -> list[Expr]:
    return _conditions_and_inside(expr)[0]


def _conditions_and_inside(expr: Expr) -> tuple[list[Expr], Expr]:
    """The conditions of nested masks, from the outermost to the innermost, and what they mask."""
    found = []
    while _is(expr, selection.mask):
        found.append(expr.args[0])
        expr = expr.args[1]
    return found, expr


def _unmasked(expr: Expr, condition: Expr) -> Expr:
    """Nested masks without the one of a condition, which is among them."""
    conditions = []
    while expr.args[0].key != condition.key:
        conditions.append(expr.args[0])
        expr = expr.args[1]
    expr = expr.args[1]
    for p in reversed(conditions):
        expr = selection.mask(p, expr)
    return expr


def _sum_over_no_axes(expr: Expr) -> Expr | None:
    """The sum over no axes = x."""
    (x,) = expr.args
    return x if not dict(expr.params)["axis"] and x.dtype == expr.dtype else None


def _sum_of_repeated(expr: Expr) -> Expr | None:
    """The sum of a repeated scalar = count * scalar."""
    (x,) = expr.args
    if not _is(x, op.broadcast_to) or x.args[0].shape or x.args[0].dtype != expr.dtype:
        return None
    count = int(np.prod([x.shape[i] for i in dict(expr.params)["axis"]], dtype=int))
    return x.args[0] * count  # type: ignore[no-any-return]


def _conjugated_back(expr: Expr) -> Expr | None:
    """conjugate(conjugate(z)) = z."""
    return expr.args[0].args[0]


def _picked(expr: Expr) -> Expr | None:
    """(x, y)[0] = x."""
    (t,) = expr.args
    return t.args[dict(expr.params)["index"]] if _is(t, tuples.together_op) else None


class Over(NamedTuple):
    """An operation of which an operand has one of some operations, or is a constant."""

    op: Op
    operands: tuple[Operation, ...]


class StructuralLaw(NamedTuple):
    """A law, the values for which it holds, and the operations one of which an operand must have, if any.

    The law of a module that is imported when it is first tried is written ``module:name``.
    """

    law: Callable[[Expr], Expr | None] | str
    operands: tuple[Op | Over, ...] = ()
    holds: Holds = "everywhere"


_STABLE: Holds = "as a stable form"
_NUMBERS: Holds = "for finite numbers"
_TOTALS = (shape.reshape_op, reduction.logsumexp_op)
_MOVED = StructuralLaw(_moved_mask, (selection.mask,))
_OF_ENTRIES = StructuralLaw(_mask_of_entries, (selection.mask,))
_MOVES = (StructuralLaw(_nested_move), _MOVED)
_SCATTERED = StructuralLaw(
    scatter_laws.selected_product,
    (
        *scatter_laws.SCATTERING,
        *scatter_laws.FACTORS,
        *scatter_laws.ADDED_UP,
        *scatter_laws.RUNNING_SUMS,
    ),
    _NUMBERS,
)
_SCATTERED_SUMS = [Over(added, scatter_laws.SCATTERED) for added in scatter_laws.ADDITIONS]
_OF_CHOSEN = StructuralLaw(
    scatter_laws.scattered_product,
    (indexing.scatter_op, *_SCATTERED_SUMS, *scatter_laws.UNMOVES),
    _NUMBERS,
)
_PART_OF_CHOSEN = StructuralLaw(
    scatter_laws.part_of_scattered, (indexing.scatter_op, *_SCATTERED_SUMS), _NUMBERS
)
_SUMS = (indexing.scatter_op, index_add_op, arithmetic.add)
_PRODUCTS = (contraction.matmul_op, arithmetic.negative)
_CLEARED = StructuralLaw(
    scatter_laws.cleared, (*scatter_laws.CLEARING, *scatter_laws.FACTORS), _NUMBERS
)
_EXPONENTIALS = (
    exponential.exp,
    shape.reshape_op,
    op.broadcast_to,
    shape.transpose_op,
    indexing.getitem_op,
)
_STABLE_FORMS = "funcgrad.rewrite.stable_form_laws"
_OVERFLOW = "funcgrad.rewrite.overflow_laws"
_DERIVATIVE: Holds = "as a stable derivative"
_KINK: Holds = "beside a kink"
OVERFLOWING = (exponential.exp, trigonometric.sinh, trigonometric.cosh)
"""Functions that overflow, and are the derivatives of others that do."""
_OVERFLOWING_PRODUCT = StructuralLaw(
    f"{_OVERFLOW}:product_with_overflowing",
    (*OVERFLOWING, arithmetic.multiply, op.broadcast_to),
    _DERIVATIVE,
)
_IN_PRODUCT = (arithmetic.divide, arithmetic.multiply)
_IN_FACTORS = (*_IN_PRODUCT, arithmetic.power, arithmetic.negative)
_OF_RADIUS = (
    logic.not_equal,
    reduction.any_op,
    Over(op.broadcast_to, (logic.not_equal, reduction.any_op)),
)
"""Conditions that say where a norm is not 0."""
_COMPLEMENT = StructuralLaw(
    "funcgrad.rewrite.share_laws:complement_of_share",
    (arithmetic.divide, Over(arithmetic.multiply, _IN_FACTORS)),
    _DERIVATIVE,
)
_SIGNS = (
    magnitude.absolute_slope,
    magnitude.sign_op,
    magnitude.copysign,
    selection.where,
    op.astype,
    Over(op.broadcast_to, (magnitude.absolute_slope, magnitude.sign_op)),
    Over(arithmetic.multiply, (magnitude.absolute_slope, magnitude.sign_op)),
)
_CHOICES = (selection.where, Over(arithmetic.multiply, (selection.where,)))
_ORDERS = (logic.less, logic.less_equal, logic.greater, logic.greater_equal, logic.logical_not)
_SLOPE_OF_A_SIDE = StructuralLaw(
    "funcgrad.rewrite.sign_laws:slope_of_a_side",
    (*_ORDERS, Over(op.broadcast_to, _ORDERS), Over(shape.reshape_op, _ORDERS)),
    _KINK,
)
_SUMS_BELOW = (arithmetic.add, arithmetic.subtract, exponential.expm1)
_LOGICAL = (StructuralLaw(_logical_cases),)
_SCALED = StructuralLaw(_scaled_masks, (Over(selection.mask, (selection.mask,)),), _NUMBERS)
STRUCTURAL: dict[str, tuple[StructuralLaw, ...]] = {
    "reshape": (*_MOVES, StructuralLaw(scatter_laws.reshaped_scatter, (indexing.scatter_op,))),
    "broadcast_to": _MOVES,
    "transpose": (*_MOVES, StructuralLaw(scatter_laws.transposed_scatter, (indexing.scatter_op,))),
    "astype": (StructuralLaw(_nested_move), _OF_ENTRIES, _PART_OF_CHOSEN),
    "conjugate": (
        StructuralLaw(_conjugated_back, (magnitude.conjugate,)),
        StructuralLaw(_mask_of_entries, (selection.mask,), _NUMBERS),
        _PART_OF_CHOSEN,
    ),
    "negative": (
        StructuralLaw(
            scatter_laws.negated_scatter, (indexing.scatter_op, *_SCATTERED_SUMS), _NUMBERS
        ),
    ),
    "real": (_OF_ENTRIES, _PART_OF_CHOSEN),
    "imag": (_OF_ENTRIES, _PART_OF_CHOSEN),
    "getitem": (
        StructuralLaw(store_laws.whole),
        StructuralLaw(store_laws.stored_entry),
        StructuralLaw(store_laws.stacked_entry, (shape.concatenate_op,)),
        StructuralLaw(scatter_laws.entries_of_scattered, (indexing.scatter_op,)),
        StructuralLaw(_part_of_repeated, (op.broadcast_to,)),
        _MOVED,
    ),
    "scatter_add": (
        StructuralLaw(store_laws.of_no_entries),
        StructuralLaw(scatter_laws.scattered_twice, (indexing.scatter_op,)),
        _MOVED,
    ),
    "concatenate": (
        StructuralLaw(store_laws.of_parts_with_entries),
        StructuralLaw(_joined_mask, (selection.mask,), _NUMBERS),
    ),
    "index_set": (
        StructuralLaw(store_laws.of_all_or_none),
        StructuralLaw(store_laws.overwritten, (index_set_op, index_add_op)),
        StructuralLaw(_mask_of_stored, (selection.mask,)),
    ),
    "index_add": (
        StructuralLaw(store_laws.added_to_zero, (index_set_op,), "for finite reals"),
        StructuralLaw(store_laws.joined, _SUMS, "for finite reals"),
    ),
    "matmul": (
        StructuralLaw(scatter_laws.scattered_contraction, (indexing.scatter_op,), _NUMBERS),
        StructuralLaw("funcgrad.rewrite.matrix_laws:function_by_vectors"),
    ),
    "determined_product": (StructuralLaw("funcgrad.rewrite.matrix_laws:determined_by_number"),),
    "columns_product": (StructuralLaw("funcgrad.rewrite.matrix_laws:sum_over_vectors"),),
    "einsum": (StructuralLaw("funcgrad.rewrite.matrix_laws:einsum_by_vectors", holds=_STABLE),),
    "convolve": (
        StructuralLaw(
            "funcgrad.rewrite.convolution_laws:scattered_convolution",
            (indexing.scatter_op,),
            _NUMBERS,
        ),
    ),
    "multiply": (
        _SCALED,
        _OF_CHOSEN,
        _SCATTERED,
        _CLEARED,
        StructuralLaw("funcgrad.rewrite.share_laws:cancelled_power", _IN_PRODUCT, _DERIVATIVE),
        _OVERFLOWING_PRODUCT,
        StructuralLaw("funcgrad.rewrite.sign_laws:product_with_slope", _SIGNS, _KINK),
        StructuralLaw("funcgrad.rewrite.sign_laws:tie_of_nothing", _CHOICES, _KINK),
    ),
    "subtract": (_COMPLEMENT,),
    "sum": (
        StructuralLaw(_sum_over_no_axes, holds="for finite reals"),
        StructuralLaw(_sum_of_repeated, holds="for finite reals"),
        StructuralLaw(scatter_laws.scattered_total, (indexing.scatter_op,), "for finite reals"),
        StructuralLaw(scatter_laws.scattered_sums, (indexing.scatter_op,), "for finite reals"),
        StructuralLaw(_masked_sum, (selection.mask,)),
        StructuralLaw("funcgrad.rewrite.matrix_laws:sum_of_product", _PRODUCTS, "for finite reals"),
    ),
    "any": (StructuralLaw(_any_of_repeated, (op.broadcast_to,)),),
    "absolute_slope": (StructuralLaw("funcgrad.rewrite.sign_laws:slope_of_a_size", holds=_KINK),),
    "where": (_SLOPE_OF_A_SIDE,),
    "mask": (
        StructuralLaw(_mask_cases),
        _SLOPE_OF_A_SIDE,
        StructuralLaw(
            "funcgrad.rewrite.radial_laws:smooth_at_origin", _OF_RADIUS, "for finite reals"
        ),
    ),
    "add": (
        StructuralLaw(scatter_laws.joined_scatters, (indexing.scatter_op,), "for finite reals"),
        StructuralLaw(store_laws.joined, (indexing.scatter_op,), "for finite reals"),
        StructuralLaw(store_laws.accumulated, (indexing.scatter_op,), "for finite reals"),
        StructuralLaw(_opposite_masks, (selection.mask,), _NUMBERS),
        StructuralLaw(_joined_masks, (selection.mask,)),
        StructuralLaw(f"{_STABLE_FORMS}:shifted_log_sum_exp", _TOTALS, _STABLE),
        _COMPLEMENT,
    ),
    "bitwise_or": _LOGICAL,
    "bitwise_and": _LOGICAL,
    "logical_or": _LOGICAL,
    "logical_and": _LOGICAL,
    "log": (
        StructuralLaw(f"{_STABLE_FORMS}:log_of_sum_of_exp", holds=_STABLE),
        StructuralLaw(f"{_STABLE_FORMS}:log_softmax", _EXPONENTIALS, _STABLE),
    ),
    "divide": (
        _SCALED,
        StructuralLaw(f"{_STABLE_FORMS}:softmax", _EXPONENTIALS, _STABLE),
        StructuralLaw(
            "funcgrad.rewrite.exponential_quotients:stable_quotient", _SUMS_BELOW, _STABLE
        ),
        StructuralLaw(f"{_OVERFLOW}:quotient_of_overflowing", OVERFLOWING, _DERIVATIVE),
        _OF_CHOSEN,
        _SCATTERED,
        _CLEARED,
    ),
    "sqrt": (StructuralLaw(f"{_STABLE_FORMS}:root_of_squares", holds=_STABLE),),
    "square": (
        StructuralLaw(square_laws.square_of_size, holds=_STABLE),
        StructuralLaw(
            "funcgrad.rewrite.sign_laws:square_of_slope", (magnitude.absolute_slope,), _KINK
        ),
    ),
    "power": (
        StructuralLaw(square_laws.even_power_of_size, holds=_STABLE),
        StructuralLaw(f"{_STABLE_FORMS}:root_by_power", holds=_STABLE),
        StructuralLaw(square_laws.product_of_power, holds=_DERIVATIVE),
    ),
    "pick": (StructuralLaw(_picked, (tuples.together_op,)),),
}


def _significant() -> dict[Op, frozenset[Operation]]:
    found: dict[Op, frozenset[Operation]] = {}
    for known in {known for rows in STRUCTURAL.values() for law in rows for known in law.operands}:
        if isinstance(known, Over):
            found[known.op] = found.get(known.op, frozenset()) | set(known.operands)
    return found


SIGNIFICANT = _significant()
"""The operations that laws ask for among the operands of a node's operands, by the operations of these."""

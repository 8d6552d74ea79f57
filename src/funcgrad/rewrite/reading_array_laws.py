"""Reading laws of shapes, entries and matrices: see `funcgrad.rewrite.reading_laws`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, TypeAlias

import numpy as np

from funcgrad.expr import Expr, const, scalar
from funcgrad.graph import CONSTANT
from funcgrad.ops import contraction, determinants, indexing, reduction, shape, solve
from funcgrad.ops.base import op
from funcgrad.ops.elementwise import arithmetic
from funcgrad.rewrite.monomials import (
    SUMS,
    Monomial,
    adds_axes,
    collected,
    monomial,
    product_of,
    sum_of,
    terms_of,
    unbroadcast,
)
from funcgrad.rewrite.reading_ops import outer_op, softmax_op
from funcgrad.rewrite.structural_laws import value_of

ReadingLaw: TypeAlias = Callable[[Expr], Expr | None]
"""What may stand in the place of a node whose operands are read; None if the law does not apply."""


def _before_broadcast(expr: Expr) -> Expr | None:
    """broadcast(x) + broadcast(y) = broadcast(x + y): computed at the smaller shape."""
    found = []
    for arg in expr.args:
        inner = arg.args[0] if arg.op is op.broadcast_to else arg
        if inner is arg and value_of(arg) is None:
            return None
        found.append(inner)
    try:
        small = np.broadcast_shapes(*[x.shape for x in found])
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


def _factor_of_sum(expr: Expr) -> Expr | None:
    """sum(c*x) = c*sum(x) for a number c, or what is alike along the axes."""
    (x,) = expr.args
    if x.dtype.kind != "f" or expr.shape or x.dtype != expr.dtype:
        return None
    inside = monomial(x)
    own = {key: item for key, item in inside.powers.items() if unbroadcast(item[0]).shape}
    bases = [(unbroadcast(base), k) for base, k in inside.powers.values()]
    alike = {base.key: (base, k) for base, k in bases if not base.shape}
    if not own or (not alike and inside.number == 1):
        return None
    rest = reduction.sum_op(product_of(Monomial(1.0, own), x), **dict(expr.params))
    return product_of(Monomial(inside.number, alike).times(monomial(rest)), expr)


def _number_in_sum(expr: Expr) -> Expr | None:
    """sum(x - c) = sum(x) - n*c for a number c."""
    (x,) = expr.args
    if x.dtype.kind != "f" or expr.shape or x.dtype != expr.dtype or x.op not in SUMS:
        return None
    terms = terms_of(x).values()
    alike, own = [], []
    for term in terms:
        bases = [(unbroadcast(base), k) for base, k in term.powers.values()]
        if any([base.shape for base, _ in bases]):
            own.append(term)
        else:
            powers = {base.key: (base, k) for base, k in bases}
            alike.append(Monomial(term.number * x.size, powers))
    if not alike or not own:
        return None
    rest = reduction.sum_op(sum_of(collected(own), x), **dict(expr.params))
    return sum_of(collected([*alike, *terms_of(rest).values()]), expr)


def _entry_of_entries(expr: Expr) -> Expr | None:
    """x[i][j] = x[i, j], for one entry of an array."""
    (x,) = expr.args if len(expr.args) == 1 else (expr,)
    moves = (shape.reshape_op, shape.transpose_op, indexing.getitem_op)
    if expr.shape or x.op not in moves or len(x.args) != 1 or not 0 < x.args[0].size <= 10_000:
        return None
    inner = x.args[0]
    places = np.arange(inner.size).reshape(inner.shape)
    place = expr.op.run(x.op.run(places, **dict(x.params)), **dict(expr.params))
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
    for part in found:
        for i, x in part or ():
            sums[i] = x if isinstance(sums[i], float) else sums[i] + x
    zero = scalar(0, expr.dtype)
    return shape.stack([zero if isinstance(x, float) else x for x in sums])  # type: ignore[no-any-return]


def _entries(expr: Expr) -> list[tuple[int, Expr]] | None:
    """The entries of a vector of zeros and few others, by place; None if it is another."""
    if expr.op is CONSTANT:
        array = expr.params[0][1].array
        return [(i, scalar(x, expr.dtype)) for i, x in enumerate(array.tolist()) if x != 0]
    if expr.op is shape.concatenate_op:
        inner = [
            unbroadcast(x) if x.op is op.broadcast_to else x.args[0] for x in expr.args if x.args
        ]
        if len(inner) == expr.size and not any([x.shape for x in inner]):
            return [(i, x) for i, x in enumerate(inner) if value_of(x) != 0]
        return None
    if expr.op is not indexing.scatter_op or len(expr.args) != 1 or expr.args[0].shape:
        return None
    spec = dict(expr.params)["spec"]
    numbers = [i for i in spec if i != "..."]
    if len(numbers) != 1 or not isinstance(numbers[0], int):
        return None
    return [(numbers[0] % expr.size, expr.args[0])]


def _constant_entries(expr: Expr) -> Expr | None:
    """concatenate([1, 0]) of constants is one."""
    values = [value_of(x) for x in expr.args]
    if expr.ndim != 1 or any([value is None for value in values]):
        return None
    repeated = [np.full(x.size, value) for x, value in zip(expr.args, values, strict=True)]
    return const(np.concatenate(repeated).astype(expr.dtype))


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


_NEW_LAST = (("slice", None, None, None), "new")


def _outer_product(expr: Expr) -> Expr | None:
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


# -- matrices ------------------------------------------------------------------------------------
def _transposed_product(expr: Expr) -> Expr | None:
    """(A @ B).T = B.T @ A.T."""
    (x,) = expr.args
    if not _is_transposed(expr) or x.op is not contraction.matmul_op:
        return None
    a, b = x.args
    if a.ndim != 2 or b.ndim != 2:
        return None
    return contraction.matmul_op(_transpose(b), _transpose(a))  # type: ignore[no-any-return]


def _transpose(expr: Expr) -> Expr:
    return expr.args[0] if _is_transposed(expr) else shape.transpose(expr, (1, 0))


def _outer_of_products(expr: Expr) -> Expr | None:
    """A @ outer(x, y) = outer(A @ x, y); outer(x, y) @ A = outer(x, A.T @ y)."""
    a, b = expr.args
    if b.op is outer_op and a.ndim == 2:
        return outer_op(contraction.matmul_op(a, b.args[0]), b.args[1])  # type: ignore[no-any-return]
    if a.op is outer_op and b.ndim == 2:
        right = contraction.matmul_op(_transpose(b), a.args[1])
        return outer_op(a.args[0], right)  # type: ignore[no-any-return]
    return None


def _vector_on_the_right(expr: Expr) -> Expr | None:
    """v @ A = A.T @ v."""
    x, y = expr.args
    if x.ndim != 1 or y.ndim != 2:
        return None
    return contraction.matmul_op(_transpose(y), x)  # type: ignore[no-any-return]


def _is_transposed(expr: Expr) -> bool:
    return expr.op is shape.transpose_op and dict(expr.params)["axes"] == (1, 0)


def _number_times_matrix(expr: Expr) -> Expr | None:
    """(c*A) @ B = c*(A @ B) for a number c."""
    if expr.dtype.kind != "f":
        return None
    number, parts = 1.0, []
    for arg in expr.args:
        inside = monomial(arg)
        alike = [b for b, _ in inside.powers.values() if not unbroadcast(b).shape]
        if alike or not inside.powers:
            return None
        number *= inside.number
        parts.append(product_of(inside._replace(number=1.0), arg))
    if number == 1:
        return None
    rest = expr.op(*parts, **dict(expr.params))
    return product_of(Monomial(number, {rest.key: (rest, 1.0)}), expr)


def _identity_matrix(expr: Expr) -> Expr | None:
    """A @ I = A; I @ A = A."""
    x, y = expr.args
    if x.dtype != y.dtype:
        return None
    if _is_identity(x) and y.type == expr.type:
        return y
    return x if _is_identity(y) and x.type == expr.type else None


def _is_identity(expr: Expr) -> bool:
    """Whether an expression is a constant identity matrix."""
    if expr.op is not CONSTANT or expr.ndim != 2:
        return False
    array = expr.params[0][1].array
    return array.shape[0] == array.shape[1] and np.array_equal(array, np.eye(len(array)))


def _ones_on_the_diagonal(expr: Expr) -> Expr | None:
    """zeros((n, n)).at[[0, 1, …], [0, 1, …]].add(ones(n)) = eye(n)."""
    g, *arrays = expr.args
    if value_of(g) != 1 or expr.ndim != 2 or expr.shape[0] > 100 or expr.dtype.kind != "f":
        return None
    if len(arrays) != 2 or any([a.op is not CONSTANT for a in arrays]):
        return None
    ones = np.ones(g.shape, expr.dtype)
    made = expr.op.run(ones, *[a.params[0][1].array for a in arrays], **dict(expr.params))
    eye = np.eye(*expr.shape, dtype=expr.dtype)
    return const(eye) if np.array_equal(made, eye) else None


def _cofactors_by_inverse(expr: Expr) -> Expr | None:
    """The matrix of cofactors = det(A)*inv(A).T."""
    (a,) = expr.args
    if a.ndim != 2 or a.dtype.kind != "f":
        return None
    return determinants.det_op(a) * shape.transpose(solve.inv_op(a), (1, 0))  # type: ignore[no-any-return]


READING_ELEMENTWISE: tuple[ReadingLaw, ...] = (_before_broadcast,)
"""Tried on every elementwise operation."""
ARRAY_READING: Mapping[str, tuple[ReadingLaw, ...]] = MappingProxyType(
    {
        "add": (_entries_in_zeros,),
        "multiply": (_outer_product,),
        "exp": (_softmax,),
        "broadcast_to": (_needless_axes,),
        "sum": (_constant_sum, _sum_of_broadcast, _factor_of_sum, _number_in_sum),
        "concatenate": (_constant_entries,),
        "getitem": (_entry_of_entries,),
        "scatter_add": (_ones_on_the_diagonal, _entry_in_zeros),
        "transpose": (_transposed_product,),
        "matmul": (
            _identity_matrix,
            _outer_of_products,
            _number_times_matrix,
            _vector_on_the_right,
        ),
        "cofactors": (_cofactors_by_inverse,),
    }
)

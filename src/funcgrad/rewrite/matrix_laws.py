"""Laws on products of matrices: v*f(w) @ v^H, with (w, v) = eigh(a), is a function of the matrix a.

So is u*f(s) @ v^H, with (u, s, v^H) = svd(a). The product may be written by `matmul` or by `einsum`.
A sum over the rows of x @ y is reassociated: 1^T (x @ y) = (1^T x) @ y.
"""

from __future__ import annotations

from functools import reduce
from operator import add
from typing import Any, NamedTuple

import numpy as np

from funcgrad.expr import Expr
from funcgrad.fold import folded
from funcgrad.graph import CONSTANT
from funcgrad.ops import contraction, indexing, reduction, shape, tuples
from funcgrad.ops.base import op
from funcgrad.ops.base.matrix_stacks import hermitian_from, mH
from funcgrad.ops.base.op import Op
from funcgrad.ops.decompositions import eigh_op, qr_complement_op, singular_complement_op, svd_op
from funcgrad.ops.elementwise import arithmetic, magnitude, selection
from funcgrad.ops.matrix_functions import hermitian_function_op, singular_function_op
from funcgrad.ops.singular_value_functions import singular_value_function_op, transported
from funcgrad.ops.spectral_functions import spectral_function_op
from funcgrad.ops.stores import index_add_op
from funcgrad.rewrite.constant_values import unrepeated, value_of


class _Kind(NamedTuple):
    """A part of a decomposition, or its adjoint."""

    op: Op
    place: int
    is_adjoint: bool


class _Part(NamedTuple):
    """Vectors of a decomposition, all of them or a slice."""

    kind: _Kind
    decomposition: Expr
    chosen: tuple[int, int] | None


_PAIRS = (
    (_Kind(eigh_op, 1, False), _Kind(eigh_op, 1, True)),
    (_Kind(svd_op, 0, False), _Kind(svd_op, 2, False)),
    (_Kind(svd_op, 2, True), _Kind(svd_op, 0, True)),
)
"""The vectors on the left of a product, and those on its right: v and v^H, u and v^H, or v and u^H."""


def function_by_vectors(expr: Expr) -> Expr | None:
    """v*d @ v^H = hermitian_function(a, w, v, d, f'(w)), for d = f(w) entry by entry and (w, v) = eigh(a).

    In the same way u*d @ v^H = singular_function(a, u, s, v^H, d, f'(s)), for (u, s, v^H) = svd(a), and so
    its adjoint. Values that do not depend on the matrix are functions with the slope 0.
    """
    left, right = expr.args
    if not left.args or not right.args:
        return None
    projector = _projector(left, right)
    if projector is not None:
        return projector
    for form, outer, inner in (("columns", right, left), ("rows", left, right)):
        known = _part(outer)
        if known is None:
            continue
        for first, second in _PAIRS:
            wanted, other = (second, first) if form == "columns" else (first, second)
            if known.kind == wanted:
                found = _scale(inner, _Part(other, known.decomposition, known.chosen), form)
                if found is not None:
                    return _made(expr, known, *found, first.is_adjoint)
    return None


def _projector(left: Expr, right: Expr) -> Expr | None:
    """n @ n^H, for the vectors n beside the singular ones: their rotation does not change it."""
    found = _beside(left)
    if found is None or found.is_transposed:
        return None
    n = found.vectors
    is_complex = n.dtype.kind == "c"
    if _beside(right) != _Beside(n, True, is_complex != found.is_conjugated):
        return None
    (a,) = n.args
    n = transported(a, *(tuples.pick_op(svd_op(a), index=k) for k in range(3)), n)
    n = np.conjugate(n) if found.is_conjugated else n
    return contraction.matmul_op(n, mH(n))  # type: ignore[no-any-return]


class _Beside(NamedTuple):
    """All vectors beside the singular ones, in columns, or their transposes or conjugates."""

    vectors: Expr
    is_transposed: bool
    is_conjugated: bool


def _beside(expr: Expr) -> _Beside | None:
    found = _vectors(expr, (singular_complement_op, qr_complement_op))
    if found is None or found.chosen is not None or found.expr.dtype != expr.dtype:
        return None
    return _Beside(found.expr, found.is_transposed, found.is_conjugated)


class _Vectors(NamedTuple):
    """What is left of an expression without its transposes, conjugates, casts and slices."""

    expr: Expr
    is_transposed: bool
    is_conjugated: bool
    chosen: tuple[int, int, int] | None
    """The axis of the slice, counted from the end, and its bounds."""


def _vectors(expr: Expr, ops: tuple[Op, ...]) -> _Vectors | None:
    """The result of one of the operations that an expression is made of by these moves alone."""
    transposed = conjugated = False
    chosen: tuple[int, int, int] | None = None
    while expr.op not in ops:
        if expr.op is magnitude.conjugate:
            conjugated = not conjugated
        elif expr.op is shape.transpose_op and _swaps_last(expr):
            transposed = not transposed
            chosen = None if chosen is None else (-3 - chosen[0], *chosen[1:])
        elif expr.op is indexing.getitem_op and chosen is None and expr.ndim == expr.args[0].ndim:
            chosen = _slice(expr)
            if chosen is None:
                return None
        elif expr.op is shape.concatenate_op and chosen == _place_of_last(expr):
            chosen, expr = None, expr.args[-1]
            continue
        elif expr.op is not op.astype:
            return None
        expr = expr.args[0]
    return _Vectors(expr, transposed, conjugated, chosen)


def _place_of_last(joined: Expr) -> tuple[int, int, int]:
    """The axis of a concatenation, counted from the end, and the bounds of its last part."""
    axis = dict(joined.params)["axis"] - joined.ndim
    size = joined.shape[axis]
    return axis, size - joined.args[-1].shape[axis], size


def einsum_by_vectors(expr: Expr) -> Expr | None:
    """einsum("ij,j,kj->ik", v, d, v) = v*d @ v^T, as `function_by_vectors`.

    The operands stand in any order, and d may have been multiplied with one of the others.
    """
    inputs, output = dict(expr.params)["subscripts"].split("->")
    terms = list(zip(inputs.split(","), expr.args, strict=True))
    matrices = [item for item in terms if len(item[0]) == 2]
    rest = [item for item in terms if len(item[0]) != 2]
    if len(matrices) != 2 or len(output) != 2 or len(rest) > 1:
        return None
    matrices.sort(key=lambda item: output[0] not in item[0])
    (first, left), (second, right) = matrices
    shared = first.replace(output[0], "")
    if len(shared) != 1 or set(second) != {shared, output[1]}:
        return None
    if any([term != shared for term, _ in rest]):
        return None
    left = left if first[1] == shared else shape.transpose(left)
    right = right if second[0] == shared else shape.transpose(right)
    for _, values in rest:
        left = left * np.expand_dims(values, -2)
    return function_by_vectors(contraction.matmul_op(left, right))


def sum_over_vectors(expr: Expr) -> Expr | None:
    """The sum over columns of v*d times those of v^H = v*d @ v^H, as `function_by_vectors`.

    Values of which all but some are 0 are left: the sum has all derivatives beside equal eigenvalues.
    """
    x, y = expr.args
    if x.op is arithmetic.determined_product and any([_of_entries(item) for item in x.args]):
        return None
    return function_by_vectors(contraction.matmul_op(x, np.swapaxes(y, -1, -2)))


def determined_by_number(expr: Expr) -> Expr | None:
    """x times a number that is known = the product, where the number is finite and not 0."""
    for factor, number in (expr.args, expr.args[::-1]):
        value = value_of(number)
        if value is not None and value != 0 and np.isfinite(value):
            return arithmetic.multiply(factor, number)  # type: ignore[no-any-return]
    return None


def _of_entries(values: Expr) -> bool:
    """Whether values are a sum of single entries, and else 0."""
    single = values.op in (indexing.scatter_op, index_add_op) and isinstance(
        dict(values.params)["spec"][-1], int
    )
    if values.op is indexing.scatter_op:
        return single
    if values.op is index_add_op and not single:
        return False
    if values.op in (*_ENTRYWISE, arithmetic.negative, index_add_op):
        return _of_entries(values.args[0])
    if values.op in (arithmetic.add, arithmetic.subtract):
        return all([_of_entries(item) for item in values.args])
    return values.op is arithmetic.multiply and any([_of_entries(item) for item in values.args])


def _made(expr: Expr, known: _Part, form: str, values: Expr | None, adjoint: bool) -> Expr | None:
    decomposition, chosen = known.decomposition, known.chosen
    (a,), is_svd = decomposition.args, decomposition.op is svd_op
    w = tuples.pick_op(decomposition, index=1 if is_svd else 0)
    part = w if chosen is None else w[..., slice(*chosen)]
    values = shape.ones_like(part) if values is None else values
    slope = _slope(values, decomposition, chosen)
    if slope is None:
        return None

    def whole_of(x: Expr) -> Expr:
        """The numbers of all eigenvalues: 0 for those whose vectors are not chosen."""
        x = shape.reshape(x, part.shape)
        if chosen is None:
            return x
        before = np.zeros((*w.shape[:-1], chosen[0]), x.dtype)
        after = np.zeros((*w.shape[:-1], w.shape[-1] - chosen[1]), x.dtype)
        return np.concatenate([before, x, after], axis=-1)  # type: ignore[return-value]

    d, s = whole_of(values), whole_of(slope)
    form = form if chosen is None else f"{form}[{chosen[0]}:{chosen[1]}]"
    moves = _depends(d, decomposition)
    second = _slope(slope, decomposition, chosen)
    if moves and not _is_of_values_alone(d, decomposition):
        second = None
    x = selection.stopped(d) if moves else d
    made: Expr
    if is_svd:
        u, vh = (tuples.pick_op(decomposition, index=k) for k in (0, 2))
        if second is None:
            made = singular_function_op(a, u, w, vh, d, s, form=form, adjoint=adjoint)
        else:
            made = singular_value_function_op(
                a, u, w, vh, d, s, whole_of(second), x, form=form, adjoint=adjoint
            )
    else:
        v = tuples.pick_op(decomposition, index=1)
        triangle = dict(decomposition.params)["triangle"]
        if second is None:
            made = hermitian_function_op(a, w, v, d, s, form=form, triangle=triangle)
        else:
            whole: Any = hermitian_from(triangle).apply(a)  # type: ignore[arg-type]
            made = spectral_function_op(whole, w, v, d, s, whole_of(second), x, form=form)
    return made if made.type == expr.type else None


def _is_of_values_alone(values: Expr, decomposition: Expr) -> bool:
    """Whether values depend on the eigenvalues and constants alone, and on no number that all share."""
    index = 1 if decomposition.op is svd_op else 0

    def step(expr: Expr, known: tuple[bool, ...]) -> bool:
        if _is_pick(expr, index, decomposition) or expr.op is CONSTANT:
            return True
        return expr.ndim > 0 and bool(expr.args) and all(known)

    def below(expr: Expr) -> tuple[Expr, ...]:
        return () if _is_pick(expr, index, decomposition) or expr.ndim == 0 else expr.args

    (found,) = folded([values], step, operands=below)
    return bool(found)


def _depends(values: Expr, decomposition: Expr) -> bool:
    def step(expr: Expr, known: tuple[bool, ...]) -> bool:
        return expr is decomposition or any(known)

    (found,) = folded([values], step)
    return bool(found)


def _is_pick(expr: Expr, index: int, decomposition: Expr) -> bool:
    return (
        expr.op is tuples.pick_op
        and dict(expr.params)["index"] == index
        and expr.args[0] is decomposition
    )


def _part(expr: Expr) -> _Part | None:
    """The vectors that an expression consists of, perhaps as their adjoint; they may have been cast."""
    found = _vectors(expr, (tuples.pick_op,))
    if found is None:
        return None
    picked, transposed, conjugated, chosen = found
    if conjugated != transposed and picked.dtype.kind == "c":
        return None
    decomposition, index = picked.args[0], dict(picked.params)["index"]
    if chosen is None:
        return _Part(_Kind(decomposition.op, index, transposed), decomposition, None)
    axis, start, stop = chosen
    if stop - start < 2 or axis != (-2 if index == 2 else -1):
        return None
    return _Part(_Kind(decomposition.op, index, transposed), decomposition, (start, stop))


def _slice(expr: Expr) -> tuple[int, int, int] | None:
    """The axis, counted from the end, and the bounds of the slice that an expression is of its operand.

    It may have further axes of length 1.
    """
    (x, *indices), spec = expr.args, [item for item in dict(expr.params)["spec"] if item != "new"]
    if "..." in spec:
        k = spec.index("...")
        spec[k : k + 1] = [("slice", None, None, None)] * (x.ndim - len(spec) + 1)
    spec += [("slice", None, None, None)] * (x.ndim - len(spec))
    if indices or len(spec) != x.ndim or any([not isinstance(item, tuple) for item in spec]):
        return None
    found = []
    for axis, (_, *bounds) in enumerate(spec):
        start, stop, step = slice(*bounds).indices(x.shape[axis])
        if step != 1:
            return None
        if (start, stop) != (0, x.shape[axis]):
            found.append((axis - x.ndim, start, stop))
    return found[0] if len(found) == 1 else None


def _swaps_last(expr: Expr) -> bool:
    axes = tuple(dict(expr.params)["axes"])
    n = len(axes)
    return axes == (*range(n - 2), n - 1, n - 2)


def _scale(inner: Expr, wanted: _Part, form: str) -> tuple[str, Expr | None] | None:
    """How one factor of the product is scaled, and by which values; None if it is not the vectors, scaled."""
    if _part(inner) == wanted:
        return "plain", None
    if inner.op in (arithmetic.multiply, arithmetic.determined_product):
        for known, factor in (inner.args, inner.args[::-1]):
            if _part(known) == wanted:
                factor = unrepeated(factor)
                *stack, m, n = known.shape
                shaped = (*stack, 1, n) if form == "columns" else (*stack, m, 1)
                if factor.size == 1 and factor.ndim <= len(shaped):
                    return form, op.broadcast_to(factor, shape=shaped)
                padded = (1,) * (len(shaped) - factor.ndim) + factor.shape
                return (form, factor) if padded == shaped else None
    if inner.op is contraction.matmul_op:
        known, middle = inner.args if form == "columns" else inner.args[::-1]
        values = _on_diagonal(middle)
        if values is not None and _part(known) == wanted:
            return ("left diagonal" if form == "columns" else "right diagonal"), values
    return None


def _on_diagonal(expr: Expr) -> Expr | None:
    """The values of a matrix made by `numpy.diag`."""
    if expr.op is not shape.reshape_op or expr.ndim != 2:
        return None
    (flat,) = expr.args
    if flat.op is not indexing.scatter_op or flat.ndim != 1 or len(flat.args) != 1:
        return None
    on_diagonal = dict(flat.params)["spec"] == (("slice", None, None, expr.shape[0] + 1),)
    return flat.args[0] if on_diagonal else None


def sum_of_product(expr: Expr) -> Expr | None:
    """The sum of x @ y over rows = the sum of x over rows, @ y; over columns likewise; also of -(x @ y).

    Left as it is where x has many more columns than y, as another step may read x @ y.
    """
    (total,) = expr.args
    product = total.args[0] if total.op is arithmetic.negative else total
    axes = dict(expr.params)["axis"]
    if product.op is not contraction.matmul_op or product.dtype not in (np.float32, np.float64):
        return None
    x, y = product.args
    if len(axes) != 1 or min(x.ndim, y.ndim) < 2 or product.shape[axes[0]] < 2:
        return None
    *_, inner, columns = y.shape
    if axes[0] == product.ndim - 2 and inner <= _LONGER * columns:
        x = reduction.sum_op(x, axis=(x.ndim - 2,))
        x = shape.reshape(x, (*x.shape[:-1], 1, inner))
    elif axes[0] == product.ndim - 1 and inner <= _LONGER * x.shape[-2]:
        y = shape.reshape(reduction.sum_op(y, axis=(y.ndim - 1,)), (*y.shape[:-1], 1))
    else:
        return None
    found = shape.reshape(contraction.matmul_op(x, y), expr.shape)
    return found if product is total else arithmetic.negative(found)  # type: ignore[no-any-return]


# How many times as long the axis that a product sums over may be as the one that is left.
_LONGER = 4

_ENTRYWISE = (shape.reshape_op, op.broadcast_to, op.astype)


def _slope(values: Expr, decomposition: Expr, chosen: tuple[int, int] | None) -> Expr | None:
    """The derivative of each value in its eigenvalue alone; None if it depends on another one by itself."""
    index = 1 if decomposition.op is svd_op else 0

    def step(expr: Expr, slopes: tuple[Any, ...]) -> Any:
        """An expression; None where nothing depends on the eigenvalues, NotImplemented if more does."""
        if _is_pick(expr, index, decomposition):
            return shape.ones_like(expr)
        if expr.ndim == 0:
            return None  # shared by all values, such as a sum over them
        if expr is decomposition or any([slope is NotImplemented for slope in slopes]):
            return NotImplemented
        known = [k for k, slope in enumerate(slopes) if slope is not None]
        if not known:
            return None
        if expr.op is indexing.getitem_op and _slice(expr) == (-1, *(chosen or ())):
            return expr.op(slopes[0], **dict(expr.params))
        moves = expr.op in _ENTRYWISE or _adds_axes(expr)
        if moves and expr.size == expr.args[0].size:
            return expr.op(slopes[0], **dict(expr.params))
        if not isinstance(expr.op, op.Elementwise):
            return NotImplemented
        terms = []
        for k in known:
            edge = expr.op.edge(k)
            if edge is not None:
                terms.append(edge(expr, *expr.args, **dict(expr.params)).apply(slopes[k]))
        return reduce(add, terms) if terms else None

    def below(expr: Expr) -> tuple[Expr, ...]:
        known = _is_pick(expr, index, decomposition)
        return () if known or (expr.ndim == 0 and expr is not decomposition) else expr.args

    (found,) = folded([values], step, operands=below)
    if found is NotImplemented:
        return None
    slope: Expr = shape.zeros_like(values) if found is None else found
    return slope


def _adds_axes(expr: Expr) -> bool:
    whole = ("...", "new", ("slice", None, None, None))
    return expr.op is indexing.getitem_op and all(
        [item in whole for item in dict(expr.params)["spec"]]
    )
